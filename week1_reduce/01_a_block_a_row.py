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
# # Add up a row with a block
#
# **You will build** sums of rows in which a block of threads shares a row: partial sums, and four
# trees in shared memory that bring them together.
# **You will learn** what divergence costs and how it is counted, why a tree can conflict in banks
# and how not, which barriers may not be left out, and what no tree in shared memory gets rid of.
# **You need** `00_what_is_the_right_sum`. About 35 minutes, and 40 more for the exercises.
#
# **The bad number: 32 sectors a load.** A thread a row reads eight times the bytes that it needs,
# because neighbouring threads are a row apart. So let neighbouring threads read neighbouring
# elements: a **block a row**.

# %%
import cutlass
import cutlass.cute as cute
import matplotlib.pyplot as plt
from cutlass import Float32

import forgekit as fk

# %% [markdown]
# ## 1. A block a row
#
# In plain Python, with 8 threads: thread t takes elements t, t + 8, t + 16, … and has a **partial
# sum** at the end. The 8 partial sums then have to be added up as well.

# %%
row = list(range(20))
partial_sums = [sum(row[t::8]) for t in range(8)]
print(partial_sums, sum(partial_sums) == sum(row))

# %% [markdown]
# A thread cannot read another one's variable, so the partial sums go into shared memory, one word a
# thread. How they are added up there is the subject of this notebook, so the kernel takes it as a
# parameter: `tree` is a function that is called while the kernel is compiled. (`cutlass.Constexpr`
# says so.) The first one is no tree at all: thread 0 adds them up one by one.


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
    """The host function for a way to add up what the threads of a block have."""

    @cute.jit
    def row_sum(mX: cute.Tensor, mY: cute.Tensor):
        grid, block = (mX.shape[0], 1, 1), (threads, 1, 1)
        row_kernel(mX, mY, threads, tree).launch(grid=grid, block=block)

    return row_sum


x, y = fk.randn(3, 20), fk.empty(3)
run = fk.compile(a_block_a_row(one_by_one, threads=8), x, y)
fk.footprint(run, x, y, by="thread", tensor="mX")

# %% [markdown]
# Each row is read by the 8 threads of one block, side by side. A thread without an element, as
# those behind the end of a row, has added nothing: its partial sum is 0.
#
# `measure` is what happens to each kernel of this notebook: it is compiled, run, compared, also in
# adversarial schedules, and profiled, with 16 rows of 1,000 and blocks of 256.

# %%
profiles = {}


def measure(name, fn):
    x, y = fk.randn(16, 1000), fk.empty(16)
    run = fk.compile(fn, x, y)
    run(x, y)
    fk.check(y, x.double().sum(1), again=lambda: run(x, y))
    profiles[name] = fk.profile(run, x, y)
    return run


run = measure("one by one", a_block_a_row(one_by_one))
profiles["one by one"]

# %% [markdown]
# The loads take 3.9 sectors, which is what 32 lanes need: the bad number is gone. (Not 4, since the
# last warp of a row of 1,000 has 8 elements to read and needs 1 sector.) The new one stands in the
# line of the loop in `one_by_one`, in the column *lanes*: **3 %** of the lanes are active, one of
# 32. 255 threads wait for one.
#
# ## 2. Neighbours add each other up
#
# In a tree, half of the threads have something to do in the first round, and the whole takes log₂
# 256 = 8 rounds. First the obvious one: every second word takes its neighbour's, then every fourth
# takes that of its neighbour two further, and so on. As a model, a round is a list of additions
# `(thread, word, other word)`:


# %%
def interleaved_rounds(threads):
    step = 1
    while step < threads:
        yield [(t, t, t + step) for t in range(threads) if t % (2 * step) == 0]
        step *= 2


def draw(rounds, threads=16):
    """A row a round, downwards: which two words each thread adds, and its number."""
    _, axes = plt.subplots(figsize=(8, 3.6))
    depth = 0
    for depth, adds in enumerate(rounds, start=1):
        for thread, word, other in adds:
            for source in (word, other):
                axes.plot([source, word], [1 - depth, -depth + 0.22], color="gray", lw=0.8)
            axes.plot(word, -depth, "o", ms=17, color="tab:blue")
            axes.text(word, -depth, thread, ha="center", va="center", color="white")
    axes.plot(range(threads), [0] * threads, "s", ms=9, color="lightgray")
    axes.set_xticks(range(threads))
    axes.set_yticks(range(-depth, 0), [f"round {k}" for k in range(depth, 0, -1)])
    axes.set(xlabel="word of shared memory", title="In the circles: the thread that adds")
    axes.xaxis.set_ticks_position("bottom")
    for side in axes.spines.values():
        side.set_visible(False)
    plt.show()


