"""What exercises on the gradient share: results of a softmax, and gradients that arrive for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from forgekit.lessons.puzzle import Draw

__all__ = ["dy_and_y", "softmax_gradient"]


def dy_and_y(draw: Draw, m: int, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(m, n) each: dy with a mean of 1, so that the sum of dy·y shows in every element; and y."""
    return draw(m, n) + 1, (2 * draw(m, n)).float().softmax(1).to(draw.dtype)


def softmax_gradient(dy: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """dx of y = softmax(x), by rows."""
    return (dy - (dy * y).sum(1, keepdim=True)) * y
