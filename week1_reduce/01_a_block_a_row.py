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
# # Add up each row with one block
#
# **You will build** row sums in which the threads of a block share a row: each thread computes a
# partial sum, and one of four trees in shared memory combines them. **You will learn** what
# divergence costs and how to count it, why a tree can have bank conflicts and how to avoid them,
# which barriers you must keep, and one cost that every tree in shared memory has. **You need**
# `00_what_is_the_right_sum`. About 40 minutes, and 55 more for the exercises.
#
# **The bad number: 32 sectors per load.** With one thread per row, neighbouring threads read
# addresses that are a whole row apart, and the kernel moves eight times the bytes that it needs.
# This notebook lets neighbouring threads read neighbouring elements: **one block per row**.

# %%
import inspect

import cutlass
import cutlass.cute as cute
from cutlass import Float32
from week1_helpers import (
    activity_picture,
    adding_line,
    barriers,
    cost,
    recorded_part,
    tree_picture,
    tree_table,
)

import forgekit as fk

# %% [markdown]
# ## 1. One block per row
#
# Here is the idea in plain Python, with 8 threads. Thread t adds elements t, t + 8, t + 16, … to
# obtain its **partial sum**. Then the block has to add the 8 partial sums.

# %%
row = list(range(20))
partial_sums = [sum(row[t::8]) for t in range(8)]
print(partial_sums, sum(partial_sums) == sum(row))

# %% [markdown]
# A thread cannot read another thread's variables, so each thread stores its partial sum in its own
# word of shared memory. This notebook adds the words in several ways. Each way is a function that
# the kernel takes as its parameter `tree` and that the compiler inlines (`cutlass.Constexpr`
# declares a compile-time value). The first function is not yet a tree: thread 0 adds all words one
# by one.


# %%
@cute.jit
def one_by_one(sSum: cute.Tensor, tidx):
    cute.arch.sync_threads()
    if tidx == 0:
        for t in range(1, cute.size(sSum)):
            sSum[0] += sSum[t]


@cute.kernel
def row_kernel(
    mX: cute.Tensor, mY: cute.Tensor, threads: cutlass.Constexpr, tree: cutlass.Constexpr
):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sSum = smem.allocate_tensor(Float32, cute.make_layout(threads), 16)  # (threads):(1)
    total = Float32(0.0)
    for n in range(tidx, mX.shape[1], threads):
        total += mX[row, n].to(Float32)
    sSum[tidx] = total
    tree(sSum, tidx)
    if tidx == 0:
        mY[row] = sSum[0].to(mY.element_type)


def a_block_a_row(tree, threads=256):
    """Return a host function whose blocks combine their partial sums with `tree`."""

    @cute.jit
    def row_sum(mX: cute.Tensor, mY: cute.Tensor):
        grid, block = (mX.shape[0], 1, 1), (threads, 1, 1)
        row_kernel(mX, mY, threads, tree).launch(grid=grid, block=block)

    return row_sum


x, y = fk.randn(3, 20), fk.empty(3)
run = fk.compile(a_block_a_row(one_by_one, threads=8), x, y)
fk.footprint(run, x, y, by="thread", tensor="mX")

# %% [markdown]
# The 8 threads of a block read neighbouring elements of its row. A thread without any elements in
# the row adds nothing, so its partial sum is 0.
#
# `measure` compiles each kernel in this notebook for 16 rows of 1,000 elements and passes it to the
# helper `cost`, which checks the result and returns the profile:

# %%
x, profiles = fk.randn(16, 1000), {}


def measure(name, fn):
    run = fk.compile(fn, x, fk.empty(16))
    profiles[name] = cost(run, x)
    return run


print(inspect.getsource(cost))
run = measure("one by one", a_block_a_row(one_by_one))
profiles["one by one"]

