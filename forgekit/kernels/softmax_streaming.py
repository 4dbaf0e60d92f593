"""Softmax over rows of any length and its gradient, each row read twice; pure CuTe DSL.

For rows that no block or cluster can keep. The first reading finds the statistics as it goes, the
maximum so far and the sum of exponentials relative to it (the online softmax of M. Milakov and
N. Gimelshein, 2018); the second writes the result.
"""

import cutlass
import cutlass.cute as cute
from cuda.bindings.driver import CUstream
from cutlass import Float32, Int32, const_expr

from forgekit.kernels.rows import RowTile
from forgekit.kernels.softmax import absorb, exp, of_threads

__all__ = ["StreamingSoftmax", "StreamingSoftmaxBackward"]


class StreamingSoftmax:
    """mY (M, N) = softmax of each row of mX (M, N), computed in float32."""

    def __init__(self, tile: RowTile) -> None:
        self.tile = tile

    @cute.jit
    def __call__(self, mX: cute.Tensor, mY: cute.Tensor, stream: CUstream) -> None:
        shape = self.tile.launch_shape(mX.shape[0])
        self.kernel(mX, mY).launch(**shape, stream=stream)

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor) -> None:
        tile = self.tile
        sPart, mbar = tile.mailbox(2)
        row, lane, valid = tile.row_and_lane(mX.shape[0])
        gX, gY = mX[row, None], mY[row, None]
        head = tile.head_of(gX)
        gVX, gVY = tile.vectors_of(gX, head), tile.vectors_of(gY, head)  # (V, vectors)
        rX = cute.make_rmem_tensor((tile.vector, tile.loads), mX.element_type)
        at, edge = Int32(-1), -Float32.inf
        if const_expr(tile.edges):
            at = tile.edge_of(gVX, head, mX.shape[1], lane)
            if at >= 0:
                edge = gX[at].to(Float32)

        m = edge
        s = Float32(1.0) if edge != -Float32.inf else Float32(0.0)
        for first in cutlass.range(lane, gVX.shape[1], tile.step * tile.loads, unroll=1):
            rX.fill(-mX.element_type.inf)
            tile.load(gVX, rX, first)
            m, s = absorb(m, s, rX.load().to(Float32))
        m, s = of_threads(tile, m, s, sPart, mbar)

        scale = 1.0 / s
        for first in cutlass.range(lane, gVX.shape[1], tile.step * tile.loads, unroll=1):
            tile.load(gVX, rX, first)
            rX.store((exp(rX.load().to(Float32) - m) * scale).to(mX.element_type))
            tile.store(rX, gVY, first, valid)
        if const_expr(tile.edges):
            if at >= 0 and valid:
                gY[at] = (exp(edge - m) * scale).to(mX.element_type)


class StreamingSoftmaxBackward:
    """mdX (M, N) = (mdY - sum of mdY·mY over the row) · mY, computed in float32."""

    def __init__(self, tile: RowTile) -> None:
        self.tile = tile

    @cute.jit
    def __call__(
        self, mdY: cute.Tensor, mY: cute.Tensor, mdX: cute.Tensor, stream: CUstream
    ) -> None:
        shape = self.tile.launch_shape(mY.shape[0])
        self.kernel(mdY, mY, mdX).launch(**shape, stream=stream)

    @cute.kernel
    def kernel(self, mdY: cute.Tensor, mY: cute.Tensor, mdX: cute.Tensor) -> None:
        tile = self.tile
        sPart, mbar = tile.mailbox(1)
        row, lane, valid = tile.row_and_lane(mY.shape[0])
        gdY, gY, gdX = mdY[row, None], mY[row, None], mdX[row, None]
        head = tile.head_of(gY)
        gVdY, gVY, gVdX = (tile.vectors_of(gT, head) for gT in (gdY, gY, gdX))  # (V, vectors)
        shape = (tile.vector, tile.loads)
        rdY, rY = (cute.make_rmem_tensor(shape, mY.element_type) for _ in range(2))
        at, edge_dy, edge_y = Int32(-1), Float32(0.0), Float32(0.0)
        if const_expr(tile.edges):
            at = tile.edge_of(gVY, head, mY.shape[1], lane)
            if at >= 0:
                edge_dy, edge_y = gdY[at].to(Float32), gY[at].to(Float32)

        dot = edge_dy * edge_y
        for first in cutlass.range(lane, gVY.shape[1], tile.step * tile.loads, unroll=1):
            rdY.fill(0.0)
            rY.fill(0.0)
            tile.load(gVdY, rdY, first)
            tile.load(gVY, rY, first)
            product = rdY.load().to(Float32) * rY.load().to(Float32)
            dot += product.reduce(cute.ReductionOp.ADD, 0.0, 0)
        dot = tile.sum(dot, sPart, mbar)

        for first in cutlass.range(lane, gVY.shape[1], tile.step * tile.loads, unroll=1):
            tile.load(gVdY, rdY, first)
            tile.load(gVY, rY, first)
            dx = (rdY.load().to(Float32) - dot) * rY.load().to(Float32)
            rY.store(dx.to(mY.element_type))
            tile.store(rY, gVdX, first, valid)
        if const_expr(tile.edges):
            if at >= 0 and valid:
                gdX[at] = ((edge_dy - dot) * edge_y).to(mY.element_type)
