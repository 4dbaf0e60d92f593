"""Draw pictures of a recorded run, one per operator and type, in the page's colours."""

from __future__ import annotations

import html
import re
from dataclasses import replace

from matplotlib.figure import Figure

from forgebook.groups import Group
from forgekit.benching.suites.results import SuiteRow
from forgekit.benching.suites.suite import DTYPES
from forgekit.viz.timing.style import TEXT, figure_svg
from forgekit.viz.timing.suite import draw

__all__ = ["pictures"]

_ORDER = ("forgekit", "torch", "torch.compile", "quack")


def pictures(group: Group) -> str:
    """Return HTML with one picture per type, side by side if there is room."""
    ordered = sorted(group.results.rows, key=_place)
    drawn: list[str] = []
    for dtype in DTYPES:
        rows = [row for row in ordered if row.case.dtype == dtype and row.timing]
        figure = draw(replace(group.results, rows=rows))
        if figure is not None:
            figure.texts[0].set_text(dtype)  # the page already names the operator
            for axes in figure.axes:
                axes.set_title("", loc="left")
            if drawn:  # keep only the first legend
                figure.legends[0].remove()
            points = [
                line for axes in figure.axes for line in axes.lines if line.get_marker() != "None"
            ]
            for k, point in enumerate(points):
                point.set_gid(f"point-{k}")
            svg = _svg(figure, f"{group.op}-{group.dim}-{dtype}", _alt(group, dtype))
            drawn.append(_hovered(svg, [_words(group, row) for row in rows]))
    return f'<div class="charts">{"".join(drawn)}</div>' if drawn else ""


def _words(group: Group, row: SuiteRow) -> str:
    """Return the text that the page shows when the pointer is over a point."""
    m, n = row.case.shape
    percent = group.results.percent(row) or 0.0
    time_us = row.timing.median_ms * 1e3 if row.timing else 0.0
    return f"{row.contender}, {m:,} × {n:,}: {percent:.0f} % of the ceiling, {time_us:,.1f} µs"


def _hovered(svg: str, words: list[str]) -> str:
    """Add to each point of the picture the text that the browser shows under the pointer."""
    return re.sub(
        r'<g id="[\w.-]*-point-(\d+)">',
        lambda found: f"{found[0]}<title>{html.escape(words[int(found[1])])}</title>",
        svg,
    )


def _place(row: SuiteRow) -> int:
    """Return a row's sort key: its contender's position in the legend."""
    return _ORDER.index(row.contender) if row.contender in _ORDER else len(_ORDER)


def _alt(group: Group, dtype: str) -> str:
    """Describe the picture: the number of sizes, the contenders, and forgekit's range."""
    cases = [found for case, found in group.cases().items() if case.dtype == dtype]
    own = [p for found in cases for row in found.values() if row.own
           if (p := group.results.percent(row)) is not None]  # fmt: skip
    if not own:
        return f"{group.title}, {dtype}"
    return (
        f"{group.title}, {dtype}: percent of the ceiling at {len(cases)} sizes, for "
        f"{', '.join(group.contenders())}. forgekit: {min(own):.0f} to {max(own):.0f} percent. "
        "The table below lists all numbers."
    )


def _svg(figure: Figure, key: str, alt: str) -> str:
    """Return a figure as SVG whose text has the page's colours."""
    svg = re.sub(TEXT, "var(--forge-faint)", figure_svg(figure, key), flags=re.IGNORECASE)
    head, _, rest = svg.partition(">")
    return f'{head} role="img" aria-label="{html.escape(alt)}">{rest}'
