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
# # Compile once, call often
#
# **You will build** a cache of compiled kernels. It goes wrong in two ways, and you fix both.
# **You will learn** what the first call of a kernel spends its time on, what a compiled kernel
# remembers of the tensors it was compiled for, and how to choose what it remembers.
# **You need** `03_see_layouts` (strides, tiles) and `04_copy_fast` (vectors, promises). About 30
# minutes, and 40 more for the exercises, the first of them a whole kernel.
#
# So far `fk.compile` did all of this behind the curtain. Here we do it by hand, in plain CuTe DSL,
# as production code does. `fk.compile` finds the virtual GPU by itself; plain CuTe DSL does not.
# Without a GPU, `vgpu.install()` in the next cell sends it there, for the whole notebook.

# %%
import contextlib
import io
import math
import time

import cutlass
import cutlass.cute as cute
import torch
from cuda.bindings.driver import CUstream
from cutlass import Float32
from cutlass.cute.runtime import from_dlpack, make_fake_stream, make_fake_tensor, make_ptr

import forgekit as fk
import forgekit.vgpu
from forgekit.benching.recorded import recorded

if fk.target.kind == "virtual":
    forgekit.vgpu.install()

# %% [markdown]
# ## 1. The first call
#
# One operator will do for this notebook: multiply a matrix by a number. One thread computes one
# element; a block takes 128 columns of one row.
#
# The host function has a Python `print` in it. You know from `00_start_here` when that runs: while
# the compiler reads the function. So we will see each compilation.

# %%
FACTOR = 2.0


@cute.kernel
def scale_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    row, col = bidx, bidy * 128 + tidx
    if col < mX.shape[1]:
        mY[row, col] = (FACTOR * mX[row, col]).to(mY.element_type)


@cute.jit
def scale(mX: cute.Tensor, mY: cute.Tensor):
    print("    compiling for", mX.layout)
    grid = (mX.shape[0], cute.ceil_div(mX.shape[1], 128), 1)
    scale_kernel(mX, mY).launch(grid=grid, block=(128, 1, 1))


# %% [markdown]
# `cute.compile` is CuTe DSL's own compiler. Where a parameter is annotated `cute.Tensor`, it wants
# a tensor of CuTe's; `from_dlpack(x)` wraps a torch tensor in one, without copying it.
# ([DLPack](https://dmlc.github.io/dlpack/latest/) is a protocol by which libraries hand each other
# arrays.) A `@cute.jit` function can also be called directly, without compiling it first.
#
# **Predict:** the next cell compiles twice, calls what was compiled three times, and calls `scale`
# directly once. How many times will `compiling for` be printed? Write your number in place of
# `None`, run both cells, and look.

# %%
times_compiled = fk.predict("times it is compiled", None)


# %% jupyter={"outputs_hidden": true}
def timed(what, action):
    began = time.perf_counter()
    result = action()
    print(f"{what:>22}: {(time.perf_counter() - began) * 1e3:.1f} ms")
    return result


x, y = fk.randn(4, 8), fk.empty(4, 8)
printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    run = timed("first cute.compile", lambda: cute.compile(scale, from_dlpack(x), from_dlpack(y)))
    run = timed("the same again", lambda: cute.compile(scale, from_dlpack(x), from_dlpack(y)))
    for number in (1, 2, 3):
        timed(f"call {number}", lambda: run(from_dlpack(x), from_dlpack(y)))
    timed("scale(…), directly", lambda: scale(from_dlpack(x), from_dlpack(y)))
print(printed.getvalue())
times_compiled.against(printed.getvalue().count("compiling for"))
fk.check(y, FACTOR * x)

# %% [markdown]
# `cute.compile` remembers nothing: it compiles each time. The direct call reads the function again,
# too. What happens in that time:
#
# 1. Python runs your function once, with stand-ins for the values. This is called **tracing**.
# 2. What was traced becomes PTX, then machine code.
# 3. At the first call on a GPU, the machine code is loaded onto it, so that call is slow as well.
#
# On a machine with an H200, kernels as small as this one took 115 to 260 ms to compile (measured on
# 2026-11-21). Calling a ready one, from a library of such kernels, took 10 µs of the host's time
# (November 2026): shorter by a factor of 10,000 or more. So compile once, keep what you got, and
# call that.
#
# (On the virtual GPU a call *runs* the kernel in Python, and the first one reads the PTX: its
# milliseconds say nothing about a GPU.)

