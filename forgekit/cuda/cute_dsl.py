"""Adapt CuTe DSL's own host helpers to the virtual GPU."""

from __future__ import annotations

import array
import ctypes
import functools
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from forgekit.cuda.patches import Patches
from forgekit.vgpu.errors import KernelError, usage_error
from forgekit.vgpu.host import cuda_runtime, hooks, intercept
from forgekit.vgpu.wording import brief

KDL_CPU, KDL_CUDA = 1, 2  # values of DLPack's DLDeviceType


def patch_cute_dsl(patches: Patches) -> None:
    """Make `benchmark` and `tune` run each variant once, and make exported files contain code for
    the virtual GPU."""
    from cutlass import testing
    from cutlass.base_dsl.jit_executor import JitCompiledFunction
    from cutlass.cute import runtime
    from cutlass.cute import testing as older
    from cutlass.utils import HardwareInfo

    for name in ("benchmark", "_benchmark_for_autotune"):
        patches.put(testing, name, _once(getattr(testing, name)))
    # Wrap the older name here, so that its warning refers to the caller's line.
    warns = older._deprecated(older.benchmark.__deprecated__)
    patches.put(older, "benchmark", warns(testing.benchmark))
    # The original would load an empty kernel to determine the occupancy, which `bindings` provides.
    patches.put(HardwareInfo, "_get_device_function", lambda self: None)
    patches.put(JitCompiledFunction, "export_to_c", _export)
    patches.put(runtime, "load_module", Exported)


# The kind of mistake that stops a kernel -> CUDA's name for the error that a GPU reports.
_CODES = {
    "out-of-bounds": "IllegalAddress", "misaligned": "MisalignedAddress", "trap": "Assert",
    "deadlock": "LaunchTimeout", "divergent-barrier": "LaunchTimeout", "endless": "LaunchTimeout",
    "launch-limits": "InvalidConfiguration",
}  # fmt: skip


def stopped(error: KernelError) -> KernelError:
    """Return an error that is also an instance of CuTe DSL's and torch's errors, with CUDA's error
    code and the same message."""
    from cuda.bindings.runtime import cudaError_t

    name = _CODES.get(error.kind, "LaunchFailure")
    if str(error).startswith("cooperative"):
        name = "CooperativeLaunchTooLarge"
    kind: Any = type(error)
    error.__class__ = _as_cuda(kind)
    vars(error).update(message=str(error), error_code=getattr(cudaError_t, f"cudaError{name}"))
    return error


@functools.cache
def _as_cuda(kind: type[KernelError]) -> Any:
    import torch
    from cutlass.base_dsl.common import DSLCudaRuntimeError

    if issubclass(kind, DSLCudaRuntimeError):
        return kind
    bases = (kind, DSLCudaRuntimeError, getattr(torch, "AcceleratorError", RuntimeError))
    return type(kind.__name__, bases, {"__str__": Exception.__str__, "__module__": __name__})


def _once(measure: Callable) -> Callable:
    @functools.wraps(measure)
    def run(*args: Any, **kwargs: Any) -> Any:
        captures = bool(kwargs.get("use_cuda_graphs"))  # CuTe DSL refuses an empty graph
        kwargs |= {"iterations": 1, "warmup_iterations": int(captures)}
        if "use_cupti" in kwargs:
            kwargs["use_cupti"] = False
        return measure(*args, **kwargs)

    return run


# This mark precedes each pickled function in a file. (The DSL's own files also contain a pickled
# signature.)
_MARK = b"\0forgekit: a function for the virtual GPU\0"


