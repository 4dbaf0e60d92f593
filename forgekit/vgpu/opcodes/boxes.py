"""The operand `[map, {x, y, …}]` of a tensor copy: boxes of tensors, which their maps describe."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine import Machine
from forgekit.vgpu.machine.tensor_boxes import Boxes
from forgekit.vgpu.memory import PARAM_WINDOW, WINDOW_MASK, Allocation, faults, tensor_maps
from forgekit.vgpu.memory.tensor_maps import Clipped, TensorMap
from forgekit.vgpu.opcodes import UnknownVariantError, expect
from forgekit.vgpu.opcodes.access import address_of
from forgekit.vgpu.opcodes.decoder import Decoder, Fetch
from forgekit.vgpu.ptx import Address, Instruction, Operand, Register, Vector

MODES = {f"{n}d": n for n in range(1, 6)}


class Tensor(NamedTuple):
    """A tensor map, and where its tensor begins: a byte of an allocation."""

    map: TensorMap
    allocation: Allocation
    start: int


class Box:
    """The operand `[map, {x, y, …}]`."""

    def __init__(self, ins: Instruction, operand: Operand, d: Decoder) -> None:
        self.modes = next((n for part, n in MODES.items() if part in ins.opcode), 0)
        items = operand.items if isinstance(operand, Vector) else ()
        if not self.modes or len(items) != 2:
            raise UnknownVariantError("without a tensor map and coordinates")
        base, at = items
        if isinstance(base, Register):
            base = Address(base, 0)
        self._map = address_of(base, "global", d)
        coordinates = expect(at, Vector, "list of coordinates").items
        if len(coordinates) != self.modes:
            raise UnknownVariantError(f"{len(coordinates)} coordinates")
        self._at: list[Fetch] = [d.fetch(c, "s32") for c in coordinates]

    def operands(self, m: Machine) -> list[Array]:
        """The map's address and the coordinates."""
        return [self._map(m), *(fetch(m) for fetch in self._at)]

    def boxes(self, m: Machine, full: Array, does: str) -> Boxes:
        """The box of each thread that takes part; does: `copies from`, `copies to`."""
        threads = np.flatnonzero(full)
        maps, *columns = (
            np.broadcast_to(a, m.shape).reshape(-1)[threads].tolist() for a in self.operands(m)
        )
        tensors = {
            address: _tensor(m, address, self.modes, int(threads[maps.index(address)]))
            for address in set(maps)
        }
        found = [tensors[address] for address in maps]
        corners = list(zip(*columns, strict=True))
        clipped = [
            _clipped(m, thread, tensor, corner, does)
            for thread, tensor, corner in zip(threads.tolist(), found, corners, strict=True)
        ]
        start = np.array([tensor.start for tensor in found], np.int64)
        return Boxes(start, [t.allocation for t in found], [t.map for t in found], clipped)


def _only(m: Machine, thread: int) -> Array:
    one = np.zeros(m.shape, bool)
    one.flat[thread] = True
    return one


def _clipped(m: Machine, thread: int, tensor: Tensor, at: tuple[int, ...], does: str) -> Clipped:
    """What of the box at these coordinates is inside its tensor, if that is in memory."""
    stores = does != "copies from"
    wrong = tensor.map.wrong_corner(at, stores=stores)
    if wrong:
        raise faults.box_corner(m, does, _only(m, thread), tensor.map, at, wrong)
    part, allocation = tensor.map.clip(at, stores=stores), tensor.allocation
    first = tensor.start + part.offset
    last = first + part.span_bytes + tensor.map.itemsize
    if not part.empty and (first < 0 or last > allocation.size_bytes):
        who = _only(m, thread)
        raise faults.box_out_of_bounds(m, does, who, tensor.map, allocation, at, first, last)
    if stores and allocation.read_only:
        place = np.full((1, 1), allocation.address + first, np.uint64)
        raise faults.read_only(m, "writes", place, _only(m, thread), tensor.map.itemsize)
    return part


def _tensor(m: Machine, address: int, modes: int, thread: int) -> Tensor:
    """What a tensor map in parameters or global memory means."""
    try:
        return _described(m, address, modes)
    except ValueError as error:
        raise faults.tensor_map(m, _only(m, thread), str(error)) from None


def _described(m: Machine, address: int, modes: int) -> Tensor:
    plain = address & int(WINDOW_MASK)
    raw = b""
    if address - plain == PARAM_WINDOW:
        raw = m.record.params[plain : plain + tensor_maps.BYTES]
    elif address == plain:
        holder = m.memory.find(plain)
        if holder is not None and plain >= holder.address:
            at = plain - holder.address
            raw = holder.data[at : at + tensor_maps.BYTES].tobytes()
    if len(raw) < tensor_maps.BYTES:
        raise ValueError(f"an address, {address:#x}, where no tensor map can be")
    if plain % tensor_maps.ALIGN:
        multiple = f"not a multiple of {tensor_maps.ALIGN}"
        raise ValueError(f"a tensor map at address {address:#x}, {multiple}")
    found = tensor_maps.decode(raw)
    if len(found.sizes) != modes:
        raise ValueError(f"a tensor map of {len(found.sizes)} modes for a copy of {modes}")
    held = _held(m, found.address)
    if held is None:  # a real address, as the host or a table of pointers has it
        if m.memory.translate(found.address) is None:
            m.memory.adopt(found.address)
        virtual = m.memory.translate(found.address)
        held = None if virtual is None else _held(m, virtual)
    if held is None:
        raise ValueError(
            f"a tensor map of memory at {found.address:#x}, which belongs to no tensor of this "
            "launch: it was made for another tensor, or for one that is gone"
        )
    return Tensor(found, *held)


def _held(m: Machine, address: int) -> tuple[Allocation, int] | None:
    """The allocation that holds a virtual address, and the byte."""
    allocation = m.memory.find(address)
    start = -1 if allocation is None else address - allocation.address
    if allocation is None or not 0 <= start < max(allocation.size_bytes, 1):
        return None
    return allocation, start
