"""`… -- command`: options of forgekit before it, a command for NVIDIA's tools behind it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from forgekit.errors import UsageError, brief, got_needed
from forgekit.output_files import check_output
from forgekit.profiling.nvidia.tools import program

__all__ = ["SEPARATOR", "parse", "pattern", "report_path"]

SEPARATOR = "--"
WHY = (
    "`--` says where the command begins: what is behind it runs as it stands, on the GPU, while "
    "`forgekit {} SCRIPT` without it runs a script on the virtual GPU"
)


def parse(
    parser: argparse.ArgumentParser, words: Sequence[str]
) -> tuple[argparse.Namespace, list[str]]:
    """The options of `parser` before the first `--`, and the command behind it.

    Raises:
        UsageError: there is no `--`, nothing behind it, or no such program.
        SystemExit: an unknown option, or --help.
    """
    called, verb = parser.prog, parser.prog.split()[1]
    before = list(words)
    command: list[str] = []
    if SEPARATOR in before:
        at = before.index(SEPARATOR)
        before, command = before[:at], before[at + 1 :]
    options, others = parser.parse_known_args(before)
    stray = next((word for word in others if not word.startswith("-")), None)
    if SEPARATOR in words and stray is None:
        if others:
            parser.error(f"unrecognized arguments: {' '.join(others)}")
        if command:
            return options, program(command, called)
    at = _position(parser, before, stray) if stray is not None else len(before)
    own = [word for word in before[:at] if word not in others]
    meant = [*before[at:], *command] or ["my_program.py"]
    example = ["python", *meant] if meant[0].endswith(".py") else meant
    got = f"`{' '.join([called, *words])}`" if words else "no command"
    remedy = f"write `{' '.join([called, *own, SEPARATOR, *example])}`. {WHY.format(verb)}"
    raise UsageError(got_needed("the call", got, "options, then `--`, then the command", remedy))


def _position(parser: argparse.ArgumentParser, words: Sequence[str], stray: str) -> int:
    """Where the first word stands that is neither an option nor the value of one."""
    for at, word in enumerate(words):
        if word == stray and stray in parser.parse_known_args(words[: at + 1])[1]:
            return at
    return words.index(stray)


def pattern(text: str) -> str:
    """A pattern of kernels' names as given.

    Raises:
        UsageError: it is no regular expression.
    """
    try:
        re.compile(text)
    except re.error as error:
        needed = f"a regular expression ({error})"
        remedy = "put a backslash before characters such as ( [ * +"
        raise UsageError(got_needed("--kernel", brief(text), needed, remedy)) from None
    return text


def report_path(out: str | None, suffix: str) -> Path | None:
    """Where a report is to go, with the ending that the tool wants; None for None.

    Raises:
        UsageError: it cannot be written there, or a folder of that name is there.
    """
    if out is None:
        return None
    if not Path(out).is_dir():  # a folder is told by the name that was given
        out = out if out.endswith(suffix) else out + suffix
    check_output("--out", out)
    return Path(out).resolve()
