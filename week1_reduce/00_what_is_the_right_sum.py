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
# # Decide what counts as the right sum
#
# **You will build** the simplest kernel for row sums, a kernel for column sums, and a sum that
# recovers what rounding loses. **You will learn** why the same numbers can have several sums, how
# much correct sums can differ, and what one thread per row costs. **You need** week 0. About 35
# minutes, and 40 more for the exercises.
#
# Week 0 copied numbers, and a copy is correct if every bit matches. This week computes sums: `y[m]
# = x[m, 0] + x[m, 1] + … + x[m, N-1]`. For a sum, even a basic question has no simple answer: which
# bits are correct? (The next cell imports torch and CuTe DSL, which takes ten seconds or more.)

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
# `week1_helpers.py`, in the same folder as this notebook, contains plotting code and small
# functions that this week's notebooks share. Each page names the helpers that it uses.
#
# ## 1. The same numbers in a different order
#
# A `float32` has 24 significant binary digits. Each addition rounds its result to 24 digits, and
# the rounding error depends on what has been added so far, so `(a + b) + c` does not always equal
# `a + (b + c)`. A GPU does not add in the order of a simple loop: thousands of threads add at the
# same time, and each kernel adds in its own order.
#
# The next cell adds 4,096 numbers one by one in `float32`, in 1,000 random orders.
#
# **Predict:** will there be more than 50 different sums?

# %%
different = fk.predict("more than 50 different sums", None)  # True or False


# %% jupyter={"outputs_hidden": true}
def one_by_one(values, dtype=np.float32):
    """Add the values in order, and round to `dtype` after each addition."""
    return np.cumsum(values.astype(dtype), dtype=dtype)[-1]


values = fk.randn(4096, device="virtual").numpy()
chance = np.random.default_rng(0)
sums = [float(one_by_one(chance.permutation(values))) for _ in range(1000)]
print(f"{len(set(sums))} different sums, from {min(sums):.6f} to {max(sums):.6f}")
print(f"rounded once, at the end: {np.float32(math.fsum(values)):.6f}")
different.against(len(set(sums)) > 50)

# %% [markdown]
# All of them are legitimate sums of the same numbers. `math.fsum` adds exactly and rounds once, at
# the end, so only its result deserves to be called *the* `float32` sum. A test that demanded
# exactly those bits would fail correct kernels, but a test that allowed anything would pass faulty
# ones. So how large can the error of a legitimate sum be?
#
# ## 2. The size of the error
#
# One addition is off by at most half a unit in the last place, which is a relative error of at most
# u = 2⁻²⁴ for `float32`. If you add n numbers one by one, the first goes through n − 1 additions.
# In the worst case, all rounding errors point the same way, and the total error reaches this bound:
#
# $$|\text{error}| \le (n - 1) \cdot u \cdot \sum |x_i|$$
#
# In practice, rounding errors point both ways. They resemble the steps of a random walk, which
# after n steps is about √n steps from its start. Nor do you have to add the numbers one by one: in
# a **pairwise** sum, which works like a tournament, each number goes through only log₂ n additions.
# The helper `error_in_u` compares each method with `math.fsum`, and `pairwise_sum` is the function
# that exercise 1 asks you to write.

# %%
lengths = [2**k for k in range(4, 18)]
errors = {}
for name, way in (("one by one", one_by_one), ("pairwise", pairwise_sum)):
    errors[name] = [np.mean([error_in_u(way, n, seed) for seed in range(8)]) for n in lengths]
error_picture(lengths, errors)

# %% [markdown]
# All errors stay far below the bound. The error of adding one by one grows roughly like a random
# walk, while the error of the pairwise sum stays below 1 u. This is good news for a GPU, where many
# threads add short pieces and a tree combines their results. Such a sum is usually *more* accurate
# than the sum from a simple loop.

# %% [markdown] exercise="week1/pairwise" part="task"
# ### Exercise 1: add in a tree
#
# Return the sum of a list of n ≥ 1 numbers. Add pairs, then add pairs of their sums, and so on. No
# number may go through more than log₂ n additions, rounded up; adding 0 does not count. Use only
# `+`. A million numbers may take at most 5 s.
#
# Signature: `pairwise(values)`.
#
# <details><summary>Hint 1</summary>
#
# Each round produces a list of half the length. After which round are you done?
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
# A recursive solution needs only two lines. A block of threads can add in the same rounds, each
# of which needs half as many threads as the one before.
#
# </details>

