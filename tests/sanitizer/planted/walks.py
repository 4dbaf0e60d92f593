"""Index patterns over tensors: grid-stride loops, views of one tensor, indices, in-place work."""

import cutlass
import torch
from cutlass import Float16, Float32, Int32, const_expr, cute

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import (
    by_parts,
    by_rows,
    empty,
    indices,
    integers,
    pair,
    smem,
    zeros,
)

THREADS = 64


def permuted(index=None):
    def make():
        order = zeros(100)
        order[:] = torch.arange(100).flip(0) if index is None else torch.tensor(index(100))
        return fk.randn(100), order, fk.empty(100)

    return make


def rows_apart():
    x, y = fk.randn(6, 40)[:, :37], fk.zeros(4, 40)[:, :37]
    index = zeros(4)
    index[:] = torch.tensor([5, 0, 3, 3])
    return x, index, y


RACE, OUT = ("global-race",), ("out-of-bounds",)
MISALIGNED = ("misaligned",)


@family(block=THREADS, grid=3, args=pair(500), want=lambda x, y: 2 * x, bugs=(
    Bug("to_a_whole_step", OUT, "The end is rounded up to a whole step."),
    Bug("from_one", OUT, "The loop begins and ends one element late."),
    Bug("of_one_block", RACE, "The step is that of one block, so blocks overlap."),
))  # fmt: skip
@cute.kernel
def grid_stride(mX, mY, bug):
    """Three blocks process all elements with a grid-stride loop."""
    tidx, bidx = indices()
    blocks, _, _ = cute.arch.grid_dim()
    n = mX.shape[0]
    end = n
    if const_expr(bug == "to_a_whole_step"):
        end = cute.ceil_div(n, blocks * THREADS) * blocks * THREADS
    first = bidx * THREADS + tidx
    if const_expr(bug == "from_one"):
        first += 1
        end += 1
    step = THREADS if const_expr(bug == "of_one_block") else blocks * THREADS
    for i in cutlass.range(first, end, step, unroll=1):
        if const_expr(bug == "of_one_block"):
            mY[i] = 2.0 * mX[i] + bidx  # BUG of_one_block
        else:
            mY[i] = 2.0 * mX[i]  # BUG to_a_whole_step, from_one


@family(block=THREADS, grid=by_parts(THREADS), args=lambda: (fk.randn(130), fk.empty(129)),
        want=lambda x, y: x[1:] - x[:-1], bugs=(
    Bug("over_its_input", RACE, "The result overwrites the tensor that is read."),
    Bug("one_too_many", OUT, "The second view is one element too long."),
))  # fmt: skip
@cute.kernel
def differences(mX, mY, bug):
    """Compute y[i] = x[i + 1] - x[i] from two views of the same tensor."""
    tidx, bidx = indices()
    i = bidx * THREADS + tidx
    n = mX.shape[0] - (0 if bug == "one_too_many" else 1)
    mB = cute.make_tensor(mX.iterator + 1, cute.make_layout(n))
    mY = mX if const_expr(bug == "over_its_input") else mY
    if i < n:
        b = mB[i]  # BUG over_its_input, one_too_many
        mY[i] = b - mX[i]  # BUG over_its_input


@family(block=THREADS, grid=by_parts(THREADS), args=lambda: (fk.arange(129),),
        want=lambda x: torch.arange(128.0, -1.0, -1.0), bugs=(
    Bug("by_all", RACE, "Both threads of a pair swap it.", loose=True),
    Bug("counted_from_n", OUT, "The partner of 0 is n instead of n - 1.", also=RACE),
    Bug("one_sided", RACE, "The value is written to the neighbour of i.", loose=True),
))  # fmt: skip
@cute.kernel
def flip(mX, bug):
    """Reverse x in place: thread i swaps i and n - 1 - i."""
    tidx, bidx = indices()
    i = bidx * THREADS + tidx
    n = mX.shape[0]
    last = n - i if const_expr(bug == "counted_from_n") else n - 1 - i
    half = n if const_expr(bug == "by_all") else n // 2
    if i < half:
        a = mX[i]  # BUG by_all, one_sided
        b = mX[last]  # BUG by_all, counted_from_n
        mX[i] = b  # BUG by_all, one_sided
        if const_expr(bug == "one_sided"):
            mX[i + 1] = a  # BUG one_sided
        else:
            mX[last] = a  # BUG by_all


