"""Implement the memory spaces of a kernel; this module implements global memory.

Device addresses are virtual. Each tensor argument has a separate range of addresses, which is far
from all other ranges, is the same in every run, and preserves the tensor's alignment. Kernels read
and write the tensors' real memory through these ranges, so tensors are not copied. Every access is
checked.

storage.py          shared memory of blocks, local memory of threads
swizzles.py         swizzles, and the tiles in shared memory that matrix descriptors specify
tensor_maps.py      tensor maps, which describe tensors and their boxes for tensor copies (TMA)
fresh.py            tensors with elements that no kernel has written
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from forgekit.vgpu.floats import Array

# As on hardware, shared memory, local memory and kernel parameters have separate windows of generic
# addresses.
SHARED_WINDOW = 1 << 56
LOCAL_WINDOW = 2 << 56
PARAM_WINDOW = 3 << 56
WINDOW_MASK = np.uint64((1 << 56) - 1)
WINDOW_SHIFT = np.uint64(56)

GLOBAL_BASE = 0x10_0000_0000
GUARD_BYTES = 1 << 32  # minimum gap between two allocations
STORAGE_ALIGN = 512  # minimum alignment of memory from cudaMalloc and PyTorch's allocator, in bytes

# On sm_90, the system reserves the first KiB of a block's shared memory, so no variable is at
# address 0 (CUDA C++ programming guide, "Reserved shared memory").
SHARED_RESERVED = 1024


@dataclass(frozen=True)
class TensorInfo:
    """The properties of a tensor that messages state: name, element type, shape and strides."""

    name: str
    dtype: str
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in elements

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype} {tuple(self.shape)}"

    def coordinate(self, byte_offset: int) -> str:
        """Return the name of the element at a byte offset from the first element, such as
        `x[17, 1024]`. The offset may be outside the tensor.

        Divide by the largest stride first, so that an overrun appears in the outermost mode: the
        first element past the end of a row-major (8, 4) tensor is `x[8, 0]`, not `x[7, 4]`.
        """
        element, rest = divmod(byte_offset, self.itemsize)
        coordinate = [0] * len(self.shape)
        by_stride = sorted(range(len(self.shape)), key=lambda i: -abs(self.strides[i]))
        sign = -1 if element < 0 else 1
        element = abs(element)
        for mode in by_stride:
            stride = self.strides[mode]
            if stride and self.shape[mode] != 1:
                count, element = divmod(element, abs(stride))
                coordinate[mode] = sign * count if stride > 0 else -sign * count
        gap = ""
        if element and coordinate and all(n == 1 for n in self.shape):
            coordinate[-1] = sign * element
        elif element:  # between elements of a strided tensor
            gap = f" {'+' if sign > 0 else '-'} {element}"
        text = ", ".join(str(c) for c in coordinate)
        within = f" + {rest} bytes" if rest else ""
        return f"{self.name}[{text}]{gap}{within}"

    def same_address(self, byte_offset: int) -> str:
        """Return the other coordinates that have the same address in a row-major matrix, such as
        `x[7, 4] and x[0, 32]`, the first and the last of them; empty for any other tensor."""
        element, rest = divmod(byte_offset, self.itemsize)
        if (
            len(self.shape) != 2
            or rest
            or element < 0
            or self.strides[0] < 1
            or self.strides[1] != 1
        ):
            return ""
        rows = range(element // self.strides[0], -1, -1)
        every = [f"{self.name}[{row}, {element - row * self.strides[0]}]" for row in rows]
        other = [place for place in every if place != self.coordinate(byte_offset)]
        return other[0] if len(other) == 1 else f"{other[0]} and {other[-1]}" if other else ""


@dataclass(frozen=True)
class Region:
    """The real memory that a tensor occupies.

    start: the real address of the tensor's lowest byte; first: the real address of element [0, …,
    0], which is higher than `start` only if a stride is negative; align_offset: the distance in
    bytes from the start of the tensor's storage to `start`.
    """

    start: int
    size_bytes: int
    info: TensorInfo
    first: int
    align_offset: int = 0
    owner: object = None  # an object that keeps the real memory alive
    read_only: bool = False


@dataclass
class Allocation:
    """A range of real memory at a virtual address, which holds a tensor or several overlapping
    tensors.

    `data` is the real memory as a uint8 array.
    """

    address: int
    data: Array
    real_address: int
    regions: list[Region]
    views: dict[tuple[int, int], Array] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        return len(self.data)

    @functools.cached_property
    def read_only(self) -> bool:
        """Return True if all tensors in the allocation are read-only."""
        return all(region.read_only for region in self.regions)

    def view(self, elem_bytes: int, count: int) -> Array:
        """Return the memory as unsigned elements of `elem_bytes` bytes, with `count` elements per
        row; if `count` is 1, the array is flat."""
        key = (elem_bytes, count)
        if key not in self.views:
            self.views[key] = element_view(self.data, elem_bytes, count)
        return self.views[key]

    def tensor_at(self, offset: int) -> tuple[TensorInfo, int]:
        """Return the tensor that a message names for a byte offset, and the byte offset from that
        tensor's first element.

        If tensors overlap, return the first one that contains the byte or, if none does, the
        largest.
        """
        real = self.real_address + offset
        inside = [r for r in self.regions if r.start <= real < r.start + r.size_bytes]
        region = inside[0] if inside else max(self.regions, key=lambda r: r.size_bytes)
        return region.info, real - region.first


def element_view(data: Array, elem_bytes: int, count: int) -> Array:
    """Return uint8 `data` as unsigned elements of `elem_bytes` bytes, with `count` elements per
    row; if `count` is 1, the array is flat."""
    whole = len(data) // (elem_bytes * count) * (elem_bytes * count)
    flat = data[:whole].view(f"u{elem_bytes}")
    return flat if count == 1 else flat.reshape(-1, count)


class GlobalMemory:
    """The allocations that a launch can access, in address order.

    live: a function that returns the memory of the live tensor at a real address, as (start, size
    in bytes, owner), even if the tensor is not an argument. adopted: True if a kernel has accessed
    a tensor that is not an argument.
    """

    def __init__(self) -> None:
        self.allocations: list[Allocation] = []
        self.live: Callable[[int], tuple[int, int, object] | None] = lambda address: None
        self.adopted = False
        self.on_the_host: list[Region] = []  # argument tensors that a kernel cannot access
        self._next = GLOBAL_BASE
        self.starts = np.zeros(0, np.uint64)

    def add(
        self, real_address: int, size_bytes: int, info: TensorInfo, *, owner: object = None
    ) -> Allocation:
        """Assign a virtual address to a range of real memory."""
        return self._add([Region(real_address, size_bytes, info, real_address, owner=owner)])

    def adopt(self, real_address: int, *, as_it_is: bool = False) -> Allocation | None:
        """Assign an address to the live tensor at a real address; return None if there is no such
        tensor.

        as_it_is: use the real address, because the kernel has read it from a table of pointers.
        """
        found = self.live(real_address) if real_address else None  # empty tensors have address 0
        if found is None:
            return None
        self.adopted = True
        start, size, owner = found
        info = TensorInfo(f"memory at {start:#x}", "bytes", 1, (size,), (1,))
        region = Region(start, size, info, start, owner=owner)
        return self._add([region], start if as_it_is else None)

    def add_tensors(self, regions: Sequence[Region]) -> None:
        """Assign virtual addresses to tensors, in order; overlapping tensors share a range."""
        for together in _overlapping(regions):
            self._add(together)

    def add_array(self, data: Array, info: TensorInfo) -> Allocation:
        """Register an array that belongs to the virtual GPU (a `.global` variable)."""
        return self.add(data.ctypes.data, data.nbytes, info, owner=data)

    def _add(self, together: list[Region], address: int | None = None) -> Allocation:
        lowest = min(together, key=lambda r: r.start)
        size = max(r.start + r.size_bytes for r in together) - lowest.start
        data: Array = np.zeros(0, np.uint8)
        if size:
            data = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(lowest.start))
        if address is None:
            address = self._next + lowest.align_offset % STORAGE_ALIGN
            self._next = -(-(address + size + GUARD_BYTES) // GUARD_BYTES) * GUARD_BYTES
        allocation = Allocation(address, data, lowest.start, together)
        self.allocations.append(allocation)
        self.allocations.sort(key=lambda a: a.address)
        self.starts = np.array([a.address for a in self.allocations], np.uint64)
        return allocation

    def find(self, address: int) -> Allocation | None:
        """Return the allocation nearest to `address`, or None if there are no allocations."""
        if not self.allocations:
            return None
        i = int(np.searchsorted(self.starts, np.uint64(address), "right")) - 1
        candidates = self.allocations[max(i, 0) : i + 2]
        return min(candidates, key=lambda a: _distance(a, address))

    def element_at(self, address: int) -> tuple[str, str] | None:
        """Return the names of the tensor and the element at an address, such as `x` and `x[17,
        1024]`; outside all tensors, name the nearest tensor."""
        found = self.find(address)
        if found is None:
            return None
        info, from_first = found.tensor_at(address - found.address)
        return info.name, info.coordinate(from_first)

    def holder(self, address: int) -> tuple[Allocation, int] | None:
        """Return the allocation that contains an address, and the byte offset in the allocation. An
        empty allocation contains its start."""
        found = self.find(address)
        at = -1 if found is None else address - found.address
        if found is None or not 0 <= at < max(found.size_bytes, 1):
            return None
        return found, at

    def translate(self, real: int) -> int | None:
        """Return the virtual address of a real address in an allocation or at its end; None for any
        other address."""
        past = None
        for a in self.allocations:
            offset = real - a.real_address
            if 0 <= offset < a.size_bytes:
                return a.address + offset
            if offset == a.size_bytes and (past is None or not a.size_bytes):
                past = a.address + offset
        return past


def _overlapping(regions: Sequence[Region]) -> list[list[Region]]:
    """Group regions that share memory; preserve their order."""
    groups: list[list[int]] = []
    end = -1
    for i in sorted(range(len(regions)), key=lambda i: (regions[i].start, -regions[i].size_bytes)):
        region = regions[i]
        same_empty = groups and not region.size_bytes and region.start == end
        if region.start < end or (same_empty and regions[groups[-1][0]].start == end):
            groups[-1].append(i)
        else:
            groups.append([i])
        end = max(end, region.start + region.size_bytes)
    return [[regions[i] for i in sorted(g)] for g in sorted(groups, key=min)]


def _distance(allocation: Allocation, address: int) -> int:
    start, end = allocation.address, allocation.address + allocation.size_bytes
    return max(start - address, address - end, 0)


def byte_range(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> tuple[int, int]:
    """Return the offset in bytes from the first element to the lowest byte, and the size in bytes
    from the lowest byte to the end of the highest element; (0, 0) for an empty tensor."""
    if any(n == 0 for n in shape):
        return 0, 0
    steps = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    low, high = sum(s for s in steps if s < 0), sum(s for s in steps if s > 0)
    return low * itemsize, (high - low + 1) * itemsize