# %% [markdown]
# ## 3. Add in a narrow type
#
# `float16` has 11 significant binary digits, and `bfloat16` has 8. A sum can become so much larger
# than the next number that the addition changes none of its digits. From then on the sum no longer
# grows.

# %% [markdown] exercise="week1/stops_growing" part="task"
# ### Exercise 2: predict where sums stop
#
# A loop adds equal numbers one by one to a sum that starts at 0, and rounds each result to the
# given type. At which value does the sum stop growing? With `"ones"`, each number is 1; with
# `"fours"`, each number is 4.
#
# <details><summary>Hint 1</summary>
#
# A type with p binary digits represents every whole number up to 2ᵖ, but not 2ᵖ + 1.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# float16 has 11 digits, bfloat16 has 8 and float32 has 24, including the leading digit.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# 2ᵖ + 1 lies halfway between two representable numbers, and a tie rounds to the even one, 2ᵖ. With
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
# A result rounds to the nearest representable number, and a tie rounds to the even one: 2,048 + 1
# = 2,049 lies halfway between 2,048 and 2,050, so it rounds to 2,048. In float32 the same happens
# at 16,777,216.
#
# </details>

# %% jupyter={"outputs_hidden": true}
growth_picture(np.cumsum(np.ones(5000, dtype=np.float16), dtype=np.float16))

# %% [markdown]
# Tensors may store 16-bit elements, but a running sum needs more digits. torch adds in `float32`
# and rounds once at the end. This week's kernels do the same, except for a faulty one in section 5.
#
# ## 4. Choose a tolerance
#
# A test has to allow for the errors from section 2 and for the final rounding to the result's type.
# `fk.check` tests `|actual − expected| ≤ atol + rtol · |expected|` and chooses `rtol` according to
# the result's type:

# %%
from forgekit.dtypes import tolerance

units = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
for dtype, u in units.items():
    rtol, _ = tolerance(dtype)
    print(f"{dtype!s:15s} one rounding: {u:.1e}   rtol: {rtol:.1e} = {rtol / u:.0f} roundings")

# %% [markdown]
# For 16-bit types, `rtol` covers the rounding of the result with room to spare. For `float32` it
# covers a random walk of 168² ≈ 28,000 additions. That is enough for rows of ordinary length that
# are added in pieces, yet too small to hide one missing element among up to 100,000 similar ones.
# If positive and negative numbers nearly cancel, no relative tolerance helps, because the error
# grows with Σ|x|; `atol` covers that case.
#
# ## 5. One thread per row
#
# This Python model of the kernel loops over blocks and threads. Each thread adds the elements of
# one row.


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
# In the kernel, `total` is a `Float32` from the start, because a variable that changes in a loop
# must keep its type. CuTe DSL does not convert the elements automatically, so the kernel calls
# `.to`.


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
# The helper `check_sums` checks the kernel for several shapes and all three types. Its inputs lie
# between 0 and 1. With `fk.randn`, one of the 129 rows would have a sum near 0, and the rounding
# errors of adding one by one would exceed the tolerance.
#
# **A good place for a break.**
#
# > **Looks right but is wrong.** To save registers, `narrow_sum` adds in the type of the tensor. It
# > passes the check for rows of 31 ones, even in `float16`.


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
# **Predict:** what sum does `narrow_sum` compute for a row of 5,000 ones? (`float16` can represent
# 5,000.)

# %%
narrow_result = fk.predict("sum of 5,000 ones", None)

# %% jupyter={"outputs_hidden": true}
x, y = fk.ones(4, 5000, dtype=torch.float16), fk.empty(4, dtype=torch.float16)
run_narrow(x, y)
narrow_result.against(y[0].item())
fk.check(y, x.double().sum(1))

# %% [markdown]
# Short rows hide the mistake, and so do random numbers whose sum stays near zero. **Test sums with
# numbers of the same sign, in rows as long as your users' rows.**
#
# ## 6. The cost of one thread per row
#
# The kernel reads each number once and adds it once. The picture shows which thread reads which
# element of an 8 × 12 matrix.

# %%
x, y = fk.randn(8, 12), fk.empty(8)
fk.footprint(fk.compile(thread_a_row, x, y), x, y, by="thread", tensor="mX")

