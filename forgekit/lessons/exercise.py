"""Exercises: each a task, a solution with marked lines, hints, and the gates it has to pass.

An exercise `week0/scale` is a folder of its week, `week0_copy_transpose/exercises/scale`:
`exercise.py` holds `EXERCISE` (texts and gates), `solution.py` the solution, written as a student
would write it, with the lines to be found out marked (`skeleton.py`), `wrong.py` the wrong ones.
What the notebook shows is generated from them.
"""

from __future__ import annotations

import difflib
import functools
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from forgekit import course
from forgekit.devices import current_target
from forgekit.errors import usage_error
from forgekit.lessons import records
from forgekit.lessons.grading import FAILED, Definition, FailedCall, grade
from forgekit.lessons.report import GradeReport, Note

NOTHING = object()  # stands for an argument that was left out


@dataclass(frozen=True)
class Exercise(Definition):
    """One exercise; `fk.exercise("week0/scale")` finds it by its name.

    Attributes:
        title: what is done, with a verb. task: Markdown. hints: three, each telling more.
        analysis: Markdown, shown under the solution. entry: the name that is handed in, a function
        or a variable of the skeleton. groups: what has to be passed, in order. praise: one line
        after a pass. given: what the notebook shows beside the task, such as puzzles in a table.
        arch: what the virtual GPU compiles for, where it needs more than the usual; None elsewhere.
        stays: what is handed in cannot leave its process, so that no other can judge it.
        name, folder: set where it is found.
    """

    def __repr__(self) -> str:
        known = records.record(self.name)
        state = "passed" if known.passed else "open"
        return f"{self.name}: {self.title} ({self.notebook}; {state})"

    def grade(self, submission: Any = NOTHING, *, arch: str | None = None) -> GradeReport:
        """Pass a submission through the gates; stop at the first group that fails.

        Kernels run on the virtual GPU, where counters and the sanitizer are; on a machine with a
        GPU the values are checked there as well. The result is kept for `fk.progress()`, except
        that of the course's own solution.

        Args:
            submission: what the task asks for: a `@cute.jit` function, a Python function, a value.
            arch: what the virtual GPU compiles for, such as "sm_80"; leave it out for the usual.

        Returns:
            A report, true if all groups are passed; a notebook shows it.

        Raises:
            UsageError: nothing was handed in, or an architecture that the virtual GPU lacks.
        """
        if submission is NOTHING:
            remedy = f"write .grade({self.entry})"
            raise usage_error("grade", "nothing", "what the task asks for", remedy)
        if arch is not None:
            current_target("virtual", arch)  # refuses it here: later it looks like the kernel's

        report = grade(self, submission, arch or self.arch, untouched=self.is_skeleton(submission))
        with records.changing(self.name) as known:
            known.tries += not report.untouched
            again = known.passed
            own = submission is not self.reference() or not callable(submission)
            if report and not again and own:
                known.passed_at_try, known.passed_on = known.tries, date.today().isoformat()
        praise = "" if again else report.praise
        return replace(report, standing=_standing(self.week), praise=praise) if report else report

    @property
    def failed(self) -> FailedCall:
        """The call at which the last grade stopped, for pictures: `fk.footprint(*e.failed)`.

        Raises:
            UsageError: no grade has stopped at a call of a kernel since this process began.
        """
        if self.name not in FAILED:
            remedy = "run the cell that grades the exercise first"
            raise usage_error("failed", "no failed call", "a grade that stopped at one", remedy)
        return FAILED[self.name]

    def hint(self) -> Note:
        """The next hint: the first call gives the first of three, the next tells more."""
        with records.changing(self.name) as known:
            number = known.hints = min(known.hints + 1, len(self.hints))
        more = f"{len(self.hints) - number} more" if number < len(self.hints) else "the last"
        return Note(f"Hint {number} ({more})", self.hints[number - 1])

    def solution(self) -> Note:
        """The solution with its analysis."""
        with records.changing(self.name) as known:
            known.solution_seen |= not known.passed  # after a pass it was no help
        return Note("Solution", self.solution_text())

    def reset(self) -> Note:
        """Forget tries and the pass, though not the help that was taken; returns the skeleton."""
        with records.changing(self.name) as known:
            known.tries = known.passed_at_try = 0
            known.passed_on = ""
        where = f"its cell in {self.notebook}, replacing its content"
        text = f"Copy this into {where}:\n\n```python\n{self.source.skeleton}```"
        return Note(f"{self.name} is open again", text)


def _standing(week: str) -> str:
    names = [name for name in course.exercise_folders() if name.startswith(f"{week}/")]
    known = records.all_records()
    return f"{sum(known[n].passed for n in names if n in known)} of {len(names)} of {week}"


def exercise(name: str) -> Exercise:
    """The exercise of a name such as "week0/scale"; `fk.progress("week0")` lists a week's.

    It is looked for from the current folder upwards, then beside forgekit.

    Raises:
        UsageError: there is none, with names that are near, or with where it was looked for.
    """
    if isinstance(name, str) and (folder := course.exercise_folder(name)):
        return _load(name, folder)
    folders = course.exercise_folders()
    week = str(name).partition("/")[0]
    near = difflib.get_close_matches(str(name), folders, n=3, cutoff=0.4)
    remedy = f"did you mean {' or '.join(map(repr, near))}?" if near else (
        'see fk.progress("week0"), or another week')  # fmt: skip
    if any(known.startswith(f"{week}/") for known in folders):
        raise usage_error("exercise", repr(name), "the name of an exercise", remedy)
    if looked := course.where_looked(week):
        got = f"{name!r}, and no exercises of {week}"
        remedy = "run the notebook in its week's folder, or copy the folder `exercises` beside it"
        raise usage_error("exercise", got, looked, remedy)
    raise usage_error("exercise", repr(name), 'a name such as "week0/scale"', remedy)


@functools.cache
def _load(name: str, folder: Path) -> Exercise:
    found: Exercise = course.load_part(folder, "exercise").EXERCISE
    return replace(found, name=name, folder=folder)


def all_exercises() -> list[Exercise]:
    """All exercises that are found from here, in the order of the notebooks."""
    return [_load(name, folder) for name, folder in course.exercise_folders().items()]
