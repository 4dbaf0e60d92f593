"""Barriers that only some threads reach, in branches and loops, or with a wrong count."""

import cutlass
import torch
from cutlass import Float32, Int32, Int64, const_expr, cute

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import init_mbarriers, pair, smem

THREADS = 64
RACE, STUCK, COUNT = ("shared-race",), ("deadlock",), ("barrier-count",)
DIVERGENT = ("divergent-barrier",)


@family(block=THREADS, args=pair(THREADS), want=lambda x, y: x.flip(0), bugs=(
    Bug("barrier_in_both_branches", DIVERGENT,
        "The warps wait at two barriers on different lines."),
    Bug("barrier_in_if", DIVERGENT, "One warp has one barrier more than the other."),
    Bug("barrier_in_half_a_warp", DIVERGENT, "Half of each warp has one barrier more.", loose=True),
    Bug("barriers_by_warp_number", DIVERGENT, "A loop with a barrier runs warp + 1 times."),
    Bug("barrier_of_32_in_if", (*COUNT, *STUCK, *DIVERGENT),
        "Only 32 threads reach a named barrier for 64 threads.", loose=True, also=STUCK),
))  # fmt: skip
@cute.kernel
def mirror(mX, mY, bug):
    """Compute y[i] = x[63 - i]; some threads do not reach the barrier in the mutants."""
    tidx, _, _ = cute.arch.thread_idx()
    warp, lane = tidx // 32, tidx % 32
    sX = smem(THREADS)
    sX[tidx] = mX[tidx]
    if const_expr(bug == "barrier_in_both_branches"):
        if warp == 0:
            sX[tidx] = 1.0 * mX[tidx]
            cute.arch.sync_threads()  # BUG barrier_in_both_branches
        else:
            cute.arch.sync_threads()  # BUG barrier_in_both_branches
    elif const_expr(bug == "barrier_in_if"):
        if warp == 0:
            cute.arch.sync_threads()  # BUG barrier_in_if
    elif const_expr(bug == "barrier_in_half_a_warp"):
        if lane < 16:
            cute.arch.sync_threads()  # BUG barrier_in_half_a_warp
    elif const_expr(bug == "barriers_by_warp_number"):
        for _ in cutlass.range(warp + 1, unroll=1):
            cute.arch.sync_threads()  # BUG barriers_by_warp_number
    elif const_expr(bug == "barrier_of_32_in_if"):
        if warp == 0:
            cute.arch.barrier(barrier_id=1, number_of_threads=THREADS)  # BUG barrier_of_32_in_if
    # BUG barrier_in_if, barrier_in_half_a_warp, barriers_by_warp_number, barrier_of_32_in_if
    cute.arch.sync_threads()
    mY[tidx] = sX[THREADS - 1 - tidx]


@family(block=128, args=pair(128), want=lambda x, y: x.view(2, 64).flip(1).view(-1), bugs=(
    Bug("reading_the_other", RACE,
        "The other group's values, which need another barrier, are read."),
    Bug("with_a_count_of_96", (*COUNT, *STUCK), "Barriers count 96 threads, but 64 arrive."),
    Bug("with_a_count_of_48", COUNT, "The count is not a multiple of 32."),
    Bug("with_a_count_of_32", (*COUNT, *RACE), "Barriers count 32 threads, so no warp waits.",
        loose=True, also=RACE, changes_result=True),
    Bug("with_unequal_counts", (*COUNT, *STUCK), "One barrier has counts of 64 and 128."),
))  # fmt: skip
@cute.kernel
def two_groups(mX, mY, bug):
    """Each of two groups of 64 threads mirrors 64 values, with a separate barrier."""
    tidx, _, _ = cute.arch.thread_idx()
    group, i = tidx // 64, tidx % 64
    sX = smem((64, 2))
    threads = 96 if const_expr(bug == "with_a_count_of_96") else 64
    if const_expr(bug == "with_a_count_of_48"):
        threads = mX.shape[0] * 3 // 8  # ptxas would reject a constant
    if const_expr(bug == "with_a_count_of_32"):
        threads = 32
    sX[i, group] = mX[tidx]  # BUG reading_the_other, with_a_count_of_32
    if const_expr(bug == "with_unequal_counts"):
        count = 64 + 64 * group
        cute.arch.barrier(barrier_id=1, number_of_threads=count)  # BUG with_unequal_counts
    else:
        number = 1 + group
        # BUG with_a_count_of_96, with_a_count_of_48
        cute.arch.barrier(barrier_id=number, number_of_threads=threads)
    if const_expr(bug == "reading_the_other"):
        mY[tidx] = sX[63 - i, 1 - group]  # BUG reading_the_other
    else:
        mY[tidx] = sX[63 - i, group]  # BUG with_a_count_of_32


