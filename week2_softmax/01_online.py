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
# # Find maximum and sum in one reading
#
# **You will build** a softmax that reads a row twice in place of three times, by warps and by blocks.
# **You will learn** how a sum is corrected after the fact, why (maximum, sum) is an operator like any
# other, and which rows hide that the correction was forgotten.
# **You need** `00_softmax_without_tears`. About 35 minutes, and 60 more for the exercises.
#
# **The bad number: three readings and a writing.** The sum has to wait for the maximum, and the
# maximum is known when the row has been read to its end. So it seems.

# %%
import math
import random

import cutlass
import cutlass.cute as cute
import matplotlib.pyplot as plt
import torch
from cutlass import Float32

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
# The factor does not depend on x, so it can be taken out of the sum: s is **rescaled** by
# $e^{m - m'}$, once, and nobody has to know any more which elements were in it. That is all there is
# to the **online softmax** (Milakov and Gimelshein, 2018). Step by step:

# %%
row = [1.0, 3.0, 2.0, 5.0, -1.0, 5.0]
m, s = -math.inf, 0.0
print("    x     m   factor        s   sum of exp(x - m) anew")
for n, x in enumerate(row):
    m_new = max(m, x)
    factor = math.exp(m - m_new)
    s = s * factor + math.exp(x - m_new)
    m = m_new
    anew = sum(math.exp(k - m) for k in row[: n + 1])
    print(f"{x:5.0f} {m:5.0f} {factor:8.4f} {s:8.4f}   {anew:8.4f}")

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
new_maxima.against(round(1 + (so_far[:, 1:] > so_far[:, :-1]).sum().item() / 200, 1))

m, s, history = -math.inf, 0.0, []
for x in many[3, :60].mul(2).tolist():
    m_new = max(m, x)
    s, m = s * math.exp(m - m_new) + math.exp(x - m_new), m_new
    history.append((x, m, s))
figure, axes = plt.subplots(figsize=(6.4, 3))
values, maxima, sums = zip(*history, strict=True)
axes.plot(values, ".", color="gray", label="x")
axes.step(range(60), maxima, where="post", label="m, the maximum so far")
axes.plot(sums, label="s, relative to it")
axes.set(xlabel="elements read", title="s falls where m rises")
axes.legend()
plt.show()

# %% [markdown]
# The n-th of n random numbers is the largest with probability 1/n, and 1 + 1/2 + … + 1/1000 is 7.5:
# hardly ever is there anything to rescale. Remember that when you test it.
#
# ## 2. Two numbers for a part of a row
#
# Week 1 had a rule: an operator that is associative and has an identity goes through every tree, over
# lanes, warps and blocks. A single element is the pair (x, 1), for $e^{x - x} = 1$. Nothing is
# (−∞, 0). And two parts of a row are merged by rescaling *both* to the larger maximum:
#
# $$m = \max(m_a, m_b) \qquad s = s_a\, e^{m_a - m} + s_b\, e^{m_b - m}$$
#
# Write it before you read on.

# %% [markdown] exercise="week2/merge" part="task"
# %% exercise="week2/merge" part="skeleton"
# %% exercise="week2/merge" part="grade"
# %% [markdown] exercise="week2/merge" part="solution"

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
    values = [chance.choice((chance.gauss(0, 30), chance.gauss(0, 30), -math.inf)) for _ in range(20)]
    pairs = [(x, 1.0) for x in values] + [(-math.inf, 0.0)] * chance.randrange(5)
    chance.shuffle(pairs)
    m, s = in_any_order(pairs, chance)
    exact = math.fsum(math.exp(x - max(values)) for x in values)
    assert m == max(values)
    worst = max(worst, abs(s - exact) / exact)
print(f"500 rows: every maximum right, sums off by at most {worst:.0e}")
print("identity, left and right:", merged_pair((-math.inf, 0.0), (3.0, 1.5)), end=" ")
print(merged_pair((3.0, 1.5), (-math.inf, 0.0)))

# %% [markdown]
# Up to rounding, that is: like a sum, it gives slightly different bits in each tree. In the tree of a
# butterfly, eight elements look like this:

# %% jupyter={"outputs_hidden": true}
level = [(float(x), 1.0) for x in (2, 4, 1, 7, 3, 0, 5, 6)]
places = [float(k) for k in range(8)]
figure, axes = plt.subplots(figsize=(8, 3.4))
depth = 0
while level:
    for place, (m, s) in zip(places, level, strict=True):
        axes.text(
            place, -depth, f"m = {m:.0f}\ns = {s:.3f}", ha="center", va="center", size=8,
            bbox={"boxstyle": "round", "facecolor": "white", "edgecolor": "tab:blue"},
        )
    if len(level) == 1:
        break
    above = [(places[k] + places[k + 1]) / 2 for k in range(0, len(level), 2)]
    for k, place in enumerate(places):
        larger = level[k][0] >= level[k ^ 1][0]
        axes.plot(
            (place, above[k // 2]), (-depth, -depth - 1), zorder=0,
            color="tab:blue" if larger else "tab:red",
        )
        if not larger:
            factor = math.exp(level[k][0] - level[k ^ 1][0])
            axes.text((place + above[k // 2]) / 2, -depth - 0.5, f"· {factor:.3f}", size=7, color="tab:red", ha="center")
    level = [merged_pair(level[k], level[k + 1]) for k in range(0, len(level), 2)]
    places, depth = above, depth + 1
axes.set(title="(m, s) of eight elements; red is rescaled", xlim=(-0.6, 7.6), ylim=(-depth - 0.5, 0.5))
axes.axis("off")
plt.show()

# %% [markdown]
# ## 3. Across the lanes of a warp
#
# As a kernel: each lane goes through its part of the row, from (−∞, 0) on, and then the lanes merge
# what they have in a butterfly, two shuffles a step. `merged` is the function above in CuTe DSL.


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


for n in (1, 5, 31, 33, 1000, 1025):
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x, _ = hard_rows(n, dtype)
        y = fk.empty(*x.shape, dtype=dtype)
        run_online = fk.compile(online, x, y)
        run_online(x, y)
        fk.check(y, x.double().softmax(1))

# %% [markdown]
# Right, in all rows of all lengths. Twice there is something to it, though, that is easily left out.
#
# > **Looks right and is wrong.** Two kernels with one thing less in the loop. `no_rescaling` adds
# > $e^{x - m}$ with the maximum so far and leaves the rest of the sum as it is; `no_guard` subtracts
# > m as it is, −∞ too. Both merge their lanes correctly.


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
# **Predict:** of the seven rows, how many will `no_rescaling` have right if they are 1,000 long? And
# if they are 31 long? And how many will `no_guard` have right at 1,000?

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
# %% exercise="week2/what_hides" part="skeleton"
# %% exercise="week2/what_hides" part="grade"
# %% [markdown] exercise="week2/what_hides" part="solution"

# %% [markdown]
# The tree over lanes can be had without any row at all:

# %% [markdown] exercise="week2/merge_lanes" part="task"
# %% exercise="week2/merge_lanes" part="skeleton"
# %% exercise="week2/merge_lanes" part="grade"
# %% [markdown] exercise="week2/merge_lanes" part="solution"

# %% [markdown]
# Where no row is to be written, one reading is all there is:

# %% [markdown] exercise="week2/online_logsumexp" part="task"
# %% exercise="week2/online_logsumexp" part="skeleton"
# %% exercise="week2/online_logsumexp" part="grade"
# %% [markdown] exercise="week2/online_logsumexp" part="solution"

# %% [markdown] exercise="week2/confidence" part="task"
# %% exercise="week2/confidence" part="skeleton"
# %% exercise="week2/confidence" part="grade"
# %% [markdown] exercise="week2/confidence" part="solution"

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


for n in (1, 33, 257, 1025, 4000):
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x, _ = hard_rows(n, dtype)
        y = fk.empty(*x.shape, dtype=dtype)
        run_block = fk.compile(online_block, x, y)
        run_block(x, y)
        fk.check(y, x.double().softmax(1))

x, y = fk.randn(2, 1000), fk.empty(2, 1000)
print(fk.sanitize(fk.compile(online_block, x, y), x, y, schedule="adversarial", seeds=2))

# %% [markdown] exercise="week2/online_columns" part="task"
# %% exercise="week2/online_columns" part="skeleton"
# %% exercise="week2/online_columns" part="grade"
# %% [markdown] exercise="week2/online_columns" part="solution"

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
        s = cute.arch.warp_reduction(s, lambda a, b: a + b)
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
table = {}
for name, fn in (("three_passes", three_passes), ("online", online), ("online_block", online_block)):
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
for k, (name, (reads, writes, *_)) in enumerate(table.items()):
    axes.barh(k, reads, color="tab:blue", label="read" if k == 0 else None)
    axes.barh(k, writes, left=reads, color="tab:orange", label="written" if k == 0 else None)
axes.axvline(2, color="gray", linestyle=":")
axes.set_yticks(range(len(table)), list(table))
axes.set(xlabel="times the matrix (dotted: the least)", title="Bytes moved")
axes.invert_yaxis()
axes.legend(loc="lower right", fontsize=8)
plt.show()

# %% [markdown]
# One reading less, and an exponential more: bytes have been paid for with arithmetic. (One of the two
# exponentials in the loop is always $e^0$, since the larger of m and x is the new m. A `merged` that
# chooses has one exponential and a comparison instead.)
#
# What you said in this notebook, and what it was:

# %%
fk.predictions()

# %%
steps = {"three_passes": three_passes, "online": online, "online_block": online_block}