# %% [markdown]
# ## 2. A dict is a cache
#
# Where to keep it? In a dict: look for the kernel, compile it if it is not there, call it. The
# **key** says which tensors may share a kernel. Here is a first try: the element type and the
# number of dimensions.

# %%
cache = {}


def scaled(x):
    y = torch.full_like(x, float("nan"))
    key = (x.dtype, x.dim())
    if key not in cache:
        cache[key] = cute.compile(scale, from_dlpack(x), from_dlpack(y))
    cache[key](from_dlpack(x), from_dlpack(y))
    return y


for seed in range(3):
    x = fk.randn(4, 8, seed=seed)
    fk.check(scaled(x), FACTOR * x)
print(f"3 calls, {len(cache)} kernel")

# %% [markdown]
# One compilation, three right results. Now somebody comes along with another matrix, of 4 × 3. The
# next cell uses the virtual GPU, even if you have a GPU: a GPU would not stop. (The error is
# intended. `with vgpu.installed():` does for a few lines what `install()` does for all that
# follow.)
#
# **Predict:** which fact about the tensor is missing in the key, as a word?

# %%
missing = fk.predict("missing in the key", None)  # such as "device"

# %% jupyter={"outputs_hidden": true} tags=["raises-exception"]
missing.against("shape")
cache.clear()
with forgekit.vgpu.installed():
    scaled(fk.randn(4, 8, device="virtual"))
    scaled(fk.randn(4, 3, device="virtual"))

# %% [markdown]
# The kernel was compiled for 4 × 8, and 4 × 8 it is, whatever you pass. `from_dlpack(x)` makes a
# **static** layout: the sizes are part of the type, and become numbers in the code. CuTe DSL does
# not, of itself, compare them with what comes at a call. The virtual GPU does, and refuses.
#
# What would happen on a GPU? The kernel touches places 0 to 31 of memory. The second matrix has
# places 0 to 11, and what comes after them belongs to somebody else.
#
# Let us look, in a strip where it can do no harm. It holds 40 numbers; the first 12 are our matrix,
# the others are the neighbour's. `frozen` is what the compiler made of `scale`: it takes bare
# addresses (pointers), and the layout is written into it. The virtual GPU cannot object here: a
# pointer has no shape.
#
# **Predict:** will `y`, our 4 × 3, be right? And how many of the neighbour's 28 numbers will
# change?

# %%
y_right = fk.predict("our matrix is right", None)  # True or False
changed = fk.predict("numbers of the neighbour that change", None)


# %% jupyter={"outputs_hidden": true}
@cute.jit
def frozen(pX: cute.Pointer, pY: cute.Pointer):
    layout = cute.make_layout((4, 8), stride=(8, 1))
    mX, mY = cute.make_tensor(pX, layout), cute.make_tensor(pY, layout)
    scale_kernel(mX, mY).launch(grid=(4, 1, 1), block=(128, 1, 1))


def pointer(t):
    # gmem: global memory, where all tensors are; the compiler may assume a multiple of 16 bytes.
    return make_ptr(Float32, t.data_ptr(), cutlass.AddressSpace.gmem, assumed_align=16)


strip_x, strip_y = fk.full((40,), 7.0), fk.full((40,), -1.0)
x, y = strip_x[:12].view(4, 3), strip_y[:12].view(4, 3)
x.copy_(fk.randn(4, 3))
run_frozen = cute.compile(frozen, pointer(x), pointer(y))
run_frozen(pointer(x), pointer(y))
neighbour = strip_y[12:]
changed.against(int((neighbour != -1).sum()))
y_right.against(bool(fk.check(y, FACTOR * x)))
print(neighbour)

# %% [markdown]
# > **Looks right and is wrong.** The check passes: all twelve elements are right, although in the
# > kernel's eyes they were elements of other rows. And twenty numbers of somebody else are gone. On
# > a GPU that is the *lucky* case. If the memory behind `y` is nobody's, the driver ends your
# > program with an "illegal memory access". The other way round, compiled for the small and called
# > with the large one, most of `y` is never written.
#
# ## 3. A key that forgets
#
# What is compiled in has to be in the key. Shape and stride, then:

# %%
cache = {}


