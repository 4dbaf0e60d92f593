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
# # Exchange values inside a warp
#
# **You will build** row sums whose tree runs in registers: a warp's sum in five shuffles, a kernel
# with one block per row and one barrier, and a kernel with one warp per row and no barrier. **You
# will learn** which value a lane receives from a shuffle, which lanes have to take part, which
# other operators work the same way, and when one warp per row beats one block per row. **You need**
# `01_a_block_a_row`. About 40 minutes, and 65 more for the exercises.
#
# **The bad number: log₂ n barriers.** A tree in shared memory needs one barrier per round, because
# threads of different warps exchange data. The lanes of a single warp can exchange data without a
# barrier.

# %%
import operator

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32
from week1_helpers import bars_picture, check_sums, cost, holdings, holdings_picture, recorded_part

import forgekit as fk
from forgekit.viz.ideas import shuffle_steps

# %% [markdown]
# ## 1. Lanes read each other's registers
#
# In a **shuffle**, each lane of a warp provides a value and receives the value of another lane. A
# shuffle is one instruction, and it needs neither shared memory nor a barrier.
#
# - `shuffle_sync_down(value, offset=k)`: lane i receives the value of lane i + k. `shuffle_sync_up`
#   moves values the other way, from lane i − k to lane i.
# - `shuffle_sync_bfly(value, offset=k)`: lane i receives the value of lane i ^ k. In this
#   **butterfly**, the two lanes of each pair exchange their values.
# - `shuffle_sync(value, k)`: every lane receives the value of lane k. This is a **broadcast**.
#
# A lane whose source does not exist receives its own value. In the following model, `held[i]` is
# the value of lane i, and all lanes exchange values at the same time:

# %%
held = list(range(8))
print("down by 1       ", [held[i + 1] if i + 1 < 8 else held[i] for i in range(8)])
print("up by 1         ", [held[i - 1] if i > 0 else held[i] for i in range(8)])
print("butterfly by 1  ", [held[i ^ 1] for i in range(8)])
print("broadcast lane 5", [held[5] for i in range(8)])

# %% [markdown]
# The next kernel runs on one warp. In each of five steps, every lane adds the value that it
# receives, and `mY` records the values of all lanes, one row per step.


# %%
@cute.kernel
def steps_kernel(mX: cute.Tensor, mY: cute.Tensor, shuffle: cutlass.Constexpr):
    lane = cute.arch.lane_idx()
    held = mX[lane]
    mY[0, lane] = held
    for k in cutlass.range_constexpr(5):
        held += shuffle(held, offset=16 >> k)
        mY[k + 1, lane] = held


def five_steps(shuffle):
    @cute.jit
    def host(mX: cute.Tensor, mY: cute.Tensor):
        steps_kernel(mX, mY, shuffle).launch(grid=(1, 1, 1), block=(32, 1, 1))

    x, y = fk.zeros(32, dtype=torch.int64), fk.empty(6, 32, dtype=torch.int64)
    return fk.compile(host, x, y)


# %% [markdown]
# The helper `holdings` runs this kernel on inputs that reveal which lanes contributed to each sum.
#
# **Predict:** after the fifth step, how many of the 32 lanes hold the sum of all 32 numbers?
# Predict the number for down, then for the butterfly.

# %%
with_down = fk.predict("lanes with the sum, down", None)
with_butterfly = fk.predict("lanes with the sum, butterfly", None)

# %% jupyter={"outputs_hidden": true}
down = holdings(five_steps(cute.arch.shuffle_sync_down))
butterfly = holdings(five_steps(cute.arch.shuffle_sync_bfly))
with_down.against(int((down[5] == 1).all(1).sum()))
with_butterfly.against(int((butterfly[5] == 1).all(1).sum()))
holdings_picture(butterfly, "Butterfly: with each step, every sum covers twice as many lanes")
holdings_picture(down, "Down: only lane 0's sum contains every number exactly once")

# %% [markdown]
# The pictures show these two runs. In each square, row i marks the lanes whose numbers lane i has
# added by the end of the step named below the square. With down, a lane near the upper end of the
# warp has no source, so it receives its own value and adds it a second time (orange). This is
# harmless as long as you use only the sum in lane 0. A butterfly gives every lane the sum, at the
# same cost.
#
# Step through the sum for each of the three shuffles, with the offsets in either order. Point at a
# lane to see which numbers its sum contains:

