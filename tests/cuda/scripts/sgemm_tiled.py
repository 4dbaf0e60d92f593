"""A tiled float32 GEMM through shared memory, against torch."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

TILE = 16


@cute.kernel
def gemm_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    layout = cute.make_layout((TILE, TILE), stride=(TILE, 1))
    sA = smem.allocate_tensor(cutlass.Float32, layout, 16)
    sB = smem.allocate_tensor(cutlass.Float32, layout, 16)
    gA = cute.local_tile(mA, (TILE, TILE), (by, None))
    gB = cute.local_tile(mB, (TILE, TILE), (None, bx))
    total = cutlass.Float32(0.0)
    for k in range(cute.size(gA, mode=[2])):
        sA[ty, tx] = gA[ty, tx, k]
        sB[ty, tx] = gB[ty, tx, k]
        cute.arch.sync_threads()
        for i in cutlass.range_constexpr(TILE):
            total += sA[ty, i] * sB[i, tx]
        cute.arch.sync_threads()
    cute.local_tile(mC, (TILE, TILE), (by, bx))[ty, tx] = total


@cute.jit
def gemm(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    m, n = mC.shape
    gemm_kernel(mA, mB, mC).launch(grid=(n // TILE, m // TILE, 1), block=(TILE, TILE, 1))


torch.backends.cuda.matmul.allow_tf32 = False
a, b = torch.randn(64, 48, device="cuda"), torch.randn(48, 32, device="cuda")
c = torch.empty(64, 32, device="cuda")
gemm(*(from_dlpack(t) for t in (a, b, c)))
torch.testing.assert_close(c, a @ b, atol=1e-4, rtol=1e-4)
