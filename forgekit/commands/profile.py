"""`forgekit profile`: a script on the virtual GPU, or a command below ncu or nsys."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forgekit.commands import script as scripts
from forgekit.commands.options import as_option
from forgekit.errors import PlatformError, UsageError, got_needed

if TYPE_CHECKING:
    from forgekit.profiling.gpus import Gpu
    from forgekit.profiling.nvidia import ncu

__all__ = ["TOOLS", "main", "tool"]

TOOLS = ("ncu", "nsys")


def main(
    script: str, arguments: list[str], *, gpu: str | None = None, as_json: bool = False
) -> int:
    """Run `script` as `forgekit run` does, always on the virtual GPU, then print a profile of each
    kernel that it launched, all launches of a kernel added up; returns the script's exit status.
    Of a script that fails, what it launched before is printed.

    gpu: whose bandwidth bounds the time. as_json: a JSON object, kernel -> profile.

    Raises:
        UsageError: no such file or GPU.
    """
    from forgekit.profiling.profile import of_counts
    from forgekit.vgpu.counters.counting import Counting
    from forgekit.vgpu.host.options import options_of_all_threads

    if script in TOOLS and not Path(script).is_file():
        needed = f"`forgekit profile {script}` first, its options behind it"
        remedy = f"see `forgekit profile {script} --help`"
        raise UsageError(got_needed("profile", f"options before {script}", needed, remedy))
    chosen = _gpu(gpu) if gpu is not None else None
    counts = Counting()
    # What the script prints must not stand before the JSON.
    aside = redirect_stdout(sys.stderr) if as_json else nullcontext()
    launched: list[str] = []
    with aside, options_of_all_threads(listeners=(counts,), launched=launched, sanitize=False):
        ended = scripts.run(script, arguments, device="virtual")
    whole = of_counts(Path(script).name, counts, chosen)
    kernels = dict.fromkeys(launch.kernel for launch in whole.launches)
    profiles = {name: whole.filter(kernel=name) for name in kernels}
    if as_json:
        print(json.dumps({name: p.to_dict() for name, p in profiles.items()}, indent=1))
        return ended.status
    if launched and not profiles:
        inside = "inside of fk.profile, fk.bench and the like, which count for themselves"
        print(f"{whole.name} launched kernels only {inside}.")
    elif not profiles:
        print(scripts.launched_nothing(script, ended))
    for p in profiles.values():
        print(f"\n{p!r}")
    if profiles and ended.stopped:
        print("\nThe error above ended the script: its last launch may be counted in part.")
    elif profiles and ended.status:
        print(f"\nThese were launched before {whole.name} ended with status {ended.status}.")
    return ended.status


def _gpu(name: str) -> Gpu:
    from forgekit.profiling.gpus import gpu_named

    try:
        return gpu_named(name)
    except UsageError as error:
        raise as_option(error, "gpu", "choose one") from None


def tool(arguments: Sequence[str]) -> int:
    """`forgekit profile ncu|nsys [options] -- command`: run the command below NVIDIA's tool, print
    a table of what it measured; returns the command's exit status.

    Raises:
        UsageError: called wrongly, an unknown metric, no kernel of that name.
        PlatformError: no GPU, no such tool, no permission to read the GPU's counters.
        ForgekitError: the tool failed.
    """
    name, *words = arguments
    return _ncu(words) if name == "ncu" else _nsys(words)


def _parser(name: str, about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"forgekit profile {name}",
        usage=f"forgekit profile {name} [options] -- command ...",
        description=about,
        allow_abbrev=False,
    )
    parser.add_argument("--out", help="keep the report here; otherwise in a temporary folder")
    parser.add_argument("--json", action="store_true", help="print the table's data as JSON")
    return parser


def _ncu_parser() -> argparse.ArgumentParser:
    from forgekit.profiling.nvidia.ncu import CUTE_KERNELS

    parser = _parser("ncu", "Run a command below Nsight Compute: a table of its kernels.")
    parser.add_argument(
        "--kernel",
        default=CUTE_KERNELS,
        metavar="REGEX",
        help="which kernels; otherwise those of CuTe DSL, whose names begin with %(default)s",
    )
    parser.add_argument("--metrics", default="", help="of ncu, with commas: shown instead")
    parser.add_argument("--skip", type=int, default=0, help="pass over so many launches of them")
    parser.add_argument("--count", type=int, help="then measure so many; otherwise all")
    parser.add_argument("--full", action="store_true", help="all that ncu has, for ncu-ui; slow")
    return parser


def _choice(options: argparse.Namespace) -> ncu.Choice:
    from forgekit.profiling.nvidia import calls, ncu

    if options.skip < 0:
        raise UsageError(got_needed("--skip", options.skip, "0 or more", "leave it out for 0"))
    if options.count is not None and options.count < 1:
        raise UsageError(got_needed("--count", options.count, "1 or more", "leave it out for all"))
    return ncu.Choice(
        kernel=calls.pattern(options.kernel),
        metrics=tuple(name.strip() for name in options.metrics.split(",") if name.strip()),
        skip=options.skip,
        count=options.count,
        full=options.full,
    )


def _ncu(words: Sequence[str]) -> int:
    from forgekit.profiling.nvidia import calls, ncu, tools

    options, command = calls.parse(_ncu_parser(), words)
    choice = _choice(options)
    out = calls.report_path(options.out, ".ncu-rep")
    done = ncu.run(tools.require(tools.NCU), command, choice, quiet=options.json)
    who = command[0] if done.command_failed else "ncu"
    if not done.rows:
        error = ncu.explain(done.log, choice.kernel)
        if not done.command_failed or isinstance(error, PlatformError):
            raise error
        print("forgekit: no kernel was measured", file=sys.stderr)
        return _passed_on(done.status, who)
    found = ncu.kernels(done.rows, choice.metrics)
    told = {"kernels": [k.to_dict() for k in found]}
    table = ncu.as_table(found, choice.metrics)
    _say("ncu", told, table, done.report, out, as_json=options.json, command=command)
    unknown = [name for name in choice.metrics if name not in done.rows[0]]
    if unknown and not done.status:
        raise ncu.unknown_metrics(unknown)
    return _passed_on(done.status, who)


def _nsys(words: Sequence[str]) -> int:
    from forgekit.profiling.nvidia import calls, nsys, tools

    about = "Run a command below Nsight Systems: tables of its kernels, CUDA calls and copies."
    options, command = calls.parse(_parser("nsys", about), words)
    out = calls.report_path(options.out, ".nsys-rep")
    done = nsys.run(tools.require(tools.NSYS), command, quiet=options.json)
    told = {name: [row.to_dict() for row in rows] for name, rows in done.tables.items()}
    table = nsys.as_tables(done.tables)
    _say("nsys", told, table, done.report, out, as_json=options.json, command=command)
    return _passed_on(done.status, command[0])


def _say(
    name: str,
    told: dict[str, Any],
    table: str,
    report: Path,
    out: Path | None,
    *,
    as_json: bool,
    command: list[str],
) -> None:
    """Print what was measured, and where the report is: at `out`, if that is given.

    Raises:
        UsageError: it could not be moved there; all is printed before that.
    """
    if not as_json:
        print(f"\n{table}\n", flush=True)
    place, failed = report, None
    if out is not None:
        try:
            place = _moved(report, out)
        except OSError as error:
            got, remedy = f"{out} ({error.strerror or error})", f"the report is {report}"
            failed = UsageError(got_needed("--out", got, "a file that can be written", remedy))
    if as_json:
        about = {"tool": name, "command": command, "report": str(place)}
        print(json.dumps(about | told, indent=1))
    else:
        print(f"report: {place} (`{name}-ui` opens it; --out keeps it elsewhere)")
    if failed is not None:
        raise failed


def _moved(report: Path, out: Path) -> Path:
    """The report where it was asked for; what stood there is replaced now, not before."""
    shutil.move(report, out)
    shutil.rmtree(report.parent, ignore_errors=True)
    return out


def _passed_on(status: int, who: str) -> int:
    if status:
        print(f"forgekit: {who} ended with exit status {status}", file=sys.stderr)
    return status
