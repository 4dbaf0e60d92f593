"""Format a suite's results as Markdown: a heading, and one table per operator."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence

from forgekit.benching.suites.results import MachineInfo, SuiteResults, SuiteRow, is_own
from forgekit.benching.suites.suite import Case
from forgekit.text import Table


def markdown(results: SuiteResults) -> str:
    """Return all results as Markdown: a heading, and one table per operator and dimension."""
    parts = [headline(results)]
    groups: dict[tuple[str, int], list[SuiteRow]] = {}
    for row in results.rows:
        groups.setdefault((row.case.op, row.case.dim), []).append(row)
    for (op, dim), rows in groups.items():
        title = f"## {op}" + ("" if dim == -1 else f", dim {dim}")
        timed = any(row.timing for row in rows)
        parts += [title, *((_times(results, rows), _means(rows)) if timed else (_counts(rows),))]
    parts += _host(results) + _trouble(results)
    return "\n\n".join(part for part in parts if part) + "\n"


def headline(results: SuiteResults) -> str:
    """Return the machine, date and commit, and an explanation of the numbers."""
    if not results.machines:
        return f"Suite {results.suite}, {results.date}: no measurements."
    one = results.machines[0]
    versions = ", ".join(f"{name} {version}" for name, version in one.versions.items())
    built = f"commit {results.commit}" if results.commit else "unknown commit"
    virtual = one.device == "virtual"
    place = " and ".join(results.gpus) if virtual else "; ".join(map(_gpu, results.machines))
    said = f"Suite {results.suite}, {place}, {results.date}, {built}; {versions}."
    if virtual:
        return (
            f"{said}\n"
            "\n"
            "No GPU is available, so these are the virtual GPU's counts for the real kernels, "
            "without times. The minimum traffic reads each input once and writes each output once."
        )
    return (
        f"{said}\n"
        "\n"
        "GB/s counts each input read once and each output written once, at the median time of "
        "calls with a cold L2 cache. The number in brackets is the percentage of the ceiling, a "
        "1 GB copy in the same process."
    )


def _gpu(machine: MachineInfo) -> str:
    ceiling = f"ceiling {machine.ceiling_gbps:,.0f} GB/s" if machine.ceiling_gbps else "no ceiling"
    return f"{machine.gpu} (driver {machine.driver or 'unknown'}, {ceiling})"


def _by_case(rows: Sequence[SuiteRow]) -> dict[Case, dict[str, SuiteRow]]:
    cases: dict[Case, dict[str, SuiteRow]] = {}
    for row in rows:
        cases.setdefault(row.case, {})[row.contender] = row
    return cases


def _contenders(rows: Sequence[SuiteRow]) -> tuple[list[str], list[str]]:
    """Return the names of forgekit's contenders and the names of the peers."""
    names = dict.fromkeys(row.contender for row in rows)
    return [n for n in names if is_own(n)], [n for n in names if not is_own(n)]


def _times(results: SuiteResults, rows: Sequence[SuiteRow]) -> str:
    own, peers = _contenders(rows)
    head = ["M × N", "dtype", *own, *peers]
    if own:
        head.append(f"{own[0]}, µs (20th to 80th percentile)")
    if own and peers:
        head.append(f"{own[0]} against the best peer")
    body = []
    for case, found in _by_case(rows).items():
        rates = (_rate(results, found.get(name)) for name in (*own, *peers))
        cells = [_shape(case), case.dtype, *rates]
        if own:
            cells.append(spread(found.get(own[0])))
        if own and peers:
            ratios = [r for name in peers if (r := _ratio(found.get(own[0]), found.get(name)))]
            cells.append(f"{min(ratios):.2f}×" if ratios else "–")
        body.append(cells)
    return Table(head, body, left=(0, 1)).markdown()


def _shape(case: Case) -> str:
    return f"{case.shape[0]}×{case.shape[1]}"


