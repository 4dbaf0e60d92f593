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
# # Send a gradient back through softmax
#
# **You will build** the gradient of softmax, first with a kernel that uses one warp per row and
# reads everything twice, then with both rows in registers. Finally you turn a forward and a
# backward kernel into a PyTorch operator.
# **You will learn** why a row's gradient needs one sum, why autograd saves y rather than x, which
# checks a wrong gradient can pass, and what autograd, `torch.library` and `torch.compile` require
# of a kernel.
# **You need** `02_the_row_in_registers`. About 45 minutes, and 115 more for the exercises.
#
# The forward kernels of `03` read each row once if it fits on the chip. **The bad number** is new:
# the gradient reads *two* rows, y and its gradient dy.

# %%
import operator
from functools import partial

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from week2_helpers import (
    TYPES,
    Step,
    checked_backward,
    cost,
    difference_picture,
    given,
    gradient_picture,
    loads_of,
    online,
    row_sum,
    row_tiles,
    rows_picture,
    saved_matrices,
    whole,
)

import forgekit as fk
from forgekit.benching.recorded import recorded

# %% [markdown]
# ## 1. One row, and how it changes
#
# The network computes a number L, the loss, from y. For each element of each tensor, training needs
# to know how much L changes when that element changes slightly. For y this is given as `dy[j]` =
# ∂L/∂yⱼ. For x you compute it, as `dx[i]`.
#
# How does y change with x? Let yⱼ = eⱼ / s with eⱼ = exp(xⱼ) and s = Σ e. Each xᵢ affects every yⱼ
# through s, and for j = i it affects the numerator as well:
#
# ∂yⱼ/∂xᵢ = −yⱼ·yᵢ for j ≠ i, and yᵢ − yᵢ·yᵢ for j = i
#
# These derivatives form one matrix per row, the **Jacobian**: y on the diagonal, minus the outer
# product of y with itself. It is far too large to store. But dx is its product with dy, and the sum
# simplifies:
#
# dxᵢ = Σⱼ dyⱼ · ∂yⱼ/∂xᵢ = dyᵢ·yᵢ − Σⱼ dyⱼ·yⱼ·yᵢ = **(dyᵢ − Σⱼ dyⱼ·yⱼ) · yᵢ**
#
# So the gradient needs one sum per row, the mean of dy weighted by y. Each element of dx then
# depends only on that sum and on its own dy and y.


# %%
def formula(dy, y):
    """Return dx in float64 for rows of any type."""
    dy, y = dy.double(), y.double()
    return (dy - (dy * y).sum(-1, keepdim=True)) * y


x = torch.tensor([1.0, 2.0, 0.0, 1.0], dtype=torch.float64)
y, dy = x.softmax(0), torch.tensor([1.0, 0.0, 3.0, -1.0], dtype=torch.float64)
jacobian = torch.diag(y) - y[:, None] * y[None, :]
assert torch.allclose(jacobian, torch.autograd.functional.jacobian(lambda x: x.softmax(0), x))
print("∂y[j]/∂x[i]", str(jacobian.numpy().round(4)).replace("\n", "\n            "))
print("sums       ", jacobian.sum(0).numpy().round(4) + 0.0)
print("dx by the Jacobian  ", (jacobian @ dy).numpy().round(6))
print("dx by the formula   ", formula(dy, y).numpy().round(6))
print(f"a row of 4,096 float32: {4096 * 4 / 1e3:.1f} kB, its Jacobian: {4096**2 * 4 / 1e6:.1f} MB")

# %% [markdown]
# Each row of the Jacobian adds up to 0, because whatever one element gains, the others lose.
#
# Both results come from the same derivation. A **finite difference** is independent of it: take a
# small step of size eps along a direction v, and measure how L changes. Per unit of eps, L has to
# change by Σ dx·v. For large steps the error grows with eps², because f is curved. For small steps
# it grows with 1/eps, because both values are rounded. So there is an optimal step, which depends
# on the type:


# %% tags=["nbval-ignore-output"]
def along(f, x, dy, direction, eps):
    """Return how L = Σ dy·f(x) changes along a direction, by a central difference."""
    ahead, behind = f(x + eps * direction), f(x - eps * direction)
    return ((ahead - behind) * dy).sum().item() / (2 * eps)


def by_torch(x):
    return x.softmax(-1)


x, dy, direction = (fk.randn(3, 50, seed=k, device="virtual").double() for k in range(3))
right = (formula(dy, by_torch(x)) * direction).sum().item()
eps, errors = [10 ** (-k / 2) for k in range(22)], {}
for dtype in (torch.float64, torch.float32):
    parts = [t.to(dtype) for t in (x, dy, direction)]
    errors[str(dtype)[6:]] = [abs(along(by_torch, *parts, e) / right - 1) for e in eps]
assert min(errors["float64"]) < 1e-9
assert errors["float32"][12] > 0.01 and errors["float32"][4] < 1e-4  # steps 1e-6 and 1e-2
difference_picture(eps, errors)

# %% [markdown]
# The formula is correct to nine digits. Note the left half of the `float32` curve: with a step of
# 10⁻⁶ the error is several percent. Section 6 returns to it.

# %% [markdown] exercise="week2/numeric_gradient" part="task"
# ### Exercise 1: compute a gradient by differences
#
# Write `numeric_gradient(f, x, dy, eps=1e-6)`. It returns the gradient of L = Σ dy·f(x) with
# respect to every element of `x`, by central differences: (L(x + step) - L(x - step)) / (2·eps),
# where a step changes one element of x. `f` is any function of a contiguous float64 tensor, and
# autograd cannot differentiate it. Leave `x` unchanged, return a tensor of the same shape, and call
# `f` twice per element.
#
# <details><summary>Hint 1</summary>
#
# Loop over the elements. In each round you need two tensors that differ from x in one element.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `torch.zeros_like(x)` with one element set is a step; `.view(-1)[i]` is element i of a contiguous
# tensor of any shape.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# f returns a tensor, but L is a number. In the line before the division, multiply the difference by
# dy and add up the products.
#
# </details>


# %% exercise="week2/numeric_gradient" part="skeleton"
def numeric_gradient(f, x, dy, eps=1e-6):
    # FILL ME IN (roughly 7 lines)
    return x


