"""A kernel made ready to run: registers numbered, variables placed, a step for each instruction."""

from __future__ import annotations

import functools

import numpy as np

from forgekit.vgpu import ptx
from forgekit.vgpu.launch_record import LaunchRecord
from forgekit.vgpu.machine import Machine
from forgekit.vgpu.memory import SHARED_RESERVED
from forgekit.vgpu.opcodes.decoder import DTYPES, Decoder, Step
from forgekit.vgpu.ptx import dataflow
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
        self.static_shared: dict[str, int] = {}
        self.dynamic_shared: dict[str, int] = {}
        self.local_offsets: dict[str, int] = {}
        self.param_offsets: dict[str, int] = {}
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
        offset = SHARED_RESERVED
        variables = [*self.module.variables.values(), *self.kernel.variables.values()]
        for v in variables:
            if v.space == "shared" and not v.external:
                offset = -(-offset // v.align) * v.align
                self.static_shared[v.name] = offset
                offset += v.size_bytes
        for v in variables:
            if v.space == "shared" and v.external:
                offset = -(-offset // max(v.align, 16)) * max(v.align, 16)
                self.dynamic_shared[v.name] = offset
        self.shared_end = offset
        local = 0
        for v in self.kernel.variables.values():
            if v.space == "local":
                local = -(-local // v.align) * v.align
                self.local_offsets[v.name] = local
                local += v.size_bytes
        self.local_bytes = local
        offset = 0
        for p in self.kernel.params:
            offset = -(-offset // p.align) * p.align
            self.param_offsets[p.name] = offset
            offset += p.size_bytes
        self.param_bytes = offset

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
        """Offsets in the parameters of the words that may hold a pointer: those of 64 bits. A size
        of 32 bits and what stands in the padding after it can look like one.
        """
        words = dataflow.parameter_words(self.kernel, 8)
        return sorted(self.param_offsets[name] + at for name, at in words)

    @functools.cached_property
    def is_asynchronous(self) -> bool:
        """Whether it uses mbarriers, bulk copies or asynchronous stores."""
        names = {i.opcode[:3] for i in self.instructions}
        return any(
            name[0] == "mbarrier" or name == ("cp", "async", "bulk") or name[:2] == ("st", "async")
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


@functools.lru_cache(maxsize=256)
def load(text: str) -> dict[str, Program]:
    """Parse PTX and prepare each of its kernels, by name. Cached by the text."""
    module = ptx.parse(text)
    for kernel in module.kernels.values():
        kernel.instructions = attribute(kernel.instructions)
    return {name: Program(kernel, module) for name, kernel in module.kernels.items()}
