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
# **You will build** a softmax that reads a row twice in place of three times, by warps and by
# blocks.
# **You will learn** how a sum is corrected after the fact, why (maximum, sum) is an operator like
# any other, and which rows hide that the correction was forgotten.
# **You need** `00_softmax_without_tears`. About 35 minutes, and 75 more for the exercises.
#
# **The bad number: three reads and a write.** The sum has to wait for the maximum, and the
# maximum is known when the row has been read to its end. So it seems.

# %%
import math
import operator
import random

import cutlass
import cutlass.cute as cute
import matplotlib.pyplot as plt
import torch
from cutlass import Float32, Int32

import forgekit as fk

# %% [markdown]
# ## 1. Correct a sum after the fact
#
# Go through a row once. At each element there is a maximum *so far*, m, and a sum of exponentials
# relative to it, s: all terms are $e^{x - m}$. Now comes an element that is larger, and the maximum
# becomes m′. All terms in s are relative to the wrong number now. But all of them in the same way:
#
# $$e^{x - m'} = e^{x - m} \cdot e^{m - m'}$$
#
# The factor does not depend on x, so it can be taken out of the sum. The sum is **rescaled** by
# $e^{m - m'}$, once, and nobody has to know any more which elements were in it. That is all there
# is to the **online softmax** (Milakov and Gimelshein, 2018). Step by step:

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

# %% [markdown]
# It begins with m = −∞ and s = 0: the maximum and the sum of nothing. The first factor is
# $e^{-\infty} = 0$, and 0 · 0 does no harm.
#
# **Predict:** of 1,000 random numbers, how many are larger than all before them? That often the
# factor is not 1.

# %%
new_maxima = fk.predict("new maxima among 1,000, on average", None)

# %% jupyter={"outputs_hidden": true}
many = fk.randn(200, 1000, device="virtual")
so_far = many.cummax(1).values
new_maxima.against(round(1 + (so_far[:, 1:] > so_far[:, :-1]).sum().item() / 200, 1), expected=7.5)

m, s, history = -math.inf, 0.0, []
for x in (many[3, :60] + torch.linspace(-4, 4, 60)).tolist():
    m_new = max(m, x)
    s, m = s * math.exp(m - m_new) + math.exp(x - m_new), m_new
    history.append((x, m, s))
figure, axes = plt.subplots(figsize=(6.4, 3))
values, maxima, sums = zip(*history, strict=True)
axes.plot(values, ".", color="gray", label="x")
axes.step(range(60), maxima, where="post", label="m, the maximum so far")
axes.plot(sums, label="s, relative to it")
axes.set(xlabel="elements read", title="s falls where m rises")
axes.legend(loc="lower right")
plt.show()

# %% [markdown]
# The n-th of n random numbers is the largest with probability 1/n, and 1 + 1/2 + … + 1/1000 is 7.5,
# near which an average of 200 rows comes. Hardly ever is there anything to rescale. Remember that
# when you test it. (The row in the picture rises on average, or there would be little to see.)
#
# ## 2. Two numbers for a part of a row
#
# Week 1 had a rule: an operator that is associative and has an identity goes through every tree,
# over lanes, warps and blocks. A single element is the pair (x, 1), for $e^{x - x} = 1$. The pair
# of no element at all is (−∞, 0). And two parts of a row are merged by rescaling *both* to the
# larger maximum:
#
# $$m = \max(m_a, m_b) \qquad s = s_a\, e^{m_a - m} + s_b\, e^{m_b - m}$$
#
# Write it before you read on.

# %% [markdown] exercise="week2/merge" part="task"
# ### Exercise 1: merge two parts of a row
#
# Write `merge(a, b)` in plain Python. `a` and `b` are pairs (m, s), of two parts of a row: the
# maximum, and the sum of all `exp(x - m)`. It gives the pair of both parts together. `(-math.inf,
# 0.0)` is the pair of no element at all: merging it changes nothing, and two of them give it again.
#
# <details><summary>Hint 1</summary>
#
# The new maximum is the easy part. By which factor is each of the two sums rescaled?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# By `math.exp(old maximum - new maximum)`. For one of the two the factor is 1, and you need not
# know for which.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# If both maxima are -inf, the difference is NaN. Decide, in a line before the exponentials, what is
# subtracted in that case: both sums are 0, so any number does.
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
# This is the operator of the whole week. It is associative, up to rounding, and commutative, and it
# has an identity: so it goes through loops, lanes, warps, blocks and clusters, like a sum.
# `logsumexp` is the same operator in other clothes: m + log s.
#
# </details>

