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
# # Write five kernels from scratch
#
# **You will build** five kernels, each with its host function and launch, by filling in their empty
# bodies. **You will learn** how a kernel is graded, how to pass numbers and convert types, and how
# to choose one owner per element and one predicate per access. **You need** `00_start_here` and
# `01_why_slow_why_wrong`; no GPU. About 10 minutes, and 65 more for the exercises.

# %%
import cutlass
import cutlass.cute as cute
import torch

import forgekit as fk

# %% [markdown]
# ## 1. How a kernel is graded
#
# In `01_why_slow_why_wrong`, a copy with correct values fetched **32 sectors per request where 4
# are enough**, and a mirror kernel with correct values had a race. A comparison of values finds
# neither problem, so `grade` has up to four gates and stops at the first one that fails:
#
# 1. **Values** checks the results for awkward sizes (1, one more than the block size, and others
#    that are not multiples of it) and for sizes that are drawn at random when Python starts.
# 2. **Every order of threads** runs the sanitizer in the usual order and in adversarial schedules.
# 3. **As required** checks the requirements in the last line of the task, if it lists any.
# 4. **Nothing wasted** compares sectors, stores, threads, instructions and other counts with those
#    of our solution on small and large calls, so a grid of fixed size fails. A kernel that is
#    written differently passes if it wastes nothing.
#
# When a gate fails, read the message, which names a line and a thread. Then draw the failing call
# with `fk.exercise("week0/…").failed.show()`. Only then open a hint; the third hint gives away the
# idea and the line that needs it. `fk.exercise("week0/…").reset()` restores the empty bodies.
#
# Each exercise states the result, draws it for a few elements, and gives the signature. You write
# the index, the predicates and the launch.

# %% [markdown] exercise="week0/add_arrays" part="task"
# ### Exercise 1: add two arrays
#
# Compute `z[i] = a[i] + b[i]` for three arrays of any common length, in float32 and float16.
# Signature: `add_arrays(a, b, z)`.
#
# <details><summary>Hint 1</summary>
#
# You need a kernel for the threads and a host function for the launch, as in `scale`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# How many blocks of 128 threads do n elements need? Which threads have no element?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Launch `cute.ceil_div(n, 128)` blocks. Put the predicate before the first access to any of the
# three arrays.
#
# </details>

# %%
fk.exercise("week0/add_arrays").given


# %% exercise="week0/add_arrays" part="skeleton"
@cute.kernel
def add_arrays_kernel(mA: cute.Tensor, mB: cute.Tensor, mZ: cute.Tensor):
    # FILL ME IN (roughly 5 lines)
    pass


