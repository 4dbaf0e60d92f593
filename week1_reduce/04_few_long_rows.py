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
# # Share a long row among many blocks
#
# **You will build** four ways to add up a few long rows: with atomics, in two launches, with a last
# block, and in a cluster. **You will learn** how blocks combine their results, which ways produce
# the same bits every time, and which mistake no tool here can find. **You need**
# `03_bytes_in_flight`. About 50 minutes, and 85 more for the exercises.
#
# `03_bytes_in_flight` ended with too few rows for the GPU. One warp per row needs thousands of rows
# to fill a GPU, and one block per row needs hundreds. With a single row of a million elements, only
# one of 132 multiprocessors works.

# %%
import operator

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Constexpr, Float32, Int32
from week1_helpers import (
    WithWorkspace,
    bars_picture,
    meeting_picture,
    pieces_picture,
    results,
    whole_vectors,
)

import forgekit as fk
from forgekit.benching.recorded import recorded

# %% [markdown]
# ## 1. The bad number: one block
#
# Many blocks have to share the row. In this notebook, a block of 256 threads takes one **piece** of
# it: 4 vectors per thread, all of them in flight at the same time.

# %%
pieces_picture()

# %% [markdown]
# All kernels in this notebook use the following two functions. `sum_of_piece` returns the sum of
# the elements that one thread reads from a piece. `sum_of_block` adds up the values of all threads
# of a block, as in `02_shuffle`, with shuffles, 8 words of shared memory and one barrier.


# %%
LOADS, THREADS = 4, 256


