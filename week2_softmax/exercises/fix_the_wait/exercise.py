"""Puzzle week2/fix_the_wait: groups that are counted wrongly, and lanes that read too early."""

import torch

from forgekit.lessons.gates import Misconception, found
from forgekit.lessons.puzzle import puzzle

from ..rows import hard_rows
from ..staged import asynchronous, overlapping

EXERCISE = puzzle(
    title="fix the waiting",
    task="""
The kernel copies each row of up to 512 float32 to shared memory in four groups. Then it subtracts
the row's maximum and stores the row backwards: `y[m, n] = x[m, N - 1 - n] - max x[m, :]`. On a GPU
the lines below may return the right values, because the data arrive in time. They contain three
mistakes. Fix them, and keep copies in flight during the search for the maximum.
""",
    hints=(
        "A group is all that *one thread* has started since its last commit. How many groups does "
        "a lane without a vector commit?",
        "When a lane reads the vector of group k, groups k + 1 to 3 may be in flight: how many "
        "is that?",
        "In the line `mY[row, k] = …` a lane reads what other lanes have copied, after each has "
        "waited for its own copies. A shuffle does not order memory accesses; "
        "`cute.arch.sync_warp()` does.",
    ),
    analysis="""
With the commit inside the `if`, a lane without a vector commits nothing. But the numbers in
`cp_async_wait_group` are the same for all lanes, so the number of commits has to be the same: an
empty group is legal and already complete. (Rows of whole tiles hide the mistake.) The last wait has
to be 0. After it a thread has all of its own copies, and after `sync_warp` also those of the other
lanes.
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
        Misconception("a vector is read before the copy to its place has come, in a row that gives every lane "
             "four vectors. When the vector of group k is read, at most the 3 - k newer groups may be in "
             "flight.",
             lambda e: "async-copy" in e.kinds and e.case.args[0].shape[1] == 512),
        found("async-copy", "rows of 512, in which every lane has all four vectors, are right. "
              "In this row some lanes have fewer, and they commit fewer groups than the "
              "number in the wait assumes."),
        found("shared-race", "the last loop reads what another lane has copied. That lane has "
              "waited for its copies; now all lanes have to meet. A shuffle orders no memory."),
        found("uninitialised-shared", "the data read here was never copied."),
    ],
    more=lambda make: (
        asynchronous(make, (5, 500)),
        overlapping(make, (5, 500), torch.float32, "one wait for all groups "
                    "gives right values, but nothing is computed while copies are in flight."),
    ),
    praise="Each thread counts its own groups.",
)  # fmt: skip
