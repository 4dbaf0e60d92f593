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
# # Choose a softmax, and put more into it
#
# **You will build** the rule that picks a softmax for a row and a GPU, and two kernels with what
# usually stands around a softmax inside of them: a scale, a causal mask, a bias.
# **You will learn** what compilers make of one kernel for three generations of GPUs, how to read
# the production kernel, where it stands beside its peers, and how many bytes fusion saves.
# **You need** `00_softmax_without_tears` to `03_rows_that_do_not_fit`. About 35 minutes, and 90
# more for the exercises.
#
# The week has four softmaxes by now, and each is the right one somewhere: the row waits in
# registers, in the shared memory of a block, in that of a cluster, or nowhere and is read again. A
# caller brings any row, and any GPU. **The bad number: three kernels out of four are the wrong
# one.**

# %%
import collections
import inspect
import json
import math
import operator
import re
from pathlib import Path

import cutlass
import cutlass.cute as cute
import matplotlib.pyplot as plt
import torch
from cutlass import Float32

import forgekit as fk
from forgekit.kernels.rows import RowTile
from forgekit.kernels.softmax import Softmax
from forgekit.ops import softmax
from forgekit.ops.tile_choice import choose_rows

LOG2_E = math.log2(math.e)

# %% [markdown]
# ## 1. What a row weighs
#
# A row has two weights. In registers everything is `float32`, 4 bytes an element. In shared memory
# it stays what it is, as `cp.async` copies bytes and converts nothing. A multiprocessor of an H200
# has 64 K registers of 4 bytes; a block can have up to 227 KB of shared memory, and a cluster as
# many times that as it has blocks, 8 anywhere.
#
# **Predict:** a row of 32,768 `bfloat16`, kept in registers. How many percent of all registers of a
# multiprocessor does it take?

# %%
of_registers = fk.predict("percent of the registers", None)

# %% jupyter={"outputs_hidden": true}
KB = 1024
registers, of_block = 256 * KB, 227 * KB
print("                 registers   shared memory of a block   of a cluster of 8")
for n in (1024, 4096, 16_384, 32_768, 65_536, 262_144):
    for name, size in (("bfloat16", 2), ("float32", 4)):
        shares = (4 * n / registers, size * n / of_block, size * n / of_block / 8)
        words = (f"{share:.1%}" if share <= 1 else "too long" for share in shares)
        print(
            f"{n:9,} {name:9}",
            *(f"{word:>{w}}" for word, w in zip(words, (9, 15, 21), strict=True)),
        )
of_registers.against(100 * 4 * 32_768 / registers)

# %% [markdown]
# Half of them, for one row. Then there is room for one more row at best, and while its bytes are on
# their way, little else goes on. So a rule stays well below what would just fit: "too long" is the
# wrong question, "who else is there?" is the right one.
#
# This is what the rule in production says. It lies in one table, `forgekit/ops/tile_choice.py`,
# with the reason beside each line, and measures rows in vectors of 16 bytes:

# %%
WAYS = {"registers": "#009E73", "staged": "#56B4E9", "cluster": "#0072B2", "streaming": "#E69F00"}


def production(n, itemsize, clusters):
    """The way that forgekit takes for rows of n elements, whole vectors; and blocks a row."""
    choice = choose_rows("softmax", 4096, n, itemsize, 16 // itemsize, False, clusters)
    if choice.kernel in ("registers", "streaming"):
        return choice.kernel, choice.cluster
    return ("cluster" if choice.cluster > 1 else "staged"), choice.cluster


figure, axes = plt.subplots(figsize=(8, 2.5))
kinds = [
    ("float32, sm_80", 4, 1),
    ("float32, sm_90a", 4, 16),
    ("bfloat16, sm_80", 2, 1),
    ("bfloat16, sm_90a", 2, 16),
]
lengths = [2 ** (k / 4) for k in range(7 * 4, 20 * 4)]
for place, (_, itemsize, clusters) in enumerate(kinds):
    for n in lengths:
        way, _ = production(int(n) // 8 * 8, itemsize, clusters)
        axes.barh(place, n * (2**0.25 - 1), left=n, color=WAYS[way], height=0.7)
axes.set_xscale("log", base=2)
axes.set_xticks([2**k for k in range(7, 21, 2)], [f"{2**k:,}" for k in range(7, 21, 2)])
axes.set_yticks(range(4), [name for name, _, _ in kinds])
axes.set(xlabel="elements of a row", title="Where a row waits (forgekit's rule)")
patches = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in WAYS.values()]
axes.legend(patches, WAYS, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.3), frameon=False)
plt.show()

# %% [markdown]
# The choice is made from the bytes of a row and from what the GPU has. For `bfloat16` registers end
# earlier than for `float32`: there the exponentials take twice the row's own bytes, and shared
# memory does not. Where exactly one way ends and the next begins is measured, and looks like it: a
# band comes back where a run on an H200 said so.

# %% [markdown] exercise="week2/choose_softmax" part="task"
# ### Exercise 1: choose where a row waits
#
# Write `choose_softmax(n, dtype, arch)`, which returns `(way, blocks)` for rows of n elements on a
# GPU such as `"sm_90a"`: the first of these that is possible.
#
# 1. `"registers"`, 1 block: the row takes at most 64 KB as `float32`, a quarter of the registers of
#    a multiprocessor.
# 2. `"staged"`, 1 block: the row is whole vectors of 16 bytes, as `cp.async` wants them, and takes
#    at most 96 KB in its own type.
# 3. `"cluster"`, the fewest of 2, 4 and 8 blocks: as before, for the part of a block, and the GPU
#    has clusters, as all have from sm_90 on.
# 4. `"streaming"`, 1 block.
#
# 1 KB is 1,024 bytes.
#
# <details><summary>Hint 1</summary>
#
# A row has two sizes: in registers, where everything is float32, and in shared memory, where it
# stays what it is. `dtype.itemsize` is the size of an element.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Whole vectors are asked of the bytes of a row, and by two of the four ways. What is left to a row
# without them?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The line that asks for clusters needs the *number* in `arch`: 100 is more than 90, but the string
# 'sm_100a' sorts before 'sm_90a'.
#
# </details>


# %% exercise="week2/choose_softmax" part="skeleton"
def choose_softmax(n, dtype, arch):
    # FILL ME IN (roughly 12 lines)
    return "registers", 1


