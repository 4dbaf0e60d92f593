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
# # Find out why a kernel is slow or wrong
#
# **You will build** a matrix copy and a kernel whose threads exchange data to mirror rows. You will
# then fix both.
# **You will learn** to read a profile by source line, to see which bytes a warp moves and which
# banks it uses, and to find a mistake that a comparison of values misses.
# **You need** `00_start_here`, but no GPU: this notebook looks inside the virtual GPU, even if you
# have a real one. About 35 minutes, and 55 more for the exercises, two of which are whole kernels.

# %%
import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32

import forgekit as fk
from forgekit.viz.ideas import traffic_film

# %% [markdown]
# ## 1. Two copies, one result
#
# In `00_start_here`, each thread read 4 bytes and wrote 4 bytes. The hardware may move more than
# that.
#
# A **warp** is a group of 32 threads that execute the same instruction together; its threads are
# called **lanes** and numbered 0 to 31. When a warp reads memory, the hardware does not fetch 32
# individual numbers. It fetches whole **sectors** of 32 bytes, each of which holds eight float32
# values.
#
# This kernel copies a matrix with one thread per element. A block may have two dimensions; this one
# has 32 × 8 threads. The hardware numbers the threads with the first index varying fastest, and
# groups 32 consecutive numbers into a warp. Here, a warp consists of the 32 threads with the same
# `tidy`. They differ in `tidx`, which selects the **row**:


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
# The values are correct, but is the kernel efficient? The 32 lanes of a warp read 32 × 4 = 128
# bytes, which fit in four sectors.
#
# **Predict:** how many sectors does a warp fetch with one read? (Each row of `x` has 96 elements.
# Where in memory are the elements that neighbouring lanes read?) Replace `None` with your number
# and run both cells. A **profile** counts the instructions and memory accesses of a kernel.
# `fk.predict` records your number under the name that the profile uses, and the next `fk.profile`
# adds the measured number. (A **request** is one memory instruction of one warp.)

# %%
fk.predict(global_load_sectors_per_request=None)

# %% jupyter={"outputs_hidden": true}
profile = fk.profile(run_by_rows, x, y)
fk.predictions()

# %% [markdown]
# The full profile shows the cost of each line of your Python code. Its memory counters are the ones
# that NVIDIA's profiler, Nsight Compute, reads from a real GPU. The column `each (ideal)` gives the
# number of sectors that a request fetched and, in parentheses, the smallest number that would have
# been enough:

# %%
profile

# %% [markdown]
# A row is 384 bytes long, so the elements of neighbouring lanes are 384 bytes apart. Each of the 32
# lanes needs a different sector of 32 bytes and uses only 4 of its bytes. The next picture shows
# the first warp's load and store. Each of its rows represents four sectors, 128 bytes of memory;
# the number on the right is the distance from the row above. Wasted bytes are orange.

# %%
profile.show()

# %% [markdown]
# ## 2. Swap row and column
#
# Let `tidx` select the **column** instead. Row and column swap roles in the kernel and in the grid,
# but the result stays the same.


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
fk.coalescing(run_by_columns, x, y, kind="load")

# %% [markdown]
# A warp's accesses are called **coalesced** if they fall into as few sectors as possible. Both
# copies must move the same bytes at least once. The number of these bytes, divided by the GPU's
# **bandwidth** (the number of bytes that its memory moves per second), gives the shortest possible
# time. The example GPU in this course is NVIDIA's H200. The first copy moves eight times as many
# bytes as the second:

# %%
better = fk.profile(run_by_columns, x, y)
for name, p in (("by rows", profile), ("by columns", better)):
    sectors = p["global_load_sectors"] + p["global_store_sectors"]
    print(f"{name:11s} {sectors:6,} sectors = {32 * sectors:7,} bytes moved")
print(f"at least {better.bytes_touched:,} bytes, {better.bound_s('H200') * 1e9:.0f} ns on an H200")
traffic_film({"by rows": profile, "by columns": better})

# %% [markdown]
# Play the animation. At each tick, each kernel moves one sector. The orange bytes were moved
# although no lane requested them. `profile.compare(better)` combines the two profiles into one
# table, line by line.
#
# The **footprint** by warp shows which elements each warp accesses in one line of the kernel. Each
# warp now covers a piece of one row. (Thin white lines separate the blocks; each block has warps 0
# to 7.)

