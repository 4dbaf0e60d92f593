"""Implement conversions between number formats (`cvt`) and address spaces (`cvta`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from forgekit.vgpu import floats, fp8
from forgekit.vgpu.code import DTYPES
from forgekit.vgpu.floats import Array
from forgekit.vgpu.memory import LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW
from forgekit.vgpu.opcodes import Compute, UnknownVariantError, allow, opcode
from forgekit.vgpu.opcodes.decoder import Decoder
from forgekit.vgpu.ptx import Instruction

Fn = Callable[..., Array]

_FLOATS = ("f16", "bf16", "f32", "f64")
_INTEGER_ROUNDING = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
_FLOAT_ROUNDING = ("rn", "rz", "rm", "rp")
_TYPES = (*_FLOATS, "u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
_FP8 = {"e4m3x2": "e4m3", "e5m2x2": "e5m2"}


@opcode("cvt")
def cvt(ins: Instruction, d: Decoder) -> Compute:
    if len(ins.opcode) < 3:
        raise UnknownVariantError("fewer than two types")
    target, source = ins.opcode[-2:]
    modifiers = ins.opcode[1:-2]
    if target in ("f16x2", "bf16x2") and source == "f32":
        return _to_pair(ins, target)
    if target in _FP8 or source in _FP8:
        return _fp8(ins, target, source)
    if target == "tf32" and source == "f32":
        return _tf32(ins)
    allow(ins, *_TYPES, *_INTEGER_ROUNDING, *_FLOAT_ROUNDING, "ftz", "sat", "relu", "satfinite")
    if target not in _TYPES or source not in _TYPES:
        raise UnknownVariantError(f".{target}.{source}")
    if len(set(modifiers) & set(_TYPES)):
        raise UnknownVariantError("more than two types")
    return Compute(conversion(modifiers, target, source), (source,), target)


def conversion(modifiers: tuple[str, ...], target: str, source: str) -> Fn:
    """Return the function that converts values of type `source` to `target` with these rounding and
    saturation modifiers."""
    mode = next((m for m in modifiers if m in _FLOAT_ROUNDING), "rn")
    if target == "bf16" and mode != "rn" and source not in ("f16", "bf16", "f32"):
        raise UnknownVariantError(f".{mode} from .{source} to .bf16")
    if "satfinite" in modifiers and (source not in _FLOATS or target not in ("f16", "bf16")):
        raise UnknownVariantError(f".satfinite from .{source} to .{target}")
    fn = _base_conversion(modifiers, target, source)
    if "ftz" not in modifiers:
        return fn

    def flushed(a: Array) -> Array:
        result = fn(floats.flush(a) if source == "f32" else a)
        return floats.flush(result) if target == "f32" else result

    return flushed


def _base_conversion(modifiers: tuple[str, ...], target: str, source: str) -> Fn:
    from_float, to_float = source in _FLOATS, target in _FLOATS
    mode = next((m for m in modifiers if m in _FLOAT_ROUNDING), "rn")
    rounding = next((_INTEGER_ROUNDING[m] for m in modifiers if m in _INTEGER_ROUNDING), None)
    if not from_float:
        if to_float:
            return lambda a: _from_integer(a, target, mode)
        return _integer_to_integer("sat" in modifiers, target, source)
    wide: Fn = floats.bf16_to_f32 if source == "bf16" else (lambda a: a)
    if not to_float:
        if rounding is None:
            raise UnknownVariantError("float to integer without a rounding mode")
        nan_is_zero = source != "f64" and target not in ("u64", "s64")
        return lambda a: _float_to_integer(rounding(wide(a)), target, nan_is_zero)
    if (source, target) == ("bf16", "f32") and not modifiers:
        return wide
    clamp = "satfinite" in modifiers

    def fn(a: Array) -> Array:
        value = wide(a)
        if rounding is not None:
            value = rounding(value)
        if "sat" in modifiers:
            value = floats.saturate(value)
        if "relu" in modifiers:
            value = floats.relu(value)
        result = _round(value, target, mode)
        return _finite(result, target) if clamp else result

    return fn


def _round(value: Array, target: str, mode: str, error: Array | None = None) -> Array:
    """Convert the exact sum `value + error` to `target`, with a single rounding.

    A NaN becomes the canonical NaN, but a float64 NaN keeps its sign and upper bits.
    """
    wide = value.dtype.itemsize == 8
    if target == "f64":
        result: Array = floats.first_nan(wider := value.astype("f8"), wider)
        return result if error is None else floats.directed(result, np.sign(error), mode)
    if target == "f32":
        if wide:
            return floats.round_to_f32(value, error, mode)
        return floats.canonical_nan(value.astype("f4"))
    if target == "f16":
        return _keep_nan(value, floats.f32_to_f16(value, mode), 10)
    if not wide:
        return floats.f32_to_bf16(value.astype("f4"), mode)
    none = np.zeros_like(value)
    return _keep_nan(value, floats.f64_to_bf16(value, none if error is None else error), 7)


def _keep_nan(value: Array, result: Array, mantissa: int) -> Array:
    """Replace NaNs in a 16-bit result with quiet NaNs that keep the sign and payload of the
    float64 `value`."""
    nan = np.isnan(value)
    if value.dtype.itemsize < 8 or not nan.any():
        return result
    bits = value.view("u8")
    payload = (bits >> np.uint64(52 - mantissa)).astype("u2") & np.uint16((1 << mantissa) - 1)
    quiet = np.uint16(0x7FFF & ~((1 << mantissa - 1) - 1))
    pattern = (bits >> np.uint64(48)).astype("u2") & np.uint16(0x8000) | quiet | payload
    return np.where(nan, pattern.view(result.dtype), result)


def _finite(result: Array, target: str) -> Array:
    """Apply `.satfinite`: replace each infinity in a float16 or bfloat16 result with the largest
    finite number of the same sign."""
    bits = result.view("u2")
    infinity = np.uint16(0x7C00 if target == "f16" else 0x7F80)
    infinite = (bits & np.uint16(0x7FFF)) == infinity
    return np.where(infinite, bits - np.uint16(1), bits).view(result.dtype)


def _from_integer(a: Array, target: str, mode: str) -> Array:
    """Convert integers through float64, which represents 32-bit integers exactly; for 64-bit
    integers, include the rounding error."""
    if a.dtype.itemsize < 8:
        return _round(a.astype("f8"), target, mode)
    if mode == "rn" and target in ("f32", "f64"):
        return a.astype(DTYPES[target])
    high = (a >> a.dtype.type(32)).astype("f8") * 4294967296.0
    low = (a & a.dtype.type(0xFFFFFFFF)).astype("f8")
    s, error = floats.two_sum(high, low)
    return _round(s, target, mode, error)


def _float_to_integer(value: Array, target: str, nan_is_zero: bool) -> Array:
    """Clamp values to an integer type's range and convert them; NaN becomes 0 if `nan_is_zero`,
    otherwise the bit pattern 100…0."""
    dtype = DTYPES[target]
    info = np.iinfo(dtype)
    wide = value.astype("f8")
    nan = np.isnan(wide)
    high, low = wide >= float(info.max) + (1.0 if dtype.itemsize < 8 else 0.0), wide <= info.min
    result: Array = np.where(nan | high | low, 0.0, wide).astype(dtype)
    result = np.where(high, dtype.type(info.max), result)
    result = np.where(low, dtype.type(info.min), result)
    if not nan_is_zero and nan.any():
        pattern = np.array(1 << info.bits - 1, f"u{dtype.itemsize}").view(dtype)
        result = np.where(nan, pattern, result)
    return result


def _integer_to_integer(saturate: bool, target: str, source: str) -> Fn:
    dtype = DTYPES[target]
    if not saturate:
        return lambda a: a.astype(dtype)
    have, want = np.iinfo(DTYPES[source]), np.iinfo(dtype)
    low, high = max(have.min, want.min), min(have.max, want.max)
    return lambda a: np.clip(a, low, high).astype(dtype)


def _pack(parts: Iterable[Array], bits: int) -> Array:
    """Combine an upper and a lower part, of `bits` bits each, into one word."""
    high, low = parts
    word = np.dtype(f"u{bits // 4}")
    return (high.astype(word) << word.type(bits)) | low.astype(word)


def _to_pair(ins: Instruction, target: str) -> Compute:
    """Execute `cvt.rn.f16x2.f32 d, a, b`: a becomes the upper half, b the lower half."""
    allow(ins, "rn", "rz", "relu", "satfinite", target, "f32")
    inner = conversion(ins.opcode[1:-2], target[:-2], "f32")
    return Compute(
        lambda *pair: _pack((inner(x).view("u2") for x in pair), 16), ("f32", "f32"), target
    )


def _halves(word: Array, bits: int) -> Iterator[Array]:
    """Split each word into an upper and a lower part, of `bits` bits each."""
    return ((word >> word.dtype.type(s)).astype(f"u{bits // 8}") for s in (bits, 0))


def _fp8(ins: Instruction, target: str, source: str) -> Compute:
    """Convert pairs of 8-bit floats to or from pairs of wider floats."""
    allow(ins, "rn", "satfinite", "relu", target, source)
    relu = floats.relu if "relu" in ins.opcode else lambda x: x
    name = _FP8.get(target) or _FP8[source]

    def narrow(high: Array, low: Array) -> Array:
        return _pack((fp8.from_f32(relu(x.astype("f4")), name) for x in (high, low)), 8)

    def widened(a: Array) -> Array:
        wide = (relu(fp8.to_f32(code, name)) for code in _halves(a, 8))
        return _pack((floats.f32_to_f16(x).view("u2") for x in wide), 16)

    if target == "f16x2":
        return Compute(widened, ("b16",), "f16x2")
    if target in _FP8 and "satfinite" in ins.opcode and source == "f32":
        return Compute(narrow, ("f32", "f32"), "b16")
    if target in _FP8 and "satfinite" in ins.opcode and source == "f16x2":
        return Compute(lambda a: narrow(*(h.view("f2") for h in _halves(a, 16))), (source,), "b16")
    raise UnknownVariantError(f".{target}.{source}")


def _tf32(ins: Instruction) -> Compute:
    """Round to 10 mantissa bits. As on an H200, a NaN is truncated for `.rna`, and becomes
    0x7FFFE000 otherwise."""
    allow(ins, "rna", "rn", "rz", "relu", "tf32", "f32")
    nearest_even, away = "rn" in ins.opcode, "rna" in ins.opcode

    def fn(a: Array) -> Array:
        if "relu" in ins.opcode:
            a = floats.relu(a)
        bits: Array = a.view("u4")
        rounded = bits + np.uint32(0x1000) if away else bits
        if nearest_even:
            rounded = bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))
        kept = np.where(np.isfinite(a), rounded, bits) & np.uint32(0xFFFFE000)
        return kept if away else np.where(np.isnan(a), np.uint32(0x7FFFE000), kept)

    return Compute(fn, ("f32",), "b32")


@opcode("cvta")
def cvta(ins: Instruction, d: Decoder) -> Compute:
    """Convert an address to or from a generic address; a global address equals its generic
    address."""
    kind = ins.opcode[-1]
    space = next(
        (s for s in ins.opcode if s.split(":")[0] in ("global", "shared", "local", "param")), ""
    )
    windows = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAM_WINDOW}
    window = windows.get(space.split(":")[0], 0)
    if kind != "u64":
        raise UnknownVariantError(f".{kind}")
    offset = np.uint64(window)
    if "to" in ins.opcode:
        return Compute(lambda a: a - offset, ("b64",), "b64")
    return Compute(lambda a: a + offset, ("b64",), "b64")
