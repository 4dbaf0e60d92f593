"""Sums and maxima of a block: trees, partial results of warps, online softmax."""

import operator

import cutlass
import torch
from cutlass import Float32, Int32, const_expr, cute

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import by_rows, indices, pair, smem, sync_if

THREADS = 64
WARPS = 2


def rows(n):
    return lambda: (fk.randn(3, n), fk.empty(3))


def square(x, y):
    return [(y, torch.softmax(x, 1))]


def row_sums(x, y):
    return [(y, x.sum(1))]


RACE, UNINITIALISED = ("shared-race",), ("uninitialised-shared",)


@family(block=THREADS, grid=by_rows, args=rows(150), want=row_sums, bugs=(
    Bug("unguarded", RACE, "The tree starts before all parts are stored.", changes_result=True),
    Bug("without_syncwarp", RACE, "The last steps of the tree rely on lockstep execution."),
    Bug("of_busy_threads", UNINITIALISED,
        "Threads without a column do not store 0.", args=rows(50)),
))  # fmt: skip
@cute.kernel
def tree_sum(mX, mY, bug):
    """Sum rows, one per block: strided partial sums, then a tree in shared memory, whose last steps
    run in one warp."""
    tidx, row = indices()
    sP = smem(THREADS)
    total = Float32(0.0)
    for c in range(tidx, mX.shape[1], THREADS):
        total += mX[row, c]
    if const_expr(bug == "of_busy_threads"):
        if tidx < mX.shape[1]:
            sP[tidx] = total
    else:
        sP[tidx] = total  # BUG unguarded
    sync_if(bug != "unguarded")
    for step in cutlass.range_constexpr(6):
        half = 32 >> step
        if tidx < half:
            other = sP[tidx + half]  # BUG unguarded, of_busy_threads, without_syncwarp
            sP[tidx] = sP[tidx] + other  # BUG without_syncwarp
        if const_expr(bug != "without_syncwarp"):
            cute.arch.sync_warp()  # for 32 values or fewer, only one warp works
    if tidx == 0:
        mY[row] = sP[0]  # BUG of_busy_threads


@family(block=128, args=lambda: (fk.randn(128), fk.empty(1)), want=lambda x, y: x.sum()[None],
        bugs=(
    Bug("without_step_barrier", RACE, "There is no barrier between the steps of the tree.",
        changes_result=True),
    Bug("without_predicate", ("out-of-bounds",),
        "All threads add; the last ones read past the end.",
        also=("shared-race",)),
))  # fmt: skip
@cute.kernel
def wide_tree(mX, mY, bug):
    """128 threads add 128 values, neighbours first, so every step needs a block barrier."""
    tidx, _, _ = cute.arch.thread_idx()
    sP = smem(128)
    sP[tidx] = mX[tidx]
    cute.arch.sync_threads()
    for step in cutlass.range_constexpr(7):
        apart = 1 << step
        if const_expr(bug == "without_predicate"):
            sP[tidx] = sP[tidx] + sP[tidx + apart]  # BUG without_predicate
        elif tidx % (2 * apart) == 0:
            sP[tidx] = sP[tidx] + sP[tidx + apart]  # BUG without_step_barrier
        sync_if(bug != "without_step_barrier")
    if tidx == 0:
        mY[0] = sP[0]


