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
# # See why: slow, or wrong?
#
# **You will build** a matrix copy, and a reversal of rows in which threads exchange data; and you
# fix what turns out to be amiss with them.
# **You will learn** to read a profile by source line, to see which bytes a warp moves and which
# banks it uses, and to find a mistake that no comparison of values shows.
# **You need** `00_start_here`, and no GPU: all of this notebook looks inside the virtual GPU, also
# where there is a real one. About 30 minutes, and 35 more for the exercises, two of them whole
# kernels.

# %%
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32

import forgekit as fk

# %% [markdown]
# ## 1. Two copies, one result
#
# 32 threads that execute the same instruction together are a **warp**; its threads are its
# **lanes**, 0 to 31. When a warp reads memory,
# the hardware does not fetch 32 single numbers: it fetches **sectors** of 32 bytes, eight float32
# each, and every sector that a thread touches is fetched whole.
#
# Here is a copy of a matrix with one thread an element. A block may have two dimensions; this one
# has 32 × 8 threads. They are numbered with the first index fastest, and 32 numbers in a row are a
# warp: here the 32 threads with one `tidy`. They differ in `tidx`, and `tidx` chooses the **row**:


# %%
@cute.kernel
def by_rows_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    row, col = bidy * 32 + tidx, bidx * 8 + tidy
    if row < mX.shape[0] and col < mX.shape[1]:
        mY[row, col] = mX[row, col]


@cute.jit
def copy_by_rows(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], 8), cute.ceil_div(mX.shape[0], 32), 1)
    by_rows_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))


x, y = fk.randn(64, 96), fk.empty(64, 96)
run_by_rows = fk.compile(copy_by_rows, x, y)
run_by_rows(x, y)
fk.check(y, x)

# %% [markdown]
# All right, then. Is it good? The 32 threads of a warp read 32 × 4 = 128 bytes, which fit in four
# sectors.
#
# **Predict:** how many sectors does one read of a warp fetch? Rows of `x` have 96 elements; where
# in memory are the elements that neighbouring threads read? Write your number in place of `None`
# and run both cells. `fk.predict` keeps it under the name that the number has in a **profile**,
# which counts what a kernel does, and the next `fk.profile` sets its own beside it. (A **request**
# is one memory instruction of one warp.)

# %%
fk.predict(global_load_sectors_per_request=None)

# %% jupyter={"outputs_hidden": true}
profile = fk.profile(run_by_rows, x, y)
fk.predictions()

# %% [markdown]
# The whole profile counts what each line of your Python does. What it counts of memory are the
# numbers that NVIDIA's profiler, Nsight Compute, reads from a real GPU. `each (ideal)` says how
# many sectors a request fetched, and how few would have done; below stands your prediction:

# %%
profile

# %% [markdown]
# A row is 384 bytes long, so neighbouring threads are 384 bytes apart: each of the 32 threads pulls
# in a sector of its own, 32 bytes, and uses 4 of them. The picture shows the first warp's load and
# store. A row of it is 128 bytes of memory, four sectors; at the right stands how far it lies
# behind the row above. Orange is what is moved for nothing.

# %%
profile.show()

# %% [markdown]
# ## 2. Turn the threads round
#
# Let `tidx` choose the **column** instead. Row and column change places, in the kernel and in the
# grid; the result does not change.


# %%
@cute.kernel
def by_columns_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    row, col = bidy * 8 + tidy, bidx * 32 + tidx
    if row < mX.shape[0] and col < mX.shape[1]:
        mY[row, col] = mX[row, col]


@cute.jit
def copy_by_columns(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 8), 1)
    by_columns_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))


y = fk.empty(64, 96)
run_by_columns = fk.compile(copy_by_columns, x, y)
run_by_columns(x, y)
fk.check(y, x)

# %%
better = fk.profile(run_by_columns, x, y)
fk.coalescing(run_by_columns, x, y, kind="load")

# %%
for name, p in (("by rows", profile), ("by columns", better)):
    sectors = p["global_load_sectors"] + p["global_store_sectors"]
    print(f"{name:11s} {sectors:6,} sectors = {32 * sectors:7,} bytes moved")

# %% [markdown]
# Accesses of a warp that fall into few sectors are called **coalesced**. The bytes that have to
# move at least once are the same for both copies, and with them the least time that a GPU of a
# given bandwidth can take; the first copy moves eight times as many.

