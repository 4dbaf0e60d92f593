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
# # Practise: write twelve reductions from scratch
#
# **You will build** twelve kernels in which threads combine their results, each with its launch.
# **You will learn** to recognise reductions under other names: counts, variances, histograms,
# column sums, prefix sums and the largest sum of consecutive elements. **You need**
# `00_what_is_the_right_sum` to `04_few_long_rows`, but no GPU. About 15 minutes, and 240 more for
# the exercises.
#
# Each puzzle states the result, shows a small example and gives the signature. You choose the
# indices, predicates, blocks and grid, and the way in which threads exchange data. The grader
# checks the values (at awkward sizes, and at sizes that depend on your source text) and every
# order of threads, and it compares your kernel's waste with that of our solution. Three questions
# help with every puzzle:
#
# - Which values go through the tree, how do you merge two of them, and what is the **identity**,
#   the value that changes nothing?
# - Does every lane take part in each shuffle, even a lane without an element?
# - May the operands change places, or does their order matter?

# %%
import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int32
from week1_helpers import thread_a_column

import forgekit as fk

# %% [markdown]
# ## One tree per row

# %% [markdown] exercise="week1/row_dots" part="task"
# ### Exercise 1: compute dot products of rows
#
# Compute the dot product of each row of `a` with the same row of `b`: `z[m] = Σ a[m, n] · b[m,
# n]`, in float32 and float16. Accumulate in float32.
#
# Signature: `row_dots(a, b, z)`.
#
# **Required**: one block per row, 128 threads per block.
#
# <details><summary>Hint 1</summary>
#
# Once each thread has its share in a register, the rest is an ordinary row sum.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Each warp adds up its lanes' shares with shuffles. The four warps combine their sums in four words
# of shared memory, with one barrier.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# On the line inside the loop, convert both factors before you multiply: the product of two float16
# numbers may not fit in float16.
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
# Compared with a sum, this kernel needs one more multiplication per element and reads twice as
# many bytes. Most reductions are a map followed by a sum, and the map is free while memory is the
# limit.
#
# </details>

# %% [markdown] exercise="week1/count_equal" part="task"
# ### Exercise 2: count equal elements
#
# Count the elements of each row that equal `v`. `x` and the counts are int32, and `v` is a single
# number. There may be any number of rows, of any length.
#
# Signature: `count_equal(x, v, y)`; the host function is `count_equal(mX, v: cutlass.Int32, mY)`.
#
# **Required**: one warp per row, no floating-point numbers.
#
# <details><summary>Hint 1</summary>
#
# Counting is an integer sum of ones and zeros.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# With four rows per block, the last block may have warps without a row. Which lanes must not read,
# and which must not store?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# All lanes of a warp share a row, so a whole warp without a row may skip its loads. The lanes of
# one warp take different branches only at the end of a row, and even there every lane has to reach
# the line with the reduction.
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
# Integer sums are the same in every order, so a count is always deterministic. A float32 count
# would stop growing at 2²⁴. A warp could also vote once per 32 elements, with `vote_ballot_sync`
# and a count of the bits. But for a whole row it takes fewer instructions if each lane adds once
# per element and the warp reduces once, at the end.
#
# </details>

# %% [markdown] exercise="week1/two_largest" part="task"
# ### Exercise 3: find the two largest elements
#
# Find the largest and the second largest element of each row, and write them to `y[m, 0]` and
# `y[m, 1]`. If the largest element occurs twice, both results are that number. Rows are float32
# and have at least two elements, which may be infinite.
#
# Signature: `two_largest(x, y)`.
#
# **Required**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# What does a lane have to remember about the elements that it has seen?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# When you merge two pairs, the larger of the two first numbers becomes the new first. Which two
# numbers can be the new second?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The new second is the larger of two numbers: the smaller of the two firsts, and the larger of the
# two seconds. Compute it on the line after the shuffles, before you change the first.
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
# This merge of pairs is associative and commutative, and its identity is (−∞, −∞). A tree needs
# nothing more. Top-k for small k works the same way, with more numbers per lane.
#
# </details>

