"""Softmax over rows of any length and its gradient, each row read twice; pure CuTe DSL.

For rows that no block or cluster can keep. The first reading finds the statistics as it goes, the
maximum so far and the sum of exponentials relative to it (the online softmax of M. Milakov and
N. Gimelshein, 2018); the second writes the result.
"""

import cutlass
import cutlass.cute as cute
from cutlass import Float32

from forgekit.kernels.softmax import Softmax, SoftmaxBackward, block_reduce, exp, online_update


class StreamingSoftmax(Softmax):
    """mY (M, N) = softmax of each row of mX (M, N), computed in float32."""

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor) -> None:
        tile = self.tile
        sPart, mbar = tile.reduction_buffer(2)
        row, lane, valid = tile.row_and_lane(mX.shape[0])
        prefix, mVX, mVY = tile.whole_vectors(row, mX, mY)

        tiled_copy = tile.tiled_copy(mX.element_type)
        thr_copy = tiled_copy.get_slice(lane)
        tXgX, tXgY, tXcX = (
            thr_copy.partition_S(cute.local_tile(mT, tile.tiler, (row, None)))
            for mT in (mVX, mVY, cute.make_identity_tensor(mVX.shape))
        )  # ((V,1),1,loads,k)
        tXrX = cute.make_rmem_tensor_like(tXgX[None, None, None, 0])  # ((V,1),1,loads)
        at = tile.unaligned_element(prefix, mX.shape[1], lane)
        rest = tile.load_unaligned(mX, row, at, -Float32.inf)

        m = rest
        s = Float32(1.0) if rest != -Float32.inf else Float32(0.0)
        for k in cutlass.range(tXgX.shape[3], unroll=1):
            tXpX = tile.inside(tXcX[None, None, None, k], mVX.shape)
            tile.fill_tail(tXrX, -mX.element_type.inf)
            cute.copy(tiled_copy, tXgX[None, None, None, k], tXrX, pred=tXpX)
            m, s = online_update(m, s, tXrX.load().to(Float32))
        m, s = block_reduce(tile, m, s, sPart, mbar)

        scale = cute.arch.rcp_approx(s)
        for k in cutlass.range(tXgX.shape[3], unroll=1):
            tXpX = tile.inside(tXcX[None, None, None, k], mVX.shape)
            cute.copy(tiled_copy, tXgX[None, None, None, k], tXrX, pred=tXpX)
            tXrX.store((exp(tXrX.load().to(Float32) - m) * scale).to(mX.element_type))
            if valid:
                cute.copy(tiled_copy, tXrX, tXgY[None, None, None, k], pred=tXpX)
        tile.store_unaligned(exp(rest - m) * scale, mY, row, at, valid)


class StreamingSoftmaxBackward(SoftmaxBackward):
    """mdX (M, N) = (mdY - sum of mdY·mY over the row) · mY, computed in float32."""

    @cute.kernel
    def kernel(self, mdY: cute.Tensor, mY: cute.Tensor, mdX: cute.Tensor) -> None:
        tile = self.tile
        sPart, mbar = tile.reduction_buffer(1)
        row, lane, valid = tile.row_and_lane(mY.shape[0])
        prefix, mVY, mVdY, mVdX = tile.whole_vectors(row, mY, mdY, mdX)

        tiled_copy = tile.tiled_copy(mY.element_type)
        thr_copy = tiled_copy.get_slice(lane)
        tXgdY, tXgY, tXgdX, tXcX = (
            thr_copy.partition_S(cute.local_tile(mT, tile.tiler, (row, None)))
            for mT in (mVdY, mVY, mVdX, cute.make_identity_tensor(mVY.shape))
        )  # ((V,1),1,loads,k)
        tXrdY, tXrY = (cute.make_rmem_tensor_like(tXgY[None, None, None, 0]) for _ in range(2))
        at = tile.unaligned_element(prefix, mY.shape[1], lane)
        rest_dy, rest_y = (tile.load_unaligned(mT, row, at, 0.0) for mT in (mdY, mY))

        dot = rest_dy * rest_y
        for k in cutlass.range(tXgY.shape[3], unroll=1):
            tXpX = tile.inside(tXcX[None, None, None, k], mVY.shape)
            tile.fill_tail(tXrdY, 0.0)
            tile.fill_tail(tXrY, 0.0)
            cute.copy(tiled_copy, tXgdY[None, None, None, k], tXrdY, pred=tXpX)
            cute.copy(tiled_copy, tXgY[None, None, None, k], tXrY, pred=tXpX)
            dot += tile.add_up(tXrdY.load().to(Float32) * tXrY.load().to(Float32))
        dot = tile.sum(dot, sPart, mbar)

        for k in cutlass.range(tXgY.shape[3], unroll=1):
            tXpX = tile.inside(tXcX[None, None, None, k], mVY.shape)
            cute.copy(tiled_copy, tXgdY[None, None, None, k], tXrdY, pred=tXpX)
            cute.copy(tiled_copy, tXgY[None, None, None, k], tXrY, pred=tXpX)
            dx = (tXrdY.load().to(Float32) - dot) * tXrY.load().to(Float32)
            tXrY.store(dx.to(mY.element_type))
            if valid:
                cute.copy(tiled_copy, tXrY, tXgdX[None, None, None, k], pred=tXpX)
        tile.store_unaligned((rest_dy - dot) * rest_y, mdX, row, at, valid)
