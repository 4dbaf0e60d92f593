"""The `forgekit` command: reads the arguments and hands over to the module that does the work."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.metadata
import io
import os
import sys
from collections.abc import Sequence
from types import ModuleType

from forgekit.errors import ForgekitError, UsageError

__all__ = ["main"]

# What runs each subcommand, imported only when it is called for: `forgekit --help` need not wait
# for torch or the compiler.
COMMANDS = {
    "lab": "forgekit.commands.lab",
    "doctor": "forgekit.commands.doctor",
    "run": "forgekit.commands.script",
    "profile": "forgekit.commands.profile",
    "sanitize": "forgekit.commands.sanitize",
    "build-notebooks": "forgekit.commands.notebooks",
    "book": "forgekit.commands.book",
    "bench": "forgekit.commands.bench",
    "tune": "forgekit.commands.tune",
}
BENCHMARKS = {"vgpu": "forgekit.benching.virtual_gpu.vgpu"}


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; what it leaves over goes on to the subcommand."""
    parser = argparse.ArgumentParser(
        prog="forgekit",
        description="Write GPU kernels in CuTe DSL and run them, with or without a GPU.",
    )
    parser.add_argument("--version", action="store_true", help="print forgekit's version and stop")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    commands.add_parser(
        "lab",
        add_help=False,
        help="open JupyterLab at the first notebook; options such as --no-browser go on to it",
    )

    doctor = _command(commands, "doctor", "say what this machine has and what will run where")
    doctor.add_argument("--json", action="store_true", help="print the findings as JSON")

    run = _command(
        commands,
        "run",
        "run a CuTe DSL script as it stands, on the virtual GPU where there is no GPU",
    )
    run.add_argument("--device", help="gpu or virtual; otherwise FORGEKIT_DEVICE or what is there")
    _takes_a_script(run)

    profile = _command(
        commands,
        "profile",
        "run a CuTe DSL script on the virtual GPU and print what each line costs",
        epilog="`forgekit profile ncu|nsys [options] -- command ...` runs a command on the GPU "
        "below NVIDIA's tool; its options: `forgekit profile ncu --help`",
    )
    profile.add_argument("--gpu", help="whose bandwidth bounds the time, such as H200 or L4")
    profile.add_argument("--json", action="store_true", help="print the profiles as JSON")
    _takes_a_script(profile)

    sanitize = _command(
        commands,
        "sanitize",
        "run a CuTe DSL script on the virtual GPU and print what it does wrong",
        epilog="`forgekit sanitize [--tool memcheck,racecheck,initcheck,synccheck] [--json] -- "
        "command ...` runs a command on the GPU below NVIDIA's compute-sanitizer",
    )
    sanitize.add_argument(
        "--schedule",
        default="default",
        help="default, or adversarial: orders in which races show",
    )
    sanitize.add_argument("--seed", type=int, default=0, help="of the adversarial schedule")
    _takes_a_script(sanitize)

    commands.add_parser(
        "bench",
        add_help=False,
        help="measure the operators at the sizes of a suite, beside peers; `forgekit bench vgpu` "
        "the virtual GPU itself",
    )

    commands.add_parser(
        "tune",
        add_help=False,
        help="search for faster configurations of sums and softmax on the GPU at hand",
    )

    build = _command(
        commands, "build-notebooks", "build each .ipynb, with outputs, from the .py beside it"
    )
    build.add_argument("paths", nargs="*", help="notebooks or folders; otherwise every week")
    build.add_argument(
        "--check", action="store_true", help="run nothing; only compare each .py with its .ipynb"
    )

    book = _command(commands, "book", "build the course as a web site, in book/_build/html")
    book.add_argument("--output", help="put _build into this folder instead of book/")
    book.add_argument(
        "--repository", help="address of the sources: adds buttons that open a notebook elsewhere"
    )
    book.add_argument("--fresh", action="store_true", help="read all pages again")
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    does: str,
    epilog: str | None = None,
) -> argparse.ArgumentParser:
    """A subcommand that says in the list of all, and in its own help, what it does."""
    sentence = f"{does[0].upper()}{does[1:]}."
    return commands.add_parser(name, help=does, description=sentence, epilog=epilog)


