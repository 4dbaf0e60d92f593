"""Fences around an atomic counter, found in the PTX, for the exercises of `04_few_long_rows`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from forgekit.lessons.gates import GateError, Group

if TYPE_CHECKING:
    from forgekit.lessons.gates import Case, Submission

__all__ = ["fenced"]

_ATOMIC = re.compile(r"^\s*atom\.(?P<how>\S*global\S*)\.(add|inc)\.\S*", re.M)
_FENCE = re.compile(r"^\s*(fence|membar)\.(acq_rel\.|sc\.)?(gpu|gl|sys)\b", re.M)
_STORE = re.compile(r"^\s*st\.(global|release\.\w+\.global|relaxed\.\w+\.global)\S*", re.M)
_LOAD = re.compile(r"^\s*ld\.(global|acquire\.\w+\.global|relaxed\.\w+\.global)\S*", re.M)


def fenced(make: Callable[..., Case], size: tuple[int, ...]) -> Group:
    """Return a group that requires a release between the store of a part and the counter, and an
    acquire between the counter and the loads of the parts. The sanitizer does not know where a
    fence belongs, so the group reads the PTX, except for instructions that no warp executes."""

    def run(submission: Submission) -> str:
        import torch

        case = make(*size, dtype=torch.float32)
        lines, (profile, _) = submission.compiled(case).ptx.splitlines(), submission.counted(case)
        found = {i.ptx_line for line in profile.all_lines for i in line.instructions}
        ptx = "\n".join(lines[number - 1] for number in sorted(found))
        counter: Any = _ATOMIC.search(ptx)
        if counter is None:
            raise GateError(
                "The PTX has no atomic addition to global memory, so no block is counted."
            )
        before, after = ptx[: counter.start()], ptx[counter.end() :]
        stores = list(_STORE.finditer(before))
        loads = _LOAD.search(after)
        released = _FENCE.search(before, stores[-1].end() if stores else 0)
        acquired = _FENCE.search(after, 0, loads.start() if loads else len(after))
        block = re.search("cta|cluster", counter["how"])
        if not (released or (not block and re.search("release|acq_rel", counter["how"]))):
            raise GateError(
                "No GPU-wide fence separates the store of the part from the atomic addition.",
                "another block may see the counter before it sees the part: the store needs a "
                "release before the count.",
                "cute.arch.fence_acq_rel_gpu()",
            )
        if not (acquired or (not block and re.search("acquire|acq_rel", counter["how"]))):
            raise GateError(
                "No GPU-wide fence separates the atomic addition from the loads of the parts.",
                "the last block may load parts before it has counted: it needs an acquire before "
                "it reads the parts.",
                "cute.arch.fence_acq_rel_gpu()",
            )
        return "a fence before the counter and one after it"

    return Group("Fences", run)
