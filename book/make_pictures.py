"""Draw the book's pictures with `uv run python book/make_pictures.py`. Pictures of runs show real
runs.

transpose_naive.svg, transpose_tiled.svg: the sectors that one store by a warp moves in two
transposes. profile_light.svg, profile_dark.svg: both transposes, line by line, with counts (for the
README). shuffles.svg: a warp that sums 32 numbers. passes.svg: the reads and writes of three
softmaxes. architecture.svg: the path from a cell to its results. predicted.svg: predicted times
against times measured on an H200. drawn_shapes.svg: operators and their peers on an H200, for
shapes drawn at random. film.html: the sectors that the two transposes move, as an animation.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import cutlass
import cutlass.cute as cute
import matplotlib
from cutlass import Float32
from drawing import arrow, box, svg
from predicted_times import drawn
from profile_picture import Panel, picture
from week_pictures import passes, shuffles

import forgekit as fk
from forgekit.viz.ideas import traffic_film
from forgekit.viz.palette import UNTOUCHED
from forgekit.viz.timing.chart import page, tidy
from forgekit.viz.timing.style import SERIES, STYLE, TEXT, TimingPicture

FOLDER = Path(__file__).parent / "pictures"
SIDE = 32  # elements per side of the drawn part of Y
CELL = 10  # px
SECTOR = 8  # float32 elements in 32 bytes
PASSES = {
    "reduce_sum": 1,
    "softmax": 2,
    "softmax_backward": 3,
}  # the number of passes over a matrix, by operator


# -- the two kernels of the first picture ------------------------------------------------------
@cute.kernel
def naive_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    row, col = bidy * 8 + tidy, bidx * 32 + tidx
    mY[col, row] = mX[row, col]


@cute.jit
def naive(mX: cute.Tensor, mY: cute.Tensor):
    grid = (mX.shape[1] // 32, mX.shape[0] // 8, 1)
    naive_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))


@cute.kernel
def tiled_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sT = smem.allocate_tensor(Float32, cute.make_layout((32, 32), stride=(33, 1)), 16)
    for k in cutlass.range_constexpr(0, 32, 8):
        sT[tidy + k, tidx] = mX[bidy * 32 + tidy + k, bidx * 32 + tidx]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(0, 32, 8):
        mY[bidx * 32 + tidy + k, bidy * 32 + tidx] = sT[tidx, tidy + k]


@cute.jit
def tiled(mX: cute.Tensor, mY: cute.Tensor):
    grid = (mX.shape[1] // 32, mX.shape[0] // 32, 1)
    tiled_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))


def stored(transpose: Any) -> dict[tuple[int, int], int]:
    """Map each (row, column) of Y that the first warp's first store writes to the lane that writes
    it, after checking the result.
    """

    x, y = fk.randn(64, 64, device="virtual"), fk.empty(64, 64, device="virtual")
    run = fk.compile(transpose, x, y, device="virtual")
    run(x, y)
    assert fk.check(y, x.T, on_fail="raise")
    (access,) = fk.coalescing(run, x, y, kind="store").accesses[:1]
    # An element is text such as `mY[3, 0]`.
    places = (element[3:-1].split(", ") for element in access.element)
    return {(int(row), int(col)): lane for lane, (row, col) in enumerate(places)}


# -- drawing ------------------------------------------------------------------------------------
def store(lanes: dict[tuple[int, int], int], name: str = "grid") -> list[str]:
    """Draw the upper-left part of Y: the elements that a warp stores, coloured by lane, and the
    elements that are moved with them.

    name: the id of the pattern of cells, which must be unique in a picture.
    """
    import matplotlib
    from matplotlib.colors import to_hex

    body = [
        f'<pattern id="{name}" width="10" height="10" patternUnits="userSpaceOnUse">'
        '<rect class="cell" width="9" height="9" rx="1.5"/></pattern>',
        f'<rect fill="url(#{name})" width="{SIDE * CELL}" height="{SIDE * CELL}"/>',
    ]
    sectors = sorted({(row, col // SECTOR) for row, col in lanes})
    for row, sector in sectors:
        for col in range(sector * SECTOR, (sector + 1) * SECTOR):
            lane = lanes.get((row, col))
            if lane is None:
                paint = 'class="waste"'
            else:
                paint = f'fill="{to_hex(matplotlib.colormaps["viridis"](0.15 + 0.8 * lane / 31))}"'
            body.append(
                f'<rect {paint} x="{col * CELL}" y="{row * CELL}" width="9" height="9" rx="1.5"/>'
            )
    return body


def panels() -> list[Panel]:
    """Profile the two transposes."""

    found = []
    for title, transpose in (
        ("A straightforward transpose", naive),
        ("The same transpose through shared memory", tiled),
    ):
        x, y = fk.randn(64, 64, device="virtual"), fk.empty(64, 64, device="virtual")
        run = fk.compile(transpose, x, y, device="virtual")
        drawn = "\n".join(store(stored(transpose), f"grid-{transpose.__name__}"))
        found.append(Panel(title, fk.profile(run, x, y, gpu="H200"), drawn))
    return found


def architecture() -> str:
    """Draw the path from a cell to its results, from top to bottom, narrow enough for a phone."""
    body = [
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path class="dim" d="M0 0 L8 4 L0 8 z"/></marker></defs>',
        box(110, 4, 220, "your cell", "@cute.kernel and @cute.jit"),
        arrow((220, 58), (220, 84)),
        box(110, 86, 220, "fk.compile", "arguments, key, cache"),
        arrow((220, 140), (220, 166)),
        box(110, 168, 220, "CuTe DSL’s compiler", "by NVIDIA, on any machine"),
        arrow((220, 222), (220, 236), (92, 236), (92, 254)),
        arrow((220, 222), (220, 236), (326, 236), (326, 254)),
        box(4, 256, 176, "a GPU", "machine code, real times"),
        box(216, 256, 220, "the virtual GPU", "the same PTX, in NumPy", strong=True),
        '<text class="dim" x="230" y="250" font-size="13">PTX</text>',
        arrow((92, 310), (92, 508)),
        arrow((326, 310), (326, 334)),
        '<text class="dim" x="216" y="352" font-size="13">listeners that change no values</text>',
        box(216, 362, 220, "sanitizer", "fk.sanitize, always on"),
        box(216, 424, 220, "counters · traces", "fk.profile · the pictures"),
        arrow((326, 478), (326, 508)),
        box(4, 510, 432, "what you see, per line of your Python",
            "values (fk.check) · mistakes · costs · pictures"),
    ]  # fmt: skip
    return svg(440, 568, body)


def drawn_shapes() -> str:
    """Plot the speed for shapes drawn at random, as a percentage of a copy's speed, against the
    bytes moved.
    """
    data = json.loads((FOLDER.parent / "measured/drawn_shapes_h200.json").read_text("utf-8"))
    size = {"float32": 4, "float16": 2, "bfloat16": 2}
    names = {"reduce_sum": "sums", "softmax": "softmax", "softmax_backward": "its gradient"}
    looks = {
        "torch": (UNTOUCHED, "s", 3),
        "compile": (SERIES[1], "D", 3),
        "quack": (SERIES[2], "^", 4),
        "forgekit": (SERIES[0], "o", 4),
    }
    with matplotlib.rc_context(STYLE):
        title = f"{len(data['rows'])} shapes drawn at random, compared with equally large copies"
        figure = page(title, [], 2.9)
        for axes, (op, name) in zip(figure.subplots(1, 3, sharey=True), names.items(), strict=True):
            rows = [row for row in data["rows"] if row["op"] == op]
            axes.axhline(100, color=TEXT, linewidth=0.8, linestyle=(0, (2, 2)))
            for who, (colour, marker, points) in looks.items():
                shown = [r for r in rows if who == "forgekit" or who in r]
                moved = [math.prod(r["shape"]) * size[r["dtype"]] * PASSES[op] for r in shown]
                share = [100 * r["copy"] / r.get(who, 1.0) for r in shown]
                axes.plot(moved, share, marker, ms=points, color=colour, mew=0,
                          label="torch.compile" if who == "compile" else who)  # fmt: skip
            axes.set_xscale("log")
            tidy(axes, unit=name, across="bytes moved")
        figure.axes[0].set_ylabel("% of the copy's speed")
        figure.axes[1].legend(loc="upper left", ncols=1)
    words = "Three panels of points, which the text on the page explains."
    return TimingPicture(figure, words).svg


def film() -> str:
    """Return an animation of both kernels, as HTML."""
    x, y = fk.randn(64, 64, device="virtual"), fk.empty(64, 64, device="virtual")
    profiles = {}
    for name, transpose in (("column by column", naive), ("through shared memory", tiled)):
        run = fk.compile(transpose, x, y, device="virtual")
        profiles[name] = fk.profile(run, x, y)
    return traffic_film(profiles).html


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    both, side = panels(), SIDE * CELL
    for name, text in (
        ("transpose_naive", svg(side, side, store(stored(naive)))),
        ("transpose_tiled", svg(side, side, store(stored(tiled)))),
        ("profile_light", picture(both, 0)),
        ("profile_dark", picture(both, 1)),
        ("shuffles", shuffles()),
        ("passes", passes()),
        ("architecture", architecture()),
        ("predicted", drawn()),
        ("drawn_shapes", drawn_shapes()),
    ):
        (FOLDER / f"{name}.svg").write_text(text, encoding="utf-8")
        print(f"pictures/{name}.svg")
    (FOLDER / "film.html").write_text(film(), encoding="utf-8")
    print("pictures/film.html")


if __name__ == "__main__":
    main()
