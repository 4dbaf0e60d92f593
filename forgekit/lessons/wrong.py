"""Read wrong solutions from WRONG, a tuple of `Wrong` in the `wrong.py` of each exercise's folder.

A wrong solution is the exercise's solution with some text replaced, so it remains a solution of the
current task with a single mistake. ALTERNATIVES in an `alternatives.py` lists other correct
solutions in the same form.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from forgekit.course import load_part

if TYPE_CHECKING:
    from forgekit.lessons.exercise import Exercise


@dataclass(frozen=True)
class Wrong:
    """A wrong solution with the text that its report must contain, or an alternative solution.

    Attributes:
        name: the mistake. swaps: text in the solution, which must occur exactly once -> its
            replacement. says: part of the explanation, unique among the exercise's mistakes.
            text: the complete wrong solution, in place of swaps.
    """

    name: str
    swaps: dict[str, str] = field(default_factory=dict)
    says: str = ""
    text: str = ""

    def of(self, solution: str) -> str:
        """Return the wrong solution's text.

        Raises:
            ValueError: the text to replace does not occur exactly once in the solution.
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
    """Return an exercise's other correct solutions; none if it has no alternatives.py."""
    known = (e.folder / "alternatives.py").is_file()
    found: tuple[Wrong, ...] = load_part(e.folder, "alternatives").ALTERNATIVES if known else ()
    return found
