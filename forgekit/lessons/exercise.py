"""Define exercises. Each exercise has a task, a solution with marked lines, hints, and gates.

The exercise `week0/scale` is the folder `week0_copy_transpose/exercises/scale`. `exercise.py`
defines `EXERCISE` (texts and gates), `solution.py` contains the solution in a student's style, with
marks around the lines that students write (see `skeleton.py`), and `wrong.py` contains wrong
solutions. The notebook's cells are generated from these files.
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

NOTHING = object()  # marks an omitted argument


@dataclass(frozen=True)
class Exercise(Definition):
    """An exercise; `fk.exercise("week0/scale")` finds it by name.

    Attributes:
        title: the student's goal, beginning with a verb. task: the task, in Markdown. hints: three
            hints, each more detailed than the previous one. analysis: the Markdown text below the
            solution. entry: the name of the function or variable in the skeleton that students
            submit. groups: the groups of gates to pass, in order. praise: the line shown after a
            pass. given: an object that the notebook shows below the task, such as a table of
            puzzles.
        arch: the virtual GPU's architecture; None for the default.
        stays: True if the submission cannot be sent to another process, so the class grader cannot
            grade it.
        name, folder: the exercise's name and folder, set when it is found.
    """

    def __repr__(self) -> str:
        known = records.record(self.name)
        state = "passed" if known.passed else "open"
        return f"{self.name}: {self.title} ({self.notebook}; {state})"

    def grade(self, submission: Any = NOTHING, *, arch: str | None = None) -> GradeReport:
        """Run the gates on a submission; stop at the first group that fails.

        Kernels run on the virtual GPU, which has counters and the sanitizer; on a machine with a
        GPU, the values are also checked on the GPU. The result is stored for `fk.progress()`,
        unless the submission is the course's own solution.

        Args:
            submission: the object that the task requires: a `@cute.jit` function, a Python function
                or a value.
            arch: the virtual GPU's architecture, such as "sm_80"; omit it for the default.

        Returns:
            A report, which a notebook shows; its truth value is True if the submission passed all
            groups.

        Raises:
            UsageError: there is no submission, or the virtual GPU lacks the architecture.
        """
        if submission is NOTHING:
            remedy = f"write .grade({self.entry})"
            raise usage_error("grade", "nothing", "a submission", remedy)
        if arch is not None:
            # reject an unknown architecture here, not while the kernel is compiled
            current_target("virtual", arch)

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
        """Return the call at which grading last stopped, for example to draw it:
        `fk.footprint(*e.failed)`.

        Raises:
            UsageError: grading did not stop at a kernel call, or this process has not graded the
                exercise.
        """
        if self.name not in FAILED:
            remedy = "run the cell that grades the exercise first"
            raise usage_error(
                "failed", "no failed call", "a failed call of a graded kernel", remedy
            )
        return FAILED[self.name]

    def hint(self) -> Note:
        """Return the next hint; each call reveals one more of the three hints."""
        with records.changing(self.name) as known:
            number = known.hints = min(known.hints + 1, len(self.hints))
        more = f"{len(self.hints) - number} more" if number < len(self.hints) else "the last"
        return Note(f"Hint {number} ({more})", self.hints[number - 1])

    def solution(self) -> Note:
        """Return the solution with its analysis."""
        with records.changing(self.name) as known:
            known.solution_seen |= (
                not known.passed
            )  # after a pass, the solution does not count as help
        return Note("Solution", self.solution_text())

    def reset(self) -> Note:
        """Delete the record of tries and of the pass, but keep the record of the help used; return
        the skeleton."""
        with records.changing(self.name) as known:
            known.tries = known.passed_at_try = 0
            known.passed_on = ""
        where = f"the content of the exercise's cell in {self.notebook}"
        text = f"Replace {where} with this code:\n\n```python\n{self.source.skeleton}```"
        return Note(f"{self.name} is open again", text)


def _standing(week: str) -> str:
    names = [name for name in course.exercise_folders() if name.startswith(f"{week}/")]
    known = records.all_records()
    return f"{sum(known[n].passed for n in names if n in known)} of {len(names)} in {week}"


def exercise(name: str) -> Exercise:
    """Find the exercise with a name such as "week0/scale"; `fk.progress("week0")` lists a week's
    exercises.

    The search covers the current folder and the folders above it, then the checkout that contains
    forgekit.

    Raises:
        UsageError: no exercise has this name; the message lists similar names, or the searched
            folders.
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
        got = f"{name!r}, but found no exercises for {week}"
        remedy = "run the notebook in its week's folder, or copy the folder `exercises` next to it"
        raise usage_error("exercise", got, looked, remedy)
    raise usage_error("exercise", repr(name), 'a name such as "week0/scale"', remedy)


@functools.cache
def _load(name: str, folder: Path) -> Exercise:
    found: Exercise = course.load_part(folder, "exercise").EXERCISE
    return replace(found, name=name, folder=folder)


def all_exercises() -> list[Exercise]:
    """Return all exercises that a search from the current folder finds, in notebook order."""
    return [_load(name, folder) for name, folder in course.exercise_folders().items()]
