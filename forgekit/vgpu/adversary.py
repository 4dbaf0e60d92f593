"""Create adversarial schedules: orders of threads that are possible on a GPU and that expose
mistakes.

In the usual order, warps run in lockstep, so many races have no effect. An adversary divides the
threads that leave a barrier into parts (blocks, warps or single lanes), and lets each part run as
far as possible before the next part starts. A seed determines all choices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from forgekit.vgpu.floats import Array
from forgekit.vgpu.launch_record import WARP

_PARTS = 3


class Adversary:
    """Chooses an adversarial schedule for a batch of blocks.

    eager: True if asynchronous copies complete when they start, not when threads wait for them.
    backwards: True if the batch with the last blocks runs first, and in blocks of one warp, a
    batch's last block runs before its first.
    """

    def __init__(self, seed: int, first_block: int) -> None:
        self._draw = np.random.default_rng([seed, first_block])
        self.eager = self.backwards = bool(seed % 2)
        self._begins = True

    def parts(self, mask: Array) -> list[Array]:
        """Divide the threads in a full mask (blocks, threads) into parts, in the order in which the
        parts run."""
        n_blocks, n_threads = mask.shape
        n_warps = n_threads // WARP
        places = self._draw.permuted(np.tile(np.arange(n_warps), (n_blocks, 1)), axis=1)
        part = np.repeat(places * min(_PARTS, n_warps) // n_warps, WARP, axis=1)
        kind = self._draw.choice(["lanes", "warps"] + ["blocks"] * (n_blocks > 1))
        reverse = self._begins and self.backwards and n_warps == 1 < n_blocks
        if reverse or (kind == "warps" and n_warps == 1 < n_blocks):
            kind = "blocks"
        self._begins = False
        if kind == "lanes":  # also divide warps, so that they diverge
            part = part * 2 + self._draw.integers(2, size=mask.shape)
        elif kind == "blocks":
            later = self._draw.integers(2, size=(n_blocks, 1))
            if reverse:
                later[0], later[-1] = 1, 0
            part = part + later * _PARTS
        found = [mask & (part == k) for k in range(2 * _PARTS)]
        return [threads for threads in found if threads.any()]

    def impatient(self) -> bool:
        """Return True if a wait that may fail should fail now, even if it could succeed."""
        return bool(self._draw.integers(4) == 0)

    def register(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> Array:
        """Return the initial content of a register.

        Threads alternate between NaN, which a product reveals, and a large number, which a maximum
        reveals. A predicate is false.
        """
        if dtype.kind == "b":
            return np.zeros(shape, dtype)
        large, nan = (np.full(dtype.itemsize, byte, np.uint8).view(dtype) for byte in (0x7F, 0xFF))
        odd = np.arange(shape[1]) % 2 == 1
        return np.broadcast_to(np.where(odd == self.eager, large, nan), shape).copy()

    def noise(self, n: int) -> Array:
        """Return bytes for unwritten memory."""
        return self._draw.integers(256, size=n, dtype=np.uint8)
