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
# **You will build** a cache of compiled kernels, find two ways in which it fails, and fix both.
# **You will learn** how long the first call of a kernel takes, which facts about the example
# tensors are compiled into a kernel, and how to choose these facts. **You need** `03_see_layouts`
# (strides, tiles), `04_copy_fast` and `05_tiled_copies` (vectors, promises); no GPU. About 40
# minutes, and 55 more for the exercises.
#
# **The bad number is 115 ms.** The best copy in `05_tiled_copies` takes 0.13 ms for 8192 × 8192
# `float32`. On the host of that H200, CuTe DSL took 115 to 260 ms to compile kernels as small as
# the ones in this notebook (2026-11-21).
#
# So far, `fk.compile` has hidden this cost. Here you compile by hand, in plain CuTe DSL, as
# production code does. Plain CuTe DSL does not know about the virtual GPU, so `vgpu.install()` in
# the next cell redirects it there if you have no GPU.

# %%
import contextlib
import io
import math

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.cute.runtime import from_dlpack, make_fake_tensor, make_ptr
from week0_helpers import check_shapes, draw_strip, loads, passed_as, timed

import forgekit as fk
import forgekit.vgpu
from forgekit.benching.recorded import recorded

if fk.target.kind == "virtual":
    forgekit.vgpu.install()

# %% [markdown]
# ## 1. The first call
#
# This notebook uses one operator, which multiplies a matrix by a number. One thread computes one
# element, and one block computes 128 columns of one row.
#
# The host function contains a Python `print`. As in `00_start_here`, it runs while the compiler
# reads the function, so each compilation prints one line.

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
# `cute.compile` is CuTe DSL's own compiler. For a parameter annotated `cute.Tensor`, it expects a
# CuTe tensor; `from_dlpack(x)` wraps a torch tensor in one without copying its data.
# ([DLPack](https://dmlc.github.io/dlpack/latest/) is a protocol for passing arrays between
# libraries.) You can also call a `@cute.jit` function directly, without compiling it first.
#
# **Predict:** the next cell compiles twice, calls the compiled function three times, and calls
# `scale` directly once. How many times does it print `compiling for`?

# %%
compilations = fk.predict("lines that say compiling for", None)

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(4, 8), fk.empty(4, 8)
printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    run = timed("first cute.compile", lambda: cute.compile(scale, from_dlpack(x), from_dlpack(y)))
    run = timed("the same again", lambda: cute.compile(scale, from_dlpack(x), from_dlpack(y)))
    for number in (1, 2, 3):
        timed(f"call {number}", lambda: run(from_dlpack(x), from_dlpack(y)))
    timed("scale(…), directly", lambda: scale(from_dlpack(x), from_dlpack(y)))
print(printed.getvalue())
compilations.against(printed.getvalue().count("compiling for"))
fk.check(y, FACTOR * x)

# %% [markdown]
# `cute.compile` keeps no results, so it compiles each time. The direct call compiles again as well.
# Each compilation has three steps:
#
# 1. Python runs your function once, with stand-ins for the values. This is called **tracing**.
# 2. The compiler turns the trace into PTX, then into machine code.
# 3. At the first call on a GPU, the driver loads the machine code, so that call is slow as well.
#
# In contrast, a call to a compiled kernel takes only 9 to 10 µs of host time on the same machine,
# less than a ten-thousandth of the compilation time (measured with forgekit's own operators,
# 2026-11-21). So compile once, keep the compiled kernel, and call it.
#
# (On the virtual GPU, a call *runs* the kernel in Python, and the first call also reads the PTX.
# Its times tell you nothing about a real GPU.)
#
# ## 2. A dict is a cache
#
# A dict can hold the compiled kernels. Each call looks up its kernel and compiles it if it is
# missing. The **key** decides which tensors share a kernel. In our first attempt, the key consists
# of the element type and the number of dimensions.

# %%
cache = {}


def scaled(x):
    y = torch.full_like(x, float("nan"))
    key = (x.dtype, x.dim())
    if key not in cache:
        cache[key] = cute.compile(scale, from_dlpack(x), from_dlpack(y))
    cache[key](from_dlpack(x), from_dlpack(y))
    return y


print([torch.equal(scaled(x), FACTOR * x) for x in (fk.randn(4, 8, seed=s) for s in range(3))])
print(f"3 calls, {len(cache)} kernel")

