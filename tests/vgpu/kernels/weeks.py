"""The kernels of weeks 0 to 2, as a student writes them: copy, transpose, sum, softmax."""

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
def transpose_naive_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    M, N = mX.shape
    col = bx * TILE + tx
    for k in cutlass.range_constexpr(TILE // ROWS):
        row = by * TILE + ty + ROWS * k
        if row < M and col < N:
            mY[col, row] = mX[row, col]


@cute.kernel
def transpose_padded_kernel(mX: cute.Tensor, mY: cute.Tensor):
    layout = cute.make_layout((TILE, TILE), stride=(TILE + 1, 1))
    sT = cutlass.memory.SmemAllocator().allocate_tensor(mX.element_type, layout, 16)
    transpose_through(sT, mX, mY)


@cute.kernel
def transpose_swizzled_kernel(mX: cute.Tensor, mY: cute.Tensor):
    plain = cute.make_layout((TILE, TILE), stride=(TILE, 1))
    layout = cute.make_composed_layout(cute.make_swizzle(5, 0, 5), 0, plain)
    sT = cutlass.memory.SmemAllocator().allocate_tensor(mX.element_type, layout, 128)
    transpose_through(sT, mX, mY)


@cute.jit
def transpose_through(sT: cute.Tensor, mX: cute.Tensor, mY: cute.Tensor):
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


def _launch_transpose(kernel, mX, mY):
    M, N = mX.shape
    grid = (cute.ceil_div(N, TILE), cute.ceil_div(M, TILE), 1)
    kernel(mX, mY).launch(grid=grid, block=(TILE, ROWS, 1))


@cute.jit
def transpose_naive(mX: cute.Tensor, mY: cute.Tensor):
    _launch_transpose(transpose_naive_kernel, mX, mY)


@cute.jit
def transpose_padded(mX: cute.Tensor, mY: cute.Tensor):
    _launch_transpose(transpose_padded_kernel, mX, mY)


@cute.jit
def transpose_swizzled(mX: cute.Tensor, mY: cute.Tensor):
    _launch_transpose(transpose_swizzled_kernel, mX, mY)


@cute.kernel
def sum_tree_kernel(mX: cute.Tensor, mY: cute.Tensor):
    """One block a row: each thread sums a strided part, then a tree in shared memory."""
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    sP = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(128), 16)
    total = Float32(0.0)
    for c in range(tidx, mX.shape[1], 128):
        total += mX[row, c].to(Float32)
    sP[tidx] = total
    cute.arch.sync_threads()
    for step in cutlass.range_constexpr(7):
        half = 64 >> step
        if tidx < half:
            sP[tidx] = sP[tidx] + sP[tidx + half]
        cute.arch.sync_threads()
    if tidx == 0:
        mY[row] = sP[0].to(mY.element_type)


@cute.kernel
def sum_shuffle_kernel(mX: cute.Tensor, mY: cute.Tensor):
    """One warp a row, four rows a block."""
    bidx, _, _ = cute.arch.block_idx()
    row = bidx * 4 + cute.arch.warp_idx()
    total = Float32(0.0)
    if row < mX.shape[0]:
        for c in range(cute.arch.lane_idx(), mX.shape[1], 32):
            total += mX[row, c].to(Float32)
        for step in cutlass.range_constexpr(5):
            total += cute.arch.shuffle_sync_bfly(total, offset=16 >> step)
        if cute.arch.lane_idx() == 0:
            mY[row] = total.to(mY.element_type)


@cute.jit
def sum_tree(mX: cute.Tensor, mY: cute.Tensor):
    sum_tree_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(128, 1, 1))


@cute.jit
def sum_shuffle(mX: cute.Tensor, mY: cute.Tensor):
    sum_shuffle_kernel(mX, mY).launch(grid=(cute.ceil_div(mX.shape[0], 4), 1, 1), block=(128, 1, 1))


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