# %% exercise="week2/choose_softmax" part="grade"
fk.exercise("week2/choose_softmax").grade(choose_softmax)

# %% [markdown] exercise="week2/choose_softmax" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# def choose_softmax(n, dtype, arch):
#     held, asked = 64 * 1024, 96 * 1024  # bytes of a row in registers; of a block in shared memory
#     row = n * dtype.itemsize
#     if 4 * n <= held:
#         return "registers", 1
#     if row % 16 == 0:
#         if row <= asked:
#             return "staged", 1
#         if int(arch.strip("sm_af")) >= 90:
#             for blocks in (2, 4, 8):
#                 if row <= blocks * asked:
#                     return "cluster", blocks
#     return "streaming", 1
# ```
#
# A limit for each place where a row can wait, from the fastest to the slowest, and behind the last
# a kernel that keeps nothing. What the limits should be is measured: why 64 KB and not 256? Because
# whoever takes all registers is alone on his multiprocessor, and nobody loads while he computes.
# forgekit's own rule (`forgekit/ops/tile_choice.py`) has other numbers for each element size, and
# also chooses the threads; the order is the same.
#
# </details>

# %% [markdown]
# ## 2. One kernel, three generations
#
# The compiler runs without a GPU, and for any GPU: `arch` says for which. Here is a softmax as
# short as can be, a warp a row in registers; N is compiled in, and a multiple of 128. It has three
# parts, and which of them it has is a compile-time constant, which section 5 will need.


# %%
@cute.kernel
def chain_kernel(
    mX: cute.Tensor, mMask: cute.Tensor, scale: Float32, mY: cute.Tensor, parts: cutlass.Constexpr
):
    lane, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    gX, gMask, gY = (
        cute.local_tile(mT, (1, 4), (row, None))[0, None, None]  # ((4),N/4)
        for mT in (mX, mMask, mY)
    )
    loads = cutlass.const_expr(mX.shape[1] // 128)
    rX = cute.make_rmem_tensor((4, loads), Float32)  # (4,loads)
    for k in cutlass.range_constexpr(loads):
        rX[None, k].store(gX[None, lane + 32 * k].load())
    x = rX.load()
    if cutlass.const_expr("scale" in parts):
        x = x * scale
    if cutlass.const_expr("mask" in parts):
        for k in cutlass.range_constexpr(loads):
            rX[None, k].store(gMask[None, lane + 32 * k].load())
        x = x + rX.load()
    if cutlass.const_expr("softmax" in parts):
        m = cute.arch.warp_reduction_max(x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))
        e = cute.math.exp2((x - m) * LOG2_E, fastmath=True)
        s = cute.arch.warp_reduction_sum(e.reduce(cute.ReductionOp.ADD, 0.0, 0))
        x = e * (1.0 / s)
    rX.store(x)
    for k in cutlass.range_constexpr(loads):
        gY[None, lane + 32 * k].store(rX[None, k].load())


def chain(*parts):
    @cute.jit
    def host(mX: cute.Tensor, mMask: cute.Tensor, scale: Float32, mY: cute.Tensor):
        kernel = chain_kernel(mX, mMask, scale, mY, parts)
        kernel.launch(grid=(mX.shape[0], 1, 1), block=(32, 1, 1))

    return host


def compiled(host, x, mask, scale, y, arch="sm_90a"):
    specs = (fk.spec(t, static=[1], align=16) for t in (x, mask, y))
    sx, smask, sy = specs
    return fk.compile(host, sx, smask, scale, sy, device="virtual", arch=arch)


x, mask, y = (make(3, 256, device="virtual") for make in (fk.randn, fk.zeros, fk.empty))
ARCHS = ("sm_80", "sm_90a", "sm_100a")
runs = {arch: compiled(chain("softmax"), x, mask, 1.0, y, arch) for arch in ARCHS}
for run in runs.values():
    run(x, mask, 1.0, y)
    fk.check(y, x.double().softmax(1))

# %% [markdown]
# A lane has 8 elements. **Predict:** how many instructions that subtract the maximum from them does
# the compiler write for sm_80? And how many for sm_100a?

# %%
for_sm_80 = fk.predict("subtractions of a lane, sm_80", None)
for_sm_100 = fk.predict("subtractions of a lane, sm_100a", None)

# %% jupyter={"outputs_hidden": true}
INSTRUCTION = re.compile(r"^\s*(?:@!?%p\d+ )?([a-z]\w*(?:\.[\w:]+)*)\s", re.MULTILINE)


def counted(run):
    """Instruction -> how often it stands in the PTX."""
    return collections.Counter(INSTRUCTION.findall(run.ptx))


counts = {arch: counted(run) for arch, run in runs.items()}
for arch, prediction in (("sm_80", for_sm_80), ("sm_100a", for_sm_100)):
    prediction.against(sum(n for name, n in counts[arch].items() if name.startswith("sub.f32")))
names = sorted(set().union(*counts.values()))
print(f"{'':28}", *(f"{arch:>8}" for arch in ARCHS))
for name in names:
    found = [counts[arch][name] for arch in ARCHS]
    if max(found) > 2:
        print(f"{name:28}", *(f"{n or '–':>8}" for n in found))
print(f"{'all':28}", *(f"{sum(counts[arch].values()):8}" for arch in ARCHS))
print(f"{'bytes of machine code':28}", *(f"{runs[arch].code_bytes:8,}" for arch in ARCHS))
plain = [[line for line in runs[arch].ptx.splitlines() if line.startswith("\t")] for arch in ARCHS]
print("\nsm_80 and sm_90a have the same instructions:", plain[0] == plain[1])
for arch in ARCHS[1:]:
    print(
        f"{arch}:", next(line.strip() for line in runs[arch].ptx.splitlines() if "max.NaN" in line)
    )

# %% [markdown]
# The same Python. For sm_80 and sm_90a it is the same PTX, instruction by instruction. For sm_100a
# the compiler takes some that these have not: `sub.f32x2` and `mul.f32x2` compute with two numbers
# in a pair of registers, and `max` takes three. `ex2` stays what it was, one for each element: it
# is the part of a softmax that does not get cheaper.
#
# What Hopper added has to be *asked for*, and so it is in other kernels. Three rows on three
# generations, by the kernel that `forgekit.ops.softmax` picks for each:


# %%
def of_production(n, arch):
    """The kernel that forgekit.ops.softmax compiles for rows of n float32, and its profile."""
    x = fk.randn(4, n, device="virtual")
    with fk.use_target("virtual", arch=arch):
        fk.cache_clear()
        y = softmax(x)
        (run,) = fk.cache_info()
        return run, fk.profile(run, x, y), x


FEATURES = ("cp.async.cg", "st.async", "mapa", "expect_tx", "f32x2")
print(f"{'row, float32':>12} {'for':8} {'way':>10} {'× read':>7}", *(f"{f:>12}" for f in FEATURES))
for n in (1024, 20_480, 65_536):
    for arch in ARCHS:
        run, profile, x = of_production(n, arch)
        way, blocks = production(n, 4, 1 if arch == "sm_80" else 16)
        read = 32 * profile["global_load_sectors"] / x.nbytes
        there = [sum(c for name, c in counted(run).items() if f in name) for f in FEATURES]
        print(f"{n:12,} {arch:8} {way:>10} {read:7.2f}", *(f"{c or '–':>12}" for c in there))

# %% [markdown]
# `st.async` writes into another block's shared memory, at an address that `mapa` computes, and
# tells an mbarrier there; `expect_tx` is how that barrier was told of the bytes. A cluster asked of
# sm_80 does not compile; `softmax` therefore streams there, and says so to whoever insists on one.

# %% [markdown] exercise="week2/which_arch" part="task"
# ### Exercise 2: say what needs which GPU
#
# Eight things that a softmax may do. For which of the three architectures, `"sm_80"`, `"sm_90a"`,
# `"sm_100a"`, does the compiler do each of them first, in the order of time? The tables above have
# it all.
#
# <details><summary>Hint 1</summary>
#
# For each, find the instruction that does it, then the first column in which it stands.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `mbarrier.arrive.expect_tx` tells a barrier of bytes, `st.async` and `mapa` are about another
# block's shared memory, `x2` is about two numbers at once.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# For the row that is read once, the last table has the bytes; for the maximum of 8 registers, count
# `max.NaN.f32` in the table of the short kernel, where a lane has 8.
#
# </details>

# %% exercise="week2/which_arch" part="skeleton"
oldest = {
    # FILL ME IN (roughly 8 lines)
    "lanes exchange maxima without shared memory": None,
    "a row of 20,480 float32 is copied past the registers": None,
    "a row of 65,536 float32 is read once": None,
    "a barrier counts bytes": None,
    "a block writes to another block's shared memory": None,
    "8 registers have their maximum in 4 instructions": None,
    "a lane subtracts from 8 elements in 4 instructions": None,
    "exp2 is one instruction": None,
}

# %% exercise="week2/which_arch" part="grade"
fk.exercise("week2/which_arch").grade(oldest)

# %% [markdown] exercise="week2/which_arch" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# oldest = {
#     "lanes exchange maxima without shared memory": "sm_80",
#     "a row of 20,480 float32 is copied past the registers": "sm_80",
#     "a row of 65,536 float32 is read once": "sm_90a",
#     "a barrier counts bytes": "sm_90a",
#     "a block writes to another block's shared memory": "sm_90a",
#     "8 registers have their maximum in 4 instructions": "sm_100a",
#     "a lane subtracts from 8 elements in 4 instructions": "sm_100a",
#     "exp2 is one instruction": "sm_80",
# }
# ```
#
# Three kinds of difference. sm_90 added *ways* that a kernel has to ask for: clusters, barriers
# that count bytes. A kernel that asks for none of them compiles to the same PTX for sm_80 and
# sm_90a. sm_100 added *instructions* that the compiler takes by itself, in the same source: two
# float32 operations at once, the maximum of three. And which way is taken is a decision of the
# host, made before anything is compiled.
#
# </details>

# %% [markdown]
# ## 3. The production kernel, read aloud
#
# This is the kernel that `forgekit.ops.softmax` runs for rows in registers, as it stands in the
# library. Read it once and look for what you know; then go on.

# %%
source = inspect.getsource(Softmax)
print(source[source.index("    @cute.kernel") :])

# %% [markdown]
# | lines | what it is | where you wrote it |
# |---|---|---|
# | `tile.reduction_buffer(2)` | shared memory for (m, s) of a row's warps | `01_online` |
# | `row_and_lane`, `valid` | whose row; threads beyond the last store nothing | week 1, `05` |
# | `whole_vectors` | a row that begins anywhere: its first whole vector | week 1, `05` |
# | `tiled_copy`, `partition_S` | the TV layout: which vectors are this thread's | `02`, `vectors` |
# | `tXcX`, `tXpX` | coordinates of these vectors, and which of them exist | `02`, `vectors` |
# | `fill_tail(…, -inf)` | what is not loaded changes neither maximum nor sum | `02` |
# | `cute.copy(…, pred=tXpX)` | the only read | `02` |
# | `load_unaligned` | the elements outside whole vectors, one a thread | week 1, `05` |
# | `warp_reduce(m, fmax)` | a *warp's* maximum; then exponentials relative to it | `02` |
# | `reduce_warps` | (m, s) of all warps, merged: one exchange, one barrier | `01`, `02` |
# | `exp(m - m_row)` | from the warp's maximum to the row's, in one factor | `single_pass` |
#
# Three things are worth a second look. Exponentials are computed *before* the exchange, relative to
# what the warp knows, so nobody waits for a maximum; the correction costs one exponential a thread,
# and joins the division. `finite_max` turns −∞ into 0 where a warp has no element yet: −∞ − −∞
# again. And all that depends on the shape is in `tile`, fixed at compile time: its `if`s leave no
# instruction.
#
# How the results of warps come together, in a block or in a cluster:

# %%
source = inspect.getsource(RowTile)
start = source.index("    def exchange(")
print(source[start : source.index("    @", start)])

# %% [markdown]
# The branch at its end is `03_rows_that_do_not_fit` in six lines: lane k of each warp sends the
# warp's (m, s) to block k of the cluster, and an mbarrier in every block waits for the bytes of
# all.
#
# ## 4. Beside torch, torch.compile and quack
#
# `forgekit bench` runs the operators beside their peers on a GPU, checks every result and writes a
# file. This one was recorded on an H200 and lies in the repository beside the book's pages; where
# you have the notebooks alone, the cell says so.

