"""Format a profile as text: the table, the line with the largest waste, and the memory traffic."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forgekit.errors import display_path
from forgekit.profiling.profiled_lines import NO_LINE, ProfiledLine
from forgekit.profiling.waste import IDLE_LANES, Waste
from forgekit.show import Shown
from forgekit.text import Table, extent, plural, seconds, size
from forgekit.vgpu import AccessCounts

if TYPE_CHECKING:
    from forgekit.profiling.profile_data import ProfileData

WIDTH = 100
HEADS = ("line", "source", "PTX\ninstr.", "lanes", "access", "requests", "each\n(ideal)", "moved")
WORDS = (1, 4)  # columns that contain words
LEGEND = (
    "PTX instr.: executed, counted once per warp (machine code has a different number). lanes: "
    "active, out of 32. each: sectors per global-memory request, wavefronts per shared-memory "
    "request (ideal: the minimum). moved: 32 bytes per sector."
)


@dataclass(frozen=True)
class ProfileRow:
    """A row of the table: a line with its first kind of access, or another kind of access by the
    same line.

    file: the file whose lines begin at this row, if there are several files. worst: the profile's
    largest waste, if it occurs at this line.
    """

    line: ProfiledLine
    access: AccessCounts | None
    first: bool
    file: str
    worst: Waste | None

    @property
    def wasteful(self) -> bool:
        """Return True if this row shows the profile's largest waste."""
        kind = self.access.kind if self.access else IDLE_LANES
        return self.worst is not None and self.worst.kind == kind

    @property
    def cells(self) -> tuple[str, ...]:
        line, a = self.line, self.access
        of_line = of_access = ("", "", "", "")
        if self.first:
            number = str(line.number) if line.source else "–"
            lanes = f"{line['thread_efficiency']:.0f} %"
            of_line = (number, line.text, f"{line['warp_instructions']:,}", lanes)
        if a is not None:
            each = f"{_short(a.units / a.requests)} ({_short(a.ideal / a.requests)})"
            moved = size(a.bytes_moved) if a.is_global else ""
            of_access = (access_name(a.kind), f"{a.requests:,}", each, moved)
        return (*of_line, *of_access)


def rows(p: ProfileData) -> Iterator[ProfileRow]:
    """Yield the rows of all displayed lines."""
    several = len({x.source.filename for x in p.lines if x.source}) > 1
    before = None
    for line in p.lines:
        file = ""
        if several and line.source and line.source.filename != before:
            before = line.source.filename
            file = display_path(before)
        worst = p.worst if p.worst is not None and p.worst.line.key == line.key else None
        for i, access in enumerate(line.accesses.values() or [None]):
            yield ProfileRow(line, access, not i, "" if i else file, worst)


def total_cells(p: ProfileData) -> tuple[str, ...]:
    """Return the table's last row."""
    moved = sum(a.bytes_moved for line in p.all_lines for a in line.accesses.values())
    instructions, lanes = p.total["warp_instructions"], p.total["thread_efficiency"]
    sized = size(moved) if moved else ""
    return ("", "all lines", f"{instructions:,}", f"{lanes:.0f} %", "", "", "", sized)


def access_name(kind: str) -> str:
    """Return text such as `global load`; for cp.async, return `cp.async read` or `cp.async
    write`."""
    known = {"global_async": "cp.async read", "shared_async": "cp.async write"}
    return known.get(kind, kind.replace("_", " "))


def _short(value: float) -> str:
    return f"{value:.0f}" if value == round(value) else f"{value:.1f}"


# -- text above and below the table -------------------------------------------------------
def heading(p: ProfileData) -> str:
    """Return text such as `transpose: 1,024 blocks (32 × 32) of 256 threads (32 × 8)`."""
    if not p.launches:
        return f"{p.name}: no kernel was launched"
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


