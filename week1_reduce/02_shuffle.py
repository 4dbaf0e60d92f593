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
# # Hand values over inside a warp
#
# **You will build** sums of rows whose tree is in registers: a warp's sum by five shuffles, a block
# a row with one barrier, and a warp a row with none.
# **You will learn** what lanes get from a shuffle, who has to take part, which other operators work
# the same way, and when a warp a row is better than a block a row.
# **You need** `01_a_block_a_row`. About 35 minutes, and 50 more for the exercises.
#
# **The bad number: log₂ n barriers.** A tree through shared memory needs one for each round, since
# threads of different warps take part. Inside one warp there is another way.

# %%
import operator

import cutlass
import cutlass.cute as cute
import matplotlib.pyplot as plt
import torch
from cutlass import Float32, Int32

import forgekit as fk

# %% [markdown]
# ## 1. Lanes read each other's registers
#
# A **shuffle** is one instruction in which each lane of a warp hands out a value and gets that of
# another lane: no shared memory, no barrier. `shuffle_sync_down(value, offset=k)` gives lane i the
# value of lane i + k, `shuffle_sync_bfly(value, offset=k)` that of lane i ^ k: a **butterfly**, in
# which lanes exchange their values in pairs.
#
# As a model: `held[i]` is what lane i holds, and all lanes exchange at once.

# %%
held = list(range(8))
print("down by 1     ", [held[i + 1] if i + 1 < 8 else held[i] for i in range(8)])
print("butterfly by 1", [held[i ^ 1] for i in range(8)])

# %% [markdown]
# Now a kernel of one warp. Lane i starts with the number 2^i, a bit of its own, so that a sum says
# which lanes are in it. Five times each lane adds what it gets; a row of `mY` keeps every step.


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

    return host


def sums_of(shuffle):
    """After each step, how many different lanes' numbers each lane has added up."""
    x, y = 2 ** fk.arange(32, dtype=torch.int64), fk.empty(6, 32, dtype=torch.int64)
    fk.compile(five_steps(shuffle), x, y)(x, y)
    return y.tolist()


# %% [markdown]
# **Predict:** after the fifth step, how many of the 32 lanes have the sum of all 32? With down, and
# with a butterfly?

# %%
with_down = fk.predict("lanes with the sum, by down", None)
with_butterfly = fk.predict("lanes with the sum, by butterfly", None)

# %% jupyter={"outputs_hidden": true}
down, butterfly = sums_of(cute.arch.shuffle_sync_down), sums_of(cute.arch.shuffle_sync_bfly)
with_down.against(down[5].count(2**32 - 1))
with_butterfly.against(butterfly[5].count(2**32 - 1))


def draw(rows, title, source):
    """A column a lane, a row a step: green where no number was added twice."""
    _, axes = plt.subplots(figsize=(9, 3.2))
    for step, row in enumerate(rows):
        for lane, bits in enumerate(row):
            good = bits < 2**32 and bits.bit_count() == 2**step
            axes.plot(lane, -step, "s", ms=7, color="tab:green" if good else "tab:red")
            if step:
                other = source(lane, 16 >> (step - 1))
                axes.plot([other, lane], [1 - step, -step], color="gray", lw=0.5, zorder=0)
    axes.set_yticks(range(-5, 1), [f"{2**k} of 32" for k in range(5, -1, -1)])
    axes.set(xlabel="lane", title=title)
    plt.show()


draw(butterfly, "butterfly: every lane has the sum", lambda lane, k: lane ^ k)
draw(down, "down: lane 0 has it", lambda lane, k: min(lane + k, 31) if lane + k < 32 else lane)

# %% [markdown]
# Both pictures are of a run. Red is what has become useless: near the upper end a lane has no
# source, gets its own value, and adds that a second time. Nothing is wrong about it, as long as
# only lane 0 is asked. A butterfly gives the sum to everybody, at the same price.

# %% [markdown] exercise="week1/what_lanes_get" part="task"
# ### Exercise 1: say what a lane gets
#
# Lane k holds the number k. Which number does the shuffle give to the lane? For the two sums, a
# warp adds what it gets to what it has, five times, and asked for is what the lane holds at the
# end. The mask is a number with a bit for each lane.
#
# <details><summary>Hint 1</summary>
#
# down: from lane i + offset; up: from lane i - offset; butterfly: from lane i ^ offset.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A lane whose source does not exist gets its own value.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Lane 31 gets its own value in each of the five shuffles down, and adds it: 31 is doubled how many
# times?
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
# After a sum by *down* lane 0 alone has the sum; what the upper lanes hold is of no use, and it is
# not zero. After a butterfly every lane has it, at the same price.
#
# </details>

