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
    GateError,
    Group,
    Slip,
    clean,
    counted,
    counters,
    found,
    looks_like,
    values,
)

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


def _waiting() -> Group:
    """The sanitizer's gate; of copies that are not awaited, it says what is missing for it."""
    gate = clean(
        _case,
        sizes=[(2, 512), (3, 104)],
        slips=[
            found("divergent-barrier", "the barrier is within the `if`, and some threads never "
                  "reach it. What all threads have to do stands outside."),
            Slip("the barrier comes before the wait. A thread waits for its *own* copies alone; so "
                 "all wait first, and meet at the barrier afterwards.",
                 lambda e: {"async-copy", "shared-race"} <= set(e.kinds)),
            found("shared-race", "each thread has waited for its own copies. The elements it reads "
                  "were copied by other threads, which takes a barrier."),
            found("out-of-bounds", "the loop reads beyond the row: its last element is number "
                  "n - 1.", text="shared-memory"),
            found("out-of-bounds", "threads beyond the end of the row copy, too: a row has "
                  "n // vec vectors, and a block 128 threads."),
            Slip("what is read was never copied, or only a part of it. Each thread with a vector "
                 "copies the whole of it, 16 bytes.",
                 lambda e: e.kinds == ("uninitialised-shared",)),
        ],
        look_at="Paste this: what stands between copy and read?\n"
        "x, y = fk.randn(1, 512), fk.empty(1, 512);\n"
        "fk.timeline(fk.compile(async_reverse, *promised(x, y)), x, y)",
    )  # fmt: skip

    def run(handed_in: Submission) -> str:
        try:
            return gate.run(handed_in)
        except GateError as failure:
            if not failure.likely and "Asynchronous copy" in failure.happened:
                ptx = handed_in.compiled(_case(2, 512, torch.float32)).ptx
                failure.likely = _not_awaited(ptx)
            raise

    return Group("Waiting", run)


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


def _plain_loads(p: Profile) -> float:
    return p["global_load_requests"] - p["global_async_requests"]


EXERCISE = Exercise(
    title="reverse rows with asynchronous copies",
    task="""
One block reverses one row of up to 128 vectors. Bring the row into shared memory with `cp.async`,
one vector a thread, and make sure that it is there before the loop below reads it. Remember that a
thread now reads what *other* threads have copied. Rows are whole vectors, but need not be 128.

**Predict** first: which of your lines belong in an `if`, and which must not stand in one?
""",
    hints=(
        "Four things in a row: copy, commit, wait, and one more, because other threads have copied "
        "the elements that a thread reads.",
        "Only the copy is for the threads that have a vector, `tidx < n // vec`. The vector of a "
        "thread is `gX[(None, tidx)]`, its place in shared memory `sX[(None, tidx)]`.",
        "`cute.copy(atom, gX[(None, tidx)], sX[(None, tidx)])` within the `if`; then "
        "`cp_async_commit_group()`, `cp_async_wait_group(0)` and `sync_threads()`, all of "
        "`cute.arch`.",
    ),
    analysis="""
The wait is a matter between a thread and its own copies; the barrier is one between threads. Both
are needed, in this order: after a barrier that comes first, the copies of others may still be under
way. The wait costs nothing where a thread has copied nothing, so it needs no `if`, and the barrier
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
            dtypes=("float32", "float16", "bfloat16"),
            slips=[
                looks_like(lambda x, y: x, "the rows are copied, and not reversed."),
                found("out-of-bounds", "threads beyond the end of the row copy, too."),
                Slip("in float32 all sizes are right, so the mistake is in what depends on the "
                     "type: 16 bytes are 8 elements of this one.",
                     lambda e: e.case.args[0].element_size() == 2),
            ],
        ),
        counters(
            _case,
            _SIZE,
            [
                Counter(
                    _plain_loads, "loads into registers", at_most=0, ideal=0,
                    slips=[counted(lambda p: True, "elements are loaded into registers, in the "
                                   "loop or on their way to shared memory. All of them are to come "
                                   "by `cute.copy` with `atom`, and to be read from `sRow`.")],
                ),
                Counter(
                    "global_async_requests", "cp.async requests", at_most=16, ideal=16,
                    slips=[counted(lambda p: True, "a copy is narrower than 16 bytes. One "
                                   "vector is one copy, with `num_bits_per_copy=128`.")],
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
    ),
    praise="Two kinds of waiting, and you know which is which.",
)  # fmt: skip
