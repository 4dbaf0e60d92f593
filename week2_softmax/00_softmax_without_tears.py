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
# # Divide exponentials without overflow
#
# **You will build** a softmax over rows that overflows, and one that survives every row, in three
# passes over memory.
# **You will learn** where exponentials end, why subtracting the maximum changes nothing but the
# rounding, what a masked row gives, and how to count passes over memory.
# **You need** week 1. About 30 minutes, and 55 more for the exercises.
#
# A **softmax** makes weights of a row of numbers: all between 0 and 1, and together 1.
#
# $$y_n = \frac{e^{x_n}}{\sum_k e^{x_k}}$$
#
# It ends every classifier and stands in every attention layer. You have built half of it: `y = x /
# sum(x)` was the last exercise of `02_shuffle`. What is new is the exponential, and it is a
# dangerous function.

# %%
import operator

import cutlass.cute as cute
import matplotlib.pyplot as plt
import torch
from cutlass import Float32

import forgekit as fk

# %% [markdown]
# ## 1. Where exponentials end
#
# **Predict:** which is the largest whole number x for which `exp(x)` is still finite? (2¹⁰ is about
# e⁷; the largest `float32` is about 2¹²⁸, the largest `float16` 65,504.)

# %%
ends_at = {
    torch.float32: fk.predict("largest x, float32", None),
    torch.float16: fk.predict("largest x, float16", None),
    torch.bfloat16: fk.predict("largest x, bfloat16", None),
}

# %% jupyter={"outputs_hidden": true}
whole = torch.arange(-120, 121)
spans = {}
for dtype in ends_at:
    e = whole.to(dtype).exp()
    finite, positive = whole[e.isfinite()], whole[e > 0]
    normal = whole[e >= torch.finfo(dtype).tiny]
    spans[str(dtype)[6:]] = (positive[0].item(), normal[0].item(), finite[-1].item())
    ends_at[dtype].against(finite[-1].item())

figure, axes = plt.subplots(figsize=(6.4, 2.2))
for k, (first, full, last) in enumerate(spans.values()):
    axes.barh(k, last - first, left=first, height=0.5, color="lightsteelblue")
    axes.barh(k, last - full, left=full, height=0.5, color="tab:blue")
    axes.text(first - 3, k, first, ha="right", va="center")
    axes.text(last + 3, k, last, va="center")
axes.set_yticks(range(len(spans)), list(spans))
axes.set(xlim=(-130, 130), xlabel="x", title="Where exp(x) is neither 0 nor infinite")
axes.invert_yaxis()
plt.show()

# %% [markdown]
# To the right of a bar there is only infinity, to the left only 0; in the pale part numbers lose
# their digits one by one. `bfloat16` reaches as far as `float32`, since it has the same exponent.
#
# A sum ends even sooner than its terms:

# %%
tens = torch.full((4,), 10.0, dtype=torch.float16)
print("exp(10), added up in float16:", tens.exp().cumsum(0, dtype=torch.float16).tolist())
for value in (100.0, -110.0):
    e = torch.tensor([value, value]).exp()
    print(f"two of {value:4.0f} in float32: exp {e.tolist()}, weights {(e / e.sum()).tolist()}")

# %% [markdown]
# Two equal numbers have the weights ½ and ½, whatever they are. Here they get ∞/∞ and 0/0, and that
# is **NaN**, *not a number*, both times. 100 is nothing unusual: a score is a dot product of long
# vectors, and a few of them of the size of 10 suffice.
#
# Week 1 has settled the first half: everything is computed in `float32`, whatever the type of the
# tensor. That moves the end from 11 to 88, and no further.

# %% [markdown] exercise="week2/overflows" part="task"
# ### Exercise 1: predict where softmax overflows
#
# Nothing is subtracted: a weight is `exp(x)` divided by the sum of all `exp(x)`, and each result on
# the way is rounded to the type. Answer with numbers, or with `"nan"`. (e⁴ is 54.6, e⁹ is 8,103,
# e⁸⁸ is 1.65 · 10³⁸; the largest float16 is 65,504, the largest float32 3.40 · 10³⁸.)
#
# <details><summary>Hint 1</summary>
#
# A sum overflows when it is larger than the largest number of its type: divide.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# inf behaves like a number: 1/inf is 0. Only inf/inf, 0/0 and inf - inf are NaN.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In the last four lines, write down both exponentials in float32 and their sum first; below -104 an
# exponential is 0. Then divide.
#
# </details>