# %% [markdown] exercise="week1/mean_variance" part="task"
# ### Exercise 4: compute mean and variance in one pass
#
# Compute the mean and the variance (divided by n) of each float32 row, and read the row only once;
# its first element may be read again. The numbers of a row lie close together, around a mean of
# about 700 or more, so the mean of the squares minus the square of the mean would have hardly any
# correct digits. One way is to keep `(count, mean, m2)` per lane (Welford, 1962) and to merge two
# lanes like this (Chan, 1979):
#
#     d = mean_b − mean_a,   n = n_a + n_b
#     mean = mean_a + d · n_b / n,   m2 = m2_a + m2_b + d² · n_a · n_b / n
#
# Signature: `mean_variance(x, mean, variance)`.
#
# **Required**: one warp per row, no float64.
#
# <details><summary>Hint 1</summary>
#
# To add one element, merge with `(1, value, 0)`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A lane without elements has the count 0, and a merge of two such lanes divides by 0. What should
# the result be?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In the butterfly, a lane receives three numbers from its partner, with three shuffles. The order
# of the lines matters: all three shuffles come before the lane changes any of its own numbers.
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
# The merge is associative up to rounding, so a tree can use it like a sum. Its identity is `(0,
# 0, 0)`. LayerNorm and BatchNorm consist of this kernel followed by a map.
#
# </details>

# %% [markdown] exercise="week1/segmented_sums" part="task"
# ### Exercise 5: add up segments
#
# `x` holds segments of different lengths, one after another. Segment s is `x[starts[s]] …
# x[starts[s+1] − 1]` and may be empty; segment 0 need not begin at `x[0]`, and the last segment
# need not end at the end of `x`. `y[s]` is its sum (0 for an empty segment). `x` is float32, and
# its elements may be infinite; `starts` is int32 and has one more entry than there are segments.
#
# Signature: `segmented_sums(x, starts, y)`.
#
# **Required**: one warp per segment.
#
# <details><summary>Hint 1</summary>
#
# This is one warp per row, but the start and the end of a row come from memory.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Each lane starts at `starts[s] + lane` and advances by 32 up to the end of the segment.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The number of segments is `mY.shape[0]`. A warp beyond the last segment must not read `starts`:
# exclude it on the line with the first `if`.
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
# You can compute the row sums of a sparse matrix (CSR) in this way. A block runs until its
# longest segment is done: with one long segment and three short ones, three of its four warps
# finish early.
#
# </details>

# %% [markdown]
# ## Shared memory

# %% [markdown] exercise="week1/histogram" part="task"
# ### Exercise 6: count bytes
#
# `h[m, b]` is the number of times that the byte `b` occurs in row m of `x` (uint8), for any number
# of rows. `h` has shape (M, 256) and type int32. Keep the counters in shared memory until the row
# is finished, then store each counter once.
#
# Signature: `histogram(x, h)`.
#
# **Required**: one block per row, 256 threads per block, at most 1,024 bytes of shared memory per
# block, no atomics on global memory.
#
# <details><summary>Hint 1</summary>
#
# There are three phases: clear the counters, count the bytes of the row, and store the counters.
# What belongs between two phases?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Two threads may increment the same counter at the same time, so use
# `cute.arch.atomic_add(sH.iterator + b, cutlass.Int32(1))`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Convert a `uint8` element with `.to(cutlass.Int32)` before you use it as an index, on the line
# with the atomic addition.
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
# Atomics on shared memory are fast as long as few lanes of a warp increment the same counter. If
# a row repeats a single byte, all 32 lanes have to take turns. The usual fix is one set of
# counters per warp, which the block adds up at the end.
#
# </details>

# %% [markdown] exercise="week1/window_sum" part="task"
# ### Exercise 7: add up windows
#
# Compute `y[i] = x[i] + x[i+1] + … + x[i+7]`; `y` has 7 fewer elements than `x`. A block loads each
# of the 135 elements that it needs into shared memory once (only the last element of `x` may be
# repeated, by threads beyond the end), and adds up its windows from there. `x` is float32 and has
# at least 8 elements.
#
# Signature: `window_sum(x, y)`.
#
# **Required**: one block per 128 windows, 128 threads per block, at most 1 barrier, at most 540
# bytes of shared memory per block.
#
# <details><summary>Hint 1</summary>
#
# 128 windows span 128 + 7 elements. Which threads load the last seven?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Not every block is full. Which elements of `x` exist, and which of `y`?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Threads with `tidx < 7` load a second element, on a line with its own predicate. The barrier comes
# after both loads and before any `if` that depends on `y`.
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
# Each window takes eight reads from shared memory. With prefix sums `p`, two reads are enough,
# because the sum is `p[i+8] − p[i]`. But a difference of large sums loses digits that a short sum
# keeps.
#
# </details>

