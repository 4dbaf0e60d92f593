"""Draw a BankConflicts: a column is a bank, a row a wavefront, a cell the lanes it serves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from forgekit.text import spans
from forgekit.vgpu.counters.rules import BANK_BYTES, BANKS
from forgekit.viz.palette import thread_colour
from forgekit.viz.runs.warp_figure import LEFT, WIDTH, Panel, fitting_size, scene
from forgekit.viz.scene import Rect, Scene

if TYPE_CHECKING:
    from forgekit.tracing.banks import BankConflicts, BankPass, BankUse
    from forgekit.tracing.warp_access import WarpAccess

_BANK = (WIDTH - LEFT) / BANKS  # px
_BETWEEN = 10.0  # px, passes
_KEY = "a column: a bank, 4 bytes wide; a row: a wavefront, which serves one word of each bank"
_TIMES = "×n: n lanes ask for the same word and share it"


def draw(shown: BankConflicts) -> Scene:
    """The picture of a BankConflicts."""
    panels = [_Panel(a, use, several=len(shown.accesses) > 1)
              for a, use in zip(shown.accesses, shown.uses, strict=True)]  # fmt: skip
    return scene(
        shown, panels, 0, notes=[_KEY, *([_TIMES] if any(p.times for p in panels) else [])]
    )


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
    row_height = 17.0
    rows_called = "wavefronts"

    def gap(self, row: _Wavefront) -> float:
        return _BETWEEN if row.part is not self.rows[0].part and not row.row else 0.0

    def __init__(self, access: WarpAccess, use: BankUse, *, several: bool) -> None:
        rows = _wavefronts(use)
        super().__init__(access, use.text, access.details, rows, several=several,
                         foldable=len(use.passes) == 1)  # fmt: skip
        self.wide = max(access.width // BANK_BYTES, 1)  # neighbouring banks that a lane needs
        cells = [lanes for p in use.passes for words in p.words.values() for _, lanes in words]
        self.all_named = all(fitting_size((spans(c),), self.wide * _BANK)[0] for c in cells)
        self.times = not self.all_named and any(len(lanes) > 1 for lanes in cells)

    def draw_header(self, y: float) -> None:
        self.label(LEFT - 8, y + 9, "bank", size=11, anchor="end")
        for bank in range(BANKS):
            self.label(LEFT + (bank + 0.5) * _BANK, y + 9, str(bank), anchor="middle")

    def draw_row(self, y: float, row: _Wavefront, *, below_cut: bool) -> None:
        self.row_label(y, row.label)
        for bank in range(BANKS):
            words = row.part.words.get(bank, ())
            x = LEFT + bank * _BANK
            if row.row >= len(words):
                self.items.append(Rect(x + 1, y + 1, _BANK - 2, self.row_height - 2, None, "rule",
                                       0.6, sort="idle"))  # fmt: skip
            elif words[row.row][0] % self.wide == 0:
                lanes, width = words[row.row][1], self.wide * _BANK
                self.items.append(Rect(x + 0.6, y + 0.6, width - 1.2, self.row_height - 1.2,
                                       thread_colour(lanes[0]), sort="word"))  # fmt: skip
                one = self.all_named or len(lanes) == 1
                self.named(x, y, width, (spans(lanes) if one else f"×{len(lanes)}",))
