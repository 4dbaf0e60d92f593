"""Compute IEEE arithmetic with rational numbers, as the reference for the opcode tests.

No function here uses floating point: a value is a Fraction, or one of the strings "nan", "inf" and
"-inf"; the sign of a zero is stored separately.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Format:
    """A binary floating-point format: width, explicit mantissa bits, smallest normal exponent."""

    bits: int
    mantissa: int
    emin: int

    @property
    def exponent_mask(self) -> int:
        return (1 << self.bits - 1) - (1 << self.mantissa)

    @property
    def sign_bit(self) -> int:
        return 1 << self.bits - 1

    @property
    def infinity(self) -> int:
        return self.exponent_mask

    @property
    def largest(self) -> int:
        return self.exponent_mask - 1

    @property
    def nan(self) -> int:
        """Return the GPU's canonical NaN."""
        return self.sign_bit - 1


F16, BF16 = Format(16, 10, -14), Format(16, 7, -126)
F32, F64 = Format(32, 23, -126), Format(64, 52, -1022)
FORMATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}


def value(bits: int, form: Format) -> Fraction | str:
    """Return the number that a bit pattern represents."""
    magnitude = bits & (form.sign_bit - 1)
    if magnitude > form.infinity:
        return "nan"
    negative = bool(bits & form.sign_bit)
    if magnitude == form.infinity:
        return "-inf" if negative else "inf"
    exponent, fraction = magnitude >> form.mantissa, magnitude & (1 << form.mantissa) - 1
    if exponent:
        fraction += 1 << form.mantissa
    scale = form.emin - form.mantissa + max(exponent, 1) - 1
    result = Fraction(fraction) * Fraction(2) ** scale
    return -result if negative else result


def encode(x: Fraction, form: Format, mode: str = "rn", *, negative_zero: bool = False) -> int:
    """Round a rational number once to a format.

    mode: rn (ties to even), rna (ties away), rz, rm, rp. Overflow gives infinity or the largest
    number, as IEEE 754 specifies for the mode.
    """
    if x == 0:
        return form.sign_bit if negative_zero else 0
    negative, x = x < 0, abs(x)
    # floor(log2 x), but not below emin
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    if Fraction(2) ** exponent > x:
        exponent -= 1
    exponent = max(exponent, form.emin)
    scaled = x / Fraction(2) ** (exponent - form.mantissa)
    down = math.floor(scaled)
    rest = scaled - down
    half = Fraction(1, 2)
    away = {
        "rn": rest > half or (rest == half and down % 2 == 1),
        "rna": rest >= half,
        "rz": False,
        "rm": negative and rest > 0,
        "rp": not negative and rest > 0,
    }[mode]
    whole = down + away
    # The encodings of successive numbers are successive integers, even across a power of two.
    bits = whole + ((exponent - form.emin) << form.mantissa)
    if bits >= form.infinity:
        to_infinity = mode in ("rn", "rna") or mode == ("rm" if negative else "rp")
        bits = form.infinity if to_infinity else form.largest
    return bits | (form.sign_bit if negative else 0)


def convert(bits: int, source: Format, target: Format, mode: str = "rn") -> int:
    """Convert a float from one format to another. NaN becomes the canonical NaN, except that a
    float64 NaN keeps its sign and upper bits, as on a GPU.
    """
    x = value(bits, source)
    negative = bool(bits & source.sign_bit)
    if x == "nan" and source is F64:
        payload = (bits & (1 << 52) - 1) >> 52 - target.mantissa | 1 << target.mantissa - 1
        return payload | target.infinity | (target.sign_bit if negative else 0)
    if x == "nan":
        return target.nan
    if isinstance(x, str):
        return target.infinity | (target.sign_bit if negative else 0)
    return encode(x, target, mode, negative_zero=negative)


def fma(a: int, b: int, c: int, form: Format, mode: str = "rn") -> int:
    """Return a*b + c, rounded once, with the special values of IEEE 754."""
    x, y, z = (value(v, form) for v in (a, b, c))
    if "nan" in (x, y, z):
        return form.nan
    product_negative = bool((a ^ b) & form.sign_bit)
    c_negative = bool(c & form.sign_bit)
    if isinstance(x, str) or isinstance(y, str):
        if x == 0 or y == 0 or (isinstance(z, str) and product_negative != c_negative):
            return form.nan
        return form.infinity | (form.sign_bit if product_negative else 0)
    if isinstance(z, str):
        return c
    total = x * y + z
    both = product_negative and c_negative
    zero = both or (mode == "rm" and product_negative != c_negative)
    return encode(total, form, mode, negative_zero=zero)


def add(a: int, b: int, form: Format, mode: str = "rn") -> int:
    one = encode(Fraction(1), form)
    return fma(a, one, b, form, mode)


def subtract(a: int, b: int, form: Format, mode: str = "rn") -> int:
    return add(a, b ^ form.sign_bit, form, mode)


def multiply(a: int, b: int, form: Format, mode: str = "rn") -> int:
    zero = (a ^ b) & form.sign_bit  # a zero with the product's sign leaves the product unchanged
    return fma(a, b, zero, form, mode)


def divide(a: int, b: int, form: Format, mode: str = "rn") -> int:
    """Return a / b, rounded once, with the special values of IEEE 754."""
    x, y = value(a, form), value(b, form)
    sign = (a ^ b) & form.sign_bit
    infinite = isinstance(x, str) and isinstance(y, str)
    if "nan" in (x, y) or infinite or (x == 0 and y == 0):
        return form.nan
    if isinstance(x, str) or y == 0:
        return form.infinity | sign
    if isinstance(y, str):
        return sign
    return encode(x / y, form, mode, negative_zero=bool(sign))


def square_root(a: int, form: Format, mode: str = "rn") -> int:
    """Return the square root of a, rounded once."""
    x = value(a, form)
    if x == "nan" or (a & form.sign_bit and x != 0):
        return form.nan
    if isinstance(x, str) or x == 0:
        return a
    # Compute enough bits of the root for a sticky bit to decide every rounding.
    shift = 2 * (form.mantissa + 200 - form.emin)
    scaled = (x.numerator << shift) // x.denominator
    root = math.isqrt(scaled)
    inexact = root * root * x.denominator != x.numerator << shift
    return encode(Fraction(2 * root + inexact, 2 << shift // 2), form, mode)


EDGES = {
    name: sorted(
        sign | magnitude
        for sign in (0, f.sign_bit)
        for magnitude in (
            *(0, 1, 2, (1 << f.mantissa) - 1, 1 << f.mantissa),  # zero, subnormals, first normal
            *(encode(Fraction(*r), f) for r in ((1, 3), (1, 2), (1, 1), (3, 2), (2, 1), (7, 1))),
            # The last two are a signaling and a quiet NaN.
            *(f.largest, f.infinity, f.infinity | 1, f.infinity | 1 << f.mantissa - 1),
        )
    )
    for name, f in FORMATS.items()
}
