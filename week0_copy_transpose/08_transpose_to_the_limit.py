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
# # Take a transpose to the limit of the memory
#
# **You will build** the transpose of 16-bit elements: first with the tile of `07_transpose`, then
# with 16 bytes an access, and one without any tile.
# **You will learn** why a kernel with ideal sectors may be slow, what fills a GPU, how instructions
# become the limit, and what a production kernel does beyond this.
# **You need** `07_transpose`; no GPU. About 35 minutes, and 70 more for the exercises.
#
# The bad number at the end of `07_transpose` was 84 % of a copy's speed. With 16-bit elements the
# same kernel reaches less. Here it is once more, unchanged, with a swizzle or with padding:

# %%
import cutlass
import cutlass.cute as cute
import torch
from cuda.bindings.driver import CUstream

import forgekit as fk
from forgekit.kernels.copy_transpose import VectorTranspose
from forgekit.ops import copy_transpose
from forgekit.ops.transposes import choose, compile_choice

# step -> profile
profiles = {}


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


# %% [markdown]
# ## 1. Sixteen bits
#
# The swizzled tile with `float16`, on 128 × 192, which is as many bytes as 96 × 128 in float32.
# **Predict:** sectors of a load, and how many loads there are (float32 had 4 sectors, 384 loads).

# %% jupyter={"outputs_hidden": true}
fk.predict(global_load_sectors_per_request=None, global_load_requests=None)
x16, y16 = fk.randn(128, 192, dtype=torch.float16), fk.empty(192, 128, dtype=torch.float16)
run_swizzled16 = fk.compile(make_transpose(32, 32, (5, 0, 5)), x16, y16)
run_swizzled16(x16, y16)
fk.check(y16, x16.T, again=lambda: run_swizzled16(x16, y16))
profiles["swizzled, float16"] = fk.profile(run_swizzled16, x16, y16)
profiles["swizzled, float16"].predicted

# %%
x16, y16 = fk.randn(128, 192, dtype=torch.float16), fk.empty(192, 128, dtype=torch.float16)
fk.coalescing(run_swizzled16, x16, y16, kind="load")

# %% [markdown]
# **The bad number is 2**, though it is called ideal. A warp asks for 32 × 2 = 64 bytes, two
# sectors, where one request could bring 512: 16 bytes for each lane, 16 sectors. For the same bytes
# there are eight times as many loads as needed.
#
# ## 2. Sixteen bytes an access
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
# > **Looks right and is wrong.** "2 sectors, 2 ideal" is true of each request, and the kernel asks
# > for eight times as many requests as it needs. *Ideal* compares with what the lanes ask for, not
# > with what they could ask for: read the number of requests as well.
#
# Step 2 turned a piece of 8 × 2 in registers. Turn 8 × 8, and the shared tile is no longer needed
# at all:

# %% [markdown] exercise="week0/transpose_registers" part="task"
# ### Exercise 1: transpose 8 × 8 elements in registers
#
# Transpose a 16-bit matrix whose sides are multiples of 8 in registers alone: no shared memory, no
# barrier. The launch is given: a block is one warp and takes 32 × 64 elements of X, so each thread
# has a square of 8 × 8. It loads the rows of its square with 16 bytes at once, turns the square,
# and stores the rows of what has become of it, 16 bytes at once. The body of the kernel is empty.
# Which lane takes which square decides whether a request moves whole sectors.
#
# <details><summary>Hint 1</summary>
#
# A row of X's part is eight squares long, and four of them stand below one another: which square is
# lane `tidx`'s? `cute.local_tile(mX, (8, 8), …)` is that square. Where in mY does it belong?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Two tensors of registers, rX and rY, from `cute.make_rmem_tensor` with a layout of 8 × 8 whose
# rows are side by side. Registers have no addresses, so an index into them has to be known when the
# kernel is compiled: `cutlass.range_constexpr(8)`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Three loops inside the predicate: `cute.autovec_copy` takes a whole row of gX, `[r, None]`, into
# the same row of rX; then element by element, row and column change places between rX and rY; then
# rows of rY go to gY.
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
# ## 3. Counts and times, side by side
#
# Your kernel beside the others: `yours` is what you have handed in above. Until it is right, the
# table says why it is not counted. Beside the counts stand speeds recorded on an H200 for
# 8192 × 8192; there `yours` has none, unless you have a GPU.
#
# **Predict:** how many percent of a copy's speed does the vectorised kernel reach in float16?

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


