"""Elements that do not exist, are not written, or must not be written; 128-bit accesses;
launches."""

import torch
from cutlass import Float32, const_expr, cute

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import by_parts, by_tiles, indices, pair, smem, sync_if

THREADS = 64


def vectors():
    return fk.randn(100), fk.empty(100)


OUT, LIMITS = ("out-of-bounds",), ("launch-limits",)


def differences(x):
    padded = torch.nn.functional.pad(x, (1, 1))
    return padded[2:] - padded[:-2]


def blocks(mX, mY, bug):
    n = mX.shape[0]
    return n // THREADS if bug in ("rounded_down", "of_no_block") else cute.ceil_div(n, THREADS)


@family(block=THREADS, grid=blocks, args=vectors, want=lambda x, y: 2 * x, bugs=(
    Bug("without_predicate", OUT, "Threads beyond the end have no predicate."),
    Bug("with_le", OUT, "The predicate allows one element too many."),
    Bug("reading_the_next", OUT, "The index of the load is shifted by one."),
    Bug("with_twice_the_offset", OUT, "The tile's offset counts every block twice."),
    Bug("in_place", ("read-only-write",), "The result overwrites the input.", read_only=(0,)),
    Bug("with_swapped_tensors", ("read-only-write",), "The kernel confuses x and y.",
        read_only=(0,), also=("uninitialised-global",)),
    Bug("without_the_last", ("unwritten-output",), "The predicate ends one element early."),
    Bug("rounded_down", ("unwritten-output",), "The grid is n // 64, not ceil_div(n, 64)."),
    Bug("of_no_block", LIMITS, "The grid is n // 64, which is 0 for 40 elements.",
        args=lambda: (fk.randn(40), fk.empty(40))),
))  # fmt: skip
@cute.kernel
def double(mX, mY, bug):
    tidx, bidx = indices()
    i = bidx * THREADS + tidx
    n = mX.shape[0]
    if const_expr(bug == "with_swapped_tensors"):
        mX, mY = mY, mX
    if const_expr(bug == "without_predicate"):
        mY[i] = 2.0 * mX[i]  # BUG without_predicate
    elif const_expr(bug == "with_le"):
        if i <= n:
            mY[i] = 2.0 * mX[i]  # BUG with_le
    elif const_expr(bug == "reading_the_next"):
        if i < n:
            mY[i] = 2.0 * mX[i + 1]  # BUG reading_the_next
    elif const_expr(bug == "with_twice_the_offset"):
        i = bidx * THREADS * 2 + tidx
        mY[i] = 2.0 * mX[i]  # BUG with_twice_the_offset
    elif const_expr(bug == "in_place"):
        if i < n:
            mX[i] = 2.0 * mX[i]  # BUG in_place
    elif const_expr(bug == "without_the_last"):
        if i < n - 1:
            mY[i] = 2.0 * mX[i]
    elif i < n:
        mY[i] = 2.0 * mX[i]  # BUG with_swapped_tensors


@family(block=(8, 8, 1), grid=by_tiles(8), args=lambda: (fk.randn(13, 20), fk.empty(20, 13)),
        want=lambda x, y: x.T, bugs=(
    Bug("with_swapped_predicate", OUT, "Rows are compared with N, and columns with M."),
    Bug("with_swapped_index", OUT, "The load's coordinates are swapped."),
))  # fmt: skip
@cute.kernel
def transpose_direct(mX, mY, bug):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    row, column = by * 8 + ty, bx * 8 + tx
    M, N = mX.shape
    if const_expr(bug == "with_swapped_predicate"):
        if row < N and column < M:
            mY[column, row] = mX[row, column]  # BUG with_swapped_predicate
    elif const_expr(bug == "with_swapped_index"):
        if row < M and column < N:
            mY[column, row] = mX[column, row]  # BUG with_swapped_index
    elif row < M and column < N:
        mY[column, row] = mX[row, column]


