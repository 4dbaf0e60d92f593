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
# **You will build** three softmaxes for rows that are too long for registers: the row waits in
# shared memory, or in that of several blocks, or it is read twice.
# **You will learn** what a multiprocessor has room for, how a barrier can count bytes, and which
# way is the best for which length: predicted first, then as recorded on an H200.
# **You need** `02_the_row_in_registers`, clusters (`04_few_long_rows` of week 1) and `cp.async`
# (`04_copy_fast` of week 0). About 40 minutes, and 100 more for the exercises.

# %%
import math
import operator

import cutlass
import cutlass.cute as cute
import matplotlib.pyplot as plt
import torch
from cutlass import Float32, Int32, Int64
from cutlass.cute.nvgpu import cpasync

import forgekit as fk
from forgekit import viz
from forgekit.benching.recorded import recorded

# %% [markdown]
# ## 1. The bad number: registers
#
# `single_pass` keeps its row in registers. Before we ask how long a row may be, here is what all
# kernels of this notebook have in common, in one cell: the pair (m, s) of a thread's elements, of
# the lanes of a warp, and of the warps of a block, as in `01_online`. `sPart` has a column for each
# warp.


# %%
LOG2_E = math.log2(math.e)
THREADS = 256


def exp(x):
    return cute.math.exp2(x * LOG2_E, fastmath=True)


@cute.jit
def finite(m: Float32):
    """What to subtract: the maximum, or 0 where there is none yet."""
    return Float32(0.0) if m == -Float32.inf else m


@cute.jit
def absorb(m: Float32, s: Float32, x: cute.TensorSSA):
    """(m, s) of what a thread has seen so far, with the elements of x."""
    m_new = cute.arch.fmax(m, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))
    shift = finite(m_new)
    return m_new, s * exp(m - shift) + exp(x - shift).reduce(cute.ReductionOp.ADD, 0.0, 0)


@cute.jit
def merged_lanes(m: Float32, s: Float32):
    """(m, s) of a warp, in all its lanes."""
    m_warp = cute.arch.warp_reduction(m, cute.arch.fmax)
    return m_warp, cute.arch.warp_reduction(s * exp(m - finite(m_warp)), operator.add)


