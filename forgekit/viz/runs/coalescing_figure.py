"""Draw a Coalescing: a row is a 128-byte line of memory, a cell is what a lane asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from forgekit.text import spans
from forgekit.tracing.coalescing import LINE_BYTES, Coalescing
from forgekit.vgpu.counters.rules import SECTOR_BYTES
from forgekit.viz.runs.warp_figure import LEFT, SMALL, Panel, draw_panels, lane_colours
from forgekit.viz.theme import NOT_TOUCHED, UNTOUCHED, WIDTH, Canvas, Entry, fitting_size, ink

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forgekit.tracing.warp_access import WarpAccess

Array = np.ndarray[Any, np.dtype[Any]]

# Inches.
_RIGHT = 0.72  # how far on the line is
_BYTE = (WIDTH - LEFT - _RIGHT) / (LINE_BYTES + 3)
_BREAK = 0.06  # between lines that are not neighbours


def draw(shown: Coalescing) -> Figure:
    """The figure of a Coalescing."""
    panels = [
        _Panel(access, cost, f"{access.details}; {details}", _memory_lines(access),
               several=len(shown.accesses) > 1)
        for access, (cost, details) in zip(shown.accesses, shown.costs, strict=True)
    ]  # fmt: skip
    return draw_panels(shown, panels, _RIGHT, lambda c, y: c.legend(LEFT, y, _legend()))


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
    row_height = 0.17
    rows_called = "lines"

    def gap(self, row: _MemoryLine) -> float:
        return _BREAK if row.after_bytes else 0.0

    def draw_header(self, canvas: Canvas, y: float) -> None:
        for first in range(0, LINE_BYTES, SECTOR_BYTES):
            middle = _x(first) + SECTOR_BYTES * _BYTE / 2
            canvas.text(middle, y + 0.03, f"bytes {first}–{first + SECTOR_BYTES - 1}", size=SMALL,
                        ha="center")  # fmt: skip
        if any(row.after_bytes for row in self.rows):
            canvas.text(WIDTH - 0.06, y + 0.03, "bytes further", size=SMALL, ha="right")
        canvas.text(LEFT - 0.08, y + 0.03, "first asked", size=SMALL, ha="right")

    def draw_row(self, canvas: Canvas, y: float, row: _MemoryLine, *, below_cut: bool) -> None:
        at, lanes = row.cells[0]
        label = self.access.element[int(lanes[0])] or f"offset {at:,}"
        while len(label) > 19 and "[" in label[1:]:
            label = label[label.index("[") :] if label[0] != "[" else "…" + label[-17:]
        self.row_label(canvas, y, label)
        touched = {at // SECTOR_BYTES for at, _ in row.cells}
        for sector in range(LINE_BYTES // SECTOR_BYTES):
            style = UNTOUCHED if sector in touched else NOT_TOUCHED
            canvas.box(_x(sector * SECTOR_BYTES), y + 0.01, SECTOR_BYTES * _BYTE,
                       self.row_height - 0.02,
                       gid="sector" if sector in touched else "not touched", **style)  # fmt: skip
        self._cells(canvas, y, row)
        if row.after_bytes and not below_cut:
            canvas.text(WIDTH - 0.06, y + self.row_height / 2, f"+{row.after_bytes:,}", size=SMALL,
                        ha="right", va="center_baseline")  # fmt: skip

    def _cells(self, canvas: Canvas, y: float, row: _MemoryLine) -> None:
        colours, width = lane_colours(), self.access.width
        gap = min(0.012, 0.12 * width * _BYTE)
        runs: list[list[tuple[int, Array]]] = []
        for at, lanes in row.cells:
            colour = colours[lanes[0]]
            canvas.box(_x(at), y + 0.01, width * _BYTE - gap, self.row_height - 0.02, gid="used",
                       facecolor=colour)  # fmt: skip
            last = runs[-1][-1] if runs else None
            if last is not None and at % SECTOR_BYTES and (
                (at, lanes[0]) == (last[0] + width, last[1][-1] + 1)):  # fmt: skip
                runs[-1].append((at, lanes))
            else:
                runs.append([(at, lanes)])
        for run in runs:
            each = [[cell] for cell in run]
            for cells in each if all(self._label(cell)[0] for cell in each) else [run]:
                text, size = self._label(cells)
                middle = _x(cells[0][0]) + width * len(cells) * _BYTE / 2
                colour = ink(colours[cells[len(cells) // 2][1][0]])
                canvas.centred(middle, y + self.row_height / 2, text, size, color=colour,
                               gid="lane")  # fmt: skip

    def _label(self, cells: list[tuple[int, Array]]) -> tuple[str, float]:
        """The lanes of neighbouring cells, empty where there is no room for them; their size."""
        lanes = np.concatenate([lanes for _, lanes in cells])
        names = spans(sorted(lanes.tolist()))
        choices = (names, f"×{len(lanes)}") if len(lanes) > len(cells) else (names,)
        return fitting_size(choices, self.access.width * len(cells) * _BYTE)


def _x(byte: int) -> float:
    """Where a byte of a line is drawn: sectors stand a little apart."""
    return LEFT + byte * _BYTE + byte // SECTOR_BYTES * _BYTE


def _legend() -> list[Entry]:
    """Sectors of a line, fetched and not."""
    return [
        ("asked for by that lane", {"facecolor": lane_colours()[12]}),
        ("rest of a 32-byte sector that is moved for it", UNTOUCHED),
        ("sector not touched", NOT_TOUCHED),
    ]
