"""The references of `forgekit.ops.softmax` and of its derivative."""

from __future__ import annotations

import torch

from forgekit.arguments import checked
from forgekit.ref.precision import row_wise, wider


@checked()
def softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """x of any shape, strides and float type -> a new contiguous tensor, exp(x) / sum of exp(x)
    along dim.

    Computed in the next wider type (fp32 for fp16 and bf16, fp64 for fp32), rounded once to x's.
    """
    dim = row_wise(dim, x=x)
    return torch.softmax(x, dim, dtype=wider(x.dtype)).to(x.dtype).contiguous()


@checked()
def softmax_backward(grad: torch.Tensor, y: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """y * (grad - sum of grad * y along dim): from the gradient of y = softmax(x) that of x.

    grad and y of one shape and float type, any strides; the result is new and contiguous. Computed
    in the next wider type, rounded once.
    """
    dim = row_wise(dim, grad=grad, y=y)
    wide_grad, wide_y = grad.to(wider(y.dtype)), y.to(wider(y.dtype))
    dot = torch.sum(wide_grad * wide_y, dim, keepdim=True)
    return (wide_y * (wide_grad - dot)).to(y.dtype).contiguous()