# %% exercise="week2/numeric_gradient" part="grade"
fk.exercise("week2/numeric_gradient").grade(numeric_gradient)

# %% [markdown] exercise="week2/numeric_gradient" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# def numeric_gradient(f, x, dy, eps=1e-6):
#     dx = torch.empty_like(x)
#     for i in range(x.numel()):
#         step = torch.zeros_like(x)
#         step.view(-1)[i] = eps
#         difference = f(x + step) - f(x - step)
#         dx.view(-1)[i] = (difference * dy).sum() / (2 * eps)
#     return dx
# ```
#
# This calls f twice per element, or two million times for a matrix of a million elements. So use it
# only to check a gradient that was computed in another way, in float64 and for few elements.
# `torch.autograd.gradcheck` does the same. Central differences are worth the second call, because
# their error falls with eps² instead of eps.
#
# </details>

# %% [markdown]
# ## 2. What to save
#
# The gradient needs y from the forward pass, but can also compute it from x. So the forward pass
# may save either of them. What is the difference?
#
# | saved | the gradient reads | exponentials per element | reductions per row |
# |---|---|---|---|
# | x | dy and x | 1 | maximum, sum, Σ dy·y |
# | y | dy and y | 0 | Σ dy·y |
#
# The gradient reads the same number of bytes in both cases. But y is the result, and most networks
# save it anyway for the matrix product that follows, so x can be freed.
#
# **Predict:** how many matrices as large as x does autograd save for `x.softmax(1)`? And for
# `written_out(x)`, the same function in four torch calls?

# %%
of_both = fk.predict("matrices saved, by softmax and written out", None)  # in the form (4, 7)


# %% jupyter={"outputs_hidden": true}
def written_out(x):
    e = (x - x.amax(1, keepdim=True)).exp()
    return e / e.sum(1, keepdim=True)


x = fk.randn(64, 1000, device="virtual").requires_grad_()
saved = saved_matrices(by_torch, x), saved_matrices(written_out, x)
of_both.against(tuple(round(m) for m in saved))
y = x.softmax(1)
print("softmax saves its result:", y.grad_fn._saved_result.data_ptr() == y.data_ptr())

# %% [markdown]
# Each torch call saves the tensors that *its own* gradient needs: `amax` saves its input, and `exp`
# and the division save exponentials. A single operator with its own gradient saves only y, which
# exists anyway.
#
# ## 3. One warp per row, both matrices read twice
#
# The first kernel resembles `three_passes`: one loop computes the sum, a butterfly distributes it
# to all lanes, and a second loop writes the result. `given` draws dy and y, and `checked_backward`
# compares dx with the formula in three types.


