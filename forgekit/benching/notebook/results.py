"""Hold the results of `fk.bench` and `fk.sweep` as data, and format them as tables and text."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from forgekit.benching.measuring import Measured
from forgekit.benching.recorded import Recorded, RecordedRow
from forgekit.benching.timing import Timing
from forgekit.errors import brief, usage_error
from forgekit.profiling.predicting.predicted import PredictedTime
from forgekit.show import Picture, Shown, draw
from forgekit.text import Cell, Table, plural, size

Size = int | tuple[int, ...]

NOT_COUNTED = "not counted here"
_NONE = "–"
_SHORT, _SHORT_NAME = 44, 28  # maximum length of a reason in a table, and of a name, in characters


@dataclass(frozen=True)
class Quantity:
    """A quantity reported for each variant.

    title: the name, including the unit. value: a function that takes the measurement and the
    ceiling in GB/s and returns a number or None. digits: the number of digits after the decimal
    point.
    """

    name: str
    title: str
    value: Callable[[Measured, float | None], float | None]
    digits: int = 1

    def text(self, value: float | None) -> str:
        """Return text such as `1,160` or `–`."""
        return _NONE if value is None else f"{value:,.{self.digits}f}"


def _ratio(
    above: str, below: str, factor: int = 1
) -> Callable[[Measured, float | None], float | None]:
    """Return a function that divides one count by another, or by the bytes to move; the function
    returns None if either number is unknown."""

    def value(m: Measured, ceiling: float | None) -> float | None:
        if m.counters is None:
            return None
        whole = m.moved_bytes if below == "moved_bytes" else getattr(m.counters, below)
        return factor * getattr(m.counters, above) / whole if whole else None

    return value


COUNTED = (
    Quantity("bytes", "bytes moved per byte needed", _ratio("global_bytes", "moved_bytes"), 2),
    Quantity("loads", "sectors per load (32 bytes each)", _ratio("load_sectors", "load_requests")),
    Quantity("stores", "sectors per store (32 bytes each)",
             _ratio("store_sectors", "store_requests")),
    Quantity("conflicts", "bank conflicts, % of wavefronts",
             _ratio("bank_conflicts", "shared_wavefronts", 100)),
    Quantity("instructions", "PTX instructions per byte needed",
             _ratio("thread_instructions", "moved_bytes"), 2),
)  # fmt: skip
PERCENT = Quantity("percent", "% of the ceiling", lambda m, top: m.percent(top) if top else None, 0)
TIMED = (PERCENT, Quantity("gbps", "GB/s", lambda m, top: m.gbps(), 0))


def at_percentile(m: Measured, which: str) -> Measured:
    """Return a copy of the measurement in which the 20th ("low") or 80th ("high") percentile of the
    times replaces the median.
    """
    assert m.timing is not None
    time = m.timing.p20_ms if which == "low" else m.timing.p80_ms
    return Measured(m.moved_bytes, Timing(time, time, time))


# -- results --------------------------------------------------------------------------------------
@dataclass(frozen=True)
class VariantOutcome:
    """The outcome of a variant: its cost, or None and the reason why it was not measured."""

    name: str
    measured: Measured | None
    failed: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Benchmark(Shown):
    """Variants of a computation, measured in the same run; a notebook shows them as a table.

    Attributes:
        outcomes: one VariantOutcome per variant, in the given order; `b["naive"]` is the cost of
            the variant "naive".
        kind: "gpu" (times) or "virtual" (counts). where: the target's name.
        arguments: text that gives the arguments' sizes and types; shape, dtype: those of the first
            tensor.
        moved_bytes: the bytes that a call must move; moved_given: True if the user passed them.
        ceiling_gbps: the rate of a copy in the same run, in GB/s; None on the virtual GPU.
        checked: True if the results were compared with a reference.
        recorded: times recorded on a GPU, or None. date: the date of the measurement.
    """

    outcomes: tuple[VariantOutcome, ...]
    kind: str
    where: str
    arguments: str
    shape: tuple[int, ...]
    dtype: str
    moved_bytes: int
    moved_given: bool
    ceiling_gbps: float | None
    checked: bool
    recorded: Recorded | None
    date: str

    def __getitem__(self, name: str) -> Measured:
        """Return the cost of a variant.

        Raises:
            UsageError: no variant has this name, or the variant was not measured.
        """
        by_name = {o.name: o for o in self.outcomes}
        found = by_name.get(name) if isinstance(name, str) else None
        if found is None:
            known = ", ".join(map(repr, by_name))
            raise usage_error("variant", brief(name), f"one of {known}", "choose one")
        if found.measured is None:
            raise usage_error(name, found.failed, "a variant that runs", "correct the variant")
        return found.measured

    @property
    def failed(self) -> dict[str, str]:
        """Map each variant that was not measured to the reason."""
        return {o.name: o.failed for o in self.outcomes if o.failed}

    # -- recorded times -------------------------------------------------------------------------
    @property
    def recorded_shape(self) -> tuple[int, ...] | None:
        """Return the recorded shape to show: the first tensor's shape if it was recorded, otherwise
        the largest one with the first tensor's dtype.
        """
        names = {o.name for o in self.outcomes}
        rows = self.recorded.rows if self.recorded is not None else ()
        shapes = {r.shape for r in rows if r.step in names and r.dtype == self.dtype}
        if self.shape in shapes:
            return self.shape
        return max(shapes, key=lambda s: (math.prod(s), s), default=None)

    def recorded_row(self, name: str) -> RecordedRow | None:
        """Return the recorded row of the step with the variant's name and dtype, or None."""
        rows = self.recorded.rows if self.recorded is not None else ()
        wanted = name, self.dtype, self.recorded_shape
        return next((r for r in rows if (r.step, r.dtype, r.shape) == wanted), None)

    # -- text -------------------------------------------------------------------------------------
    @property
    def headline(self) -> str:
        """Return a line that states the target, the date and the arguments."""
        return f"{self.place}: {self.arguments}"

    @property
    def place(self) -> str:
        """Return the target's name and, for a GPU, the date; counts do not depend on the date."""
        timed = self.kind == "gpu"
        return f"{self.where}, {self.date}" if timed else f"Counted on the {self.where}"

    @property
    def notes(self) -> list[str]:
        """Explain the numbers, and why any are missing."""
        return notes([self])

    @property
    def summary(self) -> str:
        """Return the headline, the table and the notes in plain text."""
        return "\n".join([self.headline, "", *columns(self).lines(), "", *self.notes])

    # -- pictures -------------------------------------------------------------------------------
    def plot(self) -> Picture:
        """Draw bars: on a GPU the rate of each variant next to the ceiling; on the virtual GPU its
        counts, next to recorded times."""
        return draw(self, "bars")

    def roofline(self) -> Picture:
        """Draw instructions per second over PTX instructions per byte, with the limits of an H200's
        memory bandwidth and issue rate.

        Each point is a bound, not a measurement: the highest rate that the data sheet allows for a
        kernel that executes these instructions and moves these bytes. Recorded rates are lower.
        Source: Williams, Waterman, Patterson, "Roofline" (2009).

        Raises:
            UsageError: there are no counts, as on a GPU.
        """
        return draw(self, "roofline")


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(Shown):
    """Variants measured at several sizes; a notebook shows them as tables.

    Attributes:
        sizes: the sizes, in the given order. benchmarks: one Benchmark per size. axis: the label of
            the plot's size axis.
    """

    sizes: tuple[Size, ...]
    benchmarks: tuple[Benchmark, ...]
    axis: str

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the variants across all sizes, in order."""
        return tuple(dict.fromkeys(o.name for b in self.benchmarks for o in b.outcomes))

    @property
    def kind(self) -> str:
        return self.benchmarks[0].kind

    @property
    def headline(self) -> str:
        b = self.benchmarks[0]
        ends = (size(x.moved_bytes) for x in (b, self.benchmarks[-1]))
        moved = " to ".join(dict.fromkeys(ends))
        return f"{b.place}: {plural(len(self.sizes), 'size')}, {b.dtype}, moving {moved}"

    def __getitem__(self, length: Size) -> Benchmark:
        """Return the Benchmark for a size. Raise UsageError if the sweep does not contain this
        size.
        """
        if length in self.sizes:
            return self.benchmarks[self.sizes.index(length)]
        known = ", ".join(map(str, self.sizes))
        raise usage_error("size", brief(length), f"one of {known}", "choose one")

    def measured(self, name: str) -> list[Measured | None]:
        """Return a variant's cost at each size; None at sizes where it was not measured."""
        found = [{o.name: o.measured for o in b.outcomes} for b in self.benchmarks]
        return [by_name.get(name) for by_name in found]

    @property
    def notes(self) -> list[str]:
        """Explain the numbers, and why any are missing."""
        return notes(self.benchmarks, self.sizes)

    @property
    def summary(self) -> str:
        """Return the headline, a table per quantity, and the notes in plain text."""
        found = [[title, *table.lines(), ""] for title, table in sweep_columns(self)]
        return "\n".join([self.headline, "", *itertools.chain(*found), *self.notes])

    def plot(self) -> Picture:
        """Draw one line per variant across the sizes: on a GPU, the percentage of the ceiling, with
        a band from the 20th to the 80th percentile; on the virtual GPU, all counts.
        """
        return draw(self, "lines")


