"""Bugs in a block's histograms and running sums in shared memory."""

import cutlass
import torch
from cutlass import Int32, const_expr, cute

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import by_parts, indices, smem, sync_if

THREADS = 64
BINS = 16


def values():
    return fk.randint(0, 9, THREADS), fk.empty(THREADS, dtype=torch.int32)


def totals(*sizes):
    return lambda: (values()[0], *(fk.zeros(n, dtype=torch.int32) for n in sizes))


def tallied(x, *found):
    v = values()[0]
    return [
        (a, b.int().view(1)) for a, b in zip(found, (v.max(), v.sum(), (v * v).sum()), strict=True)
    ]


def running(x, y):
    return [(y, x.cumsum(0).int())]


def numbers(counts):
    return lambda: (fk.randint(0, BINS, 150), counts(BINS, dtype=torch.int32))


RACE, UNINITIALISED = ("shared-race",), ("uninitialised-shared",)


@family(block=THREADS, grid=by_parts(THREADS), args=numbers(fk.zeros),
        want=lambda x, h: torch.bincount(x, minlength=BINS).int(), bugs=(
    Bug("not_cleared", UNINITIALISED, "The counters in shared memory do not start at 0.",
        loose=True),
    Bug("half_cleared", UNINITIALISED, "Only the first half of the counters starts at 0.",
        loose=True),
    Bug("counting_too_early", RACE,
        "Some threads count before others have cleared the counters.", changes_result=True),
    Bug("without_atomics", RACE, "Counters in shared memory are incremented without atomics."),
    Bug("emptied_too_early", RACE, "Counters are added to the total while other threads count.",
        changes_result=True),
    Bug("added_without_atomics", ("global-race",), "Blocks add to the total without atomics."),
    Bug("into_empty", ("uninitialised-global",), "The total does not start at 0.",
        args=numbers(fk.empty)),
))  # fmt: skip
@cute.kernel
def histogram(mX, mH, bug):
    tidx, bidx = indices()
    sH = smem(BINS, Int32)
    cleared = BINS // 2 if const_expr(bug == "half_cleared") else BINS
    if const_expr(bug != "not_cleared"):
        if tidx < cleared:
            sH[tidx] = 0  # BUG counting_too_early
    sync_if(bug != "counting_too_early")
    i = bidx * THREADS + tidx
    if i < mX.shape[0]:
        x = mX[i]
        if const_expr(bug == "without_atomics"):
            sH[x] = sH[x] + 1  # BUG without_atomics
        else:
            one = Int32(1)
            # BUG not_cleared, half_cleared, counting_too_early, emptied_too_early
            cute.arch.atomic_add(sH.iterator + x, one)
    sync_if(bug != "emptied_too_early")
    if tidx < BINS:
        count = sH[tidx]  # BUG not_cleared, half_cleared, emptied_too_early
        if const_expr(bug == "added_without_atomics"):
            mH[tidx] = mH[tidx] + count  # BUG added_without_atomics
        else:
            # BUG into_empty, not_cleared, half_cleared
            cute.arch.atomic_add(mH.iterator + tidx, count)


@family(block=THREADS, args=values, want=running, bugs=(
    Bug("replacing_too_early", RACE, "Values are replaced while other threads still read them.",
        changes_result=True),
    Bug("reading_too_early", RACE, "The next step reads before all threads have written.",
        changes_result=True),
))  # fmt: skip
@cute.kernel
def scan(mX, mY, bug):
    """Compute running sums in log2(64) steps, in one buffer: read, barrier, write, barrier."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem(THREADS, Int32)
    sX[tidx] = mX[tidx]
    cute.arch.sync_threads()
    for step in cutlass.range_constexpr(6):
        apart = 1 << step
        before = Int32(0)
        if tidx >= apart:
            before = sX[tidx - apart]  # BUG replacing_too_early, reading_too_early
        sync_if(bug != "replacing_too_early")
        sX[tidx] = sX[tidx] + before  # BUG replacing_too_early, reading_too_early
        sync_if(bug != "reading_too_early")
    mY[tidx] = sX[tidx]


@family(block=THREADS, args=values, want=running, bugs=(
    Bug("in_one_buffer", RACE, "The old and the new buffer are the same.", changes_result=True),
    Bug("without_barrier", RACE, "No barrier between the steps.", also=UNINITIALISED),
))  # fmt: skip
@cute.kernel
def two_buffer_scan(mX, mY, bug):
    """Compute running sums from one buffer into the other; one barrier per step is enough."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem((THREADS, 2), Int32)
    sX[tidx, 0] = mX[tidx]
    cute.arch.sync_threads()
    for step in cutlass.range_constexpr(6):
        apart, old, new = 1 << step, step % 2, 1 - step % 2
        if const_expr(bug == "in_one_buffer"):
            old, new = 0, 0
        total = sX[tidx, old]
        if tidx >= apart:
            total += sX[tidx - apart, old]  # BUG in_one_buffer, without_barrier
        sX[tidx, new] = total  # BUG in_one_buffer, without_barrier
        sync_if(bug != "without_barrier")
    mY[tidx] = sX[tidx, 0]


@family(block=THREADS, args=values, want=running, bugs=(
    Bug("without_barrier", RACE, "The first warp's total is read without a barrier.",
        changes_result=True),
    Bug("of_the_next_warp", ("out-of-bounds",),
        "The total is taken from a warp that does not exist."),
))  # fmt: skip
@cute.kernel
def warp_scan(mX, mY, bug):
    """Compute running sums with shuffles; the second warp then adds the first warp's total."""
    tidx, _, _ = cute.arch.thread_idx()
    warp, lane = cute.arch.warp_idx(), cute.arch.lane_idx()
    sT = smem(2, Int32)
    total = mX[tidx]
    for step in cutlass.range_constexpr(5):
        before = cute.arch.shuffle_sync_up(total, offset=1 << step)
        if lane >= 1 << step:
            total += before
    if lane == (30 if const_expr(bug == "of_31_lanes") else 31):
        sT[warp] = total  # BUG without_barrier
    sync_if(bug != "without_barrier")
    if const_expr(bug == "of_the_next_warp"):
        total += sT[warp + 2]  # BUG of_the_next_warp
    elif warp == 1:
        total += sT[0]  # BUG without_barrier
    mY[tidx] = total


@family(block=THREADS, args=totals(1, 1, 1), want=tallied, bugs=(
    Bug("no_most", ("out-of-bounds",), "There is no room for the maximum.", args=totals(0, 1, 1)),
    Bug("no_sum", ("out-of-bounds",), "There is no room for the sum.", args=totals(1, 0, 1)),
    Bug("no_squares", ("out-of-bounds",),
        "There is no room for the squares.", args=totals(1, 1, 0)),
))  # fmt: skip
@cute.kernel
def tally(mX, mMost, mSum, mSquares):
    """Update several results with atomics, one source line per result."""
    tidx, _, _ = cute.arch.thread_idx()
    x = mX[tidx]
    square = x * x
    cute.arch.atomic_max(mMost.iterator, x)  # BUG no_most
    cute.arch.atomic_add(mSum.iterator, x)  # BUG no_sum
    cute.arch.atomic_add(mSquares.iterator, square)  # BUG no_squares
    mX[tidx] = 0
