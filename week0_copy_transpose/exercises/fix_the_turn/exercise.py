"""Exercise week0/fix_the_turn: from a recorded report of ncu to the lines that have to change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

import forgekit as fk
from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import (
    Case,
    Counter,
    clean,
    counted,
    counters,
    economical,
    found,
    looks_like,
    values,
)

from ..practice import limited, special
from ..transposing import Places, left_by

__all__ = ["EXERCISE"]


_SIZE = (256, 320)
_LEAST = 256 * 320 * 4 // 32  # sectors of the matrix
_BLOCKS = 20  # a quarter of the slow kernel's blocks, for larger tiles


def _case(m: int, n: int, dtype: torch.dtype) -> Case:
    x = fk.randn(m, n, dtype=dtype, device="virtual")
    if m * n > 3000:
        special(x)
    y = fk.empty(n, m, dtype=dtype, device="virtual")
    return Case((x, y), {1: x.rot90(-1).contiguous()}, f"{m}×{n}")


def _wavefronts(p: Any) -> float:
    return float(p.shared_load_wavefronts + p.shared_store_wavefronts)


def _blocks(p: Any) -> float:
    return float(sum(x.grid[0] * x.grid[1] * x.grid[2] for x in p.launches) / len(p.launches))


def _threads(p: Any) -> float:
    sizes = [(x.grid, x.block) for x in p.launches]
    return float(min(g[0] * g[1] * g[2] * b[0] * b[1] * b[2] for g, b in sizes))


def _mirrored_in_tiles(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return x with each tile transposed and mirrored in place."""
    return torch.cat([tile.flip(1) for tile in x.T.split(32, 1)], 1)


_STORE_PREDICATE = (
    "the thread does not store the element that it loaded, so the predicate of the store must "
    "be true exactly if the row and the column that the thread *stores* both exist."
)


_ORDER = [
    found("divergent-barrier", "the barrier must be outside every `if`."),
    found(
        "shared-race",
        "a thread now reads an element that *another* thread stored. Put cute.arch.sync_threads() "
        "between the store to sT and the read.",
        text=" reads shared memory",
    ),
    found(
        "uninitialised-shared",
        "a thread reads an element of sT that no thread has stored. Compare the two predicates.",
    ),
]


def _loaded(p: Places) -> Iterator[np.ndarray]:
    yield (p.row0 + p.ty) * p.N + p.col0 + p.tx


def _stored(p: Places) -> Iterator[np.ndarray]:
    yield (p.col0 + p.ty) * p.M + p.M - 1 - p.row0 - p.tx


