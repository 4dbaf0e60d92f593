"""The virtual GPU: runs the PTX that CuTe DSL's compiler made, on the CPU, warp by warp.

    import forgekit.vgpu
    forgekit.vgpu.install()      # from here on, unmodified CuTe DSL code runs without a GPU

It knows PTX and NumPy, and nothing of torch, notebooks or lessons. From text to result:

    ptx.py          text -> instructions, each with its Python line
    program.py, dataflow.py    instructions -> one step each; registers, variables, liveness
    opcodes/        what each opcode means
    machine.py, barriers.py    runs a batch of blocks in lockstep: groups, divergence, barriers
    clusters.py, mbarriers.py    what blocks of a cluster share
    async_operations.py    bulk copies and `st.async` in flight
    wait_queue.py   who waits for that; what happens when everybody waits
    memory.py, storage.py, addressing.py    global, shared and local memory; every access checked
    faults.py, stuck.py    what a student reads when a kernel is stopped
    launching.py, limits.py    a launch: limits, batches, output
    intercept.py, hooks.py, host.py    the road from CuTe DSL's host code to a launch
    arguments.py, live_tensors.py, signature.py    a call's tensors; whether they fit the function
    listeners.py    what can watch a run
"""

from __future__ import annotations

from forgekit.vgpu.intercept import (
    ARCHITECTURES,
    DEFAULT_ARCH,
    install,
    installed,
    is_installed,
    uninstall,
)
from forgekit.vgpu.launching import LaunchRecord, Options, options
from forgekit.vgpu.listeners import Listener

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
