"""Model the arithmetic of tensor cores: dot products whose terms are truncated at a common binary
place and then added exactly.

A floating-point result is computed as an H200's `mma.sync` computes it, after Xie et al., "MMA-Sim:
Bit-Accurate Reference Model of Tensor Cores and Matrix Cores" (arXiv 2511.10909, 2025), who extend
Fasi et al., "Numerical behavior of NVIDIA tensor cores" (PeerJ Computer Science, 2021):

1. Products of a row and a column are exact; the largest exponent among the K products and c is
   found (a product's exponent is the sum of its factors' exponents; a subnormal number has the
   exponent of the smallest normal number).
2. All terms are truncated, towards zero, 25 binary places below that exponent, and added without
   rounding.
3. The sum is truncated to float32, or rounded to nearest even to float16.

`wgmma` adds its K products in the same way. For FP8, `mma.sync` has no special unit (see
`_fp8_multiply_add`), but `wgmma` has one, which keeps 13 binary places of terms and of results
(`FP8_UNIT`).

The last axis of a matrix is the longest (the warps of `mma.sync`, or the columns of `wgmma`), so
that NumPy's inner loops are long.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from forgekit.vgpu import floats, fp8
from forgekit.vgpu.floats import Array


class Unit(NamedTuple):
    """The precision of a tensor core.

    places: the number of bits of each term that are kept below the largest exponent; fraction: the
    number of fraction bits that are kept in a float32 sum.
    """

    places: int
    fraction: int


UNIT = Unit(25, 23)  # of the Hopper architecture
FP8_UNIT = Unit(13, 13)  # of Hopper's `wgmma`
_NOTHING = -8000  # the exponent of zero, less than any product's exponent
# The minimum exponent of each type's normal numbers.
LEAST = {"f16": -14, "bf16": -126, "tf32": -126, "e4m3": -6, "e5m2": -14, "f32": -126}
WIDTHS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8}  # in bits
# Products with exponents in this range, and their scale factors, are normal numbers in float32.
_LOW, _HIGH = -100, 125
_EXACT_SUM = 16  # the number of 27-bit terms whose sum fits into an int32
_AT_ONCE = 1 << 15  # sums computed together, so that temporary arrays stay in the CPU's L2 cache


class Matrix(NamedTuple):
    """The rows of A, or the columns of B, of many warps or warpgroups.

    values: float32, of shape (rows, K, …); exponents: int16, of the same shape; low, high: the
    lowest and the highest exponent of nonzero values; finite: True if there are no infinities or
    NaNs; halves: True if FP8 values are stored as fp16, the first halves of all registers before
    the second halves.
    """

    values: Array
    exponents: Array
    low: int
    high: int
    finite: bool
    halves: bool = False

    def columns(self, chosen: slice) -> Matrix:
        """Return a slice, along K, of a matrix that is stored in halves."""
        values, exponents = self.values[:, chosen], self.exponents[:, chosen]
        return self._replace(values=values, exponents=exponents, halves=False)


def matrix(codes: Array, kind: str, *, halves: bool = False) -> Matrix:
    """Return the matrix whose elements have these unsigned codes.

    codes: an array of shape (rows, K, …). kind: the element type, a key of `LEAST`. halves: True to
    convert FP8 values to fp16; each register then contains four codes, and the last axis counts
    warps.
    """
    least = LEAST["f16" if halves else kind]
    if halves:
        of_registers = codes.reshape(codes.shape[0], -1, 2, 2, codes.shape[2])
        codes = of_registers.swapaxes(1, 2).reshape(codes.shape)
    values = to_f32(codes, kind)
    exponents = _exponents(values, least)
    high = int(exponents.max())
    return Matrix(values, exponents, _lowest(exponents, least), high, bool(high < 128), halves)


def _lowest(exponents: Array, least: int) -> int:
    if least > -127 // 2:  # the product of two values is never too small
        return least
    return int(np.where(exponents == _NOTHING, np.int16(0), exponents).min())


def to_f32(codes: Array, kind: str) -> Array:
    """Return the float32 values of a type's codes; tf32 ignores the lowest 13 bits."""
    if kind == "f16":
        return codes.view(np.float16).astype(np.float32)
    if kind == "bf16":
        return floats.bf16_to_f32(codes)
    if kind == "tf32":
        return (codes & np.uint32(0xFFFFE000)).view(np.float32)
    return fp8.to_f32(codes, kind)


def _exponents(values: Array, least: int) -> Array:
    exponents = np.maximum(_fields(values) - np.int16(127), np.int16(least))
    return np.where(values == 0, np.int16(_NOTHING), exponents)


def _fields(values: Array) -> Array:
    """Return the exponent fields of float32 values, as int16."""
    return (values.view(np.int32) >> 23).astype(np.int16) & np.int16(0xFF)


