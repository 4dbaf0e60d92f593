"""Exercise week0/transpose_padded: a tile that is not square, in three types, without conflicts."""

from __future__ import annotations

from typing import Any

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import clean, counted, economical, values

from ..transposing import (
    WORDS,
    case,
    conflicts,
    layout_in_a_branch,
    mistakes,
    race_mistakes,
    still_coalesced,
)

__all__ = ["EXERCISE"]

_SIZE = (96, 128)


def _a_request(profile: Any) -> float:
    return float(profile.shared_load_wavefronts_per_request)


EXERCISE = Exercise(
    title="a padded tile that is not square",
    task="""
Write the second half of a transpose whose tile has 32 rows and 64 columns of X; the threads are
32 × 8, as before. Fill in the rest of the kernel, and choose the layout of `sX` so that there is
no bank conflict, neither with 4-byte nor with 2-byte elements. `mX.element_type.width` is the
number of bits of an element, known when the kernel is compiled.
""",
    hints=(
        "The tile of mY has 64 rows and 32 columns. Eight rows of threads: how many rounds are "
        "that? And `tx` is which index of `sX` now?",
        "Conflict-free means: one row further is one *bank* further, and a bank is a word of 32 "
        "bits. How many elements of 16 bits are a word?",
        "The pitch in `layout_s` is 64 elements plus one word, counted in elements of the type "
        "that mX has. Below the load: a barrier, then the second loop of exercise 1, with as many "
        "rounds as a tile of mY has rows, eight at a time.",
    ),
    analysis="""
Padding is measured in words, not in elements. With 65 elements of 16 bits, 32 words and a half, two
rows further is 65 words further: 32 rows move through 16 banks only, and two lanes meet in each.
With 66 elements, 33 words, each row has a bank of its own.

The padding costs 32 words a block, and it costs alignment: rows of 33 words do not begin at
multiples of 16 bytes. That is why the next exercise does without.
""",
    entry="transpose_padded",
    groups=(
        layout_in_a_branch(
            values(
                case,
                sizes=[(64, 64), (64, 128), (7, 5), (1, 1), (33, 63), (31, 65), (1, 99), (70, 130)],
                dtypes=WORDS,
                rtol=0,
                atol=0,
                misconceptions=mistakes(32, 64),
                drawn=2,
            ),
        ),
        clean(case, sizes=[(33, 70)], misconceptions=race_mistakes()),
        conflicts(
            _SIZE,
            "float32",
            [
                counted(
                    lambda p: _a_request(p) > 31,
                    "all 32 lanes are in one bank: a row further is still a multiple of 32 words "
                    "further. Padding belongs to the *stride* of the rows; another shape, or room "
                    "after the last row, moves nothing.",
                ),
                counted(
                    lambda p: _a_request(p) > 1,
                    "the distance of two rows in words and the 32 banks have a common factor: "
                    "lanes meet again after a few rows. An odd number of words has none.",
                ),
            ],
            "Bank conflicts, float32",
        ),
        conflicts(
            _SIZE,
            "float16",
            [
                counted(
                    lambda p: 1 < _a_request(p) <= 2,
                    "two rows meet in each bank. One element of a 16-bit type is half a word: pad "
                    "by one *word*, however many elements that is.",
                ),
                counted(
                    lambda p: True,
                    "the distance of two rows has to be an odd number of *words*; with two "
                    "elements in a word, count again.",
                ),
            ],
            "Bank conflicts, float16",
        ),
        still_coalesced(*_SIZE),
        economical(case, [_SIZE], waste={"threads": 1}),
    ),
    praise="No lane waits for another.",
)  # fmt: skip
