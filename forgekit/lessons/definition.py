"""The definition of an exercise: its texts, its solution, and the gates it has to pass."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forgekit import course
from forgekit.lessons.gates.group import Group
from forgekit.lessons.gates.submission import file_text
from forgekit.lessons.skeleton import Source, read_source


@dataclass(frozen=True)
class Definition:
    """What an exercise is made of; `Exercise` says what each attribute is."""

    title: str
    task: str
    hints: tuple[str, str, str]
    analysis: str
    entry: str
    groups: Sequence[Group]
    praise: str = ""
    given: Any = None
    arch: str | None = None
    stays: bool = False
    name: str = ""
    folder: Path = Path()

    @property
    def week(self) -> str:
        return self.name.partition("/")[0]

    @property
    def notebook(self) -> str:
        """The notebook that grades it, such as `05_transpose`; "" if none does."""
        week, _, short = self.name.partition("/")
        return course.notebooks_of(self.folder.parents[1], week).get(short, "")

    @functools.cached_property
    def source(self) -> Source:
        """The solution file, read."""
        return read_source(self.folder / "solution.py")

    @property
    def is_whole_kernel(self) -> bool:
        """Whether a kernel is written from an empty body, its launch included."""
        return ".launch(" in self.source.solution and ".launch(" not in self.source.skeleton

    def reference(self) -> Any:
        """The entry of the solution, which gates compare counts with."""
        return operator.attrgetter(self.entry)(course.load_part(self.folder, "solution"))

    def as_given(self) -> Any:
        """The entry of the skeleton, which gates compare times with."""
        return operator.attrgetter(self.entry)(self.source.skeleton_module())

    def solution_text(self) -> str:
        """The solution as Markdown: code, then analysis."""
        return f"```python\n{self.source.solution}```\n\n{self.analysis.strip()}\n"

    def is_skeleton(self, submission: Any) -> bool:
        """Whether a function was handed in whose cell or file still is the skeleton."""
        return "".join(self.source.skeleton.split()) in file_text(submission)
