"""Show a profile in a notebook: its table, and the accesses of the clicked line.

The HTML contains the first accesses of each line, which `profile.js` draws. If scripts do not run,
the page shows a picture of the line that wastes the most bytes or wavefronts, and describes all of
these accesses in words.
"""

from __future__ import annotations

import functools
import math
import re
from html import escape
from importlib import resources
from typing import Any

import numpy as np

from forgekit.errors import SourceLine
from forgekit.profiling.profile import Profile
from forgekit.profiling.table import (
    HEADS,
    LEGEND,
    WORDS,
    ProfileRow,
    heading,
    rows,
    sampling,
    total_cells,
    traffic,
    verdict,
)
from forgekit.text import Cell, Table
from forgekit.tracing.banks import BankConflicts
from forgekit.tracing.coalescing import Coalescing
from forgekit.tracing.warp_access import WarpAccess, WarpAccesses
from forgekit.tracing.warp_trace import FIRST_TIMES, FIRST_WARPS
from forgekit.viz.page import fragment, img_tag, in_script, packed, script
from forgekit.viz.palette import INK, THEME, WRONG, theme_style, thread_colour, variables
from forgekit.viz.raster import png_bytes
from forgekit.viz.report_pages import predictions_html

Site = tuple[SourceLine | None, str]  # a source line, and a kind of access such as global_load

_MOST_SITES = 12
_ELEMENT = re.compile(r"(\w+)\[([\d, ]*)\]")


def profile_html(p: Profile) -> str:
    still, sites = _still(p)
    style = "font-size:13px;line-height:1.45;max-width:800px"
    if not sites:
        return f'<div style="{style}">{still}</div>'
    left_out = len(sites) - _MOST_SITES
    sites = dict([*sites.items()][:_MOST_SITES])
    note = (
        f"the first {FIRST_WARPS} warps of block 0 with this access, its first {FIRST_TIMES} times "
        "each"
    )
    if left_out > 0:
        note += f"; {left_out} more rows are not included: p.show(line) draws them"
    texts: dict[str, int] = {}
    lanes = min(max(math.prod(launch.block) for launch in p.launches), 32)
    data = {
        "colours": [thread_colour(lane, lanes) for lane in range(lanes)],
        "ink": INK,
        "wrong": WRONG,
        "note": f"Shown: {note}.",
        "rows": {str(row): k for k, row in enumerate(sites)},
        "sites": [_site(p, site, texts) for site in sites.values()],
        "texts": [*texts],
    }
    scripts = (
        f"{script('forgekit.viz', 'scroll.js', 'shared.js', 'profile.js')}\n"
        f"fkProfile(root,unpacked({in_script(packed(data))}));"
    )
    parts = f"<style>{_style()}</style>{still}{_words(p, sites)}"
    return fragment("fk-profile", parts, scripts, label=f"Profile of {p.name}", style=style)


@functools.cache
def _style() -> str:
    text = resources.files(__package__).joinpath("profile.css").read_text("utf-8")
    return "".join(text.split("\n")) + theme_style("fk-profile", *variables(THEME))


def _shown(accesses: tuple[WarpAccess, ...], kind: str) -> WarpAccesses:
    of_memory = Coalescing if kind.startswith("global") else BankConflicts
    return of_memory("", accesses, 0, None, [])


def _site(p: Profile, site: Site, texts: dict[str, int]) -> dict[str, Any]:
    """Return the data for a line's accesses. texts: maps each text to its number, so that equal
    texts are stored only once.
    """
    accesses = p.first_accesses[site]
    shown = _shown(accesses, site[1])
    block = next(launch.block for launch in p.launches
                 if any(line.source == site[0] for line in launch.lines))  # fmt: skip
    warps: dict[int, list[dict[str, Any]]] = {}
    for k, (a, (cost, more)) in enumerate(zip(accesses, shown.costs, strict=True)):
        said = "; ".join(text for text in (a.asked, a.pattern, more) if text)
        base = int(a.address[a.active].min()) // 128 * 128 if shown.memory == "global" else 0
        entry: dict[str, Any] = {
            "cost": texts.setdefault(f"{a.place}: {cost}", len(texts)),
            "said": texts.setdefault(said, len(texts)), "times": a.times, "base": base,
            "width": a.width, "at": np.where(a.active, a.address - base, -1).tolist(),
        }  # fmt: skip
        if isinstance(shown, BankConflicts):
            use = shown.uses[k]
            entry["passes"] = [[p.lanes.start, p.lanes.stop] for p in use.passes]
            entry["share"] = a.kind in ("load", "store")
        else:
            entry["elements"] = _elements(a)
        warps.setdefault(a.warp, []).append(entry)
    found = [{"warp": warp, "accesses": several} for warp, several in warps.items()]
    return {"memory": shown.memory, "block": block, "warps": found}


def _elements(a: WarpAccess) -> list[Any]:
    """Return the tensor's name and the lanes' coordinates, mode by mode. If the lanes access
    several tensors, return one name per lane.
    """
    found = [_ELEMENT.fullmatch(text) for text in a.element]
    names = {m[1] for m in found if m}
    if len(names) != 1 or any(m is None for m, on in zip(found, a.active, strict=True) if on):
        return ["", [*a.element]]
    places = [[int(n) for n in m[2].split(",") if n.strip()] if m else [] for m in found]
    modes = max(map(len, places))
    return [names.pop(), [[p[k] if len(p) > k else -1 for p in places] for k in range(modes)]]


