"""Record the predictions that students make before a run, and show them next to its counts.

Metrics are predicted by name, and the next `fk.profile` answers them. For any other prediction, the
notebook states a question and supplies the answer. Wrong predictions stay in the record.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from numbers import Real
from typing import Any

from forgekit.errors import brief, usage_error
from forgekit.profiling.metrics import Counts, metric
from forgekit.profiling.predicting.predicted import PredictedTime
from forgekit.show import Shown

MICROSECONDS = "microseconds"  # the name under which a time is predicted; `Profile.time` answers it
_TODO = "replace None with your number and run this cell again"
_LONG = 400  # the maximum length of a displayed value, in characters
_CLOSE = 0.01  # the relative tolerance of a metric or a fraction


@dataclass
class Prediction:
    """A predicted value for a question. answer: the right value; None until it is known. expected:
    the theoretical value if the answer is a measurement.
    """

    question: str
    said: Any
    metric: str = ""
    answer: Any = None
    factor: float = 1.0  # the tolerance of a time, as a factor
    expected: Any = None

    @property
    def open(self) -> bool:
        """Return True if the prediction is missing, that is, None or `...`."""
        return self.said is None or self.said is ...

    @property
    def right(self) -> bool:
        if self.factor > 1:
            return (
                not self.open
                and self.answer / self.factor <= self.said <= self.answer * self.factor
            )
        roughly = bool(self.metric) or _is_fraction(self.answer)
        answers = (self.answer, self.expected) if self.expected is not None else (self.answer,)
        return not self.open and any(_same(self.said, a, roughly) for a in answers)

    def against(self, answer: Any, expected: Any = None) -> None:
        """Store the answer and the theoretical value, and print them next to the prediction."""
        self.answer, self.expected = answer, expected
        _keep(self)
        print(self)

    @property
    def said_text(self) -> str:
        return "–" if self.open else _text(self.said)

    @property
    def answer_text(self) -> str:
        if self.expected is not None:
            return f"{_text(self.expected)} expected, {_text(self.answer)} in this run"
        return "" if self.answer is None else _text(self.answer)

    def __repr__(self) -> str:
        if self.answer is None:
            said = "no prediction yet" if self.open else f"you say {self.said_text}"
            return f"{self.question}: {said}"
        if self.open:
            return f"{self.question}: no prediction; the answer is {self.answer_text}"
        verdict = "right" if self.right else f"the answer is {self.answer_text}"
        if self.right and _is_fraction(self.answer) and self.said != self.answer:
            within = f"a factor of {self.factor:.2f}" if self.factor > 1 else "1 %"
            verdict = f"right, within {within}; the answer is {self.answer_text}"
        if self.expected is not None:
            verdict = f"{'right: ' * self.right}{self.answer_text}"
        mark = ": " if self.right else "; "
        return f"{self.question}: you said {self.said_text}{mark}{verdict}"


@dataclass(frozen=True, repr=False)
class Predictions(Shown):
    """A list of predictions, which a notebook shows on one line each."""

    all: tuple[Prediction, ...] = ()

    @property
    def summary(self) -> str:
        if not self.all:
            return "no predictions yet"
        return "\n".join([*map(repr, self.all), *([f"({self.to_do})"] if self.to_do else [])])

    @property
    def to_do(self) -> str:
        """Return a reminder if a prediction is missing, otherwise an empty string."""
        return _TODO if any(p.open and p.answer is None for p in self.all) else ""


class _Waiting(threading.local):
    """The predictions that are waiting for this thread's next profile."""

    all: tuple[Prediction, ...] = ()


_waiting = _Waiting()
_answered: dict[str, list[Prediction]] = {}  # this process's answered predictions, by question
_lock = threading.Lock()


