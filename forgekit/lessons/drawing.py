"""Render reports, notes and progress for a notebook, in its light and dark themes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from urllib.parse import quote

from forgekit.lessons.progress import MARKS, Progress, Row, by_notebook, done, effort, score
from forgekit.lessons.report import GradeReport, Note

_GREEN, _RED, _GREY = "#009E73", "#D55E00", "#7f7f7f"  # green and red: Okabe and Ito's palette


# -- the report on a submission -----------------------------------------------------------------
def report_html(report: GradeReport) -> str:
    """Return a report as HTML: the groups of gates that passed, the group that failed with the
    reason, and the remaining groups."""
    colour = _GREEN if report else (_GREY if report.untouched else _RED)
    parts = [
        f'<div style="border-left:4px solid {colour};padding:2px 0 2px 12px;max-width:880px;'
        'font-size:13px;line-height:1.45">',
        # without colour, because coloured text would be too faint on white
        f"<div><b>{escape(report.headline)}</b></div>",
    ]
    parts += [_group(_GREEN, "&#10003;", group.name, group.seen) for group in report.passed]
    if report.failure is None:
        parts.append(f'<div style="margin-top:6px">{escape(report.closing)}</div>')
        return "".join(parts) + "</div>"
    if not report.untouched:
        parts.append(_group(_RED, "&#10007;", report.left[0]))
    parts.append(_happened(report.failure.happened))
    look_at = report.failure.look_at and f"Next: {report.failure.look_at}"
    for said in (report.failure.reason, look_at):
        if said:
            word, _, text = said.partition(": ")
            words = f"<b>{word}:</b> {_with_code(text)}"
            parts.append(f'<div style="margin:4px 0 4px 20px">{words}</div>')
    parts += [_group(_GREY, "&#9675;", name) for name in report.open_groups]
    if report.advice:
        parts.append(f'<div style="margin-top:6px;opacity:.75">{escape(report.advice)}</div>')
    return "".join(parts) + "</div>"


def _group(colour: str, mark: str, name: str, seen: str = "") -> str:
    more = f' <span style="opacity:.7">{escape(seen)}</span>' if seen else ""
    return (
        f'<div><span style="color:{colour};display:inline-block;width:20px">{mark}</span>'
        f"{escape(name)}{more}</div>"
    )


def _happened(text: str) -> str:
    """Return the first line as text and the other lines, which are a tool's output,
    preformatted."""
    first, _, rest = text.partition("\n")
    quoted = (
        '<pre style="margin:4px 0;padding:6px 8px;font-size:12px;white-space:pre-wrap;'
        "word-break:normal;"  # by default, JupyterLab breaks lines within words
        f'background:rgba(127,127,127,.12)">{escape(rest)}</pre>'
        if rest
        else ""
    )
    return f'<div style="margin:4px 0 4px 20px">{_with_code(first)}{quoted}</div>'


def _with_code(text: str) -> str:
    """Return forgekit's own text as HTML; convert `code` and line breaks."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escape(text)).replace("\n", "<br>")


def note_bundle(note: Note) -> dict[str, str]:
    """Return a note as Markdown."""
    return {"text/plain": repr(note), "text/markdown": f"**{note.title}**\n\n{note.text}"}


# -- the progress card ----------------------------------------------------------------------------
_SMALL = "font-size:12px;opacity:.8"


def progress_html(p: Progress) -> str:
    """Return the card as HTML: for each week, a bar, links to the notebooks and a mark per
    exercise; for a single week, also a table."""
    parts = [
        '<div style="font-size:13px;max-width:780px;padding:16px 22px;border:1px solid '
        'rgba(127,127,127,.4);border-top:5px solid #009E73;border-radius:6px">'
        f'<div style="{_SMALL};letter-spacing:.15em">KERNEL FORGE</div>'
        f'<div style="font-size:20px">{score(p.rows, " passed", " written")}</div>'
    ]
    closing = escape(p.closing)
    if row := p.following:  # link to the next exercise
        closing = closing.replace(f" in {row.exercise.notebook},", f" in {_link(row)},", 1)
    parts.append(f'<div style="margin-top:6px">{closing}</div>')
    for week, rows in p.weeks.items():
        parts.append(
            f'<div style="margin-top:16px"><b>{escape(week)}.</b> {score(rows)}</div>'
            f'<div style="{_SMALL}">{effort(rows)}</div>{_bar(done(rows) / len(rows))}'
        )
        parts += map(_notebook, by_notebook(rows).values())
    key = " &nbsp; ".join(f"{_dot(standing)} {standing}" for standing in MARKS)
    key += f" &nbsp; {_dot('passed', '2px')} squares: whole kernels"
    parts.append(f'<div style="{_SMALL};margin-top:14px">{key}</div>')
    if len(p.weeks) == 1:
        parts.append(p.table.html("margin-top:12px;white-space:nowrap"))
    return "".join(parts) + "</div>"


def _bar(part: float) -> str:
    base = "height:6px;border-radius:3px;background:"
    return (
        f'<div style="margin:4px 0;{base}rgba(127,127,127,.3)">'
        f'<div style="width:{part:.1%};{base}{_GREEN}"></div></div>'
    )


def _notebook(rows: Sequence[Row]) -> str:
    """Return a line with a notebook's link, its exercises' marks, and the number of passed
    exercises."""
    return (
        f'<div><span style="display:inline-block;width:190px">{_link(rows[0])}</span>'
        f'{_dots(rows)} <span style="{_SMALL}">{done(rows)} of {len(rows)}</span></div>'
    )


def _link(row: Row) -> str:
    """Return a link to the exercise's notebook; JupyterLab opens it in a separate tab."""
    name = escape(row.exercise.notebook or "in no notebook")
    return f'<a href="{escape(quote(row.address))}">{name}</a>' if row.address else name


def _dots(rows: Sequence[Row]) -> str:
    found = ""
    for row in rows:
        radius = "2px" if row.exercise.is_whole_kernel else "50%"
        found += _dot(row.standing, radius, ", ".join(filter(None, (row.cells[0], *row.cells[2:]))))
    return f'<span style="white-space:nowrap">{found}</span>'


def _dot(standing: str, radius: str = "50%", title: str = "") -> str:
    return (
        f'<span title="{escape(title)}" style="display:inline-block;width:12px;height:12px;'
        f'margin:2px;border-radius:{radius};vertical-align:middle;{MARKS[standing][1]}"></span>'
    )
