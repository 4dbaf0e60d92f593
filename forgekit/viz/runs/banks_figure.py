"""Draw a BankConflicts: a column is a bank, a row a wavefront, a cell the lanes it serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forgekit.text import spans
from forgekit.vgpu.counters.rules import BANK_BYTES, BANKS
from forgekit.viz.palette import thread_colour
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
from forgekit.viz.scene import Item, Label, Rect, Scene

if TYPE_CHECKING:
    from forgekit.tracing.banks import BankConflicts, BankPass, BankUse

_BANK = (WIDTH - LEFT) / BANKS  # px
_BETWEEN = 10.0  # px, passes
_KEY = "a column: a bank, 4 bytes wide; a row: a wavefront, which serves one word of each bank"
_TIMES = "×n: n lanes ask for the same word and share it"


def draw(shown: BankConflicts) -> Scene:
    """The picture of a BankConflicts."""
    several = len(shown.accesses) > 1
    head: list[Item] = [side_label("bank", 9, 11)]
    head += [Label(LEFT + (bank + 0.5) * _BANK, 9, str(bank), SMALL, anchor="middle")
             for bank in range(BANKS)]  # fmt: skip
    panels, notes = [], [_KEY]
    for access, use in zip(shown.accesses, shown.uses, strict=True):
        cells = [lanes for p in use.passes for words in p.words.values() for _, lanes in words]
        wide = max(access.width // BANK_BYTES, 1)  # neighbouring banks that a lane needs
        named = all(fitting_size((spans(lanes),), wide * _BANK)[0] for lanes in cells)
        if not named and any(len(lanes) > 1 for lanes in cells):
            notes = [_KEY, _TIMES]
        panels.append(
            panel(access, f"{access.place}: {use.text}", access.details, head,
                  _rows(use, wide, named), "wavefronts", several=several,
                  foldable=len(use.passes) == 1)
        )  # fmt: skip
    return scene(shown, panels, 0, notes=notes)


def _rows(use: BankUse, wide: int, named: bool) -> list[Row]:
    """The wavefronts of each pass; named: the lanes of each cell, else how many they are."""
    rows: list[Row] = []
    for part in use.passes:
        for turn in range(part.wavefronts):
            label = str(len(rows) + 1)
            if turn == 0 and len(use.passes) > 1:
                label = f"lanes {spans(part.lanes)}:  {label}"
            elif not rows:
                label = f"wavefront  {label}"
            gap = _BETWEEN if rows and turn == 0 else 0.0
            rows.append(Row(label, _cells(part, turn, wide, named), gap))
    return rows


def _cells(part: BankPass, turn: int, wide: int, named: bool) -> list[Item]:
    """What each bank serves in one of a pass's wavefronts."""
    items: list[Item] = []
    for bank in range(BANKS):
        words = part.words.get(bank, ())
        x = LEFT + bank * _BANK
        if turn >= len(words):
            items.append(Rect(x + 1, 1, _BANK - 2, HIGH - 2, None, "rule", 0.6, sort="idle"))
        elif words[turn][0] % wide == 0:
            lanes, width = words[turn][1], wide * _BANK
            items.append(Rect(x + 0.6, 0.6, width - 1.2, HIGH - 1.2, thread_colour(lanes[0]),
                              sort="word"))  # fmt: skip
            one = named or len(lanes) == 1
            items.append(lane_label(x, width, (spans(lanes) if one else f"×{len(lanes)}",)))
    return items
