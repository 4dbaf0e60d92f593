"""Compute log2, sin, cos and tanh of float32 values, correctly rounded and therefore identical on
every machine.

C libraries and vector extensions differ in the last bits of their float64 results. Such a result is
used only if every number close to it rounds to the same float32. For all other values, about one in
ten million, the function is computed in decimal arithmetic: a result that float64 cannot represent
is irrational, so with enough digits it is never on a tie.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext

import numpy as np

from forgekit.vgpu import floats
from forgekit.vgpu.floats import Array

_REMOVED, _TIE = np.uint64((1 << 29) - 1), np.uint64(1 << 28)  # float32 lacks these bits
_DOUBT = np.uint64(32)  # maximum error of a float64 result, in units in the last place
# The largest float32 has 39 digits before the decimal point; 50 digits remain after it.
_DIGITS = 90
_PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510"
    "5820974944592307816406286208998628034825342117067982"
)


def rounded(name: str, x: Array) -> Array:
    """Return log2, sin, cos or tanh (`name`) of float32 values."""
    wide = getattr(np, name)(x.astype(np.float64))
    result: Array = wide.astype(np.float32)
    # The difference between the bits that rounding removes and the lowest doubtful value; lower
    # values wrap around. (A result that is subnormal in float32 equals x.)
    above = (wide.view(np.uint64) & _REMOVED) - (_TIE - _DOUBT)
    doubtful = above <= 2 * _DOUBT
    if doubtful.any():
        with localcontext(prec=_DIGITS):
            values = [_EXACT[name](Decimal(float(v))) for v in x[doubtful]]
            nearest = np.array([float(v) for v in values])
            error = np.array([float(v - Decimal(float(v))) for v in values])
        result[doubtful] = floats.round_to_f32(nearest, error, "rn")
    return result


def _tanh(x: Decimal) -> Decimal:
    square = (2 * x).exp()
    return (square - 1) / (square + 1)


def _series(angle: Decimal, term: Decimal, power: int) -> Decimal:
    """Return the sum of the Taylor series of sine or cosine.

    term, power: the first term, and the power of the angle in it.
    """
    total, before = term, None
    while total != before:
        before, power = total, power + 2
        term *= -angle * angle / (power * (power - 1))
        total += term
    return total


_EXACT: dict[str, Callable[[Decimal], Decimal]] = {
    "log2": lambda x: x.ln() / Decimal(2).ln(),
    "tanh": _tanh,
    "sin": lambda x: _series(x % (2 * _PI), x % (2 * _PI), 1),
    "cos": lambda x: _series(x % (2 * _PI), Decimal(1), 0),
}