# %%
measured = Path("../book/measured/softmax_h200.json")
CONTENDERS = ("torch", "torch.compile", "quack", "forgekit")
rates = {}
if measured.exists():
    told = json.loads(measured.read_text())
    for row in told["rows"]:
        if row["op"] == "softmax" and row["dim"] == -1 and row["status"] == "ok":
            place = (*row["shape"], row["dtype"])
            rates.setdefault(place, {})[row["contender"]] = row["percent_of_ceiling"]
    print(f"NVIDIA H200, {told['date']}, percent of what a copy of 1 GB reaches\n")
    print(f"{'rows of':>17}  {'':9}", *(f"{name:>13}" for name in CONTENDERS))
    for (m, n, dtype), r in sorted(rates.items(), key=lambda item: (item[0][2], item[0][1])):
        print(
            f"{m:>7} × {n:<7}  {dtype:9}",
            *(f"{r[c]:13.0f}" if c in r else f"{'–':>13}" for c in CONTENDERS),
        )
else:
    print("book/measured/softmax_h200.json is not here; it is in the repository.")

# %%
MARKS = dict(zip(CONTENDERS, "o^sD", strict=True))
figure, panels = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True)
for axes, dtype in zip(panels, ("bfloat16", "float32"), strict=True):
    large = {p: r for p, r in rates.items() if p[2] == dtype and p[0] * p[1] >= 2**23}
    for name in CONTENDERS:
        lengths = [p[1] for p, r in large.items() if name in r]
        heights = [r[name] for r in large.values() if name in r]
        axes.plot(lengths, heights, MARKS[name], alpha=0.8, label=name)
    axes.set_xscale("log", base=2)
    axes.set(title=dtype, xlabel="elements of a row (8 million or more in all)", ylim=(0, 110))
    axes.set_xticks([2**k for k in range(10, 19, 2)], [f"{2**k:,}" for k in range(10, 19, 2)])
    axes.grid(alpha=0.3)
panels[0].set_ylabel("% of a copy's GB/s")
figure.tight_layout(rect=(0, 0, 1, 0.9))
if rates:
    figure.legend(
        *panels[0].get_legend_handles_labels(), ncols=4, loc="upper center", frameon=False
    )
plt.show()

# %% [markdown]
# 100 is a softmax that costs what a copy of x costs: one read, one write, and nothing else shows.
# Where the calls are small, nobody is near 100: a launch and the latency of the first byte weigh
# more than the bytes. And where are we behind? Whoever prints a table like this should print that,
# too:

# %%
behind = [
    (r[peer] / r["forgekit"] - 1, peer, place)
    for place, r in rates.items()
    for peer in CONTENDERS[:3]
    if peer in r and "forgekit" in r and r[peer] > 1.01 * r["forgekit"]
]
for more, peer, (m, n, dtype) in sorted(behind, reverse=True):
    print(f"{m:,} × {n:,} {dtype}: {peer} is {more:.0%} faster")
compared = sum(len(r) - 1 for r in rates.values())
print(f"{len(behind)} of {compared} comparisons are lost by more than 1 %")
host = Path("../book/measured/host_h200.json")
if host.exists():
    spent = json.loads(host.read_text())["host_us"]["softmax"]
    print("on the CPU, before the GPU has anything to do, a call takes")
    print(", ".join(f"{name} {us} µs" for name, us in spent.items()))

# %% [markdown]
# The last line belongs to a table of speed, too. A call that takes 6 µs on the GPU is limited by
# the Python before it, whatever the kernel does. CUDA graphs take that away, and fusion takes away
# whole calls.
#
# A shape at which one is behind, or hardly ahead, is a place to look: all configurations that come
# into question, in turn, in one run. A later run did that for 2,048 × 1,024 `bfloat16`, where the
# table above has quack close behind, with quack's kernel and the rule's old choice among them. Its
# calls are in CUDA graphs, without what a launch costs the CPU, so differences between kernels show
# that the table above hides:

# %%
tried = Path("../book/measured/softmax_rows_h200.json")
if tried.exists():
    rows = json.loads(tried.read_text())["rows"]
    rows = [r for r in rows if (*r["shape"], r["dtype"]) == (2048, 1024, "bfloat16")]
    for r in sorted((r for r in rows if r["op"] == "softmax"), key=lambda r: r["us"]):
        numbers = (f"{r[k]:3} {k}" for k in ("threads", "rows", "loads", "registers") if k in r)
        print(f"{r['us']:5.2f} µs  {r['kernel']:18}", *numbers)
else:
    print("book/measured/softmax_rows_h200.json is not here; it is in the repository.")

# %% [markdown]
# `rows` are those of a block, `loads` the vectors of a thread. A row is 128 vectors, and the old
# choice gave 8 each to 16 threads. One each to 128 threads takes a seventh less time, with 24
# registers in place of 80. A rule is a table of such runs.
#
# ## 5. What fusion saves
#
# A softmax hardly ever comes alone. In attention the scores are scaled, then masked, then
# normalised, and as three operators that is this kernel three times, with one part each. **Fusion**
# makes one kernel of them, with three parts.
#
# **Predict** for a matrix of 256 × 512 `float32`, half a megabyte, and a mask of the same size and
# type: how many times the bytes of the matrix do the three move, read and written together? And the
# fused one?

# %%
three_move = fk.predict("× the bytes of x, three operators", None)
one_moves = fk.predict("× the bytes of x, fused", None)

# %% jupyter={"outputs_hidden": true}
x, y = fk.randn(256, 512, device="virtual"), fk.empty(256, 512, device="virtual")
causal = torch.full((256, 512), -math.inf).triu(257)  # row m keeps columns up to m + 256
mask = fk.zeros(256, 512, device="virtual").copy_(causal)


def moved(run, *args):
    """Run it; bytes of all sectors loaded and stored, in those of x."""
    run(*args)
    profile = fk.profile(run, *args)
    sectors = profile["global_load_sectors"] + profile["global_store_sectors"]
    return 32 * sectors / x.nbytes


operators = {}
last = x
for part in ("scale", "mask", "softmax"):
    out = fk.empty(256, 512, device="virtual")
    operators[part] = moved(compiled(chain(part), last, mask, 0.125, out), last, mask, 0.125, out)
    last = out
