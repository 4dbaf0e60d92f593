"""A profile as plain text of at most 100 columns, and the rows that the HTML table shows too."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forgekit.errors import display_path
from forgekit.profiling.findings import LANES, Finding
from forgekit.profiling.lines import NO_LINE, Accesses, Line
from forgekit.text import extent, plural, seconds, size

if TYPE_CHECKING:
    from forgekit.profiling.profile import Profile

__all__ = ["LEGEND", "Row", "as_text", "rows"]

WIDTH = 100
HEADS = ("line", "source", "PTX instr.", "lanes", "access", "requests", "each (ideal)", "moved")
_LEFT = (1, 4)  # columns of words
LEGEND = (
    "PTX instr.: executed, once a warp (machine code has another number). lanes: active, of 32. "
    "each: sectors a request of global, wavefronts a request of shared memory (ideal: the fewest "
    "that would do). moved: 32 bytes a sector."
)


@dataclass(frozen=True)
class Row:
    """A row of the table: of a line (its first), or of one more kind of access of that line.

    number, text, instructions, lanes are empty in a further row; share: instructions beside those
    of the line that has most, 0 to 1; wasteful: the worst finding is about this row.
    """

    number: str
    text: str
    instructions: str
    lanes: str
    access: str
    requests: str
    each: str
    unit: str
    moved: str
    share: float
    wasteful: bool
    line: Line


def rows(line: Line, most: float, finding: Finding | None) -> list[Row]:
    """The rows of a line; most: the most instructions of a line; finding: the worst, if here."""
    result = []
    count = line["warp_instructions"]
    for i, a in enumerate(line.accesses.values() or [None]):
        first = not i
        bad = finding is not None and finding.kind == (a.kind if a else LANES)
        result.append(
            Row(
                number=(str(line.number) if line.source else "–") if first else "",
                text=line.text if first else "",
                instructions=f"{count:,}" if first else "",
                lanes=f"{line['thread_efficiency']:.0f} %" if first else "",
                access=access_name(a.kind) if a else "",
                requests=f"{a.requests:,}" if a else "",
                each=_each(a) if a else "",
                unit=a.unit if a else "",
                moved=size(a.bytes_moved) if a and a.is_global else "",
                share=count / most if most and first else 0.0,
                wasteful=bad,
                line=line,
            )
        )
    return result


def access_name(kind: str) -> str:
    """`global load`; of cp.async `cp.async read` and `cp.async write`."""
    known = {"global_async": "cp.async read", "shared_async": "cp.async write"}
    return known.get(kind, kind.replace("_", " "))


def _each(a: Accesses) -> str:
    return f"{_short(a.units / a.requests)} ({_short(a.ideal / a.requests)})"


def _short(value: float) -> str:
    return f"{value:.0f}" if value == round(value) else f"{value:.1f}"


# -- what stands above and below the table, in both forms -----------------------------------------
def heading(p: Profile) -> str:
    """`transpose: 1,024 blocks (32 × 32) of 256 threads (32 × 8)`"""
    if not p.launches:
        return f"{p.name}: nothing was launched"
    if len(p.launches) == 1:
        (only,) = p.launches
        kernel = "" if only.kernel.startswith(p.name) else f"{only.kernel}, "
        blocks = extent(only.grid, "block")
        return f"{p.name}: {kernel}{blocks} of {extent(only.block, 'thread')}"
    kernels: dict[str, int] = {}
    for launch in p.launches:
        kernels[launch.kernel] = kernels.get(launch.kernel, 0) + 1
    each = ", ".join(f"{k} × {n}" if n > 1 else k for k, n in kernels.items())
    return f"{p.name}: {plural(len(p.launches), 'launch')}: {each}"


def traffic(p: Profile) -> list[str]:
    """What each tensor's memory saw, and the bound that follows."""
    if not p.launches:
        return []
    parts = []
    for t in p.tensors.values():
        done = [f"{size(n)} {verb}" for n, verb in ((t.read_bytes, "read"),
                                                   (t.written_bytes, "written")) if n]  # fmt: skip
        if done:
            whole = f" of {size(t.size_bytes)}" if len(p.launches) == 1 else ""
            parts.append(f"{t.name} {' and '.join(done)}{whole}")
    again = " in each launch" if len(p.launches) > 1 else ""
    lines = [f"device memory, each byte once{again}: {'; '.join(parts) or 'untouched'}"]
    if p.bytes_touched:
        lines.append(
            f"these {size(p.bytes_touched)} take at least {seconds(p.bound_s())} on an "
            f"{p.gpu.name} ({p.gpu.rate})"
        )
    return lines


