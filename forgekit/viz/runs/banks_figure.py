"""Draw a BankConflicts: a column is a bank, a row a wavefront, a cell the lanes it serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forgekit.text import spans
from forgekit.vgpu.counters.rules import BANK_BYTES, BANKS
from forgekit.viz.theme import (
    LETTERS,
    LINE,
    NOT_TOUCHED,
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

    from forgekit.tracing.banks import BankConflicts, BankUse, Pass
    from forgekit.tracing.warp_access import WarpAccess

_MOST_ROWS, _MOST_OF_SEVERAL = 32, 9
_HEAD, _TAIL = 6, 2  # wavefronts before and after those left out

# Inches.
_LEFT, _RIGHT = 1.2, 0.3
_BANK = (WIDTH - _LEFT - _RIGHT) / BANKS
_ROW, _BETWEEN = 0.175, 0.1
_HEADER = 0.2
_SMALL = 7  # points


def draw(shown: BankConflicts) -> Figure:
    """The figure of a BankConflicts."""
    panels = [_Panel(a, u, len(shown.accesses) > 1)
              for a, u in zip(shown.accesses, shown.uses, strict=True)]  # fmt: skip
    notes = [line for note in shown.notes for line in wrap(note, WIDTH - 0.6)]
    key = ["a column: a bank, 4 bytes wide; a row: a wavefront, which serves one word of each bank"]
    if any(p.times for p in panels):
        key.append("×n: n lanes ask for the same word and share it")
    height = heading_height(shown.headline, notes) + sum(p.height for p in panels)
    height += (0.33 + LINE * len(key) if panels else 0) + LINE * len(shown.more) + 0.12
    canvas = Canvas(height)
    y = draw_heading(canvas, shown.headline, notes)
    for panel in panels:
        y = panel.draw(canvas, y)
    if panels:
        active = shown.accesses[0].active if len(panels) == 1 else None
        y = draw_lanes(canvas, y, _LEFT, _RIGHT, active)
        y = canvas.lines(_LEFT, y, key, size=8.5)
    canvas.lines(WIDTH / 2, y, shown.more, ha="center")
    return canvas.figure


class _Panel:
    """One access."""

    def __init__(self, access: WarpAccess, use: BankUse, one_of_several: bool) -> None:
        self.access, self.use = access, use
        title = f"{access.place}: {use.told}" if one_of_several else ""
        self.title = wrap(title, WIDTH - _LEFT - 0.15, LETTERS * 0.83)
        self.details = wrap(access.details, WIDTH - 0.6)
        across = max(access.width // BANK_BYTES, 1) * _BANK
        cells = [lanes for p in use.passes for words in p.words.values() for _, lanes in words]
        self.named = all(fitting_size((spans(lanes),), across)[0] for lanes in cells)
        self.times = not self.named and any(len(lanes) > 1 for lanes in cells)
        rows = sum(p.wavefronts for p in use.passes)
        self.left_out = 0
        if len(use.passes) == 1 and rows > (_MOST_OF_SEVERAL if one_of_several else _MOST_ROWS):
            self.left_out = rows - _HEAD - _TAIL
            rows = _HEAD + _TAIL
        heading = 0.2 * len(self.title) + 0.04 + 0.2 * bool(self._text)
        heading += LINE * len(self.details)
        self.height = (heading + 0.08 + _HEADER + _ROW * rows + _BETWEEN * (len(use.passes) - 1)
                       + 0.2 * bool(self.left_out) + 0.16)  # fmt: skip

    def _name(self, lanes: tuple[int, ...]) -> str:
        """Lanes of a cell: `3`, `0–1` if all cells have room for such, else `×2`."""
        if len(lanes) == 1:
            return str(lanes[0])
        return spans(lanes) if self.named else f"×{len(lanes)}"

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
        canvas.text(_LEFT - 0.08, y + 0.1, "bank", size=8, ha="right", va="center_baseline")
        for bank in range(BANKS):
            canvas.text(_LEFT + (bank + 0.5) * _BANK, y + 0.1, str(bank), size=_SMALL,
                        ha="center", va="center_baseline")  # fmt: skip
        y += _HEADER
        number = 1
        for part in self.use.passes:
            y = self._pass(canvas, y, part, number) + _BETWEEN
            number += part.wavefronts
        return end

    def _pass(self, canvas: Canvas, y: float, part: Pass, number: int) -> float:
        """Lanes that are served together, their wavefronts numbered from `number` on."""
        for row in range(part.wavefronts):
            if self.left_out and row == _HEAD:
                text = f"⋮  {self.left_out} more wavefronts in between, not shown"
                canvas.text(_LEFT + 0.05, y + 0.03, text, size=8)
                y += 0.2
            if self.left_out and _HEAD <= row < part.wavefronts - _TAIL:
                continue
            label = str(number + row)
            if row == 0 and len(self.use.passes) > 1:
                label = f"lanes {spans([*part.lanes])}:  {label}"
            elif row == 0 and number == 1:
                label = f"wavefront  {label}"
            canvas.text(_LEFT - 0.08, y + _ROW / 2, label, size=_SMALL + 0.5, ha="right",
                        va="center_baseline", gid="row label")  # fmt: skip
            self._row(canvas, y, part, row)
            y += _ROW
        return y

    def _row(self, canvas: Canvas, y: float, part: Pass, row: int) -> None:
        wide = max(self.access.width // BANK_BYTES, 1)  # neighbouring banks that a lane needs
        for bank in range(BANKS):
            words = part.words.get(bank, ())
            if row >= len(words):
                canvas.box(_LEFT + bank * _BANK + 0.006, y + 0.01, _BANK - 0.012, _ROW - 0.02,
                           gid="idle", **NOT_TOUCHED)  # fmt: skip
            elif words[row][0] % wide == 0:
                self._cell(canvas, _LEFT + bank * _BANK, y, wide * _BANK, words[row][1])

    def _cell(
        self, canvas: Canvas, x: float, y: float, width: float, lanes: tuple[int, ...]
    ) -> None:
        colours = lane_colours()
        canvas.box(x + 0.006, y + 0.01, width - 0.012, _ROW - 0.02, gid="word",
                   facecolor=colours[lanes[0]])  # fmt: skip
        text, size = fitting_size((self._name(lanes),), width)
        canvas.text(x + width / 2, y + _ROW / 2, text, size=size, color=ink(colours[lanes[0]]),
                    ha="center", va="center_baseline", gid="lane")  # fmt: skip