# %%
shuffle_steps()

# %% [markdown] exercise="week1/what_lanes_get" part="task"
# ### Exercise 1: predict the result of a shuffle
#
# Lane k holds the number k. Which number does the named lane receive from the shuffle? For the
# two sums, every lane adds the value that it receives in each of five steps. Which number does
# the named lane hold at the end? In a member mask, bit k represents lane k.
#
# <details><summary>Hint 1</summary>
#
# Lane i reads from lane i + offset (down), i - offset (up) or i ^ offset (butterfly).
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A lane whose source does not exist receives its own value.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In each of the five shuffles down, lane 31 receives its own value and adds it. How many times does
# that double 31?
#
# </details>

# %% exercise="week1/what_lanes_get" part="skeleton"
gets = {
    # FILL ME IN (roughly 7 lines)
    "down by 8, lane 20": None,
    "down by 8, lane 30": None,
    "butterfly by 8, lane 13": None,
    "up by 2, lane 1": None,
    "sum by down 16, 8, 4, 2, 1: lane 31": None,
    "sum by butterfly 16, 8, 4, 2, 1: lane 31": None,
    "member mask of lanes 0 to 5": None,
}

# %% exercise="week1/what_lanes_get" part="grade"
fk.exercise("week1/what_lanes_get").grade(gets)

# %% [markdown] exercise="week1/what_lanes_get" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# gets = {
#     "down by 8, lane 20": 28,
#     "down by 8, lane 30": 30,
#     "butterfly by 8, lane 13": 5,
#     "up by 2, lane 1": 1,
#     "sum by down 16, 8, 4, 2, 1: lane 31": 31 * 2**5,
#     "sum by butterfly 16, 8, 4, 2, 1: lane 31": 496,
#     "member mask of lanes 0 to 5": 2**6 - 1,
# }
# ```
#
# After the five shuffles *down*, only lane 0 holds the sum; the upper lanes hold meaningless
# numbers, not zeros. After a butterfly, every lane holds the sum, at the same cost.
#
# </details>

# %% [markdown]
# ## 2. A warp's sum
#
# The tree from the previous notebook becomes a loop of shuffles between registers:


# %%
@cute.jit
def warp_sum(value):
    for k in cutlass.range_constexpr(5):
        value += cute.arch.shuffle_sync_bfly(value, offset=16 >> k)
    return value


# %% [markdown]
# `cute.arch.warp_reduction(value, operator.add)` does the same for any operator, and
# `threads_in_group=8` limits it to groups of 8 lanes. First write the sum of groups of 8 yourself:

# %% [markdown] exercise="week1/groups_of_8" part="task"
# ### Exercise 2: add up groups of eight
#
# Compute `y[g] = x[8g] + … + x[8g + 7]` for an array of any length n. The last group may have
# fewer than eight elements, and `y` has ⌈n / 8⌉ elements. The types are float32 and float16; add
# in float32.
#
# Signature: `groups_of_8(x, y)`.
#
# **Required**: one thread per element, at most 3 shuffles per warp, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# A warp holds four groups. Which of the five steps of a warp's sum stay within a group of eight
# lanes?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Use offsets 4, 2 and 1. Every lane has to execute the shuffles, so which value should a lane
# without an element contribute?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Start with a value that changes no sum, and put the predicate around the load only. After the
# load, all lanes execute the shuffles. Every eighth thread stores, if its group exists.
#
# </details>


# %% exercise="week1/groups_of_8" part="skeleton"
@cute.kernel
def groups_of_8_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 10 lines)
    pass


