"""Products of half-precision matrices on "cuda", with the bits of tensor cores.

Scripts compare a kernel's product with torch's and ask for equal bits, as cuBLAS adds up like the
kernel: in float32, 16 products at a time, in order. The CPU's own product has other roundings in
one of a thousand elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from forgekit.vgpu import tensor_cores

_STEP = 16  # products that one instruction adds up
_MOST = 1 << 30  # products in all: 2 s; beyond that the CPU's
_KINDS = {torch.float16: "f16", torch.bfloat16: "bf16"}
_PRODUCTS = (torch.ops.aten.mm.default, torch.ops.aten.bmm.default)


def product(func: Any, args: tuple) -> torch.Tensor | None:
    """The result of `mm` or `bmm`; None for other operations, types and sizes."""
    if func not in _PRODUCTS or args[0].dtype not in _KINDS or args[0].dtype != args[1].dtype:
        return None
    a, b = (t if t.dim() == 3 else t[None] for t in args[:2])
    batch, rows, depth = a.shape
    columns = b.shape[2]
    if not 0 < batch * rows * depth * columns <= _MOST or b.shape[:2] != (batch, depth):
        return None
    kind = _KINDS[a.dtype]
    left, right = _codes(a), _codes(b.transpose(1, 2))
    total = np.zeros((batch, rows, columns), np.float32)
    for i in range(batch):
        for k in range(0, depth, _STEP):
            x, y = (tensor_cores.matrix(m[i, :, k : k + _STEP], kind) for m in (left, right))
            total[i] = tensor_cores.multiply_add(x, y, total[i])
    result = torch.from_numpy(total).to(a.dtype)
    return result if args[0].dim() == 3 else result[0]


def _codes(matrix: torch.Tensor) -> np.ndarray:
    """The bits. (`numpy` of a tensor on "cuda" is refused; that of its base class is not.)"""
    bits = matrix.contiguous().view(torch.int16)
    return torch._C.TensorBase.numpy(bits).view(np.uint16)
