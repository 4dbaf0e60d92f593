"""Bulk copies: a pipeline with a producer and consumers, stores of whole tiles."""

import cutlass
from cutlass import Float32, Int64, const_expr, cute
from cutlass.cute.nvgpu import cpasync

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import indices, pair, smem, sync_if

THREADS = 64  # the consumers; the producer is one more warp
TILE = 2 * THREADS
STAGES = 2


def two_tiles():
    return fk.randn(2 * TILE), fk.empty(2 * TILE)


COPY, LIFETIME = ("async-copy",), ("block-lifetime",)


@cute.jit
def consume(mY: cute.Tensor, sX: cute.Tensor, full: cute.Pointer, empty: cute.Pointer,
            n: cutlass.Int32, bug: cutlass.Constexpr):  # fmt: skip
    """Wait for each stage, use it, and release it."""
    tidx, _, _ = cute.arch.thread_idx()
    for i in cutlass.range(n, unroll=1):
        s, round = i % STAGES, i // STAGES
        if const_expr(bug == "wrong_parity"):
            cute.arch.mbarrier_wait(full + s, (round + 1) % 2)
        elif const_expr(bug != "not_awaited"):
            # BUG expects_more, never_given_back, counts_too_many, without_barrier
            cute.arch.mbarrier_wait(full + s, round % 2)
        sync_if(bug == "given_back_early", cute.arch.mbarrier_arrive, empty + s)
        for k in cutlass.range_constexpr(TILE // THREADS):
            # BUG not_awaited, wrong_parity, overwritten, given_back_early, without_expect_tx
            x = sX[k * THREADS + tidx, s]
            mY[i * TILE + k * THREADS + tidx] = 2.0 * x
        if const_expr(bug not in ("given_back_early", "never_given_back")):
            cute.arch.mbarrier_arrive(empty + s)  # BUG without_barrier


@cute.jit
def produce(gX: cute.Tensor, sX: cute.Tensor, full: cute.Pointer, empty: cute.Pointer,
            n: cutlass.Int32, bug: cutlass.Constexpr):  # fmt: skip
    """Wait until each stage is free, announce its bytes, and start its copy."""
    atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Float32)
    for i in cutlass.range(n, unroll=1):
        s, round = i % STAGES, i // STAGES
        if const_expr(bug != "overwritten"):
            # BUG never_given_back, counts_too_many, expects_more, without_barrier
            cute.arch.mbarrier_wait(empty + s, (round + 1) % 2)
        if const_expr(bug == "without_expect_tx"):
            cute.arch.mbarrier_arrive(full + s)
        else:
            size = 4 * TILE + (16 if const_expr(bug == "expects_more") else 0)
            # BUG overwritten, without_barrier
            cute.arch.mbarrier_arrive_and_expect_tx(full + s, size)
        # BUG not_awaited, wrong_parity, overwritten, given_back_early, without_expect_tx
        cute.copy(atom, gX[None, i], sX[None, s], mbar_ptr=full + s)  # BUG without_barrier


@family(block=THREADS + 32, args=pair(7 * TILE), want=lambda x, y: 2 * x, bugs=(
    Bug("not_awaited", COPY, "Consumers do not wait.", args=two_tiles, also=LIFETIME),
    Bug("wrong_parity", COPY, "Consumers wait for the previous phase.", also=LIFETIME,
        args=two_tiles),
    Bug("overwritten", (*COPY, "mbarrier"), "The producer does not wait for the consumers.",
        loose=True),
    Bug("given_back_early", COPY, "A stage is released before it is read."),
    Bug("without_expect_tx", COPY, "The mbarrier counts no bytes.", also=LIFETIME),
    Bug("expects_more", ("deadlock",), "16 bytes too many are expected."),
    Bug("never_given_back", ("deadlock",), "No thread arrives at `empty`."),
    Bug("counts_too_many", ("deadlock",), "`empty` waits for twice as many threads."),
    Bug("without_barrier", ("shared-race",), "mbarriers are used before they are made.",
        also=COPY, loose=True),
))  # fmt: skip
@cute.kernel
def bulk_pipeline(mX, mY, bug):
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem((TILE, STAGES))
    full, empty = smem(STAGES, Int64).iterator, smem(STAGES, Int64).iterator
    gX = cute.zipped_divide(mX, (TILE,))
    n = mX.shape[0] // TILE
    if tidx == 0:
        for s in cutlass.range_constexpr(STAGES):
            cute.arch.mbarrier_init(full + s, 1)  # BUG without_barrier
            users = 2 * THREADS if const_expr(bug == "counts_too_many") else THREADS
            cute.arch.mbarrier_init(empty + s, users)  # BUG without_barrier
    cute.arch.mbarrier_init_fence()
    sync_if(bug != "without_barrier")
    if tidx >= THREADS:
        with cute.arch.elect_one():
            produce(gX, sX, full, empty, n, bug)
    else:
        consume(mY, sX, full, empty, n, bug)


@family(block=THREADS, grid=lambda mX, mY: mX.shape[0] // (2 * TILE), args=pair(4 * TILE),
        want=lambda x, y: x + 1, bugs=(
    Bug("not_awaited", COPY, "The tile is filled again too early.", also=LIFETIME),
    Bug("another_waits", COPY, "The waiting thread has started no copy.", also=LIFETIME),
    Bug("without_barrier", COPY, "Stored before all have written."),
    Bug("leaves", LIFETIME, "The block exits while its tile is being read."),
    Bug("misaligned", ("misaligned",), "The tile begins four bytes too late."),
))  # fmt: skip
@cute.kernel
def bulk_store(mX, mY, bug):
    """All threads of a block fill two tiles, one after the other, in the same shared memory; one
    thread stores them."""
    tidx, bidx = indices()
    sX = smem(TILE)
    gX, gY = cute.zipped_divide(mX, (TILE,)), cute.zipped_divide(mY, (TILE,))
    atom = cute.make_copy_atom(cpasync.CopyBulkS2GOp(), Float32)
    for k in cutlass.range_constexpr(2):
        tile = 2 * bidx + k
        for j in cutlass.range_constexpr(TILE // THREADS):
            # BUG not_awaited, another_waits, without_barrier
            sX[j * THREADS + tidx] = gX[j * THREADS + tidx, tile] + 1.0
        cute.arch.fence_proxy("async.shared", space="cta")
        sync_if(bug != "without_barrier")
        if tidx == 0:
            shift = 1 if const_expr(bug == "misaligned") else 0
            size = TILE // 2 if const_expr(bug == "misaligned") else TILE
            sK = cute.make_tensor(sX.iterator + shift, cute.make_layout(size))
            gK = cute.make_tensor(gY[None, tile].iterator, cute.make_layout(size))
            # BUG not_awaited, another_waits, without_barrier, leaves, misaligned
            cute.copy(atom, sK, gK)
            cute.arch.cp_async_bulk_commit_group()
            if const_expr(bug == "leaves" and k == 1):
                pass
            elif const_expr(bug not in ("not_awaited", "another_waits")):
                cute.arch.cp_async_bulk_wait_group(0, read=True)
        if tidx == 32 and const_expr(bug == "another_waits"):
            cute.arch.cp_async_bulk_wait_group(0, read=True)
        cute.arch.sync_threads()
