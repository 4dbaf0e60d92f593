"""Draw a Coalescing: a row is a 128-byte line of memory, a cell is what a lane asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from forgekit.text import spans
from forgekit.tracing.coalescing import LINE_BYTES, Coalescing, SectorCount
from forgekit.vgpu.counters.rules import SECTOR_BYTES
from forgekit.viz.theme import (
    LETTERS,
    LINE,
    NOT_TOUCHED,
    UNTOUCHED,
    WIDTH,
    Canvas,
    draw_heading,
    draw_lanes,
    fitting_size,
    heading_height,
    ink,
    lane_colours,
    wrap,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forgekit.tracing.warp_access import WarpAccess

Array = np.ndarray[Any, np.dtype[Any]]

_MOST_ROWS, _MOST_OF_SEVERAL = 32, 9
_HEAD, _TAIL = 6, 2  # rows before and after those left out

# Inches.
_LEFT, _RIGHT = 1.2, 0.72  # the element a line begins with; how far on the line is
_BYTE = (WIDTH - _LEFT - _RIGHT) / (LINE_BYTES + 3)
_SECTOR_GAP = _BYTE
_ROW, _BREAK = 0.17, 0.06
_HEADER = 0.2
_SMALL = 7  # points


@dataclass(frozen=True)
class _Row:
    """A line of memory: its number, how far it is from the line above, and what is asked there."""

    line: int
    after_bytes: int  # 0: right after the line above, or the first
    cells: list[tuple[int, Array]]  # (offset in bytes, lanes)


def draw(shown: Coalescing) -> Figure:
    """The figure of a Coalescing."""
    panels = [_Panel(a, c, len(shown.accesses) > 1)
              for a, c in zip(shown.accesses, shown.counts, strict=True)]  # fmt: skip
    notes = [line for note in shown.notes for line in wrap(note, WIDTH - 0.6)]
    more = shown.more
    height = heading_height(shown.headline, notes) + sum(p.height for p in panels)
    height += (0.62 if panels else 0) + LINE * len(more) + 0.1
    canvas = Canvas(height)
    y = draw_heading(canvas, shown.headline, notes)
    for panel in panels:
        y = panel.draw(canvas, y)
    if panels:
        active = shown.accesses[0].active if len(panels) == 1 else None
        y = draw_lanes(canvas, y, _LEFT, _RIGHT, active)
        y = _legend(canvas, y)
    canvas.lines(WIDTH / 2, y, more, ha="center")
    return canvas.figure


class _Panel:
    """One access."""

    def __init__(self, access: WarpAccess, count: SectorCount, one_of_several: bool) -> None:
        self.access, self.count = access, count
        title = f"{access.place}: {count.told}" if one_of_several else ""
        self.title = wrap(title, WIDTH - _LEFT - 0.15, LETTERS * 0.83)
        details = f"{access.details}; {count.lines} {'line' if count.lines == 1 else 'lines'}"
        self.details = wrap(f"{details} of 128 bytes", WIDTH - 0.6)
        rows = _rows(access)
        self.left_out = 0
        if len(rows) > (_MOST_OF_SEVERAL if one_of_several else _MOST_ROWS):
            self.left_out = len(rows) - _HEAD - _TAIL
            rows = rows[:_HEAD] + rows[-_TAIL:]
        self.rows = rows
        breaks = sum(_BREAK for r in rows if r.after_bytes)
        heading = 0.2 * len(self.title) + 0.04 + 0.2 * bool(self._text)
        heading += LINE * len(self.details)
        body = _ROW * len(rows) + breaks + 0.2 * bool(self.left_out)
        self.height = heading + 0.08 + _HEADER + body + 0.16

    @property
    def _text(self) -> str:
        return self.access.source.text if self.access.source is not None else ""

    def draw(self, canvas: Canvas, y: float) -> float:
        end = y + self.height
        for text in self.title:
            canvas.text(_LEFT, y, text, size=10.5, weight="bold", gid="panel title")
            y += 0.2
        y += 0.04
        if self._text:
            text = self._text if len(self._text) < 78 else self._text[:77] + "…"
            canvas.text(_LEFT, y, text, family="monospace", size=8.5)
            y += 0.2
        y = canvas.lines(_LEFT, y, self.details) + 0.08
        self._header(canvas, y)
        y += _HEADER
        for number, row in enumerate(self.rows):
            if self.left_out and number == _HEAD:
                text = f"⋮  {self.left_out} more lines in between, not shown"
                canvas.text(_LEFT + 0.05, y + 0.03, text, size=8)
                y += 0.2
            elif row.after_bytes:
                y += _BREAK
            self._row(canvas, y, row, number > 0 and not (self.left_out and number == _HEAD))
            y += _ROW
        return end

    def _header(self, canvas: Canvas, y: float) -> None:
        for sector in range(LINE_BYTES // SECTOR_BYTES):
            x = _x(sector * SECTOR_BYTES)
            middle = x + SECTOR_BYTES * _BYTE / 2
            canvas.text(middle, y + 0.03, f"bytes {32 * sector}–{32 * sector + 31}",
                        size=_SMALL, ha="center")  # fmt: skip
        if any(r.after_bytes for r in self.rows):
            canvas.text(WIDTH - 0.06, y + 0.03, "bytes further", size=_SMALL, ha="right")
        canvas.text(_LEFT - 0.08, y + 0.03, "first asked", size=_SMALL, ha="right")

    def _row(self, canvas: Canvas, y: float, row: _Row, say_distance: bool) -> None:
        first = min(row.cells, key=lambda c: c[0])
        label = self.access.element[int(first[1][0])] or f"offset {first[0]:,}"
        while len(label) > 19 and "[" in label[1:]:
            label = label[label.index("[") :] if label[0] != "[" else "…" + label[-17:]
        canvas.text(_LEFT - 0.08, y + _ROW / 2, label, size=_SMALL, ha="right",
                    va="center_baseline", gid="row label")  # fmt: skip
        touched = {at // SECTOR_BYTES for at, _ in row.cells}
        for sector in range(LINE_BYTES // SECTOR_BYTES):
            style = UNTOUCHED if sector in touched else NOT_TOUCHED
            canvas.box(_x(sector * SECTOR_BYTES), y + 0.01, SECTOR_BYTES * _BYTE, _ROW - 0.02,
                       gid="sector" if sector in touched else "not touched", **style)  # fmt: skip
        self._cells(canvas, y, row)
        if say_distance and row.after_bytes:
            canvas.text(WIDTH - 0.06, y + _ROW / 2, f"+{row.after_bytes:,}", size=_SMALL,
                        ha="right", va="center_baseline")  # fmt: skip

    def _cells(self, canvas: Canvas, y: float, row: _Row) -> None:
        colours, width = lane_colours(), self.access.width
        gap = min(0.012, 0.12 * width * _BYTE)
        runs: list[list[tuple[int, Array]]] = []
        for at, lanes in row.cells:
            colour = colours[lanes[0]]
            canvas.box(_x(at), y + 0.01, width * _BYTE - gap, _ROW - 0.02, facecolor=colour,
                       gid="used")  # fmt: skip
            last = runs[-1][-1] if runs else None
            if last is not None and at % SECTOR_BYTES and (
                (at, lanes[0]) == (last[0] + width, last[1][-1] + 1)):  # fmt: skip
                runs[-1].append((at, lanes))
            else:
                runs.append([(at, lanes)])
        for run in runs:
            each = [self._label(canvas, y, [cell], dry=True) for cell in run]
            for cells in [[c] for c in run] if all(each) else [run]:
                self._label(canvas, y, cells)

    def _label(
        self, canvas: Canvas, y: float, cells: list[tuple[int, Array]], dry: bool = False
    ) -> bool:
        """The lanes of neighbouring cells; False if there is no room for them."""
        lanes = np.concatenate([lanes for _, lanes in cells])
        across = self.access.width * len(cells) * _BYTE
        names = spans(sorted(lanes.tolist()))
        choices = (names, f"×{len(lanes)}") if len(lanes) > len(cells) else (names,)
        text, size = fitting_size(choices, across)
        if text and not dry:
            colour = ink(lane_colours()[cells[len(cells) // 2][1][0]])
            canvas.text(_x(cells[0][0]) + across / 2, y + _ROW / 2, text, size=size,
                        color=colour, ha="center", va="center_baseline", gid="lane")  # fmt: skip
        return bool(text)


def _x(byte: int) -> float:
    """Where a byte of a line is drawn: sectors stand a little apart."""
    return _LEFT + byte * _BYTE + (byte // SECTOR_BYTES) * _SECTOR_GAP


def _rows(access: WarpAccess) -> list[_Row]:
    """The lines of memory that an access touches, in order of address."""
    rows: list[_Row] = []
    for address in np.unique(access.address[access.active]).tolist():
        line, at = divmod(address, LINE_BYTES)
        lanes = np.flatnonzero(access.active & (access.address == address))
        if not rows or rows[-1].line != line:
            distance = (line - rows[-1].line) * LINE_BYTES if rows else 0
            rows.append(_Row(line, distance if distance > LINE_BYTES else 0, []))
        rows[-1].cells.append((at, lanes))
    return rows


# -- what the colours mean ------------------------------------------------------------------------
def _legend(canvas: Canvas, y: float) -> float:
    """Sectors of a line, fetched and not."""
    entries: list[tuple[str, dict[str, Any]]] = [
        ("asked for by that lane", {"facecolor": lane_colours()[12]}),
        ("rest of a 32-byte sector that is moved for it", UNTOUCHED),
        ("sector not touched", NOT_TOUCHED),
    ]
    x = _LEFT
    for label, style in entries:
        canvas.box(x, y + 0.015, 0.24, 0.14, **style)
        canvas.text(x + 0.31, y + 0.085, label, size=8.5, va="center_baseline")
        x += 0.55 + 0.0665 * len(label)
    return y + 0.3
