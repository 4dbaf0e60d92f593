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
# **You will build** softmaxes that read a row once and write it once: by single elements, by
# vectors, with fewer instructions, and in the end a single-pass online softmax of your own.
# **You will learn** what a register cannot do, what has to stand in a tail, how to take one
# instruction out of an exponential without losing digits, and how long a row may be.
# **You need** `01_online`, and tiled copies (`03_bytes_in_flight` of week 1).
# About 40 minutes, and 70 more for the exercises.
#
# **The bad number: two readings and a writing.** `online` has found maximum and sum in one reading.
# Then it reads the row again, for by now it has forgotten it.

# %%
import math
import operator
from functools import partial
from itertools import pairwise

import cutlass
import cutlass.cute as cute
import matplotlib.pyplot as plt
import torch
from cutlass import Float32
from cutlass.cute.nvgpu import CopyUniversalOp

import forgekit as fk
from forgekit.benching.recorded import recorded
from forgekit.checking.compare import compare

# %% [markdown]
# ## 1. Read twice
#
# Here it is once more, with four rows a block. `cost` checks a softmax, profiles it and prints what
# this notebook is about (`compare` is `fk.check` without a word); `hard_rows` are those that
# `online` was tested with.


# %%
@cute.jit
def exp(x):
    return cute.math.exp(x, fastmath=True)


@cute.jit
def merged(a, b):
    """(maximum, sum relative to it) of two parts of a row together."""
    m = cute.arch.fmax(a[0], b[0])
    shift = Float32(0.0) if m == -Float32.inf else m
    return m, a[1] * exp(a[0] - shift) + b[1] * exp(b[0] - shift)


@cute.kernel
def online_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row, lane = bidx * 4 + tidx // 32, tidx % 32
    if row < mX.shape[0]:
        m, s = -Float32.inf, Float32(0.0)
        for n in range(lane, mX.shape[1], 32):
            m, s = merged((m, s), (mX[row, n].to(Float32), Float32(1.0)))
        for k in cutlass.range_constexpr(5):
            other = tuple(cute.arch.shuffle_sync_bfly(v, offset=1 << k) for v in (m, s))
            m, s = merged((m, s), other)
        for n in range(lane, mX.shape[1], 32):
            mY[row, n] = (exp(mX[row, n].to(Float32) - m) / s).to(mY.element_type)


@cute.jit
def online(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[0], 4)
    online_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


def hard_rows(n, dtype=torch.float32):
    """Seven rows of n elements in which a careless softmax shows."""
    plain = fk.randn(n, device="virtual") * 3
    masked = plain.clone()
    masked[: n // 2] = -torch.inf
    rows = [plain, plain.sort(descending=True).values, plain.sort().values, plain + 1000]
    rows += [plain - 1000, masked, torch.full((n,), -torch.inf)]
    return torch.stack(rows).to(fk.device, dtype)


costs = {}


def cost(name, run, x):
    y = fk.empty(*x.shape, dtype=x.dtype)
    run(x, y)
    assert compare(y, x.double().softmax(1)).ok
    p = fk.profile(run, x, y)
    reads, writes = p.global_load_bytes_moved / x.nbytes, p.global_store_bytes_moved / x.nbytes
    costs[name] = (reads, writes, p.warp_instructions * 32 / x.numel())
    print(f"{name:>22}: {reads:.2f} reads, {writes:.2f} writes", end=", ")
    print(f"{costs[name][2]:4.1f} instructions an element")


x, y = fk.randn(8, 1024), fk.empty(8, 1024)
cost("online", fk.compile(online, x, y), x)

# %% [markdown]
# ## 2. A lane keeps its part
#
# A row of 1,024 has 32 elements for each lane. A thread can have up to 255 **registers** of 4
# bytes, so it can simply keep them. And then maximum and sum need no trick any more: the row may be
# gone through as often as one likes, where it costs no bytes.
#
# As a model, with 4 lanes and rows of up to 12. What is not there counts as −∞: it changes no
# maximum, and its exponential is 0.

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
# In the kernel, `cute.make_rmem_tensor(per_lane, Float32)` is the lane's part. A register has no
# address: which one an instruction means stands in the instruction. So each index has to be known
# when the kernel is compiled, and with it the number of elements a lane has, `per_lane`. Loops over
# them are `range_constexpr`, written out by the compiler.


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
        m = x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)
        m = cute.arch.warp_reduction(m, cute.arch.fmax)
        e = exp(x - m)
        s = cute.arch.warp_reduction(e.reduce(cute.ReductionOp.ADD, 0.0, 0), operator.add)
        rX.store(e / s)
        for k in cutlass.range_constexpr(per_lane):
            if lane + 32 * k < mX.shape[1]:
                mY[row, lane + 32 * k] = rX[k].to(mY.element_type)


@cute.jit
def registers(mX: cute.Tensor, mY: cute.Tensor, per_lane: cutlass.Constexpr):
    blocks = cute.ceil_div(mX.shape[0], 4)
    registers_kernel(mX, mY, per_lane).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


for dtype in (torch.float32, torch.float16, torch.bfloat16):
    x, y = hard_rows(256, dtype), fk.empty(7, 256, dtype=dtype)
    run_registers = fk.compile(registers, x, y, 8)  # for rows of up to 256
    for n in (1, 31, 33, 200, 256):
        x, y = hard_rows(n, dtype), fk.empty(7, n, dtype=dtype)
        run_registers(x, y)
        assert compare(y, x.double().softmax(1)).ok

