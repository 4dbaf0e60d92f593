"""Kernels for softmax over rows of any length and its gradient, which read each row twice; pure
CuTe DSL.

    StreamingSoftmax, StreamingSoftmaxBackward   a block or a cluster reads a row twice
    SplitSoftmax, SplitSoftmaxBackward           many blocks share a row, in two launches

These kernels are for rows that are too long for a block or cluster to keep. The first read computes
the running maximum and the sum of exponentials relative to it (the online softmax of M. Milakov and
N. Gimelshein, 2018); the second read computes the result.
"""

import operator

import cutlass
import cutlass.cute as cute
from cuda.bindings.driver import CUstream
from cutlass import Float32, Int32, const_expr

from forgekit.kernels import WARP
from forgekit.kernels.overlap import follow
from forgekit.kernels.rows import RowTile
from forgekit.kernels.softmax import (
    Softmax,
    SoftmaxBackward,
    block_reduce,
    exp,
    finite_max,
    online_update,
)

L2_BYTES = 16 * 2**20  # bytes of each operand that should stay in L2 until the second read


class StreamingSoftmax(Softmax):
    """mY (M, N) = softmax of each row of mX (M, N), computed in float32."""

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor) -> None:
        sPart, mbar = self.tile.reduction_buffer(2)
        row, lane, valid = self.tile.row_and_lane(mX.shape[0])
        m, s = self.statistics(mX, row, lane, sPart, mbar)
        self.write(self.reload(mX, mY, row, lane), mY, row, valid, m, s)

    @cute.jit
    def statistics(self, mX: cute.Tensor, row, lane, sPart, mbar):  # type: ignore[no-untyped-def]
        """Return the maximum and the sum of exponentials over the part of a row that the block or
        cluster reads."""
        tile = self.tile
        prefix, shape, tiled_copy, tXgX, tXcX = tile.streams(row, lane, mX)
        tXrX = cute.make_rmem_tensor_like(tXgX[None, None, None, 0])  # ((V,1),1,loads)
        at = tile.unaligned_element(prefix, mX.shape[1], lane)
        m = tile.load_unaligned(mX, row, at, -Float32.inf)
        s = Float32(1.0) if m != -Float32.inf else Float32(0.0)
        for k in cutlass.range(tXgX.shape[3], unroll=1):
            tXpX = tile.inside(tXcX[None, None, None, k], shape)
            tile.fill_tail(tXrX, -mX.element_type.inf)
            cute.copy(tiled_copy, tXgX[None, None, None, k], tXrX, pred=tXpX)
            m, s = online_update(m, s, tXrX.load().to(Float32))
        return block_reduce(tile, m, s, sPart, mbar)

    def reload(self, mX: cute.Tensor, mY: cute.Tensor, row, lane):  # type: ignore[no-untyped-def]
        """Start the second read of the block's part of a row; return the value for `write`'s
        argument `reloaded`."""
        tile = self.tile
        prefix, shape, tiled_copy, tXgX, tXgY, tXcX = tile.streams(row, lane, mX, mY)
        tXrX = cute.make_rmem_tensor_like(tXgX[None, None, None, 0])  # ((V,1),1,loads)
        cute.copy(tiled_copy, tXgX[None, None, None, 0], tXrX,
                  pred=tile.inside(tXcX[None, None, None, 0], shape))  # fmt: skip
        at = tile.unaligned_element(prefix, mX.shape[1], lane)
        rest = tile.load_unaligned(mX, row, at, -Float32.inf)
        return shape, tiled_copy, tXgX, tXgY, tXcX, tXrX, at, rest

    @cute.jit
    def write(self, reloaded: tuple, mY: cute.Tensor, row, valid, m: Float32, s: Float32):  # type: ignore[no-untyped-def]
        """Write the block's part of a row of mY. m, s: the row's maximum and sum of
        exponentials."""
        shape, tiled_copy, tXgX, tXgY, tXcX, tXrX, at, rest = reloaded
        scale = cute.arch.rcp_approx(s)
        for k in cutlass.range(tXgX.shape[3], unroll=1):
            tXpX = self.tile.inside(tXcX[None, None, None, k], shape)
            if k > 0:
                cute.copy(tiled_copy, tXgX[None, None, None, k], tXrX, pred=tXpX)
            tXrX.store((exp(tXrX.load().to(Float32) - m) * scale).to(mY.element_type))
            if valid:
                cute.copy(tiled_copy, tXrX, tXgY[None, None, None, k], pred=tXpX)
        self.tile.store_unaligned(exp(rest - m) * scale, mY, row, at, valid)


