"""Check that all required threads take part in warp instructions and barriers."""

from __future__ import annotations

import numpy as np

from forgekit.vgpu.batch import EVERYONE, Barrier, Batch
from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine import WARP
from forgekit.vgpu.sanitizer.clocks import names_everyone
from forgekit.vgpu.sanitizer.findings import Report
from forgekit.vgpu.sanitizer.messages import (
    INACTIVE_SOURCE,
    MASKS_DIFFER,
    NOT_IN_OWN_MASK,
    PART_OF_A_MATRIX,
    PART_OF_A_WARP,
    SOME_HAVE_LEFT,
    TWO_LINES,
)

_LANES = np.arange(WARP, dtype=np.uint32)


def check_members(m: Batch, members: Array | None, report: Report) -> None:
    """Check that each executing lane is in its own mask, and that lanes in each other's masks pass
    the same mask."""
    if members is None or names_everyone(members):
        return
    lanes = m.lanes(m.mask)
    masks = np.broadcast_to(members, m.shape).reshape(-1, WARP)
    outside = lanes & ((masks >> _LANES & np.uint32(1)) == 0)
    if outside.any():
        warp, lane = (int(i) for i in np.argwhere(outside)[0])
        who, mask = report.in_batch(m, warp * WARP + lane), f"mask {masks[warp, lane]:#010x}"
        report.add(NOT_IN_OWN_MASK, (m.pc,), who, mask, count=int(outside.sum()), lane=lane)
        return
    first = masks[np.arange(len(masks)), lanes.argmax(axis=1)][:, None]
    mixed = np.flatnonzero((lanes & (masks != first)).any(axis=1))
    if not len(mixed):
        return
    names = (masks[mixed, :, None] >> _LANES & np.uint32(1)).astype(bool)  # bit j of lane i's mask
    both = lanes[mixed, :, None] & lanes[mixed, None, :] & names
    wrong = both & (masks[mixed, :, None] != masks[mixed, None, :])
    if wrong.any():
        at, lane, other = (int(i) for i in np.argwhere(wrong)[0])
        warp = int(mixed[at])
        who, mask = report.in_batch(m, warp * WARP + lane), f"mask {masks[warp, lane]:#010x}"
        report.add(
            MASKS_DIFFER, (m.pc,), who, mask, count=int(wrong.any(axis=2).sum()),
            lane=lane, other_lane=other, other_mask=masks[warp, other],
        )  # fmt: skip


def check_matrix(m: Batch, report: Report) -> None:
    """Check that whole warps execute a matrix instruction."""
    if m.mask is None:
        return
    lanes = m.lanes(m.mask)
    there = lanes.sum(axis=1)
    bad = np.flatnonzero((there > 0) & (there < WARP))
    if len(bad):
        warp = int(bad[0])
        who = report.in_batch(m, warp * WARP + int(lanes[warp].argmax()))
        name = m.program.instructions[m.pc].opcode[0]
        report.add(PART_OF_A_MATRIX, (m.pc,), who, name, count=len(bad), there=int(there[warp]))


def check_shuffle(m: Batch, source: Array, members: Array | None, report: Report) -> None:
    """Check that each source lane executes the shuffle and is in the reader's mask."""
    if m.mask is None and names_everyone(members):
        return
    lanes = m.expand(m.mask).reshape(m.n_blocks, -1, WARP)
    read = np.broadcast_to(source, lanes.shape)
    there = np.take_along_axis(lanes, read, axis=2)
    if members is not None and not names_everyone(members):
        masks = np.broadcast_to(members, m.shape).reshape(lanes.shape)
        there = there & (masks >> read.astype(np.uint32) & np.uint32(1)).astype(bool)
    bad = lanes & ~there
    if bad.any():
        block, warp, lane = (int(i) for i in np.argwhere(bad)[0])
        lane_read, thread = int(read[block, warp, lane]), warp * WARP + lane
        exists = warp * WARP + lane_read < m.block_threads
        nowhere = f"does not exist (the block has {m.block_threads} threads)"
        report.add(
            INACTIVE_SOURCE, (m.pc,), report.in_batch(m, block * m.n_threads + thread),
            f"lane {lane_read}", count=int(bad.sum()), lane=lane,
            why="does not take part in this shuffle" if exists else nowhere,
        )  # fmt: skip


