"""Exercise week0/transpose_registers: 16-byte accesses on both sides, without shared memory."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import Counter, clean, counted, counters, economical, looks_like, values
from forgekit.lessons.gates.asked import FACTS

from ..transposing import Places, case, left_by, race_mistakes, sectors

__all__ = ["EXERCISE"]

_SIZE = (256, 512)
_FEWEST = 256 * 512 * 2 // (32 * 16)  # requests: 32 lanes of 16 bytes
_case = functools.partial(case, multiple=8)


def _local_accesses(profile: Any) -> float:
    """Instructions that went to local memory."""
    return float(
        sum(
            instruction["warp_instructions"]
            for line in profile.all_lines
            for instruction in line.instructions
            if instruction.text.startswith(("ld.local", "st.local"))
        )
    )


def _own_rows(p: Places) -> Iterator[np.ndarray]:
    """The first element of each row of a thread's square, eight squares side by side a block."""
    for r in range(8):
        yield (p.row0 + p.tx // 8 * 8 + r) * p.N + p.col0 + p.tx % 8 * 8


def _sizes_exchanged(x: Any, y: Any) -> Any:
    m, n = x.shape
    row, col = torch.arange(n)[:, None] // 8 * 8, torch.arange(m)[None] // 8 * 8
    return torch.where((row < m) & (col < n), x.T, float("nan"))


def _squares_in_place(x: Any, y: Any) -> Any:
    """Each square where it belongs, and not turned."""
    m, n = x.shape
    return x.reshape(m // 8, 8, n // 8, 8).permute(2, 1, 0, 3).reshape(n, m)


def _mirrored(x: Any, y: Any, upper: bool) -> Any:
    """Each square turned within one tensor: one half of it is lost, and the other there twice."""
    m, n = x.shape
    z = x.reshape(m // 8, 8, n // 8, 8).permute(2, 0, 1, 3)
    half, rest = (z.triu(), z.triu(1)) if upper else (z.tril(), z.tril(-1))
    return (half + rest.mT).permute(0, 2, 1, 3).reshape(n, m)


_SEE = "fk.coalescing(*{{failed}}, kind='{}')"
_HALF = [
    counted(
        lambda p: p.global_load_requests == p.global_store_requests == _FEWEST,
        "every access is 16 bytes wide, and some sectors are used by half: 16 bytes of a row, with "
        "no lane beside it. Two squares side by side, in X and in Y, fill a sector.",
    )
]
_OVERWRITTEN = (
    "elements are overwritten before they are read: the square is turned within one tensor. It "
    "takes a second tensor `rY`."
)


def _multiples(m: int, n: int) -> tuple[int, int]:
    return (m + 7) // 8 * 8, (n + 7) // 8 * 8


def _requests(kind: str) -> Counter:
    verb = {"load": "reads", "store": "writes"}[kind]
    return Counter(
        f"global_{kind}_requests", f"{kind} requests", at_most=_FEWEST, ideal=_FEWEST,
        misconceptions=[
            counted(
                lambda p: p[f"global_{kind}_requests"] == 8 * _FEWEST,
                f"each lane {verb} 2 bytes at a time. Eight elements side by side are one access "
                f"of 16 bytes if cute.autovec_copy is given all of a row, `[r, None]`, and the row "
                f"lies side by side in registers, too (stride 1).",
            ),
        ],
        look_at=f"fk.coalescing(*{{failed}}, kind='{kind}')",
    )  # fmt: skip


EXERCISE = Exercise(
    title="transpose 8 × 8 elements in registers",
    task="""
Transpose a 16-bit matrix whose sides are multiples of 8 in registers alone: no shared memory, no
barrier. The launch is given: a block is one warp and takes 32 × 64 elements of X, so each thread has
a square of 8 × 8. It loads the rows of its square with 16 bytes at once, turns the square, and
stores the rows of what has become of it, 16 bytes at once. The body of the kernel is empty. Which
lane takes which square decides whether a request moves whole sectors.
""",
    hints=(
        "A row of X's part is eight squares long, and four of them stand below one another: which "
        "square is lane `tidx`'s? `cute.local_tile(mX, (8, 8), …)` is that square. Where in mY does "
        "it belong?",
        "Two tensors of registers, rX and rY, from `cute.make_rmem_tensor` with a layout of 8 × 8 "
        "whose rows are side by side. Registers have no addresses, so an index into them has to be "
        "known when the kernel is compiled: `cutlass.range_constexpr(8)`.",
        "Three loops inside the predicate: `cute.autovec_copy` takes a whole row of gX, `[r, None]`, "
        "into the same row of rX; then element by element, row and column change places between rX "
        "and rY; then rows of rY go to gY.",
    ),
    analysis="""
The lanes of a warp lie 8 side by side and 4 below one another. One load of the warp reads four
pieces of 8 × 16 = 128 bytes, one store writes eight pieces of 4 × 16 = 64 bytes: whole sectors in
both directions, 16 a request, which is all that 512 bytes need. No element changes its thread, so
nobody has to wait for anybody. The price is registers: 64 elements in, 64 out, 32 registers each.

It works because 16 bytes are *eight* elements: a square has whole pieces on both sides. With
32-bit elements it is 4 × 4. With 64-bit elements 2 × 2 would do; and for sizes that are no multiple
of eight, the shared tile is still the answer.
""",
    entry="transpose_registers",
    groups=(
        values(
            _case,
            sizes=[(64, 64), (32, 64), (8, 8), (8, 16), (72, 200), (1000, 8), (8, 264)],
            dtypes=("float16", "bfloat16", "int16"),
            rtol=0,
            atol=0,
            misconceptions=[
                left_by(
                    "mX",
                    _own_rows,
                    "the index is right, and the predicate lets threads through whose square does "
                    "not exist: its first row has to be below M, and its first column below N.",
                    tile=(32, 64),
                    block=(32, 1),
                ),
                looks_like(
                    _sizes_exchanged,
                    "squares are stored as if N were the number of rows of X, and M that of its "
                    "columns: are M and N exchanged in the predicate?",
                    unstored=True,
                ),
                looks_like(lambda x, y: x, "the kernel copies: nothing is turned."),
                looks_like(functools.partial(_mirrored, upper=True), _OVERWRITTEN),
                looks_like(functools.partial(_mirrored, upper=False), _OVERWRITTEN),
                looks_like(
                    _squares_in_place,
                    "the squares have changed places, but inside each square nothing is turned: "
                    "between the loads and the stores, row and column change places.",
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
            name="16 bytes an access",
        ),
        counters(
            _case,
            _SIZE,
            [
                Counter(
                    lambda p: p.shared_load_requests + p.shared_store_requests,
                    "requests to shared memory", at_most=0, ideal=0,
                    look_at="Here the square is to be turned in registers, by the thread itself.",
                ),
                Counter(
                    FACTS["barriers"].measure, "arrivals of warps at a barrier", at_most=0, ideal=0,
                    misconceptions=[
                        counted(
                            lambda p: True,
                            "no thread here reads what another one has stored, so there is nothing "
                            "to wait for.",
                        )
                    ],
                    look_at="fk.profile(*{failed})",
                ),
                Counter(
                    _local_accesses, "accesses to local memory", at_most=0, ideal=0,
                    misconceptions=[
                        counted(
                            lambda p: True,
                            "an index into rX or rY is known only at run time, and registers have "
                            "no addresses: the compiler has put the square into local memory. "
                            "Loop with cutlass.range_constexpr.",
                        )
                    ],
                ),
            ],
            "float16",
            name="In registers",
        ),
        economical(_case, [_SIZE], "float16", waste={"threads": 1}),
    ),
    praise="512 bytes a request, and nobody waits.",
)  # fmt: skip
