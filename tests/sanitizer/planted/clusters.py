"""Clusters: row sums through distributed shared memory, with cluster barriers and mbarriers."""

import operator

import cutlass
import torch
from cutlass import Float32, Int32, Int64, const_expr, cute

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import cluster_sync, pair, smem, sync_if

WARPS = 2
THREADS = 32 * WARPS
ROUNDS = 3


def passed_on(x: torch.Tensor) -> torch.Tensor:
    for _ in range(ROUNDS):
        x = x.reshape(2, THREADS).flip(0).flip(1) + 1.0
    return x.reshape(-1)


RACE, COPY, LIFETIME = ("shared-race",), ("async-copy",), ("block-lifetime",)
UNCOUNTED = ("uninitialised-shared", "block-lifetime")


@cute.jit
def own_part(mX: cute.Tensor, row: Int32, part: Int32, parts: cutlass.Constexpr) -> Float32:
    """Sum every (parts * THREADS)th element of a row in each thread, then the sums of its warp."""
    tidx, _, _ = cute.arch.thread_idx()
    total = Float32(0.0)
    for column in range(part * THREADS + tidx, mX.shape[1], parts * THREADS):
        total += mX[row, column]
    return cute.arch.warp_reduction(total, operator.add)


# -- the cluster's barrier ------------------------------------------------------------------------
@cute.kernel
def cluster_sum_kernel(
    mX: cute.Tensor, mY: cute.Tensor, cluster: cutlass.Constexpr, bug: cutlass.Constexpr
):
    """Each block keeps its partial sums in its own memory; the cluster's first block fetches all
    partial sums."""
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.cluster_idx()
    rank = cute.arch.block_idx_in_cluster()
    sPart = smem(WARPS)
    total = own_part(mX, row, rank, cluster)
    if cute.arch.lane_idx() == 0:
        sPart[tidx // 32] = total  # BUG block_barrier, without_barrier, relaxed
    if const_expr(bug == "block_barrier"):
        cute.arch.sync_threads()
    elif const_expr(bug == "relaxed"):
        cute.arch.cluster_arrive_relaxed()
    elif const_expr(bug not in ("without_barrier", "only_waits")):
        cute.arch.cluster_arrive()
    if const_expr(bug == "one_waits_again"):
        if rank == 0:
            cute.arch.cluster_wait()
            cute.arch.cluster_arrive()
        cute.arch.cluster_wait()
    elif const_expr(bug not in ("block_barrier", "without_barrier")):
        cute.arch.cluster_wait()  # BUG only_waits
    value = Float32(0.0)
    if rank == 0 and tidx < cluster * WARPS:
        owner = tidx // WARPS + (1 if const_expr(bug == "rank_too_large") else 0)
        there = cute.arch.map_dsmem_ptr(sPart.iterator + tidx % WARPS, owner)
        # BUG block_barrier, without_barrier, relaxed, leaves, rank_too_large, one_waits_again
        # BUG one_stays
        value = there.load()
    value = cute.arch.warp_reduction(value, operator.add)
    if rank == 0 and tidx == 0:
        mY[row] = value
    if const_expr(bug == "one_stays"):
        if rank == 0:
            cluster_sync()
    elif const_expr(bug != "leaves"):
        cluster_sync()


@family(args=lambda: (fk.randn(3, 600), fk.empty(3)), want=lambda x, y: x.sum(1), bugs=(
    Bug("block_barrier", RACE, "The barrier is one of the block only.", also=LIFETIME),
    Bug("without_barrier", RACE, "Nothing orders the writes before the reads.", also=LIFETIME),
    Bug("relaxed", RACE, "The arrival does not release the writes."),
    Bug("leaves", LIFETIME, "No barrier before the blocks leave."),
    Bug("one_stays", LIFETIME, "Only the block that fetches stays for the last barrier."),
    Bug("only_waits", ("barrier-count",), "A block waits without arriving."),
    Bug("one_waits_again", LIFETIME, "Block 0 is one barrier behind."),
    Bug("rank_too_large", ("out-of-bounds",), "There is no block of rank 4."),
))  # fmt: skip
@cute.jit
def cluster_sum(
    mX: cute.Tensor, mY: cute.Tensor, bug: cutlass.Constexpr = None, cluster: cutlass.Constexpr = 4
):
    cluster_sum_kernel(mX, mY, cluster, bug).launch(
        grid=(mX.shape[0] * cluster, 1, 1), block=(THREADS, 1, 1), cluster=(cluster, 1, 1)
    )


# -- mbarriers and asynchronous stores ------------------------------------------------------------
@cute.kernel
def reduction_buffer_sum_kernel(
    mX: cute.Tensor, mY: cute.Tensor, cluster: cutlass.Constexpr, bug: cutlass.Constexpr
):
    """Each warp sends its partial sum to every block of the cluster; each block adds up all values.

    There is no barrier at the end; a block exits once all values sent to it have arrived.
    """
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.cluster_idx()
    lane, warp = cute.arch.lane_idx(), cute.arch.warp_idx()
    rank = cute.arch.block_idx_in_cluster()
    sPart = smem((WARPS, cluster))
    mbar = smem(1, Int64).iterator
    if const_expr(bug == "fence_first"):
        cute.arch.mbarrier_init_fence()
    if tidx == 0:
        cute.arch.mbarrier_init(mbar, 1)  # BUG block_barrier, fence_first, other_fence
    if const_expr(bug == "other_fence"):
        if warp == 1:
            cute.arch.mbarrier_init_fence()
    elif const_expr(bug != "fence_first"):
        cute.arch.mbarrier_init_fence()
    if const_expr(bug == "block_barrier"):
        cute.arch.sync_threads()
    else:
        cute.arch.cluster_arrive_relaxed()
    total = own_part(mX, row, rank, cluster)
    sync_if(bug != "block_barrier", cute.arch.cluster_wait)
    wanted = 4 * WARPS * cluster
    if tidx == 0 and const_expr(bug == "without_expect_tx"):
        cute.arch.mbarrier_arrive(mbar)
    elif tidx == 0 and const_expr(bug != "without_arrival"):
        expected = wanted + (4 if const_expr(bug == "expects_more") else 0)
        cute.arch.mbarrier_arrive_and_expect_tx(mbar, expected)
    if lane < cluster:
        mine = sPart.iterator + cute.crd2idx((warp, rank), sPart.layout)
        bits = total.bitcast(Int32)
        # BUG block_barrier, wrong_parity, without_expect_tx, without_wait, leaves
        # BUG fence_first, other_fence
        cute.arch.store_async_dsmem(mine, bits, mbar, lane)
    if rank == 0 or const_expr(bug != "leaves"):
        if const_expr(bug == "wrong_parity"):
            cute.arch.mbarrier_wait(mbar, 1)
        elif const_expr(bug != "without_wait"):
            cute.arch.mbarrier_wait(mbar, 0)  # BUG expects_more, without_arrival
        value = Float32(0.0)
        if lane < WARPS * cluster:
            # BUG wrong_parity, without_expect_tx, without_wait
            value = sPart[lane % WARPS, lane // WARPS]
        value = cute.arch.warp_reduction(value, operator.add)
        if tidx == 0:
            mY[row, rank] = value


@family(args=lambda: (fk.randn(3, 600), fk.empty(3, 4)),
        want=lambda x, y: x.sum(1, keepdim=True).expand(-1, 4), bugs=(
    Bug("block_barrier", COPY, "Others may send before the mbarrier is made.", also=LIFETIME),
    Bug("fence_first", COPY, "The fence precedes what it has to publish.", also=RACE),
    Bug("other_fence", COPY, "A warp that made no mbarrier executes the fence.", also=RACE),
    Bug("wrong_parity", COPY, "Blocks wait for the phase before the first.", also=UNCOUNTED),
    Bug("without_expect_tx", COPY, "The mbarrier counts no bytes.", also=UNCOUNTED),
    Bug("without_wait", COPY, "A block reads before it waits.", also=UNCOUNTED),
    Bug("leaves", LIFETIME, "A block leaves before its peers wrote to it."),
    Bug("expects_more", ("deadlock",), "Four bytes too many are expected."),
    Bug("without_arrival", ("deadlock",), "No thread arrives."),
))  # fmt: skip
@cute.jit
def reduction_buffer_sum(
    mX: cute.Tensor, mY: cute.Tensor, bug: cutlass.Constexpr = None, cluster: cutlass.Constexpr = 4
):
    reduction_buffer_sum_kernel(mX, mY, cluster, bug).launch(
        grid=(mX.shape[0] * cluster, 1, 1), block=(THREADS, 1, 1), cluster=(cluster, 1, 1)
    )


# -- a ring: ordinary stores, remote arrivals, several rounds -------------------------------------
@family(block=THREADS, grid=2, cluster=(2, 1, 1), args=pair(2 * THREADS),
        want=lambda x, y: passed_on(x), bugs=(
    Bug("not_awaited", RACE, "A block overwrites values that the other may not have read."),
    Bug("arrives_first", RACE, "A block signals that it has read before it reads."),
    Bug("arrives_at_home", RACE, "A block arrives at its own mbarrier.", also=LIFETIME),
))  # fmt: skip
@cute.kernel
def ring(mX, mY, bug):
    """In each round, every block passes its values to the next block of a cluster of 2."""
    tidx, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    sX = smem(THREADS)
    full, empty = smem(1, Int64).iterator, smem(1, Int64).iterator
    if tidx == 0:
        cute.arch.mbarrier_init(full, THREADS)
        cute.arch.mbarrier_init(empty, THREADS)
    cute.arch.mbarrier_init_fence()
    cluster_sync()
    x = mX[rank * THREADS + tidx]
    there = cute.arch.map_dsmem_ptr(sX.iterator + tidx, rank ^ 1)
    for k in cutlass.range_constexpr(ROUNDS):
        if const_expr(k > 0 and bug != "not_awaited"):
            cute.arch.mbarrier_wait(empty, (k + 1) % 2)
        there.store(x)  # BUG not_awaited, arrives_first, arrives_at_home
        cute.arch.mbarrier_arrive(full, rank if bug == "arrives_at_home" else rank ^ 1)
        cute.arch.mbarrier_wait(full, k % 2)
        if const_expr(bug == "arrives_first" and k + 1 < ROUNDS):
            cute.arch.mbarrier_arrive(empty, rank ^ 1)
        x = sX[THREADS - 1 - tidx] + 1.0  # BUG not_awaited, arrives_first, arrives_at_home
        if const_expr(bug != "arrives_first" and k + 1 < ROUNDS):
            cute.arch.mbarrier_arrive(empty, rank ^ 1)
    mY[rank * THREADS + tidx] = x
