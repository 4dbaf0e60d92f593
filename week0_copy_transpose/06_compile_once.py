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
# **You will build** a cache of compiled kernels. It fails in two ways, and you fix both. **You will
# learn** how long the first call of a kernel takes, which facts about its example tensors are
# compiled into a kernel, and how to choose them. **You need** `03_see_layouts` (strides, tiles),
# `04_copy_fast` and `05_tiled_copies` (vectors, promises); no GPU. About 40 minutes, and 55 more
# for the exercises.
#
# **The bad number is 115 ms.** The best copy of `05_tiled_copies` takes 0.13 ms for 8192 × 8192
# `float32`. On that H200's host, CuTe DSL took 115 to 260 ms to compile kernels as small as this
# notebook's (2026-11-21).
#
# So far `fk.compile` hid that. Here you compile by hand, in plain CuTe DSL, as production code
# does. Plain CuTe DSL does not find the virtual GPU; `vgpu.install()` in the next cell redirects it
# there if you have no GPU.

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
# This notebook needs one operator: multiply a matrix by a number. One thread computes one element;
# a block computes 128 columns of one row.
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
# `cute.compile` is CuTe DSL's own compiler. For a parameter annotated `cute.Tensor` it expects a
# CuTe tensor; `from_dlpack(x)` wraps a torch tensor in one without a copy.
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
# `cute.compile` remembers nothing: it compiles each time. The direct call compiles again as well.
# Each compilation has three steps:
#
# 1. Python runs your function once, with stand-ins for the values. This is called **tracing**.
# 2. The compiler turns the trace into PTX, then into machine code.
# 3. At the first call on a GPU, the machine code is loaded, so that call is slow as well.
#
# Calling a compiled kernel takes 9 to 10 µs of host time on the same machine (forgekit's own
# operators, 2026-11-21), over 10,000 times less. So compile once, keep the result, and call that.
#
# (On the virtual GPU a call *runs* the kernel in Python, and the first call reads the PTX. Its
# milliseconds tell you nothing about a GPU.)
#
# ## 2. A dict is a cache
#
# A dict can keep the kernels: look up the kernel, compile it if it is missing, call it. The **key**
# decides which tensors share a kernel. A first attempt: the element type and the number of
# dimensions.

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
# One compilation, three right results. Now pass a matrix of 4 × 3. The next cell uses the virtual
# GPU even if you have a GPU, since a GPU would report no error. (The error is intended. `with
# vgpu.installed():` applies to a few lines; `install()` applies to all lines that follow.)
#
# **Predict:** which fact about the tensor is missing from the key, in one word?

# %%
fk.predict("missing from the key", None)  # such as "device"; the error names it

# %% jupyter={"outputs_hidden": true} tags=["raises-exception"]
cache.clear()
with forgekit.vgpu.installed():
    scaled(fk.randn(4, 8, device="virtual"))
    scaled(fk.randn(4, 3, device="virtual"))

# %% [markdown]
# The kernel was compiled for 4 × 8, and it uses 4 × 8 for every matrix that you pass.
# `from_dlpack(x)` makes a **static** layout: the shape is part of the type, and its sizes become
# constants in the code. CuTe DSL itself does not compare them with the tensors of a call. The
# virtual GPU does, and rejects the call.
#
# On a GPU the kernel would access places 0 to 31 of memory. The second matrix has places 0 to 11;
# the following places belong to other data. The next cell shows that in a buffer where it does no
# harm: 40 numbers, of which the first 12 are our matrix. `frozen` does the same as the compiled
# `scale`: it takes bare addresses (pointers), and its layout is built in. A pointer has no shape,
# so the virtual GPU cannot object.
#
# **Predict:** will `y`, our 4 × 3 matrix, be right? How many of the other 28 numbers will change?

