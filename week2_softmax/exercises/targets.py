"""Provide targets for exercises on cross-entropy, some of which must be ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from forgekit.lessons.puzzle import Draw

__all__ = ["IGNORED", "some_targets"]

IGNORED = -100  # as in torch


def some_targets(draw: Draw, m: int, n: int) -> torch.Tensor:
    """Return a class (M,) for each row of n, in int64 as torch requires; every third row, from the
    second on, must be ignored. The others include the last and the first class, and class 100 if
    there are 101 to 199."""
    target = draw.integers(0, n, m, dtype=torch.int64)
    target[1::3], target[2::6], target[3::6] = IGNORED, n - 1, 0
    if 100 < n < 200:
        target[0] = -IGNORED  # not to be ignored
    return target
