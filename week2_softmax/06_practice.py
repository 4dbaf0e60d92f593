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
# **You will build** ten complete kernels that language models run at every step, from log-softmax
# to attention, including their launches.
# **You will learn** that nearly all of them have the same form: reduce a row, then go over it
# again.
# **You need** `00_softmax_without_tears` to `05_in_production`, but no GPU. About 25 minutes, and
# 260 more for the exercises.
#
# **The bad number: 1.5 times the bytes of the scores.** The fused kernel of `05_in_production`
# still moves that much, because it reads the scores and stores the probabilities. The last kernel
# of this page moves neither.
#
# Each puzzle defines the result and gives the signature, and most draw a small case. You write the
# rest: indices, predicates, blocks, the grid, and the exchange between threads. The grade tests the
# values, tries several orders of threads, and compares the cost with that of our solution. Work in
# any order; only the last puzzle needs the ideas of all the others.

# %%
import functools
import math
import operator

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32
from week2_helpers import attention_picture, form_picture, merged_pair

import forgekit as fk

# %% [markdown]
# ## The common form
#
# Nearly every kernel of this page goes through a row and turns each element into a share, merges
# the shares, and goes through the row again with the merged share. Here is that form in plain
# Python, with a warp's lanes and butterfly. Choose `of`, `merge`, `identity` and `then`, and you
# have a kernel. `merged_pair` merges two pairs (m, s) as in `01_online`:


# %%
def over_rows(x, *, of, merge, identity, then, lanes=4):
    """For each row: merge `of` all elements, then apply `then` to each element and the result."""
    y = torch.empty_like(x)
    for row, out in zip(x, y, strict=True):
        shares = [identity] * lanes
        for n, value in enumerate(row.tolist()):
            shares[n % lanes] = merge(shares[n % lanes], of(value))
        for k in range(lanes.bit_length() - 1):
            shares = [merge(shares[lane], shares[lane ^ (1 << k)]) for lane in range(lanes)]
        out[:] = torch.tensor([then(value, shares[0]) for value in row.tolist()])
    return y


softmax_form = {
    "of": lambda value: (value, 1.0),
    "merge": merged_pair,
    "identity": (-math.inf, 0.0),
    "then": lambda value, row: math.exp(value - row[0]) / row[1],
}
unit_length_form = {
    "of": lambda value: value * value,
    "merge": operator.add,
    "identity": 0.0,
    "then": lambda value, row: value / math.sqrt(row),
}

x = fk.randn(3, 6, device="virtual")
fk.check(over_rows(x, **softmax_form), x.softmax(1))
fk.check(over_rows(x, **unit_length_form), x / x.norm(dim=1, keepdim=True))

# %% [markdown]
# The picture shows a row of three elements and four lanes. The lane without an element holds the
# identity. After two steps of the butterfly, all lanes have the maximum and the sum. The lanes
# exchange only these two numbers.

# %%
form_picture([math.log(1), math.log(2), math.log(5)])

# %% [markdown]
# Answer three questions before you write a kernel:
#
# - How do two shares merge, and which share is the **identity**, the one that changes nothing? Does
#   the merge also work for two identities?
# - What does the second pass need: one number, two numbers, or the elements themselves?
# - Where do the elements stay until then: in memory, in shared memory or in registers?
#
# > **Looks right but is wrong.** `merged_pair` subtracts 0 where the maximum is −∞. That looks like
# > a special case for rows of −∞. If you remove it, rows of 32, 64 and 96 elements stay correct.
#
# **Predict:** with 32 lanes and without that special case, how long is the longest row of finite
# numbers whose result contains NaN?

# %%
longest = fk.predict("elements in the longest row with NaN", None)


# %% jupyter={"outputs_hidden": true}
def unguarded(a, b):
    m = max(a[0], b[0])
    return m, a[1] * math.exp(a[0] - m) + b[1] * math.exp(b[0] - m)


def is_number(columns):
    y = over_rows(torch.ones(1, columns), **softmax_form | {"merge": unguarded}, lanes=32)
    return not y.isnan().any()


wrong = [columns for columns in range(1, 100) if not is_number(columns)]
longest.against(max(wrong))
print("NaN in rows of", wrong[0], "to", wrong[-1], "elements")