# %% [markdown]
# Each load fetches 3.9 sectors on average, so the bad number is gone. (A full warp fetches 4, the
# minimum for 32 lanes. The last warp of a 1,000-element row reads only 8 elements, which are one
# sector.) The new bad number is in the *lanes* column, on the line inside the loop of `one_by_one`:
# only **3 %** of the lanes are active, one in 32. The other 255 threads of the block wait for
# thread 0.
#
# ## 2. Add neighbouring words
#
# A tree gives half of the threads work in its first round and needs log₂ 256 = 8 rounds. Start with
# the obvious tree: in round one, every second thread adds the word to the right of its own; in
# round two, every fourth thread adds the word two places to the right; and so on. The following
# model represents a round as a list of additions `(thread, word, other word)`:


# %%
def interleaved_rounds(threads):
    step = 1
    while step < threads:
        yield [(t, t, t + step) for t in range(threads) if t % (2 * step) == 0]
        step *= 2


tree_picture(interleaved_rounds(16))

# %% [markdown]
# Each round reads words that other threads stored in the previous round, so it begins with a
# barrier. Because of `const_expr`, the `while` loop runs at compile time: `step` is a Python
# number, and the compiler unrolls the eight rounds.


# %%
@cute.jit
def interleaved(sSum: cute.Tensor, tidx):
    step = 1
    while cutlass.const_expr(step < cute.size(sSum)):
        cute.arch.sync_threads()
        if tidx % (2 * step) == 0:
            sSum[tidx] += sSum[tidx + step]
        step *= 2


tree_interleaved = a_block_a_row(interleaved)

# %% [markdown]
# **Predict:** what percentage of the lanes is active on the line that adds, on average over the
# rounds? In the first round, every second thread adds; in the second round, every fourth. A warp in
# which no thread adds skips the line.

# %%
lanes_active = fk.predict("percent of lanes active", None)

# %% jupyter={"outputs_hidden": true}
run_interleaved = measure("interleaved", tree_interleaved)
lanes_active.against(adding_line(profiles["interleaved"])["thread_efficiency"])
profiles["interleaved"]

# %% [markdown]
# In the first five rounds, all 8 warps execute the line, with 16, 8, 4, 2 and 1 active lanes each.
# In the last three rounds, 4, 2 and 1 warps execute it, with one active lane each. This is
# **divergence**: lanes of one warp take different branches of an `if`. The warp executes every
# branch that any of its lanes takes, while the other lanes idle. Here five sixths of the lanes
# idle.
#
# The threads that add are spread over all warps, but they do not have to be.
#
# ## 3. The same additions with neighbouring threads
#
# In round one, let thread t do the work of thread 2t; in round two, let it do the work of thread
# 4t; and so on. The additions are the same, but the *first* threads perform them, and whole warps
# skip the line:


# %%
def strided_rounds(threads):
    step = 1
    while step < threads:
        yield [(t, 2 * step * t, 2 * step * t + step) for t in range(threads // (2 * step))]
        step *= 2


tree_picture(strided_rounds(16))
activity_picture({"interleaved": interleaved_rounds(256), "strided": strided_rounds(256)})


@cute.jit
def strided(sSum: cute.Tensor, tidx):
    step = 1
    while cutlass.const_expr(step < cute.size(sSum)):
        cute.arch.sync_threads()
        if tidx < cute.size(sSum) // (2 * step):
            sSum[2 * step * tidx] += sSum[2 * step * tidx + step]
        step *= 2


tree_strided = a_block_a_row(strided)

# %% [markdown]
# Neighbouring threads now work on words that are 2, 4, 8, … words apart. Compare this with week 0,
# where the words in one column of a tile were 32 words apart.
#
# **Predict:** how many wavefronts does a load on this line take, on average over the rounds? (One
# would be ideal.)

# %%
fk.predict(shared_load_wavefronts_per_request=None)

# %% jupyter={"outputs_hidden": true}
run_strided = measure("strided", tree_strided)
profiles["strided"]

# %%
line = "sSum[2 * step * tidx] += sSum[2 * step * tidx + step]"
fk.banks(run_strided, fk.randn(1, 1000), fk.empty(1), line=line, kind="load", index=3)

# %% [markdown]
# The lanes are busy now, but **the new bad number is 4.3 wavefronts per load**. In round one, both
# words arrive in one 8-byte access, which takes the minimum number of wavefronts. In round two,
# four lanes address each bank. In round three, which the picture shows, eight lanes do. Later
# rounds have fewer active lanes, so the conflicts do not grow.
#
# ## 4. Neighbouring threads, neighbouring words
#
# You can combine both advantages: let each thread in the lower half add a word from the upper half
# to its own. This changes the order of the additions, and with it the last bits of the sum, but the
# result is just as valid.


# %%
def sequential_rounds(threads):
    half = threads // 2
    while half > 0:
        yield [(t, t, t + half) for t in range(half)]
        half //= 2


tree_picture(sequential_rounds(16))


@cute.jit
def sequential(sSum: cute.Tensor, tidx):
    half = cute.size(sSum) // 2
    while cutlass.const_expr(half > 0):
        cute.arch.sync_threads()
        if tidx < half:
            sSum[tidx] += sSum[tidx + half]
        half //= 2


tree_sequential = a_block_a_row(sequential)
run_sequential = measure("sequential", tree_sequential)
profiles["sequential"]

# %% [markdown]
# Each load takes one wavefront, and lanes idle only in the last five rounds, in which warp 0 has
# fewer additions than lanes.
#
# A tree is not limited to `+`. In exercise 2 it takes the larger of two numbers, `cutlass.max(a,
# b)`. The value that leaves every maximum unchanged is −∞, which you write as `-Float32.inf` in a
# kernel. Exercise 3 needs a square root, `cute.math.sqrt(value)`.

# %% [markdown] exercise="week1/tree_counts" part="task"
# ### Exercise 1: predict the cost of a tree
#
# A block of **512** threads adds 512 words with the trees from this notebook: `interleaved`
# (threads with `tidx % (2 * step) == 0` add the word `step` places further on), `strided` (thread
# `tidx` works on word `2 * step * tidx`), and `sequential` (threads below `half` add). Predict
# the counts.
#
# <details><summary>Hint 1</summary>
#
# Write down which threads add in the given round and which word each of them works on.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A warp is 32 neighbouring threads; a word's bank is its number modulo 32.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Count the active lanes first. Then count how many different words they read from each bank: the
# largest count is the number of wavefronts.
#
# </details>

# %% exercise="week1/tree_counts" part="skeleton"
counts = {
    # FILL ME IN (roughly 6 lines)
    "barriers of a block": None,
    "interleaved, step 4: active lanes of a warp": None,
    "interleaved, step 4: warps with an active lane": None,
    "sequential, half 64: warps with an active lane": None,
    "strided, step 4: wavefronts of a load": None,
    "strided, step 16: wavefronts of a load": None,
}

# %% exercise="week1/tree_counts" part="grade"
fk.exercise("week1/tree_counts").grade(counts)

# %% [markdown] exercise="week1/tree_counts" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# counts = {
#     "barriers of a block": 9,
#     "interleaved, step 4: active lanes of a warp": 4,
#     "interleaved, step 4: warps with an active lane": 16,
#     "sequential, half 64: warps with an active lane": 2,
#     "strided, step 4: wavefronts of a load": 8,
#     "strided, step 16: wavefronts of a load": 16,
# }
# ```
#
# The interleaved tree keeps every warp busy, but with only a few active lanes. The strided tree
# packs the active lanes into few warps, but also packs their words into few banks. In the
# sequential tree, neighbouring threads work on neighbouring words, which avoids both costs.
#
# </details>

# %% [markdown] exercise="week1/tree_max" part="task"
# ### Exercise 2: find the largest element of each row
#
# `y[m]` is the largest element of row m, for any M and N ≥ 1, in float32 and float16. Merge the
# threads' values in a tree, through shared memory or partly by shuffles. All elements of a row may
# be negative, and elements may be infinite.
#
# Signature: `tree_max(x, y)`.
#
# **Required**: one block per row, 128 threads per block, at most 7 barriers, no bank conflicts.
#
# <details><summary>Hint 1</summary>
#
# Start from `tree_sequential` and change the operator. What replaces `+`, and what replaces 0?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `cutlass.max(a, b)` replaces `+`. The value that leaves every maximum unchanged is −∞:
# `-Float32.inf`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Begin each round with its barrier, outside of any `if`. Then each thread of the lower half stores
# the larger of its own word and the word `half` places further on.
#
# </details>


# %% exercise="week1/tree_max" part="skeleton"
@cute.kernel
def tree_max_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 15 lines)
    pass


@cute.jit
def tree_max(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 1 line)
    pass


# %% exercise="week1/tree_max" part="grade"
fk.exercise("week1/tree_max").grade(tree_max)

# %% [markdown] exercise="week1/tree_max" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# @cute.kernel
# def tree_max_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     row, _, _ = cute.arch.block_idx()
#     smem = cutlass.memory.SmemAllocator()
#     sMax = smem.allocate_tensor(Float32, cute.make_layout(128), 16)
#     largest = -Float32.inf
#     for n in range(tidx, mX.shape[1], 128):
#         largest = cutlass.max(largest, mX[row, n].to(Float32))
#     sMax[tidx] = largest
#     for k in cutlass.range_constexpr(7):
#         cute.arch.sync_threads()
#         half = 64 >> k
#         if tidx < half:
#             sMax[tidx] = cutlass.max(sMax[tidx], sMax[tidx + half])
#     if tidx == 0:
#         mY[row] = sMax[0].to(mY.element_type)
#
#
# @cute.jit
# def tree_max(mX: cute.Tensor, mY: cute.Tensor):
#     tree_max_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(128, 1, 1))
# ```
#
# A tree works for every operator that is *associative* (the result does not depend on how you
# group the elements) and has an *identity*, a value that changes nothing: 0 for a sum, 1 for a
# product, −∞ for a maximum. A thread without elements holds the identity.
#
# </details>

# %% [markdown]
# **A good place for a break.**
#
# ## 5. Leave out the last barriers?
#
# > **Looks right but is wrong.** From the round with half = 16 on, only lanes of warp 0 read and
# > store, and a warp executes each instruction for all of its lanes. So these rounds seem to need
# > no barriers, and some published kernels omit them.
#
# **Predict:** will the values be right? Will the kernel be right?


# %%
@cute.jit
def hasty(sSum: cute.Tensor, tidx):
    half = cute.size(sSum) // 2
    while cutlass.const_expr(half > 0):
        if cutlass.const_expr(half >= 32):
            cute.arch.sync_threads()
        if tidx < half:
            sSum[tidx] += sSum[tidx + half]
        half //= 2


x, y = fk.randn(16, 1000, device="virtual"), fk.empty(16, device="virtual")
run_hasty = fk.compile(a_block_a_row(hasty), x, y, device="virtual")
values_right = fk.predict("the values are right", None)  # True or False
kernel_right = fk.predict("the kernel is right", None)  # True or False

# %% jupyter={"outputs_hidden": true} tags=["raises-exception"]
run_hasty(x, y)

# %% jupyter={"outputs_hidden": true}
values_right.against(bool(fk.check(y, x.double().sum(1))))
report = fk.sanitize(run_hasty, x, y, schedule="adversarial", seeds=2)
kernel_right.against(bool(report))
report

# %% [markdown]
# Since the Volta architecture (2017), each lane of a warp has its own program counter, so lanes may
# get out of step. The compiler may also reorder loads and stores unless an instruction forbids it.
# A check of the values does not reveal the mistake, but the sanitizer does. The lanes of one warp
# do not need a barrier for the whole block: at `cute.arch.sync_warp()`, only the lanes of that warp
# wait for each other.


# %%
@cute.jit
def last_warp(sSum: cute.Tensor, tidx):
    half = cute.size(sSum) // 2
    while cutlass.const_expr(half > 0):
        if cutlass.const_expr(half >= 32):
            cute.arch.sync_threads()
        else:
            cute.arch.sync_warp()
        if tidx < half:
            sSum[tidx] += sSum[tidx + half]
        half //= 2


run_last_warp = fk.compile(a_block_a_row(last_warp), x, y, device="virtual")
run_last_warp(x, y)
fk.check(y, x.double().sum(1))
print(fk.sanitize(run_last_warp, x, y, schedule="adversarial", seeds=2))

# %% [markdown]
# ## 6. Do the first addition while loading
#
# Half of the threads never add in the tree. They were launched only to load, and the other half can
# do that too. So launch 128 threads and let each add two elements of the row per iteration. The
# first round of the tree then happens in registers, without a barrier.


# %%
@cute.kernel
def first_add_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sSum = smem.allocate_tensor(Float32, cute.make_layout(128), 16)  # (128):(1)
    total = Float32(0.0)
    for n in range(tidx, mX.shape[1], 256):
        total += mX[row, n].to(Float32)
        if n + 128 < mX.shape[1]:
            total += mX[row, n + 128].to(Float32)
    sSum[tidx] = total
    sequential(sSum, tidx)
    if tidx == 0:
        mY[row] = sSum[0].to(mY.element_type)


@cute.jit
def first_add(mX: cute.Tensor, mY: cute.Tensor):
    first_add_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(128, 1, 1))