# %%
y_right = fk.predict("our matrix is right", None)  # True or False
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
# > **Looks right but is wrong.** The check passes. All twelve elements are right, although the
# > kernel took them for parts of other rows. But the kernel has overwritten twenty numbers of other
# > data. On a GPU that is the *lucky* case. If the memory after `y` is not allocated, the driver
# > ends your program with an "illegal memory access". A kernel compiled for the small matrix and
# > called with the large one never writes most of `y`.
#
# ## 3. A key that forgets
#
# Everything that is compiled in must be in the key. So add shape and stride:

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
# The results are right, and each shape costs one compilation. Now multiply by 3 instead.
#
# **Predict:** what is the first element of the result, divided by that of `x`?

# %%
ratio = fk.predict("result / x", None)

# %% jupyter={"outputs_hidden": true}
FACTOR = 3.0
x = fk.randn(4, 8)
y = scaled(x)
ratio.against(round(float(y[0, 0] / x[0, 0]), 3))
fk.check(y, FACTOR * x)

# %% [markdown]
# No error, and every element is 2/3 of the right value. The kernel read the global variable
# `FACTOR` *while it was traced*. Its value is a constant in the code, like the sizes, and the key
# does not contain it. The same happens if you edit `scale_kernel` and run its cell again: the dict
# still returns the old kernel.
#
# So a key has two halves: the compiled-in facts of the **tensors**, and those of the **program**,
# which are the source of every function that it reaches and every value that it captures. The
# function's name is not enough, since a new function may have the same name. Its `id` is not
# enough either: Python may give it to another object later.
#
# ## 4. Leave the sizes open
#
# One compilation per shape is expensive where shapes change often. The opposite is to compile in as
# little as possible. `mark_layout_dynamic` makes sizes and strides **dynamic**: the host code reads
# them from the tensor at each call and passes them to the kernel as arguments. One stride stays
# static, the 1, because it lets neighbouring threads access neighbouring addresses.

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
# One compilation serves five shapes. In the printed layout, `?` is a value passed at each call;
# `i64` means a 64-bit number.
#
# `leading_dim=1` names the mode with stride 1. If you know the memory order, specify it. Without
# `leading_dim`, CuTe DSL derives the mode from the tensor. A 64 × 1 matrix has the strides `(1,
# 1)`; CuTe DSL takes the first mode, and compiles for a column-major matrix.
#
# How does the code differ? `fk.compile` can do both, and it keeps the PTX. Its arguments may be
# tensors (then everything is dynamic except the stride of 1) or **specs**: `fk.spec(x,
# static=True)` describes tensors whose layout is compiled in.

# %%
x, y = fk.randn(64, 1024), fk.empty(64, 1024)
for static in (True, False):
    compiled = fk.compile(scale, fk.spec(x, static=static), fk.spec(y, static=static))
    predicate = next(line for line in compiled.ptx.splitlines() if "setp" in line)
    instructions = fk.profile(compiled, x, y)["warp_instructions"] / (x.numel() / 32)
    print("static:" if static else "dynamic:", " ".join(predicate.split()))
    print(f"    {passed_as(compiled)} bytes per tensor, {instructions:.0f} instructions per warp")

# %% [markdown]
# `setp` is the predicate `col < mX.shape[1]`. The static kernel compares the column with the
# constant 1023. The dynamic one compares it with `%r3`, which it loaded from its arguments. A
# static tensor is passed as an address of 8 bytes. A dynamic one is an address, two sizes of 4
# bytes and one stride of 8.
#
# Open sizes cost this kernel a few instructions, which matters little while it waits for memory. So
# dynamic is a good default, with one exception.
#
# ## 5. Promise enough for loads of 128 bits
#
# Now use vectors of 16 bytes, as in `04_copy_fast`. `cute.local_tile` is new: it cuts a tensor into
# tiles and selects one, which is shorter than `zipped_divide` for a single tile. `width` divides
# the number of columns, so that each vector ends within its row.


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
# Compile it for four descriptions of the same 64 × 512 tensor. `static=[1]` fixes the columns and
# leaves the rows open. `align` promises that the address of the first element is a multiple of that
# number of bytes. Without `align`, `fk.spec` reads the address.
#
# **Predict:** how many load instructions does a thread execute in each case? Write a list such as
# `[4, 4, 4, 4]`.

