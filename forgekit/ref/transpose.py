"""The reference of `forgekit.ops.copy_transpose`."""

from __future__ import annotations

import torch

__all__ = ["copy_transpose"]


def copy_transpose(x: torch.Tensor) -> torch.Tensor:
    """x (M, N) of any dtype and strides -> a new contiguous tensor (N, M) equal to x.t()."""
    return x.t().clone(memory_format=torch.contiguous_format)
