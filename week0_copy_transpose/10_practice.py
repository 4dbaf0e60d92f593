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
# # Practise by writing five more kernels
#
# **You will build** five kernels, each with its host function and launch, by filling in two empty
# function bodies.
# **You will learn** to decide without help which elements a block shares, which predicate each
# access needs, and when a vector pays off.
# **You need** `00_start_here` to `08_transpose_to_the_limit`; no GPU. About 10 minutes, and 110
# more for the exercises.

# %%
import cutlass
import cutlass.cute as cute

import forgekit as fk

# %% [markdown]
# ## Access each sector once
#
# `02_five_kernels` contains the first five whole kernels and explains how a kernel is graded: for
# values, every order of threads, the requirements in the task, and waste. Each of those five
# kernels moved single elements. In the next exercise, accesses to single elements would move some
# sectors **twice**.

# %% [markdown] exercise="week0/interleave" part="task"
# ### Exercise 1: interleave two arrays
#
# Store `z[2i] = a[i]` and `z[2i + 1] = b[i]`, where `a` and `b` have n elements and `z` has 2n.
# Support float32 and float16, and request no sector of memory twice. Signature: `interleave(a, b,
# z)`.
#
# <details><summary>Hint 1</summary>
#
# If thread i writes `z[2 * i]`, how far apart are the addresses of neighbouring lanes? How many
# sectors does such a store access, and how much of each does it use?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `04_copy_fast` shows how a thread moves several adjacent elements with one access.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Put the two values into a small tensor in registers, and store it as *one* vector of two elements.
# `zipped_divide` cuts z into such pairs, and `autovec_copy` stores one pair.
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
# <details><summary>Solution of exercise 1</summary>
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
# Each of two scalar stores would access 8 sectors and fill half of each, whereas one vector store
# accesses the same 8 sectors only once. In another correct version, one thread per element of z
# reads from a or from b. Its stores are coalesced, and each load fetches sectors for half of a
# warp. This version also passes, with twice as many threads.
#
# </details>

# %% [markdown]
# ## Share elements within a block
#
# In the next three exercises, the threads of a block exchange elements through shared memory.

# %% [markdown] exercise="week0/sliding_max" part="task"
# ### Exercise 2: find the largest of four neighbours
#
# Let `y[i]` be the largest of `x[i]`, `x[i + 1]`, `x[i + 2]` and `x[i + 3]`, or of those that
# exist. Each block must load its elements from global memory *once* and share them. Both tensors
# are float32; elements may be infinite. Signature: `sliding_max(x, y)`.
#
# **Required**: at most 1 barrier.
#
# <details><summary>Hint 1</summary>
#
# A block of 128 threads needs more than 128 elements of x. How many more does it need, and which
# threads load them?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Where x has no element, shared memory must hold a value that is never the maximum. Which value is
# that? It is not 0, because all elements of x may be negative.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Use a tile of 128 + 3 elements. Every thread stores its own element, and each of the first three
# threads also stores one element of the halo, 128 places further on. Past the end of x, store
# -cutlass.Float32.inf. After a barrier, read four elements of the tile.
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
# <details><summary>Solution of exercise 2</summary>
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
# Without shared memory, the kernel would load each element four times. With it, a block loads 131
# elements for 128 results; the three extra elements are called the *halo*. The larger the tile, the
# smaller the share of the halo. All 128 threads must reach the barrier, including those past the
# end of x, so the predicates enclose only the loads and the store, not the whole body.
#
# </details>

# %% [markdown] exercise="week0/convolve" part="task"
# ### Exercise 3: convolve with a filter in shared memory
#
# Let `y[i]` be the sum of `w[k] * x[i + k]` over all elements of the filter `w`, where `x` counts
# as 0 past its end. `w` has 1 to 32 elements. No block may load an element of `x` or `w` more than
# once; only the last one may be repeated, by threads beyond the end. All tensors are float32;
# elements of `x` may be infinite. Signature: `convolve(x, w, y)`.
#
# **Required**: at most 1 barrier, shared memory for at most 64 more floats than there are threads
# in a block.
#
# <details><summary>Hint 1</summary>
#
# This is the previous exercise with a second tensor in shared memory and a halo whose size is known
# only at run time. Tensors in shared memory have fixed sizes, so allocate space for the largest
# halo and filter.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Which threads load w, and which load the halo? Neither of them has more than 32 elements. How many
# barriers do two tensors need?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Use one tile of 128 + 31 elements and one of 32 elements. The first `mW.shape[0] - 1` threads load
# the halo. After one barrier, start the sum with `cutlass.Float32(0)` and add the products in a
# loop over `range(mW.shape[0])`.
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
# <details><summary>Solution of exercise 3</summary>
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
# All lanes read the same `sW[k]` at the same time, which is called a broadcast and takes one
# wavefront. For every k, `sX[tidx + k]` reads 32 adjacent elements, which also takes one wavefront.
# So each product costs two accesses to shared memory and one multiply-add. For a long filter, these
# accesses limit the kernel. The next step would be to compute several results per thread from
# values in registers.
#
# </details>