# %% [markdown]
# One compilation served three calls, with correct results. Now pass a 4 × 3 matrix. The next cell
# uses the virtual GPU even if you have a GPU, because a GPU would report no error. (The error is
# intentional. `with vgpu.installed():` applies only to the lines inside it, whereas `install()`
# applies to all lines that follow.)
#
# **Predict:** which fact about the tensor is missing from the key? Answer in one word.

# %%
fk.predict("missing from the key", None)  # such as "device"; the error names it

# %% jupyter={"outputs_hidden": true} tags=["raises-exception"]
cache.clear()
with forgekit.vgpu.installed():
    scaled(fk.randn(4, 8, device="virtual"))
    scaled(fk.randn(4, 3, device="virtual"))

# %% [markdown]
# The kernel was compiled for 4 × 8 and uses these sizes for every matrix that you pass.
# `from_dlpack(x)` creates a **static** layout, which means that the shape is part of the type and
# its sizes become constants in the code. CuTe DSL itself does not compare them with the tensors of
# a call. The virtual GPU does, and rejects the call.
#
# On a GPU, the kernel would access places 0 to 31 of memory, counted from the start of the matrix.
# The second matrix occupies only places 0 to 11, and the places after them belong to other data.
# The next cell demonstrates this in a buffer where it does no harm: 40 numbers, of which the first
# 12 are our matrix. `frozen` behaves like the compiled `scale`, but it takes bare addresses
# (pointers) and has its layout built in. A pointer has no shape, so the virtual GPU cannot detect
# the mismatch.
#
# **Predict:** will `y`, our 4 × 3 matrix, be correct? How many of the other 28 numbers will change?

# %%
y_right = fk.predict("our matrix is correct", None)  # True or False
changed = fk.predict("other numbers that change", None)


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
changed.against(int((strip_y[12:] != -1).sum()))
y_right.against(bool(fk.check(y, FACTOR * x)))
draw_strip(strip_y, 12, untouched=-1)

# %% [markdown]
# > **Looks right but is wrong.** The check passes. All twelve elements are correct, although the
# > kernel treated them as parts of other rows. But the kernel also overwrote twenty numbers of
# > other data. On a GPU, that is the *lucky* case. If the memory after `y` is not allocated, the
# > driver ends your program with an "illegal memory access". Conversely, a kernel that was compiled
# > for the small matrix and is called with the large one never writes most of `y`.
#
# ## 3. A key that is incomplete
#
# The key must contain everything that is compiled into the kernel. So add shape and stride:

# %%
cache = {}


def scaled(x):
    y = torch.full_like(x, float("nan"))
    key = (x.dtype, x.shape, x.stride())
    if key not in cache:
        cache[key] = cute.compile(scale, from_dlpack(x), from_dlpack(y))
    cache[key](from_dlpack(x), from_dlpack(y))
    return y


check_shapes(lambda x, y: y.copy_(scaled(x)), [(4, 8), (4, 3), (33, 130)], lambda x: FACTOR * x)

# %% [markdown]
# The results are correct, and each shape costs one compilation. Now multiply by 3 instead of 2.
#
# **Predict:** what is the first element of the result divided by the first element of `x`?

# %%
ratio = fk.predict("result / x", None)

# %% jupyter={"outputs_hidden": true}
FACTOR = 3.0
x = fk.randn(4, 8)
y = scaled(x)
ratio.against(round(float(y[0, 0] / x[0, 0]), 3))
fk.check(y, FACTOR * x)

# %% [markdown]
# There is no error, but every element is 2/3 of the correct value. The compiler read the global
# variable `FACTOR` *during tracing*. Its value became a constant in the code, like the sizes, but
# the key does not contain it. The same happens if you edit `scale_kernel` and run its cell again:
# the dict still returns the old kernel.
#
# So a key needs two halves: the compiled-in facts about the **tensors** and those about the
# **program**. The latter are the source of every function that the program reaches and every value
# that it captures. The name of the function is not enough, because a new function may have the same
# name. Its `id` is not enough either, because Python may later give the same `id` to another
# object.
#
# ## 4. Leave the sizes open
#
# One compilation per shape is expensive if shapes change often. The alternative is to compile in as
# little as possible. `mark_layout_dynamic` makes sizes and strides **dynamic**: at each call, the
# host code reads them from the tensor and passes them to the kernel as arguments. Only the stride
# of 1 stays static, because it lets neighbouring threads access neighbouring addresses.