# %%
of_four = fk.predict("loads per thread, in each of the four", None)

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
# With all sizes open, the matrix might have 5 columns; then row 1 would start 20 bytes after row 0,
# and 20 is not a multiple of 16. The compiler needs **three** promises: the number of columns is a
# multiple of 4, rows are a multiple of 4 elements apart, and the first element is aligned.
# `divisible={1: 4}` makes the first two, since in a matrix without gaps one follows from the other.
# A static N of 512 is the first promise in a stronger form.
#
# forgekit checks a promise when you make it, and again at each call. A view of 512 of 513 columns
# breaks the second promise, and a matrix with 66 columns breaks the first:

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
# ### Exercise 1: a factor for each column
#
# Compute `y[i, j] = x[i, j] * w[j]` in float32 and float16, from one source: the number of elements
# in a vector is a `Constexpr`. `x` has any number of rows and a multiple of 8 columns, which is
# promised to the compiler. `mX[row, None]` is one row of `mX`, with the same single mode as `mW`.
# Signature: `scale_columns(x, w, y)`.
#
# **Required**: 16 bytes per load, 16 bytes per store.
#
# <details><summary>Hint 1</summary>
#
# The kernel resembles `scale_by_vectors`: one block per 128 vectors of a row. Each thread now also
# loads a vector of `w`.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# You can multiply the values of two tiles if the tiles have the same shape. Cut `mX[row, None]` and
# `mW` with the same tiler.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Host: the width is `128 // mX.element_type.width`; one direction of the grid counts rows, the
# other counts groups of 128 vectors. Kernel: one predicate, then one line that loads twice,
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
# The width of a vector decides which instructions the compiler generates, so it cannot be a value
# that the call passes. It is a `Constexpr`, and each type gets its own kernel from the same lines.
# Each row loads `w` again, but `w` is small and stays in a cache.
#
# </details>

# %% [markdown] exercise="week0/promise" part="task"
# ### Exercise 2: promise enough for 128 bits
#
# Write `promise(x)`. It returns the spec with which `scale_by_vectors` moves each vector in one
# load of 128 bits, for `float32` *and* for `float16`. One kernel must serve any number of rows, and
# every number of columns that allows such loads. Promise enough, and no more.
#
# <details><summary>Hint 1</summary>
#
# The promise is `divisible={mode: number}`. Along which mode does a vector lie?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# How many elements make up 16 bytes? `x.element_size()` is the size of one, in bytes.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# One argument of `fk.spec` is enough. It promises the number of elements in 16 bytes, for the mode
# along which a vector lies.
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
# The promise about mode 1 has two effects. Each row contains whole vectors. And since the rows of a
# contiguous matrix are N elements apart, every row starts at a multiple of 16 bytes if the first
# one does. The first one does, because `fk.spec` reads the address of `x`; `align=16` only makes
# that explicit. The number of rows needs no promise, because no vector crosses from row to row.
#
# </details>

# %% [markdown]
# This is a good place for a break.
#
# ## 6. The middle path: one kernel per N
#
# Production kernels often compile in N and leave M open: *one kernel per N*. In a neural network M
# is the batch and changes with every call, while N belongs to the model and has few values.
#
# Plain CuTe DSL can describe such a tensor without having one. `cute.sym_int()` is an unknown size;
# using the same one for x and y states that both are equal. `make_fake_tensor` combines element
# type, sizes, strides and **alignment**. That is all the compiler needs to know about a tensor.
#
# With `--enable-tvm-ffi` a compiled function takes torch tensors directly.
# ([TVM-FFI](https://tvm.apache.org/ffi/) is a small library for calling compiled code from Python.)
# On a GPU it also compares the arguments with the description, in C++, at little cost. So a wrong
# argument raises an error instead of overwriting other data.

