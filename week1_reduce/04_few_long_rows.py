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
# **You will build** four sums of few long rows: with atomics, in two launches, with a last block,
# and in a cluster.
# **You will learn** how blocks bring results together, which of the ways give the same bits every
# time, and which mistake here no tool on your desk will show.
# **You need** `03_bytes_in_flight`. About 35 minutes, and 60 more for the exercises.

# %%
import operator
from functools import partial

import cutlass
import cutlass.cute as cute
import matplotlib.pyplot as plt
import torch
from cutlass import Float32, Int32

import forgekit as fk
from forgekit.benching.recorded import recorded
from forgekit.compiling.replay import run_again

# %% [markdown]
# ## 1. The bad number: one block
#
# A warp a row needs thousands of rows to fill a GPU. A block a row needs hundreds. With one row of
# a million, one of 132 multiprocessors works.
#
# The row has to be shared. First the parts that all kernels of this notebook have in common: a
# **piece** of a row is what a block of 256 threads takes with 4 vectors a thread, all of them in
# flight; `sum_of_piece` is what one thread has of it, `sum_of_block` adds up the block, as in
# `02_shuffle`: by shuffles, 8 words of shared memory and one barrier.


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
# One block goes through all pieces of its row:


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


def whole(x):
    """A spec that promises rows of whole vectors."""
    return fk.spec(x, divisible={1: 16 // x.element_size()})


x, y = fk.randn(1, 40_000), fk.empty(1)
run_one = fk.compile(one_block, whole(x), y)
run_one(x, y)
fk.check(y, x.double().sum(1))

# %% [markdown]
# **Predict:** a piece of `float32` is 16 kB. With one row of 1,048,576 and an answer after 400 ns,
# how many GB/s does this one block get? (Section 4 of the last notebook: what is in flight, each
# 400 ns.)

# %%
one_rate = fk.predict("GB/s of one block", None)

# %% jupyter={"outputs_hidden": true}
times = recorded("week1/04_few_long_rows")
one_rate.against(round(LOADS * THREADS * 16 / 400))
print(f"recorded: {times.row('one_block', 'float32', (1, 1048576)).gbps:.0f} GB/s")

# %% [markdown]
# (It is a little less than the arithmetic says, since adding up 16 numbers and the next addresses
# take their time, too.) The memory could deliver a hundred times as much.
#
# In the rest of this notebook the block with number `(piece, row)` takes one piece: 256 blocks for
# a million `float32`. The picture shows 40,000 elements, 2,500 columns to a line, by block.

# %% jupyter={"outputs_hidden": true}
picture = torch.arange(40_000).div(LOADS * THREADS * 4, rounding_mode="floor").reshape(16, 2500)
figure, axes = plt.subplots(figsize=(6.4, 2.2))
axes.imshow(picture, aspect="auto", cmap="tab10", interpolation="nearest")
axes.set(title="One row, line by line: which block has which part", xticks=[], yticks=[])
plt.show()

# %% [markdown]
# ## 2. Atomics
#
# The parts have to meet. The shortest way: each block adds its part to one number in memory, with
# `atomic_add`, which nobody can get in between. Somebody has to set that number to 0 before, in a
# launch of its own, since no block knows that it is the first. It is a `float32`, whatever the type
# of `x`, and so a third launch converts it.
#
# These kernels have memory of their own between `x` and `y`, a **workspace**: here `mSum`.


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
run_atomic = fk.compile(split_atomic, whole(x), total, y)
run_atomic(x, total, y)
fk.check(y, x.double().sum(1))

# %% [markdown]
# Right. Now the same call under 20 adversarial schedules, which let blocks run in other orders, as
# a GPU may. `run_again` is what `fk.sanitize` uses: one more run on copies, in an order of its own.
#
# **Predict:** how many different results come out?

# %%
many = fk.predict("different results: 1, or more", None)  # "1" or "more"


# %% jupyter={"outputs_hidden": true}
def results(run, *args):
    """The last argument's first element, in 20 adversarial schedules."""
    every = range(20)
    return {run_again(run, args, schedule="adversarial", seed=s)[-1][0].item() for s in every}


found = results(run_atomic, x, total, y)
for value in sorted(found):
    print(f"{value:.9g}")
many.against("1" if len(found) == 1 else "more")
print(fk.sanitize(run_atomic, x, total, y, schedule="adversarial"))

# %% [markdown]
# The sums differ in their last bits, and that is all: each is an honest sum, within any tolerance,
# so no check and no sanitizer objects. But a run repeated gives another result. It is **not
# deterministic**: the atomic addition is one that rounds, and its order is decided again each time.
# For a loss that is printed that may be fine. For a test that compares bits, or a bug that shows up
# in one run of ten, it is not.
#
# Where additions do not round, atomics are deterministic: counting, for instance.

# %% [markdown] exercise="week1/count_positive" part="task"
# ### Exercise 1: count with one atomic a block
#
# `y[m]` is how many elements of row `m` are greater than 0: float32 rows of any length, counted in
# int32. A block adds what it has counted to `y[row]` by `cute.arch.atomic_add`. `y` holds arbitrary
# values at first: a launch of its own sets it to 0. Called as `count_positive(x, y)`.
#
# **Asked**: one block per 2,048 columns of a row, 256 threads per block, 2 launches, one atomic per
# block.
#
# <details><summary>Hint 1</summary>
#
# Two kernels, one host function. In which of them does a thread write to `y` plainly?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A warp counts with `cute.arch.warp_reduction` of `Int32` numbers; the warps of a block meet in
# shared memory, as ever.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `mY.iterator + row` is the pointer that the atomic addition takes, in a line for one thread of the
# block.
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
# Whole numbers add up without rounding, so the order in which blocks arrive does not matter:
# atomics are deterministic here. One addition a block also keeps them rare: additions to one
# address are done one after the other.
#
# </details>

# %% [markdown]
# ## 3. Two launches
#
# A place of its own for each part takes the order away. The first launch writes the parts, the
# second adds them up in the order of their places.


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


def parts(x):
    """Room for the parts of all rows."""
    return fk.empty(x.shape[0], -(-x.shape[1] * x.element_size() // (16 * LOADS * THREADS)))


part = parts(x)
run_two = fk.compile(two_launches, whole(x), part, y)
run_two(x, part, y)
fk.check(y, x.double().sum(1))

# %%
print("different results:", len(results(run_two, x, part, y)))

# %% [markdown]
# Between two launches there is an order for nothing: the second begins when the first has ended.
# (On a GPU they stand in one **stream**, a queue of launches.) The price is one more launch;
# section 6 says how much that is.

# %% [markdown] exercise="week1/two_launch_max" part="task"
# ### Exercise 2: find the largest of a long row in two launches
#
# The largest element of each row, for few rows of any length, float32. A block has a
# piece of 1,024 columns and writes its maximum into `part[row, piece]`; a second launch, a block a
# row, makes `y[row]` of them. One host function does both, called as `two_launch_max(x, part, y)`;
# `part` has as many columns as there are pieces. All elements may be negative.
#
# **Asked**: one block per 1,024 columns of a row, 256 threads per block, 2 launches.
#
# <details><summary>Hint 1</summary>
#
# Two kernels, and two `.launch(...)` in one host function: the second begins when the first has
# ended.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Both kernels end alike: the maximum of a block, of what each of its threads has. That function can
# be written once, with `@cute.jit`, and called in both.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The grid of the first launch is `(pieces, rows, 1)`, from the shape of `part`; a thread whose
# columns do not exist goes on with the identity, in the line before its loop.
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
# The end of a launch is the strongest order there is: no counter, no fence, and the second kernel
# may read all that the first has written. What it costs is the start of one more kernel, and
# `part`, memory that somebody has to own. A maximum is the same in any order; a sum would be, too,
# as each part and the order of the parts are fixed.
#
# </details>

# %% [markdown]
# ## 4. The last block
#
# One launch would do if the block that ends last added up the parts. Nobody knows beforehand which
# one that is; but a counter knows afterwards. In loops, for a row of three pieces whose blocks end
# in some order:

# %%
values, place, count = [3.0, 4.0, 5.0], [None, None, None], 0
for block in (1, 2, 0):  # the order in which they happen to end
    place[block] = values[block]
    ticket, count = count, count + 1  # an atomic addition gives what was there before
    print(f"block {block} has ticket {ticket}", "and adds up" * (ticket == 2), place)

# %% [markdown]
# Each block stores its part, then takes a ticket from an atomic counter. Ticket `pieces - 1` says
# that all others have theirs. Two things can go wrong, and both are easy to leave out:
#
# - The part has to be in memory *before* the ticket, seen from any other block. Memory does not
#   keep the order of two accesses to different places. A **fence** between them does:
#   `fence_acq_rel_gpu()`. The last block needs one, too, between its ticket and its loads.
# - The counter has to be 0 again for the next call. The last block sets it back.


# %%
@cute.kernel
def last_block_kernel(
    mX: cute.Tensor,
    mPart: cute.Tensor,
    mCount: cute.Tensor,
    mY: cute.Tensor,
    fenced: cutlass.Constexpr,
    reset: cutlass.Constexpr,
):
    tidx, _, _ = cute.arch.thread_idx()
    piece, row, _ = cute.arch.block_idx()
    pieces = mPart.shape[1]
    sTicket = cutlass.memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout(1), 16)
    total = sum_of_block(sum_of_piece(mX[row, None], piece))
    if tidx == 0:
        mPart[row, piece] = total
        if cutlass.const_expr(fenced):
            cute.arch.fence_acq_rel_gpu()
        sTicket[0] = cute.arch.atomic_add(mCount.iterator + row, Int32(1))
        if cutlass.const_expr(fenced):
            cute.arch.fence_acq_rel_gpu()
    cute.arch.sync_threads()
    if sTicket[0] == pieces - 1:
        total = sum_of_parts(mPart[row, None])
        if tidx == 0:
            mY[row] = total.to(mY.element_type)
            if cutlass.const_expr(reset):
                mCount[row] = 0


@cute.jit
def last_block(
    mX: cute.Tensor,
    mPart: cute.Tensor,
    mCount: cute.Tensor,
    mY: cute.Tensor,
    fenced: cutlass.Constexpr = True,
    reset: cutlass.Constexpr = True,
):
    rows, pieces = mPart.shape
    last_block_kernel(mX, mPart, mCount, mY, fenced, reset).launch(
        grid=(pieces, rows, 1), block=(THREADS, 1, 1)
    )


counter = fk.zeros(1, dtype=torch.int32)
run_last = fk.compile(last_block, whole(x), part, counter, y)
for _ in range(2):
    y.fill_(float("nan"))
    run_last(x, part, counter, y)
    fk.check(y, x.double().sum(1))
print("different results:", len(results(run_last, x, part, counter, y)))

# %% [markdown]
# The last block is another one in each schedule. But whoever it is reads the parts in the order of
# their places, so the bits are the same.
#
# **Predict:** without setting the counter back, what does the *second* call leave in `y`, which was
# NaN before it?

# %%
second = fk.predict("'the sum', 'nan' or 'another number'", None)

# %% jupyter={"outputs_hidden": true}
run_once = fk.compile(last_block, whole(x), part, counter, y, True, False)
for call in (1, 2):
    y.fill_(float("nan"))
    run_once(x, part, counter, y)
    print(f"call {call}: {y[0].item():.6g}, counter {counter[0].item()}")
counter.zero_()
second.against("nan" if y.isnan().all() else "the sum")

# %% [markdown]
# > **Looks right and is wrong.** And without the fences? The values are right, and the sanitizer is
# > content, even under adversarial schedules.

# %%
run_bare = fk.compile(last_block, whole(x), part, counter, y, False)
run_bare(x, part, counter, y)
fk.check(y, x.double().sum(1))
fk.sanitize(run_bare, x, part, counter, y, schedule="adversarial")

# %% [markdown]
# This is the one mistake of this week that nothing here finds. The virtual GPU executes accesses to
# memory one after the other, and its sanitizer takes blocks that meet at an atomic as ordered (the
# book says so under *What it lets pass*). A real GPU may show the ticket to another block before it
# shows the part, and it does so rarely, under load, on one model and not on another. So the fence
# is a matter of reading: **wherever one block reads what another has written in the same launch,
# ask where the release and the acquire are.** They can be seen in the PTX:

# %%
for name, run in (("with fences", run_last), ("without", run_bare)):
    words = [line.split()[0] for line in run.ptx.splitlines() if line.strip()]
    kept = [w for w in words if w.startswith(("fence", "membar", "atom", "st.global"))]
    print(f"{name:>11}: {', '.join(w.strip(';') for w in kept)}")

# %% [markdown]
# What the sanitizer does find is a counter that is not atomic, parts that are read without having
# counted, and a ticket that other threads read before it is there. Exercise 3 is a kernel with
# mistakes of the silent kind; its grader looks at the PTX.

# %% [markdown] exercise="week1/fix_the_counter" part="task"
# ### Exercise 3: fix the last block
#
# The largest of `n` numbers: each warp writes the maximum of its 256 numbers into `part`, and the
# last one takes the maximum of all parts. `count[0]` is 0 before the first call, and nobody sets it
# to 0 between calls. Two things are missing in the lines given: a second call gives nothing, and on
# a GPU the first may give too little. The sanitizer finds neither in a single call.
#
# <details><summary>Hint 1</summary>
#
# What does the counter hold when the launch ends, and what does the next launch compare?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Between a store and an atomic addition nothing says which of them other blocks see first.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The line `mCount[0] = 0` is for one thread of the last warp. A fence,
# `cute.arch.fence_acq_rel_gpu()`, belongs on either side of the line that counts.
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
# Blocks of one warp need no shared memory: `shuffle_sync` hands the number to all lanes, and as a
# shuffle orders no memory, `sync_warp` makes what lane 0 has seen known to them. The fence before
# the counter says: whoever sees me counted sees my part. The one behind it says: I look at parts
# only after I have counted. Many kernels work for months without them, on the GPU they were written
# on.
#
# </details>

# %% [markdown] exercise="week1/last_block_mean" part="task"
# ### Exercise 4: let the last block compute the mean
#
# The mean of each row, for few rows of any length, float32. A block
# writes the sum of 1,024 columns into `part[row, piece]` and counts itself in `count[row]`, which
# is 0 before the launch and has to be 0 after it; the block that finds itself the last of its row
# adds up the parts, in an order that does not depend on who was last. `last_block_mean(x, count,
# part, y)`; `part` has as many columns as there are pieces.
#
# **Asked**: one block per 1,024 columns of a row, 256 threads per block, 1 launch.
#
# <details><summary>Hint 1</summary>
#
# Store the part, then count: `cute.arch.atomic_add(pointer, Int32(1))` gives the number that was
# there before. Which number does the last block get?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# One thread counts, and all 256 have to know: it leaves the number in shared memory, before a
# barrier.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `cute.arch.fence_acq_rel_gpu()` belongs into two lines: between the store of the part and the
# counter, and between the counter and the loads of the parts. The last block sets the counter back.
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
# Parts are in the order of their numbers whoever adds them up, so the result is deterministic
# although the last block is another one each time. One launch and no wait: no block ever waits for
# another, so it does not matter how many of them run at a time.
#
# </details>

# %% [markdown]
# ## 5. A cluster
#
# GPUs of compute capability 9.0 and later (H100, H200) start up to 8 blocks together as a
# **cluster**, on neighbouring multiprocessors. Such blocks can write into each other's shared
# memory, **distributed shared memory**: `map_dsmem_ptr(pointer, rank)` is the address of the same
# place in the block of that rank. And they have a barrier of their own, in two halves:
# `cluster_arrive` says "I am here", `cluster_wait` waits for all.


# %%
BLOCKS = 8


@cute.kernel
def cluster_kernel(mX: cute.Tensor, mY: cute.Tensor, pieces: Int32):
    tidx, _, _ = cute.arch.thread_idx()
    rank, row, _ = cute.arch.block_idx()  # the grid is BLOCKS wide: one cluster a row
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
    if rank == 0 and tidx < BLOCKS:
        total = cute.arch.warp_reduction(sPart[tidx], operator.add, threads_in_group=BLOCKS)
        if tidx == 0:
            mY[row] = total.to(mY.element_type)


@cute.jit
def cluster(mX: cute.Tensor, mY: cute.Tensor):
    cluster_kernel(mX, mY, pieces_of(mX)).launch(
        grid=(BLOCKS, mX.shape[0], 1), block=(THREADS, 1, 1), cluster=(BLOCKS, 1, 1)
    )


try:
    run_cluster = fk.compile(cluster, whole(x), y)
except fk.CompileError:
    run_cluster = None
    print("This GPU has no clusters; go on with section 6.")
else:
    run_cluster(x, y)
    print(fk.check(y, x.double().sum(1)))
    print("different results:", len(results(run_cluster, x, y)))

# %% [markdown]
# One launch, no workspace, no counter, no fence; and eight blocks a row at most (16 on request).

# %% [markdown] exercise="week1/cluster_sum" part="task"
# ### Exercise 5: add up a row in a cluster
#
# Sums of rows, float32, any size, by clusters. Block `r` of the
# cluster takes the columns whose number divided by 128 leaves `r` when divided by 4; each block
# brings its own sum to the first one, into its shared memory, and that adds the four in the order
# of their ranks. `cluster_sum(x, y)`, for GPUs of compute capability 9.0 and later.
#
# **Asked**: one cluster per row, 4 blocks per cluster, 128 threads per block, at most 1 barrier, at
# most 2 barriers of the cluster.
#
# <details><summary>Hint 1</summary>
#
# The grid is `(4, rows, 1)` with `cluster=(4, 1, 1)`; so the x of a block is its rank in the
# cluster, and its thread `tidx` begins at column `rank * 128 + tidx`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `cute.arch.map_dsmem_ptr(pointer, 0).store(value)` writes to the same place in the shared memory
# of block 0. Each block has its own element there.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `cluster_arrive()` and `cluster_wait()` are needed twice: before the line with the first store to
# another block, which may not have started, and before block 0 reads.
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
# The first pair of arrive and wait can lie far apart: a block arrives when it starts and waits when
# it has added up its share, so the wait costs next to nothing. The second pair is the exchange
# itself. No block but the first touches memory of another that may have ended, since the last of
# them to leave is the first.
#
# </details>

# %% [markdown]
# ## 6. Deterministic or fast?

# %% [markdown] exercise="week1/which_is_deterministic" part="task"
# ### Exercise 6: say which is deterministic
#
# Which of these give the same bits in every launch with the same input, whatever the order of
# blocks? Answer `"same bits"` or `"may differ"`.
#
# <details><summary>Hint 1</summary>
#
# Two questions for each: can the order of the operations be another one, and can the order be seen
# in the result?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Integers and maxima do not round. A place of its own for each part takes the order away.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# float32 has all whole numbers up to 2²⁴ = 16,777,216: that decides the line with the million.
#
# </details>

# %% exercise="week1/which_is_deterministic" part="skeleton"
bits = {  # each: "same bits" or "may differ"
    # FILL ME IN (roughly 8 lines)
    "float32, one atomic_add of a block": None,
    "int32, one atomic_add of a block": None,
    "float32 maximum, atomic": None,
    "parts in memory, added by a second launch": None,
    "parts in memory, added by the last block": None,
    "the last block adds the parts in the order in which they were counted": None,
    "float32 sum of whole numbers below 1,000, atomic, a million of them": None,
    "cluster, parts in an array by rank": None,
}

# %% exercise="week1/which_is_deterministic" part="grade"
fk.exercise("week1/which_is_deterministic").grade(bits)

# %% [markdown] exercise="week1/which_is_deterministic" part="solution"
# <details><summary>Solution of exercise 6</summary>
#
# ```python
# bits = {  # each: "same bits" or "may differ"
#     "float32, one atomic_add of a block": "may differ",
#     "int32, one atomic_add of a block": "same bits",
#     "float32 maximum, atomic": "same bits",
#     "parts in memory, added by a second launch": "same bits",
#     "parts in memory, added by the last block": "same bits",
#     "the last block adds the parts in the order in which they were counted": "may differ",
#     "float32 sum of whole numbers below 1,000, atomic, a million of them": "may differ",
#     "cluster, parts in an array by rank": "same bits",
# }
# ```
#
# Deterministic is a kernel in which every rounded operation has its operands fixed by the program.
# An atomic addition of float32 has not: its left operand is what happens to be there.
#
# </details>

# %% [markdown]
# **Predict:** which of the four is the fastest for one row of 1,048,576 `float32` on the H200? And
# for 64 rows of 262,144?

# %%
fastest = fk.predict("fastest for 1 row, for 64 rows", None)  # in the form ("cluster", "cluster")

# %% jupyter={"outputs_hidden": true}
names = ("split_atomic", "two_launches", "last_block", "cluster")
best = [
    min(names, key=lambda n: times.row(n, "float32", shape).ms)
    for shape in ((1, 1048576), (64, 262144))
]
fastest.against(tuple(best))
times

# %% [markdown]
# - **One row:** the last block is the fastest. `two_launches` takes 1.1 µs more, `split_atomic` 1.8
#   with its three launches. For comparison, the memory needs 0.9 µs for these 4 MB: most of the
#   time is not spent on reading.
# - **The cluster** has 8 of 132 multiprocessors at work for one row. With 64 rows it has 512
#   blocks, and is ahead of the others.
# - **Deterministic costs nothing here.** Atomics, the only way that is not, are the fastest in no
#   column.
#
# What you said in this notebook, and what it was:

# %%
fk.predictions()

# %% [markdown]
# ## Summary
#
# | way | launches | workspace | same bits each time | 1 × 1,048,576 | 64 × 262,144 |
# |---|---|---|---|---|---|
# | `one_block` | 1 | – | yes | 131.0 µs | 39.8 µs |
# | `split_atomic` | 3 | a sum a row | **no** | 8.6 µs | 23.7 µs |
# | `two_launches` | 2 | a sum a piece | yes | 7.9 µs | 21.9 µs |
# | `last_block` | 1 | a sum a piece, a counter a row | yes | 6.8 µs | 23.4 µs |
# | `cluster` | 1 | – | yes | 21.6 µs | 21.0 µs |
#
# (Times are of `float32`, recorded on an H200 on 22 November 2026.)
#
# | mistake | shows in the values here | the sanitizer finds it |
# |---|---|---|
# | order of atomics | in the last bits | no: it is none, as long as it is meant |
# | counter not set back | in the second call | no |
# | no fence | no | **no** |
# | plain counter in place of an atomic one | sometimes | yes |
# | store to a block that may not have started | no | yes |
#
# **The bad number** is now a matter of shape: no kernel of this week is the best for all.
#
# **In practice** `torch.sum` uses a last block as well; libraries offer a switch for atomics, such
# as `torch.use_deterministic_algorithms`. The workspace is a reason of its own: somebody has to own
# it, and two streams must not share it.
#
# **Further reading:** [threadFenceReduction in the CUDA
# samples](https://github.com/NVIDIA/cuda-samples) · [memory consistency in the PTX
# manual](https://docs.nvidia.com/cuda/parallel-thread-execution/index.html#memory-consistency-model)
# · [thread block
# clusters](https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#thread-block-clusters).
#
# **Next:** which of all these for which shape ([`05_choose`](05_choose.ipynb)).


# %%
class Step:
    """A host function with a workspace of its own between x and y."""

    def __init__(self, fn, workspace):
        self.fn, self.workspace = fn, workspace

    def calls(self, x, y):
        args = (x, *self.workspace(x), y)
        return partial(fk.compile(self.fn, whole(x), *args[1:]), *args)


def promised(x, y):
    return [whole(x), y]


steps = {
    "one_block": (one_block, promised),
    "split_atomic": Step(split_atomic, lambda x: (fk.empty(x.shape[0]),)),
    "two_launches": Step(two_launches, lambda x: (parts(x),)),
    "last_block": Step(last_block, lambda x: (parts(x), fk.zeros(len(x), dtype=torch.int32))),
    "cluster": (cluster, promised),
}
