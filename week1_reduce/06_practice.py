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
# # Practise: write ten reductions from an empty body
#
# **You will build** ten kernels in which threads bring results together, each with its launch.
# **You will learn** to see a reduction where nobody calls it one: counts, variances, histograms,
# prefix sums, the best piece of a row.
# **You need** `00_what_is_the_right_sum` to `03_bytes_in_flight`; no GPU. About 10 minutes, and
# 180 more for the exercises.
#
# Each puzzle says what the result is, draws it small and names the call; index, predicates, blocks,
# grid and what happens between threads are yours. The grade looks at values (awkward sizes, and
# sizes drawn from your own text), at every order of threads, and at what is wasted beside our
# solution. Three things help in all of them:
#
# - Which values go through the tree, how are two of them merged, and what is the **identity**, the
#   value that changes nothing?
# - Does every lane take part in each shuffle, also the one without an element?
# - Is the order of the operands free, or must left stay left?

# %%
import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int32

import forgekit as fk

# %% [markdown]
# ## A tree a row

# %% [markdown] exercise="week1/row_dots" part="task"
# ### Exercise 1: multiply row by row
#
# The dot product of each row of `a` with the same row of `b`: `z[m] = Σ a[m, n] · b[m, n]`, added
# up in float32. `row_dots(a, b, z)`, float32 and float16.
#
# **Asked**: one block per row, 128 threads per block.
#
# <details><summary>Hint 1</summary>
#
# Once each thread has its share in a register, this is a sum of a row as you know it.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A warp adds up by shuffles; four warps meet in four words of shared memory, with one barrier.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Both factors are converted before they are multiplied: the product of two float16 may not fit into
# one. That is the line inside the loop.
#
# </details>

# %%
fk.exercise("week1/row_dots").given


# %% exercise="week1/row_dots" part="skeleton"
@cute.kernel
def row_dots_kernel(mA: cute.Tensor, mB: cute.Tensor, mZ: cute.Tensor):
    # FILL ME IN (roughly 14 lines)
    pass


@cute.jit
def row_dots(mA: cute.Tensor, mB: cute.Tensor, mZ: cute.Tensor):
    # FILL ME IN (roughly 1 line)
    pass


# %% exercise="week1/row_dots" part="grade"
fk.exercise("week1/row_dots").grade(row_dots)

# %% [markdown] exercise="week1/row_dots" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# @cute.kernel
# def row_dots_kernel(mA: cute.Tensor, mB: cute.Tensor, mZ: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     row, _, _ = cute.arch.block_idx()
#     lane, warp = tidx % 32, tidx // 32
#     smem = cutlass.memory.SmemAllocator()
#     sPart = smem.allocate_tensor(Float32, cute.make_layout(4), 16)
#     total = Float32(0.0)
#     for n in range(tidx, mA.shape[1], 128):
#         total += mA[row, n].to(Float32) * mB[row, n].to(Float32)
#     total = cute.arch.warp_reduction_sum(total)
#     if lane == 0:
#         sPart[warp] = total
#     cute.arch.sync_threads()
#     if tidx == 0:
#         mZ[row] = (sPart[0] + sPart[1] + sPart[2] + sPart[3]).to(mZ.element_type)
#
#
# @cute.jit
# def row_dots(mA: cute.Tensor, mB: cute.Tensor, mZ: cute.Tensor):
#     row_dots_kernel(mA, mB, mZ).launch(grid=(mA.shape[0], 1, 1), block=(128, 1, 1))
# ```
#
# One multiplication more than a sum, and twice the bytes: nothing else changes. Most reductions are
# a map and a sum, and the map is free while memory is what one waits for.
#
# </details>

