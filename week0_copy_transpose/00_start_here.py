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
# # Start here: run your first GPU kernel
#
# **You will build** a kernel that copies an array, first 8 elements, then 1,000.
# **You will learn** what a thread, a block and a grid are, how to see what each thread did, what
# goes wrong at the edge of an array, and what the compiler makes of your Python.
# **You need** Python, and no GPU: without one, kernels run on the **virtual GPU**, which executes
# the machine-level code that NVIDIA's compiler made of yours. About 25 minutes, and 20 more for the
# exercises: three kernels, the last of them from an empty page.
#
# Run the cells from top to bottom with <kbd>Shift</kbd>+<kbd>Enter</kbd>. Where the text says
# **Predict**, make up your mind before you run the next cell: what it prints is folded away until
# you run it. Where it has a line with `fk.predict(…, None)`, write your answer in place of `None`,
# and it will stand beside the right one. A wrong guess is worth more than none.
#
# The first two cells load the compiler and PyTorch. That can take half a minute, and happens once.

# %%
import cutlass
import cutlass.cute as cute

import forgekit as fk

# %% [markdown]
# ## 1. What machine am I on?
#
# Kernels run on an NVIDIA GPU if there is one, otherwise on the virtual GPU. Everything in this
# notebook is the same either way, and so are the results.

# %%
print("Kernels run on:", fk.target.name)
print("Tensors live on:", fk.device)

# %% [markdown]
# ## 2. The idea, in plain Python
#
# A **kernel** is a function that many **threads** run at the same time. Each thread asks one
# question, *which one am I?*, and uses the answer to pick its own piece of the work. Copying eight
# numbers with eight threads, one number each, is this loop, except that on a GPU the threads need
# not run in this order, nor one after the other:

# %%
source = [10, 11, 12, 13, 14, 15, 16, 17]
copied = [None] * 8
for thread in range(8):  # on a GPU: all at once
    copied[thread] = source[thread]
print(copied)

# %% [markdown]
# ## 3. The kernel
#
# Two functions make it a GPU program:
#
# - `@cute.kernel` marks the code that *each thread* runs. `cute.arch.thread_idx()` is the question
#   "which one am I?"; it has three coordinates, and we use the first.
# - `@cute.jit` marks the **host function**, the code that starts it. The **launch** says how many
#   threads: a **grid** of blocks, each **block** a group of threads. Here one block of eight.
#
# The names follow the convention of CuTe's own code: `m` for a tensor in **global memory**, the
# GPU's large main memory, then a capital letter, so `mX` is all of X and `mY` all of Y.


# %%
@cute.kernel
def copy_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    mY[tidx] = mX[tidx]


@cute.jit
def copy(mX: cute.Tensor, mY: cute.Tensor):
    copy_kernel(mX, mY).launch(grid=(1, 1, 1), block=(8, 1, 1))


# %% [markdown]
# Nothing has run yet. `fk.compile` hands the functions to the CuTe DSL compiler, together with
# example tensors that tell it the types. Their elements are `float32`, as in all of forgekit's
# tensors unless you say `dtype=`. `fk.empty` makes a tensor of NaN, "not a number", so that
# an element no thread has written cannot be mistaken for a result.

# %%
x = fk.arange(8)
y = fk.empty(8)
run_copy = fk.compile(copy, x, y)

print("before:", y)
run_copy(x, y)
print("after: ", y)

# %% [markdown]
# Looking is not checking. `fk.check` compares with a result we trust, here `x` itself, element by
# element:

# %%
fk.check(y, x)

# %% [markdown]
# And a picture of who did what. Each square is one element; the number in it is the thread that
# read it (`mX`) or wrote it (`mY`):

# %%
fk.footprint(run_copy, x, fk.empty(8))

# %% [markdown]
# ## 4. Look inside a thread
#
# `cute.printf` prints from inside the threads while the kernel runs.
#
# **Predict:** how many lines will the cell after the next one print? Write your number in place of
# `None`.

# %%
lines = fk.predict("lines printed", None)


# %% jupyter={"outputs_hidden": true}
@cute.kernel
def talking_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdim, _, _ = cute.arch.block_dim()
    i = bidx * bdim + tidx
    mY[i] = mX[i]
    cute.printf("block {} thread {} copies element {}", bidx, tidx, i)


@cute.jit
def talking_copy(mX: cute.Tensor, mY: cute.Tensor):
    talking_kernel(mX, mY).launch(grid=(2, 1, 1), block=(4, 1, 1))


