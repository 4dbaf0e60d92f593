"""Test device memory counted from a sample of blocks, separately for each tensor."""

from __future__ import annotations

import cutlass.cute as cute

import forgekit as fk


@cute.kernel
def biased_kernel(mX: cute.Tensor, mBias: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    mY[row, tidx] = mX[row, tidx] + mBias[tidx]


@cute.jit
def biased(mX: cute.Tensor, mBias: cute.Tensor, mY: cute.Tensor):
    biased_kernel(mX, mBias, mY).launch(grid=(mX.shape[0], 1, 1), block=(64, 1, 1))


def test_a_tensor_that_all_blocks_read_does_not_hide_one_that_each_reads_in_part() -> None:
    x, bias, y = (fk.zeros(*n, device="virtual") for n in ((400, 64), (64,), (400, 64)))
    run = fk.compile(biased, x, bias, y, device="virtual")
    whole, part = fk.profile(run, x, bias, y), fk.profile(run, x, bias, y, blocks=16)
    for name in ("read_sectors", "written_sectors", "read_pairs"):
        every, drawn = (getattr(p.launches[0].pace[1], name) for p in (whole_paced(whole), part))
        assert abs(drawn - every) <= 0.01 * every, name


def whole_paced(p: fk.Profile) -> fk.Profile:
    """Return the profile of a run of all blocks, with the inputs of a predicted time."""
    kernel, args = p.call
    return fk.profile(kernel, *args, blocks=10_000)
