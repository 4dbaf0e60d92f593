"""Implement tensor copies (TMA) in tile mode: `cp.async.bulk.tensor`, and its reductions and
prefetches.

Boxes and addresses are checked when the instruction executes, not when the copy completes.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from forgekit.vgpu.access import clusters, faults
from forgekit.vgpu.access.copies import NO_MBARRIER, AsyncOperation, End, Update
from forgekit.vgpu.code import DTYPES
from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine import Machine
from forgekit.vgpu.machine.tensor_boxes import Boxes, Tiles
from forgekit.vgpu.memory import PARAM_WINDOW, WINDOW_MASK, Allocation, tensor_maps
from forgekit.vgpu.memory.tensor_maps import Clipped, TensorMap
from forgekit.vgpu.opcodes import UnknownVariantError, atomics, counted, expect, opcode
from forgekit.vgpu.opcodes.access import address_of
from forgekit.vgpu.opcodes.bulk_copy import each_block, in_shared
from forgekit.vgpu.opcodes.decoder import Decoder, Fetch, Step
from forgekit.vgpu.ptx import Address, Instruction, Operand, Register, Vector

ALIGN = 128  # alignment of shared memory, in bytes: PTX ISA, "cp.async.bulk.tensor"
_SHARED = ("shared:cta", "shared:cluster")
# For each reduction, the element types that PTX allows.
_REDUCTIONS = {
    "add": ("u32", "s32", "u64", "f16", "f32", "bf16"),
    "min": ("u32", "s32", "u64", "s64", "f16", "bf16"),
    "max": ("u32", "s32", "u64", "s64", "f16", "bf16"),
    "inc": ("u32",), "dec": ("u32",),
    **dict.fromkeys(("and", "or", "xor"), ("u32", "s32", "u64", "s64")),
}  # fmt: skip
_MODES = {f"{n}d": n for n in range(1, 6)}


# -- the operand `[map, {x, y, …}]`: boxes of tensors that tensor maps describe -------------------
class _Tensor(NamedTuple):
    """A tensor map, with the allocation that contains its tensor and the tensor's byte offset in
    the allocation."""

    map: TensorMap
    allocation: Allocation
    start: int


class _Box:
    """The operand `[map, {x, y, …}]`."""

    def __init__(self, ins: Instruction, operand: Operand, d: Decoder) -> None:
        self.modes = next((n for part, n in _MODES.items() if part in ins.opcode), 0)
        items = operand.items if isinstance(operand, Vector) else ()
        if not self.modes or len(items) != 2:
            raise UnknownVariantError("no tensor map with coordinates")
        base, at = items
        if isinstance(base, Register):
            base = Address(base, 0)
        self._map = address_of(base, "global", d)
        coordinates = expect(at, Vector, "list of coordinates").items
        if len(coordinates) != self.modes:
            raise UnknownVariantError(f"{len(coordinates)} coordinates")
        self._at: list[Fetch] = [d.fetch(c, "s32") for c in coordinates]

    def operands(self, m: Machine) -> list[Array]:
        """Return the address of the tensor map and the coordinates of the box."""
        return [self._map(m), *(fetch(m) for fetch in self._at)]

    def boxes(self, m: Machine, full: Array, does: str) -> Boxes:
        """Return the box of each active thread; does: `copies from`, `copies to` or `updates`."""
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


def _clipped(m: Machine, thread: int, tensor: _Tensor, at: tuple[int, ...], does: str) -> Clipped:
    """Return the part of the box at these coordinates that is inside its tensor, after checking
    that the allocation contains this part."""
    stores = does != "copies from"
    wrong = tensor.map.wrong_corner(at, stores=stores)
    if wrong:
        raise faults.box_corner(m, does, m.only(thread), tensor.map, at, wrong)
    part, allocation = tensor.map.clip(at, stores=stores), tensor.allocation
    first = tensor.start + part.offset
    last = first + part.span_bytes + tensor.map.itemsize
    if not part.empty and (first < 0 or last > allocation.size_bytes):
        who = m.only(thread)
        raise faults.box_out_of_bounds(m, does, who, tensor.map, allocation, at, first, last)
    if stores and allocation.read_only:
        place = np.full((1, 1), allocation.address + first, np.uint64)
        raise faults.read_only(m, "writes", place, m.only(thread), tensor.map.itemsize)
    return part


def _tensor(m: Machine, address: int, modes: int, thread: int) -> _Tensor:
    """Return the tensor that a map in kernel parameters or global memory describes."""
    try:
        return _described(m, address, modes)
    except ValueError as error:
        raise faults.tensor_map(m, m.only(thread), str(error)) from None


def _described(m: Machine, address: int, modes: int) -> _Tensor:
    plain = address & int(WINDOW_MASK)
    raw = b""
    if address - plain == PARAM_WINDOW:
        raw = m.record.params[plain : plain + tensor_maps.BYTES]
    elif address == plain:
        if (holder := m.memory.holder(plain)) is not None:
            allocation, at = holder
            raw = allocation.data[at : at + tensor_maps.BYTES].tobytes()
    if len(raw) < tensor_maps.BYTES:
        raise ValueError(f"the address {address:#x}, which cannot hold a tensor map")
    if plain % tensor_maps.ALIGN:
        multiple = f"which is not a multiple of {tensor_maps.ALIGN}"
        raise ValueError(f"a tensor map at address {address:#x}, {multiple}")
    found = tensor_maps.decode(raw)
    if len(found.sizes) != modes:
        raise ValueError(f"a tensor map of rank {len(found.sizes)}, but the copy has rank {modes}")
    held = m.memory.holder(found.address)
    if held is None:  # a host address, written by the host or read from a table of pointers
        if m.memory.translate(found.address) is None:
            m.memory.adopt(found.address)
        virtual = m.memory.translate(found.address)
        held = None if virtual is None else m.memory.holder(virtual)
    if held is None:
        raise ValueError(
            f"a tensor map for memory at {found.address:#x}, which belongs to no tensor in this "
            "launch: the map was created for another tensor or for a deleted tensor"
        )
    return _Tensor(found, *held)


# -- copies ---------------------------------------------------------------------------------------
def _tiles(m: Machine, does: str, address: Array, full: Array, boxes: Boxes) -> End:
    """Return the tiles of shared memory that the copies access, after checking their alignment and
    bounds."""
    wrong = full & (np.broadcast_to(address, m.shape) & address.dtype.type(ALIGN - 1) != 0)
    if wrong.any():
        inside = address & address.dtype.type(0xFFFFFF)
        advice = (
            f"A tensor copy needs shared memory at a multiple of {ALIGN} bytes: allocate the tile "
            f"with byte_alignment={ALIGN} (1024 if it is swizzled), and make the size of each "
            "stage a multiple of that alignment."
        )
        raise faults.misaligned(m, "shared", does, inside, wrong, ALIGN, advice)
    sizes = np.zeros(m.shape, np.int64)
    sizes[full] = [tensor_map.tile_bytes for tensor_map in boxes.maps]
    end = in_shared(m, does, address, sizes, full)
    if not any(tensor_map.swizzle for tensor_map in boxes.maps):
        return end
    return Tiles(end.start, None, end.start % m.shared.stride, boxes.maps)


def _sizes(boxes: Boxes) -> Array:
    return np.array([tensor_map.box_bytes for tensor_map in boxes.maps], np.int64)


def _known(ins: Instruction, *known: str) -> None:
    """Refuse a qualifier that is not in `known`."""
    for part in ins.opcode[ins.opcode.index("tensor") + 1 :]:
        if part.startswith(("im2col", "tile:")):
            raise UnknownVariantError(f".{part.replace(':', '::')}; only .tile is supported")
        if part not in _MODES and part not in ("tile", "L2:cache_hint", *known):
            raise UnknownVariantError(f".{part}")


@opcode("cp.async.bulk.tensor")
def tensor_copy(ins: Instruction, d: Decoder) -> Step:
    if "bulk_group" in ins.opcode:
        return _store(ins, d, None)
    signals = "mbarrier:complete_tx:bytes"
    _known(ins, *_SHARED, "global", signals, "multicast:cluster", "cta_group:1")
    multicast = "multicast:cluster" in ins.opcode
    operands = counted(ins, 3 + multicast + ("L2:cache_hint" in ins.opcode))
    to, box, mbarrier = (
        address_of(operands[0], "shared", d),
        _Box(ins, operands[1], d),
        address_of(operands[2], "shared", d),
    )
    several = d.fetch(operands[3], "b16") if multicast else None

    def start(m: Machine, mask: Array | None) -> None:
        full = m.expand(mask)
        boxes = box.boxes(m, full, "copies from")
        for who, rank in each_block(m, several(m), full) if several else [(full, None)]:
            into, signalled = to(m), mbarrier(m)
            if rank is not None:
                into, signalled = (clusters.mapped(a, rank) for a in (into, signalled))
            some = boxes.part(who[full])
            tiles = _tiles(m, "copies to", into, who, some)
            words = m.mbarriers.places("cluster", signalled, who)[who]
            threads = np.flatnonzero(who)
            m.async_operations.start(
                AsyncOperation(m.pc, threads, _sizes(some), tiles, some, words)
            )

    return d.guarded(start)


@opcode("cp.reduce.async.bulk.tensor")
def tensor_reduction(ins: Instruction, d: Decoder) -> Step:
    name = next((part for part in ins.opcode if part in _REDUCTIONS), None)
    if name is None:
        raise UnknownVariantError("no operation")
    return _store(ins, d, name)


def _store(ins: Instruction, d: Decoder, reduction: str | None) -> Step:
    """Execute `cp[.reduce].async.bulk.tensor.2d.global.shared::cta[.add].tile.bulk_group [map, …],
    [a]`."""
    _known(ins, "shared:cta", "global", "bulk_group", *([reduction] if reduction else []))
    operands = counted(ins, 2 + ("L2:cache_hint" in ins.opcode))
    box, source = _Box(ins, operands[0], d), address_of(operands[1], "shared", d)
    does = "updates" if reduction else "copies to"

    def start(m: Machine, mask: Array | None) -> None:
        full = m.expand(mask)
        if reduction is None:
            full = _once_a_warp(m, full, [source(m), *box.operands(m)])
        boxes = box.boxes(m, full, does)
        tiles = _tiles(m, "copies from", source(m), full, boxes)
        for kind in sorted({tensor_map.dtype for tensor_map in boxes.maps}):
            keep = np.array([tensor_map.dtype == kind for tensor_map in boxes.maps])
            update = _update(m, reduction, kind, full) if reduction else None
            threads, some = np.flatnonzero(full)[keep], boxes.part(keep)
            words = np.full(len(threads), NO_MBARRIER)
            m.async_operations.start(
                AsyncOperation(
                    m.pc, threads, _sizes(some), some, tiles.part(keep), words, update=update
                )
            )

    return d.guarded(start)


def _once_a_warp(m: Machine, full: Array, operands: list[Array]) -> Array:
    """Drop all lanes except the first from each warp whose lanes all store the same data; storing
    the data once has the same effect.

    Such warps occur if the kernel does not elect a thread. For loads and reductions, CuTe DSL's
    `cute.copy` elects one.
    """
    lanes = m.lanes(full)
    first = lanes.argmax(axis=1)[:, None]
    same = np.ones(len(lanes), bool)
    for operand in operands:
        of_lanes = np.broadcast_to(operand, m.shape).reshape(lanes.shape)
        one = np.take_along_axis(of_lanes, first, axis=1)
        same &= ((of_lanes == one) | ~lanes).all(axis=1)
    leads = np.arange(lanes.shape[1]) == first
    return (lanes & (leads | ~same[:, None])).reshape(m.shape)


def _update(m: Machine, name: str, kind: str, who: Array) -> Update:
    if kind not in _REDUCTIONS[name]:
        kinds = ", ".join(_REDUCTIONS[name])
        what = f"a tensor map of {kind} elements for reduction {name}, which supports only {kinds}"
        raise faults.tensor_map(m, who, what)
    return _reduction(name, kind)


@functools.cache
def _reduction(name: str, kind: str) -> Update:
    """Return the function that combines old and new elements, all as bit patterns."""
    run, dtype = atomics.reduction(name, kind), DTYPES[kind]

    def update(old: Array, new: Array) -> Array:
        reduced: Array = run(old.view(dtype), new.view(dtype))
        return reduced.view(new.dtype)

    return update


@opcode("cp.async.bulk.prefetch.tensor")
def tensor_prefetch(ins: Instruction, d: Decoder) -> Step:
    """Check the tensor map and the box; the virtual GPU has no L2 cache to prefetch into."""
    _known(ins, "L2", "global")
    box = _Box(ins, counted(ins, 1 + ("L2:cache_hint" in ins.opcode))[0], d)

    def check(m: Machine, mask: Array | None) -> None:
        box.boxes(m, m.expand(mask), "copies from")

    return d.guarded(check)
