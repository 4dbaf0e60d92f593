"""Draw a suite's results, with one panel per operator and type, and one line per size.

On a GPU, a point is a percentage of the ceiling, with a bar from the 20th to the 80th percentile;
on the virtual GPU, it is the number of bytes moved, relative to the minimum. The picture is
readable on white and on black backgrounds.
"""

from __future__ import annotations

import io
import itertools
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from forgekit.benching.suites.results import SuiteResults, SuiteRow
from forgekit.benching.suites.suite import DTYPES
from forgekit.errors import UsageError, brief, got_needed
from forgekit.output_files import write_output
from forgekit.viz.timing.chart import tidy
from forgekit.viz.timing.style import SERIES, TEXT, styled, text_at

Points = list[tuple[SuiteRow, float]]

FORMATS = (".png", ".svg")
# Known contenders have the same colour in every picture; other contenders get the remaining colours
# in order.
_STYLES = {"forgekit": (SERIES[0], "o"), "torch": (SERIES[1], "s"),
           "torch.compile": (SERIES[2], "^"), "quack": (SERIES[3], "D")}  # fmt: skip
_OTHERS = SERIES[4:], "vPX<>phd8*"  # cycling both gives 30 pairs of a colour and a marker
_LINE, _TOP, _BOTTOM, _LEFT, _RIGHT, _GAP = 0.19, 0.26, 0.5, 1.25, 0.15, 0.2  # inches
_PANEL, _HEAD = 2.6, 0.66


def check_plot_file(file: Path) -> None:
    """Raise UsageError if the file's name does not end in a known format."""
    if file.suffix.lower() not in FORMATS:
        remedy = f"name it {file.stem}.png"
        raise UsageError(got_needed("--plot", brief(file.name), " or ".join(FORMATS), remedy))


def save(results: SuiteResults, file: Path) -> bool:
    """Write the picture to a PNG or SVG file; return False if there is nothing to draw. Raise
    UsageError if the file cannot be written."""
    figure = draw(results)
    if figure is not None:
        drawn = io.BytesIO()
        figure.savefig(drawn, format=file.suffix[1:].lower(), dpi=144, transparent=True)
        write_output("--plot", file, drawn.getvalue())
    return figure is not None


@styled
def draw(results: SuiteResults) -> Figure | None:
    """Return the picture, or None if no row has times or counts."""
    points = [(row, value) for row in results.rows if (value := _value(results, row)) is not None]
    if not points:
        return None
    others = zip(*map(itertools.cycle, _OTHERS), strict=False)
    names = dict.fromkeys(row.contender for row, _ in points)
    styles = {name: _STYLES.get(name) or next(others) for name in names}
    bands: dict[str, dict[str, Points]] = {}
    for row, value in points:
        title = row.case.op + ("" if row.case.dim == -1 else f" dim {row.case.dim}")
        of_title = bands.setdefault(title, {})
        of_title.setdefault(row.case.dtype, []).append((row, value))
    shapes = {title: _shapes(band) for title, band in bands.items()}
    heights = [_TOP + _LINE * (len(lines) + 0.4) + _BOTTOM for lines in shapes.values()]
    across = len({dtype for band in bands.values() for dtype in band})
    width = _LEFT + across * (_PANEL + _GAP) - _GAP + _RIGHT
    height = _HEAD + sum(heights)
    figure = Figure(figsize=(width, height))
    figure.patch.set_alpha(0.0)
    _heading(figure, results, styles, height)
    limit = max(value for _, value in points)
    top = height - _HEAD
    for (title, band), tall in zip(bands.items(), heights, strict=True):
        for k, dtype in enumerate(name for name in DTYPES if name in band):
            left, low = _LEFT + k * (_PANEL + _GAP), top - tall + _BOTTOM
            box = (left / width, low / height, _PANEL / width, (tall - _TOP - _BOTTOM) / height)
            axes = figure.add_axes(box)
            _panel(axes, band[dtype], shapes[title], styles, limit)
            axes.set_title(f"{title}, {dtype}", fontsize=8.5, pad=4)
            axes.set_yticklabels([f"{m:,} × {n:,}" for m, n in shapes[title]] if k == 0 else [])
        top -= tall
    return figure


def _shapes(band: dict[str, Points]) -> list[tuple[int, int]]:
    """Return the sizes of an operator's rows in ascending order of their number of elements."""
    found = {row.case.shape for points in band.values() for row, _ in points}
    return sorted(found, key=lambda shape: (shape[0] * shape[1], shape))


def _value(results: SuiteResults, row: SuiteRow) -> float | None:
    if row.counters is not None:
        return row.counters.global_bytes / row.moved_bytes
    return results.percent(row)


def _heading(figure: Figure, results: SuiteResults, styles: dict[str, Any], height: float) -> None:
    gpus = " and ".join(results.gpus)
    ceilings = [m.ceiling_gbps for m in results.machines if m.ceiling_gbps]
    bound = f"; ceiling {max(ceilings):,.0f} GB/s" if ceilings else ""
    said = f"{gpus}, {results.date}, suite {results.suite}{bound}"
    text_at(figure, 0.12, height - 0.1, said, size=10, weight="bold")
    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle="", markersize=5, label=name)
        for name, (colour, marker) in styles.items()
    ]
    figure.legend(handles=handles, loc="upper left", ncols=len(handles), handletextpad=0.1,
                  bbox_to_anchor=(0.0, (height - 0.3) / height), fontsize=8.5,
                  columnspacing=1.2)  # fmt: skip


def _panel(
    axes: Axes, points: Points, shapes: list[tuple[int, int]], styles: dict[str, Any], limit: float
) -> None:
    timed = any(row.timing for row, _ in points)
    for row, value in points:
        colour, marker = styles[row.contender]
        place = shapes.index(row.case.shape)
        if row.timing:
            t = row.timing
            ends = [value * t.median_ms / t.p80_ms, value * t.median_ms / t.p20_ms]
            axes.plot(ends, [place, place], color=colour, linewidth=1.4, solid_capstyle="butt")
        axes.plot([value], [place], color=colour, marker=marker, markersize=4.5, linestyle="",
                  zorder=3 + row.own)  # fmt: skip
    tidy(axes).grid(visible=False)
    axes.set_ylim(len(shapes) - 0.4, -0.8)
    axes.set_yticks(range(len(shapes)))
    if timed:
        axes.set_xlim(0, max(105.0, 1.05 * limit))
        axes.axvline(100, color=TEXT, linewidth=0.8, linestyle=":")
        axes.set_xlabel("percent of the ceiling")
    else:
        axes.set_xscale("log", base=2)
        axes.minorticks_off()
        axes.set_xlim(0.7, max(4.0, 1.5 * limit))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_xlabel("bytes moved ÷ minimum (log)")
    axes.tick_params(which="both", colors=TEXT, labelsize=7.5, length=2)
    axes.grid(axis="x", color=TEXT, alpha=0.25, linewidth=0.5)
