"""Convert 8-bit floats: e4m3 (largest number 448, no infinity) and e5m2 (largest number 57,344,
with infinities as in IEEE 754).

Source: Open Compute Project, "OCP 8-bit Floating Point Specification (OFP8)", revision 1.0, 2023.
"""

from __future__ import annotations

import functools

import numpy as np

from forgekit.vgpu.floats import Array

NAN = np.uint8(0x7F)
_MANTISSA_BITS = {"e4m3": 3, "e5m2": 2}
_BIAS = {"e4m3": 7, "e5m2": 15}


@functools.cache
def values(name: str) -> Array:
    """Return the float32 value of each of the 256 codes."""
    codes = np.arange(256)
    bits, bias = _MANTISSA_BITS[name], _BIAS[name]
    exponent, fraction = (codes & 0x7F) >> bits, (codes & ((1 << bits) - 1)) / (1 << bits)
    normal = exponent > 0
    result = np.ldexp(fraction + normal, np.maximum(exponent, 1) - bias)
    if name == "e4m3":
        result[(codes & 0x7F) == 0x7F] = np.nan
    else:
        result[exponent == 31] = np.nan
        result[(codes & 0x7F) == 0x7C] = np.inf
    return np.copysign(result, np.where(codes < 128, 1.0, -1.0)).astype("f4")


def to_f32(codes: Array, name: str) -> Array:
    return values(name)[codes]


def from_f32(x: Array, name: str) -> Array:
    """Round to nearest even with `.satfinite`: infinities and values that are too large become the
    largest finite number."""
    finite = values(name)[:128]
    finite = finite[np.isfinite(finite)]
    magnitude = np.minimum(np.abs(x), finite[-1])
    # Take the last code that is not above the value. Take the next code if the value is above the
    # midpoint, or if it is the midpoint and the code is odd. All midpoints are exact in float32.
    code = np.searchsorted(finite, magnitude, "right") - 1
    upper = np.minimum(code + 1, len(finite) - 1)
    middle = (finite[code] + finite[upper]) / 2
    code = np.where((magnitude > middle) | ((magnitude == middle) & (code % 2 == 1)), upper, code)
    code = np.where(np.isnan(x), NAN, code | np.where(np.signbit(x) & ~np.isnan(x), 0x80, 0))
    return code.astype("u1")
