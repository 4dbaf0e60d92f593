"""The results of a suite as Markdown: a table for each operator, and what they come to."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from forgekit.benching.suites.results import MachineInfo, SuiteResults, SuiteRow
from forgekit.benching.suites.suite import Case
from forgekit.text import Table

OWN = "forgekit"


def markdown(results: SuiteResults) -> str:
    """All of the results; a heading and a table for each operator and dimension."""
    parts = [headline(results)]
    groups: dict[tuple[str, int], list[SuiteRow]] = {}
    for row in results.rows:
        groups.setdefault((row.case.op, row.case.dim), []).append(row)
    for (op, dim), rows in groups.items():
        title = f"## {op}" + ("" if dim == -1 else f", dim {dim}")
        timed = any(row.timing for row in rows)
        parts += [title, _times(results, rows) if timed else _counts(rows)]
        if timed:
            parts += _means(rows)
    parts += _host(results) + _trouble(results)
    return "\n\n".join(part for part in parts if part) + "\n"


def headline(results: SuiteResults) -> str:
    """Where, when and of what commit; what the numbers are."""
    if not results.machines:
        return f"Suite {results.suite}, {results.date}: nothing was measured."
    one = results.machines[0]
    versions = ", ".join(f"{name} {version}" for name, version in one.versions.items())
    built = f"commit {results.commit}" if results.commit else "no commit known"
    said = f"Suite {results.suite}, {_place(results)}, {results.date}, {built}; {versions}."
    if one.device == "virtual":
        return (
            f"{said}\n\nThere is no GPU here: these are counters of the virtual GPU, which are "
            "those of the real kernels; it has no times. The least to be moved is each input read "
            "once and each output written once."
        )
    return (
        f"{said}\n\nGB/s of each input read once and each output written once, median of calls "
        "with a cold L2 cache; in brackets the percentage of the ceiling, a copy of 1 GB in the "
        "same process."
    )


def _place(results: SuiteResults) -> str:
    if results.machines[0].device == "virtual":
        return " and ".join(results.gpus)
    return "; ".join(_gpu(machine) for machine in results.machines)


def _gpu(machine: MachineInfo) -> str:
    ceiling = f"ceiling {machine.ceiling_gbps:,.0f} GB/s" if machine.ceiling_gbps else "no ceiling"
    return f"{machine.gpu} (driver {machine.driver or 'unknown'}, {ceiling})"


def _by_case(rows: Sequence[SuiteRow]) -> dict[Case, dict[str, SuiteRow]]:
    cases: dict[Case, dict[str, SuiteRow]] = {}
    for row in rows:
        cases.setdefault(row.case, {})[row.contender] = row
    return cases


def _times(results: SuiteResults, rows: Sequence[SuiteRow]) -> str:
    names = list(dict.fromkeys(row.contender for row in rows))
    own = next((name for name in names if name.split()[0] == OWN), None)
    peers = [name for name in names if name.split()[0] != OWN]
    head = ["M × N", "dtype", *names]
    if own:
        head += [
            f"{own}, µs (20th to 80th percentile)",
            *([f"{own} against the best peer"] * bool(peers)),
        ]
    body = []
    for case, found in _by_case(rows).items():
        cells = [_shape(case), case.dtype, *(_rate(results, found.get(name)) for name in names)]
        if own:
            cells.append(_spread(found.get(own)))
            if peers:
                cells.append(_ratio(found.get(own), [found[n] for n in peers if n in found]))
        body.append(cells)
    return Table(head, body, left=(0, 1)).markdown()


def _shape(case: Case) -> str:
    return f"{case.shape[0]}×{case.shape[1]}"


def _rate(results: SuiteResults, row: SuiteRow | None) -> str:
    if row is None:
        return "–"
    if row.gbps is None:
        return row.status
    percent = results.percent(row)
    share = (
        "" if percent is None else f"\u00a0({percent:.0f}\u00a0%)"
    )  # not broken in a narrow cell
    return f"{row.gbps:,.0f}{share}" if row.gbps >= 10 else f"{row.gbps:.2g}{share}"


def _spread(row: SuiteRow | None) -> str:
    if row is None or row.timing is None:
        return "–"
    t = row.timing
    return f"{t.median_ms * 1e3:,.1f} ({t.p20_ms * 1e3:,.1f} to {t.p80_ms * 1e3:,.1f})"


def _ratio(own: SuiteRow | None, peers: Sequence[SuiteRow]) -> str:
    times = [peer.timing.median_ms for peer in peers if peer.timing]
    if own is None or own.timing is None or not times:
        return "–"
    return f"{min(times) / own.timing.median_ms:.2f}×"


def geometric_means(rows: Sequence[SuiteRow]) -> dict[tuple[str, str], tuple[float, float, int]]:
    """(one of forgekit's, peer) -> how many times as fast it is: the geometric mean, the least, and
    of how many cases that both were timed at."""
    cases = _by_case(rows)
    names = list(dict.fromkeys(row.contender for row in rows))
    found = {}
    for own in (name for name in names if name.split()[0] == OWN):
        for peer in (name for name in names if name.split()[0] != OWN):
            pairs = [(c.get(own), c.get(peer)) for c in cases.values()]
            ratios = [
                b.timing.median_ms / a.timing.median_ms
                for a, b in pairs
                if a is not None and b is not None and a.timing and b.timing
            ]
            if ratios:
                mean = statistics.geometric_mean(ratios)
                found[own, peer] = (mean, min(ratios), len(ratios))
    return found


def _means(rows: Sequence[SuiteRow]) -> list[str]:
    lines = [
        f"- {own} is {mean:.2f}× as fast as {peer} (geometric mean of {count} cases; "
        f"{least:.2f}× at least)"
        for (own, peer), (mean, least, count) in geometric_means(rows).items()
    ]
    return ["\n".join(lines)] if lines else []


def _counts(rows: Sequence[SuiteRow]) -> str:
    names = list(dict.fromkeys(row.contender for row in rows))
    head = ["M × N", "dtype", *(["who"] * (len(names) > 1)), "kernels", "bytes moved ÷ least",
            "sectors a load", "sectors a store", "bank conflicts", "warp instructions",
            "instructions a byte"]  # fmt: skip
    body = []
    for row in rows:
        who = [row.contender] * (len(names) > 1)
        start = [_shape(row.case), row.case.dtype, *who]
        c = row.counters
        if c is None:
            reason = row.status if row.status != "ok" else "nothing launched"
            body.append([*start, reason, *["–"] * 6])
            continue
        each = c.instructions_per_byte(row.moved_bytes)
        body.append([*start, str(c.kernels), f"{c.global_bytes / row.moved_bytes:.2f}×",
                     f"{c.sectors_per_load:.1f}", f"{c.sectors_per_store:.1f}",
                     f"{c.bank_conflicts:,}", f"{c.warp_instructions:,}",
                     "–" if each is None else f"{each:.1f}"])  # fmt: skip
    return Table(head, body, left=(0, 1)).markdown()


def _host(results: SuiteResults) -> list[str]:
    names = list(dict.fromkeys(name for found in results.host_us.values() for name in found))
    if not names:
        return []
    body = [
        [op, "float16", *(f"{found[n]:.1f}" if n in found else "–" for n in names)]
        for op, found in results.host_us.items()
    ]
    title = "## Host time of a call on 64 × 64, µs\n\nBest of five series of 2000 calls."
    return [title, Table(("operator", "dtype", *names), body, left=(0, 1)).markdown()]


def _trouble(results: SuiteResults) -> list[str]:
    """What is wrong, what failed, what was left out."""
    lines = []
    for row in results.rows:
        if row.status != "ok":
            said = (row.error or "").replace("|", "\\|")
            lines.append(f"- {row.status}: {row.contender}, {row.case}: {said}")
    lines += [f"- left out: {text}" for text in results.left_out]
    if results.interrupted:
        lines.append("- interrupted: the cases that should follow are missing")
    return ["## Left out, wrong or failed", "\n".join(lines)] if lines else []
