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
# # Take a transpose to the limit of memory
#
# **You will build** transposes of 16-bit elements: one with the tile of `07_transpose`, one with 16
# bytes per access, and one without any tile. **You will learn** why a kernel with ideal sectors may
# still be slow, what it takes to keep a GPU busy, how instructions become the limit, and what else
# a production kernel does.
# **You need** `07_transpose`; no GPU. About 35 minutes, and 75 more for the exercises.
#
# **The bad number is 63.** `padded` from `07_transpose` reaches 84 % of a copy's speed in float32
# but only 63 % in float16. This notebook imports `make_transpose(T, pitch, swizzle)` and its
# kernel, unchanged, from `week0_helpers.py`.

# %%
import cutlass
import cutlass.cute as cute
import torch
from cuda.bindings.driver import CUstream
from week0_helpers import (
    against_torch,
    blocks_per_sm,
    check_shapes,
    draw_piece,
    make_transpose,
    measure,
    show_source,
)

import forgekit as fk
from forgekit.kernels.copy_transpose import VectorTranspose
from forgekit.ops import copy_transpose
from forgekit.ops.transposes import choose, compile_choice

# %% [markdown]
# ## 1. Sixteen bits per element
#
# Start with the swizzled tile in `float16`, for a 128 × 192 matrix. It has as many bytes as the 96
# × 128 float32 matrix in the previous notebook, which took 384 loads of 4 sectors.
#
# **Predict:** how many sectors does a load access now, and how many loads are there?

# %% jupyter={"outputs_hidden": true}
fk.predict(global_load_sectors_per_request=None, global_load_requests=None)
x16, y16 = fk.randn(128, 192, dtype=torch.float16), fk.empty(192, 128, dtype=torch.float16)
run_swizzled16, swizzled16 = measure(make_transpose(32, 32, (5, 0, 5)), x16, y16)
swizzled16.predicted

# %%
fk.coalescing(run_swizzled16, x16, y16, kind="load")

# %% [markdown]
# **The bad number is 2**, although the report calls it ideal. A warp asks for 32 × 2 = 64 bytes, or
# two sectors. But with 16 bytes per lane, one request could fetch 512 bytes in 16 sectors. So the
# kernel makes eight times as many loads as necessary.
#
# ## 2. Sixteen bytes per access
#
# Each thread should move eight elements per access, both in its loads and in its stores. Along a
# row of X, that is easy. But eight neighbours in a row of Y are *below one another* in the tile, so
# a thread must collect them in its registers. The kernel works on a tile of 64 × 64 in two steps:
#
# 1. Each thread loads 8 elements of a row, 16 bytes, and stores them in `sX` in the same order.
# 2. It then reads a piece of the tile that is 8 rows high and **two columns wide**, with eight
#    reads of one word. It transposes the piece in registers and obtains two rows of 8 elements for
#    Y.

# %%
draw_piece()

# %% [markdown]
# `zipped_divide` cuts the tile into such pieces. `cute.autovec_copy` copies one row of a piece with
# the widest access that its layout allows.
#
# The swizzle must keep eight elements together so that step 1 can store them with one access. So it
# permutes *groups* of 8 elements. The offset of an element in the tile is `64 · row + col`. Bits 0
# to 2 give its place in the group, bits 3 to 5 the group, and bits 6 to 11 the row. In step 2,
# lanes that read down a column are eight rows apart, so their offsets differ in bit 9 and above.
# `S<3,3,6>` selects three bits, starting at bit 3, and XORs them with the three bits that are 6
# places higher, bits 9 to 11.


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
        raise TypeError("this kernel moves groups of 8 elements of 16 bits each")
    plain = cute.make_layout((64, 64), stride=(64, 1))
    layout_s = cute.make_composed_layout(cute.make_swizzle(3, 3, 6), 0, plain)
    grid = (cute.ceil_div(mX.shape[1], 64), cute.ceil_div(mX.shape[0], 64), 1)
    vector_kernel(mX, mY, layout_s).launch(grid=grid, block=(256, 1, 1))


def eights(x, y):
    """Return specs that promise sizes in multiples of 8 and addresses in multiples of 16 bytes."""
    return [fk.spec(tensor, divisible={0: 8, 1: 8}, align=16) for tensor in (x, y)]


# %% [markdown]
# **Predict:** how many sectors does each load access, how many loads does the kernel make
# (`swizzled` made 768), and how many wavefronts does a load from shared memory take?

