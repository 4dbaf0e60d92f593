"""What a notebook shows of a check: the report, the first wrong elements, a picture of all."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from forgekit.show import draw
from forgekit.viz.mismatch import mismatch_map
from forgekit.viz.page import beside_bar
from forgekit.viz.palette import RIGHT, WRONG

if TYPE_CHECKING:
    from forgekit.checking.check_report import CheckReport


def check_html(report: CheckReport) -> str:
    colour = RIGHT if report.ok else WRONG
    mark, _, rest = report.headline.partition("  ")
    parts = [f'<div><b style="color:{colour}">{mark}</b> <span>{escape(rest)}</span></div>']
    parts += [f'<div style="opacity:.85">{escape(line)}</div>' for line in report.details]
    if report.first:
        parts.append(report.table.html("margin:.3em 0;"))
    if not report.ok and not report.useless:
        parts.append(draw(mismatch_map(report), "html"))
    return beside_bar(colour, parts)
