"""Format recorded runs of `forgekit bench` as Markdown: pictures, means, missed goals, and rows."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from forgebook.charts import pictures
from forgebook.groups import Group, groups
from forgekit.benching.suites.report import geometric_means, spread
from forgekit.benching.suites.results import SuiteResults, SuiteRow
from forgekit.benching.suites.suite import DTYPES, Case, load_suite
from forgekit.errors import UsageError
from forgekit.profiling.gpus import gpu_of

__all__ = ["behind", "folded", "markdown", "running_text"]

LARGE_BYTES = 128e6  # from this size on, only bandwidth should matter
REACHED = 95.0  # the goal for such cases, in percent of the ceiling


def markdown(results: SuiteResults) -> str:
    """Return a whole run as Markdown, or an empty string if it was not measured on a GPU."""
    if not results.machines or results.machines[0].ceiling_gbps is None:
        return ""
    blocks = [_group(group) for group in groups(results)]
    if results.host_us:
        blocks.append(_host(results))
    return "\n\n".join(blocks)


def _group(group: Group) -> str:
    parts = [
        f"### {group.title}",
        f"`{group.call}`. {running_text(group.results)}",
        pictures(group),
        _means(group),
        _not_reached(group),
        _left_out(group),
        _rows(group),
    ]
    return "\n\n".join(part for part in parts if part)


def running_text(results: SuiteResults) -> str:
    """Describe the GPU, the date and the commit, and the ceilings of the runs that contain the
    rows.
    """
    one = results.machines[0]
    names = ("torch", "quack-kernels", "nvidia-cutlass-dsl")
    versions = [f"{name} {one.versions[name]}" for name in names if name in one.versions]
    built = f", commit {results.commit}" if results.commit else ""
    return (
        f"{one.gpu}, {results.date}{built}, driver {one.driver or 'unknown'}, "
        f"{', '.join(versions)}.{_ceilings(results)}"
    )


def _ceilings(results: SuiteResults) -> str:
    """Describe the ceiling of each run, and the data sheet's value if the GPU is known."""
    used = sorted({row.machine for row in results.rows if row.machine is not None})
    runs = [results.machines[k] for k in used if results.machines[k].ceiling_gbps]
    if not runs:
        return ""
    rates = " and ".join(f"{run.ceiling_gbps:,.0f}" for run in runs)
    text = f" Ceiling: {rates} GB/s" + (f", from {len(runs)} runs" if len(runs) > 1 else "")
    known = gpu_of(runs[0].gpu)
    return f"{text}; the data sheet states {known.bandwidth / 1e9:,.0f}." if known else f"{text}."


# -- summaries ----------------------------------------------------------------------------
def _means(group: Group) -> str:
    found = geometric_means(group.results.rows)
    lines = [
        f"| {peer} | {mean:.2f}× | {least:.2f}× | {count} of {len(group.cases())} |"
        for (own, peer), (mean, least, count) in found.items() if own == "forgekit"
    ]  # fmt: skip
    if not lines:
        return ""
    head = ["| forgekit against | speedup, geometric mean | minimum |cases that both completed |",
            "|---|---|---|---|"]  # fmt: skip
    return "\n".join(head + lines)


def behind(group: Group) -> list[tuple[Case, str, float]]:
    """Return the cases in which a peer is faster beyond the noise, as (case, fastest such peer,
    forgekit's speed relative to this peer).

    "Beyond the noise" means that the peer's 80th percentile is below forgekit's 20th.
    """
    found = []
    for case, rows in group.cases().items():
        own = rows.get("forgekit")
        if own is None or own.timing is None:
            continue
        faster = [
            (row.timing.median_ms, row.contender)
            for row in rows.values()
            if not row.own and row.timing and row.timing.p80_ms < own.timing.p20_ms
        ]
        if faster:
            median_ms, peer = min(faster)
            found.append((case, peer, median_ms / own.timing.median_ms))
    return found


def _not_reached(group: Group) -> str:
    """List the large cases that miss the goal, and the cases in which a peer is faster."""
    own = [row for row in group.results.rows if row.contender == "forgekit" and row.timing]
    large = [(row, group.results.percent(row) or 0.0) for row in own
             if row.moved_bytes >= LARGE_BYTES]  # fmt: skip
    below = [(row, percent) for row, percent in large if percent < REACHED]
    said = []
    if large:
        text = (
            f"{len(large) - len(below)} of the {len(large)} cases that move 128 MB or more reach "
            f"{REACHED:.0f} % of the ceiling"
        )
        listed = _by_size([(row.case, f"{percent:.1f} %") for row, percent in below])
        said.append(f"{text}. These do not: {listed}." if below else f"{text}.")
    slower = behind(group)
    if slower:
        listed = _by_size([(case, f"{speed:.2f}× {peer}") for case, peer, speed in slower])
        said.append(
            f"In {len(slower)} of {len(own)} cases, a peer is faster beyond the noise: {listed}."
        )
    elif own:
        said.append(f"In none of the {len(own)} cases is a peer faster beyond the noise.")
    return "Goals and peers:\n\n" + "\n".join(f"- {text}" for text in said) if said else ""