# %%
print(f"at least {better.bytes_touched:,} bytes, {better.bound_s('H200') * 1e9:.0f} ns on an H200")

# %% [markdown]
# Where did the threads of a warp work? The **footprint** by warp shows it for one line: a warp
# covers a piece of one row now. (The thin white lines are the edges of blocks; each block has
# warps 0 to 7.)

# %%
fk.footprint(run_by_columns, x, y, by="warp", line="mY[row, col] = mX[row, col]", tensor="mX")

# %% [markdown] exercise="week0/four_loads" part="task"
# ### Exercise 1: predict what four loads cost
#
# Threads `i = 0 … 255`, float32, `x` begins at a multiple of 256 bytes. How many sectors does the
# load of the first warp, threads 0 to 31, fetch in each case? The cell after the grade lets you
# draw them.
#
# <details><summary>Hint 1</summary>
#
# Which elements do threads 0 to 31 read? Write down the first and the last.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A sector holds eight elements: 0 to 7, 8 to 15, and so on. It counts once, however many threads
# touch it.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Divide the number of the first and of the last element by 8, rounded down: all sectors from the
# one to the other are touched, unless a step jumps over one.
#
# </details>

# %% exercise="week0/four_loads" part="skeleton"
sectors = {
    # FILL ME IN (roughly 4 lines)
    "mX[2 * i]": None,
    "mX[i + 1]": None,
    "mX[255 - i]": None,
    "mX[i // 4]": None,
}

# %% exercise="week0/four_loads" part="grade"
fk.exercise("week0/four_loads").grade(sectors)

# %% [markdown] exercise="week0/four_loads" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# sectors = {
#     "mX[2 * i]": 8,
#     "mX[i + 1]": 5,
#     "mX[255 - i]": 4,
#     "mX[i // 4]": 1,
# }
# ```
#
# Sectors are counted, not lanes and not words. A stride of 2 fetches everything and uses half; a
# start off the edge costs one sector more, five for four; the order of lanes costs nothing; and
# what lanes share is fetched once.
#
# </details>

# %% [markdown]
# Draw the ones that surprised you: put another index into the kernel and run the cell again.


# %% jupyter={"outputs_hidden": true}
@cute.kernel
def four_loads_kernel(mX: cute.Tensor, mY: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    mY[i] = mX[2 * i]


@cute.jit
def four_loads(mX: cute.Tensor, mY: cute.Tensor):
    four_loads_kernel(mX, mY).launch(grid=(1, 1, 1), block=(256, 1, 1))


run_loads = fk.compile(four_loads, fk.randn(512), fk.empty(256))
fk.coalescing(run_loads, fk.randn(512), fk.empty(256), kind="load")

# %% [markdown] exercise="week0/lower_triangle" part="task"
# ### Exercise 2: keep the lower triangle
#
# `y[row, col] = x[row, col]` where `col <= row`, and `0` above the diagonal, for matrices of any
# size. Write the whole kernel, and its launch, one thread per element in blocks of (32, 8, 1) for
# example, with no more sectors than it takes, for float32 and float16: `mX.element_type(0)` is a 0
# of either. `lower_triangle(x, y)` is how it is called.
#
# <details><summary>Hint 1</summary>
#
# Two predicates are needed, and they are not the same: does this element exist, and is it kept?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Every element of `y` is stored, also where `x` does not matter. Which of `tidx` and `tidy` has to
# be the column, so that a warp writes one row?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A variable that gets its value inside an `if` has to have one before it: begin with `value =
# mX.element_type(0)`, and store once, after the `if`.
#
# </details>


# %% exercise="week0/lower_triangle" part="skeleton"
@cute.kernel
def lower_triangle_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 8 lines)
    pass


