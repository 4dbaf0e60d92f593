"""`forgekit sanitize`: a script on the virtual GPU, or a command below compute-sanitizer."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forgekit.commands import script as scripts
from forgekit.errors import UsageError, got_needed
from forgekit.text import plural

if TYPE_CHECKING:
    from forgekit.profiling.nvidia.sanitizer import Result

__all__ = ["is_command", "main", "tool"]


def main(script: str, arguments: list[str], *, schedule: str = "default", seed: int = 0) -> int:
    """Run `script` as `forgekit run` does, always on the virtual GPU, then print what the sanitizer
    found in the kernels that it launched.

    Returns the script's exit status; 1 where there are findings other than notes.

    Raises:
        UsageError: no such file, an unknown schedule.
    """
    from forgekit.checking.sanitize import counted, distinct
    from forgekit.vgpu.host.options import SCHEDULES, options_of_all_threads
    from forgekit.vgpu.sanitizer import Finding

    if schedule not in SCHEDULES:
        raise UsageError(
            got_needed("--schedule", schedule, f"one of {', '.join(SCHEDULES)}", "choose one")
        )
    if seed < 0:
        raise UsageError(got_needed("--seed", seed, "0 or more", "choose another"))
    findings: list[Finding] = []
    launched: list[str] = []
    orders: dict[str, Any] = {"schedule": schedule, "seed": seed}
    chosen = {"sanitize": True, "findings": findings, "launched": launched, **orders}
    with options_of_all_threads(**chosen):
        ended = scripts.run(script, arguments, device="virtual")
    found = distinct(findings)
    for finding in found:
        print(f"\n{counted(finding)}")
    errors = sum(f.severity == "error" for f in found)
    counts = f"{plural(errors, 'finding')}, {plural(len(found) - errors, 'note')}"
    if launched or ended.stopped:
        print(f"\n{_summary(ended, counts)}")
    else:
        print(scripts.launched_nothing(script, ended))
    return ended.status or int(bool(errors))


def _summary(ended: scripts.Ended, counts: str) -> str:
    """What was found, and what was not looked at."""
    if ended.stopped:
        return f"sanitizer: stopped by the error above, {counts} before; the rest was not looked at"
    if ended.status:
        return f"sanitizer: {counts} before the script ended with status {ended.status}"
    return f"sanitizer: {counts}"


def is_command(arguments: Sequence[str]) -> bool:
    """Whether the words behind `forgekit sanitize` are for compute-sanitizer: `--` comes before any
    script, or an option is there that only it has.
    """
    for i, word in enumerate(arguments):
        if word == "--" or word.partition("=")[0] in ("--tool", "--json"):
            return True
        value_of_option = i and arguments[i - 1] in ("--schedule", "--seed")
        if not word.startswith("-") and not value_of_option:
            return False
    return False


def _tool_parser() -> argparse.ArgumentParser:
    from forgekit.profiling.nvidia.sanitizer import TOOLS

    parser = argparse.ArgumentParser(
        prog="forgekit sanitize",
        usage="forgekit sanitize [--tool TOOL,...] [--json] -- command ...",
        description="Run a command below NVIDIA's compute-sanitizer, on the GPU.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--tool", default=",".join(TOOLS), help="one run for each; otherwise %(default)s"
    )
    parser.add_argument("--json", action="store_true", help="print the table's data as JSON")
    return parser


def tool(arguments: Sequence[str]) -> int:
    """`forgekit sanitize [--tool …] -- command`: run the command below compute-sanitizer, once for
    each tool, and print a table of what they found.

    Returns the command's exit status if it failed; otherwise 1 where there are errors.

    Raises:
        UsageError: called wrongly, an unknown tool.
        PlatformError: no GPU, or compute-sanitizer is missing.
        ForgekitError: compute-sanitizer could not work.
    """
    from forgekit.profiling.nvidia import calls, sanitizer, tools

    options, command = calls.parse(_tool_parser(), arguments)
    chosen = [name.strip() for name in options.tool.split(",") if name.strip()]
    unknown = [name for name in chosen if name not in sanitizer.TOOLS]
    if unknown or not chosen:
        needed = f"some of {', '.join(sanitizer.TOOLS)}"
        remedy = "write them with commas, or leave --tool out for all"
        raise UsageError(got_needed("--tool", ", ".join(unknown) or "none", needed, remedy))
    path = tools.require(tools.SANITIZER)
    logs = Path(tempfile.mkdtemp(prefix="forgekit-sanitizer-"))
    results = []
    for name in chosen:
        print(f"-- {name}: {sanitizer.TOOLS[name]}", file=sys.stderr, flush=True)
        results.append(sanitizer.run(path, command, name, logs=logs, quiet=options.json))
    _say(results, command, logs, as_json=options.json)
    failed = next((r for r in results if r.status), None)
    if failed is not None:
        about = f"{command[0]} ended with exit status {failed.status} below {failed.tool}"
        print(f"forgekit: {about}", file=sys.stderr)
        return failed.status
    return int(any(r.errors for r in results))


def _say(results: list[Result], command: list[str], logs: Path, *, as_json: bool) -> None:
    """Print the results; the logs are kept where they say anything."""
    from forgekit.profiling.nvidia.sanitizer import as_table

    wrong = any(r.errors or r.warnings for r in results)
    if not wrong:
        shutil.rmtree(logs)
    if as_json:
        told = {"command": command, "logs": str(logs) if wrong else None}
        print(json.dumps(told | {"results": [r.to_dict() for r in results]}, indent=1))
    else:
        print(f"\n{as_table(results)}" + f"\n\nall that was said: {logs}" * wrong)