fused = moved(compiled(chain("scale", "mask", "softmax"), x, mask, 0.125, y), x, mask, 0.125, y)
fk.check(y, (x.double() * 0.125 + causal).softmax(1))
fk.check(last, y)
three_move.against(sum(operators.values()))
one_moves.against(fused)
print({part: round(times, 2) for part, times in operators.items()}, "fused:", round(fused, 2))

# %% [markdown]
# Of seven times x three are left, and a launch of three. Nothing was computed differently: scale
# and mask are two instructions an element, on numbers that are in registers anyway. As memory is
# all that these kernels wait for, bytes are what fusion saves; `torch.compile` finds this by
# itself.
#
# How much time is that on an H200? It can be predicted from the counts of a sample of blocks. Here
# is the scale alone, one of the three operators, on 16,384 rows of 512:

# %%
x, y, mask = (fk.empty(16_384, 512, device="virtual") for _ in range(3))
fk.profile(compiled(chain("scale"), x, mask, 0.125, y), x, mask, 0.125, y, blocks=16).time("H200")

# %% [markdown] exercise="week2/one_launch_or_bytes" part="task"
# ### Exercise 3: choose between fewer launches and fewer bytes
#
# `softmax(scale · x + bias)` over rows of 512 float32, as three launches, each of which reads a
# matrix and writes one, or fused. Times are predicted for an H200.
#
# | | launches | rows | moved | exponentials | predicted |
# |---|---|---|---|---|---|
# | A | 3 | 16,384 | 201 MB | 8,388,608 | 57 µs |
# | B | 3 | 64 | 0.8 MB | 32,768 | 7.8 µs |
# | C | 1 | 16,384 | 67 MB | 8,388,608 | 19 µs |
#
# Memory moves 5.1 MB in a microsecond. The first launch costs 3.7 µs and each one after it 1 µs.
# All multiprocessors together compute 4 million exponentials in a microsecond. What bounds each
# call: `"device memory"`, `"the launch itself"` or `"special functions"`? And which change shortens
# it most: `"one launch"`, or all matrices in `"bfloat16"`?
#
# <details><summary>Hint 1</summary>
#
# Compute three quotients for each call: bytes by rate, exponentials by rate, and what its launches
# cost.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The launches of A and B cost the same. What else does B do?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# For the change: by what factor does it shorten the longest bound? Three launches move six times
# the bytes of x, one moves two.
#
# </details>

# %% exercise="week2/one_launch_or_bytes" part="skeleton"
diagnosis = {
    # FILL ME IN (roughly 6 lines)
    "A": None,  # "device memory", "the launch itself" or "special functions"
    "B": None,
    "C": None,
    "change of A": None,  # "one launch" or "bfloat16"
    "change of B": None,
    "change of C": None,
}

# %% exercise="week2/one_launch_or_bytes" part="grade"
fk.exercise("week2/one_launch_or_bytes").grade(diagnosis)

# %% [markdown] exercise="week2/one_launch_or_bytes" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# diagnosis = {
#     "A": "device memory",
#     "B": "the launch itself",
#     "C": "device memory",
#     "change of A": "one launch",
#     "change of B": "one launch",
#     "change of C": "bfloat16",
# }
# ```
#
# **A**: 201 / 5.1 = 40 µs of memory. One launch moves a third of that, `bfloat16` half. **B** takes
# as long as its launches: 5.7 µs, and the waiting of three small kernels; fewer bytes change
# nothing. **C** has 13 µs of memory left, and no second launch to save: there bytes are all that is
# left to save. Fusing is the better change in both A and B, and for two different reasons.
#
# </details>

# %% [markdown] exercise="week2/fuse_three" part="task"
# ### Exercise 4: halve the time of three launches
#
# `y[m, :] = softmax(scale · x[m, :] + bias)`, for rows of 512 float32, with the same bias for all
# rows. Three launches compute it: scale and bias, exponentials, division; each of them reads a
# matrix and writes one, 16 bytes a lane in whole sectors. Halve the predicted time on an H200 for
# 16,384 rows. The **whole interval** has to lie below half of what the given launches take
# together. Called as `fuse_three(x, bias, scale, y)`. Look at the bounds after each change:
#
# `fk.profile(*fk.exercise("week2/fuse_three").failed, blocks=16).time("H200")`
#
# <details><summary>Hint 1</summary>
#
# How many times the bytes of x do the three launches move, and what is the least?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Where could a row wait between two of the steps, if not in y? A lane has 16 elements.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In the line `write(rY, mY, row)` of the first two kernels the row leaves the registers, only to
# come back. `rY` already holds what the next step wants.
#
# </details>


# %% exercise="week2/fuse_three" part="skeleton"
@cute.jit
def read(mT: cute.Tensor, row: cutlass.Int32):
    """The 16 elements of a row of 512 that this lane has, in vectors of 4."""
    gT = cute.local_tile(mT, (1, 4), (row, None))  # (1,4,128)
    rT = cute.make_rmem_tensor((4, 4), Float32)
    for k in cutlass.range_constexpr(4):
        rT[None, k].store(gT[0, None, cute.arch.lane_idx() + 32 * k].load())
    return rT


@cute.jit
def write(rT: cute.Tensor, mT: cute.Tensor, row: cutlass.Int32):
    """Store what `read` has read."""
    gT = cute.local_tile(mT, (1, 4), (row, None))  # (1,4,128)
    for k in cutlass.range_constexpr(4):
        gT[0, None, cute.arch.lane_idx() + 32 * k].store(rT[None, k].load())


# FILL ME IN (roughly 19 lines)
@cute.kernel
def biased_kernel(mX: cute.Tensor, mBias: cute.Tensor, scale: Float32, mY: cute.Tensor):
    row, _, _ = cute.arch.block_idx()
    rY = read(mX, row)
    rY.store(rY.load() * scale + read(mBias, 0).load())
    write(rY, mY, row)


@cute.kernel
def powers_kernel(mY: cute.Tensor):
    row, _, _ = cute.arch.block_idx()
    rY = read(mY, row)
    m = rY.load().reduce(cute.ReductionOp.MAX, -Float32.inf, 0)
    m = cute.arch.warp_reduction(m, cute.arch.fmax)
    rY.store(cute.math.exp(rY.load() - m, fastmath=True))
    write(rY, mY, row)