class StreamingSoftmaxBackward(SoftmaxBackward):
    """mdX (M, N) = (mdY - sum of mdY·mY over the row) · mY, computed in float32."""

    @cute.kernel
    def kernel(self, mdY: cute.Tensor, mY: cute.Tensor, mdX: cute.Tensor) -> None:
        sPart, mbar = self.tile.reduction_buffer(1)
        row, lane, valid = self.tile.row_and_lane(mY.shape[0])
        dot = self.dot(mdY, mY, row, lane, sPart, mbar)
        self.write(self.reload(mdY, mY, mdX, row, lane), mdX, row, valid, dot)

    @cute.jit
    def dot(self, mdY: cute.Tensor, mY: cute.Tensor, row, lane, sPart, mbar):  # type: ignore[no-untyped-def]
        """Return the sum of mdY·mY over the part of a row that the block or cluster reads."""
        tile = self.tile
        prefix, shape, tiled_copy, tXgY, tXgdY, tXcX = tile.streams(row, lane, mY, mdY)
        tXrdY, tXrY = (cute.make_rmem_tensor_like(tXgY[None, None, None, 0]) for _ in range(2))
        at = tile.unaligned_element(prefix, mY.shape[1], lane)
        rest_dy, rest_y = (tile.load_unaligned(mT, row, at, 0.0) for mT in (mdY, mY))
        dot = rest_dy * rest_y
        for k in cutlass.range(tXgY.shape[3], unroll=1):
            tXpX = tile.inside(tXcX[None, None, None, k], shape)
            tile.fill_tail(tXrdY, 0.0)
            tile.fill_tail(tXrY, 0.0)
            cute.copy(tiled_copy, tXgdY[None, None, None, k], tXrdY, pred=tXpX)
            cute.copy(tiled_copy, tXgY[None, None, None, k], tXrY, pred=tXpX)
            dot += tile.add_up(tXrdY.load().to(Float32) * tXrY.load().to(Float32))
        return tile.sum(dot, sPart, mbar)

    def reload(self, mdY: cute.Tensor, mY: cute.Tensor, mdX: cute.Tensor, row, lane):  # type: ignore[no-untyped-def]
        """Start the second read of the block's part of both rows; return the value for `write`'s
        argument `reloaded`."""
        tile = self.tile
        prefix, shape, tiled_copy, tXgY, tXgdY, tXgdX, tXcX = tile.streams(row, lane, mY, mdY, mdX)
        tXrdY, tXrY = (cute.make_rmem_tensor_like(tXgY[None, None, None, 0]) for _ in range(2))
        tXpX = tile.inside(tXcX[None, None, None, 0], shape)
        cute.copy(tiled_copy, tXgdY[None, None, None, 0], tXrdY, pred=tXpX)
        cute.copy(tiled_copy, tXgY[None, None, None, 0], tXrY, pred=tXpX)
        at = tile.unaligned_element(prefix, mY.shape[1], lane)
        rest = tuple(tile.load_unaligned(mT, row, at, 0.0) for mT in (mdY, mY))
        return shape, tiled_copy, tXgdY, tXgY, tXgdX, tXcX, tXrdY, tXrY, at, *rest

    @cute.jit
    def write(self, reloaded: tuple, mdX: cute.Tensor, row, valid, dot):  # type: ignore[no-untyped-def]
        """Write the block's part of a row of mdX. dot: the row's sum of mdY·mY."""
        shape, tiled_copy, tXgdY, tXgY, tXgdX, tXcX, tXrdY, tXrY, at, rest_dy, rest_y = reloaded
        for k in cutlass.range(tXgY.shape[3], unroll=1):
            tXpX = self.tile.inside(tXcX[None, None, None, k], shape)
            if k > 0:
                cute.copy(tiled_copy, tXgdY[None, None, None, k], tXrdY, pred=tXpX)
                cute.copy(tiled_copy, tXgY[None, None, None, k], tXrY, pred=tXpX)
            dx = (tXrdY.load().to(Float32) - dot) * tXrY.load().to(Float32)
            tXrY.store(dx.to(mdX.element_type))
            if valid:
                cute.copy(tiled_copy, tXrY, tXgdX[None, None, None, k], pred=tXpX)
        self.tile.store_unaligned((rest_dy - dot) * rest_y, mdX, row, at, valid)


