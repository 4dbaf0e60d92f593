"""Switch CuTe DSL's launches to the virtual GPU and back.

The DSL compiles host code to machine code that calls the CUDA runtime; for the virtual GPU, this
code is linked against the callbacks of `cuda_runtime` instead. `hooks` replaces the DSL's methods
once; `install` and `uninstall` determine whether new compilations use the virtual GPU.
"""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Iterator
from typing import Any

from forgekit.vgpu import plugins
from forgekit.vgpu.errors import usage_error
from forgekit.vgpu.host import hooks, reporting
from forgekit.vgpu.host.cuda_runtime import make_engine
from forgekit.vgpu.host.limits import ARCHITECTURES, DEFAULT_ARCH
from forgekit.vgpu.wording import brief

_before: dict[str, Any] | None = None  # the DSL's settings before install
_strict: bool | None = None  # the latest value passed to `install`


def install(arch: str | None = None, *, cuda: bool = False, strict: bool | None = None) -> None:
    """Make all code that is compiled after this call launch its kernels on the virtual GPU.

    arch: `sm_80`, `sm_90a` (default) or `sm_100a`; a call to `compile` may still choose another.
    cuda: True to make torch's "cuda" device, torch.cuda and cuda-python use the virtual GPU as
    well, so that code written for a GPU runs on it. strict: True to raise SanitizerError after a
    launch with sanitizer findings; False to let the script continue, print the findings when it
    ends (in a notebook, after each cell), and change its exit status to 120. The default is False
    with `cuda`, otherwise True.

    Raises:
        PlatformError: this machine lacks CuTe DSL, or `cuda` is requested and there is a GPU.
        UsageError: the architecture is unknown.
    """
    global _before, _strict
    if arch is not None and not isinstance(arch, str):
        raise usage_error("arch", brief(arch), "a string", f"omit it for {DEFAULT_ARCH}")
    said_by = "arch" if arch or not os.environ.get("FORGEKIT_ARCH") else "FORGEKIT_ARCH"
    arch = arch or os.environ.get("FORGEKIT_ARCH") or DEFAULT_ARCH
    if arch not in ARCHITECTURES:
        needed = "one of " + ", ".join(ARCHITECTURES)
        raise usage_error(said_by, brief(arch), needed, f"omit it for {DEFAULT_ARCH}")
    with hooks.lock:
        prepare()
        env = hooks.import_dsl().envar
        # Messages need line numbers. The file cache is off, because its entries contain no PTX.
        changes = {
            "arch": arch, "lineinfo": True, "enable_tvm_ffi": False, "disable_file_caching": True,
        }  # fmt: skip
        if _before is None:
            _before = {name: getattr(env, name) for name in changes}
        for name, value in changes.items():
            setattr(env, name, value)
        hooks.active = True
    if cuda:
        plugins.start("cuda")
    _strict = _strict if strict is None else strict
    if _strict:
        reporting.stop()
    elif cuda or _strict is not None:
        reporting.go_on()


def uninstall() -> None:
    """Undo `install`. Functions that were compiled for the virtual GPU still run on it."""
    global _before, _strict
    plugins.stop()
    reporting.stop()
    _strict = None
    with hooks.lock:
        hooks.active = False
        if _before is not None:
            env = hooks.import_dsl().envar
            for name, value in _before.items():
                setattr(env, name, value)
            _before = None


def is_installed() -> bool:
    """Return True if code that is compiled now will launch on the virtual GPU."""
    return hooks.active


class _Block:
    """An active `with installed():` block. before: the state to restore, or None for the original
    DSL."""

    before: str | None


_blocks: list[_Block] = []  # active blocks, in the order of their start


@contextlib.contextmanager
def installed(arch: str | None = None) -> Iterator[None]:
    """Apply `install` within a `with` block. This affects the whole process. If blocks in several
    threads overlap, the latest block applies until it ends."""
    block = _Block()
    with hooks.lock:
        block.before = hooks.import_dsl().envar.arch if is_installed() else None
        install(arch)
        _blocks.append(block)
    try:
        yield
    finally:
        with hooks.lock:
            later = _blocks[_blocks.index(block) + 1 :]
            _blocks.remove(block)
            if later:
                later[0].before = block.before
            elif block.before is None:
                uninstall()
            else:
                install(block.before)


def prepare() -> None:
    """Prepare the DSL to run functions on the virtual GPU; new compilations are not switched to
    it."""
    with hooks.lock:
        hooks.replace_methods()


def revive(
    module: bytes, function_name: str, signature: inspect.Signature, ptx: str, arch: str
) -> Any:
    """Return the DSL's compiled function for MLIR bytecode from the DSL's compiler, linked against
    the virtual GPU.

    function_name: the host function's mangled name; signature: its Python signature; ptx: the
    kernels that it launches.
    """
    prepare()
    from cutlass._mlir import ir
    from cutlass.cutlass_dsl.cuda_jit_executor import CudaDialectJitCompiledFunction

    with ir.Context(), ir.Location.unknown():
        parsed = ir.Module.parse(module)
        engine = make_engine(parsed, ptx, arch)
        entry = engine.lookup(function_name)
    return CudaDialectJitCompiledFunction(
        parsed, engine, entry, signature, function_name, None, False, None,
        has_gpu_module=bool(ptx),
    )  # fmt: skip
