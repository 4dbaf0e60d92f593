"""Define `compile()`, which compiles a CuTe DSL function once for many tensors, for a GPU or the
virtual GPU.

The cache key covers everything that can change the machine code: the source text of the function
and of all functions and classes that it reaches, the values that they capture (`fingerprint.py`),
the argument specs (`specs.py`), the architecture, the options, and the versions of CuTe DSL and
forgekit. A hit in memory costs one digest of the source; a hit on disk (`store.py`) saves a new
process the compilation.
"""

from __future__ import annotations

import functools
import time
import warnings
from collections import OrderedDict
from typing import Any

from forgekit.arguments import checked
from forgekit.compiling import store
from forgekit.compiling.backends import Artefacts, Backend, Launch, backend_for
from forgekit.compiling.fingerprint import fingerprint
from forgekit.compiling.parameters import Job, bind_call, function_name, match_parameters
from forgekit.compiling.resources import Resources, code_bytes, disassemble, parse_ptxas
from forgekit.compiling.specs import TensorSpec
from forgekit.devices import current_target, package_version
from forgekit.diagnosing.lint import find_prints
from forgekit.diagnosing.sources import kernel_names_beyond_ascii
from forgekit.errors import PlatformError, UsageError
from forgekit.vgpu import HARDWARE, HOST

_CACHE_SIZE = 512
_cache: OrderedDict[str, CompiledKernel] = OrderedDict()


