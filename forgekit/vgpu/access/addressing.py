"""Map addresses to elements of memory, check bounds and alignment, and load and store elements.

An access consists of a memory space, addresses (of any shape that broadcasts to (blocks, threads))
and a mask of the active threads. Loads by inactive threads return arbitrary values, which are never
used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from forgekit.vgpu.access import clusters, faults
from forgekit.vgpu.memory import PARAM_WINDOW, WINDOW_MASK, WINDOW_SHIFT, Allocation
from forgekit.vgpu.ptx import Register, Vector

if TYPE_CHECKING:
    from forgekit.vgpu.batch import Batch
    from forgekit.vgpu.floats import Array
    from forgekit.vgpu.memory.storage import Slices

WRITING = ("writes", "updates")

_WINDOW_SPACES = {0: "global", 1: "shared", 2: "local", 3: "param"}


class Target(NamedTuple):
    """The target of an access: a view of an allocation or a space as rows, and the row of each
    thread."""

    rows: Array  # unsigned elements, of shape (n,) or (n, count)
    places: Array  # int64: each thread's row, arbitrary outside `mask`; broadcastable
    mask: Array | None  # threads that access this target
    space: str  # global, shared, local or param
    allocation: Allocation | None = None  # for global memory
    skipped: int = 0  # bytes before the first row
    inside: int = 0  # if not 0, the only row has this number of bytes inside the tensor


class _Request(NamedTuple):
    """The arguments of `targets`, with `width`, the number of bytes per thread."""

    m: Batch
    kind: str
    address: Array
    mask: Array | None
    elem: int
    elements: int
    width: int


def targets(
    m: Batch, space: str, kind: str, address: Array, mask: Array | None, elem: int, count: int
) -> list[Target]:
    """Return the targets of an access in which each thread in `mask` reads or writes `count`
    elements of `elem` bytes at its `address`.

    Usually there is one target. There are several if the threads access several allocations or
    spaces. kind: the verb for messages, such as `reads`.

    Raises:
        MemoryAccessError: an access is out of bounds, misaligned or outside every allocation.
    """
    request = _Request(m, kind, address, mask, elem, count, elem * count)
    if space in ("shared", "local"):
        return [_slice_target(request, m.shared if space == "shared" else m.local)]
    if space == "param":
        return [_parameter_target(request)]
    if space == "cluster":
        return [_cluster_target(request)]
    return _generic_targets(request) if space == "generic" else _global_targets(request)


def gather(target: Target) -> Array:
    """Return the threads' rows of a target, of shape (…) or (…, count)."""
    if not len(target.rows):
        return np.zeros((*target.places.shape, *target.rows.shape[1:]), target.rows.dtype)
    return target.rows.take(target.places, axis=0, mode="clip")


def load(found: list[Target], count: int) -> list[Array]:
    """Return the loaded vectors as `count` arrays of unsigned elements, one per position in the
    vector."""
    result = gather(found[0])
    for target in found[1:]:
        assert target.mask is not None  # if there are several targets, each has a mask
        keep = target.mask if count == 1 else target.mask[..., None]
        result = np.where(keep, gather(target), result)
    if count == 1:
        return [result]
    return [np.ascontiguousarray(result[..., k]) for k in range(count)]


def store(found: list[Target], values: list[Array]) -> None:
    """Write one vector of unsigned elements per thread. If several threads write to an address, the
    last thread's vector is stored."""
    count = len(values)
    for target in found:
        index, *parts = compress(target.mask, target.places, *values)
        shape = np.broadcast_shapes(index.shape, *(p.shape for p in parts))
        if index.shape != shape:
            index = np.broadcast_to(index, shape)
        if count == 1:
            target.rows[index] = parts[0]
        else:
            stacked = np.empty((*shape, count), values[0].dtype)
            for k, part in enumerate(parts):
                stacked[..., k] = part
            target.rows[index] = stacked


def compress(mask: Array | None, *arrays: Array) -> list[Array]:
    """Return the elements of the arrays that belong to threads in `mask`; axes of length 1 keep
    their length."""
    if mask is None:
        return list(arrays)
    if mask.size == 1:
        return list(arrays) if mask.flat[0] else [a[:, :0] for a in arrays]
    if mask.shape[0] == 1:
        columns = np.flatnonzero(mask[0])
        return [a[:, columns] if a.shape[1] > 1 else a for a in arrays]
    if mask.shape[1] == 1:
        rows = np.flatnonzero(mask[:, 0])
        return [a[rows] if a.shape[0] > 1 else a for a in arrays]
    return [np.broadcast_to(a, mask.shape)[mask] for a in arrays]


