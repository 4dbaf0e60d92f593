"""Kernels that lead to `softmax.Softmax` step by step, with one block per row; pure CuTe DSL.

    ThreePassSoftmax   reads a row three times: for the maximum, the sum and the result
    TwoPassSoftmax     twice: for both statistics (Milakov and Gimelshein, 2018) and the result
    OnlineSoftmax      once, because it keeps the row in registers; computes the same statistics

All accept mX and mY (M, N) with any strides, read single elements, and compute in float32.
"""

import operator

import cutlass
import cutlass.cute as cute
from cutlass import Float32

from forgekit.kernels.rows import RowKernel, RowTile
from forgekit.kernels.softmax import block_reduce, exp, finite_max, reduce_warps


class _RowSoftmax(RowKernel):
    """The base class of the three kernels, with one block per row."""

    def __init__(self, threads: int = 256, loads: int = 1) -> None:
        super().__init__(RowTile(threads, loads=loads))


class ThreePassSoftmax(_RowSoftmax):
    """The textbook's safe softmax, which reads the row three times."""

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor) -> None:
        tidx, _, _ = cute.arch.thread_idx()
        row, _, _ = cute.arch.block_idx()
        N, T = mX.shape[1], self.tile.threads
        sMax, _ = self.tile.reduction_buffer(1)
        sSum, _ = self.tile.reduction_buffer(1)
        m = -Float32.inf
        for n in range(tidx, N, T):
            m = cute.arch.fmax(m, mX[row, n].to(Float32))
        m = self.tile.warp_reduce(m, cute.arch.fmax)
        self.tile.exchange((m,), sMax, None)
        m = self.tile.reduce_parts(self.tile.read_part(sMax, 0, 0, -Float32.inf), cute.arch.fmax)

        s = Float32(0.0)
        for n in range(tidx, N, T):
            s += exp(mX[row, n].to(Float32) - m)
        s = self.tile.sum(s, sSum, None)

        for n in range(tidx, N, T):
            mY[row, n] = (exp(mX[row, n].to(Float32) - m) / s).to(mY.element_type)


class TwoPassSoftmax(_RowSoftmax):
    """Like `ThreePassSoftmax`, but one pass computes both a running maximum and the sum of
    exponentials relative to it."""

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor) -> None:
        tidx, _, _ = cute.arch.thread_idx()
        row, _, _ = cute.arch.block_idx()
        N, T = mX.shape[1], self.tile.threads
        sPart, _ = self.tile.reduction_buffer(2)
        m, s = -Float32.inf, Float32(0.0)
        for n in range(tidx, N, T):
            x = mX[row, n].to(Float32)
            m_new = cute.arch.fmax(m, x)
            s = s * exp(m - finite_max(m_new)) + exp(x - finite_max(m_new))
            m = m_new
        m, s = block_reduce(self.tile, m, s, sPart, None)

        for n in range(tidx, N, T):
            mY[row, n] = (exp(mX[row, n].to(Float32) - m) / s).to(mY.element_type)


class OnlineSoftmax(_RowSoftmax):
    """Like `TwoPassSoftmax`, but the row, of at most threads * loads elements, stays in
    registers."""

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor) -> None:
        tidx, _, _ = cute.arch.thread_idx()
        row, _, _ = cute.arch.block_idx()
        N, T = mX.shape[1], self.tile.threads
        sPart, _ = self.tile.reduction_buffer(2)
        rX = cute.make_rmem_tensor(self.tile.loads, Float32)
        rX.fill(-Float32.inf)
        for k in cutlass.range_constexpr(self.tile.loads):
            if tidx + k * T < N:
                rX[k] = mX[row, tidx + k * T].to(Float32)
        m = rX.load().reduce(cute.ReductionOp.MAX, -Float32.inf, 0)
        m = self.tile.warp_reduce(m, cute.arch.fmax)
        s = exp(rX.load() - finite_max(m)).reduce(cute.ReductionOp.ADD, 0.0, 0)
        s = self.tile.warp_reduce(s, operator.add)
        m, s = reduce_warps(self.tile, m, s, sPart, None)

        for k in cutlass.range_constexpr(self.tile.loads):
            if tidx + k * T < N:
                mY[row, tidx + k * T] = (exp(rX[k] - m) / s).to(mY.element_type)
