"""Tensor copies (TMA): a pipeline of stages, stores, sums over blocks, tiles for a cluster."""

from typing import Any

import cutlass
from cutlass import Float32, Int64, const_expr, cute
from cutlass.cute.nvgpu import cpasync

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import cluster_sync, indices, init_mbarriers, pair, smem, sync_if

THREADS = 64  # the consumers; the producer is one more warp
ROWS, COLUMNS = 8, 32  # a tile has 8 rows of 128 bytes
TILE = ROWS * COLUMNS
STAGES = 2


def swizzled_tile(stages: int) -> Any:
    """Return the layout of `stages` row-major tiles with the 128-byte swizzle."""
    plain = cute.make_layout((ROWS, COLUMNS, stages), stride=(COLUMNS, 1, TILE))
    return cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, plain)


def tiles(layout: Any) -> Any:
    """Allocate shared memory with a swizzled layout."""
    allocator = cutlass.memory.SmemAllocator()
    return allocator.allocate_tensor(Float32, layout.outer, 1024, swizzle=layout.inner)


def partition(atom: cute.CopyAtom, sX: cute.Tensor, mX: cute.Tensor) -> tuple[Any, Any]:
    """Return (tile or stages of tiles, tiles of the tensor) in the form that the atom copies."""
    gX = cute.zipped_divide(mX, (ROWS, COLUMNS))
    whole = cute.make_layout(1)
    return cpasync.tma_partition(atom, 0, whole, cute.group_modes(sX, 0, 2), gX)


def sums():
    return fk.randn(3 * ROWS, COLUMNS), fk.zeros(ROWS, COLUMNS)


COPY, LIFETIME, FENCE = ("async-copy",), ("block-lifetime",), ("proxy-fence",)


