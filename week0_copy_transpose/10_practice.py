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
# # Practise: write ten kernels from an empty body
#
# **You will build** ten kernels, each with its host function and its launch, from two empty bodies.
# **You will learn** to find by yourself what the notebooks before have shown: who owns which
# element, what each predicate has to ask, what a block should share, when a vector pays.
# **You need** `00_start_here` to `08_transpose_to_the_limit`; no GPU. About 15 minutes, and 150
# more for the exercises.

# %%
import cutlass
import cutlass.cute as cute

import forgekit as fk

# %% [markdown]
# ## How a kernel is graded
#
# A puzzle says what the result is, draws it for a few elements, and names the call. The rest is
# yours: the index, the predicates, the blocks and the grid. A cell with `grade` has up to four
# gates, and it stops at the first that is closed:
#
# 1. **Values**: at sizes that are awkward (1, one more than a block, no multiple of anything), and
#    at sizes drawn anew for each kernel whenever Python starts.
# 2. **Every order of threads**: the sanitizer, in the usual order and in adversarial schedules.
# 3. **As asked**: the facts in the last line of the task, and no others, at each type.
# 4. **Nothing wasted**: sectors, stores, threads, instructions and more, beside what our solution
#    takes for the same call. A kernel that is written quite differently passes as long as it
#    wastes nothing.
#
# When a gate stays closed, read the line and the thread that it names, then draw the failing call:
# `fk.exercise("week0/…").failed.show()`. Take a hint only after that; the third names the idea and
# the line it belongs to. `fk.exercise("week0/…").reset()` gives you the empty bodies back.

# %% [markdown]
# ## One thread, one element
#
# Five of the six need nothing but an index and a predicate. The one that needs more says so.

# %% [markdown] exercise="week0/add_arrays" part="task"
# ### Exercise 1: add two arrays
#
# `z[i] = a[i] + b[i]` for three arrays of one length, whatever it is, in float32 and float16. The
# host function is called as `add_arrays(a, b, z)`.
#
# <details><summary>Hint 1</summary>
#
# A kernel for the threads, a host function for the launch: `scale` had both.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# How many blocks of 128 threads does a length of n need? Which threads have none?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The number of blocks is `cute.ceil_div(n, 128)`; the predicate comes before any element is
# touched, of all three arrays at once.
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
# Twelve bytes an element and one addition: on any GPU this kernel waits for memory. Nothing in it
# can be faster than reading `a` and `b` once and writing `z` once.
#
# </details>

# %% [markdown] exercise="week0/add_row" part="task"
# ### Exercise 2: add a row to every row
#
# `z[i, j] = x[i, j] + r[j]`: `x` and `z` have M rows and N columns, `r` has N elements. The host
# function is called as `add_row(x, r, z)`.
#
# <details><summary>Hint 1</summary>
#
# A matrix has two edges, so a thread has two numbers: its row and its column.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Blocks of 32 × 8 threads, and a grid of two dimensions. Which of the two numbers has to change
# from lane to lane?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# x of thread and block is the column, y the row; the grid's first entry counts blocks across, its
# second blocks down; and the predicate asks for both edges.
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
# <details><summary>Solution of exercise 2</summary>
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
# `r` is loaded once for each row of `x`: as many sectors again as `x` itself. On a GPU most of them
# come from a cache, but the requests are made. A thread that keeps its `r[j]` in a register and
# goes down eight rows makes an eighth of them; try it, it passes as well.
#
# </details>

