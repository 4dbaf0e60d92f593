"""Running sums over blocks: chained, with decoupled look-back, and with counters that find the
last."""

import cutlass
import torch
from cutlass import Int32, const_expr, cute

from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import (
    acquire,
    by_rows,
    empty,
    indices,
    integers,
    release,
    smem,
    sync_if,
    wait_for,
    zeros,
)

THREADS = 64


def prefixes(x):
    return x.sum(1).cumsum(0).int()


def before_and_lane(x):
    return (prefixes(x) - x.sum(1).int())[:, None] + torch.arange(THREADS, dtype=torch.int32)


RACE, SHARED, EMPTY = ("global-race",), ("shared-race",), ("uninitialised-global",)


@cute.jit
def block_total(x: Int32, sT: cute.Tensor) -> Int32:
    """Return the block's sum to all its threads."""
    warp = cute.arch.warp_idx()
    total = cute.arch.warp_redux_sync(x, "add")
    if cute.arch.lane_idx() == 0:
        sT[warp] = total
    cute.arch.sync_threads()
    return sT[0] + sT[1]


@family(block=THREADS, grid=by_rows,
        args=lambda: (integers(4, THREADS), zeros(4), empty(4, THREADS)),
        want=lambda x, f, p: prefixes(x)[:, None].expand(-1, THREADS), bugs=(
    Bug("not_awaited", RACE, "No block waits for the previous block.", also=EMPTY),
    Bug("flagged_first", RACE, "The flag is set before the sum is stored.", also=EMPTY),
    Bug("own_flag", ("endless", "deadlock"), "Each block waits for its own flag.", loose=True),
    Bug("not_synced", SHARED, "The sum of the previous blocks is read without a barrier.",
        loose=True, also=("uninitialised-shared",)),
))  # fmt: skip
@cute.kernel
def chained_sum(mX, mF, mP, bug):
    """Compute running sums in mP; one thread waits for the previous block's sum while its own block
    waits at a barrier."""
    tidx, bidx = indices()
    sT, sBefore = smem(2, Int32), smem(1, Int32)
    total = block_total(mX[bidx, tidx], sT)
    if tidx == 0:
        sBefore[0] = 0  # BUG not_synced
        if bidx > 0:
            if const_expr(bug != "not_awaited"):
                place = bidx if bug == "own_flag" else bidx - 1
                seen = acquire(mF.iterator + place)
                while seen == 0:  # BUG own_flag
                    # BUG own_flag
                    seen = cute.arch.load(mF.iterator + place, Int32, sem="acquire", scope="gpu")
            sBefore[0] = mP[bidx - 1, 0]  # BUG not_awaited, flagged_first, not_synced
        sync_if(bug == "flagged_first", release, mF.iterator + bidx, 1)
    if const_expr(bug != "not_synced"):
        cute.arch.sync_threads()  # BUG own_flag
    mP[bidx, tidx] = sBefore[0] + total  # BUG not_awaited, flagged_first, not_synced
    if const_expr(bug != "flagged_first"):
        cute.arch.sync_threads()
        if tidx == 0:
            release(mF.iterator + bidx, 1)


@family(block=THREADS, grid=by_rows,
        args=lambda: (integers(4, THREADS), zeros(4), empty(4), empty(4), empty(4, THREADS)),
        want=lambda x, f, a, p, y: [(p, prefixes(x)), (y, before_and_lane(x))], bugs=(
    Bug("sum_after_flag", RACE, "The block's flag is set before its sum is stored.", also=EMPTY),
    Bug("prefix_after_flag", RACE, "The flag is raised to 2 before the prefix is stored.",
        also=EMPTY),
    Bug("flag_not_read", RACE, "Sums of earlier blocks are read without waiting.", also=EMPTY,
        loose=True, seeds=2),
    Bug("prefix_for_sum", RACE, "The prefix is read when only the sum is ready.", also=EMPTY),
    Bug("read_at_once", SHARED, "Other threads read thread 0's result without a barrier.",
        also=("uninitialised-shared",)),
))  # fmt: skip
@cute.kernel
def look_back(mX, mF, mA, mP, mY, bug):
    """Flag 1: mA contains the block's own sum; flag 2: mP contains the sum up to and including the
    block."""
    tidx, bidx = indices()
    sT, sBefore = smem(2, Int32), smem(1, Int32)
    total = block_total(mX[bidx, tidx], sT)
    if tidx == 0:
        sync_if(bug == "sum_after_flag", release, mF.iterator + bidx, 1)
        mA[bidx] = total  # BUG sum_after_flag, flag_not_read
        sync_if(bug != "sum_after_flag", release, mF.iterator + bidx, 1)
        before = Int32(0)
        b = bidx - 1
        while b >= 0:
            sync_if(bug != "flag_not_read", wait_for, mF.iterator + b, Int32(1))
            if const_expr(bug == "prefix_for_sum"):
                before += mP[b]  # BUG prefix_for_sum
                b = Int32(-1)
            elif acquire(mF.iterator + b) == 2:
                before += mP[b]  # BUG prefix_after_flag, flag_not_read
                b = Int32(-1)
            else:
                before += mA[b]  # BUG sum_after_flag, flag_not_read
                b -= 1
        sync_if(bug == "prefix_after_flag", release, mF.iterator + bidx, 2)
        mP[bidx] = before + total  # BUG prefix_for_sum, prefix_after_flag
        sync_if(bug != "prefix_after_flag", release, mF.iterator + bidx, 2)
        sBefore[0] = before  # BUG read_at_once
    sync_if(bug != "read_at_once")
    mY[bidx, tidx] = sBefore[0] + tidx  # BUG read_at_once


