"""The sanitizer is a listener that finds operations that are undefined on a GPU.

    listener.py     receives the machine's events and passes them to the checks
    findings.py     a finding (kind, lines, block, thread, element) and the findings of a launch
    messages.py     the texts of all findings
    shared.py       shared memory: races, reads of unwritten bytes, incomplete cp.async copies
    tensors.py      global memory: races between threads and blocks, unwritten elements,
                    sources of incomplete cp.async copies
    proxies.py      stores that asynchronous copies may not see yet, because a proxy fence is
                    missing
    warpgroups.py   wgmma: operands of products in flight, fences before products
    warps.py        member masks, shuffles, barriers in divergent code
    shadow.py       the last writers and readers of each unit of memory, to find unordered accesses
    reach.py        maps an access to the units of memory that it touches
    order.py        the happens-before order of a launch's accesses
    clocks.py       vector clocks of warps, for barriers, asynchronous operations and partial-warp
                    syncs
    cluster_sync.py the order that clusters, mbarriers and asynchronous operations create; the
                    lifetime of the block whose shared memory is accessed
    definedness.py  repeats a launch to find the effects of reads of unwritten memory
    sinks.py        the effects of an instruction that are visible outside the launch

The machine itself always detects out-of-bounds and misaligned accesses and deadlocks
(`forgekit.vgpu.access.faults`).
"""

from __future__ import annotations

from forgekit.vgpu.sanitizer.findings import Finding
from forgekit.vgpu.sanitizer.listener import Sanitizer
from forgekit.vgpu.sanitizer.messages import KINDS

__all__ = ["KINDS", "Finding", "Sanitizer"]
