"""Define gates for answers that are not kernels: numbers, words from a list, Python functions, and
cache keys."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

from forgekit.lessons.gates.gate import GateError
from forgekit.lessons.gates.submission import Group, Submission

if TYPE_CHECKING:
    import torch

_OPEN = "There is no answer yet. Replace None with your answer."


def answer(check: Callable[[Any], str | None], *, name: str = "Answer", look_at: str = "") -> Group:
    """Return a group that checks the answer to a single question.

    check: receives the submission's value; returns a sentence that explains the mistake to the
    student, or None if the value is right. It is not called if an answer is missing (None or `...`,
    even inside a container).
    """

    def run(submission: Submission) -> str:
        if _unanswered(submission.value):
            raise GateError(_OPEN, unanswered=True)
        try:
            wrong = check(submission.value)
        except Exception as error:  # the check may fail on an unusual answer
            raise GateError(
                f"{submission.value!r:.200} cannot be used as an answer: {error}"
            ) from None
        if wrong:
            raise GateError(wrong, look_at=look_at)
        return ""

    return Group(name, run)


def answers(
    right: Mapping[str, Any],
    misconceptions: Mapping[tuple[str, Any], str] | None = None,
    *,
    name: str = "Answers",
    look_at: str = "",
) -> Group:
    """Return a group that checks the answers to several questions; the submission is a dict that
    maps questions to answers.

    Args:
        right: maps each question to its answer; answers are compared with `==`, floats with a
            tolerance of 0.5 %. misconceptions: maps (question, wrong answer) to an explanation of
            the reasoning that leads to it.
    """
    known = dict(misconceptions or {})

    def run(submission: Submission) -> str:
        given = _given(submission.value, right)
        for question, want in right.items():
            got = given[question]
            number = _number(got) if isinstance(got, str) else got
            if type(want) in (int, float) and isinstance(number, str):
                raise GateError(f"{question!r}: {got!r:.100} is text. Write a number.")
            if not _equal(got, want):
                misconception = next(
                    (text for (q, v), text in known.items() if q == question and _equal(got, v)), ""
                )
                raise GateError(f"{question!r}: {got!r:.100} is not right.", misconception, look_at)
        return f"{len(right)} answers"

    return Group(name, run)


def _given(value: Any, questions: Iterable[str]) -> Mapping[str, Any]:
    """Return the submission if it is a dict with an answer to each question; otherwise raise
    GateError."""
    if not isinstance(value, Mapping):
        raise GateError(f"Expected the skeleton's dict, got {value!r:.200}.")
    missing = [repr(q) for q in questions if _unanswered(value.get(q))]
    if missing:
        raise GateError(f"No answer yet: {', '.join(missing)}.", unanswered=True)
    return value


def _unanswered(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_unanswered, value.values()))
    if isinstance(value, tuple | list):
        return any(map(_unanswered, value))
    return value is None or value is ...


def _equal(got: Any, want: Any) -> bool:
    if getattr(got, "ndim", None) == 0:  # a scalar of torch or NumPy
        got = got.item()
    if isinstance(want, bool) or isinstance(got, bool):
        return got is want
    if isinstance(want, int | float) and isinstance(got, str):
        got = _number(got)
    if isinstance(want, int | float) and isinstance(got, Real):
        of: Any = next((t for t in (float, int) if isinstance(got, t)), None)
        number = of.__float__(got) if of else float(got)  # not a subclass's method
        return abs(number - want) <= (0.005 * abs(want) if isinstance(want, float) else 0)
    if isinstance(want, str) and isinstance(got, float) and not math.isfinite(got):
        got = repr(float.__float__(got))  # nan or inf
    if isinstance(want, str) and isinstance(got, str):
        return str.strip(got).lower() == want.strip().lower()
    if isinstance(want, tuple | list) and isinstance(got, tuple | list):
        return len(got) == len(want) and all(map(_equal, got, want))
    try:
        return type(got) is type(want) and bool(want == got)
    except (ValueError, RuntimeError):  # an array with several elements
        return False


def _number(text: str) -> int | float | str:
    """Return the number that a string represents, such as "2,048" or "0x3f"; for other strings,
    return the string."""
    plain = str.replace(text, ",", "")
    try:
        return int(plain, 0)
    except ValueError:
        try:
            return float(plain)
        except ValueError:
            return text


def one_of(
    question: str, got: Any, words: Sequence[str], names: Mapping[str, str] | None = None
) -> str:
    """Return the word that an answer matches; case and spaces are ignored.

    Raises:
        GateError: the answer is not one of `words`.
    """
    if isinstance(got, float) and math.isnan(got):
        got = "nan"
    asked = " ".join(got.split()).lower() if isinstance(got, str) else got
    known = {w.lower(): w for w in words} | {k.lower(): w for k, w in (names or {}).items()}
    if not isinstance(asked, str) or asked not in known:
        listed = ", ".join(f'"{w}"' for w in words)
        raise GateError(f"{question!r}: {got!r:.100} is not one of: {listed}.")
    return known[asked]


def choices(
    right: Mapping[str, str],
    words: Sequence[str],
    misconceptions: Mapping[tuple[str, str], str],
    *,
    names: Mapping[str, str] | None = None,
    name: str,
    look_at: str,
) -> Group:
    """Return a group that checks the answers to several questions; the submission is a dict that
    maps questions to words from a list.

    The group reports the number of wrong answers but explains only the first. If it identified all
    of them, students could find the right words by trial and error.

    Args:
        right: maps each question to the right word. words: the possible answers. names: maps
            synonyms to these words.
        misconceptions: maps (question, wrong word) to an explanation of why it is wrong.
    """

    def run(submission: Submission) -> str:
        given = _given(submission.value, right)
        said = {q: one_of(q, given[q], words, names) for q in right}
        wrong = [q for q, word in said.items() if word != right[q]]
        if wrong:
            are = "is" if len(wrong) == 1 else "are"
            begin = "" if len(wrong) == 1 else "the first wrong answer: "
            why = misconceptions.get((wrong[0], said[wrong[0]]), "")
            raise GateError(
                f"{len(wrong)} of {len(right)} answers {are} not right.",
                why and begin + why,
                look_at,
            )
        return f"{len(right)} answers"

    return Group(name, run)


def python_function(submission: Submission, skeleton: str) -> Callable[..., Any]:
    """Return the submission if it is a function that can be called like the skeleton's function.

    skeleton: the function's call in the skeleton, such as "cache_key(x)".

    Raises:
        GateError: the submission is not a function, or takes other arguments.
    """
    value = submission.value
    name, _, parameters = skeleton.rstrip(")").partition("(")
    look_at = f"Submit {name} itself, without calling it, as the grading cell does."
    if isinstance(value, type) or not callable(value):
        raise GateError(f"Expected a function, got {value!r:.120}.", look_at=look_at)
    try:
        inspect.signature(value).bind(*parameters.split(", "))
    except TypeError:
        raise GateError(f"The function cannot be called as {skeleton}.", look_at=look_at) from None
    except ValueError:  # the parameters of some built-in functions are unknown
        pass
    return value


@dataclass(frozen=True)
class Pair:
    """Two tensors and their description. says: the explanation to print if the tensors' keys
    wrongly differ or agree."""

    one: torch.Tensor
    other: torch.Tensor
    words: str
    says: str


def keys(
    skeleton: str,
    pairs: Callable[[], Iterable[Pair]],
    *,
    same: bool,
    name: str,
    more: tuple[Any, ...] = (),
) -> Group:
    """Return a group that compares the student's cache keys for pairs of tensors.

    skeleton: as in `python_function`. same: True if the keys of a pair must be equal. more: further
    arguments to pass to the function after the tensor.
    """

    def run(submission: Submission) -> str:
        function = python_function(submission, skeleton)
        count = 0
        for pair in pairs():
            one, other = key_of(function, pair.one, *more), key_of(function, pair.other, *more)
            if (one == other) is not same:
                got = "different keys" if same else "the same key"
                needed = "share one kernel" if same else "need different machine code"
                happened = f"{pair.words}: these tensors {needed}, but have {got}.\n{one!r:.160}"
                happened += f"\n{other!r:.160}" if same else ""
                raise GateError(happened[0].upper() + happened[1:], pair.says)
            count += 1
        return f"{count} pairs"

    return Group(name, run)


def key_of(function: Callable[..., Any], x: torch.Tensor, *more: Any) -> Any:
    """Return the student's key for a tensor. Raise GateError if it cannot be a key in a dict."""
    import torch

    name = getattr(function, "__name__", "it")
    try:
        key = function(x, *more)
    except Exception as error:
        where = f"{tuple(x.shape)}, strides {x.stride()}, {x.dtype}, device {x.device}"
        raise GateError(
            f"{name} raised {type(error).__name__}: {error}\nfor a tensor of shape {where}"
        ) from None
    if key is None:
        raise GateError(
            f"{name} returned None, so all tensors have the same key.",
            "a function that ends without `return` returns None.",
        )
    try:
        hash(key)
    except TypeError as error:
        remedy = "Use a tuple, nested if necessary, because lists and dicts can change."
        happened = f"{key!r:.120} cannot be a dict key: {error}."
        raise GateError(happened, look_at=remedy) from None
    parts = key if isinstance(key, tuple) else (key,)
    if any(isinstance(part, torch.Tensor) for part in parts):
        raise GateError(
            "The key contains the tensor itself, so the dict would keep it in memory.",
            look_at="Build the key from the tensor's properties.",
        )
    return key
