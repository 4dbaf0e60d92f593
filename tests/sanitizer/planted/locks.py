"""Locks, tickets, semaphores and grid barriers built from atomics and flags, and endless
loops."""

import cutlass
import torch
from cutlass import Float32, Int32, const_expr, cute

import forgekit as fk
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
RACE, ENDLESS = ("global-race",), ("endless",)


def three_rounds(x):
    for _ in range(3):
        x = x + x.roll(-1, 0).flip(1)
    return x.int()


@family(block=THREADS, grid=lambda mX, mL, mY: mX.shape[0],
        args=lambda: (integers(5, THREADS), zeros(1), zeros(THREADS)),
        want=lambda x, l, y: x.sum(0).int(), bugs=(  # noqa: E741
    Bug("not_taken", RACE, "No thread takes the lock."),
    Bug("entered_early", RACE, "Threads do not wait for the thread that takes the lock."),
    Bug("left_early", RACE, "The lock is released while other warps are still adding."),
    Bug("never_released", (*ENDLESS, "deadlock"), "No thread releases the lock.", loose=True,
        args=lambda: (integers(2, THREADS), zeros(1), zeros(THREADS))),
))  # fmt: skip
@cute.kernel
def row_lock(mX, mL, mY, bug):
    """Blocks add their rows to one result; thread 0 takes the lock for its block."""
    tidx, bidx = indices()
    x = mX[bidx, tidx]
    if const_expr(bug != "not_taken"):
        if tidx == 0:
            taken = Int32(1)
            while taken != 0:  # BUG never_released
                # BUG never_released
                taken = cute.arch.atomic_cas(
                    mL.iterator, cmp=Int32(0), val=Int32(1), sem="acquire", scope="gpu"
                )
    if const_expr(bug != "entered_early"):
        cute.arch.sync_threads()  # BUG never_released
    mY[tidx] = mY[tidx] + x  # BUG not_taken, entered_early, left_early
    sync_if(bug != "left_early")
    if const_expr(bug != "never_released"):
        if tidx == 0:
            cute.arch.atomic_exch(mL.iterator, Int32(0), sem="release", scope="gpu")


@family(block=THREADS, grid=by_rows, args=lambda: (integers(4, THREADS), zeros(2), zeros(THREADS)),
        want=lambda x, t, y: torch.full_like(y, 15), bugs=(
    Bug("number_only_read", RACE,
        "The number is read but not incremented, so all blocks get the same."),
    Bug("next_called_early", RACE, "The next number is called before this block has added."),
))  # fmt: skip
@cute.kernel
def ticket_lock(mX, mT, mY, bug):
    """Each block draws a number from mT[0], waits until mT[1] equals the number, and adds."""
    tidx, bidx = indices()
    serving = mT.iterator + 1
    mine = Int32(0)
    if tidx == 0:
        if const_expr(bug == "number_only_read"):
            mine = acquire(mT.iterator)
        else:
            mine = cute.arch.atomic_add(mT.iterator, Int32(1))
        wait_for(serving, mine)
    cute.arch.sync_threads()
    if const_expr(bug == "next_called_early"):
        if tidx == 0:
            release(serving, mine + 1)
    total = mY[tidx]  # BUG number_only_read, next_called_early
    mY[tidx] = 2 * total + mX[bidx, tidx] * 0 + 1  # BUG number_only_read, next_called_early
    cute.arch.sync_threads()
    if const_expr(bug != "next_called_early"):
        if tidx == 0:
            release(serving, mine + 1)


