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
# # Find the maximum and the sum in one pass
#
# **You will build** a softmax that reads each row twice instead of three times, once with one warp
# per row and once with one block per row.
# **You will learn** how to correct a sum after the fact, why pairs (maximum, sum) merge in any
# order like terms of a sum, and which rows hide a missing correction.
# **You need** `00_softmax_without_tears`. About 35 minutes, and 85 more for the exercises.
#
# **The bad number: three reads and a write.** The sum has to wait for the maximum, which the kernel
# knows only at the end of the row. This notebook removes the wait.

# %%
import math
import operator
import random

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32
from week2_helpers import (
    blocks_per_sm,
    butterfly_merged,
    checked,
    cost,
    executed,
    exp,
    finite,
    merged,
    merged_pair,
    moved_picture,
    staircase_picture,
    survivors,
    three_passes,
    time_ratios,
    tree_picture,
)

import forgekit as fk
from forgekit.benching.recorded import recorded
from forgekit.profiling.gpus import gpu_named
from forgekit.viz.ideas import online_softmax

# %% [markdown]
# ## 1. Correct a sum after the fact
#
# Go through a row once. After each element, keep the maximum *so far*, m, and the sum s of the
# exponentials relative to it, whose terms are $e^{x - m}$. When a larger element arrives, the
# maximum becomes m′, but every term in s is still relative to the old maximum. Fortunately, all
# terms are wrong by the same factor:
#
# $$e^{x - m'} = e^{x - m} \cdot e^{m - m'}$$
#
# The factor does not depend on x, so it can be taken out of the sum. Multiplying s by $e^{m - m'}$
# **rescales** the sum without reading the old elements again. This is the whole idea of the
# **online softmax** (Milakov and Gimelshein, 2018). Step by step:

# %%
row = [1.0, 3.0, 2.0, 5.0, -1.0, 5.0]
m, s = -math.inf, 0.0
print("    x     m   factor        s   sum of exp(x - m), recomputed")
for n, x in enumerate(row):
    m_new = max(m, x)
    factor = math.exp(m - m_new)
    s = s * factor + math.exp(x - m_new)
    m = m_new
    again = sum(math.exp(k - m) for k in row[: n + 1])
    print(f"{x:5.0f} {m:5.0f} {factor:8.4f} {s:8.4f}   {again:8.4f}")
staircase_picture(row)

# %% [markdown]
# The loop begins with m = −∞ and s = 0, the maximum and the sum of an empty row. The first factor
# is $e^{-\infty} = 0$, which is harmless because s is 0 as well.
#
# **Predict:** in a sequence of 1,000 random numbers, how many are larger than every number before
# them? The factor differs from 1 only at those elements.

# %%
new_maxima = fk.predict("new maxima among 1,000, on average", None)

# %% jupyter={"outputs_hidden": true}
many = fk.randn(200, 1000, device="virtual")
so_far = many.cummax(1).values
new_maxima.against(round(1 + (so_far[:, 1:] > so_far[:, :-1]).sum().item() / 200, 1), expected=7.5)
online_softmax(many[3, :60])

# %% [markdown]
# The n-th of n random numbers is the largest with probability 1/n, so the expected count is 1 + 1/2
# + … + 1/1000 = 7.5. The average of these 200 rows is close to that. So the loop rarely rescales
# the sum; remember that when you test it. The picture shows the first 60 elements of one row. Drag
# a point and watch the factors.
#
# ## 2. Two numbers for a part of a row
#
# Recall the rule of week 1: an operator that is associative and has an identity works in every tree
# of lanes, warps and blocks. Here the operator merges pairs (m, s). A single element is the pair
# (x, 1), because $e^{x - x} = 1$. The pair of an empty part is (−∞, 0). To merge two parts of a
# row, rescale *both* sums to the larger maximum:
#
# $$m = \max(m_a, m_b) \qquad s = s_a\, e^{m_a - m} + s_b\, e^{m_b - m}$$

# %% [markdown] exercise="week2/merge" part="task"
# ### Exercise 1: merge two parts of a row
#
# Write `merge(a, b)` in plain Python. `a` and `b` are the pairs (m, s) of two parts of a row: the
# maximum, and the sum of all `exp(x - m)`. Return the pair of the combined parts. `(-math.inf,
# 0.0)` is the pair of an empty part: merging it with another pair returns the other pair, and
# merging it with itself returns `(-math.inf, 0.0)`.
#
# <details><summary>Hint 1</summary>
#
# The new maximum is easy to find. By which factor must each of the two sums be multiplied?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The factor is `math.exp(old maximum - new maximum)`. One of the two factors is 1, but you need not
# know which.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# If both maxima are -inf, the difference is NaN. In that case, a line before the exponentials must
# choose another number to subtract. Both sums are 0, so any finite number works.
#
# </details>