# %%
@cute.kernel
def backward_kernel(mdY: cute.Tensor, mY: cute.Tensor, mdX: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row, lane = bidx * 4 + tidx // 32, tidx % 32
    if row < mY.shape[0]:
        dot = Float32(0.0)
        for n in range(lane, mY.shape[1], 32):
            dot += mdY[row, n].to(Float32) * mY[row, n].to(Float32)
        dot = cute.arch.warp_reduction(dot, operator.add)
        for n in range(lane, mY.shape[1], 32):
            dx = (mdY[row, n].to(Float32) - dot) * mY[row, n].to(Float32)
            mdX[row, n] = dx.to(mdX.element_type)


@cute.jit
def backward(mdY: cute.Tensor, mY: cute.Tensor, mdX: cute.Tensor):
    blocks = cute.ceil_div(mY.shape[0], 4)
    backward_kernel(mdY, mY, mdX).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


checked_backward(partial(fk.compile, backward), formula, (1, 1), (3, 31), (5, 1000), (4, 1025))
dy, y, dx = given(1, 20)
fk.compile(backward, dy, y, dx)(dy, y, dx)
rows_picture(dy=dy, y=y, dx=dx)

# %% [markdown]
# The picture shows a row of 20 elements. Where y is small, dx is small whatever dy is, so an
# element with probability 0 does not learn. dx is positive where dy is above the weighted mean, and
# negative where it is below. (The check's tolerance is absolute, because dx is 0 in a row of one
# element, and where y is nearly 1, dx is a difference of nearly equal numbers.)
#
# **A free test.** Σ dx = Σ dy·y − (Σ dy·y)·(Σ y) = 0 for every row and every dy, because Σ y = 1.
# This test needs no reference.
#
# > **Looks right but is wrong.** Suppose you forget that every denominator depends on every x, and
# > write dx = dy·y, without Σ dy·y. Each of these five checks looks good:
# >
# > 1. `torch.testing.assert_close` with its default tolerances, for random rows of 128,256, the
# >    size of a language model's vocabulary
# > 2. the same comparison, for rows of 100
# > 3. a dy whose weighted mean is 0 in each row
# > 4. dy = 1 everywhere: y adds up to 1 for every x, so dx has to be 0
# > 5. Σ dx = 0, with a random dy
#
# **Predict:** which of these checks does dy·y pass?

# %%
passed_by = fk.predict("checks that dy·y passes", None)  # their numbers, in the form (1, 2)


# %% jupyter={"outputs_hidden": true}
def close(got, want):
    """Return True if torch.testing.assert_close accepts dy·y."""
    try:
        torch.testing.assert_close(got, want.to(got.dtype))
    except AssertionError:
        return False
    return True


def random_rows(n):
    dy, x = (fk.randn(1, n, seed=seed, device="virtual") for seed in (0, 1))
    return dy, x.double().softmax(1).float()


(dy, y), (short_dy, short_y) = random_rows(128_256), random_rows(100)
balanced = short_dy - (short_dy * short_y).sum(1, keepdim=True)
ones = torch.ones_like(y)
found = {
    1: close(dy * y, formula(dy, y)),
    2: close(short_dy * short_y, formula(short_dy, short_y)),
    3: close(balanced * short_y, formula(balanced, short_y)),
    4: close(ones * y, formula(ones, y)),
    5: close((short_dy * short_y).sum(1), torch.zeros(1)),
}
passed_by.against(tuple(number for number, passed in found.items() if passed))
print(found)
fk.check(dy * y, formula(dy, y), on_fail="report", max_shown=2)

# %% [markdown]
# **Check 1.** In a row of 128,256 elements, most elements of y are below 10⁻⁴, and the weighted
# mean of a random dy is near 0. So the missing term is below 10⁻⁵. For `float32`, `assert_close`
# allows an absolute error of that size, however small the numbers are. `fk.check` uses a smaller
# absolute tolerance where the expected values are small, and finds the mistake. **Compare a
# gradient on its own scale.**
#
# **Check 3.** This dy hides the mistake because the missing sum is 0. Draw a dy whose mean is not
# 0, as `given` does.

# %% [markdown] exercise="week2/log_softmax_backward" part="task"
# ### Exercise 2: compute the gradient of log-softmax
#
# `y[m, n] = x[m, n] - log(exp(x[m, 0]) + … + exp(x[m, N-1]))` is the logarithm of softmax. From
# `dy` and y, compute `dx` for rows of any length. Support float32, float16 and bfloat16; compute in
# float32. First derive the formula: ∂yⱼ/∂xᵢ = δᵢⱼ - pᵢ with p = exp(y), and the sum over j
# simplifies here as well. Signature: `log_softmax_backward(dy, y, dx)`.
#
# **Required**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# Σⱼ dyⱼ (δᵢⱼ - pᵢ): what does the sum over the first term reduce to, and what can you factor out of
# the sum over the second?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# There is one sum per row, but it differs from the one in softmax's gradient. It needs only one of
# the two rows, so the first loop reads only that row.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `cute.math.exp(…, fastmath=True)` of a `Float32` belongs in the second loop, in the line that
# stores the result.
#
# </details>


# %% exercise="week2/log_softmax_backward" part="skeleton"
@cute.kernel
def log_softmax_backward_kernel(mdY: cute.Tensor, mY: cute.Tensor, mdX: cute.Tensor):
    # FILL ME IN (roughly 11 lines)
    pass


@cute.jit
def log_softmax_backward(mdY: cute.Tensor, mY: cute.Tensor, mdX: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/log_softmax_backward" part="grade"
fk.exercise("week2/log_softmax_backward").grade(log_softmax_backward)

# %% [markdown] exercise="week2/log_softmax_backward" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# @cute.kernel
# def log_softmax_backward_kernel(mdY: cute.Tensor, mY: cute.Tensor, mdX: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     lane, row = tidx % 32, bidx * 4 + tidx // 32
#     if row < mY.shape[0]:
#         total = Float32(0.0)
#         for n in range(lane, mY.shape[1], 32):
#             total += mdY[row, n].to(Float32)
#         total = cute.arch.warp_reduction(total, operator.add)
#         for n in range(lane, mY.shape[1], 32):
#             p = cute.math.exp(mY[row, n].to(Float32), fastmath=True)
#             mdX[row, n] = (mdY[row, n].to(Float32) - p * total).to(mdX.element_type)
#
#
# @cute.jit
# def log_softmax_backward(mdY: cute.Tensor, mY: cute.Tensor, mdX: cute.Tensor):
#     blocks = cute.ceil_div(mY.shape[0], 4)
#     log_softmax_backward_kernel(mdY, mY, mdX).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# dx = dy - exp(y)·Σ dy. If the loss is the negative logarithm of one probability per row, dy is -1
# at that element and 0 elsewhere. Then Σ dy = -1, and dx is p - 1 at that element and p elsewhere:
# the *p minus one-hot* of cross-entropy. The first loop reads only one matrix, so the kernel makes
# three reads and one write, whereas softmax's gradient makes four reads and one write.
#
# </details>

# %% [markdown]
# ## 4. Both rows in registers
#
# **Predict:** how many matrices does `backward` move? The unit is one matrix of 64 × 1,024
# `float32`. (`cost` profiles a run and counts reads, writes and instructions per element.)

# %%
moved = fk.predict("matrices moved", None)

# %% jupyter={"outputs_hidden": true}
dy, y, dx = given(64, 1024)
costs = {"backward": cost(fk.compile(backward, dy, y, dx), dy, y, dx)}
print(costs["backward"])
moved.against(round(costs["backward"].reads + costs["backward"].writes))

# %% [markdown]
# **The bad number: four reads**, where two would suffice. The remedy is the same as in `02`: a
# thread keeps in registers the data that it needs twice. Two rows need twice as many registers. As
# in `02`, `row_tiles` makes a tiled copy with 16 bytes per load, `warps` warps share a row, and
# each thread has `loads` vectors of each matrix. `row_sum` adds a value over all threads of a row.
#
# Which value must a register hold if nothing is loaded into it? In the forward kernel it was −∞,
# the identity of the maximum. Here the registers feed a sum of products, so the value is 0.


# %%
@cute.kernel
def backward_vectors_kernel(
    gdY: cute.Tensor,
    gY: cute.Tensor,
    gdX: cute.Tensor,
    cX: cute.Tensor,
    shape: cute.Shape,
    tiled_copy: cute.TiledCopy,
    warps: cutlass.Constexpr,
    again: cutlass.Constexpr,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    tile = ((None, None), (bidx, 0))
    thr_copy = tiled_copy.get_slice(tidx)
    tXgdY = thr_copy.partition_S(gdY[tile])  # ((Vec,1),1,loads)
    tXgY = thr_copy.partition_S(gY[tile])  # ((Vec,1),1,loads)
    tXgdX = thr_copy.partition_D(gdX[tile])  # ((Vec,1),1,loads)
    tXcX = thr_copy.partition_S(cX[tile])  # ((Vec,1),1,loads)
    tXrdY = cute.make_rmem_tensor_like(tXgdY)  # ((Vec,1),1,loads)
    tXrY = cute.make_rmem_tensor_like(tXgY)  # ((Vec,1),1,loads)
    loads = cutlass.const_expr(cute.size(tXrY, mode=[2]))
    tXpX = cute.make_rmem_tensor((1, 1, loads), cutlass.Boolean)  # one for each vector
    for k in cutlass.range_constexpr(loads):
        tXpX[0, 0, k] = cute.elem_less(tXcX[0, 0, k], shape)
    tXrdY.fill(0.0)
    tXrY.fill(0.0)
    cute.copy(tiled_copy, tXgdY, tXrdY, pred=tXpX)
    cute.copy(tiled_copy, tXgY, tXrY, pred=tXpX)
    dy, y = tXrdY.load().to(Float32), tXrY.load().to(Float32)
    dot = row_sum((dy * y).reduce(cute.ReductionOp.ADD, 0.0, 0), warps)
    if cutlass.const_expr(again):  # to see what a second read costs
        cute.copy(tiled_copy, tXgdY, tXrdY, pred=tXpX)
        cute.copy(tiled_copy, tXgY, tXrY, pred=tXpX)
        dy, y = tXrdY.load().to(Float32), tXrY.load().to(Float32)
    tXrY.store(((dy - dot) * y).to(gdX.element_type))
    cute.copy(tiled_copy, tXrY, tXgdX, pred=tXpX)


# %% [markdown]
# How many warps should share a row? With four vectors of each matrix per thread, a row of 1,024
# `float32` needs two warps, and a row of 16,384 needs a block of 32.


# %%
@cute.jit
def backward_vectors(
    mdY: cute.Tensor,
    mY: cute.Tensor,
    mdX: cute.Tensor,
    warps: cutlass.Constexpr,
    loads: cutlass.Constexpr,
    again: cutlass.Constexpr = False,
):
    tiled_copy, tiler_mn = row_tiles(mY.element_type, warps, loads)
    gdY = cute.zipped_divide(mdY, tiler_mn)  # ((TileM,TileN),(RestM,RestN))
    gY = cute.zipped_divide(mY, tiler_mn)  # as gdY
    gdX = cute.zipped_divide(mdX, tiler_mn)  # as gdY
    cX = cute.zipped_divide(cute.make_identity_tensor(mY.shape), tiler_mn)  # as gdY
    backward_vectors_kernel(gdY, gY, gdX, cX, mY.shape, tiled_copy, warps, again).launch(
        grid=(gY.shape[1][0], 1, 1), block=(tiler_mn[0] * 32 * warps, 1, 1)
    )


def compiled(dy, y, dx, again=False):
    """Compile for rows of whole vectors, up to 64 kB."""
    warps = 1
    while warps < 32 and loads_of(y, 32 * warps) > 4:
        warps *= 2
    specs = [whole(t) for t in (dy, y, dx)]
    return fk.compile(backward_vectors, *specs, warps, loads_of(y, 32 * warps), again)


dy, y, dx = given(64, 1024)
for name, again in (("backward_read_twice", True), ("backward_vectors", False)):
    checked_backward(partial(compiled, again=again), formula, (5, 136), (2, 4096), (64, 1024))
    run = compiled(dy, y, dx, again=again)
    costs[name] = cost(run, dy, y, dx)
    print(f"{name:>20}: {costs[name]}")
print(fk.sanitize(run, dy, y, dx, schedule="adversarial", seeds=2))
gradient_picture(costs)

# %% [markdown]
# `backward_vectors` moves three matrices instead of five and executes a third of the instructions.
# `backward_read_twice` is the same kernel with one change: it loads both rows again. Section 9
# compares the times of all three.

# %% [markdown] exercise="week2/backward_in_place" part="task"
# ### Exercise 3: compute the gradient in place
#
# `dy[m, n] = (dy[m, n] - Σ dy·y) · y[m, n]`: after the call, `dy` holds dx, so no third matrix is
# needed. Rows have up to 1,024 elements; N is a multiple of 8. Support float32, float16 and
# bfloat16; compute in float32. Read each element once. Signature: `backward_in_place(dy, y)`.
#
# **Required**: one warp per row, 16 bytes per load, 16 bytes per store.
#
# <details><summary>Hint 1</summary>
#
# Keep in registers the data that you read once and need twice. How many vectors does a lane have in
# a row of 1,024 elements? That number depends only on the type.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Make one `cute.make_rmem_tensor((vec, loads), type)` for each of the two matrices, and copy a
# vector with `cute.autovec_copy(g[(None, i)], r[None, k])`. `.load().to(Float32)` of such a tensor
# gives all its values, and `.reduce(cute.ReductionOp.ADD, 0.0, 0)` their sum.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A lane without a vector still takes part in the shuffles. In a line before the first loop, fill
# its registers with a value that does not change the sum.
#
# </details>


# %% exercise="week2/backward_in_place" part="skeleton"
@cute.kernel
def backward_in_place_kernel(mdY: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 25 lines)
    pass


@cute.jit
def backward_in_place(mdY: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/backward_in_place" part="grade"
fk.exercise("week2/backward_in_place").grade(backward_in_place)

# %% [markdown] exercise="week2/backward_in_place" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# @cute.kernel
# def backward_in_place_kernel(mdY: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     lane, row = tidx % 32, bidx * 4 + tidx // 32
#     vec = cutlass.const_expr(128 // mY.element_type.width)
#     loads = cutlass.const_expr(1024 // (32 * vec))
#     if row < mY.shape[0]:
#         gdY = cute.zipped_divide(mdY[row, None], (vec,))  # ((Vec),(Rest))
#         gY = cute.zipped_divide(mY[row, None], (vec,))  # ((Vec),(Rest))
#         rdY = cute.make_rmem_tensor((vec, loads), mY.element_type)  # (Vec,loads)
#         rY = cute.make_rmem_tensor((vec, loads), mY.element_type)  # (Vec,loads)
#         rdY.fill(0.0)
#         rY.fill(0.0)
#         for k in cutlass.range_constexpr(loads):
#             i = lane + k * 32
#             if i < cute.size(gY, mode=[1]):
#                 cute.autovec_copy(gdY[(None, i)], rdY[None, k])
#                 cute.autovec_copy(gY[(None, i)], rY[None, k])
#         dy, y = rdY.load().to(Float32), rY.load().to(Float32)
#         dot = (dy * y).reduce(cute.ReductionOp.ADD, 0.0, 0)
#         dot = cute.arch.warp_reduction(dot, operator.add)
#         rdY.store(((dy - dot) * y).to(mdY.element_type))
#         for k in cutlass.range_constexpr(loads):
#             i = lane + k * 32
#             if i < cute.size(gY, mode=[1]):
#                 cute.autovec_copy(rdY[None, k], gdY[(None, i)])
#
#
# @cute.jit
# def backward_in_place(mdY: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mY.shape[0], 4)
#     backward_in_place_kernel(mdY, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# Writing in place is safe here: a lane overwrites only elements that it has read itself, and no
# other thread reads them. A framework can do this when it knows that dy is no longer needed.
# Autograd does not, because another branch of the graph may hold the same tensor. The kernel makes
# two reads and one write, as with a separate dx, but needs one matrix fewer.
#
# </details>

# %% [markdown]
# A good place for a break.
#
# The rows of a batch rarely have the same length. Beyond the end of a short row, the memory is
# undefined and may hold NaN:

# %% [markdown] exercise="week2/padded_backward" part="task"
# ### Exercise 4: compute the gradient of padded rows
#
# A batch holds sentences of different lengths. In row m the first `length[m]` columns are valid
# (int32, from 0 to N), and softmax was computed over those columns only. The columns beyond are
# undefined: `dy` and `y` may hold NaN or infinities there. `dx` is the gradient of softmax in the
# valid columns, and 0 in the rest of the row. Support float32 and float16, and load nothing beyond
# the length. Signature: `padded_backward(dy, y, length, dx)`.
#
# **Required**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# What is 0 · NaN? Multiplying by 0 does not remove an invalid element, so keep it out of all
# arithmetic.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The sum covers `length[m]` columns, but the stores cover all N. Which of the two loops ends at the
# length?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In the second loop, begin with `dx = Float32(0.0)`. Inside an `if` that tests the length, do both
# loads and overwrite dx.
#
# </details>


# %% exercise="week2/padded_backward" part="skeleton"
@cute.kernel
def padded_backward_kernel(
    mdY: cute.Tensor, mY: cute.Tensor, mLength: cute.Tensor, mdX: cute.Tensor
):
    # FILL ME IN (roughly 14 lines)
    pass


@cute.jit
def padded_backward(mdY: cute.Tensor, mY: cute.Tensor, mLength: cute.Tensor, mdX: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/padded_backward" part="grade"
fk.exercise("week2/padded_backward").grade(padded_backward)

# %% [markdown] exercise="week2/padded_backward" part="solution"
# <details><summary>Solution of exercise 4</summary>
#
# ```python
# @cute.kernel
# def padded_backward_kernel(
#     mdY: cute.Tensor, mY: cute.Tensor, mLength: cute.Tensor, mdX: cute.Tensor
# ):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     lane, row = tidx % 32, bidx * 4 + tidx // 32
#     if row < mY.shape[0]:
#         length = mLength[row]
#         dot = Float32(0.0)
#         for n in range(lane, length, 32):
#             dot += mdY[row, n].to(Float32) * mY[row, n].to(Float32)
#         dot = cute.arch.warp_reduction(dot, operator.add)
#         for n in range(lane, mY.shape[1], 32):
#             dx = Float32(0.0)
#             if n < length:
#                 dx = (mdY[row, n].to(Float32) - dot) * mY[row, n].to(Float32)
#             mdX[row, n] = dx.to(mdX.element_type)
#
#
# @cute.jit
# def padded_backward(mdY: cute.Tensor, mY: cute.Tensor, mLength: cute.Tensor, mdX: cute.Tensor):
#     blocks = cute.ceil_div(mY.shape[0], 4)
#     padded_backward_kernel(mdY, mY, mLength, mdX).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# In floating point, 0 times NaN is NaN. So NaN survives a multiplicative mask, and after the next
# training step, one NaN in a gradient has reached every weight. A predicate keeps invalid elements
# out of the arithmetic and also saves their loads: if lengths are spread evenly, the kernel reads
# half of the matrix. A row of length 0 needs no special case, because its sum is empty and all
# elements of its dx are 0.
#
# </details>

# %% [markdown]
# ## 5. Sixteen bits
#
# The kernel computes in `float32` and rounds once, at the end. But with 16-bit tensors, the forward
# kernel has already rounded y. So y does not quite add up to 1, and Σ dx is not quite 0. The next
# cell measures the error in 64 rows of 1,024 elements:

# %%
x = 3 * fk.randn(64, 1024, device="virtual").double()
dy = fk.randn(64, 1024, seed=1, device="virtual").double()
exact = formula(dy, by_torch(x))
scale = exact.abs().amax(1, keepdim=True)
print("          |Σ y - 1|   error of dx / the row's largest      y that are 0")
for dtype in TYPES:
    y = by_torch(x).to(dtype)
    error = ((formula(dy, y) - exact).abs() / scale).max().item()
    off = (y.double().sum(1) - 1).abs().max().item()
    print(f"{str(dtype)[6:]:>9} {off:9.0e} {error:22.0e} {(y == 0).double().mean().item():24.1%}")

# %% [markdown]
# All of this error comes from y. `bfloat16` rounds y by up to 0.2 %. Where y is nearly 1, dx is a
# difference of nearly equal numbers, and the error grows to 2 % here. No kernel can repair that.
# `float16` is more precise, but it rounds probabilities below 3·10⁻⁸, and therefore their dx, to 0.
# A kernel, however, must never *add up* in 16 bits, as week 1 showed.
#
# ## 6. Into autograd
#
# So far you have called the gradient yourself. Now let PyTorch call it. The forward kernel is
# `online` from `01_online`, with four rows per block.
#
# A **`torch.autograd.Function`** is a pair of functions. `forward` computes the result and saves
# tensors for later; `backward` receives dy and the saved tensors, and returns one gradient per
# input of `forward`.


# %%
def launch_forward(x, y):
    fk.compile(online, x, y)(x, y)


def launch_backward(dy, y, dx):
    vectors = y[0].nbytes % 16 == 0
    run = compiled(dy, y, dx) if vectors else fk.compile(backward, dy, y, dx)
    run(dy, y, dx)


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty_like(x)
        launch_forward(x, y)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        (y,) = ctx.saved_tensors
        dx = torch.empty_like(y)
        seen.append(dy.stride())
        launch_backward(dy.contiguous(), y, dx)
        return dx


seen = []
x = fk.randn(3, 40)
x[0, 0] = -torch.inf  # masked: y and dx are 0 there
x.requires_grad_()
weights = fk.randn(3, 40, seed=1)
(Softmax.apply(x) * weights).sum().backward()
assert fk.check(x.grad, formula(weights, by_torch(x.detach())), atol=1e-6)
Softmax.apply(x).sum().backward()
print("strides of dy for a weighted sum and for a plain sum:", *seen)
print("saved, in matrices:", saved_matrices(Softmax.apply, x))

# %% [markdown]
# - `once_differentiable`: our gradient has no gradient of its own. With this decorator, PyTorch
#   refuses a second derivative instead of computing a wrong one.
# - `.contiguous()`: the gradient of a sum is a single number *expanded* to all elements, so its
#   strides are (0, 0). A kernel that assumes contiguous rows would read past it.
#
# PyTorch has its own check, `torch.autograd.gradcheck`, which compares a gradient with central
# differences, element by element. It is designed for `float64`, with a default step of 10⁻⁶, but
# our kernel computes in `float32`. Does it find a missing sum? `Forgetful` returns dy·y:


# %%
class Forgetful(Softmax):
    @staticmethod
    def backward(ctx, dy):
        return dy * ctx.saved_tensors[0]


x = fk.randn(2, 5, seed=7).requires_grad_()
for function, eps in ((Softmax, 1e-6), (Softmax, 1e-2), (Forgetful, 1e-2)):
    fine = torch.autograd.gradcheck(
        function.apply, (x,), eps=eps, atol=1e-3, rtol=1e-3, raise_exception=False
    )
    print(f"{function.__name__:>9}, eps = {eps:g}: {fine}")

# %% [markdown]
# (gradcheck warns that x is not `float64`.) The curve in section 1 explains the first two lines: in
# `float32` the error is several percent with a step of 10⁻⁶, but below 10⁻⁴ with a step of 10⁻².
# The cell requests three digits. They are enough to expose the missing sum in rows of 5 elements,
# because the elements of such short rows are large.
#
# ## 7. Into torch.compile
#
# A Function is Python code, and `torch.compile` traces Python code. But it cannot trace our launch,
# because during tracing tensors have only shapes and no memory. An **operator** is a black box to
# the tracer. `torch.library.custom_op` makes one; you then declare its result's shape and its
# gradient.


# %%
@torch.library.custom_op("mine::softmax", mutates_args=())
def my_softmax(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    launch_forward(x, y)
    return y


@my_softmax.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("mine::softmax_backward", mutates_args=())
def my_softmax_backward(dy: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    dx = torch.empty_like(y)
    launch_backward(dy.contiguous(), y, dx)
    return dx


@my_softmax_backward.register_fake
def _(dy, y):
    return torch.empty_like(y)


def keep(ctx, inputs, output):
    ctx.save_for_backward(output)


def gradient(ctx, dy):
    (y,) = ctx.saved_tensors
    return my_softmax_backward(dy, y)


my_softmax.register_autograd(gradient, setup_context=keep)
torch.library.opcheck(my_softmax, (fk.randn(3, 5).requires_grad_(),))

# %% [markdown]
# There are two operators, because `torch.compile` traces the gradient as well. The function under
# `register_fake` returns a stand-in for the result, with the correct shape, type and strides.
# `keep` and `gradient` correspond to the two halves of a `Function`. `mutates_args=()` promises
# that the operator changes no argument. `opcheck` tests all of these promises.
#
# Now compile a function that contains the operator. `fullgraph=True` makes a failure to trace an
# error. The backend `"aot_eager"` traces the forward and the backward pass, and runs the graph with
# torch's own operators. (The default, `"inductor"`, would also generate code for the product, which
# requires a C++ compiler on a CPU.)


# %%
def loss(x, w):
    return (my_softmax(x @ w) * x).sum()


gradients = []
for function in (loss, torch.compile(loss, backend="aot_eager", fullgraph=True)):
    x, w = fk.randn(6, 16).requires_grad_(), fk.randn(16, 16, seed=1).requires_grad_()
    function(x, w).backward()
    gradients.append((x.grad, w.grad))
for plain, traced in zip(*gradients, strict=True):
    assert fk.check(traced, plain)


# %% [markdown] exercise="week2/softmax_operator" part="task"
# ### Exercise 5: make an operator from two kernels
#
# `softmax_operator(forward, backward)` returns a PyTorch operator, `op(x, t)` = softmax(x / t)
# along the last dimension, with its gradient with respect to `x`; t is a plain float above 0. The
# kernels are given as functions that fill their last argument: `forward(x, t, y)` and `backward(dy,
# y, t, dx)`. They are black boxes that take contiguous tensors only. `x` and `dy` may have any
# strides; y and dx are contiguous. Save only y for the gradient. Name the operators
# `mine::tempered_softmax` and `mine::tempered_softmax_backward`. The grade calls `softmax_operator`
# several times. It runs `gradcheck`, `opcheck`, and a function compiled with
# `torch.compile(fullgraph=True)`.
#
# <details><summary>Hint 1</summary>
#
# Make two operators, one per kernel, each with a fake. Register a gradient with the first one.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The function that saves tensors receives `inputs`, the tuple (x, t), and `output`. The function
# that computes the gradient returns one value for *each* input; for t, which is not a tensor, it
# returns None.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In its last line, the gradient calls the second operator, never the launcher: while torch.compile
# traces it, there is no memory for a kernel to run on.
#
# </details>


# %% exercise="week2/softmax_operator" part="skeleton"
def softmax_operator(forward, backward):
    # FILL ME IN (roughly 24 lines)
    return None


# %% exercise="week2/softmax_operator" part="grade"
fk.exercise("week2/softmax_operator").grade(softmax_operator)

# %% [markdown] exercise="week2/softmax_operator" part="solution"
# <details><summary>Solution of exercise 5</summary>
#
# ```python
# def softmax_operator(forward, backward):
#     @torch.library.custom_op("mine::tempered_softmax", mutates_args=())
#     def softmax(x: torch.Tensor, t: float) -> torch.Tensor:
#         y = torch.empty_like(x, memory_format=torch.contiguous_format)
#         forward(x.contiguous(), t, y)
#         return y
#
#     @softmax.register_fake
#     def _(x, t):
#         return torch.empty_like(x, memory_format=torch.contiguous_format)
#
#     @torch.library.custom_op("mine::tempered_softmax_backward", mutates_args=())
#     def softmax_backward(dy: torch.Tensor, y: torch.Tensor, t: float) -> torch.Tensor:
#         dx = torch.empty_like(y)
#         backward(dy.contiguous(), y, t, dx)
#         return dx
#
#     @softmax_backward.register_fake
#     def _(dy, y, t):
#         return torch.empty_like(y)
#
#     def keep(ctx, inputs, output):
#         ctx.t = inputs[1]
#         ctx.save_for_backward(output)
#
#     def gradient(ctx, dy):
#         (y,) = ctx.saved_tensors
#         return softmax_backward(dy, y, ctx.t), None
#
#     softmax.register_autograd(gradient, setup_context=keep)
#     return softmax
# ```
#
# An operator is a black box with a contract. The fake describes its result without computing it.
# The schema promises that it changes no argument and returns no memory of its inputs. Its gradient
# consists of other operators. `torch.compile` needs only this contract. `forgekit.ops.softmax` has
# the same parts, and also bypasses the dispatcher for calls that need no gradient.
#
# </details>

# %% [markdown]
# ## 8. Without y
#
# If no other layer needs y, no kernel has to store it. Consider the loss L = Σ w·softmax(x) and its
# gradient, where w is as large as x:
#
# | launches | read | written | matrices moved |
# |---|---|---|---|
# | three: forward, loss, gradient | x; w, y; w, y | y; –; dx | 7 |
# | one, rows read twice | x, w, x, w | dx | 5 |
# | one, rows in registers | x, w | dx | 3 |
#
# The first of the next two exercises does not store y. The second computes one more gradient in the
# same kernel.

# %% [markdown] exercise="week2/value_and_gradient" part="task"
# ### Exercise 6: compute a value and its gradient in one kernel
#
# `value[m] = Σ w[m, n] · softmax(x[m])[n]` is the mean of `w`, weighted by a softmax. Compute it
# and its gradient `dx[m, n]` with respect to `x` in one launch, without storing the softmax.
# Support float32 rows of any length. Read `x` and `w` at most twice. The kernel must not overflow
# when elements of x are 1,000 or -1,000. Signature: `value_and_gradient(x, w, value, dx)`.
#
# **Required**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# With L = value and dL/dy = w, the formula of this notebook gives dx. What is its Σ dy·y here?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The first pass is online, with three numbers per lane: m, s = Σ exp(x - m) and t = Σ w·exp(x - m).
# What must the kernel do with s and t when m grows?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# To merge the lanes, first find the maximum of the warp. Then rescale s and t in the lines before
# their two sums.
#
# </details>


# %% exercise="week2/value_and_gradient" part="skeleton"
@cute.kernel
def value_and_gradient_kernel(
    mX: cute.Tensor, mW: cute.Tensor, mValue: cute.Tensor, mdX: cute.Tensor
):
    # FILL ME IN (roughly 22 lines)
    pass


@cute.jit
def value_and_gradient(mX: cute.Tensor, mW: cute.Tensor, mValue: cute.Tensor, mdX: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/value_and_gradient" part="grade"
fk.exercise("week2/value_and_gradient").grade(value_and_gradient)

# %% [markdown] exercise="week2/value_and_gradient" part="solution"
# <details><summary>Solution of exercise 6</summary>
#
# ```python
# @cute.kernel
# def value_and_gradient_kernel(
#     mX: cute.Tensor, mW: cute.Tensor, mValue: cute.Tensor, mdX: cute.Tensor
# ):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     lane, row = tidx % 32, bidx * 4 + tidx // 32
#     if row < mX.shape[0]:
#         m, s, t = -Float32.inf, Float32(0.0), Float32(0.0)
#         for n in range(lane, mX.shape[1], 32):
#             m_new = cute.arch.fmax(m, mX[row, n])
#             scale = cute.math.exp(m - m_new, fastmath=True)
#             e = cute.math.exp(mX[row, n] - m_new, fastmath=True)
#             s = s * scale + e
#             t = t * scale + mW[row, n] * e
#             m = m_new
#         m_row = cute.arch.warp_reduction(m, cute.arch.fmax)
#         scale = cute.math.exp(m - m_row, fastmath=True)
#         s = cute.arch.warp_reduction(s * scale, operator.add)
#         t = cute.arch.warp_reduction(t * scale, operator.add)
#         value = t / s
#         if lane == 0:
#             mValue[row] = value
#         for n in range(lane, mX.shape[1], 32):
#             y = cute.math.exp(mX[row, n] - m_row, fastmath=True) / s
#             mdX[row, n] = (mW[row, n] - value) * y
#
#
# @cute.jit
# def value_and_gradient(mX: cute.Tensor, mW: cute.Tensor, mValue: cute.Tensor, mdX: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 4)
#     value_and_gradient_kernel(mX, mW, mValue, mdX).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# The third number of the triple (m, s, t) is rescaled together with s; the value is t / s. With a
# row of V instead of the number w, this is the loop of flash attention, which rescales its
# accumulator in the same line. A kernel that computes forward, loss and gradient together reads x
# and w twice and writes dx: 5 matrices, or 3 with rows in registers. Three separate kernels would
# also write y and read it twice.
#
# </details>

# %% [markdown] exercise="week2/temperature_backward" part="task"
# ### Exercise 7: add the gradient with respect to the temperature
#
# `y = softmax(x / t)` has one temperature t, a `Float32`, for all rows. From dy, y and x, one
# kernel computes `dx`, and `dt[m]`, the contribution of row m to the gradient with respect to t: `Σ
# dz·(-x / t²)`, where dz is the gradient with respect to z = x / t. Support float32 rows of any
# length. Read `dy` and `y` twice, and `x` once. Signature: `temperature_backward(dy, y, x, t, dx,
# dt)`.
#
# **Required**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# dz = (dy - Σ dy·y)·y is known only after the first loop. If the second loop reads x, how many
# reductions does the kernel have, and where?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The second loop can add up dz·x as it stores dx. Only this loop reads x.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# After the second loop, add up dt over the warp once, and then let one lane store it.
#
# </details>


# %% exercise="week2/temperature_backward" part="skeleton"
@cute.kernel
def temperature_backward_kernel(
    mdY: cute.Tensor,
    mY: cute.Tensor,
    mX: cute.Tensor,
    t: Float32,
    mdX: cute.Tensor,
    mdT: cute.Tensor,
):
    # FILL ME IN (roughly 15 lines)
    pass


@cute.jit
def temperature_backward(
    mdY: cute.Tensor,
    mY: cute.Tensor,
    mX: cute.Tensor,
    t: Float32,
    mdX: cute.Tensor,
    mdT: cute.Tensor,
):
    # FILL ME IN (roughly 4 lines)
    pass


# %% exercise="week2/temperature_backward" part="grade"
fk.exercise("week2/temperature_backward").grade(temperature_backward)

# %% [markdown] exercise="week2/temperature_backward" part="solution"
# <details><summary>Solution of exercise 7</summary>
#
# ```python
# @cute.kernel
# def temperature_backward_kernel(
#     mdY: cute.Tensor,
#     mY: cute.Tensor,
#     mX: cute.Tensor,
#     t: Float32,
#     mdX: cute.Tensor,
#     mdT: cute.Tensor,
# ):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     lane, row = tidx % 32, bidx * 4 + tidx // 32
#     if row < mY.shape[0]:
#         dot, dt = Float32(0.0), Float32(0.0)
#         for n in range(lane, mY.shape[1], 32):
#             dot += mdY[row, n] * mY[row, n]
#         dot = cute.arch.warp_reduction(dot, operator.add)
#         for n in range(lane, mY.shape[1], 32):
#             dx = (mdY[row, n] - dot) * mY[row, n] / t
#             dt += dx * mX[row, n]
#             mdX[row, n] = dx
#         dt = cute.arch.warp_reduction(dt, operator.add)
#         if lane == 0:
#             mdT[row] = -dt / t
#
#
# @cute.jit
# def temperature_backward(
#     mdY: cute.Tensor,
#     mY: cute.Tensor,
#     mX: cute.Tensor,
#     t: Float32,
#     mdX: cute.Tensor,
#     mdT: cute.Tensor,
# ):
#     blocks = cute.ceil_div(mY.shape[0], 4)
#     temperature_backward_kernel(mdY, mY, mX, t, mdX, mdT).launch(
#         grid=(blocks, 1, 1), block=(128, 1, 1)
#     )
# ```
#
# There are two reductions, one before dz and one after it: the second loop stores dx and adds up dt
# at the same time. A single reduction of three sums would also work, because Σ dz·x = Σ dy·y·x - (Σ
# dy·y)·(Σ y·x), and all three sums are known after one loop. But this is a difference of two
# numbers that may be large and nearly equal, so it loses digits where x has a large mean. The
# gradient with respect to a number that many rows share requires a final sum over the rows. Leave
# that sum to a second launch, such as a kernel of week 1.
#
# </details>

# %% [markdown]
# ## 9. On an H200
#
# The three kernels were timed beside torch's gradient. According to the counters of section 4,
# `backward_vectors` moves 3 matrices and `backward_read_twice` moves 5. **Predict:** for 32,768
# rows of 4,096 `float32`, how many times as long as `backward_vectors` does `backward_read_twice`
# take?

# %%
times_longer = fk.predict("times as long with a second read", None)

# %% jupyter={"outputs_hidden": true}
times = recorded("week2/04_backward")
twice, once = (
    times.row(f"backward_{name}", "float32", (32768, 4096)).ms for name in ("read_twice", "vectors")
)
times_longer.against(round(twice / once, 2))
times

# %% [markdown]
# - **The second read costs 6 % here, and 12 % in `bfloat16`, not 67 %.** The profile counts
#   requests, but caches serve some of them: five matrices in 0.389 ms would be 6,900 GB/s, whereas
#   the memory delivers 4,800 GB/s. For rows of 16,384 `bfloat16`, `backward_read_twice`
#   even takes 3 % less time than `backward_vectors`.
# - **The other changes helped more:** `backward_read_twice` takes 0.389 ms, and `backward` takes
#   0.702 ms. The faster kernel has vector loads, one block per row, and all loads in flight. The
#   two kernels differ in all three respects, so the table cannot say which of these helped.
# - **104 % of a copy's speed** is no mistake: two thirds of the gradient's bytes are reads, but
#   only half of a copy's. So a copy's speed is not an upper bound for the gradient.
# - torch's gradient takes 1.9 to 2.3 times as long as `backward_vectors`.
#
# On this GPU, keeping the rows in registers saves little time, but that kernel still executes the
# fewest instructions.

# %%
fk.predictions()

# %% [markdown]
# ## Summary
#
# | step | matrices moved | instructions per element | 32,768 × 4,096 float32 | bfloat16 |
# |---|---|---|---|---|
# | `backward` | 5 | 32.2 | 0.702 ms | 0.520 ms |
# | `backward_read_twice` | 5 | 14.6 | 0.389 ms | 0.206 ms |
# | `backward_vectors` | 3 | 10.5 | 0.367 ms | 0.184 ms |
# | torch | | | 0.745 ms | 0.373 ms |
#
# (Recorded on an H200 on 22 November 2026. The virtual GPU counted the instructions, in `float32`.)
#
# | check | does dy·y pass? |
# |---|---|
# | an absolute tolerance, long rows | **yes** |
# | a dy whose weighted mean is 0 | **yes** |
# | a tolerance on the scale of dx, and a dy with a nonzero mean | no |
# | dy = 1; Σ dx = 0; finite differences in small rows | no |
#
# | PyTorch feature | requires |
# |---|---|
# | `autograd.Function` | what to save, and one gradient per input |
# | `torch.library` | a stand-in for the result, unchanged inputs, a gradient made of operators |
# | `torch.compile` | all of that; it does not look inside the operator |
#
# **In practice** `forgekit.ops.softmax` has all of these parts, and also supports any dimension,
# second derivatives, and rows that do not fit into registers. Flash attention saves neither the
# scores nor y, because these matrices are too large. Instead it saves one number per row, the
# log-sum-exp, and recomputes y from it.
#
# **Further reading:** [extending
# torch.autograd](https://pytorch.org/docs/stable/notes/extending.html) · [custom
# operators](https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html) ·
# [gradcheck](https://pytorch.org/docs/stable/generated/torch.autograd.gradcheck.gradcheck.html) ·
# [FlashAttention](https://arxiv.org/abs/2205.14135) (T. Dao and others, 2022), whose section 3.1
# and appendix B derive the gradient without storing these matrices.
#
# **Next:** which kernel for which rows ([`05_in_production`](05_in_production.ipynb)).


# %%
steps = {
    "backward": backward,
    "backward_read_twice": Step(lambda dy, y, dx: compiled(dy, y, dx, again=True)),
    "backward_vectors": Step(compiled),
}
