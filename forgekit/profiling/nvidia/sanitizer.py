"""Compute Sanitizer over a command: one run a tool, and a table of what they found."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from forgekit.errors import ForgekitError
from forgekit.profiling.nvidia.tools import short_name, watch
from forgekit.text import Table, plural, shortened

# Tool -> what it looks for.
TOOLS = {
    "memcheck": "accesses outside of an allocation, misaligned ones, failed CUDA calls",
    "racecheck": "races in shared memory",
    "initcheck": "reads of global memory that nobody wrote",
    "synccheck": "barriers used wrongly",
}
# PyTorch cuts its tensors from larger pieces; these two tools then see no tensor's end.
_BY_ALLOCATION = ("memcheck", "initcheck")
TEXT_WIDTH = 76
NO_CACHING = "PYTORCH_NO_CUDA_MEMORY_CACHING"

_MARK = re.compile(r"(?m)^=========(?: (.*))?$")
_TOTAL = re.compile(r"^ERROR SUMMARY: (\d+) errors?$")
_RACES = re.compile(r"^RACECHECK SUMMARY: \d+ hazards? displayed \((\d+) errors?, (\d+) warning")
# `at NAME+0x80 in FILE:177`, `at 0x80 in FILE:177:NAME`, `at 0x80 in NAME`
_PLACE = re.compile(r"(?:\bat |Device Frame: ?)(?P<where>\S.*)$")
# What the tool says about its run, not about a kernel.
_TALK = re.compile(
    r"COMPUTE-SANITIZER|(ERROR|RACECHECK|LEAK) SUMMARY|Target application|Error: process didn"
)
_TROUBLE = re.compile(r"^(?:Internal|Fatal|Error: (?!Race|process didn))|not supported")


@dataclass(frozen=True)
class Result:
    """What one tool said of the command.

    Attributes:
        errors, warnings: how many; errors is None if the log does not say.
        status: the exit status of the run.
        kind: the first error in the tool's words.
        kernel, file, line: where it is; None where the tool does not say.
    """

    tool: str
    errors: int | None
    warnings: int
    status: int
    kind: str | None = None
    kernel: str | None = None
    file: str | None = None
    line: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """All of it."""
        return asdict(self)


def run(
    sanitizer: str, command: Sequence[str], tool: str, *, logs: Path, quiet: bool = False
) -> Result:
    """Run `command` below one tool, whose log goes into the folder `logs`; quiet: what the command
    prints goes to stderr.

    Raises:
        ForgekitError: the tool could not work.
    """
    log = logs / f"{tool}.txt"
    line = command_line(sanitizer, command, tool=tool, log=log)
    more = environment(tool, os.environ.get(NO_CACHING))
    status = watch(line, quiet=quiet, environment=more)
    said = log.read_text(errors="replace") if log.exists() else ""
    found = result(tool, said, status)
    if found.errors is None:
        reason = trouble(said) or "it gave no sum of errors"
        raise ForgekitError(f"{tool} ended with exit status {status}: {reason}; see {log}")
    return found


def command_line(sanitizer: str, command: Sequence[str], *, tool: str, log: Path) -> list[str]:
    """compute-sanitizer over `command`, what it says to `log`."""
    line = [sanitizer, "--tool", tool, "--target-processes", "all", "--show-backtrace", "no"]
    return [*line, "--log-file", str(log), *command]


def environment(tool: str, before: str | None) -> dict[str, str]:
    """Variables that the command has to see; before: what PYTORCH_NO_CUDA_MEMORY_CACHING is now."""
    return {NO_CACHING: "1"} if tool in _BY_ALLOCATION and before is None else {}


def result(tool: str, log: str, status: int) -> Result:
    """What a log of compute-sanitizer says; status: the exit status of that run."""
    said = [(match[1] or "").rstrip() for match in _MARK.finditer(log)]
    totals = [int(m[1]) for text in said if (m := _TOTAL.match(text))]
    warnings = 0
    for races in filter(None, map(_RACES.match, said)):
        totals.append(int(races[1]))
        warnings += int(races[2])
    errors = sum(totals) if totals else None
    first = next((i for i, text in enumerate(said) if _is_finding(text)), None)
    if first is None:
        return Result(tool, errors, warnings, status)
    kind = said[first].removeprefix("Error: ").removeprefix("Warning: ")
    block = [said[first]]
    for text in said[first + 1 :]:
        if not text.startswith(" "):
            break
        block.append(text.strip())
    kernel, file, line = _place(block)
    kind = re.sub(r' \(error \d+\) due to "[^"]*"', "", kind.split(" between ")[0])
    return Result(tool, errors, warnings, status, kind.rstrip("."), kernel, file, line)


def _is_finding(text: str) -> bool:
    return bool(text) and not text.startswith(" ") and not _TALK.match(text)


def _place(block: Sequence[str]) -> tuple[str | None, str | None, int | None]:
    """Kernel, file and line of a finding: those of its last frame on the GPU that has a line."""
    kernel = file = None
    line = None
    for text in block:
        if text.startswith("Saved host backtrace"):
            break
        found = _PLACE.search(text)
        if found is None or "shared address" in text:
            continue
        name, _, source = found["where"].partition(" in ")
        if name.startswith("0x"):  # the form of older versions
            source, _, name = source.rpartition(":") if ":" in source else ("", "", source)
        place = re.match(r"(\S.*?):(\d+)", source)
        if place is not None:
            file, line = Path(place[1]).name, int(place[2])
        if kernel is None or place is not None:
            kernel = re.sub(r"\+0x[0-9a-f]+.*$", "", name).strip() or kernel
        if text.startswith("Error: Race") and place is not None:
            break
    return kernel, file, line


def trouble(log: str) -> str | None:
    """The line in which the tool says that it could not work; None if there is none."""
    said = ((match[1] or "").strip() for match in _MARK.finditer(log))
    return next((text for text in said if _TROUBLE.search(text)), None)


def as_table(results: Sequence[Result]) -> str:
    """The results as text of at most 100 columns."""
    rows = []
    for r in results:
        rows.append([r.tool, _count(r), shortened(r.kind or "", TEXT_WIDTH)])
        if r.kind and (r.kernel or r.file):
            rows.append(["", "", shortened(_where(r), TEXT_WIDTH)])
    return "\n".join(Table(("tool", "errors", "first error"), rows, left=(0, 2)).lines())


def _count(r: Result) -> str:
    count = "–" if r.errors is None else f"{r.errors:,}"
    return count + (f" (+{plural(r.warnings, 'warning')})" if r.warnings else "")


def _where(r: Result) -> str:
    kernel = f" in {short_name(r.kernel)}" if r.kernel else ""
    return f"{r.file}, line {r.line}{kernel}" if r.file else kernel.strip()
