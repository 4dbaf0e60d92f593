"""`forgekit bench`: forgekit's operators, and what people use today, at the sizes of a suite."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from forgekit.benching.suites.suite import DTYPES, OPS, Case, load_suite, select, suite_names
from forgekit.errors import UsageError, got_needed

if TYPE_CHECKING:
    from forgekit.benching.suites.results import SuiteResults
    from forgekit.benching.suites.running import Outcome, Settings

__all__ = ["build_parser", "main", "report_main"]

Outcomes = Iterable[tuple[int, "Outcome"]]
Measure = Callable[[list[Case], "Settings"], Outcomes]

_DESCRIPTION = """\
Check and measure forgekit's operators at the sizes of a suite. On a GPU: times with a cold L2
cache, beside what peers take and beside a copy of 1 GB. Without a GPU: what the virtual GPU
counts. `forgekit bench vgpu` measures the virtual GPU itself."""


def build_parser() -> argparse.ArgumentParser:
    """The parser of the command's options."""
    parser = argparse.ArgumentParser(prog="forgekit bench", description=_DESCRIPTION)
    suites = ", ".join(suite_names())
    parser.add_argument("--suite", help=f"{suites}, or a TOML file of yours; default smoke")
    parser.add_argument("--op", default="", help=f"some of {', '.join(OPS)}; default all")
    parser.add_argument("--dtype", default="", help=f"some of {', '.join(DTYPES)}; default all")
    parser.add_argument("--backend", default="kernel", help="such as kernel,ref; default kernel")
    parser.add_argument(
        "--variant", default="", help="such as best,naive,online: variants of the kernels"
    )
    parser.add_argument(
        "--peers", default="torch", help="some of torch, torch.compile, quack, or none"
    )
    parser.add_argument("--repeats", type=int, default=50, help="timed calls of each; default 50")
    parser.add_argument(
        "--device", help="gpu or virtual; otherwise FORGEKIT_DEVICE or what is there"
    )
    parser.add_argument(
        "--host-times",
        action="store_true",
        help="microseconds of host time of a call on 64×64 elements; no suite unless it is named",
    )
    parser.add_argument(
        "--read", type=Path, help="measure nothing; report on (or compare) this file of --out"
    )
    parser.add_argument("--out", type=Path, help="write the results into this JSON file")
    parser.add_argument(
        "--markdown", help="write the report into this file; it is printed where this is left out"
    )
    parser.add_argument("--plot", type=Path, help="draw the results into this .png or .svg file")
    parser.add_argument("--compare", type=Path, help="a JSON file of --out to compare with")
    parser.add_argument(
        "--fail-on-regression",
        metavar="5%",
        help="with --compare: exit with 1 where a row is slower by more, beyond the noise",
    )
    parser.add_argument(
        "--scheduler", help="spread the cases with Dask: local:2, or tcp://host:8786"
    )
    return parser


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
    from forgekit.benching.suites.compare import check_comparable, compare
    from forgekit.benching.suites.results import read_results

    chosen = build_parser().parse_args(list(arguments))
    if elsewhere is not None and (chosen.scheduler or chosen.host_times):
        got, remedy = "--scheduler or --host-times", "leave it out"
        raise UsageError(got_needed("modal", got, "neither", remedy))
    threshold = _early_checks(chosen)
    baseline = read_results(chosen.compare) if chosen.compare else None
    if chosen.read:
        results = read_results(chosen.read)
    else:
        results = _measured(chosen, elsewhere, baseline)
    _report(results, chosen.markdown, chosen.plot)
    status = running.exit_status(results)
    if baseline:
        for gpu in results.gpus:
            check_comparable(baseline, gpu)
        comparison = compare(results, baseline, threshold)
        print("\n".join(comparison.lines()))
        if comparison.slower and chosen.fail_on_regression:
            status = status or 1
    return status


def _measured(
    chosen: argparse.Namespace, elsewhere: Measure | None, baseline: SuiteResults | None
) -> SuiteResults:
    from forgekit.benching.suites import running
    from forgekit.benching.suites.compare import check_comparable
    from forgekit.benching.suites.results import write_results
    from forgekit.devices import current_target

    cases = _cases(chosen)
    settings = _settings(chosen, here=elsewhere is None)
    if baseline and elsewhere is None and not chosen.scheduler:
        check_comparable(baseline, current_target(settings.device).name)
    suite = Path(chosen.suite).stem if chosen.suite else "smoke" if cases else "none"
    results = running.new_results(suite)
    if cases:
        measure = elsewhere or partial(_here_or_spread, scheduler=chosen.scheduler)
        _with_progress(results, cases, measure(cases, settings), chosen.out)
    if chosen.host_times and not results.interrupted:
        ops = [op for op in OPS if op in (_list(chosen.op) or OPS)]
        running.measure_host(results, ops, settings)
    if chosen.out:
        write_results(results, chosen.out)
    return results


def _list(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _cases(chosen: argparse.Namespace) -> list[Case]:
    if chosen.host_times and chosen.suite is None:
        return []
    suite = load_suite(chosen.suite or "smoke")
    return select(suite, ops=_list(chosen.op), dtypes=_list(chosen.dtype))


def _early_checks(chosen: argparse.Namespace) -> float:
    """What would be a pity to be told after half an hour; returns the threshold in percent."""
    from forgekit.benching.suites.compare import parse_percent
    from forgekit.benching.suites.picture import check_plot_file

    if chosen.repeats < 1:
        raise UsageError(got_needed("--repeats", chosen.repeats, "1 or more", "leave it out"))
    written = (("--out", chosen.out), ("--markdown", chosen.markdown), ("--plot", chosen.plot))
    for option, name in written:
        folder = Path(name).parent if name and str(name) != "-" else Path()
        if not folder.is_dir():
            remedy = f"make it: mkdir -p {folder}"
            raise UsageError(got_needed(option, name, "a file in a folder that exists", remedy))
    if chosen.plot:
        check_plot_file(chosen.plot)
    if chosen.scheduler:
        from forgekit.benching.suites.spread import check_scheduler

        check_scheduler(chosen.scheduler)
    if chosen.fail_on_regression and not chosen.compare:
        remedy = "add --compare baseline.json"
        raise UsageError(got_needed("--fail-on-regression", "no baseline", "one", remedy))
    return parse_percent(chosen.fail_on_regression or "5%")


def _settings(chosen: argparse.Namespace, *, here: bool) -> Settings:
    from forgekit.benching.suites.running import Settings
    from forgekit.devices import current_target

    peers = () if chosen.peers == "none" else _list(chosen.peers)
    device, arch = chosen.device, None
    if here and not (chosen.scheduler or "").startswith("tcp"):
        target = current_target(chosen.device)
        device = target.kind
        arch = target.arch if target.kind == "virtual" else None
    settings = Settings(
        backends=_list(chosen.backend) or ("kernel",),
        variants=_list(chosen.variant),
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


def _report(results: SuiteResults, markdown_file: str | None, plot: Path | None) -> None:
    from forgekit.benching.suites.picture import save
    from forgekit.benching.suites.report import markdown

    text = markdown(results)
    if markdown_file in (None, "-"):
        print(text, end="")
    else:
        Path(str(markdown_file)).write_text(text, encoding="utf-8")
    if plot and not save(results, plot):
        print(f"forgekit: {plot} is not drawn, as nothing was measured", file=sys.stderr)
