"""The one table of element types: torch dtype, CuTe DSL type, bits, NumPy view and tolerances.

A tolerance (rtol, atol) is for comparing a kernel's result in this type with a reference computed
in fp32
or fp64: |actual - expected| <= atol + rtol * |expected|. rtol covers the rounding of the result and
of a short computation in fp32; 1.6e-2 for bf16 and 1e-3 for fp16 are those of
`torch.testing.assert_close`, about 4 and 2 units in the last place. fp32 is ten times looser than
there, because a row sum or a softmax adds in another order than the reference does. Integers and
booleans are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from forgekit.errors import usage_error


@dataclass(frozen=True)
class DType:
    """One element type.

    Attributes:
        torch_dtype: the torch dtype.
        cute_name: name of the type in the `cutlass` module, such as `Float32`.
        bits: width of an element in memory.
        numpy_view: NumPy dtype of the same width to view the bits with; equal in meaning unless
            `numpy_is_bits`, where NumPy has no such type (bfloat16 is viewed as uint16).
        rtol, atol: tolerances; 0 for exact types.
        smallest: the smallest positive value (subnormal) of a float type, 0 for exact types.
    """

    torch_dtype: torch.dtype
    cute_name: str
    bits: int
    numpy_view: np.dtype[Any]
    rtol: float = 0.0
    atol: float = 0.0
    smallest: float = 0.0
    numpy_is_bits: bool = False

    @property
    def name(self) -> str:
        """`float32`, without `torch.`."""
        return str(self.torch_dtype).removeprefix("torch.")

    @property
    def is_float(self) -> bool:
        return self.torch_dtype.is_floating_point

    @property
    def bytes(self) -> int:
        return self.bits // 8


def _float(
    torch_dtype: torch.dtype,
    cute_name: str,
    view: type[np.generic],
    tolerances: tuple[float, float],
    smallest: float,
    numpy_is_bits: bool = False,
) -> DType:
    bits = torch_dtype.itemsize * 8
    return DType(torch_dtype, cute_name, bits, np.dtype(view), *tolerances, smallest, numpy_is_bits)


def _exact(torch_dtype: torch.dtype, cute_name: str, view: type[np.generic]) -> DType:
    return DType(torch_dtype, cute_name, torch_dtype.itemsize * 8, np.dtype(view))


_ROWS = (
    _float(torch.float64, "Float64", np.float64, (1e-11, 1e-11), 2.0**-1074),
    _float(torch.float32, "Float32", np.float32, (1e-5, 1e-5), 2.0**-149),
    _float(torch.float16, "Float16", np.float16, (1e-3, 1e-5), 2.0**-24),
    _float(torch.bfloat16, "BFloat16", np.uint16, (1.6e-2, 1e-5), 2.0**-133, True),
    _float(torch.float8_e4m3fn, "Float8E4M3FN", np.uint8, (1.25e-1, 1e-3), 2.0**-9, True),
    _float(torch.float8_e5m2, "Float8E5M2", np.uint8, (2.5e-1, 1e-3), 2.0**-16, True),
    _exact(torch.int64, "Int64", np.int64),
    _exact(torch.int32, "Int32", np.int32),
    _exact(torch.int16, "Int16", np.int16),
    _exact(torch.int8, "Int8", np.int8),
    _exact(torch.uint64, "Uint64", np.uint64),
    _exact(torch.uint32, "Uint32", np.uint32),
    _exact(torch.uint16, "Uint16", np.uint16),
    _exact(torch.uint8, "Uint8", np.uint8),
    _exact(torch.bool, "Boolean", np.bool_),
)

DTYPES: dict[torch.dtype, DType] = {row.torch_dtype: row for row in _ROWS}
_BY_CUTE_NAME = {row.cute_name: row for row in _ROWS}
_BY_NUMPY = {row.numpy_view: row for row in _ROWS if not row.numpy_is_bits}


def dtype_info(dtype: object) -> DType:
    """The table's row for a torch dtype, a NumPy dtype, a CuTe DSL type or a CuTe type's name.

    Raises:
        UsageError: the type is none of the table (complex numbers, for example).
    """
    found: DType | None = None
    if isinstance(dtype, DType):
        found = dtype
    elif isinstance(dtype, torch.dtype):
        found = DTYPES.get(dtype)
    elif isinstance(dtype, str) and dtype in _BY_CUTE_NAME:
        found = _BY_CUTE_NAME[dtype]
    elif getattr(dtype, "__name__", "") in _BY_CUTE_NAME:
        found = _BY_CUTE_NAME[str(getattr(dtype, "__name__", ""))]
    else:
        try:
            found = _BY_NUMPY.get(np.dtype(dtype))  # type: ignore[call-overload]
        except (TypeError, ValueError, RuntimeError):  # what NumPy says of what is no dtype
            found = None
    if found is None:
        names = ", ".join(row.name for row in _ROWS)
        raise usage_error("dtype", dtype, f"one of {names}", "convert the tensor with .to(dtype)")
    return found


def cute_type(dtype: object) -> Any:
    """The CuTe DSL type, such as `cutlass.Float32`, of a torch dtype; imports cutlass.

    Raises:
        UsageError: the type is none of the table.
    """
    import cutlass

    return getattr(cutlass, dtype_info(dtype).cute_name)


def scaled_atol(dtype: object, scale: float) -> float:
    """The table's atol for expected values whose root mean square is `scale`: smaller where they
    are below 1, never below the dtype's smallest value."""
    row = dtype_info(dtype)
    return max(row.atol * min(1.0, scale or 1.0), row.smallest) if row.is_float else row.atol


def tolerance(dtype: object) -> tuple[float, float]:
    """(rtol, atol) for results of this dtype against an fp32 or fp64 reference; (0, 0) if exact."""
    row = dtype_info(dtype)
    return row.rtol, row.atol