EXERCISE = Exercise(
    title="use a report to fix a slow kernel",
    task="""
`turn` rotates a matrix clockwise by a quarter turn: `mY[col, M - 1 - row] = mX[row, col]`. It uses
a tile in shared memory, yet it took 995 µs on the H200, as the report above shows. Make it faster
by changing the two marked places: the layout of `sT`, and the lines after the barrier.
""",
    hints=(
        "Which line has more sectors than the ideal? In that line, which index of `mY` differs "
        "between neighbouring threads, that is, threads with consecutive `tidx`?",
        "After the barrier, a thread does not have to store the element that it loaded. Let "
        "`tidx` select the *row* of X (the column of Y), and `tidy` the column. Which element of "
        "`sT` does a thread store then, and from which banks do the 32 lanes read?",
        "After the barrier and before the predicate, compute `row` and `col` again, with tidx and "
        "tidy swapped. Swap the indices of sT as well. This read goes down a column of sT. Which "
        "pitch does `07_transpose` use for such a tile?",
    ),
    analysis="""
The store was the slow line. `tidx` ran along `col`, the *row* of `mY`, so each lane wrote to a
different sector. The tile in shared memory had no effect, because every thread read back the
element that it had stored itself. If `tidx` and `tidy` are swapped after the barrier, the lanes of
a store fill whole sectors. `M - 1 - row` means that they fill them from right to left. This costs
nothing, because the sectors of a request do not depend on the order of its lanes. Since the lanes
now read a column of `sT`, the tile needs padding.

On the H200, this change reduced the time from 995 µs to 311 µs, with DRAM at 35 % of its peak. That
is as long as `padded` above takes. `padded_4`, with four elements per thread and blocks of 256
threads, takes half that time. The virtual GPU cannot measure this further gain, so the exercise
does not require it.
""",
    entry="turn",
    groups=(
        values(
            _case,
            sizes=[
                (32, 32),
                (64, 32),
                (2, 3),
                (1, 1),
                (33, 31),
                (31, 33),
                (1, 4200),
                (4200, 3),
                (100, 65),
            ],
            rtol=0,
            atol=0,
            misconceptions=[
                looks_like(
                    lambda x, y: x.T,
                    "the result is the transpose, not the rotation. Is `M - 1 -` missing?",
                ),
                looks_like(
                    lambda x, y: x.rot90(1),
                    "the result is rotated counterclockwise. Mirror the other index.",
                ),
                looks_like(
                    _mirrored_in_tiles,
                    "the tiles are where a transpose would put them, but the elements within each "
                    "tile are mirrored. `M - 1 -` applies to the row of the matrix, not to the row of the "
                    "tile.",
                ),
                looks_like(
                    lambda x, y: x.flip(1),
                    "the rows of x are reversed, but they are not turned into columns. sT[a, b] "
                    "contains the element in row a and column b of the tile of mX.",
                ),
                left_by("mY", _stored, _STORE_PREDICATE, block=(32, 32)),
                left_by(
                    "mX",
                    _loaded,
                    "the load's index is correct, but threads load whose element does not "
                    "exist. Keep the predicate of the load.",
                    block=(32, 32),
                ),
                *_ORDER,
            ],
            drawn=2,
            legal=limited,
        ),
        clean(
            _case,
            sizes=[(33, 70), (64, 96)],
            misconceptions=_ORDER,
        ),
        counters(
            _case,
            _SIZE,
            [
                Counter(
                    "global_load_sectors",
                    "sectors loaded",
                    at_most=_LEAST,
                    baseline=_LEAST,
                    ideal=_LEAST,
                    misconceptions=[
                        counted(
                            lambda p: p["global_load_bytes_asked"] > 256 * 320 * 4,
                            "some elements are loaded more than once. One load per element is enough: "
                            "after the barrier, every element of the tile is in sT.",
                        ),
                        counted(
                            lambda p: p.global_load_sectors_per_request > 16,
                            "now the load is strided. Swap tidx and tidy after the barrier, where "
                            "a thread reads sT.",
                        ),
                    ],
                ),
                Counter(
                    "global_store_sectors",
                    "sectors stored",
                    at_most=_LEAST,
                    baseline=8 * _LEAST,
                    ideal=_LEAST,
                    misconceptions=[
                        counted(
                            lambda p: p.global_store_sectors_per_request > 31,
                            "neighbouring threads still store to neighbouring *rows* of mY, with "
                            "32 sectors per request, as in the report.",
                        ),
                        counted(
                            lambda p: p["global_store_bytes_asked"] > 4 * 256 * 320,
                            "some elements are stored more than once.",
                        ),
                        counted(
                            lambda p: p.global_store_sectors > _LEAST,
                            "the pieces of rows that a warp stores are not whole sectors.",
                        ),
                    ],
                    look_at="fk.coalescing(*{failed}, kind='store')",
                ),
            ],
            name="Sectors",
        ),
        counters(
            _case,
            _SIZE,
            [
                Counter(
                    "shared_load_bank_conflicts",
                    "bank conflicts on shared loads",
                    at_most=0,
                    ideal=0,
                    misconceptions=[
                        counted(
                            lambda p: True,
                            "lanes of a warp read different words of one bank. In a column of sT, "
                            "all 32 words are in different banks if the pitch is odd.",
                        ),
                    ],
                    look_at="fk.banks(*{failed}, kind='load')",
                ),
                Counter(
                    "shared_store_bank_conflicts",
                    "bank conflicts on shared stores",
                    at_most=0,
                    ideal=0,
                    misconceptions=[
                        counted(
                            lambda p: True,
                            "the conflict occurs where the kernel *stores* to sT. There, 32 lanes "
                            "also need 32 banks.",
                        ),
                    ],
                    look_at="fk.banks(*{failed}, kind='store')",
                ),
                Counter(
                    _wavefronts,
                    "wavefronts of shared memory",
                    at_most=2 * 256 * 320 // 32,
                    ideal=2 * 256 * 320 // 32,
                    misconceptions=[
                        counted(
                            lambda p: p["shared_load_bytes_asked"] > 128 * p.shared_load_requests,
                            "a lane reads more than 4 bytes of sT per request, and one wavefront "
                            "loads only 128 bytes for a warp.",
                        ),
                        counted(
                            lambda p: p["shared_load_bytes_asked"] > 4 * 256 * 320,
                            "the kernel reads some elements of sT more than once.",
                        ),
                        counted(
                            lambda p: p.shared_load_requests > 256 * 320 // 32,
                            "there is no conflict, but the lanes of a warp read sT in several "
                            "requests, which take as many wavefronts as a conflict.",
                        ),
                    ],
                    look_at="Every element passes through sT once. One wavefront stores 32 elements, and one loads them.",
                ),
            ],
            name="Banks",
        ),
        counters(
            _case,
            _SIZE,
            [
                Counter(
                    "thread_efficiency",
                    "percent of lanes active",
                    at_least=75,
                    ideal=100,
                    misconceptions=[
                        counted(
                            lambda p: True,
                            "on average, fewer than three quarters of a warp's lanes execute an "
                            "instruction.",
                        )
                    ],
                ),
                Counter(
                    _blocks,
                    "blocks for 80 tiles",
                    at_least=_BLOCKS,
                    baseline=80,
                    misconceptions=[
                        counted(
                            lambda p: True,
                            "a few blocks do all the work. The counters stay the same, but an H200 "
                            "has 132 multiprocessors, and most would be idle.",
                        )
                    ],
                ),
                Counter(
                    _threads,
                    "threads",
                    at_least=256 * 320 // 64,
                    baseline=256 * 320,
                    misconceptions=[
                        counted(
                            lambda p: True,
                            "one thread moves more than 64 elements one after another, so too few"
                            " warps remain to wait for memory at the same time.",
                        )
                    ],
                ),
            ],
            name="Enough work for a whole GPU",
        ),
        economical(_case, [_SIZE], waste={"threads": 1}),
    ),
    praise="The report led you to the slow line.",
)
