"""Registers with undefined bits, the reads these come from, and where that shows.

Sparse: a register that has none is not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from forgekit.vgpu.batch import Batch
from forgekit.vgpu.code import Code
from forgekit.vgpu.floats import Array
from forgekit.vgpu.sanitizer import messages
from forgekit.vgpu.sanitizer.findings import Report, shared_byte, thread_name
from forgekit.vgpu.sanitizer.undefined_bits import bits_dtype, registers


class Taint(NamedTuple):
    """What is undefined of a register: bits, and the origin of each thread's (0: it has none)."""

    bits: Array
    origin: Array


# An origin, the read that brought an undefined value in, is one int64: the complement of
# (instruction, thread of the batch, byte of its shared memory), so that of several the maximum is
# the first, and 0 is none.
_THREAD, _BYTE = 22, 21
_ALL = (1 << 63) - 1


def pack(pc: int, who: Array, offset: Array) -> Array:
    thread = np.minimum(who, (1 << _THREAD) - 1)
    return np.asarray(_ALL ^ (pc << (_THREAD + _BYTE) | thread << _BYTE | offset))


class Taints:
    """The undefined registers of a batch."""

    def __init__(self, program: Code, report: Report) -> None:
        self.registers: dict[int, Taint] = {}
        self._report = report
        self.widths = [bits_dtype(d) for d in program.register_dtypes]

    def bits_of(self, register: int) -> Array | None:
        taint = self.registers.get(register)
        return None if taint is None else taint.bits

    def put(self, register: int, bits: Array, origin: Array, mask: Array | None) -> None:
        """The threads of `mask` set a register to something that has these undefined bits."""
        old, width = self.registers.get(register), self.widths[register]
        if bits.dtype.kind == "b" and width.kind != "b":
            bits = np.where(bits, ~width.type(0), width.type(0))
        bits = bits.astype(width, copy=False)
        if mask is not None:
            none = width.type(0)
            bits = np.where(mask, bits, none if old is None else old.bits)
            origin = np.where(mask, origin, 0 if old is None else old.origin)
        if bits.any():
            self.registers[register] = Taint(bits, np.where(bits != 0, origin, 0))
        else:
            self.registers.pop(register, None)

    def define(self, register: int, mask: Array | None) -> None:
        if register in self.registers:
            nothing = np.zeros((1, 1), np.int64)
            self.put(register, nothing != 0, nothing, mask)

    def origin(self, found: Sequence[int]) -> Array:
        """Of what is computed from these registers."""
        result: Array = np.zeros((1, 1), np.int64)
        for register in found:
            if register in self.registers:
                result = np.maximum(result, self.registers[register].origin)
        return result

    def of_operand(self, m: Batch, operand: object) -> Taint | None:
        found = registers(operand, m.program)
        return self.registers.get(found[0]) if found else None

    def report_all(self, m: Batch, what: str, found: list[int], mask: Array | None) -> None:
        for register in found:
            if register in self.registers:
                self.report(m, what, self.registers[register], mask)

    def report(
        self,
        m: Batch,
        what: str,
        taint: Taint,
        mask: Array | None,
        place: Callable[[int, int], str] | None = None,
    ) -> None:
        """An undefined value shows. place: of (thread of the batch, its undefined bits)."""
        bad = np.flatnonzero(m.expand(mask) & (taint.bits != 0))
        if not len(bad):
            return
        bits, origins = (np.broadcast_to(a, m.shape).reshape(-1) for a in taint)
        reads = origins[bad] >> (_THREAD + _BYTE)
        for read in np.unique(reads):
            here = bad[reads == read]
            who = int(here[0])
            where = place(who, int(bits[who])) if place is not None else ""
            report_undefined(self._report, m, int(origins[who]), what, who, where, len(here))


def report_undefined(
    report: Report, m: Batch, origin: int, shows: str, thread: int, element: str, count: int
) -> None:
    """What was read where nobody had written shows here; the first place for each such read.

    shows: as `messages.uninitialised_shared` has it; element: of global memory.
    """
    code = origin ^ _ALL
    pc, offset = code >> (_THREAD + _BYTE), code & ((1 << _BYTE) - 1)
    line, here = report.line(pc), report.line(m.pc)
    same_line = bool(line and here and (line.file, line.line) == (here.file, here.line))
    reader = report.in_batch(m, code >> _BYTE & ((1 << _THREAD) - 1))
    user = report.in_batch(m, thread)
    elsewhere = here is not None and not same_line
    report.add(
        messages.uninitialised_shared(shows), (pc,) if same_line else (pc, m.pc),
        reader, shared_byte(offset), count=count, same=(pc,), element=element,
        user="the same thread" if user == reader else thread_name(user),
        where=f" at {report.line_name(m.pc)}" if elsewhere else " in this same line",
    )  # fmt: skip