def verdict(p: Profile) -> str:
    """The worst line and why."""
    if not p.lines:
        return "no lines to show" if p.launches else ""
    finding = p.worst
    if finding is None:
        return "no line stands out"
    kind = "" if finding.kind == LANES else f" ({access_name(finding.kind)})"
    return f"line {finding.line.number or NO_LINE}{kind}: {finding.reason}"


def several_files(p: Profile) -> bool:
    return len({x.source.filename for x in p.lines if x.source}) > 1


# -- plain text ----------------------------------------------------------------------
def as_text(p: Profile) -> str:
    """The whole profile in lines of at most 100 columns."""
    out = textwrap.wrap(heading(p), WIDTH)
    if p.lines:
        out += ["", *_table(p)]
    said = verdict(p)
    if p.worst is not None:
        said = f"> {said}"
    for text in [said, *traffic(p)]:
        out += textwrap.wrap(text, WIDTH, subsequent_indent="  ") if text else []
    if p.lines:
        out += textwrap.wrap(LEGEND, WIDTH, subsequent_indent="  ")
    out += ["", *map(repr, p.predicted.all)] if p.predicted.all else []
    return "\n".join(out)


def _table(p: Profile) -> list[str]:
    worst = p.worst
    found: list[Row | str] = []
    previous = None
    for line in p.lines:
        if several_files(p) and line.source and line.source.filename != previous:
            previous = line.source.filename
            found.append(display_path(previous))
        here = worst if worst is not None and worst.line.key == line.key else None
        found += rows(line, 1.0, here)
    pairs = [h.rpartition(" ") for h in HEADS]
    upper, lower = tuple(a for a, *_ in pairs), tuple(b for *_, b in pairs)
    cells = [upper, lower, total_cells(p)] + [_cells(r) for r in found if isinstance(r, Row)]
    widths = [max(len(c[i]) for c in cells) for i in range(len(HEADS))]
    others = sum(widths) - widths[1] + 2 * (len(HEADS) - 1) + 2
    widths[1] = max(min(widths[1], WIDTH - others), 6)
    lines = [_line(upper, widths, " "), _line(lower, widths, " ")]
    for row in found:
        if isinstance(row, str):
            lines.append(f"  {row}")
        else:
            lines.append(_line(_cells(row), widths, ">" if row.wasteful else " "))
    lines += ["", _line(total_cells(p), widths, " ")] if len(p.lines) > 1 else []
    return [*lines, ""]


def _cells(row: Row) -> tuple[str, ...]:
    return (row.number, row.text, row.instructions, row.lanes, row.access, row.requests, row.each,
            row.moved)  # fmt: skip


def total_cells(p: Profile) -> tuple[str, ...]:
    """The table's last row."""
    moved = sum(a.bytes_moved for line in p.all_lines for a in line.accesses.values())
    instructions, lanes = p.total["warp_instructions"], p.total["thread_efficiency"]
    sized = size(moved) if moved else ""
    return ("", "all lines", f"{instructions:,}", f"{lanes:.0f} %", "", "", "", sized)


def _line(cells: tuple[str, ...], widths: list[int], mark: str) -> str:
    parts = []
    for i, (text, width) in enumerate(zip(cells, widths, strict=True)):
        if len(text) > width:
            text = text[: width - 1] + "…"
        parts.append(text.ljust(width) if i in _LEFT else text.rjust(width))
    return f"{mark} " + "  ".join(parts).rstrip()
