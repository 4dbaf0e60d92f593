"""Leftovers in unwritten shared memory, used in computations whose results may be dropped.

Every correct kernel here also reads leftovers; a mutant lets them reach a result, a branch or an
index.
"""

import cutlass
import torch
from cutlass import Float16, Float32, Int32, const_expr, cute

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import cluster_sync, indices, smem

THREADS = 64
WARP = 32
N = 50  # the number of elements in a buffer of 64


def summed_up(x, y):
    n = x.shape[0]
    return [(y[:1], x.sum()[None]), (y[1:2], x.max()[None]), (y[2 : 2 + n], 2 * x)]


def normed(x, y):
    n = x.shape[0]
    return [(y[:n], x / (x.square().mean(1, keepdim=True) + 1e-6).sqrt())]


LEFTOVER = ("uninitialised-shared",)


@family(block=WARP, args=lambda: (fk.randn(N), fk.zeros(2 + THREADS)), want=summed_up, bugs=(
    Bug("summed", LEFTOVER, "The tail is added."),
    Bug("times_zero", LEFTOVER, "The tail is multiplied by 0, but may be NaN."),
    Bug("half_masked", LEFTOVER, "One element too many is added."),
    Bug("maximum", LEFTOVER, "The maximum includes the tail."),
    Bug("chosen", LEFTOVER, "A comparison with the tail selects a value."),
    Bug("shuffled", LEFTOVER, "A lane before the end gets a value from a lane beyond the end."),
    Bug("stored", LEFTOVER, "The tail is stored."),
    Bug("twice", LEFTOVER, "The sum of a value and a leftover is stored."),
))  # fmt: skip
@cute.kernel
def tail(mX, mY, bug):
    """One warp processes one row and its tail: y[0] is the sum, y[1] is the maximum, and y[2 + i]
    is 2 x[i]."""
    lane, _, _ = cute.arch.thread_idx()
    n = mX.shape[0]
    sX = smem(2 * WARP)
    for k in cutlass.range_constexpr(2):
        if k * WARP + lane < n:
            sX[k * WARP + lane] = mX[k * WARP + lane]
    cute.arch.sync_warp()
    total, most = Float32(0.0), -Float32.inf
    for k in cutlass.range_constexpr(2):
        i = k * WARP + lane
        x = sX[i]  # BUG summed, maximum, times_zero, stored, shuffled, half_masked, chosen, twice
        inside = i < n
        if const_expr(bug == "summed"):
            total += x
        elif const_expr(bug == "times_zero"):
            total += x * Float32(inside)
        elif const_expr(bug == "half_masked"):
            total += x if i < n + 1 else Float32(0.0)
        else:
            total += x if inside else Float32(0.0)
        if const_expr(bug == "maximum"):
            most = cute.arch.fmax(most, x)
        elif const_expr(bug == "chosen"):
            most = most if most > x else x
        else:
            most = cute.arch.fmax(most, x if inside else -Float32.inf)
        doubled = sX[lane] + x if const_expr(bug == "twice") else 2.0 * x
        if const_expr(bug == "shuffled"):
            doubled = cute.arch.shuffle_sync_bfly(doubled, offset=31)
        if inside or const_expr(bug in ("stored", "twice")):
            mY[2 + i] = doubled  # BUG stored, shuffled, twice
    total = cute.arch.warp_reduction_sum(total)
    most = cute.arch.warp_reduction_max(most)
    if lane == 0:
        mY[0] = total  # BUG summed, times_zero, half_masked
    if lane == 1:
        mY[1] = most  # BUG maximum, chosen


@family(block=THREADS, args=lambda: (fk.randint(0, 9, N), fk.zeros(N, dtype=torch.int32)),
        want=lambda x, y: torch.where(x > 0, x + 1, x), bugs=(
    Bug("branches", LEFTOVER, "A branch depends on the tail.", also=("global-race",)),
    Bug("loops", LEFTOVER, "The number of rounds depends on the tail.", also=("global-race",)),
    Bug("votes", LEFTOVER, "A vote depends on the tail.", also=("global-race",)),
    Bug("ballots", LEFTOVER, "A ballot contains bits of the tail.", also=("global-race",)),
    Bug("is_an_index", LEFTOVER, "An index comes from the tail.", also=("global-race",)),
    Bug("is_a_lane", LEFTOVER, "A lane's number comes from the tail."),
    Bug("is_a_mask", LEFTOVER, "Some bits of the tail are added."),
))  # fmt: skip
@cute.kernel
def flags(mX, mY, bug):
    """Compute y[i] = x[i] + 1 if x[i] > 0, else x[i]; threads also read unwritten elements."""
    tidx, _, _ = cute.arch.thread_idx()
    n = mX.shape[0]
    sX = smem(THREADS, Int32)
    if tidx < n:
        sX[tidx] = mX[tidx]
    cute.arch.sync_threads()
    x = sX[tidx]  # BUG branches, loops, votes, ballots, is_an_index, is_a_lane
    if const_expr(bug == "branches"):
        if x > 0:  # BUG branches
            mY[tidx % n] = mX[tidx % n] + 1
    if const_expr(bug == "loops"):
        for _ in cutlass.range(x & 3, unroll=1):  # BUG loops
            mY[tidx % n] = 0
    if const_expr(bug == "votes"):
        if cute.arch.vote_any_sync(x > 100):  # BUG votes
            mY[tidx % n] = 0
    if const_expr(bug == "ballots"):
        votes = cute.arch.vote_ballot_sync(x > 100)
        if tidx == WARP:
            mY[0] = cute.arch.popc(votes)  # BUG ballots
    if const_expr(bug == "is_an_index"):
        mY[x & 15] = 1  # BUG is_an_index
    if const_expr(bug == "is_a_lane"):
        x = cute.arch.shuffle_sync(tidx, offset=x & 31)  # BUG is_a_lane
    if const_expr(bug == "is_a_mask"):
        if tidx < n:
            mY[tidx] = x + (sX[THREADS - 1] & 0xF0)  # BUG is_a_mask
    elif tidx < n:
        mY[tidx] = x + 1 if x > 0 else x


