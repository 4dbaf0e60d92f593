"""Define the misconception of NaN from a part without elements, for exercises with pairs (m, s)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forgekit.lessons.gates import Misconception

if TYPE_CHECKING:
    from forgekit.lessons.gates import Evidence

__all__ = ["NAN_FROM_NOTHING"]


def _nan_of_numbers(e: Evidence) -> bool:
    """Return True if threads stored NaN where a number is expected, and read no unwritten shared
    memory."""
    if not e.got or "uninitialised-shared" in e.kinds or (e.never is not None and e.never.any()):
        return False
    position = next(iter(e.got))
    return bool((e.got[position].isnan() & ~e.case.expected[position].isnan()).any())


NAN_FROM_NOTHING = Misconception(
    "there is NaN where a number is expected. NaN comes from inf - inf, as in a part that holds only "
    "-inf or no elements, from inf / inf, 0 / 0 or 0 * inf, or from words of shared memory that no "
    "thread has written.",
    _nan_of_numbers,
)