@family(block=THREADS, grid=by_parts(THREADS), args=permuted(), want=lambda x, i, y: x.flip(0),
        bugs=(
    Bug("doubled", RACE, "Two values are stored in the same element."),
    Bug("counted_from_one", OUT, "Elements are counted from 1."),
    Bug("of_bad_indices", OUT, "One index is -1.", args=permuted(lambda n: [-1, *range(n - 1)])),
    Bug("of_equal_indices", RACE, "Two indices are equal, in different blocks.",
        args=permuted(lambda n: [n - 1, *range(1, n)])),
))  # fmt: skip
@cute.kernel
def scatter(mX, mI, mY, bug):
    """Store y[index[i]] = x[i], where index is a permutation."""
    tidx, bidx = indices()
    i = bidx * THREADS + tidx
    if i < mX.shape[0]:
        place = mI[i]
        if const_expr(bug == "doubled"):
            place = place // 2
        if const_expr(bug == "counted_from_one"):
            place = place + 1
        mY[place] = mX[i]  # BUG doubled, counted_from_one, of_bad_indices, of_equal_indices


@family(block=32, grid=lambda mX, mI, mY: mI.shape[0], args=rows_apart,
        want=lambda x, i, y: x[i.long()], static=(0, 2), bugs=(
    Bug("at_odd_addresses", MISALIGNED, "The kernel assumes that rows are 37 floats apart."),
    Bug("starts_at_two", MISALIGNED, "Vectors start at the third element."),
))  # fmt: skip
@cute.kernel
def gather_rows(mX, mI, mY, bug):
    """Gather rows of 37 floats, which begin 40 floats apart. One warp per row uses 128-bit vectors,
    and reads the rest of the row element by element.
    """
    bidx, _, _ = cute.arch.block_idx()
    lane = cute.arch.lane_idx()
    row = mI[bidx]
    N = mX.shape[1]
    vectors = (N + 3) // 4 if const_expr(bug == "rounded_up") else N // 4
    four = cute.make_layout(4)
    rX = cute.make_rmem_tensor(4, Float32)
    start = N if const_expr(bug == "at_odd_addresses") else N + 3
    for v in cutlass.range(lane, vectors, 32, unroll=1):
        from_here = cute.assume(row * start + 4 * v, divby=4)
        if const_expr(bug == "starts_at_two"):
            from_here = cute.assume(row * start + 4 * v + 2, divby=4)
        to_here = cute.assume(bidx * (N + 3) + 4 * v, divby=4)
        # BUG at_odd_addresses, starts_at_two
        cute.autovec_copy(cute.make_tensor(mX.iterator + from_here, four), rX)
        cute.autovec_copy(rX, cute.make_tensor(mY.iterator + to_here, four))
    for c in cutlass.range(vectors * 4 + lane, N, 32, unroll=1):
        mY[bidx, c] = mX[row, c]


@family(block=THREADS, grid=by_parts(2 * THREADS), args=pair(301, dtype=torch.float16),
        want=lambda x, y: 2 * x, static=(0, 1), bugs=(
    Bug("one_element_on", MISALIGNED, "Pairs start at odd elements."),
    Bug("last_pair_whole", OUT, "The last element is loaded as a pair."),
))  # fmt: skip
@cute.kernel
def packed_halves(mX, mY, bug):
    """Each thread processes two float16 values (the last thread only one if n is odd); blocks share
    no element."""
    tidx, bidx = indices()
    n = mX.shape[0]
    i = 2 * (bidx * THREADS + tidx)
    if const_expr(bug == "one_element_on"):
        i += 1
    two = cute.make_layout(2)
    at = cute.assume(i, divby=2)
    whole = i < n if const_expr(bug == "last_pair_whole") else i + 1 < n
    if whole:
        rX = cute.make_rmem_tensor(2, Float16)
        # BUG one_element_on, last_pair_whole
        cute.autovec_copy(cute.make_tensor(mX.iterator + at, two), rX)
        rX.store(rX.load() * Float16(2.0))
        cute.autovec_copy(rX, cute.make_tensor(mY.iterator + at, two))
    elif i < n:
        mY[i] = mX[i] * Float16(2.0)


