"""A kernel made ready to run: registers numbered, variables placed, a step for each instruction."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np

from forgekit.vgpu import ptx
from forgekit.vgpu.launch_record import LaunchRecord
from forgekit.vgpu.machine import Machine
from forgekit.vgpu.memory import SHARED_RESERVED
from forgekit.vgpu.opcodes.decoder import DTYPES, Decoder, Step
from forgekit.vgpu.ptx import dataflow
from forgekit.vgpu.ptx.parser import parse
from forgekit.vgpu.ptx.source_lines import attribute, describe_source


class Program:
    """A kernel ready to run.

    Raises:
        UnsupportedPtxError: an opcode the virtual GPU does not know.
    """

    def __init__(self, kernel: ptx.Kernel, module: ptx.Module) -> None:
        self.kernel = kernel
        self.module = module
        self.target = module.target
        self.instructions = kernel.instructions
        self.registers = {name: i for i, name in enumerate(kernel.registers)}
        # No instruction that the decoder knows uses a register of another type.
        self.register_dtypes = [DTYPES.get(t, DTYPES["b64"]) for t in kernel.registers.values()]
        self._place_variables()
        decoder = Decoder(self)  # refuses what is malformed before anything else looks at it
        steps = [decoder.step(instruction) for instruction in kernel.instructions]
        self.live = dataflow.liveness(kernel, self.registers)
        self._polls = dataflow.polls_before(kernel)
        dying = dataflow.dying(kernel, self.registers, self.live)
        self.steps: list[Step] = [
            self._forgetting(step, last) for step, last in zip(steps, dying, strict=True)
        ]

    def _place_variables(self) -> None:
        variables = [*self.module.variables.values(), *self.kernel.variables.values()]
        shared = [v for v in variables if v.space == "shared"]
        static = [v for v in shared if not v.external]
        self.shared_offsets, self.shared_end = _offsets(static, SHARED_RESERVED)
        for v in shared:
            if v.external:  # behind the static ones
                self.shared_end = _round_up(self.shared_end, max(v.align, 16))
                self.shared_offsets[v.name] = self.shared_end
        local = [v for v in self.kernel.variables.values() if v.space == "local"]
        self.local_offsets, self.local_bytes = _offsets(local)
        self.param_offsets, self.param_bytes = _offsets(self.kernel.params)

    def _forgetting(self, step: Step, dying: list[int]) -> Step:
        """The step, and then nothing left of registers that nobody reads any more.

        Their memory serves the next instruction while it is still in the cache.
        """
        if not dying:
            return step
        empty = [(r, np.zeros((1, 1), self.register_dtypes[r])) for r in dying]

        def run(m: Machine) -> object:
            if step(m):
                return True
            protected, regs = m.protected, m.regs
            for register, nothing in empty:
                if not protected >> register & 1:
                    regs[register] = nothing
            return False

        return run

    def shared_bytes(self, record: LaunchRecord) -> int:
        """Bytes of one block's shared memory: the kernel's own plus the launch's dynamic part."""
        return self.shared_end - SHARED_RESERVED + record.shared_bytes

    def polls(self, first: int, last: int) -> bool:
        """Whether an instruction from `first` to `last` may ask in a loop for news from others."""
        return self._polls[min(last, len(self._polls) - 2) + 1] > self._polls[first]

    @functools.cached_property
    def address_origins(self) -> tuple[dataflow.Origins, dataflow.Origins]:
        """What the addresses of its stores and loads come from; `dataflow.address_origins`."""
        return dataflow.address_origins(self.kernel)

    @functools.cached_property
    def pointer_slots(self) -> list[int]:
        """Offsets in the parameters of the words that may hold a pointer: those of 64 bits, and the
        first of what may be a tensor map. A size of 32 bits and what stands in the padding after it
        can look like one.
        """
        words = dataflow.parameter_words(self.kernel, 8) | dataflow.tensor_maps(self.kernel)
        return sorted(self.param_offsets[name] + at for name, at in words)

    @functools.cached_property
    def is_asynchronous(self) -> bool:
        """Whether it uses mbarriers, bulk copies, asynchronous stores or products."""
        names = {i.opcode[:3] for i in self.instructions}
        return any(
            name[0] in ("mbarrier", "wgmma")
            or name == ("cp", "async", "bulk")
            or name[:2] == ("st", "async")
            for name in names
        )

    @functools.cached_property
    def registers_read(self) -> frozenset[str]:
        """Names of the registers that some instruction reads."""
        return frozenset(r for i in self.instructions for r in dataflow.reads_and_writes(i)[0])

    @functools.cached_property
    def unit_bytes(self) -> int:
        """Its narrowest access to shared or global memory, at most 8 bytes wide."""
        return dataflow.narrowest_access(self.kernel)

    def where(self, pc: int) -> str:
        """The Python line of an instruction, or its PTX line where there is no line info."""
        pc = min(pc, len(self.instructions) - 1)
        instruction = self.instructions[pc]
        if instruction.source is None:
            return f"PTX line {instruction.line}: {instruction.text}"
        return describe_source(instruction.source)


def _offsets(variables: Iterable[ptx.Variable], end: int = 0) -> tuple[dict[str, int], int]:
    """Where variables lie that follow each other from `end` on, by name, and where they end."""
    found = {}
    for v in variables:
        found[v.name] = _round_up(end, v.align)
        end = found[v.name] + v.size_bytes
    return found, end


def _round_up(offset: int, align: int) -> int:
    return -(-offset // align) * align


@functools.lru_cache(maxsize=256)
def load(text: str) -> dict[str, Program]:
    """Parse PTX and prepare each of its kernels, by name. Cached by the text."""
    module = parse(text)
    for kernel in module.kernels.values():
        kernel.instructions = attribute(kernel.instructions)
    return {name: Program(kernel, module) for name, kernel in module.kernels.items()}