@cute.jit
def sum_of_piece(gX: cute.Tensor, piece: Int32):
    tidx, _, _ = cute.arch.thread_idx()
    vec = cutlass.const_expr(128 // gX.element_type.width)
    gV = cute.zipped_divide(gX, (vec,))  # ((Vec),(Rest))
    rX = cute.make_rmem_tensor((vec, LOADS), gX.element_type)  # (Vec,LOADS)
    rX.fill(0.0)
    for k in cutlass.range_constexpr(LOADS):
        i = (piece * LOADS + k) * THREADS + tidx
        if i < cute.size(gV, mode=[1]):
            cute.autovec_copy(gV[(None, i)], rX[None, k])
    return rX.load().to(Float32).reduce(cute.ReductionOp.ADD, 0.0, 0)


@cute.jit
def sum_of_block(value: Float32):
    tidx, _, _ = cute.arch.thread_idx()
    warps = THREADS // 32
    smem = cutlass.memory.SmemAllocator()
    sSum = smem.allocate_tensor(Float32, cute.make_layout(warps), 16)
    value = cute.arch.warp_reduction(value, operator.add)
    if tidx % 32 == 0:
        sSum[tidx // 32] = value
    cute.arch.sync_threads()
    total = Float32(0.0)
    if tidx < warps:
        total = sSum[tidx]
    return cute.arch.warp_reduction(total, operator.add, threads_in_group=warps)


def pieces_of(mX):
    return cute.ceil_div(mX.shape[1], LOADS * THREADS * (128 // mX.element_type.width))


# %% [markdown]
# In the first kernel, one block goes through all pieces of its row. (`whole_vectors(x, y)` is the
# helper from `03_bytes_in_flight`. It promises the compiler that the rows of `x` are whole 16-byte
# vectors.)


# %%
@cute.kernel
def one_block_kernel(mX: cute.Tensor, mY: cute.Tensor, pieces: Int32):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    total = Float32(0.0)
    for piece in cutlass.range(pieces, unroll=1):
        total += sum_of_piece(mX[row, None], piece)
    total = sum_of_block(total)
    if tidx == 0:
        mY[row] = total.to(mY.element_type)


@cute.jit
def one_block(mX: cute.Tensor, mY: cute.Tensor):
    grid = (mX.shape[0], 1, 1)
    one_block_kernel(mX, mY, pieces_of(mX)).launch(grid=grid, block=(THREADS, 1, 1))


x, y = fk.randn(1, 40_000), fk.empty(1)
run_one = fk.compile(one_block, *whole_vectors(x, y))
run_one(x, y)
fk.check(y, x.double().sum(1))

# %% [markdown]
# **Predict:** a `float32` piece is 16 kB, and memory answers after about 400 ns. By Little's law,
# how many GB/s can this one block reach at most?

# %%
one_rate = fk.predict("GB/s of one block", None)

# %% jupyter={"outputs_hidden": true}
times = recorded("week1/04_few_long_rows")
one_rate.against(round(LOADS * THREADS * 16 / 400))
print(f"recorded: {times.row('one_block', 'float32', (1, 1048576)).gbps:.0f} GB/s")

# %% [markdown]
# Little's law allows 41 GB/s. The recorded rate is 32 GB/s, a fifth less, because the block
# requests nothing while it adds up a piece. The memory could deliver a hundred times as much.
#
# From here on, block `(piece, row)` of the grid adds up one piece, which makes 256 blocks for a row
# of a million `float32` elements. The sum of a piece is called a **part**. The parts then have to
# be combined, in one of four ways:

# %%
meeting_picture()

# %% [markdown]
# ## 2. Atomics
#
# The shortest way is an atomic addition, which is indivisible: each block adds its part to one
# number in memory with `atomic_add`. This needs two more launches. One sets the number to 0 first,
# because no block knows whether it is the first. The other converts the number to the type of `y`,
# because the number is always a `float32`.
#
# Memory that a kernel needs besides its input and output, such as `mSum`, is called a
# **workspace**.


# %%
@cute.kernel
def clear_kernel(mSum: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * THREADS + tidx
    if i < mSum.shape[0]:
        mSum[i] = 0.0


@cute.kernel
def atomic_kernel(mX: cute.Tensor, mSum: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    piece, row, _ = cute.arch.block_idx()
    total = sum_of_block(sum_of_piece(mX[row, None], piece))
    if tidx == 0:
        cute.arch.atomic_add(mSum.iterator + row, total)


@cute.kernel
def convert_kernel(mSum: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * THREADS + tidx
    if i < mSum.shape[0]:
        mY[i] = mSum[i].to(mY.element_type)


@cute.jit
def split_atomic(mX: cute.Tensor, mSum: cute.Tensor, mY: cute.Tensor):
    rows, block = mX.shape[0], (THREADS, 1, 1)
    few = (cute.ceil_div(rows, THREADS), 1, 1)
    clear_kernel(mSum).launch(grid=few, block=block)
    atomic_kernel(mX, mSum).launch(grid=(pieces_of(mX), rows, 1), block=block)
    convert_kernel(mSum, mY).launch(grid=few, block=block)


x, y, total = fk.randn(1, 40_000), fk.empty(1), fk.empty(1)
run_atomic = fk.compile(split_atomic, *whole_vectors(x, total, y))
run_atomic(x, total, y)
fk.check(y, x.double().sum(1))

# %% [markdown]
# The sum is correct. Now repeat the call under 20 adversarial schedules, each of which runs the
# blocks in a different order, as a GPU may. The helper `results(run, *args)` returns the set of
# resulting values of `y[0]`.
#
# **Predict:** how many different results are there?

# %%
many = fk.predict("different results: 1, or more", None)  # "1" or "more"

# %% jupyter={"outputs_hidden": true}
found = results(run_atomic, x, total, y)
for value in sorted(found):
    print(f"{value:.9g}")
many.against("1" if len(found) == 1 else "more")
print(fk.sanitize(run_atomic, x, total, y, schedule="adversarial"))

# %% [markdown]
# The sums differ in their last bits. Each of them is within any reasonable tolerance, so neither
# the check nor the sanitizer objects. But a repeated run may give a different result, so the kernel
# is **not deterministic**. Each atomic addition rounds, and every launch may perform the additions
# in a different order. This may be acceptable for a loss that you only print. It is not acceptable
# if a test compares bits, or if you are hunting a bug that appears in one run out of ten.
#
# Additions that do not round, such as the increments of an integer counter, remain deterministic
# with atomics.

# %% [markdown] exercise="week1/count_positive" part="task"
# ### Exercise 1: count with one atomic per block
#
# `y[m]` is the number of elements of row `m` that are greater than 0. Rows are float32 and have any
# length; elements may be infinite or NaN, and NaN is not greater than 0. Counts are int32. Blocks
# add their counts to `y[row]` with `cute.arch.atomic_add`. `y` holds arbitrary values at first, so
# a separate launch has to set it to 0.
#
# Signature: `count_positive(x, y)`.
#
# **Required**: one block per 2,048 columns of a row, 256 threads per block of the first launch, 256
# threads per block, 2 launches, at most one atomic per block.
#
# <details><summary>Hint 1</summary>
#
# Write two kernels and one host function. Which kernel writes `y` with a plain store?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A warp adds up its counts with `cute.arch.warp_reduction` over `Int32` numbers. The warps of a
# block combine their counts in shared memory, as in `sum_of_block`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `mY.iterator + row` is the pointer for the atomic addition. Only one thread of the block executes
# that line.
#
# </details>


# %% exercise="week1/count_positive" part="skeleton"
@cute.kernel
def clear_counts_kernel(mY: cute.Tensor):
    # FILL ME IN (roughly 5 lines)
    pass


@cute.kernel
def count_positive_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 17 lines)
    pass


@cute.jit
def count_positive(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 4 lines)
    pass


# %% exercise="week1/count_positive" part="grade"
fk.exercise("week1/count_positive").grade(count_positive)

# %% [markdown] exercise="week1/count_positive" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# @cute.kernel
# def clear_counts_kernel(mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row = bidx * 256 + tidx
#     if row < mY.shape[0]:
#         mY[row] = 0
#
#
# @cute.kernel
# def count_positive_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     piece, row, _ = cute.arch.block_idx()
#     smem = cutlass.memory.SmemAllocator()
#     sCount = smem.allocate_tensor(Int32, cute.make_layout(8), 16)
#     count = Int32(0)
#     for k in cutlass.range_constexpr(8):
#         n = piece * 2048 + k * 256 + tidx
#         if n < mX.shape[1]:
#             if mX[row, n] > 0.0:
#                 count += 1
#     count = cute.arch.warp_reduction(count, operator.add)
#     if tidx % 32 == 0:
#         sCount[tidx // 32] = count
#     cute.arch.sync_threads()
#     count = cute.arch.warp_reduction(sCount[tidx % 8], operator.add, threads_in_group=8)
#     if tidx == 0:
#         cute.arch.atomic_add(mY.iterator + row, count)
#
#
# @cute.jit
# def count_positive(mX: cute.Tensor, mY: cute.Tensor):
#     rows, pieces = mX.shape[0], cute.ceil_div(mX.shape[1], 2048)
#     few = (cute.ceil_div(rows, 256), 1, 1)
#     clear_counts_kernel(mY).launch(grid=few, block=(256, 1, 1))
#     count_positive_kernel(mX, mY).launch(grid=(pieces, rows, 1), block=(256, 1, 1))
# ```
#
# Integer additions do not round, so the order in which blocks arrive does not matter, and the
# counts are deterministic. One atomic per block also keeps the number of atomics small. This
# helps because memory performs atomics on the same address one after another.
#
# </details>

# %% [markdown]
# ## 3. Two launches
#
# If each part has its own slot, the order in which blocks finish no longer matters. The first
# launch writes the parts, and the second adds them up in the order of their slots.


# %%
@cute.kernel
def pieces_kernel(mX: cute.Tensor, mPart: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    piece, row, _ = cute.arch.block_idx()
    total = sum_of_block(sum_of_piece(mX[row, None], piece))
    if tidx == 0:
        mPart[row, piece] = total


@cute.jit
def sum_of_parts(gPart: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    total = Float32(0.0)
    for k in range(tidx, gPart.shape[0], THREADS):
        total += gPart[k]
    return sum_of_block(total)


@cute.kernel
def parts_kernel(mPart: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    total = sum_of_parts(mPart[row, None])
    if tidx == 0:
        mY[row] = total.to(mY.element_type)


@cute.jit
def two_launches(mX: cute.Tensor, mPart: cute.Tensor, mY: cute.Tensor):
    rows, pieces = mPart.shape
    block = (THREADS, 1, 1)
    pieces_kernel(mX, mPart).launch(grid=(pieces, rows, 1), block=block)
    parts_kernel(mPart, mY).launch(grid=(rows, 1, 1), block=block)


def parts(x):  # the workspace: one float32 per piece
    return fk.empty(x.shape[0], -(-x.shape[1] * x.element_size() // (16 * LOADS * THREADS)))


part = parts(x)
run_two = fk.compile(two_launches, *whole_vectors(x, part, y))
run_two(x, part, y)
fk.check(y, x.double().sum(1))
print("different results:", len(results(run_two, x, part, y)))

# %% [markdown]
# Two launches need no fence and no counter, because the second begins after the first has ended.
# (On a GPU, both are in the same **stream**, a queue of launches.) The price is the additional
# launch; section 6 shows how long it takes.

# %% [markdown] exercise="week1/two_launch_max" part="task"
# ### Exercise 2: find the largest element of a long row in two launches
#
# Find the largest element of each row, for a few float32 rows of any length. In the first launch,
# each block writes the maximum of a piece of 1,024 columns into `part[row, piece]`; `part` has one
# column per piece. The second launch computes `y[row]` from the parts of the row, which the threads
# of a warp or of a block share. One host function starts both launches. All elements may be
# negative, and elements may be infinite.
#
# Signature: `two_launch_max(x, part, y)`.
#
# **Required**: one block per 1,024 columns of a row, 256 threads per block of the first launch, 2
# launches.
#
# <details><summary>Hint 1</summary>
#
# Write two kernels, and two `.launch(...)` calls in one host function. The second kernel starts
# after the first has ended.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Both kernels end with the maximum over the threads of a block. Write that function once, with
# `@cute.jit`, and call it in both.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The grid of the first launch is `(pieces, rows, 1)`, from the shape of `part`. A thread without
# columns keeps the identity, which you set on the line before its loop.
#
# </details>


# %% exercise="week1/two_launch_max" part="skeleton"
# FILL ME IN (roughly 10 lines)
@cute.kernel
def pieces_max_kernel(mX: cute.Tensor, mPart: cute.Tensor):
    # FILL ME IN (roughly 10 lines)
    pass


@cute.kernel
def parts_max_kernel(mPart: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 8 lines)
    pass


@cute.jit
def two_launch_max(mX: cute.Tensor, mPart: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 3 lines)
    pass


# %% exercise="week1/two_launch_max" part="grade"
fk.exercise("week1/two_launch_max").grade(two_launch_max)

# %% [markdown] exercise="week1/two_launch_max" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# @cute.jit
# def max_of_block(best: Float32):
#     tidx, _, _ = cute.arch.thread_idx()
#     smem = cutlass.memory.SmemAllocator()
#     sMax = smem.allocate_tensor(Float32, cute.make_layout(8), 16)
#     best = cute.arch.warp_reduction(best, cute.arch.fmax)
#     if tidx % 32 == 0:
#         sMax[tidx // 32] = best
#     cute.arch.sync_threads()
#     return cute.arch.warp_reduction(sMax[tidx % 8], cute.arch.fmax, threads_in_group=8)
#
#
# @cute.kernel
# def pieces_max_kernel(mX: cute.Tensor, mPart: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     piece, row, _ = cute.arch.block_idx()
#     best = -Float32.inf
#     for k in cutlass.range_constexpr(4):
#         n = piece * 1024 + k * 256 + tidx
#         if n < mX.shape[1]:
#             best = cute.arch.fmax(best, mX[row, n])
#     best = max_of_block(best)
#     if tidx == 0:
#         mPart[row, piece] = best
#
#
# @cute.kernel
# def parts_max_kernel(mPart: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     row, _, _ = cute.arch.block_idx()
#     best = -Float32.inf
#     for k in range(tidx, mPart.shape[1], 256):
#         best = cute.arch.fmax(best, mPart[row, k])
#     best = max_of_block(best)
#     if tidx == 0:
#         mY[row] = best
#
#
# @cute.jit
# def two_launch_max(mX: cute.Tensor, mPart: cute.Tensor, mY: cute.Tensor):
#     rows, pieces = mPart.shape
#     pieces_max_kernel(mX, mPart).launch(grid=(pieces, rows, 1), block=(256, 1, 1))
#     parts_max_kernel(mPart, mY).launch(grid=(rows, 1, 1), block=(256, 1, 1))
# ```
#
# The end of a launch is the strongest ordering there is: the second kernel may read everything
# that the first has written, without a counter or a fence. The cost is one more launch, and a
# workspace, `part`, that the caller has to provide. A maximum is the same in any order. A sum
# computed this way is deterministic as well, because the parts and their order are fixed.
#
# </details>

# %% [markdown]
# **A good place for a break.**
#
# ## 4. The last block
#
# One launch is enough if the block that finishes last adds up the parts. No block knows in advance
# that it will be the last, but once a block has stored its part, a counter can tell it how many
# other blocks have already finished. Here is the idea in Python, for a row of three pieces whose
# blocks finish in some order:

# %%
values, slot, count = [3.0, 4.0, 5.0], [None, None, None], 0
for block in (1, 2, 0):  # the order in which they happen to finish
    slot[block] = values[block]
    ticket, count = count, count + 1  # an atomic addition returns the previous value
    print(f"block {block} has ticket {ticket}", "and adds up" * (ticket == 2), slot)

# %% [markdown]
# Each block stores its part, then takes a **ticket** from an atomic counter. The block with ticket
# `pieces - 1` knows that all other blocks have stored their parts. Two things are easy to forget:
#
# - The part has to be visible to other blocks *before* the count is. A GPU may reorder two accesses
#   to different addresses, but a **fence** between them, `fence_acq_rel_gpu()`, preserves their
#   order. The fence before the ticket is a **release** of the part. The last block needs a second
#   fence, an **acquire**, between its ticket and its loads.
# - The counter has to be 0 again before the next call, so the last block resets it.


# %%
@cute.kernel
def last_block_kernel(
    mX: cute.Tensor, mPart: cute.Tensor, mCount: cute.Tensor, mY: cute.Tensor, bug: Constexpr
):
    tidx, _, _ = cute.arch.thread_idx()
    piece, row, _ = cute.arch.block_idx()
    pieces = mPart.shape[1]
    sTicket = cutlass.memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout(1), 16)
    total = sum_of_block(sum_of_piece(mX[row, None], piece))
    if tidx == 0:
        mPart[row, piece] = total
        if cutlass.const_expr(bug != "no fences"):
            cute.arch.fence_acq_rel_gpu()
        sTicket[0] = cute.arch.atomic_add(mCount.iterator + row, Int32(1))
        if cutlass.const_expr(bug != "no fences"):
            cute.arch.fence_acq_rel_gpu()
    cute.arch.sync_threads()
    if sTicket[0] == pieces - 1:
        total = sum_of_parts(mPart[row, None])
        if tidx == 0:
            mY[row] = total.to(mY.element_type)
            if cutlass.const_expr(bug != "no reset"):
                mCount[row] = 0


@cute.jit
def last_block(
    mX: cute.Tensor, mPart: cute.Tensor, mCount: cute.Tensor, mY: cute.Tensor, bug: Constexpr = ""
):
    rows, pieces = mPart.shape
    grid, block = (pieces, rows, 1), (THREADS, 1, 1)
    last_block_kernel(mX, mPart, mCount, mY, bug).launch(grid=grid, block=block)


counter = fk.zeros(1, dtype=torch.int32)
run_last = fk.compile(last_block, *whole_vectors(x, part, counter, y))
for _ in range(2):
    y.fill_(float("nan"))
    run_last(x, part, counter, y)
    fk.check(y, x.double().sum(1))
print("different results:", len(results(run_last, x, part, counter, y)))

# %% [markdown]
# Any block may be the last, but it always adds the parts in the order of their slots, so the bits
# are the same every time. The barrier after the ticket makes the ticket visible to all threads of
# the block. It also separates the block's two sums, although they do not need it: each call of
# `sum_of_block` allocates its own 8 words, so the second sum overwrites nothing that a slow warp
# may still read.
#
# **Predict:** if the last block does not reset the counter, what does the *second* call leave in
# `y`, which holds NaN before each call?

# %%
second = fk.predict("y: 'the sum', 'nan' or 'another number'", None)

# %% jupyter={"outputs_hidden": true}
run_once = fk.compile(last_block, *whole_vectors(x, part, counter, y), "no reset")
for call in (1, 2):
    y.fill_(float("nan"))
    run_once(x, part, counter, y)
    print(f"call {call}: {y[0].item():.6g}, counter {counter[0].item()}")
counter.zero_()
second.against("nan" if y.isnan().all() else "the sum")

# %% [markdown]
# > **Looks right but is wrong.** The next kernel leaves out the fences. Its values are right under
# > every schedule, but the sanitizer reports a race.

# %%
run_bare = fk.compile(last_block, *whole_vectors(x, part, counter, y), "no fences")
fk.sanitize(run_bare, x, part, counter, y, schedule="adversarial")

# %% [markdown]
# No schedule changes the values, because the virtual GPU executes memory accesses one after
# another. On a real GPU, another block may see the ticket before it sees the part, although this
# may happen only rarely. The sanitizer notices that the kernel has no fence at all. It cannot tell
# where a fence belongs, so a kernel with one fence instead of two passes (see *What it lets pass*
# in the book). You can find that mistake only by reading the code: **wherever a block reads what
# another block wrote in the same launch, look for the release and the acquire.** You can see both
# in the PTX:

# %%
for name, run in (("with fences", run_last), ("without", run_bare)):
    words = [line.split()[0] for line in run.ptx.splitlines() if line.strip()]
    kept = [w for w in words if w.startswith(("fence", "membar", "atom", "st.global"))]
    print(f"{name:>11}: {', '.join(w.strip(';') for w in kept)}")

# %% [markdown]
# The sanitizer also finds a counter that is not atomic, parts that a block reads before it has
# incremented the counter, and a ticket that other threads read before it is written. Because it
# does not know where a fence belongs, the grader of the next exercise reads the PTX. Each block of
# the exercise is a single warp, so `shuffle_sync` can broadcast the ticket without shared memory.

# %% [markdown] exercise="week1/fix_the_counter" part="task"
# ### Exercise 3: fix the last block
#
# This kernel finds the largest of `n` numbers, which may be infinite. Each block is one warp, which
# writes the maximum of its 256 numbers into `part`; the last warp computes the maximum of all
# parts. `count[0]` is 0 before the first call, and the caller does not reset it between calls. Two
# things are missing from the given lines: the sanitizer reports a race in the first call, and the
# second call would store nothing. Add both.
#
# <details><summary>Hint 1</summary>
#
# Which value does the counter have when the launch ends, and which value does the next launch
# expect?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Without a fence, another block may see the atomic addition before it sees the store of the part.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# One thread of the last warp executes `mCount[0] = 0`. A fence, `cute.arch.fence_acq_rel_gpu()`,
# belongs both before and after the line that counts.
#
# </details>


# %% exercise="week1/fix_the_counter" part="skeleton"
@cute.kernel
def fix_the_counter_kernel(
    mX: cute.Tensor, mCount: cute.Tensor, mPart: cute.Tensor, mY: cute.Tensor
):
    lane, _, _ = cute.arch.thread_idx()
    piece, _, _ = cute.arch.block_idx()
    pieces = mPart.shape[0]
    best = -Float32.inf
    for k in cutlass.range_constexpr(8):
        i = piece * 256 + k * 32 + lane
        if i < mX.shape[0]:
            best = cute.arch.fmax(best, mX[i])
    best = cute.arch.warp_reduction(best, cute.arch.fmax)
    ticket = Int32(0)
    # FILL ME IN (roughly 15 lines)
    if lane == 0:
        mPart[piece] = best
        ticket = cute.arch.atomic_add(mCount.iterator, Int32(1))
    ticket = cute.arch.shuffle_sync(ticket, 0)
    cute.arch.sync_warp()
    if ticket == pieces - 1:
        best = -Float32.inf
        for k in range(lane, pieces, 32):
            best = cute.arch.fmax(best, mPart[k])
        best = cute.arch.warp_reduction(best, cute.arch.fmax)
        if lane == 0:
            mY[0] = best


@cute.jit
def fix_the_counter(mX: cute.Tensor, mCount: cute.Tensor, mPart: cute.Tensor, mY: cute.Tensor):
    fix_the_counter_kernel(mX, mCount, mPart, mY).launch(
        grid=(mPart.shape[0], 1, 1), block=(32, 1, 1)
    )


# %% exercise="week1/fix_the_counter" part="grade"
fk.exercise("week1/fix_the_counter").grade(fix_the_counter)

# %% [markdown] exercise="week1/fix_the_counter" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# @cute.kernel
# def fix_the_counter_kernel(
#     mX: cute.Tensor, mCount: cute.Tensor, mPart: cute.Tensor, mY: cute.Tensor
# ):
#     lane, _, _ = cute.arch.thread_idx()
#     piece, _, _ = cute.arch.block_idx()
#     pieces = mPart.shape[0]
#     best = -Float32.inf
#     for k in cutlass.range_constexpr(8):
#         i = piece * 256 + k * 32 + lane
#         if i < mX.shape[0]:
#             best = cute.arch.fmax(best, mX[i])
#     best = cute.arch.warp_reduction(best, cute.arch.fmax)
#     ticket = Int32(0)
#     if lane == 0:
#         mPart[piece] = best
#         cute.arch.fence_acq_rel_gpu()
#         ticket = cute.arch.atomic_add(mCount.iterator, Int32(1))
#         cute.arch.fence_acq_rel_gpu()
#     ticket = cute.arch.shuffle_sync(ticket, 0)
#     cute.arch.sync_warp()
#     if ticket == pieces - 1:
#         best = -Float32.inf
#         for k in range(lane, pieces, 32):
#             best = cute.arch.fmax(best, mPart[k])
#         best = cute.arch.warp_reduction(best, cute.arch.fmax)
#         if lane == 0:
#             mY[0] = best
#             mCount[0] = 0
#
#
# @cute.jit
# def fix_the_counter(mX: cute.Tensor, mCount: cute.Tensor, mPart: cute.Tensor, mY: cute.Tensor):
#     fix_the_counter_kernel(mX, mCount, mPart, mY).launch(
#         grid=(mPart.shape[0], 1, 1), block=(32, 1, 1)
#     )
# ```
#
# A block of one warp needs no shared memory, because `shuffle_sync(ticket, 0)` gives lane 0's
# ticket to all lanes. A shuffle does not order memory accesses, but `sync_warp` makes everything
# that lane 0 has seen visible to the other lanes. The fence before the counter ensures that a
# block that sees the count also sees the part. The fence after the counter ensures that a block
# reads parts only after it has counted. Without fences, a kernel may still pass every test on the
# GPU where it was written.
#
# </details>

# %% [markdown] exercise="week1/last_block_mean" part="task"
# ### Exercise 4: let the last block compute the mean
#
# Compute the mean of each row, for a few float32 rows of any length. Each block writes the sum of
# 1,024 columns into `part[row, piece]` and adds 1 to `count[row]`, which is 0 before the launch
# and must be 0 after it. The last block of a row adds up the parts in parallel, in an order that
# does not depend on which block is last. `part` has one column per piece.
#
# Signature: `last_block_mean(x, count, part, y)`.
#
# **Required**: one block per 1,024 columns of a row, 256 threads per block, 8 warps per block that
# share the loads, 1 launch.
#
# <details><summary>Hint 1</summary>
#
# Store the part, then count: `cute.arch.atomic_add(pointer, Int32(1))` returns the previous value.
# Which number does the last block receive?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# One thread counts, but all 256 threads need the result, so this thread writes its ticket to shared
# memory before a barrier.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `cute.arch.fence_acq_rel_gpu()` belongs in two places: between the store of the part and the
# counter, and between the counter and the loads of the parts. The last block resets the counter on
# the line after its store.
#
# </details>


# %% exercise="week1/last_block_mean" part="skeleton"
# FILL ME IN (roughly 10 lines)
@cute.kernel
def last_block_mean_kernel(
    mX: cute.Tensor, mCount: cute.Tensor, mPart: cute.Tensor, mY: cute.Tensor
):
    # FILL ME IN (roughly 25 lines)
    pass


@cute.jit
def last_block_mean(mX: cute.Tensor, mCount: cute.Tensor, mPart: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 3 lines)
    pass


# %% exercise="week1/last_block_mean" part="grade"
fk.exercise("week1/last_block_mean").grade(last_block_mean)

# %% [markdown] exercise="week1/last_block_mean" part="solution"
# <details><summary>Solution of exercise 4</summary>
#
# ```python
# @cute.jit
# def sum_of_256(value: Float32):
#     tidx, _, _ = cute.arch.thread_idx()
#     smem = cutlass.memory.SmemAllocator()
#     sSum = smem.allocate_tensor(Float32, cute.make_layout(8), 16)
#     value = cute.arch.warp_reduction(value, operator.add)
#     if tidx % 32 == 0:
#         sSum[tidx // 32] = value
#     cute.arch.sync_threads()
#     return cute.arch.warp_reduction(sSum[tidx % 8], operator.add, threads_in_group=8)
#
#
# @cute.kernel
# def last_block_mean_kernel(
#     mX: cute.Tensor, mCount: cute.Tensor, mPart: cute.Tensor, mY: cute.Tensor
# ):
#     tidx, _, _ = cute.arch.thread_idx()
#     piece, row, _ = cute.arch.block_idx()
#     smem = cutlass.memory.SmemAllocator()
#     sTicket = smem.allocate_tensor(Int32, cute.make_layout(1), 16)
#     pieces = mPart.shape[1]
#     total = Float32(0.0)
#     for k in cutlass.range_constexpr(4):
#         n = piece * 1024 + k * 256 + tidx
#         if n < mX.shape[1]:
#             total += mX[row, n]
#     total = sum_of_256(total)
#     if tidx == 0:
#         mPart[row, piece] = total
#         cute.arch.fence_acq_rel_gpu()
#         sTicket[0] = cute.arch.atomic_add(mCount.iterator + row, Int32(1))
#         cute.arch.fence_acq_rel_gpu()
#     cute.arch.sync_threads()
#     if sTicket[0] == pieces - 1:
#         total = Float32(0.0)
#         for k in range(tidx, pieces, 256):
#             total += mPart[row, k]
#         total = sum_of_256(total)
#         if tidx == 0:
#             mY[row] = total / mX.shape[1]
#             mCount[row] = 0
#
#
# @cute.jit
# def last_block_mean(mX: cute.Tensor, mCount: cute.Tensor, mPart: cute.Tensor, mY: cute.Tensor):
#     rows, pieces = mPart.shape
#     grid = (pieces, rows, 1)
#     last_block_mean_kernel(mX, mCount, mPart, mY).launch(grid=grid, block=(256, 1, 1))
# ```
#
# The order of the parts is fixed, so the result is deterministic even though a different block may
# be last each time. No block ever waits for another, so the number of blocks that run at the same
# time does not matter.
#
# </details>

# %% [markdown]
# ## 5. A cluster
#
# GPUs with compute capability 9.0 or later (such as H100 and H200) can start up to 8 blocks
# together as a **cluster**. The blocks of a cluster can write to each other's shared memory, which
# is then called **distributed shared memory**: `map_dsmem_ptr(pointer, rank)` returns the same
# address in the shared memory of the block with that rank. A cluster also has its own barrier,
# which consists of two halves: a block signals its arrival with `cluster_arrive`, and
# `cluster_wait` waits until all blocks have arrived.


# %%
BLOCKS = 8


@cute.kernel
def cluster_kernel(mX: cute.Tensor, mY: cute.Tensor, pieces: Int32):
    tidx, _, _ = cute.arch.thread_idx()
    rank, row, _ = cute.arch.block_idx()  # the grid is BLOCKS wide: one cluster per row
    sPart = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(BLOCKS), 16)
    cute.arch.cluster_arrive()
    total = Float32(0.0)
    for piece in cutlass.range(rank, pieces, BLOCKS, unroll=1):
        total += sum_of_piece(mX[row, None], piece)
    total = sum_of_block(total)
    cute.arch.cluster_wait()  # all have started
    if tidx == 0:
        cute.arch.map_dsmem_ptr(sPart.iterator + rank, 0).store(total)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()  # all have stored
    if rank == 0 and tidx < BLOCKS:  # the other lanes have ended; a shuffle does not wait for them
        total = cute.arch.warp_reduction(sPart[tidx], operator.add, threads_in_group=BLOCKS)
        if tidx == 0:
            mY[row] = total.to(mY.element_type)


@cute.jit
def cluster(mX: cute.Tensor, mY: cute.Tensor):
    cluster_kernel(mX, mY, pieces_of(mX)).launch(
        grid=(BLOCKS, mX.shape[0], 1), block=(THREADS, 1, 1), cluster=(BLOCKS, 1, 1)
    )


try:
    run_cluster = fk.compile(cluster, *whole_vectors(x, y))
except fk.CompileError:
    run_cluster = None
    print("This GPU has no clusters; continue with section 6.")
else:
    run_cluster(x, y)
    fk.check(y, x.double().sum(1))
    print("different results:", len(results(run_cluster, x, y)))

# %% [markdown]
# The cluster needs only one launch, and no workspace, counter or fence. Its limit is eight blocks
# per row (16 on request).

# %% [markdown] exercise="week1/cluster_sum" part="task"
# ### Exercise 5: add up a row in a cluster
#
# Add up float32 rows of any length with clusters. The four blocks of a cluster share the columns of
# a row evenly and exchange their sums through shared memory. One of them stores the sum of the row.
# Clusters need a GPU of compute capability 9.0 or later.
#
# Signature: `cluster_sum(x, y)`.
#
# **Required**: one cluster per row, 4 blocks per cluster, 128 threads per block, at most 1 block
# barrier, at most 2 cluster barriers, no atomics on global memory.
#
# <details><summary>Hint 1</summary>
#
# The grid is `(4, rows, 1)` with `cluster=(4, 1, 1)`, so the x index of a block is its rank in the
# cluster, and thread `tidx` can start at column `rank * 128 + tidx`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `cute.arch.map_dsmem_ptr(pointer, 0).store(value)` writes to the same offset in the shared memory
# of block 0. Give each block its own element there.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# You need `cluster_arrive()` and `cluster_wait()` twice: before the line with the first store to
# another block, which may not have started yet, and before the line on which block 0 reads the
# sums.
#
# </details>


# %% exercise="week1/cluster_sum" part="skeleton"
@cute.kernel
def cluster_sum_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 21 lines)
    pass


@cute.jit
def cluster_sum(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 3 lines)
    pass


# %% exercise="week1/cluster_sum" part="grade"
fk.exercise("week1/cluster_sum").grade(cluster_sum)

# %% [markdown] exercise="week1/cluster_sum" part="solution"
# <details><summary>Solution of exercise 5</summary>
#
# ```python
# @cute.kernel
# def cluster_sum_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     rank, row, _ = cute.arch.block_idx()
#     smem = cutlass.memory.SmemAllocator()
#     sSum = smem.allocate_tensor(Float32, cute.make_layout(4), 16)
#     sPart = smem.allocate_tensor(Float32, cute.make_layout(4), 16)
#     cute.arch.cluster_arrive()
#     total = Float32(0.0)
#     for n in range(rank * 128 + tidx, mX.shape[1], 512):
#         total += mX[row, n]
#     total = cute.arch.warp_reduction(total, operator.add)
#     if tidx % 32 == 0:
#         sSum[tidx // 32] = total
#     cute.arch.sync_threads()
#     cute.arch.cluster_wait()
#     if tidx == 0:
#         total = sSum[0] + sSum[1] + sSum[2] + sSum[3]
#         cute.arch.map_dsmem_ptr(sPart.iterator + rank, 0).store(total)
#     cute.arch.cluster_arrive()
#     cute.arch.cluster_wait()
#     if rank == 0 and tidx == 0:
#         mY[row] = sPart[0] + sPart[1] + sPart[2] + sPart[3]
#
#
# @cute.jit
# def cluster_sum(mX: cute.Tensor, mY: cute.Tensor):
#     cluster_sum_kernel(mX, mY).launch(
#         grid=(4, mX.shape[0], 1), block=(128, 1, 1), cluster=(4, 1, 1)
#     )
# ```
#
# The first `cluster_arrive` and its `cluster_wait` can be far apart: a block arrives when it
# starts and waits after it has added up its share, so the other blocks have usually arrived by
# then. The second pair completes the exchange. No block writes to a block that has ended, because
# all stores go to block 0 and precede the second barrier.
#
# </details>

# %% [markdown]
# ## 6. Deterministic or fast?

# %% [markdown] exercise="week1/which_is_deterministic" part="task"
# ### Exercise 6: identify the deterministic sums
#
# Which of these produce the same bits in every launch with the same input, whatever the order of
# the blocks? Answer `"same bits"` or `"may differ"`.
#
# <details><summary>Hint 1</summary>
#
# Ask two questions about each: can the order of the operations change, and does the result depend
# on the order?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Integer sums and maxima do not round. If each part has its own slot, the order no longer matters.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# float32 represents all integers up to 2²⁴ = 16,777,216, which settles the case of a million
# integers.
#
# </details>

# %% exercise="week1/which_is_deterministic" part="skeleton"
bits = {  # each: "same bits" or "may differ"
    # FILL ME IN (roughly 8 lines)
    "float32, one atomic_add per block": None,
    "int32, one atomic_add per block": None,
    "float32 maximum, atomic": None,
    "parts in memory, added by a second launch": None,
    "parts in memory, added by the last block": None,
    "the last block adds the parts in the order in which they were counted": None,
    "float32 sum of a million integers below 1,000, atomic": None,
    "cluster, parts in an array by rank": None,
}

# %% exercise="week1/which_is_deterministic" part="grade"
fk.exercise("week1/which_is_deterministic").grade(bits)

# %% [markdown] exercise="week1/which_is_deterministic" part="solution"
# <details><summary>Solution of exercise 6</summary>
#
# ```python
# bits = {  # each: "same bits" or "may differ"
#     "float32, one atomic_add per block": "may differ",
#     "int32, one atomic_add per block": "same bits",
#     "float32 maximum, atomic": "same bits",
#     "parts in memory, added by a second launch": "same bits",
#     "parts in memory, added by the last block": "same bits",
#     "the last block adds the parts in the order in which they were counted": "may differ",
#     "float32 sum of a million integers below 1,000, atomic": "may differ",
#     "cluster, parts in an array by rank": "same bits",
# }
# ```
#
# A kernel is deterministic if the program fixes the operands of every operation that rounds. For
# an atomic float32 addition the program does not, because one operand is the value that memory
# holds at that moment.
#
# </details>

# %% [markdown]
# **Predict:** which of the four ways is the fastest on the H200 for one row of 1,048,576 `float32`
# elements, and which for 64 rows of 262,144?

# %%
fastest = fk.predict("fastest for 1 row, for 64 rows", None)  # in the form ("cluster", "cluster")

# %% jupyter={"outputs_hidden": true}
best = []
for m, n in ((1, 1_048_576), (64, 262_144)):
    names = ("split_atomic", "two_launches", "last_block", "cluster", "torch")
    us = {name: 1000 * times.row(name, "float32", (m, n)).ms for name in names}
    best.append(min(names[:4], key=us.get))
    bars_picture(f"{m} × {n:,} float32: {best[-1]} is the fastest", us, "µs", ".1f")
fastest.against(tuple(best))

# %% [markdown]
# - **One row:** the last block is the fastest way. `two_launches` takes about 1 µs more, and
#   `split_atomic`, which has three launches, takes 1.7 µs more. At a copy's bandwidth, reading
#   these 4 MB takes 1.0 µs, so most of the time is not spent reading.
# - **The cluster** occupies only 8 of 132 multiprocessors for one row. For 64 rows it has 512
#   blocks and is the fastest way.
# - **Determinism costs nothing here.** Adding with atomics, the only way that is not deterministic,
#   is never the fastest.

# %%
fk.predictions()

# %% [markdown]
# ## Summary
#
# | way | launches | workspace | same bits every time | 1 × 1,048,576 | 64 × 262,144 |
# |---|---|---|---|---|---|
# | `one_block` | 1 | – | yes | 131.0 µs | 39.8 µs |
# | `split_atomic` | 3 | one sum per row | **no** | 8.6 µs | 23.7 µs |
# | `two_launches` | 2 | one part per piece | yes | 7.9 µs | 21.9 µs |
# | `last_block` | 1 | one part per piece, one counter per row | yes | 6.8 µs | 23.4 µs |
# | `cluster` | 1 | – | yes | 21.6 µs | 21.0 µs |
#
# (The times are for `float32`, recorded on an H200 on 22 November 2026.)
#
# | mistake | visible in the values here | found by the sanitizer |
# |---|---|---|
# | order of atomic additions | in the last bits | no: it is legal |
# | counter not reset | in the second call | no |
# | no fence | no | yes |
# | one fence instead of two | no | **no** |
# | plain counter instead of an atomic one | sometimes | yes |
# | store to a block that may not have started | no | yes |
#
# **The bad number** now depends on the shape: none of this week's kernels is the best for every
# shape.
#
# **In practice** `torch.sum` uses a last block as well. Some libraries offer a switch that forbids
# nondeterministic kernels, such as `torch.use_deterministic_algorithms`. Either the caller or the
# library has to own the workspace, and two streams must not share it.
#
# **Further reading:** [threadFenceReduction in the CUDA
# samples](https://github.com/NVIDIA/cuda-samples) · [memory consistency in the PTX
# manual](https://docs.nvidia.com/cuda/parallel-thread-execution/index.html#memory-consistency-model)
# · [thread block
# clusters](https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#thread-block-clusters).
#
# **Next:** choose the kernel for the shape ([`05_choose`](05_choose.ipynb)).

# %%
# To time these kernels, `python -m forgekit.benching.steps` reads this dict.
steps = {
    "one_block": (one_block, whole_vectors),
    "split_atomic": WithWorkspace(split_atomic, lambda x: (fk.empty(x.shape[0]),)),
    "two_launches": WithWorkspace(two_launches, lambda x: (parts(x),)),
    "last_block": WithWorkspace(
        last_block, lambda x: (parts(x), fk.zeros(len(x), dtype=torch.int32))
    ),
    "cluster": (cluster, whole_vectors),
}
