"""Solution to week1/cluster_sum."""

import operator

import cutlass
import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def cluster_sum_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    rank, row, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sSum = smem.allocate_tensor(Float32, cute.make_layout(4), 16)
    sPart = smem.allocate_tensor(Float32, cute.make_layout(4), 16)
    cute.arch.cluster_arrive()
    total = Float32(0.0)
    for n in range(rank * 128 + tidx, mX.shape[1], 512):
        total += mX[row, n]
    total = cute.arch.warp_reduction(total, operator.add)
    if tidx % 32 == 0:
        sSum[tidx // 32] = total
    cute.arch.sync_threads()
    cute.arch.cluster_wait()
    if tidx == 0:
        total = sSum[0] + sSum[1] + sSum[2] + sSum[3]
        cute.arch.map_dsmem_ptr(sPart.iterator + rank, 0).store(total)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if rank == 0 and tidx == 0:
        mY[row] = sPart[0] + sPart[1] + sPart[2] + sPart[3]
    # [/fill]


@cute.jit
def cluster_sum(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    cluster_sum_kernel(mX, mY).launch(
        grid=(4, mX.shape[0], 1), block=(128, 1, 1), cluster=(4, 1, 1)
    )
    # [/fill]