# %%
FACTOR = 2.0  # for the rest of the notebook


def dynamic(t):
    return from_dlpack(t).mark_layout_dynamic(leading_dim=1)


run_dynamic = cute.compile(scale, dynamic(fk.randn(4, 8)), dynamic(fk.empty(4, 8)))
check_shapes(
    lambda x, y: run_dynamic(dynamic(x), dynamic(y)),
    [(4, 8), (4, 3), (1, 1), (33, 130), (64, 1)],
    lambda x: FACTOR * x,
)

# %% [markdown]
# One compilation serves five shapes. In the printed layout, `?` stands for a value that each call
# passes, and `i64` means a 64-bit number.
#
# `leading_dim=1` names the mode with stride 1. Specify it if you know the memory order. Otherwise
# CuTe DSL derives the mode from the tensor. For a 64 × 1 matrix, which has the strides `(1, 1)`, it
# chooses the first mode and compiles for a column-major matrix.
#
# How does the generated code differ? `fk.compile` supports both kinds of layout and keeps the PTX.
# Its arguments may be tensors, for which everything is dynamic except the stride of 1, or
# **specs**. `fk.spec(x, static=True)` describes tensors whose layout is compiled in.

# %%
x, y = fk.randn(64, 1024), fk.empty(64, 1024)
for static in (True, False):
    compiled = fk.compile(scale, fk.spec(x, static=static), fk.spec(y, static=static))
    predicate = next(line for line in compiled.ptx.splitlines() if "setp" in line)
    instructions = fk.profile(compiled, x, y)["warp_instructions"] / (x.numel() / 32)
    print("static:" if static else "dynamic:", " ".join(predicate.split()))
    print(f"    {passed_as(compiled)} bytes per tensor, {instructions:.0f} instructions per warp")

# %% [markdown]
# `setp` computes the predicate `col < mX.shape[1]`. The static kernel compares the column with the
# constant 1023. The dynamic kernel compares it with `%r3`, which it loaded from its arguments. For
# a static tensor, a call passes only an address of 8 bytes. For a dynamic tensor, it also passes
# two sizes of 4 bytes and one stride of 8 bytes.
#
# Open sizes cost this kernel a few instructions, which matter little because it waits for memory
# anyway. So dynamic layouts are a good default, with one exception.
#
# ## 5. Promises that allow 128-bit loads
#
# The next kernel uses vectors of 16 bytes, as in `04_copy_fast`. It selects them with a new
# function, `cute.local_tile`, which cuts a tensor into tiles and returns one of them. For a single
# tile, this is shorter than `zipped_divide`. The number of columns must be a multiple of `width`,
# so that each vector ends within its row.


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
# Compile the kernel for four descriptions of the same 64 × 512 tensor. `static=[1]` fixes the
# number of columns and leaves the number of rows open. `align` promises that the address of the
# first element is a multiple of that number of bytes. Without `align`, `fk.spec` derives the
# alignment from the address.
#
# **Predict:** how many load instructions does a thread execute in each case? Write a list such as
# `[4, 4, 4, 4]`.

# %%
of_four = fk.predict("loads per thread, in each case", None)

# %% jupyter={"outputs_hidden": true}
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
    print(f"{name:>17}: {len(found)} × {found[0]:18} {passed} bytes per tensor")
of_four.against(counts)

# %% [markdown]
# If all sizes are open, the matrix might have 5 columns. Then row 1 would start 20 bytes after row
# 0, and 20 is not a multiple of 16. The compiler needs **three** promises: the number of columns is
# a multiple of 4, the distance between rows is a multiple of 4 elements, and the first element is
# aligned. `divisible={1: 4}` makes the first two promises, because in a matrix without gaps the
# second follows from the first. A static N of 512 is a stronger form of the first promise.
#
# forgekit checks a promise when you make it and again at each call. A view of 512 of the 513
# columns of a matrix breaks the second promise, and a matrix with 66 columns breaks the first:

# %%
run_vectors = fk.compile(scale_by_vectors, *[fk.spec(t, divisible={1: 4}) for t in (x, y)])
check_shapes(run_vectors, [(1, 512), (5, 512), (33, 512)], lambda x: FACTOR * x)
for action in (
    lambda: fk.spec(fk.randn(64, 513)[:, :512], divisible={1: 4}),
    lambda: run_vectors(fk.randn(5, 66), fk.empty(5, 66)),
):
    try:
        action()
    except fk.ForgekitError as finding:
        print(finding)


# %% [markdown] exercise="week0/scale_columns" part="task"
# ### Exercise 1: multiply each column by a factor
#
# Compute `y[i, j] = x[i, j] * w[j]` in float32 and float16. One source serves both types, because
# the number of elements in a vector is a `Constexpr`. `x` has at most 65,535 rows, and its number
# of columns is a multiple of 8, which the grader promises to the compiler. `mX[row, None]` is one
# row of `mX` and has a single mode, like `mW`. Signature: `scale_columns(x, w, y)`.
#
# **Required**: 16 bytes per load, 16 bytes per store.
#
# <details><summary>Hint 1</summary>
#
# The kernel resembles `scale_by_vectors`, with one block per 128 vectors of a row. Each thread now
# also loads a vector of `w`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# You can multiply the values of two tiles if the tiles have the same shape. So cut `mX[row, None]`
# and `mW` with the same tiler.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In the host function, the width is `128 // mX.element_type.width`. One dimension of the grid
# counts rows, and the other counts groups of 128 vectors. The kernel needs one predicate, then one
# line that loads twice, multiplies and stores.
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
# The width of a vector determines which instructions the compiler generates, so a call cannot pass
# it as a value. It is a `Constexpr` instead, and the compiler generates a separate kernel for each
# type from the same lines. The kernel loads `w` again for each row, but `w` is small and stays in a
# cache.
#
# </details>

# %% [markdown] exercise="week0/promise" part="task"
# ### Exercise 2: make the promises for 128-bit loads
#
# Write `promise(x)`, which returns a spec for `scale_by_vectors`. If you compile with this spec,
# the kernel must load each vector with one 128-bit load, for `float32` *and* for `float16`. It must
# accept any number of rows and every number of columns that allows such loads, so promise no more
# than these loads need.
#
# <details><summary>Hint 1</summary>
#
# The promise is `divisible={mode: number}`. Along which mode does a vector lie?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# How many elements make up 16 bytes? `x.element_size()` is the size of one element in bytes.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# One argument of `fk.spec` is enough. It promises that the size of the mode along which a vector
# lies is a multiple of the number of elements in 16 bytes.
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
# The promise about mode 1 has two effects. First, each row consists of whole vectors. Second, since
# the rows of a contiguous matrix are N elements apart, every row starts at a multiple of 16 bytes
# if the first row does. The first row does, because `fk.spec` derives the alignment from the
# address of `x`; `align=16` only makes that explicit. The number of rows needs no promise, because
# no vector extends from one row into the next.
#
# </details>

# %% [markdown]
# This is a good place for a break.
#
# ## 6. A compromise: one kernel per N
#
# Production libraries often compile in N and leave M open, so there is *one kernel per N*. In a
# neural network, M is the batch size and may change with every call, while N belongs to the model
# and has few values.
#
# Plain CuTe DSL can describe such a tensor before any tensor exists. `cute.sym_int()` is an unknown
# size; if x and y use the same one, their sizes are equal. `make_fake_tensor` combines element
# type, sizes, strides and **alignment**, which is all that the compiler needs to know about a
# tensor.
#
# With `--enable-tvm-ffi`, a compiled function accepts torch tensors directly.
# ([TVM-FFI](https://tvm.apache.org/ffi/) is a small library for calling compiled code from Python.)
# On a GPU, it also compares the arguments with the description. It does so in C++, at little cost,
# so an argument that does not fit raises an error instead of overwriting other data.

# %%
M, N = cute.sym_int(), 512
description = make_fake_tensor(Float32, (M, N), stride=(N, 1), assumed_align=16)
options = "--enable-tvm-ffi"
run_n512 = cute.compile(scale_by_vectors, description, description, options=options)
check_shapes(run_n512, [(1, N), (5, N), (33, N)], lambda x: FACTOR * x)

