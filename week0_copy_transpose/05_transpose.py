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
# # Transpose a matrix as fast as you copy it
#
# **You will build** one operation, `y = x.T`, in eight steps: from two lines that move eight times
# too much on one side to a kernel that moves what a copy moves.
# **You will learn** to see when *coalesced* is only a claim, what a tile in shared memory is for,
# padding and swizzling at work, why 16-bit elements need wider accesses, and what fills a GPU.
# **You need** the notebooks up to `03_copy_fast`; no GPU. About 60 minutes, and 55 more for the
# exercises.
#
# Each step begins with the number that was bad in the step before. `measure` is what we do with
# all of them.

# %%
import inspect

import cutlass
import cutlass.cute as cute
import torch
from cuda.bindings.driver import CUstream
from IPython.display import Markdown, display

import forgekit as fk
from forgekit.kernels.copy_transpose import VectorTranspose
from forgekit.ops import copy_transpose
from forgekit.ops.transpose_choice import choose
from forgekit.ops.transpose_launch import compile_choice

profiles = {}  # step -> profile


def measure(name, fn, x, y):
    """Compile, run, check in hostile orders too, and profile."""
    run = fk.compile(fn, x, y)
    run(x, y)
    fk.check(y, x.T, again=lambda: run(x, y))
    profiles[name] = fk.profile(run, x, y)
    return run


# %% [markdown]
# ## 1. The idea, in plain Python
#
# Element `(row, col)` of X becomes element `(col, row)` of Y. Below, blocks of threads do it, one
# element each; `tx` and `ty` are the two thread indices, and 32 threads with neighbouring `tx` are
# a warp. X has M rows and N columns.
#
# All of this notebook is in the last two lines: both matrices are row-major, so the last index
# says what lies side by side in memory. `tx` is part of the last index on the right of the `=`, and
# of the first on the left. You can exchange the two. Then it is the other way round.

# %%
M, N = 5, 40
X = [[100 * row + col for col in range(N)] for row in range(M)]
Y = [[None] * M for _ in range(N)]
for by in range(-(-M // 8)):
    for bx in range(-(-N // 32)):  # the blocks
        for ty in range(8):
            for tx in range(32):  # the threads of one block, ty = 0 is the first warp
                row, col = by * 8 + ty, bx * 32 + tx
                if row < M and col < N:
                    Y[col][row] = X[row][col]
print(Y[39] == [X[row][39] for row in range(M)])

# %% [markdown]
# ## 2. The two naive kernels
#
# Both orders, as kernels. `scatter` reads along rows of X and writes down columns of Y; `gather`
# reads down columns of X and writes along rows of Y.


# %%
@cute.kernel
def scatter_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    row, col = by * 8 + ty, bx * 32 + tx
    if row < mX.shape[0] and col < mX.shape[1]:
        mY[col, row] = mX[row, col]


@cute.jit
def scatter(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 8), 1)
    scatter_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))


@cute.kernel
def gather_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    row, col = by * 8 + ty, bx * 32 + tx
    if row < mY.shape[0] and col < mY.shape[1]:
        mY[row, col] = mX[col, row]


@cute.jit
def gather(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mY.shape[1], 32), cute.ceil_div(mY.shape[0], 8), 1)
    gather_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))


x, y = fk.randn(5, 6), fk.empty(6, 5)
run_scatter = fk.compile(scatter, x, y)
run_scatter(x, y)
fk.check(y, x.T)
fk.footprint(run_scatter, x, fk.empty(6, 5))

# %% [markdown]
# The picture says which thread touches which element: along the rows of `mX` the numbers count up,
# in `mY` they count down the columns.
#
# **Predict**, for a larger matrix in float32: how many sectors does a load of `scatter` touch, how
# many a store? And `gather`?

# %% jupyter={"outputs_hidden": true}
fk.predict(global_load_sectors_per_request=None, global_store_sectors_per_request=None)
x, y = fk.randn(96, 128), fk.empty(128, 96)
measure("scatter", scatter, x, y)
measure("gather", gather, x, y)
for name in ("scatter", "gather"):
    p = profiles[name]
    load, store = p["global_load_sectors_per_request"], p["global_store_sectors_per_request"]
    print(f"{name}: {load:.0f} sectors a load, {store:.0f} a store")
profiles["scatter"].predicted

# %%
x, y = fk.randn(96, 128), fk.empty(128, 96)
fk.coalescing(run_scatter, x, y, kind="store")

# %% [markdown]
# 32 sectors for 32 elements: 28 of every 32 bytes are moved for nothing. **The bad number is 32**,
# and exchanging the two sides only carries it from the store to the load.
#
# ## 3. The idea again: a tile in between
#
# Somebody has to go down a column. It should be somebody for whom that is cheap, and in **shared
# memory** there are no sectors: any 32 words in 32 different banks are one wavefront. So each block
# takes a **tile** of 32 × 32 elements, in two rounds:
#
# 1. read the tile along the rows of X, and put it into shared memory;
# 2. fetch *columns* of the tile from there, and write them along the rows of Y.
#
# The tile in row `by` and column `bx` of the tiles of X belongs in row `bx`, column `by` of those
# of Y. In plain Python, with tiles of 4 × 4:

# %%
T, M, N = 4, 6, 10
X = [[100 * row + col for col in range(N)] for row in range(M)]
Y = [[None] * M for _ in range(N)]
for by in range(-(-M // T)):
    for bx in range(-(-N // T)):
        tile = [[None] * T for _ in range(T)]  # the block's shared memory
        for ty in range(T):
            for tx in range(T):
                if by * T + ty < M and bx * T + tx < N:
                    tile[ty][tx] = X[by * T + ty][bx * T + tx]
        for ty in range(T):  # the second round begins when the first is over
            for tx in range(T):
                if bx * T + ty < N and by * T + tx < M:
                    Y[bx * T + ty][by * T + tx] = tile[tx][ty]
print([list(column) for column in zip(*X, strict=True)] == Y)

# %% [markdown]
# `tx` is in the last index of X *and* in the last index of Y. And where the matrix ends inside a
# tile, the two rounds need two predicates.
#
# ## 4. It is called coalesced
#
# Here is a kernel of the kind one meets: it has a tile in shared memory, a barrier, right results,
# and a comment that says why it is fast. A block has 32 × 8 threads, so each thread takes four
# elements, eight rows apart.
#
# **Predict:** how many sectors does a store touch?

# %%
fk.predict(global_store_sectors_per_request=None)


# %% jupyter={"outputs_hidden": true}
@cute.kernel
def claimed_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    M, N = mX.shape
    row0, col0 = by * 32, bx * 32
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(mX.element_type, cute.make_layout((32, 32), stride=(32, 1)), 16)
    for k in cutlass.range_constexpr(0, 32, 8):
        if row0 + ty + k < M and col0 + tx < N:
            sX[ty + k, tx] = mX[row0 + ty + k, col0 + tx]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(0, 32, 8):
        if row0 + ty + k < M and col0 + tx < N:
            # coalesced: tx runs along a row of the tile
            mY[col0 + tx, row0 + ty + k] = sX[ty + k, tx]


@cute.jit
def claimed(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 32), 1)
    claimed_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))


x, y = fk.randn(96, 128), fk.empty(128, 96)
measure("called coalesced", claimed, x, y)
profiles["called coalesced"]

# %% [markdown]
# The values are right, the sanitizer has nothing to say, and a store touches 32 sectors. `tx` does
# run along a row: of the *tile*. Where a store goes is decided by the left side alone, and there
# `tx` is in the first index of `mY`: neighbouring threads write one below the other.
#
# Data are not coalesced by having been in shared memory. Each thread here takes out just what it
# has put in; the tile, and the barrier, serve nobody. **Ask the counters, not the comment.**
#
# Mend it yourself. The next section shows one way, so try first.

# %% [markdown] exercise="week0/transpose_coalesced" part="task"
# ### Exercise 1: write whole rows
#
# Mend the kernel of section 4, so that both its reads and its writes are coalesced. The load is
# good and stays; only what comes after the barrier changes. It has to work for every M and N.
#
# <details><summary>Hint 1</summary>
#
# Neighbouring threads should write neighbouring elements of mY. Which of its two indices has to
# contain `tx`?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The thread no longer writes the element that it loaded. It writes the one at row `col0 + ty + k`,
# column `row0 + tx` of mY; where in the tile `sX` is that one?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `mY[col0 + ty + k, row0 + tx] = sX[tx, ty + k]`, and the predicate asks about this row and this
# column: `col0 + ty + k < N and row0 + tx < M`.
#
# </details>


# %% exercise="week0/transpose_coalesced" part="skeleton"
@cute.kernel
def coalesced_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    M, N = mX.shape
    row0, col0 = by * 32, bx * 32
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(mX.element_type, cute.make_layout((32, 32), stride=(32, 1)), 16)
    for k in cutlass.range_constexpr(0, 32, 8):
        if row0 + ty + k < M and col0 + tx < N:
            sX[ty + k, tx] = mX[row0 + ty + k, col0 + tx]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(0, 32, 8):
        # FILL ME IN (roughly 2 lines)
        if row0 + ty + k < M and col0 + tx < N:
            mY[col0 + tx, row0 + ty + k] = sX[ty + k, tx]


@cute.jit
def transpose_coalesced(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 32), 1)
    coalesced_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))


# %% exercise="week0/transpose_coalesced" part="grade"
fk.exercise("week0/transpose_coalesced").grade(transpose_coalesced)

# %% [markdown] exercise="week0/transpose_coalesced" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# @cute.kernel
# def coalesced_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tx, ty, _ = cute.arch.thread_idx()
#     bx, by, _ = cute.arch.block_idx()
#     M, N = mX.shape
#     row0, col0 = by * 32, bx * 32
#     smem = cutlass.memory.SmemAllocator()
#     sX = smem.allocate_tensor(mX.element_type, cute.make_layout((32, 32), stride=(32, 1)), 16)
#     for k in cutlass.range_constexpr(0, 32, 8):
#         if row0 + ty + k < M and col0 + tx < N:
#             sX[ty + k, tx] = mX[row0 + ty + k, col0 + tx]
#     cute.arch.sync_threads()
#     for k in cutlass.range_constexpr(0, 32, 8):
#         if col0 + ty + k < N and row0 + tx < M:
#             mY[col0 + ty + k, row0 + tx] = sX[tx, ty + k]
#
#
# @cute.jit
# def transpose_coalesced(mX: cute.Tensor, mY: cute.Tensor):
#     grid = (cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 32), 1)
#     coalesced_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))
# ```
#
# The threads change their roles at the barrier: `tx` runs along a row of X before it and along a
# row of Y after it. This is what the shared tile is for. A thread hands its elements over to
# others, and so the barrier is needed, and a second predicate. That the data has been in shared
# memory does not make a store coalesced; only the addresses of the 32 lanes do.
#
# </details>

# %% [markdown]
# ## 5. It looks right and is wrong
#
# The bad number was 32 sectors a store. In the second round `tx` now runs along a row of Y, and
# so down a column of the tile.
#
# From here on the kernels let CuTe do the arithmetic of tiles: `cute.local_tile(mX, (32, 32), (by,
# bx))` is the tile `(by, bx)` of `mX`, a tensor of 32 × 32 with coordinates of its own.
#
# **Predict:** are the values right? Is the kernel?


# %%
@cute.kernel
def hasty_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    M, N = mX.shape
    gX = cute.local_tile(mX, (32, 32), (by, bx))  # (32,32)
    gY = cute.local_tile(mY, (32, 32), (bx, by))  # (32,32)
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(mX.element_type, cute.make_layout((32, 32), stride=(32, 1)), 16)
    for k in cutlass.range_constexpr(0, 32, 8):
        if by * 32 + ty + k < M and bx * 32 + tx < N:
            sX[ty + k, tx] = gX[ty + k, tx]
    for k in cutlass.range_constexpr(0, 32, 8):
        if bx * 32 + ty + k < N and by * 32 + tx < M:
            gY[ty + k, tx] = sX[tx, ty + k]


@cute.jit
def hasty(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 32), 1)
    hasty_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))


values_right = fk.predict("the values are right", None)  # True or False
kernel_right = fk.predict("the kernel is right", None)  # True or False
small_x, small_y = fk.randn(40, 33, device="virtual"), fk.empty(33, 40, device="virtual")
run_hasty = fk.compile(hasty, small_x, small_y, device="virtual")

# %% jupyter={"outputs_hidden": true} tags=["raises-exception"]
run_hasty(small_x, small_y)

# %% jupyter={"outputs_hidden": true}
values_right.against(torch.equal(small_y, small_x.T))
kernel_right.against(bool(fk.sanitize(run_hasty, small_x, small_y)))
fk.check(small_y, small_x.T)
fk.sanitize(run_hasty, small_x, small_y, schedule="adversarial", seeds=1)

