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
# # Choose the kernel for the shape
#
# **You will build** one kernel that is all kernels of this week, a rule that picks its three
# numbers for a shape, and the sums of columns, of which there may be few.
# **You will learn** where one way to share a row is better than another, why the rule of a library
# looks as it does, how to read a production kernel, and what a compiled reduction remembers.
# **You need** `00_what_is_the_right_sum` to `04_few_long_rows`. About 40 minutes, and 40 more for
# the exercises.
#
# `04_few_long_rows` ended with rows split over blocks, and so the week has a good kernel for short
# rows, one for long rows, and one for few rows. Each is bad where another is good, and a caller
# brings any shape. This notebook is about that choice.

# %%
import functools
import inspect
import json
import math
import operator
from pathlib import Path

import cutlass
import cutlass.cute as cute
import matplotlib.pyplot as plt
import torch
from cutlass import Float32

import forgekit as fk
from forgekit.benching.recorded import recorded
from forgekit.kernels.reduce_sum import RowSum
from forgekit.kernels.rows import RowTile
from forgekit.ops.calls import Call
from forgekit.ops.reductions import launcher
from forgekit.ops.tile_choice import choose_rows

# %% [markdown]
# ## 1. One kernel, three numbers
#
# What differs between a warp a row, a block a row and a split row? How many **threads** share a row
# within a block, how many **parts** of a row go to blocks of their own, and how wide a **vector**
# is that a thread reads at a time. Written once, with these three as compile-time constants, the
# kernels of this week are one kernel. A block has 256 threads; where `threads` of them share a
# row, it has `256 // threads` rows.
#
# (To keep it to one screen, a row has to be whole vectors; `03_bytes_in_flight` has the tails.)