# %% exercise="week2/overflows" part="skeleton"
ends = {
    # FILL ME IN (roughly 7 lines)
    "float16: how many elements of 9, until the sum of their exponentials is inf": None,
    "float32: how many elements of 88, until the sum of their exponentials is inf": None,
    "float16: largest whole x, so that a sum of 1,000 of exp(x) is still finite": None,
    "float32: the weights of [-200, -200]": None,
    "float32: the weight of the 0 in [0, 100]": None,
    "float32: the weight of the 100 in [0, 100]": None,
    "float32: the weight of the -200 in [0, -200]": None,
}

# %% exercise="week2/overflows" part="grade"
fk.exercise("week2/overflows").grade(ends)

# %% [markdown] exercise="week2/overflows" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# ends = {
#     "float16: how many elements of 9, until the sum of their exponentials is inf": 9,
#     "float32: how many elements of 88, until the sum of their exponentials is inf": 3,
#     "float16: largest whole x, so that a sum of 1,000 of exp(x) is still finite": 4,
#     "float32: the weights of [-200, -200]": "nan",
#     "float32: the weight of the 0 in [0, 100]": 0,
#     "float32: the weight of the 100 in [0, 100]": "nan",
#     "float32: the weight of the -200 in [0, -200]": 0,
# }
# ```
#
# The line with `[0, 100]` is the nasty one: half of the row is a right answer (the weight of the 0
# is 3.7 · 10⁻⁴⁴) and half of it NaN. And the last line shows that being far *below* does no harm as
# long as something else in the row is not: 0 is the right weight, up to rounding.
#
# </details>

# %% [markdown]
# ## 2. Subtract what you like
#
# A factor in both the numerator and the denominator cancels. With $e^{-c}$ as the factor:
#
# $$\frac{e^{x_n}}{\sum e^{x_k}} = \frac{e^{-c}\,e^{x_n}}{e^{-c}\sum e^{x_k}}
# = \frac{e^{x_n - c}}{\sum e^{x_k - c}}$$
#
# So any number may be subtracted from the whole row. In real numbers nothing changes. In `float32`
# the choice decides about everything:


# %%
def softmax_minus(c, x):
    """Softmax of a row in float32, with c(x) subtracted first."""
    e = (x - c(x)).exp()
    return e / e.sum()


ways = {
    "nothing": lambda x: 0.0,
    "the mean": torch.mean,
    "the smallest": torch.amin,
    "the largest": torch.amax,
}
row = fk.randn(1000, device="virtual") * 5
peak = row.clone()
peak[0] = 500.0
rows = {"row": row, "row + 100": row + 100, "row - 150": row - 150, "one of 500": peak}
print("right: every weight is within 8 · 2⁻²⁴ of the float64 result\n")
print(f"{'subtracted':12s}", *(f"{name:>10s}" for name in rows))
for name, c in ways.items():
    off = [(softmax_minus(c, x) - x.double().softmax(0)).abs().max() for x in rows.values()]
    assert all(error.isnan() or error <= 8 * 2**-24 for error in off)
    print(f"{name:12s}", *(f"{'NaN' if error.isnan() else 'right':>10s}" for error in off))

# %% [markdown]
# With the largest subtracted, every exponent is 0 or below: each exponential lies between 0 and 1,
# and one of them is exactly 1. So no term overflows, and the sum is never 0.
#
# **Predict:** between which two numbers does that sum lie, for a row of 1,000?

# %%
least = fk.predict("the sum is at least", None)
most = fk.predict("the sum is at most", None)

