"""The sanitizer: a listener that finds what a GPU does not promise to forgive.

    listener.py    hears the events and hands them to the checks; collects findings
    finding.py     a finding: kind, lines, block, thread, element; its message
    shared.py      shared memory: races, reads of what nobody wrote, asynchronous copies in flight
    definedness.py where what nobody wrote shows, in a launch that is repeated for it:
                   taints.py registers, undefined_bits.py pure instructions,
                   undefined_memory.py memory, undefined_warps.py shuffles and votes
    tensors.py     global memory: races between threads and blocks, elements nobody wrote
    shadow.py      who wrote and read each unit of a memory last, and whether that was in order
    clocks.py      vector clocks of warps: what barriers and warp-wide instructions order
    cluster_sync.py    clusters, mbarriers, asynchronous operations: what they order
    sync_clocks.py    what passes through a barrier from those who arrive to those who wait
    lifetimes.py   is the block still there whose shared memory is reached?
    warps.py       member masks, shuffles, barriers in divergent code
    reach.py       from an access to the units it touches

Out of bounds, misaligned, deadlocked: these the machine finds itself, always
(`forgekit.vgpu.memory.faults`).
"""

from __future__ import annotations

from forgekit.vgpu.sanitizer.finding import KINDS, Finding
from forgekit.vgpu.sanitizer.listener import Sanitizer

__all__ = ["KINDS", "Finding", "Sanitizer"]
