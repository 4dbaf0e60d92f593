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
# # Copy fast: from one element a thread to 16 bytes at once
#
# **You will build** eight copies with the same result: from one element a thread, at less
# than half the speed of memory, to tiled copies that reach nearly all of it.
# **You will learn** how little time a copy can take, why *which* four elements a thread copies
# matters, how to load 16 bytes at once and still be right at the edge, and when that is impossible.
# **You need** `01_why_slow_why_wrong` (sectors, requests, shared memory) and `03_see_layouts`
# (tiles, TV layouts); no GPU. About 45 minutes, and 60 more for the exercises, one of them a whole
# kernel.
#
# Where it says **Predict**, write your answer in place of `None` before you run the cell.

# %%
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.cute.nvgpu import CopyUniversalOp, cpasync
from IPython.display import display

import forgekit as fk
from forgekit.benching.recorded import recorded

# %% [markdown]
# ## 1. What a copy has to cost
#
# A copy computes nothing. It reads every byte once and writes every byte once, so its time is
# decided by the memory: by its **bandwidth**, the bytes that it can move in a second. Bytes divided
# by bandwidth is the **bound**, the time that no copy can beat. An H200 moves 4.8 TB/s at best.
#
# **Predict:** how many microseconds does a copy of 8192 × 8192 `float32` take at least?

# %%
least = fk.predict("microseconds at least", None)

# %% jupyter={"outputs_hidden": true}
moved = 2 * 8192 * 8192 * 4  # read once and written once, 4 bytes each
least.against(round(moved / 4.8e12 * 1e6))
print(f"{moved / 1e6:.0f} MB")

# %% [markdown]
# All that a kernel can do is not to be slower than that. It is slower if it moves more bytes than
# it has to, which you know from the last notebooks; or if it asks for them too slowly.
#
# The start is the copy that you know: one element a thread. (`threads` is the size of a block.)
# `cost` is for this notebook: it checks a copy, profiles it and keeps the profile.


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


costs = {}


def cost(name, run, x):
    y = torch.full_like(x, float("nan"))
    run(x, y)
    assert fk.check(y, x)
    p = costs[name] = fk.profile(run, x, y)
    print(f"{name:>12}: {p.global_load_requests:5,} load requests of", end=" ")
    print(f"{p.global_load_sectors_per_request:4.1f} sectors", end=", ")
    print(f"{p.warp_instructions / x.nbytes * 1024:4.0f} instructions for 1 kB")


x, y = fk.randn(4096), fk.empty(4096)
run_elements = fk.compile(copy_elements, x, y)
cost("elements", run_elements, x)

# %% [markdown]
# Four sectors a request, 128 bytes: not one byte is moved in vain. The last number is what is left
# to improve. For each kilobyte the warps execute that many instructions, and only 16 of them move
# data, 8 loads and 8 stores. The others find out where.
#
# ## 2. Four elements a thread, but which?
#
# Let each thread copy four elements, then it finds its place once for four. There are two ways to
# deal them out. **Consecutive:** thread 0 takes the elements 0 to 3, thread 1 takes 4 to 7.
# **Strided:** each thread takes one element, and goes on by as many as the block has threads: of
# `T` threads, thread `t` takes `t`, `t + T`, `t + 2T` and `t + 3T`.
#
# Here are both as loops, with four threads. What a thread has is one thing. What the threads of a
# warp read *at the same time* is another, and sectors are counted for that.

# %%
T = 4  # threads in a block
ways = {"consecutive": lambda t, k: 4 * t + k, "strided": lambda t, k: t + T * k}
for way, element in ways.items():
    print(way)
    for t in range(T):
        print(f"  thread {t} takes     ", [element(t, k) for k in range(4)])
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


small = fk.randn(15)
for copy in (copy_consecutive, copy_strided):
    run = fk.compile(copy, small, fk.empty(15), 4)
    display(fk.footprint(run, small, fk.empty(15), by="thread", tensor="mX"))

# %% [markdown]
# Now 4,096 elements in blocks of 128.
#
# **Predict:** how many sectors does one load request fetch, consecutive and strided?

# %%
both_ways = fk.predict("sectors a request, both ways", None)  # in the form (4, 4)

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(4096), fk.empty(4096)
run_consecutive = fk.compile(copy_consecutive, x, y)
run_strided = fk.compile(copy_strided, x, y)
cost("consecutive", run_consecutive, x)
cost("strided", run_strided, x)
sectors = [round(costs[n].global_load_sectors_per_request) for n in ("consecutive", "strided")]
both_ways.against(sectors)
fk.coalescing(run_consecutive, x, y, kind="load")

