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
# # See layouts: where each element is, and which thread moves it
#
# **You will build** a matrix copy in which a layout assigns elements to threads, and a transpose in
# which a layout makes a 32-fold difference.
# **You will learn** to read `shape:stride`, CuTe's notation for the position of each element, to
# cut a matrix into tiles, to assign elements to threads, and to draw all of these as pictures.
# **You need** `00_start_here` and `01_why_slow_why_wrong` (warps, sectors, banks); no GPU. About 45
# minutes, and 45 more for the exercises, one of which is a whole kernel.

# %%
import cutlass
import cutlass.cute as cute
from IPython.display import display
from week0_helpers import loads

import forgekit as fk
from forgekit import viz
from forgekit.layouts import ComposedLayout, Swizzle, make_layout_tv, zipped_divide

# %% [markdown]
# ## 1. A matrix is a line of places and two numbers
#
# So far you have computed each index by hand. In `01_why_slow_why_wrong`, a single number in such
# an index, the pitch of a tile, made the difference between **32 wavefronts** and one. A layout
# keeps such numbers in one place.
#
# Memory is a line of numbered places. A matrix with 4 rows and 6 columns needs a rule that gives
# the place, or **offset**, of the element in row `i` and column `j`. The usual rule has two
# numbers, the **strides**: how many places to advance for a step down, and how many for a step to
# the right.
#
# The first lines of the next cell apply this rule in plain Python. CuTe combines the **shape** and
# the strides of a matrix into a **layout**, which it writes as `shape:stride`, here `(4,6):(6,1)`.
# Each entry of the shape is a **mode**. Mode 0 has size 4 and stride 6, and mode 1 has size 6 and
# stride 1. A layout holds no data; it is a *function* from coordinates to offsets.
#
# `fk.Layout` represents such a layout as a plain Python object for use outside kernels. In the
# picture, mode 0 goes down, mode 1 goes across, and each cell contains its offset. The **cosize**
# is the number of places that the layout needs, the largest offset plus 1.

# %%
memory = list(range(100, 124))  # 24 places, with a number in each
for i in range(4):
    print([memory[i * 6 + j * 1] for j in range(6)])

X = fk.Layout((4, 6), (6, 1))
print("X =", X, "  X((1, 2)) =", X((1, 2)))
viz.display_layout(X)

# %% [markdown]
# **Predict:** what is the offset of the element in row 2, column 3?

# %%
of_2_3 = fk.predict("X((2, 3))", None)

# %% jupyter={"outputs_hidden": true}
of_2_3.against(X((2, 3)))

# %% [markdown]
# ## 2. Strides determine the order
#
# The strides `(6,1)` store one *row* after another. This order is called **row-major** and is the
# default in PyTorch. The strides `(1,4)` store one *column* after another, an order called
# **column-major**. Shape and coordinates are the same; only the order in memory differs. If you do
# not specify strides, CuTe makes the layout column-major, following its rule that *the leftmost
# mode is the fastest*.
#
# Swapping the two modes gives the transpose as a view, without copying any data, as PyTorch's `x.T`
# does.
#
# CuTe's own `cute.make_layout` works inside `@cute.jit` functions and prints the same result.
# There, Python's `print` runs once, while the compiler reads the function. It can print these sizes
# because they are fixed.


# %%
@cute.jit
def show_layouts():
    row_major = cute.make_layout((4, 6), stride=(6, 1))
    print("CuTe:    ", row_major, row_major((1, 2)), cute.make_layout((4, 6)))


show_layouts()
print("forgekit:", X, X((1, 2)), fk.Layout((4, 6)))
x = fk.arange(24).reshape(4, 6)
print("x:  ", fk.Layout.of(x), "  x.T:", fk.Layout.of(x.T))
viz.display_layout(fk.Layout((4, 6)))

# %% [markdown]
# The next cell tries to define a row-major layout for any size. For a square matrix, the picture
# looks perfect.
#
# **Predict:** how many *different* offsets do the 24 elements of a 4 × 6 matrix have?

# %%
different = fk.predict("different offsets of row_major(4, 6)", None)


# %% jupyter={"outputs_hidden": true}
def row_major(rows, columns):
    return fk.Layout((rows, columns), (rows, 1))


