"""Exercise week0/async_reverse: cp.async, and the two kinds of waiting it needs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import torch

import forgekit as fk
from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import (
    Case,
    Counter,
    Evidence,
    GateError,
    Group,
    Misconception,
    clean,
    counted,
    counters,
    economical,
    found,
    looks_like,
    values,
)
from forgekit.lessons.gates.asked import as_asked, stated

if TYPE_CHECKING:
    from forgekit.lessons.gates import Submission
    from forgekit.profiling.profile import Profile

__all__ = ["EXERCISE"]

_SIZE = (4, 512)
_BYTES = 4 * 512 * 4


def _case(m: int, n: int, dtype: torch.dtype) -> Case:
    x = fk.randn(m, n, dtype=dtype, device="virtual")
    y = fk.empty(m, n, dtype=dtype, device="virtual")
    vec = 16 // x.element_size()
    return Case(
        (x, y),
        {1: x.flip(1)},
        f"{m}×{n} {str(dtype).removeprefix('torch.')}",
        specs={k: fk.spec(t, divisible={1: vec}) for k, t in enumerate((x, y))},
    )


def _where(e: Evidence, verb: str, place: str) -> bool:
    words = " ".join(e.text.split())
    return "out-of-bounds" in e.kinds and f" {verb} " in words and place in words


def _a_block_too_many(e: Evidence) -> bool:
    blocks = re.findall(r"of block \((\d+), 0, 0\)", e.text)
    return "out-of-bounds" in e.kinds and int(blocks[0]) >= len(e.case.args[0])


def _waiting() -> Group:
    """The sanitizer's gate; of copies that are not awaited, it says what is missing for it."""
    gate = clean(
        _case,
        sizes=[(2, 512), (3, 104)],
        misconceptions=[
            found("divergent-barrier", "the barrier is within the `if`, and some threads never "
                  "reach it. What all threads have to do stands outside."),
            Misconception("the barrier comes before the wait. A thread waits for its *own* copies alone; so "
                 "all wait first, and meet at the barrier afterwards.",
                 lambda e: {"async-copy", "shared-race"} <= set(e.kinds)),
            found("shared-race", "more than one thread copies to the same place: each vector is one "
                  "thread's.", text="writes another value there"),
            found("shared-race", "each thread has waited for its own copies. The elements it reads "
                  "were copied by other threads, which takes a barrier."),
            Misconception("the copy's place in shared memory is beyond what the block has: a vector's place "
                 "has the vector's number.", lambda e: _where(e, "copies to", "shared-memory")),
            Misconception("the loop leaves the row in shared memory, whose elements are number 0 to n - 1: "
                 "element j comes from n - 1 - j, if j is less than n.",
                 lambda e: _where(e, "reads", "shared-memory")),
            Misconception("there are more blocks than rows.", _a_block_too_many),
            Misconception("threads beyond the end of the row copy, too: a row has n // vec vectors, and a "
                 "block 128 threads.", lambda e: _where(e, "copies from", "mX[")),
            Misconception("what is read was never copied, or only a part of it. Each thread with a vector "
                 "copies the whole of it, 16 bytes.",
                 lambda e: e.kinds == ("uninitialised-shared",)),
        ],
        look_at="fk.timeline(*{failed})  # what stands between copy and read?",
    )  # fmt: skip

    def run(submission: Submission) -> str:
        try:
            return gate.run(submission)
        except GateError as failure:
            if not failure.likely and "Asynchronous copy" in failure.happened:
                ptx = submission.compiled(_case(2, 512, torch.float32)).ptx
                failure.likely = _not_awaited(ptx)
            raise

    return Group("Waiting", run, orders=gate.orders)


def _not_awaited(ptx: str) -> str:
    waits = [int(n) for n in re.findall(r"cp\.async\.wait_group\s+(\d+)", ptx)]
    if "cp.async.wait_all" in ptx:
        return "the wait comes too early or too late: it belongs between copy and barrier."
    if not waits:
        return "nobody waits for the copies: a barrier does not."
    if "cp.async.commit_group" not in ptx:
        return "the wait is for groups, and these copies are in none: commit them first."
    if min(waits) > 0:
        return (
            f"wait_group({min(waits)}) allows that many of the newest groups to be open still. "
            "Here is one group, and all of it is needed."
        )
    return "copy, commit, wait is the order; what is committed after the wait is not awaited."