def compare(dtype, names, **more):
    """Steps beside torch. A GPU needs a large matrix; counts for each byte do not."""
    n = 8192 if fk.target.kind == "gpu" else 256
    x, y = fk.randn(n, n, dtype=dtype), fk.empty(n, n, dtype=dtype)
    variants = {"torch": lambda x, y: x.T.contiguous()}
    for name in names:
        fn, specs = steps[name] if isinstance(steps[name], tuple) else (steps[name], None)
        variants[name] = fk.compile(fn, *(specs(x, y) if specs else (x, y)))
    variants |= {name: fk.compile(fn, *eights(x, y)) for name, fn in more.items()}
    return fk.bench(variants, x, y, reference=x.T, recorded="week0/08_transpose_to_the_limit")


# %% jupyter={"outputs_hidden": true}
in16 = compare(
    torch.float16, ["padded", "swizzled", "vectorised", "production"], yours=transpose_registers
)
times = in16.recorded
vectorised_guess.against(round(times.percent(times.row("vectorised", "float16"))))
in16

# %% [markdown]
# An H200 takes these times; a time can also be **predicted**, from what was counted and from what
# was measured of that GPU. Nine of ten predictions lie within the interval beside it.
#
# **Predict:** how many microseconds will it say for `swizzled`?

# %% jupyter={"outputs_hidden": true}
fk.predict(microseconds=None)
x16, y16 = (fk.empty(8192, 8192, dtype=torch.float16) for _ in range(2))
fk.profile(run_swizzled16, x16, y16, blocks=32).time("H200")

# %% [markdown]
# Recorded were 107 µs: this prediction is one of the few whose interval misses. It takes the loads
# of a thread in the order of the PTX, and section 5 says why machine code may do better.
#
# `swizzled` moves no byte too many, has no conflict, and reaches 60 % of a copy; in float32 the
# same kernel reaches 82 %. (`padded` has conflicts again: 33 elements of 16 bits are no whole
# number of words, as in exercise 2 of `07_transpose`.) `vectorised` reaches 85 %. What does
# `swizzled` lack? The table has one column in which it is bad, instructions a byte; and there is a
# reason that no column shows. One after the other.
#
# ## 4. Seven instructions for each byte
#
# Each of the 132 multiprocessors of an H200 can issue four instructions in a clock, each for 32
# threads. At 1.98 GHz these are 33,500 · 10⁹ a second, counted by the thread, and memory moves at
# most 4,800 · 10⁹ bytes in that time: **7 instructions for each byte**. A kernel that executes more
# has to wait for its own instructions before it waits for memory. In float32 `swizzled` executes
# 5.4 PTX instructions for each byte. In float16 a thread does the same work for half of the bytes.

# %%
with fk.use_target("virtual"):  # instructions are counted there, also if you have a GPU
    counted16 = compare(torch.float16, ["padded", "swizzled", "vectorised", "production"])
counted16.roofline()

# %% [markdown]
# The picture is a **roofline**. To the right a kernel needs more instructions for a byte, upwards
# it executes more of them in a second. The slope is the limit that memory sets, the flat part what
# can be issued; an open mark is the most that an H200 would allow, the filled one below it was
# recorded.
#
# `padded` and `swizzled` stand under the flat part. By this count `swizzled` could move
# 33,500 / 10.8 = 3,100 · 10⁹ bytes a second if not one instruction had to wait, and a copy moves
# 4,218. (Machine code has somewhat fewer instructions than PTX, so take the edge of the roof for a
# blurred one.) In float32 a kernel that waits for memory has time for a swizzle's arithmetic; in
# float16 it has not. `vectorised` is on the slope: 16 bytes a lane save instructions, too.
#
# Instructions are one rate of several. Every other kind of work has a rate too:

# %% [markdown] exercise="week0/what_bounds" part="task"
# ### Exercise 2: name what bounds a kernel
#
# Four kernels move 4,096 × 4,096 float16 from X to Y: **A** copies one element per thread, in
# blocks of 128. **B** transposes through a tile of 64 × 64 without padding. **C** transposes
# without a tile and stores down the columns. **D** is `vectorised`. Counts are in thousands:
#
# | | blocks | instructions of warps | wavefronts of shared memory | sectors |
# |---|---|---|---|---|
# | A | 131.1 | 7,864 | 0 | 2,097 |
# | B | 4.1 | 14,746 | 17,301 | 2,097 |
# | C | 65.5 | 14,680 | 0 | 17,826 |
# | D | 4.1 | 4,391 | 524 | 2,097 |
#
# In a microsecond an H200 starts 1.7 thousand blocks and issues 1,003 thousand instructions of
# warps; its shared memory takes 251 thousand wavefronts, its L2 cache 206 thousand sectors; its
# device memory moves 159 thousand sectors, each of X and Y once, 2,097 thousand in all. (The rates
# are those that the predicted times of this course use.) What bounds each kernel: `"start of
# blocks"`, `"issue slots"`, `"shared memory"`, `"L2 cache"` or `"device memory"`?
#
# <details><summary>Hint 1</summary>
#
# A bound is a quotient: the amount of work, divided by the rate. For each kernel compute how long
# each of the five would take by itself.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The longest of the five is the bound. Device memory takes the same time for all four: 2,097 / 159
# µs.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Go through the table by rows: in each row one count is large for its rate. Compare blocks with
# 1.7, and not with the other counts.
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
# **A**: 131.1 / 1.7 = 77 µs to start its blocks, while memory needs 13. **B**: 17,301 / 251 = 69 µs
# of wavefronts. **C**: 17,826 / 206 = 87 µs of sectors, most of them stored in part, which costs
# even more. **D**: 13 µs, and no other quotient is longer: it takes as long as its bytes. No kernel
# here is bound by issue slots, although B and C execute over three times as many instructions as D.
#
# A predicted time takes all quotients together, and adds what a launch costs. `p.time("H200")` of a
# profile shows them as bars.
#
# </details>

# %% [markdown]
# ## 5. What fills a GPU
#
# The other reason. What the virtual GPU counts is what a kernel *asks* for. How long that takes
# depends on what it does not model, so here is the reasoning.
#
# **Occupancy.** A multiprocessor has several blocks at once, as many as its threads, registers and
# shared memory allow, and while some wait for memory, others ask. How much of its room for threads
# is taken is called *occupancy*. What matters in the end are the bytes in flight, Little's law in
# `04_copy_fast`: loads are half of the traffic, 2.4 of 4.8 TB/s. If an answer takes 550 ns, then
# 1.3 MB have to be in flight at any time, 10 kB for each of the 132 multiprocessors of an H200.
#
# In PTX the loads of a thread do not come first: each is followed by its store to the tile, which
# waits for it. The machine code may change that order, so here are both ends: one load a thread,
# and all of them.
#
# **Predict:** 2,048 threads fit into a multiprocessor. How many kB does `swizzled` have in flight
# in float16, with one load a thread?

# %%
least_guess = fk.predict("kB in flight, swizzled float16, one load a thread", None)

# %% jupyter={"outputs_hidden": true}
H200 = {"threads": 2048, "blocks": 32, "registers": 65536, "shared": 233472}  # a multiprocessor's
x32, y32 = fk.randn(96, 128), fk.empty(128, 96)
run_swizzled = fk.compile(steps["swizzled"], x32, y32)
in_flight = {
    # name: compiled kernel, bytes of shared memory a block, bytes of a load, loads of a thread
    "swizzled, float32": (run_swizzled, 32 * 32 * 4, 4, 4),
    "swizzled, float16": (run_swizzled16, 32 * 32 * 2, 2, 4),
    "vectorised, float16": (run_vectorised, 64 * 64 * 2, 16, 2),
}
for name, (run, shared_bytes, load_bytes, loads) in in_flight.items():
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
    print(f"{one:4.1f} to {one * loads:4.1f} kB in flight")
    if name == "swizzled, float16":
        least_guess.against(round(one))

