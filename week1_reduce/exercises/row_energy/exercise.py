"""Exercise week1/row_energy: halve the predicted time of a kernel that waits."""

from __future__ import annotations

import torch

import forgekit as fk
from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import (
    Case,
    Misconception,
    clean,
    faster_than_given,
    large_calls,
    looks_like,
    read_at_most,
    values,
)
from forgekit.lessons.gates.asked import as_asked, stated

__all__ = ["EXERCISE"]

_LARGE = (512, 16384)


def _case(m: int, n: int, dtype: torch.dtype) -> Case:
    x, y = fk.randn(m, n, device="virtual"), fk.empty(m, device="virtual")
    expected = (x * x).double().sum(1)
    return Case((x, y), {1: expected}, f"{m:,}×{n:,}", {0: fk.spec(x, divisible={1: 4})})


_SIZES = [(1, 3080), (1, 4), (3, 128), (4, 132), (5, 1000), (2, 1024), (7, 1028), (261, 4)]
_ASKED = {"launches": 1, "doubles": 0}


def _legal(m: int, n: int) -> tuple[int, int]:
    return m, -(-n // 4) * 4


EXERCISE = Exercise(
    title="halve the time of a kernel that waits",
    task="""
The kernel below computes `y[m] = x[m, 0]² + x[m, 1]² + …` in float32, for rows of whole 16-byte
vectors. It loads 16 bytes per lane, in whole sectors, with few instructions per byte, so no
counter shows a fault. Halve its predicted time on an H200 for 512 rows of 16,384 elements, and
still read each element once. The **whole interval** has to lie below half of the given kernel's
time. Look at the bounds after each change:

`fk.profile(*fk.exercise("week1/row_energy").failed, blocks=16).time("H200")`"""
    + stated(_ASKED),
    hints=(
        "512 warps share 132 multiprocessors, and each warp has one load of 512 bytes in flight. How many "
        "bytes does that make per multiprocessor?",
        "Two changes put more bytes in flight: more loads per lane before it adds, or more warps per "
        "row. Which one needs no barrier?",
        "The loop waits on the line that adds. Fill several vectors of registers before that "
        "line, each with its own predicate; two are not enough. `cute.make_rmem_tensor((4, "
        "loads), Float32)` holds `loads` vectors, and `rX[None, k]` is one of them.",
    ),
    analysis="""
With 512 warps in all, each multiprocessor runs about four. Each warp has 512 bytes in
flight, so a multiprocessor has 2 kB of the 14 kB from section 5. The kernel waits about 400 ns
for each of its 128 tiles, while no unit is busy. With eight vectors per lane, it waits only 16
times. One block of eight warps per row works as well: the kernel then has eight times as many
warps, at the cost of a barrier. A different block size does not help, because the number of
warps stays the same. Two vectors halve the waiting but not the launch time, so the interval
still exceeds the limit. (These times are predicted for an H200, not measured.)
""",
    entry="row_energy",
    groups=(
        values(
            _case,
            _SIZES,
            drawn=2,
            legal=_legal,
            misconceptions=[
                looks_like(lambda x, y: x.double().sum(1), "the kernel adds the elements, not "
                           "their squares.", rtol=1e-4),
                looks_like(lambda x, y: (x * x).double().sum(1).sqrt(),
                           "this is the square root of the sum.", rtol=1e-4),
                looks_like(lambda x, y: (x[:, : x.shape[1] // 1024 * 1024] ** 2).double().sum(1),
                           "the sum misses the elements after the last full tile of 1,024.",
                           rtol=1e-4),
                looks_like(lambda x, y: (x.reshape(len(x), -1, 4)[:, ::32] ** 2).double().sum((1, 2)),
                           "the sums of the other 31 lanes are missing from the result.", rtol=1e-4),
            ],
        ),
        clean(_case, sizes=[(5, 1000)]),
        as_asked(lambda: [(_case, (5, 1000), "float32")], _ASKED, ("m", "n")),
        read_at_most(_case, (5, 1000), {0: 1}),
        large_calls(_case, _SIZES, "float32", _legal),
        faster_than_given(
            _case,
            _LARGE,
            beyond=[(1, 300_000)],
            rtol=2e-5,  # a vector of four is 2e-4 of a row
            misconceptions=[
                Misconception(
                    "the number of warps is the same, and a lane still has too few bytes in flight "
                    "while it waits. The size of a block changes neither.",
                    lambda e: e.time.bound == "latency"
                    and e.counts.launches[0].pace[0].warps == _LARGE[0]
                    and e.time.us > 50,
                ),
                Misconception(
                    "the kernel waits less often now, but waiting still bounds it: continue in "
                    "the same direction.",
                    lambda e: e.time.bound == "latency" and e.time.us <= 50,
                ),
            ],
        ),
    ),
    praise="No counter was wrong; too few bytes were in flight.",
)  # fmt: skip