def _rate(results: SuiteResults, row: SuiteRow | None) -> str:
    if row is None:
        return "–"
    if row.gbps is None:
        return row.status
    percent = results.percent(row)  # a no-break space keeps the two numbers in one line
    share = "" if percent is None else f"\u00a0({percent:.0f}\u00a0%)"
    return f"{row.gbps:,.0f}{share}" if row.gbps >= 10 else f"{row.gbps:.2g}{share}"


def spread(row: SuiteRow | None) -> str:
    """Return the median and, in brackets, the 20th and 80th percentiles, in microseconds."""
    if row is None or row.timing is None:
        return "–"
    t = row.timing
    return f"{t.median_ms * 1e3:,.1f} ({t.p20_ms * 1e3:,.1f} to {t.p80_ms * 1e3:,.1f})"


def _ratio(own: SuiteRow | None, peer: SuiteRow | None) -> float | None:
    """Return the speedup over a peer, or None unless both were timed."""
    if own is None or peer is None or own.timing is None or peer.timing is None:
        return None
    return peer.timing.median_ms / own.timing.median_ms


def geometric_means(rows: Sequence[SuiteRow]) -> dict[tuple[str, str], tuple[float, float, int]]:
    """Map (forgekit's contender, peer) to the geometric mean of the speedups, the smallest speedup,
    and the number of cases in which both contenders were timed.
    """
    cases = _by_case(rows).values()
    found = {}
    for own, peer in itertools.product(*_contenders(rows)):
        ratios = [r for case in cases if (r := _ratio(case.get(own), case.get(peer)))]
        if ratios:
            found[own, peer] = (statistics.geometric_mean(ratios), min(ratios), len(ratios))
    return found


def _means(rows: Sequence[SuiteRow]) -> str:
    return "\n".join(
        f"- {own} is {mean:.2f}× as fast as {peer} (geometric mean of {count} cases; "
        f"at least {least:.2f}×)"
        for (own, peer), (mean, least, count) in geometric_means(rows).items()
    )


def _counts(rows: Sequence[SuiteRow]) -> str:
    names = list(dict.fromkeys(row.contender for row in rows))
    head = ["M × N", "dtype", *(["who"] * (len(names) > 1)), "kernels", "bytes moved ÷ minimum",
            "sectors per load", "sectors per store", "bank conflicts", "warp instructions",
            "instructions per byte"]  # fmt: skip
    body = []
    for row in rows:
        who = [row.contender] * (len(names) > 1)
        start = [_shape(row.case), row.case.dtype, *who]
        c = row.counters
        if c is None:
            reason = row.status if row.status != "ok" else "nothing launched"
            body.append([*start, reason, *["–"] * 6])
            continue
        body.append([*start, str(c.kernels), f"{c.global_bytes / row.moved_bytes:.2f}×",
                     f"{c.sectors_per_load:.1f}", f"{c.sectors_per_store:.1f}",
                     f"{c.bank_conflicts:,}", f"{c.warp_instructions:,}",
                     f"{c.thread_instructions / row.moved_bytes:.1f}"])  # fmt: skip
    return Table(head, body, left=(0, 1)).markdown()


def _host(results: SuiteResults) -> list[str]:
    names = list(dict.fromkeys(name for found in results.host_us.values() for name in found))
    if not names:
        return []
    body = [
        [op, "float16", *(f"{found[n]:.1f}" if n in found else "–" for n in names)]
        for op, found in results.host_us.items()
    ]
    title = "## Host time per call on 64 × 64 tensors, µs\n\nBest of five series of 2000 calls."
    return [title, Table(("operator", "dtype", *names), body, left=(0, 1)).markdown()]


def _trouble(results: SuiteResults) -> list[str]:
    """Return a section that lists the wrong and failed rows and the omitted cases."""
    lines = []
    for row in results.rows:
        if row.status != "ok":
            said = (row.error or "").replace("|", "\\|")
            lines.append(f"- {row.status}: {row.contender}, {row.case}: {said}")
    lines += [f"- left out: {text}" for text in results.left_out]
    if results.interrupted:
        lines.append("- interrupted: the remaining cases are missing")
    return ["## Left out, wrong or failed", "\n".join(lines)] if lines else []
