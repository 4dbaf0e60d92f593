"""Puzzle week2/two_stages: a row streams through two buffers, with one in use and one in flight."""

import numpy as np
import torch

from forgekit.lessons.gates import GateError, Group, found, looks_like
from forgekit.lessons.puzzle import puzzle
from forgekit.vgpu import Listener

from ..rows import hard_rows
from ..staged import asynchronous, not_rescaled


def _without_rescaling(x: torch.Tensor) -> torch.Tensor:
    m, s = not_rescaled(x, 32, 4)
    return (m + s.log())[:, 0]


def _left_over(x: torch.Tensor) -> torch.Tensor:
    """Return the result if lanes without a vector in the last tile use the old content of its
    buffer."""
    full = x.shape[1] // 128 * 128
    if full < 256 or full == x.shape[1]:
        raise ValueError("not this case")
    found_there = x[:, x.shape[1] - 256 : full - 128]
    return torch.cat((x, found_there), 1).double().logsumexp(1)


def _rows(draw, m: int, n: int) -> torch.Tensor:
    """Return hard rows; in one of their kinds, a vector's elements lie hundreds apart."""
    x = hard_rows(draw, m, n)
    x[(torch.arange(m) + n) % 5 == 0] *= 100
    return x


class _Late(Listener):
    """Counts each thread's copies, its reads of shared memory, and those at which no copy of the
    block is in flight; all: these three for each batch."""

    def __init__(self):
        self.all = []

    def on_batch(self, m):
        self._flying = np.zeros(m.shape, np.int64)
        self.all.append(np.zeros((3, *m.shape), np.int64))

    def on_access(self, m, access):
        who, (copies, reads, idle) = m.expand(access.mask), self.all[-1]
        if access.kind == "async store":
            self._flying += who
            copies += who
        elif access.kind == "load" and access.space == "shared":
            reads += who
            idle += who & ~self._flying.any(1, keepdims=True)

    def on_async_done(self, m, access):
        self._flying -= m.expand(access.mask)


def _never_late(make):
    """When a thread reads a tile other than its last, a copy is in flight."""

    def run(submission):
        for size in ((5, 1024), (5, 1000)):
            case, late = submission.case(make, size, "float32"), _Late()
            submission.counted(case, late)
            for copies, reads, idle in late.all:
                if (wrong := idle * copies > reads).any():
                    first = [of[wrong][0] for of in (copies, reads, idle)]
                    raise GateError(
                        f"With {case.label}, a thread copies {first[0]} vectors and reads shared "
                        f"memory {first[1]} times; at {first[2]} of the reads, no copy is in "
                        "flight. That may only happen in its last tile.",
                        "the next tile's copy has to be in flight when a tile is read: start it "
                        "before, and do not wait for its group yet.",
                        "fk.timeline(*{failed})",
                    )
        return "a copy is in flight at each read but those of the last tile"

    return Group("In flight while it computes", run)


EXERCISE = puzzle(
    title="stream a row through two buffers",
    task="""
`y[m] = log(exp(x[m, 0]) + … + exp(x[m, N-1]))`, in float32, for rows of *any* number of whole vectors of four. Shared memory holds two tiles of 32 vectors: while
the lanes absorb one tile into (m, s), the next tile is being copied to the other buffer. Start the copy of a tile before reading the previous tile. Load all elements with
`cp.async`. Signature:
`two_stages(x, y)`.
""",
    hints=(
        "Start tile 0 before the loop. In round k: start tile k + 1, wait for tile k, absorb tile "
        "k.",
        "`cp_async_wait_group(1)` leaves the newest group in flight. The last round has no tile to start, but it must still commit a group, so that its wait covers tile k as well.",
        "Tile k is in buffer `k % 2`, both in the line that copies it and in the line that reads it. Each lane reads only data that it has copied, so no barrier is needed.",
    ),
    analysis="""
Two tiles of 512 bytes are enough for any length. Every streaming kernel, from a matrix product to attention, has this loop, with more stages and larger tiles. A
lane that starts tile k + 2 must have finished with tile k, whose buffer it reuses. Here program order guarantees
that, because each lane reads only its own vectors. Where lanes read each other's vectors, every round ends with
a barrier.
""",
    asked={"work": "one block per row", "block": 32, "shared_bytes": 1024, "load_bytes": 16},
    entry="two_stages",
    inputs=lambda draw, m, n: (_rows(draw, m, n),),
    result=lambda x: x.logsumexp(1),
    sizes=[(1, 128), (2, 256), (2, 1000), (7, 516), (3, 4), (5, 132), (3, 2052), (6, 252)],
    count=[(3, 512), (20, 4000)],
    legal=lambda m, n: (m, max(4, n // 4 * 4)),
    promise={0: {1: 4}},
    waste={"instructions": 5},  # a lane may rescale for each element
    misconceptions=[
        found("async-copy", "a buffer is read before its copy has arrived, or a new copy overwrites it too early. In round k, tile k is read and tile k + 1 is in flight, in two "
              "different buffers; the number in the wait counts groups, so every round has to "
              "commit one."),
        found("uninitialised-shared", "no data was ever copied to the address read here. "
              "Which elements does a lane copy in round k, and which does it read?"),
        looks_like(lambda x, y: _left_over(x), "lanes without a vector in the last tile absorb the data that tile k - 2 has left in the buffer."),
        looks_like(lambda x, y: x.double()[:, :128].logsumexp(1), "the result covers only the first tile of 128 "
                   "elements."),
        looks_like(lambda x, y: x.double()[:, : x.shape[1] // 128 * 128].logsumexp(1), "the last "
                   "tile, which is not full, is left out."),
        looks_like(lambda x, y: _without_rescaling(x), "a lane's sum is relative to an older, "
                   "smaller maximum and is not rescaled when a larger one appears."),
        looks_like(lambda x, y: (x.double() - x.double().amax(1, keepdim=True)).logsumexp(1), "the maximum has to be "
                   "added back after the logarithm."),
    ],
    more=lambda make: (
        asynchronous(make, (5, 1024)),
        # Lanes with different numbers of rounds may copy in separate requests.
        asynchronous(make, (5, 1000), 1.25, name="Asynchronous, with a tail"),
        _never_late(make),
    ),
)  # fmt: skip