# %% [markdown]
# The values are right, and there is a race: a thread reads what other warps have stored, and
# nothing makes it wait for them. In section 4 the barrier was not needed; here it is missing. In
# another order, which a GPU is free to choose, elements come out as the NaN that was there before.
#
# ## 6. The tile, mended, and its next bad number
#
# With the barrier. The size of the tile and the layout of `sX` become parameters, known when the
# kernel is compiled, because the next sections change nothing else. `make_transpose` makes a host
# function for each choice.
#
# **Predict:** sectors of a load and of a store, and **wavefronts of a load from shared memory** (a
# warp reads a column of the tile; how many banks has a column?).

# %%
fk.predict(
    global_load_sectors_per_request=None,
    global_store_sectors_per_request=None,
    shared_load_wavefronts_per_request=None,
)


# %% jupyter={"outputs_hidden": true}
@cute.kernel
def tile_kernel(mX: cute.Tensor, mY: cute.Tensor, layout_s: cute.Layout | cute.ComposedLayout):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    M, N = mX.shape
    T, _ = layout_s.shape
    rows = 256 // T  # rows of threads
    gX = cute.local_tile(mX, (T, T), (by, bx))  # (T,T)
    gY = cute.local_tile(mY, (T, T), (bx, by))  # (T,T)
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(mX.element_type, layout_s, 128)  # (T,T)
    for k in cutlass.range_constexpr(0, T, rows):
        if by * T + ty + k < M and bx * T + tx < N:
            sX[ty + k, tx] = gX[ty + k, tx]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(0, T, rows):
        if bx * T + ty + k < N and by * T + tx < M:
            gY[ty + k, tx] = sX[tx, ty + k]


def make_transpose(T, pitch, swizzle=None):
    """The host function for a tile of T × T whose rows are `pitch` elements apart."""

    @cute.jit
    def transpose(mX: cute.Tensor, mY: cute.Tensor):
        layout_s = cute.make_layout((T, T), stride=(pitch, 1))  # (T,T):(pitch,1)
        if cutlass.const_expr(swizzle is not None):
            layout_s = cute.make_composed_layout(cute.make_swizzle(*swizzle), 0, layout_s)
        grid = (cute.ceil_div(mX.shape[1], T), cute.ceil_div(mX.shape[0], T), 1)
        tile_kernel(mX, mY, layout_s).launch(grid=grid, block=(T, 256 // T, 1))

    return transpose


x, y = fk.randn(96, 128), fk.empty(128, 96)
run_shared = measure("shared tile", make_transpose(32, 32), x, y)
profiles["shared tile"]

# %% [markdown]
# Four and four: both sides of global memory are ideal. **The bad number is 32 again**, but another
# one: the wavefronts of a load from shared memory. A row of the tile is 32 words long, so what lies
# one below the other lies in one bank:

# %%
x, y = fk.randn(96, 128), fk.empty(128, 96)
fk.banks(run_shared, x, y, line="gY[ty + k, tx] = sX[tx, ty + k]", kind="load")

# %% [markdown]
# ## 7. Padding: one word more a row
#
# Which bank has element `(tx, 0)`, for `tx` from 0 to 31? The distance of two rows, the **pitch**,
# decides. (Elements are one word each here, so the bank is the offset modulo 32.)

# %%
for pitch in (32, 33, 34, 36, 40):
    banks = [tx * pitch % 32 for tx in range(32)]
    wavefronts = max(banks.count(bank) for bank in banks)
    print(f"pitch {pitch}: banks {banks[:9]} … {len(set(banks)):2} banks, {wavefronts} wavefronts")

# %% [markdown]
# A pitch of 33 gives each row a bank of its own; any odd number would. The kernel is the same, only
# the layout changes to `(32,32):(33,1)`.

# %% jupyter={"outputs_hidden": true}
fk.predict(shared_load_wavefronts_per_request=None, shared_store_wavefronts_per_request=None)
x, y = fk.randn(96, 128), fk.empty(128, 96)
run_padded = measure("padded", make_transpose(32, 33), x, y)
print(profiles["padded"].predicted)
fk.banks(run_padded, x, y, line="gY[ty + k, tx] = sX[tx, ty + k]", kind="load")

# %% [markdown]
# No conflict is left. What does it cost? Little memory: 31 unused words a block (the last row needs
# none), 3 %. Something else is dearer: row 1 begins at byte 132, which is no multiple of 16. **With
# padding by one word, only every fourth row can be accessed 16 bytes at a time**, and section 9
# will want that for all.
#
# Now you: a tile that is not square, and elements that are not words.

# %% [markdown] exercise="week0/transpose_padded" part="task"
# ### Exercise 2: a padded tile that is not square
#
# Write the second half of a transpose whose tile has 32 rows and 64 columns of X; the threads are
# 32 × 8, as before. Fill in the rest of the kernel, and choose the layout of `sX` so that there is
# no bank conflict, neither with 4-byte nor with 2-byte elements. `mX.element_type.width` is the
# number of bits of an element, known when the kernel is compiled.
#
# <details><summary>Hint 1</summary>
#
# The tile of mY has 64 rows and 32 columns. Eight rows of threads: how many rounds are that? And
# `tx` is which index of `sX` now?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Conflict-free means: one row further is one *bank* further, and a bank is a word of 32 bits. How
# many elements of 16 bits are a word?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The distance between rows is 64 elements plus one word: `stride=(64 + 32 // mX.element_type.width,
# 1)`. Then `cute.arch.sync_threads()`, and for `k` in `range_constexpr(0, 64, 8)` the thread writes
# `sX[tx, ty + k]`.
#
# </details>


# %% exercise="week0/transpose_padded" part="skeleton"
@cute.kernel
def padded_tile_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    M, N = mX.shape
    row0, col0 = by * 32, bx * 64
    # FILL ME IN (roughly 2 lines)
    layout_s = cute.make_layout((32, 64), stride=(64, 1))
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(mX.element_type, layout_s, 16)
    for k in cutlass.range_constexpr(0, 32, 8):
        for c in cutlass.range_constexpr(0, 64, 32):
            if row0 + ty + k < M and col0 + tx + c < N:
                sX[ty + k, tx + c] = mX[row0 + ty + k, col0 + tx + c]
    # FILL ME IN (roughly 4 lines)


@cute.jit
def transpose_padded(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], 64), cute.ceil_div(mX.shape[0], 32), 1)
    padded_tile_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))


# %% exercise="week0/transpose_padded" part="grade"
fk.exercise("week0/transpose_padded").grade(transpose_padded)