def multiply_add(a: Matrix, b: Matrix, c: Array, unit: Unit = UNIT) -> Array:
    """Return A B + c for many warps.

    a: of shape (M, K, …); b: B's columns, of shape (N, K, …); c: float32 or float16, of shape (M,
    N, …), like the result.
    """
    if a.halves:
        return _fp8_multiply_add(a, b, c)
    result = np.empty_like(c)
    rows = max(_AT_ONCE // max(c[0].size, 1), 1)
    for start in range(0, len(c), rows):
        here = slice(start, start + rows)
        part = a._replace(values=a.values[here], exponents=a.exponents[here])
        result[here] = _dot(part, b, c[here], unit)
    return result


def _fp8_multiply_add(a: Matrix, b: Matrix, c: Array) -> Array:
    """Multiply and add FP8 matrices as an H200 does.

    The rule was derived from an H200's results, and agrees with all 12,288 of them: registers are
    converted to fp16; starting from zero, the products of their first halves are added, then those
    of the second halves; c is added last, and the sum is rounded to nearest even.
    """
    half = a.values.shape[1] // 2
    total = np.zeros_like(c)
    for part in (slice(half), slice(half, None)):
        total = multiply_add(a.columns(part), b.columns(part), total)
    with np.errstate(over="ignore", invalid="ignore"):
        return floats.canonical_nan(total + c)


def _dot(a: Matrix, b: Matrix, c: Array, unit: Unit) -> Array:
    top = _largest_exponents(a, b, c)
    highest = int(top.max())
    tiny = int(top.min()) < _LOW
    if tiny:  # products this small are zero, unless a factor is tiny
        tiny = bool(c[top < _LOW].any())
        np.maximum(top, np.int16(_LOW), out=top)
    usual = a.finite and b.finite and a.low + b.low >= _LOW and a.high + b.high <= _HIGH
    if tiny or highest > _HIGH or not usual:
        return _dot_far(a, b, c, unit)
    scale = _power_of_two(unit.places - top)
    total = _sum_of_products(a, b, scale)
    own = c.astype(np.float32, copy=False) * scale
    wide = total + np.trunc(own)  # float64, exact
    if c.dtype == np.float32:
        wide = _cut(wide, unit.fraction).astype(np.float32)
        wide *= _power_of_two(top - np.int16(unit.places))
        return wide
    return (wide * _power_of_two(top - np.int16(unit.places))).astype(np.float16)


def _dot_far(a: Matrix, b: Matrix, c: Array, unit: Unit) -> Array:
    """Compute dot products in float64, for extreme exponents, infinities or NaNs."""
    top = np.maximum(_largest_exponents(a, b, c), np.int16(LEAST["f32"])).astype(np.int64)
    scale = _wide_power_of_two(unit.places - top)
    total = _sum_of_products(a, b, scale) + np.trunc(c.astype("f8") * scale)
    total *= _wide_power_of_two(top - unit.places)
    if c.dtype == np.float32:
        step = 2.0 ** (-126 - unit.fraction)
        subnormal = np.abs(total) < 2.0**-126
        total = np.where(subnormal, np.trunc(total / step) * step, _cut(total, unit.fraction))
    result = total.astype(c.dtype)
    if not (a.finite and b.finite and np.isfinite(c).all()):
        plain = c.astype("f8")
        for k in range(a.values.shape[1]):
            plain += a.values[:, None, k].astype("f8") * b.values[None, :, k]
        result = np.where(np.isfinite(plain), result, plain.astype(c.dtype))
    return floats.canonical_nan(result)


def _cut(x: Array, fraction: int) -> Array:
    """Truncate float64 values to `fraction` fraction bits."""
    return (x.view(np.int64) & np.int64(-1 << (52 - fraction))).view(np.float64)


def _largest_exponents(a: Matrix, b: Matrix, c: Array) -> Array:
    """Return the largest exponent among the terms of each sum, as int16."""
    if c.dtype == np.float16:
        top = _exponents(c.astype(np.float32), LEAST["f16"])
    else:  # zero has the exponent of the smallest normal number
        top = np.maximum(_fields(c) - np.int16(127), np.int16(LEAST["f32"]))
    one = np.empty_like(top)
    for k in range(a.values.shape[1]):
        np.add(a.exponents[:, None, k], b.exponents[None, :, k], out=one)
        np.maximum(top, one, out=top)
    return top


def _sum_of_products(a: Matrix, b: Matrix, scale: Array) -> Array:
    """Return the sums of the scaled products, each truncated to an integer, in float64.

    scale: powers of two, of a type in which products and scaled products are exact.
    """
    left, right = (x.values.astype(scale.dtype, copy=False) for x in (a, b))
    product, cut = np.empty_like(scale), np.empty(scale.shape, np.int32)
    part, total = np.zeros(scale.shape, np.int32), None
    for k in range(left.shape[1]):
        np.multiply(left[:, None, k], right[None, :, k], out=product)
        np.multiply(product, scale, out=product)
        np.copyto(cut, product, casting="unsafe")  # rounds towards zero
        part += cut
        if k % _EXACT_SUM == _EXACT_SUM - 1 and k + 1 < left.shape[1]:
            total = part.astype("f8") if total is None else total + part
            part[:] = 0
    return part.astype("f8") if total is None else total + part


def _power_of_two(exponent: Array) -> Array:
    """Return 2.0**exponent as float32, for int16 exponents of normal numbers."""
    return ((exponent + np.int16(127)).astype(np.int32) << 23).view(np.float32)


def _wide_power_of_two(exponent: Array) -> Array:
    """Return 2.0**exponent as float64, for int64 exponents of normal numbers."""
    return ((exponent + 1023) << 52).view(np.float64)


def multiply_add_integers(a: Array, b: Array, c: Array, *, saturate: bool) -> Array:
    """Like `multiply_add`, but for int8 or uint8 matrices and int32 sums, which wrap or
    saturate."""
    # A sum of at most 32 16-bit products is exact in float32.
    product = np.matmul(
        np.moveaxis(a, -1, 0).astype("f4"), np.moveaxis(b, -1, 0).swapaxes(1, 2).astype("f4")
    )
    total = np.moveaxis(product, 0, -1).astype(np.int64) + c
    if saturate:
        limits = np.iinfo(np.int32)
        total = total.clip(limits.min, limits.max)
    return total.astype(np.int32)
