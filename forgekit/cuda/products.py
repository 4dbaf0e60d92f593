"""Multiply half-precision matrices on "cuda", with the same bits as on tensor cores.

Scripts that compare a kernel's product with torch's expect equal bits, because cuBLAS and the
kernel add in the same way: in float32, 16 products at a time, in order. On the CPU, torch's product
rounds about one element in a thousand differently.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from forgekit.vgpu import tensor_cores

_STEP = 16  # the number of products that one instruction adds
_MOST = 1 << 30  # multiplications in about 2 s; torch's CPU product computes larger cases
_KINDS = {torch.float16: "f16", torch.bfloat16: "bf16"}
_aten = torch.ops.aten
_PRODUCTS = (_aten.mm.default, _aten.bmm.default)
_WITH_TYPE = (_aten.mm.dtype, _aten.bmm.dtype)  # overloads with a result dtype, which the CPU lacks
_SUMS = (_aten.addmm.dtype, _aten.baddbmm.dtype)


def product(func: Any, args: tuple, kwargs: dict[str, Any]) -> torch.Tensor | None:
    """Return the product of two matrices, or None for other operations, types and sizes."""
    if func in _PRODUCTS:
        total = _product(*args[:2])
        return total if total is None else total.to(args[0].dtype)
    if func not in _WITH_TYPE + _SUMS:
        return None
    *terms, a, b, dtype = args
    if dtype not in (a.dtype, torch.float32) or a.dtype not in (*_KINDS, torch.float32):
        return None
    total = _product(a, b)
    total = a.float() @ b.float() if total is None else total
    if terms:
        total = kwargs.get("beta", 1) * terms[0] + kwargs.get("alpha", 1) * total
    return total.to(dtype)


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor | None:
    """Return the product in float32, added as tensor cores add, or None for other types and
    sizes."""
    if a.dtype not in _KINDS or a.dtype != b.dtype:
        return None
    is_batch = a.dim() == 3
    a, b = (t if is_batch else t[None] for t in (a, b))
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
    result = torch.from_numpy(total)
    return result if is_batch else result[0]


def _codes(matrix: torch.Tensor) -> np.ndarray:
    """Return the bits of a matrix. (Unlike `Tensor.numpy`, the base class's method works on
    "cuda".)"""
    bits = matrix.contiguous().view(torch.int16)
    return torch._C.TensorBase.numpy(bits).view(np.uint16)
