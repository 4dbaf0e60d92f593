"""Implement floating-point arithmetic on NumPy arrays, rounded as PTX requires.

NumPy rounds to nearest even, and lacks a fused multiply-add, directed rounding (`.rz/.rm/.rp`),
flushing of subnormals, and bfloat16; PTX requires all of these, with a single rounding per
operation. The functions in this module round exact values: the product of two float32 values is
exact in float64, and a sum keeps its rounding error (Knuth's TwoSum). `fma` for float64 follows
Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using
rounding to odd" (2008).

A bfloat16 value is stored as uint16, the upper half of the equal float32 value.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray

_TINY32 = np.float32(2.0**-126)  # the smallest normal float32
_MAGNITUDE = {2: np.uint16(0x7FFF), 4: np.uint32(0x7FFFFFFF)}
_MANTISSA = {2: np.uint16(10), 4: np.uint32(23)}  # mantissa bits, by the value's width in bytes
_BITS: dict[int, np.dtype[Any]] = {2: np.dtype("u2"), 4: np.dtype("u4")}
# The NaN that a GPU's arithmetic returns, regardless of the operands' payloads.
CANONICAL_NAN_16 = np.uint16(0x7FFF)  # float16 and bfloat16
_CANONICAL_NAN: dict[int, Any] = {
    2: CANONICAL_NAN_16.view(np.float16), 4: np.uint32(0x7FFFFFFF).view(np.float32),
}  # fmt: skip
_QUIET_64, _INVALID_64 = np.uint64(1 << 51), np.uint64(0xFFF8 << 48)


def flush(x: Array) -> Array:
    """Apply `.ftz`: flush subnormal float16 or float32 values to zero with the same sign."""
    width = x.dtype.itemsize
    one = _BITS[width].type(1)
    magnitude = x.view(_BITS[width]) & _MAGNITUDE[width]
    small = magnitude - one < (one << _MANTISSA[width]) - one  # False for 0: 0 - 1 wraps
    if not small.any():
        return x
    return np.where(small, np.copysign(x.dtype.type(0), x), x)


def saturate(x: Array) -> Array:
    """Apply `.sat`: clamp to [0, 1]; NaN becomes +0."""
    one, zero = x.dtype.type(1), x.dtype.type(0)
    return np.where(x > zero, np.minimum(x, one), zero)


def relu(x: Array) -> Array:
    """Apply `.relu`: negative numbers and -0 become +0; NaN stays NaN."""
    return np.where(x <= 0, x.dtype.type(0), x)


def canonical_nan(x: Array) -> Array:
    """Replace NaNs in float16 or float32 results with the GPU's canonical NaN, 0x7FFF or
    0x7FFFFFFF."""
    nan = np.isnan(x)
    if nan.any():
        return np.where(nan, _CANONICAL_NAN[x.dtype.itemsize], x)
    return x


def first_nan(result: Array, *operands: Array) -> Array:
    """Replace NaNs in float64 results with the first NaN operand, made quiet.

    If no operand is NaN, the NaN has a negative sign and a zero payload. (Processors differ in the
    signs and payloads of NaN results.)
    """
    nan = np.isnan(result)
    if not nan.any():
        return result
    bits = np.full(result.shape, _INVALID_64)
    for x in reversed(operands):
        bits = np.where(np.isnan(x), x.view(np.uint64) | _QUIET_64, bits)
    return np.where(nan, bits.view(np.float64), result)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the rounded sum, and its exact rounding error; the error is 0 if the sum is not
    finite."""
    s = a + b
    part = s - a
    error = (a - (s - part)) + (b - part)
    return s, np.where(np.isfinite(s), error, 0.0)


def _to_odd(s: Array, error: Array) -> Array:
    """Round the exact value `s + error` to odd, in float64; s is the float64 nearest to this
    value."""
    bits = s.view(np.int64)
    adjust = (error != 0) & ((bits & 1) == 0)
    if not adjust.any():
        return s
    # Move s one step in the direction of the error: away from zero if error and s have the same
    # sign.
    step = np.where((error > 0) == (s > 0), 1, -1)
    moved = np.where(s == 0, error, (bits + step).view(np.float64))
    return np.where(adjust, moved, s)


