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
# **You will build** one kernel that covers this week's row sums, and a rule that picks its
# constants from the shape. **You will learn** where each way to share a row is best, how to read a
# production kernel, and what a compiled reduction depends on. **You need**
# `00_what_is_the_right_sum` to `04_few_long_rows`. About 50 minutes, and 35 more for the exercises.
#
# In `04_few_long_rows`, the cluster needed 21.6 µs for one row, which the last block added up in
# 6.8 µs, yet the cluster was the fastest way for 64 rows. Callers may pass any shape, so a library
# has to choose. This notebook shows how.

# %%
import inspect
import operator

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Constexpr, Float32
from week1_helpers import (
    choice_steps,
    crossing_picture,
    peers_table,
    percent_table,
    unaligned_picture,
    whole_vectors,
)

import forgekit as fk
from forgekit.kernels.reduce_sum import RowSum
from forgekit.kernels.rows import RowTile
from forgekit.ops.tile_choice import choose_rows

# %% [markdown]
# ## 1. One kernel, three constants
#
# Three numbers distinguish the kernels for one warp per row, one block per row and a split row: the
# number of **threads** in a block that share a row, the number of **parts** into which a row is
# split over blocks, and the width of the **vector** that a thread reads at a time. With these three
# numbers as compile-time constants, a single kernel replaces all the others. A block has 256
# threads, so it handles `256 // threads` rows.
#
# (The kernel requires rows of whole vectors; `03_bytes_in_flight` handles tails.)