draw(interleaved_rounds(16))

# %% [markdown]
# What a round reads, others have stored in the round before, so each round begins with a barrier.
# `const_expr` makes a `while` that runs while the kernel is compiled: `step` is a Python number,
# and the eight rounds are unrolled.


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
# **Predict:** of 32 lanes, how many percent are active in the line that adds, on average over the
# rounds? In the first round it is every second thread, in the second one every fourth. A warp in
# which no thread adds skips the line.

# %%
lanes_active = fk.predict("percent of lanes active", None)


# %% jupyter={"outputs_hidden": true}
def adding_line(p):
    return next(
        line for line in p.lines if line.text.strip().startswith("sSum[") and "+=" in line.text
    )


run_interleaved = measure("interleaved", tree_interleaved)
lanes_active.against(adding_line(profiles["interleaved"])["thread_efficiency"])
profiles["interleaved"]

# %% [markdown]
# In the first five rounds all 8 warps are there, with 16, 8, 4, 2 and 1 of their 32 lanes; in the
# last three rounds 4, 2 and 1 warps with a single lane. This is **divergence**: the lanes of a
# warp take different ways through an `if`, and the warp goes each of the ways that any of its lanes
# takes, with the others idle. It cost us about five sixths of the lanes.
#
# The threads that add are spread over all warps. Nothing forces them to be.
#
# ## 3. The same additions, by neighbouring threads
#
# Let thread t do what thread 2t did in the first round, 4t in the second: the same words, added by
# the *first* threads. Then whole warps have nothing to do and are gone after one instruction.