# %% [markdown]
# The occupancy is 100 % for all of them, and tells nothing. The tiles of single elements may have
# enough in flight or not, those of 16 bits least of all. The vectorised kernel has room to spare in
# any case. Which of the two reasons weighs how much, no row here isolates: the vectorised kernel
# removes both at once.
#
# ## 6. Larger tiles, smaller tiles
#
# With a tile of 16 × 16, rows of 64 bytes are written: whole sectors, and the counts of sectors
# find nothing wrong. A tile of 64 × 64 has rows of 256 bytes, and needs four times the shared
# memory of 32 × 32.
#
# **Predict:** `padded, tile 16` has a pitch of 17. A warp is two rows of 16 lanes here: how many
# wavefronts take a shared load and a shared store?

# %% jupyter={"outputs_hidden": true}
fk.predict(shared_load_wavefronts_per_request=None, shared_store_wavefronts_per_request=None)
x, y = fk.randn(96, 128), fk.empty(128, 96)
print(fk.profile(fk.compile(steps["padded, tile 16"], x, y), x, y).predicted)
in32 = compare(torch.float32, ["padded, tile 16", "padded", "padded, tile 64", "production"])
in32.plot()

# %% [markdown]
# A tile of 64 gains 2 % of a copy over 32. A tile of 16 reaches 48 % where 32 reaches 84. Why? It
# writes half a line of the cache (128 bytes) at a time; and its shared accesses take two
# wavefronts; and it executes more instructions a byte. Three things have changed at once, and this
# row does not say which of them it was: one change at a time would.
#
# Now use the predicted time as a tool: one change, one look at the bounds, the next change.

# %% [markdown] exercise="week0/mirror_rows" part="task"
# ### Exercise 3: halve a predicted time
#
# `mirror_rows` reverses each row of a float16 matrix: `y[m, n] = x[m, N - 1 - n]`. N is a multiple
# of 8, and addresses are multiples of 16 bytes. The kernel below is right, and `fk.profile` finds
# four ideal sectors in every request. Halve its predicted time on an H200 for 2,048 × 8,192. The
# **whole interval** has to lie below half of what the given kernel takes, so being a little faster
# is not enough. Look at the bounds after each change:
#
# `fk.profile(*fk.exercise("week0/mirror_rows").failed, blocks=64).time("H200")`
#
# <details><summary>Hint 1</summary>
#
# Which bound is the longest, and which is the second? A change that shortens only the first leaves
# you with the second.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Fewer blocks, fewer instructions and more bytes in flight at the same time: each thread has to
# move more bytes with each of its accesses. How many bytes can one access move?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In the line with `mX[row, col]`, let `zipped_divide` give a thread a whole vector of 8 elements.
# Both the place of the vector in its row and the elements inside the vector change ends; registers
# turn the latter, as in section 2.
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
# The given kernel starts 65,536 blocks, which alone takes 39 µs, while memory needs 13 µs for the
# same bytes. Larger blocks do not help: with 1,024 threads the start of blocks is short, and the
# kernel waits for memory, since a thread asks for two bytes and a block is not replaced before its
# last warp has ended. A grid of two dimensions removes the divisions, which are only the third
# bound. Vectors shorten all three: an eighth of the blocks, an eighth of the instructions, and
# eight times the bytes in flight. What is left is device memory, and that bound is the least that
# any kernel has. (These times are predicted for an H200, not measured.)
#
# </details>

# %% [markdown]
# ## 7. What production code does beyond this
#
# What is left over are sizes that are no multiple of 8, and a compile with the right promises for
# every tensor. `copy_transpose(x)` takes any 2-D tensor and returns its transpose in new memory. It
# looks at the size, the strides and the address, and **chooses** a kernel. Three of them:
#
# - `vector`, 16-byte accesses on both sides, if every row of X and of Y begins at 16 bytes;
# - `gather`, for other sizes and strides: it reads words and gathers 16 bytes for each store (it is
#   not `07_transpose`'s);
# - `flat`, where there is nothing to turn, such as a single row, or columns that are contiguous.
#
# **Predict:** which one takes 128 × 192 in float16, which one 127 × 193, and a single row?

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
        print(f"    {moved / p.bytes_touched:.2f} times the least bytes")

