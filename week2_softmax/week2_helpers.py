"""Functions that week 2's notebooks share; each page introduces the ones that it uses.

A pair (m, s) describes a part of a row: m is the maximum of its elements and s the sum of all
exp(x - m). An empty row has the pair (-inf, 0).
"""

import collections
import itertools
import json
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
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
from forgekit.lessons.pictures import picture
from forgekit.ops.tile_choice import choose_rows
from forgekit.profiling.multiprocessor import MULTIPROCESSORS
from forgekit.viz.palette import (
    NOTE,
    NOTHING,
    PAPER,
    UNTOUCHED,
    WRONG,
    block_colour,
    mix,
    offset_colour,
)
from forgekit.viz.timing.style import INK, SERIES, TEXT

LOG2_E = math.log2(math.e)
TYPES = (torch.float32, torch.float16, torch.bfloat16)
# The colours of a kernel's reads and writes, and of text on them, on light and dark pages.
READ, WRITTEN, ON_BAR = SERIES[0], mix(SERIES[4], "#000000", 0.15), "#FDFDFD"
CELL_INK = "#17191D"  # text on coloured cells, dark on both pages


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
    """Merge the pairs a and b of two parts of a row into one pair."""
    m = cute.arch.fmax(a[0], b[0])
    shift = finite(m)
    return m, a[1] * exp(a[0] - shift) + b[1] * exp(b[0] - shift)


@cute.jit
def butterfly_merged(m, s, lanes: cutlass.Constexpr = 32):
    """Return the pair of each group of `lanes` lanes, in every lane, by `merged` at each step."""
    for k in cutlass.range_constexpr(lanes.bit_length() - 1):
        other = tuple(cute.arch.shuffle_sync_bfly(v, offset=1 << k) for v in (m, s))
        m, s = merged((m, s), other)
    return m, s


@cute.jit
def merged_lanes(m, s, lanes: cutlass.Constexpr = 32, power: cutlass.Constexpr = exp):
    """Return the pair of each group of `lanes` lanes, in every lane.

    Find the largest m, let each lane rescale its s once, and add the sums. power: `exp`, or `exp2`
    if every m has been multiplied by log2 e.
    """
    m_all = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=lanes)
    s = s * power(m - finite(m_all))
    return m_all, cute.arch.warp_reduction(s, operator.add, threads_in_group=lanes)