# %% [markdown]
# **Predict:** how many sectors does one load of a warp fetch from 1,000-element `float32` rows?

# %%
fk.predict(global_load_sectors_per_request=None)

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(256, 1000), fk.empty(256)
run_row = fk.compile(thread_a_row, x, y)
by_rows = fk.profile(run_row, x, y)
by_rows

# %% [markdown]
# Neighbouring threads read neighbouring *rows*, which are 4,000 bytes apart. You saw the same
# pattern in week 0:

# %%
fk.coalescing(run_row, x, y, kind="load")

# %% [markdown]
# For a copy, the fix was to swap rows and columns. Here the swap gives a different operator with
# the same arithmetic, the sum of each *column*. Write that kernel:

# %% [markdown] exercise="week1/column_sum" part="task"
# ### Exercise 3: add up the columns
#
# Compute `y[n] = x[0, n] + x[1, n] + … + x[M-1, n]` for any M and N, in float32, float16 and
# bfloat16. Add in float32. Write the whole kernel and its launch.
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
# convert every element on the line that adds it.
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
# Neighbouring threads read neighbouring columns, so each load of a warp covers one contiguous
# piece of a row, which is 4 sectors for float32 and 2 for 16-bit types. Consecutive loads of one
# thread are a whole row apart, but only the lanes of the same load have to be close together.
#
# </details>

# %% [markdown]
# `week1_helpers` contains the same kernel as `thread_a_column`. The next cells compare it with one
# thread per row:

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
# Both kernels perform the same number of additions, but the second moves one eighth of the bytes.
# The arithmetic is not the problem; the order in which threads read the rows is.
#
# ## 7. Keep what rounding loses
#
# One more kernel shows what an addition loses. The error of one `float32` addition is itself a
# `float32`, so you can compute it: with `s = a + b` and `|a| ≥ |b|`, the lost part is `b − (s −
# a)`. A **compensated** sum (Kahan, 1965) keeps the lost part and adds it to the next number.

# %% [markdown] exercise="week1/compensated" part="task"
# ### Exercise 4: keep what rounding loses
#
# Compute a compensated sum of each row, in float32. The elements of a row have the same sign. The
# relative error of each result must be at most 2⁻²³; adding one by one has a far larger error. Keep
# the part that each addition loses in a second variable, and add it to the next number. (Or add up
# these parts, and add their sum at the end.)
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
# With `s = total + value`, the part of `value` that reached `s` is `s - total`.
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
# Four operations per element replace one, but the kernel moves no additional bytes. While it
# waits for memory, the extra operations are nearly free. In exact arithmetic `b - (s - a)` is 0,
# but the compiler must not simplify it; CuTe DSL performs floating-point operations in the order
# in which you wrote them.
#
# </details>

# %% [markdown]
# The next cell shows your predictions beside the results:

# %%
fk.predictions()

# %% [markdown]
# ## Summary
#
# | method for n numbers | additions per number, at most | typical error |
# |---|---|---|
# | one by one | n − 1 | √n · u |
# | in pieces, then in a tree | length of a piece + log₂(number of pieces) | error of one piece |
# | pairwise | log₂ n | about u |
# | compensated | n − 1, each with a correction | 1 or 2 u |
#
# | kernel, 256 × 1,000 float32 | sectors per load | bytes moved per byte needed | result |
# |---|---|---|---|
# | `thread_a_row` | 32 | 8 | correct |
# | `narrow_sum` | – | – | correct for short rows; stops growing at 2,048 |
# | `thread_a_column` (another operator) | 4 | 1 | correct |
#
# **The bad number: 32 sectors per load**, eight times the bytes that the sum needs.

# %%
steps = {"thread_a_row": thread_a_row}

# %% [markdown]
# **In practice** users often want to reproduce a result bit for bit. A sum that gives the same bits
# in every call is **deterministic**; `04_few_long_rows` shows the cost of determinism.
#
# **Further reading:** [What every computer scientist should know about floating-point
# arithmetic](https://docs.oracle.com/cd/E19957-01/806-3568/ncg_goldberg.html) (D. Goldberg) ·
# *Accuracy and Stability of Numerical Algorithms* (N. Higham), whose chapter 4 covers sums.
#
# **Next:** a whole block reads each row, in the order that suits the hardware
# ([`01_a_block_a_row`](01_a_block_a_row.ipynb)).
