"""Compile, store, load and call a function, on the GPU or on the virtual GPU.

On the GPU, calls go through TVM-FFI, which checks the arguments in C++ and passes torch's current
stream for a stream parameter; the cache stores the exported object file. On the virtual GPU, the
DSL's host code is linked against the interceptor; the cache stores the compiled MLIR module and the
PTX.
"""

from __future__ import annotations

import functools
import inspect
import io
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from forgekit import layouts
from forgekit.compiling.fingerprint import portable_path, this_process
from forgekit.compiling.parameters import Job
from forgekit.compiling.specs import TensorSpec
from forgekit.errors import PlatformError, UsageError, got_needed, usage_error
from forgekit.vgpu import HOST

Launch = Callable[..., None]
Parts = dict[str, bytes]  # name -> a stored part of a compiled function

_EXPORTED = "forgekit_entry"


@dataclass(frozen=True)
class Artefacts:
    """The DSL's output for a function.

    ptx: the PTX text. cubin: the machine code. ptxas: the assembler's report. executable: the host
    function, in the form that its backend calls.
    """

    ptx: str
    cubin: bytes = b""
    ptxas: bytes = b""
    executable: Any = None


class Backend(ABC):
    """The base class of both backends, which calls the DSL's compiler and collects its
    artefacts."""

    extra_options = ""

    @abstractmethod
    def stream(self) -> Any:
        """Return the argument that stands for a stream parameter at compile time."""

    def compile(self, job: Job) -> Artefacts:
        """Run the DSL's compiler and return its artefacts.

        Raises:
            CompileError: the kernel contains a mistake; the message names its line.
        """
        import cutlass.cute as cute

        with _temporary_folder() as folder:
            report = Path(folder, "ptxas.txt")
            options = (
                f"--gpu-arch {job.target.arch} --generate-line-info --keep-ptx --keep-cubin "
                f"--dump-dir {folder} --remark-filter ptxas --remark-output {report} "
                f"{self.extra_options} {job.options}"
            )
            _refuse_overlaps()
            try:
                raw = cute.compile(job.fn, *self._stand_ins(job), options=options)
            except UsageError:
                raise
            except Exception as error:
                raise _explained(error, job.fn, job.options) from None
            ptxas = report.read_bytes() if report.exists() else b""
        cubin = raw.__cubin__ if isinstance(raw.__cubin__, bytes) else b""
        ptx = raw.__ptx__ or ""  # if there is no kernel, the DSL names a file that it never wrote
        return Artefacts(ptx if "\n" in ptx else "", cubin, ptxas, raw)

    def parts(self, made: Artefacts) -> Parts:
        """Return the parts that `load` needs in another process."""
        ptx = portable_path(made.ptx).encode()
        return {"ptx": ptx, "cubin": made.cubin, "ptxas": made.ptxas}

    def load(self, job: Job, parts: Parts) -> Artefacts:
        """Restore an executable from `parts`."""
        ptx = this_process(parts["ptx"].decode())
        executable = self._revived(job, parts, ptx)
        return Artefacts(ptx, parts["cubin"], parts["ptxas"], executable)

    @abstractmethod
    def _revived(self, job: Job, parts: Parts, ptx: str) -> Any:
        """Return the host function stored in `parts`."""

    @abstractmethod
    def launcher(self, job: Job, executable: Any) -> Launch:
        """Return the function that launches the kernels, given the run-time arguments in order."""

    def _stand_ins(self, job: Job) -> list[Any]:
        """Return the argument that stands for each parameter at compile time."""
        symbols: dict[str, Any] = {}
        make: dict[str, Callable[[Any], Any]] = {
            "tensor": lambda spec: spec.fake(symbols),
            "scalar": lambda kind: kind(0),
            "stream": lambda _: self.stream(),
            "constant": lambda value: value,
        }
        return [make[p.kind](p.value) for p in job.parameters]


