"""`forgekit bench`: measure forgekit's operators and common alternatives at the sizes of a
suite."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from forgekit.benching.suites.suite import (
    DTYPES,
    OPERATORS,
    Case,
    check_names,
    load_suite,
    select,
    suite_names,
)
from forgekit.commands.options import AtLeast, Command, Names, chosen_target
from forgekit.errors import PlatformError, brief, got_needed, usage_error
from forgekit.output_files import check_output, write_output

if TYPE_CHECKING:
    from forgekit.benching.suites.results import SuiteResults
    from forgekit.benching.suites.running import CaseOutcome, Settings

CaseOutcomes = Iterable[tuple[int, "CaseOutcome"]]
Measure = Callable[[list[Case], "Settings"], CaseOutcomes]

_OF_REPORTS = ("read", "markdown", "plot", "compare", "fail_on_regression")


def _percent(context: click.Context, option: click.Parameter, text: str | None) -> float | None:
    """Convert a percentage such as "5%" or "5 %" to a number."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+) *%", text.strip(), re.ASCII)
    if not found:
        remedy = "write --fail-on-regression 5%"
        raise usage_error("--fail-on-regression", brief(text), "a percentage", remedy)
    return float(found[1])


@click.command(
    cls=Command,
    short_help="Measure the operators and their peers at a suite's sizes",
)
@click.option("--suite", help=f"{', '.join(suite_names())}, or your own TOML file; default: smoke")
@click.option("--op", type=Names(), default="", help=f"any of {', '.join(OPERATORS)}; default: all")
@click.option("--dtype", type=Names(), default="", help=f"any of {', '.join(DTYPES)}; default: all")
@click.option("--backend", type=Names(), default="kernel",
              help="backends to measure, such as kernel,ref; default: kernel")  # fmt: skip
@click.option("--variant", type=Names(), default="",
              help="variants of the kernels to measure, such as best,naive,online")  # fmt: skip
@click.option("--peers", type=Names(), default="torch",
              help="peers to measure: any of torch, torch.compile, quack; or none")  # fmt: skip
@click.option("--repeats", type=AtLeast(1), default=50, help="timed calls per case; default: 50")
@click.option(
    "--device", help="gpu or virtual; default: FORGEKIT_DEVICE, otherwise the GPU if there is one"
)
@click.option("--host-times", is_flag=True,
              help="measure only the host time per call, in microseconds, for 64×64 elements; a "
              "suite runs only if you name one")  # fmt: skip
@click.option("--read", type=Path,
              help="report or compare a file written by --out, without measuring")  # fmt: skip
@click.option("--out", type=Path, help="write the results to this JSON file")
@click.option("--markdown", help="write the report to this file, not to stdout")
@click.option("--plot", type=Path, help="draw the results to this .png or .svg file")
@click.option("--compare", type=Path, help="compare with this JSON file, written by --out")
@click.option("--fail-on-regression", metavar="5%", callback=_percent,
              help="with --compare: exit with status 1 if a row is slower by more than this "
              "percentage and by more than the noise")  # fmt: skip
@click.option("--scheduler", help="distribute the cases with Dask: local:2, or tcp://host:8786")
@click.pass_context
def bench(context: click.Context, **options: Any) -> int:
    """Check and measure forgekit's operators at the sizes of a suite. On a GPU, report times with a
    cold L2 cache, including the times of peers and of a 1 GB copy. Without a GPU, report the
    virtual GPU's counts.
    """
    from forgekit.benching.suites import running
    from forgekit.benching.suites.report import markdown
    from forgekit.benching.suites.results import read_results
    from forgekit.viz.timing.suite import save

    chosen = SimpleNamespace(**options)
    elsewhere: Measure | None = context.obj  # set by modal_app; None to measure here or with Dask
    if chosen.read:
        _check_read(context)
    _check_early(chosen, elsewhere)
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
        if baseline and _is_slower(results, baseline, chosen.fail_on_regression):
            status = status or 1
    finally:
        if chosen.markdown not in (None, "-"):
            write_output("--markdown", chosen.markdown, text)
        if chosen.plot and not save(results, chosen.plot):
            print(
                f"forgekit: {chosen.plot} was not drawn, because there are no measurements",
                file=sys.stderr,
            )
    return status


def _check_read(context: click.Context) -> None:
    """Raise UsageError if an option cannot be combined with --read."""
    given = [
        param.opts[0]
        for param in context.command.params
        if param.name not in _OF_REPORTS
        and context.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE
    ]
    if given:
        names = ", ".join(given)
        remedy = f"leave out {names}, or measure again without --read"
        raise usage_error("--read", names, "only report options", remedy)