# %% exercise="week2/merge" part="skeleton"
def merge(a, b):
    # FILL ME IN (roughly 3 lines)
    return a


# %% exercise="week2/merge" part="grade"
fk.exercise("week2/merge").grade(merge)

# %% [markdown] exercise="week2/merge" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# def merge(a, b):
#     m = max(a[0], b[0])
#     shift = m if m > -math.inf else 0.0
#     return m, a[1] * math.exp(a[0] - shift) + b[1] * math.exp(b[0] - shift)
# ```
#
# This is the operator of the whole week. It is associative (up to rounding) and commutative, and it
# has an identity. So, like addition, it works across loop iterations, lanes, warps, blocks and
# clusters. `logsumexp` is the same operator in another form: m + log s.
#
# </details>

# %% [markdown]
# The helper `merged_pair(a, b)` does the same. Is it associative, and is (−∞, 0) its identity? The
# next cell tests both. A test is not a proof, but it would expose a mistake. The cell merges 500
# rows with masked elements and empty parts, each in its own random tree, and compares the results
# with the two-pass formula.


# %%
def in_any_order(pairs, chance):
    """Merge neighbours, chosen at random, until one pair is left: a random tree."""
    pairs = list(pairs)
    while len(pairs) > 1:
        k = chance.randrange(len(pairs) - 1)
        pairs[k : k + 2] = [merged_pair(pairs[k], pairs[k + 1])]
    return pairs[0]


chance, worst = random.Random(0), 0.0
for _ in range(500):
    values = [chance.gauss(0, 30) if chance.random() < 0.7 else -math.inf for _ in range(20)]
    pairs = [(x, 1.0) for x in values] + [(-math.inf, 0.0)] * chance.randrange(5)
    chance.shuffle(pairs)
    m, s = in_any_order(pairs, chance)
    exact = math.fsum(math.exp(x - max(values)) for x in values)
    assert m == max(values)
    worst = max(worst, abs(s - exact) / exact)
assert worst < 1e-14
print("500 rows: every maximum correct, every sum correct to 14 digits")
print("identity, left and right:", merged_pair((-math.inf, 0.0), (3.0, 1.5)), end=" ")
print(merged_pair((3.0, 1.5), (-math.inf, 0.0)))

# %% [markdown]
# As with a sum, the rounding depends slightly on the tree. This is the tree of a butterfly over
# eight elements:

# %% jupyter={"outputs_hidden": true}
tree_picture((2, 4, 1, 7, 3, 0, 5, 6))

# %% [markdown]
# ## 3. Across the lanes of a warp
#
# On a GPU, a warp computes that tree as a butterfly with two shuffles per step. First write only
# the merge, for pairs that are already in memory:

# %% [markdown] exercise="week2/merge_lanes" part="task"
# ### Exercise 2: merge the pairs of 32 lanes
#
# Row r of `m` and `s`, both (rows, 32) in float32, holds the pairs (m, s) of 32 lanes at the end of
# their loops. Merge them: `y[r, 0]` is the maximum, and `y[r, 1]` is the sum relative to it. A lane
# without elements holds (−∞, 0). If all lanes of a row hold it, the result is (−∞, 0). Signature:
# `merge_lanes(m, s, y)`.
#
# **Required**: one warp per row, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# Write a butterfly of five steps, as for a sum, with `merge` in place of the addition. Which values
# does each step shuffle?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Each step shuffles m and s. Do both shuffles before either value changes, because the factor needs
# the old maximum.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# If both maxima are -inf, the difference is NaN. A line before the exponentials must choose the
# number to subtract: the new maximum, or 0 if that is -inf.
#
# </details>


# %% exercise="week2/merge_lanes" part="skeleton"
@cute.kernel
def merge_lanes_kernel(mM: cute.Tensor, mS: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 15 lines)
    pass


