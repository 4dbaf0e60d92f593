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
# # Copy in tiles: more bytes in flight
#
# **You will build** a tiled copy, a copy for rows that vectors do not divide evenly, and a copy
# that runs while its thread continues.
# **You will learn** how many bytes a thread must have in flight, when 16-byte loads are impossible,
# and what `cp.async` requires before you may read its data.
# **You need** `04_copy_fast` (vectors, TV layouts, coordinates as predicates); no GPU. About 35
# minutes, and 40 more for the exercises.
#
# **The bad number is 104.** The TV layout of `04_copy_fast` executes 104 instructions for 1 kB,
# because each thread locates its tile for a single vector. The vector copy executes 32.

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
# one piece: with which instruction, which type and how many bits. `make_tiled_copy_tv` repeats the
# atom over threads and values, and stores everything in one object, the **tiled copy**.
#
# Here each thread copies several vectors, one below the other. This is a small tile, with 2 × 4
# threads and two vectors of four elements per thread:

# %%
thr_layout = fk.Layout((2, 4), (4, 1))
val_layout = fk.Layout((2, 4), (4, 1))
tiler_mn, layout_tv = make_layout_tv(thr_layout, val_layout)
viz.display_tv_layout(layout_tv, tiler_mn)

# %% [markdown]
# `get_slice(tidx)` is a thread's share of the tiled copy. Its `partition_S` and `partition_D` cut a
# tile as source and as destination; they do the composing and slicing that you did by hand. Our
# threads copy *four* vectors each, so a thread's part has the shape `((Vec,4),1,1)`.
# `tXcX[(0, v), 0, 0]` is the coordinate of the first element of vector `v`.
#
# `cute.copy` copies all of a thread's vectors. `tXrX` is a tensor in **r**egisters, which hold the
# values between load and store. `tXpX` stores one **p**redicate per vector; `cute.copy` skips a
# vector whose predicate is false.
#
# The grid has two dimensions, one per direction of tiles, so a thread needs no division. Blocks
# usually start in the order of their numbers, x first. With `across`, neighbouring blocks copy
# tiles side by side. Otherwise they copy tiles one below the other, as `copy_tv` did.
#
# **Predict:** one vector per thread took 104 instructions for 1 kB. How many will four take?

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
# The tiled copy executes about a third of the instructions. It has a second advantage, which no
# counter shows. The picture compares it with the strided copy of `04_copy_fast`. Both kernels load
# four times per thread; the order of their loads and stores is read from the PTX, and each wait
# counts as one unit.

# %%
loads_in_flight(
    {"four, strided": fk.compile(copy_strided, fk.randn(4096), fk.empty(4096)), "tiled": run_tiled}
)

# %% [markdown]
# ## 2. How many bytes must be in flight?
#
# In the strided copy each store comes before the next load, and waits for its value. In the tiled
# copy four loads are **in flight** before the first store.
#
# Memory takes time to answer, so it needs many requests outstanding to stay busy. *Little's law*
# gives the number: bytes in flight = rate × answer time. Only loads are in flight, and they are
# half of a copy's traffic, so the rate is half of 4.8 TB/s. An H200 has 132 multiprocessors, the
# units that run blocks, with room for 2,048 threads each.
#
# We need an answer time. Apply the law to the recorded time of *four, strided* in `float16`, whose
# threads have 2 bytes in flight: the answer takes at most 547 ns. (Starting and ending the blocks
# accounts for part of that.)
#
# **Predict:** how many bytes must each thread have in flight to read 2.4 TB/s? (One decimal.)

# %%
needed = fk.predict("bytes in flight per thread", None)

# %% jupyter={"outputs_hidden": true}
half = recorded("week0/04_copy_fast").row("four, strided", "float16")
answer_ns = 132 * 2048 * 2 / (half.gbps / 2)  # half of GB/s are reads; bytes / (GB/s) are ns
needed.against(round(2.4e12 * answer_ns * 1e-9 / (132 * 2048), 1))
littles_law(answer_ns)

# %% [markdown]
# With 4 bytes per thread even perfect code stays below the ceiling; one vector of 16 bytes is
# enough. A point below the line is limited by something else: *one element per thread* starts too
# many blocks.