y = fk.empty(8)
run_talking = fk.compile(talking_copy, x, y)
run_talking(x, y)
lines.against(int(fk.profile(run_talking, x, y)["global_store_bytes_asked"]) // 4)

# %% [markdown]
# Every thread prints its own line. The launch has changed, too: two blocks of four threads.
# Inside a block the thread numbers start again at 0, so a thread finds *its* element as
# `block index × block size + thread index`. You will write this line in almost every kernel.
#
# Python's own `print` is different. It runs once, while the compiler reads your function, and knows
# types but no values: forgekit warns if you try to print a value with it.
#
# The picture, now with `block,thread` in each square:

# %%
fk.footprint(run_talking, x, fk.empty(8))

# %% [markdown]
# ## 5. A thousand elements
#
# A block has at most 1,024 threads, and 128 is a usual size (a multiple of 32, for a reason that
# the next notebook gives). Take 1,000 elements in blocks of 128.
#
# **Predict:** how many blocks do we need, and how many threads will have nothing to do?

# %%
needed = fk.predict("blocks", None)
idle = fk.predict("threads with nothing to do", None)

# %% jupyter={"outputs_hidden": true}
elements, threads = 1000, 128
blocks = -(-elements // threads)  # a division, rounded up
print(f"{blocks} blocks of {threads} = {blocks * threads} threads for {elements} elements")
print(f"{blocks * threads - elements} threads too many")
needed.against(blocks)
idle.against(blocks * threads - elements)


# %% [markdown]
# One block less would leave elements uncopied, so the last block has to hang over the end of the
# array. (`cute.ceil_div` is the division, rounded up, for host code.) The next kernel does not know
# about the overhang.
#
# **Predict:** what will happen, and which thread of the last block will be the first to do it? Then
# run both cells. (The error is intended.)

# %%
culprit = fk.predict("thread of block 7 that is the first", None)


# %%
@cute.kernel
def overhanging_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 128 + tidx
    mY[i] = mX[i]


@cute.jit
def overhanging_copy(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[0], 128)
    overhanging_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


# %% jupyter={"outputs_hidden": true} tags=["raises-exception"]
x = fk.randn(1000)
y = fk.empty(1000)
run_overhanging = fk.compile(overhanging_copy, x, y, device="virtual")
run_overhanging(x.cpu(), y.cpu())

# %% jupyter={"outputs_hidden": true}
culprit.against(1000 - 7 * 128)

# %% [markdown]
# Read the message from the top: the **line** of the kernel, the **thread** and **block**, the
# **element** it wanted; at the end, the line of this cell that started it. Thread 104 of block 7
# computes `i = 7 × 128 + 104 = 1000`, and the last element is number 999: it is **out of bounds**.
#
# A real GPU has no such message. It reads and writes whatever lies behind the array, which may be
# somebody else's data, and nobody is told; if you are lucky, the program dies. That is why this one
# cell asks for the virtual GPU by name (`device="virtual"`) even if you have a GPU.

# %% [markdown]
# ## 6. The cure: a predicate
#
# Let every thread ask whether its element exists. The condition is called a **predicate**; threads
# for which it is false do nothing.


# %%
@cute.kernel
def guarded_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 128 + tidx
    if i < mX.shape[0]:
        mY[i] = mX[i]


@cute.jit
def guarded_copy(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[0], 128)
    guarded_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


y = fk.empty(1000)
run_guarded = fk.compile(guarded_copy, x, y)
run_guarded(x, y)
fk.check(y, x)

# %% [markdown]
# A thousand squares would be too small to read, so the picture now shows blocks by their colour, 64
# elements in a row. The last block is shorter than the others:

# %%
fk.footprint(run_guarded, x, fk.empty(1000))

# %% [markdown]
# The size was not compiled in: `fk.compile` leaves it open, so one compiled kernel serves every
# length from 1 on. (No elements would be no blocks, which is no launch. *Compiled in* are the
# element type, the number of dimensions, that neighbouring elements lie side by side in memory, and
# the multiple of bytes at which the array starts; pass a tensor that differs in one of them and the
# call says so.) Sizes around a multiple of the block are where mistakes live, so test those:

# %%
for length in (1, 31, 127, 128, 129, 1023, 1024, 1025):
    x, y = fk.randn(length), fk.empty(length)
    run_guarded(x, y)
    fk.check(y, x)

# %% [markdown]
# ## 7. Now you
#
# An exercise is a cell to complete and a cell that grades it. The grade runs your kernel on several
# sizes, some of them drawn again for every text you hand in; then in orders of threads that a GPU
# might choose; and at last it counts what the kernel does. It stops at the first thing that is
# wrong and says what it has seen. Hints and the solution are folded away below the task;
# `fk.exercise("week0/scale").hint()` gives the same hints one by one.

# %% [markdown] exercise="week0/scale" part="task"
# ### Exercise 1: scale a vector
#
# Write a kernel that computes `y[i] = 3 * x[i] + 1` for any length. It starts as `guarded_kernel`
# did; one line changes.
#
# <details><summary>Hint 1</summary>
#
# Only the line inside the `if` changes.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Inside the `if`, `mX[i]` is an ordinary number: compute with it as you would in Python.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A kernel has no result: what thread `i` has computed, it assigns to its element of `mY`.
#
# </details>


# %% exercise="week0/scale" part="skeleton"
@cute.kernel
def scale_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 128 + tidx
    if i < mX.shape[0]:
        # FILL ME IN (roughly 1 line)
        mY[i] = mX[i]


@cute.jit
def scale(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[0], 128)
    scale_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


# %% exercise="week0/scale" part="grade"
fk.exercise("week0/scale").grade(scale)

# %% [markdown] exercise="week0/scale" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# @cute.kernel
# def scale_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     i = bidx * 128 + tidx
#     if i < mX.shape[0]:
#         mY[i] = 3.0 * mX[i] + 1.0
#
#
# @cute.jit
# def scale(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 128)
#     scale_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# One multiplication and one addition: the compiler makes a single `fma` of them, *fused
# multiply-add*, which rounds once. Look for it in `fk.compile(scale, x, y).ptx`.
#
# </details>

# %% [markdown] exercise="week0/reverse" part="task"
# ### Exercise 2: reverse a vector
#
# Write a kernel with `y[0] = x[n-1]`, `y[1] = x[n-2]`, … for any length. The cell below the
# solution draws it for eight elements and asks for your prediction.
#
# <details><summary>Hint 1</summary>
#
# Which element does thread `i` read, if it writes `y[i]`?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# For `n = 8`, thread 0 reads element 7 and thread 7 reads element 0.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The two indexes of a thread always have the same sum. Which one, for n elements?
#
# </details>


# %% exercise="week0/reverse" part="skeleton"
@cute.kernel
def reverse_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    n = mX.shape[0]
    i = bidx * 128 + tidx
    if i < n:
        # FILL ME IN (roughly 1 line)
        mY[i] = mX[i]


@cute.jit
def reverse(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[0], 128)
    reverse_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


# %% exercise="week0/reverse" part="grade"
fk.exercise("week0/reverse").grade(reverse)

# %% [markdown] exercise="week0/reverse" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# @cute.kernel
# def reverse_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     n = mX.shape[0]
#     i = bidx * 128 + tidx
#     if i < n:
#         mY[i] = mX[n - 1 - i]
#
#
# @cute.jit
# def reverse(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 128)
#     reverse_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# The predicate stays as it is: if `i` runs over 0 … n−1, so does `n − 1 − i`. With `mX[n - i]`, off
# by one, thread 0 reads `mX[n]`: try it and read what the virtual GPU says.
#
# </details>

# %% [markdown]
# Who reads what? This draws your kernel for eight elements, once it runs without an error.
#
# **Predict:** which thread reads `mX[0]`, which `mX[1]`, and so on? Write eight numbers, as
# `[5, 2, …]`, in place of `None`. (As long as the exercise still holds the skeleton, which copies,
# the answer is that of a copy.)

# %% jupyter={"outputs_hidden": true}
said = fk.predict("threads that read mX[0] to mX[7]", None)
drawn = fk.footprint(fk.compile(reverse, fk.randn(8), fk.empty(8)), fk.randn(8), fk.empty(8))
said.against(drawn.touched["mX"]["thread"].tolist())
drawn

# %% [markdown]
# ## 8. It looks right and is wrong
#
# Here is a copy that somebody wrote in a hurry. It launches too few blocks.
#
# **Predict:** which is the first element that will be wrong? And what will it contain?

# %%
first_wrong = fk.predict("first wrong element", None)


# %% jupyter={"outputs_hidden": true}
@cute.jit
def hasty_copy(mX: cute.Tensor, mY: cute.Tensor):
    blocks = mX.shape[0] // 128  # rounded down
    guarded_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


x, y = fk.randn(1000), fk.empty(1000)
run_hasty = fk.compile(hasty_copy, x, y)
run_hasty(x, y)
print("the first four:", y[:4] == x[:4])
first_wrong.against((y != x).nonzero()[0].item())
fk.check(y, x)

# %% [markdown]
# > **Looks right and is wrong.** No error, and the beginning is right: a glance would have passed
# > it. The check says where: the last 104 elements still hold the NaN of `fk.empty`. Had `y` come
# > from an earlier, correct run, the old numbers would have hidden the mistake. **Poison the output
# > before you test a kernel.**

# %% [markdown]
# ## 9. What the compiler made of it
#
# The compiler turned the kernel into **PTX**, NVIDIA's assembly language; this text is what the
# virtual GPU executes, and what a GPU's driver translates to its own machine code, **SASS**. Here
# is the part of the guarded copy that matters; left out are the lines that load the kernel's
# arguments, the size of `mX` into `%r2` and the two addresses into `%rd1` and `%rd2`:

# %%
interesting = ["mov.u32", "shl", "or.b32", "setp", "bra", "mul.wide", "add.s64", "global", "ret;"]
for line in run_guarded.ptx.splitlines():
    text = " ".join(line.split())
    if any(word in text for word in interesting):
        print(text)

# %% [markdown]
# | PTX | in your Python |
# |---|---|
# | `mov.u32 …, %tid.x` | `tidx`, from `cute.arch.thread_idx()` |
# | `mov.u32 …, %ctaid.x` | `bidx`, from `cute.arch.block_idx()` (CTA is PTX's word for block) |
# | `shl.b32 …, 7` | `bidx * 128`: a shift by 7 is a multiplication by 2⁷ |
# | `or.b32` | `+ tidx`: the lower seven bits are free, so *or* does for *plus* |
# | `setp…` | the predicate: is `i` within the array? |
# | `@%p1 bra …` | threads without an element jump to the end |
# | `mul.wide.s32 …, 4` | element number × 4 bytes (float32) |
# | `add.s64` | plus the address where the tensor begins, once for `mX`, once for `mY` |
# | `ld.global.b32` | read `mX[i]` |
# | `st.global.b32` | write `mY[i]` |
# | `ret` | the thread is done |
#
# Your two lines cost each thread about a dozen instructions, of which one reads and one writes
# memory. Week 0 is about what those two cost.
#
# The numbers after `%r`, `%rd` and `%p` name **registers**, the fastest memory there is, private to
# each thread. The real machine has a limited number of them; a kernel that needs more has to put
# values aside in slow memory, which is called **spilling**. This one is modest:

# %%
print(f"{run_guarded.registers} registers a thread, {run_guarded.spill_bytes} bytes spilled")

# %% [markdown]
# ## 10. From an empty page

# %% [markdown] exercise="week0/ramp" part="task"
# ### Exercise 3: write a ramp
#
# `y[i] = 5 + 3 * i` for any length, and this time the whole kernel is yours, host function and
# launch included. It has no input: thread `i` knows its number, and that is enough. `y` already
# holds something, which is to be overwritten. (`cutlass.Float32(i)` makes a `float32` of a whole
# number; store that.)
#
# <details><summary>Hint 1</summary>
#
# Three things in the kernel: which thread am I, have I an element, what do I store in it?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The host function takes the length from `mY.shape[0]`, as `guarded_copy` took it from `mX`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The number is to be converted before it is stored, for `i` is an integer: the line with the store
# holds `cutlass.Float32(…)`.
#
# </details>


# %% exercise="week0/ramp" part="skeleton"
@cute.kernel
def ramp_kernel(mY: cute.Tensor):
    # FILL ME IN (roughly 5 lines)
    pass


@cute.jit
def ramp(mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week0/ramp" part="grade"
fk.exercise("week0/ramp").grade(ramp)

# %% [markdown] exercise="week0/ramp" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# @cute.kernel
# def ramp_kernel(mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     i = bidx * 128 + tidx
#     if i < mY.shape[0]:
#         mY[i] = cutlass.Float32(5 + 3 * i)
#
#
# @cute.jit
# def ramp(mY: cute.Tensor):
#     blocks = cute.ceil_div(mY.shape[0], 128)
#     ramp_kernel(mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# Nothing is read, so this kernel moves half of what a copy moves. The index is all a thread knows
# of itself, and often all it needs.
#
# </details>

# %% [markdown]
# What you have passed is kept on this machine, over all weeks:

# %% tags=["nbval-ignore-output"]
fk.progress()

# %% [markdown]
# ## Summary
#
# | kernel | elements | threads | threads too many | result |
# |---|---|---|---|---|
# | `copy` | 8 | 1 block × 8 | 0 | right |
# | `talking_copy` | 8 | 2 blocks × 4 | 0 | right, and says so |
# | `overhanging_copy` | 1,000 | 8 blocks × 128 | 24 | stopped: out of bounds |
# | `guarded_copy` | any | ⌈n/128⌉ blocks × 128 | up to 127, which do nothing | right |
# | `hasty_copy` | 1,000 | 7 blocks × 128 | 104 too *few* | 104 elements never written |
#
# You can now write a kernel, launch it over any length, see what each thread did, and let a check
# find what a glance would miss.
#
# **In practice** production code rarely copies one element a thread: each thread moves 16 bytes at
# a time, and the predicate covers whole vectors.
#
# **Further reading:** [CuTe DSL's own introduction](https://docs.nvidia.com/cutlass/latest/media/docs/pythonDSL/cute_dsl.html)
# · [the CUDA programming model](https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#programming-model)
# · [the PTX manual](https://docs.nvidia.com/cuda/parallel-thread-execution/index.html)
#
# **Next:** how to see why a kernel is slow, or wrong although its values are right
# ([`01_why_slow_why_wrong`](01_why_slow_why_wrong.ipynb)).
