"""Small functions that week 1's notebooks share; each page introduces the ones that it uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import cutlass.cute as cute
import torch
from cutlass import Float32

import forgekit as fk
from forgekit.benching.recorded import Recorded, recorded


# -- compile, check, count ------------------------------------------------------------------------
def whole_vectors(x: torch.Tensor, *rest: Any) -> list[Any]:
    """Return the specs for `fk.compile` that promise rows of whole 16-byte vectors in x, an (M, N)
    tensor; `rest` follows as it is given.
    """
    return [fk.spec(x, divisible={1: 16 // x.element_size()}), *rest]


def cost(run: Any, x: torch.Tensor) -> fk.Profile:
    """Check the row sums that `run(x, y)` leaves in y, also in adversarial schedules, and return
    the profile of one call.
    """
    y = fk.empty(x.shape[0], dtype=x.dtype)
    run(x, y)
    assert fk.check(y, x.double().sum(1), again=lambda: run(x, y))
    return fk.profile(run, x, y)


def instructions_per_kb(p: fk.Profile, x: torch.Tensor) -> float:
    """Return the PTX instructions that the warps executed for 1,024 bytes of x."""
    return 1024 * p.warp_instructions / x.nbytes


def barriers(p: fk.Profile) -> int:
    """Return the barriers that each block went through: PTX has one `bar.sync` for each, which
    every warp executes.
    """
    found = [i for line in p.all_lines for i in line.instructions if i.text.startswith("bar.sync")]
    launch = p.launches[0]
    return sum(i["warp_instructions"] for i in found) // (launch.grid[0] * launch.block[0] // 32)


# -- what a GPU took ------------------------------------------------------------------------------
def recorded_part(
    name: str,
    *,
    shapes: Sequence[tuple[int, int]] = (),
    dtypes: Sequence[str] = ("float32", "float16"),
    steps: Sequence[str] = (),
) -> Recorded:
    """Return the run recorded as `week1/name`, cut down to these shapes, types and steps; an empty
    tuple keeps all of them.
    """
    times = recorded(f"week1/{name}")
    rows = [r for r in times.rows
            if (not shapes or r.shape in shapes) and (not dtypes or r.dtype in dtypes)
            and (not steps or r.step in steps)]  # fmt: skip
    return replace(times, rows=tuple(rows))


# -- kernels that a later page only compares with --------------------------------------------------
@cute.kernel
def thread_a_column_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    col = bidx * 128 + tidx
    if col < mX.shape[1]:
        total = Float32(0.0)
        for m in range(mX.shape[0]):
            total += mX[m, col].to(Float32)
        mY[col] = total.to(mY.element_type)


@cute.jit
def thread_a_column(mX: cute.Tensor, mY: cute.Tensor):
    """Add up the columns of mX (M, N) into mY (N), one thread per column."""
    blocks = cute.ceil_div(mX.shape[1], 128)
    thread_a_column_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


# -- w1b ---
