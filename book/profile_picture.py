"""Draw the README's picture: two transposes, line by line, with the virtual GPU's counts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from drawing import svg, text

from forgekit.profiling.profile import Profile
from forgekit.profiling.profiled_lines import ProfiledLine
from forgekit.vgpu import AccessCounts

__all__ = ["Panel", "picture"]

WIDTH, ROW, MARGIN = 1110, 23, 24
COUNTS = 628  # px, the left edge of the counts
SMALL = 200  # px, the side of the drawn part of Y


@dataclass(frozen=True)
class Panel:
    """A transpose: its title, its profile, and an SVG fragment that shows a store's sectors."""

    title: str
    profile: Profile
    store: str


def picture(panels: Sequence[Panel], theme: int) -> str:
    """Draw all panels on a sheet, one below the other. theme: 0 for light, 1 for dark."""
    body: list[str] = []
    y = MARGIN
    for panel in panels:
        drawn, y = _panel(panel, y)
        body += drawn
    height = round(y)
    size = f'width="{WIDTH - 1}" height="{height - 1}"'
    sheet = f'<rect class="sheet rim-s" x="0.5" y="0.5" {size} rx="10"/>'
    return svg(WIDTH, height, [sheet, *body], theme)


def _panel(panel: Panel, y: float) -> tuple[list[str], float]:
    finding = panel.profile.worst
    title, top = text(MARGIN, y + 14, panel.title, size=17, weight=650), y
    body = [title, text(COUNTS, y + 14, "per execution by a warp", role="dim")]
    y += 36
    first = panel.profile.lines[0].number
    counted = {line.number: line for line in panel.profile.lines}
    for number, source in enumerate(_source(panel.profile.lines[0]), first):
        accesses = counted[number].accesses if number in counted else {}
        told = [_told(kind, a) for kind, a in accesses.items()]
        bad = finding is not None and finding.line.number == number
        tall = ROW * max(len(told), 1)
        if bad:
            wide = WIDTH - SMALL - 2 * MARGIN - 12
            body.append(
                f'<rect class="glow" x="{MARGIN - 8}" y="{y - 1}" width="{wide}" '
                f'height="{tall + 2}" rx="4"/>'
            )
        body.append(_code(number - first + 1, source, y))
        for k, (words, wasteful) in enumerate(told):
            role = "wrong" if wasteful else "ink"
            weight = 650 if wasteful else 400
            body.append(text(COUNTS, y + 15 + k * ROW, words, role=role, weight=weight))
        y += tall
    role, words = "accent", _well(panel.profile)
    if finding:
        role, words = "wrong", f"line {finding.line.number - first + 1}: {finding.reason}"
    body.append(text(MARGIN, y + 22, words, role=role))
    x = WIDTH - MARGIN - SMALL
    body.append(
        f'<svg x="{x}" y="{top + 2}" width="{SMALL}" height="{SMALL}" '
        f'viewBox="0 0 320 320">{panel.store}</svg>'
    )
    body.append(text(x, top + SMALL + 18, "one store to Y by a warp", role="dim"))
    return body, max(y + 22, top + SMALL + 18) + 30


def _told(kind: str, a: AccessCounts) -> tuple[str, bool]:
    """Return text such as `store: 32 sectors, 4 would do`, and True if fewer sectors would do."""
    each, ideal = a.units / a.requests, a.ideal / a.requests
    name = kind.removeprefix("global_").replace("_", " ")
    words = f"{name}: {each:g} {a.unit}{'' if each == 1 else 's'}"
    return (f"{words}, {ideal:g} would do", True) if a.units > a.ideal else (words, False)


def _well(profile: Profile) -> str:
    traffic = profile.tensors.values()
    touched = sum(t.read_bytes + t.written_bytes for t in traffic)
    moved = profile["global_load_bytes_moved"] + profile["global_store_bytes_moved"]
    return f"no line stands out: {moved:,} bytes are moved, and {touched:,} are needed"


def _source(first: ProfiledLine) -> list[str]:
    """Return a kernel's source lines, from its `def` to the next empty line."""
    assert first.source is not None
    lines = Path(first.source.filename).read_text(encoding="utf-8").splitlines()
    return list(itertools.takewhile(str.strip, lines[first.number - 1 :]))


def _code(number: int, source: str, y: float) -> str:
    return (text(MARGIN, y + 15, f"{number:2}", role="dim", mono=True)
            + text(MARGIN + 28, y + 15, source, mono=True))  # fmt: skip
