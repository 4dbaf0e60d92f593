"""Define the bank of planted bugs: families, each with a correct kernel and its mutants.

A family is a kernel, or a host function, decorated with `@family`. Its last parameter is `bug`:
None compiles the correct kernel, and a name compiles a mutation of it. In the source of the
family's functions, `# BUG name` (or `# BUG name, other` for several mutations) marks each line that
a finding must name. The mark is at the end of the line or, if that is too long, on the line above.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import linecache
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import cutlass
import torch
from cutlass import cute

import forgekit as fk

Args = Callable[[], tuple[Any, ...]]
Want = Callable[..., torch.Tensor | Sequence[tuple[torch.Tensor, torch.Tensor]]]

# Findings that are only notes; every other kind is an error.
NOTES = ("unwritten-output",)

_MARK = re.compile(r"# BUG ([\w, ]+)$")


@dataclass(frozen=True)
class Bug:
    """A mutation.

    name: the name in the kernel's source; kinds: the acceptable kinds of finding, best first; what:
    a description of the mutation; also: kinds of error that the mutation may cause; args: arguments
    that replace the family's; loose: True if a finding may name only some of the marked lines;
    read_only: numbers of the arguments declared read-only; changes_result: True if the result is
    right under the virtual GPU's usual schedule but wrong under an adversarial one; seeds: the
    number of adversarial schedules needed to find the bug, 0 if the usual schedule reveals it.
    """

    name: str
    kinds: tuple[str, ...]
    what: str
    also: tuple[str, ...] = ()
    args: Args | None = None
    loose: bool = False
    read_only: tuple[int, ...] = ()
    changes_result: bool = False
    seeds: int = 0


@dataclass(frozen=True)
class Family:
    """A correct kernel and its mutants.

    host: the `@cute.jit` function; args: a function that makes fresh arguments; want: a function of
    the arguments after the run that returns the last argument's expected values, or pairs of an
    output and its expected values; static: numbers of the arguments whose sizes are compiled in;
    kernel: None if the family was made from a host function.
    """

    host: Any
    args: Args
    want: Want
    bugs: tuple[Bug, ...] = ()
    static: tuple[int, ...] = ()
    kernel: Any = None

    @property
    def name(self) -> str:
        return str(self.host.__name__)


@dataclass(frozen=True)
class Planted:
    """A family with one of its bugs."""

    family: Family
    bug: Bug

    @property
    def name(self) -> str:
        return f"{self.family.name}_{self.bug.name}"

    def args(self) -> tuple[Any, ...]:
        return (self.bug.args or self.family.args)()

    def compile(self, args: tuple[Any, ...]) -> fk.CompiledKernel:
        return _compile(self.family, args, self.bug.name, self.bug.read_only)

    def lines(self) -> frozenset[tuple[str, int]]:
        """Return (file, line) of the marked lines."""
        return frozenset((f, n) for name, f, n in marks(self.family) if name == self.bug.name)


_HOST = """\
@cute.jit
def {name}({tensors}, bug: cutlass.Constexpr = None):
    how = dict(grid=size(grid, bug, {names}), block=size(block, bug, {names}), **more)
    kernel({arguments}).launch(**how)