# %% jupyter={"outputs_hidden": true}
fk.predict(
    global_load_sectors_per_request=None,
    global_load_requests=None,
    shared_load_wavefronts_per_request=None,
)
run_vectorised = fk.compile(vectorised, *eights(x16, y16))
run_vectorised(x16, y16)
fk.check(y16, x16.T, again=lambda: run_vectorised(x16, y16))
profile = fk.profile(run_vectorised, x16, y16)
sizes = [(8, 8), (64, 64), (8, 200), (200, 72)]
check_shapes(run_vectorised, sizes, lambda x: x.T.contiguous(), torch.float16)
for name, p in (("swizzled", swizzled16), ("vectorised", profile)):
    print(f"{name:10} {p['warp_instructions']:6,} PTX instructions")
profile

# %%
fk.coalescing(run_vectorised, x16, y16, kind="store")

# %% [markdown]
# The kernel makes an eighth as many loads, each of 16 sectors, has no bank conflicts, and executes
# a fifth as many instructions. The price is the promise: a call rejects a matrix with 65 columns,
# because its second row does not begin at a multiple of 16 bytes.
#
# > **Looks right but is wrong.** "2 sectors, 2 ideal" is true of each request, but `swizzled` makes
# > eight times as many requests as necessary. *Ideal* is the minimum for the bytes that the lanes
# > ask for, not for those that they could ask for. Check the number of requests as well.
#
# Step 2 transposed an 8 × 2 piece in registers. If you transpose an 8 × 8 square, you need no
# shared tile:

# %% [markdown] exercise="week0/transpose_registers" part="task"
# ### Exercise 1: transpose 8 × 8 elements in registers
#
# In registers alone, without shared memory or a barrier, transpose a 16-bit matrix whose sizes are
# multiples of 8. In the given launch, a block is one warp and covers 32 × 64 elements of X, so each
# thread has a square of 8 × 8 elements. A thread loads each row of its square with one 16-byte
# access, transposes the square, and stores each row of the result with one 16-byte access. The 32
# squares of a warp cover the same sectors in any order, so choose the order that you find easiest.
#
# <details><summary>Hint 1</summary>
#
# A block's part of X is eight squares wide and four squares high. Which square belongs to lane
# `tidx`? `cute.local_tile(mX, (8, 8), …)` returns that square. Where does it belong in mY?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Create two register tensors of 8 × 8 elements, rX and rY, with `cute.make_rmem_tensor` and a
# row-major layout. Registers have no addresses, so the compiler must know each index into them.
# Write the loops with `cutlass.range_constexpr(8)`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Put three loops inside the predicate's `if`. The first loop copies each row of gX, `[r, None]`, to
# the same row of rX with `cute.autovec_copy`. The second copies each element from rX to rY, with
# row and column swapped. The third copies each row of rY to gY.
#
# </details>


# %% exercise="week0/transpose_registers" part="skeleton"
@cute.kernel
def registers_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 17 lines)
    pass


@cute.jit
def transpose_registers(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], 64), cute.ceil_div(mX.shape[0], 32), 1)
    registers_kernel(mX, mY).launch(grid=grid, block=(32, 1, 1))


# %% exercise="week0/transpose_registers" part="grade"
fk.exercise("week0/transpose_registers").grade(transpose_registers)

# %% [markdown] exercise="week0/transpose_registers" part="solution"
# <details><summary>Solution of exercise 1</summary>
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
# The lanes form four rows of eight. One load of the warp reads four pieces of 8 × 16 = 128 bytes,
# and one store writes eight pieces of 4 × 16 = 64 bytes. Both access 16 whole sectors per request,
# the minimum for 512 bytes. No element moves to another thread, so no thread waits for another. The
# price is registers: the 64 elements of rX and the 64 elements of rY take 32 registers each.
#
# The method works because 16 bytes are *eight* elements, so both the rows and the columns of a
# square are whole 16-byte pieces. The square would be 4 × 4 for 32-bit elements and 2 × 2 for
# 64-bit elements. Sizes that are not multiples of eight still need the shared tile.
#
# </details>

# %% [markdown]
# ## 3. Compare counts and times
#
# The next table compares your kernel with the others. `yours` is the kernel that you wrote above;
# until it is correct, the table shows why it is not counted. The speeds were recorded on an H200
# for 8192 × 8192, and `yours` has a speed only if you have a GPU.
#
# **Predict:** what percentage of a copy's speed does the vectorised kernel reach in float16?