def predict(question: str | None = None, said: Any = None, /, **numbers: Any) -> Any:
    """Record a prediction.

    `fk.predict(global_load_sectors_per_request=4)` predicts metrics by name; the next `fk.profile`
    shows the predictions next to its counts. `fk.predict(microseconds=20)` predicts a time; the
    next call of a profile's `time()` prints the prediction next to the computed time, and the
    prediction is right if it is within that time's interval. Any other value is predicted as in
    `fk.predict("blocks", 8).against(blocks)`. None or `...` means that the prediction is still
    missing. Predictions of metrics and fractions are right within 1 %; integers and other values
    must be equal.

    Args:
        question, said: a question in words, and the predicted value. numbers: a predicted number
            per metric.

    Returns:
        Predictions for metrics, or a single Prediction for a question.

    Raises:
        UsageError: a metric is unknown (the message lists similar names), a metric's value is not a
            number, or the call passes both a question and metrics, or neither.
    """
    if (question is None) == (not numbers):
        remedy = 'write fk.predict(global_load_sectors=64) or fk.predict("blocks", 8)'
        raise usage_error("predict", "both or neither", "either a question or metrics", remedy)
    if question is not None:
        words = question if isinstance(question, str) else brief(question)
        return Prediction(words, said)
    found = []
    for name, number in numbers.items():
        known = MICROSECONDS if name == MICROSECONDS else metric(name).name
        is_number = isinstance(number, Real) and not isinstance(number, bool)
        if number is not None and number is not ... and not is_number:
            raise usage_error(name, brief(number), "a number", "write a number or None")
        found.append(Prediction(name.replace("_", " "), number, known))
    _waiting.all = tuple(found)
    return Predictions(_waiting.all)


def predictions() -> Predictions:
    """Return this process's answered predictions, in the order in which their questions were first
    asked.
    """
    return Predictions(tuple(p for several in list(_answered.values()) for p in several))


def take(counts: Counts) -> Predictions:
    """Return the predictions that are waiting for a profile, with the profile's numbers as answers,
    and stop waiting.
    """
    waiting = tuple(p for p in _waiting.all if p.metric != MICROSECONDS)
    _waiting.all = tuple(p for p in _waiting.all if p.metric == MICROSECONDS)
    for p in waiting:
        p.answer = counts[p.metric]
        _keep(p)
    return Predictions(waiting)


def take_time(found: PredictedTime) -> None:
    """Answer and print the predictions that are waiting for a predicted time."""
    if found.us is None or found.high is None:
        return
    waiting = tuple(p for p in _waiting.all if p.metric == MICROSECONDS)
    _waiting.all = tuple(p for p in _waiting.all if p.metric != MICROSECONDS)
    for p in waiting:
        p.factor = found.high / found.us
        p.against(float(f"{found.us:.3g}"))


def _keep(p: Prediction) -> None:
    with _lock:
        several = _answered.setdefault(p.question, [])
        alike = [q for q in several if _same(q.answer, p.answer)]
        if not (alike if p.open else any(_same(q.said, p.said) for q in alike)):
            several[:] = [q for q in several if not (q.open and q in alike)]
            several.append(p)


def _same(one: Any, other: Any, roughly: bool = False) -> bool:
    """Return True if the values are equal, where a tuple may equal a list; return False if they
    differ or cannot be compared.
    """
    if getattr(one, "is_meta", False) or getattr(other, "is_meta", False):
        return one is other  # for a meta tensor, torch would need seconds
    try:
        return _equal(one, other, roughly)
    except (TypeError, ValueError, RuntimeError, ArithmeticError):  # arrays, or infinite nesting
        return False


def _is_fraction(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value) and value != round(value)


def _equal(one: Any, other: Any, roughly: bool = False) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return one.strip().casefold() == other.strip().casefold()
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    if roughly:
        return bool(abs(one - other) <= _CLOSE * abs(other))
    return bool(one == other)


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        try:
            text = repr(value)
        except Exception:  # the object's repr fails
            text = ""
        return text if 0 < len(text) <= _LONG else brief(value)
    value = value if isinstance(value, int) else float(value)
    return f"{value:,.0f}" if value == round(value) else f"{value:,.2f}"
