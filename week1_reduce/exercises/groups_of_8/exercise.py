"""Puzzle week1/groups_of_8: sums of eight neighbours, by shuffles."""

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle


def _groups(x):
    import torch

    return torch.nn.functional.pad(x, (0, -len(x) % 8)).reshape(-1, 8)


def _of_a_warp(x, y):
    """Sums of 32 elements in place of those of eight."""
    import torch

    fours = torch.nn.functional.pad(_groups(x).sum(1), (0, -len(y) % 4)).reshape(-1, 4)
    return fours.sum(1).repeat_interleave(4)[: len(y)]


EXERCISE = puzzle(
    title="sums of eight",
    task="""
`y[g] = x[8g] + … + x[8g + 7]` for an array of any length; the last sum may have fewer elements.
float32 and float16, added up in float32. `groups_of_8(x, y)`; `y` has ⌈n / 8⌉ elements.
""",
    hints=(
        "A warp holds four groups. Which of the five steps of a warp's sum stay inside of eight "
        "lanes?",
        "Offsets 4, 2 and 1. Nobody may stay away from a shuffle: what does a lane without an "
        "element bring along?",
        "The predicate stands around the load alone, with a value before it that changes no sum; "
        "the shuffles come after it, for all lanes. Every eighth thread stores, if its group exists.",
    ),
    analysis="""
A butterfly with offsets below 8 never leaves a group of eight, so a warp adds up four groups at the
price of one. `cute.arch.warp_reduction(value, operator.add, threads_in_group=8)` is these three
lines. Short rows are served this way: a warp for four rows of 8.
""",
    asked={"work": "one thread per element", "shuffles": 3, "shared_bytes": 0},
    entry="groups_of_8",
    inputs=lambda draw, n: (draw.fractions(n),),
    result=lambda x: _groups(x).sum(1),
    sizes=[(16,), (1,), (8,), (1000,), (33,), (1025,), (2500,), (127,)],
    count=[(100,), (20_000,)],
    dtypes=("float32", "float16"),
    misconceptions=[
        looks_like(_of_a_warp, "other groups are in each sum: a shuffle by 8 or more leaves the "
                   "group."),
        looks_like(lambda x, y: x[::8], "each sum is the first element of its group alone."),
        looks_like(lambda x, y: _groups(x)[:, :4].sum(1), "only the first four of each group are in "
                   "its sum."),
        looks_like(lambda x, y: _groups(x)[:, ::2].sum(1), "every other element is missing: lanes "
                   "next to each other are never added."),
        looks_like(lambda x, y: _groups(x).sum(1) + _groups(x).sum(1).roll(-1), "other groups are in "
                   "each sum: a shuffle by 8 or more leaves the group."),
    ],
)  # fmt: skip
