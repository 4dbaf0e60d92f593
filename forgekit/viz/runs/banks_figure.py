"""Draw a BankConflicts: a column is a bank, a row a wavefront, a cell the lanes it serves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from forgekit.text import spans
from forgekit.vgpu.counters.rules import BANK_BYTES, BANKS
from forgekit.viz.runs.warp_figure import LEFT, SMALL, Panel, draw_panels, lane_colours
from forgekit.viz.theme import NOT_TOUCHED, WIDTH, Canvas, fitting_size, ink

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forgekit.tracing.banks import BankConflicts, BankPass, BankUse
    from forgekit.tracing.warp_access import WarpAccess

# Inches.
_RIGHT = 0.3
_BANK = (WIDTH - LEFT - _RIGHT) / BANKS
_BETWEEN = 0.1  # passes


def draw(shown: BankConflicts) -> Figure:
    """The figure of a BankConflicts."""
    panels = [_Panel(a, use, several=len(shown.accesses) > 1)
              for a, use in zip(shown.accesses, shown.uses, strict=True)]  # fmt: skip
    key = ["a column: a bank, 4 bytes wide; a row: a wavefront, which serves one word of each bank"]
    if any(p.times for p in panels):
        key.append("×n: n lanes ask for the same word and share it")
    return draw_panels(shown, panels, _RIGHT, lambda c, y: c.lines(LEFT, y, key, size=8.5))


@dataclass(frozen=True)
class _Wavefront:
    """Number `row` of the wavefronts that serve the lanes of `part`."""

    part: BankPass
    row: int
    label: str


def _wavefronts(use: BankUse) -> list[_Wavefront]:
    rows: list[_Wavefront] = []
    for part in use.passes:
        for row in range(part.wavefronts):
            label = str(len(rows) + 1)
            if row == 0 and len(use.passes) > 1:
                label = f"lanes {spans(part.lanes)}:  {label}"
            elif not rows:
                label = f"wavefront  {label}"
            rows.append(_Wavefront(part, row, label))
    return rows


class _Panel(Panel[_Wavefront]):
    row_height = 0.175
    rows_called = "wavefronts"

    def gap(self, row: _Wavefront) -> float:
        return _BETWEEN if row.part is not self.rows[0].part and not row.row else 0.0

    def __init__(self, access: WarpAccess, use: BankUse, *, several: bool) -> None:
        rows = _wavefronts(use)
        super().__init__(access, use.text, access.details, rows, several=several,
                         foldable=len(use.passes) == 1)  # fmt: skip
        self.wide = max(access.width // BANK_BYTES, 1)  # neighbouring banks that a lane needs
        cells = [lanes for p in use.passes for words in p.words.values() for _, lanes in words]
        self.named = all(fitting_size((spans(c),), self.wide * _BANK)[0] for c in cells)
        self.times = not self.named and any(len(lanes) > 1 for lanes in cells)

    def draw_header(self, canvas: Canvas, y: float) -> None:
        canvas.text(LEFT - 0.08, y + 0.1, "bank", size=8, ha="right", va="center_baseline")
        for bank in range(BANKS):
            canvas.centred(LEFT + (bank + 0.5) * _BANK, y + 0.1, str(bank), SMALL)

    def draw_row(self, canvas: Canvas, y: float, row: _Wavefront, *, below_cut: bool) -> None:
        self.row_label(canvas, y, row.label, SMALL + 0.5)
        for bank in range(BANKS):
            words = row.part.words.get(bank, ())
            x = LEFT + bank * _BANK
            if row.row >= len(words):
                canvas.box(x + 0.006, y + 0.01, _BANK - 0.012, self.row_height - 0.02, gid="idle",
                           **NOT_TOUCHED)  # fmt: skip
            elif words[row.row][0] % self.wide == 0:
                self._cell(canvas, x, y, words[row.row][1])

    def _cell(self, canvas: Canvas, x: float, y: float, lanes: tuple[int, ...]) -> None:
        colour, width = lane_colours()[lanes[0]], self.wide * _BANK
        canvas.box(x + 0.006, y + 0.01, width - 0.012, self.row_height - 0.02, gid="word",
                   facecolor=colour)  # fmt: skip
        name = spans(lanes) if self.named or len(lanes) == 1 else f"×{len(lanes)}"
        text, size = fitting_size((name,), width)
        canvas.centred(x + width / 2, y + self.row_height / 2, text, size, color=ink(colour),
                       gid="lane")  # fmt: skip
