"""Define the meaning of each PTX opcode: one small function per opcode, registered by name.

There are two kinds of meaning. A *compute* meaning is a pure function of arrays: it returns a
`Compute` with the PTX types of the sources and the result. An *effect* meaning (memory, control,
warp-wide instructions) returns a step, a function of the machine. Neither kind uses masks, counters
or traces unless it must.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from forgekit.vgpu.ptx import Instruction, Operand

Meaning = Callable[..., Any]
REGISTRY: dict[str, Meaning] = {}

T = TypeVar("T")


class UnknownVariantError(Exception):
    """The opcode is supported, but not with these qualifiers or operands."""


@dataclass(frozen=True)
class Compute:
    """A pure instruction.

    fn: maps arrays of the source types to an array (or tuple of arrays) of the result type.
    sources: PTX types of the operands after the result. result: PTX type of the result; a tuple
    with `targets` when there are several. operands: the source operands, if these are not the
    operands after the first.
    """

    fn: Callable[..., Any]
    sources: tuple[str, ...]
    result: str | tuple[str, ...]
    targets: tuple[Operand | None, ...] | None = None
    operands: tuple[Operand, ...] | None = None


def opcode(*names: str) -> Callable[[Meaning], Meaning]:
    """Register a function `(instruction, decoder) -> Compute | step` for these opcodes.

    A name may be longer than the first part ("cp.async"); the longest match wins.
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
    """Register a pure opcode without qualifiers, with a type of `kinds`, the T of sources and
    result."""

    @opcode(name)
    def meaning(ins: Instruction, d: object) -> Compute:
        allow(ins, *kinds)
        kind = ins.opcode[-1]
        types = tuple(kind if source == "T" else source for source in sources.split())
        return Compute(fn, types, kind if result == "T" else result)


# -- checks of instructions: each raises UnknownVariantError for anything unknown ----
def allow(instruction: Instruction, *known: str) -> None:
    """Refuse an instruction with a qualifier or type that its meaning does not use."""
    for part in instruction.opcode[1:]:
        if part not in known:
            raise UnknownVariantError(f".{part}")


def one_of(instruction: Instruction, what: str, *known: str) -> str:
    """Return the part of the opcode that is in `known`."""
    for part in instruction.opcode[1:]:
        if part in known:
            return part
    raise UnknownVariantError(f"no {what}")


def counted(instruction: Instruction, *counts: int) -> tuple[Operand, ...]:
    """Return the operands of an instruction that has one of these numbers of operands."""
    if len(instruction.operands) not in counts:
        needed = " or ".join(map(str, counts))
        raise UnknownVariantError(f"{len(instruction.operands)} operands, not {needed}")
    return instruction.operands


def expect(operand: object, kind: type[T], what: str) -> T:
    """Return the operand if it is of this kind."""
    if not isinstance(operand, kind):
        raise UnknownVariantError(f"an operand that is not a {what}")
    return operand


@functools.cache
def _register_all() -> None:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


def lookup(instruction: Instruction) -> Meaning | None:
    """Return the registered meaning of an instruction's opcode, or None."""
    _register_all()
    for length in range(len(instruction.opcode), 0, -1):
        meaning = REGISTRY.get(".".join(instruction.opcode[:length]))
        if meaning is not None:
            return meaning
    return None