# %% [markdown]
# **A good place for a break.**
#
# ## Columns
#
# With one thread per column, `thread_a_column` from `00_what_is_the_right_sum` loads whole sectors.
# **The bad number:** a tall matrix has few columns, so few threads have work.

# %%
x, y = fk.randn(4096, 64), fk.empty(64)
run_column = fk.compile(thread_a_column, x, y)
run_column(x, y)
fk.check(y, x.double().sum(0), atol=1e-3)
p = fk.profile(run_column, x, y)
print(f"{p.launches[0].grid[0]} block, {p.global_load_sectors_per_request:.0f} sectors per load;")
print(f"each of {x.shape[1]} threads adds {x.shape[0]:,} numbers, one after the other")

# %% [markdown]
# Two warps do the work of a whole GPU. As with a few long rows, the fix is more parallelism: let
# several threads share a column. These threads work on different rows, so each warp still reads
# neighbouring elements, and the threads combine their sums in shared memory. Shuffles cannot help,
# because the lanes of a warp hold sums of different columns.

# %% [markdown] exercise="week1/tile_columns" part="task"
# ### Exercise 8: add up columns with a tile of threads
#
# Compute `y[n] = x[0, n] + … + x[M-1, n]` for tall matrices with any M and N, in float32, float16
# and bfloat16. Accumulate in float32. A warp reads 32 neighbouring elements of one row, and the
# eight warps of a block share the rows. At the end, the block combines the eight sums of each
# column in shared memory. Write the whole kernel.
#
# Signature: `tile_columns(x, y)`.
#
# **Required**: one block per 32 columns, 256 threads per block.
#
# <details><summary>Hint 1</summary>
#
# Give each thread two numbers: its column among 32 and its warp among 8. Which of them is `tidx %
# 32`?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Each warp starts at a different row and continues in steps of 8 rows. Then the block stores 256
# sums in shared memory, and one warp reads them.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A shared tensor of shape (8, 32) with rows of 32 words has no bank conflicts, because neighbouring
# lanes access neighbouring words. The barrier goes between the line that stores there and the `if`
# around the reads. Threads without a column have to reach it as well.
#
# </details>

# %%
fk.exercise("week1/tile_columns").given


# %% exercise="week1/tile_columns" part="skeleton"
@cute.kernel
def tile_columns_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 16 lines)
    pass


