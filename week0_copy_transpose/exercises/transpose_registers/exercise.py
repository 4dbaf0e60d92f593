"""Exercise week0/transpose_registers: 16-byte accesses on both sides, without shared memory."""

from __future__ import annotations

import functools
from typing import Any

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import Counter, clean, counted, counters, looks_like, values

from ..transposing import case, race_mistakes, sectors

__all__ = ["EXERCISE"]

_SIZE = (96, 128)
_FEWEST = 96 * 128 * 2 // (32 * 16)  # requests: 32 lanes of 16 bytes
_case = functools.partial(case, multiple=8)


def _local_accesses(profile: Any) -> float:
    """Instructions of the PTX that go to local memory."""
    ptx = profile.call[0].on_virtual_gpu().ptx
    return float(ptx.count("ld.local") + ptx.count("st.local"))


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


_OVERWRITTEN = (
    "elements are overwritten before they are read: the square is turned within one tensor. It "
    "takes a second tensor `rY`."
)


def _requests(kind: str) -> Counter:
    verb = {"load": "reads", "store": "writes"}[kind]
    return Counter(
        f"global_{kind}_requests", f"{kind} requests", at_most=_FEWEST, ideal=_FEWEST,
        slips=[
            counted(
                lambda p: p[f"global_{kind}_requests"] == 8 * _FEWEST,
                f"each lane {verb} 2 bytes at a time. Eight elements side by side are one access "
                f"of 16 bytes if cute.autovec_copy is given all of a row, `[r, None]`, and the row "
                f"lies side by side in registers, too (stride 1).",
            ),
        ],
        look_at=(
            "How wide is an access? Paste this:\n"
            "x = fk.randn(96, 128, dtype=torch.float16);\n"
            "y = fk.empty(128, 96, dtype=torch.float16);\n"
            "run = fk.compile(transpose_registers, *eights(x, y));\n"
            f"fk.coalescing(run, x, y, kind='{kind}')"
        ),
    )  # fmt: skip


EXERCISE = Exercise(
    title="turn 8 × 8 elements in registers",
    task="""
Transpose a 16-bit matrix whose sides are multiples of 8, without shared memory and without a
barrier. Each thread has a square of 8 × 8 elements, and in the skeleton carries it to its place in
Y, as it is: each row is loaded into registers with 16 bytes at once, and stored likewise. Turn the
square on the way; loads and stores are to stay as wide as they are.
""",
    hints=(
        "Make a second tensor of registers, rY, as rX was made. Three loops: rows of gX into rX, "
        "elements of rX into rY, rows of rY into gY.",
        "`gX[r, None]` is row r of the square, eight elements side by side. Registers have no "
        "addresses, so an index into rX has to be known when the kernel is compiled: loop with "
        "`cutlass.range_constexpr(8)`.",
        "`cute.autovec_copy(gX[r, None], rX[r, None])`, then `rY[c, r] = rX[r, c]`, then "
        "`cute.autovec_copy(rY[c, None], gY[c, None])`.",
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
            slips=[
                looks_like(lambda x, y: x, "the kernel still copies."),
                looks_like(functools.partial(_mirrored, upper=True), _OVERWRITTEN),
                looks_like(functools.partial(_mirrored, upper=False), _OVERWRITTEN),
                looks_like(
                    _squares_in_place,
                    "the squares have changed places, but inside each square nothing is turned: "
                    "between the loads and the stores, row and column change places.",
                ),
            ],
            look_at="Try it on one square:\n"
            "x = fk.arange(64, dtype=torch.float16).reshape(8, 8);\n"
            "y = fk.empty(8, 8, dtype=torch.float16);\n"
            "fk.compile(transpose_registers, *eights(x, y))(x, y); print(y)",
        ),
        clean(_case, sizes=[(40, 72)], dtype="float16", slips=race_mistakes()),
        counters(
            _case,
            _SIZE,
            [
                _requests("load"),
                _requests("store"),
                sectors("global_load", *_SIZE, 16),
                sectors("global_store", *_SIZE, 16),
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
                    _local_accesses, "accesses to local memory in the PTX", at_most=0, ideal=0,
                    slips=[
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
    ),
    praise="512 bytes a request, and nobody waits.",
)  # fmt: skip
