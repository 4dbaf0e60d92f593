"""Make adversarial schedules: thread orders that a GPU could also choose and that expose mistakes.

In the usual order warps run in lockstep, which makes many races look harmless. An adversary cuts
the threads that leave a barrier into parts, by warps or by single lanes, and lets each part run as
far as it can before the next one starts. A seed determines all choices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from forgekit.vgpu.floats import Array
from forgekit.vgpu.launch_record import WARP

_PARTS = 3


class Adversary:
    """Chooses orders for a batch of blocks.

    eager: asynchronous copies arrive when they start instead of when they are waited for.
    backwards: the batch with the last blocks runs first.
    """

    def __init__(self, seed: int, first_block: int) -> None:
        self._draw = np.random.default_rng([seed, first_block])
        self.eager = self.backwards = bool(seed % 2)

    def parts(self, mask: Array) -> list[Array]:
        """Divide the threads of a full mask (blocks, threads) into parts, in the order in which
        they will run."""
        n_blocks, n_threads = mask.shape
        n_warps = n_threads // WARP
        places = self._draw.permuted(np.tile(np.arange(n_warps), (n_blocks, 1)), axis=1)
        part = np.repeat(places * min(_PARTS, n_warps) // n_warps, WARP, axis=1)
        kind = self._draw.choice(["lanes", "warps"] + ["blocks"] * (n_blocks > 1))
        if kind == "lanes":  # lanes of the same warp diverge
            part = part * 2 + self._draw.integers(2, size=mask.shape)
        elif kind == "blocks":
            part = part + self._draw.integers(2, size=(n_blocks, 1)) * _PARTS
        found = [mask & (part == k) for k in range(2 * _PARTS)]
        return [threads for threads in found if threads.any()]

    def impatient(self) -> bool:
        """Return True if a wait that may end without success should do so even though it could
        succeed."""
        return bool(self._draw.integers(4) == 0)

    def register(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> Array:
        """Return the content of a register that was never written: NaN in every other thread, a
        large number in the others, because a product reveals the NaN and a maximum reveals the
        number. A predicate is false."""
        if dtype.kind == "b":
            return np.zeros(shape, dtype)
        large, nan = (np.full(dtype.itemsize, byte, np.uint8).view(dtype) for byte in (0x7F, 0xFF))
        odd = np.arange(shape[1]) % 2 == 1
        return np.broadcast_to(np.where(odd == self.eager, large, nan), shape).copy()

    def noise(self, n: int) -> Array:
        """Return bytes for unwritten memory."""
        return self._draw.integers(256, size=n, dtype=np.uint8)