# %%
vectorised_guess = fk.predict("percent of a copy, vectorised, float16", None)


# %%
@cute.jit
def production(mX: cute.Tensor, mY: cute.Tensor, stream: CUstream):
    bits = cutlass.const_expr(mX.element_type.width)
    VectorTranspose(bits, (2048 // bits, 2048 // bits), 128 // bits)(mX, mY, stream)


steps = {
    "padded": make_transpose(32, 33),
    "padded, tile 16": make_transpose(16, 17),
    "padded, tile 64": make_transpose(64, 65),
    "swizzled": make_transpose(32, 32, (5, 0, 5)),
    "vectorised": (vectorised, eights),
    "production": (production, eights),
}

# %% jupyter={"outputs_hidden": true}
four = ["padded", "swizzled", "vectorised", "production"]
in16 = against_torch(steps | {"yours": (transpose_registers, eights)}, [*four, "yours"], "float16")
times = in16.recorded
vectorised_guess.against(round(times.percent(times.row("vectorised", "float16"))))
in16

# %% [markdown]
# These times were recorded on an H200. forgekit can also **predict** a time from the counts and
# from rates that were measured on that GPU. Beside each prediction, it prints an interval that
# contains the measured time in nine out of ten cases.
#
# **Predict:** how many microseconds does the model predict for `swizzled`?

# %% jupyter={"outputs_hidden": true}
fk.predict(microseconds=None)
x16, y16 = (fk.empty(8192, 8192, dtype=torch.float16) for _ in range(2))
fk.profile(run_swizzled16, x16, y16, blocks=32).time("H200")

# %% [markdown]
# The recorded time is 107 µs, which is outside this interval. The prediction assumes that a thread
# issues its loads in PTX order; section 5 explains why machine code may do better.
#
# `swizzled` wastes no bytes and has no conflicts, yet it reaches only 60 % of a copy's speed,
# whereas in float32 the same kernel reaches 82 %. `padded` *has* conflicts, because 33 elements of
# 16 bits are not a whole number of words, but it is still faster, with 63 %. `vectorised` reaches
# 85 %. Why is `swizzled` so slow? One column of the table shows the first reason: it executes the
# most instructions per byte. No column shows the second. The next two sections explain these
# reasons in turn.
#
# ## 4. Seven instructions per byte
#
# Each of the 132 multiprocessors of an H200 issues four instructions per clock cycle, each for 32
# threads. At 1.98 GHz, that is 33,500 · 10⁹ thread instructions per second. In one second, memory
# moves at most 4,800 · 10⁹ bytes, which leaves time for **7 instructions per byte**. If a kernel
# executes more, its limit is instructions rather than memory. In float32, `swizzled` executes 5.4
# PTX instructions per byte. In float16, a thread executes the same instructions for half as many
# bytes.

# %%
with fk.use_target("virtual"):  # instructions are counted there, even if you have a GPU
    counted16 = against_torch(steps, four, "float16")
counted16.roofline()

# %% [markdown]
# The picture is called a **roofline**. Kernels further to the right need more instructions per
# byte, and kernels further up execute more instructions per second. Memory sets the sloping part of
# the limit, and instruction issue sets the flat part. An open mark shows the highest rate that an
# H200 would allow; the filled mark below it was recorded.
#
# `padded` and `swizzled` are under the flat part. According to these counts, `swizzled` could move
# 33,500 / 10.8 = 3,100 · 10⁹ bytes per second if no instruction ever had to wait; a copy moves
# 4,218 · 10⁹. `padded` executes only 8.5 instructions per byte, so it is faster in spite of its
# conflicts. (Machine code has somewhat fewer instructions than PTX, so the corner of the roof is
# not exact.) `vectorised` is under the slope, because moving 16 bytes per lane also saves
# instructions.
#
# Every other kind of work also has a maximum rate:

# %% [markdown] exercise="week0/what_bounds" part="task"
# ### Exercise 2: find the bound of a kernel
#
# Four kernels move 4,096 × 4,096 float16 elements from X to Y. **A** copies one element per thread,
# in blocks of 128 threads. **B** transposes with a 64 × 64 tile without padding. **C** transposes
# without a tile and stores down the columns. **D** is `vectorised`. All counts are in thousands:
#
# | | blocks | warp instructions | wavefronts of shared memory | sectors |
# |---|---|---|---|---|
# | A | 131.1 | 7,864 | 0 | 2,097 |
# | B | 4.1 | 14,746 | 17,301 | 2,097 |
# | C | 65.5 | 14,680 | 0 | 17,826 |
# | D | 4.1 | 4,391 | 524 | 2,097 |
#
# These are the rates of an H200, in thousands per microsecond. The predicted times in this course
# use them:
#
# | `"start of blocks"` | `"issue slots"` | `"shared memory"` | `"L2 cache"` | `"device memory"` |
# |---|---|---|---|---|
# | 1.7 blocks | 1,003 warp instructions | 251 wavefronts | 206 sectors | 159 sectors |
#
# The sectors in the first table pass through the L2 cache. Device memory moves each sector of X and
# Y once, 2,097 thousand in all. Which of the five rates limits each kernel?
#
# <details><summary>Hint 1</summary>
#
# To get a bound, divide the amount of work by the rate. For each kernel, compute the time that each
# of the five kinds of work would take by itself.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The kernel's bound is the longest of the five times. Device memory takes the same time, 2,097 /
# 159 µs, for all four kernels.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Go through the first table row by row. In each row, find the count that is largest in relation to
# its rate. For example, compare the number of blocks with 1.7, not with the other counts.
#
# </details>

# %% exercise="week0/what_bounds" part="skeleton"
bounds = {  # each: "start of blocks", "issue slots", "shared memory", "L2 cache", "device memory"
    # FILL ME IN (roughly 4 lines)
    "A": None,
    "B": None,
    "C": None,
    "D": None,
}

# %% exercise="week0/what_bounds" part="grade"
fk.exercise("week0/what_bounds").grade(bounds)

# %% [markdown] exercise="week0/what_bounds" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# bounds = {  # each: "start of blocks", "issue slots", "shared memory", "L2 cache", "device memory"
#     "A": "start of blocks",
#     "B": "shared memory",
#     "C": "L2 cache",
#     "D": "device memory",
# }
# ```
#
# The blocks of **A** take 131.1 / 1.7 = 77 µs to start, while device memory needs only 13 µs. The
# wavefronts of **B** take 17,301 / 251 = 69 µs. The sectors of **C** take 17,826 / 206 = 87 µs, and
# their real cost is higher, because the kernel writes only a part of most of them. For **D**,
# device memory takes 13 µs, and no other time is longer. Issue slots bound none of the four
# kernels, although B and C execute over three times as many instructions as D.
#
# The model combines all five times and adds the cost of a launch to predict the time of a kernel.
# For a profile `p`, `p.time("H200")` shows them as bars.
#
# </details>

# %% [markdown]
# This is a good place for a break.
#
# ## 5. Enough bytes in flight
#
# The second reason may be that `swizzled` has too few bytes in flight. The virtual GPU counts the
# accesses that a kernel *requests*. Their time depends on properties of the hardware that it does
# not model, so this section gives only an estimate.
#
# A multiprocessor runs several blocks at the same time, as many as its threads, registers and
# shared memory allow. While some blocks wait for memory, others request more. **Occupancy** is the
# share of the multiprocessor's threads that are in use. But only the number of bytes in flight
# matters in the end, as in Little's law in `05_tiled_copies`. If an answer takes 550 ns,
# reading 2.4 TB/s requires 1.3 MB in flight, or 10 kB per multiprocessor of an H200.
#
# In the PTX, each load is followed directly by its store to the tile, which waits for the load.
# Machine code may issue all the loads first. So the next table shows both extremes: one load in
# flight per thread, and all of its loads in flight.
#
# **Predict:** a multiprocessor has room for 2,048 threads. How many kB does `swizzled` have in
# flight in float16, with one load per thread?

# %%
least_guess = fk.predict("kB in flight, swizzled float16, one load per thread", None)

# %% jupyter={"outputs_hidden": true}
show_source(blocks_per_sm)
run_swizzled, _ = measure(steps["swizzled"], fk.randn(96, 128), fk.empty(128, 96))
in_flight = {
    # name: compiled kernel, bytes of shared memory per block, bytes per load, loads per thread
    "swizzled, float32": (run_swizzled, 32 * 32 * 4, 4, 4),
    "swizzled, float16": (run_swizzled16, 32 * 32 * 2, 2, 4),
    "vectorised, float16": (run_vectorised, 64 * 64 * 2, 16, 2),
}
for name, (run, shared_bytes, load_bytes, loads) in in_flight.items():
    blocks = blocks_per_sm(run, 256, shared_bytes)
    one = blocks * 256 * load_bytes / 1000
    print(f"{name:20} {blocks} blocks, {100 * blocks * 256 // 2048} % of the threads,", end=" ")
    print(f"{one:4.1f} to {one * loads:4.1f} kB in flight")
    if name == "swizzled, float16":
        least_guess.against(round(one))

# %% [markdown]
# All three kernels have an occupancy of 100 %, so occupancy does not explain the difference. The
# two kernels that move single elements may or may not have enough bytes in flight, and the float16
# version has the fewest. The vectorised kernel has more than enough in any case. The table cannot
# separate the two reasons, because the vectorised kernel removes both.
#
# ## 6. Larger and smaller tiles
#
# In float32, a kernel with a 16 × 16 tile writes rows of 64 bytes. These are whole sectors, so the
# sector counts are ideal. A kernel with a 64 × 64 tile writes rows of 256 bytes and needs four
# times as much shared memory as one with a 32 × 32 tile.
#
# **Predict:** `padded, tile 16` has a pitch of 17, and a warp consists of two rows of 16 lanes. How
# many wavefronts does a shared load take, and how many does a shared store take?

# %% jupyter={"outputs_hidden": true}
fk.predict(shared_load_wavefronts_per_request=None, shared_store_wavefronts_per_request=None)
_, p = measure(steps["padded, tile 16"], fk.randn(96, 128), fk.empty(128, 96))
print(p.predicted)
against_torch(
    steps, ["padded, tile 16", "padded", "padded, tile 64", "production"], "float32"
).plot()

# %% [markdown]
# With 64 × 64 tiles, the kernel reaches 86 % of a copy's speed; with 32 × 32 tiles, 84 %; and with
# 16 × 16 tiles, only 48 %. With the smallest tile, the kernel writes half of a 128-byte cache line
# at a time, its shared accesses take two wavefronts, and it executes more instructions per byte.
# Three things changed at once, so this comparison does not show which one matters. Change only one
# thing at a time.
#
# Now use the predicted time as a tool. Make one change, look at the bounds, and only then make the
# next change.

# %% [markdown] exercise="week0/mirror_rows" part="task"
# ### Exercise 3: halve a predicted time
#
# `mirror_rows` reverses each row of a float16 matrix: `y[m, n] = x[m, N - 1 - n]`. N is a multiple
# of 8, and addresses are multiples of 16 bytes. The kernel below is correct, and `fk.profile`
# reports two sectors per request, the ideal number. Its predicted time for 2,048 × 8,192 on an H200
# is 54 µs, bound by the start of blocks. Halve this time. The **whole interval** must be below half
# of 54 µs, so a small gain is not enough. If the grader stops at the predicted time, this line
# shows all bounds of your kernel:
#
# `fk.profile(*fk.exercise("week0/mirror_rows").failed, blocks=64).time("H200")`
#
# <details><summary>Hint 1</summary>
#
# Which bound is the longest, and which is the second longest? If a change shortens only the
# longest, the second remains.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A single change can give you fewer blocks, fewer instructions and more bytes in flight: let each
# access of a thread move more bytes. How many bytes can one access move?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Instead of the line with `mX[row, col]`, use `zipped_divide` to give each thread a vector of 8
# elements. Mirror the position of the vector in its row, and mirror the elements inside the vector
# in registers, as in section 2.
#
# </details>


# %% exercise="week0/mirror_rows" part="skeleton"
# FILL ME IN (roughly 20 lines)
@cute.kernel
def mirror_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    M, N = mX.shape
    i = bidx * 256 + tidx
    if i < M * N:
        row, col = i // N, i % N
        mY[row, N - 1 - col] = mX[row, col]


@cute.jit
def mirror_rows(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(cute.size(mX), 256)
    mirror_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))


# %% exercise="week0/mirror_rows" part="grade"
fk.exercise("week0/mirror_rows").grade(mirror_rows)

# %% [markdown] exercise="week0/mirror_rows" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# @cute.kernel
# def mirror_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     gX = cute.zipped_divide(mX, (1, 8))  # ((1,8),(M,N/8))
#     gY = cute.zipped_divide(mY, (1, 8))  # ((1,8),(M,N/8))
#     M, vectors = gX.shape[1]
#     i = bidx * 256 + tidx
#     if i < M * vectors:
#         row, v = i // vectors, i % vectors
#         rX = cute.make_rmem_tensor(8, mX.element_type)
#         rY = cute.make_rmem_tensor(8, mX.element_type)
#         cute.autovec_copy(gX[(0, None), (row, v)], rX)
#         for k in cutlass.range_constexpr(8):
#             rY[k] = rX[7 - k]
#         cute.autovec_copy(rY, gY[(0, None), (row, vectors - 1 - v)])
#
#
# @cute.jit
# def mirror_rows(mX: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(cute.size(mX), 8 * 256)
#     mirror_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))
# ```
#
# The given kernel starts 65,536 blocks, which alone takes 39 µs, while memory needs only 13 µs for
# the bytes. Larger blocks do not help. With 1,024 threads per block, the start of blocks takes 10
# µs, but latency takes 63 µs, because a thread requests only two bytes and a new block cannot start
# until the last warp of an old one has ended. A two-dimensional grid removes the divisions, which
# saves only 3 of the 54 µs. Vectors shorten all three bounds, with an eighth as many blocks, an
# eighth as many instructions, and eight times as many bytes in flight. Then device memory is the
# bound, and no kernel that moves these bytes can be faster. (All these times are predicted for an
# H200, not measured.)
#
# </details>

# %% [markdown]
# ## 7. What else production code does
#
# Production code must also handle sizes that are not multiples of 8, and make valid promises for
# every tensor. `copy_transpose(x)` takes any 2-D tensor and returns its transpose in new memory. It
# reads the size, the strides and the address, and **chooses** a kernel from a set that includes
# these three:
#
# - `vector` uses 16-byte accesses on both sides, if every row of X and of Y begins at a multiple of
#   16 bytes;
# - `gather` handles other sizes and strides by reading words and gathering 16 bytes per store (it
#   is not the `gather` of `07_transpose`);
# - `flat` handles tensors whose transpose has the same order in memory, such as a single row.
#
# **Predict:** which kernel transposes a 128 × 192 matrix in float16? Which one transposes a 127 ×
# 193 matrix, and which one a single row?

# %%
which = {
    (128, 192): fk.predict("kernel for 128 × 192", None),
    (127, 193): fk.predict("kernel for 127 × 193", None),
    (1, 500): fk.predict("kernel for 1 × 500", None),
}

# %% jupyter={"outputs_hidden": true}
for (m, n), guess in which.items():
    x = fk.randn(m, n, dtype=torch.float16)
    fk.check(copy_transpose(x), x.T)
    choice = choose((m, n), x.stride(), x.data_ptr() % 16, x.element_size())
    guess.against(choice.kernel)
    if choice.kernel != "flat":
        run = compile_choice(choice, torch.float16, fk.target.arch)
        p = fk.profile(run, x, fk.empty(n, m, dtype=torch.float16))
        moved = 32 * (p["global_load_sectors"] + p["global_store_sectors"])
        print(f"    {moved / p.bytes_touched:.2f} times the minimum number of bytes")

# %% [markdown]
# `vector` moves as many bytes as a copy. In the 127 × 193 matrix, a row may begin anywhere in a
# sector, yet `gather` stores whole sectors except at the ends of Y's rows. The price is that
# neighbouring blocks both load some rows of X.
#
# `vector` is `VectorTranspose` in `forgekit/kernels/copy_transpose.py`, one page of source. You
# know each of its ideas: a square transposed **in registers**; a **shared tile**, which combines
# the 64-byte pieces of exercise 1 into rows of 256 bytes; a **swizzle** that keeps 16 bytes
# together; and predicates for the **edges**. It moves elements as **integers** of the same width,
# so one kernel serves float16, bfloat16 and int16. It numbers blocks down the columns of tiles, so
# neighbouring blocks write neighbouring parts of the same rows of Y. It reaches 96 % of a copy's
# speed in float32 and 92 % in float16.
#
# A production transpose also accepts a batch of matrices. You already know how to write such a
# kernel:

# %% [markdown] exercise="week0/transpose_batch" part="task"
# ### Exercise 4: transpose a batch of matrices
#
# `x` has shape (B, M, N) and is row-major, so it contains B matrices of M × N, one after another.
# Transpose each of them, `y[b] = x[b].T`, for any M and N and for B up to 65,535, in float32 and
# float16. Use one launch, and access whole sectors in both loads and stores. Signature:
# `transpose_batch(x, y)`.
#
# **Required**: no bank conflicts in float32.
#
# <details><summary>Hint 1</summary>
#
# You have already written the transpose of a single matrix. What must a block know besides the
# position of its tile?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A grid has three dimensions, and `cute.arch.block_idx()` returns three numbers. `mX[b, row, col]`
# is an element of a tensor with three modes, whose sizes are in `mX.shape`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Set the third dimension of the grid to B, and use the third block index as the first index of mX
# and of mY. The rest is exercise 1 of `07_transpose`, with one padding word per row, as in its
# exercise 2.
#
# </details>


# %% exercise="week0/transpose_batch" part="skeleton"
@cute.kernel
def batch_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 13 lines)
    pass