def _check_early(chosen: SimpleNamespace, elsewhere: Measure | None) -> None:
    """Reject invalid options now, because the measurements can take half an hour."""
    from forgekit.benching.suites.spread import check_scheduler, local_workers
    from forgekit.viz.timing.suite import check_plot_file

    if elsewhere and (chosen.scheduler or chosen.host_times):
        got, remedy = "--scheduler or --host-times", "leave both out"
        raise usage_error("modal", got, "neither", remedy)
    check_names("--op", chosen.op, OPERATORS)
    check_names("--dtype", chosen.dtype, DTYPES)
    if chosen.plot:
        check_plot_file(chosen.plot)
    report = None if chosen.markdown == "-" else chosen.markdown
    for option, file in (("--out", chosen.out), ("--markdown", report), ("--plot", chosen.plot)):
        if file is not None:
            check_output(option, file)
    if chosen.scheduler:
        check_scheduler(chosen.scheduler)
        if chosen.host_times and local_workers(chosen.scheduler) is None:
            got, remedy = f"--scheduler {chosen.scheduler}", "leave out one of the two"
            raise usage_error("--host-times", got, "this host", remedy)
    if chosen.fail_on_regression is not None and not chosen.compare:
        remedy = "add --compare baseline.json"
        raise usage_error("--fail-on-regression", "no baseline", "one", remedy)


def _is_slower(results: SuiteResults, baseline: SuiteResults, gate: float | None) -> bool:
    """Print the comparison; return True if a row is slower by more than `gate` percent, if given,
    and by more than the noise.

    Raises:
        UsageError: the baseline was measured on a different GPU, or no row can be compared with it.
    """
    from forgekit.benching.suites.compare import check_baseline, compare

    gated = gate is not None and not results.interrupted
    keys = [row.key for row in results.rows if row.status != "skipped"] if gated else None
    check_baseline(baseline, results.gpus, keys, results.suite)
    comparison = compare(results, baseline, 5.0 if gate is None else gate)
    print("\n".join(comparison.lines()))
    return bool(comparison.slower) and gate is not None


def _measured(
    chosen: SimpleNamespace, elsewhere: Measure | None, baseline: SuiteResults | None
) -> SuiteResults:
    from forgekit.benching.suites import running
    from forgekit.benching.suites.compare import check_baseline
    from forgekit.benching.suites.results import write_results
    from forgekit.benching.suites.spread import run_case_here, spread
    from forgekit.devices import current_target

    cases = []
    if chosen.suite is not None or not chosen.host_times:
        suite = load_suite(chosen.suite or "smoke")
        cases = select(suite, ops=chosen.op, dtypes=chosen.dtype)
    settings = _settings(chosen, here=elsewhere is None)
    name = Path(chosen.suite).stem if chosen.suite else "smoke" if cases else "none"
    if baseline:
        here = elsewhere is None and not chosen.scheduler
        gpus = [current_target(settings.device).name] if here else []
        keys = [(case, contender.name) for case in cases for contender in settings.contenders()]
        gated = chosen.fail_on_regression is not None
        check_baseline(baseline, gpus, keys if gated else None, name)
    if elsewhere:
        outcomes = elsewhere(cases, settings)
    elif chosen.scheduler:
        pieces = [(case, settings) for case in cases]
        outcomes = spread(
            run_case_here, pieces, scheduler=chosen.scheduler, failed=running.failed_case
        )
    else:
        outcomes = running.run_cases(cases, settings)
    results = running.new_results(name)
    if cases:
        running.merge(results, outcomes, total=len(cases), out=chosen.out)
    if results.interrupted:
        print(f"forgekit: interrupted; {len(results.rows)} rows are saved", file=sys.stderr)
    elif chosen.host_times:
        ops = [op for op in OPERATORS if op in (chosen.op or OPERATORS)]
        running.measure_host(results, ops, settings)
    if chosen.out:
        write_results(results, chosen.out)
    return results


def _settings(chosen: SimpleNamespace, *, here: bool) -> Settings:
    from forgekit.benching.suites.running import Settings
    from forgekit.benching.suites.spread import local_workers

    device, arch = chosen.device, None
    if here and (not chosen.scheduler or local_workers(chosen.scheduler)):
        target = chosen_target(chosen.device)
        if chosen.host_times and target.kind != "gpu":
            needed, remedy = "a GPU", "run this command on a machine with a GPU"
            raise PlatformError(got_needed("--host-times", target.name, needed, remedy))
        device = target.kind
        arch = target.arch if target.kind == "virtual" else None
    settings = Settings(
        backends=chosen.backend or ("kernel",),
        variants=chosen.variant,
        peers=() if chosen.peers == ("none",) else chosen.peers,
        repeats=chosen.repeats,
        device=device,
        arch=arch,
    )
    settings.contenders()  # raises UsageError if the name is unknown
    return settings
