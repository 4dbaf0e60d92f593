"""Exercise week0/every_other: the sectors of a load that uses every second word, predicted."""

from __future__ import annotations

from numbers import Real
from typing import Any

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import GateError, Group, Submission, answer

__all__ = ["EXERCISE"]

RIGHT = 8
SLIPS: dict[Any, str] = {
    4: "that would do without gaps, for 32 neighbours of 4 bytes. Every second word is skipped.",
    32: "that would be one sector a thread. How many of the threads' elements lie in one sector?",
    16: "16 sectors would be every *fourth* word, 16 bytes from thread to thread; here it is every "
    "second.",
    64: "that is what all eight warps of the block fetch together. The question is of one warp.",
    256: "that is bytes, from thread 0's element to thread 31's. How many sectors are they?",
    128: "that is the bytes that the warp uses. What is fetched comes in sectors of 32 bytes.",
    2: "that is the stride. How many sectors of 32 bytes does the warp's piece of memory span?",
}


def _wrong(guess: Any) -> str | None:
    if guess == RIGHT:
        return None
    return f"Not {guess}: {SLIPS.get(guess, 'how long is the piece that one warp reads?')}"


_NUMBER = answer(
    _wrong,
    name="Sectors a request",
    look_at="Draw the first sector of 32 bytes, and write into it which threads read there.",
)


def _sectors(handed_in: Submission) -> str:
    guess = handed_in.value
    number = isinstance(guess, Real) and not isinstance(guess, bool)
    if not number and guess is not None and guess is not ...:
        raise GateError(f"guess_sectors is {guess!r:.100}; write one number, of sectors.")
    return _NUMBER.run(handed_in)


EXERCISE = Exercise(
    title="predict what every other element costs",
    task="""
The kernel computes `y[i] = x[2 * i]` for 256 elements of float32, one thread each. How many sectors
does one load of a warp fetch? Write the number into `guess_sectors`. The cell after the grade shows
the answer as a picture.
""",
    hints=(
        "How many bytes lie between what two neighbouring threads read?",
        "How long is the piece of memory from thread 0's element to thread 31's?",
        "8 bytes × 32 threads, in sectors of 32 bytes.",
    ),
    analysis="""
The 32 elements span 256 bytes, of which every second word is used: eight sectors, half of each for
nothing. The hardware cannot fetch half a sector, so a stride of 2 costs as much as reading
everything.
""",
    entry="guess_sectors",
    groups=(Group(_NUMBER.name, _sectors),),
)
