"""The type in which references are computed."""

from __future__ import annotations

import torch

__all__ = ["wider"]

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
