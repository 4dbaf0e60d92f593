"""What the bank of planted bugs is made of: families of kernels, each correct, with its mutants.

A family is a host function with a last parameter `bug`, a Constexpr: None compiles the correct
kernel, a name one mutation of it. The lines that a finding must name carry `# BUG name` (or
`# BUG name, other` where mutations share a line) in the source of the family's functions, at the
end of the line or, where that would be too long, on the line above.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

import forgekit as fk

Args = Callable[[], tuple[Any, ...]]
Want = Callable[..., Sequence[tuple[torch.Tensor, torch.Tensor]]]

# What a finding only remarks on; every other kind is an error.
NOTES = ("unwritten-output",)

_MARK = re.compile(r"# BUG ([\w, ]+)$")


@dataclass(frozen=True)
class Bug:
    """One mutation.

    name: as in the kernel's source; kinds: what it may be called, the best name first; what: the
    mutation in a sentence; also: kinds of error that may follow from it; args: arguments other
    than the family's; loose: a finding may name fewer of the marked lines than all; read_only:
    numbers of the arguments declared so; changes_result: right on the virtual GPU's usual
    schedule, wrong on an adversarial one; seeds: of the adversarial schedules that it takes to
    find it, 0 where the usual schedule shows it.
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

    host: the `@cute.jit` function, or what `launched` has made of a kernel; args: makes fresh
    arguments; want: from them, after the run, pairs of output and expected values; static: numbers
    of the arguments whose sizes are compiled in; sources: the functions with the marks, where they
    are not the launched kernel alone.
    """

    host: Any
    args: Args
    want: Want
    bugs: tuple[Bug, ...] = ()
    static: tuple[int, ...] = ()
    sources: tuple[Any, ...] = ()

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
        """(file, line) of the marked lines."""
        return frozenset((f, n) for name, f, n in marks(self.family) if name == self.bug.name)


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
    """(name of a bug, file, line) of every mark in the source of a family's functions."""
    found_marks = []
    for function in family.sources or (getattr(family.host, "kernel", family.host),):
        plain = inspect.unwrap(function)
        lines, first = inspect.getsourcelines(plain)
        above: list[str] = []
        for number, line in enumerate(lines, first):
            found = _MARK.search(line.rstrip())
            names = found.group(1).split(", ") if found else []
            if line.lstrip().startswith("# BUG"):
                above += names
                continue
            file = str(inspect.getsourcefile(plain))
            found_marks += [(name, file, number) for name in (*above, *names)]
            above = []
    return found_marks


def _modules(package: str) -> Iterator[ModuleType]:
    parent = importlib.import_module(f"tests.sanitizer.{package}")
    for found in sorted(m.name for m in pkgutil.iter_modules(parent.__path__)):
        yield importlib.import_module(f"tests.sanitizer.{package}.{found}")


def families() -> list[Family]:
    """Every correct kernel: those with mutants, and those without."""
    return [f for package in ("planted", "correct") for m in _modules(package) for f in m.FAMILIES]


def planted() -> list[Planted]:
    """Every mutant."""
    return [Planted(family, bug) for family in families() for bug in family.bugs]