# %% [markdown]
# <details><summary>Further: choose the stream of a call</summary>
#
# A **stream** is a queue of work for a GPU. Work in one stream runs in order; work in different
# streams may overlap. torch puts its own work into its *current stream*. A kernel in another stream
# may run before torch has filled `x`, although its result may still be correct most of the time. So
# launch kernels in torch's stream. To do so, declare a parameter `stream: CUstream` (from
# `cuda.bindings.driver`), and pass it on with `.launch(…, stream=stream)`. For TVM-FFI, compile
# with `make_fake_stream(use_tvm_ffi_env_stream=True)` as the argument. You can then call the
# function without a stream, because TVM-FFI asks torch for it at each call. `fk.compile` does the
# same for a parameter named `stream`.
#
# </details>

# %% [markdown] exercise="week0/one_kernel_per_n" part="task"
# ### Exercise 3: compile one kernel per N
#
# Complete `one_kernel_per_n(compile, fn)`, which returns a function of `(x, y)` that runs `fn` on
# them. Compile the number of columns N of both tensors into the kernel, but not the number of rows
# M. Call `compile` as you would call `fk.compile`, once per kernel, and keep its results in
# `kernels`. N is not the only compiled-in fact. The others are the element type, the strides (which
# differ for a matrix cut out of a wider one) and the alignment of *both* tensors.
#
# <details><summary>Hint 1</summary>
#
# `fk.spec(t, static=[1])` describes a tensor like `t` whose number of columns is compiled in.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# First build the key from the dtype, N, the strides and the alignment of x and y. If `kernels` does
# not contain the key, compile the kernel and keep it. Then call it.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The key contains the same four facts for `x` and for `y`. Three of them are properties of a
# tensor. The fourth is the alignment, the largest power of two up to 16 that divides the address,
# which Python's `math.gcd` computes.
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
# If N is static, the distance between the rows of a contiguous matrix is N, so this stride is a
# constant in the code as well. That is why a matrix cut out of a wider one needs its own kernel.
# The specs contain all these facts, so `tuple(spec.key() for spec in specs)` is also a good key,
# but creating specs at every call takes time. `fk.compile` also caches kernels, but it reads the
# source at each call to detect changes. A program that keeps the kernel itself saves that time.
#
# </details>

# %% [markdown]
# ## 7. How `fk.compile` caches
#
# - It turns tensors into specs with open sizes, a fixed stride of 1, and the alignment of the
#   address.
# - It uses TVM-FFI on a GPU. On the virtual GPU, it checks the arguments itself.
# - It keeps kernels in memory and on disk. The key is a digest of the source of the function and of
#   everything that it reaches, the values it captures, the specs, the architecture, the options,
#   and the versions of CuTe DSL and forgekit. It reads the source at each call, which is useful in
#   a notebook. In a loop, keep the result of `fk.compile` and call that.
#
# A compiled kernel records its key and its origin: `compiled`, `memory`, or `disk` if an earlier
# notebook stored it there.

# %% tags=["nbval-ignore-output"]
run = fk.compile(scale, fk.randn(64, 96), fk.empty(64, 96))
print("key:     ", run.key)
print(f"compiled: in {run.compile_ms:.0f} ms; found now in: {run.origin}")
for name, spec in run.specs.items():
    print(f"{name}:      {spec}")

# %% [markdown]
# The next cell calls `fk.compile` for nine cases and assigns a letter to every new key.
#
# **Predict:** how many different kernels does it compile?

# %%
of_nine = fk.predict("kernels in nine cases", None)

# %% jupyter={"outputs_hidden": true}
letters = {}


def show(case, x, factor=2.0, **facts):
    global FACTOR
    FACTOR = factor
    compiled = fk.compile(scale, fk.spec(x, **facts), fk.spec(x, **facts))
    FACTOR = 2.0
    print(f"{letters.setdefault(compiled.key, 'ABCDEFGHI'[len(letters)])}  {case}")


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
# Sizes and row strides are open, so the first three cases share a kernel. In the view that starts
# at column 1, the first element is 4 bytes after a multiple of 16. forgekit promises alignment in
# steps of 16, 8 and 4 bytes, down to the size of an element. Here it can promise only 4 bytes. For
# a view from column 2, it could promise 8 bytes, which would need another kernel. A different
# memory order, element type, fixed N or program also needs its own kernel.

