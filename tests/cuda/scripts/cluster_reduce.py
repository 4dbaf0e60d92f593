"""A cluster of four blocks sums a row through distributed shared memory (sm_90 and later)."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

CLUSTER, THREADS = 4, 64


@cute.kernel
def sum_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    rank, row, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sums = smem.allocate_tensor(cutlass.Float32, cute.make_layout(2), 16)
    total = cutlass.Float32(0.0)
    for i in range(rank * THREADS + tidx, mX.shape[1], CLUSTER * THREADS):
        total += mX[row, i]
    total = cute.arch.warp_reduction_sum(total)
    warp = cute.arch.warp_idx()
    if cute.arch.lane_idx() == 0:
        sums[warp] = total
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if rank == 0 and tidx == 0:
        whole = cutlass.Float32(0.0)
        for peer in cutlass.range_constexpr(CLUSTER):
            for w in cutlass.range_constexpr(2):
                pointer = cute.arch.map_dsmem_ptr(sums.iterator + w, cutlass.Int32(peer))
                whole += pointer.load()
        mY[row] = whole
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def row_sum(mX: cute.Tensor, mY: cute.Tensor):
    sum_kernel(mX, mY).launch(
        grid=(CLUSTER, mX.shape[0], 1), block=(THREADS, 1, 1), cluster=(CLUSTER, 1, 1)
    )


if torch.cuda.get_device_capability()[0] >= 9:
    x, y = torch.randn(3, 1001, device="cuda"), torch.empty(3, device="cuda")
    row_sum(from_dlpack(x), from_dlpack(y))
    torch.testing.assert_close(y, x.sum(dim=1), atol=1e-4, rtol=1e-4)
