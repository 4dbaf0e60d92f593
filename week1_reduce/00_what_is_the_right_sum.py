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
# # Decide what the right sum is
#
# **You will build** the simplest sum over the rows of a matrix, its mirror image over the columns,
# and a sum that keeps what rounding would lose.
# **You will learn** why the same numbers give several sums, how far apart these may be, which
# difference is a mistake, and what a thread for each row costs.
# **You need** week 0. About 30 minutes, and 35 more for the exercises.
#
# Week 0 moved numbers, and a copy is right if every bit is. This week computes
# `y[m] = x[m, 0] + x[m, 1] + … + x[m, N-1]`, and already the first question has no simple answer:
# which bits are right?

# %%
import math

import cutlass.cute as cute
import matplotlib.pyplot as plt
import numpy as np
import torch
from cutlass import Float32

import forgekit as fk

# %% [markdown]
# ## 1. The same numbers, in another order
#
# `float32` has 24 binary digits. Each addition rounds its result to them, and what is lost depends
# on what has been added before: `(a + b) + c` is not `a + (b + c)`. On a GPU nobody adds in the
# order of the loop in your head; thousands of threads do, and each kernel has an order of its own.
#
# Here are 4,096 numbers, added one after the other in `float32`, in 1,000 random orders.
#
# **Predict:** how many different sums will come out? One, a handful, or more than fifty?

# %%
different = fk.predict("more than 50 different sums", None)  # True or False


# %% jupyter={"outputs_hidden": true}
def one_by_one(values, dtype=np.float32):
    """The sum in the order of the loop, rounded to `dtype` after each addition."""
    return np.cumsum(values.astype(dtype), dtype=dtype)[-1]


values = fk.randn(4096, device="virtual").numpy()
chance = np.random.default_rng(0)
sums = [float(one_by_one(chance.permutation(values))) for _ in range(1000)]
print(f"{len(set(sums))} different sums, from {min(sums):.6f} to {max(sums):.6f}")
print(f"rounded once, at the end: {np.float32(math.fsum(values)):.6f}")
different.against(len(set(sums)) > 50)

# %% [markdown]
# All of them are honest sums of the same numbers. `math.fsum` adds without rounding on the way; its
# one rounding at the end gives the only result that deserves to be called *the* sum in `float32`.
# A test that asks a kernel for these very bits would fail right kernels. A test that allows
# anything would pass wrong ones. So: how far off may an honest sum be?
#
# ## 2. How far off
#
# One addition is off by at most half a unit in the last place, a factor of 1 ± u, with u = 2⁻²⁴ for
# `float32`. In a sum one by one the first number goes through n − 1 additions, so in the worst case
# all roundings pull in one direction, and the error is
#
# $$|\text{error}| \le (n - 1) \cdot u \cdot \sum |x_i|$$
#
# Roundings are not conspiring, though. They point up and down like the steps of a random walk, and
# a random walk of n steps gets about √n far. And nobody has to add one by one. **Pairwise**, as in
# a tournament, each number goes through log₂ n additions only:


# %%
def pairwise_sum(values, dtype=np.float32):
    """Neighbours are added, then their sums, and so on; a number left over waits."""
    level = values.astype(dtype)
    while len(level) > 1:
        odd = level[len(level) // 2 * 2 :]
        level = np.concatenate(
            [level[0 : len(level) // 2 * 2 : 2] + level[1::2][: len(level) // 2], odd]
        )
    return level[0]


def error_in_u(way, n, seed):
    """Error of a sum of n positive numbers, in units of u times the sum."""
    drawn = np.random.default_rng(seed).random(n).astype(np.float32)
    exact = math.fsum(drawn)
    return abs(float(way(drawn)) - exact) / exact * 2.0**24


lengths = [2**k for k in range(4, 18)]
walks = {}
for name, way in (("one by one", one_by_one), ("pairwise", pairwise_sum)):
    walks[name] = [np.mean([error_in_u(way, n, seed) for seed in range(8)]) for n in lengths]

figure, axes = plt.subplots(figsize=(6.4, 3.6))
axes.loglog(lengths, [float(n) for n in lengths], ":", color="gray", label="n, the bound")
axes.loglog(lengths, np.sqrt(lengths), "--", color="gray", label="√n")
for name, marker in (("one by one", "o-"), ("pairwise", "s-")):
    axes.loglog(lengths, np.maximum(walks[name], 0.03), marker, label=name)
axes.set(xlabel="numbers added", ylabel="error, in u times the sum", title="Errors of float32 sums")
axes.legend()
axes.grid(alpha=0.3)
plt.show()
print(f"131,072 numbers: one by one off by {walks['one by one'][-1]:.0f} u,", end=" ")
print(f"pairwise by {walks['pairwise'][-1]:.1f} u")

# %% [markdown]
# The bound is far away. The sum one by one drifts about as a random walk does, or a little faster;
# the pairwise sum hardly errs at all. This is good news for us: on a GPU many threads add up short
# pieces and their results are added in a tree, which is *more* exact than the loop, not less.

# %% [markdown] exercise="week1/pairwise" part="task"
# ### Exercise 1: add in a tree
#
# Write `pairwise(values)`: the sum of a list of numbers, in which no number goes through more than
# log₂ n additions, rounded up. Neighbours are added, then their sums, and so on. Any length from 1
# on; use nothing but `+`.
#
# <details><summary>Hint 1</summary>
#
# One round makes a list of half the length. When are there no more rounds?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `values[0::2]` and `values[1::2]` are the left and the right neighbours.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# With an odd number of values the last one has no neighbour: it goes to the next round as it is, in
# the line that builds the new list.
#
# </details>


# %% exercise="week1/pairwise" part="skeleton"
def pairwise(values):
    # FILL ME IN (roughly 4 lines)
    return values[0]


# %% exercise="week1/pairwise" part="grade"
fk.exercise("week1/pairwise").grade(pairwise)

# %% [markdown] exercise="week1/pairwise" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# def pairwise(values):
#     while len(values) > 1:
#         pairs = [a + b for a, b in zip(values[0::2], values[1::2], strict=False)]
#         values = pairs + values[len(values) // 2 * 2 :]
#     return values[0]
# ```
#
# Written with recursion it is two lines; as rounds it is what a block of threads will do: in each
# round half as many threads have something to add.
#
# </details>

# %% [markdown]
# ## 3. Sums that stop growing
#
# `float16` has 11 binary digits. Where the sum is so much larger than the next number that adding
# it changes none of its digits, nothing happens, however often one adds. `bfloat16` has 8 digits.

# %% [markdown] exercise="week1/stops_growing" part="task"
# ### Exercise 2: predict where sums stop
#
# Numbers are added one by one to a sum that begins at 0, each result rounded to the type. At which
# value does the sum stop growing, however many more are added? `"fours"` means that each number is
# 4.
#
# <details><summary>Hint 1</summary>
#
# A type with p binary digits has every whole number up to 2ᵖ, and the next one is missing.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# float16 has 11 digits, bfloat16 8, float32 24, the leading one counted.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# 2ᵖ + 1 lies halfway between two numbers, and a tie is rounded to the even one, which is 2ᵖ again.
# With fours, everything is four times as large.
#
# </details>

# %% exercise="week1/stops_growing" part="skeleton"
stops_at = {
    # FILL ME IN (roughly 4 lines)
    "float16, ones": None,
    "bfloat16, ones": None,
    "float16, fours": None,
    "float32, ones": None,
}

# %% exercise="week1/stops_growing" part="grade"
fk.exercise("week1/stops_growing").grade(stops_at)

# %% [markdown] exercise="week1/stops_growing" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# stops_at = {
#     "float16, ones": 2048,
#     "bfloat16, ones": 256,
#     "float16, fours": 8192,
#     "float32, ones": 16_777_216,
# }
# ```
#
# Rounding to nearest, ties to even: 2,048 + 1 = 2,049 lies between 2,048 and 2,050, and goes to
# 2,048. In float32 the same happens at 16,777,216, which a row of ones of that length would show.
#
# </details>

# %% jupyter={"outputs_hidden": true}
ones = np.ones(5000, dtype=np.float16)
grown = np.cumsum(ones, dtype=np.float16)
figure, axes = plt.subplots(figsize=(6.4, 3))
axes.plot(grown, label="added up in float16")
axes.plot(np.arange(1, 5001), "--", color="gray", label="the sum")
axes.set(xlabel="ones added", ylabel="sum", title="float16 stops growing")
axes.legend()
plt.show()
print("the sum of 5,000 ones, added up in float16:", int(grown[-1]))

# %% [markdown]
# So tensors may be 16 bits wide, and sums may not. Everybody adds up in `float32` and rounds
# once, at the end: torch does, and so will every kernel of this week.
#
# ## 4. What a tolerance may be
#
# This settles what a test has to allow. The result is rounded once to its own type, and the
# additions in `float32` add what section 2 says. `fk.check` compares with
# `|actual − expected| ≤ atol + rtol · |expected|`, and takes `rtol` from the type of the result:

# %%
from forgekit.dtypes import tolerance

units = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
for dtype, u in units.items():
    rtol, _ = tolerance(dtype)
    print(f"{dtype!s:15s} one rounding: {u:.1e}   rtol: {rtol:.1e} = {rtol / u:.0f} roundings")

# %% [markdown]
# For 16-bit types that is the one rounding of the result and some room. For `float32` it is what a
# random walk of 168² ≈ 28,000 additions needs: enough for a row of any usual length that is added
# up in pieces, and too little to hide one lost element of up to 100,000 like ones. Where positive
# and negative numbers nearly cancel, no relative tolerance helps, since the error goes with Σ|x|;
# that is what `atol` is for.
#
# ## 5. A thread a row
#
# The Python model: loops over blocks and threads, each thread adds up its row.


# %%
def model(x):
    y = [0.0] * len(x)
    for block in range(math.ceil(len(x) / 128)):
        for thread in range(128):
            row = block * 128 + thread
            if row < len(x):
                for n in range(len(x[row])):
                    y[row] += x[row][n]
    return y


print(model([[1, 2, 3], [4, 5, 6]]))

# %% [markdown]
# And the kernel. `total` is a `Float32` from the beginning, since a variable that changes in a loop
# has to keep its type; `.to` converts, for CuTe DSL never does so by itself.


# %%
@cute.kernel
def thread_a_row_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row = bidx * 128 + tidx
    if row < mX.shape[0]:
        total = Float32(0.0)
        for n in range(mX.shape[1]):
            total += mX[row, n].to(Float32)
        mY[row] = total.to(mY.element_type)


@cute.jit
def thread_a_row(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[0], 128)
    thread_a_row_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


for shape in ((1, 1), (3, 31), (33, 1000), (129, 1025)):
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x, y = fk.rand(*shape, dtype=dtype), fk.empty(shape[0], dtype=dtype)
        run_row = fk.compile(thread_a_row, x, y)
        run_row(x, y)
        fk.check(y, x.double().sum(1))

# %% [markdown]
# Right for every size and type. (The numbers lie between 0 and 1. With `fk.randn` in place of
# `fk.rand` one of the 129 rows of 1,025 sums up to almost 0, and a sum one by one of numbers as
# large as 3 misses that by more than the tolerance: try it. A tree will not.) To see who reads
# what, take rows of 12 elements, and 8 of them:

# %%
x, y = fk.randn(8, 12), fk.empty(8)
fk.footprint(fk.compile(thread_a_row, x, y), x, y, by="thread", tensor="mX")

# %% [markdown]
# > **Looks right and is wrong.** Somebody wants to save registers and adds up in the type of the
# > tensor. Rows of 31 pass the check, in `float16`, too.


# %%
@cute.kernel
def narrow_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row = bidx * 128 + tidx
    if row < mX.shape[0]:
        total = mX.element_type(0.0)
        for n in range(mX.shape[1]):
            total += mX[row, n]
        mY[row] = total


@cute.jit
def narrow_sum(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[0], 128)
    narrow_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


x, y = fk.ones(4, 31, dtype=torch.float16), fk.empty(4, dtype=torch.float16)
run_narrow = fk.compile(narrow_sum, x, y)
run_narrow(x, y)
fk.check(y, x.double().sum(1))

# %% [markdown]
# **Predict:** what does it give for rows of 5,000 ones? (5,000 is a number that `float16` has.)

# %%
narrow_result = fk.predict("sum of 5,000 ones", None)

# %% jupyter={"outputs_hidden": true}
x, y = fk.ones(4, 5000, dtype=torch.float16), fk.empty(4, dtype=torch.float16)
run_narrow(x, y)
narrow_result.against(y[0].item())
fk.check(y, x.double().sum(1))

# %% [markdown]
# Short rows do not show it, nor do random numbers whose sum stays near zero. **Test sums with
# numbers that add up, in rows as long as they get.**
#
# ## 6. What it costs, and the mirror image
#
# Each number is read once and there is one addition for it. And yet:
#
# **Predict:** how many sectors does one load of a warp fetch, in rows of 1,000 float32?

# %%
fk.predict(global_load_sectors_per_request=None)

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(256, 1000), fk.empty(256)
run_row = fk.compile(thread_a_row, x, y)
by_rows = fk.profile(run_row, x, y)
by_rows

# %% [markdown]
# Neighbouring threads read neighbouring *rows*, 4,000 bytes apart. You know this picture from week
# 0, and you know the cure for a copy: exchange rows and columns. Here that is another operator, the
# sum of each *column*. But it is the same arithmetic, and worth a look.

# %%
fk.coalescing(run_row, x, y, kind="load")

# %% [markdown] exercise="week1/column_sum" part="task"
# ### Exercise 3: add up the columns
#
# `y[n] = x[0, n] + x[1, n] + … + x[M-1, n]`, for any M and N, in float32, float16
# and bfloat16, added up in float32. The whole kernel is yours; it is called as `column_sum(x, y)`.
#
# **Asked**: one thread per column.
#
# <details><summary>Hint 1</summary>
#
# It is `thread_a_row` with rows and columns exchanged. Where do they stand in it?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Three places: the predicate, the loop, and the number of blocks.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A variable that changes in a loop keeps its type: `total` has to be a `Float32` before the loop
# begins, and every element is converted in the line that adds it.
#
# </details>


# %% exercise="week1/column_sum" part="skeleton"
@cute.kernel
def column_sum_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 8 lines)
    pass


@cute.jit
def column_sum(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week1/column_sum" part="grade"
fk.exercise("week1/column_sum").grade(column_sum)

# %% [markdown] exercise="week1/column_sum" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# @cute.kernel
# def column_sum_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     col = bidx * 128 + tidx
#     if col < mX.shape[1]:
#         total = Float32(0.0)
#         for m in range(mX.shape[0]):
#             total += mX[m, col].to(Float32)
#         mY[col] = total.to(mY.element_type)
#
#
# @cute.jit
# def column_sum(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[1], 128)
#     column_sum_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# Neighbouring threads read neighbouring columns, so each load of a warp is one piece of a row: 4
# sectors of float32, 2 of 16 bits. The distance from one load of a thread to its next, a whole row,
# does not matter to a warp.
#
# </details>

# %% [markdown]
# Here is one in plain sight, to compare with:


# %%
@cute.kernel
def thread_a_column_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    col = bidx * 128 + tidx
    if col < mX.shape[1]:
        total = Float32(0.0)
        for m in range(mX.shape[0]):
            total += mX[m, col].to(Float32)
        mY[col] = total.to(mY.element_type)


@cute.jit
def thread_a_column(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[1], 128)
    thread_a_column_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


x, y = fk.randn(256, 1000), fk.empty(1000)
run_column = fk.compile(thread_a_column, x, y)
run_column(x, y)
fk.check(y, x.double().sum(0))

# %%
by_columns = fk.profile(run_column, x, y)
for name, p in (("a thread a row", by_rows), ("a thread a column", by_columns)):
    print(f"{name:18s} {p.global_load_sectors_per_request:4.1f} sectors a load,", end=" ")
    print(f"{p.global_load_sectors * 32 / x.nbytes:.1f} bytes moved for each that is needed")

# %% [markdown]
# The same number of additions, an eighth of the traffic. So the rows are not hard to add up; it is
# the way in which the threads go through them.
#
# ## 7. What rounding lost, kept
#
# One more kernel, since it shows what an addition really does. In `float32` the error of one
# addition is itself a `float32`, and can be had: with `s = a + b`, what is missing is
# `b − (s − a)`, as long as `a` is the larger one. A **compensated** sum (Kahan, 1965) carries the
# missing part along and adds it to the next number.

# %% [markdown] exercise="week1/compensated" part="task"
# ### Exercise 4: keep what rounding loses
#
# Sums of rows in float32, compensated: the result is to be within 2⁻²³ of the exact sum,
# relatively, where the sum one by one is off by far more. Keep the part that an addition has lost
# in a second variable and add it to the next number. (`compensated(x, y)`.)
#
# **Asked**: one thread per row.
#
# <details><summary>Hint 1</summary>
#
# Two variables live through the loop: the sum, and what is still to be added.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# With `s = total + value`, what `s` has of `value` is `s - total`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Before it is added, each element of the row gets what the addition before it has lost; the line
# after the addition computes again what is lost now.
#
# </details>


# %% exercise="week1/compensated" part="skeleton"
@cute.kernel
def compensated_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 11 lines)
    pass


@cute.jit
def compensated(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week1/compensated" part="grade"
fk.exercise("week1/compensated").grade(compensated)

# %% [markdown] exercise="week1/compensated" part="solution"
# <details><summary>Solution of exercise 4</summary>
#
# ```python
# @cute.kernel
# def compensated_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row = bidx * 128 + tidx
#     if row < mX.shape[0]:
#         total, lost = Float32(0.0), Float32(0.0)
#         for n in range(mX.shape[1]):
#             value = mX[row, n] + lost
#             s = total + value
#             lost = value - (s - total)
#             total = s
#         mY[row] = total
#
#
# @cute.jit
# def compensated(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 128)
#     compensated_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# Four operations an element in place of one, and no more bytes: while a kernel waits for memory,
# that is nearly free. The compiler must not simplify `b - (s - a)` to 0, which is true of real
# numbers and not of these; CuTe DSL leaves the order of floating-point operations as you wrote it.
#
# </details>

# %% [markdown]
# What you said in this notebook, and what it was:

# %%
fk.predictions()

# %% [markdown]
# ## Summary
#
# | way to add n numbers | additions a number goes through | error, typically |
# |---|---|---|
# | one by one | n − 1 | √n · u |
# | in pieces, then a tree | piece + log₂ | as its pieces |
# | pairwise | log₂ n | hardly any |
# | compensated | n − 1, with the lost part kept | 1 or 2 u |
#
# | kernel, 256 × 1,000 float32 | sectors a load | bytes moved for each needed | result |
# |---|---|---|---|
# | `thread_a_row` | 32 | 8 | right |
# | `narrow_sum` | – | – | right on short rows, stops growing at 2,048 |
# | `thread_a_column` (another operator) | 4 | 1 | right |
#
# **The bad number: 32 sectors a load**, eight times the bytes.

# %%
steps = {"thread_a_row": thread_a_row}

# %% [markdown]
# **In practice** libraries say which order they use and keep it the same from call to call, so that
# a result can be had again bit for bit; that is called **deterministic**, and `04_few_long_rows`
# shows what it costs.
#
# **Further reading:** [What every computer scientist should know about floating-point
# arithmetic](https://docs.oracle.com/cd/E19957-01/806-3568/ncg_goldberg.html) (D. Goldberg) ·
# Accuracy and Stability of Numerical Algorithms (N. Higham), chapter 4, is about sums.
#
# **Next:** rows read as the hardware likes it, by a whole block
# ([`01_a_block_a_row`](01_a_block_a_row.ipynb)).