@cute.jit
def tile_columns(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week1/tile_columns" part="grade"
fk.exercise("week1/tile_columns").grade(tile_columns)

# %% [markdown] exercise="week1/tile_columns" part="solution"
# <details><summary>Solution of exercise 8</summary>
#
# ```python
# @cute.kernel
# def tile_columns_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     warp, lane = tidx // 32, tidx % 32
#     col = bidx * 32 + lane
#     layout = cute.make_layout((8, 32), stride=(32, 1))
#     sSum = cutlass.memory.SmemAllocator().allocate_tensor(Float32, layout, 16)
#     total = Float32(0.0)
#     if col < mX.shape[1]:
#         for m in range(warp, mX.shape[0], 8):
#             total += mX[m, col].to(Float32)
#     sSum[warp, lane] = total
#     cute.arch.sync_threads()
#     if warp == 0 and col < mX.shape[1]:
#         for k in cutlass.range_constexpr(1, 8):
#             total += sSum[k, lane]
#         mY[col] = total.to(mY.element_type)
#
#
# @cute.jit
# def tile_columns(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[1], 32)
#     tile_columns_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))
# ```
#
# This kernel has eight times as many threads as the kernel with one thread per column, but loads
# the same sectors. The price is one barrier, and seven reads of shared memory by each thread of
# one warp. There are no bank conflicts, because a warp stores one row of the tile and reads one
# row at a time. If there are still fewer blocks than multiprocessors, split the rows over blocks
# as well, as in `04_few_long_rows`.
#
# </details>

# %% [markdown] exercise="week1/few_columns" part="task"
# ### Exercise 9: keep every lane busy
#
# A contiguous matrix has only 1 to 32 columns, and any height M. Write the first of two launches:
# row p of `y` receives the column sums of rows 256·p to 256·p + 255 of `x`, so `y` has ⌈M / 256⌉
# rows. All warps of a block have to read neighbouring elements, whatever the number of columns.
# The types are float32 and float16; accumulate in float32. Write the whole kernel.
#
# Signature: `few_columns(x, y)`.
#
# **Required**: one block per 256 rows, 256 threads per block.
#
# <details><summary>Hint 1</summary>
#
# In memory, the 256 rows of a block are one strip of 256 · N numbers. Ignore the rows: number k of
# the strip belongs to column k % N.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A thread that starts at number t and continues in steps of a multiple of N stays in column t % N.
# What is the largest multiple of N up to 256? The few threads beyond it do nothing.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The line that loads reads element (k // N, k % N) of the block's rows, with a predicate, because
# the last block may have fewer rows. In shared memory, the sums of column n then begin at word n
# and are N words apart.
#
# </details>

# %%
fk.exercise("week1/few_columns").given


# %% exercise="week1/few_columns" part="skeleton"
@cute.kernel
def few_columns_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 16 lines)
    pass


@cute.jit
def few_columns(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 1 line)
    pass


# %% exercise="week1/few_columns" part="grade"
fk.exercise("week1/few_columns").grade(few_columns)

# %% [markdown] exercise="week1/few_columns" part="solution"
# <details><summary>Solution of exercise 9</summary>
#
# ```python
# @cute.kernel
# def few_columns_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     part, _, _ = cute.arch.block_idx()
#     M, N = mX.shape
#     sSum = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(256), 16)
#     deep = 256 // N  # rows that the block reads at a time, by deep * N threads
#     total = Float32(0.0)
#     if tidx < deep * N:
#         for m in range(tidx // N, 256, deep):
#             if part * 256 + m < M:
#                 total += mX[part * 256 + m, tidx % N].to(Float32)
#     sSum[tidx] = total
#     cute.arch.sync_threads()
#     if tidx < N:
#         for k in range(1, deep):
#             total += sSum[tidx + k * N]
#         mY[part, tidx] = total.to(mY.element_type)
#
#
# @cute.jit
# def few_columns(mX: cute.Tensor, mY: cute.Tensor):
#     few_columns_kernel(mX, mY).launch(grid=(mY.shape[0], 1, 1), block=(256, 1, 1))
# ```
#
# With 3 columns, a warp that reads one row uses only 3 of its lanes. Here 255 of 256 threads
# read, and a warp's float32 load fetches 4 sectors. The trick is the step: a multiple of N keeps
# each thread in its column, so one register is enough. The division by N and its remainder cost
# instructions only once per thread; in the loop, only the row advances, by `deep`.
#
# </details>

# %% [markdown]
# ## A sum for every element

# %% [markdown] exercise="week1/block_prefix" part="task"
# ### Exercise 10: compute prefix sums of a block
#
# Compute the *inclusive prefix sum* of each row of 256 float32 elements: `y[m, i] = x[m, 0] + … +
# x[m, i]`. Each warp uses shuffles for its 32 elements; then the eight warps exchange their
# totals through shared memory.
#
# Signature: `block_prefix(x, y)`.
#
# **Required**: one block per row, 256 threads per block, at most 128 bytes of shared memory per
# block.
#
# <details><summary>Hint 1</summary>
#
# `cute.arch.shuffle_sync_up(value, offset=d)` gives lane i the value of lane i − d. Five steps,
# with d = 1, 2, 4, 8, 16, compute the prefix sum of 32 lanes.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# For a lane i < d there is no lane i − d. Such a lane keeps its value, but it still has to execute
# the shuffle.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The last lane of each warp holds the warp's total. On the lines after the barrier, each thread
# adds the totals of the warps before its own.
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
# <details><summary>Solution of exercise 10</summary>
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
# Five steps of 32 additions replace 31 steps of one addition each: that makes more additions, but
# far fewer steps. With eight totals, every thread can add those of the warps before its own; with
# 32 totals, one warp would scan them with shuffles.
#
# </details>

