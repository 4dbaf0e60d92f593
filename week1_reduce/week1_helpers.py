"""Small functions that week 1's notebooks share; each page introduces the ones that it uses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import cutlass.cute as cute
import numpy as np
import torch
from cutlass import Float32

import forgekit as fk
from forgekit.benching.recorded import Recorded, recorded
from forgekit.viz.palette import INK, NOTE, UNTOUCHED, WRONG, thread_colour
from forgekit.viz.timing.style import SERIES


# -- compile, check, count ------------------------------------------------------------------------
def whole_vectors(x: torch.Tensor, *rest: Any) -> list[Any]:
    """Return the specs for `fk.compile` that promise rows of whole 16-byte vectors in x, an (M, N)
    tensor; `rest` follows as it is given.
    """
    return [fk.spec(x, divisible={1: 16 // x.element_size()}), *rest]


def cost(run: Any, x: torch.Tensor) -> fk.Profile:
    """Check the row sums that `run(x, y)` leaves in y, also in adversarial schedules, and return
    the profile of one call.
    """
    y = fk.empty(x.shape[0], dtype=x.dtype)
    run(x, y)
    assert fk.check(y, x.double().sum(1), again=lambda: run(x, y))
    return fk.profile(run, x, y)


def instructions_per_kb(p: fk.Profile, x: torch.Tensor) -> float:
    """Return the PTX instructions that the warps executed for 1,024 bytes of x."""
    return 1024 * p.warp_instructions / x.nbytes


def barriers(p: fk.Profile) -> int:
    """Return the barriers that each block went through: PTX has one `bar.sync` for each, which
    every warp executes.
    """
    found = [i for line in p.all_lines for i in line.instructions if i.text.startswith("bar.sync")]
    launch = p.launches[0]
    return sum(i["warp_instructions"] for i in found) // (launch.grid[0] * launch.block[0] // 32)


def adding_line(p: fk.Profile) -> Any:
    """Return the profile's line that adds one word of shared memory to another."""
    lines = (line for line in p.lines if line.text.strip().startswith("sSum["))
    return next(line for line in lines if "+=" in line.text)


def tree_table(profiles: dict[str, fk.Profile]) -> None:
    """Print what each tree costs: active lanes, wavefronts, barriers, PTX instructions."""
    print("                lanes active  wavefronts   barriers  PTX instr.")
    print("                in the tree     per load  per block      in all")
    for name, p in profiles.items():
        lanes, waves = adding_line(p)["thread_efficiency"], p.shared_load_wavefronts_per_request
        print(f"{name:14s} {lanes:10.0f} %  {waves:11.1f}", end="  ")
        print(f"{barriers(p):9}  {p.warp_instructions:10,}")


