"""What layout pictures show, in words: lines below the title and descriptions for readers."""

from __future__ import annotations

from typing import Any

import numpy as np

from forgekit.text import plural
from forgekit.viz.layouts.reading import Array, ThreadValues

_MOST_SPELT = 64  # cells that a description lists one by one


def offsets_told(layout: Any, offsets: Array) -> list[str]:
    """`size 64, cosize 64: each offset from 0 to 63 once`"""
    size, cosize = layout.size(), layout.cosize()
    head = f"size {size:,}, cosize {cosize:,}"
    if offsets.ndim == 2:
        return [f"{head}: offsets are coordinates"]
    return [f"{head}: {offsets_in_words(offsets)}"]


def offsets_in_words(offsets: Array) -> str:
    """`each offset from 0 to 63 once`: which offsets there are, how many are shared or unused."""
    found, size = np.unique(offsets), offsets.size
    low, high = int(found[0]), int(found[-1])
    if len(found) < size:
        shared = f"{plural(size, 'coordinate')} share {plural(len(found), 'offset')}"
        return f"{shared}, {low:,} to {high:,}"
    if high - low + 1 == size:
        return f"each offset from {low:,} to {high:,} once"
    return f"offsets {low:,} to {high:,}, {high - low + 1 - size:,} of them unused"


def table_in_words(layout: Any, offsets: Array) -> str:
    """Each coordinate and its offset, if they are few."""
    if len(offsets) > _MOST_SPELT:
        return ""
    from forgekit.viz.layouts.plain import nested_text

    def shown(offset: Any) -> str:
        return "(" + ",".join(map(str, offset.tolist())) + ")" if offset.ndim else str(int(offset))

    pairs = [f"{nested_text(layout.coordinate(i))} to {shown(o)}" for i, o in enumerate(offsets)]
    return "Coordinate to offset: " + ", ".join(pairs) + "."


def thread_values_told(tv: ThreadValues) -> list[str]:
    """Threads, values, tile, and what is shared, left out or repeated."""
    rows, columns = tv.tile
    lines = [f"{plural(tv.threads, 'thread')} × {plural(tv.values, 'value')} "
             f"over a tile of {rows} × {columns}"]  # fmt: skip
    if tv.repeats != (1, 1):
        across = " × ".join(str(n) for n in tv.repeats)
        lines.append(f"the pattern covers {tv.pattern[0]} × {tv.pattern[1]}; the tile repeats it "
                     f"{across} times")  # fmt: skip
    if tv.meant is not None:
        lines.append(f"made for a tile of {tv.meant[0]} × {tv.meant[1]}; drawn in its order "
                     "over another form")  # fmt: skip
    if tv.most_holders > 1:
        shared = sum(len(pairs) > 1 for pairs in tv.holders.values())
        lines.append(f"{plural(shared, 'element')} held more than once, up to {tv.most_holders} "
                     "times")  # fmt: skip
    if tv.uncovered:
        lines.append(f"{plural(tv.uncovered, 'element')} held by no thread")
    return lines


def tv_in_words(tv: ThreadValues) -> str:
    """The elements of the first threads, as a description."""
    shown = min(tv.threads, max(_MOST_SPELT // max(tv.values, 1), 1))
    parts = []
    for thread in range(shown):
        places = ", ".join(f"({r},{c})" for r, c in tv.coords[thread, :16].tolist())
        more = ", …" if tv.values > 16 else ""
        parts.append(f"thread {thread} holds {places}{more}")
    more = "; and so on" if shown < tv.threads else ""
    return "(row, column) of the values in order: " + "; ".join(parts) + more + "."