@cute.jit
def merge_lanes(mM: cute.Tensor, mS: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/merge_lanes" part="grade"
fk.exercise("week2/merge_lanes").grade(merge_lanes)

# %% [markdown] exercise="week2/merge_lanes" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# @cute.kernel
# def merge_lanes_kernel(mM: cute.Tensor, mS: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     lane, row = tidx % 32, bidx * 8 + tidx // 32
#     if row < mM.shape[0]:
#         m, s = mM[row, lane], mS[row, lane]
#         for k in cutlass.range_constexpr(5):
#             other_m = cute.arch.shuffle_sync_bfly(m, offset=16 >> k)
#             other_s = cute.arch.shuffle_sync_bfly(s, offset=16 >> k)
#             both = cute.arch.fmax(m, other_m)
#             shift = Float32(0.0) if both == -Float32.inf else both
#             s *= cute.math.exp(m - shift, fastmath=True)
#             s += other_s * cute.math.exp(other_m - shift, fastmath=True)
#             m = both
#         if lane == 0:
#             mY[row, 0], mY[row, 1] = m, s
#
#
# @cute.jit
# def merge_lanes(mM: cute.Tensor, mS: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mM.shape[0], 8)
#     merge_lanes_kernel(mM, mS, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))
# ```
#
# The butterfly takes ten shuffles and ten exponentials per lane. A cheaper way is common in
# production kernels: five shuffles find the maximum of all lanes, each lane rescales its own sum
# *once*, and five more shuffles add the sums. But that requires all pairs at the same time, and a
# loop over a row sees them one after another.
#
# </details>

# %% [markdown]
# The complete kernel merges in two stages. Each lane goes through its part of the row, starting
# from (−∞, 0); then the lanes merge their pairs. Two helpers do the merging: `merged(a, b)` is the
# formula of section 2 in CuTe DSL, and `butterfly_merged(m, s, lanes)` is the solution of your
# exercise for 8 or 32 lanes.
#
# <details><summary>The code of both</summary>
#
# ```python
# @cute.jit
# def finite(m):
#     return Float32(0.0) if m == -Float32.inf else m
#
#
# @cute.jit
# def merged(a, b):
#     m = cute.arch.fmax(a[0], b[0])
#     shift = finite(m)
#     return m, a[1] * exp(a[0] - shift) + b[1] * exp(b[0] - shift)
#
#
# @cute.jit
# def butterfly_merged(m, s, lanes: cutlass.Constexpr = 32):
#     for k in cutlass.range_constexpr(lanes.bit_length() - 1):
#         other = tuple(cute.arch.shuffle_sync_bfly(v, offset=1 << k) for v in (m, s))
#         m, s = merged((m, s), other)
#     return m, s
# ```
#
# </details>


# %%
@cute.kernel
def online_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    lane, row = tidx % 32, bidx * 8 + tidx // 32
    if row < mX.shape[0]:
        m, s = -Float32.inf, Float32(0.0)
        for n in range(lane, mX.shape[1], 32):
            m, s = merged((m, s), (mX[row, n].to(Float32), Float32(1.0)))
        m, s = butterfly_merged(m, s, 32)
        for n in range(lane, mX.shape[1], 32):
            mY[row, n] = (exp(mX[row, n].to(Float32) - m) / s).to(mY.element_type)


@cute.jit
def online(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[0], 8)
    online_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))


run_online = checked(online, 1, 5, 33, 1025)

# %% [markdown]
# `online` is correct for all hard rows of these four lengths. The work of its loop depends on the
# *order* of the elements, so the hard rows include ascending, descending and masked rows, and some
# are too short to give every lane an element. Two parts of the loop are easy to forget.
#
# > **Looks right but is wrong.** Each of the next two kernels lacks one part of the loop.
# > `no_rescaling` adds $e^{x - m}$ with the maximum so far but never rescales the sum. `no_guard`
# > subtracts m even when it is −∞. Both merge their lanes correctly.


# %%
@cute.jit
def without_rescaling(a, x):
    m = cute.arch.fmax(a[0], x)
    return m, a[1] + exp(x - finite(m))


@cute.jit
def without_guard(a, x):
    m = cute.arch.fmax(a[0], x)
    return m, a[1] * exp(a[0] - m) + exp(x - m)


