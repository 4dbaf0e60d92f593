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
# # Transpose a matrix without wasting a byte
#
# **You will build** one operation, `y = x.T`, in six steps. The first version moves eight times as
# many bytes as needed in its stores; in the last one, every access is ideal. **You will learn** to
# check the claim that a kernel is *coalesced*, how a tile in shared memory makes both loads and
# stores coalesced, and how padding and swizzling remove bank conflicts.
# **You need** the notebooks up to `05_tiled_copies`; no GPU. About 40 minutes, and 45 more for the
# exercises.
#
# **The bad number is 27.** PyTorch's `x.T.contiguous()` moves the same bytes as a copy but reaches
# only 27 % of a copy's speed. Each step below starts from the bad number of the step before.

# %%
import cutlass
import cutlass.cute as cute
import torch
from IPython.display import display
from week0_helpers import measure

import forgekit as fk

# %% [markdown]
# ## 1. The idea, in plain Python
#
# X has M rows and N columns, and its element `(row, col)` becomes element `(col, row)` of Y. In the
# code below, blocks of 32 × 8 threads move one element per thread. A block numbers its threads
# along `tx` first, and 32 consecutive threads are a warp, so all threads with the same `ty` form
# one warp.
#
# Look at the assignment. Both matrices are row-major, so elements with consecutive *last* indices
# are neighbours in memory. `tx` is part of the last index on the right side, but of the first index
# on the left side. If you swap `row` and `col`, `tx` becomes part of the first index on the right
# side and of the last index on the left side.

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
# `scatter` reads along the rows of X and writes down the columns of Y. `gather` reads down the
# columns of X and writes along the rows of Y.


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
# The picture shows which thread accesses which element. The thread numbers increase along the rows
# of `mX` and down the columns of `mY`.
#
# The next cell uses a larger matrix. The helper `measure` compiles a kernel, checks it in the usual
# schedule and in adversarial ones, and profiles one call.
#
# **Predict:** in float32, how many sectors does `scatter` access per load and per store? How many
# does `gather` access?

# %% jupyter={"outputs_hidden": true}
fk.predict(global_load_sectors_per_request=None, global_store_sectors_per_request=None)
x, y = fk.randn(96, 128), fk.empty(128, 96)
counted = {"scatter": measure(scatter, x, y)[1], "gather": measure(gather, x, y)[1]}
for name, p in counted.items():
    load, store = p["global_load_sectors_per_request"], p["global_store_sectors_per_request"]
    print(f"{name}: {load:.0f} sectors per load, {store:.0f} per store")
counted["scatter"].predicted

# %%
x, y = fk.randn(96, 128), fk.empty(128, 96)
fk.coalescing(run_scatter, x, y, kind="store")

# %% [markdown]
# Each store of `scatter` accesses 32 sectors for 32 elements, so 28 of every 32 bytes are wasted.
# **The bad number is 32.** In `gather`, the loads have this problem instead of the stores.
#
# ## 3. A tile between load and store
#
# Some access must go down a column, so do this where it is cheap. **Shared memory** has no sectors,
# and it can serve any 32 words in 32 different banks in one wavefront. So each block transposes a
# **tile** of 32 × 32 elements in two rounds:
#
# 1. Read the tile along the rows of X and store it in shared memory.
# 2. Read *columns* of the tile from shared memory and write them along the rows of Y.
#
# The tile in tile row `by` and tile column `bx` of X belongs in tile row `bx` and tile column `by`
# of Y. Here is the same idea in plain Python, with tiles of 4 × 4:

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
        for ty in range(T):  # the second round begins after the first has ended
            for tx in range(T):
                if bx * T + ty < N and by * T + tx < M:
                    Y[bx * T + ty][by * T + tx] = tile[tx][ty]
print([list(column) for column in zip(*X, strict=True)] == Y)

# %% [markdown]
# Now `tx` is part of the last index of X *and* of the last index of Y. Because the matrix may end
# inside a tile, the two rounds need different predicates.
#
# ## 4. A kernel that claims to be coalesced
#
# The next kernel seems to have everything: a tile in shared memory, a barrier, correct results, and
# a comment that explains why it is fast. A block has 32 × 8 threads, so each thread moves four
# elements, eight rows apart.
#
# **Predict:** how many sectors does a store access?

# %% jupyter={"outputs_hidden": true}
fk.predict(global_store_sectors_per_request=None)


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
run, p = measure(claimed, x, y)
p