# %% [markdown]
# ## 2. The sum of a warp
#
# That is the tree of the last notebook, in registers:


# %%
@cute.jit
def warp_sum(value):
    for k in cutlass.range_constexpr(5):
        value += cute.arch.shuffle_sync_bfly(value, offset=16 >> k)
    return value


# %% [markdown]
# `cute.arch.warp_reduction(value, operator.add)` is the same in one line, with any operator;
# `threads_in_group=8` stops at groups of 8 lanes. Write that one first:

# %% [markdown] exercise="week1/groups_of_8" part="task"
# ### Exercise 2: sums of eight
#
# `y[g] = x[8g] + … + x[8g + 7]` for an array of any length; the last sum may have fewer elements.
# float32 and float16, added up in float32. `groups_of_8(x, y)`; `y` has ⌈n / 8⌉ elements.
#
# **Asked**: one thread per element, at most 3 shuffles per warp, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# A warp holds four groups. Which of the five steps of a warp's sum stay inside of eight lanes?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Offsets 4, 2 and 1. Nobody may stay away from a shuffle: what does a lane without an element bring
# along?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The predicate stands around the load alone, with a value before it that changes no sum; the
# shuffles come after it, for all lanes. Every eighth thread stores, if its group exists.
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
# A butterfly with offsets below 8 never leaves a group of eight, so a warp adds up four groups at
# the price of one. `cute.arch.warp_reduction(value, operator.add, threads_in_group=8)` is these
# three lines. Short rows are served this way: a warp for four rows of 8.
#
# </details>

# %% [markdown]
# ## 3. Who takes part
#
# > **Looks right and is wrong.** The largest of 20 numbers. Lanes 20 to 31 have none, so they stay
# > away from all of it, the shuffles too.
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
# What a lane gets from one that does not execute the shuffle is undefined. The virtual GPU happens
# to give the lane its own value back, and the larger of a number and itself does no harm; with a
# sum the result would be wrong as well. The cure is not to exclude lanes, but to give them
# something that changes nothing, the **identity** of the operator: −∞ here, 0 for a sum. Then all
# 32 take part. That is also why partial sums begin at 0, and why a block should have whole warps.
#
# Where only some lanes do go into a branch, and it is known which, a shuffle names them: a **member
# mask**, one bit a lane. All lanes that are named have to come, and all that come have to be named;
# and none may ask a lane that is not there. Here the first half of a warp adds up 16 numbers, with
# offsets that stay inside of it:


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
# ### Exercise 3: prefix sums of 32
#
# An array in pieces of 32; `y[i]` is the sum of `x` from the beginning of the piece up to and with
# `x[i]`. Any length, float32 and float16, added up in float32. `warp_prefix(x, y)`.
#
# One more shuffle helps: `cute.arch.shuffle_sync_up(value, offset=d)` gives lane i the value of
# lane i − d. The first d lanes have nobody there and get their own value back.
#
# **Asked**: one thread per element, at most 5 shuffles per warp, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# After a step with offset 1 a lane has the sum of two elements, its own and the one to the left.
# What offset makes it four?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `shuffle_sync_up` by 1, 2, 4, 8, 16. What would come out in the first lanes, if they added what
# they get?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# All lanes shuffle, but a lane adds only where its number is at least the offset: the predicate
# stands around the addition, after the shuffle.
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
# The scan of Hillis and Steele (1986): log₂ n steps, and n · log₂ n additions where a loop needs n.
# Lanes add anyway whether their sum is of use or not, so in a warp the additional ones cost
# nothing. Whole blocks and arrays follow in `06_practice`.
#
# </details>

# %% [markdown]
# ## 4. A block a row, one barrier
#
# Eight warps have eight sums after their shuffles. These do need shared memory, a word a warp, and
# one barrier; then the first warp adds them up, again by shuffles. A block has at most 32 warps, so
# 32 words and one warp are always enough.


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


