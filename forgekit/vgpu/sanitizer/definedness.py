"""Follows undefined values from a read of shared memory that nobody wrote to where they show.

Only a launch in which there is such a read is repeated with it. Registers and shared and local
memory have undefined bits beside them (rules: `undefined_bits.py`) and the read they come from.
What is reported is a store to global memory, a branch or predicate, an address, the lane of a
shuffle: what is computed on leftover bytes and dropped is nobody's concern.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable

import numpy as np

from forgekit.vgpu import ptx
from forgekit.vgpu.access.copies import AsyncOperation
from forgekit.vgpu.batch import Batch
from forgekit.vgpu.floats import Array
from forgekit.vgpu.listeners import Access, Listener, Product
from forgekit.vgpu.machine import WARP, Machine, pack_lanes
from forgekit.vgpu.opcodes.decoder import Step
from forgekit.vgpu.program import Program
from forgekit.vgpu.ptx import Instruction, dataflow
from forgekit.vgpu.sanitizer import undefined_bits
from forgekit.vgpu.sanitizer.findings import Report
from forgekit.vgpu.sanitizer.taints import Taints
from forgekit.vgpu.sanitizer.undefined_bits import registers
from forgekit.vgpu.sanitizer.undefined_memory import UndefinedMemory

# Instructions whose results come with events, and those whose guard decides what can be seen.
_BY_EVENT = frozenset({"ld", "ldu", "ldmatrix", "atom", "shfl", "vote", "match", "redux",
                       "elect"})  # fmt: skip
_DECIDING = frozenset({
    "bra", "ret", "exit", "trap", "brkpt", "bar", "barrier", "st", "atom", "red", "cp", "mbarrier",
    "ldmatrix", "stmatrix", "mma", "wgmma",
    "shfl", "vote", "match", "redux", "elect", "activemask", "call",
})  # fmt: skip

Hook = Callable[[Batch], None]


class Definedness(Listener):
    """The undefined values of one launch.

    Attributes:
        program: the kernel with steps that keep account of undefined registers.
    """

    def __init__(self, program: Program, report: Report) -> None:
        self._report = report
        self._taints = Taints(program, report)
        self._operands = undefined_bits.Operands(program, self._taints.bits_of)
        dying = program.dying
        self.program = copy.copy(program)
        self.program.steps = [
            self._watched(step, i, gone)
            for step, i, gone in zip(program.steps, program.instructions, dying, strict=True)
        ]

    # -- registers --------------------------------------------------------------------------------
    def _watched(self, step: Step, ins: Instruction, dying: list[int]) -> Step:
        """The step, and what it does to undefined registers."""
        reads, writes = dataflow.reads_and_writes(ins)
        numbers = self._operands.program.registers
        touched = {numbers[n] for n in (*reads, *writes) if n in numbers}
        tainted = self._taints.registers

        @functools.cache  # made when they first matter: most instructions never meet any
        def hooks() -> list[Hook]:
            return [h for h in (self._sinks(ins), self._results(ins, writes)) if h is not None]

        def run(m: Machine) -> object:
            if tainted and not touched.isdisjoint(tainted):
                for hook in hooks():
                    hook(m)
            if step(m):
                return True
            if tainted:
                for register in dying:
                    if register in tainted and not m.protected >> register & 1:
                        del tainted[register]
            return False

        return run

    def _results(self, ins: Instruction, names: list[str]) -> Hook | None:
        """What an instruction makes of its sources; None where events do that (`_BY_EVENT`)."""
        program, root = self._operands.program, ins.opcode[0]
        writes = [program.registers[n] for n in names if n in program.registers]
        if not writes or (root in _BY_EVENT and "param" not in ins.opcode):
            return None
        rule = undefined_bits.rule(ins, self._operands, len(writes))
        first = 0 if root == "wgmma" else 1  # adds to what its first operand holds
        sources = [r for o in ins.operands[first:] for r in registers(o, program)]
        guards, guard = registers(ins.guard, program), self._operands.decoder.guard()
        chooser = ins.operands[3] if root == "selp" else None
        chosen = None if chooser is None else self._operands.value(chooser, "pred")

        def results(m: Batch) -> None:
            mask = m.active(guard(m) if guard else None)
            origin = self._taints.origin(sources)
            if root in ("mma", "wgmma"):  # of any lane of the warp
                origin = np.repeat(_by_warp(m, origin).max(axis=2), WARP, axis=1)
            if chosen is not None:
                sides = [self._taints.origin(registers(o, program)) for o in ins.operands[1:3]]
                origin = np.where(chosen(m), *sides)
                origin = np.where(
                    origin == 0, self._taints.origin(registers(chooser, program)), origin
                )
            for register, bits in zip(writes, rule(m), strict=True):
                self._taints.put(register, bits, origin, mask)
            for register in guards:
                if register in self._taints.registers:  # it may have been written, or not
                    unknown = self._taints.registers[register]
                    here = m.expand(m.mask) & unknown.bits
                    for written in writes:
                        self._taints.put(written, unknown.bits, unknown.origin, here)

        return results

    def _sinks(self, ins: Instruction) -> Hook | None:
        """Reports what an undefined guard, address or size decides."""
        program, root = self._operands.program, ins.opcode[0]
        self._operands.decoder.instruction = ins
        guard = self._operands.decoder.guard()
        guards = registers(ins.guard, program) if root in _DECIDING else []
        addresses, others = [], []
        for operand in ins.operands:
            at = registers(operand, program)
            if isinstance(operand, ptx.Address):
                addresses += at
            elif root in ("cp", "mbarrier", "mapa"):
                others += at
        what = "branch" if root in ("bra", "ret", "exit") else "guard"
        if not (guards or addresses or others):
            return None

        def sinks(m: Batch) -> None:
            self._taints.report_all(m, what, guards, m.mask)
            mask = m.active(guard(m) if guard else None)
            self._taints.report_all(m, "address", addresses, mask)
            self._taints.report_all(m, "size", others, mask)

        return sinks

    # -- events -----------------------------------------------------------------------------------
    def on_batch(self, m: Batch) -> None:
        self._taints.registers.clear()
        self._memory = UndefinedMemory(m, self._taints, self._report)

    def on_access(self, m: Batch, access: Access) -> None:
        self._memory.access(m, access)

    def on_async_done(self, m: Batch, access: Access) -> None:
        self._memory.copied(access)

    def on_mbarrier(self, m: Batch, what: str, who: Array, words: Array) -> None:
        self._memory.made(words[who])

    def on_async_start(self, m: Batch, operation: AsyncOperation) -> None:
        self._memory.async_start(m, operation)

    def on_product(self, m: Batch, product: Product) -> None:
        self._memory.product(m, product)

    def on_shuffle(self, m: Batch, source: Array, members: Array | None) -> None:
        """Each lane takes the undefined bits of lane `source` of its warp."""
        taints, ins = self._taints, m.program.instructions[m.pc]
        target, value, lane = ins.operands[0], *ins.operands[1:3]
        taints.report_all(m, "lane", registers(lane, m.program), m.mask)
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

    def on_warp_sync(self, m: Batch, members: Array | None) -> None:
        """Votes, matches and reductions: what is undefined in one lane is for all that it meets."""
        taints, ins = self._taints, m.program.instructions[m.pc]
        root = ins.opcode[0]
        if root not in ("vote", "match", "redux", "elect"):
            return
        results = registers(ins.operands[0], m.program)
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
            holds = _by_warp(m, self._operands.value(ins.operands[1], "pred")(m))
            deciding = present & ~undefined & (holds if "any" in ins.opcode else ~holds)
            bits = bits & (pack_lanes(deciding)[..., None] & named == 0)
        for register in results:
            whole = [np.broadcast_to(a, present.shape).reshape(m.shape) for a in (bits, origin)]
            taints.put(register, whole[0], whole[1], m.mask)


def _by_warp(m: Batch, value: Array) -> Array:
    """(blocks, warps, 32)."""
    return np.broadcast_to(value, m.shape).reshape(m.n_blocks, -1, WARP)