# %% [markdown]
# > **Looks right but is wrong.** In `02_five_kernels`, one `if i < n:` could enclose the whole
# > body. In the last two kernels, it would prevent some threads of the last block from reaching the
# > barrier, which all threads of a block must reach.
#
# This is a good place for a break.

# %% [markdown] exercise="week0/rotate_image" part="task"
# ### Exercise 4: rotate an image by 90 degrees
#
# Rotate `x`, which has M rows of N elements, clockwise: `y[j, M - 1 - i] = x[i, j]`, where `y` has
# N rows of M elements. Both loads *and* stores must be coalesced. Signature: `rotate_image(x, y)`.
#
# **Required**: no bank conflicts.
#
# <details><summary>Hint 1</summary>
#
# You have written this kernel before, without the `M - 1 -`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The kernel fills a tile in shared memory along rows of x and reads it along rows of y. Which index
# of the tile changes from lane to lane when a warp reads it?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Keep the transpose with a padded or swizzled tile and its two predicates. Change only the
# destination column; stores to descending addresses are coalesced as well.
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
# <details><summary>Solution of exercise 4</summary>
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
# Any rotation or reflection of an image is this kernel with a different index in the last line. The
# addresses of the 32 lanes descend here, but the number of sectors does not depend on the order of
# the lanes. A pitch of 32 would cost 32 wavefronts per load instead of one.
#
# </details>

# %% [markdown]
# ## Decide when a vector pays off
#
# The kernel in the last exercise has two versions, and the compiler chooses one of them.

# %% [markdown] exercise="week0/every_kth" part="task"
# ### Exercise 5: keep every k-th column
#
# Store `y[i, c] = x[i, c * k]`, where `x` has M rows of N elements and `y` has N / k columns. `k`
# is a power of two, at least 2, and known at compile time. N is a multiple of both k and 8. Support
# float16 and float32. Signature: `every_kth(x, k, y)`.
#
# **Required**: 16 bytes per load if 16 bytes contain more than one element to keep.
#
# <details><summary>Hint 1</summary>
#
# How many elements does a vector of 16 bytes hold, and how many of them does the kernel keep? What
# is the smallest k for which it keeps only one?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `k` is a `cutlass.Constexpr`, so an `if cutlass.const_expr(…)` can choose the version at compile
# time. The size of the grid depends on this choice.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `zipped_divide` cuts x into pieces of `(1, vec)` and y into pieces of `(1, vec // k)`. A thread
# copies its piece into registers, selects every k-th element, and stores the selected elements as
# one vector. If k is vec or more, use one element per thread.
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
# <details><summary>Solution of exercise 5</summary>
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
# For small k, both versions load the same sectors, because each sector of 32 bytes contains
# elements to keep. A vector saves requests: with float16 and k = 2, one request loads four times as
# many elements to keep. With float16, a vector saves nothing for k = 8 or more, and for k = 32
# loading whole rows would double the number of bytes. Count bytes to decide where vectors pay off;
# a `const_expr` makes that decision for each type.
#
# </details>

# %% [markdown]
# ## What you can do now

# %% tags=["nbval-ignore-output"]
fk.progress("week0")

# %% [markdown]
# | exercise | main idea | shown in |
# |---|---|---|
# | interleave | two values in one vector | `04_copy_fast` |
# | the largest of four | a tile with a halo, a barrier, minus infinity | `01_why_slow_why_wrong` |
# | convolve | two tensors in shared memory, one of them broadcast | `01_why_slow_why_wrong` |
# | rotate an image | coalesced loads and stores, no bank conflicts | `07_transpose` |
# | every k-th column | 16-byte loads where they pay off | `08_transpose_to_the_limit` |
#
# **In practice**, the running time of such kernels depends on the number of bytes that they move.
# Production convolutions, stencils and image operations differ from yours in the size of their halo
# and in the number of results per thread.
#
# **Further reading:** [LeetGPU](https://leetgpu.com/), with larger puzzles that are timed on a GPU.
#
# **Next:** reductions in week 1, where threads have to agree on one number
# ([`00_what_is_the_right_sum`](../week1_reduce/00_what_is_the_right_sum.ipynb)).
