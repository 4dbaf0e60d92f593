"""Define the option types and error messages that all commands share."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from forgekit.errors import ForgekitError, UsageError, brief, usage_error

if TYPE_CHECKING:
    from forgekit.devices import Target


# -- commands -------------------------------------------------------------------------------------
class Shortened(click.Command):
    """A command that accepts unambiguous abbreviations of its options, such as `--dev` for
    `--device`.

    It converts click's errors to UsageErrors in the library's form: got, needed, remedy.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        names = [name.lstrip("-") for option in _options(self, ctx) for name in option.opts]

        def in_full(name: str) -> str:
            longer = [full for full in names if full.startswith(name)]
            return longer[0] if name not in names and len(longer) == 1 else name

        ctx.token_normalize_func = in_full
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise _refusal(error, ctx) from None


class Command(Shortened):
    """A forgekit command. others: the command's subcommands, such as `ncu` in `profile ncu`."""

    def __init__(self, *args: Any, others: Sequence[click.Command] = (), **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.others = {str(other.name): other for other in others}

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        if args and args[0] in self.others:
            name = f"{info_name} {args[0]}"
            return self.others[args[0]].make_context(name, args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the complete short help, which click would truncate at the limit."""
        text = self.short_help or (self.help or "").partition("\n\n")[0]
        return " ".join(text.split()).rstrip(".")


class ScriptCommand(Command):
    """A command that runs a script; all words after the script's name are the script's
    arguments."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params += [
            click.Argument(["script"]),
            click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED),
        ]
        self.context_settings = {"allow_interspersed_args": False}


class ToolCommand(Command):
    """A command that takes options, `--`, and a command line, which it runs unchanged under an
    NVIDIA tool."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, options_metavar="[OPTIONS] -- COMMAND ...", **settings)
        self.context_settings = {"allow_interspersed_args": False, "allow_extra_args": True}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        before, command = args[:at], args[at + 1 :]
        stray = super().parse_args(ctx, list(before))
        if stray or not command:
            own = before[: len(before) - len(stray)]
            raise _without_dashes(ctx.command_path, args, own, [*stray, *command])
        if shutil.which(command[0]) is None:
            raise _no_program(ctx.command_path, command)
        ctx.params["command"] = command
        return []


def _no_program(called: str, command: Sequence[str]) -> UsageError:
    remedy = "check the spelling, or write its path"
    if command[0].endswith(".py"):
        remedy = f"write `{called} -- python {' '.join(command)}`"
    got, needed = (
        f"{command[0]!r}, which is not a program",
        "a program and its arguments after `--`",
    )
    return usage_error("the command", got, needed, remedy)


def _without_dashes(
    called: str, words: Sequence[str], own: Sequence[str], meant: Sequence[str]
) -> UsageError:
    """Return an error that suggests the intended call, with the tool's options, `--` and the
    command."""
    meant = meant or ["my_program.py"]
    example = ["python", *meant] if meant[0].endswith(".py") else meant
    got = f"`{' '.join([called, *words])}`" if words else "no command"
    remedy = (
        f"write `{' '.join([called, *own, '--', *example])}`. `--` marks the start of a command, "
        f"which runs unchanged on the GPU; without `--`, `forgekit {called.split()[1]} SCRIPT` "
        "runs a script on the virtual GPU"
    )
    return usage_error("the call", got, "options, then `--`, then the command", remedy)


no_cuda = click.option(
    "--no-cuda", "cuda", flag_value=False, default=True, type=bool,
    help='keep torch\'s "cuda" device; by default, "cuda" is the virtual GPU if there is no GPU',
)  # fmt: skip


strict = click.option(
    "--strict", is_flag=True, help="stop at the sanitizer's first finding, as the course does"
)


# -- types of options -----------------------------------------------------------------------------
class AtLeast(click.ParamType):
    """An integer of at least `least`. remedy: the error message's advice for other values."""

    name = "integer"

    def __init__(self, least: int, remedy: str = "leave it out") -> None:
        self.least = least
        self.remedy = remedy

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(value)
        except ValueError:
            number = None
        if number is None or number < self.least:
            assert param is not None
            got = brief(value) if number is None else number
            needed = f"{self.least} or more"
            raise usage_error(param.opts[0], got, needed, self.remedy)
        return number


class Names(click.ParamType):
    """A comma-separated list of names."""

    name = "name,..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        words = value.split(",") if isinstance(value, str) else value
        return tuple(word.strip() for word in words if word.strip())


# -- errors ---------------------------------------------------------------------------------------
def _options(command: click.Command, ctx: click.Context) -> list[click.Option]:
    return [param for param in command.get_params(ctx) if isinstance(param, click.Option)]


def _refusal(error: click.UsageError, ctx: click.Context) -> UsageError:
    what = ctx.command_path.partition(" ")[2] or "the command"
    if isinstance(error, click.NoSuchOption):
        # click parsed an unknown short option as the beginning of a long option.
        got = error.option_name if error.option_name[:2] == "--" else error.option_name[:2]
        names = (max(option.opts, key=len) for option in _options(ctx.command, ctx))
        needed = f"any of {', '.join(names)}"
    elif isinstance(error, click.MissingParameter) and error.param is not None:
        got, needed = f"no {error.param.human_readable_name.upper()}", "one"
    elif isinstance(error, click.BadOptionUsage):
        what = error.option_name
        flag = any(o.is_flag and what in o.opts for o in _options(ctx.command, ctx))
        got, needed = ("a value", "none") if flag else ("no value", "one")
    else:
        got, needed = error.format_message().rstrip(".").removeprefix("Got "), "none"
    remedy = f"see `{ctx.command_path} --help`"
    return usage_error(what, got, needed, remedy)


def as_option(error: ForgekitError, argument: str, remedy: str) -> ForgekitError:
    """Convert the library's error about an argument to an error about the option with the same name
    and this remedy; return other errors unchanged. Messages have the form `argument: got …, needed
    …; remedy`."""
    said, _, _ = str(error).rpartition("; ")
    if not said.startswith(f"{argument}: "):
        return error
    return type(error)(f"--{said}; {remedy}")


def chosen_target(device: str | None) -> Target:
    """Return the target that --device selects; for None, return the default target.

    Raises:
        UsageError: the device is unknown or lacks the architecture.
        PlatformError: a GPU is requested but none is usable.
    """
    from forgekit.devices import current_target

    try:
        return current_target(device)
    except ForgekitError as error:
        remedy = "write --device virtual for the virtual GPU, or leave it out"
        raise as_option(error, "device", remedy) from None
