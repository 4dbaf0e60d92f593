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
# # Choose a softmax, and fuse more into it
#
# **You will build** the rule that picks a softmax for a row length and a GPU, and three kernels
# that fuse neighbouring operations into a softmax: a scale, a causal mask, and a bias.
# **You will learn** how the compiler translates one kernel for three GPU generations, how to read
# the production kernel, how its speed compares with its peers', and how many bytes fusion saves.
# **You need** `00_softmax_without_tears` to `03_rows_that_do_not_fit`. About 40 minutes, and 100
# more for the exercises.
#
# You now have four softmaxes. Three of them keep the row: in registers, in the shared memory of one
# block, or in the shared memory of a cluster. The fourth reads it again. But a caller may pass rows
# of any length on any GPU. **The bad number: a factor of 8.** The kernel that is fastest for
# 4,096 `bfloat16` per row takes 0.615 ms for rows of 131,072 on an H200, whereas the best kernel
# takes 0.075 ms (`03_rows_that_do_not_fit`).

# %%
import inspect
import math
import operator

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from week2_helpers import (
    LOG2_E,
    fusion_picture,
    peer_rates,
    peers_picture,
    production_way,
    ptx_counts,
    ptx_table,
    rule_picture,
    sector_bytes,
    sm_picture,
)

import forgekit as fk
from forgekit.kernels.rows import RowTile
from forgekit.kernels.softmax import Softmax
from forgekit.ops import softmax

# %% [markdown]
# ## 1. How much room a row takes
#
# In registers every element is a `float32` and takes 4 bytes. In shared memory an element keeps its
# type, because `cp.async` copies bytes without converting them. One multiprocessor (SM) of an H200
# has 256 kB of registers (1 kB is 1,024 bytes here). One block can use up to 227 kB of shared
# memory, and a cluster can use that much per block. All GPUs with clusters allow 8 blocks per
# cluster.
#
# **Predict:** a kernel keeps a row of 32,768 `bfloat16` in registers. What percentage of an SM's
# registers does the row take?

# %%
of_registers = fk.predict("percent of the registers", None)

# %% jupyter={"outputs_hidden": true}
of_registers.against(100 * 4 * 32_768 / (256 * 1024))
kb = {n: 4 * n / 1024 for n in (4096, 8192, 16_384, 32_768, 65_536)}
rows = {f"{n:,}": (int(256 / size), size, size) for n, size in kb.items()}
sm_picture("An SM holds 16 rows of 4,096, or one of 65,536", ("kB of registers", 256, rows))

# %% [markdown]
# The row takes half of the registers, so at best the SM has room for one more row. While the SM
# waits for the bytes of one row, it needs other rows to work on. So the rule sets its limits well
# below the length that just fits.
#
# The production rule is a table, `forgekit/ops/tile_choice.py`, with a reason beside each line.
# `production_way(n, itemsize, clusters)` looks up where the kernel keeps a row of n elements. The
# next picture shows its answers for rows of 128 to a million elements:

# %%
print(production_way(1024, 4, clusters=16), production_way(65_536, 4, clusters=16))
rule_picture()

# %% [markdown]
# The rule depends on the number of bytes in a row and on the GPU's features. For `bfloat16` the
# register limit is lower than for `float32`, because a `bfloat16` row takes twice its size in
# registers, but not in shared memory. The limits come from runs on an H200 and need not follow a
# simple order: just above 4,096 elements, the rule keeps `float32` rows in registers again.