def _words(p: Profile, sites: dict[int, Site]) -> str:
    """Return the HTML for pages without scripts: a picture of the line that wastes the most, and
    all accesses in words."""
    first = {site: _shown(p.first_accesses[site][:1], site[1]) for site in sites.values()}
    worst = p.worst and (p.worst.line.source, p.worst.kind)
    picture = ""
    if worst in first:
        shown = first[worst]
        picture = img_tag(png_bytes(shown.scene, 1.0, 32), shown.alt, shown.scene.width)
    words = "\n".join(text.partition("\n")[2] for text in (s.summary for s in first.values()))
    return (
        f'<div class="fk-words">{picture}<details><summary>First accesses of each line, in words'
        f"</summary><pre>{escape(words)}</pre></details></div>"
    )


# -- the table ---------------------------------------------------------------------------------
_FAINT = "rgba(127,127,127,.28)"
_BAR = "rgba(86,180,233,.65)"  # Okabe-Ito's sky blue
_WORST = "rgba(213,94,0,.14)"  # Okabe-Ito's vermillion
_CELL = "padding:3px 5px;"
_NOWRAP = _CELL + "white-space:nowrap;"
_CODE = (
    _CELL + "font-family:ui-monospace,Menlo,Consolas,monospace;white-space:pre;overflow:hidden;"
    "text-overflow:ellipsis;min-width:150px;max-width:235px;"
)
_TITLES = (
    "line of the source", "", "PTX instructions executed, once per warp",
    "active lanes of 32, on average", "kind of memory access",
    "warp instructions with at least one active lane",
    "sectors or wavefronts per request, with the minimum in brackets",
    "bytes of all sectors",
)  # fmt: skip


def _still(p: Profile) -> tuple[str, dict[int, Site]]:
    head, colon, rest = heading(p).partition(": ")
    parts = [f'<div style="margin:4px 0 8px"><b>{escape(head)}</b>{escape(colon + rest)}</div>']
    if sampling(p):
        parts.append(f'<div style="margin:4px 0 8px">{_sentence(sampling(p))}</div>')
    sites: dict[int, Site] = {}
    if p.lines:
        table, sites = _profile_table(p)
        parts.append(f'<div class="fk-table" style="overflow-x:auto">{table}</div>')
    if p.worst is None and verdict(p):
        parts.append(f'<div style="margin:6px 0">{_sentence(verdict(p))}</div>')
    if bytes_moved := traffic(p):
        text = "<br>".join(map(_sentence, bytes_moved))
        parts.append(f'<div style="margin:8px 0 4px">{text}</div>')
    if p.lines:
        parts.append(f'<div style="opacity:.65;font-size:11px;margin:4px 0">{escape(LEGEND)}</div>')
    if p.predicted.all:
        parts.append(f'<div style="margin:8px 0">{predictions_html(p.predicted)}</div>')
    return "".join(parts), sites


def _sentence(text: str) -> str:
    return escape(f"{text[0].upper()}{text[1:]}.")


def _profile_table(p: Profile) -> tuple[str, dict[int, Site]]:
    most = max(line["warp_instructions"] for line in p.lines)
    heads = [Cell(head.replace("\n", " "), title=title, style=_NOWRAP)
             for head, title in zip(HEADS, _TITLES, strict=True)]  # fmt: skip
    body: list[list[Cell]] = []
    marked: dict[int, str] = {}
    sites: dict[int, Site] = {}
    found = list(rows(p))
    for row, after in zip(found, [*found[1:], None], strict=True):
        if row.file:
            body.append([Cell(row.file, len(HEADS), style=_NOWRAP + "opacity:.65;")])
        if row.worst is not None:
            marked[len(body)] = _WORST
        if row.access is not None and (row.line.source, row.access.kind) in p.first_accesses:
            sites[len(body)] = row.line.source, row.access.kind
        body.append(_profile_row(row, most))
        if row.worst is not None and (after is None or after.first):
            marked[len(body)] = _WORST
            reason = f"{row.worst.reason[0].upper()}{row.worst.reason[1:]}."
            edge = Cell("", style=_CELL + f"border-left:3px solid {WRONG};")
            body.append([edge, Cell(reason, len(HEADS) - 1, style=_CELL + "padding-bottom:6px;")])
    if len(p.lines) > 1:
        rule = _NOWRAP + "border-top:1px solid currentColor;"
        body.append([Cell(text, style=rule) for text in total_cells(p)])
    # Jupyter fixes the column widths; table-layout overrides this.
    table = Table(heads, body, left=WORDS, styles=marked)
    return table.html("width:100%;table-layout:auto;"), sites


def _profile_row(row: ProfileRow, most: float) -> list[Cell]:
    number, text, instructions, lanes, access, requests, each, moved = row.cells
    if row.access is not None:
        value, _, ideal = each.partition(" ")
        each = f"{value} {row.access.unit}{'' if value == '1' else 's'} {ideal}"
    share = f"{100 * row.line['warp_instructions'] / most:.1f}%" if row.first and most else ""
    bar = f"background:linear-gradient({_BAR},{_BAR}) no-repeat 100% 100%/{share} 4px;"
    strong = _NOWRAP + ("font-weight:700;" if row.wasteful else "")
    of_lanes, of_access = (_NOWRAP, strong) if row.access else (strong, _NOWRAP)
    edge = f"border-left:3px solid {WRONG if row.worst else 'transparent'};"
    cells = (
        (number, _NOWRAP + edge), (text, _CODE), (instructions, _NOWRAP + (bar if share else "")),
        (lanes, of_lanes), (access, of_access), (requests, _NOWRAP), (each, of_access),
        (moved, _NOWRAP),
    )  # fmt: skip
    rule = f"border-top:1px solid {_FAINT};" if row.first else ""
    return [Cell(what, style=style + rule, title=text if i == 1 else "")
            for i, (what, style) in enumerate(cells)]  # fmt: skip