for shape in ((1, 1), (3, 31), (7, 1000), (2, 1025)):
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x, y = fk.rand(*shape, dtype=dtype), fk.empty(shape[0], dtype=dtype)
        run_shuffle = fk.compile(shuffle, x, y)
        run_shuffle(x, y)
        fk.check(y, x.double().sum(1), again=lambda run=run_shuffle, x=x, y=y: run(x, y))

# %%
x, y = fk.randn(1, 1000), fk.empty(1)
run_shuffle = fk.compile(shuffle, x, y)
fk.timeline(run_shuffle, x, y)

# %% [markdown]
# One barrier, where `first_add` had seven.

# %% [markdown] exercise="week1/row_range" part="task"
# ### Exercise 4: from the smallest to the largest
#
# `y[m]` is the largest element of row m minus the smallest one, for any M and N ≥ 1, in float32 and
# float16, subtracted in float32. Shuffles within the warps, then shared memory. `row_range(x, y)`.
#
# **Asked**: one block per row, 256 threads per block, at most 1 barrier, at most 128 bytes of
# shared memory per block.
#
# <details><summary>Hint 1</summary>
#
# Two reductions at once, each with an identity of its own. How many numbers come out of the 8
# warps?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# 8 largest and 8 smallest: 16 words, which lie side by side in a layout of (2, 8), or in two
# tensors. The first lane of each warp stores two.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# After the barrier the first warp goes on: a lane below 8 reads the results of one warp, the others
# hold −∞ and +∞, and all 32 take part in the shuffles.
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
# Two values, one barrier: what waits is the block, and it waits once, whatever it hands over.
# Fusing two reductions over a row also reads the row once in place of twice, which is where the
# time goes.
#
# </details>

# %% [markdown]
# ## 5. Any associative operator
#
# Shuffles do not know what is done with what they bring. An operator has to be associative, and it
# needs an identity for lanes without an element. (That it is commutative as well is convenient: in
# a butterfly lane 0 takes `a + b` and its partner `b + a`.)

# %% [markdown] exercise="week1/warp_max" part="task"
# ### Exercise 5: the largest of each row, by warps
#
# `y[m]` is the largest element of row m again, for any M and N ≥ 1, in float32 and float16. All
# elements of a row may be negative. `warp_max(x, y)`.
#
# **Asked**: one warp per row, no shared memory, no barriers, at most 5 shuffles per warp.
#
# <details><summary>Hint 1</summary>
#
# `warp_a_row` with another operator: what changes in the loop, in the shuffles, and in the line
# before the loop?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `cutlass.max(a, b)`, and −∞ is `-Float32.inf`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The predicate on the row is the same for all lanes of a warp, so the shuffles may stand inside of
# it; one on the column may not enclose them.
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
# In a maximum by butterfly every lane ends with the same value whatever the order, bit for bit,
# since a maximum does not round. That is not so for sums.
#
# </details>

# %% [markdown]
# It may be an operator on pairs, too, such as *the larger value, and where it stands*. Where two
# values are equal, a rule has to decide, or the result depends on who met whom.

# %% [markdown] exercise="week1/warp_argmax" part="task"
# ### Exercise 6: where is the largest?
#
# `y[m]` is the column of the largest element of row m, as int32; where several are the largest, the
# first one counts. Any M and N ≥ 1, `x` in float32 or float16. `warp_argmax(x, y)`.
#
# **Asked**: one warp per row, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# Two values travel together: the largest so far, and where it stands. Each is shuffled.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The other one wins if it is larger, or if it is equal and stands further to the left. A lane
# without an element has −∞.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A lane without an element must not win against a row of −∞ either: its column has to be behind
# every other. Both variables have to keep their types in the loop: `Float32` and `cutlass.Int32`.
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
# An operator on pairs, and it is associative and has an identity, so everything of this notebook
# works. Without a rule for ties the result would depend on which lane meets which; with it, any
# order gives the same: a result one can test.
#
# </details>

# %% [markdown]
# ## 6. A warp a row, or a block a row?
#
# If shuffles need no barrier inside a warp, why not leave a row to one warp, and have none at all?


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
# **Predict:** for rows of 31, how many times the instructions of a warp a row does a block a row
# execute? A row is short, and most of the 256 threads find nothing to read. And for rows of 10,000?

# %%
at_31 = fk.predict("times the instructions, rows of 31", None)
at_10_000 = fk.predict("times the instructions, rows of 10,000", None)

