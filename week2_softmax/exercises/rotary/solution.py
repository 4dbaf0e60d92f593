"""Solution to week2/rotary."""

import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def rotary_kernel(mX: cute.Tensor, mCos: cute.Tensor, mSin: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    token, lane = bidx * 4 + tidx // 32, tidx % 32
    half = mX.shape[2] // 2
    if token < mX.shape[0]:
        for j in range(lane, half, 32):
            cos, sin = mCos[token, j], mSin[token, j]
            for h in range(mX.shape[1]):
                a, b = mX[token, h, j].to(Float32), mX[token, h, j + half].to(Float32)
                mX[token, h, j] = (a * cos - b * sin).to(mX.element_type)
                mX[token, h, j + half] = (b * cos + a * sin).to(mX.element_type)
    # [/fill]


@cute.jit
def rotary(mX: cute.Tensor, mCos: cute.Tensor, mSin: cute.Tensor):
    # [fill]
    #| pass
    blocks = cute.ceil_div(mX.shape[0], 4)
    rotary_kernel(mX, mCos, mSin).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
    # [/fill]