@cute.kernel
def divided_kernel(mY: cute.Tensor):
    row, _, _ = cute.arch.block_idx()
    rY = read(mY, row)
    s = rY.load().reduce(cute.ReductionOp.ADD, 0.0, 0)
    s = cute.arch.warp_reduction(s, operator.add)
    rY.store(rY.load() * (1.0 / s))
    write(rY, mY, row)


@cute.jit
def fuse_three(mX: cute.Tensor, mBias: cute.Tensor, scale: Float32, mY: cute.Tensor):
    grid, block = (mX.shape[0], 1, 1), (32, 1, 1)
    biased_kernel(mX, mBias, scale, mY).launch(grid=grid, block=block)
    powers_kernel(mY).launch(grid=grid, block=block)
    divided_kernel(mY).launch(grid=grid, block=block)


# %% exercise="week2/fuse_three" part="grade"
fk.exercise("week2/fuse_three").grade(fuse_three)

# %% [markdown] exercise="week2/fuse_three" part="solution"
# <details><summary>Solution of exercise 4</summary>
#
# ```python
# @cute.jit
# def read(mT: cute.Tensor, row: cutlass.Int32):
#     """The 16 elements of a row of 512 that this lane has, in vectors of 4."""
#     gT = cute.local_tile(mT, (1, 4), (row, None))  # (1,4,128)
#     rT = cute.make_rmem_tensor((4, 4), Float32)
#     for k in cutlass.range_constexpr(4):
#         rT[None, k].store(gT[0, None, cute.arch.lane_idx() + 32 * k].load())
#     return rT
#
#
# @cute.jit
# def write(rT: cute.Tensor, mT: cute.Tensor, row: cutlass.Int32):
#     """Store what `read` has read."""
#     gT = cute.local_tile(mT, (1, 4), (row, None))  # (1,4,128)
#     for k in cutlass.range_constexpr(4):
#         gT[0, None, cute.arch.lane_idx() + 32 * k].store(rT[None, k].load())
#
#
# @cute.kernel
# def fused_kernel(mX: cute.Tensor, mBias: cute.Tensor, scale: Float32, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row = bidx * 4 + tidx // 32
#     if row < mX.shape[0]:
#         rY = read(mX, row)
#         x = rY.load() * scale + read(mBias, 0).load()
#         m = x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)
#         m = cute.arch.warp_reduction(m, cute.arch.fmax)
#         e = cute.math.exp(x - m, fastmath=True)
#         s = e.reduce(cute.ReductionOp.ADD, 0.0, 0)
#         s = cute.arch.warp_reduction(s, operator.add)
#         rY.store(e * (1.0 / s))
#         write(rY, mY, row)
#
#
# @cute.jit
# def fuse_three(mX: cute.Tensor, mBias: cute.Tensor, scale: Float32, mY: cute.Tensor):
#     grid, block = (cute.ceil_div(mX.shape[0], 4), 1, 1), (128, 1, 1)
#     fused_kernel(mX, mBias, scale, mY).launch(grid=grid, block=block)
# ```
#
# Three launches read and write a matrix each: six times the bytes of x. One launch reads x once and
# writes y once, a third of that. To fuse only two of the three leaves four times the bytes, which
# is two thirds of the time. The block size hardly matters for what is bound by memory; where a
# block is one warp, the start of 16,384 blocks takes 10 µs for each launch, which is not what
# bounds them. (These times are predicted for an H200, not measured.)
#
# </details>

# %% [markdown]
# Two of the three are still to be had. A **causal mask** says for row and column what is kept, and
# a kernel knows both, so the mask need not be read. And what the mask removes need not be read
# either.
#
# > **Looks right and is wrong.** `02_the_row_in_registers` folds log₂ e into one multiplication.
# > Why not the scale, too: the maximum of x first, then `exp2((x - m) * (scale * LOG2_E))`? One
# > multiplication less for each element.


