"""Kernels of weeks 0 and 2, as a student writes them: copy, transpose, softmax.

Those that forgekit itself offers run in tests/kernels.
"""

import cutlass
from cutlass import Float32, cute

TILE = 32
ROWS = 8  # threads of a block in y; each does TILE // ROWS rows


@cute.kernel
def copy_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 128 + tidx
    if i < cute.size(mX):
        mY[i] = mX[i]


@cute.jit
def copy(mX: cute.Tensor, mY: cute.Tensor):
    n = cute.size(mX)
    if n > 0:
        copy_kernel(mX, mY).launch(grid=[cute.ceil_div(n, 128), 1, 1], block=[128, 1, 1])


@cute.kernel
def transpose_kernel(mX: cute.Tensor, mY: cute.Tensor):
    layout = cute.make_layout((TILE, TILE), stride=(TILE + 1, 1))
    sT = cutlass.memory.SmemAllocator().allocate_tensor(mX.element_type, layout, 16)
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    M, N = mX.shape
    for k in cutlass.range_constexpr(TILE // ROWS):
        row, col = by * TILE + ty + ROWS * k, bx * TILE + tx
        if row < M and col < N:
            sT[ty + ROWS * k, tx] = mX[row, col]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(TILE // ROWS):
        row, col = bx * TILE + ty + ROWS * k, by * TILE + tx
        if row < N and col < M:
            mY[row, col] = sT[tx, ty + ROWS * k]


@cute.jit
def transpose(mX: cute.Tensor, mY: cute.Tensor):
    M, N = mX.shape
    grid = (cute.ceil_div(N, TILE), cute.ceil_div(M, TILE), 1)
    transpose_kernel(mX, mY).launch(grid=grid, block=(TILE, ROWS, 1))


@cute.kernel
def softmax_kernel(mX: cute.Tensor, mY: cute.Tensor):
    """One warp a row, four rows a block; three passes over the row."""
    bidx, _, _ = cute.arch.block_idx()
    lane = cute.arch.lane_idx()
    row = bidx * 4 + cute.arch.warp_idx()
    M, N = mX.shape
    if row < M:
        top = Float32(-float("inf"))
        for c in range(lane, N, 32):
            top = cute.arch.fmax(top, mX[row, c].to(Float32))
        top = cute.arch.warp_reduction_max(top)
        total = Float32(0.0)
        for c in range(lane, N, 32):
            total += cute.math.exp(mX[row, c].to(Float32) - top, fastmath=True)
        total = cute.arch.warp_reduction_sum(total)
        for c in range(lane, N, 32):
            e = cute.math.exp(mX[row, c].to(Float32) - top, fastmath=True)
            mY[row, c] = (e / total).to(mY.element_type)


@cute.jit
def softmax(mX: cute.Tensor, mY: cute.Tensor):
    softmax_kernel(mX, mY).launch(grid=(cute.ceil_div(mX.shape[0], 4), 1, 1), block=(128, 1, 1))
