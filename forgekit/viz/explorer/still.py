"""The explorer's picture for readers without scripts, on the page that layout pictures have."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

from forgekit.viz.layouts.banks import bank_of
from forgekit.viz.layouts.compose import compose
from forgekit.viz.layouts.grid import Content, Grid, plain_axis
from forgekit.viz.layouts.palette import NOTHING, bank_colour, offset_colour, thread_colour
from forgekit.viz.layouts.raster import png_bytes
from forgekit.viz.layouts.scene import Scene

_MOST_WRITTEN = 128  # cells with a number in each: more would make most of the page's bytes
_OVERVIEW_PX = 320
_NOTES = {
    "bank": "number and colour: the bank of shared memory",
    "thread": "T: the thread that holds an element, V: as which of its values",
    "tile": "number: the offset; colour and frame: the tile",
    "offset": "number and colour: the offset",
}


def still_png(data: dict[str, Any]) -> bytes:
    """Threads where there are any, else tiles; banks of a tile in shared memory; else offsets."""
    from PIL import Image

    full = png_bytes(_scene(data), 1.0 if len(data["offsets"]) > 64 else 1.5)
    out = io.BytesIO()
    image = Image.open(io.BytesIO(full)).convert("RGB")
    small = image.quantize(64, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    small.save(out, format="PNG", optimize=True)
    return out.getvalue()


def _scene(data: dict[str, Any]) -> Scene:
    shows = [step["show"] for step in data["steps"]]
    show = next(x for x in ("thread", "tile", "bank", "offset") if x in shows)
    rows, columns = data["rows"], data["columns"]
    grid = Grid("layout", rows, columns, _Content(data, show), plain_axis(rows),
                plain_axis(columns), _Tile(data), cell=(38.0, 34.0))  # fmt: skip
    if len(data["offsets"]) <= _MOST_WRITTEN:
        blocks = [grid.block()]
    else:
        side = max(_OVERVIEW_PX // max(rows, columns), 3)
        blocks = [grid.overview((side, side)), replace(grid.corner(), cell=(34.0, 30.0)).block()]
    told = [f"{step['name']}: {step['result']}" for step in data["steps"][1:]]
    lead = (
        "a still picture: this page runs no scripts; in JupyterLab, trust the notebook to explore"
    )
    return compose(data["title"], told, [blocks], words="", notes=[_NOTES[show], lead])


class _Tile:
    """Which tile an element belongs to, so that lines run between tiles."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.places: dict[int, tuple[int, int]] = {}  # element -> its tile, its place in it
        if data["tile"] is not None:
            size = data["tile"]["size"]
            self.places = {c: (k // size, k % size) for k, c in enumerate(data["tile"]["cells"])}

    def element(self, row: int, column: int) -> int:
        if self.data["modes"] == 2:
            return row + column * int(self.data["rows"])
        return row * int(self.data["columns"]) + column

    def __call__(self, row: int, column: int) -> tuple[Any, Any]:
        tile = self.places.get(self.element(row, column), (0, 0))[0]
        return tile, tile


class _Content:
    """What the cell of an element shows."""

    def __init__(self, data: dict[str, Any], show: str) -> None:
        self.data, self.show = data, show
        self.tile = _Tile(data)
        self.holders: dict[int, tuple[int, int]] = {}
        for thread, elements in enumerate(data["tv"]["elements"] if data["tv"] else ()):
            for value, element in enumerate(elements):
                self.holders.setdefault(element, (thread, value))

    def __call__(self, row: int, column: int) -> Content:
        element, data = self.tile.element(row, column), self.data
        if element >= len(data["offsets"]):
            return Content("#FFFFFF", hatched=True)
        offset = data["offsets"][element]
        tile, place = self.tile.places.get(element, (0, 0))
        if self.show == "thread":
            if place not in self.holders:
                return Content(NOTHING, hatched=True)
            thread, value = self.holders[place]
            return Content(thread_colour(thread), (f"T{thread}", f"V{value}"))
        if self.show == "bank":
            bank = bank_of(offset, data["bits"])
            return Content(bank_colour(bank), (str(bank),))
        if self.show == "tile":
            return Content(thread_colour(tile), (str(offset),))
        low, high = data["low"], data["high"]
        return Content(offset_colour(offset - low, high - low + 1), (str(offset),))
