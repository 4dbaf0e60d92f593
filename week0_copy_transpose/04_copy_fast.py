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
# # Copy fast: from one element per thread to 16 bytes per load
#
# **You will build** five copies with the same result. The first reaches less than half the speed of
# memory, and the fourth reaches nearly all of it.
# **You will learn** the minimum time of a copy, why it matters *which* four elements a thread
# copies, and how to load 16 bytes with one instruction without leaving the tensor.
# **You need** `01_why_slow_why_wrong` (sectors, requests) and `03_see_layouts` (tiles, TV layouts);
# no GPU. About 35 minutes, and 35 more for the exercises.
#
# Wherever you see **Predict**, replace `None` with your answer before you run the next cell.

# %%
import cutlass
import cutlass.cute as cute
import torch
from IPython.display import display
from week0_helpers import accesses, check_shapes, cost, flat, order, promised, side_by_side

import forgekit as fk
from forgekit.benching.recorded import recorded

# %% [markdown]
# ## 1. The minimum time of a copy
#
# A copy computes nothing. It reads every byte once and writes every byte once, so its time depends
# on memory alone. **Bandwidth** is the number of bytes that memory moves per second; on an H200, it
# is at most 4.8 TB/s. The number of bytes divided by the bandwidth is the **bound**, and no copy
# can take less time.
#
# **Predict:** what is the minimum time, in microseconds, of a copy of 8192 × 8192 `float32`?

# %%
least = fk.predict("minimum microseconds", None)

# %% jupyter={"outputs_hidden": true}
moved = 2 * 8192 * 8192 * 4  # read once and written once, 4 bytes each
least.against(round(moved / 4.8e12 * 1e6))
print(f"{moved / 1e6:.0f} MB")

# %% [markdown]
# A kernel can be slower than this bound for two reasons. It may move more bytes than necessary,
# which earlier notebooks measured, or it may request them too slowly.
#
# Start with the copy that you already know, in which each thread copies one element. `threads` is
# the number of threads per block. `cost`, from this week's `week0_helpers.py`, checks a copy and
# prints the cost of one call.
#
# <details><summary>How `cost` works</summary>
#
# It fills `y` with NaN, calls `run(x, y)`, compares `y` with `x`, and profiles one call. The last
# number that it prints is the number of warp instructions per kilobyte of `x`.
#
# </details>


# %%
@cute.kernel
def element_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdim, _, _ = cute.arch.block_dim()
    i = bidx * bdim + tidx
    if i < mX.shape[0]:
        mY[i] = mX[i]


@cute.jit
def copy_elements(mX: cute.Tensor, mY: cute.Tensor, threads: cutlass.Constexpr = 128):
    blocks = cute.ceil_div(mX.shape[0], threads)
    element_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(threads, 1, 1))


x, y = fk.randn(4096), fk.empty(4096)
run_elements = fk.compile(copy_elements, x, y)
profile = cost("elements", run_elements, x)

# %% [markdown]
# Each request fetches four sectors for 128 bytes, so no byte is wasted. **The bad number is 120**,
# the number of instructions per kB. Only 16 of them, 8 loads and 8 stores, move data. The others
# compute addresses and predicates.
#
# ## 2. Two ways to copy four elements per thread
#
# A thread that copies four elements computes its index only once. There are two ways to assign
# elements to threads. In the **consecutive** way, thread 0 copies elements 0 to 3, thread 1 copies
# elements 4 to 7, and so on. In the **strided** way, thread `t` of a block of `T` threads copies
# elements `t`, `t + T`, `t + 2T` and `t + 3T`.
#
# The loops below show both ways for four threads. The number of sectors depends on each *load*,
# that is, on the elements that all threads of a warp read at the same time.

# %%
T = 4  # threads in a block
ways = {"consecutive": lambda t, k: 4 * t + k, "strided": lambda t, k: t + T * k}
for way, element in ways.items():
    print(way)
    for t in range(T):
        print(f"  thread {t} copies     ", [element(t, k) for k in range(4)])
    for k in range(4):
        print(f"  all threads, load {k}:", [element(t, k) for t in range(T)])


