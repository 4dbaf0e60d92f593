"""The options of `forgekit bench`, and what is refused before anything is measured."""

from __future__ import annotations

import argparse
from pathlib import Path

from forgekit.benching.suites.suite import DTYPES, OPS, check_names, suite_names
from forgekit.commands.options import words
from forgekit.errors import UsageError, got_needed

__all__ = ["build_parser", "early_checks"]

_OF_REPORTS = ("read", "markdown", "plot", "compare", "fail_on_regression")
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


def early_checks(chosen: argparse.Namespace) -> float:
    """What would be a pity to be told after half an hour; returns the threshold in percent."""
    from forgekit.benching.suites.compare import parse_percent
    from forgekit.output_files import check_output
    from forgekit.viz.timing.suite import check_plot_file

    if chosen.read:
        _check_read(chosen)
    check_names(words(chosen.op), words(chosen.dtype))
    if chosen.repeats < 1:
        raise UsageError(got_needed("--repeats", chosen.repeats, "1 or more", "leave it out"))
    if chosen.plot:
        check_plot_file(chosen.plot)
    report = None if chosen.markdown == "-" else chosen.markdown
    for option, file in (("--out", chosen.out), ("--markdown", report), ("--plot", chosen.plot)):
        if file is not None:
            check_output(option, file)
    if chosen.scheduler:
        _check_scheduler(chosen)
    if chosen.fail_on_regression and not chosen.compare:
        remedy = "add --compare baseline.json"
        raise UsageError(got_needed("--fail-on-regression", "no baseline", "one", remedy))
    return parse_percent(chosen.fail_on_regression or "5%")


def _check_read(chosen: argparse.Namespace) -> None:
    """Raise UsageError for options that a file, which is read as it stands, cannot follow."""
    usual = vars(build_parser().parse_args([]))
    given = [n for n, value in vars(chosen).items() if n not in _OF_REPORTS and value != usual[n]]
    if given:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        got, remedy = f"{options} beside it", "leave that out, or measure again without --read"
        raise UsageError(got_needed("--read", got, "options of the report alone", remedy))


def _check_scheduler(chosen: argparse.Namespace) -> None:
    from forgekit.benching.suites.spread import check_scheduler, local_workers

    check_scheduler(chosen.scheduler)
    if chosen.host_times and local_workers(chosen.scheduler) is None:
        got, remedy = f"--scheduler {chosen.scheduler}", "leave one of the two out"
        raise UsageError(got_needed("--host-times", got, "the host at hand", remedy))
