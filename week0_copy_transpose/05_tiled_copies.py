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
# # Copy in tiles, with more bytes in flight
#
# **You will build** a tiled copy, a copy for rows whose length is not a multiple of the vector
# length, and a copy that runs while its thread continues.
# **You will learn** how many bytes a thread must have in flight, when 16-byte loads are impossible,
# and what `cp.async` requires before you may read its data.
# **You need** `04_copy_fast` (vectors, TV layouts, coordinates as predicates); no GPU. About 35
# minutes, and 40 more for the exercises.
#
# **The bad number is 104.** The TV-layout copy of `04_copy_fast` executes 104 instructions per kB,
# because each thread locates its tile for a single vector. The vector copy executes only 32.

# %%
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.cute.nvgpu import CopyUniversalOp, cpasync
from week0_helpers import (
    accesses,
    check_shapes,
    copy_strided,
    copy_vectors,
    cost,
    flat,
    littles_law,
    loads_in_flight,
    per_kb,
    promised,
    show_source,
    side_by_side,
)

import forgekit as fk
from forgekit import viz
from forgekit.benching.recorded import recorded
from forgekit.layouts import make_layout_tv

# %% [markdown]
# ## 1. A tiled copy
#
# NVIDIA's kernels rarely compose TV layouts by hand. A **copy atom** defines how one thread moves
# one piece: the instruction, the element type and the number of bits. `make_tiled_copy_tv` repeats
# the atom over threads and values and returns an object that describes the whole operation, the
# **tiled copy**.
#
# In this section, each thread copies several vectors that are below one another. The next picture
# shows a small tile with 2 × 4 threads and two vectors of four elements per thread:

# %%
thr_layout = fk.Layout((2, 4), (4, 1))
val_layout = fk.Layout((2, 4), (4, 1))
tiler_mn, layout_tv = make_layout_tv(thr_layout, val_layout)
viz.display_tv_layout(layout_tv, tiler_mn)

# %% [markdown]
# `get_slice(tidx)` returns a thread's share of the tiled copy. Its methods `partition_S` and
# `partition_D` cut a tile as source and as destination. They do the composing and slicing that you
# did by hand. Our threads copy *four* vectors each, so a thread's part has the shape
# `((Vec,4),1,1)`. `tXcX[(0, v), 0, 0]` is the coordinate of the first element of vector `v`.
#
# `cute.copy` copies all of a thread's vectors. `tXrX` is a tensor in **r**egisters, which hold the
# values between load and store. `tXpX` holds one **p**redicate per vector, and `cute.copy` skips
# vectors whose predicate is false.
#
# The grid has two dimensions, one for tile rows and one for tile columns, so a thread needs no
# division. Blocks usually start in the order of their numbers, with x varying fastest. With
# `across`, consecutive blocks copy tiles that are side by side. Without it, they copy tiles one
# below the other, as `copy_tv` did.
#
# **Predict:** one vector per thread took 104 instructions per kB. How many instructions will four
# vectors per thread take?

# %%
of_tiles = fk.predict("instructions per kB", None)


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
    tXpX = cute.make_rmem_tensor((4, 1, 1), cutlass.Boolean)  # (4,1,1), one per vector
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
of_tiles.against(round(per_kb(cost("tiled copy", run_tiled, x), x)))
print(accesses(run_tiled))
check_shapes(run_tiled, [(1, 4), (3, 1000), (17, 132), (33, 124)])

# %% [markdown]
# The tiled copy executes about a third as many instructions. It has a second advantage, which no
# counter shows. The next picture compares it with the strided copy of `04_copy_fast`. In both
# kernels, each thread executes four loads. The order of loads and stores comes from the PTX, and
# each wait counts as one unit of time.

# %%
loads_in_flight(
    {"four, strided": fk.compile(copy_strided, fk.randn(4096), fk.empty(4096)), "tiled": run_tiled}
)

# %% [markdown]
# ## 2. How many bytes must be in flight?
#
# In the strided copy, each load is followed by a store that waits for the loaded value. In the
# tiled copy, four loads are **in flight** before the first store waits.
#
# Memory takes time to answer, so many requests must be outstanding to keep it busy. *Little's law*
# gives the number of bytes: bytes in flight = rate × answer time. Threads wait only for loads,
# which are half of a copy's traffic, so the rate is half of 4.8 TB/s. An H200 has 132
# multiprocessors, the units that run blocks, and each has room for 2,048 threads.
#
# To find the answer time, we apply the law to the recorded time of *four, strided* in `float16`,
# whose threads have 2 bytes in flight. It follows that an answer takes at most 547 ns. (Starting
# and ending the blocks accounts for part of that time.)
#
# **Predict:** how many bytes must each thread have in flight to read 2.4 TB/s? (Give one decimal.)

