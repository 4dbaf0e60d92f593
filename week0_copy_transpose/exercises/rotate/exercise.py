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
    Evidence,
    GateError,
    Group,
    Misconception,
    Submission,
    clean,
    economical,
    found,
    large_calls,
    looks_like,
    values,
)
from forgekit.lessons.gates.asked import FACTS
from forgekit.tensors import shifted
from forgekit.text import plural
from forgekit.vgpu import Listener

if TYPE_CHECKING:
    from forgekit.vgpu import Access, Moment

__all__ = ["EXERCISE"]

_ROWS = 4  # rows in the counted runs, one block per row
_ALLOWED = 4  # barriers: two per round, although the last one separates nothing

_RACE = re.compile(r"Race in shared memory.*?(reads|writes) shared.*?(read|wrote) at", re.S)
_DIVERGENT = "not all threads of the block reach this barrier, and it orders only those that do."
_STUCK = "a barrier waits for threads that never arrive at it. All 64 threads of the block, and no more, must reach each barrier."


def _case(rows: int, dtype: torch.dtype) -> Case:
    first = shifted(0) % 64
    x = fk.arange(first, first + rows * 64, dtype=dtype, device="virtual").reshape(rows, 64)
    x += 0.25  # no integers
    y = fk.empty(rows, 64, dtype=dtype, device="virtual")
    return Case((x, y), {1: x.roll(-2, dims=1)}, f"{rows} × 64")


def _first_race(e: Evidence) -> tuple[str, ...]:
    """Return what the two threads of the first race do: the later, then the earlier."""
    match = _RACE.search(e.text)
    return match.groups() if match else ()


def _not_everywhere(submission: Submission) -> str:
    profile, _ = submission.counted(_case(_ROWS, torch.float32))
    waits = FACTS["barriers"].measure(profile)
    if waits > _ALLOWED:
        raise GateError(
            f"A thread waits {waits:g} times at a barrier. {_ALLOWED - 1} waits are enough; "
            f"{_ALLOWED} are allowed, because the loop repeats both of its barriers.",
            "each barrier stops all threads of the block, even one that orders nothing.",
            "For each barrier, name the write and the read that it orders; remove those that order "
            "nothing.",
        )
    return f"a thread waits {plural(int(waits), 'time')}"


class _Exchange(Listener):
    """Counts writes of words of shared memory, and reads of words that another thread of the block
    has written."""

    def __init__(self, needed: int) -> None:
        self.needed, self.reads, self.writes = needed, 0, 0
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
                    self.writes += 1
                else:
                    self.reads += self._writer.get((block, byte), thread) != thread

    @property
    def likely(self) -> str:
        if not self.threads:
            return "no thread accesses shared memory."
        if len(self.threads) == 1:
            return "only one thread of the block accesses shared memory."
        if not self.reads:
            return "no thread reads an element that another thread has written."
        if 2 * self.reads == self.needed:
            return "half of these reads are missing, as if there were only one round."
        return ""


def _through_shared_memory(submission: Submission) -> str:
    case = _case(_ROWS, torch.float32)
    seen = _Exchange(2 * 64 * _ROWS)
    submission.counted(case, seen)
    if seen.reads != seen.needed:
        raise GateError(
            f"Threads read a word of shared memory that another thread wrote {seen.reads} times; "
            f"with {case.label}, two rounds make {seen.needed} such reads.",
            seen.likely if seen.reads < seen.needed else "",
            "Keep both rounds: each writes sRow[tidx] and reads the neighbour's element. "
            "Change only the barriers.",
        )
    if seen.writes < seen.needed:
        raise GateError(
            f"Threads write {seen.writes} words of shared memory; with {case.label}, two rounds "
            f"make {seen.needed} such writes.",
            "the second round has to write what the first has read.",
            "Keep both rounds: each writes sRow[tidx] and reads the neighbour's element. "
            "Change only the barriers.",
        )
    return f"{seen.reads} elements passed from thread to thread"


EXERCISE = Exercise(
    title="fix a race",
    task="""
Each block rotates a row of 64 elements by one place, twice, through shared memory. In the usual
order the values are correct, but the kernel has a race. Run
`fk.sanitize(fk.compile(rotate, x, y, device="virtual"), x, y)`, read its finding, and then fix the
race, with at most two barriers per round. (The compiler unrolls a `range_constexpr` loop.)
""",
    hints=(
        "Read the sanitizer's finding from the top. Which line reads, and which line writes?",
        "In the second round, a thread overwrites an element. Which thread may not have read that "
        "element yet?",
        "A `cute.arch.sync_threads()` must separate the read of one round from the write of the "
        "next, just as the existing one separates the write from the read.",
    ),
    analysis="""
A barrier protects in both directions: a thread must store a value before another thread reads it,
and must read a value before another thread overwrites it. So a loop that exchanges data through
shared memory usually needs two barriers per round. Here the last of the four orders nothing,
because no round follows it. (If the rounds alternated between two rows of shared memory, slow
threads would also have time to finish reading.)
""",
    entry="rotate",
    groups=(
        values(
            _case,
            sizes=[(1,), (4,), (33,), (1030,)],
            misconceptions=[
                looks_like(lambda x, y: x.roll(-1, dims=1), "the rows are rotated by one place, as after one round."),
                looks_like(lambda x, y: x.roll(-3, dims=1), "the rows are rotated by three places."),
                looks_like(lambda x, y: x.roll(2, dims=1), "the rows are rotated by two places in the other direction."),
                looks_like(lambda x, y: x, "the rows are unchanged."),
                found("divergent-barrier", _DIVERGENT),
                found("deadlock", _STUCK),
            ],
        ),
        clean(
            _case,
            sizes=[(_ROWS,)],
            misconceptions=[
                found("divergent-barrier", _DIVERGENT),
                found("uninitialised-shared", "a thread reads before its neighbour has written: "
                      "the barrier between write and read is missing."),
                Misconception("nothing keeps a thread from overwriting an element that another thread "
                              "has not read yet, as when a fast warp begins the next round.",
                              lambda e: _first_race(e) == ("writes", "read")),
                Misconception("a thread may read an element before another thread has written it: no "
                              "barrier orders this write and this read.",
                              lambda e: _first_race(e) == ("reads", "wrote")),
            ],
            look_at="The finding names two lines. Which one must come first, and what makes the other threads wait for it?",
        ),
        Group("No unnecessary barrier", _not_everywhere),
        Group("Both rounds through shared memory", _through_shared_memory),
        economical(_case, [(_ROWS,), (1030,)], waste={"idle_lanes": None}),
        large_calls(_case, [(1,)]),
    ),
)  # fmt: skip