# %% jupyter={"outputs_hidden": true}
alone, equal = torch.full((1000,), -500.0), torch.full((1000,), -500.0)
alone[7] = 500.0
least.against((alone - alone.max()).exp().sum().item())
most.against((equal - equal.max()).exp().sum().item())

# %% [markdown]
# *Nothing but the rounding* has changed, and that can be seen, too. The difference x − m is rounded
# to 24 digits, so it is off by up to half a unit of *its* last place: the further x lies below the
# maximum, the more. The exponential makes a relative error of that absolute one.

# %% jupyter={"outputs_hidden": true}
right = row.double().softmax(0)
figure, axes = plt.subplots(figsize=(6.4, 3))
for name, marker in (("the largest", "."), ("nothing", "x")):
    relative = (softmax_minus(ways[name], row) - right).abs() / right * 2**24
    axes.plot(row - row.max(), relative, marker, ms=4, label=f"minus {name}")
below = torch.linspace(-36, 0, 100)
axes.plot(below, 1.5 - below, ":", color="gray", label="|x - m|, and a little")
axes.set(xlabel="x - m", ylabel="relative error, in 2⁻²⁴", title="What subtracting costs")
axes.legend()
plt.show()
print(f"weight of the element with the largest error: {right[row.argmin()]:.0e}")

# %% [markdown]
# The weights that lose digits are those that hardly weigh anything. That is a good bargain: a few
# units in the last place of a number near 0, and in return no row can overflow. Everybody takes it.

# %% [markdown] exercise="week2/which_survive" part="task"
# ### Exercise 2: say what may be subtracted
#
# From a row something is subtracted, then comes `exp(x) / sum(exp(x))`, all in float32. Is every
# weight right (up to rounding), or is there a NaN? Answer `"right"` or `"NaN"`. In the last line
# one number is subtracted from all rows of a matrix; say what becomes of its first row.
#
# <details><summary>Hint 1</summary>
#
# Write down the row after the subtraction. Is there anything above 88?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# If nothing is above 88: is everything below -104? Then all exponentials are 0.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# -inf in a row makes its mean and its smallest element -inf as well, and what is left after that
# line is inf or NaN.
#
# </details>

# %% exercise="week2/which_survive" part="skeleton"
survives = {  # each: "right" or "NaN"
    # FILL ME IN (roughly 10 lines)
    "the mean: [1000, 1001]": None,
    "the mean: [0, 0, 0, 0, 500]": None,
    "the mean: [-inf, 0]": None,
    "the first element: [500, 0, 0]": None,
    "the first element: [-inf, 0, 0]": None,
    "the smallest: [-1000, -1001]": None,
    "the largest, or 0 if that is larger: [-1000, -1001]": None,
    "the largest, or 0 if that is larger: [-inf, 0]": None,
    "the largest minus 50: [1000, 1001]": None,
    "the largest of the whole matrix: row [0, 1], below it [1000, 1001]": None,
}

# %% exercise="week2/which_survive" part="grade"
fk.exercise("week2/which_survive").grade(survives)

# %% [markdown] exercise="week2/which_survive" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# survives = {  # each: "right" or "NaN"
#     "the mean: [1000, 1001]": "right",
#     "the mean: [0, 0, 0, 0, 500]": "NaN",
#     "the mean: [-inf, 0]": "NaN",
#     "the first element: [500, 0, 0]": "right",
#     "the first element: [-inf, 0, 0]": "NaN",
#     "the smallest: [-1000, -1001]": "right",
#     "the largest, or 0 if that is larger: [-1000, -1001]": "NaN",
#     "the largest, or 0 if that is larger: [-inf, 0]": "right",
#     "the largest minus 50: [1000, 1001]": "right",
#     "the largest of the whole matrix: row [0, 1], below it [1000, 1001]": "NaN",
# }
# ```
#
# What is subtracted may be off by 50 and still do, as long as nothing overflows and not everything
# vanishes. But only the largest element of the *same* row never fails (unless the row has nothing
# but −∞). A maximum that begins at 0 is a favourite mistake, since it survives all positive rows.
#
# </details>

