"""Exercise week0/add_predicated: a tiled copy with one predicate for each vector."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

import forgekit as fk
from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import (
    Case,
    Counter,
    Evidence,
    GateError,
    Group,
    Misconception,
    clean,
    counted,
    counters,
    economical,
    found,
    looks_like,
    values,
)
from forgekit.lessons.gates.asked import FACTS

from ..practice import limited

if TYPE_CHECKING:
    from forgekit.lessons.gates import Submission
    from forgekit.profiling.profile import Profile

__all__ = ["EXERCISE"]

_GAPS = 16, 24, 32  # elements between two rows of x, y and z that belong to neither
# by size; float16 does not hold them, and the second is no multiple of 1/1,024
_A = 2.5 + 2**-10, -3.5 - 5 * 2**-12, 3.0 + 2**-10


def _case(m: int, n: int, dtype: torch.dtype) -> Case:
    if dtype == torch.float32 and n % 16 == 8 and n > 8:
        n -= 4  # whole vectors of 4, but not of 8

    def tensor(make: Callable[..., torch.Tensor], gap: int, **options: int) -> torch.Tensor:
        return make(m, n + gap, dtype=dtype, device="virtual", **options)[:, :n]

    x, y, z = (
        tensor(make, gap, **seed)
        for make, gap, seed in zip(
            (fk.randn, fk.randn, fk.empty), _GAPS, ({}, {"seed": 1}, {}), strict=True
        )
    )
    vec, a = 16 // x.element_size(), _A[(m + n) % 3] if m % 100 else 0.0  # 0 * ∞ is NaN
    if m > 100:
        x[7::101, 3], x[11, 5], x[13, 6], y[13, 6] = torch.inf, -torch.inf, torch.inf, torch.nan
        y[17::101, 0] = torch.nan
    if dtype == torch.float16:
        # a * x alone is beyond float16
        x[0, 0], y[0, 0] = 30_000, math.copysign(60_000, -a)
    elif m > 30:
        x[1, 1] = 1e6  # the result is beyond float16
    return Case(
        (x, y, z, a),
        {2: a * x.float() + y.float()},
        f"{m}×{n} {str(dtype).removeprefix('torch.')} (rows of x {n + _GAPS[0]} elements apart, a = {a:g})",
        specs={k: fk.spec(t, divisible={1: vec}) for k, t in enumerate((x, y, z))},
        tile=(16, 32 * vec),
        tolerances={} if vec == 4 else {"rtol": torch.finfo(dtype).eps / 2 + 2e-5},  # rounded once
    )


def _unguarded(verb: str, says: str) -> Misconception:
    """Recognise a stopped line that is a whole copy without a predicate."""

    def when(e: Evidence) -> bool:
        line = e.text.partition("\n")[0]
        copy = line.partition("cute.copy(")[2]
        whole = bool(copy) and copy.count("(") < copy.count(")")  # not continued on the next line
        plain = whole and "pred" not in copy and "*" not in copy
        return "out-of-bounds" in e.kinds and plain and f" {verb} m" in e.text

    return Misconception(says, when)


def _outside(e: Evidence) -> tuple[set[int], set[int]]:
    """Return the rows below the matrix, and the columns beyond its right edge, in which accessed
    vectors begin."""
    assert e.error is not None and e.error.overrun is not None
    m, n = e.case.args[0].shape
    rows, columns = divmod(e.error.overrun.numbers, e.error.overrun.strides[0])
    return {int(r) for r in rows if r >= m}, {int(c) for c in columns if c >= n}


def _mode(rows: bool) -> list[Misconception]:
    """Return the mistakes of a case in which only rows, or only columns, are beyond the matrix."""
    mode, other = ("row", "columns") if rows else ("column", "rows")

    def here(e: Evidence) -> bool:
        m, n = e.case.args[0].shape
        return (n if rows else m) % e.case.tile[1 if rows else 0] == 0

    def one_too_many(e: Evidence) -> bool:
        reached = _outside(e)[0 if rows else 1]
        return here(e) and reached == {e.case.args[0].shape[0 if rows else 1]}

    def of_another(e: Evidence) -> bool:
        beyond = _outside(e)[0]  # only of threads that left the matrix
        return bool(here(e) and rows and e.case.args[0].shape[0] % 4 and beyond)

    return [
        Misconception("a matrix with 4 rows passes, because there a thread's four vectors are all inside or all outside. Here they differ, so the predicate of vector `v` must check the coordinate of vector `v`.", of_another),
        Misconception(f"the predicate lets the {mode} after the last one through. The last {mode} is number size - 1.", one_too_many),
        Misconception(f"the {other} of this matrix fill the tiles, but the predicate lets {mode}s beyond the last one through. It must hold only where the {mode} is less than the number of {mode}s.", lambda e: here(e) and
             bool(_outside(e)[0 if rows else 1])),
    ]  # fmt: skip


def _sizes_exchanged(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, a: float) -> torch.Tensor:
    m, n = x.shape
    row, column = torch.arange(m)[:, None], torch.arange(n)[None]
    return torch.where((row < n) & (column < m), a * x.float() + y.float(), float("nan"))


def _overflowed(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, a: float) -> torch.Tensor:
    assert x.dtype == torch.float16
    return (a * x.float()).half().float() + y.float()


def _vectors(m: int, n: int, vec: int) -> list[Counter]:
    """Count loads and stores of 16 bytes per lane; a warp moves a part of a row of n elements."""
    return [_moved(kind, times, m, n, vec) for kind, times in (("load", 2), ("store", 1))]


def _moved(kind: str, times: int, m: int, n: int, vec: int) -> Counter:
    fewest = times * m * -(-n // (32 * vec))
    once = times * m * n * (16 // vec)
    twice = "the kernel moves some elements more than once."
    scalar = (
        "the kernel moves some elements one by one. `cute.copy` with `tiled_copy` moves 16 bytes "
    )
    scalar += "per access, with one predicate for the whole vector."
    narrow = "an access moves fewer than 16 bytes per lane, or some lanes of a warp move nothing."

    def one_by_one(p: Profile) -> bool:
        each = (i for line in p.all_lines for i in line.instructions)
        most = 1.5 * 16 / vec
        return any(
            0 < i[f"global_{kind}_bytes_asked"] < most * i["thread_instructions"] for i in each
        )

    return Counter(
        measure=f"global_{kind}_requests",
        called=f"{kind} requests",
        at_most=fewest * 3 // 2,
        ideal=fewest,
        misconceptions=[
            counted(lambda p: p[f"global_{kind}_bytes_asked"] > 1.01 * once, twice),
            counted(one_by_one, scalar),
            counted(lambda p: True, narrow),
        ],
    )


def _values() -> Group:
    """Return the gate on values; for wrong numbers it advises arithmetic instead of a footprint."""
    gate = values(
        _case,
        sizes=[(16, 256), (4, 256), (5, 256), (16, 264), (3, 8), (2100, 8), (3, 4200), (37, 200)],
        drawn=2, legal=lambda m, n: (m, -(-limited(m, n)[1] // 8) * 8),
        dtypes=("float32", "float16", "bfloat16"),
        misconceptions=[
            looks_like(lambda x, y, z, a: x, "z equals `x`."),
            looks_like(lambda x, y, z, a: a * x.float(), "z is `a * x`, without `y`."),
            looks_like(lambda x, y, z, a: x.float() + y.float(), "z is `x + y`, without `a`."),
            looks_like(lambda x, y, z, a: x.float() + a * y.float(), "z is `x + a * y`: the factor belongs to `x`."),
            looks_like(lambda x, y, z, a: a * (x.float() + y.float()), "z is `a * (x + y)`: `a` multiplies only `x`."),
            looks_like(_sizes_exchanged, "the sizes are swapped: the predicate compares the row with the number of columns, and the column with the number of rows.", unstored=True),
            looks_like(_overflowed, "z is what a product rounded to float16 gives, which cannot represent it. Convert both matrices to Float32 first, and convert back only once, at the end."),
            _unguarded("reads", "this load has no predicate, so it also loads vectors outside the matrix. Every copy needs `pred=tXpX`."),
            _unguarded("writes", "the loads stay inside the matrix, but the store has no predicate. It also needs `pred=tXpX`."),
            *_mode(rows=True),
            *_mode(rows=False),
            found("out-of-bounds", "the predicate is true for vectors outside the matrix."),
        ],
        look_at="fk.footprint(*{failed}, tensor='mX')  # print tXcX[(0, v), 0, 0] with cute.printf"
        " to compare",
    )  # fmt: skip

    def run(submission: Submission) -> str:
        try:
            return gate.run(submission)
        except GateError as failure:
            if "the result is wrong" in failure.happened and "NaN" not in failure.happened:
                failure.look_at = (
                    "{failed}.show() repeats this call. Compute `a * x + y` of one wrong element "
                    "by hand, in Float32: which of your steps gives a different number?"
                )
            raise

    return Group("Values", run)


EXERCISE = Exercise(
    title="add two matrices with a tiled copy",
    task="""