@family(block=THREADS, grid=by_parts(THREADS), args=vectors, want=lambda x, y: differences(x),
        bugs=(
    Bug("with_negative_index", OUT, "The left neighbour has no predicate: x[-1] is read."),
    Bug("past_the_end", OUT, "The predicate for the right neighbour has <= for <."),
))  # fmt: skip
@cute.kernel
def difference(mX, mY, bug):
    """Compute y[i] = x[i + 1] - x[i - 1], where x is 0 outside the tensor."""
    tidx, bidx = indices()
    i = bidx * THREADS + tidx
    n = mX.shape[0]
    if i < n:
        left = Float32(0.0)
        right = Float32(0.0)
        if const_expr(bug == "with_negative_index"):
            left = mX[i - 1]  # BUG with_negative_index
        elif i > 0:
            left = mX[i - 1]
        if const_expr(bug == "past_the_end"):
            if i + 1 <= n:
                right = mX[i + 1]  # BUG past_the_end
        elif i + 1 < n:
            right = mX[i + 1]
        mY[i] = right - left


@family(block=64, grid=by_parts(2), args=pair(5, 45), want=lambda x, y: torch.softmax(x, 1), bugs=(
    Bug("of_a_row_too_many", OUT, "The predicate for rows allows one row too many."),
    Bug("reading_its_output", ("uninitialised-global",), "The second pass reads y instead of x."),
    Bug("without_tail_columns", ("unwritten-output",), "Columns from N // 32 * 32 on are omitted."),
))  # fmt: skip
@cute.kernel
def row_softmax(mX, mY, bug):
    """Compute the softmax of rows, with one warp per row, two rows per block, and three passes."""
    bidx, _, _ = cute.arch.block_idx()
    lane = cute.arch.lane_idx()
    row = bidx * 2 + cute.arch.warp_idx()
    M, N = mX.shape
    rows = M + 1 if const_expr(bug == "of_a_row_too_many") else M
    if row < rows:
        top = Float32(-float("inf"))
        for c in range(lane, N, 32):
            top = cute.arch.fmax(top, mX[row, c])  # BUG of_a_row_too_many
        top = cute.arch.warp_reduction_max(top)
        total = Float32(0.0)
        for c in range(lane, N, 32):
            if const_expr(bug == "reading_its_output"):
                total += cute.math.exp(mY[row, c] - top, fastmath=True)  # BUG reading_its_output
            else:
                total += cute.math.exp(mX[row, c] - top, fastmath=True)
        total = cute.arch.warp_reduction_sum(total)
        end = N // 32 * 32 if const_expr(bug == "without_tail_columns") else N
        for c in range(lane, end, 32):
            if row < M:
                mY[row, c] = cute.math.exp(mX[row, c] - top, fastmath=True) / total


@family(args=lambda: (fk.empty(64),), want=lambda y: torch.ones(64),
        grid=lambda mY, bug: (1, 70000, 1) if bug == "of_70000_blocks_in_y" else 1,
        block=lambda mY, bug: {"of_2048_threads": (64, 32, 1),
                               "of_128_threads_in_z": (1, 1, 128)}.get(bug, 64), bugs=(
    Bug("of_232_kib", LIMITS, "232 KiB of shared memory, 5 KiB more than sm_90 has."),
    Bug("of_2048_threads", LIMITS, "A block has 64 x 32 threads."),
    Bug("of_70000_blocks_in_y", LIMITS, "The long dimension of the grid is y."),
    Bug("of_128_threads_in_z", LIMITS, "A block has 128 threads in z, but 64 are allowed."),
))  # fmt: skip
@cute.kernel
def index(mY, bug):
    """Store each thread's index; launches of this kernel exceed limits."""
    tidx, _, _ = cute.arch.thread_idx()
    sY = smem(58 * 1024 if bug == "of_232_kib" else 64)
    sY[tidx] = Float32(1.0)
    cute.arch.sync_threads()
    if tidx < mY.shape[0]:
        mY[tidx] = sY[63 - tidx]


def rows(columns):
    return lambda: (fk.randn(8, columns), fk.empty(8, 4))


def first_four(x, y):
    return [(y, x[:, :4])]


MISALIGNED = ("misaligned",)


