"""`forgekit bench`: forgekit's operators, and what people use today, at the sizes of a suite."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from forgekit.benching.suites.suite import OPS, Case, load_suite, select
from forgekit.commands.bench_options import build_parser, early_checks
from forgekit.commands.options import chosen_target, words
from forgekit.errors import UsageError, got_needed

if TYPE_CHECKING:
    from forgekit.benching.suites.results import SuiteResults
    from forgekit.benching.suites.running import Outcome, Settings

__all__ = ["main", "report_main"]

Outcomes = Iterable[tuple[int, "Outcome"]]
Measure = Callable[[list[Case], "Settings"], Outcomes]


def main(arguments: Sequence[str]) -> int:
    """Run the command; returns 0, 1 (a wrong result, a failure, a regression) or 130 (ctrl-C).

    Raises:
        UsageError: what an option was given cannot be.
        PlatformError: no GPU for host times, no Dask, no scheduler.
    """
    return report_main(arguments, None)


def report_main(arguments: Sequence[str], elsewhere: Measure | None) -> int:
    """The same, with the cases measured by `elsewhere`; None measures them here or with Dask."""
    from forgekit.benching.suites import running
    from forgekit.benching.suites.report import markdown
    from forgekit.benching.suites.results import read_results

    chosen = build_parser().parse_args(list(arguments))
    if elsewhere is not None and (chosen.scheduler or chosen.host_times):
        got, remedy = "--scheduler or --host-times", "leave it out"
        raise UsageError(got_needed("modal", got, "neither", remedy))
    threshold = early_checks(chosen)
    baseline = read_results(chosen.compare) if chosen.compare else None
    if chosen.read:
        results = read_results(chosen.read)
    else:
        results = _measured(chosen, elsewhere, baseline)
    text = markdown(results)
    if chosen.markdown in (None, "-"):
        print(text, end="")
    status = running.exit_status(results)
    try:
        if baseline and _is_slower(results, baseline, threshold, gate=chosen.fail_on_regression):
            status = status or 1
    finally:
        _write_report(results, text, chosen.markdown, chosen.plot)
    return status


def _is_slower(
    results: SuiteResults, baseline: SuiteResults, threshold: float, *, gate: str | None
) -> bool:
    """Print the comparison; returns whether the gate, if there is one, has to fail.

    Raises:
        UsageError: another GPU, or a gate that nothing goes through.
    """
    from forgekit.benching.suites.compare import check_comparable, check_overlap, compare

    for gpu in results.gpus:
        check_comparable(baseline, gpu)
    comparison = compare(results, baseline, threshold)
    print("\n".join(comparison.lines()))
    if gate and not results.interrupted:
        measured = [row.key for row in results.rows if row.status != "skipped"]
        check_overlap(baseline, measured, results.suite)
    return bool(comparison.slower and gate)


def _measured(
    chosen: argparse.Namespace, elsewhere: Measure | None, baseline: SuiteResults | None
) -> SuiteResults:
    from forgekit.benching.suites import running
    from forgekit.benching.suites.compare import check_comparable, check_overlap
    from forgekit.benching.suites.results import write_results
    from forgekit.devices import current_target

    cases = _cases(chosen)
    settings = _settings(chosen, here=elsewhere is None)
    suite = Path(chosen.suite).stem if chosen.suite else "smoke" if cases else "none"
    if baseline and elsewhere is None and not chosen.scheduler:
        check_comparable(baseline, current_target(settings.device).name)
    if baseline and chosen.fail_on_regression:
        keys = [(case, contender.name) for case in cases for contender in settings.contenders()]
        check_overlap(baseline, keys, suite)
    results = running.new_results(suite)
    if cases:
        measure = elsewhere or partial(_here_or_spread, scheduler=chosen.scheduler)
        _with_progress(results, cases, measure(cases, settings), chosen.out)
    if chosen.host_times and not results.interrupted:
        ops = [op for op in OPS if op in (words(chosen.op) or OPS)]
        running.measure_host(results, ops, settings)
    if chosen.out:
        write_results(results, chosen.out)
    return results


def _cases(chosen: argparse.Namespace) -> list[Case]:
    if chosen.host_times and chosen.suite is None:
        return []
    suite = load_suite(chosen.suite or "smoke")
    return select(suite, ops=words(chosen.op), dtypes=words(chosen.dtype))


def _settings(chosen: argparse.Namespace, *, here: bool) -> Settings:
    from forgekit.benching.suites.running import Settings, check_host_times
    from forgekit.benching.suites.spread import local_workers

    peers = () if chosen.peers == "none" else words(chosen.peers)
    device, arch = chosen.device, None
    if here and (not chosen.scheduler or local_workers(chosen.scheduler)):
        target = chosen_target(chosen.device)
        if chosen.host_times:
            check_host_times(target)
        device = target.kind
        arch = target.arch if target.kind == "virtual" else None
    settings = Settings(
        backends=words(chosen.backend) or ("kernel",),
        variants=words(chosen.variant),
        peers=peers,
        repeats=chosen.repeats,
        device=device,
        arch=arch,
    )
    settings.contenders()  # says what is unknown
    return settings


def _here_or_spread(cases: list[Case], settings: Settings, *, scheduler: str | None) -> Outcomes:
    from forgekit.benching.suites.running import failed_case, run_cases

    if scheduler is None:
        return run_cases(cases, settings)
    from forgekit.benching.suites.spread import run_case_here, spread

    pieces = [(case, settings) for case in cases]
    return spread(run_case_here, pieces, scheduler=scheduler, failed=failed_case)


def _with_progress(
    results: SuiteResults, cases: Sequence[Case], outcomes: Outcomes, out: Path | None
) -> None:
    """Fill the results; a bar on a terminal; what is there is in the file after each case."""
    from tqdm import tqdm

    from forgekit.benching.suites.results import write_results
    from forgekit.benching.suites.running import merged

    with tqdm(total=len(cases), unit="case", disable=None, file=sys.stderr) as bar:

        def done(results: SuiteResults, index: int) -> None:
            bar.set_postfix_str(str(cases[index]), refresh=False)
            bar.update()
            if out:
                write_results(results, out)

        merged(results, outcomes, done)
    if results.interrupted:
        print(f"forgekit: interrupted, {len(results.rows)} rows are kept", file=sys.stderr)


def _write_report(
    results: SuiteResults, text: str, markdown_file: str | None, plot: Path | None
) -> None:
    from forgekit.output_files import write_output
    from forgekit.viz.timing.suite import save

    if markdown_file not in (None, "-"):
        write_output("--markdown", str(markdown_file), text)
    if plot and not save(results, plot):
        print(f"forgekit: {plot} is not drawn, as nothing was measured", file=sys.stderr)