# %%
@cute.kernel
def consecutive_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdim, _, _ = cute.arch.block_dim()
    for k in cutlass.range_constexpr(4):
        i = (bidx * bdim + tidx) * 4 + k
        if i < mX.shape[0]:
            mY[i] = mX[i]


@cute.jit
def copy_consecutive(mX: cute.Tensor, mY: cute.Tensor, threads: cutlass.Constexpr = 128):
    blocks = cute.ceil_div(mX.shape[0], 4 * threads)
    consecutive_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(threads, 1, 1))


@cute.kernel
def strided_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdim, _, _ = cute.arch.block_dim()
    for k in cutlass.range_constexpr(4):
        i = (bidx * 4 + k) * bdim + tidx
        if i < mX.shape[0]:
            mY[i] = mX[i]


@cute.jit
def copy_strided(mX: cute.Tensor, mY: cute.Tensor, threads: cutlass.Constexpr = 128):
    blocks = cute.ceil_div(mX.shape[0], 4 * threads)
    strided_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(threads, 1, 1))


# %%
small = fk.randn(15)
for copy in (copy_consecutive, copy_strided):
    run = fk.compile(copy, small, fk.empty(15), 4)
    display(fk.footprint(run, small, fk.empty(15), by="thread", tensor="mX"))

# %% [markdown]
# Now copy 4,096 elements in blocks of 128 threads.
#
# **Predict:** how many sectors does one load request fetch in the consecutive and in the strided
# copy?

# %%
both_ways = fk.predict("sectors per request, both ways", None)  # in the form (4, 4)

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(4096), fk.empty(4096)
run_consecutive = fk.compile(copy_consecutive, x, y)
run_strided = fk.compile(copy_strided, x, y)
profiles = [cost("consecutive", run_consecutive, x), cost("strided", run_strided, x)]
both_ways.against([round(p.global_load_sectors_per_request) for p in profiles])
fk.coalescing(run_consecutive, x, y, kind="load")

# %% [markdown]
# A request fetches few sectors if neighbouring *threads* read neighbouring elements at the same
# time; it does not matter which elements belong to the same thread. In the consecutive copy,
# neighbouring lanes read addresses 16 bytes apart. Each request fetches 16 sectors and uses a
# quarter of each, and the next three requests fetch the same sectors again. A cache may still hold
# them, but each request does four times the work.
#
# So the strided copy is better for single elements. However, the four loads of the consecutive copy
# need exactly the sectors that *one* load of four elements would need.
#
# ## 3. One instruction for four elements: vectors
#
# A thread can load 16 bytes with one instruction. Such a **vector** must begin at a multiple of 16
# bytes. To use vectors, cut the tensor into 16-byte pieces with `zipped_divide`, and let each
# thread `load` and `store` one piece.
#
# **Predict:** how many load requests do 4,096 elements take, how many sectors does each request
# fetch, and how many sectors would be enough for the bytes that it asks for? (With one element per
# thread, the answers are 128, 4 and 4.)

# %%
of_vectors = fk.predict("requests, sectors of each, ideal", None)  # in the form (128, 4, 4)