# %% [markdown] exercise="week0/transpose_padded" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# @cute.kernel
# def padded_tile_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tx, ty, _ = cute.arch.thread_idx()
#     bx, by, _ = cute.arch.block_idx()
#     M, N = mX.shape
#     row0, col0 = by * 32, bx * 64
#     elements_a_word = 32 // mX.element_type.width
#     layout_s = cute.make_layout((32, 64), stride=(64 + elements_a_word, 1))
#     smem = cutlass.memory.SmemAllocator()
#     sX = smem.allocate_tensor(mX.element_type, layout_s, 16)
#     for k in cutlass.range_constexpr(0, 32, 8):
#         for c in cutlass.range_constexpr(0, 64, 32):
#             if row0 + ty + k < M and col0 + tx + c < N:
#                 sX[ty + k, tx + c] = mX[row0 + ty + k, col0 + tx + c]
#     cute.arch.sync_threads()
#     for k in cutlass.range_constexpr(0, 64, 8):
#         if col0 + ty + k < N and row0 + tx < M:
#             mY[col0 + ty + k, row0 + tx] = sX[tx, ty + k]
#
#
# @cute.jit
# def transpose_padded(mX: cute.Tensor, mY: cute.Tensor):
#     grid = (cute.ceil_div(mX.shape[1], 64), cute.ceil_div(mX.shape[0], 32), 1)
#     padded_tile_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))
# ```
#
# Padding is measured in words, not in elements. With 65 elements of 16 bits, 32 words and a half,
# two rows further is 65 words further: 32 rows move through 16 banks only, and two lanes meet in
# each. With 66 elements, 33 words, each row has a bank of its own.
#
# The padding costs 32 words a block, and it costs alignment: rows of 33 words do not begin at
# multiples of 16 bytes. That is why the next exercise does without.
#
# </details>

# %% [markdown]
# ## 8. Swizzling: no padding, no conflict
#
# The bad number was the pitch of 33. A **swizzle** leaves it at 32 and exchanges elements *within*
# their row: element `(row, col)` is stored in column `col ^ row`. In a row all columns are still
# there, in another order: storing a row has no conflict. And the elements of one column are all in
# different columns now, since `col ^ 0`, `col ^ 1`, … are different numbers: reading a column has
# none, either. For a tile of 8 × 8 and 8 banks, in plain Python (each number is the column that has
# come to lie there):

# %%
for row in range(8):
    print(f"row {row}:", "  ".join(str(place ^ row) for place in range(8)))

# %% [markdown]
# Follow the 0s: they walk through all eight places. In CuTe this is a layout, so the kernel does
# not notice. The offset of `(row, col)` is `32 · row + col`: bits 0 to 4 are the column, bits 5 to
# 9 the row. `make_swizzle(bits, base, shift)` XORs `bits` bits, from bit `base` up, with those
# `shift` places higher: here 5 bits from bit 0 with those 5 places higher, `S<5,0,5>`.
#
# **Predict:** wavefronts, and whether it executes more or fewer instructions than the padded one.

# %% jupyter={"outputs_hidden": true}
fk.predict(shared_load_wavefronts_per_request=None, shared_store_wavefronts_per_request=None)
x, y = fk.randn(96, 128), fk.empty(128, 96)
run_swizzled = measure("swizzled", make_transpose(32, 32, (5, 0, 5)), x, y)
print(profiles["swizzled"].predicted)
for name in ("padded", "swizzled"):
    print(f"{name:9} {profiles[name]['warp_instructions']:,} PTX instructions")
fk.banks(run_swizzled, x, y, line="gY[ty + k, tx] = sX[tx, ty + k]", kind="load")

# %% [markdown]
# The same two numbers, and rows that begin at multiples of 128 bytes. The price is arithmetic: each
# address takes a shift, an AND and an XOR more. A kernel that waits for memory has time for that.

# %% [markdown] exercise="week0/transpose_swizzled" part="task"
# ### Exercise 3: the same tile, swizzled
#
# The tile of 32 × 64 once more, float32 this time, and not a byte more shared memory than its 8,192
# bytes. Make `layout_s` conflict-free. (You may also compute the exchange by hand, with `^`, and
# leave the layout alone.)
#
# <details><summary>Hint 1</summary>
#
# Write the offset of element (row, column) as bits: 64 · row + column. Which bits are the bank?
# Which bits change from lane to lane when a column is read?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The bank is bits 0 to 4. The column has bits 0 to 5 now, so the row begins at bit 6. Each bit of
# the bank wants to be XORed with a bit of the row.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `cute.make_swizzle(bits, base, shift)`: 5 bits, beginning with bit 0, XORed with those 6 places
# higher; `cute.make_composed_layout(swizzle, 0, layout_s)`.
#
# </details>


# %% exercise="week0/transpose_swizzled" part="skeleton"
@cute.kernel
def swizzled_tile_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    M, N = mX.shape
    row0, col0 = by * 32, bx * 64
    layout_s = cute.make_layout((32, 64), stride=(64, 1))
    # FILL ME IN (roughly 1 line)
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(mX.element_type, layout_s, 128)
    for k in cutlass.range_constexpr(0, 32, 8):
        for c in cutlass.range_constexpr(0, 64, 32):
            if row0 + ty + k < M and col0 + tx + c < N:
                sX[ty + k, tx + c] = mX[row0 + ty + k, col0 + tx + c]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(0, 64, 8):
        if col0 + ty + k < N and row0 + tx < M:
            mY[col0 + ty + k, row0 + tx] = sX[tx, ty + k]


@cute.jit
def transpose_swizzled(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], 64), cute.ceil_div(mX.shape[0], 32), 1)
    swizzled_tile_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))


# %% exercise="week0/transpose_swizzled" part="grade"
fk.exercise("week0/transpose_swizzled").grade(transpose_swizzled)

