"""Two stages of cp.async: the next tile is on its way while this one is summed."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

THREADS, TILE = 32, 128


@cute.kernel
def sum_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(cutlass.Float32, cute.make_layout((TILE, 2)), 16)
    gX = cute.local_tile(mX[row, None], (TILE,), (None,))
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout(THREADS), cute.make_layout(4))
    part = tiled.get_slice(tidx)
    tXgX, tXsX = part.partition_S(gX), part.partition_D(sX)
    tiles = cute.size(gX, mode=[1])
    cute.copy(tiled, tXgX[None, None, 0], tXsX[None, None, 0])
    cute.arch.cp_async_commit_group()
    total = cutlass.Float32(0.0)
    for t in range(tiles):
        if t + 1 < tiles:
            cute.copy(tiled, tXgX[None, None, t + 1], tXsX[None, None, (t + 1) % 2])
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(1)
        cute.arch.sync_threads()
        for i in cutlass.range_constexpr(TILE // THREADS):
            total += sX[tidx + i * THREADS, t % 2]
        cute.arch.sync_threads()
    total = cute.arch.warp_reduction_sum(total)
    if tidx == 0:
        mY[row] = total


@cute.jit
def row_sum(mX: cute.Tensor, mY: cute.Tensor):
    sum_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(THREADS, 1, 1))


x, y = torch.rand(3, 5 * TILE, device="cuda"), torch.empty(3, device="cuda")
row_sum(from_dlpack(x, assumed_align=16), from_dlpack(y))
torch.testing.assert_close(y, x.sum(1))
