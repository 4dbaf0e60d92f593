"""Define kernels whose pictures are known: transposes, loops, branches, an overrun."""

import cutlass
from cutlass import Float32, Int32, cute

TILE = 32
ROWS = 8


@cute.kernel
def naive_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    row, col = by * ROWS + ty, bx * TILE + tx
    if row < mX.shape[0] and col < mX.shape[1]:
        mY[col, row] = mX[row, col]


@cute.jit
def naive(mX: cute.Tensor, mY: cute.Tensor):
    M, N = mX.shape
    naive_kernel(mX, mY).launch(
        grid=(cute.ceil_div(N, TILE), cute.ceil_div(M, ROWS), 1), block=(TILE, ROWS, 1)
    )


@cute.kernel
def tiled_kernel(mX: cute.Tensor, mY: cute.Tensor, pad: cutlass.Constexpr):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    layout = cute.make_layout((TILE, TILE), stride=(TILE + pad, 1))
    sT = cutlass.memory.SmemAllocator().allocate_tensor(mX.element_type, layout, 16)
    for k in cutlass.range_constexpr(TILE // ROWS):
        sT[ty + ROWS * k, tx] = mX[by * TILE + ty + ROWS * k, bx * TILE + tx]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(TILE // ROWS):
        mY[bx * TILE + ty + ROWS * k, by * TILE + tx] = sT[tx, ty + ROWS * k]


@cute.jit
def tiled(mX: cute.Tensor, mY: cute.Tensor, pad: cutlass.Constexpr):
    M, N = mX.shape
    tiled_kernel(mX, mY, pad).launch(grid=(N // TILE, M // TILE, 1), block=(TILE, ROWS, 1))


@cute.kernel
def halves_kernel(mX: cute.Tensor, mY: cute.Tensor):
    """Half of each warp runs a loop three times; the other half loads once."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(64), 16)
    if tidx % 32 < 16:
        total = Float32(0.0)
        for k in cutlass.range(3, unroll=1):
            total += mX[tidx + k]
        sX[tidx] = total
    else:
        sX[tidx] = mX[tidx] * 3.0
    cute.arch.sync_threads()
    mY[tidx] = sX[63 - tidx]


@cute.jit
def halves(mX: cute.Tensor, mY: cute.Tensor):
    halves_kernel(mX, mY).launch(grid=(1, 1, 1), block=(64, 1, 1))


@cute.kernel
def late_kernel(mX: cute.Tensor, mY: cute.Tensor, extra: cutlass.Int32):
    """Warp w runs a loop w + extra times; then all threads meet at a barrier."""
    tidx, _, _ = cute.arch.thread_idx()
    warp = cute.arch.warp_idx()
    total = Float32(0.0)
    for k in cutlass.range(warp + extra, unroll=1):
        total += mX[tidx + k]
    cute.arch.sync_threads()
    mY[tidx] = total


@cute.jit
def late(mX: cute.Tensor, mY: cute.Tensor, extra: cutlass.Int32):
    late_kernel(mX, mY, extra).launch(grid=(2, 1, 1), block=(96, 1, 1))


@cute.kernel
def reduce_kernel(mX: cute.Tensor, mY: cute.Tensor):
    """Sum rows by shuffles; lane 0 of each warp adds its sum to the result."""
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    total = mX[row, tidx]
    for step in cutlass.range_constexpr(5):
        total += cute.arch.shuffle_sync_bfly(total, offset=16 >> step)
    if tidx % 32 == 0:
        cute.arch.atomic_add((mY.iterator + row).llvm_ptr, total)


@cute.jit
def reduce(mX: cute.Tensor, mY: cute.Tensor):
    reduce_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(mX.shape[1], 1, 1))


@cute.kernel
def async_kernel(mX: cute.Tensor, mY: cute.Tensor):
    """Copy 16 bytes per thread asynchronously into shared memory, and from there to y."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(128), 128)
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
    gX, sV = cute.zipped_divide(mX, (4,)), cute.zipped_divide(sX, (4,))
    cute.copy(atom, gX[None, tidx], sV[None, tidx])
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(4):
        mY[tidx + 32 * k] = sX[tidx + 32 * k]


@cute.jit
def asynchronous(mX: cute.Tensor, mY: cute.Tensor):
    async_kernel(mX, mY).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.kernel
def overrun_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    cute.printf("hello from %d", tidx)
    i = bidx * 32 + tidx
    mY[i] = mX[i]


@cute.jit
def overrun(mX: cute.Tensor, mY: cute.Tensor):
    """Read past the end of x if its size is not a multiple of 32."""
    blocks = cute.ceil_div(mX.shape[0], 32)
    overrun_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(32, 1, 1))
    overrun_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(32, 1, 1))


@cute.kernel
def count_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    sY = cutlass.memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout(32), 16)
    if tidx < 32:
        sY[tidx] = 0
    cute.arch.sync_threads()
    place = mX[tidx]
    cute.arch.atomic_add((sY.iterator + place).llvm_ptr, Int32(1))
    cute.arch.sync_threads()
    if tidx < 32:
        cute.arch.atomic_add((mY.iterator + sY[tidx] * 0).llvm_ptr, sY[tidx])


@cute.jit
def count(mX: cute.Tensor, mY: cute.Tensor):
    """Compute a histogram in shared memory, and its total in y[0], with atomics in both
    memories."""
    count_kernel(mX, mY).launch(grid=(1, 1, 1), block=(64, 1, 1))


@cute.kernel
def cube_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    if ty < mX.shape[1] and tx < mX.shape[2]:
        mY[bidx, ty, tx] = mX[bidx, ty, tx] + mX[bidx, ty, 0]


@cute.jit
def cube(mX: cute.Tensor, mY: cute.Tensor):
    cube_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(32, 8, 1))


