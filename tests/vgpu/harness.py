"""Run a PTX instruction on many values on the virtual GPU, so that an opcode test is one line.

    check("add.s32 d, a, b", "s32 s32 -> s32", [(1, 2, 3), (2**31 - 1, 1, -(2**31))])

Operands are named as in the PTX manual: inputs a, b, c, f; results d, e. The signature's types are
the operands' formats in memory. An `int` is a bit pattern, a `float` is a number, and a pair is
(lower, upper) of a packed value. Each row runs in a separate thread. The first row also runs
with the same inputs in all threads, because the machine stores uniform values in a different shape.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from forgekit.vgpu.host import launching
from forgekit.vgpu.launch_record import LaunchRecord
from forgekit.vgpu.memory import GlobalMemory, TensorInfo
from forgekit.vgpu.opcodes.decoder import DTYPES
from forgekit.vgpu.program import load

INF, NAN = float("inf"), float("nan")
BYTES = {name: dtype.itemsize for name, dtype in DTYPES.items()} | {
    "e4m3x2": 2, "e5m2x2": 2, "tf32": 4, "u16x2": 4, "s16x2": 4,
}  # fmt: skip
_PARTS = {
    "f16x2": "f16", "bf16x2": "bf16", "f32x2": "f32", "u16x2": "u16", "s16x2": "s16",
    "e4m3x2": "b8", "e5m2x2": "b8",
}  # fmt: skip
_NAN_BITS = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "tf32": 0x7FFFFFFF}
_FLOAT_CODE = {"f16": "<e", "f32": "<f", "f64": "<d", "tf32": "<f"}
_INPUTS, _RESULTS = "abcf", "de"
_BLOCK = 64


def limits(kind: str) -> tuple[int, int]:
    """Return the smallest and the largest number of an integer type."""
    bits = int(kind[1:])
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)


def wrap(x: int, kind: str) -> int:
    """Return x modulo 2**bits, in the type's range."""
    low, high = limits(kind)
    return (x - low) % (high - low + 1) + low


def encode(value: Any, kind: str) -> int:
    """Return the bits of a value in a PTX type; NaN is the GPU's canonical NaN."""
    if isinstance(value, tuple):
        part = _PARTS[kind]
        width = 8 * BYTES[part]
        low, high = (encode(v, part) for v in value)
        return low | high << width
    if kind == "pred":
        return int(bool(value))
    if isinstance(value, int):
        return value & (256 ** BYTES[kind] - 1)
    if value != value and kind in _NAN_BITS:
        return _NAN_BITS[kind]
    if kind == "bf16":
        bits = encode(value, "f32")
        assert not bits & 0xFFFF, f"{value} is no bfloat16"
        return bits >> 16
    raw = struct.pack(_FLOAT_CODE[kind], value)
    assert value != value or struct.unpack(_FLOAT_CODE[kind], raw)[0] == value, (value, kind)
    return int.from_bytes(raw, "little")


def decode(bits: int, kind: str) -> Any:
    """Return the number that bits represent in a PTX type, for messages."""
    if kind in _PARTS:
        width = 8 * BYTES[_PARTS[kind]]
        return tuple(decode(bits >> s & (1 << width) - 1, _PARTS[kind]) for s in (0, width))
    if kind == "bf16":
        return decode(bits << 16, "f32")
    if kind in _FLOAT_CODE:
        return struct.unpack(_FLOAT_CODE[kind], bits.to_bytes(BYTES[kind], "little"))[0]
    return bits - (1 << 8 * BYTES[kind]) if kind[0] == "s" and bits >> 8 * BYTES[kind] - 1 else bits


