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
# **You will build** a kernel that copies an array, first one of 8 elements and then one of 1,000.
# **You will learn** what a thread, a block and a grid are, how to see what each thread did, what
# goes wrong at the edge of an array, and which instructions the compiler generates from your code.
# **You need** Python, but no GPU. Without one, kernels run on the **virtual GPU**, which executes
# the low-level code that NVIDIA's compiler generates for them. About 30 minutes, and 25 more for
# the exercises: three kernels, the last of which you write from scratch.
#
# Run the cells from top to bottom with <kbd>Shift</kbd>+<kbd>Enter</kbd>. Where the text says
# **Predict**, decide on an answer before you run the next cell; its output stays hidden until then.
# Where a line reads `fk.predict(…, None)`, replace `None` with your answer; the page then shows it
# next to the correct one. You learn more from a wrong guess than from no guess.
#
# ## 1. Which machine is this?
#
# The first cell loads the compiler and PyTorch, which can take half a minute. Kernels run on your
# NVIDIA GPU if you have one, and otherwise on the virtual GPU. The results are the same.

# %%
import cutlass
import cutlass.cute as cute

import forgekit as fk

print("Kernels run on:", fk.target.name)
print("Tensors live on:", fk.device)

# %% [markdown]
# ## 2. The idea, in plain Python
#
# A **kernel** is a function that many **threads** run at the same time. Each thread asks one
# question, *which thread am I?*, and uses the answer to pick its own part of the work. The loop
# below copies eight numbers with eight threads, one number per thread. On a GPU the threads run in
# no particular order, and many of them run at the same time:

# %%
source = [10, 11, 12, 13, 14, 15, 16, 17]
copied = [None] * 8
for thread in range(8):  # on a GPU, all at the same time
    copied[thread] = source[thread]
print(copied)

# %% [markdown]
# ## 3. The kernel
#
# Two functions turn the loop into a GPU program:
#
# - `@cute.kernel` marks the code that *each thread* runs. `cute.arch.thread_idx()` answers the
#   question "which thread am I?" with three coordinates, of which we use the first.
# - `@cute.jit` marks the **host function**, which starts the kernel. The **launch** sets the number
#   of threads: it creates a **grid** of blocks, and each **block** is a group of threads. Here the
#   grid is one block of eight threads.
#
# The names follow CuTe's own code. A tensor in **global memory**, the GPU's large main memory, has
# the prefix `m` before a capital letter, so `mX` is all of X and `mY` is all of Y.


# %%
@cute.kernel
def copy_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    mY[tidx] = mX[tidx]


@cute.jit
def copy(mX: cute.Tensor, mY: cute.Tensor):
    copy_kernel(mX, mY).launch(grid=(1, 1, 1), block=(8, 1, 1))


# %% [markdown]
# Nothing has run yet. `fk.compile` passes the functions to the CuTe DSL compiler, along with
# example tensors that determine the types. forgekit's tensors are `float32` unless you set
# `dtype=`. `fk.empty` fills a tensor with NaN, "not a number". If an element is still NaN after the
# call, no thread has written it.

# %%
x = fk.arange(8)
y = fk.empty(8)
run_copy = fk.compile(copy, x, y)

print("before:", y)
run_copy(x, y)
print("after: ", y)

# %% [markdown]
# Looking at a result is not the same as checking it. `fk.check` compares every element with a
# trusted result, here `x` itself:

# %%
fk.check(y, x)

# %% [markdown]
# The next picture shows which thread did what. Each square is an element, and its number is the
# thread that read it (`mX`) or wrote it (`mY`):

# %%
fk.footprint(run_copy, x, fk.empty(8))

# %% [markdown]
# ## 4. Look inside a thread
#
# `cute.printf` prints from inside the threads while the kernel runs.
#
# **Predict:** how many lines does the second cell below print? Replace `None` with your number.

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
lines.against(2 * 4)  # blocks × threads per block

# %% [markdown]
# Every thread prints its own line. The launch has changed as well: it now starts two blocks of four
# threads. Thread numbers start at 0 in each block, so a thread computes the index of *its* element
# as `block index × block size + thread index`. Almost every kernel contains such a line.
#
# Python's own `print` behaves differently. It runs only once, while the compiler reads your
# function, so it sees types but no values. forgekit warns you if you use it to print a value.
#
# In the next picture, each square shows `block,thread`:

# %%
fk.footprint(run_talking, x, fk.empty(8))

# %% [markdown]
# ## 5. A thousand elements
#
# A block has at most 1,024 threads. A common block size is 128, a multiple of 32 (the next notebook
# explains why). Suppose we copy 1,000 elements with blocks of 128 threads.
#
# **Predict:** how many blocks do we need, and how many threads have nothing to do?

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
# One block fewer would leave some elements uncopied, so the last block must extend past the end of
# the array. (In host code, `cute.ceil_div` divides and rounds up.) The next kernel ignores this
# overhang.
#
# **Predict:** what goes wrong, and which thread of the last block is the first to cause it? Then
# run both cells. (The error is intentional.)