# %% [markdown]
# The first step of the butterfly merges neighbours. If the last two lanes are both empty, they
# compute −∞ − (−∞) = NaN, which reaches every lane by the last step. With 31 elements or more, no
# two neighbours are empty. There are two remedies: keep the special case, or first take the maximum
# of all lanes and then rescale each sum once, relative to a finite number. In exercise 3 a whole
# warp is empty; find out which remedy still works.
#
# A thread has at most 255 registers for all its values.
#
# **Predict:** a language model has 32,000 float32 logits per row, one per word. If a block has 128
# threads, how many registers per thread does the row take?

# %%
taken = fk.predict("registers per thread", None)

# %% jupyter={"outputs_hidden": true}
print("registers per thread", *(f"{threads:6d} threads" for threads in (32, 128, 1024)))
for columns in (512, 1024, 4096, 32_000):
    each = [math.ceil(columns / threads) for threads in (32, 128, 1024)]
    print(f"{columns:11,} elements", *(f"{number:14,}" for number in each))
taken.against(math.ceil(32_000 / 128))

# %% [markdown]
# That leaves five registers for everything else. So there are two kinds of puzzles. Kernels for
# rows of any length read the row again (exercises 1 and 2) or need it only once (3 to 5). Kernels
# for short rows read it once and keep it in registers (6 to 8).
#
# ## Softmax and what follows it
#
# A language model outputs logits, one number for each possible next word. Training turns them into
# a loss and its gradient. Generation turns them into a choice.

# %% [markdown] exercise="week2/log_softmax" part="task"
# ### Exercise 1: take the logarithm of a softmax
#
# Compute `y[m, n] = log(softmax(x[m])[n])`. Support float32, float16 and bfloat16; compute in
# float32. Read each row at most twice. All elements are finite, but a row may be around 30,000 or
# −60,000. Even where an element's softmax rounds to 0, the result must not be −∞. Signature:
# `log_softmax(x, y)`.
#
# **Required**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# The logarithm of a quotient is a difference. Write log(exp(x − m) / s) without an exponential and
# without a quotient.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# One pass gives each lane a pair (m, s); the warp merges the pairs. The second pass needs no
# exponential.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The line that stores the result adds x, −m and −log s. Which two should it add first if x and m
# are 30,000 and log s is 2?
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
# Float32 numbers near 30,000 are 0.002 apart, so `m + log s` loses digits of log s before you
# subtract it. `x − m` is exact for the elements near the maximum, which are the ones that matter.
#
# </details>

# %% [markdown] exercise="week2/masked_softmax" part="task"
# ### Exercise 2: take a masked softmax with a temperature
#
# Compute the softmax of `x / t` over the elements of a row whose `mask` is not 0: `y[m, n] =
# exp(x[m, n] / t) / Σ exp(x[m, k] / t)`, where the sum covers all k with `mask[m, k] ≠ 0`. Where
# the mask is 0, y is 0, even if x is large, infinite or NaN there; all other elements are finite. A
# row whose mask is all 0 becomes 0 (torch returns NaN). A row may be around −100,000. Read each row
# at most twice. `mask` is uint8, and t > 0; x and y are float32 or bfloat16. Compute in float32.
# Signature: `masked_softmax(mX, mMask, t: Float32, mY)`.
#
# **Required**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# A masked element counts neither in the maximum nor in the sum. What are m and s of a lane without
# an element?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# NaN times 0 is NaN, so exclude an element with a predicate, not with a factor. −∞ − (−∞) is NaN as
# well. Which lines could compute such a difference of two maxima?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The temperature and log₂ e form one factor. Compute it once, before the loops. In the lines with
# exponentials, apply it to the difference from the maximum.
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
#         # In a row without any element this is NaN, which is never used.
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
# Softmax in attention nearly always has a mask: for padding, for causality, or for several
# documents in one sequence. One byte of mask per element increases the bytes read by a quarter in
# float32 and by half in bfloat16. A causal mask that is computed from row and column adds none.
#
# </details>

