"""Kernels for copy_transpose, Y[n, m] = X[m, n], which preserve all bits; pure CuTe DSL.

`forgekit.ops.transposes` chooses the fastest of the three kernels for each tensor:

    VectorTranspose   16-byte loads and stores; rows of X and of Y begin at 16-byte boundaries
    GatherTranspose   any sizes, strides and alignment; 16-byte stores
    FlatTranspose     plain copies (one row, one column, contiguous columns of X); few rows

The constructor receives the values to compile in; a call receives mX (M, N), mY (N, M) and a
stream. overlap: True if the kernel starts while the previous kernel ends (see `follow`).
"""

import cutlass
import cutlass.cute as cute
from cuda.bindings.driver import CUstream

from forgekit.kernels import SECTOR_BYTES, VECTOR_BYTES
from forgekit.kernels.overlap import follow


def word_of(bits: int):  # type: ignore[no-untyped-def]
    """Return the integer type with which to move elements of this width, because moving floats as
    integers preserves NaNs."""
    return getattr(cutlass, f"Uint{bits}")


class VectorTranspose:
    """A block transposes a tile; each thread first transposes a square of V×V elements in
    registers.

    tile: the number of rows and of columns of X per block, both powers of two and at least 2V.
    vector: V, the elements per access, a divisor of M, N and the row strides. Each thread
    transposes one square.
    """

    def __init__(
        self, bits: int, tile: tuple[int, int], vector: int, overlap: bool = False
    ) -> None:
        self.word, self.tile, self.vector, self.overlap = word_of(bits), tile, vector, overlap
        self.squares = tile[0] // vector, tile[1] // vector  # per column and row of the tile
        # Chunk c of row r is stored at c ^ (r / V). Otherwise, the threads that write 128 bytes
        # together (a quarter-warp for 16 bytes per thread), which are V rows apart, would access
        # the same banks. The swizzle works on byte offsets: it XORs the bits of r / V into those of
        # c, starting at the lowest bit of the chunk index. If a row of the tile has few squares,
        # these threads also differ in the lowest bits of c.
        chunk_bytes = vector * bits // 8
        together = (128 // chunk_bytes).bit_length() - 1
        down, across = (min(together, squares.bit_length() - 1) for squares in self.squares)
        kept = max(0, down - across)
        chunk_bits, row_bits = chunk_bytes.bit_length() - 1, tile[0].bit_length() - 1
        self.swizzle = (down - kept, chunk_bits + kept, row_bits - kept)
        # Let blocks with a tall tile begin at different rows of Y, which are far apart in memory.
        # On an H200, this is 0.4 % faster for 1,048,576 × 64 float16 and 0.9 % for 1,048,576 × 32.
        # It is slower for wider types and has no effect for 1-byte types.
        self.first = 3 if tile[0] > tile[1] and bits == 16 else 0

    @cute.jit
    def __call__(self, mX: cute.Tensor, mY: cute.Tensor, stream: CUstream) -> None:
        mX, mY = cute.recast_tensor(mX, self.word), cute.recast_tensor(mY, self.word)
        tiles = [cute.ceil_div(size, side) for size, side in zip(mX.shape, self.tile, strict=True)]
        blocks, threads = tiles[0] * tiles[1], self.squares[0] * self.squares[1]
        self.kernel(mX, mY).launch(
            grid=(blocks, 1, 1), block=(threads, 1, 1), stream=stream, use_pdl=self.overlap
        )

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor) -> None:
        follow(self.overlap)
        tidx, _, _ = cute.arch.thread_idx()
        bidx, _, _ = cute.arch.block_idx()
        V, (TM, TN), (SM, SN) = self.vector, self.tile, self.squares
        M, N = mX.shape
        # Let neighbouring blocks write neighbouring parts of the same rows of Y.
        tiles_m = cute.ceil_div(M, TM)
        bn, bm = bidx // tiles_m, bidx % tiles_m
        sY = cutlass.memory.SmemAllocator().allocate_tensor(
            self.word, cute.make_layout((TN, TM), stride=(TM, 1)), 128,
            swizzle=cute.make_swizzle(*self.swizzle),
        )  # fmt: skip
        square = cute.make_layout((V, V), stride=(V, 1))
        rX, rY = (cute.make_rmem_tensor(square, self.word) for _ in range(2))

        # Load a square. Consecutive threads read along the rows of the tile, with 16 bytes per
        # access.
        i, j = tidx // SN, tidx % SN
        if bm * SM + i < M // V and bn * SN + j < N // V:
            gX = cute.local_tile(mX, (V, V), (bm * SM + i, bn * SN + j))  # (V,V):(ld,1)
            for k in cutlass.range_constexpr(V):
                cute.autovec_copy(gX[k, None], rX[k, None])
        # Transpose the square by renaming registers and, for narrow types, permuting bytes.
        for k in cutlass.range_constexpr(V):
            for m in cutlass.range_constexpr(V):
                rY[k, m] = rX[m, k]
        tYsY = cute.local_tile(sY, (V, V), (j, i))  # (V,V):(TM,1)
        for k in cutlass.range_constexpr(V):
            cute.autovec_copy(rY[k, None], tYsY[k, None])
        cute.arch.sync_threads()

        # Store rows of Y. Consecutive threads write along a row of Y.
        row, chunk = tidx // SM, tidx % SM
        step = lambda k: (k + bm * self.first) & (V - 1) if self.first else k  # noqa: E731
        for k in cutlass.range_constexpr(V):
            sVY = cute.local_tile(sY, (1, V), (row + step(k) * SN, chunk))  # (1,V):(0,1)
            cute.autovec_copy(sVY[0, None], rX[k, None])
        if bm * SM + chunk < M // V:
            for k in cutlass.range_constexpr(V):
                n = bn * TN + row + step(k) * SN
                if n < N:
                    gY = cute.local_tile(mY, (1, V), (n, bm * SM + chunk))  # (1,V):(0,1)
                    cute.autovec_copy(rX[k, None], gY[0, None])


