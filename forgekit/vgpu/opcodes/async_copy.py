"""Implement `cp.async`: copies from global to shared memory that complete as late as the rules
allow.

The virtual GPU records each copy with its thread's group number, and performs it when that thread
waits for the group. A kernel that reads shared memory before it waits therefore reads the old
content, as can happen on a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forgekit.vgpu.access import addressing
from forgekit.vgpu.batch import Batch
from forgekit.vgpu.floats import Array
from forgekit.vgpu.listeners import Access
from forgekit.vgpu.machine import Machine
from forgekit.vgpu.opcodes import UnknownVariantError, counted, expect, groups_left, opcode
from forgekit.vgpu.opcodes.access import address_of
from forgekit.vgpu.opcodes.decoder import Decoder, Fetch, Step
from forgekit.vgpu.ptx import Immediate, Instruction, Register

_WORD = 4  # bytes; a copy writes 4, 8 or 16 bytes, and reads at most that many


@dataclass
class _Copy:
    """A copy in flight.

    left: mask of the threads for which the copy is not complete; group: the copy's group number for
    each thread, or 0 until the thread commits the copy.
    """

    target: Array
    source: Array
    size: int
    count: Array  # bytes to read; the copy writes zeros for the remaining bytes
    left: Array
    group: Array
    pc: int
    moved: bool = False  # True if an adversarial schedule has already moved the data


class _Pending:
    """All copies in flight in a batch."""

    def __init__(self) -> None:
        self.copies: list[_Copy] = []
        self.committed = np.zeros((1, 1), np.int64)  # committed groups per thread


def _pending(m: Machine) -> _Pending:
    state = m.state.setdefault("cp.async", _Pending())
    assert isinstance(state, _Pending)
    return state


def in_flight(m: Batch) -> list[tuple[int, Array]]:
    """Return, for each copy in flight, the index of its instruction and a full mask of the threads
    that have not waited for it."""
    pending = m.state.get("cp.async")
    copies = pending.copies if isinstance(pending, _Pending) else []
    return [(copy.pc, copy.left) for copy in copies if copy.left.any()]


@opcode("cp.async")
def cp_async(ins: Instruction, d: Decoder) -> Step:
    if "commit_group" in ins.opcode:
        return _commit
    if "wait_all" in ins.opcode:
        return lambda m: wait(m, m.mask, 0, everything=True)
    if "wait_group" in ins.opcode:
        keep = groups_left(ins)
        return lambda m: wait(m, m.mask, keep, everything=False)
    return _copy(ins, d)


def _copy(ins: Instruction, d: Decoder) -> Step:
    """Execute `cp.async [to], [from], size[, bytes to read | skip][, policy]`."""
    size = expect(counted(ins, 3, 4, 5)[2], Immediate, "number").bits
    if size not in (4, 8, 16):
        raise UnknownVariantError(f"{size} bytes, not 4, 8 or 16")
    words = size // _WORD
    target = address_of(ins.operands[0], "shared", d)
    source = address_of(ins.operands[1], "global", d)
    count = _bytes_to_read(ins, d, size)
    everything = np.array([[size]], np.uint32)

    def start(m: Machine, mask: Array | None) -> None:
        to, at = target(m), source(m)
        n = count(m) if count else everything
        # Check the addresses now, so that an error names the instruction that starts the copy.
        into = addressing.targets(m, "shared", "copies to", to, mask, _WORD, words)
        whole = _and(mask, n == size)
        source_targets = []
        if whole is None or whole.any():
            source_targets = addressing.targets(m, "global", "copies from", at, whole, _WORD, words)
        group = np.zeros(m.shape, np.int64)
        copy = _Copy(to, at, size, n, m.expand(mask).copy(), group, m.pc)
        reading = _and(mask, n > 0)
        m.notify("async load", "global", at, reading, size, source_targets, copy=copy)
        m.notify("async store", "shared", to, mask, size, into, copy=copy)
        if m.adversary is not None and m.adversary.eager:
            addressing.store(into, _read(m, copy, copy.left))
            copy.moved = True
        _pending(m).copies.append(copy)

    return d.guarded(start)


def _bytes_to_read(ins: Instruction, d: Decoder, size: int) -> Fetch | None:
    """Return a function that reads the number of bytes to copy, or None for all `size` bytes; the
    copy writes zeros for the remaining bytes."""
    operands = list(ins.operands[3:])
    if operands and any(part.endswith("cache_hint") for part in ins.opcode):
        operands.pop()
    if not operands:
        return None
    if len(operands) > 1:
        raise UnknownVariantError(f"{len(ins.operands)} operands")
    operand = operands[0]
    if isinstance(operand, Register) and d.register_type(operand.name) == "pred":
        skip = d.fetch(operand, "pred")
        return lambda m: np.where(skip(m), np.uint32(0), np.uint32(size))
    return d.fetch(operand, "u32")


def _and(mask: Array | None, more: Array) -> Array | None:
    if more.all():
        return mask
    return more if mask is None else mask & more


def _commit(m: Machine) -> None:
    pending = _pending(m)
    now = np.broadcast_to(pending.committed, m.shape) + m.expand(m.mask)
    pending.committed = now
    for copy in pending.copies:
        fresh = copy.left & (copy.group == 0) & m.expand(m.mask)
        if fresh.any():
            copy.group = np.where(fresh, now, copy.group)


def wait(m: Machine, mask: Array | None, keep: int, *, everything: bool) -> None:
    """Complete the copies of the threads in `mask`, except those in each thread's newest `keep`
    groups.

    everything: also complete copies that the thread has not committed to a group.
    """
    pending = _pending(m)
    waiting = m.expand(mask)
    for copy in pending.copies:
        due = copy.left & waiting
        if not everything:
            due &= (copy.group > 0) & (copy.group <= pending.committed - keep)
        if due.any():
            _arrive(m, copy, due)
            copy.left &= ~due
    pending.copies = [c for c in pending.copies if c.left.any()]


def _arrive(m: Machine, copy: _Copy, due: Array) -> None:
    """Complete a copy for the threads in `due`; errors and events refer to the copy's source
    line."""
    m.pc, pc = copy.pc, m.pc
    words = copy.size // _WORD
    into = addressing.targets(m, "shared", "writes", copy.target, due, _WORD, words)
    if not copy.moved:
        addressing.store(into, _read(m, copy, due))
    access = Access("async store", "shared", copy.target, due, copy.size, into, copy=copy)
    for listener in m.listeners:
        listener.on_async_done(m, access)
    m.pc = pc


def _read(m: Machine, copy: _Copy, due: Array) -> list[Array]:
    """Return the words that the threads in `due` copy."""
    count = np.broadcast_to(copy.count, m.shape)
    words = [np.zeros(m.shape, np.uint32) for _ in range(copy.size // _WORD)]
    whole = due & (count >= copy.size)
    if whole.any():
        found = addressing.targets(m, "global", "reads", copy.source, whole, _WORD, len(words))
        read = addressing.load(found, len(words))
        words = [np.where(whole, value, np.uint32(0)) for value in read]
    for byte in range(copy.size):
        part = due & ~whole & (count > byte)
        if part.any():
            at = copy.source + np.uint64(byte)
            (one,) = addressing.load(addressing.targets(m, "global", "reads", at, part, 1, 1), 1)
            shifted = one.astype(np.uint32) << np.uint32(8 * (byte % _WORD))
            k = byte // _WORD
            words[k] = np.where(part, words[k] | shifted, words[k])
    return words