# %% [markdown] exercise="week2/choose_softmax" part="task"
# ### Exercise 1: choose where to keep a row
#
# Write `choose_softmax(n, dtype, arch)`. It returns `(way, blocks)` for rows of n elements, of any
# torch dtype, on an architecture such as `"sm_80"`, `"sm_90a"` or `"sm_100f"`. Return the first of
# these ways that is possible:
#
# 1. `"registers"`, 1 block: the row takes at most 64 kB as `float32`, a quarter of an SM's
#    registers.
# 2. `"staged"`, 1 block: the GPU has `cp.async` (sm_80 and later), the row consists of whole
#    vectors of 16 bytes, which `cp.async` needs, and takes at most 96 kB in its own type.
# 3. `"cluster"`, the fewest of 2, 4 and 8 blocks: the GPU has clusters (sm_90 and later), the row
#    consists of whole vectors, and each block's part takes at most 96 kB.
# 4. `"streaming"`, 1 block.
#
# 1 kB is 1,024 bytes.
#
# <details><summary>Hint 1</summary>
#
# A row has two sizes: in registers every element is float32, but in shared memory it keeps its
# type. `dtype.itemsize` is the size of an element in bytes.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Two of the four ways require that the row's bytes are whole vectors. Which ways remain for other
# rows?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The lines that test for `cp.async` and for clusters need the *number* in `arch`: 100 is more than
# 90, but the string 'sm_100a' sorts before 'sm_90a'.
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
#     row, number = n * dtype.itemsize, int(arch.strip("sm_af"))
#     if 4 * n <= held:
#         return "registers", 1
#     if row % 16 == 0 and number >= 80:
#         if row <= asked:
#             return "staged", 1
#         if number >= 90:
#             for blocks in (2, 4, 8):
#                 if row <= blocks * asked:
#                     return "cluster", blocks
#     return "streaming", 1
# ```
#
# The rule tries the places for a row from the fastest to the slowest, and each has one limit. The
# last kernel keeps nothing and has no limit. The limits are measured: the first is 64 kB rather
# than 256 kB because a row that takes all registers leaves no room for a second row, so no loads
# overlap its arithmetic. forgekit's own rule (`forgekit/ops/tile_choice.py`) has different limits
# for each element size and also chooses the threads, but the order is the same.
#
# </details>

# %% [markdown]
# ## 2. One kernel, three generations
#
# The compiler needs no GPU; `arch` names its target. Here is a short softmax with one warp per row
# and the row in registers. N is known at compile time and is a multiple of 128. The compile-time
# tuple `parts` specifies which of three operators the kernel applies; section 5 uses the other two.


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


# %%
def chain(parts, x, mask, y, arch="sm_90a"):
    """Compile the kernel with these parts for matrices such as x, mask and y."""

    @cute.jit
    def host(mX: cute.Tensor, mMask: cute.Tensor, scale: Float32, mY: cute.Tensor):
        kernel = chain_kernel(mX, mMask, scale, mY, parts)
        kernel.launch(grid=(mX.shape[0], 1, 1), block=(32, 1, 1))

    sx, smask, sy = (fk.spec(t, static=[1], align=16) for t in (x, mask, y))
    return fk.compile(host, sx, smask, 1.0, sy, device="virtual", arch=arch)


x, mask, y = (make(3, 256, device="virtual") for make in (fk.randn, fk.zeros, fk.empty))
ARCHS = ("sm_80", "sm_90a", "sm_100a")
runs = {arch: chain(("softmax",), x, mask, y, arch) for arch in ARCHS}
for run in runs.values():
    run(x, mask, 1.0, y)
    fk.check(y, x.double().softmax(1))

# %% [markdown]
# Each lane has 8 elements. **Predict:** how many instructions does the compiler emit for sm_80 to
# subtract the maximum from them, and how many for sm_100a?

# %%
for_sm_80 = fk.predict("subtractions per lane, sm_80", None)
for_sm_100 = fk.predict("subtractions per lane, sm_100a", None)

# %% [markdown]
# `ptx_counts(run)` counts how often each instruction appears in the PTX:

# %% jupyter={"outputs_hidden": true}
counts = {arch: ptx_counts(run) for arch, run in runs.items()}
for arch, prediction in (("sm_80", for_sm_80), ("sm_100a", for_sm_100)):
    prediction.against(sum(n for name, n in counts[arch].items() if name.startswith("sub.f32")))
ptx_table(counts, least=3)
plain = [[line for line in runs[arch].ptx.splitlines() if line.startswith("\t")] for arch in ARCHS]
print("\nsm_80 and sm_90a have the same instructions:", plain[0] == plain[1])
for arch in ARCHS[1:]:
    print(f"{arch}:", next(line for line in runs[arch].ptx.splitlines() if "max.NaN" in line))

