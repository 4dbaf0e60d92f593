"""Gather rows by int64 indices, and compute their gradient with float atomics."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def gather_kernel(mW: cute.Tensor, mI: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    mY[row, tidx] = mW[cutlass.Int32(mI[row]), tidx]


@cute.kernel
def scatter_kernel(mG: cute.Tensor, mI: cute.Tensor, mD: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    at = cutlass.Int32(mI[row]) * mD.shape[1] + tidx
    cute.arch.atomic_add((mD.iterator + at).llvm_ptr, mG[row, tidx])


@cute.jit
def gather(mW: cute.Tensor, mI: cute.Tensor, mY: cute.Tensor):
    n, d = mY.shape
    gather_kernel(mW, mI, mY).launch(grid=(n, 1, 1), block=(d, 1, 1))


@cute.jit
def scatter(mG: cute.Tensor, mI: cute.Tensor, mD: cute.Tensor):
    n, d = mG.shape
    scatter_kernel(mG, mI, mD).launch(grid=(n, 1, 1), block=(d, 1, 1))


index = torch.tensor([3, 0, 3, 4, 3], device="cuda")
weight = torch.randn(5, 32, device="cuda", requires_grad=True)
y = torch.empty(5, 32, device="cuda")
gather(*(from_dlpack(t.detach()) for t in (weight, index, y)))
expected = torch.nn.functional.embedding(index, weight)
assert torch.equal(y, expected)
gradient, dw = torch.randn_like(y), torch.zeros(5, 32).cuda()
scatter(*(from_dlpack(t) for t in (gradient, index, dw)))
expected.backward(gradient)
torch.testing.assert_close(dw, weight.grad)
