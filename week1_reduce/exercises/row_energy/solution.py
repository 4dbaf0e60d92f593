"""Solution to week1/row_energy."""

import operator

import cutlass
import cutlass.cute as cute
from cutlass import Float32


# [fill]
#| @cute.kernel
#| def energy_kernel(mX: cute.Tensor, mY: cute.Tensor):
#|     tidx, _, _ = cute.arch.thread_idx()
#|     bidx, _, _ = cute.arch.block_idx()
#|     row, lane = bidx * 4 + tidx // 32, tidx % 32
#|     if row < mX.shape[0]:
#|         gX = cute.zipped_divide(mX[row, None], (4,))  # ((4),(N/4))
#|         vectors = cute.size(gX, mode=[1])
#|         rX = cute.make_rmem_tensor(4, Float32)
#|         total = Float32(0.0)
#|         for tile in cutlass.range(cute.ceil_div(vectors, 32), unroll=1):
#|             rX.fill(0.0)
#|             if tile * 32 + lane < vectors:
#|                 cute.autovec_copy(gX[(None, tile * 32 + lane)], rX)
#|             total += (rX.load() * rX.load()).reduce(cute.ReductionOp.ADD, 0.0, 0)
#|         total = cute.arch.warp_reduction(total, operator.add)
#|         if lane == 0:
#|             mY[row] = total
#|
#|
#| @cute.jit
#| def row_energy(mX: cute.Tensor, mY: cute.Tensor):
#|     blocks = cute.ceil_div(mX.shape[0], 4)
#|     energy_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
@cute.kernel
def energy_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row, lane = bidx * 4 + tidx // 32, tidx % 32
    if row < mX.shape[0]:
        gX = cute.zipped_divide(mX[row, None], (4,))  # ((4),(N/4))
        vectors = cute.size(gX, mode=[1])
        rX = cute.make_rmem_tensor((4, 8), Float32)
        total = Float32(0.0)
        for tile in cutlass.range(cute.ceil_div(vectors, 256), unroll=1):
            rX.fill(0.0)
            for k in cutlass.range_constexpr(8):
                i = tile * 256 + k * 32 + lane
                if i < vectors:
                    cute.autovec_copy(gX[(None, i)], rX[None, k])
            total += (rX.load() * rX.load()).reduce(cute.ReductionOp.ADD, 0.0, 0)
        total = cute.arch.warp_reduction(total, operator.add)
        if lane == 0:
            mY[row] = total


@cute.jit
def row_energy(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[0], 4)
    energy_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


# [/fill]
