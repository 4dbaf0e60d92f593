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
# # Keep the row in registers
#
# **You will build** softmaxes that read each row once and write it once: the first works element by
# element, the next vector by vector, and later ones with fewer instructions. The last is your own
# single-pass online softmax.
# **You will learn** why registers cannot be indexed at run time, which value to put in place of
# missing elements, how to save one instruction per exponential without losing digits, and how long
# a row may be.
# **You need** `01_online`, and tiled copies (`03_bytes_in_flight` of week 1). About 50 minutes, and
# 115 more for the exercises.
#
# **The bad number: two reads and a write.** `online` finds the maximum and the sum in one read, but
# then reads the row again because it did not keep the elements.

# %%
import math
import operator
from functools import partial
from itertools import pairwise

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.cute.nvgpu import CopyUniversalOp
from week2_helpers import (
    LOG2_E,
    Step,
    block_on_sm,
    checked,
    cost,
    executed,
    exp,
    exp2,
    fma,
    hard_rows,
    held_by,
    held_picture,
    largest,
    loads_of,
    machine_per_element,
    moved_picture,
    online,
    opcodes_per_element,
    per_thread_picture,
    recorded_part,
    row_tiles,
    single_pass_step,
    sm_picture,
    total,
    whole,
)

import forgekit as fk
from forgekit.profiling.gpus import gpu_named
from forgekit.viz.ideas import fill_multiprocessor

# %% [markdown]
# ## 1. Read twice
#
# The helpers contain `online` from the last notebook, with four rows per block instead of eight.
# You already know `checked` and `cost`.

# %%
x, y = fk.randn(8, 1024), fk.empty(8, 1024)
costs = {"online": cost(fk.compile(online, x, y), x, y)}
print("online:", costs["online"])

# %% [markdown]
# ## 2. Each lane keeps its part
#
# In a row of 1,024 elements, each lane has 32. A thread can use up to 255 **registers** of 4 bytes,
# so it can simply keep its elements. Then the maximum and the sum need no online algorithm, because
# a second pass over registers moves no bytes.
#
# Here is a model with 4 lanes and rows of up to 12 elements. Missing elements count as −∞, which
# changes no maximum and whose exponential is 0.

# %%
lanes, per_lane = 4, 3
row = [1.0, 3.0, 2.0, 5.0, -1.0, 5.0, 0.0]
held = [
    [row[lane + lanes * k] if lane + lanes * k < len(row) else -math.inf for k in range(per_lane)]
    for lane in range(lanes)
]
m = max(max(part) for part in held)
s = sum(sum(math.exp(x - m) for x in part) for part in held)
for lane, part in enumerate(held):
    print(f"lane {lane} holds {part}, writes", [round(math.exp(x - m) / s, 4) for x in part])

# %% [markdown]
# In the kernel, `cute.make_rmem_tensor(per_lane, Float32)` holds the lane's part. A register has no
# address; its number is part of the instruction. So the compiler must know every index, and
# therefore `per_lane`, the number of elements per lane. Loops over registers use `range_constexpr`,
# which is unrolled at compile time. The helpers `largest` and `total` return the maximum and the
# sum of a thread's values.