@cute.jit
def merged_parts(sPart: cute.Tensor):
    """(m, s) of a row, from those of its warps: sPart (2,parts)."""
    parts = cutlass.const_expr(sPart.shape[1])
    m, s = -Float32.inf, Float32(0.0)
    for k in cutlass.range_constexpr((parts + 31) // 32):
        part = k * 32 + cute.arch.lane_idx()
        if part < parts:
            m_new = cute.arch.fmax(m, sPart[0, part])
            shift = finite(m_new)
            s = s * exp(m - shift) + sPart[1, part] * exp(sPart[0, part] - shift)
            m = m_new
    return merged_lanes(m, s)


@cute.jit
def merged_block(m: Float32, s: Float32, sPart: cute.Tensor):
    """(m, s) of a block, in all its threads."""
    m, s = merged_lanes(m, s)
    warp = cute.arch.warp_idx()
    if cute.arch.lane_idx() == 0:
        sPart[0, warp], sPart[1, warp] = m, s
    cute.arch.sync_threads()
    return merged_parts(sPart)


def vectors_of(gRow):
    return cute.zipped_divide(gRow, (128 // gRow.element_type.width,))  # ((Vec),(Rest))


# %% [markdown]
# And the kernel of the last notebook once more, as short as it can be: a block a row, `loads`
# vectors of 16 bytes a thread. (It takes the maximum of all its vectors at once, where yours goes
# on from vector to vector.)


# %%
@cute.kernel
def single_pass_kernel(mX: cute.Tensor, mY: cute.Tensor, loads: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sPart = smem.allocate_tensor(Float32, cute.make_layout((2, THREADS // 32)), 8)
    gX, gY = vectors_of(mX[row, None]), vectors_of(mY[row, None])  # ((Vec),(Rest))
    rX = cute.make_rmem_tensor((gX.shape[0][0], loads), mX.element_type)  # (Vec,loads)
    rX.fill(-mX.element_type.inf)
    for k in cutlass.range_constexpr(loads):
        if k * THREADS + tidx < cute.size(gX, mode=[1]):
            cute.autovec_copy(gX[None, k * THREADS + tidx], rX[None, k])
    m, s = absorb(-Float32.inf, Float32(0.0), rX.load().to(Float32))
    m, s = merged_block(m, s, sPart)
    rX.store((exp(rX.load().to(Float32) - m) * (1.0 / s)).to(mX.element_type))
    for k in cutlass.range_constexpr(loads):
        if k * THREADS + tidx < cute.size(gX, mode=[1]):
            cute.autovec_copy(rX[None, k], gY[None, k * THREADS + tidx])


@cute.jit
def single_pass(mX: cute.Tensor, mY: cute.Tensor, loads: cutlass.Constexpr):
    block = (THREADS, 1, 1)
    single_pass_kernel(mX, mY, loads).launch(grid=(mX.shape[0], 1, 1), block=block)


def whole(x):
    """A spec that promises rows of whole vectors."""
    return fk.spec(x, divisible={1: 16 // x.element_size()})


def loads_of(x, threads=THREADS):
    """Vectors for each of so many threads that share a row."""
    return math.ceil(x.shape[1] * x.element_size() / (16 * threads))


def tried(fn, *extra, size=(3, 8000), dtypes=(torch.float32,), device=None):
    """Compile, run and check, on rows of which one is large and one has a -inf; the last run."""
    for dtype in dtypes:
        x, y = (make(*size, dtype=dtype, device=device) for make in (fk.randn, fk.empty))
        x[-1] += 100
        x[0, 0] = -torch.inf
        run = fk.compile(fn, whole(x), whole(y), *extra, device=device)
        run(x, y)
        fk.check(y, x.double().softmax(1))
    return run, x, y


ALL = (torch.float16, torch.bfloat16, torch.float32)

run_single, x, y = tried(single_pass, 8)

# %% [markdown]
# A multiprocessor (SM) has 65,536 registers: 256 kB, if kB are 1,024 bytes, as they are in all of
# this notebook where memory on the chip is meant. It also has room for 2,048 threads, and 228 kB of
# shared memory, of which a block may have 227; 1 kB more goes to the system for each block. So many
# blocks fit as the scarcest of the three allows:


# %%
def blocks_an_sm(run, shared_bytes=0):
    registers = THREADS * -(-run.registers // 8) * 8  # a thread gets them in eights
    shared = math.ceil(shared_bytes / 1024) + 1  # kB
    return min(2048 // THREADS, 65536 // registers, 228 // shared)


def compiled_for(fn, n, *extra, dtype=torch.float32):
    row = fk.empty(1, n, dtype=dtype, device="virtual")
    return fk.compile(fn, whole(row), whole(row), *extra, device="virtual")


for n in (4096, 8192, 16384):
    run = compiled_for(single_pass, n, n // 1024)
    blocks = blocks_an_sm(run)
    print(f"rows of {n:6,} float32: {run.registers:3} registers, blocks an SM: {blocks}", end=", ")
    print(f"{blocks * n // 256} kB of rows")

# %% [markdown]
# **Predict:** a row of 32,768 `float32` is 128 kB, half of all registers. How many blocks, so how
# many rows, are at work on an SM at a time?

# %%
rows_at_work = fk.predict("blocks an SM, rows of 32,768 float32", None)

# %% jupyter={"outputs_hidden": true}
for n in (32768, 65536):
    run = compiled_for(single_pass, n, n // 1024)
    blocks = blocks_an_sm(run)
    print(f"rows of {n:6,} float32: {run.registers:3} registers, blocks an SM: {blocks}", end=", ")
    print(f"{run.spill_bytes} bytes a thread spilled")
    if n == 32768:
        rows_at_work.against(blocks)

# %% [markdown]
# The registers of an SM hold some 128 kB of rows, whatever their length: beside the elements there
# has to be room for what is computed of them. With 32,768 elements that is one row, and one block
# of eight warps. With 65,536 the row alone *is* all registers. More threads a row would not help:
# it is not a thread that is full, it is the SM.

# %% [markdown]
# ## 2. A row waits in shared memory
#
# There are 228 kB more on an SM, and `cp.async` brings a row there without a register for it. The
# plan, for a block a row:
#
# 1. Each thread starts the copies of all its vectors, each a group of its own.
# 2. It waits for the groups one by one, and absorbs each vector into its (m, s) as it arrives.
# 3. The pairs of all threads are merged, as ever.
# 4. It looks at its vectors a second time, in shared memory, and writes the result.
#
# A vector passes through registers twice, and none stays there. In shared memory each thread has a
# place of its own for each of its vectors, beside those of its neighbours. Of 8 threads with 2
# vectors each (T: the thread, V: its value):

# %%
viz.display_tv_layout(fk.Layout((8, (4, 2)), (8, (2, 1))), (2, 32))

# %% [markdown]
# A thread reads only what it has copied itself. So there is no barrier between a copy and the
# reading of it: the thread's own wait will do.


# %%
@cute.jit
def start_copies(gX: cute.Tensor, tXsX: cute.Tensor, first: Int32, step: cutlass.Constexpr):
    """Start the copies of a thread, each a group of its own."""
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), gX.element_type, num_bits_per_copy=128)
    for k in cutlass.range_constexpr(tXsX.shape[1]):
        if first + k * step < cute.size(gX, mode=[1]):
            cute.copy(atom, gX[None, first + k * step], tXsX[None, k])
        cute.arch.cp_async_commit_group()


@cute.jit
def first_look(
    gX: cute.Tensor,
    tXsX: cute.Tensor,
    first: Int32,
    step: cutlass.Constexpr,
    late: cutlass.Constexpr = 0,
):
    """(m, s) of a thread's vectors, as they arrive."""
    m, s = -Float32.inf, Float32(0.0)
    loads = cutlass.const_expr(tXsX.shape[1])
    for k in cutlass.range_constexpr(loads):
        cute.arch.cp_async_wait_group(loads - 1 - k + late)
        if first + k * step < cute.size(gX, mode=[1]):
            m, s = absorb(m, s, tXsX[None, k].load().to(Float32))
    return m, s


@cute.jit
def second_look(
    tXsX: cute.Tensor,
    gY: cute.Tensor,
    m: Float32,
    s: Float32,
    first: Int32,
    step: cutlass.Constexpr,
):
    """Write the result of a thread's vectors."""
    scale = 1.0 / s
    rY = cute.make_rmem_tensor(tXsX.shape[0], gY.element_type)
    for k in cutlass.range_constexpr(tXsX.shape[1]):
        if first + k * step < cute.size(gY, mode=[1]):
            y = exp(tXsX[None, k].load().to(Float32) - m) * scale
            rY.store(y.to(gY.element_type))
            cute.autovec_copy(rY, gY[None, first + k * step])


@cute.kernel
def staged_kernel(
    mX: cute.Tensor,
    mY: cute.Tensor,
    loads: cutlass.Constexpr,
    late: cutlass.Constexpr,
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
def staged(
    mX: cute.Tensor,
    mY: cute.Tensor,
    loads: cutlass.Constexpr,
    late: cutlass.Constexpr = 0,
):
    block = (THREADS, 1, 1)
    staged_kernel(mX, mY, loads, late).launch(grid=(mX.shape[0], 1, 1), block=block)


run_staged, x, y = tried(staged, 8, dtypes=ALL)

# %% [markdown]
# The waits count down: `loads - 1 - k` of the newest groups may be in flight still while vector k
# is absorbed. The numbers have to be known at compile time, so the loop is a `range_constexpr`.
# (`late` is 0, for now.)
#
# **Predict:** how many blocks are on an SM now, with rows of 16,384 `float32`? With registers it
# was two.

# %%
staged_blocks = fk.predict("blocks of staged an SM, rows of 16,384 float32", None)


# %% jupyter={"outputs_hidden": true}
def shared_of(n, blocks=1, size=4):
    """Bytes of shared memory of a block that has its share of a row, and pairs of all warps."""
    return 16 * THREADS * math.ceil(n * size / (16 * THREADS * blocks)) + 64 * blocks


lengths = (4096, 8192, 16384, 32768)
found = {}
for n in lengths:
    run = compiled_for(staged, n, n // 1024)
    found[n] = blocks_an_sm(run, shared_of(n))
    print(
        f"rows of {n:6,} float32: {run.registers:3} registers, blocks an SM: {found[n]}", end=", "
    )
    print(f"{found[n] * n // 256} kB of rows")
print(f"rows of 57,344 float32: {shared_of(57344) / 1024:.1f} kB of shared memory for a block")
staged_blocks.against(found[16384])


def draw_sm(axes, rows, capacity_kb, title):
    """A bar a length of rows: the blocks on an SM, and in each the kB of its row."""
    for height, (label, (blocks, block_kb, row_kb)) in enumerate(rows.items()):
        axes.barh(height, capacity_kb, color="0.93", edgecolor="0.6")
        for block in range(blocks):
            axes.barh(height, block_kb, left=block * block_kb, color="tab:orange", edgecolor="w")
            axes.barh(height, row_kb, left=block * block_kb, color="tab:blue", edgecolor="w")
        axes.text(capacity_kb + 3, height, label, va="center", fontsize=8)
    axes.set(title=title, yticks=[], xlabel="kB")
    axes.spines[["top", "right"]].set_visible(False)


figure, (left, right) = plt.subplots(1, 2, figsize=(9, 2.4), layout="constrained")
in_registers = {n: compiled_for(single_pass, n, n // 1024) for n in lengths}
draw_sm(
    left,
    {
        f"{n:,}": (blocks_an_sm(r), -(-r.registers // 8) * 8, n // 256)
        for n, r in in_registers.items()
    },
    256,
    "registers of an SM",
)
in_shared = {f"{n:,}": (found[n], shared_of(n) / 1024 + 1, n // 256) for n in lengths}
draw_sm(right, in_shared, 228, "shared memory of an SM")
left.set_ylabel("rows of …")
plt.show()

# %% [markdown]
# Blue is what a row occupies, orange what else a block takes. Registers are half full of rows;
# shared memory is full of them, up to where the next block does not fit (at 4,096 it is the 2,048
# threads that end first). The longest row is 57,344 `float32` now (56 vectors a thread: 224 kB), or
# twice as many elements of 2 bytes.
#
# **Predict:** what does the sanitizer say if the wait lets one group too many be in flight:
# `late=1`?

# %%
too_late = fk.predict("kind of finding", None)  # such as "shared-race", "async-copy", "deadlock"

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(1, 2048, device="virtual"), fk.empty(1, 2048, device="virtual")
run_late = fk.compile(staged, whole(x), whole(y), 2, 1, device="virtual")
report = fk.sanitize(run_late, x, y)
too_late.against(report.findings[0].kind)
report

# %% [markdown]
# On a GPU the values are right as long as the data happen to come in time: the thread reads what is
# there. The virtual GPU keeps book.

# %% [markdown] exercise="week2/staged_rows" part="task"
# ### Exercise 1: let rows wait in shared memory
#
# Softmax of each row of x, float32, rows of up to 1,024 elements in whole vectors of four. A warp
# copies the whole row to shared memory with `cp.async`, 32 vectors per group, all groups in flight
# before the first is waited for; finds maximum and sum group by group, as they arrive; and takes
# the result from shared memory. No element is read from global memory twice. `staged_rows(x, y)`.
#
# **Asked**: one block per row, 32 threads per block, 16 bytes per load, each element read at least
# twice from shared memory.
#
# <details><summary>Hint 1</summary>
#
# Eight groups for 1,024 elements. A lane reads only what it has copied itself: what does it wait
# for, and what not?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The eight waits leave 7, 6, … 0 groups in flight. The numbers have to be known at compile time, so
# the loop is a `cutlass.range_constexpr`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The commit stands outside of the `if` with the copy. A shared tensor of layout `(4, 32, 8)`,
# sliced by the lane in the line that makes it, is each lane's own (4, 8).
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
# A lane holds four numbers of the row at a time, in place of 32, and all of its 128 bytes are in
# flight at once. A row needs 4 kB of the 228 that a multiprocessor has, so 32 rows, as many as it
# has room for blocks, wait there together. No barrier: nobody reads what another lane has copied.
#
# </details>

# %% [markdown]
# In a row that is no multiple of a tile some lanes have a vector less to copy. The next exercise is
# about what then happens to a count of groups.

# %% [markdown] exercise="week2/fix_the_wait" part="task"
# ### Exercise 2: fix the waiting
#
# Each row of up to 512 float32 comes to shared memory in four groups; then its maximum is
# subtracted, and the row is stored backwards: `y[m, n] = x[m, N - 1 - n] - max x[m, :]`. On a GPU
# the lines below are right nearly always, since the data come from a cache that is near. Three
# things are wrong with them. Fix them, and let copies be in flight while the maximum is searched
# for, as they are now.
#
# **Asked**: at most 1 barrier.
#
# <details><summary>Hint 1</summary>
#
# A group is all that *one thread* has started since its last commit. How many has a lane that has
# no vector?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# When the vector of group k is read, groups k + 1 to 3 may be in flight: how many are they?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In the line `mY[row, k] = …` a lane reads what other lanes have copied, after each has waited for
# its own. A shuffle orders no memory; `cute.arch.sync_warp()` does.
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
# A commit inside of the `if` counts nothing for lanes without a vector, and as the numbers in
# `cp_async_wait_group` are the same for all lanes, so has to be the number of commits: an empty
# group is legal and complete at once. (With rows of whole tiles it makes no difference, which is
# what hides it.) And the last wait has to be 0: after it a thread has all of its own copies, and
# after `sync_warp` also those of others.
#
# </details>

# %% [markdown]
# ## 3. A row in the shared memory of several blocks
#
# **The bad number: 227 kB.** A row of 65,536 `float32` does not fit into one block, and beyond
# 28,672 a block has an SM to itself. But the blocks of a cluster have shared memory each, and can
# reach into that of the others. So a row is divided: two, four or eight blocks copy a part each,
# find the pair (m, s) of it, and exchange the pairs. What is new, in comparison with the sums of
# week 1: the row goes on, so **every** block needs the result.
#
# In Python: each block has a mailbox with a place for each pair, and everybody sends to everybody.

# %%
row = fk.randn(32, device="virtual").double()
parts = row.reshape(4, 8)  # four blocks, eight elements each
mailboxes = [{} for block in range(4)]
for sender, part in enumerate(parts):
    pair = part.max(), (part - part.max()).exp().sum()
    for mailbox in mailboxes:
        mailbox[sender] = pair
for block, mailbox in enumerate(mailboxes):
    assert len(mailbox) == 4  # wait until all are there
    m = max(m for m, s in mailbox.values())
    s = sum(s * (part_m - m).exp() for part_m, s in mailbox.values())
    print(f"block {block}: m = {m:.3f}, s = {s:.3f}, log-sum-exp {m + s.log():.6f}")
print(f"torch:                          {row.logsumexp(0):.6f}")

# %% [markdown]
# One line is easy in Python and not on a GPU: `wait until all are there`. Week 1 took a second
# `cluster_arrive` and `cluster_wait` for it: all threads of all blocks meet. There is something
# that waits for the *data* instead, an **mbarrier**: 8 bytes of shared memory that count. Its phase
# 0 ends when as many threads have arrived, and as many bytes have come, as it was told to expect:
#
# - `mbarrier_init(mbar, 1)`: one arrival a phase;
# - `mbarrier_arrive_and_expect_tx(mbar, n)`: that arrival, and n bytes are to come;
# - `store_async_dsmem(pointer, values, mbar, rank)`: sends 32-bit words to the place of `pointer`
#   in the block of that rank, and counts their bytes at *its* mbarrier when they are there. It is
#   asynchronous, as `cp.async` is, and hence the name;
# - `mbarrier_wait(mbar, 0)`: waits until phase 0 has ended. Then all the bytes may be read.
#
# To save the exchange within a block, each *warp* sends its own pair to every block: lane r to the
# block of rank r.
#
# **Predict:** four blocks of eight warps. How many bytes does each mbarrier have to expect?

# %%
expected = fk.predict("bytes that come to each block", None)


# %%
WARPS = THREADS // 32


@cute.jit
def open_mailbox(blocks: cutlass.Constexpr, expected: cutlass.Constexpr):
    """Room for (m, s) of all warps of a cluster, and the mbarrier that counts their bytes."""
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    sPart = smem.allocate_tensor(Float32, cute.make_layout((2, WARPS * blocks)), 8)
    mbar = smem.allocate_tensor(Int64, cute.make_layout(1), 8).iterator
    if tidx == 0:
        cute.arch.mbarrier_init(mbar, 1)
        cute.arch.mbarrier_arrive_and_expect_tx(mbar, expected)
    cute.arch.mbarrier_init_fence()
    cute.arch.cluster_arrive_relaxed()
    return sPart, mbar


@cute.jit
def merged_cluster(
    m: Float32,
    s: Float32,
    sPart: cute.Tensor,
    mbar: cute.Pointer,
    blocks: cutlass.Constexpr,
    waits: cutlass.Constexpr = True,
):
    """(m, s) of a cluster, in all its threads."""
    m, s = merged_lanes(m, s)
    lane, warp, rank = cute.arch.lane_idx(), cute.arch.warp_idx(), cute.arch.block_idx_in_cluster()
    mine = (sPart.iterator + 2 * (rank * WARPS + warp)).align(8)
    if cutlass.const_expr(waits):
        cute.arch.cluster_wait()
    if lane < blocks:
        cute.arch.store_async_dsmem(mine, (m.bitcast(Int32), s.bitcast(Int32)), mbar, lane)
    cute.arch.mbarrier_wait(mbar, 0)
    return merged_parts(sPart)


# %% [markdown]
# What used to be `merged_block` is `merged_cluster`: a lane for each block stores where one lane
# did, and `mbarrier_wait` stands where the barrier stood. The rest of the kernel is that of
# `staged`, with another first vector and another step. (The grid has one dimension, with the rank
# as the remainder: y and z of a grid end at 65,535, and there may be more rows.)


# %%
@cute.kernel
def cluster_kernel(
    mX: cute.Tensor,
    mY: cute.Tensor,
    loads: cutlass.Constexpr,
    blocks: cutlass.Constexpr,
    waits: cutlass.Constexpr,
    missing: cutlass.Constexpr,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    rank, row = bidx % blocks, bidx // blocks
    gX, gY = vectors_of(mX[row, None]), vectors_of(mY[row, None])  # ((Vec),(Rest))
    smem = cutlass.memory.SmemAllocator()
    layout = cute.make_layout((gX.shape[0][0], THREADS, loads))  # (Vec,THREADS,loads)
    tXsX = smem.allocate_tensor(mX.element_type, layout, 128)[None, tidx, None]  # (Vec,loads)
    sPart, mbar = open_mailbox(blocks, 8 * WARPS * blocks - missing)
    first, step = rank * THREADS + tidx, blocks * THREADS
    start_copies(gX, tXsX, first, step)
    m, s = first_look(gX, tXsX, first, step)
    m, s = merged_cluster(m, s, sPart, mbar, blocks, waits)
    second_look(tXsX, gY, m, s, first, step)


@cute.jit
def cluster(
    mX: cute.Tensor,
    mY: cute.Tensor,
    loads: cutlass.Constexpr,
    blocks: cutlass.Constexpr,
    waits: cutlass.Constexpr = True,
    missing: cutlass.Constexpr = 0,
):
    cluster_kernel(mX, mY, loads, blocks, waits, missing).launch(
        grid=(mX.shape[0] * blocks, 1, 1), block=(THREADS, 1, 1), cluster=(blocks, 1, 1)
    )


# Clusters need compute capability 9.0; on an older GPU this runs on the virtual one.
DEVICE = "virtual" if fk.target.arch in ("sm_80", "sm_86", "sm_87", "sm_89") else None
run_cluster, x, y = tried(cluster, 2, 4, dtypes=ALL, device=DEVICE)
expected.against(8 * WARPS * 4)

# %% [markdown]
# Who has what of a row of 8,000 elements, by block:

# %%
fk.footprint(run_cluster, x, y, tensor="mX")

# %% [markdown]
# And the exchange. A column is a warp, by the block it belongs to; each block has a mailbox with
# the pairs of all of them. The arrows are the four lanes of one warp.

# %% jupyter={"outputs_hidden": true}
figure, axes = plt.subplots(figsize=(7.5, 2.6), layout="constrained")
senders = [[part // WARPS for part in range(4 * WARPS)]] * 4
axes.pcolormesh(senders, cmap="Pastel1", vmin=0, vmax=8, edgecolors="w")
there = WARPS + 3  # the column of warp 3 of block 1
for block in range(4):
    axes.add_patch(plt.Rectangle((there, block), 1, 1, fill=False, color="0.2"))
    bent = {"arrowstyle": "->", "color": "0.2", "connectionstyle": f"arc3,rad={-0.15 * block}"}
    axes.annotate("", xy=(there + 0.5, block + 0.4), xytext=(there + 0.5, -0.7), arrowprops=bent)
axes.text(there + 0.5, -0.9, "lanes 0 to 3 of warp 3 of block 1", ha="center", size=8)
ranks = [f"from block {rank}" for rank in range(4)]
axes.set_xticks([rank * WARPS + WARPS / 2 for rank in range(4)], ranks)
axes.set_yticks([block + 0.5 for block in range(4)], [f"sPart of block {b}" for b in range(4)])
axes.set(ylim=(4, -1.5))
axes.spines[:].set_visible(False)
axes.tick_params(length=0)
plt.show()

# %% [markdown]
# Two questions that one should ask of every kernel of this kind:
#
# **May a block send already?** Blocks of a cluster are started together, and yet one may be at its
# store while another has not made its mbarrier. What arrives there is not counted, and what is not
# counted is waited for in vain; or it goes to shared memory that is not the block's yet. Hence
# `cluster_arrive` when the mbarrier is made (`relaxed`: the fence before it says what has to be
# seen), and `cluster_wait` before the first store. Between the two lies the whole first look, so
# nobody waits for long.
#
# **May a block leave already?** Others would store into memory that is gone. But a block leaves
# after its `mbarrier_wait`, and then all that was to come has come. No second barrier of the
# cluster.
#
# **Predict:** what does the sanitizer call it if `cluster_wait` is left out?

# %%
no_wait = fk.predict("kind of finding", None)  # such as "block-lifetime", "async-copy", "deadlock"

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(1, 8192, device="virtual"), fk.empty(1, 8192, device="virtual")
run_hasty = fk.compile(cluster, whole(x), whole(y), 2, 4, False, device="virtual")
report = fk.sanitize(run_hasty, x, y)
no_wait.against(report.findings[0].kind)
print("\n".join(str(report).splitlines()[:6]))

# %% [markdown]
# > **Looks right and is wrong.** An mbarrier that expects 8 bytes too few. Its phase ends one pair
# > early, and whoever reads then finds 31 pairs of 32.

# %%
run_short = fk.compile(cluster, whole(x), whole(y), 2, 4, True, 8, device="virtual")
run_short(x, y)
print(fk.check(y, x.double().softmax(1)))
print(fk.sanitize(run_short, x, y))

# %% [markdown]
# Right values, no finding: in the usual order of the virtual GPU the last pair arrives before
# anybody looks. On a GPU it is a race that may be lost. Adversarial schedules lose it:

# %%
for finding in fk.sanitize(run_short, x, y, schedule="adversarial", seeds=2).findings:
    print(str(finding).splitlines()[0])

# %% [markdown]
# It is one mistake: a pair that is read too early is a place that nobody has written yet, and a
# block that has read too early leaves too early. With 8 bytes too *many* the phase never ends:

# %%
run_long = fk.compile(cluster, whole(x), whole(y), 2, 4, True, -8, device="virtual")
print("\n".join(str(fk.sanitize(run_long, x, y)).splitlines()[2:5]))

# %% [markdown] exercise="week2/two_blocks" part="task"
# ### Exercise 3: share a row between two blocks
#
# Softmax of each row of x, float32, rows of up to 512 elements in whole vectors of four. A thread
# keeps one vector in registers: thread `t` of the block of rank `r` has vector `64 r + t`. The pair
# (m, s) of each of the four warps goes to *both* blocks, by `store_async_dsmem`, and an mbarrier in
# each block counts what comes to it. One read, one write, one exchange. `two_blocks(x, y)`, for
# GPUs of compute capability 9.0 and later.
#
# **Asked**: one cluster per row, 2 blocks per cluster, 64 threads per block, no barriers, at most 1
# barrier of the cluster, 16 bytes per load.
#
# <details><summary>Hint 1</summary>
#
# Every thread needs the row's m and s in the end, so each block has a mailbox and an mbarrier of
# its own. How many bytes come to each?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Between making the mbarrier and the first store to the other block: a fence,
# `cluster_arrive_relaxed()`, what a block can do alone, `cluster_wait()`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In the line that sends, lane r of each warp sends to rank r. A warp without a single element has m
# = -inf: subtract 0 there.
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
# Four pairs, 32 bytes, to each of two blocks; one wait, no barrier of a block at all, and no second
# one of the cluster: a block leaves when all that was to come to it has come. Production kernels
# look like this, with 8 or 16 blocks and more vectors a thread.
#
# </details>

# %% [markdown]
# Where one block alone needs the result, the others only send:

# %% [markdown] exercise="week2/cluster_logsumexp" part="task"
# ### Exercise 4: find the log-sum-exp of a row in a cluster
#
# `y[m] = log(exp(x[m, 0]) + … + exp(x[m, N-1]))` for float32 rows of any length, without overflow,
# in the columns of week 1's `cluster_sum`: block `r` takes those whose number divided by 128 leaves
# `r` when divided by 4. Each warp brings its pair (m, s) to block 0 by `store_async_dsmem`, 16
# pairs in all; an mbarrier of block 0 counts their bytes, and one warp of it makes the result. One
# read of x. `cluster_logsumexp(x, y)`, for GPUs of compute capability 9.0 and later.
#
# **Asked**: one cluster per row, 4 blocks per cluster, 128 threads per block, at most 1 barrier of
# the cluster.
#
# <details><summary>Hint 1</summary>
#
# What has to be there before the first pair may be sent: block 0 itself, and its mbarrier with the
# bytes that it expects. Which two halves of which barrier say so?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `N` may be less than 128: whole warps have no element, and their pair is (-inf, 0). Where would
# that become NaN?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The pair goes to `(sPart.iterator + 2 * number).align(8)`, in a line for one lane of each warp;
# `cute.arch.warp_idx()` is a shuffle, so it stands outside of that `if`.
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
# 16 pairs are 128 bytes: the phase of the mbarrier ends when the one arrival of thread 0 and all of
# these bytes are in. Nobody but block 0 has to wait, and nobody may send before `cluster_wait`.
# Blocks 1 to 3 may leave as soon as they have sent: nobody writes to them. A pair travels as two
# words in one store, so m and s of a warp never come apart. (With `grid=(4, rows, 1)` it is right,
# too, for up to 65,535 rows: a grid's y ends there.)
#
# </details>

# %% [markdown]
# ## 4. A row that fits nowhere
#
# **The bad number: 8 × 227 kB.** A row of 1,048,576 `float32` is 4 MB. There is no place for it on
# the chip, so it is read twice, as in `01_online`: once for (m, s), once for the result. What has
# been learnt since goes into it: vectors, four of them in flight, and a cluster where one block
# would be too slow for its row (with `blocks=1` a cluster is a block).


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
    sPart, mbar = open_mailbox(blocks, 8 * WARPS * blocks)
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

# %% [markdown]
# **Predict:** how many bytes go to and from memory, in comparison with `cluster`?

# %%
more = fk.predict("bytes of streaming / bytes of cluster", None)


# %% jupyter={"outputs_hidden": true}
def moved(run):
    """Bytes of all sectors that are asked for, in both directions."""
    p = fk.profile(run, x, y)
    return 32 * (p["global_load_sectors"] + p["global_store_sectors"])


run_cluster = fk.compile(cluster, whole(x), whole(y), loads_of(x, 4 * THREADS), 4, device=DEVICE)
print(f"cluster {moved(run_cluster):,} bytes, streaming {moved(run_streaming):,} bytes")
more.against(moved(run_streaming) / moved(run_cluster))

# %% [markdown]
# That is what is asked for. Whether the second read goes to memory is another matter: L2, 52 MB on
# an H200 (MB are 10⁶ bytes here), may still have the row, if the rows that are at work at a time
# leave it there.
#
# In this kernel the loads of the next round wait for the exponentials of this one. With `cp.async`
# they need not: one buffer in use, one in flight.

# %% [markdown] exercise="week2/two_stages" part="task"
# ### Exercise 5: stream a row through two buffers
#
# `y[m] = log(exp(x[m, 0]) + … + exp(x[m, N-1]))`, float32, for rows of *any* number of whole
# vectors of four. Shared memory holds two tiles of 32 vectors: while the lanes absorb one tile into
# (m, s), the copy of the next is in flight to the other buffer. All elements come by `cp.async`.
# `two_stages(x, y)`.
#
# **Asked**: one block per row, 32 threads per block, at most 1,024 bytes of shared memory per
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
# `cp_async_wait_group(1)` leaves the newest group in flight. For this to mean the same in the last
# round, where there is no tile to start, that round has to commit as well.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Tile k lives in buffer `k % 2`, in the line that copies and in the line that reads. Each lane
# reads only what it has copied: no barrier.
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
# Two tiles of 512 bytes, whatever the length: this is the loop of every kernel that streams, of a
# matrix product as of attention; they have more stages and larger tiles. Who starts tile k + 2 must
# be done with tile k, whose buffer it takes. Here a lane reads its own vectors in program order, so
# it is; where others read them, a barrier stands at the end of each round.
#
# </details>

# %% [markdown]
# ## 5. Which way for which length?
#
# First for one length, by hand:

# %% [markdown] exercise="week2/what_fits" part="task"
# ### Exercise 6: count what fits
#
# 4,096 rows of 24,576 float32 go through `staged`, in blocks of 256 threads; an SM has 228 kB (of
# 1,024 bytes) of shared memory, 227 for a block at most, and takes 1 kB more for each block. The
# last two questions are of `cluster`: the fewest blocks, 1, 2, 4 or 8, whose shared memory holds
# such a row; and what each block's mbarrier is to count. MB are 10⁶ bytes, and nothing is found in
# L2.
#
# <details><summary>Hint 1</summary>
#
# A row is 24,576 × 4 bytes, and a vector is 16 of them.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# An SM has room for as many blocks as the scarcest of threads, registers and shared memory allows;
# here it is the last.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The matrix is 402.7 MB: in the lines in MB, ask how often each kernel moves it. In the last line,
# every warp of the cluster sends one pair to each block.
#
# </details>

# %% exercise="week2/what_fits" part="skeleton"
fits = {
    # FILL ME IN (roughly 7 lines)
    "kB of a row in shared memory": None,
    "vectors in flight, each thread": None,
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
#     "vectors in flight, each thread": 24,
#     "blocks that an SM has room for": 2,
#     "MB that staged moves": 805,
#     "MB that streaming moves": 1208,
#     "blocks of a cluster for rows of 524,288 bfloat16": 8,
#     "bytes that an mbarrier expects, 8 blocks of 8 warps": 512,
# }
# ```
#
# 96 kB are 6,144 vectors, 24 for each of 256 threads. Two blocks of 97 kB fit into 228, three do
# not. `staged` moves the matrix twice, 805 MB, and streaming three times, 1,208: unless L2 still
# has a row when it is read again, that is half as much once more. A row of 1 MB needs 8 blocks of
# 128 kB. 64 warps send 8 bytes each, to every block.
#
# </details>

# %% [markdown]
# Now all ways, and rows from 1,024 to 1,048,576 elements, so many of them that the matrix is always
# the same: 2²⁶ `float32`, 268 MB. What can be said before measuring: the blocks an SM has room for
# (with the fewest blocks a row that leave 32 kB or less for each), how often the matrix is moved,
# and the MB of rows that are at work at a time on 132 SMs when `streaming` has one block, or eight,
# for a row.

# %%
LENGTHS = (1024, 4096, 16384, 32768, 65536, 131072, 262144, 1048576)


def blocks_of(x):
    """The fewest blocks that leave each of them 32 kB of a row or less; 8 at most."""
    row_kb = x.shape[1] * x.element_size() / 1024
    return next((b for b in (2, 4) if row_kb <= 32 * b), 8)


streaming_blocks = blocks_an_sm(compiled_for(streaming, 4096, 1))
in_cluster = {n: blocks_of(fk.empty(1, n, device="virtual")) for n in LENGTHS[1:-1]}
print(f"{'':>9}  {'blocks an SM of':^30}  {'streaming: MB at work':^24}")
print(f"{'float32':>9}  single_pass  staged  cluster      1 block a row  8 blocks a row")
for n in LENGTHS:
    single, cached, shared = "-", "-", "-"
    if n <= 65536:
        run = compiled_for(single_pass, n, n // 1024)
        single = f"{blocks_an_sm(run)}" + " spills" * bool(run.spill_bytes)
    if n <= 57344:
        cached = blocks_an_sm(compiled_for(staged, n, n // 1024), shared_of(n))
    if n in in_cluster:
        run = compiled_for(cluster, n, -(-n // (1024 * in_cluster[n])), in_cluster[n])
        shared = f"{blocks_an_sm(run, shared_of(n, in_cluster[n]))} ({in_cluster[n]} a row)"
    print(f"{n:9,}  {single:>11}  {cached:>6}  {shared:>11}", end="")
    print(*(f"  {min(264 * streaming_blocks // b * n * 2, 2**28) / 1e6:13,.0f}" for b in (1, 8)))

# %% [markdown]
# **Predict**, in `float32`: the fastest way for rows of 65,536, and for rows of 1,048,576? And at
# 262,144: how many times as long as `cluster` does `streaming` take?

# %%
fastest = fk.predict("the fastest, 65,536 and 1,048,576", None)  # as ("staged", "single_pass")
ratio = fk.predict("time of streaming / time of cluster, 262,144", None)

# %% jupyter={"outputs_hidden": true}
times = recorded("week2/03_rows_that_do_not_fit")
by_length = {}  # (dtype, length) -> {way: the row of its fastest variant}
for r in times.rows:
    here = by_length.setdefault((r.dtype, r.shape[1]), {})
    name = r.step.split(",")[0]
    if name not in here or r.ms < here[name].ms:
        here[name] = r


def winner(n, dtype="float32"):
    here = {name: r.ms for name, r in by_length[dtype, n].items() if name != "torch"}
    return min(here, key=here.get)


fastest.against((winner(65536), winner(1048576)))
one_block = times.row("streaming", "float32", (256, 262144)).ms
ratio.against(round(one_block / by_length["float32", 262144]["cluster"].ms, 2))

figure, axes = plt.subplots(1, 2, figsize=(8.4, 2.9), sharey=True, layout="constrained")
for ax, dtype in zip(axes, ("float32", "bfloat16"), strict=True):
    for name in ("torch", "single_pass", "staged", "cluster", "streaming"):
        there = [(n, by_length[dtype, n].get(name)) for n in LENGTHS]
        points = [(n, times.percent(r)) for n, r in there if r is not None]
        style = {"color": "0.6", "ls": "--"} if name == "torch" else {"marker": "o", "ms": 4}
        ax.plot(*zip(*points, strict=True), label=name, **style)
    ax.set_xscale("log", base=2)
    ax.set(xticks=LENGTHS, xlabel="elements a row", title=dtype, ylim=(0, 105))
    ax.set_xticklabels(["1k", "4k", "16k", "32k", "64k", "128k", "256k", "1M"], fontsize=7)
    ax.grid(alpha=0.3)
axes[0].set_ylabel("% of a copy's bandwidth")
axes[0].legend(fontsize=8)
plt.show()

# %% [markdown]
# (Of `streaming` the faster of its two variants.) All in percent of the copy; `cluster` has as many
# blocks a row as in the table above, by the bytes of the row. (At 1,024 two are missing: when this
# was recorded, rows were the grid's y.)

# %%
print(times.headline)
for dtype in ("float32", "bfloat16"):
    print(f"\n{dtype:<27}" + "".join(f"{n:>10,}" for n in LENGTHS))
    here = {(r.step, r.shape[1]): f"{times.percent(r):.0f}" for r in times.rows if r.dtype == dtype}
    for step in dict.fromkeys(r.step for r in times.rows):
        print(f"{step:<27}" + "".join(f"{here.get((step, n), '-'):>10}" for n in LENGTHS))

# %% [markdown]
# Column by column, in `float32`:
#
# - **At 4,096 and 16,384** registers have 97 % of a copy, shared memory 98, and a cluster of two 99
#   and 96: no more than 3 % apart, and `single_pass` is the simplest. (At 1,024 a block has too
#   little to do; the warps of the last notebook are for that.)
# - **At 32,768** there is one block an SM, with registers as with shared memory, and that costs no
#   more than 4 or 5 %: what eight warps have in flight is a whole row.
# - **At 65,536** registers spill, 71 %, and `staged` has no room. A cluster reaches 90 %.
# - **At 262,144** each of eight blocks has 128 kB and an SM to itself, 83 %. Streaming takes 1.35
#   times as long as that, not quite the 1.5 of the bytes.
# - **At 1,048,576** streaming is the only way, and 64 blocks for 64 rows leave half of the SMs
#   without any work: 31 %. With eight blocks a row it is 62 %: two thirds, as three moves of the
#   matrix take where a copy has two.
#
# **The second read** is nearly free while the rows at work are a small part of L2: look at the MB
# in the table before. `streaming` has 93 % at 4,096 (13 MB) and 67 % at 16,384 (52 MB); with eight
# blocks a row, 89 % at 32,768 (13 MB), 82 % at 65,536 (26 MB) and 67 % at 131,072 (52 MB). L2 has
# 52 MB, so the last would just fit by their size, and yet two thirds is what three moves take:
# results are written through the same cache. A quarter of it is the part to count on. But eight
# blocks for a row of 4,096 are blocks without work, and 26 %.
#
# **In `bfloat16`** a row of the same bytes has twice the elements to compute in the same time. At
# 65,536 `staged` has 128 kB and one block an SM, as it had in `float32` at 32,768, and reaches 68 %
# in place of 94. Four blocks of 32 kB, six of them on an SM, have more warps to compute: 85 %.
#
# What you said in this notebook, and what it was:

# %%
fk.predictions()

# %% [markdown]
# ## Summary
#
# | way | x is read | the longest row, `float32` | where it waits |
# |---|---|---|---|
# | `single_pass` | once | 32,768 (at 65,536 it spills) | registers |
# | `staged` | once | 57,344 | shared memory of a block |
# | `cluster` | once | 458,752 | shared memory of eight blocks |
# | `streaming` | twice | any | nowhere, or in L2 |
#
# Recorded on an H200 on 22 November 2026, 2²⁶ `float32`, in milliseconds (a copy: 0.126):
#
# | way | 4,096 | 16,384 | 32,768 | 65,536 | 262,144 | 1,048,576 |
# |---|---|---|---|---|---|---|
# | torch | 0.211 | 0.172 | 0.208 | 0.263 | 0.256 | 0.455 |
# | `single_pass` | 0.130 | 0.131 | 0.137 | 0.177 | – | – |
# | `staged` | 0.130 | 0.129 | 0.135 | – | – | – |
# | `cluster` | 0.128 | 0.132 | 0.137 | 0.140 | 0.151 | – |
# | `streaming` | 0.135 | 0.190 | 0.195 | 0.199 | 0.205 | 0.403 |
# | `streaming`, 8 blocks | 0.489 | 0.172 | 0.142 | 0.154 | 0.194 | 0.204 |
#
# | mistake | values here | the sanitizer finds it |
# |---|---|---|
# | a wait that lets one group too many be in flight | none: the run is stopped | yes |
# | a store before `cluster_wait` | none: the run is stopped | yes |
# | an mbarrier that expects too few bytes | right, in the usual order | in adversarial schedules |
# | one that expects too many | none | yes: a deadlock |
# | no fence before a relaxed arrival | right | no: only in the PTX, as exercises 3 and 4 do |
#
# **The bad number:** `cluster` at 262,144 has 83 % of a copy's speed, and the rows have still
# another use, in training: their gradient, for which two rows have to be read.
#
# **In practice** production kernels hold the row where you did. forgekit's softmax takes registers
# for rows that fit, shared memory where that was faster, clusters of up to 16 blocks (more than 8
# have to be asked for), and beyond them it streams with 8 blocks a row;
# `forgekit/ops/tile_choice.py` has the lengths. Kernels that copy with TMA, Hopper's engine for
# whole tiles, wait for their data at mbarriers as well: one thread asks, and the bytes are counted
# as here.
#
# **Further reading:** [mbarrier in the PTX
# manual](https://docs.nvidia.com/cuda/parallel-thread-execution/index.html#parallel-synchronization-and-communication-instructions-mbarrier)
# · [distributed shared
# memory](https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#distributed-shared-memory)
# · [quack's softmax, in clusters](https://github.com/Dao-AILab/quack).
#
# **Next:** the gradient ([`04_backward`](04_backward.ipynb)).


# %%
def way(fn, most, blocks=lambda x: 1):
    """A step for rows of up to `most` bytes a block, with as many vectors a thread as they need."""

    def specs(x, y):
        loads = loads_of(x, blocks(x) * THREADS)
        if loads * 16 * THREADS > most:
            raise fk.UsageError(f"rows of {x.shape[1]:,} do not fit")
        return [whole(x), whole(y), loads, *([blocks(x)] if fn is cluster else [])]

    return fn, specs


steps = {
    "single_pass": way(single_pass, 256 << 10),
    "staged": way(staged, 224 << 10),
    "cluster": way(cluster, 224 << 10, blocks_of),
    "streaming": (streaming, lambda x, y: [whole(x), whole(y), 1]),
    "streaming, 8 blocks": (streaming, lambda x, y: [whole(x), whole(y), 8]),
}
