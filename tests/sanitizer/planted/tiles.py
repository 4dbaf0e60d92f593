"""Bugs in tiles that one thread writes to shared memory and another reads: transpose, product,
stencil."""

import cutlass
import torch
from cutlass import Float32, Int32, const_expr, cute

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import by_parts, by_tiles, indices, pair, smem, sync_if

TILE = 16
SIDE = 8
THREADS = 64


def smoothed(x, y):
    for _ in range(3):
        x = x + x.roll(1)
    return [(y, x)]


def summed_neighbours(x, y):
    p = torch.nn.functional.pad(x, (1, 1))
    return [(y, p[:-2] + p[1:-1] + p[2:])]


RACE, UNINITIALISED = ("shared-race",), ("uninitialised-shared",)


@family(block=(TILE, TILE, 1), grid=by_tiles(TILE),
        args=lambda: (fk.randn(40, 21), fk.empty(21, 40)), want=lambda x, y: x.T, bugs=(
    Bug("without_barrier", RACE, "No barrier between writing and reading the tile.",
        changes_result=True),
    Bug("barrier_first", RACE, "The barrier precedes the store.", changes_result=True),
    Bug("syncwarp_only", RACE, "A sync_warp replaces the block's barrier.",
        changes_result=True),
    Bug("rows_overlap", RACE,
        "Rows of the tile are 15 elements apart, so two rows share an element."),
    Bug("without_last_row", UNINITIALISED, "The last row is stored, but was not loaded."),
))  # fmt: skip
@cute.kernel
def transpose(mX, mY, bug):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    M, N = mX.shape
    stride = TILE - 1 if const_expr(bug == "rows_overlap") else TILE + 1
    sT = smem((TILE, TILE), stride=(stride, 1))
    row, column = by * TILE + ty, bx * TILE + tx
    sync_if(bug == "barrier_first")
    rows = M - 1 if const_expr(bug == "without_last_row") else M
    x = Float32(0.0)
    if row < rows and column < N:
        x = mX[row, column]
        sT[ty, tx] = x  # BUG without_barrier, barrier_first, syncwarp_only, rows_overlap
    if const_expr(bug == "syncwarp_only"):
        cute.arch.sync_warp()
    elif const_expr(bug not in ("without_barrier", "barrier_first")):
        cute.arch.sync_threads()
    row, column = bx * TILE + ty, by * TILE + tx
    if row < N and column < M:
        x = sT[tx, ty]  # BUG without_barrier, barrier_first, syncwarp_only, without_last_row
        mY[row, column] = x  # BUG without_last_row