@cute.jit
def consume(mY: cute.Tensor, sX: cute.Tensor, full: cute.Pointer, empty: cute.Pointer,
            n: cutlass.Int32, bug: cutlass.Constexpr):  # fmt: skip
    """Wait for each stage, use it, and release it."""
    tidx, _, _ = cute.arch.thread_idx()
    for i in cutlass.range(n, unroll=1):
        s, round = i % STAGES, i // STAGES
        if const_expr(bug != "not_awaited"):
            cute.arch.mbarrier_wait(full + s, round % 2)  # BUG expects_less, expects_more
        sync_if(bug == "given_back_early", cute.arch.mbarrier_arrive, empty + s)
        for k in cutlass.range_constexpr(TILE // THREADS):
            row, column = (k * THREADS + tidx) // COLUMNS, tidx % COLUMNS
            # BUG not_awaited, reused_early, given_back_early, into_the_other
            mY[i * ROWS + row, column] = 2.0 * sX[row, column, s]
        sync_if(bug != "given_back_early", cute.arch.mbarrier_arrive, empty + s)


@cute.jit
def produce(atom: cute.CopyAtom, sX: cute.Tensor, gX: cute.Tensor, full: cute.Pointer,
            empty: cute.Pointer, n: cutlass.Int32, bug: cutlass.Constexpr):  # fmt: skip
    """Wait until each stage is free, announce its bytes, and start its copy."""
    for i in cutlass.range(n, unroll=1):
        s, round = i % STAGES, i // STAGES
        into = (i + 1) % STAGES if const_expr(bug == "into_the_other") else s
        if const_expr(bug != "reused_early"):
            cute.arch.mbarrier_wait(empty + s, (round + 1) % 2)  # BUG expects_less, expects_more
        size = 4 * TILE
        if const_expr(bug in ("expects_less", "expects_more")):
            size = 2 * TILE if bug == "expects_less" else 8 * TILE
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(full + s, size)  # BUG reused_early
        # BUG not_awaited, reused_early, given_back_early, into_the_other, misaligned, too_large
        cute.copy(atom, gX[None, i], sX[None, into], tma_bar_ptr=full + s)


@cute.kernel
def tensor_pipeline_kernel(atom: cute.CopyAtom, mX: cute.Tensor, mY: cute.Tensor,
                           layout: cute.Layout | cute.ComposedLayout,
                           bug: cutlass.Constexpr):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    if const_expr(bug == "misaligned"):
        sX = smem((ROWS, COLUMNS, STAGES), stride=(COLUMNS, 1, TILE + 8))
    else:
        sX = tiles(layout)
    full, empty = smem(STAGES, Int64).iterator, smem(STAGES, Int64).iterator
    sA, gX = partition(atom, sX, mX)
    n = mY.shape[0] // ROWS
    init_mbarriers((full, 1), (empty, THREADS), stages=STAGES)
    if tidx >= THREADS:
        produce(atom, sA, gX, full, empty, n, bug)
    else:
        consume(mY, sX, full, empty, n, bug)


@family(args=pair(5 * ROWS, COLUMNS), want=lambda x, y: 2 * x, static=(0, 1), bugs=(
    Bug("not_awaited", COPY, "Consumers do not wait.", also=LIFETIME,
        args=lambda: (fk.randn(2 * ROWS, COLUMNS), fk.empty(2 * ROWS, COLUMNS))),
    Bug("reused_early", (*COPY, "mbarrier"), "The producer does not wait for the consumers.",
        loose=True),
    Bug("given_back_early", COPY, "A stage is released before it is read."),
    Bug("into_the_other", COPY, "A tile is loaded into a stage that is not its mbarrier's."),
    Bug("expects_less", ("deadlock",), "The mbarrier expects half of the bytes."),
    Bug("expects_more", ("deadlock",), "The mbarrier expects twice the bytes."),
    Bug("misaligned", ("misaligned",), "The second stage begins between two lines."),
    Bug("too_large", ("out-of-bounds",), "The map states twice as many rows as there are.",
        args=lambda: (fk.randn(ROWS, COLUMNS), fk.empty(2 * ROWS, COLUMNS))),
))  # fmt: skip
@cute.jit
def tensor_pipeline(mX: cute.Tensor, mY: cute.Tensor, bug: cutlass.Constexpr = None):
    layout = swizzled_tile(STAGES)
    if const_expr(bug == "misaligned"):
        layout = cute.make_layout((ROWS, COLUMNS, STAGES), stride=(COLUMNS, 1, TILE + 8))
    described = mX
    if const_expr(bug == "too_large"):
        larger = cute.make_layout((2 * mX.shape[0], COLUMNS), stride=(COLUMNS, 1))
        described = cute.make_tensor(mX.iterator, larger)
    one = cute.slice_(layout, (None, None, 0))
    load = cpasync.CopyBulkTensorTileG2SOp()
    atom, gX = cpasync.make_tiled_tma_atom(load, described, one, (ROWS, COLUMNS))
    tensor_pipeline_kernel(atom, gX, mY, layout, bug).launch(
        grid=(1, 1, 1), block=(THREADS + 32, 1, 1)
    )


@cute.kernel
def tensor_store_kernel(mX: cute.Tensor, atom: cute.CopyAtom, mY: cute.Tensor,
                        layout: cute.Layout, bug: cutlass.Constexpr):  # fmt: skip
    """All threads of a block fill two tiles, one after the other, in the same shared memory; one
    warp stores them."""
    tidx, bidx = indices()
    sX = smem((ROWS, COLUMNS), stride=(COLUMNS, 1))
    sA, gY = partition(atom, sX, mY)
    for t in cutlass.range_constexpr(2):
        tile = 2 * bidx + t
        sync_if(bug == "fenced_too_soon", cute.arch.fence_proxy, "async.shared", space="cta")
        rounds = TILE // THREADS - (bug == "half_filled")
        for k in cutlass.range_constexpr(rounds):
            row, column = (k * THREADS + tidx) // COLUMNS, tidx % COLUMNS
            # BUG not_awaited, another_waits, without_barrier, unfenced, fenced_too_soon
            sX[row, column] = mX[tile * ROWS + row, column] + 1.0  # BUG fenced_by_one
        if const_expr(bug == "fenced_by_one"):
            if tidx == 0:
                cute.arch.fence_proxy("async.shared", space="cta")
        elif const_expr(bug not in ("unfenced", "fenced_too_soon")):
            cute.arch.fence_proxy("async.shared", space="cta")
        sync_if(bug != "without_barrier")
        if cute.arch.make_warp_uniform(cute.arch.warp_idx()) == 0:
            # BUG not_awaited, another_waits, without_barrier, leaves, unfenced, fenced_too_soon
            cute.copy(atom, sA, gY[None, tile])  # BUG fenced_by_one, half_filled
            cute.arch.cp_async_bulk_commit_group()
            if const_expr(bug not in ("not_awaited", "another_waits")):
                if const_expr(bug != "leaves" or t == 0):
                    cute.arch.cp_async_bulk_wait_group(0, read=True)
        elif const_expr(bug == "another_waits"):
            cute.arch.cp_async_bulk_wait_group(0, read=True)
        cute.arch.sync_threads()


@family(args=pair(4 * ROWS, COLUMNS), want=lambda x, y: x + 1, static=(0, 1), bugs=(
    Bug("not_awaited", COPY, "The tile is filled again too early.", also=LIFETIME),
    Bug("another_waits", COPY, "The waiting warp has started no copy.", also=LIFETIME),
    Bug("without_barrier", COPY, "The tile is stored before all threads have written it."),
    Bug("leaves", LIFETIME, "The block exits while its tile is being read."),
    Bug("unfenced", FENCE, "There is no proxy fence between the stores and the copy."),
    Bug("fenced_too_soon", FENCE, "The proxy fence precedes the stores."),
    Bug("half_filled", ("uninitialised-shared",), "The last rows of the tile are not written."),
    Bug("fenced_by_one", FENCE, "Only the thread that starts the copy fences, too early."),
))  # fmt: skip
@cute.jit
def tensor_store(mX: cute.Tensor, mY: cute.Tensor, bug: cutlass.Constexpr = None):
    layout = cute.make_layout((ROWS, COLUMNS), stride=(COLUMNS, 1))
    store = cpasync.CopyBulkTensorTileS2GOp()
    atom, gY = cpasync.make_tiled_tma_atom(store, mY, layout, (ROWS, COLUMNS))
    blocks = mX.shape[0] // (2 * ROWS)
    tensor_store_kernel(mX, atom, gY, layout, bug).launch(
        grid=(blocks, 1, 1), block=(THREADS, 1, 1)
    )


@cute.kernel
def tensor_in_place_kernel(load: cute.CopyAtom, mX: cute.Tensor, store: cute.CopyAtom,
                           mY: cute.Tensor, layout: cute.ComposedLayout,
                           bug: cutlass.Constexpr):  # fmt: skip
    """Load a tile, double it in place, and store it; tiles at the tensor's edges are not full."""
    tidx, bidx = indices()
    sX, full = tiles(layout), smem(1, Int64).iterator
    sA, gX = partition(load, sX, mX)
    _, gY = partition(store, sX, mY)
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    init_mbarriers((full, 1))
    if warp == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(full, 4 * TILE)
        cute.copy(load, gX[None, bidx], sA[None, 0], tma_bar_ptr=full)  # BUG read_too_soon
    sync_if(bug != "read_too_soon", cute.arch.mbarrier_wait, full, 0)
    for k in cutlass.range_constexpr(TILE // THREADS):
        row, column = (k * THREADS + tidx) // COLUMNS, tidx % COLUMNS
        # BUG unfenced_in_place, read_too_soon, stored_too_soon
        sX[row, column, 0] = 2.0 * sX[row, column, 0]
    sync_if(bug != "unfenced_in_place", cute.arch.fence_proxy, "async.shared", space="cta")
    sync_if(bug != "stored_too_soon")
    if warp == 0:
        # BUG unfenced_in_place, stored_too_soon, map_of_the_input
        cute.copy(store, sA[None, 0], gY[None, bidx])
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0, read=True)


@family(args=pair(13, 44), want=lambda x, y: 2 * x, static=(0, 1), bugs=(
    Bug("unfenced_in_place", FENCE, "There is no proxy fence before the tile is stored."),
    Bug("read_too_soon", COPY, "No thread waits for the tile.", also=LIFETIME),
    Bug("stored_too_soon", COPY, "The tile is stored before all threads have changed it."),
    Bug("map_of_the_input", ("read-only-write",), "The store uses the other tensor's map.",
        read_only=(0,)),
))  # fmt: skip
@cute.jit
def tensor_in_place(mX: cute.Tensor, mY: cute.Tensor, bug: cutlass.Constexpr = None):
    layout = swizzled_tile(1)
    one, shape = cute.slice_(layout, (None, None, 0)), (ROWS, COLUMNS)
    load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
    loads, gX = cpasync.make_tiled_tma_atom(load, mX, one, shape)
    target = mX if const_expr(bug == "map_of_the_input") else mY
    stores, gY = cpasync.make_tiled_tma_atom(store, target, one, shape)
    blocks = cute.ceil_div(mX.shape[0], ROWS) * cute.ceil_div(mX.shape[1], COLUMNS)
    tensor_in_place_kernel(loads, gX, stores, gY, layout, bug).launch(
        grid=(blocks, 1, 1), block=(THREADS, 1, 1)
    )


@cute.kernel
def tensor_sum_kernel(mX: cute.Tensor, atom: cute.CopyAtom, mY: cute.Tensor,
                      layout: cute.Layout, bug: cutlass.Constexpr):  # fmt: skip
    """All blocks add their tiles to the first tile of y."""
    tidx, bidx = indices()
    sX = smem((ROWS, COLUMNS), stride=(COLUMNS, 1))
    sA, gY = partition(atom, sX, mY)
    for k in cutlass.range_constexpr(TILE // THREADS):
        row, column = (k * THREADS + tidx) // COLUMNS, tidx % COLUMNS
        sX[row, column] = mX[bidx * ROWS + row, column]
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    if cute.arch.make_warp_uniform(cute.arch.warp_idx()) == 0:
        cute.copy(atom, sA, gY[None, 0])  # BUG stored
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0, read=True)


@family(args=sums, want=lambda x, y: x.reshape(3, ROWS, COLUMNS).sum(0), static=(0, 1), bugs=(
    Bug("stored", ("global-race",), "Blocks store instead of adding."),
))  # fmt: skip
@cute.jit
def tensor_sum(mX: cute.Tensor, mY: cute.Tensor, bug: cutlass.Constexpr = None):
    layout = cute.make_layout((ROWS, COLUMNS), stride=(COLUMNS, 1))
    op = cpasync.CopyReduceBulkTensorTileS2GOp()
    if const_expr(bug == "stored"):
        op = cpasync.CopyBulkTensorTileS2GOp()
    atom, gY = cpasync.make_tiled_tma_atom(op, mY, layout, (ROWS, COLUMNS))
    blocks = mX.shape[0] // ROWS
    tensor_sum_kernel(mX, atom, gY, layout, bug).launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def tensor_multicast_kernel(atom: cute.CopyAtom, mX: cute.Tensor, mY: cute.Tensor,
                            layout: cute.ComposedLayout, bug: cutlass.Constexpr):  # fmt: skip
    """Each of two blocks loads half of a tile into both blocks, for two tiles in succession."""
    tidx, _, _ = cute.arch.thread_idx()
    rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())
    sX, full = tiles(layout), smem(1, Int64).iterator
    gX = cute.zipped_divide(mX, (ROWS, COLUMNS))
    sA, gA = cpasync.tma_partition(atom, rank, cute.make_layout(2), cute.group_modes(sX, 0, 2), gX)
    if tidx == 0:
        cute.arch.mbarrier_init(full, 1)
    cute.arch.mbarrier_init_fence()
    if const_expr(bug == "starts_alone"):
        cute.arch.sync_threads()
    else:
        cluster_sync()
    for t in cutlass.range_constexpr(2):
        if cute.arch.make_warp_uniform(cute.arch.warp_idx()) == 0:
            with cute.arch.elect_one():
                size = 2 * TILE if const_expr(bug == "expects_its_own") else 4 * TILE
                cute.arch.mbarrier_arrive_and_expect_tx(full, size)
            # BUG loaded_too_soon, starts_alone, expects_its_own
            cute.copy(atom, gA[None, t], sA[None, 0], tma_bar_ptr=full, mcast_mask=cutlass.Int16(3))
        cute.arch.mbarrier_wait(full, t)
        for k in cutlass.range_constexpr(TILE // THREADS):
            row, column = (k * THREADS + tidx) // COLUMNS, tidx % COLUMNS
            # BUG loaded_too_soon, expects_its_own
            mY[(2 * rank + t) * ROWS + row, column] = sX[row, column, 0]
        if const_expr(bug == "loaded_too_soon"):
            cute.arch.sync_threads()
        else:
            cluster_sync()


@family(args=lambda: (fk.randn(2 * ROWS, COLUMNS), fk.empty(4 * ROWS, COLUMNS)),
        want=lambda x, y: x.repeat(2, 1), static=(0, 1), bugs=(
    Bug("loaded_too_soon", COPY, "A tile arrives while the other block still reads."),
    Bug("starts_alone", LIFETIME, "The other block may not have started.", loose=True,
        also=("mbarrier", "shared-race", *COPY)),
    Bug("expects_its_own", COPY,
        "Each block expects only the bytes that it loads itself.", also=LIFETIME),
))  # fmt: skip
@cute.jit
def tensor_multicast(mX: cute.Tensor, mY: cute.Tensor, bug: cutlass.Constexpr = None):
    layout = swizzled_tile(1)
    load = cpasync.CopyBulkTensorTileG2SMulticastOp()
    atom, gX = cpasync.make_tiled_tma_atom(
        load, mX, cute.slice_(layout, (None, None, 0)), (ROWS, COLUMNS), num_multicast=2
    )
    tensor_multicast_kernel(atom, gX, mY, layout, bug).launch(
        grid=(2, 1, 1), block=(THREADS, 1, 1), cluster=(2, 1, 1)
    )
