"""Bulk copies in several stages, with short last tiles, in place, and with two operands."""

import cutlass
from cutlass import Float32, Int64, const_expr, cute
from cutlass.cute.nvgpu import cpasync

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import by_parts, indices, init_mbarriers, pair, smem, sync_if

THREADS = 64
STAGES = 3


def bulk_load():
    return cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Float32)


def bulk_store():
    return cute.make_copy_atom(cpasync.CopyBulkS2GOp(), Float32)


ASYNC, DEADLOCK = ("async-copy",), ("deadlock",)
LEFT = ("block-lifetime", "uninitialised-shared")


@family(block=THREADS, args=lambda: (fk.randn(7 * THREADS), fk.empty(THREADS)),
        want=lambda x, y: x.view(7, THREADS).sum(0).flip(0), bugs=(
    Bug("wrong_parity", ASYNC, "The wait is for the previous phase.",
        also=(*LEFT, "mbarrier"), loose=True),
    Bug("waits_for_the_last", ASYNC, "The wait is for the previous stage.",
        also=(*LEFT, "mbarrier"), loose=True),
    Bug("without_barrier", (*ASYNC, "shared-race"),
        "A stage is loaded while other threads read it.",
        loose=True),
    Bug("reads_ahead", ASYNC, "The next stage is read instead of the awaited one.", also=LEFT,
        loose=True, seeds=3),
    Bug("loaded_into_the_next", ASYNC, "The tile is loaded into the following stage.",
        also=("shared-race",), loose=True),
    Bug("reloads_nothing", DEADLOCK, "The mbarrier expects bytes that no thread copies."),
))  # fmt: skip
@cute.kernel
def staged_sum(mX, mY, bug):
    """All threads use a stage; then thread 0 loads the tile after next into that stage."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem((THREADS, STAGES))
    full = smem(STAGES, Int64).iterator
    gX = cute.zipped_divide(mX, (THREADS,))
    tiles = mX.shape[0] // THREADS
    if tidx == 0:
        for s in cutlass.range_constexpr(STAGES):
            cute.arch.mbarrier_init(full + s, 1)
        cute.arch.mbarrier_init_fence()
        for s in cutlass.range_constexpr(STAGES):
            cute.arch.mbarrier_arrive_and_expect_tx(full + s, 4 * THREADS)
            # BUG wrong_parity, waits_for_the_last, reads_ahead, loaded_into_the_next
            cute.copy(bulk_load(), gX[None, s], sX[None, s], mbar_ptr=full + s)
    cute.arch.sync_threads()
    total = Float32(0.0)
    for t in cutlass.range(tiles, unroll=1):
        s, round = t % STAGES, t // STAGES
        if const_expr(bug == "wrong_parity"):
            cute.arch.mbarrier_wait(full + s, (round + 1) % 2)
        elif const_expr(bug == "waits_for_the_last"):
            if t > 0:
                cute.arch.mbarrier_wait(full + (t - 1) % STAGES, ((t - 1) // STAGES) % 2)
        else:
            cute.arch.mbarrier_wait(full + s, round % 2)  # BUG reloads_nothing
        stage = (t + 1) % STAGES if const_expr(bug == "reads_ahead") else s
        # BUG wrong_parity, waits_for_the_last, without_barrier, reads_ahead, loaded_into_the_next
        total += sX[THREADS - 1 - tidx, stage]
        sync_if(bug != "without_barrier")
        if tidx == 0 and t + STAGES < tiles:
            into = (t + 1) % STAGES if const_expr(bug == "loaded_into_the_next") else s
            cute.arch.mbarrier_arrive_and_expect_tx(full + s, 4 * THREADS)
            if const_expr(bug != "reloads_nothing"):
                # BUG wrong_parity, waits_for_the_last, without_barrier, reads_ahead
                # BUG loaded_into_the_next
                cute.copy(bulk_load(), gX[None, t + STAGES], sX[None, into], mbar_ptr=full + s)
    mY[tidx] = total


@family(block=THREADS, grid=lambda mX, mY: mX.shape[0] // (3 * THREADS), args=pair(6 * THREADS),
        want=lambda x, y: 2 * x, bugs=(
    Bug("not_awaited", ASYNC, "The tile is doubled before it has arrived.",
        also=(*LEFT, "mbarrier"), loose=True),
    Bug("stored_early", ASYNC, "Thread 0 stores the tile before the other threads have doubled it.",
        also=("shared-race",)),
    Bug("reloaded_early", ASYNC, "The next tile arrives before the store has read this one.",
        also=LEFT),
    Bug("read_group", ASYNC, "The wait leaves one store in flight.", also=LEFT),
    Bug("left_early", ("block-lifetime",),
        "The block exits before its last store has read its source."),
))  # fmt: skip
@cute.kernel
def in_and_out(mX, mY, bug):
    """Three times, a tile arrives by bulk copy, is doubled in place, and leaves by bulk copy."""
    tidx, bidx = indices()
    sX = smem(THREADS)
    mbar = smem(1, Int64).iterator
    gX, gY = cute.zipped_divide(mX, (THREADS,)), cute.zipped_divide(mY, (THREADS,))
    init_mbarriers((mbar, 1))
    for k in cutlass.range_constexpr(3):
        tile = 3 * bidx + k
        if tidx == 0:
            cute.arch.mbarrier_arrive_and_expect_tx(mbar, 4 * THREADS)
            # BUG not_awaited, reloaded_early, read_group
            cute.copy(bulk_load(), gX[None, tile], sX, mbar_ptr=mbar)
        sync_if(bug != "not_awaited", cute.arch.mbarrier_wait, mbar, k % 2)
        sX[tidx] = 2.0 * sX[tidx]  # BUG not_awaited, stored_early
        cute.arch.fence_proxy("async.shared", space="cta")
        sync_if(bug != "stored_early")
        if tidx == 0:
            # BUG stored_early, reloaded_early, read_group, left_early
            cute.copy(bulk_store(), sX, gY[None, tile])
            sync_if(bug != "not_committed", cute.arch.cp_async_bulk_commit_group)
            if const_expr(bug == "read_group"):
                cute.arch.cp_async_bulk_wait_group(1, read=True)
            elif const_expr(bug == "left_early" and k == 2):
                pass
            elif const_expr(bug != "reloaded_early"):
                cute.arch.cp_async_bulk_wait_group(0, read=True)
        cute.arch.sync_threads()


@family(block=THREADS, grid=by_parts(2 * THREADS), args=pair(5 * 32 * 2), want=lambda x, y: 3 * x,
        bugs=(
    Bug("expects_a_whole_tile", DEADLOCK, "The last tile is shorter than expected."),
    Bug("past_the_end", ("out-of-bounds",),
        "Each block copies all elements, and some beyond the end."),
    Bug("without_predicate", ("out-of-bounds",), "Elements past the end are stored.",
        also=("uninitialised-shared",)),
))  # fmt: skip
@cute.kernel
def short_last_tile(mX, mY, bug):
    """Tiles have 128 floats, except that the last tile is shorter; the mbarrier expects the tile's
    actual bytes."""
    tidx, bidx = indices()
    sX = smem(2 * THREADS)
    mbar = smem(1, Int64).iterator
    left = cutlass.min(mX.shape[0] - bidx * 2 * THREADS, 2 * THREADS)
    if tidx == 0:
        cute.arch.mbarrier_init(mbar, 1)
        cute.arch.mbarrier_init_fence()
        size = 8 * THREADS if const_expr(bug == "expects_a_whole_tile") else 4 * left
        cute.arch.mbarrier_arrive_and_expect_tx(mbar, size)
        copied = mX.shape[0] if const_expr(bug == "past_the_end") else left
        for j in cutlass.range(copied // 32, unroll=1):
            four = cute.make_layout(32)
            offset = cute.assume(bidx * 2 * THREADS + 32 * j, divby=32)
            # BUG past_the_end
            cute.copy(
                bulk_load(),
                cute.make_tensor(mX.iterator + offset, four),
                cute.make_tensor(sX.iterator + cute.assume(32 * j, divby=32), four),
                mbar_ptr=mbar,
            )
    cute.arch.sync_threads()
    cute.arch.mbarrier_wait(mbar, 0)  # BUG expects_a_whole_tile
    for k in cutlass.range_constexpr(2):
        i = k * THREADS + tidx
        if const_expr(bug == "without_predicate"):
            mY[bidx * 2 * THREADS + i] = 3.0 * sX[i]  # BUG without_predicate
        elif i < left:
            mY[bidx * 2 * THREADS + i] = 3.0 * sX[i]


@family(block=THREADS, grid=lambda mA, mB, mY: mA.shape[0] // THREADS,
        args=lambda: (fk.randn(128), fk.randn(128), fk.empty(128)), want=lambda a, b, y: a * b,
        bugs=(
    Bug("expects_one", ASYNC,
        "The mbarrier expects the bytes of only one copy.", also=LEFT, seeds=3),
    Bug("to_one_place", ASYNC, "Both copies have the same target.", also=LEFT),
))  # fmt: skip
@cute.kernel
def two_operands(mA, mB, mY, bug):
    """Two copies complete on one mbarrier, which expects the bytes of both."""
    tidx, bidx = indices()
    sA, sB = smem(THREADS), smem(THREADS)
    mbar = smem(1, Int64).iterator
    if tidx == 0:
        cute.arch.mbarrier_init(mbar, 1)
        cute.arch.mbarrier_init_fence()
        size = 4 * THREADS if const_expr(bug == "expects_one") else 8 * THREADS
        cute.arch.mbarrier_arrive_and_expect_tx(mbar, size)
        gA, gB = cute.zipped_divide(mA, (THREADS,)), cute.zipped_divide(mB, (THREADS,))
        cute.copy(bulk_load(), gA[None, bidx], sA, mbar_ptr=mbar)  # BUG to_one_place
        into = sA if const_expr(bug == "to_one_place") else sB
        cute.copy(bulk_load(), gB[None, bidx], into, mbar_ptr=mbar)  # BUG to_one_place, expects_one
    cute.arch.sync_threads()
    cute.arch.mbarrier_wait(mbar, 0)
    b = sA[tidx] if const_expr(bug == "to_one_place") else sB[tidx]  # BUG expects_one
    mY[bidx * THREADS + tidx] = sA[tidx] * b