# %% [markdown] exercise="week2/cross_entropy" part="task"
# ### Exercise 3: compute the loss of a classifier
#
# Compute the cross-entropy of each row, `loss[m] = lse[m] − x[m, target[m]]` with `lse[m] = log Σ
# exp(x[m, n])`. Store both; the gradient needs lse. **Read each row once**; only x[m, target[m]]
# may be read again. Ignore a target of −100: its loss is 0, but its lse is computed as usual. x is
# float32 or float16 and finite; a row may be around 30,000 or −60,000. target is int64; loss and
# lse are float32. Compute in float32. Signature: `cross_entropy(x, target, loss, lse)`.
#
# **Required**: one block per row, 128 threads per block, 4 warps per block that share the loads, at
# most 1 barrier.
#
# <details><summary>Hint 1</summary>
#
# Merge the threads' pairs (m, s) in two stages: the lanes of a warp by shuffles, and the four warps
# through shared memory.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# With 5 columns, three warps have no elements, so m = −∞ and s = 0. How can such a lane rescale
# relative to the maximum of its warp?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# One thread finishes the row. After the barrier, it reads one element again, but only if there is a
# target. It computes m − x[target] first and then adds log s.
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
# With 32,000 classes, the logits are the largest tensor in a language model's training step. This
# kernel reads them once and writes eight bytes per row. In contrast, torch's log_softmax followed
# by a gather writes a whole matrix in between.
#
# </details>

# %% [markdown] exercise="week2/cross_entropy_backward" part="task"
# ### Exercise 4: compute the gradient of the loss
#
# Compute the gradient of exercise 3, `dx[m, n] = g[m] · (softmax(x[m])[n] − [n = target[m]])`.
# `[…]` is 1 if its condition holds and 0 otherwise; g[m] is the gradient with respect to the row's
# loss. Where the target is −100, dx is 0. Compute the softmax from `lse`, which needs no reduction;
# read x once and write dx once. x and dx are float32 or float16, target is int64, and lse and g are
# float32; compute in float32. Signature: `cross_entropy_backward(x, target, lse, g, dx)`.
#
# **Required**: one block per row, 128 threads per block, 4 warps per block that share the loads, no
# barriers, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# How do you write exp(x) / Σ exp(x) without a division and without overflow, by subtracting lse?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Each thread decides for its own elements whether n is the target. If one thread corrected
# dx[target] afterwards, which thread's store would it have to wait for?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Read the row's target, lse and g once, before the loop. If the target is to be ignored, set g to 0
# at that point.
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
# One saved number per row, lse, turns a reduction with two reads into an elementwise map. Keep
# small values, and recompute values that are cheap. dx may overwrite x, because the same thread
# reads and writes each element, so large models never hold two matrices of logits.
#
# </details>

# %% [markdown] exercise="week2/top_k" part="task"
# ### Exercise 5: find the four largest elements and their columns
#
# Store the four largest elements of each row in `v[m, 0…3]`, the largest first, and their columns
# in `i[m, 0…3]`. Among equal elements, the lower index comes first, so the order of lanes cannot
# change the result. Rows have at least four elements; some elements may be −∞, but none is NaN.
# Read each row once. x and v are float32, and i is int32. Signature: `top_k(x, v, i)`.
#
# **Required**: one warp per row, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# A lane keeps four sorted pairs (value, index). Which pair is the identity? It has to come after
# every element, even after −∞.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Compare a new pair with each of the four in turn. If it is better, swap the two and continue with
# the displaced pair. Drop the last one.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In each step of the butterfly, shuffle all eight numbers of the partner before you insert the
# first pair. Compare indices there as well, because the partner's may be lower.
#
# </details>

# %%
fk.exercise("week2/top_k").given


# %% exercise="week2/top_k" part="skeleton"
@cute.jit
def insert(rV: cute.Tensor, rI: cute.Tensor, value: Float32, index: Int32):
    """Insert a pair into the four best, rV and rI, in order; drop the last of the five."""
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
#     """Insert a pair into the four best, rV and rI, in order; drop the last of the five."""
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
# Merging two lists of four is associative and commutative, because the index makes the order total:
# no two pairs are equal. To sample from the k likeliest words, combine this kernel with a softmax
# over k numbers. If k exceeds a few dozen, registers run out; then sort, or select by digits (radix
# select), instead.
#
# </details>