@family(block=THREADS, grid=by_rows, args=rows(150), want=row_sums, bugs=(
    Bug("without_barrier", RACE, "Thread 0 adds up before the other warp has stored.",
        changes_result=True),
    Bug("with_one_slot", RACE, "Both warps store in element 0.", also=UNINITIALISED),
    Bug("of_four_warps", UNINITIALISED, "Four partial sums are added, but there are two."),
))  # fmt: skip
@cute.kernel
def block_sum(mX, mY, bug):
    """Sum rows, one per block: each warp sums with shuffles, then one thread adds these sums."""
    tidx, row = indices()
    warp = cute.arch.warp_idx()
    sP = smem(4)
    total = Float32(0.0)
    for c in range(tidx, mX.shape[1], THREADS):
        total += mX[row, c]
    total = cute.arch.warp_reduction_sum(total)
    if tidx % 32 == 0:
        if const_expr(bug == "with_one_slot"):
            sP[warp // 2] = total  # BUG with_one_slot
        else:
            sP[warp] = total  # BUG without_barrier
    sync_if(bug != "without_barrier")
    if tidx == 0:
        if const_expr(bug == "of_four_warps"):
            total = sP[0] + sP[1] + sP[2] + sP[3]  # BUG of_four_warps
        else:
            total = sP[0] + sP[1]  # BUG without_barrier
        mY[row] = total  # BUG of_four_warps


@cute.jit
def combine(
    value: Float32, sP: cute.Tensor, warp: Int32, op: cutlass.Constexpr, bug: cutlass.Constexpr
) -> Float32:
    value = cute.arch.warp_reduction(value, op)
    if cute.arch.lane_idx() == 0:
        sP[warp] = value  # BUG reusing_partials_early, without_partials_barrier
    sync_if(bug != "without_partials_barrier")
    value = op(sP[0], sP[1])  # BUG reusing_partials_early, without_partials_barrier
    sync_if(bug != "reusing_partials_early")
    return value


@family(block=THREADS, grid=by_rows, args=pair(2, 90), want=square, bugs=(
    Bug("reusing_partials_early", RACE, "The sums overwrite the buffer of the maxima too early."),
    Bug("without_partials_barrier", RACE, "Partial results are read without a barrier.",
        changes_result=True),
))  # fmt: skip
@cute.kernel
def softmax(mX, mY, bug):
    """Process one row per block in three passes, with one buffer for both reductions."""
    tidx, row = indices()
    warp = cute.arch.warp_idx()
    sP = smem(WARPS)
    N = mX.shape[1]
    top = Float32(-float("inf"))
    for c in range(tidx, N, THREADS):
        top = cute.arch.fmax(top, mX[row, c])
    top = combine(top, sP, warp, cute.arch.fmax, bug)
    total = Float32(0.0)
    for c in range(tidx, N, THREADS):
        total += cute.math.exp(mX[row, c] - top, fastmath=True)
    total = combine(total, sP, warp, operator.add, bug)
    for c in range(tidx, N, THREADS):
        mY[row, c] = cute.math.exp(mX[row, c] - top, fastmath=True) / total


@family(block=THREADS, grid=by_rows, args=pair(2, THREADS), want=square, bugs=(
    Bug("with_buffers_overlapping", RACE, "The buffer of the sums starts one element early."),
    Bug("without_barrier", RACE, "The other warp's pair is read without a barrier.",
        loose=True, changes_result=True),
))  # fmt: skip
@cute.kernel
def online_softmax(mX, mY, bug):
    """Process one row per block, one column per thread; merge the warps' (maximum, sum) pairs."""
    tidx, row = indices()
    warp = cute.arch.warp_idx()
    sMax, sSum = smem(WARPS), smem(WARPS)
    if const_expr(bug == "with_buffers_overlapping"):
        sSum = cute.make_tensor(sMax.iterator + 1, cute.make_layout(WARPS))
    x = mX[row, tidx]
    top = cute.arch.warp_reduction_max(x)
    total = cute.arch.warp_reduction_sum(cute.math.exp(x - top, fastmath=True))
    if cute.arch.lane_idx() == 0:
        sMax[warp] = top  # BUG with_buffers_overlapping, without_barrier
        sSum[warp] = total  # BUG with_buffers_overlapping, without_barrier
    sync_if(bug != "without_barrier")
    other_top = sMax[1 - warp]  # BUG without_barrier
    other_total = sSum[1 - warp]  # BUG without_barrier
    both = cute.arch.fmax(top, other_top)
    total *= cute.math.exp(top - both, fastmath=True)
    total += other_total * cute.math.exp(other_top - both, fastmath=True)
    mY[row, tidx] = cute.math.exp(x - both, fastmath=True) / total


@family(block=THREADS, args=pair(3, THREADS), want=lambda x, y: x - x[:, :1], bugs=(
    Bug("stored_by_everyone", RACE, "All threads store their own values in one element."),
    Bug("read_at_once", RACE, "The value is read without a barrier.", also=UNINITIALISED),
    Bug("stored_again_early", RACE,
        "The next value is stored before all threads have read this one."),
))  # fmt: skip
@cute.kernel
def centre(mX, mY, bug):
    """Compute y = x - x[0] row by row in one block; thread 0 passes x[0] to the other threads
    through one element."""
    tidx, _, _ = cute.arch.thread_idx()
    sF = smem(1)
    for row in cutlass.range(mX.shape[0], unroll=1):
        x = mX[row, tidx]
        if const_expr(bug == "stored_by_everyone"):
            sF[0] = x  # BUG stored_by_everyone
        elif tidx == 0:
            sF[0] = x  # BUG read_at_once, stored_again_early
        sync_if(bug != "read_at_once")
        mY[row, tidx] = x - sF[0]  # BUG read_at_once, stored_again_early
        sync_if(bug != "stored_again_early")
