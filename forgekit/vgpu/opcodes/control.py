"""Implement branches, exits, barriers, and calls of `vprintf`, the only supported function."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from forgekit.vgpu.batch import Vote
from forgekit.vgpu.errors import KernelError
from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine import Machine, printf
from forgekit.vgpu.machine.barriers import ClusterBarrier
from forgekit.vgpu.opcodes import UnknownVariantError, allow, counted, expect, one_of, opcode
from forgekit.vgpu.opcodes.decoder import Decoder, Fetch, Step
from forgekit.vgpu.opcodes.warp import warp_step
from forgekit.vgpu.ptx import Instruction, Operand, Symbol, Vector


@opcode("bra")
def bra(ins: Instruction, d: Decoder) -> Step:
    (target,) = counted(ins, 1)
    to = d.program.kernel.labels[expect(target, Symbol, "label").name]
    guard = d.guard()
    if guard is None:
        return lambda m: m.jump(to, m.mask)

    def step(m: Machine) -> bool:
        taken, mask = guard(m), m.mask
        if mask is None:
            if taken.all():
                return m.jump(to, None)
            if not taken.any():
                return False
            rest = ~taken
        else:
            rest = mask & ~taken
            taken = mask & taken
            if not taken.any():
                return False
            if not rest.any():
                return m.jump(to, mask)
        for listener in m.listeners:
            listener.on_divergence(m, taken, rest)
        m.join(to, taken)
        m.join(m.pc + 1, rest)
        return True

    return step


@opcode("ret", "exit")
def leave(ins: Instruction, d: Decoder) -> Step:
    guard = d.guard()
    if guard is None:
        return lambda m: m.exit(m.mask)

    def step(m: Machine) -> bool:
        gone = m.active(guard(m))
        assert gone is not None
        if not gone.any():
            return False
        rest = ~gone if m.mask is None else m.mask & ~gone
        if rest.any():
            m.join(m.pc + 1, rest)
        return m.exit(gone)

    return step


@opcode("trap", "brkpt")
def trap(ins: Instruction, d: Decoder) -> Step:
    def stop(m: Machine, mask: Array | None) -> None:
        text = f"The kernel trapped (a failed assertion): {m.where()}\n  {m.who(mask)}"
        raise m.marked(KernelError(text), "trap")

    return d.guarded(stop)


@opcode("bar", "barrier")
def bar(ins: Instruction, d: Decoder) -> Step:
    parts = ins.opcode
    allow(ins, "sync", "arrive", "red", "warp", "cta", "aligned", "popc", "and", "or", "u32",
          "pred")  # fmt: skip
    if "warp" in parts:
        return warp_step(d, counted(ins, 1)[0], lambda m: None)
    wait = "arrive" not in parts
    if "red" in parts:  # `bar.red.popc.u32 d, number[, count], p`
        result, *operands, source = counted(ins, 3, 4)
        votes = _votes(ins, d, result, d.fetch(source, "pred"))
    else:
        votes, operands = None, [*counted(ins, 1, 2)]
    number = d.fetch(operands[0], "u32")
    count = d.fetch(operands[1], "u32") if len(operands) > 1 else None

    def arrive(m: Machine, mask: Array | None) -> bool:
        numbers, counts = number(m), count(m) if count else _NO_COUNT
        waiting = False
        for (one, threads), part in _by_value(m, mask, numbers, counts):
            vote = votes(m) if votes else None
            waiting |= m.barriers.arrive(one, threads or None, part, wait, vote)
        if waiting and mask is not m.mask:  # the group's other threads continue
            rest = m.expand(m.mask) & ~m.expand(mask)
            if rest.any():
                m.join(m.pc + 1, rest)
        return waiting

    return d.guarded(arrive)


def _votes(ins: Instruction, d: Decoder, result: Operand, says: Fetch) -> Callable[[Machine], Vote]:
    """Return a function that collects the threads' votes at a barrier, which counts the true votes
    (popc) or tests whether all (and) or any (or) votes are true."""
    operation = one_of(ins, "operation", "popc", "and", "or")
    to, _ = d.destination(result, "u32" if operation == "popc" else "pred")

    def votes(m: Machine) -> Vote:
        def take(yes: Array, voters: Array, who: Array) -> None:
            value = {"popc": yes.astype(np.uint32), "and": yes == voters, "or": yes > 0}[operation]
            if to is not None:
                m.merge(to, value[:, None], who)

        return Vote(np.broadcast_to(says(m), m.shape), take)

    return votes


_NOTHING = np.zeros((1, 1), np.uint64)
_NO_COUNT = np.zeros((1, 1), np.uint32)


def _by_value(
    m: Machine, mask: Array | None, a: Array, b: Array
) -> Iterator[tuple[tuple[int, int], Array | None]]:
    """Yield each distinct pair of values of `a` and `b`, with the threads of `mask` that hold
    it."""
    if a.size == b.size == 1:
        yield (int(a.flat[0]), int(b.flat[0])), mask
        return
    full = m.expand(mask)
    wide_a, wide_b = np.broadcast_to(a, m.shape), np.broadcast_to(b, m.shape)
    for pair in sorted({*zip(wide_a[full].tolist(), wide_b[full].tolist(), strict=True)}):
        part = full & (wide_a == pair[0]) & (wide_b == pair[1])
        yield pair, mask if part.sum() == full.sum() else part


@opcode("barrier.cluster")
def barrier_cluster(ins: Instruction, d: Decoder) -> Step:
    """Execute `barrier.cluster.arrive` or `barrier.cluster.wait`; on the virtual GPU, both order
    memory accesses, even with `.relaxed`."""
    allow(ins, "cluster", "arrive", "wait", "release", "relaxed", "acquire",
          "aligned")  # fmt: skip
    arrives = "arrive" in ins.opcode
    if not arrives and "wait" not in ins.opcode:
        raise UnknownVariantError("neither arrive nor wait")

    def arrive(m: Machine, mask: Array | None) -> None:
        _barrier(m).arrive(mask)

    def wait(m: Machine, mask: Array | None) -> bool:
        passing = _barrier(m).wait(mask)
        for listener in m.listeners:
            listener.on_cluster_wait(m, passing)
        skipping = ~m.expand(mask)
        return m.sleep_until(passing | skipping, "cluster", _cluster_of(m))

    return d.guarded(arrive if arrives else wait)


def _barrier(m: Machine) -> ClusterBarrier:
    if m.cluster_barrier is None:
        m.cluster_barrier = ClusterBarrier(m, m.wait_queue)
    return m.cluster_barrier


def _cluster_of(m: Machine) -> Array:
    return np.arange(m.n_blocks, dtype=np.int64)[:, None] // m.cluster_blocks


@opcode("call")
def call(ins: Instruction, d: Decoder) -> Step:
    """Execute `call.uni (retval0), vprintf, (param0, param1)`."""
    names = [o.name for o in ins.operands if isinstance(o, Symbol)]
    if names != ["vprintf"]:
        raise UnknownVariantError(f"a call to {names[0] if names else 'a function pointer'}")
    arguments = expect(ins.operands[-1], Vector, "list of arguments").items
    found = [expect(a, Symbol, "parameter name").name for a in arguments]
    if len(found) != 2:
        raise UnknownVariantError(f"vprintf with {len(found)} arguments")
    form, values = found

    def show(m: Machine, mask: Array | None) -> None:
        # The kernel did not store a value in the parameter, whose content is then undefined on a
        # GPU.
        format_string, data = (m.state.get(name, _NOTHING) for name in (form, values))
        printf.emit(m, m.printer, mask, format_string, data)  # type: ignore[arg-type]

    return d.guarded(show)
