"""Implement division, roots and transcendental functions of floats.

Functions with `.rn`, `.rz`, `.rm` or `.rp` are exact. Approximate functions stay within the error
that the PTX manual allows. Most of them are correctly rounded here, so a GPU's results can differ
in the last bits. On 10,000 inputs per function, results differ from an H200's (sm_90a) by at most 1
unit in the last place for rcp, rsqrt and sqrt, and by at most 2 for ex2 and div.full. For lg2, sin,
cos and tanh, a GPU's error is absolute, so results near zero can differ by many units in the last
place.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from forgekit.vgpu import elementary, floats
from forgekit.vgpu.floats import Array
from forgekit.vgpu.opcodes import Compute, UnknownVariantError, allow, opcode
from forgekit.vgpu.opcodes.decoder import Decoder
from forgekit.vgpu.opcodes.floating import (
    MODES,
    PACKED,
    canonical,
    flushing,
    packed,
    widen,
    with_nans,
)
from forgekit.vgpu.opcodes.integer import divide_integers
from forgekit.vgpu.ptx import Instruction

Fn = Callable[..., Array]


def _compute(ins: Instruction, fn: Fn, count: int) -> Compute:
    """Return the `Compute` of an f32 or f64 function, with `.ftz` and canonical NaNs."""
    kind = ins.opcode[-1]
    if kind == "f32":
        inner = flushing(fn) if "ftz" in ins.opcode else fn
        return Compute(lambda *a: canonical(inner(*a)), (kind,) * count, kind)
    return Compute(with_nans(fn), (kind,) * count, kind)


def _rounding(ins: Instruction) -> str | None:
    """Return the rounding mode of an exact instruction, or None for an approximate instruction."""
    mode = next((p for p in ins.opcode if p in MODES), None)
    if mode not in (None, "rn") and ins.opcode[-1] == "f64":
        raise UnknownVariantError(f".{mode}.f64")
    return mode


# -- division and roots -----------------------------------------------------------------------
@opcode("div")
def div(ins: Instruction, d: Decoder) -> Compute:
    if ins.opcode[-1][0] != "f":
        return divide_integers(ins, d)
    allow(ins, *MODES, "approx", "full", "ftz", "f32", "f64")
    mode = _rounding(ins)
    if mode is not None and mode != "rn":
        return _compute(ins, lambda a, b: floats.div32(a, b, mode), 2)
    return _compute(ins, _divide_approx if "approx" in ins.opcode else np.divide, 2)


def _divide_approx(a: Array, b: Array) -> Array:
    """Divide approximately; as on a GPU, the reciprocal of a divisor beyond 2**126 becomes 0."""
    quotient = a / b
    far = np.abs(b) > np.float32(2.0**126)
    if far.any():
        quotient = np.where(far, a * np.copysign(np.float32(0), b), quotient)
    return quotient


@opcode("rcp")
def rcp(ins: Instruction, d: Decoder) -> Compute:
    allow(ins, *MODES, "approx", "ftz", "f32", "f64")
    mode = _rounding(ins) or "rn"
    if ins.opcode[-1] == "f64":
        return _compute(ins, lambda a: 1 / a, 1)
    return _compute(ins, lambda a: floats.div32(np.ones_like(a), a, mode), 1)


@opcode("sqrt")
def sqrt(ins: Instruction, d: Decoder) -> Compute:
    allow(ins, *MODES, "approx", "ftz", "f32", "f64")
    mode = _rounding(ins) or "rn"
    return _compute(ins, np.sqrt if mode == "rn" else lambda a: floats.sqrt32(a, mode), 1)


# -- approximate functions --------------------------------------------------------------------
@opcode("rsqrt")
def rsqrt(ins: Instruction, d: Decoder) -> Compute:
    """Compute in float64 and round to float32; the result is correctly rounded except for rare
    double roundings."""
    allow(ins, "approx", "ftz", "f32", "f64")
    return _compute(ins, lambda a: (1 / np.sqrt(a.astype("f8"))).astype(a.dtype), 1)


@opcode("lg2", "sin", "cos")
def transcendental(ins: Instruction, d: Decoder) -> Compute:
    allow(ins, "approx", "ftz", "f32")
    name = {"lg2": "log2"}.get(ins.opcode[0], ins.opcode[0])
    return _compute(ins, lambda a: elementary.rounded(name, a), 1)


@opcode("ex2", "tanh")
def exponential(ins: Instruction, d: Decoder) -> Compute:
    kind = ins.opcode[-1]
    allow(ins, "approx", "ftz", "f16", "bf16", "f16x2", "bf16x2", "f32")
    fn: Fn = exp2 if ins.opcode[0] == "ex2" else functools.partial(elementary.rounded, "tanh")
    if kind == "f32" and fn is exp2 and "ftz" in ins.opcode:
        # Subnormal operands need no flushing, because their result is 1, as for zero.
        return Compute(lambda a: canonical(floats.flush(exp2(a))), (kind,), kind)
    if kind == "f32":
        return _compute(ins, fn, 1)
    part = PACKED.get(kind, kind)
    narrow = floats.f32_to_f16 if part == "f16" else floats.f32_to_bf16
    if "ftz" in ins.opcode and part == "bf16":  # subnormal bfloat16 values are subnormal in float32
        fn = flushing(fn)

    def scalar(a: Array) -> Array:
        return narrow(fn(widen(a, part)))

    if "ftz" in ins.opcode and part == "f16":
        scalar = flushing(scalar)
    return Compute(packed(scalar, part) if kind in PACKED else scalar, (kind,), kind)


# Coefficients of a polynomial for 2**x with x from -1/2 to 1/2, from a least-squares fit at 200
# Chebyshev points; the relative error is 2e-9. Plain float32 operations make the result independent
# of the processor.
_EXP2 = tuple(
    np.float32(c)
    for c in (
        *(1.0, 0.6931471824645996, 0.24022647738456726, 0.05550329014658928),
        *(0.009618373587727547, 0.0013399848248809576, 0.00015370704932138324),
    )
)


# When this constant is added to a small float32, the low bits of the sum hold the nearest integer.
_MAGIC = np.float32(1.5 * 2**23)
_MAGIC_BITS = 0x4B400000


def exp2(x: Array) -> Array:
    """Return 2**x in float32, with a relative error below 2**-23; exact for integer x."""
    # For speed, allocate few temporary arrays in the usual case, in which all results are normal.
    usual = np.minimum.reduce(x, axis=None) >= -125 and np.maximum.reduce(x, axis=None) <= 127
    if not usual:
        x = x.clip(np.float32(-252), np.float32(254))
    shifted = x + _MAGIC
    result = shifted - _MAGIC
    part = x - result
    np.multiply(part, _EXP2[6], out=result)
    for coefficient in _EXP2[5:0:-1]:
        result += coefficient
        result *= part
    result += _EXP2[0]
    power = shifted.view(np.int32)
    power -= _MAGIC_BITS
    if not usual:  # scale in two steps, so that each factor is a normal number
        half = power >> 1
        power -= half
        half += 127
        half <<= 23
        result *= half.view(np.float32)
    power += 127
    power <<= 23
    result *= power.view(np.float32)
    return result
