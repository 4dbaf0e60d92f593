"""Predictions: a number written down before a run, and shown beside what was counted.

Of a profile's metrics, by their names: the next `fk.profile` shows them beside its own. Of anything
else, in words, with the answer given by the notebook. Wrong ones are kept as well as right ones.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any

from forgekit.errors import UsageError, got_needed
from forgekit.profiling.metrics import Counts, metric

__all__ = ["Prediction", "Predictions", "predict", "predictions", "take"]

_CLOSE = 0.01  # of a count, the difference that still is right: a prediction is no measurement


@dataclass
class Prediction:
    """One number, or another value, said of a question; `answer` is None until it is known."""

    question: str
    said: Any
    metric: str = ""
    answer: Any = None

    @property
    def open(self) -> bool:
        """Whether nothing was written down: None, or `...`."""
        return self.said is None or self.said is ...

    @property
    def right(self) -> bool:
        return not self.open and _same(self.said, self.answer, bool(self.metric))

    def against(self, answer: Any) -> None:
        """Print what was said beside the answer, and keep both."""
        self.answer = answer
        _keep(self)
        print(self)

    def __repr__(self) -> str:
        if self.answer is None:
            said = "nothing written down yet" if self.open else f"you say {_text(self.said)}"
            return f"{self.question}: {said}"
        if self.open:
            return f"{self.question}: nothing written down; it is {_text(self.answer)}"
        verdict = "right" if self.right else f"it is {_text(self.answer)}"
        mark = ": " if self.right else "; "
        return f"{self.question}: you said {_text(self.said)}{mark}{verdict}"


@dataclass(frozen=True)
class Predictions:
    """Predictions; as the last line of a cell it shows them, one a line."""

    all: tuple[Prediction, ...] = ()

    def __repr__(self) -> str:
        if not self.all:
            return "no predictions yet"
        open_ = any(p.open and p.answer is None for p in self.all)
        lines = [repr(p) for p in self.all]
        if open_:
            lines.append("(write your number in place of None and run this cell again)")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr>{_cells(p)}</tr>" for p in self.all)
        head = "".join(f'<th style="{_CELL}">{h}</th>' for h in ("", "you said", "it is"))
        if not self.all:
            return f"<p>{self!r}</p>"
        return (
            '<table style="border-collapse:collapse;font-size:13px">'
            f"<tr>{head}</tr>{rows}</table>"
        )  # fmt: skip


@dataclass
class _Kept:
    """Of this session: what waits for the next profile, and all there was."""

    waiting: list[Prediction] = field(default_factory=list)
    answered: dict[str, list[Prediction]] = field(default_factory=dict)


_kept = _Kept()


def predict(question: str | None = None, said: Any = None, /, **numbers: Any) -> Any:
    """Write a prediction down.

    `fk.predict(global_load_sectors_per_request=4)`: of metrics, by name; the next `fk.profile`
    shows them beside what it counted. `fk.predict("blocks", 8).against(blocks)`: of anything.
    None or `...` stands for a number not written down yet.

    Args:
        question, said: in words, and any value. numbers: metric -> number.

    Returns:
        What was written down: Predictions of metrics, or one Prediction of a question.

    Raises:
        UsageError: no such metric (near ones are named), or not a number; neither form.
    """
    if (question is None) == (not numbers):
        remedy = 'write fk.predict(global_load_sectors=64) or fk.predict("blocks", 8)'
        raise UsageError(got_needed("predict", "neither or both", "one of two forms", remedy))
    if question is not None:
        return Prediction(str(question), said)
    found = []
    for name, number in numbers.items():
        known = metric(name)
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        if number is not None and number is not ... and not is_number:
            raise UsageError(got_needed(name, repr(number), "a number", "write one, or None"))
        found.append(Prediction(name.replace("_", " "), number, known.name))
    _kept.waiting = found
    return Predictions(tuple(found))


def predictions() -> Predictions:
    """All predictions of this session whose answers are known, the first of a question first."""
    return Predictions(tuple(p for several in _kept.answered.values() for p in several))


def take(counts: Counts) -> Predictions:
    """The predictions that wait for a profile, with its numbers as answers; they wait no longer."""
    waiting, _kept.waiting = _kept.waiting, []
    for p in waiting:
        p.answer = counts[p.metric]
        _keep(p)
    return Predictions(tuple(waiting))


def _keep(p: Prediction) -> None:
    several = _kept.answered.setdefault(p.question, [])
    if not p.open and not any(_same(p.said, q.said) and q.answer == p.answer for q in several):
        several[:] = [q for q in several if not q.open]
        several.append(p)
    elif not several:
        several.append(p)


def _same(one: Any, other: Any, roughly: bool = False) -> bool:
    """Equal, whether written as tuples or as lists."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    try:
        if roughly:
            return bool(abs(one - other) <= _CLOSE * abs(other))
        return bool(one == other)
    except (TypeError, ValueError, RuntimeError):  # arrays of several elements
        return False


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return repr(value)
    return f"{value:,.0f}" if value == round(value) else f"{value:,.2f}"


_CELL = "padding:3px 10px;text-align:left;border:0;background:transparent"
_GREEN, _RED = "#009E73", "#D55E00"


def _cells(p: Prediction) -> str:
    said = "–" if p.open else _text(p.said)
    colour = "inherit" if p.open or p.answer is None else (_GREEN if p.right else _RED)
    answer = "" if p.answer is None else _text(p.answer)
    return (
        f'<td style="{_CELL}">{html.escape(p.question)}</td>'
        f'<td style="{_CELL};color:{colour}">{html.escape(said)}</td>'
        f'<td style="{_CELL}">{html.escape(answer)}</td>'
    )
