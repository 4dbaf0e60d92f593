"""The DSL's methods that are replaced, once a process, so that its launches can come to us.

Each replacement does what the original did for everything that was not compiled for the virtual
GPU. Whether new compilations are is `active`, which `forgekit.vgpu.host.intercept` switches.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import os
import shutil
import tempfile
import threading
from dataclasses import dataclass
from typing import Any

from forgekit.errors import PlatformError, UsageError
from forgekit.scratch import scratch
from forgekit.vgpu.host import arguments, launching
from forgekit.vgpu.host import cuda_runtime as host
from forgekit.vgpu.host.limits import BEYOND_32_BITS, name_beyond_ascii
from forgekit.vgpu.host.signature import MOST, CallSignature, check_uncompiled
from forgekit.vgpu.memory import GlobalMemory

active = False  # whether new compilations are for the virtual GPU

# The DSL compiles one function at a time: its settings, its state and, while it does, sys.stdout
# are the process's. The virtual GPU runs one call at a time, as in one stream: no kernel sees
# another's half-done atomics, a listener sees one launch, and no text goes where the DSL collects
# its own.
lock = threading.RLock()

_SIGNATURE = "_forgekit_signature"  # set on the DSL's ExecutionArgs


@dataclass(frozen=True)
class _Compilation:
    """A compilation: where the DSL writes the PTX, and where the user wants it (or nowhere)."""

    signature: CallSignature
    ptx_file: str
    wanted_file: str


class _Local(threading.local):
    """Per thread: the arguments of the running call, the running compilation."""

    def __init__(self) -> None:
        self.arguments: list[tuple[str, object]] = []
        self.compiling: _Compilation | None = None


_local = _Local()


def import_dsl() -> Any:
    """The CuTe DSL object.

    Raises:
        PlatformError: it cannot be imported.
    """
    try:
        from cutlass.cutlass_dsl import CuTeDSL
    except ImportError as error:
        raise PlatformError(
            f"CuTe DSL cannot be imported ({error}). It has wheels for Linux only (x86-64 and "
            "arm64): install nvidia-cutlass-dsl there, or use WSL on Windows."
        ) from error
    return CuTeDSL._get_dsl()


@functools.cache
def replace_methods() -> None:
    """Replace the DSL's methods (once a process)."""
    import_dsl()
    for replace in (
        _one_at_a_time, _compiling, _naming, _launching, _building, _calling, _loading, _tensors,
    ):  # fmt: skip
        replace()


