"""Rows to int8 with a scale each: clamping, conversions; compared on the CPU with NumPy."""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def quantize_kernel(mX: cute.Tensor, mQ: cute.Tensor, mScale: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    high = cutlass.Float32(0.0)
    for i in range(lane, mX.shape[1], 32):
        high = cute.arch.fmax(high, cute.arch.fmax(mX[row, i], -mX[row, i]))
    scale = cute.arch.warp_reduction_max(high) / 127.0
    for i in range(lane, mX.shape[1], 32):
        value = mX[row, i] / scale
        value = cute.arch.fmax(value, cutlass.Float32(-127.0))
        mQ[row, i] = cutlass.Int32(value).to(cutlass.Int8)
    if lane == 0:
        mScale[row] = scale


@cute.jit
def quantize(mX: cute.Tensor, mQ: cute.Tensor, mScale: cute.Tensor):
    quantize_kernel(mX, mQ, mScale).launch(grid=(mX.shape[0], 1, 1), block=(32, 1, 1))


x = torch.from_numpy(np.random.default_rng(0).normal(size=(4, 70)).astype(np.float32)).cuda()
q = torch.zeros(4, 70, dtype=torch.int8, device="cuda")
scale = torch.zeros(4, device="cuda")
quantize(*(from_dlpack(t) for t in (x, q, scale)))
expected = np.trunc(x.cpu().numpy() / scale.cpu().numpy()[:, None])
assert np.abs(q.cpu().numpy() - expected).max() <= 1
torch.testing.assert_close(q.float() * scale[:, None], x, atol=float(scale.max()) * 1.01, rtol=0)