# -- cells --------------------------------------------------------------------------------------
_HEADS = {
    "gpu": ("ms", "20th to 80th percentile", "GB/s", "% of the ceiling"),
    "virtual": ("bytes moved", "÷ needed", "sectors per load", "sectors per store", "bank "
    "conflicts",
                "instructions per byte", "kernels"),
}  # fmt: skip


def columns(b: Benchmark) -> Table:
    """Return a benchmark's table, including recorded times if there are any."""
    cells_of = _timed if b.kind == "gpu" else _counted
    there = b.recorded if b.recorded_shape is not None else None
    heads, rows = _HEADS[b.kind] + _predicted_heads(b), []
    for o in b.outcomes:
        style = "white-space:nowrap" if len(o.name) <= _SHORT_NAME else ""
        none = Cell(reason(o), span=len(heads), style="opacity:.75")
        row = [Cell(o.name, style=style), *(cells_of(o, b) or [none])]
        if there is not None:
            r = b.recorded_row(o.name)
            row.append(f"{r.gbps:,.0f} GB/s, {there.percent(r):.0f} %" if r else _NONE)
        rows.append(row)
    title = [f"recorded: {there.gpu.removeprefix('NVIDIA ')}, {there.date}"] if there else []
    return Table(("", *heads, *title), rows)


