"""Read wrong solutions from WRONG, a tuple of `Wrong` in the `wrong.py` of each exercise's folder.

A wrong solution is the exercise's solution with some text replaced, so its only difference is the
mistake. An optional `alternatives.py` lists other correct solutions in the same form, as
ALTERNATIVES.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from forgekit.course import load_part

if TYPE_CHECKING:
    from forgekit.lessons.exercise import Exercise


@dataclass(frozen=True)
class Wrong:
    """A wrong solution and the text that its report must contain; or an alternative solution.

    Attributes:
        name: the mistake's name. swaps: maps text that occurs exactly once in the solution to its
            replacement. says: part of the report's explanation, unique among the exercise's
            mistakes. text: the complete wrong solution; swaps, if any, apply to it instead of the
            solution.
    """

    name: str
    swaps: dict[str, str] = field(default_factory=dict)
    says: str = ""
    text: str = ""

    def of(self, solution: str) -> str:
        """Return the wrong solution's text.

        Raises:
            ValueError: a text to replace does not occur exactly once.
        """
        solution = self.text or solution
        for old, new in self.swaps.items():
            if solution.count(old) != 1:
                raise ValueError(f"{self.name}: {solution.count(old)} times {old!r}")
            solution = solution.replace(old, new)
        return solution


def wrong_solutions(e: Exercise) -> tuple[Wrong, ...]:
    """Return the wrong solutions of an exercise.

    Raises:
        UsageError: the exercise's folder has no wrong.py.
    """
    found: tuple[Wrong, ...] = load_part(e.folder, "wrong").WRONG
    return found


def alternatives(e: Exercise) -> tuple[Wrong, ...]:
    """Return an exercise's other correct solutions, or () if it has no alternatives.py."""
    known = (e.folder / "alternatives.py").is_file()
    found: tuple[Wrong, ...] = load_part(e.folder, "alternatives").ALTERNATIVES if known else ()
    return found
