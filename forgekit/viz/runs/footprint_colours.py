"""Choose the colours of a footprint picture, and write the legend for its colours and numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from forgekit.text import times
from forgekit.tracing.footprint import Footprint
from forgekit.tracing.observe import LANES, Array
from forgekit.viz.palette import UNTOUCHED, WRONG, block_colour, mix, offset_colour, thread_colour
from forgekit.viz.scene import Swatch

_FEW = 8  # maximum number of hues for blocks, warps or counts
_SHADES = 96  # number of colours in a scale


def often(found: dict[str, Array]) -> Array:
    """Return, for each element, the larger of the number of reads and the number of writes, so that
    an in-place update counts once.
    """
    return np.maximum(found["loads"], found["stores"] + found["atomics"])


def keys(fp: Footprint, name: str) -> Array:
    found = fp.touched[name]
    return np.where(found["count"] > 0, often(found), -1) if fp.by == "count" else found[fp.by]


class Colours:
    """The colours of blocks, warps, threads or counts: a hue for each block, warp or count if there
    are few counts, otherwise a scale.

    all: the colours, then each colour mixed with grey, for partly untouched cells, then the colour
    of untouched elements, and then None, for cells after the tensor's end. key: the legend for the
    colours.
    """

    def __init__(self, fp: Footprint) -> None:
        found = [keys(fp, name) for name in fp.touched]
        last = max((int(k.max()) for k in found if k.size), default=0)
        first = 1 if fp.by == "count" else 0
        counts = sorted({n for k in found for n in np.unique(k).tolist()} - {-1}) if first else []
        self.is_scale = False
        self.place: Callable[[Array], Array]
        if fp.by in ("block", "warp"):
            many = math.prod(fp.grid) if fp.by == "block" else -(-math.prod(fp.block) // LANES)
            own = [block_colour(k) for k in range(_FEW)]
            self.place = lambda key: key % _FEW
            self.key = [Swatch((own[k],), f"{fp.by} {k}") for k in range(min(many, _FEW))]
            if many > _FEW:
                repeat = f"{meaning(fp)}: colours repeat after {_FEW}"
                self.key = [Swatch(tuple(own), repeat)]
        elif 0 < len(counts) <= _FEW:
            own = [offset_colour(k, max(len(counts), 2)) for k in range(len(counts))]
            self.place = lambda key: np.searchsorted(counts, key)
            self.key = [Swatch((c,), times(n)) for c, n in zip(own, counts, strict=True)]
        else:
            shade = offset_colour if first else thread_colour
            own = [shade(k, _SHADES) for k in range(_SHADES)]
            span = max(last - first, 1)
            self.place = lambda key: np.maximum(key - first, 0) * (_SHADES - 1) // span
            ramp = tuple(own[k * (_SHADES - 1) // 11] for k in range(12))
            self.key = [Swatch(ramp, f"{meaning(fp)}: {first} to {max(last, 1):,}")]
            self.is_scale = True
        self.own = len(own)
        self.all: list[str | None] = [*own, *(mix(c, UNTOUCHED, 0.5) for c in own), UNTOUCHED, None]

    def numbers(self, keys: Array, share: Array | float = 1.0) -> Array:
        """Return indices into `all` for keys (-1: untouched, -2: after the tensor's end). share:
        the touched fraction of each cell.
        """
        place = self.place(np.maximum(keys, 0))
        place = np.where(np.less(share, 1), place + self.own, place)
        return np.where(keys >= 0, place, len(self.all) - np.where(keys == -1, 2, 1))

    def legend(self, fp: Footprint, labelled: list[dict[str, Array]]) -> tuple[list[Swatch], str]:
        """Return swatches and text that explain the colours and numbers.

        labelled: the values of `fp.touched` for tensors whose cells are labelled.
        """
        found, swatches, note = [*fp.touched.values()], [], ""
        if any(f["count"].any() for f in found) and (
            not self.is_scale or len(labelled) < len(found)):  # fmt: skip
            swatches = [*self.key]
        if not all(f["count"].all() for f in found):
            swatches.append(Swatch((UNTOUCHED,), "untouched"))
        if any((f["stores"] > 1).any() for f in labelled):
            swatches.append(Swatch((None,), "written more than once", WRONG))
        if any(f["count"].any() for f in labelled):
            who = f"thread {_numbered(fp.block)}".rstrip()
            if fp.many_blocks:
                who = f"block {_numbered(fp.grid)}".rstrip() + f", {who}"
            note = f"in each cell: {who}"
            if any((often(f) > 1).any() for f in labelled):
                note += " (the first of several); ×n: n times"
        return swatches, note


def meaning(fp: Footprint) -> str:
    if fp.by == "count":
        return "times read or written"
    if fp.by == "warp":
        return "warp of its block"
    return f"{fp.by} {_numbered(fp.grid if fp.by == 'block' else fp.block)}".rstrip()


def _numbered(size: tuple[int, int, int]) -> str:
    """Return the formula for a linear index, such as `(x + 32 y)`, if there is more than one
    dimension.
    """
    terms = [f"{step} {axis}" if step > 1 else axis
             for axis, n, step in zip("xyz", size, (1, size[0], size[0] * size[1]), strict=True)
             if n > 1]  # fmt: skip
    return f"({' + '.join(terms)})" if len(terms) > 1 else ""