def reason(o: VariantOutcome) -> str:
    """Return a short reason why a variant has no numbers."""
    if not o.failed:
        return NOT_COUNTED
    return o.failed if len(o.failed) <= _SHORT else f"{o.failed.split(':')[0]}; see below"


def _timed(o: VariantOutcome, b: Benchmark) -> tuple[str, ...]:
    if o.measured is None or o.measured.timing is None:
        return ()
    t = o.measured.timing
    percent, gbps = (q.text(q.value(o.measured, b.ceiling_gbps)) for q in TIMED)
    return f"{t.median_ms:.4f}", f"{t.p20_ms:.4f} to {t.p80_ms:.4f}", gbps, f"{percent} %"


def _counted(o: VariantOutcome, b: Benchmark) -> tuple[str, ...]:
    if o.measured is None or o.measured.counters is None:
        return ()
    c = o.measured.counters
    ratio, loads, stores, _, instructions = (q.text(q.value(o.measured, None)) for q in COUNTED)
    predicted = [_predicted_text(o.measured) for _ in _predicted_heads(b)]
    return (size(c.global_bytes), ratio if ratio == _NONE else f"{ratio}×", loads, stores,
            f"{c.bank_conflicts:,}", instructions, f"{c.kernels}", *predicted)  # fmt: skip


# -- predicted times ----------------------------------------------------------------------------
def _predicted(b: Benchmark) -> dict[str, PredictedTime]:
    """Map each counted variant to its PredictedTime, which may state reasons instead of a time."""
    found = {o.name: o.measured.predicted for o in b.outcomes if o.measured is not None}
    return {name: p for name, p in found.items() if p is not None}


def _predicted_heads(b: Benchmark) -> tuple[str, ...]:
    """Return the column heading, such as `predicted µs on an H200`; without counts, return an empty
    tuple.
    """
    return tuple(f"predicted µs on {p.place}" for p in [*_predicted(b).values()][:1])


def _predicted_text(m: Measured | None) -> str:
    return _NONE if m is None or m.predicted is None else m.predicted.us_text


def _predicted_notes(benchmarks: Sequence[Benchmark]) -> list[str]:
    """Explain the predicted times, and why any are missing."""
    found = [item for b in benchmarks for item in _predicted(b).items()]
    if not found:
        return []
    text = (
        "Predicted times are computed from the counts, not measured; nine out of ten measured "
        "times are within the interval."
    )
    reasons = {name: " and ".join(p.reasons) for name, p in reversed(found) if p.us is None}
    scaled = found[0][1].uncalibrated
    return [
        f"{text} {scaled[0].upper()}{scaled[1:]}." if scaled else text,
        *(f"{name}: no prediction, because {reasons[name]}." for name in reversed(reasons)),
    ]