def _left_out(group: Group) -> str:
    """State which types in the run's suite were not measured."""
    try:
        suite = load_suite(group.results.suite)
    except UsageError:  # a user's own suite
        return ""
    wanted = {case.dtype for case in suite if (case.op, case.dim) == (group.op, group.dim)}
    missing = wanted - {case.dtype for case in group.cases()}
    names = " and ".join(dtype for dtype in DTYPES if dtype in missing)
    return f"The suite also contains {names}, which this run omitted." if names else ""


def _by_size(found: Sequence[tuple[Case, str]]) -> str:
    """Return text such as `8,192 × 8,192 (float16 84 %; bfloat16 86 %), …`, grouped by size."""
    sizes: dict[tuple[int, int], list[str]] = {}
    for case, text in found:
        sizes.setdefault(case.shape, []).append(f"{case.dtype} {text}")
    return ", ".join(f"{m:,} × {n:,} ({'; '.join(said)})" for (m, n), said in sizes.items())


def _named(case: Case) -> str:
    return f"{case.shape[0]:,} × {case.shape[1]:,} {case.dtype}"


# -- all rows -------------------------------------------------------------------------------------
def _rows(group: Group) -> str:
    """Return a folded table of all rows, and a note for each contender without a time."""
    names, notes = group.contenders(), _notes(group)
    marks = {key: str(k) for k, key in enumerate(notes, 1)}
    head = ["size", "type", *names, "forgekit, µs (20th to 80th percentile)"]
    body = []
    for case, rows in group.cases().items():
        cells = [f"{case.shape[0]:,} × {case.shape[1]:,}", case.dtype]
        cells += [_rate(group.results, rows.get(name), marks) for name in names]
        body.append([*cells, spread(rows.get("forgekit"))])
    title = f"All sizes and types: {group.title[:1].lower()}{group.title[1:]}, GB/s and percent"
    under = "".join(f"<li>{html.escape(text)}</li>" for text in notes.values())
    return folded(title, head, body, f'<ol class="notes">{under}</ol>' if under else "")


def _rate(results: SuiteResults, row: SuiteRow | None, marks: dict[tuple[str, str], str]) -> str:
    if row is None:
        return "–"
    if row.gbps is None:
        mark = marks.get((row.contender, row.status), "")
        return f"{row.status}<sup>{mark}</sup>"
    percent = results.percent(row)
    share = "" if percent is None else f" ({percent:.0f} %)"
    return (f"{row.gbps:,.0f}" if row.gbps >= 10 else f"{row.gbps:.2g}") + share


_MEANING = {
    "wrong": "its result differed from the float64 reference by more than the tolerance, "
    "so it was not timed",
    "error": "it refused the case or failed",
    "skipped": "it was left out",
}


def _notes(group: Group) -> dict[tuple[str, str], str]:
    """Return a note for each (contender, status) that explains the status and quotes the first
    message.
    """
    found: dict[tuple[str, str], list[SuiteRow]] = {}
    for row in group.results.rows:
        if row.status != "ok":
            found.setdefault((row.contender, row.status), []).append(row)
    return {
        (name, status): f"{name}, {status} in {len(rows)} of {len(group.cases())} cases: "
        f"{_MEANING[status]}. For {_named(rows[0].case)}: {rows[0].error}"
        for (name, status), rows in found.items()
    }


def _host(results: SuiteResults) -> str:
    names = list(dict.fromkeys(name for found in results.host_us.values() for name in found))
    lines = [
        f"| `{op}` | " + " | ".join(f"{found[n]:.1f}" if n in found else "–" for n in names) + " |"
        for op, found in results.host_us.items()
    ]
    return "\n\n".join([
        "### Host time of a call",
        f"{running_text(results)} Microseconds of CPU time per call with 64 × 64 elements of "
        "float16, the best of five series of 2,000 calls.",
        "\n".join([f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|", *lines]),
    ])  # fmt: skip


def folded(title: str, head: Iterable[str], rows: Iterable[Iterable[str]], under: str = "") -> str:
    """Return a table that unfolds when its title is clicked, with the text `under` below it. The
    cells and `under` are HTML.
    """
    heads = "".join(f'<th scope="col">{html.escape(h)}</th>' for h in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f"<details><summary>{html.escape(title)}</summary>"
        f'<div class="wide" tabindex="0" role="region" aria-label="{html.escape(title)}">'
        f'<table class="table"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>'
        f"</div>{under}</details>"
    )
