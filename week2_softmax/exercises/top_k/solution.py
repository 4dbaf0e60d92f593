"""Solution to week2/top_k."""

import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int32


@cute.jit
def insert(rV: cute.Tensor, rI: cute.Tensor, value: Float32, index: Int32):
    """Insert a pair into the four best, rV and rI, in order; drop the last of the five."""
    # [fill]
    for k in cutlass.range_constexpr(4):
        v, i = rV[k], rI[k]
        if value > v or (value == v and index < i):
            rV[k], rI[k] = value, index
            value, index = v, i
    # [/fill]


@cute.kernel
def top_k_kernel(mX: cute.Tensor, mV: cute.Tensor, mI: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row, lane = bidx * 4 + tidx // 32, tidx % 32
    rV = cute.make_rmem_tensor(4, Float32)
    rI = cute.make_rmem_tensor(4, Int32)
    rV.fill(-Float32.inf)
    rI.fill(2**31 - 1)
    if row < mX.shape[0]:
        for n in range(lane, mX.shape[1], 32):
            insert(rV, rI, mX[row, n], n)
        for step in cutlass.range_constexpr(5):
            v = [cute.arch.shuffle_sync_bfly(rV[k], offset=1 << step) for k in range(4)]
            i = [cute.arch.shuffle_sync_bfly(rI[k], offset=1 << step) for k in range(4)]
            for k in cutlass.range_constexpr(4):
                insert(rV, rI, v[k], i[k])
        if lane == 0:
            for k in cutlass.range_constexpr(4):
                mV[row, k] = rV[k]
                mI[row, k] = rI[k]
    # [/fill]


@cute.jit
def top_k(mX: cute.Tensor, mV: cute.Tensor, mI: cute.Tensor):
    # [fill]
    #| pass
    blocks = cute.ceil_div(mX.shape[0], 4)
    top_k_kernel(mX, mV, mI).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
    # [/fill]