# %% [markdown] exercise="week0/transpose_swizzled" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# @cute.kernel
# def swizzled_tile_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tx, ty, _ = cute.arch.thread_idx()
#     bx, by, _ = cute.arch.block_idx()
#     M, N = mX.shape
#     row0, col0 = by * 32, bx * 64
#     layout_s = cute.make_layout((32, 64), stride=(64, 1))
#     layout_s = cute.make_composed_layout(cute.make_swizzle(5, 0, 6), 0, layout_s)
#     smem = cutlass.memory.SmemAllocator()
#     sX = smem.allocate_tensor(mX.element_type, layout_s, 128)
#     for k in cutlass.range_constexpr(0, 32, 8):
#         for c in cutlass.range_constexpr(0, 64, 32):
#             if row0 + ty + k < M and col0 + tx + c < N:
#                 sX[ty + k, tx + c] = mX[row0 + ty + k, col0 + tx + c]
#     cute.arch.sync_threads()
#     for k in cutlass.range_constexpr(0, 64, 8):
#         if col0 + ty + k < N and row0 + tx < M:
#             mY[col0 + ty + k, row0 + tx] = sX[tx, ty + k]
#
#
# @cute.jit
# def transpose_swizzled(mX: cute.Tensor, mY: cute.Tensor):
#     grid = (cute.ceil_div(mX.shape[1], 64), cute.ceil_div(mX.shape[0], 32), 1)
#     swizzled_tile_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))
# ```
#
# The bank is bits 0 to 4 of the offset, in a tile of 64 columns the row is bits 6 to 10, so the
# shift is 6. The square tile's shift of 5 would XOR with bits 5 to 9: bit 5 belongs to the column,
# and only four bits of the row take part. 32 rows then share 16 banks, two wavefronts a request.
#
# By hand it is `sX[r, c ^ r]` on both sides. And for a 16-bit type the words begin at bit 1, so
# there it would be `make_swizzle(5, 1, 6)` in a tile of this width: what a swizzle is good for
# depends on the tile *and* on the type.
#
# </details>

# %% [markdown]
# ## 9. Sixteen bits
#
# The same kernel with `float16`, on 128 × 192, which is as many bytes. **Predict:** sectors of a
# load, and how many loads there are, compared with float32 (4 sectors, 384 loads).

# %% jupyter={"outputs_hidden": true}
fk.predict(global_load_sectors_per_request=None, global_load_requests=None)
x16, y16 = fk.randn(128, 192, dtype=torch.float16), fk.empty(192, 128, dtype=torch.float16)
run_swizzled16 = measure("swizzled, float16", make_transpose(32, 32, (5, 0, 5)), x16, y16)
profiles["swizzled, float16"].predicted

# %% [markdown]
# **The bad number is 2**, though it is called ideal. A warp asks for 32 × 2 = 64 bytes, two
# sectors, where one request could bring 512: 16 bytes for each lane, 16 sectors. For the same bytes
# there are eight times as many loads as needed, and section 10 shows why that costs more than
# instructions.
#
# So each thread is to move eight elements at once, on both sides. Along a row of X that is easy. In
# Y, eight elements side by side are eight elements *below one another* in the tile, and somebody
# has to bring them together in the registers of one thread. The kernel takes a tile of 64 × 64:
#
# 1. a thread loads 8 elements of a row, 16 bytes, and stores them to `sX` as they are;
# 2. it then reads a piece of the tile that is 8 rows high and **two columns wide**: eight reads of
#    one word. It turns this piece in its registers, and has two rows of 8 elements for Y.
#
# One thread's piece, in step 2:
#
# ```
#      the tile, 8 rows         rX, (8,2)       rY, (2,8)                       Y
#      of two columns
#   row 0   … a0 b0 …             a0 b0
#   row 1   … a1 b1 …             a1 b1         a0 a1 a2 a3 a4 a5 a6 a7   →   one row, 16 bytes
#   row 2   … a2 b2 …      →      a2 b2    →
#     ⋮         ⋮                   ⋮           b0 b1 b2 b3 b4 b5 b6 b7   →   the next, 16 bytes
#   row 7   … a7 b7 …             a7 b7
#           one word each
# ```
#
# `zipped_divide` cuts the tile into such pieces, and `cute.autovec_copy` copies a row of a piece
# with the widest access that its layout allows.
#
# The swizzle has to leave eight elements together, or step 1 could not store them at once: it
# exchanges *groups* of 8 elements. An offset in the tile is `64 · row + col`: bits 0 to 2 are the
# place in the group, 3 to 5 the group, 6 to 11 the row. Lanes that read one below the other are in
# step 2 eight rows apart; that is bit 9 and up. So: 3 bits, from bit 3 up, with those 6 places
# higher.


# %%
@cute.kernel
def vector_kernel(mX: cute.Tensor, mY: cute.Tensor, layout_s: cute.ComposedLayout):
    tidx, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    M, N = mX.shape
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(mX.element_type, layout_s, 128)  # (64,64)
    gX = cute.local_tile(mX, (64, 64), (by, bx))  # (64,64)
    gY = cute.local_tile(mY, (64, 64), (bx, by))  # (64,64)
    vX = cute.zipped_divide(gX, (1, 8))  # ((1,8),(64,8)): a row, a group of 8 columns
    vS = cute.zipped_divide(sX, (1, 8))  # ((1,8),(64,8))
    vY = cute.zipped_divide(gY, (1, 8))  # ((1,8),(64,8))
    pS = cute.zipped_divide(sX, (8, 2))  # ((8,2),(8,32)): 8 rows, a pair of columns
    r, c = tidx // 8, tidx % 8
    for k in cutlass.range_constexpr(0, 64, 32):
        if by * 64 + r + k < M and bx * 64 + 8 * c < N:
            cute.autovec_copy(vX[(0, None), (r + k, c)], vS[(0, None), (r + k, c)])
    cute.arch.sync_threads()
    if bx * 64 + 2 * r < N and by * 64 + 8 * c < M:
        rX = cute.make_rmem_tensor(cute.make_layout((8, 2), stride=(2, 1)), mX.element_type)
        rY = cute.make_rmem_tensor(cute.make_layout((2, 8), stride=(8, 1)), mX.element_type)
        for i in cutlass.range_constexpr(8):
            cute.autovec_copy(pS[(i, None), (c, r)], rX[i, None])
        for j in cutlass.range_constexpr(2):
            for i in cutlass.range_constexpr(8):
                rY[j, i] = rX[i, j]
            cute.autovec_copy(rY[j, None], vY[(0, None), (2 * r + j, c)])


@cute.jit
def vectorised(mX: cute.Tensor, mY: cute.Tensor):
    if cutlass.const_expr(mX.element_type.width != 16):
        raise TypeError("the groups of this kernel are 8 elements of 16 bits")
    plain = cute.make_layout((64, 64), stride=(64, 1))
    layout_s = cute.make_composed_layout(cute.make_swizzle(3, 3, 6), 0, plain)
    grid = (cute.ceil_div(mX.shape[1], 64), cute.ceil_div(mX.shape[0], 64), 1)
    vector_kernel(mX, mY, layout_s).launch(grid=grid, block=(256, 1, 1))


