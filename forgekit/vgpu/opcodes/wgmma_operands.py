"""Decode the form of a `wgmma` instruction, and read its matrices from registers or, through a
descriptor, from shared memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from forgekit.vgpu import tensor_cores
from forgekit.vgpu.access import faults
from forgekit.vgpu.errors import KernelError
from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine import WARP, Machine
from forgekit.vgpu.machine.warpgroups import (
    ROWS,
    WARPGROUP,
    by_warpgroup,
    per_block,
    threads_of,
)
from forgekit.vgpu.memory import swizzles
from forgekit.vgpu.memory.swizzles import DEPTH, PIECE
from forgekit.vgpu.opcodes import UnknownVariantError, counted, expect, matrix
from forgekit.vgpu.opcodes.decoder import Decoder, Fetch
from forgekit.vgpu.ptx import Immediate, Instruction, Operand, Vector


class Form(NamedTuple):
    """The shape, types and options of a `wgmma.mma_async`, from its opcode and constant operands.

    n: the number of columns of B. shape: K and the types; each warp holds A in the same registers
    as for an `mma.sync` with this shape. saturate: True for `.satfinite`. minus: for A and B, True
    if the matrix is negated. across: for A and B, True if elements along M or N, not along K, are
    contiguous.
    """

    n: int
    shape: matrix.Shape
    saturate: bool
    minus: tuple[bool, ...] = (False, False)
    across: tuple[bool, ...] = (False, False)

    @property
    def registers(self) -> int:
        """Return the number of registers per thread that hold the accumulator."""
        return self.n // (4 if self.shape.c == "f16" else 2)


def form_of(ins: Instruction) -> Form:
    """Return the form of a `wgmma.mma_async.sync.aligned.m64n…k….d.a.b[.satfinite]`.

    Raises:
        UnknownVariantError: the shape or type is unknown.
    """
    parts = [p for p in ins.opcode[4:] if p != "satfinite"]
    if len(parts) != 4 or ins.opcode[2:4] != ("sync", "aligned"):
        raise UnknownVariantError("not .sync.aligned.shape.type.type.type")
    name, c, a, b = parts
    n, saturate = _columns(name), "satfinite" in ins.opcode
    sizes = matrix.k_of(matrix.Shape(0, a, b, c))
    if not sizes:
        raise UnknownVariantError(f".{c}.{a}.{b}")
    if name != f"m{ROWS}n{n}k{sizes[-1]}" or (saturate and c != "s32"):
        raise UnknownVariantError(f".{name}{'.satfinite' * saturate} for .{a}")
    form = Form(n, matrix.Shape(sizes[-1], a, b, c), saturate)
    if c == "s32":
        counted(ins, 4)
        return form
    held = isinstance(ins.operands[1], Vector)
    transposes = 0 if tensor_cores.WIDTHS[a] != 16 else 1 if held else 2
    counted(ins, 6 + transposes)
    constants = [expect(o, Immediate, "number").bits for o in ins.operands[4:]]
    across = [False, False, *(c == 1 for c in constants[2:])][-2:]
    return form._replace(minus=tuple(c == -1 for c in constants[:2]), across=tuple(across))


def _columns(shape: str) -> int:
    digits = shape.removeprefix(f"m{ROWS}n").partition("k")[0]
    n = int(digits) if digits.isdigit() else 0
    if not 8 <= n <= 256 or n % 8:
        raise UnknownVariantError(f".{shape}")
    return n


# -- warpgroups -----------------------------------------------------------------------------------
def warpgroups(m: Machine) -> Array:
    """Return the indices of the running warpgroups.

    Raises:
        KernelError: only some threads of a warpgroup have reached the instruction.
    """
    lanes = by_warpgroup(m, m.expand(m.mask))
    which = np.flatnonzero(lanes.any(axis=1))
    if not lanes[which].all() or len(which) * WARPGROUP < int(m.expand(m.mask).sum()):
        raise _error(
            m, "executes wgmma without the rest of its warpgroup",
            "Four consecutive warps, the first with an index divisible by 4, must execute wgmma "
            "together: launch a multiple of 128 threads, and let each warpgroup branch as a whole.",
        )  # fmt: skip
    return which


def same_in_warpgroup(m: Machine, value: Array, which: Array, what: str) -> Array:
    """Return, for each warpgroup, the value that all its threads pass.

    Raises:
        KernelError: threads of a warpgroup pass different values.
    """
    if value.shape[1] == 1:
        rows = np.repeat(np.broadcast_to(value, (m.n_blocks, 1)), per_block(m), axis=0)
        return rows[which, 0]
    lanes = by_warpgroup(m, value)[which]
    if (lanes != lanes[:, :1]).any():
        raise _error(
            m, f"passes a different {what} from the rest of its warpgroup",
            "All 128 threads of a warpgroup must pass the same value.",
        )  # fmt: skip
    return lanes[:, 0]


def _error(m: Machine, does: str, advice: str) -> KernelError:
    first = divmod(int(m.expand(m.mask).reshape(-1).argmax()), m.n_threads)
    text = f"Misused wgmma: {m.where()}\n  {m.thread_name(*first)} {does}.\n{advice}"
    return m.marked(KernelError(text), "wgmma")


# -- matrices -------------------------------------------------------------------------------------
# A function of the machine and warpgroup indices that returns the warpgroups' matrices and the
# indices of the 16-byte pieces of shared memory that hold them, of shape (warpgroups, …, …); the
# indices are None for matrices in registers.
Tiles = Callable[[Machine, Array], tuple[tensor_cores.Matrix | Array, Array | None]]


def operand_tiles(operand: Operand, form: Form, side: int, d: Decoder) -> Tiles:
    """Return a function that reads operand A (side 0) or B (side 1)."""
    shape = form.shape
    kind, rows = (shape.a, ROWS) if side == 0 else (shape.b, form.n)
    if isinstance(operand, Vector):
        held = matrix.checked(operand, 2 * shape.steps, lambda r: d.fetch(r, "b32"))
        return lambda m, which: (
            _made(_from_registers(m, held, shape, which), form, kind, side),
            None,
        )
    descriptor = d.fetch(operand, "b64")
    across = form.across[side]

    def read(m: Machine, which: Array) -> tuple[tensor_cores.Matrix | Array, Array]:
        words = same_in_warpgroup(m, descriptor(m), which, "descriptor")
        places = _places(m, words, which, rows, across)
        codes = _from_shared(m, places, across)
        return _made(codes.view(f"u{tensor_cores.WIDTHS[kind] // 8}"), form, kind, side), places

    return read


def _made(codes: Array, form: Form, kind: str, side: int) -> tensor_cores.Matrix | Array:
    """Return the matrix whose elements have the bit patterns `codes`, of shape (warpgroups, rows,
    K)."""
    if kind in matrix.SIGNS:
        return codes.view(f"{matrix.SIGNS[kind]}1")
    if side == 0:
        codes = codes.transpose(1, 2, 0)[..., None]  # (64, K, warpgroups, 1)
    else:
        codes = codes.transpose(2, 0, 1)[None]  # (1, K, warpgroups, n)
    made = tensor_cores.matrix(np.ascontiguousarray(codes), kind)
    return made._replace(values=-made.values) if form.minus[side] else made


def _from_registers(m: Machine, held: list[Fetch], shape: matrix.Shape, which: Array) -> Array:
    warps = [by_warpgroup(m, f(m))[which].reshape(-1, WARP) for f in held]
    rows = matrix.to_rows(warps, shape, 2).reshape(16, shape.k, len(which), 4)
    return rows.transpose(2, 3, 0, 1).reshape(len(which), ROWS, shape.k)


def _places(m: Machine, words: Array, which: Array, rows: int, across: bool) -> Array:
    """Return the indices of the 16-byte pieces of shared memory that hold the tiles, after
    swizzling."""
    different, place = np.unique(words, return_inverse=True)
    tables = [swizzles.pieces(int(word), rows, across) for word in different]
    offsets = np.stack(tables) - m.shared.base
    bad = (offsets < 0) | (offsets > m.shared.size_bytes - PIECE)
    if bad.any():
        _refuse_outside(m, tables, bad, which[place.reshape(-1) == bad.any(axis=(1, 2)).argmax()])
    if any(swizzles.decode(int(word)).base for word in different):
        raise _error(m, "passes a descriptor with a base offset", "Align the tile to 1,024 bytes.")
    blocks = (which // per_block(m) * m.shared.stride)[:, None, None]
    return np.asarray((offsets[place.reshape(-1)] + blocks) // PIECE)


def _from_shared(m: Machine, places: Array, across: bool) -> Array:
    """Return the bytes of the tiles in these 16-byte pieces, of shape (warpgroups, rows, bytes
    along K)."""
    found = m.shared.view(4, 4).take(places, axis=0)  # (warpgroups, pieces, pieces, 4 words)
    if not across:
        return found.view(np.uint8).reshape(len(places), -1, DEPTH)
    found = found.view(np.uint16).swapaxes(2, 3)  # (warpgroups, rows / 8, 8, 16 of K)
    return np.ascontiguousarray(found).reshape(len(places), -1, 16).view(np.uint8)


def _refuse_outside(m: Machine, tables: list[Array], bad: Array, which: Array) -> None:
    address = np.stack(tables)[bad][0]
    wrong = threads_of(m, which[:1])
    where = np.broadcast_to(np.uint32(address), m.shape)
    raise faults.slice_error(m, m.shared, "reads", where, wrong, PIECE)
