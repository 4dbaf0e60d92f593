"""Asynchronous copies whose source changes during the copy, or that collide with another copy."""

import math

import cutlass
from cutlass import Float32, Int64, const_expr, cute
from cutlass.cute.nvgpu import cpasync

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import indices, init_mbarriers, pair, smem, sync_if

THREADS = 64
TILE = 2 * THREADS


def atom_of_32_bits():
    return cute.make_copy_atom(cpasync.CopyG2SOp(), Float32, num_bits_per_copy=32)


def counted(*shape):
    return lambda: (fk.arange(math.prod(shape)).float().view(shape),)


# -- cp.async -------------------------------------------------------------------------------------
@family(block=THREADS, grid=lambda mX: mX.shape[0] // THREADS, args=counted(3 * THREADS),
        want=lambda x: counted(3 * THREADS)()[0].view(3, -1).flip(1).view(-1) + 1, bugs=(
    Bug("own_too_early", ("async-copy",), "A thread overwrites what its copy reads."),
    Bug("of_another", ("async-copy",),
        "A store follows a barrier, but precedes the copying thread's wait."),
    Bug("added_to", ("async-copy",),
        "An atomic operation updates elements that a copy still reads."),
    Bug("unordered", ("global-race",),
        "There is no barrier between another thread's copy and the store.",
        loose=True),
    Bug("waited_but_one", ("async-copy",), "The wait leaves the newest group open."),
))  # fmt: skip
@cute.kernel
def tile_in_place(mX, bug):
    """Replace each tile of x in place by its mirror image plus 1."""
    tidx, bidx = indices()
    sX = smem(THREADS)
    gX, sV = cute.zipped_divide(mX, (1,)), cute.zipped_divide(sX, (1,))
    i = bidx * THREADS + tidx
    # BUG own_too_early, of_another, added_to, unordered, waited_but_one
    cute.copy(atom_of_32_bits(), gX[None, i], sV[None, tidx])
    cute.arch.cp_async_commit_group()
    back = bidx * THREADS + THREADS - 1 - tidx
    if const_expr(bug == "own_too_early"):
        mX[i] = Float32(0.0)  # BUG own_too_early
    if const_expr(bug == "of_another"):
        cute.arch.sync_threads()
        mX[back] = Float32(0.0)  # BUG of_another
    if const_expr(bug == "added_to"):
        cute.arch.sync_threads()
        cute.arch.atomic_add(mX.iterator + back, Float32(1.0))  # BUG added_to
    cute.arch.cp_async_wait_group(1 if const_expr(bug == "waited_but_one") else 0)
    sync_if(bug != "unordered")
    if const_expr(bug in ("unordered", "waited_but_one")):
        mX[back] = Float32(0.0)  # BUG unordered, waited_but_one
        cute.arch.cp_async_wait_group(0)
    else:
        mX[back] = sX[tidx] + 1.0


@family(block=THREADS, args=counted(5, THREADS), want=lambda x: counted(5, THREADS)()[0].cumsum(0),
        bugs=(
    Bug("row_ahead", ("async-copy",), "The result overwrites the row that is in flight."),
    Bug("row_after", ("async-copy",), "The result overwrites the row in flight, cyclically."),
))  # fmt: skip
@cute.kernel
def one_ahead(mX, bug):
    """Compute running sums of columns in place; the next row is in flight while a row is used."""
    tidx, _, _ = cute.arch.thread_idx()
    rows = mX.shape[0]
    sX = smem((THREADS, 2))
    sV = cute.zipped_divide(sX, (1, 1))
    gX = cute.zipped_divide(mX, (1, 1))
    cute.copy(atom_of_32_bits(), gX[None, (0, tidx)], sV[None, (tidx, 0)])
    cute.arch.cp_async_commit_group()
    total = Float32(0.0)
    for row in cutlass.range(rows, unroll=1):
        if row + 1 < rows:
            new = sV[None, (tidx, (row + 1) % 2)]
            cute.copy(atom_of_32_bits(), gX[None, (row + 1, tidx)], new)  # BUG row_ahead, row_after
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(1)
        total += sX[tidx, row % 2]
        if const_expr(bug == "row_ahead"):
            if row + 1 < rows:
                mX[row + 1, tidx] = total  # BUG row_ahead
        elif const_expr(bug == "row_after"):
            mX[(row + 1) % rows, tidx] = total  # BUG row_after
        else:
            mX[row, tidx] = total


