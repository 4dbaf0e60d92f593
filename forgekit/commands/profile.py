"""`forgekit profile`: profile a script on the virtual GPU, or a command with ncu or nsys."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from contextlib import nullcontext, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forgekit.commands.options import AtLeast, Names, ScriptCommand, ToolCommand, as_option, no_cuda
from forgekit.commands.run import launched_nothing, run_script
from forgekit.errors import PlatformError, UsageError, brief, usage_error
from forgekit.output_files import check_output
from forgekit.profiling.nvidia import ncu, nsys, tools
from forgekit.text import plural

if TYPE_CHECKING:
    from forgekit.profiling.gpus import Gpu
    from forgekit.profiling.predicting.predicted import PredictedTime
    from forgekit.profiling.profile import Profile

_out = click.option("--out", help="save the report to this file; default: a temporary file")
_json = click.option("--json", "as_json", is_flag=True, help="print the table's data as JSON")


# -- under NVIDIA's tools -------------------------------------------------------------------------
@click.command("ncu", cls=ToolCommand)
@_out
@_json
@click.option(
    "--kernel",
    default=ncu.CUTE_KERNELS,
    metavar="REGEX",
    help="kernels to measure; default: CuTe DSL's kernels, whose names begin with "
    f"{ncu.CUTE_KERNELS}",
)
@click.option(
    "--metrics",
    type=Names(),
    default="",
    help="comma-separated ncu metrics to collect instead of the default ones",
)
@click.option("--skip", type=AtLeast(0, "leave it out to skip none"), default=0,
              help="number of launches of these kernels to skip; default: 0")  # fmt: skip
@click.option("--count", type=AtLeast(1, "leave it out to measure all"),
              help="number of further launches to measure; default: all")  # fmt: skip
@click.option("--full", is_flag=True, help="collect all ncu sections, for ncu-ui (slow)")
def with_ncu(
    command: list[str],
    out: str | None,
    as_json: bool,
    kernel: str,
    metrics: tuple[str, ...],
    skip: int,
    count: int | None,
    full: bool,
) -> int:
    """Run a command under Nsight Compute; print a table of its kernels."""
    try:
        re.compile(kernel)
    except re.error as error:
        needed = f"a regular expression ({error})"
        remedy = "put a backslash before characters such as ( [ * +"
        raise usage_error("--kernel", brief(kernel), needed, remedy) from None
    place = _report_path(out, ".ncu-rep")
    options = ncu.options_of(kernel=kernel, metrics=metrics, skip=skip, count=count, full=full)
    done = ncu.run(tools.require(tools.NCU), command, *options, quiet=as_json)
    who = command[0] if done.command_failed else "ncu"
    if not done.rows:
        reason = ncu.explain(done.log, kernel)
        if not done.command_failed or isinstance(reason, PlatformError):
            raise reason
        print("forgekit: no kernel was measured", file=sys.stderr)
        return _passed_on(done.status, who)
    found = ncu.kernels(done.rows, metrics)
    data = {"tool": "ncu", "command": command, "kernels": found}
    _print_measured(data, ncu.as_table(found, metrics), done.report, place, as_json=as_json)
    unknown = [name for name in metrics if name not in done.rows[0]]
    if unknown and not done.status:
        raise ncu.unknown_metrics(unknown)
    return _passed_on(done.status, who)


@click.command("nsys", cls=ToolCommand)
@_out
@_json
def with_nsys(command: list[str], out: str | None, as_json: bool) -> int:
    """Run a command under Nsight Systems; print tables of its kernels, CUDA calls and copies."""
    place = _report_path(out, ".nsys-rep")
    report, status, tables = nsys.run(tools.require(tools.NSYS), command, quiet=as_json)
    data = {"tool": "nsys", "command": command, **tables}
    _print_measured(data, nsys.as_tables(tables), report, place, as_json=as_json)
    return _passed_on(status, command[0])


def _report_path(out: str | None, suffix: str) -> Path | None:
    """Return the report's path with the suffix that the tool requires; None if `out` is None.

    Raises:
        UsageError: the report cannot be written there, or the path is a folder.
    """
    if out is None:
        return None
    if not Path(out).is_dir():  # the error names a folder without the suffix
        out = out if out.endswith(suffix) else out + suffix
    check_output("--out", out)
    return Path(out).resolve()


def _print_measured(
    data: dict[str, Any], table: str, report: Path, out: Path | None, *, as_json: bool
) -> None:
    """Move the report to `out`, if given, and print the data or the table.

    Raises:
        UsageError: the report cannot be moved; it remains in the temporary file.
    """
    place = out or report
    if out is not None:
        try:
            shutil.move(report, out)  # replaces an existing file only after the run
        except OSError as error:
            got, remedy = f"{out} ({error.strerror or error})", f"find the report at {report}"
            raise usage_error("--out", got, "a writable file", remedy) from None
        shutil.rmtree(report.parent, ignore_errors=True)
    if as_json:
        print(json.dumps(data | {"report": str(place)}, indent=1))
        return
    opens = f"`{data['tool']}-ui` opens it; --out saves it elsewhere"
    print(f"\n{table}\n\nreport: {place} ({opens})", flush=True)


def _passed_on(status: int, who: str) -> int:
    if status:
        print(f"forgekit: {who} ended with exit status {status}", file=sys.stderr)
    return status


# -- a script -------------------------------------------------------------------------------------
@click.command(
    cls=ScriptCommand,
    others=(with_ncu, with_nsys),
    epilog="`forgekit profile ncu|nsys [options] -- command ...` runs a command on the GPU under "
    "NVIDIA's tool; `forgekit profile ncu --help` lists its options",
)
@click.option("--gpu", help="predict the time of each kernel on this GPU, such as H200 or L4, or "
"on the GPU of a `forgekit calibrate` file; the bound uses this GPU's bandwidth")  # fmt: skip
@click.option("--blocks", type=AtLeast(8, "leave it out to run all"), metavar="N",
              help="run a sample of N blocks per launch, at least 8; counts are then estimates, "
              "and the script's own results are incomplete")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="print the profiles as JSON")
@no_cuda
def profile(
    script: str,
    arguments: tuple[str, ...],
    gpu: str | None,
    blocks: int | None,
    as_json: bool,
    cuda: bool,
) -> int:
    """Run a CuTe DSL script on the virtual GPU and print the cost of each line.

    SCRIPT is the Python file; it receives ARGUMENTS.
    """
    from forgekit.profiling.profile import of_recording
    from forgekit.vgpu import Recording

    if script in ("ncu", "nsys") and not Path(script).is_file():
        needed = f"options after `forgekit profile {script}`"
        remedy = f"see `forgekit profile {script} --help`"
        raise usage_error("profile", f"options before {script}", needed, remedy)
    chosen = _gpu(gpu) if gpu is not None else None
    # Keep the script's output out of the JSON.
    aside = redirect_stdout(sys.stderr) if as_json else nullcontext()
    launched: list[str] = []
    paced = gpu is not None
    options: dict[str, Any] = {"all_threads": True, "launched": launched, "blocks": blocks}
    with aside, Recording(keep=False, shares=paced, **options) as recording:
        ended = run_script(script, arguments, device="virtual", cuda=cuda)
    paced = paced and not ended.stopped  # a stopped launch has no predicted time
    whole = of_recording(Path(script).name, recording, chosen, pace=paced)
    kernels = dict.fromkeys(launch.kernel for launch in whole.launches)
    profiles = {name: whole.filter(kernel=name) for name in kernels}
    times = {name: _time(name, p, gpu) for name, p in profiles.items()} if paced else {}
    if blocks is not None and profiles:
        what = _incomplete(whole, blocks)
        print(f"{'' if as_json else chr(10)}{what}", file=sys.stderr if as_json else sys.stdout)
    if as_json:
        found = {name: p.to_dict() for name, p in profiles.items()}
        found |= {name: found[name] | {"predicted": t.to_dict()} for name, t in times.items()}
        print(json.dumps(found, indent=1))
        return ended.status
    if launched and not profiles:
        inside = "inside fk.profile, fk.bench and similar functions, which count separately"
        print(f"{whole.name} launched kernels only {inside}.")
    elif not profiles:
        print(launched_nothing(script, ended))
    for name, p in profiles.items():
        print(f"\n{p!r}")
        if name in times:
            print(f"\n{times[name]!r}")
    if profiles and ended.stopped:
        untimed = "" if gpu is None else " No time is predicted."
        print("\n"
              "The error above ended the script, so its last launch may be counted only "
              f"partly.{untimed}")  # fmt: skip
    elif profiles and ended.status:
        why = ", perhaps because it compared incomplete results" if blocks is not None else ""
        before = f"{whole.name} ended with status {ended.status}{why}"
        print(f"\nThese kernels were launched before {before}.")
    return ended.status


def _time(kernel: str, p: Profile, gpu: str | None) -> PredictedTime:
    """Return the predicted time of all launches of a kernel."""
    n = len(p.launches)
    return replace(p.time(gpu), name=kernel if n == 1 else f"{kernel}, {plural(n, 'launch')}")


def _incomplete(whole: Profile, blocks: int) -> str:
    """Describe which blocks ran with --blocks, and the effect on the script's results."""
    from forgekit.profiling.table import WIDTH

    parts = [launch.sample for launch in whole.launches if launch.sample is not None]
    if not parts:
        return (
            f"--blocks {blocks}: every launch ran in full, because no launch has many more blocks."
        )
    text = (
        f"--blocks {blocks}: {len(parts)} of {plural(len(whole.launches), 'launch')} ran in part: "
        "the first and last blocks, one block from each of the equal parts between them, and 16 "
        f"neighbouring blocks. The results of {whole.name} are therefore incomplete; do not trust "
        "them or any comparison with them."
    )
    return textwrap.fill(text, WIDTH)


def _gpu(name: str) -> Gpu:
    from forgekit.profiling.gpus import gpu_named
    from forgekit.profiling.predicting.constants import calibration

    is_file = name.endswith(".toml")
    try:
        return gpu_named(calibration(name).gpu if is_file else name)
    except UsageError as error:
        remedy = "name a GPU, or calibrate again" if is_file else "choose one"
        raise as_option(error, "gpu", remedy) from None
