"""Implement warp-wide instructions: shuffles, votes, reductions, matches and elections."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine import WARP, Machine, pack_lanes
from forgekit.vgpu.opcodes import UnknownVariantError, allow, counted, one_of, opcode
from forgekit.vgpu.opcodes.decoder import Decoder, Step
from forgekit.vgpu.opcodes.floating import extremum
from forgekit.vgpu.ptx import Instruction, Operand, Pair

_LANES = np.arange(WARP, dtype=np.uint32)
_EVERY_LANE = np.full((1, 1, 1), 0xFFFFFFFF, np.uint32)


def warp_step(
    d: Decoder, members: Operand | None, run: Callable[[Machine], None], warps: int = 1
) -> Step:
    """Return a step that calls `run` when all lanes in the member mask have arrived.

    warps: the number of consecutive warps that run together. Threads whose guard is false skip the
    instruction, as if they branched around it.
    """
    fetch = d.fetch(members, "b32") if members is not None else None
    guard = d.guard()

    def step(m: Machine) -> bool:
        named = fetch(m) if fetch else None
        if m.park_incomplete(named, warps):
            return True
        for listener in m.listeners:
            listener.on_warp_sync(m, named)
        run(m)
        return False

    if guard is None:
        return step

    def guarded(m: Machine) -> bool:
        taking = m.active(guard(m))
        assert taking is not None
        if not taking.any():
            return False
        rest = m.expand(m.mask) & ~m.expand(taking)
        if rest.any():
            m.join(m.pc + 1, rest)
            m.narrow(taking)
            m.protected = m.live_elsewhere()
        if not step(m):
            m.join(m.pc + 1, m.mask)
        return True

    return guarded


def _by_warp(m: Machine, value: Array) -> Array:
    """Reshape a value to (blocks or 1, warps or 1, 32 or 1); the last axis is the lane."""
    if value.shape[1] == 1:
        return value[:, :, None]
    return value.reshape(value.shape[0], -1, WARP)


def _flat(value: Array) -> Array:
    """Invert `_by_warp`: reshape a value to (blocks or 1, threads or 1)."""
    return value.reshape(value.shape[0], -1)


def _active_lanes(m: Machine) -> Array:
    """Return the mask of the running group's lanes, of shape (blocks, warps, 32)."""
    return m.expand(m.mask).reshape(m.n_blocks, -1, WARP)


def _member_bits(m: Machine, members: Array | None) -> Array:
    """Return the member masks as bits, of shape (blocks or 1, warps or 1, 32 or 1)."""
    return _EVERY_LANE if members is None else _by_warp(m, members)


@opcode("shfl")
def shfl(ins: Instruction, d: Decoder) -> Step:
    """Execute `shfl.sync.mode.b32 d|p, a, b, c, members`."""
    mode = one_of(ins, "mode", "idx", "up", "down", "bfly")
    target, a, b, c, members = counted(ins, 5)
    result, valid = (target.first, target.second) if isinstance(target, Pair) else (target, None)
    value, offset, clamp = d.fetch(a, "b32"), d.fetch(b, "u32"), d.fetch(c, "u32")
    members_of = d.fetch(members, "b32")
    write = d.writer(result, "b32")
    write_valid = d.writer(valid, "pred")

    def run(m: Machine) -> None:
        x, n, limit = value(m), offset(m), clamp(m)
        source, inside = source_lane(mode, _by_warp(m, n), _by_warp(m, limit))
        for listener in m.listeners:
            listener.on_shuffle(m, source, members_of(m))
        if valid is not None:
            write_valid(m, _flat(np.broadcast_to(inside, (*inside.shape[:2], WARP))))
        if x.shape[1] == 1:  # all lanes hold the same value
            write(m, x)
            return
        lanes = _by_warp(m, x)
        if source.shape[:2] == (1, 1):  # the pattern is usually the same in every warp
            write(m, _flat(lanes.take(source[0, 0], axis=2)))
            return
        shape = np.broadcast_shapes(lanes.shape, (*source.shape[:2], WARP))
        taken = np.take_along_axis(
            np.broadcast_to(lanes, shape), np.broadcast_to(source, shape), axis=2
        )
        write(m, _flat(taken))

    return warp_step(d, members, run)


