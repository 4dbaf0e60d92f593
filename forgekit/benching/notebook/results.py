"""What a benchmark found, as frozen data: variants of one size, and a sweep over sizes."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from forgekit.benching.measuring import Measured
from forgekit.benching.notebook import tables
from forgekit.benching.recorded import Recorded, RecordedRow
from forgekit.errors import brief, usage_error
from forgekit.show import Picture, Shown, draw
from forgekit.text import plural, size

Size = int | tuple[int, ...]


@dataclass(frozen=True)
class VariantOutcome:
    """A variant: what it costs, or why that was not measured (measured is None then)."""

    name: str
    measured: Measured | None
    failed: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Benchmark(Shown):
    """Variants of one computation, measured in one run; a notebook shows it as a table.

    Attributes:
        outcomes: one a variant, in the order given. `b["naive"]` is the Measured of one.
        kind: "gpu" (times) or "virtual" (counts). where: its name.
        arguments: sizes and types in words; shape, dtype: of the first tensor.
        moved_bytes: what GB/s and bytes are counted of; moved_given: by the user.
        ceiling_gbps: of a copy in the same run; None on the virtual GPU.
        checked: the results were compared with a reference.
        recorded: times of a GPU laid beside, None unless given.
        date: of the run.
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
        """What a variant costs.

        Raises:
            UsageError: there is none of that name, or it failed.
        """
        by_name = {o.name: o for o in self.outcomes}
        found = by_name.get(name) if isinstance(name, str) else None
        if found is None:
            known = ", ".join(map(repr, by_name))
            raise usage_error("variant", brief(name), f"one of {known}", "choose one")
        if found.measured is None:
            raise usage_error(name, found.failed, "a variant that runs", "fix it")
        return found.measured

    @property
    def failed(self) -> dict[str, str]:
        """Variants that were not measured -> why."""
        return {o.name: o.failed for o in self.outcomes if o.failed}

    # -- recorded times -------------------------------------------------------------------------
    @property
    def recorded_shape(self) -> tuple[int, ...] | None:
        """The recorded shape shown: that of the first tensor, or the largest of its dtype."""
        names = {o.name for o in self.outcomes}
        rows = self.recorded.rows if self.recorded is not None else ()
        shapes = {r.shape for r in rows if r.step in names and r.dtype == self.dtype}
        if self.shape in shapes:
            return self.shape
        return max(shapes, key=lambda s: (math.prod(s), s), default=None)

    def recorded_row(self, name: str) -> RecordedRow | None:
        """The recorded time of a variant: of the step of the same name and dtype."""
        rows = self.recorded.rows if self.recorded is not None else ()
        wanted = name, self.dtype, self.recorded_shape
        return next((r for r in rows if (r.step, r.dtype, r.shape) == wanted), None)

    # -- words ------------------------------------------------------------------------------------
    @property
    def headline(self) -> str:
        """Where, when, and of what."""
        return f"{self.place}: {self.arguments}"

    @property
    def place(self) -> str:
        """Where it ran; on a GPU also when. (Counts are the same on every day.)"""
        timed = self.kind == "gpu"
        return f"{self.where}, {self.date}" if timed else f"Counted on the {self.where}"

    @property
    def notes(self) -> list[str]:
        """What the numbers mean, and what is missing."""
        return tables.notes([self])

    @property
    def summary(self) -> str:
        """Headline, table and notes in plain text."""
        return "\n".join([self.headline, "", *tables.columns(self).lines(), "", *self.notes])

    # -- pictures -------------------------------------------------------------------------------
    def plot(self) -> Picture:
        """Bars: on a GPU the rate of each variant beside the ceiling; on the virtual GPU what it
        counted, beside recorded times."""
        return draw(self, "bars")

    def roofline(self) -> Picture:
        """PTX instructions for each byte against instructions a second, below what memory and
        issue of an H200 allow.

        Each point is a bound, not a measurement: what the data sheet would allow a kernel that
        executes these instructions and moves these bytes; recorded rates stand below it. Source:
        Williams, Waterman, Patterson, "Roofline" (2009).

        Raises:
            UsageError: nothing was counted, as on a GPU.
        """
        return draw(self, "roofline")


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(Shown):
    """Variants over sizes; a notebook shows it as tables.

    Attributes:
        sizes: as given. benchmarks: the Benchmark of each. axis: what a size is, for the axis.
    """

    sizes: tuple[Size, ...]
    benchmarks: tuple[Benchmark, ...]
    axis: str

    @property
    def names(self) -> tuple[str, ...]:
        """Of the variants of any size, in their order."""
        return tuple(dict.fromkeys(o.name for b in self.benchmarks for o in b.outcomes))

    def __getitem__(self, length: Size) -> Benchmark:
        """The Benchmark of a size. Raises UsageError if it was not swept."""
        if length in self.sizes:
            return self.benchmarks[self.sizes.index(length)]
        known = ", ".join(map(str, self.sizes))
        raise usage_error("size", brief(length), f"one of {known}", "choose one")

    @property
    def kind(self) -> str:
        return self.benchmarks[0].kind

    def measured(self, name: str) -> list[Measured | None]:
        """Of each size what a variant costs; None where it was not measured."""
        found = [{o.name: o.measured for o in b.outcomes} for b in self.benchmarks]
        return [by_name.get(name) for by_name in found]

    @property
    def headline(self) -> str:
        b = self.benchmarks[0]
        ends = (size(x.moved_bytes) for x in (b, self.benchmarks[-1]))
        moved = " to ".join(dict.fromkeys(ends))
        return f"{b.place}: {plural(len(self.sizes), 'size')}, {b.dtype}, {moved} to move"

    @property
    def notes(self) -> list[str]:
        """What the numbers mean, and what is missing."""
        return tables.notes(self.benchmarks, self.sizes)

    @property
    def summary(self) -> str:
        """Headline, a table for each quantity, and notes in plain text."""
        found = [[title, *table.lines(), ""] for title, table in tables.sweep_columns(self)]
        return "\n".join([self.headline, "", *itertools.chain(*found), *self.notes])

    def plot(self) -> Picture:
        """Lines over sizes, one a variant: on a GPU the percentage of the ceiling, with a band from
        the 20th to the 80th percentile; on the virtual GPU all that it counted."""
        return draw(self, "lines")