def scaled(x):
    y = torch.full_like(x, float("nan"))
    key = (x.dtype, x.shape, x.stride())
    if key not in cache:
        cache[key] = cute.compile(scale, from_dlpack(x), from_dlpack(y))
    cache[key](from_dlpack(x), from_dlpack(y))
    return y


for shape in ((4, 8), (4, 3), (33, 130)):
    x = fk.randn(*shape)
    fk.check(scaled(x), FACTOR * x)

# %% [markdown]
# Right, though each shape costs a compilation. Now you change your mind and want to multiply by 3.
#
# **Predict:** what is the first element of the result divided by that of `x`?

# %%
ratio = fk.predict("result / x", None)

# %% jupyter={"outputs_hidden": true}
FACTOR = 3.0
x = fk.randn(4, 8)
y = scaled(x)
ratio.against(round(float(y[0, 0] / x[0, 0]), 3))
fk.check(y, FACTOR * x)

# %% [markdown]
# No error, and all wrong: each element is 2/3 of what it should be. `FACTOR` is a global variable
# that the kernel read *while it was traced*. Its value is a number in the code, as the sizes are,
# and the key says nothing of it. The same happens if you edit `scale_kernel` and run its cell
# again: the old kernel stays in the dict.
#
# So a key has two halves: what is compiled in of the **tensors**, and what is compiled in of the
# **program**, which is the source of every function that is reached and every value that it
# captures. The name of the function is not enough, since a new one may have the same name. Its
# `id` is not either: when an object is gone, another one may get its `id`.
#
# ## 4. Leave the sizes open
#
# A compilation for every shape is a high price where shapes change all the time. The opposite:
# compile in as little as possible. `mark_layout_dynamic` makes sizes and strides **dynamic**: the
# host code takes them from the tensor at each call and passes them to the kernel as arguments. One
# stride stays static, the 1, for that is what makes neighbouring threads touch neighbouring
# addresses.

# %%
FACTOR = 2.0  # back again, for the rest of the notebook


def dynamic(t):
    return from_dlpack(t).mark_layout_dynamic(leading_dim=1)


x, y = fk.randn(4, 8), fk.empty(4, 8)
run_dynamic = cute.compile(scale, dynamic(x), dynamic(y))
for shape in ((4, 8), (4, 3), (1, 1), (33, 130), (64, 1)):
    x, y = fk.randn(*shape), fk.empty(*shape)
    run_dynamic(dynamic(x), dynamic(y))
    fk.check(y, FACTOR * x)

# %% [markdown]
# One compilation for five shapes. In the layout, a `?` is what comes with the call; `i64` says that
# this one is a 64-bit number.
#
# `leading_dim=1` names the mode with stride 1. Without it, CuTe DSL works it out from the tensor.
# **Predict:** in a matrix of 64 × 1, which mode will it take?

# %%
leading = fk.predict("leading mode of 64 × 1", None)  # 0 or 1


# %% jupyter={"outputs_hidden": true}
def layout_of(tensor):
    return str(tensor).partition(" o ")[2].rstrip(">")


for shape in ((64, 8), (64, 1)):
    found = layout_of(from_dlpack(fk.randn(*shape)).mark_layout_dynamic())
    print(shape, "->", found)
leading.against(0 if ":(1," in found else 1)

# %% [markdown]
# A matrix with one column has the strides `(1, 1)`. CuTe DSL takes the first mode, and you have
# compiled for a column-major matrix (column-major: the elements of a *column* lie side by side). If
# you know the memory order, say it.
#
# What is the difference in the code? `fk.compile` can do both, and shows the PTX. Its arguments
# may be tensors (then all is dynamic but the stride of 1), or **specs**: `fk.spec(x, static=True)`
# describes tensors whose layout is compiled in.


# %%
def passed_as(compiled):
    """Bytes that the kernel gets for a tensor."""
    line = next(line for line in compiled.ptx.splitlines() if ".param .align" in line)
    return int(line.split("[")[-1].strip("],"))


x, y = fk.randn(64, 1024), fk.empty(64, 1024)
warps = x.numel() / 32
for static in (True, False):
    compiled = fk.compile(scale, fk.spec(x, static=static), fk.spec(y, static=static))
    predicate = next(line for line in compiled.ptx.splitlines() if "setp" in line)
    instructions = fk.profile(compiled, x, y)["warp_instructions"] / warps
    print("static:" if static else "dynamic:", " ".join(predicate.split()))
    print(f"    {passed_as(compiled)} bytes a tensor, {instructions:.0f} instructions a warp")

