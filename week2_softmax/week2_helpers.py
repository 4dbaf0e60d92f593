"""Functions that week 2's notebooks share; each page introduces the ones that it uses.

A pair (m, s) describes a part of a row: m is the maximum of its elements and s the sum of all
exp(x - m). The pair of no elements is (-inf, 0).
"""

import collections
import itertools
import json
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.cute.nvgpu import CopyUniversalOp
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

import forgekit as fk
from forgekit.benching.recorded import Recorded
from forgekit.checking.compare import compare
from forgekit.ops.tile_choice import choose_rows
from forgekit.viz.palette import NOTE, UNTOUCHED, WRONG, block_colour, offset_colour
from forgekit.viz.timing.style import SERIES

LOG2_E = math.log2(math.e)
TYPES = (torch.float32, torch.float16, torch.bfloat16)
READ, WRITTEN = SERIES[0], SERIES[4]  # the colours of what a kernel reads and writes


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


def _on_hard_rows(run, n, dtype):
    x = hard_rows(n, dtype)
    y = fk.empty(*x.shape, dtype=dtype)
    run(x, y)
    return y, x.double().softmax(1)


def checked(
    fn: Any,
    *lengths: int,
    compile: Callable[..., Any] = fk.compile,
    dtypes: Sequence[torch.dtype] = TYPES,
) -> Any:
    """Compile a softmax by `compile(fn, x, y)` once per type, for the longest of these lengths,
    check it on hard rows of all lengths, and return the last compiled kernel.

    Raises AssertionError with the report of the first wrong result.
    """
    for dtype in dtypes:
        x = hard_rows(max(lengths), dtype)
        run = compile(fn, x, fk.empty(*x.shape, dtype=dtype))
        for n in lengths:
            report = compare(*_on_hard_rows(run, n, dtype))
            assert report.ok, f"rows of {n} {dtype}: {report}"
    words = [f"{n:,}" for n in lengths], [str(dtype).partition(".")[2] for dtype in dtypes]
    print("right: hard rows of {} elements, {}".format(*map(", ".join, words)))
    return run


def survivors(fn: Any, n: int, dtype: torch.dtype = torch.float32) -> list[str]:
    """Return the names of the hard rows of n elements for which the softmax `fn(x, y)` is right."""
    x = hard_rows(n, dtype)
    codes = compare(*_on_hard_rows(fk.compile(fn, x, x), n, dtype)).codes
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


def executed(p: fk.Profile, opcode: str) -> int:
    """Return how many PTX instructions that begin with `opcode` the warps executed."""
    every = (i for line in p.all_lines for i in line.instructions)
    return sum(i["warp_instructions"] for i in every if i.text.startswith(opcode))


def sector_bytes(run: Any, *tensors: torch.Tensor) -> int:
    """Return the bytes of all 32-byte sectors that `run(*tensors)` requests, both directions."""
    p = fk.profile(run, *tensors)
    return 32 * (p["global_load_sectors"] + p["global_store_sectors"])