# %% jupyter={"outputs_hidden": true}
ratios = {}
print("  row  kernel       PTX instr. a byte   threads")
for n in (31, 100, 1000, 10_000):
    x, y = fk.rand(16, n), fk.empty(16)
    counted = []
    for name, fn in (("a block", shuffle), ("a warp", warp_a_row)):
        run = fk.compile(fn, x, y)
        run(x, y)
        fk.check(y, x.double().sum(1))
        p = fk.profile(run, x, y)
        threads = sum(q.grid[0] * q.block[0] for q in p.launches)
        counted.append(p.warp_instructions)
        print(f"{n:6,} {name:12s} {p.warp_instructions / x.nbytes:14.3f} {threads:12,}")
    ratios[n] = counted[0] / counted[1]
at_31.against(ratios[31])
at_10_000.against(ratios[10_000])

# %% [markdown]
# A block a row wastes instructions on short rows: each of its warps has a shuffled tree and a
# barrier for a row that one warp could read at once. On long rows both execute about the same for
# each byte, and then the other column decides: of 16 rows, a warp a row makes 512 threads, and a
# GPU has room for hundreds of thousands. **Many short rows: a warp each. Few long rows: a block
# each.**

# %% [markdown] exercise="week1/warp_normalise" part="task"
# ### Exercise 7: divide rows by their sums
#
# `y[m, n] = x[m, n] / (x[m, 0] + … + x[m, N-1])`, so that every row adds up to 1, in float32,
# float16 and bfloat16, computed in float32. Every lane needs the sum. `warp_normalise(x, y)`; no
# row has the sum 0.
#
# **Asked**: one warp per row, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# Two loops over the row, and between them the sum of a warp. Which of the two kinds of shuffle
# leaves it in every lane?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# After a butterfly each lane has the sum: no lane has to hand it to the others.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Divide once, not for each element: the second loop multiplies by what was computed after the
# shuffles, or divides by the sum; both are accepted. The line that stores converts.
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
# A reduction whose result everybody gets is an *all-reduce*. By butterfly it costs what a reduction
# to one lane costs. Softmax and the normalisations are of this form: reduce a row, then go through
# it again with the result. The second reading is week 2's story.
#
# </details>

# %% [markdown]
# What you said in this notebook, and what it was:

# %%
fk.predictions()

# %% [markdown]
# ## What it is worth
#
# Recorded on a real GPU, beside torch. Before you open it: which of the two wins at rows of 64, and
# which at 64 rows of 262,144?

# %% jupyter={"outputs_hidden": true}
from forgekit.benching.recorded import recorded

recorded("week1/02_shuffle")

# %% [markdown]
# Rows of 64 belong to a warp: a seventh of the time of a block a row, and half of torch's. 64 rows
# of 262,144 are 64 warps for the whole GPU if each warp has a row, and take seven times as long as
# with 64 blocks; torch, which splits them, needs about a quarter of that, or less. In between, in
# float32, there is hardly a difference. In float16 both stay below 80 % of a copy: a lane loads two
# bytes at a time. That is the next bad number.

# %% [markdown]
# ## Summary
#
# | step | barriers | shared memory | best for |
# |---|---|---|---|
# | `first_add` (`01_a_block_a_row`) | log₂ n | a word a thread | – |
# | `shuffle`, a block a row | 1 | 32 words | rows too long for a warp |
# | `warp_a_row` | 0 | none | many short rows |
#
# The barriers are gone. What is left is the loop: each lane loads **one element at a time**, 4
# bytes or 2, and **the bad number is the instructions a byte**.

# %%
steps = {"shuffle": shuffle, "warp_a_row": warp_a_row}

# %% [markdown]
# **In practice** every library's reductions end in these two levels. `forgekit.kernels.rows` has
# them as one tile, whose threads a row are a power of two up to 32, or whole warps.
#
# **Further reading:** [Using CUDA warp-level
# primitives](https://developer.nvidia.com/blog/using-cuda-warp-level-primitives/) (Y. Lin and V.
# Grover) on shuffles and masks · [Faster parallel reductions on
# Kepler](https://developer.nvidia.com/blog/faster-parallel-reductions-kepler/) (J. Luitjens), where
# they came from.
#
# **Next:** more bytes with each instruction, and more of them in flight
# ([`03_bytes_in_flight`](03_bytes_in_flight.ipynb)).