@cute.jit
def add_arrays(mA: cute.Tensor, mB: cute.Tensor, mZ: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week0/add_arrays" part="grade"
fk.exercise("week0/add_arrays").grade(add_arrays)

# %% [markdown] exercise="week0/add_arrays" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# @cute.kernel
# def add_arrays_kernel(mA: cute.Tensor, mB: cute.Tensor, mZ: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     i = bidx * 128 + tidx
#     if i < mZ.shape[0]:
#         mZ[i] = mA[i] + mB[i]
#
#
# @cute.jit
# def add_arrays(mA: cute.Tensor, mB: cute.Tensor, mZ: cute.Tensor):
#     blocks = cute.ceil_div(mZ.shape[0], 128)
#     add_arrays_kernel(mA, mB, mZ).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# The kernel moves twelve bytes per element in float32 but does only one addition, so on any GPU it
# waits for memory. No version can take less time than reading `a` and `b` once and writing `z`
# once.
#
# </details>

# %% [markdown]
# ## 2. Number arguments and type conversion
#
# A kernel accepts numbers as well as tensors; the annotation gives their type. A store does not
# convert its value. To convert it, call `.to(…)`, which rounds to the nearest number of the new
# type. This kernel adds a number to eight `float32` elements and stores the sums as `float16`.
#
# **Predict:** `float16` has 11 significant bits, so its numbers between 512 and 1,024 are 0.5
# apart. If `x[0]` is 0 and the kernel adds 1000.3, what is `y[0]`?

# %%
rounded = fk.predict("y[0]", None)


# %% jupyter={"outputs_hidden": true}
@cute.kernel
def shift_kernel(mX: cute.Tensor, by: cutlass.Float32, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    mY[tidx] = (mX[tidx] + by).to(cutlass.Float16)


@cute.jit
def shift(mX: cute.Tensor, by: cutlass.Float32, mY: cute.Tensor):
    shift_kernel(mX, by, mY).launch(grid=(1, 1, 1), block=(8, 1, 1))


x, y = fk.arange(8), fk.empty(8, dtype=torch.float16)
run_shift = fk.compile(shift, x, 1000.3, y)
run_shift(x, 1000.3, y)
rounded.against(y[0].item())

# %% [markdown] exercise="week0/clamp" part="task"
# ### Exercise 2: clamp and convert
#
# Limit each element to the range from `low` to `high`, then round it to bfloat16. Before rounding,
# `y[i]` is `low` where `x[i]` is less than `low`, `high` where it is greater than `high`, and
# `x[i]` otherwise, so NaN stays NaN. `x` is float32, `y` is bfloat16, and `low` and `high` are
# numbers. Signature: `clamp(x, low, high, y)`.
#
# <details><summary>Hint 1</summary>
#
# A number is a parameter, just like a tensor; annotate it as in `low: cutlass.Float32`. Which
# Python functions return the smaller and the larger of two numbers?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `min` and `max` work inside a kernel. Which of them applies `low`, and which applies `high`?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A single line can compute and store: take the larger of x and low, then the smaller of that value
# and high, and convert the result with `.to(…)`. A store does not convert to another type by
# itself.
#
# </details>

# %%
fk.exercise("week0/clamp").given


# %% exercise="week0/clamp" part="skeleton"
@cute.kernel
def clamp_kernel(mX: cute.Tensor, low: cutlass.Float32, high: cutlass.Float32, mY: cute.Tensor):
    # FILL ME IN (roughly 5 lines)
    pass


@cute.jit
def clamp(mX: cute.Tensor, low: cutlass.Float32, high: cutlass.Float32, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week0/clamp" part="grade"
fk.exercise("week0/clamp").grade(clamp)

# %% [markdown] exercise="week0/clamp" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# @cute.kernel
# def clamp_kernel(mX: cute.Tensor, low: cutlass.Float32, high: cutlass.Float32, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     i = bidx * 128 + tidx
#     if i < mX.shape[0]:
#         mY[i] = min(max(mX[i], low), high).to(cutlass.BFloat16)
#
#
# @cute.jit
# def clamp(mX: cute.Tensor, low: cutlass.Float32, high: cutlass.Float32, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 128)
#     clamp_kernel(mX, low, high, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# The kernel moves six bytes per element; with a float32 result it would move eight. So one
# conversion instruction saves a quarter of the traffic. Moving such work into a kernel that loads
# the data anyway is called **fusion**.
#
# </details>

# %% [markdown]
# ## 3. Two dimensions
#
# The next kernel needs two indices per thread. The two copies in `01_why_slow_why_wrong` differ
# only in which index changes from lane to lane, yet one of them moves eight times as many bytes as
# the other.

# %% [markdown] exercise="week0/add_row" part="task"
# ### Exercise 3: add a row to every row
#
# Compute `z[i, j] = x[i, j] + r[j]`, where `x` and `z` have M rows and N columns and `r` has N
# elements. Support float32 and float16. Signature: `add_row(x, r, z)`.
#
# <details><summary>Hint 1</summary>
#
# A matrix has two edges, so each thread needs two indices: its row and its column.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Launch blocks of 32 × 8 threads in a two-dimensional grid. Which of the two indices must change
# from lane to lane?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Compute the column from the x indices of thread and block, and the row from their y indices. The
# first entry of the grid counts blocks across, and the second counts blocks down. The predicate
# checks both edges.
#
# </details>

# %%
fk.exercise("week0/add_row").given


# %% exercise="week0/add_row" part="skeleton"
@cute.kernel
def add_row_kernel(mX: cute.Tensor, mR: cute.Tensor, mZ: cute.Tensor):
    # FILL ME IN (roughly 5 lines)
    pass


@cute.jit
def add_row(mX: cute.Tensor, mR: cute.Tensor, mZ: cute.Tensor):
    # FILL ME IN (roughly 3 lines)
    pass


# %% exercise="week0/add_row" part="grade"
fk.exercise("week0/add_row").grade(add_row)

# %% [markdown] exercise="week0/add_row" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# @cute.kernel
# def add_row_kernel(mX: cute.Tensor, mR: cute.Tensor, mZ: cute.Tensor):
#     tx, ty, _ = cute.arch.thread_idx()
#     bx, by, _ = cute.arch.block_idx()
#     i, j = by * 8 + ty, bx * 32 + tx
#     if i < mZ.shape[0] and j < mZ.shape[1]:
#         mZ[i, j] = mX[i, j] + mR[j]
#
#
# @cute.jit
# def add_row(mX: cute.Tensor, mR: cute.Tensor, mZ: cute.Tensor):
#     M, N = mZ.shape
#     grid = (cute.ceil_div(N, 32), cute.ceil_div(M, 8), 1)
#     add_row_kernel(mX, mR, mZ).launch(grid=grid, block=(32, 8, 1))
# ```
#
# The kernel loads `r` once for each row of `x`, so it requests as many sectors for `r` as for `x`.
# On a GPU, a cache serves most of these requests, but the warps still have to issue them. If each
# thread keeps `r[j]` in a register and processes eight rows, the warps issue an eighth as many
# requests for `r`. Try this version; it passes as well.
#
# </details>

# %% [markdown]
# This is a good place for a break.
#
# ## 4. One owner per element

# %% [markdown] exercise="week0/reverse_in_place" part="task"
# ### Exercise 4: reverse an array in place
#
# Reverse `x`, which has any length, without a second array. Since each store overwrites a part of
# the input, let *one* thread swap both elements of a pair. Launch at least one thread per 16 pairs.
# Signature: `reverse_in_place(x)`.
#
# **Required**: no barriers, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# How many pairs do 7 elements form? How many do 8 elements form, and how many does 1 element form?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A thread that swaps two elements must hold both in registers before it stores either of them.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Thread i owns elements i and n - 1 - i. The predicate counts *pairs*, and the grid covers pairs as
# well. Even a single element needs one block.
#
# </details>

# %%
fk.exercise("week0/reverse_in_place").given


# %% exercise="week0/reverse_in_place" part="skeleton"
@cute.kernel
def reverse_in_place_kernel(mX: cute.Tensor):
    # FILL ME IN (roughly 8 lines)
    pass


@cute.jit
def reverse_in_place(mX: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week0/reverse_in_place" part="grade"
fk.exercise("week0/reverse_in_place").grade(reverse_in_place)

# %% [markdown] exercise="week0/reverse_in_place" part="solution"
# <details><summary>Solution of exercise 4</summary>
#
# ```python
# @cute.kernel
# def reverse_in_place_kernel(mX: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     n = mX.shape[0]
#     i = bidx * 128 + tidx
#     if i < n // 2:
#         front, back = mX[i], mX[n - 1 - i]
#         mX[i] = back
#         mX[n - 1 - i] = front
#
#
# @cute.jit
# def reverse_in_place(mX: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 2 * 128)
#     reverse_in_place_kernel(mX).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# When input and output are the same array, two threads that access the same element race as soon as
# one of them writes it. So decide first which thread owns each element; here, one thread owns each
# pair. The accesses that run *down* from the end are coalesced as well, because a request fetches
# the same four sectors in any order of the lanes.
#
# </details>

# %% [markdown]
# > **Looks right but is wrong.** Suppose that each of n threads swaps its element with the opposite
# > one. On the virtual GPU, all threads usually load before any of them stores, so every value is
# > correct at every small size. In another order the values are wrong, because each element has
# > two owners, which race.
#
# ## 5. One predicate per access
#
# So far, one predicate covered both the loads and the store. In the next exercise they need
# separate predicates, as in `lower_triangle`.

# %% [markdown] exercise="week0/window" part="task"
# ### Exercise 5: cut a window out of a matrix
#
# Compute `y[i, j] = x[top + i, left + j]` in float32 and float16. The window is as large as `y`,
# has at most 65,535 rows, and may extend past any edge of `x`. Store 0 where `x` has no such
# element. `top` and `left` are integers and may be negative. Elements may be infinite. Signature:
# `window(x, top, left, y)`.
#
# <details><summary>Hint 1</summary>
#
# The kernel must answer two questions. Does this element of y exist? Does the corresponding element
# of x exist?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A thread without an element of x must still store something. Which of the two predicates covers
# the store?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Start with a 0 of y's type and overwrite it where x has the element. This test takes four
# comparisons, because an index can also be too small. Then every thread that has an element of y
# stores its value.
#
# </details>

# %%
fk.exercise("week0/window").given


# %% exercise="week0/window" part="skeleton"
@cute.kernel
def window_kernel(mX: cute.Tensor, top: cutlass.Int32, left: cutlass.Int32, mY: cute.Tensor):
    # FILL ME IN (roughly 9 lines)
    pass


@cute.jit
def window(mX: cute.Tensor, top: cutlass.Int32, left: cutlass.Int32, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week0/window" part="grade"
fk.exercise("week0/window").grade(window)

# %% [markdown] exercise="week0/window" part="solution"
# <details><summary>Solution of exercise 5</summary>
#
# ```python
# @cute.kernel
# def window_kernel(mX: cute.Tensor, top: cutlass.Int32, left: cutlass.Int32, mY: cute.Tensor):
#     tx, ty, _ = cute.arch.thread_idx()
#     bx, by, _ = cute.arch.block_idx()
#     i, j = by * 8 + ty, bx * 32 + tx
#     if i < mY.shape[0] and j < mY.shape[1]:
#         row, column = top + i, left + j
#         value = mY.element_type(0)
#         if row >= 0 and row < mX.shape[0] and column >= 0 and column < mX.shape[1]:
#             value = mX[row, column]
#         mY[i, j] = value
#
#
# @cute.jit
# def window(mX: cute.Tensor, top: cutlass.Int32, left: cutlass.Int32, mY: cute.Tensor):
#     grid = (cute.ceil_div(mY.shape[1], 32), cute.ceil_div(mY.shape[0], 8), 1)
#     window_kernel(mX, top, left, mY).launch(grid=grid, block=(32, 8, 1))
# ```
#
# Convolutions pad their input in this way. The load has its own predicate, and elements outside the
# input become zeros without any read from memory. If the window does not begin at a multiple of 8
# elements, each load request fetches a fifth sector.
#
# </details>

# %% [markdown]
# ## Summary

# %% tags=["nbval-ignore-output"]
fk.progress("week0")

# %% [markdown]
# | exercise | main idea | shown in |
# |---|---|---|
# | add two arrays | a grid computed from the length, a predicate | `00_start_here` |
# | clamp and convert | numbers as arguments, a type conversion | section 2 |
# | add a row to every row | two indices, coalesced accesses | `01_why_slow_why_wrong` |
# | reverse in place | one owner per element | `01_why_slow_why_wrong` (races) |
# | window | separate predicates for the load and the store | `01_why_slow_why_wrong` |
#
# Together with `ramp`, `lower_triangle` and `three_sums`, you have now written eight whole kernels.
#
# **In practice**, most kernels written for a model are of this size: a chain of elementwise steps,
# a gather, or a conversion from one library's layout to another's. Their running time depends on
# the number of bytes that they move. That is why the grader checks that enough threads move each
# byte once, in whole sectors.
#
# **Further reading:** [GPU Puzzles](https://github.com/srush/GPU-Puzzles), 14 small kernels in
# Numba · [Mojo GPU puzzles](https://puzzles.modular.com/).
#
# **Next:** you computed the index in each of these kernels by hand. Layouts are functions that
# compute it for you ([`03_see_layouts`](03_see_layouts.ipynb)).