# %% [markdown] exercise="week1/count_equal" part="task"
# ### Exercise 2: count what is equal
#
# How many elements of each row equal `v`? `x` and the result are int32, and `v` is a number: the
# host function is `count_equal(mX, v: cutlass.Int32, mY)`. Rows of any length, and any number of
# them.
#
# **Asked**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# Counting is a sum of ones and zeros, over integers.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# With four rows a block the last block may have rows too many: which lanes may not read, and which
# may not store?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Every lane of a warp takes part in the shuffles; so the predicate of the row guards the loop's
# bounds or the loads, and not the line of the reduction.
#
# </details>

# %%
fk.exercise("week1/count_equal").given


# %% exercise="week1/count_equal" part="skeleton"
@cute.kernel
def count_equal_kernel(mX: cute.Tensor, v: Int32, mY: cute.Tensor):
    # FILL ME IN (roughly 12 lines)
    pass


@cute.jit
def count_equal(mX: cute.Tensor, v: Int32, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week1/count_equal" part="grade"
fk.exercise("week1/count_equal").grade(count_equal)

# %% [markdown] exercise="week1/count_equal" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# @cute.kernel
# def count_equal_kernel(mX: cute.Tensor, v: Int32, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row, lane = bidx * 4 + tidx // 32, tidx % 32
#     found = Int32(0)
#     if row < mX.shape[0]:
#         for n in range(lane, mX.shape[1], 32):
#             if mX[row, n] == v:
#                 found += 1
#     for k in cutlass.range_constexpr(5):
#         found += cute.arch.shuffle_sync_bfly(found, offset=1 << k)
#     if row < mX.shape[0] and lane == 0:
#         mY[row] = found
#
#
# @cute.jit
# def count_equal(mX: cute.Tensor, v: Int32, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 4)
#     count_equal_kernel(mX, v, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# Integers add up to the same in every order: a count is deterministic whatever one does. A warp
# could also vote, `vote_ballot_sync` and a count of the bits, once for 32 elements; for a whole row
# it is more instructions than one addition a lane, and one reduction at the end.
#
# </details>

# %% [markdown] exercise="week1/two_largest" part="task"
# ### Exercise 3: find the two largest
#
# The largest and the second largest element of each row, into `y[m, 0]` and `y[m, 1]`. If the
# largest stands in the row twice, both are that number. Rows have two elements at least; float32.
# `two_largest(x, y)`.
#
# **Asked**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# What does a lane have to remember of the elements that it has seen, so that nothing is lost?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Two pairs are merged: the larger of the two firsts is first. Which two numbers can be second?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The second is the larger of the smaller first and the larger second: in the line after the
# shuffles you need both firsts as they were.
#
# </details>

# %%
fk.exercise("week1/two_largest").given


# %% exercise="week1/two_largest" part="skeleton"
@cute.kernel
def two_largest_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 17 lines)
    pass


