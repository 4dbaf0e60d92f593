"""Replace the DSL's methods, once per process, to intercept its launches.

Each replacement behaves like the original for functions that are not compiled for the virtual GPU.
`intercept` sets `active`, which determines whether new compilations are for the virtual GPU.
"""

from __future__ import annotations

import copy
import functools
import inspect
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forgekit.vgpu import plugins
from forgekit.vgpu.errors import PlatformError, UsageError
from forgekit.vgpu.host import arguments, cuda_runtime, launching
from forgekit.vgpu.host.limits import BEYOND_32_BITS, check_count, name_beyond_ascii
from forgekit.vgpu.host.scratch import scratch
from forgekit.vgpu.host.signature import MOST, CallSignature, check_uncompiled
from forgekit.vgpu.memory import GlobalMemory

active = False  # True if new compilations are for the virtual GPU

# The DSL compiles one function at a time, because all threads share its settings, its state and
# sys.stdout. The virtual GPU runs one call at a time, as in a single stream. So no kernel reads
# another kernel's incomplete atomics, a listener receives the events of one launch at a time, and
# kernels' output is not mixed with the DSL's.
lock = threading.RLock()

SIGNATURE = "_forgekit_signature"  # an attribute that the hooks add to the DSL's ExecutionArgs


@dataclass(frozen=True)
class _Compilation:
    """A compilation. ptx_file: the file to which the DSL writes the PTX; wanted_file: the file that
    the user requested, or ""."""

    signature: CallSignature
    ptx_file: str
    wanted_file: str


class _Local(threading.local):
    """A thread's state: the arguments of its current call, and its current compilation."""

    arguments: Sequence[tuple[str, object]] = ()
    compiling: _Compilation | None = None


_local = _Local()


def import_dsl() -> Any:
    """Return the CuTe DSL object.

    Raises:
        PlatformError: CuTe DSL cannot be imported.
    """
    try:
        from cutlass.cutlass_dsl import CuTeDSL
    except ImportError as error:
        raise PlatformError(
            f"CuTe DSL cannot be imported ({error}). Its wheels support only Linux (x86-64 and "
            "arm64): install nvidia-cutlass-dsl on Linux, or use WSL on Windows."
        ) from error
    return CuTeDSL._get_dsl()


@functools.cache
def replace_methods() -> None:
    import_dsl()
    for replace in (
        _one_at_a_time, _compiling, _naming, _launching, _building, _calling, _loading, _tensors,
    ):  # fmt: skip
        replace()


def _replaces(owner: Any, name: str) -> Callable[[Callable], Callable]:
    """Replace the method `name` of a class with a function that receives the original as its first
    argument."""
    original = getattr(owner, name)

    def put(function: Callable) -> Callable:
        @functools.wraps(original)
        def method(*args: Any, **kwargs: Any) -> Any:
            return function(original, *args, **kwargs)

        is_static = isinstance(inspect.getattr_static(owner, name), staticmethod)
        setattr(owner, name, staticmethod(method) if is_static else method)
        return function

    return put