# %% [markdown]
# The Python code is the same for all three targets. The compiler emits the same instructions for
# sm_80 and sm_90a. For sm_100a it uses instructions that older GPUs lack: `sub.f32x2` and
# `mul.f32x2` process two numbers in a pair of registers, and `max` takes three operands. `ex2` is
# still one instruction per element, so exponentials do not become cheaper.
#
# In contrast, a kernel has to *request* the features that Hopper added. `forgekit.ops.softmax`
# picks these kernels for three row lengths:


# %%
def of_production(n, arch):
    """Return what forgekit.ops.softmax compiles for rows of n float32, and how often it reads x."""
    x = fk.randn(4, n, device="virtual")
    with fk.use_target("virtual", arch=arch):
        fk.cache_clear()
        y = softmax(x)
        (run,) = fk.cache_info()
        return run, 32 * fk.profile(run, x, y)["global_load_sectors"] / x.nbytes


FEATURES = ("cp.async.cg", "st.async", "mapa", "expect_tx", "f32x2")
print(f"{'row, float32':>12} {'for':8} {'way':>10} {'× read':>7}", *(f"{f:>12}" for f in FEATURES))
for n in (1024, 20_480, 65_536):
    for arch in ARCHS:
        run, read = of_production(n, arch)
        way, blocks = production_way(n, 4, 1 if arch == "sm_80" else 16, rows=4)
        there = [sum(c for name, c in ptx_counts(run).items() if f in name) for f in FEATURES]
        print(f"{n:12,} {arch:8} {way:>10} {read:7.2f}", *(f"{c or '–':>12}" for c in there))

# %% [markdown]
# `mapa` computes an address in another block's shared memory. `st.async` writes to it, and an
# mbarrier of that block counts the bytes. `expect_tx` tells the mbarrier how many bytes to expect.
# sm_80 has no clusters, so `softmax` streams the longest rows there, and `variant="cluster"` raises
# an error. Four rows would leave most SMs idle, so on sm_90a the rule shares a 20,480-element row
# among the blocks of a cluster, which keep it in registers. With thousands of rows, such rows are
# staged on sm_90a as well.

# %% [markdown] exercise="week2/which_arch" part="task"
# ### Exercise 2: find the oldest GPU for each feature
#
# Each line describes something that a softmax may do. For each, name the oldest of the three
# architectures `"sm_80"`, `"sm_90a"` and `"sm_100a"` whose code does this. The tables above contain
# every answer.
#
# <details><summary>Hint 1</summary>
#
# For each line, find its instruction, then the oldest architecture for which a table contains it.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `mbarrier.arrive.expect_tx` announces bytes to a barrier, `st.async` and `mapa` access another
# block's shared memory, and `x2` means two numbers per instruction.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# For the row that is read once, use the column `× read` of the last table. For the maximum of 8
# registers, look at the count of `max.NaN.f32` in the short kernel, whose lanes have 8 elements
# each.
#
# </details>

