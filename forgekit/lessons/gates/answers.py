"""Gates on answers: a number, a table, a Python function; no kernel needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

from forgekit.lessons.gates.failure import GateError, Group

if TYPE_CHECKING:
    from forgekit.lessons.gates.submission import Submission

__all__ = ["answer", "answers"]

_OPEN = "There is no answer yet: write it in place of None."


def answer(check: Callable[[Any], str | None], *, name: str = "Answer", look_at: str = "") -> Group:
    """A group of one question.

    check: given what was handed in, what is wrong with it in a sentence to the student, or None
    if it is right. It is not asked where nothing was handed in (None or `...`, also inside).
    """

    def run(handed_in: Submission) -> str:
        if _unanswered(handed_in.value):
            raise GateError(_OPEN, unanswered=True)
        try:
            wrong = check(handed_in.value)
        except Exception as error:  # a check compares and computes; an odd answer may refuse
            raise GateError(
                f"{handed_in.value!r:.200} cannot be used as an answer: {error}"
            ) from None
        if wrong:
            raise GateError(wrong, look_at=look_at)
        return ""

    return Group(name, run)


def answers(
    right: Mapping[str, Any],
    slips: Mapping[tuple[str, Any], str] | None = None,
    *,
    name: str = "Answers",
    look_at: str = "",
) -> Group:
    """A group of several questions; a dict of answers is handed in.

    Args:
        right: question -> the answer; compared with `==`, numbers within 0.5 %.
        slips: (question, wrong answer) -> what leads to that answer.
    """
    known = dict(slips or {})

    def run(handed_in: Submission) -> str:
        given = handed_in.value
        if not isinstance(given, Mapping):
            raise GateError(f"Needed is the dict of the skeleton; handed in was {given!r:.200}.")
        missing = [q for q in right if _unanswered(given.get(q))]
        if missing:
            raise GateError(f"No answer yet: {_listed(missing)}.", unanswered=True)
        for question, want in right.items():
            got = given[question]
            if not _equal(got, want):
                slip = next(
                    (text for (q, v), text in known.items() if q == question and _equal(got, v)), ""
                )
                raise GateError(f"{question!r}: {got!r:.100} is not right.", slip, look_at)
        return f"{len(right)} answers"

    return Group(name, run)


def _unanswered(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_unanswered, value.values()))
    if isinstance(value, tuple | list):
        return any(map(_unanswered, value))
    return value is None or value is ...


def _equal(got: Any, want: Any) -> bool:
    if isinstance(want, bool) or isinstance(got, bool):
        return got is want
    if isinstance(want, int | float) and isinstance(got, Real):
        number = float.__float__(got) if isinstance(got, float) else float(got)  # not its own
        return abs(number - want) <= 0.005 * abs(want)
    if isinstance(want, str) and isinstance(got, str):
        return got.strip().lower() == want.strip().lower()
    if isinstance(want, tuple | list) and isinstance(got, tuple | list):
        return len(got) == len(want) and all(map(_equal, got, want))
    try:
        return type(got) is type(want) and bool(want == got)
    except (ValueError, RuntimeError):  # an array of several elements
        return False


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(n) for n in names)