class GpuBackend(Backend):
    """Kernels on an NVIDIA GPU."""

    extra_options = "--enable-tvm-ffi"

    def stream(self) -> Any:
        from cutlass.cute.runtime import make_fake_stream

        return make_fake_stream(use_tvm_ffi_env_stream=True)

    def compile(self, job: Job) -> Artefacts:
        from cutlass.cutlass_dsl import CuTeDSL

        CuTeDSL._get_dsl().envar.arch = job.target.arch
        return super().compile(job)

    def parts(self, made: Artefacts) -> Parts:
        with _temporary_folder() as folder:
            file = Path(folder, "kernel.o")
            made.executable.export_to_c(str(file), function_name=_EXPORTED)
            return super().parts(made) | {"object": file.read_bytes()}

    def _revived(self, job: Job, parts: Parts, ptx: str) -> Any:
        import cutlass.cute as cute

        with _temporary_folder() as folder:
            file = Path(folder, "kernel.o")
            file.write_bytes(parts["object"])
            module = cute.runtime.load_module(str(file), enable_tvm_ffi=True)
        return getattr(module, _EXPORTED)

    def launcher(self, job: Job, executable: Any) -> Launch:
        # This skips the DSL's wrapper for keywords, which costs a microsecond.
        executable = getattr(executable, "__tvm_ffi_object__", lambda: executable)()
        raw_stream = torch._C._cuda_getCurrentRawStream
        device = torch.cuda.current_device()
        has_stream = any(p.kind == "stream" for p in job.parameters)
        # TVM-FFI rejects sizes beyond 32 bits, but does not check offsets.
        may_wrap = [
            (place, mode, most)
            for place, p in enumerate(job.runtime)
            if p.kind == "tensor"
            for mode, most in p.value.safe_sizes
        ]

        def run(*args: Any) -> None:
            for place, mode, most in may_wrap:
                if args[place].shape[mode] > most:
                    job.check_arguments(args)
            try:
                executable(*args)
            except (ValueError, TypeError, AttributeError, RuntimeError):
                job.check_arguments(args)  # reports the mismatch in the student's terms
                raise

        def call(*args: Any) -> None:
            if raw_stream(device) == 0:
                run(*args)
                return
            # Without a stream parameter the launch uses the default stream, so keep the work in
            # order.
            current, default = torch.cuda.current_stream(), torch.cuda.default_stream()
            default.wait_stream(current)
            run(*args)
            current.wait_stream(default)

        return run if has_stream else call


class VirtualBackend(Backend):
    """Kernels on the virtual GPU."""

    def stream(self) -> Any:
        from cuda.bindings.driver import CUstream

        return CUstream(0)

    def compile(self, job: Job) -> Artefacts:
        from forgekit import vgpu

        with vgpu.installed(job.target.arch):
            made = super().compile(job)
        runtime = getattr(made.executable.engine, "runtime", None)
        return made if runtime is None else replace(made, ptx=runtime.ptx_text)

    def parts(self, made: Artefacts) -> Parts:
        module = io.BytesIO()
        made.executable.ir_module.operation.write_bytecode(module)
        name = made.executable.function_name.encode()
        return super().parts(made) | {"module": module.getvalue(), "name": name}

    def _revived(self, job: Job, parts: Parts, ptx: str) -> Any:
        # Constants are already part of the code; the other arguments arrive packed, without types.
        names = [p.name for p in job.parameters if p.kind != "constant"]
        either = inspect.Parameter.POSITIONAL_OR_KEYWORD
        signature = inspect.Signature([inspect.Parameter(name, either) for name in names])
        return HOST.revive(parts["module"], parts["name"].decode(), signature, ptx, job.target.arch)

    def launcher(self, job: Job, executable: Any) -> Launch:
        stream = self.stream()
        # The call still passes a constant that is not annotated Constexpr (None for an optional
        # tensor).
        expected = executable.execution_args._meta.all_names
        parameters = [p for p in job.parameters if p.name in expected]

        def call(*args: Any) -> None:
            job.check_arguments(args)
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
            executable(*packed)

        return call


def pack(tensor: torch.Tensor, spec: TensorSpec) -> Any:
    """Pack a tensor that fits `spec` for the DSL's host functions: an 8-byte pointer, each dynamic
    size as int32, each dynamic stride as int64; static values are omitted."""
    modes = list(zip(tensor.shape, spec.shape, tensor.stride(), spec.strides, strict=True))
    fields = [(64, tensor.data_ptr())]
    fields += [(32, size) for size, known, _, _ in modes if not isinstance(known, int)]
    fields += [(64, stride) for _, _, stride, known in modes if not isinstance(known, int)]
    return HOST.pack(tensor, fields, read_only=spec.read_only)


def backend_for(kind: str) -> Backend:
    return GpuBackend() if kind == "gpu" else VirtualBackend()


@functools.cache
def _refuse_overlaps() -> None:
    """Make `make_layout_tv` and `make_tiled_copy_tv` reject a thread layout in which a stride is
    smaller than the span of the modes with smaller strides. For such a layout, CuTe DSL 4.8.1
    divides by zero, which ends the process."""
    from cutlass.cute import core

    raked_product = core.raked_product

    def checked(block: Any, tiler: Any, **where: Any) -> Any:
        threads = layouts.of(block)
        if isinstance(threads, layouts.Layout) and threads.is_static:
            try:
                layouts.complement(threads)
            except UsageError:
                needed = "a different index for each thread, so each stride must be at least as "
                needed += "large as the span of the modes with smaller strides"
                remedy = "omit the stride, or compute it from the shape"
                raise usage_error("thr_layout", str(threads), needed, remedy) from None
        return raked_product(block, tiler, **where)

    core.raked_product = checked


def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="forgekit-", dir=HOST.scratch())


def _explained(error: Exception, fn: Any, options: str) -> Exception:
    """Translate an error from the DSL's compiler into a forgekit exception."""
    if isinstance(error, OSError) and f"{error.filename}" in options:
        got, needed = f"{options} ({error.strerror})", "a writable folder"
        remedy = "choose another folder, or omit --dump-dir"
        return PlatformError(got_needed("options", got, needed, remedy))
    from forgekit.diagnosing.diagnosis import explain_compile_error

    return explain_compile_error(error, fn)
