"""What a notebook shows of checks, sanitizer reports, predictions and profiles.

Colours are the page's own, or such as read on white and on black.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from forgekit.checking.sanitize import counted
from forgekit.profiling.table import (
    HEADS,
    LEGEND,
    WORDS,
    ProfileRow,
    heading,
    rows,
    total_cells,
    traffic,
    verdict,
)
from forgekit.show import draw
from forgekit.text import Cell, Table
from forgekit.viz.mismatch import mismatch_map

if TYPE_CHECKING:
    from forgekit.checking.check_report import CheckReport
    from forgekit.checking.sanitize import SanitizerReport
    from forgekit.profiling.pictures import Pictures
    from forgekit.profiling.predictions import Prediction, Predictions
    from forgekit.profiling.profile import Profile

# Okabe-Ito's bluish green, vermillion and blue.
_GREEN, _RED, _BLUE = "#009E73", "#D55E00", "#0072B2"


def check_html(report: CheckReport) -> str:
    """The report, the first wrong elements, and the picture of all of them."""
    colour = _GREEN if report.ok else _RED
    mark, _, rest = report.headline.partition("  ")
    parts = [f'<div><b style="color:{colour}">{mark}</b> <span>{escape(rest)}</span></div>']
    parts += [f'<div style="opacity:.85">{escape(line)}</div>' for line in report.details]
    if report.first:
        parts.append(report.table.html("margin:.3em 0;"))
    if not report.ok and not report.useless:
        parts.append(draw(mismatch_map(report), "html"))
    return _beside_bar(colour, parts)


def sanitizer_html(report: SanitizerReport) -> str:
    """The findings, each with its kind in colour: vermillion for errors, blue for notes."""
    parts = [f"<b>{escape(report.headline)}</b>"]
    for finding in report.findings:
        title, _, rest = counted(finding).partition("\n")
        colour = _RED if finding.severity == "error" else _BLUE
        parts.append(f'<div style="margin-top:8px"><b style="color:{colour}">{escape(title)}</b>'
                     f'<div style="white-space:pre-wrap">{escape(rest)}</div></div>')  # fmt: skip
    parts += [f'<div style="margin-top:8px">{escape(text)}</div>' for text in report.changes]
    return _beside_bar(_GREEN if report else _RED, parts)


def _beside_bar(colour: str, parts: list[str]) -> str:
    style = f"border-left:4px solid {colour};padding:.2em .8em;margin:.3em 0;color:inherit"
    return f'<div style="{style}">{"".join(parts)}</div>'


def predictions_html(shown: Predictions) -> str:
    """What was said in green or vermillion beside what it is."""
    if not shown.all:
        return f"<p>{shown.summary}</p>"
    known = any(p.answer is not None for p in shown.all)
    heads = ("", "you said", "it is") if known else ("", "you say", "")
    table = Table(heads, [_prediction(p) for p in shown.all], left=(0, 1, 2))
    note = shown.to_do and f'<div style="opacity:.7;font-size:12px">{shown.to_do}</div>'
    return table.html("font-size:13px;") + note


def _prediction(p: Prediction) -> tuple[str, Cell, str]:
    colour = f"color:{_GREEN if p.right else _RED}"
    known = not p.open and p.answer is not None
    return p.question, Cell(p.said_text, style=colour if known else ""), p.answer_text


def pictures_html(shown: Pictures) -> str:
    """The pictures one under the other."""
    return "<br>".join(draw(picture, "html") for picture in shown)


# -- profiles ------------------------------------------------------------------------------------
_FAINT = "rgba(127,127,127,.28)"
_BAR = "rgba(86,180,233,.65)"  # Okabe-Ito's sky blue
_WORST = "rgba(213,94,0,.14)"  # and vermillion
_CELL = "padding:3px 7px;"
_NOWRAP = _CELL + "white-space:nowrap;"
_CODE = (
    _CELL + "font-family:ui-monospace,Menlo,Consolas,monospace;white-space:pre;overflow:hidden;"
    "text-overflow:ellipsis;min-width:150px;max-width:235px;"
)
_TITLES = (
    "line of the source", "", "PTX instructions executed, once for each warp",
    "active lanes of 32, on average", "kind of memory access",
    "instructions of a warp with at least one active lane",
    "sectors or wavefronts of a request; in brackets the fewest that would do",
    "bytes of all sectors",
)  # fmt: skip


def profile_html(p: Profile) -> str:
    """The table with what stands above and below it."""
    head, colon, rest = heading(p).partition(": ")
    parts = [f'<div style="margin:4px 0 8px"><b>{escape(head)}</b>{escape(colon + rest)}</div>']
    if p.lines:
        parts.append(_profile_table(p))
    if p.worst is None and verdict(p):
        parts.append(f'<div style="margin:6px 0">{_sentence(verdict(p))}</div>')
    if bytes_moved := traffic(p):
        text = "<br>".join(map(_sentence, bytes_moved))
        parts.append(f'<div style="margin:8px 0 4px">{text}</div>')
    if p.lines:
        parts.append(f'<div style="opacity:.65;font-size:11px;margin:4px 0">{escape(LEGEND)}</div>')
    if p.predicted.all:
        parts.append(f'<div style="margin:8px 0">{predictions_html(p.predicted)}</div>')
    style = "font-size:13px;line-height:1.45;max-width:800px"
    return f'<div style="{style}">{"".join(parts)}</div>'


def _sentence(text: str) -> str:
    return escape(f"{text[0].upper()}{text[1:]}.")


def _profile_table(p: Profile) -> str:
    most = max(line["warp_instructions"] for line in p.lines)
    heads = [Cell(head.replace("\n", " "), title=title, style=_NOWRAP)
             for head, title in zip(HEADS, _TITLES, strict=True)]  # fmt: skip
    body: list[list[Cell]] = []
    marked: dict[int, str] = {}
    found = list(rows(p))
    for row, after in zip(found, [*found[1:], None], strict=True):
        if row.file:
            body.append([Cell(row.file, len(HEADS), style=_NOWRAP + "opacity:.65;")])
        if row.worst is not None:
            marked[len(body)] = _WORST
        body.append(_profile_row(row, most))
        if row.worst is not None and (after is None or after.first):
            marked[len(body)] = _WORST
            reason = f"{row.worst.reason[0].upper()}{row.worst.reason[1:]}."
            edge = Cell("", style=_CELL + f"border-left:3px solid {_RED};")
            body.append([edge, Cell(reason, len(HEADS) - 1, style=_CELL + "padding-bottom:6px;")])
    if len(p.lines) > 1:
        rule = _NOWRAP + "border-top:1px solid currentColor;"
        body.append([Cell(text, style=rule) for text in total_cells(p)])
    # Jupyter fixes the widths of columns, hence table-layout.
    return Table(heads, body, left=WORDS, styles=marked).html("width:100%;table-layout:auto;")


def _profile_row(row: ProfileRow, most: float) -> list[Cell]:
    number, text, instructions, lanes, access, requests, each, moved = row.cells
    if row.access is not None:
        value, _, ideal = each.partition(" ")
        each = f"{value} {row.access.unit}{'' if value == '1' else 's'} {ideal}"
    share = f"{100 * row.line['warp_instructions'] / most:.1f}%" if row.first and most else ""
    bar = f"background:linear-gradient({_BAR},{_BAR}) no-repeat 100% 100%/{share} 4px;"
    strong = _NOWRAP + ("font-weight:700;" if row.wasteful else "")
    of_lanes, of_access = (_NOWRAP, strong) if row.access else (strong, _NOWRAP)
    edge = f"opacity:.65;border-left:3px solid {_RED if row.worst else 'transparent'};"
    cells = (
        (number, _NOWRAP + edge), (text, _CODE), (instructions, _NOWRAP + (bar if share else "")),
        (lanes, of_lanes), (access, of_access), (requests, _NOWRAP), (each, of_access),
        (moved, _NOWRAP),
    )  # fmt: skip
    rule = f"border-top:1px solid {_FAINT};" if row.first else ""
    return [Cell(what, style=style + rule, title=text if i == 1 else "")
            for i, (what, style) in enumerate(cells)]  # fmt: skip
