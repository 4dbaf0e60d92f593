"""Undefined bytes of shared and local memory: what loads bring in, and where stores take it.

Shared memory starts undefined. Every byte has eight bits beside it, four bytes share the read that
what was stored there comes from.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forgekit.vgpu import ptx
from forgekit.vgpu.access import addressing
from forgekit.vgpu.access.addressing import Target
from forgekit.vgpu.access.copies import AsyncOperation, End
from forgekit.vgpu.batch import Batch
from forgekit.vgpu.floats import Array
from forgekit.vgpu.listeners import Access, Product
from forgekit.vgpu.memory import Allocation, element_view
from forgekit.vgpu.opcodes import matrix
from forgekit.vgpu.sanitizer import undefined_products
from forgekit.vgpu.sanitizer.findings import Report
from forgekit.vgpu.sanitizer.taints import Taint, Taints, pack, report_undefined
from forgekit.vgpu.sanitizer.undefined_bits import registers

_GRANULE = 4  # bytes of memory that share an origin


class _Memory:
    """The undefined bits of the shared or local memory of a batch."""

    def __init__(self, size: int, fill: int) -> None:
        self.bits = np.full(size, fill, np.uint8)
        self.origin: Array | None = None  # of undefined values that were stored
        self._views: dict[tuple[int, int], Array] = {}

    def beside(self, target: Target) -> Target:
        """The undefined bits of a target."""
        rows = target.rows
        key = (rows.dtype.itemsize, rows.shape[1] if rows.ndim == 2 else 1)
        if key not in self._views:
            self._views[key] = element_view(self.bits, *key)
        return target._replace(rows=self._views[key])

    def define(self, target: Target) -> None:
        """The bytes of a target hold something."""
        count = target.rows.shape[1] if target.rows.ndim == 2 else 1
        nothing = np.zeros((1, 1), target.rows.dtype)
        addressing.store([self.beside(target)], [nothing] * count)

    def set_origin(self, start: Array, size: int, origin: Array) -> None:
        """`size` bytes from each `start` come from these reads."""
        if self.origin is None:
            self.origin = np.zeros(len(self.bits) // _GRANULE, np.int64)
        for at in range(0, size, _GRANULE):
            self.origin[(start + at) // _GRANULE] = origin

    def origin_at(self, start: Array, size: int) -> Array:
        if self.origin is None:
            return np.zeros((1, 1), np.int64)
        found = [
            self.origin.take((start + at) // _GRANULE, mode="clip")
            for at in range(0, size, _GRANULE)
        ]
        return np.maximum.reduce(found)


class UndefinedMemory:
    """The memories of a batch."""

    def __init__(self, m: Batch, taints: Taints, report: Report) -> None:
        self._taints = taints
        self._report = report
        self._shared = _Memory(len(m.shared.data), 0xFF)
        self._local = _Memory(len(m.local.data), 0)

    def _beside(self, target: Target) -> _Memory:
        return self._shared if target.space == "shared" else self._local

    def access(self, m: Batch, access: Access) -> None:
        """Threads access memory; see `Access`. (Addresses have been looked at before.)"""
        if access.kind == "load":
            self._load(m, access)
        elif access.kind == "store":
            self._store(m, access)
        elif access.kind == "atomic":
            self._atomic(m, access)
        elif access.kind == "async store":
            # Too early a read of it is reported as such, elsewhere.
            self.copied(access)

    def copied(self, access: Access) -> None:
        """An asynchronous copy brings bytes that hold something."""
        for target in access.targets:
            self._beside(target).define(target)

    def _load(self, m: Batch, access: Access) -> None:
        ins = m.program.instructions[m.pc]
        items = _items(ins.operands[0])
        if ins.opcode[0] == "ldmatrix":
            self._load_matrices(m, access, matrix.tiles_of(ins), items)
            return
        elem = access.width // len(items)
        signed = ins.opcode[-1][0] == "s"
        loaded: list[Taint | None] = [None] * len(items)
        for target in access.targets:
            if target.space in ("shared", "local"):
                loaded = self._gathered(m, target, elem, loaded)
        for item, taint in zip(items, loaded, strict=True):
            for register in registers(item, m.program):
                if taint is None:
                    self._taints.define(register, access.mask)
                    continue
                bits, width = taint.bits, self._taints.widths[register]
                if signed and width.itemsize > elem:
                    bits = bits.view(f"i{elem}").astype(f"i{width.itemsize}").view(width)
                self._taints.put(register, bits, taint.origin, access.mask)

    def _load_matrices(
        self, m: Batch, access: Access, tiles: matrix.Tiles, items: tuple[object, ...]
    ) -> None:
        """Each lane's registers take over what the rows have that other lanes name."""
        (target,) = access.targets
        words = self._gathered(m, target, 4, [None] * 4)
        nothing = Taint(np.zeros(m.shape, np.uint32), np.zeros(m.shape, np.int64))
        bits, origin = (
            np.stack([np.broadcast_to((w or nothing)[i], m.shape) for w in words], axis=2)
            for i in (0, 1)
        )
        bits = np.ascontiguousarray(tiles.to_lanes(bits.view(np.uint16))).view(np.uint32)[..., 0]
        origin = tiles.to_lanes(np.repeat(origin, 2, axis=2)).max(axis=3)
        for j, item in enumerate(items):
            for register in registers(item, m.program):
                self._taints.put(register, bits[:, j], origin[:, j], m.mask)

    def _matrix_rows(self, m: Batch, tiles: matrix.Tiles, held: list[Taint | None]) -> list:
        """What is undefined of the four words of each lane's row."""
        if not any(held):
            return [None] * 4
        nothing = Taint(np.zeros((1, 1), np.uint32), np.zeros((1, 1), np.int64))
        bits, origin = (
            np.stack([np.broadcast_to((t or nothing)[i], m.shape) for t in held], axis=1)
            for i in (0, 1)
        )
        bits = tiles.to_rows(bits.view(np.uint16).reshape(*bits.shape, 2)).view(np.uint32)
        origin = tiles.to_rows(np.repeat(origin[..., None], 2, axis=3))
        origin = origin.reshape(*m.shape, 4, 2).max(axis=3)
        return [Taint(bits[..., w], origin[..., w]) for w in range(4)]

    def _gathered(
        self, m: Batch, target: Target, elem: int, others: list[Taint | None]
    ) -> list[Taint | None]:
        """The undefined bits of each element of a load, those of its other targets included."""
        memory = self._beside(target)
        count = len(others)
        found = addressing.gather(memory.beside(target)) if len(memory.bits) else np.zeros(1, "u1")
        if not found.any():
            return others
        result = list(others)
        for k in range(count):
            bits = found if count == 1 else np.ascontiguousarray(found[..., k])
            if target.mask is not None:
                bits = np.where(target.mask, bits, bits.dtype.type(0))
            if not bits.any():
                continue
            at = target.places * (elem * count) + k * elem
            origin = memory.origin_at(at, elem)
            if target.space == "shared":  # what nobody stored comes from this read
                lowest = np.bitwise_count(
                    (bits & (~bits + bits.dtype.type(1))) - bits.dtype.type(1)
                )
                byte = (at + (lowest >> 3)) % m.shared.stride
                who = np.arange(m.n_blocks * m.n_threads).reshape(m.shape)
                origin = np.where(origin == 0, pack(m.pc, who, byte), origin)
            before = result[k]
            if before is not None:
                bits, origin = (
                    bits | before.bits,
                    np.maximum(np.where(bits != 0, origin, 0), before.origin),
                )
            result[k] = Taint(bits, origin)
        return result

    def _store(self, m: Batch, access: Access) -> None:
        ins = m.program.instructions[m.pc]
        taints = [self._taints.of_operand(m, item) for item in _items(ins.operands[1])]
        if ins.opcode[0] == "stmatrix":
            taints = self._matrix_rows(m, matrix.tiles_of(ins), taints)
        elem = access.width // len(taints)
        for target in access.targets:
            if target.space == "global":
                for k, taint in enumerate(taints):
                    if taint is not None:
                        place = _place_of(m, target, access.width, k * elem)
                        self._taints.report(m, "store", taint, target.mask, place)
            elif target.space == "shared" or len(self._local.bits):
                self._scatter(m, target, elem, taints)

    def _scatter(self, m: Batch, target: Target, elem: int, taints: list[Taint | None]) -> None:
        memory = self._beside(target)
        nothing = np.zeros((1, 1), f"u{elem}")
        bits = [nothing if t is None else t.bits.astype(f"u{elem}", copy=False) for t in taints]
        addressing.store([memory.beside(target)], bits)
        for k, taint in enumerate(taints):
            if taint is None:
                continue
            here = m.expand(target.mask) & (taint.bits != 0)
            at = np.broadcast_to(target.places, m.shape)[here] * (elem * len(taints)) + k * elem
            memory.set_origin(at, elem, np.broadcast_to(taint.origin, m.shape)[here])

    def _atomic(self, m: Batch, access: Access) -> None:
        ins = m.program.instructions[m.pc]
        returns = ins.opcode[0] == "atom"
        values = [t for o in ins.operands[1 + returns :] if (t := self._taints.of_operand(m, o))]
        old: list[Taint | None] = [None]
        for target in access.targets:
            if target.space == "global":
                place = _place_of(m, target, access.width, 0)
                for taint in values:
                    self._taints.report(m, "atomic", taint, target.mask, place)
            else:
                exchanges = "exch" in ins.opcode
                old = self._update(m, target, access.width, values, old, exchanges)
        for register in registers(ins.operands[0], m.program) if returns else ():
            if old[0] is None:
                self._taints.define(register, access.mask)
            else:
                self._taints.put(register, old[0].bits != 0, old[0].origin, access.mask)

    def _update(
        self, m: Batch, target: Target, width: int, values: list[Taint],
        old: list[Taint | None], exchanges: bool,
    ) -> list[Taint | None]:  # fmt: skip
        """An atomic on shared memory: in any order, what one thread brings all others may meet."""
        found = self._gathered(m, target, width, old)
        wide = target._replace(places=np.broadcast_to(target.places, m.shape))
        if exchanges:
            self._beside(target).define(wide)
        elif found[0] is not None:  # what was blank is so, from now on, because of this read
            values = [*values, found[0]]
        for taint in values:
            bits = np.where(taint.bits != 0, np.array(-1).astype(f"u{width}"), 0)
            here = m.expand(target.mask) & (bits != 0)
            if not here.any():
                continue
            some = Taint(np.broadcast_to(bits, m.shape), taint.origin)
            self._scatter(m, wide._replace(mask=here), width, [some])
            if not exchanges:
                found = self._gathered(m, target, width, found)
        return found

    # -- asynchronous operations ------------------------------------------------------------------
    def made(self, words: Array) -> None:
        """mbarriers are made at these 8-byte words of shared memory."""
        self._shared.bits[words[:, None] * 8 + np.arange(8)] = 0

    def product(self, m: Batch, product: Product) -> None:
        """A `wgmma` reads its operands."""
        undefined_products.take(m, product, self._shared.bits, self._taints)

    def async_start(self, m: Batch, operation: AsyncOperation) -> None:
        """A bulk copy or an asynchronous store starts: it brings what its source holds now."""
        taints: list[Taint | None] = []
        if operation.source is None:
            items = _items(m.program.instructions[m.pc].operands[1])
            taints = [self._taints.of_operand(m, item) for item in items]
        for i, (who, size) in enumerate(
            zip(operation.who.tolist(), operation.size.tolist(), strict=True)
        ):
            bits, origin = np.zeros(size, np.uint8), np.zeros(size, np.int64)
            if operation.source is not None and operation.source.allocations is None:
                at = operation.source.places(i, size)
                bits = self._shared.bits[at]
                origin = self._shared.origin_at(at, 1).reshape(-1)
                read = pack(m.pc, np.array(who), at % m.shared.stride)
                origin = np.where(bits != 0, np.where(origin == 0, read, origin), 0)
            elem = size // max(len(taints), 1)
            for k, taint in enumerate(taints):
                if taint is not None:
                    one = np.broadcast_to(taint.bits, m.shape).reshape(-1)[who : who + 1]
                    bits[k * elem : (k + 1) * elem] = one.view(np.uint8)
                    from_read = np.broadcast_to(taint.origin, m.shape).reshape(-1)[who]
                    origin[k * elem : (k + 1) * elem] = from_read
            self._arrives(m, operation.target, i, who, bits, origin)

    def _arrives(self, m: Batch, end: End, i: int, who: int, bits: Array, origin: Array) -> None:
        at = end.places(i, len(bits))
        bad = np.flatnonzero((bits != 0) & (at >= 0))
        if end.allocations is None:
            self._shared.bits[at] = bits
            if len(bad):
                self._shared.set_origin(at[bad], 1, origin[bad])
        elif len(bad):
            place = _name(end.allocations[i], int(at[bad[0]]))
            report_undefined(self._report, m, int(origin[bad[0]]), "copy", who, place, 1)


def _items(operand: object) -> tuple[object, ...]:
    """The elements of a vector; of anything else, itself."""
    return tuple(operand.items) if isinstance(operand, ptx.Vector) else (operand,)


def _place_of(m: Batch, target: Target, width: int, skip: int) -> Callable[[int, int], str]:
    """Names the element that a thread's undefined bits go to, `skip` bytes into its access."""

    def place(who: int, bits: int) -> str:
        allocation = target.allocation
        assert allocation is not None
        row = int(np.broadcast_to(target.places, m.shape).reshape(-1)[who])
        lowest = ((bits & -bits).bit_length() - 1) // 8
        return _name(allocation, row * width + target.skipped + skip + lowest)

    return place


def _name(allocation: Allocation, offset: int) -> str:
    """The element of a tensor that holds a byte of its memory."""
    info, from_first = allocation.tensor_at(offset)
    return f"{info.coordinate(from_first - from_first % info.itemsize)} of {info}"
