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
# # Keep enough bytes in flight
#
# **You will build** row sums that load 16 bytes a lane, with one load in flight and with four, and
# one for short rows.
# **You will learn** how many bytes have to be in flight and how to count them, what a tail does to
# a sum, and which of two limits, bytes in flight or instructions, a kernel runs into.
# **You need** `02_shuffle`, and tiled copies (`04_copy_fast` of week 0).
# About 35 minutes, and 90 more for the exercises.
#
# `02_shuffle` ended with `warp_a_row`: no barrier, no shared memory, every sector used. What is
# left is how it loads: one element at a time.

# %%
import operator
from itertools import pairwise

import cutlass
import cutlass.cute as cute
import matplotlib.pyplot as plt
import torch
from cutlass import Float32
from cutlass.cute.nvgpu import CopyUniversalOp

import forgekit as fk
from forgekit.benching.recorded import recorded

# %% [markdown]
# ## 1. The bad number: instructions a byte
#
# Here it is again. `cost` checks a sum, profiles it and prints what this notebook is about.
#
# **Predict:** for 1 kB of `float32` the warps execute so many instructions; will it be more for 1
# kB of `float16`, less, or the same?

# %%
more_for_float16 = fk.predict("float16's instructions for 1 kB, of float32's", None)  # such as 1.0


# %% jupyter={"outputs_hidden": true}
@cute.kernel
def warp_a_row_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row, lane = bidx * 4 + tidx // 32, tidx % 32
    if row < mX.shape[0]:
        total = Float32(0.0)
        for n in range(lane, mX.shape[1], 32):
            total += mX[row, n].to(Float32)
        total = cute.arch.warp_reduction(total, operator.add)
        if lane == 0:
            mY[row] = total.to(mY.element_type)


@cute.jit
def warp_a_row(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[0], 4)
    warp_a_row_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


costs = {}


def cost(name, run, x):
    y = fk.empty(x.shape[0], dtype=x.dtype)
    run(x, y)
    assert fk.check(y, x.double().sum(1))
    p = fk.profile(run, x, y)
    costs[name] = p.warp_instructions / x.nbytes * 1024
    print(f"{name:>26}: {p.global_load_requests:5,} load requests of", end=" ")
    print(f"{p.global_load_sectors_per_request:4.1f} sectors", end=", ")
    print(f"{costs[name]:4.0f} instructions for 1 kB")


for dtype in (torch.float32, torch.float16):
    x = fk.randn(16, 4096, dtype=dtype)
    run_elements = fk.compile(warp_a_row, x, fk.empty(16, dtype=dtype))
    cost(f"warp_a_row, {str(dtype)[6:]}", run_elements, x)
more_for_float16.against(round(costs["warp_a_row, float16"] / costs["warp_a_row, float32"], 1))

# %% [markdown]
# A load brings 128 bytes to a warp, or 64, whatever it costs to get there: the address, the test of
# the loop, the jump. With half of the bytes an element, each byte costs twice as much.
#
# ## 2. Sixteen bytes a lane
#
# The tools are those of `04_copy_fast`: a TV layout says that 32 lanes lie side by side and that
# each has a vector, 4 elements of `float32` or 8 of `float16`. Four warps are four rows, so a
# block's tile is 4 rows high and 32 vectors wide, and the block goes through its rows tile by tile.
# In loops:

# %%
lanes, vec, columns = 4, 2, 20  # small: 4 lanes of 2 elements, and rows of 20
for tile in range(-(-columns // (lanes * vec))):
    for lane in range(lanes):
        first = (tile * lanes + lane) * vec
        there = list(range(first, first + vec)) if first < columns else "nothing: add 0"
        print(f"tile {tile}, lane {lane}: {there}")

# %% [markdown]
# The last tile hangs over. Its lanes without a vector have to add something that changes nothing,
# the **identity** of the sum, 0. So the registers are filled with it before each copy, and the copy
# leaves alone what its predicate forbids.
#
# The kernel below has two numbers to play with: `lanes` of a row, and `loads` of a lane and tile.
# With `loads` of 4 a tile is four times as wide, and `partition_S` gives a lane four vectors in it,
# each 32 vectors from the next.


# %%
@cute.kernel
def tiled_sum_kernel(
    gX: cute.Tensor,
    cX: cute.Tensor,
    mY: cute.Tensor,
    shape: cute.Shape,
    tiled_copy: cute.TiledCopy,
    lanes: cutlass.Constexpr,
    loads: cutlass.Constexpr,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    thr_copy = tiled_copy.get_slice(tidx)
    total = Float32(0.0)
    for tile in cutlass.range(gX.shape[1][1], unroll=1):
        tXgX = thr_copy.partition_S(gX[(None, None), (bidx, tile)])  # ((Vec,1),1,loads)
        tXcX = thr_copy.partition_S(cX[(None, None), (bidx, tile)])  # ((Vec,1),1,loads)
        tXrX = cute.make_rmem_tensor_like(tXgX)  # ((Vec,1),1,loads)
        tXpX = cute.make_rmem_tensor((1, 1, loads), cutlass.Boolean)  # one for each vector
        for k in cutlass.range_constexpr(loads):
            tXpX[0, 0, k] = cute.elem_less(tXcX[0, 0, k], shape)
        tXrX.fill(0.0)
        cute.copy(tiled_copy, tXgX, tXrX, pred=tXpX)
        total += tXrX.load().to(Float32).reduce(cute.ReductionOp.ADD, 0.0, 0)
    total = cute.arch.warp_reduction(total, operator.add, threads_in_group=lanes)
    row = bidx * (128 // lanes) + tidx // lanes
    if tidx % lanes == 0 and row < shape[0]:
        mY[row] = total.to(mY.element_type)


@cute.jit
def tiled_sum(
    mX: cute.Tensor,
    mY: cute.Tensor,
    bits: cutlass.Constexpr = 128,
    lanes: cutlass.Constexpr = 32,
    loads: cutlass.Constexpr = 1,
):
    vec = cutlass.const_expr(bits // mX.element_type.width)
    atom = cute.make_copy_atom(CopyUniversalOp(), mX.element_type, num_bits_per_copy=bits)
    thr_layout = cute.make_layout((128 // lanes, lanes), stride=(lanes, 1))
    val_layout = cute.make_layout((1, vec), stride=(vec, 1))
    tiled_copy = cute.make_tiled_copy_tv(atom, thr_layout, val_layout)
    tiler_mn = (128 // lanes, lanes * vec * loads)
    gX = cute.zipped_divide(mX, tiler_mn)  # ((TileM,TileN),(RestM,RestN))
    cX = cute.zipped_divide(cute.make_identity_tensor(mX.shape), tiler_mn)  # as gX
    tiled_sum_kernel(gX, cX, mY, mX.shape, tiled_copy, lanes, loads).launch(
        grid=(gX.shape[1][0], 1, 1), block=(128, 1, 1)
    )


@cute.jit
def vectors(mX: cute.Tensor, mY: cute.Tensor):
    tiled_sum(mX, mY)


def promised(x, y):
    """Specs that promise rows of whole vectors."""
    return [fk.spec(x, divisible={1: 16 // x.element_size()}), y]


for dtype in (torch.float32, torch.float16, torch.bfloat16):
    x, y = fk.randn(5, 1000, dtype=dtype), fk.empty(5, dtype=dtype)
    run_vectors = fk.compile(vectors, *promised(x, y))
    for shape in ((1, 8), (3, 1000), (33, 136), (7, 1024)):
        x, y = fk.randn(shape, dtype=dtype), fk.empty(shape[0], dtype=dtype)
        run_vectors(x, y)
        assert fk.check(y, x.double().sum(1))

# %% [markdown]
# **Predict:** how many instructions for 1 kB of `float32` now?

# %%
of_vectors = fk.predict("instructions for 1 kB", None)

# %% jupyter={"outputs_hidden": true}
for dtype in (torch.float32, torch.float16):
    x = fk.randn(16, 4096, dtype=dtype)
    run_vectors = fk.compile(vectors, *promised(x, fk.empty(16, dtype=dtype)))
    cost(f"vectors, {str(dtype)[6:]}", run_vectors, x)
of_vectors.against(round(costs["vectors, float32"]))
fk.coalescing(run_vectors, x, fk.empty(16, dtype=dtype), kind="load")

# %% [markdown]
# The requests are fewer by the number of elements in a vector; the instructions are not, for each
# element still is converted and added by one of its own. A vector saves finding the place, not the
# arithmetic.

# %% [markdown] exercise="week1/row_max_vectors" part="task"
# ### Exercise 1: find the largest element, by vectors
#
# `y[m]` is the largest element of row `m`, in float32 and float16. Rows are whole vectors, and
# there may be fewer of them than lanes. All elements may be negative. Called as `row_max_vectors(x,
# y)`.
#
# **Asked**: one warp per row, 16 bytes per load.
#
# <details><summary>Hint 1</summary>
#
# It is `warp_a_row` with another operator and wider loads: cut the row into vectors with
# `cute.zipped_divide` and let lane 0 take vector 0, 32, 64, …
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `gX[(None, i)].load()` is a vector of values; `.to(Float32)` converts them, and
# `.reduce(cute.ReductionOp.MAX, …, 0)` makes one number of them. `cute.arch.fmax` takes the larger
# of two.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A lane without a vector takes part in the shuffles with the value that it began with. That has to
# be the identity of max, in the line before the loop: `-Float32.inf`.
#
# </details>


# %% exercise="week1/row_max_vectors" part="skeleton"
@cute.kernel
def row_max_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 13 lines)
    pass


@cute.jit
def row_max_vectors(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week1/row_max_vectors" part="grade"
fk.exercise("week1/row_max_vectors").grade(row_max_vectors)

# %% [markdown] exercise="week1/row_max_vectors" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# @cute.kernel
# def row_max_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row, lane = bidx * 4 + tidx // 32, tidx % 32
#     vec = cutlass.const_expr(128 // mX.element_type.width)
#     if row < mX.shape[0]:
#         gX = cute.zipped_divide(mX[row, None], (vec,))  # ((Vec),(Rest))
#         best = -Float32.inf
#         for i in range(lane, cute.size(gX, mode=[1]), 32):
#             values = gX[(None, i)].load().to(Float32)
#             best = cute.arch.fmax(best, values.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))
#         best = cute.arch.warp_reduction(best, cute.arch.fmax)
#         if lane == 0:
#             mY[row] = best.to(mY.element_type)
#
#
# @cute.jit
# def row_max_vectors(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 4)
#     row_max_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# With 0 as the start, a row of negative numbers would have the maximum 0, and no test with numbers
# of both signs would show it. The maximum does not depend on the order, and no rounding is
# involved: the result is the same bits in every kernel.
#
# </details>

# %% [markdown]
# ## 3. What is in the registers of a tail
#
# > **Looks right and is wrong.** Filling the registers costs four moves a tile. Somebody fills them
# > once, before the loop: "they are 0 then, and the predicate keeps the tail out". Exercise 2 is
# > that kernel. It passes with rows of 4, 128, 1,024.

# %% [markdown] exercise="week1/fix_the_tail" part="task"
# ### Exercise 2: fix the tail
#
# Somebody has moved the `fill` of `vectors` out of the loop, to save instructions. The kernel is
# right for rows of up to 128 float32, and for multiples of 128. Fix it for all rows of whole
# vectors. Float32 alone.
#
# **Asked**: 16 bytes per load.
#
# <details><summary>Hint 1</summary>
#
# What do the registers of a lane hold in the last tile, if its vector is not there?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A copy whose predicate is false leaves the registers alone.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Each tile needs the identity in its registers before the copy, in the line before `cute.copy`. (Or
# the sum leaves out what was not loaded.)
#
# </details>


# %% exercise="week1/fix_the_tail" part="skeleton"
@cute.kernel
def fix_the_tail_kernel(
    gX: cute.Tensor,
    cX: cute.Tensor,
    mY: cute.Tensor,
    shape: cute.Shape,
    tiled_copy: cute.TiledCopy,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    thr_copy = tiled_copy.get_slice(tidx)
    tXrX = cute.make_rmem_tensor(((4, 1), 1, 1), Float32)  # ((Vec,1),1,1)
    tXpX = cute.make_rmem_tensor((1, 1, 1), cutlass.Boolean)
    total = Float32(0.0)
    # FILL ME IN (roughly 7 lines)
    tXrX.fill(0.0)
    for tile in range(gX.shape[1][1]):
        tXgX = thr_copy.partition_S(gX[(None, None), (bidx, tile)])  # ((Vec,1),1,1)
        tXcX = thr_copy.partition_S(cX[(None, None), (bidx, tile)])  # ((Vec,1),1,1)
        tXpX[0, 0, 0] = cute.elem_less(tXcX[0, 0, 0], shape)
        cute.copy(tiled_copy, tXgX, tXrX, pred=tXpX)
        total += tXrX.load().reduce(cute.ReductionOp.ADD, 0.0, 0)
    total = cute.arch.warp_reduction(total, operator.add)
    row = bidx * 4 + tidx // 32
    if tidx % 32 == 0 and row < shape[0]:
        mY[row] = total


@cute.jit
def fix_the_tail(mX: cute.Tensor, mY: cute.Tensor):
    atom = cute.make_copy_atom(CopyUniversalOp(), Float32, num_bits_per_copy=128)
    thr_layout = cute.make_layout((4, 32), stride=(32, 1))
    val_layout = cute.make_layout((1, 4), stride=(4, 1))
    tiled_copy = cute.make_tiled_copy_tv(atom, thr_layout, val_layout)
    gX = cute.zipped_divide(mX, tiled_copy.tiler_mn)  # ((4,128),(RestM,RestN))
    cX = cute.zipped_divide(cute.make_identity_tensor(mX.shape), tiled_copy.tiler_mn)  # as gX
    grid = (gX.shape[1][0], 1, 1)
    fix_the_tail_kernel(gX, cX, mY, mX.shape, tiled_copy).launch(grid=grid, block=(128, 1, 1))


# %% exercise="week1/fix_the_tail" part="grade"
fk.exercise("week1/fix_the_tail").grade(fix_the_tail)

# %% [markdown] exercise="week1/fix_the_tail" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# @cute.kernel
# def fix_the_tail_kernel(
#     gX: cute.Tensor,
#     cX: cute.Tensor,
#     mY: cute.Tensor,
#     shape: cute.Shape,
#     tiled_copy: cute.TiledCopy,
# ):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     thr_copy = tiled_copy.get_slice(tidx)
#     tXrX = cute.make_rmem_tensor(((4, 1), 1, 1), Float32)  # ((Vec,1),1,1)
#     tXpX = cute.make_rmem_tensor((1, 1, 1), cutlass.Boolean)
#     total = Float32(0.0)
#     for tile in range(gX.shape[1][1]):
#         tXgX = thr_copy.partition_S(gX[(None, None), (bidx, tile)])  # ((Vec,1),1,1)
#         tXcX = thr_copy.partition_S(cX[(None, None), (bidx, tile)])  # ((Vec,1),1,1)
#         tXpX[0, 0, 0] = cute.elem_less(tXcX[0, 0, 0], shape)
#         tXrX.fill(0.0)
#         cute.copy(tiled_copy, tXgX, tXrX, pred=tXpX)
#         total += tXrX.load().reduce(cute.ReductionOp.ADD, 0.0, 0)
#     total = cute.arch.warp_reduction(total, operator.add)
#     row = bidx * 4 + tidx // 32
#     if tidx % 32 == 0 and row < shape[0]:
#         mY[row] = total
#
#
# @cute.jit
# def fix_the_tail(mX: cute.Tensor, mY: cute.Tensor):
#     atom = cute.make_copy_atom(CopyUniversalOp(), Float32, num_bits_per_copy=128)
#     thr_layout = cute.make_layout((4, 32), stride=(32, 1))
#     val_layout = cute.make_layout((1, 4), stride=(4, 1))
#     tiled_copy = cute.make_tiled_copy_tv(atom, thr_layout, val_layout)
#     gX = cute.zipped_divide(mX, tiled_copy.tiler_mn)  # ((4,128),(RestM,RestN))
#     cX = cute.zipped_divide(cute.make_identity_tensor(mX.shape), tiled_copy.tiler_mn)  # as gX
#     grid = (gX.shape[1][0], 1, 1)
#     fix_the_tail_kernel(gX, cX, mY, mX.shape, tiled_copy).launch(grid=grid, block=(128, 1, 1))
# ```
#
# The first tile was right because of the `fill` before the loop, and full tiles because every lane
# loads. Only a partial tile behind a full one shows it: the lanes that have no vector there add
# their last one once more. Four moves a vector are the price of the right answer.
#
# </details>

# %% [markdown]
# The next cell runs your `fix_the_tail` on rows of ones, so each sum should be the length of the
# row. **Predict** before you run it with the kernel as given: what is the sum of 132 ones?

# %%
of_132 = fk.predict("sum of 132 ones, as given", None)

# %% jupyter={"outputs_hidden": true}
x, y = fk.ones(1, 128), fk.empty(1)
run_tail = fk.compile(fix_the_tail, fk.spec(x, divisible={1: 4}), y)
for columns in (4, 128, 1024, 132, 252):
    run_tail(fk.ones(1, columns), y)
    print(f"{columns:5} ones: {y[0].item():.0f}")
of_132.against(132 + 31 * 4)

# %% [markdown]
# As given, 256: of the second tile only lane 0 has a vector, and the other 31 lanes add the four
# ones that they still hold. Had the row 124 elements, nobody would have seen it, for there the
# registers hold the zeros of the beginning. So test a tail *behind* a full tile.
#
# Two more whole kernels: two inputs at once, and lengths that are no whole vectors.

# %% [markdown] exercise="week1/row_dots_vectors" part="task"
# ### Exercise 3: multiply row by row, by vectors
#
# `y[m] = a[m, 0] · b[m, 0] + a[m, 1] · b[m, 1] + …`, in float32 and float16, multiplied and added
# up in float32; rows are whole vectors. Called as `row_dots_vectors(a, b, y)`.
#
# **Asked**: one warp per row, 16 bytes per load.
#
# <details><summary>Hint 1</summary>
#
# Two tensors are cut alike: the vector with number i of one belongs to the vector with number i of
# the other.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# What `.load()` gives can be multiplied as a whole; a sum over its values is
# `.reduce(cute.ReductionOp.ADD, 0.0, 0)`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Both vectors are converted to `Float32` before they are multiplied, in the line of the product: a
# product of two float16 is rounded, and may be infinite.
#
# </details>


# %% exercise="week1/row_dots_vectors" part="skeleton"
@cute.kernel
def row_dots_vectors_kernel(mA: cute.Tensor, mB: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 14 lines)
    pass


@cute.jit
def row_dots_vectors(mA: cute.Tensor, mB: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week1/row_dots_vectors" part="grade"
fk.exercise("week1/row_dots_vectors").grade(row_dots_vectors)

# %% [markdown] exercise="week1/row_dots_vectors" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# @cute.kernel
# def row_dots_vectors_kernel(mA: cute.Tensor, mB: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row, lane = bidx * 4 + tidx // 32, tidx % 32
#     vec = cutlass.const_expr(128 // mA.element_type.width)
#     if row < mA.shape[0]:
#         gA = cute.zipped_divide(mA[row, None], (vec,))  # ((Vec),(Rest))
#         gB = cute.zipped_divide(mB[row, None], (vec,))  # ((Vec),(Rest))
#         total = Float32(0.0)
#         for i in range(lane, cute.size(gA, mode=[1]), 32):
#             product = gA[(None, i)].load().to(Float32) * gB[(None, i)].load().to(Float32)
#             total += product.reduce(cute.ReductionOp.ADD, 0.0, 0)
#         total = cute.arch.warp_reduction(total, operator.add)
#         if lane == 0:
#             mY[row] = total.to(mY.element_type)
#
#
# @cute.jit
# def row_dots_vectors(mA: cute.Tensor, mB: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mA.shape[0], 4)
#     row_dots_vectors_kernel(mA, mB, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# Twice the bytes of a sum and one more operation an element. Two loads stand before the first use,
# so a thread has 32 bytes in flight in place of 16: an operator with more inputs fills the memory
# system more easily than one with a single input.
#
# </details>

# %% [markdown] exercise="week1/abs_sums" part="task"
# ### Exercise 4: add up absolute values, of any length
#
# `x` is a vector of any length, cut into pieces of 1,024 elements, of which the last may be
# shorter. `y[p]` is the sum of the absolute values in piece `p`, added up in float32; float32 and
# float16. The elements left over after the last whole vector are added one by one. Called as
# `abs_sums(x, y)`.
#
# **Asked**: one warp per 1,024 elements, 16 bytes per load.
#
# <details><summary>Hint 1</summary>
#
# Whole vectors first: a piece has `1024 // vec` of them, and there are `n // vec` in all. Lane 0
# takes the vectors 0, 32, 64, … of its piece.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# What is left over are `n % vec` elements; the first is number `n // vec * vec`. To which piece
# does an element belong?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Every warp would add the tail: the condition in the line before it has to say that the element
# exists *and* that it is in this warp's piece. `cute.math.absf` gives an absolute value, and so
# does the larger of `value` and `-value`.
#
# </details>


# %% exercise="week1/abs_sums" part="skeleton"
@cute.kernel
def abs_sums_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 20 lines)
    pass


@cute.jit
def abs_sums(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week1/abs_sums" part="grade"
fk.exercise("week1/abs_sums").grade(abs_sums)

# %% [markdown] exercise="week1/abs_sums" part="solution"
# <details><summary>Solution of exercise 4</summary>
#
# ```python
# @cute.kernel
# def abs_sums_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     piece, lane = bidx * 4 + tidx // 32, tidx % 32
#     vec = cutlass.const_expr(128 // mX.element_type.width)
#     n = mX.shape[0]
#     gX = cute.zipped_divide(mX, (vec,))  # ((Vec),(Rest))
#     total = Float32(0.0)
#     for k in cutlass.range_constexpr(1024 // vec // 32):
#         i = piece * (1024 // vec) + k * 32 + lane
#         if i < n // vec:
#             values = gX[(None, i)].load().to(Float32)
#             values = cute.where(values < 0.0, -values, values)
#             total += values.reduce(cute.ReductionOp.ADD, 0.0, 0)
#     j = n // vec * vec + lane
#     if j < n and j // 1024 == piece:
#         value = mX[j].to(Float32)
#         total += cute.arch.fmax(value, -value)
#     total = cute.arch.warp_reduction(total, operator.add)
#     if lane == 0 and piece < mY.shape[0]:
#         mY[piece] = total.to(mY.element_type)
#
#
# @cute.jit
# def abs_sums(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mY.shape[0], 4)
#     abs_sums_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# One scalar load stands beside the vectors, and only in one warp does it do anything. Its identity
# is 0, as for any sum of numbers that are mapped before they are added: what counts is the identity
# of the operator that combines, not that of the mapping.
#
# </details>

# %% [markdown]
# ## 4. A row as a clock
#
# Why should four loads at a time be better than one? Here is what the compiled kernels do, in the
# order of the PTX: every load from global memory, and where the first addition of loaded values
# stands.


# %%
@cute.jit
def unrolled(mX: cute.Tensor, mY: cute.Tensor):
    tiled_sum(mX, mY, 128, 32, 4)


@cute.jit
def elements_unrolled(mX: cute.Tensor, mY: cute.Tensor):
    tiled_sum(mX, mY, mX.element_type.width, 32, 4)


def in_order(run):
    """Loads from global memory and additions of floats, in the order of the PTX."""
    words = [line.split()[0] for line in run.ptx.splitlines() if line.strip()]
    kept = [w for w in words if w.startswith(("ld.global", "add.f32", "add.rn.f32"))]
    first_use = next(i for i, w in enumerate(kept) if w.startswith("add"))
    return f"{first_use} loads before the first addition: {kept[first_use - 1]}"


x, y = fk.randn(16, 4096), fk.empty(16)
runs = {
    "warp_a_row": fk.compile(warp_a_row, x, y),
    "elements_unrolled": fk.compile(elements_unrolled, x, y),
    "vectors": fk.compile(vectors, *promised(x, y)),
    "unrolled": fk.compile(unrolled, *promised(x, y)),
}
for name, run in runs.items():
    print(f"{name:>18}: {in_order(run)}")
for dtype in (torch.float32, torch.float16):
    x = fk.randn(16, 4096, dtype=dtype)
    run_unrolled = fk.compile(unrolled, *promised(x, fk.empty(16, dtype=dtype)))
    cost(f"unrolled, {str(dtype)[6:]}", run_unrolled, x)

# %% [markdown]
# A lane of `vectors` asks for 16 bytes, waits for them, adds, and asks again. A lane of `unrolled`
# asks for 64 and waits once. The waiting can be had from a recorded time: take 64 rows of 262,144,
# which are 64 warps for a whole H200. They are so few that nothing is busy, and a warp's time is
# the number of its turns, times one wait.
#
# **Predict:** `vectors` takes 0.825 ms for these rows in `float32`. How long does `unrolled` take?

# %%
of_unrolled = fk.predict("milliseconds", None)

# %% jupyter={"outputs_hidden": true}
times = recorded("week1/03_bytes_in_flight")
long_rows, turn_ns = (64, 262144), {}
bytes_a_turn = {"vectors": 32 * 16, "elements_unrolled": 32 * 16, "unrolled": 32 * 64}
for name, in_flight in bytes_a_turn.items():
    row = times.row(name, "float32", long_rows)
    turns = 262144 * 4 // in_flight
    turn_ns[name] = row.ms * 1e6 / turns
    print(f"{name:>18}: {in_flight:5,} bytes in flight a warp, {turns:5,} turns in", end=" ")
    print(f"{row.ms:.3f} ms: {turn_ns[name]:.0f} ns a turn")
of_unrolled.against(times.row("unrolled", "float32", long_rows).ms)

figure, axes = plt.subplots(figsize=(6.4, 2.2))
axes.barh(list(turn_ns), list(turn_ns.values()), color=["#0072b2", "#56b4e9", "#009e73"])
for k, (name, ns) in enumerate(turn_ns.items()):
    axes.text(ns - 8, k, f"{bytes_a_turn[name]:,} bytes", va="center", ha="right", color="white")
axes.set(xlabel="ns a turn of the loop", title="A turn takes as long, whatever it brings")
plt.show()

# %% [markdown]
# A turn takes 400 to 450 ns, nearly all of which is waiting: the **latency** of this GPU's memory,
# loop included. Whether a turn brings 512 bytes or 2,048 hardly matters, so it had better bring
# 2,048. And whether 512 bytes are one vector a lane or four single elements does not matter at all:
# what counts is what is *in flight*.
#
# `warp_a_row` is not in the picture. Its PTX has one load of 128 bytes a turn, 8,192 turns; at 400
# ns each that would be 3.3 ms. Recorded are 0.830, a quarter of it: the step from PTX to machine
# code has unrolled this loop by four, by itself, as it may where no predicate stands between the
# loads.

# %% [markdown] exercise="week1/bytes_in_flight" part="task"
# ### Exercise 5: count bytes in flight
#
# Suppose that an answer takes 400 ns, and memory delivers 4.8 TB/s, to 132 multiprocessors. How
# much has to be in flight? How fast can a warp be that asks, waits for the answer, and asks again?
# (The last answer is a whole number, rounded up.)
#
# <details><summary>Hint 1</summary>
#
# Little's law: bytes in flight = bytes a second × seconds for an answer.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A warp that has B bytes in flight gets B bytes every 400 ns.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A load of 16 bytes a lane has 512 bytes in flight for its warp; that number divides what one
# multiprocessor needs, in the last line.
#
# </details>

# %% exercise="week1/bytes_in_flight" part="skeleton"
in_flight = {
    # FILL ME IN (roughly 5 lines)
    "MB in flight for 4.8 TB/s": None,
    "kB in flight, each multiprocessor": None,
    "GB/s of one warp, one load of 16 bytes a lane": None,
    "GB/s of one warp, four such loads": None,
    "warps that one multiprocessor needs, one such load each": None,
}

# %% exercise="week1/bytes_in_flight" part="grade"
fk.exercise("week1/bytes_in_flight").grade(in_flight)

# %% [markdown] exercise="week1/bytes_in_flight" part="solution"
# <details><summary>Solution of exercise 5</summary>
#
# ```python
# in_flight = {
#     "MB in flight for 4.8 TB/s": 1.92,
#     "kB in flight, each multiprocessor": 14.5,
#     "GB/s of one warp, one load of 16 bytes a lane": 1.28,
#     "GB/s of one warp, four such loads": 5.12,
#     "warps that one multiprocessor needs, one such load each": 29,
# }
# ```
#
# 4.8e12 × 400e-9 = 1.92 MB; by 132, 14.5 kB. A warp with 512 bytes in flight gets 512 / 400 ns =
# 1.28 GB/s, and four loads that do not wait for each other make it 5.12. 14,545 / 512 = 28.4, so 29
# warps of the 64 that a multiprocessor has room for.
#
# </details>

# %% [markdown]
# ## 5. How much is in flight with many rows
#
# **Little's law** once more: bytes in flight = rate × latency. A sum reads nearly all that it
# moves, so the rate is the whole 4.8 TB/s. A multiprocessor holds as many warps as threads, blocks
# and registers allow, its **occupancy**; each of them has its loads in flight:

# %%
latency_ns = round(turn_ns["vectors"])  # of section 4, with the memory hardly busy
needed = 4.8e12 * latency_ns * 1e-9 / 132
print(f"{latency_ns} ns × 4.8 TB/s, for each of 132 multiprocessors: {needed / 1000:.1f} kB\n")
bytes_a_lane = {"warp_a_row": 4, "elements_unrolled": 16, "vectors": 16, "unrolled": 64}
for name, run in runs.items():
    registers = -(-run.registers // 8) * 8  # a thread gets them in eights
    blocks = min(2048 // 128, 32, 65536 // (128 * registers))
    kb = blocks * 128 * bytes_a_lane[name] / 1000
    print(
        f"{name:>18}: {run.registers} registers, {100 * blocks * 128 // 2048} % occupancy,", end=" "
    )
    print(f"{kb:5.1f} kB in flight in float32, {kb / needed * 1000:3.1f} times the need")

# %% [markdown]
# (The first row is what the PTX says; with the unrolling of the machine code it is four times
# that.) Registers do not limit any of these. One vector a lane is enough if all warps are there,
# and four leave room for blocks that have just begun or are about to end. In `float16` a single
# element is 2 bytes, and everything but the vectors has half as much in flight.
#
# **Predict:** which step gains most with 32,768 rows of 4,096 `float16`: more elements in flight,
# vectors, or more vectors in flight?

# %%
gain = fk.predict("the name of the step", None)

# %% jupyter={"outputs_hidden": true}
steps_up = ("warp_a_row", "elements_unrolled", "vectors", "unrolled")
of_step = {n: times.row(n, "float16", (32768, 4096)).ms for n in steps_up}
gains = {b: of_step[a] / of_step[b] for a, b in pairwise(steps_up)}
print(", ".join(f"{name}: {ratio:.2f} times as fast" for name, ratio in gains.items()))
gain.against(max(gains, key=gains.get))
times

# %% [markdown]
# Read it column by column:
#
# - **32,768 × 4,096, float32:** one element a load is within a few percent of the copy's speed
#   already. The number that looked bad in section 1 does no harm here.
# - **The same in float16:** `warp_a_row` takes 0.081 ms for half of the bytes. Four elements in
#   flight change little; vectors do. So it did not wait for memory, it was busy executing: the same
#   number of instructions for half of the bytes. Four vectors in flight gain the last 2 %.
# - **64 × 262,144:** everything is far from memory's speed, and what is in flight decides.
# - **1,048,576 × 64:** four kernels take the same time, whatever they load. Next.
#
# The table's 0.067 ms of `vectors` was measured. The next cell predicts that time, from 32 of the
# 8,192 blocks and the rates of an H200.

# %%
x, y = fk.empty(32768, 4096, dtype=torch.float16), fk.empty(32768, dtype=torch.float16)
run_vectors = fk.compile(vectors, *promised(x, y))
fk.profile(run_vectors, x, y, blocks=32).time("H200")

# %% [markdown]
# Device memory is the longest bar, and the recorded time lies within the interval. The next
# exercise has a call that memory does not bound.

# %% [markdown] exercise="week1/row_energy" part="task"
# ### Exercise 6: halve the time of a kernel that waits
#
# `y[m] = x[m, 0]² + x[m, 1]² + …`, in float32, for rows of whole vectors of 16 bytes. The kernel
# below loads 16 bytes a lane, in whole sectors, and its instructions per byte are few: no counter
# finds a fault. Halve its predicted time on an H200 for 512 rows of 16,384, without a second
# launch. The **whole interval** has to lie below half of what the given kernel takes. Look at the
# bounds after each change:
#
# `fk.profile(*fk.exercise("week1/row_energy").failed, blocks=16).time("H200")`
#
# <details><summary>Hint 1</summary>
#
# How many bytes has a multiprocessor in flight, if 512 warps share 132 of them and each has one
# load of 512 bytes open?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# There are two ways to have more bytes in flight: more loads of a lane before it adds, or more
# warps for a row. Which one needs no barrier?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The loop's body waits in the line that adds. Let it fill several vectors of registers before that
# line, each with a predicate of its own; two are not enough.
#
# </details>


# %% exercise="week1/row_energy" part="skeleton"
# FILL ME IN (roughly 24 lines)
@cute.kernel
def energy_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row, lane = bidx * 4 + tidx // 32, tidx % 32
    if row < mX.shape[0]:
        gX = cute.zipped_divide(mX[row, None], (4,))  # ((4),(N/4))
        vectors = cute.size(gX, mode=[1])
        rX = cute.make_rmem_tensor(4, Float32)
        total = Float32(0.0)
        for tile in cutlass.range(cute.ceil_div(vectors, 32), unroll=1):
            rX.fill(0.0)
            if tile * 32 + lane < vectors:
                cute.autovec_copy(gX[(None, tile * 32 + lane)], rX)
            total += (rX.load() * rX.load()).reduce(cute.ReductionOp.ADD, 0.0, 0)
        total = cute.arch.warp_reduction(total, operator.add)
        if lane == 0:
            mY[row] = total


@cute.jit
def row_energy(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[0], 4)
    energy_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


# %% exercise="week1/row_energy" part="grade"
fk.exercise("week1/row_energy").grade(row_energy)

# %% [markdown] exercise="week1/row_energy" part="solution"
# <details><summary>Solution of exercise 6</summary>
#
# ```python
# @cute.kernel
# def energy_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row, lane = bidx * 4 + tidx // 32, tidx % 32
#     if row < mX.shape[0]:
#         gX = cute.zipped_divide(mX[row, None], (4,))  # ((4),(N/4))
#         vectors = cute.size(gX, mode=[1])
#         rX = cute.make_rmem_tensor((4, 8), Float32)
#         total = Float32(0.0)
#         for tile in cutlass.range(cute.ceil_div(vectors, 256), unroll=1):
#             rX.fill(0.0)
#             for k in cutlass.range_constexpr(8):
#                 i = tile * 256 + k * 32 + lane
#                 if i < vectors:
#                     cute.autovec_copy(gX[(None, i)], rX[None, k])
#             total += (rX.load() * rX.load()).reduce(cute.ReductionOp.ADD, 0.0, 0)
#         total = cute.arch.warp_reduction(total, operator.add)
#         if lane == 0:
#             mY[row] = total
#
#
# @cute.jit
# def row_energy(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 4)
#     energy_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# 512 warps are four for each multiprocessor, and each has 512 bytes in flight: 2 kB of the 14 kB
# that section 5 asks for. So the kernel waits, some 400 ns for each of its 128 tiles, and nothing
# else is busy. With eight vectors a lane it waits 16 times. A block of eight warps for each row
# does as well: eight times as many warps, at the price of a barrier. Another block size changes
# nothing, since the number of warps stays the same. Two vectors halve the waiting, but not the
# launch, and the interval still reaches over the limit. (These times are predicted for an H200, not
# measured.)
#
# </details>

# %% [markdown]
# ## 6. Short rows: several a warp
#
# A row of 64 `float32` is 16 vectors. Of 32 lanes 16 have one, and then the whole warp goes through
# five shuffles for one number. Eight lanes a row are four rows a warp, 16 a block: another `lanes`.
# (The picture is of 6 rows of 40: by thread, and lanes 0 and 1 of a row come twice.)


# %%
@cute.jit
def eight_lanes(mX: cute.Tensor, mY: cute.Tensor):
    tiled_sum(mX, mY, 128, 8, 1)


x, y = fk.randn(6, 40), fk.empty(6)
run_eight = fk.compile(eight_lanes, *promised(x, y))
fk.footprint(run_eight, x, y, by="thread", tensor="mX")

# %% [markdown]
# **Predict:** how many instructions for 1 kB of rows of 64 `float32`, a warp a row and eight lanes
# a row?

# %%
of_short = fk.predict("instructions, vectors and eight_lanes", None)  # in the form (50, 50)

# %% jupyter={"outputs_hidden": true}
x = fk.randn(256, 64)
cost("vectors, rows of 64", runs["vectors"], x)
cost("eight_lanes, rows of 64", run_eight, x)
of_short.against([round(costs[f"{n}, rows of 64"]) for n in ("vectors", "eight_lanes")])
for name in ("vectors", "eight_lanes"):
    for shape in ((1048576, 64), (8192, 8192)):
        print(f"{name:>12}, {shape} float32: {times.row(name, 'float32', shape).ms:.3f} ms")

# %% [markdown]
# The kernel that is best for short rows is the worst for long ones, where eight lanes have 128
# bytes in flight in place of 512. A library looks at the length of the rows and chooses.

# %% [markdown] exercise="week1/short_rows" part="task"
# ### Exercise 7: share a warp among four rows
#
# Sums of rows that are too short for a warp, so four rows share one. Any number of rows; rows are
# whole vectors of 16 bytes, of which there may be fewer than eight or more; float32 and float16,
# added up in float32. Called as `short_rows(x, y)`.
#
# **Asked**: eight lanes per row, 16 bytes per load.
#
# <details><summary>Hint 1</summary>
#
# Which row does a thread have, and which of the eight places in it? One division by 8, one
# remainder.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The lanes of a row combine their sums alone: `cute.arch.warp_reduction` takes
# `threads_in_group=8`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A warp may have a row that exists beside one that does not. Only the loads and the store stand
# behind a predicate; the shuffle is for all 32 lanes, in a line outside of every `if`.
#
# </details>


# %% exercise="week1/short_rows" part="skeleton"
@cute.kernel
def short_rows_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 12 lines)
    pass


@cute.jit
def short_rows(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week1/short_rows" part="grade"
fk.exercise("week1/short_rows").grade(short_rows)

# %% [markdown] exercise="week1/short_rows" part="solution"
# <details><summary>Solution of exercise 7</summary>
#
# ```python
# @cute.kernel
# def short_rows_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row, lane = bidx * 16 + tidx // 8, tidx % 8
#     vec = cutlass.const_expr(128 // mX.element_type.width)
#     total = Float32(0.0)
#     if row < mX.shape[0]:
#         gX = cute.zipped_divide(mX[row, None], (vec,))  # ((Vec),(Rest))
#         for i in range(lane, cute.size(gX, mode=[1]), 8):
#             total += gX[(None, i)].load().to(Float32).reduce(cute.ReductionOp.ADD, 0.0, 0)
#     total = cute.arch.warp_reduction(total, operator.add, threads_in_group=8)
#     if lane == 0 and row < mX.shape[0]:
#         mY[row] = total.to(mY.element_type)
#
#
# @cute.jit
# def short_rows(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 16)
#     short_rows_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# With a warp a row, rows of 64 float32 keep 16 lanes busy, and each warp computes five shuffles for
# one row. Here all lanes load, and three shuffles serve four rows: `eight_lanes` in the table below
# takes less than half the time of `vectors` for a million rows of 64 float32.
#
# </details>

# %% [markdown] exercise="week1/what_helps" part="task"
# ### Exercise 8: say what bounds a call, and what would help
#
# Four sums of rows in float32, each with its time as predicted for an H200. A GPU starts about
# 1,700 blocks in a microsecond, its memory moves at most 5.1 MB in that time, and an answer takes
# 400 ns.
#
# | | kernel | rows × columns | blocks | predicted |
# |---|---|---|---|---|
# | A | `vectors` | 1,048,576 × 64 | 262,144 | 169 µs |
# | B | `vectors` | 64 × 262,144 | 16 | 843 µs |
# | C | `unrolled` | 32,768 × 4,096 | 8,192 | 124 µs |
# | D | `unrolled` | 64 × 64 | 16 | 4.3 µs |
#
# What bounds each of them: `"start of blocks"`, `"latency"`, `"device memory"` or `"the launch
# itself"`? And which change would help it most: `"more rows per block"`, `"more bytes in flight"`,
# `"fewer bytes"` (a narrower type) or `"fewer launches"`? Each word is right once.
#
# <details><summary>Hint 1</summary>
#
# How long would the bytes of each call take at 5.1 MB per microsecond? One of the four calls is
# near that time.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Of the others: how long do its blocks take to start? Which call is over before anything could take
# long?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The row that is left has few warps and many turns. Section 4 computes how long they take.
#
# </details>

# %% exercise="week1/what_helps" part="skeleton"
diagnosis = {
    # FILL ME IN (roughly 8 lines)
    "A": None,  # "start of blocks", "latency", "device memory" or "the launch itself"
    "B": None,
    "C": None,
    "D": None,
    "A helped by": None,  # "more rows per block", "more bytes in flight", "fewer bytes" or
    "B helped by": None,  # "fewer launches"
    "C helped by": None,
    "D helped by": None,
}

# %% exercise="week1/what_helps" part="grade"
fk.exercise("week1/what_helps").grade(diagnosis)

# %% [markdown] exercise="week1/what_helps" part="solution"
# <details><summary>Solution of exercise 8</summary>
#
# ```python
# diagnosis = {
#     "A": "start of blocks",
#     "B": "latency",
#     "C": "device memory",
#     "D": "the launch itself",
#     "A helped by": "more rows per block",
#     "B helped by": "more bytes in flight",
#     "C helped by": "fewer bytes",
#     "D helped by": "fewer launches",
# }
# ```
#
# **A** moves 268 MB, 53 µs, and starts 262,144 blocks, 154 µs: more rows per block, as in
# `eight_lanes`. **B** has 64 warps on the whole GPU, and each waits 2,048 times for 400 ns: more
# bytes in flight, by `unrolled` or by more warps per row. **C** moves 537 MB, 106 µs: only fewer
# bytes help. **D** has nothing to do, and takes as long as a launch: put its work into another one.
# The same two kernels, and a bound for each shape: a kernel has no bound, a call has one.
#
# </details>

# %% [markdown]
# What you said in this notebook, and what it was:

# %%
fk.predictions()

# %% [markdown]
# ## Summary
#
# | step | in flight, a lane | instructions for 1 kB of float32, of float16 |
# |---|---|---|
# | `warp_a_row` | an element | 74, 164 |
# | `vectors` | 16 bytes | 41, 84 |
# | `unrolled` | 64 bytes | 36, 71 |
#
# Recorded, in milliseconds on an H200:
#
# | step | 32,768 × 4,096 float32 | float16 | 1,048,576 × 64 float32 | 64 × 262,144 float32 |
# |---|---|---|---|---|
# | `warp_a_row` | 0.129 | 0.081 | 0.162 | 0.830 |
# | `elements_unrolled` | 0.129 | 0.078 | 0.162 | 0.824 |
# | `vectors` | 0.129 | 0.067 | 0.162 | 0.825 |
# | `unrolled` | 0.124 | 0.066 | 0.162 | 0.233 |
# | `eight_lanes` | 0.142 | 0.076 | 0.067 | 3.827 |
#
# **The bad number:** 64 rows of 262,144 are 67 MB, 14 µs for the memory, and even `unrolled` takes
# 0.233 ms. Its 16 blocks leave 116 of 132 multiprocessors without any work.
#
# **In practice** kernels are made for ranges of row lengths: lanes a row and loads in flight are
# parameters, as here, and a table chooses. Rows that are no whole vectors get the widest vectors
# that all of them allow, or an edge of single elements as in `abs_sums`.
#
# **Further reading:** [Better performance at lower
# occupancy](https://www.nvidia.com/content/GTC-2010/pdfs/2238_GTC2010.pdf) (V. Volkov, 2010:
# Little's law, and why occupancy alone says little) · [occupancy in the best practices
# guide](https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html#occupancy).
#
# **Next:** one row for a whole GPU ([`04_few_long_rows`](04_few_long_rows.ipynb)).

# %%
steps = {
    "warp_a_row": warp_a_row,
    "elements_unrolled": elements_unrolled,
    "vectors": (vectors, promised),
    "unrolled": (unrolled, promised),
    "eight_lanes": (eight_lanes, promised),
}