@family(block=THREADS, grid=lambda mX, mS, mY: (mX.shape[1], mX.shape[0], 1),
        args=lambda: (integers(3, 2, THREADS), zeros(2), empty(2, THREADS)),
        want=lambda x, s, y: x.sum(0).int(), bugs=(
    Bug("no_turns", RACE, "Blocks of a tile do not wait for each other.",
        also=("uninitialised-global",)),
    Bug("turn_passed_early", RACE, "The semaphore is incremented before all threads have stored."),
    Bug("others_do_not_wait", RACE, "Thread 0 waits for its turn, but the other threads continue.",
        also=("uninitialised-global",)),
    Bug("first_adds_too", ("uninitialised-global",),
        "The first block adds to uninitialised memory."),
))  # fmt: skip
@cute.kernel
def turnstile(mX, mS, mY, bug):
    """Block (tile, k) adds its part when its tile's semaphore is k; block (tile, 0) stores it."""
    tidx, _, _ = cute.arch.thread_idx()
    tile, k, _ = cute.arch.block_idx()
    turn = mS.iterator + tile
    x = mX[k, tile, tidx]
    if const_expr(bug == "turn_of_another_tile"):
        turn = mS.iterator + tile // 2
    if const_expr(bug != "no_turns"):
        if tidx == 0:
            wait_for(turn, k)
        sync_if(bug != "others_do_not_wait")
    if const_expr(bug != "first_adds_too"):
        if k > 0:
            x += mY[tile, tidx]  # BUG no_turns, turn_passed_early, others_do_not_wait
    else:
        x += mY[tile, tidx]  # BUG first_adds_too
    mY[tile, tidx] = x  # BUG no_turns, turn_passed_early, others_do_not_wait
    sync_if(bug != "turn_passed_early")
    if tidx == 0:
        release(turn, k + 1)


@family(block=THREADS, grid=by_rows, cooperative=True,
        args=lambda: (integers(3, THREADS), zeros(1), empty(3, THREADS), empty(3, THREADS)),
        want=lambda x, c, y, z: [(y, three_rounds(x))], bugs=(
    Bug("in_one_buffer", RACE, "Old and new values share one buffer."),
    Bug("same_target", RACE, "The second barrier opens immediately: the counter is not reset.",
        loose=True, also=("uninitialised-global",), seeds=2),
    Bug("one_block_fewer", RACE, "The barrier opens one block too early.", loose=True,
        also=("uninitialised-global",), seeds=2),
    Bug("arrives_early", RACE, "Thread 0 arrives before its block has stored.",
        also=("uninitialised-global",), loose=True),
    Bug("leaves_early", RACE, "Threads do not wait for the waiting thread.",
        also=("uninitialised-global",), loose=True),
))  # fmt: skip
@cute.kernel
def grid_rounds(mX, mC, mY, mZ, bug):
    """In three rounds, every element becomes the sum of itself and an element of the next block."""
    tidx, bidx = indices()
    blocks, _, _ = cute.arch.grid_dim()
    for k in cutlass.range_constexpr(3):
        old, new = ((mX, mY), (mY, mZ), (mZ, mY))[k]
        if const_expr(bug == "in_one_buffer"):
            old, new = mX, mX
        # BUG in_one_buffer, same_target, one_block_fewer, arrives_early, leaves_early
        x = old[bidx, tidx] + old[(bidx + 1) % blocks, THREADS - 1 - tidx]
        # BUG in_one_buffer, same_target, one_block_fewer, arrives_early, leaves_early
        new[bidx, tidx] = x
        sync_if(bug != "arrives_early")
        target = blocks if const_expr(bug == "same_target") else (k + 1) * blocks
        if const_expr(bug == "one_block_fewer"):
            target = (k + 1) * blocks - 1
        if tidx == 0:
            cute.arch.atomic_add(mC.iterator, Int32(1), sem="acq_rel", scope="gpu")
            wait_for(mC.iterator, target)
        sync_if(bug != "leaves_early")


