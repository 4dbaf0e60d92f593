"""Compile, store, load and call a function, on the GPU or on the virtual GPU.

On the GPU, calls go through TVM-FFI, which checks the arguments in C++ and passes torch's current
stream for a stream parameter; the cache stores the exported object file. For the virtual GPU, CuTe
DSL's host code is linked against forgekit's interceptor instead of the CUDA driver; the cache
stores the compiled MLIR module and the PTX.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import io
import sys
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from forgekit import layouts
from forgekit.compiling.fingerprint import portable_path, this_process
from forgekit.compiling.parameters import Job
from forgekit.compiling.specs import TensorSpec
from forgekit.errors import PlatformError, UsageError, got_needed, is_user_file, usage_error
from forgekit.vgpu import HOST

Launch = Callable[..., None]
Parts = dict[str, bytes]  # maps names to the parts of a compiled function that the cache stores

_EXPORTED = "forgekit_entry"
_TRACE_S = 30.0  # the time limit for a function's Python code, which builds the kernel
_LOCAL = threading.local()  # traced: set when this thread has traced a function


@dataclass(frozen=True)
class Artefacts:
    """CuTe DSL's output for a function.

    ptx: the PTX text. cubin: the machine code. ptxas: the assembler's report. executable: the
    compiled host function, which the backend calls.
    """

    ptx: str
    cubin: bytes = b""
    ptxas: bytes = b""
    executable: Any = None


class Backend(ABC):
    """The base class of both backends, which runs CuTe DSL's compiler and collects its
    artefacts."""

    extra_options = ""

    @abstractmethod
    def stream(self) -> Any:
        """Return the placeholder for a stream parameter at compile time."""

    def compile(self, job: Job) -> Artefacts:
        """Run CuTe DSL's compiler; return its artefacts.

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
            _check_before_passes()
            try:
                with _tracing():
                    raw = cute.compile(job.fn, *self._stand_ins(job), options=options)
            except UsageError:
                raise
            except EndlessTraceError as error:
                raise _explained(error, job.fn, job.options) from None
            except Exception as error:
                raise _explained(error, job.fn, job.options) from None
            ptxas = report.read_bytes() if report.exists() else b""
        cubin = raw.__cubin__ if isinstance(raw.__cubin__, bytes) else b""
        ptx = raw.__ptx__ or ""  # without a kernel, the named file does not exist
        return Artefacts(ptx if "\n" in ptx else "", cubin, ptxas, raw)

    def parts(self, made: Artefacts) -> Parts:
        """Return the parts to store, from which `load` restores the artefacts in another
        process."""
        ptx = portable_path(made.ptx).encode()
        return {"ptx": ptx, "cubin": made.cubin, "ptxas": made.ptxas}

    def load(self, job: Job, parts: Parts) -> Artefacts:
        """Restore the artefacts from `parts`."""
        ptx = this_process(parts["ptx"].decode())
        executable = self._revived(job, parts, ptx)
        return Artefacts(ptx, parts["cubin"], parts["ptxas"], executable)

    @abstractmethod
    def _revived(self, job: Job, parts: Parts, ptx: str) -> Any:
        """Restore the executable from `parts`."""

    @abstractmethod
    def launcher(self, job: Job, executable: Any) -> Launch:
        """Return the function that launches the kernels; it takes the run-time arguments in
        order."""

    def _stand_ins(self, job: Job) -> list[Any]:
        """Return the arguments for compiling: placeholders, and the values of constants."""
        symbols: dict[str, Any] = {}
        make: dict[str, Callable[[Any], Any]] = {
            "tensor": lambda spec: spec.fake(symbols),
            "scalar": lambda kind: kind(0),
            "stream": lambda _: self.stream(),
            "constant": lambda value: value,
        }
        return [make[p.kind](p.value) for p in job.parameters]


