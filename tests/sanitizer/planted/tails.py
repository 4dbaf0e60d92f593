"""Tails: unwritten elements of shared memory that kernels read, but whose effects they may drop."""

import cutlass
import torch
from cutlass import Float16, Float32, Int32, const_expr, cute
from cutlass.cute.nvgpu import cpasync

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import by_parts, indices, pair, smem, zeros

THREADS = 64
TILE = 2 * THREADS


def in_pairs(x, y):
    padded = torch.nn.functional.pad(x.float(), (0, 2 * len(y) - len(x)))
    return [(y, padded.view(-1, 2).sum(1))]


def placed():
    index = zeros(50)
    index[:] = torch.arange(50).flip(0)
    return fk.randn(50), index, fk.zeros(64)


EMPTY = ("uninitialised-shared",)


@family(block=THREADS, grid=lambda mX, mY: mY.shape[0],
        args=lambda: (fk.randn(2 * TILE - 37), fk.empty(2, TILE)),
        want=lambda x, y: [(y.view(-1)[: len(x)], torch.exp(2 * x + 1))], bugs=(
    Bug("stored_without_predicate", EMPTY, "The leftover is stored, because y has room for it."),
    Bug("from_the_wrong_end", EMPTY, "The tile is read from its end, which is the tail."),
))  # fmt: skip
@cute.kernel
def dropped_tail(mX, mY, bug):
    """Compute exponentials of a tile in shared memory; results past the end are dropped."""
    tidx, bidx = indices()
    sX = smem(TILE)
    n = mX.shape[0]
    for k in cutlass.range_constexpr(2):
        i = bidx * TILE + k * THREADS + tidx
        if i < n:
            sX[k * THREADS + tidx] = mX[i]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(2):
        at = k * THREADS + tidx
        i = bidx * TILE + at
        if const_expr(bug == "from_the_wrong_end"):
            at = TILE - 1 - at
        x = sX[at]  # BUG stored_without_predicate, from_the_wrong_end
        y = cute.math.exp(2.0 * x + 1.0, fastmath=True)
        if const_expr(bug == "stored_without_predicate"):
            mY[bidx, k * THREADS + tidx] = y  # BUG stored_without_predicate
        elif i < n:
            mY[bidx, k * THREADS + tidx] = y  # BUG from_the_wrong_end


@family(block=128, grid=by_parts(4), args=pair(5, 128), static=(0, 1),
        want=lambda x, y: x * torch.rsqrt((x * x).mean(1, keepdim=True) + 1e-6), bugs=(
    Bug("shared_over_warps", EMPTY, "The scales of rows past the end are added to the others."),
))  # fmt: skip
@cute.kernel
def row_norm(mX, mY, bug):
    """cp.async loads four rows per block; rows past the end are neither loaded nor stored."""
    tidx, bidx = indices()
    M = mX.shape[0]
    warp, lane = tidx // 32, tidx % 32
    row = bidx * 4 + warp
    sX = smem((4, 32, 4), stride=(128, 4, 1))  # (row, vector, value)
    gX = cute.zipped_divide(mX, (1, 4))  # ((1, 4), (M, N / 4))
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
    if row < M:
        cute.copy(atom, gX[(0, None), (row, lane)], sX[warp, lane, None])
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    rX = cute.make_rmem_tensor(4, Float32)
    cute.autovec_copy(sX[warp, lane, None], rX)  # BUG shared_over_warps
    x = rX.load()
    square = cute.arch.warp_reduction_sum((x * x).reduce(cute.ReductionOp.ADD, 0.0, 0))
    scale = cute.math.rsqrt(square / 128.0 + 1e-6, fastmath=True)
    if const_expr(bug == "shared_over_warps"):
        sScale = smem(4)
        if lane == 0:
            sScale[warp] = scale
        cute.arch.sync_threads()
        scale = sScale[0] + sScale[1] + sScale[2] + sScale[3]
    rX.store(x * scale)
    if row < M:
        # BUG shared_over_warps
        cute.autovec_copy(rX, cute.zipped_divide(mY, (1, 4))[(0, None), (row, lane)])


@family(block=THREADS, args=lambda: (fk.randn(50), fk.empty(1)), want=lambda x, y: x.max()[None],
        bugs=(
    Bug("not_chosen", EMPTY, "The maximum includes values past the end."),
))  # fmt: skip
@cute.kernel
def chosen(mX, mY, bug):
    """Find a maximum; lanes past the end read a value, but replace it by minus infinity."""
    tidx, _, _ = cute.arch.thread_idx()
    n = mX.shape[0]
    sX, sTop = smem(THREADS), smem(2)
    warp, lane = tidx // 32, tidx % 32
    if tidx < n:
        sX[tidx] = mX[tidx]
    cute.arch.sync_threads()
    x = sX[tidx]  # BUG not_chosen
    if const_expr(bug != "not_chosen"):
        x = x if tidx < n else Float32(-float("inf"))
    top = cute.arch.warp_reduction_max(x)
    if lane == 0:
        sTop[warp] = top
    cute.arch.sync_threads()
    if tidx == 0:
        mY[0] = cute.arch.fmax(sTop[0], sTop[1])  # BUG not_chosen