@family(block=8, args=rows(12), want=first_four, static=(1,), bugs=(
    Bug("of_odd_length", MISALIGNED, "Rows of 33 floats start at odd addresses.", args=rows(33)),
    Bug("one_element_on", MISALIGNED, "The tile starts one element too late."),
    Bug("past_the_end", OUT, "The tile starts a vector too far: the last row has no more.",
        args=rows(4)),
))  # fmt: skip
@cute.kernel
def vector_rows(mX, mY, bug):
    """Load the first four columns of every row, one thread per row, with one 128-bit load."""
    row, _, _ = cute.arch.thread_idx()
    start = cute.assume(row * mX.shape[1], divby=4)
    if const_expr(bug == "one_element_on"):
        start = cute.assume(row * mX.shape[1] + 1, divby=4)
    four = cute.make_layout(4)
    rX = cute.make_rmem_tensor(four, Float32)
    gX = cute.make_tensor(mX.iterator + start, four)
    if const_expr(bug == "past_the_end"):
        gX = cute.make_tensor(mX.iterator + start + 4, four)
    cute.autovec_copy(gX, rX)  # BUG of_odd_length, one_element_on, past_the_end
    cute.autovec_copy(rX, mY[row, None])


@family(block=64, args=rows(8), want=first_four, static=(1,), bugs=(
    Bug("padded_by_one", MISALIGNED, "Rows in shared memory are 9 floats apart instead of 12."),
))  # fmt: skip
@cute.kernel
def shared_vectors(mX, mY, bug):
    """Copy rows through shared memory, written element by element and read 128 bits at a time."""
    tidx, _, _ = cute.arch.thread_idx()
    stride = 9 if const_expr(bug == "padded_by_one") else 12
    sX = smem((8, 8), stride=(stride, 1))
    sX[tidx // 8, tidx % 8] = mX[tidx // 8, tidx % 8]
    cute.arch.sync_threads()
    if tidx < 8:
        start = cute.assume(tidx * stride, divby=4)
        rX = cute.make_rmem_tensor(4, Float32)
        cute.autovec_copy(cute.make_tensor(sX.iterator + start, 4), rX)  # BUG padded_by_one
        cute.autovec_copy(rX, mY[tidx, None])


@family(block=8, args=rows(12), want=first_four, static=(1,), bugs=(
    Bug("of_odd_length", MISALIGNED, "cp.async of 16 bytes from rows of 33 floats.", args=rows(33)),
    Bug("from_the_next_row", OUT,
        "cp.async reads one row further, but the last row has no next row."),
))  # fmt: skip
@cute.kernel
def async_rows(mX, mY, bug):
    """Copy the first four columns of every row with cp.async; each thread reads its own copy."""
    row, _, _ = cute.arch.thread_idx()
    sX = smem((8, 4), stride=(4, 1))
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
    start = cute.assume(row * mX.shape[1], divby=4)
    gX = cute.make_tensor(mX.iterator + start, cute.make_layout(4))
    if const_expr(bug == "from_the_next_row"):
        start = cute.assume((row + 1) * mX.shape[1], divby=4)
        gX = cute.make_tensor(mX.iterator + start, cute.make_layout(4))
    cute.copy(atom, gX, sX[row, None])  # BUG of_odd_length, from_the_next_row
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.autovec_copy(sX[row, None], mY[row, None])


@family(block=64, args=lambda: (torch.ones(3), fk.empty(64)),
        want=lambda x, y: [(y, torch.full((64,), 3.0)), (x, torch.full((3,), 3.0))], static=(0,),
        bugs=(
    Bug("of_four", OUT, "Four elements are added, but there are three."),
    Bug("without_barrier", ("global-race",), "A warp reads another warp's writes.", loose=True),
    Bug("into_empty", ("uninitialised-global",), "The elements were never written.",
        args=lambda: (fk.empty(3), fk.empty(64))),
))  # fmt: skip
@cute.kernel
def three(mX, mY, bug):
    """Sum three elements, which the compiler loads as four; all threads store the sum, and three of
    them replace an element."""
    tidx, _, _ = cute.arch.thread_idx()
    total = mX[0] + mX[1] + mX[2]  # BUG without_barrier, into_empty
    if const_expr(bug == "of_four"):
        total = mX[0] + mX[1] + mX[2] + mX[3]  # BUG of_four
    sync_if(bug != "without_barrier")
    if tidx < 3:
        mX[tidx] = total  # BUG without_barrier
    mY[tidx] = total
