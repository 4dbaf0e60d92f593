"""Puzzle week1/groups_of_8: sums of eight neighbours, by shuffles."""

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle


def _groups(x):
    import torch

    return torch.nn.functional.pad(x, (0, -len(x) % 8)).reshape(-1, 8)


def _of_groups(x, y, count):
    """Return sums of `count` groups instead of one."""
    import torch

    of = torch.nn.functional.pad(_groups(x).sum(1), (0, -len(y) % count)).reshape(-1, count)
    return of.sum(1).repeat_interleave(count)[: len(y)]


EXERCISE = puzzle(
    title="add up groups of eight",
    task="""
Compute `y[g] = x[8g] + … + x[8g + 7]` for an array of any length n. The last group may have
fewer than eight elements, and `y` has ⌈n / 8⌉ elements. The types are float32 and float16; add
in float32.

Signature: `groups_of_8(x, y)`.
""",
    hints=(
        "A warp holds four groups. Which of the five steps of a warp's sum stay within a group "
        "of eight lanes?",
        "Use offsets 4, 2 and 1. Every lane has to execute the shuffles, so which value should a "
        "lane without an element contribute?",
        "Start with a value that changes no sum, and put the predicate around the load only. "
        "After the load, all lanes execute the shuffles. Every eighth thread stores, if its "
        "group exists.",
    ),
    analysis="""
A butterfly with offsets below 8 never leaves a group of eight, so a warp adds four groups at
the cost of one. `cute.arch.warp_reduction(value, operator.add, threads_in_group=8)` is the same
loop. It suits short rows, because one warp adds four 8-element rows.
""",
    asked={"work": "one thread per element", "shuffles": 3, "shared_bytes": 0},
    entry="groups_of_8",
    inputs=lambda draw, n: (draw.fractions(n),),
    result=lambda x: _groups(x).sum(1),
    sizes=[(16,), (1,), (8,), (1000,), (33,), (1025,), (2500,), (127,)],
    count=[(100,), (20_480,)],
    dtypes=("float32", "float16"),
    misconceptions=[
        *(looks_like(lambda x, y, count=count: _of_groups(x, y, count), "each sum contains elements "
                     "of other groups: a shuffle by 8 or more leaves the group.")
          for count in (2, 4)),
        looks_like(lambda x, y: x[::8], "each sum is only the first element of its group."),
        looks_like(lambda x, y: _groups(x)[:, :4].sum(1), "each sum contains only the first four "
                   "elements of its group."),
        looks_like(lambda x, y: _groups(x)[:, ::2].sum(1), "every other element is missing: no step "
                   "adds neighbouring lanes."),
    ],
)  # fmt: skip
