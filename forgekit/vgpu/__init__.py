"""Run the PTX that CuTe DSL's compiler produces on a virtual GPU, in software on the CPU.

    import forgekit.vgpu
    forgekit.vgpu.install()      # now unmodified CuTe DSL code runs without a GPU

The rest of forgekit imports only these names; the exceptions are in `forgekit.errors`:

    install, uninstall, is_installed, installed     switch launches to the virtual GPU and back
    options         the virtual GPU's settings: sanitizer, schedule, budget, listeners, ...
    Call            run the launches of a call, or record them without running them
    Recording       the events of a run, recorded once for any number of readers
    Listener, Moment, Access    observe a run, or read a recording, event by event
    AccessCounts, TensorTraffic    the counts in a recording
    Finding         a mistake that the sanitizer found
    HARDWARE        the constants of the GPU: lanes, banks, architectures, limits, costs
    HOST            host-side functions for CuTe DSL and torch tensors

This package depends on NumPy, but not on the rest of forgekit. Each module imports only from the
modules listed above it, even for annotations:

    wording.py, user_lines.py, errors.py, environment.py    messages, exceptions, settings
    plugins.py      the host code's requests other than launches; `forgekit.cuda` is a plug-in
    floats.py, fp8.py    arithmetic with PTX's rounding; conversion of 8-bit floats
    elementary.py        log2, sin, cos and tanh, correctly rounded
    tensor_cores.py      dot products, added as tensor cores add
    ptx/            text -> instructions, each with its source line
    launch_record.py    a launch: grid, blocks, parameters; coordinates of a block
    memory/         global, shared and local memory
    code.py         a kernel's code: register indices, addresses of variables, liveness
    sampling.py     the blocks that run if a large launch is only counted
    batch.py        the state of a batch of blocks: registers, memory, program counters
    access/         finds the elements at addresses; checks every access
    listeners.py    the observers of a run
    machine/        runs a batch of blocks in lockstep: groups, divergence, barriers, mbarriers
    opcodes/        the meaning of each opcode
    program.py      instructions -> steps
    counters/       counts events; sanitizer/ finds races and reads of unwritten memory
    host/           runs the launches of CuTe DSL's host code
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

# These names are imported on first use, so that `forgekit.errors` can use this package without
# NumPy.
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
