"""Solution to week2/block_logsumexp."""

import cutlass
import cutlass.cute as cute
from cutlass import Float32


# [fill]
@cute.jit
def together(a, b):
    """(maximum, sum relative to it) of two parts of a row together."""
    m = cute.arch.fmax(a[0], b[0])
    shift = Float32(0.0) if m == -Float32.inf else m
    s = a[1] * cute.math.exp(a[0] - shift, fastmath=True)
    return m, s + b[1] * cute.math.exp(b[0] - shift, fastmath=True)


# [/fill]
@cute.kernel
def block_logsumexp_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sMax = smem.allocate_tensor(Float32, cute.make_layout(8), 16)
    sSum = smem.allocate_tensor(Float32, cute.make_layout(8), 16)
    m, s = -Float32.inf, Float32(0.0)
    for n in range(tidx, mX.shape[1], 256):
        m, s = together((m, s), (mX[row, n].to(Float32), Float32(1.0)))
    for k in cutlass.range_constexpr(5):
        other = tuple(cute.arch.shuffle_sync_bfly(v, offset=16 >> k) for v in (m, s))
        m, s = together((m, s), other)
    if tidx % 32 == 0:
        sMax[tidx // 32], sSum[tidx // 32] = m, s
    cute.arch.sync_threads()
    m, s = sMax[tidx % 8], sSum[tidx % 8]
    for k in cutlass.range_constexpr(3):
        other = tuple(cute.arch.shuffle_sync_bfly(v, offset=4 >> k) for v in (m, s))
        m, s = together((m, s), other)
    if tidx == 0:
        mY[row] = (m + cute.math.log(s, fastmath=True)).to(mY.element_type)
    # [/fill]


@cute.jit
def block_logsumexp(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    block_logsumexp_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(256, 1, 1))
    # [/fill]
