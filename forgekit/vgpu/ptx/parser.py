"""Parse PTX text.

The grammar covers the part of the PTX ISA that NVIDIA's compiler emits for CuTe DSL: module
directives, `.entry` functions, `.reg`/`.shared`/`.local`/`.param` declarations, nested `{ }` scopes
(inline assembly), labels, predicated instructions and `.loc` line information.
"""

from __future__ import annotations

import bisect
import math
import re
from dataclasses import replace

from forgekit.vgpu.errors import PtxSyntaxError
from forgekit.vgpu.ptx import (
    TYPE_BYTES,
    Instruction,
    Kernel,
    Module,
    Negated,
    Register,
    SourceLocation,
    Symbol,
    Variable,
    Vector,
)
from forgekit.vgpu.ptx.operands import IDENT, read_number, read_operands

_STRING_OR_COMMENT = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?\*/', re.S)
_ASSEMBLY = re.compile(r"// begin inline asm$.*?// end inline asm$", re.S | re.M)
_LABEL = re.compile(rf"({IDENT})\s*:(?!:)")
_LOC = re.compile(r"\.loc[ \t]+(\d+)[ \t]+(\d+)[ \t]+(\d+)[^\n]*")
_HEAD = re.compile(r"\.(version|target|address_size|file)\b([^\n]*)")
_FILE = re.compile(r'\.file[ \t]+(\d+)[ \t]+"([^"\n]*)"[^\n]*')
_ENTRY = re.compile(
    rf"(?:\.visible|\.weak|\.extern)?\s*\.(entry|func)\s*(\([^)]*\)\s*)?({IDENT})\s*"
    r"(?:\(([^)]*)\))?"
)
_DIRECTIVE = re.compile(r"\.(\w+)((?:\s*-?\d+\s*,?)*)")
_VARIABLE = re.compile(
    r"(?P<extern>\.extern\s+|\.visible\s+|\.weak\s+)?\.(?P<space>shared|local|global|const|param)"
    r"(?:::\w+)?\s*(?:\.attribute\([^)]*\)\s*)?(?:\.align\s+(?P<align>\d+)\s*)?\.(?P<type>\w+)\s+"
    r"(?:\.ptr\s+(?:\.(?:global|shared|local|const)\s+)?(?:\.align\s+\d+\s+)?)?"
    rf"(?P<name>{IDENT})\s*(?P<dims>(?:\[\s*\d*\s*\])*)\s*(?:=\s*(?P<init>[^;]*))?$"
)
_REG = re.compile(r"\.reg\s+(?:\.v([24])\s+)?\.(\w+)\s+([^.]+)$")
_REG_NAME = re.compile(rf"({IDENT})(?:<(\d+)>)?")
_INSTRUCTION = re.compile(
    rf"(?:@(?P<not>!?)(?P<guard>{IDENT})\s+)?(?P<op>[a-z][\w.:]*)\s*(?P<args>.*)$", re.S
)
# PTX ISA, "state spaces", limits local memory to 512 KiB per thread and parameters to 32,764 bytes.
_MOST_BYTES = {"local": 512 << 10, "param": 32_764, "shared": 1 << 28, "global": 1 << 28}
_MOST_REGISTERS = 1 << 18  # per kernel; compilers declare a few thousand
# Declarations in a nested scope; labels are matched separately.
_INNER_REG = re.compile(r"(?:^|[;{}])\s*\.reg\s+(?:\.v([24])\s+)?\.\w+\s+([^;]*)", re.S)
_INNER_PARAM = re.compile(rf"(?:^|[;{{}}])\s*\.param\b[^;\[]*?\.\w+\s+({IDENT})")


def parse(text: str) -> Module:
    """Parse a PTX module.

    Raises:
        PtxSyntaxError: the text is not valid PTX; the message quotes the line and its number.
    """
    return Parser(text).module()