# -- bulk copies ----------------------------------------------------------------------------------
@family(block=THREADS, args=counted(3 * TILE),
        want=lambda x: counted(3 * TILE)()[0].view(3, -1).flip(1).view(-1) + 1, bugs=(
    Bug("own_too_early", ("async-copy",), "The copying thread overwrites the source."),
    Bug("of_others", ("async-copy",), "Another thread overwrites the source after a barrier."),
    Bug("stored_over", ("async-copy",), "A bulk store overwrites another copy's source.",
        loose=True, also=("uninitialised-shared",)),
    Bug("read_back", ("async-copy",),
        "Other threads read before the store is known to be complete.",
        loose=True),
    Bug("twice", ("async-copy",), "Two stores to the same tile are in flight."),
    Bug("leader_reads", ("async-copy",), "The thread that stores reads before it waits.",
        loose=True),
))  # fmt: skip
@cute.kernel
def bulk_in_place(mX, bug):
    """Bulk copies move tiles to shared memory and, mirrored, back to global memory."""
    tidx, _, _ = cute.arch.thread_idx()
    sX, sY = smem(TILE), smem(TILE)
    full = smem(1, Int64).iterator
    load = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Float32)
    store = cute.make_copy_atom(cpasync.CopyBulkS2GOp(), Float32)
    gX = cute.zipped_divide(mX, (TILE,))
    init_mbarriers((full, 1))
    for i in cutlass.range(mX.shape[0] // TILE, unroll=1):
        if tidx == 0:
            cute.arch.mbarrier_arrive_and_expect_tx(full, 4 * TILE)
            # BUG own_too_early, of_others, stored_over
            cute.copy(load, gX[None, i], sX, mbar_ptr=full)
            if const_expr(bug == "own_too_early"):
                mX[i * TILE] = Float32(0.0)  # BUG own_too_early
            if const_expr(bug == "stored_over"):
                cute.copy(store, sY, gX[None, i])  # BUG stored_over
                cute.arch.cp_async_bulk_commit_group()
        if const_expr(bug == "of_others"):
            cute.arch.sync_threads()
            if tidx == 40:
                mX[i * TILE + 7] = Float32(0.0)  # BUG of_others
        cute.arch.mbarrier_wait(full, i % 2)
        sY[tidx] = sX[TILE - 1 - tidx]  # BUG stored_over
        sY[THREADS + tidx] = sX[THREADS - 1 - tidx]  # BUG stored_over
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_threads()
        if tidx == 0:
            cute.copy(store, sY, gX[None, i])  # BUG read_back, twice, leader_reads, stored_over
            if const_expr(bug == "twice"):
                cute.copy(store, sX, gX[None, i])  # BUG twice
            cute.arch.cp_async_bulk_commit_group()
            if const_expr(bug == "leader_reads"):
                mX[i * TILE + 1] = mX[i * TILE] + 1.0  # BUG leader_reads
            cute.arch.cp_async_bulk_wait_group(0)
        sync_if(bug != "read_back")
        for k in cutlass.range_constexpr(2):
            j = i * TILE + k * THREADS + tidx
            mX[j] = mX[j] + 1.0  # BUG read_back
        cute.arch.sync_threads()


# -- two copies to the same address
# ----------------------------------------------------------------------
@family(block=THREADS, args=lambda: (fk.randn(2 * TILE), fk.empty(THREADS)),
        want=lambda x, y: x[:THREADS] * 2 + x[TILE : TILE + THREADS], bugs=(
    Bug("bulk_to_one_place", ("async-copy",), "One thread starts both copies to the same target."),
    Bug("bulk_of_two_threads", ("async-copy",), "Two threads start two copies to the same target."),
    Bug("bulk_over_cp_async", ("async-copy",), "A cp.async to the same target is in flight.",
        loose=True),
    Bug("cp_async_over_bulk", ("async-copy",), "A bulk copy to the same target is in flight.",
        loose=True),
    Bug("cp_async_twice", ("async-copy",), "Two cp.async have the same target."),
))  # fmt: skip
@cute.kernel
def two_tiles(mX, mY, bug):
    """Add two tiles that bulk copies load and a third buffer that cp.async fills."""
    tidx, _, _ = cute.arch.thread_idx()
    sX, sZ = smem((TILE, 2)), smem(THREADS)
    full = smem(2, Int64).iterator
    load = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Float32)
    gX, gV, sV = (cute.zipped_divide(t, (n,)) for t, n in ((mX, TILE), (mX, 1), (sZ, 1)))
    init_mbarriers((full, 1), (full + 1, 1))
    same = bug in ("bulk_to_one_place", "bulk_of_two_threads")
    second, place = 32 if bug == "bulk_of_two_threads" else 0, 0 if same else 1
    if const_expr(bug == "bulk_over_cp_async"):
        sP = cute.zipped_divide(sX[None, 0], (1,))
        cute.copy(atom_of_32_bits(), gV[None, tidx], sP[None, tidx])  # BUG bulk_over_cp_async
        cute.arch.cp_async_commit_group()
        cute.arch.sync_threads()
    if tidx == 0:
        cute.arch.mbarrier_arrive_and_expect_tx(full, 4 * TILE)
        # BUG bulk_to_one_place, bulk_of_two_threads, bulk_over_cp_async, cp_async_over_bulk
        cute.copy(load, gX[None, 0], sX[None, 0], mbar_ptr=full)
    if tidx == second:
        cute.arch.mbarrier_arrive_and_expect_tx(full + 1, 4 * TILE)
        # BUG bulk_to_one_place, bulk_of_two_threads
        cute.copy(load, gX[None, 1], sX[None, place], mbar_ptr=full + 1)
    cute.copy(atom_of_32_bits(), gV[None, tidx], sV[None, tidx])  # BUG cp_async_twice
    cute.arch.cp_async_commit_group()
    if const_expr(bug == "cp_async_twice"):
        cute.copy(atom_of_32_bits(), gV[None, tidx + 1], sV[None, tidx])  # BUG cp_async_twice
        cute.arch.cp_async_commit_group()
    if const_expr(bug == "cp_async_over_bulk"):
        sP = cute.zipped_divide(sX[None, 0], (1,))
        cute.copy(atom_of_32_bits(), gV[None, tidx], sP[None, tidx])  # BUG cp_async_over_bulk
    cute.arch.cp_async_wait_group(0)
    cute.arch.mbarrier_wait(full, 0)
    cute.arch.mbarrier_wait(full + 1, 0)
    mY[tidx] = sX[tidx, 0] + sX[tidx, 1 if place else 0] + sZ[tidx]  # BUG cp_async_over_bulk


