"""How undefined bits go through a pure instruction: one small rule for a family of opcodes.

A register's undefined bits are an array of its width, a one for each bit that depends on memory
nobody has written, as in Valgrind's memcheck (Seward and Nethercote, "Using Valgrind to detect
undefined value errors with bit-precision", 2005). Where no rule is more exact, a result is wholly
undefined if any bit of a source is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from forgekit.vgpu import opcodes, ptx
from forgekit.vgpu.batch import Batch
from forgekit.vgpu.code import DTYPES, Code
from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine import WARP
from forgekit.vgpu.opcodes import matrix
from forgekit.vgpu.opcodes.decoder import Decoder
from forgekit.vgpu.opcodes.wgmma_operands import form_of
from forgekit.vgpu.ptx import Instruction, Operand

# of (machine) -> the undefined bits of each result
Rule = Callable[[Batch], tuple[Array, ...]]
Fetch = Callable[[Batch], Array]

_RULES: dict[str, Callable[[Instruction, Operands], Rule | None]] = {}


def bits_dtype(dtype: np.dtype) -> np.dtype:
    """Undefined bits of a register or operand: unsigned of the same width; of predicates bool,
    of 128 bits complex."""
    return dtype if dtype.kind in "bc" else np.dtype(f"u{dtype.itemsize}")


def registers(operand: object, program: Code) -> list[int]:
    """Numbers of the registers in an operand; special ones and `_` have none."""
    match operand:
        case ptx.Register(name):
            return [program.registers[name]] if name in program.registers else []
        case ptx.Negated(register):
            return registers(register, program)
        case ptx.Address(base, _):
            return registers(base, program)
        case ptx.Pair(first, second):
            return registers(first, program) + registers(second, program)
        case ptx.Vector(items):
            return [r for item in items for r in registers(item, program)]
    return []


class Operands:
    """Reaches what an instruction's operands hold, and which of their bits are undefined.

    tainted: register -> its undefined bits, for those that have any.
    """

    def __init__(self, program: Code, tainted: Callable[[int], Array | None]) -> None:
        self.program = program
        self.decoder = Decoder(program)
        self._tainted = tainted

    def value(self, operand: Operand, kind: str) -> Fetch:
        return self.decoder.fetch(operand, kind)

    def undefined(self, operand: Operand, kind: str) -> Fetch:
        """The undefined bits of an operand of PTX type `kind`."""
        dtype = bits_dtype(DTYPES[kind])
        nothing = np.zeros((1, 1), dtype)
        found = [] if isinstance(operand, ptx.Address) else registers(operand, self.program)
        if not found:
            return lambda m: nothing
        (register,) = found

        def get(m: Batch) -> Array:
            bits = self._tainted(register)
            return nothing if bits is None else bits.astype(dtype, copy=False)

        return get


def rule(instruction: Instruction, operands: Operands, n_results: int) -> Rule:
    """The rule of a pure instruction."""
    operands.decoder.instruction = instruction
    make = _RULES.get(instruction.opcode[0])
    exact = make(instruction, operands) if make is not None else None
    return exact or _smear(instruction, operands, n_results)


def _smear(ins: Instruction, o: Operands, n_results: int) -> Rule:
    """Every bit of the results, where any of the sources is undefined."""
    sources = {r for operand in ins.operands[1:] for r in registers(operand, o.program)}

    def smeared(m: Batch) -> tuple[Array, ...]:
        found = [bits != 0 for r in sources if (bits := o._tainted(r)) is not None]
        some = (
            np.logical_or.reduce(np.broadcast_arrays(*found)) if found else np.zeros((1, 1), bool)
        )
        return (some,) * n_results

    return smeared


def _rule(*names: str) -> Callable[[Any], Any]:
    def register(make: Any) -> Any:
        _RULES.update(dict.fromkeys(names, make))
        return make

    return register


# -- bits that only move --------------------------------------------------------------------------
# Opcode -> how many of its first sources are moved; further ones (shifts, selectors) say where to.
_MOVED = {"mov": 4, "shl": 1, "shr": 1, "shf": 2, "prmt": 2, "bfe": 1, "bfi": 2, "brev": 1}


@_rule(*_MOVED)
def _moved(ins: Instruction, o: Operands) -> Rule | None:
    """The instruction itself, done to the undefined bits."""
    meaning = opcodes.lookup(ins)
    assert meaning is not None
    return _through(meaning(ins, o.decoder), ins, o, _MOVED[ins.opcode[0]])


def _through(compute: opcodes.Compute, ins: Instruction, o: Operands, n_moved: int) -> Rule:
    sources = compute.operands or ins.operands[1:]
    data = [(o.undefined(s, k), DTYPES[k]) for s, k in zip(sources, compute.sources, strict=True)]
    where = [o.value(s, k) for s, k in zip(sources, compute.sources, strict=True)]

    def moved(m: Batch) -> tuple[Array, ...]:
        bits = [undefined(m).view(dtype) for undefined, dtype in data[:n_moved]]
        result = compute.fn(*bits, *(value(m) for value in where[n_moved:]))
        results = result if isinstance(result, tuple) else (result,)
        results = tuple(r.view(bits_dtype(r.dtype)) for r in results)
        for undefined, _ in data[n_moved:]:  # it is not known where they move to
            results = tuple(np.where(undefined(m) != 0, ~r.dtype.type(0), r) for r in results)
        if compute.targets is None:
            return results
        return tuple(r for r, t in zip(results, compute.targets, strict=True)
                     if registers(t, o.program))  # fmt: skip

    return moved


@_rule("cvt")
def _convert(ins: Instruction, o: Operands) -> Rule | None:
    """Integers to integers move bits; two floats packed in one word keep apart; all else is one
    value."""
    to, source = ins.opcode[-2:]
    if to in ("f16x2", "bf16x2") and source == "f32":
        high, low = (o.undefined(x, "b32") for x in ins.operands[1:3])
        return lambda m: (_halves(low(m) != 0, high(m) != 0, np.dtype("u4")),)
    if to[0] in "us" and source[0] in "us" and "sat" not in ins.opcode:
        meaning = opcodes.lookup(ins)
        assert meaning is not None
        return _through(meaning(ins, o.decoder), ins, o, 1)
    undefined = o.undefined(ins.operands[1], source)
    return lambda m: (undefined(m) != 0,)


def _halves(low: Array, high: Array, dtype: np.dtype) -> Array:
    """All bits of the lower and of the upper half of a word, each where it is undefined."""
    half = dtype.type((1 << 4 * dtype.itemsize) - 1)
    none = dtype.type(0)
    return np.where(low, half, none) | np.where(high, ~half, none)


# -- logic ----------------------------------------------------------------------------------------
@_rule("and", "or")
def _logic(ins: Instruction, o: Operands) -> Rule:
    """A defined 0 (of `or`: 1) on one side decides."""
    kind = ins.opcode[-1]
    (a, b), (x, y) = (
        [fetch(s, kind) for s in ins.operands[1:3]] for fetch in (o.undefined, o.value)
    )
    decides = ins.opcode[0] == "or"
    return lambda m: (_decided(a(m), x(m), b(m), y(m), decides),)


def _decided(a: Array, x: Array, b: Array, y: Array, one: bool) -> Array:
    """Undefined bits of `x & y` (of `x | y` with `one`); a, b: those of x and y."""
    if one:
        x, y = ~x, ~y
    return np.asarray((a | b) & (a | x) & (b | y))


@_rule("xor", "not", "lop3")
def _bit_by_bit(ins: Instruction, o: Operands) -> Rule:
    kind = ins.opcode[-1]
    n = {"xor": 2, "not": 1, "lop3": 3}[ins.opcode[0]]
    sources = [o.undefined(s, kind) for s in ins.operands[1 : 1 + n]]

    return lambda m: (_union(sources, m),)


def _union(sources: list[Fetch], m: Batch) -> Array:
    """The bits that are undefined in any source."""
    return functools.reduce(np.bitwise_or, (source(m) for source in sources))


@_rule("selp")
def _select(ins: Instruction, o: Operands) -> Rule:
    """The side that is taken; all of it where that is not known."""
    kind = ins.opcode[-1]
    a, b = (o.undefined(s, kind) for s in ins.operands[1:3])
    chooses, unknown = o.value(ins.operands[3], "pred"), o.undefined(ins.operands[3], "pred")

    def select(m: Batch) -> tuple[Array, ...]:
        result = np.where(chooses(m), a(m), b(m))
        return (np.where(unknown(m), ~result.dtype.type(0), result),)

    return select


# -- arithmetic -----------------------------------------------------------------------------------
_INTEGERS = ("u16", "u32", "u64", "s16", "s32", "s64")
_PACKED = {"f16x2": "u4", "bf16x2": "u4", "f32x2": "u8"}


@_rule("add", "sub", "mul", "mad", "neg", "min", "max", "fma", "abs", "ex2", "tanh")
def _arithmetic(ins: Instruction, o: Operands) -> Rule | None:
    """Integers: carries go upwards only. Two floats packed in one word: each for itself."""
    kind = ins.opcode[-1]
    if kind in _PACKED:
        return _by_half(ins, o, np.dtype(_PACKED[kind]))
    carries = ins.opcode[0] in ("add", "sub", "mul", "mad", "neg")
    if kind not in _INTEGERS or not carries or not {"hi", "cc", "sat"}.isdisjoint(ins.opcode):
        return None
    wide = "wide" in ins.opcode
    result = np.dtype(f"u{int(kind[1:]) // 8 * (2 if wide else 1)}")
    kinds = ["b" + kind[1:]] * 2 + [f"b{8 * result.itemsize}"]
    sources = [o.undefined(s, k) for s, k in zip(ins.operands[1:], kinds, strict=False)]

    def upwards(m: Batch) -> tuple[Array, ...]:
        some = _union(sources, m).astype(result)
        return (some | (~some + result.type(1)),)

    return upwards


def _by_half(ins: Instruction, o: Operands, dtype: np.dtype) -> Rule:
    sources = [o.undefined(s, f"b{8 * dtype.itemsize}") for s in ins.operands[1:]]
    width = dtype.type(4 * dtype.itemsize)
    lower = dtype.type((1 << 4 * dtype.itemsize) - 1)

    def by_half(m: Batch) -> tuple[Array, ...]:
        some = _union(sources, m)
        return (_halves(some & lower != 0, some >> width != 0, dtype),)

    return by_half


@_rule("mma")
def _multiply_matrices(ins: Instruction, o: Operands) -> Rule:
    """An element of the result, where its row of A, column of B or element of C has any."""
    shape = matrix.shape_of(ins)
    a, b, c = (
        [o.undefined(r, "b32") for r in matrix.items(operand)] for operand in ins.operands[1:]
    )

    def multiplied(m: Batch) -> tuple[Array, ...]:
        def lanes(fetches: list[Fetch]) -> list[Array]:
            return [np.broadcast_to(f(m), m.shape).reshape(-1, WARP) for f in fetches]

        rows, columns = (
            matrix.to_rows(lanes(x), shape, high).max(axis=1) != 0 for x, high in ((a, 2), (b, 1))
        )
        own = matrix.to_sums(lanes(c), shape.c)
        some = rows[:, None] | columns[None] | (own.view(f"u{own.itemsize}") != 0)
        ones = np.where(some, np.array(-1).astype(f"i{own.itemsize}"), 0).view(own.dtype)
        return tuple(r.reshape(m.shape) for r in matrix.from_sums(ones))

    return multiplied


@_rule("wgmma")
def _add_product(ins: Instruction, o: Operands) -> Rule | None:
    """The accumulator's own bits, and its row where A in registers has any; `UndefinedMemory`
    looks at shared memory."""
    if ins.opcode[1] != "mma_async":
        return None
    form = form_of(ins)
    own = [o.undefined(r, "b32") for r in matrix.items(ins.operands[0])]
    held = ins.operands[1].items if isinstance(ins.operands[1], ptx.Vector) else ()
    fragments = [o.undefined(r, "b32") for r in held]
    adds = o.value(ins.operands[3], "pred")
    turns = 2 if form.shape.c != "f16" else 1  # of registers in a row of eight columns

    def added(m: Batch) -> tuple[Array, ...]:
        some: list[Array] = [np.zeros((1, 1), bool)] * 2
        if fragments:
            warps = [np.broadcast_to(f(m), m.shape).reshape(-1, WARP) for f in fragments]
            rows = matrix.to_rows(warps, form.shape, 2).max(axis=1) != 0  # (16, warps)
            lanes = np.repeat(rows.reshape(2, 8, -1).transpose(0, 2, 1), 4, axis=2)
            some = [half.reshape(m.shape) for half in lanes]
        return tuple(
            np.where(adds(m), bits(m) != 0, False) | some[i // turns % 2]
            for i, bits in enumerate(own)
        )

    return added


# -- comparisons ----------------------------------------------------------------------------------
@_rule("setp")
def _compare(ins: Instruction, o: Operands) -> Rule | None:
    """Equality is known where defined bits differ; a further predicate may decide alone."""
    kind, name = ins.opcode[-1], ins.opcode[1]
    if kind in _PACKED or isinstance(ins.operands[0], ptx.Pair):
        return None
    (a, b), (x, y) = (
        [fetch(s, f"b{8 * DTYPES[kind].itemsize}") for s in ins.operands[1:3]]
        for fetch in (o.undefined, o.value)
    )
    exact = name in ("eq", "ne") and kind[0] in "usb" and kind != "bf16"
    combined = [p for p in ins.opcode[2:-1] if p in ("and", "or", "xor")]
    further = ins.operands[3] if combined else None
    c = o.undefined(further, "pred") if further is not None else None
    z = o.value(further, "pred") if further is not None else None

    def compare(m: Batch) -> tuple[Array, ...]:
        either = a(m) | b(m)
        some = either != 0
        if exact:
            some = some & ((x(m) ^ y(m)) & ~either == 0)
        if c is None or z is None:
            return (some,)
        known = ~c(m)
        if combined[0] == "xor":
            return (some | c(m),)
        return ((some | c(m)) & ~(known & (z(m) == (combined[0] == "or"))),)

    return compare
