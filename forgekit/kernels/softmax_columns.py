"""Kernels for softmax over columns and its gradient, which read long columns twice; pure CuTe DSL.

Each thread processes a vector of neighbouring columns, in rows that are a fixed distance apart.
Threads with the same columns combine their statistics in shared memory. The statistics are those of
the online softmax, as in `softmax_streaming.py`.
"""

import cutlass
import cutlass.cute as cute
from cuda.bindings.driver import CUstream
from cutlass import Float32, Int32, const_expr

from forgekit.kernels.columns import ColumnTile
from forgekit.kernels.softmax import exp, finite_max


class ColumnSoftmax:
    """mY (O, M, N) = softmax over M of mX (O, M, N), computed in float32."""

    def __init__(self, tile: ColumnTile) -> None:
        self.tile = tile

    @cute.jit
    def __call__(self, mX: cute.Tensor, mY: cute.Tensor, stream: CUstream) -> None:
        tiles = cute.ceil_div(mX.shape[2], self.tile.columns)
        self.kernel(mX, mY, tiles).launch(
            grid=(tiles * mX.shape[0], 1, 1), block=(self.tile.threads, 1, 1), stream=stream,
            use_pdl=self.tile.overlap,
        )  # fmt: skip

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor, tiles: Int32) -> None:
        tile, M = self.tile, mX.shape[1]
        outer, column, tx, ty = tile.place(tiles)
        valid = column * tile.vector < mX.shape[2]
        rX = cute.make_rmem_tensor((tile.vector, tile.loads), mX.element_type)
        rM, rS = (cute.make_rmem_tensor(tile.vector, Float32) for _ in range(2))
        rM.fill(-Float32.inf)
        rS.fill(0.0)

        for row in cutlass.range(ty, M, tile.rows * tile.loads, unroll=1):
            rX.fill(-mX.element_type.inf)
            tile.load(mX[outer, None, None], rX, row, M, column, valid)
            for v in cutlass.range_constexpr(tile.vector):
                x = rX[v, None].load().to(Float32)  # (loads)
                m = cute.arch.fmax(rM[v], x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))
                e = exp(x - finite_max(m)).reduce(cute.ReductionOp.ADD, 0.0, 0)
                rS[v] = rS[v] * exp(rM[v] - finite_max(m)) + e
                rM[v] = m

        tile.reduce((rM, rS), merge, tx, ty)
        m, scale = rM.load(), 1.0 / rS.load()  # (V)
        for row in cutlass.range(ty, M, tile.rows * tile.loads, unroll=1):
            if const_expr(not tile.once):
                tile.load(mX[outer, None, None], rX, row, M, column, valid)
            for k in cutlass.range_constexpr(tile.loads):
                y = exp(rX[None, k].load().to(Float32) - m) * scale
                rX[None, k].store(y.to(mY.element_type))
            tile.store(rX, mY[outer, None, None], row, M, column, valid)


def merge(rM: cute.Tensor, rS: cute.Tensor, below_m: cute.Tensor, below_s: cute.Tensor) -> None:
    """Merge the maxima below_m and the sums of exponentials below_s (V), which are from other rows
    of the same columns, into rM and rS (V)."""
    for v in range(cute.size(rM)):
        m = cute.arch.fmax(rM[v], below_m[v])
        s_below = below_s[v] * exp(below_m[v] - finite_max(m))
        rS[v] = rS[v] * exp(rM[v] - finite_max(m)) + s_below
        rM[v] = m


class ColumnSoftmaxBackward(ColumnSoftmax):
    """mdX (O, M, N) = (mdY - sum over M of mdY·mY) · mY, computed in float32."""

    @cute.jit
    def __call__(
        self, mdY: cute.Tensor, mY: cute.Tensor, mdX: cute.Tensor, stream: CUstream
    ) -> None:
        tiles = cute.ceil_div(mY.shape[2], self.tile.columns)
        self.kernel(mdY, mY, mdX, tiles).launch(
            grid=(tiles * mY.shape[0], 1, 1), block=(self.tile.threads, 1, 1), stream=stream,
            use_pdl=self.tile.overlap,
        )  # fmt: skip

    @cute.kernel
    def kernel(self, mdY: cute.Tensor, mY: cute.Tensor, mdX: cute.Tensor, tiles: Int32) -> None:
        tile, M = self.tile, mY.shape[1]
        outer, column, tx, ty = tile.place(tiles)
        valid = column * tile.vector < mY.shape[2]
        gdY, gY, gdX = (mT[outer, None, None] for mT in (mdY, mY, mdX))  # (M, N)
        shape = (tile.vector, tile.loads)
        rdY, rY = (cute.make_rmem_tensor(shape, mY.element_type) for _ in range(2))
        rDot = cute.make_rmem_tensor(tile.vector, Float32)
        rDot.fill(0.0)

        for row in cutlass.range(ty, M, tile.rows * tile.loads, unroll=1):
            rdY.fill(0.0)
            rY.fill(0.0)
            tile.load(gdY, rdY, row, M, column, valid)
            tile.load(gY, rY, row, M, column, valid)
            for k in cutlass.range_constexpr(tile.loads):
                product = rdY[None, k].load().to(Float32) * rY[None, k].load().to(Float32)
                rDot.store(rDot.load() + product)
        tile.sum(rDot, tx, ty)
        dot = rDot.load()  # (V)

        for row in cutlass.range(ty, M, tile.rows * tile.loads, unroll=1):
            if const_expr(not tile.once):
                tile.load(gdY, rdY, row, M, column, valid)
                tile.load(gY, rY, row, M, column, valid)
            for k in cutlass.range_constexpr(tile.loads):
                dx = (rdY[None, k].load().to(Float32) - dot) * rY[None, k].load().to(Float32)
                rY[None, k].store(dx.to(mY.element_type))
            tile.store(rY, gdX, row, M, column, valid)
