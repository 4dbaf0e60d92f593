"""Memory that a script allocates by the driver's or the runtime's calls, and copies to and from it.

A device pointer is an address of this process: of what was allocated here, or of a live tensor.
"""

from __future__ import annotations

import ctypes

import numpy as np

from forgekit.errors import UsageError, got_needed
from forgekit.vgpu.host import arguments


def allocate(size_bytes: int) -> int:
    """The address of fresh memory; all its bits are set, as in memory that nobody has written."""
    memory = np.full(max(int(size_bytes), 1) + 512, 0xFF, np.uint8)
    start = memory.ctypes.data
    address = -(-start // 512) * 512
    arguments.allocated[address] = memory[address - start :][: int(size_bytes)]
    return address


def free(address: int) -> None:
    """Raises UsageError: nothing was allocated there, or it is free already."""
    if address and arguments.allocated.pop(address, None) is None:
        needed = "what an allocation returned, once"
        raise UsageError(got_needed("free", f"{address:#x}", needed, "free each pointer once"))


def copy(to: int, source: int, size_bytes: int, *, to_device: bool, from_device: bool) -> None:
    """Copy bytes; raises UsageError where a device pointer's memory does not hold so many."""
    for address, on_device in ((to, to_device), (source, from_device)):
        if on_device:
            _check(address, size_bytes, "memcpy")
    ctypes.memmove(to, source, size_bytes)


def fill(address: int, value: int, item_bytes: int, count: int) -> None:
    """Write `count` items of one value; raises UsageError as `copy` does."""
    _check(address, item_bytes * count, "memset")
    item = (value % (1 << 8 * item_bytes)).to_bytes(item_bytes, "little")
    memory = (ctypes.c_uint8 * (item_bytes * count)).from_address(address)
    np.ctypeslib.as_array(memory).reshape(count, item_bytes)[:] = np.frombuffer(item, np.uint8)


def _check(address: int, size_bytes: int, what: str) -> None:
    found = arguments.storage_at(address) if size_bytes else (address, 0, None)
    if found is None or address + size_bytes > found[0] + found[1]:
        got = f"{size_bytes:,} bytes at {address:#x}, where "
        got += "nothing is allocated" if found is None else (
            f"{found[0] + found[1] - address:,} are left")  # fmt: skip
        raise UsageError(
            got_needed(what, got, "device memory of that size", "check the pointer and the size")
        )
