"""A histogram by atomics in shared and global memory, against torch.bincount."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

BINS = 64


@cute.kernel
def histogram_kernel(mX: cute.Tensor, mCounts: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    grid, _, _ = cute.arch.grid_dim()
    smem = cutlass.memory.SmemAllocator()
    sCounts = smem.allocate_tensor(cutlass.Int32, cute.make_layout(BINS), 16)
    if tidx < BINS:
        sCounts[tidx] = 0
    cute.arch.sync_threads()
    for i in range(bidx * 128 + tidx, mX.shape[0], grid * 128):
        cute.arch.atomic_add((sCounts.iterator + mX[i]).llvm_ptr, cutlass.Int32(1))
    cute.arch.sync_threads()
    if tidx < BINS:
        cute.arch.atomic_add((mCounts.iterator + tidx).llvm_ptr, sCounts[tidx])


@cute.jit
def histogram(mX: cute.Tensor, mCounts: cute.Tensor):
    histogram_kernel(mX, mCounts).launch(grid=(3, 1, 1), block=(128, 1, 1))


x = torch.randint(BINS, (1000,), device="cuda", dtype=torch.int32)
counts = torch.zeros(BINS, dtype=torch.int32, device=x.device)
histogram(from_dlpack(x).mark_layout_dynamic(), from_dlpack(counts))
assert torch.equal(counts, torch.bincount(x, minlength=BINS).int())