# -- what a GPU took ------------------------------------------------------------------------------
def recorded_part(
    name: str,
    *,
    shapes: Sequence[tuple[int, int]] = (),
    dtypes: Sequence[str] = ("float32", "float16"),
    steps: Sequence[str] = (),
) -> Recorded:
    """Return the run recorded as `week1/name`, cut down to these shapes, types and steps; an empty
    tuple keeps all of them.
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
    """Add up the columns of mX (M, N) into mY (N), one thread per column."""
    blocks = cute.ceil_div(mX.shape[1], 128)
    thread_a_column_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))


# -- sums in Python -------------------------------------------------------------------------------
def pairwise_sum(values: np.ndarray, dtype: Any = np.float32) -> Any:
    """Return the sum of a tournament: neighbours are added, then their sums, in `dtype`."""
    level = values.astype(dtype)
    while len(level) > 1:
        pairs = len(level) // 2 * 2
        level = np.concatenate([level[0:pairs:2] + level[1:pairs:2], level[pairs:]])
    return level[0]


def error_in_u(way: Callable[[np.ndarray], Any], n: int, seed: int) -> float:
    """Return how far `way` misses the sum of n random positive float32, in u = 2⁻²⁴ of the sum."""
    drawn = np.random.default_rng(seed).random(n).astype(np.float32)
    exact = math.fsum(drawn)
    return abs(float(way(drawn)) - exact) / exact * 2.0**24


# -- pictures -------------------------------------------------------------------------------------
def error_picture(lengths: Sequence[int], errors: dict[str, Sequence[float]]) -> None:
    """Draw the errors of ways to add, in u, over the number of addends, below bound and √n."""
    last = ", ".join(f"{name} {of[-1]:.1f} u" for name, of in errors.items())
    alt = f"Errors over 16 to 131,072 addends, far below the bound n. At the end: {last}."
    with fk.figure("Errors of float32 sums stay far below the bound", alt) as axes:
        axes.loglog(lengths, lengths, ":", color=UNTOUCHED, label="n, the bound")
        axes.loglog(lengths, np.sqrt(lengths), "--", color=UNTOUCHED, label="√n")
        for (name, of), colour, marker in zip(errors.items(), SERIES, "os", strict=False):
            axes.loglog(lengths, np.maximum(of, 0.03), marker + "-", color=colour, label=name)
        axes.set(xlabel="numbers added", ylabel="error, u of the sum")
        axes.legend()


def growth_picture(grown: np.ndarray) -> None:
    """Draw what a sum of ones has reached after each addition, beside the right sum."""
    stop, n = int(grown[-1]), len(grown)
    alt = f"The right sum rises to {n:,}; the float16 sum follows it to {stop:,} and stays there."
    with fk.figure(f"In float16 a sum of ones stops at {stop:,}", alt, height=2) as axes:
        axes.plot(np.arange(1, n + 1), "--", color=UNTOUCHED, label="the right sum")
        axes.plot(grown, color=WRONG, label="added in float16")
        axes.set(xlabel="ones added", ylabel="sum")
        axes.legend()


Rounds = Iterable[Sequence[tuple[int, int, int]]]  # of each round: (thread, word, other word)


def tree_picture(rounds: Rounds, threads: int = 16) -> None:
    """Draw a tree in shared memory, a row per round: which thread adds which two words."""
    rounds = [list(adds) for adds in rounds]
    told = "; ".join(
        f"round {k}: threads {_listed(t for t, _, _ in adds)} at words "
        f"{_listed(word for _, word, _ in adds)}"
        for k, adds in enumerate(rounds, 1)
    )
    title = f"{threads} words of shared memory; in the circles, the thread that adds"
    with fk.figure(title, told + ".", height=2.7) as axes:
        axes.plot(range(threads), [0] * threads, "s", ms=9, color=UNTOUCHED)
        for k, adds in enumerate(rounds, 1):
            for thread, word, other in adds:
                for source in (word, other):
                    axes.plot([source, word], [1 - k, 0.28 - k], color=UNTOUCHED, lw=0.9, zorder=0)
                axes.plot(word, -k, "o", ms=17, color=thread_colour(thread, threads))
                axes.text(word, -k - 0.02, str(thread), ha="center", va="center", color=INK)
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
    with fk.figure("Who adds in each round", "; ".join(alt) + ".", height=height,
                   note=note) as axes:  # fmt: skip
        for top, picture in pictures:
            axes.imshow(picture, aspect="auto", interpolation="nearest",
                        extent=(0, threads, top + len(picture) + 0.5, top + 0.5))  # fmt: skip
        axes.set_ylim(top + len(picture) + 0.5, 0.5)
        axes.set_xticks(range(0, threads + 1, 32))
        axes.set_yticks(list(ticks), list(ticks.values()))
        axes.set(xlabel="thread")
        axes.grid(False)


def _rgb(colour: str) -> list[float]:
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def holdings(run: Any) -> torch.Tensor:
    """Return how often lane j's number is in lane i's sum after step s, as counts[s, i, j].

    `run(x, y)` takes 32 int64 numbers, one per lane, and leaves the lanes' sums after each of its
    steps in the rows of y, (6, 32). Four runs use eight lanes each, with six bits for a count.
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
    """Draw `holdings`: for each step a square, a row per lane, a mark for each number it holds."""
    held = ", ".join(str(int((step > 0).sum(1).max())) for step in counts)
    twice = [int((step > 1).any(1).sum()) for step in counts]
    all_32 = int((counts[-1] == 1).all(1).sum())
    width, gap = 32, 5
    picture = np.zeros((32, 6 * width + 5 * gap, 4))
    for s, step in enumerate(counts.tolist()):
        for i, lane in enumerate(step):
            for j, times in enumerate(lane):
                hue = "#E9EBEE" if not times else thread_colour(j) if times == 1 else WRONG
                picture[i, s * (width + gap) + j] = [*_rgb(hue), 1]
    alt = (f"Before and after each of five steps a lane's sum holds the numbers of {held} lanes. "
           f"At the end, lanes with each number once: {all_32}; lanes with some number twice or "
           f"more: {twice[-1]}.")  # fmt: skip
    note = "A row: a lane. A column: whose number it holds."
    note += " Orange: counted twice or more." if twice[-1] else ""
    with fk.figure(title, alt, height=1.5, note=note) as axes:
        axes.imshow(picture, interpolation="nearest", aspect="equal")
        places = [s * (width + gap) + width / 2 for s in range(6)]
        axes.set_xticks(places, ["before", *(f"offset {16 >> k}" for k in range(5))])
        axes.set_yticks([0, 31], ["lane 0", "lane 31"])
        axes.tick_params(length=0)
        axes.grid(False)
        for side in axes.spines.values():
            side.set_visible(False)