# %% [markdown]
# ## 3. Rows of −∞
#
# One number is used on purpose: **−∞**, for an element that is to have no weight. It is how
# attention masks what a token may not see. $e^{-\infty}$ is 0, exactly; nothing else has to be done
# for it.
#
# **Predict:** what does torch give for the first element of `[-inf, 0, 0]`? And for that of a row
# in which everything is masked, `[-inf, -inf, -inf]`?

# %%
one_masked = fk.predict("first weight of [-inf, 0, 0]", None)
all_masked = fk.predict("first weight of [-inf, -inf, -inf]", None)  # a number, or "nan"

# %% jupyter={"outputs_hidden": true}
inf = torch.inf
one_masked.against(torch.tensor([-inf, 0.0, 0.0]).softmax(0)[0].item())
nothing_left = torch.tensor([-inf, -inf, -inf])
all_masked.against(str(nothing_left.softmax(0)[0].item()))
print("its maximum: ", nothing_left.max().item())
print("minus itself:", (nothing_left - nothing_left.max()).tolist())

# %% [markdown]
# Where nothing may be chosen, there are no weights, and torch says so: NaN. It comes by itself,
# since −∞ − (−∞) is NaN, and any formula that subtracts the maximum gives it. Kernels of this week
# are compared with torch, so theirs has to be NaN as well. But the same NaN can come up where it
# does not belong, in a *part* of a row that happens to be masked. In the next notebook it will.
#
# ## 4. Without the maximum
#
# Now on the GPU. First the formula as it stands: a warp a row, eight rows a block, as in
# `warp_normalise`. `cute.math.exp(x, fastmath=True)` takes the **special function unit**: e^x is
# 2^(x · log₂ e), so it is a multiplication and one instruction for the power of two, `ex2.approx`.


# %%
@cute.jit
def exp(x):
    return cute.math.exp(x, fastmath=True)


@cute.kernel
def no_maximum_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    lane, row = tidx % 32, bidx * 8 + tidx // 32
    if row < mX.shape[0]:
        s = Float32(0.0)
        for n in range(lane, mX.shape[1], 32):
            s += exp(mX[row, n].to(Float32))
        s = cute.arch.warp_reduction(s, operator.add)
        for n in range(lane, mX.shape[1], 32):
            mY[row, n] = (exp(mX[row, n].to(Float32)) / s).to(mY.element_type)


@cute.jit
def no_maximum(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[0], 8)
    no_maximum_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))


# %% [markdown]
# > **Looks right and is wrong.** Every size and every type, checked against torch in float64:

# %%
for shape in ((1, 1), (3, 31), (2, 1025)):
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x, y = fk.randn(*shape, dtype=dtype), fk.empty(*shape, dtype=dtype)
        run_plain = fk.compile(no_maximum, x, y)
        run_plain(x, y)
        fk.check(y, x.double().softmax(1))

# %% [markdown]
# All of it right, since the sizes are awkward and the *values* are not: `randn` hardly ever gives a
# number beyond 5. A test of a softmax needs rows that are hard. Here are seven:


# %%
def hard_rows(n, dtype=torch.float32):
    """Seven rows of n elements, and their names."""
    plain = fk.randn(n, device="virtual") * 3
    one, some = plain.clone(), plain.clone()
    one[n // 2] = 2000.0
    some[: n // 2] = -torch.inf
    rows = {
        "plain": plain,
        "around 1,000": plain + 1000,
        "around -1,000": plain - 1000,
        "one of 2,000": one,
        "ascending": (plain * 5).sort().values,
        "first half masked": some,
        "all masked": torch.full((n,), -torch.inf),
    }
    return torch.stack(list(rows.values())).to(fk.device, dtype), list(rows)


# %% [markdown]
# **Predict:** how many of the seven rows will be right?

# %%
right_rows = fk.predict("how many of the seven are right", None)


# %% jupyter={"outputs_hidden": true}
def survived(fn, dtype=torch.float32):
    """Run a softmax on the hard rows and say which are right; how many are."""
    x, names = hard_rows(40, dtype)
    y = fk.empty(*x.shape, dtype=dtype)
    fk.compile(fn, x, y)(x, y)
    want = x.double().softmax(1)
    good = y.double().isclose(want, rtol=1e-2, atol=1e-6, equal_nan=True).all(1).tolist()
    for name, ok, weights in zip(names, good, y.tolist(), strict=True):
        print(f"{name:18s}", "right" if ok else f"wrong: its weights add up to {sum(weights):g}")
    return sum(good)


right_rows.against(survived(no_maximum))

# %% [markdown]
# The masked rows are no trouble, and the row of −∞ only is NaN for another reason than torch's: it
# is 0/0 here. Three others are lost. **Test with values that are hard, in sizes that are awkward.**
#
# Now write the right one yourself, first in a form without any shuffle. One name is new:
# `cute.arch.fmax` is the maximum of two numbers as one instruction, where `cutlass.max`, which
# takes care of NaN, is four.

# %% [markdown] exercise="week2/column_softmax" part="task"
# ### Exercise 3: take the softmax of columns
#
# `y[:, n]` is the softmax of column n of `x`, for any M and N ≥ 1, in float32, float16 and
# bfloat16, computed in float32, by three loops over the rows. The columns are hard ones, and where
# all of a column is −∞ the result is NaN, as torch has it. `column_softmax(x, y)`.
#
# **Asked**: one thread per column.
#
# <details><summary>Hint 1</summary>
#
# It is `column_sum` of week 1 three times over: which is the operator of the first loop, and with
# which number does it begin?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Nobody needs anything from another thread: no shuffle and no shared memory. A NaN for a column of
# −∞ comes by itself.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `cute.arch.fmax` in the first loop, beginning with `-Float32.inf`; the second and the third loop
# subtract the maximum inside the exponential, and the line that stores divides.
#
# </details>


# %% exercise="week2/column_softmax" part="skeleton"
@cute.kernel
def column_softmax_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 12 lines)
    pass


@cute.jit
def column_softmax(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/column_softmax" part="grade"
fk.exercise("week2/column_softmax").grade(column_softmax)

# %% [markdown] exercise="week2/column_softmax" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# @cute.kernel
# def column_softmax_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     col = bidx * 128 + tidx
#     if col < mX.shape[1]:
#         m, s = -Float32.inf, Float32(0.0)
#         for k in range(mX.shape[0]):
#             m = cute.arch.fmax(m, mX[k, col].to(Float32))
#         for k in range(mX.shape[0]):
#             s += cute.math.exp(mX[k, col].to(Float32) - m, fastmath=True)
#         for k in range(mX.shape[0]):
#             e = cute.math.exp(mX[k, col].to(Float32) - m, fastmath=True)
#             mY[k, col] = (e / s).to(mY.element_type)
#
#
# @cute.jit
# def column_softmax(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[1], 128)
#     column_softmax_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# Neighbouring threads read neighbouring columns, so each of the three passes is coalesced. In
# softmax over the last dimension, the usual one, a thread a row would read with strides instead,
# and lanes have to share a row: that is the only reason for shuffles.
#
# </details>

# %% [markdown]
# ## 5. Three passes
#
# The safe softmax as it stands in a textbook: a loop for the maximum, one for the sum, one for the
# result. The maximum begins with its identity, `-Float32.inf`.


# %%
@cute.kernel
def three_passes_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    lane, row = tidx % 32, bidx * 8 + tidx // 32
    if row < mX.shape[0]:
        m = -Float32.inf
        for n in range(lane, mX.shape[1], 32):
            m = cute.arch.fmax(m, mX[row, n].to(Float32))
        m = cute.arch.warp_reduction(m, cute.arch.fmax)

        s = Float32(0.0)
        for n in range(lane, mX.shape[1], 32):
            s += exp(mX[row, n].to(Float32) - m)
        s = cute.arch.warp_reduction(s, operator.add)

        for n in range(lane, mX.shape[1], 32):
            mY[row, n] = (exp(mX[row, n].to(Float32) - m) / s).to(mY.element_type)


@cute.jit
def three_passes(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[0], 8)
    three_passes_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))


