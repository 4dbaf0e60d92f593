"""Draw a ClassReport: a bar for each exercise, below it the misconceptions and how often."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from forgekit.text import shortened
from forgekit.viz.theme import WIDTH, Canvas, wrap

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forgekit.lessons.classroom.results import ClassReport, Verdict

_LEFT, _RIGHT, _BAR, _SHOWN = 2.2, 0.3, 0.19, 4  # inches; misconceptions of an exercise
_LOOKS: dict[str, dict[str, Any]] = {
    "passed": {"facecolor": "#009E73"},
    "failed": {"facecolor": "#D55E00"},
    "open": {"facecolor": "#BDBDBD"},
    "no answer": {"facecolor": "#7A6FBF"},
}


def draw(shown: ClassReport) -> Figure:
    """The figure of a ClassReport."""
    canvas = Canvas()
    y = canvas.heading(shown.headline, [])
    y = canvas.legend(_LEFT, y, list(_LOOKS.items())) + 0.08
    most = max((len(v) for v in shown.exercises.values()), default=1)
    for name, verdicts in shown.exercises.items():
        unit = (WIDTH - _LEFT - _RIGHT) / most
        y = _exercise(canvas, y, name, verdicts, shown.mistakes(name), unit)
    return canvas.finish(y + 0.1)


def _exercise(
    canvas: Canvas, y: float, name: str, verdicts: list[Verdict], said: list[tuple[str, int]],
    unit: float,
) -> float:  # fmt: skip
    """One exercise; returns where the next one begins. unit: inches of a student."""
    canvas.text(_LEFT - 0.1, y + _BAR / 2, name, ha="right", va="center_baseline", gid="name")
    kinds = Counter(v.verdict if v.verdict in _LOOKS else "no answer" for v in verdicts)
    x = _LEFT
    for kind, look in _LOOKS.items():
        wide = kinds[kind] * unit
        if not wide:
            continue
        canvas.box(x, y, wide, _BAR, gid=kind, **look)
        if wide > 0.2:
            colour = "black" if kind == "open" else "white"
            canvas.centred(x + wide / 2, y + _BAR / 2, str(kinds[kind]), 8, color=colour)
        x += wide
    y += _BAR + 0.05
    for words, times in said[:_SHOWN]:
        lines = wrap(f"{times} × {shortened(words, 230)}", WIDTH - _LEFT - _RIGHT)
        y = canvas.lines(_LEFT, y, lines, size=8, gid="misconception")
    if len(said) > _SHOWN:
        rest = sum(times for _, times in said[_SHOWN:])
        y = canvas.lines(_LEFT, y, [f"{rest} × others"], size=8)
    return y + 0.1
