"""How a function is compiled, kept on disk, loaded and called: on the GPU, on the virtual GPU.

On the GPU: TVM-FFI (arguments are checked in C++; a stream parameter is torch's current stream);
what is kept is the exported object file. On the virtual GPU: the DSL's host code linked against
the interceptor; what is kept is the compiled MLIR module and the PTX.
"""

from __future__ import annotations

import inspect
import io
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from forgekit.compiling.fingerprint import portable_path, this_process
from forgekit.compiling.packing import pack
from forgekit.compiling.resources import Resources, parse_ptxas
from forgekit.errors import PlatformError, UsageError, got_needed
from forgekit.scratch import scratch

if TYPE_CHECKING:
    from forgekit.compiling.compiled import CompiledKernel

    Call = Callable[..., Any]

__all__ = ["GpuBackend", "VirtualBackend", "backend_for"]

_EXPORTED = "forgekit_entry"


class _Backend:
    """What both have in common: running the DSL's compiler, and the artefacts it leaves."""

    extra_options = ""

    def stream(self) -> Any:
        raise AssertionError("a backend knows its streams")

    def stand_ins(self, compiled: CompiledKernel) -> list[Any]:
        """What the DSL's compiler gets for each parameter."""
        symbols: dict[str, Any] = {}
        result = []
        for p in compiled.parameters:
            if p.kind == "tensor":
                result.append(p.value.fake(symbols))
            elif p.kind == "scalar":
                result.append(p.value(0))
            elif p.kind == "stream":
                result.append(self.stream())
            else:
                result.append(p.value)
        return result

    def run_compiler(self, fn: Any, compiled: CompiledKernel) -> Any:
        """Call the DSL's compiler; fill in PTX, cubin and resources."""
        import cutlass.cute as cute

        with tempfile.TemporaryDirectory(prefix="forgekit-", dir=scratch()) as folder:
            report = os.path.join(folder, "ptxas.txt")
            options = (
                f"--gpu-arch {compiled.target.arch} --generate-line-info --keep-ptx --keep-cubin "
                f"--dump-dir {folder} --remark-filter ptxas --remark-output {report} "
                f"{self.extra_options} {compiled.options}"
            )
            try:
                raw = cute.compile(fn, *self.stand_ins(compiled), options=options)
            except UsageError:
                raise
            except Exception as error:
                if isinstance(error, OSError) and f"{error.filename}" in compiled.options:
                    got, needed = f"{compiled.options} ({error.strerror})", "a folder to write to"
                    remedy = "name another, or leave --dump-dir out"
                    raise PlatformError(got_needed("options", got, needed, remedy)) from None
                from forgekit.diagnosing.diagnosis import explain_compile_error

                raise explain_compile_error(error, fn) from None
            if os.path.exists(report):
                with open(report, encoding="utf-8", errors="replace") as file:
                    compiled.resources = parse_ptxas(file.read())
        cubin = raw.__cubin__
        compiled.cubin = cubin if isinstance(cubin, bytes) else b""
        compiled.ptx = raw.__ptx__ or ""
        return raw

    @staticmethod
    def artefacts(compiled: CompiledKernel) -> dict[str, bytes]:
        resources = {name: asdict(r) for name, r in compiled.resources.items()}
        return {
            "ptx": portable_path(compiled.ptx).encode(),
            "cubin": compiled.cubin,
            "resources": json.dumps(resources).encode(),
        }

    @staticmethod
    def restore_artefacts(compiled: CompiledKernel, parts: dict[str, bytes]) -> None:
        compiled.ptx = this_process(parts["ptx"].decode())
        compiled.cubin = parts["cubin"]
        found = json.loads(parts["resources"])
        compiled.resources = {name: Resources(**fields) for name, fields in found.items()}