# %% [markdown] exercise="week0/reverse_in_place" part="task"
# ### Exercise 3: reverse an array in place
#
# Reverse `x`, of any length, without a second array: what is read is overwritten. Each pair is
# exchanged by *one* thread. The host function is called as `reverse_in_place(x)`.
#
# <details><summary>Hint 1</summary>
#
# How many pairs are there among 7 elements? Among 8, 1?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A thread that exchanges two elements needs both in registers before it stores either.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Thread i has the elements i and n - 1 - i. The predicate counts *pairs*; the number of blocks
# follows from the pairs, too, and must not become 0 for a single element.
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
# <details><summary>Solution of exercise 3</summary>
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
# In place, two threads that touch one element race, whatever they do with it; so ownership comes
# first: one thread, one pair. Lanes that go *down* from the end are coalesced just as well: a
# request wants the same four sectors, in whichever order the lanes name them.
#
# </details>

# %% [markdown]
# > **Looks right and is wrong.** Let all n threads exchange, each its own element with the one
# > opposite. In the usual order of the virtual GPU every value comes out right, at every size that
# > is graded here, since there all threads load before one of them stores. In another order it does
# > not: each element has two owners, and they race.

# %% [markdown] exercise="week0/interleave" part="task"
# ### Exercise 4: interleave two arrays
#
# `z[2i] = a[i]` and `z[2i + 1] = b[i]`, for `a` and `b` of n elements and `z` of 2n. No sector of
# memory may be asked for twice. The host function is called as `interleave(a, b, z)`.
#
# <details><summary>Hint 1</summary>
#
# If thread i writes `z[2 * i]`, how far apart do the 32 lanes of a warp store? How many sectors is
# that, and how much of each is used?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `04_copy_fast` had a remedy for elements that lie side by side and belong to one thread.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Put the two values into a small tensor in registers, and store it as *one* vector of two elements:
# `zipped_divide` cuts z into such pairs, and `autovec_copy` stores one.
#
# </details>

# %%
fk.exercise("week0/interleave").given


# %% exercise="week0/interleave" part="skeleton"
@cute.kernel
def interleave_kernel(mA: cute.Tensor, mB: cute.Tensor, mZ: cute.Tensor):
    # FILL ME IN (roughly 8 lines)
    pass