def kernel_text(text: str, inputs: Sequence[str], results: Sequence[str], *, target: str,
                uniform: bool = False) -> str:  # fmt: skip
    """Return a module whose kernel `k` applies an instruction to element i of each array in thread
    i.

    Its parameters are pointers to the inputs (uniform: the values themselves), to the results, and
    the number of elements.
    """
    named = dict(zip(_INPUTS, inputs, strict=False)) | dict(zip(_RESULTS, results, strict=False))
    params, body = [], []
    for i, (name, kind) in enumerate(named.items()):
        size = BYTES[kind]
        reading = name in _INPUTS
        width = 64 if not (uniform and reading) else 8 * size
        params.append(f".param .b{width} p{i}")
        register = "pred" if kind == "pred" else f"b{max(16, 8 * size)}"
        body.append(f".reg .{register} %{name};")
        address = f"ld.param.b64 %rd1, [p{i}]; mad.wide.u32 %rd{i + 3}, %r1, {size}, %rd1;"
        if uniform and reading:
            source = f"ld.param.b{8 * size} DEST, [p{i}];"
        else:
            body.append(address)
            source = f"ld.global.b{8 * size} DEST, [%rd{i + 3}];" if reading else ""
        if reading and kind == "pred":
            body.append(source.replace("DEST", "%rs1") + f" setp.ne.b16 %{name}, %rs1, 0;")
        elif reading:
            body.append(source.replace("DEST", f"%{name}"))
        elif kind == "pred":
            body.append(f"setp.eq.b32 %{name}, 0, 0;")
        else:
            body.append(f"mov.{register} %{name}, -1;")
    count = len(named)
    params.append(f".param .b32 p{count}")
    body.append(re.sub(rf"\b([{_INPUTS}{_RESULTS}])\b", r"%\1", text) + ";")
    for i, (name, kind) in enumerate(named.items()):
        if name in _INPUTS:
            continue
        stored = f"%{name}"
        if kind == "pred":
            body.append(f"selp.b16 %rs1, 1, 0, %{name};")
            stored = "%rs1"
        body.append(f"st.global.b{8 * BYTES[kind]} [%rd{i + 3}], {stored};")
    lines = "\n    ".join(body)
    return f"""
.version 8.7
.target {target}
.address_size 64
.visible .entry k({", ".join(params)})
{{
    .reg .pred %p<2>; .reg .b16 %rs<2>; .reg .b32 %r<5>; .reg .b64 %rd<12>;
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r1, %r2, {_BLOCK}, %r3;
    ld.param.b32 %r4, [p{count}]; setp.ge.u32 %p1, %r1, %r4; @%p1 bra END;
    {lines}
END:
    ret;
}}
"""


def execute(ptx: str, params: bytes, memory: GlobalMemory, n: int) -> None:
    """Launch kernel `k` with at least n threads."""
    grid = (-(-n // _BLOCK), 1, 1)
    record = LaunchRecord("k", grid, (_BLOCK, 1, 1), 0, params)
    launching.launch(load(ptx)["k"], record, memory)


def _pad(params: bytes, size: int) -> bytes:
    return params + bytes(-len(params) % size)


def run(text: str, signature: str, rows: Sequence[Sequence[Any]], *, target: str = "sm_90a",
        uniform: bool = False) -> list[tuple[int, ...]]:  # fmt: skip
    """Return an instruction's result bits for each row of inputs; see the module's docstring.

    signature: `inputs -> results`, with types separated by spaces.
    """
    inputs, results = (side.split() for side in signature.split("->"))
    n = 1 if uniform else len(rows)
    ptx = kernel_text(text, inputs, results, target=target, uniform=uniform)
    memory, params, arrays = GlobalMemory(), b"", []
    for j, kind in enumerate([*inputs, *results]):
        size = BYTES[kind]
        if j < len(inputs):
            data = b"".join(encode(row[j], kind).to_bytes(size, "little") for row in rows[:n])
            if uniform:
                params = _pad(params, size) + data
                continue
        else:
            data = b"\xee" * size * n
        array = np.frombuffer(data, f"u{size}").copy()
        arrays.append(array)
        info = TensorInfo(f"arg{j}", f"u{size}", size, (n,), (1,))
        address = memory.add(array.ctypes.data, array.nbytes, info, owner=array).address
        params = _pad(params, 8) + address.to_bytes(8, "little")
    params = _pad(params, 4) + n.to_bytes(4, "little")
    execute(ptx, params, memory, n)
    outputs = arrays[len(arrays) - len(results) :]
    return [tuple(int(o[i]) for o in outputs) for i in range(n)]


def _same(got: int, want: int, kind: str) -> bool:
    both_nan = kind == "f64" and all(decode(b, kind) != decode(b, kind) for b in (got, want))
    return got == want or both_nan  # f64 NaN payloads are not specified


def check(text: str, signature: str, rows: Sequence[Sequence[Any]], **options: Any) -> None:
    """Assert the results of an instruction, bit for bit; each row holds inputs, then results."""
    inputs, results = (side.split() for side in signature.split("->"))
    count = len(inputs)
    # First run one row in all threads, then each row in a separate thread.
    for some, uniform in ((rows[:1], True), (rows, False)):
        got = run(text, signature, [row[:count] for row in some], uniform=uniform, **options)
        wrong = []
        for row, values in zip(some, got, strict=True):
            for kind, value, expected in zip(results, values, row[count:], strict=True):
                want = encode(expected, kind)
                if not _same(value, want, kind):
                    wrong.append(
                        f"{text}  with {row[:count]}: got {value:#x} ({decode(value, kind)}), "
                        f"expected {want:#x} ({decode(want, kind)})"
                    )
        assert not wrong, f"{len(wrong)} of {len(some)} rows\n" + "\n".join(wrong[:10])
