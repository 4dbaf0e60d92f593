"""Colours of a footprint's picture, and the legend that says what they and the numbers mean."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from forgekit.text import times
from forgekit.vgpu.counters.rules import LANES
from forgekit.viz.theme import LINE, RED, TEXT, UNTOUCHED, axes_at, text_at, ticks, wrap

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forgekit.tracing.footprint import Footprint

Array = np.ndarray[Any, np.dtype[Any]]

# Okabe-Ito's colours, the bright ones first, and Tol's wine as an eighth.
_BLOCK_COLOURS = ("#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#0072B2", "#D55E00",
                  "#882255")  # fmt: skip
CLASH: dict[str, Any] = {"fill": False, "edgecolor": RED, "linewidth": 2.5}

_PIECE = 1 << 18  # keys looked at together
_BAR, _ROW = 0.72, 0.23  # inches, a colour bar with its label and a row of patches


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


class Legend:
    """What colours, numbers, hatching and frames mean; `height` in inches."""

    def __init__(
        self, fp: Footprint, colours: Colours, names_labelled: Iterable[str], width: float
    ) -> None:
        self.fp, self.colours = fp, colours
        found = list(fp.touched.values())
        labelled = [fp.touched[name] for name in names_labelled]
        anything = any(f["count"].any() for f in found)
        self.entries: list[tuple[str, dict[str, Any]]] = []
        if anything and colours.few:
            self.entries = [(label, {"facecolor": colours.rgba(np.array(key)), "linewidth": 0})
                            for key, label in colours.labels.items()]  # fmt: skip
        self.bar = anything and not colours.few and len(labelled) < len(found)
        if not all(f["count"].all() for f in found):
            self.entries.append(("untouched", UNTOUCHED))
        if any((f["stores"] > 1).any() for f in labelled):
            self.entries.append(("written more than once", CLASH))
        self.line = ""
        if any(f["count"].any() for f in labelled):
            repeated = any((often(f) > 1).any() for f in labelled)
            who = f"thread {_numbered(fp.block)}".rstrip()
            if fp.many_blocks:
                who = f"block {_numbered(fp.grid)}".rstrip() + f", {who}"
            self.line = f"in each cell: {who}"
            if repeated:
                self.line += " (of several the first); ×n: n times"
        longest = max((len(label) for label, _ in self.entries), default=1)
        columns = max(1, int((width - 0.2) / (0.36 + 0.07 * longest)))
        rows = -(-len(self.entries) // columns)
        self.columns = -(-len(self.entries) // max(rows, 1))
        self.lines = wrap(self.line, width - 0.4) if self.line else []
        parts = (0.04 + LINE * len(self.lines), _BAR * self.bar, _ROW * rows)
        self.height = sum(parts) + 0.12

    def draw(self, figure: Figure) -> None:
        from matplotlib.cm import ScalarMappable
        from matplotlib.patches import Patch

        width, height = figure.get_size_inches()
        y = self.height
        text_at(figure, width / 2, y, "\n".join(self.lines), ha="center")
        y -= 0.04 + LINE * len(self.lines)
        if self.bar:
            across = min(4.0, width - 2)
            axes = axes_at(figure, (width - across) / 2, y - 0.2, across, 0.13)
            bar = figure.colorbar(ScalarMappable(self.colours.norm, self.colours.cmap), cax=axes,
                                  orientation="horizontal")  # fmt: skip
            last = int(self.colours.norm.vmax or 1)
            marks = [1, *ticks(last + 1)] if self.fp.by == "count" else ticks(last + 1)
            bar.set_ticks([m for m in marks if m >= (self.colours.norm.vmin or 0)])
            bar.set_label(_meaning(self.fp), color=TEXT, fontsize=9)
            bar.ax.tick_params(colors=TEXT, labelsize=8)
            bar.outline.set_visible(False)
            y -= _BAR
        for start in range(0, len(self.entries), self.columns or 1):
            row = self.entries[start : start + self.columns]
            figure.legend(
                handles=[Patch(label=label, **style) for label, style in row], ncols=len(row),
                loc="upper center", bbox_to_anchor=(0.5, (y + 0.04) / height), frameon=False,
                fontsize=9, labelcolor=TEXT, handlelength=1.2, handleheight=1.0, borderpad=0.2,
                borderaxespad=0, columnspacing=1.4, handletextpad=0.5,
            )  # fmt: skip
            y -= _ROW


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