@cute.jit
def interleave(mA: cute.Tensor, mB: cute.Tensor, mZ: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week0/interleave" part="grade"
fk.exercise("week0/interleave").grade(interleave)

# %% [markdown] exercise="week0/interleave" part="solution"
# <details><summary>Solution of exercise 4</summary>
#
# ```python
# @cute.kernel
# def interleave_kernel(mA: cute.Tensor, mB: cute.Tensor, mZ: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     gZ = cute.zipped_divide(mZ, (2,))  # ((2),(Rest))
#     i = bidx * 128 + tidx
#     if i < mA.shape[0]:
#         rZ = cute.make_rmem_tensor(2, mA.element_type)
#         rZ[0], rZ[1] = mA[i], mB[i]
#         cute.autovec_copy(rZ, gZ[(None, i)])
#
#
# @cute.jit
# def interleave(mA: cute.Tensor, mB: cute.Tensor, mZ: cute.Tensor):
#     blocks = cute.ceil_div(mA.shape[0], 128)
#     interleave_kernel(mA, mB, mZ).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# Two scalar stores ask for 8 sectors each and fill half of each; the vector asks for the same 8
# once. The other way is a thread for each element of z, which reads from a or from b: its stores
# are coalesced, and each load asks for half a warp's sectors. It passes too, with twice the
# threads.
#
# </details>

# %% [markdown] exercise="week0/window" part="task"
# ### Exercise 5: cut a window out of a matrix
#
# `y[i, j] = x[top + i, left + j]`. The window may hang over any edge of `x`: where `x` has no such
# element, `y` is 0. `top` and `left` are numbers, and they may be negative. The host function is
# called as `window(x, top, left, y)`; the window is as large as `y`.
#
# <details><summary>Hint 1</summary>
#
# Two questions, not one: is there such an element of y? Is there such an element of x?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A thread whose element of x is missing still has to store something. Which of the two predicates
# covers the store?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Begin with a value of 0 in y's type, overwrite it where x has the element (four comparisons, for
# an index can be too small as well), and store it in every thread that has an element of y.
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
# This is how a convolution pads and how a tile is loaded with its halo: the load has a predicate of
# its own, and what is not there is a zero that is never read from memory. A window that does not
# begin at a multiple of 8 elements costs a fifth sector each request; there is no way around that.
#
# </details>

# %% [markdown] exercise="week0/clamp" part="task"
# ### Exercise 6: clamp and convert
#
# `y[i]` is `x[i]`, but not below `low` and not above `high`, rounded to bfloat16. `x` is float32,
# `y` is bfloat16, `low` and `high` are numbers. The host function is called as `clamp(x, low, high,
# y)`.
#
# <details><summary>Hint 1</summary>
#
# Numbers are passed to a kernel as tensors are: `low: cutlass.Float32`. What does Python call the
# smaller of two numbers, and the larger?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `min` and `max` work in a kernel. Which of the bounds belongs to which?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In the one line that stores: the larger of x and low, the smaller of that and high, and last the
# conversion `.to(…)`, which a store into another type does not do by itself.
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
# <details><summary>Solution of exercise 6</summary>
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
# Six bytes an element where a float32 result would take eight: three quarters of the traffic, for a
# conversion that is one instruction. Fusing what comes after a load into the kernel that loads
# anyway is the cheapest speed-up there is. Clamping after the conversion gives the same numbers,
# since rounding keeps the order; it costs one conversion more.
#
# </details>

# %% [markdown]
# ## What a block shares
#
# From here on a block loads into shared memory what more than one of its threads needs.

# %% [markdown] exercise="week0/sliding_max" part="task"
# ### Exercise 7: the largest of four neighbours
#
# `y[i]` is the largest of `x[i]`, `x[i + 1]`, `x[i + 2]`, `x[i + 3]`, or of as many of them as
# there are. Each block loads what it needs from global memory *once*, and shares it. The host
# function is called as `sliding_max(x, y)`; both are float32.
#
# **Asked**: at most 1 barrier.
#
# <details><summary>Hint 1</summary>
#
# A block of 128 threads needs more than 128 elements of x. How many more, and who loads them?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# What may stand in shared memory where x has no element, so that no maximum notices? 0 is not it:
# all of x may be negative.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A tile of 128 + 3: every thread stores its element, the first three also store one of the halo,
# 128 further; -cutlass.Float32.inf where x ends. A barrier; then four elements of the tile.
#
# </details>

# %%
fk.exercise("week0/sliding_max").given


# %% exercise="week0/sliding_max" part="skeleton"
@cute.kernel
def sliding_max_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 12 lines)
    pass


