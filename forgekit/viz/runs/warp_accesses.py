"""Draw Coalescing and BankConflicts: one panel per warp access, with a key to the lanes' colours
below.

Each row is a 128-byte line of memory or a wavefront, and each cell is the request of one or more
lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forgekit.text import shortened, spans
from forgekit.tracing.banks import BankConflicts, BankPass, BankUse
from forgekit.tracing.coalescing import LINE_BYTES, Coalescing
from forgekit.tracing.warp_access import WarpAccess, WarpAccesses
from forgekit.vgpu import HARDWARE
from forgekit.viz.compose import compose
from forgekit.viz.grid import Block
from forgekit.viz.palette import INK, WRONG, thread_colour
from forgekit.viz.scene import Array, Item, Label, Rect, Scene, Swatch, fitting, moved, wrap

BANKS, SECTOR_BYTES, BANK_BYTES = HARDWARE.BANKS, HARDWARE.SECTOR_BYTES, HARDWARE.BANK_BYTES

Asked = list[tuple[int, Array]]  # pairs of a byte offset in a memory line and the requesting lanes

_MOST_ROWS, _MOST_OF_SEVERAL = 32, 9
_HEAD, _TAIL = 6, 2  # the numbers of rows drawn before and after omitted rows

# In px: the width of a panel, the width of the text to the left of the rows, the height of a row,
# the usual and the minimum font size, and the width of the text to the right, which states the
# distance between memory lines.
_WIDTH, _LEFT, _HIGH, _SMALL, _LEAST, _RIGHT = 760.0, 112.0, 17.0, 9.5, 8.0, 66.0
_BYTE = (_WIDTH - _LEFT - _RIGHT) / (LINE_BYTES + 3)
_BANK = (_WIDTH - _LEFT) / BANKS
_BREAK, _BETWEEN = 6.0, 10.0  # space between distant memory lines, and between passes

_SECTORS = (
    Swatch(tuple(thread_colour(lane) for lane in range(0, 32, 4)), "requested (coloured by lane)"),
    Swatch(("waste",), "rest of a 32-byte sector, moved but not requested", WRONG),
    Swatch((None,), "sector not touched"),
)
_WAVEFRONTS = (
    "a column: a bank, 4 bytes wide; a row: a wavefront, which serves one word of each bank"
)
_TIMES = "×n: n lanes request the same word and share it"


@dataclass(frozen=True)
class _Row:
    """A row in the panel of an access.

    label: the text to the left; items: the content, positioned as if the row were at the top; gap:
    the space above; after: the text to the right, which is drawn only if the row above is drawn.
    """

    label: str
    items: list[Item]
    gap: float = 0.0
    after: str = ""


def _panel(
    access: WarpAccess, title: str, details: str, head: list[Item], rows: list[_Row], called: str,
    *, several: bool, foldable: bool = True,
) -> Block:  # fmt: skip
    """Return the panel for an access.

    head: items above the rows, positioned as if at the top; called: the plural noun for the rows;
    foldable: True if rows in the middle may be omitted.
    """
    texts = [Label(0, 8, text, 13, "ink", bold=True, sort="panel title")
             for text in (wrap(title, _WIDTH, 14) if several else ())]  # fmt: skip
    if access.source is not None and access.source.text:
        texts.append(Label(0, 8, shortened(access.source.text, 92), 12, "ink", mono=True))
    texts += [Label(0, 8, text, 12) for text in wrap(details, _WIDTH)]
    out: list[Item] = []
    y = 0.0
    for label in texts:
        out.append(moved(label, 0, y))
        y += 20 if label.mono else label.size + 6
    out += [moved(item, 0, y + 8) for item in head]
    y += 26
    left_out = 0
    if foldable and len(rows) > (_MOST_OF_SEVERAL if several else _MOST_ROWS):
        left_out = len(rows) - _HEAD - _TAIL
        rows = rows[:_HEAD] + rows[-_TAIL:]
    for number, row in enumerate(rows):
        cut = bool(left_out) and number == _HEAD
        if cut:
            text = f"⋮  {left_out} more {called} in between, not shown"
            out.append(Label(_LEFT + 4, y + 10, text, 11))
        y += 20 if cut else row.gap
        out.append(_side_label(row.label, y + _HIGH / 2, sort="row label"))
        out += [moved(item, 0, y) for item in row.items]
        if row.after and not cut:
            out.append(Label(_WIDTH, y + _HIGH / 2, row.after, _SMALL, anchor="end"))
        y += _HIGH
    return Block(title if several else "access", _WIDTH, y + 4, tuple(out))


def _side_label(text: str, y: float, size: float = _SMALL, sort: str = "") -> Label:
    return Label(_LEFT - 8, y, text, size, anchor="end", sort=sort)


def _lane_label(x: float, width: float, choices: Sequence[str]) -> Label:
    """Return a centred label with the first of a cell's possible texts that fits."""
    text, size = _fitting(choices, width)
    return Label(x + width / 2, _HIGH / 2, text, size, INK, "middle", sort="lane")