def _takes_a_script(command: argparse.ArgumentParser) -> None:
    command.add_argument("script", help="the Python file")
    rest = command.add_argument("arguments", nargs=argparse.REMAINDER, help="handed to the script")
    rest.required = False  # otherwise a call without a script is told that it lacks these too


def _module(command: str) -> ModuleType:
    return importlib.import_module(COMMANDS[command])


def below_a_tool(arguments: Sequence[str]) -> bool:
    """Whether a command is to run below a tool of NVIDIA's: those calls are parsed there."""
    if arguments[:1] == ["profile"]:
        return any(word in arguments[1:2] for word in _module("profile").TOOLS)
    return arguments[:1] == ["sanitize"] and _module("sanitize").is_command(arguments[1:])


def bench(arguments: Sequence[str]) -> int:
    """`forgekit bench`, or one of the other benchmarks where it is named first."""
    if arguments and arguments[0] in BENCHMARKS:
        status = importlib.import_module(BENCHMARKS[arguments[0]]).main(list(arguments[1:]))
        return int(status or 0)
    return int(_module("bench").main(list(arguments)))


def dispatch(arguments: Sequence[str]) -> int:
    """Parse `arguments` and run the subcommand; returns the exit status."""
    if arguments[:1] == ["lab"]:  # everything behind it is JupyterLab's, --help included
        return _module("lab").main(list(arguments[1:]))
    if arguments[:1] == ["bench"]:  # has options of its own
        return bench(arguments[1:])
    if arguments[:1] == ["tune"]:  # so has this
        return int(_module("tune").main(list(arguments[1:])))
    if below_a_tool(arguments):
        return int(_module(arguments[0]).tool(arguments[1:]))
    parser = build_parser()
    options = parser.parse_args(arguments)
    if options.version:
        print(f"forgekit {importlib.metadata.version('forgekit')}")
        return 0
    if options.command is None:
        parser.print_help()
        return 0
    if options.command == "doctor":
        return _module("doctor").main(as_json=options.json)
    if options.command == "run":
        return _module("run").main(options.script, options.arguments, device=options.device)
    if options.command == "profile":
        return _module("profile").main(
            options.script, options.arguments, gpu=options.gpu, as_json=options.json
        )
    if options.command == "sanitize":
        return _module("sanitize").main(
            options.script, options.arguments, schedule=options.schedule, seed=options.seed
        )
    if options.command == "book":
        return _module("book").main(
            output=options.output, repository=options.repository, fresh=options.fresh
        )
    return _module("build-notebooks").main(options.paths, check_only=options.check)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns 0, 1 (it failed), 2 (it was called wrongly), 130 (ctrl-C) or
    141 (whoever read what it prints has gone).

    What forgekit itself refuses is told in one message on stderr, never as a traceback.
    """
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # some terminals know no ×
        try:
            return _refusals_told(list(sys.argv[1:] if argv is None else argv))
        finally:
            # What fails must not fail at Python's end. A script may have closed or replaced it.
            with contextlib.suppress(ValueError, AttributeError):
                sys.stdout.flush()
    except OSError as error:
        _drop_stdout()
        if isinstance(error, BrokenPipeError):
            return 141
        print(f"forgekit: {error}", file=sys.stderr)
        return 1


def _refusals_told(arguments: Sequence[str]) -> int:
    try:
        return dispatch(arguments)
    except ForgekitError as error:
        print(f"forgekit: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        print("forgekit: interrupted", file=sys.stderr)
        return 130


def _drop_stdout() -> None:
    """What is not printed yet goes nowhere: Python would try again at its end."""
    with contextlib.suppress(OSError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
