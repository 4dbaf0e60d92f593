"""Small functions that week 1's notebooks share; each page introduces the ones that it uses."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import cutlass.cute as cute
import numpy as np
import torch
from cutlass import Float32
from IPython.utils.capture import capture_output
from matplotlib.patches import Rectangle

import forgekit as fk
from forgekit.benching.recorded import Recorded, recorded
from forgekit.compiling.replay import run_again
from forgekit.viz.palette import INK, NOTE, UNTOUCHED, WRONG, thread_colour
from forgekit.viz.timing.style import SERIES

ON_CELL = "#101114"  # text on cells, which are light on every page
_figure = partial(fk.figure, width=4.2)  # inches; a phone shows it without scrolling


# -- compile, check, count ------------------------------------------------------------------------
def whole_vectors(x: torch.Tensor, *rest: Any) -> list[Any]:
    """Return the specs for `fk.compile` that promise rows of whole 16-byte vectors in x, an (M, N)
    tensor; `rest` follows unchanged.
    """
    return [fk.spec(x, divisible={1: 16 // x.element_size()}), *rest]


def cost(run: Any, x: torch.Tensor) -> fk.Profile:
    """Check the row sums that `run(x, y)` leaves in y, also under adversarial schedules, and
    return the profile of one call.
    """
    y = fk.empty(x.shape[0], dtype=x.dtype)
    run(x, y)
    _assert_right(y, x.double().sum(1), lambda: run(x, y))
    return fk.profile(run, x, y)


def _assert_right(y: torch.Tensor, wanted: torch.Tensor, again: Callable[[], object]) -> None:
    """Raise, and show the report of `fk.check`, if y is wrong."""
    with capture_output():
        report = fk.check(y, wanted, again=again)
    if not report:
        report.show()
        raise AssertionError("the sums are wrong")


def check_sums(
    fn: Any, shapes: Sequence[tuple[int, int]], specs: Callable[..., Any] | None = None
) -> None:
    """Compile the row sum `fn` for float32, float16 and bfloat16, and check it for inputs of these
    shapes with numbers between 0 and 1, also under adversarial schedules. specs(x, y): the
    arguments of `fk.compile`.
    """
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        xs = [fk.rand(*shape, dtype=dtype) for shape in shapes]
        y = fk.zeros(len(xs), -(-max(map(len, xs)) // 8) * 8, dtype=dtype)  # aligned rows
        wanted = torch.zeros(y.shape, dtype=torch.float64, device=y.device)
        ys = [row[: len(x)] for row, x in zip(y, xs, strict=True)]
        for row, x in zip(wanted, xs, strict=True):
            row[: len(x)] = x.double().sum(1)
        run = fk.compile(fn, *(specs(xs[0], ys[0]) if specs else (xs[0], ys[0])))

        def all_shapes(run: Any = run, xs: Any = xs, ys: Any = ys) -> None:
            for x, part in zip(xs, ys, strict=True):
                run(x, part)

        all_shapes()
        _assert_right(y, wanted, all_shapes)
    print(f"{len(shapes)} shapes in float32, float16 and bfloat16: correct in any order of threads")


def instructions_per_kb(p: fk.Profile, x: torch.Tensor) -> float:
    """Return the PTX instructions that the warps executed per 1,024 bytes of x."""
    return 1024 * p.warp_instructions / x.nbytes


def cost_line(name: str, p: fk.Profile, x: torch.Tensor) -> None:
    """Print a profile's load requests, sectors per request, and instructions per kB of x."""
    print(f"{name:>26}: {p.global_load_requests:5,} load requests of", end=" ")
    print(f"{p.global_load_sectors_per_request:4.1f} sectors", end=", ")
    print(f"{instructions_per_kb(p, x):4.0f} instructions per kB")


def loads_before_use(run: Any) -> tuple[int, str]:
    """Return how many global loads come before the first float addition in a kernel's PTX, and the
    last of these loads.
    """
    words = [line.split()[0] for line in run.ptx.splitlines() if line.strip()]
    kept = [w for w in words if w.startswith(("ld.global", "add.f32", "add.rn.f32"))]
    first = next(i for i, word in enumerate(kept) if word.startswith("add"))
    return first, kept[first - 1]