# %%
fk.footprint(run_by_columns, x, y, by="warp", line="mY[row, col] = mX[row, col]", tensor="mX")

# %% [markdown] exercise="week0/four_loads" part="task"
# ### Exercise 1: predict what four loads cost
#
# Threads `i = 0 … 255` load float32 elements of `x`, whose address is a multiple of 256 bytes. How
# many sectors does the first warp (threads 0 to 31) fetch with each load? A cell after the grading
# cell draws them.
#
# <details><summary>Hint 1</summary>
#
# Which elements do threads 0 to 31 read? Write down the first and the last.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Each sector holds eight elements: 0 to 7, 8 to 15, and so on. A sector counts once, however many
# threads access it.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Divide the indices of the first and the last element by 8 and round down to get the numbers of the
# first and the last sector. The warp accesses every sector between them, unless its stride skips
# some.
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
# The cost depends on the number of sectors, not on the number of lanes or words. A load with a
# stride of 2 fetches every byte in its range and uses half of them. A load that does not start on a
# sector boundary fetches five sectors instead of four. The order of the lanes makes no difference,
# and lanes that read the same word share its sector.
#
# </details>

# %% [markdown]
# To draw a load that surprised you, change the index in the kernel and run the cell again.


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
# Copy `x` to `y` where `col <= row`, and store `0` above the diagonal, for matrices of any size in
# float32 and float16. `mX.element_type(0)` is a 0 of the tensor's type. Write the whole kernel and
# its launch, for example with one thread per element in blocks of (32, 8, 1). Fetch no more sectors
# than needed. Use a single store for both cases, because two stores would write the sectors on the
# diagonal twice. Signature: `lower_triangle(x, y)`.
#
# <details><summary>Hint 1</summary>
#
# You need two predicates: one for elements that exist, and one for elements that are kept.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The kernel stores every element of `y`, including those that do not depend on `x`. Which of `tidx`
# and `tidy` must be the column so that a warp writes part of one row?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A variable that you assign inside an `if` must already exist before it. Begin with `value =
# mX.element_type(0)`, and store `value` once, after the `if`.
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
# The kernel loads nothing above the diagonal, which saves about half of the loads. So a predicate
# can save traffic, but only in whole sectors. Where the diagonal crosses a sector, the hardware
# still fetches all of it.
#
# </details>

# %% [markdown]
# This is a good place for a break.
#
# ## 3. Threads that exchange data
#
# **Shared memory** is a small, fast memory that the threads of one block share. Here, a block of 64
# threads mirrors a row of 64 elements. Each thread stores one element, then reads the opposite one,
# which another thread has stored. An `SmemAllocator` allocates the memory, in this case for 64
# contiguous float32 values at an address that is a multiple of 16 bytes.


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
# **Predict:** are the values correct? Is the kernel correct? Then run the next three cells. (One of
# them raises an error on purpose.)

# %%
values_right = fk.predict("the values are correct", None)  # True or False
kernel_right = fk.predict("the kernel is correct", None)  # True or False

# %% jupyter={"outputs_hidden": true} tags=["raises-exception"]
run_mirror(x, y)

# %% jupyter={"outputs_hidden": true}
fk.check(y, x.flip(1))
values_right.against(torch.equal(y, x.flip(1)))
kernel_right.against(bool(fk.sanitize(run_mirror, x, y)))

# %% [markdown]
# > **Looks right but is wrong.** Every value is correct, but the run ended with an error. The
# > **sanitizer**, which watches every run on the virtual GPU, saw a thread read an element that
# > another thread wrote, although nothing made the reader wait for the writer. This is called a
# > **race**. The values are correct only by luck, because the virtual GPU happens to let all
# > threads store before any of them reads. A real GPU guarantees no such order.
#
# The next picture shows the order of events within one block. Nothing makes one warp wait for the
# other; compare this picture with the one in the next section. (The pink marks show code that the
# compiler added, in which one lane passes an address to the others. You can ignore them.)

# %%
fk.timeline(run_mirror, x, y)

