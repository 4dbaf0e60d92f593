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
# **You will build** row sums that load 16 bytes per lane, with one load or four loads in flight,
# and a row sum for short rows. **You will learn** how many bytes have to be in flight and how to
# count them, how a tail can corrupt a sum, and which limit a kernel reaches first, bytes in flight
# or instructions. **You need** `02_shuffle`, and tiled copies (`05_tiled_copies` of week 0). About
# 45 minutes, and 105 more for the exercises.
#
# `02_shuffle` ended with `warp_a_row`, which needs no barrier and no shared memory, and uses every
# sector that it fetches. But each lane loads one element at a time. **The bad number: instructions
# per byte.**

# %%
import operator
from itertools import pairwise

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.cute.nvgpu import CopyUniversalOp
from week1_helpers import (
    check_sums,
    cost,
    cost_line,
    instructions_per_kb,
    little_picture,
    loads_before_use,
    loads_picture,
    print_in_flight,
    recorded_part,
    whole_vectors,
)

import forgekit as fk
from forgekit.viz.ideas import bytes_in_flight

# %% [markdown]
# ## 1. Instructions per byte
#
# All kernels in this notebook use blocks of four warps, so here `warp_a_row` handles four rows per
# block instead of eight. (This matters for a million 64-element rows: twice as many blocks have to
# start, and the H200 took 0.162 ms instead of 0.117 ms.) The helper `cost_line` prints the counts
# from `cost`.
#
# **Predict:** how many times as many instructions per kB do the warps execute for `float16` as for
# `float32`?

# %%
more_for_float16 = fk.predict("instructions per kB, float16 / float32", None)  # such as 1.0


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


def measure(fn, specs, shape=(16, 4096), dtype=torch.float32):
    """Compile a row sum, check it, print what it costs, and return the instructions per kB."""
    x = fk.randn(shape, dtype=dtype)
    p = cost(fk.compile(fn, *specs(x, fk.empty(shape[0], dtype=dtype))), x)
    cost_line(f"{fn.__name__}, {str(dtype)[6:]}", p, x)
    return instructions_per_kb(p, x)


of_float32 = measure(warp_a_row, lambda *both: both)
of_float16 = measure(warp_a_row, lambda *both: both, dtype=torch.float16)
more_for_float16.against(round(of_float16 / of_float32, 1))

# %% [markdown]
# A load brings a warp 128 bytes in `float32`, but only 64 in `float16`. The overhead is the same:
# the address, the loop's test and the jump. With half as many bytes per element, each byte costs
# about twice as many instructions.
#
# ## 2. Sixteen bytes per lane
#
# The simplest way to get wider loads is to cut a row into vectors. `zipped_divide` gives the
# vectors their own mode, `.load()` copies one vector to registers, and `.reduce` adds its elements:


