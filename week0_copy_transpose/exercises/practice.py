"""What the puzzles of 10_practice share: a missing halo, and forgekit's pictures."""

from __future__ import annotations

from forgekit.lessons.gates import Evidence, Misconception
from forgekit.lessons.pictures import coloured, numbers, picture

__all__ = ["coloured", "halo_missing", "numbers", "picture"]


def halo_missing(most: int) -> Misconception:
    """Wrong is nothing but the last elements, at most so many, of blocks of 128, and not only at
    the end of all."""

    def when(e: Evidence) -> bool:
        (position, got), want = next(iter(e.got.items())), e.case.expected
        wrong = (got.double() != want[position].double()).nonzero().reshape(-1)
        at_ends = (wrong % 128 >= 128 - most).all()
        return bool(len(wrong) and at_ends and int(wrong[0]) + most < len(got))

    return Misconception(
        "all that is wrong are the last elements of blocks of 128: they need elements of x that "
        "belong to the next block, the halo.",
        when,
    )