# %%
needed = fk.predict("bytes in flight per thread", None)

# %% jupyter={"outputs_hidden": true}
half = recorded("week0/04_copy_fast").row("four, strided", "float16")
answer_ns = 132 * 2048 * 2 / (half.gbps / 2)  # half of GB/s are reads; bytes / (GB/s) are ns
needed.against(round(2.4e12 * answer_ns * 1e-9 / (132 * 2048), 1))
littles_law(answer_ns)

# %% [markdown]
# With 4 bytes in flight per thread, even perfect code stays below the ceiling, but one vector of 16
# bytes is enough to reach it. If a point is below both lines, something else limits the kernel. For
# example, *one element per thread* starts too many blocks.

# %% [markdown] exercise="week0/add_predicated" part="task"
# ### Exercise 1: add two matrices with a tiled copy
#
# Compute `z = a * x + y` in three types, for matrices of any size whose rows consist of whole
# vectors. The skeleton contains the partitions, the registers and the tensor `tXpX`, with one
# predicate for each of a thread's 4 vectors. Fill in the predicates, load both matrices, compute in
# `Float32`, and store. The given kernel only copies `x`, and only works if the tiles fit the matrix
# exactly.
#
# There may be gaps between rows, because each matrix can be a part of a wider one, so you cannot
# treat it as one long array. In the tests, for example, rows of 256 elements start 272 elements
# apart in `x`, 280 in `y` and 288 in `z`, and the reported sizes include the gaps. Elements may be
# infinite or NaN. Signature: `add_predicated(x, y, z, a)`.
#
# <details><summary>Hint 1</summary>
#
# `copy_tiled` above does everything except the arithmetic. The coordinate of a thread's vector `v`
# is that of its first element, `tXcX[(0, v), 0, 0]`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `tXrX.load()` returns all of a thread's values, and `.to(Float32)` converts them. You can compute
# with the result as with a single number. Convert the sum with `.to(gZ.element_type)`, and write it
# back to registers with `tXrX.store(…)`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# You need seven lines. The first two are a loop over the 4 vectors that sets `tXpX[v, 0, 0]` to
# true if each entry of the vector's coordinate is less than the matching entry of `shape`. Then
# write two loads, one line of arithmetic, and two lines that store the result. Pass the predicates
# to all three copies.
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
# <details><summary>Solution of exercise 1</summary>
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
# One predicate per vector is enough, because rows consist of whole vectors. A vector is either
# inside or outside the matrix, and never crosses the edge. The registers of vectors that were not
# loaded contain arbitrary values. Arithmetic on them does no harm, because the store has the same
# predicate.
#
# The kernel computes the sum in `Float32` and rounds only once, at the end. In `float16`, a product
# such as 3 × 30,000 would be infinite even if the final sum were not.
#
# </details>

# %% [markdown]
# ## 3. When vectors are impossible
#
# A vector must begin at a multiple of 16 bytes. `fk.compile` reads the address of each example
# tensor and compiles for tensors with that alignment. But a view such as `x[1:]` does not begin at
# a multiple of 16 bytes.
#
# **Predict:** how many load instructions does it take to copy four `float32` values that begin 4
# bytes after a multiple of 16? How many if they begin 8 bytes after it?

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
# The result is correct each time, but `x[1:]` silently costs four times as many loads. (The stores
# go to a separate tensor, which is aligned.)
#
# The rows of a matrix are a second such case. A matrix may begin at a multiple of 16 bytes although
# most of its rows do not:

# %%
for columns in (1001, 1002, 1004, 1008):
    starts = [row * columns * 2 % 16 for row in range(8)]
    print(f"{columns} columns of float16: rows begin {starts} bytes after a multiple of 16")

# %% [markdown]
# Rows of 1,002 elements allow 4-byte vectors, rows of 1,004 elements allow 8-byte vectors, and rows
# of 1,001 elements allow no vectors at all. Our tiled copy does not compile for such a matrix. (The
# next error is intentional.)

# %% jupyter={"outputs_hidden": true} tags=["raises-exception"]
x, y = fk.randn(64, 1001, dtype=torch.float16), fk.empty(64, 1001, dtype=torch.float16)
fk.compile(copy_tiled, x, y)