def _export(function: Any, file_path: str = "", file_name: str = "", function_prefix: str = "", *,
            object_file_path: str = "", function_name: str = "", **_: Any) -> None:  # fmt: skip
    """Write an object file that can be linked into a shared library. It contains the host code's
    MLIR and the kernels' PTX as data, because machine code would call a real GPU.

    The arguments are those of the DSL's two export functions: (folder, file name, prefix) or, for
    TVM-FFI, (file, function_name=…). Without TVM-FFI, a loaded function accepts any tensor, as on a
    GPU.
    """
    from cutlass._mlir import ir
    from cutlass._mlir._mlir_libs._cutlass_ir import _aot_support
    from cutlass._mlir.dialects import llvm
    from cutlass.cute.export.export import CuteSignatureProcessor

    if not cuda_runtime.is_virtual(function.engine):
        needed = "a function compiled for the virtual GPU, with a kernel"
        remedy = "compile it after forgekit.vgpu.install(cuda=True)"
        raise usage_error("export_to_c", brief(function), needed, remedy)
    name = function_name or function_prefix or file_name
    module, runtime = io.BytesIO(), function.engine.runtime
    function.ir_module.operation.write_bytecode(module)
    signature = CuteSignatureProcessor().dumps(function.execution_args.signature)
    checks = getattr(function.execution_args, hooks.SIGNATURE)
    checks = checks if checks.packs else None
    parts = (module.getvalue(), function.function_name, signature, runtime.ptx_text, runtime.arch)
    data = array.array("b", _MARK + pickle.dumps((name, checks, *parts)))
    with ir.Context(), ir.Location.unknown():
        holder = ir.Module.create()
        with ir.InsertionPoint(holder.body):
            llvm.GlobalOp(
                sym_name=f"{name}_forgekit", constant=True,
                global_type=ir.Type.parse(f"!llvm.array<{len(data)} x i8>"),
                linkage=ir.Attribute.parse("#llvm.linkage<external>"),
                value=ir.DenseIntElementsAttr.get(data),
            )  # fmt: skip
        code = _aot_support.export_module_to_bytes(holder, format="o", opt_level=0, enable_pic=True)
    file = Path(file_path, f"{file_name}.o") if file_name else Path(object_file_path or file_path)
    file.write_bytes(code)


class Exported:
    """Provides the functions in an object file or shared library, as attributes or items."""

    def __init__(self, file_path: str, *, enable_tvm_ffi: bool = False) -> None:
        found = Path(file_path).read_bytes().split(_MARK)[1:]
        self._functions = {name: parts for name, *parts in map(pickle.loads, found)}
        if not found:
            needed = "a file with functions for the virtual GPU"
            remedy = "rerun the script that exports the functions, on this machine"
            raise usage_error("load_module", repr(file_path), needed, remedy)

    def __getitem__(self, name: str) -> Any:
        from cutlass.cute.export.export import CuteSignatureProcessor

        if name not in self._functions:
            needed = f"one of {', '.join(self._functions)}"
            raise usage_error("a loaded module", repr(name), needed, "check the exported name")
        checks, module, entry, signature, ptx, arch = self._functions[name]
        call = CuteSignatureProcessor().loads(signature)
        function = intercept.revive(module, entry, call, ptx, arch)
        setattr(function.execution_args, hooks.SIGNATURE, checks)
        return function

    __getattr__ = __getitem__


def device_of_capsule(capsule: Any) -> ctypes.c_int32 | None:
    """Return the device type in a DLPack capsule, as a writable reference, or None for any other
    object."""
    api = ctypes.pythonapi
    api.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
    if not api.PyCapsule_IsValid(capsule, b"dltensor"):
        return None
    pointer = api.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    # The DLTensor in a DLManagedTensor begins with the data pointer, followed by the device type.
    at = pointer(capsule, b"dltensor") + ctypes.sizeof(ctypes.c_void_p)
    return ctypes.c_int32.from_address(at)


class GlobalTensor:
    """A CPU tensor that DLPack presents as a GPU tensor, so that the DSL treats it as global
    memory."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __dlpack__(self, stream: object = None) -> Any:
        capsule = self.tensor.detach().__dlpack__(stream=-1)
        kind = device_of_capsule(capsule)
        assert kind is not None
        kind.value = KDL_CUDA
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return KDL_CUDA, 0