# %% [markdown]
# Here is one to go on with. It says what it subtracts: the maximum, or 0 where there is no maximum
# yet, since −∞ − (−∞) would be NaN.


# %%
def merged_pair(a, b):
    """(maximum, sum relative to it) of two parts of a row together."""
    m = max(a[0], b[0])
    shift = m if m > -math.inf else 0.0
    return m, a[1] * math.exp(a[0] - shift) + b[1] * math.exp(b[0] - shift)


def in_any_order(pairs, chance):
    """Merge neighbours, chosen at random, until one pair is left: a random tree."""
    pairs = list(pairs)
    while len(pairs) > 1:
        k = chance.randrange(len(pairs) - 1)
        pairs[k : k + 2] = [merged_pair(pairs[k], pairs[k + 1])]
    return pairs[0]


# %% [markdown]
# Is it associative, and is (−∞, 0) its identity? Not a proof, but 500 rows with masked elements and
# empty parts among them, each merged in a tree of its own, beside the formula in two passes:

# %%
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
print("500 rows: every maximum right, every sum right to 14 digits")
print("identity, left and right:", merged_pair((-math.inf, 0.0), (3.0, 1.5)), end=" ")
print(merged_pair((3.0, 1.5), (-math.inf, 0.0)))

# %% [markdown]
# Up to rounding, that is: like a sum, it gives slightly different bits in each tree. In the tree of
# a butterfly, eight elements look like this:

# %% jupyter={"outputs_hidden": true}
level = [(float(x), 1.0) for x in (2, 4, 1, 7, 3, 0, 5, 6)]
places = [float(k) for k in range(8)]
figure, axes = plt.subplots(figsize=(8, 3.4))
box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "tab:blue"}
for depth in range(4):
    above = [(places[k] + places[k + 1]) / 2 for k in range(0, len(level) - 1, 2)]
    for k, (m, s) in enumerate(level):
        label = f"m = {m:.0f}\ns = {s:.3f}"
        axes.text(places[k], -depth, label, ha="center", va="center", size=8, bbox=box)
        if above:
            factor = math.exp(min(0.0, m - level[k ^ 1][0]))
            colour = "tab:blue" if factor == 1 else "tab:red"
            axes.plot((places[k], above[k // 2]), (-depth, -depth - 1), color=colour, zorder=0)
            if factor < 1:
                middle = (places[k] + above[k // 2]) / 2
                note = {"size": 8, "color": colour, "ha": "center", "backgroundcolor": "white"}
                axes.text(middle, -depth - 0.55, f"· {factor:.3f}", **note)
    level = [merged_pair(level[k], level[k + 1]) for k in range(0, len(level) - 1, 2)]
    places = above
axes.set(title="(m, s) of eight elements; red is rescaled", xlim=(-0.6, 7.6), ylim=(-3.5, 0.5))
axes.axis("off")
plt.show()

# %% [markdown]
# ## 3. Across the lanes of a warp
#
# That tree is a butterfly of shuffles, two of them a step. First without any row:

# %% [markdown] exercise="week2/merge_lanes" part="task"
# ### Exercise 2: merge the pairs of 32 lanes
#
# Row r of `m` and `s`, both (rows, 32) in float32, has the pairs (m, s) that 32 lanes have ended
# with. Merge them: `y[r, 0]` is the maximum, `y[r, 1]` the sum relative to it. Lanes that have seen
# no element hold (−∞, 0), and in some rows all of them do; then the result is (−∞, 0) as well.
# `merge_lanes(m, s, y)`.
#
# **Asked**: one warp per row, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# A butterfly of five steps, as for a sum, with `merge` in place of the addition. What does each
# step shuffle?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Two shuffles a step, m and s, and both before either of them has changed: the old maximum is
# needed for the factor.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Where both maxima are -inf the difference is NaN: in the line before the exponentials decide what
# is subtracted, the new maximum or 0.
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
# Ten shuffles and ten exponentials. There is a cheaper way to the same result: first the maximum of
# all lanes by five shuffles, then each lane rescales its own sum *once*, then the sums are added by
# five shuffles. Production kernels do that; it needs all pairs at the same time, which a loop over
# a row does not have.
#
# </details>

# %% [markdown]
# The kernel has it twice: each lane goes through its part of the row, from (−∞, 0) on, and then the
# lanes merge what they have. `merged` is the function of section 2 in CuTe DSL.


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


@cute.jit
def merged_lanes(m, s, lanes: cutlass.Constexpr):
    """The pair of each group of so many lanes, in all of them."""
    for k in cutlass.range_constexpr(lanes.bit_length() - 1):
        other = tuple(cute.arch.shuffle_sync_bfly(v, offset=1 << k) for v in (m, s))
        m, s = merged((m, s), other)
    return m, s


@cute.kernel
def online_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    lane, row = tidx % 32, bidx * 8 + tidx // 32
    if row < mX.shape[0]:
        m, s = -Float32.inf, Float32(0.0)
        for n in range(lane, mX.shape[1], 32):
            m, s = merged((m, s), (mX[row, n].to(Float32), Float32(1.0)))
        m, s = merged_lanes(m, s, 32)
        for n in range(lane, mX.shape[1], 32):
            mY[row, n] = (exp(mX[row, n].to(Float32) - m) / s).to(mY.element_type)


@cute.jit
def online(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[0], 8)
    online_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))


# %% [markdown]
# And rows to test it with. Not only large and small values: this kernel depends on the *order*, so
# there are rows that ascend and descend, and rows too short to give each lane an element.


# %%
def hard_rows(n, dtype=torch.float32):
    """Seven rows of n elements, and their names."""
    plain = fk.randn(n, device="virtual") * 3
    masked = plain.clone()
    masked[: n // 2] = -torch.inf
    rows = {
        "plain": plain,
        "descending": plain.sort(descending=True).values,
        "ascending": plain.sort().values,
        "around 1,000": plain + 1000,
        "around -1,000": plain - 1000,
        "first half masked": masked,
        "all masked": torch.full((n,), -torch.inf),
    }
    return torch.stack(list(rows.values())).to(fk.device, dtype), list(rows)


for n in (1, 5, 33, 1025):
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x, _ = hard_rows(n, dtype)
        y = fk.empty(*x.shape, dtype=dtype)
        run_online = fk.compile(online, x, y)
        run_online(x, y)
        fk.check(y, x.double().softmax(1))

# %% [markdown]
# Right, in all rows of all lengths. Twice there is something to it, though, that is easily left
# out.
#
# > **Looks right and is wrong.** Two kernels with one thing less in the loop. `no_rescaling` adds
# > $e^{x - m}$ with the maximum so far and leaves the rest of the sum as it is; `no_guard`
# > subtracts m as it is, −∞ too. Both merge their lanes correctly.


# %%
@cute.jit
def without_rescaling(a, x):
    m = cute.arch.fmax(a[0], x)
    shift = Float32(0.0) if m == -Float32.inf else m
    return m, a[1] + exp(x - shift)


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
        m, s = merged_lanes(m, s, 32)
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
# **Predict:** of the seven rows, how many will `no_rescaling` have right if they are 1,000 long?
# And if they are 31 long? And how many will `no_guard` have right at 1,000?

# %%
long_rows = fk.predict("right without rescaling, rows of 1,000", None)
short_rows = fk.predict("right without rescaling, rows of 31", None)
unguarded = fk.predict("right without the guard, rows of 1,000", None)


# %% jupyter={"outputs_hidden": true}
def survived(fn, n):
    """Run a softmax on the hard rows: the names of those that are right."""
    x, names = hard_rows(n)
    y = fk.empty(*x.shape)
    fk.compile(fn, x, y)(x, y)
    good = y.double().isclose(x.double().softmax(1), rtol=1e-3, atol=1e-6, equal_nan=True).all(1)
    return [name for name, ok in zip(names, good.tolist(), strict=True) if ok]


for guess, fn, n in (
    (long_rows, no_rescaling, 1000),
    (short_rows, no_rescaling, 31),
    (unguarded, no_guard, 1000),
):
    right = survived(fn, n)
    guess.against(len(right))
    print("   right:", ", ".join(right))

# %% [markdown]
# A descending row shows each lane its maximum first: nothing is ever to be rescaled, and the kernel
# that cannot do it is right. In a row of up to 32 elements each lane has one, so it is right for
# *every* such row. All the tests of a careful person who draws small examples by hand would pass.
#
# Without the guard a lane that begins with masked elements has m = −∞ and subtracts −∞ from −∞. The
# NaN stays in its sum for ever, and the butterfly hands it to the whole row. The row in which
# everything is masked is NaN in any case, as torch has it: with the guard its sum is 0, and its
# maximum −∞ makes NaN of the last subtraction.

# %% [markdown] exercise="week2/what_hides" part="task"
# ### Exercise 3: say which row shows the mistake
#
# An online softmax by a warp: lane i absorbs elements i, i + 32, i + 64, … from (m, s) = (−∞, 0)
# on, then the lanes are merged. In each line one thing is done wrongly and everything else is
# right. Are the weights of that row `"right"` all the same, are they `"wrong"` numbers, or `"NaN"`?
#
# <details><summary>Hint 1</summary>
#
# What does one lane see? Not the row, but every 32nd element of it.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A factor that is left out shows only where it would not have been 1; one too many shows only where
# it is not multiplied by 0.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# For each line write down (m, s) of lane 0 and lane 1 before the lanes are merged, and the line of
# the merge that changes them.
#
# </details>

# %% exercise="week2/what_hides" part="skeleton"
shows = {  # each: "right", "wrong" or "NaN"
    # FILL ME IN (roughly 11 lines)
    "the sum is not rescaled in the loop: 1,000 random, the first is the largest": None,
    "the sum is not rescaled in the loop: 1,000 equal": None,
    "the lanes' sums are added as they are: 1,000, descending": None,
    "the lanes' sums are added as they are: 1,000 equal": None,
    "m begins at 0: 1,000 around -1,000": None,
    "m begins at 0: 1,000 random": None,
    "s begins at 1: 1,000 random": None,
    "s begins at 1: 20 random": None,
    "no guard in the loop: 1,000, the first 32 masked": None,
    "no guard in the loop: 1,000, the last third masked": None,
    "no guard in the loop: 1,000, every second masked": None,
}

# %% exercise="week2/what_hides" part="grade"
fk.exercise("week2/what_hides").grade(shows)

# %% [markdown] exercise="week2/what_hides" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# shows = {  # each: "right", "wrong" or "NaN"
#     "the sum is not rescaled in the loop: 1,000 random, the first is the largest": "wrong",
#     "the sum is not rescaled in the loop: 1,000 equal": "right",
#     "the lanes' sums are added as they are: 1,000, descending": "wrong",
#     "the lanes' sums are added as they are: 1,000 equal": "right",
#     "m begins at 0: 1,000 around -1,000": "NaN",
#     "m begins at 0: 1,000 random": "right",
#     "s begins at 1: 1,000 random": "right",
#     "s begins at 1: 20 random": "right",
#     "no guard in the loop: 1,000, the first 32 masked": "NaN",
#     "no guard in the loop: 1,000, the last third masked": "right",
#     "no guard in the loop: 1,000, every second masked": "NaN",
# }
# ```
#
# `s` may begin with anything: the first element rescales it by $e^{-\infty}$. And no row shows
# every mistake. A test of an online softmax has rows that ascend, rows with differing maxima in the
# lanes, rows far below 0, masked beginnings, and lanes without anything.
#
# </details>

# %% [markdown]
# Anything else that merges may travel along with (m, s). And where no row is to be written, one
# pass is all there is:

# %% [markdown] exercise="week2/confidence" part="task"
# ### Exercise 4: say how sure a classifier is
#
# `p[m]` is the largest weight of the softmax of row m, and `at[m]` its column, as int32; where
# several are the largest, the first one counts. Any M and N ≥ 1, `x` and `p` in float32 or float16,
# computed in float32, each row read **once**. `confidence(x, p, at)`.
#
# **Asked**: one warp per row, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# What is the exponential of the largest element, relative to the maximum? So what is its weight?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Three values travel through the loop and through the shuffles: m, s, and the column of m. The
# weight is 1/s.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The column goes with the larger maximum, and with equal ones the smaller column wins, as in
# `warp_argmax`; a lane without an element holds a column behind every other. Decide about the
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
# Classifiers are asked this all day long, and it needs neither the softmax nor a second pass: the
# matrix is read once and two numbers a row are written. Anything that merges may travel along with
# (m, s); with a vector of values in place of the column it is flash attention.
#
# </details>

# %% [markdown]
# ## 4. Across the warps of a block
#
# Long rows, or few of them, want a block each. Nothing new is needed: the pairs of eight warps go
# through shared memory, two words a warp and one barrier, and then *every* warp merges all eight of
# them, for every thread needs the result. Eight pairs in eight lanes, four times over, are a
# butterfly of three steps.


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
    m, s = merged_lanes(m, s, 32)
    if tidx % 32 == 0:
        sMax[tidx // 32], sSum[tidx // 32] = m, s
    cute.arch.sync_threads()
    m, s = merged_lanes(sMax[tidx % 8], sSum[tidx % 8], 8)
    for n in range(tidx, mX.shape[1], 256):
        mY[row, n] = (exp(mX[row, n].to(Float32) - m) / s).to(mY.element_type)


@cute.jit
def online_block(mX: cute.Tensor, mY: cute.Tensor):
    online_block_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(256, 1, 1))


for n in (1, 257, 4000):
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x, _ = hard_rows(n, dtype)
        y = fk.empty(*x.shape, dtype=dtype)
        run_block = fk.compile(online_block, x, y)
        run_block(x, y)
        fk.check(y, x.double().softmax(1))

x, y = fk.randn(2, 1000), fk.empty(2, 1000)
print(fk.sanitize(fk.compile(online_block, x, y), x, y, schedule="adversarial", seeds=2))

# %% [markdown] exercise="week2/block_logsumexp" part="task"
# ### Exercise 5: compute log-sum-exp in one pass, a block a row
#
# `y[m]` is the logarithm of the sum of the exponentials of row m again, in float32, float16 and
# bfloat16, computed in float32; now each element is read **once**. Rows are hard ones, and of a row
# of −∞ the result is −∞. `block_logsumexp(x, y)`.
#
# **Asked**: one block per row, 256 threads per block, at most 1 barrier, at most 256 bytes of
# shared memory per block.
#
# <details><summary>Hint 1</summary>
#
# Each thread carries (m, s) through its part of the row. What is merged in which order: lanes, then
# warps?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The same merge serves an element, which is the pair (x, 1), another lane and another warp: written
# once, as a function with `@cute.jit`, it is called three times.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Eight pairs in shared memory, one barrier, and then each lane reads the pair `tidx % 8`: a
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
# A read and a number a row: this is what remains of a softmax when only the loss is wanted. Of a
# row of −∞ the pair is (−∞, 0), and m + log s is −∞ by itself: with (m, s) no case is special any
# more, except inside the merge.
#
# </details>

# %% [markdown] exercise="week2/online_columns" part="task"
# ### Exercise 6: take the softmax of columns, eight threads each
#
# `y[:, n]` is the softmax of column n, for any M and N ≥ 1, in float32, float16 and bfloat16,
# computed in float32, in **two** passes. A warp reads 32 neighbours of one row, and the eight warps
# share the rows, as in `tile_columns` of week 1. The eight pairs (m, s) of a column meet in shared
# memory: mind the stride of their layout. Columns are hard ones; of a column of −∞ the result is
# NaN. `online_columns(x, y)`.
#
# **Asked**: one block per 32 columns, 256 threads per block, at most 1 barrier, no bank conflicts.
#
# <details><summary>Hint 1</summary>
#
# Column `tidx % 32` of the block, rows `tidx // 32`, and 8 further each time: one pair a thread.
# There is nothing to shuffle. Why?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Two shared tensors of (8, 32) words. After the barrier each thread reads the eight pairs of its
# own column, since each of them needs the result.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A thread beyond the last column has to reach the barrier: the predicate stands around the two
# loops over rows, and not around what lies between them.
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
# Merging eight pairs one after the other is no worse here than a tree: all threads do it at the
# same time, each for its column, and neighbours read neighbouring words. The operator does not care
# whether it goes through a loop, through lanes or through shared memory.
#
# </details>

# %% [markdown]
# ## 5. Count again
#
# `three_passes` of the last notebook, to compare with:


# %%
@cute.kernel
def three_passes_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    lane, row = tidx % 32, bidx * 8 + tidx // 32
    if row < mX.shape[0]:
        m, s = -Float32.inf, Float32(0.0)
        for n in range(lane, mX.shape[1], 32):
            m = cute.arch.fmax(m, mX[row, n].to(Float32))
        m = cute.arch.warp_reduction(m, cute.arch.fmax)
        for n in range(lane, mX.shape[1], 32):
            s += exp(mX[row, n].to(Float32) - m)
        s = cute.arch.warp_reduction(s, operator.add)
        for n in range(lane, mX.shape[1], 32):
            mY[row, n] = (exp(mX[row, n].to(Float32) - m) / s).to(mY.element_type)


@cute.jit
def three_passes(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[0], 8)
    three_passes_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))


# %% [markdown]
# **Predict:** the bytes that `online` moves, in matrices. And how many exponentials does it compute
# for each element, where `three_passes` computes two?

# %%
moved = fk.predict("times the matrix, online", None)
exponentials = fk.predict("exponentials an element, online", None)

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(8, 2048), fk.empty(8, 2048)
steps = {"three_passes": three_passes, "online": online, "online_block": online_block}
table = {}
for name, fn in steps.items():
    p = fk.profile(fk.compile(fn, x, y), x, y)
    every = [i for line in p.all_lines for i in line.instructions]
    powers = sum(i["thread_instructions"] for i in every if i.text.startswith("ex2"))
    table[name] = (
        p.global_load_bytes_moved / x.nbytes,
        p.global_store_bytes_moved / x.nbytes,
        powers / x.numel(),
        p.warp_instructions * 32 / x.numel(),
    )
print("               reads   writes   exponentials   instructions an element")
for name, (reads, writes, powers, instructions) in table.items():
    print(f"{name:12s} {reads:7.2f} {writes:8.2f} {powers:14.2f} {instructions:14.1f}")
moved.against(sum(table["online"][:2]))
exponentials.against(round(table["online"][2]))

# %%
figure, axes = plt.subplots(figsize=(6.4, 1.9))
for k, (reads, writes, *_) in enumerate(table.values()):
    axes.barh(k, reads, color="tab:blue", label="read" if k == 0 else None)
    axes.barh(k, writes, left=reads, color="tab:orange", label="written" if k == 0 else None)
axes.axvline(2, color="gray", linestyle=":")
axes.set_yticks(range(len(table)), list(table))
axes.set(xlabel="times the matrix (dotted: the least)", title="Bytes moved")
axes.invert_yaxis()
axes.legend(loc="lower right", fontsize=8)
plt.show()

# %% [markdown]
# One pass less, and an exponential more: bytes have been paid for with arithmetic. (One of the
# two exponentials in the loop is always $e^0$, since the larger of m and x is the new m. A `merged`
# that chooses has one exponential and a comparison instead.) In `online_block` each thread has only
# eight of the 2,048 elements, so merging shows: eight steps of two exponentials.
#
# ## 6. What it is worth
#
# **Predict:** by bytes alone `online` takes ¾ of the time of `three_passes`. What was it on a real
# GPU, with 32,768 rows of 4,096 in `float32`? And with 64 rows of 262,144, how many times faster is
# a block a row than a warp a row?

# %%
ratio = fk.predict("time of online / time of three_passes", None)
by_block = fk.predict("time of online / time of online_block, 64 rows", None)

# %% jupyter={"outputs_hidden": true}
from forgekit.benching.recorded import recorded

times = recorded("week2/01_online")


def compared(step, other):
    """Times of a step divided by those of another, by size and type."""
    return {
        (r.shape, r.dtype): r.ms / times.row(other, r.dtype, r.shape).ms
        for r in times.rows
        if r.step == step
    }


ratios, blocks = compared("online", "three_passes"), compared("online", "online_block")
ratio.against(round(ratios[(32768, 4096), "float32"], 2))
by_block.against(round(blocks[(64, 262144), "float32"], 1))
least, most = min(ratios.values()), max(ratios.values())
print(f"all of them: online / three_passes {least:.2f} to {most:.2f}")
print(f"rows of 256: online / online_block {blocks[(131072, 256), 'float32']:.2f}")
times

# %% [markdown]
# One pass less saves 4 to 19 % of the time: never more than its bytes, which are a quarter.
# Blocks and warps are as in week 1: short rows belong to warps, few and long ones to blocks.
#
# A surprise stands in the middle: at 4,096 `online_block` leaves a warp a row far behind, and
# torch, too. How much of x is being worked on at a time? 132 multiprocessors have room for 8 such
# blocks each, 2,048 threads.

# %%
from forgekit.profiling.gpus import gpu_named

h200 = gpu_named("H200")
for name, rows_a_block in (("a warp a row", 8), ("a block a row", 1)):
    at_work = h200.multiprocessors * 8 * rows_a_block * 4096 * 4
    print(f"{name:14s} {at_work / 1e6:6.1f} MB of x at a time")
print(f"the L2 cache   {h200.l2_bytes / 1e6:6.1f} MB")

# %% [markdown]
# The rows of the blocks fit into the cache, those of the warps do not: so the block's second pass
# can find its row there, and the profile, which counts what threads ask for, cannot see the
# difference. (That is arithmetic, and it fits; what the caches did, only a profiler on a GPU
# knows.) It is a pass all the same, and the rows of blocks four times as long do not fit.
#
# What you said in this notebook, and what it was:

# %%
fk.predictions()

# %% [markdown]
# ## Summary
#
# | kernel | reads of the row | writes | exponentials an element | for |
# |---|---|---|---|---|
# | `three_passes` | 3 | 1 | 2 | comparison |
# | `online`, a warp a row | 2 | 1 | 3, and merging lanes | many short rows |
# | `online_block`, a block a row | 2 | 1 | 3, and merging lanes and warps | long rows |
#
# | what is merged | operator | identity |
# |---|---|---|
# | (m, s) | the larger m; both s rescaled to it | (−∞, 0) |
# | an element x | is the pair (x, 1) | |
#
# **The bad number: the row is read twice**, once for (m, s) and once for the result. The threads
# had every element in a register already, and have dropped it.
#
# **In practice** the two kinds of reduction are mixed: where a thread has all its elements at hand,
# it takes their maximum first and rescales once, not at each element. The merge of pairs is left
# for what arrives one after the other: parts of a row too long to hold, warps, blocks of a cluster.
# Put a vector beside s, the sum of values weighted so far, and it is flash attention.
#
# **Further reading:** [Online normalizer calculation for
# softmax](https://arxiv.org/abs/1805.02867) (M. Milakov and N. Gimelshein), four pages ·
# [FlashAttention](https://arxiv.org/abs/2205.14135) (T. Dao and others), which is built on it.
#
# **Next:** keep the row, and read it once
# ([`02_the_row_in_registers`](02_the_row_in_registers.ipynb)).