# %%
culprit = fk.predict("first thread of block 7 to go wrong", None)


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
# Read the message from the top. It names the **line** of the kernel, the **thread** and **block**,
# and the **element** that the thread accessed. The last part names the line of this cell that
# started the kernel. Thread 104 of block 7 computes `i = 7 × 128 + 104 = 1000`, but the last
# element is number 999, so the access is **out of bounds**.
#
# A real GPU prints no such message. It silently reads and writes the memory after the array, which
# may hold other data. If you are lucky, the program crashes. That is why this cell requests the
# virtual GPU (`device="virtual"`) even if you have a GPU.
#
# ## 6. The fix: a predicate
#
# Let every thread check that its element exists. This condition is called a **predicate**. Threads
# whose predicate is false do nothing.


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
# A thousand numbered squares would be too small to read. This picture colours the elements by block
# instead, with 64 elements per row. The last block copies fewer elements than the others:

# %%
fk.footprint(run_guarded, x, fk.empty(1000))

# %% [markdown]
# `fk.compile` leaves the size open, so one compiled kernel serves every length from 1 up. (An empty
# array would need no blocks, and a launch needs at least one.) It does fix the element type, the
# number of dimensions, the order of elements in memory, and the alignment of the array's start. If
# you pass a tensor that differs in one of these, the call raises an error. Mistakes tend to appear
# at sizes close to a multiple of the block size, so test those:

# %%
lengths = (1, 31, 127, 128, 129, 1023, 1024, 1025)
equal = []
for length in lengths:
    x, y = fk.randn(length), fk.empty(length)
    run_guarded(x, y)
    equal.append(y.equal(x))
print(f"{sum(equal)} of {len(lengths)} lengths copied exactly")

# %% [markdown]
# ## 7. Your turn
#
# Each exercise has a cell for you to complete and a cell that grades it. The grader first runs your
# kernel on several sizes, some of which are drawn at random when Python starts. Then it runs the
# threads in other orders that a GPU might choose. Finally, it counts instructions and memory
# accesses. It stops at the first fault that it finds and reports it. A pass names the sizes and the
# inputs that were compared, and it proves nothing beyond them. Unless a task says otherwise,
# results fit their types. Some inputs contain infinities or NaN; the right result is then the value
# of the task's formula. Hints and the solution are folded away below the task;
# `fk.exercise("week0/scale").hint()` shows the same hints, one per call.

# %% [markdown] exercise="week0/scale" part="task"
# ### Exercise 1: scale a vector
#
# Write a kernel that computes `y[i] = 3 * x[i] + 1` for any length. The skeleton is
# `guarded_kernel`, and you need to change only one line.
#
# <details><summary>Hint 1</summary>
#
# Change only the line inside the `if`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Inside the `if`, `mX[i]` is an ordinary number that you can compute with as in Python.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A kernel returns nothing. Instead, thread `i` assigns its result to its element of `mY`.
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
# The compiler merges the multiplication and the addition into a single instruction, `fma` (*fused
# multiply-add*), which rounds once. Look for it in `fk.compile(scale, x, y).ptx`.
#
# </details>

# %% [markdown] exercise="week0/reverse" part="task"
# ### Exercise 2: reverse a vector
#
# Write a kernel that stores `y[0] = x[n-1]`, `y[1] = x[n-2]`, and so on, for any length. A cell
# after the grading cell draws what your kernel does with eight elements.
#
# <details><summary>Hint 1</summary>
#
# If thread `i` writes `y[i]`, which element does it read?
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
# The index that a thread reads and the index that it writes always have the same sum. What is that
# sum for n elements?
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
# The predicate does not change, because `n − 1 − i` runs through the same numbers 0 to n − 1 as
# `i`. The index `n - i` is off by one: with it, thread 0 reads `mX[n]`. Try it and read the virtual
# GPU's message.
#
# </details>

# %% [markdown]
# Once your kernel runs without an error, the next cell draws it for eight elements.
#
# **Predict:** which thread reads `mX[0]`, which reads `mX[1]`, and so on? Replace `None` with eight
# numbers, such as `[5, 2, …]`. (Until you solve the exercise, the picture shows the skeleton, which
# only copies.)

# %% jupyter={"outputs_hidden": true}
readers = fk.predict("threads that read mX[0] to mX[7]", None)
drawn = fk.footprint(fk.compile(reverse, fk.randn(8), fk.empty(8)), fk.randn(8), fk.empty(8))
readers.against(drawn.touched["mX"]["thread"].tolist())
drawn

