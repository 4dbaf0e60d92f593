"""Puzzle week2/fix_the_wait: groups that are counted wrongly, and lanes that read too early."""

import torch

from forgekit.lessons.gates import Misconception, found
from forgekit.lessons.puzzle import puzzle

from ..rows import hard_rows
from ..staged import asynchronous, overlapping

EXERCISE = puzzle(
    title="fix the waiting",
    task="""
Each row of up to 512 float32 comes to shared memory in four groups; then its maximum is subtracted,
and the row is stored backwards: `y[m, n] = x[m, N - 1 - n] - max x[m, :]`. On a GPU the lines below
are right nearly always, since the data come from a cache that is near. Three things are wrong with
them. Fix them, and let copies be in flight while the maximum is searched for, as they are now.
""",
    hints=(
        "A group is all that *one thread* has started since its last commit. How many has a lane "
        "that has no vector?",
        "When the vector of group k is read, groups k + 1 to 3 may be in flight: how many are they?",
        "In the line `mY[row, k] = …` a lane reads what other lanes have copied, after each has "
        "waited for its own. A shuffle orders no memory; `cute.arch.sync_warp()` does.",
    ),
    analysis="""
A commit inside of the `if` counts nothing for lanes without a vector, and as the numbers in
`cp_async_wait_group` are the same for all lanes, so has to be the number of commits: an empty group
is legal and complete at once. (With rows of whole tiles it makes no difference, which is what hides
it.) And the last wait has to be 0: after it a thread has all of its own copies, and after
`sync_warp` also those of others.
""",
    asked={"barriers": 1},
    entry="fix_the_wait",
    inputs=lambda draw, m, n: (hard_rows(draw, m, n),),
    result=lambda x: (x - x.amax(1, keepdim=True)).flip(1),
    sizes=[(1, 512), (2, 128), (3, 4), (5, 132), (2, 500), (7, 260), (6, 384)],
    count=[(3, 256), (60, 500)],
    legal=lambda m, n: (m, min(512, max(4, n // 4 * 4))),
    promise={0: {1: 4}},
    misconceptions=[
        Misconception("a vector is read before its copy has come, and every lane has committed four groups "
             "here: it is the waiting. When the vector of group k is read, at most the 3 - k newer "
             "groups may be in flight.",
             lambda e: "async-copy" in e.kinds and e.case.args[0].shape[1] == 512),
        found("async-copy", "rows of 512, where all four vectors of a lane are there, are right. "
              "In this row some lanes have fewer: what they have committed is fewer groups than the "
              "number in the wait counts on."),
        found("shared-race", "the last loop reads what another lane has copied. That lane has "
              "waited for it; now all lanes have to meet. A shuffle orders no memory."),
        found("uninitialised-shared", "what is read was never copied."),
    ],
    more=lambda make: (
        asynchronous(make, (5, 500)),
        overlapping(make, (5, 500), torch.float32, "waiting for all groups at once is right, and "
                    "nothing is computed while copies are in flight."),
    ),
    praise="A count of groups, each thread's own.",
)  # fmt: skip