@cute.jit
def groups_of_8(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week1/groups_of_8" part="grade"
fk.exercise("week1/groups_of_8").grade(groups_of_8)

# %% [markdown] exercise="week1/groups_of_8" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# @cute.kernel
# def groups_of_8_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     i = bidx * 128 + tidx
#     total = Float32(0.0)
#     if i < mX.shape[0]:
#         total = mX[i].to(Float32)
#     for k in cutlass.range_constexpr(3):
#         total += cute.arch.shuffle_sync_bfly(total, offset=4 >> k)
#     if i % 8 == 0 and i < mX.shape[0]:
#         mY[i // 8] = total.to(mY.element_type)
#
#
# @cute.jit
# def groups_of_8(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 128)
#     groups_of_8_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# A butterfly with offsets below 8 never leaves a group of eight, so a warp adds four groups at
# the cost of one. `cute.arch.warp_reduction(value, operator.add, threads_in_group=8)` is the same
# loop. It suits short rows, because one warp adds four 8-element rows.
#
# </details>

# %% [markdown]
# ## 3. The lanes that take part
#
# > **Looks right but is wrong.** This kernel finds the largest of 20 numbers. Lanes 20 to 31 have
# > no number, so they skip the whole branch, including the shuffles.
#
# **Predict:** will the value be right? Will the kernel be right?


# %%
@cute.kernel
def largest_kernel(mX: cute.Tensor, mY: cute.Tensor):
    lane = cute.arch.lane_idx()
    if lane < mX.shape[0]:
        largest = mX[lane]
        for k in cutlass.range_constexpr(5):
            other = cute.arch.shuffle_sync_bfly(largest, offset=16 >> k)
            largest = cutlass.max(largest, other)
        if lane == 0:
            mY[0] = largest


@cute.jit
def largest_of_20(mX: cute.Tensor, mY: cute.Tensor):
    largest_kernel(mX, mY).launch(grid=(1, 1, 1), block=(32, 1, 1))


x, y = fk.randn(20, device="virtual"), fk.empty(1, device="virtual")
run_largest = fk.compile(largest_of_20, x, y, device="virtual")
value_right = fk.predict("the value is right", None)  # True or False
kernel_right = fk.predict("the kernel is right", None)  # True or False

# %% jupyter={"outputs_hidden": true} tags=["raises-exception"]
run_largest(x, y)

# %% jupyter={"outputs_hidden": true}
value_right.against(y[0].item() == x.max().item())
report = fk.sanitize(run_largest, x, y)
kernel_right.against(bool(report))
report

# %% [markdown]
# A value read from a lane that does not execute the shuffle is undefined. The virtual GPU happens
# to return the reading lane's own value. Taking the larger of a number and itself does no harm, but
# a sum would be wrong. So do not exclude lanes. Instead, give them the **identity** of the
# operator, a value that changes nothing: −∞ for max, 0 for a sum. Then all 32 lanes can take part.
# For the same reason, partial sums start at 0, and a block should consist of whole warps.
#
# If only some lanes enter a branch and you know which ones, name them in the shuffle's **member
# mask**, one bit per lane. Every named lane has to execute the shuffle, unless it has exited the
# kernel, because a shuffle does not wait for exited lanes. Every lane that executes the shuffle has
# to be named, and no lane may read from a lane that is unnamed or has exited. In the next kernel,
# the first half of a warp adds 16 numbers with offsets that stay within that half:


# %%
@cute.kernel
def half_warp_kernel(mX: cute.Tensor, mY: cute.Tensor):
    lane = cute.arch.lane_idx()
    if lane < 16:
        total = mX[lane]
        for k in cutlass.range_constexpr(4):
            total += cute.arch.shuffle_sync_bfly(total, offset=8 >> k, mask=0x0000FFFF)
        if lane == 0:
            mY[0] = total


@cute.jit
def half_warp(mX: cute.Tensor, mY: cute.Tensor):
    half_warp_kernel(mX, mY).launch(grid=(1, 1, 1), block=(32, 1, 1))


x, y = fk.randn(16, device="virtual"), fk.empty(1, device="virtual")
run_half = fk.compile(half_warp, x, y, device="virtual")
run_half(x, y)
fk.check(y, x.double().sum(0, keepdim=True))
print(fk.sanitize(run_half, x, y, schedule="adversarial", seeds=1))

# %% [markdown] exercise="week1/warp_prefix" part="task"
# ### Exercise 3: compute prefix sums of 32 elements
#
# Cut an array of any length into pieces of 32 elements. `y[i]` is the sum of the elements from
# the start of the piece through `x[i]`. The types are float32 and float16; add in float32. An
# element may be ∞. With `shuffle_sync_up`, the first lanes receive their own values.
#
# Signature: `warp_prefix(x, y)`.
#
# **Required**: one thread per element, at most 5 shuffles per warp, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# After a step with offset 1, a lane holds the sum of two elements, its own and its left
# neighbour's. Which offset makes it the sum of four?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Use `shuffle_sync_up` with offsets 1, 2, 4, 8 and 16. What would the first lanes hold if they
# added the value that they receive?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# All lanes shuffle, but a lane adds only if its number is at least the offset: put the predicate
# around the addition, after the shuffle.
#
# </details>


# %% exercise="week1/warp_prefix" part="skeleton"
@cute.kernel
def warp_prefix_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 12 lines)
    pass


