"""Bugs in multi-step algorithms of a block: sorting, double buffers, compaction, tiles with a
halo."""

import cutlass
import torch
from cutlass import Float32, Int32, const_expr, cute

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import (
    by_tiles,
    empty,
    indices,
    integers,
    pair,
    smem,
    sync_if,
    zeros,
)

THREADS = 64


def ring_sums(x):
    for _ in range(5):
        x = x.roll(1) + x.roll(-1)
    return x.int()


def packed(x, n, y):
    kept = x[x > 0].sort().values
    return [(y[: len(kept)].sort().values, kept), (n, torch.full_like(n, len(kept)))]


def boxes(x, y):
    p = torch.nn.functional.pad(x, (1, 1, 1, 1))
    m, n = x.shape
    return [(y, sum(p[i : i + m, j : j + n] for i in range(3) for j in range(3)))]


def turned(x, y):
    return [(y, x.view(-1, 2).flip(0, 1).reshape(-1))]


RACE, OUT, EMPTY = ("shared-race",), ("out-of-bounds",), ("uninitialised-shared",)


@family(block=THREADS, args=lambda: (fk.randint(0, 99, THREADS), empty(THREADS)),
        want=lambda x, y: x.sort().values.int(), bugs=(
    Bug("without_barrier", RACE, "No barrier between the steps.", loose=True),
    Bug("warp_barrier", RACE, "All steps use sync_warp, even those across warps.", loose=True),
    Bug("wrong_partner", (*OUT, *RACE), "The partner is i + 2^j instead of i xor 2^j.",
        also=RACE, loose=True),
    Bug("all_swap", RACE, "Both partners compare and swap.", loose=True),
))  # fmt: skip
@cute.kernel
def bitonic_sort(mX, mY, bug):
    """Sort 64 values in shared memory in 21 steps; half of the threads compare and swap."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem(THREADS, Int32)
    sX[tidx] = mX[tidx]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(1, 7):
        for j in cutlass.range_constexpr(k - 1, -1, -1):
            other = tidx + (1 << j) if const_expr(bug == "wrong_partner") else tidx ^ (1 << j)
            compares = other != tidx if const_expr(bug == "all_swap") else other > tidx
            if compares:
                a = sX[tidx]  # BUG without_barrier, warp_barrier, wrong_partner, all_swap
                b = sX[other]  # BUG without_barrier, warp_barrier, wrong_partner, all_swap
                if (a > b) == (tidx & (1 << k) == 0):
                    sX[tidx] = b  # BUG without_barrier, warp_barrier, all_swap, wrong_partner
                    sX[other] = a  # BUG without_barrier, warp_barrier, all_swap, wrong_partner
            if const_expr(bug == "warp_barrier"):
                cute.arch.sync_warp()
            elif const_expr(bug != "without_barrier"):
                cute.arch.sync_threads()
    mY[tidx] = sX[tidx]  # BUG without_barrier, warp_barrier


@family(block=THREADS, args=lambda: (integers(THREADS), empty(THREADS)),
        want=lambda x, y: ring_sums(x), bugs=(
    Bug("without_first_barrier", RACE, "The first step begins before all threads have stored.",
        changes_result=True),
    Bug("old_is_new", RACE,
        "The new values are written to the old buffer.", loose=True, also=EMPTY),
    Bug("without_barrier", RACE, "No barrier between the steps.", also=EMPTY, loose=True),
    Bug("one_step_ahead", (*EMPTY, *RACE), "The index of the buffer that is read is one ahead.",
        also=RACE, loose=True),
))  # fmt: skip
@cute.kernel
def jacobi(mX, mY, bug):
    """Compute y[i] = x[i - 1] + x[i + 1], cyclically, five times between two buffers."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem((THREADS, 2), Int32)
    sX[tidx, 0] = mX[tidx]  # BUG without_first_barrier
    sync_if(bug != "without_first_barrier")
    for k in cutlass.range(5, unroll=1):
        old, new = k % 2, (k + 1) % 2
        if const_expr(bug == "old_is_new"):
            new = old
        if const_expr(bug == "one_step_ahead"):
            old = new
        # BUG without_first_barrier, old_is_new, without_barrier, one_step_ahead
        total = sX[(tidx + 1) % THREADS, old] + sX[(tidx + THREADS - 1) % THREADS, old]
        sX[tidx, new] = total  # BUG old_is_new, without_barrier, one_step_ahead
        sync_if(bug != "without_barrier")
    mY[tidx] = sX[tidx, 1]  # BUG one_step_ahead


@family(block=THREADS, grid=lambda mX, mN, mY: mX.shape[0] // THREADS,
        args=lambda: (fk.randint(-9, 9, 192), zeros(1), zeros(192)), want=packed, bugs=(
    Bug("counted_late", RACE, "The counts are added up before both warps have stored.",
        changes_result=True, also=EMPTY),
    Bug("stored_late", RACE, "The block's slot is read without a barrier.",
        also=(*EMPTY, "global-race", "out-of-bounds", "uninitialised-shared")),
    Bug("drawn_plainly", ("global-race",),
        "The counter is incremented without atomics.", loose=True),
    Bug("without_first_warp", ("global-race",), "Both warps store from the same position."),
))  # fmt: skip
@cute.kernel
def compaction(mX, mN, mY, bug):
    """Pack the positive values of all blocks, with counts per warp and one atomic addition per
    block."""
    tidx, bidx = indices()
    warp, lane = tidx // 32, tidx % 32
    sCount, sStart = smem(2, Int32), smem(1, Int32)
    x = mX[bidx * THREADS + tidx]
    votes = cute.arch.vote_ballot_sync(x > 0)
    place = cute.arch.popc(votes & ((Int32(1) << lane) - 1))
    if lane == 0:
        sCount[warp] = cute.arch.popc(votes)  # BUG counted_late
    sync_if(bug != "counted_late")
    if tidx == 0:
        count = sCount[0] + sCount[1]  # BUG counted_late
        if const_expr(bug == "drawn_plainly"):
            sStart[0] = mN[0]  # BUG drawn_plainly
            mN[0] = mN[0] + count  # BUG drawn_plainly
        else:
            sStart[0] = cute.arch.atomic_add(mN.iterator, count)  # BUG stored_late
    sync_if(bug != "stored_late")
    if x > 0:
        start = sStart[0]  # BUG stored_late
        if const_expr(bug != "without_first_warp"):
            if warp == 1:
                start += sCount[0]
        mY[start + place] = x  # BUG without_first_warp, drawn_plainly


