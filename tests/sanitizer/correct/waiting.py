"""Define correct kernels in which a thread waits for others just before a barrier of its block.
Its neighbours arrive much earlier. The kernels use locks, semaphores, chained scans and mbarriers.
"""

import cutlass
import torch
from cutlass import Float32, Int32, Int64, const_expr, cute
from cutlass.cute.nvgpu import cpasync

import forgekit as fk
from tests.sanitizer.bank import family
from tests.sanitizer.kernel_parts import (
    by_rows,
    cluster_sync,
    indices,
    init_mbarriers,
    pair,
    release,
    smem,
    wait_for,
)

THREADS = 64


def flags(n=1):
    return fk.zeros(n, dtype=torch.int32)


def rows(n):
    return fk.randint(-9, 9, n, THREADS, dtype=torch.float32)


def running(x, f, t, y):
    sums = x.sum(1).cumsum(0)
    return [(t, sums), (y, x + torch.cat([sums.new_zeros(1), sums[:-1]])[:, None])]


def taken_in_turn(x, y):
    total = 0.0
    for value in x[:6].tolist():
        total = 2.0 * total + value
    return [(y, torch.full_like(y, total))]


def unevenly(x, y):
    for k in range(3):
        for t in range(THREADS):
            for _ in range((t * 7 + k) % 5):
                x[t] = x[t] * 3 + 1
        x += x.roll(-1)
    return [(y, x)]


@cute.jit
def acquire(lock: cute.Pointer):
    taken = Int32(1)
    while taken != 0:
        taken = cute.arch.atomic_cas(lock, cmp=Int32(0), val=Int32(1), sem="acquire", scope="gpu")


# -- locks and semaphores -------------------------------------------------------------------------
@family(block=THREADS, grid=lambda mX, mL, mY: mX.shape[0],
        args=lambda: (rows(3), flags(), fk.zeros(THREADS)),
        want=lambda x, l, y: x.sum(0))  # fmt: skip  # noqa: E741
@cute.kernel
def block_lock(mX, mL, mY):
    """Thread 0 takes a lock for its block, all threads add without atomics, and thread 0 releases
    it."""
    tidx, bidx = indices()
    if tidx == 0:
        acquire(mL.iterator)
    cute.arch.sync_threads()
    mY[tidx] = mY[tidx] + mX[bidx, tidx]
    cute.arch.sync_threads()
    if tidx == 0:
        cute.arch.atomic_exch(mL.iterator, Int32(0), sem="release", scope="gpu")


@family(block=lambda mL, mY: mY.shape[0], args=lambda: (flags(), fk.empty(96, dtype=torch.int32)),
        want=lambda l, y: torch.full_like(y, 3), static=(1,))  # fmt: skip  # noqa: E741
@cute.kernel
def warp_lock(mL, mY):
    """A lane of each warp counts under a lock; then all threads reach a barrier."""
    tidx, _, _ = cute.arch.thread_idx()
    sN = smem(1, Int32)
    if tidx == 0:
        sN[0] = 0
    cute.arch.sync_threads()
    if tidx % 32 == 5:
        acquire(mL.iterator)
        sN[0] = sN[0] + 1
        cute.arch.atomic_exch(mL.iterator, Int32(0), sem="release", scope="gpu")
    cute.arch.sync_threads()
    mY[tidx] = sN[0]


@family(block=THREADS, grid=by_rows, args=lambda: (rows(4), flags(), fk.empty(THREADS)),
        want=lambda x, s, y: x.sum(0))  # fmt: skip
@cute.kernel
def split_k(mX, mS, mY):
    """Blocks add their parts in the order of block indices, controlled by a semaphore."""
    tidx, part = indices()
    if tidx == 0:
        wait_for(mS.iterator, part)
    cute.arch.sync_threads()
    before = Float32(0.0)
    if part > 0:
        before = mY[tidx]
    mY[tidx] = before + mX[part, tidx]
    cute.arch.sync_threads()
    if tidx == 0:
        release(mS.iterator, part + 1)


@family(block=THREADS, grid=by_rows,
        args=lambda: (rows(4), flags(4), fk.empty(4, THREADS), fk.empty(THREADS)),
        want=lambda x, f, p, y: x.sum(0) + 5 + 10 + 15)  # fmt: skip
