"""Bugs in global memory that several blocks or launches share."""

import cutlass
import torch
from cutlass import Float32, Int32, const_expr, cute

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import by_parts, by_rows, indices, pair, sync_if

THREADS = 64


def columns(make):
    return lambda: (fk.randn(40, 32), make(32))


def ticketed():
    ticket = fk.zeros(1, dtype=torch.int32)
    return fk.randn(4, THREADS), fk.empty(4, THREADS), ticket, fk.empty(THREADS)


RACE = ("global-race",)


@family(block=32, grid=lambda mX, mY: mX.shape[0] // 8, args=columns(fk.zeros),
        want=lambda x, y: x.sum(0), static=(0,), bugs=(
    Bug("without_atomics", RACE, "Blocks add to the result without atomics."),
    Bug("stored", RACE, "Each block stores its part as the result."),
    Bug("into_empty", ("uninitialised-global",), "The sums do not start at 0.",
        args=columns(fk.empty)),
))  # fmt: skip
@cute.kernel
def column_sum(mX, mY, bug):
    """Sum columns: one thread per column, eight rows per block; blocks add to the result."""
    c, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    total = Float32(0.0)
    for k in cutlass.range_constexpr(8):
        total += mX[bidx * 8 + k, c]
    if const_expr(bug == "without_atomics"):
        mY[c] = mY[c] + total  # BUG without_atomics
    elif const_expr(bug == "stored"):
        mY[c] = total  # BUG stored
    else:
        cute.arch.atomic_add(mY.iterator + c, total)  # BUG into_empty