# %% [markdown]
# A good place for a break.
#
# ## Normalise and rotate
#
# Between the layers of a model there are many short rows, of a few thousand elements each. These
# kernels are bound by memory: one read and one write. The merge is a sum. Two things are new:
# different numerical traps, and operands besides the row.

# %% [markdown] exercise="week2/rms_norm" part="task"
# ### Exercise 6: divide rows by their root mean square
#
# RMSNorm is the normalisation in most language models today: `y[m, n] = x[m, n] / sqrt(mean of x[m,
# :]² + eps) · w[n]`. Rows have at most 512 elements in float32, float16 or bfloat16; compute in
# float32 and read `x` once. A row of zeros stays zero. Signature: `rms_norm(mX, mW, eps: Float32,
# mY)`.
#
# **Required**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# The kernel is a reduction whose result every lane needs, followed by a map over the same row, like
# softmax without its maximum.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Each lane holds at most 16 elements in registers. Loop with `range_constexpr(16)` and a predicate,
# so that each register has a fixed number.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Registers past the row hold 0 before you add the squares. Divide by `mX.shape[1]`, add `eps` under
# the root, and compute `cute.math.rsqrt` once, between the two loops.
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
#         rX = cute.make_rmem_tensor(16, Float32)  # the row, 16 elements per lane
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
# For 40 rows of 400 float32, threads request 64,000 bytes of `x` and 64,000 bytes of `w`, and store
# 64,000 bytes. But `w` has only 1,600 bytes, which are the same for all rows and come from a cache
# after the first rows. So memory moves each row once in each direction. Without `eps`, a row of
# zeros becomes 0 · ∞ = NaN.
#
# </details>

# %% [markdown] exercise="week2/layer_norm" part="task"
# ### Exercise 7: normalise rows by mean and variance
#
# LayerNorm is `y[m, n] = (x[m, n] − mean) / sqrt(variance + eps) · w[n] + b[n]` with the mean and
# the variance (divided by N) of row m. Rows have at most 1,024 elements in float32 or float16;
# compute in float32 and read `x` once. A row's elements may be 1000 ± 4 or −3000 ± 16, for which
# the mean of the squares minus the square of the mean loses most of its digits. If all are the same
# whole number, `x − mean` has to be exactly 0. You may call `block_sum` twice, or not at all.
# Signature: `layer_norm(mX, mW, mB, eps: Float32, mY)`.
#
# **Required**: one block per row, 128 threads per block, 4 warps per block that share the loads, at
# most 2 barriers.
#
# <details><summary>Hint 1</summary>
#
# The row is in registers, with 8 elements per thread. Go through it twice, first for the mean and
# then for the squared distances from it.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Every thread needs both sums of the block. For each sum, use shuffles, store one word per warp,
# wait at a barrier, and let all threads add the four words.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Registers past the row hold 0, which is far from the mean, so put the predicate around the line
# that adds the squares as well. If the second sum reused the first sum's words, you would need
# another barrier.
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
#     rX = cute.make_rmem_tensor(8, Float32)  # the row, 8 elements per thread
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
# With x = 1000 ± 4, the mean of the squares is about 1,000,016, where float32 has steps of 1/16,
# and both terms of the difference are off by several steps. For 50 rows of 700 elements, that
# variance is wrong by up to 2 %, and the two-pass variance by less than 2 parts in 10 million.
# Welford's `(count, mean, m2)` from week 1 also passes, with one barrier and an error of at most 3
# parts in a million, but it takes 63,200 instructions instead of 50,100.
#
# </details>