# %%
@cute.kernel
def folded_kernel(mX: cute.Tensor, scale: Float32, mY: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    x = mX[row, lane]
    m = cute.arch.warp_reduction_max(x)
    e = cute.math.exp2((x - m) * (scale * LOG2_E), fastmath=True)
    mY[row, lane] = e / cute.arch.warp_reduction_sum(e)


@cute.jit
def folded(mX: cute.Tensor, scale: Float32, mY: cute.Tensor):
    folded_kernel(mX, scale, mY).launch(grid=(mX.shape[0], 1, 1), block=(32, 1, 1))


scores, y = fk.randn(4, 32) * 10, fk.empty(4, 32)
run = fk.compile(folded, scores, 1.0, y)
for scale in (0.125, 1.0, -0.125, -1.0, -8.0):
    run(scores, scale, y)
    off = (y - (scores.double() * scale).softmax(1)).abs().max()
    print(f"scale {scale:6}: off by {off:.1e} at most, {int(y.isnan().sum())} of 128 are NaN")

# %% [markdown]
# > Right for every positive scale, and for small negative ones: any number may be subtracted
# > (`00_softmax_without_tears`). But for a negative scale (a *softmin*, a learnt temperature) the
# > largest x is the *smallest* scaled score. Subtracting it makes all exponents positive, and one
# > day they overflow. The maximum has to be that of what is exponentiated.
#
# The same mistake with a mask: the maximum of a whole row, and then the mask. Where the largest
# score is one that is masked, what is kept becomes 0 / 0. The next exercise has both of them
# waiting.

# %% [markdown] exercise="week2/causal_softmax" part="task"
# ### Exercise 5: fuse scale and causal mask into the row
#
# Row m of `x` are the scores of query m for all keys, and a query sees no later key than itself.
# With M queries for the last M of N keys, N ≥ M, row m keeps the columns up to m + N − M:
#
# `y[m, n] = exp(scale · x[m, n]) / Σ exp(scale · x[m, k])`, the sum over k ≤ m + N − M; 0 beyond.
#
# One read and one write, no mask tensor, the row in registers. N is
# at most 512. What is beyond the diagonal may be anything, NaN too, and is not to be loaded. The
# scale may be negative. `causal_softmax(x, scale: Float32, y)`, float32 and bfloat16.
#
# **Asked**: one warp per row.
#
# <details><summary>Hint 1</summary>
#
# The mask is a predicate on row and column. What does a register hold that is not loaded, so that
# it changes neither the maximum nor the sum?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Loop with `cutlass.range_constexpr(16)` over a register tensor: element k of a lane stands 32 k
# columns to the right of its first. After the load, everything else is softmax in registers, and
# the store has a predicate of its own.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The scale belongs into the line that loads, before the maximum: the largest of `scale * x` is not
# `scale` times the largest of x where the scale is negative.
#
# </details>


# %% exercise="week2/causal_softmax" part="skeleton"
@cute.kernel
def causal_softmax_kernel(mX: cute.Tensor, scale: Float32, mY: cute.Tensor):
    # FILL ME IN (roughly 20 lines)
    pass


@cute.jit
def causal_softmax(mX: cute.Tensor, scale: Float32, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/causal_softmax" part="grade"
fk.exercise("week2/causal_softmax").grade(causal_softmax)

# %% [markdown] exercise="week2/causal_softmax" part="solution"
# <details><summary>Solution of exercise 5</summary>
#
# ```python
# @cute.kernel
# def causal_softmax_kernel(mX: cute.Tensor, scale: Float32, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row, lane = bidx * 4 + tidx // 32, tidx % 32
#     M, N = mX.shape
#     if row < M:
#         rX = cute.make_rmem_tensor(16, Float32)
#         rX.fill(-Float32.inf)
#         for k in cutlass.range_constexpr(16):
#             col = lane + 32 * k
#             if col <= row + N - M:
#                 rX[k] = mX[row, col].to(Float32) * scale
#         x = rX.load()
#         m = cute.arch.warp_reduction_max(x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))
#         e = cute.math.exp2((x - m) * math.log2(math.e), fastmath=True)
#         s = cute.arch.warp_reduction_sum(e.reduce(cute.ReductionOp.ADD, 0.0, 0))
#         rX.store(e * (1.0 / s))
#         for k in cutlass.range_constexpr(16):
#             col = lane + 32 * k
#             if col < N:
#                 mY[row, col] = rX[k].to(mY.element_type)
#
#
# @cute.jit
# def causal_softmax(mX: cute.Tensor, scale: Float32, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 4)
#     causal_softmax_kernel(mX, scale, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# Counted for 128 × 128 float32: of 2,048 sectors of `x` 1,088 are read, and each of `y` is written
# once. Three operators after each other (scale, add a mask of 0 and −∞, softmax) read four matrices
# and write three. A mask that is a formula of row and column costs a comparison. Flash attention
# goes one step further: it skips whole tiles beyond the diagonal, and does not write the scores at
# all.
#
# </details>

# %% [markdown]
# What it saves, counted with the course's solution, for as many queries as keys:

# %%
n = 256
x, y = fk.randn(n, n, device="virtual"), fk.empty(n, n, device="virtual")
mask = fk.zeros(n, n, device="virtual").copy_(torch.full((n, n), -math.inf).triu(1))
bars = {}
last = x
for part in ("scale", "mask", "softmax"):
    out = fk.empty(n, n, device="virtual")
    bars[f"{part} alone"] = moved(
        compiled(chain(part), last, mask, 0.125, out), last, mask, 0.125, out
    )
    last = out
whole = compiled(chain("scale", "mask", "softmax"), x, mask, 0.125, y)
solution = fk.exercise("week2/causal_softmax").reference()
causal_run = fk.compile(solution, x, 0.125, y, device="virtual")
totals = {
    "three operators": sum(bars.values()),
    "fused, mask read": moved(whole, x, mask, 0.125, y),
    "fused, mask computed": moved(causal_run, x, 0.125, y),
}
fk.check(y, last)

figure, axes = plt.subplots(figsize=(7.5, 1.9))
left = 0.0
for (name, times), colour in zip(bars.items(), ("#E69F00", "#D55E00", "#CC79A7"), strict=True):
    axes.barh(2, times, left=left, color=colour, edgecolor="white")
    axes.text(left + times / 2, 2, name, ha="center", va="center", fontsize=8)
    left += times
for place, name in ((1, "fused, mask read"), (0, "fused, mask computed")):
    axes.barh(place, totals[name], color="#009E73")
for place, times in zip((2, 1, 0), totals.values(), strict=True):
    axes.text(times + 0.05, place, f"{times:.2f} × x", va="center", fontsize=9)
axes.set_yticks((2, 1, 0), totals)
axes.set(xlim=(0, 8), xlabel="bytes moved, in bytes of x")
plt.show()
print({name: round(times, 2) for name, times in totals.items()})

# %% [markdown]
# A little more than half of x is read, as a sector that the diagonal cuts through comes as a whole.
# What is left to save? The write. Whoever needs the probabilities only to multiply them with
# something does not have to write them: that is flash attention, and `06_practice` ends at its
# door.
#
# The second exercise goes to the other end of the lengths: rows so short that a warp is too much
# for them, and many of them. What stands in front of the softmax there is a bias.

# %% [markdown] exercise="week2/router_softmax" part="task"
# ### Exercise 6: serve short rows, with a bias
#
# A *router* sends each token to a few of N experts, by the softmax of its N scores plus a bias for
# each expert: `y[m, n] = exp(x[m, n] + b[n]) / Σ exp(x[m, k] + b[k])`. Rows are short, N is at most
# 64, and there are many: four of them share a warp, the row in registers, x read once.
# `router_softmax(x, b, y)`, all of one type, float32 or float16, computed in float32, x + b too. A
# bias may be anything: −10⁹ switches an expert off.
#
# **Asked**: eight lanes per row, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# `tidx // 8` and `tidx % 8` say whose row and which place in it; a lane has every eighth column, 8
# at most, in a register tensor.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `cute.arch.warp_reduction_max` and its siblings take `threads_in_group`: groups of 8 lanes by
# themselves, all in one shuffle.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The four rows of a warp may end within it, and a shuffle wants all lanes: `row < M` belongs to the
# lines that load and store, and not around the reductions.
#
# </details>


# %% exercise="week2/router_softmax" part="skeleton"
@cute.kernel
def router_softmax_kernel(mX: cute.Tensor, mBias: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 21 lines)
    pass


@cute.jit
def router_softmax(mX: cute.Tensor, mBias: cute.Tensor, mY: cute.Tensor):
    # FILL ME IN (roughly 2 lines)
    pass


# %% exercise="week2/router_softmax" part="grade"
fk.exercise("week2/router_softmax").grade(router_softmax)

# %% [markdown] exercise="week2/router_softmax" part="solution"
# <details><summary>Solution of exercise 6</summary>
#
# ```python
# @cute.kernel
# def router_softmax_kernel(mX: cute.Tensor, mBias: cute.Tensor, mY: cute.Tensor):
#     tidx, _, _ = cute.arch.thread_idx()
#     bidx, _, _ = cute.arch.block_idx()
#     row, lane = bidx * 16 + tidx // 8, tidx % 8
#     M, N = mX.shape
#     rX = cute.make_rmem_tensor(8, Float32)
#     rX.fill(-Float32.inf)
#     for k in cutlass.range_constexpr(8):
#         col = lane + 8 * k
#         if row < M and col < N:
#             rX[k] = mX[row, col].to(Float32) + mBias[col].to(Float32)
#     x = rX.load()
#     m = x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)
#     m = cute.arch.warp_reduction_max(m, threads_in_group=8)
#     e = cute.math.exp2((x - m) * math.log2(math.e), fastmath=True)
#     s = e.reduce(cute.ReductionOp.ADD, 0.0, 0)
#     s = cute.arch.warp_reduction_sum(s, threads_in_group=8)
#     rX.store(e * (1.0 / s))
#     for k in cutlass.range_constexpr(8):
#         col = lane + 8 * k
#         if row < M and col < N:
#             mY[row, col] = rX[k].to(mY.element_type)
#
#
# @cute.jit
# def router_softmax(mX: cute.Tensor, mBias: cute.Tensor, mY: cute.Tensor):
#     blocks = cute.ceil_div(mX.shape[0], 16)
#     router_softmax_kernel(mX, mBias, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
# ```
#
# With a warp a row, a router of 8 experts has 24 of 32 lanes idle, and five shuffles where three
# are enough. The bias is read once a row by instructions, but it is N numbers, which stay in the
# cache; added by an operator of its own it would cost another reading and writing of all of x.
# Softmax is the last step of such a chain and not the first: whatever is elementwise before it
# belongs into its load.
#
# </details>

# %% [markdown]
# ## 6. The same in ncu's words
#
# On a GPU you would ask `ncu` (`09_profile_on_a_gpu` of week 0). These are the questions for a
# softmax, with ncu's names, and what our counters say for the short kernel of section 2:

# %%
x, y = fk.randn(256, 512, device="virtual"), fk.empty(256, 512, device="virtual")
mask = fk.zeros(256, 512, device="virtual")
run = compiled(chain("softmax"), x, mask, 1.0, y)
p = fk.profile(run, x, mask, 1.0, y)
loaded, stored = p["global_load_sectors"], p["global_store_sectors"]
for name, value, remark in (
    ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", loaded, f"{32 * loaded / x.nbytes:.1f} × x"),
    ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", stored, f"{32 * stored / x.nbytes:.1f} × x"),
    ("smsp__inst_executed.sum", p["warp_instructions"], "PTX here, machine code there"),
    ("launch__registers_per_thread", run.registers, "16 elements a lane"),
    ("spilled, bytes a thread", run.spill_bytes, "local memory: op_ld, op_st of mem_local"),
):
    print(f"{name:48} {value:8,.0f}   {remark}")
print(f"instructions an element: {32 * p['warp_instructions'] / x.numel():.1f}")

copied = 4233e9  # bytes a second, a copy on the H200 of section 4
cycle = copied / 132 / 1.98e9  # bytes for one of 132 multiprocessors, at 1.98 GHz
for name, size in (("bfloat16", 2), ("float32", 4)):
    elements = cycle / (2 * size)
    print(f"{name}: {elements:.1f} elements a cycle, {elements / 16:.0%} of XU for one exp2 each")

# %% [markdown]
# | question | ncu's section | a softmax in order shows |
# |---|---|---|
# | how many passes? | *Memory Workload Analysis* | sectors × 32 = x once, y once |
# | does it spill? | *Source*, local memory | no sectors of `mem_local` |
# | who else is there? | *Occupancy*, limited by registers | two blocks a multiprocessor, or more |
# | what do warps wait for? | *Warp State* | *long scoreboard*: loads; then *barrier* |
# | are the exponentials the limit? | *Compute Workload*, pipe *XU* | far from 100 % |
# | is memory busy? | *GPU Speed of Light* | near what a copy shows |
#
# The fifth question is a softmax's own. XU is the pipe that computes exp2, 16 of them a cycle in
# each multiprocessor (CUDA's programming guide has the number). The last two lines say how many
# elements come in that time, at the speed of a copy. One exponential an element leaves the pipe
# idle most of the time; four of them, in `bfloat16`, would fill it.

# %%
fk.predictions()

# %% [markdown]
# ## Summary
#
# | way | the row waits in | good until | needs |
# |---|---|---|---|
# | registers | registers, as float32 | a quarter of a multiprocessor's | nothing |
# | staged | shared memory, as it is | two blocks fit | sm_80, whole vectors |
# | cluster | shared memory of 2 to 16 blocks | all of them are full | sm_90, whole vectors |
# | streaming | nowhere, it is read twice | – | nothing |
#
# | 256 × 256 scores, causal | launches | bytes moved, in bytes of x |
# |---|---|---|
# | scale, mask, softmax | 3 | 7 |
# | fused, mask read | 1 | 3 |
# | fused, mask computed | 1 | about 1.5 |
#
# **In practice** the chain is longer than here (a bias, a cap, dropout), and libraries generate the
# kernel from a description of it: PyTorch's FlexAttention takes a Python function for the score and
# one for the mask, and skips whole tiles that the mask empties. What they generate has the order
# that you know: everything elementwise into the load, then the maximum, then the rest.
#
# **Further reading:** `forgekit/ops/tile_choice.py`, where each rule says why · [PTX by
# architecture][ptx], each instruction with the GPU that it needs · [quack][quack], the same kernels
# in other hands · [FlexAttention][flex]
#
# [ptx]: https://docs.nvidia.com/cuda/parallel-thread-execution/
# [quack]: https://github.com/Dao-AILab/quack
# [flex]: https://pytorch.org/blog/flexattention/
#
# **Next:** ten whole kernels from an empty body, the last of them attention
# ([`06_practice`](06_practice.ipynb)).
