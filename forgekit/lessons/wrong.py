"""Wrong solutions: each exercise's folder has a `wrong.py` with WRONG, a tuple of `Wrong`.

A wrong solution is its exercise's solution with some text exchanged, so it stays a solution of
today's task with one mistake in it. An `alternatives.py` with ALTERNATIVES has other solutions in
the same form, each as right as the course's own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from forgekit.course import load_part

if TYPE_CHECKING:
    from forgekit.lessons.exercise import Exercise


@dataclass(frozen=True)
class Wrong:
    """One mistake and the words that its report must contain, or an alternative.

    Attributes:
        name: the mistake. swaps: text of the solution -> its replacement, each exactly once. says:
        a piece of the explanation that this mistake alone of its exercise gets. text: the whole of
        it, in place of swaps.
    """

    name: str
    swaps: dict[str, str] = field(default_factory=dict)
    says: str = ""
    text: str = ""

    def of(self, solution: str) -> str:
        """The wrong solution's text.

        Raises:
            ValueError: a text to exchange does not stand in the solution exactly once.
        """
        solution = self.text or solution
        for old, new in self.swaps.items():
            if solution.count(old) != 1:
                raise ValueError(f"{self.name}: {solution.count(old)} times {old!r}")
            solution = solution.replace(old, new)
        return solution


def wrong_solutions(e: Exercise) -> tuple[Wrong, ...]:
    """The wrong solutions of an exercise.

    Raises:
        UsageError: its folder has no wrong.py.
    """
    found: tuple[Wrong, ...] = load_part(e.folder, "wrong").WRONG
    return found


def alternatives(e: Exercise) -> tuple[Wrong, ...]:
    """Other right solutions of an exercise, none where it has no alternatives.py."""
    known = (e.folder / "alternatives.py").is_file()
    found: tuple[Wrong, ...] = load_part(e.folder, "alternatives").ALTERNATIVES if known else ()
    return found
