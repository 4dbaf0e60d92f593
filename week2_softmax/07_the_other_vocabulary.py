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
# # Read the other vocabulary: arrays and primitives
#
# **You will build** one kernel from each week again, this time with NVIDIA's *primitives*.
# **You will learn** how to translate each line of one vocabulary into the other, what code the
# compiler generates from both, and when to use which.
# **You need** weeks 0 and 1, and week 2 up to `02_the_row_in_registers`. About 20 minutes, and 30
# more for the exercises.
#
# **The bad number: 72 scripts that you cannot read yet.** Of NVIDIA's 207 example scripts for CuTe
# DSL (CUTLASS at `7107b05`), 72 use `cutlass.Array`, `cutlass.Vector` or
# `cutlass.experimental.primitives`. So far, this course has used none of these. CUTLASS 4.7
# introduced them "as experimental"; its changelog calls them "a transitional API until a CUDA
# Python-like solution is available". Everything below ran with CuTe DSL 4.8.1; a later version may
# rename parts of the API.

# %%
import operator

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.experimental import primitives as prims
from week2_helpers import LOG2_E, compared, matrices_picture, vocabulary_picture

import forgekit as fk

# %% [markdown]
# ## 1. The words
#
# | | CuTe | primitives |
# |---|---|---|
# | a parameter | `mX: cute.Tensor`: pointer, layout | `x: cutlass.Array`: pointer, shape, strides |
# | an element | `mX[row, n]` | `x[row, n]` |
# | 16 bytes | `zipped_divide(mX[row, None], (4,))[None, i].load()` | `x.load((row, 4 * i), 4)` |
# | the type of these 16 bytes | `TensorSSA` | `cutlass.Vector` |
# | the sum of such a vector | `v.reduce(cute.ReductionOp.ADD, 0.0, 0)` | `v.reduce("add")` |
# | registers | `make_rmem_tensor(((4,), 2), Float32)` | `cutlass.Array(Float32, (2, 4))` |
# | shared memory | `allocate_tensor(Float32, layout)` | `cutlass.Array(Float32, shape, space=…)` |
# | barrier | `cute.arch.sync_threads()` | `prims.barrier_cta_sync(0)` |
# | shuffle | `cute.arch.shuffle_sync_bfly(v, offset=16)` | `prims.shfl_sync(mask, v, 16, …)` |
#
# A CuTe tensor has a **layout**, a function from coordinates to addresses that you can divide,
# compose and swizzle. An array has only a shape and one stride per mode; any further address
# arithmetic is yours.
#
# The host function stays the same. Its parameters are `cute.Tensor`s, and the launch converts them
# to arrays where the kernel declares its parameters as `cutlass.Array`.
#
# ## 2. Week 0: a transpose through shared memory
#
# The CuTe kernel expresses the padding in the tile's layout:


# %%
@cute.kernel
def transpose_tensors_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    M, N = mX.shape
    layout = cute.make_layout((32, 32), stride=(33, 1))  # (32,32):(33,1)
    sT = cutlass.memory.SmemAllocator().allocate_tensor(Float32, layout, 16)
    for k in cutlass.range_constexpr(0, 32, 8):
        if by * 32 + ty + k < M and bx * 32 + tx < N:
            sT[ty + k, tx] = mX[by * 32 + ty + k, bx * 32 + tx]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(0, 32, 8):
        if bx * 32 + ty + k < N and by * 32 + tx < M:
            mY[bx * 32 + ty + k, by * 32 + tx] = sT[tx, ty + k]


@cute.jit
def transpose_tensors(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 32), 1)
    transpose_tensors_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))


# %% [markdown]
# The array kernel expresses the padding in the shape; no thread uses the last column:


# %%
@cute.kernel
def transpose_arrays_kernel(x: cutlass.Array, y: cutlass.Array):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    M, N = x.shape
    tile = cutlass.Array(Float32, (32, 33), space=cutlass.AddressSpace.smem)  # (32,33):(33,1)
    for k in cutlass.range_constexpr(0, 32, 8):
        if by * 32 + ty + k < M and bx * 32 + tx < N:
            tile[ty + k, tx] = x[by * 32 + ty + k, bx * 32 + tx]
    prims.barrier_cta_sync(0)
    for k in cutlass.range_constexpr(0, 32, 8):
        if bx * 32 + ty + k < N and by * 32 + tx < M:
            y[bx * 32 + ty + k, by * 32 + tx] = tile[tx, ty + k]