# %% [markdown]
# This is a good place for a break.
#
# ## 8. It looks right but is wrong
#
# The next copy was written in a hurry and launches too few blocks. (Its check fails on purpose.)
#
# **Predict:** which element is the first to be wrong, and what does it contain?

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
# > **Looks right but is wrong.** The kernel raises no error, and the first elements are correct, so
# > a quick look would miss the mistake. The check finds it: the last 104 elements still hold the
# > NaN of `fk.empty`. If `y` had held the result of an earlier, correct run, the old numbers would
# > have hidden the mistake. **Fill the output with NaN before you test a kernel.**
#
# ## 9. The instructions that the compiler generates
#
# The compiler turned the kernel into **PTX**, NVIDIA's assembly language. The virtual GPU executes
# this text directly; a real GPU's driver translates it into the GPU's own machine code, **SASS**.
# The next cell prints the important part of the guarded copy. It omits the lines that load the
# kernel's arguments: the size of `mX` into `%r2` and the two addresses into `%rd1` and `%rd2`.
#
# Names such as `%r2`, `%rd1` and `%p1` denote **registers**, the fastest memory, which is private
# to each thread. A real GPU has a limited number of registers. If a kernel needs more, the compiler
# has to keep some values in slow memory, which is called **spilling**.

# %%
interesting = ["mov.u32", "shl", "or.b32", "setp", "bra", "mul.wide", "add.s64", "global", "ret;"]
for line in run_guarded.ptx.splitlines():
    text = " ".join(line.split())
    if any(word in text for word in interesting):
        print(text)
print(f"\n{run_guarded.registers} registers per thread, {run_guarded.spill_bytes} bytes spilled")

# %% [markdown]
# | PTX | in your Python code |
# |---|---|
# | `mov.u32 …, %tid.x` | `tidx`, from `cute.arch.thread_idx()` |
# | `mov.u32 …, %ctaid.x` | `bidx`, from `cute.arch.block_idx()` (CTA is PTX's word for block) |
# | `shl.b32 …, 7` | `bidx * 128`, because a shift by 7 multiplies by 2⁷ |
# | `or.b32` | `+ tidx`; *or* adds, because the lower seven bits are 0 |
# | `setp…` | the predicate: is `i` within the array? |
# | `@%p1 bra …` | threads without an element jump to the end |
# | `mul.wide.s32 …, 4` | element number × 4 bytes (float32) |
# | `add.s64` | add the address at which the tensor starts, once for `mX` and once for `mY` |
# | `ld.global.b32` | read `mX[i]` |
# | `st.global.b32` | write `mY[i]` |
# | `ret` | the thread ends |
#
# Each thread executes about a dozen instructions for your few lines of Python. Only one of these
# reads `mX`, and only one writes `mY`. Week 0 is about the cost of these two instructions.
#
# ## 10. A kernel from scratch

# %% [markdown] exercise="week0/ramp" part="task"
# ### Exercise 3: write a ramp
#
# Store `y[i] = 5 + 3 * i` for any length. Write the whole kernel, with its host function and
# launch. It has no input, because thread `i` needs only its own number. Overwrite the values that
# `y` holds before the call. (`cutlass.Float32(i)` converts an integer to `float32`; store the
# converted value.) Signature: `ramp(y)`.
#
# <details><summary>Hint 1</summary>
#
# The kernel answers three questions: which thread am I, does my element exist, and what do I store
# in it?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The host function reads the length from `mY.shape[0]`, just as `guarded_copy` reads it from `mX`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The result is an integer, so convert it with `cutlass.Float32(…)` in the line that stores it.
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
# The kernel reads no array, so it moves half as many bytes as a copy. A thread knows only its own
# index, but often that is all it needs.
#
# </details>

# %% [markdown]
# On this machine, forgekit keeps a record of the exercises that you have passed, across all weeks:

# %% tags=["nbval-ignore-output"]
fk.progress()

# %% [markdown]
# ## Summary
#
# | kernel | elements | threads | extra threads | result |
# |---|---|---|---|---|
# | `copy` | 8 | 1 block × 8 | 0 | correct |
# | `talking_copy` | 8 | 2 blocks × 4 | 0 | correct; each thread prints one line |
# | `overhanging_copy` | 1,000 | 8 blocks × 128 | 24 | stopped by an out-of-bounds access |
# | `guarded_copy` | any | ⌈n/128⌉ blocks × 128 | up to 127, which do nothing | correct |
# | `hasty_copy` | 1,000 | 7 blocks × 128 | 104 *missing* | 104 elements never written |
#
# You can now write a kernel, launch it for an array of any length, see what each thread did, and
# use a check to find mistakes that you would otherwise miss.
#
# **In practice**, production code rarely copies one element per thread. Each thread moves 16 bytes
# at a time, and one predicate covers a whole vector.
#
# **Further reading:** [CuTe DSL's own
# introduction](https://docs.nvidia.com/cutlass/latest/media/docs/pythonDSL/cute_dsl.html)
# · [the CUDA programming
# model](https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#programming-model)
# · [the PTX manual](https://docs.nvidia.com/cuda/parallel-thread-execution/index.html)
#
# **Next:** how to see why a kernel is slow, or why it is wrong even though its values are correct
# ([`01_why_slow_why_wrong`](01_why_slow_why_wrong.ipynb)).
