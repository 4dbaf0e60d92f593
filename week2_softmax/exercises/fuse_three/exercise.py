"""Exercise week2/fuse_three: halve the predicted time of three launches."""

from __future__ import annotations

import math
from typing import Any

import torch

import forgekit as fk
from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import (
    Case,
    clean,
    counted,
    faster_than_given,
    looks_like,
    values,
)

__all__ = ["EXERCISE"]

_UNIT = 16_384 * 512 * 4  # bytes of x in the timed call


def _case(m: int, dtype: torch.dtype) -> Case:
    x = fk.randn(min(m, 4099), 512, device="virtual").repeat(-(-m // 4099), 1)[:m]
    y = fk.empty(m, 512, device="virtual")
    scale = (0.25 + 2**-13, -0.5 - 2**-12, 1.0)[m % 3]  # only the last fits in 16 bits
    x[0::5] += 110 / scale  # exponentials overflow
    x[1::5] -= 110 / scale  # all exponentials are 0
    if scale == 1:
        x[2::5] = -(2.0**127)  # below numbers that often serve as -inf
        x[7::10] = 2.0**127
    x[3::10, 200] += 110 / scale  # an exponential overflows relative to the other elements
    x[8::10, 300] += 110 / scale  # in the lower half of the lanes
    bias = fk.randn(1, 512, seed=5, device="virtual")
    if m == 33:
        bias[0, 40] += 100  # an exponential overflows unless the maximum includes the bias
    specs = {
        0: fk.spec(x, static=[1], align=16),
        1: fk.spec(bias, static=[1], align=16),
        3: fk.spec(y, static=[1], align=16),
    }
    expected = (x.double() * scale + bias).softmax(1)
    return Case((x, bias, scale, y), {3: expected}, f"{m:,}×512", specs)


def _softmax(change: Any) -> Any:
    return lambda x, bias, scale, y: change(x.double(), bias.double(), scale).softmax(1)


EXERCISE = Exercise(
    title="halve the time of three launches",
    task="""
`y[m, :] = softmax(scale · x[m, :] + bias)` for 512-element float32 rows; all rows have the same
bias. Three launches compute it: the first applies scale and bias, the second computes exponentials, and the third divides. Each reads one matrix and writes one, with 16 bytes per lane and whole sectors. Halve the predicted time on an H200 for 16,384
rows: the **whole predicted interval** has to lie below half of the given launches' time. Signature:
`fuse_three(x, bias, scale, y)`. Look at the bounds after each change:

`fk.profile(*fk.exercise("week2/fuse_three").failed, blocks=16).time("H200")`
""",
    hints=(
        "In total, what multiple of x's bytes do the three launches move, and what is the minimum?",
        "Where could the kernel keep a row between two steps, if not in y? Each lane has 16 elements.",
        "In the first two kernels, `write(rY, mY, row)` stores the row from registers to memory, and the next kernel reads it back. `rY` already holds the input of the next step.",
    ),
    analysis="""
Each of the three launches reads one matrix and writes one, so together they move six times the bytes of x. One
launch reads x once and writes y once, which is a third of that. If you fuse only two of the three, the remaining
two launches move four times the bytes of x, and take two thirds of the time. The block size matters less: with one
warp per block, each row reads the bias from L2 again, and the time of one launch rises from 19.5 to 22.8 µs. Then the
interval ends above the limit. (These times are predicted for an H200, not measured.)
""",
    entry="fuse_three",
    groups=(
        values(
            _case,
            sizes=[(1,), (4,), (5,), (8,), (33,), (261,)],
            misconceptions=[
                looks_like(_softmax(lambda x, bias, scale: x + bias), "the scale is missing.", rtol=0.01),
                looks_like(_softmax(lambda x, bias, scale: x * scale), "the bias is missing."),
                looks_like(_softmax(lambda x, bias, scale: (x + bias) * scale),
                           "the bias is scaled as well."),
            ],
        ),
        clean(_case, sizes=[(5,)]),
        faster_than_given(
            _case,
            (16384,),
            beyond=[(24_000,)],
            misconceptions=[
                counted(
                    lambda p: len(p.launches) == 3 and p.global_store_bytes_asked > 2.5 * _UNIT,
                    "there are three launches, each of which reads one matrix and writes one.",
                ),
                counted(
                    lambda p: len(p.launches) == 2 and p.global_store_bytes_asked > 1.5 * _UNIT,
                    "two launches move four times the bytes of x. One more step can stay in "
                    "registers.",
                ),
                counted(
                    lambda p: len(p.launches) > 1,
                    "a row that stays in registers does not survive a launch. One launch can "
                    "compute all three steps.",
                ),
                counted(
                    lambda p: p.global_store_bytes_asked > 1.5 * _UNIT,
                    "it is one launch, but it stores more than y, or stores y more than once.",
                ),
                counted(
                    lambda p: p.global_load_bytes_asked > 3 * _UNIT,
                    "it is one launch, but it reads x more than once.",
                ),
                counted(
                    lambda p: math.prod(p.launches[0].block) == 32,
                    "it is one launch, but of blocks of one warp, so each row reads the bias from L2 "
                    "again. Several warps of a block share it in L1.",
                ),
            ],
        ),
    ),
    praise="A third of the bytes takes about a third of the time.",
)  # fmt: skip