# %%
@cute.kernel
def one_row_kernel(mX: cute.Tensor, mY: cute.Tensor):
    lane = cute.arch.lane_idx()
    vec = cutlass.const_expr(128 // mX.element_type.width)  # 16 bytes
    gX = cute.zipped_divide(mX, (vec,))  # ((Vec),(Rest))
    total = Float32(0.0)
    for i in range(lane, cute.size(gX, mode=[1]), 32):
        values = gX[(None, i)].load().to(Float32)  # (Vec)
        total += values.reduce(cute.ReductionOp.ADD, 0.0, 0)
    mY[lane] = total


@cute.jit
def one_row(mX: cute.Tensor, mY: cute.Tensor):
    one_row_kernel(mX, mY).launch(grid=(1, 1, 1), block=(32, 1, 1))


x, y = fk.rand(160), fk.empty(32)  # 40 vectors for 32 lanes
run_one = fk.compile(one_row, x, y)
run_one(x, y)
fk.check(y.sum(), x.double().sum())
fk.footprint(run_one, x, y, by="thread", tensor="mX")

# %% [markdown]
# Lanes 0 to 7 read a second vector. All rows of a matrix begin at multiples of 16 bytes only if
# each row is a whole number of vectors. Promise this to the compiler with `fk.spec(x, divisible={1:
# 4})`; otherwise it loads element by element. The helper `whole_vectors` returns such specs for any
# type.

# %% [markdown] exercise="week1/row_max_vectors" part="task"
# ### Exercise 1: find the largest element with vector loads
#
# `y[m]` is the largest element of row `m`, in float32 and float16. N is a multiple of 8, so rows
# consist of whole 16-byte vectors, but may have fewer vectors than a warp has lanes. All elements
# of a row may be negative, and elements may be infinite.
#
# Signature: `row_max_vectors(x, y)`.
#
# **Required**: one warp per row, 16 bytes per load.
#
# <details><summary>Hint 1</summary>
#
# Start from `warp_a_row`, with another operator and wider loads: cut the row `mX[row, None]` into
# vectors with `cute.zipped_divide`, and let lane 0 take vectors 0, 32, 64, …
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `.reduce(cute.ReductionOp.MAX, …, 0)` turns a loaded vector into one number. `cute.arch.fmax`
# returns the larger of two numbers.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A lane without a vector takes part in the shuffles with its start value. On the line before the
# loop, set this value to the identity of max, `-Float32.inf`.
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
# If the maximum started at 0, the result for a row of negative numbers would be 0, and a test
# with numbers of both signs would not reveal the mistake. A maximum does not depend on the order
# and does not round, so every kernel computes the same bits.
#
# </details>

# %% [markdown]
# A tiled copy, as in week 0, does the same with a predicate and two parameters. Its TV layout puts
# 32 lanes side by side, each with one vector. The four warps of a block handle four rows, so a tile
# is 4 rows high and 32 vectors wide, and the block goes through its rows tile by tile. These Python
# loops show which elements each lane reads in each tile:

# %%
lanes, vec, columns = 4, 2, 20  # small: 4 lanes with 2 elements each, 20-element rows
for tile in range(-(-columns // (lanes * vec))):
    for lane in range(lanes):
        first = (tile * lanes + lane) * vec
        there = list(range(first, first + vec)) if first < columns else "nothing: add 0"
        print(f"tile {tile}, lane {lane}: {there}")

# %% [markdown]
# The last tile extends past the end of the row. Lanes without a vector have to add 0, the
# **identity** of the sum. So the kernel fills the registers with 0 before each copy, and the copy
# leaves the registers unchanged where its predicate is false.
#
# The parameters are `lanes`, the number of lanes per row, and `loads`, the number of vectors that a
# lane loads per tile. With `loads=4`, a tile is four times as wide, and `partition_S` gives each
# lane four vectors, which are 32 vectors apart.


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


# %% [markdown]
# The host function builds the copy and cuts the matrix and its coordinates into tiles.


# %%
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


check_sums(vectors, [(1, 8), (3, 1000), (33, 136), (7, 1024)], whole_vectors)

# %% [markdown]
# **Predict:** how many instructions does this kernel execute per kB of `float32`?

# %%
of_vectors = fk.predict("instructions per kB", None)

# %% jupyter={"outputs_hidden": true}
of_vectors.against(round(measure(vectors, whole_vectors)))
measure(vectors, whole_vectors, dtype=torch.float16)
x, y = fk.randn(16, 4096), fk.empty(16)
fk.coalescing(fk.compile(vectors, *whole_vectors(x, y)), x, y, kind="load")

# %% [markdown]
# Requests drop by a factor of 4, the width of a vector. Instructions per kB drop only from 74 to
# 41, because each element is still converted and added separately. A vector saves instructions for
# addresses and the loop, but none for arithmetic.
#
# ## 3. Stale registers in a tail
#
# > **Looks right but is wrong.** Filling the registers costs four moves per tile. The kernel in
# > exercise 2 fills them only once, before the loop, on the theory that the predicate keeps the
# > tail out. It passes for rows of 4, 128 and 1,024 elements.
#
# **Predict:** what sum does this kernel compute for a row of 132 ones?

# %%
of_132 = fk.predict("sum of 132 ones by the given kernel", None)

# %% [markdown] exercise="week1/fix_the_tail" part="task"
# ### Exercise 2: fix the tail
#
# To save instructions, this kernel fills the registers before the loop instead of inside it. Its
# sums are right for rows of up to 128 float32 elements and for multiples of 128. Fix it for all
# float32 rows of whole vectors. Elements may be infinite.
#
# **Required**: 16 bytes per load.
#
# <details><summary>Hint 1</summary>
#
# What do the registers of a lane hold in the last tile if the lane has no vector there?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A copy whose predicate is false leaves the registers unchanged.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# For each tile, put the identity into the registers on the line before `cute.copy`. (Or let the sum
# skip registers that the copy did not load.)
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
# Thanks to the `fill` before the loop, the first tile is added correctly, and in a full tile every
# lane loads new values. Only a partial tile after a full tile reveals the mistake: lanes without a
# vector add their previous vector again. The fix costs four moves per vector.
#
# </details>

# %% jupyter={"outputs_hidden": true}
# Your kernel on rows of ones: each sum should equal the length of the row.
x, y = fk.ones(1, 128), fk.empty(1)
run_tail = fk.compile(fix_the_tail, *whole_vectors(x, y))
for columns in (4, 128, 1024, 132, 252):
    run_tail(fk.ones(1, columns), y)
    print(f"{columns:5} ones: {y[0].item():.0f}")
of_132.against(132 + 31 * 4)  # as given

# %% [markdown]
# The given kernel computes 256 for the row of 132 ones. In the second tile, only lane 0 has a
# vector, and the other 31 lanes add the four ones that their registers still hold. A row of 124
# elements hides the mistake, because its only tile starts with the zeros from the fill. So test a
# tail *after* a full tile.
#
# In the next two exercises, you write whole kernels. The first has two inputs; the second handles
# lengths that are not multiples of the vector width. To compute absolute values, use
# `cute.where(condition, a, b)`, which chooses between a and b for each element.

# %% [markdown] exercise="week1/row_dots_vectors" part="task"
# ### Exercise 3: compute dot products with vector loads
#
# Compute `y[m] = a[m, 0] · b[m, 0] + a[m, 1] · b[m, 1] + …` in float32 and float16. Multiply and
# add in float32. N is a multiple of 8, so rows consist of whole 16-byte vectors.
#
# Signature: `row_dots_vectors(a, b, y)`.
#
# **Required**: one warp per row, 16 bytes per load.
#
# <details><summary>Hint 1</summary>
#
# Cut both tensors the same way: vector i of one pairs with vector i of the other.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# You can multiply two loaded vectors with `*`; `.reduce(cute.ReductionOp.ADD, 0.0, 0)` adds the
# products.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# On the line with the product, convert both vectors to `Float32` before you multiply: a product of
# two float16 numbers is rounded, and may overflow.
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
# The kernel reads twice as many bytes as a sum and performs one more operation per pair. Two
# loads come before the first use, so a thread has 32 bytes in flight instead of 16. An operator
# with more inputs keeps memory busy more easily.
#
# </details>

# %% [markdown] exercise="week1/abs_sums" part="task"
# ### Exercise 4: add up absolute values for any length
#
# Cut `x`, of any length n, into pieces of 1,024 elements; the last piece may be shorter. `y[p]` is
# the sum of the absolute values in piece `p`, in float32 and float16. Elements may be infinite. Add
# in float32. The last `n % vec` elements do not fill a 16-byte vector of `vec` elements, so load
# them one by one.
#
# Signature: `abs_sums(x, y)`.
#
# **Required**: one warp per 1,024 elements, 16 bytes per load.
#
# <details><summary>Hint 1</summary>
#
# Begin with the whole vectors: a piece has `1024 // vec` of them, and x has `n // vec`. Lane 0
# takes vectors 0, 32, 64, … of its piece.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Then `n % vec` elements are left, from element `n // vec * vec` on. Which piece does an element
# belong to?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Without a condition, every warp would add the tail. On the line before the addition, test that the
# element exists *and* lies in this warp's piece. `cute.math.absf` returns an absolute value; so
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
# One scalar load follows the vectors, and only one warp executes it. A lane without an element adds
# 0: the identity belongs to the operator that combines values, not to the function that you apply
# to each value.
#
# </details>

# %% [markdown]
# **A good place for a break.**
#
# ## 4. The wait for a load
#
# Why are four loads at a time better than one? The helper `loads_before_use` reads the PTX of a
# kernel and counts the global loads that come before the first addition of a loaded value.


# %%
@cute.jit
def unrolled(mX: cute.Tensor, mY: cute.Tensor):
    tiled_sum(mX, mY, 128, 32, 4)


@cute.jit
def elements_unrolled(mX: cute.Tensor, mY: cute.Tensor):
    tiled_sum(mX, mY, mX.element_type.width, 32, 4)


x, y = fk.randn(16, 4096), fk.empty(16)
runs = {
    "warp_a_row": fk.compile(warp_a_row, x, y),
    "elements_unrolled": fk.compile(elements_unrolled, x, y),
    "vectors": fk.compile(vectors, *whole_vectors(x, y)),
    "unrolled": fk.compile(unrolled, *whole_vectors(x, y)),
}
for name, run in runs.items():
    count, load = loads_before_use(run)
    print(f"{name:>18}: {count} × {load}")
for dtype in (torch.float32, torch.float16):
    measure(unrolled, whole_vectors, dtype=dtype)

# %% [markdown]
# In `vectors`, a lane requests 16 bytes, waits for them, adds them, and requests the next 16. In
# `unrolled`, a lane requests 64 bytes and waits once for all of them. We can calculate the length
# of a wait from a recorded time. With 64 rows of 262,144 elements, only 64 warps run on the whole
# H200. No unit is busy then, so a warp's time is the number of iterations of its loop times one
# wait.
#
# **Predict:** `vectors` takes 0.825 ms for these rows in `float32`. How long does `unrolled` take?

# %%
of_unrolled = fk.predict("milliseconds", None)

# %% jupyter={"outputs_hidden": true}
times, long_rows = recorded_part("03_bytes_in_flight"), (64, 262144)
turns = {}
for name, (loads, size) in (
    ("elements_unrolled", (4, 128)),
    ("vectors", (1, 512)),
    ("unrolled", (4, 512)),
):
    count = 262144 * 4 // (loads * size)
    ms = times.row(name, "float32", long_rows).ms
    turns[name] = (loads, size, ms * 1e6 / count)
    print(f"{name:>18}: {count:5,} iterations in {ms:.3f} ms, {turns[name][2]:.0f} ns each")
of_unrolled.against(times.row("unrolled", "float32", long_rows).ms)
loads_picture(turns)

# %% [markdown]
# An iteration takes 400 to 450 ns. Nearly all of this time is spent waiting: it is the **latency**
# of this GPU's memory, plus the short time of the loop itself. The time hardly depends on the
# number of bytes per iteration, 512 or 2,048. Nor does it depend on whether a warp requests 512
# bytes as one vector per lane or as four elements per lane. Only the number of bytes *in flight*
# counts.
#
# The picture leaves out `warp_a_row`. According to its PTX, the kernel executes 8,192 iterations
# with one load of 128 bytes each; at 400 ns per iteration this would take 3.3 ms. The recorded
# time, 0.830 ms, is a quarter of that. The translation from PTX to machine code may unroll a loop
# whose loads have no predicate between them, and the recorded time is consistent with four loads
# per iteration.

# %% [markdown] exercise="week1/bytes_in_flight" part="task"
# ### Exercise 5: count bytes in flight
#
# Suppose that a load takes 400 ns, and that memory delivers 4.8 TB/s to 132 multiprocessors. How
# many bytes have to be in flight? What rate does a warp reach if it loads, waits for the data, and
# loads again? (Round the last answer up to a whole number. 1 kB is 1,000 bytes.)
#
# <details><summary>Hint 1</summary>
#
# Little's law: bytes in flight = bytes per second × seconds per load.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A warp that has B bytes in flight receives B bytes every 400 ns.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A load of 16 bytes per lane puts 512 bytes in flight. For the last line, divide the bytes that one
# multiprocessor needs by 512.
#
# </details>

# %% exercise="week1/bytes_in_flight" part="skeleton"
in_flight = {
    # FILL ME IN (roughly 5 lines)
    "MB in flight for 4.8 TB/s": None,
    "kB in flight per multiprocessor": None,
    "GB/s of one warp, one load of 16 bytes per lane": None,
    "GB/s of one warp, four such loads": None,
    "warps per multiprocessor, one such load each": None,
}

# %% exercise="week1/bytes_in_flight" part="grade"
fk.exercise("week1/bytes_in_flight").grade(in_flight)

# %% [markdown] exercise="week1/bytes_in_flight" part="solution"
# <details><summary>Solution of exercise 5</summary>
#
# ```python
# in_flight = {
#     "MB in flight for 4.8 TB/s": 1.92,
#     "kB in flight per multiprocessor": 14.5,
#     "GB/s of one warp, one load of 16 bytes per lane": 1.28,
#     "GB/s of one warp, four such loads": 5.12,
#     "warps per multiprocessor, one such load each": 29,
# }
# ```
#
# 4.8 TB/s × 400 ns = 1.92 MB, which is 14.5 kB for each of the 132 multiprocessors. A warp with
# 512 bytes in flight reaches 512 bytes / 400 ns = 1.28 GB/s. With four loads that do not wait for
# each other, it reaches 5.12 GB/s. 14,545 / 512 = 28.4, so a multiprocessor needs 29 of the 64
# warps that it has room for.
#
# </details>

# %% [markdown]
# ## 5. Bytes in flight with many rows
#
# We apply **Little's law** again: bytes in flight = rate × latency. A sum writes next to nothing,
# so its reads can use the full 4.8 TB/s. Threads, blocks and registers limit the number of warps
# that a multiprocessor can hold. **Occupancy** is this number divided by 64, the maximum per
# multiprocessor. Each of these warps contributes its loads to the bytes in flight. The helper
# `print_in_flight` prints occupancy and bytes in flight. The first picture compares recorded
# `float32` rates with Little's law; in the second you can change loads, warps and latency:

# %% jupyter={"outputs_hidden": true}
latency_ns = turns["vectors"][2]
points = print_in_flight(runs, times, latency_ns)
little_picture(points, latency_ns, 4800)
per_sm = {n: (size / 132, rate) for n, (size, rate) in points.items() if "vectors" in n}
bytes_in_flight(per_sm, latency_ns=latency_ns, ceiling_gbps=times.ceiling_gbps)

# %% [markdown]
# Registers limit none of these kernels. (The first line counts the single load in the PTX; with
# four loads per iteration, the number of bytes would be four times as large.) One vector per lane
# suffices while the multiprocessor is full of warps; four vectors leave a margin while blocks start
# and end. A `float16` element has only 2 bytes, so the kernels without vectors have half as many
# bytes in flight.
#
# **Predict:** for 32,768 rows of 4,096 `float16` elements, which step gains the most: more elements
# in flight, vectors, or more vectors in flight?

# %%
gain = fk.predict("step that gains the most", None)

# %% jupyter={"outputs_hidden": true}
steps_up = ("warp_a_row", "elements_unrolled", "vectors", "unrolled")
of_step = {n: times.row(n, "float16", (32768, 4096)).ms for n in steps_up}
gains = {b: of_step[a] / of_step[b] for a, b in pairwise(steps_up)}
print(", ".join(f"{name}: {ratio:.2f} times as fast" for name, ratio in gains.items()))
gain.against(max(gains, key=gains.get))
recorded_part("03_bytes_in_flight", shapes=[(32768, 4096), (1048576, 64), (64, 262144)])

# %% [markdown]
# The table shows:
#
# - **32,768 × 4,096, float32:** a kernel with one element per load comes within a few percent of a
#   copy's rate. The number that looked bad in section 1 does no harm here.
# - **32,768 × 4,096, float16:** `warp_a_row` takes 0.081 ms for half as many bytes. Four elements
#   in flight change little, but vectors help. So the limit was not the bytes in flight but the
#   instructions: the kernel executes just as many of them for half as many bytes. Four vectors in
#   flight gain the last 2 %.
# - **1,048,576 × 64:** all four kernels take nearly the same time, except that `unrolled` takes 8 %
#   longer in float16. Section 6 deals with these rows.
# - **64 × 262,144:** all kernels stay far below the memory's rate, and the bytes in flight
#   determine the time.
#
# For `vectors` in float16, 0.067 ms is a measured time. The next cell predicts this time from the
# counts of 32 of the 8,192 blocks and the rates of an H200.

# %%
x, y = fk.empty(32768, 4096, dtype=torch.float16), fk.empty(32768, dtype=torch.float16)
run_vectors = fk.compile(vectors, *whole_vectors(x, y))
fk.profile(run_vectors, x, y, blocks=32).time("H200")

# %% [markdown]
# Device memory has the longest bar, and the recorded time lies within the predicted interval. In
# the next exercise, memory is not the limit.

# %% [markdown] exercise="week1/row_energy" part="task"
# ### Exercise 6: halve the time of a kernel that waits
#
# The kernel below computes `y[m] = x[m, 0]² + x[m, 1]² + …` in float32, for rows of whole 16-byte
# vectors. It loads 16 bytes per lane, in whole sectors, with few instructions per byte, so no
# counter shows a fault. Halve its predicted time on an H200 for 512 rows of 16,384 elements, and
# still read each element once. The **whole interval** has to lie below half of the given kernel's
# time. Look at the bounds after each change:
#
# `fk.profile(*fk.exercise("week1/row_energy").failed, blocks=16).time("H200")`
#
# **Required**: 1 launch, no float64.
#
# <details><summary>Hint 1</summary>
#
# 512 warps share 132 multiprocessors, and each warp has one load of 512 bytes in flight. How many
# bytes does that make per multiprocessor?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Two changes put more bytes in flight: more loads per lane before it adds, or more warps per row.
# Which one needs no barrier?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The loop waits on the line that adds. Fill several vectors of registers before that line, each
# with its own predicate; two are not enough. `cute.make_rmem_tensor((4, loads), Float32)` holds
# `loads` vectors, and `rX[None, k]` is one of them.
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
# With 512 warps in all, each multiprocessor runs about four. Each warp has 512 bytes in
# flight, so a multiprocessor has 2 kB of the 14 kB from section 5. The kernel waits about 400 ns
# for each of its 128 tiles, while no unit is busy. With eight vectors per lane, it waits only 16
# times. One block of eight warps per row works as well: the kernel then has eight times as many
# warps, at the cost of a barrier. A different block size does not help, because the number of
# warps stays the same. Two vectors halve the waiting but not the launch time, so the interval
# still exceeds the limit. (These times are predicted for an H200, not measured.)
#
# </details>

# %% [markdown]
# ## 6. Short rows: several per warp
#
# A row of 64 `float32` elements has 16 vectors. Half of a warp's 32 lanes have nothing to load, and
# the warp executes five shuffles for one number. With `lanes=8`, a warp adds four rows, and a block
# adds 16. The picture shows 6 rows of 40 elements, coloured by thread; lanes 0 and 1 of each row
# read two vectors.


# %%
@cute.jit
def eight_lanes(mX: cute.Tensor, mY: cute.Tensor):
    tiled_sum(mX, mY, 128, 8, 1)


x, y = fk.randn(6, 40), fk.empty(6)
fk.footprint(fk.compile(eight_lanes, *whole_vectors(x, y)), x, y, by="thread", tensor="mX")

# %% [markdown]
# **Predict:** for 64-element `float32` rows, how many instructions per kB does one warp per row
# need, and how many do eight lanes per row need?

# %%
of_short = fk.predict("instructions per kB: vectors, eight_lanes", None)  # in the form (50, 50)

# %% jupyter={"outputs_hidden": true}
of_short.against([round(measure(f, whole_vectors, (256, 64))) for f in (vectors, eight_lanes)])
for name in ("vectors", "eight_lanes"):
    for shape in ((1048576, 64), (8192, 8192)):
        print(f"{name:>12}, {shape} float32: {times.row(name, 'float32', shape).ms:.3f} ms")

# %% [markdown]
# The best kernel for short rows is the worst for long rows, where the eight lanes of a row have 128
# bytes in flight instead of 512. So a library chooses the kernel according to the length of the
# rows.

# %% [markdown] exercise="week1/short_rows" part="task"
# ### Exercise 7: share a warp among four rows
#
# Add up rows that are too short to fill a warp; four rows share each warp. The launch has eight
# threads per row, and no block beyond those that these threads need. There may be any
# number of rows. Longer rows must also be right. N is a multiple of 8, so a row consists of whole
# 16-byte vectors, perhaps fewer than eight. The types are float32 and float16; add in float32.
#
# Signature: `short_rows(x, y)`.
#
# **Required**: eight lanes per row, 16 bytes per load.
#
# <details><summary>Hint 1</summary>
#
# Which row does a thread work on, and which of the row's eight lanes is it? Divide by 8, and take
# the remainder.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Combine only the sums of a row's eight lanes: `cute.arch.warp_reduction` accepts
# `threads_in_group=8`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Some of a warp's rows may not exist. Put a predicate around the loads and around the store; all 32
# lanes execute the shuffles, on a line outside every `if`.
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
# With one warp per row, 64-element float32 rows keep only 16 lanes busy, and each warp executes
# five shuffles for one row. Here all lanes load, and three shuffles serve four rows. For a
# million such rows, an H200 took 0.067 ms with `eight_lanes` and 0.162 ms with `vectors`
# (2026-11-22).
#
# </details>

# %% [markdown] exercise="week1/what_helps" part="task"
# ### Exercise 8: name the bound of a call and the change that helps
#
# The table lists four float32 row sums, each with its predicted time on an H200. The prediction
# assumes that the GPU starts 1,700 blocks per microsecond and moves at most 5.1 MB per
# microsecond. Both rates are fitted to recorded times. (The data sheet promises 4.8 MB per
# microsecond.) A load takes 400 ns.
#
# | | kernel | rows × columns | blocks | predicted |
# |---|---|---|---|---|
# | A | `vectors` | 1,048,576 × 64 | 262,144 | 169 µs |
# | B | `vectors` | 64 × 262,144 | 16 | 843 µs |
# | C | `unrolled` | 32,768 × 4,096 | 8,192 | 124 µs |
# | D | `unrolled` | 64 × 64 | 16 | 4.3 µs |
#
# What bounds each call: `"start of blocks"`, `"latency"`, `"device memory"` or `"the launch
# itself"`? Which change would help most: `"more rows per block"`, `"more bytes in flight"`,
# `"fewer bytes"` (a narrower type) or `"fewer launches"`? Use each answer once.
#
# <details><summary>Hint 1</summary>
#
# How long would the bytes of each call take at 5.1 MB per microsecond? One of the four calls is
# close to that time.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# For the other calls, how long do the blocks take to start? Which call has too little work to take
# long?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The remaining call has few warps and many loop iterations. Section 4 computes how long an
# iteration takes.
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
# **A** needs 53 µs to move 268 MB, but 154 µs to start 262,144 blocks. Give each block more rows,
# as `eight_lanes` does. **B** has only 64 warps on the whole GPU, and each of them waits 2,048
# times, 400 ns each time. Put more bytes in flight, with `unrolled` or with more warps per row.
# **C** needs 106 µs to move 537 MB, so only fewer bytes help. **D** does almost no work and takes
# as long as a launch. Move its work into another launch. The two kernels have a different bound for
# each shape, so a bound belongs to a call, not to a kernel.
#
# </details>

# %% [markdown]
# The next cell shows your predictions beside the results:

# %%
fk.predictions()

# %% [markdown]
# ## Summary
#
# | step | in flight per lane | instructions per kB: float32, float16 |
# |---|---|---|
# | `warp_a_row` | one element | 74, 164 |
# | `vectors` | 16 bytes | 41, 84 |
# | `unrolled` | 64 bytes | 36, 71 |
#
# These times, in milliseconds, were recorded on an H200 on 22 November 2026:
#
# | step | 32,768 × 4,096 float32 | float16 | 1,048,576 × 64 float32 | 64 × 262,144 float32 |
# |---|---|---|---|---|
# | `warp_a_row` | 0.129 | 0.081 | 0.162 | 0.830 |
# | `elements_unrolled` | 0.129 | 0.078 | 0.162 | 0.824 |
# | `vectors` | 0.129 | 0.067 | 0.162 | 0.825 |
# | `unrolled` | 0.124 | 0.066 | 0.162 | 0.233 |
# | `eight_lanes` | 0.142 | 0.076 | 0.067 | 3.827 |
#
# **The bad number:** 64 rows of 262,144 `float32` elements are 67 MB, which memory can deliver in
# 14 µs, but even `unrolled` takes 0.233 ms. Its 16 blocks leave 116 of 132 multiprocessors without
# work.
#
# **In practice** each kernel serves a range of row lengths: lanes per row and loads in flight are
# parameters, as here, and a table selects their values. If rows are not whole vectors, use the
# widest vectors that every row allows, or add the remaining elements one by one, as in `abs_sums`.
#
# **Further reading:** [Better performance at lower
# occupancy](https://www.nvidia.com/content/GTC-2010/pdfs/2238_GTC2010.pdf) (V. Volkov, 2010:
# Little's law, and why occupancy alone says little) · [occupancy in the best practices
# guide](https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html#occupancy).
#
# **Next:** one row for the whole GPU ([`04_few_long_rows`](04_few_long_rows.ipynb)).

# %%
steps = {
    "warp_a_row": warp_a_row,
    "elements_unrolled": elements_unrolled,
    "vectors": (vectors, whole_vectors),
    "unrolled": (unrolled, whole_vectors),
    "eight_lanes": (eight_lanes, whole_vectors),
}
