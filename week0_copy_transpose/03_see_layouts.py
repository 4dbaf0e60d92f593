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
# # See layouts: where each element lies, and who moves it
#
# **You will build** a matrix copy in which one layout says which thread moves what, and a transpose
# in which one layout makes a 32-fold difference.
# **You will learn** to read `shape:stride`, how CuTe writes down where each element of a matrix
# lies, to cut a matrix into tiles, to say which thread moves which elements, and to see all of it
# as pictures.
# **You need** `00_start_here` and `01_why_slow_why_wrong` (warps, sectors, banks); no GPU. About 40
# minutes, and 35 more for the exercises, one of them a whole kernel; section 5 is a good place for
# a break.
#
# Where it says **Predict**, write your answer in place of `None` before you run the cell; what it
# prints is folded away until then. Wrong predictions are kept, too, and no harm is done: section 10
# shows them all, the first as well as what you said later.

# %%
import cutlass
import cutlass.cute as cute
from IPython.display import display

import forgekit as fk
from forgekit import viz
from forgekit.layouts import ComposedLayout, Swizzle, make_layout_tv, zipped_divide

# %% [markdown]
# ## 1. A matrix is a line, and two numbers
#
# Memory is a line of numbered places. To put a matrix of 4 rows and 6 columns into it we need a
# rule that says in which place, at which **offset**, the element of row `i` and column `j` lies.
# The usual rule has two numbers: so many places for a step down, so many for a step to the right.
# They are the **strides**.
#
# In plain Python that is the first cell below. CuTe calls the pair a **layout** and writes it
# `shape:stride`, here `(4,6):(6,1)`. Each entry of the **shape** is a **mode**: mode 0 has size 4
# and stride 6, mode 1 has size 6 and stride 1. A layout holds no data. It is a *function*: a
# coordinate goes in, an offset comes out.
#
# `fk.Layout` is such a layout as a plain Python object, for looking and computing outside kernels.
# In its picture mode 0 goes down, mode 1 across, and the number in a cell is the offset. (To keep a
# picture: `viz.draw_layout(X).save("layout.svg")`.)

# %%
memory = list(range(100, 124))  # 24 places, with a number in each
shape, stride = (4, 6), (6, 1)

for i in range(shape[0]):
    print([memory[i * stride[0] + j * stride[1]] for j in range(shape[1])])

# %%
X = fk.Layout((4, 6), (6, 1))
print("X =", X, "  X((1, 2)) =", X((1, 2)))
viz.display_layout(X)

# %% [markdown]
# **Predict:** at which offset lies the element in row 2, column 3?

# %%
of_2_3 = fk.predict("X((2, 3))", None)

# %% jupyter={"outputs_hidden": true}
of_2_3.against(X((2, 3)))

# %% [markdown]
# ## 2. Another stride, another order
#
# The strides `(6,1)` lay the *rows* side by side: **row-major**, as PyTorch does. `(1,4)` lays the
# *columns* side by side: **column-major**. Same shape, same coordinates, another order in memory. A
# layout without strides is column-major, for CuTe's rule is: *the leftmost mode is the fastest*.
#
# A transpose needs no copy, if another view will do: swap the modes, and row `i`, column `j` is
# where row `j`, column `i` was. PyTorch's `x.T` does just that.
#
# CuTe's own `cute.make_layout` lives inside `@cute.jit` functions, and prints the same (second
# cell). Python's `print` runs once there, while the function is compiled; fixed sizes are known by
# then.

# %%
x = fk.arange(24).reshape(4, 6)
print("x:  ", fk.Layout.of(x))
print("x.T:", fk.Layout.of(x.T))
viz.display_layout(fk.Layout((4, 6)))


# %%
@cute.jit
def show_layouts():
    row_major = cute.make_layout((4, 6), stride=(6, 1))
    print("CuTe:    ", row_major, row_major((1, 2)), cute.make_layout((4, 6)))


show_layouts()
print("forgekit:", X, X((1, 2)), fk.Layout((4, 6)))

# %% [markdown]
# `viz.display_layout` draws CuTe's own layouts, too, inside such a function. With
# `backend="cute-viz"` the package of that name draws them. The course does not need it; where it is
# missing, this cell says how to add it.


# %% tags=["nbval-ignore-output"]
@cute.jit
def draw_with_cute_viz():
    viz.display_layout(cute.make_layout((4, 6), stride=(6, 1)), backend="cute-viz")