@cute.jit
def lower_triangle(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week0/lower_triangle" part="grade"
fk.exercise("week0/lower_triangle").grade(lower_triangle)

# %% [markdown] exercise="week0/lower_triangle" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# @cute.kernel
# def lower_triangle_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, tidy, _ = cute.arch.thread_idx()
#     bidx, bidy, _ = cute.arch.block_idx()
#     row, col = bidy * 8 + tidy, bidx * 32 + tidx
#     if row < mX.shape[0] and col < mX.shape[1]:
#         value = mX.element_type(0)
#         if col <= row:
#             value = mX[row, col]
#         mY[row, col] = value
#
#
# @cute.jit
# def lower_triangle(mX: cute.Tensor, mY: cute.Tensor):
#     grid = (cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 8), 1)
#     lower_triangle_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))
# ```
#
# Above the diagonal nothing is loaded, so about half of the loads are saved: a predicate can save
# traffic. It saves whole sectors only: where the diagonal runs through a sector, all of it is
# fetched.
#
# </details>

# %% [markdown]
# ## 3. Threads that exchange data
#
# **Shared memory** is a small, fast memory that the threads of one block share. Here a block of 64
# threads reverses a row of 64 elements through it: each thread stores one element, then reads the
# one at the other end, which another thread has stored. An `SmemAllocator` hands shared memory out:
# here 64 float32 in a row, at an address that is a multiple of 16 bytes.


# %%
@cute.kernel
def mirror_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sRow = smem.allocate_tensor(Float32, cute.make_layout(64), 16)
    sRow[tidx] = mX[bidx, tidx]
    mY[bidx, tidx] = sRow[63 - tidx]


@cute.jit
def mirror(mX: cute.Tensor, mY: cute.Tensor):
    mirror_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(64, 1, 1))


x, y = fk.randn(4, 64, device="virtual"), fk.empty(4, 64, device="virtual")
run_mirror = fk.compile(mirror, x, y, device="virtual")

# %% [markdown]
# **Predict:** will the values be right? Will the kernel be right? Then run the next three cells.

# %%
values_right = fk.predict("the values are right", None)  # True or False
kernel_right = fk.predict("the kernel is right", None)  # True or False

# %% jupyter={"outputs_hidden": true} tags=["raises-exception"]
run_mirror(x, y)

# %% jupyter={"outputs_hidden": true}
fk.check(y, x.flip(1))
values_right.against(torch.equal(y, x.flip(1)))
kernel_right.against(bool(fk.sanitize(run_mirror, x, y)))

# %% [markdown]
# > **Looks right and is wrong.** Every value is right, and the run has ended with an error. The
# > **sanitizer**, which watches every run on the virtual GPU, has seen one thread read what another
# > thread wrote, with nothing between the two that makes one wait for the other: a **race**. That
# > the values came out right is luck; the virtual GPU happens to let all threads store before any
# > of them reads. A GPU promises nothing of the kind.
#
# The picture shows the order of one block. Nothing joins the two warps; compare it with the one in
# the next section. (Pink belongs to the compiler, not to your code: one lane hands an address to
# the others. Ignore it.)

# %%
fk.timeline(run_mirror, x, y)

# %% [markdown]
# Bad luck can be arranged. `fk.sanitize` reports instead of stopping, and
# `schedule="adversarial"` runs the kernel again in orders that a GPU might choose as well, the
# nastiest it can find.
#
# **Predict:** how many of the 256 elements will come out differently in such an order?

# %%
changed = fk.predict("elements that change", None)

# %% jupyter={"outputs_hidden": true}
adversarial = fk.sanitize(run_mirror, x, y, schedule="adversarial", seeds=2)
changed.against(adversarial.differences[0].wrong)
adversarial

# %% [markdown]
# In these orders one of the two warps ran to its end before the other began: its 32 reads in each
# of 4 blocks found nothing stored yet, 128 in all. That is what the second finding says; it is the
# same mistake, seen from there.
#
# ## 4. The cure: a barrier
#
# `cute.arch.sync_threads()` is a **barrier**: it makes every thread of the block wait until all of
# them have arrived. What was stored before it can be read after it.


# %%
@cute.kernel
def fixed_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sRow = smem.allocate_tensor(Float32, cute.make_layout(64), 16)
    sRow[tidx] = mX[bidx, tidx]
    cute.arch.sync_threads()
    mY[bidx, tidx] = sRow[63 - tidx]


@cute.jit
def fixed(mX: cute.Tensor, mY: cute.Tensor):
    fixed_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(64, 1, 1))


y = fk.empty(4, 64, device="virtual")
run_fixed = fk.compile(fixed, x, y, device="virtual")
run_fixed(x, y)
fk.check(y, x.flip(1), again=lambda: run_fixed(x, y))

# %%
print(fk.sanitize(run_fixed, x, y, schedule="adversarial"))

# %%
fk.timeline(run_fixed, x, y)

# %% [markdown]
# `again=` lets the check repeat the run in such orders, too. Use it whenever threads exchange
# data.