@cute.jit
def transpose_batch(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 3 lines)
    pass


# %% exercise="week0/transpose_batch" part="grade"
fk.exercise("week0/transpose_batch").grade(transpose_batch)

# %% [markdown] exercise="week0/transpose_batch" part="solution"
# <details><summary>Solution of exercise 4</summary>
#
# ```python
# @cute.kernel
# def batch_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tx, ty, _ = cute.arch.thread_idx()
#     bx, by, b = cute.arch.block_idx()
#     _, M, N = mX.shape
#     row0, col0 = by * 32, bx * 32
#     smem = cutlass.memory.SmemAllocator()
#     sX = smem.allocate_tensor(mX.element_type, cute.make_layout((32, 32), stride=(33, 1)), 16)
#     for k in cutlass.range_constexpr(0, 32, 8):
#         if row0 + ty + k < M and col0 + tx < N:
#             sX[ty + k, tx] = mX[b, row0 + ty + k, col0 + tx]
#     cute.arch.sync_threads()
#     for k in cutlass.range_constexpr(0, 32, 8):
#         if col0 + ty + k < N and row0 + tx < M:
#             mY[b, col0 + ty + k, row0 + tx] = sX[tx, ty + k]
#
#
# @cute.jit
# def transpose_batch(mX: cute.Tensor, mY: cute.Tensor):
#     B, M, N = mX.shape
#     grid = (cute.ceil_div(N, 32), cute.ceil_div(M, 32), B)
#     batch_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))
# ```
#
# A batch requires only one more index. Neighbouring blocks should write neighbouring parts of one
# matrix, so the batch is the third, *slowest* dimension of the grid. The size of that dimension is
# at most 65,535; for a larger batch, use the first dimension or let a block transpose several
# matrices. One launch per matrix would need B launches, and for small matrices a launch takes
# longer than its kernel.
#
# </details>

