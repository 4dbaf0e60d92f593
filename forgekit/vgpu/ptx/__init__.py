"""Represent PTX as plain data: modules, kernels, variables, operands, and instructions with their
source lines.

This package only reads PTX; `forgekit.vgpu.opcodes` defines what instructions do.

parser.py, operands.py    parse PTX text
source_lines.py     the Python source lines of instructions
dataflow.py         read, written and live registers; loops; origins of addresses
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class SourceLocation:
    """A location in the Python source: the file name that the compiler recorded, the line (from 1)
    and the column (from 0)."""

    file: str
    line: int
    column: int = 0


@dataclass(frozen=True)
class Register:
    name: str


@dataclass(frozen=True)
class Immediate:
    """A literal. `bits` is an integer, which may be negative, or the bit pattern of an f32 or f64
    literal."""

    bits: int
    width: int | None = None  # 32 for 0f…, 64 for 0d…, None for an integer


@dataclass(frozen=True)
class Symbol:
    """The name of a variable, which represents its address, or of a function."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class Address:
    """`[base + offset]`, where the base is a register, a symbol, or None for an absolute
    address."""

    base: Register | Symbol | None
    offset: int


@dataclass(frozen=True)
class Vector:
    """`{a, b, …}`: the elements of a vector access, or the arguments of a call."""

    items: tuple[Operand, ...]


@dataclass(frozen=True)
class Pair:
    """`%r|%p`: a result, and a predicate that the instruction also writes."""

    first: Register | None
    second: Register | None


@dataclass(frozen=True)
class Negated:
    """A negated predicate, `!%p`."""

    register: Register


Operand = Register | Immediate | Symbol | Address | Vector | Pair | Negated


@dataclass(frozen=True)
class Instruction:
    """A PTX instruction. `opcode` is the opcode's parts between dots; `line` is the line number in
    the PTX text."""

    opcode: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Register | Negated | None
    text: str
    line: int
    source: SourceLocation | None

    @property
    def name(self) -> str:
        return ".".join(self.opcode)


@dataclass(frozen=True)
class Variable:
    """A variable in `.shared`, `.local`, `.global`, `.const` or `.param` memory."""

    name: str
    space: str
    size_bytes: int
    align: int
    external: bool = False
    data: bytes | None = None


@dataclass
class Kernel:
    """An `.entry` function: its parameters (in order), variables, registers and instructions."""

    name: str
    params: tuple[Variable, ...]
    required_block: tuple[int, int, int] | None = None
    max_threads: int | None = None
    registers: dict[str, str] = field(default_factory=dict)  # register name -> type
    variables: dict[str, Variable] = field(default_factory=dict)
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)  # label -> instruction index
    # indices of instructions with `.pragma "nounroll"`
    rolled: list[int] = field(default_factory=list)


@dataclass
class Module:
    """A PTX module."""

    target: str
    kernels: dict[str, Kernel]
    variables: dict[str, Variable]


TYPE_BYTES = {
    "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2,
    "b32": 4, "u32": 4, "s32": 4, "f32": 4, "f16x2": 4, "bf16x2": 4,
    "b64": 8, "u64": 8, "s64": 8, "f64": 8, "f32x2": 8, "b128": 16, "pred": 1,
}  # fmt: skip
