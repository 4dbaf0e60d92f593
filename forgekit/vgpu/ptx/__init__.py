"""PTX as plain data: read from text, nothing interpreted; `forgekit.vgpu.opcodes` has the meanings.

instructions.py     the data: modules, kernels, variables, instructions, operands
parser.py, operands.py    text -> that data
source_lines.py     which line of Python an instruction comes from
dataflow.py         which registers are read, written and live
"""

from forgekit.vgpu.ptx.instructions import (
    TYPE_BYTES,
    Address,
    Immediate,
    Instruction,
    Kernel,
    Module,
    Negated,
    Operand,
    Pair,
    Register,
    SourceLocation,
    Symbol,
    Variable,
    Vector,
)
from forgekit.vgpu.ptx.parser import parse

__all__ = [
    "TYPE_BYTES",
    "Address",
    "Immediate",
    "Instruction",
    "Kernel",
    "Module",
    "Negated",
    "Operand",
    "Pair",
    "Register",
    "SourceLocation",
    "Symbol",
    "Variable",
    "Vector",
    "parse",
]