# %% [markdown]
# ## Summary
#
# | the bad number | the step that fixes it | its price |
# |---|---|---|
# | 2 sectors per 16-bit load | 16 bytes per lane, transposed in registers | multiples of 8 |
# | 10.8 instructions per byte | 16 bytes per lane, as above | multiples of 8 |
# | sizes that are not multiples of 8 | another kernel, chosen by size | more code |
# | one launch per matrix | a batch dimension in the grid | one index |

# %%
least_ms = 1000 * 2 * 8192 * 8192 * 4 / 4.8e12  # x read, y written, at the peak of an H200's memory
best = times.row("production", "float32")
print(f"8192 × 8192 in float32: at least {least_ms:.3f} ms; production took {best.ms:.3f} ms")

# %% [markdown]
# **In practice**, if a kernel loads tiles for tensor cores, the hardware can transpose 8 × 8 pieces
# on the way (`ldmatrix` with `.trans`), and Hopper's bulk copies can swizzle a tile as they write
# it. The best transpose is still the one you avoid.
#
# **Further reading:** [Little's law and
# GPUs](https://www2.eecs.berkeley.edu/Pubs/TechRpts/2016/EECS-2016-143.html), a thesis on latency
# hiding · [the roofline model](https://doi.org/10.1145/1498765.1498785) · *What the virtual GPU
# models*, a page of this course's book (`book/virtual_gpu.md`)
#
# **Next:** the predicted interval for `swizzled` missed the recorded 107 µs, so ask a real GPU
# where a kernel spends its time ([`09_profile_on_a_gpu`](09_profile_on_a_gpu.ipynb)).