@cute.jit
def warp_prefix(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week1/warp_prefix" part="grade"
fk.exercise("week1/warp_prefix").grade(warp_prefix)

# %% [markdown] exercise="week1/warp_prefix" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# @cute.kernel
# def warp_prefix_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     i, lane = bidx * 128 + tidx, tidx % 32
#     total = Float32(0.0)
#     if i < mX.shape[0]:
#         total = mX[i].to(Float32)
#     for k in cutlass.range_constexpr(5):
#         left = cute.arch.shuffle_sync_up(total, offset=1 << k)
#         if lane >= 1 << k:
#             total += left
#     if i < mX.shape[0]:
#         mY[i] = total.to(mY.element_type)
#
#
# @cute.jit
# def warp_prefix(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 128)
#     warp_prefix_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# This is the scan of Hillis and Steele (1986). It takes log₂ n steps and n · log₂ n additions,
# whereas a loop needs n additions. All lanes of a warp execute an addition together, so the
# additional ones cost nothing. `06_practice` extends the scan to whole blocks and rows.
#
# </details>

# %% [markdown]
# **A good place for a break.**
#
# ## 4. One block per row, one barrier
#
# After their shuffles, the eight warps of a block have eight sums. Each warp stores its sum in one
# word of shared memory. After one barrier, the first warp adds these words, again with shuffles. A
# block has at most 32 warps, so 32 words and one warp always suffice.


# %%
@cute.kernel
def shuffle_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sSum = smem.allocate_tensor(Float32, cute.make_layout(32), 16)  # (32):(1)
    total = Float32(0.0)
    for n in range(tidx, mX.shape[1], 256):
        total += mX[row, n].to(Float32)
    total = warp_sum(total)
    if tidx % 32 == 0:
        sSum[tidx // 32] = total
    cute.arch.sync_threads()
    if tidx < 32:
        total = Float32(0.0)
        if tidx < 8:
            total = sSum[tidx]
        total = warp_sum(total)
        if tidx == 0:
            mY[row] = total.to(mY.element_type)


@cute.jit
def shuffle(mX: cute.Tensor, mY: cute.Tensor):
    shuffle_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(256, 1, 1))


check_sums(shuffle, [(1, 1), (3, 31), (7, 1000), (2, 1025)])

# %%
x, y = fk.randn(1, 1000), fk.empty(1)
fk.timeline(fk.compile(shuffle, x, y), x, y)

# %% [markdown]
# Each block executes one barrier, whereas `first_add` executed seven. How long does a barrier take?
# `tree_sequential` from the previous notebook launches the same 256 threads per row and loads the
# same way, but has eight barriers and the rounds between them. The next cell compares the times
# that an H200 took for short rows and for long rows:

# %%
tree, shuffled = recorded_part("01_a_block_a_row"), recorded_part("02_shuffle")
for shape in ((32768, 4096), (1048576, 64)):
    eight = tree.row("tree_sequential", "float32", shape).ms
    one = shuffled.row("shuffle", "float32", shape).ms
    rows = f"{shape[0]:9,} rows of {shape[1]:5,}"
    print(f"{rows}: {eight:.3f} ms with 8 barriers, {one:.3f} ms with 1")
bars = {"tree_sequential, 8 barriers": eight, "shuffle, 1 barrier": one}
bars_picture("A million rows of 64 float32 elements on an H200", bars, "ms")
waves = 1048576 / (132 * 8)  # 8 blocks of 256 threads fit on each of 132 multiprocessors
print(f"{(eight - one) * 1e6 / waves / 7:.0f} ns per barrier and round, if the GPU stays full")

# %% [markdown]
# Each of the seven additional barriers, together with its round, takes about 37 ns more than the
# shuffles that replace it. A load from memory takes ten times as long (see `03_bytes_in_flight`).
# With short rows, a kernel pays for every barrier. With long rows, the loads hide the barriers, and
# the two times differ by only 1 %.

# %% [markdown] exercise="week1/row_range" part="task"
# ### Exercise 4: subtract the smallest from the largest
#
# `y[m]` is the largest element of row m minus its smallest, for any M and N ≥ 1, in float32 and
# float16. Use shuffles within the warps, then shared memory; `cutlass.min` is the counterpart of
# `cutlass.max`.
#
# Signature: `row_range(x, y)`.
#
# **Required**: one block per row, 256 threads per block, 8 warps per block that share the loads, at
# most 1 barrier, at most 128 bytes of shared memory per block.
#
# <details><summary>Hint 1</summary>
#
# Perform two reductions together, each with its own identity. How many numbers do the 8 warps
# produce?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Eight maxima and eight minima need 16 words of shared memory, in two tensors or in one with the
# layout (2, 8). The first lane of each warp stores two numbers.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# After the barrier, the first warp continues: lanes 0 to 7 read the results of one warp each, the
# other lanes hold −∞ and +∞, and all 32 take part in the shuffles.
#
# </details>


# %% exercise="week1/row_range" part="skeleton"
@cute.kernel
def row_range_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 24 lines)
    pass


