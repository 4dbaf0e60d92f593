"""Draw a Coalescing: a row is a 128-byte line of memory, a cell is what a lane asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forgekit.text import spans
from forgekit.tracing.coalescing import LINE_BYTES, Coalescing
from forgekit.vgpu.counters.rules import SECTOR_BYTES
from forgekit.viz.palette import WRONG, thread_colour
from forgekit.viz.runs.warp_figure import (
    HIGH,
    LEFT,
    SMALL,
    WIDTH,
    Row,
    fitting_size,
    lane_label,
    panel,
    scene,
    side_label,
)
from forgekit.viz.scene import Item, Label, Rect, Scene, Swatch

if TYPE_CHECKING:
    from forgekit.tracing.warp_access import WarpAccess

Array = np.ndarray[Any, np.dtype[Any]]

_RIGHT = 66.0  # px, how far on the line is
_BYTE = (WIDTH - LEFT - _RIGHT) / (LINE_BYTES + 3)
_BREAK = 6.0  # px, between lines that are not neighbours
_LEGEND = (
    Swatch(tuple(thread_colour(lane) for lane in range(0, 32, 4)), "asked for, by that lane"),
    Swatch(("waste",), "rest of a 32-byte sector, moved and not asked for", WRONG),
    Swatch((None,), "sector not touched"),
)


def draw(shown: Coalescing) -> Scene:
    """The picture of a Coalescing."""
    several = len(shown.accesses) > 1
    panels = []
    for access, (cost, more) in zip(shown.accesses, shown.costs, strict=True):
        rows = _rows(access)
        head: list[Item] = [side_label("first asked", 8)]
        for first in range(0, LINE_BYTES, SECTOR_BYTES):
            text, middle = f"bytes {first}–{first + SECTOR_BYTES - 1}", first + SECTOR_BYTES / 2
            head.append(Label(_x(first) + (middle - first) * _BYTE, 8, text, SMALL,
                              anchor="middle"))  # fmt: skip
        if any(row.after for row in rows):
            head.append(Label(WIDTH, 8, "bytes further", SMALL, anchor="end"))
        panels.append(panel(access, f"{access.place}: {cost}", f"{access.details}; {more}", head,
                            rows, "lines", several=several))  # fmt: skip
    return scene(shown, panels, _RIGHT, swatches=_LEGEND)


def _rows(access: WarpAccess) -> list[Row]:
    """The lines of memory that an access touches, in order of address."""
    found: dict[int, list[tuple[int, Array]]] = {}  # line -> (offset in bytes, lanes)
    for address in np.unique(access.address[access.active]).tolist():
        lanes = np.flatnonzero(access.active & (access.address == address))
        found.setdefault(address // LINE_BYTES, []).append((address % LINE_BYTES, lanes))
    rows = []
    for line, before, cells in zip(found, [None, *found], found.values(), strict=False):
        far = 0 if before is None or line == before + 1 else (line - before) * LINE_BYTES
        at, lanes = cells[0]
        label = access.element[int(lanes[0])] or f"offset {at:,}"
        while len(label) > 18 and "[" in label[1:]:
            label = label[label.index("[") :] if label[0] != "[" else "…" + label[-16:]
        items = [*_sectors(cells, access.width), *_cells(cells, access.width)]
        rows.append(Row(label, items, _BREAK if far else 0.0, f"+{far:,}" if far else ""))
    return rows


def _sectors(cells: list[tuple[int, Array]], width: int) -> list[Item]:
    """Orange where more is moved than asked."""
    items: list[Item] = []
    for sector in range(LINE_BYTES // SECTOR_BYTES):
        used = sum(at // SECTOR_BYTES == sector for at, _ in cells) * width
        box = _x(sector * SECTOR_BYTES) + 0.5, 1, SECTOR_BYTES * _BYTE - 1, HIGH - 2
        if 0 < used < SECTOR_BYTES:
            items.append(Rect(*box, "waste", WRONG, sort="sector"))
        else:
            sort = "sector" if used else "not touched"
            items.append(Rect(*box, None, "rule", 0.6, sort=sort))
    return items


def _cells(cells: list[tuple[int, Array]], width: int) -> list[Item]:
    """What the lanes ask for; neighbours share a name where a cell has no room for its own."""
    gap = min(1.2, 0.12 * width * _BYTE)
    items: list[Item] = []
    runs: list[list[tuple[int, Array]]] = []
    for at, lanes in cells:
        items.append(Rect(_x(at), 0.5, width * _BYTE - gap, HIGH - 1, thread_colour(int(lanes[0])),
                          sort="used"))  # fmt: skip
        last = runs[-1][-1] if runs else None
        if last is not None and at % SECTOR_BYTES and (
            (at, lanes[0]) == (last[0] + width, last[1][-1] + 1)):  # fmt: skip
            runs[-1].append((at, lanes))
        else:
            runs.append([(at, lanes)])
    for run in runs:
        each = [[cell] for cell in run]
        fits = all(fitting_size(_names(cell), width * _BYTE)[0] for cell in each)
        items += [lane_label(_x(part[0][0]), width * len(part) * _BYTE, _names(part))
                  for part in (each if fits else [run])]  # fmt: skip
    return items


def _names(cells: list[tuple[int, Array]]) -> tuple[str, ...]:
    """The lanes of neighbouring cells; how many they are, where they share."""
    lanes = np.concatenate([lanes for _, lanes in cells])
    names = spans(sorted(lanes.tolist()))
    return (names, f"×{len(lanes)}") if len(lanes) > len(cells) else (names,)


def _x(byte: int) -> float:
    """Where a byte of a line is drawn: sectors stand a little apart."""
    return LEFT + byte * _BYTE + byte // SECTOR_BYTES * _BYTE
