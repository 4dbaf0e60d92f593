"""Find the places where a value becomes visible outside a kernel's registers and shared memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from forgekit.vgpu import ptx
from forgekit.vgpu.access.addressing import Target
from forgekit.vgpu.access.copies import AsyncOperation
from forgekit.vgpu.batch import Batch
from forgekit.vgpu.code import Code
from forgekit.vgpu.floats import Array
from forgekit.vgpu.listeners import Access
from forgekit.vgpu.memory import Allocation
from forgekit.vgpu.opcodes.decoder import Decoder, Fetch
from forgekit.vgpu.program import Program
from forgekit.vgpu.ptx import Instruction

# Instructions whose guard affects visible results.
_DECIDING = frozenset({
    "bra", "ret", "exit", "trap", "brkpt", "bar", "barrier", "st", "atom", "red", "cp", "mbarrier",
    "ldmatrix", "stmatrix", "mma", "wgmma",
    "shfl", "vote", "match", "redux", "elect", "activemask", "call",
})  # fmt: skip
_BRANCHES = ("bra", "ret", "exit")
_SIZED = ("cp", "mbarrier", "mapa")


class Sink(NamedTuple):
    """A register whose value an instruction makes visible.

    what: a key of `messages._SHOWS`; guard: the instruction's guard, if only the threads for which
    the guard is true count.
    """

    what: str
    register: int
    guard: Fetch | None


class Sight(NamedTuple):
    """A visible effect of an instruction on the launch.

    code: a hash; different sights have equal codes with probability 2⁻⁶⁴. rows: a function that
    returns the threads' numbers in the batch, ascending, and the visible bytes of each thread.
    element: a function that maps the number of a thread and of one of its bytes to the name of the
    tensor element that receives the byte, or to "" if there is none.
    """

    pc: int
    what: str
    code: int
    rows: Callable[[], tuple[Array, Array]]
    element: Callable[[int, int], str]


def sinks_of(instruction: Instruction, program: Program) -> list[Sink]:
    """Return the registers whose values become visible when an instruction is executed."""
    decoder, root = Decoder(program), instruction.opcode[0]
    decoder.instruction = instruction
    found = []
    if root in _DECIDING:
        what = "branch" if root in _BRANCHES else "guard"
        found += [Sink(what, r, None) for r in registers(instruction.guard, program)]
    for operand in instruction.operands:
        if isinstance(operand, ptx.Address) or root in _SIZED:
            what = "address" if isinstance(operand, ptx.Address) else "size"
            found += [Sink(what, r, decoder.guard()) for r in registers(operand, program)]
    return found


def registers(operand: object, program: Code) -> list[int]:
    """Return the numbers of the registers in an operand. Special registers and `_` have no
    number."""
    match operand:
        case ptx.Register(name):
            return [program.registers[name]] if name in program.registers else []
        case ptx.Negated(one) | ptx.Address(one, _):
            return registers(one, program)
        case ptx.Pair(first, second):
            return registers(first, program) + registers(second, program)
        case ptx.Vector(items):
            return [r for item in items for r in registers(item, program)]
    return []


def sight(
    m: Batch, what: str, values: Sequence[Array], mask: Array | None,
    element: Callable[[int, int], str] = lambda who, byte: "",
) -> Sight:  # fmt: skip
    """Return a sight whose bytes are the register values of the threads in `mask`."""
    shape = m.shape
    shown = values if mask is None else [np.where(mask, v, v.dtype.type(0)) for v in values]
    parts = [None if mask is None else mask.tobytes(), *(v.tobytes() for v in shown)]

    def rows() -> tuple[Array, Array]:
        who = np.flatnonzero(np.broadcast_to(True if mask is None else mask, shape))
        columns = [np.broadcast_to(value, shape).reshape(-1)[who] for value in values]
        seen = [column.view(np.uint8).reshape(len(who), column.itemsize) for column in columns]
        return who, np.concatenate([np.zeros((len(who), 0), np.uint8), *seen], axis=1)

    return Sight(m.pc, what, hash((m.pc, what, *parts)), rows, element)


def stores(m: Batch, access: Access) -> Iterator[Sight]:
    """Yield the sights of the values with which threads write or atomically update tensors."""
    ins = m.program.instructions[m.pc]
    for target in access.targets if access.kind in ("store", "atomic") else ():
        if target.space != "global":
            continue
        values = access.values
        if access.kind == "atomic":
            operands = ins.operands[1 + (ins.opcode[0] == "atom") :]
            values = [m.regs[r] for operand in operands for r in registers(operand, m.program)]
        yield sight(m, access.kind, values or (), target.mask, _element(m.shape, target, access))


def _element(shape: tuple[int, int], target: Target, access: Access) -> Callable[[int, int], str]:
    def element(who: int, byte: int) -> str:
        row = int(np.broadcast_to(target.places, shape).reshape(-1)[who])
        within = byte if access.kind == "store" else 0
        return _name(target.allocation, row * access.width + target.skipped + within)

    return element


def copies(m: Batch, operation: AsyncOperation) -> Iterator[Sight]:
    """Yield the sights of the bytes that an asynchronous operation copies to tensors. The bytes are
    read from its source now."""
    allocations, source = operation.target.allocations, operation.source
    if allocations is None or (source is not None and source.allocations is not None):
        return
    for i, size in enumerate(operation.size.tolist()):
        if source is not None:
            data = m.shared.data[source.places(i, size)]
        else:
            assert operation.values is not None
            data = operation.values[i].view(np.uint8)
        at = operation.target.places(i, size)
        data, at = data[at >= 0], at[at >= 0]

        def element(_: int, byte: int, i: int = i, at: Array = at) -> str:
            return _name(allocations[i], int(at[byte]))

        who = operation.who[i : i + 1]
        code = hash((m.pc, int(who[0]), data.tobytes()))
        yield Sight(m.pc, "copy", code, partial(_row, who, data), element)


def _row(who: Array, data: Array) -> tuple[Array, Array]:
    return who, data[None]


def _name(allocation: Allocation | None, offset: int) -> str:
    """Return the name of the tensor element that contains the byte at `offset`."""
    assert allocation is not None
    info, from_first = allocation.tensor_at(offset)
    return f"{info.coordinate(from_first - from_first % info.itemsize)} of {info}"
