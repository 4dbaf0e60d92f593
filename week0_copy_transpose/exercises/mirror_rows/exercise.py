"""Exercise week0/mirror_rows: halve the predicted time of a correct kernel."""

from __future__ import annotations

import torch

import forgekit as fk
from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import (
    Case,
    Group,
    Submission,
    clean,
    counted,
    faster_than_given,
    large_calls,
    looks_like,
    values,
)

from ..practice import limited

__all__ = ["EXERCISE"]

_LARGE = (2048, 8192)
_ELEMENTS = _LARGE[0] * _LARGE[1]


def _case(m: int, n: int, dtype: torch.dtype) -> Case:
    x, y = (make(m, n, dtype=dtype, device="virtual") for make in (fk.randn, fk.empty))
    spec = fk.spec(x, divisible={1: 8}, align=16)
    return Case((x, y), {1: x.flip(1)}, f"{m:,}×{n:,} float16", {0: spec, 1: spec})


def _mirrored_in_vectors(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.reshape(len(x), -1, 8).flip(2).reshape(x.shape)


def _legal(m: int, n: int) -> tuple[int, int]:
    """Return a size whose rows are whole vectors."""
    return m, -(-n // 8) * 8


_FAST = faster_than_given(
    _case,
    _LARGE,
    "float16",
    misconceptions=[
        counted(
            lambda p: (
                p.global_load_requests >= _ELEMENTS // 32
                and p.launches[0].grid[0] * p.launches[0].block[0] >= _ELEMENTS
            ),
            "each thread still moves one element of 2 bytes, as in the given kernel. The "
            "size of a block changes the number of blocks, but not the bytes that a "
            "thread requests.",
        ),
        counted(
            lambda p: p.global_load_requests >= _ELEMENTS // 32,
            "a thread moves several elements now, but a load still fetches 2 bytes per lane "
            "where it could fetch 16.",
        ),
        counted(
            lambda p: p.global_store_requests > p.global_load_requests,
            "the loads are wider than the stores now: a store moves fewer bytes per request.",
        ),
    ],
)


EXERCISE = Exercise(
    title="halve a predicted time",
    task="""
`mirror_rows` reverses each row of a float16 matrix: `y[m, n] = x[m, N - 1 - n]`. N is a multiple of
8, and addresses are multiples of 16 bytes. The kernel below is correct, and `fk.profile` reports
two sectors per request, the ideal number. Its predicted time for 2,048 × 8,192 on an H200 is 54
µs, bound by the start of blocks. Halve this time. The **whole interval** must be below half of 54
µs, so a small gain is not enough. If the grader stops at the predicted time, this line shows all
bounds of your kernel:

`fk.profile(*fk.exercise("week0/mirror_rows").failed, blocks=64).time("H200")`
""",
    hints=(
        "Which bound is the longest, and which is the second longest? If a change shortens only "
        "the longest, the second remains.",
        "A single change can give you fewer blocks, fewer instructions and more bytes in flight: "
        "let each access of a thread move more bytes. How many bytes can one access move?",
        "Instead of the line with `mX[row, col]`, use `zipped_divide` to give each thread a "
        "vector of 8 elements. Mirror the position of the vector in its row, and mirror the "
        "elements inside the vector in registers, as in section 2.",
    ),
    analysis="""
The given kernel starts 65,536 blocks, which alone takes 39 µs, while memory needs only 13 µs for
the bytes. Larger blocks do not help. With 1,024 threads per block, the start of blocks takes 10 µs,
but latency takes 63 µs, because a thread requests only two bytes and a new block cannot start until
the last warp of an old one has ended. A two-dimensional grid removes the divisions, which saves
only 3 of the 54 µs. Vectors shorten all three bounds, with an eighth as many blocks, an eighth as
many instructions, and eight times as many bytes in flight. Then device memory is the bound, and no
kernel that moves these bytes can be faster. (All these times are predicted for an H200, not
measured.)
""",
    entry="mirror_rows",
    groups=(
        values(
            _case,
            sizes=[(1, 8), (2, 16), (3, 24), (1, 2048), (5, 264), (33, 1000), (2100, 8), (7, 4104)],
            dtypes=("float16",),
            rtol=0,
            atol=0,
            drawn=2,
            legal=lambda m, n: (m, -(-limited(m, n)[1] // 8) * 8),
            misconceptions=[
                looks_like(_mirrored_in_vectors, "each vector is reversed but not moved. Vector v of a row belongs at vector position N / 8 - 1 - v."),
                looks_like(lambda x, y: _mirrored_in_vectors(x, y).flip(1),
                           "the vectors have changed places, but the elements inside each vector "
                           "keep their old order."),
                looks_like(lambda x, y: x, "in this call, y equals x."),
            ],
        ),
        clean(_case, sizes=[(5, 264)], dtype="float16"),
        _FAST,
        large_calls(_case, [(1, 8)], "float16", _legal),
    ),
    praise="The whole interval is below half of the given time.",
)  # fmt: skip
