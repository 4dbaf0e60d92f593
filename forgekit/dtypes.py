"""The table of element types, with their torch dtypes, CuTe DSL types, bits, NumPy views and
tolerances.

A tolerance (rtol, atol) applies to the comparison of a kernel's result in this type with a
reference computed in fp32 or fp64: |actual - expected| <= atol + rtol * |expected|. rtol covers the
rounding of the result and of a short computation in fp32; 1.6e-2 for bf16 and 1e-3 for fp16 come
from `torch.testing.assert_close`, and are about 4 and 2 units in the last place. The fp32
tolerances are ten times those of `assert_close`, because a row sum or a softmax adds in a different
order from the reference. Integers and booleans are exact.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from forgekit.errors import usage_error


@dataclass(frozen=True)
class DType:
    """An element type. cute_name: its name in the `cutlass` module. rtol, atol: its tolerances; 0
    for exact types."""

    torch_dtype: torch.dtype
    cute_name: str
    rtol: float = 0.0
    atol: float = 0.0

    @property
    def name(self) -> str:
        """Return the dtype's name without `torch.`, such as `float32`."""
        return str(self.torch_dtype).removeprefix("torch.")

    @property
    def is_float(self) -> bool:
        return self.torch_dtype.is_floating_point

    @property
    def bytes(self) -> int:
        """Return the size of an element in bytes."""
        return self.torch_dtype.itemsize

    @property
    def bits(self) -> int:
        return self.bytes * 8

    @property
    def smallest(self) -> float:
        """Return the smallest positive (subnormal) value of a float type; 0 for exact types."""
        if not self.is_float:
            return 0.0
        info = torch.finfo(self.torch_dtype)
        return info.smallest_normal * info.eps

    @property
    def numpy_is_bits(self) -> bool:
        """Return True if NumPy lacks this type, so `numpy_view` shows only the bits."""
        return not hasattr(np, self.name)

    @property
    def numpy_view(self) -> np.dtype[Any]:
        """Return the NumPy dtype of this type or, if `numpy_is_bits`, an unsigned integer dtype of
        the same width, such as uint16 for bfloat16."""
        return np.dtype(f"uint{self.bits}" if self.numpy_is_bits else self.name)


_ROWS = (
    DType(torch.float64, "Float64", 1e-11, 1e-11),
    DType(torch.float32, "Float32", 1e-5, 1e-5),
    DType(torch.float16, "Float16", 1e-3, 1e-5),
    DType(torch.bfloat16, "BFloat16", 1.6e-2, 1e-5),
    DType(torch.float8_e4m3fn, "Float8E4M3FN", 1.25e-1, 1e-3),
    DType(torch.float8_e5m2, "Float8E5M2", 2.5e-1, 1e-3),
    DType(torch.int64, "Int64"),
    DType(torch.int32, "Int32"),
    DType(torch.int16, "Int16"),
    DType(torch.int8, "Int8"),
    DType(torch.uint64, "Uint64"),
    DType(torch.uint32, "Uint32"),
    DType(torch.uint16, "Uint16"),
    DType(torch.uint8, "Uint8"),
    DType(torch.bool, "Boolean"),
)

DTYPES: dict[torch.dtype, DType] = {row.torch_dtype: row for row in _ROWS}
_BY_CUTE_NAME = {row.cute_name: row for row in _ROWS}
_BY_NUMPY = {row.numpy_view: row for row in _ROWS if not row.numpy_is_bits}


def dtype_info(dtype: object) -> DType:
    """Return the table's entry for a torch dtype, a NumPy dtype, a CuTe DSL type, or a type's name.

    Raises:
        UsageError: the table lacks the type (complex numbers, for example).
    """
    found: DType | None = None
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", "")
    if isinstance(dtype, DType):
        found = dtype
    elif isinstance(dtype, torch.dtype):
        found = DTYPES.get(dtype)
    elif name in _BY_CUTE_NAME:
        found = _BY_CUTE_NAME[name]
    else:
        with contextlib.suppress(TypeError, ValueError, RuntimeError):  # not a NumPy dtype
            found = _BY_NUMPY.get(np.dtype(dtype))  # type: ignore[call-overload]
    if found is None:
        names = ", ".join(row.name for row in _ROWS)
        raise usage_error("dtype", dtype, f"one of {names}", "convert the tensor with .to(dtype)")
    return found


def cute_type(dtype: object) -> Any:
    """Return the CuTe DSL type for a dtype, such as `cutlass.Float32`; imports cutlass.

    Raises:
        UsageError: the table lacks the type.
    """
    import cutlass

    return getattr(cutlass, dtype_info(dtype).cute_name)


def scaled_atol(dtype: object, scale: float) -> float:
    """Return the atol for expected values whose root mean square is `scale`: the table's atol,
    reduced if `scale` is below 1, but at least the dtype's smallest positive value."""
    row = dtype_info(dtype)
    return max(row.atol * min(1.0, scale or 1.0), row.smallest) if row.is_float else row.atol


def tolerance(dtype: object) -> tuple[float, float]:
    """Return (rtol, atol) for the comparison of results of this dtype with an fp32 or fp64
    reference; (0, 0) for exact dtypes."""
    row = dtype_info(dtype)
    return row.rtol, row.atol
