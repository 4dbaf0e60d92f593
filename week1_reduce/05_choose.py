# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Choose the kernel for the shape
#
# **You will build** one kernel that is all kernels of this week, a rule that picks its three
# numbers for a shape, and the sums of columns, of which there may be few.
# **You will learn** where one way to share a row is better than another, why the rule of a library
# looks as it does, how to read a production kernel, and what a compiled reduction remembers.
# **You need** `00_what_is_the_right_sum` to `04_few_long_rows`. About 40 minutes, and 40 more for
# the exercises.
#
# `04_few_long_rows` ended with rows split over blocks, and so the week has a good kernel for short
# rows, one for long rows, and one for few rows. Each is bad where another is good, and a caller
# brings any shape. This notebook is about that choice.

# %%
import operator

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32

import forgekit as fk

# %% [markdown]
# ## 1. One kernel, three numbers
#
# What differs between a warp a row, a block a row and a split row? How many **threads** share a row
# within a block, how many **parts** of a row go to blocks of their own, and how wide a **vector**
# is that a thread reads at a time. Written once, with these three as compile-time constants, the
# kernels of this week are one kernel. A block has 256 threads; where `threads` of them share a
# row, it has `256 // threads` rows.
#
# (To keep it to one screen, a row has to be whole vectors; `03_bytes_in_flight` has the tails.)


# %%
@cute.kernel
def rows_kernel(
    mX: cute.Tensor,
    mY: cute.Tensor,
    threads: cutlass.Constexpr,
    parts: cutlass.Constexpr,
    vector: cutlass.Constexpr,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, part, _ = cute.arch.block_idx()
    row, lane = bidx * (256 // threads) + tidx // threads, tidx % threads
    total = Float32(0.0)
    if row < mX.shape[0]:
        for c in range(part * threads + lane, mX.shape[1] // vector, threads * parts):
            gX = cute.local_tile(mX, (1, vector), (row, c))  # (1,Vector)
            total += gX.load().to(Float32).reduce(cute.ReductionOp.ADD, 0.0, 0)
    total = cute.arch.warp_reduction(total, operator.add, threads_in_group=min(threads, 32))
    if cutlass.const_expr(threads > 32):  # several warps a row: they meet in shared memory
        sSum = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(8), 16)
        if tidx % 32 == 0:
            sSum[tidx // 32] = total
        cute.arch.sync_threads()
        warps = threads // 32
        total = Float32(0.0)
        for k in cutlass.range_constexpr(warps):
            total += sSum[tidx // threads * warps + k]
    if row < mX.shape[0] and lane == 0:
        mY[row * parts + part] = total.to(mY.element_type)


def sum_rows(threads, parts=1):
    """A host function that adds up rows; with parts > 1, mY is (M * parts), the sums of parts."""

    @cute.jit
    def host(mX: cute.Tensor, mY: cute.Tensor):
        vector = 128 // mX.element_type.width  # 16 bytes
        blocks = cute.ceil_div(mX.shape[0], 256 // threads)
        grid = (blocks, parts, 1)
        rows_kernel(mX, mY, threads, parts, vector).launch(grid=grid, block=(256, 1, 1))

    return host


def whole_vectors(x, y):
    return fk.spec(x, divisible={1: 16 // x.element_size()}), fk.spec(y)


def static_n(x, y):
    return fk.spec(x, static=[1]), fk.spec(y)


def up_to(most, specs):
    """The specs for rows of at most so many elements: few lanes take too long for more."""

    def checked(x, y):
        if x.shape[1] > most:
            raise ValueError(f"rows of more than {most} elements")
        return specs(x, y)

    return checked


# %% [markdown]
# Where rows have parts, a second launch of the same kernel adds up the sums of the parts, a warp a
# row. How many parts? An H200 has 132 multiprocessors, so 264 blocks are two for each of them.


# %%
def in_two_launches(x, y):
    """What to call for rows in parts: x is read by 264 blocks or more."""
    rows = x.shape[0]
    parts = max(4, 264 // rows // 4 * 4)  # whole vectors, as they are rows of the second launch
    sums = fk.empty(rows, parts)
    first = fk.compile(sum_rows(256, parts), *whole_vectors(x, sums.view(-1)))
    second = fk.compile(sum_rows(32), *whole_vectors(sums, y))

    def call(x, y):
        first(x, sums.view(-1))
        second(sums, y)

    return call


def one_launch(threads, specs=whole_vectors):
    return lambda x, y: fk.compile(sum_rows(threads), *specs(x, y))


ways = {
    "8 lanes a row": one_launch(8),
    "a warp a row": one_launch(32),
    "a block a row": one_launch(256),
    "parts, two launches": in_two_launches,
}

for m, n in ((1, 8), (3, 32), (33, 1000), (7, 4096)):
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x = fk.rand(m, n, dtype=dtype)
        for made in ways.values():
            y = fk.empty(m, dtype=dtype)
            made(x, y)(x, y)
            fk.check(y, x.double().sum(1), on_fail="raise")
print("all right")


# %%
# What was timed on an H200: the four ways, one of them with N compiled in, and forgekit's own.
def two_launches(x, y):
    in_two_launches(x, y)(x, y)


def library(x, y):
    arch = None if x.is_cuda else fk.target.arch
    launcher(x.dtype, arch, tuple(x.shape), x.stride(), x.data_ptr() % 16, 1)(x, y)


two_launches.calls = lambda x, y: functools.partial(in_two_launches(x, y), x, y)
library.calls = lambda x, y: functools.partial(library, x, y)

steps = {
    "8 lanes a row": (sum_rows(8), up_to(131_072, whole_vectors)),
    "a warp a row": (sum_rows(32), up_to(524_288, whole_vectors)),
    "a warp a row, N static": (sum_rows(32), up_to(524_288, static_n)),
    "a block a row": (sum_rows(256), whole_vectors),
    "parts, two launches": two_launches,
    "forgekit": library,
}