# %% [markdown]
# **Predict:** how many barriers does a block execute now?

# %%
barriers_left = fk.predict("barriers per block", None)

# %% jupyter={"outputs_hidden": true}
x = fk.randn(16, 1000)
run_first_add = measure("first add", first_add)
barriers_left.against(barriers(profiles["first add"]))
fk.timeline(run_first_add, fk.randn(1, 1000), fk.empty(1))

# %% [markdown]
# The timeline shows the 4 warps of one block. After the loads they meet at one barrier after
# another; from the third barrier on, three of them arrive only to wait.

# %% [markdown] exercise="week1/row_rms" part="task"
# ### Exercise 3: compute the root mean square of each row
#
# Compute `y[m] = √((x[m, 0]² + … + x[m, N-1]²) / N)` for any M and N, in float32, float16 and
# bfloat16. Do the arithmetic in float32. (RMSNorm divides by this number.)
#
# Signature: `row_rms(x, y)`.
#
# **Required**: one block per row, 128 threads per block, at most 7 barriers.
#
# <details><summary>Hint 1</summary>
#
# A sum of squares is still a sum. Which line of a block's row sum changes, and what do you add at
# the end?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `Float32(mX.shape[1])` is the number of elements, and `cute.math.sqrt` computes the square root.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# 300 fits in float16, but its square does not, so convert each element before the line that squares
# it. Compute the mean and the root on the line where one thread stores the result.
#
# </details>


