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
# **You will build** the simplest sum of each row of a matrix, the sum of each column, and a sum
# that keeps what rounding would lose.
# **You will learn** why the same numbers have several sums, how far correct sums can differ, and
# what one thread per row costs.
# **You need** week 0. About 35 minutes, and 40 more for the exercises.
#
# Week 0 copied numbers, and a copy is right if every bit is equal. This week computes `y[m] = x[m,
# 0] + x[m, 1] + … + x[m, N-1]`. The first question already has no simple answer: which bits are
# right? (The next cell imports torch and CuTe DSL, which takes ten seconds or more.)

# %%
import math

import cutlass.cute as cute
import numpy as np
import torch
from cutlass import Float32
from week1_helpers import (
    check_sums,
    error_in_u,
    error_picture,
    growth_picture,
    pairwise_sum,
    thread_a_column,
)

import forgekit as fk

# %% [markdown]
# `week1_helpers` is the file beside this notebook. It holds the plotting code and small functions
# shared by several of this week's notebooks. Each page names the helpers that it uses.
#
# ## 1. The same numbers, in another order
#
# `float32` has 24 binary digits. Each addition rounds its result to 24 digits, and the rounding
# error depends on the numbers added before: `(a + b) + c` is not always `a + (b + c)`. A GPU does
# not add in the order of a simple loop. Thousands of threads add, and each kernel has its own
# order.
#
# The next cell adds 4,096 numbers one by one in `float32`, in 1,000 random orders.
#
# **Predict:** will there be more than 50 different sums?

# %%
different = fk.predict("more than 50 different sums", None)  # True or False


# %% jupyter={"outputs_hidden": true}
def one_by_one(values, dtype=np.float32):
    """Return the sum in the order of the loop, rounded to `dtype` after each addition."""
    return np.cumsum(values.astype(dtype), dtype=dtype)[-1]


values = fk.randn(4096, device="virtual").numpy()
chance = np.random.default_rng(0)
sums = [float(one_by_one(chance.permutation(values))) for _ in range(1000)]
print(f"{len(set(sums))} different sums, from {min(sums):.6f} to {max(sums):.6f}")
print(f"rounded once, at the end: {np.float32(math.fsum(values)):.6f}")
different.against(len(set(sums)) > 50)

# %% [markdown]
# All of them are honest sums of the same numbers. `math.fsum` adds exactly and rounds once, at the
# end; only its result deserves to be called *the* sum in `float32`. A test that demands exactly
# these bits would fail correct kernels. A test that allows anything would pass wrong ones. How
# large can the error of an honest sum be?
#
# ## 2. The size of the error
#
# One addition is off by at most half a unit in the last place, a factor of 1 ± u, with u = 2⁻²⁴ for
# `float32`. If you add one by one, the first number goes through n − 1 additions. In the worst case
# all roundings point the same way, and the error is
#
# $$|\text{error}| \le (n - 1) \cdot u \cdot \sum |x_i|$$
#
# But rounding errors do not all point the same way. They resemble the steps of a random walk, which
# after n steps is about √n steps from its start. Nor do you have to add one by one. In a
# **pairwise** sum, as in a tournament, each number goes through only log₂ n additions. `error_in_u`
# compares each method with `math.fsum`; the helper `pairwise_sum` does what exercise 1 asks you to
# write.

# %%
lengths = [2**k for k in range(4, 18)]
errors = {}
for name, way in (("one by one", one_by_one), ("pairwise", pairwise_sum)):
    errors[name] = [np.mean([error_in_u(way, n, seed) for seed in range(8)]) for n in lengths]
error_picture(lengths, errors)

# %% [markdown]
# All errors stay far below the bound. The error of adding one by one grows roughly like a random
# walk; the error of the pairwise sum stays below one unit. This is good news. On a GPU many threads
# add short pieces, and a tree adds their results. Such a sum is usually *more* accurate than the
# loop's.

# %% [markdown] exercise="week1/pairwise" part="task"
# ### Exercise 1: add in a tree
#
# Return the sum of a list of n ≥ 1 numbers. Add neighbours, then their sums, and so on: no number
# may go through more than log₂ n additions, rounded up. Use only `+`.
#
# Signature: `pairwise(values)`.
#
# <details><summary>Hint 1</summary>
#
# One round makes a list of half the length. When does the last round end?
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
# If the number of values is odd, the last value has no neighbour: carry it over unchanged, in the
# line that builds the new list.
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
# A recursive solution needs two lines. A block of threads will work in such rounds: each round
# leaves work for half as many threads.
#
# </details>

# %% [markdown]
# ## 3. Add in a narrow type
#
# `float16` has 11 binary digits, and `bfloat16` has 8. A sum can become so much larger than the
# next number that the addition changes none of its digits. From then on the sum does not grow.

