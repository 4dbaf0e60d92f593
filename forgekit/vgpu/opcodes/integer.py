"""Implement integer arithmetic; `floating` implements `add`, `mul`, `min`, … for float types."""

from __future__ import annotations

from typing import Any

import numpy as np

from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine import Machine
from forgekit.vgpu.opcodes import Compute, UnknownVariantError, allow, counted, opcode, pure
from forgekit.vgpu.opcodes.decoder import Decoder
from forgekit.vgpu.opcodes.floating import FLOAT_TYPES, float_meaning, packed
from forgekit.vgpu.ptx import Instruction

INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")
_WIDER = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}


def integer_type(ins: Instruction, *qualifiers: str) -> str:
    """Return the type of an integer instruction after checking its qualifiers."""
    allow(ins, *INTEGERS, *qualifiers)
    return ins.opcode[-1]


def _wider(kind: str) -> str:
    if kind not in _WIDER:
        raise UnknownVariantError(f".wide for .{kind}")
    return _WIDER[kind]


def _within_s32(x: Array) -> Array:
    return np.clip(x, -(2**31), 2**31 - 1).astype("i4")


@opcode("add", "sub", "min", "max", "neg", "abs")
def simple(ins: Instruction, d: Decoder) -> object:
    root, kind = ins.opcode[0], ins.opcode[-1]
    if kind in FLOAT_TYPES:
        return float_meaning(ins, d)
    if "cc" in ins.opcode:
        return with_carry_out(ins, d)
    fn: Any = {
        "add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum,
        "neg": np.negative, "abs": np.abs,
    }[root]  # fmt: skip
    if kind in ("u16x2", "s16x2"):
        allow(ins, kind)
        return Compute(packed(fn, kind[:3]), ("b32", "b32"), "b32")
    integer_type(ins, *{"add": ("sat",), "sub": ("sat",)}.get(root, ()), *_relu(ins))
    if "sat" in ins.opcode:
        if kind != "s32":
            raise UnknownVariantError("saturation for a type other than .s32")
        return Compute(lambda a, b: _within_s32(fn(a.astype("i8"), b)), (kind, kind), kind)
    if "relu" in ins.opcode:
        return Compute(lambda a, b: np.maximum(fn(a, b), np.int32(0)), (kind, kind), kind)
    return Compute(fn, (kind,) * (1 if root in ("neg", "abs") else 2), kind)


def _relu(ins: Instruction) -> tuple[str, ...]:
    return ("relu",) if ins.opcode[0] in ("min", "max") and ins.opcode[-1] == "s32" else ()


def high_product(a: Array, b: Array) -> Array:
    """Return the upper half of the exact product."""
    bits = 8 * a.dtype.itemsize
    if bits < 64:
        wide = np.dtype(f"{a.dtype.kind}{a.dtype.itemsize * 2}")
        return (a.astype(wide) * b.astype(wide) >> wide.type(bits)).astype(a.dtype)
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    ua, ub = a.view(np.uint64), b.view(np.uint64)
    a1, a0, b1, b0 = ua >> half, ua & low, ub >> half, ub & low
    middle = a1 * b0 + ((a0 * b0) >> half)
    other = a0 * b1 + (middle & low)
    result = a1 * b1 + (middle >> half) + (other >> half)
    if a.dtype.kind == "i":  # correct the unsigned product for negative operands
        result = result - np.where(a < 0, ub, np.uint64(0)) - np.where(b < 0, ua, np.uint64(0))
    return result.view(a.dtype)


def wide_product(a: Array, b: Array) -> Array:
    wide = np.dtype(f"{a.dtype.kind}{a.dtype.itemsize * 2}")
    return a.astype(wide) * b.astype(wide)


@opcode("mul")
def mul(ins: Instruction, d: Decoder) -> object:
    kind = ins.opcode[-1]
    if kind in FLOAT_TYPES:
        return float_meaning(ins, d)
    integer_type(ins, "lo", "hi", "wide")
    if "wide" in ins.opcode:
        return Compute(wide_product, (kind, kind), _wider(kind))
    return Compute(high_product if "hi" in ins.opcode else np.multiply, (kind, kind), kind)


@opcode("mad")
def mad(ins: Instruction, d: Decoder) -> object:
    kind = ins.opcode[-1]
    if kind in FLOAT_TYPES:
        return float_meaning(ins, d)
    if "cc" in ins.opcode:
        return with_carry_out(ins, d)
    integer_type(ins, "lo", "hi", "wide", "sat")
    if "wide" in ins.opcode:
        wide = _wider(kind)
        return Compute(lambda a, b, c: wide_product(a, b) + c, (kind, kind, wide), wide)
    if "sat" in ins.opcode:
        if "hi" not in ins.opcode or kind != "s32":
            raise UnknownVariantError("saturation other than .hi.sat.s32")
        return Compute(
            lambda a, b, c: _within_s32(high_product(a, b).astype("i8") + c), (kind,) * 3, kind
        )
    product = high_product if "hi" in ins.opcode else np.multiply
    return Compute(lambda a, b, c: product(a, b) + c, (kind,) * 3, kind)