for dtype in (torch.float32, torch.float16, torch.bfloat16):
    print(dtype, survived(three_passes, dtype), "of 7")

# %%
for n in (1, 33, 1025):
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x, _ = hard_rows(n, dtype)
        y = fk.empty(*x.shape, dtype=dtype)
        run_three = fk.compile(three_passes, x, y)
        run_three(x, y)
        fk.check(y, x.double().softmax(1))

# %% [markdown]
# Both reductions leave their result in every lane, so nobody has to hand anything over. The row of
# −∞ is NaN for torch's reason now.
#
# ## 6. The logarithm of the sum
#
# Training does not want the weights but the logarithm of one of them: the **loss** of a classifier
# is −log y of the right class. That is
#
# $$\log y_n = x_n - \log \sum e^{x_k}$$
#
# and the last term, **log-sum-exp**, has the same cure. What was subtracted inside comes back
# outside:
#
# $$\log \sum e^{x_k} = m + \log \sum e^{x_k - m}$$
#
# It is a soft maximum: never below the largest element, and above it by at most log N.

# %%
x = torch.tensor([1000.0, 1001.0, 1002.0])
m = x.max()
print("log(sum(exp(x)))        ", x.exp().sum().log().item())
print("m + log(sum(exp(x - m)))", (m + (x - m).exp().sum().log()).item())
print("torch.logsumexp         ", x.logsumexp(0).item())
far = torch.tensor([0.0, 200.0])
print("logarithm of the softmax of [0, 200]:", far.softmax(0).log().tolist())
print("the same by log-sum-exp:             ", (far - far.logsumexp(0)).tolist())

# %% [markdown]
# The last two lines are the reason why losses are computed this way: a weight that has become 0
# cannot be taken back by a logarithm.

# %% [markdown] exercise="week2/logsumexp" part="task"
# ### Exercise 4: compute log-sum-exp of rows
#
# `y[m]` is the logarithm of the sum of the exponentials of row m, for any M and N ≥ 1, in float32,
# float16 and bfloat16, computed in float32, the row read twice. Rows
# are hard ones; where all of a row is −∞ the sum is 0, and the result −∞, as torch has it.
# `cute.math.log(x, fastmath=True)` is the logarithm. `logsumexp(x, y)`.
#
# **Asked**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# `three_passes` without its third loop: what does one lane do in its place?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# m + log(s). Where all of a row is -inf, m is -inf as well: what should be subtracted there, so
# that each exponential is 0 and not NaN?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Between the two loops stands a line that decides what is subtracted, the maximum or 0; the same
# number comes back in the line that stores.
#
# </details>


# %% exercise="week2/logsumexp" part="skeleton"
@cute.kernel
def logsumexp_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 14 lines)
    pass