# -- many blocks per row ------------------------------------------------------------------------
def rows_at_a_time(mX: cute.Tensor, held: int):  # type: ignore[no-untyped-def]
    """Return the number of rows that fit in `held` bytes of L2, at least 1."""
    return cutlass.max(Int32(held) // (mX.shape[1] * (mX.element_type.width // 8)), Int32(1))


@cute.jit
def part_of(tile: cutlass.Constexpr, first: Int32):  # type: ignore[no-untyped-def]
    """Return the block's row (counted from `first`), its part of that row, and the thread's index
    in the row."""
    tidx, _, _ = cute.arch.thread_idx()
    part, row, _ = cute.arch.block_idx()
    return first + row, part, part * tile.threads + tidx


@cute.jit
def begin_find(overlap: cutlass.Constexpr, first: Int32) -> None:
    """Allow `finish` to start. Before that, the first `find` waits for the kernel that wrote the
    rows.

    Each later `find` starts while the `finish` of the previous rows is still running.
    """
    if const_expr(overlap):
        if first == 0:
            cute.arch.griddepcontrol_wait()
        cute.arch.griddepcontrol_launch_dependents()


class SplitSoftmax(StreamingSoftmax):
    """Like `StreamingSoftmax`, but the `split` blocks of its tile share each row.

    mParts (M, split, 2), float32: the maximum and the sum of each part. The first launch, `find`,
    fills it; in the second, `finish`, every warp combines a row's parts, always in the same order.
    held: bytes of rows that L2 keeps between the two launches.
    """

    def __init__(self, tile: RowTile, held: int = L2_BYTES) -> None:
        super().__init__(tile)
        self.held = held

    @cute.jit
    def __call__(
        self, mX: cute.Tensor, mParts: cute.Tensor, mY: cute.Tensor, stream: CUstream
    ) -> None:
        tile, together = self.tile, rows_at_a_time(mX, self.held)
        for first in cutlass.range(0, mX.shape[0], together):
            rows = cutlass.min(together, mX.shape[0] - first)
            shape = {"grid": (tile.split, rows, 1), "block": (tile.threads, 1, 1)}
            self.find(mX, mParts, first).launch(**shape, stream=stream, use_pdl=tile.overlap)
            self.finish(mX, mParts, mY, first).launch(**shape, stream=stream, use_pdl=tile.overlap)

    @cute.kernel
    def find(self, mX: cute.Tensor, mParts: cute.Tensor, first: Int32) -> None:
        begin_find(self.tile.overlap, first)
        sPart, mbar = self.tile.reduction_buffer(2)
        row, part, lane = part_of(self.tile, first)
        m, s = self.statistics(mX, row, lane, sPart, mbar)
        follow(self.tile.overlap)  # otherwise the last launch could end before an earlier one
        if lane % self.tile.threads == 0:
            mParts[row, part, 0], mParts[row, part, 1] = m, s

    @cute.kernel
    def finish(self, mX: cute.Tensor, mParts: cute.Tensor, mY: cute.Tensor, first: Int32) -> None:
        row, _, lane = part_of(self.tile, first)
        reloaded = self.reload(mX, mY, row, lane)  # runs while `find` is still running
        follow(self.tile.overlap, early=True)  # lets the next rows' `find` start
        m, s = -Float32.inf, Float32(0.0)
        for k in cutlass.range_constexpr(0, self.tile.split, WARP):
            part = k + cute.arch.lane_idx()
            if part < self.tile.split:
                m_part, s_part = mParts[row, part, 0], mParts[row, part, 1]
                m_new = cute.arch.fmax(m, m_part)
                shift = finite_max(m_new)
                s = s * exp(m - shift) + s_part * exp(m_part - shift)
                m = m_new
        m_row = cute.arch.warp_reduction(m, cute.arch.fmax)
        s = cute.arch.warp_reduction(s * exp(m - finite_max(m_row)), operator.add)
        self.write(reloaded, mY, row, True, m_row, s)


class SplitSoftmaxBackward(StreamingSoftmaxBackward):
    """Like `StreamingSoftmaxBackward`, but the `split` blocks of its tile share each row. mParts
    (M, split), float32: the sum of mdY·mY over each part. held: as for `SplitSoftmax`."""

    def __init__(self, tile: RowTile, held: int = 2 * L2_BYTES) -> None:
        super().__init__(tile)
        self.held = held

    @cute.jit
    def __call__(
        self, mdY: cute.Tensor, mY: cute.Tensor, mParts: cute.Tensor, mdX: cute.Tensor,
        stream: CUstream,
    ) -> None:  # fmt: skip
        tile, together = self.tile, rows_at_a_time(mY, self.held // 2)
        for first in cutlass.range(0, mY.shape[0], together):
            rows = cutlass.min(together, mY.shape[0] - first)
            shape = {"grid": (tile.split, rows, 1), "block": (tile.threads, 1, 1)}
            self.find(mdY, mY, mParts, first).launch(**shape, stream=stream, use_pdl=tile.overlap)
            self.finish(mdY, mY, mParts, mdX, first).launch(
                **shape, stream=stream, use_pdl=tile.overlap
            )

    @cute.kernel
    def find(self, mdY: cute.Tensor, mY: cute.Tensor, mParts: cute.Tensor, first: Int32) -> None:
        begin_find(self.tile.overlap, first)
        sPart, mbar = self.tile.reduction_buffer(1)
        row, part, lane = part_of(self.tile, first)
        dot = self.dot(mdY, mY, row, lane, sPart, mbar)
        follow(self.tile.overlap)  # otherwise the last launch could end before an earlier one
        if lane % self.tile.threads == 0:
            mParts[row, part] = dot

    @cute.kernel
    def finish(
        self, mdY: cute.Tensor, mY: cute.Tensor, mParts: cute.Tensor, mdX: cute.Tensor, first: Int32
    ) -> None:
        row, _, lane = part_of(self.tile, first)
        reloaded = self.reload(mdY, mY, mdX, row, lane)  # runs while `find` is still running
        follow(self.tile.overlap, early=True)  # lets the next rows' `find` start
        self.write(reloaded, mdX, row, True, self.tile.add_parts(mParts, row))
