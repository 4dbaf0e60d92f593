"""A profile as an HTML table for a notebook, on light and on dark pages."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from forgekit.errors import display_path
from forgekit.profiling.table import (
    HEADS,
    LEGEND,
    Row,
    heading,
    rows,
    several_files,
    total_cells,
    traffic,
    verdict,
)

if TYPE_CHECKING:
    from forgekit.profiling.profile import Profile

__all__ = ["as_html"]

# Every style stands at its element: pages that show notebooks often drop style sheets. Colours are
# the page's own, or translucent, so that they do on white and on black. Jupyter fixes the widths of
# columns, hence table-layout.
_FAINT = "rgba(127,127,127,.28)"
_BAR = "rgba(86,180,233,.65)"  # Okabe-Ito's sky blue
_WORST, _WORST_EDGE = "rgba(213,94,0,.14)", "#D55E00"  # and vermillion
_CELL = "padding:3px 7px;border:0;vertical-align:top;background:transparent;"
_NUMBER = _CELL + "text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums;"
_TEXT = _CELL + "text-align:left;white-space:nowrap;"
_CODE = (
    _CELL + "text-align:left;font-family:ui-monospace,Menlo,Consolas,monospace;"
    "white-space:pre;overflow:hidden;text-overflow:ellipsis;min-width:150px;max-width:235px;"
)
_TITLES = (
    "line of the source", "", "PTX instructions executed, once for each warp",
    "active lanes of 32, on average", "kind of memory access",
    "instructions of a warp with at least one active lane",
    "sectors or wavefronts of a request; in brackets the fewest that would do",
    "bytes of all sectors",
)  # fmt: skip


def as_html(p: Profile) -> str:
    """The table with what stands above and below it."""
    head, *rest = heading(p).split(": ", 1)
    parts = [
        '<div style="font-size:13px;line-height:1.45;max-width:800px">'
        '<div style="margin:4px 0 8px">'
        f"<b>{_e(head)}</b>{_e(': ' + rest[0]) if rest else ''}</div>"
    ]
    if p.lines:
        parts.append(_table(p))
    said = verdict(p)
    if p.worst is None and said:
        parts.append(f'<div style="margin:6px 0">{_e(said[0].upper() + said[1:])}.</div>')
    told = traffic(p)
    if told:
        sentences = [t[0].upper() + t[1:] + "." for t in told]
        parts.append(f'<div style="margin:8px 0 4px">{"<br>".join(map(_e, sentences))}</div>')
    if p.lines:
        parts.append(f'<div style="opacity:.65;font-size:11px;margin:4px 0">{_e(LEGEND)}</div>')
    if p.predicted.all:
        parts.append(f'<div style="margin:8px 0">{p.predicted._repr_html_()}</div>')
    return "".join(parts) + "</div>"


def _table(p: Profile) -> str:
    worst = p.worst
    most = max(line["warp_instructions"] for line in p.lines)
    body, previous = [], None
    for line in p.lines:
        if several_files(p) and line.source and line.source.filename != previous:
            previous = line.source.filename
            body.append(
                f'<tr style="background:transparent"><td colspan="{len(HEADS)}" style="{_TEXT}'
                f'opacity:.65">{_e(display_path(previous))}</td></tr>'
            )
        here = worst if worst is not None and worst.line.key == line.key else None
        found = rows(line, most, here)
        for i, row in enumerate(found):
            body.append(_row(row, edge=here is not None, top=not i))
        if here is not None:
            body.append(_reason(here.reason))
    if len(p.lines) > 1:
        body.append(_total(p))
    heads = "".join(
        f'<th title="{_e(title)}" style="{_TEXT if h in ("source", "access") else _NUMBER}'
        f'font-weight:600;border-bottom:1px solid currentColor">{_e(h)}</th>'
        for h, title in zip(HEADS, _TITLES, strict=True)
    )
    return (
        '<table style="border-collapse:collapse;margin:0;font-size:12px;color:inherit;'
        'border:0;width:100%;table-layout:auto"><thead><tr style="background:transparent">'
        f"{heads}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table>"
    )


def _row(row: Row, *, edge: bool, top: bool) -> str:
    rule = f"border-top:1px solid {_FAINT};" if top else ""
    left = f"border-left:3px solid {_WORST_EDGE if edge else 'transparent'};"
    share = f"{100 * row.share:.1f}%"
    bar = f"background:linear-gradient({_BAR},{_BAR}) no-repeat 100% 100%/{share} 4px;"
    strong = "font-weight:700;" if row.wasteful and row.access else ""
    cells = (
        (row.number, _NUMBER + "opacity:.65;" + left),
        (row.text, _CODE),
        (row.instructions, _NUMBER + (bar if row.share else "")),
        (row.lanes, _NUMBER + ("font-weight:700;" if row.wasteful and not row.access else "")),
        (row.access, _TEXT + strong),
        (row.requests, _NUMBER),
        (_with_unit(row), _NUMBER + strong),
        (row.moved, _NUMBER),
    )
    whole = f' title="{_e(row.text)}"'
    tds = "".join(
        f'<td{whole if i == 1 and text else ""} style="{style}{rule}">{_e(text)}</td>'
        for i, (text, style) in enumerate(cells)
    )
    return f'<tr style="background:{_WORST if edge else "transparent"}">{tds}</tr>'


def _with_unit(row: Row) -> str:
    """`32 sectors (4)`"""
    value, _, ideal = row.each.partition(" ")
    return f"{value} {row.unit if value == '1' else row.unit + 's'} {ideal}" if value else ""


def _reason(reason: str) -> str:
    text = reason[0].upper() + reason[1:]
    return (
        f'<tr style="background:{_WORST}"><td style="{_CELL}border-left:3px solid {_WORST_EDGE}">'
        f'</td><td colspan="{len(HEADS) - 1}" style="{_CELL}text-align:left;white-space:normal;'
        f'padding-bottom:6px">{_e(text)}.</td></tr>'
    )


def _total(p: Profile) -> str:
    styles = (_NUMBER, _TEXT, _NUMBER, _NUMBER, _TEXT, _NUMBER, _NUMBER, _NUMBER)
    tds = "".join(
        f'<td style="{style}border-top:1px solid currentColor">{_e(text)}</td>'
        for text, style in zip(total_cells(p), styles, strict=True)
    )
    return f'<tr style="background:transparent">{tds}</tr>'


def _e(text: str) -> str:
    return html.escape(text, quote=True)
