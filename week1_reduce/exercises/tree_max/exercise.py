"""Puzzle week1/tree_max: the largest element of each row, by a tree in shared memory."""

import numpy as np
import torch

from forgekit.lessons.gates import (
    FINITE_START,
    Counter,
    GateError,
    Group,
    counted,
    counters,
    looks_like,
)
from forgekit.lessons.puzzle import puzzle
from forgekit.vgpu import Listener

MOST = 24  # seven rounds of three words, and some more


class _Words(Listener):
    """Finds the largest number of 4-byte words that a thread loads from shared memory."""

    most = 0

    def on_batch(self, m):
        self._loaded = np.zeros(m.shape, int)

    def on_access(self, m, access):
        for space, _, there in access.by_space(m.shape):
            if access.kind == "load" and space == "shared":
                self._loaded += access.width // 4 * (there & m.expand(access.mask))
                self.most = max(self.most, int(self._loaded.max()))


def _rounds(make):
    def run(submission):
        case, words = make(3, 200, dtype=torch.float32), _Words()
        submission.counted(case, words)
        if words.most > MOST:
            raise GateError(
                f"With {case.label}, one thread loads {words.most} words from shared memory; the "
                f"limit is {MOST}, because a tree merges 128 values in seven rounds.",
                look_at="In each round, let half as many threads each merge two values.",
            )
        return f"at most {words.most} words per thread"

    return Group("Rounds", run)


EXERCISE = puzzle(
    title="find the largest element of each row",
    task="""
`y[m]` is the largest element of row m, for any M and N ≥ 1, in float32 and float16. Merge the
threads' values in a tree, through shared memory or partly by shuffles. All elements of a row may be
negative, and elements may be infinite.

Signature: `tree_max(x, y)`.
""",
    hints=(
        "Start from `tree_sequential` and change the operator. What replaces `+`, and what "
        "replaces 0?",
        "`cutlass.max(a, b)` replaces `+`. The value that leaves every maximum unchanged is −∞: "
        "`-Float32.inf`.",
        "Begin each round with its barrier, outside of any `if`. Then each thread of the lower "
        "half stores the larger of its own word and the word `half` places further on.",
    ),
    analysis="""
A tree works for every operator that is *associative* (the result does not depend on how you
group the elements) and has an *identity*, a value that changes nothing: 0 for a sum, 1 for a
product, −∞ for a maximum. A thread without elements holds the identity.
""",
    asked={"work": "one block per row", "block": 128, "barriers": 7, "bank_conflicts": 0},
    entry="tree_max",
    inputs=lambda draw, m, n: (draw.extremes(m, n),),
    result=lambda x: x.amax(1),
    sizes=[(9, 300), (4, 5), (1, 1), (3, 31), (2, 1000), (7, 33), (1, 1025), (3, 129), (3, 300)],
    count=[(3, 200), (9, 5000)],
    dtypes=("float32", "float16"),
    misconceptions=[
        FINITE_START,
        looks_like(lambda x, y: x.amin(1), "this is the smallest element."),
        looks_like(lambda x, y: x.double().sum(1), "this is the sum."),
        looks_like(lambda x, y: x[:, ::128].amax(1), "this is the largest of elements 0, 128, "
                   "256, …, which are thread 0's if neighbouring threads read neighbouring elements."),
        looks_like(lambda x, y: x[:, :128].amax(1) if x.shape[1] > 256 else None, "the result covers "
                   "only the first 128 elements of a row, one per thread."),
    ],
    more=lambda make: (counters(make, (3, 200), [Counter(
        "shared_atomic_requests", "atomic requests on shared memory", at_most=0,
        misconceptions=[counted(lambda p: True, "atomics merge values one after another, not in a tree.")],
    )], name="In a tree"), _rounds(make)),
)  # fmt: skip