# %% [markdown] exercise="week0/add_predicated" part="task"
# ### Exercise 1: add two matrices with a tiled copy
#
# Compute `z = a * x + y` for matrices of any size whose rows are whole vectors, in three types. The
# skeleton has the partitions, the registers and the tensor `tXpX`, one predicate for each of a
# thread's 4 vectors. Fill in the predicates, load both matrices, compute in `Float32`, and store.
# As given, the kernel copies `x`, and only where every tile fits.
#
# Rows may have gaps between them: `x` can be a part of a wider matrix, so you cannot treat it as
# one long vector. In the tests, rows of 256 elements are 272 elements apart, and the reported sizes
# include the gaps. Signature: `add_predicated(x, y, z, a)`.
#
# <details><summary>Hint 1</summary>
#
# `copy_tiled` above does all of it except the arithmetic. The coordinate of a thread's vector `v`
# is that of its first element, `tXcX[(0, v), 0, 0]`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `tXrX.load()` returns all of a thread's values, and `.to(Float32)` converts them. Compute with the
# result as with a number. `tXrX.store(…)` writes a result back to registers, after
# `.to(gZ.element_type)`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Seven lines: a loop over the 4 vectors that stores in `tXpX[v, 0, 0]` whether each entry of the
# vector's coordinate is less than the matching entry of `shape`; two loads; the arithmetic; two
# lines to store. All three copies take the predicates.
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
# One predicate per vector is enough, since rows are whole vectors: a vector is inside or outside,
# but never across the edge. Registers of vectors that were not loaded contain arbitrary values.
# Arithmetic on them does no harm, because the store has the same predicate.
#
# The sum is computed in `Float32` and rounded once, at the end. In `float16` the product of 3 and
# 30,000 would be infinite, although the sum is not.
#
# </details>

# %% [markdown]
# ## 3. When vectors fail
#
# A vector must begin at a multiple of 16 bytes. `fk.compile` reads the address of each example
# tensor and compiles for tensors with that alignment. A view such as `x[1:]` begins elsewhere.
#
# **Predict:** how many load instructions copy four `float32` that begin 4 bytes after a multiple of
# 16? And 8 bytes after it?

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
# The result is right each time. `x[1:]` costs four times the loads, without a warning. (The stores
# go to a separate tensor, which is aligned.)
#
# Rows are the second case. A matrix may begin at a multiple of 16 bytes while most of its rows do
# not:

# %%
for columns in (1001, 1002, 1004, 1008):
    starts = [row * columns * 2 % 16 for row in range(8)]
    print(f"{columns} columns of float16: rows begin {starts} bytes after a multiple of 16")

# %% [markdown]
# Rows of 1,002 elements allow vectors of 4 bytes, rows of 1,004 allow 8 bytes, and rows of 1,001
# allow none. Our tiled copy cannot be compiled for such a matrix. (The next error is intended.)

# %% jupyter={"outputs_hidden": true} tags=["raises-exception"]
x, y = fk.randn(64, 1001, dtype=torch.float16), fk.empty(64, 1001, dtype=torch.float16)
fk.compile(copy_tiled, x, y)

# %% [markdown]
# The atom requests 128 bits. Without a promise about the columns, the compiler can rely on 8 bytes
# at most. That is the better way to fail: an error instead of a slow copy.
#
# For a copy there is a free remedy. A row-major matrix without gaps *is* one long vector in memory.
# `flat` gives the kernel that view:

# %%
show_source(flat)

# %%
x, y = fk.randn(64, 1001, dtype=torch.float16), fk.empty(64, 1001, dtype=torch.float16)
run_flat = fk.compile(flat(copy_vectors), x, y)
check_shapes(run_flat, [(64, 1001), (8, 1001)], dtype=torch.float16)
print(accesses(run_flat))

# %% [markdown]
# `v4.b32` is 16 bytes, eight `float16` elements. (Both sizes are multiples of eight elements; other
# sizes need your `vector_copy` of `04_copy_fast`.) The remedy works for operators that treat all
# elements alike, in tensors without gaps. Other operators pad their rows, use the widest vector
# that every row allows, or copy single elements up to the first multiple of 16 bytes.
#
# This is a good place for a break.
#
# ## 4. Copies without registers: cp.async
#
# In all kernels so far the data pass through registers, and a thread needs one register per 4 bytes
# in flight. `cp.async`, an **asynchronous copy**, moves data from global to *shared* memory without
# registers. The thread starts the copy and continues. It uses three calls:
#
# - `cute.copy` with a `CopyG2SOp` atom (global to shared) starts copies;
# - `cp_async_commit_group()` closes a **group** of all copies that the thread has started;
# - `cp_async_wait_group(n)` waits until at most the `n` newest groups of this thread are
#   incomplete.
#
# The kernel below copies a tile into shared memory and stores it from there. Each thread stores
# only what it copied itself, so it need not wait for other threads. A later cell passes `waits` to
# leave out the wait.


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
# The sectors are the same again. The picture shows, per warp, four copies started one after the
# other, then the commit, the wait, and only then the reads of shared memory.

# %%
fk.timeline(run_async, x, y)

# %% [markdown]
# **Predict:** which kind of finding does the sanitizer report if the wait is missing?

# %%
hasty = fk.predict("kind of finding", None)  # such as "shared-race", "out-of-bounds", "async-copy"

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(16, 128, device="virtual"), fk.empty(16, 128, device="virtual")
run_hasty = fk.compile(copy_async, *promised(x, y), False, device="virtual")
report = fk.sanitize(run_hasty, x, y)
hasty.against(report.findings[0].kind)
report