# %% [markdown]
# You can make such a race visible. `fk.sanitize` reports errors instead of stopping at them, and
# `schedule="adversarial"` repeats the run in the least favourable orders that a GPU might choose.
#
# **Predict:** how many of the 256 elements change in such an order?

# %%
changed = fk.predict("elements that change", None)

# %% jupyter={"outputs_hidden": true}
adversarial = fk.sanitize(run_mirror, x, y, schedule="adversarial", seeds=2)
changed.against(adversarial.differences[0].wrong)
adversarial

# %% [markdown]
# In these orders, one of the two warps finished before the other began. In each of the 4 blocks, 32
# of the reads found no stored value, 128 in all. The second finding reports these reads; its cause
# is the same race.
#
# ## 4. The fix: a barrier
#
# `cute.arch.sync_threads()` is a **barrier**, at which every thread of the block waits until all of
# them have arrived. After the barrier, each thread can read what the others stored before it.


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
# With `again=`, the check also repeats the run in adversarial orders. Use this option whenever
# threads exchange data.

# %% [markdown] exercise="week0/three_sums" part="task"
# ### Exercise 3: add three neighbours
#
# Each row has 128 elements. Compute `y[row, i] = x[row, i-1] + x[row, i] + x[row, i+1]`, where
# elements outside the row count as 0. Elements may be infinite. Load each element of `x` from
# global memory once: a thread gets its neighbours' elements from shared memory or by shuffles.
# Write the whole kernel. Signature: `three_sums(x, y)`.
#
# **Required**: one block per row, 128 threads per block, 4 warps per block that share the loads, at
# most 1 barrier, at most 512 bytes of shared memory per block.
#
# <details><summary>Hint 1</summary>
#
# As in `mirror`, each thread stores, waits and reads. Which elements that other threads stored does
# each thread read here?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The first and the last thread of a row have only one neighbour. Begin with the thread's own
# element, and add each neighbour under its own predicate.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# All threads must reach the barrier, so put it before the first `if`.
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
# Without shared memory, the kernel would load each element three times. A cache would serve two of
# these loads, but each of them is still an instruction and a request, and the profile counts both.
#
# </details>

# %% [markdown] exercise="week0/rotate" part="task"
# ### Exercise 4: fix a race
#
# Each block rotates a row of 64 elements by one place, twice, through shared memory. In the usual
# order the values are correct, but the kernel has a race. Run `fk.sanitize(fk.compile(rotate, x, y,
# device="virtual"), x, y)`, read its finding, and then fix the race, with at most two barriers per
# round. (The compiler unrolls a `range_constexpr` loop.)
#
# <details><summary>Hint 1</summary>
#
# Read the sanitizer's finding from the top. Which line reads, and which line writes?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# In the second round, a thread overwrites an element. Which thread may not have read that element
# yet?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# A `cute.arch.sync_threads()` must separate the read of one round from the write of the next, just
# as the existing one separates the write from the read.
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
    # FILL ME IN (roughly 6 lines)
    for _ in cutlass.range_constexpr(2):
        sRow[tidx] = value
        cute.arch.sync_threads()
        value = sRow[(tidx + 1) % 64]
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
# A barrier protects in both directions: a thread must store a value before another thread reads it,
# and must read a value before another thread overwrites it. So a loop that exchanges data through
# shared memory usually needs two barriers per round. Here the last of the four orders nothing,
# because no round follows it. (If the rounds alternated between two rows of shared memory, slow
# threads would also have time to finish reading.)
#
# </details>

# %% [markdown]
# ## 5. The banks of shared memory
#
# Shared memory is divided into 32 **banks**. Consecutive 4-byte words are in consecutive banks:
# bytes 0 to 3 are in bank 0, bytes 4 to 7 in bank 1, and so on until bytes 128 to 131, which are in
# bank 0 again. In one **wavefront**, each bank serves one word. If the lanes of a warp need
# different words from one bank, the access takes several wavefronts, which is called a **bank
# conflict**. Lanes that need the same word share it.
#
# The next kernel transposes one 32 × 32 tile by storing rows and reading columns. `pitch` is the
# distance between two consecutive rows of the tile. It is a **`Constexpr`**, a value that is fixed
# when the kernel is compiled.
#
# **Predict:** how many wavefronts does a read take with a pitch of 32, and how many with a pitch of
# 33?

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
# Each column of the picture is a bank, and each row is a wavefront. All 32 lanes need bank 0,
# because the words that they read are 32 words apart. With one unused word at the end of each row,
# the words of a column are spread over all 32 banks:

# %%
run_padded = fk.compile(transpose_tile, x, y, 33)
run_padded(x, y)
fk.check(y, x.T)

# %% jupyter={"outputs_hidden": true}
wavefronts = fk.profile(run_padded, x, y)["shared_load_wavefronts_per_request"]
with_33.against(wavefronts)
fk.banks(run_padded, x, y, kind="load")

# %% [markdown] exercise="week0/count_wavefronts" part="task"
# ### Exercise 5: predict what four reads cost
#
# Lanes `i = 0 … 31` of a warp read float32 elements of `s`, an array in shared memory that begins
# in bank 0. How many wavefronts does each read take?
#
# <details><summary>Hint 1</summary>
#
# Word number w is in bank w % 32. Write down the banks from which lanes 0, 1, 2, … read, until a
# bank repeats.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Find the bank that has to serve the most different words, and count those words.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# With a stride of 16, the lanes read from only two banks, so each bank serves half of the lanes.
# Lanes that read the same word count once.
#
# </details>

# %% exercise="week0/count_wavefronts" part="skeleton"
wavefronts = {
    # FILL ME IN (roughly 4 lines)
    "s[2 * i]": None,
    "s[3 * i]": None,
    "s[16 * i]": None,
    "s[i // 4]": None,
}

# %% exercise="week0/count_wavefronts" part="grade"
fk.exercise("week0/count_wavefronts").grade(wavefronts)

# %% [markdown] exercise="week0/count_wavefronts" part="solution"
# <details><summary>Solution of exercise 5</summary>
#
# ```python
# wavefronts = {
#     "s[2 * i]": 2,
#     "s[3 * i]": 1,
#     "s[16 * i]": 16,
#     "s[i // 4]": 1,
# }
# ```
#
# With a stride of 2, each of 16 banks serves two words; with a stride of 16, each of two banks
# serves 16 words. An odd stride uses all 32 banks, which is why a pitch of 33 helps. Lanes that
# read the same word share one wavefront.
#
# </details>

# %% [markdown]
# ## Summary
#
# | kernel | values | what the tools report |
# |---|---|---|
# | copy by rows | correct | 32 sectors per request, where 4 would be enough |
# | copy by columns | correct | 4 sectors per request |
# | mirror | correct, by luck | a race between two lines |
# | fixed mirror | correct | no finding, even under adversarial schedules |
# | tile, pitch 32 | correct | 32 wavefronts per read, where 1 would be enough |
# | tile, pitch 33 | correct | 1 wavefront per read |
#
# | question | tool |
# |---|---|
# | Which line is slow? | `fk.profile(run, x, y)`, then `.show()` |
# | Which of two kernels moves fewer bytes, and where? | `p.compare(q)` for two profiles |
# | Which bytes does a warp move? | `fk.coalescing(run, x, y, line=…)` |
# | Which banks does a warp use? | `fk.banks(run, x, y, line=…)` |
# | Which thread accesses which element? | `fk.footprint(run, x, y, by="warp")` |
# | In what order do the accesses happen? | `fk.timeline(run, x, y)` |
# | Is the kernel really correct? | `fk.check(y, …, again=…)`, `fk.sanitize(run, x, y)` |
#
# **In practice**, NVIDIA's tools report the same numbers on a GPU: Nsight Compute counts sectors
# and wavefronts, and compute-sanitizer finds races. Both need a GPU, and Nsight Compute also needs
# permission to read the GPU's counters.
#
# **Further reading:** *What the virtual GPU models*, a page of this course's book
# (`book/virtual_gpu.md`) · [Nsight Compute's memory
# tables](https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html#memory-tables)
# · [compute-sanitizer](https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer/index.html)
#
# **Next:** five whole kernels, graded for values, thread order and waste
# ([`02_five_kernels`](02_five_kernels.ipynb)).