# %%
@cute.kernel
def registers_kernel(mX: cute.Tensor, mY: cute.Tensor, per_lane: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row, lane = bidx * 4 + tidx // 32, tidx % 32
    if row < mX.shape[0]:
        rX = cute.make_rmem_tensor(per_lane, Float32)  # (per_lane):(1)
        rX.fill(-Float32.inf)
        for k in cutlass.range_constexpr(per_lane):
            if lane + 32 * k < mX.shape[1]:
                rX[k] = mX[row, lane + 32 * k].to(Float32)
        x = rX.load()
        m = cute.arch.warp_reduction(largest(x), cute.arch.fmax)
        e = exp(x - m)
        s = cute.arch.warp_reduction(total(e), operator.add)
        rX.store(e / s)
        for k in cutlass.range_constexpr(per_lane):
            if lane + 32 * k < mX.shape[1]:
                mY[row, lane + 32 * k] = rX[k].to(mY.element_type)


@cute.jit
def registers(mX: cute.Tensor, mY: cute.Tensor, per_lane: cutlass.Constexpr):
    blocks = cute.ceil_div(mX.shape[0], 4)
    registers_kernel(mX, mY, per_lane).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


def compile_registers(fn, x, y):
    return fk.compile(fn, x, y, math.ceil(x.shape[1] / 32))


run_registers = checked(registers, 1, 31, 33, 200, 256, compile=compile_registers)

x, y = fk.randn(8, 1024), fk.empty(8, 1024)
costs["registers"] = cost(compile_registers(registers, x, y), x, y)
print("registers:", costs["registers"])
moved_picture("The row is read once", costs)

# %% [markdown]
# One read and one write are the minimum, and every kernel from here on moves exactly these bytes.
# One compiled kernel serves all rows of up to 32 · `per_lane` elements.
#
# What does an index cost if the compiler does *not* know it? In the next kernel, the loop that
# stores is an ordinary `range`. The values are still correct.


# %%
@cute.kernel
def by_index_kernel(mX: cute.Tensor, mY: cute.Tensor, per_lane: cutlass.Constexpr):
    lane, _, _ = cute.arch.thread_idx()
    rX = cute.make_rmem_tensor(per_lane, Float32)
    for k in cutlass.range_constexpr(per_lane):
        rX[k] = mX[lane + 32 * k]
    for k in range(mX.shape[0] // 32):
        mY[lane + 32 * k] = rX[k]


@cute.jit
def by_index(mX: cute.Tensor, mY: cute.Tensor, per_lane: cutlass.Constexpr):
    by_index_kernel(mX, mY, per_lane).launch(grid=(1, 1, 1), block=(32, 1, 1))


x, y = fk.randn(128), fk.empty(128)
run_by_index = fk.compile(by_index, x, y, 4)
run_by_index(x, y)
assert y.equal(x)
for name, run in (("by_index", run_by_index), ("registers", run_registers)):
    print(f"{name:>9}: {run.ptx.count('st.local')} st.local, {run.ptx.count('ld.local')} ld.local")

# %% [markdown]
# `by_index` contains `st.local` and `ld.local` instructions. Indexed data need addresses, so the
# compiler moved the row to **local memory**, which belongs to one thread but resides in the GPU's
# device memory. The row is no longer in registers, but no check of the values reveals that. To find
# out, search the PTX for `.local`.
#
# As in week 1, a row of 8 elements leaves three quarters of a warp idle. Write a kernel in which
# four short rows share a warp:

# %% [markdown] exercise="week2/short_softmax" part="task"
# ### Exercise 1: share a warp among four rows
#
# Compute the softmax of any number of rows of at most 64 elements. Support float32, float16 and
# bfloat16; compute in float32. A lane holds at most eight elements in registers. Read and write
# each element once. Some elements are −∞; a row of −∞ gives NaN, as in torch. Signature:
# `short_softmax(x, y)`.
#
# **Required**: eight lanes per row, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# Which row does a thread work on, and which of the row's eight lanes is it? Week 1's `short_rows`
# computes both. Lane 0 has the elements 0, 8, 16, …
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Fill a tensor of eight registers with −∞ before loading. Loads and stores need a predicate for the
# row and the column, but the lines between them need none.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `cute.arch.warp_reduction` with `threads_in_group=8` reduces among eight lanes; use it for the
# maximum and for the sum. Some of a warp's four rows may not exist. Arithmetic on them is harmless
# as long as the line that stores the result checks the row.
#
# </details>


# %% exercise="week2/short_softmax" part="skeleton"
@cute.kernel
def short_softmax_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 18 lines)
    pass


@cute.jit
def short_softmax(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/short_softmax" part="grade"
fk.exercise("week2/short_softmax").grade(short_softmax)

# %% [markdown] exercise="week2/short_softmax" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# @cute.kernel
# def short_softmax_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row, lane = bidx * 16 + tidx // 8, tidx % 8
#     rX = cute.make_rmem_tensor(8, Float32)  # (8):(1)
#     rX.fill(-Float32.inf)
#     for k in cutlass.range_constexpr(8):
#         if row < mX.shape[0] and lane + 8 * k < mX.shape[1]:
#             rX[k] = mX[row, lane + 8 * k].to(Float32)
#     x = rX.load()
#     m = x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)
#     m = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=8)
#     e = cute.math.exp(x - m, fastmath=True)
#     s = e.reduce(cute.ReductionOp.ADD, 0.0, 0)
#     s = cute.arch.warp_reduction(s, operator.add, threads_in_group=8)
#     rX.store(e * (1.0 / s))
#     for k in cutlass.range_constexpr(8):
#         if row < mX.shape[0] and lane + 8 * k < mX.shape[1]:
#             mY[row, lane + 8 * k] = rX[k].to(mY.element_type)
#
#
# @cute.jit
# def short_softmax(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 16)
#     short_softmax_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# A reduction takes three shuffles instead of five, and each shuffle serves four rows. So four rows
# take six shuffles, where one warp per row takes forty. Lanes of rows that do not exist compute −∞
# − (−∞) = NaN in their registers, but never store it. The solution divides once per row and
# multiplies once per element.
#
# </details>

# %% [markdown]
# ## 3. Sixteen bytes per lane
#
# **The bad number: 25 instructions per element.** Each element needs its own load, its own store,
# two predicates and two jumps. The remedy comes from `03_bytes_in_flight`: a TV layout with one
# vector per lane, a tiled copy, and one predicate per vector. Only the tile is new. It is as wide
# as the row, so one `cute.copy` loads all `loads` vectors of a lane, and they stay in registers.
#
# The kernel receives its arithmetic as a function `step(x, warps)`, where x is the thread's part of
# a row and `warps` is the number of warps that share a row, 1 for now.


# %%
@cute.kernel
def vectors_kernel(
    gX: cute.Tensor,
    gY: cute.Tensor,
    cX: cute.Tensor,
    shape: cute.Shape,
    tiled_copy: cute.TiledCopy,
    step: cutlass.Constexpr,
    warps: cutlass.Constexpr,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    thr_copy = tiled_copy.get_slice(tidx)
    tXgX = thr_copy.partition_S(gX[(None, None), (bidx, 0)])  # ((Vec,1),1,loads)
    tXgY = thr_copy.partition_D(gY[(None, None), (bidx, 0)])  # ((Vec,1),1,loads)
    tXcX = thr_copy.partition_S(cX[(None, None), (bidx, 0)])  # ((Vec,1),1,loads)
    tXrX = cute.make_rmem_tensor_like(tXgX)  # ((Vec,1),1,loads)
    loads = cutlass.const_expr(cute.size(tXrX, mode=[2]))
    tXpX = cute.make_rmem_tensor((1, 1, loads), cutlass.Boolean)  # one for each vector
    for k in cutlass.range_constexpr(loads):
        tXpX[0, 0, k] = cute.elem_less(tXcX[0, 0, k], shape)
    tXrX.fill(-gX.element_type.inf)
    cute.copy(tiled_copy, tXgX, tXrX, pred=tXpX)
    y = step(tXrX.load().to(Float32), warps)
    tXrX.store(y.to(gY.element_type))
    cute.copy(tiled_copy, tXrX, tXgY, pred=tXpX)


# %% [markdown]
# The host function divides the matrices into tiles. The helper `row_tiles` makes the tiled copy and
# its tile, which has four rows per block, or one row if several warps share it. With a step that
# returns x unchanged, the kernel is a copy, and the picture shows which lane holds which element:


# %%
def in_tiles(step, warps):
    """Return a host function for rows of up to `loads` vectors per thread."""

    @cute.jit
    def host(mX: cute.Tensor, mY: cute.Tensor, loads: cutlass.Constexpr):
        tiled_copy, tiler_mn = row_tiles(mX.element_type, warps, loads)
        gX = cute.zipped_divide(mX, tiler_mn)  # ((TileM,TileN),(RestM,RestN))
        gY = cute.zipped_divide(mY, tiler_mn)  # as gX
        cX = cute.zipped_divide(cute.make_identity_tensor(mX.shape), tiler_mn)  # as gX
        vectors_kernel(gX, gY, cX, mX.shape, tiled_copy, step, warps).launch(
            grid=(gX.shape[1][0], 1, 1), block=(tiled_copy.size, 1, 1)
        )

    return host


def compile_step(step, x, y, warps=1, **options):
    """Compile a step for rows of x's length, which must be whole vectors."""
    loads = loads_of(x, 32 * warps)
    return fk.compile(in_tiles(step, warps), whole(x), whole(y), loads, **options)


@cute.jit
def unchanged(x, warps):
    return x


x, y = fk.randn(1, 100), fk.empty(1, 100)
by_element = held_by(compile_registers(registers, x, y), 100, 32)
by_vector = held_by(compile_step(unchanged, x, y), 100, 32)
held_picture(100, 20, 25, registers=by_element, vectors=by_vector)

# %% [markdown]
# The first real step contains the arithmetic of `registers`. **Predict:** `registers` executed 25
# instructions per element for rows of 1,024 `float32`. How many does `vectors` execute?


# %%
@cute.jit
def vectors(x, warps):
    m = cute.arch.warp_reduction(largest(x), cute.arch.fmax)
    e = exp(x - m)
    s = cute.arch.warp_reduction(total(e), operator.add)
    return e / s


lengths = (8, 136, 504, 512)
run_vectors = checked(vectors, *lengths, compile=compile_step)
of_vectors = fk.predict("instructions per element, vectors", None)

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(8, 1024), fk.empty(8, 1024)
run = compile_step(vectors, x, y)
costs["vectors"] = cost(run, x, y)
print("vectors:", costs["vectors"])
of_vectors.against(round(costs["vectors"].instructions, 1))
fk.profile(run, x, y).sort().filter(at_least={"warp_instructions": 200})

# %% [markdown]
# Each load brings 16 bytes instead of 4, and four elements share a predicate. The most expensive
# line computes only addresses and no part of the softmax. Section 4 returns to it.
#
# > **Looks right but is wrong.** The next exercise is this kernel with one line changed. It is
# > correct for rows of whole tiles, and for rows of any length whose elements are around +1,000.
# > Find the line.

# %% [markdown] exercise="week2/fix_the_fill" part="task"
# ### Exercise 2: fix the fill
#
# This softmax handles rows of up to 512 `float32` in whole vectors. Its treatment of the tail was
# copied from a kernel that adds up rows. The softmax is correct for rows of 512 elements, and for
# scores around +1000. Make it correct for all rows of whole vectors, including rows far below 0 and
# rows of −∞ (whose result is NaN, as in torch). Signature: `fix_the_fill(x, y)`.
#
# **Required**: 16 bytes per load.
#
# <details><summary>Hint 1</summary>
#
# Run it on one row of four ones. Which sum do the resulting weights imply, and where does the
# excess come from?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A lane without a vector still has registers, whose contents take part in the maximum and in the
# sum.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Which number changes no maximum and has the exponential 0? It belongs in the line before
# `cute.copy`. A large negative number does not work, because some rows lie below it.
#
# </details>


# %% exercise="week2/fix_the_fill" part="skeleton"
@cute.kernel
def fix_the_fill_kernel(
    gX: cute.Tensor,
    gY: cute.Tensor,
    cX: cute.Tensor,
    shape: cute.Shape,
    tiled_copy: cute.TiledCopy,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    thr_copy = tiled_copy.get_slice(tidx)
    tXgX = thr_copy.partition_S(gX[(None, None), (bidx, 0)])  # ((4,1),1,4)
    tXgY = thr_copy.partition_D(gY[(None, None), (bidx, 0)])  # ((4,1),1,4)
    tXcX = thr_copy.partition_S(cX[(None, None), (bidx, 0)])  # ((4,1),1,4)
    tXrX = cute.make_rmem_tensor_like(tXgX)  # ((4,1),1,4)
    tXpX = cute.make_rmem_tensor((1, 1, 4), cutlass.Boolean)
    for k in cutlass.range_constexpr(4):
        tXpX[0, 0, k] = cute.elem_less(tXcX[0, 0, k], shape)
    # FILL ME IN (roughly 3 lines)
    tXrX.fill(0.0)
    cute.copy(tiled_copy, tXgX, tXrX, pred=tXpX)
    x = tXrX.load()
    m = cute.arch.warp_reduction(x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0), cute.arch.fmax)
    e = cute.math.exp(x - m, fastmath=True)
    s = cute.arch.warp_reduction(e.reduce(cute.ReductionOp.ADD, 0.0, 0), operator.add)
    tXrX.store(e * (1.0 / s))
    cute.copy(tiled_copy, tXrX, tXgY, pred=tXpX)


@cute.jit
def fix_the_fill(mX: cute.Tensor, mY: cute.Tensor):
    atom = cute.make_copy_atom(CopyUniversalOp(), Float32, num_bits_per_copy=128)
    thr_layout = cute.make_layout((4, 32), stride=(32, 1))
    val_layout = cute.make_layout((1, 4), stride=(4, 1))
    tiled_copy = cute.make_tiled_copy_tv(atom, thr_layout, val_layout)
    gX = cute.zipped_divide(mX, (4, 512))  # ((4,512),(RestM,RestN))
    gY = cute.zipped_divide(mY, (4, 512))  # ((4,512),(RestM,RestN))
    cX = cute.zipped_divide(cute.make_identity_tensor(mX.shape), (4, 512))  # as gX
    grid = (gX.shape[1][0], 1, 1)
    fix_the_fill_kernel(gX, gY, cX, mX.shape, tiled_copy).launch(grid=grid, block=(128, 1, 1))


# %% exercise="week2/fix_the_fill" part="grade"
fk.exercise("week2/fix_the_fill").grade(fix_the_fill)

# %% [markdown] exercise="week2/fix_the_fill" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# @cute.kernel
# def fix_the_fill_kernel(
#     gX: cute.Tensor,
#     gY: cute.Tensor,
#     cX: cute.Tensor,
#     shape: cute.Shape,
#     tiled_copy: cute.TiledCopy,
# ):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     thr_copy = tiled_copy.get_slice(tidx)
#     tXgX = thr_copy.partition_S(gX[(None, None), (bidx, 0)])  # ((4,1),1,4)
#     tXgY = thr_copy.partition_D(gY[(None, None), (bidx, 0)])  # ((4,1),1,4)
#     tXcX = thr_copy.partition_S(cX[(None, None), (bidx, 0)])  # ((4,1),1,4)
#     tXrX = cute.make_rmem_tensor_like(tXgX)  # ((4,1),1,4)
#     tXpX = cute.make_rmem_tensor((1, 1, 4), cutlass.Boolean)
#     for k in cutlass.range_constexpr(4):
#         tXpX[0, 0, k] = cute.elem_less(tXcX[0, 0, k], shape)
#     tXrX.fill(-Float32.inf)
#     cute.copy(tiled_copy, tXgX, tXrX, pred=tXpX)
#     x = tXrX.load()
#     m = cute.arch.warp_reduction(x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0), cute.arch.fmax)
#     e = cute.math.exp(x - m, fastmath=True)
#     s = cute.arch.warp_reduction(e.reduce(cute.ReductionOp.ADD, 0.0, 0), operator.add)
#     tXrX.store(e * (1.0 / s))
#     cute.copy(tiled_copy, tXrX, tXgY, pred=tXpX)
#
#
# @cute.jit
# def fix_the_fill(mX: cute.Tensor, mY: cute.Tensor):
#     atom = cute.make_copy_atom(CopyUniversalOp(), Float32, num_bits_per_copy=128)
#     thr_layout = cute.make_layout((4, 32), stride=(32, 1))
#     val_layout = cute.make_layout((1, 4), stride=(4, 1))
#     tiled_copy = cute.make_tiled_copy_tv(atom, thr_layout, val_layout)
#     gX = cute.zipped_divide(mX, (4, 512))  # ((4,512),(RestM,RestN))
#     gY = cute.zipped_divide(mY, (4, 512))  # ((4,512),(RestM,RestN))
#     cX = cute.zipped_divide(cute.make_identity_tensor(mX.shape), (4, 512))  # as gX
#     grid = (gX.shape[1][0], 1, 1)
#     fix_the_fill_kernel(gX, gY, cX, mX.shape, tiled_copy).launch(grid=grid, block=(128, 1, 1))
# ```
#
# One value suits both reductions: −∞ changes no maximum, and its exponential adds 0 to the sum. If
# the fill is 0, a missing element raises a negative maximum to 0, and adds e^(−m) to the sum. Where
# m is large, that term is negligible, so scores around +1000 hide it. Where all scores are far
# below 0, every result is 0. A fill of −10,000, or of the lowest number of the type, works only for
# rows with an element above it.
#
# </details>

# %% [markdown]
# How many instructions per element can an H200 afford? Each of its 132 SMs has four schedulers, and
# each scheduler issues one instruction for 32 lanes per clock cycle. In the time that memory takes
# to read one element and write its result at 4.8 TB/s, the SMs can execute 56 instructions per
# `float32` element, and 28 per `bfloat16` element (at the boost clock; a cell below computes both).
# This number is the **budget** per element. A kernel that exceeds it is no longer bound by memory.
# The budget counts *machine* instructions, and some PTX instructions expand into many of them.
# `run.code_bytes` is the length of the machine code, at 16 bytes per instruction; the compiler
# reports it without a GPU.
#
# A good place for a break.
#
# ## 4. The cost of one element
#
# **The bad number: machine instructions.** Two lines of `vectors` are to blame. The first is `e /
# s`, which divides once per element although once per row would suffice.
#
# **Predict:** in PTX a division is one instruction. How many more machine instructions per element
# does `vectors` have than `reciprocal`?


# %%
@cute.jit
def reciprocal(x, warps):
    m = cute.arch.warp_reduction(largest(x), cute.arch.fmax)
    e = exp(x - m)
    s = cute.arch.warp_reduction(total(e), operator.add)
    return e * (1.0 / s)


run_reciprocal = checked(reciprocal, *lengths, compile=compile_step)
of_a_division = fk.predict("extra machine instructions per division", None)

# %% jupyter={"outputs_hidden": true}
x, machine = fk.randn(8, 1024), {}
for step in (vectors, reciprocal):
    run = compile_step(step, x, x)
    machine[step] = machine_per_element(run, 32)
    print(f"{step.__name__:>10}: {run.ptx.count('div.rn.f32')} divisions in the PTX,", end=" ")
    print(f"{machine[step]:.1f} machine instructions per element")
of_a_division.against(round(machine[vectors] - machine[reciprocal]))
h200 = gpu_named("H200")
for name, size in (("float32", 4), ("bfloat16", 2)):
    print(f"budget, {name}: {h200.instruction_peak * 2 * size / h200.bandwidth:.0f}")

# %% [markdown]
# The hardware has no division instruction. It has an approximate reciprocal, to which a correctly
# rounded division adds a dozen instructions and a separate path for extreme numbers. The cheaper `e
# * (1.0 / s)` adds one rounding error, of at most 2⁻²⁴.
#
# The second line is the exponential, which takes three instructions per element: subtract, multiply
# by log₂ e, and raise 2 to that power. (The hardware has no other exponential.) A little algebra
# reduces the three instructions to two:
#
# $$e^{x - m} = 2^{(x - m)\,\log_2 e} = 2^{x \log_2 e \;-\; m \log_2 e}$$
#
# The exponent is a product and a sum. A **fused multiply-add** (FMA) computes both in one
# instruction, with *one* rounding at the end. The second term is the same for the whole row. The
# helper `fma(x, a, b)` returns x · a + b.
#
# > **Looks right but is wrong.** The next two steps, `mul_sub` and `folded`, compute the same
# > formula, and `mul_sub` is easier to read.
#
# **Predict:** which of the two is correct for all hard rows? And for how many of the eight rows is
# the other wrong? (Where x is around 1,000, x · log₂ e is around 1,443, which `float32` rounds to a
# multiple of 2⁻¹³.)


# %%
@cute.jit
def folded(x, warps):
    m = cute.arch.warp_reduction(largest(x), cute.arch.fmax)
    e = exp2(fma(x, LOG2_E, -m * LOG2_E))
    s = cute.arch.warp_reduction(total(e), operator.add)
    return e * (1.0 / s)


@cute.jit
def mul_sub(x, warps):
    m = cute.arch.warp_reduction(largest(x), cute.arch.fmax)
    e = exp2(x * LOG2_E - m * LOG2_E)
    s = cute.arch.warp_reduction(total(e), operator.add)
    return e * (1.0 / s)


is_right = fk.predict("correct: folded, mul_sub, both or none", None)
wrong_rows = fk.predict("rows for which the other is wrong", None)

# %% jupyter={"outputs_hidden": true}
x, y = hard_rows(1000).cpu(), fk.empty(8, 1000, device="virtual")
want, errors = x.double().softmax(1), {}
for step in (folded, mul_sub):
    compile_step(step, x, y, device="virtual")(x, y)
    errors[step.__name__] = ((y - want).abs() / want.clamp(min=1e-30)).nan_to_num().amax(1)
    print(f"{step.__name__:>8}, largest relative error in each row:", end=" ")
    print(*(f"{e:.0e}" for e in errors[step.__name__].tolist()))
good = [name for name in errors if (errors[name] < 1e-5).all()]
is_right.against(", ".join(good))
wrong_rows.against((errors["mul_sub"] >= 1e-5).sum().item())

# %% [markdown]
# Both subtract two numbers near 1,443. `mul_sub` first rounds each x · log₂ e separately, and the
# error stays in the exponent: 4 · 10⁻⁵ here, and more for larger numbers. The FMA rounds only the
# difference. The rounding error of m · log₂ e remains, but *all elements share it*, so dividing by
# the sum cancels it.
#
# A GPU may hide the mistake: the assembler that turns PTX into machine code may fuse the product
# and the difference, which makes `mul_sub` correct as well. The option `--fmad=false` forbids that.
# If you rely on fusion, request it explicitly.
#
# Now count the opcodes of all four steps:

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(8, 1024), fk.empty(8, 1024)
for step in (vectors, reciprocal, mul_sub, folded):
    run = compile_step(step, x, y)
    print(f"{step.__name__:>10}: {cost(run, x, y)}, machine {machine_per_element(run, 32):.1f}")
    print(" " * 11, opcodes_per_element(run, x, y))

# %% [markdown]
# `sub`, `mul` and `ex2` have become `fma` and `ex2`; the remaining `mul` belongs to the last line.
# Other instructions have disappeared as well: `mad`, `cvt` and `shl`, which compute addresses.
# Without the FMA, the compiler computed each vector's address from scratch after its predicate.
# Only counting reveals such changes.
#
# In exercises 3 and 6, each warp or block handles one row, so a shorter form suffices; the next
# notebook uses it as well. `cute.zipped_divide` divides one row into vectors, and
# `cute.autovec_copy` moves one vector:
#
# ```python
# gX = cute.zipped_divide(mX[row, None], (vec,))  # ((Vec),(Rest)): one row, vec = 16 bytes
# rX = cute.make_rmem_tensor((vec, loads), mX.element_type)  # (Vec,loads)
# for k in cutlass.range_constexpr(loads):
#     if lane + 32 * k < cute.size(gX, mode=[1]):  # vectors in the row
#         cute.autovec_copy(gX[None, lane + 32 * k], rX[None, k])
# ```

# %% [markdown] exercise="week2/temperature" part="task"
# ### Exercise 3: divide by a temperature for free
#
# Compute `y = softmax(x / t)` of each row for a number t > 0, the *temperature*: a small t sharpens
# the weights, and a large t evens them out. Rows have up to 1,024 elements; N is a multiple of 8.
# Support float32 and bfloat16; compute in float32. Some elements are −∞; a row of −∞ gives NaN, as
# in torch. Keep the row in registers; read and write it once. Each element may take a maximum,
# **one FMA, one `ex2`**, an addition and a multiplication, but no division, so t adds no cost. You
# may use this notebook's `exp2` and `fma`. Signature: `temperature(x, t, y)`.
#
# **Required**: one warp per row, 16 bytes per load, 16 bytes per store, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# Write e^((x − m) / t) as a power of two. Which factors of the exponent are the same for the whole
# row?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# One factor combines t and log₂ e, and the subtracted number is the other constant; compute each of
# them once. The maximum uses x as loaded, because dividing by t > 0 does not change which element
# is largest.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The line with the exponentials is `exp2(fma(x, …, …))`. The line before it computes both
# constants, with the only division by t. Compute the reciprocal of the sum once per row.
#
# </details>

# %% exercise="week2/temperature" part="skeleton"
LOG2_E = math.log2(math.e)


@cute.kernel
def temperature_kernel(mX: cute.Tensor, t: Float32, mY: cute.Tensor):
    # FILL ME IN (roughly 25 lines)
    pass


@cute.jit
def temperature(mX: cute.Tensor, t: Float32, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/temperature" part="grade"
fk.exercise("week2/temperature").grade(temperature)

# %% [markdown] exercise="week2/temperature" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# LOG2_E = math.log2(math.e)
#
#
# @cute.kernel
# def temperature_kernel(mX: cute.Tensor, t: Float32, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row, lane = bidx * 4 + tidx // 32, tidx % 32
#     vec = cutlass.const_expr(128 // mX.element_type.width)
#     loads = cutlass.const_expr(1024 // (32 * vec))
#     if row < mX.shape[0]:
#         gX = cute.zipped_divide(mX[row, None], (vec,))  # ((Vec),(Rest))
#         gY = cute.zipped_divide(mY[row, None], (vec,))  # ((Vec),(Rest))
#         rX = cute.make_rmem_tensor((vec, loads), mX.element_type)  # (Vec,loads)
#         rX.fill(-mX.element_type.inf)
#         for k in cutlass.range_constexpr(loads):
#             if lane + 32 * k < cute.size(gX, mode=[1]):
#                 rX[None, k].store(gX[(None, lane + 32 * k)].load())
#         x = rX.load().to(Float32)
#         m = x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)
#         m = cute.arch.warp_reduction(m, cute.arch.fmax)
#         factor = LOG2_E / t
#         power = cute.math.fma(x, cute.full_like(x, factor), cute.full_like(x, -m * factor))
#         e = cute.math.exp2(power, fastmath=True)
#         s = e.reduce(cute.ReductionOp.ADD, 0.0, 0)
#         s = cute.arch.warp_reduction(s, operator.add)
#         rX.store((e * (1.0 / s)).to(mY.element_type))
#         for k in cutlass.range_constexpr(loads):
#             if lane + 32 * k < cute.size(gY, mode=[1]):
#                 gY[(None, lane + 32 * k)].store(rX[None, k].load())
#
#
# @cute.jit
# def temperature(mX: cute.Tensor, t: Float32, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 4)
#     temperature_kernel(mX, t, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# An FMA scales the exponent by a constant for free: attention's softmax, with its factor 1/√d,
# takes exactly as many instructions per element as a softmax without it. All elements of a row
# share the rounding error of m · log₂ e / t, so dividing by the sum cancels it. With a separate
# product, each x · log₂ e / t would be rounded before the subtraction, and rows around 1,000 would
# reveal it.
#
# </details>

# %% [markdown] exercise="week2/log2_softmax" part="task"
# ### Exercise 4: write weights in bits
#
# Compute `y[m, n] = log₂(softmax(x)[m, n])`, which is −3 for a weight of 1/8, for rows of any
# length up to 1,024. Support float32 and float16; compute in float32. A weight of 2⁻¹⁰⁰⁰ does not
# fit into a `float32`, but −1000 does, so compute no weight along the way. A lane can hold its 32
# elements in registers; read and write each element once. Where x is −∞, so is y, but a row of −∞
# gives NaN, as in torch. Each element may take a maximum, one FMA, one `ex2` and two additions.
# Signature: `log2_softmax(x, y)`.
#
# **Required**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# log₂(a / b) = log₂ a − log₂ b. What is log₂ of an exponential that is written as a power of two?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The exponent t = (x − m) · log₂ e, one FMA, is already log₂ of the numerator: keep it. The sum
# adds 2^t over the row.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The last line is `t - …`. It subtracts one logarithm per row, `cute.math.log2(s, fastmath=True)`,
# computed after the shuffles.
#
# </details>

# %% exercise="week2/log2_softmax" part="skeleton"
LOG2_E = math.log2(math.e)


@cute.kernel
def log2_softmax_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 20 lines)
    pass


@cute.jit
def log2_softmax(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/log2_softmax" part="grade"
fk.exercise("week2/log2_softmax").grade(log2_softmax)

# %% [markdown] exercise="week2/log2_softmax" part="solution"
# <details><summary>Solution of exercise 4</summary>
#
# ```python
# LOG2_E = math.log2(math.e)
#
#
# @cute.kernel
# def log2_softmax_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row, lane = bidx * 4 + tidx // 32, tidx % 32
#     if row < mX.shape[0]:
#         rX = cute.make_rmem_tensor(32, Float32)  # (32):(1)
#         rX.fill(-Float32.inf)
#         for k in cutlass.range_constexpr(32):
#             if lane + 32 * k < mX.shape[1]:
#                 rX[k] = mX[row, lane + 32 * k].to(Float32)
#         x = rX.load()
#         m = x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)
#         m = cute.arch.warp_reduction(m, cute.arch.fmax)
#         t = cute.math.fma(x, cute.full_like(x, LOG2_E), cute.full_like(x, -m * LOG2_E))
#         e = cute.math.exp2(t, fastmath=True)
#         s = e.reduce(cute.ReductionOp.ADD, 0.0, 0)
#         s = cute.arch.warp_reduction(s, operator.add)
#         rX.store(t - cute.math.log2(s, fastmath=True))
#         for k in cutlass.range_constexpr(32):
#             if lane + 32 * k < mX.shape[1]:
#                 mY[row, lane + 32 * k] = rX[k].to(mY.element_type)
#
#
# @cute.jit
# def log2_softmax(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 4)
#     log2_softmax_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# The kernel takes five operations per element, as many as the softmax itself. The rounding error of
# m · log₂ e is the same in every t *and* in log₂ s, so it cancels here as well. Natural logarithms
# would need one more multiplication per element, by ln 2; a loss reported in bits does without it.
#
# </details>

# %% [markdown]
# ## 5. How long may a row be?
#
# **The bad number: registers.** Each element of a lane occupies one register, and the rest of the
# kernel needs some more. The compiler reports how many registers a thread has, at most 255, and how
# many bytes it had to **spill**: values without a register are stored in local memory and loaded
# again later. An SM has 65,536 registers for all its threads. So the more registers each thread
# uses, the fewer blocks fit, and the fewer warps can load while others compute:

# %%
room, registers = {}, {}
for n in (512, 1024, 2048, 4096, 8192):
    x = fk.randn(1, n)
    run = compile_step(folded, x, x)
    registers[n] = run.registers
    room[f"{n:,}"] = blocks, *_ = block_on_sm(run, 128, 4 * n)  # four rows per block
    print(f"rows of {n:5,}: {n // 32:3} elements per lane, {run.registers:3} registers", end=", ")
    print(f"{run.spill_bytes:,} bytes spilled, {4 * blocks} warps")
sm_picture("Longer rows leave room for fewer warps", ("registers", 65536, room))
fill_multiprocessor(threads=128, registers=registers[4096])

# %% [markdown]
# Rows of 8,192 elements spill, and rows of 4,096 already leave room for only 12 warps. In the
# second picture, change the registers or the threads per block, and see which resource runs out
# first.
#
# One warp per row suits rows of up to a few thousand elements. A longer row needs more threads,
# with fewer elements per thread. How many threads?

# %% [markdown] exercise="week2/threads_for" part="task"
# ### Exercise 5: choose how many threads share a row
#
# A block of 1,024 threads has 64 registers per thread. Suppose that everything except the row needs
# 28 registers, so at most 36 elements fit. Write `threads_for(columns, dtype)`, which returns the
# fewest threads, out of 32, 64, 128, 256, 512 and 1,024, for which no thread holds more than 36
# elements of a row. A row consists of whole vectors of 16 bytes, and so does each thread's part:
# the first thread has the vectors 0, `threads`, 2 · `threads`, … If 1,024 threads do not suffice,
# return 0.
#
# <details><summary>Hint 1</summary>
#
# Given `dtype.itemsize`, how many elements does a vector have? How many vectors does a row have?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Vectors are dealt out like cards. If they do not divide evenly, how many does the first thread
# receive?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The comparison uses the vectors of one thread, *rounded up*, times the elements per vector.
#
# </details>


# %% exercise="week2/threads_for" part="skeleton"
def threads_for(columns, dtype):
    # FILL ME IN (roughly 6 lines)
    return 0


# %% exercise="week2/threads_for" part="grade"
fk.exercise("week2/threads_for").grade(threads_for)

# %% [markdown] exercise="week2/threads_for" part="solution"
# <details><summary>Solution of exercise 5</summary>
#
# ```python
# def threads_for(columns, dtype):
#     vec = 16 // dtype.itemsize
#     for threads in (32, 64, 128, 256, 512, 1024):
#         vectors = -(-columns // (vec * threads))
#         if vectors * vec <= 36:
#             return threads
#     return 0
# ```
#
# Registers per thread and threads per block share one limit: 1,024 threads with 36 elements each
# hold a row of 36,864 elements. With the other 28 registers per thread, they use all 65,536
# registers of an SM. Production kernels have such a table, with bounds measured for each type.
#
# </details>

# %% [markdown]
# ## 6. One block per row
#
# If several warps share a row, they exchange their results through shared memory. For the maximum,
# each warp stores one word. After a barrier, every warp combines all words, because every thread
# needs the result. The sum takes the same path. Between the two exchanges, each thread computes its
# exponentials.


# %%
@cute.jit
def over_warps(value, op, sPart, warps: cutlass.Constexpr):
    """All-reduce of a block: value, combined over all its threads."""
    tidx, _, _ = cute.arch.thread_idx()
    value = cute.arch.warp_reduction(value, op)
    if tidx % 32 == 0:
        sPart[tidx // 32] = value
    cute.arch.sync_threads()
    return cute.arch.warp_reduction(sPart[tidx % warps], op, threads_in_group=warps)


@cute.jit
def two_exchanges(x, warps):
    smem = cutlass.memory.SmemAllocator()
    sMax = smem.allocate_tensor(Float32, cute.make_layout(warps), 16)  # (warps):(1)
    sSum = smem.allocate_tensor(Float32, cute.make_layout(warps), 16)  # (warps):(1)
    m = over_warps(largest(x), cute.arch.fmax, sMax, warps)
    e = exp2(fma(x, LOG2_E, -m * LOG2_E))
    s = over_warps(total(e), operator.add, sSum, warps)
    return e * (1.0 / s)


four_warps = partial(compile_step, warps=4)
run_two = checked(two_exchanges, 8, 504, 1024, compile=four_warps)

# %% [markdown]
# **The bad number: two barriers.** At each barrier all warps of a row wait for the slowest, and at
# the first barrier they wait *before* they can begin the exponentials. No count in this notebook
# shows that wait: the bytes are already minimal, and the remedy even adds instructions. Only the
# times in section 8 can show whether the barrier matters.
#
# With the pair (m, s) of `01_online`, a thread need not know the row's maximum to begin. So:
#
# 1. Each thread loads all its vectors, then goes through them in order. It keeps the maximum so far
#    and the sum relative to it, which it rescales once per *vector*.
# 2. It keeps the exponentials in registers and, for each vector, the maximum that its exponentials
#    are relative to.
# 3. Shuffles merge the lanes; shared memory merges the warps, with **one** barrier.
# 4. It multiplies each vector by $e^{m_k - m} / s$, where $m_k$ is the vector's own maximum, and
#    writes it.
#
# In total, that is one read, one write and one barrier per row, and one exponential per element.
# This kernel is the goal of the week, and you write it yourself:

# %% [markdown] exercise="week2/single_pass" part="task"
# ### Exercise 6: write a single-pass online softmax
#
# Compute the softmax of rows of up to 4,096 elements; N is a multiple of 8. Support float32 and
# bfloat16; compute in float32. Some elements are −∞, and a row of −∞ gives NaN.
#
# - Read the row once, keep it in registers, and write it once.
# - Each thread computes one pair from its vectors: a maximum and the sum relative to it.
# - Shuffles merge the pairs (m, s) of a warp; shared memory merges those of the four warps.
# - Per element, compute one exponential and no division. You may compute more per vector, lane or
#   row.
#
# You may use this notebook's `exp2` and `fma`. Signature: `single_pass_softmax(x, y)`.
#
# **Required**: one block per row, 128 threads per block, 4 warps per block that share the loads, at
# most 1 barrier, at most 20 shuffles per warp, at most 256 bytes of shared memory per block, 16
# bytes per load, 16 bytes per store.
#
# <details><summary>Hint 1</summary>
#
# Begin with a kernel that only loads vectors, with −∞ in place of missing ones, and stores them
# again. Then add the loop over vectors, the merge of lanes, and the merge of warps. After each
# step, run `fk.check` on one row with the part that is finished.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Keep three things: the exponentials of all vectors; for each vector, the maximum *so far* that its
# exponentials are relative to; and (m, s). At the end multiply each vector by one factor, 2^(its
# maximum − the row's maximum) / s.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A thread or a whole warp may have no elements, and a vector may hold only −∞; −∞ − (−∞) is NaN. So
# the exponentials, and every line that rescales, subtract the maximum, or 0 where that is −∞. Only
# the last factor uses the row's maximum unchanged.
#
# </details>

# %% exercise="week2/single_pass" part="skeleton"
LOG2_E = math.log2(math.e)


@cute.kernel
def single_pass_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 45 lines)
    pass


@cute.jit
def single_pass_softmax(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 1 line)
    pass


# %% exercise="week2/single_pass" part="grade"
fk.exercise("week2/single_pass").grade(single_pass_softmax)

# %% [markdown] exercise="week2/single_pass" part="solution"
# <details><summary>Solution of exercise 6</summary>
#
# ```python
# LOG2_E = math.log2(math.e)
#
#
# @cute.kernel
# def single_pass_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     row, _, _ = cute.arch.block_idx()
#     smem = cutlass.memory.SmemAllocator()
#     sMax = smem.allocate_tensor(Float32, cute.make_layout(4), 16)  # (4):(1)
#     sSum = smem.allocate_tensor(Float32, cute.make_layout(4), 16)  # (4):(1)
#     vec = cutlass.const_expr(128 // mX.element_type.width)
#     loads = cutlass.const_expr(4096 // (128 * vec))
#     gX = cute.zipped_divide(mX[row, None], (vec,))  # ((Vec),(Rest))
#     gY = cute.zipped_divide(mY[row, None], (vec,))  # ((Vec),(Rest))
#     rX = cute.make_rmem_tensor((vec, loads), mX.element_type)  # (Vec,loads)
#     rX.fill(-mX.element_type.inf)
#     for k in cutlass.range_constexpr(loads):
#         if tidx + 128 * k < cute.size(gX, mode=[1]):
#             rX[None, k].store(gX[(None, tidx + 128 * k)].load())
#
#     # Online, as the vectors arrive. Maxima are multiplied by log2 e.
#     exp2 = partial(cute.math.exp2, fastmath=True)
#     rE = cute.make_rmem_tensor((vec, loads), Float32)  # (Vec,loads)
#     rMax = cute.make_rmem_tensor(loads, Float32)  # (loads)
#     m, s = -Float32.inf, Float32(0.0)
#     for k in cutlass.range_constexpr(loads):
#         x = rX[None, k].load().to(Float32)
#         largest = x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)
#         m_new = cute.arch.fmax(m, largest * LOG2_E)
#         shift = Float32(0.0) if m_new == -Float32.inf else m_new
#         e = exp2(cute.math.fma(x, cute.full_like(x, LOG2_E), cute.full_like(x, -shift)))
#         s = s * exp2(m - shift) + e.reduce(cute.ReductionOp.ADD, 0.0, 0)
#         m = m_new
#         rE[None, k].store(e)
#         rMax[k] = m
#
#     # Lanes, then warps.
#     m_warp = cute.arch.warp_reduction(m, cute.arch.fmax)
#     shift = Float32(0.0) if m_warp == -Float32.inf else m_warp
#     s = cute.arch.warp_reduction(s * exp2(m - shift), operator.add)
#     if tidx % 32 == 0:
#         sMax[tidx // 32], sSum[tidx // 32] = m_warp, s
#     cute.arch.sync_threads()
#     m, s = sMax[tidx % 4], sSum[tidx % 4]
#     m_row = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=4)
#     shift = Float32(0.0) if m_row == -Float32.inf else m_row
#     s = s * exp2(m - shift)
#     s = cute.arch.warp_reduction(s, operator.add, threads_in_group=4)
#
#     scale = 1.0 / s
#     for k in cutlass.range_constexpr(loads):
#         y = rE[None, k].load() * (exp2(rMax[k] - m_row) * scale)
#         rX[None, k].store(y.to(mY.element_type))
#         if tidx + 128 * k < cute.size(gY, mode=[1]):
#             gY[(None, tidx + 128 * k)].store(rX[None, k].load())
#
#
# @cute.jit
# def single_pass_softmax(mX: cute.Tensor, mY: cute.Tensor):
#     single_pass_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(128, 1, 1))
# ```
#
# The kernel computes the exponentials as vectors arrive, relative to the maximum known at that
# point, and later corrects them by one factor per vector. The inner loop of flash attention does
# the same, except that its "vectors" are tiles of scores and the corrected value is an output.
# Alternatively, each thread can first find the maximum of its whole part, so that pairs are merged
# only across lanes and warps; traffic and barriers stay the same.
#
# </details>

# %% [markdown]
# ## 7. Compare with another version
#
# The helpers contain another version, `single_pass_step`, which works in the kernel of section 3
# with any number of warps. It stores each maximum multiplied by log₂ e, ready to be subtracted in
# the exponent of `exp2`.

# %%
run_single = checked(single_pass_step, 8, 504, 1024, compile=four_warps)
x, y = fk.randn(2, 1000), fk.empty(2, 1000)
print(fk.sanitize(four_warps(single_pass_step, x, y), x, y, schedule="adversarial", seeds=1))

x, y = fk.randn(4, 4096), fk.empty(4, 4096)
for step in (two_exchanges, single_pass_step):
    run = four_warps(step, x, y)
    barriers = executed(fk.profile(run, x, y), "bar.sync") // 16  # 4 blocks of 4 warps
    print(f"{step.__name__:>16}: {cost(run, x, y)}, barriers: {barriers}", end=", ")
    print(f"registers: {run.registers}, spilled: {run.spill_bytes}")


# The steps that were timed, each for the rows that it has room for.
def timed(step, warps=1):
    few, most = 4 * 32 * warps, (128 if warps == 1 else 64) * 32 * warps  # elements per row
    return Step(partial(compile_step, step, warps=warps), lambda x: few <= x.shape[1] <= most)


steps = {
    "online": online,
    "registers": Step(partial(compile_registers, registers), lambda x: x.shape[1] <= 128 * 32),
    "vectors": timed(vectors),
    "reciprocal": timed(reciprocal),
    "mul_sub": timed(mul_sub),
    "exp2": timed(folded),
    "two_exchanges, 8 warps": timed(two_exchanges, 8),
    **{f"single_pass, {w} warps": timed(single_pass_step, w) for w in (4, 8, 16, 32)},
}

# %% [markdown]
# `single_pass_step` has one barrier fewer and a few more instructions.
#
# ## 8. Times on an H200
#
# **Predict**, for 32,768 rows of 4,096 `bfloat16`: which step after `vectors` gains most over its
# predecessor? How many times as fast as torch is the fastest step? And for 8,192 rows of 16,384
# `bfloat16` with 8 warps per row, how long does `two_exchanges` take if `single_pass` takes 0.147
# ms?

# %%
gains_most = fk.predict("reciprocal, mul_sub or exp2", None)
than_torch = fk.predict("times as fast as torch", None)
of_two = fk.predict("milliseconds of two_exchanges", None)

# %% jupyter={"outputs_hidden": true}
shape = (32768, 4096)
times = recorded_part("02_the_row_in_registers", [(131072, 1024), shape, (8192, 16384)])
ms = {r.step: r.ms for r in times.rows if (r.shape, r.dtype) == (shape, "bfloat16")}
chain = ("vectors", "reciprocal", "mul_sub", "exp2")
gains = {b: ms[a] / ms[b] for a, b in pairwise(chain)}
print(", ".join(f"{name}: {gain:.2f} times as fast" for name, gain in gains.items()))
gains_most.against(max(gains, key=gains.get))
than_torch.against(round(ms["torch"] / min(ms.values()), 1))
of_two.against(times.row("two_exchanges, 8 warps", "bfloat16", (8192, 16384)).ms)
times

# %% [markdown]
# - **Dropping one read saves a third of the bytes.** For 131,072 rows of 1,024 `float32`, `online`
#   takes 0.384 ms and `registers` 0.285 ms. `vectors` and the later steps with one warp per row
#   take 0.26 ms, which is 97 to 99 % of a copy's speed.
# - **In `bfloat16`, `registers` gains nothing for these rows**: it takes 0.279 ms, and `online`
#   0.259 ms. It moves half as many bytes as in `float32` but executes as many instructions, which
#   exceeds the budget. For rows of 4,096 elements it spills and takes 1.35 ms.
# - **The division** costs at most 2 % of the time for rows of 1,024 elements, but 16 % (`float32`)
#   and 44 % (`bfloat16`) for rows of 4,096, where an SM has room for few warps.
# - **The FMA gains nothing in any column.** `reciprocal` already reaches 97 to 99 % of a copy's
#   speed, so fewer instructions save no time. Use the FMA for its better rounding.
# - **The second barrier costs no time in any column.** With rows in registers, `two_exchanges` is
#   as fast as `single_pass`, and faster in one column. It also needs fewer instructions and
#   registers. But you will need (m, s) for rows too long to keep.
#
# How many elements should a thread have?

# %% jupyter={"outputs_hidden": true}
shapes = [(131072, 1024), (32768, 4096), (8192, 16384), (2048, 65536)]
all_times = recorded_part("02_the_row_in_registers", shapes)
per_thread_picture(all_times)
x = fk.randn(1, 65536)
run = compile_step(single_pass_step, x, x, 32)
print(f"1,024 threads: {run.registers} registers each, {run.spill_bytes} bytes spilled each")
for dtype in ("float32", "bfloat16"):
    row = all_times.row("single_pass, 32 warps", dtype, (2048, 65536))
    print(f"65,536 {dtype} per row: {row.ms:.3f} ms, {all_times.percent(row):.0f} % of a copy")

# %% [markdown]
# With 16 to 32 elements per thread, every kernel reaches at least 94 % of a copy's speed;
# `threads_for` chooses such numbers. With 4 elements per thread, kernels reach 50 to 94 % (in
# `bfloat16`, half of their threads have no vector), and with 64, some kernels fall behind. In a row
# of 65,536 elements, each of 1,024 threads has 64 elements but only 64 registers in total.
#
# Here are your predictions in this notebook, beside the results:

# %%
fk.predictions()

# %% [markdown]
# ## Summary
#
# | step | the bad number before it | remedy | 32,768 × 4,096 float32, bfloat16 |
# |---|---|---|---|
# | `online` | three reads | reads the row twice | 0.503, 0.403 ms |
# | `registers` | two reads | keeps the row in registers; spills here | 0.665, 1.353 ms |
# | `vectors` | instructions per element | 16 bytes per lane | 0.301, 0.188 ms |
# | `reciprocal` | a division per element | a division per row | 0.260, 0.130 ms |
# | `exp2` (`folded`) | three instructions per exponential | FMA and `ex2` | 0.260, 0.130 ms |
# | `single_pass`, 4 warps | two barriers | one block per row, online | 0.259, 0.131 ms |
# | torch | | | 0.416, 0.418 ms |
#
# (Recorded on an H200 on 22 November 2026; a copy of these bytes would take 0.254 and 0.127 ms.)
#
# | mistake | when the values are wrong | how you find it |
# |---|---|---|
# | 0 in the tail | for some lengths and values | hard rows, lengths that are not whole tiles |
# | an index known only at run time | never | `.local` in the PTX |
# | product and difference not fused | where x is large | hard rows, on the virtual GPU |
# | too many elements per thread | never | `run.registers`, `run.spill_bytes` |
#
# **The bad number: 55 %** of a copy's speed for rows of 65,536 `float32`. An SM's registers hold
# 65,536 numbers, but they must hold more than the row.
#
# **In practice** production kernels choose threads and elements per type and row length from a
# table, much like `threads_for`. They may compute `1 / s` as an approximate reciprocal,
# `cute.arch.rcp_approx`. And attention folds its scale into the exponent, as your `temperature`
# does.
#
# **Further reading:** [Online normalizer calculation for softmax](https://arxiv.org/abs/1805.02867)
# (M. Milakov and N. Gimelshein, 2018) · [FlashAttention](https://arxiv.org/abs/2205.14135) (T. Dao
# and others, 2022), which applies the same correction to its output · [floating point in the CUDA
# programming guide](https://docs.nvidia.com/cuda/floating-point/index.html), on the FMA.
#
# **Next:** rows too long for the registers
# ([`03_rows_that_do_not_fit`](03_rows_that_do_not_fit.ipynb)).