# %% [markdown] exercise="week0/cache_key" part="task"
# ### Exercise 4: write the key
#
# Write `cache_key(x)`, which returns a dict key for kernels that `fk.compile` has compiled. Each
# call passes the sizes and every stride that is not 1. Five facts are compiled in: the element
# type, the number of dimensions, the set of modes with stride 1 (if any), the device (`x.device` or
# only its type), and the alignment. The alignment is the largest of 16, 8, 4, 2 and 1 bytes that
# divides the address of the first element. Two tensors must have the same key if and only if these
# facts agree.
#
# <details><summary>Hint 1</summary>
#
# Every fact is a property of `x`: `dtype`, `device`, `stride()`, and the address `data_ptr()`. You
# do not need `shape`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# For the memory order, turn `x.stride()` into a tuple of True and False. Its length is the number
# of dimensions. For the alignment, ask whether the address is a multiple of 16, 8 or 4.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Python's `math.gcd(a, b)` is the largest number that divides both a and b. For which two numbers
# is it the alignment? The rest is a `return` of four values, one of which is a tuple.
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
# The key contains exactly the facts that are compiled in. If one is missing, a kernel that does not
# fit may run and give wrong numbers or access memory out of bounds. If the key contains more, the
# cache misses: with `x.shape` in the key, each new size costs a compilation. With `x.data_ptr() %
# 16` in the key, float32 needs four kernels instead of three, although addresses 4 and 12 bytes
# after a multiple of 16 have the same alignment, 4. A matrix with one column has stride 1 twice, so
# this key gives it a separate kernel; `fk.compile` treats it as row-major and saves that kernel. A
# tensor cannot supply the second half of a key, the *function* and the values that it captures.
# Section 3 shows what happens without this half.
#
# </details>

# %% [markdown]
# ## Summary
#
# | compiled for | serves | kernels | tensor passed as | loads of 16 bytes |
# |---|---|---|---|---|
# | all static | one shape | one per shape | 8 bytes | 1 × 128 bits |
# | all dynamic | every shape | one | 24 bytes | 4 × 32 bits |
# | N divisible by 4, aligned | every M, every N divisible by 4 | one | 24 bytes | 1 × 128 bits |
# | N static, M dynamic | every M | one per N | 16 bytes | 1 × 128 bits |
#
# | mistake that looks right | missing from the key |
# |---|---|
# | a call overwrites other data | shape and stride |
# | a call returns the results of an earlier program | source and captured values |
#
# The times below were recorded with a factor of 1. This makes each kernel a copy, which you can
# compare with torch's own:

# %%
recorded("week0/06_compile_once")

# %% [markdown]
# Within each pair of rows, only the description differs. With one element per thread, open sizes
# have no measurable cost. With vectors, a promise about N is as good as a fixed N. The two pairs
# differ in their loads *and* in their number of threads; `04_copy_fast` shows the steps between
# them.
#
# **In practice**, libraries keep one dict per operator. Its keys contain the facts that the
# operator compiles in: element types, N, and a few choices such as the tile size. Libraries also
# compile ahead of time for expected shapes and store machine code on disk. A cache on disk outlives
# the program, so its key must also contain the source and the versions.
#
# **Further reading**, in CuTe DSL's own manual: [static and dynamic layouts][layouts] ·
# [from_dlpack and the mark_ functions][frameworks] · [caching][caching] · [TVM-FFI][tvm-ffi]
#
# [layouts]: https://docs.nvidia.com/cutlass/media/docs/pythonDSL/cute_dsl_general/dsl_dynamic_layout.html
# [frameworks]: https://docs.nvidia.com/cutlass/media/docs/pythonDSL/cute_dsl_general/framework_integration.html
# [caching]: https://docs.nvidia.com/cutlass/media/docs/pythonDSL/cute_dsl_general/dsl_jit_caching.html
# [tvm-ffi]: https://docs.nvidia.com/cutlass/4.8.0/media/docs/pythonDSL/guides/tvm_ffi_compilation.html
#
# **Next:** these copies reach 92 % of the speed of the fastest copy. `x.T.contiguous()`, which
# moves the same bytes, reaches 27 % ([`07_transpose`](07_transpose.ipynb)).
