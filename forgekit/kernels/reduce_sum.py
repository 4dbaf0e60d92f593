"""Kernels that sum the rows or the columns of a matrix in float32; pure CuTe DSL.

    RowSum       y[m] = sum of x[m, :]
    SplitRowSum  like RowSum, but many blocks share each row, in two launches
    ShortRowSum  like RowSum, but threads keep whole rows in registers
    ColumnSum    y[o, i] = sum of x[o, :, i], or partial sums for a second ColumnSum

The compiled-in parameters and, for unaligned rows, the row's address determine the order of
additions, so repeated calls return the same bits.
"""

import cutlass
import cutlass.cute as cute
from cuda.bindings.driver import CUstream
from cutlass import Float32, Int32, const_expr

from forgekit.kernels import VECTOR_BYTES, WARP
from forgekit.kernels.columns import ColumnTile
from forgekit.kernels.overlap import follow
from forgekit.kernels.rows import RowKernel, RowTile


class RowSum(RowKernel):
    """mY (M * split) = sums of the rows of mX (M, N), or of the `split` parts of each row."""

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor) -> None:
        tile = self.tile
        sPart, mbar = tile.reduction_buffer(1)
        row, lane, valid = tile.row_and_lane(mX.shape[0])
        prefix, mVX = tile.whole_vectors(row, mX)

        tiled_copy = tile.tiled_copy(mX.element_type, loads=True)
        thr_copy = tiled_copy.get_slice(lane)
        mcX = cute.make_identity_tensor(mVX.shape)
        gX, cX = (cute.local_tile(mT, tile.tiler, (row, None)) for mT in (mVX, mcX))
        tXgX, tXcX = thr_copy.partition_S(gX), thr_copy.partition_S(cX)  # ((V,1),1,loads,k)

        tXrX = cute.make_rmem_tensor_like(tXgX[None, None, None, 0])  # ((V,1),1,loads)
        rSum = cute.make_rmem_tensor_like(tXrX[None, 0, 0], Float32)  # ((V,1))
        rSum.fill(0.0)
        for k in cutlass.range(tXgX.shape[3], unroll=1):
            tXpX = tile.inside(tXcX[None, None, None, k], mVX.shape)
            tile.fill_tail(tXrX, 0.0)
            cute.copy(tiled_copy, tXgX[None, None, None, k], tXrX, pred=tXpX)
            for i in cutlass.range_constexpr(tile.loads):
                rSum.store(rSum.load() + tXrX[None, 0, i].load().to(Float32))
        total = rSum.load().reduce(cute.ReductionOp.ADD, 0.0, 0)
        at = tile.unaligned_element(prefix, mX.shape[1], lane)
        total += tile.load_unaligned(mX, row, at, 0.0)
        total = tile.sum(total, sPart, mbar)
        # The first thread of the row or of its part stores the sum. If the tile has clusters, it
        # has no parts.
        if valid and lane % (tile.threads * tile.cluster) == 0:
            mY[row * tile.split + lane // tile.threads % tile.split] = total.to(mY.element_type)


class SplitRowSum(RowSum):
    """mY (M) = sums of the rows of mX (M, N); `split` blocks share each row.

    mParts (M, split), float32: the sums of the parts, which the first launch stores. In the second
    launch, a warp adds a row's parts.
    """

    @cute.jit
    def __call__(
        self, mX: cute.Tensor, mParts: cute.Tensor, mY: cute.Tensor, stream: CUstream
    ) -> None:
        rows = mX.shape[0]
        mSums = cute.make_tensor(mParts.iterator, cute.make_layout(rows * self.tile.split))
        self.kernel(mX, mSums).launch(**self.tile.launch_shape(rows), stream=stream)
        self.finish(mParts, mY).launch(
            grid=(rows, 1, 1), block=(WARP, 1, 1), stream=stream, use_pdl=self.tile.overlap
        )

    @cute.kernel
    def finish(self, mParts: cute.Tensor, mY: cute.Tensor) -> None:
        follow(self.tile.overlap, early=True)
        row, _, _ = cute.arch.block_idx()
        total = self.tile.add_parts(mParts, row)
        if cute.arch.lane_idx() == 0:
            mY[row] = total.to(mY.element_type)


class ShortRowSum:
    """mY (M) = sums of the rows of mX (M, N); a row's threads keep the whole row in registers.

    turns: rows per group of threads; 1 if several warps share a row. A group loads all its rows
    before it sums the first, because the loads of one short row keep too few bytes in flight.
    """

    def __init__(self, tile: RowTile, turns: int = 1) -> None:
        self.tile, self.turns = tile, turns

    @cute.jit
    def __call__(self, mX: cute.Tensor, mY: cute.Tensor, stream: CUstream) -> None:
        groups = cute.ceil_div(mX.shape[0], self.turns)
        self.kernel(mX, mY).launch(**self.tile.launch_shape(groups), stream=stream)

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor) -> None:
        tile, turns, rows = self.tile, self.turns, mX.shape[0]
        follow(tile.overlap)
        sPart, mbar = tile.reduction_buffer(1)
        tidx, _, _ = cute.arch.thread_idx()
        bidx, _, _ = cute.arch.block_idx()
        lane, first = tidx % tile.threads, bidx * tile.rows * turns + tidx // tile.threads
        tiled_copy = tile.tiled_copy(mX.element_type, loads=True)
        thr_copy = tiled_copy.get_slice(lane)
        cX = cute.local_tile(cute.make_identity_tensor(mX.shape), tile.tiler, (0, 0))
        tXcX = thr_copy.partition_S(cX)  # ((V,1),1,loads)
        tXpX = tile.inside(tXcX, mX.shape)

        shape = ((tile.vector, 1), 1, tile.loads, turns)
        tXrX = cute.make_rmem_tensor(shape, mX.element_type)
        for turn in cutlass.range_constexpr(turns):
            row = first + turn * tile.rows
            row = row if row < rows else rows - 1  # past the end, read the last row again
            tXgX = thr_copy.partition_S(cute.local_tile(mX, tile.tiler, (row, 0)))
            tile.fill_tail(tXrX[None, None, None, turn], 0.0)
            cute.copy(tiled_copy, tXgX, tXrX[None, None, None, turn], pred=tXpX)

        mine = Float32(0.0)
        for turn in cutlass.range_constexpr(turns):
            rSum = tXrX[None, 0, 0, turn].load().to(Float32)
            for k in cutlass.range_constexpr(1, tile.loads):
                rSum = rSum + tXrX[None, 0, k, turn].load().to(Float32)
            total = tile.sum(rSum.reduce(cute.ReductionOp.ADD, 0.0, 0), sPart, mbar)
            # Lane i of the group keeps the sum of turn i until every lane has a sum to store.
            place = turn % tile.threads
            if lane == place:
                mine = total
            if const_expr(place + 1 == tile.threads or turn + 1 == turns):
                row = first + (turn - place + lane) * tile.rows
                if lane <= place and row < rows:
                    mY[row] = mine.to(mY.element_type)


