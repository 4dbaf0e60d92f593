"""Implement bulk copies (`cp.async.bulk`) and `st.async`, which can signal an mbarrier.

The addresses are checked when the instruction executes, not when the copy completes.
`tensor_copy.py` implements copies by tensor map.
"""

from __future__ import annotations

import numpy as np

from forgekit.vgpu.access import addressing, clusters, faults
from forgekit.vgpu.access.copies import NO_MBARRIER, AsyncOperation, End
from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine import Machine
from forgekit.vgpu.memory import Allocation
from forgekit.vgpu.opcodes import UnknownVariantError, counted, groups_left, opcode
from forgekit.vgpu.opcodes.access import address_of
from forgekit.vgpu.opcodes.decoder import Decoder, Step
from forgekit.vgpu.ptx import TYPE_BYTES, Instruction, Vector

ALIGN = 16  # alignment of addresses and sizes, in bytes: PTX ISA, "cp.async.bulk"
_SPACES = ("shared:cluster", "shared:cta", "global")


# -- bulk copies ----------------------------------------------------------------------------------
@opcode("cp.async.bulk")
def cp_async_bulk(ins: Instruction, d: Decoder) -> Step:
    parts = ins.opcode[3:]
    if not parts:
        raise UnknownVariantError("neither a source nor a target")
    if parts[0] == "commit_group":
        return lambda m: m.async_operations.commit(m.mask)
    if parts[0] == "wait_group":
        keep = groups_left(ins)
        read = "read" in parts
        return lambda m: m.async_operations.wait(m.mask, keep, read)
    if parts[0] == "prefetch":
        return lambda m: None
    spaces = [p for p in parts if p in _SPACES]
    known = {"mbarrier:complete_tx:bytes", "bulk_group", "multicast:cluster", "L2:cache_hint"}
    for part in parts:
        if part not in _SPACES and part not in known:
            raise UnknownVariantError(f".{part}")
    if len(spaces) != 2:
        raise UnknownVariantError("this combination of source and target")
    return _copy(ins, d, *spaces)


def _copy(ins: Instruction, d: Decoder, to: str, source: str) -> Step:
    """Execute `cp.async.bulk [to], [from], size[, [mbarrier]][, blocks][, policy]`."""
    signals = "mbarrier:complete_tx:bytes" in ins.opcode
    multicast = "multicast:cluster" in ins.opcode
    if multicast and not signals:
        raise UnknownVariantError("multicast without an mbarrier")
    count = 3 + signals + multicast + ("L2:cache_hint" in ins.opcode)
    operands = counted(ins, count)
    target_of, source_of = (
        address_of(operand, "global" if space == "global" else "shared", d)
        for operand, space in zip(operands[:2], (to, source), strict=True)
    )
    size_of = d.fetch(operands[2], "u32")
    mbarrier = address_of(operands[3], "shared", d) if signals else None
    several = d.fetch(operands[4], "b16") if multicast else None

    def start(m: Machine, mask: Array | None) -> None:
        full = m.expand(mask)
        sizes = np.broadcast_to(size_of(m), m.shape)
        at, into = source_of(m), target_of(m)
        _check_alignment(m, "copies from", source, at, sizes, full)
        _check_alignment(m, "copies to", to, into, sizes, full)
        begin = _end(m, source, "copies from", at, sizes, full)
        pieces = each_block(m, several(m), full) if several else [(full, None)]
        for who, rank in pieces:
            place = into if rank is None else clusters.mapped(into, rank)
            end = _end(m, to, "copies to", place, sizes, who)
            words = np.full(m.shape, NO_MBARRIER)
            if mbarrier is not None:
                where = mbarrier(m) if rank is None else clusters.mapped(mbarrier(m), rank)
                words = m.mbarriers.places("cluster", where, who)
            m.async_operations.start(
                AsyncOperation(m.pc, np.flatnonzero(who), sizes[who].astype(np.int64), end,
                       begin.part(who[full]), words[who])
            )  # fmt: skip

    return d.guarded(start)


def each_block(m: Machine, bits: Array, full: Array) -> list[tuple[Array, Array]]:
    """Return (mask of the copying threads, block rank) for each block of the cluster that receives
    a copy. bits: each thread's mask of receiving blocks."""
    wide = np.broadcast_to(bits, m.shape).astype(np.int64)
    ranks = [(full & (wide >> r & 1 == 1), np.array([[r]])) for r in range(16)]
    return [(who, rank) for who, rank in ranks if who.any()]