def eights(x, y):
    """Promises: both sizes are multiples of 8, and addresses of 16 bytes."""
    return [fk.spec(tensor, divisible={0: 8, 1: 8}, align=16) for tensor in (x, y)]


# %% [markdown]
# **Predict:** sectors a load, the number of loads (there were 768), and wavefronts of a load from
# shared memory.

# %% jupyter={"outputs_hidden": true}
fk.predict(
    global_load_sectors_per_request=None,
    global_load_requests=None,
    shared_load_wavefronts_per_request=None,
)
x16, y16 = fk.randn(128, 192, dtype=torch.float16), fk.empty(192, 128, dtype=torch.float16)
run_vectorised = fk.compile(vectorised, *eights(x16, y16))
for m, n in ((8, 8), (64, 64), (8, 200), (200, 72), (128, 192)):
    x16, y16 = fk.randn(m, n, dtype=torch.float16), fk.empty(n, m, dtype=torch.float16)
    run_vectorised(x16, y16)
    fk.check(y16, x16.T, again=lambda: run_vectorised(x16, y16))  # noqa: B023
profiles["vectorised, float16"] = fk.profile(run_vectorised, x16, y16)
for name in ("swizzled, float16", "vectorised, float16"):
    print(f"{name:19} {profiles[name]['warp_instructions']:6,} PTX instructions")
profiles["vectorised, float16"]

# %%
x16, y16 = fk.randn(128, 192, dtype=torch.float16), fk.empty(192, 128, dtype=torch.float16)
fk.coalescing(run_vectorised, x16, y16, kind="store")

# %% [markdown]
# One eighth of the loads, 16 sectors each, no conflict, and a fifth of the instructions. The price
# is the promise: a matrix of 65 columns is refused, because its second row does not begin at a
# multiple of 16 bytes.
#
# Step 2 turned a piece of 8 × 2 in registers. Turn 8 × 8, and the shared tile is no longer needed
# at all:

# %% [markdown] exercise="week0/transpose_registers" part="task"
# ### Exercise 4: turn 8 × 8 elements in registers
#
# Transpose a 16-bit matrix whose sides are multiples of 8, without shared memory and without a
# barrier. Each thread has a square of 8 × 8 elements, and in the skeleton carries it to its place
# in Y, as it is: each row is loaded into registers with 16 bytes at once, and stored likewise. Turn
# the square on the way; loads and stores are to stay as wide as they are.
#
# <details><summary>Hint 1</summary>
#
# Make a second tensor of registers, rY, as rX was made. Three loops: rows of gX into rX, elements
# of rX into rY, rows of rY into gY.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `gX[r, None]` is row r of the square, eight elements side by side. Registers have no addresses, so
# an index into rX has to be known when the kernel is compiled: loop with
# `cutlass.range_constexpr(8)`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# `cute.autovec_copy(gX[r, None], rX[r, None])`, then `rY[c, r] = rX[r, c]`, then
# `cute.autovec_copy(rY[c, None], gY[c, None])`.
#
# </details>


# %% exercise="week0/transpose_registers" part="skeleton"
@cute.kernel
def registers_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    M, N = mX.shape
    i, j = by * 4 + tidx // 8, bx * 8 + tidx % 8
    if i * 8 < M and j * 8 < N:
        gX = cute.local_tile(mX, (8, 8), (i, j))  # (8,8)
        gY = cute.local_tile(mY, (8, 8), (j, i))  # (8,8)
        square = cute.make_layout((8, 8), stride=(8, 1))
        rX = cute.make_rmem_tensor(square, mX.element_type)
        # FILL ME IN (roughly 8 lines)
        for r in cutlass.range_constexpr(8):
            cute.autovec_copy(gX[r, None], rX[r, None])
            cute.autovec_copy(rX[r, None], gY[r, None])


@cute.jit
def transpose_registers(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], 64), cute.ceil_div(mX.shape[0], 32), 1)
    registers_kernel(mX, mY).launch(grid=grid, block=(32, 1, 1))


# %% exercise="week0/transpose_registers" part="grade"
fk.exercise("week0/transpose_registers").grade(transpose_registers)

# %% [markdown] exercise="week0/transpose_registers" part="solution"
# <details><summary>Solution of exercise 4</summary>
#
# ```python
# @cute.kernel
# def registers_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bx, by, _ = cute.arch.block_idx()
#     M, N = mX.shape
#     i, j = by * 4 + tidx // 8, bx * 8 + tidx % 8
#     if i * 8 < M and j * 8 < N:
#         gX = cute.local_tile(mX, (8, 8), (i, j))  # (8,8)
#         gY = cute.local_tile(mY, (8, 8), (j, i))  # (8,8)
#         square = cute.make_layout((8, 8), stride=(8, 1))
#         rX = cute.make_rmem_tensor(square, mX.element_type)
#         rY = cute.make_rmem_tensor(square, mX.element_type)
#         for r in cutlass.range_constexpr(8):
#             cute.autovec_copy(gX[r, None], rX[r, None])
#         for r in cutlass.range_constexpr(8):
#             for c in cutlass.range_constexpr(8):
#                 rY[c, r] = rX[r, c]
#         for c in cutlass.range_constexpr(8):
#             cute.autovec_copy(rY[c, None], gY[c, None])
#
#
# @cute.jit
# def transpose_registers(mX: cute.Tensor, mY: cute.Tensor):
#     grid = (cute.ceil_div(mX.shape[1], 64), cute.ceil_div(mX.shape[0], 32), 1)
#     registers_kernel(mX, mY).launch(grid=grid, block=(32, 1, 1))
# ```
#
# The lanes of a warp lie 8 side by side and 4 below one another. One load of the warp reads four
# pieces of 8 × 16 = 128 bytes, one store writes eight pieces of 4 × 16 = 64 bytes: whole sectors in
# both directions, 16 a request, which is all that 512 bytes need. No element changes its thread, so
# nobody has to wait for anybody. The price is registers: 64 elements in, 64 out, 32 registers each.
#
# It works because 16 bytes are *eight* elements: a square has whole pieces on both sides. With
# 32-bit elements it is 4 × 4. With 64-bit elements 2 × 2 would do; and for sizes that are no
# multiple of eight, the shared tile is still the answer.
#
# </details>