# %% exercise="week1/row_rms" part="skeleton"
@cute.kernel
def row_rms_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 17 lines)
    pass


@cute.jit
def row_rms(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 1 line)
    pass


# %% exercise="week1/row_rms" part="grade"
fk.exercise("week1/row_rms").grade(row_rms)

# %% [markdown] exercise="week1/row_rms" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# @cute.kernel
# def row_rms_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     row, _, _ = cute.arch.block_idx()
#     smem = cutlass.memory.SmemAllocator()
#     sSum = smem.allocate_tensor(Float32, cute.make_layout(128), 16)
#     total = Float32(0.0)
#     for n in range(tidx, mX.shape[1], 128):
#         value = mX[row, n].to(Float32)
#         total += value * value
#     sSum[tidx] = total
#     for k in cutlass.range_constexpr(7):
#         cute.arch.sync_threads()
#         half = 64 >> k
#         if tidx < half:
#             sSum[tidx] += sSum[tidx + half]
#     if tidx == 0:
#         mean = sSum[0] / Float32(mX.shape[1])
#         mY[row] = cute.math.sqrt(mean).to(mY.element_type)
#
#
# @cute.jit
# def row_rms(mX: cute.Tensor, mY: cute.Tensor):
#     row_rms_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(128, 1, 1))
# ```
#
# The tree works the same whatever the numbers mean. So a reduction can transform each element
# after loading it, and the result before storing it, nearly for free. Libraries call the first
# transformation a *prologue* and the second an *epilogue*.
#
# </details>