wrong = row_major(4, 6)
offsets = {wrong((i, j)) for i in range(4) for j in range(6)}
different.against(len(offsets))
viz.display_layout(row_major(4, 4))
viz.display_layout(wrong)

# %% [markdown]
# > **Looks right but is wrong.** A step down must skip a whole row, which has as many elements as
# > there are *columns*, so the stride must be `(columns, 1)`. A square has as many rows as columns,
# > which hides the mistake. The second picture reveals it: offset 4 is in row 0 *and* at the start
# > of row 1, so a copy into this layout overwrites elements. Test a layout on a shape whose sizes
# > all differ.
#
# ## 3. A mode with two strides
#
# Now store a 4 × 4 matrix as 2 × 2 squares, one after another. This order keeps neighbours in both
# directions of the matrix close together in memory. Along row 0, the offsets are 0, 1, 4, 5. The
# steps between them are 1, 3, 1, which no single stride can produce. Two strides can: 1 for a step
# *within* a square, and 4 for a step *from square to square*. The plain Python below splits `j`
# into `j % 2`, the position in the square, and `j // 2`, the number of the square. It splits `i` in
# the same way.
#
# So the column mode becomes a pair with shape `(2,2)` and stride `(1,4)`, and the row mode becomes
# `(2,2):(2,8)`. Layouts with such nested modes are called **hierarchical**. A nested mode is still
# a mode of size 4. You can give it its two parts or a single index, which CuTe splits *leftmost
# part first*: 3 becomes `(1,1)`, and 2 becomes `(0,1)`.

