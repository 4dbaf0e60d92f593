"""The sanitizer: a listener that finds what a GPU does not promise to forgive.

    listener.py     hears the events and hands them to the checks
    findings.py     a finding: kind, lines, block, thread, element; collects those of a launch
    messages.py     the words of all findings
    shared.py       shared memory: races, reads of what nobody wrote, cp.async in flight to it
    tensors.py      global memory: races between threads and blocks, elements nobody wrote, what
                    cp.async in flight still reads
    proxies.py      stores that asynchronous copies may not see yet, for want of a proxy fence
    warpgroups.py   wgmma: what products in flight use, fences before them
    warps.py        member masks, shuffles, barriers in divergent code
    shadow.py       who wrote and read each unit of a memory last, and whether that was in order
    reach.py        from an access to the units it touches
    order.py        which accesses of a launch are over before which others begin
    clocks.py       vector clocks of warps: what barriers and asynchronous operations order, and
                    syncs of parts of a warp
    cluster_sync.py clusters, mbarriers, asynchronous operations: what they order; is the block
                    still there whose shared memory is reached?
    definedness.py  finds where unwritten memory shows, by repeating a launch
    sinks.py        what can be seen of a launch from outside

Out of bounds, misaligned, deadlocked: these the machine finds itself, always
(`forgekit.vgpu.access.faults`).
"""

from __future__ import annotations

from forgekit.vgpu.sanitizer.findings import Finding
from forgekit.vgpu.sanitizer.listener import Sanitizer
from forgekit.vgpu.sanitizer.messages import KINDS

__all__ = ["KINDS", "Finding", "Sanitizer"]
