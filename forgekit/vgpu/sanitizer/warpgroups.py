"""Check `wgmma`: the registers and the shared memory that products in flight use, and the fences
before products.

These checks apply only to kernels with `wgmma`. A product's reads of shared memory are tracked like
those of any other asynchronous operation. Its registers are checked before each instruction that
uses them.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np

from forgekit.vgpu.batch import Batch
from forgekit.vgpu.floats import Array
from forgekit.vgpu.listeners import Listener, Product
from forgekit.vgpu.machine import WARP, Machine
from forgekit.vgpu.machine.warpgroups import WARPGROUP, first_threads, threads_of
from forgekit.vgpu.opcodes.decoder import Step
from forgekit.vgpu.program import Program
from forgekit.vgpu.ptx import Instruction, dataflow
from forgekit.vgpu.sanitizer.clocks import AsyncToken
from forgekit.vgpu.sanitizer.cluster_sync import ClusterSync
from forgekit.vgpu.sanitizer.findings import Report
from forgekit.vgpu.sanitizer.messages import NO_PRODUCT_FENCE, PRODUCT_IN_FLIGHT
from forgekit.vgpu.sanitizer.order import Order
from forgekit.vgpu.sanitizer.reach import bytes_reached
from forgekit.vgpu.sanitizer.shadow import ENGINE, READ
from forgekit.vgpu.sanitizer.shared import SharedCheck

_PIECE = 16  # bytes per piece of an operand


@dataclass
class _Used:
    """The use of a register by a product in flight, or a write to the register."""

    threads: Array
    pc: int
    product: Product | None = None  # None for a write
    list: tuple[int, ...] = ()  # the accumulators, including the register; empty for A


def _registers_of_products(program: Program) -> set[int]:
    """Return the numbers of the registers of accumulators and fragments, and of their copies by
    `mov`."""
    found: set[str] = set()
    moves = []
    for i in program.instructions:
        if i.opcode[:2] == ("wgmma", "mma_async"):
            found.update(dataflow.reads_and_writes(i)[0])
        elif i.opcode[0] == "mov":
            moves.append(dataflow.reads_and_writes(i))
    before = 0
    while len(found) != before:
        before = len(found)
        for reads, writes in moves:
            if not found.isdisjoint(reads):
                found.update(writes)
    return {program.registers[name] for name in found if name in program.registers}


class WarpgroupCheck(Listener):
    """Checks the products of a launch.

    Attributes:
        program: the kernel, with added steps that check the registers of products.
    """

    def __init__(
        self,
        program: Program,
        order: Order,
        shared: SharedCheck,
        cluster_sync: ClusterSync,
        report: Report,
    ) -> None:
        self._unit, self._order, self._report = program.unit_bytes, order, report
        self._shared, self._cluster_sync = shared, cluster_sync
        self._in_flight: dict[int, _Used] = {}
        self._copies: dict[int, _Used] = {}  # `mov` copies of registers in flight
        self._written: dict[int, _Used] = {}  # registers written since the last product
        self._numbers = _registers_of_products(program)
        self.program = copy.copy(program)
        self.program.steps = [
            self._watched(step, i)
            for step, i in zip(program.steps, program.instructions, strict=True)
        ]

    def on_batch(self, m: Batch) -> None:
        for used in (self._in_flight, self._copies, self._written):
            used.clear()
        n_warps = m.n_blocks * m.n_threads // WARP
        # For each warp: True if it has executed wgmma.fence since its last group of products, and
        # True if it has started a product.
        self._fenced = np.zeros(n_warps, bool)
        self._multiplied = np.zeros(n_warps, bool)

    # -- registers --------------------------------------------------------------------------------
    def _watched(self, step: Step, ins: Instruction) -> Step:
        """Return the step, preceded by a check if the instruction uses registers of products."""
        reads, writes = (
            [self.program.registers[n] for n in names if n in self.program.registers]
            for names in dataflow.reads_and_writes(ins)
        )
        writes = [r for r in writes if r in self._numbers]
        reads = [r for r in reads if r in self._numbers]
        if not (reads or writes) or ins.opcode[0] == "wgmma":
            return step
        if ins.opcode[0] == "mov":  # the compiler may insert these anywhere
            return self._copying(step, reads, writes)

        def run(m: Machine) -> object:
            if self._in_flight:
                for register in reads:
                    self._meet(m, register, "reads")
                for register in writes:
                    self._meet(m, register, "writes")
            for register in writes:
                self._copies.pop(register, None)
                self._written[register] = _Used(m.expand(m.mask), m.pc)
            return step(m)

        return run

    def _copying(self, step: Step, reads: list[int], writes: list[int]) -> Step:
        def run(m: Machine) -> object:
            sources = [self._of(register) for register in reads]
            used = next((u for u in sources if u is not None and u.list), None)
            for register in writes:
                if used is not None:
                    self._copies[register] = used
                else:
                    self._copies.pop(register, None)
            return step(m)

        return run

    def _of(self, register: int) -> _Used | None:
        return self._in_flight.get(register, self._copies.get(register))

    def _meet(self, m: Batch, register: int, does: str, own: tuple[int, ...] = ()) -> None:
        used = self._of(register) if does == "reads" else self._in_flight.get(register)
        if used is None or (does == "reads" and not used.list) or (own and own == used.list):
            return
        bad = np.flatnonzero(used.threads & m.expand(m.mask))
        if len(bad):
            what = "accumulator" if used.list else "fragment of A"
            self._report.add(
                PRODUCT_IN_FLIGHT, (m.pc, used.pc), self._report.in_batch(m, int(bad[0])), what,
                count=len(bad), does=does,
            )  # fmt: skip

    # -- products ---------------------------------------------------------------------------------

    def on_product(self, m: Batch, product: Product) -> None:
        self._order.time += 1
        threads = threads_of(m, product.which)
        for register in product.accumulators:
            self._meet(m, register, "reads", product.accumulators)
        self._check_fence(m, product, threads)
        warps = first_threads(m, product.which)[:, None] + np.arange(0, WARPGROUP, WARP)
        product.token = token = self._order.clocks.start_async(warps.reshape(-1))
        size = np.full(len(product.who), _PIECE)
        found = bytes_reached(product.who | ENGINE, product.start, size, self._unit)
        self._cluster_sync.product_reads(m, found)
        self._shared.touch(m, READ, found, token.clock)
        for register in (*product.accumulators, *product.held):
            used = self._in_flight.get(register)
            both = threads if used is None else threads | used.threads
            own = product.accumulators if register in product.accumulators else ()
            self._in_flight[register] = _Used(both, m.pc, product, own)

    def on_product_done(self, m: Batch, product: Product, done: Array) -> None:
        token = product.token
        assert isinstance(token, AsyncToken)
        self._order.clocks.join_products(token, np.asarray(m.lanes(done).any(axis=1)))
        for kept in (self._in_flight, self._copies):
            for register, used in list(kept.items()):
                if used.product is product:
                    used.threads = used.threads & ~done
                    if not used.threads.any():
                        del kept[register]

    # -- fences -----------------------------------------------------------------------------------
    def on_product_fence(self, m: Batch) -> None:
        self._fenced |= m.lanes(m.mask).any(axis=1)

    def on_product_commit(self, m: Batch) -> None:
        self._fenced &= ~m.lanes(m.mask).any(axis=1)

    def _check_fence(self, m: Batch, product: Product, threads: Array) -> None:
        """Report a missing `wgmma.fence` since the previous group of products. A fence is needed
        before a warp's first product, and before a product that uses registers that other
        instructions have written since the previous group.

        The compiler may move the computation of a register across the fence, so the position of the
        fence is not checked.
        """
        warps = m.lanes(threads).any(axis=1)
        bare = np.repeat(warps & ~self._fenced & ~self._multiplied, WARP).reshape(m.shape)
        pcs: tuple[int, ...] = (m.pc,)
        unfenced = np.repeat(warps & ~self._fenced, WARP).reshape(m.shape)
        for register in (*product.accumulators, *product.held):
            written = self._written.get(register)
            if written is not None:
                if (written.threads & unfenced).any():
                    bare, pcs = bare | written.threads & unfenced, (m.pc, written.pc)
                written.threads = written.threads & ~threads
        self._multiplied |= warps
        bad = np.flatnonzero(bare)
        if len(bad):
            who = self._report.in_batch(m, int(bad[0]))
            self._report.add(NO_PRODUCT_FENCE, pcs, who, same=(m.pc,), count=len(bad))