# %% [markdown] exercise="week0/three_sums" part="task"
# ### Exercise 3: add three neighbours
#
# Rows of 128 elements; `y[row, i] = x[row, i-1] + x[row, i] + x[row, i+1]`, where what lies outside
# of the row counts as 0. Each element of `x` is loaded from global memory once, and the neighbours
# come from shared memory. Write all of it: `three_sums(x, y)`.
#
# **Asked**: one block per row, 128 threads per block, at most 1 barrier, at most 512 bytes of
# shared memory per block.
#
# <details><summary>Hint 1</summary>
#
# As in `mirror`: store, wait, read. What does a thread read here that others have stored?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The first and the last thread of a row have one neighbour less: begin with the thread's own
# element, and add each neighbour behind a predicate of its own.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# All threads have to come to the barrier: it stands before the first `if`.
#
# </details>


# %% exercise="week0/three_sums" part="skeleton"
@cute.kernel
def three_sums_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 12 lines)
    pass


@cute.jit
def three_sums(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 1 line)
    pass


# %% exercise="week0/three_sums" part="grade"
fk.exercise("week0/three_sums").grade(three_sums)

# %% [markdown] exercise="week0/three_sums" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# @cute.kernel
# def three_sums_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     row, _, _ = cute.arch.block_idx()
#     smem = cutlass.memory.SmemAllocator()
#     sRow = smem.allocate_tensor(Float32, cute.make_layout(128), 16)
#     total = mX[row, tidx]
#     sRow[tidx] = total
#     cute.arch.sync_threads()
#     if tidx > 0:
#         total += sRow[tidx - 1]
#     if tidx < 127:
#         total += sRow[tidx + 1]
#     mY[row, tidx] = total
#
#
# @cute.jit
# def three_sums(mX: cute.Tensor, mY: cute.Tensor):
#     three_sums_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(128, 1, 1))
# ```
#
# Without shared memory each element would be loaded three times. A cache would answer two of them,
# but each is an instruction and a request; the profile counts them.
#
# </details>

# %% [markdown] exercise="week0/rotate" part="task"
# ### Exercise 4: fix a race
#
# Each block rotates a row of 64 elements by one place, twice, through one row of shared memory. In
# the usual order the values are right, and the sanitizer objects. Fix it. (`range_constexpr` is a
# loop that the compiler writes out.)
#
# <details><summary>Hint 1</summary>
#
# Read the sanitizer's finding from the top: which line reads, which line writes?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# In the second round a thread overwrites an element. Who may not have read it yet?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Between the read of one round and the write of the next there has to be a
# `cute.arch.sync_threads()`, as between write and read.
#
# </details>


# %% exercise="week0/rotate" part="skeleton"
@cute.kernel
def rotate_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sRow = smem.allocate_tensor(Float32, cute.make_layout(64), 16)
    value = mX[bidx, tidx]
    for _ in cutlass.range_constexpr(2):
        sRow[tidx] = value
        cute.arch.sync_threads()
        value = sRow[(tidx + 1) % 64]
        # FILL ME IN (roughly 1 line)
    mY[bidx, tidx] = value


@cute.jit
def rotate(mX: cute.Tensor, mY: cute.Tensor):
    rotate_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(64, 1, 1))


# %% exercise="week0/rotate" part="grade"
fk.exercise("week0/rotate").grade(rotate)

# %% [markdown] exercise="week0/rotate" part="solution"
# <details><summary>Solution of exercise 4</summary>
#
# ```python
# @cute.kernel
# def rotate_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     smem = cutlass.memory.SmemAllocator()
#     sRow = smem.allocate_tensor(Float32, cute.make_layout(64), 16)
#     value = mX[bidx, tidx]
#     for _ in cutlass.range_constexpr(2):
#         sRow[tidx] = value
#         cute.arch.sync_threads()
#         value = sRow[(tidx + 1) % 64]
#         cute.arch.sync_threads()
#     mY[bidx, tidx] = value
#
#
# @cute.jit
# def rotate(mX: cute.Tensor, mY: cute.Tensor):
#     rotate_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(64, 1, 1))
# ```
#
# A barrier protects in both directions: what is stored must be there before it is read, and must
# have been read before it is overwritten. A loop that goes through shared memory usually needs two.
# The very last of the four keeps nothing apart, since no round follows: three are enough, and the
# loop has the fourth for free. (Two rows of shared memory, used in turn, would be another way to
# let the slow ones finish reading.)
#
# </details>