@family(block=128, args=lambda: (integers(128), empty(32)),
        want=lambda x, y: x.view(4, 32).sum(0).int(), bugs=(
    Bug("released_first", ("shared-race",), "The lock is released before the addition."),
    Bug("tested_then_set", ("shared-race",), "The lock is tested and set in two steps."),
))  # fmt: skip
@cute.kernel
def shared_lock(mX, mY, bug):
    """Four warps add their 32 values to a row in shared memory, one warp at a time."""
    tidx, _, _ = cute.arch.thread_idx()
    lane = cute.arch.lane_idx()
    sSum, sLock = smem(32, Int32), smem(1, Int32)
    x = mX[tidx]
    if tidx == 0:
        sLock[0] = 0
    if tidx < 32:
        sSum[tidx] = 0
    cute.arch.sync_threads()
    if lane == 0:
        taken = Int32(1)
        while taken != 0:
            if const_expr(bug == "tested_then_set"):
                taken = cute.arch.load(sLock.iterator, Int32, sem="acquire", scope="cta", ss="cta")
                if taken == 0:
                    cute.arch.store(sLock.iterator, Int32(1), sem="relaxed", scope="cta", ss="cta")
            else:
                taken = cute.arch.atomic_cas(
                    sLock.iterator, cmp=Int32(0), val=Int32(1), sem="acquire", scope="cta"
                )
    cute.arch.sync_warp()
    if const_expr(bug == "released_first"):
        if lane == 0:
            cute.arch.atomic_exch(sLock.iterator, Int32(0), sem="release", scope="cta")
    sSum[lane] = sSum[lane] + x  # BUG released_first, tested_then_set
    cute.arch.sync_warp()
    if const_expr(bug != "released_first"):
        if lane == 0:
            cute.arch.atomic_exch(sLock.iterator, Int32(0), sem="release", scope="cta")
    cute.arch.sync_threads()
    if tidx < 32:
        mY[tidx] = sSum[tidx]


@family(block=32, args=lambda: (fk.randn(32), fk.empty(1)), want=lambda x, y: x.sum()[None], bugs=(
    Bug("down_to_zero", ENDLESS, "The loop runs while half >= 0, and half stays at 0.", loose=True),
    Bug("never_halved", ENDLESS, "The width is not halved.", loose=True),
))  # fmt: skip
@cute.kernel
def dynamic_tree(mX, mY, bug):
    """Sum 32 values in a tree; a loop halves the number of active threads."""
    tidx, _, _ = cute.arch.thread_idx()
    sP = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(32), 16)
    sP[tidx] = mX[tidx]
    cute.arch.sync_threads()
    half = Int32(16)
    last = Int32(0 if bug == "down_to_zero" else 1)
    while half >= last:  # BUG down_to_zero, never_halved
        if tidx < half:  # BUG down_to_zero, never_halved
            sP[tidx] = sP[tidx] + sP[tidx + half]  # BUG down_to_zero, never_halved
        cute.arch.sync_threads()  # BUG down_to_zero, never_halved
        if const_expr(bug != "never_halved"):
            half = half // 2  # BUG down_to_zero
    if tidx == 0:
        mY[0] = sP[0]


@family(block=32, grid=by_rows, args=lambda: (integers(4), zeros(4), empty(4)),
        want=lambda x, f, y: x.cumsum(0).int(), bugs=(
    Bug("waiting_for_itself", ENDLESS, "Each block waits for its own flag.", loose=True),
    Bug("flag_never_set", ENDLESS, "No block sets its flag.", loose=True),
    Bug("flag_too_early", ("global-race",), "The flag is set before the sum is stored.",
        also=("uninitialised-global",)),
    Bug("without_waiting", ("global-race",), "No block waits for the previous block.",
        also=("uninitialised-global",)),
))  # fmt: skip
@cute.kernel
def chain(mX, mF, mY, bug):
    """Compute running sums over blocks; each block waits for the previous block's flag."""
    bidx, _, _ = cute.arch.block_idx()
    tidx, _, _ = cute.arch.thread_idx()
    if tidx == 0:
        total = mX[bidx]
        if bidx > 0:
            flag = Int32(0)
            if const_expr(bug != "without_waiting"):
                while flag == 0:  # BUG waiting_for_itself, flag_never_set
                    place = bidx if bug == "waiting_for_itself" else bidx - 1
                    # BUG waiting_for_itself, flag_never_set
                    flag = cute.arch.load(mF.iterator + place, Int32, sem="acquire", scope="gpu")
            total += mY[bidx - 1]  # BUG flag_too_early, without_waiting
        if const_expr(bug == "flag_too_early"):
            cute.arch.store(mF.iterator + bidx, Int32(1), sem="release", scope="gpu")
        mY[bidx] = total  # BUG flag_too_early, without_waiting
        if const_expr(bug not in ("flag_never_set", "flag_too_early")):
            cute.arch.store(mF.iterator + bidx, Int32(1), sem="release", scope="gpu")
