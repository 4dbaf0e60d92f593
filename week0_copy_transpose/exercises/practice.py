"""Provide pictures, the mistake of a missing halo, and a gate against repeated loads for the puzzles
in 02_five_kernels and 10_practice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forgekit.lessons.gates import Evidence, GateError, Group, Misconception
from forgekit.lessons.pictures import coloured, numbers, picture
from forgekit.vgpu import Listener

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

    from forgekit.lessons.gates import Case, Submission
    from forgekit.vgpu import Access, Moment

__all__ = ["coloured", "halo_missing", "limited", "loaded_once", "numbers", "picture", "special"]


class _Repeated(Listener):
    """Collects the words of global memory that a block loads again."""

    def __init__(self) -> None:
        self.words: set[int] = set()

    def on_batch(self, m: Moment) -> None:
        self._seen: list[set[int]] = [set() for _ in range(m.shape[0])]

    def on_access(self, m: Moment, access: Access) -> None:
        if access.kind not in ("load", "async load"):
            return
        active = np.broadcast_to(True if access.mask is None else access.mask, m.shape)
        for space, address, there in access.by_space(m.shape):
            for seen, at, of in zip(self._seen, address, there & active, strict=True):
                if space == "global" and of.any():
                    words = at[of][:, None] + np.arange(0, access.width, 4)
                    unique, count = np.unique(words, return_counts=True)
                    self.words |= {*unique[count > 1].tolist()} | (seen & {*unique.tolist()})
                    seen |= {*unique.tolist()}


def loaded_once(make: Callable[..., Case], *sizes: tuple[int, ...]) -> Group:
    """Return a group that refuses loads of an element that the block has loaded before. The last
    element may be loaded again, by indices that are limited to the array."""

    def run(submission: Submission) -> str:
        import torch

        for size in sizes:
            case, repeated = make(*size, dtype=torch.float32), _Repeated()
            submission.counted(case, repeated)
            if len(repeated.words) > 1:
                raise GateError(
                    f"With {case.label}, blocks load {len(repeated.words):,} elements more than once.",
                    look_at="fk.footprint(*{failed}, kind='load')",
                )
        return "no block loads an element twice, except possibly the last element"

    return Group("Loaded once", run)


def limited(m: int, n: int, *more: int) -> tuple[int, ...]:
    """Limit a drawn matrix to 100,000 elements, because the listed sizes have long rows and long
    columns."""
    return m, max(1, min(n, 100_000 // m)), *more


def special(x: torch.Tensor) -> torch.Tensor:
    """Put ∞ and -∞ into a tensor of more than 900 elements, and one NaN near its beginning; return
    the tensor. An element that is never stored contains NaN, so more of them would hide it."""
    if x.numel() > 900:
        flat = x.view(-1)
        flat[7::101], flat[29::101], flat[53] = float("inf"), float("-inf"), float("nan")
    return x


def halo_missing(most: Callable[[Evidence], int]) -> Misconception:
    """Return the misconception that leaves only results wrong whose inputs are on both sides of a
    multiple of 128: at most `most` per multiple, at all multiples but the last."""

    def when(e: Evidence) -> bool:
        few = most(e)
        (position, got), want = next(iter(e.got.items())), e.case.expected
        one, other = got.double(), want[position].double()
        wrong = ((one != other) & ~(one.isnan() & other.isnan())).nonzero().reshape(-1)
        at_ends = (wrong % 128 >= 128 - few).all()
        blocks = {*(wrong // 128).tolist()}
        every = blocks >= {*range(len(got) // 128 - 1)}
        return bool(len(wrong) and at_ends and every and int(wrong[0]) + few < len(got))

    return Misconception(
        "every wrong result needs elements of x on both sides of a multiple of 128. In blocks of "
        "128 threads, the elements on the far side are the halo, which belongs to the next block.",
        when,
    )
