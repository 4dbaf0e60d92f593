"""Implement each PTX opcode with one small function, its *meaning*, which is registered by name.

A meaning decodes one instruction. For an instruction that only computes, it returns a `Compute`: a
pure function of arrays, with the PTX types of its sources and its result. For any other instruction
(memory, control flow, warp-wide operations), it returns a step: a function of the machine.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from forgekit.vgpu.ptx import Immediate, Instruction, Operand

Meaning = Callable[..., Any]
REGISTRY: dict[str, Meaning] = {}

T = TypeVar("T")


class UnknownVariantError(Exception):
    """Raised for a supported opcode with unsupported qualifiers or operands."""


@dataclass(frozen=True)
class Compute:
    """The computation that an instruction performs on each thread's values.

    fn: maps arrays of the source types to an array (or a tuple of arrays) of the result type.
    sources: the PTX types of the source operands. result: the PTX type of the result, or a tuple of
    types for several results. targets: the operands that receive the results, if there are several.
    operands: the source operands; None means all operands after the first.
    """

    fn: Callable[..., Any]
    sources: tuple[str, ...]
    result: str | tuple[str, ...]
    targets: tuple[Operand | None, ...] | None = None
    operands: tuple[Operand, ...] | None = None


def opcode(*names: str) -> Callable[[Meaning], Meaning]:
    """Register a function `(instruction, decoder) -> Compute | step` as the meaning of these
    opcodes.

    A name may have several parts ("cp.async"); the longest matching name wins.
    """

    def register(meaning: Meaning) -> Meaning:
        for name in names:
            if name in REGISTRY:
                raise ValueError(f"opcode {name} is registered twice")
            REGISTRY[name] = meaning
        return meaning

    return register


def pure(
    name: str, kinds: tuple[str, ...], sources: str, result: str, fn: Callable[..., Any]
) -> None:
    """Register `fn` for an opcode with a type from `kinds` and no qualifiers. In `sources` and
    `result`, T stands for that type."""

    @opcode(name)
    def meaning(ins: Instruction, d: object) -> Compute:
        allow(ins, *kinds)
        kind = ins.opcode[-1]
        types = tuple(kind if source == "T" else source for source in sources.split())
        return Compute(fn, types, kind if result == "T" else result)


# -- checks that raise UnknownVariantError ------
def allow(instruction: Instruction, *known: str) -> None:
    """Refuse an instruction with a qualifier or type that is not in `known`."""
    for part in instruction.opcode[1:]:
        if part not in known:
            raise UnknownVariantError(f".{part}")


def one_of(instruction: Instruction, what: str, *known: str) -> str:
    """Return the first part of the opcode that is in `known`; what: the name of the missing part in
    the error."""
    for part in instruction.opcode[1:]:
        if part in known:
            return part
    raise UnknownVariantError(f"no {what}")


def counted(instruction: Instruction, *counts: int) -> tuple[Operand, ...]:
    """Return the operands of an instruction after checking their number."""
    if len(instruction.operands) not in counts:
        needed = " or ".join(map(str, counts))
        raise UnknownVariantError(f"{len(instruction.operands)} operands, not {needed}")
    return instruction.operands


def expect(operand: object, kind: type[T], what: str) -> T:
    """Return the operand after checking its class; what: the name of the class in the error."""
    if not isinstance(operand, kind):
        raise UnknownVariantError(f"an operand that is not a {what}")
    return operand


def groups_left(instruction: Instruction) -> int:
    """Return the operand of an instruction that waits for groups: the number of newest groups that
    may stay in flight."""
    number = expect(counted(instruction, 1)[0], Immediate, "number").bits
    if number < 0:
        raise UnknownVariantError(f"{number} groups: the number cannot be negative")
    return number


@functools.cache
def _register_all() -> None:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


def lookup(instruction: Instruction) -> Meaning | None:
    """Return the meaning of an instruction's opcode, or None if there is none."""
    _register_all()
    for length in range(len(instruction.opcode), 0, -1):
        meaning = REGISTRY.get(".".join(instruction.opcode[:length]))
        if meaning is not None:
            return meaning
    return None