"""


def launched(kernel: Any, block: Any, grid: Any = 1, name: str = "", **more: Any) -> Any:
    """Make the host function that launches a kernel, with its tensors and `bug`.

    The kernel needs no annotations. block, grid: the launch's size as a number, as (x, y, z), or as
    a function of the tensors (and optionally of `bug`) that returns either; name: the host
    function's name, if it differs from the kernel's; more: further arguments of `launch`, such as
    cluster, and constants for parameters of the kernel.
    """
    plain = inspect.unwrap(kernel)
    name = name or plain.__name__
    parameters = list(inspect.signature(plain).parameters)
    constants = {p: more.pop(p) for p in parameters if p in more}
    tensors = [p for p in parameters if p != "bug" and p not in constants]
    plain.__annotations__ = {
        p: cute.Tensor if p in tensors else cutlass.Constexpr for p in parameters
    }
    text = _HOST.format(
        name=name, tensors=", ".join(f"{t}: cute.Tensor" for t in tensors),
        arguments=", ".join(parameters), names=", ".join(tensors),
    )  # fmt: skip
    file = f"<host of {plain.__module__}.{name}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file  # for inspect
    known = {"cutlass": cutlass, "cute": cute, "kernel": kernel, "size": _size, "grid": grid,
             "block": block, "more": more, **constants, "__name__": plain.__module__}  # fmt: skip
    exec(compile(text, file, "exec"), known)
    known[name].__doc__ = plain.__doc__
    return known[name]


def family(
    *, args: Args, want: Want, bugs: tuple[Bug, ...] = (), static: tuple[int, ...] = (), **how: Any
) -> Callable[[Any], Family]:
    """Make a `Family` from a kernel, with the arguments `how` of `launched`, or, without arguments,
    from a host function."""

    def make(function: Any) -> Family:
        if not how:
            return Family(function, args, want, bugs, static)
        return Family(launched(function, **how), args, want, bugs, static, function)

    return make


def _size(value: Any, bug: str | None, *tensors: Any) -> tuple[Any, Any, Any]:
    if callable(value):
        asks = "bug" in inspect.signature(value).parameters
        value = value(*tensors, bug=bug) if asks else value(*tensors)
    return value if isinstance(value, tuple) else (value, 1, 1)


def compile_correct(family: Family, args: tuple[Any, ...]) -> fk.CompiledKernel:
    return _compile(family, args, None, ())


def _compile(
    family: Family, args: tuple[Any, ...], bug: str | None, read_only: tuple[int, ...]
) -> fk.CompiledKernel:
    specs = [
        fk.spec(value, static=number in family.static, read_only=number in read_only)
        if number in (*family.static, *read_only) else value
        for number, value in enumerate(args)
    ]  # fmt: skip
    return fk.compile(family.host, *specs, bug)


@functools.cache
def marks(family: Family) -> list[tuple[str, str, int]]:
    """Return (name of a bug, file, line) for every mark in the source of a family's functions."""
    found_marks = []
    for function in _of_one_module(family.kernel or family.host):
        lines, first = inspect.getsourcelines(function)
        above: list[str] = []
        for number, line in enumerate(lines, first):
            found = _MARK.search(line.rstrip())
            names = found.group(1).split(", ") if found else []
            if line.lstrip().startswith("# BUG"):
                above += names
                continue
            file = function.__code__.co_filename
            found_marks += [(name, file, number) for name in (*above, *names)]
            above = []
    return found_marks


def _of_one_module(first: Any) -> list[Any]:
    """Return a function and the CuTe DSL functions of its module that it uses, directly or
    indirectly."""
    found = [inspect.unwrap(first)]
    for function in found:
        named = set(re.findall(r"\w+", inspect.getsource(function)))
        for name, value in vars(sys.modules[function.__module__]).items():
            plain = inspect.unwrap(value) if hasattr(value, "__wrapped__") else None
            if name in named and plain is not None and plain not in found:
                found.append(plain)
    return found


def _modules(package: str) -> Iterator[ModuleType]:
    parent = importlib.import_module(f"tests.sanitizer.{package}")
    for found in sorted(m.name for m in pkgutil.iter_modules(parent.__path__)):
        yield importlib.import_module(f"tests.sanitizer.{package}.{found}")


def families_of(module: ModuleType) -> list[Family]:
    """Return a module's families in order, including families in a tuple."""
    found = [v if isinstance(v, tuple) else (v,) for v in vars(module).values()]
    return [family for some in found for family in some if isinstance(family, Family)]


def families() -> list[Family]:
    """Return every correct kernel, with and without mutants."""
    return [f for package in ("planted", "correct") for m in _modules(package)
            for f in families_of(m)]  # fmt: skip


def planted() -> list[Planted]:
    """Return every mutant."""
    return [Planted(family, bug) for family in families() for bug in family.bugs]
