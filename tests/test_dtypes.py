"""Compare the table of element types with torch, NumPy and CuTe DSL."""

import numpy as np
import pytest
import torch

from forgekit.dtypes import DTYPES, cute_type, dtype_info, tolerance
from forgekit.errors import UsageError

ROWS = list(DTYPES.values())
NAMES = [row.name for row in ROWS]


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_row_agrees_with_torch_and_numpy(row):
    assert row.bits == row.torch_dtype.itemsize * 8 == row.numpy_view.itemsize * 8
    assert row.bytes * 8 == row.bits
    values = torch.zeros(3, dtype=row.torch_dtype)
    if row.numpy_is_bits:
        assert values.view(getattr(torch, row.numpy_view.name)).numpy().dtype == row.numpy_view
    else:
        assert values.numpy().dtype == row.numpy_view


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_row_agrees_with_cute(row):
    kind = cute_type(row.torch_dtype)
    assert kind.__name__ == row.cute_name
    assert kind.width == (1 if row.cute_name == "Boolean" else row.bits)
    assert dtype_info(kind) is row


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_found_by_all_names(row):
    assert dtype_info(row.torch_dtype) is dtype_info(row.cute_name) is dtype_info(row) is row
    if not row.numpy_is_bits:
        assert dtype_info(row.numpy_view) is row
        assert dtype_info(row.numpy_view.type) is row


@pytest.mark.parametrize("row", [r for r in ROWS if r.is_float], ids=lambda r: r.name)
def test_tolerance_covers_one_rounding_and_little_more(row):
    """Compare tolerances with eps/2, the largest error of one rounding to nearest; a smaller
    tolerance would reject correct results."""
    eps = torch.finfo(row.torch_dtype).eps
    assert eps / 2 <= row.rtol <= max(100_000 * eps if row.bits == 64 else 100 * eps, 2 * eps)
    assert tolerance(row.torch_dtype) == (row.rtol, row.atol)


@pytest.mark.parametrize("row", [r for r in ROWS if r.is_float], ids=lambda r: r.name)
def test_smallest_value(row):
    smallest = torch.tensor(row.smallest, dtype=torch.float64)
    assert smallest.to(row.torch_dtype).double() == smallest
    assert (smallest / 2).to(row.torch_dtype).double() == 0


def test_exact_types_have_no_tolerance():
    for dtype in (torch.int32, torch.uint8, torch.bool, np.int64):
        assert tolerance(dtype) == (0, 0)


@pytest.mark.parametrize("dtype", [torch.complex64, "Float7", np.dtype("U3"), object()])
def test_others_are_refused(dtype):
    with pytest.raises(UsageError, match=r"dtype: got .*, needed one of float64, float32"):
        dtype_info(dtype)
