"""Provide pictures, and the mistake of a missing halo, for the puzzles in 02_five_kernels and
10_practice."""

from __future__ import annotations

from forgekit.lessons.gates import Evidence, Misconception
from forgekit.lessons.pictures import coloured, numbers, picture

__all__ = ["coloured", "halo_missing", "numbers", "picture"]


def halo_missing(most: int) -> Misconception:
    """Return the misconception that leaves the last elements of blocks of 128 wrong: at most `most`
    per block, nothing else, and not only those of the last block."""

    def when(e: Evidence) -> bool:
        (position, got), want = next(iter(e.got.items())), e.case.expected
        wrong = (got.double() != want[position].double()).nonzero().reshape(-1)
        at_ends = (wrong % 128 >= 128 - most).all()
        return bool(len(wrong) and at_ends and int(wrong[0]) + most < len(got))

    return Misconception(
        "only the last elements of each block of 128 are wrong. They need the halo, elements of x "
        "that belong to the next block.",
        when,
    )
