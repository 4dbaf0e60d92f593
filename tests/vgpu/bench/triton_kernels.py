"""Run the operations of `kernels.py` in Triton's interpreter. As a program, this module prints the
times as JSON.

It needs the extra `peers`. Triton reads TRITON_INTERPRET on import, so this module runs in a
separate process with TRITON_INTERPRET=1.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

import torch

os.environ["TRITON_INTERPRET"] = "1"

import triton
import triton.language as tl

from forgekit.benching.timing import best_ms


@triton.jit
def transpose_kernel(x, y, M, N, TILE: tl.constexpr):  # type: ignore[no-untyped-def]
    rows = tl.program_id(1) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(0) * TILE + tl.arange(0, TILE)
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tile = tl.load(x + rows[:, None] * N + columns[None, :], mask=mask)
    tl.store(y + columns[:, None] * M + rows[None, :], tl.trans(tile), mask=tl.trans(mask))


@triton.jit
def row_sum_kernel(x, y, N, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    values = tl.load(x + row * N + columns, mask=columns < N, other=0.0)
    tl.store(y + row, tl.sum(values, axis=0))


@triton.jit
def softmax_kernel(x, y, N, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    values = tl.load(x + row * N + columns, mask=columns < N, other=-float("inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * N + columns, values / tl.sum(values, axis=0), mask=columns < N)


def measure(size: int, repeats: int) -> dict[str, float]:
    """Check the results; return each operation's best time of `repeats` runs, in milliseconds."""
    x = torch.randn(size, size, generator=torch.Generator().manual_seed(0))
    matrix, vector = torch.empty(size, size), torch.empty(size)
    block = triton.next_power_of_2(size)
    tiles = (triton.cdiv(size, 32), triton.cdiv(size, 32))
    runs: dict[str, tuple[Callable[[], object], torch.Tensor, torch.Tensor]] = {
        "transpose": (
            lambda: transpose_kernel[tiles](x, matrix, size, size, TILE=32), matrix, x.T,
        ),
        "row_sum": (
            lambda: row_sum_kernel[(size,)](x, vector, size, BLOCK=block), vector, x.sum(1),
        ),
        "softmax": (
            lambda: softmax_kernel[(size,)](x, matrix, size, BLOCK=block), matrix, x.softmax(1),
        ),
    }  # fmt: skip
    result = {}
    for name, (run, got, expected) in runs.items():
        result[name] = best_ms(run, repeats)
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)
    return result


if __name__ == "__main__":
    print(json.dumps({"triton": triton.__version__, **measure(int(sys.argv[1]), int(sys.argv[2]))}))