# %% [markdown]
# The atom requests 128 bits, but without a promise about the columns the compiler cannot assume
# 16-byte alignment. An error is a better way to fail than a slow copy.
#
# For a copy, there is a remedy that costs nothing. In memory, a row-major matrix without gaps *is*
# one long array, and `flat` lets the kernel treat it as one:

# %%
show_source(flat)

# %%
x, y = fk.randn(64, 1001, dtype=torch.float16), fk.empty(64, 1001, dtype=torch.float16)
run_flat = fk.compile(flat(copy_vectors), x, y)
check_shapes(run_flat, [(64, 1001), (8, 1001)], dtype=torch.float16)
print(accesses(run_flat))

# %% [markdown]
# A `v4.b32` access moves 16 bytes, eight `float16` elements. (Both matrices contain a multiple of
# eight elements; other sizes need your `vector_copy` from `04_copy_fast`.) This remedy works for
# operators that treat all elements alike, in tensors without gaps. Other operators pad their rows,
# use the widest vector that every row allows, or copy single elements up to the first multiple of
# 16 bytes.
#
# This is a good place for a break.
#
# ## 4. Copies without registers: cp.async
#
# In all kernels so far, the data pass through registers, and a thread needs one register for every
# 4 bytes in flight. `cp.async`, an **asynchronous copy**, moves data from global to *shared* memory
# without using registers. The thread starts the copy and then continues. An asynchronous copy takes
# three calls:
#
# - `cute.copy` with a `CopyG2SOp` atom (global to shared) starts copies;
# - `cp_async_commit_group()` combines all copies that the thread has started so far into a
#   **group**;
# - `cp_async_wait_group(n)` waits until all groups of this thread, except at most the `n` newest,
#   are complete.
#
# The kernel below copies a tile into shared memory and stores it from there. Each thread stores
# only the elements that it copied itself, so it does not need to wait for other threads. A later
# cell uses the parameter `waits` to omit the wait.


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
    # Y is partitioned like X, because the destination side of `load` is shared memory.
    tXgY = thr_copy.partition_S(gY[tile])  # ((Vec,4),1,1)
    tXcX = thr_copy.partition_S(cX[tile])  # ((Vec,4),1,1)
    tXsX = thr_copy.partition_D(sX)  # ((Vec,4),1,1)
    tXpX = cute.make_rmem_tensor((4, 1, 1), cutlass.Boolean)  # (4,1,1), one per vector
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
profile = cost("cp.async", run_async, x)
print(accesses(run_async))

# %% [markdown]
# The number of sectors is the same as before. The next picture shows that each warp starts four
# copies one after the other, commits them, waits, and only then reads shared memory.

# %%
fk.timeline(run_async, x, y)

# %% [markdown]
# **Predict:** what kind of finding does the sanitizer report if the wait is missing?

# %%
hasty = fk.predict("kind of finding", None)  # such as "shared-race", "out-of-bounds", "async-copy"

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(16, 128, device="virtual"), fk.empty(16, 128, device="virtual")
run_hasty = fk.compile(copy_async, *promised(x, y), False, device="virtual")
report = fk.sanitize(run_hasty, x, y)
hasty.against(report.findings[0].kind)
report

# %% [markdown]
# > **Looks right but is wrong.** Without the wait, a thread on a real GPU reads whatever shared
# > memory contains at that moment. If the data come from a cache, they may arrive in time, so the
# > result is correct until one day they arrive too late. The virtual GPU tracks which copies are in
# > flight.
#
# For a copy, shared memory is only a detour. `cp.async` pays off where data must be in shared
# memory anyway, because threads exchange them, as in the next exercise. It also pays off where a
# block computes with one tile while the next one is in flight.