@family(block=THREADS, grid=by_tiles(8), args=pair(13, 18), want=boxes, bugs=(
    Bug("without_barrier", RACE, "The tile is used before it is complete."),
    Bug("one_turn", EMPTY, "64 of the 100 elements are filled."),
    Bug("past_the_tile", OUT, "The second round fills 128 elements."),
    Bug("above_the_first_row", OUT, "Rows above the first have no predicate."),
))  # fmt: skip
@cute.kernel
def box(mX, mY, bug):
    """Compute 3 x 3 sums, with zeros outside; 8 x 8 threads load a 10 x 10 tile in two rounds."""
    tidx, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    M, N = mX.shape
    sX = smem((10, 10), stride=(10, 1))
    turns = 1 if const_expr(bug == "one_turn") else 2
    for k in cutlass.range_constexpr(turns):
        at = k * THREADS + tidx
        if at < 100 or const_expr(bug == "past_the_tile"):
            row, col = by * 8 + at // 10 - 1, bx * 8 + at % 10 - 1
            x = Float32(0.0)
            if const_expr(bug == "without_left_edge"):
                if row < M and col < N and row >= 0:
                    x = mX[row, col]
            elif const_expr(bug == "above_the_first_row"):
                if row < M and col < N and col >= 0:
                    x = mX[row, col]  # BUG above_the_first_row
            elif row >= 0 and col >= 0 and row < M and col < N:
                x = mX[row, col]
            sX[at // 10, at % 10] = x  # BUG past_the_tile, without_barrier
    sync_if(bug != "without_barrier")
    total = Float32(0.0)
    for i in cutlass.range_constexpr(3):
        for j in cutlass.range_constexpr(3):
            total += sX[tidx // 8 + i, tidx % 8 + j]  # BUG without_barrier, one_turn
    row, col = by * 8 + tidx // 8, bx * 8 + tidx % 8
    if row < M and col < N:
        mY[row, col] = total  # BUG one_turn


@family(block=THREADS, args=lambda: (fk.randint(0, 8, 256), empty(8)),
        want=lambda x, h: torch.bincount(x.long(), minlength=8).int(), bugs=(
    Bug("by_all", RACE, "All lanes add, instead of one lane per value."),
    Bug("in_one", RACE, "Both warps use the first histogram.", loose=True),
    Bug("without_syncwarp", RACE, "Another lane adds to the same counter without sync_warp."),
))  # fmt: skip
@cute.kernel
def private_histograms(mX, mH, bug):
    """Fill one histogram per warp, with match and one plain addition per value; then add both."""
    tidx, _, _ = cute.arch.thread_idx()
    warp, lane = tidx // 32, tidx % 32
    sH = smem((8, 2), Int32)
    if lane < 8:
        sH[lane, warp] = 0  # BUG in_one
    cute.arch.sync_warp()
    for k in cutlass.range(mX.shape[0] // THREADS, unroll=1):
        x = mX[k * THREADS + tidx]
        same = cute.arch.match_sync(-1, x)
        first = cute.arch.popc((same & (~same + 1)) - 1)
        if lane == first or const_expr(bug == "by_all"):
            count = lane if const_expr(bug == "by_all") else cute.arch.popc(same)
            # BUG by_all, in_one, without_syncwarp
            sH[x, 0 if const_expr(bug == "in_one") else warp] += Int32(count)
        sync_if(bug != "without_syncwarp", cute.arch.sync_warp)
    sync_if(bug != "without_barrier")
    if tidx < 8:
        mH[tidx] = sH[tidx, 0] + sH[tidx, 1]


@family(block=THREADS, args=pair(128, dtype=torch.float16), want=turned, bugs=(
    Bug("half_by_a_neighbour", RACE, "A neighbour writes half of a thread's word."),
    Bug("without_barrier", RACE, "Words are read before their threads have turned them.",
        loose=True),
))  # fmt: skip
@cute.kernel
def swapped_halves(mX, mY, bug):
    """Each thread swaps the float16 pair in one word in place; then each reads another word."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem(2 * THREADS, cutlass.Float16)
    rX = cute.make_rmem_tensor(2, cutlass.Float16)
    pairs = cute.zipped_divide(sX, (2,))
    cute.autovec_copy(cute.zipped_divide(mX, (2,))[None, tidx], rX)
    cute.autovec_copy(rX, pairs[None, tidx])  # BUG half_by_a_neighbour
    if const_expr(bug == "half_by_a_neighbour"):
        sX[2 * (tidx ^ 1)] = mX[2 * tidx]  # BUG half_by_a_neighbour
    else:
        sX[2 * tidx + 1] = rX[0]  # BUG without_barrier
        sX[2 * tidx] = rX[1]  # BUG without_barrier
    sync_if(bug != "without_barrier")
    cute.autovec_copy(pairs[None, THREADS - 1 - tidx], rX)  # BUG without_barrier
    cute.autovec_copy(rX, cute.zipped_divide(mY, (2,))[None, tidx])
