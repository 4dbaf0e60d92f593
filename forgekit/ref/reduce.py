"""The reference of `forgekit.ops.reduce_sum`."""

from __future__ import annotations

import torch

from forgekit.arguments import checked
from forgekit.ref.precision import row_wise, wider


@checked()
def reduce_sum(x: torch.Tensor, dim: int = -1, keepdim: bool = False) -> torch.Tensor:
    """x of any shape, strides and float type -> a new contiguous tensor, its sums along dim.

    Added in the next wider type (fp32 for fp16 and bf16, fp64 for fp32), rounded once to x's.
    """
    dim = row_wise(dim, x=x)
    return torch.sum(x, dim, keepdim, dtype=wider(x.dtype)).to(x.dtype).contiguous()
