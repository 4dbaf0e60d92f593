"""What a notebook shows of the sanitizer's report."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from forgekit.checking.sanitize import counted
from forgekit.viz.page import beside_bar
from forgekit.viz.palette import NOTE, RIGHT, WRONG

if TYPE_CHECKING:
    from forgekit.checking.sanitize import SanitizerReport


def sanitizer_html(report: SanitizerReport) -> str:
    parts = [f"<b>{escape(report.headline)}</b>"]
    for finding in report.findings:
        title, _, rest = counted(finding).partition("\n")
        colour = WRONG if finding.severity == "error" else NOTE
        parts.append(f'<div style="margin-top:8px"><b style="color:{colour}">{escape(title)}</b>'
                     f'<div style="white-space:pre-wrap">{escape(rest)}</div></div>')  # fmt: skip
    parts += [f'<div style="margin-top:8px">{escape(text)}</div>' for text in report.changes]
    return beside_bar(RIGHT if report else WRONG, parts)
