"""Draw a Coalescing: a row is a 128-byte line of memory, a cell is what a lane asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from forgekit.text import spans
from forgekit.tracing.coalescing import LINE_BYTES, Coalescing
from forgekit.vgpu.counters.rules import SECTOR_BYTES
from forgekit.viz.palette import WRONG, thread_colour
from forgekit.viz.runs.warp_figure import LEFT, WIDTH, Panel, fitting_size, scene
from forgekit.viz.scene import Rect, Scene, Swatch

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
    panels = [
        _Panel(access, cost, f"{access.details}; {details}", _memory_lines(access),
               several=len(shown.accesses) > 1)
        for access, (cost, details) in zip(shown.accesses, shown.costs, strict=True)
    ]  # fmt: skip
    return scene(shown, panels, _RIGHT, swatches=_LEGEND)


@dataclass(frozen=True)
class _MemoryLine:
    """A line of memory: how far it is from the line above, and what is asked there.

    after_bytes: 0 right after the line above, and for the first. cells: (offset in bytes, lanes).
    """

    after_bytes: int
    cells: list[tuple[int, Array]]


def _memory_lines(access: WarpAccess) -> list[_MemoryLine]:
    """The lines that an access touches, in order of address."""
    found: dict[int, list[tuple[int, Array]]] = {}
    for address in np.unique(access.address[access.active]).tolist():
        lanes = np.flatnonzero(access.active & (access.address == address))
        found.setdefault(address // LINE_BYTES, []).append((address % LINE_BYTES, lanes))
    lines = []
    for line, before, cells in zip(found, [None, *found], found.values(), strict=False):
        far = 0 if before is None or line == before + 1 else (line - before) * LINE_BYTES
        lines.append(_MemoryLine(far, cells))
    return lines


class _Panel(Panel[_MemoryLine]):
    row_height = 17.0
    rows_called = "lines"

    def gap(self, row: _MemoryLine) -> float:
        return _BREAK if row.after_bytes else 0.0

    def draw_header(self, y: float) -> None:
        for first in range(0, LINE_BYTES, SECTOR_BYTES):
            middle = _x(first) + SECTOR_BYTES * _BYTE / 2
            self.label(middle, y + 8, f"bytes {first}–{first + SECTOR_BYTES - 1}", anchor="middle")
        if any(row.after_bytes for row in self.rows):
            self.label(WIDTH, y + 8, "bytes further", anchor="end")
        self.label(LEFT - 8, y + 8, "first asked", anchor="end")

    def draw_row(self, y: float, row: _MemoryLine, *, below_cut: bool) -> None:
        at, lanes = row.cells[0]
        label = self.access.element[int(lanes[0])] or f"offset {at:,}"
        while len(label) > 18 and "[" in label[1:]:
            label = label[label.index("[") :] if label[0] != "[" else "…" + label[-16:]
        self.row_label(y, label)
        for sector in range(LINE_BYTES // SECTOR_BYTES):
            used = sum(at // SECTOR_BYTES == sector for at, _ in row.cells) * self.access.width
            box = (_x(sector * SECTOR_BYTES) + 0.5, y + 1, SECTOR_BYTES * _BYTE - 1,
                   self.row_height - 2)  # fmt: skip
            self.items.append(
                Rect(*box, "waste", WRONG, sort="sector") if 0 < used < SECTOR_BYTES
                else Rect(*box, None, "rule", 0.6, sort="sector" if used else "not touched")
            )  # fmt: skip
        self._cells(y, row)
        if row.after_bytes and not below_cut:
            self.label(WIDTH, y + self.row_height / 2, f"+{row.after_bytes:,}", anchor="end")

    def _cells(self, y: float, row: _MemoryLine) -> None:
        width = self.access.width
        gap = min(1.2, 0.12 * width * _BYTE)
        runs: list[list[tuple[int, Array]]] = []
        for at, lanes in row.cells:
            self.items.append(Rect(_x(at), y + 0.5, width * _BYTE - gap, self.row_height - 1,
                                   thread_colour(int(lanes[0])), sort="used"))  # fmt: skip
            last = runs[-1][-1] if runs else None
            if last is not None and at % SECTOR_BYTES and (
                (at, lanes[0]) == (last[0] + width, last[1][-1] + 1)):  # fmt: skip
                runs[-1].append((at, lanes))
            else:
                runs.append([(at, lanes)])
        for run in runs:
            each = [[cell] for cell in run]
            fits = all(fitting_size(_names(cell), width * _BYTE)[0] for cell in each)
            for cells in each if fits else [run]:
                self.named(_x(cells[0][0]), y, width * len(cells) * _BYTE, _names(cells))


def _names(cells: list[tuple[int, Array]]) -> tuple[str, ...]:
    """The lanes of neighbouring cells; how many they are, where they share."""
    lanes = np.concatenate([lanes for _, lanes in cells])
    names = spans(sorted(lanes.tolist()))
    return (names, f"×{len(lanes)}") if len(lanes) > len(cells) else (names,)


def _x(byte: int) -> float:
    """Where a byte of a line is drawn: sectors stand a little apart."""
    return LEFT + byte * _BYTE + byte // SECTOR_BYTES * _BYTE