# %% [markdown]
# ## 5. Banks: shared memory has a shape, too
#
# Shared memory is divided into 32 **banks**, each 4 bytes wide, taking turns: bytes 0 to 3 lie in
# bank 0, 4 to 7 in bank 1, … 128 to 131 in bank 0 again. In one go, a **wavefront**, each bank
# serves one word. A warp whose threads want different words of one bank has to wait for several
# wavefronts: a **bank conflict**.
#
# This kernel transposes one 32 × 32 tile: it stores rows and reads columns. `pitch` is the distance
# between two rows of the tile, a **`Constexpr`**: a number that is fixed when the kernel is
# compiled.
#
# **Predict:** how many wavefronts does the read take with a pitch of 32, and how many with 33?

# %%
with_32 = fk.predict("wavefronts of a read, pitch 32", None)
with_33 = fk.predict("wavefronts of a read, pitch 33", None)


# %%
@cute.kernel
def tile_kernel(mX: cute.Tensor, mY: cute.Tensor, pitch: cutlass.Constexpr):
    tidx, tidy, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    sT = smem.allocate_tensor(Float32, cute.make_layout((32, 32), stride=(pitch, 1)), 16)
    sT[tidy, tidx] = mX[tidy, tidx]
    cute.arch.sync_threads()
    mY[tidy, tidx] = sT[tidx, tidy]


@cute.jit
def transpose_tile(mX: cute.Tensor, mY: cute.Tensor, pitch: cutlass.Constexpr):
    tile_kernel(mX, mY, pitch).launch(grid=(1, 1, 1), block=(32, 32, 1))


x, y = fk.randn(32, 32), fk.empty(32, 32)
run_tile = fk.compile(transpose_tile, x, y, 32)
run_tile(x, y)
fk.check(y, x.T)

# %% jupyter={"outputs_hidden": true}
wavefronts = fk.profile(run_tile, x, y)["shared_load_wavefronts_per_request"]
with_32.against(wavefronts)
fk.banks(run_tile, x, y, kind="load")

# %% [markdown]
# Read the picture downwards: one column is one bank, one row one wavefront. All 32 threads want
# bank 0, because their words are 32 words apart. With one unused word at the end of each row, a
# column of the tile walks through all the banks:

# %%
run_padded = fk.compile(transpose_tile, x, y, 33)
run_padded(x, y)
fk.check(y, x.T)

# %% jupyter={"outputs_hidden": true}
wavefronts = fk.profile(run_padded, x, y)["shared_load_wavefronts_per_request"]
with_33.against(wavefronts)
fk.banks(run_padded, x, y, kind="load")

# %% [markdown]
# What you said in this notebook, and what it was:

# %%
fk.predictions()

# %% [markdown]
# ## Summary
#
# | kernel | result | what the tools said |
# |---|---|---|
# | copy by rows | right | 32 sectors a request, 4 would do |
# | copy by columns | right | 4 sectors a request |
# | mirror | right, by luck | a race between two lines |
# | fixed mirror | right | clean, also under adversarial schedules |
# | tile, pitch 32 | right | 32 wavefronts a read, 1 would do |
# | tile, pitch 33 | right | 1 wavefront |
#
# | question | ask |
# |---|---|
# | Which line is slow? | `fk.profile(run, x, y)`, then `.show()` |
# | Which bytes does a warp move? | `fk.coalescing(run, x, y, line=…)` |
# | Which banks does it use? | `fk.banks(run, x, y, line=…)` |
# | Who touches which element? | `fk.footprint(run, x, y, by="warp")` |
# | In what order? | `fk.timeline(run, x, y)` |
# | Is it really right? | `fk.check(y, …, again=…)`, `fk.sanitize(run, x, y)` |
#
# **In practice** the same numbers come from NVIDIA's tools on a GPU: sectors and wavefronts from
# Nsight Compute, races from compute-sanitizer. They need a GPU, and the first of them
# permission to read its counters.
#
# **Further reading:** *What the virtual GPU models*, a page of this course's book
# (`book/virtual_gpu.md`) · [Nsight Compute's memory tables](https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html#memory-tables)
# · [compute-sanitizer](https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer/index.html)
#
# **Next:** layouts, the functions that say where an element lies
# ([`03_see_layouts`](03_see_layouts.ipynb)).