def _path(text: str) -> str:
    """Decode a file's path, in which the compiler writes each non-ASCII byte as three octal
    digits."""
    octal = re.compile(rb"\\([0-7]{3})")
    raw = octal.sub(lambda match: bytes([int(match[1], 8) & 0xFF]), text.encode())
    return raw.decode(errors="replace")


class Parser:
    """A parser that reads a module's text once, from start to end; `pos` is its current
    position."""

    def __init__(self, text: str) -> None:
        self.original = text
        # Replace each character of a comment with a blank, so that positions do not change.
        self.text = _STRING_OR_COMMENT.sub(_blank, text)
        self.pos = 0
        # In inline assembly, `.loc` lines are wrong: the compiler adds 1 for each line of assembly.
        self.assembly = [match.span() for match in _ASSEMBLY.finditer(text)]
        self.files = {int(n): _path(text) for n, text in _FILE.findall(self.text)}
        self.line_ends = [match.start() for match in re.finditer("\n", text)]
        self.kernel = Kernel("", ())  # the current kernel
        self.vectors: dict[str, Vector] = {}  # registers that are declared as `.v2` or `.v4`
        self.scopes: list[dict[str, str]] = []  # for each open `{`: declared names -> unique names

    # -- positions and errors -------------------------------------------------------------
    def line_at(self, pos: int) -> int:
        """Return the line number, counted from 1, of a position."""
        return bisect.bisect_left(self.line_ends, pos) + 1

    def error(self, message: str, pos: int | None = None) -> PtxSyntaxError:
        number = self.line_at(self.pos if pos is None else pos)
        line = self.original.split("\n")[number - 1].strip()
        return PtxSyntaxError(f"PTX line {number}: {message}\n    {line or '(an empty line)'}")

    def in_assembly(self, pos: int) -> bool:
        """Return True if a position is in inline assembly. Positions must not decrease between
        calls."""
        while self.assembly and self.assembly[0][1] <= pos:
            self.assembly.pop(0)
        return bool(self.assembly) and self.assembly[0][0] <= pos

    def skip_space(self) -> None:
        while self.pos < len(self.text) and self.text[self.pos].isspace():
            self.pos += 1

    def statement(self, end: str = ";", missing: str = "a statement without its ';'") -> str:
        """Return the text up to the next `end`, and move past it; missing: the error message if
        there is no `end`."""
        stop = self.text.find(end, self.pos)
        if stop < 0:
            raise self.error(missing)
        result = self.text[self.pos : stop].strip()
        self.pos = stop + 1
        return result

    # -- module level ---------------------------------------------------------------------
    def module(self) -> Module:
        module = Module("", {}, {})
        while True:
            self.skip_space()
            if self.pos >= len(self.text):
                break
            rest = self.text[self.pos : self.pos + 40]
            if match := _HEAD.match(self.text, self.pos):
                self.pos = match.end()
                if match[1] == "target":
                    module.target = match[2].split(",")[0].strip()
            elif rest.startswith(".section"):  # skip debug information
                self.statement("}", "a .section without its '}'")
            elif match := _ENTRY.match(self.text, self.pos):
                self.function(match, module)
            elif rest.startswith("."):
                start = self.pos
                variable = self.variable(self.statement(), start)
                module.variables[variable.name] = variable
            else:
                raise self.error("expected a module directive such as .entry or .global")
        if not module.target:
            raise PtxSyntaxError("PTX text without a .target line: is this PTX?")
        return module

    def variable(self, text: str, start: int) -> Variable:
        match = _VARIABLE.match(text)
        if not match:
            raise self.error(f"cannot read this declaration: {text!r}", start)
        if match["type"] not in TYPE_BYTES:
            raise self.error(f"unknown type .{match['type']}", start)
        width = TYPE_BYTES[match["type"]]
        size = width
        for dim in re.findall(r"\[\s*(\d*)\s*\]", match["dims"]):
            size *= int(dim[-20:] or 0)
        align = int((match["align"] or str(width))[-20:])
        if align < 1 or align & (align - 1):
            raise self.error(f"alignment {align} is not a power of two", start)
        most = _MOST_BYTES.get(match["space"], _MOST_BYTES["global"])
        if size > most:
            name = f"{match['name']} of .{match['space']} memory"
            raise self.error(f"{name} has {size:,} bytes, more than {most:,}", start)
        data = None
        if match["init"] is not None:
            data = self.initial_value(match["init"], width, start).ljust(size, b"\0")
        external = ".extern" in (match["extern"] or "")
        return Variable(match["name"], match["space"], size, align, external, data)

    def initial_value(self, text: str, width: int, start: int) -> bytes:
        """Return the bytes of an initial value such as `12` or `{104, 105, 10}`."""
        raw = b""
        for word in re.findall(r"[^\s{},]+", text):
            try:
                number = read_number(word)
            except ValueError:
                number = None
            if number is None or (number.width or 8 * width) != 8 * width:
                raise self.error(f"cannot read this initial value: {word!r}", start)
            raw += (number.bits & (256**width - 1)).to_bytes(width, "little")
        return raw

    # -- functions ------------------------------------------------------------------------
    def function(self, match: re.Match[str], module: Module) -> None:
        start = self.pos
        self.pos = match.end()
        params = tuple(
            self.variable(part.strip(), start)
            for part in (match[4] or "").split(",")
            if part.strip()
        )
        kernel = Kernel(match[3], params)
        while True:  # performance directives, then `;` (a declaration) or `{` (a body)
            self.skip_space()
            if self.text.startswith(";", self.pos):
                self.pos += 1
                return
            if self.text.startswith("{", self.pos):
                break
            directive = _DIRECTIVE.match(self.text, self.pos)
            if not directive:
                raise self.error("expected the '{' of a function body")
            numbers = [int(n) for n in re.findall(r"\d+", directive[2])]
            if directive[1] == "reqntid":
                x, y, z = [*numbers, 1, 1, 1][:3]
                kernel.required_block = (x, y, z)
            elif directive[1] == "maxntid":
                kernel.max_threads = math.prod(numbers)
            self.pos = directive.end()
        if match[1] == "func":
            raise self.error(
                f"device function {match[3]} has a body, but the virtual GPU supports only inlined "
                "calls and vprintf"
            )
        self.body(kernel)
        module.kernels[kernel.name] = kernel

    def body(self, kernel: Kernel) -> None:
        """Parse a `{ … }` body, and replace names that are declared in nested scopes with unique
        names."""
        self.kernel = kernel
        branches: list[tuple[int, Instruction]] = []
        source: SourceLocation | None = None
        counter = 0
        while True:
            self.skip_space()
            if self.pos >= len(self.text):
                raise self.error(f"kernel {kernel.name}: body without its '}}'")
            char = self.text[self.pos]
            if char == "{":
                self.pos += 1
                counter += 1
                self.scopes.append(self.local_names(counter) if self.scopes else {})
            elif char == "}":
                self.pos += 1
                self.scopes.pop()
                if not self.scopes:
                    break
            elif match := _LOC.match(self.text, self.pos):
                self.pos = match.end()
                line = int(match[2])
                # Line 0 marks code without a source line; such code keeps the previous line.
                if line and not self.in_assembly(match.start()):
                    file = self.files.get(int(match[1]), "?")
                    source = SourceLocation(file, line, int(match[3]))
            elif match := _LABEL.match(self.text, self.pos):
                name = self.renamed(match[1])
                if name in kernel.labels:
                    raise self.error(f"the label {match[1]} is defined twice")
                kernel.labels[name] = len(kernel.instructions)
                self.pos = match.end()
            elif char == ".":
                self.declaration(kernel)
            elif char == ";":
                self.pos += 1
            else:
                start = self.pos
                instruction = self.instruction(self.statement(), start, source)
                kernel.instructions.append(instruction)
                if instruction.opcode[0] == "bra":
                    branches.append((start, instruction))
        for start, instruction in branches:
            targets = [o.name for o in instruction.operands if isinstance(o, Symbol)]
            if len(targets) != 1 or targets[0] not in kernel.labels:
                raise self.error(f"branch to an unknown label: {instruction.text}", start)

    def local_names(self, counter: int) -> dict[str, str]:
        """Map each name that is declared in the scope at the current position to a unique name."""
        depth, end = 1, len(self.text)
        for brace in re.compile(r"[{}]").finditer(self.text, self.pos):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                end = brace.start()
                break
        inside = self.text[self.pos : end]
        names = {m[1] for m in _LABEL.finditer(inside)} | set(_INNER_PARAM.findall(inside))
        for lanes, declared in _INNER_REG.findall(inside):
            for name in _register_names(declared):
                names |= {name, *_elements(name, lanes)}
        return {name: f"{name}@{counter}" for name in names}

    def renamed(self, name: str) -> str:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return name

    def declaration(self, kernel: Kernel) -> None:
        start = self.pos
        text = self.statement()
        if text.startswith(".pragma"):
            if "nounroll" in text:
                kernel.rolled.append(len(kernel.instructions))
            return
        if match := _REG.match(text):
            if match[2] not in TYPE_BYTES:
                raise self.error(f"registers of the unknown type .{match[2]}", start)
            names = _register_names(match[3])
            if not names:
                raise self.error(f"cannot read this declaration: {text!r}", start)
            for name in names:
                elements = [self.renamed(n) for n in _elements(name, match[1])]
                if elements:
                    self.vectors[self.renamed(name)] = Vector(tuple(map(Register, elements)))
                for register in elements or [self.renamed(name)]:
                    kernel.registers[register] = match[2]
            if len(kernel.registers) > _MOST_REGISTERS:
                raise self.error(f"more than {_MOST_REGISTERS:,} registers", start)
            return
        variable = self.variable(text, start)
        variable = replace(variable, name=self.renamed(variable.name))
        kernel.variables[variable.name] = variable

    def instruction(self, text: str, start: int, source: SourceLocation | None) -> Instruction:
        match = _INSTRUCTION.match(text)
        if not match:
            raise self.error(f"cannot read this instruction: {text!r}", start)
        guard: Register | Negated | None = None
        if match["guard"]:
            register = Register(self.renamed(match["guard"]))
            guard = Negated(register) if match["not"] else register
        opcode = tuple(part for part in match["op"].replace("::", ":").split(".") if part)
        try:
            operands = read_operands(match["args"], self.renamed, self.kernel.registers)
        except ValueError as error:
            raise self.error(str(error), start) from None
        operands = tuple(
            self.vectors.get(o.name, o) if isinstance(o, Symbol) else o for o in operands
        )
        one_line = " ".join(text.split())
        return Instruction(opcode, operands, guard, one_line, self.line_at(start), source)


def _blank(match: re.Match[str]) -> str:
    """Replace a comment with blanks; return a string unchanged."""
    return match[0] if match[0][0] == '"' else re.sub(r"[^\n]", " ", match[0])


def _elements(name: str, lanes: str | None) -> list[str]:
    """Return the names of the elements of a register declared as `.v2` or `.v4`; empty for a scalar
    register."""
    return [f"{name}.{element}" for element in "xyzw"[: int(lanes or 0)]]


def _register_names(text: str) -> list[str]:
    """Return the names that text such as `%p, %r<3>` declares; empty if the text cannot be
    parsed."""
    names = []
    for part in text.split(","):
        match = _REG_NAME.fullmatch(part.strip())
        if not match:
            return []
        count = min(int(match[2][-20:]), _MOST_REGISTERS + 1) if match[2] else 0
        names += [match[1]] if match[2] is None else [match[1] + str(i) for i in range(count)]
    return names
