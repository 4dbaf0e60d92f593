"""Functions that week 2's notebooks share; each page introduces the ones that it uses.

A pair (m, s) describes a part of a row: m is the maximum of its elements and s the sum of all
exp(x - m). The pair of no elements is (-inf, 0).
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.cute.nvgpu import CopyUniversalOp, cpasync
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

import forgekit as fk
from forgekit.benching.recorded import Recorded, recorded
from forgekit.checking.compare import compare
from forgekit.profiling.multiprocessor import MULTIPROCESSORS
from forgekit.viz.palette import NOTE, NOTHING, PAPER, UNTOUCHED, block_colour, mix, offset_colour
from forgekit.viz.timing.style import INK, SERIES, TEXT

LOG2_E = math.log2(math.e)
TYPES = (torch.float32, torch.float16, torch.bfloat16)
# The colours of what a kernel reads and writes, and of words on them on light and dark pages.
READ, WRITTEN, ON_BAR = SERIES[0], mix(SERIES[4], "#000000", 0.15), "#FDFDFD"


# -- device functions: one number, or each number of a vector --------------------------------------
@cute.jit
def exp(x):
    """Return e^x: a product and the hardware's power of two."""
    return cute.math.exp(x, fastmath=True)


@cute.jit
def exp2(x):
    """Return 2^x: one instruction per element."""
    return cute.math.exp2(x, fastmath=True)


@cute.jit
def fma(x, a, b):
    """Return x · a + b for a vector x and numbers a and b: one instruction per element."""
    return cute.math.fma(x, cute.full_like(x, a), cute.full_like(x, b))


@cute.jit
def largest(x):
    """Return the maximum of a thread's vector x; -inf if it has no elements."""
    return x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)


@cute.jit
def total(x):
    """Return the sum of a thread's vector x."""
    return x.reduce(cute.ReductionOp.ADD, 0.0, 0)


# -- device functions: pairs (m, s) ----------------------------------------------------------------
@cute.jit
def finite(m):
    """Return the number to subtract: the maximum m, or 0 where m is still -inf."""
    return Float32(0.0) if m == -Float32.inf else m


@cute.jit
def merged(a, b):
    """Return the pair of two parts of a row together, from their pairs a and b."""
    m = cute.arch.fmax(a[0], b[0])
    shift = finite(m)
    return m, a[1] * exp(a[0] - shift) + b[1] * exp(b[0] - shift)


@cute.jit
def butterfly_merged(m, s, lanes: cutlass.Constexpr = 32):
    """Return the pair of each group of `lanes` lanes, in all of them: `merged` at every step."""
    for k in cutlass.range_constexpr(lanes.bit_length() - 1):
        other = tuple(cute.arch.shuffle_sync_bfly(v, offset=1 << k) for v in (m, s))
        m, s = merged((m, s), other)
    return m, s


@cute.jit
def merged_lanes(m, s, lanes: cutlass.Constexpr = 32, power: cutlass.Constexpr = exp):
    """Return the pair of each group of `lanes` lanes, in all of them: first the largest m, then
    each lane rescales its s once, then the sum. power: `exp`, or `exp2` where each m has been
    multiplied by log2 e.
    """
    m_all = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=lanes)
    s = s * power(m - finite(m_all))
    return m_all, cute.arch.warp_reduction(s, operator.add, threads_in_group=lanes)