def source_lane(mode: str, b: Array, c: Array) -> tuple[Array, Array]:
    """Return each lane's source lane, and a mask of the lanes whose source lane is in range (PTX
    ISA, "shfl.sync")."""
    lane = _LANES[None, None]
    offset, clamp = b & np.uint32(31), c & np.uint32(31)
    segment = (c >> np.uint32(8)) & np.uint32(31)
    last = (lane & segment) | (clamp & ~segment)
    first = lane & segment
    signed = lane.astype(np.int64)
    if mode == "up":
        source = signed - offset
        inside = source >= last
    elif mode == "down":
        source = signed + offset
        inside = source <= last
    elif mode == "bfly":
        source = signed ^ offset
        inside = source <= last
    else:
        source = (first | (offset & ~segment)).astype(np.int64)
        inside = source <= last
    return np.where(inside, source, signed), inside


@opcode("vote")
def vote(ins: Instruction, d: Decoder) -> Step:
    mode = one_of(ins, "mode", "ballot", "any", "all", "uni")
    target, source, *rest = counted(ins, 3 if "sync" in ins.opcode else 2)
    members = rest[0] if rest else None
    predicate = d.fetch(source, "pred")
    write = d.writer(target, "b32" if mode == "ballot" else "pred")

    def run(m: Machine) -> None:
        lanes = _active_lanes(m)
        named = _member_bits(m, members_of(m) if members_of else None)
        holds = np.broadcast_to(predicate(m), m.shape).reshape(lanes.shape)
        yes = pack_lanes(lanes & holds)[..., None] & named
        no = pack_lanes(lanes & ~holds)[..., None] & named
        if mode == "ballot":
            result = yes
        elif mode == "any":
            result = yes != 0
        elif mode == "all":
            result = no == 0
        else:
            result = (yes == 0) | (no == 0)
        write(m, _spread(result))

    members_of = d.fetch(members, "b32") if members is not None else None
    return warp_step(d, members, run)


def _spread(result: Array) -> Array:
    """Reshape a result of shape (blocks, warps, 1 or 32) to (blocks, threads)."""
    if result.shape[2] == 1:
        return np.repeat(result[..., 0], WARP, axis=1)
    return _flat(result)


@opcode("activemask")
def activemask(ins: Instruction, d: Decoder) -> Step:
    write, guard = d.writer(counted(ins, 1)[0], "b32"), d.guard()

    def step(m: Machine) -> None:
        mask = m.active(guard(m)) if guard else m.mask
        lanes = m.expand(mask).reshape(m.n_blocks, -1, WARP)
        write(m, _spread(pack_lanes(lanes)[..., None]))

    return step


def _fold(ufunc: np.ufunc) -> Callable[[Array], Array]:
    return lambda x: ufunc.reduce(x, axis=2, dtype=x.dtype, keepdims=True)


# Reductions over the lanes of a warp, with their identity elements.
_INTEGER_FOLDS: dict[str, tuple[Callable[[Array], Array], Callable[[np.dtype], float]]] = {
    "add": (_fold(np.add), lambda t: 0),
    "min": (_fold(np.minimum), lambda t: np.iinfo(t).max),
    "max": (_fold(np.maximum), lambda t: np.iinfo(t).min),
    "and": (_fold(np.bitwise_and), lambda t: np.iinfo(t).max),
    "or": (_fold(np.bitwise_or), lambda t: 0),
    "xor": (_fold(np.bitwise_xor), lambda t: 0),
}


def _float_extremum(
    operation: str, parts: tuple[str, ...]
) -> tuple[Callable[[Array], Array], Callable[[np.dtype], float]]:
    """Return min or max, and its identity element. NaNs are skipped unless all values are NaN or
    the opcode has `.NaN` (PTX ISA, "redux.sync")."""
    of_two, edge = extremum(operation, "f32", "NaN" in parts), np.inf
    neutral = (edge if operation == "min" else -edge) if "NaN" in parts else np.nan

    def reduce(x: Array) -> Array:
        return functools.reduce(of_two, np.split(x, x.shape[2], axis=2))

    return reduce, lambda t: neutral


