"""What a benchmark found, as frozen data: variants of one size, and a sweep over sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from forgekit.benching.measuring import Measured
from forgekit.benching.recorded import Recorded, RecordedRow
from forgekit.errors import brief, usage_error
from forgekit.text import plural, size

Size = int | tuple[int, ...]


@dataclass(frozen=True)
class VariantOutcome:
    """A variant: what it costs, or why that was not measured (measured is None then)."""

    name: str
    measured: Measured | None
    failed: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class BenchmarkData:
    """Variants of one computation; `Benchmark` lists the attributes."""

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


@dataclass(frozen=True, eq=False, repr=False)
class SweepData:
    """Variants over sizes; `Sweep` lists the attributes."""

    sizes: tuple[Size, ...]
    benchmarks: tuple[BenchmarkData, ...]
    axis: str

    @property
    def names(self) -> tuple[str, ...]:
        """Of the variants of any size, in their order."""
        return tuple(dict.fromkeys(o.name for b in self.benchmarks for o in b.outcomes))

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
