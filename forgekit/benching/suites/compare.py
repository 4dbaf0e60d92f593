"""Compare the results of two suite runs, row by row, and find the rows that became slower.

A timed row is slower if its median is longer by more than the threshold *and* its 20th percentile
is above the baseline's 80th percentile, because a difference between overlapping ranges counts as
noise. The virtual GPU's counters have no noise, so a row is slower if one of the counters in
`COUNTED` rose by more than the threshold. Only those of forgekit's rows that occur in both runs are
compared. A row also counts as slower if it was correct and is now wrong, fails, or launches no
kernel. The report includes the change in the peers' times, because such a change indicates a
difference between the machines.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from forgekit.benching.suites.results import Key, SuiteResults, SuiteRow
from forgekit.errors import usage_error
from forgekit.text import plural

COUNTED = ("load_sectors", "store_sectors", "atomic_sectors", "bulk_bytes", "shared_wavefronts",
           "warp_instructions")  # fmt: skip


@dataclass(frozen=True)
class Change:
    """A row that became slower or faster. percent: the change in time, or in the counter that
    increased most; it is positive for an increase, and infinite for a row that now fails."""

    row: SuiteRow
    percent: float
    said: str

    def __str__(self) -> str:
        return f"{self.row.contender}, {self.row.case}: {self.said}"


@dataclass(frozen=True)
class Comparison:
    """The comparison of two runs. compared: the number of rows in both runs; new, gone: the numbers
    of forgekit's rows only in the results and only in the baseline; slower, faster: the changed
    rows, largest change first; peers_percent: the median change in the peers' times, or None
    without peers.
    """

    results: SuiteResults
    baseline: SuiteResults
    threshold_percent: float
    compared: int
    new: int
    gone: int
    slower: tuple[Change, ...]
    faster: tuple[Change, ...]
    peers_percent: float | None

    def lines(self) -> list[str]:
        """Return the report's lines, with the worst row first."""
        timed = any(machine.device == "gpu" for machine in self.baseline.machines)
        lines = [
            f"{plural(self.compared, 'row')} compared with the baseline of {self.baseline.date} "
            f"({self.baseline.commit or 'no commit'}): {len(self.slower)} slower and "
            f"{len(self.faster)} faster by more than {self.threshold_percent:g} %"
            f"{' and beyond the noise' * timed}."
        ]
        lines += [f"slower: {change}" for change in self.slower]
        lines += [f"faster: {change}" for change in self.faster]
        if self.new or self.gone:
            new = plural(self.new, "new row")
            gone = plural(self.gone, "row")
            lines.append(f"Not compared: {new} and {gone} only in the baseline.")
        if self.baseline.suite != self.results.suite:
            names = f"{self.baseline.suite}, but these results come from {self.results.suite}"
            lines.append(f"Note: the baseline comes from the suite {names}.")
        if self.baseline.interrupted:
            lines.append("Note: the baseline was interrupted, so some of its rows are missing.")
        if self.peers_percent is not None:
            lines.append(f"The peers' times changed by {self.peers_percent:+.1f} % (median).")
        return lines


def check_baseline(
    baseline: SuiteResults, gpus: Iterable[str], keys: Iterable[Key] | None, suite: str
) -> None:
    """Raise UsageError if a baseline was measured on a GPU that is not in `gpus`, or contains no
    row in `keys`. Nothing would be compared, so a check against this baseline would always pass.
    """
    for gpu in gpus:
        if baseline.gpus != (gpu,):
            got = f"a baseline from {' and '.join(baseline.gpus) or 'no machine'}"
            raise usage_error("--compare", got, f"a baseline from {gpu}", "measure a baseline here")
    known = {row.key for row in baseline.rows if row.own and row.status == "ok"}
    if keys is not None and known.isdisjoint(keys):
        rows = plural(len(known), "row")
        got = f"a baseline (suite {baseline.suite}, {rows}) without any row from {suite}"
        remedy = "measure the baseline with the same options and --out"
        raise usage_error("--fail-on-regression", got, "rows in both", remedy)


def compare(results: SuiteResults, baseline: SuiteResults, threshold_percent: float) -> Comparison:
    """Compare results with the baseline by the rules in the module's docstring."""
    before = {row.key: row for row in baseline.rows if row.status == "ok"}
    now = {row.key: row for row in results.rows if row.status != "skipped"}
    both = [(row, before[key]) for key, row in now.items() if key in before]
    changes = [c for row, old in both if row.own and (c := _change(row, old, threshold_percent))]
    changes.sort(key=lambda c: -abs(c.percent))
    peers = [
        100 * (row.timing.median_ms / old.timing.median_ms - 1)
        for row, old in both
        if not row.own and row.timing and old.timing
    ]
    return Comparison(
        results,
        baseline,
        threshold_percent,
        compared=sum(row.own for row, _ in both),
        new=sum(row.own for key, row in now.items() if key not in before),
        gone=sum(row.own for key, row in before.items() if key not in now),
        slower=tuple(c for c in changes if c.percent > 0),
        faster=tuple(c for c in changes if c.percent < 0),
        peers_percent=statistics.median(peers) if peers else None,
    )


def _change(row: SuiteRow, old: SuiteRow, threshold_percent: float) -> Change | None:
    """Return the change in a row, or None if it did not change beyond the noise."""
    if row.status != "ok":
        return Change(row, math.inf, f"was correct, but is now {row.status}: {row.error}")
    if row.timing and old.timing:
        new, was = row.timing, old.timing
        percent = 100 * (new.median_ms / was.median_ms - 1)
        apart = new.p20_ms > was.p80_ms or new.p80_ms < was.p20_ms
        if abs(percent) <= threshold_percent or not apart:
            return None
        said = f"{percent:+.1f} %, {was.median_ms:.4f} ms before, {new.median_ms:.4f} ms now"
        return Change(row, percent, said)
    return _counted_change(row, old, threshold_percent)


def _counted_change(row: SuiteRow, old: SuiteRow, threshold_percent: float) -> Change | None:
    if old.counters is None:
        return None
    if row.counters is None:
        return Change(row, math.inf, "was counted, but now launches no kernel")
    pairs = [(getattr(old.counters, c), getattr(row.counters, c), c) for c in COUNTED]
    changes = [
        (100 * (now / was - 1) if was else 100.0 * now, was, now, c) for was, now, c in pairs
    ]
    percent, was, now, name = max(changes)
    if percent <= threshold_percent:
        percent, was, now, name = min(changes)
    if abs(percent) <= threshold_percent:
        return None
    return Change(row, percent, f"{name} {percent:+.1f} %, {was:,} before, {now:,} now")