try:
    draw_with_cute_viz()
except fk.PlatformError as missing:
    print(missing)

# %% [markdown]
# Somebody writes a row-major layout for any size, and tries it on a square. The picture is perfect.
#
# **Predict:** how many *different* offsets do the 24 elements of a 4 × 6 matrix get?

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
# > **Looks right and is wrong.** A step down has to skip a whole row, as many elements as there are
# > *columns*: the stride is `(columns, 1)`. In a square the two are one number, and the mistake
# > hides. In the second picture it shows: offset 4 is in row 0 *and* at the start of row 1, so a
# > copy into this layout overwrites elements. Try a layout on a shape whose sizes all differ.
#
# ## 3. A mode with two strides
#
# Now store a 4 × 4 matrix square by square, each of 2 × 2: then neighbours in the matrix, above and
# below as well, are near each other in memory. Along row 0 the offsets are 0, 1, 4, 5. The steps
# are 1, 3, 1, and no single stride does that. Two do: 1 for a step *within* a square, 4 for a step
# *from square to square*. The plain Python below splits `j` into `j % 2`, the place within the
# square, and `j // 2`, the square; and `i` likewise.
#
# So the mode of columns becomes a pair, shape `(2,2)`, stride `(1,4)`; the mode of rows is
# `(2,2):(2,8)`. Layouts with such nested modes are **hierarchical**. A nested mode still is one
# mode of size 4. You may give it one index, which CuTe splits, *leftmost part first* (3 becomes
# `(1,1)`, 2 becomes `(0,1)`), or the parts themselves.

