"""Take a submission through the groups of an exercise; the call at which that stopped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forgekit.errors import ForgekitError
from forgekit.lessons.definition import Definition
from forgekit.lessons.gates.gate import GateError
from forgekit.lessons.gates.group import Group
from forgekit.lessons.gates.submission import Submission
from forgekit.lessons.report import GradeReport, Pass
from forgekit.lessons.skeleton import PLACEHOLDER

if TYPE_CHECKING:
    from forgekit.checking.check_report import CheckReport
    from forgekit.compiling.compiled import CompiledKernel
    from forgekit.lessons.gates.submission import Case


@dataclass(frozen=True)
class FailedCall:
    """A compiled kernel and its arguments: `fk.footprint(*failed)`, `fk.profile(*failed)`.

    Iterating gives the kernel, then copies of the arguments of its call. `show()` runs it and
    compares its result.
    """

    kernel: CompiledKernel
    case: Case

    def __iter__(self) -> Iterator[Any]:
        yield self.kernel
        yield from self.case.arguments(self.kernel).values()

    def show(self) -> CheckReport:
        """Run the call on the virtual GPU and check its first wrong result, or its last.

        Raises:
            KernelError: what stops the kernel, as in the grade.
        """
        from forgekit.checking.compare import compare
        from forgekit.show import in_notebook
        from forgekit.tracing.recordings import recorded

        args = self.case.arguments(self.kernel)
        found = recorded(self.kernel, tuple(args.values())).result()
        after = dict(zip(args, found, strict=True))
        report = None
        for position, want in self.case.expected.items():
            name = self.kernel.parameters[position].name
            report = compare(
                after[position], want, name=name, tile=self.case.tile, **self.case.tolerances
            )
            if not report.ok:
                break
        assert report is not None
        if in_notebook():
            report.show()
        return report

    def __repr__(self) -> str:
        return f"the call of {self.kernel.name} with {self.case.label}"


FAILED: dict[str, FailedCall] = {}  # exercise's name -> the call at which its last grade stopped


def grade(exercise: Definition, value: Any, arch: str | None, *, untouched: bool) -> GradeReport:
    """The report on what was submitted. untouched: it still is the skeleton."""
    names = [group.name for group in exercise.groups]
    passed: list[Pass] = []

    def report(left: Sequence[str], failure: GateError | None, untouched: bool) -> GradeReport:
        of = exercise.name, exercise.title, tuple(passed), tuple(left)
        return GradeReport(*of, failure, untouched, praise=exercise.praise)

    if untouched:
        todo = f"Fill in the lines marked {PLACEHOLDER}, run that cell, then this one."
        return report(names, GateError("This is the skeleton, as it was given.", "", todo), True)
    sanitized = [call for group in exercise.groups for call in group.sanitizes]
    submission = Submission(value, arch, exercise.reference, exercise.as_given, sanitized)
    for number, group in enumerate(exercise.groups):
        try:
            passed.append(Pass(group.name, group.run(submission)))
        except GateError as failure:
            _keep_failed(exercise, submission, failure)
            rest = exercise.groups[number + 1 :]
            others = [o for g in rest if g.separate and (o := _passes(g, submission)) is not None]
            passed += others
            left = [g.name for g in rest if g.name not in {o.name for o in others}]
            return report([group.name, *left], failure, failure.unanswered)
        except ForgekitError as error:  # what no gate expected of a kernel, and yet in words
            return report(names[number:], GateError(str(error)), False)
        except Exception as error:  # an odd value in an answer, say; a student sees no traceback
            return report(names[number:], _unexpected(error), False)
    FAILED.pop(exercise.name, None)
    return report((), None, False)


def _passes(group: Group, submission: Submission) -> Pass | None:
    """What a group says of a pass; None if it is not passed."""
    try:
        return Pass(group.name, group.run(submission))
    except Exception:  # the reason is for when the groups before it are passed
        return None


def _keep_failed(exercise: Definition, submission: Submission, failure: GateError) -> None:
    """The call that failed can be run and drawn from the notebook; the advice says how."""
    call = f'fk.exercise("{exercise.name}").failed'
    FAILED.pop(exercise.name, None)
    try:
        if submission.last is not None:
            kernel = submission.compiled(submission.last)
            FAILED[exercise.name] = FailedCall(kernel, submission.last)
    except GateError:  # it does not compile
        pass
    if exercise.name in FAILED:
        failure.look_at = failure.look_at.replace("{failed}", call)
    elif "{failed}" in failure.look_at:
        failure.look_at = ""


def _unexpected(error: Exception) -> GateError:
    """Of an error that neither a gate nor forgekit put into words."""
    return GateError(
        f"What was handed in cannot be graded. {type(error).__name__}: {error}",
        look_at="Compare it with the skeleton: has it the same form? If it has, this is a mistake "
        "of forgekit's; please report it.",
    )
