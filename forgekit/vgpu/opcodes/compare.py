"""Implement comparisons and selections."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forgekit.vgpu import floats
from forgekit.vgpu.floats import Array
from forgekit.vgpu.opcodes import Compute, UnknownVariantError, allow, counted, opcode, pure
from forgekit.vgpu.opcodes.decoder import Decoder
from forgekit.vgpu.opcodes.floating import PACKED
from forgekit.vgpu.ptx import Instruction, Pair

_ORDERED = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip
_BOOLEAN = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
_FLOATS = ("f16", "bf16", "f32", "f64")
_INTEGERS = ("u16", "u32", "u64", "s16", "s32", "s64")
_WORDS = ("b16", "b32", "b64")
_TYPES = (*_FLOATS, *_INTEGERS, *_WORDS)
_UNORDERED = ("equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")


def comparison(name: str, kind: str) -> Callable[[Array, Array], Array]:
    """Return the function that compares two arrays of PTX type `kind`."""
    if kind == "bf16":
        inner = comparison(name, "f32")
        return lambda a, b: inner(floats.bf16_to_f32(a), floats.bf16_to_f32(b))
    if kind not in _FLOATS:
        if name not in _ORDERED:
            raise UnknownVariantError(f"comparison .{name} for integers")
        return _ORDERED[name]
    if name == "num":
        return lambda a, b: ~(np.isnan(a) | np.isnan(b))
    if name == "nan":
        return lambda a, b: np.isnan(a) | np.isnan(b)
    if name == "ne":  # ordered: false if either operand is NaN
        return lambda a, b: (a < b) | (a > b)
    if name in _ORDERED:
        return _ORDERED[name]
    if name.endswith("u") and name[:-1] in _ORDERED:
        ordered = _ORDERED[name[:-1]]
        return lambda a, b: ordered(a, b) | np.isnan(a) | np.isnan(b)
    raise UnknownVariantError(f"comparison .{name}")


def _comparison_of(ins: Instruction, *types: str) -> Callable[..., Array]:
    """Return the comparison function of a `setp` or `set`, including `.ftz`."""
    allow(ins, *_ORDERED, *_UNORDERED, *_BOOLEAN, "ftz", *types)
    kind = ins.opcode[-1]
    if len(ins.opcode) < 3:
        raise UnknownVariantError("no comparison or no type")
    compare = comparison(ins.opcode[1], kind)
    if "ftz" not in ins.opcode:
        return compare
    if kind not in ("f16", "f32"):
        raise UnknownVariantError(f".ftz for .{kind}")
    return lambda a, b: compare(floats.flush(a), floats.flush(b))


def _boolean(ins: Instruction) -> Callable[..., Array] | None:
    """Return the operation that combines the comparison with a predicate operand, or None."""
    found = [p for p in ins.opcode[2:-1] if p in _BOOLEAN]
    if bool(found) != (len(ins.operands) == 4):
        raise UnknownVariantError(f"{len(ins.operands)} operands")
    return _BOOLEAN[found[0]] if found else None


@opcode("setp")
def setp(ins: Instruction, d: Decoder) -> Compute:
    kind = ins.opcode[-1]
    if kind in PACKED:
        return _setp_packed(ins, kind)
    compare, boolean = _comparison_of(ins, *_TYPES), _boolean(ins)
    sources = (kind, kind) if boolean is None else (kind, kind, "pred")
    target, *operands = counted(ins, 3, 4)

    def one(a: Array, b: Array, *c: Array) -> Array:
        found = compare(a, b)
        return found if boolean is None else boolean(found, *c)

    if not isinstance(target, Pair):
        return Compute(
            compare if boolean is None else one, sources, "pred", operands=tuple(operands)
        )

    def both(a: Array, b: Array, *c: Array) -> tuple[Array, Array]:
        """Return both results of a `setp`; the second uses the negated comparison."""
        found = compare(a, b)
        if boolean is None:
            return found, ~found
        return boolean(found, *c), boolean(~found, *c)

    targets = (target.first, target.second)
    return Compute(both, sources, ("pred", "pred"), targets=targets, operands=tuple(operands))


def _setp_packed(ins: Instruction, kind: str) -> Compute:
    """Execute `setp.lt.f16x2 p|q, a, b`: p compares the lower halves, q the upper halves."""
    target, part = (*ins.operands, None)[0], PACKED[kind]
    if len(ins.opcode) < 3 or len(ins.operands) != 3 or kind == "f32x2":
        raise UnknownVariantError(f".{kind} with these operands")
    if not isinstance(target, Pair):
        raise UnknownVariantError(f".{kind} with these operands")
    allow(ins, *_ORDERED, *_UNORDERED, kind)
    compare = comparison(ins.opcode[1], part)
    dtype = "f2" if part == "f16" else "u2"

    def fn(a: Array, b: Array) -> tuple[Array, ...]:
        return tuple(
            compare(*((x >> np.uint32(shift)).astype("u2").view(dtype) for x in (a, b)))
            for shift in (0, 16)
        )

    targets = (target.first, target.second)
    return Compute(fn, (kind, kind), ("pred", "pred"), targets=targets)


@opcode("set")
def set_(ins: Instruction, d: Decoder) -> Compute:
    """Execute `set.lt.u32.f32`: the result is all ones (1.0 for `.f32`) if the comparison is true,
    otherwise 0."""
    result, kind = ("", *ins.opcode)[-2:]
    compare, boolean = _comparison_of(ins, *_TYPES), _boolean(ins)
    if result not in ("u32", "s32", "f32"):
        raise UnknownVariantError(f"result .{result}")
    yes = np.uint32(0x3F800000 if result == "f32" else 0xFFFFFFFF)

    def fn(a: Array, b: Array, *c: Array) -> Array:
        found = compare(a, b)
        return np.where(found if boolean is None else boolean(found, *c), yes, np.uint32(0))

    sources = (kind, kind) if boolean is None else (kind, kind, "pred")
    return Compute(fn, sources, "b32")


pure("selp", _TYPES, "T T pred", "T", lambda a, b, p: np.where(p, a, b))


@opcode("slct")
def slct(ins: Instruction, d: Decoder) -> Compute:
    allow(ins, "ftz", *_TYPES)
    kind, chooser = ("", *ins.opcode)[-2:]
    if chooser not in ("s32", "f32"):
        raise UnknownVariantError(f"a selector of type .{chooser}")
    flush = floats.flush if "ftz" in ins.opcode else lambda c: c
    return Compute(lambda a, b, c: np.where(flush(c) >= 0, a, b), (kind, kind, chooser), kind)


@opcode("testp")
def testp(ins: Instruction, d: Decoder) -> Compute:
    """Execute `testp`; PTX counts zero as a normal number."""
    kind, what = ins.opcode[-1], (*ins.opcode, "")[1]
    allow(ins, what, "f32", "f64")
    tiny = np.finfo("f4" if kind == "f32" else "f8").tiny
    tests: dict[str, Callable[[Array], Array]] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda a: ~np.isnan(a),
        "notanumber": np.isnan,
        "normal": lambda a: np.isfinite(a) & ((np.abs(a) >= tiny) | (a == 0)),
        "subnormal": lambda a: (np.abs(a) < tiny) & (a != 0),
    }
    if what not in tests:
        raise UnknownVariantError(f".{what}")
    return Compute(tests[what], (kind,), "pred")