# %%
for i in range(4):
    print([(i % 2) * 2 + (i // 2) * 8 + (j % 2) * 1 + (j // 2) * 4 for j in range(4)])

squares = fk.Layout(((2, 2), (2, 2)), ((2, 8), (1, 4)))
print("one element, two coordinates:", squares((2, 1)), squares(((0, 1), (1, 0))))
viz.display_layout(squares)

# %% [markdown] exercise="week0/offsets_by_hand" part="task"
# ### Exercise 1: offsets by hand
#
# Take the layout `(3,(2,4)):(2,(1,6))`. Write the offset of each coordinate in place of `None`. The
# last coordinate is a single number: it counts through the *whole* layout, leftmost mode fastest.
#
# <details><summary>Hint 1</summary>
#
# Multiply each index by its stride and add. Where one index stands for a nested mode, split it
# first.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Mode 1 has the parts 2 and 4. Index 3 splits, leftmost first, into `(3 % 2, 3 // 2)`.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Linear index 7: mode 0 has size 3, so the row is `7 % 3` and the column `7 // 3`; then split the
# column.
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
# | `(1, (0, 2))` | as it is | 1·2 + 0·1 + 2·6 = 14 |
# | `(2, 3)` | `(2,(1,1))` | 2·2 + 1·1 + 1·6 = 11 |
# | `(0, 6)` | `(0,(0,3))` | 0·2 + 0·1 + 3·6 = 18 |
# | `7` | `(1, 2)`, so `(1,(0,1))` | 1·2 + 0·1 + 1·6 = 8 |
#
# To see it: `viz.display_layout(fk.Layout((3, (2, 4)), (2, (1, 6))))`.
#
# </details>

# %% [markdown]
# ## 4. Tiles: cut a layout with `zipped_divide`
#
# A block of threads works on a **tile** of the matrix. The **tiler** says how large a tile is, and
# a **zipped divide**, `zipped_divide(layout, tiler)`, cuts a layout into tiles and sorts its modes,
# `((tile),(rest))`: first what moves *within* a tile, then what moves *from tile to tile*. No
# element moves; each mode is just split in two, as the modes of the squares were. Here is a 6 × 8
# matrix in tiles of 2 × 4, and `fk.explain` reads the result aloud, mode by mode. In this picture
# the tiles stand where they are in the matrix (`flatten_hierarchical=False`): only here it is not
# mode 0 that goes down and mode 1 across, but rows and columns of the matrix.

# %%
M = fk.Layout((6, 8), (8, 1))
tiles = zipped_divide(M, (2, 4))  # ((2,4),(3,2)):((8,1),(16,4))
viz.display_layout(tiles, flatten_hierarchical=False)
fk.explain(tiles)

# %% [markdown]
# Modes 0.0 and 0.1 walk within a tile, a row down and a column to the right, with the strides of
# the matrix. Mode 1.0 goes one *tile* down, 2 rows of 8, so 16. Mode 1.1 goes one *tile* to the
# right, 4 columns.
#
# To get one tile, fix mode 1 and leave mode 0 open: `None` means "leave open", like `:` in Python.
# What remains is the tile's own layout; where the tile starts is the offset of its element `(0,0)`.
#
# **Predict:** at which offset does the tile in tile row 2, tile column 1 start?

# %%
start = fk.predict("start of tile (2, 1)", None)

# %% jupyter={"outputs_hidden": true}
start.against(tiles(((0, 0), (2, 1))))
print("layout of each tile:", tiles(((None, None), (2, 1))))  # (2,4):(8,1)

# %% [markdown]
# All tiles have one layout; only their starts differ. That is why a kernel can be written for *one*
# tile. In a kernel it is the same, on tensors: `cute.zipped_divide(mX, tiler)`.

# %% [markdown] exercise="week0/tiles_to_rows" part="task"
# ### Exercise 2: a row for each tile
#
# `x` is cut into tiles of 2 × 4. Row `t` of `y` is to hold tile `t`, its two rows one after the
# other: 8 elements. Tiles are counted as CuTe counts them, leftmost mode fastest: tile 1 lies
# *below* tile 0. Cut `mX` with `cute.zipped_divide` in the host function and pass the result to the
# kernel; Sizes of `x` are multiples of the tile. Called as `tiles_to_rows(x, y)`.
#
# **Asked**: one thread per element.
#
# <details><summary>Hint 1</summary>
#
# Let thread i write element number i of `y`, counted along its rows: which row of `y` is that, and
# which place in it?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# In `gX[((r, c), t)]` the inner pair is the place in the tile, and `t` may be one number: CuTe
# splits it, leftmost first.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The tile is `i // 8`, and `k = i % 8` the place in it; a tile has 4 columns, so `k` splits into
# row and column once more. `cute.size(mY)` is the number of all elements.
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
# No index of `x` was computed: `zipped_divide` knows where a tile lies, and its layout does the
# arithmetic. Neighbouring threads write neighbouring elements of `y`. Of `x` they read 16 bytes
# here and 16 there, half a sector each, and the other half is read by the tile to the right, much
# later.
#
# </details>

# %% [markdown]
# ## 5. Who moves what is a layout, too
#
# Eight threads shall copy a tile of 2 × 8: four threads side by side, in two rows, and each thread
# takes two neighbours, its **values**. The first cell says so in plain Python.
#
# It is, again, a function: from a coordinate `(thread, value)` to a place in the tile. This is a
# **thread-value layout**, TV layout for short. `make_layout_tv` makes it of two small ones, how the
# threads lie and how the values of one thread lie, and returns the size of the tile as well. Left
# in its picture: who holds each element, T its thread, V which of the thread's values it is. Right:
# the same, asked the other way round, with a row for each thread and a column for each value;
# each cell is the element's (row, column).
#
# What the layout itself gives is one number for that element, its **linear index** in the tile. It
# counts leftmost mode fastest, that is, down the columns: in a tile of 2 rows it is row + 2 ×
# column. The layout is printed `((4,2),2):((4,1),2)`: the threads are `(4,2):(4,1)`, the values
# `2:2`. Read the strides with that. Thread 1 lies 4 further than thread 0, two columns to the
# right; thread 4 lies 1 further, one row down; value 1 lies 2 further than value 0, one column to
# the right. So value 1 of thread 1 has index 4 + 2 = 6, which is row 0, column 3.

# %%
for thread in range(8):
    row, column = thread // 4, (thread % 4) * 2
    print(f"thread {thread}:", [(row, column + value) for value in range(2)])

# %%
thr_layout = fk.Layout((2, 4), (4, 1))
val_layout = fk.Layout((1, 2), (2, 1))
tiler_mn, layout_tv = make_layout_tv(thr_layout, val_layout)
print(tiler_mn, layout_tv)  # (2,8)  ((4,2),2):((4,1),2)
viz.display_tv_layout(layout_tv, tiler_mn, both=True)

# %% [markdown]
# **Predict:** which linear index does thread 6 have for its value 1, and which row and column is
# that?

# %%
said = fk.predict("thread 6, value 1", None)  # in the form (10, (0, 5)): index, (row, column)

# %% jupyter={"outputs_hidden": true}
index = layout_tv((6, 1))
said.against((index, (index % 2, index // 2)))

# %% [markdown]
# ## 6. A kernel that does what the layout says
#
# Three steps take a thread to its elements, whatever the layouts are:
#
# 1. slice the tile of this block out of the divided tensor,
# 2. **composition**, `cute.composition`: put the TV layout in front, so that the coordinate is
#    `(thread, value)`,
# 3. slice the values of this thread out of that.
#
# Click through the steps for a matrix of 4 × 16, point at elements, and click one to choose its
# tile and its thread. (The steps call the matrix A, as NVIDIA's notebooks do.) Then see the same
# three steps in the kernel, which calls it X: `gX` is X in global memory, cut into tiles, `bX` the
# tile of the *b*lock, and `tXgX` the part of it that the *t*hread copies.

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
    """The host function of a copy whose threads and values lie as two layouts say."""

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
# Four blocks of eight threads; a cell says `block,thread`. Block 1 has the tile *below* block 0,
# not the one beside it: `bidx` is a linear index into the mode of tiles, and the leftmost mode is
# the fastest.
#
# Is that what the layout promised? Take a matrix of just one tile. The picture of what the threads
# *did* should be the left picture of section 5, and the code compares the two element by element:

# %%
x, y = fk.randn(2, 8), fk.empty(2, 8)
seen = fk.footprint(run_copy, x, y, tensor="mX")
did = seen.touched["mX"]["thread"]  # row, column -> thread
same = 0
for thread in range(8):
    for value in range(2):
        index = layout_tv((thread, value))
        same += did[index % 2, index // 2] == thread
print(f"{same} of {x.numel()} elements were read by the thread that the layout names")
seen

# %% [markdown]
# ## 7. Four values a thread: 128 bits at once
#
# Two values, 8 bytes a thread, are few. A thread can load 16 bytes, four `float32`, with *one*
# instruction, if they lie side by side and start at a multiple of 16 bytes. So each thread of a
# warp now takes four values in a row.
#
# **Predict**: how many load instructions does the compiler make of four neighbours?
# Two numbers, for one function compiled in two ways: for the tensors as they are, and with a
# promise that the number of columns is a multiple of four.

# %%
warp_threads = fk.Layout((8, 4), (4, 1))
four_values = fk.Layout((1, 4), (4, 1))
warp_tile, warp_tv = make_layout_tv(warp_threads, four_values)
print(warp_tile, warp_tv)  # (8,16)  ((4,8),4):((32,1),8)
viz.display_tv_layout(warp_tv, warp_tile)

# %%
said = fk.predict("load instructions", None)  # in the form (2, 2)


# %% jupyter={"outputs_hidden": true}
def loads(run):
    return [line.split()[0] for line in run.ptx.splitlines() if "ld.global" in line]


x, y = fk.randn(32, 64), fk.empty(32, 64)
as_it_is = fk.compile(make_copy(warp_threads, four_values), x, y)
promised = [fk.spec(tensor, divisible={1: 4}) for tensor in (x, y)]
with_promise = fk.compile(make_copy(warp_threads, four_values), *promised)
said.against((len(loads(as_it_is)), len(loads(with_promise))))
print("as it is:    ", loads(as_it_is))
print("with promise:", loads(with_promise))

# %% [markdown]
# The picture is the same both times. But the kernel is compiled for matrices of any width, and in
# one of 65 columns the second row starts in the middle of a 16-byte piece. The compiler may not
# take that risk, and loads one by one. With the promise it makes one `v4` load of 128 bits, and a
# matrix of 65 columns is refused when you pass it. (`fk.spec` says what holds for a tensor. CuTe
# itself writes it into the type, as `?{i64 div=4}`: unknown, but a multiple of 4.)
#
# ## 8. The same result at twice the price
#
# Take a **block** of four warps, 128 threads, on a tile of 32 × 16, and lay it over a row-major
# matrix in two ways: **across**, as before, threads numbered along the rows and values side by
# side; and **down**, as would suit a column-major matrix, threads numbered down the columns and
# values below one another. Both copy every element exactly once.
#
# What a warp's load costs is, first of all, how many sectors it touches.
#
# **Predict:** how many times as many sectors does *down* load? The cell after that shows both ways
# on the first two tiles, with colours for warps.

# %%
said = fk.predict("times as many sectors", None)

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
    fk.check(y, x)
    costs[name] = fk.profile(runs[name], x, y)
said.against(costs["down"].global_load_sectors / costs["across"].global_load_sectors)
for name, cost in costs.items():
    requests, sectors = cost.global_load_requests, cost.global_load_sectors
    print(f"{name:>6}: {requests} loads of a warp, {sectors} sectors of 32 bytes")

# %%
x_part = x[:, :32].contiguous()
for run in runs.values():
    display(fk.footprint(run, x_part, fk.empty(32, 32), tensor="mX", by="warp"))

# %% [markdown]
# A check cannot see the difference: any TV layout that meets each element once gives the right
# result. The pictures can. Across, a warp covers 8 rows of 64 bytes, two whole sectors in each.
# Down, it has a strip of 4 columns, 16 bytes wide: half of each sector that it asks for is another
# warp's, which asks for it again. And four values below one another cannot be one load, so there
# are four times as many.
#
# ## 9. A first look at swizzle
#
# The tile that `01_why_slow_why_wrong` transposed in shared memory took 32 wavefronts with rows 32
# words apart, and one with 33. Here is that tile: each cell shows the offset and its bank,
# `offset % 32`, which is the colour as well.
#
# That was **padding**: a place is left free after each row. A **swizzle** takes no extra space: it
# exchanges elements within their row, by an XOR of the column with the row, here
# `offset ^ (offset >> 5)`. Move the sliders. The second cell shows corners of the two tiles, as
# offsets and banks. (Below them stands `ldmatrix`. That is an instruction of later weeks, which
# feeds tensor cores; here a hue is just 4 banks in a row.)

# %%
fk.explore(fk.Layout((32, 32), (32, 1)), memory="smem")

# %%
row_major_tile = fk.Layout((32, 32), (32, 1))
padded_tile = fk.Layout((32, 32), (33, 1))
swizzled_tile = ComposedLayout(Swizzle(5, 0, 5), 0, row_major_tile)  # S<5,0,5> o 0 o (32,32):(32,1)

for tile in (row_major_tile, padded_tile, swizzled_tile):
    banks = [tile((i, 0)) % 32 for i in range(32)]
    # cosize: the largest offset plus 1, the places that a tensor of this layout needs
    print(f"column 0 in {len(set(banks)):>2} banks, {tile.cosize()} places: {tile}")
assert all(swizzled_tile((i, j)) == 32 * i + (j ^ i) for i in range(32) for j in range(32))

viz.display_swizzle_layout(fk.Layout((8, 16), (33, 1)))
viz.display_swizzle_layout(ComposedLayout(Swizzle(5, 0, 5), 0, fk.Layout((8, 16), (32, 1))))

# %% [markdown]
# Now for real: one block of 32 × 32 threads transposes one tile. Each of its 32 warps writes a row
# of the shared tile `sX`, waits for the others (`sync_threads`), and reads a column. The kernel's
# code does not know which layout `sX` has.
#
# (`cutlass.const_expr` marks an `if` that is decided while the kernel is compiled.)
#
# **Predict:** how many wavefronts do the 32 reads take together, row-major, padded, swizzled?

# %%
said = fk.predict("wavefronts, three layouts", None)  # in the form [100, 100, 100]


# %% jupyter={"outputs_hidden": true}
@cute.kernel
def transpose_kernel(mX: cute.Tensor, mY: cute.Tensor, layout_s: cute.Layout | cute.ComposedLayout):
    tx, ty, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(cutlass.Float32, layout_s, byte_alignment=128)
    sX[ty, tx] = mX[ty, tx]
    cute.arch.sync_threads()
    mY[ty, tx] = sX[tx, ty]


def make_transpose(row_stride, swizzle=None):
    @cute.jit
    def transpose(mX: cute.Tensor, mY: cute.Tensor):
        layout_s = cute.make_layout((32, 32), stride=(row_stride, 1))
        if cutlass.const_expr(swizzle is not None):
            layout_s = cute.make_composed_layout(cute.make_swizzle(*swizzle), 0, layout_s)
        transpose_kernel(mX, mY, layout_s).launch(grid=(1, 1, 1), block=(32, 32, 1))

    return transpose


x, transposes, wavefronts = fk.randn(32, 32), [], []
for arguments in [(32,), (33,), (32, (5, 0, 5))]:
    y = fk.empty(32, 32)
    transposes.append(fk.compile(make_transpose(*arguments), x, y))
    transposes[-1](x, y)
    fk.check(y, x.T)
    wavefronts.append(fk.profile(transposes[-1], x, y).shared_load_wavefronts)
said.against(wavefronts)
fk.banks(transposes[0], x, y, kind="load")

# %% [markdown]
# The picture is the first warp's read in the row-major tile: all lanes stand in line at one bank.
# One number in a layout, or one XOR, and the reads take a 32nd of the turns; the kernel has not
# changed by a letter. What the three numbers of a swizzle mean, and why it often beats padding,
# comes later.
#
# ## 10. From the picture to the layout
#
# Now the other way round: two pictures, and the layouts are to be found.

# %%
for name, offsets in fk.exercise("week0/which_layout").given.items():
    viz.display_offsets(offsets, title=f"Puzzle {name}")


# %% [markdown] exercise="week0/which_layout" part="task"
# ### Exercise 3: which layout is it?
#
# You see the pictures; write each layout as `(shape, stride)`. Every layout that is the same
# *function* counts as right.
#
# <details><summary>Hint 1</summary>
#
# Follow the first row, then the first column. If all steps are equal, the mode is a single number,
# with that step as its stride.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# If the steps differ, count the cells up to the first odd step: that is the size of the first part.
# Its stride is the step before, and the second part's stride is the distance from group to group.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In A all steps are equal, but the rows do not follow one another: where does row 1 begin? In B
# neither mode has equal steps, so each is a pair: its first size is the length of the run before
# the jump, down column 0 as along row 0.
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
# **A** is row-major, with two places left over after each row: six columns of a matrix that has
# eight, or a padded tile.
#
# **B**: row 0 has the steps 1, 1, 1, 5: four cells, then the next group, which begins at 8. So the
# columns are `(4,2):(1,8)`. Column 0 is 0, 4, 16, 20, so the rows are `(2,2):(4,16)`. They are
# tiles of 2 × 4, each in one piece, one tile after the other along the rows. In section 4 the
# *matrix* was row-major and the tiles were cut out of it.
#
# </details>

# %% [markdown]
# And your predictions, all of them:

# %% jupyter={"outputs_hidden": true}
fk.predictions()

# %% [markdown]
# ## Summary
#
# | layout | from → to | as printed | made by |
# |---|---|---|---|
# | row-major matrix | (row, column) → offset | `(4,6):(6,1)` | `make_layout` with a stride |
# | column-major matrix | (row, column) → offset | `(4,6):(1,4)` | `make_layout` |
# | squares of 2 × 2 | (row, column) → offset | `((2,2),(2,2)):((2,8),(1,4))` | nested modes |
# | tiles of 2 × 4 | ((tile),(rest)) → offset | `((2,4),(3,2)):((8,1),(16,4))` | `zipped_divide` |
# | TV layout of a warp | (thread, value) → index | `((4,8),4):((32,1),8)` | `make_layout_tv` |
# | swizzled tile | (row, column) → offset | `S<5,0,5> o 0 o (32,32):(32,1)` | `make_swizzle` |
#
# | kernels with the same result | | good | bad |
# |---|---|---|---|
# | four values a thread, with or without a promise | load instructions | 1 | 4 |
# | threads across or down a row-major 32 × 64 | sectors loaded | 256 | 512 |
# | shared tile padded or swizzled, or neither | wavefronts to read it | 32 | 1,024 |
#
# **In practice** kernels seldom compose TV layouts by hand: a *tiled copy* holds the TV layout and
# the width of a load in one object, and the swizzle is the one that tensor cores and bulk copies
# expect. Where the matrix is no multiple of the tile, each value needs a predicate; here all sizes
# fit.
#
# **Try your own:** the fields above take any layout, tiler or swizzle you type, and so does a page
# of the book (`book/playground.md`).
#
# **Further reading:** NVIDIA on
# [layouts](https://docs.nvidia.com/cutlass/media/docs/cpp/cute/01_layout.html) and on [layout
# algebra](https://docs.nvidia.com/cutlass/media/docs/cpp/cute/02_layout_algebra.html), in C++ but
# with the same words · [the algebra with
# proofs](https://leimao.github.io/article/CuTe-Layout-Algebra/)
#
# **Next:** a copy as fast as the memory allows, step by step
# ([`04_copy_fast`](04_copy_fast.ipynb)).
