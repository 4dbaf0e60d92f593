"""Prepare a kernel to run, with one step per instruction."""

from __future__ import annotations

import functools

import numpy as np

from forgekit.vgpu import ptx
from forgekit.vgpu.code import Code
from forgekit.vgpu.machine import Machine
from forgekit.vgpu.opcodes.decoder import Decoder, Step
from forgekit.vgpu.ptx.parser import parse
from forgekit.vgpu.ptx.source_lines import attribute


class Program(Code):
    """A kernel that is ready to run.

    Raises:
        UnsupportedPtxError: the virtual GPU does not support an opcode.
    """

    def __init__(self, kernel: ptx.Kernel, module: ptx.Module) -> None:
        super().__init__(kernel, module)
        decoder = Decoder(self)  # first, because it refuses malformed code
        steps = [decoder.step(instruction) for instruction in kernel.instructions]
        self.steps: list[Step] = [
            self._forgetting(step, last) for step, last in zip(steps, self.dying, strict=True)
        ]

    def _forgetting(self, step: Step, dying: list[int]) -> Step:
        """Return a step that also releases the registers that no later instruction reads.

        The next instruction can then reuse their memory while it is still in the CPU's cache.
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


@functools.lru_cache(maxsize=256)
def load(text: str) -> dict[str, Program]:
    """Parse PTX and return its kernels by name, ready to run. The result is cached, with the text
    as the key."""
    module = parse(text)
    for kernel in module.kernels.values():
        kernel.instructions = attribute(kernel.instructions, frozenset(kernel.labels.values()))
    return {name: Program(kernel, module) for name, kernel in module.kernels.items()}
