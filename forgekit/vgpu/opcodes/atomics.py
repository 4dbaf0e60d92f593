"""Implement atomic operations on memory: `atom`, which returns the old value, and `red`.

The operations run in order of block and thread index, so that results, including sums of floats,
are the same in every run. (A GPU runs them in any order.)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forgekit.vgpu import floats
from forgekit.vgpu.access import addressing
from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine import Machine
from forgekit.vgpu.opcodes import UnknownVariantError, counted, one_of, opcode
from forgekit.vgpu.opcodes.access import address_of, space_of
from forgekit.vgpu.opcodes.decoder import Decoder, Step
from forgekit.vgpu.opcodes.floating import extremum, packed
from forgekit.vgpu.ptx import TYPE_BYTES, Instruction, Register

Operation = Callable[..., Array]

_OPERATIONS = ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")


def operation(name: str, kind: str) -> Operation:
    """Return the function `(old, operand[, second]) -> new` for arrays of PTX type `kind`."""
    if kind == "bf16":
        to32 = floats.bf16_to_f32
        wide = operation(name, "f32")
        return lambda old, x: floats.f32_to_bf16(wide(to32(old), to32(x)))
    if kind in ("f16x2", "bf16x2"):
        return packed(operation(name, kind[:-2]), kind[:-2])
    if kind[0] == "f" and name in ("min", "max"):
        return extremum(name, kind, propagate_nan=False)
    table: dict[str, Operation] = {
        "add": _float_sum if kind[0] == "f" else np.add,
        "min": np.minimum,
        "max": np.maximum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
        "exch": lambda old, x: x,
        "cas": _swap_if_equal,
        "inc": lambda old, x: np.where(old >= x, old.dtype.type(0), old + old.dtype.type(1)),
        "dec": lambda old, x: np.where((old == 0) | (old > x), x, old - old.dtype.type(1)),
    }
    return table[name]


def reduction(name: str, kind: str) -> Operation:
    """Return the function of an operation in global memory, where `add.f32` flushes subnormals."""
    return _add_flushed if (name, kind) == ("add", "f32") else operation(name, kind)


def _float_sum(old: Array, x: Array) -> Array:
    """Return the sum; for types other than float64, a NaN becomes the GPU's canonical NaN."""
    total = old + x
    return floats.first_nan(total, old, x) if total.itemsize == 8 else floats.canonical_nan(total)


def _add_flushed(old: Array, x: Array) -> Array:
    """Add float32 values as in global memory, where subnormal operands and results become zero.

    In shared memory, subnormals are preserved (PTX ISA, "atom").
    """
    return floats.flush(_float_sum(floats.flush(old), floats.flush(x)))


def _swap_if_equal(old: Array, compare: Array, x: Array) -> Array:
    return np.where(old == compare, x, old)


def _check_kind(name: str, kind: str) -> None:
    """Refuse an operation that PTX does not define for the type."""
    no_bits = kind[0] == "f" or kind.startswith("bf")
    if kind == "pred" or (no_bits and name in ("and", "or", "xor", "inc", "dec")):
        raise UnknownVariantError(f".{name}.{kind}")


@opcode("atom", "red")
def atomic(ins: Instruction, d: Decoder) -> Step:
    kind = ins.opcode[-1]
    if kind not in TYPE_BYTES or kind == "b128" or any(v in ins.opcode for v in ("v2", "v4", "v8")):
        raise UnknownVariantError(f".{kind}")
    name = one_of(ins, "operation", *_OPERATIONS)
    _check_kind(name, kind)
    returns = ins.opcode[0] == "atom"
    count = 1 + returns + (2 if name == "cas" else 1)
    operands = counted(ins, count, count + 1)  # the optional last operand is a cache policy
    operands = operands[1:] if returns else operands
    space = space_of(ins)
    address = address_of(operands[0], space, d)
    fetches = [d.fetch(o, kind) for o in operands[1 : 3 if name == "cas" else 2]]
    target = ins.operands[0]
    sink = isinstance(target, Register) and target.name == "_"
    write = d.writer(target, kind) if returns and not sink else None
    run = reduction(name, kind) if space == "global" else operation(name, kind)
    elem = TYPE_BYTES[kind]

    def update(m: Machine, mask: Array | None) -> None:
        where = address(m)
        olds = []
        # Operate once per thread, even if all threads of a block share an address and a value.
        full = m.expand(mask)
        spread = np.broadcast_to(where, m.shape)
        found = addressing.targets(m, space, "updates", spread, full, elem, 1)
        for t in found:
            part = m.expand(t.mask)
            rows = np.broadcast_to(t.places, m.shape)[part]
            values = [np.broadcast_to(f(m), m.shape)[part] for f in fetches]
            memory = t.rows.view(values[0].dtype)
            olds.append((part, serve(memory, rows, values, run)))
            if m.spinning.looks:
                m.spinning.acted |= bool((memory[rows] != olds[-1][1]).any())
        m.notify("atomic", space, where, mask, elem, found)
        if write is not None:
            result = np.zeros(m.shape, olds[0][1].dtype)
            for part, old in olds:
                result[part] = old
            write(m, result)

    return d.guarded(update)


def _subnormal(x: Array) -> Array:
    return (x != 0) & (np.abs(x) < np.finfo(np.float32).tiny)


def serve(memory: Array, rows: Array, values: list[Array], run: Operation) -> Array:
    """Apply one operation per thread to `memory[rows]`, in order, and return the old values."""
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    lengths = np.diff(np.r_[starts, len(ordered)])
    old = np.empty(len(rows), memory.dtype)
    total = np.add if run in (_float_sum, _add_flushed) else run
    if isinstance(total, np.ufunc) and len(starts) < lengths.max():
        # If many threads share few addresses, compute running totals for each address.
        for start, length in zip(starts, lengths, strict=True):
            who = order[start : start + length]
            row = ordered[start]
            chain = np.r_[memory[row : row + 1], values[0][who]]
            totals = total.accumulate(chain, dtype=memory.dtype)
            # Running totals do not follow the GPU's rules for NaNs and subnormals. If any occur,
            # add one value at a time. A NaN persists up to the last total.
            subnormal = run is _add_flushed and (_subnormal(chain) | _subnormal(totals)).any()
            if subnormal or np.isnan(totals[-1]):
                for i, x in enumerate(chain[1:]):
                    totals[i + 1 : i + 2] = run(totals[i : i + 1], x[None])
            old[who] = totals[:-1]
            memory[row] = totals[-1]
        return old
    for rank in range(int(lengths.max())):  # the rank-th thread of each address
        who = order[starts[lengths > rank] + rank]
        before = memory[rows[who]]
        old[who] = before
        memory[rows[who]] = run(before, *(v[who] for v in values))
    return old