# %% [markdown] exercise="week1/stops_growing" part="task"
# ### Exercise 2: predict where sums stop
#
# A loop adds equal numbers one by one to a sum that starts at 0, and rounds each result to the
# type. At which value does the sum stop growing? `"ones"`: each number is 1; `"fours"`: each number
# is 4.
#
# <details><summary>Hint 1</summary>
#
# A type with p binary digits represents every whole number up to 2ᵖ, but not 2ᵖ + 1.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# float16 has 11 digits, bfloat16 8, float32 24, including the leading digit.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# 2ᵖ + 1 lies halfway between two numbers of the type, and a tie rounds to the even one, 2ᵖ. With
# fours, every number is four times as large.
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
# Numbers round to the nearest value, and ties to the even one: 2,048 + 1 = 2,049 lies between 2,048
# and 2,050 and rounds to 2,048. In float32 the same happens at 16,777,216.
#
# </details>

# %% jupyter={"outputs_hidden": true}
growth_picture(np.cumsum(np.ones(5000, dtype=np.float16), dtype=np.float16))

# %% [markdown]
# Tensors may have 16 bits per element; sums may not. torch adds in `float32` and rounds once at the
# end, and so do this week's kernels, except the wrong one in section 5.
#
# ## 4. Choose a tolerance
#
# A test therefore has to allow for one rounding of the result to its own type, and for the errors
# of section 2. `fk.check` tests `|actual − expected| ≤ atol + rtol · |expected|`, and chooses
# `rtol` according to the result's type:

# %%
from forgekit.dtypes import tolerance

units = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
for dtype, u in units.items():
    rtol, _ = tolerance(dtype)
    print(f"{dtype!s:15s} one rounding: {u:.1e}   rtol: {rtol:.1e} = {rtol / u:.0f} roundings")

# %% [markdown]
# For 16-bit types `rtol` covers the rounding of the result with room to spare. For `float32` it
# covers a random walk of 168² ≈ 28,000 additions. That is enough for rows of common lengths added
# in pieces, and too small to hide one missing element among up to 100,000 similar ones. If positive
# and negative numbers nearly cancel, no relative tolerance helps, because the error grows with
# Σ|x|; `atol` covers that case.
#
# ## 5. One thread per row
#
# The Python model loops over blocks and threads. Each thread adds the elements of one row.


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
# In the kernel, `total` is a `Float32` from the start, since a variable that changes in a loop must
# keep its type. CuTe DSL does not convert such a value automatically; `.to` converts it.


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


check_sums(thread_a_row, [(1, 1), (3, 31), (33, 1000), (129, 1025)])

# %% [markdown]
# The helper `check_sums` checks the kernel's sums for several shapes and all three types. Its
# inputs lie between 0 and 1, because with `fk.randn` the sum of one of the 129 rows is near 0, and
# the rounding errors of adding one by one exceed the tolerance.
#
# **A good place for a break.**
#
# > **Looks right but is wrong.** To save registers, `narrow_sum` adds in the type of the tensor.
# > Rows of 31 ones pass the check, even in `float16`.


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
# **Predict:** which sum does it compute for a row of 5,000 ones? (`float16` can represent 5,000.)

# %%
narrow_result = fk.predict("sum of 5,000 ones", None)

# %% jupyter={"outputs_hidden": true}
x, y = fk.ones(4, 5000, dtype=torch.float16), fk.empty(4, dtype=torch.float16)
run_narrow(x, y)
narrow_result.against(y[0].item())
fk.check(y, x.double().sum(1))

# %% [markdown]
# Short rows hide the mistake, and so do random numbers whose sum stays near zero. **Test sums with
# numbers that add up, in rows as long as those of your users.**
#
# ## 6. What it costs
#
# The kernel reads each number once and adds it once. The picture shows which thread reads which
# element of an 8 × 12 matrix.

# %%
x, y = fk.randn(8, 12), fk.empty(8)
fk.footprint(fk.compile(thread_a_row, x, y), x, y, by="thread", tensor="mX")

# %% [markdown]
# **Predict:** how many sectors does one load of a warp fetch from 1,000-element rows of `float32`?

# %%
fk.predict(global_load_sectors_per_request=None)

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(256, 1000), fk.empty(256)
run_row = fk.compile(thread_a_row, x, y)
by_rows = fk.profile(run_row, x, y)
by_rows

# %% [markdown]
# Neighbouring threads read neighbouring *rows*, 4,000 bytes apart. Week 0 showed the same picture:

# %%
fk.coalescing(run_row, x, y, kind="load")

# %% [markdown]
# For a copy the cure was to swap rows and columns. Here that gives another operator, the sum of
# each *column*, with the same arithmetic. Write it:

# %% [markdown] exercise="week1/column_sum" part="task"
# ### Exercise 3: add up the columns
#
# `y[n] = x[0, n] + x[1, n] + … + x[M-1, n]`, for any M and N, in float32, float16 and bfloat16. Add
# in float32. Write the whole kernel and its launch.
#
# Signature: `column_sum(x, y)`.
#
# **Required**: one thread per column.
#
# <details><summary>Hint 1</summary>
#
# Swap rows and columns in `thread_a_row`. Where does the kernel use them?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# In three places: the predicate, the loop, and the number of blocks.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A variable that changes in a loop keeps its type: make `total` a `Float32` before the loop, and
# convert every element in the line that adds it.
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
# Neighbouring threads read neighbouring columns, so each load of a warp covers one piece of a row:
# 4 sectors for float32, 2 for 16-bit types. Consecutive loads of one thread are a whole row apart;
# that does not matter to a warp.
#
# </details>

# %% [markdown]
# `week1_helpers` has a `thread_a_column` to compare with:

# %%
x, y = fk.randn(256, 1000), fk.empty(1000)
run_column = fk.compile(thread_a_column, x, y)
run_column(x, y)
fk.check(y, x.double().sum(0))

# %%
by_columns = fk.profile(run_column, x, y)
for name, p in (("one thread per row", by_rows), ("one thread per column", by_columns)):
    print(f"{name:22s} {p.global_load_sectors_per_request:4.1f} sectors per load,", end=" ")
    print(f"{p.global_load_sectors * 32 / x.nbytes:.1f} bytes moved per byte needed")

# %% [markdown]
# Both kernels perform the same number of additions; the second moves one eighth of the bytes. The
# arithmetic is not the problem; the threads read the rows in the wrong order.
#
# ## 7. Keep what rounding lost
#
# One more kernel shows what an addition really does. In `float32` the error of one addition is
# itself a `float32`, and you can compute it: with `s = a + b`, the lost part is `b − (s − a)`, if
# `|a| ≥ |b|`. A **compensated** sum (Kahan, 1965) keeps the lost part and adds it to the next
# number.

# %% [markdown] exercise="week1/compensated" part="task"
# ### Exercise 4: keep what rounding loses
#
# Compute compensated sums of the rows, in float32. The relative error of each result must be at
# most 2⁻²³; adding one by one has a far larger error. Keep the part that an addition loses in a
# second variable and add it to the next number.
#
# Signature: `compensated(x, y)`.
#
# **Required**: one thread per row, no float64.
#
# <details><summary>Hint 1</summary>
#
# Carry two variables through the loop: the sum and the lost part.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# With `s = total + value`, the part of `value` that arrived in `s` is `s - total`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Before you add an element, add to it the part that the previous addition lost. The line after the
# addition computes the new lost part.
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
# Four operations per element replace one, and the kernel moves no more bytes; while it waits for
# memory, they are nearly free. For real numbers `b - (s - a)` is 0, but the compiler must not
# simplify it; CuTe DSL keeps the order of floating-point operations that you wrote.
#
# </details>

# %% [markdown]
# Your predictions in this notebook, beside the results:

# %%
fk.predictions()

# %% [markdown]
# ## Summary
#
# | way to add n numbers | additions per number, at most | typical error |
# |---|---|---|
# | one by one | n − 1 | √n · u |
# | in pieces, then a tree | length of a piece + log₂(number of pieces) | that of one piece |
# | pairwise | log₂ n | about u |
# | compensated | n − 1, each with a correction | 1 or 2 u |
#
# | kernel, 256 × 1,000 float32 | sectors per load | bytes moved per byte needed | result |
# |---|---|---|---|
# | `thread_a_row` | 32 | 8 | right |
# | `narrow_sum` | – | – | right on short rows; stops growing at 2,048 |
# | `thread_a_column` (another operator) | 4 | 1 | right |
#
# **The bad number: 32 sectors per load**, eight times the bytes.

# %%
steps = {"thread_a_row": thread_a_row}

# %% [markdown]
# **In practice** users want to reproduce a result bit for bit. A sum that gives the same bits in
# every call is **deterministic**; `04_few_long_rows` shows what that costs.
#
# **Further reading:** [What every computer scientist should know about floating-point
# arithmetic](https://docs.oracle.com/cd/E19957-01/806-3568/ncg_goldberg.html) (D. Goldberg) ·
# *Accuracy and Stability of Numerical Algorithms* (N. Higham), chapter 4, is about sums.
#
# **Next:** a whole block reads each row, in the order that suits the hardware
# ([`01_a_block_a_row`](01_a_block_a_row.ipynb)).
