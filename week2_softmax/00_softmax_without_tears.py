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
# **You will build** a row softmax that overflows, and a safe one that makes three passes over
# memory.
# **You will learn** where exponentials overflow, why subtracting the maximum changes only the
# rounding, what softmax returns for a masked row, and how to count passes over memory.
# **You need** week 1. About 30 minutes, and 55 more for the exercises.
#
# A **softmax** turns a row of numbers into weights between 0 and 1 that add up to 1:
#
# $$y_n = \frac{e^{x_n}}{\sum_k e^{x_k}}$$
#
# Classifiers end with a softmax, and every attention layer contains one. You have already built
# half of it: `y = x / sum(x)` was the last exercise of `02_shuffle`. The new part is the
# exponential, which overflows easily.

# %%
import operator

import cutlass.cute as cute
import torch
from cutlass import Float32
from week2_helpers import (
    HARD,
    checked,
    errors_picture,
    exp,
    hard_rows,
    passes,
    passes_picture,
    ranges_picture,
    survivors,
    time_ratios,
)

import forgekit as fk
from forgekit.benching.recorded import recorded

# %% [markdown]
# The file `week2_helpers.py` in this folder contains this week's plots and the small functions that
# several pages share. Each page introduces the ones it uses.
#
# ## 1. The range of an exponential
#
# **Predict:** for each type, what is the largest integer x for which `exp(x)` is finite? (2¹⁰ is
# about e⁷. The largest `float32` is about 2¹²⁸, and the largest `float16` is 65,504.)

# %%
ends_at = {
    torch.float32: fk.predict("largest x, float32", None),
    torch.float16: fk.predict("largest x, float16", None),
    torch.bfloat16: fk.predict("largest x, bfloat16", None),
}

# %% jupyter={"outputs_hidden": true}
whole = torch.arange(-120, 121)
ranges = {}
for dtype in ends_at:
    e = whole.to(dtype).exp()
    finite, positive = whole[e.isfinite()], whole[e > 0]
    normal = whole[e >= torch.finfo(dtype).tiny]
    ranges[str(dtype)[6:]] = (positive[0].item(), normal[0].item(), finite[-1].item())
    ends_at[dtype].against(finite[-1].item())
ranges_picture(ranges)

# %% [markdown]
# To the right of a type's bar, `exp(x)` is infinite; to the left of it, 0. In the pale part, the
# result gradually loses digits. `bfloat16` covers the same range as `float32` because its exponent
# has the same number of bits.
#
# A sum can overflow even when none of its terms does:

# %%
tens = torch.full((4,), 10.0, dtype=torch.float16)
print("running sums of exp(10) in float16:", tens.exp().cumsum(0, dtype=torch.float16).tolist())
for value in (100.0, -110.0):
    e = torch.tensor([value, value]).exp()
    weights = (e / e.sum()).tolist()
    print(f"two elements of {value:4.0f} in float32: exp {e.tolist()}, weights {weights}")

# %% [markdown]
# Two equal numbers should have the weights ½ and ½, whatever their value. Here the weights are ∞/∞
# and 0/0, both of which are **NaN**, *not a number*. A score of 100 is not unusual: scores are dot
# products of long vectors, so a few elements near 10 are enough.
#
# As in week 1, kernels compute in `float32`, whatever the type of the tensor. For `float16`
# tensors, this raises the limit from 11 to 88.

# %% [markdown] exercise="week2/overflows" part="task"
# ### Exercise 1: predict where softmax overflows
#
# This softmax subtracts nothing: a weight is `exp(x)` divided by the sum of all `exp(x)`, and every
# intermediate result is rounded to the type in question. Answer each line with a number or with
# `"nan"`. (e⁴ is 54.6, e⁹ is 8,103, and e⁸⁸ is 1.65 · 10³⁸. The largest float16 is 65,504, and the
# largest float32 is 3.40 · 10³⁸.)
#
# <details><summary>Hint 1</summary>
#
# A sum overflows when it exceeds the largest number of its type. Divide that number by one term.
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
# For the last four lines, first write down both exponentials in float32 and their sum; below -104
# an exponential is 0. Then divide.
#
# </details>

