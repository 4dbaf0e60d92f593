"""Per-thread vectors with TensorSSA: loads, where, reductions, conversion; float16 in 128-bit
accesses."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def gelu_kernel(gX: cute.Tensor, gY: cute.Tensor, gSum: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    at = bidx * 64 + tidx
    if at < cute.size(gX, mode=[1]):
        x = gX[None, at].load().to(cutlass.Float32)
        inner = 0.7978845608 * (x + 0.044715 * x * x * x)
        y = 0.5 * x * (1.0 + cute.math.tanh(inner))
        y = cute.where(x > -5.0, y, cute.full_like(y, 0.0))
        gY[None, at].store(y.to(gY.element_type))
        gSum[at] = y.reduce(cute.ReductionOp.ADD, 0.0, reduction_profile=0)


@cute.jit
def gelu(mX: cute.Tensor, mY: cute.Tensor, mSum: cute.Tensor):
    gX, gY = (cute.zipped_divide(t, (8,)) for t in (mX, mY))
    gelu_kernel(gX, gY, mSum).launch(
        grid=(cute.ceil_div(cute.size(gX, mode=[1]), 64), 1, 1), block=(64, 1, 1)
    )


x = (3 * torch.randn(8 * 100)).half().cuda()
y, sums = torch.empty_like(x), torch.empty(100, device="cuda")
gelu(*(from_dlpack(t, assumed_align=16) for t in (x, y, sums)))
reference = torch.nn.functional.gelu(x.float(), approximate="tanh")
torch.testing.assert_close(y, reference.half(), atol=2e-3, rtol=2e-3)
torch.testing.assert_close(sums, reference.view(100, 8).sum(1), atol=1e-2, rtol=1e-2)
