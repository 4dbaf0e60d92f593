"""The reference of `forgekit.ops.copy_transpose`."""

from __future__ import annotations

import torch

from forgekit.arguments import checked, dense
from forgekit.errors import usage_error


@checked()
def copy_transpose(x: torch.Tensor) -> torch.Tensor:
    """x (M, N) of any dtype and strides -> a new contiguous tensor (N, M) equal to x.t()."""
    if dense("x", x, meta=True).dim() != 2:
        got, remedy = f"{x.dim()} dimensions", "reshape it, or transpose slice by slice"
        raise usage_error("x", got, "2", remedy)
    return x.t().clone(memory_format=torch.contiguous_format)
