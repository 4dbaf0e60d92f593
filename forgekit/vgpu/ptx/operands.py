"""Parse the operands of a PTX instruction: registers, literals, addresses and vectors."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Container

from forgekit.vgpu.ptx import (
    Address,
    Immediate,
    Negated,
    Operand,
    Pair,
    Register,
    Symbol,
    Vector,
)

IDENT = r"[A-Za-z_$%][\w$]*"
_NAME = re.compile(rf"{IDENT}(\.\w+)?")
_SYMBOL_OFFSET = re.compile(rf"({IDENT})\s*\+\s*(-?\w+)")
_ADDRESS = re.compile(rf"(?:({IDENT})\s*(?:([+-])\s*(-?\w+))?|(-?\w+))")
_DEEPEST = 8  # maximum number of nested brackets
_LONGEST = 70  # maximum number of characters in a number: 64 binary digits, sign, prefix
_CLOSING = {"[": "]", "{": "}", "(": ")"}


def read_operands(
    text: str, rename: Callable[[str], str], registers: Container[str]
) -> tuple[Operand, ...]:
    """Return the operands of an instruction, given the text after its opcode.

    rename: maps a name declared in an inner scope to a name that is unique in the kernel;
    registers: the names, after `rename`, of registers that do not begin with `%`.

    Raises:
        ValueError: an operand cannot be parsed; the message quotes it.
    """

    def read(text: str) -> Operand:
        if text[0] in _CLOSING:
            if text[0] != "[":
                return Vector(tuple(read(t) for t in split(text[1:-1])))
            return address(text[1:-1].strip())
        if text.startswith("!"):
            return Negated(register(text[1:].strip()))
        if "|" in text:
            return Pair(*(None if t.strip() == "_" else register(t.strip())
                          for t in text.split("|", 1)))  # fmt: skip
        if (number := read_number(text)) is not None:
            return number
        if _NAME.fullmatch(text):
            name = rename(text)
            is_register = text.startswith("%") or text == "_" or name in registers
            return Register(name) if is_register else Symbol(name)
        if match := _SYMBOL_OFFSET.fullmatch(text):
            return Symbol(rename(match[1]), _integer(match[2]))
        raise ValueError(f"cannot read the operand {text!r}")

    def register(text: str) -> Register:
        if not _NAME.fullmatch(text):
            raise ValueError(f"cannot read the register {text!r}")
        return Register(rename(text))

    def address(text: str) -> Operand:
        if "," in text:  # a tensor map with coordinates: [map, {x, y}] or [map+128, {x, y}]
            origin, *rest = split(text)
            first = address(origin) if "+" in origin else read(origin)
            return Vector((first, *(read(t) for t in rest)))
        match = _ADDRESS.fullmatch(text)
        if not match:
            raise ValueError(f"cannot read the address [{text}]")
        if match[1] is None:
            return Address(None, _integer(match[4]))
        offset = _integer(match[3]) if match[3] else 0
        base = read(match[1])
        if not isinstance(base, Register | Symbol):
            raise ValueError(f"cannot read the address [{text}]")
        return Address(base, -offset if match[2] == "-" else offset)

    return tuple(read(t) for t in split(text))


def split(text: str) -> list[str]:
    """Split text at commas that are outside brackets.

    Raises:
        ValueError: the brackets do not match, or a part is empty.
    """
    parts, start = [], 0
    closing: list[str] = []
    for i, char in enumerate(text):
        if char in _CLOSING:
            closing.append(_CLOSING[char])
            if len(closing) > _DEEPEST:
                raise ValueError(f"more than {_DEEPEST} nested brackets")
        elif char in "]})":
            if not closing or closing.pop() != char:
                raise ValueError(f"an unexpected '{char}' (is a ';' missing?)")
        elif char == "," and not closing:
            parts.append(text[start:i].strip())
            start = i + 1
    if closing:
        raise ValueError(f"an opening bracket without its '{closing[-1]}'")
    parts.append(text[start:].strip())
    if parts == [""]:
        return []
    if "" in parts:
        raise ValueError("an operand is missing between commas")
    return parts


def read_number(text: str) -> Immediate | None:
    """Parse a literal such as 12, -3, 0x1F, 017 (octal), 0b1, 0f3F800000, 0d…, 1.5 or WARP_SZ;
    return None for any other text.

    Raises:
        ValueError: the number is too long, or a digit is not valid in its base.
    """
    if len(text) > _LONGEST and text.lstrip("-")[:1].isdigit():
        raise ValueError(f"a number with {len(text)} characters")
    if re.fullmatch(r"0[fF][\da-fA-F]{8}", text):
        return Immediate(int(text[2:], 16), 32)
    if re.fullmatch(r"0[dD][\da-fA-F]{16}", text):
        return Immediate(int(text[2:], 16), 64)
    if re.fullmatch(r"-?(0[xX][\da-fA-F]+|0[bB][01]+|\d+)U?", text):
        digits = text.removesuffix("U")
        return Immediate(int(digits, 8 if re.fullmatch(r"-?0\d+", digits) else 0))
    if re.fullmatch(r"-?\d+\.\d*([eE][+-]?\d+)?", text):
        return Immediate(int.from_bytes(struct.pack("<d", float(text)), "little"), 64)
    return Immediate(32) if text == "WARP_SZ" else None


def _integer(text: str) -> int:
    number = read_number(text)
    if number is None or number.width is not None:
        raise ValueError(f"cannot read the integer {text!r}")
    return number.bits
