"""Shared memory of a batch of blocks and local memory of its threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forgekit.vgpu.memory import SHARED_RESERVED, element_view

if TYPE_CHECKING:
    from forgekit.vgpu.floats import Array
    from forgekit.vgpu.machine.adversary import Adversary

# Memory nobody has written yet: all ones, which is NaN in every floating-point format, so that a
# kernel that reads it shows.
UNINITIALISED = 0xFF

_ROUND = 128  # a block's slice is rounded up to whole 128-byte lines


def _stride(size_bytes: int) -> int:
    return -(-size_bytes // _ROUND) * _ROUND


def block_bytes(shared_bytes: int, threads: int, local_bytes: int) -> int:
    """Host memory for one block: its shared memory and the local memory of its threads."""
    return _stride(shared_bytes) + threads * _stride(local_bytes)


class _Slices:
    """Equal slices of one byte array, one for each owner (a block or a thread)."""

    def __init__(self, owners: int, size_bytes: int, adversary: Adversary | None) -> None:
        self.size_bytes = size_bytes
        self.stride = _stride(size_bytes)
        # What nobody has written holds UNINITIALISED, or noise.
        self.blank_is_ones = adversary is None
        if adversary is None:
            self.data = np.full(owners * self.stride, UNINITIALISED, np.uint8)
        else:
            self.data = adversary.noise(owners * self.stride)
        self.views: dict[tuple[int, int], Array] = {}

    def view(self, elem_bytes: int, count: int) -> Array:
        key = (elem_bytes, count)
        if key not in self.views:
            self.views[key] = element_view(self.data, elem_bytes, count)
        return self.views[key]


class SharedMemory(_Slices):
    """Shared memory: one slice a block. Addresses run from SHARED_RESERVED."""

    def __init__(self, n_blocks: int, size_bytes: int, adversary: Adversary | None = None) -> None:
        super().__init__(n_blocks, size_bytes, adversary)
        self.base = SHARED_RESERVED
        self.owner = np.arange(n_blocks, dtype=np.int64)[:, None]


class LocalMemory(_Slices):
    """Local memory: one slice a thread. Addresses run from 0; made when first used."""

    def __init__(
        self, n_blocks: int, n_threads: int, size_bytes: int, adversary: Adversary | None = None
    ) -> None:
        super().__init__(n_blocks * n_threads if size_bytes else 0, size_bytes, adversary)
        self.base = 0
        self.owner = np.arange(n_blocks * n_threads, dtype=np.int64).reshape(n_blocks, n_threads)