# %% [markdown]
# The values are correct and the sanitizer finds nothing, but a store accesses 32 sectors. `tx` does
# run along a row, but it is a row of the *tile*. Only the left side of the assignment determines
# where a store goes. There, `tx` is part of the first index of `mY`, so neighbouring threads write
# elements below one another.
#
# > **Looks right but is wrong.** A detour through shared memory does not make a store coalesced.
# > Here, each thread reads back exactly the elements that it stored, so the tile and the barrier
# > are useless. **Trust the counters, not the comment.**
#
# Now fix the kernel yourself. Do so before you read on, because sections 5 and 6 contain a
# solution.

# %% [markdown] exercise="week0/transpose_coalesced" part="task"
# ### Exercise 1: write whole rows
#
# Fix the kernel of section 4 so that both its loads and its stores are coalesced. The loads already
# are, so only the code after the barrier has to change. The kernel must work for every M and N.
#
# <details><summary>Hint 1</summary>
#
# Neighbouring threads should write neighbouring elements of mY. Which of the two indices of mY must
# contain `tx`?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A thread no longer writes the element that it loaded. It writes the element in row `col0 + ty + k`
# and column `row0 + tx` of mY. Where in the tile `sX` is that element?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In the last line, swap `tx` and `ty + k` in the indices of both mY and sX. The predicate in the
# line above must check the element of mY that the thread writes: its row must be less than N, and
# its column less than M.
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
# The threads change roles at the barrier: before it, `tx` runs along a row of X, and after it,
# along a row of Y. This exchange is the purpose of the shared tile. Because threads pass elements
# to each other, the kernel needs the barrier and a second predicate. A detour through shared memory
# does not by itself make a store coalesced; only the addresses of the 32 lanes do.
#
# </details>

# %% [markdown]
# This is a good place for a break.
#
# ## 5. It looks right but is wrong
#
# The bad number was 32 sectors per store. In the second round of the next kernel, `tx` runs along a
# row of Y and therefore down a column of the tile. From here on, `cute.local_tile(mX, (32, 32),
# (by, bx))` cuts `mX` into tiles and returns the one in tile row `by` and tile column `bx`.
#
# **Predict:** are the values correct? Is the kernel correct?


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


values_right = fk.predict("the values are correct", None)  # True or False
kernel_right = fk.predict("the kernel is correct", None)  # True or False
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
# > **Looks right but is wrong.** The values are correct, but the kernel has a race: a thread reads
# > elements that other warps store and does not wait for them. The kernel of section 4 had a
# > useless barrier; this one lacks a necessary barrier. In another order, which a GPU is free to
# > choose, some elements are NaN, because a thread reads them before they have been stored.
#
# ## 6. One tile with three layouts
#
# The next kernel has the barrier. The layout of `sX` is now a compile-time parameter, and
# `make_transpose` makes one host function per layout.


