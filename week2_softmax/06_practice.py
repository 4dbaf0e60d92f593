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
# # Practise: write ten kernels, up to attention
#
# **You will build** ten whole kernels that language models run at every step, from log-softmax to
# attention, each with its launch.
# **You will learn** that nearly all of them are one form: reduce a row, then go over it again.
# **You need** `00_softmax_without_tears` to `04_backward`; no GPU. About 20 minutes, and 240 more
# for the exercises.
#
# Each puzzle says what the result is, draws it small and names the call. The rest is yours: index,
# predicates, blocks, grid, and what happens between threads. The grade looks at values, at every
# order of threads, and at what is wasted beside our solution. The puzzles can be done in any order;
# only the last one wants all that the others teach.

# %%
import functools
import math
import operator

import cutlass
import cutlass.cute as cute
import matplotlib.pyplot as plt
import torch
from cutlass import Float32, Int32

import forgekit as fk
from forgekit.lessons.pictures import picture

# %% [markdown]
# ## One form
#
# Go through a row and make a share of each element; merge the shares; go through the row again with
# what came out. Here it is in plain Python, with lanes and a butterfly as a warp has them. Who
# chooses `of`, `merge`, `identity` and `then` has a kernel:


# %%
def over_rows(x, *, of, merge, identity, then, lanes=4):
    """Each row (N): `of` an element, merged over all; `then` of each element and what came out."""
    y = torch.empty_like(x)
    for row, out in zip(x, y, strict=True):
        shares = [identity] * lanes
        for n, value in enumerate(row.tolist()):
            shares[n % lanes] = merge(shares[n % lanes], of(value))
        for k in range(lanes.bit_length() - 1):
            shares = [merge(shares[lane], shares[lane ^ (1 << k)]) for lane in range(lanes)]
        out[:] = torch.tensor([then(value, shares[0]) for value in row.tolist()])
    return y


def merged(a, b):
    """Maximum and sum of exponentials, (m, s), of two parts of a row together."""
    m = max(a[0], b[0])
    if m == -math.inf:
        return a
    return m, a[1] * math.exp(a[0] - m) + b[1] * math.exp(b[0] - m)


softmax = {
    "of": lambda value: (value, 1.0),
    "merge": merged,
    "identity": (-math.inf, 0.0),
    "then": lambda value, row: math.exp(value - row[0]) / row[1],
}
unit_length = {
    "of": lambda value: value * value,
    "merge": operator.add,
    "identity": 0.0,
    "then": lambda value, row: value / math.sqrt(row),
}

x = fk.randn(3, 6, device="virtual")
fk.check(over_rows(x, **softmax), x.softmax(1))
fk.check(over_rows(x, **unit_length), x / x.norm(dim=1, keepdim=True))

# %% [markdown]
# The same, drawn for a row of three elements and four lanes: a lane without an element holds the
# identity. After two steps of the butterfly all four have the maximum and the sum, and nothing but
# these two numbers has gone from lane to lane.

# %%
row = [math.log(1), math.log(2), math.log(5)]
levels = [[(value, 1.0) for value in row] + [(-math.inf, 0.0)]]
for k in (1, 2):
    levels.append([merged(levels[-1][lane], levels[-1][lane ^ k]) for lane in range(4)])
m, s = levels[-1][0]
names = ("lanes 0 to 3: m, s", "after a step", "after two steps")
panels = {"x": [[(f"{value:.2f}", n) for n, value in enumerate(row)]]}
for name, level in zip(names, levels, strict=True):
    panels[name] = [[(f"{m:.2f}, {s:.2f}", lane) for lane, (m, s) in enumerate(level)]]
panels["y = exp(x - m) / s"] = [
    [(f"{math.exp(value - m) / s:.3f}", n) for n, value in enumerate(row)]
]
picture("reduce a row, go over it again", panels)

# %% [markdown]
# So before you write a line of a kernel, answer three questions:
#
# - How are two shares merged, and what is the **identity**, the share that changes nothing? Is the
#   merge right for two identities, too?
# - What does the second pass need of the row: one number, two, or the elements themselves?
# - Where do the elements stay until then: in memory, to be read again, in shared memory or in
#   registers?
#
# > **Looks right and is wrong.** In `merged` the line with `if` looks as if only rows full of −∞
# > needed it. Leave it out, and with 32 lanes rows of 32, 64 and 96 elements are right.
#
# **Predict:** which is the longest row, of finite numbers, that comes out as NaN without that line,
# with 32 lanes?

# %%
longest = fk.predict("elements of the longest row with NaN", None)


# %% jupyter={"outputs_hidden": true}
def careless(a, b):
    m = max(a[0], b[0])
    return m, a[1] * math.exp(a[0] - m) + b[1] * math.exp(b[0] - m)


def is_number(columns):
    y = over_rows(torch.ones(1, columns), **softmax | {"merge": careless}, lanes=32)
    return not y.isnan().any()


wrong = [columns for columns in range(1, 100) if not is_number(columns)]
longest.against(max(wrong))
print("NaN in rows of", wrong[0], "to", wrong[-1], "elements")

# %% [markdown]
# The first step of the butterfly merges neighbours: as soon as the last two lanes are both empty,
# −∞ − (−∞) is NaN, and by the last step everybody has it. Rows of 31 elements and more are right.
# There are two ways out: the line with `if`, or the maximum of all lanes first, after which each
# lane rescales its sum once, relative to a number that is finite. What if a whole warp is empty,
# though? That is for you to find, in exercise 3.
#
# Then the question where the elements stay. A thread has 255 registers at most, for everything.
#
# **Predict:** a row of 32,000 logits in float32, as a language model has one for each word, and a
# block of 128 threads. How many registers a thread does the row take?

# %%
taken = fk.predict("registers a thread", None)

# %% jupyter={"outputs_hidden": true}
print("registers a thread", *(f"{threads:6d} threads" for threads in (32, 128, 1024)))
for columns in (512, 1024, 4096, 32_000):
    each = [math.ceil(columns / threads) for threads in (32, 128, 1024)]
    print(f"{columns:9,} elements", *(f"{number:14,}" for number in each))
taken.against(math.ceil(32_000 / 128))

# %% [markdown]
# Five would be left for all the rest. Hence two kinds of puzzles: rows of any length are read again
# where a second pass needs them (exercises 1 and 2), or are needed only once (3 to 5); short rows
# are read once and stay in registers (6 to 8).
#
# ## Softmax and what follows it
#
# A model ends with logits, a number for each word that might come next. In training they become a
# loss and its gradient; when a model writes, they become a choice.

# %% [markdown] exercise="week2/log_softmax" part="task"
# ### Exercise 1: take the logarithm of a softmax
#
# `y[m, n] = log(softmax(x[m])[n])`, in float32, float16 and bfloat16, computed in float32. A row is
# read twice at most. All elements are finite; a row may lie anywhere, around 30,000 or −60,000, and
# an element may be so far below its row's maximum that its softmax is 0: its logarithm is not −∞.
# `log_softmax(x, y)`.
#
# **Asked**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# The logarithm of a quotient is a difference: write log(exp(x − m) / s) without exp and without a
# quotient.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Maximum and sum in one pass is the pair (m, s) a lane, and a merge over the warp. The second pass
# needs no exponential at all.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Three numbers are added in the line that stores: x, −m, −log s. Which of the two differences has
# to come first, when x and m are 30,000 and log s is 2?
#
# </details>

