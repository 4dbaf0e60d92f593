"""The memories that a kernel reaches: global, shared and local; every access is checked.

allocations.py      global memory: tensors at virtual addresses
storage.py          shared memory of blocks, local memory of threads
addressing.py       addresses of an access -> places in memory, inside and aligned
clusters.py         shared memory of the other blocks of a cluster
faults.py           what a student reads about a wrong access
fresh.py            tensors that nobody has written yet
"""

from forgekit.vgpu.memory.allocations import (
    GUARD_BYTES,
    LOCAL_WINDOW,
    SHARED_RESERVED,
    SHARED_WINDOW,
    WINDOW_MASK,
    WINDOW_SHIFT,
    Allocation,
    GlobalMemory,
    Region,
    TensorInfo,
    byte_range,
    element_view,
)

__all__ = [
    "GUARD_BYTES",
    "LOCAL_WINDOW",
    "SHARED_RESERVED",
    "SHARED_WINDOW",
    "WINDOW_MASK",
    "WINDOW_SHIFT",
    "Allocation",
    "GlobalMemory",
    "Region",
    "TensorInfo",
    "byte_range",
    "element_view",
]