# %%
M, N = cute.sym_int(), 512
description = make_fake_tensor(Float32, (M, N), stride=(N, 1), assumed_align=16)
options = "--enable-tvm-ffi"
run_n512 = cute.compile(scale_by_vectors, description, description, options=options)
check_shapes(run_n512, [(1, N), (5, N), (33, N)], lambda x: FACTOR * x)

# %% [markdown]
# <details><summary>Further: the stream of a call</summary>
#
# A **stream** is a GPU's queue of work. Work in one stream keeps its order; work in different
# streams may overlap. torch puts its own work into its *current stream*. A kernel in another stream
# may run before torch has filled `x`, and still be right most of the time. So launch kernels in
# torch's stream: declare a parameter `stream: CUstream` (from `cuda.bindings.driver`), and pass it
# on with `.launch(…, stream=stream)`. For TVM-FFI, compile with
# `make_fake_stream(use_tvm_ffi_env_stream=True)` in its place. You then call the function without a
# stream, and TVM-FFI asks torch for it at each call. `fk.compile` does the same for a parameter
# named `stream`.
#
# </details>

# %% [markdown] exercise="week0/one_kernel_per_n" part="task"
# ### Exercise 3: one kernel for each N
#
# Complete `one_kernel_per_n(compile, fn)`. It returns a function of `(x, y)` that runs `fn` on
# them. The number of columns N of both tensors is compiled into the kernel; the number of rows M is
# not. Call `compile` as you would call `fk.compile`, once per kernel, and keep its results in
# `kernels`. N is not the only fact that is compiled in: so are the element type, the strides (a
# matrix cut out of a wider one has others) and the alignment, of *both* tensors.
#
# <details><summary>Hint 1</summary>
#
# `fk.spec(t, static=[1])` describes a tensor like `t` whose number of columns is compiled in.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# First make the key from the dtype, N, the strides and the alignment of x and of y. If `kernels`
# lacks the key, compile and keep the kernel. Then call it.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The key contains the same four facts for `x` and for `y`. Three are properties of a tensor. The
# fourth is the alignment, the largest number up to 16 that divides the address: Python's `math.gcd`
# finds it.
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
# With N static, the rows of a contiguous matrix are N elements apart, so the stride is a constant
# in the code as well. That is why a matrix cut out of a wider one needs its own kernel. The specs
# contain all these facts, so `tuple(spec.key() for spec in specs)` is also a good key, but it costs
# time to make specs at every call. `fk.compile` keeps kernels as well, but it reads the source at
# each call to detect a change. A program that keeps the kernel saves that time.
#
# </details>

# %% [markdown]
# ## 7. How `fk.compile` caches
#
# - It turns tensors into specs: sizes open, the stride of 1 fixed, alignment read from the address.
# - It uses TVM-FFI on a GPU. On the virtual GPU it checks the arguments itself.
# - It keeps kernels in memory and on disk. The key is a digest of the source of the function and of
#   everything that it reaches, the values it captures, the specs, the architecture, the options,
#   and the versions of CuTe DSL and forgekit. It reads the source at each call, which is right in a
#   notebook. In a loop, keep the result of `fk.compile` and call that.
#
# A compiled kernel knows its key and its origin: `compiled`, `memory`, or `disk`, where an earlier
# notebook left it.

# %% tags=["nbval-ignore-output"]
run = fk.compile(scale, fk.randn(64, 96), fk.empty(64, 96))
print("key:     ", run.key)
print(f"compiled: in {run.compile_ms:.0f} ms; found now in: {run.origin}")
for name, spec in run.specs.items():
    print(f"{name}:      {spec}")

# %% [markdown]
# Now call `fk.compile` for nine cases, and give every new key a letter.
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
# at column 1, the first element lies 4 bytes after a multiple of 16. forgekit promises alignment in
# steps: 16 bytes, 8, 4, down to the size of an element. Here it can promise only 4 bytes. For a
# view from column 2 it could promise 8, with a separate kernel. Another memory order, element type,
# fixed N or program also needs its own kernel.

