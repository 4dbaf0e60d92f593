"""Define three kernels to time the virtual GPU, in the style of a student of the course.

Each takes one row-major float32 matrix of any size, with `M` rows and `N` columns.
"""

import operator

import cutlass
import cutlass.cute as cute
from cutlass import Float32

TILE = 32  # a tile is 32 x 32 elements; a block of 32 x 8 threads moves it in four steps
STEPS = 4
ROW_THREADS = 128


@cute.kernel
def transpose_kernel(mX: cute.Tensor, mY: cute.Tensor) -> None:
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    # One element of padding per row places a column of the tile in 32 different banks.
    sT = smem.allocate_tensor(Float32, cute.make_layout((TILE, TILE), stride=(TILE + 1, 1)), 16)
    M, N = mX.shape
    column = bx * TILE + tx
    for i in cutlass.range_constexpr(STEPS):
        row = by * TILE + ty + 8 * i
        if row < M and column < N:
            sT[ty + 8 * i, tx] = mX[row, column]
    cute.arch.sync_threads()
    column = by * TILE + tx
    for i in cutlass.range_constexpr(STEPS):
        row = bx * TILE + ty + 8 * i
        if row < N and column < M:
            mY[row, column] = sT[tx, ty + 8 * i]


@cute.jit
def transpose(mX: cute.Tensor, mY: cute.Tensor) -> None:
    """Transpose mX (M, N) to mY (N, M) through a padded tile in shared memory."""
    M, N = mX.shape
    grid = (cute.ceil_div(N, TILE), cute.ceil_div(M, TILE), 1)
    transpose_kernel(mX, mY).launch(grid=grid, block=(TILE, 8, 1))


@cute.kernel
def row_sum_kernel(mX: cute.Tensor, mY: cute.Tensor) -> None:
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sPart = smem.allocate_tensor(Float32, cute.make_layout(ROW_THREADS // 32), 16)
    # warp_idx() contains a shuffle of the whole warp, so it must not be in an `if`
    warp = cute.arch.warp_idx()
    acc = Float32(0.0)
    for column in range(tidx, mX.shape[1], ROW_THREADS):
        acc += mX[row, column]
    acc = cute.arch.warp_reduction_sum(acc)
    if cute.arch.lane_idx() == 0:
        sPart[warp] = acc
    cute.arch.sync_threads()
    if tidx == 0:
        total = Float32(0.0)
        for w in cutlass.range_constexpr(ROW_THREADS // 32):
            total += sPart[w]
        mY[row] = total


@cute.jit
def row_sum(mX: cute.Tensor, mY: cute.Tensor) -> None:
    """Sum each row of mX (M, N) into mY (M,), with one block per row and warp shuffles."""
    row_sum_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(ROW_THREADS, 1, 1))


@cute.jit
def block_reduce(
    value: Float32, sPart: cute.Tensor, warp: cutlass.Int32, op: cutlass.Constexpr
) -> Float32:
    """Combine `value` across the block's threads; every thread receives the result."""
    value = cute.arch.warp_reduction(value, op)
    if cute.arch.lane_idx() == 0:
        sPart[warp] = value
    cute.arch.sync_threads()
    value = sPart[0]
    for w in cutlass.range_constexpr(1, ROW_THREADS // 32):
        value = op(value, sPart[w])
    cute.arch.sync_threads()  # now sPart may be overwritten
    return value


@cute.kernel
def softmax_kernel(mX: cute.Tensor, mY: cute.Tensor) -> None:
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    warp = cute.arch.warp_idx()
    smem = cutlass.memory.SmemAllocator()
    sPart = smem.allocate_tensor(Float32, cute.make_layout(ROW_THREADS // 32), 16)
    N = mX.shape[1]
    largest = Float32(-float("inf"))
    for column in range(tidx, N, ROW_THREADS):
        largest = cute.arch.fmax(largest, mX[row, column])
    largest = block_reduce(largest, sPart, warp, cute.arch.fmax)
    total = Float32(0.0)
    for column in range(tidx, N, ROW_THREADS):
        total += cute.math.exp(mX[row, column] - largest, fastmath=True)
    total = block_reduce(total, sPart, warp, operator.add)
    for column in range(tidx, N, ROW_THREADS):
        mY[row, column] = cute.math.exp(mX[row, column] - largest, fastmath=True) / total


@cute.jit
def softmax(mX: cute.Tensor, mY: cute.Tensor) -> None:
    """Compute the softmax of each row of mX (M, N), with one block per row and three passes."""
    softmax_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(ROW_THREADS, 1, 1))