def blocks_per_sm(run: Any, threads: int, shared_bytes: int = 0) -> int:
    """Return how many blocks of `run` fit on an SM of an H200: limited by 2,048 threads, 65,536
    registers (a thread gets them in eights), and 228 kB of shared memory, 1 kB per block reserved.
    """
    registers = threads * -(-run.registers // 8) * 8
    shared_kb = math.ceil(shared_bytes / 1024) + 1
    return min(2048 // threads, 65536 // registers, 228 // shared_kb)


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


def time_ratios(times: Recorded, step: str, other: str) -> dict[tuple[Any, str], float]:
    """Return the time of a step divided by that of another, by (shape, type)."""
    return {
        (r.shape, r.dtype): r.ms / times.row(other, r.dtype, r.shape).ms
        for r in times.rows
        if r.step == step
    }


# -- draw ------------------------------------------------------------------------------------------
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
            axes.text(left + length / 2, k, f"{word} {length:.2g}", color="white", ha="center",
                      va="center", size=8)  # fmt: skip
    axes.axvline(least, color=UNTOUCHED, linestyle=":")
    axes.set_yticks(range(len(costs)), list(costs))
    axes.set_xlabel("matrices moved (dotted: the least)")
    axes.invert_yaxis()
    axes.grid(False)


def draw_sm(
    axes: Axes, rows: Mapping[str, tuple[int, float, float]], capacity: float, unit: str
) -> None:
    """One bar per entry (blocks, size of a block, size of its row's elements): an SM's capacity,
    filled by the blocks that fit. Dark: elements; light: the rest of a block; hatched: free.
    """
    for k, (blocks, block, row) in enumerate(rows.values()):
        axes.barh(
            k, capacity, height=0.7, color="none", edgecolor=UNTOUCHED, hatch="////", linewidth=0.5
        )
        for b in range(blocks):
            axes.barh(
                k, block, left=b * block, height=0.7, color=SERIES[3], alpha=0.5, edgecolor="white"
            )
            axes.barh(k, min(row, block), left=b * block, height=0.7, color=NOTE, edgecolor="white")
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set_xlabel(unit)
    axes.invert_yaxis()
    axes.grid(False)


# -- w2b ---


# -- w2c ---
INSTRUCTION = re.compile(r"^\s*(?:@!?%p\d+ )?([a-z]\w*(?:\.[\w:]+)*)\s", re.MULTILINE)


def ptx_counts(run):
    """Instruction -> number of times it appears in the PTX of `run` (not how often it executes)."""
    return collections.Counter(INSTRUCTION.findall(run.ptx))


def production_way(n, itemsize, clusters):
    """Where forgekit's rule lets a row of n elements wait, and the number of blocks per row.

    itemsize: bytes per element; clusters: the GPU's largest cluster, in blocks (1: none).
    """
    choice = choose_rows("softmax", 4096, n, itemsize, 16 // itemsize, False, clusters)
    if choice.kernel in ("registers", "streaming"):
        return choice.kernel, choice.cluster
    return ("cluster" if choice.cluster > 1 else "staged"), choice.cluster


WAYS = {  # colour, hatch
    "registers": (SERIES[1], ""),
    "staged": (SERIES[3], "///"),
    "cluster": (SERIES[0], ""),
    "streaming": (UNTOUCHED, "..."),
}


def show_ways():
    """Show where `production_way` lets rows wait: by length, type and GPU."""
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
        mine = [f"{way} to {end:,}" for at, _, end, way in bands if at == place]
        words.append(f"{name}: {', '.join(mine)}")
    with fk.figure("The longer the row, the further away it waits", f"{'; '.join(words)}.") as axes:
        for place, start, end, way in bands:
            colour, hatch = WAYS[way]
            axes.barh(place, end - start, left=start, color=colour, hatch=hatch, edgecolor="white")
        axes.set_xscale("log", base=2)
        axes.set_xticks([2**k for k in range(8, 21, 3)], [f"{2**k:,}" for k in range(8, 21, 3)])
        axes.minorticks_off()
        axes.set_yticks(range(4), kinds)
        axes.set(xlabel="elements per row")
        axes.invert_yaxis()
        boxes = [Rectangle((0, 0), 1, 1, fc=c, hatch=h, ec="white") for c, h in WAYS.values()]
        axes.legend(boxes, WAYS, ncols=4, loc="upper center", bbox_to_anchor=(0.45, -0.25))


PEERS = {"torch": "o", "torch.compile": "^", "quack": "s", "forgekit": "D"}  # and their markers
MEASURED = Path("../book/measured/softmax_h200.json")


def peer_rates():
    """(rows, columns, dtype) -> contender -> percent of a copy's speed, recorded on an H200."""
    rates = {}
    for row in json.loads(MEASURED.read_text())["rows"] if MEASURED.exists() else ():
        if row["op"] == "softmax" and row["dim"] == -1 and row["status"] == "ok":
            place = (*row["shape"], row["dtype"])
            rates.setdefault(place, {})[row["contender"]] = row["percent_of_ceiling"]
    if not rates:
        print("book/measured/softmax_h200.json is not here; it is in the repository.")
    return rates


def show_peers(rates):
    """Show `peer_rates` of matrices with 8 million elements or more, by length of the row."""
    large = {place: r for place, r in rates.items() if place[0] * place[1] >= 2**23}
    if not large:
        return
    each = {name: [r[name] for r in large.values() if name in r] for name in PEERS}
    ranges = {name: f"{min(of):.0f} to {max(of):.0f} %" for name, of in each.items()}
    title = f"forgekit's softmax: {ranges['forgekit']} of the speed of a copy"
    alt = f"Of a copy's speed reach {', '.join(f'{name} {of}' for name, of in ranges.items())}."
    with fk.figure(title, alt, panels=2) as panels:
        for axes, dtype in zip(panels, ("bfloat16", "float32"), strict=True):
            for (name, marker), colour in zip(
                PEERS.items(), (UNTOUCHED, SERIES[2], SERIES[4], SERIES[0]), strict=True
            ):
                of = [(p[1], r[name]) for p, r in large.items() if p[2] == dtype and name in r]
                axes.plot(*zip(*of, strict=True), marker, color=colour, alpha=0.85, label=name)
            axes.set_xscale("log", base=2)
            axes.set_xticks([2**k for k in range(10, 19, 4)], ["1,024", "16,384", "262,144"])
            axes.minorticks_off()
            axes.set(title=dtype, xlabel="elements per row", ylim=(0, 110))
        panels[0].set_ylabel("% of a copy's GB/s")
        panels[0].legend(ncols=4, loc="upper left", bbox_to_anchor=(0, -0.25))


def show_fusion(parts, totals):
    """Show bytes moved, in those of x. parts: operator -> bytes of it; totals: kernel -> bytes."""
    words = ", ".join(f"{name} {times:.2f}" for name, times in totals.items())
    alt = (
        f"Bytes moved, in bytes of x: {words}. Orange: whatever is above 2, one read and one write."
    )
    with fk.figure("Fusion saves bytes", alt, height=1.5) as axes:
        for y, times in enumerate(totals.values()):
            axes.barh(y, min(times, 2), color=NOTE)
            if times > 2:
                axes.barh(y, times - 2, left=2, color=WRONG, hatch="///", edgecolor="white")
            axes.text(times + 0.08, y, f"{times:.2f}", va="center")
        edges = list(itertools.accumulate(parts.values()))
        for edge in edges[:-1]:
            axes.plot([edge, edge], [-0.4, 0.4], color="white", lw=2)
        axes.set_yticks(range(len(totals)), totals)
        axes.set(xlim=(0, 7.8), xlabel="bytes moved / bytes of x (orange, hatched: above 2)")
        axes.invert_yaxis()


def show_attention(warps=4, dim=64):
    """Show what the warps of a block keep on chip for attention of one query."""
    shared = warps * (1 + 1 + dim) * 4  # bytes of m, s and o, in float32
    alt = (
        f"Keys go to {warps} warps in turn. A warp keeps q, m, s, o in registers and stores m, s "
        f"and o once, {shared:,} bytes of shared memory; after one barrier the block stores o / s."
    )
    with fk.figure("Scores never leave the registers", alt, height=3.3) as axes:
        axes.set(xlim=(0, 100), ylim=(-1, 61))
        axes.axis("off")

        def box(x, y, width, height, text, colour="none"):
            rim = colour if colour != "none" else UNTOUCHED
            axes.add_patch(Rectangle((x, y), width, height, fc=colour, ec=rim))
            ink = {} if colour == "none" else {"color": "#16191E"}  # dark on dark pages as well
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
            box(15 + 10.5 * i, 52, 9.5, 8, "…" if last else f"K{i} V{i}", block_colour(i % warps))
        for w in range(warps):
            left, hue = 16 + 21 * w, block_colour(w)
            arrow((19.75 + 10.5 * w, 52), (left + 9.5, 36.4))
            box(left, 25, 19, 11, f"warp {w}: q m s o", hue)
            arrow((left + 9.5, 25), (left + 9.5, 20.7))
            box(left, 13.5, 19, 7, f"m{w} s{w} o{w}", hue)
            arrow((left + 9.5, 13.5), (57, 4.2))
        box(50, -0.5, 14, 4.5, "o / s")
        axes.text(66, 1.5, f"{dim} numbers, stored once", va="center")


def show_both(ptx):
    """Show kernel -> the PTX counts of its two forms, of tensors and of arrays, as bars."""
    sums = {name: [sum(c.values()) for c in counts] for name, counts in ptx.items()}
    words = ", ".join(f"{name} {a} and {b}" for name, (a, b) in sums.items())
    with fk.figure("Both vocabularies, one program", f"PTX instructions: {words}.") as axes:
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