def _slice_target(request: _Request, memory: Slices, owner: Array | None = None) -> Target:
    """Return the target in shared or local memory; each block or thread has a slice of equal size.

    owner: the index of the slice that each thread accesses; None for the thread's own slice.
    """
    m, kind, address, mask, elem, count, width = request
    offset = address - address.dtype.type(memory.base)
    index = offset >> offset.dtype.type(width.bit_length() - 1)
    limit = memory.size_bytes // width
    bad = index >= limit
    if width > 1 and np.bitwise_or.reduce(offset, axis=None) & offset.dtype.type(width - 1):
        wrong = (offset & offset.dtype.type(width - 1)) != 0
        if _any(wrong, mask):
            raise faults.misaligned(m, memory.space, kind, address, _both(wrong, mask), width)
    if bad.any() and _any(bad, mask):
        if kind == "reads" and elem * _used(m, count) <= memory.size_bytes % width:
            bad = index > limit
        if _any(bad, mask):
            raise faults.slice_error(m, memory, kind, address, _both(bad, mask), width)
    rows = memory.view(elem, count)
    whose = memory.owner if owner is None else owner
    places = index.astype(np.int64) + whose * (memory.stride // width)
    return Target(rows, places, mask, memory.space)


def _cluster_target(request: _Request) -> Target:
    """Return the target in the shared memory of any block of the cluster."""
    m, kind, address, mask, _, _, width = request
    rank, within = clusters.split(m, address)
    owner = cluster_rows(m, kind, address, rank, mask, width)
    return _slice_target(request._replace(address=within), m.shared, owner)


def cluster_rows(
    m: Batch, kind: str, address: Array, rank: Array, mask: Array | None, width: int
) -> Array:
    """Return, for each thread, the index in the batch of the block whose cluster rank is `rank`;
    arbitrary outside the mask.

    Raises:
        MemoryAccessError: the block does not exist, or all its threads have exited.
    """
    bad = (rank < 0) | (rank >= m.cluster_blocks)
    if bad.any():
        if _any(bad, mask):
            raise faults.no_such_rank(m, kind, address, _both(bad, mask), width)
        rank = np.where(bad, 0, rank)
    owner = clusters.row_of(m, rank)
    if m.alive is not None:
        left = np.logical_not(m.expand(m.alive).any(axis=1))
        if left.any():
            gone = np.asarray(left)[owner]
            if gone.any() and _any(gone, mask):
                raise faults.block_has_left(m, kind, rank, _both(gone, mask))
    return owner


def _global_targets(request: _Request) -> list[Target]:
    m, kind, address, mask, elem, count, width = request
    hints: dict[int, Allocation] = m.state.setdefault("allocation hints", {})  # type: ignore[assignment]
    allocation = hints.get(m.pc)
    if allocation is None:
        allocation = m.memory.find(_first(address, mask))
        if allocation is None:
            raise faults.unmapped(m, kind, address, mask, width)
        hints[m.pc] = allocation
    if allocation.read_only and kind in WRITING:
        raise faults.read_only(m, kind, address, mask, width)
    if width > 1 and np.bitwise_or.reduce(address, axis=None) & np.uint64(width - 1):
        wrong = (address & np.uint64(width - 1)) != 0
        if _any(wrong, mask):
            raise faults.misaligned(m, "global", kind, address, _both(wrong, mask), width)
    if allocation.address % width:  # the tensor does not start at a vector boundary
        return _scattered(request)
    offset = address - np.uint64(allocation.address)
    index = offset >> np.uint64(width.bit_length() - 1)
    bad = index >= allocation.size_bytes // width
    if bad.any() and _any(bad, mask):
        return _scattered(request)
    rows = allocation.view(elem, count)
    return [Target(rows, index.view(np.int64), mask, "global", allocation)]


def _scattered(request: _Request) -> list[Target]:
    """Return the targets of threads that access several allocations, or an allocation that does not
    start at a multiple of the vector size. This path is slower."""
    m, kind, address, mask, elem, count, width = request
    shape = np.broadcast_shapes(address.shape, (1, 1) if mask is None else mask.shape)
    left = np.ones(shape, bool) if mask is None else np.broadcast_to(mask, shape).copy()
    result = []
    for allocation in m.memory.allocations:
        offset = address - np.uint64(allocation.address)
        inside = left & (offset <= np.uint64(allocation.size_bytes))
        inside &= offset + np.uint64(width) <= np.uint64(allocation.size_bytes)
        if not inside.any():
            continue
        left &= ~inside
        skip = -allocation.address % width  # bytes before the first whole vector
        rows_from = allocation.data[skip:] if skip else allocation.data
        whole = len(rows_from) // width * width
        rows = np.ndarray((whole // elem,), f"u{elem}", rows_from.data if whole else b"")
        rows = rows if count == 1 else rows.reshape(-1, count)
        index = ((offset - np.uint64(skip)) >> np.uint64(width.bit_length() - 1)).view(np.int64)
        result.append(Target(rows, index, inside, "global", allocation, skip))
    if left.any() and kind == "reads" and _used(m, count) < count:
        result += _overhanging(request, left)
    if left.any():
        # A kernel may have read a real address from a table of pointers.
        real = int(np.broadcast_to(address, shape)[left][0])
        if m.memory.adopt(real, as_it_is=True) is not None:
            return _scattered(request)
        raise faults.out_of_bounds(m, kind, np.broadcast_to(address, shape), left, width)
    return result


def _parameter_target(request: _Request) -> Target:
    """Return the target in the kernel's parameters, which are read-only."""
    m, kind, address, mask, elem, count, width = request
    params = m.record.params
    rows = np.frombuffer(params[: len(params) // width * width], f"u{elem}")
    if _any((address % width) != 0, mask):
        raise faults.misaligned(m, "param", kind, address, _both(address % width != 0, mask), width)
    places = (address // width).astype(np.int64)
    if kind in WRITING or _any(places >= len(rows) // count, mask):
        generic = address.astype(np.uint64) + np.uint64(PARAM_WINDOW)
        raise faults.unmapped(m, kind, generic, mask, width)
    return Target(rows if count == 1 else rows.reshape(-1, count), places, mask, "param")


def _overhanging(request: _Request, left: Array) -> list[Target]:
    """Return the targets of vector loads whose last, unused elements are beyond a tensor's end.

    Remove the threads of these loads from `left`. Beyond the end, they read zeros.
    """
    m, _, address, _, elem, count, width = request
    used, result = elem * _used(m, count), []
    for allocation in m.memory.allocations:
        inside = (allocation.address + allocation.size_bytes) % width
        start = allocation.size_bytes - inside
        here = left & (address == np.uint64(allocation.address + start))
        if start < 0 or inside < used or not here.any():
            continue
        left &= ~here
        row = np.zeros(width, np.uint8)
        row[:inside] = allocation.data[start:]
        places = np.zeros(left.shape, np.int64)
        rows = row.view(f"u{elem}").reshape(1, count)
        result.append(Target(rows, places, here, "global", allocation, start, inside))
    return result


def _generic_targets(request: _Request) -> list[Target]:
    m, kind, address, mask, elem, count, width = request
    windows = address >> WINDOW_SHIFT
    (active,) = compress(mask, windows)
    result = []
    for window in np.unique(active):
        space = _WINDOW_SPACES.get(int(window))
        here = windows == window
        part = here if mask is None else here & mask
        if here.all():
            part = mask
        if space is None:
            raise faults.unmapped(m, kind, address, part, width)
        plain = address if space == "global" else address & WINDOW_MASK
        if space == "shared" and (plain >> np.uint64(clusters.RANK_SHIFT)).any():
            space = "cluster"
        result += targets(m, space, kind, plain, part, elem, count)
    return result


def _used(m: Batch, count: int) -> int:
    """Return the number of elements of a loaded vector that the kernel uses.

    The compiler loads three neighbouring elements of aligned memory as a vector of four elements,
    and ignores the last one.
    """
    target = m.program.instructions[m.pc].operands[0]
    if count == 1 or not isinstance(target, Vector):
        return count
    read, items = m.program.registers_read, enumerate(target.items, 1)
    return max((n for n, r in items if isinstance(r, Register) and r.name in read), default=1)


# -- small helpers ------------------------------------------------------------------------------
def _both(a: Array, mask: Array | None) -> Array:
    return a if mask is None else a & mask


def _any(bad: Array, mask: Array | None) -> bool:
    return bool(bad.any() if mask is None else (bad & mask).any())


def _first(address: Array, mask: Array | None) -> int:
    """Return the address of the first active thread."""
    if mask is None:
        return int(address.flat[0])
    shape = np.broadcast_shapes(address.shape, mask.shape)
    at = int(np.argmax(np.broadcast_to(mask, shape)))
    return int(np.broadcast_to(address, shape).flat[at])
