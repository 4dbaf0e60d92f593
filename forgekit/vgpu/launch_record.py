"""Describe a launch as the host code requested it, and the coordinates of its blocks.

Blocks are numbered so that the blocks of a cluster are consecutive, in order of rank.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from forgekit.vgpu.floats import Array

Dim3 = tuple[int, int, int]
WARP = 32  # lanes


def block_coordinates(number: Array, grid: Dim3, cluster: Dim3) -> tuple[Array, Array, Array]:
    """Return the (x, y, z) of blocks from their numbers."""
    which, rank = np.divmod(number, math.prod(cluster))
    found, outer, inner = [], 1, 1
    for size, extent in zip(grid, cluster, strict=True):
        along = size // extent
        found.append(which // outer % along * extent + rank // inner % extent)
        outer, inner = outer * along, inner * extent
    x, y, z = found
    return x, y, z


@dataclass(frozen=True)
class LaunchRecord:
    """A launch: the requested geometry and parameters.

    grid, block, cluster: (x, y, z); shared_bytes: dynamic shared memory per block; params: the
    kernel's parameter bytes; symbols: virtual addresses of module variables;
    registers: per thread, in machine code; None if unknown.
    """

    kernel: str
    grid: Dim3
    block: Dim3
    shared_bytes: int
    params: bytes
    cluster: Dim3 = (1, 1, 1)
    cooperative: bool = False
    symbols: dict[str, int] = field(default_factory=dict)
    registers: int | None = None

    def coordinates(self, block: int, thread: int) -> tuple[Dim3, Dim3]:
        """Return the (x, y, z) of a block and of a thread from their numbers."""
        bx, by, _ = self.block
        x, y, z = block_coordinates(np.array(block), self.grid, self.cluster)
        return (
            (int(x), int(y), int(z)),
            (thread % bx, thread // bx % by, thread // (bx * by)),
        )

    @property
    def block_warps(self) -> int:
        """Return the warps per block; the last one may be partial."""
        return -(-math.prod(self.block) // WARP)

    @property
    def cluster_blocks(self) -> int:
        """Return the blocks per cluster."""
        return math.prod(self.cluster)

    def linear_blocks(self, numbers: Array) -> Array:
        """Return the linear indices of blocks in the grid, x fastest, from their numbers."""
        if self.cluster[1:] == (1, 1):
            return numbers
        x, y, z = block_coordinates(numbers, self.grid, self.cluster)
        return x + self.grid[0] * (y + self.grid[1] * z)