@cute.kernel
def careless_kernel(mX: cute.Tensor, mY: cute.Tensor, absorb: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    lane, row = tidx % 32, bidx * 8 + tidx // 32
    if row < mX.shape[0]:
        m, s = -Float32.inf, Float32(0.0)
        for n in range(lane, mX.shape[1], 32):
            m, s = absorb((m, s), mX[row, n].to(Float32))
        m, s = butterfly_merged(m, s, 32)
        for n in range(lane, mX.shape[1], 32):
            mY[row, n] = (exp(mX[row, n].to(Float32) - m) / s).to(mY.element_type)


def careless(absorb):
    @cute.jit
    def host(mX: cute.Tensor, mY: cute.Tensor):
        blocks = cute.ceil_div(mX.shape[0], 8)
        careless_kernel(mX, mY, absorb).launch(grid=(blocks, 1, 1), block=(256, 1, 1))

    return host


no_rescaling, no_guard = careless(without_rescaling), careless(without_guard)

# %% [markdown]
# **Predict:** for how many of the eight hard rows is `no_rescaling` correct if each row has 1,000
# elements? And if each has 31? For how many is `no_guard` correct at 1,000 elements?

# %%
long_rows = fk.predict("correct without rescaling, 1,000 elements", None)
short_rows = fk.predict("correct without rescaling, 31 elements", None)
unguarded = fk.predict("correct without the guard, 1,000 elements", None)

# %% jupyter={"outputs_hidden": true}
for guess, fn, n in (
    (long_rows, no_rescaling, 1000),
    (short_rows, no_rescaling, 31),
    (unguarded, no_guard, 1000),
):
    good = survivors(fn, n)
    guess.against(len(good))
    print("   correct:", ", ".join(good))

# %% [markdown]
# In a descending row, each lane meets its maximum first and never has to rescale, so even a kernel
# that cannot rescale returns the correct result. In a row of up to 32 elements, each lane has at
# most one element, so the kernel is correct for *every* such row. Any small example that you work
# out by hand would pass.
#
# Without the guard, a lane whose first element is masked has m = −∞ and subtracts −∞ from −∞. The
# NaN stays in its sum, and the butterfly spreads it to the whole row. The completely masked row is
# NaN in either kernel, as in torch: with the guard its sum is 0, and the subtraction in the last
# loop, −∞ − (−∞), yields NaN.

# %% [markdown] exercise="week2/what_hides" part="task"
# ### Exercise 3: predict which rows expose a mistake
#
# In an online softmax with one warp per row, lane i starts with (m, s) = (−∞, 0) and absorbs
# elements i, i + 32, i + 64, …; then the lanes merge their pairs. Each line names one mistake in an
# otherwise correct kernel, and a row. Answer `"right"` if the weights of that row are still
# correct, `"wrong"` if they are incorrect numbers, and `"NaN"` if they are NaN.
#
# <details><summary>Hint 1</summary>
#
# One lane sees only every 32nd element of the row.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A missing factor shows only where it is not 1; an extra term shows only where it is not multiplied
# by 0.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# For each line, write down (m, s) of lanes 0 and 1 before the merge, and then the merged pair.
#
# </details>

# %% exercise="week2/what_hides" part="skeleton"
shows = {  # each: "right", "wrong" or "NaN"
    # FILL ME IN (roughly 11 lines)
    "the sum is not rescaled in the loop: 1,000 random elements, the first the largest": None,
    "the sum is not rescaled in the loop: 1,000 equal elements": None,
    "the lanes' sums are added without rescaling: 1,000 descending elements": None,
    "the lanes' sums are added without rescaling: 1,000 equal elements": None,
    "m starts at 0: 1,000 elements around -1,000": None,
    "m starts at 0: 1,000 random elements": None,
    "s starts at 1: 1,000 random elements": None,
    "s starts at 1: 20 random elements": None,
    "no guard in the loop: 1,000 elements, the first 32 masked": None,
    "no guard in the loop: 1,000 elements, the last third masked": None,
    "no guard in the loop: 1,000 elements, every second masked": None,
}

# %% exercise="week2/what_hides" part="grade"
fk.exercise("week2/what_hides").grade(shows)

# %% [markdown] exercise="week2/what_hides" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# shows = {  # each: "right", "wrong" or "NaN"
#     "the sum is not rescaled in the loop: 1,000 random elements, the first the largest": "wrong",
#     "the sum is not rescaled in the loop: 1,000 equal elements": "right",
#     "the lanes' sums are added without rescaling: 1,000 descending elements": "wrong",
#     "the lanes' sums are added without rescaling: 1,000 equal elements": "right",
#     "m starts at 0: 1,000 elements around -1,000": "NaN",
#     "m starts at 0: 1,000 random elements": "right",
#     "s starts at 1: 1,000 random elements": "right",
#     "s starts at 1: 20 random elements": "right",
#     "no guard in the loop: 1,000 elements, the first 32 masked": "NaN",
#     "no guard in the loop: 1,000 elements, the last third masked": "right",
#     "no guard in the loop: 1,000 elements, every second masked": "NaN",
# }
# ```
#
# `s` may start at any finite number, because the first element multiplies it by $e^{-\infty} = 0$.
# No single row exposes every mistake. A test of an online softmax needs ascending rows, rows whose
# lanes have different maxima, rows far below 0, rows whose first elements are masked, and rows that
# leave lanes without elements.
#
# </details>

# %% [markdown]
# Any other mergeable value can accompany the pair (m, s). And a kernel that does not write a row of
# results needs only one pass:

# %% [markdown] exercise="week2/confidence" part="task"
# ### Exercise 4: say how sure a classifier is
#
# `p[m]` is the largest weight of the softmax of row m, and `at[m]` is its column, as int32. If
# several elements of x are the largest, return the column of the first. Elements of a row may be
# −∞, but not all of them. Support any M and N ≥ 1, with `x` and `p` in float32 or float16; compute
# in float32. Read each row **once**. Signature: `confidence(x, p, at)`.
#
# **Required**: one warp per row, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# Relative to the maximum, what is the exponential of the largest element? What does that make its
# weight?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Three values pass through the loop and the shuffles: m, s, and the column of m. The weight is 1/s.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Keep the column of the larger maximum; if both maxima are equal, keep the smaller column, as in
# `warp_argmax`. A lane without elements starts with a column number beyond the last. Choose the
# column in a line before m changes.
#
# </details>


# %% exercise="week2/confidence" part="skeleton"
# FILL ME IN (roughly 11 lines)
@cute.kernel
def confidence_kernel(mX: cute.Tensor, mP: cute.Tensor, mAt: cute.Tensor):
    # FILL ME IN (roughly 13 lines)
    pass


@cute.jit
def confidence(mX: cute.Tensor, mP: cute.Tensor, mAt: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/confidence" part="grade"
fk.exercise("week2/confidence").grade(confidence)

# %% [markdown] exercise="week2/confidence" part="solution"
# <details><summary>Solution of exercise 4</summary>
#
# ```python
# @cute.jit
# def surer(a, b):
#     """(maximum, sum relative to it, column of the maximum) of two parts of a row together."""
#     m = cute.arch.fmax(a[0], b[0])
#     shift = Float32(0.0) if m == -Float32.inf else m
#     s = a[1] * cute.math.exp(a[0] - shift, fastmath=True)
#     s += b[1] * cute.math.exp(b[0] - shift, fastmath=True)
#     at = a[2]
#     if b[0] > a[0] or (b[0] == a[0] and b[2] < a[2]):
#         at = b[2]
#     return m, s, at
#
#
# @cute.kernel
# def confidence_kernel(mX: cute.Tensor, mP: cute.Tensor, mAt: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     lane, row = tidx % 32, bidx * 8 + tidx // 32
#     if row < mX.shape[0]:
#         m, s, at = -Float32.inf, Float32(0.0), Int32(mX.shape[1])
#         for n in range(lane, mX.shape[1], 32):
#             m, s, at = surer((m, s, at), (mX[row, n].to(Float32), Float32(1.0), Int32(n)))
#         for k in cutlass.range_constexpr(5):
#             other = tuple(cute.arch.shuffle_sync_bfly(v, offset=16 >> k) for v in (m, s, at))
#             m, s, at = surer((m, s, at), other)
#         if lane == 0:
#             mP[row] = (1.0 / s).to(mP.element_type)
#             mAt[row] = at
#
#
# @cute.jit
# def confidence(mX: cute.Tensor, mP: cute.Tensor, mAt: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 8)
#     confidence_kernel(mX, mP, mAt).launch(grid=(blocks, 1, 1), block=(256, 1, 1))
# ```
#
# Classifiers need this number all the time. It requires neither the whole softmax nor a second
# pass: the kernel reads the matrix once and writes two numbers per row. Any mergeable value can
# accompany (m, s); with a vector of values instead of the column, this is flash attention.
#
# </details>

# %% [markdown]
# A good place for a break.
#
# ## 4. Across the warps of a block
#
# If rows are long or few, each row needs a whole block. The block's eight warps exchange their
# pairs through shared memory, which takes two words per warp and one barrier. Then *every* warp
# merges all eight pairs, because every thread needs the result. Lane i reads pair i % 8, so a
# three-step butterfly merges them.


# %%
@cute.kernel
def online_block_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sMax = smem.allocate_tensor(Float32, cute.make_layout(8), 16)  # (8):(1)
    sSum = smem.allocate_tensor(Float32, cute.make_layout(8), 16)  # (8):(1)
    m, s = -Float32.inf, Float32(0.0)
    for n in range(tidx, mX.shape[1], 256):
        m, s = merged((m, s), (mX[row, n].to(Float32), Float32(1.0)))
    m, s = butterfly_merged(m, s, 32)
    if tidx % 32 == 0:
        sMax[tidx // 32], sSum[tidx // 32] = m, s
    cute.arch.sync_threads()
    m, s = butterfly_merged(sMax[tidx % 8], sSum[tidx % 8], 8)
    for n in range(tidx, mX.shape[1], 256):
        mY[row, n] = (exp(mX[row, n].to(Float32) - m) / s).to(mY.element_type)


@cute.jit
def online_block(mX: cute.Tensor, mY: cute.Tensor):
    online_block_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(256, 1, 1))


run_block = checked(online_block, 1, 257, 4000)
x, y = fk.randn(2, 1000), fk.empty(2, 1000)
print(fk.sanitize(fk.compile(online_block, x, y), x, y, schedule="adversarial", seeds=2))

# %% [markdown] exercise="week2/block_logsumexp" part="task"
# ### Exercise 5: compute log-sum-exp in one pass, one block per row
#
# As before, `y[m]` is the logarithm of the sum of the exponentials of row m. Support float32,
# float16 and bfloat16; compute in float32. Read each element **once**. The tests use hard rows; a
# row of −∞ gives −∞. Signature: `block_logsumexp(x, y)`.
#
# **Required**: one block per row, 256 threads per block, 8 warps per block that share the loads, at
# most 1 barrier, at most 256 bytes of shared memory per block.
#
# <details><summary>Hint 1</summary>
#
# Each thread carries (m, s) through its part of the row. Which are merged first, lanes or warps?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The same merge absorbs an element (as the pair (x, 1)), another lane's pair, and another warp's
# pair. Write it once, as a function with `@cute.jit`, and call it in all three places.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Put eight pairs into shared memory. After one barrier, each lane reads the pair `tidx % 8`, and a
# butterfly of three steps merges them. Thread 0 stores m + log(s) in the last line.
#
# </details>


# %% exercise="week2/block_logsumexp" part="skeleton"
# FILL ME IN (roughly 7 lines)
@cute.kernel
def block_logsumexp_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 20 lines)
    pass


@cute.jit
def block_logsumexp(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 1 line)
    pass


# %% exercise="week2/block_logsumexp" part="grade"
fk.exercise("week2/block_logsumexp").grade(block_logsumexp)

# %% [markdown] exercise="week2/block_logsumexp" part="solution"
# <details><summary>Solution of exercise 5</summary>
#
# ```python
# @cute.jit
# def together(a, b):
#     """(maximum, sum relative to it) of two parts of a row together."""
#     m = cute.arch.fmax(a[0], b[0])
#     shift = Float32(0.0) if m == -Float32.inf else m
#     s = a[1] * cute.math.exp(a[0] - shift, fastmath=True)
#     return m, s + b[1] * cute.math.exp(b[0] - shift, fastmath=True)
#
#
# @cute.kernel
# def block_logsumexp_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     row, _, _ = cute.arch.block_idx()
#     smem = cutlass.memory.SmemAllocator()
#     sMax = smem.allocate_tensor(Float32, cute.make_layout(8), 16)
#     sSum = smem.allocate_tensor(Float32, cute.make_layout(8), 16)
#     m, s = -Float32.inf, Float32(0.0)
#     for n in range(tidx, mX.shape[1], 256):
#         m, s = together((m, s), (mX[row, n].to(Float32), Float32(1.0)))
#     for k in cutlass.range_constexpr(5):
#         other = tuple(cute.arch.shuffle_sync_bfly(v, offset=16 >> k) for v in (m, s))
#         m, s = together((m, s), other)
#     if tidx % 32 == 0:
#         sMax[tidx // 32], sSum[tidx // 32] = m, s
#     cute.arch.sync_threads()
#     m, s = sMax[tidx % 8], sSum[tidx % 8]
#     for k in cutlass.range_constexpr(3):
#         other = tuple(cute.arch.shuffle_sync_bfly(v, offset=4 >> k) for v in (m, s))
#         m, s = together((m, s), other)
#     if tidx == 0:
#         mY[row] = (m + cute.math.log(s, fastmath=True)).to(mY.element_type)
#
#
# @cute.jit
# def block_logsumexp(mX: cute.Tensor, mY: cute.Tensor):
#     block_logsumexp_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(256, 1, 1))
# ```
#
# If only the loss is needed, a softmax costs no more than reading each row once and writing one
# number. The pair of a row of −∞ is (−∞, 0), and m + log s is −∞ without special code. With (m, s),
# only the merge needs a special case.
#
# </details>

# %% [markdown] exercise="week2/online_columns" part="task"
# ### Exercise 6: take the softmax of columns with eight threads per column
#
# `y[:, n]` is the softmax of column n. Support any M and N ≥ 1 and the types float32, float16 and
# bfloat16; compute in float32, in **two** passes. A warp reads 32 neighbouring elements of one row,
# and the eight warps share the rows, as in `tile_columns` of week 1. The warps exchange the eight
# pairs (m, s) of a column through shared memory; choose the stride of its layout with care. The
# tests use hard columns; a column of −∞ gives NaN. Signature: `online_columns(x, y)`.
#
# **Required**: one block per 32 columns, 256 threads per block, 8 warps per block that share the
# loads, at most 1 barrier, no bank conflicts.
#
# <details><summary>Hint 1</summary>
#
# A thread handles column `tidx % 32` of the block, in row `tidx // 32` and every eighth row after
# it, and keeps one pair. Why is there nothing to shuffle?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Allocate two shared tensors of (8, 32) words. After the barrier, each thread reads all eight pairs
# of its column, because each thread needs the result.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A thread beyond the last column must also reach the barrier: the predicate surrounds the two loops
# over rows, but not the lines between them.
#
# </details>


# %% exercise="week2/online_columns" part="skeleton"
# FILL ME IN (roughly 7 lines)
@cute.kernel
def online_columns_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 21 lines)
    pass


