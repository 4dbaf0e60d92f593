"""`forgekit sanitize`: check a script on the virtual GPU, or a command under compute-sanitizer."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from forgekit.commands.options import AtLeast, Names, ScriptCommand, ToolCommand, no_cuda
from forgekit.commands.run import Ended, launched_nothing, run_script
from forgekit.errors import usage_error
from forgekit.profiling.nvidia import sanitizer, tools
from forgekit.text import plural


# -- under NVIDIA's tool --------------------------------------------------------------------------
@click.command("sanitize", cls=ToolCommand)
@click.option(
    "--tool",
    "names",
    type=Names(),
    default=",".join(sanitizer.TOOLS),
    help=f"tools to run, one after another; default: {','.join(sanitizer.TOOLS)}",
)
@click.option("--json", "as_json", is_flag=True, help="print the table's data as JSON")
def with_compute_sanitizer(command: list[str], names: tuple[str, ...], as_json: bool) -> int:
    """Run a command on the GPU under NVIDIA's compute-sanitizer."""
    unknown = [name for name in names if name not in sanitizer.TOOLS]
    if unknown or not names:
        needed = f"some of {', '.join(sanitizer.TOOLS)}"
        remedy = "separate them by commas, or leave --tool out to run all"
        raise usage_error("--tool", ", ".join(unknown) or "none", needed, remedy)
    path = tools.require(tools.SANITIZER)
    logs = Path(tempfile.mkdtemp(prefix="forgekit-sanitizer-"))
    results = []
    for name in names:
        print(f"-- {name}: {sanitizer.TOOLS[name]}", file=sys.stderr, flush=True)
        results.append(sanitizer.run(path, command, name, logs=logs, quiet=as_json))
    _print_results(results, command, logs, as_json=as_json)
    failed = next((r for r in results if r.status), None)
    if failed is not None:
        about = f"{command[0]} ended with exit status {failed.status} under {failed.tool}"
        print(f"forgekit: {about}", file=sys.stderr)
        return failed.status
    return int(any(r.errors for r in results))


def _print_results(
    results: list[sanitizer.Result], command: list[str], logs: Path, *, as_json: bool
) -> None:
    """Print the results as a table or JSON; delete the logs if they report nothing."""
    wrong = any(r.errors or r.warnings for r in results)
    if not wrong:
        shutil.rmtree(logs)
    if as_json:
        data = {"command": command, "logs": str(logs) if wrong else None}
        print(json.dumps(data | {"results": [asdict(r) for r in results]}, indent=1))
    else:
        print(f"\n{sanitizer.as_table(results)}" + f"\n\nfull logs: {logs}" * wrong)


# -- a script -------------------------------------------------------------------------------------
class ScriptOrCommand(ScriptCommand):
    """A command that takes a script or, after compute-sanitizer's options and `--`, a command
    line."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        if _is_command(args):
            return with_compute_sanitizer.make_context(info_name, args, parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


def _is_command(words: Sequence[str]) -> bool:
    """Return True if the words contain `--` before any script, or an option that only the
    compute-sanitizer form has."""
    for i, word in enumerate(words):
        if word == "--" or word.partition("=")[0] in ("--tool", "--json"):
            return True
        value_of_option = i and words[i - 1] in ("--schedule", "--seed")
        if not word.startswith("-") and not value_of_option:
            return False
    return False


@click.command(
    cls=ScriptOrCommand,
    epilog=f"`forgekit sanitize [--tool {','.join(sanitizer.TOOLS)}] [--json] -- command ...` "
    "runs a command on the GPU under NVIDIA's compute-sanitizer",
)
@click.option(
    "--schedule",
    default="default",
    help="default, or adversarial to run thread orders that expose races",
)
@click.option(
    "--seed", type=AtLeast(0, "choose another"), default=0, help="seed of the adversarial schedule"
)
@no_cuda
def sanitize(script: str, arguments: tuple[str, ...], schedule: str, seed: int, cuda: bool) -> int:
    """Run a CuTe DSL script on the virtual GPU and report its mistakes.

    SCRIPT is the Python file; it receives ARGUMENTS.
    """
    from forgekit.vgpu import HARDWARE, Finding
    from forgekit.vgpu import options as vgpu_options

    if schedule not in HARDWARE.SCHEDULES:
        needed = f"one of {', '.join(HARDWARE.SCHEDULES)}"
        raise usage_error("--schedule", schedule, needed, "choose one")
    findings: list[Finding] = []
    launched: list[str] = []
    options: dict[str, Any] = {"sanitize": True, "schedule": schedule, "seed": seed}
    with vgpu_options(all_threads=True, findings=findings, launched=launched, **options):
        ended = run_script(script, arguments, device="virtual", cuda=cuda)
    found = Finding.distinct(findings, summed=True)
    for finding in found:
        print(f"\n{finding.counted}")
    errors = sum(f.severity == "error" for f in found)
    counts = f"{plural(errors, 'finding')}, {plural(len(found) - errors, 'note')}"
    if launched or ended.stopped:
        print(f"\n{_summary(ended, counts)}")
    else:
        print(launched_nothing(script, ended))
    return ended.status or int(bool(errors))


def _summary(ended: Ended, counts: str) -> str:
    """Summarise the findings; mention code that was not checked."""
    if ended.stopped:
        return f"sanitizer: stopped by the error above, after {counts}; later code is unchecked"
    if ended.status:
        return f"sanitizer: {counts} before the script ended with status {ended.status}"
    return f"sanitizer: {counts}"
