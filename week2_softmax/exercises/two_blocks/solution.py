"""Solution to week2/two_blocks."""

import operator

import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int32, Int64


@cute.kernel
def two_blocks_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    rank, row = bidx % 2, bidx // 2
    smem = cutlass.memory.SmemAllocator()
    sPart = smem.allocate_tensor(Float32, cute.make_layout((2, 4)), 8)
    mbar = smem.allocate_tensor(Int64, cute.make_layout(1), 8).iterator
    if tidx == 0:
        cute.arch.mbarrier_init(mbar, 1)
        cute.arch.mbarrier_arrive_and_expect_tx(mbar, 4 * 8)
    cute.arch.mbarrier_init_fence()
    cute.arch.cluster_arrive_relaxed()
    gX = cute.zipped_divide(mX[row, None], (4,))  # ((4),(Rest))
    gY = cute.zipped_divide(mY[row, None], (4,))  # ((4),(Rest))
    v = rank * 64 + tidx
    rX = cute.make_rmem_tensor(4, Float32)
    rX.fill(-Float32.inf)
    if v < cute.size(gX, mode=[1]):
        cute.autovec_copy(gX[None, v], rX)
    x = rX.load()
    m = x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)
    m = cute.arch.warp_reduction(m, cute.arch.fmax)
    shift = Float32(0.0) if m == -Float32.inf else m
    s = cute.math.exp(x - shift, fastmath=True).reduce(cute.ReductionOp.ADD, 0.0, 0)
    s = cute.arch.warp_reduction(s, operator.add)
    lane, warp = tidx % 32, cute.arch.warp_idx()
    mine = (sPart.iterator + 2 * (rank * 2 + warp)).align(8)
    cute.arch.cluster_wait()
    if lane < 2:
        cute.arch.store_async_dsmem(mine, (m.bitcast(Int32), s.bitcast(Int32)), mbar, lane)
    cute.arch.mbarrier_wait(mbar, 0)
    m, s = sPart[0, lane % 4], sPart[1, lane % 4]
    m_row = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=4)
    s *= cute.math.exp(m - m_row, fastmath=True)
    s = cute.arch.warp_reduction(s, operator.add, threads_in_group=4)
    rX.store(cute.math.exp(x - m_row, fastmath=True) * (1.0 / s))
    if v < cute.size(gX, mode=[1]):
        cute.autovec_copy(rX, gY[None, v])
    # [/fill]


@cute.jit
def two_blocks(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    two_blocks_kernel(mX, mY).launch(
        grid=(mX.shape[0] * 2, 1, 1), block=(64, 1, 1), cluster=(2, 1, 1)
    )
    # [/fill]
