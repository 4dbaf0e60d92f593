"""What `fk.bench` and `fk.sweep` return: what they found, in words and as pictures."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from forgekit.benching.notebook import tables
from forgekit.benching.notebook.outcomes import BenchmarkData, Size, SweepData
from forgekit.errors import brief, usage_error
from forgekit.show import Picture, Shown, draw


@dataclass(frozen=True, eq=False, repr=False)
class Benchmark(BenchmarkData, Shown):
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
class Sweep(SweepData, Shown):
    """Variants over sizes; a notebook shows it as tables.

    Attributes:
        sizes: as given. benchmarks: the Benchmark of each. axis: what a size is, for the axis.
    """

    benchmarks: tuple[Benchmark, ...]

    def __getitem__(self, length: Size) -> Benchmark:
        """The Benchmark of a size. Raises UsageError if it was not swept."""
        if length in self.sizes:
            return self.benchmarks[self.sizes.index(length)]
        known = ", ".join(map(str, self.sizes))
        raise usage_error("size", brief(length), f"one of {known}", "choose one")

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
