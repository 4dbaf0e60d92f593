"""Rotary embedding in place on strided halves of a 4-D tensor."""

import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def rotary_kernel(mX: cute.Tensor, mCos: cute.Tensor, mSin: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    s, h, b = cute.arch.block_idx()
    half = mCos.shape[1]
    x, y = mX[b, s, h, i], mX[b, s, h, i + half]
    c, n = mCos[s, i], mSin[s, i]
    mX[b, s, h, i] = x * c - y * n
    mX[b, s, h, i + half] = y * c + x * n


@cute.jit
def rotary(mX: cute.Tensor, mCos: cute.Tensor, mSin: cute.Tensor):
    b, s, h, _ = mX.shape
    rotary_kernel(mX, mCos, mSin).launch(grid=(s, h, b), block=(mCos.shape[1], 1, 1))


batch, length, heads, dim = 2, 5, 3, 32
x = torch.randn(batch, heads, length, dim, device="cuda").transpose(1, 2)  # not contiguous
angles = torch.outer(torch.arange(length).float(), 1e4 ** (-torch.arange(0, dim, 2) / dim)).cuda()
before = x.clone()
rotary(from_dlpack(x), from_dlpack(angles.cos()), from_dlpack(angles.sin()))
first, second = before.chunk(2, dim=-1)
cos, sin = angles.cos()[None, :, None], angles.sin()[None, :, None]
expected = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
torch.testing.assert_close(x, expected, atol=1e-5, rtol=1e-5)
