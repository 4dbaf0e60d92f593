"""Write the messages about deadlocks and endless loops."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from forgekit.vgpu.batch import Batch, Waiting
from forgekit.vgpu.errors import DeadlockError, InstructionBudgetError
from forgekit.vgpu.listeners import Access
from forgekit.vgpu.machine.barriers import Barriers, ClusterBarrier
from forgekit.vgpu.machine.mbarriers import Mbarriers
from forgekit.vgpu.ptx import SourceLocation

_BLOCKS = 3  # maximum number of blocks per line for which a message names a thread


def deadlock(
    m: Batch, barriers: Barriers, cluster_barrier: ClusterBarrier | None, mbarriers: Mbarriers
) -> DeadlockError:
    lines = ["Deadlock: every remaining thread waits for another thread."]
    for number, barrier in m.at_barriers.items():
        arrived = barriers.arrived(barrier)
        for pc, mask, waits, _ in barrier.arrivals:
            if not waits:
                continue
            block = int(np.argwhere(mask)[0][0])
            count = int(barrier.counts[block])
            awaited = f" for {count} threads ({arrived[block]} have arrived)" if count else ""
            lines.append(f"  {m.who(mask)} waits at barrier {number}{awaited}, {m.where(pc)}")
    for pc, waiting in m.parked.items():
        op = m.program.instructions[pc].name
        others = "lanes of its warp" if op[:5] != "wgmma" else "warps of its warpgroup"
        lines.append(
            f"  {m.who(waiting)} waits at {op} for {others} at other instructions, {m.where(pc)}"
        )
    lines += [f"  {line}" for line in _sleeping(m, cluster_barrier, mbarriers)]
    if any("warp_idx" in line and "shfl" in line for line in lines):
        lines.append(
            "cute.arch.warp_idx() contains a shuffle of the whole warp: call it before the `if`, "
            "and use its result inside."
        )
    if m.asleep:
        lines.append(
            "Every thread of the cluster that has not exited must arrive at a cluster barrier. "
            "For an mbarrier, check its initial count, the threads that arrive, the bytes that it "
            "expects and the parity that the waiting threads pass."
        )
    if m.parked or m.at_barriers or not m.asleep:
        lines.append(
            "Every thread that a barrier counts must reach it, and every lane in the member mask "
            "of a warp instruction must execute it: look for a barrier or a warp instruction "
            "inside an `if` or a loop that only some threads enter."
        )
    error = DeadlockError("\n".join(lines))
    asleep = (group.pc for group in m.asleep)
    error.lines = _sources(m, *barriers.pcs(), *m.parked, *asleep)
    alone = not (m.parked or m.asleep)
    if len(m.at_barriers) == 1 and alone and 0 in m.at_barriers:
        error.kind = "divergent-barrier"  # other threads took another path
    return error


def _sleeping(
    m: Batch, cluster_barrier: ClusterBarrier | None, mbarriers: Mbarriers
) -> Iterator[str]:
    """Yield lines that name the sleeping threads, and the threads or bytes that have not
    arrived."""
    together: dict[tuple[int, str], list[Waiting]] = {}
    for group in m.asleep:
        together.setdefault((group.pc, group.what), []).append(group)
    for (pc, what), groups in together.items():
        everyone = np.logical_or.reduce([g.mask for g in groups])
        if what == "cluster":
            assert cluster_barrier is not None
            missing = m.expand(m.alive) & ~cluster_barrier.here()
            cluster = int(everyone.any(axis=1).argmax()) // m.cluster_blocks * m.cluster_blocks
            missing[:cluster] = missing[cluster + m.cluster_blocks :] = False
            yield f"{m.who(everyone)} waits at the cluster barrier, {m.where(pc)}"
            if missing.any():
                yield f"  {m.who(missing)} has not arrived"
        else:
            yield f"{m.who(everyone)} waits for an mbarrier, {m.where(pc)}"
            block, thread = (int(i) for i in np.argwhere(groups[0].mask)[0])
            word = int(np.broadcast_to(groups[0].keys, m.shape)[block, thread])
            yield f"  {mbarriers.describe(word)}"


def _sources(m: Batch, *pcs: int) -> tuple[SourceLocation, ...]:
    """Return the distinct source lines of some instructions."""
    found = [m.program.instructions[pc].source for pc in pcs]
    return tuple(dict.fromkeys(source for source in found if source is not None))


def _looping(m: Batch) -> int:
    """Return the index of the instruction to which a message about an endless loop refers.

    Search the innermost loop around the last executed instruction, or the whole kernel if there is
    no loop. Return the nearest instruction that has a source line; arithmetic that the compiler
    adds has only the line of the function.
    """
    instructions = m.program.instructions
    at = min(m.pc, len(instructions) - 1)
    loops = [range(first, last + 1) for first, last in m.program.loops]
    around = min((loop for loop in loops if at in loop), key=len, default=range(at, at + 1))
    sources = enumerate(i.source for i in instructions)
    named = [pc for pc, source in sources if source is not None and source.column]
    return min(named, key=lambda pc: (pc not in around, abs(pc - at)), default=at)


def _together(m: Batch) -> str:
    """Return sentences that name the blocks that run at the same time, and the blocks that
    therefore wait indefinitely; empty if all blocks run at the same time."""
    first, last, total = m.blocks[0], m.blocks[-1], math.prod(m.record.grid)
    if len(m.blocks) == total:
        return ""
    together = f"Blocks {first:,} to {last:,} of {total:,} run at the same time, so "
    if m.adversary is None or not m.adversary.backwards:
        return together + "a block that waits for a later block waits indefinitely.\n"
    return together + (
        "a block that waits for an earlier block waits indefinitely, because this adversarial "
        "schedule runs the last blocks first.\n"
        "CUDA does not guarantee that blocks start in index order. Let each block draw its number "
        "from an atomic counter, so that lower numbers belong to blocks that have already "
        "started.\n"
    )


def spinning(m: Batch, reads: Mapping[int, Access]) -> DeadlockError:
    """Return the error for a batch whose threads all poll memory that none of them changes.

    reads: the latest access of each polling instruction.
    """
    lines = ["Deadlock: every remaining thread polls memory that no running thread will change."]
    for pc, access in reads.items():
        mask = m.expand(access.mask)
        blocks = np.flatnonzero(mask.any(axis=1)).tolist()
        for block in blocks[:_BLOCKS]:
            thread = int(mask[block].argmax())
            what = _polled(m, access, block, thread)
            lines.append(f"  {m.thread_name(block, thread)} waits for {what}, {m.where(pc)}")
        if more := len(blocks[_BLOCKS:]):
            lines.append(
                f"  and threads of {more:,} more block{'s' * (more > 1)} wait at the same line"
            )
    lines += _together(m).splitlines()
    lines.append(
        "Find the thread that should store the awaited value: it has exited, is also waiting, or "
        "its block has not started."
    )
    error = DeadlockError("\n".join(lines))
    error.lines = _sources(m, *reads)
    return error


def _polled(m: Batch, access: Access, block: int, thread: int) -> str:
    """Return text for the memory that a thread polls, such as `flags[6] (0x0 now)`."""
    value = int(np.broadcast_to(access.address, m.shape)[block, thread])
    allocation = m.memory.find(value) if access.space in ("global", "generic") else None
    if allocation is None or not 0 <= value - allocation.address < allocation.size_bytes:
        return f"{access.space} memory at {value:#x}"
    at = value - allocation.address
    info, from_first = allocation.tensor_at(at)
    now = int.from_bytes(allocation.data[at : at + access.width].tobytes(), "little")
    return f"{info.coordinate(from_first)} ({now:#x} now)"


def over_budget(m: Batch, budget: int) -> InstructionBudgetError:
    pc = _looping(m)
    source = m.program.instructions[pc].source
    # Column 0 marks the line after the function, which the compiler records for an empty loop.
    empty = source is not None and not source.column
    where = f"an empty loop in {m.record.kernel}" if empty else m.where(pc)
    error = InstructionBudgetError(
        f"The kernel was stopped after {budget:,} instructions: it loops indefinitely or runs far "
        "too long for the virtual GPU.\n"
        f"  Last executed: {where}\n"
        f"  {m.who(m.mask)}\n"
        f"{_together(m)}"
        "Check the conditions of the kernel's loops. If the kernel really needs more instructions, "
        "raise the limit with forgekit.vgpu.options(budget=…)."
    )
    error.lines = () if empty else _sources(m, pc)
    return error