@family(block=THREADS, args=lambda: (fk.randn(77, dtype=torch.float16), fk.empty(39)),
        want=in_pairs, bugs=(
    Bug("both_added", EMPTY, "The unwritten half is added."),
))  # fmt: skip
@cute.kernel
def odd_halves(mX, mY, bug):
    """Read an odd number of float16 values in pairs; the last pair has an unwritten half."""
    tidx, _, _ = cute.arch.thread_idx()
    n = mX.shape[0]
    sX = smem(2 * THREADS, Float16)
    for k in cutlass.range_constexpr(2):
        if k * THREADS + tidx < n:
            sX[k * THREADS + tidx] = mX[k * THREADS + tidx]
    cute.arch.sync_threads()
    rX = cute.make_rmem_tensor(2, Float16)
    pair = cute.zipped_divide(sX, (2,))[None, tidx]
    cute.autovec_copy(pair, rX)  # BUG both_added
    first, second = rX[0].to(Float32), rX[1].to(Float32)
    if 2 * tidx + 1 < n:
        mY[tidx] = first + second
    elif 2 * tidx < n:
        if const_expr(bug == "both_added"):
            mY[tidx] = first + second  # BUG both_added
        else:
            mY[tidx] = first


@family(block=THREADS, args=placed,
        want=lambda x, i, y: [(y[:50], x.flip(0)), (y[50:], torch.zeros(14))], bugs=(
    Bug("place_of_nobody", EMPTY, "An unwritten index determines where to store.",
        also=("out-of-bounds", "global-race")),
    Bug("decided_by_nobody", EMPTY, "An unwritten value decides a branch."),
    Bug("added_by_nobody", EMPTY, "An unwritten value is added atomically."),
    Bug("shuffled_from_nobody", EMPTY, "The last value comes from a lane without a value."),
))  # fmt: skip
@cute.kernel
def decisions(mX, mI, mY, bug):
    """Pass indices and values through shared memory; the last of them are unwritten."""
    tidx, _, _ = cute.arch.thread_idx()
    n = mX.shape[0]
    sX, sI = smem(THREADS), smem(THREADS, Int32)
    if tidx < n:
        sX[tidx] = mX[tidx]
        sI[tidx] = mI[tidx]
    cute.arch.sync_threads()
    x = sX[tidx]  # BUG decided_by_nobody, added_by_nobody, shuffled_from_nobody
    place = sI[tidx]  # BUG place_of_nobody
    if const_expr(bug == "place_of_nobody"):
        if tidx < n + 2:
            mY[place] = Float32(1.0)  # BUG place_of_nobody
    elif const_expr(bug == "decided_by_nobody"):
        if x > 0.0:  # BUG decided_by_nobody
            cute.arch.atomic_add(mY.iterator, Float32(1.0))
    elif const_expr(bug == "added_by_nobody"):
        cute.arch.atomic_add(mY.iterator + tidx, x)  # BUG added_by_nobody
    elif const_expr(bug == "shuffled_from_nobody"):
        other = cute.arch.shuffle_sync_down(x, offset=1)
        if tidx < n:
            mY[tidx] = other  # BUG shuffled_from_nobody
    elif tidx < n:
        mY[place] = x


@family(block=THREADS, args=pair(8, 8), want=lambda x, y: x.T, bugs=(
    Bug("shifted", EMPTY, "The column is too large by one, so the padding is stored."),
))  # fmt: skip
@cute.kernel
def padded_tile(mX, mY, bug):
    """Move 8 x 8 tiles that have a padding column, 128 bits at a time, including the padding."""
    tidx, _, _ = cute.arch.thread_idx()
    sX, sY = smem((8, 12), stride=(12, 1)), smem((8, 12), stride=(12, 1))
    row, col = tidx // 8, tidx % 8
    sX[row, col] = mX[row, col]
    cute.arch.sync_threads()
    if tidx < 24:
        vectors, copies = cute.zipped_divide(sX, (1, 4)), cute.zipped_divide(sY, (1, 4))
        rX = cute.make_rmem_tensor(4, Float32)
        cute.autovec_copy(vectors[(0, None), (tidx // 3, tidx % 3)], rX)  # BUG shifted
        cute.autovec_copy(rX, copies[(0, None), (tidx // 3, tidx % 3)])
    cute.arch.sync_threads()
    if const_expr(bug == "shifted"):
        mY[col, row] = sY[row, col + 1]  # BUG shifted
    else:
        mY[col, row] = sY[row, col]