@cute.kernel
def triangle_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    total = Float32(0.0)
    for k in cutlass.range(tidx + 1, unroll=1):
        total += mX[k]
    mY[tidx] = total


@cute.jit
def triangle(mX: cute.Tensor, mY: cute.Tensor):
    """Compute y[i] = x[0] + … + x[i] with one block."""
    triangle_kernel(mX, mY).launch(grid=(1, 1, 1), block=(mX.shape[0], 1, 1))


@cute.kernel
def nested_kernel(mX: cute.Tensor, mY: cute.Tensor, inner: Int32):
    tidx, _, _ = cute.arch.thread_idx()
    total = Float32(0.0)
    for j in cutlass.range(2, unroll=1):
        for k in cutlass.range(inner, unroll=1):
            total += mX[tidx + k * 32]
        mY[tidx + j * 32] = total


@cute.jit
def nested(mX: cute.Tensor, mY: cute.Tensor, inner: Int32):
    """Run a loop of `inner` iterations within a loop of 2."""
    nested_kernel(mX, mY, inner).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.kernel
def streamed_kernel(mX: cute.Tensor, mY: cute.Tensor, buffers: cutlass.Constexpr):
    """Add up a row with one warp, 128 elements at a time, through several buffers of cp.async."""
    lane, _, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(Float32, cute.make_layout((4, 32, buffers)), 16)
    gX = cute.zipped_divide(mX, (4,))
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
    for k in cutlass.range_constexpr(buffers - 1):
        cute.copy(atom, gX[None, k * 32 + lane], sX[None, lane, k])
        cute.arch.cp_async_commit_group()
    total, tiles = Float32(0.0), mX.shape[0] // 128
    for k in cutlass.range(tiles, unroll=1):
        ahead = k + buffers - 1
        if ahead < tiles:
            cute.copy(atom, gX[None, ahead * 32 + lane], sX[None, lane, ahead % buffers])
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(buffers - 1)
        for i in cutlass.range_constexpr(4):
            total += sX[i, lane, k % buffers]
    mY[lane] = total


@cute.jit
def streamed(mX: cute.Tensor, mY: cute.Tensor, buffers: cutlass.Constexpr):
    streamed_kernel(mX, mY, buffers).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.kernel
def shuffled_kernel(mX: cute.Tensor, mY: cute.Tensor, shuffle: cutlass.Constexpr):
    """Store the value that each lane receives when all lanes send their own number, for the offsets
    16, 8, 4, 2, 1."""
    lane = cute.arch.lane_idx()
    for k in cutlass.range_constexpr(5):
        mY[k, lane] = shuffle(mX[lane], offset=16 >> k)


def shuffled(shuffle):
    @cute.jit
    def host(mX: cute.Tensor, mY: cute.Tensor):
        shuffled_kernel(mX, mY, shuffle).launch(grid=(1, 1, 1), block=(32, 1, 1))

    return host