# %% [markdown]
# One compiled kernel serves all rows of up to 32 · `per_lane` elements; a longer one would be cut
# off. **Predict:** how often does it read the matrix?

# %%
reads_once = fk.predict("times the matrix is read", None)

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(8, 1024), fk.empty(8, 1024)
cost("registers", fk.compile(registers, x, y, 32), x)
reads_once.against(round(costs["registers"][0], 2))

figure, axes = plt.subplots(figsize=(6.4, 1.6))
for k, (reads, writes, _) in enumerate(costs.values()):
    axes.barh(k, reads, color="tab:blue", label="read" if k == 0 else None)
    axes.barh(k, writes, left=reads, color="tab:orange", label="written" if k == 0 else None)
axes.axvline(2, color="gray", linestyle=":")
axes.set_yticks(range(len(costs)), list(costs))
axes.set(xlabel="times the matrix (dotted: the least)", title="Passes over memory")
axes.invert_yaxis()
axes.legend(loc="lower right", fontsize=8)
plt.show()

# %% [markdown]
# One reading and one writing: fewer there cannot be. From here on all kernels move these bytes.
#
# What does an index cost that the compiler does *not* know? Here the loop that stores is an
# ordinary `range`. The values are right.


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
assert compare(y, x).ok
for name, run in (("by_index", run_by_index), ("registers", run_registers)):
    print(f"{name:>9}: {run.ptx.count('st.local')} st.local, {run.ptx.count('ld.local')} ld.local")

# %% [markdown]
# `st.local` and `ld.local`: what is indexed has to have addresses, so the compiler moved it to
# **local memory**, which is a thread's own and lies in the GPU's memory, behind the caches. A row
# in local memory is not in registers, and no check of the values will say so. Look for `.local` in
# the PTX.
#
# Rows of at most 64 elements leave most of a warp without work, as they did in week 1. Write the
# kernel for them:

# %% [markdown] exercise="week2/short_softmax" part="task"
# ### Exercise 1: share a warp among four rows
#
# The softmax of rows of at most 64 elements, of which there may be any number, in float32, float16
# and bfloat16, computed in float32. A lane has at most eight elements, and these stay in registers:
# each element is read once and written once. Some elements are −∞; where all of a row are, it is
# NaN, as torch has it. Called as `short_softmax(x, y)`.
#
# **Asked**: eight lanes per row, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# Which row does a thread have, and which of its eight places? That was `short_rows` of week 1.
# Place 0 has the elements 0, 8, 16, …
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A tensor of eight registers is filled with −∞ before it is loaded. Loads and stores have a
# predicate for the row and the column; what stands between them has none.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Maximum and sum are combined among eight lanes alone: `cute.arch.warp_reduction` takes
# `threads_in_group=8`, in both lines. Of a warp's four rows some may not exist: what they compute
# does no harm as long as the line that stores asks for the row.
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
# Three shuffles a reduction in place of five, and they serve four rows: six shuffles for four
# rows, where a warp a row has forty. The rows that do not exist compute −∞ − (−∞) = NaN in their
# registers; nobody stores it. One division a row, and one multiplication an element.
#
# </details>

# %% [markdown]
# ## 3. Sixteen bytes a lane
#
# **The bad number: instructions an element.** Each element has a load, a store, two predicates and
# two jumps of its own. The cure is that of `03_bytes_in_flight`: a TV layout with a vector a lane,
# a tiled copy, one predicate a vector. New is only that `loads` tiles lie side by side in *one*
# tile as wide as the row, so that all of a lane's vectors are loaded by one `cute.copy`, and stay.
#
# What is done with them is a function of its own, `softmax(x, warps)`: x holds the thread's part of
# a row, and `warps` is how many warps share one, 1 for now. All steps from here on are such
# functions.