# %%
fk.exercise("week2/log_softmax").given


# %% exercise="week2/log_softmax" part="skeleton"
@cute.kernel
def log_softmax_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 16 lines)
    pass


@cute.jit
def log_softmax(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/log_softmax" part="grade"
fk.exercise("week2/log_softmax").grade(log_softmax)

# %% [markdown] exercise="week2/log_softmax" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# @cute.kernel
# def log_softmax_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row, lane = bidx * 4 + tidx // 32, tidx % 32
#     if row < mX.shape[0]:
#         m, s = -Float32.inf, Float32(0.0)
#         for n in range(lane, mX.shape[1], 32):
#             value = mX[row, n].to(Float32)
#             m_new = cute.arch.fmax(m, value)
#             s = s * cute.math.exp(m - m_new, fastmath=True)
#             s += cute.math.exp(value - m_new, fastmath=True)
#             m = m_new
#         m_row = cute.arch.warp_reduction_max(m)
#         s = cute.arch.warp_reduction_sum(s * cute.math.exp(m - m_row, fastmath=True))
#         log_s = cute.math.log(s, fastmath=True)
#         for n in range(lane, mX.shape[1], 32):
#             mY[row, n] = (mX[row, n].to(Float32) - m_row - log_s).to(mY.element_type)
#
#
# @cute.jit
# def log_softmax(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 4)
#     log_softmax_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# Float32 numbers near 30,000 are 0.002 apart, so `m + log s` has lost its digits before it is
# subtracted from anything; `x − m` is exact for all elements that matter, those near the maximum.
# Two reads and a write of the row: with the row in registers it is one read.
#
# </details>

# %% [markdown] exercise="week2/masked_softmax" part="task"
# ### Exercise 2: leave elements out, at a temperature
#
# The softmax of `x / t` over those elements of a row whose `mask` is not 0: `y[m, n] = exp(x[m, n]
# / t) / Σ exp(x[m, k] / t)` with the sum over all k with `mask[m, k] ≠ 0`. Where the mask is 0, y
# is 0, whatever x holds there: it may be large, infinite or NaN. A row may lie anywhere, around
# −100,000 as well. Where the mask is 0 in a whole row, the row is 0 (torch would give NaN). Rows
# are read twice at most. The host function is `masked_softmax(mX, mMask, t: Float32, mY)`; `mask`
# is uint8, t > 0, and x and y are float32 or bfloat16, computed in float32.
#
# **Asked**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# A masked element takes part in nothing: neither in the maximum nor in the sum. What do m and s of
# a lane hold that has seen no element?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# NaN times 0 is NaN: an element is left out by a predicate, not by a factor. And −∞ − −∞ is NaN:
# where may a difference of two maxima be computed, and where its result used?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Temperature and log₂ e are one factor, computed once before the loops; it is applied in the lines
# with the exponentials, to the difference from the maximum.
#
# </details>

# %%
fk.exercise("week2/masked_softmax").given


# %% exercise="week2/masked_softmax" part="skeleton"
@cute.kernel
def masked_softmax_kernel(mX: cute.Tensor, mMask: cute.Tensor, t: Float32, mY: cute.Tensor):
    # FILL ME IN (roughly 21 lines)
    pass


@cute.jit
def masked_softmax(mX: cute.Tensor, mMask: cute.Tensor, t: Float32, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/masked_softmax" part="grade"
fk.exercise("week2/masked_softmax").grade(masked_softmax)

# %% [markdown] exercise="week2/masked_softmax" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# @cute.kernel
# def masked_softmax_kernel(mX: cute.Tensor, mMask: cute.Tensor, t: Float32, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row, lane = bidx * 4 + tidx // 32, tidx % 32
#     scale = math.log2(math.e) / t
#     if row < mX.shape[0]:
#         m, s = -Float32.inf, Float32(0.0)
#         for n in range(lane, mX.shape[1], 32):
#             if mMask[row, n] != 0:
#                 value = mX[row, n].to(Float32)
#                 m_new = cute.arch.fmax(m, value)
#                 s = s * cute.math.exp2((m - m_new) * scale, fastmath=True)
#                 s += cute.math.exp2((value - m_new) * scale, fastmath=True)
#                 m = m_new
#         m_row = cute.arch.warp_reduction_max(m)
#         # In a row without any element this is NaN, and nobody uses it.
#         s = cute.arch.warp_reduction_sum(s * cute.math.exp2((m - m_row) * scale, fastmath=True))
#         for n in range(lane, mX.shape[1], 32):
#             y = Float32(0.0)
#             if mMask[row, n] != 0:
#                 e = cute.math.exp2((mX[row, n].to(Float32) - m_row) * scale, fastmath=True)
#                 y = e / s
#             mY[row, n] = y.to(mY.element_type)
#
#
# @cute.jit
# def masked_softmax(mX: cute.Tensor, mMask: cute.Tensor, t: Float32, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 4)
#     masked_softmax_kernel(mX, mMask, t, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# Masks are what a softmax in attention nearly always has: padding, causality, documents side by
# side. One byte of mask an element is a quarter more to read in float32, half more in bfloat16; a
# causal mask is computed from row and column, and costs none. A low temperature makes the largest
# element win, a high one makes all equal.
#
# </details>

# %% [markdown] exercise="week2/cross_entropy" part="task"
# ### Exercise 3: compute the loss of a classifier
#
# Cross-entropy of each row: `loss[m] = lse[m] − x[m, target[m]]`, where `lse[m] = log Σ exp(x[m,
# n])` is wanted, too: the gradient needs it. A row **is read once**, except that x[m, target[m]]
# may be read again. A target of −100 is to be ignored: the loss is 0, lse as usual. x is float32 or
# float16, all of it finite, and a row may lie anywhere: around 30,000, or around −60,000. target is
# int64 as in torch; loss and lse are float32 in both cases, computed in float32. `cross_entropy(x,
# target, loss, lse)`.
#
# **Asked**: one block per row, 128 threads per block, at most 1 barrier.
#
# <details><summary>Hint 1</summary>
#
# The pair (m, s) of a thread goes through two trees: the lanes of a warp by shuffles, four warps
# through shared memory.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# With 5 columns three warps have seen nothing: m = −∞, s = 0. What is the rescaling of such a lane,
# relative to the maximum of its warp?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# One thread finishes the row. It reads one element again, behind the barrier and behind the
# question whether there is a target at all; and it adds m − x[target] and log s, in this order.
#
# </details>

# %%
fk.exercise("week2/cross_entropy").given


# %% exercise="week2/cross_entropy" part="skeleton"
@cute.kernel
def cross_entropy_kernel(mX: cute.Tensor, mT: cute.Tensor, mLoss: cute.Tensor, mLse: cute.Tensor):
    # FILL ME IN (roughly 32 lines)
    pass


@cute.jit
def cross_entropy(mX: cute.Tensor, mT: cute.Tensor, mLoss: cute.Tensor, mLse: cute.Tensor):
    # FILL ME IN (roughly 1 line)
    pass


# %% exercise="week2/cross_entropy" part="grade"
fk.exercise("week2/cross_entropy").grade(cross_entropy)

# %% [markdown] exercise="week2/cross_entropy" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# @cute.kernel
# def cross_entropy_kernel(mX: cute.Tensor, mT: cute.Tensor, mLoss: cute.Tensor, mLse: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     row, _, _ = cute.arch.block_idx()
#     lane, warp = tidx % 32, tidx // 32
#     smem = cutlass.memory.SmemAllocator()
#     sM = smem.allocate_tensor(Float32, cute.make_layout(4), 16)
#     sS = smem.allocate_tensor(Float32, cute.make_layout(4), 16)
#     m, s = -Float32.inf, Float32(0.0)
#     for n in range(tidx, mX.shape[1], 128):
#         value = mX[row, n].to(Float32)
#         m_new = cute.arch.fmax(m, value)
#         s = s * cute.math.exp(m - m_new, fastmath=True)
#         s += cute.math.exp(value - m_new, fastmath=True)
#         m = m_new
#     m_warp = cute.arch.warp_reduction_max(m)
#     if m > -Float32.inf:
#         s = s * cute.math.exp(m - m_warp, fastmath=True)
#     s = cute.arch.warp_reduction_sum(s)
#     if lane == 0:
#         sM[warp] = m_warp
#         sS[warp] = s
#     cute.arch.sync_threads()
#     if tidx == 0:
#         m = cute.arch.fmax(cute.arch.fmax(sM[0], sM[1]), cute.arch.fmax(sM[2], sM[3]))
#         s = Float32(0.0)
#         for w in cutlass.range_constexpr(4):
#             s += sS[w] * cute.math.exp(sM[w] - m, fastmath=True)
#         log_s = cute.math.log(s, fastmath=True)
#         mLse[row] = m + log_s
#         loss, target = Float32(0.0), Int32(mT[row])
#         if target != -100:
#             loss = m - mX[row, target].to(Float32) + log_s
#         mLoss[row] = loss
#
#
# @cute.jit
# def cross_entropy(mX: cute.Tensor, mT: cute.Tensor, mLoss: cute.Tensor, mLse: cute.Tensor):
#     cross_entropy_kernel(mX, mT, mLoss, mLse).launch(grid=(mX.shape[0], 1, 1), block=(128, 1, 1))
# ```
#
# With 32,000 classes the logits are the largest tensor of a language model's training step; this
# kernel reads them once and writes eight bytes a row. torch's composition, log_softmax and then a
# choice, writes a whole matrix in between. lse is kept for the gradient, which needs no reduction
# then: the next exercise.
#
# </details>

# %% [markdown] exercise="week2/cross_entropy_backward" part="task"
# ### Exercise 4: compute the gradient of the loss
#
# The gradient of exercise 3: `dx[m, n] = g[m] · (softmax(x[m])[n] − [n = target[m]])`, where `[…]`
# is 1 if it holds and else 0; g is the gradient that arrives for the row's loss, and all of dx is 0
# where the target is −100. The softmax comes from `lse`, so nothing is reduced: one read, one
# write. `cross_entropy_backward(x, target, lse, g, dx)`: x and dx float32 or float16, target int64,
# lse and g float32; computed in float32.
#
# **Asked**: one block per row, 128 threads per block, no barriers, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# exp(x) / Σ exp(x) without a division, and without a number that overflows: where is lse
# subtracted?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Each thread decides for its own elements whether n is the target. If one thread corrected
# dx[target] afterwards: which thread's store would that have to come after?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# What belongs to the row is read once, in the line before the loop; a target to ignore makes g 0
# there.
#
# </details>

# %%
fk.exercise("week2/cross_entropy_backward").given


# %% exercise="week2/cross_entropy_backward" part="skeleton"
@cute.kernel
def cross_entropy_backward_kernel(
    mX: cute.Tensor, mT: cute.Tensor, mLse: cute.Tensor, mG: cute.Tensor, mdX: cute.Tensor
):
    # FILL ME IN (roughly 10 lines)
    pass


@cute.jit
def cross_entropy_backward(
    mX: cute.Tensor, mT: cute.Tensor, mLse: cute.Tensor, mG: cute.Tensor, mdX: cute.Tensor
):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/cross_entropy_backward" part="grade"
fk.exercise("week2/cross_entropy_backward").grade(cross_entropy_backward)

# %% [markdown] exercise="week2/cross_entropy_backward" part="solution"
# <details><summary>Solution of exercise 4</summary>
#
# ```python
# @cute.kernel
# def cross_entropy_backward_kernel(
#     mX: cute.Tensor, mT: cute.Tensor, mLse: cute.Tensor, mG: cute.Tensor, mdX: cute.Tensor
# ):
#     tidx, _, _ = cute.arch.thread_idx()
#     row, _, _ = cute.arch.block_idx()
#     target, lse, g = Int32(mT[row]), mLse[row], mG[row]
#     if target == -100:
#         g = Float32(0.0)
#     for n in range(tidx, mX.shape[1], 128):
#         p = cute.math.exp(mX[row, n].to(Float32) - lse, fastmath=True)
#         if n == target:
#             p -= 1.0
#         mdX[row, n] = (g * p).to(mdX.element_type)
#
#
# @cute.jit
# def cross_entropy_backward(
#     mX: cute.Tensor, mT: cute.Tensor, mLse: cute.Tensor, mG: cute.Tensor, mdX: cute.Tensor
# ):
#     grid = (mX.shape[0], 1, 1)
#     cross_entropy_backward_kernel(mX, mT, mLse, mG, mdX).launch(grid=grid, block=(128, 1, 1))
# ```
#
# Keeping one number a row, lse, turns a reduction and two readings into a map: recompute what is
# cheap, keep what is small. Attention's gradient does the same. dx may overwrite x here, element by
# element, by the same thread; so large models never hold two matrices of logits.
#
# </details>

# %% [markdown] exercise="week2/top_k" part="task"
# ### Exercise 5: find the four largest and where they stand
#
# The four largest elements of each row, the largest first, into `v[m, 0…3]`, and their columns into
# `i[m, 0…3]`. Among equal elements the one with the lower index comes first: the result is the same
# in every order of lanes. Rows have four elements at least, some of them −∞; there is no NaN. Rows
# are read once. `top_k(x, v, i)`: x and v float32, i int32.
#
# **Asked**: one warp per row, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# A lane keeps four pairs (value, index), in order. What is the identity, the pair that comes after
# every element, also after one that is −∞?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A new pair enters the list of four by comparing it with each of them in turn: where it is the
# better one they change places, and the displaced one goes on to the next. What is left in the end
# is dropped.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In the butterfly all eight numbers of the partner have to be there before the first is inserted:
# the lines with the shuffles come first. The indices take part in the comparison there, for the
# partner's may be lower.
#
# </details>

# %%
fk.exercise("week2/top_k").given


# %% exercise="week2/top_k" part="skeleton"
@cute.jit
def insert(rV: cute.Tensor, rI: cute.Tensor, value: Float32, index: Int32):
    """The four best, rV and rI, and a pair: it takes its place, the last of five drops out."""
    # FILL ME IN (roughly 5 lines)


@cute.kernel
def top_k_kernel(mX: cute.Tensor, mV: cute.Tensor, mI: cute.Tensor):
    # FILL ME IN (roughly 19 lines)
    pass


@cute.jit
def top_k(mX: cute.Tensor, mV: cute.Tensor, mI: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/top_k" part="grade"
fk.exercise("week2/top_k").grade(top_k)

# %% [markdown] exercise="week2/top_k" part="solution"
# <details><summary>Solution of exercise 5</summary>
#
# ```python
# @cute.jit
# def insert(rV: cute.Tensor, rI: cute.Tensor, value: Float32, index: Int32):
#     """The four best, rV and rI, and a pair: it takes its place, the last of five drops out."""
#     for k in cutlass.range_constexpr(4):
#         v, i = rV[k], rI[k]
#         if value > v or (value == v and index < i):
#             rV[k], rI[k] = value, index
#             value, index = v, i
#
#
# @cute.kernel
# def top_k_kernel(mX: cute.Tensor, mV: cute.Tensor, mI: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row, lane = bidx * 4 + tidx // 32, tidx % 32
#     rV = cute.make_rmem_tensor(4, Float32)
#     rI = cute.make_rmem_tensor(4, Int32)
#     rV.fill(-Float32.inf)
#     rI.fill(2**31 - 1)
#     if row < mX.shape[0]:
#         for n in range(lane, mX.shape[1], 32):
#             insert(rV, rI, mX[row, n], n)
#         for step in cutlass.range_constexpr(5):
#             v = [cute.arch.shuffle_sync_bfly(rV[k], offset=1 << step) for k in range(4)]
#             i = [cute.arch.shuffle_sync_bfly(rI[k], offset=1 << step) for k in range(4)]
#             for k in cutlass.range_constexpr(4):
#                 insert(rV, rI, v[k], i[k])
#         if lane == 0:
#             for k in cutlass.range_constexpr(4):
#                 mV[row, k] = rV[k]
#                 mI[row, k] = rI[k]
#
#
# @cute.jit
# def top_k(mX: cute.Tensor, mV: cute.Tensor, mI: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 4)
#     top_k_kernel(mX, mV, mI).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# The merge of two lists of four is associative and commutative because no two pairs are equal: the
# index makes the order total. Five steps of eight shuffles a row; a whole vocabulary is read once.
# Sampling from the k most likely words is this kernel and a softmax over four numbers. For k beyond
# a few dozen registers run out, and one sorts or selects by digits (radix select).
#
# </details>

# %% [markdown]
# ## Normalise and turn
#
# Between the layers of a model stand rows that are short, a few thousand elements, and so many of
# them that only the bytes count: read once, written once. The merge is the plainest there is, a
# sum. What is new is the care for digits and for what else the row needs on its way.

# %% [markdown] exercise="week2/rms_norm" part="task"
# ### Exercise 6: divide rows by their root mean square
#
# RMSNorm: `y[m, n] = x[m, n] / sqrt(mean of x[m, :]² + eps) · w[n]`, the normalisation of most
# language models today, for rows of at most 512 elements in float32, float16 and bfloat16, computed
# in float32; `x` is read from memory once. `eps` is a number, so the host function
# is `rms_norm(mX, mW, eps: Float32, mY)`. A row of zeros stays zeros.
#
# **Asked**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# A reduction whose result every lane needs, and a map over the same row: softmax without its
# maximum.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# At most 16 elements a lane: they fit into registers. The loops are `range_constexpr(16)` with a
# predicate, so that each register has a fixed number.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A register whose element does not exist has to hold 0 before the squares are added. The mean
# divides by `mX.shape[1]`, and `eps` is added below the root, in the line between the two loops,
# where `cute.math.rsqrt` is computed once.
#
# </details>


# %% exercise="week2/rms_norm" part="skeleton"
@cute.kernel
def rms_norm_kernel(mX: cute.Tensor, mW: cute.Tensor, eps: Float32, mY: cute.Tensor):
    # FILL ME IN (roughly 18 lines)
    pass


@cute.jit
def rms_norm(mX: cute.Tensor, mW: cute.Tensor, eps: Float32, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/rms_norm" part="grade"
fk.exercise("week2/rms_norm").grade(rms_norm)

# %% [markdown] exercise="week2/rms_norm" part="solution"
# <details><summary>Solution of exercise 6</summary>
#
# ```python
# @cute.kernel
# def rms_norm_kernel(mX: cute.Tensor, mW: cute.Tensor, eps: Float32, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row, lane = bidx * 4 + tidx // 32, tidx % 32
#     if row < mX.shape[0]:
#         rX = cute.make_rmem_tensor(16, Float32)  # the row, 16 elements a lane
#         total = Float32(0.0)
#         for k in cutlass.range_constexpr(16):
#             x = Float32(0.0)
#             if lane + 32 * k < mX.shape[1]:
#                 x = mX[row, lane + 32 * k].to(Float32)
#             rX[k] = x
#             total += x * x
#         total = cute.arch.warp_reduction(total, operator.add)
#         scale = cute.math.rsqrt(total / Float32(mX.shape[1]) + eps, fastmath=True)
#         for k in cutlass.range_constexpr(16):
#             n = lane + 32 * k
#             if n < mX.shape[1]:
#                 mY[row, n] = (rX[k] * scale * mW[n].to(Float32)).to(mY.element_type)
#
#
# @cute.jit
# def rms_norm(mX: cute.Tensor, mW: cute.Tensor, eps: Float32, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 4)
#     rms_norm_kernel(mX, mW, eps, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# Counted for 40 rows of 400 in float32: 64,000 bytes of `x` are asked for, as many of `w`, and as
# many are stored. `w` is 1,600 bytes, the same for all rows, so after the first rows it comes out
# of a cache: memory sees the row once in each direction. There is no maximum and no `exp2`, and
# nothing has to be rescaled. `eps` is not decoration: without it a row of zeros becomes 0 · ∞ =
# NaN.
#
# </details>

# %% [markdown] exercise="week2/layer_norm" part="task"
# ### Exercise 7: normalise rows by mean and variance
#
# LayerNorm: `y[m, n] = (x[m, n] − mean) / sqrt(variance + eps) · w[n] + b[n]`, with mean and
# variance (divided by N) of row m, for rows of at most 1,024 elements, in float32 and float16,
# computed in float32. A row may lie anywhere, such as about 1000 ± 4 or −3000 ± 16, and in some all
# elements are the same: the mean of the squares less the square of the mean has lost most of its
# digits. `x` is read once. The host function is `layer_norm(mX, mW, mB, eps: Float32, mY)`;
# `block_sum` is there to be used twice, but need not be.
#
# **Asked**: one block per row, 128 threads per block, at most 2 barriers.
#
# <details><summary>Hint 1</summary>
#
# The row is in registers, 8 elements a thread: nothing is in the way of going through it twice,
# first for the mean, then for the squares of the distances from it.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Each of the two sums is one of a block, which every thread needs: shuffles, a word a warp, a
# barrier, and then all threads add four words. Why has the second sum words of its own?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A register without an element holds 0, and 0 is far from the mean: the predicate stands around the
# line that squares, too. A barrier more would be needed if the second sum used the words that some
# warp is still reading.
#
# </details>


# %% exercise="week2/layer_norm" part="skeleton"
@cute.jit
def block_sum(value, sPart: cute.Tensor):
    # FILL ME IN (roughly 6 lines)
    return value


@cute.kernel
def layer_norm_kernel(
    mX: cute.Tensor, mW: cute.Tensor, mB: cute.Tensor, eps: Float32, mY: cute.Tensor
):
    # FILL ME IN (roughly 25 lines)
    pass


@cute.jit
def layer_norm(mX: cute.Tensor, mW: cute.Tensor, mB: cute.Tensor, eps: Float32, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/layer_norm" part="grade"
fk.exercise("week2/layer_norm").grade(layer_norm)

# %% [markdown] exercise="week2/layer_norm" part="solution"
# <details><summary>Solution of exercise 7</summary>
#
# ```python
# @cute.jit
# def block_sum(value, sPart: cute.Tensor):
#     lane, warp = cute.arch.lane_idx(), cute.arch.warp_idx()
#     value = cute.arch.warp_reduction(value, operator.add)
#     if lane == 0:
#         sPart[warp] = value
#     cute.arch.sync_threads()
#     return sPart[0] + sPart[1] + sPart[2] + sPart[3]
#
#
# @cute.kernel
# def layer_norm_kernel(
#     mX: cute.Tensor, mW: cute.Tensor, mB: cute.Tensor, eps: Float32, mY: cute.Tensor
# ):
#     tidx, _, _ = cute.arch.thread_idx()
#     row, _, _ = cute.arch.block_idx()
#     smem = cutlass.memory.SmemAllocator()
#     sPart = smem.allocate_tensor(Float32, cute.make_layout((4, 2)), 16)  # words of each sum
#     rX = cute.make_rmem_tensor(8, Float32)  # the row, 8 elements a thread
#     length = Float32(mX.shape[1])
#     total, squares = Float32(0.0), Float32(0.0)
#     for k in cutlass.range_constexpr(8):
#         x = Float32(0.0)
#         if tidx + 128 * k < mX.shape[1]:
#             x = mX[row, tidx + 128 * k].to(Float32)
#         rX[k] = x
#         total += x
#     mean = block_sum(total, sPart[None, 0]) / length
#     for k in cutlass.range_constexpr(8):
#         if tidx + 128 * k < mX.shape[1]:
#             rX[k] -= mean
#             squares += rX[k] * rX[k]
#     variance = block_sum(squares, sPart[None, 1]) / length
#     scale = cute.math.rsqrt(variance + eps, fastmath=True)
#     for k in cutlass.range_constexpr(8):
#         n = tidx + 128 * k
#         if n < mX.shape[1]:
#             y = rX[k] * scale * mW[n].to(Float32) + mB[n].to(Float32)
#             mY[row, n] = y.to(mY.element_type)
#
#
# @cute.jit
# def layer_norm(mX: cute.Tensor, mW: cute.Tensor, mB: cute.Tensor, eps: Float32, mY: cute.Tensor):
#     grid = (mX.shape[0], 1, 1)
#     layer_norm_kernel(mX, mW, mB, eps, mY).launch(grid=grid, block=(128, 1, 1))
# ```
#
# With x = 1000 ± 4 the mean of the squares is about 1,000,016. float32 has steps of 1/16 there, and
# each of the two numbers that are subtracted is off by some steps. Counted for 50 rows of 700: that
# variance is wrong by up to 2 %, the one of two passes by less than 2 parts in 10 million. Through
# registers the second pass costs instructions and no bytes. Welford's `(count, mean, m2)` of week 1
# passes here as well, with one barrier, and is off by at most 3 parts in a million; its divisions
# and three shuffles for one make it 63,200 instructions where two passes are 50,100.
#
# </details>

# %% [markdown] exercise="week2/rms_norm_residual" part="task"
# ### Exercise 8: normalise a sum, and keep it
#
# Between two layers of a language model stands this: `s = x + r`, which goes on as the next
# residual, and `y = s / sqrt(mean of s² + eps) · w`, which goes into the next layer. Both are
# written, each element once, in the type of the inputs; computed in float32. Float32 and float16,
# rows of at most 512 elements and of whole vectors. A lane keeps its sums of the row in a register
# tensor of shape `((vec,), 4)`: four vectors, as long as 16 bytes of the input, even where the row
# has fewer. The host function is `rms_norm_residual(mX, mR, mW, eps: Float32, mS, mY)`.
#
# **Asked**: one warp per row, 16 bytes per load, 16 bytes per store.
#
# <details><summary>Hint 1</summary>
#
# `rms_norm` with a prologue: what a lane keeps in registers is the sum, and it is stored on the
# way.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Cut the rows, and `w`, into vectors with `cute.zipped_divide`; `[None, i]` is vector i, and
# `.load()` and `.store()` move it. Registers of shape `((vec,), 4)`, with the brackets that vectors
# have, take one as `[None, k]`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A vector is converted to float32 in the line that adds, and back in each line that stores; the
# squares are of the float32 sum. Where the vector does not exist, the registers hold the 0 of a
# `fill` before the loop.
#
# </details>

# %%
fk.exercise("week2/rms_norm_residual").given


# %% exercise="week2/rms_norm_residual" part="skeleton"
@cute.kernel
def rms_norm_residual_kernel(
    mX: cute.Tensor,
    mR: cute.Tensor,
    mW: cute.Tensor,
    eps: Float32,
    mS: cute.Tensor,
    mY: cute.Tensor,
):
    # FILL ME IN (roughly 27 lines)
    pass


@cute.jit
def rms_norm_residual(
    mX: cute.Tensor,
    mR: cute.Tensor,
    mW: cute.Tensor,
    eps: Float32,
    mS: cute.Tensor,
    mY: cute.Tensor,
):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/rms_norm_residual" part="grade"
fk.exercise("week2/rms_norm_residual").grade(rms_norm_residual)

# %% [markdown] exercise="week2/rms_norm_residual" part="solution"
# <details><summary>Solution of exercise 8</summary>
#
# ```python
# @cute.kernel
# def rms_norm_residual_kernel(
#     mX: cute.Tensor,
#     mR: cute.Tensor,
#     mW: cute.Tensor,
#     eps: Float32,
#     mS: cute.Tensor,
#     mY: cute.Tensor,
# ):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row, lane = bidx * 4 + tidx // 32, tidx % 32
#     vec = cutlass.const_expr(128 // mX.element_type.width)
#     if row < mX.shape[0]:
#         gX = cute.zipped_divide(mX[row, None], (vec,))  # ((Vec),(Rest))
#         gR = cute.zipped_divide(mR[row, None], (vec,))
#         gW = cute.zipped_divide(mW, (vec,))
#         gS = cute.zipped_divide(mS[row, None], (vec,))
#         gY = cute.zipped_divide(mY[row, None], (vec,))
#         rS = cute.make_rmem_tensor(((vec,), 4), Float32)  # ((Vec),4): the sums of a lane
#         rS.fill(0.0)
#         for k in cutlass.range_constexpr(4):
#             i = lane + 32 * k
#             if i < cute.size(gX, mode=[1]):
#                 s = gX[None, i].load().to(Float32) + gR[None, i].load().to(Float32)
#                 gS[None, i].store(s.to(mS.element_type))
#                 rS[None, k].store(s)
#         s = rS.load()
#         total = (s * s).reduce(cute.ReductionOp.ADD, 0.0, 0)
#         total = cute.arch.warp_reduction(total, operator.add)
#         scale = cute.math.rsqrt(total / Float32(mX.shape[1]) + eps, fastmath=True)
#         for k in cutlass.range_constexpr(4):
#             i = lane + 32 * k
#             if i < cute.size(gX, mode=[1]):
#                 y = rS[None, k].load() * scale * gW[None, i].load().to(Float32)
#                 gY[None, i].store(y.to(mY.element_type))
#
#
# @cute.jit
# def rms_norm_residual(
#     mX: cute.Tensor,
#     mR: cute.Tensor,
#     mW: cute.Tensor,
#     eps: Float32,
#     mS: cute.Tensor,
#     mY: cute.Tensor,
# ):
#     grid = (cute.ceil_div(mX.shape[0], 4), 1, 1)
#     rms_norm_residual_kernel(mX, mR, mW, eps, mS, mY).launch(grid=grid, block=(128, 1, 1))
# ```
#
# Of a row, `x` and `r` are read, `s` and `y` written. An addition and a norm of its own read `s`
# once more: five rows in place of four, and a launch more. Counted here for 40 rows of 400 in
# float32: 6,000 sectors loaded (`x`, `r`, and `w` out of a cache) and 4,000 stored. Whether `y` is
# computed from the float32 sum, as here, or from the sum as it was rounded and stored, is a matter
# of agreement with what the model was trained with: in float16 an element of `y` differs by a
# rounding, hardly more.
#
# </details>

# %% [markdown] exercise="week2/rotary" part="task"
# ### Exercise 9: turn vectors by their position
#
# Rotary embedding: a model learns where a token stands from vectors that are turned. `x` has shape
# (tokens, heads, dim), and component j of a head and component j + dim / 2 are a pair (a, b), which
# turns by the angle that token and j decide, `cos[t, j]` and `sin[t, j]`:
#
#     a' = a · cos − b · sin,   b' = b · cos + a · sin
#
# Pairs **half apart**, as in Llama and GPT-NeoX (`rotate_half`); neighbours, 2j and 2j + 1, are the
# other convention, and a model trained with one is useless with the other. In place: the result
# overwrites `x`. float32 and float16; the tables, (tokens, dim / 2), are float32,
# and each of their entries is read once for all heads. `rotary(mX, mCos, mSin)`.
#
# **Asked**: one warp per token.
#
# <details><summary>Hint 1</summary>
#
# Nothing is reduced here. Which thread should have both elements of a pair, when their place is
# overwritten?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Two loops: lanes share the dim / 2 pairs of a head, and each lane goes through all heads with its
# pair. What stays the same in the inner loop?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Both elements are in registers before either is stored, in the line that loads; cos and sin are
# loaded in the outer loop, in the line before the inner one.
#
# </details>

# %%
fk.exercise("week2/rotary").given


# %% exercise="week2/rotary" part="skeleton"
@cute.kernel
def rotary_kernel(mX: cute.Tensor, mCos: cute.Tensor, mSin: cute.Tensor):
    # FILL ME IN (roughly 11 lines)
    pass


@cute.jit
def rotary(mX: cute.Tensor, mCos: cute.Tensor, mSin: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/rotary" part="grade"
fk.exercise("week2/rotary").grade(rotary)

# %% [markdown] exercise="week2/rotary" part="solution"
# <details><summary>Solution of exercise 9</summary>
#
# ```python
# @cute.kernel
# def rotary_kernel(mX: cute.Tensor, mCos: cute.Tensor, mSin: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     token, lane = bidx * 4 + tidx // 32, tidx % 32
#     half = mX.shape[2] // 2
#     if token < mX.shape[0]:
#         for j in range(lane, half, 32):
#             cos, sin = mCos[token, j], mSin[token, j]
#             for h in range(mX.shape[1]):
#                 a, b = mX[token, h, j].to(Float32), mX[token, h, j + half].to(Float32)
#                 mX[token, h, j] = (a * cos - b * sin).to(mX.element_type)
#                 mX[token, h, j + half] = (b * cos + a * sin).to(mX.element_type)
#
#
# @cute.jit
# def rotary(mX: cute.Tensor, mCos: cute.Tensor, mSin: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 4)
#     rotary_kernel(mX, mCos, mSin).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# A pair is four multiplications and two additions for 8 bytes in and 8 bytes out: memory decides.
# Counted for 21 tokens of 8 heads of 128 in float32: 3,024 sectors loaded, 2,688 of them `x` and
# 336 the tables; with the tables read for each head it would be 5,376. In place is safe because
# both elements of a pair belong to one thread, which reads both before it writes either; a thread
# an element would be a race between warps. Turned by such angles, q · k depends on how far apart
# two tokens stand, and on nothing else of their places: that is why attention wants it.
#
# </details>

# %% [markdown]
# ## The summit: attention of one query
#
# A language model writes one token, a word or a part of one, at a time. For each, every **head**
# has one **query** q, a vector of D components, and a list of all tokens so far: L **keys** and L
# **values**, vectors of D components, too. The query is compared with each key, softmax makes
# weights of what comes out, and the result is the mean of the values with these weights:
#
# $$x_i = \text{scale} \cdot q \cdot K_i
# \qquad o = \frac{\sum_i e^{x_i - m}\, V_i}{\sum_i e^{x_i - m}}$$
#
# The $x_i$, the **scores**, are a row, and m is its maximum. This week's row, with two differences:
# nobody has stored it, since each element has to be computed first, and nobody asks for its
# softmax, only for a sum with it.
#
# The textbook needs three steps, each through memory: all scores; their softmax; the mean. But the
# denominator is s, and s can be had in one pass. Can the numerator? Like s it is a sum of
# exponentials relative to m, with a vector beside each. When the maximum grows from m to m', each
# exponential is to be multiplied by $e^{m - m'}$, and the same factor can be taken out of both
# sums:
#
# $$s' = s \cdot e^{m - m'} + e^{x - m'} \qquad o' = o \cdot e^{m - m'} + e^{x - m'}\, V$$
#
# **(m, s, o) is (m, s) with one more component**, or with D of them. Whatever is done to s is done
# to o, and the division is done once, at the very end. A single key is the part (x, 1, V), nothing
# is (−∞, 0, 0), and two parts of the list are merged as in `01_online`. In plain Python:


# %%
def merged_part(a, b):
    """(m, s, o) of two parts of a list of keys together: o is a list of D numbers."""
    m = max(a[0], b[0])
    if m == -math.inf:
        return a  # neither part has a key
    old, new = math.exp(a[0] - m), math.exp(b[0] - m)
    o = [x * old + y * new for x, y in zip(a[2], b[2], strict=True)]
    return m, a[1] * old + b[1] * new, o


scores = fk.randn(9, seed=1, device="virtual") * 5
values = fk.randn(9, 3, seed=2, device="virtual")
nothing = (-math.inf, 0.0, [0.0, 0.0, 0.0])
parts = []
for warp in range(4):  # warp w has keys w, w + 4, w + 8
    part = nothing
    for i in range(warp, 9, 4):
        part = merged_part(part, (scores[i].item(), 1.0, values[i].tolist()))
    parts.append(part)
    print(f"warp {warp}: m {part[0]:6.2f}   s {part[1]:5.2f}   o", [f"{x:5.2f}" for x in part[2]])
m, s, o = functools.reduce(merged_part, parts, nothing)
fk.check(torch.tensor([x / s for x in o]), scores.double().softmax(0) @ values.double())

# %% [markdown]
# That is the whole algorithm. It also says what has to be where:

# %%
WARPS, DIM = 4, 64
figure, axes = plt.subplots(figsize=(7.2, 3.9))
axes.set(xlim=(0, 100), ylim=(-1, 60), title="One head: what stays on chip")
axes.axis("off")
hues = plt.get_cmap("Pastel1").colors


def box(x, y, width, height, text, color):
    axes.add_patch(plt.Rectangle((x, y), width, height, facecolor=color, edgecolor="black", lw=0.8))
    axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=8)


def arrow(start, end):
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "lw": 0.9, "color": "gray"})


shared = WARPS * (1 + 1 + DIM) * 4  # bytes of m, s and o, in float32
for y, text in (
    (56.5, "global\nmemory"),
    (31, "registers\nof a warp"),
    (17, f"shared memory,\n{shared:,} bytes\nfor any L"),
    (9.5, "one barrier"),
):
    axes.text(0, y, text, fontsize=8, va="center")
axes.add_patch(plt.Rectangle((19, 6), 80, 36, facecolor="whitesmoke", edgecolor="gray", lw=0.8))
axes.text(98, 7.6, "on chip: one block", fontsize=8, color="dimgray", ha="right", va="center")
axes.text(98, 49, "read once, used, forgotten", fontsize=8, ha="right")
axes.plot([16, 99], [9.5, 9.5], color="black", lw=0.9, ls="--")
for i in range(16):
    box(21 + 4.8 * i, 53.5, 4.4, 6, f"K{i}\nV{i}" if i < 15 else "…", hues[i % WARPS])
for w in range(WARPS):
    left = 21 + 19.6 * w
    arrow((23.2 + 4.8 * w, 53.5), (left + 8.5, 36.2))
    box(left, 25, 17, 11, f"q   m   s   o\nkeys {w}, {w + 4}, …", hues[w])
    arrow((left + 8.5, 25), (left + 8.5, 20.7))
    box(left, 13.5, 17, 7, f"m{w}  s{w}  o{w}", hues[w])
    arrow((left + 8.5, 13.5), (58.5, 3.6))
box(52.5, -0.5, 12, 4, "o / s", "white")
axes.text(67, 1.5, f"D = {DIM} numbers, stored once", fontsize=8, va="center")
plt.show()

# %% [markdown]
# Three places. **Registers:** q, for it is used with every key; m and s, the same in all lanes of
# a warp; and o, D / 32 components a lane. **Shared memory:** a (m, s, o) of each warp, once, when
# its keys are used up. **Nowhere:** the scores. A score is born in the five shuffles that end
# $q \cdot K_i$, makes two factors, and is forgotten; so L may be anything.
#
# What a warp does with one key, line by line:
#
# 1. Lane j loads components j and j + 32 of $K_i$: neighbours in memory are neighbours in the
#    warp.
# 2. It multiplies them with its own of q, and the warp adds up. *Every* lane needs the score,
#    since every lane has a part of o.
# 3. The new maximum, and two factors: one for what was there, one for what comes.
# 4. s and o take both factors. Lane j loads components j and j + 32 of $V_i$ for that.
#
# The exponential is `cute.math.exp2` with log₂ e folded into the scale, as in
# `02_the_row_in_registers`: q is multiplied by both, once, before the loop.
#
# > **Looks right and is wrong.** At the end the four parts are merged in a tree, 0 with 1 and 2
# > with 3, without the `if`. Every test passes in which L is 3 or more. With L = 1 or 2, warps 2
# > and 3 have no key, and −∞ − (−∞) is NaN. Take the largest m of all four first: there is a key,
# > so it is finite.

# %% [markdown] exercise="week2/attention_one_query" part="task"
# ### Exercise 10: attend with one query
#
# When a language model writes its next word, each head has one query of `dim` components, and all
# keys and values so far: `q` and `o` have the shape (heads, dim), `K` and `V` (heads, L, dim).
#
#     o = softmax(q · Kᵀ · scale) V
#
# One pass over K and V, and no score ever reaches memory. Four warps share a head; warp w has keys
# w, w + 4, w + 8, …; the warp reads a key together, 32 components with each load. Each warp keeps
# m, s and its o in registers; the four meet once, in shared memory. L is anything from 1 on,
# `scale` any number, `dim` is 32 or 64 and known when the kernel is compiled; float32 and float16,
# computed in float32. The host function is `attention_one_query(mQ, mK, mV, scale: Float32, dim:
# cutlass.Constexpr, mO)`.
#
# **Asked**: one block per head, 128 threads per block, at most 1 barrier.
#
# <details><summary>Hint 1</summary>
#
# Write `online` for a row of scores first. Then let a second thing go with the sum: wherever s is
# multiplied or added to, o is, with v beside the same factor.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Lane j has components j and j + 32 of q, of o, and of each key and value. The product with a key
# is a sum of a warp, by a butterfly, since every lane needs the score. After the loop lane 0 stores
# m and s, and all lanes store their o: shared memory of shape (4) and (4, dim).
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The maximum of the four m comes first, in the line behind the barrier; then each warp's s and o
# are multiplied by exp2(m of the warp − maximum). A warp without a key has m = −∞ and gets the
# factor 0 there; two of those merged with each other would be −∞ − (−∞). One division, in the line
# that stores.
#
# </details>

# %%
fk.exercise("week2/attention_one_query").given


# %% exercise="week2/attention_one_query" part="skeleton"
@cute.kernel
def attention_one_query_kernel(
    mQ: cute.Tensor,
    mK: cute.Tensor,
    mV: cute.Tensor,
    scale_log2: Float32,
    dim: cutlass.Constexpr,
    mO: cute.Tensor,
):
    # FILL ME IN (roughly 37 lines)
    pass


@cute.jit
def attention_one_query(
    mQ: cute.Tensor,
    mK: cute.Tensor,
    mV: cute.Tensor,
    scale: Float32,
    dim: cutlass.Constexpr,
    mO: cute.Tensor,
):
    # FILL ME IN (roughly 3 lines)
    pass


# %% exercise="week2/attention_one_query" part="grade"
fk.exercise("week2/attention_one_query").grade(attention_one_query)

# %% [markdown] exercise="week2/attention_one_query" part="solution"
# <details><summary>Solution of exercise 10</summary>
#
# ```python
# @cute.kernel
# def attention_one_query_kernel(
#     mQ: cute.Tensor,
#     mK: cute.Tensor,
#     mV: cute.Tensor,
#     scale_log2: Float32,
#     dim: cutlass.Constexpr,
#     mO: cute.Tensor,
# ):
#     tidx, _, _ = cute.arch.thread_idx()
#     head, _, _ = cute.arch.block_idx()
#     lane, warp = tidx % 32, tidx // 32
#     smem = cutlass.memory.SmemAllocator()
#     sM = smem.allocate_tensor(Float32, cute.make_layout(4), 16)
#     sS = smem.allocate_tensor(Float32, cute.make_layout(4), 16)
#     sO = smem.allocate_tensor(Float32, cute.make_layout((4, dim), stride=(dim, 1)), 16)
#     each = cutlass.const_expr(dim // 32)  # components of a lane: lane, lane + 32
#     rQ, rO = cute.make_rmem_tensor(each, Float32), cute.make_rmem_tensor(each, Float32)
#     for d in cutlass.range_constexpr(each):
#         rQ[d] = mQ[head, lane + 32 * d].to(Float32) * scale_log2
#     rO.fill(0.0)
#     m, s = -Float32.inf, Float32(0.0)
#     for i in range(warp, mK.shape[1], 4):
#         score = Float32(0.0)
#         for d in cutlass.range_constexpr(each):
#             score += rQ[d] * mK[head, i, lane + 32 * d].to(Float32)
#         score = cute.arch.warp_reduction(score, operator.add)
#         m_new = cute.arch.fmax(m, score)
#         old = cute.math.exp2(m - m_new, fastmath=True)
#         new = cute.math.exp2(score - m_new, fastmath=True)
#         m, s = m_new, s * old + new
#         for d in cutlass.range_constexpr(each):
#             rO[d] = rO[d] * old + new * mV[head, i, lane + 32 * d].to(Float32)
#     if lane == 0:
#         sM[warp], sS[warp] = m, s
#     for d in cutlass.range_constexpr(each):
#         sO[warp, lane + 32 * d] = rO[d]
#     cute.arch.sync_threads()
#     if tidx < dim:
#         m = cute.arch.fmax(cute.arch.fmax(sM[0], sM[1]), cute.arch.fmax(sM[2], sM[3]))
#         s, o = Float32(0.0), Float32(0.0)
#         for w in cutlass.range_constexpr(4):
#             factor = cute.math.exp2(sM[w] - m, fastmath=True)
#             s += sS[w] * factor
#             o += sO[w, tidx] * factor
#         mO[head, tidx] = (o / s).to(mO.element_type)
#
#
# @cute.jit
# def attention_one_query(
#     mQ: cute.Tensor,
#     mK: cute.Tensor,
#     mV: cute.Tensor,
#     scale: Float32,
#     dim: cutlass.Constexpr,
#     mO: cute.Tensor,
# ):
#     scale_log2 = scale * 1.4426950408889634  # 2 ** (x * log2(e)) is e ** x
#     kernel = attention_one_query_kernel(mQ, mK, mV, scale_log2, dim, mO)
#     kernel.launch(grid=(mQ.shape[0], 1, 1), block=(128, 1, 1))
# ```
#
# Counted for 8 heads of 1,000 keys of 64 in float16: K and V are 2,048,000 bytes, and 2,052,096 are
# asked for; the rest is q, once for each warp. Shared memory is 1,056 bytes a block, four times (m,
# s, o), for 1,000 keys as for 2,000, and 43 instructions are executed a key, ten of them for the
# five shuffles and additions of the score. With 16 bytes a lane (8 lanes have a key, a warp takes
# four keys at once, and their groups merge (m, s, o) by shuffles in the end) 32,064 load requests
# become 4,032 and 43 instructions become 22; that passes as well. Scores through memory would be
# few bytes here, 4 beside the 256 of a key; with one launch more for each step. It is with L
# queries that they become L² numbers. Where heads are few and L is long, blocks share the keys as
# warps do here, and merge (m, s, o) once more: *flash decoding*.
#
# </details>

# %% [markdown]
# ## From here to flash attention
#
# Your kernel is the inner loop of FlashAttention. What is between them is not mathematics:
#
# - **Many queries.** When a prompt is read, all L tokens have a query, and the scores are L × L:
#   for 32,768 tokens a billion numbers a head, in place of one row. That they never reach
#   memory is convenient for one query, and what makes it possible for L.
# - **Tiles.** One query uses each byte of K and V once: 4 · D operations for 4 · D bytes of
#   float16. A block with a tile of 64 queries loads a tile of keys and values into shared memory
#   and uses it 64 times. (m, s) is then a column, one pair for each query, and o a matrix, 64 by D.
# - **Tensor cores.** Q · Kᵀ of two tiles is a product of matrices, and so is the product of the
#   exponentials with V. Between them stand the lines that you wrote: the new maximum of each row,
#   two factors, s and o rescaled. The rows' maxima are shuffles again, of the few lanes that hold
#   a row.
# - **Masks.** In a causal mask a query sees no key behind its own place: tiles of keys that lie
#   wholly behind are never loaded, and in the tile on the diagonal scores become −∞, with what you
#   know about rows of −∞.
# - **Few heads, long lists.** When a model writes, there are as many blocks as heads: too few for
#   a GPU. *Flash decoding* gives parts of the list to different blocks and merges (m, s, o) once
#   more, in a second launch or by the last block to arrive: `04_few_long_rows` of week 1.
# %% [markdown]
# ## What you can do now

# %% tags=["nbval-ignore-output"]
fk.progress()

# %% [markdown]
# Your first kernel multiplied each element by 3. Since then you have made layouts carry data to
# threads, threads bring results together, and a softmax pass over its row only once; you have
# counted what each step costs before believing a clock, and found the races that no test of values
# sees. The ten kernels of this page in one table:
#
# | puzzle | what is merged | identity | what is written | the row is read |
# |---|---|---|---|---|
# | log-softmax | (m, s) | (−∞, 0) | x − m − log s | twice |
# | mask and temperature | (m, s) | (−∞, 0) | e^((x − m) / t) / s, or 0 | twice |
# | cross-entropy | (m, s) | (−∞, 0) | loss and lse | once |
# | its gradient | nothing, lse is kept | | g · (p − [n = target]) | once |
# | the four largest | four pairs | four of (−∞, no index) | four pairs | once |
# | RMSNorm | Σ x² | 0 | x · w / rms | once |
# | LayerNorm | Σ x, then Σ (x − mean)² | 0 | (x − mean) · w / σ + b | once |
# | sum and RMSNorm | Σ (x + r)² | 0 | two rows | once |
# | rotary embedding | nothing, pairs | | turned pairs | once |
# | attention of one query | (m, s, o) | (−∞, 0, 0) | o / s | keys, values: once |
#
# **In practice** exactly these kernels are written by hand, for no library of separate operators
# can save what they save: a pass over memory, or a matrix between two launches. They come with
# vectors of 16 bytes, with clusters for long rows, and with a choice by shape, as you have seen in
# `05_in_production`.
#
# **Where to go from here.** Tensor cores: CuTe describes what they want by layouts of the kind that
# you know, for which thread holds which element of a tile is a TV layout again. Begin with the
# matrix product of one tile, then shared memory, then a pipeline of `cp.async`; then put your last
# kernel between two of them. And your own kernels: `fk.check`, `fk.sanitize`, `fk.profile` and the
# pictures take any CuTe DSL kernel, not only those of this course.
#
# **Further reading:** [Online normalizer calculation for
# softmax](https://arxiv.org/abs/1805.02867) (M. Milakov, N. Gimelshein, 2018), (m, s) ·
# [Self-attention does not need O(n²) memory](https://arxiv.org/abs/2112.05682) (M. Rabe, C. Staats,
# 2021), (m, s, o) · [FlashAttention](https://arxiv.org/abs/2205.14135) (T. Dao and others, 2022)
# and [FlashAttention-2](https://arxiv.org/abs/2307.08691) (T. Dao, 2023), tiles and their order ·
# [Flash-Decoding](https://pytorch.org/blog/flash-decoding/) (2023), the list in parts · [Root mean
# square layer normalization](https://arxiv.org/abs/1910.07467) (B. Zhang, R. Sennrich, 2019) ·
# [RoFormer](https://arxiv.org/abs/2104.09864) (J. Su and others, 2021), the rotary embedding ·
# [CuTe DSL examples](https://github.com/NVIDIA/cutlass/tree/main/examples/python/CuTeDSL), flash
# attention and matrix products on tensor cores
#
# **Next:** a kernel that you need and nobody has written.
