"""Dropout with a counter-based hash: 32-bit unsigned arithmetic, the same mask for the same
seed."""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack


@cute.jit
def mix(key: cutlass.Uint32) -> cutlass.Uint32:
    key = (key ^ (key >> 16)) * cutlass.Uint32(0x7FEB352D)
    key = (key ^ (key >> 15)) * cutlass.Uint32(0x846CA68B)
    return key ^ (key >> 16)


@cute.kernel
def dropout_kernel(mX: cute.Tensor, mY: cute.Tensor, seed: cutlass.Uint32, p: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 128 + tidx
    if i < cute.size(mX):
        drawn = mix(cutlass.Uint32(i) + seed)
        kept = drawn >= cutlass.Uint32(int(p * 2**32))
        mY[i] = mX[i] * (1 / (1 - p)) if kept else cutlass.Float32(0.0)


@cute.jit
def dropout(mX: cute.Tensor, mY: cute.Tensor, seed: cutlass.Uint32, p: cutlass.Constexpr):
    blocks = cute.ceil_div(cute.size(mX), 128)
    dropout_kernel(mX, mY, seed, p).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


def reference(n: int, seed: int) -> np.ndarray:
    key = np.arange(n, dtype=np.uint32) + np.uint32(seed)
    key = (key ^ (key >> np.uint32(16))) * np.uint32(0x7FEB352D)
    key = (key ^ (key >> np.uint32(15))) * np.uint32(0x846CA68B)
    return key ^ (key >> np.uint32(16))


x = torch.ones(1000, device="cuda")
y = torch.full_like(x, float("nan"))
for seed in (1, 3_000_000_000):
    dropout(from_dlpack(x), from_dlpack(y), seed, 0.25)
    kept = torch.from_numpy(reference(1000, seed) >= 2**30).cuda()
    torch.testing.assert_close(y, torch.where(kept, 4 / 3, 0.0))
    assert 0.7 < kept.float().mean() < 0.8
