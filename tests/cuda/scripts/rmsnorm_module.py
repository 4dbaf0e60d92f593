"""RMSNorm as an nn.Module for float16 and bfloat16; its kernel is compiled once per shape."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def rmsnorm_kernel(mX: cute.Tensor, mW: cute.Tensor, mY: cute.Tensor, eps: cutlass.Float32):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    n = cutlass.const_expr(mX.shape[1])
    squares = cutlass.Float32(0.0)
    for i in range(tidx, n, 32):
        x = mX[row, i].to(cutlass.Float32)
        squares += x * x
    scale = cute.math.rsqrt(cute.arch.warp_reduction_sum(squares) / n + eps)
    for i in range(tidx, n, 32):
        value = mX[row, i].to(cutlass.Float32) * scale * mW[i].to(cutlass.Float32)
        mY[row, i] = value.to(mY.element_type)


@cute.jit
def rmsnorm(mX: cute.Tensor, mW: cute.Tensor, mY: cute.Tensor, eps: cutlass.Float32):
    rmsnorm_kernel(mX, mW, mY, eps).launch(grid=(mX.shape[0], 1, 1), block=(32, 1, 1))


COMPILED = {}


class RMSNorm(torch.nn.Module):
    def __init__(self, n, device=None, dtype=None):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(n, device=device, dtype=dtype))

    def forward(self, x):
        y = torch.empty_like(x)
        args = [from_dlpack(t.detach(), assumed_align=16) for t in (x, self.weight, y)]
        key = x.dtype, *x.shape
        if key not in COMPILED:
            COMPILED[key] = cute.compile(rmsnorm, *args, cutlass.Float32(1e-6))
        COMPILED[key](*args, 1e-6)
        return y


for dtype in (torch.float16, torch.bfloat16):
    norm = RMSNorm(96, device="cuda", dtype=dtype)
    x = torch.randn(4, 96, device="cuda", dtype=dtype)
    for _ in range(2):
        y = norm(x)
    reference = torch.nn.functional.rms_norm(x.float(), (96,), norm.weight.float(), 1e-6)
    torch.testing.assert_close(y, reference.to(dtype), atol=2e-2, rtol=2e-2)
