"""Find effects of undefined values by repeating a launch with other bytes in unwritten memory.

A launch that reads unwritten shared memory is repeated once per entry of `FILLS` and once per
constant that the kernel compares with. In these repetitions, reads of unwritten memory return the
fill. The first sight (a visible effect, see `sinks.py`) that differs from the reference run depends
on a read of unwritten memory. Repetitions that fill only one line's reads identify the line. An
undefined value is not reported if the kernel discards the results computed from it, and not
detected if it has the same effect for every fill.
"""

from __future__ import annotations

import copy
from bisect import bisect, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from forgekit.vgpu import ptx
from forgekit.vgpu.access.copies import AsyncOperation
from forgekit.vgpu.batch import Batch
from forgekit.vgpu.errors import KernelError
from forgekit.vgpu.floats import Array
from forgekit.vgpu.launch_record import WARP
from forgekit.vgpu.listeners import Access, Listener
from forgekit.vgpu.machine import Machine
from forgekit.vgpu.opcodes.decoder import Step
from forgekit.vgpu.program import Program
from forgekit.vgpu.ptx import Instruction
from forgekit.vgpu.sanitizer import messages, sinks
from forgekit.vgpu.sanitizer.findings import Report, shared_byte, thread_name
from forgekit.vgpu.sanitizer.reach import Reach
from forgekit.vgpu.sanitizer.shadow import ENGINE
from forgekit.vgpu.sanitizer.sinks import Sight

# Runs a program for the launch, from the same initial memory, with these listeners.
Run = Callable[[Program, Sequence[Listener]], None]
Fill = bytes | None  # a byte pattern to repeat; None: pseudorandom bytes

ONES = b"\xff\xff\xff\xff"  # -1 or NaN; unwritten memory contains this in the usual schedule
# The fills also include 0, 1.0, and large and small numbers of every type.
FILLS: tuple[Fill, ...] = (
    b"\0\0\0\0", ONES, b"\x7f\x7f\x7f\x7f", b"\x80\xff\x7f\xff", b"\0\0\x80\x3f", None,
)  # fmt: skip
_MOST_CONSTANTS = 8


class _Reached(Exception):  # noqa: N818
    """Stops a run at the requested sight."""

    def __init__(self, sight: Sight) -> None:
        self.sight = sight