# %%
def strided_rounds(threads):
    step = 1
    while step < threads:
        yield [(t, 2 * step * t, 2 * step * t + step) for t in range(threads // (2 * step))]
        step *= 2


draw(strided_rounds(16))


# %%
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
# Neighbouring threads work on words that are 2, 4, 8, … words apart. You have seen columns of a
# tile that were 32 words apart.
#
# **Predict:** how many wavefronts does a load of this line take, on average over the rounds? (One
# would be ideal.)

# %%
fk.predict(shared_load_wavefronts_per_request=None)

# %% jupyter={"outputs_hidden": true}
run_strided = measure("strided", tree_strided)
profiles["strided"]

# %%
x, y = fk.randn(1, 1000), fk.empty(1)
line = "sSum[2 * step * tidx] += sSum[2 * step * tidx + step]"
fk.banks(run_strided, x, y, line=line, kind="load", index=3)  # the third round

# %% [markdown]
# The lanes are busy now, and **the bad number is that of the wavefronts**. The two neighbours of
# the first round come in one access of 8 bytes, at the price that it has to have. In the second
# round four lanes want each bank, in the third, which is drawn, eight. There it stays for a while,
# only because fewer lanes are left to want something.
#
# ## 4. Neighbouring threads, neighbouring words
#
# Both at once: the lower half of the threads adds what the upper half has. It is another order of
# additions, and for a sum in `float32` another result in the last bits; any order was as good as
# another.


# %%
def sequential_rounds(threads):
    half = threads // 2
    while half > 0:
        yield [(t, t, t + half) for t in range(half)]
        half //= 2


draw(sequential_rounds(16))


# %%
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
# One wavefront a load, and lanes are idle only in the last warp's last five rounds, where there is
# nothing left to do for them.

# %% [markdown] exercise="week1/tree_counts" part="task"
# ### Exercise 1: predict what trees cost
#
# A block of **512** threads adds 512 words up, in the trees of this notebook: `interleaved`
# (threads with `tidx % (2 * step) == 0` add what stands `step` further), `strided` (thread `tidx`
# works on word `2 * step * tidx`), `sequential` (threads below `half`). Write down what is counted.
#
# <details><summary>Hint 1</summary>
#
# Write down which threads add in that round, and in which word each of them works.
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
# Wavefronts of a load are the largest number of different words that its active lanes want from one
# bank; count the active lanes first.
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
# Interleaved threads keep every warp busy with a few lanes each. A strided index gathers the lanes
# in few warps and the words in few banks. In the sequential tree neighbouring threads work on
# neighbouring words, and both are right.
#
# </details>

# %% [markdown] exercise="week1/tree_max" part="task"
# ### Exercise 2: the largest of each row
#
# `y[m]` is the largest element of row m, for any M and N ≥ 1, in float32 and float16, by a tree in
# shared memory. All elements of a row may be negative. `tree_max(x, y)` is how it is called.
#
# **Asked**: one block per row, 128 threads per block, at most 7 barriers, no bank conflicts.
#
# <details><summary>Hint 1</summary>
#
# It is `tree_sequential` with another operator. What takes the place of `+`, and of 0?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `cutlass.max(a, b)` is the larger of two. The value that changes nothing under it is −∞:
# `-Float32.inf`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A round begins with its barrier, outside of any `if`; then the lower half of the threads that are
# left takes the larger of its own word and the one half the distance further up.
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
# Nothing in a tree asks for a sum. Any operator will do whose result does not depend on how the
# elements are put into pairs (*associative*), and which has a value that changes nothing, its
# *identity*: 0 for a sum, 1 for a product, −∞ for a maximum. A thread without elements holds it.
#
# </details>

# %% [markdown]
# ## 5. A barrier less?
#
# > **Looks right and is wrong.** From the round with half = 16 on, all words that are read were
# > stored by lanes of the same warp, and only warp 0 is left. A warp executes an instruction for
# > all of its lanes at once, people said for years, so these rounds need no barrier. Published
# > kernels did without.
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
# Since 2017 (Volta) the lanes of a warp have program counters of their own and may get out of step
# with each other, and the compiler may move loads and stores about where nothing tells it not to. A
# value check does not see it: the sanitizer does. What is needed between lanes of one warp is less
# than a barrier of the block, though: `cute.arch.sync_warp()`, at which the lanes of a warp wait
# for each other, and nobody else does.


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


x, y = fk.randn(16, 1000, device="virtual"), fk.empty(16, device="virtual")
run_last_warp = fk.compile(a_block_a_row(last_warp), x, y, device="virtual")
run_last_warp(x, y)
fk.check(y, x.double().sum(1))
print(fk.sanitize(run_last_warp, x, y, schedule="adversarial", seeds=2))

# %% [markdown]
# ## 6. The first addition while loading
#
# In the first round of the tree half of the threads do nothing, and in no later round do they do
# anything again. They had been launched to load, and that the others can do as well. So take 128
# threads, and let each add two elements of the row in one step: the first round of the tree happens
# in registers, without a barrier.


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
# **Predict:** how many barriers does a block have now?

# %%
barriers_left = fk.predict("barriers of a block", None)


# %% jupyter={"outputs_hidden": true}
def barriers(p):
    """Of a block: in PTX a barrier is an instruction `bar.sync`, which each warp executes."""
    found = [i for line in p.all_lines for i in line.instructions if i.text.startswith("bar.sync")]
    launch = p.launches[0]
    return sum(i["warp_instructions"] for i in found) // (launch.grid[0] * launch.block[0] // 32)


run_first_add = measure("first add", first_add)
barriers_left.against(barriers(profiles["first add"]))

# %%
x, y = fk.randn(1, 1000), fk.empty(1)
fk.timeline(run_first_add, x, y)

# %% [markdown]
# The timeline is that of one block, 4 warps: after the loads they meet at one barrier after the
# other, and from the third one on three of them come only to wait.

# %% [markdown] exercise="week1/row_rms" part="task"
# ### Exercise 3: the root mean square of rows
#
# `y[m]` is the square root of the mean of the squares of row m, which RMSNorm divides by, for any M
# and N, in float32, float16 and bfloat16, computed in float32. A block takes 256 elements of its
# row at a time, as in `first_add`. `row_rms(x, y)`.
#
# **Asked**: one block per row, 128 threads per block, at most 7 barriers.
#
# <details><summary>Hint 1</summary>
#
# A sum of squares is a sum. Which line of `first_add` changes, and what happens at the end?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The number of elements is `Float32(mX.shape[1])`, and there is `cute.math.sqrt`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# 300 is a float16, its square is not: the line that squares has to have converted before. Mean and
# root belong into the line in which one thread stores.
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
# The work at both ends of a reduction is free: what is done to an element as it arrives, and to the
# result before it is stored. The tree in the middle does not know what it adds. Libraries call the
# first a *prologue* and the second an *epilogue*.
#
# </details>

# %% [markdown] exercise="week1/any_block" part="task"
# ### Exercise 4: fix a tree that loses elements
#
# This kernel adds up rows with blocks of 96 threads. Its barriers are in place, it has no
# conflicts, and for some rows it is right. Fix the tree.
#
# **Asked**: 96 threads per block, at most 7 barriers.
#
# <details><summary>Hint 1</summary>
#
# 96, 48, 24, 12, 6, 3: and then? Follow the last three words to the end.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Of 3 sums that are left, one has no partner. In which words should the 2 that come out stand?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In each round the upper ones are added to the lower ones: `left` words become `(left + 1) // 2`,
# and of an odd number the one in the middle stays where it is; the predicate decides that.
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
# With the half rounded up, ⌈log₂ n⌉ rounds do for any n. `left` is a Python number, known when the
# kernel is compiled, so the rounds are unrolled and their bounds are constants. Blocks are powers
# of two often enough; what is left of a row or of a grid hardly ever is.
#
# </details>

# %% [markdown] exercise="week1/two_rows" part="task"
# ### Exercise 5: two rows a block
#
# Sums of rows again, now with two rows per block: the first 128 threads add up one row, the
# others the next one. For any M, odd ones too, and any N, in float32 and float16. `two_rows(x, y)`.
#
# **Asked**: one block per two rows, 256 threads per block, at most 7 barriers.
#
# <details><summary>Hint 1</summary>
#
# Which row has a thread, and which number has it among the threads of that row?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `tidx // 128` and `tidx % 128`. The tree needs 256 words of shared memory: 128 for each row.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Where M is odd, the last block has a row for half of its threads only. These may not leave before
# a barrier: put the predicate around the loads and around the store, not around the tree.
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
# A barrier counts all threads of a block, also those without a row. They add zeros up with the
# others, which costs nothing: their warps would wait otherwise. Rows that are short, or many, are
# served better by several in a block than by a block each.
#
# </details>

# %% [markdown]
# ## 7. One bad number after the other
#
# All of them, for 16 rows of 1,000 float32:

# %%
print("                lanes active  wavefronts  barriers  PTX instr.")
print("                in the tree   a load      a block   in all")
for name, p in profiles.items():
    lanes, waves = adding_line(p)["thread_efficiency"], p.shared_load_wavefronts_per_request
    print(f"{name:14s} {lanes:9.0f} %  {waves:10.1f}  {barriers(p):8}  {p.warp_instructions:10,}")

# %% [markdown]
# What cannot be fixed by turning threads and words round is the third column. A tree of n words
# has log₂ n rounds, what one round stores another thread reads in the next, and through shared
# memory that takes a barrier. **The bad number: log₂ n barriers**, at each of which the whole block
# waits for its slowest warp.
#
# What you said in this notebook, and what it was:

# %%
fk.predictions()

# %% [markdown]

# %% [markdown]
# ## What it is worth
#
# These kernels on a real GPU, beside torch (`fk.check` passed for each; a row a block, 256
# threads).

# %%
from forgekit.benching.recorded import recorded

recorded("week1/01_a_block_a_row")

# %% [markdown]
# Long rows of float32 hide most of it: the three trees lie within 2 % of each other and `first_add`
# 3 to 6 % ahead, for memory is what one waits for, and the tree comes once a row. In float16 the
# same threads bring half of the bytes with each load; in rows of 4,096 the trees reach two thirds
# of a copy. Rows of 64 give a block of 256 threads hardly anything to do but its tree: between four
# and six times torch's time, less than three with the first addition. And 64 rows are 64 blocks,
# for 132 multiprocessors. Two different troubles, then: too much tree for short rows, which the
# next notebook fixes, and too few blocks for few long ones, which `04_few_long_rows` does.

# %% [markdown]
# ## Summary
#
# | step | bad number of the step before | what changed |
# |---|---|---|
# | `tree_interleaved` | 32 sectors a load | a block a row: neighbours read neighbours |
# | `tree_strided` | 17 % of the lanes active | the first threads add |
# | `tree_sequential` | 4.3 wavefronts a load | neighbouring threads, neighbouring words |
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
# **In practice** no library has such a tree any more, for the reason that the next notebook begins
# with; but wherever threads of different warps exchange data in rounds, sorting and scanning for
# instance, it is this: a barrier a round, and neighbours that work on neighbours.
#
# **Further reading:** [Optimizing parallel reduction in
# CUDA](https://developer.download.nvidia.com/assets/cuda/files/reduction.pdf) (M. Harris), the
# classic of these trees; its last versions leave the barrier out inside the last warp, as in
# section 5 · [Using CUDA warp-level
# primitives](https://developer.nvidia.com/blog/using-cuda-warp-level-primitives/), on why one may
# not.
#
# **Next:** lanes of a warp hand values over without shared memory
# ([`02_shuffle`](02_shuffle.ipynb)).
