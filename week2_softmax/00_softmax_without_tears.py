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
# **You need** week 1. About 30 minutes, and 45 more for the exercises.
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
for k, (name, (first, full, last)) in enumerate(spans.items()):
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
far = torch.tensor([100.0, 100.0])
print("exp(x) / sum of exp(x), x = 100 and 100:  ", (far.exp() / far.exp().sum()).tolist())
print("exp(x) / sum of exp(x), x = -110 and -110:", ((-1.1 * far).exp() / (-1.1 * far).exp().sum()).tolist())

# %% [markdown]
# Two equal numbers have the weights ½ and ½, whatever they are. Here they get ∞/∞ and 0/0, and that
# is **NaN**, *not a number*, both times. 100 is nothing unusual: a score is a dot product of long
# vectors, and a few of them of the size of 10 suffice.
#
# Week 1 has settled the first half: everything is computed in `float32`, whatever the type of the
# tensor. That moves the end from 11 to 88, and no further.

# %% [markdown] exercise="week2/overflows" part="task"
# %% exercise="week2/overflows" part="skeleton"
# %% exercise="week2/overflows" part="grade"
# %% [markdown] exercise="week2/overflows" part="solution"

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
print("largest error of a weight, in units of 2⁻²⁴\n")
print(f"{'subtracted':12s}", *(f"{name:>10s}" for name in rows))
for name, c in ways.items():
    errors = [(softmax_minus(c, x) - x.double().softmax(0)).abs().max() * 2**24 for x in rows.values()]
    print(f"{name:12s}", *(f"{error:10.2f}" for error in errors))

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
# %% exercise="week2/which_survive" part="skeleton"
# %% exercise="week2/which_survive" part="grade"
# %% [markdown] exercise="week2/which_survive" part="solution"

# %% [markdown]
# ## 3. Rows of −∞
#
# One number is used on purpose: **−∞**, for an element that is to have no weight. It is how attention
# masks what a token may not see. $e^{-\infty}$ is 0, exactly; nothing else has to be done for it.
#
# **Predict:** what does torch give for the first element of `[-inf, 0, 0]`? And for that of a row in
# which everything is masked, `[-inf, -inf, -inf]`?

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
# Where nothing may be chosen, there are no weights, and torch says so: NaN. It comes by itself, since
# −∞ − (−∞) is NaN, and any formula that subtracts the maximum gives it. Kernels of this week are
# compared with torch, so theirs has to be NaN as well. But the same NaN can come up where it does not
# belong, in a *part* of a row that happens to be masked. In the next notebook it will.
#
# ## 4. Without the maximum
#
# Now on the GPU. First the formula as it stands: a warp a row, eight rows a block, as in
# `warp_normalise`. `cute.math.exp(x, fastmath=True)` takes the special function unit: e^x is
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
for shape in ((1, 1), (3, 31), (9, 1000), (2, 1025)):
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
    good = y.double().isclose(x.double().softmax(1), rtol=1e-2, atol=1e-6, equal_nan=True).all(1).tolist()
    for name, ok, weights in zip(names, good, y.tolist(), strict=True):
        print(f"{name:18s}", "right" if ok else f"wrong: its weights add up to {sum(weights):g}")
    return sum(good)


right_rows.against(survived(no_maximum))

# %% [markdown]
# The masked rows are no trouble, and the row of −∞ only is NaN for another reason than torch's: it is
# 0/0 here. Three others are lost. **Test with values that are hard, in sizes that are awkward.**
#
# Now write the right one yourself, first in a form without any shuffle.

# %% [markdown] exercise="week2/column_softmax" part="task"
# %% exercise="week2/column_softmax" part="skeleton"
# %% exercise="week2/column_softmax" part="grade"
# %% [markdown] exercise="week2/column_softmax" part="solution"

# %% [markdown]
# ## 5. Three passes
#
# The safe softmax as it stands in a textbook: a loop for the maximum, one for the sum, one for the
# result. A maximum begins with its identity, `-Float32.inf`. `cute.arch.fmax` is the maximum of two
# numbers as one instruction; `cutlass.max`, which takes care of NaN, is four.


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
for n in (1, 31, 33, 1000, 1025):
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
# Training does not want the weights but the logarithm of one of them: the **loss** of a classifier is
# −log y of the right class. That is
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
print("logarithm of a softmax of [0, 200]:", torch.tensor([0.0, 200.0]).softmax(0).log().tolist())
print("the same by log-sum-exp:           ", torch.tensor([0.0, 200.0]).log_softmax(0).tolist())

# %% [markdown]
# The last two lines are the reason why losses are computed this way: a weight that has become 0
# cannot be taken back by a logarithm.

# %% [markdown] exercise="week2/logsumexp" part="task"
# %% exercise="week2/logsumexp" part="skeleton"
# %% exercise="week2/logsumexp" part="grade"
# %% [markdown] exercise="week2/logsumexp" part="solution"

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
    figure, axes = plt.subplots(figsize=(8.4, 0.42 * count + 0.9))
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
    axes.set(xlim=(-1.1, 7), xticks=(-1, 0, 1), xticklabels=("read once", "", "written once"))
    axes.set_title("Lines that touch memory: blue reads, orange writes", loc="left")
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    plt.show()


found = {"no_maximum": passes(no_maximum), "three_passes": passes(three_passes)}
draw_passes(found)
for guess, lines in zip((of_plain, of_three), found.values(), strict=True):
    guess.against(sum(r + w for _, r, w in lines))

# %% [markdown]
# Three readings and a writing: four times the matrix where two would do. Safety has cost one reading
# more than the formula as it stands. Exactly there lies what makes the maximum expensive: it is known
# only *after* the whole row has been read, and everything else needs it.

# %% [markdown] exercise="week2/soft_mean" part="task"
# %% exercise="week2/soft_mean" part="skeleton"
# %% exercise="week2/soft_mean" part="grade"
# %% [markdown] exercise="week2/soft_mean" part="solution"

# %% [markdown]
# What you said in this notebook, and what it was:

# %%
fk.predictions()

# %%
steps = {"no_maximum": no_maximum, "three_passes": three_passes}
