"""Animate sums by shuffles: after each step, the lanes whose numbers each lane's sum contains."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from forgekit.arguments import checked
from forgekit.errors import usage_error
from forgekit.viz.ideas.idea import Idea
from forgekit.viz.palette import WRONG, thread_colour

# counts[step][lane][k]: how many times the sum in `lane` contains lane k's number.
Counts = list[list[list[int]]]


@checked()
def shuffle_steps(sources: Mapping[str, Sequence[Sequence[int]]] | None = None) -> Idea:
    """Show which lanes' numbers each lane's sum contains after each shuffle and addition.

    sources: maps the name of a method to one list per step, which contains the source lanes of
    lanes 0, 1, … A kernel that shuffles lane numbers produces such a list. The default is CuTe's
    three shuffles with offsets 16, 8, 4, 2 and 1. The reader can reverse the order of the steps.

    Raises UsageError if a step does not contain one existing source lane per lane.
    """
    sources = cute_shuffles() if sources is None else sources
    lanes = len(next(iter(sources.values()))[0]) if sources else 0
    for name, steps in sources.items():
        for step in steps:
            if len(step) != lanes or not all(0 <= lane < lanes for lane in step):
                needed = f"{lanes} lanes from 0 to {lanes - 1}"
                raise usage_error(f"sources[{name!r}]", str(list(step))[:60], needed,
                                  "shuffle lane_idx() and store the received value")  # fmt: skip
    held = {name: counts(steps) for name, steps in sources.items()}
    words = "\n".join(line for name in held for line in _words(name, held[name]))

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, len(held), squeeze=False)[0]
        for axes, (name, of_steps) in zip(panels, held.items(), strict=True):
            for step, of_lanes in enumerate(of_steps):
                for lane, of_lane in enumerate(of_lanes):
                    twice, place = max(of_lane) > 1, math.log2(sum(map(bool, of_lane)))
                    colour = WRONG if twice else thread_colour(round(place), 6)
                    axes.plot(lane, -step, "X" if twice else "s", ms=4, color=colour, mew=0)
            axes.set_yticks(range(1 - len(of_steps), 1), [*range(len(of_steps) - 1, -1, -1)])
            axes.set(title=f"{name}: × contains a number twice", xlabel="lane", ylabel="shuffles")

    return Idea(
        "warp", "The numbers in each lane's sum",
        "The colour and number of a cell show how many lanes contributed to its sum. A cross marks "
        "a sum that contains a lane's number more than once.",
        {"sources": {name: [list(map(int, step)) for step in steps]
                     for name, steps in sources.items()}, "lanes": lanes},
        words, draw,
    )  # fmt: skip


def cute_shuffles() -> dict[str, list[list[int]]]:
    """Return the source lane of each lane in the shuffles bfly, down and up. The source of a lane
    that would read outside the warp is the lane itself.
    """
    offsets, lanes = (16, 8, 4, 2, 1), range(32)
    return {
        "butterfly": [[lane ^ k for lane in lanes] for k in offsets],
        "down": [[lane + k if lane + k < 32 else lane for lane in lanes] for k in offsets],
        "up": [[lane - k if lane >= k else lane for lane in lanes] for k in offsets],
    }


def counts(steps: Sequence[Sequence[int]]) -> Counts:
    """Return how many times each lane's sum contains each lane's number, before the first step and
    after each step.
    """
    lanes = len(steps[0])
    held = [[[int(k == lane) for k in range(lanes)] for lane in range(lanes)]]
    for step in steps:
        last = held[-1]
        held.append([[mine + got for mine, got in zip(last[lane], last[source], strict=True)]
                     for lane, source in enumerate(step)])  # fmt: skip
    return held


def _words(name: str, held: Counts) -> list[str]:
    """Describe each step, such as `butterfly, after 2 shuffles: …`."""
    lines: list[Any] = []
    for step, of_lanes in enumerate(held):
        different = sorted({sum(map(bool, of_lane)) for of_lane in of_lanes})
        twice = [lane for lane, of_lane in enumerate(of_lanes) if max(of_lane) > 1]
        many = " to ".join(map(str, dict.fromkeys((different[0], different[-1]))))
        doubled = f"{len(twice)} lanes hold some number twice or more" if twice else "none twice"
        lines.append(f"{name}, after {step} shuffles: numbers of {many} lanes per lane; {doubled}")
    return lines
