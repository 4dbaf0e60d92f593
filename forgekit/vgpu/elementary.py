"""Compute log2, sin, cos and tanh of float32, correctly rounded, with the same bits on every
machine.

C libraries and vector extensions differ in the last bits of their float64 results. A result is used
only if every number close to it rounds to the same float32. For the rest, about one value in ten
million, decimal arithmetic decides: a result that is not a float64 number is irrational, so enough
digits show its side of a tie.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext

import numpy as np

from forgekit.vgpu import floats
from forgekit.vgpu.floats import Array

_REMOVED, _TIE = np.uint64((1 << 29) - 1), np.uint64(1 << 28)  # mask of float64's last bits
_DOUBT = np.uint64(32)  # error of a float64 result, in units in the last place
# The largest float32 has 39 digits before the point; 50 are left for its remainder.
_DIGITS = 90
_PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510"
    "5820974944592307816406286208998628034825342117067982"
)


def rounded(name: str, x: Array) -> Array:
    """Return log2, sin, cos or tanh, chosen by name, of float32."""
    wide = getattr(np, name)(x.astype(np.float64))
    result: Array = wide.astype(np.float32)
    # The distance of the bits that rounding removes from the lowest doubtful value; values below it
    # wrap around. (Results that are subnormal in float32 are x itself.)
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
    """Sum the Taylor series of sine or cosine, starting at its first term, which has this power of
    the angle."""
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
