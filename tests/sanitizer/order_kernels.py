"""Kernels about what orders what: barriers left early, shuffles, tickets, several launches."""

import cutlass
import cutlass.cute as cute
from cutlass import Int32

from tests.sanitizer.kernel_parts import smem


@cute.kernel
def barrier_of_one_warp_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem(64)
    sX[tidx] = mX[tidx]
    if tidx < 32:
        cute.arch.sync_threads()
        mY[tidx] = sX[63 - tidx]


@cute.jit
def barrier_of_one_warp(mX: cute.Tensor, mY: cute.Tensor):
    """The other warp leaves, and the barrier does not wait for it."""
    barrier_of_one_warp_kernel(mX, mY).launch(grid=(1, 1, 1), block=(64, 1, 1))


@cute.kernel
def exchange_kernel(mX: cute.Tensor, mY: cute.Tensor, synced: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem(32)
    value = mX[tidx]
    sX[tidx] = value
    if cutlass.const_expr(synced):
        cute.arch.sync_warp()
    other = cute.arch.shuffle_sync_bfly(value, offset=1)
    mY[tidx] = sX[31 - tidx] + other


@cute.jit
def exchange(mX: cute.Tensor, mY: cute.Tensor, synced: cutlass.Constexpr):
    """A shuffle brings lanes together, and orders no memory."""
    exchange_kernel(mX, mY, synced).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.kernel
def ticket_kernel(mX: cute.Tensor, mCount: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    blocks, _, _ = cute.arch.grid_dim()
    mY[bidx, tidx] = mX[bidx, tidx]
    cute.arch.sync_threads()
    if tidx == 0:
        cute.arch.fence_acq_rel_gpu()
        ticket = cute.arch.atomic_add(mCount.iterator, Int32(1), sem="acq_rel", scope="gpu")
        if ticket == blocks - 1:
            cute.arch.fence_acq_rel_gpu()
            mCount[0] = 0


@cute.jit
def ticket(mX: cute.Tensor, mCount: cute.Tensor, mY: cute.Tensor):
    """The block that finishes last resets the counter for the next launch, plainly."""
    ticket_kernel(mX, mCount, mY).launch(grid=(mX.shape[0], 1, 1), block=(64, 1, 1))


@cute.kernel
def double_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    mY[tidx] = 2.0 * mX[tidx]


@cute.jit
def two_launches(mX: cute.Tensor, mT: cute.Tensor, mY: cute.Tensor):
    """The second launch reads what the first wrote."""
    double_kernel(mX, mT).launch(grid=(1, 1, 1), block=(64, 1, 1))
    double_kernel(mT, mY).launch(grid=(1, 1, 1), block=(64, 1, 1))


@cute.kernel
def plain_sum_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    mY[0] = mY[0] + mX[tidx]


@cute.jit
def plain_sum(mX: cute.Tensor, mY: cute.Tensor):
    plain_sum_kernel(mX, mY).launch(grid=(1, 1, 1), block=(64, 1, 1))