class Definedness(Listener):
    """Observes a launch's reference run, then repeats the launch.

    bare: the kernel without added steps; program: the kernel with the steps that the other checks
    add, for the reference run.

    Attributes:
        program: the program of the reference run, with steps that report sights.
    """

    def __init__(self, program: Program, bare: Program, report: Report) -> None:
        self._bare, self._unit, self._report = bare, bare.unit_bytes, report
        self.program, self._repeated = self._watch(program), self._watch(bare)
        # (batch, instruction, execution count) -> the unwritten memory that the instruction read
        self._blank: dict[tuple[int, int, int], list[Reach]] = {}
        # For each sight of the reference run: its code, and the number of findings up to it.
        self._codes: list[int] = []
        self._found = [0]
        self._start(self._keep)

    def _keep(self, sight: Sight) -> None:
        self._codes.append(sight.code)
        self._found.append(len(self._report.findings))

    def _start(
        self, take: Callable[[Sight], None], filled: frozenset[int] = frozenset(), fill: Fill = None
    ) -> None:
        """Begin a run. take: a function that receives each sight; filled: the instructions that
        read `fill` from unwritten memory."""
        self._take, self._filled, self._fill = take, filled, fill
        self._batch, self._sights = -1, 0
        self._ran: Counter[int] = Counter()

    # -- watched events --------------------------------------------------------------------------
    def _watch(self, program: Program) -> Program:
        watched = copy.copy(program)
        steps = zip(program.steps, program.instructions, strict=True)
        watched.steps = [self._watched(s, i, pc) for pc, (s, i) in enumerate(steps)]
        return watched

    def _watched(self, step: Step, ins: Instruction, pc: int) -> Step:
        decides = sinks.sinks_of(ins, self._bare)
        only_reads = ins.opcode[0] in ("ld", "ldu", "ldmatrix")

        def run(m: Machine) -> object:
            for what, register, guard in decides:
                mask = m.active(guard(m)) if guard else m.mask
                self._see(sinks.sight(m, what, [m.regs[register]], mask))
            self._ran[pc] += 1
            found = self._blank.get((self._batch, pc, self._ran[pc]))
            if found is None or pc not in self._filled:
                return step(m)
            units = np.concatenate([reach.units for reach in found])
            memory = m.shared.data.reshape(-1, self._unit)
            before = memory[units]
            memory[units] = self._fill_of(units)
            result = step(m)
            if only_reads:  # restore the bytes for other reads
                memory[units] = before
            return result

        return run

    def _fill_of(self, units: Array) -> Array:
        at = units[:, None] * self._unit + np.arange(self._unit)
        if self._fill is None:
            return (at * 2654435761 >> 11).astype(np.uint8)
        return np.frombuffer(self._fill, np.uint8)[at % len(self._fill)]

    def _see(self, sight: Sight) -> None:
        self._sights += 1
        self._take(sight)

    def on_batch(self, m: Batch) -> None:
        self._batch += 1
        self._machine = m
        self._ran.clear()

    def on_access(self, m: Batch, access: Access) -> None:
        for sight in sinks.stores(m, access):
            self._see(sight)

    def on_async_start(self, m: Batch, operation: AsyncOperation) -> None:
        for sight in sinks.copies(m, operation):
            self._see(sight)

    def on_shuffle(self, m: Batch, source: Array, members: Array | None) -> None:
        lanes = np.broadcast_to(source, (m.n_blocks, m.n_threads // WARP, WARP))
        self._see(sinks.sight(m, "lane", [lanes.reshape(m.shape)], m.mask))

    def read_blank(self, m: Batch, found: Reach) -> None:
        self._blank.setdefault((self._batch, m.pc, self._ran[m.pc]), []).append(found)

    # -- comparison of runs -------------------------------------------------------------------
    def compare(self, run: Run) -> None:
        """Repeat the launch and report each line whose undefined values have an effect, or all
        lines if only their values together have one. Insert these findings among the others in
        execution order."""
        lines: dict[object, set[int]] = defaultdict(set)
        for _, pc, _ in self._blank:
            lines[self._report.line(pc) or pc].add(pc)
        every = frozenset().union(*lines.values())
        told: list[int] = []  # the numbers of the reported sights
        if self._first_difference(run, every) is not None:
            for pcs in (*map(frozenset, lines.values()), every):
                if pcs == every and told:
                    break
                other = self._first_difference(run, pcs)
                if other is not None:
                    m, batch, number = self._machine, self._batch, self._sights
                    known = len(self._report.findings)
                    self._tell(m, batch, pcs, other, self._sight(run, number))
                    if len(self._report.findings) > known:
                        before = self._found[min(number, len(self._codes))]
                        self._report.move_last(before + bisect(told, number))
                        insort(told, number)

    def _first_difference(self, run: Run, pcs: frozenset[int]) -> Sight | None:
        """Return the first sight that depends on reads by these instructions."""

        def take(sight: Sight) -> None:
            if self._codes[self._sights - 1 : self._sights] != [sight.code]:
                raise _Reached(sight)

        fills = dict.fromkeys((*FILLS, *_compared(self._bare)))
        if self._machine.shared.blank_is_ones:
            del fills[ONES]
        found = (self._reached(run, take, pcs, fill) for fill in fills)
        return next((sight for sight in found if sight is not None), None)

    def _sight(self, run: Run, number: int) -> Sight | None:
        """Return the sight with this number in the run without a fill."""

        def take(sight: Sight) -> None:
            if self._sights == number:
                raise _Reached(sight)

        return self._reached(run, take)

    def _reached(
        self, run: Run, take: Callable[[Sight], None],
        pcs: frozenset[int] = frozenset(), fill: Fill = None,
    ) -> Sight | None:  # fmt: skip
        self._start(take, pcs, fill)
        try:
            run(self._repeated, (self,))
        except _Reached as reached:
            return reached.sight
        except KernelError:  # the earlier run stopped here, so this run also stops
            pass
        return None

    def _tell(
        self, m: Batch, batch: int, pcs: frozenset[int], other: Sight, usual: Sight | None
    ) -> None:
        """Report that reads by the instructions `pcs` change a sight; usual: the sight in the run
        without a fill."""
        report = self._report
        threads, seen = other.rows()
        byte, before = 0, seen if usual is None else usual.rows()[1]
        if before.shape == seen.shape and (before != seen).any():
            rows, columns = np.nonzero(before != seen)
            threads, byte = threads[np.unique(rows)], int(columns[0])
        user = int(threads[0])
        pc, who, unit = self._read_for(user, m.n_threads, batch, pcs)
        reader, by = report.in_batch(m, who), report.in_batch(m, user)
        line, there = report.line(pc), report.line(other.pc)
        same = bool(line and there and (line.file, line.line) == (there.file, there.line))
        where = f" at {report.line_name(other.pc)}" if there and not same else " on the same line"
        report.add(
            messages.uninitialised_shared(other.what), (pc,) if same else (pc, other.pc), reader,
            shared_byte(unit * self._unit % m.shared.stride), count=self._reads(pcs), same=(pc,),
            element=other.element(user, byte), where=where,
            user="the same thread" if by == reader else thread_name(by),
        )  # fmt: skip

    def _reads(self, pcs: frozenset[int]) -> int:
        """Return the number of reads of unwritten memory, counted per thread, in all batches of the
        launch."""
        blank = (found for (_, pc, _), found in self._blank.items() if pc in pcs)
        return sum(np.unique(reach.who).size for found in blank for reach in found)

    def _read_for(
        self, user: int, block: int, batch: int, pcs: frozenset[int]
    ) -> tuple[int, int, int]:
        """Return (instruction, thread, unit) of the first read by thread `user`. If it read
        nothing, return the first read by its block of `block` threads or, failing that, by any
        thread."""
        reads = (
            (pc, int(who) & (ENGINE - 1), int(unit))
            for (when, pc, _), found in self._blank.items()
            if when == batch and pc in pcs
            for reach in found
            for who, unit in zip(reach.who, reach.units, strict=True)
        )
        return min(reads, key=lambda r: (r[1] != user, r[1] // block != user // block, r))


def _compared(program: Program) -> Sequence[Fill]:
    """Return the first constants that a kernel's equality comparisons use."""
    found = [
        (operand.bits & 0xFFFFFFFF).to_bytes(4, "little")
        for ins in program.instructions
        if ins.opcode[0] == "setp" and ins.opcode[1] in ("eq", "ne")
        for operand in ins.operands
        if isinstance(operand, ptx.Immediate)
    ]
    return list(dict.fromkeys(found))[:_MOST_CONSTANTS]