class GatherTranspose:
    """A block loads 4-byte words to shared memory, from which each thread gathers 16 bytes to
    store. If a row of Y does not begin at a sector boundary, the block's tile is shifted left to a
    boundary: the block loads a few more rows of X and stores only whole sectors. A row of X that
    does not begin at a word boundary is read from the start of its first word.

    tile: the number of rows and of columns of X per block. shifted: False if all rows of Y begin at
    sector boundaries. contiguous: True if the elements of a row of X are contiguous; otherwise,
    elements are loaded one by one.
    """

    def __init__(
        self, bits: int, tile: tuple[int, int], threads: int, shifted: bool, contiguous: bool,
        overlap: bool = False,
    ) -> None:  # fmt: skip
        self.element, self.tile, self.threads = word_of(bits), tile, threads
        self.overlap = overlap
        self.word = word_of(max(bits, 32) if contiguous else bits)
        self.per_word = self.word.width // bits
        self.vector, self.sector = VECTOR_BYTES * 8 // bits, SECTOR_BYTES * 8 // bits
        self.extra = self.sector if shifted else 0  # additional rows of X, before the tile's rows
        self.columns = tile[1] - (self.per_word - 1)  # columns, wherever a row begins
        self.lanes = tile[1] // self.per_word  # threads per row of the tile, one per word
        self.step = threads // self.lanes  # rows of X that the block loads at a time
        self.rows = -(-(tile[0] + self.extra) // self.step) * self.step

    @cute.jit
    def __call__(self, mX: cute.Tensor, mY: cute.Tensor, stream: CUstream) -> None:
        mX, mY = cute.recast_tensor(mX, self.element), cute.recast_tensor(mY, self.element)
        tiles_m = cute.ceil_div(mX.shape[0] + self.extra, self.tile[0])
        blocks = tiles_m * cute.ceil_div(mX.shape[1], self.columns)
        self.kernel(mX, mY, tiles_m).launch(
            grid=(blocks, 1, 1), block=(self.threads, 1, 1), stream=stream, use_pdl=self.overlap
        )

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor, tiles_m: cutlass.Int32) -> None:
        follow(self.overlap)
        tidx, _, _ = cute.arch.thread_idx()
        bidx, _, _ = cute.arch.block_idx()
        V, W, lanes, step = self.vector, self.per_word, self.lanes, self.step
        M, N = mX.shape
        bn, bm = bidx // tiles_m, bidx % tiles_m
        m0, n0 = bm * self.tile[0] - self.extra, bn * self.columns  # sX's first element in X
        # A word of padding per row shifts neighbouring rows by one bank.
        words = cute.make_layout((self.rows, lanes), stride=(lanes + 1, 1))
        sW = cutlass.memory.SmemAllocator().allocate_tensor(self.word, words, 16)
        elements = cute.make_layout((self.rows, lanes * W), stride=((lanes + 1) * W, 1))
        sX = cute.make_tensor(cute.recast_ptr(sW.iterator, dtype=self.element), elements)

        # Row m begins q(m) elements after the start of a word, in global and shared memory.
        down = cutlass.Int32(mX.stride[0])
        start = cutlass.Int32(mX.iterator.toint() // (self.element.width // 8) % W) + n0
        q = lambda m: (start + m * down) & (W - 1)  # noqa: E731
        last_word = (M - 1) * mX.stride[0] + N - W  # start of the last word in X
        row, lane = tidx // lanes, tidx % lanes
        rW = cute.make_rmem_tensor(self.rows // step, self.word)
        for k in cutlass.range_constexpr(self.rows // step):
            m = m0 + row + k * step
            n = n0 + lane * W - q(m)
            if m >= 0 and m < M and n < N:
                gX = cute.domain_offset((m, n), mX)
                at = m * mX.stride[0] + n
                if W == 1 or (at >= 0 and at <= last_word):
                    gW = cute.recast_ptr(gX.iterator.align(self.word.width // 8), dtype=self.word)
                    rW[k] = cute.make_tensor(gW, cute.make_layout(1))[0]
                else:
                    rX = cute.make_rmem_tensor(W, self.element)
                    for p in cutlass.range_constexpr(W):
                        if at + p >= 0 and n + p < N:
                            rX[p] = gX[0, p]
                    rW[k] = cute.recast_tensor(rX, self.word)[0]
        for k in cutlass.range_constexpr(self.rows // step):
            sW[row + k * step, lane] = rW[k]
        cute.arch.sync_threads()

        chunks = self.tile[0] // V  # vectors per row of Y in the tile
        row, chunk = tidx // chunks, tidx % chunks
        step = self.threads // chunks
        rY = cute.make_rmem_tensor(V, self.element)
        for k in cutlass.range_constexpr(-(-self.columns // step)):
            col = row + k * step
            shift = cutlass.Int32((n0 + col) * mY.stride[0]) & (self.sector - 1)
            first = self.extra + chunk * V - (shift if self.extra else 0)  # row in shared memory
            m = m0 + first
            if n0 + col < N and col < self.columns:
                # rows that are W apart begin at the same offset in a word
                for p in cutlass.range_constexpr(V):
                    rY[p] = sX[first + p, col + q(m + p % W)]
                gY = cute.domain_offset((n0 + col, m), mY)
                if m >= 0 and m + V <= M:
                    vector = gY.iterator.align(VECTOR_BYTES)
                    cute.autovec_copy(rY, cute.make_tensor(vector, cute.make_layout(V)))
                else:
                    for p in cutlass.range_constexpr(V):
                        if m + p >= 0 and m + p < M:
                            gY[0, p] = rY[p]


class FlatTranspose:
    """Each thread gathers and stores 16 bytes of Y, which must be contiguous. Use this kernel if
    the columns of X are contiguous, because a copy is then sufficient, or if X has few rows or few
    columns, because neighbouring threads then share cache lines.

    vector_loads: True if the columns of X are contiguous and, like the rows of Y, begin at 16-byte
    boundaries.
    """

    threads = 256

    def __init__(self, bits: int, vector_loads: bool, overlap: bool = False) -> None:
        self.word, self.vector_loads, self.overlap = word_of(bits), vector_loads, overlap
        self.vector = VECTOR_BYTES * 8 // bits

    @cute.jit
    def __call__(self, mX: cute.Tensor, mY: cute.Tensor, stream: CUstream) -> None:
        mX, mY = cute.recast_tensor(mX, self.word), cute.recast_tensor(mY, self.word)
        size = cutlass.Int64(mX.shape[0]) * mX.shape[1]
        blocks = cutlass.Int32(cute.ceil_div(size, self.threads * self.vector))
        self.kernel(mX, mY, size).launch(
            grid=(blocks, 1, 1), block=(self.threads, 1, 1), stream=stream, use_pdl=self.overlap
        )

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor, size: cutlass.Int64) -> None:
        follow(self.overlap)
        tidx, _, _ = cute.arch.thread_idx()
        bidx, _, _ = cute.arch.block_idx()
        V, M = self.vector, mX.shape[0]
        i = (cutlass.Int64(bidx) * self.threads + tidx) * V  # the first element's index in Y
        n, m = cutlass.Int32(i // M), cutlass.Int32(i % M)
        gY = cute.make_tensor((mY.iterator + i).align(VECTOR_BYTES), cute.make_layout(V))
        rX = cute.make_rmem_tensor(V, self.word)
        if i + V <= size:
            if cutlass.const_expr(self.vector_loads):
                gX = cute.domain_offset((m, n), mX)
                column = cute.make_tensor(gX.iterator.align(VECTOR_BYTES), cute.make_layout(V))
                cute.autovec_copy(column, rX)
            else:
                for p in cutlass.range_constexpr(V):
                    rX[p] = mX[m, n]
                    m += 1
                    if m == M:
                        m, n = cutlass.Int32(0), n + 1
            cute.autovec_copy(rX, gY)
        else:  # fewer than V elements are left
            for p in cutlass.range_constexpr(V):
                if i + p < size:
                    gY[p] = mX[m, n]
                    m += 1
                    if m == M:
                        m, n = cutlass.Int32(0), n + 1