@family(block=THREADS, args=pair(3 * TILE), want=lambda x, y: x, bugs=(
    Bug("stored_too_early", ("async-copy",), "The store does not wait for its source.",
        loose=True),
    Bug("brought_too_early", ("async-copy",),
        "The next tile arrives while this one is being stored."),
))  # fmt: skip
@cute.kernel
def passed_through(mX, mY, bug):
    """One thread copies tiles to shared memory and back, but no thread reads them."""
    tidx, _, _ = cute.arch.thread_idx()
    sX, full = smem(TILE), smem(1, Int64).iterator
    load = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Float32)
    store = cute.make_copy_atom(cpasync.CopyBulkS2GOp(), Float32)
    gX, gY = cute.zipped_divide(mX, (TILE,)), cute.zipped_divide(mY, (TILE,))
    if tidx == 0:
        cute.arch.mbarrier_init(full, 1)
        cute.arch.mbarrier_init_fence()
        for i in cutlass.range(mX.shape[0] // TILE, unroll=1):
            cute.arch.mbarrier_arrive_and_expect_tx(full, 4 * TILE)
            # BUG stored_too_early, brought_too_early
            cute.copy(load, gX[None, i], sX, mbar_ptr=full)
            sync_if(bug != "stored_too_early", cute.arch.mbarrier_wait, full, i % 2)
            cute.copy(store, sX, gY[None, i])  # BUG stored_too_early, brought_too_early
            cute.arch.cp_async_bulk_commit_group()
            sync_if(bug == "stored_too_early", cute.arch.mbarrier_wait, full, i % 2)
            sync_if(bug != "brought_too_early", cute.arch.cp_async_bulk_wait_group, 0, read=True)
        cute.arch.cp_async_bulk_wait_group(0, read=True)