@cute.kernel
def fix_up(mX, mF, mP, mY):
    """Stream-K: block 0 waits for the flag of every other block, and adds up their parts."""
    tidx, bidx = indices()
    total = mX[bidx, tidx]
    if bidx == 0:
        for k in cutlass.range(1, mX.shape[0], unroll=1):
            if tidx == 0:
                wait_for(mF.iterator + k, Int32(1))
            cute.arch.sync_threads()
            total += mP[k, tidx]
        mY[tidx] = total
    else:
        for _ in cutlass.range(5 * bidx, unroll=1):
            total += 1.0
        mP[bidx, tidx] = total
        cute.arch.sync_threads()
        if tidx == 0:
            release(mF.iterator + bidx, Int32(1))


@family(block=THREADS, grid=by_rows, cooperative=True,
        args=lambda: (rows(3), flags(), fk.empty(3, 3, THREADS)),
        want=lambda x, n, y: [(y[2], x.roll(-2, 0) + 2.0)])  # fmt: skip
@cute.kernel
def rounds(mX, mN, mY):
    """All blocks synchronise twice with a counter, and values move from block to block."""
    tidx, bidx = indices()
    blocks, _, _ = cute.arch.grid_dim()
    x = mX[bidx, tidx]
    for k in cutlass.range_constexpr(2):
        mY[k, bidx, tidx] = x
        cute.arch.sync_threads()
        if tidx == 0:
            cute.arch.atomic_add(mN.iterator, Int32(1), sem="acq_rel", scope="gpu")
            wait_for(mN.iterator, (k + 1) * blocks)
        cute.arch.sync_threads()
        x = mY[k, (bidx + 1) % blocks, tidx] + 1.0
    mY[2, bidx, tidx] = x


