"""Provide sums of some lanes' part of a row, and a gate on the threads that share an input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from forgekit.lessons.gates import GateError, Group

__all__ = ["of_lanes", "shared"]


def of_lanes(x: torch.Tensor, lanes: int, vec: int) -> torch.Tensor:
    """Return the row sums of the vectors that the first `lanes` of a warp's 32 lanes load."""
    columns = torch.arange(x.shape[1])
    return (x.double() * (columns // vec % 32 < lanes)).sum(1)


def shared(make: Any, size: tuple[int, int], by: str, check: Callable[[Any, Any], str]) -> Group:
    """Return a group that judges which threads load the first input.

    by: the colours of the picture to suggest. check: takes the block and the thread in the block
    that first loads each element, and returns a sentence that tells the student the mistake, or "".
    """

    def run(submission: Any) -> str:
        from forgekit.tracing.footprint import footprint

        case = submission.case(make, size, "float32")
        kernel = submission.compiled(case)
        name, args = kernel.parameters[0].name, submission.arguments(case).values()
        found = footprint(kernel, *args, tensor=name, kind="load").touched[name]
        if wrong := check(found["block"].reshape(size), found["thread"].reshape(size)):
            look_at = f"fk.footprint(*{{failed}}, tensor='{name}', by='{by}', kind='load')"
            raise GateError(f"With {case.label}, {wrong}", look_at=look_at)
        return "as the task asks"

    return Group("Shared work", run)