@cute.jit
def row_range(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 1 line)
    pass


# %% exercise="week1/row_range" part="grade"
fk.exercise("week1/row_range").grade(row_range)

# %% [markdown] exercise="week1/row_range" part="solution"
# <details><summary>Solution of exercise 4</summary>
#
# ```python
# @cute.kernel
# def row_range_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     row, _, _ = cute.arch.block_idx()
#     smem = cutlass.memory.SmemAllocator()
#     sMax = smem.allocate_tensor(Float32, cute.make_layout(8), 16)
#     sMin = smem.allocate_tensor(Float32, cute.make_layout(8), 16)
#     high, low = -Float32.inf, Float32.inf
#     for n in range(tidx, mX.shape[1], 256):
#         value = mX[row, n].to(Float32)
#         high, low = cutlass.max(high, value), cutlass.min(low, value)
#     for k in cutlass.range_constexpr(5):
#         high = cutlass.max(high, cute.arch.shuffle_sync_bfly(high, offset=16 >> k))
#         low = cutlass.min(low, cute.arch.shuffle_sync_bfly(low, offset=16 >> k))
#     if tidx % 32 == 0:
#         sMax[tidx // 32], sMin[tidx // 32] = high, low
#     cute.arch.sync_threads()
#     if tidx < 32:
#         high, low = -Float32.inf, Float32.inf
#         if tidx < 8:
#             high, low = sMax[tidx], sMin[tidx]
#         for k in cutlass.range_constexpr(3):
#             high = cutlass.max(high, cute.arch.shuffle_sync_bfly(high, offset=4 >> k))
#             low = cutlass.min(low, cute.arch.shuffle_sync_bfly(low, offset=4 >> k))
#         if tidx == 0:
#             mY[row] = (high - low).to(mY.element_type)
#
#
# @cute.jit
# def row_range(mX: cute.Tensor, mY: cute.Tensor):
#     row_range_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(256, 1, 1))
# ```
#
# Two values need only one barrier, because the block waits for both at once. A kernel that fuses
# two reductions also reads the row once instead of twice, and reading takes most of the time.
#
# </details>

# %% [markdown]
# ## 5. One warp or one block per row?
#
# Shuffles within a warp need no barrier. If you give each row to one warp, no barrier is left:


