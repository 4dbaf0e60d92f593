"""Solution to week1/max_subarray."""

import cutlass
import cutlass.cute as cute
from cutlass import Float32


@cute.jit
def merged(a, b):
    """Return (sum, beginning, end, best) of piece a followed by piece b."""
    # [fill]
    #| return a
    return (
        a[0] + b[0],
        cutlass.max(a[1], a[0] + b[1]),
        cutlass.max(b[2], b[0] + a[2]),
        cutlass.max(cutlass.max(a[3], b[3]), a[2] + b[1]),
    )
    # [/fill]


@cute.kernel
def max_subarray_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row, lane = bidx * 4 + tidx // 32, tidx % 32
    least = -Float32.inf
    total, head, tail, best = Float32(0.0), least, least, least
    for piece in range(cute.ceil_div(mX.shape[1], 32)):
        n = piece * 32 + lane
        s, h, t, b = Float32(0.0), least, least, least
        if row < mX.shape[0] and n < mX.shape[1]:
            value = mX[row, n]
            s, h, t, b = value, value, value, value
        for k in cutlass.range_constexpr(5):
            right = tuple(cute.arch.shuffle_sync_down(v, offset=1 << k) for v in (s, h, t, b))
            s, h, t, b = merged((s, h, t, b), right)
        total, head, tail, best = merged((total, head, tail, best), (s, h, t, b))
    if row < mX.shape[0] and lane == 0:
        mY[row] = best
    # [/fill]


@cute.jit
def max_subarray(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    blocks = cute.ceil_div(mX.shape[0], 4)
    max_subarray_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
    # [/fill]