def recorded_title(b: Benchmark) -> str:
    """Return text such as `Recorded on an NVIDIA H200, 2026-11-21: 8192×8192 float32`."""
    if b.recorded is None or b.recorded_shape is None:
        return ""
    shape = size_text(b.recorded_shape)
    return f"Recorded on an {b.recorded.gpu}, {b.recorded.date}: {shape} {b.dtype}"


def sweep_columns(s: Sweep) -> list[tuple[str, Table]]:
    """Return a title and a table for each quantity, with one row per size and one column per
    variant.
    """
    here: Sequence[Quantity] = TIMED if s.kind == "gpu" else COUNTED
    tables = [(q.title, _sweep_table(s, functools.partial(_quantity, q))) for q in here]
    titles = dict.fromkeys(head for b in s.benchmarks for head in _predicted_heads(b))
    return [*tables, *((t, _sweep_table(s, lambda m, _: _predicted_text(m))) for t in titles)]


def _quantity(q: Quantity, m: Measured | None, ceiling: float | None) -> str:
    return q.text(None if m is None else q.value(m, ceiling))


def _sweep_table(s: Sweep, text: Callable[[Measured | None, float | None], str]) -> Table:
    rows = []
    for k, (length, b) in enumerate(zip(s.sizes, s.benchmarks, strict=True)):
        found: list[Measured | None] = [s.measured(name)[k] for name in s.names]
        rows.append([size_text(length), *(text(m, b.ceiling_gbps) for m in found)])
    return Table((s.axis, *s.names), rows)


def size_text(size: Size) -> str:
    """Return text such as `4,096` or `8192×8192`."""
    return f"{size:,}" if isinstance(size, int) else "×".join(map(str, size))


# -- notes below the table
# --------------------------------------------------------------------------
def notes(benchmarks: Sequence[Benchmark], sizes: Sequence[Size] = ()) -> list[str]:
    """Explain the numbers of a benchmark or of a sweep over sizes, and why any are missing."""
    b = benchmarks[0]
    source = "as given" if b.moved_given else "each tensor read or written once"
    needed = "the bytes needed" if sizes else size(b.moved_bytes)
    if b.kind == "gpu":
        found = [
            "Times are medians of calls with a cold L2 cache. GB/s (10⁹ bytes per second) counts "
            f"{needed} ({source}).",
            f"Ceiling: {b.ceiling_gbps or 0:,.0f} GB/s, the rate of a device-to-device copy in the "
            "same run, counting bytes read and bytes written.",
        ]
    elif sizes:
        found = [f"Counted, not timed. Bytes needed: {source}. A sector is 32 bytes."]
    else:
        found = [
            f"Counted, not timed. Needed: {size(b.moved_bytes)} ({source}). Bytes moved: 32 per "
            "sector requested from L1, plus bulk copies. Instructions: PTX instructions per byte "
            "needed, counted per thread."
        ]
    if all(one.checked for one in benchmarks):
        found.append("Results were compared with a reference.")
    return [*found, *_predicted_notes(benchmarks), *_missing(benchmarks, sizes),
            *_of_recorded(benchmarks[-1])]  # fmt: skip


def _missing(benchmarks: Sequence[Benchmark], sizes: Sequence[Size]) -> list[str]:
    """List the variants without numbers and the reason for each; for a sweep, the first reason."""
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
        more = f" and {plural(len(places) - 1, 'other size')}" if len(places) > 1 else ""
        found.append(f"{name}{f' (at {places[0]}{more})' if sizes else ''}: {why}")
    if uncounted:
        they = "they" if len(uncounted) > 1 else "it"
        found.append(
            f"{', '.join(uncounted)}: {NOT_COUNTED}, because {they} launched no kernel on the "
            "virtual GPU."
        )
    return found


def _of_recorded(b: Benchmark) -> list[str]:
    if b.recorded is None:
        return []
    if b.recorded_shape is None:
        steps = ", ".join(map(repr, dict.fromkeys(r.step for r in b.recorded.rows)))
        return [f"The run recorded on an {b.recorded.gpu} contains none of these variants in "
                f"{b.dtype}; its steps are {steps}."]  # fmt: skip
    ceiling = f"{b.recorded.ceiling_gbps:,.0f} GB/s"
    return [
        f"{recorded_title(b)}; percentages are relative to a 1 GB copy in the same run ({ceiling})."
    ]