# %%
for i in range(4):
    print([(i % 2) * 2 + (i // 2) * 8 + (j % 2) * 1 + (j // 2) * 4 for j in range(4)])

squares = fk.Layout(((2, 2), (2, 2)), ((2, 8), (1, 4)))
print("one element, two coordinates:", squares((2, 1)), squares(((0, 1), (1, 0))))
viz.display_layout(squares)

# %% [markdown] exercise="week0/offsets_by_hand" part="task"
# ### Exercise 1: compute offsets by hand
#
# For the layout `(3,(2,4)):(2,(1,6))`, replace each `None` with the offset of its coordinate. The
# last coordinate is a single number that counts through the *whole* layout, leftmost mode fastest.
#
# <details><summary>Hint 1</summary>
#
# Multiply each index by its stride and add the products. If an index addresses a nested mode, split
# it first.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The parts of mode 1 have sizes 2 and 4. Index 3 splits, leftmost part first, into `(3 % 2, 3 //
# 2)`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# For linear index 7, the row is `7 % 3` and the column is `7 // 3`, because mode 0 has size 3. Then
# split the column.
#
# </details>

# %% exercise="week0/offsets_by_hand" part="skeleton"
answers = {  # coordinate: offset, of the layout (3,(2,4)):(2,(1,6))
    # FILL ME IN (roughly 5 lines)
    (1, 0): None,
    (1, (0, 2)): None,
    (2, 3): None,
    (0, 6): None,
    7: None,
}

# %% exercise="week0/offsets_by_hand" part="grade"
fk.exercise("week0/offsets_by_hand").grade(answers)

# %% [markdown] exercise="week0/offsets_by_hand" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# answers = {  # coordinate: offset, of the layout (3,(2,4)):(2,(1,6))
#     (1, 0): 2,
#     (1, (0, 2)): 14,
#     (2, 3): 11,
#     (0, 6): 18,
#     7: 8,
# }
# ```
#
# | coordinate | split | offset |
# |---|---|---|
# | `(1, 0)` | `(1,(0,0))` | 1·2 = 2 |
# | `(1, (0, 2))` | already split | 1·2 + 0·1 + 2·6 = 14 |
# | `(2, 3)` | `(2,(1,1))` | 2·2 + 1·1 + 1·6 = 11 |
# | `(0, 6)` | `(0,(0,3))` | 0·2 + 0·1 + 3·6 = 18 |
# | `7` | `(1, 2)`, so `(1,(0,1))` | 1·2 + 0·1 + 1·6 = 8 |
#
# To draw the layout, call `viz.display_layout(fk.Layout((3, (2, 4)), (2, (1, 6))))`.
#
# </details>

# %% [markdown]
# ## 4. Tiles: cut a layout with `zipped_divide`
#
# A block of threads works on a **tile** of the matrix. The size of a tile is called the **tiler**.
# A **zipped divide**, `zipped_divide(layout, tiler)`, cuts a layout into tiles and sorts its modes
# into `((tile),(rest))`: first the modes that move *within* a tile, then the modes that move *from
# tile to tile*. It does not move any elements; it only splits each mode in two, like the modes of
# the squares. The next cell cuts a 6 × 8 matrix into 2 × 4 tiles, and `fk.explain` describes the
# result mode by mode. The picture leaves the tiles in their places in the matrix
# (`flatten_hierarchical=False`), so its rows and columns are those of the matrix, not modes 0 and
# 1.

# %%
M = fk.Layout((6, 8), (8, 1))
tiles = zipped_divide(M, (2, 4))  # ((2,4),(3,2)):((8,1),(16,4))
viz.display_layout(tiles, flatten_hierarchical=False)
fk.explain(tiles)

# %% [markdown]
# Modes 0.0 and 0.1 move within a tile, one row down and one column to the right, so they have the
# strides of the matrix. Mode 1.0 moves down by one *tile*; its stride is 16, because a tile has 2
# rows and each row of the matrix has 8 elements. Mode 1.1 moves right by one *tile*, so its stride
# is 4.
#
# To select one tile, fix mode 1 and leave mode 0 open. `None` means "leave open", like `:` in
# Python. The result is the tile's own layout, and the tile starts at the offset of its element
# `(0,0)`. All tiles have the same layout and differ only in where they start, so you can write a
# kernel for *one* tile. Inside a kernel, `cute.zipped_divide(mX, tiler)` divides a tensor in the
# same way.
#
# **Predict:** at which offset does the tile in tile row 2 and tile column 1 start?

# %%
start = fk.predict("start of tile (2, 1)", None)

# %% jupyter={"outputs_hidden": true}
start.against(tiles(((0, 0), (2, 1))))
print("layout of each tile:", tiles(((None, None), (2, 1))))  # (2,4):(8,1)

# %% [markdown] exercise="week0/tiles_to_rows" part="task"
# ### Exercise 2: store each tile in one row
#
# Cut `x` into tiles of 2 × 4. Store the 8 elements of tile `t` in row `t` of `y`, first the upper
# row of the tile, then the lower row. Number the tiles as CuTe does, leftmost mode fastest, so that
# tile 1 is *below* tile 0. Cut `mX` in the host function, for example with `cute.zipped_divide`,
# and pass the result to the kernel in place of `mX`. Support float32 and float16. The sizes of `x`
# are multiples of the tile's sizes. Signature: `tiles_to_rows(x, y)`.
#
# **Required**: one thread per element.
#
# <details><summary>Hint 1</summary>
#
# Let thread i write element i of `y`, counted along its rows. In which row of `y` is that element,
# and at which position in the row?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# In `gX[((r, c), t)]`, the inner pair is the position in the tile. `t` may be a single number,
# which CuTe splits leftmost part first.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The tile is `i // 8`, and `k = i % 8` is the position in it. A tile has 4 columns, so `k` splits
# into a row and a column. `cute.size(mY)` is the total number of elements.
#
# </details>


# %% exercise="week0/tiles_to_rows" part="skeleton"
@cute.kernel
def tiles_to_rows_kernel(gX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 6 lines)
    pass


@cute.jit
def tiles_to_rows(mX: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 3 lines)
    pass


# %% exercise="week0/tiles_to_rows" part="grade"
fk.exercise("week0/tiles_to_rows").grade(tiles_to_rows)

# %% [markdown] exercise="week0/tiles_to_rows" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# @cute.kernel
# def tiles_to_rows_kernel(gX: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     i = bidx * 128 + tidx
#     if i < cute.size(mY):
#         t, k = i // 8, i % 8
#         mY[t, k] = gX[((k // 4, k % 4), t)]
#
#
# @cute.jit
# def tiles_to_rows(mX: cute.Tensor, mY: cute.Tensor):
#     gX = cute.zipped_divide(mX, (2, 4))  # ((2,4),(RestM,RestN))
#     blocks = cute.ceil_div(cute.size(mY), 128)
#     tiles_to_rows_kernel(gX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# The kernel computes no index into `x`, because the layout that `zipped_divide` returns does this
# arithmetic. Neighbouring threads write neighbouring elements of `y`. From `x` they read pieces of
# 16 bytes in float32, half of a sector each. The threads of the tile to the right read the other
# half of the sector much later.
#
# </details>

# %% [markdown]
# This is a good place for a break.
#
# ## 5. A layout for threads
#
# Suppose that eight threads, arranged in two rows of four, copy a 2 × 8 tile. Each thread copies
# two neighbouring elements, its **values**. The first lines of the next cell print this assignment
# in plain Python.
#
# This assignment is also a function, from a coordinate `(thread, value)` to a position in the tile.
# It is called a **thread-value layout**, or TV layout. `make_layout_tv` builds it from two small
# layouts, one for the threads and one for the values of a thread, and also returns the size of the
# tile. On the left of the picture, each element shows its thread T and its value V. The right side
# shows the inverse, with one row per thread, one column per value, and the element's (row, column)
# in each cell.
#
# The layout itself returns one number per element, its **linear index** in the tile. This index
# counts leftmost mode fastest, that is, down the columns. In a tile of 2 rows it is row + 2 ×
# column. In `((4,2),2):((4,1),2)`, the mode of the threads is `(4,2):(4,1)` and the mode of the
# values is `2:2`. A step from thread 0 to thread 1 adds 4 to the index, which is two columns to the
# right. A step from thread 0 to thread 4 adds 1, which is one row down. A step from value 0 to
# value 1 adds 2, which is one column to the right. So value 1 of thread 1 has index 4 + 2 = 6,
# which is row 0, column 3.

# %%
for thread in range(8):
    row, column = thread // 4, (thread % 4) * 2
    print(f"thread {thread}:", [(row, column + value) for value in range(2)])

thr_layout = fk.Layout((2, 4), (4, 1))
val_layout = fk.Layout((1, 2), (2, 1))
tiler_mn, layout_tv = make_layout_tv(thr_layout, val_layout)
print(tiler_mn, layout_tv)  # (2,8)  ((4,2),2):((4,1),2)
viz.display_tv_layout(layout_tv, tiler_mn, both=True)

# %% [markdown]
# **Predict:** what is the linear index of value 1 of thread 6, and in which row and column is it?

# %%
value_1 = fk.predict("thread 6, value 1", None)  # in the form (10, (0, 5)): index, (row, column)

# %% jupyter={"outputs_hidden": true}
index = layout_tv((6, 1))
value_1.against((index, (index % 2, index // 2)))

# %% [markdown]
# ## 6. A kernel that follows the layout
#
# With any TV layout, a thread finds its elements in three steps:
#
# 1. Slice the block's tile out of the divided tensor.
# 2. Apply the TV layout with `cute.composition`. After this **composition**, the coordinate of an
#    element is `(thread, value)` instead of its position in the tile.
# 3. Slice the values of this thread out of the result.
#
# Click through the steps for a 4 × 16 matrix. Point at elements, and click one to select its tile
# and its thread. (The explorer calls the matrix A, as NVIDIA's notebooks do.) The kernel below
# takes the same three steps but calls the matrix X: `gX` is X in global memory, cut into tiles;
# `bX` is the tile of the *b*lock; and `tXgX` is the part of that tile that the *t*hread copies.

# %%
fk.explore(fk.Layout((4, 16), (16, 1)), tile=tiler_mn, tv=layout_tv, memory="gmem")


# %%
@cute.kernel
def tv_copy_kernel(gX: cute.Tensor, gY: cute.Tensor, layout_tv: cute.Layout):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bX = gX[((None, None), bidx)]  # (TileM,TileN)
    bY = gY[((None, None), bidx)]  # (TileM,TileN)
    tX = cute.composition(bX, layout_tv)  # (Threads,Values)
    tY = cute.composition(bY, layout_tv)  # (Threads,Values)
    tXgX = tX[(tidx, None)]  # (Values)
    tXgY = tY[(tidx, None)]  # (Values)
    tXgY.store(tXgX.load())


def make_copy(thr, val):
    """Return the host function of a copy with this layout of threads and of values."""

    @cute.jit
    def tv_copy(mX: cute.Tensor, mY: cute.Tensor):
        thr_layout = cute.make_layout(thr.shape, stride=thr.stride)
        val_layout = cute.make_layout(val.shape, stride=val.stride)
        tiler_mn, layout_tv = cute.make_layout_tv(thr_layout, val_layout)
        gX = cute.zipped_divide(mX, tiler_mn)  # ((TileM,TileN),(RestM,RestN))
        gY = cute.zipped_divide(mY, tiler_mn)  # ((TileM,TileN),(RestM,RestN))
        blocks, threads = cute.size(gX, mode=[1]), cute.size(layout_tv, mode=[0])
        tv_copy_kernel(gX, gY, layout_tv).launch(grid=(blocks, 1, 1), block=(threads, 1, 1))

    return tv_copy


x, y = fk.randn(4, 16), fk.empty(4, 16)
run_copy = fk.compile(make_copy(thr_layout, val_layout), x, y)
run_copy(x, y)
fk.check(y, x)
fk.footprint(run_copy, x, fk.empty(4, 16), tensor="mX")

# %% [markdown]
# The kernel has four blocks of eight threads, and each cell shows `block,thread`. Block 1 copies
# the tile *below* that of block 0, not the tile beside it, because `bidx` is a linear index into
# the mode of tiles, whose leftmost part is the fastest.
#
# ## 7. Four values per thread: 128 bits in one load
#
# Two values are only 8 bytes per thread. A thread can load 16 bytes, four `float32` values, with
# *one* instruction if they are adjacent and start at a multiple of 16 bytes. So each thread of a
# warp now copies four adjacent values.
#
# **Predict:** how many load instructions does the compiler generate for four adjacent values? Give
# two numbers for the same function: one if you compile it for the tensors as they are, and one if
# you also promise that the number of columns is a multiple of four. (`loads`, from
# `week0_helpers.py` in this folder, lists the load instructions in a kernel's PTX.)

# %%
warp_threads = fk.Layout((8, 4), (4, 1))
four_values = fk.Layout((1, 4), (4, 1))
warp_tile, warp_tv = make_layout_tv(warp_threads, four_values)
print(warp_tile, warp_tv)  # (8,16)  ((4,8),4):((32,1),8)
viz.display_tv_layout(warp_tv, warp_tile)
of_both = fk.predict("load instructions", None)  # in the form (2, 2)

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(32, 64), fk.empty(32, 64)
as_it_is = fk.compile(make_copy(warp_threads, four_values), x, y)
promised = [fk.spec(tensor, divisible={1: 4}) for tensor in (x, y)]
with_promise = fk.compile(make_copy(warp_threads, four_values), *promised)
of_both.against((len(loads(as_it_is)), len(loads(with_promise))))
print("as it is:    ", loads(as_it_is))
print("with promise:", loads(with_promise))

# %% [markdown]
# The picture is the same for both versions. However, without the promise the kernel is compiled for
# matrices of any width, and in a matrix with 65 columns the second row does not start at a multiple
# of 16 bytes. To be safe, the compiler loads each element separately. With the promise, it
# generates one `v4` load of 128 bits, and a call with a 65-column matrix raises an error.
#
# ## 8. The same result at twice the cost
#
# A block of four warps, 128 threads, can cover a 32 × 16 tile of a row-major matrix in two ways. In
# the version called **across**, threads are numbered along the rows and their values are side by
# side, as before. In the version called **down**, which would suit a column-major matrix, threads
# are numbered down the columns and their values are below one another. Both versions copy every
# element exactly once.
#
# **Predict:** how many times as many sectors does *down* load as *across*? The cell after the
# answer draws both versions for the first two tiles, coloured by warp.

# %%
times_as_many = fk.predict("times as many sectors", None)

# %% jupyter={"outputs_hidden": true}
ways = {
    "across": (fk.Layout((32, 4), (4, 1)), fk.Layout((1, 4), (4, 1))),  # tile (32,16)
    "down": (fk.Layout((8, 16), (1, 8)), fk.Layout((4, 1), (1, 4))),  # tile (32,16)
}
runs, costs = {}, {}
for name, (thr, val) in ways.items():
    y = fk.empty(32, 64)
    runs[name] = fk.compile(make_copy(thr, val), *promised)
    runs[name](x, y)
    assert y.equal(x)
    costs[name] = fk.profile(runs[name], x, y)
times_as_many.against(costs["down"].global_load_sectors / costs["across"].global_load_sectors)
for name, cost in costs.items():
    requests, sectors = cost.global_load_requests, cost.global_load_sectors
    print(f"{name:>6}: {requests} load requests, {sectors} sectors of 32 bytes")

# %%
x_part = x[:, :32].contiguous()
for run in runs.values():
    display(fk.footprint(run, x_part, fk.empty(32, 32), tensor="mX", by="warp"))

# %% [markdown]
# A check cannot detect the difference, because any TV layout that covers each element once gives
# the correct result. The pictures show it. In *across*, a warp covers 64 bytes, two whole sectors,
# in each of 8 rows. In *down*, it covers a strip that is 4 columns, or 16 bytes, wide. Half of each
# sector that it requests belongs to another warp, which requests the sector again. In addition, one
# load cannot move four values that are below one another, so *down* executes four times as many
# loads.
#
# ## 9. A first look at swizzles
#
# The explorer below shows the tile that `01_why_slow_why_wrong` transposed in shared memory. With a
# pitch of 32, a read took 32 wavefronts; with a pitch of 33, it took only one. Each cell shows its
# offset and its bank, `offset % 32`, and is coloured by bank.
#
# A pitch of 33 is an example of **padding**, which leaves one place after each row unused. A
# **swizzle** needs no extra space. It permutes the elements within each row by XORing the column
# with the row, here with `offset ^ (offset >> 5)`. Move the sliders to see the effect. The second
# cell shows a corner of the padded tile and of the swizzled tile. (Ignore `ldmatrix`, an
# instruction that appears in later weeks.)

# %%
fk.explore(fk.Layout((32, 32), (32, 1)), memory="smem")

# %%
viz.display_swizzle_layout(fk.Layout((8, 16), (33, 1)))
viz.display_swizzle_layout(ComposedLayout(Swizzle(5, 0, 5), 0, fk.Layout((8, 16), (32, 1))))

# %% [markdown]
# In the next kernel, one block of 32 × 32 threads transposes one tile. Each of its 32 warps writes
# a row of the shared tile `sX`, waits for the other warps (`sync_threads`), and reads a column. The
# code of the kernel does not depend on the layout of `sX`. (`cutlass.const_expr` marks an `if` that
# the compiler evaluates.)
#
# **Predict:** how many wavefronts do all 32 reads take in total if the tile is row-major, padded or
# swizzled?

# %%
of_three = fk.predict("wavefronts, three layouts", None)  # in the form [100, 100, 100]


# %% jupyter={"outputs_hidden": true}
@cute.kernel
def transpose_kernel(mX: cute.Tensor, mY: cute.Tensor, layout_s: cute.Layout | cute.ComposedLayout):
    tx, ty, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(cutlass.Float32, layout_s, byte_alignment=128)
    sX[ty, tx] = mX[ty, tx]
    cute.arch.sync_threads()
    mY[ty, tx] = sX[tx, ty]


def make_tile_transpose(row_stride, swizzle=None):
    @cute.jit
    def transpose(mX: cute.Tensor, mY: cute.Tensor):
        layout_s = cute.make_layout((32, 32), stride=(row_stride, 1))
        if cutlass.const_expr(swizzle is not None):
            layout_s = cute.make_composed_layout(cute.make_swizzle(*swizzle), 0, layout_s)
        transpose_kernel(mX, mY, layout_s).launch(grid=(1, 1, 1), block=(32, 32, 1))

    return transpose


x, y, transposes, wavefronts = fk.randn(32, 32), fk.empty(32, 32), [], []
for arguments in [(32,), (33,), (32, (5, 0, 5))]:
    transposes.append(fk.compile(make_tile_transpose(*arguments), x, y))
    transposes[-1](x, y.fill_(float("nan")))
    assert y.equal(x.T)
    wavefronts.append(fk.profile(transposes[-1], x, y).shared_load_wavefronts)
of_three.against(wavefronts)
fk.banks(transposes[0], x, y, kind="load")

# %% [markdown]
# The picture shows the first warp's read in the row-major tile, where all lanes need the same bank.
# A different number in the layout, or one XOR, reduces the number of wavefronts to 1/32 without any
# change to the kernel. A later notebook explains the three numbers of a swizzle and why a swizzle
# is often better than padding.
#
# ## 10. From the picture to the layout
#
# Find the layouts of these two pictures.

# %%
for name, offsets in fk.exercise("week0/which_layout").given.items():
    viz.display_offsets(offsets, title=f"Puzzle {name}")


# %% [markdown] exercise="week0/which_layout" part="task"
# ### Exercise 3: find the layouts of two pictures
#
# Write the layout of each picture as `(shape, stride)`. The grader accepts any layout that is the
# same *function*.
#
# <details><summary>Hint 1</summary>
#
# Follow the first row, then the first column. If all steps along it are equal, the mode is a single
# number, and the step is its stride.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# If the steps differ, the number of cells before the first different step is the size of the first
# part, and the regular step is its stride. The stride of the second part is the distance from group
# to group.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In A, all steps within a mode are equal, but a row does not begin where the row above ends. At
# which offset does row 1 begin? In B, neither mode has equal steps, so each mode is a pair. Its
# first size is the number of cells before the jump, along row 0 or down column 0.
#
# </details>

# %% exercise="week0/which_layout" part="skeleton"
layouts = {  # puzzle: (shape, stride)
    # FILL ME IN (roughly 2 lines)
    "A": (None, None),
    "B": (None, None),
}

# %% exercise="week0/which_layout" part="grade"
fk.exercise("week0/which_layout").grade(layouts)

# %% [markdown] exercise="week0/which_layout" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# layouts = {  # puzzle: (shape, stride)
#     "A": ((4, 6), (8, 1)),
#     "B": (((2, 2), (4, 2)), ((4, 16), (1, 8))),
# }
# ```
#
# **A** is row-major with two unused places after each row, like the first six columns of an
# eight-column matrix, or a padded tile.
#
# **B** has the steps 1, 1, 1, 5 in row 0, which is a group of four cells followed by a group that
# begins at offset 8. So the column mode is `(4,2):(1,8)`. Column 0 has the offsets 0, 4, 16, 20, so
# the row mode is `(2,2):(4,16)`. This layout stores 2 × 4 tiles one after another, along the rows
# of tiles. In section 4, by contrast, the *matrix* was row-major, and the tiles were cut out of it.
#
# </details>

# %% [markdown]
# ## Summary
#
# | layout | from → to | as printed | made by |
# |---|---|---|---|
# | row-major matrix | (row, column) → offset | `(4,6):(6,1)` | `make_layout` with a stride |
# | 2 × 2 squares | (row, column) → offset | `((2,2),(2,2)):((2,8),(1,4))` | nested modes |
# | 2 × 4 tiles | ((tile),(rest)) → offset | `((2,4),(3,2)):((8,1),(16,4))` | `zipped_divide` |
# | TV layout of a warp | (thread, value) → index | `((4,8),4):((32,1),8)` | `make_layout_tv` |
# | swizzled tile | (row, column) → offset | `S<5,0,5> o 0 o (32,32):(32,1)` | `make_swizzle` |
#
# | kernels with the same result | | good | bad |
# |---|---|---|---|
# | four values per thread, with or without a promise | load instructions | 1 | 4 |
# | threads across or down a row-major 32 × 64 matrix | sectors loaded | 256 | 512 |
# | shared tile with or without padding or a swizzle | wavefronts to read it | 32 | 1,024 |
#
# **In practice**, kernels rarely compose TV layouts by hand. A *tiled copy* combines the TV layout
# and the width of a load in one object, and kernels use the swizzle that tensor cores and bulk
# copies expect.
#
# **Try it yourself:** the explorers above accept any layout, tiler or swizzle.
#
# **Further reading:** NVIDIA's documentation of
# [layouts](https://docs.nvidia.com/cutlass/media/docs/cpp/cute/01_layout.html) and [layout
# algebra](https://docs.nvidia.com/cutlass/media/docs/cpp/cute/02_layout_algebra.html), which uses
# C++ but the same terms · [the algebra with
# proofs](https://leimao.github.io/article/CuTe-Layout-Algebra/)
#
# **Next:** a copy that is as fast as memory allows, built step by step
# ([`04_copy_fast`](04_copy_fast.ipynb)).