class ColumnSum:
    """mY (splits, O, N) = sums of mX (O, M, N) over M, which is divided into `splits` parts.

    cluster: the number of blocks that share a column and add their sums in the first block's shared
    memory.
    """

    def __init__(self, tile: ColumnTile, cluster: int = 1) -> None:
        self.tile, self.cluster = tile, cluster

    @cute.jit
    def __call__(self, mX: cute.Tensor, mY: cute.Tensor, stream: CUstream) -> None:
        tiles = cute.ceil_div(mX.shape[2], self.tile.columns)
        self.kernel(mX, mY, tiles).launch(
            grid=(tiles * mX.shape[0], mY.shape[0] * self.cluster, 1),
            block=(self.tile.threads, 1, 1),
            cluster=(1, self.cluster, 1) if self.cluster > 1 else None,
            stream=stream, use_pdl=self.tile.overlap,
        )  # fmt: skip

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor, tiles: Int32) -> None:
        tile, M = self.tile, mX.shape[1]
        if const_expr(self.cluster > 1):
            cute.arch.cluster_arrive_relaxed()  # the wait precedes the first remote store
        outer, column, tx, ty = tile.place(tiles)
        valid = column * tile.vector < mX.shape[2]
        # This block sums the rows from `first` to `last` - 1.
        _, part, _ = cute.arch.block_idx()
        each = cute.ceil_div(M, mY.shape[0] * self.cluster)
        first, last = part * each, (part + 1) * each
        if last > M:
            last = M

        rX = cute.make_rmem_tensor((tile.vector, tile.loads), mX.element_type)
        rSum = cute.make_rmem_tensor(tile.vector, Float32)
        rSum.fill(0.0)
        for row in cutlass.range(first + ty, last, tile.rows * tile.loads, unroll=1):
            rX.fill(0.0)
            tile.load(mX[outer, None, None], rX, row, last, column, valid)
            for k in cutlass.range_constexpr(tile.loads):
                rSum.store(rSum.load() + rX[None, k].load().to(Float32))
        tile.sum(rSum, tx, ty)

        rank = Int32(0)
        if const_expr(self.cluster > 1):
            rank = cute.arch.block_idx_in_cluster()
            self.cluster_reduce(rSum, rank, tx, ty)
        if ty == 0 and rank == 0 and valid:
            rY = cute.make_rmem_tensor(tile.vector, mY.element_type)
            rY.store(rSum.load().to(mY.element_type))
            gY = mY[part // self.cluster, outer, None]
            cute.autovec_copy(rY, cute.local_tile(gY, (tile.vector,), (column,)))  # (V):(1)

    @cute.jit
    def cluster_reduce(self, rSum: cute.Tensor, rank: Int32, tx, ty):  # type: ignore[no-untyped-def]
        """Set rSum in the cluster's first block to the sum over all blocks, added in block
        order."""
        tile = self.tile
        shape = (self.cluster, tile.lanes, tile.vector)
        layout = cute.make_layout(shape, stride=(tile.columns, tile.vector, 1))
        sAll = cutlass.memory.SmemAllocator().allocate_tensor(Float32, layout, VECTOR_BYTES)
        cute.arch.cluster_wait()
        if ty == 0:
            for v in cutlass.range_constexpr(tile.vector):
                mine = sAll.iterator + cute.crd2idx((rank, tx, v), layout)
                cute.arch.map_dsmem_ptr(mine, 0).store(rSum[v])
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()
        if rank == 0 and ty == 0:
            rSum.fill(0.0)
            for block in cutlass.range_constexpr(self.cluster):
                rSum.store(rSum.load() + sAll[block, tx, None].load())