# %%
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
    """Return the host function for a T × T tile whose rows are `pitch` elements apart."""

    @cute.jit
    def transpose(mX: cute.Tensor, mY: cute.Tensor):
        layout_s = cute.make_layout((T, T), stride=(pitch, 1))  # (T,T):(pitch,1)
        if cutlass.const_expr(swizzle is not None):
            layout_s = cute.make_composed_layout(cute.make_swizzle(*swizzle), 0, layout_s)
        grid = (cute.ceil_div(mX.shape[1], T), cute.ceil_div(mX.shape[0], T), 1)
        tile_kernel(mX, mY, layout_s).launch(grid=grid, block=(T, 256 // T, 1))

    return transpose


# %% [markdown]
# Shared memory has 32 banks, each of which serves one word per wavefront, so lanes that need
# different words from the same bank must take turns. You counted the wavefronts of this tile in
# `01_why_slow_why_wrong`, and you padded and swizzled it in `03_see_layouts`.
#
# **Predict:** a warp reads a column of the tile. How many wavefronts does one load from shared
# memory take with a pitch of 32, with a pitch of 33, and with the swizzle `S<5,0,5>` and a pitch of
# 32?

# %%
waves = {
    "shared tile": fk.predict("wavefronts per load, pitch 32", None),
    "padded": fk.predict("wavefronts per load, pitch 33", None),
    "swizzled": fk.predict("wavefronts per load, S<5,0,5>", None),
}

# %% jupyter={"outputs_hidden": true}
layouts = {"shared tile": (32, 32), "padded": (32, 33), "swizzled": (32, 32, (5, 0, 5))}
runs, wavefronts = {}, {}
print(f"{'':12} sectors per load, store  wavefronts per shared store  PTX instructions")
for name, choice in layouts.items():
    x, y = fk.randn(96, 128), fk.empty(128, 96)
    runs[name], p = measure(make_transpose(*choice), x, y)
    wavefronts[name] = p["shared_load_wavefronts_per_request"]
    load, store = p["global_load_sectors_per_request"], p["global_store_sectors_per_request"]
    sectors, stored = f"{load:.0f}, {store:.0f}", p["shared_store_wavefronts_per_request"]
    print(f"{name:12} {sectors:>23}  {stored:27.0f}  {p['warp_instructions']:16,}")
for name, guess in waves.items():
    guess.against(wavefronts[name])

# %% [markdown]
# All three versions load and store whole sectors of global memory. **The bad number is 32 again**,
# but now it is the number of wavefronts per load in `shared tile`. A row is 32 words long, so all
# words of a column are in the same bank. With one more word per row, they are in 32 different
# banks:

# %%
x, y = fk.randn(96, 128), fk.empty(128, 96)
for name in ("shared tile", "padded"):
    display(fk.banks(runs[name], x, y, line="gY[ty + k, tx] = sX[tx, ty + k]", kind="load"))

# %% [markdown]
# Padding costs little memory: 31 unused words per block, or 3 % (the last row needs no padding). It
# also costs alignment. Row 1 begins at byte 132, which is not a multiple of 16. With one word of
# padding, only every fourth row allows 16-byte accesses, but the next notebook needs them in all
# rows.
#
# Now try a tile that is not square, with elements that are smaller than a word.

# %% [markdown] exercise="week0/transpose_padded" part="task"
# ### Exercise 2: pad a tile that is not square
#
# Write the second half of a transpose whose tile has 32 rows and 64 columns of X. A block has 32 ×
# 8 threads, as before. Choose the layout of `sX` so that neither 4-byte nor 2-byte elements cause a
# bank conflict. `mX.element_type.width` is the number of bits per element, which is known at
# compile time.
#
#
# **Required**: 256 threads per block, one block per 32 × 64 elements of X.
#
# <details><summary>Hint 1</summary>
#
# The tile of mY has 64 rows and 32 columns. How many rounds do eight rows of threads need? Which
# index of `sX` must contain `tx` now?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# To avoid conflicts, each row of the tile must begin one *bank* further than the row above, and a
# bank holds words of 32 bits. How many 16-bit elements make up a word?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The pitch in `layout_s` is 64 elements plus one word, counted in elements of mX's type. After the
# loads, add a barrier and the second loop of exercise 1, with one round per eight rows of a tile of
# mY.
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
# Count padding in words, not in elements. A pitch of 65 elements of 16 bits is 32.5 words, so two
# consecutive elements of a column can be in the same bank. The 32 rows use only 16 banks, and two
# lanes share each bank. A pitch of 66 elements is 33 words, which puts each row in a different
# bank.
#
# The padding costs 31 words per block. It also costs alignment, because with a pitch of 65 or 33
# words most rows do not begin at a multiple of 16 bytes. The next exercise needs no padding.
#
# </details>

# %% [markdown]
# ## 7. No conflicts without padding
#
# **The bad number is 33**, the pitch that misaligns the rows. The swizzle keeps the pitch at 32 and
# stores element `(row, col)` in column `col ^ row`. So rows begin at multiples of 128 bytes, but
# the elements of a column are still in 32 different banks:

# %%
x, y = fk.randn(96, 128), fk.empty(128, 96)
fk.banks(runs["swizzled"], x, y, line="gY[ty + k, tx] = sX[tx, ty + k]", kind="load")

# %% [markdown]
# The price is arithmetic. The table of section 6 shows more instructions for `swizzled` than for
# `padded`. The offset of `(row, col)` is `32 · row + col`, so bits 0 to 4 contain the column and
# bits 5 to 9 the row, and `S<5,0,5>` XORs the row into the column. In a tile of a different width,
# other bits contain the row.

# %% [markdown] exercise="week0/transpose_swizzled" part="task"
# ### Exercise 3: swizzle the same tile
#
# Use the 32 × 64 tile again, in float32 and with no more shared memory than its 8,192 bytes. Make
# `layout_s` conflict-free. (You may instead leave the layout unchanged and compute the XOR in the
# indices yourself, with `^`.)
#
#
# **Required**: 256 threads per block, one block per 32 × 64 elements of X.
#
# <details><summary>Hint 1</summary>
#
# The offset of element (row, column) is 64 · row + column. Write it in binary. Which bits select
# the bank? Which bits change from lane to lane when a warp reads a column?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Bits 0 to 4 select the bank. The column now occupies bits 0 to 5, so the row begins at bit 6. XOR
# each bit of the bank with a bit of the row.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In the marked line, combine the plain layout with `cute.make_swizzle(bits, base, shift)` by
# calling `cute.make_composed_layout`. How many bits select the bank, at which bit do they begin,
# and how many places higher does the row begin?
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
# Bits 0 to 4 of the offset select the bank. In a tile with 64 columns, the row occupies bits 6 to
# 10, so the shift is 6. The square tile's shift of 5 would XOR with bits 5 to 9. Bit 5 belongs to
# the column, so only four bits of the row would reach the bank. The 32 rows would share 16 banks,
# and a request would take two wavefronts.
#
# If you write the XOR in the index, use `sX[r, c ^ r]` both to store and to read. With a 16-bit
# type, bit 0 selects the element within a word, so this tile needs `make_swizzle(5, 1, 5)`. A
# swizzle is specific to one tile *and* one element size.
#
# </details>

# %% [markdown]
# ## 8. Compare counts and times
#
# `fk.bench` takes variants of one computation and their arguments. It checks each variant against a
# reference and compares their cost: measured times on a GPU, or counts on the virtual GPU. Beside
# them, it shows the recorded speed of the same kernels on an H200 for 8192 × 8192. The dotted line
# marks the speed of a 1 GB copy in the same run. `torch` is `x.T.contiguous()`.
#
# **Predict:** what percentage of that copy's speed do `scatter` and `padded` reach?

# %%
percents = {
    "scatter": fk.predict("percent of a copy, scatter", None),
    "padded": fk.predict("percent of a copy, padded", None),
}

# %%
steps = {
    "scatter": scatter,
    "gather": gather,
    "called coalesced": claimed,
    "shared tile": make_transpose(32, 32),
    "padded": make_transpose(32, 33),
    "swizzled": make_transpose(32, 32, (5, 0, 5)),
}
n = 8192 if fk.target.kind == "gpu" else 256  # a GPU needs a large matrix; counts per byte do not
x, y = fk.randn(n, n), fk.empty(n, n)
variants = {"torch": lambda x, y: x.T.contiguous()}
variants |= {name: fk.compile(fn, x, y) for name, fn in steps.items()}

# %% jupyter={"outputs_hidden": true}
table = fk.bench(variants, x, y, reference=x.T, recorded="week0/07_transpose")
times = table.recorded
for name, guess in percents.items():
    guess.against(round(times.percent(times.row(name, "float32"))))
table.plot()

# %% [markdown]
# Read the picture from left to right, first the counts and then the speed. (If you have a GPU, the
# bars show its speed and the diamonds show that of the H200.)
#
# - `scatter` moves 4.5 times as many bytes as necessary and reaches 13 % of a copy's speed. `called
#   coalesced` is just as slow in spite of its tile, as the counters predicted.
# - `gather` has the same counts as `scatter`, with loads and stores exchanged, but is three times
#   as fast. Our counters do not model caches. The L1 cache keeps loaded sectors, so later loads
#   find their elements there, whereas stores pass through to L2. `09_profile_on_a_gpu` shows ncu's
#   reports on two such kernels. In one of them, L1 serves 78 % of the sectors that the kernel loads
#   down columns; the other, `scatter`, keeps L2 88 % busy.
# - `padded` differs from `shared tile` only in one number, the pitch, but is twice as fast.
# - `padded` and `swizzled` are about equally fast. The swizzle pays off where it allows wide
#   accesses.
# - `torch` reaches 27 %, because its copy must handle tensors with any strides.
#
# ## Summary
#
# | the bad number | the step that fixes it | its price |
# |---|---|---|
# | 32 sectors per store or load | shared tile, `tx` in both last indices | barrier, predicates |
# | 32 wavefronts per shared load | one word of padding per row | rows that are not aligned |
# | rows that are not aligned | swizzle | some arithmetic |
#
# **In practice**, the best transpose is the one you avoid. A matrix product accepts its inputs in
# either order, and the kernel that reads the result next can often read it untransposed.
#
# **Further reading:** [the classic article, in CUDA
# C++](https://developer.nvidia.com/blog/efficient-matrix-transpose-cuda-cc/), with a kernel for
# each step · [the same topic with
# CuTe](https://research.colfax-intl.com/tutorial-matrix-transpose-in-cutlass/), in C++ · *What the
# virtual GPU models*, a page of this course's book (`book/virtual_gpu.md`)
#
# **Next:** `padded` is 16 % slower than a copy and falls further behind with 16-bit elements
# ([`08_transpose_to_the_limit`](08_transpose_to_the_limit.ipynb)).