@family(block=THREADS, grid=lambda mX, mF, mD, mY: 2 * mX.shape[0],
        args=lambda: (integers(2, THREADS), zeros(4), empty(2, THREADS), empty(2, THREADS)),
        want=lambda x, f, d, y: 2 * x.flip(1), bugs=(
    Bug("flag_first", RACE, "A warp sets its flag before it has stored.",
        also=("uninitialised-global",), seeds=3),
    Bug("not_awaited", RACE, "No thread waits for the flags.", also=("uninitialised-global",)),
    Bug("one_flag", RACE, "A warp waits for the flag of its own half, but reads the other half.",
        also=("uninitialised-global",), seeds=3),
    Bug("plain_flag", RACE, "The flag is set by an ordinary store.", loose=True,
        also=("uninitialised-global",)),
))  # fmt: skip
@cute.kernel
def flagged_rows(mX, mF, mD, mY, bug):
    """Even blocks publish a row, each warp with a flag; odd blocks wait for both flags."""
    tidx, bidx = indices()
    warp, lane = tidx // 32, tidx % 32
    pair = bidx // 2
    flag = mF.iterator + 2 * pair + warp
    if bidx % 2 == 0:
        if const_expr(bug == "flag_first"):
            if lane == 0:
                cute.arch.atomic_exch(flag, Int32(1), sem="release", scope="gpu")
        mD[pair, tidx] = 2 * mX[pair, tidx]  # BUG flag_first, not_awaited, one_flag, plain_flag
        cute.arch.sync_warp()
        if lane == 0:
            if const_expr(bug == "plain_flag"):
                mF[2 * pair + warp] = 1  # BUG plain_flag
            elif const_expr(bug != "flag_first"):
                cute.arch.atomic_exch(flag, Int32(1), sem="release", scope="gpu")
    else:
        seen = Int32(0)
        other = flag if const_expr(bug == "one_flag") else mF.iterator + 2 * pair + 1 - warp
        if const_expr(bug != "not_awaited"):
            if lane == 0:
                while seen == 0:  # BUG plain_flag
                    seen = cute.arch.load(other, Int32, sem="acquire", scope="gpu")
            cute.arch.sync_warp()
        # BUG flag_first, not_awaited, one_flag, plain_flag
        mY[pair, tidx] = mD[pair, THREADS - 1 - tidx]


@family(block=THREADS, grid=by_rows,
        args=lambda: (integers(3, THREADS), zeros(1), empty(3, THREADS)),
        want=lambda x, n, y: [(n, x.sum().int()[None]), (y, x)], bugs=(
    Bug("set_to_zero", RACE, "One thread sets the total to zero while others add to it."),
    Bug("added_plainly_by_one", RACE, "One thread adds without atomics, all others with atomics.",
        loose=True),
    Bug("read_at_once", RACE, "The total is read by an ordinary load while others add to it."),
))  # fmt: skip
@cute.kernel
def counted(mX, mN, mY, bug):
    """All threads add to a running total in global memory, which block 0 first sets to zero."""
    tidx, bidx = indices()
    x = mX[bidx, tidx]
    one = bidx == 0 and tidx == 0
    if one and const_expr(bug == "set_to_zero"):
        mN[0] = 0  # BUG set_to_zero
    if one and const_expr(bug == "added_plainly_by_one"):
        mN[0] = mN[0] + x  # BUG added_plainly_by_one
    else:
        cute.arch.atomic_add(mN.iterator, x)  # BUG set_to_zero, added_plainly_by_one, read_at_once
    if const_expr(bug == "read_at_once"):
        x = mN[0]  # BUG read_at_once
    mY[bidx, tidx] = x


@family(block=32, grid=by_parts(9), args=lambda: (fk.randn(22, 7), fk.empty(7, 22)),
        want=lambda x, y: x.T, bugs=(
    Bug("one_row_short", OUT, "The tile has 8 rows, but 9 are used.", loose=True),
    Bug("rows_not_compared", (*OUT, "uninitialised-shared"),
        "Rows past the end are stored.", also=("uninitialised-shared", *RACE)),
))  # fmt: skip
@cute.kernel
def cut_tile(mX, mY, bug):
    """Transpose tiles of 9 rows through shared memory; the last tile has fewer rows."""
    tidx, bidx = indices()
    rows = 8 if const_expr(bug == "one_row_short") else 9
    sX = smem((rows, 7), stride=(7, 1))
    M = mX.shape[0]
    for k in cutlass.range_constexpr(9):
        row = bidx * 9 + k
        if tidx < 7 and row < M:
            sX[k, tidx] = mX[row, tidx]  # BUG one_row_short
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(9):
        row = bidx * 9 + k
        if tidx < 7:
            if const_expr(bug == "rows_not_compared"):
                mY[tidx, row] = sX[k, tidx]  # BUG rows_not_compared
            elif row < M:
                mY[tidx, row] = sX[k, tidx]  # BUG one_row_short