def _fitting(choices: Sequence[str], width: float) -> tuple[str, float]:
    """Return the first text that fits a width, and its font size: the usual size if possible,
    otherwise the minimum size.
    """
    for size in (_SMALL, _LEAST):
        if text := fitting(choices, width, size):
            break
    return text, size


def _lanes(shown: WarpAccesses) -> int:
    """Return the number of lanes that the colours must distinguish: the highest number of a lane in
    any access, plus 1.
    """
    return max((int(np.flatnonzero(a.active)[-1]) + 1 for a in shown.accesses), default=32)


def _scene(
    shown: WarpAccesses, panels: list[Block], right: float,
    swatches: Sequence[Swatch], notes: Sequence[str],
) -> Scene:  # fmt: skip
    if panels:
        active = shown.accesses[0].active if len(panels) == 1 else np.ones(32, bool)
        panels = [*panels, _lane_key(right, active, _lanes(shown))]
    else:
        swatches, notes = (), ()
    return compose(
        shown.headline, [], [[block] for block in panels], words=shown.alt, plain=True,
        alarms=shown.notes, swatches=swatches, notes=[*notes, *shown.more],
    )  # fmt: skip


def _lane_key(right: float, active: Array, lanes: int) -> Block:
    across = (_WIDTH - _LEFT - right) / 32
    items: list[Item] = [_side_label("lane", 8, 11)]
    for lane in range(32):
        used = active[lane] and lane < lanes
        fill, stroke, ink = (thread_colour(lane, lanes), None, INK) if used else (
            None, "rule", "dim")  # fmt: skip
        x = _LEFT + lane * across
        items.append(Rect(x, 0, across - 1.2, 16, fill, stroke, sort="lane key"))
        items.append(Label(x + across / 2, 8, str(lane), _SMALL, ink, "middle"))
    return Block("lanes", _WIDTH, 17, tuple(items))


# -- global memory: lines and their sectors ------------------------------------------------------
def draw_coalescing(shown: Coalescing) -> Scene:
    panels, lanes = [], _lanes(shown)
    for access, (cost, more) in zip(shown.accesses, shown.costs, strict=True):
        rows = _lines(access, lanes)
        head: list[Item] = [_side_label("first element", 8)]
        for first in range(0, LINE_BYTES, SECTOR_BYTES):
            middle = _x(first) + SECTOR_BYTES / 2 * _BYTE
            text = f"bytes {first}–{first + SECTOR_BYTES - 1}"
            head.append(Label(middle, 8, text, _SMALL, anchor="middle"))
        if any(row.after for row in rows):
            head.append(Label(_WIDTH, 8, "bytes apart", _SMALL, anchor="end"))
        panels.append(_panel(access, f"{access.place}: {cost}", f"{access.details}; {more}", head,
                             rows, "lines", several=len(shown.accesses) > 1))  # fmt: skip
    return _scene(shown, panels, _RIGHT, _SECTORS, ())


