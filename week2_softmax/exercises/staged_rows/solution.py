"""Solution to week2/staged_rows."""

import operator

import cutlass
import cutlass.cute as cute
from cutlass import Float32
from cutlass.cute.nvgpu import cpasync


@cute.kernel
def staged_rows_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    lane, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(Float32, cute.make_layout((4, 32, 8)), 16)
    tXsX = sX[None, lane, None]  # (4,8)
    gX = cute.zipped_divide(mX[row, None], (4,))  # ((4),(Rest))
    gY = cute.zipped_divide(mY[row, None], (4,))  # ((4),(Rest))
    vectors = cute.size(gX, mode=[1])
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
    for k in cutlass.range_constexpr(8):
        if k * 32 + lane < vectors:
            cute.copy(atom, gX[None, k * 32 + lane], tXsX[None, k])
        cute.arch.cp_async_commit_group()
    m, s = -Float32.inf, Float32(0.0)
    for k in cutlass.range_constexpr(8):
        cute.arch.cp_async_wait_group(7 - k)
        if k * 32 + lane < vectors:
            x = tXsX[None, k].load()
            m_new = cute.arch.fmax(m, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))
            added = cute.math.exp(x - m_new, fastmath=True).reduce(cute.ReductionOp.ADD, 0.0, 0)
            s = s * cute.math.exp(m - m_new, fastmath=True) + added
            m = m_new
    m_row = cute.arch.warp_reduction(m, cute.arch.fmax)
    s = cute.arch.warp_reduction(s * cute.math.exp(m - m_row, fastmath=True), operator.add)
    rY = cute.make_rmem_tensor(4, Float32)
    for k in cutlass.range_constexpr(8):
        if k * 32 + lane < vectors:
            rY.store(cute.math.exp(tXsX[None, k].load() - m_row, fastmath=True) * (1.0 / s))
            cute.autovec_copy(rY, gY[None, k * 32 + lane])
    # [/fill]


@cute.jit
def staged_rows(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    staged_rows_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(32, 1, 1))
    # [/fill]
