"""Define the texts that students see: the report on a submission, and notes that contain a hint or
the solution."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forgekit.errors import wrapped
from forgekit.show import Shown

if TYPE_CHECKING:
    from forgekit.lessons.gates.gate import GateError

_WIDTH = 102  # 96 columns of tool output, plus the indent
_PRAISE = "All gates passed."


@dataclass(frozen=True)
class Pass:
    """A group of gates that passed: its name, and a summary such as `8 sizes in 3 types`."""

    name: str
    seen: str


@dataclass(frozen=True, repr=False)
class GradeReport(Shown):
    """The outcome of grading a submission; its truth value is True if all groups passed.

    Attributes:
        name, title: the exercise's name and title. passed: the groups that passed, in order. left:
            the names of the remaining groups, of which the first failed. untouched: True if the
            submission is the unchanged skeleton or lacks an answer. standing: the progress, such as
            `3 of 12 in week0`.
    """

    name: str
    title: str
    passed: tuple[Pass, ...]
    left: tuple[str, ...] = ()
    failure: GateError | None = None
    untouched: bool = False
    standing: str = ""
    praise: str = ""

    def __bool__(self) -> bool:
        return self.failure is None

    @property
    def headline(self) -> str:
        """Return the report in one line."""
        if self:
            return f"PASSED  {self.name}: {self.title}"
        if self.untouched:
            return f"OPEN  {self.name}: {self.title}"
        done, all_ = len(self.passed), len(self.passed) + len(self.left)
        return f"NOT YET  {self.name}: {done} of {all_} groups passed"

    @property
    def open_groups(self) -> tuple[str, ...]:
        """Return the names of the remaining groups; the group that failed is included only if its
        answer is missing."""
        return self.left if self.untouched else self.left[1:]

    @property
    def closing(self) -> str:
        """Return the last line of the report on a pass."""
        known = f"Passed so far: {self.standing}." if self.standing else ""
        return f"{self.praise or _PRAISE} {known}".strip()

    @property
    def advice(self) -> str:
        """Return the last line of a report on a submission that has not passed."""
        if self.failure is None or self.untouched:
            return ""
        return f'Stuck? fk.exercise("{self.name}").hint()'

    @property
    def summary(self) -> str:
        """Return the report in plain text."""
        lines = [self.headline]
        for group in self.passed:
            line = f"  [x] {group.name}{': ' + group.seen if group.seen else ''}"
            lines += textwrap.wrap(line, _WIDTH, subsequent_indent="      ")
        if self.failure is not None:
            if not self.untouched:
                lines.append(f"  [!] {self.left[0]}")
            lines += _indented(self.failure.happened)
            if self.failure.likely:
                lines += ["", *_indented(self.failure.reason)]
            if self.failure.look_at:
                # In a comment on a line of its own, a break does not make the code invalid.
                look_at = re.sub(r" +# (.*)$", _comment, self.failure.look_at, flags=re.MULTILINE)
                lines += ["", *_indented(f"Next: {look_at}")]
            lines += [f"  [ ] {name}" for name in self.open_groups]
            lines += [self.advice] if self.advice else []
        else:
            lines.append(self.closing)
        return "\n".join(lines)


def _comment(found: re.Match[str]) -> str:
    """Return a comment that follows code as lines of its own."""
    return "\n" + textwrap.fill(found[1], _WIDTH - 8, initial_indent="# ", subsequent_indent="# ")


def _indented(text: str) -> list[str]:
    """Break lines between words at the width of a notebook's output area."""
    return textwrap.indent(wrapped("\n".join(text.splitlines())), "      ").split("\n")


@dataclass(frozen=True, repr=False)
class Note(Shown):
    """A title and Markdown text; a notebook renders the text, and a terminal shows its source."""

    title: str
    text: str

    @property
    def summary(self) -> str:
        """Return the title above the text."""
        return f"{self.title}\n\n{self.text}"
