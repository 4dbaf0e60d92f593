"""Provide inputs, poisoned outputs, float64 references and tolerances for kernels over rows and
columns.

`arch` is the virtual GPU's architecture, or None for the GPU; tests with `WHERE` run on both.
"""

from __future__ import annotations

import math

import pytest
import torch

from forgekit.ops.launching import clusters_of

DTYPES = (torch.float16, torch.bfloat16, torch.float32)
WHERE = [
    pytest.param("sm_90a", id="virtual"),
    pytest.param(None, id="gpu", marks=pytest.mark.gpu),
]

MARGIN = 64  # elements before and after an output, which no kernel may write
NAN, INF = math.nan, math.inf


def need_clusters(blocks: int, arch: str | None) -> None:
    """Skip the test if a cluster cannot have this many blocks."""
    if blocks > clusters_of(arch):
        pytest.skip("clusters of this size are not supported here")


# -- tensors --------------------------------------------------------------------------------------
def device_of(arch: str | None) -> str:
    return "cpu" if arch else "cuda"


def normal(*shape: int, dtype: torch.dtype = torch.float32, arch: str | None = "sm_90a",
           scale: float = 1.0) -> torch.Tensor:  # fmt: skip
    """Return normally distributed values, the same for each shape."""
    generator = torch.Generator().manual_seed(sum(shape) + len(shape))
    return (torch.randn(shape, generator=generator) * scale).to(dtype).to(device_of(arch))


def integers(*shape: int, dtype: torch.dtype = torch.float32,
             arch: str | None = "sm_90a") -> torch.Tensor:  # fmt: skip
    """Return integers from 1 to 99; their sums are exact in float32, in any order, if they are
    below 2^24."""
    generator = torch.Generator().manual_seed(sum(shape) + len(shape))
    return torch.randint(1, 100, shape, generator=generator).to(dtype).to(device_of(arch))


def placed(x: torch.Tensor, offset: int, apart: int) -> torch.Tensor:
    """Return the matrix x with its first element `offset` elements after a 16-byte boundary, rows
    `apart` elements apart, and NaN around it."""
    M, N = x.shape
    memory = torch.full((offset + M * apart + N,), NAN, dtype=x.dtype, device=x.device)
    return memory.as_strided((M, N), (apart, 1), offset).copy_(x)


class Output:
    """A contiguous tensor full of NaN, surrounded by NaN that must not change."""

    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype, arch: str | None) -> None:
        size = math.prod(shape)
        self.memory = torch.full((size + 2 * MARGIN,), NAN, dtype=dtype, device=device_of(arch))
        self.tensor = self.memory[MARGIN : MARGIN + size].view(shape)

    def read(self) -> torch.Tensor:
        """Check the surrounding memory, and return the result on the CPU."""
        around = torch.cat([self.memory[:MARGIN], self.memory[-MARGIN:]])
        assert around.isnan().all(), "written outside the output"
        return self.tensor.cpu()


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    bits = torch.int16 if a.element_size() == 2 else torch.int32
    return torch.equal(a.contiguous().view(bits), b.contiguous().view(bits))


# -- references -----------------------------------------------------------------------------------
def rounding(dtype: torch.dtype) -> float:
    """Return the maximum relative error of rounding to nearest."""
    return torch.finfo(dtype).eps / 2


def worst(error: torch.Tensor, allowed: torch.Tensor) -> float:
    """Return the largest error in units of the allowed error; infinite for NaN."""
    return float((error / allowed).nan_to_num(INF).max()) if error.numel() else 0.0


def assert_sums(y: torch.Tensor, x: torch.Tensor, dim: int) -> None:
    """Check that the error of sums is at most one rounding of the result plus 2^-20 of the sum of
    magnitudes (16 float32 roundings)."""
    x = x.cpu().double()
    expected = x.sum(dim)
    allowed = rounding(y.dtype) * expected.abs() + 2**-20 * x.abs().sum(dim) + 1e-30
    assert y.shape == expected.shape
    assert worst((y.double() - expected).abs(), allowed) <= 1


def assert_softmax(y: torch.Tensor, x: torch.Tensor, dim: int) -> None:
    """Check that the error of results is at most one rounding plus float32's error in the exponent,
    16 + 4 |x - max| roundings. The only absolute tolerance is the smallest number of y's type."""
    x = x.cpu().double()
    expected = x.softmax(dim)
    exponent = x.amax(dim, keepdim=True) - x
    allowed = (rounding(y.dtype) + (16 + 4 * exponent) * 2**-24) * expected
    assert y.shape == expected.shape
    assert worst((y.double() - expected).abs(), allowed + smallest(y.dtype)) <= 1


def assert_gradient(dx: torch.Tensor, dy: torch.Tensor, y: torch.Tensor, dim: int) -> None:
    """Check that the error of gradients is at most one rounding of the result plus 2^-20 of the
    magnitudes that cancel."""
    dy, y = dy.cpu().double(), y.cpu().double()
    product = dy * y
    expected = (dy - product.sum(dim, keepdim=True)) * y
    magnitude = (dy.abs() + product.abs().sum(dim, keepdim=True)) * y.abs()
    allowed = rounding(dx.dtype) * expected.abs() + 2**-20 * magnitude + smallest(dx.dtype)
    assert dx.shape == expected.shape
    assert worst((dx.double() - expected).abs(), allowed) <= 1


def smallest(dtype: torch.dtype) -> float:
    """Return an absolute tolerance: half of the smallest float16 number or, for other types, the
    smallest normal number, because results below it may be flushed to zero."""
    return 2**-24 if dtype == torch.float16 else torch.finfo(dtype).tiny


def assert_like_torch(y: torch.Tensor, x: torch.Tensor, dim: int) -> None:
    """Check that y equals torch's softmax on the CPU, with NaN equal to NaN."""
    expected = x.cpu().softmax(dim)
    rtol = max(2e-6, torch.finfo(y.dtype).eps)
    torch.testing.assert_close(y, expected, rtol=rtol, atol=smallest(y.dtype), equal_nan=True)


def extremes(size: int, dtype: torch.dtype = torch.float32, arch: str | None = "sm_90a",
             vector: int = 1) -> torch.Tensor:  # fmt: skip
    """Return rows of values that are hard for a softmax, (rows, size): all equal, mixed, and single
    values in the first, last and neighbouring elements, at the ends of vectors and in the
    middle."""
    big, tiny = torch.finfo(dtype).max, torch.finfo(dtype).smallest_normal / 8
    usual = torch.arange(size) % 7 * 0.5
    filled = (-INF, INF, NAN, big, -big, tiny, 0.0)
    mixed = ((-INF, -INF, 3, -INF, 4), (INF, -INF, 0, NAN, 1), (big, -big, big, 0, 1),
             (tiny, -tiny, 0, 2 * tiny), (88, 89, -100, -104, 0))  # fmt: skip
    rows = [torch.full((size,), float(v)) for v in filled]
    rows += [torch.tensor(m).float().repeat(-(-size // len(m)))[:size] for m in mixed]
    places = {0, 1, vector - 1, vector, size // 2, size - vector, size - 2, size - 1}
    for place in sorted({p for p in places if 0 <= p < size}):
        for value in (-INF, INF, NAN, big, -big):
            row = usual.clone()
            row[place] = value
            rows.append(row)
        alone = torch.full((size,), -INF)
        alone[place] = 2.0
        rows.append(alone)
    return torch.stack(rows).to(dtype).to(device_of(arch))