def _lines(access: WarpAccess, of_lanes: int) -> list[_Row]:
    found: dict[int, Asked] = {}
    for address in np.unique(access.address[access.active]).tolist():
        lanes = np.flatnonzero(access.active & (access.address == address))
        found.setdefault(address // LINE_BYTES, []).append((address % LINE_BYTES, lanes))
    rows = []
    for line, before, cells in zip(found, [None, *found], found.values(), strict=False):
        far = 0 if before is None or line == before + 1 else (line - before) * LINE_BYTES
        at, lanes = cells[0]
        label = access.element[int(lanes[0])] or f"offset {at:,}"
        if len(label) > 18 and "[" in label:
            label = label[label.index("[") :]
        items = [*_sectors(cells, access.width), *_lanes_of(cells, access.width, of_lanes)]
        rows.append(_Row(label, items, _BREAK if far else 0.0, f"+{far:,}" if far else ""))
    return rows


def _sectors(cells: Asked, width: int) -> list[Item]:
    """Return the sectors of a memory line. A sector is orange if more bytes are moved than
    requested.
    """
    items: list[Item] = []
    for sector in range(LINE_BYTES // SECTOR_BYTES):
        used = sum(at // SECTOR_BYTES == sector for at, _ in cells) * width
        box = _x(sector * SECTOR_BYTES) + 0.5, 1, SECTOR_BYTES * _BYTE - 1, _HIGH - 2
        if 0 < used < SECTOR_BYTES:
            items.append(Rect(*box, "waste", WRONG, sort="sector"))
        else:
            sort = "sector" if used else "not touched"
            items.append(Rect(*box, None, "rule", 0.6, sort=sort))
    return items


def _lanes_of(cells: Asked, width: int, of_lanes: int) -> list[Item]:
    """Return the lanes' requests as cells. Neighbouring cells share a text if it does not fit in a
    single cell.
    """
    gap = min(1.2, 0.12 * width * _BYTE)
    items: list[Item] = []
    runs: list[Asked] = []
    for at, lanes in cells:
        fill = thread_colour(int(lanes[0]), of_lanes)
        items.append(Rect(_x(at), 0.5, width * _BYTE - gap, _HIGH - 1, fill, sort="used"))
        before, its = runs[-1][-1] if runs else (-width, lanes)
        if at % SECTOR_BYTES and (at, lanes[0]) == (before + width, its[-1] + 1):
            runs[-1].append((at, lanes))
        else:
            runs.append([(at, lanes)])
    for run in runs:
        each = [[cell] for cell in run]
        fits = all(_fitting(_names(cell), width * _BYTE)[0] for cell in each)
        items += [_lane_label(_x(part[0][0]), width * len(part) * _BYTE, _names(part))
                  for part in (each if fits else [run])]  # fmt: skip
    return items


def _names(cells: Asked) -> tuple[str, ...]:
    """Return possible texts for neighbouring cells: their lanes' numbers, or the number of these
    lanes.
    """
    lanes = np.concatenate([lanes for _, lanes in cells])
    names = spans(sorted(lanes.tolist()))
    return (names, f"×{len(lanes)}") if len(lanes) > len(cells) else (names,)


def _x(byte: int) -> float:
    """Return the x coordinate at which a byte of a memory line is drawn, with small gaps between
    sectors.
    """
    return _LEFT + byte * _BYTE + byte // SECTOR_BYTES * _BYTE


# -- shared memory: wavefronts and their banks ---------------------------------------------------
def draw_banks(shown: BankConflicts) -> Scene:
    head: list[Item] = [_side_label("bank", 9, 11)]
    head += [Label(_LEFT + (bank + 0.5) * _BANK, 9, str(bank), _SMALL, anchor="middle")
             for bank in range(BANKS)]  # fmt: skip
    panels, notes = [], [_WAVEFRONTS]
    for access, use in zip(shown.accesses, shown.uses, strict=True):
        cells = [lanes for p in use.passes for words in p.words.values() for _, lanes in words]
        wide = max(access.width // BANK_BYTES, 1)  # number of adjacent banks that a lane needs
        named = all(_fitting((spans(lanes),), wide * _BANK)[0] for lanes in cells)
        if not named and any(len(lanes) > 1 for lanes in cells):
            notes = [_WAVEFRONTS, _TIMES]
        panels.append(
            _panel(access, f"{access.place}: {use.text}", access.details, head,
                   _wavefronts(use, wide, named, _lanes(shown)), "wavefronts",
                   several=len(shown.accesses) > 1, foldable=len(use.passes) == 1)
        )  # fmt: skip
    return _scene(shown, panels, 0, (), notes)


def _wavefronts(use: BankUse, wide: int, named: bool, of_lanes: int) -> list[_Row]:
    """Return one row per wavefront, for all passes.

    named: True to label a cell with its lanes' numbers, False with the number of lanes; of_lanes:
    the number of lanes that the colours must distinguish.
    """
    rows: list[_Row] = []
    for part in use.passes:
        for turn in range(part.wavefronts):
            label = str(len(rows) + 1)
            if turn == 0 and len(use.passes) > 1:
                label = f"lanes {spans(part.lanes)}:  {label}"
            elif not rows:
                label = f"wavefront  {label}"
            gap = _BETWEEN if rows and turn == 0 else 0.0
            rows.append(_Row(label, _words(part, turn, wide, named, of_lanes), gap))
    return rows


def _words(part: BankPass, turn: int, wide: int, named: bool, of_lanes: int) -> list[Item]:
    items: list[Item] = []
    for bank in range(BANKS):
        words = part.words.get(bank, ())
        x = _LEFT + bank * _BANK
        if turn >= len(words):
            items.append(Rect(x + 1, 1, _BANK - 2, _HIGH - 2, None, "rule", 0.6, sort="idle"))
        elif words[turn][0] % wide == 0:
            lanes, width = words[turn][1], wide * _BANK
            fill = thread_colour(lanes[0], of_lanes)
            items.append(Rect(x + 0.6, 0.6, width - 1.2, _HIGH - 1.2, fill, sort="word"))
            one = named or len(lanes) == 1
            items.append(_lane_label(x, width, (spans(lanes) if one else f"×{len(lanes)}",)))
    return items
