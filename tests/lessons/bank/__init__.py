"""Wrong solutions: for every exercise a module `<week>/<exercise>.py` with WRONG, a tuple of Wrong.

A wrong solution is its exercise's solution with some text exchanged, so it stays a solution of
today's task with one mistake in it.
"""

from __future__ import annotations

import importlib
import importlib.util
import linecache
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forgekit.lessons.exercise import Exercise

__all__ = ["Wrong", "load", "wrong_solutions"]


@dataclass(frozen=True)
class Wrong:
    """name: the mistake; swaps: text of the solution -> what stands there instead, each exactly
    once; says: a piece of the explanation that this mistake has to get, and no other of its
    exercise."""

    name: str
    swaps: dict[str, str] = field(default_factory=dict)
    says: str = ""

    def of(self, solution: str) -> str:
        """The wrong solution's text."""
        for old, new in self.swaps.items():
            assert solution.count(old) == 1, f"{self.name}: {solution.count(old)} times {old!r}"
            solution = solution.replace(old, new)
        return solution


def wrong_solutions(e: Exercise) -> tuple[Wrong, ...]:
    """The bank of an exercise."""
    module = f"tests.lessons.bank.{e.name.replace('/', '.')}"
    return importlib.import_module(module).WRONG


def load(e: Exercise, code: str, folder: Path, name: str) -> Any:
    """What a student hands in whose cell holds `code`: the value of the exercise's entry.

    The code runs as a module of its own, after the imports of the solution file.
    """
    whole = e.source.path.read_text(encoding="utf-8")
    first = e.source.solution.splitlines()[0]
    imports = whole[: whole.index(first)]
    file = folder / f"{name}.py"
    file.write_text(imports + code, encoding="utf-8")
    linecache.checkcache(str(file))
    spec = importlib.util.spec_from_file_location(f"{folder.name}_{name}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return eval(e.entry, vars(module))