# %% [markdown] exercise="week1/row_prefix" part="task"
# ### Exercise 11: compute prefix sums of rows of any length
#
# Compute the inclusive prefix sum of each row, for float32 rows of any length. A warp goes
# through its row in pieces, for example of 32 elements, and carries the sum of all earlier pieces.
#
# Signature: `row_prefix(x, y)`.
#
# **Required**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# Within a piece, compute a prefix sum with `shuffle_sync_up`. The pieces to its left contribute one
# number, which is the same for all lanes.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Every lane executes the shuffles of the last piece, even if the row has no element for it. What
# does such a lane hold?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# After a piece, lane 31 has the new carry. On the last line of the loop, a broadcast gives it to
# all lanes.
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
# <details><summary>Solution of exercise 11</summary>
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
# The kernel reads and writes each row once, but it processes the pieces of a row one after
# another. With a few long rows, most of a GPU is idle. Decoupled look-back (Merrill and Garland,
# 2016) lets many blocks share a row and still moves every byte only once.
#
# </details>

# %% [markdown] exercise="week1/max_subarray" part="task"
# ### Exercise 12: find the largest sum of consecutive elements
#
# For each row, find the largest sum of consecutive elements `x[m, i] + … + x[m, j]` with `i ≤ j`.
# Rows are float32, have any length, and may contain −∞. Describe a piece of a row by four numbers:
# its sum, and the largest sum of any beginning, any end, and any run of elements in it.
#
# Signature: `max_subarray(x, y)`.
#
# **Required**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# When you merge two neighbouring pieces, the best sum is the best of the left piece, the best of
# the right piece, or an end of the left joined to a beginning of the right.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The merge is associative, but left and right must not change places. With `shuffle_sync_down` and
# offsets 1, 2, 4, 8, 16, in this order, lane 0 always receives the piece directly to the right of
# its own.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A lane without an element holds the identity: sum 0, and −∞ for the other three. Set it on the
# line before the predicate.
#
# </details>

# %%
fk.exercise("week1/max_subarray").given


# %% exercise="week1/max_subarray" part="skeleton"
@cute.jit
def merged(a, b):
    """Return (sum, beginning, end, best) of piece a followed by piece b."""
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
# <details><summary>Solution of exercise 12</summary>
#
# ```python
# @cute.jit
# def merged(a, b):
#     """Return (sum, beginning, end, best) of piece a followed by piece b."""
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
# Every operation with an associative merge and an identity fits the same tree. If the merge is
# not commutative, the tree may merge only neighbouring pieces, in order. You can match a regular
# expression, check that parentheses balance, or evaluate a polynomial in this way.
#
# </details>

# %% [markdown]
# ## What you can do now

# %% tags=["nbval-ignore-output"]
fk.progress("week1")

# %% [markdown]
# | merged values | identity | puzzle |
# |---|---|---|
# | a sum | 0 | row dots, counts, segments, windows, columns |
# | the two largest | (−∞, −∞) | two largest |
# | count, mean, m2 | (0, 0, 0) | mean and variance |
# | 256 counters | 256 zeros | histogram |
# | a sum, kept for every element | 0 | prefix sums |
# | sum, beginning, end, best | (0, −∞, −∞, −∞) | largest sum of consecutive elements |
#
# **In practice** libraries offer all of these; CUB's block and warp primitives are the best known.
# But you often need one of them fused into a larger kernel that no library offers.
#
# **Further reading:** [Prefix sums and their
# applications](https://www.cs.cmu.edu/~guyb/papers/Ble93.pdf) (G. Blelloch) · [Single-pass parallel
# prefix scan with decoupled
# look-back](https://research.nvidia.com/publication/2016-03_single-pass-parallel-prefix-scan-decoupled-look-back)
# (D. Merrill, M. Garland)
#
# **Next:** week 2, softmax, which sends a maximum and a sum through the tree together
# ([`00_softmax_without_tears`](../week2_softmax/00_softmax_without_tears.ipynb)).