def _one_at_a_time() -> None:
    """Serialise compilations that `cute.compile` or a call starts."""
    from cutlass.base_dsl import compiler, dsl

    @_replaces(compiler.CompileCallable, "_compile")
    @_replaces(dsl.BaseDSL, "_preprocess_and_replace_code")
    def locked(original: Any, *args: Any, **kwargs: Any) -> Any:
        with lock:
            return original(*args, **kwargs)

    @_replaces(dsl.BaseDSL, "_func")
    def run(original: Any, self: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
        with lock:
            # Set this again: another thread's compilation may have cleared it.
            self.decorator_location = function._decorator_location
            outer, _local.compiling = _local.compiling, None  # restored afterwards
            try:
                return original(self, function, *args, **kwargs)
            finally:
                _end_compilation()
                _local.compiling = outer


def _end_compilation() -> None:
    """End a successful or failed compilation. Delete its PTX, so that it is not used for another
    kernel with the same name."""
    compilation, _local.compiling = _local.compiling, None
    if compilation:
        Path(compilation.ptx_file).unlink(missing_ok=True)


def _compiling() -> None:
    """Make every compilation keep its PTX and avoid TVM-FFI, regardless of the user's options."""
    from cutlass.base_dsl import dsl
    from cutlass.base_dsl.compiler import EnableTVMFFI, KeepPTX

    @_replaces(dsl.BaseDSL, "_prepare_compilation")
    def prepare(original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
        _end_compilation()
        if not active:
            return original(self, *args, **kwargs)
        self.compile_options = copy.deepcopy(self.compile_options)
        setup = original(self, *args, **kwargs)
        options = self.compile_options.options
        wants_tvm_ffi, options[EnableTVMFFI].value = options[EnableTVMFFI].value, False
        keep = options[KeepPTX]
        wanted = keep.full_ptx_path if keep.value else ""
        arch = self.compile_options.gpu_arch or self.envar.arch
        keep.value = True
        keep.dump_path = os.path.join(_dump_dir(), setup.function_name)
        keep.full_ptx_path = f"{keep.dump_path}.{arch}.ptx"
        given = dict(zip(setup.sig.parameters, setup.canonicalized_args, strict=False))
        given |= setup.canonicalized_kwargs
        _local.compiling = _Compilation(
            CallSignature.of(given, _annotations(setup.sig), wants_tvm_ffi),
            keep.full_ptx_path,
            wanted,
        )
        return setup


def _naming() -> None:
    """Refuse a non-ASCII kernel name, because NVIDIA's compiler would reject the kernel's code."""
    from cutlass.base_dsl import dsl

    @_replaces(dsl.BaseDSL, "_customize_generated_name")
    def name(original: Any, self: Any, default_name: str, *args: Any, **kwargs: Any) -> Any:
        name = original(self, default_name, *args, **kwargs)
        if active and default_name.startswith("kernel_") and not str(name).isascii():
            raise UsageError(name_beyond_ascii(self.funcBody.__name__))
        return name


def _annotations(signature: inspect.Signature) -> dict[str, Any]:
    return {name: p.annotation for name, p in signature.parameters.items()}


def _launching() -> None:
    """Replace a number of blocks that does not fit into 32 bits with a number that `check_limits`
    refuses."""
    from cutlass.cutlass_dsl.cutlass import CutlassBaseDSL

    @_replaces(CutlassBaseDSL, "cuda_launch_func")
    def launch(original: Any, stream: Any, kernel: Any, x: Any, y: Any, z: Any, *args: Any,
               **kwargs: Any) -> None:  # fmt: skip
        grid = (_in_32_bits(size) for size in (x, y, z)) if active else (x, y, z)
        original(stream, kernel, *grid, *args, **kwargs)


def _in_32_bits(size: Any) -> Any:
    """Return a number of blocks, or `BEYOND_32_BITS` if the cast to Int32 would truncate it."""
    import cutlass
    from cutlass._mlir.dialects import arith

    if isinstance(size, int):
        return size if abs(size) <= MOST else BEYOND_32_BITS
    if not isinstance(size, cutlass.Integer) or size.width < 32 + size.signed:
        return size
    wide = cutlass.Int64(size)
    held = cutlass.Boolean(wide <= MOST) & cutlass.Boolean(wide >= -MOST)
    short, beyond = cutlass.Int32(wide).ir_value(), cutlass.Int32(BEYOND_32_BITS).ir_value()
    return cutlass.Int32(arith.select(held.ir_value(), short, beyond))


def _building() -> None:
    """Link a compiled function's engine against the virtual GPU."""
    from cutlass.base_dsl import compiler, dsl

    @_replaces(compiler.Compiler, "jit")
    def make_engine(
        original: Any, self: Any, module: Any, opt_level: int = 2, shared_libs: Any = ()
    ) -> Any:
        options = import_dsl().compile_options
        ptx = Path(_local.compiling.ptx_file) if _local.compiling else None
        # not compiled for the virtual GPU, or no kernel
        if ptx is None or not ptx.exists():
            return original(self, module, opt_level, shared_libs)
        arch = options.gpu_arch or import_dsl().envar.arch
        return cuda_runtime.make_engine(module, ptx.read_text(encoding="utf-8"), arch)

    @_replaces(dsl.BaseDSL, "_build_jit_function")
    def build(original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
        function = original(self, *args, **kwargs)
        compilation = _local.compiling
        if compilation and cuda_runtime.is_virtual(function.engine):
            setattr(function.execution_args, SIGNATURE, compilation.signature)
            if compilation.wanted_file:
                os.makedirs(os.path.dirname(compilation.wanted_file) or ".", exist_ok=True)
                shutil.copy(compilation.ptx_file, compilation.wanted_file)
        return function

    @_replaces(type(import_dsl()), "_runtime_can_run_compiled")
    def can_run(original: Any, self: Any, *archs: str | None) -> bool:
        return active or original(self, *archs)


def _calling() -> None:
    """Store each call's arguments, and run its launches when the host function returns."""
    from cutlass.base_dsl import dsl, jit_executor
    from cutlass.cutlass_dsl import cuda_jit_executor

    @_replaces(jit_executor.JitExecutor, "run_compiled_program")
    def run(original: Any, self: Any, exe_args: list[Any]) -> Any:
        named, _local.arguments = _local.arguments, ()
        if not cuda_runtime.is_virtual(self.jit_module.engine):
            return original(self, exe_args)
        with lock:
            memory = GlobalMemory()
            arguments.register(memory, named)
            cuda_runtime.take_launches()
            try:
                result = original(self, exe_args)
            except Exception:
                check_count(len(cuda_runtime.take_launches()))
                raise
            if cuda_runtime.submit(cuda_runtime.take_launches(), memory):
                launching.finish_call(memory)
            return result

    @_replaces(cuda_jit_executor.CudaDialectJitCompiledFunction, "__call__")
    def call(original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
        signature = getattr(self.execution_args, SIGNATURE, None)
        if signature is not None:
            signature.check_count(self.execution_args.signature, args, kwargs)
        return original(self, *args, **kwargs)

    @_replaces(jit_executor.ExecutionArgs, "_generate_execution_args")
    def generate(original: Any, self: Any, args: tuple, kwargs: dict) -> Any:
        names = self._meta.all_names
        signature = getattr(self, SIGNATURE, None)
        if signature is not None:
            args, kwargs = signature.complete(names, args, kwargs)
            named = [*zip(names, args, strict=False), *kwargs.items()]
            fitted, count = [*signature.fit(named)], min(len(names), len(args))
            args = (*fitted[:count], *args[count:])
            kwargs = dict(zip(kwargs, fitted[count:], strict=True))
        _local.arguments = [*zip(names, args, strict=False), *kwargs.items()]
        return original(self, args, kwargs)

    @_replaces(dsl.BaseDSL, "generate_mlir_function_types")
    def generate_types(
        original: Any, self: Any, func: Any, function_name: str, args: Any, kwonlyargs: Any,
        sig: Any, compile_only: bool = False,
    ) -> Any:  # fmt: skip
        named = [*zip(sig.parameters, args, strict=False), *kwonlyargs.items()]
        if active:
            annotations = _annotations(sig)
            for name, value in named:
                check_uncompiled(name, value, annotations.get(name))
        if not compile_only:
            _local.arguments = named
        return original(self, func, function_name, args, kwonlyargs, sig, compile_only)


def _loading() -> None:
    """Load kernels as if there were a single device, without passing the virtual GPU's handles to
    the driver."""
    from cutlass.cutlass_dsl import cuda_jit_executor

    function = cuda_jit_executor.CudaDialectJitCompiledFunction
    devices = function.num_devices.func

    def count_devices(self: Any) -> int:
        return 1 if cuda_runtime.is_virtual(self.engine) else devices(self)

    @_replaces(function, "_load_cuda_library")
    def load(original: Any, self: Any) -> list[Any]:
        libraries = original(self)
        return [] if cuda_runtime.is_virtual(self.engine) else libraries

    function.num_devices = functools.cached_property(count_devices)
    function.num_devices.__set_name__(function, "num_devices")


def _tensors() -> None:
    """Make runtime tensors keep a reference to the tensors from which they were made."""
    from cutlass.cute import runtime

    @_replaces(runtime._Tensor, "__init__")
    def init(original: Any, self: Any, tensor: object, *args: Any, **kwargs: Any) -> None:
        original(self, plugins.active.for_dlpack(tensor), *args, **kwargs)
        setattr(self, arguments.SOURCE_ATTRIBUTE, tensor)

    @_replaces(runtime._Tensor, "__c_pointers__")
    def pointers(original: Any, self: Any) -> Any:
        if not plugins.active.on_gpu(getattr(self, arguments.SOURCE_ATTRIBUTE, None)):
            return original(self)
        # torch's CPU allocator aligns to 64 bytes; a GPU's allocator and virtual addresses align to
        # 512. Skip the DSL's check of the CPU address; the call's signature checks the offset from
        # the boundary.
        align, self._assumed_align = self._assumed_align, 1
        try:
            return original(self)
        finally:
            self._assumed_align = align


@functools.cache
def _folder(parent: str, process: int) -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="forgekit-", dir=parent, ignore_cleanup_errors=True)


def _dump_dir() -> str:
    """Return a private folder for the DSL's PTX files, in memory if there is enough space."""
    folder = _folder(scratch(), os.getpid()).name
    # Create the folder again if a clean-up of temporary files removed it.
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return folder


# For messages and a kernel's line information, the DSL uses the innermost frame outside its
# package; pytest and `forgekit run` skip hidden frames. With these two names, all three skip the
# functions of this module.
__name__ = "cutlass.forgekit"
__tracebackhide__ = True
