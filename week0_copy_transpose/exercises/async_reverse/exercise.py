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

from ..practice import limited

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


def _beyond_the_row(e: Evidence) -> bool:
    """Return True if the thread copies the vector with its own number, counted in its block's row."""
    place = r"thread \((\d+), 0, 0\) of block \((\d+), 0, 0\) copies from mX\[(\d+), (\d+)\]"
    found = re.findall(place, " ".join(e.text.split()))
    thread, block, row, column = map(int, found[0])
    x = e.case.args[0]
    own = block * x.shape[1] + thread * (16 // x.element_size())
    return "out-of-bounds" in e.kinds and row * x.shape[1] + column == own


def _waiting() -> Group:
    """Return the sanitizer's gate, which names the missing call where a copy is not awaited."""
    gate = clean(
        _case,
        sizes=[(2, 512), (3, 104), (2, 8)],
        misconceptions=[
            found("divergent-barrier", "the barrier is inside the `if`, so some threads never reach it. Move lines that all threads must execute out of the `if`."),
            found("shared-race", "more than one thread copies to the same location, but each vector belongs to one thread.", text=", and so does"),
            Misconception("a thread waits only for its *own* copies. All threads must first wait and then meet at a barrier.",
                 lambda e: {"async-copy", "shared-race"} <= set(e.kinds)),
            found("shared-race", "each thread waits for its own copies, but it reads elements that "
                  "other threads copied, so it needs a barrier."),
            Misconception("the copy's destination in shared memory is beyond the block's allocation. Vector k of the row belongs at vector k of the shared row.", lambda e: _where(e, "copies to", "shared-memory")),
            Misconception("the loop reads outside the row in shared memory, whose elements are 0 to n - 1. Element j comes from element n - 1 - j if j is less than n.",
                 lambda e: _where(e, "reads", "shared-memory")),
            Misconception("there are more blocks than rows.", _a_block_too_many),
            Misconception("threads beyond the end of the row also copy. A row has n // vec vectors, but a block has 128 threads.", _beyond_the_row),
            Misconception("the loop reads elements that no thread has copied. Compare the elements that it "
                 "reads with the copied ones; the row consists of n // vec vectors of 16 bytes.",
                 lambda e: e.kinds == ("uninitialised-shared",)),
        ],
        look_at="fk.timeline(*{failed}) # what happens between copy and read?",
    )  # fmt: skip

    def run(submission: Submission) -> str:
        try:
            return gate.run(submission)
        except GateError as failure:
            if not failure.likely and "Asynchronous copy" in failure.happened:
                ptx = submission.compiled(_case(2, 512, torch.float32)).ptx
                failure.likely = _not_awaited(ptx)
                if "reads shared memory" not in failure.happened:
                    failure.likely = (
                        "two copies to the same place are in flight. Copy each vector once."
                    )
            raise

    return Group("Waiting", run, orders=gate.orders)


def _not_awaited(ptx: str) -> str:
    waits = [int(n) for n in re.findall(r"cp\.async\.wait_group\s+(\d+)", ptx)]
    if "cp.async.wait_all" in ptx:
        return (
            "`wait_all` waits only for copies that its own thread has started before. Every thread "
            "that copies has to call it between its copies and the barrier."
        )
    if not waits:
        return "no thread waits for the copies, and a barrier does not wait for them either."
    if "cp.async.commit_group" not in ptx:
        return "the wait is for groups, but these copies are in no group. Commit them first."
    if min(waits) > 0:
        return (
            f"wait_group({min(waits)}) allows that many of the newest groups to be incomplete. "
            "The loop needs the elements of all groups."
        )
    if not re.search(
        r"cp\.async\.c[ag].*cp\.async\.commit_group.*cp\.async\.wait_group", ptx, re.S
    ):
        return "the order must be copy, commit, wait, because the wait ignores groups that are committed later."
    return "the loop reads while copies are in flight. Every thread that copies must wait before the barrier."


def _bytes_a_copy(p: Profile) -> float:
    return p["global_async_bytes_asked"] / p["global_async_requests"]


def _plain_loads(p: Profile) -> float:
    return p["global_load_requests"] - p["global_async_requests"]


def _asynchronous(name: str, size: tuple[int, int] = _SIZE, dtype: str = "float32") -> Group:
    """Return the gate that requires all elements to be copied with cp.async, 16 bytes at a time."""
    row = size[1] * getattr(torch, dtype).itemsize
    fewest = size[0] * -(-row // 512)
    return counters(
        _case,
        size,
        [
            Counter(
                _plain_loads, "loads into registers", at_most=0, ideal=0,
                misconceptions=[counted(lambda p: True, "threads load elements into registers, in the "
                               "loop or on their way to shared memory. Copy all of them with "
                               "`cute.copy` and `atom`, and read them from `sRow`.")],
            ),
            Counter(
                "global_async_requests", "cp.async requests", at_most=fewest, ideal=fewest,
                misconceptions=[
                    counted(lambda p: p["global_async_bytes_asked"] > size[0] * row,
                            "threads copy elements more than once."),
                    counted(lambda p: _bytes_a_copy(p) <= 16,
                            "each request copies at most 16 bytes, although a warp can copy 512. "
                            "Let all lanes of a warp copy different vectors at the same time."),
                    counted(lambda p: _bytes_a_copy(p) < 512,
                            "a whole warp with 16 bytes per thread copies 512 bytes per "
                            "request. These copies are narrower, or some threads copy "
                            "nothing."),
                ],
            ),
        ],
        dtype,
        name=name,
    )  # fmt: skip


_ASKED = {"work": "one block per row", "barriers": 1}
_FRUGAL = economical(_case, [(2, 104), (40, 512)], waste={"threads": 1})

EXERCISE = Exercise(
    title="reverse rows with asynchronous copies",
    task="""
Each block reverses one row. Copy the row into shared memory with `cp.async`, 16 bytes at a time,
and make sure that it has arrived before the loop below reads it. A thread now reads elements that
*other* threads have copied. The length of a row is a multiple of 8, so it consists of whole
vectors, at most 128 of them and possibly fewer.
Signature: `async_reverse(x, y)`.

Decide first which of your lines belong inside an `if` and which must be outside it."""
    + stated(_ASKED),
    hints=(
        "You need four calls in this order: copy, commit, wait, and one more, because a thread "
        "reads elements that other threads have copied.",
        "Only threads with a vector may copy, so the predicate is `tidx < n // vec`. A thread's "
        "vector is `gX[(None, tidx)]`, and its place in shared memory is `sX[(None, tidx)]`.",
        "The copy is one `cute.copy` with `atom`, which is the only line inside the `if`. All "
        "threads execute the three lines after it. Section 4 shows two of them, and "
        "`01_why_slow_why_wrong` shows the third.",
    ),
    analysis="""
`cp_async_wait_group` makes a thread wait for its own copies, and the barrier makes the threads wait
for each other. You need both, in this order: if the barrier came first, other threads' copies could
still be in flight after it. The wait costs nothing for a thread that has copied nothing, so it
needs no `if`. The barrier must not be inside an `if`.

Both sides are coalesced. Neighbouring threads copy neighbouring vectors of 16 bytes into shared
memory and store neighbouring elements of the result. The reversal happens when the threads read
shared memory, where the order of elements costs nothing.
""",
    entry="async_reverse",
    groups=(
        _waiting(),
        values(
            _case,
            sizes=[(2, 512), (1, 8), (3, 104), (1030, 8), (2, 504)],
            drawn=2, legal=lambda m, n: (m, min(512, -(-limited(m, n)[1] // 8) * 8)),
            dtypes=("float32", "float16", "bfloat16"),
            misconceptions=[
                looks_like(lambda x, y: x, "the rows are copied but not reversed."),
                Misconception("threads beyond the end of the row also copy.", _beyond_the_row),
            ],
        ),
        _asynchronous("Asynchronous, 16 bytes at once"),
        _asynchronous("Asynchronous, float16", dtype="float16"),
        _asynchronous("Asynchronous, bfloat16", dtype="bfloat16"),
        _asynchronous("Asynchronous, a part of a warp", (3, 104)),
        _asynchronous("Asynchronous, a single vector", (2, 8), "float16"),
        counters(
            _case,
            _SIZE,
            [
                Counter("shared_load_bytes_asked", "bytes read from shared memory",
                        at_least=_BYTES, ideal=_BYTES,
                        look_at="The thread that stores an element must read it from shared memory."),
                Counter("global_store_sectors", "sectors stored", at_most=_BYTES // 32 * 5 // 4,
                        baseline=_BYTES // 32, ideal=_BYTES // 32,
                        look_at="Neighbouring threads must store neighbouring elements, as in the "
                        "skeleton."),
            ],
            name="Through shared memory, and coalesced",
        ),
        as_asked(_FRUGAL.counts, _ASKED, ("m", "n")),
        _FRUGAL,
    ),
    praise="The kernel needs both kinds of waiting.",
)  # fmt: skip