# %% [markdown]
# The neighbours of a *thread* are of no use to a request; what counts is that the elements of
# neighbouring *threads* lie side by side. Consecutive, the lanes of a warp are 16 bytes apart. Each
# request fetches 16 sectors and uses a quarter of each; the same sectors come again with the
# next three loads. A cache, a small memory in between, may
# keep them until then, but every request has four times the work.
#
# So strided is the way to deal out single elements. And yet the consecutive way has something to
# it: its four loads want just the sectors that *one* load of four elements would want.
#
# ## 3. One instruction for four: vectors by hand
#
# A thread can load 16 bytes with one instruction, a **vector**, if they lie side by side and begin
# at a multiple of 16 bytes. You have seen the compiler do it in `03_see_layouts`. Here is how to
# ask for it by hand: cut the tensor into pieces of 16 bytes with `zipped_divide`, and let each
# thread `load` and `store` one piece.
#
# **Predict:** how many load requests for 4,096 elements, how many sectors does each fetch, and how
# many would do for the bytes it wants? (With one element a thread: 128, 4 and 4.)

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
cost("vectors", run_vectors, x)
p = costs["vectors"]
requests = p.global_load_requests
each = [p.global_load_sectors // requests, p.global_load_ideal_sectors // requests]
of_vectors.against([requests, *each])
fk.coalescing(run_vectors, x, y, kind="load")

# %% [markdown]
# A quarter of the requests, and 16 sectors each, as in the consecutive copy; but now each sector is
# used up to its last byte. So *sectors a request* alone says little: 16 is bad where 4 would
# do and just right where 512 bytes are wanted. Compare with the ideal.
#
# The instructions for 1 kB have come down, too. What does the compiler make of it?


# %%
def accesses(run):
    """The instructions that load from global memory, and store to it, in one line."""
    words = [line.split()[0] for line in run.ptx.splitlines() if ".global" in line]
    moves = [w for w in words if w.startswith(("ld.", "st.", "cp."))]
    return ", ".join(f"{moves.count(m)} × {m}" for m in dict.fromkeys(moves))


for name, run in (("consecutive", run_consecutive), ("vectors", run_vectors)):
    print(f"{name:>12}: {accesses(run)}")

# %% [markdown]
# Why did it not make vectors of the consecutive copy, which loads the same four elements? Because
# nobody asked: four accesses in Python stay four instructions. A vector has to be asked for, with
# one `load()` of a piece whose size is known. And it has a condition: it moves as a whole or not at
# all, so it can have only *one* predicate, where the consecutive copy has four.
#
# ## 4. It looks right and is wrong
#
# The predicate of `vector_kernel` says that vector `i` is in the tensor. It is right for all these
# lengths:

# %%
for length in (4, 512, 1000, 1020, 4096):
    x, y = fk.randn(length), fk.empty(length)
    run_vectors(x, y)
    fk.check(y, x)

# %% [markdown]
# **Predict:** what will happen with 1,001 elements, and which thread of which block is the one to
# watch? (The error is intended.)

# %%
fk.predict("thread and block to watch", None)  # in the form (thread, block); the error names them

# %% jupyter={"outputs_hidden": true} tags=["raises-exception"]
x, y = fk.randn(1001, device="virtual"), fk.empty(1001, device="virtual")
fk.compile(copy_vectors, x, y, device="virtual")(x, y)

# %% [markdown]
# `zipped_divide` rounds up: 1,001 elements are 251 vectors, and of the last one only one element
# exists. Thread 122 of block 1 asks whether vector 250 is there. It is, so it copies four elements,
# three of them past the end. A GPU would do it. All of `y` would be right, `fk.check` would pass,
# and 12 bytes that belong to somebody else would be overwritten.
#
# > **Looks right and is wrong.** All lengths above are multiples of 4, also those that are no
# > multiple of the block, 512. Test a vector kernel with lengths that are no multiple of the
# > vector.

# %% [markdown] exercise="week0/fold_halves" part="task"
# ### Exercise 1: fold a vector in the middle
#
# `y` has half as many elements as `x`: `y[i] = x[i] + x[i + h]`, where `h` is the length of `y`, a
# multiple of 8. In float32 and float16; what has to be promised of the
# lengths is promised. Write the whole kernel and its launch, `fold_halves(x, y)`.
#
# **Asked**: 16 bytes per load, 16 bytes per store.
#
# <details><summary>Hint 1</summary>
#
# Cut both tensors into vectors, as `copy_vectors` does. Which vector of `x` is the partner of
# vector i?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `h` elements are `h // vec` vectors. `load()` gives values that can be added.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The predicate counts the vectors of `y`; the one line behind it loads vector i and the vector that
# lies so many further, adds, and stores vector i of `gY`.
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
# Both loads stand before the store, so a thread has 32 bytes in flight where a copy has 16. Twelve
# bytes move for each element of `y`, and there is nothing to be saved.
#
# </details>

# %% [markdown] exercise="week0/vector_copy" part="task"
# ### Exercise 2: copy vectors, and what is left over
#
# Fix `copy_vectors` for *every* length and every type. A vector is 16 bytes, so it has 4 elements
# of `float32` and 8 of `float16`. Whole vectors are copied at once, by one thread each; the
# elements after the last whole vector, at most 7, one by one.
#
# <details><summary>Hint 1</summary>
#
# How many *whole* vectors are in `n` elements? And how many elements are left over? Python has an
# operator for each, and they work in a kernel.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Two predicates, one after the other: threads whose `i` is less than the number of whole vectors
# copy a vector; threads whose `i` is less than the number left over copy one element. A few threads
# do both.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The first predicate compares `i` with a number of *vectors*, the second with a number of
# *elements*. The second `if` copies `mX[…]` to `mY[…]`: how many elements lie before the first that
# is left over?
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
# The threads that copy the rest are the first of block 0, which have copied a vector already; it
# makes no difference who does it, as long as one thread does. With `tidx` in place of `i` every
# block would. Production kernels often use a predicate for each element in the last tile instead;
# the cost is the same, next to nothing, because there is one last tile, however long the vector.
#
# </details>

# %% [markdown]
# ## 5. A matrix has more edges: coordinates as predicates
#
# In a vector, one number says where an element is and whether it exists. A matrix in tiles has two
# edges, tiles hang over both, and a thread that holds a part of a tile knows no row and no column.
# A tensor of *coordinates* tells them: `cute.make_identity_tensor(shape)` holds no data, and its
# element at `(i, j)` is the pair `(i, j)` itself. Cut it, slice it and compose it just as you do
# with `mX`; what the thread ends up with says where each of its values lies.
#
# The loops below do that for a matrix of 3 × 12, cut into tiles of 2 × 8. Four threads share a
# tile, two to a row, with four values each. Three of the four tiles hang over an edge.

# %%
rows, columns = 3, 12
for tile_row, tile_column in ((0, 0), (1, 0), (0, 1), (1, 1)):
    for thread in range(4):
        row = 2 * tile_row + thread // 2
        column = 8 * tile_column + 4 * (thread % 2)  # of the thread's first value
        there = "inside" if row < rows and column < columns else "outside"
        print(f"tile ({tile_row},{tile_column}) thread {thread}: ({row},{column}) {there}")

# %% [markdown]
# The kernel is that of `03_see_layouts`, with a third tensor, `cX`, cut as the others are: `c` for
# coordinates, and `tXcX` for the thread's part of them. `cute.elem_less(a, b)` is true if *every*
# entry of `a` is less than its partner in `b`: here, row and column.
#
# One predicate for a vector is enough if no vector lies across an edge: if the number of columns is
# a multiple of it. That is the promise of `fk.spec(…, divisible=…)`, which lets the compiler make
# vectors of rows in the first place.


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


def promised(*tensors):
    """Specs that promise rows of whole vectors."""
    return [fk.spec(t, divisible={1: 16 // t.element_size()}) for t in tensors]


x, y = fk.randn(3, 12), fk.empty(3, 12)
run_small = fk.compile(copy_tv, *promised(x, y), (2, 2))
run_small(x, y)
fk.check(y, x)
fk.footprint(run_small, x, fk.empty(3, 12), tensor="mX")

# %% [markdown]
# A cell says `block,thread`. Block 3 has work for one thread, as the loops say. Now blocks of 128
# threads, and a matrix with no whole tile in it; then the price:

# %%
for dtype in (torch.float32, torch.float16):
    x, y = fk.randn(3, 1000, dtype=dtype), fk.empty(3, 1000, dtype=dtype)
    run_tv = fk.compile(copy_tv, *promised(x, y))
    run_tv(x, y)
    fk.check(y, x)
    print(accesses(run_tv))

x, y = fk.randn(32, 1024), fk.empty(32, 1024)
run_tv = fk.compile(copy_tv, *promised(x, y))
cost("TV layout", run_tv, x)

# %% [markdown]
# Vectors, right at every edge; and three times the instructions of `copy_vectors`. To find its
# place in a matrix, a thread has to divide and multiply. The remedy is the old one: find the place
# once, and do more there.
#
# ## 6. A tiled copy
#
# NVIDIA's kernels rarely compose TV layouts by hand. A **copy atom** says how one thread moves one
# piece: with which instruction, which type, how many bits. `make_tiled_copy_tv` repeats it over
# threads and values and keeps it all in one object, the **tiled copy**. Here each thread has four
# vectors, one below the other:


# %%
@cute.jit
def show_tiled_copy():
    atom = cute.make_copy_atom(CopyUniversalOp(), Float32, num_bits_per_copy=128)
    thr_layout = cute.make_layout((4, 32), stride=(32, 1))
    val_layout = cute.make_layout((4, 4), stride=(4, 1))
    print(cute.make_tiled_copy_tv(atom, thr_layout, val_layout))


show_tiled_copy()

# %% [markdown]
# `get_slice(tidx)` is a thread's share of it. Its `partition_S` and `partition_D` cut a tile as
# source and as destination, and do the composition and slicing of before. What a thread gets has
# the shape `((Vec,4),1,1)`: four vectors, and the tile is covered once down and once across. So
# `tXcX[(0, v), 0, 0]` is element 0 of vector `v`: its coordinate stands for the vector.
#
# `cute.copy` then copies all of it. `tXrX` is a tensor in **r**egisters, where the values are in
# between. `tXpX` holds one **p**redicate for each vector; where it is false, `cute.copy` leaves the
# vector alone.
#
# The grid now has two dimensions, one for each direction of tiles, which spares the threads a
# division. As a rule, blocks start in the order of their numbers, x first, and there are two ways
# to give them tiles: **across**, neighbouring blocks side by side, or **down**, one below the
# other, which is also the order of `copy_tv`. The kernel can do both.
#
# **Predict:** one vector a thread took 104 instructions for 1 kB. How many will four take?

# %%
of_tiles = fk.predict("instructions for 1 kB", None)


# %% jupyter={"outputs_hidden": true}
@cute.kernel
def tiled_kernel(
    gX: cute.Tensor,
    gY: cute.Tensor,
    cX: cute.Tensor,
    shape: cute.Shape,
    tiled_copy: cute.TiledCopy,
    across: cutlass.Constexpr,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    tile = ((None, None), (bidy, bidx) if cutlass.const_expr(across) else (bidx, bidy))
    thr_copy = tiled_copy.get_slice(tidx)
    tXgX = thr_copy.partition_S(gX[tile])  # ((Vec,4),1,1)
    tXgY = thr_copy.partition_D(gY[tile])  # ((Vec,4),1,1)
    tXcX = thr_copy.partition_S(cX[tile])  # ((Vec,4),1,1)
    tXrX = cute.make_rmem_tensor_like(tXgX)  # ((Vec,4),1,1)
    tXpX = cute.make_rmem_tensor((4, 1, 1), cutlass.Boolean)  # (4,1,1), one for each vector
    for v in cutlass.range_constexpr(4):
        tXpX[v, 0, 0] = cute.elem_less(tXcX[(0, v), 0, 0], shape)
    cute.copy(tiled_copy, tXgX, tXrX, pred=tXpX)
    cute.copy(tiled_copy, tXrX, tXgY, pred=tXpX)


@cute.jit
def copy_tiled(mX: cute.Tensor, mY: cute.Tensor, across: cutlass.Constexpr = True):
    vec = cutlass.const_expr(128 // mX.element_type.width)
    atom = cute.make_copy_atom(CopyUniversalOp(), mX.element_type, num_bits_per_copy=128)
    thr_layout = cute.make_layout((4, 32), stride=(32, 1))
    val_layout = cute.make_layout((4, vec), stride=(vec, 1))
    tiled_copy = cute.make_tiled_copy_tv(atom, thr_layout, val_layout)
    tiler_mn = tiled_copy.tiler_mn  # (16,32*Vec)
    gX = cute.zipped_divide(mX, tiler_mn)  # ((TileM,TileN),(RestM,RestN))
    gY = cute.zipped_divide(mY, tiler_mn)  # ((TileM,TileN),(RestM,RestN))
    cX = cute.zipped_divide(cute.make_identity_tensor(mX.shape), tiler_mn)  # as gX
    rest_m, rest_n = gX.shape[1]
    grid = (rest_n, rest_m, 1) if cutlass.const_expr(across) else (rest_m, rest_n, 1)
    tiled_kernel(gX, gY, cX, mX.shape, tiled_copy, across).launch(grid=grid, block=(128, 1, 1))


x, y = fk.randn(32, 1024), fk.empty(32, 1024)
run_tiled = fk.compile(copy_tiled, *promised(x, y))
cost("tiled copy", run_tiled, x)
work = costs["tiled copy"].warp_instructions / x.nbytes * 1024
of_tiles.against(round(work))
print(accesses(run_tiled))
for shape in ((1, 4), (3, 1000), (17, 132), (33, 124)):
    small, copied = fk.randn(shape), fk.empty(shape)
    run_tiled(small, copied)
    fk.check(copied, small)

# %% [markdown]
# About a third of the instructions. And there is a second gain, which no counter shows. Here are
# the loads and stores of a thread, in the order of its instructions:

# %%
for name, run in (("strided", run_strided), ("tiled copy", run_tiled)):
    words = [line.split()[0] for line in run.ptx.splitlines() if ".global" in line]
    print(f"{name:>10}:", " ".join(word[:2] for word in words if word.startswith(("ld.", "st."))))

# %% [markdown]
# Strided, each store stands before the next load, and waits for its value: one load at a time. The
# four loads of the tiled copy do not wait for each other: all are **in flight** before the first
# value is stored. Memory takes its time to answer, and to be busy all the time it needs many open
# questions at once. How many follows from one multiplication, *Little's law*: bytes in flight =
# rate × time for an answer. What is in flight are loads, and they are half of what a copy moves, so
# the rate is half of 4.8 TB/s. An H200 has 132 multiprocessors, the units that blocks run on, with
# room for 2,048 threads each:

# %%
for bytes_a_thread in (2, 4, 16, 64):
    most = 132 * 2048 * bytes_a_thread
    print(f"{bytes_a_thread:2} bytes a thread: {most / 1e6:4.1f} MB in flight at most, which is")
    print(f"   enough to read 2.4 TB/s if memory answers within {most / 2.4e12 * 1e9:5,.0f} ns")

# %% [markdown]
# Keep these numbers in mind until section 9, where recorded times say which of them is enough.

# %% [markdown] exercise="week0/add_predicated" part="task"
# ### Exercise 3: add two matrices with a tiled copy
#
# Compute `z = a * x + y` for matrices of any size whose rows are whole vectors, in three types.
# Partitions, registers and the tensor of predicates `tXpX` are there already, one predicate for
# each of a thread's 4 vectors. Fill the predicates, load both matrices, compute in `Float32`,
# store. As given, the kernel copies `x`, and only where all tiles fit.
#
# Rows may have a gap between them: `x` can be a piece of a wider matrix, so it cannot be taken for
# one long vector. In the tests rows of 256 elements are 272 elements apart, and the gaps count in
# the bytes that a tensor "has".
#
# <details><summary>Hint 1</summary>
#
# `copy_tiled` above does all of it but the arithmetic. The coordinate of a thread's vector `v` is
# that of its first element, `tXcX[(0, v), 0, 0]`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `tXrX.load()` gives all of a thread's values at once, and `.to(Float32)` converts them. Compute
# with that as with a number. `tXrX.store(…)` puts a result back into registers, converted with
# `.to(gZ.element_type)`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Seven lines: a loop over the 4 vectors that stores in `tXpX[v, 0, 0]` whether each entry of the
# vector's coordinate is less than that of `shape`; two loads; the arithmetic; one store. All three
# copies take the predicates.
#
# </details>


# %% exercise="week0/add_predicated" part="skeleton"
@cute.kernel
def add_kernel(
    gX: cute.Tensor,
    gY: cute.Tensor,
    gZ: cute.Tensor,
    cX: cute.Tensor,
    shape: cute.Shape,
    a: Float32,
    tiled_copy: cute.TiledCopy,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    tile = ((None, None), (bidy, bidx))
    thr_copy = tiled_copy.get_slice(tidx)
    tXgX = thr_copy.partition_S(gX[tile])  # ((Vec,4),1,1)
    tXgY = thr_copy.partition_S(gY[tile])  # ((Vec,4),1,1)
    tXgZ = thr_copy.partition_D(gZ[tile])  # ((Vec,4),1,1)
    tXcX = thr_copy.partition_S(cX[tile])  # ((Vec,4),1,1)
    tXrX = cute.make_rmem_tensor_like(tXgX)  # ((Vec,4),1,1)
    tXrY = cute.make_rmem_tensor_like(tXgY)  # ((Vec,4),1,1)
    tXpX = cute.make_rmem_tensor((4, 1, 1), cutlass.Boolean)  # one for each vector
    # FILL ME IN (roughly 7 lines)
    cute.copy(tiled_copy, tXgX, tXrX)
    cute.copy(tiled_copy, tXrX, tXgZ)


@cute.jit
def add_predicated(mX: cute.Tensor, mY: cute.Tensor, mZ: cute.Tensor, a: Float32):
    vec = cutlass.const_expr(128 // mX.element_type.width)
    atom = cute.make_copy_atom(CopyUniversalOp(), mX.element_type, num_bits_per_copy=128)
    thr_layout = cute.make_layout((4, 32), stride=(32, 1))
    val_layout = cute.make_layout((4, vec), stride=(vec, 1))
    tiled_copy = cute.make_tiled_copy_tv(atom, thr_layout, val_layout)
    tiler_mn = tiled_copy.tiler_mn  # (16,32*Vec)
    gX = cute.zipped_divide(mX, tiler_mn)  # ((TileM,TileN),(RestM,RestN))
    gY = cute.zipped_divide(mY, tiler_mn)  # ((TileM,TileN),(RestM,RestN))
    gZ = cute.zipped_divide(mZ, tiler_mn)  # ((TileM,TileN),(RestM,RestN))
    cX = cute.zipped_divide(cute.make_identity_tensor(mX.shape), tiler_mn)  # as gX
    rest_m, rest_n = gX.shape[1]
    grid = (rest_n, rest_m, 1)
    add_kernel(gX, gY, gZ, cX, mX.shape, a, tiled_copy).launch(grid=grid, block=(128, 1, 1))


# %% exercise="week0/add_predicated" part="grade"
fk.exercise("week0/add_predicated").grade(add_predicated)

# %% [markdown] exercise="week0/add_predicated" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# @cute.kernel
# def add_kernel(
#     gX: cute.Tensor,
#     gY: cute.Tensor,
#     gZ: cute.Tensor,
#     cX: cute.Tensor,
#     shape: cute.Shape,
#     a: Float32,
#     tiled_copy: cute.TiledCopy,
# ):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, bidy, _ = cute.arch.block_idx()
#     tile = ((None, None), (bidy, bidx))
#     thr_copy = tiled_copy.get_slice(tidx)
#     tXgX = thr_copy.partition_S(gX[tile])  # ((Vec,4),1,1)
#     tXgY = thr_copy.partition_S(gY[tile])  # ((Vec,4),1,1)
#     tXgZ = thr_copy.partition_D(gZ[tile])  # ((Vec,4),1,1)
#     tXcX = thr_copy.partition_S(cX[tile])  # ((Vec,4),1,1)
#     tXrX = cute.make_rmem_tensor_like(tXgX)  # ((Vec,4),1,1)
#     tXrY = cute.make_rmem_tensor_like(tXgY)  # ((Vec,4),1,1)
#     tXpX = cute.make_rmem_tensor((4, 1, 1), cutlass.Boolean)  # one for each vector
#     for v in cutlass.range_constexpr(4):
#         tXpX[v, 0, 0] = cute.elem_less(tXcX[(0, v), 0, 0], shape)
#     cute.copy(tiled_copy, tXgX, tXrX, pred=tXpX)
#     cute.copy(tiled_copy, tXgY, tXrY, pred=tXpX)
#     z = a * tXrX.load().to(Float32) + tXrY.load().to(Float32)
#     tXrX.store(z.to(gZ.element_type))
#     cute.copy(tiled_copy, tXrX, tXgZ, pred=tXpX)
#
#
# @cute.jit
# def add_predicated(mX: cute.Tensor, mY: cute.Tensor, mZ: cute.Tensor, a: Float32):
#     vec = cutlass.const_expr(128 // mX.element_type.width)
#     atom = cute.make_copy_atom(CopyUniversalOp(), mX.element_type, num_bits_per_copy=128)
#     thr_layout = cute.make_layout((4, 32), stride=(32, 1))
#     val_layout = cute.make_layout((4, vec), stride=(vec, 1))
#     tiled_copy = cute.make_tiled_copy_tv(atom, thr_layout, val_layout)
#     tiler_mn = tiled_copy.tiler_mn  # (16,32*Vec)
#     gX = cute.zipped_divide(mX, tiler_mn)  # ((TileM,TileN),(RestM,RestN))
#     gY = cute.zipped_divide(mY, tiler_mn)  # ((TileM,TileN),(RestM,RestN))
#     gZ = cute.zipped_divide(mZ, tiler_mn)  # ((TileM,TileN),(RestM,RestN))
#     cX = cute.zipped_divide(cute.make_identity_tensor(mX.shape), tiler_mn)  # as gX
#     rest_m, rest_n = gX.shape[1]
#     grid = (rest_n, rest_m, 1)
#     add_kernel(gX, gY, gZ, cX, mX.shape, a, tiled_copy).launch(grid=grid, block=(128, 1, 1))
# ```
#
# One predicate a vector is enough, since rows are whole vectors: a vector lies inside or outside,
# but never across the edge. Registers of vectors that were not loaded hold anything at all; the
# arithmetic on them does no harm, because the store has the same predicate.
#
# The sum is computed in `Float32` and rounded once, at the end. In `float16` the product of 3 and
# 30,000 would be infinite, although the sum is not.
#
# </details>

# %% [markdown]
# ## 7. When vectors fail
#
# A vector has to begin at a multiple of 16 bytes. `fk.compile` looks at the address of each
# tensor that it is given as an example, and the kernel is made for tensors like it. A view such as
# `x[1:]` begins elsewhere.

# %% [markdown]
# **Predict:** how many loads for four `float32` that begin 4 bytes after a multiple of 16? And 8
# bytes?

# %%
of_views = fk.predict("load instructions", None)  # in the form (1, 1)

# %% jupyter={"outputs_hidden": true}
whole = fk.randn(1004)
found = []
for first in (0, 1, 2, 4):
    view = whole[first : first + 1000]
    run = fk.compile(copy_vectors, view, fk.empty(1000))
    found.append(run.ptx.count("ld.global"))
    print(f"x[{first}:] begins {4 * first % 16:2} bytes after a multiple of 16: {accesses(run)}")
of_views.against(found[1:3])

# %% [markdown]
# The result is right each time; `x[1:]` just costs four times the loads, and nobody says so. (The
# stores go to a tensor of their own, which begins where it should.)
#
# Rows are the second case. If each row of a matrix has 1,001 elements of `float16`, 2,002 bytes,
# then the matrix may begin at a multiple of 16, and most of its rows do not:

# %%
for columns in (1001, 1002, 1004, 1008):
    starts = [row * columns * 2 % 16 for row in range(8)]
    print(f"{columns} columns: rows begin at {starts} after a multiple of 16")

# %% [markdown]
# For 1,002 columns vectors of 4 bytes are possible, for 1,004 of 8, for 1,001 none at all. Our
# tiled copy cannot be compiled for such a matrix. (The error is intended.)

# %% jupyter={"outputs_hidden": true} tags=["raises-exception"]
x, y = fk.randn(64, 1001, dtype=torch.float16), fk.empty(64, 1001, dtype=torch.float16)
fk.compile(copy_tiled, x, y)

# %% [markdown]
# It asks for 128 bits, and without a promise about the columns the compiler can be sure of 8 bytes
# only. `num_bits_per_copy=64` alone is refused as well, and so is the width of one element that the
# error proposes: with `vec` still at eight, a thread then moves two copies, or eight, for each
# predicate in `tXpX`. With a smaller `vec`, 64 bits compile, and must not be used: those 8 bytes
# hold for a thread's first row, whose number is a multiple of 4; the row below begins 2 bytes
# further off. Still, a copy that cannot be compiled is the better way to fail: it says so, instead
# of being slow.
#
# For a copy there is a cure that costs nothing. A row-major matrix without gaps *is* one long
# vector; only our view of it has rows. So give the kernel another view of the same memory:


# %%
def flat(copy):
    """The same copy for row-major matrices without gaps, taken for one long vector."""

    @cute.jit
    def copy_flat(mX: cute.Tensor, mY: cute.Tensor):
        vX = cute.make_tensor(mX.iterator, cute.make_layout((cute.size(mX),)))  # (M*N)
        vY = cute.make_tensor(mY.iterator, cute.make_layout((cute.size(mY),)))  # (M*N)
        copy(vX, vY)

    return copy_flat


x, y = fk.randn(64, 1001, dtype=torch.float16), fk.empty(64, 1001, dtype=torch.float16)
run_flat = fk.compile(flat(copy_vectors), x, y)
run_flat(x, y)
fk.check(y, x)
print(accesses(run_flat))

# %% [markdown]
# `v4.b32` is 16 bytes, eight `float16`. (64 × 1001 is a multiple of eight; for other sizes it takes
# your `vector_copy` of exercise 1.) The cure is for operators that treat all elements alike, in
# tensors without gaps. Others pad their rows when they make them, take the widest vector that all
# rows allow, or copy single elements up to the first multiple of 16.
#
# ## 8. Copies that run by themselves: cp.async
#
# In all kernels so far the data pass through registers, and a thread that wants many bytes in
# flight needs a register for each four of them. `cp.async`, an **asynchronous copy**, goes from
# global to *shared* memory without registers. The thread only starts it and goes on; so there are
# three things to say:
#
# - `cute.copy` with a `CopyG2SOp` atom (global to shared) starts copies,
# - `cp_async_commit_group()` makes a **group** of all that the thread has started by then,
# - `cp_async_wait_group(n)` waits until at most the `n` newest groups of this thread are open.
#
# The kernel below brings a tile into shared memory and takes it out again. Each thread takes out
# what it has brought in itself, so it waits for nobody else. `waits` is there to leave the waiting
# out, later.


# %%
@cute.kernel
def async_kernel(
    gX: cute.Tensor,
    gY: cute.Tensor,
    cX: cute.Tensor,
    shape: cute.Shape,
    load: cute.TiledCopy,
    store: cute.CopyAtom,
    waits: cutlass.Constexpr,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    tile = ((None, None), (bidy, bidx))
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(
        gX.element_type, cute.make_ordered_layout(gX.shape[0], order=(1, 0)), 16
    )  # (TileM,TileN), row-major: mode 1 is the fastest
    thr_copy = load.get_slice(tidx)
    tXgX = thr_copy.partition_S(gX[tile])  # ((Vec,4),1,1)
    # Y is cut as X is; load's D side is shared memory.
    tXgY = thr_copy.partition_S(gY[tile])  # ((Vec,4),1,1)
    tXcX = thr_copy.partition_S(cX[tile])  # ((Vec,4),1,1)
    tXsX = thr_copy.partition_D(sX)  # ((Vec,4),1,1)
    tXpX = cute.make_rmem_tensor((4, 1, 1), cutlass.Boolean)  # (4,1,1), one for each vector
    for v in cutlass.range_constexpr(4):
        tXpX[v, 0, 0] = cute.elem_less(tXcX[(0, v), 0, 0], shape)
    cute.copy(load, tXgX, tXsX, pred=tXpX)
    cute.arch.cp_async_commit_group()
    if cutlass.const_expr(waits):
        cute.arch.cp_async_wait_group(0)
    cute.copy(store, tXsX, tXgY, pred=tXpX)


@cute.jit
def copy_async(mX: cute.Tensor, mY: cute.Tensor, waits: cutlass.Constexpr = True):
    vec = cutlass.const_expr(128 // mX.element_type.width)
    dtype = mX.element_type
    load_atom = cute.make_copy_atom(cpasync.CopyG2SOp(), dtype, num_bits_per_copy=128)
    store = cute.make_copy_atom(CopyUniversalOp(), dtype, num_bits_per_copy=128)
    thr_layout = cute.make_layout((4, 32), stride=(32, 1))
    val_layout = cute.make_layout((4, vec), stride=(vec, 1))
    load = cute.make_tiled_copy_tv(load_atom, thr_layout, val_layout)
    gX = cute.zipped_divide(mX, load.tiler_mn)  # ((TileM,TileN),(RestM,RestN))
    gY = cute.zipped_divide(mY, load.tiler_mn)  # ((TileM,TileN),(RestM,RestN))
    cX = cute.zipped_divide(cute.make_identity_tensor(mX.shape), load.tiler_mn)  # as gX
    rest_m, rest_n = gX.shape[1]
    grid = (rest_n, rest_m, 1)
    async_kernel(gX, gY, cX, mX.shape, load, store, waits).launch(grid=grid, block=(128, 1, 1))


x, y = fk.randn(32, 1024), fk.empty(32, 1024)
run_async = fk.compile(copy_async, *promised(x, y))
cost("cp.async", run_async, x)
print(accesses(run_async))

# %% [markdown]
# The same sectors once more. The picture shows, for each warp, four copies started one after the
# other, the commit, the wait, and only then the reads of shared memory.

# %%
x, y = fk.randn(32, 1024), fk.empty(32, 1024)
fk.timeline(run_async, x, y)

# %% [markdown]
# **Predict:** what does the sanitizer call it if the wait is left out?

# %%
hasty = fk.predict("kind of finding", None)  # such as "shared-race", "out-of-bounds", "async-copy"

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(16, 128, device="virtual"), fk.empty(16, 128, device="virtual")
run_hasty = fk.compile(copy_async, *promised(x, y), False, device="virtual")
found = fk.sanitize(run_hasty, x, y)
hasty.against(found.findings[0].kind)
found

# %% [markdown]
# On a GPU this is a matter of luck: the thread reads what is there. If the data are near, in
# a cache, they may have come in time, and the result is right; until one day they have not. The
# virtual GPU keeps book of what is in flight.
#
# And what has it brought? For a copy, nothing: shared memory is a detour. The gain comes where data
# have to be in shared memory anyway, because threads exchange them, as in the exercise, or where a
# block computes with one tile while the next is in flight.

# %% [markdown] exercise="week0/async_reverse" part="task"
# ### Exercise 4: reverse rows with asynchronous copies
#
# One block reverses one row of up to 128 vectors. Bring the row into shared memory with `cp.async`,
# one vector a thread, and make sure that it is there before the loop below reads it. Remember that
# a thread now reads what *other* threads have copied. Rows are whole vectors, but need not be 128.
#
# **Predict** first: which of your lines belong in an `if`, and which must not stand in one?
#
# **Asked**: at most 1 barrier.
#
# <details><summary>Hint 1</summary>
#
# Four things in a row: copy, commit, wait, and one more, because other threads have copied the
# elements that a thread reads.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Only the copy is for the threads that have a vector, `tidx < n // vec`. The vector of a thread is
# `gX[(None, tidx)]`, its place in shared memory `sX[(None, tidx)]`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The copy is one `cute.copy` with `atom`, alone within its `if`. The three lines after it are for
# all threads: section 8 has two of them, the third is that of `01_why_slow_why_wrong`.
#
# </details>


# %% exercise="week0/async_reverse" part="skeleton"
@cute.kernel
def async_reverse_kernel(mX: cute.Tensor, mY: cute.Tensor, atom: cute.CopyAtom):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    vec = cutlass.const_expr(128 // mX.element_type.width)
    n = mX.shape[1]
    smem = cutlass.memory.SmemAllocator()
    sRow = smem.allocate_tensor(mX.element_type, cute.make_layout(128 * vec), 16)
    gX = cute.zipped_divide(mX[(bidx, None)], (vec,))  # ((Vec),(Rest))
    sX = cute.zipped_divide(sRow, (vec,))  # ((Vec),(128))
    # FILL ME IN (roughly 5 lines)
    for k in cutlass.range_constexpr(vec):
        j = k * 128 + tidx
        if j < n:
            mY[bidx, j] = sRow[n - 1 - j]


@cute.jit
def async_reverse(mX: cute.Tensor, mY: cute.Tensor):
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), mX.element_type, num_bits_per_copy=128)
    async_reverse_kernel(mX, mY, atom).launch(grid=(mX.shape[0], 1, 1), block=(128, 1, 1))


# %% exercise="week0/async_reverse" part="grade"
fk.exercise("week0/async_reverse").grade(async_reverse)

# %% [markdown] exercise="week0/async_reverse" part="solution"
# <details><summary>Solution of exercise 4</summary>
#
# ```python
# @cute.kernel
# def async_reverse_kernel(mX: cute.Tensor, mY: cute.Tensor, atom: cute.CopyAtom):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     vec = cutlass.const_expr(128 // mX.element_type.width)
#     n = mX.shape[1]
#     smem = cutlass.memory.SmemAllocator()
#     sRow = smem.allocate_tensor(mX.element_type, cute.make_layout(128 * vec), 16)
#     gX = cute.zipped_divide(mX[(bidx, None)], (vec,))  # ((Vec),(Rest))
#     sX = cute.zipped_divide(sRow, (vec,))  # ((Vec),(128))
#     if tidx < n // vec:
#         cute.copy(atom, gX[(None, tidx)], sX[(None, tidx)])
#     cute.arch.cp_async_commit_group()
#     cute.arch.cp_async_wait_group(0)
#     cute.arch.sync_threads()
#     for k in cutlass.range_constexpr(vec):
#         j = k * 128 + tidx
#         if j < n:
#             mY[bidx, j] = sRow[n - 1 - j]
#
#
# @cute.jit
# def async_reverse(mX: cute.Tensor, mY: cute.Tensor):
#     atom = cute.make_copy_atom(cpasync.CopyG2SOp(), mX.element_type, num_bits_per_copy=128)
#     async_reverse_kernel(mX, mY, atom).launch(grid=(mX.shape[0], 1, 1), block=(128, 1, 1))
# ```
#
# The wait is a matter between a thread and its own copies; the barrier is one between threads. Both
# are needed, in this order: after a barrier that comes first, the copies of others may still be in
# flight. The wait costs nothing where a thread has copied nothing, so it needs no `if`, and the
# barrier must not have one.
#
# Both sides are coalesced: vectors of 16 bytes in, and out one element a thread, neighbours side by
# side. The reversal itself happens in shared memory, which does not mind.
#
# </details>

# %% [markdown]
# ## 9. All steps side by side
#
# The same matrix, the same result, eight ways. First the counters, for 32 × 1024 `float32`:


# %%
@cute.jit
def down(mX: cute.Tensor, mY: cute.Tensor):
    copy_tiled(mX, mY, False)


steps = {
    "one element a thread": flat(copy_elements),
    "four, consecutive": flat(copy_consecutive),
    "four, strided": flat(copy_strided),
    "vectors by hand": flat(copy_vectors),
    "TV layout": (copy_tv, promised),
    "tiled copy, down": (down, promised),
    "tiled copy, across": (copy_tiled, promised),
    "cp.async": (copy_async, promised),
}

x, y = fk.randn(32, 1024), fk.empty(32, 1024)
print(f"{'':>20}  requests  sectors each (ideal)  bank conflicts  instructions for 1 kB")
for name, step in steps.items():
    fn, specs = step if isinstance(step, tuple) else (step, lambda x, y: (x, y))
    y.fill_(float("nan"))
    run = fk.compile(fn, *specs(x, y))
    run(x, y)
    assert torch.equal(y, x)
    p = fk.profile(run, x, y)
    requests = p.global_load_requests
    sectors, ideal = p.global_load_sectors // requests, p.global_load_ideal_sectors // requests
    conflicts = p.shared_load_bank_conflicts + p.shared_async_bank_conflicts
    work = p.warp_instructions / x.nbytes * 1024
    print(f"{name:>20}  {requests:8,}  {f'{sectors} ({ideal})':>20}  {conflicts:14}  {work:21.0f}")

# %% [markdown]
# All of them touch the same bytes, so all have the same bound: 112 µs for 8192 × 8192 `float32`, 56
# for `float16`. How near they come to it is for a GPU to say. The table was recorded on one; its
# percentages are of the fastest copy that this GPU is known to do, its own of 1 GB. (`torch` is
# `x.clone()`.)
#
# **Predict:** how many percent does *one element a thread* reach for `float32`?

# %%
of_elements = fk.predict("percent of a copy", None)

# %% jupyter={"outputs_hidden": true}
times = recorded("week0/04_copy_fast")
slowest = times.row("one element a thread", "float32")
of_elements.against(round(times.percent(slowest)))
half = times.row("four, strided", "float16")  # GB/s are of reads and writes, so half are reads
answer = 132 * 2048 * 2 / (half.gbps / 2)
print(
    f"four, strided, float16: bytes in flight / rate of reads = {answer:.0f} ns an answer, at most"
)
times

# %% [markdown]
# Read it with the counters beside it:
#
# - **One element a thread** takes as long for `float16` as for `float32`, with half the bytes. So
#   it does not wait for bytes. Its blocks are many and short: each of them starts, finds its place,
#   waits for one answer and ends.
# - **Four, strided** finds its place once and starts a quarter of the blocks. Its loads still wait
#   for each other: each store stands before the next load. **Consecutive** pays back that gain in
#   sectors.
# - Little's law backwards, of *four, strided*: an answer takes some 550 ns, or less, since start
#   and end of a block are counted in. Section 6 said: 4 bytes a thread need it within 451 ns, and
#   16 bytes leave 1,802.
# - **Vectors** are as fast as PyTorch's own copy. Four of them a thread are no better than one, for
#   one was enough.
# - **Down or across** makes a difference that none of our counters shows, since a warp does just
#   the same in both. Blocks that run at the same time had better read memory that lies together;
#   with *down*, neighbouring blocks are 16 rows apart.
# - **cp.async** takes no longer: its detour is hidden behind the waiting for memory.
#
# ## Summary
#
# | step | load requests for 1 kB | sectors each (ideal) | bytes in flight | `float32` | `float16` |
# |---|---|---|---|---|---|
# | one element a thread | 8 | 4 (4) | 4 | 0.320 ms | 0.319 ms |
# | four, consecutive | 8 | 16 (4) | 4 | 0.323 ms | 0.165 ms |
# | four, strided | 8 | 4 (4) | 4 | 0.165 ms | 0.136 ms |
# | vectors by hand | 2 | 16 (16) | 16 | 0.130 ms | 0.068 ms |
# | TV layout, tiles down | 2 | 16 (16) | 16 | 0.138 ms | 0.072 ms |
# | tiled copy, tiles down | 2 | 16 (16) | 64 | 0.139 ms | 0.073 ms |
# | tiled copy, tiles across | 2 | 16 (16) | 64 | 0.132 ms | 0.069 ms |
# | cp.async, tiles across | 2 | 16 (16) | 64 | 0.131 ms | 0.069 ms |
# | bound | | | | 0.112 ms | 0.056 ms |
#
# Counters are for `float32`; bytes in flight: those that a thread asks for before it waits. Times
# are of 8192 × 8192, 537 and 268 MB, recorded on an H200 on
# 21 November 2026. No step has bank conflicts.
#
# | at the edge | how |
# |---|---|
# | one vector | whole vectors under one predicate, the rest one by one |
# | tiles of a matrix | coordinates from an identity tensor, one predicate a vector |
# | rows that are no whole vectors | one long vector, if without gaps; narrower vectors; padding |
#
# **In practice** an operator that treats each element by itself, such as `z = a * x + y`, is a copy
# with some arithmetic in between: what you have learned here is most of it. Libraries keep several
# kernels of each, for 16, 8, 4 bytes a thread, and choose by the addresses and strides of a call.
# Recent GPUs copy whole tiles with one instruction of one thread (TMA), predicates included.
#
# **Further reading:** [NVIDIA on vectorised
# access](https://developer.nvidia.com/blog/cuda-pro-tip-increase-performance-with-vectorized-memory-access/)
# · [`cp.async` in the PTX
# manual](https://docs.nvidia.com/cuda/parallel-thread-execution/index.html#data-movement-and-conversion-instructions-cp-async)
# · [NVIDIA's notebooks on CuTe
# DSL](https://github.com/NVIDIA/cutlass/tree/main/examples/python/CuTeDSL), among them
# `elementwise_add`
#
# **Next:** what the first call of a kernel costs, and what a compiled kernel remembers
# ([`06_compile_once`](06_compile_once.ipynb)).