@cute.jit
def online_columns(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/online_columns" part="grade"
fk.exercise("week2/online_columns").grade(online_columns)

# %% [markdown] exercise="week2/online_columns" part="solution"
# <details><summary>Solution of exercise 6</summary>
#
# ```python
# @cute.jit
# def of_both(a, b):
#     """(maximum, sum relative to it) of two parts of a column together."""
#     m = cute.arch.fmax(a[0], b[0])
#     shift = Float32(0.0) if m == -Float32.inf else m
#     s = a[1] * cute.math.exp(a[0] - shift, fastmath=True)
#     return m, s + b[1] * cute.math.exp(b[0] - shift, fastmath=True)
#
#
# @cute.kernel
# def online_columns_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     warp, lane = tidx // 32, tidx % 32
#     col = bidx * 32 + lane
#     smem = cutlass.memory.SmemAllocator()
#     layout = cute.make_layout((8, 32), stride=(32, 1))
#     sMax = smem.allocate_tensor(Float32, layout, 16)
#     sSum = smem.allocate_tensor(Float32, layout, 16)
#     m, s = -Float32.inf, Float32(0.0)
#     if col < mX.shape[1]:
#         for k in range(warp, mX.shape[0], 8):
#             m, s = of_both((m, s), (mX[k, col].to(Float32), Float32(1.0)))
#     sMax[warp, lane], sSum[warp, lane] = m, s
#     cute.arch.sync_threads()
#     m, s = -Float32.inf, Float32(0.0)
#     for k in cutlass.range_constexpr(8):
#         m, s = of_both((m, s), (sMax[k, lane], sSum[k, lane]))
#     if col < mX.shape[1]:
#         for k in range(warp, mX.shape[0], 8):
#             e = cute.math.exp(mX[k, col].to(Float32) - m, fastmath=True)
#             mY[k, col] = (e / s).to(mY.element_type)
#
#
# @cute.jit
# def online_columns(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[1], 32)
#     online_columns_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))
# ```
#
# Merging the eight pairs in sequence keeps every thread busy: each thread merges the pairs of its
# own column, and neighbouring threads read neighbouring words. The same operator works in a loop,
# across lanes, and through shared memory.
#
# </details>

# %% [markdown]
# ## 5. Count again
#
# `cost` profiles a call and returns its reads and writes as multiples of the matrix's size, and its
# instructions per element. `executed(profile, opcode)` counts one opcode. The helpers also contain
# `three_passes` from the last notebook.
#
# **Predict:** how many times does `online` move the matrix? And how many exponentials does it
# compute per element? (`three_passes` computes two.)

# %%
moved = fk.predict("times the matrix, online", None)
exponentials = fk.predict("exponentials per element, online", None)

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(8, 2048), fk.empty(8, 2048)
steps = {"three_passes": three_passes, "online": online, "online_block": online_block}
costs, powers = {}, {}
for name, fn in steps.items():
    run = fk.compile(fn, x, y)
    costs[name] = cost(run, x, y)
    powers[name] = 32 * executed(fk.profile(run, x, y), "ex2") / x.numel()
    print(f"{name:>12}: {costs[name]}, {powers[name]:.2f} of them exponentials")
moved.against(costs["online"].reads + costs["online"].writes)
exponentials.against(round(powers["online"]))
moved_picture("One read fewer", costs)

# %% [markdown]
# The kernel saves a pass but computes one more exponential per element. (One of the two
# exponentials in the loop is always $e^0$, because the larger of m and x is the new m. A `merged`
# that tests which is larger needs only one exponential, plus a comparison.) In `online_block` each
# thread has only eight of the 2,048 elements, so its eight merging steps, with two exponentials
# each, make up a larger share.
#
# ## 6. The time saved
#
# **Predict:** judged by bytes alone, `online` would take ¾ of the time of `three_passes`. What was
# the ratio on an H200 for 32,768 rows of 4,096 `float32`? And for 64 rows of 262,144 elements, by
# what factor was one block per row faster than one warp per row?

# %%
ratio = fk.predict("time of online / time of three_passes", None)
by_block = fk.predict("time of online / time of online_block, 64 rows", None)

# %% jupyter={"outputs_hidden": true}
times = recorded("week2/01_online")
ratios = time_ratios(times, "online", "three_passes")
blocks = time_ratios(times, "online", "online_block")
ratio.against(round(ratios[(32768, 4096), "float32"], 2))
by_block.against(round(blocks[(64, 262144), "float32"], 1))
print(
    "all sizes and types: online / three_passes",
    f"{min(ratios.values()):.2f} to {max(ratios.values()):.2f}",
)
print(f"256 float32 per row: online / online_block {blocks[(131072, 256), 'float32']:.2f}")
times

# %% [markdown]
# Dropping a pass saves 4 to 19 % of the time, never the full quarter that is its share of the
# bytes. As in week 1, one warp per row suits short rows, and one block per row suits long rows,
# especially when there are only a few of them.
#
# One result is surprising: at 4,096 elements, one block per row is much faster than one warp per
# row. How much of x is in use at a time on the GPU's 132 multiprocessors (**SMs**)? The helper
# `blocks_per_sm` returns how many blocks of 256 threads fit on one SM.

# %%
h200 = gpu_named("H200")
for name, fn, rows_per_block in (("warp", online, 8), ("block", online_block, 1)):
    blocks = blocks_per_sm(fk.compile(fn, x, y), 256)
    in_use = h200.multiprocessors * blocks * rows_per_block * 4096 * 4
    print(f"one {name} per row: {blocks} blocks per SM, {in_use / 1e6:.1f} MB of x at a time")
print(f"the L2 cache: {h200.l2_bytes / 1e6:.1f} MB")

# %% [markdown]
# With one block per row, all rows in use fit into the L2 cache; with one warp per row they do not.
# So a block's second pass can find its row in the cache. The profile cannot show this, because it
# counts requests. (This arithmetic merely agrees with the times. To measure the cache hits, you
# need a profiler on a GPU.) Rows four times as long would not fit even with one block per row.
#
# Here are your predictions in this notebook, beside the results:

# %%
fk.predictions()

# %% [markdown]
# ## Summary
#
# | kernel | reads of the row | writes | exponentials per element | suited to |
# |---|---|---|---|---|
# | `three_passes` | 3 | 1 | 2 | comparison |
# | `online`, one warp per row | 2 | 1 | 3, plus merging lanes | many short rows |
# | `online_block`, one block per row | 2 | 1 | 3, plus merging lanes and warps | long rows |
#
# | operand | operator | identity |
# |---|---|---|
# | (m, s) | take the larger m, and add both s rescaled to it | (−∞, 0) |
# | an element x | the same, as the pair (x, 1) | |
#
# **The bad number: the row is read twice**, once for (m, s) and once for the result. Each thread
# had all its elements in registers at some point, but discarded them.
#
# **In practice** kernels combine two kinds of reduction. A thread that holds all its elements finds
# their maximum first, so it does not rescale at each element. Kernels merge pairs only where data
# arrive in sequence (tiles of a row too long to hold) or in different places (warps, or the blocks
# of a cluster). With a third component, the weighted sum of the values so far, the pair becomes the
# core of flash attention.
#
# **Further reading:** [Online normalizer calculation for softmax](https://arxiv.org/abs/1805.02867)
# (M. Milakov and N. Gimelshein), a four-page paper ·
# [FlashAttention](https://arxiv.org/abs/2205.14135) (T. Dao and others), which builds on it.
#
# **Next:** keep the row, and read it once
# ([`02_the_row_in_registers`](02_the_row_in_registers.ipynb)).