def bars_picture(title: str, values: dict[str, float], unit: str, form: str = ",.3f") -> None:
    """Draw one bar per name, with its value beside it."""
    alt = "; ".join(f"{name}: {value:{form}} {unit}" for name, value in values.items())
    with fk.figure(title, alt + ".", height=0.35 + 0.3 * len(values)) as axes:
        axes.barh(list(values)[::-1], list(values.values())[::-1], color=SERIES[0], height=0.6)
        for k, value in enumerate(reversed(values.values())):
            axes.annotate(f" {value:{form}} {unit}", (value, k), va="center")
        axes.set(xlim=(0, 1.2 * max(values.values())), xticks=[])
        axes.grid(False)


def loads_picture(turns: dict[str, tuple[int, int, float]], total: int = 2048) -> None:
    """Draw a warp's loads of `total` bytes over time.

    turns: name -> (loads per turn of the loop, bytes per load of a warp, ns per turn). All loads
    of a turn are in flight together; the next turn begins when the last of them has arrived.
    """
    place = 0.0
    longest = max(total / (loads * size) * ns for loads, size, ns in turns.values())
    with fk.figure(f"A warp's loads of {total:,} bytes: how long each is in flight",
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
        axes.set(xlabel="ns", xlim=(0, 1.12 * longest))
        axes.grid(False)


def _loads_alt(turns: dict[str, tuple[int, int, float]], total: int) -> str:
    return "; ".join(
        f"{name}: {total // (loads * size)} turns of {ns:.0f} ns, {loads} loads in flight in each"
        for name, (loads, size, ns) in turns.items()
    ) + "."  # fmt: skip


def little_picture(
    points: dict[str, tuple[float, float]], latency_ns: float, ceiling_gbps: float
) -> None:
    """Draw Little's law, rate = bytes in flight / latency, up to the memory's rate, and points.

    points: name -> (bytes in flight on the whole GPU, recorded GB/s).
    """
    alt = "; ".join(f"{name}: {size / 1000:,.0f} kB in flight, {rate:,.0f} GB/s"
                    for name, (size, rate) in points.items())  # fmt: skip
    knee = ceiling_gbps * latency_ns  # bytes: GB/s times ns
    with fk.figure("Little's law: rate = bytes in flight / latency, up to what memory delivers",
                   f"A line of {latency_ns:.0f} ns rises to {ceiling_gbps:,.0f} GB/s at "
                   f"{knee / 1e6:.1f} MB in flight. {alt}.", height=3) as axes:  # fmt: skip
        most = 4 * max(size for size, _ in points.values())
        few = min(size for size, _ in points.values()) / 2
        axes.loglog([few, knee, most], [few / latency_ns, ceiling_gbps, ceiling_gbps],
                    "--", color=UNTOUCHED)  # fmt: skip
        for k, (name, (size, rate)) in enumerate(points.items()):
            axes.loglog(size, rate, "os^DvPX"[k % 7], color=SERIES[k % 7], ms=7, label=name)
        axes.axvline(knee, color=UNTOUCHED, lw=0.8, ls=":")
        axes.annotate(f" {knee / 1e6:.1f} MB", (knee, few / latency_ns), color=UNTOUCHED)
        axes.set(xlabel="bytes in flight on the GPU", ylabel="GB/s")
        axes.legend(loc="lower right")


# -- w1b ---