@cute.kernel
def partial_sums_kernel(mX: cute.Tensor, mP: cute.Tensor, bug: cutlass.Constexpr):
    """One warp per block stores its sum as element `bidx` of the partial results."""
    tidx, bidx = indices()
    total = cute.arch.warp_reduction_sum(mX[bidx * 32 + tidx])
    if tidx == 0:
        if const_expr(bug == "two_blocks_one_place"):
            mP[bidx // 2] = total  # BUG two_blocks_one_place
        else:
            mP[bidx] = total


@cute.kernel
def final_sum_kernel(mP: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    part = Float32(0.0)
    if tidx < mP.shape[0]:
        part = mP[tidx]  # BUG one_block_missing
    total = cute.arch.warp_reduction_sum(part)
    if tidx == 0:
        mY[0] = total


@family(args=lambda: (fk.randn(160), fk.empty(5), fk.empty(1)), want=lambda x, p, y: x.sum()[None],
        bugs=(
    Bug("two_blocks_one_place", RACE, "Two blocks store their sums in one element.",
        also=("uninitialised-global",)),
    Bug("one_block_missing", ("uninitialised-global",), "The first launch has one block too few."),
))  # fmt: skip
@cute.jit
def two_step_sum(mX: cute.Tensor, mP: cute.Tensor, mY: cute.Tensor, bug: cutlass.Constexpr = None):
    blocks = mP.shape[0]
    if const_expr(bug == "one_block_missing"):
        blocks = blocks - 1
    partial_sums_kernel(mX, mP, bug).launch(grid=(blocks, 1, 1), block=(32, 1, 1))
    final_sum_kernel(mP, mY).launch(grid=(1, 1, 1), block=(32, 1, 1))


@family(block=THREADS, grid=by_rows, args=ticketed, want=lambda x, p, t, y: 2 * x.sum(0), bugs=(
    Bug("last_by_number", RACE, "The block with the highest index counts as the last."),
    Bug("ticket_too_early", RACE, "A block draws its ticket before it has stored its part."),
    Bug("one_too_few", RACE,
        "The last block but one adds up the parts.", also=("uninitialised-global",)),
    Bug("plain_ticket", RACE, "The ticket is counted without atomics.", loose=True,
        also=("uninitialised-global",)),
    Bug("relaxed_ticket", RACE,
        "The ticket is drawn without a fence or a memory order.", loose=True),
    Bug("flag_unguarded", ("shared-race",), "The block's flag is read without a barrier.",
        also=("global-race", "uninitialised-shared", "uninitialised-global")),
))  # fmt: skip
@cute.kernel
def last_block_sum(mX, mP, mTicket, mY, bug):
    """Every block stores 64 partial values; the last block to finish adds up all values."""
    tidx, bidx = indices()
    blocks, _, _ = cute.arch.grid_dim()
    sLast = cutlass.memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout(1), 16)
    # BUG last_by_number, ticket_too_early, one_too_few, plain_ticket, relaxed_ticket
    mP[bidx, tidx] = 2.0 * mX[bidx, tidx]
    if const_expr(bug != "ticket_too_early"):
        if const_expr(bug != "relaxed_ticket"):
            cute.arch.fence_acq_rel_gpu()
        cute.arch.sync_threads()
    last = Int32(0)
    if tidx == 0:
        if const_expr(bug == "plain_ticket"):
            ticket = mTicket[0]  # BUG plain_ticket
            mTicket[0] = ticket + 1  # BUG plain_ticket
        elif const_expr(bug == "last_by_number"):
            ticket = bidx
        else:
            sem = "relaxed" if bug == "relaxed_ticket" else "acq_rel"
            ticket = cute.arch.atomic_add(mTicket.iterator, Int32(1), sem=sem, scope="gpu")
        wanted = blocks - (2 if bug == "one_too_few" else 1)
        sLast[0] = Int32(1) if ticket == wanted else Int32(0)  # BUG flag_unguarded
    sync_if(bug != "flag_unguarded")
    last = sLast[0]  # BUG flag_unguarded
    if last == 1:
        if const_expr(bug != "relaxed_ticket"):
            cute.arch.fence_acq_rel_gpu()
        total = Float32(0.0)
        for b in cutlass.range(blocks, unroll=1):
            # BUG last_by_number, ticket_too_early, one_too_few, plain_ticket, relaxed_ticket
            total += mP[b, tidx]
        mY[tidx] = total


@cute.kernel
def doubled_kernel(mX: cute.Tensor, mY: cute.Tensor, mZ: cute.Tensor, bug: cutlass.Constexpr):
    tidx, bidx = indices()
    i = bidx * 32 + tidx
    n = mX.shape[0]
    mY[i] = 2.0 * mX[i]  # BUG in_one_launch
    if const_expr(bug == "in_one_launch"):
        mZ[i] = mY[(i + 32) % n]  # BUG in_one_launch


@cute.kernel
def rotated_kernel(mY: cute.Tensor, mZ: cute.Tensor):
    tidx, bidx = indices()
    i = bidx * 32 + tidx
    mZ[i] = mY[(i + 32) % mY.shape[0]]


@family(args=lambda: (fk.randn(96), fk.empty(96), fk.empty(96)),
        want=lambda x, y, z: [(y, 2 * x), (z, 2 * x.roll(-32))], bugs=(
    Bug("in_one_launch", RACE, "The same launch reads another block's results.",
        changes_result=True),
))  # fmt: skip
@cute.jit
def double_and_rotate(
    mX: cute.Tensor, mY: cute.Tensor, mZ: cute.Tensor, bug: cutlass.Constexpr = None
):
    grid = (mX.shape[0] // 32, 1, 1)
    doubled_kernel(mX, mY, mZ, bug).launch(grid=grid, block=(32, 1, 1))
    if const_expr(bug != "in_one_launch"):
        rotated_kernel(mY, mZ).launch(grid=grid, block=(32, 1, 1))


@family(block=32, grid=by_parts(32), args=pair(96), want=lambda x, y: x + x.roll(1), bugs=(
    Bug("in_place", RACE, "Input and output are the same tensor."),
))  # fmt: skip
@cute.kernel
def smooth(mX, mY, bug):
    """Compute y[i] = x[i] + x[i - 1], cyclically; x and y must not be the same tensor."""
    tidx, bidx = indices()
    mY = mX if const_expr(bug == "in_place") else mY
    i = bidx * 32 + tidx
    n = mX.shape[0]
    before = mX[(i + n - 1) % n]  # BUG in_place
    mY[i] = mX[i] + before  # BUG in_place


@family(block=THREADS, grid=lambda mX, mS, mY: mX.shape[0] // THREADS,
        args=lambda: (fk.randn(192), fk.empty(192), fk.empty(192)),
        want=lambda x, s, y: x.view(3, 64).flip(1).view(-1), bugs=(
    Bug("unguarded", RACE,
        "Other threads' values are read without a barrier.", changes_result=True),
    Bug("in_one_scratch", RACE, "All blocks use the same scratch space.", loose=True),
))  # fmt: skip
@cute.kernel
def turn(mX, mS, mY, bug):
    """Each block reverses its 64 values through scratch space in global memory."""
    tidx, bidx = indices()
    if const_expr(bug == "in_one_scratch"):
        mS[tidx] = mX[bidx * THREADS + tidx]  # BUG in_one_scratch
        cute.arch.sync_threads()
        mY[bidx * THREADS + tidx] = mS[THREADS - 1 - tidx]  # BUG in_one_scratch
    else:
        mS[bidx * THREADS + tidx] = mX[bidx * THREADS + tidx]  # BUG unguarded
        sync_if(bug != "unguarded")
        back = bidx * THREADS + THREADS - 1 - tidx
        mY[bidx * THREADS + tidx] = mS[back]  # BUG unguarded
