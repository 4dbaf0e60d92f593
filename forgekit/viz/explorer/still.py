"""The explorer's picture for readers without scripts, on the page that layout pictures have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from forgekit.viz import palette
from forgekit.viz.compose import compose
from forgekit.viz.grid import Content, Grid, plain_axis
from forgekit.viz.layouts.swizzle import bank_of
from forgekit.viz.raster import png_bytes
from forgekit.viz.scene import Scene

_MOST_WRITTEN = 128  # cells with a number in each: more would make most of the page's bytes
_OVERVIEW_PX = 320
_STILL = "a still picture: this page runs no scripts; in JupyterLab, trust the notebook to explore"
_NOTES = {
    "bank": "number and colour: the bank of shared memory",
    "thread": "T: the thread that holds an element, V: as which of its values",
    "tile": "number: the offset; colour and frame: the tile",
    "offset": "number and colour: the offset",
}


def still_png(data: dict[str, Any]) -> bytes:
    """Threads where there are any, else tiles; banks of a tile in shared memory; else offsets."""
    return png_bytes(_scene(data), 1.0 if len(data["offsets"]) > 64 else 1.5, 64)


def _scene(data: dict[str, Any]) -> Scene:
    shows = [step["show"] for step in data["steps"]]
    show = next(x for x in ("thread", "tile", "bank", "offset") if x in shows)
    grid = _grid(data, show)
    if len(data["offsets"]) <= _MOST_WRITTEN:
        blocks = [grid.block()]
    else:
        side = max(_OVERVIEW_PX // max(grid.rows, grid.columns), 3)
        blocks = [grid.overview((side, side)), replace(grid.corner(), cell=(34.0, 30.0)).block()]
    lines = [f"{step['name']}: {step['result']}" for step in data["steps"][1:]]
    return compose(data["title"], lines, [blocks], words="", notes=[_NOTES[show], _STILL])


def _grid(data: dict[str, Any], show: str) -> Grid:
    """The elements, with lines between tiles."""
    rows, columns, offsets, tile = data["rows"], data["columns"], data["offsets"], data["tile"]
    low, span = data["low"], data["high"] - data["low"] + 1
    places: dict[int, tuple[int, int]] = {}  # element -> its tile, its place in it
    if tile is not None:
        places = {cell: divmod(k, tile["size"]) for k, cell in enumerate(tile["cells"])}
    holders: dict[int, tuple[int, int]] = {}  # place in a tile -> its first thread and value
    for thread, elements in enumerate(data["tv"]["elements"] if data["tv"] else ()):
        for value, place in enumerate(elements):
            holders.setdefault(place, (thread, value))

    def element(row: int, column: int) -> int:
        return row + column * rows if data["modes"] == 2 else row * columns + column

    def group(row: int, column: int) -> tuple[int, int]:
        number, _ = places.get(element(row, column), (0, 0))
        return number, number

    def content(row: int, column: int) -> Content:
        number = element(row, column)
        if number >= len(offsets):
            return Content(palette.PAPER, hatched=True)
        (of_tile, place), offset = places.get(number, (0, 0)), offsets[number]
        if show == "thread":
            if place not in holders:
                return Content(palette.NOTHING, hatched=True)
            thread, value = holders[place]
            return Content(palette.thread_colour(thread), (f"T{thread}", f"V{value}"))
        if show == "bank":
            bank = bank_of(offset, data["bits"])
            return Content(palette.bank_colour(bank), (str(bank),))
        if show == "tile":
            return Content(palette.block_colour(of_tile), (str(offset),))
        return Content(palette.offset_colour(offset - low, span), (str(offset),))

    return Grid("layout", rows, columns, content, plain_axis(rows), plain_axis(columns), group,
                cell=(38.0, 34.0))  # fmt: skip
