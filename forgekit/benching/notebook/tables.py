"""What tables and pictures of benchmarks show: quantities, tables, and the words below them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from forgekit.benching.measuring import Measured
from forgekit.benching.notebook.outcomes import BenchmarkData, Size, SweepData, VariantOutcome
from forgekit.benching.timing import Timing
from forgekit.text import Cell, Table, size

NOT_COUNTED = "not counted here"
_NONE = "–"
_SHORT, _SHORT_NAME = 44, 28  # letters of a reason in the table itself, of a name in one line


# -- quantities ----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Quantity:
    """One number of a variant.

    title: with its unit. value: of what was measured and the ceiling in GB/s; None where there is
    none. digits: after the point.
    """

    name: str
    title: str
    value: Callable[[Measured, float | None], float | None]
    digits: int = 1

    def text(self, value: float | None) -> str:
        """`1,160` or `–`"""
        return "–" if value is None else f"{value:,.{self.digits}f}"


def _ratio(
    above: str, below: str, factor: int = 1
) -> Callable[[Measured, float | None], float | None]:
    """One count for each of another, or for each byte to be moved; None where there is none."""

    def value(m: Measured, ceiling: float | None) -> float | None:
        if m.counters is None:
            return None
        whole = m.moved_bytes if below == "moved_bytes" else getattr(m.counters, below)
        return factor * getattr(m.counters, above) / whole if whole else None

    return value


COUNTED = (
    Quantity("bytes", "bytes moved for each byte needed", _ratio("global_bytes", "moved_bytes"), 2),
    Quantity("loads", "sectors a load (32 bytes each)", _ratio("load_sectors", "load_requests")),
    Quantity("stores", "sectors a store (32 bytes each)",
             _ratio("store_sectors", "store_requests")),
    Quantity("conflicts", "bank conflicts, % of wavefronts",
             _ratio("bank_conflicts", "shared_wavefronts", 100)),
    Quantity("instructions", "PTX instructions for each byte needed",
             _ratio("thread_instructions", "moved_bytes"), 2),
)  # fmt: skip
PERCENT = Quantity("percent", "% of the ceiling", lambda m, top: m.percent(top) if top else None, 0)
TIMED = (PERCENT, Quantity("gbps", "GB/s", lambda m, top: m.gbps(), 0))


def at_percentile(m: Measured, which: str) -> Measured:
    """The same with the 20th ("low") or 80th ("high") percentile of the times as its median."""
    assert m.timing is not None
    time = m.timing.p20_ms if which == "low" else m.timing.p80_ms
    return Measured(m.moved_bytes, Timing(time, time, time))


# -- cells --------------------------------------------------------------------------------------
_HEADS = {
    "gpu": ("ms", "20th to 80th", "GB/s", "% of the ceiling"),
    "virtual": ("bytes moved", "of needed", "sectors a load", "sectors a store", "bank conflicts",
                "instructions a byte", "kernels"),
}  # fmt: skip


def columns(b: BenchmarkData) -> Table:
    """The table of a benchmark of one size; beside it, where given, the recorded times."""
    cells_of = _timed if b.kind == "gpu" else _counted
    there = b.recorded if b.recorded_shape is not None else None
    heads, rows = _HEADS[b.kind], []
    for o in b.outcomes:
        style = "white-space:nowrap" if len(o.name) <= _SHORT_NAME else ""
        row = [Cell(o.name, style=style), *(cells_of(o, b) or [_in_place_of(heads, o)])]
        if there is not None:
            r = b.recorded_row(o.name)
            row.append(f"{r.gbps:,.0f} GB/s, {there.percent(r):.0f} %" if r else _NONE)
        rows.append(row)
    title = [f"recorded: {there.gpu.removeprefix('NVIDIA ')}, {there.date}"] if there else []
    return Table(("", *heads, *title), rows)


def _in_place_of(heads: Sequence[str], o: VariantOutcome) -> Cell:
    return Cell(reason(o), span=len(heads), style="opacity:.75")


def reason(o: VariantOutcome) -> str:
    """Why a variant has no numbers, in a few words."""
    if not o.failed:
        return NOT_COUNTED
    return o.failed if len(o.failed) <= _SHORT else f"{o.failed.split(':')[0]}, see below"


def _timed(o: VariantOutcome, b: BenchmarkData) -> tuple[str, ...]:
    if o.measured is None or o.measured.timing is None:
        return ()
    t = o.measured.timing
    percent, gbps = (q.text(q.value(o.measured, b.ceiling_gbps)) for q in TIMED)
    return f"{t.median_ms:.4f}", f"{t.p20_ms:.4f} to {t.p80_ms:.4f}", gbps, f"{percent} %"


def _counted(o: VariantOutcome, b: BenchmarkData) -> tuple[str, ...]:
    if o.measured is None or o.measured.counters is None:
        return ()
    c = o.measured.counters
    ratio, loads, stores, _, instructions = (q.text(q.value(o.measured, None)) for q in COUNTED)
    return (size(c.global_bytes), ratio if ratio == _NONE else f"{ratio}×", loads, stores,
            f"{c.bank_conflicts:,}", instructions, f"{c.kernels}")  # fmt: skip


def recorded_title(b: BenchmarkData) -> str:
    """`Recorded on an NVIDIA H200, 2026-11-21: 8192×8192 float32`"""
    if b.recorded is None or b.recorded_shape is None:
        return ""
    shape = size_text(b.recorded_shape)
    return f"Recorded on an {b.recorded.gpu}, {b.recorded.date}: {shape} {b.dtype}"


def sweep_columns(s: SweepData) -> list[tuple[str, Table]]:
    """Of each quantity its title and its table: sizes down, variants across."""
    here: Sequence[Quantity] = TIMED if s.kind == "gpu" else COUNTED
    return [(q.title, _sweep_table(s, q)) for q in here]


def _sweep_table(s: SweepData, q: Quantity) -> Table:
    rows = []
    for k, (length, b) in enumerate(zip(s.sizes, s.benchmarks, strict=True)):
        found: list[Measured | None] = [s.measured(name)[k] for name in s.names]
        values = [q.value(m, b.ceiling_gbps) if m is not None else None for m in found]
        rows.append([size_text(length), *(q.text(v) for v in values)])
    return Table((s.axis, *s.names), rows)


def size_text(size: Size) -> str:
    """`4,096`, or `8192×8192`"""
    return f"{size:,}" if isinstance(size, int) else "×".join(map(str, size))


# -- what stands below --------------------------------------------------------------------------
def notes(benchmarks: Sequence[BenchmarkData], sizes: Sequence[Size] = ()) -> list[str]:
    """What the numbers of a benchmark, or of a sweep over sizes, mean, and what is missing."""
    b = benchmarks[0]
    source = "as given" if b.moved_given else "each tensor once, read or written"
    needed = "of the bytes needed" if sizes else f"of {size(b.moved_bytes)}"
    if b.kind == "gpu":
        found = [
            f"Median of calls with a cold L2 cache. GB/s: 10⁹ bytes a second {needed}, {source}.",
            f"Ceiling: {b.ceiling_gbps or 0:,.0f} GB/s, a device-to-device copy in the same run, "
            "bytes read plus written.",
        ]
    elif sizes:
        found = [f"Counted, not timed. Bytes needed: {source}; a sector is 32 bytes."]
    else:
        found = [
            f"Counted, not timed. Needed: {size(b.moved_bytes)}, {source}. Bytes moved: 32 a "
            "sector, as asked of L1 (and bulk copies); instructions are PTX's, of threads, for "
            "each byte needed."
        ]
    if all(one.checked for one in benchmarks):
        found.append("Results were compared with a reference.")
    return [*found, *_missing(benchmarks, sizes), *_of_recorded(benchmarks[-1])]


def _missing(benchmarks: Sequence[BenchmarkData], sizes: Sequence[Size]) -> list[str]:
    """Which variants have no numbers, and why; of a sweep the first reason of each."""
    failed: dict[str, tuple[str, list[str]]] = {}
    uncounted: dict[str, None] = {}
    for k, b in enumerate(benchmarks):
        for o in b.outcomes:
            if o.failed:
                where = size_text(sizes[k]) if sizes else ""
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


def _of_recorded(b: BenchmarkData) -> list[str]:
    if b.recorded is None:
        return []
    if b.recorded_shape is None:
        steps = ", ".join(map(repr, dict.fromkeys(r.step for r in b.recorded.rows)))
        return [f"Recorded on an {b.recorded.gpu}, but no variant here is among the steps {steps} "
                f"in {b.dtype}."]  # fmt: skip
    ceiling = f"{b.recorded.ceiling_gbps:,.0f} GB/s"
    return [f"{recorded_title(b)}; percent of a copy of 1 GB there, {ceiling}."]