# %% [markdown] exercise="week0/async_reverse" part="task"
# ### Exercise 2: reverse rows with asynchronous copies
#
# Each block reverses one row. Copy the row into shared memory with `cp.async`, 16 bytes at a time,
# and make sure that it has arrived before the loop below reads it. A thread now reads elements that
# *other* threads have copied. The length of a row is a multiple of 8, so it consists of whole
# vectors, at most 128 of them and possibly fewer.
# Signature: `async_reverse(x, y)`.
#
# Decide first which of your lines belong inside an `if` and which must be outside it.
#
# **Required**: one block per row, at most 1 barrier.
#
# <details><summary>Hint 1</summary>
#
# You need four calls in this order: copy, commit, wait, and one more, because a thread reads
# elements that other threads have copied.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Only threads with a vector may copy, so the predicate is `tidx < n // vec`. A thread's vector is
# `gX[(None, tidx)]`, and its place in shared memory is `sX[(None, tidx)]`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The copy is one `cute.copy` with `atom`, which is the only line inside the `if`. All threads
# execute the three lines after it. Section 4 shows two of them, and `01_why_slow_why_wrong` shows
# the third.
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
# <details><summary>Solution of exercise 2</summary>
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
# `cp_async_wait_group` makes a thread wait for its own copies, and the barrier makes the threads
# wait for each other. You need both, in this order: if the barrier came first, other threads'
# copies could still be in flight after it. The wait costs nothing for a thread that has copied
# nothing, so it needs no `if`. The barrier must not be inside an `if`.
#
# Both sides are coalesced. Neighbouring threads copy neighbouring vectors of 16 bytes into shared
# memory and store neighbouring elements of the result. The reversal happens when the threads read
# shared memory, where the order of elements costs nothing.
#
# </details>

# %% [markdown]
# ## 5. Compare all versions
#
# Here are the counters for 32 × 1024 `float32`, compared with those of the vector copy:


# %%
@cute.jit
def down(mX: cute.Tensor, mY: cute.Tensor):
    copy_tiled(mX, mY, False)


steps = {
    "vectors by hand": flat(copy_vectors),
    "tiled copy, down": (down, promised),
    "tiled copy, across": (copy_tiled, promised),
    "cp.async": (copy_async, promised),
}
side_by_side(steps, fk.randn(32, 1024))

# %% [markdown]
# The next cell shows the times, which were recorded in the same run as those of `04_copy_fast`.
# There, the TV-layout copy took 138 µs for 8192 × 8192 `float32`. Its consecutive blocks also copy
# tiles one below the other, as in *down*.
#
# **Predict:** the tiled copy executes a third as many instructions. How many microseconds does its
# *down* version take?

# %%
of_down = fk.predict("microseconds, tiled copy, down", None)

# %% jupyter={"outputs_hidden": true}
times = recorded("week0/05_tiled_copies")
of_down.against(round(1000 * times.row("tiled copy, down", "float32").ms))
times

# %% [markdown]
# - **Tiled copy, down** takes as long as the TV-layout copy. Instructions were not its limit, and
#   one vector per thread already had enough bytes in flight.
# - **Across** is 5 to 6 % faster than **down**. None of our counters shows this difference, because
#   each block does the same work in both versions. Blocks that run at the same time should read
#   adjacent memory, but in *down* the tiles of consecutive blocks are 16 rows apart.
# - **cp.async** takes as long as the tiled copy, because the wait for memory hides its detour
#   through shared memory.
#
# ## Summary
#
# | copy | instructions per kB | bytes in flight per thread | `float32` | `float16` |
# |---|---|---|---|---|
# | vectors by hand | 32 | 16 | 0.130 ms | 0.068 ms |
# | TV layout, down | 104 | 16 | 0.138 ms | 0.072 ms |
# | tiled copy, down | 36 | 64 | 0.139 ms | 0.073 ms |
# | tiled copy, across | 36 | 64 | 0.132 ms | 0.069 ms |
# | cp.async, across | 44 | 64 | 0.131 ms | 0.069 ms |
# | bound | | | 0.112 ms | 0.056 ms |
#
# The instructions are for `float32`. The times are for 8192 × 8192 and were recorded on an H200 on
# 21 November 2026.
#
# | rows that are not whole vectors | remedy |
# |---|---|
# | no gaps between rows, all elements treated alike | treat the matrix as one long array |
# | otherwise | use padding, narrower vectors, or single elements at the edge |
#
# **In practice**, kernels have two or three buffers for tiles in shared memory, and `cp.async`
# fills one while the block computes with another. On recent GPUs, a single instruction in one
# thread can copy a whole tile and check its bounds (TMA).
#
# **Further reading:** [`cp.async` in the PTX
# manual](https://docs.nvidia.com/cuda/parallel-thread-execution/index.html#data-movement-and-conversion-instructions-cp-async)
# · [NVIDIA's notebooks on CuTe
# DSL](https://github.com/NVIDIA/cutlass/tree/main/examples/python/CuTeDSL), among them
# `elementwise_add`
#
# **Next:** the copy takes 0.13 ms, but its compilation takes about a thousand times as long
# ([`06_compile_once`](06_compile_once.ipynb)).