@family(block=THREADS,
        args=lambda: (fk.randn(N - 1, dtype=torch.float16), fk.zeros(THREADS, dtype=torch.float16)),
        want=lambda x, y: [(y[: N - 1], 2 * x)], static=(1,), bugs=(
    Bug("both_stored", LEFTOVER, "Half of the last word was written, but both halves are stored."),
    Bug("both_added", LEFTOVER, "Both halves of the last word are added."),
    Bug("in_128_bits", LEFTOVER, "Part of the last vector was written, but all of it is stored."),
    Bug("summed_vector", LEFTOVER, "All of the last vector is added up."),
    Bug("packed", LEFTOVER, "One element too many is stored."),
))  # fmt: skip
@cute.kernel
def half_tail(mX, mY, bug):
    """Compute y = 2 x for an odd number of float16, read from shared memory in wide words."""
    tidx, _, _ = cute.arch.thread_idx()
    n = mX.shape[0]
    width = const_expr(8 if bug in ("in_128_bits", "summed_vector") else 2)
    sX = smem(THREADS, Float16)
    if tidx < n:
        sX[tidx] = mX[tidx]
    cute.arch.sync_threads()
    if tidx * width < n:
        rX = cute.make_rmem_tensor(width, Float16)
        # BUG both_stored, both_added, in_128_bits, summed_vector, packed
        cute.autovec_copy(cute.zipped_divide(sX, (width,))[None, tidx], rX)
        rX.store(rX.load() + rX.load())
        if const_expr(bug in ("both_stored", "in_128_bits")):
            # BUG both_stored, in_128_bits
            cute.autovec_copy(rX, cute.zipped_divide(mY, (width,))[None, tidx])
        elif const_expr(bug in ("both_added", "summed_vector")):
            # BUG both_added, summed_vector
            mY[tidx] = Float16(rX.load().reduce(cute.ReductionOp.ADD, Float16(0.0), 0))
        else:
            for k in cutlass.range_constexpr(width):
                if tidx * width + k < n + const_expr(1 if bug == "packed" else 0):
                    mY[tidx * width + k] = rX[k]  # BUG packed


@family(block=THREADS, args=lambda: (fk.randn(N), fk.zeros(THREADS + 1)),
        want=lambda x, y: [(y[:N], 3 * x), (y[-1:], x.sum()[None])], bugs=(
    Bug("by_another", LEFTOVER, "Another thread stores a value computed from the tail.",
        also=("global-race",)),
    Bug("rotated", LEFTOVER, "The last thread stores its neighbour's leftover."),
    Bug("in_an_atomic", LEFTOVER, "An atomic operation on shared memory adds the tail."),
    Bug("by_register_index", LEFTOVER, "The tail passes through an array of registers."),
    Bug("four_times", LEFTOVER, "Groups of four are added; the last includes the tail."),
))  # fmt: skip
@cute.kernel
def passed_on(mX, mY, bug):
    """Pass values through a second buffer, or another thread, before they are stored."""
    tidx, _, _ = cute.arch.thread_idx()
    n = mX.shape[0]
    sX, sZ, sSum = smem(THREADS), smem(THREADS), smem(1)
    if tidx < n:
        sX[tidx] = mX[tidx]
    if tidx == 0:
        sSum[0] = Float32(0.0)
    cute.arch.sync_threads()
    x = sX[tidx]  # BUG by_another, rotated, in_an_atomic, by_register_index, four_times
    if const_expr(bug == "by_register_index"):
        rX = cute.make_rmem_tensor(4, Float32)
        for k in cutlass.range_constexpr(4):
            rX[k] = x + Float32(k)
        x = rX[n & 3]
    sZ[tidx] = 3.0 * x
    if tidx < n or const_expr(bug == "in_an_atomic"):
        cute.arch.atomic_add(sSum.iterator, x)
    cute.arch.sync_threads()
    if const_expr(bug == "by_another"):
        mY[tidx % n] = sZ[THREADS - 1 - tidx % n]  # BUG by_another
    elif const_expr(bug == "rotated"):
        if tidx < n:
            mY[tidx] = sZ[tidx + 1]  # BUG rotated
    elif const_expr(bug == "four_times"):
        if tidx < THREADS // 4:
            rZ = cute.make_rmem_tensor(4, Float32)
            cute.autovec_copy(cute.zipped_divide(sZ, (4,))[None, tidx], rZ)
            mY[tidx] = rZ.load().reduce(cute.ReductionOp.ADD, Float32(0.0), 0)  # BUG four_times
    elif tidx < n + const_expr(1 if bug == "by_register_index" else 0):
        mY[tidx] = sZ[tidx]  # BUG by_register_index
    if tidx == 0:
        mY[THREADS] = sSum[0]  # BUG in_an_atomic


