"""Store the shared memory of a batch of blocks and the local memory of its threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forgekit.vgpu.memory import SHARED_RESERVED, element_view

if TYPE_CHECKING:
    from forgekit.vgpu.adversary import Adversary
    from forgekit.vgpu.floats import Array

# All bits of unwritten memory are ones. This is NaN in every floating-point format, so results show
# reads of unwritten memory.
UNINITIALISED = 0xFF

_ROUND = 128  # bytes; slices are padded to whole 128-byte lines


def _stride(size_bytes: int) -> int:
    return -(-size_bytes // _ROUND) * _ROUND


def block_bytes(shared_bytes: int, threads: int, local_bytes: int) -> int:
    """Return the number of bytes of host memory that a block's shared memory and its threads' local
    memory need."""
    return _stride(shared_bytes) + threads * _stride(local_bytes)


class Slices:
    """Equal slices of a byte array, one per block or thread.

    space: `shared` or `local`; owner: the index of each thread's slice; base: the address, within
    its space, of the first byte of every slice; stride: the distance between the starts of slices,
    in bytes.
    """

    def __init__(
        self, space: str, owner: Array, size_bytes: int, base: int, adversary: Adversary | None
    ) -> None:
        self.space, self.owner, self.base = space, owner, base
        self.size_bytes, self.stride = size_bytes, _stride(size_bytes)
        # Unwritten bytes are UNINITIALISED or, in an adversarial schedule, random.
        self.blank_is_ones = adversary is None
        whole = owner.size * self.stride
        if adversary is None:
            self.data = np.full(whole, UNINITIALISED, np.uint8)
        else:
            self.data = adversary.noise(whole)
        self._views: dict[tuple[int, int], Array] = {}

    def view(self, elem_bytes: int, count: int) -> Array:
        key = (elem_bytes, count)
        if key not in self._views:
            self._views[key] = element_view(self.data, elem_bytes, count)
        return self._views[key]


def shared_memory(n_blocks: int, size_bytes: int, adversary: Adversary | None = None) -> Slices:
    """Create the blocks' shared memory, with one slice per block."""
    owner = np.arange(n_blocks, dtype=np.int64)[:, None]
    return Slices("shared", owner, size_bytes, SHARED_RESERVED, adversary)


def local_memory(
    shape: tuple[int, int], size_bytes: int, adversary: Adversary | None = None
) -> Slices:
    """Create the threads' local memory, with one slice per thread; shape: (blocks, threads)."""
    owner = np.arange(shape[0] * shape[1], dtype=np.int64).reshape(shape)
    return Slices("local", owner, size_bytes, 0, adversary)