# -- directed rounding ------------------------------------------------------------------------
def directed(nearest: Array, side: Array, mode: str) -> Array:
    """Return the exact result rounded in `mode` (rn, rz, rm or rp), given the nearest float.

    side: the sign of the exact result minus `nearest`; 0 or NaN if `nearest` is the result.
    """
    if mode == "rn":
        return nearest
    down, up = side < 0, side > 0
    if mode == "rz":
        down, up = down & (nearest > 0), up & (nearest < 0)
    result, kind = nearest, nearest.dtype.type
    if mode != "rp" and down.any():
        result = np.where(down, np.nextafter(nearest, kind(-np.inf)), result)
    if mode != "rm" and up.any():
        result = np.where(up, np.nextafter(nearest, kind(np.inf)), result)
    return result


def _side(s: Array, error: Array | None, back: Array) -> Array:
    """Return the sign of `s + error - back`; NaN if both are infinite."""
    side = np.sign(s - back)
    return side if error is None else np.where(side == 0, np.sign(error), side)


def round_to_f32(s: Array, error: Array | None, mode: str) -> Array:
    """Round the exact value `s + error` (a float64 value and its error) to float32, with one
    rounding."""
    if mode == "rn":
        return (s if error is None else _to_odd(s, error)).astype(np.float32)
    nearest = s.astype(np.float32)
    return directed(nearest, _side(s, error, nearest.astype(np.float64)), mode)


def fma32(a: Array, b: Array, c: Array, mode: str = "rn") -> Array:
    """Return float32 `a*b + c`, rounded once."""
    product = a.astype(np.float64) * b.astype(np.float64)
    c64 = c.astype(np.float64)
    s = product + c64
    if mode == "rn":
        # The float64 sum is sufficient unless it is a tie between two float32 values, or the result
        # is subnormal or nearly subnormal. Such results have fewer bits, so other values are ties.
        bits = s.view(np.int64)
        tie = ((bits & 0x1FFFFFFF) == 0x10000000).any()
        result = s.astype(np.float32)
        if not tie and (np.abs(result) > _TINY32).all():
            return result
    s, error = two_sum(product, c64)
    if mode == "rm":  # rounded down, an exact zero from opposite signs is -0
        zero = (s == 0) & (error == 0) & (np.signbit(product) != np.signbit(c64))
        return np.where(zero, np.float32(-0.0), round_to_f32(s, error, mode))
    return round_to_f32(s, error, mode)


def add32(a: Array, b: Array, mode: str) -> Array:
    """Return float32 `a + b` with directed rounding (`rz`, `rm`, `rp`)."""
    return fma32(a, np.ones_like(a), b, mode)


def mul32(a: Array, b: Array, mode: str) -> Array:
    """Return float32 `a * b` with directed rounding."""
    return round_to_f32(a.astype(np.float64) * b.astype(np.float64), None, mode)


def div32(a: Array, b: Array, mode: str) -> Array:
    """Return float32 `a / b`; the remainder, exact in float64, determines the rounding
    direction."""
    quotient = a / b
    if mode == "rn":
        return quotient
    rest = a.astype(np.float64) - quotient.astype(np.float64) * b.astype(np.float64)
    return directed(quotient, np.sign(rest) * np.sign(b), mode)


def sqrt32(a: Array, mode: str) -> Array:
    """Return the float32 square root; the remainder determines the rounding direction, as in
    `div32`."""
    root = np.sqrt(a)
    if mode == "rn":
        return root
    wide = root.astype(np.float64)
    return directed(root, np.sign(a.astype(np.float64) - wide * wide), mode)