# %% [markdown] exercise="week2/rms_norm_residual" part="task"
# ### Exercise 8: normalise a sum and store both
#
# Between two layers, a language model computes `s = x + r`, the next residual, and `y = s /
# sqrt(mean of s² + eps) · w`, the next layer's input. Write both once, in the type of the inputs,
# float32 or float16; compute in float32. Rows have at most 512 elements; N is a multiple of 8. A
# lane can keep its sums in a register tensor of shape `((vec,), 4)`: four vectors of 16 input
# bytes, even if the row has fewer. Signature: `rms_norm_residual(mX, mR, mW, eps: Float32, mS,
# mY)`.
#
# **Required**: one warp per row, 16 bytes per load, 16 bytes per store.
#
# <details><summary>Hint 1</summary>
#
# This is `rms_norm` with a prologue: the kernel computes the sum, keeps it in registers, and also
# stores it.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Cut the rows and `w` into vectors with `cute.zipped_divide`; `[None, i]` is vector i, which
# `.load()` and `.store()` move. `[None, k]` selects vector k of registers of shape `((vec,), 4)`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Convert a vector to float32 in the line that adds it, and back in the lines that store it. Square
# the float32 sum. Before the loop, `fill` the registers with 0 for missing vectors.
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
# The kernel reads `x` and `r` and writes `s` and `y`. A separate addition and norm would read `s`
# again, moving five rows instead of four, in two launches. For 40 rows of 400 float32, the kernel
# loads 6,000 sectors (`w` comes from a cache) and stores 4,000.
#
# </details>

# %% [markdown] exercise="week2/rotary" part="task"
# ### Exercise 9: rotate vectors by their position
#
# A rotary embedding encodes a token's position by rotating vectors. `x` has shape (tokens, heads,
# dim). Components j and j + dim / 2 of a head are a pair (a, b). The kernel rotates the pair by an
# angle that depends on the token t and on j, given as `cos[t, j]` and `sin[t, j]`:
#
#     a' = a · cos − b · sin,   b' = b · cos + a · sin
#
# Pairs are **half apart**, as in Llama and GPT-NeoX (`rotate_half`). Some models pair neighbours,
# 2j and 2j + 1; the two conventions are incompatible. The result overwrites `x`, which is float32
# or float16. The tables have shape (tokens, dim / 2) and are float32. Read each table entry once
# for all heads. Signature: `rotary(mX, mCos, mSin)`.
#
# **Required**: one warp per token.
#
# <details><summary>Hint 1</summary>
#
# The kernel reduces nothing. If you overwrite a pair in place, which thread has to hold both
# elements?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Use two loops: the lanes share the dim / 2 pairs of a head, and each lane goes through all heads.
# Which values stay the same in the inner loop?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Load both elements before you store either. Load cos and sin in the outer loop.
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
# A pair takes six operations for 8 bytes read and 8 bytes written, so the kernel is bound by
# memory. For 21 tokens with 8 heads of 128 float32, it loads 3,024 sectors: 2,688 of `x` and 336 of
# the tables. Working in place is safe, because one thread owns both elements of a pair and reads
# them before it writes. With one thread per element, warps would race. After such rotations, q · k
# depends on the positions of its two tokens only through their distance, which is exactly what
# attention needs.
#
# </details>

# %% [markdown]
# ## The summit: attention for one query
#
# A language model generates one token (a word or part of a word) at a time. For each token, every
# **head** has one **query** q, a vector of D components. For the tokens so far, the head also has L
# **keys** and L **values**, again vectors of D components. The head compares the query with each
# key. Softmax turns the L results into weights, and the output is the weighted mean of the values:
#
# $$x_i = \text{scale} \cdot q \cdot K_i
# \qquad o = \frac{\sum_i e^{x_i - m}\, V_i}{\sum_i e^{x_i - m}}$$
#
# The **scores** $x_i$ are this week's row, and m is its maximum. Two things differ. The row is not
# in memory, so you compute each element first. And you need a sum weighted by the softmax, not the
# softmax itself.
#
# The textbook version takes three steps through memory: the scores, their softmax, and the weighted
# mean. But one pass is enough for the denominator s, and the numerator is also a sum of
# exponentials relative to m, each times a vector. When the maximum grows from m to m', both sums
# are multiplied by the same factor $e^{m - m'}$:
#
# $$s' = s \cdot e^{m - m'} + e^{x - m'} \qquad o' = o \cdot e^{m - m'} + e^{x - m'}\, V$$
#
# **(m, s, o) is (m, s) with D more components.** Rescale o wherever you rescale s, and divide once,
# at the end. A single key is the part (x, 1, V), an empty list of keys is (−∞, 0, 0), and two parts
# merge as in `01_online`. In plain Python:


# %%
def merged_part(a, b):
    """Return (m, s, o) of two parts of a list of keys, merged; o is a list of D numbers."""
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
# That is the whole algorithm. The next picture shows where its values are stored:

# %%
attention_picture()

