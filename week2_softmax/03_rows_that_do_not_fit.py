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
# # Keep rows that do not fit
#
# **You will build** three softmaxes for rows that are too long for registers. The first keeps the
# row in the shared memory of one block, the second in the shared memory of several blocks, and the
# third reads the row twice.
# **You will learn** how much data a multiprocessor can hold, how a barrier can count bytes, and
# which kernel is fastest at which row length, first by prediction and then by times recorded on an
# H200.
# **You need** `02_the_row_in_registers`, clusters (`04_few_long_rows` of week 1) and `cp.async`
# (`05_tiled_copies` of week 0). About 50 minutes, and 140 more for the exercises.

# %%
import math
import operator

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32, Int32, Int64
from cutlass.cute.nvgpu import cpasync
from week2_helpers import (
    THREADS,
    absorb,
    blocks_per_sm,
    compiled_for,
    exchange_picture,
    exp,
    loads_of,
    merged_block,
    merged_lanes,
    merged_parts,
    percent_table,
    recorded_ways,
    shared_bytes_of,
    single_pass,
    sm_picture,
    streamed_sum,
    tried,
    vectors_of,
    way,
    ways_picture,
    whole,
)

import forgekit as fk
from forgekit.benching.recorded import recorded
from forgekit.viz.ideas import fill_multiprocessor, pipeline

ALL = (torch.float16, torch.bfloat16, torch.float32)

# %% [markdown]
# ## 1. The bad number: registers
#
# `single_pass` keeps its row in registers. It uses one block of 256 threads per row, and `loads`
# vectors of 16 bytes per thread. It comes from `week2_helpers.py`, as do the functions that this
# notebook's kernels share:
#
# | function | returns |
# |---|---|
# | `absorb(m, s, x)` | a thread's (m, s) after the vector x |
# | `merged_lanes(m, s)` | (m, s) of the warp, in every lane |
# | `merged_parts(sPart)` | (m, s) of the row, from the pairs of its warps |
# | `merged_block(m, s, sPart)` | (m, s) of the block, in every thread |
# | `vectors_of(gRow)` | the row as 16-byte vectors, `((Vec),(Rest))` |
# | `tried(fn, …)` | the compiled `fn`, after a checked run |
#
# A multiprocessor (SM) has 65,536 registers, room for 2,048 threads, and 228 kB of shared memory,
# of which one block may use 227 kB. The system reserves another 1 kB per block. (Here 1 kB is 1,024
# bytes, so the registers hold 256 kB.) The scarcest of the three resources limits how many blocks
# fit. `blocks_per_sm` returns that number:

# %%
run_single, x, y = tried(single_pass, 8)
for n in (4096, 8192, 16384):
    run = compiled_for(single_pass, n, n // 1024)
    blocks = blocks_per_sm(run, THREADS)
    print(f"{n:6,} float32 per row: {run.registers:3} registers per thread", end=", ")
    print(f"{blocks} blocks per SM, {blocks * n // 256} kB of rows")

# %% [markdown]
# **Predict:** a row of 32,768 `float32` takes 128 kB, half of an SM's registers. How many blocks,
# and therefore how many rows, does an SM hold?

# %%
rows_at_work = fk.predict("blocks per SM, rows of 32,768 float32", None)

# %% jupyter={"outputs_hidden": true}
for n in (32768, 65536):
    run = compiled_for(single_pass, n, n // 1024)
    blocks = blocks_per_sm(run, THREADS)
    print(f"{n:6,} float32 per row: {run.registers:3} registers per thread", end=", ")
    print(f"{blocks} block per SM, {run.spill_bytes} bytes per thread spilled")
    if n == 32768:
        rows_at_work.against(blocks)

# %% [markdown]
# The registers of an SM hold at most 128 kB of these rows, because the arithmetic also needs
# registers. At 32,768 elements per row, that is one row. At 65,536, the row alone would fill every
# register. More threads per row do not help, because the limit is the SM's registers, not the
# thread's.
#
# ## 2. A row in shared memory
#
# An SM also has 228 kB of shared memory, and `cp.async` fills it without using registers. With one
# block per row, the plan is:
#
# 1. Each thread starts copying all its vectors, with one group per vector.
# 2. It waits for one group at a time, and absorbs each vector as it arrives.
# 3. The block merges the pairs (m, s).
# 4. Each thread reads its vectors from shared memory again, and stores the result.
#
# Each thread reads only the data that it has copied itself, so its own wait is enough: no barrier
# has to separate a copy from its use.


# %%
@cute.jit
def start_copies(gX, tXsX, first, step):
    """Start the copies of a thread's vectors first, first + step, …: one group per vector."""
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), gX.element_type, num_bits_per_copy=128)
    for k in cutlass.range_constexpr(tXsX.shape[1]):
        if first + k * step < cute.size(gX, mode=[1]):
            cute.copy(atom, gX[None, first + k * step], tXsX[None, k])
        cute.arch.cp_async_commit_group()


@cute.jit
def first_look(gX, tXsX, first, step, late=0):
    """Absorb each vector as it arrives, and return the thread's (m, s)."""
    m, s = -Float32.inf, Float32(0.0)
    loads = cutlass.const_expr(tXsX.shape[1])
    for k in cutlass.range_constexpr(loads):
        cute.arch.cp_async_wait_group(loads - 1 - k + late)
        if first + k * step < cute.size(gX, mode=[1]):
            m, s = absorb(m, s, tXsX[None, k].load().to(Float32))
    return m, s


@cute.jit
def second_look(tXsX, gY, m, s, first, step):
    """Store the result for the vectors that are in shared memory."""
    scale = 1.0 / s
    rY = cute.make_rmem_tensor(tXsX.shape[0], gY.element_type)
    for k in cutlass.range_constexpr(tXsX.shape[1]):
        if first + k * step < cute.size(gY, mode=[1]):
            y = exp(tXsX[None, k].load().to(Float32) - m) * scale
            rY.store(y.to(gY.element_type))
            cute.autovec_copy(rY, gY[None, first + k * step])


# %% [markdown]
# The number in each wait decreases: while a thread absorbs vector k, the `loads - 1 - k` newer
# groups may still be in flight. The compiler has to know these numbers, so the loop is a
# `range_constexpr`. (`late` stays 0 for now.) The kernel calls all three functions:


# %%
@cute.kernel
def staged_kernel(
    mX: cute.Tensor, mY: cute.Tensor, loads: cutlass.Constexpr, late: cutlass.Constexpr
):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    gX, gY = vectors_of(mX[row, None]), vectors_of(mY[row, None])  # ((Vec),(Rest))
    smem = cutlass.memory.SmemAllocator()
    layout = cute.make_layout((gX.shape[0][0], THREADS, loads))  # (Vec,THREADS,loads)
    tXsX = smem.allocate_tensor(mX.element_type, layout, 128)[None, tidx, None]  # (Vec,loads)
    sPart = smem.allocate_tensor(Float32, cute.make_layout((2, THREADS // 32)), 8)
    start_copies(gX, tXsX, tidx, THREADS)
    m, s = first_look(gX, tXsX, tidx, THREADS, late)
    m, s = merged_block(m, s, sPart)
    second_look(tXsX, gY, m, s, tidx, THREADS)


@cute.jit
def staged(mX: cute.Tensor, mY: cute.Tensor, loads: cutlass.Constexpr, late: cutlass.Constexpr = 0):
    block = (THREADS, 1, 1)
    staged_kernel(mX, mY, loads, late).launch(grid=(mX.shape[0], 1, 1), block=block)


run_staged, x, y = tried(staged, 8, dtypes=ALL)

# %% [markdown]
# **Predict:** for rows of 16,384 `float32`, an SM's registers had room for two blocks of
# `single_pass`. How many blocks of `staged` fit?

# %%
staged_blocks = fk.predict("blocks of staged per SM, rows of 16,384 float32", None)

# %% jupyter={"outputs_hidden": true}
registers, shared = {}, {}  # row length -> (blocks per SM, kB per block, kB of its row)
for n in (4096, 8192, 16384, 32768):
    run = compiled_for(single_pass, n, n // 1024)
    registers[f"{n:,}"] = (blocks_per_sm(run, THREADS), -(-run.registers // 8) * 8, n / 256)
    run, size = compiled_for(staged, n, n // 1024), shared_bytes_of(n)
    shared[f"{n:,}"] = (blocks_per_sm(run, THREADS, size), size / 1024 + 1, n / 256)
staged_blocks.against(shared["16,384"][0])
panels = ("registers, kB", 256, registers), ("shared memory, kB", 228, shared)
sm_picture("Blocks on one SM, by row length", *panels)
fill_multiprocessor(threads=THREADS, registers=run.registers, shared_bytes=size)  # 32,768

# %% [markdown]
# Dark blue is the row, light blue is the rest of a block, and the hatched part stays free. Rows
# fill at most half of the registers, but they fill shared memory until the next block no longer
# fits. (At 4,096 elements, the SM reaches its limit of 2,048 threads first.) A row may now have up
# to 57,344 `float32`, which is 56 vectors per thread, or 224 kB. In the second picture, change a
# block's threads, registers or shared memory, and see which resource runs out first.
#
# Suppose each wait leaves one group too many in flight (`late=1`). On a GPU, the values are correct
# whenever the data happen to arrive in time, but the virtual GPU tracks each copy. **Predict:**
# what does the sanitizer report?

# %%
too_late = fk.predict("kind of finding", None)  # such as "shared-race", "async-copy", "deadlock"

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(1, 2048, device="virtual"), fk.empty(1, 2048, device="virtual")
run_late = fk.compile(staged, whole(x), whole(y), 2, 1, device="virtual")
report = fk.sanitize(run_late, x, y)
too_late.against(report.findings[0].kind)
report

# %% [markdown] exercise="week2/staged_rows" part="task"
# ### Exercise 1: keep rows in shared memory
#
# Compute the softmax of each row of x, in float32, for rows of up to 1,024 elements in whole
# vectors of four. One warp copies its row to shared memory with `cp.async`, in groups of 32
# vectors, and starts all groups before the first wait. It finds the maximum, with or without the
# sum, group by group, as the groups arrive, and then reads the row from shared memory again to
# compute the result. Read each element only once from global memory. Signature: `staged_rows(x,
# y)`.
#
# **Required**: one block per row, 32 threads per block, 16 bytes per load, each element read at
# least twice from shared memory.
#
# <details><summary>Hint 1</summary>
#
# A row of 1,024 elements has eight groups. A lane reads only data that it has copied itself. Which
# copies must it wait for, and which may still be in flight?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The eight waits leave 7, 6, …, 0 groups in flight. The compiler needs these numbers, so the loop
# is a `cutlass.range_constexpr`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Commit outside the `if` around the copy. Give the shared tensor the layout `(4, 32, 8)`, and slice
# it by the lane in the line that makes it: each lane gets its own (4, 8).
#
# </details>


# %% exercise="week2/staged_rows" part="skeleton"
@cute.kernel
def staged_rows_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 29 lines)
    pass


@cute.jit
def staged_rows(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 1 line)
    pass


# %% exercise="week2/staged_rows" part="grade"
fk.exercise("week2/staged_rows").grade(staged_rows)

# %% [markdown] exercise="week2/staged_rows" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# @cute.kernel
# def staged_rows_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     lane, _, _ = cute.arch.thread_idx()
#     row, _, _ = cute.arch.block_idx()
#     smem = cutlass.memory.SmemAllocator()
#     sX = smem.allocate_tensor(Float32, cute.make_layout((4, 32, 8)), 16)
#     tXsX = sX[None, lane, None]  # (4,8)
#     gX = cute.zipped_divide(mX[row, None], (4,))  # ((4),(Rest))
#     gY = cute.zipped_divide(mY[row, None], (4,))  # ((4),(Rest))
#     vectors = cute.size(gX, mode=[1])
#     atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
#     for k in cutlass.range_constexpr(8):
#         if k * 32 + lane < vectors:
#             cute.copy(atom, gX[None, k * 32 + lane], tXsX[None, k])
#         cute.arch.cp_async_commit_group()
#     m, s = -Float32.inf, Float32(0.0)
#     for k in cutlass.range_constexpr(8):
#         cute.arch.cp_async_wait_group(7 - k)
#         if k * 32 + lane < vectors:
#             x = tXsX[None, k].load()
#             m_new = cute.arch.fmax(m, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))
#             added = cute.math.exp(x - m_new, fastmath=True).reduce(cute.ReductionOp.ADD, 0.0, 0)
#             s = s * cute.math.exp(m - m_new, fastmath=True) + added
#             m = m_new
#     m_row = cute.arch.warp_reduction(m, cute.arch.fmax)
#     s = cute.arch.warp_reduction(s * cute.math.exp(m - m_row, fastmath=True), operator.add)
#     rY = cute.make_rmem_tensor(4, Float32)
#     for k in cutlass.range_constexpr(8):
#         if k * 32 + lane < vectors:
#             rY.store(cute.math.exp(tXsX[None, k].load() - m_row, fastmath=True) * (1.0 / s))
#             cute.autovec_copy(rY, gY[None, k * 32 + lane])
#
#
# @cute.jit
# def staged_rows(mX: cute.Tensor, mY: cute.Tensor):
#     staged_rows_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(32, 1, 1))
# ```
#
# A lane holds four elements of the row in registers at a time instead of 32, and all of its 128
# bytes are in flight together. A row needs 4 kB, so the SM's 228 kB have room for 32 blocks, the
# most that an SM can hold. No barrier is needed, because no lane reads data that another lane has
# copied.
#
# </details>

# %% [markdown]
# If a row does not consist of whole tiles, some lanes copy one vector fewer. The next exercise
# shows how that affects the count of groups.

# %% [markdown] exercise="week2/fix_the_wait" part="task"
# ### Exercise 2: fix the waiting
#
# The kernel copies each row of up to 512 float32 to shared memory in four groups. Then it subtracts
# the row's maximum and stores the row backwards: `y[m, n] = x[m, N - 1 - n] - max x[m, :]`. On a
# GPU, the code below may return the correct values, if the data happen to arrive in time. But it
# contains three mistakes. Fix them, and keep copies in flight during the search for the maximum.
#
# **Required**: at most 1 barrier.
#
# <details><summary>Hint 1</summary>
#
# A group consists of the copies that *one thread* has started since its last commit. How many
# groups does a lane without a vector commit?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# When a lane reads the vector of group k, groups k + 1 to 3 may still be in flight. How many groups
# is that?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In the line `mY[row, k] = …` a lane reads data that other lanes have copied, but each lane has
# waited only for its own copies. A shuffle does not order memory accesses; `cute.arch.sync_warp()`
# does.
#
# </details>


# %% exercise="week2/fix_the_wait" part="skeleton"
@cute.kernel
def fix_the_wait_kernel(mX: cute.Tensor, mY: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sRow = smem.allocate_tensor(Float32, cute.make_layout(512), 16)
    gX = cute.zipped_divide(mX[row, None], (4,))  # ((4),(Rest))
    sX = cute.zipped_divide(sRow, (4,))  # ((4),(128))
    vectors = cute.size(gX, mode=[1])
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
    m = -Float32.inf
    # FILL ME IN (roughly 11 lines)
    for k in cutlass.range_constexpr(4):
        if k * 32 + lane < vectors:
            cute.copy(atom, gX[None, k * 32 + lane], sX[None, k * 32 + lane])
            cute.arch.cp_async_commit_group()
    for k in cutlass.range_constexpr(4):
        cute.arch.cp_async_wait_group(4 - k)
        if k * 32 + lane < vectors:
            x = sX[None, k * 32 + lane].load()
            m = cute.arch.fmax(m, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))
    m = cute.arch.warp_reduction(m, cute.arch.fmax)
    n = mX.shape[1]
    for k in range(lane, n, 32):
        mY[row, k] = sRow[n - 1 - k] - m


@cute.jit
def fix_the_wait(mX: cute.Tensor, mY: cute.Tensor):
    fix_the_wait_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(32, 1, 1))


# %% exercise="week2/fix_the_wait" part="grade"
fk.exercise("week2/fix_the_wait").grade(fix_the_wait)

# %% [markdown] exercise="week2/fix_the_wait" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# @cute.kernel
# def fix_the_wait_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     lane, _, _ = cute.arch.thread_idx()
#     row, _, _ = cute.arch.block_idx()
#     smem = cutlass.memory.SmemAllocator()
#     sRow = smem.allocate_tensor(Float32, cute.make_layout(512), 16)
#     gX = cute.zipped_divide(mX[row, None], (4,))  # ((4),(Rest))
#     sX = cute.zipped_divide(sRow, (4,))  # ((4),(128))
#     vectors = cute.size(gX, mode=[1])
#     atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
#     m = -Float32.inf
#     for k in cutlass.range_constexpr(4):
#         if k * 32 + lane < vectors:
#             cute.copy(atom, gX[None, k * 32 + lane], sX[None, k * 32 + lane])
#         cute.arch.cp_async_commit_group()
#     for k in cutlass.range_constexpr(4):
#         cute.arch.cp_async_wait_group(3 - k)
#         if k * 32 + lane < vectors:
#             x = sX[None, k * 32 + lane].load()
#             m = cute.arch.fmax(m, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))
#     m = cute.arch.warp_reduction(m, cute.arch.fmax)
#     cute.arch.sync_warp()
#     n = mX.shape[1]
#     for k in range(lane, n, 32):
#         mY[row, k] = sRow[n - 1 - k] - m
#
#
# @cute.jit
# def fix_the_wait(mX: cute.Tensor, mY: cute.Tensor):
#     fix_the_wait_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(32, 1, 1))
# ```
#
# With the commit inside the `if`, a lane without a vector commits nothing. But the number in
# `cp_async_wait_group` is the same for all lanes, so all lanes have to commit the same number of
# groups. An empty group is legal and already complete. (Rows of whole tiles hide this mistake.) The
# last wait has to leave 0 groups in flight. After it, a thread can read all of its own copies and,
# after `sync_warp`, those of the other lanes as well.
#
# </details>

# %% [markdown]
# A good place for a break.
#
# ## 3. A row in the shared memory of several blocks
#
# **The bad number: 227 kB.** A row of 65,536 `float32` takes 256 kB and does not fit into one
# block. But the blocks of a cluster can write into each other's shared memory. So each block copies
# a part of the row and computes that part's (m, s), and then the blocks exchange pairs. **Every**
# block needs the result, because every block writes its part of the row.
#
# Here is the exchange in Python. Each block has a mailbox with one slot per block, and sends its
# pair to every mailbox.

# %%
row = fk.randn(32, device="virtual").double()
parts = row.reshape(4, 8)  # four blocks, eight elements each
mailboxes = [{} for block in range(4)]
for sender, part in enumerate(parts):
    pair = part.max(), (part - part.max()).exp().sum()
    for mailbox in mailboxes:
        mailbox[sender] = pair
for block, mailbox in enumerate(mailboxes):
    assert len(mailbox) == 4  # wait until all pairs have arrived
    m = max(m for m, s in mailbox.values())
    s = sum(s * (part_m - m).exp() for part_m, s in mailbox.values())
    print(f"block {block}: m = {m:.3f}, s = {s:.3f}, log-sum-exp {m + s.log():.6f}")
print(f"torch:                          {row.logsumexp(0):.6f}")

# %% [markdown]
# On a GPU, the hard part is what the `assert` checks: how does a block know that all pairs have
# arrived?
#
# **An mbarrier counts bytes.** Week 1 used a second `cluster_arrive` and `cluster_wait`, at which
# all threads of all blocks meet. With an mbarrier, threads wait for the *data* instead. It is an
# 8-byte counter in shared memory. Its phase 0 ends when it has counted all expected arrivals and
# all expected bytes.
#
# | call | effect |
# |---|---|
# | `mbarrier_init(mbar, 1)` | expects one arrival per phase |
# | `mbarrier_arrive_and_expect_tx(mbar, n)` | arrives, and expects n bytes |
# | `store_async_dsmem(pointer, values, mbar, rank)` | sends words to block `rank` |
# | `mbarrier_wait(mbar, 0)` | waits until phase 0 has ended; then the words may be read |
#
# `store_async_dsmem` writes 32-bit words to the same offset in the other block, and that block's
# mbarrier counts their bytes as they arrive.
#
# The smallest example has four blocks of one warp. Each block sends the pair (rank, 10 · rank) to
# all four: lane r sends to block r. `meet` is week 1's cluster barrier; it ensures that no block
# sends before every mbarrier exists.


# %%
BLOCKS = 4


@cute.kernel
def exchange_kernel(mY: cute.Tensor, expected: cutlass.Constexpr, meet: cutlass.Constexpr):
    lane, _, _ = cute.arch.thread_idx()
    rank, _, _ = cute.arch.block_idx()  # of one cluster
    smem = cutlass.memory.SmemAllocator()
    sPart = smem.allocate_tensor(Int32, cute.make_layout((2, BLOCKS)), 8)
    mbar = smem.allocate_tensor(Int64, cute.make_layout(1), 8).iterator
    if lane == 0:
        cute.arch.mbarrier_init(mbar, 1)
        cute.arch.mbarrier_arrive_and_expect_tx(mbar, expected)
    meet()
    if lane < BLOCKS:
        mine = (sPart.iterator + 2 * rank).align(8)
        cute.arch.store_async_dsmem(mine, (rank, 10 * rank), mbar, lane)
    cute.arch.mbarrier_wait(mbar, 0)
    if lane < BLOCKS:
        mY[rank, lane, 0], mY[rank, lane, 1] = sPart[0, lane], sPart[1, lane]


@cute.jit
def exchange(mY: cute.Tensor, expected: cutlass.Constexpr, meet: cutlass.Constexpr):
    exchange_kernel(mY, expected, meet).launch(
        grid=(BLOCKS, 1, 1), block=(32, 1, 1), cluster=(BLOCKS, 1, 1)
    )


@cute.jit
def barrier():
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


mailboxes = fk.empty(BLOCKS, BLOCKS, 2, dtype=torch.int32, device="virtual")
fk.compile(exchange, mailboxes, 8 * BLOCKS, barrier, device="virtual")(mailboxes)
exchange_picture(mailboxes)

# %% [markdown]
# Suppose you make one of three mistakes:
#
# 1. The mbarrier expects 8 bytes too few.
# 2. It expects 8 bytes too many.
# 3. `meet` does nothing, so a block sends before the others are ready.
#
# **Predict:** which of the mistakes does the sanitizer find in one run, in the usual order of
# threads?

# %%
found_at_once = fk.predict("mistakes found in one run", None)  # their numbers, as (1, 2)


# %% jupyter={"outputs_hidden": true}
@cute.jit
def nothing():
    pass


size, found = 8 * BLOCKS, []
for number, (expects, meet) in enumerate(
    ((size - 8, barrier), (size + 8, barrier), (size, nothing)), start=1
):
    run = fk.compile(exchange, mailboxes, expects, meet, device="virtual")
    report = fk.sanitize(run, mailboxes)
    found += [number] if report.findings else []
    print(f"{number}: {report.findings[0] if report.findings else report}\n")
found_at_once.against(tuple(found))

run_short = fk.compile(exchange, mailboxes, size - 8, barrier, device="virtual")
run_short(mailboxes)
print("1: block 0 has received", mailboxes[0].tolist())
for finding in fk.sanitize(run_short, mailboxes, schedule="adversarial", seeds=2).findings:
    print("1, adversarial:", str(finding).splitlines()[0])

# %% [markdown]
# - **Too few:** the phase ends one pair early. In the usual order the last pair still arrives
#   before any lane reads it, so the values are correct. Adversarial schedules expose the race.
# - **Too many:** the phase never ends.
# - **No barrier:** the blocks of a cluster start together, but one block may send before another
#   has initialised its mbarrier.
#
# The kernel needs no second barrier at the end. A block exits after its own `mbarrier_wait`, and by
# then every store into its memory has arrived.
#
# **The fence.** `cluster_arrive` publishes *all* earlier writes of its thread to the cluster, but
# only the mbarrier has to be published. `mbarrier_init_fence` does just that. After it,
# `cluster_arrive_relaxed`, which publishes nothing, is enough.
#
# > **Looks right but is wrong.** The second function uses the relaxed arrival without the fence.


# %%
@cute.jit
def fenced():
    cute.arch.mbarrier_init_fence()
    cute.arch.cluster_arrive_relaxed()
    cute.arch.cluster_wait()


@cute.jit
def relaxed():
    cute.arch.cluster_arrive_relaxed()
    cute.arch.cluster_wait()


for meet in (fenced, relaxed):
    run = fk.compile(exchange, mailboxes, 8 * BLOCKS, meet, device="virtual")
    report = fk.sanitize(run, mailboxes, schedule="adversarial", seeds=5)
    fences = run.ptx.count("fence.mbarrier_init")
    print(f"{meet.__name__:>8}: {len(report.findings)} findings, fences in the PTX: {fences}")

# %% [markdown]
# The sanitizer reports `relaxed`: on a GPU, a block may send its pair before it sees the other
# block's mbarrier. In a kernel without any fence, a relaxed arrival orders nothing.
#
# **The complete kernel.** `cluster` is `staged` with `merged_cluster` in place of `merged_block`.
# Each *warp* sends its pair to every block, which saves an exchange within the block. The first
# pass over the row runs between `cluster_arrive_relaxed` and `cluster_wait`, so a block works while
# others start.
#
# **Predict:** with four blocks of eight warps, how many bytes does each mbarrier expect? (The
# picture shows which block reads which part of an 8,000-element row.)

# %%
expected = fk.predict("bytes that arrive at each block", None)

# %%
WARPS = THREADS // 32


@cute.jit
def open_mailbox(blocks):
    """Allocate room for the pairs of all warps of a cluster, and the mbarrier that counts them."""
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    sPart = smem.allocate_tensor(Float32, cute.make_layout((2, WARPS * blocks)), 8)
    mbar = smem.allocate_tensor(Int64, cute.make_layout(1), 8).iterator
    if tidx == 0:
        cute.arch.mbarrier_init(mbar, 1)
        cute.arch.mbarrier_arrive_and_expect_tx(mbar, 8 * WARPS * blocks)
    cute.arch.mbarrier_init_fence()
    cute.arch.cluster_arrive_relaxed()
    return sPart, mbar


@cute.jit
def merged_cluster(m, s, sPart, mbar, blocks):
    """Return (m, s) of the cluster, in every thread."""
    m, s = merged_lanes(m, s)
    lane, warp, rank = cute.arch.lane_idx(), cute.arch.warp_idx(), cute.arch.block_idx_in_cluster()
    mine = (sPart.iterator + 2 * (rank * WARPS + warp)).align(8)
    cute.arch.cluster_wait()
    if lane < blocks:
        cute.arch.store_async_dsmem(mine, (m.bitcast(Int32), s.bitcast(Int32)), mbar, lane)
    cute.arch.mbarrier_wait(mbar, 0)
    return merged_parts(sPart)


# %%
@cute.kernel
def cluster_kernel(
    mX: cute.Tensor, mY: cute.Tensor, loads: cutlass.Constexpr, blocks: cutlass.Constexpr
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    rank, row = bidx % blocks, bidx // blocks
    gX, gY = vectors_of(mX[row, None]), vectors_of(mY[row, None])  # ((Vec),(Rest))
    smem = cutlass.memory.SmemAllocator()
    layout = cute.make_layout((gX.shape[0][0], THREADS, loads))  # (Vec,THREADS,loads)
    tXsX = smem.allocate_tensor(mX.element_type, layout, 128)[None, tidx, None]  # (Vec,loads)
    sPart, mbar = open_mailbox(blocks)
    first, step = rank * THREADS + tidx, blocks * THREADS
    start_copies(gX, tXsX, first, step)
    m, s = first_look(gX, tXsX, first, step)
    m, s = merged_cluster(m, s, sPart, mbar, blocks)
    second_look(tXsX, gY, m, s, first, step)


@cute.jit
def cluster(mX: cute.Tensor, mY: cute.Tensor, loads: cutlass.Constexpr, blocks: cutlass.Constexpr):
    cluster_kernel(mX, mY, loads, blocks).launch(
        grid=(mX.shape[0] * blocks, 1, 1), block=(THREADS, 1, 1), cluster=(blocks, 1, 1)
    )


# Clusters need compute capability 9.0; on an older GPU this runs on the virtual one.
DEVICE = "virtual" if fk.target.arch in ("sm_80", "sm_86", "sm_87", "sm_89") else None
run_cluster, x, y = tried(cluster, 2, 4, dtypes=ALL, device=DEVICE)
expected.against(8 * WARPS * 4)
fk.footprint(run_cluster, x, y, tensor="mX")

# %% [markdown] exercise="week2/two_blocks" part="task"
# ### Exercise 3: share a row between two blocks
#
# Compute the softmax of each row of x, in float32, for rows of up to 512 elements in whole vectors
# of four. Some elements are −∞, but not all elements of a row. Each thread keeps one vector in
# registers: thread `t` of the block of rank `r` can take vector `64 r + t`. Each of the four warps
# sends its pair (m, s) to *both* blocks with `store_async_dsmem`, and an mbarrier in each block
# counts the bytes that arrive. Read each element once, write it once, and exchange the pairs once.
# The kernel requires compute capability 9.0 or later. Signature: `two_blocks(x, y)`.
#
# **Required**: one cluster per row, 2 blocks per cluster, 64 threads per block, no block barriers,
# at most 1 cluster barrier, 16 bytes per load.
#
# <details><summary>Hint 1</summary>
#
# Every thread needs the row's m and s in the end, so each block has its own mailbox and mbarrier.
# How many bytes arrive at each?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# After initialising the mbarrier, and before the first store to the other block, call the fence and
# `cluster_arrive_relaxed()`, do the work that a block can do alone, and call `cluster_wait()`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In the line that sends the pair, lane r of each warp sends to rank r. A warp without elements, or
# with -inf only, has m = -inf, so subtract 0 there.
#
# </details>


# %% exercise="week2/two_blocks" part="skeleton"
@cute.kernel
def two_blocks_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 37 lines)
    pass


@cute.jit
def two_blocks(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 3 lines)
    pass


# %% exercise="week2/two_blocks" part="grade"
fk.exercise("week2/two_blocks").grade(two_blocks)

# %% [markdown] exercise="week2/two_blocks" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# @cute.kernel
# def two_blocks_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     rank, row = bidx % 2, bidx // 2
#     smem = cutlass.memory.SmemAllocator()
#     sPart = smem.allocate_tensor(Float32, cute.make_layout((2, 4)), 8)
#     mbar = smem.allocate_tensor(Int64, cute.make_layout(1), 8).iterator
#     if tidx == 0:
#         cute.arch.mbarrier_init(mbar, 1)
#         cute.arch.mbarrier_arrive_and_expect_tx(mbar, 4 * 8)
#     cute.arch.mbarrier_init_fence()
#     cute.arch.cluster_arrive_relaxed()
#     gX = cute.zipped_divide(mX[row, None], (4,))  # ((4),(Rest))
#     gY = cute.zipped_divide(mY[row, None], (4,))  # ((4),(Rest))
#     v = rank * 64 + tidx
#     rX = cute.make_rmem_tensor(4, Float32)
#     rX.fill(-Float32.inf)
#     if v < cute.size(gX, mode=[1]):
#         cute.autovec_copy(gX[None, v], rX)
#     x = rX.load()
#     m = x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)
#     m = cute.arch.warp_reduction(m, cute.arch.fmax)
#     shift = Float32(0.0) if m == -Float32.inf else m
#     s = cute.math.exp(x - shift, fastmath=True).reduce(cute.ReductionOp.ADD, 0.0, 0)
#     s = cute.arch.warp_reduction(s, operator.add)
#     lane, warp = tidx % 32, cute.arch.warp_idx()
#     mine = (sPart.iterator + 2 * (rank * 2 + warp)).align(8)
#     cute.arch.cluster_wait()
#     if lane < 2:
#         cute.arch.store_async_dsmem(mine, (m.bitcast(Int32), s.bitcast(Int32)), mbar, lane)
#     cute.arch.mbarrier_wait(mbar, 0)
#     m, s = sPart[0, lane % 4], sPart[1, lane % 4]
#     m_row = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=4)
#     s *= cute.math.exp(m - m_row, fastmath=True)
#     s = cute.arch.warp_reduction(s, operator.add, threads_in_group=4)
#     rX.store(cute.math.exp(x - m_row, fastmath=True) * (1.0 / s))
#     if v < cute.size(gX, mode=[1]):
#         cute.autovec_copy(rX, gY[None, v])
#
#
# @cute.jit
# def two_blocks(mX: cute.Tensor, mY: cute.Tensor):
#     two_blocks_kernel(mX, mY).launch(
#         grid=(mX.shape[0] * 2, 1, 1), block=(64, 1, 1), cluster=(2, 1, 1)
#     )
# ```
#
# Each of the two blocks receives four pairs, or 32 bytes. The kernel has one wait, no barrier
# within a block, and no second cluster barrier: a block exits when all of its pairs have arrived.
# Production kernels look the same, with 8 or 16 blocks and more vectors per thread.
#
# </details>

# %% [markdown] exercise="week2/cluster_logsumexp" part="task"
# ### Exercise 4: find the log-sum-exp of a row in a cluster
#
# `y[m] = log(exp(x[m, 0]) + … + exp(x[m, N-1]))` for any number of float32 rows of any length,
# without overflow. As in week 1's `cluster_sum`, the four blocks of a cluster share the columns of
# a row. Each warp sends its pair (m, s) to one of the blocks with one `store_async_dsmem`, 16 pairs
# in all. An mbarrier in that block counts their bytes, and one of its warps computes the result.
# Read x once. The kernel requires compute capability 9.0 or later. Signature: `cluster_logsumexp(x,
# y)`.
#
# **Required**: one cluster per row, 4 blocks per cluster, 128 threads per block, 4 warps per block
# that share the loads, at most 1 cluster barrier.
#
# <details><summary>Hint 1</summary>
#
# Before any warp sends a pair, block 0 has to be running, and its mbarrier has to expect the bytes.
# Which two-part barrier ensures that?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `N` may be less than 128. Then whole warps have no elements, and their pair is (-inf, 0). Where
# would that turn into NaN?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# One lane of each warp sends the pair to `(sPart.iterator + 2 * number).align(8)`.
# `cute.arch.warp_idx()` is a shuffle, so call it outside that `if`.
#
# </details>


# %% exercise="week2/cluster_logsumexp" part="skeleton"
@cute.kernel
def cluster_logsumexp_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 34 lines)
    pass


@cute.jit
def cluster_logsumexp(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 3 lines)
    pass


# %% exercise="week2/cluster_logsumexp" part="grade"
fk.exercise("week2/cluster_logsumexp").grade(cluster_logsumexp)

# %% [markdown] exercise="week2/cluster_logsumexp" part="solution"
# <details><summary>Solution of exercise 4</summary>
#
# ```python
# @cute.kernel
# def cluster_logsumexp_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     rank, row = bidx % 4, bidx // 4
#     smem = cutlass.memory.SmemAllocator()
#     sPart = smem.allocate_tensor(Float32, cute.make_layout((2, 16)), 8)
#     mbar = smem.allocate_tensor(Int64, cute.make_layout(1), 8).iterator
#     if rank == 0 and tidx == 0:
#         cute.arch.mbarrier_init(mbar, 1)
#         cute.arch.mbarrier_arrive_and_expect_tx(mbar, 16 * 8)
#     cute.arch.mbarrier_init_fence()
#     cute.arch.cluster_arrive_relaxed()
#     m, s = -Float32.inf, Float32(0.0)
#     for n in range(rank * 128 + tidx, mX.shape[1], 512):
#         m_new = cute.arch.fmax(m, mX[row, n])
#         added = cute.math.exp(mX[row, n] - m_new, fastmath=True)
#         s = s * cute.math.exp(m - m_new, fastmath=True) + added
#         m = m_new
#     m_warp = cute.arch.warp_reduction(m, cute.arch.fmax)
#     if m < m_warp:
#         s *= cute.math.exp(m - m_warp, fastmath=True)
#     s = cute.arch.warp_reduction(s, operator.add)
#     mine = (sPart.iterator + 2 * (rank * 4 + cute.arch.warp_idx())).align(8)
#     cute.arch.cluster_wait()
#     if tidx % 32 == 0:
#         pair = (m_warp.bitcast(Int32), s.bitcast(Int32))
#         cute.arch.store_async_dsmem(mine, pair, mbar, 0)
#     if rank == 0 and tidx < 32:
#         cute.arch.mbarrier_wait(mbar, 0)
#         m, s = sPart[0, tidx % 16], sPart[1, tidx % 16]
#         m_row = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=16)
#         s *= cute.math.exp(m - m_row, fastmath=True)
#         s = cute.arch.warp_reduction(s, operator.add, threads_in_group=16)
#         if tidx == 0:
#             mY[row] = m_row + cute.math.log(s, fastmath=True)
#
#
# @cute.jit
# def cluster_logsumexp(mX: cute.Tensor, mY: cute.Tensor):
#     cluster_logsumexp_kernel(mX, mY).launch(
#         grid=(mX.shape[0] * 4, 1, 1), block=(128, 1, 1), cluster=(4, 1, 1)
#     )
# ```
#
# 16 pairs are 128 bytes, so the mbarrier's phase ends when thread 0 and all 128 bytes have arrived.
# Only block 0 has to wait at the mbarrier, but no warp may send before `cluster_wait`. Blocks 1 to
# 3 may exit as soon as they have sent their pairs, because no block writes to them. A pair travels
# as two words in one store, so m and s of a warp stay together. (`grid=(4, rows, 1)` also works,
# for up to 65,535 rows, the limit of a grid's y.)
#
# </details>

# %% [markdown]
# ## 4. A row that does not fit on the chip
#
# **The bad number: 8 × 227 kB.** A row of 1,048,576 `float32` is 4 MB, more than the shared memory
# of eight blocks. So `streaming` reads it twice, like the kernels of `01_online`: once for (m, s)
# and once for the result. Four vectors per thread are in flight at a time, and a cluster can share
# the row. (With `blocks=1`, a cluster is one block.)


# %%
LOADS = 4


@cute.kernel
def streaming_kernel(mX: cute.Tensor, mY: cute.Tensor, blocks: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    rank, row = bidx % blocks, bidx // blocks
    gX, gY = vectors_of(mX[row, None]), vectors_of(mY[row, None])  # ((Vec),(Rest))
    vectors = cute.size(gX, mode=[1])
    first, step = rank * THREADS + tidx, blocks * THREADS
    sPart, mbar = open_mailbox(blocks)
    rX = cute.make_rmem_tensor((gX.shape[0][0], LOADS), mX.element_type)  # (Vec,LOADS)
    m, s = -Float32.inf, Float32(0.0)
    for v in cutlass.range(first, vectors, LOADS * step, unroll=1):
        rX.fill(-mX.element_type.inf)
        for k in cutlass.range_constexpr(LOADS):
            if v + k * step < vectors:
                cute.autovec_copy(gX[None, v + k * step], rX[None, k])
        m, s = absorb(m, s, rX.load().to(Float32))
    m, s = merged_cluster(m, s, sPart, mbar, blocks)
    scale = 1.0 / s
    for v in cutlass.range(first, vectors, LOADS * step, unroll=1):
        for k in cutlass.range_constexpr(LOADS):
            if v + k * step < vectors:
                cute.autovec_copy(gX[None, v + k * step], rX[None, k])
        rX.store((exp(rX.load().to(Float32) - m) * scale).to(mX.element_type))
        for k in cutlass.range_constexpr(LOADS):
            if v + k * step < vectors:
                cute.autovec_copy(rX[None, k], gY[None, v + k * step])


@cute.jit
def streaming(mX: cute.Tensor, mY: cute.Tensor, blocks: cutlass.Constexpr):
    streaming_kernel(mX, mY, blocks).launch(
        grid=(mX.shape[0] * blocks, 1, 1), block=(THREADS, 1, 1), cluster=(blocks, 1, 1)
    )


tried(streaming, 1, device=DEVICE)
run_streaming, x, y = tried(streaming, 4, dtypes=ALL, device=DEVICE)
run_cluster = fk.compile(cluster, whole(x), whole(y), loads_of(x, 4 * THREADS), 4, device=DEVICE)
for name, run in (("cluster", run_cluster), ("streaming", run_streaming)):
    p = fk.profile(run, x, y)
    moved = p.global_load_bytes_moved + p.global_store_bytes_moved
    print(f"{name:>9} requests {moved / x.nbytes:.2f} times the matrix")

# %% [markdown]
# The kernel requests the row a second time, but the L2 cache (52 MB on an H200, where 1 MB is 10⁶
# bytes) may still hold it if the rows in use leave room.
#
# In this kernel, each round's loads wait for the previous round's exponentials. `cp.async` and two
# buffers remove that wait. The picture shows one warp that adds up a row of five tiles, with one
# buffer and with two. The order of copies, waits and arithmetic was recorded in two runs; the
# sliders set how long a copy and an instruction take. After exercise 5, you can draw your own
# kernel in the same way.

# %%
x, y = fk.randn(1, 640, device="virtual"), fk.empty(1, device="virtual")
runs = [fk.compile(streamed_sum, whole(x), y, n, device="virtual") for n in (1, 2)]
one, two = (fk.timeline(run, x, y) for run in runs)
pipeline({"one buffer": one, "two buffers": two})

# %% [markdown] exercise="week2/two_stages" part="task"
# ### Exercise 5: stream a row through two buffers
#
# `y[m] = log(exp(x[m, 0]) + … + exp(x[m, N-1]))`, in float32, for rows of *any* number of whole
# vectors of four. Shared memory holds two tiles of 32 vectors: while the lanes absorb one tile into
# (m, s), the next tile is being copied to the other buffer. Start the copy of a tile before reading
# the previous tile. Load all elements with `cp.async`. Signature: `two_stages(x, y)`.
#
# **Required**: one block per row, 32 threads per block, at most 1,024 bytes of shared memory per
# block, 16 bytes per load.
#
# <details><summary>Hint 1</summary>
#
# Start tile 0 before the loop. In round k: start tile k + 1, wait for tile k, absorb tile k.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `cp_async_wait_group(1)` leaves the newest group in flight. The last round has no tile to start,
# but it must still commit a group, so that its wait covers tile k as well.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Tile k is in buffer `k % 2`, both in the line that copies it and in the line that reads it. Each
# lane reads only data that it has copied, so no barrier is needed.
#
# </details>


# %% exercise="week2/two_stages" part="skeleton"
@cute.kernel
def two_stages_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 28 lines)
    pass


@cute.jit
def two_stages(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 1 line)
    pass


# %% exercise="week2/two_stages" part="grade"
fk.exercise("week2/two_stages").grade(two_stages)

# %% [markdown] exercise="week2/two_stages" part="solution"
# <details><summary>Solution of exercise 5</summary>
#
# ```python
# @cute.kernel
# def two_stages_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     lane, _, _ = cute.arch.thread_idx()
#     row, _, _ = cute.arch.block_idx()
#     smem = cutlass.memory.SmemAllocator()
#     sX = smem.allocate_tensor(Float32, cute.make_layout((4, 32, 2)), 16)
#     tXsX = sX[None, lane, None]  # (4,2)
#     gX = cute.zipped_divide(mX[row, None], (4,))  # ((4),(Rest))
#     vectors = cute.size(gX, mode=[1])
#     atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
#     if lane < vectors:
#         cute.copy(atom, gX[None, lane], tXsX[None, 0])
#     cute.arch.cp_async_commit_group()
#     m, s = -Float32.inf, Float32(0.0)
#     for k in range(cute.ceil_div(vectors, 32)):
#         v = k * 32 + lane
#         if v + 32 < vectors:
#             cute.copy(atom, gX[None, v + 32], tXsX[None, (k + 1) % 2])
#         cute.arch.cp_async_commit_group()
#         cute.arch.cp_async_wait_group(1)
#         if v < vectors:
#             x = tXsX[None, k % 2].load()
#             m_new = cute.arch.fmax(m, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))
#             added = cute.math.exp(x - m_new, fastmath=True).reduce(cute.ReductionOp.ADD, 0.0, 0)
#             s = s * cute.math.exp(m - m_new, fastmath=True) + added
#             m = m_new
#     m_row = cute.arch.warp_reduction(m, cute.arch.fmax)
#     s = cute.arch.warp_reduction(s * cute.math.exp(m - m_row, fastmath=True), operator.add)
#     if lane == 0:
#         mY[row] = m_row + cute.math.log(s, fastmath=True)
#
#
# @cute.jit
# def two_stages(mX: cute.Tensor, mY: cute.Tensor):
#     two_stages_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(32, 1, 1))
# ```
#
# Two tiles of 512 bytes are enough for any length. Every streaming kernel, from a matrix product to
# attention, has this loop, with more stages and larger tiles. A lane that starts tile k + 2 must
# have finished with tile k, whose buffer it reuses. Here program order guarantees that, because
# each lane reads only its own vectors. Where lanes read each other's vectors, every round ends with
# a barrier.
#
# </details>

# %% [markdown]
# ## 5. Which kernel for which length?
#
# Begin with one length, worked out by hand:

# %% [markdown] exercise="week2/what_fits" part="task"
# ### Exercise 6: count what fits
#
# `staged` processes 4,096 rows of 24,576 float32 with blocks of 256 threads. An SM has 228 kB of
# shared memory (1 kB is 1,024 bytes). A block may use 227 kB, and the system reserves another 1 kB
# per block. The last two questions are about `cluster`: give the fewest blocks (1, 2, 4 or 8) whose
# shared memory holds such a row, and the bytes that each block's mbarrier expects. 1 MB is 10⁶
# bytes. Assume that L2 holds nothing.
#
# <details><summary>Hint 1</summary>
#
# A row has 24,576 × 4 bytes, and a vector has 16.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The scarcest of threads, registers and shared memory limits how many blocks fit on an SM. Here it
# is shared memory.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The matrix is 402.7 MB. For the lines in MB, ask how many times each kernel moves it. For the last
# line, remember that every warp of the cluster sends one pair to each block.
#
# </details>

# %% exercise="week2/what_fits" part="skeleton"
fits = {
    # FILL ME IN (roughly 7 lines)
    "kB of a row in shared memory": None,
    "vectors in flight per thread": None,
    "blocks that an SM has room for": None,
    "MB that staged moves": None,
    "MB that streaming moves": None,
    "blocks of a cluster for rows of 524,288 bfloat16": None,
    "bytes that an mbarrier expects, 8 blocks of 8 warps": None,
}

# %% exercise="week2/what_fits" part="grade"
fk.exercise("week2/what_fits").grade(fits)

# %% [markdown] exercise="week2/what_fits" part="solution"
# <details><summary>Solution of exercise 6</summary>
#
# ```python
# fits = {
#     "kB of a row in shared memory": 96,
#     "vectors in flight per thread": 24,
#     "blocks that an SM has room for": 2,
#     "MB that staged moves": 805,
#     "MB that streaming moves": 1208,
#     "blocks of a cluster for rows of 524,288 bfloat16": 8,
#     "bytes that an mbarrier expects, 8 blocks of 8 warps": 512,
# }
# ```
#
# 96 kB are 6,144 vectors, 24 for each of 256 threads. Two blocks of 97 kB fit into 228 kB, but
# three do not. `staged` moves the matrix twice, 805 MB. `streaming` moves it three times, 1,208 MB,
# which is half as much again, unless L2 still holds a row at its second read. A row of 1,024 kB
# needs 8 blocks of 128 kB. And 64 warps send 8 bytes each to every block.
#
# </details>

# %% [markdown]
# Now compare all kernels for rows of 1,024 to 1,048,576 elements. The matrix always has 2²⁶
# `float32`, or 268 MB. How many MB of rows are in use at a time on 132 SMs if `streaming` has one
# block per row, and how many if it has eight?

# %%
LENGTHS = (1024, 4096, 16384, 32768, 65536, 131072, 262144, 1048576)
blocks = 132 * blocks_per_sm(compiled_for(streaming, 4096, 1), THREADS)  # at a time
for n in LENGTHS[1:]:
    one, eight = (min(blocks // b * n * 4, 2**28) / 1e6 for b in (1, 8))
    print(f"{n:9,} float32 per row: {one:4.0f} MB, with eight blocks per row {eight:4.0f} MB")

# %% [markdown]
# **Predict**, for `float32`: which kernel is fastest for rows of 65,536 elements, and which for
# rows of 1,048,576? For rows of 262,144, how many times as long as `cluster` does `streaming` take?

# %%
fastest = fk.predict("the fastest, 65,536 and 1,048,576", None)  # as ("staged", "single_pass")
ratio = fk.predict("time of streaming / time of cluster, 262,144", None)

# %% jupyter={"outputs_hidden": true}
times = recorded("week2/03_rows_that_do_not_fit")
ways = recorded_ways(times)  # without torch
fastest.against(tuple(min(ways[n], key=ways[n].get) for n in (65536, 1048576)))
one_block = times.row("streaming", "float32", (256, 262144)).ms
ratio.against(round(one_block / ways[262144]["cluster"], 2))
ways_picture(times, LENGTHS)
percent_table(times, LENGTHS)

# %% [markdown]
# `cluster` uses up to 8 blocks per row: the fewest for which each block holds at most 32 kB. (Two
# entries at 1,024 are missing because the recorded version put its 65,536 rows into the grid's y.)
# In `float32`:
#
# - **At 4,096 and 16,384** elements, the three kernels that read x once are within 3 % of each
#   other, and `single_pass` is the simplest.
# - **At 32,768** only one block fits on an SM. That costs only 4 or 5 % of the time, because its
#   eight warps keep a whole row in flight.
# - **At 65,536** `single_pass` spills and reaches only 71 % of a copy's speed, and `staged` has no
#   room for the row. `cluster` reaches 90 %.
# - **At 262,144** each of `cluster`'s eight blocks has an SM to itself, and the kernel reaches 83
#   %. `streaming` takes 1.35 times as long, although its bytes alone predict 1.5 times.
# - **At 1,048,576** only `streaming` is left. With one block per row, 64 blocks leave half of the
#   SMs idle, and it reaches 31 %. With eight blocks per row it reaches 62 %, close to the two
#   thirds that moving the matrix three times allows.
#
# **The second read** is nearly free while the rows in use fill only a small part of L2. With one
# block per row, `streaming` reaches 93 % at 4,096 elements (13 MB in use) and 67 % at 16,384 (52
# MB). With eight blocks per row it reaches 89 % at 32,768 (13 MB) and 67 % at 131,072 (52 MB).
# Results pass through L2 as well, so count on only a quarter of it for the rows.
#
# **In `bfloat16`** the same number of bytes holds twice as many elements. At 65,536, `staged` has
# one block per SM and reaches 68 %. A cluster of four blocks keeps more warps busy and reaches 85
# %.

# %%
fk.predictions()

# %% [markdown]
# ## Summary
#
# | kernel | reads x | longest row, `float32` | keeps the row in |
# |---|---|---|---|
# | `single_pass` | once | 32,768 (at 65,536 it spills) | registers |
# | `staged` | once | 57,344 | shared memory of a block |
# | `cluster` | once | 458,752 | shared memory of eight blocks |
# | `streaming` | twice | any | L2 at best |
#
# Times in milliseconds for 2²⁶ `float32`, recorded on an H200 on 22 November 2026 (a copy takes
# 0.126 ms):
#
# | kernel | 4,096 | 16,384 | 32,768 | 65,536 | 262,144 | 1,048,576 |
# |---|---|---|---|---|---|---|
# | torch | 0.211 | 0.172 | 0.208 | 0.263 | 0.256 | 0.455 |
# | `single_pass` | 0.130 | 0.131 | 0.137 | 0.177 | – | – |
# | `staged` | 0.130 | 0.129 | 0.135 | – | – | – |
# | `cluster` | 0.128 | 0.132 | 0.137 | 0.140 | 0.151 | – |
# | `streaming` | 0.135 | 0.190 | 0.195 | 0.199 | 0.205 | 0.403 |
# | `streaming`, 8 blocks | 0.489 | 0.172 | 0.142 | 0.154 | 0.194 | 0.204 |
#
# | mistake | values here | does the sanitizer find it? |
# |---|---|---|
# | a wait that leaves one group too many in flight | none: the run stops | yes |
# | a store before `cluster_wait` | none: the run stops | yes |
# | an mbarrier that expects too few bytes | correct in the usual order | in adversarial schedules |
# | an mbarrier that expects too many | none | yes: a deadlock |
# | no fence before a relaxed arrival | correct | in adversarial schedules |
#
# **The bad number:** at 262,144 elements, `cluster` reaches 83 % of a copy's speed. And training
# also needs the gradient, which reads *two* rows.
#
# **In practice** production kernels keep the row in the same places. forgekit's softmax uses
# registers for rows that fit, shared memory where that was faster, and clusters of up to 16 blocks
# (more than 8 have to be requested). Longer rows are streamed with 8 blocks per row.
# `forgekit/ops/tile_choice.py` lists the lengths. Kernels that copy with TMA, Hopper's engine for
# copying whole tiles, also wait at mbarriers: one thread requests the tile, and the mbarrier counts
# its bytes.
#
# **Further reading:** [mbarrier in the PTX
# manual](https://docs.nvidia.com/cuda/parallel-thread-execution/index.html#parallel-synchronization-and-communication-instructions-mbarrier)
# · [distributed shared
# memory](https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#distributed-shared-memory)
# · [quack's softmax with clusters](https://github.com/Dao-AILab/quack).
#
# **Next:** the gradient ([`04_backward`](04_backward.ipynb)).


# %%
steps = {
    "single_pass": way(single_pass, 256 << 10),
    "staged": way(staged, 224 << 10),
    "cluster": way(cluster, 224 << 10, clusters=True),
    "streaming": (streaming, lambda x, y: [whole(x), whole(y), 1]),
    "streaming, 8 blocks": (streaming, lambda x, y: [whole(x), whole(y), 8]),
}