@family(block=THREADS, args=lambda: (fk.randint(0, 99, 96), fk.empty(96, dtype=torch.int32)),
        want=lambda x, y: x.view(3, 32).flip(1).reshape(-1), bugs=(
    Bug("not_waiting_for_empty", RACE, "The buffer is filled again while it is still read.",
        changes_result=True),
    Bug("never_empty", STUCK, "The consumer does not signal that the buffer is empty.", loose=True),
    Bug("counted_unequally", COUNT, "The two sides of a barrier use different counts.",
        loose=True),
    Bug("waiting_in_a_circle", STUCK, "Each side waits for the other side to begin.", loose=True),
))  # fmt: skip
@cute.kernel
def producer(mX, mY, bug):
    """Warp 0 fills a buffer, and warp 1 empties it; barrier 1 signals full, barrier 2 empty."""
    tidx, _, _ = cute.arch.thread_idx()
    warp, lane = tidx // 32, tidx % 32
    sX = smem(32, Int32)
    consumers = 96 if const_expr(bug == "counted_unequally") else THREADS
    free = bug not in ("never_empty", "not_waiting_for_empty")
    for step in cutlass.range(mX.shape[0] // 32, unroll=1):
        if warp == 0:
            if const_expr(bug != "not_waiting_for_empty"):
                # BUG never_empty, waiting_in_a_circle
                cute.arch.barrier(barrier_id=2, number_of_threads=THREADS)
            sX[lane] = mX[step * 32 + lane]  # BUG not_waiting_for_empty
            # BUG counted_unequally
            cute.arch.barrier_arrive(barrier_id=1, number_of_threads=THREADS)
        else:
            if const_expr(bug == "waiting_in_a_circle"):
                # BUG waiting_in_a_circle
                cute.arch.barrier(barrier_id=1, number_of_threads=THREADS)
                cute.arch.barrier_arrive(barrier_id=2, number_of_threads=THREADS)
            else:
                if const_expr(free):
                    cute.arch.barrier_arrive(barrier_id=2, number_of_threads=THREADS)
                # BUG counted_unequally, never_empty
                cute.arch.barrier(barrier_id=1, number_of_threads=consumers)
            mY[step * 32 + lane] = sX[31 - lane]  # BUG not_waiting_for_empty


@family(block=64, args=lambda: (fk.empty(64),), want=lambda y: fk.ones(64), bugs=(
    Bug("in_opposite_order", STUCK, "Two warps pass two barriers in opposite orders.", loose=True),
))  # fmt: skip
@cute.kernel
def crossing(mY, bug):
    """Two warps pass two named barriers, in the mutant in opposite orders."""
    tidx, _, _ = cute.arch.thread_idx()
    warp = tidx // 32
    if warp == 0:
        cute.arch.barrier(barrier_id=1, number_of_threads=64)  # BUG in_opposite_order
        mY[tidx] = Float32(1.0)
        cute.arch.barrier(barrier_id=2, number_of_threads=64)
    else:
        first, second = (2, 1) if bug == "in_opposite_order" else (1, 2)
        cute.arch.barrier(barrier_id=first, number_of_threads=64)  # BUG in_opposite_order
        mY[tidx] = Float32(1.0)
        cute.arch.barrier(barrier_id=second, number_of_threads=64)


@family(block=THREADS, args=lambda: (fk.empty(2),), want=lambda y: fk.ones(2), bugs=(
    Bug("asked_in_a_branch", (*STUCK, "shuffle-inactive", "member-mask", *DIVERGENT),
        "One lane calls warp_idx(), a shuffle of the whole warp.", loose=True,
        also=("shuffle-inactive", "member-mask", *DIVERGENT)),
))  # fmt: skip
@cute.kernel
def per_warp(mY, bug):
    """The first lane of each warp stores the warp's number; warp_idx() is itself a shuffle."""
    tidx, _, _ = cute.arch.thread_idx()
    if const_expr(bug == "asked_in_a_branch"):
        if tidx % 32 == 0:
            mY[cute.arch.warp_idx()] = Float32(1.0)  # BUG asked_in_a_branch
    else:
        warp = cute.arch.warp_idx()
        if tidx % 32 == 0:
            mY[warp] = Float32(1.0)
    cute.arch.sync_threads()  # BUG asked_in_a_branch


@family(block=THREADS,
        args=lambda: (fk.zeros(1, dtype=torch.int32), fk.empty(THREADS, dtype=torch.int32)),
        want=lambda l, y: torch.full_like(y, 2), bugs=(  # noqa: E741
    Bug("barrier_by_holder", DIVERGENT,
        "The lane that holds the lock has one barrier more.", loose=True),
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
    Bug("one_more_for_odd_lanes", DIVERGENT, "Odd lanes run one round more.", loose=True,
        also=("shared-race",)),
    Bug("none_for_one_lane", DIVERGENT, "One lane skips the loop with the barriers.",
        loose=True, also=("shared-race", "uninitialised-shared")),
))  # fmt: skip
@cute.kernel
def rounds_by_lane(mX, mY, bug):
    """In each of three rounds, values move to the next thread."""
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


@family(block=2 * THREADS, args=pair(2 * THREADS),
        want=lambda x, y: x.view(2, THREADS).flip(1).view(-1), bugs=(
    Bug("numbered_by_half_warp", DIVERGENT, "The halves of a warp use different barriers.",
        loose=True, also=("shared-race",)),
    Bug("for_half_the_lanes", DIVERGENT, "Half of each warp reaches a barrier for 64 threads."),
    Bug("in_both_branches", DIVERGENT,
        "The halves of a warp use two barriers with the same number.",
        loose=True),
))  # fmt: skip
@cute.kernel
def groups_of_lanes(mX, mY, bug):
    """Two groups of two warps mirror their values, each with its own barrier."""
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
    Bug("arrival_of_one_lane", DIVERGENT, "One lane arrives for its warp.", loose=True,
        also=(*STUCK, "shared-race")),
    Bug("arrival_in_vain", DIVERGENT, "20 lanes arrive at a barrier at which no thread waits."),
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
    Bug("barrier_of_the_waiter", DIVERGENT, "The waiting thread has one barrier more.",
        loose=True),
    Bug("barrier_before_shuffle", DIVERGENT,
        "A quarter of each warp waits, and the other lanes shuffle.",
        also=STUCK, loose=True),
))  # fmt: skip
@cute.kernel
def awaited_by_one(mX, mY, bug):
    """Thread 0 waits for an mbarrier before the block's barrier; y is the warp's sum plus the
    neighbour's value."""
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