@family(block=THREADS, grid=by_rows,
        args=lambda: (integers(4, THREADS), zeros(4), empty(4, THREADS)),
        want=lambda x, w, y: before_and_lane(x))  # fmt: skip
@cute.kernel
def packed_look_back(mX, mW, mY):
    """State and value share one word (value * 4 + state), so no fence is needed."""
    tidx, bidx = indices()
    sT, sBefore = smem(2, Int32), smem(1, Int32)
    total = block_total(mX[bidx, tidx], sT)
    if tidx == 0:
        word = mW.iterator
        cute.arch.store(word + bidx, total * 4 + 1, sem="relaxed", scope="gpu")
        before = Int32(0)
        b = bidx - 1
        while b >= 0:
            seen = Int32(0)
            while seen == 0:
                seen = cute.arch.load(word + b, Int32, sem="relaxed", scope="gpu")
            before += seen // 4
            b = b - 1 if seen % 4 == 1 else Int32(-1)
        cute.arch.store(word + bidx, (before + total) * 4 + 2, sem="relaxed", scope="gpu")
        sBefore[0] = before
    cute.arch.sync_threads()
    mY[bidx, tidx] = sBefore[0] + tidx


@family(block=128, args=lambda: (integers(128), empty(1)), want=lambda x, y: x.sum().int()[None],
        bugs=(
    Bug("counted_before_zero", SHARED, "Warps count before the counter is zero.",
        also=("uninitialised-shared",)),
    Bug("counted_before_stored", SHARED, "A warp counts before it has stored its sum.",
        also=("uninitialised-shared",)),
    Bug("last_but_one", SHARED, "The last warp but one adds all sums.",
        also=("uninitialised-shared",)),
))  # fmt: skip
@cute.kernel
def last_warp(mX, mY, bug):
    """Warps store their sums and count in shared memory; the last warp to count adds all sums."""
    tidx, _, _ = cute.arch.thread_idx()
    lane, warp = cute.arch.lane_idx(), cute.arch.warp_idx()
    sSum, sDone = smem(4, Int32), smem(1, Int32)
    if tidx == 0:
        sDone[0] = 0  # BUG counted_before_zero
    sync_if(bug != "counted_before_zero")
    total = cute.arch.warp_redux_sync(mX[tidx], "add")
    done = Int32(0)
    if lane == 0:
        if const_expr(bug == "counted_before_stored"):
            done = cute.arch.atomic_add(sDone.iterator, Int32(1), sem="acq_rel", scope="cta")
        sSum[warp] = total  # BUG counted_before_stored, last_but_one
        if const_expr(bug != "counted_before_stored"):
            # BUG counted_before_zero
            done = cute.arch.atomic_add(sDone.iterator, Int32(1), sem="acq_rel", scope="cta")
        if done == (2 if const_expr(bug == "last_but_one") else 3):
            mY[0] = sSum[0] + sSum[1] + sSum[2] + sSum[3]  # BUG counted_before_stored, last_but_one


@family(block=THREADS, grid=2,
        args=lambda: (integers(5, THREADS), zeros(2), empty(2, THREADS), empty(5, THREADS)),
        want=lambda x, f, d, y: 2 * x.flip(1), bugs=(
    Bug("written_over", RACE, "The writer does not wait for the reader.", seeds=12),
    Bug("waits_one_less", RACE, "The writer waits for one row too few.", seeds=2),
    Bug("read_early", RACE, "The reader waits for one row too few.", also=EMPTY, seeds=2),
))  # fmt: skip
@cute.kernel
def stream(mX, mF, mD, mY, bug):
    """Block 0 passes rows to block 1 through two buffers; flags count the written and read rows."""
    tidx, bidx = indices()
    written, read = mF.iterator, mF.iterator + 1
    for row in cutlass.range(mX.shape[0], unroll=1):
        place = row % 2
        if bidx == 0:
            if const_expr(bug not in ("written_over", "waits_one_less")):
                if tidx == 0:
                    wait_for(read, row - 1)
            if const_expr(bug == "waits_one_less"):
                if tidx == 0:
                    wait_for(read, row - 2)
            cute.arch.sync_threads()
            mD[place, tidx] = mX[row, tidx]  # BUG written_over, waits_one_less, read_early
            cute.arch.sync_threads()
            if tidx == 0:
                release(written, row + 1)
        else:
            if tidx == 0:
                wait_for(written, row + (0 if bug == "read_early" else 1))
            cute.arch.sync_threads()
            # BUG written_over, waits_one_less, read_early
            mY[row, tidx] = 2 * mD[place, THREADS - 1 - tidx]
            cute.arch.sync_threads()
            if tidx == 0:
                release(read, row + 1)