def _one_at_a_time() -> None:
    """Compilations wait for each other, whether `cute.compile` or a call asks for them."""
    from cutlass.base_dsl import compiler, dsl

    rewrite = dsl.BaseDSL._preprocess_and_replace_code
    compiler.CompileCallable._compile = _locked(compiler.CompileCallable._compile)
    dsl.BaseDSL._preprocess_and_replace_code = staticmethod(_locked(rewrite))
    run = dsl.BaseDSL._func

    @functools.wraps(run)
    def func(self: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
        with lock:
            # The caller has set it; another thread's compilation may have cleared it since.
            self.decorator_location = function._decorator_location
            return run(self, function, *args, **kwargs)

    dsl.BaseDSL._func = func


def _locked(function: Any) -> Any:
    """The function, by one thread at a time."""

    @functools.wraps(function)
    def locked(*args: Any, **kwargs: Any) -> Any:
        with lock:
            return function(*args, **kwargs)

    return locked


def _compiling() -> None:
    """Every compilation keeps its PTX and has no TVM-FFI, whatever options the user gave."""
    from cutlass.base_dsl import dsl
    from cutlass.base_dsl.compiler import EnableTVMFFI, KeepPTX

    prepare = dsl.BaseDSL._prepare_compilation

    @functools.wraps(prepare)
    def prepare_compilation(self: Any, *args: Any, **kwargs: Any) -> Any:
        _local.compiling = None
        if not active:
            return prepare(self, *args, **kwargs)
        self.compile_options = copy.deepcopy(self.compile_options)
        setup = prepare(self, *args, **kwargs)
        options = self.compile_options.options
        wants_tvm_ffi, options[EnableTVMFFI].value = options[EnableTVMFFI].value, False
        keep = options[KeepPTX]
        wanted = keep.full_ptx_path if keep.value else ""
        arch = self.compile_options.gpu_arch or self.envar.arch
        keep.value = True
        keep.dump_path = os.path.join(_dump_dir(), setup.function_name)
        keep.full_ptx_path = f"{keep.dump_path}.{arch}.ptx"
        with contextlib.suppress(FileNotFoundError):  # of a compilation that failed
            os.unlink(keep.full_ptx_path)
        given = dict(zip(setup.sig.parameters, setup.canonicalized_args, strict=False))
        given |= setup.canonicalized_kwargs
        _local.compiling = _Compilation(
            CallSignature.of(given, _annotations(setup.sig), wants_tvm_ffi),
            keep.full_ptx_path,
            wanted,
        )
        return setup

    dsl.BaseDSL._prepare_compilation = prepare_compilation


def _naming() -> None:
    """A kernel's name beyond ASCII is refused before the compiler calls all of its code invalid."""
    from cutlass.base_dsl import dsl

    name_it = dsl.BaseDSL._customize_generated_name

    @functools.wraps(name_it)
    def customize_generated_name(self: Any, default_name: str, *args: Any, **kwargs: Any) -> Any:
        name = name_it(self, default_name, *args, **kwargs)
        if active and default_name.startswith("kernel_") and not str(name).isascii():
            raise UsageError(name_beyond_ascii(self.funcBody.__name__))
        return name

    dsl.BaseDSL._customize_generated_name = customize_generated_name


def _annotations(signature: inspect.Signature) -> dict[str, Any]:
    return {name: p.annotation for name, p in signature.parameters.items()}


def _launching() -> None:
    """A number of blocks that the launch's 32 bits cannot hold becomes one that is refused."""
    from cutlass.cutlass_dsl.cutlass import CutlassBaseDSL

    launch = CutlassBaseDSL.cuda_launch_func

    @functools.wraps(launch)
    def cuda_launch_func(stream: Any, kernel: Any, x: Any, y: Any, z: Any, *args: Any,
                         **kwargs: Any) -> None:  # fmt: skip
        grid = (_in_32_bits(size) for size in (x, y, z)) if active else (x, y, z)
        launch(stream, kernel, *grid, *args, **kwargs)

    CutlassBaseDSL.cuda_launch_func = staticmethod(cuda_launch_func)


def _in_32_bits(size: Any) -> Any:
    """A number of blocks, or `BEYOND_32_BITS` where the cast to Int32 would cut it off."""
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
    """The engine of a compiled function is linked against the virtual GPU."""
    from cutlass.base_dsl import compiler, dsl

    make_real_engine = compiler.Compiler.jit

    @functools.wraps(make_real_engine)
    def jit(self: Any, module: Any, opt_level: int = 2, shared_libs: Any = ()) -> Any:
        options = import_dsl().compile_options
        text = _read(_local.compiling.ptx_file) if _local.compiling else None
        if text is None:  # not for us, or no kernel in this function
            return make_real_engine(self, module, opt_level, shared_libs)
        arch = options.gpu_arch or import_dsl().envar.arch
        return host.make_engine(module, opt_level, text, arch)

    build = dsl.BaseDSL._build_jit_function

    @functools.wraps(build)
    def build_jit_function(self: Any, *args: Any, **kwargs: Any) -> Any:
        function = build(self, *args, **kwargs)
        compilation = _local.compiling
        if compilation and host.is_virtual(function.engine):
            setattr(function.execution_args, _SIGNATURE, compilation.signature)
            if compilation.wanted_file:
                os.makedirs(os.path.dirname(compilation.wanted_file) or ".", exist_ok=True)
                shutil.copy(compilation.ptx_file, compilation.wanted_file)
            os.unlink(compilation.ptx_file)  # another kernel of the same name must not find it
        return function

    can_run = type(import_dsl())._runtime_can_run_compiled

    @functools.wraps(can_run)
    def runtime_can_run(self: Any, runtime_arch: str | None, compiled_arch: str | None) -> bool:
        return active or can_run(self, runtime_arch, compiled_arch)

    compiler.Compiler.jit = jit
    dsl.BaseDSL._build_jit_function = build_jit_function
    type(import_dsl())._runtime_can_run_compiled = runtime_can_run


def _calling() -> None:
    """A call's arguments are remembered, and its launches run when the host function returns."""
    from cutlass.base_dsl import dsl, jit_executor

    run = jit_executor.JitExecutor.run_compiled_program

    @functools.wraps(run)
    def run_compiled_program(self: Any, exe_args: list[Any]) -> Any:
        named, _local.arguments = _local.arguments, []
        if not host.is_virtual(self.jit_module.engine):
            return run(self, exe_args)
        with lock:
            memory = GlobalMemory()
            arguments.register(memory, named)
            host.take_launches()
            result = run(self, exe_args)
            for launch in host.take_launches():
                launch(memory)
            launching.finish_call(memory)
            return result

    generate = jit_executor.ExecutionArgs._generate_execution_args

    @functools.wraps(generate)
    def generate_execution_args(self: Any, args: tuple, kwargs: dict) -> Any:
        names = self._meta.all_names
        signature = getattr(self, _SIGNATURE, None)
        if signature is not None:
            args, kwargs = signature.complete(names, args, kwargs)
            args = (*(signature.fit(n, a) for n, a in zip(names, args, strict=False)),
                    *args[len(names) :])  # fmt: skip
            kwargs = {n: signature.fit(n, a) for n, a in kwargs.items()}
        _local.arguments = [*zip(names, args, strict=False), *kwargs.items()]
        return generate(self, args, kwargs)

    generate_types = dsl.BaseDSL.generate_mlir_function_types

    @functools.wraps(generate_types)
    def generate_mlir_function_types(
        self: Any, func: Any, function_name: str, args: Any, kwonlyargs: Any, sig: Any,
        compile_only: bool = False,
    ) -> Any:  # fmt: skip
        named = [*zip(sig.parameters, args, strict=False), *kwonlyargs.items()]
        if active:
            annotations = _annotations(sig)
            for name, value in named:
                check_uncompiled(name, value, annotations.get(name))
        if not compile_only:
            _local.arguments = named
        return generate_types(self, func, function_name, args, kwonlyargs, sig, compile_only)

    jit_executor.JitExecutor.run_compiled_program = run_compiled_program
    jit_executor.ExecutionArgs._generate_execution_args = generate_execution_args
    dsl.BaseDSL.generate_mlir_function_types = generate_mlir_function_types


def _loading() -> None:
    """Kernels are loaded as if there were one device; no handle of ours reaches the driver."""
    from cutlass.cutlass_dsl import cuda_jit_executor

    function = cuda_jit_executor.CudaDialectJitCompiledFunction
    devices, load = function.num_devices.func, function._load_cuda_library

    def count_devices(self: Any) -> int:
        return 1 if host.is_virtual(self.engine) else devices(self)

    @functools.wraps(load)
    def load_cuda_library(self: Any) -> list[Any]:
        libraries = load(self)
        return [] if host.is_virtual(self.engine) else libraries

    function.num_devices = functools.cached_property(count_devices)
    function.num_devices.__set_name__(function, "num_devices")
    function._load_cuda_library = load_cuda_library


def _tensors() -> None:
    """A runtime tensor remembers what it was made from."""
    from cutlass.cute import runtime

    make = runtime._Tensor.__init__

    @functools.wraps(make)
    def init(self: Any, tensor: object, *args: Any, **kwargs: Any) -> None:
        make(self, tensor, *args, **kwargs)
        setattr(self, arguments.SOURCE_ATTRIBUTE, tensor)

    runtime._Tensor.__init__ = init


def _read(path: str) -> str | None:
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return file.read()


@functools.cache
def _folder(parent: str, process: int) -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="forgekit-", dir=parent, ignore_cleanup_errors=True)


def _dump_dir() -> str:
    """A private folder, in memory where there is room: the DSL hands PTX over as files."""
    folder = _folder(scratch(), os.getpid()).name
    os.makedirs(folder, mode=0o700, exist_ok=True)  # whatever cleans up temporary files
    return folder
