"""Implement `mbarrier`, barrier objects in shared memory; see `forgekit.vgpu.machine.mbarriers`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine import Machine
from forgekit.vgpu.machine.mbarriers import unpack
from forgekit.vgpu.opcodes import Compute, UnknownVariantError, allow, async_copy, counted, opcode
from forgekit.vgpu.opcodes.access import address_of, space_of
from forgekit.vgpu.opcodes.decoder import Decoder, Step
from forgekit.vgpu.ptx import Address, Instruction, Operand, Register

# called with the machine, the mask of active threads, and the indices of their mbarriers' words
Action = Callable[[Machine, Array, Array], None]


def _space(ins: Instruction) -> str:
    space = space_of(ins)
    if space not in ("shared", "cluster", "generic"):
        raise UnknownVariantError(f".{space}")
    return space


def _step(ins: Instruction, d: Decoder, operand: Operand, action: Action) -> Step:
    """Return a step that finds the mbarrier of each active thread and calls `action`."""
    space = _space(ins)
    address = address_of(operand, space, d)

    def act(m: Machine, mask: Array | None) -> None:
        words = m.mbarriers.places(space, address(m), mask)
        action(m, m.expand(mask), words)

    return d.guarded(act)


def _notify(m: Machine, what: str, who: Array, words: Array) -> None:
    for listener in m.listeners:
        listener.on_mbarrier(m, what, who, words)


def _of(m: Machine, value: Array, who: Array) -> Array:
    return np.broadcast_to(value, m.shape)[who].astype(np.int64)


@opcode("mbarrier.init")
def init(ins: Instruction, d: Decoder) -> Step:
    count = d.fetch(counted(ins, 2)[1], "u32")

    def action(m: Machine, who: Array, words: Array) -> None:
        m.mbarriers.init(words[who], _of(m, count(m), who))
        _notify(m, "init", who, words)

    return _step(ins, d, ins.operands[0], action)


@opcode("mbarrier.inval")
def inval(ins: Instruction, d: Decoder) -> Step:
    def action(m: Machine, who: Array, words: Array) -> None:
        m.mbarriers.invalidate(words[who])
        _notify(m, "inval", who, words)

    return _step(ins, d, counted(ins, 1)[0], action)


@opcode("mbarrier.expect_tx", "mbarrier.complete_tx")
def expect_tx(ins: Instruction, d: Decoder) -> Step:
    """Execute `mbarrier.expect_tx` or `mbarrier.complete_tx`: increase the number of expected
    bytes, or decrease it by the number of bytes that have arrived."""
    amount = d.fetch(counted(ins, 2)[1], "u32")
    sign = 1 if "expect_tx" in ins.opcode else -1

    def action(m: Machine, who: Array, words: Array) -> None:
        tx = sign * _of(m, amount(m), who)
        _notify(m, "expect", who, words)
        m.mbarriers.change(words[who], np.zeros_like(tx), tx)

    return _step(ins, d, ins.operands[0], action)


@opcode("mbarrier.arrive", "mbarrier.arrive_drop")
def arrive(ins: Instruction, d: Decoder) -> Step:
    """Execute `mbarrier.arrive[_drop][.expect_tx|.noComplete] state|_, [a][, count or bytes]`."""
    operands = counted(ins, 1, 2, 3)
    state: Operand = Register("_")
    if not isinstance(operands[0], Address):
        state, *operands = operands  # type: ignore[assignment]
    if not 1 <= len(operands) <= 2:
        raise UnknownVariantError(f"{len(ins.operands)} operands")
    expects = "expect_tx" in ins.opcode
    amount = d.fetch(operands[1], "u32") if len(operands) > 1 else None
    drop, ends = "arrive_drop" in ins.opcode, "noComplete" not in ins.opcode
    if expects and amount is None:
        raise UnknownVariantError("expect_tx without a number of bytes")
    keep = isinstance(state, Register) and state.name != "_"
    write = d.writer(state, "b64") if keep else None

    def action(m: Machine, who: Array, words: Array) -> None:
        ones = np.ones(int(np.count_nonzero(who)), np.int64)
        given = ones if amount is None else _of(m, amount(m), who)
        count, tx = (ones, given) if expects else (given, np.zeros_like(ones))
        _notify(m, "arrive", who, words)
        old = m.mbarriers.change(words[who], count, tx, drop=drop, ends=ends)
        if write is not None:
            states = np.zeros(m.shape, np.uint64)
            states[who] = old
            write(m, states)

    return _step(ins, d, operands[0], action)


@opcode("cp.async.mbarrier.arrive")
def arrive_after_copies(ins: Instruction, d: Decoder) -> Step:
    """Execute `cp.async.mbarrier.arrive.noinc [a]`: arrive when all earlier copies of the thread
    have completed.

    On the virtual GPU, the copies complete at this instruction, as they may on a GPU.
    """
    allow(ins, "async", "mbarrier", "arrive", "noinc", "shared", "shared:cta", "b64")
    if "noinc" not in ins.opcode:
        raise UnknownVariantError("without .noinc")

    def action(m: Machine, who: Array, words: Array) -> None:
        async_copy.wait(m, who, 0, everything=True)
        _notify(m, "arrive", who, words)
        ones = np.ones(int(np.count_nonzero(who)), np.int64)
        m.mbarriers.change(words[who], ones, np.zeros_like(ones))

    return _step(ins, d, counted(ins, 1)[0], action)


@opcode("mbarrier.pending_count")
def pending_count(ins: Instruction, d: Decoder) -> Compute:
    return Compute(lambda state: unpack(state).pending.astype(np.uint32), ("b64",), "u32")


@opcode("mbarrier.test_wait", "mbarrier.try_wait")
def wait(ins: Instruction, d: Decoder) -> Step:
    """Execute `mbarrier.try_wait[.parity] p, [a], state or parity[, time]`: test whether the phase
    has ended.

    Threads whose phase has not ended sleep. They receive `false` only if no thread could otherwise
    make progress, or in an adversarial schedule. The same applies to `test_wait`, because a GPU
    does not guarantee when a thread continues.
    """
    space, by_parity = _space(ins), "parity" in ins.opcode
    counted(ins, 3, 4)  # the optional fourth operand is a time limit
    address = address_of(ins.operands[1], space, d)
    asked = d.fetch(ins.operands[2], "u32" if by_parity else "b64")
    write = d.writer(ins.operands[0], "pred")

    def ask(m: Machine, mask: Array | None) -> bool:
        who = m.expand(mask)
        words = m.mbarriers.places(space, address(m), mask)
        phase = np.zeros(m.shape, np.int64)
        phase[who] = unpack(m.mbarriers.read(words[who])).phase
        parity = asked(m).astype(np.int64) & 1 if by_parity else unpack(asked(m)).phase
        ended = who & (phase != parity)
        ready = ended | ~who
        given_up = m.wait_queue.take_given_up(mask)
        if given_up is not None:
            ready = ready | given_up
        elif m.adversary is not None and m.adversary.impatient():
            ready = np.ones(m.shape, bool)
        if m.sleep_until(ready, "mbarrier", words, parity):
            return True
        if ended.any():
            _notify(m, "wait", ended, words)
        write(m, ended)
        return False

    return d.guarded(ask)
