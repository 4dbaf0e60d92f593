"""Define the `forgekit` command, which runs the requested subcommand and reports errors."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Sequence

import click

from forgekit.commands.options import Shortened
from forgekit.errors import ForgekitError, UsageError, brief, usage_error

# The commands, in the order of the help. Each command is a function in the module of the same name,
# such as `build_notebooks` for `build-notebooks`. The modules are imported only when needed, and
# import torch and the compiler only inside functions, so that `forgekit --help` is fast.
COMMANDS = ("lab", "doctor", "run", "profile", "sanitize", "bench", "calibrate", "grade",
            "build-notebooks", "book")  # fmt: skip


class Forgekit(Shortened, click.Group):
    """The group of all commands, which imports each command's module when needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        if cmd_name not in COMMANDS:
            needed, remedy = f"one of {', '.join(COMMANDS)}", "see `forgekit --help`"
            raise usage_error("the command", brief(cmd_name), needed, remedy)
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(importlib.import_module(f"forgekit.commands.{name}"), name)
        return command


@click.group(
    cls=Forgekit,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(
    package_name="forgekit",
    message="forgekit %(version)s",
    help="print forgekit's version and exit",
)
@click.pass_context
def forgekit(context: click.Context) -> None:
    """Write GPU kernels in CuTe DSL and run them, with or without a GPU."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status: the command's own status, 1 for a failure, 2
    for wrong usage, 130 for Ctrl-C, or 141 if the process that reads the output has exited.

    Every forgekit error is a single message on stderr, never a traceback.
    """
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # some encodings lack characters such as ×
        try:
            return _status(list(sys.argv[1:] if argv is None else argv))
        finally:
            # Flush now, not while Python exits. A script may have closed or replaced the stream.
            with contextlib.suppress(ValueError, AttributeError):
                sys.stdout.flush()
    except OSError as error:
        _drop_stdout()
        if isinstance(error, BrokenPipeError):
            return 141
        print(f"forgekit: {error}", file=sys.stderr)
        return 1


def _status(arguments: list[str]) -> int:
    # Do not call `forgekit.main`, which has its own exit codes for Ctrl-C and a closed pipe.
    try:
        with forgekit.make_context("forgekit", arguments) as context:
            return int(forgekit.invoke(context) or 0)
    except click.exceptions.Exit as end:  # --help, --version
        return end.exit_code
    except ForgekitError as error:
        print(f"forgekit: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        print("forgekit: interrupted", file=sys.stderr)
        return 130


def _drop_stdout() -> None:
    """Discard buffered output, which Python would otherwise try to write again when it exits."""
    with contextlib.suppress(OSError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
