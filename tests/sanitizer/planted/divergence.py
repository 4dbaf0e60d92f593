"""Barriers that part of a warp reaches: in a branch, in loops of different lengths, by one lane."""

import cutlass
import torch
from cutlass import Int32, Int64, const_expr, cute

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import init_mbarriers, pair, smem

THREADS = 64


def groups_mirrored(x, y):
    return [(y, x.view(2, THREADS).flip(1).view(-1))]


DIVERGENT, STUCK = ("divergent-barrier",), ("deadlock",)


@family(block=THREADS,
        args=lambda: (fk.zeros(1, dtype=torch.int32), fk.empty(THREADS, dtype=torch.int32)),
        want=lambda l, y: torch.full_like(y, 2), bugs=(  # noqa: E741
    Bug("barrier_by_holder", DIVERGENT, "The lane with the lock has a barrier more.", loose=True),
))  # fmt: skip
@cute.kernel
def locked(mL, mY, bug):
    """A lane of each warp counts under a lock, then all threads read the count."""
    tidx, _, _ = cute.arch.thread_idx()
    sN = smem(1, Int32)
    if tidx == 0:
        sN[0] = 0
    cute.arch.sync_threads()
    if tidx % 32 == 0:
        taken = Int32(1)
        while taken != 0:
            taken = cute.arch.atomic_cas(
                mL.iterator, cmp=Int32(0), val=Int32(1), sem="acquire", scope="gpu"
            )
        sN[0] = sN[0] + 1
        cute.arch.atomic_exch(mL.iterator, Int32(0), sem="release", scope="gpu")
        if const_expr(bug == "barrier_by_holder"):
            cute.arch.sync_threads()  # BUG barrier_by_holder
    cute.arch.sync_threads()  # BUG barrier_by_holder
    mY[tidx] = sN[0]


@family(block=THREADS, args=pair(THREADS), want=lambda x, y: x.roll(-3), bugs=(
    Bug("one_more_for_odd_lanes", DIVERGENT, "Odd lanes take a round more.", loose=True,
        also=("shared-race",)),
    Bug("none_for_one_lane", DIVERGENT, "One lane passes by the loop with the barriers.",
        loose=True, also=("shared-race", "uninitialised-shared")),
))  # fmt: skip
@cute.kernel
def rounds_by_lane(mX, mY, bug):
    """Three rounds, in each of which values move on by one thread."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem(THREADS)
    x = mX[tidx]
    rounds = 3 + tidx % 2 if const_expr(bug == "one_more_for_odd_lanes") else 3
    if const_expr(bug == "none_for_one_lane"):
        rounds = 0 if tidx == 7 else 3
    for _ in cutlass.range(rounds, unroll=1):
        sX[tidx] = x
        cute.arch.sync_threads()  # BUG one_more_for_odd_lanes, none_for_one_lane
        x = sX[(tidx + 1) % THREADS]
        cute.arch.sync_threads()  # BUG one_more_for_odd_lanes, none_for_one_lane
    mY[tidx] = x


@family(block=2 * THREADS, args=pair(2 * THREADS), want=groups_mirrored, bugs=(
    Bug("numbered_by_half_warp", DIVERGENT, "The halves of a warp take different barriers.",
        loose=True, also=("shared-race",)),
    Bug("for_half_the_lanes", DIVERGENT, "A barrier for 64 threads: half of each warp."),
    Bug("in_both_branches", DIVERGENT, "The halves of a warp take two barriers of one number.",
        loose=True),
))  # fmt: skip
@cute.kernel
def groups_of_lanes(mX, mY, bug):
    """Two groups of two warps mirror their values, each with a barrier of its own."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem(2 * THREADS)
    group = tidx // THREADS
    sX[tidx] = mX[tidx]
    number = 1 + tidx // 16 % 2 if const_expr(bug == "numbered_by_half_warp") else 1 + group
    if const_expr(bug == "for_half_the_lanes"):
        if tidx % 32 < 16:
            cute.arch.barrier(barrier_id=3, number_of_threads=THREADS)  # BUG for_half_the_lanes
    if const_expr(bug == "in_both_branches"):
        if tidx % 32 < 16:
            cute.arch.barrier(barrier_id=number, number_of_threads=THREADS)  # BUG in_both_branches
        else:
            cute.arch.barrier(barrier_id=number, number_of_threads=THREADS)  # BUG in_both_branches
    cute.arch.barrier(barrier_id=number, number_of_threads=THREADS)  # BUG numbered_by_half_warp
    mY[tidx] = sX[group * THREADS + THREADS - 1 - tidx % THREADS]  # BUG numbered_by_half_warp


@family(block=THREADS, args=pair(32), want=lambda x, y: x.flip(0), bugs=(
    Bug("arrival_of_one_lane", DIVERGENT, "A lane arrives for its warp.", loose=True,
        also=(*STUCK, "shared-race")),
    Bug("arrival_in_vain", DIVERGENT, "20 lanes arrive at a barrier nobody waits at."),
))  # fmt: skip
@cute.kernel
def handed_over(mX, mY, bug):
    """Warp 0 fills a buffer and arrives; warp 1 waits for it."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem(32)
    if tidx < 32:
        sX[tidx] = mX[tidx]
        if const_expr(bug == "arrival_of_one_lane"):
            if tidx == 0:
                # BUG arrival_of_one_lane
                cute.arch.barrier_arrive(barrier_id=1, number_of_threads=THREADS)
        elif const_expr(bug == "arrival_in_vain"):
            if tidx < 20:
                # BUG arrival_in_vain
                cute.arch.barrier_arrive(barrier_id=2, number_of_threads=THREADS)
            cute.arch.barrier_arrive(barrier_id=1, number_of_threads=THREADS)
        else:
            cute.arch.barrier_arrive(barrier_id=1, number_of_threads=THREADS)
    else:
        cute.arch.barrier(barrier_id=1, number_of_threads=THREADS)  # BUG arrival_of_one_lane
        mY[tidx - 32] = sX[63 - tidx]


@family(block=THREADS, args=pair(THREADS), want=lambda x, y: x.flip(0) + x, bugs=(
    Bug("barrier_of_the_waiter", DIVERGENT, "The thread that waits has a barrier more.",
        loose=True),
    Bug("barrier_before_shuffle", DIVERGENT, "A quarter of each warp waits, the rest shuffles.",
        also=STUCK, loose=True),
))  # fmt: skip
@cute.kernel
def awaited_by_one(mX, mY, bug):
    """Thread 0 waits for an mbarrier before the block meets; y = sum of the warp + neighbour."""
    tidx, _, _ = cute.arch.thread_idx()
    sX, ready = smem(THREADS), smem(1, Int64).iterator
    init_mbarriers((ready, 32))
    sX[tidx] = mX[tidx]
    x = mX[tidx]
    if tidx >= 32:
        cute.arch.mbarrier_arrive(ready)
    if tidx == 0:
        cute.arch.mbarrier_wait(ready, 0)
        if const_expr(bug == "barrier_of_the_waiter"):
            cute.arch.sync_threads()  # BUG barrier_of_the_waiter
    if const_expr(bug == "barrier_before_shuffle"):
        if tidx % 32 < 8:
            cute.arch.sync_threads()  # BUG barrier_before_shuffle
        x = cute.arch.warp_reduction_sum(x)  # BUG barrier_before_shuffle
    cute.arch.sync_threads()  # BUG barrier_of_the_waiter
    mY[tidx] = sX[THREADS - 1 - tidx] + x
