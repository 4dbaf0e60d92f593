"""Provide gates on copies, and statistics without rescaling, for exercises on rows that do not
fit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import torch

from forgekit.lessons.gates import Counter, GateError, Group, Misconception, counted, counters
from forgekit.vgpu import Listener

if TYPE_CHECKING:
    from forgekit.lessons.gates import Submission
    from forgekit.lessons.gates.submission import MakeCase
    from forgekit.vgpu import Access, Moment

__all__ = ["UNPUBLISHED", "asynchronous", "not_rescaled", "overlapping"]

_SENT = r"asynchronous operation started by [^:]* wrote at [^:]*: \S*mbarrier_init\("
UNPUBLISHED = Misconception(
    "a pair may be sent before its sender sees the other block's mbarrier. The thread that calls "
    "`mbarrier_init` also has to call `cute.arch.mbarrier_init_fence()`, after it and before "
    "`cluster_arrive_relaxed`, which by itself publishes nothing.",
    lambda e: "block-lifetime" not in e.kinds and bool(re.search(_SENT, " ".join(e.text.split()))),
)


def not_rescaled(x: torch.Tensor, threads: int, vec: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return m and s of rows, (M, 1) each, if threads add exp(x - maximum so far) and never rescale.

    The threads take vectors of `vec` elements in turn; their pairs are merged correctly.
    """
    tile = threads * vec
    wide = torch.nn.functional.pad(x.double(), (0, -x.shape[1] % tile), value=-torch.inf)
    parts = wide.reshape(len(x), -1, threads, vec)  # (M,tiles,threads,vec)
    so_far = parts.amax(3).cummax(1).values
    s = (parts - so_far[..., None]).exp().nan_to_num().sum((1, 3))  # (M,threads)
    m = so_far[:, -1].amax(1, keepdim=True)
    return m, (s * (so_far[:, -1] - m).exp()).sum(1, keepdim=True)


def asynchronous(
    make: MakeCase, size: tuple[int, ...], factor: float = 1.0, *, name: str = ""
) -> Group:
    """Check that `cp.async` copies each element once, 16 bytes at a time. factor: the largest number of
    requests, relative to the smallest possible number."""
    m, n = size
    requests = m * -(-n // 128)
    return counters(
        make, size,
        [
            Counter(
                lambda p: p["global_load_requests"] - p["global_async_requests"],
                "loads into registers", at_most=0, ideal=0,
                misconceptions=[counted(lambda p: True, "elements are loaded into registers; copy all of them with cp.async, and read them from shared memory.")],
            ),
            Counter(
                "global_async_requests", "cp.async requests", at_most=int(factor * requests), ideal=requests,
                misconceptions=[counted(lambda p: p["global_async_bytes_asked"] <= 4 * m * n, "each element "
                               "is copied once, but one copy by a warp can move 512 bytes, 16 per lane."),
                       counted(lambda p: True, "elements are copied more than once.")],
            ),
        ],
        name=name or "Asynchronous, 16 bytes at once",
    )  # fmt: skip


class FirstRead(Listener):
    """Counts a thread's copies that are in flight when shared memory is first read, and those that
    it has started.

    all: the numbers of copies in flight at any read of shared memory.
    """

    def __init__(self) -> None:
        self.in_flight: int | None = None
        self.started = 0
        self.all = set[int]()

    def on_batch(self, m: Moment) -> None:
        self._copies = np.zeros(m.shape, np.int64)
        self._started = np.zeros(m.shape, np.int64)

    def on_access(self, m: Moment, access: Access) -> None:
        who = m.expand(access.mask)
        if access.kind == "async store":
            self._copies += who
            self._started += who
        elif access.kind == "load" and access.space == "shared" and who.any():
            self.all.add(int(self._copies[who].max()))
            if self.in_flight is None:
                self.in_flight = int(self._copies[who].max())
                self.started = int(self._started[who].max())

    def on_async_done(self, m: Moment, access: Access) -> None:
        self._copies -= m.expand(access.mask)


def overlapping(
    case: MakeCase,
    size: tuple[int, ...],
    dtype: torch.dtype,
    says: str,
    started: int = 0,
) -> Group:
    """Check that newer copies are in flight when the first one is read. says: the diagnosis if
    there are none. started: the copies that a thread must have started by then, of which
    only the first may have arrived."""

    def run(submission: Submission) -> str:
        call, first = case(*size, dtype=dtype), FirstRead()
        submission.counted(call, first)
        groups = re.findall(r"cp\.async\.(commit|wait)_group", submission.compiled(call).ptx)
        if started and "wait" in groups and "commit" in groups[groups.index("wait") :]:
            raise GateError(
                "In the PTX, a group is committed after the first wait.",
                "the task starts all groups before the first wait.",
                "fk.timeline(*{failed})",
            )
        if first.in_flight and first.started < started:
            raise GateError(
                f"When shared memory is first read, each thread has started at most {first.started} "
                f"copies with {call.label}; needed {started} in at least one thread.",
                "the task starts all groups before the first wait.",
                "fk.timeline(*{failed})",
            )
        if first.in_flight and first.in_flight < started - 1:
            raise GateError(
                f"When shared memory is first read, at most {first.in_flight} copies of a thread "
                f"are in flight with {call.label}; needed {started - 1}.",
                "the first wait is for more than the first group of 32 vectors, or the first group "
                "has more vectors.",
                "fk.timeline(*{failed})",
            )
        waits = [
            int(k)
            for k in re.findall(r"cp\.async\.wait_group\s+(\d+)", submission.compiled(call).ptx)
        ]
        if first.in_flight and not {*range(1, started)} <= {*waits}:
            raise GateError(
                f"The waits leave {', '.join(map(str, waits))} groups in flight; needed {started - 1} to 0.",
                "the first pass does not wait group by group.",
                "fk.timeline(*{failed})",
            )
        if first.in_flight and not {*range(started)} <= first.all:
            missing = ", ".join(map(str, sorted({*range(started)} - first.all, reverse=True)))
            raise GateError(
                f"Shared memory is never read while {missing} copies of a thread are in flight with "
                f"{call.label}; needed a read after each wait.",
                "the first pass waits group by group, but does not read each group before the next "
                "wait.",
                "fk.timeline(*{failed})",
            )
        if first.in_flight:
            copies = "1 copy" if first.in_flight == 1 else f"{first.in_flight} copies"
            return f"a thread has {copies} in flight at its first read"
        found = "No copy is in flight when shared memory is first read."
        if waits[:1] == [0]:
            found = f"In the PTX, the first of {len(waits)} waits is for all groups."
        raise GateError(found, says, "fk.timeline(*{failed})")

    return Group("In flight while it computes", run)