# %%
@cute.kernel
def warp_a_row_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    lane, row = tidx % 32, bidx * 8 + tidx // 32
    if row < mX.shape[0]:  # the same for all lanes of a warp
        total = Float32(0.0)
        for n in range(lane, mX.shape[1], 32):
            total += mX[row, n].to(Float32)
        total = cute.arch.warp_reduction(total, operator.add)
        if lane == 0:
            mY[row] = total.to(mY.element_type)


@cute.jit
def warp_a_row(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[0], 8)
    warp_a_row_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))


# %% [markdown]
# **Predict:** for 31-element rows, how many times as many instructions does one block per row
# execute as one warp per row? (Most of the 256 threads have nothing to read.) What is the ratio for
# 10,000-element rows?

# %%
at_31 = fk.predict("ratio of instructions, 31-element rows", None)
at_10_000 = fk.predict("ratio of instructions, 10,000-element rows", None)

# %% jupyter={"outputs_hidden": true}
ratios = {}
print("   row   PTX instr., one block per row / one warp per row")
for n in (31, 100, 1000, 10_000):
    x, y = fk.rand(16, n), fk.empty(16)
    by_block, by_warp = (cost(fk.compile(fn, x, y), x) for fn in (shuffle, warp_a_row))
    ratios[n] = by_block.warp_instructions / by_warp.warp_instructions
    print(f"{n:6,} {by_block.warp_instructions:12,} / {by_warp.warp_instructions:6,}", end=" ")
    print(f"= {ratios[n]:.2f}")
at_31.against(ratios[31])
at_10_000.against(ratios[10_000])

# %% [markdown]
# On short rows, one block per row wastes instructions: each of its warps executes a tree of
# shuffles and a barrier for a row that a single warp could read. On long rows, both kernels execute
# about the same number of instructions, so the number of threads makes the difference. For 16 rows,
# one warp per row means only 512 threads, but a GPU has room for hundreds of thousands. **Give many
# short rows one warp each, and a few long rows one block each.**
#
# ## 6. Any associative operator
#
# A shuffle only moves values, so you can combine them with operators other than `+`. Such an
# operator has to be associative, and lanes without an element need its identity. For a butterfly it
# should also be commutative, because lane 0 computes `a + b`, but its partner computes `b + a`.
#
# CuTe DSL has two functions for the maximum. They differ if one of the numbers is NaN:


# %%
@cute.kernel
def maxima_kernel(mX: cute.Tensor, mY: cute.Tensor):
    mY[0] = cutlass.max(mX[0], mX[1])
    mY[1] = cute.arch.fmax(mX[0], mX[1])
    mY[2] = cute.arch.fmax(mX[0], mX[1], nan=True)


@cute.jit
def maxima(mX: cute.Tensor, mY: cute.Tensor):
    maxima_kernel(mX, mY).launch(grid=(1, 1, 1), block=(1, 1, 1))


x, y = fk.ones(2), fk.empty(3)
x[1] = float("nan")
run_maxima = fk.compile(maxima, x, y)
run_maxima(x, y)
words = [line.split()[0] for line in run_maxima.ptx.splitlines() if line.strip()]
print(y.tolist(), [word for word in words if word.startswith(("max", "setp", "selp"))])

# %% [markdown]
# `cutlass.max` returns NaN, as `torch.amax` does, and needs four instructions. `cute.arch.fmax`
# needs only one; it ignores NaN, or returns it if you pass `nan=True`. A kernel that compares
# numbers, as in `value > largest`, ignores NaN as well, because such a comparison is false for NaN.

# %% [markdown] exercise="week1/warp_max" part="task"
# ### Exercise 5: find the largest element of each row with one warp
#
# `y[m]` is the largest element of row m, for any M and N ≥ 1, in float32 and float16. All elements
# of a row may be negative, and elements may be infinite.
#
# Signature: `warp_max(x, y)`.
#
# **Required**: one warp per row, no shared memory, no barriers, at most 5 shuffles per warp.
#
# <details><summary>Hint 1</summary>
#
# Start from `warp_a_row` and change the operator: what changes in the loop, in the shuffles, and on
# the line before the loop?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Use `cutlass.max(a, b)`; −∞ is `-Float32.inf`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# All lanes of a warp share a row, so the shuffles may be inside the predicate on the row, but not
# inside one on the column.
#
# </details>


