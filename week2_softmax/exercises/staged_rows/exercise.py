"""Puzzle week2/staged_rows: a softmax whose rows are kept in shared memory."""

import torch

from forgekit.lessons.gates import Evidence, Misconception, found, looks_like, read_at_most
from forgekit.lessons.puzzle import Draw, puzzle

from ..rows import hard_rows
from ..staged import asynchronous, not_rescaled, overlapping


def _inputs(draw: Draw, m: int, n: int) -> tuple[torch.Tensor]:
    """Return hard rows; in every third row from the third on, one element is far above the others,
    in turn in the last, the first, the second, the last and the first vector, never as the first of
    the four."""
    x = hard_rows(draw, m, n, spread=False)
    for k, row in enumerate(x[2::3]):
        row[(n - 2, 1, 130, n - 1, 3)[k % 5] % n] += 400
    return (x,)


def _without_tail(x: torch.Tensor) -> torch.Tensor:
    """Return the result with statistics of only the full tiles of 128."""
    full = x.double()[:, : x.shape[1] // 128 * 128]
    if full.shape[1] in (0, x.shape[1]):
        raise ValueError("not this case")
    return (x.double() - full.logsumexp(1, keepdim=True)).exp()


def _without_rescaling(x: torch.Tensor) -> torch.Tensor:
    m, s = not_rescaled(x, 32, 4)
    return (x.double() - m).exp() / s


def _of_lanes(x: torch.Tensor) -> torch.Tensor:
    """Return each element relative to the maximum of its lane, divided by the right sum."""
    n = x.shape[1]
    wide = torch.nn.functional.pad(x.double(), (0, -n % 128), value=-torch.inf)
    parts = wide.reshape(len(x), -1, 32, 4)
    y = (parts - parts.amax((1, 3), keepdim=True)).exp().reshape(len(x), -1)[:, :n]
    m = x.double().amax(1, keepdim=True)
    return y / (x.double() - m).exp().sum(1, keepdim=True)


def _early(e: Evidence) -> bool:
    """Return True if reads of copies in flight are the finding, and neither races between threads
    nor copies to a place of another copy."""
    copied = "copies to shared memory" in e.text  # not read
    return "async-copy" in e.kinds and "shared-race" not in e.kinds and not copied


EXERCISE = puzzle(
    title="keep rows in shared memory",
    task="""
Compute the softmax of each row of x, in float32, for rows of up to 1,024 elements in whole vectors of four. One
warp copies its row to shared memory with `cp.async`, in groups of 32 vectors, and starts all groups before the
first wait. It finds the maximum, with or without the sum, group by group, as the groups arrive, and then reads the
row from shared memory again to compute the result. Read each element only once from global memory. Signature: `staged_rows(x, y)`.
""",
    hints=(
        "A row of 1,024 elements has eight groups. A lane reads only data that it has copied itself. "
        "Which copies must it wait for, and which may still be in flight?",
        "The eight waits leave 7, 6, …, 0 groups in flight. The compiler needs these numbers, so "
        "the loop is a `cutlass.range_constexpr`.",
        "Commit outside the `if` around the copy. Give the shared tensor the layout `(4, 32, 8)`, "
        "and slice it by the lane in the line that makes it: each lane gets its own (4, 8).",
    ),
    analysis="""
A lane holds four elements of the row in registers at a time instead of 32, and all of its 128 bytes are in
flight together. A row needs 4 kB, so the SM's 228 kB have room for 32 blocks, the most that an SM can hold. No
barrier is needed, because no lane reads data that another lane has copied.
""",
    asked={
        "work": "one block per row",
        "block": 32,
        "load_bytes": 16,
        "shared_reads": ("each element read at least twice from shared memory", lambda m, n: 8 * m * n),
    },
    entry="staged_rows",
    inputs=_inputs,
    result=lambda x: x.softmax(1),
    sizes=[(1, 1024), (2, 128), (2, 1000), (3, 4), (5, 132), (7, 516), (6, 252)],
    count=[(3, 256), (40, 1000)],
    legal=lambda m, n: (m, min(1024, max(4, n // 4 * 4))),
    promise={0: {1: 4}, 1: {1: 4}},
    misconceptions=[
        Misconception("a read of shared memory comes before the wait that covers its copy. When a lane reads its vector of "
             "group k, only newer groups may be in flight: 7 - k of eight.",
             lambda e: _early(e) and e.case.args[0].shape[1] == 1024),
        Misconception("a read of shared memory comes before the wait that covers its copy. "
              "In this row lanes have fewer than eight vectors. Do they commit as many groups as the number in the "
              "wait assumes, and does a wait come before every read?", _early),
        Misconception("the data read here was never copied: in a row of 1,024 elements, each lane has to copy eight "
             "vectors of 16 bytes.",
             lambda e: "uninitialised-shared" in e.kinds and e.case.args[0].shape[1] == 1024),
        found("uninitialised-shared", "the data read here was never copied: "
              "a lane whose predicate was false has nothing in shared memory."),
        looks_like(lambda x, y: _without_tail(x), "the maximum and sum cover only the "
                   "full tiles of 128 elements; the rest of the row is missing."),
        looks_like(lambda x, y: _without_rescaling(x), "a lane's sum is relative to an older, "
                   "smaller maximum and is not rescaled when a larger one appears."),
        looks_like(lambda x, y: _of_lanes(x), "in the second pass, each lane subtracts its own maximum "
                   "instead of the row's."),
        looks_like(lambda x, y: (x.double() - x.double().amax(1, keepdim=True)).exp(), "nothing is "
                   "divided by the sum."),
    ],
    more=lambda make: (
        read_at_most(make, (5, 1000), {0: 1}),
        asynchronous(make, (5, 1000)),
        overlapping(make, (5, 1000), torch.float32, "nothing is computed while copies are in "
                    "flight: the first pass could begin when the first of eight groups has arrived.", started=8),
    ),
)  # fmt: skip