# %%
@cute.kernel
def vectors_kernel(
    gX: cute.Tensor,
    gY: cute.Tensor,
    cX: cute.Tensor,
    shape: cute.Shape,
    tiled_copy: cute.TiledCopy,
    softmax: cutlass.Constexpr,
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
    y = softmax(tXrX.load().to(Float32), warps)
    tXrX.store(y.to(gY.element_type))
    cute.copy(tiled_copy, tXrX, tXgY, pred=tXpX)


def in_tiles(softmax, warps):
    """A host function for rows of up to `loads` vectors a thread, `warps` warps a row."""
    rows, threads = 4 if warps == 1 else 1, 32 * warps

    @cute.jit
    def host(mX: cute.Tensor, mY: cute.Tensor, loads: cutlass.Constexpr):
        vec = cutlass.const_expr(128 // mX.element_type.width)
        atom = cute.make_copy_atom(CopyUniversalOp(), mX.element_type, num_bits_per_copy=128)
        thr_layout = cute.make_layout((rows, threads), stride=(threads, 1))
        val_layout = cute.make_layout((1, vec), stride=(vec, 1))
        tiled_copy = cute.make_tiled_copy_tv(atom, thr_layout, val_layout)
        tiler_mn = (rows, threads * vec * loads)
        gX = cute.zipped_divide(mX, tiler_mn)  # ((TileM,TileN),(RestM,RestN))
        gY = cute.zipped_divide(mY, tiler_mn)  # as gX
        cX = cute.zipped_divide(cute.make_identity_tensor(mX.shape), tiler_mn)  # as gX
        vectors_kernel(gX, gY, cX, mX.shape, tiled_copy, softmax, warps).launch(
            grid=(gX.shape[1][0], 1, 1), block=(rows * threads, 1, 1)
        )

    return host


def compiled(softmax, x, y, warps=1, **options):
    """Compile for rows of x's length, which has to be whole vectors."""
    whole = {1: 16 // x.element_size()}
    loads = -(-x[0].nbytes // (16 * 32 * warps))
    specs = (fk.spec(x, divisible=whole), fk.spec(y, divisible=whole))
    return fk.compile(in_tiles(softmax, warps), *specs, loads, **options)


# %% [markdown]
# And the first of these functions, with the lines of `registers`:


# %%
@cute.jit
def largest(x):
    return x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)


@cute.jit
def total(x):
    return x.reduce(cute.ReductionOp.ADD, 0.0, 0)


@cute.jit
def vectors(x, warps):
    m = cute.arch.warp_reduction(largest(x), cute.arch.fmax)
    e = exp(x - m)
    s = cute.arch.warp_reduction(total(e), operator.add)
    return e / s


def right(softmax, warps=1, columns=(8, 136, 504, 512)):
    """Whether a step is right for the hard rows of these lengths, in all types."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x, y = hard_rows(columns[-1], dtype), fk.empty(7, columns[-1], dtype=dtype)
        run = compiled(softmax, x, y, warps)  # serves the shorter rows as well
        for n in columns:
            x, y = hard_rows(n, dtype), fk.empty(7, n, dtype=dtype)
            run(x, y)
            if not compare(y, x.double().softmax(1)).ok:
                return False
    return True


assert right(vectors)

# %% [markdown]
# Which element is in which register of which lane? Both kernels ran with a row of 100 `float32`,
# and were watched: a column of the picture is a lane, its registers are below each other, and white
# ones hold −∞.


# %%
def registers_of(run, n, threads):
    """For a row of n: a picture's rows and columns, registers by threads, of the column held."""
    x, y = fk.randn(1, n), fk.empty(1, n)
    reader = fk.footprint(run, x, y, tensor="mX", kind="load").touched["mX"]["thread"][0]
    held = [[k for k in range(n) if reader[k] == t] for t in range(threads)]
    most = max(map(len, held))
    return torch.tensor([part + [torch.nan] * (most - len(part)) for part in held]).T


x, y = fk.randn(1, 100), fk.empty(1, 100)
watched = {"registers": fk.compile(registers, x, y, 4), "vectors": compiled(vectors, x, y)}
figure, both = plt.subplots(1, 2, figsize=(7.5, 1.7), sharey=True)
for axes, (name, run) in zip(both, watched.items(), strict=True):
    image = axes.imshow(registers_of(run, 100, 32), aspect="auto", cmap="viridis", vmin=0, vmax=99)
    axes.set(xlabel="lane", title=name, yticks=range(4))
both[0].set_ylabel("register")
figure.colorbar(image, ax=both, label="column")
plt.show()

# %% [markdown]
# > **Looks right and is wrong.** The next exercise is this kernel with one line changed. It is
# > right for rows of whole tiles, and for rows around +1,000 of any length. What is wrong?

# %% [markdown] exercise="week2/fix_the_fill" part="task"
# ### Exercise 2: fix the fill
#
# Somebody took the tail from a kernel that adds up rows. This softmax, for rows of up to 512
# `float32` in whole vectors, is right for rows of 512, and right for scores around +1000. Make it
# right for all rows of whole vectors, also for those that are −∞ everywhere (NaN, as torch has
# it) or lie far below 0. Called as `fix_the_fill(x, y)`.
#
# **Asked**: 16 bytes per load.
#
# <details><summary>Hint 1</summary>
#
# Run it on one row of four ones: what does it give, and what would four ones among other numbers
# have to be divided by to give that?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A lane without a vector has registers all the same, and takes part in the maximum and in the sum
# with what they hold.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# What changes no maximum, and has 0 as its exponential? It belongs in the line before `cute.copy`;
# a large negative number is not the same, for there are rows below it.
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
# One value is the identity of both reductions: −∞ changes no maximum, and its exponential adds 0.
# With 0, each element that is not there adds e^(−m) to the sum and pulls the maximum up to 0.
# Where m is large, that is nothing, so scores around +1000 hide it; where all scores are far below
# 0, everything is 0. And −10,000, or the lowest number of the type, is "−∞ enough" only for rows
# that have something above it.
#
# </details>

# %% [markdown]
# **Predict:** `registers` took 25 instructions an element for rows of 1,024 `float32`. How many
# does `vectors` take?

# %%
of_vectors = fk.predict("instructions an element, vectors", None)

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(8, 1024), fk.empty(8, 1024)
cost("vectors", compiled(vectors, x, y), x)
of_vectors.against(round(costs["vectors"][2], 1))
fk.profile(compiled(vectors, x, y), x, y).sort().filter(at_least={"warp_instructions": 200})

# %% [markdown]
# A load brings 16 bytes in place of 4, and there is one predicate for four elements. The lines are
# sorted, and the first of them is no arithmetic at all: it computes addresses. We will see it
# again.
#
# What can an H200 afford? A multiprocessor has four schedulers, and each starts one instruction of
# a warp in a clock. Suppose 1.8 GHz, and 4.8 TB/s for an element and its result:

# %%
lanes_a_second = 132 * 4 * 32 * 1.8e9
for name, element_bytes in (("float32", 4), ("bfloat16", 2)):
    elements_a_second = 4.8e12 / (2 * element_bytes)
    print(f"{name}: {lanes_a_second / elements_a_second:.0f} instructions an element")

# %% [markdown]
# That is the budget: above it, memory waits for the kernel. It is spent in *machine* instructions,
# though. Most PTX instructions become one of these, some do not. `run.code_bytes` is the length of
# the machine code, which the compiler knows without a GPU; an instruction has 16 bytes.
#
# ## 4. What an element costs
#
# **The bad number: instructions of the machine.** Two lines of `vectors` are to blame. First its
# last: `e / s` for each element, where one division a row would do.
#
# **Predict:** in the PTX a division is one instruction. How many more has the machine code of
# `vectors` than that of `reciprocal`, for each element?


# %%
@cute.jit
def reciprocal(x, warps):
    m = cute.arch.warp_reduction(largest(x), cute.arch.fmax)
    e = exp(x - m)
    s = cute.arch.warp_reduction(total(e), operator.add)
    return e * (1.0 / s)


assert right(reciprocal)
of_a_division = fk.predict("machine instructions more, for each division", None)


# %% jupyter={"outputs_hidden": true}
def machine(softmax, x, warps=1):
    """Machine instructions of the whole kernel, for each element of a thread."""
    run = compiled(softmax, x, x, warps)
    return run.code_bytes / 16 / (x.shape[1] / (32 * warps))


x = fk.randn(8, 1024)
for softmax in (vectors, reciprocal):
    ptx = compiled(softmax, x, x).ptx
    print(f"{softmax.__name__:>12}: {ptx.count('div.rn.f32')} divisions,", end=" ")
    print(f"{ptx.count('rcp.rn.f32')} reciprocals in the PTX", end=", ")
    print(f"{machine(softmax, x):.1f} machine instructions an element")
of_a_division.against(round(machine(vectors, x) - machine(reciprocal, x)))

# %% [markdown]
# The machine cannot divide. It has an approximate reciprocal, and a division that is exact to the
# last bit is a dozen instructions around it, with a way of its own for extreme numbers (not all of
# them are executed for each element). The price of `e * (1.0 / s)` is one more rounding, of 2⁻²⁴.
#
# Now the exponential, three instructions an element: subtract, multiply by log₂ e, take the power
# of two. The last is the only exponential that the machine has: `cute.math.exp2(x, fastmath=True)`.
# A bit of algebra makes two of the three:
#
# $$e^{x - m} = 2^{(x - m)\,\log_2 e} = 2^{x \log_2 e \;-\; m \log_2 e}$$
#
# The exponent is a product and a sum, and these the machine does in one instruction, a **fused
# multiply-add** or FMA, with *one* rounding at its end. The second term is the same for all of the
# row.

# %%
LOG2_E = math.log2(math.e)


@cute.jit
def exp2(x):
    return cute.math.exp2(x, fastmath=True)


@cute.jit
def fma(x, a, b):
    """x · a + b, one instruction an element."""
    return cute.math.fma(x, cute.full_like(x, a), cute.full_like(x, b))


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


# %% [markdown]
# > **Looks right and is wrong.** `mul_sub` says the same as `folded`, and is easier to read.
#
# **Predict:** which of the two is right for the hard rows? And how many of its seven rows does the
# other have wrong? (Where x is around 1,000, x · log₂ e is around 1,443, and `float32` rounds that
# to a multiple of 2⁻¹³.)

# %%
is_right = fk.predict("right: folded, mul_sub, both or none", None)
wrong_rows = fk.predict("rows that the other has wrong", None)

# %% jupyter={"outputs_hidden": true}
x, y = hard_rows(1000).cpu(), fk.empty(7, 1000, device="virtual")
want, errors = x.double().softmax(1), {}
for softmax in (folded, mul_sub):
    compiled(softmax, x, y, device="virtual")(x, y)
    errors[softmax.__name__] = ((y - want).abs() / want.clamp(min=1e-30)).nan_to_num().amax(1)
    print(f"{softmax.__name__:>8}, largest relative error of each row:", end=" ")
    print(*(f"{e:.0e}" for e in errors[softmax.__name__].tolist()))
good = [name for name in errors if (errors[name] < 1e-5).all()]
is_right.against(", ".join(good))
wrong_rows.against((errors["mul_sub"] >= 1e-5).sum().item())
assert right(folded)

# %% [markdown]
# Both subtract two numbers of the size of 1,443. In `mul_sub` each x · log₂ e is rounded before
# that, each in its own way, and the error stays in the exponent: 5 · 10⁻⁵, and more, the larger the
# numbers. In the FMA nothing is rounded but the difference. The rounding of m · log₂ e remains, but
# it is *the same for all elements*: a common factor of the row, and the sum divides it out.
#
# Will it show on a GPU? The step from PTX to machine code fuses a product and a difference by
# itself, where it may, and then `mul_sub` is right as well. It may not with `--fmad=false`. What
# has to be fused had better be said.
#
# Count again. The second line of each is how often some opcodes of the PTX are executed:

# %%
x, y = fk.randn(8, 1024), fk.empty(8, 1024)
for softmax in (vectors, reciprocal, mul_sub, folded):
    cost(softmax.__name__, compiled(softmax, x, y), x)
    p = fk.profile(compiled(softmax, x, y), x, y)
    every = [i for line in p.all_lines for i in line.instructions]
    counted = {
        op: sum(i["warp_instructions"] for i in every if i.text.startswith(op)) * 32 / x.numel()
        for op in ("sub.", "mul.f32", "fma.", "ex2.", "div.", "cvt.", "mad.", "shl.", "mov.")
    }
    print(" " * 24 + ", ".join(f"{op.rstrip('.')} {n:.1f}" for op, n in counted.items() if n > 0.2))
    print(" " * 24 + f"machine code: {machine(softmax, x):.1f} instructions an element")

# %% [markdown]
# `sub`, `mul` and `ex2` have become `fma` and `ex2`; the `mul` that is left is the last line's. But
# more has gone than one instruction: `mad`, `cvt` and `shl` compute addresses. Before, the compiler
# computed the address of each vector behind its predicate, from the beginning; with the FMA it does
# not. Nobody asked for either. Such things are found by counting, and not by reading.

# %% [markdown] exercise="week2/temperature" part="task"
# ### Exercise 3: divide by a temperature for nothing
#
# `y = softmax(x / t)` of each row, with a number t > 0, the *temperature*: a small one sharpens the
# weights, a large one makes them equal. Rows of up to 1,024 elements in whole vectors of 16 bytes,
# float32 and bfloat16, computed in float32; some elements are −∞. The row waits in registers, read
# once and written once. For each element there are a maximum, **one FMA, one `ex2`**, an addition
# and a multiplication, and no division: nothing is spent on t. `exp2` and `fma` of this notebook
# are yours to use; called as `temperature(x, t, y)`.
#
# **Asked**: one warp per row, 16 bytes per load, 16 bytes per store.
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
# There is one factor for x, log₂ e and t together, and one number that is subtracted; both are
# computed once. x goes into the maximum as it was loaded: dividing by t > 0 does not change which
# one is largest.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The line of the exponentials is `exp2(fma(x, …, …))`; what stands there is computed in the line
# before it, with the only division by t. The sum gets a reciprocal of its own, one a row.
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
# Constants that scale the exponent are free once there is an FMA: the softmax of attention, with
# its 1/√d, takes exactly the instructions of one without. The rounding of m · log₂ e / t is common
# to the row, and the sum divides it out; with a product of its own for each element, x · log₂ e /
# t would be rounded before the subtraction, and rows around 1,000 show that.
#
# </details>

# %% [markdown] exercise="week2/log2_softmax" part="task"
# ### Exercise 4: write weights in bits
#
# `y[m, n] = log₂(softmax(x)[m, n])` for rows of any length up to 1,024, in float32 and float16,
# computed in float32: −3 for a weight of 1/8. A weight of 2⁻¹⁰⁰⁰ is not a `float32`, but −1000 is,
# so no weight may be computed on the way. A lane has at most 32 elements in registers, each read
# once and written once. Some elements are −∞, and so is y there. For each element there are a
# maximum, one FMA, one `ex2` and two additions. Called as `log2_softmax(x, y)`.
#
# **Asked**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# log₂(a / b) = log₂ a − log₂ b. What is log₂ of an exponential that is a power of two?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The exponent t = (x − m) · log₂ e, one FMA, is already log₂ of the numerator, and is kept. The sum
# is that of 2^t over the row.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The line that ends it is a subtraction, `t - …`: of one logarithm for the row, `cute.math.log2(s,
# fastmath=True)`, computed after the shuffles.
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
# Five operations an element, as many as the softmax itself has. The rounding of m · log₂ e is the
# same in every t *and* in log₂ s, so it cancels here as well. For natural logarithms one more
# multiplication an element is needed, by ln 2; a loss that is reported in bits saves it.
#
# </details>

# %% [markdown]
# ## 5. How long may a row be?
#
# **The bad number: registers.** An element of a lane takes one, and other things need some as well.
# The compiler says how many a thread has, without any GPU, and how much it had to **spill**: what
# finds no register goes to local memory and comes back when it is wanted. At most 255 a thread can
# be.

# %%
need = {}
for n in (256, 512, 1024, 2048, 4096, 8192):
    x = fk.randn(1, n)
    run = compiled(folded, x, x)
    need[n // 32] = run.registers
    print(f"rows of {n:5,}: {n // 32:3} elements a lane, {run.registers:3} registers", end=", ")
    print(f"{run.spill_bytes:,} bytes spilled")

figure, axes = plt.subplots(figsize=(5.4, 2.3))
axes.plot(list(need), list(need.values()), "o-", label="registers of a lane")
axes.axhline(255, color="tab:red", linestyle=":", label="255: the most there are")
for per_lane, r in need.items():
    there = min(64, 65536 // (128 * -(-r // 8) * 8) * 4)  # blocks of four warps
    axes.annotate(f"{there} warps", (per_lane, r - 26), fontsize=8)
axes.set_xscale("log", base=2)
axes.set_xticks(list(need), list(need))
axes.set(xlabel="elements a lane", ylabel="registers", title="Room for so many warps")
axes.set(xlim=(7, 400), ylim=(-10, 275))
axes.legend(loc="center left", fontsize=8)
plt.show()

# %% [markdown]
# Rows of 8,192 spill. Long before that, something else runs out: a multiprocessor has 65,536
# registers for all its threads, so the more a thread has, the fewer warps there are, to load while
# others compute. A warp for a row is good up to some thousand elements. Beyond that, a row needs
# more threads, with fewer elements each. How many?

# %% [markdown] exercise="week2/threads_for" part="task"
# ### Exercise 5: choose the threads of a row
#
# A block of 1,024 threads has 64 registers for each. Suppose that 28 are needed for everything but
# the row; then 36 elements are the most. Write `threads_for(columns, dtype)`: the fewest threads,
# of 32, 64, 128, 256, 512 and 1,024, with which no thread has more than 36 elements of a row. A
# row is whole vectors of 16 bytes, and so is a thread's part: the first thread has the vectors 0,
# `threads`, 2 · `threads`, … If 1,024 threads do not suffice, the answer is 0.
#
# <details><summary>Hint 1</summary>
#
# How many elements has a vector, by `dtype.itemsize`? How many vectors has a row?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Vectors are dealt out like cards. If they do not come out even, who has the most, and how many?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The line that compares takes the vectors of one thread, *rounded up*, times the elements of a
# vector.
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
# Registers and threads are two sides of one number: 1,024 threads with 36 elements each have a row
# of 36,864, and with what else they need all 65,536 registers of a multiprocessor. Production
# kernels have such a table, with other bounds for other types, found by measuring.
#
# </details>

# %% [markdown]
# ## 6. A block a row
#
# Several warps meet in shared memory. First the maximum: a word a warp, a barrier, and then every
# warp combines all of the words, since every thread needs the result. Then the sum, the same way.
# Between the two are the exponentials, as they were.


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


assert right(two_exchanges, warps=4, columns=(8, 504, 1024))

# %% [markdown]
# **The bad number: two barriers.** At each of them all warps of a row wait for the slowest, and at
# the first they wait *before* they may begin with the exponentials: the row has to be there, to its
# last byte. The pair (m, s) of `01_online` does not need the maximum before it begins. So:
#
# 1. Each thread loads all its vectors at once, and goes through them as they arrive: the maximum so
#    far, the sum relative to it, rescaled once for each *vector*.
# 2. It keeps the exponentials in registers, and for each vector the maximum they are relative to.
# 3. Lanes are merged by shuffles, warps through shared memory, with **one** barrier.
# 4. Each vector is multiplied by $e^{m_k - m} / s$, $m_k$ being its own maximum, and written.
#
# One reading, one writing, one barrier, and one exponential an element. This is the kernel that the
# week has been about, and it is yours:

# %% [markdown] exercise="week2/single_pass" part="task"
# ### Exercise 6: write a single-pass online softmax
#
# The softmax of rows of up to 4,096 elements in whole vectors of 16 bytes, float32 and bfloat16,
# computed in float32; some elements are −∞, and a row that is −∞ everywhere becomes NaN.
#
# - The row is read once and written once, and stays in registers.
# - Each thread makes a pair of its vectors: a maximum and a sum relative to it.
# - Pairs (m, s) are merged by shuffles, then across the four warps.
# - Each element has one exponential and no division; what belongs to a vector, a lane or a row
#   may have more.
#
# `exp2` and `fma` of this notebook are yours to use. Called as `single_pass_softmax(x, y)`.
#
# **Asked**: one block per row, 128 threads per block, at most 1 barrier, at most 1,024 bytes of
# shared memory per block, 16 bytes per load, 16 bytes per store.
#
# <details><summary>Hint 1</summary>
#
# Begin with a kernel that stores nothing but its registers: vectors in, vectors out, −∞ where none
# is. Then the loop over vectors, then the lanes, then the warps: after each step `fk.check` of one
# row with the part that is done.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Keep three things: the exponentials of all vectors, for each vector the maximum *so far* that they
# are relative to, and (m, s). In the end a vector is multiplied by one factor, 2^(its maximum − the
# row's), over s.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A thread may have no element, a warp none, a vector nothing but −∞: −∞ − (−∞) is NaN. The number
# that is subtracted in the line of the exponentials, and in each line that rescales, is the
# maximum, or 0 where that is −∞; only the last factor takes the row's maximum as it is.
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
# The exponentials are computed as vectors arrive, relative to whatever maximum is known then, and
# corrected by one factor a vector. That is the inner loop of flash attention, where the "vectors"
# are tiles of scores and what is corrected is an output. A kernel that takes the maximum of its
# whole part first, and merges pairs only across lanes and warps, has the same traffic and the same
# single barrier.
#
# </details>

# %% [markdown]
# ## 7. Beside yours
#
# Here is another one, in the frame of this notebook, for any number of warps. Its maxima are all
# multiplied by log₂ e, so that they can be subtracted in exponents of two.


# %%
@cute.jit
def finite(m):
    """What to subtract: the maximum, or 0 where there is none yet."""
    return Float32(0.0) if m == -Float32.inf else m


@cute.jit
def merged_lanes(m, s, lanes: cutlass.Constexpr):
    """(m, s) of each group of lanes, in all of them: rescaled to the largest m, then added up."""
    m_all = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=lanes)
    s = s * exp2(m - finite(m_all))
    return m_all, cute.arch.warp_reduction(s, operator.add, threads_in_group=lanes)


@cute.jit
def single_pass(x, warps):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    sMax = smem.allocate_tensor(Float32, cute.make_layout(warps), 16)  # (warps):(1)
    sSum = smem.allocate_tensor(Float32, cute.make_layout(warps), 16)  # (warps):(1)
    rE = cute.make_rmem_tensor(x.shape, Float32)  # ((Vec,1),1,loads)
    rE.store(x)
    loads = cutlass.const_expr(cute.size(rE, mode=[2]))
    rMax = cute.make_rmem_tensor(loads, Float32)  # (loads):(1)

    m, s = -Float32.inf, Float32(0.0)
    for k in cutlass.range_constexpr(loads):
        x_k = rE[None, 0, k].load()  # (Vec,1)
        m_new = cute.arch.fmax(m, largest(x_k) * LOG2_E)
        e = exp2(fma(x_k, LOG2_E, -finite(m_new)))
        s = s * exp2(m - finite(m_new)) + total(e)
        m = m_new
        rE[None, 0, k].store(e)
        rMax[k] = m

    m, s = merged_lanes(m, s, 32)
    if tidx % 32 == 0:
        sMax[tidx // 32], sSum[tidx // 32] = m, s
    cute.arch.sync_threads()
    m, s = merged_lanes(sMax[tidx % warps], sSum[tidx % warps], warps)

    scale = 1.0 / s
    for k in cutlass.range_constexpr(loads):
        rE[None, 0, k].store(rE[None, 0, k].load() * (exp2(rMax[k] - m) * scale))
    return rE.load()


assert right(single_pass, warps=4, columns=(8, 504, 1024))
x, y = fk.randn(2, 1000), fk.empty(2, 1000)
run_single = compiled(single_pass, x, y, 4)
print(fk.sanitize(run_single, x, y, schedule="adversarial", seeds=1))

# %% [markdown]
# Watched again: what a row of 1,000 occupies in 128 threads, two vectors in each, and what the two
# kernels cost.

# %%
held = registers_of(run_single, 1000, 128)
figure, axes = plt.subplots(figsize=(7.5, 1.7))
image = axes.imshow(held, aspect="auto", cmap="viridis")
for warp in range(1, 4):
    axes.axvline(32 * warp - 0.5, color="white")
axes.axhline(3.5, color="white", linestyle=":")
axes.set(xlabel="thread (white lines: warps)", ylabel="register", yticks=range(0, 8, 2))
axes.set_title("A row of 1,000; white has no element")
figure.colorbar(image, label="column")
plt.show()
x, y = fk.randn(4, 4096), fk.empty(4, 4096)
for softmax in (two_exchanges, single_pass):
    run = compiled(softmax, x, y, 4)
    cost(softmax.__name__, run, x)
    every = [i for line in fk.profile(run, x, y).all_lines for i in line.instructions]
    barriers = sum(i["warp_instructions"] for i in every if i.text.startswith("bar.sync")) // 16
    print(f"{'':24}barriers: {barriers}, registers: {run.registers}, spilled: {run.spill_bytes}")

# %% [markdown]
# A barrier less, and some instructions more. Which of the two matters is a question for a GPU.
# These are the steps as they were measured; one takes part where it has room, with at most 128
# elements a lane in a warp, and 64 a thread in a block.


# %%
class Step:
    """A softmax with so many warps a row, compiled for the rows that it is given."""

    def __init__(self, softmax, warps):
        self.softmax, self.warps = softmax, warps

    def calls(self, x, y):
        elements = x.shape[1] / (32 * self.warps)
        if not 4 <= elements <= (128 if self.warps == 1 else 64):
            raise ValueError(f"{elements:g} elements a thread")
        return partial(compiled(self.softmax, x, y, self.warps), x, y)


class Registers:
    def calls(self, x, y):
        if x.shape[1] > 128 * 32:
            raise ValueError("more than 128 elements a lane")
        return partial(fk.compile(registers, x, y, -(-x.shape[1] // 32)), x, y)


steps = {
    "online": online,
    "registers": Registers(),
    "vectors": Step(vectors, 1),
    "reciprocal": Step(reciprocal, 1),
    "mul_sub": Step(mul_sub, 1),
    "exp2": Step(folded, 1),
    "two_exchanges, 8 warps": Step(two_exchanges, 8),
    "single_pass, 4 warps": Step(single_pass, 4),
    "single_pass, 8 warps": Step(single_pass, 8),
    "single_pass, 16 warps": Step(single_pass, 16),
    "single_pass, 32 warps": Step(single_pass, 32),
}

# %% [markdown]
# ## 8. What the H200 says
#
# **Predict**, of 32,768 rows of 4,096 `bfloat16`: which step gains most over the one before it in
# the list, after `vectors`? How many times as fast as torch is the fastest of all? And of 8,192
# rows of 16,384, with 8 warps each: how long does `two_exchanges` take if `single_pass` takes 0.147
# ms?

# %%
gains_most = fk.predict("reciprocal, mul_sub or exp2", None)
than_torch = fk.predict("times as fast as torch", None)
of_two = fk.predict("milliseconds of two_exchanges", None)

# %% jupyter={"outputs_hidden": true}
times = recorded("week2/02_the_row_in_registers")
shape = (32768, 4096)
ms = {r.step: r.ms for r in times.rows if (r.shape, r.dtype) == (shape, "bfloat16")}
chain = ("vectors", "reciprocal", "mul_sub", "exp2")
gains = {b: ms[a] / ms[b] for a, b in pairwise(chain)}
print(", ".join(f"{name}: {gain:.2f} times as fast" for name, gain in gains.items()))
gains_most.against(max(gains, key=gains.get))
than_torch.against(round(ms["torch"] / min(ms.values()), 1))
of_two.against(times.row("two_exchanges, 8 warps", "bfloat16", (8192, 16384)).ms)
times

# %% [markdown]
# - **One reading less is a third of the bytes.** For 131,072 rows of 1,024 `float32`, `online`
#   takes 0.384 ms and `registers` 0.285. With vectors a warp a row takes 0.26, 97 to 99 % of a
#   copy.
# - **In bfloat16 `registers` gains nothing there**, 0.279 ms after 0.259: half of the bytes and the
#   same number of instructions, above the budget. And for rows of 4,096, where it spills, it takes
#   1.35 ms.
# - **The division** costs 2 % at most for rows of 1,024, but 16 % (`float32`) and 44 % (`bfloat16`)
#   for rows of 4,096, where a multiprocessor has room for few warps.
# - **The FMA gains nothing in any column.** `reciprocal` is at 97 to 99 % of a copy already, and an
#   instruction less is worth something only where instructions are what one waits for. Keep it for
#   its rounding.
#
# And how many elements should a thread have? A dot is a kernel and a length of row:

# %%
figure, axes = plt.subplots(figsize=(5.4, 2.6))
for dtype, color in (("float32", "tab:blue"), ("bfloat16", "tab:orange")):
    for row in times.rows:
        if row.dtype == dtype and row.step.startswith(("single_pass", "exp2")):
            warps = 1 if row.step == "exp2" else int(row.step.split()[1])
            spot = (row.shape[1] / (32 * warps), times.percent(row))
            axes.plot(*spot, "s" if row.shape[1] == 65536 else "o", color=color, alpha=0.7)
    axes.plot([], [], "o", color=color, label=dtype)
axes.plot([], [], "s", color="gray", label="rows of 65,536")
axes.set_xscale("log", base=2)
axes.set_xticks([4, 8, 16, 32, 64, 128], [4, 8, 16, 32, 64, 128])
axes.set(xlabel="elements a thread", ylabel="% of a copy", title="All row lengths, 1 to 32 warps")
axes.legend(loc="lower center", fontsize=8)
plt.show()

# %% [markdown]
# - **The second barrier shows in no column.** With rows in registers, `two_exchanges` is as fast as
#   `single_pass`, and once faster; it has fewer instructions, and fewer registers. The pair (m, s)
#   will be needed for rows that cannot be kept.
# - **16 to 32 elements a thread** reach 94 % or more everywhere, and such numbers `threads_for`
#   chooses. With 4 there are more threads and shuffles than work (in `bfloat16` half of the threads
#   have no vector at all), and with 64 some kernels fall off.
# - **Rows of 65,536** have 64 elements for each of 1,024 threads, and those have 64 registers each:

# %%
x = fk.randn(1, 65536)
run = compiled(single_pass, x, x, 32)
print(f"1,024 threads: {run.registers} registers each, {run.spill_bytes} bytes spilled each")
for dtype in ("float32", "bfloat16"):
    row = times.row("single_pass, 32 warps", dtype, (2048, 65536))
    print(f"{dtype}: {row.ms:.3f} ms, {times.percent(row):.0f} % of a copy")

# %% [markdown]
# What you said in this notebook, and what it was:

# %%
fk.predictions()

# %% [markdown]
# ## Summary
#
# | step | what was bad before | what it does | 32,768 × 4,096 float32, bfloat16 |
# |---|---|---|---|
# | `online` | | reads the row twice | 0.503, 0.403 ms |
# | `registers` | two readings | keeps the row in registers; spills here | 0.665, 1.353 ms |
# | `vectors` | instructions an element | 16 bytes a lane | 0.301, 0.188 ms |
# | `reciprocal` | a division an element | a division a row | 0.260, 0.130 ms |
# | `exp2` | three instructions an exponential | FMA and `ex2` | 0.260, 0.130 ms |
# | `single_pass`, 4 warps | two barriers | a block a row, online | 0.259, 0.131 ms |
# | torch | | | 0.416, 0.418 ms |
#
# (Recorded on an H200 on 22 November 2026; a copy of these bytes would take 0.254 and 0.127 ms.)
#
# | mistake | shows in the values | how it is found |
# |---|---|---|
# | 0 in the tail | for some lengths and values | hard rows, lengths that are no whole tiles |
# | an index known only at run time | never | `.local` in the PTX |
# | product and difference not fused | where x is large | hard rows, on the virtual GPU |
# | too many elements a thread | never | `run.registers`, `run.spill_bytes` |
#
# **The bad number: 55 %.** A multiprocessor's registers hold 65,536 numbers, and a row is not all
# that has to be in them.
#
# **In practice** production kernels have a table of threads and elements for each type and length,
# as `threads_for` is one; `1 / s` may be an approximate reciprocal, `cute.arch.rcp_approx`; and the
# exponent of attention has its scale folded in, as your `temperature` has.
#
# **Further reading:** [Online normalizer calculation for softmax](https://arxiv.org/abs/1805.02867)
# (M. Milakov and N. Gimelshein, 2018) · [FlashAttention](https://arxiv.org/abs/2205.14135) (T. Dao
# and others, 2022: the same correction, of an output) · [floating point in the CUDA programming
# guide](https://docs.nvidia.com/cuda/floating-point/index.html), on the FMA.
#
# **Next:** rows for which there are not enough registers
# ([`03_rows_that_do_not_fit`](03_rows_that_do_not_fit.ipynb)).