class GpuBackend(Backend):
    """Compiles kernels for an NVIDIA GPU, and launches them."""

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
        # Bypass CuTe DSL's wrapper for keyword arguments, which costs a microsecond per call.
        executable = getattr(executable, "__tvm_ffi_object__", lambda: executable)()
        raw_stream = torch._C._cuda_getCurrentRawStream
        device = torch.cuda.current_device()
        has_stream = any(p.kind == "stream" for p in job.parameters)
        # TVM-FFI rejects sizes beyond 32 bits, but not offsets beyond 32 bits.
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
                job.check_arguments(args)  # reports a mismatch more clearly
                raise

        def call(*args: Any) -> None:
            if raw_stream(device) == 0:
                run(*args)
                return
            # Without a stream parameter, the launch uses the default stream. Synchronize it with
            # the current stream.
            current, default = torch.cuda.current_stream(), torch.cuda.default_stream()
            default.wait_stream(current)
            run(*args)
            current.wait_stream(default)

        return run if has_stream else call


class VirtualBackend(Backend):
    """Compiles kernels for the virtual GPU, and launches them."""

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
        # The code already contains the constants; the other arguments are packed, without types.
        names = [p.name for p in job.parameters if p.kind != "constant"]
        either = inspect.Parameter.POSITIONAL_OR_KEYWORD
        signature = inspect.Signature([inspect.Parameter(name, either) for name in names])
        return HOST.revive(parts["module"], parts["name"].decode(), signature, ptx, job.target.arch)

    def launcher(self, job: Job, executable: Any) -> Launch:
        stream = self.stream()
        # Constants that are not annotated Constexpr (None for an optional tensor) are also passed.
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
    """Pack a tensor that fits `spec` for CuTe DSL's host functions: an 8-byte pointer, each dynamic
    size as int32, and each dynamic stride as int64. Static values are omitted."""
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


@functools.cache
def _check_before_passes() -> None:
    """Make CuTe DSL's compiler end the `_tracing` time limit, and reject a host function that
    contains an operation of a GPU thread, such as a barrier. CuTe DSL 4.8.1 ends the process for
    it, without a message."""
    from cutlass.base_dsl.compiler import Compiler

    run_passes = Compiler.compile

    def checked(self: Any, module: Any, *args: Any, **options: Any) -> Any:
        if traced := getattr(_LOCAL, "traced", None):
            traced.set()
        for operation in _on_host(module.operation):
            if operation.name.startswith("nvvm."):
                raise DeviceCodeError(str(operation.location))
        return run_passes(self, module, *args, **options)

    Compiler.compile = checked


class DeviceCodeError(Exception):
    """Raised while compiling a host function that contains an operation of a GPU thread, with the
    operation's MLIR location."""


class EndlessTraceError(BaseException):
    """Raised in a function that CuTe DSL has been tracing for too long. It is not an Exception, so
    the traced code does not catch it."""


@contextmanager
def _tracing() -> Iterator[None]:
    """Raise EndlessTraceError in this thread if CuTe DSL still executes the function's Python code,
    which builds the kernel, after `_TRACE_S`."""
    _LOCAL.traced = ended = threading.Event()
    thread = threading.get_ident()
    threading.Thread(target=_stop, args=(thread, ended), daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _stop(thread: int, ended: threading.Event) -> None:
    """Raise EndlessTraceError in a thread after `_TRACE_S`, unless `ended` is set by then.

    It is raised between two steps of the user's code: an exception in a function that the
    compiler's C++ code calls ends the process.
    """
    wait = _TRACE_S
    while not ended.wait(wait):
        frame, wait = sys._current_frames().get(thread), 0.003
        if frame is not None and is_user_file(frame.f_code.co_filename):
            error = ctypes.py_object(EndlessTraceError)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), error)
            return


def _on_host(operation: Any) -> Iterator[Any]:
    """Yield the operations inside an MLIR operation, except those of kernels."""
    for block in (block for region in operation.regions for block in region.blocks):
        for inner in (view.operation for view in block.operations):
            if inner.name != "gpu.module":
                yield inner
                yield from _on_host(inner)


def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="forgekit-", dir=HOST.scratch())


def _explained(error: BaseException, fn: Any, options: str) -> Exception:
    """Convert an error from CuTe DSL's compiler to a forgekit exception."""
    if isinstance(error, OSError) and f"{error.filename}" in options:
        got, needed = f"{options} ({error.strerror})", "a writable folder"
        remedy = "choose another folder, or omit --dump-dir"
        return PlatformError(got_needed("options", got, needed, remedy))
    from forgekit.diagnosing.diagnosis import explain_compile_error

    return explain_compile_error(error, fn)