@opcode("mul24", "mad24")
def mul24(ins: Instruction, d: Decoder) -> Compute:
    """Return the low (`.lo`) or high (`.hi`) 32 bits of the 48-bit product of the low 24 bits."""
    kind = integer_type(ins, "lo", "hi")
    if kind not in ("u32", "s32"):
        raise UnknownVariantError(f".{kind}")

    def product(a: Array, b: Array) -> Array:
        eight = a.dtype.type(8)
        exact = wide_product((a << eight) >> eight, (b << eight) >> eight)
        return (exact >> exact.dtype.type(16 if "hi" in ins.opcode else 0)).astype(a.dtype)

    if ins.opcode[0] == "mul24":
        return Compute(product, (kind, kind), kind)
    return Compute(lambda a, b, c: product(a, b) + c, (kind,) * 3, kind)


def _truncated(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the quotient and the remainder, truncated as in C.

    Division by zero is undefined in PTX; here it returns all ones, as on an H200.
    """
    zero = b == 0
    divisor = np.where(zero, b.dtype.type(1), b) if zero.any() else b
    if a.dtype.kind == "u":
        quotient = a // divisor
    else:
        # Floor division rounds down, so add 1 where the signs differ and the division is inexact.
        quotient = a // divisor
        inexact = quotient * divisor != a
        quotient = quotient + (inexact & ((a < 0) != (divisor < 0))).astype(a.dtype)
    remainder = a - quotient * divisor
    if zero.any():
        ones = ~b.dtype.type(0)
        quotient, remainder = np.where(zero, ones, quotient), np.where(zero, ones, remainder)
    return quotient, remainder


def divide_integers(ins: Instruction, d: Decoder) -> Compute:
    """Divide integers; `functions` registers the opcode `div` and calls this function."""
    kind = integer_type(ins)
    return Compute(lambda a, b: _truncated(a, b)[0], (kind, kind), kind)


pure("rem", INTEGERS, "T T", "T", lambda a, b: _truncated(a, b)[1])
pure("sad", INTEGERS, "T T T", "T", lambda a, b, c: c + np.where(a < b, b - a, a - b))


def _field(x: Array, number: int, bits: int, kind: str) -> Array:
    """Return field `number`, which has `bits` bits, of a 32-bit word as a 64-bit integer."""
    part = (x >> np.uint32(bits * number)).astype(f"u{bits // 8}")
    return (part.view(f"i{bits // 8}") if kind == "s32" else part).astype("i8")


@opcode("dp4a", "dp2a")
def dot_product(ins: Instruction, d: Decoder) -> Compute:
    """Compute a dot product: `dp4a` multiplies four pairs of bytes; `dp2a` multiplies two 16-bit
    halves by the lower or upper two bytes."""
    allow(ins, "u32", "s32", *(("lo", "hi") if ins.opcode[0] == "dp2a" else ()))
    first, second = ins.opcode[-2:]
    if not {first, second} <= {"u32", "s32"}:
        raise UnknownVariantError(f".{first}.{second}")
    count, bits = (4, 8) if ins.opcode[0] == "dp4a" else (2, 16)
    skip = 2 if "hi" in ins.opcode else 0

    def dot(a: Array, b: Array, c: Array) -> Array:
        total = c.astype("i8")
        for i in range(count):
            total = total + _field(a, i, bits, first) * _field(b, i + skip, 8, second)
        return total.astype("u4")

    return Compute(dot, ("b32", "b32", "s32"), "b32")


# -- extended precision: the condition code CC.CF, one bit per thread ------------------------------
_CARRY = "carry flag"
_CLEAR = np.zeros((1, 1), bool)


def with_carry_out(ins: Instruction, d: Decoder) -> object:
    """Execute `add.cc`, `sub.cc`, `mad.lo.cc`, …; variants with `c` (`addc.cc`, …) also add the
    carry flag (`subc` subtracts it as a borrow)."""
    root = ins.opcode[0]
    carry_in = root in ("addc", "subc", "madc")
    base = root.rstrip("c") if carry_in else root
    kind = integer_type(ins, "cc", *(("lo", "hi") if base == "mad" else ()))
    count = 3 if base == "mad" else 2
    fetches = [d.fetch(o, kind) for o in counted(ins, count + 1)[1:]]
    write, guard = d.writer(ins.operands[0], kind), d.guard()
    high = "hi" in ins.opcode

    def step(m: Machine) -> None:
        values = [f(m) for f in fetches]
        if base == "mad":
            product = high_product(values[0], values[1]) if high else values[0] * values[1]
            values = [product, values[2]]
        a, b = (v.view(f"u{v.dtype.itemsize}") for v in values)
        flag: Any = m.state.get(_CARRY, _CLEAR)
        one = (flag if carry_in else _CLEAR).astype(a.dtype)
        if base == "sub":
            result = a - b - one
            carry = (a < b) | ((a == b) & (one != 0))
        else:
            part = a + b
            result = part + one
            carry = (part < a) | (result < part)
        write(m, result)
        if "cc" in ins.opcode:
            mask = m.active(guard(m) if guard else None)
            m.state[_CARRY] = carry if mask is None else np.where(mask, carry, flag)

    return step


@opcode("addc", "subc", "madc")
def carry_in(ins: Instruction, d: Decoder) -> object:
    return with_carry_out(ins, d)
