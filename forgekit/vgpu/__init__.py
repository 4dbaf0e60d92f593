"""The virtual GPU runs the PTX that CuTe DSL's compiler produces on the CPU, warp by warp.

    import forgekit.vgpu
    forgekit.vgpu.install()      # from here on, unmodified CuTe DSL code runs without a GPU

The rest of forgekit imports only these names; the exceptions are in `forgekit.errors`:

    install, uninstall, is_installed, installed     route CuTe DSL's launches here
    options         of a run: sanitizer, schedule, budget, listeners, ...
    Call            load a program and launch it, or list a call's launches without running them
    Recording       the events of a run, recorded once for all views
    Listener, Moment, Access    readers of a recording or of a run, event by event
    AccessCounts, TensorTraffic    the counts of a recording
    Finding         a mistake found by the sanitizer
    HARDWARE        the numbers of the GPU: lanes, banks, architectures, limits, costs
    HOST            access to CuTe DSL and torch's tensors for the compiler

It depends on PTX and NumPy, not on the rest of forgekit. The modules, from the bottom of the stack
to the top; each imports only from those listed above it, even for annotations:

    wording.py, user_lines.py, errors.py, environment.py    messages, exceptions, settings
    plugins.py      host code's requests to a GPU besides launches; `forgekit.cuda` is a plug-in
    floats.py, fp8.py    arithmetic of f16, bf16, tf32, fp8 on arrays of bits
    elementary.py        log2, sin, cos and tanh, correctly rounded
    tensor_cores.py      dot products with the additions of tensor cores
    ptx/            text -> instructions, each with its Python line
    launch_record.py    a launch: grid, blocks, parameters; coordinates of a block
    memory/         global, shared and local memory
    code.py         a kernel's code: numbered registers, placed variables, liveness
    sampling.py     the blocks that run of a large launch that is only counted
    batch.py        the state of a batch of blocks: registers, memory, program counters
    access/         from addresses to elements; checks every access
    listeners.py    the observers of a run
    machine/        runs a batch of blocks in lockstep: groups, divergence, barriers, mbarriers
    opcodes/        the meaning of each opcode
    program.py      instructions -> steps
    counters/       counts; sanitizer/ finds races and reads of unwritten memory
    host/           the path from CuTe DSL's host code to a launch
    recording.py, hardware.py    a run as plain data; constants and costs
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forgekit.vgpu.counters.costs import AccessCounts
    from forgekit.vgpu.counters.touched import TensorTraffic
    from forgekit.vgpu.hardware import HARDWARE
    from forgekit.vgpu.host.call import Call
    from forgekit.vgpu.host.intercept import install, installed, is_installed, uninstall
    from forgekit.vgpu.host.options import options
    from forgekit.vgpu.host.tools import HOST
    from forgekit.vgpu.listeners import Access, Listener
    from forgekit.vgpu.recording import Moment, Recording
    from forgekit.vgpu.sanitizer import Finding

# These are imported on first use, because `forgekit.errors` needs this package but not NumPy.
_HOME = {
    "Access": "listeners", "AccessCounts": "counters.costs", "Call": "host.call",
    "Finding": "sanitizer", "HARDWARE": "hardware", "HOST": "host.tools", "Listener": "listeners",
    "Moment": "recording", "Recording": "recording", "TensorTraffic": "counters.touched",
    "install": "host.intercept", "installed": "host.intercept", "is_installed": "host.intercept",
    "options": "host.options", "uninstall": "host.intercept",
}  # fmt: skip

__all__ = [
    "HARDWARE",
    "HOST",
    "Access",
    "AccessCounts",
    "Call",
    "Finding",
    "Listener",
    "Moment",
    "Recording",
    "TensorTraffic",
    "install",
    "installed",
    "is_installed",
    "options",
    "uninstall",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