def in_flight_per_sm(run: Any, bytes_per_thread: int) -> tuple[float, float]:
    """Return the occupancy of an H100 or H200 multiprocessor with blocks of 128 threads, from 0 to
    1, and the bytes that these threads have in flight. Threads, blocks and registers limit both.
    """
    registers = -(-run.registers // 8) * 8  # allocated in multiples of 8 per thread
    blocks = min(2048 // 128, 32, 65536 // (128 * registers))
    return blocks * 128 / 2048, blocks * 128 * bytes_per_thread


def print_in_flight(
    runs: dict[str, Any], times: Recorded, latency_ns: float
) -> dict[str, tuple[float, float]]:
    """Print the bytes that each kernel of `03_bytes_in_flight` has in flight on a multiprocessor,
    and return the points of `little_picture`: name -> (bytes on the whole GPU, recorded GB/s).
    """
    needed, points = 4800 * latency_ns / 132, {}  # bytes per multiprocessor
    for name, run in runs.items():
        size = {"warp_a_row": 4, "unrolled": 64}.get(name, 16)
        occupancy, in_flight = in_flight_per_sm(run, size)
        print(f"{name:>18}: {100 * occupancy:.0f} % occupancy, {in_flight / 1000:5.1f} kB", end=" ")
        print(f"in flight per multiprocessor, {in_flight / needed:.1f} × the bytes needed")
        if name in ("vectors", "unrolled"):
            rate = {shape: times.row(name, "float32", shape).gbps
                    for shape in ((64, 262144), (32768, 4096))}  # fmt: skip
            points[f"{name}, 64 rows"] = 64 * 32 * size, rate[64, 262144]
            points[f"{name}, many rows"] = 132 * in_flight, rate[32768, 4096]
    return points


def barriers(p: fk.Profile) -> int:
    """Return the number of barriers that each block executed. PTX has one `bar.sync` per barrier,
    which every warp executes.
    """
    found = [i for line in p.all_lines for i in line.instructions if i.text.startswith("bar.sync")]
    launch = p.launches[0]
    return sum(i["warp_instructions"] for i in found) // (launch.grid[0] * launch.block[0] // 32)


def adding_line(p: fk.Profile) -> Any:
    """Return the profile's line that adds one word of shared memory to another."""
    lines = (line for line in p.lines if line.text.strip().startswith("sSum["))
    return next(line for line in lines if "+=" in line.text)


def tree_table(profiles: dict[str, fk.Profile]) -> None:
    """Print the costs of each tree: active lanes, wavefronts, barriers, PTX instructions."""
    print("                lanes active  wavefronts   barriers  PTX instr.")
    print("                in the tree     per load  per block    in total")
    for name, p in profiles.items():
        lanes, waves = adding_line(p)["thread_efficiency"], p.shared_load_wavefronts_per_request
        print(f"{name:14s} {lanes:10.0f} %  {waves:11.1f}", end="  ")
        print(f"{barriers(p):9}  {p.warp_instructions:10,}")


# -- recorded times -------------------------------------------------------------------------------
def recorded_part(
    name: str,
    *,
    shapes: Sequence[tuple[int, int]] = (),
    dtypes: Sequence[str] = ("float32", "float16"),
    steps: Sequence[str] = (),
) -> Recorded:
    """Return the run recorded as `week1/name`, restricted to these shapes, types and steps; an
    empty tuple keeps all of them.
    """
    times = recorded(f"week1/{name}")
    rows = [r for r in times.rows
            if (not shapes or r.shape in shapes) and (not dtypes or r.dtype in dtypes)
            and (not steps or r.step in steps)]  # fmt: skip
    return replace(times, rows=tuple(rows))


# -- kernels that a later page only compares with --------------------------------------------------
@cute.kernel
def thread_a_column_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    col = bidx * 128 + tidx
    if col < mX.shape[1]:
        total = Float32(0.0)
        for m in range(mX.shape[0]):
            total += mX[m, col].to(Float32)
        mY[col] = total.to(mY.element_type)


@cute.jit
def thread_a_column(mX: cute.Tensor, mY: cute.Tensor):
    """Store the sums of the columns of mX (M, N) in mY (N), one thread per column."""
    blocks = cute.ceil_div(mX.shape[1], 128)
    thread_a_column_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


# -- sums in Python -------------------------------------------------------------------------------
def pairwise_sum(values: np.ndarray, dtype: Any = np.float32) -> Any:
    """Return the pairwise sum: add neighbours, then their sums, and so on, in `dtype`."""
    level = values.astype(dtype)
    while len(level) > 1:
        pairs = len(level) // 2 * 2
        level = np.concatenate([level[0:pairs:2] + level[1:pairs:2], level[pairs:]])
    return level[0]


def error_in_u(way: Callable[[np.ndarray], Any], n: int, seed: int) -> float:
    """Return the error of `way` on n random positive float32 numbers, in u = 2⁻²⁴ of the sum."""
    drawn = np.random.default_rng(seed).random(n).astype(np.float32)
    exact = math.fsum(drawn)
    return abs(float(way(drawn)) - exact) / exact * 2.0**24


# -- pictures -------------------------------------------------------------------------------------
def error_picture(lengths: Sequence[int], errors: dict[str, Sequence[float]]) -> None:
    """Draw the errors of several ways to add, in u, over the number of addends, with n and √n."""
    last = ", ".join(f"{name} {of[-1]:.1f} u" for name, of in errors.items())
    alt = f"Errors for 16 to 131,072 addends, all far below the bound n. At the end: {last}."
    with _figure("Errors of float32 sums stay far below the bound", alt) as axes:
        axes.loglog(lengths, lengths, ":", color=UNTOUCHED, label="n, the bound")
        axes.loglog(lengths, np.sqrt(lengths), "--", color=UNTOUCHED, label="√n")
        for (name, of), colour, marker in zip(errors.items(), SERIES, "os", strict=False):
            axes.loglog(lengths, np.maximum(of, 0.03), marker + "-", color=colour, label=name)
        axes.set(xlabel="numbers added", ylabel="error, u of the sum")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:,g}")
        axes.legend()


def growth_picture(grown: np.ndarray) -> None:
    """Draw a sum of ones after each addition, next to the correct sum."""
    stop, n = int(grown[-1]), len(grown)
    alt = f"The correct sum rises to {n:,}; the float16 sum follows it to {stop:,} and stays there."
    with _figure(f"In float16 a sum of ones stops at {stop:,}", alt, height=2) as axes:
        axes.plot(np.arange(1, n + 1), "--", color=UNTOUCHED, label="correct sum")
        axes.plot(grown, color=WRONG, label="added in float16")
        axes.set(xlabel="ones added", ylabel="sum")
        axes.legend()


Rounds = Iterable[Sequence[tuple[int, int, int]]]  # per round: (thread, word, other word)


def tree_picture(rounds: Rounds, threads: int = 16) -> None:
    """Draw a tree in shared memory, one row per round, with the thread of each addition."""
    rounds = [list(adds) for adds in rounds]
    told = "; ".join(
        f"round {k}: threads {_listed(t for t, _, _ in adds)} at words "
        f"{_listed(word for _, word, _ in adds)}"
        for k, adds in enumerate(rounds, 1)
    )
    title = f"{threads} words of shared memory; each circle names the thread that adds"
    with _figure(title, told + ".", height=2.7) as axes:
        axes.plot(range(threads), [0] * threads, "s", ms=7, color=UNTOUCHED)
        for k, adds in enumerate(rounds, 1):
            for thread, word, other in adds:
                for source in (word, other):
                    axes.plot([source, word], [1 - k, 0.28 - k], color=UNTOUCHED, lw=0.9, zorder=0)
                axes.plot(word, -k, "o", ms=13, color=thread_colour(thread, threads))
                axes.text(word, -k - 0.02, str(thread), ha="center", va="center", color=ON_CELL)
        axes.set_xticks(range(threads))
        axes.set_yticks(range(-len(rounds), 0), [f"round {k}" for k in range(len(rounds), 0, -1)])
        axes.set(xlabel="word", ylim=(-len(rounds) - 0.6, 0.5))
        axes.grid(False)


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def activity_picture(trees: dict[str, Rounds], threads: int = 256) -> None:
    """Draw which threads of a block add in each round of each tree, in warps of 32."""
    alt, ticks, pictures = [], {}, []
    for name, rounds in trees.items():
        busy = [{thread for thread, _, _ in adds} for adds in rounds]
        warps = [{t // 32 for t in each} for each in busy]
        hues = [[NOTE if t in each else WRONG if t // 32 in warp else "#C9CDD3"
                 for t in range(threads)]
                for each, warp in zip(busy, warps, strict=True)]  # fmt: skip
        top = len(pictures) * (len(hues) + 1)
        pictures.append((top, np.array([[_rgb(hue) for hue in row] for row in hues])))
        ticks |= {top + 1: "round 1", top + len(hues) / 2: name}
        took_part = _listed(map(len, warps))
        alt.append(f"{name}: warps that take part, by round: {took_part}")
    note = "Blue: adds. Orange: idle in a warp that takes part. Grey: the warp skips the line."
    height = 0.12 * pictures[-1][0] + 1.7
    with _figure("Threads that add in each round", "; ".join(alt) + ".", height=height,
                   note=note) as axes:  # fmt: skip
        for top, picture in pictures:
            axes.imshow(picture, aspect="auto", interpolation="nearest",
                        extent=(0, threads, top + len(picture) + 0.5, top + 0.5))  # fmt: skip
        axes.set_ylim(top + len(picture) + 0.5, 0.5)
        axes.set_xticks(range(0, threads + 1, 64))
        axes.set_yticks(list(ticks), list(ticks.values()))
        axes.set(xlabel="thread")
        axes.grid(False)


def _rgb(colour: str) -> list[float]:
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def holdings(run: Any) -> torch.Tensor:
    """Return how many times lane i's sum contains lane j's number after step s: counts[s, i, j].

    `run(x, y)` takes 32 int64 numbers, one per lane, and leaves the lanes' sums after each of its
    steps in the rows of y, (6, 32). Each of four runs counts the numbers of
    eight lanes, with six bits per count.
    """
    counts = torch.zeros(6, 32, 32, dtype=torch.int64)
    for group in range(0, 32, 8):
        x, y = fk.zeros(32, dtype=torch.int64), fk.empty(6, 32, dtype=torch.int64)
        for j in range(8):
            x[group + j] = 64**j
        run(x, y)
        for j in range(8):
            counts[:, :, group + j] = y.cpu() // 64**j % 64
    return counts


def holdings_picture(counts: torch.Tensor, title: str) -> None:
    """Draw `holdings`: one square per step, in which row i marks the numbers in lane i's sum."""
    held = ", ".join(str(int((step > 0).sum(1).max())) for step in counts)
    twice = [int((step > 1).any(1).sum()) for step in counts]
    all_32 = int((counts[-1] == 1).all(1).sum())
    step = 32 + 6  # three squares per row, and a gap
    picture = np.zeros((32 + 44, 2 * step + 32, 4))
    for s, lanes in enumerate(counts.tolist()):
        top, left = s // 3 * 44, s % 3 * step
        for i, lane in enumerate(lanes):
            for j, times in enumerate(lane):
                hue = "#E9EBEE" if not times else thread_colour(j) if times == 1 else WRONG
                picture[top + i, left + j] = [*_rgb(hue), 1]
    alt = (f"Before and after each of five steps, a lane's sum contains {held} lanes' numbers. "
           f"At the end, lanes with each number once: {all_32}; lanes with some number twice or "
           f"more: {twice[-1]}.")  # fmt: skip
    note = "Row: a lane. Column: the lane whose number its sum contains."
    note += " Orange: twice or more." if twice[-1] else ""
    with _figure(title, alt, height=3, note=note) as axes:
        axes.imshow(picture, interpolation="nearest", aspect="equal")
        for k, name in enumerate(("before", *(f"offset {16 >> k}" for k in range(5)))):
            axes.text(k % 3 * step + 16, k // 3 * 44 + 36, name, ha="center", va="center")
        axes.set_yticks([0, 31, 44, 75], ["lane 0", "lane 31"] * 2)
        axes.set(xlim=(-1, 2 * step + 34), ylim=(82, -1))
        axes.set_xticks([])
        axes.tick_params(length=0)
        axes.grid(False)
        for side in axes.spines.values():
            side.set_visible(False)


def bars_picture(title: str, values: dict[str, float], unit: str, form: str = ",.3f") -> None:
    """Draw one bar per name, with its value next to it."""
    alt = "; ".join(f"{name}: {value:{form}} {unit}" for name, value in values.items())
    with _figure(title, alt + ".", height=0.35 + 0.3 * len(values)) as axes:
        axes.barh(list(values)[::-1], list(values.values())[::-1], color=SERIES[0], height=0.6)
        for k, value in enumerate(reversed(values.values())):
            axes.annotate(f" {value:{form}} {unit}", (value, k), va="center")
        axes.set(xlim=(0, 1.35 * max(values.values())), xticks=[])
        axes.grid(False)


def loads_picture(turns: dict[str, tuple[int, int, float]], total: int = 2048) -> None:
    """Draw a warp's loads of `total` bytes over time.

    turns: name -> (loads per iteration of the loop, bytes per load of a warp, ns per iteration).
    All loads of an iteration are in flight together; the next iteration begins when the last of
    them has arrived.
    """
    place = 0.0
    longest = max(total / (loads * size) * ns for loads, size, ns in turns.values())
    with _figure(f"A warp's loads of {total:,} bytes: how long each is in flight",
                   _loads_alt(turns, total), height=2.4) as axes:  # fmt: skip
        ticks = []
        for (name, (loads, size, ns)), colour in zip(turns.items(), SERIES, strict=False):
            top = place
            for turn in range(total // (loads * size)):
                for k in range(loads):
                    axes.barh(top - k, 0.97 * ns, 0.8, left=turn * ns, color=colour)
            ticks.append((top - (loads - 1) / 2, f"{name}\n{size} bytes per load"))
            end = total // (loads * size) * ns
            axes.annotate(f" {end:,.0f} ns", (end, top - (loads - 1) / 2), va="center")
            place -= loads + 1
        axes.set_yticks([t for t, _ in ticks], [words for _, words in ticks])
        axes.set(xlabel="ns", xlim=(0, 1.25 * longest))
        axes.grid(False)


def _loads_alt(turns: dict[str, tuple[int, int, float]], total: int) -> str:
    return "; ".join(
        f"{name}: iterations of {ns:.0f} ns: {total // (loads * size)}, loads in flight: {loads}"
        for name, (loads, size, ns) in turns.items()
    ) + "."  # fmt: skip


def little_picture(
    points: dict[str, tuple[float, float]], latency_ns: float, ceiling_gbps: float
) -> None:
    """Draw Little's law, rate = bytes in flight / latency, up to the memory's rate, and the points.

    points: name -> (bytes in flight on the whole GPU, recorded GB/s).
    """
    alt = "; ".join(f"{name}: {size / 1000:,.0f} kB in flight, {rate:,.0f} GB/s"
                    for name, (size, rate) in points.items())  # fmt: skip
    knee = ceiling_gbps * latency_ns  # bytes: GB/s times ns
    with _figure("Little's law, up to the memory's rate",
                   f"A line of {latency_ns:.0f} ns rises to {ceiling_gbps:,.0f} GB/s at "
                   f"{knee / 1e6:.1f} MB in flight. {alt}.", height=3) as axes:  # fmt: skip
        most = 4 * max(size for size, _ in points.values())
        few = min(size for size, _ in points.values()) / 2
        axes.loglog([few, knee, most], [few / latency_ns, ceiling_gbps, ceiling_gbps],
                    "--", color=UNTOUCHED)  # fmt: skip
        for k, (name, (size, rate)) in enumerate(points.items()):
            axes.loglog(size, rate, "os^DvPX"[k % 7], color=SERIES[k % 7], ms=7, label=name)
        axes.axvline(knee, color=UNTOUCHED, lw=0.8, ls=":")
        axes.annotate(f" {knee / 1e6:.1f} MB", (knee, ceiling_gbps / 4), color=UNTOUCHED)
        axes.set(xlabel="kB in flight on the GPU", ylabel="GB/s")
        axes.xaxis.set_major_formatter(lambda size, _: f"{size / 1000:,g}")
        axes.yaxis.set_major_formatter(lambda rate, _: f"{rate:,g}")
        axes.legend(loc="lower right")


# -- repeated results, and steps with a workspace -------------------------------------------------
def results(run: Any, *args: torch.Tensor) -> set[float]:
    """Return the distinct values of y[0] after runs under 20 adversarial schedules; y is the last
    of `args`. Each run uses copies of the arguments and its own order of blocks.
    """
    seeds = range(20)
    return {run_again(run, args, schedule="adversarial", seed=s)[-1][0].item() for s in seeds}


class WithWorkspace:
    """A host function of (x, workspace…, y) that can be timed as a function of x and y."""

    def __init__(self, fn: Any, workspace: Callable[[torch.Tensor], Sequence[torch.Tensor]]):
        self.fn, self.workspace = fn, workspace

    def calls(self, x: torch.Tensor, y: torch.Tensor) -> Callable[[], Any]:
        args = (*self.workspace(x), y)
        return partial(fk.compile(self.fn, *whole_vectors(x, *args)), x, *args)


def choice_steps(sum_rows: Any, in_two_launches: Any) -> dict[str, Any]:
    """Return the steps that were timed for `05_choose`, by their recorded names: the four ways, one
    of them also with N compiled in, and forgekit's own choice.
    """
    from forgekit.ops.calls import Call
    from forgekit.ops.reductions import launcher

    def up_to(most: int, specs: Any) -> Any:
        """Refuse rows of more than `most` elements: a few lanes take too long for such rows."""

        def checked(x: torch.Tensor, y: torch.Tensor) -> Any:
            if x.shape[1] > most:
                raise ValueError(f"rows of more than {most} elements")
            return specs(x, y)

        return checked

    def static_n(x: torch.Tensor, y: torch.Tensor) -> list[Any]:
        return [fk.spec(x, static=[1]), y]

    def two_launches(x: torch.Tensor, y: torch.Tensor) -> None:
        in_two_launches(x, y)(x, y)

    def library(x: torch.Tensor, y: torch.Tensor) -> None:
        launcher(Call.of("reduce_sum", x, arch=None if x.is_cuda else fk.target.arch))(x, y)

    two_launches.calls = lambda x, y: partial(in_two_launches(x, y), x, y)
    library.calls = lambda x, y: partial(library, x, y)
    return {
        "8 lanes a row": (sum_rows(8), up_to(131_072, whole_vectors)),
        "a warp a row": (sum_rows(32), up_to(524_288, whole_vectors)),
        "a warp a row, N static": (sum_rows(32), up_to(524_288, static_n)),
        "a block a row": (sum_rows(256), whole_vectors),
        "parts, two launches": two_launches,
        "forgekit": library,
    }


# -- 05_choose: its recorded run ------------------------------------------------------------------
SHORT = {"8 lanes a row": "8 lanes", "a warp a row": "warp", "a block a row": "block",
         "parts, two launches": "parts", "a warp a row, N static": "N static",
         "torch": "torch.sum", "best": "best of 4", "forgekit": "forgekit"}  # fmt: skip
FOUR = tuple(SHORT)[:4]


def percent_table(dtype: str, steps: Sequence[str] = FOUR) -> None:
    """Print the percent of a copy's GB/s that each step reached, one line per recorded shape;
    "best" is the best of the four ways.
    """
    run = recorded_part("05_choose", dtypes=(dtype,))
    known = {(row.step, row.shape): run.percent(row) for row in run.rows}
    print(f"{dtype + ', % of a copy':>22}", *(f"{SHORT[step]:>10}" for step in steps))
    for m, n in dict.fromkeys(row.shape for row in run.rows):
        known["best", (m, n)] = max(known.get((step, (m, n)), 0) for step in FOUR)
        found = (known.get((step, (m, n))) for step in steps)
        cells = (f"{'–' if p is None else format(p, '.0f'):>10}" for p in found)
        print(f"{f'{m:,} × {n:,}':>22}", *cells)


def peers_table() -> None:
    """Print the percent of a copy's GB/s that torch, torch.compile and forgekit reached in the
    book's recorded run, whose file only the repository has.
    """
    measured = Path("../book/measured/reduce_h200.json")
    if not measured.exists():
        print("book/measured/reduce_h200.json is missing; it is part of the repository.")
        return
    run, rates = json.loads(measured.read_text()), {}
    for row in run["rows"]:
        if row["dim"] == -1 and row["status"] == "ok" and math.prod(row["shape"]) >= 2**24:
            place = (*row["shape"], row["dtype"])
            rates.setdefault(place, {})[row["contender"]] = row["percent_of_ceiling"]
    print(f"NVIDIA H200, {run['date']}, percent of a copy's rate in the same run\n")
    print(f"{'':>18}  {'':9}{'torch':>8} {'torch.compile':>14} {'forgekit':>9}")
    for (m, n, dtype), r in sorted(rates.items(), key=lambda item: (item[0][2], item[0][1])):
        cells = [r.get(name) for name in ("torch", "torch.compile", "forgekit")]
        words = [f"{c:.0f}" if c else "–" for c in cells]
        print(f"{m:>8} × {n:<9} {dtype:9}{words[0]:>7} {words[1]:>14} {words[2]:>9}")


def crossing_picture() -> None:
    """Draw how fast each recorded way adds up 2²⁵ elements, over the length of a row."""
    run = recorded_part("05_choose")
    ways = (*FOUR, "forgekit")
    points = {(step, dtype): sorted((row.shape[1], run.percent(row)) for row in run.rows
                                    if (row.step, row.dtype) == (step, dtype))
              for step in ways for dtype in ("float32", "float16")}  # fmt: skip
    note = "Percent of a copy's GB/s on an H200, by the number of columns, for 2²⁵ elements."
    for dtype in ("float32", "float16"):
        alt = "; ".join(
            f"{SHORT[step]}: at best {max(p for _, p in of):.0f} % at "
            f"{max(of, key=lambda point: point[1])[0]:,} columns, at the ends {of[0][1]:.0f} % and "
            f"{of[-1][1]:.0f} %" for step in ways for of in [points[step, dtype]])  # fmt: skip
        title = f"Each way is good only for some shapes: {dtype}"
        with _figure(title, alt + ".", height=2.4, note=note) as axes:
            for k, step in enumerate(ways):
                line = {"color": SERIES[k], "marker": "osD^"[k]} if k < 4 else {
                    "color": UNTOUCHED, "ls": ":", "lw": 2.5}  # fmt: skip
                axes.semilogx(*zip(*points[step, dtype], strict=True), base=2, label=SHORT[step],
                              **line)  # fmt: skip
            axes.set(ylim=(0, 134), yticks=range(0, 101, 20))
            lengths = [n for n, _ in points["forgekit", dtype]][::2]
            axes.set_xticks(lengths, [f"{n:,}" for n in lengths])
            axes.legend(loc="upper left", ncols=3)


# -- 04_few_long_rows: pictures -------------------------------------------------------------------
def _box(axes: Any, x: float, y: float, width: float, height: float, colour: str, text: str = "",
         **style: Any) -> None:  # fmt: skip
    """Draw a box whose lower left corner is at (x, y), with text in its middle."""
    axes.add_patch(Rectangle((x, y), width, height, **{"facecolor": colour, **style}))
    axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", color=ON_CELL)


def _bare(axes: Any) -> None:
    """Hide the axes, but keep the items drawn on them."""
    axes.set_axis_off()
    axes.margins(0.01)
    axes.autoscale_view()


def pieces_picture(columns: int = 40_000, loads: int = 4, threads: int = 256) -> None:
    """Draw a float32 row cut into the pieces of its blocks, and one piece cut into its loads."""
    piece = loads * threads * 4
    pieces = -(-columns // piece)
    rest = columns - (pieces - 1) * piece
    title = f"A row of {columns:,} float32 elements has {pieces} pieces, one per block"
    alt = (f"The row as a bar of {pieces} boxes, blocks 0 to {pieces - 1}, of {piece:,} elements "
           f"each, except {rest:,} in the last. Piece 3 enlarged: {loads} loads, in each of which "
           f"{threads} threads read 16 bytes.")  # fmt: skip
    with _figure(title, alt, height=1.7) as axes:
        for k in range(pieces):
            width = min(piece, columns - k * piece)
            _box(axes, k * piece, 1.6, 0.97 * width, 0.7, "#8FC1E3", str(k))
        for x, below in ((3 * piece, 0), (3.97 * piece, columns)):
            axes.plot([x, below], [1.57, 0.9], color=UNTOUCHED, lw=0.8)
        for k in range(loads):
            wide = columns / loads
            _box(axes, k * wide, 0.2, 0.985 * wide, 0.65, "#8FC1E3",
                 f"load {k}")  # fmt: skip
        axes.text(0, 2.42, f"{piece:,} elements per block, {rest:,} in the last one")
        axes.text(0, -0.05, f"one load: {threads} threads read 16 bytes each", va="top")
        _bare(axes)


_ENDS = (2.9, 3.9, 2.4, 3.4)  # end times of blocks 0 to 3
_MEETINGS = {
    "atomics": ("3 launches", "one sum in memory"),
    "two launches": ("2 launches", "a slot per part"),
    "last block": ("1 launch", "slots and a counter"),
    "cluster": ("1 launch", "block 0's shared memory"),
}


def meeting_picture() -> None:
    """Draw four ways in which four blocks combine their parts of a row, over time."""
    alt = ("Time runs to the right; four blocks end in the order 2, 0, 3, 1. Atomics: between a "
           "launch that clears and one that converts, each block adds to one sum. Two launches: "
           "each block stores in a slot, and a second launch adds up the slots. Last block: the "
           "same slots, and block 1, which counted last, adds them up in the same launch. Cluster: "
           "blocks store in block 0's shared memory; it waits for all and adds up.")  # fmt: skip
    note = "Blue: a block at work. Grey: memory. Dotted: a launch ends, and the next one begins."
    with _figure("Four ways to combine parts", alt, height=4.3, note=note) as axes:
        for row, (name, (launches, place)) in enumerate(_MEETINGS.items()):
            y = -1.75 * row
            axes.text(-0.3, y + 1.2, name, fontweight="bold", color=INK)
            axes.text(9.55, y + 1.2, f"{launches}; {place}", ha="right")
            _meeting(axes, y, name)
        _bare(axes)


def _meeting(axes: Any, y: float, name: str) -> None:
    """Draw one row of `meeting_picture`, whose lowest bar is at y."""
    blue, grey, first = "#8FC1E3", "#C9CDD3", 0.9
    one_slot = name == "atomics"
    for block, end in enumerate(_ENDS):
        at = y + 0.27 * (3 - block)
        _box(axes, first, at, end - first, 0.22, blue, f"block {block}")
        target = y + 0.5 if one_slot else at + 0.11
        axes.annotate("", (4.75, target), (end, at + 0.11),
                      arrowprops={"arrowstyle": "->", "color": UNTOUCHED, "lw": 1})  # fmt: skip
        if not one_slot:
            _box(axes, 4.8, at, 1.2, 0.22, blue if name == "cluster" else grey, f"part {block}")
    if one_slot:
        _box(axes, 4.8, y + 0.37, 1.2, 0.26, grey, "sum")
    last, words = {"atomics": (0, "convert"), "two launches": (3, "add up"),
                   "last block": (2, "add up"), "cluster": (3, "add up")}[name]  # fmt: skip
    centre = y + (0.39 if one_slot else 0.27 * last)
    _box(axes, 6.6, centre, 1.7, 0.22, blue, words)
    axes.annotate("", (9.0, centre + 0.11), (8.3, centre + 0.11),
                  arrowprops={"arrowstyle": "->", "color": UNTOUCHED, "lw": 1})  # fmt: skip
    _box(axes, 9.05, centre, 0.5, 0.22, grey, "y")
    edges = {"atomics": (0.65, 6.3), "two launches": (6.3,)}.get(name, ())
    axes.vlines(edges, y - 0.05, y + 1.1, colors=UNTOUCHED, ls=":", lw=1.2)
    if one_slot:
        _box(axes, -0.3, y + 0.39, 0.75, 0.22, blue, "clear")
    if name == "cluster":  # all have started; all have stored
        axes.vlines((6.3,), y - 0.05, y + 1.1, colors=UNTOUCHED, ls="-", lw=1.2)
        axes.text(6.45, y + 0.35, "cluster barrier")
    if name == "last block":
        for block, ticket in enumerate((1, 3, 0, 2)):
            axes.text(6.1, y + 0.27 * (3 - block) + 0.05, f"ticket {ticket}"[7 * (block == 1) :])


# -- 05_choose: pictures --------------------------------------------------------------------------
def unaligned_picture(start: int = 2, columns: int = 19) -> None:
    """Draw which lane reads which element of a float32 row that begins `start` elements after a
    multiple of 16 bytes: whole vectors, and the elements outside of them.
    """
    prefix = -start % 4
    tail, whole = (columns - prefix) % 4, (columns - prefix) // 4
    alt = (f"A row of {columns} elements: {prefix} before the first multiple of 16 bytes, read one "
           f"by one by lanes 0 to {prefix - 1}; {whole} whole vectors, one load each, by lanes 0 "
           f"to {whole - 1}; {tail} at the end, read one by one from lane 4 on.")  # fmt: skip
    title = "A row that begins anywhere: whole vectors, and single elements at its ends"
    singles = [(k, k) for k in range(prefix)]
    singles += [(columns - tail + k, 4 + k) for k in range(tail)]
    with _figure(title, alt, height=0.95) as axes:
        for k, lane in singles:
            _box(axes, start + k, 0.3, 0.94, 0.6, thread_colour(lane, 8), str(lane))
        for lane in range(whole):
            _box(axes, start + prefix + 4 * lane, 0.3, 3.94, 0.6, thread_colour(lane, 8),
                 f"lane {lane}")  # fmt: skip
        for x in (start + prefix / 2, start + columns - tail / 2):
            axes.text(x, 0.08, "single", ha="center", va="center")
        axes.vlines(range(0, start + columns + 3, 4), 0.2, 1.0, colors=UNTOUCHED, ls=":", lw=0.9)
        axes.text(0, 1.12, "dotted lines: multiples of 16 bytes; each box: one load")
        _bare(axes)
