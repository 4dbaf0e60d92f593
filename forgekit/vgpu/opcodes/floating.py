"""Implement floating-point arithmetic for f16, bf16, f32, f64, and the packed types f16x2, bf16x2
and f32x2."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forgekit.vgpu import floats
from forgekit.vgpu.code import DTYPES
from forgekit.vgpu.floats import Array
from forgekit.vgpu.opcodes import Compute, UnknownVariantError, allow, opcode, pure
from forgekit.vgpu.opcodes.decoder import Decoder
from forgekit.vgpu.ptx import Instruction

Fn = Callable[..., Array]

FLOAT_TYPES = {"f16", "bf16", "f16x2", "bf16x2", "f32", "f64", "f32x2"}
MODES = ("rn", "rz", "rm", "rp")
PACKED = {"f16x2": "f16", "bf16x2": "bf16", "f32x2": "f32"}
_BITS = {"f16": "u2", "bf16": "u2", "f32": "u4", "f64": "u8"}
_PLAIN = {"add": np.add, "sub": np.subtract, "mul": np.multiply}
_MODIFIERS = {
    "neg": ("ftz",), "abs": ("ftz",),
    "min": ("ftz", "NaN", "xorsign", "abs"), "max": ("ftz", "NaN", "xorsign", "abs"),
    "fma": (*MODES, "ftz", "sat", "relu"),
}  # fmt: skip


def float_meaning(ins: Instruction, d: Decoder) -> Compute:
    """Return the meaning of a float instruction whose opcode also exists for integers."""
    root, kind = ins.opcode[0], ins.opcode[-1]
    modifiers = _MODIFIERS.get(root, (*MODES, "ftz", "sat"))
    if kind in ("f16", "bf16") and ins.opcode[-2] == "f32":
        allow(ins, *modifiers, "f32", kind)
        return _mixed(ins, root, kind)
    allow(ins, *modifiers, kind)
    count = len(ins.operands) - 1
    least = {"neg": 1, "abs": 1, "fma": 3, "mad": 3}.get(root, 2)
    if count != least and not (root in ("min", "max") and kind == "f32" and count == 3):
        raise UnknownVariantError(f"{count} operands")
    part = PACKED.get(kind)
    fn = packed(_scalar(ins, root, part), part) if part else _scalar(ins, root, kind)
    if count > least:  # sm_100 adds min and max with three operands
        two = fn
        return Compute(lambda a, b, c: two(two(a, b), c), (kind,) * 3, kind)
    return Compute(fn, (kind,) * count, kind)


def _mixed(ins: Instruction, root: str, kind: str) -> Compute:
    """Execute a mixed-precision instruction of sm_100, such as `add.f32.bf16 d, a, c`: widen all
    operands except the last to float32."""
    fn = _scalar(ins, root, "f32")
    count = {"add": 1, "sub": 1, "fma": 2}.get(root)
    if count is None:
        raise UnknownVariantError(f".f32.{kind}")

    def widened(*values: Array) -> Array:
        wide = (widen(v, kind) for v in values[:count])
        return fn(*wide, values[-1])

    return Compute(widened, (kind,) * count + ("f32",), "f32")


def widen(x: Array, kind: str) -> Array:
    """Convert a float16 or bfloat16 (uint16) array to float32; leave other types unchanged."""
    if kind == "bf16":
        return floats.bf16_to_f32(x)
    return x.astype(np.float32) if kind == "f16" else x


def packed(fn: Fn, part: str) -> Fn:
    """Return a function that applies the scalar function `fn` to each element of packed values."""

    def apply(*values: Array) -> Array:
        parts = [
            np.ascontiguousarray(v).view(DTYPES[part]).reshape(*v.shape, 2)
            for v in np.broadcast_arrays(*values)
        ]
        result = np.ascontiguousarray(fn(*parts))
        return result.view(values[0].dtype)[..., 0]

    return apply


def _scalar(ins: Instruction, root: str, kind: str) -> Fn:
    parts = ins.opcode[1:]
    mode = next((p for p in parts if p in MODES), "rn")
    fn = _operation(root, kind, mode, parts)
    if "ftz" in parts:
        if kind not in ("f16", "f32"):
            raise UnknownVariantError(f".ftz for .{kind}")
        fn = flushing(fn)
    if "sat" in parts:
        if kind not in ("f16", "f32"):
            raise UnknownVariantError(f".sat for .{kind}")
        exact = fn
        fn = lambda *a: floats.saturate(exact(*a))  # noqa: E731
    if "relu" in parts:
        signed = fn
        if kind == "f16":
            fn = lambda *a: floats.relu(signed(*a))  # noqa: E731
        elif kind == "bf16":
            fn = lambda *a: relu_bf16(signed(*a))  # noqa: E731
        else:
            raise UnknownVariantError(f".relu for .{kind}")
    return fn


def relu_bf16(x: Array) -> Array:
    """Apply `.relu` to bfloat16 values whose NaNs are canonical (and therefore positive)."""
    return np.where(x >= np.uint16(0x8000), np.uint16(0), x)


def flushing(fn: Fn) -> Fn:
    """Return the function with `.ftz`, which replaces subnormal operands and results with zero."""
    return lambda *a: floats.flush(fn(*[floats.flush(x) for x in a]))


def _operation(root: str, kind: str, mode: str, parts: tuple[str, ...]) -> Fn:
    if root in ("neg", "abs"):
        return _sign_operation(root, kind)
    if root in ("min", "max"):
        if "abs" in parts or "xorsign" in parts:
            if not ("abs" in parts and "xorsign" in parts and "NaN" not in parts):
                raise UnknownVariantError("only one of .abs and .xorsign, or both with .NaN")
            return _extremum_of_magnitudes(root, kind)
        return extremum(root, kind, "NaN" in parts)
    if mode != "rn" and kind != "f32":
        raise UnknownVariantError(f".{mode} for .{kind}")
    if root in ("fma", "mad"):
        if kind == "f32":
            return lambda a, b, c: canonical(floats.fma32(a, b, c, mode))
        return {"f16": floats.fma16, "bf16": floats.fma_bf16, "f64": with_nans(floats.fma64)}[kind]
    if root not in _PLAIN:
        raise UnknownVariantError(root)
    plain = _PLAIN[root]
    if kind == "bf16":  # computed in float32; rounding twice never changes the result
        to32 = floats.bf16_to_f32
        return lambda a, b: floats.f32_to_bf16(plain(to32(a), to32(b)))
    if mode == "rn":
        return with_nans(plain) if kind == "f64" else lambda a, b: canonical(plain(a, b))
    if root == "mul":
        return lambda a, b: canonical(floats.mul32(a, b, mode))
    if root == "add":
        return lambda a, b: canonical(floats.add32(a, b, mode))
    return lambda a, b: canonical(floats.add32(a, -b, mode))


def canonical(x: Array) -> Array:
    """Replace NaNs with the GPU's canonical NaN."""
    return floats.canonical_nan(x) if _has_nan(x) else x


