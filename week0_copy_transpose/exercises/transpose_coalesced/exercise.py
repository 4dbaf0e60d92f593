"""Exercise week0/transpose_coalesced: coalesce a kernel whose comment claims that it is
coalesced."""

from __future__ import annotations

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import clean, counted, counters, economical, large_calls, values

from ..practice import limited
from ..transposing import WORDS, case, mistakes, race_mistakes, sectors

__all__ = ["EXERCISE"]

_SIZE = (96, 128)

EXERCISE = Exercise(
    title="write whole rows",
    task="""
Fix the kernel of section 4 so that both its loads and its stores are coalesced. The loads already
are, so only the code after the barrier has to change. The kernel must work for every M and N.
""",
    hints=(
        "Neighbouring threads should write neighbouring elements of mY. Which of the two indices "
        "of mY must contain `tx`?",
        "A thread no longer writes the element that it loaded. It writes the element in row `col0 "
        "+ ty + k` and column `row0 + tx` of mY. Where in the tile `sX` is that element?",
        "In the last line, swap `tx` and `ty + k` in the indices of both mY and sX. The predicate "
        "in the line above must check the element of mY that the thread writes: its row must be "
        "less than N, and its column less than M.",
    ),
    analysis="""
The threads change roles at the barrier: before it, `tx` runs along a row of X, and after it, along
a row of Y. This exchange is the purpose of the shared tile. Because threads pass elements to each
other, the kernel needs the barrier and a second predicate. A detour through shared memory does not
by itself make a store coalesced; only the addresses of the 32 lanes do.
""",
    entry="transpose_coalesced",
    groups=(
        values(
            case,
            sizes=[(64, 64), (64, 96), (7, 5), (1, 1), (31, 33), (33, 31), (1, 4200), (4200, 3), (65, 70)],
            dtypes=(*WORDS, "bfloat16"),
            rtol=0,
            atol=0,
            misconceptions=mistakes(32, 32),
            drawn=2,
            legal=limited,
        ),
        clean(case, sizes=[(33, 47)], misconceptions=race_mistakes()),
        counters(
            case,
            _SIZE,
            [
                sectors(
                    "global_store", *_SIZE, 32, baseline=8 * 96 * 128 // 8,
                    misconceptions=[
                        counted(
                            lambda p: p.global_store_sectors_per_request > 31,
                            "a store still has 32 sectors per request, because neighbouring "
                            "threads write elements below one another in mY. tx must be part of "
                            "the last index of mY.",
                        )
                    ],
                    look_at="fk.coalescing(*{failed}, kind='store')",
                )
            ],
            name="Coalesced writes",
        ),
        counters(
            case,
            _SIZE,
            [
                sectors(
                    "global_load", *_SIZE, 32,
                    misconceptions=[
                        counted(
                            lambda p: p.global_load_sectors_per_request > 31,
                            "the strided access has moved from the store to the load. Now "
                            "neighbouring threads read elements below one another in mX. Restore "
                            "the load, and transpose inside the shared tile.",
                        ),
                        counted(
                            lambda p: p["global_load_bytes_asked"] > 4 * 96 * 128
                            and p.global_load_sectors_per_request > 8,
                            "after the barrier, the threads load from mX, down its columns. Read "
                            "from `sX` instead.",
                        ),
                    ],
                    look_at="fk.coalescing(*{failed}, kind='load')",
                )
            ],
            name="Coalesced reads",
        ),
        economical(
            case, [_SIZE, (95, 120), (480, 640)], waste={"threads": 1},
            more=lambda: [(case, (95, 120), "float16")],
        ),
        large_calls(case, [(1, 1)], legal=limited),
    ),
    praise="Both loads and stores access whole sectors.",
)  # fmt: skip
