"""Implement bitwise operations, shifts, byte permutations and moves."""

from __future__ import annotations

import numpy as np

from forgekit.vgpu.floats import Array
from forgekit.vgpu.opcodes import Compute, UnknownVariantError, allow, counted, expect, opcode, pure
from forgekit.vgpu.opcodes.decoder import Decoder
from forgekit.vgpu.ptx import Immediate, Instruction, Vector

_WORDS = ("b16", "b32", "b64")


pure("and", ("pred", *_WORDS), "T T", "T", np.bitwise_and)
pure("or", ("pred", *_WORDS), "T T", "T", np.bitwise_or)
pure("xor", ("pred", *_WORDS), "T T", "T", np.bitwise_xor)
pure("not", ("pred", *_WORDS), "T", "T", np.invert)
pure("cnot", _WORDS, "T", "T", lambda a: (a == 0).astype(a.dtype))


@opcode("shl", "shr")
def shift(ins: Instruction, d: Decoder) -> Compute:
    """Shift left or right. If the amount is at least the width, the result is 0 or, for a signed
    right shift, copies of the sign bit."""
    allow(ins, *_WORDS, "u16", "u32", "u64", "s16", "s32", "s64")
    kind = ins.opcode[-1]
    left = ins.opcode[0] == "shl"

    def fn(a: Array, amount: Array) -> Array:
        bits = 8 * a.dtype.itemsize
        n = amount.astype(a.dtype)
        if amount.size == 1 and int(amount.flat[0]) < bits:  # usually a small constant
            return a << n if left else a >> n
        over = amount >= bits
        safe = np.where(over, a.dtype.type(bits - 1), n)
        shifted = a << safe if left else a >> safe
        beyond = shifted >> a.dtype.type(bits - 1) if a.dtype.kind == "i" and not left else 0
        return np.where(over, beyond, shifted).astype(a.dtype)

    return Compute(fn, (kind, "u32"), kind)


@opcode("shf")
def funnel(ins: Instruction, d: Decoder) -> Compute:
    """Execute `shf.{l,r}.{wrap,clamp}.b32 d, a, b, c`: shift the 64-bit value {b, a}."""
    allow(ins, "l", "r", "wrap", "clamp", "b32")
    left, clamp = "l" in ins.opcode, "clamp" in ins.opcode

    def fn(low: Array, high: Array, amount: Array) -> Array:
        n = np.minimum(amount, 32) if clamp else amount & np.uint32(31)
        both = (high.astype("u8") << np.uint64(32)) | low.astype("u8")
        n64 = n.astype("u8")
        if left:
            return ((both << n64) >> np.uint64(32)).astype("u4")
        return (both >> n64).astype("u4")

    return Compute(fn, ("b32", "b32", "u32"), "b32")


@opcode("lop3")
def lop3(ins: Instruction, d: Decoder) -> Compute:
    """Apply a truth table. At each position, the bits of a, b and c form a number i, with a's bit
    the highest; the result is bit i of the table."""
    allow(ins, "b32")
    table = expect(counted(ins, 5)[4], Immediate, "number").bits

    def fn(a: Array, b: Array, c: Array) -> Array:
        result = np.zeros((1, 1), a.dtype)
        for i in range(8):
            if table >> i & 1:
                term = a if i & 4 else ~a
                term = term & (b if i & 2 else ~b)
                result = result | (term & (c if i & 1 else ~c))
        return result

    return Compute(fn, ("b32",) * 3, "b32", operands=ins.operands[1:4])


# For each mode of `prmt`, the selectors that are equivalent to the values 0 to 3 of c's low two
# bits.
_PRMT_MODES = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543), "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333), "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210), "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}  # fmt: skip


@opcode("prmt")
def prmt(ins: Instruction, d: Decoder) -> Compute:
    """Select four of the eight bytes of {b, a}; if bit 3 of a nibble of the selector is set,
    replicate the byte's sign bit."""
    allow(ins, "b32", *_PRMT_MODES)
    mode = _PRMT_MODES.get(ins.opcode[-1])
    table = None if mode is None else np.array(mode, "u4")

    def fn(a: Array, b: Array, selector: Array) -> Array:
        if table is not None:
            selector = table[selector & np.uint32(3)]
        both = (b.astype("u8") << np.uint64(32)) | a.astype("u8")
        result = np.zeros((1, 1), "u4")
        for i in range(4):
            select = (selector >> np.uint32(4 * i)) & np.uint32(15)
            byte = (both >> ((select & np.uint32(7)) * np.uint32(8)).astype("u8")) & np.uint64(255)
            sign = np.where(byte >= 128, np.uint64(255), np.uint64(0))
            byte = np.where(select & np.uint32(8), sign, byte)
            result = result | (byte.astype("u4") << np.uint32(8 * i))
        return result

    return Compute(fn, ("b32",) * 3, "b32")


@opcode("mov")
def mov(ins: Instruction, d: Decoder) -> Compute:
    kind = ins.opcode[-1]
    allow(ins, "pred", "b128", *_WORDS, "u32", "s32", "u64", "s64", "u16", "s16", "f32", "f64")
    target, source = counted(ins, 2)
    if isinstance(target, Vector):
        return unpack(kind, target, source)
    if isinstance(source, Vector):
        return pack(kind, source)
    return Compute(lambda a: a, (kind,), kind)


def _part(kind: str, count: int) -> str:
    """Return the type of each part of a word of type `kind` with `count` equal parts."""
    part = f"b{int(kind[1:]) // count}" if kind in _WORDS and count else ""
    if part not in ("b8", "b16", "b32"):
        raise UnknownVariantError(f"{count} parts of .{kind}")
    return part


def unpack(kind: str, target: Vector, source: object) -> Compute:
    """Execute `mov.b64 {%r1, %r2}, %rd`."""
    n = len(target.items)
    if (kind, n) == ("b128", 2):
        return Compute(_halves, (kind,), ("b64",) * 2, targets=target.items)
    part = _part(kind, n)

    def fn(a: Array) -> tuple[Array, ...]:
        width = 8 * a.dtype.itemsize // n
        return tuple((a >> a.dtype.type(width * i)).astype(f"u{width // 8}") for i in range(n))

    return Compute(fn, (kind,), (part,) * n, targets=target.items)


def pack(kind: str, source: Vector) -> Compute:
    """Execute `mov.b64 %rd, {%r1, %r2}`."""
    n = len(source.items)
    if (kind, n) == ("b128", 2):
        return Compute(_joined, ("b64",) * 2, kind, operands=source.items)
    part = _part(kind, n)
    whole = np.dtype(f"u{int(kind[1:]) // 8}")

    def fn(*parts: Array) -> Array:
        width = 8 * whole.itemsize // n
        result = parts[0].astype(whole)
        for i, p in enumerate(parts[1:], 1):
            result = result | (p.astype(whole) << whole.type(width * i))
        return result

    return Compute(fn, (part,) * n, kind, operands=source.items)


def _joined(low: Array, high: Array) -> Array:
    """Combine two 64-bit halves into a complex number, NumPy's only 128-bit type."""
    words = np.stack(np.broadcast_arrays(low, high), axis=-1)
    return words.view(np.complex128)[..., 0]


def _halves(a: Array) -> tuple[Array, Array]:
    words = np.ascontiguousarray(a)[..., None].view(np.uint64)
    return words[..., 0], words[..., 1]
