"""Prepare a kernel's code for decoding: number registers, place variables, compute liveness."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np

from forgekit.vgpu import ptx
from forgekit.vgpu.launch_record import LaunchRecord
from forgekit.vgpu.memory import SHARED_RESERVED
from forgekit.vgpu.ptx.dataflow import Dataflow
from forgekit.vgpu.ptx.source_lines import describe_source
from forgekit.vgpu.user_lines import SourceLine, source_line

_NEAR = 20  # maximum number of lines between a kernel's first decorator and its `def`

# NumPy's type for each PTX type; bf16 and packed types are unsigned integers.
DTYPES: dict[str, np.dtype] = {
    name: np.dtype(kind)
    for name, kind in {
        "pred": "?", "b8": "u1", "u8": "u1", "s8": "i1", "b16": "u2", "u16": "u2", "s16": "i2",
        "f16": "f2", "bf16": "u2", "b32": "u4", "u32": "u4", "s32": "i4", "f32": "f4",
        "f16x2": "u4", "bf16x2": "u4", "b64": "u8", "u64": "u8", "s64": "i8", "f64": "f8",
        "f32x2": "u8", "b128": "c16",
    }.items()
}  # fmt: skip


class Code(Dataflow):
    """The properties of a kernel that its PTX determines: data flow, addresses of variables, source
    lines."""

    def __init__(self, kernel: ptx.Kernel, module: ptx.Module) -> None:
        super().__init__(kernel)
        self.module = module
        self.target = module.target
        # For other types, any dtype will do, because the decoder refuses instructions that use
        # them.
        self.register_dtypes = [DTYPES.get(t, DTYPES["b64"]) for t in kernel.registers.values()]
        self._lines: dict[int, SourceLine | None] = {}
        self._place_variables()

    def _place_variables(self) -> None:
        variables = [*self.module.variables.values(), *self.kernel.variables.values()]
        shared = [v for v in variables if v.space == "shared"]
        static = [v for v in shared if not v.external]
        self.shared_offsets, self.shared_end = _offsets(static, SHARED_RESERVED)
        for v in shared:
            if v.external:  # dynamic shared memory follows the static variables
                self.shared_end = _round_up(self.shared_end, max(v.align, 16))
                self.shared_offsets[v.name] = self.shared_end
        local = [v for v in self.kernel.variables.values() if v.space == "local"]
        self.local_offsets, self.local_bytes = _offsets(local)
        self.param_offsets, self.param_bytes = _offsets(self.kernel.params)

    def shared_bytes(self, record: LaunchRecord) -> int:
        """Return the size of a block's shared memory, static and dynamic, in bytes."""
        return self.shared_end - SHARED_RESERVED + record.shared_bytes

    @functools.cached_property
    def pointer_slots(self) -> list[int]:
        """Return the byte offsets, in the parameters, of the words that may contain a pointer.

        These are the words that the kernel loads as 64 bits, and the first word of each possible
        tensor map. Other words are excluded, because a 32-bit size and its padding can look like a
        pointer.
        """
        words = self.tensor_maps.union(self.wide_parameters())
        return sorted(self.param_offsets[name] + at for name, at in words)

    def line_at(self, pc: int) -> SourceLine | None:
        """Return the source line of an instruction, or None if the PTX has no line information.

        The compiler assigns branches and loop arithmetic to the line after the function, in column
        0; for them, return the line of the instruction before them. The compiler assigns the
        prologue to the first decorator's line; for it, return the line with `def`.
        """
        if pc not in self._lines:
            self._lines[pc] = self._line_at(pc)
        return self._lines[pc]

    def _line_at(self, pc: int) -> SourceLine | None:
        before = self.instructions[pc::-1]
        known = (i.source for i in before if i.source is not None and i.source.column)
        source = next(known, self.instructions[pc].source)
        if source is None:
            return None
        found = source_line(source.file, source.line)
        if found.text.startswith("@"):
            below = (source_line(source.file, found.line + n) for n in range(1, _NEAR))
            return next((line for line in below if line.text.startswith("def ")), found)
        return found

    def where(self, pc: int) -> str:
        """Return the source line of an instruction, or its PTX line if there is no line
        information."""
        pc = min(pc, len(self.instructions) - 1)
        instruction = self.instructions[pc]
        if instruction.source is None:
            return f"PTX line {instruction.line}: {instruction.text}"
        return describe_source(instruction.source)


def _offsets(variables: Iterable[ptx.Variable], end: int = 0) -> tuple[dict[str, int], int]:
    """Place variables consecutively from address `end`. Return a dictionary from names to
    addresses, and the address after the last variable."""
    found = {}
    for v in variables:
        found[v.name] = _round_up(end, v.align)
        end = found[v.name] + v.size_bytes
    return found, end


def _round_up(offset: int, align: int) -> int:
    return -(-offset // align) * align