def _has_nan(x: Array) -> bool:
    """Return True if the array contains a NaN. Testing the maximum, which is then NaN, is
    fastest."""
    largest = np.maximum.reduce(x, axis=None)
    return bool(largest != largest)


def with_nans(fn: Fn) -> Fn:
    """Return the float64 function with NaN results that are the same on every processor."""
    return lambda *a: floats.first_nan(fn(*a), *a)


def _sign_operation(root: str, kind: str) -> Fn:
    """Return neg or abs, which change only the sign bit; NaNs become canonical, except for f64."""
    bits = np.dtype(_BITS[kind])
    sign = bits.type(1 << (8 * bits.itemsize - 1))

    def fn(a: Array) -> Array:
        u = a.view(bits)
        result: Array = (u ^ sign if root == "neg" else u & ~sign).view(a.dtype)
        if kind == "f64":
            return result
        if kind == "bf16":
            nan = (u & ~sign) > np.uint16(0x7F80)
            return np.where(nan, floats.CANONICAL_NAN_16, result) if nan.any() else result
        return canonical(result)

    return fn


def extremum(root: str, kind: str, propagate_nan: bool) -> Fn:
    """Return min or max, where -0 < +0. Without `.NaN`, the result is NaN only if both operands are
    NaN."""
    if kind == "bf16":
        inner = extremum(root, "f32", propagate_nan)
        to32 = floats.bf16_to_f32
        return lambda a, b: floats.f32_to_bf16(inner(to32(a), to32(b)))
    choose, combine = {
        "min": (np.minimum, np.bitwise_or), "max": (np.maximum, np.bitwise_and),
    }[root]  # fmt: skip
    bits = _BITS[kind]

    def fn(a: Array, b: Array) -> Array:
        result = choose(a, b)
        zeros = (a == 0) & (b == 0)
        if zeros.any():
            result = np.where(zeros, combine(a.view(bits), b.view(bits)).view(a.dtype), result)
        if not _has_nan(result):
            return result
        if not propagate_nan:  # np.fmin and np.fmax of a signaling NaN depend on the CPU
            result = np.where(np.isnan(a), b, np.where(np.isnan(b), a, result))
        return floats.first_nan(result, a, b) if kind == "f64" else floats.canonical_nan(result)

    return fn


def _extremum_of_magnitudes(root: str, kind: str) -> Fn:
    """Return min or max with `.xorsign.abs`: compare magnitudes; the result has the sign of the
    product."""
    if kind == "bf16":
        inner = _extremum_of_magnitudes(root, "f32")
        to32 = floats.bf16_to_f32
        return lambda a, b: floats.f32_to_bf16(inner(to32(a), to32(b)))
    choose = extremum(root, kind, propagate_nan=False)

    def fn(a: Array, b: Array) -> Array:
        negative = np.signbit(a) != np.signbit(b)
        result = choose(np.abs(a), np.abs(b))
        return canonical(np.where(negative, -result, result))

    return fn


@opcode("fma")
def fma(ins: Instruction, d: Decoder) -> Compute:
    if ins.opcode[-1] not in FLOAT_TYPES:
        raise UnknownVariantError(f".{ins.opcode[-1]} instead of a type")
    return float_meaning(ins, d)


pure("copysign", ("f32", "f64"), "T T", "T", lambda a, b: np.copysign(b, a))
