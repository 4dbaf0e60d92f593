"""Bugs in reused memory and barriers: work queues, other types, phases, lists, odd block sizes."""

import cutlass
import torch
from cutlass import Float16, Float32, Int32, Int64, const_expr, cute
from cutlass.cute.nvgpu import cpasync

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import (
    acquire,
    by_rows,
    cluster_sync,
    empty,
    indices,
    integers,
    pair,
    release,
    smem,
    sync_if,
    wait_for,
    zeros,
)

THREADS = 64


def halves_of(x, y):
    x = x.flip(0)
    return [(y, (x.half().float() + (2 * x).half().float()).flip(0))]


def folded(x):
    for _ in range(5):
        x = x + x.flip(0)
    return x.int()


def chained(k, h, following):
    lengths = torch.zeros(8, dtype=torch.int32)
    for key in range(8):
        at = int(h[key])
        while at >= 0:
            lengths[key] += int(k[at]) == key
            at = int(following[at])
    return [(lengths, torch.bincount(k.long(), minlength=8).int())]


def bits_of(x):
    bits = torch.zeros(256, dtype=torch.int64)
    bits[x.long()] = 1
    words = (bits.view(8, 32) << torch.arange(32)).sum(1)
    return torch.where(words >= 1 << 31, words - (1 << 32), words).int()


RACE, GLOBAL, OUT = ("shared-race",), ("global-race",), ("out-of-bounds",)
EMPTY, ASYNC, DEADLOCK = ("uninitialised-shared",), ("async-copy",), ("deadlock",)


@family(block=THREADS, grid=2, args=lambda: (integers(5, THREADS), zeros(1), empty(5, THREADS)),
        want=lambda x, n, y: 2 * x, bugs=(
    Bug("fetched_plainly", GLOBAL, "The counter is incremented without atomics.", loose=True),
    Bug("stored_again_early", RACE,
        "The next row is stored before all threads have read this one."),
    Bug("read_at_once", RACE, "The row is read without a barrier.", also=(*EMPTY, *OUT)),
    Bug("one_row_more", OUT, "The row is used before it is compared with the end."),
))  # fmt: skip
@cute.kernel
def row_queue(mX, mN, mY, bug):
    """Two blocks draw rows from a counter until none are left; thread 0 passes the row's index to
    the other threads."""
    tidx, _, _ = cute.arch.thread_idx()
    sRow = smem(1, Int32)
    rows = mX.shape[0]
    row = Int32(0)
    while row < rows:
        if tidx == 0:
            if const_expr(bug == "fetched_plainly"):
                sRow[0] = mN[0]  # BUG fetched_plainly
                mN[0] = mN[0] + 1  # BUG fetched_plainly
            else:
                # BUG stored_again_early, read_at_once
                sRow[0] = cute.arch.atomic_add(mN.iterator, Int32(1))
        sync_if(bug != "read_at_once")
        row = sRow[0]  # BUG stored_again_early, read_at_once
        sync_if(bug != "stored_again_early")
        if row < rows or const_expr(bug == "one_row_more"):
            mY[row, tidx] = 2 * mX[row, tidx]  # BUG one_row_more