# %% [markdown]
# ## 10. What fills a GPU
#
# What the virtual GPU counts is what a kernel *asks* for. How long that takes depends on two more
# things, which it does not model, so here is the reasoning.
#
# **Occupancy.** A multiprocessor has several blocks at once, as many as its threads, registers and
# shared memory allow, and while some wait for memory, others ask. How much of its room for threads
# is taken is called *occupancy*. What matters in the end are the bytes under way, Little's law in
# `03_copy_fast`: loads are half of the traffic, 2.4 of 4.8 TB/s. If an answer takes 550 ns, then
# 1.3 MB have to be under way at any time, 10 kB for each of the 132 multiprocessors of an H200.
# What can each step have under way? In PTX the loads of a thread do not come first: each is
# followed by its store to the tile, which waits for it. The machine code may change that order, so
# here are both ends: one load a thread, and all of them.

# %%
H200 = {"threads": 2048, "blocks": 32, "registers": 65536, "shared": 233472}  # a multiprocessor's
under_way = [
    # name, compiled kernel, bytes of shared memory a block, bytes of a load, loads of a thread
    ("scatter", run_scatter, 0, 4, 1),
    ("padded", run_padded, (31 * 33 + 32) * 4, 4, 4),
    ("swizzled", run_swizzled, 32 * 32 * 4, 4, 4),
    ("swizzled, float16", run_swizzled16, 32 * 32 * 2, 2, 4),
    ("vectorised, float16", run_vectorised, 64 * 64 * 2, 16, 2),
]
for name, run, shared_bytes, load_bytes, loads in under_way:
    registers = -(-run.registers // 8) * 8  # a thread gets them in eights
    blocks = min(
        H200["threads"] // 256,
        H200["blocks"],
        H200["registers"] // (256 * registers),
        H200["shared"] // (shared_bytes + 1024),  # each block costs 1 kB more
    )
    one = blocks * 256 * load_bytes / 1000
    threads = 100 * blocks * 256 // H200["threads"]
    print(f"{name:20} {blocks} blocks, {threads:3} % of the threads,", end=" ")
    print(f"{one:4.1f} to {one * loads:4.1f} kB under way")

# %% [markdown]
# The occupancy is 100 % for all of them, and tells nothing. `scatter` asks for 4 bytes a thread and
# has fewer than 10 kB under way with every thread waiting. The tiles of single elements may have
# enough or not, those of 16 bits least of all. The vectorised kernel has room to spare in any case.
#
# **Tile size.** With a tile of 16 × 16, rows of 64 bytes are written: whole sectors, and the counts
# of sectors find nothing wrong. But a line of the caches has 128 bytes, and such a store is half of
# one. A tile of 64 × 64 has rows of two lines, and needs four times the shared memory of 32 × 32.
# Section 12 has all three. (In the small one a warp is two rows of lanes, and some of them meet in
# a bank: two wavefronts a shared load, with a pitch of 17.)
#
# **Caches.** The 28 bytes of a sector that one load of `gather` does not use belong to other warps
# of the same block, which ask a little later. If the L1 cache of the multiprocessor still has the
# sector, only the first of them has to go further. Stores are different. L1 passes them on to the
# L2 cache, 50 MB that all multiprocessors share, and there each of the 32 sectors of a store
# arrives by itself. L2 can put the pieces of a sector together before memory sees them, but it has
# eight times the work. So `gather` should come off better than `scatter`. Section 12 will tell.
#
# ## 11. The production kernel
#
# What is left over from section 9 are sizes that are no multiple of 8, and a compile with the right
# promises for every tensor. `copy_transpose(x)` takes any 2-D tensor and returns its transpose in
# new memory. It looks at the size, the strides and the address, and **chooses** between three
# kernels:
#
# - `vector`, 16-byte accesses on both sides, if every row of X and of Y begins at 16 bytes;
# - `gather`, for all other sizes and strides: it reads words and gathers 16 bytes for each store
#   (this `gather` is not section 2's);
# - `flat`, where there is nothing to turn, such as a single row, or columns that are contiguous.
#
# **Predict:** which one takes 128 × 192, which one 127 × 193, and a single row?

# %% jupyter={"outputs_hidden": true}
lines = []
for m, n, dtype in (
    (96, 128, torch.float32),
    (128, 192, torch.float16),
    (127, 193, torch.float16),
    (1, 500, torch.float32),
):
    x = fk.randn(m, n, dtype=dtype)
    fk.check(copy_transpose(x), x.T)
    choice = choose((m, n), x.stride(), x.data_ptr() % 16, x.element_size())
    lines.append(f"{m} × {n} {str(dtype)[6:]}: {choice.kernel}")
    if choice.kernel != "flat":
        p = fk.profile(compile_choice(choice, dtype, "virtual"), x, fk.empty(n, m, dtype=dtype))
        moved = 32 * (p["global_load_sectors"] + p["global_store_sectors"])
        lines[-1] += f", {moved / p.bytes_touched:.2f} times the least bytes"
print("\n".join(lines))

# %% [markdown]
# `vector` moves what a copy moves. In 127 × 193 rows begin anywhere in a sector, and `gather`
# stores whole sectors all the same; for that, neighbouring blocks load some rows of X both, the
# second time most likely from a cache. That is about half of what is too much in 1.93. The other
# half are the ends of Y's rows, stored in pieces of a sector; in longer rows they count for less.
#
# Here is `vector`, all of it. You have met each of its ideas:
#
# - a thread turns a square of V × V elements **in registers**, as in exercise 4;
# - it does use a **shared tile**, because the stores of exercise 4 come in pieces of 64 bytes. The
#   tile makes whole rows of 256 bytes of them, and it moves 16 bytes in each access;
# - the **swizzle** keeps groups of 16 bytes together, as in section 9; as `swizzle=` of
#   `allocate_tensor` it changes addresses, so its bits count bytes, and the layout stays plain;
# - **tails** are a matter of two predicates, one for each side;
# - elements are moved as **integers** of their width, so one kernel serves float16, bfloat16 and
#   int16: `recast_tensor` is a view of the same memory as another type;
# - blocks are numbered down the columns of tiles, so that neighbouring blocks write neighbouring
#   parts of the same rows of Y.

# %%
Markdown(f"```python\n{inspect.getsource(VectorTranspose)}```")

# %% [markdown]
# ## 12. Counts and times, side by side
#
# `fk.bench` takes variants of one computation and their arguments. It checks each against a
# reference and compares what they cost: on a GPU their times, on the virtual GPU what it counts.
# Beside that stands here how fast the same kernels were on an H200, for 8192 × 8192, and a copy of
# 1 GB in the same run (dotted). `torch` is `x.T.contiguous()`.
#
# **Predict:** how many percent of that copy does `scatter` reach in float32, and the vectorised
# kernel in float16?

# %%
said = {"scatter, float32": None, "vectorised, float16": None}  # percent of a copy


# %%
@cute.jit
def production(mX: cute.Tensor, mY: cute.Tensor, stream: CUstream):
    bits = cutlass.const_expr(mX.element_type.width)
    VectorTranspose(bits, (2048 // bits, 2048 // bits), 128 // bits)(mX, mY, stream)


steps = {
    "scatter": scatter,
    "gather": gather,
    "called coalesced": claimed,
    "shared tile": make_transpose(32, 32),
    "padded": make_transpose(32, 33),
    "padded, tile 16": make_transpose(16, 17),
    "padded, tile 64": make_transpose(64, 65),
    "swizzled": make_transpose(32, 32, (5, 0, 5)),
    "vectorised": (vectorised, eights),
    "production": (production, eights),
}


def compare(dtype, names):
    """Steps beside torch. A GPU needs a large matrix; counts for each byte do not."""
    n = 8192 if fk.target.kind == "gpu" else 256
    x, y = fk.randn(n, n, dtype=dtype), fk.empty(n, n, dtype=dtype)
    variants = {"torch": lambda x, y: x.T.contiguous()}
    for name in names:
        fn, specs = steps[name] if isinstance(steps[name], tuple) else (steps[name], None)
        variants[name] = fk.compile(fn, *(specs(x, y) if specs else (x, y)))
    return fk.bench(variants, x, y, reference=x.T, recorded="week0/05_transpose")


# %% jupyter={"outputs_hidden": true}
in32 = compare(torch.float32, [name for name in steps if name != "vectorised"])
times = in32.recorded
for which, percent in said.items():
    recorded_percent = times.percent(times.row(*which.split(", ")))
    fk.predict(f"percent of a copy, {which}", percent).against(round(recorded_percent))
in32.plot()

# %% [markdown]
# Read it from left to right, the counts and then the speed. (If you have a GPU, the picture shows
# the rates of yours, and diamonds for those of the H200.)
#
# - `scatter` moves eight times the sectors on one side and reaches an eighth of a copy's speed: no
#   cache has hidden that. `gather`, with the same counters exchanged, is three times as fast, as
#   section 10 expected of L1. What was *called* coalesced is as slow as `scatter`, tile or not. The
#   counters knew.
# - The shared tile, nine tenths of whose wavefronts are conflicts, takes twice as long as the
#   padded one.
# - Padded and swizzled are about equal: the swizzle pays off where it makes wide accesses possible.
# - A tile of 16, half a line a row, loses almost half of the speed; a tile of 64 gains little over
#   32.
# - `torch`, whose copy has to serve tensors of any strides, reaches 27 %; the production kernel,
#   made for a transpose alone, 96 %.
#
# ### Seven instructions for each byte
#
# In float16 the padded and the swizzled tile reach about 60 %, not 80, though the same kernel runs
# and no byte too many is moved. Section 10 had one reason: too few bytes under way. The column of
# instructions has another. Each of the 132 multiprocessors of an H200 can issue four instructions
# in a clock, each for 32 threads. At 1.98 GHz these are 33,500 · 10⁹ a second, counted by the
# thread, and memory moves at most 4,800 · 10⁹ bytes in that time: **7 instructions for each byte**.
# A kernel that executes more has to wait for its own instructions before it waits for memory.
#
# **Predict:** `swizzled` executes 5.4 PTX instructions for each byte in float32. How many in
# float16?

# %%
executes = fk.predict("instructions a byte, swizzled, float16", None)

# %% jupyter={"outputs_hidden": true}
with fk.use_target("virtual"):  # instructions are counted there, also if you have a GPU
    in16 = compare(torch.float16, ["padded", "swizzled", "vectorised", "production"])
executes.against(in16["swizzled"].instructions_per_byte)
in16.roofline()

# %% [markdown]
# Twice as many: a thread does the same work for half of the bytes. The picture is a **roofline**.
# To the right a kernel needs more instructions for a byte, upwards it executes more of them in a
# second. The slope is the limit that memory sets, the flat part what can be issued; an open mark is
# the most that an H200 would allow, the filled one below it was recorded.
#
# `padded` and `swizzled` stand under the flat part. By this count `swizzled` could move
# 33,500 / 10.8 = 3,100 · 10⁹ bytes a second if not one instruction had to wait, and a copy moves
# 4,218. (Machine code has somewhat fewer instructions than PTX, so take the edge of the roof for a
# blurred one.) What section 8 said, that a kernel which waits for memory has time for some
# arithmetic, holds in float32; in float16 there is no such time. `vectorised` is on the slope: 16
# bytes a lane save instructions, too. It reaches 85 % of a copy, the production kernel 92 %.

# %% [markdown]
# ## Summary
#
# What each step costs in float32, and some in float16:

# %%
display(in32, in16)
least_ms = 1000 * 2 * 8192 * 8192 * 4 / 4.8e12  # x read, y written, at the peak of an H200's memory
best = times.row("production", "float32")
print(f"8192 × 8192 in float32: at least {least_ms:.3f} ms; production took {best.ms:.3f} ms")

# %% [markdown]
# | the bad number | the step that mends it | its price |
# |---|---|---|
# | 32 sectors a store, or a load | shared tile, `tx` in both last indices | barrier, predicates |
# | 32 wavefronts a shared load | padding by one word | rows off 16 bytes |
# | rows off 16 bytes | swizzle | some arithmetic |
# | 2 sectors a 16-bit load | 16 bytes a lane, turned in registers | sizes in multiples of 8 |
# | sizes that are no multiples | another kernel, chosen by size | code |
#
# **In practice** the best transpose is the one that is not done: a matrix product takes its inputs
# in either order, and a kernel that reads the result next can often read it as it lies. Where tiles
# go to tensor cores, the hardware turns 8 × 8 pieces on the way (`ldmatrix` with `.trans`), and the
# bulk copies of Hopper write a swizzled tile by themselves.
#
# **Further reading:** [the classic, in CUDA
# C++](https://developer.nvidia.com/blog/efficient-matrix-transpose-cuda-cc/), with a kernel for
# each step · [the same with
# CuTe](https://research.colfax-intl.com/tutorial-matrix-transpose-in-cutlass/), in C++ · *What the
# virtual GPU models*, a page of this course's book (`book/virtual_gpu.md`)
#
# **Next:** the same questions, asked of a real GPU (`07_profile_on_a_gpu`).
