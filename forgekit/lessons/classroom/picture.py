"""Draw a ClassReport: one bar per exercise, and the misconceptions with their counts below it."""

from __future__ import annotations

from collections import Counter

from forgekit.lessons.classroom.results import ClassReport
from forgekit.lessons.classroom.rows import Verdict
from forgekit.text import shortened
from forgekit.viz.compose import compose
from forgekit.viz.grid import Block
from forgekit.viz.palette import INK, UNTOUCHED, WRONG
from forgekit.viz.scene import Item, Label, Rect, Scene, Swatch, wrap

_LEFT, _WIDTH, _BAR, _SHOWN = 200.0, 760.0, 18.0, 4  # px; misconceptions per exercise
_LOOKS = {"passed": "#009E73", "failed": WRONG, "open": UNTOUCHED, "no answer": "#9A90D6"}


def draw(shown: ClassReport) -> Scene:
    """Draw a ClassReport."""
    most = max((len(v) for v in shown.exercises.values()), default=0) or 1
    rows = [[_exercise(name, verdicts, shown.mistakes(name), (_WIDTH - _LEFT) / most)]
            for name, verdicts in shown.exercises.items()]  # fmt: skip
    swatches = [Swatch((colour,), kind) for kind, colour in _LOOKS.items()]
    return compose(shown.headline, [], rows, words=shown.alt, plain=True, swatches=swatches)


def _exercise(
    name: str, verdicts: list[Verdict], said: list[tuple[str, int]], unit: float
) -> Block:
    """Draw an exercise's bar and misconceptions. unit: the number of pixels per student."""
    items: list[Item] = [Label(_LEFT - 10, _BAR / 2, name, 12, "ink", "end", sort="name")]
    kinds = Counter(v.verdict if v.verdict in _LOOKS else "no answer" for v in verdicts)
    x = _LEFT
    for kind, colour in _LOOKS.items():
        wide = kinds[kind] * unit
        if wide:
            items.append(Rect(x, 0, wide, _BAR, colour, sort=kind))
            items += [Label(x + wide / 2, _BAR / 2, str(kinds[kind]), 11, INK, "middle")] * (
                wide > 18
            )
        x += wide
    y = _BAR + 6
    lines = [f"{times} × {shortened(words, 230)}" for words, times in said[:_SHOWN]]
    if len(said) > _SHOWN:
        lines.append(f"{sum(times for _, times in said[_SHOWN:])} × other mistakes")
    for line in (part for text in lines for part in wrap(text, _WIDTH - _LEFT, 11)):
        items.append(Label(_LEFT, y + 8, line, 11, sort="misconception"))
        y += 16
    return Block(name, _WIDTH, y, tuple(items))