@cute.jit
def sliding_max(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week0/sliding_max" part="grade"
fk.exercise("week0/sliding_max").grade(sliding_max)

# %% [markdown] exercise="week0/sliding_max" part="solution"
# <details><summary>Solution of exercise 7</summary>
#
# ```python
# @cute.kernel
# def sliding_max_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     n = mX.shape[0]
#     i = bidx * 128 + tidx
#     smem = cutlass.memory.SmemAllocator()
#     sX = smem.allocate_tensor(cutlass.Float32, cute.make_layout(128 + 3), 16)
#     sX[tidx] = mX[i] if i < n else -cutlass.Float32.inf
#     if tidx < 3:
#         sX[128 + tidx] = mX[i + 128] if i + 128 < n else -cutlass.Float32.inf
#     cute.arch.sync_threads()
#     if i < n:
#         mY[i] = max(max(sX[tidx], sX[tidx + 1]), max(sX[tidx + 2], sX[tidx + 3]))
#
#
# @cute.jit
# def sliding_max(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 128)
#     sliding_max_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# Without shared memory each element is loaded four times. With it a block loads 131 elements for
# 128 results, 2 % more than its own: the halo. The larger the tile, the smaller that share. All 128
# threads must come to the barrier, also those beyond the end of x; so the predicate is around the
# loads and the store, not around the whole.
#
# </details>

# %% [markdown] exercise="week0/convolve" part="task"
# ### Exercise 8: convolve with a filter in shared memory
#
# `y[i]` is the sum of `w[k] * x[i + k]` over the elements of the filter `w`; behind its end, `x`
# counts as 0. `w` has 1 to 32 elements. A block loads each element of `x` and of `w` that it needs
# once. The host function is called as `convolve(x, w, y)`; all are float32.
#
# **Asked**: at most 1 barrier, shared memory for at most 64 floats more than a block has threads.
#
# <details><summary>Hint 1</summary>
#
# It is the last puzzle with a halo whose size is known at run time, and a second tensor in shared
# memory. A tensor there has a size that is fixed, so it is the largest possible.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Which threads load w, which the halo? Neither has more than 32 elements. How many barriers do two
# tensors need?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Tiles of 128 + 31 and of 32; `w.shape[0] - 1` threads load the halo; one barrier; the sum begins
# with `cutlass.Float32(0)` and adds in a loop over `range(mW.shape[0])`.
#
# </details>

# %%
fk.exercise("week0/convolve").given


# %% exercise="week0/convolve" part="skeleton"
@cute.kernel
def convolve_kernel(mX: cute.Tensor, mW: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 18 lines)
    pass


@cute.jit
def convolve(mX: cute.Tensor, mW: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week0/convolve" part="grade"
fk.exercise("week0/convolve").grade(convolve)

# %% [markdown] exercise="week0/convolve" part="solution"
# <details><summary>Solution of exercise 8</summary>
#
# ```python
# @cute.kernel
# def convolve_kernel(mX: cute.Tensor, mW: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     n, taps = mX.shape[0], mW.shape[0]
#     i = bidx * 128 + tidx
#     smem = cutlass.memory.SmemAllocator()
#     sW = smem.allocate_tensor(cutlass.Float32, cute.make_layout(32), 16)
#     sX = smem.allocate_tensor(cutlass.Float32, cute.make_layout(128 + 31), 16)
#     sX[tidx] = mX[i] if i < n else cutlass.Float32(0)
#     if tidx < taps - 1:
#         sX[128 + tidx] = mX[i + 128] if i + 128 < n else cutlass.Float32(0)
#     if tidx < taps:
#         sW[tidx] = mW[tidx]
#     cute.arch.sync_threads()
#     total = cutlass.Float32(0)
#     for k in range(taps):
#         total += sW[k] * sX[tidx + k]
#     if i < n:
#         mY[i] = total
#
#
# @cute.jit
# def convolve(mX: cute.Tensor, mW: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 128)
#     convolve_kernel(mX, mW, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# All lanes read the same `sW[k]` at the same time: a broadcast, one wavefront. `sX[tidx + k]` is 32
# neighbours, whatever k is: one wavefront, too. So each product costs two accesses of shared memory
# and one multiply-add. That is what limits this kernel once the filter is long; then several
# results a thread, from registers, are the next step.
#
# </details>

# %% [markdown]
# > **Looks right and is wrong.** An `if i < n:` around all of the body was fine in the first six
# > kernels. In the last two it keeps threads of the last block from the barrier, and a barrier is
# > for all threads of a block.

# %% [markdown] exercise="week0/rotate_image" part="task"
# ### Exercise 9: rotate an image by 90 degrees
#
# Turn `x`, M rows of N, clockwise: `y`, N rows of M, with `y[j, M - 1 - i] = x[i, j]`. Loads *and*
# stores are coalesced. The host function is called as
# `rotate_image(x, y)`.
#
# **Asked**: no bank conflicts.
#
# <details><summary>Hint 1</summary>
#
# Without the `M - 1 -` you have written this kernel before.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A tile in shared memory is filled along rows of x and read along rows of y. Which index of the
# tile changes from lane to lane when it is read?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The transpose with a padded or swizzled tile stays as it is, with its two predicates; only the
# column that is stored to changes, and lanes that go down are coalesced as well.
#
# </details>

# %%
fk.exercise("week0/rotate_image").given


# %% exercise="week0/rotate_image" part="skeleton"
@cute.kernel
def rotate_image_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 14 lines)
    pass


@cute.jit
def rotate_image(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week0/rotate_image" part="grade"
fk.exercise("week0/rotate_image").grade(rotate_image)

# %% [markdown] exercise="week0/rotate_image" part="solution"
# <details><summary>Solution of exercise 9</summary>
#
# ```python
# @cute.kernel
# def rotate_image_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tx, ty, _ = cute.arch.thread_idx()
#     bx, by, _ = cute.arch.block_idx()
#     M, N = mX.shape
#     row0, col0 = by * 32, bx * 32
#     smem = cutlass.memory.SmemAllocator()
#     layout_s = cute.make_layout((32, 32), stride=(33, 1))
#     sX = smem.allocate_tensor(mX.element_type, layout_s, 16)
#     for k in cutlass.range_constexpr(0, 32, 8):
#         if row0 + ty + k < M and col0 + tx < N:
#             sX[ty + k, tx] = mX[row0 + ty + k, col0 + tx]
#     cute.arch.sync_threads()
#     for k in cutlass.range_constexpr(0, 32, 8):
#         if col0 + ty + k < N and row0 + tx < M:
#             mY[col0 + ty + k, M - 1 - (row0 + tx)] = sX[tx, ty + k]
#
#
# @cute.jit
# def rotate_image(mX: cute.Tensor, mY: cute.Tensor):
#     grid = (cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 32), 1)
#     rotate_image_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))
# ```
#
# Every rotation and reflection of an image is this kernel with another index in the last line. A
# warp's 32 addresses run downwards here; sectors do not care about the order of lanes. A pitch of
# 32 would cost 32 wavefronts a load in place of one.
#
# </details>

# %% [markdown]
# ## When a vector pays
#
# The last one has two kernels in it; the compiler chooses.

# %% [markdown] exercise="week0/every_kth" part="task"
# ### Exercise 10: keep every k-th column
#
# `y[i, c] = x[i, c * k]`: `x` has M rows of N, `y` has N / k columns. `k` is a power of two from 2
# on, known when the kernel is compiled; N is a multiple of k and of 8. The host function is called
# as `every_kth(x, k, y)`, with float16 and float32.
#
# **Asked**: 16 bytes per load where they hold more than one element that is kept.
#
# <details><summary>Hint 1</summary>
#
# How many elements has a vector of 16 bytes, and how many of them are kept? From which k on is it a
# single one?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `k` is a `cutlass.Constexpr`: an `if` with `cutlass.const_expr(…)` chooses the kernel while it is
# compiled. The grid has to follow, too.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `zipped_divide` cuts x into pieces of `(1, vec)` and y into `(1, vec // k)`; a thread copies its
# piece into registers, picks every k-th, and stores these as one vector, or stores come in as many
# pieces. With k from vec on, one element a thread.
#
# </details>

# %%
fk.exercise("week0/every_kth").given


# %% exercise="week0/every_kth" part="skeleton"
@cute.kernel
def every_kth_kernel(mX: cute.Tensor, k: cutlass.Constexpr, mY: cute.Tensor):
    # FILL ME IN (roughly 16 lines)
    pass


@cute.jit
def every_kth(mX: cute.Tensor, k: cutlass.Constexpr, mY: cute.Tensor):
    # FILL ME IN (roughly 4 lines)
    pass


# %% exercise="week0/every_kth" part="grade"
fk.exercise("week0/every_kth").grade(every_kth)

# %% [markdown] exercise="week0/every_kth" part="solution"
# <details><summary>Solution of exercise 10</summary>
#
# ```python
# @cute.kernel
# def every_kth_kernel(mX: cute.Tensor, k: cutlass.Constexpr, mY: cute.Tensor):
#     tx, ty, _ = cute.arch.thread_idx()
#     bx, by, _ = cute.arch.block_idx()
#     i, j = by * 8 + ty, bx * 32 + tx
#     vec = cutlass.const_expr(128 // mX.element_type.width)
#     if cutlass.const_expr(k < vec):
#         gX = cute.zipped_divide(mX, (1, vec))  # ((1,Vec),(M,N/Vec))
#         gY = cute.zipped_divide(mY, (1, vec // k))  # ((1,Vec/k),(M,N/Vec))
#         if i < mX.shape[0] and j < mX.shape[1] // vec:
#             rX = cute.make_rmem_tensor(vec, mX.element_type)
#             rY = cute.make_rmem_tensor(vec // k, mX.element_type)
#             cute.autovec_copy(gX[(0, None), (i, j)], rX)
#             for v in cutlass.range_constexpr(vec // k):
#                 rY[v] = rX[v * k]
#             cute.autovec_copy(rY, gY[(0, None), (i, j)])
#     elif i < mY.shape[0] and j < mY.shape[1]:
#         mY[i, j] = mX[i, j * k]
#
#
# @cute.jit
# def every_kth(mX: cute.Tensor, k: cutlass.Constexpr, mY: cute.Tensor):
#     vec = cutlass.const_expr(128 // mX.element_type.width)
#     columns = mX.shape[1] // cutlass.const_expr(max(k, vec))
#     grid = (cute.ceil_div(columns, 32), cute.ceil_div(mX.shape[0], 8), 1)
#     every_kth_kernel(mX, k, mY).launch(grid=grid, block=(32, 8, 1))
# ```
#
# The sectors are the same either way: of 32 bytes, the ones kept and the ones not come together.
# What a vector saves are requests, four times as many elements at once for float16 and k = 2. From
# k = 8 on it saves nothing, and once k is larger than a sector, loading whole rows would double the
# bytes. Where to compute with vectors is a question of bytes, and the compiler can answer it per
# type.
#
# </details>

# %% [markdown]
# ## What you can do now

# %% tags=["nbval-ignore-output"]
fk.progress("week0")

# %% [markdown]
# | puzzle | what it asks for | shown in |
# |---|---|---|
# | add two arrays | a grid that follows the length, a predicate | `00_start_here` |
# | add a row to every row | two indices, columns from lane to lane | `01_why_slow_why_wrong` |
# | reverse in place | one owner for each element | `01_why_slow_why_wrong` |
# | interleave | two values, one vector | `04_copy_fast` |
# | window | a predicate for the load, another for the store | `04_copy_fast` |
# | clamp and convert | two types in one line | `04_copy_fast` |
# | the largest of four | a tile with a halo, a barrier, an identity | `07_transpose` |
# | convolve | two tensors in shared memory, one broadcast | `07_transpose` |
# | rotate an image | both sides coalesced, no bank conflict | `07_transpose` |
# | every k-th column | 16 bytes where they pay | `08_transpose_to_the_limit` |
#
# **In practice** most kernels that are written for a model are of this size: an elementwise chain,
# a gather, a layout that one library wants and another does not deliver. They take as long as their
# bytes, so what counts is what you were graded on: each byte moved once, in whole sectors, by
# enough threads.
#
# **Further reading:** [GPU Puzzles](https://github.com/srush/GPU-Puzzles), 14 small kernels in
# Numba · [Mojo GPU puzzles](https://puzzles.modular.com/) · [LeetGPU](https://leetgpu.com/), larger
# ones, timed on a GPU.
#
# **Next:** week 1, where threads have to agree on one number: reductions
# ([`00_what_is_the_right_sum`](../week1_reduce/00_what_is_the_right_sum.ipynb)).
