"""Provide rows that reveal a careless softmax, for the exercises of this week."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from forgekit.lessons.gates import GateError, Group

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from forgekit.lessons.gates import Submission
    from forgekit.lessons.gates.submission import MakeCase
    from forgekit.lessons.puzzle import Draw

__all__ = ["far_below", "hard_rows", "steep", "summing_to_1"]


_FAR = 2.0**127  # its product with log2(e) is exact, so kernels may round the maximum's product


def far_below(x: torch.Tensor) -> torch.Tensor:
    """Return rows x (M, N), lowered below a maximum that starts at a finite number, such as -1e38;
    in float16, the type limits the distance, and in wider types all elements become equal."""
    return x - 6e4 if x.dtype == torch.float16 else torch.full_like(x, -_FAR)


def summing_to_1(x: torch.Tensor) -> torch.Tensor:
    """x (M, N), if narrower than float32 with every fifth row shifted so that its log-sum-exp is
    almost 0: there a sum that is rounded to the type of x shows. Not in a single row: `fk.check`'s
    atol shrinks with the results, and float32 rounds a sum near 1 by up to 6e-8."""
    if x.dtype != torch.float32 and len(x) > 1:
        lse = x[::5].double().logsumexp(1, keepdim=True)
        x[::5] = (x[::5].double() - lse.where(lse.isfinite(), 0.0)).to(x.dtype)
    return x


def hard_rows(
    draw: Draw, m: int, n: int, *, masked: bool = False, low: float = 1e5, spread: bool = True
) -> torch.Tensor:
    """Return rows (m, n) of five kinds in turn: plain; large, so that exp overflows; small, so that
    all exponentials are 0; ascending, with a new maximum at each element; and descending.

    low: the distance of float32's small rows below 0. If it exceeds 65,504 (-65,504 often serves as
    -inf), all elements of every second small row are -2^127. For narrower types the distance
    is 1,000, because most elements would be equal farther away. spread: True also lifts float32's
    every second large row by `low`, and in every third plain row one element, so that exp overflows
    if another element is subtracted in place of the maximum. masked: True also sets some
    elements to -inf, including a row's first, and all elements of every seventh row from the sixth
    on, whose softmax is NaN in torch.
    """
    x = draw(m, n) * 3
    kinds = (torch.arange(m) + n) % 5
    turns = (torch.arange(m) + n) // 5
    peak = ((kinds == 0) & (turns % 3 == 2)).nonzero()[:, 0]
    if spread:
        x[peak, (5 * peak + 3) % n] += 150
    far = (turns % 2 == 1) & (x.dtype == torch.float32) & (low > 65_504)
    x[kinds == 1] += torch.where(far & spread, low, 1000.0)[kinds == 1, None].to(x.dtype)
    x[kinds == 2] -= low if x.dtype == torch.float32 else 1000
    x[(kinds == 2) & far] = -_FAR
    x[kinds == 3] = x[kinds == 3].sort(dim=1).values
    x[kinds == 4] = x[kinds == 4].sort(dim=1, descending=True).values
    if masked:
        x[:, : n // 3] = torch.where(kinds[:, None] % 2 == 0, -torch.inf, x[:, : n // 3])
        x[5::7] = -torch.inf
    return x


def steep(x: torch.Tensor) -> torch.Tensor:
    """x (M, N) from `hard_rows`, with the ascending rows stretched, so that exp overflows where a
    row's or a thread's first element is subtracted in place of the maximum."""
    m, n = x.shape
    x[(torch.arange(m) + n) % 5 == 3] *= 40
    return x