# %% exercise="week1/warp_max" part="skeleton"
@cute.kernel
def warp_max_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 12 lines)
    pass


@cute.jit
def warp_max(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week1/warp_max" part="grade"
fk.exercise("week1/warp_max").grade(warp_max)

# %% [markdown] exercise="week1/warp_max" part="solution"
# <details><summary>Solution of exercise 5</summary>
#
# ```python
# @cute.kernel
# def warp_max_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     lane, row = tidx % 32, bidx * 8 + tidx // 32
#     if row < mX.shape[0]:
#         largest = -Float32.inf
#         for n in range(lane, mX.shape[1], 32):
#             largest = cutlass.max(largest, mX[row, n].to(Float32))
#         for k in cutlass.range_constexpr(5):
#             other = cute.arch.shuffle_sync_bfly(largest, offset=16 >> k)
#             largest = cutlass.max(largest, other)
#         if lane == 0:
#             mY[row] = largest.to(mY.element_type)
#
#
# @cute.jit
# def warp_max(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 8)
#     warp_max_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))
# ```
#
# Taking a maximum does not round, so the result has the same bits for any order of the lanes. The
# bits of a sum depend on the order.
#
# </details>

# %% [markdown]
# An operator may also work on pairs, such as *the larger value and its column*. Such an operator
# needs a rule for equal values; otherwise the result depends on the order in which lanes are
# combined.

# %% [markdown] exercise="week1/warp_argmax" part="task"
# ### Exercise 6: find the column of the largest element
#
# `y[m]` is the column of the largest element of row m, as int32. If several elements tie for the
# largest, `y[m]` is the column of the first of them. M and N ≥ 1 may be any numbers. `x` is
# float32 or float16 and has no NaN. Go through each row only once.
#
# Signature: `warp_argmax(x, y)`.
#
# **Required**: one warp per row, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# Two values travel together: the largest so far and its column. Shuffle both.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The other pair wins if its value is larger, or if the values are equal and its column is smaller.
# A lane without an element holds −∞.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A lane without an element must not win even if all elements of the row are −∞. Start with a column
# number larger than any in the row, and let the loop over the row follow the same rule as the
# merge. Both variables must keep their types in the loop: `Float32` and `cutlass.Int32`.
#
# </details>


# %% exercise="week1/warp_argmax" part="skeleton"
@cute.kernel
def warp_argmax_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 16 lines)
    pass


@cute.jit
def warp_argmax(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week1/warp_argmax" part="grade"
fk.exercise("week1/warp_argmax").grade(warp_argmax)

# %% [markdown] exercise="week1/warp_argmax" part="solution"
# <details><summary>Solution of exercise 6</summary>
#
# ```python
# @cute.kernel
# def warp_argmax_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     lane, row = tidx % 32, bidx * 8 + tidx // 32
#     if row < mX.shape[0]:
#         largest, column = -Float32.inf, Int32(mX.shape[1])
#         for n in range(lane, mX.shape[1], 32):
#             value = mX[row, n].to(Float32)
#             if value > largest or (value == largest and n < column):
#                 largest, column = value, Int32(n)
#         for k in cutlass.range_constexpr(5):
#             value = cute.arch.shuffle_sync_bfly(largest, offset=16 >> k)
#             n = cute.arch.shuffle_sync_bfly(column, offset=16 >> k)
#             if value > largest or (value == largest and n < column):
#                 largest, column = value, n
#         if lane == 0:
#             mY[row] = column
#
#
# @cute.jit
# def warp_argmax(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 8)
#     warp_argmax_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))
# ```
#
# This operator on pairs is associative and has an identity, so everything in this notebook
# applies to it. Without a rule for ties, the result would depend on the order in which lanes are
# combined. With the rule, every order gives the same result, which you can test.
#
# </details>

# %% [markdown] exercise="week1/warp_normalise" part="task"
# ### Exercise 7: divide each row by its sum
#
# Compute `y[m, n] = x[m, n] / (x[m, 0] + … + x[m, N-1])`, so that the sum of every row of `y` is
# 1, in float32, float16 and bfloat16. Do the arithmetic in float32. Every lane needs the sum. No
# row of `x` sums to 0.
#
# Signature: `warp_normalise(x, y)`.
#
# **Required**: one warp per row, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# Loop over the row twice, and compute the warp's sum between the loops. Which kind of shuffle
# leaves the sum in every lane?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# After a butterfly, each lane holds the sum, so you need no broadcast.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The second loop divides by the sum, or multiplies by its reciprocal; the grader accepts both.
# Convert each result on the line that stores it.
#
# </details>


# %% exercise="week1/warp_normalise" part="skeleton"
@cute.kernel
def warp_normalise_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 11 lines)
    pass