@family(block=THREADS, grid=2, args=lambda: (fk.randn(3, 4 * WARP), fk.zeros(4, 4 * WARP)),
        want=normed, static=(0, 1), bugs=(
    Bug("rows_unguarded", LEFTOVER, "Missing rows are stored."),
    Bug("one_row_more", LEFTOVER, "One missing row is stored."),
    Bug("of_the_block", LEFTOVER, "The mean is of two rows, one of which is missing."),
))  # fmt: skip
@cute.kernel
def async_norm(mX, mY, bug):
    """Compute the RMS norm with one warp per row; missing rows are neither copied nor stored."""
    tidx, bidx = indices()
    warp, lane = tidx // WARP, tidx % WARP
    row = bidx * 2 + warp
    sX = smem((4, WARP, 2))
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
    if row < mX.shape[0]:
        gX = cute.zipped_divide(mX[row, None], (4,))
        cute.copy(atom, gX[None, lane], sX[None, lane, warp])
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    rX = cute.make_rmem_tensor(4, Float32)
    cute.autovec_copy(sX[None, lane, warp], rX)  # BUG rows_unguarded, one_row_more, of_the_block
    squares = (rX.load() * rX.load()).reduce(cute.ReductionOp.ADD, Float32(0.0), 0)
    mean = cute.arch.warp_reduction_sum(squares) / (4 * WARP)
    if const_expr(bug == "of_the_block"):
        sS = smem(2)
        sS[warp] = mean
        cute.arch.sync_threads()
        mean = 0.5 * (sS[0] + sS[1])
    rX.store(rX.load() * cute.math.rsqrt(mean + 1e-6))
    guarded = mX.shape[0] + const_expr(1 if bug == "one_row_more" else 0)
    if row < guarded or const_expr(bug == "rows_unguarded"):
        # BUG rows_unguarded, one_row_more, of_the_block
        cute.autovec_copy(rX, cute.zipped_divide(mY[row, None], (4,))[None, lane])


@family(block=THREADS, grid=2, cluster=(2, 1, 1),
        args=lambda: (fk.randn(2, 48), fk.zeros(2, THREADS)),
        want=lambda x, y: [(y[:, :48], 3 * x)], static=(1,), bugs=(
    Bug("copied_whole", LEFTOVER, "A bulk copy moves all of a partly filled buffer."),
    Bug("one_not_stored", LEFTOVER, "One element that the copy moves was not written."),
    Bug("branches_on_it", LEFTOVER, "A branch depends on the other block's leftovers.",
        also=("global-race",)),
))  # fmt: skip
@cute.kernel
def sent(mX, mY, bug):
    """Compute y = 3 x; each block triples its peer block's row and sends it by a bulk copy."""
    tidx, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    n = mX.shape[1]
    sX, sZ = smem(THREADS), smem(THREADS)
    if tidx < n:
        sX[tidx] = mX[1 - rank, tidx]
    cluster_sync()
    # BUG copied_whole, branches_on_it
    x = cute.arch.map_dsmem_ptr(sX.iterator + tidx, 1 - rank).load()
    if const_expr(bug == "branches_on_it"):
        if x > 100.0:  # BUG branches_on_it
            mY[rank, 0] = x
    if const_expr(bug != "one_not_stored") or tidx > 0:
        sZ[tidx] = 3.0 * x
    cute.arch.fence_proxy("async.shared", space="cta")
    cluster_sync()
    if tidx == 0:
        size = THREADS if const_expr(bug == "copied_whole") else 48
        atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyBulkS2GOp(), Float32)
        sK = cute.make_tensor(sZ.iterator, cute.make_layout(size))
        gK = cute.make_tensor(mY[rank, None].iterator, cute.make_layout(size))
        cute.copy(atom, sK, gK)  # BUG copied_whole, one_not_stored
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0, read=True)