@family(block=THREADS, args=pair(THREADS), want=halves_of, bugs=(
    Bug("without_first_barrier", RACE, "The first tile is read without a barrier."),
    Bug("without_second_barrier", RACE, "The second tile overwrites the first too early.",
        loose=True),
    Bug("halves_unordered", RACE, "The second tile is read without a barrier.", loose=True),
))  # fmt: skip
@cute.kernel
def other_type(mX, mY, bug):
    """Store float32 in shared memory and, after a barrier, float16 pairs at the same addresses."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem(THREADS)
    sH = cute.make_tensor(cute.recast_ptr(sX.iterator, dtype=Float16), cute.make_layout(128))
    sX[tidx] = mX[tidx]  # BUG without_first_barrier
    sync_if(bug != "without_first_barrier")
    a = sX[THREADS - 1 - tidx]  # BUG without_first_barrier, without_second_barrier
    sync_if(bug != "without_second_barrier")
    sH[2 * tidx] = a.to(Float16)  # BUG without_second_barrier, halves_unordered
    sH[2 * tidx + 1] = (2.0 * a).to(Float16)  # BUG without_second_barrier, halves_unordered
    sync_if(bug != "halves_unordered")
    k = THREADS - 1 - tidx
    mY[tidx] = sH[2 * k].to(Float32) + sH[2 * k + 1].to(Float32)  # BUG halves_unordered


@family(block=THREADS, args=lambda: (integers(THREADS), empty(THREADS)),
        want=lambda x, y: folded(x), bugs=(
    Bug("not_awaited", RACE, "Threads arrive, but do not wait.", also=EMPTY),
    Bug("parity_stays", DEADLOCK, "The parity does not change, so every second wait ends at once."),
    Bug("counts_twice", DEADLOCK, "The mbarrier counts twice as many threads."),
    Bug("counts_one_warp", DEADLOCK, "The mbarrier counts one warp."),
))  # fmt: skip
@cute.kernel
def phases(mX, mY, bug):
    """In five rounds, an mbarrier at which all threads arrive replaces the block's barrier."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem((THREADS, 2), Int32)
    bar = smem(1, Int64).iterator
    if tidx == 0:
        count = 2 * THREADS if const_expr(bug == "counts_twice") else THREADS
        if const_expr(bug == "counts_one_warp"):
            count = 32
        cute.arch.mbarrier_init(bar, count)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    x = mX[tidx]
    for k in cutlass.range(5, unroll=1):
        sX[tidx, k % 2] = x  # BUG not_awaited
        cute.arch.mbarrier_arrive(bar)
        if const_expr(bug == "parity_stays"):
            cute.arch.mbarrier_wait(bar, 0)  # BUG parity_stays
        elif const_expr(bug != "not_awaited"):
            cute.arch.mbarrier_wait(bar, k % 2)  # BUG counts_twice, counts_one_warp
        x += sX[THREADS - 1 - tidx, k % 2]  # BUG not_awaited
    mY[tidx] = x


@family(block=THREADS, grid=lambda mK, mH, mNext: mK.shape[0] // THREADS,
        args=lambda: (fk.randint(0, 8, 128), fk.full((8,), -1, dtype=torch.int32), empty(128)),
        want=chained, bugs=(
    Bug("plain_heads", GLOBAL, "Heads are replaced without atomics.", loose=True),
    Bug("next_by_key", GLOBAL, "The next element is stored under the key."),
))  # fmt: skip
@cute.kernel
def lists(mK, mH, mNext, bug):
    """An exchange puts every element at the head of its key's list."""
    tidx, bidx = indices()
    i = bidx * THREADS + tidx
    key = mK[i]
    if const_expr(bug == "plain_heads"):
        mNext[i] = mH[key]  # BUG plain_heads
        mH[key] = i  # BUG plain_heads
    else:
        before = cute.arch.atomic_exch(mH.iterator + key, i)
        if const_expr(bug == "next_by_key"):
            mNext[key] = before  # BUG next_by_key
        else:
            mNext[i] = before


@family(block=THREADS, grid=by_rows, args=lambda: (fk.arange(256).view(4, THREADS),),
        want=lambda x: torch.arange(256.0).view(4, THREADS).flip(1), bugs=(
    Bug("without_barrier", GLOBAL, "There is no barrier between the reads and the writes."),
    Bug("warp_barrier", GLOBAL,
        "There is only a sync_warp, but the values come from the other warp."),
    Bug("row_of_a_neighbour", GLOBAL, "Another block writes the row."),
))  # fmt: skip
@cute.kernel
def turned_rows(mX, bug):
    """Reverse rows in place; all threads read a row before any thread writes to it."""
    tidx, row = indices()
    if const_expr(bug == "row_of_a_neighbour"):
        x = mX[row ^ 1, THREADS - 1 - tidx]  # BUG row_of_a_neighbour
    else:
        x = mX[row, THREADS - 1 - tidx]  # BUG without_barrier, warp_barrier
    if const_expr(bug == "warp_barrier"):
        cute.arch.sync_warp()
    elif const_expr(bug != "without_barrier"):
        cute.arch.sync_threads()
    mX[row, tidx] = x  # BUG without_barrier, warp_barrier, row_of_a_neighbour


