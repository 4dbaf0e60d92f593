"""Exercise week0/transpose_padded: a tile that is not square, in two types, without conflicts."""

from __future__ import annotations

from typing import Any

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import Counter, clean, counted, counters, economical, values
from forgekit.lessons.gates.asked import as_asked, stated

from ..practice import limited
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
_FRUGAL = economical(
    case, [_SIZE, (95, 120), (480, 640)], waste={"threads": 1},
    more=lambda: [(case, (95, 120), "float16")],
)  # fmt: skip
_FEWEST = 96 * 128 // 32  # wavefronts of shared loads
_ASKED = {
    "block": 256,
    "blocks": ("one block per 32 × 64 elements of X", lambda m, n: -(-m // 32) * -(-n // 64)),
}


def _padded(profile: Any, width: int, elements: int = 1) -> bool:
    """Return True if the rows of 64 are at least this many elements apart in shared memory."""
    return bool(profile.shared_bytes >= (31 * (64 + elements) + 64) * width)


def _a_request(profile: Any) -> float:
    return float(profile.shared_load_wavefronts_per_request)


EXERCISE = Exercise(
    title="pad a tile that is not square",
    task="""
Write the second half of a transpose whose tile has 32 rows and 64 columns of X. A block has 32 × 8
threads, as before. Choose the layout of `sX` so that neither 4-byte nor 2-byte elements cause a
bank conflict. `mX.element_type.width` is the number of bits per element, which is known at compile
time.
"""
    + stated(_ASKED),
    hints=(
        "The tile of mY has 64 rows and 32 columns. How many rounds do eight rows of threads "
        "need? Which index of `sX` must contain `tx` now?",
        "To avoid conflicts, each row of the tile must begin one *bank* further than the row "
        "above, and a bank holds words of 32 bits. How many 16-bit elements make up a word?",
        "The pitch in `layout_s` is 64 elements plus one word, counted in elements of mX's type. "
        "After the loads, add a barrier and the second loop of exercise 1, with one round per "
        "eight rows of a tile of mY.",
    ),
    analysis="""
Count padding in words, not in elements. A pitch of 65 elements of 16 bits is 32.5 words, so two
consecutive elements of a column can be in the same bank. The 32 rows use only 16 banks, and two
lanes share each bank. A pitch of 66 elements is 33 words, which puts each row in a different bank.

The padding costs 31 words per block. It also costs alignment, because with a pitch of 65 or 33
words most rows do not begin at a multiple of 16 bytes. The next exercise needs no padding.
""",
    entry="transpose_padded",
    groups=(
        layout_in_a_branch(
            values(
                case,
                sizes=[(64, 64), (64, 128), (7, 5), (1, 1), (33, 63), (31, 65), (1, 4200), (4200, 3), (70, 130)],
                dtypes=WORDS,
                rtol=0,
                atol=0,
                misconceptions=mistakes(32, 64),
                drawn=2,
            legal=limited,
            ),
        ),
        clean(case, sizes=[(33, 70)], misconceptions=race_mistakes()),
        conflicts(
            _SIZE,
            "float32",
            [
                counted(
                    lambda p: _a_request(p) > 31,
                    "all 32 lanes need the same bank, because rows are still a multiple of 32 "
                    "words apart. Pad the *stride* of the rows; a different shape, or space after "
                    "the last row, moves no element.",
                ),
                counted(
                    lambda p: _a_request(p) > 1 and _padded(p, 4),
                    "the distance between two rows in words has a common factor with 32, the "
                    "number of banks, so lanes share banks again after a few rows. An odd number "
                    "of words has no such factor.",
                ),
            ],
            "Bank conflicts, float32",
        ),
        conflicts(
            _SIZE,
            "float16",
            [
                counted(
                    lambda p: 1 < _a_request(p) <= 2 and _padded(p, 2) and not _padded(p, 2, 2),
                    "the padding is one element. In a 16-bit type that is half a word, so two "
                    "rows share each bank. Pad by one *word*, however many elements that is.",
                ),
                counted(
                    lambda p: _padded(p, 2) or _a_request(p) > 31,
                    "the distance between two rows must be an odd number of *words*, and here a "
                    "word is two elements.",
                ),
            ],
            "Bank conflicts, float16",
        ),
        *(conflicts(_SIZE, dtype, [], f"Bank conflicts, {dtype}") for dtype in ("int32", "bfloat16")),
        still_coalesced(*_SIZE),
        counters(
            case,
            _SIZE,
            [
                Counter(
                    "shared_load_wavefronts", "wavefronts of shared loads", at_most=_FEWEST,
                    ideal=_FEWEST, look_at="fk.profile(*{failed})",
                )
            ],
            "float16",
            name="Whole warps, float16",
        ),
        as_asked(_FRUGAL.counts, _ASKED, ("m", "n")),
        _FRUGAL,
    ),
    praise="No lane waits for another.",
)  # fmt: skip
