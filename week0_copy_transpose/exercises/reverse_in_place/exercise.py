"""Puzzle week0/reverse_in_place: one owner for each element of an array."""

import torch

from forgekit.lessons.gates import (
    Evidence,
    GateError,
    Group,
    Misconception,
    Submission,
    found,
    looks_like,
)
from forgekit.lessons.gates.submission import MakeCase
from forgekit.lessons.puzzle import puzzle

from ..practice import numbers, picture

PICTURE = picture(
    "cells of one colour change places",
    {"x, before": numbers(1, 7), "x, after": [list("6543210")]},
    lambda text: min(int(text), 6 - int(text)),
)


def _back_unchanged(x: torch.Tensor) -> torch.Tensor:
    half = len(x) // 2
    return torch.cat((x.flip(0)[:half], x[half:]))


def _last_is_n(e: Evidence) -> bool:
    o = e.error.overrun if e.error is not None else None
    return o is not None and o.threads.tolist() == [0] and o.numbers.tolist() == [o.elements]


def _last_is_127(e: Evidence) -> bool:
    o = e.error.overrun if e.error is not None else None
    return o is not None and o.threads[0] == 0 and o.numbers[0] == 127


def _owners(make: MakeCase) -> Group:
    """Return a group that checks that one thread loads both elements of each pair."""

    def run(submission: Submission) -> str:
        from forgekit.tracing.footprint import footprint

        case = submission.case(make, (1000,), "float32")
        kernel = submission.compiled(case)
        found = footprint(kernel, *submission.arguments(case).values(), kind="load")
        touched = found.touched[kernel.parameters[0].name]
        for k in range(500):
            who = {(int(touched["block"][i]), int(touched["thread"][i])) for i in (k, 999 - k)}
            if len(who) > 1:
                raise GateError(
                    f"With {case.label}, two threads load the pair of elements {k} and {999 - k}.",
                    "the task asks for one thread that swaps both.",
                    "fk.footprint(*{failed}, by='thread', kind='load')",
                )
        return "one thread per pair"

    return Group("One owner per pair", run)


EXERCISE = puzzle(
    title="reverse an array in place",
    task="""
Reverse `x`, which has any length, without a second array. Since each store overwrites a part of the
input, let *one* thread swap both elements of a pair. Launch at least
one thread per 16 pairs. Signature: `reverse_in_place(x)`.
""",
    hints=(
        "How many pairs do 7 elements form? How many do 8 elements form, and how many does 1 "
        "element form?",
        "A thread that swaps two elements must hold both in registers before it stores either of "
        "them.",
        "Thread i owns elements i and n - 1 - i. The predicate counts *pairs*, and the grid "
        "covers pairs as well. Even a single element needs one block.",
    ),
    analysis="""
When input and output are the same array, two threads that access the same element race as soon as
one of them writes it. So decide first which thread owns each element; here, one thread owns each
pair. The accesses that run *down* from the end are coalesced as well, because a request fetches the
same four sectors in any order of the lanes.
""",
    asked={"barriers": 0, "shared_bytes": 0},
    entry="reverse_in_place",
    given=PICTURE,
    inputs=lambda draw, n: (draw.places(n) if n < 9 else draw(n),),
    result=lambda x: x.flip(0),
    exact=True,
    in_place=True,
    sizes=[(7,), (8,), (1,), (2,), (127,), (1000,), (2500,), (129,), (513,)],
    count=[(1000,), (100_001,)],
    dtypes=("float32", "float16"),
    waste={"stored": 1.001},  # the middle element of an odd length may be exchanged with itself
    misconceptions=[
        looks_like(
            lambda x: x,
            "x is unchanged: the kernel swaps nothing, or swaps every pair twice.",
        ),
        looks_like(
            _back_unchanged,
            "the front half is right, but the back half holds its old values. Read both elements "
            "of a pair before you store either of them.",
        ),
        Misconception("thread 0 accesses element n, but the last element is n - 1.", _last_is_n),
        Misconception(
            "thread 0 accesses element 127, as if the array, or its part for each block, had 128 "
            "elements.",
            _last_is_127,
        ),
        found(
            "global-race",
            "two threads access the same element, and at least one of them writes it, in no fixed "
            "order. Let one thread swap both elements of a pair.",
        ),
    ],
    more=lambda make: (_owners(make),),
)