def _bytes_a_copy(p: Profile) -> float:
    return p["global_async_bytes_asked"] / p["global_async_requests"]


def _plain_loads(p: Profile) -> float:
    return p["global_load_requests"] - p["global_async_requests"]


_ASKED = {"barriers": 1}
_FRUGAL = economical(_case, [(2, 104), (40, 512)], waste={"threads": 1})

EXERCISE = Exercise(
    title="reverse rows with asynchronous copies",
    task="""
One block reverses one row of up to 128 vectors. Bring the row into shared memory with `cp.async`,
one vector a thread, and make sure that it is there before the loop below reads it. Remember that a
thread now reads what *other* threads have copied. Rows are whole vectors, but need not be 128.

**Predict** first: which of your lines belong in an `if`, and which must not stand in one?"""
    + stated(_ASKED),
    hints=(
        "Four things in a row: copy, commit, wait, and one more, because other threads have copied "
        "the elements that a thread reads.",
        "Only the copy is for the threads that have a vector, `tidx < n // vec`. The vector of a "
        "thread is `gX[(None, tidx)]`, its place in shared memory `sX[(None, tidx)]`.",
        "The copy is one `cute.copy` with `atom`, alone within its `if`. The three lines after it "
        "are for all threads: section 8 has two of them, the third is that of "
        "`01_why_slow_why_wrong`.",
    ),
    analysis="""
The wait is a matter between a thread and its own copies; the barrier is one between threads. Both
are needed, in this order: after a barrier that comes first, the copies of others may still be in
flight. The wait costs nothing where a thread has copied nothing, so it needs no `if`, and the barrier
must not have one.

Both sides are coalesced: vectors of 16 bytes in, and out one element a thread, neighbours side by
side. The reversal itself happens in shared memory, which does not mind.
""",
    entry="async_reverse",
    groups=(
        _waiting(),
        values(
            _case,
            sizes=[(2, 512), (1, 8), (3, 104), (2, 504)],
            drawn=2, legal=lambda m, n: (m, min(512, -(-n // 8) * 8)),
            dtypes=("float32", "float16", "bfloat16"),
            misconceptions=[
                looks_like(lambda x, y: x, "the rows are copied, and not reversed."),
                found("out-of-bounds", "threads beyond the end of the row copy, too."),
                Misconception("the sizes in float32 were right: look at what depends on the type. 16 "
                     "bytes are 8 elements of this one.",
                     lambda e: e.case.args[0].element_size() == 2),
            ],
        ),
        counters(
            _case,
            _SIZE,
            [
                Counter(
                    _plain_loads, "loads into registers", at_most=0, ideal=0,
                    misconceptions=[counted(lambda p: True, "elements are loaded into registers, in the "
                                   "loop or on their way to shared memory. All of them are to come "
                                   "by `cute.copy` with `atom`, and to be read from `sRow`.")],
                ),
                Counter(
                    "global_async_requests", "cp.async requests", at_most=16, ideal=16,
                    misconceptions=[
                        counted(lambda p: p["global_async_bytes_asked"] > _BYTES,
                                "elements are copied more than once."),
                        counted(lambda p: _bytes_a_copy(p) <= 16,
                                "of each warp one thread copies at a time, and the other 31 wait "
                                "for it: one vector a thread, all at once."),
                        counted(lambda p: _bytes_a_copy(p) < 512,
                                "a whole warp with 16 bytes a thread copies 512 bytes a request: "
                                "here copies are narrower, or threads have none."),
                    ],
                ),
            ],
            name="Asynchronous, 16 bytes at once",
        ),
        counters(
            _case,
            _SIZE,
            [
                Counter("shared_load_bytes_asked", "bytes read from shared memory",
                        at_least=_BYTES, ideal=_BYTES,
                        look_at="Each element is to be read from shared memory by the thread that "
                        "stores it."),
                Counter("global_store_sectors", "sectors stored", at_most=_BYTES // 32 * 5 // 4,
                        baseline=_BYTES // 32, ideal=_BYTES // 32,
                        look_at="Neighbouring threads are to store neighbouring elements, as in "
                        "the skeleton."),
            ],
            name="Through shared memory, and coalesced",
        ),
        as_asked(_FRUGAL.counts, _ASKED, ("m", "n")),
        _FRUGAL,
    ),
    praise="Two kinds of waiting, and you know which is which.",
)  # fmt: skip
