"""Implement instructions that count or find bits, or that extract or insert bit fields."""

from __future__ import annotations

import numpy as np

from forgekit.vgpu.floats import Array
from forgekit.vgpu.opcodes import Compute, UnknownVariantError, allow, opcode, pure
from forgekit.vgpu.opcodes.decoder import Decoder
from forgekit.vgpu.ptx import Instruction

_TYPES, _WORDS = ("u32", "s32", "u64", "s64"), ("b32", "b64")


def _kind(ins: Instruction) -> str:
    kind = ins.opcode[-1]
    if kind not in _TYPES:
        raise UnknownVariantError(f".{kind} instead of a type")
    return kind


def leading_zeros(a: Array) -> Array:
    bits = 8 * a.dtype.itemsize
    for s in (1, 2, 4, 8, 16, 32):
        if s < bits:
            a = a | (a >> a.dtype.type(s))
    return (bits - np.bitwise_count(a)).astype("u4")


def reverse_bits(a: Array) -> Array:
    bits = 8 * a.dtype.itemsize
    size = bits // 2
    mask = (1 << bits) - 1
    while size:
        mask ^= mask << size & ((1 << bits) - 1)
        m, s = a.dtype.type(mask), a.dtype.type(size)
        a = ((a >> s) & m) | ((a & m) << s)
        size //= 2
    return a


pure("popc", _WORDS, "T", "b32", lambda a: np.bitwise_count(a).astype("u4"))
pure("clz", _WORDS, "T", "b32", leading_zeros)
pure("brev", _WORDS, "T", "T", reverse_bits)


@opcode("bfind")
def bfind(ins: Instruction, d: Decoder) -> Compute:
    """Find the position of the highest bit that differs from the sign bit or, with `.shiftamt`, the
    left shift that moves this bit to the top."""
    allow(ins, "shiftamt", *_TYPES)
    kind = _kind(ins)
    top = np.uint32(int(kind[1:]) - 1)

    def fn(a: Array) -> Array:
        if a.dtype.kind == "i":
            a = np.where(a < 0, ~a, a)
        u: Array = a.view(f"u{a.dtype.itemsize}")
        zeros = leading_zeros(u)
        position = zeros if "shiftamt" in ins.opcode else top - zeros
        return np.where(u == 0, np.uint32(0xFFFFFFFF), position)

    return Compute(fn, (kind,), "u32")


def _low_bits(length: Array) -> Array:
    """Return 64-bit masks of the low `length` bits, for lengths from 0 to 255."""
    n = length.astype("u8")
    return np.where(n >= 64, ~np.uint64(0), (np.uint64(1) << (n & np.uint64(63))) - np.uint64(1))


@opcode("bfe")
def bfe(ins: Instruction, d: Decoder) -> Compute:
    """Extract the field of `len` bits that begins at bit `pos`, and sign-extend it for signed
    types.

    The sign bit is the field's highest bit, or the word's highest bit if the field extends beyond
    the word.
    """
    allow(ins, *_TYPES)
    kind = _kind(ins)
    bits = int(kind[1:])

    def fn(a: Array, pos: Array, length: Array) -> Array:
        p, n = pos & np.uint32(0xFF), length & np.uint32(0xFF)
        keep = _low_bits(n)
        if a.dtype.kind == "u":
            shifted = a.astype("u8") >> np.minimum(p, np.uint32(63)).astype("u8")
            return np.where(p < bits, shifted & keep, np.uint64(0)).astype(a.dtype)
        wide = a.astype("i8")
        field = (wide >> np.minimum(p, np.uint32(63)).astype("i8")).view("u8")
        last = np.minimum(p + n - np.uint32(1), np.uint32(bits - 1)).astype("i8")
        negative = (wide >> last) & 1 != 0
        extended = np.where(negative, field | ~keep, field & keep)
        return np.where(n == 0, np.uint64(0), extended).astype(a.dtype)

    return Compute(fn, (kind, "u32", "u32"), kind)


@opcode("bfi")
def bfi(ins: Instruction, d: Decoder) -> Compute:
    """Insert the low `len` bits of `a` into `b` at bit `pos`."""
    allow(ins, "b32", "b64")
    kind = ins.opcode[-1]
    bits = int(kind[1:])

    def fn(a: Array, b: Array, pos: Array, length: Array) -> Array:
        p = pos & np.uint32(0xFF)
        shift = (p & np.uint32(63)).astype("u8")
        field = _low_bits(length & np.uint32(0xFF)) << shift
        keep = np.where(p < bits, field, np.uint64(0)).astype(a.dtype)
        return (b & ~keep) | ((a.astype("u8") << shift).astype(a.dtype) & keep)

    return Compute(fn, (kind, kind, "u32", "u32"), kind)


@opcode("bmsk")
def bmsk(ins: Instruction, d: Decoder) -> Compute:
    """Return a mask of `b` ones that begins at bit `a`."""
    allow(ins, "wrap", "clamp", "b32")

    def fn(pos: Array, length: Array) -> Array:
        if "wrap" in ins.opcode:
            p, n = pos & np.uint32(31), length & np.uint32(31)
        else:
            p, n = np.minimum(pos, np.uint32(32)), np.minimum(length, np.uint32(32))
        return (_low_bits(n) << p.astype("u8")).astype("u4")

    return Compute(fn, ("u32", "u32"), "b32")
