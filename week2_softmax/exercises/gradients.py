"""Provide inputs, the formula and typical wrong sums for exercises on the gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from forgekit.lessons.puzzle import Draw

__all__ = ["after_down", "dy_and_y", "shares", "softmax_gradient"]


def dy_and_y(draw: Draw, m: int, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return dy with a mean of 1, so that Σ dy·y shows in every element, and y, (m, n) each."""
    return draw(m, n) + 1, (2 * draw(m, n)).float().softmax(1).to(draw.dtype)


def softmax_gradient(dy: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return dx of y = softmax(x), by rows."""
    return (dy - (dy * y).sum(1, keepdim=True)) * y


def shares(values: torch.Tensor, rounded: bool = False) -> torch.Tensor:
    """Return each lane's share of the row sums, (m, n), at every column that the lane takes.

    rounded: round to the type of `values` after each addition.
    """
    m, n = values.shape
    lanes = torch.nn.functional.pad(values, (0, -n % 32)).view(m, -1, 32)
    total = torch.zeros(m, 32, dtype=values.dtype if rounded else torch.float64)
    for k in range(lanes.shape[1]):
        total = (total.double() + lanes[:, k]).to(total.dtype)
    return total.double().repeat(1, lanes.shape[1])[:, :n]


def after_down(values: torch.Tensor) -> torch.Tensor:
    """Return `shares` after a sum by shuffles down; a lane without a source adds its own share."""
    total = shares(torch.nn.functional.pad(values, (0, -values.shape[1] % 32)))[:, :32]
    for offset in (16, 8, 4, 2, 1):
        total = total + torch.cat([total[:, offset:], total[:, 32 - offset :]], 1)
    return total.repeat(1, -(-values.shape[1] // 32))[:, : values.shape[1]]