# -- barriers of the block ------------------------------------------------------------------------
def check_exited(m: Batch, mask: Array | None, number: int, report: Report) -> None:
    """Report a block-wide barrier that opens although some of the block's threads exited without
    reaching it."""
    if m.alive is None:
        return
    blocks = m.expand(mask).any(axis=1, keepdims=True)
    pc, waiting = m.pc, m.at_barriers.get(number)
    if waiting is not None:  # the barrier opens because a thread has exited
        pc = next((a.pc for a in waiting.arrivals if a.waits), pc)
        blocks = blocks & (waiting.counts == EVERYONE)[:, None]
    gone = _existing(m) & blocks & ~m.expand(m.alive)
    if gone.any():
        first = int(gone.reshape(-1).argmax())
        block = first // gone.shape[1]
        count = int(gone[block].sum())
        threads = (
            "1 thread of its block has" if count == 1 else f"{count:,} threads of its block have"
        )
        here = block * gone.shape[1] + int(m.expand(mask)[block].argmax())
        who, left = report.in_batch(m, here), report.in_batch(m, first)
        report.add(SOME_HAVE_LEFT, (pc,), who, other=left, threads=threads)


def check_lines(
    m: Batch, mask: Array | None, number: int, count: int | None, report: Report
) -> None:
    """Check that threads arrive at a block-wide barrier from the same line of code."""
    waiting = m.at_barriers.get(number)
    if waiting is None or count is not None:
        return
    blocks = m.expand(mask).any(axis=1)
    for arrival in waiting.arrivals:
        if arrival.waits and _line(m, arrival.pc) != _line(m, m.pc):
            if (arrival.mask.any(axis=1) & blocks).any():
                who = report.in_batch(m, int(m.expand(mask).reshape(-1).argmax()))
                report.add(TWO_LINES, (m.pc, arrival.pc), who)
                return


def check_opening(m: Batch, mask: Array | None, number: int, report: Report) -> None:
    """Check, when a barrier opens, that the lanes of each warp reached it at the same instruction.

    Until the barrier opens, a missing lane may still arrive, for example because it waits for a
    lock.
    """
    waiting = m.at_barriers.get(number)
    if waiting is None:  # all threads arrived together
        return
    blocks = np.asarray(m.expand(mask).any(axis=1))
    if (waiting.counts[blocks] == EVERYONE).all():
        # All live threads have arrived; `check_lines` has already reported different lines.
        if len({a.pc for a in waiting.arrivals}) == 1 or _lines(m, waiting, blocks) > 1:
            return
        needed = m.lanes(m.alive)
    else:
        needed = m.lanes(_existing(m))
    _whole_warps(m, waiting, needed, report, m.expand(mask))


def check_never_opened(m: Batch, report: Report) -> None:
    """Report incomplete warps at barriers at which threads still wait at the end of the batch."""
    lanes = m.lanes(_existing(m))
    for waiting in m.at_barriers.values():
        _whole_warps(m, waiting, lanes, report)


def check_stuck(m: Batch, report: Report) -> None:
    """Report a deadlocked warp that has some lanes at a barrier while the other lanes have exited,
    wait at another barrier, or wait for those lanes."""
    if m.runnable or m.held:  # the kernel stopped for another reason
        return
    gone = _existing(m) & ~m.expand(m.alive)
    for mask in m.parked.values():
        gone = gone | m.expand(mask)
    for number, waiting in m.at_barriers.items():
        elsewhere = gone
        for other, barrier in m.at_barriers.items():
            for arrival in barrier.arrivals:
                if arrival.waits and other != number:
                    elsewhere = elsewhere | arrival.mask
        _whole_warps(m, waiting, m.lanes(elsewhere), report)


def _whole_warps(
    m: Batch, waiting: Barrier, needed: Array, report: Report, of: Array | None = None
) -> None:
    """Report a warp whose lanes in `needed` have not all arrived the same number of times.

    of: the threads whose arrivals count; None for all threads.
    """
    for pc in dict.fromkeys(a.pc for a in waiting.arrivals):
        opcode = m.program.instructions[pc].opcode
        if "aligned" not in opcode and opcode[0] != "bar":
            continue
        times = np.zeros(m.shape, np.int64)
        for arrival in waiting.arrivals:
            if arrival.pc == pc:
                times += arrival.mask if of is None else arrival.mask & of
        lanes = m.lanes(times)
        most = lanes.max(axis=1, keepdims=True)
        wrong = ((lanes != most) & (needed | (lanes > 0))).any(axis=1)
        if wrong.any():
            warp = int(wrong.argmax())
            there, exist = lanes[warp] == most[warp], m.lanes(_existing(m))[warp]
            who = report.in_batch(m, warp * WARP + int(there.argmax()))
            report.add(PART_OF_A_WARP, (pc,), who, there=int(there.sum()), lanes=int(exist.sum()))


def _existing(m: Batch) -> Array:
    """Return a mask of the threads that exist; the last warp of a block may have fewer than 32."""
    return m.expand((np.arange(m.n_threads) < m.block_threads)[None])


def _line(m: Batch, pc: int) -> object:
    source = m.program.instructions[pc].source
    return (source.file, source.line) if source is not None else pc


def _lines(m: Batch, waiting: Barrier, blocks: Array) -> int:
    """Return the number of lines from which threads of these blocks have arrived."""
    return len({_line(m, a.pc) for a in waiting.arrivals if a.mask[blocks].any()})