# -- float64 ----------------------------------------------------------------------------------
def fma64(a: Array, b: Array, c: Array) -> Array:
    """Return float64 `a*b + c`, rounded once.

    Boldo and Melquiond's algorithm is exact except near overflow and underflow; there, rational
    arithmetic computes each value separately.
    """
    split = 134217729.0  # 2**27 + 1, Dekker's splitting
    a, b, c = np.broadcast_arrays(a, b, c)
    product = a * b
    simple = product + c

    def halves(x: Array) -> tuple[Array, Array]:
        t = split * x
        high = t - (t - x)
        return high, x - high

    (ah, al), (bh, bl) = halves(a), halves(b)
    low = ((ah * bh - product) + ah * bl + al * bh) + al * bl
    th, tl = two_sum(c, low)
    vh, vl = two_sum(product, th)
    z, ze = two_sum(tl, vl)
    result = vh + _to_odd(z, ze)
    result = np.where(result == 0, simple, result)  # restores the sign of an exact zero
    largest = np.maximum(np.maximum(np.abs(a), np.abs(b)), np.abs(c))
    size = np.abs(product)
    tame = (largest < 2.0**990) & (size < 2.0**990) & ((size > 2.0**-900) | (a == 0) | (b == 0))
    if not tame.all():
        result = np.where(tame, result, simple)
        plain = np.isinf(c) & np.isfinite(a) & np.isfinite(b)  # even if a*b overflows
        result = np.where(plain, c, result)
        for at in np.argwhere(~tame & np.isfinite(largest)):
            i = tuple(at)
            result[i] = _exact_fma(float(a[i]), float(b[i]), float(c[i]), float(simple[i]))
    return result


def _exact_fma(a: float, b: float, c: float, simple: float) -> float:
    """Return `a*b + c` for finite numbers, rounded once; simple: `a*b + c`, rounded twice."""
    total = Fraction(a) * Fraction(b) + Fraction(c)
    if total == 0:
        return simple
    try:
        return float(total)  # to nearest even, even if the result is subnormal
    except OverflowError:
        return np.inf if total > 0 else -np.inf


# -- 16-bit formats ---------------------------------------------------------------------------
def bf16_to_f32(x: Array) -> Array:
    return (x.astype(np.uint32) << np.uint32(16)).view(np.float32)


def f32_to_bf16(x: Array, mode: str = "rn") -> Array:
    """Convert float32 to bfloat16 (uint16); NaN becomes the canonical 0x7FFF."""
    bits = np.ascontiguousarray(x).view(np.uint32)
    if mode == "rn":
        rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    elif mode == "rna":
        rounded = bits + np.uint32(0x8000)
    elif mode == "rz":
        rounded = bits
    else:  # rm, rp: away from zero for one of the signs
        negative = (bits >> np.uint32(31)).astype(bool)
        away = negative if mode == "rm" else ~negative
        rounded = np.where(away, bits + np.uint32(0xFFFF), bits)
    result: Array = (rounded >> np.uint32(16)).astype(np.uint16)
    nan = np.isnan(x)
    if nan.any():
        result = np.where(nan, CANONICAL_NAN_16, result)
    return result


def f64_to_bf16(s: Array, error: Array) -> Array:
    """Round the exact value `s + error` to bfloat16, to nearest even, with one rounding."""
    # After rounding to odd with 24 bits (float32), rounding to 8 bits is correct.
    odd = _to_odd(s, error)
    nearest: Array = odd.astype(np.float32)
    back = nearest.astype(np.float64)
    inexact = (back != odd) & np.isfinite(nearest)
    even = (nearest.view(np.uint32) & np.uint32(1)) == 0
    towards = np.where(odd > back, np.float32(np.inf), np.float32(-np.inf))
    as_odd = np.where(inexact & even, np.nextafter(nearest, towards), nearest)
    return f32_to_bf16(as_odd)


def f32_to_f16(x: Array, mode: str = "rn") -> Array:
    """Convert float32 or float64 to float16; NaN becomes the canonical 0x7FFF."""
    nearest = x.astype(np.float16)
    side = None if mode == "rn" else _side(x.astype(np.float64), None, nearest.astype(np.float64))
    return canonical_nan(nearest if side is None else directed(nearest, side, mode))


def fma16(a: Array, b: Array, c: Array) -> Array:
    """Return float16 `a*b + c`, rounded once."""
    product = a.astype(np.float64) * b.astype(np.float64)
    s, error = two_sum(product, c.astype(np.float64))
    return f32_to_f16(_to_odd(s, error))


def fma_bf16(a: Array, b: Array, c: Array) -> Array:
    """Return bfloat16 `a*b + c`, rounded once; all values are stored as uint16."""
    a64, b64, c64 = (bf16_to_f32(x).astype(np.float64) for x in (a, b, c))
    return f64_to_bf16(*two_sum(a64 * b64, c64))
