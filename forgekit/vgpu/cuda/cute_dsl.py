"""What CuTe DSL's own host helpers do on the virtual GPU."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from forgekit.vgpu.cuda.patches import Patches
from forgekit.vgpu.errors import LaunchError, UsageError
from forgekit.vgpu.host import limits
from forgekit.vgpu.wording import got_needed


def patch_cute_dsl(patches: Patches) -> None:
    """`benchmark` and `tune` run each variant once; what writes code for a real GPU is refused; a
    launch that is too large raises the DSL's error."""
    from cutlass import testing
    from cutlass.base_dsl.jit_executor import JitCompiledFunction
    from cutlass.cute import testing as older
    from cutlass.utils import HardwareInfo

    for owner, name in (
        (testing, "benchmark"), (testing, "_benchmark_for_autotune"), (older, "_benchmark"),
    ):  # fmt: skip
        patches.put(owner, name, _once(getattr(owner, name)))
    patches.put(limits, "LaunchError", _launch_error())
    # It would load an empty kernel to ask how many of its blocks fit; see `bindings`.
    patches.put(HardwareInfo, "_get_device_function", lambda self: None)
    patches.put(JitCompiledFunction, "export_to_c", _refuse_export)


def _launch_error() -> type[LaunchError]:
    """A `LaunchError` that is CuTe DSL's too, with CUDA's code where that is known."""
    from cuda.bindings.runtime import cudaError_t
    from cutlass.base_dsl.common import DSLCudaRuntimeError

    class CudaLaunchError(LaunchError, DSLCudaRuntimeError):
        __str__ = Exception.__str__

        def __init__(self, message: str) -> None:
            Exception.__init__(self, message)
            too_many = message.startswith("cooperative")
            code = cudaError_t.cudaErrorCooperativeLaunchTooLarge if too_many else None
            self.message, self.error_code = message, code

    return CudaLaunchError


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
    raise UsageError(
        got_needed("export_to_c", "a function of the virtual GPU", "one compiled for a real GPU",
                   "export it on a machine with a GPU; here call the compiled function itself")
    )  # fmt: skip