# %% [markdown]
# The predicate `col < mX.shape[1]` is the `setp`. The static kernel compares with a number: is the
# column greater than 1023? The dynamic one compares with `%r3`, which it loaded from its arguments.
# A static tensor is passed as its address, 8 bytes. A dynamic one is an address, two sizes of 4
# bytes and one stride of 8.
#
# So the open sizes cost this kernel a few instructions. That is little for a kernel that spends its
# time waiting for memory, and dynamic is a good default. There is one thing that it costs dearly.

# %% [markdown]
# ## 5. What the compiler must know: loads of 128 bits
#
# Now by vectors of 16 bytes, as in `04_copy_fast`. New is `cute.local_tile`, which cuts a tensor
# into tiles and picks one: for one tile it is shorter than `zipped_divide`. `width` divides the
# number of columns, so that each vector ends within its row.


# %%
@cute.kernel
def vector_kernel(mX: cute.Tensor, mY: cute.Tensor, width: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    row, vector = bidx, bidy * 128 + tidx
    if vector * width < mX.shape[1]:
        gX = cute.local_tile(mX, (1, width), (row, vector))  # (1,Width)
        gY = cute.local_tile(mY, (1, width), (row, vector))  # (1,Width)
        gY.store((FACTOR * gX.load()).to(mY.element_type))


@cute.jit
def scale_by_vectors(mX: cute.Tensor, mY: cute.Tensor):
    width = 128 // mX.element_type.width  # elements in 128 bits: 4 of float32
    grid = (mX.shape[0], cute.ceil_div(mX.shape[1], 128 * width), 1)
    vector_kernel(mX, mY, width).launch(grid=grid, block=(128, 1, 1))


# %% [markdown]
# Compile it for four descriptions of one and the same tensor, 64 × 512. `static=[1]` fixes the
# columns and leaves the rows open. `align` is what the address of the first element is a multiple
# of, in bytes; without it, `fk.spec` looks at the address.
#
# **Predict:** how many load instructions does a thread have in each of the four? Write a list,
# such as `[4, 4, 4, 4]`.

# %%
of_four = fk.predict("loads a thread, in each of the four", None)


# %% jupyter={"outputs_hidden": true}
def loads(compiled):
    return [line.split()[0] for line in compiled.ptx.splitlines() if "ld.global" in line]


x, y = fk.randn(64, 512), fk.empty(64, 512)
descriptions = {
    "all open": {},
    "N divisible by 4": {"divisible": {1: 4}},
    "… but align=4": {"divisible": {1: 4}, "align": 4},
    "N static": {"static": [1]},
}
counts = []
for name, facts in descriptions.items():
    compiled = fk.compile(scale_by_vectors, fk.spec(x, **facts), fk.spec(y, **facts))
    found, passed = loads(compiled), passed_as(compiled)
    counts.append(len(found))
    print(f"{name:>17}: {len(found)} × {found[0]:18} {passed} bytes a tensor")
of_four.against(counts)

# %% [markdown]
# With all open, the matrix might have 5 columns, and then row 1 starts 20 bytes after row 0: not at
# a multiple of 16. The compiler may not take that risk. It needs **three** promises: that the
# number of columns is a multiple of 4, that the rows lie a multiple of 4 elements apart, and that
# the first element is aligned. `divisible={1: 4}` makes the first two, for in a matrix without gaps
# one follows from the other. In 512 columns cut from 513 it does not, and there `fk.spec` refuses:

# %%
cut = fk.randn(64, 513)[:, :512]
try:
    fk.spec(cut, divisible={1: 4})
except fk.UsageError as finding:
    print(finding)

# %% [markdown]
# A static N of 512 is the first promise in another form, and a stronger one: the compiler knows all
# about 512. What you promised is checked again at each call: 1, 5 and 33 rows are fine, 66 columns
# are not.

# %%
run_vectors = fk.compile(scale_by_vectors, *[fk.spec(t, divisible={1: 4}) for t in (x, y)])
for rows in (1, 5, 33):
    x, y = fk.randn(rows, 512), fk.empty(rows, 512)
    run_vectors(x, y)
    fk.check(y, FACTOR * x)
try:
    run_vectors(fk.randn(5, 66), fk.empty(5, 66))
except fk.ArgumentMismatchError as finding:
    print(finding)


# %% [markdown] exercise="week0/scale_columns" part="task"
# ### Exercise 1: a factor for each column
#
# `y[i, j] = x[i, j] * w[j]`: each column has a factor of its own. In float32 and float16, from one
# source: the number of elements in a vector is a `Constexpr`. The number of columns is a multiple
# of 8, and that is promised; the number of rows is anything. Called as `scale_columns(x, w, y)`.
#
# **Asked**: 16 bytes per load, 16 bytes per store.
#
# <details><summary>Hint 1</summary>
#
# `scale_by_vectors` has the shape of it: a block for 128 vectors of one row. What is new is a
# second thing to load, which has one mode only.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Values of two tiles can be multiplied if the tiles have the same shape. A row of a matrix,
# `mX[row, None]`, has one mode, as `w` has: cut both by the same tiler.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Host: the width is `128 // mX.element_type.width`, the grid has rows in one direction and vectors
# of a row, 128 a block, in the other. Kernel: one predicate, and one line that loads twice,
# multiplies and stores.
#
# </details>


# %% exercise="week0/scale_columns" part="skeleton"
@cute.kernel
def scale_columns_kernel(
    mX: cute.Tensor, mW: cute.Tensor, mY: cute.Tensor, width: cutlass.Constexpr
):
    # FILL ME IN (roughly 8 lines)
    pass


@cute.jit
def scale_columns(mX: cute.Tensor, mW: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 3 lines)
    pass


# %% exercise="week0/scale_columns" part="grade"
fk.exercise("week0/scale_columns").grade(scale_columns)

# %% [markdown] exercise="week0/scale_columns" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# @cute.kernel
# def scale_columns_kernel(
#     mX: cute.Tensor, mW: cute.Tensor, mY: cute.Tensor, width: cutlass.Constexpr
# ):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, row, _ = cute.arch.block_idx()
#     k = bidx * 128 + tidx
#     if k * width < mX.shape[1]:
#         gX = cute.local_tile(mX[row, None], (width,), (k,))  # (Width)
#         gW = cute.local_tile(mW, (width,), (k,))  # (Width)
#         gY = cute.local_tile(mY[row, None], (width,), (k,))  # (Width)
#         gY.store(gX.load() * gW.load())
#
#
# @cute.jit
# def scale_columns(mX: cute.Tensor, mW: cute.Tensor, mY: cute.Tensor):
#     width = 128 // mX.element_type.width
#     grid = (cute.ceil_div(mX.shape[1], 128 * width), mX.shape[0], 1)
#     scale_columns_kernel(mX, mW, mY, width).launch(grid=grid, block=(128, 1, 1))
# ```
#
# The vector's width is no value of the run: it decides which instructions there are. So it is a
# `Constexpr`, and each type gets a kernel of its own from the same lines. `w` is loaded again for
# each row, but it is small, and a cache has it.
#
# </details>

# %% [markdown] exercise="week0/promise" part="task"
# ### Exercise 2: promise enough for 128 bits
#
# Write `promise(x)`: the spec with which `scale_by_vectors` moves each vector in one load of 128
# bits, for `float32` *and* for `float16`. One kernel has to serve any number of rows, odd ones too,
# and every number of columns that allows such loads: promise enough, and no more.
#
# <details><summary>Hint 1</summary>
#
# `divisible={mode: number}`. Along which mode does a vector lie?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# How many elements are 16 bytes? `x.element_size()` is the size of one, in bytes.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# One argument of `fk.spec` is enough: the number of elements in 16 bytes, promised of the mode in
# which a vector's elements follow one another.
#
# </details>


# %% exercise="week0/promise" part="skeleton"
def promise(x):
    # FILL ME IN (roughly 1 line)
    return fk.spec(x)


# %% exercise="week0/promise" part="grade"
fk.exercise("week0/promise").grade(promise)

# %% [markdown] exercise="week0/promise" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# def promise(x):
#     return fk.spec(x, divisible={1: 16 // x.element_size()}, align=16)
# ```
#
# The promise about mode 1 does two things. Within a row, each vector is whole; and since the rows
# of a contiguous matrix are N elements apart, every row starts at a multiple of 16 bytes if the
# first does. The first does because `fk.spec` looks at the address of `x`; `align=16` says it
# aloud. Nothing is promised about M: rows are never cut.
#
# </details>

# %% [markdown]
# ## 6. The middle path in plain CuTe DSL
#
# Skim this section, if you like, and come back to it when you write your own library.
#
# N static and M dynamic, *one kernel for each N*, is what production kernels often do: in a neural
# network, M is the batch and changes with every call, while N belongs to the model and has a few
# values. In plain CuTe DSL you describe such a tensor without having one. `cute.sym_int()` is a
# size that is not known yet; using the same one for x and y says that the two are equal.
# `make_fake_tensor` puts element type, sizes, strides and **alignment** together: all the compiler
# wants to know of a tensor, and no memory behind it.
#
# `--enable-tvm-ffi` lets compiled functions take torch tensors as they are.
# ([TVM-FFI](https://tvm.apache.org/ffi/) is a small library for calling compiled code from Python.)
# What it adds is worth having: on a GPU, arguments are compared with what was compiled for, in C++,
# at little cost. A wrong one is an error instead of somebody else's memory. (On the virtual GPU
# it is forgekit that compares.)
#
# With a tensor at hand, `mark_compact_shape_dynamic` opens one mode and leaves the other static.
# Its arguments are the mode to open, 0, and the modes in the order of memory, the slowest first:
# `(0, 1)` is row-major.

# %%
M, N = cute.sym_int(), 512
description = make_fake_tensor(Float32, (M, N), stride=(N, 1), assumed_align=16)
options = "--enable-tvm-ffi"
run_n512 = cute.compile(scale_by_vectors, description, description, options=options)
for rows in (1, 5, 33):
    x, y = fk.randn(rows, N), fk.empty(rows, N)
    run_n512(x, y)
    fk.check(y, FACTOR * x)
print("the same layout:", layout_of(from_dlpack(x).mark_compact_shape_dynamic(0, (0, 1))))

# %% [markdown]
# One more thing belongs to a call: the **stream**, the queue of a GPU in which work waits its turn.
# Work in one stream keeps its order; work in different streams may overlap. torch puts its own work
# into its *current stream*. A kernel started in another one may run before torch has filled `x`,
# and be right most of the time. So start kernels in torch's stream. With TVM-FFI, the host function
# declares a parameter for it, nobody passes it, and torch is asked at each call:


# %%
@cute.jit
def scale_on_stream(mX: cute.Tensor, mY: cute.Tensor, stream: CUstream):
    grid = (mX.shape[0], cute.ceil_div(mX.shape[1], 128), 1)
    scale_kernel(mX, mY).launch(grid=grid, block=(128, 1, 1), stream=stream)


current = make_fake_stream(use_tvm_ffi_env_stream=True)
run_on_stream = cute.compile(scale_on_stream, description, description, current, options=options)
x, y = fk.randn(64, 512), fk.empty(64, 512)
run_on_stream(x, y)  # no stream here
fk.check(y, FACTOR * x)

# %% [markdown] exercise="week0/one_kernel_per_n" part="task"
# ### Exercise 3: one kernel for each N
#
# Complete `one_kernel_per_n(compile, fn)`. It returns a function of `(x, y)` that runs `fn` on
# them, with a kernel in which the number of columns N is compiled in, for both tensors, and the
# number of rows M is not. Call `compile` as you would `fk.compile`, once for each kernel, and keep
# what it returns in `kernels`. Mind what else is compiled in with N: the element type, the strides
# (of a matrix cut out of a wider one, say), the alignment; of *both* tensors.
#
# <details><summary>Hint 1</summary>
#
# `fk.spec(t, static=[1])` is what a kernel that knows the N of `t` is compiled for.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# First the key, from dtype, N, strides and alignment of x and of y. Not in `kernels`? Compile and
# keep it. Then call it.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The key has the same four facts of `x` and of `y`. Three are properties of a tensor; the fourth is
# the alignment, the largest number up to 16 that divides the address: Python's `math.gcd` finds it.
#
# </details>


# %% exercise="week0/one_kernel_per_n" part="skeleton"
def one_kernel_per_n(compile, fn):
    kernels = {}

    def run(x, y):
        # FILL ME IN (roughly 4 lines)
        kernels[0](x, y)

    return run


# %% exercise="week0/one_kernel_per_n" part="grade"
fk.exercise("week0/one_kernel_per_n").grade(one_kernel_per_n)

# %% [markdown] exercise="week0/one_kernel_per_n" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# def one_kernel_per_n(compile, fn):
#     kernels = {}
#
#     def run(x, y):
#         key = tuple((t.dtype, t.shape[1], t.stride(), math.gcd(t.data_ptr(), 16)) for t in (x, y))
#         if key not in kernels:
#             kernels[key] = compile(fn, fk.spec(x, static=[1]), fk.spec(y, static=[1]))
#         kernels[key](x, y)
#
#     return run
# ```
#
# With N static, the rows of a contiguous matrix are N elements apart: the stride is a number in the
# code, too. That is why a matrix cut out of a wider one needs a kernel of its own. The spec knows
# all of this, so `tuple(spec.key() for spec in specs)` is a good key as well, if you can spare the
# time to make specs at every call. `fk.compile` keeps what it compiled, too, but reads the source
# at each call to see whether it has changed; who keeps the kernel saves that.
#
# </details>

# %% [markdown]
# ## 7. What `fk.compile` does of all this
#
# - Tensors become specs: sizes open, the stride of 1 fixed, alignment read from the address.
# - It uses TVM-FFI on a GPU, and supplies torch's current stream if the function has a parameter
#   named `stream`. On the virtual GPU it checks the arguments itself.
# - It keeps kernels in memory and on disk. The key is a digest of the source of the function and of
#   all that it reaches, the values it captures, the specs, the architecture, the options and the
#   versions of CuTe DSL and forgekit. To make it the source is read at each call, which is right in
#   a notebook; in a loop, keep what `fk.compile` returned, and call that.
#
# The key of a kernel, and what you can ask it:

# %% tags=["nbval-ignore-output"]
run = fk.compile(scale, fk.randn(64, 96), fk.empty(64, 96))
print("key:     ", run.key)
print(f"compiled: in {run.compile_ms:.0f} ms; found now in: {run.origin}")
print("target:  ", run.target.arch)
for name, spec in run.specs.items():
    print(f"{name}:      {spec}")

# %% [markdown]
# `origin` says where it came from: `compiled`, `memory`, or `disk`, left there by an earlier
# notebook. Now call `fk.compile` for nine cases, and give every new key a letter.
#
# **Predict:** how many different kernels?

# %%
of_nine = fk.predict("kernels in nine cases", None)

# %% jupyter={"outputs_hidden": true}
letters = {}


def show(case, x, factor=2.0, **facts):
    global FACTOR
    FACTOR = factor
    compiled = fk.compile(scale, fk.spec(x, **facts), fk.spec(x, **facts))
    letter = letters.setdefault(compiled.key, "ABCDEFGHI"[len(letters)])
    FACTOR = 2.0
    print(f"{letter}  {case}")


wide = fk.randn(64, 128)
show("64 × 96", fk.randn(64, 96))
show("1000 × 8", fk.randn(1000, 8))
show("64 × 96, cut from 64 × 128", wide[:, :96])
show("the same, from column 1 on", wide[:, 1:97])
show("64 × 96, column-major", fk.randn(96, 64).T)
show("64 × 96, float16", fk.randn(64, 96, dtype=torch.float16))
show("64 × 96, N static", fk.randn(64, 96), static=[1])
show("64 × 96, FACTOR = 3", fk.randn(64, 96), factor=3.0)
show("64 × 96 again", fk.randn(64, 96))
of_nine.against(len(letters))
print("alignment from column 0 to 4 on:", [math.gcd(4 * column, 16) for column in range(5)])

# %% [markdown]
# Sizes and the distance of rows are open, so the first three share a kernel. From column 1 on, the
# first element lies 4 bytes after a multiple of 16. The promise of alignment has steps: 16 bytes,
# 8, 4, down to the size of an element. Here only 4 bytes can be promised; from column 2 on it would
# be 8, a kernel of its own again. Then another memory order, another element type, a fixed N,
# another program: a kernel each.

# %% [markdown] exercise="week0/cache_key" part="task"
# ### Exercise 4: write the key
#
# Write `cache_key(x)`: a value that can be a key of a dict, for kernels compiled as `fk.compile`
# does it. Sizes are passed at each call, and so is every stride that is not 1. Compiled in are: the
# element type, the number of dimensions, which modes (if any) have stride 1, the kind of device,
# and the alignment: what the address of the first element is promised to be a multiple of, 16
# bytes, or else 8, or 4, or 2. Two tensors share a key if and only if these agree.
#
# <details><summary>Hint 1</summary>
#
# Everything is a property of `x`: `dtype`, `device`, `stride()`, and the address `data_ptr()`.
# `shape` is not needed.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# For the memory order, turn `x.stride()` into a tuple of true and false. Its length is the number
# of dimensions. For the alignment: is the address a multiple of 16? Of 8? Of 4?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Python's `math.gcd(a, b)` is the largest number that divides both: of which two numbers is it the
# alignment? What is left is a `return` of four facts, one of them a tuple.
#
# </details>


# %% exercise="week0/cache_key" part="skeleton"
def cache_key(x):
    # FILL ME IN (roughly 3 lines)
    return ()


# %% exercise="week0/cache_key" part="grade"
fk.exercise("week0/cache_key").grade(cache_key)

# %% [markdown] exercise="week0/cache_key" part="solution"
# <details><summary>Solution of exercise 4</summary>
#
# ```python
# def cache_key(x):
#     order = tuple(step == 1 for step in x.stride())
#     align = math.gcd(x.data_ptr(), 16)
#     return x.dtype, x.device.type, order, align
# ```
#
# The key holds what is compiled in, nothing less and nothing more. Less, and a stale kernel runs:
# wrong numbers, or an access out of bounds. More, and the cache misses: with `x.shape` in it, each
# new size costs a compilation. With `x.data_ptr() % 16`, float32 has four kernels where three will
# do: 4 and 12 bytes beyond a multiple of 16 are both a multiple of 4, and no more. A matrix with
# one column has stride 1 twice, and this key gives it a kernel of its own; `fk.compile` takes it
# for row-major and saves one. There is a second half, which a tensor does not know: the *function*,
# and the values that it captures. *A key that forgets*, above, tells what happens without it.
#
# </details>

# %% [markdown]
# Your predictions, all of them:

# %% jupyter={"outputs_hidden": true}
fk.predictions()

# %% [markdown]
# ## Summary
#
# | compiled for | serves | kernels | tensor passed as | loads of 16 bytes |
# |---|---|---|---|---|
# | all static | one shape | one a shape | 8 bytes | 1 × 128 bits |
# | all dynamic | every shape | one | 24 bytes | 4 × 32 bits |
# | N divisible by 4, aligned | every M, N a multiple of 4 | one | 24 bytes | 1 × 128 bits |
# | N static, M dynamic | every M | one an N | 16 bytes | 1 × 128 bits |
#
# | it looks right and is wrong | because the key forgets |
# |---|---|
# | a neighbour's numbers change | shape and stride |
# | results of an earlier program | source and captured values |

# %% [markdown]
# What it is worth on a real GPU was recorded with a factor of 1, which makes each kernel a copy
# that can be set beside torch's own:

# %%
recorded("week0/06_compile_once")

# %% [markdown]
# Two pairs of rows differ in one thing each. One element a thread, open sizes cost nothing that one
# can measure; by vectors, a promise about N is as good as N itself. Between the pairs lie the wide
# loads *and* the number of threads, so these rows do not say what one of the two is worth alone;
# `04_copy_fast` has the steps between.
#
# **In practice** libraries keep a dict beside each operator, keyed by what it compiles in: element
# types, N, and a few choices such as the tile size; they compile ahead for the shapes that they
# expect, and store machine code on disk. A cache on disk lives longer than the program, so its key
# needs the source and the versions, too.
#
# **Further reading**, in CuTe DSL's own manual: [static and dynamic layouts][layouts] ·
# [from_dlpack and the mark_ functions][frameworks] · [caching][caching] · [TVM-FFI][tvm-ffi]
#
# [layouts]: https://docs.nvidia.com/cutlass/media/docs/pythonDSL/cute_dsl_general/dsl_dynamic_layout.html
# [frameworks]: https://docs.nvidia.com/cutlass/media/docs/pythonDSL/cute_dsl_general/framework_integration.html
# [caching]: https://docs.nvidia.com/cutlass/media/docs/pythonDSL/cute_dsl_general/dsl_jit_caching.html
# [tvm-ffi]: https://docs.nvidia.com/cutlass/4.8.0/media/docs/pythonDSL/guides/tvm_ffi_compilation.html
#
# **Next:** a copy that turns the matrix round ([`07_transpose`](07_transpose.ipynb)).
