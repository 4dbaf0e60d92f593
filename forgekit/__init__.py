"""forgekit: learn to write fast GPU kernels in CuTe DSL, with or without a GPU.

    import forgekit as fk

    run = fk.compile(copy, x, y)    # compile a @cute.jit function, cached
    run(x, y)                       # on the GPU if there is one, otherwise on the virtual GPU
    fk.check(y, x)                  # compare with a reference

Names are imported on first use, so `import forgekit` alone is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from forgekit.vgpu import plugins

if TYPE_CHECKING:
    import torch

    from forgekit.benching.notebook.bench import bench, sweep
    from forgekit.benching.notebook.results import Benchmark, Sweep
    from forgekit.checking.check import check
    from forgekit.checking.sanitize import SanitizerReport, sanitize
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
        SanitizerError,
        UsageError,
    )
    from forgekit.layouts.explain import Explanation, explain
    from forgekit.layouts.layout import Layout
    from forgekit.layouts.swizzle import ComposedLayout, Swizzle
    from forgekit.lessons.exercise import Exercise, exercise
    from forgekit.lessons.progress import Progress, progress
    from forgekit.profiling.predictions import Prediction, Predictions, predict, predictions
    from forgekit.profiling.profile import Profile, profile
    from forgekit.tensors import arange, empty, full, ones, rand, randint, randn, zeros
    from forgekit.tracing.banks import BankConflicts, banks
    from forgekit.tracing.coalescing import Coalescing, coalescing
    from forgekit.tracing.footprint import Footprint, footprint
    from forgekit.tracing.timeline import Timeline, timeline
    from forgekit.viz.explorer.explore import Explorer, explore
    from forgekit.viz.timing.figure import figure

    device: torch.device
    target: Target

__version__ = "0.1.0"

_HOME = {
    "benching.notebook.bench": ("bench", "sweep"),
    "benching.notebook.results": ("Benchmark", "Sweep"),
    "checking.check": ("check",),
    "checking.sanitize": ("SanitizerReport", "sanitize"),
    "compiling.compiled": ("CompiledKernel", "cache_clear", "cache_info", "compile"),
    "devices": ("Target", "current_target", "use_target"),
    "errors": (
        "ArgumentMismatchError", "CheckError", "CompileError", "ForgekitError", "KernelError",
        "PlatformError", "SanitizerError", "UsageError",
    ),
    "compiling.specs": ("TensorSpec", "spec"),
    "layouts.explain": ("Explanation", "explain"),
    "layouts.layout": ("Layout",),
    "layouts.swizzle": ("ComposedLayout", "Swizzle"),
    "lessons.exercise": ("Exercise", "exercise"),
    "lessons.progress": ("Progress", "progress"),
    "profiling.predictions": ("Prediction", "Predictions", "predict", "predictions"),
    "profiling.profile": ("Profile", "profile"),
    "tensors": ("arange", "empty", "full", "ones", "rand", "randint", "randn", "zeros"),
    "tracing.banks": ("BankConflicts", "banks"),
    "tracing.coalescing": ("Coalescing", "coalescing"),
    "viz.explorer.explore": ("Explorer", "explore"),
    "tracing.footprint": ("Footprint", "footprint"),
    "tracing.timeline": ("Timeline", "timeline"),
    "viz.timing.figure": ("figure",),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "ArgumentMismatchError", "BankConflicts", "Benchmark", "CheckError", "Coalescing",
    "CompileError", "CompiledKernel", "ComposedLayout", "Exercise", "Explanation", "Explorer",
    "Footprint", "ForgekitError", "KernelError", "Layout", "PlatformError", "Prediction",
    "Predictions", "Profile", "Progress", "SanitizerError", "SanitizerReport", "Sweep",
    "Swizzle", "Target", "TensorSpec", "Timeline", "UsageError", "arange", "banks", "bench",
    "cache_clear", "cache_info", "check", "coalescing", "compile", "current_target", "device",
    "empty", "exercise", "explain", "explore", "figure", "footprint", "full", "ones", "predict",
    "predictions", "profile", "progress", "rand", "randint", "randn", "sanitize", "spec",
    "sweep", "target", "timeline", "use_target", "zeros",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "target":  # the current target of kernels, evaluated on each access
        return importlib.import_module("forgekit.devices").current_target()
    if name == "device":  # torch's device for tensors on the current target
        return importlib.import_module("forgekit.devices").current_target().torch_device
    if name in _MODULE_OF:
        value = getattr(importlib.import_module(f"forgekit.{_MODULE_OF[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'forgekit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _cuda() -> plugins.Plugin:
    """Return the plug-in that `forgekit.vgpu.install(cuda=True)` starts; imports torch."""
    from forgekit.cuda.plugin import Cuda

    return Cuda()


plugins.known["cuda"] = _cuda
importlib.import_module("forgekit.diagnosing.tracebacks").install()
