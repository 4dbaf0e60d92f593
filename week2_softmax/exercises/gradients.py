"""What exercises on the gradient share: results of a softmax, and gradients that arrive for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from forgekit.lessons.puzzle import Draw

__all__ = ["after_down", "dy_and_y", "shares", "softmax_gradient"]


def dy_and_y(draw: Draw, m: int, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(m, n) each: dy with a mean of 1, so that the sum of dy·y shows in every element; and y."""
    return draw(m, n) + 1, (2 * draw(m, n)).float().softmax(1).to(draw.dtype)


def softmax_gradient(dy: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """dx of y = softmax(x), by rows."""
    return (dy - (dy * y).sum(1, keepdim=True)) * y


def shares(values: torch.Tensor, rounded: bool = False) -> torch.Tensor:
    """What each lane has of the rows' sums (m, n), in the place of every column that is its own.

    rounded: to the type of `values` after each addition.
    """
    m, n = values.shape
    lanes = torch.nn.functional.pad(values, (0, -n % 32)).view(m, -1, 32)
    total = torch.zeros(m, 32, dtype=values.dtype if rounded else torch.float64)
    for k in range(lanes.shape[1]):
        total = (total.double() + lanes[:, k]).to(total.dtype)
    return total.double().repeat(1, lanes.shape[1])[:, :n]


def after_down(values: torch.Tensor) -> torch.Tensor:
    """As `shares`, after a sum by shuffles down, in which a lane without a source gets its own."""
    total = shares(torch.nn.functional.pad(values, (0, -values.shape[1] % 32)))[:, :32]
    for offset in (16, 8, 4, 2, 1):
        total = total + torch.cat([total[:, offset:], total[:, 32 - offset :]], 1)
    return total.repeat(1, -(-values.shape[1] // 32))[:, : values.shape[1]]
