"""The `forgekit` command: reads the arguments and hands over to the module that does the work."""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
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

    doctor = commands.add_parser("doctor", help="say what this machine has and what will run where")
    doctor.add_argument("--json", action="store_true", help="print the findings as JSON")

    run = commands.add_parser(
        "run", help="run a CuTe DSL script as it stands, on the virtual GPU where there is no GPU"
    )
    run.add_argument("--device", help="gpu or virtual; otherwise FORGEKIT_DEVICE or what is there")
    run.add_argument("script", help="the Python file")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="handed to the script")

    profile = commands.add_parser(
        "profile",
        help="run a CuTe DSL script on the virtual GPU and print what each line costs",
        epilog="`forgekit profile ncu|nsys [options] -- command ...` runs a command on the GPU "
        "below NVIDIA's tool; its options: `forgekit profile ncu --help`",
    )
    profile.add_argument("--gpu", help="whose bandwidth bounds the time, such as H200 or L4")
    profile.add_argument("--json", action="store_true", help="print the profiles as JSON")
    profile.add_argument("script", help="the Python file")
    profile.add_argument("arguments", nargs=argparse.REMAINDER, help="handed to the script")

    sanitize = commands.add_parser(
        "sanitize",
        help="run a CuTe DSL script on the virtual GPU and print what it does wrong",
        epilog="`forgekit sanitize [--tool memcheck,racecheck,initcheck,synccheck] [--json] -- "
        "command ...` runs a command on the GPU below NVIDIA's compute-sanitizer",
    )
    sanitize.add_argument(
        "--schedule", default="default", help="default, or adversarial: hostile orders of threads"
    )
    sanitize.add_argument("--seed", type=int, default=0, help="of the adversarial schedule")
    sanitize.add_argument("script", help="the Python file")
    sanitize.add_argument("arguments", nargs=argparse.REMAINDER, help="handed to the script")

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

    build = commands.add_parser(
        "build-notebooks", help="build each .ipynb, with outputs, from the .py beside it"
    )
    build.add_argument("paths", nargs="*", help="notebooks or folders; otherwise every week")
    build.add_argument(
        "--check", action="store_true", help="run nothing; only compare each .py with its .ipynb"
    )

    book = commands.add_parser("book", help="build the course as a web site, in book/_build/html")
    book.add_argument("--output", help="put _build into this folder instead of book/")
    book.add_argument(
        "--repository", help="address of the sources: adds buttons that open a notebook elsewhere"
    )
    book.add_argument("--fresh", action="store_true", help="read all pages anew")
    return parser


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
    """Run the command line; returns 0, 1 (it failed) or 2 (it was called wrongly).

    What forgekit itself refuses is told in one message on stderr, never as a traceback.
    """
    try:
        return dispatch(list(sys.argv[1:] if argv is None else argv))
    except ForgekitError as error:
        print(f"forgekit: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        print("forgekit: interrupted", file=sys.stderr)
        return 130
