"""Run a command under Compute Sanitizer, once per tool, and tabulate the findings."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from forgekit.errors import ForgekitError
from forgekit.profiling.nvidia.tools import short_name, watch
from forgekit.text import Table, plural, shortened

# Maps each tool to the errors that it finds.
TOOLS = {
    "memcheck": "accesses outside an allocation, misaligned accesses, failed CUDA calls",
    "racecheck": "races in shared memory",
    "initcheck": "reads of unwritten global memory",
    "synccheck": "misused barriers",
}
# PyTorch places tensors in larger allocations, so these two tools do not know where a tensor ends.
_BY_ALLOCATION = ("memcheck", "initcheck")
TEXT_WIDTH = 76
NO_CACHING = "PYTORCH_NO_CUDA_MEMORY_CACHING"

_SAID = re.compile(r"(?m)^========= ?(.*?) *$")
# Matches messages about the tool's own run, not about a kernel.
_TALK = re.compile(
    r"COMPUTE-SANITIZER|(ERROR|RACECHECK|LEAK) SUMMARY|Target application|Error: process didn"
)
_TROUBLE = re.compile(r"^(?:Internal|Fatal|Error: (?!Race|process didn))|not supported")
# Matches `at NAME+0x80 in FILE:177` or `at NAME+0x80`.
_PLACE = re.compile(r".*\bat (.+?)\+0x\w+(?: in (\S.*?):(\d+))?")


@dataclass(frozen=True)
class Result:
    """The result of one tool. errors: the number of errors; None if the log does not state it.
    status: the run's exit status. kind: the first error, in the tool's words. kernel, file, line:
    the location of the first error; None if the tool does not report it.
    """

    tool: str
    errors: int | None
    warnings: int
    status: int
    kind: str | None = None
    kernel: str | None = None
    file: str | None = None
    line: int | None = None


def run(
    sanitizer: str, command: Sequence[str], tool: str, *, logs: Path, quiet: bool = False
) -> Result:
    """Run `command` under one tool, whose log is written to the folder `logs`. quiet: True to send
    the command's output to stderr. Raise ForgekitError if the tool fails.
    """
    log = logs / f"{tool}.txt"
    line = [sanitizer, "--tool", tool, "--target-processes", "all", "--show-backtrace", "no"]
    whole = tool in _BY_ALLOCATION and NO_CACHING not in os.environ
    more = {NO_CACHING: "1"} if whole else {}
    status = watch([*line, "--log-file", str(log), *command], quiet=quiet, **more)
    said = log.read_text(errors="replace") if log.exists() else ""
    found = result(tool, said, status)
    if found.errors is None:
        reason = next(filter(_TROUBLE.search, _SAID.findall(said)), "its log has no error summary")
        raise ForgekitError(f"{tool} ended with exit status {status}: {reason}; see {log}")
    return found


def result(tool: str, log: str, status: int) -> Result:
    """Parse a log of compute-sanitizer. status: the exit status of the logged run."""
    said = _SAID.findall(log)
    sums = "\n".join(text for text in said if "SUMMARY: " in text)
    totals = [int(n) for n in re.findall(r"(?m)^ERROR SUMMARY: (\d+) errors?$", sums)]
    races = re.findall(r"(?m)^RACECHECK SUMMARY: .*\((\d+) errors?, (\d+) warn", sums)
    totals += [int(errors) for errors, _ in races]
    counts = sum(totals) if totals else None, sum(int(warnings) for _, warnings in races)
    firsts = (i for i, text in enumerate(said) if text[:1].strip() and not _TALK.match(text))
    first = next(firsts, None)
    if first is None:
        return Result(tool, *counts, status)
    kind = said[first].removeprefix("Error: ").removeprefix("Warning: ").split(" between ")[0]
    kind = re.sub(r' \(error \d+\) due to "[^"]*"', "", kind).rstrip(".")
    block = [said[first], *itertools.takewhile(lambda t: t.startswith(" "), said[first + 1 :])]
    place = next(filter(None, map(_PLACE.match, block)), None)
    kernel, path, line = place.groups() if place else (None, None, None)
    file = Path(path).name if path else None
    return Result(tool, *counts, status, kind, kernel, file, int(line) if line else None)


def as_table(results: Sequence[Result]) -> str:
    rows = []
    for r in results:
        warnings = f" (+{plural(r.warnings, 'warning')})" if r.warnings else ""
        rows.append([r.tool, f"{r.errors:,}{warnings}", shortened(r.kind or "", TEXT_WIDTH)])
        kernel = f" in {short_name(r.kernel)}" if r.kernel else ""
        where = f"{r.file}, line {r.line}{kernel}" if r.file else kernel.strip()
        rows += [["", "", shortened(where, TEXT_WIDTH)]] if where else []
    return "\n".join(Table(("tool", "errors", "first error"), rows, left=(0, 2)).lines())