@cute.jit
def logsumexp(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/logsumexp" part="grade"
fk.exercise("week2/logsumexp").grade(logsumexp)

# %% [markdown] exercise="week2/logsumexp" part="solution"
# <details><summary>Solution of exercise 4</summary>
#
# ```python
# @cute.kernel
# def logsumexp_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     lane, row = tidx % 32, bidx * 8 + tidx // 32
#     if row < mX.shape[0]:
#         m, s = -Float32.inf, Float32(0.0)
#         for n in range(lane, mX.shape[1], 32):
#             m = cute.arch.fmax(m, mX[row, n].to(Float32))
#         m = cute.arch.warp_reduction(m, cute.arch.fmax)
#         shift = Float32(0.0) if m == -Float32.inf else m
#         for n in range(lane, mX.shape[1], 32):
#             s += cute.math.exp(mX[row, n].to(Float32) - shift, fastmath=True)
#         s = cute.arch.warp_reduction(s, operator.add)
#         if lane == 0:
#             mY[row] = (shift + cute.math.log(s, fastmath=True)).to(mY.element_type)
#
#
# @cute.jit
# def logsumexp(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 8)
#     logsumexp_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))
# ```
#
# With 0 subtracted from a row of −∞ all its exponentials are 0, and the logarithm of their sum is
# −∞ by itself: one decision a row, nothing an element. Softmax did not need it, since there NaN was
# asked for.
#
# </details>

# %% [markdown]
# ## 7. Count the passes
#
# The result cannot be had with less than reading the row once and writing it once.
#
# **Predict:** how many times the bytes of the matrix do the loads and stores of `no_maximum` and of
# `three_passes` move together?

# %%
of_plain = fk.predict("times the matrix, no_maximum", None)
of_three = fk.predict("times the matrix, three_passes", None)


# %% jupyter={"outputs_hidden": true}
def passes(fn, rows=8, columns=1024):
    """Of each line: its text, and the times that it reads and writes the matrix."""
    x, y = fk.randn(rows, columns), fk.empty(rows, columns)
    p = fk.profile(fk.compile(fn, x, y), x, y)
    lines = [
        (q.text.strip(), q["global_load_bytes_moved"], q["global_store_bytes_moved"])
        for q in p.lines
    ]
    return [(text, r / x.nbytes, w / x.nbytes) for text, r, w in lines if r or w]


def draw_passes(found):
    """A bar for each pass: what it reads to the left, what it writes to the right."""
    count = sum(len(lines) for lines in found.values())
    _, axes = plt.subplots(figsize=(8.4, 0.42 * count + 0.9))
    ticks, y = [], 0
    for name, lines in found.items():
        for text, r, w in lines:
            axes.barh(y, -r, color="tab:blue")
            axes.barh(y, w, color="tab:orange")
            axes.text(1.15, y, text, family="monospace", size=7, va="center")
            ticks.append((y, name if (text, r, w) == lines[0] else ""))
            y -= 1
        y -= 0.4
    axes.set_yticks(*zip(*ticks, strict=True))
    axes.set(xlim=(-1.1, 7), xticks=(-0.5, 0.5), xticklabels=("read", "written"))
    axes.set_title("Lines that touch memory; a full bar is the matrix, once", loc="left")
    axes.tick_params(length=0)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    plt.show()


found = {"no_maximum": passes(no_maximum), "three_passes": passes(three_passes)}
draw_passes(found)
for guess, lines in zip((of_plain, of_three), found.values(), strict=True):
    guess.against(sum(r + w for _, r, w in lines))

# %% [markdown]
# Three reads and a write: four times the matrix where two would do. Safety has cost one pass
# more than the formula as it stands. Exactly there lies what makes the maximum expensive:
# it is known only *after* the whole row has been read, and everything else needs it.

# %% [markdown] exercise="week2/soft_mean" part="task"
# ### Exercise 5: average with the weights of a softmax
#
# `y[m] = softmax(x[m]) · v`: the mean of the N values `v`, weighted by the softmax of row m, for
# any M and N ≥ 1, in float32 and float16, computed in float32. Each row of `x` is read **twice**,
# and the weights are never stored. `soft_mean(x, v, y)`.
#
# **Asked**: one warp per row, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# A weight is e / s, and s is the same for the whole row: where may the division stand?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Two sums go through the second loop, that of the exponentials and that of the exponentials times
# values. Both are shared by shuffles.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The second loop adds to both sums in two lines, and the only division stands behind the shuffles,
# in the line that stores.
#
# </details>


# %% exercise="week2/soft_mean" part="skeleton"
@cute.kernel
def soft_mean_kernel(mX: cute.Tensor, mV: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 17 lines)
    pass


@cute.jit
def soft_mean(mX: cute.Tensor, mV: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/soft_mean" part="grade"
fk.exercise("week2/soft_mean").grade(soft_mean)

# %% [markdown] exercise="week2/soft_mean" part="solution"
# <details><summary>Solution of exercise 5</summary>
#
# ```python
# @cute.kernel
# def soft_mean_kernel(mX: cute.Tensor, mV: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     lane, row = tidx % 32, bidx * 8 + tidx // 32
#     if row < mX.shape[0]:
#         m = -Float32.inf
#         for n in range(lane, mX.shape[1], 32):
#             m = cute.arch.fmax(m, mX[row, n].to(Float32))
#         m = cute.arch.warp_reduction(m, cute.arch.fmax)
#         s, total = Float32(0.0), Float32(0.0)
#         for n in range(lane, mX.shape[1], 32):
#             e = cute.math.exp(mX[row, n].to(Float32) - m, fastmath=True)
#             s += e
#             total += e * mV[n].to(Float32)
#         s = cute.arch.warp_reduction(s, operator.add)
#         total = cute.arch.warp_reduction(total, operator.add)
#         if lane == 0:
#             mY[row] = (total / s).to(mY.element_type)
#
#
# @cute.jit
# def soft_mean(mX: cute.Tensor, mV: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 8)
#     soft_mean_kernel(mX, mV, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))
# ```
#
# One division a row, no weights in memory, and no third pass: a softmax that is used at once is
# cheaper than one that is stored. With a vector of values for each element in place of one number
# this is attention for one query, and it is where this week ends.
#
# </details>

# %%
steps = {"no_maximum": no_maximum, "three_passes": three_passes}

# %% [markdown]
# ## 8. What a pass costs
#
# The profile counts what threads ask for. Between them and the memory there are caches, and part of
# a row may still be there in the next pass.
#
# **Predict:** if nothing but these bytes counted, `three_passes` would take 4/3 of the time of
# `no_maximum`. What was it on a real GPU, with 32,768 rows of 4,096 in `float32`?

# %%
ratio = fk.predict("time of three_passes / time of no_maximum", None)

# %% jupyter={"outputs_hidden": true}
from forgekit.benching.recorded import recorded

times = recorded("week2/00_softmax_without_tears")
ratios = {
    (r.shape, r.dtype): r.ms / times.row("no_maximum", r.dtype, r.shape).ms
    for r in times.rows
    if r.step == "three_passes"
}
ratio.against(round(ratios[(32768, 4096), "float32"], 2))
print(f"all sizes and types: from {min(ratios.values()):.2f} to {max(ratios.values()):.2f}")
times

# %% [markdown]
# By its bytes the third pass costs a third more, and it never costs more than that; in most columns
# it costs less, as part of a row is still in a cache, or as the time goes elsewhere: this table
# does not say which. It does say that bytes are not everything here. In rows of 256 `bfloat16`
# takes `three_passes` as long as `float32`, with half of the bytes: a lane loads one element at a
# time, be it four bytes or two. And 2,048 rows are 2,048 warps, few for this GPU. Both are known
# from week 1, and so are the cures. First the passes.
#
# What you said in this notebook, and what it was:

# %%
fk.predictions()

# %% [markdown]
# ## Summary
#
# | kernel | reads of the row | writes | rows that it survives |
# |---|---|---|---|
# | `no_maximum` | 2 | 1 | all below 88, and not all far below 0 |
# | `three_passes` | 3 | 1 | all; of a row of −∞ it gives NaN, as torch does |
# | `logsumexp`, `soft_mean` (exercises) | 2 | a number a row | all |
#
# | | |
# |---|---|
# | `exp(x)` is inf above | 88 in `float32` and `bfloat16`, 11 in `float16` |
# | what is subtracted | the largest element of the same row |
# | what that costs | a pass over the row; and digits of weights that hardly weigh anything |
#
# **The bad number: three reads and a write**, where one and one would do.
#
# **In practice** a loss is never the logarithm of a softmax: `torch.nn.functional.cross_entropy`
# takes the scores themselves and uses log-sum-exp. Masks are added as −∞, or as a large negative
# number, which is not the same: of a row that is all masked the latter makes equal weights in place
# of NaN.
#
# **Further reading:** [Accurately computing the log-sum-exp and softmax
# functions](https://doi.org/10.1093/imanum/draa038) (P. Blanchard, D. J. Higham, N. J. Higham), on
# what section 2 draws ·
# [torch.softmax](https://docs.pytorch.org/docs/stable/generated/torch.softmax.html)
#
# **Next:** the maximum and the sum in one pass ([`01_online`](01_online.ipynb)).
