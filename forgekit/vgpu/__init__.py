"""The virtual GPU: runs the PTX that CuTe DSL's compiler made, on the CPU, warp by warp.

    import forgekit.vgpu
    forgekit.vgpu.install()      # from here on, unmodified CuTe DSL code runs without a GPU

It knows PTX and NumPy, and imports nothing of the rest of forgekit. From the bottom to the top;
each imports only from those above it, annotations counted:

    wording.py, user_lines.py, errors.py, environment.py    messages, exceptions, settings
    plugins.py      what host code may ask of a GPU besides launches; `forgekit.cuda` is one
    floats.py, fp8.py    arithmetic of f16, bf16, tf32, fp8 on arrays of bits
    tensor_cores.py      dot products as tensor cores add them up
    ptx/            text -> instructions, each with its Python line
    launch_record.py    one launch: grid, blocks, parameters; where a block stands
    memory/         global, shared and local memory
    code.py         a kernel's code: registers numbered, variables placed, liveness
    batch.py        the state of a batch of blocks: registers, memory, where its threads are
    access/         from addresses to elements; every access checked
    listeners.py    what can watch a run
    machine/        runs a batch of blocks in lockstep: groups, divergence, barriers, mbarriers
    opcodes/        what each opcode means
    program.py      instructions -> one step each
    counters/       counts; sanitizer/ finds races and reads of memory that was never written
    host/           the road from CuTe DSL's host code to a launch
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forgekit.vgpu.host.intercept import install, installed, is_installed, uninstall
    from forgekit.vgpu.host.limits import ARCHITECTURES, DEFAULT_ARCH
    from forgekit.vgpu.host.options import Options, options
    from forgekit.vgpu.launch_record import LaunchRecord
    from forgekit.vgpu.listeners import Listener

# Imported when they are first used: `forgekit.errors` needs this package, and not NumPy.
_HOME = {
    "ARCHITECTURES": "host.limits", "DEFAULT_ARCH": "host.limits",
    "LaunchRecord": "launch_record", "Listener": "listeners",
    "Options": "host.options", "options": "host.options",
    "install": "host.intercept", "installed": "host.intercept",
    "is_installed": "host.intercept", "uninstall": "host.intercept",
}  # fmt: skip

__all__ = [
    "ARCHITECTURES",
    "DEFAULT_ARCH",
    "LaunchRecord",
    "Listener",
    "Options",
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
