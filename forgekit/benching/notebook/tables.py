"""Benchmarks as tables: plain text, and HTML for a notebook on light and on dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from forgekit.benching.notebook.quantities import COUNTED, TIMED, Quantity
from forgekit.text import size as bytes_told

if TYPE_CHECKING:
    from forgekit.benching.measuring import Measured
    from forgekit.benching.notebook.results import Benchmark, Outcome, Size, Sweep

__all__ = ["NOT_COUNTED", "Row", "Table", "columns", "html", "notes", "reason", "recorded_title",
           "size_told", "sweep_columns", "sweep_notes", "text"]  # fmt: skip

NOT_COUNTED = "not counted here"
_NONE = "–"
_SHORT, _SHORT_NAME = 44, 28  # letters of a reason in the table itself, of a name in one line


@dataclass(frozen=True)
class Row:
    """words: why there are no numbers, in place of the cells; beside: the recorded time."""

    name: str
    cells: tuple[str, ...] = ()
    words: str = ""
    beside: str = ""


@dataclass(frozen=True)
class Table:
    """head: of the first column, of the cells, and of what stands beside (empty: nothing does)."""

    head: tuple[str, ...]
    rows: tuple[Row, ...]
    beside: str = ""


# -- cells --------------------------------------------------------------------------------------
_HEADS = {
    "gpu": ("ms", "20th to 80th", "GB/s", "% of the ceiling"),
    "virtual": ("bytes moved", "of needed", "sectors a load", "sectors a store", "bank conflicts",
                "instructions a byte", "kernels"),
}  # fmt: skip


def columns(b: Benchmark) -> Table:
    """The table of a benchmark of one size."""
    told = _timed if b.kind == "gpu" else _counted
    there = b.recorded if b.recorded_shape is not None else None
    rows = []
    for o in b.outcomes:
        cells = told(o, b)
        beside = ""
        if there is not None:
            r = b.recorded_row(o.name)
            beside = f"{r.gbps:,.0f} GB/s, {there.percent(r):.0f} %" if r else _NONE
        rows.append(Row(o.name, cells, "" if cells else reason(o), beside))
    title = f"recorded: {there.gpu.removeprefix('NVIDIA ')}, {there.date}" if there else ""
    return Table(("", *_HEADS[b.kind]), tuple(rows), title)


def reason(o: Outcome) -> str:
    """Why a variant has no numbers, in a few words."""
    if not o.failed:
        return NOT_COUNTED
    return o.failed if len(o.failed) <= _SHORT else f"{o.failed.split(':')[0]}, see below"


def _timed(o: Outcome, b: Benchmark) -> tuple[str, ...]:
    if o.measured is None or o.measured.timing is None:
        return ()
    t = o.measured.timing
    percent, gbps, _ = (q.told(q.value(o.measured, b.ceiling_gbps)) for q in TIMED)
    return f"{t.median_ms:.4f}", f"{t.p20_ms:.4f} to {t.p80_ms:.4f}", gbps, f"{percent} %"


def _counted(o: Outcome, b: Benchmark) -> tuple[str, ...]:
    if o.measured is None or o.measured.counters is None:
        return ()
    c = o.measured.counters
    ratio, loads, stores, _, instructions = (q.told(q.value(o.measured, None)) for q in COUNTED)
    return (bytes_told(c.global_bytes), ratio if ratio == _NONE else f"{ratio}×", loads, stores,
            f"{c.bank_conflicts:,}", instructions, f"{c.kernels}")  # fmt: skip


def recorded_title(b: Benchmark) -> str:
    """`Recorded on an NVIDIA H200, 2026-11-21: 8192×8192 float32`"""
    if b.recorded is None or b.recorded_shape is None:
        return ""
    size = size_told(b.recorded_shape)
    return f"Recorded on an {b.recorded.gpu}, {b.recorded.date}: {size} {b.dtype}"


def sweep_columns(s: Sweep) -> list[tuple[str, Table]]:
    """Of each quantity its title and its table: sizes down, variants across."""
    here: Sequence[Quantity] = TIMED[:2] if s.kind == "gpu" else COUNTED
    return [(q.title, _sweep_table(s, q)) for q in here]


def _sweep_table(s: Sweep, q: Quantity) -> Table:
    rows = []
    for k, (size, b) in enumerate(zip(s.sizes, s.benchmarks, strict=True)):
        found: list[Measured | None] = [s.measured(name)[k] for name in s.names]
        values = [q.value(m, b.ceiling_gbps) if m is not None else None for m in found]
        rows.append(Row(size_told(size), tuple(q.told(v) for v in values)))
    return Table((s.axis, *s.names), tuple(rows))


def size_told(size: Size) -> str:
    """`4,096`, or `8192×8192`"""
    return f"{size:,}" if isinstance(size, int) else "×".join(map(str, size))


# -- what stands below --------------------------------------------------------------------------
def notes(b: Benchmark) -> list[str]:
    """What the numbers of a benchmark mean, and what is missing."""
    moved = bytes_told(b.moved_bytes)
    source = "as given" if b.moved_given else "each tensor once, read or written"
    if b.kind == "gpu":
        found = [
            f"Median of calls with a cold L2 cache. GB/s: 10⁹ bytes a second of {moved}, {source}."
        ]
        if b.ceiling_gbps:
            copy = "a device-to-device copy in the same run, bytes read plus written"
            found.append(f"Ceiling: {b.ceiling_gbps:,.0f} GB/s, {copy}.")
    else:
        found = [
            f"Counted, not timed. Needed: {moved}, {source}. Bytes moved: 32 a sector, as asked of "
            "L1 (and bulk copies); instructions are PTX's, of threads, for each byte needed."
        ]
    return [*found, *_checked([b]), *_missing([b]), *_of_recorded(b)]


def sweep_notes(s: Sweep) -> list[str]:
    """What the numbers of a sweep mean, and what is missing."""
    given = s.benchmarks[0].moved_given
    source = "as given" if given else "each tensor once, read or written"
    ceiling = s.benchmarks[0].ceiling_gbps
    if s.kind == "gpu":
        found = [f"Median of calls with a cold L2 cache. Bytes: {source}."]
        if ceiling:
            found.append(f"Ceiling: {ceiling:,.0f} GB/s, a copy in the same run.")
    else:
        found = [f"Counted, not timed. Bytes needed: {source}; a sector is 32 bytes."]
    return [
        *found,
        *_checked(s.benchmarks),
        *_missing(s.benchmarks, s.sizes),
        *_of_recorded(s.benchmarks[-1]),
    ]


def _checked(benchmarks: Sequence[Benchmark]) -> list[str]:
    return ["Results were compared with a reference."] if all(b.checked for b in benchmarks) else []


def _missing(benchmarks: Sequence[Benchmark], sizes: Sequence[Size] = ()) -> list[str]:
    """Which variants have no numbers, and why; of a sweep the first reason of each."""
    failed: dict[str, tuple[str, list[str]]] = {}
    uncounted: dict[str, None] = {}
    for k, b in enumerate(benchmarks):
        for o in b.outcomes:
            if o.failed:
                where = size_told(sizes[k]) if sizes else ""
                failed.setdefault(o.name, (o.failed, []))[1].append(where)
            elif b.kind != "gpu" and o.measured is not None and o.measured.counters is None:
                uncounted[o.name] = None
    found = []
    for name, (why, places) in failed.items():
        more = f", {len(places) - 1} more" if len(places) > 1 else ""
        found.append(f"{name}{f' (at {places[0]}{more})' if sizes else ''}: {why}")
    if uncounted:
        they = "they" if len(uncounted) > 1 else "it"
        found.append(
            f"{', '.join(uncounted)}: {NOT_COUNTED}, {they} launched nothing on the virtual GPU."
        )
    return found


def _of_recorded(b: Benchmark) -> list[str]:
    if b.recorded is None:
        return []
    if b.recorded_shape is None:
        steps = ", ".join(map(repr, dict.fromkeys(r.step for r in b.recorded.rows)))
        return [f"Recorded on an {b.recorded.gpu}, but no variant here is among the steps {steps} "
                f"in {b.dtype}."]  # fmt: skip
    ceiling = f"{b.recorded.ceiling_gbps:,.0f} GB/s"
    return [f"{recorded_title(b)}; percent of a copy of 1 GB there, {ceiling}."]


# -- as text and as HTML ------------------------------------------------------------------------
def text(table: Table) -> str:
    """Columns side by side, numbers to the right; words in their place where there are none."""
    cells = [table.head[1:], *(r.cells for r in table.rows if r.cells)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(table.head) - 1)]
    first = max(len(name) for name in (table.head[0], *(r.name for r in table.rows)))
    whole = sum(widths) + 2 * (len(widths) - 1)
    whole = max(whole, *(len(r.words) for r in table.rows)) if table.rows else whole
    last = max(len(words) for words in (table.beside, *(r.beside for r in table.rows)))

    def line(name: str, middle: str, beside: str) -> str:
        return f"{name.ljust(first)}  {middle.ljust(whole)}  {beside.rjust(last)}".rstrip()

    def joined(row: tuple[str, ...]) -> str:
        return "  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True))

    lines = [line(table.head[0], joined(table.head[1:]), table.beside)]
    lines += [line(r.name, joined(r.cells) if r.cells else r.words, r.beside) for r in table.rows]
    return "\n".join(lines)


_CELL = "padding:3px 9px;border:0;background:transparent;vertical-align:top;"
_NUMBER = _CELL + "text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums;"
_NAME = _CELL + "text-align:left;"
_HEAD = "border-bottom:1px solid currentColor;white-space:normal;font-weight:600"


def html(headline: str, parts: Sequence[tuple[str, Table]], below: Sequence[str]) -> str:
    """Tables with a headline above and notes below; several stand side by side, with titles."""
    bodies = []
    for title, table in parts:
        head = f'<div style="margin:6px 0 2px;font-weight:600">{escape(title)}</div>'
        bodies.append(f"<div>{head if title else ''}{_html_table(table)}</div>")
    small = "".join(f"<div>{escape(note)}</div>" for note in below)
    return (
        '<div style="font-size:13px;line-height:1.45;max-width:800px">'
        f'<div style="margin:4px 0 6px">{escape(headline)}</div>'
        '<div style="overflow-x:auto;display:flex;flex-wrap:wrap;gap:4px 28px">'
        f"{''.join(bodies)}</div>"
        f'<div style="opacity:.7;font-size:11px;margin:6px 0">{small}</div></div>'
    )


def _html_table(table: Table) -> str:
    head = (*table.head, *([table.beside] if table.beside else []))
    heads = "".join(
        f'<th style="{_NUMBER if k else _NAME}{_HEAD}">{escape(c)}</th>' for k, c in enumerate(head)
    )
    rows = "".join(
        f'<tr style="background:transparent">{_html_row(r, table)}</tr>' for r in table.rows
    )
    return (
        '<table style="border-collapse:collapse;margin:0;font-size:12px;color:inherit;border:0">'
        f'<thead><tr style="background:transparent">{heads}</tr></thead><tbody>{rows}</tbody>'
        "</table>"
    )


def _html_row(row: Row, table: Table) -> str:
    nowrap = "white-space:nowrap;" if len(row.name) <= _SHORT_NAME else ""
    name = f'<td style="{_NAME}{nowrap}">{escape(row.name)}</td>'
    if row.cells:
        middle = "".join(f'<td style="{_NUMBER}">{escape(c)}</td>' for c in row.cells)
    else:
        span = len(table.head) - 1
        middle = f'<td colspan="{span}" style="{_NAME}opacity:.75">{escape(row.words)}</td>'
    beside = f'<td style="{_NUMBER}">{escape(row.beside)}</td>' if table.beside else ""
    return name + middle + beside