@opcode("redux")
def redux(ins: Instruction, d: Decoder) -> Step:
    """Execute `redux.sync`: compute a sum, minimum, maximum or bitwise operation over the lanes in
    the member mask."""
    kind = ins.opcode[-1]
    operation = one_of(ins, "operation", "add", "min", "max", "and", "or", "xor")
    allowed = ("min", "max") if kind == "f32" else ("add", "min", "max")
    if kind not in ("u32", "s32", "b32", "f32") or (kind != "b32" and operation not in allowed):
        raise UnknownVariantError(f".{operation}.{kind}")
    allow(ins, "sync", operation, kind, *(("abs", "NaN") if kind == "f32" else ()))
    counted(ins, 3)
    value, members = d.fetch(ins.operands[1], kind), d.fetch(ins.operands[2], "b32")
    write = d.writer(ins.operands[0], kind)
    reduce, identity = (
        _float_extremum(operation, ins.opcode) if kind == "f32" else _INTEGER_FOLDS[operation]
    )

    def run(m: Machine) -> None:
        lanes, named = _active_lanes(m), _member_bits(m, members(m))
        x = np.broadcast_to(value(m), m.shape).reshape(lanes.shape)
        x = np.abs(x) if "abs" in ins.opcode else x
        empty = x.dtype.type(identity(x.dtype))
        result = np.broadcast_to(empty, (*lanes.shape[:2], 1))
        for one in _distinct(lanes, named):  # lanes of one warp may have different member masks
            within = lanes & (one >> _LANES & np.uint32(1)).astype(bool)
            total = reduce(np.where(within, x, empty))
            result = np.where(named == one, total, result)
        write(m, _spread(result))

    return warp_step(d, ins.operands[2], run)


def _distinct(lanes: Array, named: Array) -> Array:
    """Return the distinct member masks of the running lanes."""
    if named.size == 1:
        return named.reshape(-1)
    return np.unique(np.broadcast_to(named, lanes.shape)[lanes])


@opcode("match")
def match(ins: Instruction, d: Decoder) -> Step:
    """Execute `match.any` (each lane finds the lanes with the same value) or `match.all` (test
    whether all lanes have the same value)."""
    kind = ins.opcode[-1]
    target = counted(ins, 3)[0]
    one_of(ins, "mode", "any", "all")
    if kind not in ("b32", "b64"):
        raise UnknownVariantError(f".{kind}")
    result, agreed = (target.first, target.second) if isinstance(target, Pair) else (target, None)
    value, members = d.fetch(ins.operands[1], kind), d.fetch(ins.operands[2], "b32")
    write, write_agreed = d.writer(result, "b32"), d.writer(agreed, "pred")

    def run(m: Machine) -> None:
        lanes, named = _active_lanes(m), _member_bits(m, members(m))
        x = np.broadcast_to(value(m), m.shape).reshape(lanes.shape)
        same = pack_lanes((x[..., :, None] == x[..., None, :]) & lanes[..., None, :]) & named
        if "any" in ins.opcode:
            write(m, _flat(same))
            return
        everyone = pack_lanes(lanes)[..., None] & named
        equal = same == everyone
        write(m, _flat(np.where(equal, everyone, np.uint32(0))))
        write_agreed(m, _flat(equal))

    return warp_step(d, ins.operands[2], run)


@opcode("elect")
def elect(ins: Instruction, d: Decoder) -> Step:
    """Execute `elect.sync d|p, members`: elect the lowest lane in the member mask."""
    target = counted(ins, 2)[0]
    if not isinstance(target, Pair):
        raise UnknownVariantError("no predicate")
    members = d.fetch(ins.operands[1], "b32")
    write, write_leader = d.writer(target.first, "b32"), d.writer(target.second, "pred")

    def run(m: Machine) -> None:
        named = pack_lanes(_active_lanes(m))[..., None] & _member_bits(m, members(m))
        lowest = named & (~named + np.uint32(1))
        below = np.maximum(lowest, 1) - np.uint32(1)
        leader = np.bitwise_count(below).astype(np.uint32)
        write(m, _spread(leader))
        write_leader(m, _flat(np.broadcast_to(leader, (*named.shape[:2], WARP)) == _LANES))

    return warp_step(d, ins.operands[1], run)