# %%
@cute.kernel
def rows_kernel(
    mX: cute.Tensor,
    mY: cute.Tensor,
    threads: cutlass.Constexpr,
    parts: cutlass.Constexpr,
    vector: cutlass.Constexpr,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, part, _ = cute.arch.block_idx()
    row, lane = bidx * (256 // threads) + tidx // threads, tidx % threads
    total = Float32(0.0)
    if row < mX.shape[0]:
        for c in range(part * threads + lane, mX.shape[1] // vector, threads * parts):
            gX = cute.local_tile(mX, (1, vector), (row, c))  # (1,Vector)
            total += gX.load().to(Float32).reduce(cute.ReductionOp.ADD, 0.0, 0)
    total = cute.arch.warp_reduction(total, operator.add, threads_in_group=min(threads, 32))
    if cutlass.const_expr(threads > 32):  # several warps a row: they meet in shared memory
        sSum = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(8), 16)
        if tidx % 32 == 0:
            sSum[tidx // 32] = total
        cute.arch.sync_threads()
        warps = threads // 32
        total = Float32(0.0)
        for k in cutlass.range_constexpr(warps):
            total += sSum[tidx // threads * warps + k]
    if row < mX.shape[0] and lane == 0:
        mY[row * parts + part] = total.to(mY.element_type)


def sum_rows(threads, parts=1):
    """A host function that adds up rows; with parts > 1, mY is (M * parts), the sums of parts."""

    @cute.jit
    def host(mX: cute.Tensor, mY: cute.Tensor):
        vector = 128 // mX.element_type.width  # 16 bytes
        blocks = cute.ceil_div(mX.shape[0], 256 // threads)
        grid = (blocks, parts, 1)
        rows_kernel(mX, mY, threads, parts, vector).launch(grid=grid, block=(256, 1, 1))

    return host


def whole_vectors(x, y):
    return fk.spec(x, divisible={1: 16 // x.element_size()}), fk.spec(y)


def static_n(x, y):
    return fk.spec(x, static=[1]), fk.spec(y)


def up_to(most, specs):
    """The specs for rows of at most so many elements: few lanes take too long for more."""

    def checked(x, y):
        if x.shape[1] > most:
            raise ValueError(f"rows of more than {most} elements")
        return specs(x, y)

    return checked


# %% [markdown]
# Which lanes share a row? Eight a row, in four rows of 64 `float32`: a colour is a thread,
# each has four neighbours twice.

# %%
x, y = fk.randn(4, 64), fk.empty(4)
run_8 = fk.compile(sum_rows(8), *whole_vectors(x, y))
fk.footprint(run_8, x, y, by="thread", tensor="mX")

# %% [markdown]
# Where rows have parts, a second launch of the same kernel adds up the sums of the parts, a warp a
# row. How many parts? An H200 has 132 multiprocessors, so 264 blocks are two for each of them.


# %%
def in_two_launches(x, y):
    """What to call for rows in parts: x is read by 264 blocks or more."""
    rows = x.shape[0]
    parts = max(4, 264 // rows // 4 * 4)  # whole vectors, as they are rows of the second launch
    sums = fk.empty(rows, parts)
    first = fk.compile(sum_rows(256, parts), *whole_vectors(x, sums.view(-1)))
    second = fk.compile(sum_rows(32), *whole_vectors(sums, y))

    def call(x, y):
        first(x, sums.view(-1))
        second(sums, y)

    return call


def one_launch(threads, specs=whole_vectors):
    return lambda x, y: fk.compile(sum_rows(threads), *specs(x, y))


ways = {
    "8 lanes a row": one_launch(8),
    "a warp a row": one_launch(32),
    "a block a row": one_launch(256),
    "parts, two launches": in_two_launches,
}

for dtype in (torch.float32, torch.float16):
    sums, wanted = [], []
    for m, n in ((3, 32), (33, 1000), (3, 4096)):
        x = fk.rand(m, n, dtype=dtype)
        for made in ways.values():
            y = fk.empty(m, dtype=dtype)
            made(x, y)(x, y)
            sums, wanted = [*sums, y], [*wanted, x.double().sum(1)]
    fk.check(torch.cat(sums), torch.cat(wanted), name="all sums")


# %%
# What was timed on an H200: the four ways, one of them with N compiled in, and forgekit's own.
def two_launches(x, y):
    in_two_launches(x, y)(x, y)


def library(x, y):
    arch = None if x.is_cuda else fk.target.arch
    launcher(Call.of("reduce_sum", x, arch=arch))(x, y)


two_launches.calls = lambda x, y: functools.partial(in_two_launches(x, y), x, y)
library.calls = lambda x, y: functools.partial(library, x, y)

steps = {
    "8 lanes a row": (sum_rows(8), up_to(131_072, whole_vectors)),
    "a warp a row": (sum_rows(32), up_to(524_288, whole_vectors)),
    "a warp a row, N static": (sum_rows(32), up_to(524_288, static_n)),
    "a block a row": (sum_rows(256), whole_vectors),
    "parts, two launches": two_launches,
    "forgekit": library,
}

# %% [markdown]
# ## 2. Where they cross
#
# Before any time, what can be counted: sizes of the same number of elements, from many short
# rows to few long ones. `fk.sweep` runs each way at each size. (On the virtual GPU it counts, for
# 32,768 elements; with a GPU it takes times.)
#
# **Predict:** a block a row, and rows of 32 float32, which are 8 vectors. Of 100 lanes that execute
# an instruction in that kernel, how many would you say are at work?

# %%
at_work = fk.predict("lanes at work, of 100, a block a row of 32", None)

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(512, 32), fk.empty(512)
p = fk.profile(ways["a block a row"](x, y), x, y)
at_work.against(round(p["thread_efficiency"]))
per_row = p["warp_instructions"] / 512
with_8 = fk.profile(ways["8 lanes a row"](x, y), x, y)["warp_instructions"] / 512
print(f"{p['thread_efficiency']:.0f} % of the lanes at work")
print(f"instructions a row: {per_row:.0f}, and {with_8:.1f} with 8 lanes a row")

# %% [markdown]
# "At work" says too much, even: a lane that adds zeros in a shuffle, or waits at a barrier, counts
# as one at work. The instructions tell it better: a block pays for its eight warps, its shuffles
# and its barrier once a row, however short the row is.

# %%
sizes = [(32_768 // n, n) for n in (32, 512, 4096, 32_768)]
swept = fk.sweep(
    lambda x, y: {name: made(x, y) for name, made in ways.items()},
    lambda size: (fk.randn(*size), fk.empty(size[0])),
    sizes,
    axis="rows × columns, float32",
    reference=lambda x, y: x.double().sum(1),
    atol=1e-3,
)
swept

# %% [markdown]
# Counts know what is executed. They do not know how many multiprocessors stand idle, nor how long a
# launch takes. So now the times, recorded on an H200 at nine shapes of 2²⁵ elements.

# %%
run = recorded("week1/05_choose")
shapes = list(dict.fromkeys(row.shape for row in run.rows))
known = {(row.step, row.shape, row.dtype): row for row in run.rows}


def table(dtype, names):
    print(f"{run.headline}\n\n{dtype}, percent of that copy")
    print(f"{'':24}", *(f"{m:>8}" for m, _ in shapes))
    print(f"{'':24}", *(f"{'× ' + str(n):>8}" for _, n in shapes))
    for name in names:
        rows = [known.get((name, shape, dtype)) for shape in shapes]
        print(f"{name:24}", *(f"{run.percent(r):8.0f}" if r else f"{'–':>8}" for r in rows))


table("float32", ways)
print()
table("float16", ways)

# %%
figure, panels = plt.subplots(1, 2, figsize=(9.5, 3.8), sharey=True)
for axes, dtype in zip(panels, ("float32", "float16"), strict=True):
    for name, marker in zip((*ways, "forgekit"), "osD^.", strict=True):
        rows = [row for row in run.rows if (row.step, row.dtype) == (name, dtype)]
        dash = ":" if name == "forgekit" else "-"
        places, heights = [r.shape[1] for r in rows], [run.percent(r) for r in rows]
        axes.semilogx(places, heights, marker + dash, base=2, label=name)
    axes.set(title=dtype, xlabel="columns (2²⁵ elements in all)", ylim=(0, 105))
    axes.set_xticks([n for _, n in shapes], [f"{n:,}" for _, n in shapes], rotation=45, fontsize=8)
    axes.grid(alpha=0.3)
panels[0].set_ylabel("% of a copy's GB/s")
figure.tight_layout(rect=(0, 0, 1, 0.93))
figure.legend(*panels[0].get_legend_handles_labels(), fontsize=8, ncols=5, loc="upper center")
plt.show()

# %% [markdown]
# Four hills. Each way has its shapes, and falls off to both sides:
#
# - **To the left**, rows too short for the threads that share them: lanes without a vector, and
#   shuffles, a barrier, a block to start for a few bytes.
# - **To the right**, rows too few: a warp a row of 64 rows is 8 blocks, for 132 multiprocessors.
# - **Parts** have no right end. What they cost shows on the left: a second launch, and sums written
#   and read again.
# - In `float16` all hills stand further to the right: the same row has half the vectors.
#
# And nobody needs the top of the hill to a percent. From 512 to 8,192 columns a warp a row is
# within 4 % of the best of the four in `float32`.

# %% [markdown] exercise="week1/bad_choice" part="task"
# ### Exercise 1: say what is wrong with the choice
#
# Eight kernels of this notebook, each with a shape. What is bad about each on a GPU with 132
# multiprocessors? One of `"idle lanes"`, `"too few blocks"`, `"needless parts"`, `"nothing"`; a
# kernel that the table has within 5 % of the best for its shape has nothing wrong. In a block of
# 256 threads, `256 // threads` rows; in parts, at least four a row; a thread reads 16 bytes at a
# time.
#
# <details><summary>Hint 1</summary>
#
# Two divisions decide: vectors of a row by threads that share it, and rows by rows of a block.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A lane is idle where a row has fewer vectors than threads. 132 multiprocessors want 264 blocks at
# least, two for each.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Parts are for rows that are too few to give every multiprocessor a block: in the line with 4,096
# rows, count the blocks that there were without them.
#
# </details>

# %% exercise="week1/bad_choice" part="skeleton"
whats_bad = {
    # FILL ME IN (roughly 8 lines)
    "a block a row, 262,144 × 128 float32": None,
    "a warp a row, 64 × 524,288 float32": None,
    "a warp a row, 65,536 × 512 float32": None,
    "parts, 4,096 × 8,192 float16": None,
    "a warp a row, 1,048,576 × 32 float16": None,
    "a block a row, 16 × 2,097,152 float32": None,
    "a block a row, 4,096 × 8,192 float32": None,
    "8 lanes a row, 256 × 131,072 float32": None,
}

# %% exercise="week1/bad_choice" part="grade"
fk.exercise("week1/bad_choice").grade(whats_bad)

# %% [markdown] exercise="week1/bad_choice" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# whats_bad = {
#     "a block a row, 262,144 × 128 float32": "idle lanes",
#     "a warp a row, 64 × 524,288 float32": "too few blocks",
#     "a warp a row, 65,536 × 512 float32": "nothing",
#     "parts, 4,096 × 8,192 float16": "needless parts",
#     "a warp a row, 1,048,576 × 32 float16": "idle lanes",
#     "a block a row, 16 × 2,097,152 float32": "too few blocks",
#     "a block a row, 4,096 × 8,192 float32": "nothing",
#     "8 lanes a row, 256 × 131,072 float32": "too few blocks",
# }
# ```
#
# Both divisions are made before anything runs, so a few lines of Python can make them at each call:
# that is the next exercise. The shapes in between are forgiving: from 512 to 8,192 float32 a warp a
# row and the best kernel are within 4 % of each other.
#
# </details>

# %% [markdown]
# ## 3. The rule
#
# Threads from the vectors of a row, parts from the number of rows: two divisions, made in Python at
# each call, before anything runs. This is called a **dispatcher**.

# %% [markdown] exercise="week1/choose_reduction" part="task"
# ### Exercise 2: write the rule
#
# Write `choose_reduction(m, n, dtype)`, which returns `(threads, parts)` for the kernel of this
# notebook and m rows of n elements, whole vectors of 16 bytes:
#
# 1. threads: the fewest of 8, 32 and 256 with which no thread has more than 16 vectors of its row;
#    256 where none will do.
# 2. If this makes fewer than 264 blocks (of 256 threads), and a row has 256 vectors or more: 256.
# 3. parts: as many as give 264 blocks at most in all, with 1,024 vectors or more in each part; a
#    multiple of 4, or 1 where there would be fewer than 4.
#
# <details><summary>Hint 1</summary>
#
# Begin with the vectors of a row, in 16 bytes each: `dtype.itemsize` is the size of an element.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The rows of a block are `256 // threads`, and the last block may not be full: which way is the
# number of blocks rounded?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Two bounds limit the parts, one by blocks and one by vectors; the line that takes the smaller of
# them rounds it down to a multiple of 4, and 0 stands for 1.
#
# </details>


# %% exercise="week1/choose_reduction" part="skeleton"
def choose_reduction(m, n, dtype):
    # FILL ME IN (roughly 7 lines)
    return 256, 1


# %% exercise="week1/choose_reduction" part="grade"
fk.exercise("week1/choose_reduction").grade(choose_reduction)

# %% [markdown] exercise="week1/choose_reduction" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# def choose_reduction(m, n, dtype):
#     vectors = n * dtype.itemsize // 16
#     threads = next((t for t in (8, 32) if vectors <= 16 * t), 256)
#     blocks = -(-m // (256 // threads))
#     if blocks < 264 and vectors >= 256:
#         threads = 256
#     parts = min(264 // m, vectors // 1024) // 4 * 4
#     return threads, max(parts, 1)
# ```
#
# Six lines, and no kernel is ever the slow one: on the 18 recorded calls the rule loses a few
# percent at most, where any single kernel is behind by a factor. What numbers stand in such a rule
# is a question of measuring, and of one GPU; forgekit's stand in `forgekit/ops/tile_choice.py`,
# each with the reason beside it.
#
# </details>

# %% [markdown]
# > **Looks right and is wrong.** Somebody's model answers requests in batches: a row a request. A
# > dispatcher picks the kernel by the shape. The same row is added up, alone and as one of 67.


# %%
def dispatched(x):
    """Alone in parts, among many as a whole: what the rule says for these two shapes."""
    y = fk.empty(x.shape[0])
    made = ways["parts, two launches"] if x.shape[0] < 66 else ways["a block a row"]
    made(x, y)(x, y)
    return y


batch = fk.rand(67, 16_384)
alone, among = dispatched(batch[:1].clone())[0], dispatched(batch)[0]
fk.check(alone.view(1), batch[:1].double().sum(1))
fk.check(among.view(1), batch[:1].double().sum(1))
print(f"alone: {alone.item():.6f}   among 67: {among.item():.6f}   equal: {bool(alone == among)}")

# %% [markdown]
# Both are right, by any tolerance that `00_what_is_the_right_sum` allows. Each kernel gives the
# same bits whenever it is called. And still the answer to a request depends on who else asked at
# that moment. Where this matters, in training that has to be repeated exactly or in a cache of
# answers, the rule must go by the row alone: **batch-invariant** kernels give up the parts, or
# split every row, always, into pieces of the same size.
#
# ## 4. Sums of columns
#
# Columns were easy in `00_what_is_the_right_sum`: a thread a column is coalesced. **Predict:** how
# many threads have a column in a matrix of 4,096 × 64, and of how many blocks of 128?

# %%
busy = fk.predict("threads with a column", None)


# %% jupyter={"outputs_hidden": true}
@cute.kernel
def thread_a_column_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    col = bidx * 128 + tidx
    if col < mX.shape[1]:
        total = Float32(0.0)
        for m in range(mX.shape[0]):
            total += mX[m, col].to(Float32)
        mY[col] = total.to(mY.element_type)


@cute.jit
def thread_a_column(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[1], 128)
    thread_a_column_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


x, y = fk.randn(4096, 64), fk.empty(64)
run_column = fk.compile(thread_a_column, x, y)
run_column(x, y)
fk.check(y, x.double().sum(0), atol=1e-3)
busy.against(x.shape[1])
p = fk.profile(run_column, x, y)
print(f"{p.launches[0].grid[0]} block, {p.global_load_sectors_per_request:.0f} sectors a load,")
print(f"each thread adds {x.shape[0]:,} numbers, one after the other")

# %% [markdown]
# Every sector is used, and two warps do all the work of a GPU. With rows the same shape would be
# called "few long rows". The cure is the same, too: more threads share a column. They stand *below*
# each other, so that each warp still reads neighbours of one row, and their sums meet in shared
# memory. For columns there is no shuffle to help: the lanes of a warp hold sums of different
# columns.

# %% [markdown] exercise="week1/tile_columns" part="task"
# ### Exercise 3: add up columns with a tile of threads
#
# `y[n] = x[0, n] + … + x[M-1, n]` once more, any M and N, in float32, float16 and bfloat16, added
# up in float32; this time for matrices that are tall. A warp reads 32 neighbours of one row, and
# the eight warps of a block share the rows. At the end the eight sums of a column meet in shared
# memory. The whole kernel is yours: `tile_columns(x, y)`.
#
# **Asked**: one block per 32 columns, 256 threads per block.
#
# <details><summary>Hint 1</summary>
#
# Give each thread two numbers: its column among 32, and its warp among 8. Which of them goes with
# `tidx % 32`?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Each warp begins at a row of its own and goes on in steps of 8. Then 256 sums go into shared
# memory, and one warp reads them.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A shared tensor of shape (8, 32) with rows of 32 words has no bank conflicts: neighbours in a warp
# are neighbours in it. The barrier stands between the line that stores there and the `if` that
# reads; threads beyond the last column have to reach it, too.
#
# </details>


# %% exercise="week1/tile_columns" part="skeleton"
@cute.kernel
def tile_columns_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 16 lines)
    pass


@cute.jit
def tile_columns(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week1/tile_columns" part="grade"
fk.exercise("week1/tile_columns").grade(tile_columns)

# %% [markdown] exercise="week1/tile_columns" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# @cute.kernel
# def tile_columns_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     warp, lane = tidx // 32, tidx % 32
#     col = bidx * 32 + lane
#     layout = cute.make_layout((8, 32), stride=(32, 1))
#     sSum = cutlass.memory.SmemAllocator().allocate_tensor(Float32, layout, 16)
#     total = Float32(0.0)
#     if col < mX.shape[1]:
#         for m in range(warp, mX.shape[0], 8):
#             total += mX[m, col].to(Float32)
#     sSum[warp, lane] = total
#     cute.arch.sync_threads()
#     if warp == 0 and col < mX.shape[1]:
#         for k in cutlass.range_constexpr(1, 8):
#             total += sSum[k, lane]
#         mY[col] = total.to(mY.element_type)
#
#
# @cute.jit
# def tile_columns(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[1], 32)
#     tile_columns_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))
# ```
#
# Eight times the threads of a thread a column, with the same sectors. A barrier, eight words read
# by each thread of one warp, and no bank conflict, since a warp stores a row of the tile and reads
# rows of it. Where the blocks side by side are still fewer than the multiprocessors, the rows can
# be split over blocks as well, and then it is `04_few_long_rows` once more, with columns.
#
# </details>

# %% [markdown]
# What if there are 3 columns? A warp that reads one row has 29 lanes without a column, whatever the
# tile is called. Here is which element each of 8 lanes reads first, if lanes count through the
# matrix as it lies in memory; the step of 6 is the largest multiple of 3 that 8 lanes can do:

# %%
picture = [[f"lane {k % 6}" if k < 12 else "" for k in range(3 * m, 3 * m + 3)] for m in range(4)]
print("row   " + "".join(f"column {n:<4}" for n in range(3)))
for m, names in enumerate(picture):
    print(f"{m:<6}" + "".join(f"{name:<11}" for name in names))

# %% [markdown]
# Each lane comes back to its own column, since 6 is a multiple of 3. Two lanes of the eight idle,
# of 256 threads it is one.

# %% [markdown] exercise="week1/few_columns" part="task"
# ### Exercise 4: let no lane idle
#
# A matrix with few columns, 1 to 32, contiguous, of any height M. The first of two launches: row p
# of y gets the sums of the columns of rows 256·p to 256·p + 255 of x, so `y` has ⌈M / 256⌉ rows.
# All warps of a block are to read neighbours, whatever the number of columns. In float32 and
# float16, added up in float32. `few_columns(x, y)` is the whole kernel.
#
# **Asked**: one block per 256 rows, 256 threads per block.
#
# <details><summary>Hint 1</summary>
#
# In memory, a part is one strip of 256 · N numbers. Forget the rows: number k of the strip belongs
# to column k % N.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# If a thread begins at place t and goes on in steps that are a multiple of N, it stays in column t
# % N. Which multiple of N is at most 256? The few threads beyond it do nothing.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The line that loads takes element (k // N, k % N) of the part, with a predicate for the last part,
# which may be shorter. In shared memory the sums of column n then stand at places n, n + N, n +
# 2·N, …
#
# </details>


# %% exercise="week1/few_columns" part="skeleton"
@cute.kernel
def few_columns_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 16 lines)
    pass


@cute.jit
def few_columns(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 1 line)
    pass


# %% exercise="week1/few_columns" part="grade"
fk.exercise("week1/few_columns").grade(few_columns)

# %% [markdown] exercise="week1/few_columns" part="solution"
# <details><summary>Solution of exercise 4</summary>
#
# ```python
# @cute.kernel
# def few_columns_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     part, _, _ = cute.arch.block_idx()
#     M, N = mX.shape
#     sSum = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(256), 16)
#     deep = 256 // N  # rows that the block reads at a time, by deep * N threads
#     total = Float32(0.0)
#     if tidx < deep * N:
#         for m in range(tidx // N, 256, deep):
#             if part * 256 + m < M:
#                 total += mX[part * 256 + m, tidx % N].to(Float32)
#     sSum[tidx] = total
#     cute.arch.sync_threads()
#     if tidx < N:
#         for k in range(1, deep):
#             total += sSum[tidx + k * N]
#         mY[part, tidx] = total.to(mY.element_type)
#
#
# @cute.jit
# def few_columns(mX: cute.Tensor, mY: cute.Tensor):
#     few_columns_kernel(mX, mY).launch(grid=(mY.shape[0], 1, 1), block=(256, 1, 1))
# ```
#
# With 3 columns a warp that reads one row has 3 lanes at work; here 255 of 256 threads read, and a
# load of a warp is 4 sectors of float32. The step is the trick: a multiple of N keeps each thread
# in its column, so one register is enough. Division and remainder by N cost instructions, once for
# each thread; in the loop only the row goes on, by `used // N`.
#
# </details>

# %% [markdown]
# ## 5. The production kernel, read aloud
#
# This is the kernel that `forgekit.ops.reduce_sum` runs for long rows and for unaligned rows, as
# it stands in the library; `ShortRowSum` beside it is the same without the loop. Read it once and
# look for what you know; then go on.

# %%
source = inspect.getsource(RowSum)
print(source[source.index("    @cute.kernel") :])

# %% [markdown]
# | lines | what it is | this week's notebook |
# |---|---|---|
# | `tile.reduction_buffer(1)` | shared memory: a word for each warp of a row | `02_shuffle` |
# | `tile.row_and_lane` | which row, which place among its threads, parts included | section 1 |
# | `valid` | threads beyond the last row read it again and store nothing | – |
# | `whole_vectors` | a row that begins anywhere: it, from its first whole vector on | – |
# | `tiled_copy`, `tXgX`, `tXcX` | a row's tiles by a TV layout, and their coordinates | `03` |
# | `tXrX`, `rSum` | a tile in registers, and a `Float32` for each place of a vector | `03` |
# | `for k in …` | all threads of a row, `loads` vectors each, on to the next tile | `03` |
# | `fill_tail` | a tail is the identity: zeros, then a predicated load | `03` |
# | `tXpX = tile.inside(…)` | what the row has; no predicate where a row is whole tiles | `03` |
# | `cute.copy` | all `loads` first, and only then the additions: bytes in flight | `03` |
# | `reduce(ADD)` | the places of a vector become one number, once, after the loop | – |
# | `unaligned_element` | elements outside whole vectors, one for a thread | – |
# | `tile.sum` | shuffles, then the buffer: one barrier, or a cluster's mbarrier | `02`, `04` |
# | `if valid and lane % …` | one thread stores, rounding once | `00` |
#
# Three things are new. `rSum` keeps a *vector* of sums, and adds its elements up after the loop and
# not in it. **Unaligned** rows read 16 bytes at a time although they begin anywhere: the few
# elements outside whole vectors are read one by one, by threads that would otherwise wait. And all
# that depends on the shape is in `tile`, which is fixed when the kernel is compiled; the `if`s on
# it are `const_expr`, and leave no instruction behind. How `tile` combines the lanes:

# %%
source = inspect.getsource(RowTile)
print(source[source.index("    def sum(") :])

# %% [markdown]
# And this is what its rule says for the shapes of section 2. `loads` is the third number that you
# did not choose: how many vectors a thread has in flight.

# %%
print(f"{'shape, float32':>20}  threads  rows  loads  cluster  parts")
for m, n in shapes:
    c = choose_rows("sum", m, n, 4, 4, False, 8)
    print(f"{m:>9} × {n:<8}  {c.threads:7} {c.rows:5} {c.loads:6} {c.cluster:8} {c.split:6}")

# %% [markdown]
# Beside yours: the same idea, with one more way. Where a few blocks a row are enough, they are a
# cluster and need no second launch (`04_few_long_rows`).
#
# ## 6. What a compiled reduction remembers
#
# `06_compile_once` left a choice: all sizes open, or N compiled in, a kernel for each N. A
# reduction shows what lies between. **Predict:** nine shapes of `float32` rows, each run by the way
# that the rule picks, with N open. How many kernels are compiled, the second launch of parts not
# counted? And with N static?

# %%
open_n = fk.predict("kernels, N open", None)
fixed_n = fk.predict("kernels, N static", None)

# %% jupyter={"outputs_hidden": true}
picked = [(8, 1)] * 3 + [(32, 1)] + [(256, 1)] * 3 + [(256, 4), (256, 16)]
found = {"open": set(), "static": set()}
for (_, n), (threads, parts) in zip(shapes, picked, strict=True):
    if n > 8192:  # a number in the code as good as any other; compiled for a shorter row here
        n //= 64
    x, y = fk.empty(2, n), fk.empty(2 * parts)
    found["open"].add(fk.compile(sum_rows(threads, parts), *whole_vectors(x, y)).key)
    found["static"].add(fk.compile(sum_rows(threads, parts), *static_n(x, y)).key)
open_n.against(len(found["open"]))
fixed_n.against(len(found["static"]))
print({name: len(keys) for name, keys in found.items()})

# %% [markdown]
# A kernel for each *decision*, not for each shape. Does a compiled-in N pay for the others?
# Recorded with everything else equal:

# %%
table("float32", ("a warp a row", "a warp a row, N static"))

# %% [markdown]
# Where a row is one round of the loop, or less, knowing N removes the loop and its predicates, and
# that is worth something: 15 % of the time at 32 columns, though that is a shape for another way.
# From 512 to 2,048 columns it costs a little. So forgekit leaves N open and compiles in what the
# decision needs: threads, rows, loads, vector, cluster, parts; whether rows are whole vectors, and
# whether they come out even (`exact`).

# %% [markdown] exercise="week1/reduction_key" part="task"
# ### Exercise 5: write the key of a reduction
#
# Write `reduction_key(x, choose)`: the key of the kernel that adds up the rows of the matrix `x`,
# whose columns are neighbours. Compiled in are: the element type; whether the kernel reads 16 bytes
# at a time, which it does where *every* row begins at a multiple of 16 bytes and is whole vectors,
# and else element by element; and the constants that `choose(m, n, dtype)` returns, a tuple. All
# else is passed at each call. Two matrices share a key if and only if these agree.
#
# <details><summary>Hint 1</summary>
#
# Three facts in a tuple. Which of them is a single true or false?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# For rows to begin at multiples of 16 bytes, the first one has to, and the distance from one to the
# next has to be a multiple, too, if there is a next. It need not be N.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `x.data_ptr()` is in bytes, `x.stride(0)` and `x.shape[1]` are in elements: in the line that asks
# for whole vectors, divide 16 by the size of an element first.
#
# </details>


# %% exercise="week1/reduction_key" part="skeleton"
def reduction_key(x, choose):
    # FILL ME IN (roughly 4 lines)
    return ()


# %% exercise="week1/reduction_key" part="grade"
fk.exercise("week1/reduction_key").grade(reduction_key)

# %% [markdown] exercise="week1/reduction_key" part="solution"
# <details><summary>Solution of exercise 5</summary>
#
# ```python
# def reduction_key(x, choose):
#     vector = 16 // x.element_size()
#     steps = (x.shape[1], x.stride(0) if x.shape[0] > 1 else 0)
#     whole = x.data_ptr() % 16 == 0 and all(step % vector == 0 for step in steps)
#     return x.dtype, whole, choose(*x.shape, x.dtype)
# ```
#
# Neither M nor N is in the key, and still it depends on both, by way of the rule. That is the
# middle path of `06_compile_once` again: not a kernel for each N, and not one kernel for all, but
# one for each *decision*. A library with five decisions of a few values each has some dozens of
# kernels, and compiles those that are asked for.
#
# </details>

# %% [markdown]
# ## 7. Side by side, and what is left
#
# The same shapes, `torch.sum` and forgekit beside the best of your four ways:

# %%
best = {}
for shape in shapes:
    for dtype in ("float32", "float16"):
        rows = [known[name, shape, dtype] for name in ways if (name, shape, dtype) in known]
        best[shape, dtype] = min(rows, key=lambda row: row.ms)

for dtype in ("float32", "float16"):
    print(f"{dtype:24}", *(f"{'× ' + str(n):>8}" for _, n in shapes))
    found = {
        "torch.sum": [known["torch", s, dtype] for s in shapes],
        "best of the four": [best[s, dtype] for s in shapes],
        "forgekit": [known["forgekit", s, dtype] for s in shapes],
    }
    for name, rows in found.items():
        print(f"{name:24}", *(f"{run.percent(r):8.0f}" for r in rows))
    print()

# %% [markdown]
# One screen of kernel and six lines of rule are ahead of `torch.sum` at every one of these shapes,
# at short rows by far. What forgekit gains beyond yours is at the ends: fewer than 8 lanes for rows
# of 32, which have 4 vectors in `float16`, and clusters in place of a second launch.
#
# A longer run, of other shapes, has `torch.compile` as well. It lies in the repository beside the
# book's pages; where you have the notebooks alone, the cell says so.

# %%
measured = Path("../book/measured/reduce_h200.json")
if measured.exists():
    told = json.loads(measured.read_text())
    print(f"NVIDIA H200, {told['date']}, percent of the copy in the same run\n")
    print(f"{'rows of':>18}  {'':9}{'torch':>8} {'torch.compile':>14} {'forgekit':>9}")
    rates = {}
    for row in told["rows"]:
        if row["dim"] == -1 and row["status"] == "ok" and math.prod(row["shape"]) >= 2**24:
            place = (*row["shape"], row["dtype"])
            rates.setdefault(place, {})[row["contender"]] = row["percent_of_ceiling"]
    for (m, n, dtype), r in sorted(rates.items(), key=lambda item: (item[0][2], item[0][1])):
        cells = [r.get(name) for name in ("torch", "torch.compile", "forgekit")]
        words = [f"{c:.0f}" if c else "–" for c in cells]
        print(f"{m:>8} × {n:<9} {dtype:9}{words[0]:>7} {words[1]:>14} {words[2]:>9}")
else:
    print("book/measured/reduce_h200.json is not here; it is in the repository.")

# %% [markdown]
# More than 100 is possible: half of what a copy moves is written, and a sum writes next to nothing.
# `torch.compile` writes a kernel for the shape it sees, and where large rows are whole vectors,
# that is as good as anybody's; at 999 or 8,193 columns it is not. What is left to gain? Nothing
# where the table says 100. Few long rows of 16 bits stay behind in every column: their 32 MB take 8
# µs at the speed of the copy, so whatever comes before and after the bytes weighs more than
# elsewhere.
#
# ## 8. The same in ncu's words
#
# On a GPU you would ask `ncu` (`09_profile_on_a_gpu`). These are the questions for a reduction,
# with ncu's names, and what our counters say for 256 rows of 2,048 `float32`:

# %%
x, y = fk.randn(256, 2048), fk.empty(256)
p = fk.profile(ways["a warp a row"](x, y), x, y)
sectors, requests = p["global_load_sectors"], p["global_load_requests"]
blocks = p.launches[0].grid[0]
for name, value, remark in (
    ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", sectors, f"{sectors * 32:,} bytes"),
    ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", requests, "16 bytes a lane"),
    ("smsp__inst_executed.sum", p["warp_instructions"], "PTX here, machine code there"),
    ("launch__grid_size", blocks, "of 132 multiprocessors"),
):
    print(f"{name:48} {value:8,.0f}   {remark}")
print(f"sectors a request: {sectors / requests:.0f}; bytes of x: {x.nbytes:,}")

# %% [markdown]
# | question | ncu's section | a reduction in order shows |
# |---|---|---|
# | are the bytes read once? | *Memory Workload Analysis* | sectors × 32 = bytes of x |
# | wide loads? | *Memory Workload*, sectors a request | 16: 512 bytes for a warp |
# | enough blocks? | *Launch Statistics*, waves per SM | one or more |
# | what do warps wait for? | *Warp State*, stall reasons | *long scoreboard*: loads from memory |
# | is memory busy? | *GPU Speed of Light*, memory throughput | near what a copy shows |
#
# Here the third answer is no: 32 blocks are for fewer than a quarter of the multiprocessors. The
# rule of section 3 would take 256 threads a row. Where the second answer is 4, look at the promises
# that the kernel was compiled with. Barriers stand among the stall reasons, by their name.

# %%
fk.predictions()

# %% [markdown]
# ## Summary
#
# | way, 2²⁵ float32 | good for | bad number elsewhere | % of a copy × 128, 8,192, 524,288 |
# |---|---|---|---|
# | 8 lanes a row | up to 512 columns | too few blocks | 92, 68, – |
# | a warp a row | 512 to 8,192 | idle lanes; too few blocks | 83, 91, 7 |
# | a block a row | 2,048 and more, 264 rows and more | idle lanes, a barrier a row | 14, 93, 43 |
# | parts | few long rows | a second launch | 4, 84, 83 |
# | forgekit's choice | all | – | 90, 92, 91 |
#
# | columns | threads | bad number |
# |---|---|---|
# | a thread a column | N | two warps for 64 columns |
# | a tile of 32 × 8 | 8 for each column | 3 columns: 29 idle lanes |
# | counting through memory | all of a block | a division, once a thread |
#
# **In practice** a rule like yours is measured, not thought out: a table of configurations, each
# timed on the GPU at hand, is called *autotuning*; Triton's `@triton.autotune` does it at the first
# call. What it cannot do is write the kernel that has the numbers to tune.
#
# **Further reading:** [ncu's metrics and sections][ncu] · [Defeating nondeterminism in LLM
# inference][batch], on batch-invariant kernels · `forgekit/ops/tile_choice.py`, where each rule
# says why.
#
# [ncu]: https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html
# [batch]: https://thinkingmachines.ai/blog/defeating-nondeterminism-in-llm-inference/
#
# **Next:** ten whole kernels from an empty body ([`06_practice`](06_practice.ipynb)).