class CompiledKernel:
    """A compiled function; call it with tensors that fit its specs.

    Attributes:
        ptx: the PTX text. cubin: the machine code. ptxas: the assembler's report.
        key: the cache key. compile_ms: the time from the request until the function could be
            called, in milliseconds.
        origin: where the last `compile` call found the function: "memory", "disk", or "compiled" if
            it was compiled.
        target: the device and architecture on which it runs.
        runtime: the parameters whose arguments a call passes: tensors and scalars. launch: the
            fastest function that launches the kernels; it takes the tensors and scalars in order.
    """

    def __init__(
        self, job: Job, artefacts: Artefacts, launch: Launch, *,
        key: str = "", origin: str = "compiled", compile_ms: float = 0.0,
    ) -> None:  # fmt: skip
        self.job = job
        self.fn, self.name, self.parameters = job.fn, job.name, job.parameters
        self.target, self.options, self.runtime = job.target, job.options, job.runtime
        self.ptx, self.cubin, self.ptxas = artefacts.ptx, artefacts.cubin, artefacts.ptxas
        self.launch = launch
        self.key, self.origin, self.compile_ms = key, origin, compile_ms

    @property
    def specs(self) -> dict[str, TensorSpec]:
        """Map each tensor parameter's name to its TensorSpec."""
        return {p.name: p.value for p in self.parameters if p.kind == "tensor"}

    @functools.cached_property
    def resources(self) -> dict[str, Resources]:
        """Map each kernel's name to its register and spill counts."""
        return parse_ptxas(self.ptxas.decode(errors="replace"))

    @functools.cached_property
    def sass(self) -> str:
        """Return the machine code as text. Raise PlatformError if no disassembler is installed."""
        return disassemble(self.cubin)

    @property
    def registers(self) -> int:
        """Return the maximum number of registers per thread over this function's kernels."""
        return max((r.registers for r in self.resources.values()), default=0)

    @property
    def code_bytes(self) -> int:
        """Return the total size of this function's kernels in bytes; an instruction takes 16
        bytes."""
        return code_bytes(self.cubin)

    @property
    def spill_bytes(self) -> int:
        """Return the maximum bytes of spill stores and loads per thread over this function's
        kernels."""
        return max((r.spill_bytes for r in self.resources.values()), default=0)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Launch the kernels.

        Raises:
            ArgumentMismatchError: an argument does not match its parameter.
            KernelError: the virtual GPU stopped the kernel.
        """
        if kwargs or len(args) != len(self.runtime):
            args = bind_call(self.name, self.parameters, args, kwargs)
        self.launch(*args)

    def on_virtual_gpu(self) -> CompiledKernel:
        """Return the same function compiled for the same arguments on the virtual GPU, where it can
        be inspected."""
        if self.target.kind == "virtual":
            return self
        arch = self.target.arch if self.target.arch in HARDWARE.ARCHITECTURES else None
        values = [p.value for p in self.parameters if p.kind != "stream"]
        return compile(self.fn, *values, options=self.options, device="virtual", arch=arch)

    def check_arguments(self, args: tuple[Any, ...]) -> None:
        """Raise ArgumentMismatchError, which names the first argument that does not fit."""
        self.job.check_arguments(args)

    def __repr__(self) -> str:
        specs = ", ".join(f"{n}: {s}" for n, s in self.specs.items())
        return f"<{self.name}({specs}) for {self.target.name}, {self.origin}>"


@checked()
def compile(
    fn: Any,
    *args: Any,
    options: str = "",
    device: str | None = None,
    arch: str | None = None,
    cache: bool = True,
) -> CompiledKernel:
    """Compile a `@cute.jit` function (or an object whose `__call__` is one) for these arguments.

    Args:
        fn: the host function that launches the kernels.
        args: one value per parameter except the stream: a torch tensor or `TensorSpec`
            (`forgekit.spec` fixes sizes or promises divisibility), a number for a scalar parameter,
            or any value for a parameter annotated `Constexpr`.
        options: more options for CuTe DSL's compiler, such as `"--opt-level 2"`.
        device, arch: see `forgekit.devices.current_target`.
        cache: False to compile again even if the function is in memory or on disk.

    Returns:
        A function of the tensors and scalars. If it has a parameter named `stream`, forgekit passes
        torch's current stream.

    Raises:
        CompileError: the kernel contains a mistake; the message names its line.
        UsageError, PlatformError: the arguments or the machine are not supported.
    """
    _require_dsl()
    target = current_target(device, arch)
    job = Job(fn, match_parameters(fn, args), target, options, function_name(fn))
    specs = [p.key() for p in job.parameters]
    key = fingerprint(fn, specs, target.kind, target.arch, options, _versions())
    with HOST.lock:
        if cache and key.digest in _cache:
            _cache.move_to_end(key.digest)
            found = _cache[key.digest]
            found.origin = "memory"
            return found
        if unnameable := kernel_names_beyond_ascii(fn):
            raise UsageError(HOST.name_beyond_ascii(unnameable[0]))
        for warning in find_prints(fn):
            warnings.warn(warning, stacklevel=2)
        compiled = _from_disk_or_compiler(job, key.digest, on_disk=cache and key.portable)
        _cache[key.digest] = compiled
        while len(_cache) > _CACHE_SIZE:
            _cache.popitem(last=False)
    return compiled


def _from_disk_or_compiler(job: Job, key: str, *, on_disk: bool) -> CompiledKernel:
    """Load the function from disk if possible; otherwise compile it and, if `on_disk`, store it."""
    began = time.perf_counter()
    backend = backend_for(job.target.kind)
    found = _from_disk(backend, job, key) if on_disk else None
    if found is None:
        made = backend.compile(job)
        launch = backend.launcher(job, made.executable)
    else:
        made, launch = found
    origin = "compiled" if found is None else "disk"
    took_ms = (time.perf_counter() - began) * 1e3
    if on_disk and found is None and store.folder() is not None:
        store.save(key, backend.parts(made))
    return CompiledKernel(job, made, launch, key=key, origin=origin, compile_ms=took_ms)


def _from_disk(backend: Backend, job: Job, key: str) -> tuple[Artefacts, Launch] | None:
    """Load the function from disk; return None if it is missing or unusable."""
    parts = store.load(key)
    if parts is None:
        return None
    try:
        made = backend.load(job, parts)
        return made, backend.launcher(job, made.executable)
    except Exception:  # from another version, or damaged despite its valid checksum
        return None


def cache_clear() -> None:
    """Remove all compiled functions from memory, but not from disk."""
    with HOST.lock:
        _cache.clear()


def cache_info() -> list[CompiledKernel]:
    """Return the compiled functions in memory, least recently used first."""
    with HOST.lock:
        return list(_cache.values())


@functools.cache
def _versions() -> tuple[str, ...]:
    import platform

    names = ("nvidia-cutlass-dsl", "nvidia-cutlass-dsl-libs-cu13", "apache-tvm-ffi", "forgekit")
    python = f"python {platform.python_version()} {platform.machine()}"
    return (python, *(f"{name} {package_version(name) or '-'}" for name in names))


def _require_dsl() -> None:
    try:
        import cutlass  # noqa: F401
    except ImportError as error:
        raise PlatformError(
            f"CuTe DSL cannot be imported ({error}). Its wheels support only Linux (x86-64 and "
            "arm64): install nvidia-cutlass-dsl on Linux, or use WSL on Windows."
        ) from None
