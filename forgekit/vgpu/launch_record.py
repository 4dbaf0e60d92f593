"""Describe a launch as the host code requests it, and compute the coordinates of its blocks.

The numbers of a cluster's blocks are consecutive, in order of rank.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from forgekit.vgpu.floats import Array

Dim3 = tuple[int, int, int]
WARP = 32  # lanes per warp


def block_coordinates(number: Array, grid: Dim3, cluster: Dim3) -> tuple[Array, Array, Array]:
    """Return the coordinates (x, y, z) of blocks, given their numbers."""
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
    """A launch: its geometry and parameters.

    grid, block, cluster: sizes (x, y, z); shared_bytes: bytes of dynamic shared memory per block;
    params: the bytes of the kernel's parameters; symbols: virtual addresses of module variables;
    registers: registers per thread in the machine code, or None if unknown.
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
        """Return the coordinates (x, y, z) of a block and of a thread, given their numbers."""
        bx, by, _ = self.block
        x, y, z = block_coordinates(np.array(block), self.grid, self.cluster)
        return (
            (int(x), int(y), int(z)),
            (thread % bx, thread // bx % by, thread // (bx * by)),
        )

    @property
    def block_warps(self) -> int:
        """Return the number of warps per block, including a partial last warp."""
        return -(-math.prod(self.block) // WARP)

    @property
    def cluster_blocks(self) -> int:
        """Return the number of blocks per cluster."""
        return math.prod(self.cluster)

    def linear_blocks(self, numbers: Array) -> Array:
        """Return the linear indices of blocks in the grid (x varies fastest), given their
        numbers."""
        if self.cluster[1:] == (1, 1):
            return numbers
        x, y, z = block_coordinates(numbers, self.grid, self.cluster)
        return x + self.grid[0] * (y + self.grid[1] * z)