# %% [markdown] exercise="week1/any_block" part="task"
# ### Exercise 4: fix a tree that loses elements
#
# This kernel adds up rows with blocks of 96 threads. Its barriers are in place and it has no bank
# conflicts, but its sums are right only for some rows. Fix the tree.
#
# **Required**: 96 threads per block, 3 warps per block that share the loads, at most 7 barriers, no
# bank conflicts.
#
# <details><summary>Hint 1</summary>
#
# The rounds leave 48, 24, 12, 6 and 3 words. What happens next? Follow the last three words to the
# end.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# When 3 sums are left, one has no partner. Which words should hold the 2 sums of the next round?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Each round adds the upper words to the lower words: `left` words become `(left + 1) // 2`. If
# `left` is odd, the middle word must not change: adapt the predicate.
#
# </details>


# %% exercise="week1/any_block" part="skeleton"
@cute.kernel
def any_block_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sSum = smem.allocate_tensor(Float32, cute.make_layout(96), 16)
    total = Float32(0.0)
    for n in range(tidx, mX.shape[1], 96):
        total += mX[row, n].to(Float32)
    sSum[tidx] = total
    left = 96
    while cutlass.const_expr(left > 1):
        cute.arch.sync_threads()
        # FILL ME IN (roughly 3 lines)
        half = left // 2
        if tidx < half:
            sSum[tidx] += sSum[tidx + half]
        left = half
    if tidx == 0:
        mY[row] = sSum[0].to(mY.element_type)


@cute.jit
def any_block(mX: cute.Tensor, mY: cute.Tensor):
    any_block_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(96, 1, 1))


# %% exercise="week1/any_block" part="grade"
fk.exercise("week1/any_block").grade(any_block)

# %% [markdown] exercise="week1/any_block" part="solution"
# <details><summary>Solution of exercise 4</summary>
#
# ```python
# @cute.kernel
# def any_block_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     row, _, _ = cute.arch.block_idx()
#     smem = cutlass.memory.SmemAllocator()
#     sSum = smem.allocate_tensor(Float32, cute.make_layout(96), 16)
#     total = Float32(0.0)
#     for n in range(tidx, mX.shape[1], 96):
#         total += mX[row, n].to(Float32)
#     sSum[tidx] = total
#     left = 96
#     while cutlass.const_expr(left > 1):
#         cute.arch.sync_threads()
#         half = (left + 1) // 2
#         if tidx < left - half:
#             sSum[tidx] += sSum[tidx + half]
#         left = half
#     if tidx == 0:
#         mY[row] = sSum[0].to(mY.element_type)
#
#
# @cute.jit
# def any_block(mX: cute.Tensor, mY: cute.Tensor):
#     any_block_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(96, 1, 1))
# ```
#
# If you round the half up, ⌈log₂ n⌉ rounds suffice for any n. `left` is a Python number that is
# known at compile time, so the compiler unrolls the rounds, and their bounds are constants. Block
# sizes are often powers of two, but the remainder at the end of a row or a grid rarely is.
#
# </details>

# %% [markdown] exercise="week1/two_rows" part="task"
# ### Exercise 5: add up two rows per block
#
# Add up rows again, this time two rows per block: the first 128 threads add one row, and the
# other 128 threads add the next. M and N may be any numbers, including odd ones. The types are
# float32 and float16; accumulate in float32.
#
# Signature: `two_rows(x, y)`.
#
# **Required**: one block per two rows, 256 threads per block, at most 7 barriers.
#
# <details><summary>Hint 1</summary>
#
# Which row does a thread work on, and what is its index among that row's threads?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Use `tidx // 128` and `tidx % 128`. The trees need 256 words of shared memory, 128 per row.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# If M is odd, the last block has a row for only half of its threads. The other half must still
# reach every barrier: put the predicate around the loads and around the store, not around the tree.
#
# </details>


# %% exercise="week1/two_rows" part="skeleton"
@cute.kernel
def two_rows_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 17 lines)
    pass


