"""Take what was handed in through the groups of an exercise, up to the first that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forgekit.errors import ForgekitError
from forgekit.lessons.gates.failure import GateError
from forgekit.lessons.gates.submission import Submission
from forgekit.lessons.report import GradeReport, Outcome
from forgekit.lessons.skeleton import PLACEHOLDER

if TYPE_CHECKING:
    from forgekit.lessons.exercise import Exercise
    from forgekit.lessons.failed import FailedCall
    from forgekit.lessons.gates.failure import Group

__all__ = ["FAILED", "grade"]

FAILED: dict[str, FailedCall] = {}  # exercise's name -> the call at which its last grade stopped


def grade(exercise: Exercise, handed_in: Any, arch: str | None, *, untouched: bool) -> GradeReport:
    """The report on what was handed in. untouched: it still is the skeleton."""
    names = [group.name for group in exercise.groups]
    if untouched:
        todo = f"Fill in the lines marked {PLACEHOLDER}, run that cell, then this one."
        failure = GateError("This is the skeleton, as it was given.", look_at=todo)
        return _report(exercise, [], names, failure, untouched=True)
    submission = Submission(handed_in, arch, exercise)
    passed: list[Outcome] = []
    for number, group in enumerate(exercise.groups):
        try:
            passed.append(Outcome(group.name, group.run(submission)))
        except GateError as failure:
            missing = failure.unanswered
            _keep_failed(exercise, submission, failure)
            rest = exercise.groups[number + 1 :]
            others = [o for g in rest if g.separate and (o := _passes(g, submission)) is not None]
            left = [g.name for g in rest if g.name not in {o.name for o in others}]
            passed += others
            return _report(exercise, passed, [group.name, *left], failure, untouched=missing)
        except ForgekitError as error:  # what no gate expected of a kernel, and yet told in words
            return _report(exercise, passed, names[number:], GateError(str(error)))
        except Exception as error:  # an odd value in an answer, say; a student sees no traceback
            return _report(exercise, passed, names[number:], _unexpected(error))
    FAILED.pop(exercise.name, None)
    return _report(exercise, passed, [])


def _passes(group: Group, submission: Submission) -> Outcome | None:
    """What a group says of a pass; None if it is not passed."""
    try:
        return Outcome(group.name, group.run(submission))
    except Exception:  # why not is told once the groups before it are passed
        return None


def _keep_failed(exercise: Exercise, submission: Submission, failure: GateError) -> None:
    """The call that failed can be run and drawn from the notebook; the advice says how."""
    from forgekit.lessons.failed import FailedCall

    call = f'fk.exercise("{exercise.name}").failed'
    FAILED.pop(exercise.name, None)
    try:
        if submission.last is not None:
            kernel = submission.compiled(submission.last)
            FAILED[exercise.name] = FailedCall(kernel, submission.last)
    except GateError:  # it does not compile
        pass
    known = exercise.name in FAILED
    failure.look_at = failure.look_at.replace("{failed}", call) if known else _without(failure)


def _without(failure: GateError) -> str:
    return "" if "{failed}" in failure.look_at else failure.look_at


def _unexpected(error: Exception) -> GateError:
    """Of an error that neither a gate nor forgekit put into words."""
    return GateError(
        f"What was handed in cannot be graded. {type(error).__name__}: {error}",
        look_at="Compare it with the skeleton: has it the same form? If it has, this is a mistake "
        "of forgekit's; please report it.",
    )


def _report(
    exercise: Exercise,
    passed: list[Outcome],
    rest: list[str],
    failure: GateError | None = None,
    *,
    untouched: bool = False,
) -> GradeReport:
    return GradeReport(
        name=exercise.name,
        title=exercise.title,
        passed=tuple(passed),
        failed=rest[0] if rest else "",
        failure=failure,
        not_reached=tuple(rest[1:]),
        untouched=untouched,
        praise=exercise.praise,
    )
