"""Track which elements of fresh tensors kernels have written.

`forgekit.empty` registers the tensors that it creates. A tensor is fresh until it is deleted or
until code other than a kernel on the virtual GPU modifies it, as torch's version counter shows.
"""

from __future__ import annotations

import ctypes
import math
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from forgekit.vgpu.floats import Array
from forgekit.vgpu.memory import Allocation


@dataclass
class _Entry:
    """A fresh tensor: its memory, its torch version when it was registered, and the written
    elements."""

    start: int
    itemsize: int
    written: Array
    version: int
    tensor: weakref.ref[Any]
    poison: Array  # the initial bytes of each element

    @property
    def size_bytes(self) -> int:
        return len(self.written) * self.itemsize

    def is_fresh(self) -> bool:
        tensor = self.tensor()
        return tensor is not None and tensor._version == self.version


_entries: dict[int, _Entry] = {}


def mark(tensor: Any) -> None:
    """Register `tensor`, which must be contiguous and on the CPU, as unwritten."""
    start, itemsize = tensor.data_ptr(), tensor.element_size()
    if not start or not tensor.numel():
        return
    try:
        version = tensor._version
    except RuntimeError:  # in inference mode, torch does not count versions
        return
    reference = weakref.ref(tensor, lambda gone: _forget(start, gone))
    poison = _bytes_at(start, itemsize).copy()
    written = np.zeros(tensor.numel(), bool)
    _entries[start] = _Entry(start, itemsize, written, version, reference, poison)


def _bytes_at(address: int, count: int) -> Array:
    return np.ctypeslib.as_array((ctypes.c_uint8 * count).from_address(address))


def copy_marks(original: Any, copy: Any) -> None:
    """Register `copy` as a fresh tensor with the same unwritten elements as `original`."""
    found = _entries.get(original.data_ptr())
    if found is not None and found.is_fresh():
        mark(copy)
        _entries[copy.data_ptr()].written = found.written.copy()


def marks(tensor: Any) -> bytes | None:
    """Return one byte per element of `tensor`: 1 if the element is written, otherwise 0. Return
    None if the tensor is not fresh."""
    found = _entries.get(tensor.data_ptr())
    return found.written.tobytes() if found is not None and found.is_fresh() else None


def _forget(start: int, reference: weakref.ref[Any]) -> None:
    found = _entries.get(start)
    if found is not None and found.tensor is reference:
        del _entries[start]


class Blank:
    """The part of a fresh tensor that an allocation of a launch covers.

    offset: the number of bytes from the allocation's start to its first whole element.
    """

    def __init__(self, entry: _Entry, allocation: Allocation) -> None:
        begin = allocation.real_address - entry.start
        self.offset = -begin % entry.itemsize
        self._first = -(-begin // entry.itemsize)
        self._last = (begin + allocation.size_bytes) // entry.itemsize
        self._entry = entry
        self._detect_other_writes(allocation)
        info = allocation.regions[0].info
        dense = math.prod(info.shape) * info.itemsize == allocation.size_bytes
        self._whole = dense and len(allocation.regions) == 1

    def _detect_other_writes(self, allocation: Allocation) -> None:
        """Mark as written all elements whose bits differ from their initial bits, because torch's
        version counter misses some writes."""
        item = self._entry.itemsize
        count = self._last - self._first
        held = allocation.data[self.offset : self.offset + count * item].reshape(count, item)
        self._written[:] |= (held != self._entry.poison).any(axis=1)

    @property
    def _written(self) -> Array:
        return self._entry.written[self._first : self._last]

    def is_written(self, size: int, unit: int, shift: int) -> Array:
        """Return, for each of `size` units of `unit` bytes, True if all bytes of the unit are
        written. The first unit begins `shift` bytes before the allocation."""
        item = self._entry.itemsize
        known = np.ones(size * unit, bool)
        begin = shift + self.offset
        bytes_known = np.repeat(self._written, item)
        known[begin : begin + len(bytes_known)] = bytes_known
        return np.asarray(known.reshape(size, unit).all(axis=1))

    def mark_written(self, written: Array, unit: int, shift: int) -> None:
        """Mark each element as written if `written` is True for all units that contain its
        bytes."""
        item = self._entry.itemsize
        begin = shift + self.offset
        per_byte = np.repeat(written, unit)[begin : begin + len(self._written) * item]
        self._written[:] |= per_byte.reshape(-1, item).all(axis=1)

    def elements_left(self) -> Array | None:
        """Return the indices of the unwritten elements; None if they are unknown."""
        return np.flatnonzero(~self._written) if self._whole else None


def lookup(allocation: Allocation) -> Blank | None:
    """Return the part of a fresh tensor that an allocation covers, or None if the allocation is not
    in a fresh tensor with unwritten elements."""
    for entry in list(_entries.values()):
        if (
            entry.start <= allocation.real_address
            and allocation.real_address + allocation.size_bytes <= entry.start + entry.size_bytes
            and allocation.size_bytes
            and entry.is_fresh()
            and not entry.written.all()
        ):
            return Blank(entry, allocation)
    return None
