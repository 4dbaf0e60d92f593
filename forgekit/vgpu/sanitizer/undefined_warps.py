"""Undefined values in instructions of a whole warp: what a lane hands to others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forgekit.vgpu import ptx
from forgekit.vgpu.machine import WARP, pack_lanes
from forgekit.vgpu.sanitizer.undefined_bits import Operands, registers

if TYPE_CHECKING:
    from forgekit.vgpu.floats import Array
    from forgekit.vgpu.machine import Machine
    from forgekit.vgpu.sanitizer.taints import Taints


def _by_warp(m: Machine, value: Array) -> Array:
    """(blocks, warps, 32)."""
    return np.broadcast_to(value, m.shape).reshape(m.n_blocks, -1, WARP)


def shuffle(m: Machine, taints: Taints, source: Array) -> None:
    """Each lane takes the value of lane `source` of its warp."""
    ins = m.program.instructions[m.pc]
    target, value, lane = ins.operands[0], *ins.operands[1:3]
    taints.tell_of(m, "lane", registers(lane, m.program), m.mask)
    result, valid = (
        (target.first, target.second) if isinstance(target, ptx.Pair) else (target, None)
    )
    for register in registers(valid, m.program):
        taints.define(register, m.mask)
    for register in registers(result, m.program):
        taint = taints.of_operand(m, value)
        if taint is None:
            taints.define(register, m.mask)
            continue
        bits, origin = (_by_warp(m, a) for a in taint)
        lanes = np.broadcast_to(source, bits.shape)
        taken = [np.take_along_axis(a, lanes, axis=2).reshape(m.shape) for a in (bits, origin)]
        taints.put(register, taken[0], taken[1], m.mask)


def warp_sync(m: Machine, taints: Taints, operands: Operands, members: Array | None) -> None:
    """Votes, matches and reductions: what is undefined in one lane is for all that it meets."""
    ins = m.program.instructions[m.pc]
    root, program = ins.opcode[0], m.program
    if root not in ("vote", "match", "redux", "elect"):
        return
    results = registers(ins.operands[0], program)
    taint = taints.of_operand(m, ins.operands[1]) if root != "elect" else None
    if taint is None:
        for register in results:
            taints.define(register, m.mask)
        return
    named = np.uint32(0xFFFFFFFF) if members is None else _by_warp(m, members)
    present = _by_warp(m, m.expand(m.mask))
    undefined = _by_warp(m, taint.bits != 0) & present
    bits = pack_lanes(undefined)[..., None] & named
    origin = np.where(undefined, _by_warp(m, taint.origin), 0).max(axis=2, keepdims=True)
    if "ballot" not in ins.opcode:
        bits = bits != 0
    if root == "vote" and ("any" in ins.opcode or "all" in ins.opcode):
        holds = _by_warp(m, operands.value(ins.operands[1], "pred")(m))
        deciding = present & ~undefined & (holds if "any" in ins.opcode else ~holds)
        bits = bits & (pack_lanes(deciding)[..., None] & named == 0)
    for register in results:
        whole = [np.broadcast_to(a, present.shape).reshape(m.shape) for a in (bits, origin)]
        taints.put(register, whole[0], whole[1], m.mask)