@cute.jit
def transpose_arrays(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 32), 1)
    transpose_arrays_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))


# %% [markdown]
# **Predict:** how many of the kernel's 118 PTX instructions differ between the two versions?

# %%
differ = fk.predict("PTX instructions that differ", None)

# %% [markdown]
# The helper `compared` compiles two host functions, checks both results, and prints the counts that
# differ:


# %% jupyter={"outputs_hidden": true}
PTX = {}
x, y = fk.randn(100, 72), fk.empty(72, 100)
PTX["transpose"] = compared(transpose_tensors, transpose_arrays, x, y, x.T)
differ.against(max((PTX["transpose"][0] - PTX["transpose"][1]).values()))

# %% [markdown]
# Only the barrier differs, and `bar.sync 0` and `barrier.sync 0` are two names for the same
# barrier. If a kernel computes its addresses itself, the two vocabularies are two notations for the
# same program.
#
# ## 3. Week 1: a row sum with vectors and shuffles
#
# One warp reads a row, with 16 bytes per lane. In CuTe, the layout `((4),(N/4))` numbers the
# vectors:


# %%
@cute.kernel
def sum_tensors_kernel(mX: cute.Tensor, mY: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    gX = cute.zipped_divide(mX[row, None], (4,))  # ((4),(N/4)):((1),(4))
    total = Float32(0.0)
    for i in cutlass.range(lane, cute.size(gX, mode=[1]), 32, unroll=1):
        total += gX[None, i].load().reduce(cute.ReductionOp.ADD, 0.0, 0)  # (4)
    total = cute.arch.warp_reduction(total, operator.add)
    if lane == 0:
        mY[row] = total


@cute.kernel
def sum_arrays_kernel(x: cutlass.Array, y: cutlass.Array):
    lane, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    total = Float32(0.0)
    for i in cutlass.range(4 * lane, x.shape[1], 128, unroll=1):
        total += x.load((row, i), 4).reduce("add")  # (4):(1) from N * row + i
    for offset in (16, 8, 4, 2, 1):
        total += prims.shfl_sync(0xFFFFFFFF, total, offset, 0x1F, prims.Shfl.BFLY)
    if lane == 0:
        y[row] = total


def per_row(kernel, *constants):
    """Return a host function that launches one warp per row."""

    @cute.jit
    def host(mX: cute.Tensor, mY: cute.Tensor):
        kernel(mX, mY, *constants).launch(grid=(mX.shape[0], 1, 1), block=(32, 1, 1))

    return host


x, y = fk.randn(8, 500), fk.empty(8)
PTX["row sum"] = compared(
    per_row(sum_tensors_kernel), per_row(sum_arrays_kernel), x, y, x.sum(1, dtype=torch.float64)
)

# %% [markdown]
# The loads, additions and shuffles are the same. The array kernel has fewer other instructions,
# because it counts elements, whereas the CuTe kernel first divides N by 4 to count vectors.
#
# > **Looks right but is wrong.** An array loads vectors from *neighbouring addresses*, whatever the
# > strides. The next kernel loads a transposed matrix, whose rows are columns in memory, both ways.

# %%
x = torch.arange(16.0, device=fk.device).reshape(4, 4).T  # (4,4):(1,4)


@cute.kernel
def rows_kernel(x: cutlass.Array, y: cutlass.Array, mX: cute.Tensor, mY: cute.Tensor):
    row, _, _ = cute.arch.thread_idx()
    y.store(x.load((row, 0), 4, alignment=4), (row, 0), alignment=4)
    gX, gY = (cute.zipped_divide(mT[row, None], (4,)) for mT in (mX, mY))
    gY[None, 0].store(gX[None, 0].load())  # (4):(4) to (4):(1)


@cute.jit
def rows(mX: cute.Tensor, mA: cute.Tensor, mC: cute.Tensor):
    rows_kernel(mX, mA, mX, mC).launch(grid=(1, 1, 1), block=(4, 1, 1))


of_array, of_tensor = fk.empty(4, 4), fk.empty(4, 4)
fk.compile(rows, x, of_array, of_tensor)(x, of_array, of_tensor)
fk.check(of_tensor, x)
title = "rows of a transposed matrix, one per thread"
matrices_picture(title, x=x, array=of_array, tensor=of_tensor)

# %% [markdown]
# > The array loads elements 0 to 3, 1 to 4, …, whereas CuTe's tile follows its layout. The
# > sanitizer cannot find the mistake, because every address is inside the tensor. `fk.check` finds
# > the wrong values.
#
# CuTe DSL 4.8.1 has a second trap. In the slice `x[start:count]`, the second number is a *count*,
# and `x[row, i:4]` begins at element `row + i` instead of `N * row + i`. Write `x.load((row, i),
# 4)`.

# %% [markdown] exercise="week2/row_distances" part="task"
# ### Exercise 1: rewrite a kernel with arrays
#
# This CuTe kernel computes `y[m] = Σ (x[m, n] − z[m, n])²` for float32 rows of whole 16-byte
# vectors:
#
#     gX, gZ = (cute.zipped_divide(mT[row, None], (4,)) for mT in (mX, mZ))  # ((4),(N/4))
#     total = Float32(0.0)
#     for i in range(lane, cute.size(gX, mode=[1]), 32):
#         d = gX[None, i].load() - gZ[None, i].load()
#         total += (d * d).reduce(cute.ReductionOp.ADD, 0.0, 0)
#     total = cute.arch.warp_reduction(total, operator.add)
#
# Rewrite it, including its launch, as a kernel whose parameters are `cutlass.Array`. You may merge
# the lanes in either vocabulary. Signature: `row_distances(mX, mZ, mY)`.
#
# **Required**: one warp per row, 16 bytes per load.
#
# <details><summary>Hint 1</summary>
#
# Vector i of the CuTe kernel begins at column 4 · i. Which columns does lane 5 load, and how far
# apart are they?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `x.load((row, i), 4)` is a vector of 4 elements. Vectors are subtracted and multiplied element by
# element, and `.reduce("add")` returns the sum of a vector's elements.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `prims.shfl_sync(0xFFFFFFFF, total, offset, 0x1F, prims.Shfl.BFLY)` belongs in a loop over the
# offsets 16, 8, 4, 2, 1. After the loop, one lane stores the result.
#
# </details>


# %% exercise="week2/row_distances" part="skeleton"
@cute.kernel
def row_distances_kernel(x: cutlass.Array, z: cutlass.Array, y: cutlass.Array):
    # FILL ME IN (roughly 13 lines)
    pass


@cute.jit
def row_distances(mX: cute.Tensor, mZ: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/row_distances" part="grade"
fk.exercise("week2/row_distances").grade(row_distances)

# %% [markdown] exercise="week2/row_distances" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# @cute.kernel
# def row_distances_kernel(x: cutlass.Array, z: cutlass.Array, y: cutlass.Array):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row, lane = bidx * 4 + tidx // 32, tidx % 32
#     M, N = x.shape
#     if row < M:
#         total = Float32(0.0)
#         for i in range(4 * lane, N, 128):
#             d = x.load((row, i), 4) - z.load((row, i), 4)  # (4) from (row, i)
#             total += (d * d).reduce("add")
#         for offset in (16, 8, 4, 2, 1):
#             total += prims.shfl_sync(0xFFFFFFFF, total, offset, 0x1F, prims.Shfl.BFLY)
#         if lane == 0:
#             y[row] = total
#
#
# @cute.jit
# def row_distances(mX: cute.Tensor, mZ: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 4)
#     row_distances_kernel(mX, mZ, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# The loop now counts elements instead of vectors: column 4 · lane, then every 128th. The CuTe
# kernel states this once, in the layout `((4),(N/4))`, whereas the array kernel states it in every
# load. To change the vector width, you change one tile in the CuTe kernel, but every address in the
# array kernel.
#
# </details>

# %% [markdown]
# A good place for a break.
#
# ## 4. Week 2: softmax with the row in registers
#
# In the last pair of kernels, one warp handles each row. Each lane holds `loads` vectors, and
# missing vectors are −∞.


# %%
@cute.kernel
def softmax_tensors_kernel(mX: cute.Tensor, mY: cute.Tensor, loads: cutlass.Constexpr):
    lane, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    gX, gY = (cute.zipped_divide(mT[row, None], (4,)) for mT in (mX, mY))  # ((4),(N/4))
    rX = cute.make_rmem_tensor(((4,), loads), Float32)  # ((4),loads)
    rX.fill(-Float32.inf)
    for k in cutlass.range_constexpr(loads):
        if lane + 32 * k < cute.size(gX, mode=[1]):
            rX[None, k].store(gX[None, lane + 32 * k].load())
    x = rX.load()
    m = cute.arch.warp_reduction_max(x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))
    e = cute.math.exp2((x - m) * LOG2_E, fastmath=True)
    rX.store(e / cute.arch.warp_reduction_sum(e.reduce(cute.ReductionOp.ADD, 0.0, 0)))
    for k in cutlass.range_constexpr(loads):
        if lane + 32 * k < cute.size(gX, mode=[1]):
            gY[None, lane + 32 * k].store(rX[None, k].load())


# %%
@cute.kernel
def softmax_arrays_kernel(x: cutlass.Array, y: cutlass.Array, loads: cutlass.Constexpr):
    lane, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    held = cutlass.Array(Float32, (loads, 4))  # (loads,4):(4,1), in registers
    m, s = -Float32.inf, Float32(0.0)
    for k in cutlass.range_constexpr(loads):
        v = cutlass.full(4, -Float32.inf, dtype=Float32)
        if 4 * (lane + 32 * k) < x.shape[1]:
            v = x.load((row, 4 * (lane + 32 * k)), 4)
        held.store(v, (k, 0))
        m = cute.arch.fmax(m, v.reduce("max"))
    for offset in (16, 8, 4, 2, 1):
        m = cute.arch.fmax(m, prims.shfl_sync(0xFFFFFFFF, m, offset, 0x1F, prims.Shfl.BFLY))
    for k in cutlass.range_constexpr(loads):
        e = cute.math.exp2((held.load((k, 0), 4) - m) * LOG2_E, fastmath=True)
        held.store(e, (k, 0))
        s += e.reduce("add")
    for offset in (16, 8, 4, 2, 1):
        s += prims.shfl_sync(0xFFFFFFFF, s, offset, 0x1F, prims.Shfl.BFLY)
    for k in cutlass.range_constexpr(loads):
        if 4 * (lane + 32 * k) < x.shape[1]:
            y.store(held.load((k, 0), 4) / s, (row, 4 * (lane + 32 * k)))


x, y = fk.randn(5, 200), fk.empty(5, 200)
PTX["softmax"] = compared(
    per_row(softmax_tensors_kernel, 2), per_row(softmax_arrays_kernel, 2), x, y, x.softmax(1)
)

# %% [markdown]
# `held` occupies 8 registers and no memory, because all its indices are known at compile time.
# CuTe's operators apply to all of a lane's elements as one value. An array's `load` and `store`
# move four elements at a time, so the kernel needs a loop for each step.
#
# The counts reveal a difference in meaning: CuTe's maximum is `max.NaN.f32`, which propagates NaN,
# but `Vector.reduce("max")` is `max.f32`, which drops it. In a softmax the NaN returns, because its
# exponential is also NaN, but a plain row maximum would lose it.

# %%
vocabulary_picture(PTX)

# %% [markdown] exercise="week2/add_transposed" part="task"
# ### Exercise 2: rewrite a kernel with a layout
#
# This array kernel computes `y = x + zᵀ` for float32 matrices x (M, N) and z (N, M) with 1 to
# 2,000,000 rows and columns:
#
#     tile = cutlass.Array(Float32, (32, 33), space=cutlass.AddressSpace.smem)
#     for k in cutlass.range_constexpr(0, 32, 8):
#         row, col = bx * 32 + ty + k, by * 32 + tx
#         if row < N and col < M:
#             tile[ty + k, tx] = z[row, col]
#     prims.barrier_cta_sync(0)
#     for k in cutlass.range_constexpr(0, 32, 8):
#         row, col = by * 32 + ty + k, bx * 32 + tx
#         if row < M and col < N:
#             y[row, col] = x[row, col] + tile[tx, ty + k]
#
# Its padded tile takes 4,224 bytes. Rewrite the kernel for `cute.Tensor`, including its launch, and
# swizzle the tile instead of padding it. Signature: `add_transposed(mX, mZ, mY)`.
#
# **Required**: 256 threads per block, at most 1 barrier, at most 4,096 bytes of shared memory per
# block, no bank conflicts.
#
# <details><summary>Hint 1</summary>
#
# Only the line that allocates the tile changes significantly. Which layout maps both the elements
# of a row and the elements of a column to 32 different banks?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Offset 32 · row + column has the column in bits 0 to 4 and the row in bits 5 to 9. A swizzle
# combines the two groups of bits by XOR.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In the line that replaces `cutlass.Array`, pass `cute.make_composed_layout(swizzle, 0, layout)` to
# `allocate_tensor`. The loops keep their indices.
#
# </details>


# %% exercise="week2/add_transposed" part="skeleton"
@cute.kernel
def add_transposed_kernel(mX: cute.Tensor, mZ: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 16 lines)
    pass


@cute.jit
def add_transposed(mX: cute.Tensor, mZ: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/add_transposed" part="grade"
fk.exercise("week2/add_transposed").grade(add_transposed)

# %% [markdown] exercise="week2/add_transposed" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# @cute.kernel
# def add_transposed_kernel(mX: cute.Tensor, mZ: cute.Tensor, mY: cute.Tensor):
#     tx, ty, _ = cute.arch.thread_idx()
#     bx, by, _ = cute.arch.block_idx()
#     M, N = mX.shape
#     layout = cute.make_layout((32, 32), stride=(32, 1))
#     layout = cute.make_composed_layout(cute.make_swizzle(5, 0, 5), 0, layout)  # column ^ row
#     smem = cutlass.memory.SmemAllocator()
#     sZ = smem.allocate_tensor(Float32, layout, 128)
#     for k in cutlass.range_constexpr(0, 32, 8):
#         row, col = bx * 32 + ty + k, by * 32 + tx
#         if row < N and col < M:
#             sZ[ty + k, tx] = mZ[row, col]
#     cute.arch.sync_threads()
#     for k in cutlass.range_constexpr(0, 32, 8):
#         row, col = by * 32 + ty + k, bx * 32 + tx
#         if row < M and col < N:
#             mY[row, col] = mX[row, col] + sZ[tx, ty + k]
#
#
# @cute.jit
# def add_transposed(mX: cute.Tensor, mZ: cute.Tensor, mY: cute.Tensor):
#     grid = (cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 32), 1)
#     add_transposed_kernel(mX, mZ, mY).launch(grid=grid, block=(32, 8, 1))
# ```
#
# The swizzle takes one line, because it is part of the layout: `sZ[ty + k, tx]` and `sZ[tx, ty +
# k]` do not change. With an array you would write the XOR into both index expressions. Use CuTe
# where the mapping from coordinates to addresses is the difficult part.
#
# </details>

# %% [markdown]
# ## 5. When to use which
#
# | use layouts (CuTe) for | use arrays and primitives for |
# |---|---|
# | swizzles, TV layouts, tiled copies, tensor cores | addresses that fit in one line |
# | several strides, tile shapes or vector widths | porting CUDA C++ code |
# | expressions on whole rows in registers | one PTX instruction with all its operands |
# | code that must survive the next release | instructions that CuTe does not wrap |
#
# You can mix them: a kernel with tensor parameters can use `prims`, and `cutlass.make_array_view`
# makes an array from a tensor. The sanitizer, the counters and the pictures read PTX, so they work
# for both. Of the 45 scripts with primitives that were run on the virtual GPU, 40 passed NVIDIA's
# own checks (`tests/cuda/golden/corpus.json` lists them).

# %% [markdown]
# ## Summary
#
# | kernel | PTX instructions, CuTe | PTX instructions, arrays | difference |
# |---|---|---|---|
# | transpose, padded | 118 | 118 | `bar.sync` or `barrier.sync` |
# | row sum | 52 | 41 | address arithmetic |
# | softmax in registers | 117 | 108 | NaN in the maximum; address arithmetic |
#
# **In practice** you can read primitives as CUDA C++ in Python: arrays are pointers with shapes,
# and each `prims` function is one PTX instruction, whose operands the PTX manual explains.
#
# **Further reading:** [NVIDIA's examples with primitives][prims], from `tutorial/01_hello_world.py`
# to a GEMM with warp specialisation · [PTX][ptx], which explains the operands
#
# [prims]: https://github.com/NVIDIA/cutlass/tree/main/examples/python/CuTeDSL/experimental/primitives
# [ptx]: https://docs.nvidia.com/cuda/parallel-thread-execution/
#
# **Next:** write a kernel that you need and that does not exist yet. `book/what_you_can_do_now.md`
# lists the features that the virtual GPU supports.