# -- scans ----------------------------------------------------------------------------------------
@cute.kernel
def scan(mX, mF, mT, mY, by_ticket):
    """Compute running sums of rows, one row per block; each block waits for the previous row's sum.

    by_ticket: draw rows from a counter, so that a block never waits for a later block.
    """
    tidx, row = indices()
    sRow = smem(1, Int32)
    if const_expr(by_ticket):
        if tidx == 0:
            sRow[0] = cute.arch.atomic_add(mF.iterator + mX.shape[0], Int32(1))
        cute.arch.sync_threads()
        row = sRow[0]
    total = mX[row, tidx]
    sum_of_warp = cute.arch.warp_reduction_sum(total)
    sBefore, sWarp = smem(1), smem(2)
    if tidx % 32 == 0:
        sWarp[tidx // 32] = sum_of_warp
    cute.arch.sync_threads()
    if tidx == 0:
        before = Float32(0.0)
        if row > 0:
            wait_for(mF.iterator + row - 1, Int32(1))
            before = mT[row - 1]
        mT[row] = before + sWarp[0] + sWarp[1]
        release(mF.iterator + row, Int32(1))
        sBefore[0] = before
    cute.arch.sync_threads()
    mY[row, tidx] = sBefore[0] + total


SCANS = tuple(
    family(block=THREADS, grid=lambda mX, *_: mX.shape[0], by_ticket=bool(extra), name=name,
           args=lambda extra=extra: (rows(5), flags(5 + extra), fk.empty(5), fk.empty(5, THREADS)),
           want=running)(scan)
    for extra, name in enumerate(("chained_scan", "ticketed_scan"))
)  # fmt: skip


@family(block=THREADS, grid=2, args=lambda: (rows(5), flags(), fk.empty(5, THREADS)),
        want=lambda x, n, y: 2 * x)  # fmt: skip
@cute.kernel
def drawn_rows(mX, mN, mY):
    """Blocks draw rows from a counter until none are left."""
    tidx, _, _ = cute.arch.thread_idx()
    sRow = smem(1, Int32)
    row = Int32(0)
    while row < mX.shape[0]:
        if tidx == 0:
            sRow[0] = cute.arch.atomic_add(mN.iterator, Int32(1))
        cute.arch.sync_threads()
        row = sRow[0]
        cute.arch.sync_threads()
        if row < mX.shape[0]:
            mY[row, tidx] = 2.0 * mX[row, tidx]


# -- mbarriers that one thread waits for ----------------------------------------------------------
@family(block=THREADS, args=pair(THREADS), want=lambda x, y: x.flip(0), static=(0,))
@cute.kernel
def tile_for_all(mX, mY):
    """Thread 0 fetches a tile and waits for it; then the block passes a barrier."""
    tidx, _, _ = cute.arch.thread_idx()
    sX, full = smem(THREADS), smem(1, Int64).iterator
    atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Float32)
    if tidx == 0:
        cute.arch.mbarrier_init(full, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(full, 4 * THREADS)
        cute.copy(atom, mX, sX, mbar_ptr=full)
        cute.arch.mbarrier_wait(full, 0)
    cute.arch.sync_threads()
    mY[tidx] = sX[THREADS - 1 - tidx]


@family(block=THREADS, args=lambda: (fk.randn(32), fk.empty(33)),
        want=lambda x, y: [(y[:32], x.flip(0) + 9), (y[32:], x[7:8] + 9)])  # fmt: skip
@cute.kernel
def lane_waits(mX, mY):
    """Warp 0 stores and arrives at an mbarrier; a lane of warp 1 waits for the mbarrier before the
    block's barrier."""
    tidx, _, _ = cute.arch.thread_idx()
    sX, ready = smem(32), smem(1, Int64).iterator
    init_mbarriers((ready, 32))
    if tidx == 40:
        cute.arch.mbarrier_wait(ready, 0)
        mY[32] = sX[7]
    if tidx < 32:
        x = mX[tidx]
        for _ in cutlass.range(9, unroll=1):
            x += 1.0
        sX[tidx] = x
        cute.arch.mbarrier_arrive(ready)
    cute.arch.sync_threads()
    if tidx >= 32:
        mY[tidx - 32] = sX[63 - tidx]


@family(block=THREADS + 32, args=lambda: (rows(5).view(-1), fk.empty(THREADS)),
        want=lambda x, y: x.view(5, THREADS).sum(0).flip(0))  # fmt: skip
@cute.kernel
def one_producer(mX, mY):
    """A lane of the last warp fetches tiles, two warps use them, and all threads meet at a barrier
    at the end."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem((THREADS, 2))
    full, empty = smem(2, Int64).iterator, smem(2, Int64).iterator
    atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Float32)
    gX, tiles = cute.zipped_divide(mX, (THREADS,)), mX.shape[0] // THREADS
    sSum = smem(THREADS)
    init_mbarriers((full, 1), (empty, THREADS), stages=2)
    if tidx == THREADS:
        for i in cutlass.range(tiles, unroll=1):
            cute.arch.mbarrier_wait(empty + i % 2, (i // 2 + 1) % 2)
            cute.arch.mbarrier_arrive_and_expect_tx(full + i % 2, 4 * THREADS)
            cute.copy(atom, gX[None, i], sX[None, i % 2], mbar_ptr=full + i % 2)
    elif tidx < THREADS:
        total = Float32(0.0)
        for i in cutlass.range(tiles, unroll=1):
            cute.arch.mbarrier_wait(full + i % 2, i // 2 % 2)
            total += sX[tidx, i % 2]
            cute.arch.mbarrier_arrive(empty + i % 2)
        sSum[tidx] = total
    cute.arch.sync_threads()
    if tidx < THREADS:
        mY[tidx] = sSum[THREADS - 1 - tidx]


@family(block=THREADS, args=pair(3 * THREADS), want=lambda x, y: x + 1)
@cute.kernel
def store_by_one(mX, mY):
    """One thread stores each tile, and waits until the copy has read its source."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem(THREADS)
    gX, gY = cute.zipped_divide(mX, (THREADS,)), cute.zipped_divide(mY, (THREADS,))
    atom = cute.make_copy_atom(cpasync.CopyBulkS2GOp(), Float32)
    for i in cutlass.range(mX.shape[0] // THREADS, unroll=1):
        sX[tidx] = gX[tidx, i] + 1.0
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_threads()
        if tidx == 33:
            cute.copy(atom, sX, gY[None, i])
            cute.arch.cp_async_bulk_commit_group()
            cute.arch.cp_async_bulk_wait_group(0, read=True)
        cute.arch.sync_threads()


# -- clusters -------------------------------------------------------------------------------------
@family(block=THREADS, grid=4, cluster=(4, 1, 1), args=lambda: (rows(4), fk.empty(4, THREADS)),
        want=lambda x, y: x.cumsum(0))  # fmt: skip
@cute.kernel
def cluster_chain(mX, mY):
    """Compute running sums along a cluster: one thread waits for the previous block while its own
    block waits."""
    tidx, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    sX, come = smem(THREADS), smem(1, Int64).iterator
    if tidx == 0:
        cute.arch.mbarrier_init(come, THREADS)
    cute.arch.mbarrier_init_fence()
    cluster_sync()
    total = mX[rank, tidx]
    if rank > 0:
        if tidx == 0:
            cute.arch.mbarrier_wait(come, 0)
        cute.arch.sync_threads()
        total += sX[tidx]
    if rank < mX.shape[0] - 1:
        cute.arch.map_dsmem_ptr(sX.iterator + tidx, rank + 1).store(total)
        cute.arch.mbarrier_arrive(come, rank + 1)
    mY[rank, tidx] = total
    cluster_sync()


@family(block=THREADS, grid=4, cluster=(4, 1, 1),
        args=lambda: (rows(4), flags(4), fk.empty(8, THREADS)), want=lambda x, f, y: [(y[:, 1:], 3 *
        torch.cat([x, x.flip(0)])[:, 1:]), (y[:4, 0], 3 * x[:, 0] + 9)])  # fmt: skip
@cute.kernel
def cluster_flag(mX, mF, mY):
    """A thread of each block waits for the previous block's flag; then all threads reach the
    cluster's barrier."""
    tidx, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    mY[rank, tidx] = 3.0 * mX[rank, tidx]
    cute.arch.sync_threads()
    if tidx == 0:
        if rank > 0:
            wait_for(mF.iterator + rank - 1, Int32(1))
        for _ in cutlass.range(9, unroll=1):
            mY[rank, 0] = mY[rank, 0] + 1.0
        release(mF.iterator + rank, Int32(1))
    cute.arch.sync_threads()
    cluster_sync()
    mY[rank + 4, tidx] = mY[3 - rank, tidx]


# -- named barriers -------------------------------------------------------------------------------
@family(block=96, grid=2, args=lambda: (fk.randn(96), flags(), fk.empty(2, 96)),
        want=lambda x, f, y: [(y[1], x), (y[0], torch.cat([x[:64].flip(0), x[64:]]))])  # fmt: skip
@cute.kernel
def late_lane(mX, mF, mY):
    """A lane waits for the other block before its warps pass a two-warp barrier."""
    tidx, bidx = indices()
    if bidx == 0:
        if tidx < 64:
            if tidx == 31:
                wait_for(mF.iterator, Int32(1))
            cute.arch.barrier(barrier_id=1, number_of_threads=64)
            mY[0, tidx] = mY[1, 63 - tidx]
        else:
            mY[0, tidx] = mX[tidx]
    else:
        mY[1, tidx] = mX[tidx]
        cute.arch.sync_threads()
        if tidx == 0:
            release(mF.iterator, Int32(1))


@family(block=THREADS, args=lambda: (fk.randn(32), flags(), fk.empty(64)),
        want=lambda x, l, y: torch.cat([2 * x[9:10], x.flip(0)[1:], 2 * x]))  # fmt: skip  # noqa: E741
@cute.kernel
def late_arrival(mX, mL, mY):
    """A lane waits for the other warp's flag after its own warp has arrived at the barrier."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem(32)
    if tidx < 32:
        sX[tidx] = mX[tidx]
        if tidx == 9:
            wait_for(mL.iterator, Int32(1))
            mY[0] = mY[41]
        cute.arch.barrier_arrive(barrier_id=2, number_of_threads=64)
    else:
        mY[tidx] = 2.0 * mX[tidx - 32]
        cute.arch.sync_warp()
        if tidx == 50:
            release(mL.iterator, Int32(1))
        cute.arch.barrier(barrier_id=2, number_of_threads=64)
        if tidx > 32:
            mY[tidx - 32] = sX[63 - tidx]


@family(block=THREADS, args=lambda: (fk.randn(6), fk.empty(THREADS)), want=taken_in_turn)
@cute.kernel
def ping_pong(mX, mY):
    """One lane in each of two warps takes alternate steps, controlled by a flag in shared memory;
    then all threads meet at a barrier."""
    tidx, _, _ = cute.arch.thread_idx()
    sTurn, sSum = smem(1, Int32), smem(1)
    if tidx == 0:
        sTurn[0] = 0
        sSum[0] = 0.0
    cute.arch.sync_threads()
    if tidx % 32 == 3:
        for k in cutlass.range(3, unroll=1):
            mine = 2 * k + tidx // 32
            turn = Int32(-1)
            while turn != mine:
                turn = cute.arch.load(sTurn.iterator, Int32, sem="acquire", scope="cta", ss="cta")
            sSum[0] = 2.0 * sSum[0] + mX[mine]
            cute.arch.store(sTurn.iterator, mine + 1, sem="release", scope="cta", ss="cta")
    cute.arch.sync_threads()
    mY[tidx] = sSum[0]


@family(block=THREADS + 32, args=pair(3 * THREADS),
        want=lambda x, y: x.view(3, THREADS).flip(1).reshape(-1))  # fmt: skip
@cute.kernel
def elected_wait(mX, mY):
    """One consumer waits for a tile, and all consumers meet at a separate barrier."""
    tidx, _, _ = cute.arch.thread_idx()
    sX, full = smem(THREADS), smem(1, Int64).iterator
    atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Float32)
    gX = cute.zipped_divide(mX, (THREADS,))
    init_mbarriers((full, 1))
    for i in cutlass.range(mX.shape[0] // THREADS, unroll=1):
        if tidx < THREADS:
            if tidx == 17:
                cute.arch.mbarrier_wait(full, i % 2)
            cute.arch.barrier(barrier_id=1, number_of_threads=THREADS)
            mY[i * THREADS + tidx] = sX[THREADS - 1 - tidx]
            cute.arch.barrier_arrive(barrier_id=2, number_of_threads=THREADS + 32)
        else:
            if tidx == THREADS:
                cute.arch.mbarrier_arrive_and_expect_tx(full, 4 * THREADS)
                cute.copy(atom, gX[None, i], sX, mbar_ptr=full)
            cute.arch.barrier(barrier_id=2, number_of_threads=THREADS + 32)


@family(block=THREADS, args=lambda: (flags(), fk.zeros(THREADS + 1, dtype=torch.int32)),
        want=lambda l, y: torch.full_like(y, 3 + 19 + 35 + 51))  # fmt: skip  # noqa: E741
@cute.kernel
def lanes_lock(mL, mY):
    """Two lanes of each warp take a lock, one after the other; then all threads meet at a
    barrier."""
    tidx, _, _ = cute.arch.thread_idx()
    if tidx % 16 == 3:
        acquire(mL.iterator)
        mY[0] = mY[0] + tidx
        cute.arch.atomic_exch(mL.iterator, Int32(0), sem="release", scope="gpu")
    cute.arch.sync_threads()
    mY[tidx + 1] = mY[0]


@family(block=THREADS,
        args=lambda: (fk.randint(0, 9, THREADS), fk.empty(THREADS, dtype=torch.int32)),
        want=lambda x, y: unevenly(x.int(), y))  # fmt: skip
@cute.kernel
def uneven_lanes(mX, mY):
    """In every round, lanes reach the same barrier after loops of different lengths."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem(THREADS, Int32)
    x = mX[tidx]
    for k in cutlass.range(3, unroll=1):
        for _ in cutlass.range((tidx * 7 + k) % 5, unroll=1):
            x = x * 3 + 1
        sX[tidx] = x
        cute.arch.sync_threads()
        x += sX[(tidx + 1) % THREADS]
        cute.arch.sync_threads()
    mY[tidx] = x
