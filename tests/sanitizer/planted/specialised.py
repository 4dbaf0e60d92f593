"""Warps with different work: rings with mbarriers, chains of named barriers, alternating warps."""

import cutlass
import torch
from cutlass import Float32, Int64, const_expr, cute
from cutlass.cute.nvgpu import cpasync

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import indices, init_mbarriers, pair, smem, sync_if

STAGES = 2


RACE, ASYNC, DEADLOCK = ("shared-race",), ("async-copy",), ("deadlock",)


@family(block=96, args=pair(5 * 64),
        want=lambda x, y: (x * x).view(-1, 2, 32).flip(1, 2).reshape(-1), bugs=(
    Bug("announced_first", RACE, "The stage is announced before it is written."),
    Bug("given_back_first", RACE, "The stage is released before it is read."),
    Bug("counts_half", DEADLOCK, "`full` waits for half of the warp, so it completes twice."),
    Bug("counts_one_warp", DEADLOCK, "`empty` waits for one of the two warps."),
    Bug("wrong_stage", RACE, "The wrong stage is read.", also=("uninitialised-shared",)),
    Bug("waits_by_stage", DEADLOCK, "The parity depends on the stage instead of the round."),
    Bug("starts_full", DEADLOCK, "The producer begins by waiting for a phase."),
    Bug("never_full", DEADLOCK, "The producer does not arrive."),
))  # fmt: skip
@cute.kernel
def ring_of_warps(mX, mY, bug):
    """Warp 0 writes squares into a ring of two stages; warps 1 and 2 each read half a stage."""
    tidx, _, _ = cute.arch.thread_idx()
    warp, lane = tidx // 32, tidx % 32
    sX = smem((64, STAGES))
    full, empty = smem(STAGES, Int64).iterator, smem(STAGES, Int64).iterator
    init_mbarriers(
        (full, 16 if bug == "counts_half" else 32),
        (empty, 32 if bug == "counts_one_warp" else 64), stages=STAGES,
    )  # fmt: skip
    for i in cutlass.range(mX.shape[0] // 64, unroll=1):
        s, round = i % STAGES, i // STAGES
        if warp == 0:
            parity = round % 2 if const_expr(bug == "starts_full") else (round + 1) % 2
            # BUG starts_full, never_full, counts_half, counts_one_warp, waits_by_stage
            cute.arch.mbarrier_wait(empty + s, parity)
            sync_if(bug == "announced_first", cute.arch.mbarrier_arrive, full + s)
            for k in cutlass.range_constexpr(2):
                x = mX[i * 64 + k * 32 + lane]
                sX[k * 32 + lane, s] = x * x  # BUG announced_first, given_back_first, wrong_stage
            if const_expr(bug not in ("announced_first", "never_full")):
                cute.arch.mbarrier_arrive(full + s)
        else:
            i_parity = s if const_expr(bug == "waits_by_stage") else round % 2
            # BUG starts_full, never_full, counts_half, counts_one_warp, waits_by_stage
            cute.arch.mbarrier_wait(full + s, i_parity)
            sync_if(bug == "given_back_first", cute.arch.mbarrier_arrive, empty + s)
            stage = 1 - s if const_expr(bug == "wrong_stage") else s
            # BUG announced_first, given_back_first, wrong_stage
            y = sX[(2 - warp) * 32 + 31 - lane, stage]
            sync_if(bug != "given_back_first", cute.arch.mbarrier_arrive, empty + s)
            mY[i * 64 + (warp - 1) * 32 + lane] = y


@family(block=96, args=pair(4 * 32), want=lambda x, y: x + 1, bugs=(
    Bug("loader_does_not_wait", RACE, "The loader overwrites values that warp 1 may not have read.",
        also=("deadlock", "barrier-count")),
    Bug("stored_over", RACE, "Warp 1 overwrites values that warp 2 may not have read."),
    Bug("handed_on_early", RACE, "Warp 1 arrives before it has written."),
    Bug("in_one_buffer", RACE, "Both transfers use the same buffer.", loose=True),
))  # fmt: skip
@cute.kernel
def bucket_chain(mX, mY, bug):
    """Warp 0 loads, warp 1 adds 1, and warp 2 stores; each transfer uses two named barriers."""
    tidx, _, _ = cute.arch.thread_idx()
    warp, lane = tidx // 32, tidx % 32
    sIn, sOut = smem(32), smem(32)
    n = mX.shape[0] // 32
    if const_expr(bug == "in_one_buffer"):
        sOut = sIn
    for i in cutlass.range(n, unroll=1):
        if warp == 0:
            if i > 0 and const_expr(bug != "loader_does_not_wait"):
                cute.arch.barrier(barrier_id=2, number_of_threads=64)
            sIn[lane] = mX[i * 32 + lane]  # BUG loader_does_not_wait, in_one_buffer
            cute.arch.barrier_arrive(barrier_id=1, number_of_threads=64)
        elif warp == 1:
            cute.arch.barrier(barrier_id=1, number_of_threads=64)
            x = sIn[31 - lane]  # BUG loader_does_not_wait, in_one_buffer
            if i + 1 < n:
                cute.arch.barrier_arrive(barrier_id=2, number_of_threads=64)
            if i > 0 and const_expr(bug != "stored_over"):
                cute.arch.barrier(barrier_id=4, number_of_threads=64)
            if const_expr(bug == "handed_on_early"):
                cute.arch.barrier_arrive(barrier_id=3, number_of_threads=64)
            sOut[lane] = x + 1.0  # BUG stored_over, handed_on_early, in_one_buffer
            if const_expr(bug != "handed_on_early"):
                cute.arch.barrier_arrive(barrier_id=3, number_of_threads=64)
        else:
            cute.arch.barrier(barrier_id=3, number_of_threads=64)
            mY[i * 32 + lane] = sOut[31 - lane]  # BUG stored_over, handed_on_early, in_one_buffer
            if i + 1 < n and const_expr(bug != "stored_over"):
                cute.arch.barrier_arrive(barrier_id=4, number_of_threads=64)


@family(block=64, args=lambda: (fk.randn(128), fk.empty(32)),
        want=lambda x, y: (x.view(4, 32) * torch.tensor([8.0, 4.0, 2.0, 1.0])[:, None]).sum(0),
        bugs=(
    Bug("nobody_begins", DEADLOCK, "No warp passes on the first turn."),
    Bug("same_barrier", DEADLOCK, "Both turns use the same barrier.", seeds=1,
        also=("uninitialised-shared", *RACE)),
    Bug("passed_on_first", RACE, "The turn is passed on before the update."),
))  # fmt: skip
@cute.kernel
def in_turn(mX, mY, bug):
    """Two warps alternately update the same row, just as two attention consumers alternate on the
    tensor cores."""
    tidx, _, _ = cute.arch.thread_idx()
    warp, lane = tidx // 32, tidx % 32
    sSum = smem(32)
    if warp == 0:
        sSum[lane] = Float32(0.0)
    if warp == 1 and const_expr(bug != "nobody_begins"):
        cute.arch.barrier_arrive(barrier_id=1, number_of_threads=64)
    for i in cutlass.range(2, unroll=1):
        mine, other = 1 + warp, 2 - warp
        if const_expr(bug == "same_barrier"):
            mine, other = 1, 1
        cute.arch.barrier(barrier_id=mine, number_of_threads=64)  # BUG nobody_begins, same_barrier
        if const_expr(bug == "passed_on_first"):
            if i == 0 or warp == 0:
                cute.arch.barrier_arrive(barrier_id=other, number_of_threads=64)
        sSum[lane] = 2.0 * sSum[lane] + mX[(2 * i + warp) * 32 + lane]  # BUG passed_on_first
        if const_expr(bug != "passed_on_first"):
            if i == 0 or warp == 0:
                cute.arch.barrier_arrive(barrier_id=other, number_of_threads=64)
    if warp == 1:
        mY[lane] = sSum[lane]


@family(block=64, args=pair(7 * 32), want=lambda x, y: 2 * x.view(-1, 32).flip(1).reshape(-1),
        static=(0,), bugs=(
    Bug("not_awaited", DEADLOCK, "The loader does not wait until a stage is free."),
    Bug("arrives_too_early", (*RACE, *ASYNC),
        "The loader arrives when its copies have only started."),
    Bug("weak_wait", (*RACE, *ASYNC), "The wait leaves one group too many in flight."),
))  # fmt: skip
@cute.kernel
def async_loader(mX, mY, bug):
    """Warp 0 fills three stages with cp.async, two ahead, and arrives when its own copies are
    complete."""
    tidx, _, _ = cute.arch.thread_idx()
    warp, lane = tidx // 32, tidx % 32
    stages = 3
    sX = smem((32, stages))
    full, empty = smem(stages, Int64).iterator, smem(stages, Int64).iterator
    init_mbarriers((full, 32), (empty, 32), stages=stages)
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float32, num_bits_per_copy=32)
    gX, sV = cute.zipped_divide(mX, (1,)), cute.zipped_divide(sX, (1, 1))
    n = mX.shape[0] // 32
    if warp == 0:
        for i in cutlass.range(n + 1, unroll=1):
            if i < n:
                if const_expr(bug != "not_awaited"):
                    cute.arch.mbarrier_wait(empty + i % stages, (i // stages + 1) % 2)
                # BUG arrives_too_early, weak_wait
                cute.copy(atom, gX[None, i * 32 + lane], sV[None, (lane, i % stages)])
            cute.arch.cp_async_commit_group()
            if i > 0:
                if const_expr(bug == "weak_wait"):
                    cute.arch.cp_async_wait_group(2)
                elif const_expr(bug != "arrives_too_early"):
                    cute.arch.cp_async_wait_group(1)
                cute.arch.mbarrier_arrive(full + (i - 1) % stages)
    else:
        for i in cutlass.range(n, unroll=1):
            cute.arch.mbarrier_wait(full + i % stages, (i // stages) % 2)  # BUG not_awaited
            y = sX[31 - lane, i % stages]  # BUG arrives_too_early, weak_wait
            cute.arch.mbarrier_arrive(empty + i % stages)
            mY[i * 32 + lane] = 2.0 * y


@family(block=64, grid=lambda mX, mY: mX.shape[0] // 64, args=pair(3 * 64),
        want=lambda x, y: x.view(3, 64).flip(1).reshape(-1), bugs=(
    Bug("others_do_not_wait", (*ASYNC, *RACE), "There is no barrier after thread 0's wait.",
        also=("uninitialised-shared",)),
    Bug("nobody_waits", ASYNC, "There is a barrier, but no thread waits for the copy.",
        also=("block-lifetime", "uninitialised-shared")),
))  # fmt: skip
@cute.kernel
def one_waits_for_all(mX, mY, bug):
    """Only thread 0 waits for an mbarrier; the other threads wait at a block barrier."""
    tidx, bidx = indices()
    sX = smem(64)
    mbar = smem(1, Int64).iterator
    if tidx == 0:
        cute.arch.mbarrier_init(mbar, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(mbar, 256)
        gX = cute.zipped_divide(mX, (64,))
        # BUG others_do_not_wait, nobody_waits
        cute.copy(cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Float32), gX[None, bidx], sX,
                  mbar_ptr=mbar)  # fmt: skip
        sync_if(bug != "nobody_waits", cute.arch.mbarrier_wait, mbar, 0)
    sync_if(bug != "others_do_not_wait")
    mY[bidx * 64 + tidx] = sX[63 - tidx]  # BUG others_do_not_wait, nobody_waits
