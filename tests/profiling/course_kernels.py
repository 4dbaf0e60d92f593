"""Define the first measurement's five kernels (transposes, row sums), and two divergent ones."""

import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int32

TILE = 32


@cute.kernel
def t_naive_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    row, col = by * TILE + ty, bx * TILE + tx
    if row < mX.shape[0] and col < mX.shape[1]:
        mY[col, row] = mX[row, col]


@cute.jit
def t_naive(mX: cute.Tensor, mY: cute.Tensor):
    M, N = mX.shape
    grid = (cute.ceil_div(N, TILE), cute.ceil_div(M, TILE), 1)
    t_naive_kernel(mX, mY).launch(grid=grid, block=(TILE, TILE, 1))


@cute.kernel
def t_smem_kernel(mX: cute.Tensor, mY: cute.Tensor, padding: cutlass.Constexpr):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    layout = cute.make_layout((TILE, TILE), stride=(TILE + padding, 1))
    sT = cutlass.memory.SmemAllocator().allocate_tensor(Float32, layout, 128)
    M, N = mX.shape
    row, col = by * TILE + ty, bx * TILE + tx
    if row < M and col < N:
        sT[ty, tx] = mX[row, col]
    cute.arch.sync_threads()
    row, col = bx * TILE + ty, by * TILE + tx
    if row < N and col < M:
        mY[row, col] = sT[tx, ty]


@cute.jit
def t_smem(mX: cute.Tensor, mY: cute.Tensor, padding: cutlass.Constexpr):
    M, N = mX.shape
    grid = (cute.ceil_div(N, TILE), cute.ceil_div(M, TILE), 1)
    t_smem_kernel(mX, mY, padding).launch(grid=grid, block=(TILE, TILE, 1))


@cute.kernel
def r_naive_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row = bidx * 128 + tidx
    if row < mX.shape[0]:
        total = Float32(0.0)
        for c in range(mX.shape[1]):
            total += mX[row, c]
        mY[row] = total


@cute.jit
def r_naive(mX: cute.Tensor, mY: cute.Tensor):
    r_naive_kernel(mX, mY).launch(grid=(cute.ceil_div(mX.shape[0], 128), 1, 1), block=(128, 1, 1))


@cute.kernel
def r_shfl_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    warp, lane = cute.arch.warp_idx(), cute.arch.lane_idx()
    sW = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(4), 16)
    total = Float32(0.0)
    for c in range(tidx, mX.shape[1], 128):
        total += mX[row, c]
    total = cute.arch.warp_reduction_sum(total)
    if lane == 0:
        sW[warp] = total
    cute.arch.sync_threads()
    if warp == 0:
        part = Float32(0.0)
        if lane < 4:
            part = sW[lane]
        part = cute.arch.warp_reduction_sum(part)
        if lane == 0:
            mY[row] = part


@cute.jit
def r_shfl(mX: cute.Tensor, mY: cute.Tensor):
    r_shfl_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(128, 1, 1))


@cute.kernel
def half_warps_kernel(mX: cute.Tensor, mY: cute.Tensor):
    """Load and store four times in half of each warp, and once in the other half."""
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 64 + tidx
    n = mY.shape[0]
    if tidx % 32 < 16:
        total = Float32(0.0)
        for k in cutlass.range(4, unroll=1):
            total += mX[(i + k * 8) % n]
        mY[i] = total
    else:
        mY[i] = mX[i] * 3.0


@cute.jit
def half_warps(mX: cute.Tensor, mY: cute.Tensor):
    half_warps_kernel(mX, mY).launch(grid=(mY.shape[0] // 64, 1, 1), block=(64, 1, 1))


@cute.kernel
def uneven_loops_kernel(mX: cute.Tensor, mY: cute.Tensor):
    """Add up i % 32 + 1 numbers in thread i, so that every lane has a different trip count."""
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 64 + tidx
    total = Int32(0)
    for k in cutlass.range(i % 32 + 1, unroll=1):
        total += mX[k]
    mY[i] = total


@cute.jit
def uneven_loops(mX: cute.Tensor, mY: cute.Tensor):
    uneven_loops_kernel(mX, mY).launch(grid=(mY.shape[0] // 64, 1, 1), block=(64, 1, 1))