def merged_pair(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    """`merged` in plain Python, in float64."""
    m = max(a[0], b[0])
    shift = m if m > -math.inf else 0.0
    return m, a[1] * math.exp(a[0] - shift) + b[1] * math.exp(b[0] - shift)


# -- rows as 16-byte vectors -----------------------------------------------------------------------
def vectors_of(row):
    """Divide one row, a tensor (N), into vectors of 16 bytes: ((Vec),(Rest))."""
    return cute.zipped_divide(row, (128 // row.element_type.width,))


def row_tiles(dtype, warps: int, loads: int):
    """Return the tiled copy and the tiler (rows, columns) for a block in which `warps` warps share
    a row (four rows if it is one warp) and each thread holds `loads` vectors of 16 bytes.
    """
    rows, threads, vec = 4 if warps == 1 else 1, 32 * warps, 128 // dtype.width
    atom = cute.make_copy_atom(CopyUniversalOp(), dtype, num_bits_per_copy=128)
    thr_layout = cute.make_layout((rows, threads), stride=(threads, 1))
    val_layout = cute.make_layout((1, vec), stride=(vec, 1))
    return cute.make_tiled_copy_tv(atom, thr_layout, val_layout), (rows, threads * vec * loads)


def whole(x: torch.Tensor):
    """Return the spec for `fk.compile` that promises rows of whole 16-byte vectors in x (M, N)."""
    return fk.spec(x, divisible={1: 16 // x.element_size()})


def loads_of(x: torch.Tensor, threads: int) -> int:
    """Return the vectors of 16 bytes per thread if so many threads share a row of x (M, N)."""
    return -(-x[0].nbytes // (16 * threads))


# -- kernels that a later page only compares with --------------------------------------------------
@cute.kernel
def three_passes_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    lane, row = tidx % 32, bidx * 8 + tidx // 32
    if row < mX.shape[0]:
        m, s = -Float32.inf, Float32(0.0)
        for n in range(lane, mX.shape[1], 32):
            m = cute.arch.fmax(m, mX[row, n].to(Float32))
        m = cute.arch.warp_reduction(m, cute.arch.fmax)
        for n in range(lane, mX.shape[1], 32):
            s += exp(mX[row, n].to(Float32) - m)
        s = cute.arch.warp_reduction(s, operator.add)
        for n in range(lane, mX.shape[1], 32):
            mY[row, n] = (exp(mX[row, n].to(Float32) - m) / s).to(mY.element_type)


@cute.jit
def three_passes(mX: cute.Tensor, mY: cute.Tensor):
    """Softmax of rows as `00_softmax_without_tears` computes it: one warp per row."""
    blocks = cute.ceil_div(mX.shape[0], 8)
    three_passes_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))


@cute.kernel
def online_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row, lane = bidx * 4 + tidx // 32, tidx % 32
    if row < mX.shape[0]:
        m, s = -Float32.inf, Float32(0.0)
        for n in range(lane, mX.shape[1], 32):
            m, s = merged((m, s), (mX[row, n].to(Float32), Float32(1.0)))
        m, s = butterfly_merged(m, s)
        for n in range(lane, mX.shape[1], 32):
            mY[row, n] = (exp(mX[row, n].to(Float32) - m) / s).to(mY.element_type)


@cute.jit
def online(mX: cute.Tensor, mY: cute.Tensor):
    """Softmax of rows as `01_online` computes it, with four rows per block instead of eight."""
    blocks = cute.ceil_div(mX.shape[0], 4)
    online_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


@cute.jit
def single_pass_step(x, warps: cutlass.Constexpr):
    """Return the softmax of a row from a thread's part of it, x ((Vec,1),1,loads), where `warps`
    warps share the row: online from vector to vector, lane to lane and warp to warp, with one
    barrier. All maxima are multiplied by log2 e.
    """
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

    m, s = merged_lanes(m, s, 32, exp2)
    if tidx % 32 == 0:
        sMax[tidx // 32], sSum[tidx // 32] = m, s
    cute.arch.sync_threads()
    m, s = merged_lanes(sMax[tidx % warps], sSum[tidx % warps], warps, exp2)

    scale = 1.0 / s
    for k in cutlass.range_constexpr(loads):
        rE[None, 0, k].store(rE[None, 0, k].load() * (exp2(rMax[k] - m) * scale))
    return rE.load()


# -- check -----------------------------------------------------------------------------------------
HARD = (
    "plain",
    "descending",
    "ascending",
    "around 1,000",
    "around -1,000",
    "one of 2,000",
    "first half masked",
    "all masked",
)  # the names of `hard_rows`, in order


def hard_rows(n: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return eight rows (8, n) in which a careless softmax fails; `HARD` names them."""
    plain = fk.randn(n, device="virtual") * 3
    peak, masked = plain.clone(), plain.clone()
    peak[n // 2] = 2000.0
    masked[: n // 2] = -torch.inf
    rows = (
        plain,
        plain.sort(descending=True).values,
        plain.sort().values,
        plain + 1000,
        plain - 1000,
        peak,
        masked,
        torch.full((n,), -torch.inf),
    )
    return torch.stack(rows).to(fk.device, dtype)


def _results(run, x):
    y = fk.empty(*x.shape, dtype=x.dtype)
    run(x, y)
    return y, x.double().softmax(1)


def checked(
    fn: Any,
    *lengths: int,
    compile: Callable[..., Any] = fk.compile,
    dtypes: Sequence[torch.dtype] = TYPES,
    rows: Callable[[int, torch.dtype], torch.Tensor] = hard_rows,
) -> Any:
    """Compile a softmax by `compile(fn, x, y)` once per type, for the longest of these lengths,
    check it on `rows(n, type)` of each length n, and return the last compiled kernel.

    Raises AssertionError with the report of the first wrong result.
    """
    for dtype in dtypes:
        x = rows(max(lengths), dtype)
        run = compile(fn, x, fk.empty(*x.shape, dtype=dtype))
        for n in lengths:
            report = compare(*_results(run, rows(n, dtype)))
            assert report.ok, f"rows of {n} elements, {dtype}: {report}"
    words = [f"{n:,}" for n in lengths], [str(dtype).partition(".")[2] for dtype in dtypes]
    print("right: rows of {} elements, {}".format(*map(", ".join, words)))
    return run


def survivors(fn: Any, n: int, dtype: torch.dtype = torch.float32) -> list[str]:
    """Return the names of the hard rows of n elements for which the softmax `fn(x, y)` is right."""
    x = hard_rows(n, dtype)
    codes = compare(*_results(fk.compile(fn, x, x), x)).codes
    return [name for name, row in zip(HARD, codes, strict=True) if not row.any()]


# -- count -----------------------------------------------------------------------------------------
class Cost(NamedTuple):
    """reads, writes: in matrices; instructions: PTX instructions per element of the matrix."""

    reads: float
    writes: float
    instructions: float

    def __str__(self) -> str:
        per = f"{self.instructions:5.1f} instructions per element"
        return f"{self.reads:.2f} reads, {self.writes:.2f} writes, {per}"


def cost(run: Any, *tensors: torch.Tensor) -> Cost:
    """Profile `run(*tensors)`; the matrix that serves as the unit is the first tensor."""
    p, matrix = fk.profile(run, *tensors), tensors[0]
    read, written = p.global_load_bytes_moved, p.global_store_bytes_moved
    instructions = 32 * p.warp_instructions / matrix.numel()
    return Cost(read / matrix.nbytes, written / matrix.nbytes, instructions)


def passes(fn: Any, rows: int = 8, columns: int = 1024) -> list[tuple[str, float, float]]:
    """Return, for each line of a softmax that touches memory: its text, and how many times it
    reads and writes the matrix.
    """
    x, y = fk.randn(rows, columns), fk.empty(rows, columns)
    moved = [
        (line.text.strip(), line["global_load_bytes_moved"], line["global_store_bytes_moved"])
        for line in fk.profile(fk.compile(fn, x, y), x, y).lines
    ]
    return [(text, r / x.nbytes, w / x.nbytes) for text, r, w in moved if r or w]


def executed(p: fk.Profile, opcode: str) -> int:
    """Return how many PTX instructions that begin with `opcode` the warps executed."""
    every = (i for line in p.all_lines for i in line.instructions)
    return sum(i["warp_instructions"] for i in every if i.text.startswith(opcode))


def machine_per_element(run: Any, elements: int) -> float:
    """Return the machine instructions (16 bytes each) of the whole kernel, per element of a thread
    that has so many elements.
    """
    return run.code_bytes / 16 / elements


def held_by(run: Any, n: int, threads: int) -> list[list[int]]:
    """Return, for each of the first threads, the columns that it loads of one row of n elements."""
    x, y = fk.randn(1, n), fk.empty(1, n)
    reader = fk.footprint(run, x, y, tensor="mX", kind="load").touched["mX"]["thread"][0]
    return [[k for k in range(n) if reader[k] == thread] for thread in range(threads)]


def sector_bytes(run: Any, *tensors: torch.Tensor) -> int:
    """Return the bytes of all 32-byte sectors that `run(*tensors)` requests, both directions."""
    p = fk.profile(run, *tensors)
    return 32 * (p["global_load_sectors"] + p["global_store_sectors"])


def blocks_per_sm(run: Any, threads: int, shared_bytes: int = 0) -> int:
    """Return how many blocks of `run` fit on an SM of an H200, by the rules of `cuda_occupancy.h`.

    threads, shared_bytes: per block.
    """
    limits = MULTIPROCESSORS["sm_90"].limits(threads, run.registers, shared_bytes)
    return min(limits.values())


# -- what a GPU took -------------------------------------------------------------------------------
class Step:
    """An entry of `steps`, which `forgekit.benching.steps` times: `make(*tensors)` compiles the
    kernel for these tensors; `fits(x)` is false for rows that it cannot take.
    """

    def __init__(self, make: Callable[..., Any], fits: Callable[..., bool] = lambda x: True):
        self.make, self.fits = make, fits

    def calls(self, *tensors: torch.Tensor) -> Callable[[], Any]:
        if not self.fits(tensors[0]):
            raise ValueError(f"not for rows of {tensors[0].shape[1]:,} elements")
        return partial(self.make(*tensors), *tensors)


def recorded_part(name: str, shapes: Sequence[tuple[int, int]]) -> Recorded:
    """Return the run recorded as `week2/name`, cut down to these shapes."""
    times = recorded(f"week2/{name}")
    return replace(times, rows=tuple(r for r in times.rows if r.shape in shapes))


def time_ratios(times: Recorded, step: str, other: str) -> dict[tuple[Any, str], float]:
    """Return the time of a step divided by that of another, by (shape, type)."""
    return {
        (r.shape, r.dtype): r.ms / times.row(other, r.dtype, r.shape).ms
        for r in times.rows
        if r.step == step
    }


# -- draw ------------------------------------------------------------------------------------------
def draw_ranges(axes: Axes, ranges: Mapping[str, tuple[int, int, int]]) -> None:
    """One bar per type: the first x with exp(x) > 0, the first with all digits, the last finite."""
    for k, (first, full, last) in enumerate(ranges.values()):
        axes.barh(k, full - first, left=first, height=0.5, color=SERIES[3], alpha=0.45)
        axes.barh(k, last - full, left=full, height=0.5, color=NOTE)
        axes.text(first - 3, k, str(first), ha="right", va="center")
        axes.text(last + 3, k, str(last), va="center")
    axes.set_yticks(range(len(ranges)), list(ranges))
    axes.set(xlim=(-130, 130), xlabel="x")
    axes.invert_yaxis()
    axes.grid(False)


def draw_errors(axes: Axes, below: torch.Tensor, errors: Mapping[str, torch.Tensor]) -> None:
    """Relative errors in units of 2^-24 over x - m, and the line |x - m|, from which they come."""
    looks = ((".", NOTE), ("x", UNTOUCHED))
    for (name, error), (marker, colour) in zip(errors.items(), looks, strict=True):
        axes.plot(below, error, marker, ms=4, color=colour, label=name)
    ends = torch.tensor([below.min().item(), 0.0])
    axes.plot(ends, -ends, ":", color=NOTE, label="|x - m|")
    axes.set(xlabel="x - m", ylabel="relative error / 2⁻²⁴")
    axes.legend()


def draw_passes(axes: Axes, found: Mapping[str, Sequence[tuple[str, float, float]]]) -> None:
    """One row per line of `passes`: what it reads to the left, what it writes to the right."""
    ticks, y = [], 0.0
    for name, lines in found.items():
        for text, r, w in lines:
            axes.barh(y, -r, color=READ)
            axes.barh(y, w, color=WRITTEN)
            axes.text(1.15, y, text, family="monospace", va="center")
            ticks.append((y, name if (text, r, w) == lines[0] else ""))
            y -= 1
        y -= 0.4
    axes.set_yticks(*zip(*ticks, strict=True))
    axes.set(xlim=(-1.1, 6.5), xticks=(-0.5, 0.5), xticklabels=("read", "written"))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.grid(False)


def draw_staircase(left: Axes, right: Axes, row: Sequence[float]) -> None:
    """Left: the elements of a row and the maximum so far. Right: the sum relative to it after each
    element; the hatched part of the sum before it is what rescaling takes away.
    """
    m, s, maxima = -math.inf, 0.0, []
    for n, x in enumerate(row):
        m_new, before = max(m, x), s
        factor = math.exp(m - m_new)
        s, m = s * factor + math.exp(x - m_new), m_new
        maxima.append(m)
        right.bar(n, s, width=0.7, color=NOTE)
        if before and factor < 1:
            right.bar(n - 0.5, before, width=0.14, color="none", edgecolor=UNTOUCHED, hatch="////")
            right.bar(n - 0.5, before * factor, width=0.14, color=UNTOUCHED)
            right.text(n - 0.5, max(before, s) + 0.08, f"× {factor:.3f}", ha="center")
    left.step([*range(len(row)), len(row) - 0.5], [*maxima, m], where="post", color=NOTE, lw=2)
    left.plot(row, "o", color=UNTOUCHED)
    left.text(len(row) - 0.5, m + 0.3, "m, the maximum so far", ha="right")
    left.set(xlabel="element", ylabel="x", ylim=(min(row) - 1, max(row) + 1.5))
    right.set(xlabel="element", ylabel="s", ylim=(0, 2.9))


def draw_tree(axes: Axes, row: Sequence[float]) -> None:
    """The pairs (m, s) of a row of 2^k elements, merged by neighbours; each edge that rescales a
    sum shows its factor.
    """
    level: list[tuple[float, float]] = [(x, 1.0) for x in row]
    places, depth = [float(k) for k in range(len(row))], 0
    box = {"boxstyle": "round", "facecolor": "white", "edgecolor": NOTE}
    while level:
        above = [(a + b) / 2 for a, b in zip(places[::2], places[1::2], strict=False)]
        for k, (m, s) in enumerate(level):
            axes.text(places[k], -depth, f"m = {m:g}\ns = {s:.3f}", ha="center", va="center",
                      color=INK, bbox=box)  # fmt: skip
            if above:
                factor = math.exp(min(0.0, m - level[k ^ 1][0]))
                ends = (places[k], above[k // 2]), (-depth, -depth - 1)
                style = {"color": UNTOUCHED} if factor == 1 else {"color": NOTE, "ls": "--"}
                axes.plot(*ends, zorder=0, **style)
                if factor < 1:
                    middle, plain = sum(ends[0]) / 2, box | {"edgecolor": "none"}
                    axes.text(middle, -depth - 0.5, f"× {factor:.3f}", ha="center", va="center",
                              bbox=plain)  # fmt: skip
        if not above:
            break
        level = [merged_pair(a, b) for a, b in zip(level[::2], level[1::2], strict=True)]
        places, depth = above, depth + 1
    axes.set(xlim=(-0.6, len(row) - 0.4), ylim=(-depth - 0.4, 0.4))
    axes.axis("off")


def draw_moved(axes: Axes, costs: Mapping[str, Sequence[float]], least: float) -> None:
    """One bar per kernel: the matrices that it reads and writes, the first two numbers of each
    entry; the dotted line is the least.
    """
    for k, (reads, writes, *_) in enumerate(costs.values()):
        for left, length, colour, word in (
            (0, reads, READ, "read"),
            (reads, writes, WRITTEN, "written"),
        ):
            axes.barh(k, length, left=left, height=0.6, color=colour, edgecolor="white")
            axes.text(left + length / 2, k, f"{word} {length:.2g}", color=ON_BAR, ha="center",
                      va="center", size=8)  # fmt: skip
    axes.axvline(least, color=UNTOUCHED, linestyle=":")
    axes.set_yticks(range(len(costs)), list(costs))
    axes.set_xlabel("matrices moved (dotted: the least)")
    axes.invert_yaxis()
    axes.grid(False)


def draw_sm(
    axes: Axes, rows: Mapping[str, tuple[int, float, float]], capacity: float, unit: str
) -> None:
    """One bar per entry (blocks, size of a block, size of its elements): an SM's capacity, filled
    by the blocks that fit. Dark: elements; light: the rest of a block; hatched: free.
    """
    rest = mix(NOTE, PAPER, 0.65)
    for k, (blocks, block, row) in enumerate(rows.values()):
        used = blocks * block
        axes.barh(k, capacity - used, left=used, height=0.7, color="none", edgecolor=UNTOUCHED,
                  hatch="////", linewidth=0.5)  # fmt: skip
        for b in range(blocks):
            axes.barh(k, block, left=b * block, height=0.7, color=rest)
            axes.barh(k, min(row, block), left=b * block, height=0.7, color=NOTE)
            axes.barh(k, block, left=b * block, height=0.7, color="none", edgecolor=PAPER)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel(unit)
    axes.invert_yaxis()
    axes.grid(False)


def draw_held(
    axes: Axes, name: str, held: Sequence[Sequence[int]], n: int, first: int, last: int
) -> None:
    """The registers of a kernel's lanes, first to last: each cell shows the column that it holds,
    light to dark along a row of n elements; empty cells hold -inf.
    """
    for lane in range(first, last + 1):
        for k in range(max(map(len, held))):
            column = held[lane][k] if k < len(held[lane]) else None
            colour = "none" if column is None else offset_colour(column, n)
            axes.add_patch(Rectangle((lane - 0.47, k - 0.46), 0.94, 0.92, facecolor=colour,
                                     edgecolor=UNTOUCHED, linewidth=0.5))  # fmt: skip
            text, ink = ("−∞", TEXT) if column is None else (str(column), "#16191E")
            axes.text(lane, k, text, ha="center", va="center", color=ink)
    axes.set(xlim=(first - 0.6, last + 0.6), ylim=(max(map(len, held)) - 0.4, -0.6))
    axes.set(xticks=range(first, last + 1), xlabel="lane", yticks=range(4), ylabel="register")
    axes.set_title(name)
    axes.grid(False)


def draw_per_thread(axes: Axes, times: Recorded) -> None:
    """Percent of a copy's bandwidth over the elements per thread: one mark per kernel, row length
    and type; rows of 65,536 have a ring.
    """
    looks = {"float32": ("o", NOTE), "bfloat16": ("^", SERIES[4])}
    for row in times.rows:
        if row.step.startswith(("single_pass", "exp2")):
            warps = 1 if row.step == "exp2" else int(row.step.split()[1])
            spot = (row.shape[1] / (32 * warps), times.percent(row))
            marker, colour = looks[row.dtype]
            axes.plot(*spot, marker, color=colour, alpha=0.8)
            if row.shape[1] == 65536:
                axes.plot(*spot, "o", ms=13, mfc="none", mec=UNTOUCHED)
    for dtype, (marker, colour) in looks.items():
        axes.plot([], [], marker, color=colour, label=dtype)
    axes.plot([], [], "o", ms=11, mfc="none", mec=UNTOUCHED, label="rows of 65,536")
    axes.set_xscale("log", base=2)
    axes.set_xticks([4, 8, 16, 32, 64, 128], ["4", "8", "16", "32", "64", "128"])
    axes.set(xlabel="elements per thread", ylabel="% of a copy", ylim=(0, 105))
    axes.legend(loc="lower center")


# -- w2b ---
THREADS = 256  # of a block in 03
CELL_INK = "#17191D"  # text on coloured cells, dark on both pages


@cute.jit
def absorb(m: Float32, s: Float32, x: cute.TensorSSA):
    """Return the pair of a thread after it has absorbed the vector x."""
    m_new = cute.arch.fmax(m, largest(x))
    shift = finite(m_new)
    return m_new, s * exp(m - shift) + total(exp(x - shift))


@cute.jit
def merged_parts(sPart: cute.Tensor):
    """Return the pair of a row, in every lane, from those of its warps: sPart (2,parts)."""
    parts = cutlass.const_expr(sPart.shape[1])
    m, s = -Float32.inf, Float32(0.0)
    for k in cutlass.range_constexpr((parts + 31) // 32):
        part = k * 32 + cute.arch.lane_idx()
        if part < parts:
            m_new = cute.arch.fmax(m, sPart[0, part])
            shift = finite(m_new)
            s = s * exp(m - shift) + sPart[1, part] * exp(sPart[0, part] - shift)
            m = m_new
    return merged_lanes(m, s)


@cute.jit
def merged_block(m: Float32, s: Float32, sPart: cute.Tensor):
    """Return the pair of the block, in every thread; sPart (2,warps) is for the exchange."""
    m, s = merged_lanes(m, s)
    warp = cute.arch.warp_idx()
    if cute.arch.lane_idx() == 0:
        sPart[0, warp], sPart[1, warp] = m, s
    cute.arch.sync_threads()
    return merged_parts(sPart)


@cute.kernel
def single_pass_kernel(mX: cute.Tensor, mY: cute.Tensor, loads: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sPart = smem.allocate_tensor(Float32, cute.make_layout((2, THREADS // 32)), 8)
    gX, gY = vectors_of(mX[row, None]), vectors_of(mY[row, None])  # ((Vec),(Rest))
    rX = cute.make_rmem_tensor((gX.shape[0][0], loads), mX.element_type)  # (Vec,loads)
    rX.fill(-mX.element_type.inf)
    for k in cutlass.range_constexpr(loads):
        if k * THREADS + tidx < cute.size(gX, mode=[1]):
            cute.autovec_copy(gX[None, k * THREADS + tidx], rX[None, k])
    m, s = absorb(-Float32.inf, Float32(0.0), rX.load().to(Float32))
    m, s = merged_block(m, s, sPart)
    rX.store((exp(rX.load().to(Float32) - m) * (1.0 / s)).to(mX.element_type))
    for k in cutlass.range_constexpr(loads):
        if k * THREADS + tidx < cute.size(gX, mode=[1]):
            cute.autovec_copy(rX[None, k], gY[None, k * THREADS + tidx])


@cute.jit
def single_pass(mX: cute.Tensor, mY: cute.Tensor, loads: cutlass.Constexpr):
    """Softmax, one block per row, which it keeps in registers: `loads` vectors per thread."""
    block = (THREADS, 1, 1)
    single_pass_kernel(mX, mY, loads).launch(grid=(mX.shape[0], 1, 1), block=block)


def shared_bytes_of(n: int) -> int:
    """Return the shared memory of a block of `staged`: n float32 in whole rounds of its threads'
    vectors, and a pair per warp.
    """
    return 16 * THREADS * math.ceil(4 * n / (16 * THREADS)) + 8 * (THREADS // 32)


def tried(fn, *extra, size=(3, 8000), dtypes=(torch.float32,), device=None):
    """Compile a softmax, run it and check it, with one row near 100 and one -inf among the inputs.

    extra: its arguments after x and y. Returns the last dtype's compiled kernel, x and y.
    """
    for dtype in dtypes:
        x, y = (make(*size, dtype=dtype, device=device) for make in (fk.randn, fk.empty))
        x[-1] += 100
        x[0, 0] = -torch.inf
        run = fk.compile(fn, whole(x), whole(y), *extra, device=device)
        run(x, y)
        report = compare(y, x.double().softmax(1))
        assert report.ok, f"{dtype}: {report}"
    print(f"{run.name} is right in", ", ".join(str(dtype)[6:] for dtype in dtypes))
    return run, x, y


def compiled_for(fn, n, *extra, dtype=torch.float32):
    """Compile a softmax for rows of n elements, for its registers and spills alone."""
    row = fk.empty(1, n, dtype=dtype, device="virtual")
    return fk.compile(fn, whole(row), whole(row), *extra, device="virtual")


@cute.kernel
def streamed_sum_kernel(mX: cute.Tensor, mY: cute.Tensor, buffers: cutlass.Constexpr):
    lane, _, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(Float32, cute.make_layout((4, 32, buffers)), 16)
    tXsX = sX[None, lane, None]  # (4,buffers)
    gX = vectors_of(mX[0, None])  # ((4),(Rest))
    tiles = cute.size(gX, mode=[1]) // 32
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
    for k in cutlass.range_constexpr(buffers - 1):
        cute.copy(atom, gX[None, k * 32 + lane], tXsX[None, k])
        cute.arch.cp_async_commit_group()
    sum_of_lane = Float32(0.0)
    for k in cutlass.range(tiles, unroll=1):
        ahead = k + buffers - 1
        if ahead < tiles:
            cute.copy(atom, gX[None, ahead * 32 + lane], tXsX[None, ahead % buffers])
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(buffers - 1)
        sum_of_lane += total(tXsX[None, k % buffers].load())
    sum_of_row = cute.arch.warp_reduction(sum_of_lane, operator.add)
    if lane == 0:
        mY[0] = sum_of_row


@cute.jit
def streamed_sum(mX: cute.Tensor, mY: cute.Tensor, buffers: cutlass.Constexpr):
    """Sum of one row, N a multiple of 128, by one warp that streams it through `buffers` tiles."""
    streamed_sum_kernel(mX, mY, buffers).launch(grid=(1, 1, 1), block=(32, 1, 1))


def pipeline(run: Any, *args: torch.Tensor) -> list[tuple[str, int]]:
    """Return ("copy" or "wait" or "use", tile) in the order in which a warp executes them.

    The k-th `cp_async_wait_group` is for tile k; the first load from shared memory after it is the
    tile's use.
    """
    found: list[tuple[str, int]] = []
    copies = waits = 0
    for step in fk.timeline(run, *args).steps:
        text = step.source.text if step.source is not None else ""
        if (step.kind, step.does) == ("async copy", "load"):
            found.append(("copy", copies))
            copies += 1
        elif step.kind == "async copy" and "cp_async_wait_group" in text:
            found.append(("wait", waits))
            waits += 1
        elif (step.kind, step.does) == ("shared", "load") and found[-1][0] == "wait":
            found.append(("use", waits - 1))
    return found


def pipeline_picture(**runs):
    """Draw when each tile's copy is in flight and when the warp uses it.

    runs: title -> (buffers, steps as `pipeline` returns them).
    """
    alt = "; ".join(
        f"{title.replace('_', ' ')}: " + ", ".join(f"{what} {tile}" for what, tile in steps)
        for title, (_, steps) in runs.items()
    )
    with fk.figure("With two buffers, the next copy is in flight while a tile is used",
                   f"Steps of one warp, in order. {alt}.", height=0.5 + 0.62 * len(runs),
                   note="Hatched: a copy in flight. Full: the warp uses the tile. Order, not time: "
                   "the timelines of two runs.") as axes:  # fmt: skip
        height, names = 0, {}
        for title, (buffers, steps) in runs.items():
            for what, tile in steps:
                if what != "use":
                    continue
                y = height + tile % buffers
                start, wait, use = (steps.index((w, tile)) for w in ("copy", "wait", "use"))
                axes.barh(y, wait + 1 - start, left=start, height=0.72, color="none",
                          edgecolor=NOTE, hatch="////")  # fmt: skip
                axes.barh(y, 1, left=use, height=0.72, color=NOTE)
                axes.text(use + 0.5, y, f"{tile}", ha="center", va="center", color=ON_BAR)
            for k in range(buffers):
                names[height + k] = (
                    title.replace("_", " ") if buffers == 1 else f"buffer {k} of {buffers}"
                )
            height += buffers + 0.5
        axes.set_yticks(list(names), list(names.values()))
        axes.set(xticks=[], xlabel="steps of a warp, in order")
        axes.grid(False)
        axes.invert_yaxis()


def exchange_picture(mailboxes: torch.Tensor) -> None:
    """Draw who sent what to whom; mailboxes (blocks,blocks,2): by receiver and sender, of a run."""
    blocks = len(mailboxes)
    with fk.figure("Every block writes its pair into the mailbox of every block",
                   f"{blocks} blocks above, {blocks} mailboxes below, each with {blocks} places; "
                   "block 1's four arrows end in the second place of each mailbox.", height=2.5,
                   note=f"Values from the run; each mbarrier counted {8 * blocks} bytes."
                   ) as axes:  # fmt: skip
        for block in range(blocks):
            left = block * (blocks + 1)
            axes.add_patch(Rectangle((left + 0.5, 3), blocks - 1, 0.8, color=block_colour(block)))
            axes.text(
                left + blocks / 2, 3.4, f"block {block}", ha="center", va="center", color=CELL_INK
            )
            for sender in range(blocks):
                place = Rectangle((left + sender, 0), 0.94, 0.8, color=block_colour(sender))
                axes.add_patch(place)
                pair = ", ".join(str(v) for v in mailboxes[block][sender].tolist())
                axes.text(left + sender + 0.47, 0.4, pair, ha="center", va="center", color=CELL_INK)
                start = (sender * (blocks + 1) + blocks / 2, 2.95)
                style = (
                    {"color": NOTE, "lw": 1.6} if sender == 1 else {"color": UNTOUCHED, "lw": 0.5}
                )
                axes.annotate("", (left + sender + 0.47, 0.84), start,
                              arrowprops={"arrowstyle": "->", "shrinkA": 0, "shrinkB": 0,
                                          **style})  # fmt: skip
            axes.text(left + blocks / 2, -0.35, f"mailbox of block {block}", ha="center")
        axes.set(xlim=(-0.3, blocks * (blocks + 1) - 0.7), ylim=(-0.6, 4), xticks=[], yticks=[])
        axes.grid(False)
        axes.spines[:].set_visible(False)


def fastest_variants(times: Recorded):
    """Return {(dtype, N): {way: the recorded row of its fastest variant}}."""
    found = {}
    for row in times.rows:
        here = found.setdefault((row.dtype, row.shape[1]), {})
        name = row.step.split(",")[0]
        if name not in here or row.ms < here[name].ms:
            here[name] = row
    return found


def recorded_ways(times: Recorded, dtype: str = "float32"):
    """Return {N: {way: ms of its fastest variant}} without torch's rows."""
    return {n: {name: row.ms for name, row in here.items() if name != "torch"}
            for (of, n), here in fastest_variants(times).items() if of == dtype}  # fmt: skip


def percent_table(times: Recorded, lengths: Sequence[int]) -> None:
    """Print each step's percent of a copy's bandwidth, a column per row length."""
    print(times.headline)
    for dtype in ("float32", "bfloat16"):
        print(f"\n{dtype:<20}" + "".join(f"{n:>10,}" for n in lengths))
        here = {(r.step, r.shape[1]): f"{times.percent(r):.0f}" for r in times.rows
                if r.dtype == dtype}  # fmt: skip
        for step in dict.fromkeys(r.step for r in times.rows):
            print(f"{step:<20}" + "".join(f"{here.get((step, n), '-'):>10}" for n in lengths))


def ways_picture(times: Recorded, lengths: Sequence[int]) -> None:
    """Draw each way's share of a copy's bandwidth over the row length, one panel per dtype."""
    best = fastest_variants(times)
    names = ("single_pass", "staged", "cluster", "streaming", "torch")
    said = "; ".join(f"{n:,}: " + ", ".join(f"{k} {times.percent(r):.0f}" for k, r in
                     best["float32", n].items()) for n in lengths)  # fmt: skip
    with fk.figure("Percent of a copy's bandwidth, by row length", f"Float32, in percent: {said}.",
                   height=2.8, panels=2, note="Of streaming, the faster variant."
                   ) as both:  # fmt: skip
        for axes, dtype in zip(both, ("float32", "bfloat16"), strict=True):
            for k, name in enumerate(names):
                rows = [(n, best[dtype, n][name]) for n in lengths if name in best[dtype, n]]
                looks = {"color": UNTOUCHED, "ls": "--"} if name == "torch" else {
                    "color": SERIES[k], "marker": "os^D"[k], "ms": 4}  # fmt: skip
                axes.plot([n for n, _ in rows], [times.percent(r) for _, r in rows], label=name,
                          **looks)  # fmt: skip
            axes.set_xscale("log", base=2)
            axes.set_xticks(lengths, [f"{n >> 10}k" if n < 1 << 20 else "1M" for n in lengths])
            axes.set(xlabel="elements per row", ylim=(0, 105))
            axes.set_title(dtype)
        both[0].legend(loc="lower left")


@cute.jit
def row_sum(value: Float32, warps: cutlass.Constexpr):
    """Return the sum of a value over the threads of a row, in each of them: four rows per block if
    `warps` is 1, else a block per row.
    """
    value = cute.arch.warp_reduction(value, operator.add)
    if cutlass.const_expr(warps > 1):
        tidx, _, _ = cute.arch.thread_idx()
        smem = cutlass.memory.SmemAllocator()
        sPart = smem.allocate_tensor(Float32, cute.make_layout(warps), 16)
        if tidx % 32 == 0:
            sPart[tidx // 32] = value
        cute.arch.sync_threads()
        value = sPart[tidx % warps]
        value = cute.arch.warp_reduction(value, operator.add, threads_in_group=warps)
    return value


def given(*shape: int, dtype: torch.dtype = torch.float32):
    """Return dy (M, N), whose mean is about 1, the softmax y of another matrix, and room for dx."""
    dy, x = (fk.randn(*shape, dtype=dtype, seed=seed) for seed in (0, 1))
    return dy + 1, (2 * x).softmax(1), fk.empty(*shape, dtype=dtype)


def checked_backward(
    compile: Callable[..., Any], reference: Callable[..., Any], *shapes: tuple[int, int]
) -> None:
    """Check `compile(dy, y, dx)` against `reference(dy, y)` for these shapes, in three types.

    Raises AssertionError with the report of the first wrong result.
    """
    for dtype in TYPES:
        for shape in shapes:
            dy, y, dx = given(*shape, dtype=dtype)
            compile(dy, y, dx)(dy, y, dx)
            report = compare(dx, reference(dy, y), atol=1e-6)
            assert report.ok, f"{shape} {dtype}: {report}"
    print(f"right in three types: {', '.join(f'{m} × {n:,}' for m, n in shapes)}")


def saved_matrices(function: Callable[[torch.Tensor], Any], x: torch.Tensor) -> float:
    """Return what autograd saves of `function(x)`, in matrices as large as x, each counted once."""
    sizes = {}
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: sizes.update({t.data_ptr(): t.nbytes}) or t, lambda t: t
    ):
        function(x)
    return sum(sizes.values()) / x.nbytes


def rows_picture(**rows: torch.Tensor) -> None:
    """Draw the only row of each tensor (1, N) as bars; name -> tensor."""
    sums = {name: row.double().sum().item() for name, row in rows.items()}
    alt = "; ".join(f"{name} adds up to {total:z.4f}" for name, total in sums.items())
    with fk.figure("One row: dx is small where y is small, and adds up to 0",
                   f"Bars for {len(rows)} rows. {alt}.", panels=len(rows),
                   height=1.5) as panels:  # fmt: skip
        for axes, (name, row) in zip(panels, rows.items(), strict=True):
            axes.bar(range(row.shape[1]), row[0].double().cpu(), color=NOTE)
            axes.set_title(f"{name}, sum {sums[name]:z.4f}")
            axes.set_xticks([])


def difference_picture(steps: Sequence[float], errors: Mapping[str, Sequence[float]]) -> None:
    """Draw the relative error of a central difference over its step; errors: dtype name -> list."""
    best = {name: steps[found.index(min(found))] for name, found in errors.items()}
    said = "; ".join(f"{name}: smallest error {min(errors[name]):.0e} at step {step:.0e}"
                     for name, step in best.items())  # fmt: skip
    with fk.figure("A step can be too large or too small", f"Two V-shaped curves. {said}.",
                   height=2.3) as axes:  # fmt: skip
        for k, (name, found) in enumerate(errors.items()):
            axes.loglog(steps, found, marker="os"[k], ms=3.5, color=SERIES[k], label=name)
        axes.set(xlabel="step", ylabel="relative error")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:.0e}")
        axes.legend()


def gradient_picture(costs: Mapping[str, Cost]) -> None:
    """Draw what is in memory and in a lane's registers during each part of two gradient kernels.

    costs: of runs of `backward` and `backward_vectors`.
    """
    parts = {
        "backward": (("first loop", "rr.", "ee+"), ("butterfly", "...", "..d"),
                     ("second loop", "rrw", "eed")),
        "backward_vectors": (("load", "rr.", "aa+"), ("butterfly", "...", "aad"),
                             ("store", "..w", "aad")),
    }  # fmt: skip
    told = {"r": ("read", READ, ON_BAR), "w": ("write", WRITTEN, ON_BAR),
            "e": ("one", NOTHING, CELL_INK), "+": ("part", NOTHING, CELL_INK),
            "a": ("all", SERIES[3], CELL_INK), "d": ("dot", SERIES[2], CELL_INK)}  # fmt: skip
    alt = "; ".join(f"{name}: {costs[name][0]:.0f} matrices read, {costs[name][1]:.0f} written"
                    for name in parts)  # fmt: skip
    with fk.figure("Registers that hold the row save the second read", f"{alt}. Only "
                   "backward_vectors has all of a lane's dy and y in registers.", height=2.2,
                   panels=2, note="one: one element at a time; all: the lane's share of the row; "
                   "part: its share of Σ dy·y; dot: all of Σ dy·y."
                   ) as both:  # fmt: skip
        for axes, (name, rows) in zip(both, parts.items(), strict=True):
            places = (0, 1, 2, 3.4, 4.4, 5.4)
            for y, (words, moved, held) in enumerate(rows):
                for x, sign in zip(places, moved + held, strict=True):
                    word, colour, ink = told.get(sign, ("", "none", CELL_INK))
                    axes.add_patch(Rectangle((x, y), 0.92, 0.86, facecolor=colour,
                                             edgecolor=UNTOUCHED, linewidth=0.6))  # fmt: skip
                    axes.text(x + 0.46, y + 0.43, word, ha="center", va="center", color=ink)
                axes.text(-0.15, y + 0.43, words, ha="right", va="center")
            for x, word in zip(places, ("dy", "y", "dx", "dy", "y", "dot"), strict=True):
                axes.text(x + 0.46, -0.2, word, ha="center")
            axes.text(1.46, -0.75, "memory", ha="center")
            axes.text(4.86, -0.75, "registers of a lane", ha="center")
            reads, writes = costs[name][:2]
            axes.text(1.46, 3.35, f"{reads:.0f} + {writes:.0f} matrices", ha="center")
            axes.set_title(name)
            axes.set(xlim=(-1.9, 6.4), ylim=(3.5, -1.1), xticks=[], yticks=[])
            axes.grid(False)
            axes.spines[:].set_visible(False)


# -- w2c ---