# %% [markdown] exercise="week0/cache_key" part="task"
# ### Exercise 4: write the key
#
# Write `cache_key(x)`: a value that can be a key of a dict, for kernels compiled as `fk.compile`
# compiles them. Each call passes the sizes, and every stride that is not 1. Five facts are compiled
# in: the element type, the number of dimensions, which modes (if any) have stride 1, the kind of
# device, and the alignment. The alignment is the largest of 16, 8, 4 and 2 bytes that divides the
# address of the first element. Two tensors share a key if and only if these facts agree.
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
# of dimensions. For the alignment: is the address a multiple of 16? Of 8? Of 4?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Python's `math.gcd(a, b)` is the largest number that divides both: of which two numbers is it the
# alignment? The rest is a `return` of four values, one of them a tuple.
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
# The key contains exactly what is compiled in. With less, a stale kernel runs: wrong numbers, or an
# access out of bounds. With more, the cache misses: with `x.shape` in the key, each new size costs
# a compilation. With `x.data_ptr() % 16`, float32 gets four kernels where three are enough: 4 and
# 12 bytes after a multiple of 16 have the same alignment, 4. A matrix with one column has stride 1
# twice, so this key gives it its own kernel; `fk.compile` treats it as row-major and saves one. A
# tensor does not know the second half of a key: the *function*, and the values that it captures. *A
# key that forgets*, above, shows what happens without it.
#
# </details>

# %% [markdown]
# ## Summary
#
# | compiled for | serves | kernels | tensor passed as | loads of 16 bytes |
# |---|---|---|---|---|
# | all static | one shape | one per shape | 8 bytes | 1 × 128 bits |
# | all dynamic | every shape | one | 24 bytes | 4 × 32 bits |
# | N divisible by 4, aligned | every M, N a multiple of 4 | one | 24 bytes | 1 × 128 bits |
# | N static, M dynamic | every M | one per N | 16 bytes | 1 × 128 bits |
#
# | looks right but is wrong | the key forgets |
# |---|---|
# | other data are overwritten | shape and stride |
# | the results of an earlier program | source and captured values |
#
# The times below were recorded with a factor of 1, which makes each kernel a copy that you can
# compare with torch's own:

# %%
recorded("week0/06_compile_once")

# %% [markdown]
# Within each pair of rows, only the description differs. With one element per thread, open sizes
# cost nothing measurable. With vectors, a promise about N is as good as N itself. The pairs differ
# in both their loads *and* their number of threads; `04_copy_fast` has the steps between.
#
# **In practice** libraries keep one dict per operator. Its keys are the facts that the operator
# compiles in: element types, N, and a few choices such as the tile size. They compile ahead for
# expected shapes and store machine code on disk. A cache on disk outlives the program, so its key
# also needs the source and the versions.
#
# **Further reading**, in CuTe DSL's own manual: [static and dynamic layouts][layouts] ·
# [from_dlpack and the mark_ functions][frameworks] · [caching][caching] · [TVM-FFI][tvm-ffi]
#
# [layouts]: https://docs.nvidia.com/cutlass/media/docs/pythonDSL/cute_dsl_general/dsl_dynamic_layout.html
# [frameworks]: https://docs.nvidia.com/cutlass/media/docs/pythonDSL/cute_dsl_general/framework_integration.html
# [caching]: https://docs.nvidia.com/cutlass/media/docs/pythonDSL/cute_dsl_general/dsl_jit_caching.html
# [tvm-ffi]: https://docs.nvidia.com/cutlass/4.8.0/media/docs/pythonDSL/guides/tvm_ffi_compilation.html
#
# **Next:** these copies reach 92 % of the fastest copy. `x.T.contiguous()`, which moves the same
# bytes, reaches 27 % ([`07_transpose`](07_transpose.ipynb)).