Compute `z = a * x + y` in three types, for matrices of any size whose rows consist of whole
vectors. The skeleton contains the partitions, the registers and the tensor `tXpX`, with one
predicate for each of a thread's 4 vectors. Fill in the predicates, load both matrices, compute in
`Float32`, and store. The given kernel only copies `x`, and only works if the tiles fit the matrix
exactly.

There may be gaps between rows, because each matrix can be a part of a wider one, so you cannot treat
it as one long array. In the tests, for example, rows of 256 elements start 272 elements apart in `x`,
280 in `y` and 288 in `z`, and the reported sizes include the gaps. Elements may be infinite or NaN.
Signature: `add_predicated(x, y, z, a)`.
""",
    hints=(
        "`copy_tiled` above does everything except the arithmetic. The coordinate of a thread's "
        "vector `v` is that of its first element, `tXcX[(0, v), 0, 0]`.",
        "`tXrX.load()` returns all of a thread's values, and `.to(Float32)` converts them. You "
        "can compute with the result as with a single number. Convert the sum with "
        "`.to(gZ.element_type)`, and write it back to registers with `tXrX.store(…)`.",
        "You need seven lines. The first two are a loop over the 4 vectors that sets `tXpX[v, 0, "
        "0]` to true if each entry of the vector's coordinate is less than the matching entry of "
        "`shape`. Then write two loads, one line of arithmetic, and two lines that store the "
        "result. Pass the predicates to all three copies.",
    ),
    analysis="""
One predicate per vector is enough, because rows consist of whole vectors. A vector is either inside
or outside the matrix, and never crosses the edge. The registers of vectors that were not loaded
contain arbitrary values. Arithmetic on them does no harm, because the store has the same predicate.

The kernel computes the sum in `Float32` and rounds only once, at the end. In `float16`, a product
such as 3 × 30,000 would be infinite even if the final sum were not.
""",
    entry="add_predicated",
    groups=(
        _values(),
        clean(_case, sizes=[(37, 200)]),
        counters(_case, (64, 512), _vectors(64, 512, 4), name="16 bytes at once"),
        counters(_case, (37, 200), _vectors(37, 200, 8), "float16", name="16 bytes at the edges"),
        counters(_case, (37, 200), _vectors(37, 200, 8), "bfloat16", name="16 bytes in bfloat16"),
        counters(
            _case,
            (37, 200),
            [Counter(FACTS["doubles"].measure, "float64 instructions per warp", at_most=0, ideal=0)],
            name="In float32",
        ),
        economical(_case, [(16, 256), (64, 1024)], waste={"threads": 1}),
    ),
    praise="The kernel uses full-width accesses up to the edges of any matrix.",
)  # fmt: skip