# %% [markdown]
# > **Looks right but is wrong.** On a GPU the thread reads whatever shared memory contains. If the
# > data come from a cache, they may arrive in time, and the result is right until the day they do
# > not. The virtual GPU tracks which copies are in flight.
#
# For a copy, shared memory is only a detour. `cp.async` pays off where data must be in shared
# memory anyway, because threads exchange them as in the next exercise, or where a block computes
# with one tile while the next is in flight.

# %% [markdown] exercise="week0/async_reverse" part="task"
# ### Exercise 2: reverse rows with asynchronous copies
#
# One block reverses one row of up to 128 vectors. Copy the row into shared memory with `cp.async`,
# one vector per thread, and make sure that it has arrived before the loop below reads it. A thread
# now reads what *other* threads have copied. Rows are whole vectors, but may have fewer than 128.
# Signature: `async_reverse(x, y)`.
#
# Decide first which of your lines belong inside an `if`, and which must be outside.
#
# **Required**: at most 1 barrier.
#
# <details><summary>Hint 1</summary>
#
# Four calls in order: copy, commit, wait, and one more, because a thread reads elements that other
# threads have copied.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Only threads that have a vector copy, `tidx < n // vec`. A thread's vector is `gX[(None, tidx)]`,
# and its place in shared memory is `sX[(None, tidx)]`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The copy is one `cute.copy` with `atom`, alone inside its `if`. All threads execute the three
# lines after it: section 4 has two of them, and `01_why_slow_why_wrong` has the third.
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
# The wait makes a thread wait for its own copies; the barrier makes threads wait for each other.
# You need both, in this order: if the barrier comes first, other threads' copies may still be in
# flight after it. The wait costs nothing for a thread that has copied nothing, so it needs no `if`,
# and the barrier must not be in one.
#
# Both sides are coalesced: vectors of 16 bytes on the way in, and on the way out one element per
# thread, neighbours side by side. The reversal happens in shared memory, where the order of
# elements costs nothing.
#
# </details>

# %% [markdown]
# ## 5. All steps side by side
#
# First the counters, for 32 × 1024 `float32`, next to the vector copy:


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
# Now the times, recorded in the same run as those of `04_copy_fast`. There the TV layout, whose
# tiles go down, took 138 µs for 8192 × 8192 `float32`.
#
# **Predict:** the tiled copy executes a third of its instructions. How many microseconds does it
# take with tiles *down*?

# %%
of_down = fk.predict("microseconds, tiled copy, down", None)

# %% jupyter={"outputs_hidden": true}
times = recorded("week0/05_tiled_copies")
of_down.against(round(1000 * times.row("tiled copy, down", "float32").ms))
times

# %% [markdown]
# - **Tiled copy, down** takes as long as the TV layout. Instructions were not the limit, and one
#   vector per thread already had enough bytes in flight.
# - **Down or across** makes a difference of 5 to 6 % that none of our counters shows, since each
#   block does the same work in both. Blocks that run at the same time should read adjacent memory;
#   with *down*, neighbouring blocks are 16 rows apart.
# - **cp.async** takes as long as the tiled copy: the wait for memory hides its detour.
#
# ## Summary
#
# | step | instructions for 1 kB | bytes in flight per thread | `float32` | `float16` |
# |---|---|---|---|---|
# | vectors by hand | 32 | 16 | 0.130 ms | 0.068 ms |
# | TV layout, tiles down | 104 | 16 | 0.138 ms | 0.072 ms |
# | tiled copy, tiles down | 36 | 64 | 0.139 ms | 0.073 ms |
# | tiled copy, tiles across | 36 | 64 | 0.132 ms | 0.069 ms |
# | cp.async, tiles across | 44 | 64 | 0.131 ms | 0.069 ms |
# | bound | | | 0.112 ms | 0.056 ms |
#
# Instructions are for `float32`. Times are for 8192 × 8192, recorded on an H200 on 21 November
# 2026.
#
# | rows that vectors do not divide evenly | remedy |
# |---|---|
# | without gaps, all elements alike | one long vector |
# | otherwise | padding, narrower vectors, or single elements at the edge |
#
# **In practice** kernels keep tiles in shared memory in two or three buffers, and `cp.async` fills
# one while the block computes with another. Recent GPUs copy whole tiles, predicates included, with
# a single instruction from one thread (TMA).
#
# **Further reading:** [`cp.async` in the PTX
# manual](https://docs.nvidia.com/cuda/parallel-thread-execution/index.html#data-movement-and-conversion-instructions-cp-async)
# · [NVIDIA's notebooks on CuTe
# DSL](https://github.com/NVIDIA/cutlass/tree/main/examples/python/CuTeDSL), among them
# `elementwise_add`
#
# **Next:** the copy takes 0.13 ms, and compiling it took about a thousand times as long
# ([`06_compile_once`](06_compile_once.ipynb)).
