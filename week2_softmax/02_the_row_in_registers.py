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
# # Keep the row in registers
#
# **You will build** softmaxes that read a row once and write it once: by single elements, by vectors,
# with fewer instructions, and in the end a single-pass online softmax of your own.
# **You will learn** what a register cannot do, what has to stand in a tail, how to take one
# instruction out of an exponential without losing digits, and how long a row may be.
# **You need** `01_online`, and tiled copies (`03_bytes_in_flight` of week 1).
# About 40 minutes, and 70 more for the exercises.
#
# **The bad number: two readings and a writing.** `online` has found maximum and sum in one reading.
# Then it reads the row again, for by now it has forgotten it.

# %%
import math
import operator
from functools import partial

import cutlass
import cutlass.cute as cute
import matplotlib.pyplot as plt
import torch
from cutlass import Float32
from cutlass.cute.nvgpu import CopyUniversalOp

import forgekit as fk
from forgekit.benching.recorded import recorded

# %% [markdown]
# ## 1. Read twice
#
# Here it is once more, with four rows a block. `cost` checks a softmax, profiles it and prints what
# this notebook is about; `hard_rows` are those that `online` was tested with.


# %%
@cute.jit
def exp(x):
    return cute.math.exp(x, fastmath=True)


@cute.jit
def merged(a, b):
    """(maximum, sum relative to it) of two parts of a row together."""
    m = cute.arch.fmax(a[0], b[0])
    shift = Float32(0.0) if m == -Float32.inf else m
    return m, a[1] * exp(a[0] - shift) + b[1] * exp(b[0] - shift)


@cute.kernel
def online_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row, lane = bidx * 4 + tidx // 32, tidx % 32
    if row < mX.shape[0]:
        m, s = -Float32.inf, Float32(0.0)
        for n in range(lane, mX.shape[1], 32):
            m, s = merged((m, s), (mX[row, n].to(Float32), Float32(1.0)))
        for k in cutlass.range_constexpr(5):
            other = tuple(cute.arch.shuffle_sync_bfly(v, offset=1 << k) for v in (m, s))
            m, s = merged((m, s), other)
        for n in range(lane, mX.shape[1], 32):
            mY[row, n] = (exp(mX[row, n].to(Float32) - m) / s).to(mY.element_type)


@cute.jit
def online(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[0], 4)
    online_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