# %% exercise="week2/overflows" part="skeleton"
ends = {
    # FILL ME IN (roughly 7 lines)
    "float16: fewest 9s whose exponentials add up to inf": None,
    "float32: fewest 88s whose exponentials add up to inf": None,
    "float16: largest integer x for which 1,000 exponentials exp(x) have a finite sum": None,
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
#     "float16: fewest 9s whose exponentials add up to inf": 9,
#     "float32: fewest 88s whose exponentials add up to inf": 3,
#     "float16: largest integer x for which 1,000 exponentials exp(x) have a finite sum": 4,
#     "float32: the weights of [-200, -200]": "nan",
#     "float32: the weight of the 0 in [0, 100]": 0,
#     "float32: the weight of the 100 in [0, 100]": "nan",
#     "float32: the weight of the -200 in [0, -200]": 0,
# }
# ```
#
# The trap is the row `[0, 100]`: the weight of the 0, exactly 3.7 · 10⁻⁴⁴, is correct up to
# rounding, but the weight of the 100 is NaN. The last line shows that an element far *below* the
# others is harmless: 0 is its correct weight, up to rounding.
#
# </details>

# %% [markdown]
# ## 2. Subtract any number
#
# A factor in both the numerator and the denominator cancels. Take $e^{-c}$ as the factor:
#
# $$\frac{e^{x_n}}{\sum e^{x_k}} = \frac{e^{-c}\,e^{x_n}}{e^{-c}\sum e^{x_k}}
# = \frac{e^{x_n - c}}{\sum e^{x_k - c}}$$
#
# So you may subtract any number c from every element of the row. In exact arithmetic, the result
# does not change. In `float32`, it depends on the choice of c:


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
rows = {"row": row, "row + 100": row + 100, "row - 150": row - 150, "one at 500": peak}
print("correct: every weight is within 8 · 2⁻²⁴ of the float64 result\n")
print(f"{'subtracted':12s}", *(f"{name:>10s}" for name in rows))
for name, c in ways.items():
    off = [(softmax_minus(c, x) - x.double().softmax(0)).abs().max() for x in rows.values()]
    assert all(error.isnan() or error <= 8 * 2**-24 for error in off)
    print(f"{name:12s}", *(f"{'NaN' if error.isnan() else 'correct':>10s}" for error in off))

# %% [markdown]
# If you subtract the largest element, no exponent is above 0. Each exponential lies between 0 and
# 1, and at least one of them is exactly 1. So no term overflows, and the sum is never 0.
#
# **Predict:** what are the smallest and the largest values that this sum can have in a row of 1,000
# elements?

# %%
least = fk.predict("the sum is at least", None)
most = fk.predict("the sum is at most", None)

# %% jupyter={"outputs_hidden": true}
alone, equal = torch.full((1000,), -500.0), torch.full((1000,), -500.0)
alone[7] = 500.0
least.against((alone - alone.max()).exp().sum().item())
most.against((equal - equal.max()).exp().sum().item())

# %% [markdown]
# Only the rounding has changed, as the picture shows. The difference x − m is rounded to 24
# significant bits, so its absolute error grows with |x − m|. The exponential turns that absolute
# error into a relative error of the weight.

# %% jupyter={"outputs_hidden": true} tags=["nbval-ignore-output"]
right = row.double().softmax(0)
errors = {
    name: (softmax_minus(ways[name], row) - right).abs() / right * 2**24
    for name in ("the largest", "nothing")
}
errors_picture(row - row.max(), errors)
worst = errors["the largest"].argmax()
print(f"the weight with the largest error is {right[worst]:.0e}")

# %% [markdown]
# Only tiny weights lose digits. The price is a few units in the last place of numbers near 0; in
# return, no row can overflow.

# %% [markdown] exercise="week2/which_survive" part="task"
# ### Exercise 2: predict which subtractions are safe
#
# A kernel subtracts a number from every element of a row, then computes `exp(x) / sum(exp(x))`, all
# in float32. Each line names the number and the row. Answer `"right"` if every weight is correct up
# to rounding, and `"NaN"` if any weight is NaN. In the last line, the kernel subtracts the same
# number from all rows of a matrix; answer for the first row.
#
# <details><summary>Hint 1</summary>
#
# Write down the row after the subtraction. Is any element above 88?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# If no element is above 88, check whether all of them are below -104. In that case all exponentials
# are 0.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# If a row contains -inf, its mean and its smallest element are -inf. Subtracting -inf leaves only
# inf or NaN.
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
# The subtracted number may even be off by 50, as long as no exponential overflows and not all of
# them vanish. But only the largest element of the *same* row is always safe (unless every element
# of the row is −∞). Starting the maximum at 0 is a common mistake, and every row with a positive
# element hides it.
#
# </details>

# %% [markdown]
# ## 3. Rows of −∞
#
# Attention uses **−∞** deliberately, as a **mask**: an element that a token must not see is given
# the score −∞. Its weight is then 0, since $e^{-\infty}$ is exactly 0.
#
# **Predict:** which weight does torch return for the first element of `[-inf, 0, 0]`? And for the
# first element of `[-inf, -inf, -inf]`, a completely masked row?

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
# If every element is masked, no weights can be defined, so torch returns NaN. Every formula that
# subtracts the maximum does the same, because −∞ − (−∞) is NaN. The checks compare this week's
# kernels with torch, so the kernels must return NaN as well. But a faulty kernel can also produce
# NaN when only *part* of a row is masked. The next notebook shows how.
#
# A good place for a break.
#
# ## 4. Without the maximum
#
# The first kernel implements the plain formula, with one warp per row and eight rows per block, as
# in `warp_normalise`. The helper `exp` calls `cute.math.exp(x, fastmath=True)`, which uses the
# **special function unit**. Because e^x is 2^(x · log₂ e), it costs one multiplication and one
# power-of-two instruction, `ex2.approx`.


# %%
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
# > **Looks right but is wrong.** `checked` compiles a softmax for each type and compares it with
# > torch's in float64, here on rows of `randn`:

# %%
run_plain = checked(no_maximum, 1, 31, 1025, rows=lambda n, dtype: fk.randn(3, n, dtype=dtype))
# %% [markdown]
# The sizes are awkward, but the *values* are not: `randn` rarely returns a number beyond ±5. A
# softmax has to be tested on hard rows. `hard_rows(n)` returns eight of them, and `HARD` lists
# their names:

# %%
for name, values in zip(HARD, hard_rows(6).tolist(), strict=True):
    print(f"{name:18}", *(f"{value:8.1f}" for value in values))

# %% [markdown]
# **Predict:** for how many of the eight rows is `no_maximum` correct?

# %%
right_rows = fk.predict("how many of the eight are correct", None)

# %% jupyter={"outputs_hidden": true}
good = survivors(no_maximum, 40)
right_rows.against(len(good))
print("correct:", ", ".join(good))
print("wrong:  ", ", ".join(name for name in HARD if name not in good))

# %% [markdown]
# Masked elements are harmless, and the completely masked row is NaN, as it should be, because the
# kernel computes 0/0. For three other rows the results are wrong. **Test with hard values in
# awkward sizes.**
#
# Now write a safe kernel yourself, first without shuffles. For the maximum, use `cute.arch.fmax`
# (`02_shuffle`), which takes one instruction where `cutlass.max` takes four. It ignores NaNs, but
# they need no special handling here, because the exponential of NaN is NaN.

# %% [markdown] exercise="week2/column_softmax" part="task"
# ### Exercise 3: take the softmax of columns
#
# `y[:, n]` is the softmax of column n of `x`. Support any M and N ≥ 1 and the types float32,
# float16 and bfloat16; compute in float32, with at most three loops over the rows. The tests use
# hard columns. For a column of −∞ the result is NaN, as in torch. Signature: `column_softmax(x,
# y)`.
#
# **Required**: one thread per column.
#
# <details><summary>Hint 1</summary>
#
# The kernel resembles week 1's `column_sum`, with three loops. Which operator does the first loop
# use, and what value does it start from?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# No thread needs data from another, so the kernel needs neither shuffles nor shared memory. A
# column of −∞ gives NaN without special code.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The first loop uses `cute.arch.fmax` and starts at `-Float32.inf`; the second and third loops
# subtract the maximum inside the exponential. Divide in the line that stores the result.
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
# Neighbouring threads read neighbouring columns, so each of the three passes is coalesced. In the
# usual case, a softmax over the last dimension, one thread per row would make strided accesses, so
# the lanes of a warp share a row instead. That is the only reason for shuffles.
#
# </details>

# %% [markdown]
# ## 5. Three passes
#
# The textbook version of a safe softmax has one loop for the maximum, one for the sum, and one for
# the result. The maximum starts at the identity of `fmax`, `-Float32.inf`.


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


run_three = checked(three_passes, 1, 33, 1025)  # hard rows

# %% [markdown]
# Both reductions leave their result in every lane, so no broadcast is needed. The row of −∞ is NaN
# for the same reason as in torch.
#
# ## 6. The logarithm of the sum
#
# Training a classifier needs only the logarithm of one weight per row: the **loss** is −log y of
# the correct class, where
#
# $$\log y_n = x_n - \log \sum e^{x_k}$$
#
# The last term, called **log-sum-exp**, also overflows, and the remedy is the same. Subtract the
# maximum inside the exponential, and add it back outside the logarithm:
#
# $$\log \sum e^{x_k} = m + \log \sum e^{x_k - m}$$
#
# Log-sum-exp is a soft maximum: it is never below the largest element, and exceeds it by at most
# log N.

# %%
x = torch.tensor([1000.0, 1001.0, 1002.0])
m = x.max()
print("log(sum(exp(x)))        ", x.exp().sum().log().item())
print("m + log(sum(exp(x - m)))", (m + (x - m).exp().sum().log()).item())
print("torch.logsumexp         ", x.logsumexp(0).item())
far = torch.tensor([0.0, 200.0])
print("logarithm of the softmax of [0, 200]:", far.softmax(0).log().tolist())
print("the same with log-sum-exp:           ", (far - far.logsumexp(0)).tolist())

# %% [markdown]
# The last two lines show why losses are computed this way: once a weight has underflowed to 0, its
# logarithm is lost.

# %% [markdown] exercise="week2/logsumexp" part="task"
# ### Exercise 4: compute log-sum-exp of rows
#
# `y[m]` is the logarithm of the sum of the exponentials of row m. Support any M and N ≥ 1 and the
# types float32, float16 and bfloat16; compute in float32. Read each row at most twice. The tests
# use hard rows. For a row of −∞ the sum is 0 and the result is −∞, as in torch. `cute.math.log(x,
# fastmath=True)` computes the logarithm. Signature: `logsumexp(x, y)`.
#
# **Required**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# The kernel is `three_passes` without its third loop. What does one lane do instead?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The result is m + log(s). In a row of -inf, m is also -inf: which number must you subtract there
# so that each exponential is 0 and not NaN?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A line between the two loops chooses the number to subtract, the maximum or 0. The line that
# stores the result adds the same number back.
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
# If you subtract 0 from a row of −∞, all its exponentials are 0, and the logarithm of their sum is
# −∞. This takes one comparison per row and none per element. Softmax did not need it, because its
# required result for such a row is NaN.
#
# </details>

# %% [markdown]
# ## 7. Count the passes
#
# Every softmax has to read the row at least once and write it once.
#
# **Predict:** as a multiple of the matrix's size, how many bytes do the loads and stores of
# `no_maximum` move in total? And those of `three_passes`?

# %%
of_plain = fk.predict("times the matrix, no_maximum", None)
of_three = fk.predict("times the matrix, three_passes", None)

# %% jupyter={"outputs_hidden": true}
found = {"no_maximum": passes(no_maximum), "three_passes": passes(three_passes)}
times_moved = [sum(r + w for _, r, w in lines) for lines in found.values()]
of_plain.against(times_moved[0])
of_three.against(times_moved[1])
passes_picture(found)

# %% [markdown]
# Three reads and a write move the matrix four times, although twice would suffice. Safety costs one
# more pass than the plain formula, because the kernel knows the maximum only *after* it has read
# the whole row, and every later step needs it.

# %% [markdown] exercise="week2/soft_mean" part="task"
# ### Exercise 5: average with the weights of a softmax
#
# `y[m] = softmax(x[m]) · v` is the mean of the N values `v`, weighted by the softmax of row m.
# Support any M and N ≥ 1 and the types float32 and float16; compute in float32. Read each row of
# `x` at most **twice**, and store no weights. Signature: `soft_mean(x, v, y)`.
#
# **Required**: one warp per row, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# A weight is e / s, and s is the same for the whole row. Where can you move the division?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The second loop adds up two sums: the exponentials, and the exponentials times the values.
# Shuffles combine each of them across the lanes.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The second loop adds to both sums in two lines; the only division comes after the shuffles, in the
# line that stores the result.
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
# The kernel needs one division per row, no weights in memory, and no third pass: a softmax that is
# consumed immediately costs less than one that is stored. With a vector of values per element
# instead of one number, the same kernel is attention for one query, the last exercise of this week.
#
# </details>

# %%
steps = {"no_maximum": no_maximum, "three_passes": three_passes}

# %% [markdown]
# ## 8. The cost of a pass
#
# The profile counts the bytes that threads request. But caches lie between the threads and memory,
# and they may still hold part of a row when the next pass begins.
#
# **Predict:** if the requested bytes alone determined the time, `three_passes` would take 4/3 as
# long as `no_maximum`. What was the ratio on an H200 for 32,768 rows of 4,096 `float32`?

# %%
ratio = fk.predict("time of three_passes / time of no_maximum", None)

# %% jupyter={"outputs_hidden": true}
times = recorded("week2/00_softmax_without_tears")
ratios = time_ratios(times, "three_passes", "no_maximum")
ratio.against(round(ratios[(32768, 4096), "float32"], 2))
print(f"all sizes and types: from {min(ratios.values()):.2f} to {max(ratios.values()):.2f}")
times

# %% [markdown]
# The third pass never adds more than a third of the time, which is its share of the bytes. In most
# columns it adds less, either because a cache still holds part of the row or because something
# other than bytes limits the speed; this table cannot say which. It does show that bytes are not
# the only limit. For rows of 256 elements, `three_passes` takes as long in `bfloat16` as in
# `float32`, although it moves half the bytes: a lane loads one element at a time, whether the
# element has four bytes or two. Another limit is parallelism: 2,048 rows make only 2,048 warps, too
# few for this GPU. You know both problems and their remedies from week 1. The next notebook first
# removes a pass.
#
# Here are your predictions in this notebook, beside the results:

# %%
fk.predictions()

# %% [markdown]
# ## Summary
#
# | kernel | reads of the row | writes | rows that it handles correctly |
# |---|---|---|---|
# | `no_maximum` | 2 | 1 | rows with no element above 88 and not every element far below 0 |
# | `three_passes` | 3 | 1 | all; a row of −∞ gives NaN, as in torch |
# | `logsumexp`, `soft_mean` (exercises) | 2 | one number per row | all |
#
# | | |
# |---|---|
# | `exp(x)` is inf above | 88 in `float32` and `bfloat16`, 11 in `float16` |
# | subtract | the largest element of the same row |
# | the price | one more pass over the row, and some digits of tiny weights |
#
# **The bad number: three reads and a write**, although one of each would suffice.
#
# **In practice** a loss is never computed as the logarithm of a softmax:
# `torch.nn.functional.cross_entropy` takes the scores themselves and uses log-sum-exp. Masks add −∞
# or a large negative number such as −10⁹. The two differ in a completely masked row, where −10⁹
# yields equal weights instead of NaN.
#
# **Further reading:** [Accurately computing the log-sum-exp and softmax
# functions](https://doi.org/10.1093/imanum/draa038) (P. Blanchard, D. J. Higham, N. J. Higham),
# which analyses the errors plotted in section 2 ·
# [torch.softmax](https://docs.pytorch.org/docs/stable/generated/torch.softmax.html)
#
# **Next:** the maximum and the sum in one pass ([`01_online`](01_online.ipynb)).