# %% exercise="week2/which_arch" part="skeleton"
oldest = {
    # FILL ME IN (roughly 8 lines)
    "lanes exchange maxima without shared memory": None,
    "a row of 20,480 float32 is copied without passing through registers": None,
    "a row of 65,536 float32 is read once": None,
    "a barrier counts bytes": None,
    "a block writes to another block's shared memory": None,
    "the maximum of 8 registers takes 4 instructions": None,
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
#     "a row of 20,480 float32 is copied without passing through registers": "sm_80",
#     "a row of 65,536 float32 is read once": "sm_90a",
#     "a barrier counts bytes": "sm_90a",
#     "a block writes to another block's shared memory": "sm_90a",
#     "the maximum of 8 registers takes 4 instructions": "sm_100a",
#     "a lane subtracts from 8 elements in 4 instructions": "sm_100a",
#     "exp2 is one instruction": "sm_80",
# }
# ```
#
# The differences are of two kinds. sm_90 added *features* that a kernel has to request: clusters,
# and barriers that count bytes. A kernel that requests neither of them compiles to the same
# instructions for sm_80 and sm_90a. sm_100 added *instructions* that the compiler uses for the same
# source: two float32 operations per instruction, and the maximum of three numbers. The host chooses
# the way before it compiles anything.
#
# </details>

# %% [markdown]
# A good place for a break.
#
# ## 3. Read the production kernel
#
# `forgekit.ops.softmax` runs this kernel for rows in registers. Read it through once, and look for
# lines that you recognise.

# %%
source = inspect.getsource(Softmax)
print(source[source.index("    @cute.kernel") :])

# %% [markdown]
# | lines | purpose | where you met it |
# |---|---|---|
# | `tile.reduction_buffer(2)` | shared memory for (m, s) of each warp | `01_online` |
# | `row_and_lane`, `valid` | the row; threads past the last row store nothing | week 1, `05` |
# | its first line | waits for the previous kernel, which has not quite ended on Hopper | – |
# | `whole_vectors`, `load_unaligned` | rows that begin at any element | week 1, `05` |
# | `tiled_copy`, `partition_S` | the TV layout: the vectors of this thread | `02` |
# | `tXcX`, `tXpX` | the vectors' coordinates, and which of them exist | `02` |
# | `fill_tail(…, -inf)` | makes missing elements change neither the maximum nor the sum | `02` |
# | `cute.copy(…, pred=tXpX)` | the only read | `02` |
# | `warp_reduce(m, fmax)` | the *warp's* maximum; exponentials relative to it | `02` |
# | `reduce_warps` | (m, s) of all warps, merged: one exchange, one barrier | `01`, `02` |
# | `exp(m - m_row)` | the factor from the warp's maximum to the row's | `single_pass` |
#
# Three details deserve a second look. Each warp computes its exponentials *before* the exchange, so
# no thread waits for the row's maximum; the correction costs one exponential per thread.
# `finite_max` replaces −∞ with 0 where a warp has no elements, because −∞ − (−∞) is NaN. And `tile`
# fixes the shape at compile time, so every `if` that tests the shape compiles away.
#
# The warps of a block or a cluster exchange their results here:

# %%
source = inspect.getsource(RowTile)
start = source.index("    def exchange(")
print(source[start : source.index("    @", start)])

# %% [markdown]
# The last branch is the exchange of `03_rows_that_do_not_fit`. Lane k of each warp sends the warp's
# (m, s) to block k of the cluster. An mbarrier in each block waits for the bytes of all warps.
#
# ## 4. Compare with torch, torch.compile and quack
#
# `forgekit bench` runs the operators beside their peers on a GPU and checks every result.
# `peer_rates` reads a run recorded on an H200. The speed of a 1 GB copy is 100 %:

# %%
rates = peer_rates()
peers_picture(rates)

# %% [markdown]
# At 100 %, a softmax takes no longer than a copy of x, with one read and one write. The next cell
# lists the shapes where forgekit is more than 1 % slower, if there are any:

# %%
CONTENDERS = ("torch", "torch.compile", "quack")
behind = [
    (r[peer] / r["forgekit"] - 1, peer, place)
    for place, r in rates.items()
    for peer in CONTENDERS
    if peer in r and "forgekit" in r and r[peer] > 1.01 * r["forgekit"]
]
for more, peer, (m, n, dtype) in sorted(behind, reverse=True):
    print(f"{m:,} × {n:,} {dtype}: {peer} is {more:.0%} faster")
compared = sum(len(r) - 1 for r in rates.values())
print(f"forgekit is more than 1 % slower in {len(behind)} of {compared} comparisons")

# %% [markdown]
# The peers come closest at the smallest shapes, where the launch and the latency of the first byte
# cost more than moving the bytes. The call itself costs 8 to 9 µs on the CPU
# (`book/measured/host_h200.json`). CUDA graphs remove that cost, and fusion removes whole calls.
#
# ## 5. Fusion saves bytes
#
# In attention, a model scales the scores, masks them and normalises them. As three operators, these
# steps run the kernel of section 2 three times, with one part each. **Fusion** combines them into
# one kernel with three parts.
#
# **Predict**, for 256 × 512 `float32` and a mask of the same size and type: as a multiple of x's
# bytes, how much do the three kernels read and write in total? And the fused kernel?

# %%
three_move = fk.predict("× the bytes of x, three operators", None)
one_moves = fk.predict("× the bytes of x, fused", None)

# %% [markdown]
# `sector_bytes(run, *args)` profiles a kernel and returns the bytes of all sectors that it loads
# and stores:

# %% jupyter={"outputs_hidden": true}
x, mask, y = (make(256, 512, device="virtual") for make in (fk.randn, fk.zeros, fk.empty))
mask.copy_(torch.full((256, 512), -math.inf).triu(257))  # row m keeps columns up to m + 256
operators = {}
last = x
for part in ("scale", "mask", "softmax"):
    out = fk.empty(256, 512, device="virtual")
    run = chain((part,), last, mask, out)
    run(last, mask, 0.125, out)
    operators[part] = sector_bytes(run, last, mask, 0.125, out) / x.nbytes
    last = out
run_fused = chain(("scale", "mask", "softmax"), x, mask, y)
run_fused(x, mask, 0.125, y)
fused = sector_bytes(run_fused, x, mask, 0.125, y) / x.nbytes
fk.check(y, (x.double() * 0.125 + mask).softmax(1))
fk.check(last, y)
three_move.against(sum(operators.values()))
one_moves.against(fused)
print({part: round(times, 2) for part, times in operators.items()}, "fused:", round(fused, 2))

# %% [markdown]
# The fused kernel moves three times the bytes of x instead of seven, in one launch. It computes the
# same numbers: the scale and the mask take two instructions per element, on registers. These
# kernels are bound by memory, so moving fewer bytes takes less time. `torch.compile` fuses such
# chains automatically.
#
# forgekit predicts the time on an H200 from the counts of a few blocks. Here is its prediction for
# the scale alone, for 16,384 rows of 512 elements:

# %%
x, y, mask = (fk.empty(16_384, 512, device="virtual") for _ in range(3))
fk.profile(chain(("scale",), x, mask, y), x, mask, 0.125, y, blocks=16).time("H200")

# %% [markdown] exercise="week2/one_launch_or_bytes" part="task"
# ### Exercise 3: choose between fewer launches and fewer bytes
#
# `softmax(scale · x + bias)` over 512-element float32 rows runs as three launches, each of which
# reads one matrix and writes one (A and B), or as one fused launch (C). The times are predictions
# for an H200.
#
# | | launches | rows | moved | exponentials | predicted |
# |---|---|---|---|---|---|
# | A | 3 | 16,384 | 201 MB | 8,388,608 | 57 µs |
# | B | 3 | 64 | 0.8 MB | 32,768 | 7.8 µs |
# | C | 1 | 16,384 | 67 MB | 8,388,608 | 19 µs |
#
# Memory moves 5.1 MB per microsecond. The first launch costs 3.7 µs and each later one 1 µs. All
# SMs together compute 4 million exponentials per microsecond. Which of `"device memory"`, `"the
# launch itself"` and `"special functions"` limits each call? Which change would shorten it most:
# `"one launch"`, or storing all matrices in `"bfloat16"`?
#
# <details><summary>Hint 1</summary>
#
# Compute three durations for each call: bytes divided by their rate, exponentials divided by
# theirs, and the cost of the launches.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The launches of A and B cost the same. How much other work does B have?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# By what factor does each change shorten the longest of the three durations? Three launches move
# six times the bytes of x, but one launch moves only two times.
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
# **A** needs 201 / 5.1 = 40 µs of memory. One launch would move a third of its bytes, and
# `bfloat16` half of them. **B** takes as long as its launches: 5.7 µs, plus the latency of three
# small kernels. Fewer bytes would change nothing. **C** needs 13 µs of memory and has only one
# launch, so fewer bytes are the only saving. Fusion is the better change for both A and B, for two
# different reasons.
#
# </details>

# %% [markdown] exercise="week2/fuse_three" part="task"
# ### Exercise 4: halve the time of three launches
#
# `y[m, :] = softmax(scale · x[m, :] + bias)` for 512-element float32 rows; all rows have the same
# bias. Three launches compute it: the first applies scale and bias, the second computes
# exponentials, and the third divides. Each reads one matrix and writes one, with 16 bytes per lane
# and whole sectors. Halve the predicted time on an H200 for 16,384 rows: the **whole predicted
# interval** has to lie below half of the given launches' time. Signature: `fuse_three(x, bias,
# scale, y)`. Look at the bounds after each change:
#
# `fk.profile(*fk.exercise("week2/fuse_three").failed, blocks=16).time("H200")`
#
# <details><summary>Hint 1</summary>
#
# In total, what multiple of x's bytes do the three launches move, and what is the minimum?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Where could the kernel keep a row between two steps, if not in y? Each lane has 16 elements.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# In the first two kernels, `write(rY, mY, row)` stores the row from registers to memory, and the
# next kernel reads it back. `rY` already holds the input of the next step.
#
# </details>


# %% exercise="week2/fuse_three" part="skeleton"
@cute.jit
def read(mT: cute.Tensor, row: cutlass.Int32):
    """Return this lane's 16 elements of a row of 512, in vectors of 4."""
    gT = cute.local_tile(mT, (1, 4), (row, None))  # (1,4,128)
    rT = cute.make_rmem_tensor((4, 4), Float32)
    for k in cutlass.range_constexpr(4):
        rT[None, k].store(gT[0, None, cute.arch.lane_idx() + 32 * k].load())
    return rT


@cute.jit
def write(rT: cute.Tensor, mT: cute.Tensor, row: cutlass.Int32):
    """Store the elements that `read` returns."""
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
#     """Return this lane's 16 elements of a row of 512, in vectors of 4."""
#     gT = cute.local_tile(mT, (1, 4), (row, None))  # (1,4,128)
#     rT = cute.make_rmem_tensor((4, 4), Float32)
#     for k in cutlass.range_constexpr(4):
#         rT[None, k].store(gT[0, None, cute.arch.lane_idx() + 32 * k].load())
#     return rT
#
#
# @cute.jit
# def write(rT: cute.Tensor, mT: cute.Tensor, row: cutlass.Int32):
#     """Store the elements that `read` returns."""
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
# Each of the three launches reads one matrix and writes one, so together they move six times the
# bytes of x. One launch reads x once and writes y once, which is a third of that. If you fuse only
# two of the three, the remaining two launches move four times the bytes of x, and take two thirds
# of the time. The block size matters less: with one warp per block, each row reads the bias from L2
# again, and the time of one launch rises from 19.5 to 22.8 µs. Then the interval ends above the
# limit. (These times are predicted for an H200, not measured.)
#
# </details>

# %% [markdown]
# A fused kernel can save even more. A **causal mask** follows from the row and column numbers, so
# the kernel need not read it. Nor does it have to read the elements that the mask removes.
#
# > **Looks right but is wrong.** `02_the_row_in_registers` folds log₂ e into one multiplication.
# > Suppose you fold in the scale as well: take the maximum of x first, then compute `exp2((x - m) *
# > (scale * LOG2_E))`. That saves one multiplication per element.


# %%
@cute.kernel
def scale_folded_kernel(mX: cute.Tensor, scale: Float32, mY: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    x = mX[row, lane]
    m = cute.arch.warp_reduction_max(x)
    e = cute.math.exp2((x - m) * (scale * LOG2_E), fastmath=True)
    mY[row, lane] = e / cute.arch.warp_reduction_sum(e)


@cute.jit
def scale_folded(mX: cute.Tensor, scale: Float32, mY: cute.Tensor):
    scale_folded_kernel(mX, scale, mY).launch(grid=(mX.shape[0], 1, 1), block=(32, 1, 1))


scores, y = fk.randn(4, 32) * 10, fk.empty(4, 32)
run = fk.compile(scale_folded, scores, 1.0, y)
for scale in (0.125, 1.0, -0.125, -1.0, -8.0):
    run(scores, scale, y)
    off = (y - (scores.double() * scale).softmax(1)).abs().max()
    print(f"scale {scale:6}: off by {off:.1e} at most, {int(y.isnan().sum())} of 128 are NaN")

# %% [markdown]
# > The result is correct for the positive scales and for small negative ones, because a softmax may
# > subtract any number (`00_softmax_without_tears`). But with a negative scale (in a *softmin*, or
# > with a learnt temperature) the largest x is the *smallest* scaled score. After the subtraction
# > no exponent is below 0, and for a large scale the exponentials overflow. So take the maximum of
# > the scaled scores.
#
# A mask invites a similar mistake: taking the maximum of the whole row before masking. If a masked
# score is far above the others, the kept elements become 0 / 0. The next exercise tests for both
# mistakes.

# %% [markdown] exercise="week2/causal_softmax" part="task"
# ### Exercise 5: fuse a scale and a causal mask into softmax
#
# Row m of `x` contains the scores of query m for all keys, but a query must not see any key after
# itself. The M queries belong to the last M of N keys (N ≥ M), so row m keeps the columns up to m +
# N − M: `y[m, n] = exp(scale · x[m, n]) / Σ exp(scale · x[m, k])`, where the sum covers k ≤ m + N −
# M. In the other columns, y is 0. Read each kept element once, write y once, use no mask tensor,
# and keep the row in registers; N is at most 512. Do not load elements beyond the diagonal: they
# may hold any value, including NaN. The scale may be negative. x and y are float32 or bfloat16.
# Signature: `causal_softmax(x, scale: Float32, y)`.
#
# **Required**: one warp per row, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# The mask is a predicate on row and column. Which value must a register hold if nothing is loaded
# into it, so that neither the maximum nor the sum changes?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Loop with `cutlass.range_constexpr(16)` over a register tensor: element k of a lane is 32 k
# columns to the right of its first element. The rest is a softmax in registers, but the store needs
# its own predicate.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Apply the scale in the line that loads x, before the maximum: for a negative scale, the largest
# `scale * x` is not `scale` times the largest x.
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
# For 128 × 128 float32 the kernel reads 1,088 of the 2,048 sectors of `x` and writes each sector of
# `y` once. Three separate operators (scale, add a mask of 0 and −∞, softmax) would read four
# matrices and write three. A mask that is computed from row and column costs one comparison per
# element. Flash attention goes one step further: it skips whole tiles beyond the diagonal and never
# writes the scores.
#
# </details>

# %% [markdown]
# Count the bytes that the course's solution saves when there are as many queries as keys:

# %%
n = 256
x, y, mask = (make(n, n, device="virtual") for make in (fk.randn, fk.empty, fk.zeros))
mask.copy_(torch.full((n, n), -math.inf).triu(1))
run_fused = chain(("scale", "mask", "softmax"), x, mask, y)
solution = fk.exercise("week2/causal_softmax").reference()
run_causal = fk.compile(solution, x, 0.125, y, device="virtual")
run_causal(x, 0.125, y)
totals = {
    "three operators": sum(operators.values()),
    "fused, mask read": sector_bytes(run_fused, x, mask, 0.125, y) / x.nbytes,
    "fused, mask computed": sector_bytes(run_causal, x, 0.125, y) / x.nbytes,
}
fk.check(y, (x.double() * 0.125 + mask).softmax(1))
fusion_picture(operators, totals)

# %% [markdown]
# The last kernel reads slightly more than half of x, because it reads the whole of each sector that
# the diagonal cuts. It still writes all of y. Flash attention saves that write, because it
# multiplies the probabilities by the values and never stores them. `06_practice` ends with that
# step.
#
# The next exercise has the opposite shape: many rows that are so short that one warp per row is
# wasteful. Before the softmax, the kernel adds a bias.

# %% [markdown] exercise="week2/router_softmax" part="task"
# ### Exercise 6: take the softmax of short rows with a bias
#
# A *router* sends each token to a few of N experts. It takes the softmax of the token's N scores
# plus one bias per expert: `y[m, n] = exp(x[m, n] + b[n]) / Σ exp(x[m, k] + b[k])`. There are many
# rows, and they are short (N is at most 64), so four rows share a warp. Keep the row in registers
# and read x once. The tensors are all float32 or all float16; compute in float32, including x + b.
# A bias may have any value: −10⁹ switches an expert off. Signature: `router_softmax(x, b, y)`.
#
# **Required**: eight lanes per row, no shared memory.
#
# <details><summary>Hint 1</summary>
#
# `tidx // 8` is the row within the block, and `tidx % 8` is the lane's position in it. A lane keeps
# every eighth column, at most 8 in all, in a register tensor.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `cute.arch.warp_reduction_max` and its siblings take `threads_in_group`: groups of 8 lanes then
# reduce separately with the same shuffles.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# The last row may end in the middle of a warp, and a shuffle needs all lanes: put `row < M` around
# the loads and stores, not around the reductions.
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
# With one warp per row, a router of 8 experts leaves 24 of 32 lanes idle and needs five shuffles
# where three suffice. The kernel requests the bias once per row, but its N numbers stay in the
# cache. A separate operator for the bias would read and write all of x once more. In such a chain,
# softmax is the last step: fuse the elementwise steps before it into its load.
#
# </details>

# %% [markdown]
# <details><summary>Further: what to look for in ncu</summary>
#
# On a GPU, `ncu` answers these questions (`09_profile_on_a_gpu` of week 0):
#
# | question | section of the `ncu` report | for a good softmax |
# |---|---|---|
# | how many passes? | *Memory Workload Analysis* | sectors × 32 bytes equal x once plus y once |
# | does it spill? | *Source*, local memory | no sectors of `mem_local` |
# | how many blocks share an SM? | *Occupancy*, limited by registers | two or more |
# | what do warps wait for? | *Warp State* | *long scoreboard*: loads; then *barrier* |
# | do exponentials limit it? | *Compute Workload*, pipe *XU* | far from 100 % |
# | is memory busy? | *GPU Speed of Light* | nearly as busy as during a copy |
#
# XU is the pipe that computes `exp2`, at a rate of 16 per cycle in each SM, according to CUDA's
# programming guide. At the speed of a copy, each SM of an H200 reads and writes 4 `bfloat16`
# elements per cycle, so one exponential per element uses a quarter of the pipe. Four would saturate
# it.
#
# </details>

# %%
fk.predictions()

# %% [markdown]
# ## Summary
#
# | way | where the row is kept | limit | requires |
# |---|---|---|---|
# | registers | registers, as float32 | a quarter of an SM's registers | – |
# | staged | shared memory, in its own type | two blocks must fit on an SM | sm_80, whole vectors |
# | cluster | shared memory of 2 to 16 blocks | their total capacity | sm_90, whole vectors |
# | streaming | nowhere: the kernel reads it twice | none | – |
#
# | 256 × 256 scores, causal | launches | bytes moved, as a multiple of x |
# |---|---|---|
# | scale, mask, softmax | 3 | 7 |
# | fused, mask read | 1 | 3 |
# | fused, mask computed | 1 | about 1.5 |
#
# **The bad number: 1.5 times the bytes of x.** The best kernel still reads the scores and stores
# every probability.
#
# **In practice** such chains are longer (with a bias, a cap, or dropout), and libraries generate
# the kernel: PyTorch's FlexAttention takes one Python function for the score and one for the mask,
# and skips tiles that are completely masked. The generated kernel has the same structure as yours:
# elementwise operators during the load, then the maximum, then the rest.
#
# **Further reading:** `forgekit/ops/tile_choice.py`, with a reason for each rule · [PTX][ptx],
# which lists the required GPU for each instruction · [quack][quack], the same kernels by other
# authors · [FlexAttention][flex]
#
# [ptx]: https://docs.nvidia.com/cuda/parallel-thread-execution/
# [quack]: https://github.com/Dao-AILab/quack
# [flex]: https://pytorch.org/blog/flexattention/
#
# **Next:** ten complete kernels, the last of which is attention
# ([`06_practice`](06_practice.ipynb)).