# %%
@cute.kernel
def rows_kernel(
    mX: cute.Tensor, mY: cute.Tensor, threads: Constexpr, parts: Constexpr, vector: Constexpr
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
    if cutlass.const_expr(threads > 32):  # several warps per row meet in shared memory
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


def sum_rows(threads, parts=1):  # with parts > 1, mY is (M * parts): the sums of the parts
    @cute.jit
    def host(mX: cute.Tensor, mY: cute.Tensor):
        vector = 128 // mX.element_type.width  # 16 bytes
        blocks = cute.ceil_div(mX.shape[0], 256 // threads)
        grid = (blocks, parts, 1)
        rows_kernel(mX, mY, threads, parts, vector).launch(grid=grid, block=(256, 1, 1))

    return host


# %% [markdown]
# The picture shows four rows of 64 `float32` elements, with 8 lanes per row. Each colour is one
# thread, which reads two groups of four neighbouring elements.

# %%
x, y = fk.randn(4, 64), fk.empty(4)
run_8 = fk.compile(sum_rows(8), *whole_vectors(x, y))
fk.footprint(run_8, x, y, by="thread", tensor="mX")

# %% [markdown]
# If rows are split into parts, a second launch of the same kernel adds up the sums of the parts,
# with one warp per row. An H200 has 132 multiprocessors, so 264 blocks give each of them two.


# %%
def in_two_launches(x, y):
    rows = x.shape[0]
    parts = max(4, 264 // rows // 4 * 4)  # whole vectors for the second launch
    sums = fk.empty(rows, parts)
    first = fk.compile(sum_rows(256, parts), *whole_vectors(x, sums.view(-1)))
    second = fk.compile(sum_rows(32), *whole_vectors(sums, y))

    def call(x, y):
        first(x, sums.view(-1))
        second(sums, y)

    return call


def one_launch(threads):
    return lambda x, y: fk.compile(sum_rows(threads), *whole_vectors(x, y))


ways = {
    "8 lanes": one_launch(8),
    "warp": one_launch(32),
    "block": one_launch(256),
    "parts": in_two_launches,
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

# %% [markdown]
# ## 2. The crossing points
#
# This section compares counts first, then times. All sizes have the same number of elements; they
# range from many short rows to a few long ones.
#
# **Predict:** suppose that one block adds up each row, and a row has 32 `float32` elements, which
# are 8 vectors. When a warp executes an instruction of this kernel, what percentage of its lanes is
# active on average?

# %%
at_work = fk.predict("percent of lanes active, one block per 32-element row", None)

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(512, 32), fk.empty(512)
p = fk.profile(ways["block"](x, y), x, y)
at_work.against(round(p["thread_efficiency"]))
per_row = p["warp_instructions"] / 512
with_8 = fk.profile(ways["8 lanes"](x, y), x, y)["warp_instructions"] / 512
print(f"{p['thread_efficiency']:.0f} % of the lanes are active")
print(f"instructions per row: {per_row:.0f} with one block, {with_8:.1f} with 8 lanes")

# %% [markdown]
# The 85 % overstates the useful work, because a lane that adds zeros after a shuffle counts as
# active. The instruction counts show the real cost: a block pays for its eight warps, its shuffles
# and its barrier once per row, however short the row is.
#
# `fk.sweep` runs each way at each size. On the virtual GPU it counts events; on a real GPU it
# measures time.

# %% jupyter={"outputs_hidden": true}
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
# For 32-element rows, the PTX instructions per byte rise from 3.8 (8 lanes) to 315 (parts). But
# counts show neither idle multiprocessors nor the time that a launch takes. So the next two cells
# show the rates that an H200 reached for nine shapes of 2²⁵ elements. The helpers
# `crossing_picture` and `percent_table` read them from a recorded run.

# %%
crossing_picture()

# %%
percent_table("float32")
print()
percent_table("float16")

# %% [markdown]
# - **Short rows**, on the left, have too few vectors for the threads that share a row. Lanes idle,
#   and the shuffles, the barrier and the start of a block serve only a few bytes.
# - **Few rows**, on the right, give too few blocks. With one warp per row, 64 rows give 8 blocks
#   for 132 multiprocessors.
# - **Parts** stay fast for long rows. They cost a second launch, plus a write and a read of each
#   part's sum.
# - For `float16`, all peaks move to the right, because a row of the same length has half as many
#   vectors.
#
# The choice does not have to be exact. From 512 to 8,192 columns of `float32`, one warp per row
# reaches at least 96 % of the rate of the best way.

# %% [markdown] exercise="week1/bad_choice" part="task"
# ### Exercise 1: find the fault in a choice
#
# Here are eight kernels from this notebook, each with a shape. What is wrong with each choice on a
# GPU with 132 multiprocessors? Answer with one of `"idle lanes"`, `"too few blocks"`, `"needless
# parts"`, `"nothing"`. Answer `"nothing"` for a kernel that the table shows within 5 % of the best
# kernel for its shape. A block of 256 threads handles `256 // threads` rows. A row that is split
# has at least four parts. A thread reads 16 bytes at a time.
#
# <details><summary>Hint 1</summary>
#
# Two divisions give the answer: divide the vectors per row by the threads per row, and the rows by
# the rows per block.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Lanes are idle if a row has fewer vectors than threads. 132 multiprocessors need at least 264
# blocks, two for each.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Parts are for matrices with too few rows to give every multiprocessor a block. For the line with
# parts, count the blocks that there would be without them.
#
# </details>

# %% exercise="week1/bad_choice" part="skeleton"
whats_bad = {
    # FILL ME IN (roughly 8 lines)
    "a block per row, 262,144 × 128 float32": None,
    "a warp per row, 64 × 524,288 float32": None,
    "a warp per row, 65,536 × 512 float32": None,
    "parts, 4,096 × 8,192 float16": None,
    "a warp per row, 1,048,576 × 32 float16": None,
    "a block per row, 16 × 2,097,152 float32": None,
    "a block per row, 4,096 × 8,192 float32": None,
    "8 lanes per row, 256 × 131,072 float32": None,
}

# %% exercise="week1/bad_choice" part="grade"
fk.exercise("week1/bad_choice").grade(whats_bad)

# %% [markdown] exercise="week1/bad_choice" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# whats_bad = {
#     "a block per row, 262,144 × 128 float32": "idle lanes",
#     "a warp per row, 64 × 524,288 float32": "too few blocks",
#     "a warp per row, 65,536 × 512 float32": "nothing",
#     "parts, 4,096 × 8,192 float16": "needless parts",
#     "a warp per row, 1,048,576 × 32 float16": "idle lanes",
#     "a block per row, 16 × 2,097,152 float32": "too few blocks",
#     "a block per row, 4,096 × 8,192 float32": "nothing",
#     "8 lanes per row, 256 × 131,072 float32": "too few blocks",
# }
# ```
#
# A few lines of Python can perform both divisions at each call, before a kernel runs. You write
# them in the next exercise. For shapes between the extremes, the choice hardly matters: from 512
# to 8,192 columns of float32, one warp per row is within 4 % of the best kernel.
#
# </details>

# %% [markdown]
# ## 3. The rule
#
# The number of vectors per row determines the number of threads, and the number of rows determines
# the number of parts. Python applies this rule at each call, before a kernel runs. Code that
# chooses a kernel in this way is called a **dispatcher**.

# %% [markdown] exercise="week1/choose_reduction" part="task"
# ### Exercise 2: write the rule
#
# Write `choose_reduction(m, n, dtype)`, which returns `(threads, parts)` for the kernel in this
# notebook. The matrix has m rows of n elements; a row consists of whole 16-byte vectors.
#
# 1. threads: the smallest of 8, 32 and 256 that gives no thread more than 16 vectors of its row;
#    256 if none of them does.
# 2. If this gives fewer than 264 blocks (of 256 threads), and a row has at least 256 vectors, take
#    256 threads.
# 3. parts: as many as possible with at most 264 blocks in total and at least 1,024 vectors per
#    part, rounded down to a multiple of 4, or 1 if that gives fewer than 4.
#
# <details><summary>Hint 1</summary>
#
# Start with the number of 16-byte vectors per row; `dtype.itemsize` is the size of an element in
# bytes.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A block has `256 // threads` rows, and the last block may not be full. Which way do you round the
# number of blocks?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Two bounds limit the parts, one by blocks and one by vectors. In one line, take the smaller and
# round it down to a multiple of 4; then replace 0 by 1.
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
# With this rule, no shape gets a slow kernel: on the 18 recorded calls, the rule is at most 3 %
# slower than the best of the four ways, whereas each way alone is more than ten times slower for
# some shape. The constants of such a rule come from measurements and hold for one GPU. Forgekit's
# constants are in `forgekit/ops/tile_choice.py`, each with its reason.
#
# </details>

# %% [markdown]
# > **Looks right but is wrong.** A model answers requests in batches, with one row per request, and
# > a dispatcher picks the kernel by the shape of the batch. The next cell adds up the same row
# > twice: alone, and as one of 67 rows.


# %%
def dispatched(x):  # the rule's choice for 1 row and for 67 rows of 16,384 elements
    y = fk.empty(x.shape[0])
    made = ways["parts"] if x.shape[0] < 66 else ways["block"]
    made(x, y)(x, y)
    return y


batch = fk.rand(67, 16_384)
alone, among = dispatched(batch[:1].clone())[0], dispatched(batch)[0]
fk.check(torch.stack([alone, among]), batch[0].double().sum().expand(2))
print(f"alone: {alone.item():.6f}   among 67: {among.item():.6f}   equal: {bool(alone == among)}")

# %% [markdown]
# Both sums are right, and each kernel returns the same bits whenever you call it. Yet the answer to
# a request depends on the number of requests that arrive with it. If a training run has to be
# repeated exactly, or if answers are cached, the rule must depend on the row alone.
# **Batch-invariant** kernels never split a row, or always split every row into pieces of the same
# size.
#
# **A good place for a break.**
#
# ## 4. Read the production kernel
#
# `forgekit.ops.reduce_sum` runs the following kernel for rows that are too long for the registers
# of a block, and for unaligned rows that it does not read by narrower accesses. Its `tile` holds
# the constants: threads per row, `loads` (the vectors that a thread has in flight), vector width,
# parts and cluster size. Read the kernel once, look for what you already know, then continue.

# %%
source = inspect.getsource(RowSum)
print(source[source.index("    @cute.kernel") :])

# %% [markdown]
# | lines | purpose | notebook |
# |---|---|---|
# | `row_and_lane` | the thread's row, and its place among the threads of that row | section 1 |
# | `whole_vectors` | the row from its first whole vector on | below |
# | `tiled_copy`, `tXgX`, `tXcX` | the row's tiles (by a TV layout), and their coordinates | `03` |
# | `for k in …` | `loads` vectors per thread, all in flight, then the next tile | `03` |
# | `inside`, `fill_tail` | zeros past the end of the row, and a predicated load | `03` |
# | `rSum`, `reduce(ADD)` | a *vector* of sums; its elements are added once, after the loop | new |
# | `…unaligned…` | the elements outside whole vectors | below |
# | `tile.sum` | shuffles, then shared memory | `02`, `04` |
# | `if valid and …` | one thread stores, and rounds once | `00` |
#
# The methods of `tile` are short functions like those that you wrote. The next cell prints two that
# the kernel calls, and `exchange`, the shared-memory step of `sum`:

# %%
for method in (RowTile.row_and_lane, RowTile.sum, RowTile.exchange):
    print(inspect.getsource(method))

# %% [markdown]
# The compiler evaluates each `const_expr`, so a branch that is not taken costs no instructions.
# `follow` waits for the previous kernel, because on Hopper a kernel may start before the previous
# one has ended. In a cluster, each warp sends its sum to all blocks and waits at an **mbarrier**, a
# barrier in shared memory that counts arriving bytes. It replaces the `cluster_arrive` and
# `cluster_wait` of `04`. You will build one in week 2 (`03_rows_that_do_not_fit`).
#
# The method `tile.whole_vectors`, unlike the helper of that name, handles rows that begin at any
# element. The kernel still reads 16 bytes at a time, but a few lanes also read one element each,
# before the first whole vector or after the last:

# %%
unaligned_picture()

# %% [markdown]
# The next cell prints forgekit's choice for the shapes from section 2. Its rule is yours with one
# more option: if a few blocks per row are enough, they form a cluster and need no second launch.

# %%
shapes = [(2**25 // n, n) for n in (32, 128, 512, 2048, 8192, 32768, 131072, 524288, 2097152)]
print(f"{'float32':>20}  threads  rows  loads  cluster  parts")
for m, n in shapes:
    c = choose_rows("sum", m, n, 4, 4, False, 8)
    words = f"{m:,} × {n:,}"
    print(f"{words:>20}  {c.threads:7} {c.rows:5} {c.loads:6} {c.cluster:8} {c.split:6}")

# %% [markdown]
# ## 5. The key of a compiled reduction
#
# In week 0, `06_compile_once` offered two choices: leave all sizes open, or make N a compile-time
# constant, with one kernel per N. A reduction allows a compromise.
#
# **Predict:** the rule picks a way for each of the nine `float32` shapes. How many different
# kernels result if N is open, and how many if N is static? (Do not count the second launch for the
# parts.)

# %%
open_n = fk.predict("kernels, N open", None)
fixed_n = fk.predict("kernels, N static", None)

# %% jupyter={"outputs_hidden": true}
picked = [(8, 1)] * 3 + [(32, 1)] + [(256, 1)] * 3 + [(256, 4), (256, 16)]
found = {"open": set(), "static": set()}
for (_, n), (threads, parts) in zip(shapes, picked, strict=True):
    n = n if n <= 8192 else n // 64  # a shorter row gives the same answer here, in less memory
    x, y = fk.empty(2, n), fk.empty(2 * parts)
    host = sum_rows(threads, parts)
    found["open"].add(fk.compile(host, *whole_vectors(x, y)).key)
    found["static"].add(fk.compile(host, fk.spec(x, static=[1]), y).key)
open_n.against(len(found["open"]))
fixed_n.against(len(found["static"]))
print({name: len(keys) for name, keys in found.items()})

# %% [markdown]
# With N open, there is one kernel per *decision*, not one per shape. Is a compile-time N worth four
# more kernels? Both variants were recorded for one warp per row, with everything else equal:

# %%
percent_table("float32", ("a warp a row", "a warp a row, N static"))

# %% [markdown]
# If a row fits in one iteration of the loop, a known N removes the loop and its predicates. At 32
# columns, this saves 15 % of the time, but another way is faster there anyway. From 512 to 2,048
# columns, a known N even costs a little time. So forgekit leaves N open. Its kernel depends on the
# decision (threads, rows, loads, vector, cluster, parts) and on two facts: whether rows are whole
# vectors, and whether they need a predicate.

# %% [markdown] exercise="week1/reduction_key" part="task"
# ### Exercise 3: write the key of a reduction
#
# Write `reduction_key(x, choose)`, which returns the key of the kernel that adds up the rows of the
# matrix `x`. Each row is contiguous. Three facts are compiled into the kernel: the element type;
# the width of a load, which is 16 bytes if *every* row starts at a multiple of 16 bytes and
# consists of whole vectors, and otherwise one element; and the two constants that `choose(m, n,
# dtype)` returns as a tuple. Everything else is passed at each call. Two matrices must share a key
# if and only if their three facts agree.
#
# <details><summary>Hint 1</summary>
#
# Return three facts in a tuple. Which of them is a single True or False?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# All rows start at multiples of 16 bytes if the first row does and the distance between rows is a
# multiple of 16 bytes. That distance need not be N, and a single row has none.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `x.data_ptr()` is in bytes; `x.stride(0)` and `x.shape[1]` are in elements. Before the line that
# tests for whole vectors, divide 16 by the size of an element.
#
# </details>


# %% exercise="week1/reduction_key" part="skeleton"
def reduction_key(x, choose):
    # FILL ME IN (roughly 4 lines)
    return ()


# %% exercise="week1/reduction_key" part="grade"
fk.exercise("week1/reduction_key").grade(reduction_key)

# %% [markdown] exercise="week1/reduction_key" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# def reduction_key(x, choose):
#     vector = 16 // x.element_size()
#     steps = (x.shape[1], x.stride(0) if x.shape[0] > 1 else 0)
#     whole = x.data_ptr() % 16 == 0 and all(step % vector == 0 for step in steps)
#     return x.dtype, whole, choose(*x.shape, x.dtype)
# ```
#
# The key contains neither M nor N, yet it depends on both through the rule. This is a compromise
# between the two keys of `06_compile_once`: neither one kernel per N nor one kernel for all N,
# but one per *decision*. A library with five decisions of a few values each has a few dozen
# kernels, and compiles only those that its callers need.
#
# </details>

# %% [markdown]
# ## 6. Side by side
#
# The next cell shows the same shapes again, with `torch.sum` and forgekit beside the best of your
# four ways:

# %%
percent_table("float32", ("torch", "best", "forgekit"))
print()
percent_table("float16", ("torch", "best", "forgekit"))

# %% [markdown]
# A kernel that fits on one screen and a short rule beat `torch.sum` at each of these shapes, by a
# wide margin for short rows. Forgekit gains more at both ends: it uses fewer than 8 lanes for rows
# of 32 `float16` elements, which have only 4 vectors, and it uses clusters in place of a second
# launch.
#
# A longer run with other shapes also includes `torch.compile`. The helper `peers_table` reads its
# results from a file in the repository; if the file is missing, the cell says so.

# %% jupyter={"outputs_hidden": true}
peers_table()

# %% [markdown]
# More than 100 % is possible, because half of the bytes that a copy moves are writes, whereas a sum
# writes next to nothing. `torch.compile` generates a kernel for the shape that it sees. It is about
# as fast as forgekit for the square matrices with 8,192 and 32,768 rows, and nearly as fast for a
# single row of 16 million elements. It is slower if rows are not whole vectors (999, 8,193 or
# 32,769 columns) and for 32,768 × 4,096 elements of 16 bits. For 256 rows of 131,072 16-bit
# elements, it reaches about half of forgekit's rate. For 16 million 16-bit elements in 16 rows or
# in one, none of the three reaches 70 %: at the copy's speed these 34 MB take only 8 µs, so fixed
# costs weigh more.
#
# ## 7. The counts in ncu's terms
#
# On a GPU, `ncu` gives you these counts (see `09_profile_on_a_gpu`). The next cell prints ncu's
# metrics for a reduction, with our counts for 256 rows of 2,048 `float32` elements and one warp per
# row:

# %%
x, y = fk.randn(256, 2048), fk.empty(256)
p = fk.profile(ways["warp"](x, y), x, y)
sectors, requests = p["global_load_sectors"], p["global_load_requests"]
blocks = p.launches[0].grid[0]
for name, value, remark in (
    ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", sectors, f"{sectors * 32:,} bytes"),
    ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", requests, "16 bytes per lane"),
    ("smsp__inst_executed.sum", p["warp_instructions"], "PTX here, machine code there"),
    ("launch__grid_size", blocks, "for 132 multiprocessors"),
):
    print(f"{name:48} {value:8,.0f}   {remark}")
print(f"sectors per request: {sectors / requests:.0f}; bytes of x: {x.nbytes:,}")

# %% [markdown]
# | question | ncu's section | a good reduction shows |
# |---|---|---|
# | are the bytes read once? | *Memory Workload Analysis* | sectors × 32 = bytes of x |
# | are the loads wide? | *Memory Workload*, sectors per request | 16: 512 bytes for a warp |
# | are there enough blocks? | *Launch Statistics*, waves per SM | one or more |
# | why do warps wait? | *Warp State*, stall reasons | *long scoreboard*: loads from memory |
# | is memory busy? | *GPU Speed of Light*, memory throughput | close to a copy's |
#
# In this example, the answer to the third question is no: 32 blocks occupy less than a quarter of
# the multiprocessors. The rule from section 3 would choose 256 threads per row. If you see 4
# sectors per request, check the promises with which the kernel was compiled. Barriers have a stall
# reason of their own.

# %%
fk.predictions()

# %% [markdown]
# ## Summary
#
# | way, 2²⁵ float32 | good for | bad number elsewhere | % of a copy at N = 128, 8,192, 524,288 |
# |---|---|---|---|
# | 8 lanes per row | up to 512 columns | too few blocks | 92, 68, – |
# | one warp per row | 512 to 8,192 columns | idle lanes; too few blocks | 83, 91, 7 |
# | one block per row | from 2,048 columns and 264 rows | idle lanes, a barrier | 14, 93, 43 |
# | parts | few long rows | a second launch | 4, 84, 83 |
# | forgekit's choice | all | – | 90, 92, 91 |
#
# (The percentages were recorded on an H200 on 22 November 2026.)
#
# **In practice** such a rule comes from measurements: *autotuning* times a table of configurations
# on the GPU at hand. Triton's `@triton.autotune` does this at the first call. But you still have to
# write the kernel whose constants it tunes.
#
# **Further reading:** [ncu's metrics and sections][ncu] · [Defeating nondeterminism in LLM
# inference][batch], on batch-invariant kernels · `forgekit/ops/tile_choice.py`, where each rule
# states its reason.
#
# [ncu]: https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html
# [batch]: https://thinkingmachines.ai/blog/defeating-nondeterminism-in-llm-inference/
#
# **Next:** write twelve whole kernels, two of which add up columns
# ([`06_practice`](06_practice.ipynb)).

# %%
# To time these kernels, `python -m forgekit.benching.steps` reads this dict.
steps = choice_steps(sum_rows, in_two_launches)
