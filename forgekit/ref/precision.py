"""What references take, and the type in which they are computed."""

from __future__ import annotations

import torch

from forgekit.arguments import dense
from forgekit.errors import usage_error

_WIDER = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float32: torch.float64,
}


def wider(dtype: torch.dtype) -> torch.dtype:
    """float32 for float16 and bfloat16, float64 for float32; any other type itself.

    So a reference's own error is small beside one rounding of the result.
    """
    return _WIDER.get(dtype, dtype)


def row_wise(dim: int, **tensors: torch.Tensor) -> int:
    """`dim` counted from 0, if the tensors are of one shape, of floats, and have it.

    Raises:
        UsageError: they are not.
    """
    first = next(iter(tensors.values()))
    for name, x in tensors.items():
        if not dense(name, x, meta=True).is_floating_point() or x.dtype.itemsize < 2:
            needed = "floats of 16 bits or more"
            raise usage_error(name, x.dtype, needed, f"use {name}.float()")
        if x.shape != first.shape:
            got, needed = tuple(x.shape), f"the other's shape, {tuple(first.shape)}"
            raise usage_error(f"shape of {name}", got, needed, "pass tensors alike")
    sizes = max(first.dim(), 1)
    if not -sizes <= dim < sizes:
        needed = f"a dimension from {-sizes} to {sizes - 1}"
        raise usage_error("dim", dim, needed, "use -1 for the last one")
    return dim % sizes
