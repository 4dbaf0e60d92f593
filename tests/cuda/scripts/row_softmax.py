"""Softmax of rows, one warp a row, by shuffles; as an autograd function with a saved result."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def forward_kernel(mX: cute.Tensor, mY: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    n = mX.shape[1]
    high, total = -cutlass.Float32.inf, cutlass.Float32(0.0)
    for i in range(lane, n, 32):
        high = cute.arch.fmax(high, mX[row, i])
    high = cute.arch.warp_reduction_max(high)
    for i in range(lane, n, 32):
        total += cute.math.exp(mX[row, i] - high, fastmath=True)
    total = cute.arch.warp_reduction_sum(total)
    for i in range(lane, n, 32):
        mY[row, i] = cute.math.exp(mX[row, i] - high, fastmath=True) / total


@cute.kernel
def backward_kernel(mY: cute.Tensor, mG: cute.Tensor, mD: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    n = mY.shape[1]
    dot = cutlass.Float32(0.0)
    for i in range(lane, n, 32):
        dot += mY[row, i] * mG[row, i]
    dot = cute.arch.warp_reduction_sum(dot)
    for i in range(lane, n, 32):
        mD[row, i] = mY[row, i] * (mG[row, i] - dot)


@cute.jit
def forward(mX: cute.Tensor, mY: cute.Tensor):
    forward_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(32, 1, 1))


@cute.jit
def backward(mY: cute.Tensor, mG: cute.Tensor, mD: cute.Tensor):
    backward_kernel(mY, mG, mD).launch(grid=(mY.shape[0], 1, 1), block=(32, 1, 1))


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        assert x.is_cuda, "tensor must be on CUDA device"
        y = torch.empty_like(x)
        forward(from_dlpack(x.detach()), from_dlpack(y))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        (y,) = ctx.saved_tensors
        assert y.is_cuda and gradient.is_cuda, "tensor must be on CUDA device"
        dx = torch.empty_like(y)
        backward(*(from_dlpack(t.detach().contiguous()) for t in (y, gradient)), from_dlpack(dx))
        return dx


x = torch.randn(5, 77, device="cuda", requires_grad=True)
w = torch.randn(5, 77, device="cuda")
(Softmax.apply(x) * w).sum().backward()
reference = x.detach().clone().requires_grad_()
(torch.softmax(reference, dim=-1) * w).sum().backward()
torch.testing.assert_close(x.grad, reference.grad, atol=1e-5, rtol=1e-4)