def _check_alignment(
    m: Machine, kind: str, space: str, address: Array, sizes: Array, full: Array
) -> None:
    """Raise an error unless addresses and sizes are multiples of 16 bytes."""
    low = np.broadcast_to(address, m.shape) & address.dtype.type(ALIGN - 1)
    wrong = full & (low != 0)
    if wrong.any():
        inside = address if space == "global" else address & address.dtype.type(0xFFFFFF)
        name = "global" if space == "global" else "shared"
        raise faults.misaligned(m, name, kind, inside, wrong, ALIGN)
    wrong = full & (sizes % ALIGN != 0)
    if wrong.any():
        raise faults.uneven_size(m, kind, sizes, wrong, ALIGN)


def _end(m: Machine, space: str, kind: str, address: Array, sizes: Array, full: Array) -> End:
    """Return the source or target of the copies after checking their bounds."""
    if space == "global":
        return _in_global(m, kind, address, sizes, full)
    return in_shared(m, kind, address, sizes, full)


def in_shared(m: Machine, kind: str, address: Array, sizes: Array, full: Array) -> End:
    """Return the source or target in the cluster's shared memory after checking its bounds."""
    rank, within = clusters.split(m, address)
    owner = addressing.cluster_rows(m, kind, address, rank, full, ALIGN)
    offset = within.astype(np.int64) - m.shared.base
    bad = full & ((offset < 0) | (offset + sizes > m.shared.size_bytes))
    if bad.any():
        raise faults.slice_error(m, m.shared, kind, within, bad, int(sizes[bad][0]))
    return End(np.broadcast_to(offset + owner * m.shared.stride, m.shape)[full])


def _in_global(m: Machine, kind: str, address: Array, sizes: Array, full: Array) -> End:
    wide = np.broadcast_to(address, m.shape)
    found: list[Allocation] = []
    starts = np.zeros(int(np.count_nonzero(full)), np.int64)
    writes = kind == "copies to"
    for i, where in enumerate(np.flatnonzero(full).tolist()):
        at, size = int(wide.flat[where]), int(sizes.flat[where])
        allocation = m.memory.find(at)
        one = m.only(where)
        if allocation is None:
            raise faults.unmapped(m, kind, address, one, size)
        starts[i] = at - allocation.address
        if not 0 <= starts[i] <= allocation.size_bytes - size:
            raise faults.out_of_bounds(m, kind, address, one, size)
        if writes and allocation.read_only:
            raise faults.read_only(m, "writes", address, one, size)
        found.append(allocation)
    return End(starts, found)


# -- st.async -------------------------------------------------------------------------------------
@opcode("st.async")
def st_async(ins: Instruction, d: Decoder) -> Step:
    """Execute `st.async[.weak].shared::cluster.mbarrier::complete_tx::bytes[.vec].type [a], b,
    [m]`."""
    for part in ins.opcode[2:-1]:
        if part not in ("weak", "shared:cluster", "mbarrier:complete_tx:bytes", "v2", "v4"):
            raise UnknownVariantError(f".{part}")
    kind = ins.opcode[-1]
    if kind not in TYPE_BYTES or TYPE_BYTES[kind] not in (4, 8):
        raise UnknownVariantError(f".{kind}")
    elem = TYPE_BYTES[kind]
    source = counted(ins, 3)[1]
    items = source.items if isinstance(source, Vector) else (source,)
    fetches = [d.fetch(item, f"b{8 * elem}") for item in items]
    if len(fetches) != next((int(p[1:]) for p in ins.opcode if p in ("v2", "v4")), 1):
        raise UnknownVariantError(f"{len(fetches)} values")
    size = elem * len(fetches)
    address = address_of(ins.operands[0], "shared", d)
    mbarrier = address_of(ins.operands[2], "shared", d)

    def start(m: Machine, mask: Array | None) -> None:
        full = m.expand(mask)
        (t,) = addressing.targets(m, "cluster", "writes", address(m), mask, elem, len(fetches))
        start = np.broadcast_to(t.places, m.shape)[full] * size
        words = m.mbarriers.places("cluster", mbarrier(m), mask)[full]
        if (words * 8 // m.shared.stride != start // m.shared.stride).any():
            raise faults.apart(m, full)
        columns = [np.broadcast_to(f(m), m.shape)[full] for f in fetches]
        values = np.ascontiguousarray(np.stack(columns, axis=1)).view(np.uint8)
        sizes = np.full(len(start), size)
        m.async_operations.start(
            AsyncOperation(m.pc, np.flatnonzero(full), sizes, End(start), None, words, values)
        )

    return d.guarded(start)
