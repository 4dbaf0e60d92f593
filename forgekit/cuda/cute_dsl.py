"""Adapt CuTe DSL's own host helpers to the virtual GPU."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from forgekit.cuda.patches import Patches
from forgekit.vgpu.errors import KernelError, usage_error

KDL_CPU, KDL_CUDA = 1, 2  # a value of DLPack's DLDeviceType


def patch_cute_dsl(patches: Patches) -> None:
    """Make `benchmark` and `tune` run each variant once, and refuse helpers that write code for a
    real GPU."""
    from cutlass import testing
    from cutlass.base_dsl.jit_executor import JitCompiledFunction
    from cutlass.cute import runtime
    from cutlass.cute import testing as older
    from cutlass.utils import HardwareInfo

    for name in ("benchmark", "_benchmark_for_autotune"):
        patches.put(testing, name, _once(getattr(testing, name)))
    # The older name wraps the function so that a warning names the caller's line.
    warns = older._deprecated(older.benchmark.__deprecated__)
    patches.put(older, "benchmark", warns(testing.benchmark))
    # The original would load an empty kernel to find its occupancy; see `bindings`.
    patches.put(HardwareInfo, "_get_device_function", lambda self: None)
    patches.put(JitCompiledFunction, "export_to_c", _refuse_export)
    patches.put(runtime, "load_module", _refuse_load)


# Slugs of mistakes that stop a kernel -> CUDA's name for the error that a GPU reports.
_CODES = {
    "out-of-bounds": "IllegalAddress", "misaligned": "MisalignedAddress", "trap": "Assert",
    "deadlock": "LaunchTimeout", "divergent-barrier": "LaunchTimeout", "endless": "LaunchTimeout",
    "launch-limits": "InvalidConfiguration",
}  # fmt: skip


def stopped(error: KernelError) -> KernelError:
    """Make an error also an instance of CuTe DSL's and torch's errors, with CUDA's code and the
    same message."""
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
        captures = bool(kwargs.get("use_cuda_graphs"))  # an empty graph is refused
        kwargs |= {"iterations": 1, "warmup_iterations": int(captures)}
        if "use_cupti" in kwargs:
            kwargs["use_cupti"] = False
        return measure(*args, **kwargs)

    return run


def _refuse_export(*_: Any, **__: Any) -> Any:
    remedy = "export it on a machine with a GPU, or call the compiled function itself here"
    needed = "one compiled for a real GPU"
    raise usage_error("export_to_c", "a function compiled for the virtual GPU", needed, remedy)


def _refuse_load(file: object, *_: Any, **__: Any) -> Any:
    needed = "the script that compiles the function, because a file has code only for a real GPU"
    remedy = "compile and call the function here, or load the file on a machine with a GPU"
    raise usage_error("load_module", repr(file), needed, remedy)


def device_of_capsule(capsule: Any) -> ctypes.c_int32 | None:
    """Return the device type in a DLPack capsule, and its address; None for anything else."""
    api = ctypes.pythonapi
    api.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
    if not api.PyCapsule_IsValid(capsule, b"dltensor"):
        return None
    pointer = api.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    # DLManagedTensor: its DLTensor begins with the data's pointer, then the device type.
    at = pointer(capsule, b"dltensor") + ctypes.sizeof(ctypes.c_void_p)
    return ctypes.c_int32.from_address(at)


class GlobalTensor:
    """A CPU tensor that DLPack presents as a GPU tensor: for the DSL it is global memory."""

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
