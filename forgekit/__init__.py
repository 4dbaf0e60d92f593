"""forgekit: learn to write fast GPU kernels in CuTe DSL, with or without a GPU.

    import forgekit as fk

    run = fk.compile(copy, x, y)    # compile a @cute.jit function, cached
    run(x, y)                       # on the GPU, or on the virtual GPU where there is none
    fk.check(y, x)                  # compare with a reference

Names are imported when they are first used, so that `import forgekit` alone is quick.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from forgekit.checking.check import check
    from forgekit.compiling.compiled import CompiledKernel, cache_clear, cache_info, compile
    from forgekit.compiling.specs import TensorSpec, spec
    from forgekit.devices import Target, current_target, use_target
    from forgekit.errors import (
        ArgumentMismatchError,
        CheckError,
        CompileError,
        ForgekitError,
        KernelError,
        PlatformError,
        UsageError,
    )
    from forgekit.tensors import arange, empty, full, ones, rand, randint, randn, zeros
    from forgekit.viz.footprint import Footprint, footprint

    device: torch.device
    target: Target

__version__ = "0.1.0"

_HOME = {
    "checking.check": ("check",),
    "compiling.compiled": ("CompiledKernel", "cache_clear", "cache_info", "compile"),
    "devices": ("Target", "current_target", "use_target"),
    "errors": (
        "ArgumentMismatchError", "CheckError", "CompileError", "ForgekitError", "KernelError",
        "PlatformError", "UsageError",
    ),
    "compiling.specs": ("TensorSpec", "spec"),
    "tensors": ("arange", "empty", "full", "ones", "rand", "randint", "randn", "zeros"),
    "viz.footprint": ("Footprint", "footprint"),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "ArgumentMismatchError",
    "CheckError",
    "CompileError",
    "CompiledKernel",
    "Footprint",
    "ForgekitError",
    "KernelError",
    "PlatformError",
    "Target",
    "TensorSpec",
    "UsageError",
    "arange",
    "cache_clear",
    "cache_info",
    "check",
    "compile",
    "current_target",
    "device",
    "empty",
    "footprint",
    "full",
    "ones",
    "rand",
    "randint",
    "randn",
    "spec",
    "target",
    "use_target",
    "zeros",
]


def __getattr__(name: str) -> Any:
    if name == "target":  # where kernels run now; asked anew each time
        return importlib.import_module("forgekit.devices").current_target()
    if name == "device":  # torch's device for tensors of that place
        return importlib.import_module("forgekit.devices").current_target().torch_device
    if name in _MODULE_OF:
        value = getattr(importlib.import_module(f"forgekit.{_MODULE_OF[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'forgekit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if "IPython" in sys.modules:  # in a notebook, what CuTe DSL raises is told in the student's terms
    importlib.import_module("forgekit.diagnosing.notebook_errors").install()