@cute.jit
def warp_normalise(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week1/warp_normalise" part="grade"
fk.exercise("week1/warp_normalise").grade(warp_normalise)

# %% [markdown] exercise="week1/warp_normalise" part="solution"
# <details><summary>Solution of exercise 7</summary>
#
# ```python
# @cute.kernel
# def warp_normalise_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     lane, row = tidx % 32, bidx * 8 + tidx // 32
#     if row < mX.shape[0]:
#         total = Float32(0.0)
#         for n in range(lane, mX.shape[1], 32):
#             total += mX[row, n].to(Float32)
#         for k in cutlass.range_constexpr(5):
#             total += cute.arch.shuffle_sync_bfly(total, offset=16 >> k)
#         for n in range(lane, mX.shape[1], 32):
#             mY[row, n] = (mX[row, n].to(Float32) / total).to(mY.element_type)
#
#
# @cute.jit
# def warp_normalise(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 8)
#     warp_normalise_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))
# ```
#
# A reduction that gives every lane the result is an *all-reduce*. With a butterfly, it costs no
# more than a reduction to one lane. Softmax and the normalisation layers have this form: they
# reduce a row, then go through it again with the result. Week 2 is about that second read.
#
# </details>

# %% [markdown]
# The next cell shows your predictions beside the results:

# %%
fk.predictions()

# %% [markdown]
# ## Times on a GPU
#
# Before you expand the recorded times, guess: which kernel is faster for 64-element rows, and which
# is faster for 64 rows of 262,144 elements?

# %% jupyter={"outputs_hidden": true}
recorded_part("02_shuffle", shapes=[(32768, 4096), (1048576, 64), (64, 262144)])

# %% [markdown]
# - **Rows of 64 elements**: one warp per row takes a seventh of the time of one block per row, and
#   half of torch's time.
# - **64 rows of 262,144 elements**: one warp per row means only 64 warps on the whole GPU, so it
#   takes seven times as long as one block per row. torch splits the rows; it takes about a quarter
#   of the blocks' time in float32 and a fifth in float16.
# - **32,768 rows of 4,096 elements**: in float32 the two kernels hardly differ. In float16 both
#   stay below 80 % of a copy's rate, because each lane loads only two bytes at a time. This is the
#   next bad number.
#
# ## Summary
#
# | step | barriers | shared memory | best for |
# |---|---|---|---|
# | `first_add` (`01_a_block_a_row`) | log₂ n | one word per thread | – |
# | `shuffle`, one block per row | 1 | 32 words | rows too long for a warp |
# | `warp_a_row` | 0 | none | many short rows |
#
# The barriers are gone, but the loop remains: each lane loads **one element at a time**, which is
# only 4 or 2 bytes. **The bad number: instructions per byte.**

# %%
steps = {"shuffle": shuffle, "warp_a_row": warp_a_row}

# %% [markdown]
# **In practice** library reductions end with these two levels: shuffles, then one barrier.
# `forgekit.kernels.rows` describes both levels with one tile, whose number of threads per row is a
# power of two up to 32 or a whole number of warps.
#
# **Further reading:** [Using CUDA warp-level
# primitives](https://developer.nvidia.com/blog/using-cuda-warp-level-primitives/) (Y. Lin and V.
# Grover) on shuffles and masks · [Faster parallel reductions on
# Kepler](https://developer.nvidia.com/blog/faster-parallel-reductions-kepler/) (J. Luitjens), which
# introduced them.
#
# **Next:** more bytes per instruction, and more bytes in flight
# ([`03_bytes_in_flight`](03_bytes_in_flight.ipynb)).
