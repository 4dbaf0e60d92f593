"""Solution to week2/cluster_logsumexp."""

import operator

import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int32, Int64


@cute.kernel
def cluster_logsumexp_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    rank, row = bidx % 4, bidx // 4
    smem = cutlass.memory.SmemAllocator()
    sPart = smem.allocate_tensor(Float32, cute.make_layout((2, 16)), 8)
    mbar = smem.allocate_tensor(Int64, cute.make_layout(1), 8).iterator
    if rank == 0 and tidx == 0:
        cute.arch.mbarrier_init(mbar, 1)
        cute.arch.mbarrier_arrive_and_expect_tx(mbar, 16 * 8)
    cute.arch.mbarrier_init_fence()
    cute.arch.cluster_arrive_relaxed()
    m, s = -Float32.inf, Float32(0.0)
    for n in range(rank * 128 + tidx, mX.shape[1], 512):
        m_new = cute.arch.fmax(m, mX[row, n])
        added = cute.math.exp(mX[row, n] - m_new, fastmath=True)
        s = s * cute.math.exp(m - m_new, fastmath=True) + added
        m = m_new
    m_warp = cute.arch.warp_reduction(m, cute.arch.fmax)
    if m < m_warp:
        s *= cute.math.exp(m - m_warp, fastmath=True)
    s = cute.arch.warp_reduction(s, operator.add)
    mine = (sPart.iterator + 2 * (rank * 4 + cute.arch.warp_idx())).align(8)
    cute.arch.cluster_wait()
    if tidx % 32 == 0:
        pair = (m_warp.bitcast(Int32), s.bitcast(Int32))
        cute.arch.store_async_dsmem(mine, pair, mbar, 0)
    if rank == 0 and tidx < 32:
        cute.arch.mbarrier_wait(mbar, 0)
        m, s = sPart[0, tidx % 16], sPart[1, tidx % 16]
        m_row = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=16)
        s *= cute.math.exp(m - m_row, fastmath=True)
        s = cute.arch.warp_reduction(s, operator.add, threads_in_group=16)
        if tidx == 0:
            mY[row] = m_row + cute.math.log(s, fastmath=True)
    # [/fill]


@cute.jit
def cluster_logsumexp(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    cluster_logsumexp_kernel(mX, mY).launch(
        grid=(mX.shape[0] * 4, 1, 1), block=(128, 1, 1), cluster=(4, 1, 1)
    )
    # [/fill]
