"""Colours of a footprint's picture, and the legend that says what they and the numbers mean."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from forgekit.text import times
from forgekit.vgpu.counters.rules import LANES
from forgekit.viz.theme import RED, TEXT, UNTOUCHED, Canvas, Entry, ticks, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from forgekit.tracing.footprint import Footprint

Array = np.ndarray[Any, np.dtype[Any]]

# Okabe-Ito's colours, the bright ones first, and Tol's wine as an eighth.
_BLOCK_COLOURS = ("#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#0072B2", "#D55E00",
                  "#882255")  # fmt: skip
CLASH: dict[str, Any] = {"fill": False, "edgecolor": RED, "linewidth": 2.5}

_PIECE = 1 << 18  # keys looked at together
_LEFT = 0.7  # inches, as the panels


def often(found: dict[str, Array]) -> Array:
    """How often each element was read or written, whichever is more: in place is once each."""
    return np.maximum(found["loads"], found["stores"] + found["atomics"])


def keys(fp: Footprint, name: str) -> Array:
    """What the colours of a tensor's elements tell apart; -1: untouched."""
    found = fp.touched[name]
    return np.where(found["count"] > 0, often(found), -1) if fp.by == "count" else found[fp.by]


def _present(keys: list[Array], last: int) -> list[int]:
    """Which of 0 to `last` are among the keys; in pieces, for there may be millions."""
    seen = np.zeros(max(last, 0) + 1, bool)
    for flat in (k.reshape(-1) for k in keys):
        for start in range(0, flat.size, _PIECE):
            piece = flat[start : start + _PIECE]
            seen[piece[piece >= 0]] = True
    return np.flatnonzero(seen).tolist()


class Colours:
    """A colour for each block, warp, thread or count: of a palette if they are few, or a scale."""

    def __init__(self, fp: Footprint) -> None:
        import matplotlib
        from matplotlib.colors import ListedColormap, Normalize

        scale = matplotlib.colormaps["viridis"](np.linspace(0.25, 1.0, 128))
        found = [keys(fp, n) for n in fp.touched]
        last = max((int(k.max()) for k in found if k.size), default=0)
        self.labels: dict[int, str] = {}  # what each colour of a palette means
        palette: Any = _BLOCK_COLOURS
        present = _present(found, last) if fp.by == "count" else []
        if fp.by == "count" and len(present) <= len(_BLOCK_COLOURS):
            self.labels = {int(n): times(int(n)) for n in present}
            palette = scale[np.linspace(0, 127, len(present)).astype(int)]
        elif fp.by in ("block", "warp"):
            many = math.prod(fp.grid) if fp.by == "block" else -(-math.prod(fp.block) // LANES)
            if many <= len(_BLOCK_COLOURS):
                self.labels = {i: f"{fp.by} {i}" for i in range(many)}
        self.few = bool(self.labels)
        self.cmap = ListedColormap(palette if self.few else scale)
        self.norm = Normalize(1 if fp.by == "count" else 0, max(last, 1))

    def rgba(self, keys: Array) -> Array:
        if self.few:
            return np.array(self.cmap(np.searchsorted(list(self.labels), np.maximum(keys, 0))))
        return np.array(self.cmap(self.norm(np.maximum(keys, self.norm.vmin or 0))))


def draw_legend(
    canvas: Canvas, y: float, fp: Footprint, colours: Colours, labelled: list[dict[str, Array]]
) -> float:
    """What numbers, colours, hatching and frames mean, from y on; returns where it ends.

    labelled: of `fp.touched` those whose cells are drawn one by one.
    """
    found = list(fp.touched.values())
    anything = any(f["count"].any() for f in found)
    if any(f["count"].any() for f in labelled):
        who = f"thread {_numbered(fp.block)}".rstrip()
        if fp.many_blocks:
            who = f"block {_numbered(fp.grid)}".rstrip() + f", {who}"
        line = f"in each cell: {who}"
        if any((often(f) > 1).any() for f in labelled):
            line += " (of several the first); ×n: n times"
        y = canvas.lines(_LEFT, y, wrap(line, canvas.width - _LEFT - 0.2)) + 0.06
    if anything and not colours.few and len(labelled) < len(found):
        _colour_bar(canvas.panel(_LEFT, y + 0.07, min(4.0, canvas.width - 2), 0.13), fp, colours)
        y += 0.72
    entries: list[Entry] = []
    if anything and colours.few:
        entries = [(label, {"facecolor": colours.rgba(np.array(key))})
                   for key, label in colours.labels.items()]  # fmt: skip
    if not all(f["count"].all() for f in found):
        entries.append(("untouched", UNTOUCHED))
    if any((f["stores"] > 1).any() for f in labelled):
        entries.append(("written more than once", CLASH))
    return canvas.legend(_LEFT, y, entries)


def _colour_bar(axes: Axes, fp: Footprint, colours: Colours) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colorbar import Colorbar

    bar = Colorbar(axes, ScalarMappable(colours.norm, colours.cmap), orientation="horizontal")
    first, last = int(colours.norm.vmin or 0), int(colours.norm.vmax or 1)
    bar.set_ticks([m for m in sorted({first, *ticks(last + 1)}) if m >= first])
    bar.set_label(_meaning(fp), color=TEXT, fontsize=9)
    axes.tick_params(colors=TEXT, labelsize=8)
    bar.outline.set_visible(False)


def _meaning(fp: Footprint) -> str:
    """What the numbers of a colour bar count."""
    if fp.by == "count":
        return "times read or written"
    if fp.by == "warp":
        return "warp of its block"
    return f"{fp.by} {_numbered(fp.grid if fp.by == 'block' else fp.block)}".rstrip()


def _numbered(size: tuple[int, int, int]) -> str:
    """How linear numbers come about where there is more than one direction: `(x + 32 y)`."""
    terms = [f"{step} {axis}" if step > 1 else axis
             for axis, n, step in zip("xyz", size, (1, size[0], size[0] * size[1]), strict=True)
             if n > 1]  # fmt: skip
    return f"({' + '.join(terms)})" if len(terms) > 1 else ""
