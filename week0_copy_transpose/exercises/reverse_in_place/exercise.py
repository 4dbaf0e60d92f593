"""Puzzle week0/reverse_in_place: who may write, where input and output are one array."""

import torch

from forgekit.lessons.gates import Evidence, Misconception, found, looks_like
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


EXERCISE = puzzle(
    title="reverse an array in place",
    task="""
Reverse `x`, of any length, without a second array: what is read is overwritten. Each pair is
exchanged by *one* thread. The host function is called as `reverse_in_place(x)`.
""",
    hints=(
        "How many pairs are there among 7 elements? Among 8, 1?",
        "A thread that exchanges two elements needs both in registers before it stores either.",
        "Thread i has the elements i and n - 1 - i. The predicate counts *pairs*; the number of "
        "blocks follows from the pairs, too, and must not become 0 for a single element.",
    ),
    analysis="""
In place, two threads that touch one element race, whatever they do with it; so ownership comes
first: one thread, one pair. Lanes that go *down* from the end are coalesced just as well: a request
wants the same four sectors, in whichever order the lanes name them.
""",
    entry="reverse_in_place",
    given=PICTURE,
    inputs=lambda draw, n: (draw.places(n),),
    result=lambda x: x.flip(0),
    exact=True,
    in_place=True,
    sizes=[(7,), (8,), (1,), (2,), (127,), (1000,), (2500,), (129,), (513,)],
    count=[(1000,), (100_001,)],
    dtypes=("float32", "float16"),
    misconceptions=[
        looks_like(
            lambda x: x,
            "x is as it was: either nothing is exchanged, or every pair is exchanged twice.",
        ),
        looks_like(
            _back_unchanged,
            "the front half is right, and the back half is as it was: what belongs there is never "
            "stored, or it was overwritten before it was read.",
        ),
        Misconception("thread 0 reaches element n, and the last one is number n - 1.", _last_is_n),
        found(
            "out-of-bounds",
            "the reversal is of the whole array, not of each block by itself.",
            text="mX[127]",
        ),
        found(
            "global-race",
            "an element has two threads: one that reads it and one that writes it, in whatever "
            "order. Let one thread do both, for both elements of a pair.",
        ),
    ],
)