# %% jupyter={"outputs_hidden": true}
@cute.kernel
def vector_kernel(gX: cute.Tensor, gY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdim, _, _ = cute.arch.block_dim()
    i = bidx * bdim + tidx
    if i < cute.size(gX, mode=[1]):
        gY[(None, i)].store(gX[(None, i)].load())


@cute.jit
def copy_vectors(mX: cute.Tensor, mY: cute.Tensor, threads: cutlass.Constexpr = 128):
    vec = cutlass.const_expr(128 // mX.element_type.width)  # elements in 128 bits, 16 bytes
    gX = cute.zipped_divide(mX, (vec,))  # ((Vec),(Rest))
    gY = cute.zipped_divide(mY, (vec,))  # ((Vec),(Rest))
    blocks = cute.ceil_div(cute.size(gX, mode=[1]), threads)
    vector_kernel(gX, gY).launch(grid=(blocks, 1, 1), block=(threads, 1, 1))


x, y = fk.randn(4096), fk.empty(4096)
run_vectors = fk.compile(copy_vectors, x, y)
p = cost("vectors", run_vectors, x)
requests = p.global_load_requests
each = [p.global_load_sectors // requests, p.global_load_ideal_sectors // requests]
of_vectors.against([requests, *each])
fk.coalescing(run_vectors, x, y, kind="load")

# %% [markdown]
# The vector copy makes a quarter as many requests. Each of them fetches 16 sectors, as in the
# consecutive copy, but now the lanes use every byte. The number of sectors per request means little
# by itself: 16 is bad where 4 would be enough, but ideal where the lanes ask for 512 bytes. Always
# compare it with the ideal.
#
# Both copies assign the same four elements to each thread. Why did the compiler not turn the
# consecutive copy into vector accesses?

# %%
for name, run in (("consecutive", run_consecutive), ("vectors", run_vectors)):
    print(f"{name:>12}: {accesses(run)}")
print("a thread of the consecutive copy, in order:", *order(run_consecutive))

# %% [markdown]
# The compiler does not merge four separate accesses in Python into one instruction. To load a
# vector, call `load()` on a piece whose size the compiler knows. A vector moves as a whole or not
# at all, so it needs *one* predicate where the consecutive copy has four.
#
# ## 4. It looks right but is wrong
#
# The predicate of `vector_kernel` checks that vector `i` exists. The kernel is correct for all of
# these lengths:

# %%
check_shapes(run_vectors, [(4,), (512,), (1000,), (1020,), (4096,)])

# %% [markdown]
# **Predict:** with 1,001 elements, one thread does something wrong. Which thread, in which block?
# (The next error is intentional.)

# %%
fk.predict("thread and block to watch", None)  # in the form (thread, block); the error names them

# %% jupyter={"outputs_hidden": true} tags=["raises-exception"]
x, y = fk.randn(1001, device="virtual"), fk.empty(1001, device="virtual")
fk.compile(copy_vectors, x, y, device="virtual")(x, y)

# %% [markdown]
# `zipped_divide` rounds up. It cuts 1,001 elements into 251 vectors, and only one element of the
# last vector exists. Thread 122 of block 1 owns vector 250, so it copies four elements, three of
# which are past the end. A GPU would not stop it. All of `y` would be correct and `fk.check` would
# pass, but the kernel would overwrite 12 bytes of other data.
#
# > **Looks right but is wrong.** All the lengths that passed are multiples of 4, even those that
# > are not multiples of the 512 elements of a block. Test a vector kernel with lengths that are not
# > multiples of the vector length.

# %% [markdown] exercise="week0/fold_halves" part="task"
# ### Exercise 1: fold a vector in the middle
#
# Compute `y[i] = x[i] + x[i + h]`, where `h` is the length of `y`. It is half the length of `x` and
# a multiple of 8, which the grader promises to the compiler. Support float32 and float16. Write the
# whole kernel and its launch. Signature: `fold_halves(x, y)`.
#
# **Required**: 16 bytes per load, 16 bytes per store.
#
# <details><summary>Hint 1</summary>
#
# Cut both tensors into vectors, as `copy_vectors` does. Which vector of `x` must be added to vector
# i?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `h` elements form `h // vec` vectors. You can add the values that `load()` returns.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The predicate compares i with the number of vectors of `y`. The line after it loads both vectors
# from `gX`, adds them, and stores the sum in vector i of `gY`.
#
# </details>


# %% exercise="week0/fold_halves" part="skeleton"
@cute.kernel
def fold_halves_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 8 lines)
    pass


@cute.jit
def fold_halves(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 3 lines)
    pass


# %% exercise="week0/fold_halves" part="grade"
fk.exercise("week0/fold_halves").grade(fold_halves)

# %% [markdown] exercise="week0/fold_halves" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# @cute.kernel
# def fold_halves_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     vec = cutlass.const_expr(128 // mX.element_type.width)
#     gX = cute.zipped_divide(mX, (vec,))  # ((Vec),(Rest))
#     gY = cute.zipped_divide(mY, (vec,))  # ((Vec),(Rest))
#     i, half = bidx * 128 + tidx, mY.shape[0] // vec
#     if i < half:
#         gY[(None, i)].store(gX[(None, i)].load() + gX[(None, half + i)].load())
#
#
# @cute.jit
# def fold_halves(mX: cute.Tensor, mY: cute.Tensor):
#     vec = cutlass.const_expr(128 // mX.element_type.width)
#     blocks = cute.ceil_div(mY.shape[0], 128 * vec)
#     fold_halves_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# Both loads come before the store, so a thread waits for 32 bytes at the same time, twice as many
# as in a copy. In float32 the kernel moves 12 bytes per element of `y`, which is the minimum.
#
# </details>

# %% [markdown] exercise="week0/vector_copy" part="task"
# ### Exercise 2: copy vectors and the remaining elements
#
# Fix `copy_vectors` for *every* length, in `float32`, `float16` and `bfloat16`. A vector is 16
# bytes, which is 4 elements of `float32` or 8 of a 16-bit type. Let one thread copy each whole
# vector with one load and one store. Copy the elements after the last whole vector, at most 7, as
# well. Signature: `vector_copy(x, y)`.
#
# <details><summary>Hint 1</summary>
#
# How many *whole* vectors do `n` elements contain, and how many elements remain? Python has an
# operator for each of these numbers, and both operators work in a kernel.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Use two predicates, one after the other. Threads whose `i` is less than the number of whole
# vectors copy a vector. Threads whose `i` is less than the number of remaining elements copy one
# element. A few threads do both.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The first predicate compares `i` with a number of *vectors*, and the second compares it with a
# number of *elements*. The second `if` copies `mX[…]` to `mY[…]`. How many elements come before the
# first remaining one?
#
# </details>


# %% exercise="week0/vector_copy" part="skeleton"
@cute.kernel
def vector_copy_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    vec = cutlass.const_expr(128 // mX.element_type.width)  # elements in 16 bytes
    n = mX.shape[0]
    gX = cute.zipped_divide(mX, (vec,))  # ((Vec),(Rest))
    gY = cute.zipped_divide(mY, (vec,))  # ((Vec),(Rest))
    i = bidx * 128 + tidx
    # FILL ME IN (roughly 4 lines)
    if i < cute.size(gX, mode=[1]):
        gY[(None, i)].store(gX[(None, i)].load())


@cute.jit
def vector_copy(mX: cute.Tensor, mY: cute.Tensor):
    vec = cutlass.const_expr(128 // mX.element_type.width)
    blocks = cute.ceil_div(cute.ceil_div(mX.shape[0], vec), 128)
    vector_copy_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


# %% exercise="week0/vector_copy" part="grade"
fk.exercise("week0/vector_copy").grade(vector_copy)

# %% [markdown] exercise="week0/vector_copy" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# @cute.kernel
# def vector_copy_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     vec = cutlass.const_expr(128 // mX.element_type.width)  # elements in 16 bytes
#     n = mX.shape[0]
#     gX = cute.zipped_divide(mX, (vec,))  # ((Vec),(Rest))
#     gY = cute.zipped_divide(mY, (vec,))  # ((Vec),(Rest))
#     i = bidx * 128 + tidx
#     if i < n // vec:
#         gY[(None, i)].store(gX[(None, i)].load())
#     if i < n % vec:
#         mY[n // vec * vec + i] = mX[n // vec * vec + i]
#
#
# @cute.jit
# def vector_copy(mX: cute.Tensor, mY: cute.Tensor):
#     vec = cutlass.const_expr(128 // mX.element_type.width)
#     blocks = cute.ceil_div(cute.ceil_div(mX.shape[0], vec), 128)
#     vector_copy_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# The first threads of block 0 copy the remaining elements after their vectors. Any other threads
# could do so, as long as one thread copies each element. With `tidx` in place of `i`, the threads
# of every block would copy them. Production kernels often use one predicate per element in the last
# tile instead, which costs just as little, because an array has only one last tile.
#
# </details>

# %% [markdown]
# This is a good place for a break.
#
# ## 5. Coordinates as predicates for the two edges of a matrix
#
# In a one-dimensional array, a single index is enough to find an element and to check that it
# exists. A tiled matrix has two edges, and tiles may extend past both. A thread that owns a part of
# a tile knows neither the row nor the column of its elements.
#
# A tensor of *coordinates* provides both. `cute.make_identity_tensor(shape)` stores no data; its
# element at `(i, j)` is the pair `(i, j)`. If you cut, slice and compose it exactly like `mX`, each
# thread's part contains the coordinates of that thread's values.
#
# The loops below cut a 3 × 12 matrix into tiles of 2 × 8. Four threads share a tile, two per row,
# with four values each. The loops print the coordinate of each thread's first value.

# %%
rows, columns = 3, 12
for tile_row, tile_column in ((0, 0), (1, 0), (0, 1), (1, 1)):
    line = f"tile ({tile_row},{tile_column}):"
    for thread in range(4):
        row = 2 * tile_row + thread // 2
        column = 8 * tile_column + 4 * (thread % 2)  # of the thread's first value
        there = "inside" if row < rows and column < columns else "outside"
        line += f"  ({row},{column}) {there:7}"
    print(line)

# %% [markdown]
# The next kernel is the one from `03_see_layouts` with a third tensor, `cX`, which is cut like the
# other two. `tXcX` is the thread's part of `cX`. `cute.elem_less(a, b)` is true if *every* entry of
# `a`, here a row and a column, is less than the matching entry of `b`.
#
# One predicate per vector is enough if no vector crosses an edge. So the number of columns must be
# a multiple of the vector length. The helper `promised` makes this promise to the compiler with
# `fk.spec(t, divisible={1: 16 // t.element_size()})`.


# %%
@cute.kernel
def tv_kernel(
    gX: cute.Tensor,
    gY: cute.Tensor,
    cX: cute.Tensor,
    shape: cute.Shape,
    layout_tv: cute.Layout,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    tile = ((None, None), bidx)
    tXgX = cute.composition(gX[tile], layout_tv)[(tidx, None)]  # (Values)
    tXgY = cute.composition(gY[tile], layout_tv)[(tidx, None)]  # (Values)
    tXcX = cute.composition(cX[tile], layout_tv)[(tidx, None)]  # (Values), each (row, column)
    if cute.elem_less(tXcX[0], shape):
        tXgY.store(tXgX.load())


@cute.jit
def copy_tv(mX: cute.Tensor, mY: cute.Tensor, thr: cutlass.Constexpr = (4, 32)):
    vec = cutlass.const_expr(128 // mX.element_type.width)
    thr_layout = cute.make_layout(thr, stride=(thr[1], 1))
    val_layout = cute.make_layout((1, vec), stride=(vec, 1))
    tiler_mn, layout_tv = cute.make_layout_tv(thr_layout, val_layout)
    gX = cute.zipped_divide(mX, tiler_mn)  # ((TileM,TileN),(RestM,RestN))
    gY = cute.zipped_divide(mY, tiler_mn)  # ((TileM,TileN),(RestM,RestN))
    cX = cute.zipped_divide(cute.make_identity_tensor(mX.shape), tiler_mn)  # as gX
    blocks, threads = cute.size(gX, mode=[1]), cute.size(layout_tv, mode=[0])
    tv_kernel(gX, gY, cX, mX.shape, layout_tv).launch(grid=(blocks, 1, 1), block=(threads, 1, 1))


x, y = fk.randn(3, 12), fk.empty(3, 12)
run_small = fk.compile(copy_tv, *promised(x, y), (2, 2))
run_small(x, y)
fk.check(y, x)
fk.footprint(run_small, x, fk.empty(3, 12), tensor="mX")

# %% [markdown]
# Each cell shows `block,thread`. In block 3, only one thread has work, as the loops predicted. The
# next cell uses blocks of 128 threads. It first checks shapes with partial tiles in two types, then
# prints the cost.

# %%
for dtype in (torch.float32, torch.float16):
    x, y = fk.randn(3, 1000, dtype=dtype), fk.empty(3, 1000, dtype=dtype)
    run_tv = fk.compile(copy_tv, *promised(x, y))
    check_shapes(run_tv, [(3, 1000), (17, 136)], dtype=dtype)
    print(accesses(run_tv))

x, y = fk.randn(32, 1024), fk.empty(32, 1024)
run_tv = fk.compile(copy_tv, *promised(x, y))
profile = cost("TV layout", run_tv, x)

# %% [markdown]
# The copy uses vectors and is correct at every edge. But it executes three times as many
# instructions as `copy_vectors`, because each thread divides and multiplies to locate its tile.
#
# ## 6. Compare counts and times
#
# All five copies move the same matrix and give the same result. The helper `flat` lets the
# one-dimensional copies treat a matrix as one long array; `05_tiled_copies` explains it. Here are
# the counters for 32 × 1024 `float32`:

# %%
steps = {
    "one element per thread": flat(copy_elements),
    "four, consecutive": flat(copy_consecutive),
    "four, strided": flat(copy_strided),
    "vectors by hand": flat(copy_vectors),
    "TV layout": (copy_tv, promised),
}
side_by_side(steps, fk.randn(32, 1024))

# %% [markdown]
# All five copies move the same bytes, so they have the same bound: 112 µs for 8192 × 8192
# `float32`, and 56 µs for `float16`. The next table was recorded on an H200. Its percentages are
# relative to the speed of a 1 GB copy, the fastest copy that we measured on that GPU. The row
# `torch` is `x.clone()`.
#
# **Predict:** what percentage of that speed does *one element per thread* reach for `float32`?

# %%
of_elements = fk.predict("percent of a copy", None)

# %% jupyter={"outputs_hidden": true}
times = recorded("week0/04_copy_fast")
of_elements.against(round(times.percent(times.row("one element per thread", "float32"))))
times

# %% [markdown]
# The counters help to explain the times:
#
# - **One element per thread** takes as long for `float16` as for `float32`, although it moves half
#   as many bytes. So its limit is not the number of bytes. It starts 524,288 blocks, each of which
#   computes its addresses, waits for one answer and ends.
# - **Four, strided** starts a quarter as many blocks and takes 52 % of that time for `float32` and
#   42 % for `float16`. In `float32`, **four, consecutive** loses all of this gain to its extra
#   sectors.
# - **Vectors** are as fast as PyTorch's own copy.
# - **TV layout** makes the same requests as the vector copy but takes 7 % longer.
#
# ## Summary
#
# | copy | load requests per kB | sectors per request (ideal) | `float32` | `float16` |
# |---|---|---|---|---|
# | one element per thread | 8 | 4 (4) | 0.320 ms | 0.319 ms |
# | four, consecutive | 8 | 16 (4) | 0.323 ms | 0.165 ms |
# | four, strided | 8 | 4 (4) | 0.165 ms | 0.136 ms |
# | vectors by hand | 2 | 16 (16) | 0.130 ms | 0.068 ms |
# | TV layout | 2 | 16 (16) | 0.138 ms | 0.072 ms |
# | bound | | | 0.112 ms | 0.056 ms |
#
# The counters are for `float32`. The times are for 8192 × 8192 and were recorded on an H200 on 21
# November 2026.
#
# | edge | remedy |
# |---|---|
# | end of an array | whole vectors under one predicate, the remaining elements one at a time |
# | edges of a tiled matrix | coordinates from an identity tensor, one predicate per vector |
#
# **In practice**, an operator that treats each element separately, such as `z = a * x + y`, is a
# copy with arithmetic in the middle, so most of this page applies to it. Libraries have several
# kernels per operator, for 16, 8 and 4 bytes per thread, and choose one of them according to the
# addresses and strides of a call.
#
# **Further reading:** [an article by NVIDIA on vectorised
# access](https://developer.nvidia.com/blog/cuda-pro-tip-increase-performance-with-vectorized-memory-access/)
# · [NVIDIA's notebooks on CuTe
# DSL](https://github.com/NVIDIA/cutlass/tree/main/examples/python/CuTeDSL), among them
# `elementwise_add`
#
# **Next:** the TV layout needs 104 instructions per kB, whereas the vector copy needs only 32
# ([`05_tiled_copies`](05_tiled_copies.ipynb)).