def sampling(p: ProfileData) -> str:
    """Describe the sample of blocks that ran and the accuracy of the counts; return "" if all
    blocks ran.
    """
    parts = [launch.sample for launch in p.launches if launch.sample is not None]
    if not parts:
        return ""
    ran, n_blocks = sum(s.blocks for s in parts), sum(s.n_blocks for s in parts)
    of = f" of {plural(len(parts), 'launch')}" if len(p.launches) > 1 else ""
    return (
        f"{ran:,} of {plural(n_blocks, 'block')}{of} ran: the first, the last and one from each "
        "equal part between them; the counts are estimates; two halves of the sample differ by "
        f"{100 * max(s.disagreement for s in parts):.1f} %"
    )


def traffic(p: ProfileData) -> list[str]:
    """Describe each tensor's memory traffic and the resulting minimum time."""
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
    guessed = ", estimated" if sampling(p) else ""
    lines = [f"device memory, each byte once{again}{guessed}: {'; '.join(parts) or 'untouched'}"]
    if p.bytes_touched:
        article = "an" if p.gpu.name[:1] in "AHLR" else "a"
        lines.append(
            f"these {size(p.bytes_touched)} take at least {seconds(p.bound_s())} on {article} "
            f"{p.gpu.name} ({p.gpu.rate})"
        )
    return lines


def verdict(p: ProfileData) -> str:
    """Name the most wasteful line and the reason for its waste."""
    if not p.lines:
        return "no lines to show" if p.launches else ""
    finding = p.worst
    if finding is None:
        return "no line stands out"
    kind = "" if finding.kind == IDLE_LANES else f" ({access_name(finding.kind)})"
    return f"line {finding.line.number or NO_LINE}{kind}: {finding.reason}"


# -- two profiles ---------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Shown):
    """Two profiles in one table, with lines that have the same kind of access side by side."""

    first: ProfileData
    second: ProfileData

    @property
    def table(self) -> Table:
        """Return one row per pair of lines, then the totals. The n-th lines with a kind of access
        in the two profiles form a pair.
        """
        pairs = []
        both = [_by_kind(p) for p in (self.first, self.second)]
        for kind in dict.fromkeys([*both[0], *both[1]]):
            for pair in itertools.zip_longest(*(side.get(kind, []) for side in both)):
                cells = [c for row in pair for c in (row or ("", "", ""))]
                pairs.append((access_name(kind), *cells))
        totals = [total_cells(p) for p in (self.first, self.second)]
        last = [c for cells in totals for c in (f"{cells[2]} PTX instructions", "", cells[-1])]
        names = [n for p in (self.first, self.second) for n in (p.name, "each\n(ideal)", "moved")]
        return Table(("access", *names), [*pairs, ("all lines", *last)], left=(0, 1, 4))

    @property
    def summary(self) -> str:
        widths = {1: 24, 4: 24}
        return "\n".join(line.rstrip() for line in self.table.lines(widest=widths))


def _by_kind(p: ProfileData) -> dict[str, list[tuple[str, str, str]]]:
    """Map each kind of access to (source, units per request, units moved), once per line."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for row in rows(p):
        if row.access is not None:
            *_, each, moved = row.cells
            found.setdefault(row.access.kind, []).append((row.line.text, each, moved))
    return found


def comparison_html(shown: Comparison) -> str:
    return shown.table.html("font-size:13px;")


# -- plain text ----------------------------------------------------------------------------------
def as_text(p: ProfileData) -> str:
    """Format the whole profile as text of at most 100 columns."""
    out = [line for text in (heading(p), sampling(p)) for line in textwrap.wrap(text, WIDTH)]
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


def _table(p: ProfileData) -> list[str]:
    found = list(rows(p))
    table = Table(HEADS, [*(row.cells for row in found), total_cells(p)], left=WORDS)
    lines = table.lines()
    beyond = max(map(len, lines)) + 2 - WIDTH
    if beyond > 0:  # shorten the source text
        widest = max(len(row.cells[1]) for row in found)
        lines = table.lines(widest={1: max(widest - beyond, 6)})
    heads, body, whole = lines[:2], lines[2:-1], lines[-1]
    out = [f"  {line}" for line in heads]
    for row, line in zip(found, body, strict=True):
        out += [f"  {row.file}"] if row.file else []
        out.append(f"{'>' if row.wasteful else ' '} {line}")
    return [*out, *(["", f"  {whole}"] if len(p.lines) > 1 else []), ""]
