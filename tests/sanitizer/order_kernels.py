"""Define kernels that test the order of accesses: early exits, shuffles, tickets, several
launches."""

from functools import partial

import cutlass.cute as cute
from cutlass import Int32

from tests.sanitizer.bank import launched
from tests.sanitizer.kernel_parts import by_rows, indices, smem, sync_if


@partial(launched, block=64, grid=2)
@cute.kernel
def barrier_of_one_warp(mX, mY):
    """One warp exits, and the other warp's barrier does not wait for it."""
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    sX = smem(64)
    sX[tidx] = mX[tidx]
    if tidx < 32:
        cute.arch.sync_threads()
        mY[bidx * 32 + tidx] = sX[63 - tidx]


@partial(launched, block=32)
@cute.kernel
def exchange(mX, mY, bug):
    """A shuffle synchronises lanes, but does not order memory accesses."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem(32)
    value = mX[tidx]
    sX[tidx] = value
    sync_if(bug != "shuffles only", cute.arch.sync_warp)
    other = cute.arch.shuffle_sync_bfly(value, offset=1)
    mY[tidx] = sX[31 - tidx] + other


@partial(launched, block=64, grid=by_rows)
@cute.kernel
def ticket(mX, mCount, mY):
    """The block that finishes last resets the counter, without atomics, for the next launch."""
    tidx, bidx = indices()
    blocks, _, _ = cute.arch.grid_dim()
    mY[bidx, tidx] = mX[bidx, tidx]
    cute.arch.sync_threads()
    if tidx == 0:
        cute.arch.fence_acq_rel_gpu()
        ticket = cute.arch.atomic_add(mCount.iterator, Int32(1), sem="acq_rel", scope="gpu")
        if ticket == blocks - 1:
            cute.arch.fence_acq_rel_gpu()
            mCount[0] = 0


@cute.kernel
def double_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    mY[tidx] = 2.0 * mX[tidx]


@cute.jit
def two_launches(mX: cute.Tensor, mT: cute.Tensor, mY: cute.Tensor):
    """The second launch reads the values that the first wrote."""
    double_kernel(mX, mT).launch(grid=(1, 1, 1), block=(64, 1, 1))
    double_kernel(mT, mY).launch(grid=(1, 1, 1), block=(64, 1, 1))


@partial(launched, block=64)
@cute.kernel
def plain_sum(mX, mY):
    tidx, _, _ = cute.arch.thread_idx()
    mY[0] = mY[0] + mX[tidx]