@family(block=(SIDE, SIDE, 1),
        grid=lambda mA, mB, mC: (mC.shape[1] // SIDE, mC.shape[0] // SIDE, 1),
        args=lambda: (fk.randn(8, 24), fk.randn(24, 8, seed=1), fk.empty(8, 8)),
        want=lambda a, b, c: a @ b, bugs=(
    Bug("load_unguarded", RACE, "There is no barrier between loading a tile and using it.",
        loose=True, changes_result=True),
    Bug("use_unguarded", RACE, "The next tile is loaded while other threads use this one.",
        loose=True, changes_result=True),
))  # fmt: skip
@cute.kernel
def product(mA, mB, mC, bug):
    """Compute C = A B in 8 x 8 tiles; sizes are multiples of 8."""
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    sA, sB = smem((SIDE, SIDE), stride=(SIDE, 1)), smem((SIDE, SIDE), stride=(SIDE, 1))
    row, column = by * SIDE + ty, bx * SIDE + tx
    total = Float32(0.0)
    for tile in cutlass.range(mA.shape[1] // SIDE, unroll=1):
        sA[ty, tx] = mA[row, tile * SIDE + tx]  # BUG load_unguarded, use_unguarded
        sB[ty, tx] = mB[tile * SIDE + ty, column]  # BUG load_unguarded, use_unguarded
        sync_if(bug != "load_unguarded")
        for k in cutlass.range_constexpr(SIDE):
            a = sA[ty, k]  # BUG load_unguarded, use_unguarded
            b = sB[k, tx]  # BUG load_unguarded, use_unguarded
            total += a * b
        sync_if(bug != "use_unguarded")
    mC[row, column] = total


@family(block=THREADS, grid=by_parts(THREADS), args=pair(100), want=summed_neighbours, bugs=(
    Bug("without_barrier", RACE, "No barrier between loading the tile and using it.",
        loose=True, changes_result=True),
    Bug("without_left_halo", UNINITIALISED, "No thread loads the left halo."),
    Bug("with_short_tile", ("out-of-bounds",), "The tile has room for one halo instead of two.",
        loose=True),
))  # fmt: skip
@cute.kernel
def stencil(mX, mY, bug):
    """Compute y[i] = x[i - 1] + x[i] + x[i + 1], with zeros outside, in a tile with a halo."""
    tidx, bidx = indices()
    n = mX.shape[0]
    i = bidx * THREADS + tidx
    sX = smem(THREADS + (1 if const_expr(bug == "with_short_tile") else 2))
    sX[tidx + 1] = mX[i] if i < n else Float32(0.0)  # BUG without_barrier
    if const_expr(bug != "without_left_halo"):
        if tidx == 0:
            sX[0] = mX[i - 1] if i > 0 and i <= n else Float32(0.0)
    if tidx == THREADS - 1:
        sX[THREADS + 1] = mX[i + 1] if i + 1 < n else Float32(0.0)  # BUG with_short_tile
    sync_if(bug != "without_barrier")
    left = sX[tidx]  # BUG without_barrier, without_left_halo
    right = sX[tidx + 2]  # BUG without_barrier, with_short_tile
    if i < n:
        mY[i] = left + sX[tidx + 1] + right  # BUG without_left_halo


@family(block=THREADS,
        args=lambda: (fk.randint(0, 9, THREADS), fk.empty(THREADS, dtype=torch.int32)),
        want=smoothed, bugs=(
    Bug("read_unguarded", RACE, "Values are replaced while other threads still read them.",
        changes_result=True),
    Bug("write_unguarded", RACE, "The next step reads before all threads have written.",
        changes_result=True),
))  # fmt: skip
@cute.kernel
def smoothing(mX, mY, bug):
    """Compute x[i] = x[i] + x[i - 1] three times, cyclically, in one buffer."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem(THREADS, dtype=Int32)
    sX[tidx] = mX[tidx]
    cute.arch.sync_threads()
    for _ in cutlass.range(3, unroll=1):
        before = sX[(tidx + THREADS - 1) % THREADS]  # BUG read_unguarded, write_unguarded
        sync_if(bug != "read_unguarded")
        sX[tidx] = sX[tidx] + before  # BUG read_unguarded, write_unguarded
        sync_if(bug != "write_unguarded")
    mY[tidx] = sX[tidx]


@family(block=THREADS, args=pair(THREADS), want=lambda x, y: x.view(2, 32).flip(1).view(-1), bugs=(
    Bug("without_syncwarp", RACE, "Lanes read what other lanes wrote, without sync_warp."),
    Bug("across_warps", RACE,
        "There is only a sync_warp, but the value comes from the other warp."),
))  # fmt: skip
@cute.kernel
def reverse(mX, mY, bug):
    """Each warp reverses its 32 values through its own row of shared memory."""
    tidx, _, _ = cute.arch.thread_idx()
    warp, lane = tidx // 32, tidx % 32
    sX = smem((2, 32), stride=(32, 1))
    sX[warp, lane] = mX[tidx]  # BUG without_syncwarp, across_warps
    sync_if(bug != "without_syncwarp", cute.arch.sync_warp)
    if const_expr(bug == "across_warps"):
        mY[tidx] = sX[1 - warp, 31 - lane]  # BUG across_warps
    else:
        mY[tidx] = sX[warp, 31 - lane]  # BUG without_syncwarp