def merged_pair(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    """Compute `merged` in plain Python, in float64."""
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
    """Return the spec for `fk.compile` which promises that x (M, N) has rows of whole vectors."""
    return fk.spec(x, divisible={1: 16 // x.element_size()})


def loads_of(x: torch.Tensor, threads: int) -> int:
    """Return the number of 16-byte vectors per thread if this many threads share a row of x."""
    return -(-x[0].nbytes // (16 * threads))


# -- kernels that later pages use only for comparison ----------------------------------------------
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
    """Compute the softmax of rows as in `00_softmax_without_tears`, with one warp per row."""
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
    """Compute the softmax of rows as in `01_online`, with four rows per block instead of eight."""
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
    """Return eight rows (8, n) on which a careless softmax fails; `HARD` names them."""
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
    print("correct: rows of {} elements, {}".format(*map(", ".join, words)))
    return run


def survivors(fn: Any, n: int, dtype: torch.dtype = torch.float32) -> list[str]:
    """Return the names of the hard rows of n elements for which `fn(x, y)` is correct."""
    x = hard_rows(n, dtype)
    codes = compare(*_results(fk.compile(fn, x, x), x)).codes
    return [name for name, row in zip(HARD, codes, strict=True) if not row.any()]


# -- count -----------------------------------------------------------------------------------------
class Cost(NamedTuple):
    """A call's cost. reads, writes: in matrices; instructions: PTX instructions per element."""

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
    """Return, for each line of a softmax that accesses memory, its text and how many times it
    reads and writes the matrix.
    """
    x, y = fk.randn(rows, columns), fk.empty(rows, columns)
    moved = [
        (line.text.strip(), line["global_load_bytes_moved"], line["global_store_bytes_moved"])
        for line in fk.profile(fk.compile(fn, x, y), x, y).lines
    ]
    return [(text, r / x.nbytes, w / x.nbytes) for text, r, w in moved if r or w]


def executed(p: fk.Profile, opcode: str) -> int:
    """Return the number of PTX instructions named `opcode…` that the warps executed."""
    every = (i for line in p.all_lines for i in line.instructions)
    return sum(i["warp_instructions"] for i in every if i.text.startswith(opcode))


def opcodes_per_element(run: Any, *tensors: torch.Tensor) -> str:
    """Return, as text, how many of each PTX opcode `run(*tensors)` executes per element."""
    p, numbers = fk.profile(run, *tensors), tensors[0].numel()
    opcodes = ("sub.", "mul.f32", "fma.", "ex2.", "div.", "cvt.", "mad.", "shl.")
    counted = {opcode: 32 * executed(p, opcode) / numbers for opcode in opcodes}
    return ", ".join(f"{op.rstrip('.')} {n:.1f}" for op, n in counted.items() if n > 0.2)


def machine_per_element(run: Any, elements: int) -> float:
    """Return the number of machine instructions (16 bytes each) in the whole kernel, divided by
    the number of elements that a thread has.
    """
    return run.code_bytes / 16 / elements


def held_by(run: Any, n: int, threads: int) -> list[list[int]]:
    """Return, for each of the first threads, the columns that it loads of one row of n elements."""
    x, y = fk.randn(1, n), fk.empty(1, n)
    reader = fk.footprint(run, x, y, tensor="mX", kind="load").touched["mX"]["thread"][0]
    return [[k for k in range(n) if reader[k] == thread] for thread in range(threads)]


def sector_bytes(run: Any, *tensors: torch.Tensor) -> int:
    """Return the bytes of all 32-byte sectors that `run(*tensors)` loads and stores."""
    p = fk.profile(run, *tensors)
    return 32 * (p["global_load_sectors"] + p["global_store_sectors"])


def blocks_per_sm(run: Any, threads: int, shared_bytes: int = 0) -> int:
    """Return how many blocks of `run` fit on an SM of an H200, by the rules of `cuda_occupancy.h`.

    threads, shared_bytes: per block.
    """
    limits = MULTIPROCESSORS["sm_90"].limits(threads, run.registers, shared_bytes)
    return min(limits.values())


def block_on_sm(run: Any, threads: int, elements: int) -> tuple[int, int, int]:
    """Return for `sm_picture` how many blocks fit on an SM by registers, the registers of a block,
    and how many of these its `elements` elements take.
    """
    of_a_thread = -(-run.registers // 8) * 8  # an SM assigns them in eights
    return blocks_per_sm(run, threads), threads * of_a_thread, elements


# -- recorded times --------------------------------------------------------------------------------
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
    """Return the run recorded as `week2/name`, limited to these shapes."""
    times = recorded(f"week2/{name}")
    return replace(times, rows=tuple(r for r in times.rows if r.shape in shapes))


def time_ratios(times: Recorded, step: str, other: str) -> dict[tuple[Any, str], float]:
    """Return the time of a step divided by that of another, by (shape, type)."""
    return {
        (r.shape, r.dtype): r.ms / times.row(other, r.dtype, r.shape).ms
        for r in times.rows
        if r.step == step
    }


# -- draw: pictures of at most 4.1 inches, which a phone shows without scrolling ------------------
shown = partial(fk.figure, width=4.1)


def ranges_picture(ranges: Mapping[str, tuple[int, int, int]]) -> None:
    """Draw a bar per type: first x with exp(x) > 0, first with all digits, last finite exp(x)."""
    alt = ", ".join(f"{name} from {first} to {last}" for name, (first, _, last) in ranges.items())
    with shown("float16 ends at exp(11), the other two at exp(88)", alt, height=1.7) as axes:
        for k, (first, full, last) in enumerate(ranges.values()):
            axes.barh(k, full - first, left=first, height=0.5, color=SERIES[3], alpha=0.45)
            axes.barh(k, last - full, left=full, height=0.5, color=NOTE)
            axes.text(first - 3, k, str(first), ha="right", va="center")
            axes.text(last + 3, k, str(last), va="center")
        axes.set_yticks(range(len(ranges)), list(ranges))
        axes.set(xlim=(-145, 125), xlabel="x")
        axes.invert_yaxis()
        axes.grid(False)


def errors_picture(below: torch.Tensor, errors: Mapping[str, torch.Tensor]) -> None:
    """Draw relative errors in units of 2^-24 over x - m, and the line |x - m|, which causes them.

    The alt text states the largest of the first errors, those of the correct softmax.
    """
    first = next(iter(errors.values()))
    alt = f"The largest error is {first.max():.0f} · 2⁻²⁴, at x - m = {below[first.argmax()]:.0f}."
    with shown("Subtracting the maximum costs digits of tiny weights", alt) as axes:
        looks = ((".", NOTE), ("x", UNTOUCHED))
        for (name, error), (marker, colour) in zip(errors.items(), looks, strict=True):
            axes.plot(below, error, marker, ms=4, color=colour, label=f"minus {name}")
        ends = torch.tensor([below.min().item(), 0.0])
        axes.plot(ends, -ends, ":", color=NOTE, label="|x - m|")
        axes.set(xlabel="x - m", ylabel="relative error / 2⁻²⁴")
        axes.legend()


def passes_picture(found: Mapping[str, Sequence[tuple[str, float, float]]]) -> None:
    """Draw each line of `passes` above its bars: bytes read to the left, written to the right."""
    moved = {name: sum(r + w for _, r, w in lines) for name, lines in found.items()}
    alt = ", ".join(f"{name} {times:g} times the matrix" for name, times in moved.items())
    height = 0.4 + 0.4 * sum(map(len, found.values()))
    with shown("Each loop moves the whole matrix", f"{alt}.", height=height) as axes:
        ticks, y = [], 0.0
        for name, lines in found.items():
            for text, r, w in lines:
                axes.barh(y, -r, 0.4, color=READ)
                axes.barh(y, w, 0.4, color=WRITTEN)
                text = text if len(text) < 48 else f"{text[:47]}…"
                axes.text(-1, y + 0.5, text, family="monospace", size=6.5, va="center")
                ticks.append((y, name if (text, r, w) == lines[0] else ""))
                y -= 1.1
            y -= 0.3
        axes.set_yticks(*zip(*ticks, strict=True))
        axes.set(xlim=(-1.02, 1.02), ylim=(y + 0.9, 0.8))
        axes.set(xticks=(-0.5, 0.5), xticklabels=("read", "written"))
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.grid(False)


def online_steps(row: Sequence[float]) -> list[tuple[float, float, float]]:
    """Return, for each element of a row, the maximum so far, the factor, and the relative sum."""
    m, s, found = -math.inf, 0.0, []
    for x in row:
        m_new = max(m, x)
        factor = math.exp(m - m_new)
        s, m = s * factor + math.exp(x - m_new), m_new
        found.append((m, factor, s))
    return found


def staircase_picture(row: Sequence[float]) -> None:
    """Draw the elements of a row and the maximum so far (left), and the sum relative to it after
    each element (right); the hatched part of the old sum is the amount that rescaling removes.
    """
    steps = online_steps(row)
    maxima, rescaled = [m for m, _, _ in steps], [n for n in range(1, len(row)) if steps[n][1] < 1]
    rises = ", ".join(f"{m:g}" for m in dict.fromkeys(maxima))
    factors = ", ".join(f"{steps[n][1]:.3f} before element {n}" for n in rescaled)
    alt = f"Left: m is {rises}. Right: s, rescaled by {factors}."
    with shown("Where m rises, s is rescaled", alt, height=2.2, panels=2) as (left, right):
        right.bar(range(len(row)), [s for _, _, s in steps], width=0.7, color=NOTE)
        for n in rescaled:
            before, factor, after = steps[n - 1][2], steps[n][1], steps[n][2]
            right.bar(n - 0.5, before, width=0.14, color="none", edgecolor=UNTOUCHED, hatch="////")
            right.bar(n - 0.5, before * factor, width=0.14, color=UNTOUCHED)
            right.text(n - 0.5, max(before, after) + 0.08, f"× {factor:.3f}", ha="center")
        ends = [*range(len(row)), len(row) - 0.5], [*maxima, maxima[-1]]
        left.step(*ends, where="post", color=NOTE, lw=2)
        left.plot(row, "o", color=UNTOUCHED)
        left.text(len(row) - 0.5, maxima[-1] + 0.3, "m, the maximum so far", ha="right")
        left.set(xlabel="element", ylabel="x", ylim=(min(row) - 1, max(row) + 1.5))
        right.set(xlabel="element", ylabel="s", ylim=(0, 2.9))


def tree_picture(row: Sequence[float]) -> None:
    """Draw the pairs (m, s) of a row of 2^k elements, with neighbours merged; each edge that
    rescales a sum shows its factor.
    """
    levels: list[list[tuple[float, float]]] = [[(x, 1.0) for x in row]]
    while len(last := levels[-1]) > 1:
        levels.append([merged_pair(a, b) for a, b in zip(last[::2], last[1::2], strict=True)])
    (m, s), places = levels[-1][0], [float(k) for k in range(len(row))]
    with shown("Each merge rescales the sum with the smaller maximum",
               f"{len(row)} pairs become one: m = {m:g}, s = {s:.3f}.", height=3.2,
               note="In each box: m, and s below it. Dashed: a factor below 1."
               ) as axes:  # fmt: skip
        box = {"boxstyle": "round", "facecolor": "white", "edgecolor": NOTE}
        for depth, level in enumerate(levels):
            above = [(a + b) / 2 for a, b in zip(places[::2], places[1::2], strict=False)]
            for k, (m, s) in enumerate(level):
                axes.text(places[k], -depth, f"{m:g}\n{s:.3f}", ha="center", va="center",
                          color=INK, bbox=box)  # fmt: skip
                if not above:
                    continue
                factor = math.exp(min(0.0, m - level[k ^ 1][0]))
                ends = (places[k], above[k // 2]), (-depth, -depth - 1)
                style = {"color": UNTOUCHED} if factor == 1 else {"color": NOTE, "ls": "--"}
                axes.plot(*ends, zorder=0, **style)
                if factor < 1:
                    axes.text(sum(ends[0]) / 2, -depth - 0.5, f"{factor:.3f}", ha="center",
                              va="center", bbox=box | {"edgecolor": "none"})  # fmt: skip
            places = above
        axes.set(xlim=(-0.6, len(row) - 0.4), ylim=(0.6 - len(levels), 0.4))
        axes.axis("off")


def moved_picture(title: str, costs: Mapping[str, Cost], least: float = 2) -> None:
    """Draw a bar per kernel for the matrices that it moves, and a dotted line at the minimum."""
    alt = "; ".join(
        f"{name} {c.reads:.0f} reads, {c.writes:.0f} write" for name, c in costs.items()
    )
    with shown(title, f"{alt}.", height=0.7 + 0.3 * len(costs)) as axes:
        for k, (reads, writes, _) in enumerate(costs.values()):
            for left, length, colour, word in (
                (0, reads, READ, "read"),
                (reads, writes, WRITTEN, "written"),
            ):
                axes.barh(k, length, left=left, height=0.6, color=colour, edgecolor="white")
                axes.text(left + length / 2, k, f"{word} {length:.2g}", color=ON_BAR, ha="center",
                          va="center", size=8)  # fmt: skip
        axes.axvline(least, color=UNTOUCHED, linestyle=":")
        axes.set_yticks(range(len(costs)), list(costs))
        axes.set_xlabel("matrices moved (dotted: the minimum)")
        axes.invert_yaxis()
        axes.grid(False)


def sm_picture(
    title: str, *panels: tuple[str, float, Mapping[str, tuple[int, float, float]]]
) -> None:
    """Draw an SM's capacity, filled by the blocks that fit. Dark: elements; light: the rest of a
    block; hatched: free.

    panels: (unit, capacity, label -> (blocks, size of a block, size of its elements)).
    """
    alt = "; ".join(
        f"{unit}: " + ", ".join(f"{blocks} of {label}" for label, (blocks, _, _) in rows.items())
        for unit, _, rows in panels
    )
    rest = mix(NOTE, PAPER, 0.65)
    with shown(title, f"{alt}.", height=0.6 + 0.26 * len(panels[0][2]), panels=len(panels),
               note="Dark: elements; light: the rest of a block; hatched: free."
               ) as drawn:  # fmt: skip
        for axes, (unit, capacity, rows) in zip(
            drawn if len(panels) > 1 else [drawn], panels, strict=True
        ):
            for k, (blocks, block, row) in enumerate(rows.values()):
                axes.barh(k, capacity - blocks * block, left=blocks * block, height=0.7,
                          color="none", edgecolor=UNTOUCHED, hatch="////", linewidth=0.5
                          )  # fmt: skip
                for b in range(blocks):
                    axes.barh(k, block, left=b * block, height=0.7, color=rest)
                    axes.barh(k, min(row, block), left=b * block, height=0.7, color=NOTE)
                    axes.barh(k, block, left=b * block, height=0.7, color="none", edgecolor=PAPER)
            axes.set_yticks(range(len(rows)), list(rows))
            axes.set_xticks([0, capacity / 2, capacity])
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
            axes.set_xlabel(unit)
            axes.invert_yaxis()
            axes.grid(False)


def held_picture(
    n: int, first: int, last: int, **held: Sequence[Sequence[int]]
) -> None:  # fmt: skip
    """Draw the registers of two kernels' lanes, first to last. Each cell shows the column that it
    holds, light to dark along a row of n elements; empty cells hold -inf.
    """
    alt = "; ".join(f"in {name}, lane {first} holds columns {', '.join(map(str, lanes[first]))}"
                    for name, lanes in held.items())  # fmt: skip
    with shown("A lane holds every 32nd column, or four neighbours", f"{alt}.", height=1.9,
               panels=len(held)) as panels:  # fmt: skip
        for axes, (name, lanes) in zip(panels, held.items(), strict=True):
            most = max(map(len, lanes))
            for lane in range(first, last + 1):
                for k in range(most):
                    column = lanes[lane][k] if k < len(lanes[lane]) else None
                    colour = "none" if column is None else offset_colour(column, n)
                    axes.add_patch(Rectangle((lane - 0.47, k - 0.46), 0.94, 0.92, facecolor=colour,
                                             edgecolor=UNTOUCHED, linewidth=0.5))  # fmt: skip
                    text, ink = ("−∞", TEXT) if column is None else (str(column), CELL_INK)
                    axes.text(lane, k, text, ha="center", va="center", color=ink)
            axes.set(xlim=(first - 0.6, last + 0.6), ylim=(most - 0.4, -0.6))
            axes.set(xticks=range(first, last + 1), xlabel="lane", yticks=range(4))
            axes.set_title(name)
            axes.grid(False)
        panels[0].set_ylabel("register")


def per_thread_picture(times: Recorded) -> None:
    """Draw percent of a copy's bandwidth over the elements per thread, with one mark per kernel,
    row length and type; rows of 65,536 elements have a ring.
    """
    looks, spots = {"float32": ("o", NOTE), "bfloat16": ("^", SERIES[4])}, []
    for row in times.rows:
        if row.step.startswith(("single_pass", "exp2")):
            warps = 1 if row.step == "exp2" else int(row.step.split()[1])
            elements = row.shape[1] // (32 * warps)
            spots.append((elements, times.percent(row), row.dtype, row.shape[1] == 65536))
    ranges = {
        few: [percent for elements, percent, _, ring in spots if elements == few and not ring]
        for few in sorted({elements for elements, *_ in spots})
    }
    alt = "; ".join(f"{few}: {min(of):.0f} to {max(of):.0f} %" for few, of in ranges.items() if of)
    with shown("16 to 32 elements per thread suffice", f"Elements per thread: {alt}.") as axes:
        for elements, percent, dtype, ring in spots:
            axes.plot(elements, percent, looks[dtype][0], color=looks[dtype][1], alpha=0.8)
            if ring:
                axes.plot(elements, percent, "o", ms=13, mfc="none", mec=UNTOUCHED)
        for dtype, (marker, colour) in looks.items():
            axes.plot([], [], marker, color=colour, label=dtype)
        axes.plot([], [], "o", ms=11, mfc="none", mec=UNTOUCHED, label="65,536 per row")
        axes.set_xscale("log", base=2)
        axes.set_xticks([4, 8, 16, 32, 64, 128], ["4", "8", "16", "32", "64", "128"])
        axes.set(xlabel="elements per thread", ylabel="% of a copy's speed", ylim=(0, 105))
        axes.legend(loc="lower center")


THREADS = 256  # per block in 03


@cute.jit
def absorb(m: Float32, s: Float32, x: cute.TensorSSA):
    """Return the pair of a thread after it has absorbed the vector x."""
    m_new = cute.arch.fmax(m, largest(x))
    shift = finite(m_new)
    return m_new, s * exp(m - shift) + total(exp(x - shift))


@cute.jit
def merged_parts(sPart: cute.Tensor):
    """Return the pair of a row, in every lane, from its warps' pairs in sPart (2,parts)."""
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
    """Return the pair of the block, in every thread, by an exchange through sPart (2,warps)."""
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
    """Compute softmax, one block per row, with `loads` vectors per thread kept in registers."""
    block = (THREADS, 1, 1)
    single_pass_kernel(mX, mY, loads).launch(grid=(mX.shape[0], 1, 1), block=block)


def shared_bytes_of(n: int) -> int:
    """Return the shared memory of a block of `staged`, in bytes: n float32, rounded up to whole
    vectors for all threads, and a pair per warp.
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
    print(f"{run.name} is correct in", ", ".join(str(dtype)[6:] for dtype in dtypes))
    return run, x, y


def way(fn, most, clusters=False):
    """Return an entry of `steps` for a softmax that holds rows of up to `most` bytes per block.

    clusters: its last argument is the blocks per row, the fewest of 2, 4 and 8 that leave each
    block 32 kB of a row or less, or 8.
    """

    def specs(x, y):
        row_kb = x[0].nbytes / 1024
        blocks = next((b for b in (2, 4) if row_kb <= 32 * b), 8) if clusters else 1
        loads = loads_of(x, blocks * THREADS)
        if loads * 16 * THREADS > most:
            raise fk.UsageError(f"rows of {x.shape[1]:,} do not fit")
        return [whole(x), whole(y), loads, *([blocks] if clusters else [])]

    return fn, specs


def compiled_for(fn, n, *extra, dtype=torch.float32):
    """Compile a softmax for rows of n elements, only to read its registers and spills."""
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
        if cutlass.const_expr(buffers == 1):  # `pipeline` reads the number from the line
            cute.arch.cp_async_wait_group(0)
        else:
            cute.arch.cp_async_wait_group(1)
        sum_of_lane += total(tXsX[None, k % buffers].load())
    sum_of_row = cute.arch.warp_reduction(sum_of_lane, operator.add)
    if lane == 0:
        mY[0] = sum_of_row


@cute.jit
def streamed_sum(mX: cute.Tensor, mY: cute.Tensor, buffers: cutlass.Constexpr):
    """Add up one row, N a multiple of 128, with a warp that streams it through one or two tiles."""
    streamed_sum_kernel(mX, mY, buffers).launch(grid=(1, 1, 1), block=(32, 1, 1))


def exchange_picture(mailboxes: torch.Tensor) -> None:
    """Draw the pairs that blocks exchanged; mailboxes (blocks,blocks,2): by receiver and sender."""
    blocks = len(mailboxes)
    with shown("Every block writes its pair into the mailbox of every block",
               f"{blocks} blocks above, {blocks} mailboxes below, each with {blocks} slots; "
               "block 1's four arrows end in the second slot of each mailbox.", height=2.5,
               note=f"Values from the run; each mbarrier counted {8 * blocks} bytes."
               ) as axes:  # fmt: skip
        text = partial(axes.text, ha="center", va="center")
        for block in range(blocks):
            left = block * (blocks + 0.6)
            axes.add_patch(Rectangle((left + 0.5, 3), blocks - 1, 0.8, color=block_colour(block)))
            text(left + blocks / 2, 3.4, f"block {block}", color=CELL_INK)
            text(left + blocks / 2, -0.3, f"mailbox {block}")
            for sender in range(blocks):
                place = Rectangle((left + sender, 0), 0.94, 1.1, color=block_colour(sender))
                axes.add_patch(place)
                pair = "\n".join(str(v) for v in mailboxes[block][sender].tolist())
                text(left + sender + 0.47, 0.53, pair, color=CELL_INK)
                start = (sender * (blocks + 0.6) + blocks / 2, 2.95)
                style = {"color": UNTOUCHED, "lw": 0.5}
                style |= {"color": NOTE, "lw": 1.6} if sender == 1 else {}
                arrow = {"arrowstyle": "->", "shrinkA": 0, "shrinkB": 0, **style}
                axes.annotate("", (left + sender + 0.47, 1.14), start, arrowprops=arrow)
        axes.set(xlim=(-0.3, blocks * (blocks + 0.6) - 0.3), ylim=(-0.6, 4), xticks=[], yticks=[])
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
    """Print each step's percent of a copy's bandwidth, with one column per row length."""
    print(times.headline)
    for dtype in ("float32", "bfloat16"):
        print(f"\n{dtype:<20}" + "".join(f"{n:>10,}" for n in lengths))
        here = {(r.step, r.shape[1]): f"{times.percent(r):.0f}" for r in times.rows
                if r.dtype == dtype}  # fmt: skip
        for step in dict.fromkeys(r.step for r in times.rows):
            print(f"{step:<20}" + "".join(f"{here.get((step, n), '-'):>10}" for n in lengths))


def ways_picture(times: Recorded, lengths: Sequence[int]) -> None:
    """Draw each way's share of a copy's bandwidth over the row length, one picture per dtype."""
    best = fastest_variants(times)
    names = ("single_pass", "staged", "cluster", "streaming", "torch")
    for dtype in ("float32", "bfloat16"):
        said = "; ".join(
            f"{n:,}: " + ", ".join(f"{k} {times.percent(r):.0f}" for k, r in best[dtype, n].items())
            for n in lengths
        )
        with shown(f"Percent of a copy's bandwidth, {dtype}", f"By row length: {said}.", height=2.5,
                   note="For streaming: the faster of its two variants."
                   ) as axes:  # fmt: skip
            for k, name in enumerate(names):
                rows = {n: best[dtype, n][name] for n in lengths if name in best[dtype, n]}
                looks = {"color": UNTOUCHED, "ls": "--"} if name == "torch" else {
                    "color": SERIES[k], "marker": "os^D"[k], "ms": 4}  # fmt: skip
                axes.plot([*rows], [*map(times.percent, rows.values())], label=name, **looks)
            axes.set_xscale("log", base=2)
            axes.set_xticks(lengths, [f"{n >> 10}k" if n < 1 << 20 else "1M" for n in lengths])
            axes.set(xlabel="elements per row", ylim=(0, 105))
            axes.legend(loc="lower left", ncols=2)


@cute.jit
def row_sum(value: Float32, warps: cutlass.Constexpr):
    """Return the sum of a value over the threads of a row, in every thread.

    A block has four rows if `warps` is 1, and one row otherwise.
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
    """Return dy (M, N), whose mean is about 1, the softmax y of another matrix, and an empty dx."""
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
    print(f"correct in three types: {', '.join(f'{m} × {n:,}' for m, n in shapes)}")


def saved_matrices(function: Callable[[torch.Tensor], Any], x: torch.Tensor) -> float:
    """Return the memory that autograd saves for `function(x)`, in distinct matrices of x's size."""
    sizes = {}
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: sizes.update({t.data_ptr(): t.nbytes}) or t, lambda t: t
    ):
        function(x)
    return sum(sizes.values()) / x.nbytes


def rows_picture(**rows: torch.Tensor) -> None:
    """Draw the single row of each tensor (1, N) as bars; name -> tensor."""
    sums = {name: row.double().sum().item() for name, row in rows.items()}
    alt = "; ".join(f"{name} adds up to {total:z.4f}" for name, total in sums.items())
    with shown("One row: dx is small where y is small, and adds up to 0",
               f"Bars for {len(rows)} rows. {alt}.", panels=len(rows),
               height=1.5) as panels:  # fmt: skip
        for axes, (name, row) in zip(panels, rows.items(), strict=True):
            axes.bar(range(row.shape[1]), row[0].double().cpu().round(decimals=3), color=NOTE)
            axes.set_title(f"{name}, sum {sums[name]:z.4f}")
            axes.set_xticks([])


def difference_picture(steps: Sequence[float], errors: Mapping[str, Sequence[float]]) -> None:
    """Draw the relative error of a central difference over its step; errors: dtype name -> list."""
    best = {name: steps[found.index(min(found))] for name, found in errors.items()}
    said = "; ".join(f"{name}: smallest error {min(errors[name]):.0e} at step {step:.0e}"
                     for name, step in best.items())  # fmt: skip
    with shown("A step can be too large or too small", f"Two V-shaped curves. {said}.",
               height=2.3) as axes:  # fmt: skip
        for k, (name, found) in enumerate(errors.items()):
            axes.loglog(steps, found, marker="os"[k], ms=3.5, color=SERIES[k], label=name)
        axes.set(xlabel="step", ylabel="relative error")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:.0e}")
        axes.legend()


def gradient_picture(costs: Mapping[str, Cost]) -> None:
    """Draw the contents of memory and of a lane's registers in each part of two gradient kernels.

    costs: those of `backward` and `backward_vectors`.
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
    with shown("Keeping the row in registers saves the second read", f"{alt}. Only "
               "backward_vectors has all of a lane's dy and y in registers.", height=3.6,
               note="one: one element at a time; all: the lane's share of the row; part: its share "
               "of Σ dy·y; dot: all of Σ dy·y."
               ) as axes:  # fmt: skip
        places, top = (0, 1, 2, 3.4, 4.4, 5.4), 0.0
        for name, rows in parts.items():
            text = partial(axes.text, ha="center", va="center")
            text(-1.9, top - 1.25, name, ha="left", color=INK)
            text(1.46, top - 0.75, f"memory: {costs[name][0]:.0f} + {costs[name][1]:.0f} matrices")
            text(4.86, top - 0.75, "registers of a lane")
            for x, word in zip(places, ("dy", "y", "dx", "dy", "y", "dot"), strict=True):
                text(x + 0.46, top - 0.25, word)
            for y, (words, moved, held) in enumerate(rows):
                text(-0.15, top + y + 0.43, words, ha="right")
                for x, sign in zip(places, moved + held, strict=True):
                    word, colour, ink = told.get(sign, ("", "none", CELL_INK))
                    axes.add_patch(Rectangle((x, top + y), 0.92, 0.86, facecolor=colour,
                                             edgecolor=UNTOUCHED, linewidth=0.6))  # fmt: skip
                    text(x + 0.46, top + y + 0.43, word, color=ink)
            top += 5
        axes.set(xlim=(-1.95, 6.4), ylim=(top - 1.8, -1.6), xticks=[], yticks=[])
        axes.grid(False)
        axes.spines[:].set_visible(False)


INSTRUCTION = re.compile(r"^\s*(?:@!?%p\d+ )?([a-z]\w*(?:\.[\w:]+)*)\s", re.MULTILINE)


def ptx_counts(run):
    """Map each instruction to its number of occurrences in the PTX of `run` (not of executions)."""
    return collections.Counter(INSTRUCTION.findall(run.ptx))


def ptx_table(counts: Mapping[str, Mapping[str, int]], least: int) -> None:
    """Print one column of `ptx_counts` per name, with the rows in which a count reaches `least`."""
    print(f"{'':28}", *(f"{name:>8}" for name in counts))
    for opcode in sorted(set().union(*counts.values())):
        if max(found := [each[opcode] for each in counts.values()]) >= least:
            print(f"{opcode:28}", *(f"{n or '–':>8}" for n in found))
    print(f"{'all':28}", *(f"{sum(each.values()):8}" for each in counts.values()))


def compared(
    tensors: Any, arrays: Any, x: torch.Tensor, y: torch.Tensor, expected: torch.Tensor
) -> list[collections.Counter[str]]:
    """Compile two host functions of (x, y), check both results, print the PTX counts that differ,
    and return both counts.
    """
    counts = []
    for host in (tensors, arrays):
        run = fk.compile(host, *(fk.spec(t, divisible={t.dim() - 1: 4}) for t in (x, y)))
        run(x, y)
        fk.check(y, expected)
        warp_instructions = fk.profile(run, x, y).warp_instructions
        counts.append(ptx_counts(run))
        number = sum(counts[-1].values())
        print(f"{number:4} instructions in the PTX, {warp_instructions:,.0f} executed")
    for name in sorted(counts[0] | counts[1]):
        if counts[0][name] != counts[1][name]:
            print(f"{name:24} {counts[0][name]:4} {counts[1][name]:4}")
    return counts


def production_way(n, itemsize, clusters, rows=4096):
    """Return where forgekit's rule keeps rows of n elements, and the number of blocks per row.

    itemsize: bytes per element; clusters: the GPU's largest cluster, in blocks (1: none).
    """
    choice = choose_rows("softmax", rows, n, itemsize, 16 // itemsize, False, clusters)
    if choice.kernel in ("registers", "streaming"):
        return choice.kernel, choice.cluster
    return ("cluster" if choice.cluster > 1 else "staged"), choice.cluster


WAYS = {  # colour, hatch
    "registers": (SERIES[1], ""),
    "staged": (SERIES[3], "///"),
    "cluster": (SERIES[0], ""),
    "streaming": (UNTOUCHED, "..."),
}


def rule_picture():
    """Show where `production_way` keeps rows, by length, type and GPU."""
    kinds = {
        "float32, sm_80": (4, 1),
        "float32, sm_90a": (4, 16),
        "bfloat16, sm_80": (2, 1),
        "bfloat16, sm_90a": (2, 16),
    }
    lengths = [int(2 ** (k / 8)) // 8 * 8 for k in range(7 * 8, 20 * 8 + 1)]
    bands, words = [], []
    for place, (name, kind) in enumerate(kinds.items()):
        start, last = 0, production_way(lengths[0], *kind)[0]
        for k, n in enumerate(lengths):
            way = production_way(n, *kind)[0]
            if way != last or k == len(lengths) - 1:
                bands.append((place, lengths[start], n, last))
                start, last = k, way
        mine = [f"{way} below {end:,}" for at, _, end, way in bands if at == place]
        words.append(f"{name}: {', '.join(mine)}")
    with shown(
        "The longer the row, the farther from the arithmetic it is kept", f"{'; '.join(words)}."
    ) as axes:
        for place, start, end, way in bands:
            colour, hatch = WAYS[way]
            axes.barh(place, end - start, left=start, color=colour, hatch=hatch, edgecolor="white")
        axes.set_xscale("log", base=2)
        axes.set_xticks([2**k for k in range(8, 21, 4)], [f"{2**k:,}" for k in range(8, 21, 4)])
        axes.minorticks_off()
        axes.set_yticks(range(4), kinds)
        axes.set(xlabel="elements per row")
        axes.invert_yaxis()
        boxes = [Rectangle((0, 0), 1, 1, fc=c, hatch=h, ec="white") for c, h in WAYS.values()]
        axes.legend(boxes, WAYS, ncols=2, loc="upper center", bbox_to_anchor=(0.4, -0.25))


PEERS = {"torch": "o", "torch.compile": "^", "quack": "s", "forgekit": "D"}  # and their markers
MEASURED = Path("../book/measured/softmax_h200.json")


def peer_rates():
    """Return {(rows, columns, dtype): {contender: percent of a copy's speed}}, from an H200."""
    rates = {}
    for row in json.loads(MEASURED.read_text())["rows"] if MEASURED.exists() else ():
        if row["op"] == "softmax" and row["dim"] == -1 and row["status"] == "ok":
            place = (*row["shape"], row["dtype"])
            rates.setdefault(place, {})[row["contender"]] = row["percent_of_ceiling"]
    if not rates:
        print("book/measured/softmax_h200.json is missing here; the repository contains it.")
    return rates


def peers_picture(rates):
    """Show `peer_rates` for matrices with at least 8 million elements, by row length."""
    large = {place: r for place, r in rates.items() if place[0] * place[1] >= 2**23}
    if not large:
        return
    each = {name: [r[name] for r in large.values() if name in r] for name in PEERS}
    ranges = {name: f"{min(of):.0f} to {max(of):.0f} %" for name, of in each.items()}
    alt = "; ".join(f"{name} reaches {of} of a copy's speed" for name, of in ranges.items())
    for dtype in ("bfloat16", "float32"):
        with shown(f"Softmax's share of a copy's speed, {dtype}", f"{alt}.", height=2.3) as axes:
            for (name, marker), colour in zip(
                PEERS.items(), (UNTOUCHED, SERIES[2], SERIES[4], SERIES[0]), strict=True
            ):
                of = [(p[1], r[name]) for p, r in large.items() if p[2] == dtype and name in r]
                axes.plot(*zip(*of, strict=True), marker, color=colour, alpha=0.85, label=name)
            axes.set_xscale("log", base=2)
            axes.set_xticks([2**k for k in range(10, 19, 4)], ["1,024", "16,384", "262,144"])
            axes.minorticks_off()
            axes.set(xlabel="elements per row", ylabel="% of a copy's GB/s", ylim=(0, 110))
            axes.legend(ncols=4, loc="upper left", bbox_to_anchor=(-0.15, -0.25), columnspacing=1,
                        handletextpad=0.2)  # fmt: skip


def fusion_picture(parts, totals):
    """Show bytes moved, as multiples of x. parts: operator -> bytes; totals: kernel -> bytes."""
    words = ", ".join(f"{name} {times:.2f}" for name, times in totals.items())
    alt = f"Bytes moved, as multiples of x: {words}. Orange: all above 2 (one read and one write)."
    with shown("Fusion saves bytes", alt, height=1.5) as axes:
        for y, times in enumerate(totals.values()):
            axes.barh(y, min(times, 2), color=NOTE)
            if times > 2:
                axes.barh(y, times - 2, left=2, color=WRONG, hatch="///", edgecolor="white")
            axes.text(times + 0.08, y, f"{times:.2f}", va="center")
        edges = list(itertools.accumulate(parts.values()))
        for edge in edges[:-1]:
            axes.plot([edge, edge], [-0.4, 0.4], color="white", lw=2)
        axes.set_yticks(range(len(totals)), totals)
        axes.set(xlim=(0, 8.4), xlabel="bytes moved / bytes of x (orange: above 2)")
        axes.invert_yaxis()


def form_picture(row: Sequence[float]) -> Any:
    """Show how four lanes reduce a row of up to four numbers to (m, s), then go over it again."""
    levels = [[(value, 1.0) for value in row] + [(-math.inf, 0.0)] * (4 - len(row))]
    for k in (1, 2):
        levels.append([merged_pair(levels[-1][lane], levels[-1][lane ^ k]) for lane in range(4)])
    m, s = levels[-1][0]
    panels = {"x": [[(f"{value:.2f}", n) for n, value in enumerate(row)]]}
    for name, level in zip(("lanes 0 to 3: m, s", "one step", "two steps"), levels, strict=True):
        panels[name] = [[(f"{m:.2f}, {s:.2f}", lane) for lane, (m, s) in enumerate(level)]]
    panels["exp(x - m) / s"] = [[(f"{math.exp(v - m) / s:.3f}", n) for n, v in enumerate(row)]]
    return picture("reduce a row, then go over it again", panels)


def matrices_picture(title: str, **matrices: torch.Tensor) -> Any:
    """Show small matrices of whole numbers, by name; equal numbers have equal colours."""
    return picture(title, {
        name: [[(f"{v:.0f}", int(v)) for v in row] for row in t.tolist()]
        for name, t in matrices.items()
    })  # fmt: skip


def attention_picture(warps=4, dim=64):
    """Show the data that a block's warps keep on chip in attention for one query."""
    shared = warps * (1 + 1 + dim) * 4  # bytes of m, s and o, in float32
    alt = (
        f"Keys go to {warps} warps in turn. A warp keeps q, m, s, o in registers and stores m, s "
        f"and o once, {shared:,} bytes of shared memory; after one barrier the block stores o / s."
    )
    with shown("Scores never leave the registers", alt, height=3.3) as axes:
        axes.set(xlim=(0, 100), ylim=(-1, 61))
        axes.axis("off")

        def box(x, y, width, height, text, colour="none"):
            rim = colour if colour != "none" else UNTOUCHED
            axes.add_patch(Rectangle((x, y), width, height, fc=colour, ec=rim))
            ink = {} if colour == "none" else {"color": CELL_INK}
            axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", **ink)

        def arrow(start, end):
            axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": UNTOUCHED})

        places = ((56, "global\nmemory"), (31, "registers"), (17, f"shared\n{shared:,} B"))
        for y, text in (*places, (9.5, "barrier")):
            axes.text(0, y, text, va="center")
        axes.add_patch(Rectangle((14, 5.5), 86, 36.5, fc="none", ec=UNTOUCHED))
        axes.text(99, 7.3, "one block", ha="right", va="center")
        axes.plot([14, 100], [9.5, 9.5], color=UNTOUCHED, ls="--")
        for i in range(8):
            last = i == 7
            box(15 + 10.5 * i, 52, 9.5, 8, "…" if last else f"K{i}\nV{i}", block_colour(i % warps))
        for w in range(warps):
            left, hue = 16 + 21 * w, block_colour(w)
            arrow((19.75 + 10.5 * w, 52), (left + 9.5, 36.4))
            box(left, 25, 19, 11, f"warp {w}:\nq m s o", hue)
            arrow((left + 9.5, 25), (left + 9.5, 20.7))
            box(left, 13.5, 19, 7, f"m{w} s{w} o{w}", hue)
            arrow((left + 9.5, 13.5), (57, 4.2))
        box(50, -0.5, 14, 4.5, "o / s")
        axes.text(66, 1.5, f"{dim} numbers, stored once", va="center")


def vocabulary_picture(ptx):
    """Show the PTX counts of each kernel's two forms, with tensors and with arrays, as bars."""
    sums = {name: [sum(c.values()) for c in counts] for name, counts in ptx.items()}
    words = ", ".join(f"{name} {a} and {b}" for name, (a, b) in sums.items())
    with shown("Both vocabularies, one program", f"PTX instructions: {words}.") as axes:
        for form, (label, colour, hatch) in enumerate(
            (("tensors", SERIES[0], ""), ("arrays", SERIES[3], "///"))
        ):
            for k, both in enumerate(sums.values()):
                y = k + 0.4 * form - 0.2
                style = {"color": colour, "hatch": hatch, "edgecolor": "white"}
                axes.barh(y, both[form], 0.36, label=label if not k else None, **style)
                axes.text(both[form] + 2, y, str(both[form]), va="center")
        axes.set_yticks(range(len(sums)), sums)
        axes.set(xlabel="instructions in the PTX")
        axes.legend(ncols=2, loc="upper left", bbox_to_anchor=(0, -0.2))
        axes.invert_yaxis()
