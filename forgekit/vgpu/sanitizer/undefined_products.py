"""What undefined bytes of a `wgmma`'s operands in shared memory make of its accumulators."""

from __future__ import annotations

import numpy as np

from forgekit.vgpu.batch import Batch
from forgekit.vgpu.floats import Array
from forgekit.vgpu.listeners import Product
from forgekit.vgpu.machine.warpgroups import (
    ROWS,
    WARPGROUP,
    count,
    first_threads,
    threads_of,
    to_registers,
)
from forgekit.vgpu.memory.swizzles import PIECE
from forgekit.vgpu.sanitizer.taints import Taints, pack

_BYTES = 1 << 20  # more than a block's shared memory has


def take(m: Batch, product: Product, undefined: Array, taints: Taints) -> None:
    """Undefined rows of A, and of B, go to rows, and columns, of the accumulators.

    undefined: bits of each byte of the batch's shared memory.
    """
    found = [_rows(m, undefined, places) for places in product.operands if places is not None]
    if not any(rows.any() for rows, _ in found):
        return
    columns = found[-1][0]
    rows = found[0][0] if len(found) == 2 else np.zeros((len(columns), ROWS), bool)
    some = rows.T[:, :, None] | columns[None]  # (64, warpgroups, columns)
    half = len(product.accumulators) * 2 < product.columns  # two to a register
    whole = np.zeros((ROWS, count(m), product.columns), np.int16 if half else np.int32)
    whole[:, product.which] = -some.astype(whole.dtype)
    offset = _BYTES - np.maximum.reduce([left for _, left in found])
    threads = threads_of(m, product.which)
    origin = np.zeros(m.shape, np.int64)
    read = pack(m.pc, first_threads(m, product.which), offset)
    origin[threads] = np.repeat(read, WARPGROUP)
    for register, bits in zip(product.accumulators, to_registers(m, whole), strict=True):
        old = taints.registers.get(register)
        if old is not None:
            taints.put(register, bits | old.bits, np.maximum(origin, old.origin), threads)
        elif bits.any():
            taints.put(register, bits, origin, threads)


def _rows(m: Batch, undefined: Array, places: Array) -> tuple[Array, Array]:
    """Of an operand: which rows have undefined bytes, (warpgroups, rows); and `_BYTES` less the
    first such byte of the block's shared memory, 0 where there is none."""
    bits = undefined.reshape(-1, PIECE)[places] != 0
    if places.shape[2] == 2:
        rows = bits.any(axis=(2, 3))
    else:  # eight rows of two bytes in a piece
        rows = bits.reshape(*places.shape, 8, 2).any(axis=(2, 4)).reshape(len(places), -1)
    within = places * PIECE % m.shared.stride
    left = np.where(bits.any(axis=3), _BYTES - within, 0)
    return rows, left.max(axis=(1, 2))