@cute.jit
def two_largest(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week1/two_largest" part="grade"
fk.exercise("week1/two_largest").grade(two_largest)

# %% [markdown] exercise="week1/two_largest" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# @cute.kernel
# def two_largest_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row, lane = bidx * 4 + tidx // 32, tidx % 32
#     first, second = -Float32.inf, -Float32.inf
#     if row < mX.shape[0]:
#         for n in range(lane, mX.shape[1], 32):
#             value = mX[row, n]
#             second = cutlass.max(second, cutlass.min(first, value))
#             first = cutlass.max(first, value)
#     for k in cutlass.range_constexpr(5):
#         first_b = cute.arch.shuffle_sync_bfly(first, offset=1 << k)
#         second_b = cute.arch.shuffle_sync_bfly(second, offset=1 << k)
#         second = cutlass.max(cutlass.min(first, first_b), cutlass.max(second, second_b))
#         first = cutlass.max(first, first_b)
#     if row < mX.shape[0] and lane == 0:
#         mY[row, 0] = first
#         mY[row, 1] = second
#
#
# @cute.jit
# def two_largest(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 4)
#     two_largest_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# A pair with this merge is associative and commutative, with the identity (−∞, −∞): all that a tree
# needs. Top-k for small k is the same with more numbers a lane.
#
# </details>

# %% [markdown] exercise="week1/mean_variance" part="task"
# ### Exercise 4: find mean and variance in one pass
#
# Mean and variance (divided by n) of each row, read once. The numbers are about 1000 ± 1, so that
# the mean of the squares less the square of the mean has hardly a right digit left. Keep `(count,
# mean, m2)` a lane (Welford, 1962), and merge two of them (Chan, 1979):
#
#     d = mean_b − mean_a,   n = n_a + n_b
#     mean = mean_a + d · n_b / n,   m2 = m2_a + m2_b + d² · n_a · n_b / n
#
# `mean_variance(x, mean, variance)`, float32.
#
# **Asked**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# One more element is a merge with `(1, value, 0)`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A lane without elements has the count 0, and a merge of two such lanes divides by 0: what should
# its result be?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In the butterfly a lane gets three numbers of its partner, with three shuffles, before it changes
# any of its own: the line order matters.
#
# </details>

# %%
fk.exercise("week1/mean_variance").given


# %% exercise="week1/mean_variance" part="skeleton"
@cute.kernel
def mean_variance_kernel(mX: cute.Tensor, mMean: cute.Tensor, mVar: cute.Tensor):
    # FILL ME IN (roughly 25 lines)
    pass


@cute.jit
def mean_variance(mX: cute.Tensor, mMean: cute.Tensor, mVar: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week1/mean_variance" part="grade"
fk.exercise("week1/mean_variance").grade(mean_variance)

# %% [markdown] exercise="week1/mean_variance" part="solution"
# <details><summary>Solution of exercise 4</summary>
#
# ```python
# @cute.kernel
# def mean_variance_kernel(mX: cute.Tensor, mMean: cute.Tensor, mVar: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row, lane = bidx * 4 + tidx // 32, tidx % 32
#     count, mean, m2 = Float32(0.0), Float32(0.0), Float32(0.0)
#     if row < mX.shape[0]:
#         for n in range(lane, mX.shape[1], 32):
#             count += 1.0
#             d = mX[row, n] - mean
#             mean += d / count
#             m2 += d * (mX[row, n] - mean)
#     for k in cutlass.range_constexpr(5):
#         count_b = cute.arch.shuffle_sync_bfly(count, offset=1 << k)
#         mean_b = cute.arch.shuffle_sync_bfly(mean, offset=1 << k)
#         m2_b = cute.arch.shuffle_sync_bfly(m2, offset=1 << k)
#         both = count + count_b
#         share = Float32(0.0)
#         if both > 0.0:
#             share = count_b / both
#         d = mean_b - mean
#         mean += d * share
#         m2 += m2_b + d * d * count * share
#         count = both
#     if row < mX.shape[0] and lane == 0:
#         mMean[row] = mean
#         mVar[row] = m2 / count
#
#
# @cute.jit
# def mean_variance(mX: cute.Tensor, mMean: cute.Tensor, mVar: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 4)
#     mean_variance_kernel(mX, mMean, mVar).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# The merge is associative up to rounding, so it goes through a tree like a sum; its identity is
# `(0, 0, 0)`. LayerNorm and BatchNorm are this kernel and a map behind it.
#
# </details>

# %% [markdown] exercise="week1/segmented_sums" part="task"
# ### Exercise 5: add up segments
#
# `x` holds segments of different lengths, one after the other; segment s is `x[starts[s]] …
# x[starts[s+1] − 1]`, and may be empty. `y[s]` is its sum (0 for an empty one). `segmented_sums(x,
# starts, y)`: float32, and int32 starts with one entry more than there are segments.
#
# **Asked**: one warp per segment.
#
# <details><summary>Hint 1</summary>
#
# It is `warp_a_row`, with a begin and an end that come out of memory.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Every lane begins at `starts[s] + lane` and goes on by 32 until the end of the segment.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The number of segments is `mY.shape[0]`; a warp beyond the last one must not read `starts`, in the
# first line with an `if`.
#
# </details>

# %%
fk.exercise("week1/segmented_sums").given


# %% exercise="week1/segmented_sums" part="skeleton"
@cute.kernel
def segmented_sums_kernel(mX: cute.Tensor, mStarts: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 11 lines)
    pass


@cute.jit
def segmented_sums(mX: cute.Tensor, mStarts: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week1/segmented_sums" part="grade"
fk.exercise("week1/segmented_sums").grade(segmented_sums)

# %% [markdown] exercise="week1/segmented_sums" part="solution"
# <details><summary>Solution of exercise 5</summary>
#
# ```python
# @cute.kernel
# def segmented_sums_kernel(mX: cute.Tensor, mStarts: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     segment, lane = bidx * 4 + tidx // 32, tidx % 32
#     total = Float32(0.0)
#     if segment < mY.shape[0]:
#         for n in range(mStarts[segment] + lane, mStarts[segment + 1], 32):
#             total += mX[n]
#     for k in cutlass.range_constexpr(5):
#         total += cute.arch.shuffle_sync_bfly(total, offset=1 << k)
#     if segment < mY.shape[0] and lane == 0:
#         mY[segment] = total
#
#
# @cute.jit
# def segmented_sums(mX: cute.Tensor, mStarts: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mY.shape[0], 4)
#     segmented_sums_kernel(mX, mStarts, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# This is how rows of a sparse matrix are added up (CSR). Its cost follows the longest segment of a
# block: one long segment beside three short ones keeps a block alive for itself alone.
#
# </details>

# %% [markdown]
# ## Shared memory

# %% [markdown] exercise="week1/histogram" part="task"
# ### Exercise 6: count bytes
#
# `h[m, b]` is how often the byte `b` stands in row m of `x` (uint8); `h` is int32, (M, 256).
# The counters live in shared memory until the row is done, and then each is
# stored once. `histogram(x, h)`.
#
# **Asked**: one block per row, 256 threads per block, at most 1,024 bytes of shared memory per
# block, no atomics on global memory.
#
# <details><summary>Hint 1</summary>
#
# Three phases: the counters become 0, the row is counted, the counters are stored. What stands
# between two phases?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Two threads may want the same counter at the same time: `cute.arch.atomic_add(sH.iterator + b,
# cutlass.Int32(1))`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# An element of `uint8` is a number only after `.to(cutlass.Int32)`; that is the index in the line
# with the atomic.
#
# </details>

# %%
fk.exercise("week1/histogram").given


# %% exercise="week1/histogram" part="skeleton"
@cute.kernel
def histogram_kernel(mX: cute.Tensor, mH: cute.Tensor):
    # FILL ME IN (roughly 11 lines)
    pass


@cute.jit
def histogram(mX: cute.Tensor, mH: cute.Tensor):
    # FILL ME IN (roughly 1 line)
    pass


# %% exercise="week1/histogram" part="grade"
fk.exercise("week1/histogram").grade(histogram)

# %% [markdown] exercise="week1/histogram" part="solution"
# <details><summary>Solution of exercise 6</summary>
#
# ```python
# @cute.kernel
# def histogram_kernel(mX: cute.Tensor, mH: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     row, _, _ = cute.arch.block_idx()
#     smem = cutlass.memory.SmemAllocator()
#     sH = smem.allocate_tensor(Int32, cute.make_layout(256), 16)
#     sH[tidx] = Int32(0)
#     cute.arch.sync_threads()
#     for n in range(tidx, mX.shape[1], 256):
#         byte = mX[row, n].to(Int32)
#         cute.arch.atomic_add(sH.iterator + byte, Int32(1))
#     cute.arch.sync_threads()
#     mH[row, tidx] = sH[tidx]
#
#
# @cute.jit
# def histogram(mX: cute.Tensor, mH: cute.Tensor):
#     histogram_kernel(mX, mH).launch(grid=(mX.shape[0], 1, 1), block=(256, 1, 1))
# ```
#
# Atomics on shared memory are fast as long as few lanes of a warp want the same counter; a row of
# one byte only makes 32 of them take turns. A counter for each warp, added up at the end, is the
# usual cure.
#
# </details>

# %% [markdown] exercise="week1/window_sum" part="task"
# ### Exercise 7: add up windows
#
# `y[i] = x[i] + x[i+1] + … + x[i+7]`; `y` has 7 elements less than `x`. Each element of `x` is
# loaded into shared memory once a block (135 of them), and the windows are added up from there.
# `window_sum(x, y)`, float32, any length from 8 on.
#
# **Asked**: 128 threads per block, at most 1 barrier, at most 540 bytes of shared memory per block.
#
# <details><summary>Hint 1</summary>
#
# 128 windows reach over 128 + 7 elements: who loads the last seven?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Not every block is full: what of `x` exists, and what of `y`?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The threads with `tidx < 7` load a second element, in a line with a predicate of its own; the
# barrier comes after both loads and before any `if` that depends on `y`.
#
# </details>

# %%
fk.exercise("week1/window_sum").given


# %% exercise="week1/window_sum" part="skeleton"
@cute.kernel
def window_sum_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 15 lines)
    pass


@cute.jit
def window_sum(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week1/window_sum" part="grade"
fk.exercise("week1/window_sum").grade(window_sum)

# %% [markdown] exercise="week1/window_sum" part="solution"
# <details><summary>Solution of exercise 7</summary>
#
# ```python
# @cute.kernel
# def window_sum_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     i = bidx * 128 + tidx
#     smem = cutlass.memory.SmemAllocator()
#     sX = smem.allocate_tensor(Float32, cute.make_layout(135), 16)
#     if i < mX.shape[0]:
#         sX[tidx] = mX[i]
#     if tidx < 7 and i + 128 < mX.shape[0]:
#         sX[tidx + 128] = mX[i + 128]
#     cute.arch.sync_threads()
#     if i < mY.shape[0]:
#         total = Float32(0.0)
#         for k in cutlass.range_constexpr(8):
#             total += sX[tidx + k]
#         mY[i] = total
#
#
# @cute.jit
# def window_sum(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mY.shape[0], 128)
#     window_sum_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# Eight reads of shared memory a window. A prefix sum would do with two, `p[i+8] − p[i]`, at the
# price of rounding: differences of large sums lose digits that a short sum keeps.
#
# </details>

# %% [markdown]
# ## Every element its own sum

# %% [markdown] exercise="week1/block_prefix" part="task"
# ### Exercise 8: prefix sums of a block
#
# Rows of 256 elements: `y[m, i] = x[m, 0] + … + x[m, i]`, the *inclusive prefix sum*. Within a warp
# by shuffles, then over the eight warps through shared memory. `block_prefix(x, y)`.
#
# **Asked**: one block per row, 256 threads per block.
#
# <details><summary>Hint 1</summary>
#
# `cute.arch.shuffle_sync_up(value, offset=d)` gives lane i the value of lane i − d. Five steps,
# with d = 1, 2, 4, 8, 16, make a prefix sum of 32 lanes.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A lane i < d has no lane i − d: it keeps what it has. Take part in the shuffle it must all the
# same.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The last lane of each warp knows the warp's total. A thread adds the totals of the warps before
# its own, in the lines after the one barrier.
#
# </details>

# %%
fk.exercise("week1/block_prefix").given


# %% exercise="week1/block_prefix" part="skeleton"
@cute.kernel
def block_prefix_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 17 lines)
    pass


@cute.jit
def block_prefix(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 1 line)
    pass


# %% exercise="week1/block_prefix" part="grade"
fk.exercise("week1/block_prefix").grade(block_prefix)

# %% [markdown] exercise="week1/block_prefix" part="solution"
# <details><summary>Solution of exercise 8</summary>
#
# ```python
# @cute.kernel
# def block_prefix_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     row, _, _ = cute.arch.block_idx()
#     lane, warp = tidx % 32, tidx // 32
#     smem = cutlass.memory.SmemAllocator()
#     sTotal = smem.allocate_tensor(Float32, cute.make_layout(8), 16)
#     value = mX[row, tidx]
#     for k in cutlass.range_constexpr(5):
#         left = cute.arch.shuffle_sync_up(value, offset=1 << k)
#         if lane >= 1 << k:
#             value += left
#     if lane == 31:
#         sTotal[warp] = value
#     cute.arch.sync_threads()
#     for w in cutlass.range_constexpr(7):
#         if w < warp:
#             value += sTotal[w]
#     mY[row, tidx] = value
#
#
# @cute.jit
# def block_prefix(mX: cute.Tensor, mY: cute.Tensor):
#     block_prefix_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(256, 1, 1))
# ```
#
# Five steps of 32 additions in place of 31 of one: more additions, far fewer steps. Eight totals
# are few enough for every thread to add up those before its own warp; with 32 warps, one warp would
# scan them by shuffles.
#
# </details>

# %% [markdown] exercise="week1/row_prefix" part="task"
# ### Exercise 9: prefix sums of rows of any length
#
# The inclusive prefix sum of rows of any length. A warp goes through its
# row in pieces of 32 and carries the sum of all pieces so far. `row_prefix(x, y)`.
#
# **Asked**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# One piece is a prefix sum by `shuffle_sync_up`; what comes from the left is one number, the same
# for all lanes.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Every lane takes part in the shuffles of the last piece, also where the row has no element for it.
# What does such a lane hold?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The carry after a piece is what lane 31 has then; a shuffle hands it to all lanes, in the line
# before the next piece begins.
#
# </details>

# %%
fk.exercise("week1/row_prefix").given


# %% exercise="week1/row_prefix" part="skeleton"
@cute.kernel
def row_prefix_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 17 lines)
    pass


@cute.jit
def row_prefix(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week1/row_prefix" part="grade"
fk.exercise("week1/row_prefix").grade(row_prefix)

# %% [markdown] exercise="week1/row_prefix" part="solution"
# <details><summary>Solution of exercise 9</summary>
#
# ```python
# @cute.kernel
# def row_prefix_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row, lane = bidx * 4 + tidx // 32, tidx % 32
#     carry = Float32(0.0)
#     for piece in range(cute.ceil_div(mX.shape[1], 32)):
#         n = piece * 32 + lane
#         value = Float32(0.0)
#         if row < mX.shape[0] and n < mX.shape[1]:
#             value = mX[row, n]
#         for k in cutlass.range_constexpr(5):
#             left = cute.arch.shuffle_sync_up(value, offset=1 << k)
#             if lane >= 1 << k:
#                 value += left
#         value += carry
#         if row < mX.shape[0] and n < mX.shape[1]:
#             mY[row, n] = value
#         carry = cute.arch.shuffle_sync(value, 31)
#
#
# @cute.jit
# def row_prefix(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 4)
#     row_prefix_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# A row is read once and written once, and pieces follow one another: few long rows leave most of a
# GPU idle. Decoupled look-back (Merrill and Garland, 2016) lets many blocks share a row and still
# moves every byte once.
#
# </details>

# %% [markdown] exercise="week1/max_subarray" part="task"
# ### Exercise 10: find the largest sum of neighbours
#
# The largest sum of a piece of each row: of all `x[m, i] + … + x[m, j]` with `i ≤ j`. Rows have any
# length. A piece of a row is described by four numbers: its sum, the largest sum of a beginning, of
# an end, and of any piece of it. `max_subarray(x, y)`, float32.
#
# **Asked**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# Two neighbouring pieces are merged: the best of both together is the best of the left, of the
# right, or an end of the left with a beginning of the right.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The merge is associative, but left and right must not change places. With `shuffle_sync_down` and
# offsets 1, 2, 4, 8, 16, in this order, lane 0 always receives what lies next to the right.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A lane without an element holds the identity: sum 0, and −∞ for the other three, set in the line
# before the predicate.
#
# </details>

# %%
fk.exercise("week1/max_subarray").given


# %% exercise="week1/max_subarray" part="skeleton"
@cute.jit
def merged(a, b):
    """What describes the pieces a and b, (sum, beginning, end, best) each, next to each other."""
    # FILL ME IN (roughly 6 lines)
    return a


@cute.kernel
def max_subarray_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 17 lines)
    pass


@cute.jit
def max_subarray(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week1/max_subarray" part="grade"
fk.exercise("week1/max_subarray").grade(max_subarray)

# %% [markdown] exercise="week1/max_subarray" part="solution"
# <details><summary>Solution of exercise 10</summary>
#
# ```python
# @cute.jit
# def merged(a, b):
#     """What describes the pieces a and b, (sum, beginning, end, best) each, next to each other."""
#     return (
#         a[0] + b[0],
#         cutlass.max(a[1], a[0] + b[1]),
#         cutlass.max(b[2], b[0] + a[2]),
#         cutlass.max(cutlass.max(a[3], b[3]), a[2] + b[1]),
#     )
#
#
# @cute.kernel
# def max_subarray_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row, lane = bidx * 4 + tidx // 32, tidx % 32
#     least = -Float32.inf
#     total, head, tail, best = Float32(0.0), least, least, least
#     for piece in range(cute.ceil_div(mX.shape[1], 32)):
#         n = piece * 32 + lane
#         s, h, t, b = Float32(0.0), least, least, least
#         if row < mX.shape[0] and n < mX.shape[1]:
#             value = mX[row, n]
#             s, h, t, b = value, value, value, value
#         for k in cutlass.range_constexpr(5):
#             right = tuple(cute.arch.shuffle_sync_down(v, offset=1 << k) for v in (s, h, t, b))
#             s, h, t, b = merged((s, h, t, b), right)
#         total, head, tail, best = merged((total, head, tail, best), (s, h, t, b))
#     if row < mX.shape[0] and lane == 0:
#         mY[row] = best
#
#
# @cute.jit
# def max_subarray(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 4)
#     max_subarray_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# Anything with an associative merge and an identity goes through the same tree; if it is not
# commutative, the tree has to keep neighbours together. Regular expressions, parentheses and
# polynomials are merged like this, too.
#
# </details>

# %% [markdown]
# ## What you can do now

# %% tags=["nbval-ignore-output"]
fk.progress("week1")

# %% [markdown]
# | what is merged | identity | puzzle |
# |---|---|---|
# | a sum | 0 | row dots, counts, segments, windows |
# | the two largest | (−∞, −∞) | two largest |
# | count, mean, m2 | (0, 0, 0) | mean and variance |
# | 256 counters | 256 zeros | histogram |
# | a sum, kept at every place | 0 | prefix sums |
# | sum, beginning, end, best | (0, −∞, −∞, −∞) | largest sum of neighbours |
#
# **In practice** all of these exist in libraries (CUB's block and warp primitives are the best
# known), and all of them are asked for fused into something larger, which no library has.
#
# **Further reading:** [Prefix sums and their
# applications](https://www.cs.cmu.edu/~guyb/papers/Ble93.pdf) (G. Blelloch) · [Single-pass parallel
# prefix scan with decoupled
# look-back](https://research.nvidia.com/publication/2016-03_single-pass-parallel-prefix-scan-decoupled-look-back)
# (D. Merrill, M. Garland)
#
# **Next:** week 2, softmax, where the values that go through the tree are a maximum and a sum at
# once ([`00_softmax_without_tears`](../week2_softmax/00_softmax_without_tears.ipynb)).