def hard_rows(n, dtype=torch.float32):
    """Seven rows of n elements in which a careless softmax shows."""
    plain = fk.randn(n, device="virtual") * 3
    masked = plain.clone()
    masked[: n // 2] = -torch.inf
    rows = [plain, plain.sort(descending=True).values, plain.sort().values, plain + 1000]
    rows += [plain - 1000, masked, torch.full((n,), -torch.inf)]
    return torch.stack(rows).to(fk.device, dtype)


costs = {}


def cost(name, run, x):
    y = fk.empty(*x.shape, dtype=x.dtype)
    run(x, y)
    assert fk.check(y, x.double().softmax(1))
    p = fk.profile(run, x, y)
    reads, writes = p.global_load_bytes_moved / x.nbytes, p.global_store_bytes_moved / x.nbytes
    costs[name] = (reads, writes, p.warp_instructions * 32 / x.numel())
    print(f"{name:>22}: {reads:.2f} reads, {writes:.2f} writes", end=", ")
    print(f"{costs[name][2]:4.1f} instructions an element")
    return p


x, y = fk.randn(8, 1024), fk.empty(8, 1024)
cost("online", fk.compile(online, x, y), x);

# %% [markdown]
# ## 2. A lane keeps its part
#
# A row of 1,024 has 32 elements for each lane. A thread can have up to 255 **registers** of 4 bytes,
# so it can simply keep them. And then maximum and sum need no trick any more: the row may be gone
# through as often as one likes, where it costs no bytes.
#
# As a model, with 4 lanes and rows of up to 12. What is not there counts as −∞: it changes no
# maximum, and its exponential is 0.

# %%
lanes, per_lane = 4, 3
row = [1.0, 3.0, 2.0, 5.0, -1.0, 5.0, 0.0]
held = [
    [row[lane + lanes * k] if lane + lanes * k < len(row) else -math.inf for k in range(per_lane)]
    for lane in range(lanes)
]
m = max(max(part) for part in held)
s = sum(sum(math.exp(x - m) for x in part) for part in held)
for lane, part in enumerate(held):
    print(f"lane {lane} holds {part}, writes", [round(math.exp(x - m) / s, 4) for x in part])

# %% [markdown]
# In the kernel, `cute.make_rmem_tensor(per_lane, Float32)` is the lane's part. A register has no
# address: which one an instruction means stands in the instruction. So each index has to be known
# when the kernel is compiled, and with it the number of elements a lane has, `per_lane`. Loops over
# them are `range_constexpr`, written out by the compiler.


# %%
@cute.kernel
def registers_kernel(mX: cute.Tensor, mY: cute.Tensor, per_lane: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row, lane = bidx * 4 + tidx // 32, tidx % 32
    if row < mX.shape[0]:
        rX = cute.make_rmem_tensor(per_lane, Float32)  # (per_lane):(1)
        rX.fill(-Float32.inf)
        for k in cutlass.range_constexpr(per_lane):
            if lane + 32 * k < mX.shape[1]:
                rX[k] = mX[row, lane + 32 * k].to(Float32)
        x = rX.load()
        m = x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)
        m = cute.arch.warp_reduction(m, cute.arch.fmax)
        e = exp(x - m)
        s = cute.arch.warp_reduction(e.reduce(cute.ReductionOp.ADD, 0.0, 0), operator.add)
        rX.store(e / s)
        for k in cutlass.range_constexpr(per_lane):
            if lane + 32 * k < mX.shape[1]:
                mY[row, lane + 32 * k] = rX[k].to(mY.element_type)


@cute.jit
def registers(mX: cute.Tensor, mY: cute.Tensor, per_lane: cutlass.Constexpr):
    blocks = cute.ceil_div(mX.shape[0], 4)
    registers_kernel(mX, mY, per_lane).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


for dtype in (torch.float32, torch.float16, torch.bfloat16):
    x, y = hard_rows(256, dtype), fk.empty(7, 256, dtype=dtype)
    run_registers = fk.compile(registers, x, y, 8)  # for rows of up to 256
    for n in (1, 31, 33, 200, 256):
        x, y = hard_rows(n, dtype), fk.empty(7, n, dtype=dtype)
        run_registers(x, y)
        assert fk.check(y, x.double().softmax(1))

# %% [markdown]
# One compiled kernel serves all rows of up to 32 · `per_lane` elements; a longer one would be cut
# off. **Predict:** how often does it read the matrix?

# %%
reads_once = fk.predict("times the matrix is read", None)

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(8, 1024), fk.empty(8, 1024)
cost("registers", fk.compile(registers, x, y, 32), x)
reads_once.against(round(costs["registers"][0], 2))

figure, axes = plt.subplots(figsize=(6.4, 1.6))
for k, (name, (reads, writes, _)) in enumerate(costs.items()):
    axes.barh(k, reads, color="tab:blue", label="read" if k == 0 else None)
    axes.barh(k, writes, left=reads, color="tab:orange", label="written" if k == 0 else None)
axes.axvline(2, color="gray", linestyle=":")
axes.set_yticks(range(len(costs)), list(costs))
axes.set(xlabel="times the matrix (dotted: the least)", title="Passes over memory")
axes.invert_yaxis()
axes.legend(loc="lower right", fontsize=8)
plt.show()

# %% [markdown]
# One reading and one writing: fewer there cannot be. From here on all kernels move these bytes.
#
# What does an index cost that the compiler does *not* know? Here the loop that stores is an ordinary
# `range`. The values are right.


# %%
@cute.kernel
def by_index_kernel(mX: cute.Tensor, mY: cute.Tensor, per_lane: cutlass.Constexpr):
    lane, _, _ = cute.arch.thread_idx()
    rX = cute.make_rmem_tensor(per_lane, Float32)
    for k in cutlass.range_constexpr(per_lane):
        rX[k] = mX[lane + 32 * k]
    for k in range(mX.shape[0] // 32):
        mY[lane + 32 * k] = rX[k]


@cute.jit
def by_index(mX: cute.Tensor, mY: cute.Tensor, per_lane: cutlass.Constexpr):
    by_index_kernel(mX, mY, per_lane).launch(grid=(1, 1, 1), block=(32, 1, 1))


x, y = fk.randn(128), fk.empty(128)
run_by_index = fk.compile(by_index, x, y, 4)
run_by_index(x, y)
assert fk.check(y, x)
print([line.split()[0] for line in run_by_index.ptx.splitlines() if ".local." in line])
print([line.split()[0] for line in run_registers.ptx.splitlines() if ".local." in line])

# %% [markdown]
# `st.local` and `ld.local`: what is indexed has to have addresses, so the compiler moved it to
# **local memory**, which is a thread's own and lies in the GPU's memory, behind the caches. A row in
# local memory is not in registers, and no check of the values will say so. Look for `.local` in the
# PTX.
#
# Rows of at most 64 elements leave most of a warp without work, as they did in week 1. Write the
# kernel for them:

# %% [markdown] exercise="week2/short_softmax" part="task"
# %% exercise="week2/short_softmax" part="skeleton"
# %% exercise="week2/short_softmax" part="grade"
# %% [markdown] exercise="week2/short_softmax" part="solution"

# %% [markdown]
# ## 3. Sixteen bytes a lane
#
# **The bad number: instructions an element.** Each element has a load, a store, two predicates and
# two jumps of its own. The cure is that of `03_bytes_in_flight`: a TV layout with a vector a lane, a
# tiled copy, one predicate a vector. New is only that `loads` tiles lie side by side in *one* tile as
# wide as the row, so that all of a lane's vectors are loaded by one `cute.copy`, and stay.
#
# What is done with them is a function of its own, `softmax(x, warps)`: x holds the thread's part of
# a row, and `warps` is how many warps share one, 1 for now. All steps from here on are such functions.


# %%
@cute.kernel
def vectors_kernel(
    gX: cute.Tensor,
    gY: cute.Tensor,
    cX: cute.Tensor,
    shape: cute.Shape,
    tiled_copy: cute.TiledCopy,
    softmax: cutlass.Constexpr,
    warps: cutlass.Constexpr,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    thr_copy = tiled_copy.get_slice(tidx)
    tXgX = thr_copy.partition_S(gX[(None, None), (bidx, 0)])  # ((Vec,1),1,loads)
    tXgY = thr_copy.partition_D(gY[(None, None), (bidx, 0)])  # ((Vec,1),1,loads)
    tXcX = thr_copy.partition_S(cX[(None, None), (bidx, 0)])  # ((Vec,1),1,loads)
    tXrX = cute.make_rmem_tensor_like(tXgX)  # ((Vec,1),1,loads)
    loads = cutlass.const_expr(cute.size(tXrX, mode=[2]))
    tXpX = cute.make_rmem_tensor((1, 1, loads), cutlass.Boolean)  # one for each vector
    for k in cutlass.range_constexpr(loads):
        tXpX[0, 0, k] = cute.elem_less(tXcX[0, 0, k], shape)
    tXrX.fill(-gX.element_type.inf)
    cute.copy(tiled_copy, tXgX, tXrX, pred=tXpX)
    y = softmax(tXrX.load().to(Float32), warps)
    tXrX.store(y.to(gY.element_type))
    cute.copy(tiled_copy, tXrX, tXgY, pred=tXpX)


def in_tiles(softmax, warps):
    """A host function for rows of up to `loads` vectors a thread, `warps` warps a row."""
    rows, threads = 4 if warps == 1 else 1, 32 * warps

    @cute.jit
    def host(mX: cute.Tensor, mY: cute.Tensor, loads: cutlass.Constexpr):
        vec = cutlass.const_expr(128 // mX.element_type.width)
        atom = cute.make_copy_atom(CopyUniversalOp(), mX.element_type, num_bits_per_copy=128)
        thr_layout = cute.make_layout((rows, threads), stride=(threads, 1))
        val_layout = cute.make_layout((1, vec), stride=(vec, 1))
        tiled_copy = cute.make_tiled_copy_tv(atom, thr_layout, val_layout)
        tiler_mn = (rows, threads * vec * loads)
        gX = cute.zipped_divide(mX, tiler_mn)  # ((TileM,TileN),(RestM,RestN))
        gY = cute.zipped_divide(mY, tiler_mn)  # as gX
        cX = cute.zipped_divide(cute.make_identity_tensor(mX.shape), tiler_mn)  # as gX
        vectors_kernel(gX, gY, cX, mX.shape, tiled_copy, softmax, warps).launch(
            grid=(gX.shape[1][0], 1, 1), block=(rows * threads, 1, 1)
        )

    return host


def compiled(softmax, x, y, warps=1, **options):
    """Compile for rows of x's length, which has to be whole vectors."""
    whole = {1: 16 // x.element_size()}
    loads = -(-x[0].nbytes // (16 * 32 * warps))
    specs = (fk.spec(x, divisible=whole), fk.spec(y, divisible=whole))
    return fk.compile(in_tiles(softmax, warps), *specs, loads, **options)


# %% [markdown]
# And the first of these functions, with the lines of `registers`:


# %%
@cute.jit
def largest(x):
    return x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)


@cute.jit
def total(x):
    return x.reduce(cute.ReductionOp.ADD, 0.0, 0)


@cute.jit
def vectors(x, warps):
    m = cute.arch.warp_reduction(largest(x), cute.arch.fmax)
    e = exp(x - m)
    s = cute.arch.warp_reduction(total(e), operator.add)
    return e / s


def right(softmax, warps=1, columns=(8, 136, 1000, 1024)):
    """Whether a step is right for the hard rows of these lengths, in all types."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for n in columns:
            x, y = hard_rows(n, dtype), fk.empty(7, n, dtype=dtype)
            compiled(softmax, x, y, warps)(x, y)
            if not fk.check(y, x.double().softmax(1)):
                return False
    return True


assert right(vectors)

# %% [markdown]
# Which element is in which register of which lane? A row of 100 `float32`, in both kernels; white is
# −∞.

# %%
figure, both = plt.subplots(1, 2, figsize=(9, 1.9), sharey=True)
columns = {
    "registers: lane + 32 k": [[lane + 32 * k for lane in range(32)] for k in range(4)],
    "vectors: 4 lane + k": [[4 * lane + k for lane in range(32)] for k in range(4)],
}
for axes, (title, places) in zip(both, columns.items(), strict=True):
    there = torch.tensor(places, dtype=torch.float32)
    there[there >= 100] = torch.nan
    image = axes.imshow(there, aspect="auto", cmap="viridis")
    axes.set(xlabel="lane", title=title, yticks=range(4))
both[0].set_ylabel("register")
figure.colorbar(image, ax=both, label="column")
plt.show()
x, y = fk.randn(1, 100), fk.empty(1, 100)
fk.footprint(compiled(vectors, x, y), x, y, by="thread", tensor="mX", kind="load")

# %% [markdown]
# > **Looks right and is wrong.** The next exercise is this kernel with one line changed: `fill(0.0)`
# > in place of −∞, as it was right for sums. With rows of 128, 256 or 1,024 it is right; with scores
# > around +20 it is right for every length, as e⁻²⁰ is nothing. It even passes masked rows.

# %% [markdown] exercise="week2/fix_the_fill" part="task"
# %% exercise="week2/fix_the_fill" part="skeleton"
# %% exercise="week2/fix_the_fill" part="grade"
# %% [markdown] exercise="week2/fix_the_fill" part="solution"

# %% [markdown]
# **Predict:** `registers` took 25 instructions an element for rows of 1,024 `float32`. How many does
# `vectors` take?

# %%
of_vectors = fk.predict("instructions an element, vectors", None)

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(8, 1024), fk.empty(8, 1024)
profile = cost("vectors", compiled(vectors, x, y), x)
of_vectors.against(round(costs["vectors"][2], 1))
profile

# %% [markdown]
# What an H200 can afford: a multiprocessor has four schedulers, and each starts one instruction of a
# warp in a clock. Suppose 1.8 GHz; memory delivers an element, and takes its result, in a certain
# time. How many instructions fit in?

# %%
lanes_a_second = 132 * 4 * 32 * 1.8e9
for name, element_bytes in (("float32", 4), ("bfloat16", 2)):
    elements_a_second = 4.8e12 / (2 * element_bytes)
    print(f"{name}: {lanes_a_second / elements_a_second:.0f} instructions an element")

# %% [markdown]
# That is the budget: above it, the kernel computes while memory waits. It is spent in machine
# instructions, though, and what a profile counts is PTX. Most PTX instructions become one of the
# machine; some do not. `run.code_bytes` is the length of the machine code, and an instruction has 16
# bytes.
#
# ## 4. An instruction less
#
# **The bad number: instructions of the machine.** Two lines of `vectors` are to blame. First the
# last one. **Predict:** what is the machine code of 32 divisions, `e / s`, in instructions for each?


# %%
@cute.jit
def reciprocal(x, warps):
    m = cute.arch.warp_reduction(largest(x), cute.arch.fmax)
    e = exp(x - m)
    s = cute.arch.warp_reduction(total(e), operator.add)
    return e * (1.0 / s)


assert right(reciprocal)
of_a_division = fk.predict("machine instructions more, for each division", None)


# %% jupyter={"outputs_hidden": true}
def machine(softmax, x, warps=1):
    """Machine instructions of the whole kernel, for each element of a thread."""
    run = compiled(softmax, x, x, warps)
    return run.code_bytes / 16 / (x.shape[1] / (32 * warps))


x = fk.randn(8, 1024)
for softmax in (vectors, reciprocal):
    ptx = compiled(softmax, x, x).ptx
    print(f"{softmax.__name__:>12}: {ptx.count('div.rn.f32')} divisions,", end=" ")
    print(f"{ptx.count('rcp.rn.f32')} reciprocals in the PTX", end=", ")
    print(f"{machine(softmax, x):.1f} machine instructions an element")
of_a_division.against(round(machine(vectors, x) - machine(reciprocal, x)))

# %% [markdown]
# The machine cannot divide. It has an approximate reciprocal, and a division that is exact to the
# last bit is a dozen instructions around it, with a way of its own for extreme numbers. One division
# for a row, and a multiplication an element, costs one more rounding, of 2⁻²⁴.
#
# Now the exponential, three instructions an element: subtract, multiply by log₂ e, take the power of
# two. The last is the only exponential that the machine has: `cute.math.exp2(x, fastmath=True)`. A
# bit of algebra makes two of the three:
#
# $$e^{x - m} = 2^{(x - m)\,\log_2 e} = 2^{x \log_2 e \;-\; m \log_2 e}$$
#
# The exponent is a multiplication and an addition, and these the machine does in one instruction, a
# **fused multiply-add**, FMA, with *one* rounding at its end. The second term is the same for the
# whole row.

# %%
LOG2_E = math.log2(math.e)


@cute.jit
def exp2(x):
    return cute.math.exp2(x, fastmath=True)


@cute.jit
def fma(x, a, b):
    """x · a + b, one instruction an element."""
    return cute.math.fma(x, cute.full_like(x, a), cute.full_like(x, b))


@cute.jit
def folded(x, warps):
    m = cute.arch.warp_reduction(largest(x), cute.arch.fmax)
    e = exp2(fma(x, LOG2_E, -m * LOG2_E))
    s = cute.arch.warp_reduction(total(e), operator.add)
    return e * (1.0 / s)


@cute.jit
def mul_sub(x, warps):
    m = cute.arch.warp_reduction(largest(x), cute.arch.fmax)
    e = exp2(x * LOG2_E - m * LOG2_E)
    s = cute.arch.warp_reduction(total(e), operator.add)
    return e * (1.0 / s)


# %% [markdown]
# > **Looks right and is wrong.** `mul_sub` says the same as `folded`, and is easier to read.
#
# **Predict:** which of the two is right for the hard rows? And how many of its seven rows does the
# other have wrong? (Where x is around 1,000, x · log₂ e is around 1,443, and `float32` rounds it to
# a multiple of 2⁻¹³.)

# %%
is_right = fk.predict("right: folded, mul_sub, both or none", None)
wrong_rows = fk.predict("rows that the other has wrong", None)

# %% jupyter={"outputs_hidden": true}
x, y = hard_rows(1000).cpu(), fk.empty(7, 1000, device="virtual")
want, errors = x.double().softmax(1), {}
for softmax in (folded, mul_sub):
    compiled(softmax, x, y, device="virtual")(x, y)
    errors[softmax.__name__] = ((y - want).abs() / want.clamp(min=1e-30)).nan_to_num().amax(1)
    print(f"{softmax.__name__:>8}, largest relative error of each row:", end=" ")
    print(*(f"{e:.0e}" for e in errors[softmax.__name__].tolist()))
good = [name for name in errors if (errors[name] < 1e-5).all()]
is_right.against(", ".join(good))
wrong_rows.against((errors["mul_sub"] >= 1e-5).sum().item())
assert right(folded)

# %% [markdown]
# Both subtract two numbers of the size of 1,443. In `mul_sub` each x · log₂ e is rounded before that,
# each in its own way, and the error stays in the exponent: 6 · 10⁻⁵, and more the larger the numbers.
# In the FMA nothing is rounded but the difference. The rounding of m · log₂ e remains, but that is
# *the same for all elements*: a common factor of the row, and the sum divides it out.
#
# Will it show on a GPU? The step from PTX to machine code fuses multiplications and subtractions by
# itself, where it may, and then `mul_sub` is right. One option of the compiler, `--fmad=false`, and it
# is not. What has to be fused had better be said.
#
# Count again:

# %%
x, y = fk.randn(8, 1024), fk.empty(8, 1024)
for softmax in (vectors, reciprocal, mul_sub, folded):
    name, run = softmax.__name__, compiled(softmax, x, y)
    cost(name, run, x)
    p = fk.profile(run, x, y)
    every = [i for line in p.all_lines for i in line.instructions]
    counted = {
        op: sum(i["warp_instructions"] for i in every if i.text.startswith(op)) * 32 / x.numel()
        for op in ("sub.", "mul.f32", "fma.", "ex2.", "div.", "ld.", "cvt.", "mad.", "shl.", "mov.")
    }
    print(" " * 24 + ", ".join(f"{op.rstrip('.')} {n:.1f}" for op, n in counted.items() if n > 0.2))
    print(" " * 24 + f"machine code: {machine(softmax, x):.1f} instructions an element")

# %% [markdown]
# `sub`, `mul` and `ex2` have become `fma` and `ex2`; the one `mul` that is left is the last line's.
# But more has gone than one instruction: `mad`, `cvt` and `shl` compute addresses. Behind each
# predicate the compiler had computed the address of its vector again, and with the FMA it does not.
# Nobody asked it to; such things are found by counting alone.

# %% [markdown] exercise="week2/temperature" part="task"
# %% exercise="week2/temperature" part="skeleton"
# %% exercise="week2/temperature" part="grade"
# %% [markdown] exercise="week2/temperature" part="solution"

# %% [markdown] exercise="week2/log2_softmax" part="task"
# %% exercise="week2/log2_softmax" part="skeleton"
# %% exercise="week2/log2_softmax" part="grade"
# %% [markdown] exercise="week2/log2_softmax" part="solution"

# %% [markdown]
# ## 5. How long may a row be?
#
# **The bad number: registers.** An element of a lane is one, and there are others beside them. The
# compiler says how many a thread has, without any GPU, and how much it had to **spill**: what finds
# no register goes to local memory and comes back later. At most 255 are allowed.

# %%
need = {}
for n in (256, 512, 1024, 2048, 4096):
    x = fk.randn(1, n)
    run = compiled(folded, x, x)
    need[n // 32] = run.registers
    print(f"rows of {n:5,}: {n // 32:3} elements a lane, {run.registers:3} registers", end=", ")
    print(f"{run.spill_bytes} bytes spilled")

# %% [markdown]
# **Predict:** from how many elements a lane on will it spill? And what does it matter before that?
# A multiprocessor has 65,536 registers for all its threads. The more each has, the fewer warps there
# are, and they have to keep memory busy: `03_bytes_in_flight` wanted 15 kB in flight in each.

# %%
spills_from = fk.predict("elements a lane that are too many", None)

# %% jupyter={"outputs_hidden": true}
x = fk.randn(1, 8192)
run = compiled(folded, x, x)
need[256] = run.registers
print(f"rows of 8,192: 256 elements a lane, {run.registers} registers, {run.spill_bytes} bytes spilled")
spills_from.against(256)

figure, axes = plt.subplots(figsize=(6.4, 2.6))
axes.plot(list(need), list(need.values()), "o-", label="registers of a lane")
axes.axhline(255, color="tab:red", linestyle=":", label="255: the most there are")
warps = {per_lane: min(64, 65536 // (32 * -(-r // 8) * 8)) for per_lane, r in need.items()}
for per_lane, there in warps.items():
    axes.annotate(f"{there} warps", (per_lane, need[per_lane]), (0, 7), textcoords="offset points",
                  ha="center", fontsize=8)  # fmt: skip
axes.set(xlabel="elements a lane", ylabel="registers", title="Room for so many warps", ylim=(0, 300))
axes.legend(loc="lower right", fontsize=8)
plt.show()

# %% [markdown]
# So a warp for a row is good up to some 1,000 elements, and impossible beyond 6,000 or so. More
# threads a row, then, and fewer elements for each. How many threads?

# %% [markdown] exercise="week2/threads_for" part="task"
# %% exercise="week2/threads_for" part="skeleton"
# %% exercise="week2/threads_for" part="grade"
# %% [markdown] exercise="week2/threads_for" part="solution"

# %% [markdown]
# ## 6. A block a row
#
# More than a warp has to meet in shared memory. First the maximum, as in `02_shuffle` of week 1: a
# word a warp, a barrier, and then every warp combines all of them, since every thread needs the
# result. And then the sum, in the same way. Between the two are the exponentials, as they were.


# %%
@cute.jit
def over_warps(value, op, sPart, warps: cutlass.Constexpr):
    """All-reduce of a block: value, combined over all its threads."""
    tidx, _, _ = cute.arch.thread_idx()
    value = cute.arch.warp_reduction(value, op)
    if tidx % 32 == 0:
        sPart[tidx // 32] = value
    cute.arch.sync_threads()
    return cute.arch.warp_reduction(sPart[tidx % warps], op, threads_in_group=warps)


@cute.jit
def two_exchanges(x, warps):
    smem = cutlass.memory.SmemAllocator()
    sMax = smem.allocate_tensor(Float32, cute.make_layout(warps), 16)  # (warps):(1)
    sSum = smem.allocate_tensor(Float32, cute.make_layout(warps), 16)  # (warps):(1)
    m = over_warps(largest(x), cute.arch.fmax, sMax, warps)
    e = exp2(fma(x, LOG2_E, -m * LOG2_E))
    s = over_warps(total(e), operator.add, sSum, warps)
    return e * (1.0 / s)


assert right(two_exchanges, warps=4, columns=(8, 1000, 2048))
x, y = fk.randn(2, 1000), fk.empty(2, 1000)
run_two = compiled(two_exchanges, x, y, 4)
fk.timeline(run_two, x, y)

# %% [markdown]
# **The bad number: two barriers.** At each of them all warps of a row wait for the slowest, and at the
# first they wait *before* they may begin with the exponentials: the row has to be there to its last
# byte. The pair (m, s) of `01_online` needs no maximum before it begins. So:
#
# 1. Each thread loads all its vectors at once. As they arrive, it goes through them one by one: the
#    maximum so far, the sum relative to it, rescaled for each *vector*, not for each element.
# 2. It keeps the exponentials in registers, and beside each vector the maximum they are relative to.
# 3. Lanes are merged by shuffles, warps through shared memory, with **one** barrier.
# 4. Each vector is multiplied by $2^{m_k - m} / s$, and written.
#
# One reading, one writing, one barrier, one exponential an element. That is the kernel this week has
# been about. It is yours:

# %% [markdown] exercise="week2/single_pass" part="task"
# %% exercise="week2/single_pass" part="skeleton"
# %% exercise="week2/single_pass" part="grade"
# %% [markdown] exercise="week2/single_pass" part="solution"

# %% [markdown]
# ## 7. Beside yours
#
# Here is another one, in the frame of this notebook, for any number of warps. All maxima are kept in
# units of powers of two, that is, multiplied by log₂ e.


# %%
@cute.jit
def finite(m):
    """What to subtract: the maximum, or 0 where there is none yet."""
    return Float32(0.0) if m == -Float32.inf else m


@cute.jit
def merged_lanes(m, s, lanes: cutlass.Constexpr):
    """(m, s) of each group of so many lanes, in all of them: rescaled to the largest, then added."""
    m_all = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=lanes)
    s = s * exp2(m - finite(m_all))
    return m_all, cute.arch.warp_reduction(s, operator.add, threads_in_group=lanes)


@cute.jit
def single_pass(x, warps):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    sMax = smem.allocate_tensor(Float32, cute.make_layout(warps), 16)  # (warps):(1)
    sSum = smem.allocate_tensor(Float32, cute.make_layout(warps), 16)  # (warps):(1)
    rE = cute.make_rmem_tensor(x.shape, Float32)  # ((Vec,1),1,loads)
    rE.store(x)
    loads = cutlass.const_expr(cute.size(rE, mode=[2]))
    rMax = cute.make_rmem_tensor(loads, Float32)  # (loads):(1)

    m, s = -Float32.inf, Float32(0.0)
    for k in cutlass.range_constexpr(loads):
        x_k = rE[None, 0, k].load()  # (Vec,1)
        m_new = cute.arch.fmax(m, largest(x_k) * LOG2_E)
        e = exp2(fma(x_k, LOG2_E, -finite(m_new)))
        s = s * exp2(m - finite(m_new)) + total(e)
        m = m_new
        rE[None, 0, k].store(e)
        rMax[k] = m

    m, s = merged_lanes(m, s, 32)
    if tidx % 32 == 0:
        sMax[tidx // 32], sSum[tidx // 32] = m, s
    cute.arch.sync_threads()
    m, s = merged_lanes(sMax[tidx % warps], sSum[tidx % warps], warps)

    scale = 1.0 / s
    for k in cutlass.range_constexpr(loads):
        rE[None, 0, k].store(rE[None, 0, k].load() * (exp2(rMax[k] - m) * scale))
    return rE.load()


assert right(single_pass, warps=4, columns=(8, 1000, 2048))
x, y = fk.randn(2, 1000), fk.empty(2, 1000)
run_single = compiled(single_pass, x, y, 4)
print(fk.sanitize(run_single, x, y, schedule="adversarial", seeds=2))
fk.timeline(run_single, x, y)

# %% [markdown]
# What a row occupies now: 1,000 elements in the registers of four warps, each beside its lane.

# %%
places = torch.tensor(
    [[128 * 4 * (k // 4) + 4 * t + k % 4 for t in range(128)] for k in range(8)], dtype=torch.float32
)
places[places >= 1000] = torch.nan
figure, axes = plt.subplots(figsize=(9, 1.9))
image = axes.imshow(places, aspect="auto", cmap="viridis")
for warp in range(1, 4):
    axes.axvline(32 * warp - 0.5, color="white")
axes.axhline(3.5, color="white", linestyle=":")
axes.set(xlabel="thread (white lines: warps)", ylabel="register", yticks=range(0, 8, 2))
axes.set_title("float32, 128 threads: a vector of the left half, a vector of the right half")
figure.colorbar(image, label="column")
plt.show()

# %%
x, y = fk.randn(4, 4096), fk.empty(4, 4096)
for softmax in (two_exchanges, single_pass):
    run = compiled(softmax, x, y, 4)
    p = cost(softmax.__name__, run, x)
    every = [i for line in p.all_lines for i in line.instructions]
    barriers = sum(i["warp_instructions"] for i in every if i.text.startswith("bar.sync")) // 16
    print(f"{'':22}  {barriers} barriers, {run.registers} registers, {run.spill_bytes} bytes spilled")

# %% [markdown]
# The steps, as they are measured on a GPU. A step takes part where it can: with at most 128 elements
# a lane for a warp a row, and 64 a thread for a block a row.


# %%
class Step:
    """A softmax with so many warps a row, for a matrix with rows of any length that it can hold."""

    def __init__(self, softmax, warps):
        self.softmax, self.warps = softmax, warps

    def calls(self, x, y):
        elements = x.shape[1] / (32 * self.warps)
        if not 4 <= elements <= (128 if self.warps == 1 else 64):
            raise ValueError(f"{elements:g} elements a thread")
        return partial(compiled(self.softmax, x, y, self.warps), x, y)


class Registers:
    def calls(self, x, y):
        if x.shape[1] > 128 * 32:
            raise ValueError("more than 128 elements a lane")
        return partial(fk.compile(registers, x, y, -(-x.shape[1] // 32)), x, y)


steps = {
    "online": online,
    "registers": Registers(),
    "vectors": Step(vectors, 1),
    "reciprocal": Step(reciprocal, 1),
    "mul_sub": Step(mul_sub, 1),
    "exp2": Step(folded, 1),
    "two_exchanges, 8 warps": Step(two_exchanges, 8),
    "single_pass, 4 warps": Step(single_pass, 4),
    "single_pass, 8 warps": Step(single_pass, 8),
    "single_pass, 16 warps": Step(single_pass, 16),
    "single_pass, 32 warps": Step(single_pass, 32),
}
