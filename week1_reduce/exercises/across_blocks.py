"""Fences around an atomic counter, by the threads that execute them, for `04_few_long_rows`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from forgekit.lessons.gates import GateError, Group
from forgekit.vgpu import Listener

if TYPE_CHECKING:
    from forgekit.lessons.gates import Case, Submission

__all__ = ["fenced"]

_KINDS = {
    "count": r"atom\.\S*global\S*\.(add|inc)",
    "fence": r"(fence|membar)\.(acq_rel\.|sc\.)?(gpu|gl|sys)",
    "store": r"st\.\S*global",
    "load": r"ld\.\S*global",
    "block": r"(bar|barrier)\.(cta\.)?(sync|red)",
    "warp": r"(bar\.warp|shfl)\.sync",
}


class _Fences(Listener):
    """Follows, per block, which threads are ordered after the store of a part, after a fence that
    follows the store, after the count, and after a fence that follows the count.

    A thread is ordered after an event if it executes the event, or meets such a thread at a barrier
    of the block or of the warp.
    """

    def __init__(self) -> None:
        self.counts, self.problems, self._kinds = 0, set[str](), dict[int, tuple[str, str]]()
        self.narrow = False  # True if the addition is atomic only among the threads of a block

    def on_batch(self, m: Any) -> None:
        self._stored, self._released, self._counted, self._acquired, self._waiting = (
            np.zeros(m.shape, bool) for _ in range(5)
        )
        self._fenced = np.zeros((2, m.n_blocks), bool)  # after the store, after the count

    def on_run(self, m: Any, start: int, stop: int, mask: Any) -> None:
        for pc in range(start, stop):
            name = m.program.instructions[pc].name
            if pc not in self._kinds:
                found = [kind for kind, of in _KINDS.items() if re.match(of, name)]
                self._kinds[pc] = found[0] if found else "", name
            if kind := self._kinds[pc][0]:
                self._execute(kind, name, m.expand(mask))

    def _execute(self, kind: str, name: str, who: Any) -> None:
        counted = self._counted.any(1, keepdims=True)
        if kind == "store":
            new = who & ~counted
            self._released &= ~new.any(1, keepdims=True)
            self._fenced[0] &= ~new.any(1)
            self._stored |= new
        elif kind == "fence":
            self._released |= self._stored & who
            self._acquired |= self._counted & who
            here = who.any(1)
            self._fenced |= here & np.stack((self._stored.any(1), self._counted.any(1)))
        elif kind == "count":
            new, wide = who & ~counted, not re.search(r"cta|cluster", name)
            self.narrow |= not wide
            self.counts += int(new.sum())
            releases = wide and re.search("release|acq_rel", name)
            self._need(new, self._stored if releases else self._released, "release", 0)
            self._counted |= new
            self._acquired |= new & bool(wide and re.search("acquire|acq_rel", name))
        elif kind == "load":
            self._need(who & counted, self._acquired, "acquire", 1)
        else:
            self._meet(kind, who)

    def _need(self, who: Any, ordered: Any, what: str, step: int) -> None:
        for block in (who & ~ordered).any(1).nonzero()[0]:
            self.problems.add(f"{what}, fenced" if self._fenced[step, block] else what)

    def _meet(self, kind: str, who: Any) -> None:
        """Order the threads that meet after everything that one of them is ordered after."""
        if kind == "block":
            self._waiting |= who
            who = self._waiting & self._waiting.all(1, keepdims=True)
            self._waiting &= ~who
        warps = (len(who), -1, who.shape[1] if kind == "block" else 32)
        for of in (self._stored, self._released, self._counted, self._acquired):
            known = (of & who).reshape(warps).any(2, keepdims=True)
            of |= (known & who.reshape(warps)).reshape(who.shape)


def fenced(make: Callable[..., Case], size: tuple[int, ...]) -> Group:
    """Return a group that requires a release between the store of a part and the counter, and an
    acquire between the counter and the loads of the parts, by threads that these steps order, and
    a counter that is atomic among all blocks. The sanitizer does not know where a fence belongs."""

    def run(submission: Submission) -> str:
        case, found = submission.case(make, size, "float32"), _Fences()
        submission.counted(case, found)
        if not found.counts:
            raise GateError(
                "No thread executes an atomic addition to global memory, so no block is counted."
            )
        between = {"release": "the store of the part from the atomic addition",
                   "acquire": "the atomic addition from the loads of the parts"}  # fmt: skip
        steps = {"release": "the store of the part, the fence and the atomic addition",
                 "acquire": "the atomic addition, the fence and the loads of the parts"}  # fmt: skip
        why = {
            "release": "another block may see the counter before it sees the part: the store needs "
            "a release before the count.",
            "acquire": "the last block may load parts before it has counted: it needs an acquire "
            "before it reads the parts.",
        }
        for what in between:
            if what in found.problems:
                happened = f"No GPU-wide fence separates {between[what]}."
                raise GateError(happened, why[what], "cute.arch.fence_acq_rel_gpu()")
            if f"{what}, fenced" in found.problems:
                raise GateError(
                    f"With {case.label}, different threads execute {steps[what]}, and barriers do "
                    "not order all of these steps.",
                    "a fence orders only what its thread has executed, or what a barrier before "
                    "it has ordered.",
                    "Let one thread execute these steps, or put a barrier between them.",
                )
        if found.narrow:
            raise GateError(
                "The scope of the atomic addition does not include all blocks.",
                "an operation is atomic only among the threads of its scope, so two blocks may get "
                "the same ticket.",
                'Write scope="gpu", or leave the scope out.',
            )
        return "the store of each part, the count and the loads of the parts are in order"

    return Group("Fences", run)
