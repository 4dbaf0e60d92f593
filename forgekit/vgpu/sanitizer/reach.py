"""Map an access to the units of memory that it touches, and to the threads that touch them."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from forgekit.vgpu.access.addressing import Target
from forgekit.vgpu.batch import Batch
from forgekit.vgpu.code import Code
from forgekit.vgpu.floats import Array
from forgekit.vgpu.listeners import Access
from forgekit.vgpu.ptx import Instruction


class Reach(NamedTuple):
    """Thread `who[i]` touches `units[i]`; who: thread numbers in the batch, ascending."""

    units: Array
    who: Array
    values: Array | None
    each: int


def reach(
    m: Batch, access: Access, target: Target, unit: int, shift: int = 0, pc: int | None = None
) -> Reach:
    """Return the units that threads touch in the memory of one target, without the parts of a
    vector load that no instruction reads: the compiler loads a vector across a gap.

    unit: bytes per unit; shift: the offset in bytes of an access from the start of its first unit;
    pc: the accessing instruction, if it is not the current one.
    """
    places = target.places
    sel = None
    if target.mask is None:
        units = np.broadcast_to(places, m.shape).reshape(-1)
        who = _numbers(m.n_blocks * m.n_threads)
    else:
        sel = np.flatnonzero(np.broadcast_to(target.mask, m.shape))
        units, who = np.broadcast_to(places, m.shape).reshape(-1)[sel], sel.astype(np.int32)
    values = None
    if access.values is not None and access.kind == "store":
        flat = [np.broadcast_to(v, m.shape).reshape(-1) for v in access.values]
        flat = flat if sel is None else [v[sel] for v in flat]
        values = flat[0] if len(flat) == 1 else np.stack(flat, axis=1).reshape(-1)
    offset = target.skipped + shift
    width = target.inside or access.width
    each = -(-width // unit)
    if offset or width % unit:
        units = (units * width + offset) // unit
        if each > 1:
            units = (units[:, None] + np.arange(each)).reshape(-1)
    elif each > 1:
        units = (units[:, None] * each + np.arange(each)).reshape(-1)
    if each > 1:
        who = np.repeat(who, each)
    if values is not None and len(values) != len(who):  # a unit is not as wide as a register
        values = np.ascontiguousarray(values).view(f"u{unit}") if unit <= 8 else None
        values = values if values is not None and len(values) == len(who) else None
    parts = m.program.unread_parts.get(m.pc if pc is None else pc)
    if parts and access.kind == "load" and not (offset or width % unit or target.inside):
        size = width // len(parts)  # bytes per part
        kept = [any(parts[u * unit // size : -(-(u + 1) * unit // size)]) for u in range(each)]
        units, who = (a.reshape(-1, each)[:, kept].reshape(-1) for a in (units, who))
        each = sum(kept)
    return Reach(units, who, values, max(each, 1))


def bytes_reached(who: Array, start: Array, size: Array, unit: int) -> Reach:
    """Return the units that thread `who[i]` touches with `size[i]` bytes from byte `start[i]`."""
    first = start // unit
    count = (start + size - 1) // unit + 1 - first
    step = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return Reach(np.repeat(first, count) + step, np.repeat(who, count), None, 1)


@functools.lru_cache(maxsize=8)
def _numbers(n: int) -> Array:
    return np.arange(n, dtype=np.int32)


_ORDERING = frozenset({"volatile", "acquire", "release", "acq_rel", "mmio", "sc"})
_ORDERED = _ORDERING | {"relaxed"}


def is_ordered(instruction: Instruction) -> bool:
    """Return True if an access is volatile or ordered, so that it cannot race with another such
    access."""
    return instruction.opcode[0] in ("ld", "st") and not _ORDERED.isdisjoint(instruction.opcode)


def is_relaxed(program: Code, pc: int) -> bool:
    """Return True if an access has no ordering semantics and the kernel has no fence, so that it
    orders no other access."""
    return not program.has_fence and _ORDERING.isdisjoint(program.instructions[pc].opcode)
