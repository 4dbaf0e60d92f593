"""Exercise week0/rotate: the second barrier, between a read and the write of the next round."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import torch

import forgekit as fk
from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import (
    Case,
    GateError,
    Group,
    Submission,
    clean,
    found,
    looks_like,
    values,
)
from forgekit.tensors import shifted
from forgekit.vgpu import Listener

if TYPE_CHECKING:
    from forgekit.vgpu import Access, Moment

__all__ = ["EXERCISE"]

_ROWS = 4  # of the runs that are counted: one block each
_BARRIER = re.compile(r"^\s*(?:@!?%\w+\s+)?(?:bar|barrier)(?:\.cta)?\.(?:sync|red|arrive)", re.M)
_ALLOWED = 4  # barriers: two a round; the last of them keeps nothing apart

_DIVERGENT = "not all threads of the block reach this barrier, and it orders only those that do."


def _case(rows: int, dtype: torch.dtype) -> Case:
    first = shifted(0) % 64
    x = fk.arange(first, first + rows * 64, dtype=dtype, device="virtual").reshape(rows, 64)
    y = fk.empty(rows, 64, dtype=dtype, device="virtual")
    return Case((x, y), {1: x.roll(-2, dims=1)}, f"{rows} × 64")


def _not_everywhere(submission: Submission) -> str:
    written = len(_BARRIER.findall(submission.compiled(_case(_ROWS, torch.float32)).ptx))
    if written > _ALLOWED:
        raise GateError(
            f"A thread waits at {written} barriers. {_ALLOWED - 1} are enough; {_ALLOWED} are "
            "allowed, for a loop has the last one for free.",
            "a barrier was put wherever one fits. Each stops all threads of the block.",
            "Say of each barrier which write and which read it keeps apart; take out those that "
            "keep nothing apart.",
        )
    return f"{written} barriers in the code"


class _Exchange(Listener):
    """Counts reads of words of shared memory that another thread of the block has written."""

    def __init__(self) -> None:
        self.reads = 0
        self.threads: set[int] = set()
        self._writer: dict[tuple[int, int], int] = {}

    def on_batch(self, m: Moment) -> None:
        self._writer.clear()

    def on_access(self, m: Moment, access: Access) -> None:
        if access.space != "shared":
            return
        address = np.broadcast_to(access.address, m.shape)
        mask = True if access.mask is None else access.mask
        for block, thread in np.argwhere(np.broadcast_to(mask, m.shape)).tolist():
            first = int(address[block, thread])
            self.threads.add(thread)
            for byte in range(first, first + access.width, 4):
                if access.kind == "store":
                    self._writer[block, byte] = thread
                else:
                    self.reads += self._writer.get((block, byte), thread) != thread

    @property
    def likely(self) -> str:
        if not self.threads:
            return "the rows are rotated without shared memory, on the way in or out."
        if len(self.threads) == 1:
            return "one thread of the block does the work of all."
        if not self.reads:
            return "each thread reads back what it has written itself."
        return "one round is gone, or does nothing, and the other does the work of both."


def _through_shared_memory(submission: Submission) -> str:
    case = _case(_ROWS, torch.float32)
    seen, needed = _Exchange(), 2 * 64 * _ROWS
    submission.counted(case, seen)
    if seen.reads < needed:
        raise GateError(
            f"Threads read from shared memory {seen.reads} times what another thread has written; "
            f"with {case.label} and two rounds it is {needed} times.",
            seen.likely,
            "Keep both rounds, each a write of sRow[tidx] and a read of the neighbour's: "
            "only what lies between them may change.",
        )
    return f"{seen.reads} elements went from thread to thread"


EXERCISE = Exercise(
    title="fix a race",
    task="""
Each block rotates a row of 64 elements by one place, twice, through one row of shared memory. In
the usual order the values are right, and the sanitizer objects. Fix it. (`range_constexpr` is a
loop that the compiler writes out.)
""",
    hints=(
        "Read the sanitizer's finding from the top: which line reads, which line writes?",
        "In the second round a thread overwrites an element. Who may not have read it yet?",
        "Between the read of one round and the write of the next there has to be a "
        "`cute.arch.sync_threads()`, as between write and read.",
    ),
    analysis="""
A barrier protects in both directions: what is stored must be there before it is read, and must have
been read before it is overwritten. A loop that goes through shared memory usually needs two. The
very last of the four keeps nothing apart, since no round follows: three are enough, and the loop
has the fourth for free. (Two rows of shared memory, used in turn, would be another way to let the
slow ones finish reading.)
""",
    entry="rotate",
    groups=(
        values(
            _case,
            sizes=[(1,), (4,), (33,)],
            misconceptions=[
                looks_like(lambda x, y: x.roll(-1, dims=1), "it rotates once only."),
                looks_like(lambda x, y: x.roll(-3, dims=1), "it rotates three times."),
                looks_like(lambda x, y: x.roll(2, dims=1), "it rotates the other way."),
                looks_like(lambda x, y: x, "the rows come out as they went in."),
                found("divergent-barrier", _DIVERGENT),
                found("deadlock", _DIVERGENT),
            ],
        ),
        clean(
            _case,
            sizes=[(_ROWS,)],
            misconceptions=[
                found("divergent-barrier", _DIVERGENT),
                found("uninitialised-shared", "a thread reads before its neighbour has written: "
                      "the barrier between write and read is gone."),
                found("shared-race", "a fast warp begins the next round, and overwrites what a "
                      "slow one has not read yet."),
            ],
            look_at="The finding names two lines. Which of them comes first, and what makes the "
            "threads of the other wait for it?",
        ),
        Group("No barrier too many", _not_everywhere),
        Group("Both rounds through shared memory", _through_shared_memory),
    ),
)  # fmt: skip
