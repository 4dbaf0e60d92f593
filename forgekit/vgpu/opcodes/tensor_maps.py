"""Implement `tensormap`, with which kernels modify tensor maps in shared or global memory."""

from __future__ import annotations

import numpy as np

from forgekit.vgpu.access import addressing
from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine import Machine
from forgekit.vgpu.opcodes import UnknownVariantError, counted, expect, opcode
from forgekit.vgpu.opcodes.access import address_of, space_of
from forgekit.vgpu.opcodes.decoder import Decoder, Step
from forgekit.vgpu.ptx import Immediate, Instruction

# For each field, a function of the ordinal that returns (byte offset of the 32-bit word, lowest
# bit, number of bits, amount subtracted from the value), derived from ptxas's code for sm_90a and
# sm_100a.
_FIELDS = {
    "rank": lambda i: (8, 4, 3, 0),
    "box_dim": lambda i: (52, 24, 8, 1) if i == 0 else (56, 8 * (i - 1), 8, 1),
    "global_dim": lambda i: (32 + 4 * i, 0, 32, 1),
    "element_stride": lambda i: (52, 3 * i, 3, 1),
    "elemtype": lambda i: (8, 7, 4, 0),
    "interleave_layout": lambda i: (8, 11, 2, 0),
    "swizzle_mode": lambda i: (8, 13, 2, 0),
    "fill_mode": lambda i: (8, 15, 1, 0),
}
_ORDINALS = ("box_dim", "global_dim", "global_stride", "element_stride")
_PLAIN_TYPES = 11  # lower values of `elemtype` copy elements unchanged; higher values convert them


@opcode("tensormap.replace")
def replace(ins: Instruction, d: Decoder) -> Step:
    """Execute `tensormap.replace.tile.field.space.b1024.type [map], [ordinal,] value`."""
    field = ins.opcode[3] if len(ins.opcode) > 3 else ""
    if "tile" not in ins.opcode or field not in (*_FIELDS, "global_address", "global_stride"):
        raise UnknownVariantError(f".{field}")
    operands = counted(ins, 2 + (field in _ORDINALS))
    number = expect(operands[1], Immediate, "number").bits if field in _ORDINALS else 0
    if not 0 <= number < 5:
        raise UnknownVariantError(f"mode {number}")
    if field == "elemtype" and expect(operands[1], Immediate, "number").bits >= _PLAIN_TYPES:
        raise UnknownVariantError("a type that is converted during the copy")
    space, address = space_of(ins), address_of(operands[0], space_of(ins), d)
    value = d.fetch(operands[-1], "u64" if ins.opcode[-1] == "b64" else "u32")

    def write(m: Machine, mask: Array | None) -> None:
        new = value(m).astype(np.uint64)
        if field == "global_address":
            parts = [(0, 0, 32, new), (4, 0, 32, new >> np.uint64(32))]
        elif field == "global_stride":
            low, high = new >> np.uint64(4), new >> np.uint64(36)
            parts = [(12 + 4 * number, 0, 32, low), (28, 4 * number, 4, high)]
        else:
            at, shift, bits, less = _FIELDS[field](number)
            parts = [(at, shift, bits, new - np.uint64(less))]
        for part in parts:
            _put(m, space, address(m), mask, *part)

    return d.guarded(write)


def _put(
    m: Machine, space: str, address: Array, mask: Array | None, at: int, shift: int, bits: int,
    value: Array,
) -> None:  # fmt: skip
    """Write `bits` bits, beginning at bit `shift`, of the 32-bit word at `address + at`."""
    where = address + address.dtype.type(at)
    found = addressing.targets(m, space, "updates", where, mask, 4, 1)
    (word,) = addressing.load(found, 1)
    field = np.uint32((1 << bits) - 1 << shift)
    moved = (value << np.uint64(shift)).astype(np.uint32) & field
    values = [word & ~field | moved]
    addressing.store(found, values)
    m.notify("store", space, where, mask, 4, found, values)


@opcode("tensormap.cp_fenceproxy")
def copy(ins: Instruction, d: Decoder) -> Step:
    """Execute `tensormap.cp_fenceproxy.global.shared::cta.….sync.aligned [to], [from], 128`."""
    if "global" not in ins.opcode or "shared:cta" not in ins.opcode:
        raise UnknownVariantError("state spaces other than shared::cta to global")
    to, source = (
        address_of(operand, space, d)
        for operand, space in zip(counted(ins, 3)[:2], ("global", "shared"), strict=True)
    )
    size = expect(ins.operands[2], Immediate, "number").bits

    def run(m: Machine, mask: Array | None) -> None:
        for at in range(0, size, 16):
            read, write = (a + a.dtype.type(at) for a in (source(m), to(m)))
            found = addressing.targets(m, "shared", "reads", read, mask, 4, 4)
            values = addressing.load(found, 4)
            m.notify("load", "shared", read, mask, 16, found, values)
            into = addressing.targets(m, "global", "writes", write, mask, 4, 4)
            addressing.store(into, values)
            m.notify("store", "global", write, mask, 16, into, values)

    return d.guarded(run)
