"""128-bit accesses where the address is no multiple of 16 bytes, and past the end."""

import cutlass
import torch
from cutlass import Float32, const_expr, cute

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import sync_if


def three_ones():
    return torch.ones(3), fk.empty(64)


def rows(columns):
    return lambda: (fk.randn(8, columns), fk.empty(8, 4))


def first_four(x, y):
    return [(y, x[:, :4])]


MISALIGNED, OUT = ("misaligned",), ("out-of-bounds",)


@family(block=8, args=rows(12), want=first_four, static=(1,), bugs=(
    Bug("of_odd_length", MISALIGNED, "Rows of 33 floats start at odd addresses.", args=rows(33)),
    Bug("one_element_on", MISALIGNED, "The tile starts one element too far."),
    Bug("past_the_end", OUT, "The tile starts a vector too far: the last row has no more.",
        args=rows(4)),
))  # fmt: skip
@cute.kernel
def vector_rows(mX, mY, bug):
    """The first four columns of every row, one thread a row, one 128-bit load."""
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
    Bug("padded_by_one", MISALIGNED, "Rows in shared memory are 9 floats apart, not 12."),
))  # fmt: skip
@cute.kernel
def shared_vectors(mX, mY, bug):
    """Rows through shared memory: written by the element, read 128 bits at a time."""
    tidx, _, _ = cute.arch.thread_idx()
    stride = 9 if const_expr(bug == "padded_by_one") else 12
    layout = cute.make_layout((8, 8), stride=(stride, 1))
    sX = cutlass.memory.SmemAllocator().allocate_tensor(Float32, layout, 16)
    sX[tidx // 8, tidx % 8] = mX[tidx // 8, tidx % 8]
    cute.arch.sync_threads()
    if tidx < 8:
        start = cute.assume(tidx * stride, divby=4)
        rX = cute.make_rmem_tensor(4, Float32)
        cute.autovec_copy(cute.make_tensor(sX.iterator + start, 4), rX)  # BUG padded_by_one
        cute.autovec_copy(rX, mY[tidx, None])


@family(block=8, args=rows(12), want=first_four, static=(1,), bugs=(
    Bug("of_odd_length", MISALIGNED, "cp.async of 16 bytes from rows of 33 floats.", args=rows(33)),
    Bug("from_the_next_row", OUT, "cp.async reads one row further: the last has no next."),
))  # fmt: skip
@cute.kernel
def async_rows(mX, mY, bug):
    """The first four columns of every row by cp.async; each thread reads what it copied."""
    row, _, _ = cute.arch.thread_idx()
    layout = cute.make_layout((8, 4), stride=(4, 1))
    sX = cutlass.memory.SmemAllocator().allocate_tensor(Float32, layout, 16)
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


@family(block=64, args=three_ones,
        want=lambda x, y: [(y, torch.full((64,), 3.0)), (x, torch.full((3,), 3.0))], static=(0,),
        bugs=(
    Bug("of_four", OUT, "The sum of four elements, there are three."),
    Bug("without_barrier", ("global-race",), "A warp reads what another writes.", loose=True),
    Bug("into_empty", ("uninitialised-global",), "The elements were never written.",
        args=lambda: (fk.empty(3), fk.empty(64))),
))  # fmt: skip
@cute.kernel
def three(mX, mY, bug):
    """The sum of three elements, which the compiler loads as four, to all and in their place."""
    tidx, _, _ = cute.arch.thread_idx()
    total = mX[0] + mX[1] + mX[2]  # BUG without_barrier, into_empty
    if const_expr(bug == "of_four"):
        total = mX[0] + mX[1] + mX[2] + mX[3]  # BUG of_four
    sync_if(bug != "without_barrier")
    if tidx < 3:
        mX[tidx] = total  # BUG without_barrier
    mY[tidx] = total