@family(block=THREADS, args=lambda: (fk.randint(0, 255, THREADS), empty(8)),
        want=lambda x, y: bits_of(x), bugs=(
    Bug("plainly", RACE, "Bits are set without atomics."),
    Bug("read_at_once", RACE, "Words are read while others set bits."),
    Bug("one_word_more", OUT, "The word's index is too large by one."),
))  # fmt: skip
@cute.kernel
def bitmap(mX, mY, bug):
    """Find which of 256 values occur: threads set bits in shared memory atomically, and bytes hold
    counts."""
    tidx, _, _ = cute.arch.thread_idx()
    sB = smem(8, Int32)
    if tidx < 8:
        sB[tidx] = 0
    cute.arch.sync_threads()
    x = mX[tidx]
    bit = Int32(1) << (x % 32)
    if const_expr(bug == "plainly"):
        sB[x // 32] = sB[x // 32] | bit  # BUG plainly
    else:
        # BUG read_at_once, one_word_more
        cute.arch.atomic_or(sB.iterator + x // 32 + (1 if bug == "one_word_more" else 0), bit)
    sync_if(bug != "read_at_once")
    if tidx < 8:
        mY[tidx] = sB[tidx]  # BUG read_at_once


@family(block=80, args=lambda: (integers(80), empty(80)),
        want=lambda x, y: x.sum().int().expand(80), bugs=(
    Bug("mask_of_eight", ("member-mask",), "The mask names 8 of the 16 lanes."),
    Bug("of_four_warps", OUT, "The sums of four warps are added, but there are three."),
    Bug("barrier_of_128", (*DEADLOCK, "barrier-count"), "The barrier waits for 128 threads."),
))  # fmt: skip
@cute.kernel
def odd_block(mX, mY, bug):
    """80 threads form two and a half warps, which need the right mask and barrier count."""
    tidx, _, _ = cute.arch.thread_idx()
    warp, lane = tidx // 32, tidx % 32
    sT = smem(3, Int32)
    x = mX[tidx]
    if warp == 2:
        mask = 0xFFFF if const_expr(bug != "mask_of_eight") else 0xFF
        x = cute.arch.warp_redux_sync(x, "add", mask_and_clamp=mask)  # BUG mask_of_eight
    else:
        x = cute.arch.warp_redux_sync(x, "add")
    if lane == 0:
        sT[warp] = x
    threads = 128 if const_expr(bug == "barrier_of_128") else 96
    cute.arch.barrier(barrier_id=1, number_of_threads=threads)  # BUG barrier_of_128
    total = sT[0] + sT[1] + sT[2]  # the compiler loads these as four
    if const_expr(bug == "of_four_warps"):
        total = sT[0] + sT[1] + sT[2] + sT[3]  # BUG of_four_warps
    mY[tidx] = total


@family(block=THREADS, args=pair(320), want=lambda x, y: x.view(-1, 32).flip(1).reshape(-1),
        static=(0,), bugs=(
    Bug("one_lane_waits", ASYNC,
        "Lane 0 waits for its own copies, but the other lanes do not wait.", also=RACE),
    Bug("without_syncwarp", RACE,
        "A lane waits for its own copy, but reads another lane's.", also=ASYNC),
    Bug("refilled_early", (*RACE, *ASYNC), "A stage is refilled while other lanes still read it."),
    Bug("weak_wait", ASYNC, "The wait leaves one group too many in flight.", also=RACE),
))  # fmt: skip
@cute.kernel
def own_stages(mX, mY, bug):
    """Each warp fills its own stages by cp.async, so a wait in each lane and sync_warp suffice
    without a block barrier."""
    tidx, _, _ = cute.arch.thread_idx()
    warp, lane = tidx // 32, tidx % 32
    sX = smem((32, 2, 2))
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float32, num_bits_per_copy=32)
    gX, sV = cute.zipped_divide(mX, (1,)), cute.zipped_divide(sX, (1, 1, 1))
    n = mX.shape[0] // THREADS
    for t in cutlass.range(n + 1, unroll=1):
        if t < n:
            # BUG one_lane_waits, without_syncwarp, refilled_early, weak_wait
            cute.copy(atom, gX[None, t * THREADS + tidx], sV[None, (lane, t % 2, warp)])
        cute.arch.cp_async_commit_group()
        if t > 0:
            if const_expr(bug == "one_lane_waits"):
                if lane == 0:
                    cute.arch.cp_async_wait_group(1)
            else:
                cute.arch.cp_async_wait_group(2 if bug == "weak_wait" else 1)
            sync_if(bug != "without_syncwarp", cute.arch.sync_warp)
            # BUG one_lane_waits, without_syncwarp, refilled_early, weak_wait
            y = sX[31 - lane, (t - 1) % 2, warp]
            sync_if(bug != "refilled_early", cute.arch.sync_warp)
            mY[(t - 1) * THREADS + tidx] = y


@family(block=THREADS, grid=2, cluster=(2, 1, 1),
        args=lambda: (integers(2, THREADS), empty(2, THREADS)),
        want=lambda x, y: (x + 2 * x.flip(0, 1)).int(), bugs=(
    Bug("never_waits", ("block-lifetime",), "Threads arrive at the last barrier, but do not wait.",
        also=("barrier-count",)),
    Bug("says_so_first", RACE, "A block signals that it has read before it reads.",
        also=("block-lifetime",), loose=True),
))  # fmt: skip
@cute.kernel
def early_goodbye(mX, mY, bug):
    """Two blocks read each other's values, signal the end of their reads, continue, and wait before
    they exit."""
    tidx, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    sX = smem(THREADS, Int32)
    sX[tidx] = mX[rank, tidx]  # BUG says_so_first
    cluster_sync()
    sync_if(bug == "says_so_first", cute.arch.cluster_arrive)
    # BUG never_waits, says_so_first
    x = cute.arch.map_dsmem_ptr(sX.iterator + THREADS - 1 - tidx, 1 - rank).load()
    sync_if(bug != "says_so_first", cute.arch.cluster_arrive)
    x = 2 * x + mX[rank, tidx]
    sync_if(bug != "never_waits", cute.arch.cluster_wait)
    if const_expr(bug == "says_so_first"):
        sX[tidx] = x  # BUG says_so_first
        cute.arch.sync_threads()
        x = sX[tidx]
    mY[rank, tidx] = x


@family(block=THREADS, grid=3, args=lambda: (integers(THREADS), zeros(2), empty(2, THREADS)),
        want=lambda x, f, y: torch.stack([x, x.flip(0) + 1]).int(), bugs=(
    Bug("past_the_relay", GLOBAL, "Block 1 does not wait for block 0.", seeds=6,
        also=("uninitialised-global",)),
))  # fmt: skip
@cute.kernel
def relay(mX, mF, mY, bug):
    """Block 0's data reaches block 2 through block 1."""
    tidx, bidx = indices()
    if bidx == 0:
        mY[0, tidx] = mX[tidx]  # BUG past_the_relay
        cute.arch.sync_threads()
        if tidx == 0:
            release(mF.iterator, 1)
    elif bidx == 1:
        if tidx == 0:
            sync_if(bug != "past_the_relay", wait_for, mF.iterator, Int32(1))
            release(mF.iterator + 1, 1)
    else:
        if tidx == 0:
            wait_for(mF.iterator + 1, Int32(1))
        cute.arch.sync_threads()
        mY[1, tidx] = mY[0, THREADS - 1 - tidx] + 1  # BUG past_the_relay


@family(block=THREADS, grid=2,
        args=lambda: (integers(4, THREADS), zeros(1), empty(THREADS), empty(4, THREADS)),
        want=lambda x, f, d, y: x.flip(1), bugs=(
    Bug("flag_back_early", GLOBAL, "The flag is reset before the row is read.", seeds=6,
        also=("uninitialised-global",)),
))  # fmt: skip
@cute.kernel
def polled(mX, mF, mD, mY, bug):
    """The reader polls by compare-and-swap, and resets the flag for the next row."""
    tidx, bidx = indices()
    for row in cutlass.range(mX.shape[0], unroll=1):
        if bidx == 0:
            if tidx == 0:
                seen = acquire(mF.iterator)
                while seen != 0:
                    seen = acquire(mF.iterator)
            cute.arch.sync_threads()
            mD[tidx] = mX[row, tidx]  # BUG flag_back_early
            cute.arch.sync_threads()
            if tidx == 0:
                release(mF.iterator, 1)
        else:
            if tidx == 0:
                found = Int32(0)
                while found != 1:
                    found = cute.arch.atomic_cas(
                        mF.iterator, cmp=Int32(1), sem="acq_rel", scope="gpu",
                        val=Int32(0 if bug == "flag_back_early" else 2),
                    )  # fmt: skip
            cute.arch.sync_threads()
            mY[row, tidx] = mD[THREADS - 1 - tidx]  # BUG flag_back_early
            cute.arch.sync_threads()
            if tidx == 0 and const_expr(bug != "flag_back_early"):
                release(mF.iterator, 0)