# %% [markdown]
# `vector` moves what a copy moves. In 127 × 193 rows begin anywhere in a sector, and `gather`
# stores whole sectors all the same; for that, neighbouring blocks load some rows of X both, and the
# ends of Y's rows are stored in pieces of a sector.
#
# `vector` is `VectorTranspose` in `forgekit/kernels/copy_transpose.py`, a page of source
# (`inspect.getsource(VectorTranspose)` shows it). You have met each of its ideas: a square turned
# **in registers**; a **shared tile**, which makes whole rows of 256 bytes out of the pieces of 64
# that exercise 1 stores; a **swizzle** that keeps 16 bytes together; two predicates for the
# **tails**; elements moved as **integers** of their width, so that one kernel serves float16,
# bfloat16 and int16; and blocks numbered down the columns of tiles, so that neighbouring blocks
# write neighbouring parts of the same rows of Y. It reaches 96 % of a copy in float32, 92 % in
# float16.
#
# One more thing a production transpose takes is a batch. You have all that it needs:

# %% [markdown] exercise="week0/transpose_batch" part="task"
# ### Exercise 4: transpose a batch of matrices
#
# `x` has B matrices of M × N, one after the other: shape (B, M, N), row-major. Turn each of them,
# `y[b] = x[b].T`, for every B, M and N, in float32 and float16. One launch, and whole sectors on
# both sides. The host function is called as `transpose_batch(x, y)`.
#
# **Asked**: no bank conflicts in float32.
#
# <details><summary>Hint 1</summary>
#
# Each matrix is a transpose that you have written. What does a block need to know besides the place
# of its tile?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# A grid has three sizes, and `cute.arch.block_idx()` gives three numbers. `mX[b, row, col]` is an
# element of a tensor with three modes, whose sizes stand in `mX.shape`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The third size of the grid is B, and the third block index is the first index of mX and of mY. All
# else is exercise 1 of `07_transpose` with a pitch of its exercise 2.
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
# A batch costs one index. The batch must not be the *fast* side of the grid: neighbouring blocks
# should write neighbouring parts of one matrix, so it is the third. And a launch for each matrix
# would be B launches: for small matrices a launch takes longer than the work in it.
#
# </details>

# %% [markdown]
# ## Summary
#
# | the bad number | the step that fixes it | its price |
# |---|---|---|
# | 2 sectors a 16-bit load | 16 bytes a lane, turned in registers | sizes in multiples of 8 |
# | 10.8 instructions a byte | the same | the same |
# | sizes that are no multiples | another kernel, chosen by size | code |
# | a launch for each matrix | the batch in the grid | one index |

# %%
least_ms = 1000 * 2 * 8192 * 8192 * 4 / 4.8e12  # x read, y written, at the peak of an H200's memory
best = times.row("production", "float32")
print(f"8192 × 8192 in float32: at least {least_ms:.3f} ms; production took {best.ms:.3f} ms")

# %% [markdown]
# **In practice**, where tiles go to tensor cores, the hardware turns 8 × 8 pieces on the way
# (`ldmatrix` with `.trans`), and the bulk copies of Hopper write a swizzled tile by themselves. And
# the best transpose is still the one that is not done.
#
# **Further reading:** [Little's law and
# GPUs](https://www2.eecs.berkeley.edu/Pubs/TechRpts/2016/EECS-2016-143.html), a thesis on latency
# hiding · [the roofline model](https://doi.org/10.1145/1498765.1498785) · *What the virtual GPU
# models*, a page of this course's book (`book/virtual_gpu.md`)
#
# **Next:** the same questions, asked of a real GPU
# ([`09_profile_on_a_gpu`](09_profile_on_a_gpu.ipynb)).