# %% [markdown]
# **Registers** hold q, which is used for every key; m and s, which are the same in all lanes of a
# warp; and o, with D / 32 components per lane. **Shared memory** holds one (m, s, o) per warp,
# stored once at the end. **No memory** holds the scores. The five shuffles that complete $q \cdot
# K_i$ leave the score in a register; each lane computes two factors from it and discards it. So L
# has no limit.
#
# A warp handles one key in four steps:
#
# 1. Lane j loads components j and j + 32 of $K_i$, so neighbouring lanes load neighbouring
#    addresses.
# 2. It multiplies them by its components of q, and the warp adds the products. *Every* lane needs
#    the score, because every lane has a part of o.
# 3. The lane computes the new maximum and two factors, one for the old sums and one for the new
#    term.
# 4. It loads components j and j + 32 of $V_i$, and applies both factors to s and o.
#
# The exponential is `cute.math.exp2`; log₂ e is folded into the scale, as in
# `02_the_row_in_registers`. The kernel multiplies q by their product once, before the loop.
#
# > **Looks right but is wrong.** Suppose you merge the four parts at the end in a tree, 0 with 1
# > and 2 with 3, without the `if`. Every test with L ≥ 3 passes. With L = 1 or 2, warps 2 and 3
# > have no key, and −∞ − (−∞) is NaN. Instead, take the largest m of all four first; at least one
# > warp has a key, so it is finite.

# %% [markdown] exercise="week2/attention_one_query" part="task"
# ### Exercise 10: compute attention for one query
#
# For its next token, a language model has one query of `dim` components per head, and all keys and
# values so far. `q` and `o` have shape (heads, dim); `K` and `V` have shape (heads, L, dim).
#
#     o = softmax(q · Kᵀ · scale) V
#
# Make one pass over K and V; no score reaches memory. Four warps share a head: warp w has keys w,
# w + 4, w + 8, …, and its lanes read each key together, 32 components per load. Each warp keeps
# m, s and o in registers; the warps merge them once, in shared memory. L is at least 1, `scale`
# is any number, and `dim` is 32 or 64 and known at compile time. Support float32 and float16;
# compute in float32. Signature: `attention_one_query(mQ, mK, mV, scale: Float32, dim:
# cutlass.Constexpr, mO)`.
#
# **Required**: one block per head, 128 threads per block, at most 1 barrier, at most 2,048 bytes of
# shared memory per block.
#
# <details><summary>Hint 1</summary>
#
# First write `online` for a row of scores. Then treat o like s: wherever you multiply s, multiply o
# by the same factor, and wherever you add a term to s, add that term times v to o.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Lane j has components j and j + 32 of q, o, and each key and value. After the loop, lane 0 stores
# m and s, and all lanes store o, in shared tensors of shape (4) and (4, dim).
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# After the barrier take the maximum of the four m first; then multiply each warp's s and o by
# exp2(m of the warp − maximum). A warp without a key has m = −∞ and the factor 0. If you merged two
# such warps first, you would compute −∞ − (−∞).
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
# For 8 heads with 1,000 keys of 64 float16, K and V have 2,048,000 bytes and threads request
# 2,052,096 bytes; the rest is q, once per warp. Each block needs 1,056 bytes of shared memory, four
# times (m, s, o), for any L. A key takes 43 instructions, ten of them for the five shuffles and
# additions of the score. With 16 bytes per lane (8 lanes per key), 32,064 load requests become
# 4,032 and 43 instructions become 22. One query's scores would add only 4 bytes to the 256 bytes of
# a key and its value, but L queries have L² scores. If heads are few and L is large, blocks share
# the keys as warps do here, and merge once more; this is *flash decoding*.
#
# </details>

