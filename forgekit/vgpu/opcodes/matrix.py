"""Implement operations on matrices in a warp's registers: `ldmatrix`, `stmatrix`, and `mma.sync`
(tensor cores).

The PTX manual ("Matrix fragments for mma") defines each lane's elements. In lane 4 * g + t, a
register of A or B holds p elements that are neighbours along K; the first is in row g (for B,
column g) at K = p * t. A register of C holds two neighbouring elements of row g.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from forgekit.vgpu import tensor_cores
from forgekit.vgpu.access import addressing
from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine import WARP, Machine
from forgekit.vgpu.opcodes import UnknownVariantError, allow, counted, opcode
from forgekit.vgpu.opcodes.access import address_of
from forgekit.vgpu.opcodes.decoder import Decoder, Fetch, Step
from forgekit.vgpu.opcodes.warp import warp_step
from forgekit.vgpu.ptx import Instruction, Operand, Vector

T = TypeVar("T")

_ROWS, _WORDS = 8, 4  # an 8 by 8 matrix of 16-bit elements has 8 rows of four 32-bit words
_COUNTS = {"x1": 1, "x2": 2, "x4": 4}


def items(operand: Operand) -> tuple[Operand, ...]:
    """Return the registers of an operand."""
    return operand.items if isinstance(operand, Vector) else (operand,)


# -- to and from shared memory --------------------------------------------------------------------
class Tiles(NamedTuple):
    """The 8 by 8 matrices that an instruction moves: their number, and True if it transposes
    them."""

    matrices: int
    transposed: bool

    def to_lanes(self, rows: Array) -> Array:
        """Convert (blocks, threads, 8) rows to (blocks, matrices, threads, 2) register elements.

        rows: the row at each lane's address.
        """
        blocks = rows.shape[0]
        tiles = rows.reshape(blocks, -1, WARP, _ROWS)[:, :, : self.matrices * _ROWS]
        tiles = tiles.reshape(blocks, -1, self.matrices, _ROWS, _ROWS)
        if self.transposed:
            tiles = tiles.swapaxes(-1, -2)
        lanes = tiles.reshape(*tiles.shape[:3], WARP, 2).swapaxes(1, 2)
        return lanes.reshape(blocks, self.matrices, -1, 2)

    def to_rows(self, lanes: Array) -> Array:
        """Invert `to_lanes`; rows of lanes whose addresses are unused are zero."""
        blocks = lanes.shape[0]
        tiles = lanes.reshape(blocks, self.matrices, -1, WARP, 2).swapaxes(1, 2)
        tiles = tiles.reshape(blocks, -1, self.matrices, _ROWS, _ROWS)
        if self.transposed:
            tiles = tiles.swapaxes(-1, -2)
        rows = np.zeros((blocks, tiles.shape[1], WARP, _ROWS), lanes.dtype)
        named = self.matrices * _ROWS
        rows[:, :, :named] = tiles.reshape(blocks, -1, named, _ROWS)
        return rows.reshape(blocks, -1, _ROWS)


def tiles_of(ins: Instruction) -> Tiles:
    """Return the matrices of an `ldmatrix` or `stmatrix`.

    Raises:
        UnknownVariantError: the shape is not m8n8, or the type is not b16.
    """
    allow(ins, "sync", "aligned", "m8n8", "trans", "shared", "shared:cta", "b16", *_COUNTS)
    count = next((_COUNTS[p] for p in ins.opcode if p in _COUNTS), None)
    if count is None or "m8n8" not in ins.opcode:
        raise UnknownVariantError("no shape or no number of matrices")
    return Tiles(count, "trans" in ins.opcode)


def _naming(m: Machine, count: int) -> Array | None:
    """Return the mask of the running threads whose addresses are used: the first 8 * `count` lanes
    of each warp."""
    if count * _ROWS == WARP:
        return m.mask
    lanes = (np.arange(m.n_threads) % WARP < count * _ROWS)[None]
    return lanes if m.mask is None else lanes & m.mask


@opcode("ldmatrix")
def ldmatrix(ins: Instruction, d: Decoder) -> Step:
    """Execute `ldmatrix.sync.aligned.m8n8.num{.trans}.shared.b16 {r, …}, [row]`."""
    tiles = tiles_of(ins)
    target, source = counted(ins, 2)
    address = address_of(source, "shared", d)
    writers = checked(target, tiles.matrices, lambda r: d.writer(r, "b32"))

    def run(m: Machine) -> None:
        where, mask = address(m), _naming(m, tiles.matrices)
        found = addressing.targets(m, "shared", "reads", where, mask, 4, _WORDS)
        rows = np.broadcast_to(addressing.gather(found[0]), (*m.shape, _WORDS))
        values = [rows[..., w] for w in range(_WORDS)]
        m.notify("load", "shared", where, mask, 4 * _WORDS, found, values)
        lanes = tiles.to_lanes(np.ascontiguousarray(rows).view(np.uint16))
        registers = np.ascontiguousarray(lanes).view(np.uint32)[..., 0]
        for j, write in enumerate(writers):
            write(m, registers[:, j])

    return warp_step(d, None, run)


@opcode("stmatrix")
def stmatrix(ins: Instruction, d: Decoder) -> Step:
    """Execute `stmatrix.sync.aligned.m8n8.num{.trans}.shared.b16 [row], {r, …}`."""
    tiles = tiles_of(ins)
    target, source = counted(ins, 2)
    address = address_of(target, "shared", d)
    registers = checked(source, tiles.matrices, lambda r: d.fetch(r, "b32"))

    def run(m: Machine) -> None:
        where, mask = address(m), _naming(m, tiles.matrices)
        found = addressing.targets(m, "shared", "writes", where, mask, 4, _WORDS)
        held = np.stack([np.broadcast_to(f(m), m.shape) for f in registers], axis=1)
        rows = tiles.to_rows(held.view(np.uint16).reshape(*held.shape, 2)).view(np.uint32)
        values = [rows[..., w] for w in range(_WORDS)]
        addressing.store(found, values)
        m.notify("store", "shared", where, mask, 4 * _WORDS, found, values)

    return warp_step(d, None, run)


def checked(operand: Operand, count: int, make: Callable[[Operand], T]) -> list[T]:
    found = items(operand)
    if len(found) != count:
        raise UnknownVariantError(f"{len(found)} registers, not {count}")
    return [make(item) for item in found]


# -- multiply and accumulate ----------------------------------------------------------------------
class Shape(NamedTuple):
    """The shape of a product: K, the types of A and B, and the type of C and D."""

    k: int
    a: str
    b: str
    c: str

    @property
    def packed(self) -> int:
        """Return the number of elements of A or B per register."""
        return 32 // tensor_cores.WIDTHS[self.a]

    @property
    def steps(self) -> int:
        """Return the number of registers per lane along K."""
        return self.k // (4 * self.packed)


# For each type of A and B, the allowed values of K and types of C and D (PTX manual, "mma"), except
# shapes from before sm_80, float64, and 4-bit and 1-bit integers. `wgmma` uses the largest K.
_KNOWN = {
    "f16": ((8, 16), ("f16", "f32")), "bf16": ((8, 16), ("f32",)), "tf32": ((4, 8), ("f32",)),
    "e4m3": ((16, 32), ("f16", "f32")), "e5m2": ((16, 32), ("f16", "f32")),
    "s8": ((16, 32), ("s32",)), "u8": ((16, 32), ("s32",)),
}  # fmt: skip
_SHAPES = {f"m16n8k{k}": k for k in (4, 8, 16, 32)}
_MIXED = ({"e4m3", "e5m2"}, {"s8", "u8"})


def shape_of(ins: Instruction) -> Shape:
    """Return the shape of an `mma.sync.aligned.m16n8k….row.col{.satfinite}.d.a.b.c`.

    Raises:
        UnknownVariantError: the shape or type is unknown.
    """
    allow(ins, "sync", "aligned", "row", "col", "satfinite", "s32", "f32", *_SHAPES, *_KNOWN)
    parts = [p for p in ins.opcode[1:] if p != "satfinite"]
    if len(parts) != 9 or parts[2] not in _SHAPES or parts[3:5] != ["row", "col"]:
        raise UnknownVariantError("a shape other than m16n8k….row.col")
    result, a, b, c = parts[5:]
    shape = Shape(_SHAPES[parts[2]], a, b, c)
    if shape.k not in k_of(shape) or result != c:
        raise UnknownVariantError(f".{parts[2]}.{result}.{a}.{b}.{c}")
    if "satfinite" in ins.opcode and c != "s32":
        raise UnknownVariantError(f".satfinite for .{c}")
    return shape


def k_of(shape: Shape) -> tuple[int, ...]:
    """Return the values of K that the types allow, in ascending order; empty if the types cannot be
    combined."""
    sizes, sums = _KNOWN.get(shape.a, ((), ()))
    alike = shape.a == shape.b or {shape.a, shape.b} in _MIXED
    return sizes if alike and shape.c in sums else ()


@opcode("mma")
def mma(ins: Instruction, d: Decoder) -> Step:
    """Compute D = A B + C."""
    shape, saturate = shape_of(ins), "satfinite" in ins.opcode
    target, *sources = counted(ins, 4)
    held = 2 if shape.c == "f16" else 4
    writers = checked(target, held, lambda r: d.writer(r, "b32"))
    a, b, c = (
        checked(operand, count, lambda r: d.fetch(r, "b32"))
        for operand, count in zip(sources, (2 * shape.steps, shape.steps, held), strict=True)
    )

    def run(m: Machine) -> None:
        busy = _busy_warps(m)
        left = _remembered(m, a, shape, shape.a, 2, busy)
        right = _remembered(m, b, shape, shape.b, 1, busy)
        sums = to_sums([_by_warp(m, f(m), busy) for f in c], shape.c)
        if isinstance(left, tensor_cores.Matrix):
            assert isinstance(right, tensor_cores.Matrix)
            result = tensor_cores.multiply_add(left, right, sums)
        else:
            assert not isinstance(right, tensor_cores.Matrix)
            result = tensor_cores.multiply_add_integers(left, right, sums, saturate=saturate)
        for write, value in zip(writers, from_sums(result), strict=True):
            write(m, _everywhere(m, value, busy))

    return warp_step(d, None, run)


def _busy_warps(m: Machine) -> Array | None:
    """Return the indices of the running warps, or None if all warps run."""
    if m.mask is None:
        return None
    busy = m.lanes(m.mask).any(axis=1)
    return None if busy.all() else np.flatnonzero(busy)


def _by_warp(m: Machine, register: Array, busy: Array | None) -> Array:
    """Reshape a register to (warps, 32), for the running warps."""
    lanes = np.broadcast_to(register, m.shape).reshape(-1, WARP)
    return lanes if busy is None else lanes[busy]


def _everywhere(m: Machine, value: Array, busy: Array | None) -> Array:
    """Invert `_by_warp`; warps that do not run get arbitrary values."""
    if busy is not None:
        lanes = np.zeros((m.n_blocks * m.n_threads // WARP, WARP), value.dtype)
        lanes[busy] = value
        value = lanes
    return value.reshape(m.shape)


_REMEMBERED = 64  # cached fragments; a kernel multiplies each fragment of A by several of B


def _remembered(
    m: Machine, fetches: list[Fetch], shape: Shape, kind: str, high: int, busy: Array | None
) -> tensor_cores.Matrix | Array:
    """Return the matrix in the registers; reuse a cached matrix if the registers have not
    changed."""
    registers = [f(m) for f in fetches]
    known = m.state.setdefault("mma", {})
    assert isinstance(known, dict)
    key = (kind, high, *(id(r) for r in registers))
    found = known.get(key)
    if found is None or not _same(found[1], busy):
        if len(known) >= _REMEMBERED:
            known.pop(next(iter(known)))
        codes = to_rows([_by_warp(m, r, busy) for r in registers], shape, high)
        floating = kind in tensor_cores.LEAST
        halves = kind in ("e4m3", "e5m2")
        made = (
            tensor_cores.matrix(codes, kind, halves=halves)
            if floating
            else codes.view(f"{SIGNS[kind]}1")
        )
        # The cache keeps the registers' arrays, so their ids stay unique; no code modifies the
        # arrays.
        found = known[key] = (made, busy, registers)
    return found[0]


SIGNS = {"s8": "i", "u8": "u"}


def _same(before: Array | None, now: Array | None) -> bool:
    return before is now or (before is not None and now is not None and np.array_equal(before, now))


def to_rows(registers: Sequence[Array], shape: Shape, high: int) -> Array:
    """Return the elements of A (high = 2) or of B's columns (high = 1), as unsigned integers of
    shape (8 * high, K, warps).

    registers: arrays of shape (warps, 32); A's registers alternate between row g and row g + 8.
    """
    warps, packed = len(registers[0]), shape.packed
    width = 32 // packed
    words = np.stack(registers).reshape(shape.steps, high, warps, _ROWS, 4)
    words = np.ascontiguousarray(words.transpose(1, 3, 0, 4, 2))  # high, g, step, t, warp
    if packed == 1:
        return words.reshape(high * _ROWS, shape.k, warps)
    parts = np.empty((*words.shape[:4], packed, warps), f"u{width // 8}")
    for i in range(packed):
        parts[..., i, :] = words >> np.uint32(width * i)
    return parts.reshape(high * _ROWS, shape.k, warps)


def to_sums(registers: Sequence[Array], kind: str) -> Array:
    """Return the elements of C, of shape (16, 8, warps), from its registers, of shape (warps,
    32)."""
    warps = len(registers[0])
    if kind == "f16":
        words = np.stack([r.T for r in registers])  # two neighbouring elements per register
        halves = np.stack([words & np.uint32(0xFFFF), words >> np.uint32(16)], axis=2)
        return halves.astype(np.uint16).view(np.float16).reshape(2 * _ROWS, _ROWS, warps)
    words = np.stack([r.T for r in registers]).reshape(2, 2, WARP, warps)
    words = np.ascontiguousarray(words.transpose(0, 2, 1, 3))
    return words.view("i4" if kind == "s32" else "f4").reshape(2 * _ROWS, _ROWS, warps)


def from_sums(sums: Array) -> list[Array]:
    """Invert `to_sums`: return the 32-bit registers of D, as arrays of shape (warps, 32)."""
    parts = sums.reshape(2, WARP, 2, -1)
    if sums.dtype == np.float16:
        low, high = (parts[:, :, i].view(np.uint16).astype(np.uint32) for i in (0, 1))
        return [np.ascontiguousarray(w.T) for w in low | high << np.uint32(16)]
    words = parts.view(np.uint32)
    return [np.ascontiguousarray(words[i, :, j].T) for i in (0, 1) for j in (0, 1)]