class GpuBackend(_Backend):
    """Kernels on an NVIDIA GPU."""

    extra_options = "--enable-tvm-ffi"

    def stream(self) -> Any:
        from cutlass.cute.runtime import make_fake_stream

        return make_fake_stream(use_tvm_ffi_env_stream=True)

    def compile(self, fn: Any, compiled: CompiledKernel) -> tuple[Call, Callable[[], dict]]:
        from cutlass.cutlass_dsl import CuTeDSL

        CuTeDSL._get_dsl().envar.arch = compiled.target.arch
        raw = self.run_compiler(fn, compiled)

        def parts() -> dict[str, bytes]:
            with tempfile.TemporaryDirectory(prefix="forgekit-", dir=scratch()) as folder:
                path = os.path.join(folder, "kernel.o")
                raw.export_to_c(path, function_name=_EXPORTED)
                with open(path, "rb") as file:
                    return self.artefacts(compiled) | {"object": file.read()}

        return self.caller(raw, compiled), parts

    def load(self, fn: Any, compiled: CompiledKernel, parts: dict[str, bytes]) -> Call:
        import cutlass.cute as cute

        self.restore_artefacts(compiled, parts)
        with tempfile.TemporaryDirectory(prefix="forgekit-", dir=scratch()) as folder:
            path = os.path.join(folder, "kernel.o")
            with open(path, "wb") as file:
                file.write(parts["object"])
            module = cute.runtime.load_module(path, enable_tvm_ffi=True)
        return self.caller(getattr(module, _EXPORTED), compiled)

    @staticmethod
    def caller(raw: Any, compiled: CompiledKernel) -> Call:
        import torch

        raw_stream = torch._C._cuda_getCurrentRawStream
        device = torch.cuda.current_device()
        has_stream = any(p.kind == "stream" for p in compiled.parameters)
        runtime = [p for p in compiled.parameters if p.kind in ("tensor", "scalar")]
        # TVM-FFI refuses sizes beyond 32 bits, but knows nothing of offsets.
        may_wrap = [
            (place, mode, most)
            for place, p in enumerate(runtime)
            if p.kind == "tensor"
            for mode, most in p.value.safe_sizes
        ]

        def run(*args: Any) -> None:
            for place, mode, most in may_wrap:
                if args[place].shape[mode] > most:
                    compiled.check_arguments(args)
            try:
                raw(*args)
            except (ValueError, TypeError, AttributeError, RuntimeError):
                compiled.check_arguments(args)  # says it in the student's terms
                raise

        def call(*args: Any) -> None:
            if raw_stream(device) == 0:
                run(*args)
                return
            # Without a stream parameter the launch goes to the default stream: keep the order.
            current, default = torch.cuda.current_stream(), torch.cuda.default_stream()
            default.wait_stream(current)
            run(*args)
            current.wait_stream(default)

        return run if has_stream else call


class VirtualBackend(_Backend):
    """Kernels on the virtual GPU."""

    def stream(self) -> Any:
        from cuda.bindings.driver import CUstream

        return CUstream(0)

    def compile(self, fn: Any, compiled: CompiledKernel) -> tuple[Call, Callable[[], dict]]:
        from forgekit import vgpu

        with vgpu.installed(compiled.target.arch):
            raw = self.run_compiler(fn, compiled)
        if (runtime := getattr(raw.engine, "runtime", None)) is not None:
            compiled.ptx = runtime.ptx_text

        def parts() -> dict[str, bytes]:
            module = io.BytesIO()
            raw.ir_module.operation.write_bytecode(module)
            return self.artefacts(compiled) | {
                "module": module.getvalue(),
                "name": raw.function_name.encode(),
            }

        return self.caller(raw, compiled), parts

    def load(self, fn: Any, compiled: CompiledKernel, parts: dict[str, bytes]) -> Call:
        from forgekit.vgpu.host.intercept import revive

        self.restore_artefacts(compiled, parts)
        # Constants are in the code already; the rest arrives packed, so types say nothing more.
        signature = inspect.Signature(
            [
                inspect.Parameter(p.name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
                for p in compiled.parameters
                if p.kind != "constant"
            ]
        )
        raw = revive(
            parts["module"],
            parts["name"].decode(),
            signature,
            compiled.ptx,
            compiled.target.arch,
        )
        return self.caller(raw, compiled)

    def caller(self, raw: Any, compiled: CompiledKernel) -> Call:
        stream = self.stream()
        # A constant that is not annotated Constexpr (None for an optional tensor) is still passed.
        expected = raw.execution_args._meta.all_names
        parameters = [p for p in compiled.parameters if p.name in expected]

        def call(*args: Any) -> None:
            compiled.check_arguments(args)
            given = iter(args)
            packed: list[Any] = []
            for p in parameters:
                if p.kind == "stream":
                    packed.append(stream)
                elif p.kind == "constant":
                    packed.append(p.value)
                elif p.kind == "tensor":
                    packed.append(pack(next(given), p.value))
                else:
                    value = next(given)
                    packed.append(value if isinstance(value, p.value) else p.value(value))
            raw(*packed)

        return call


def backend_for(kind: str) -> GpuBackend | VirtualBackend:
    return GpuBackend() if kind == "gpu" else VirtualBackend()