# %% [markdown]
# ## From here to flash attention
#
# Your kernel is the inner loop of FlashAttention. The complete algorithm adds these steps:
#
# - **Many queries.** A model that reads a prompt has a query for each of L tokens, so the scores
#   form an L × L matrix, which has a billion elements per head for 32,768 tokens. It must not reach
#   memory.
# - **Tiles.** One query uses each byte of K and V once: 4 · D operations for 4 · D bytes of
#   float16. A block with 64 queries loads a tile of keys and values into shared memory and uses it
#   64 times. (m, s) becomes a column with one pair per query, and o becomes a 64 × D matrix.
# - **Tensor cores.** Q · Kᵀ of two tiles is a matrix product, and so is the product of the
#   exponentials with V. Between the two products are the lines that you wrote: they find a new
#   maximum per row, compute two factors, and rescale s and o. A row's maximum takes shuffles among
#   the few lanes that hold the row.
# - **Masks.** A causal mask removes the keys after a query. The kernel never loads tiles of keys
#   that the mask removes entirely. In the tile on the diagonal it sets scores to −∞.
# - **Few heads, long lists.** A model that generates text has one block per head, too few for a
#   GPU. *Flash decoding* assigns parts of the list to different blocks and merges (m, s, o) once
#   more, in a second launch or in the last block to finish (`04_few_long_rows` of week 1).

# %% [markdown]
# ## What you can do now

# %% tags=["nbval-ignore-output"]
fk.progress()

# %% [markdown]
# Your first kernel multiplied each element by 3. Since then you have written layouts that map data
# to threads, exchanges that combine their results, and a softmax that reads its row once. You
# counted each step before you measured its time, and found races that no test of values can reveal.
# These are the ten kernels of this page:
#
# | puzzle | merges | identity | writes | reads |
# |---|---|---|---|---|
# | log-softmax | (m, s) | (−∞, 0) | x − m − log s | twice |
# | mask and temperature | (m, s) | (−∞, 0) | e^((x − m) / t) / s, or 0 | twice |
# | cross-entropy | (m, s) | (−∞, 0) | loss and lse | once |
# | its gradient | nothing, because it uses lse | | g · (p − [n = target]) | once |
# | the four largest | four pairs | four of (−∞, no index) | four pairs | once |
# | RMSNorm | Σ x² | 0 | x · w / rms | once |
# | LayerNorm | Σ x, then Σ (x − mean)² | 0 | (x − mean) · w / σ + b | once |
# | sum and RMSNorm | Σ (x + r)² | 0 | two rows | once |
# | rotary embedding | nothing | | rotated pairs | once |
# | attention for one query | (m, s, o) | (−∞, 0, 0) | o / s | keys, values: once |
#
# **In practice** engineers write exactly these kernels by hand, because each avoids a pass over
# memory, or an intermediate matrix, that separate operators would need. Production versions add
# 16-byte vectors, clusters for long rows, and dispatch by shape, as in `05_in_production`.
#
# **Where to go from here.** The next topic is tensor cores. CuTe describes their operands by TV
# layouts, which you already know: they specify which thread holds which element of a tile. Begin
# with the product of two tiles, add shared memory and then a pipeline of `cp.async`, and finally
# put your last kernel between two products. All of it runs on the virtual GPU
# (`book/what_you_can_do_now.md` has the commands). `fk.check`, `fk.sanitize`, `fk.profile` and the
# pictures work with any CuTe DSL kernel.
#
# **Further reading:** [Online normalizer calculation for softmax](https://arxiv.org/abs/1805.02867)
# (M. Milakov, N. Gimelshein, 2018), on (m, s) · [Self-attention does not need O(n²)
# memory](https://arxiv.org/abs/2112.05682) (M. Rabe, C. Staats, 2021), on (m, s, o) ·
# [FlashAttention](https://arxiv.org/abs/2205.14135) (T. Dao and others, 2022) and
# [FlashAttention-2](https://arxiv.org/abs/2307.08691) (T. Dao, 2023), on tiles and their order ·
# [Flash-Decoding](https://pytorch.org/blog/flash-decoding/) (2023), on splitting the list of keys ·
# [Root mean square layer normalization](https://arxiv.org/abs/1910.07467) (B. Zhang, R. Sennrich,
# 2019) · [RoFormer](https://arxiv.org/abs/2104.09864) (J. Su and others, 2021), on the rotary
# embedding · [CuTe DSL
# examples](https://github.com/NVIDIA/cutlass/tree/main/examples/python/CuTeDSL), with flash
# attention and matrix products on tensor cores
#
# **Next:** the same kernels in NVIDIA's other vocabulary
# ([`07_the_other_vocabulary`](07_the_other_vocabulary.ipynb)).
