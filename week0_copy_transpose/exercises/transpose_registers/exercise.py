"""Exercise week0/transpose_registers: 16-byte accesses on both sides, without shared memory."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import (
    Counter,
    clean,
    counted,
    counters,
    economical,
    large_calls,
    looks_like,
    values,
)
from forgekit.lessons.gates.asked import FACTS

from ..practice import limited
from ..transposing import Places, case, left_by, race_mistakes, sectors

__all__ = ["EXERCISE"]

_SIZE = (256, 512)
_FEWEST = 256 * 512 * 2 // (32 * 16)  # requests: 32 lanes of 16 bytes
_case = functools.partial(case, multiple=8)


def _local_accesses(profile: Any) -> float:
    """Return the number of instructions that accessed local memory."""
    return float(
        sum(
            instruction["warp_instructions"]
            for line in profile.all_lines
            for instruction in line.instructions
            if instruction.text.startswith(("ld.local", "st.local"))
        )
    )


def _own_rows(p: Places) -> Iterator[np.ndarray]:
    """Yield the first element of each row of a thread's square, eight squares side by side."""
    for r in range(8):
        yield (p.row0 + p.tx // 8 * 8 + r) * p.N + p.col0 + p.tx % 8 * 8


def _sizes_exchanged(x: Any, y: Any) -> Any:
    m, n = x.shape
    row, col = torch.arange(n)[:, None] // 8 * 8, torch.arange(m)[None] // 8 * 8
    return torch.where((row < m) & (col < n), x.T, float("nan"))


def _squares_in_place(x: Any, y: Any) -> Any:
    """Return x with each square in its new position, but not transposed."""
    m, n = x.shape
    return x.reshape(m // 8, 8, n // 8, 8).permute(2, 1, 0, 3).reshape(n, m)


def _mirrored(x: Any, y: Any, upper: bool) -> Any:
    """Return each square transposed within one tensor: one half is lost, and the other occurs
    twice."""
    m, n = x.shape
    z = x.reshape(m // 8, 8, n // 8, 8).permute(2, 0, 1, 3)
    half, rest = (z.triu(), z.triu(1)) if upper else (z.tril(), z.tril(-1))
    return (half + rest.mT).permute(0, 2, 1, 3).reshape(n, m)


_SEE = "fk.coalescing(*{{failed}}, kind='{}')"
_HALF = [
    counted(
        lambda p: p.global_load_requests == p.global_store_requests == _FEWEST,
        "every access is 16 bytes wide, but some requests use only half of a sector, because no "
        "lane accesses its other 16 bytes. Two squares that are side by side, in X and in Y, fill "
        "a sector.",
    )
]
_OVERWRITTEN = (
    "each square of the result is symmetric: one half of its elements is lost, as if the square were "
    "transposed within one tensor. Use a second tensor `rY`."
)


def _multiples(m: int, n: int) -> tuple[int, int]:
    return (m + 7) // 8 * 8, (limited(m, n)[1] + 7) // 8 * 8


def _wide(kind: str) -> Counter:
    """Return the gate that rejects narrower accesses in blocks that are not full."""
    return Counter(
        FACTS[f"{kind}_bytes"].measure, f"bytes per {kind} (mean, weighted by bytes)",
        at_least=16, ideal=16, look_at=_SEE.format(kind),
    )  # fmt: skip


def _requests(kind: str) -> Counter:
    verb = {"load": "reads", "store": "writes"}[kind]
    return Counter(
        f"global_{kind}_requests", f"{kind} requests", at_most=_FEWEST, ideal=_FEWEST,
        misconceptions=[
            counted(
                lambda p: p[f"global_{kind}_requests"] == 8 * _FEWEST,
                f"each lane {verb} 2 bytes at a time. cute.autovec_copy moves eight neighbouring "
                "elements in one access of 16 bytes if you copy a whole row, `[r, None]`, that is "
                "also contiguous in registers (stride 1).",
            ),
        ],
        look_at=f"fk.coalescing(*{{failed}}, kind='{kind}')",
    )  # fmt: skip


EXERCISE = Exercise(
    title="transpose 8 × 8 elements in registers",
    task="""
In registers alone, without shared memory or a barrier, transpose a 16-bit matrix whose sizes are
multiples of 8. In the given launch, a block is one warp and covers 32 × 64 elements of X, so each
thread has a square of 8 × 8 elements. A thread loads each row of its square with one 16-byte
access, transposes the square, and stores each row of the result with one 16-byte access. The 32
squares of a warp cover the same sectors in any order, so choose the order that you find easiest.
""",
    hints=(
        "A block's part of X is eight squares wide and four squares high. Which square belongs to "
        "lane `tidx`? `cute.local_tile(mX, (8, 8), …)` returns that square. Where does it belong "
        "in mY?",
        "Create two register tensors of 8 × 8 elements, rX and rY, with `cute.make_rmem_tensor` "
        "and a row-major layout. Registers have no addresses, so the compiler must know each index "
        "into them. Write the loops with `cutlass.range_constexpr(8)`.",
        "Put three loops inside the predicate's `if`. The first loop copies each row of gX, `[r, "
        "None]`, to the same row of rX with `cute.autovec_copy`. The second copies each element "
        "from rX to rY, with row and column swapped. The third copies each row of rY to gY.",
    ),
    analysis="""
The lanes form four rows of eight. One load of the warp reads four pieces of 8 × 16 = 128 bytes, and
one store writes eight pieces of 4 × 16 = 64 bytes. Both access 16 whole sectors per request, the
minimum for 512 bytes. No element moves to another thread, so no thread waits for another. The price
is registers: the 64 elements of rX and the 64 elements of rY take 32 registers each.

The method works because 16 bytes are *eight* elements, so both the rows and the columns of a square
are whole 16-byte pieces. The square would be 4 × 4 for 32-bit elements and 2 × 2 for 64-bit
elements. Sizes that are not multiples of eight still need the shared tile.
""",
    entry="transpose_registers",
    groups=(
        values(
            _case,
            sizes=[(64, 64), (32, 64), (8, 8), (8, 16), (72, 200), (2104, 8), (8, 4200)],
            dtypes=("float16", "bfloat16", "int16"),
            rtol=0,
            atol=0,
            misconceptions=[
                left_by(
                    "mX",
                    _own_rows,
                    "the index is correct, but threads load squares that do not exist. Put the load "
                    "under a predicate: the first row of a square must be less than M, and its first "
                    "column less than N.",
                    tile=(32, 64),
                    block=(32, 1),
                ),
                looks_like(
                    _sizes_exchanged,
                    "the kernel stores squares as if X had N rows and M columns. Are M and N "
                    "swapped in the predicate?",
                    unstored=True,
                ),
                looks_like(lambda x, y: x, "in this call, y equals x."),
                looks_like(functools.partial(_mirrored, upper=True), _OVERWRITTEN),
                looks_like(functools.partial(_mirrored, upper=False), _OVERWRITTEN),
                looks_like(
                    _squares_in_place,
                    "the squares have changed places, but the kernel transposes nothing inside "
                    "them. Swap row and column between the loads and the stores.",
                ),
            ],
            drawn=2, legal=_multiples,
        ),
        clean(_case, sizes=[(40, 72)], dtype="float16", misconceptions=race_mistakes()),
        counters(
            _case,
            _SIZE,
            [
                _requests("load"),
                _requests("store"),
                sectors("global_load", *_SIZE, 16, misconceptions=_HALF, look_at=_SEE.format("load")),
                sectors("global_store", *_SIZE, 16, misconceptions=_HALF, look_at=_SEE.format("store")),
            ],
            "float16",
            name="16 bytes per access",
        ),
        counters(_case, (40, 72), [_wide("load"), _wide("store")], "bfloat16", name="In every block"),
        counters(
            _case,
            _SIZE,
            [
                Counter(
                    lambda p: p.shared_load_requests + p.shared_store_requests,
                    "requests to shared memory", at_most=0, ideal=0,
                    look_at="Each thread transposes its own square in registers.",
                ),
                Counter(
                    FACTS["barriers"].measure, "barriers per warp", at_most=0, ideal=0,
                    misconceptions=[
                        counted(
                            lambda p: True,
                            "no thread here reads an element that another thread has stored, so "
                            "there is nothing to wait for.",
                        )
                    ],
                    look_at="fk.profile(*{failed})",
                ),
                Counter(
                    _local_accesses, "accesses to local memory", at_most=0, ideal=0,
                    misconceptions=[
                        counted(
                            lambda p: True,
                            "the kernel computes an index into rX or rY at run time. Registers "
                            "have no addresses, so the compiler has put the square into local "
                            "memory. Loop with cutlass.range_constexpr.",
                        )
                    ],
                ),
            ],
            "float16",
            name="In registers",
        ),
        economical(_case, [_SIZE, (1000, 1096)], "float16", waste={"threads": 1}),
        large_calls(_case, [(8, 8)], "float16", _multiples),
    ),
    praise="512 bytes per request, and no thread waits for another.",
)  # fmt: skip