@cute.jit
def two_rows(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week1/two_rows" part="grade"
fk.exercise("week1/two_rows").grade(two_rows)

# %% [markdown] exercise="week1/two_rows" part="solution"
# <details><summary>Solution of exercise 5</summary>
#
# ```python
# @cute.kernel
# def two_rows_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row, place = bidx * 2 + tidx // 128, tidx % 128
#     smem = cutlass.memory.SmemAllocator()
#     sSum = smem.allocate_tensor(Float32, cute.make_layout(256), 16)
#     total = Float32(0.0)
#     if row < mX.shape[0]:
#         for n in range(place, mX.shape[1], 128):
#             total += mX[row, n].to(Float32)
#     sSum[tidx] = total
#     for k in cutlass.range_constexpr(7):
#         cute.arch.sync_threads()
#         half = 64 >> k
#         if place < half:
#             sSum[tidx] += sSum[tidx + half]
#     if place == 0 and row < mX.shape[0]:
#         mY[row] = sSum[tidx].to(mY.element_type)
#
#
# @cute.jit
# def two_rows(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 2)
#     two_rows_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))
# ```
#
# A barrier waits for all threads of a block, including those without a row. These threads add
# zeros, which costs nothing, because their warps would otherwise wait. If rows are short or
# numerous, let one block add several of them.
#
# </details>

# %% [markdown]
# ## 7. Compare all kernels
#
# This table compares all kernels for 16 rows of 1,000 `float32` elements:

# %%
tree_table(profiles)

# %% [markdown]
# Rearranging threads and words does not reduce the number of barriers. A tree of n words has log₂ n
# rounds. Each round reads sums that other threads stored in shared memory in the previous round, so
# it needs a barrier. **The bad number: log₂ n barriers**, at each of which the whole block waits
# for its slowest warp. (`02_shuffle` measures how long a barrier takes.)
#
# The next cell shows your predictions beside the results:

# %%
fk.predictions()

# %% [markdown]
# ## Times on a GPU
#
# The helper `recorded_part` shows some of the times that were recorded on an H200, for these
# kernels and for torch. It also shows each rate as a percentage of a copy's rate. The trees use 256
# threads per block, and `first_add` uses 128.

# %%
recorded_part("01_a_block_a_row", shapes=[(32768, 4096), (1048576, 64), (64, 262144)])

# %% [markdown]
# - **Long float32 rows** hide the cost of the tree, because the kernels wait for memory and the
#   tree runs only once per row. The three trees are within 2 % of each other, and `first_add` is 6
#   to 8 % faster.
# - **In float16**, each load brings half as many bytes, and the trees reach two thirds of a copy's
#   rate.
# - **Short rows (64 elements)** give a block little work besides its tree. The trees take four to
#   six times as long as torch, and `first_add` takes less than three times as long.
# - **Few rows (64)** give only 64 blocks for 132 multiprocessors.
#
# Two problems remain. For short rows, the tree costs too much; the next notebook solves this
# problem. For a few long rows, there are too few blocks; `04_few_long_rows` solves that one.
#
# ## Summary
#
# | step | bad number of the previous step | what changed |
# |---|---|---|
# | `tree_interleaved` | 32 sectors per load | one block per row: neighbours read neighbours |
# | `tree_strided` | 17 % of the lanes active | the first threads add |
# | `tree_sequential` | 4.3 wavefronts per load | neighbouring threads, neighbouring words |
# | `first_add` | half of the threads only load | the first round of the tree in registers |
#
# **The bad number: log₂ n barriers.**

# %%
steps = {
    "tree_interleaved": tree_interleaved,
    "tree_strided": tree_strided,
    "tree_sequential": tree_sequential,
    "first_add": first_add,
}

# %% [markdown]
# **In practice** libraries no longer add this way; the next notebook shows why. But where threads
# of different warps exchange data in rounds, as in sorting and scanning, the pattern remains: one
# barrier per round, and neighbouring threads on neighbouring words.
#
# **Further reading:** [Optimizing parallel reduction in
# CUDA](https://developer.download.nvidia.com/assets/cuda/files/reduction.pdf) (M. Harris), the
# classic introduction to these trees; its last versions omit the barriers inside the last warp, as
# section 5 does · [Using CUDA warp-level
# primitives](https://developer.nvidia.com/blog/using-cuda-warp-level-primitives/), which explains
# why that is not allowed.
#
# **Next:** lanes of a warp exchange values without shared memory
# ([`02_shuffle`](02_shuffle.ipynb)).
