"""Puzzle week2/fix_the_wait: groups that are counted wrongly, and lanes that read too early."""

import torch

from forgekit.lessons.gates import Evidence, Misconception, found
from forgekit.lessons.puzzle import puzzle

from ..rows import hard_rows
from ..staged import asynchronous, overlapping


def _early(e: Evidence) -> bool:
    """Return True if copies in flight are read, not if other copies have the same place."""
    return "async-copy" in e.kinds and "copies to shared memory" not in e.text


EXERCISE = puzzle(
    title="fix the waiting",
    task="""
The kernel copies each row of up to 512 float32 to shared memory in four groups. Then it subtracts
the row's maximum and stores the row backwards: `y[m, n] = x[m, N - 1 - n] - max x[m, :]`. On a GPU, the code below may return the correct values, if the data happen to arrive in time. But it contains
three mistakes. Fix them, and keep copies in flight during the search for the maximum.
""",
    hints=(
        "A group consists of the copies that *one thread* has started since its last commit. How many groups does a lane without a vector commit?",
        "When a lane reads the vector of group k, groups k + 1 to 3 may still be in flight. How many groups is that?",
        "In the line `mY[row, k] = …` a lane reads data that other lanes have copied, but each lane has waited only for its own copies. A shuffle does not order memory accesses; `cute.arch.sync_warp()` does.",
    ),
    analysis="""
With the commit inside the `if`, a lane without a vector commits nothing. But the number in `cp_async_wait_group` is the same for all lanes, so all lanes have to commit the same number of
groups. An empty group is legal and already complete. (Rows of whole tiles hide this mistake.) The last wait has
to leave 0 groups in flight. After it, a thread can read all of its own copies and, after
`sync_warp`, those of the other lanes as well.
""",
    asked={"barriers": 1},
    entry="fix_the_wait",
    inputs=lambda draw, m, n: (hard_rows(draw, m, n),),
    result=lambda x: (x - x.amax(1, keepdim=True)).flip(1),
    sizes=[(1, 512), (2, 128), (3, 4), (5, 132), (6, 384), (7, 260), (2, 500)],
    count=[(3, 256), (60, 500)],
    legal=lambda m, n: (m, min(512, max(4, n // 4 * 4))),
    promise={0: {1: 4}},
    misconceptions=[
        Misconception("a vector is read before the copy to its place has arrived, in a row that gives every lane "
             "four vectors. When the vector of group k is read, at most the 3 - k newer groups may be in "
             "flight.",
             lambda e: _early(e) and e.case.args[0].shape[1] == 512),
        Misconception("a vector is read before the copy to its place has arrived. In this row, some lanes "
              "have fewer than four vectors. Do they commit as many groups as the number in the "
              "wait assumes, and does a wait come before every read?", _early),
        found("shared-race", "the last loop reads data that another lane has copied. That lane has "
              "waited for its copies, but after that, all lanes have to synchronise. A shuffle does not order memory accesses."),
        found("uninitialised-shared", "the data read here was never copied."),
    ],
    more=lambda make: (
        asynchronous(make, (5, 500)),
        overlapping(make, (5, 500), torch.float32, "one wait for all groups "
                    "gives correct values, but nothing is computed while copies are in flight."),
    ),
    praise="Every lane now commits the same number of groups.",
)  # fmt: skip
