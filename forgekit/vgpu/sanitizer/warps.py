"""Instructions of warps and barriers: does everyone who is named take part?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forgekit.vgpu.barriers import EVERYONE
from forgekit.vgpu.machine import WARP

if TYPE_CHECKING:
    from forgekit.vgpu.floats import Array
    from forgekit.vgpu.machine import Machine
    from forgekit.vgpu.sanitizer.listener import Sanitizer

_LANES = np.arange(WARP, dtype=np.uint32)
_ALL = 0xFFFFFFFF


def names_everyone(members: Array | None) -> bool:
    """Whether a member mask is the constant -1."""
    return members is None or bool(members.size == 1 and members.flat[0] == _ALL)


def check_members(m: Machine, members: Array | None, report: Sanitizer) -> None:
    """Each executing lane must be in its own mask, and lanes that name each other must agree."""
    if members is None or names_everyone(members):
        return
    lanes = m.lanes(m.mask)
    masks = np.broadcast_to(members, m.shape).reshape(-1, WARP)
    outside = lanes & ((masks >> _LANES & np.uint32(1)) == 0)
    if outside.any():
        warp, lane = (int(i) for i in np.argwhere(outside)[0])
        report.not_in_own_mask(m, warp, lane, int(masks[warp, lane]), int(outside.sum()))
        return
    first = masks[np.arange(len(masks)), lanes.argmax(axis=1)][:, None]
    mixed = np.flatnonzero((lanes & (masks != first)).any(axis=1))
    if not len(mixed):
        return
    names = (masks[mixed, :, None] >> _LANES & np.uint32(1)).astype(bool)  # lane i names lane j
    both = lanes[mixed, :, None] & lanes[mixed, None, :] & names
    wrong = both & (masks[mixed, :, None] != masks[mixed, None, :])
    if wrong.any():
        at, lane, other = (int(i) for i in np.argwhere(wrong)[0])
        warp = int(mixed[at])
        report.masks_differ(m, warp, lane, other, masks[warp], int(wrong.any(axis=2).sum()))


def check_shuffle(m: Machine, source: Array, members: Array | None, report: Sanitizer) -> None:
    """The lanes that are read must execute the shuffle and be named by the reader's mask."""
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
        exists = warp * WARP + int(read[block, warp, lane]) < m.block_threads
        report.inactive_source(
            m, block, warp * WARP + lane, int(read[block, warp, lane]), exists, int(bad.sum())
        )


def check_exited(m: Machine, mask: Array | None, number: int, report: Sanitizer) -> None:
    """A barrier of the whole block opens, and some of its threads have left without it."""
    if m.alive is None:
        return
    blocks = m.expand(mask).any(axis=1, keepdims=True)
    pc, waiting = m.pc, m.barriers.waiting.get(number)
    if waiting is not None:  # it opens because somebody has left
        pc = next((at for at, _ in waiting.arrivals if at is not None), pc)
        blocks = blocks & (waiting.counts == EVERYONE)[:, None]
    exists = np.arange(m.n_threads) < m.block_threads
    gone = exists & blocks & ~m.expand(m.alive)
    if gone.any():
        here = int((m.expand(mask) & blocks).reshape(-1).argmax())
        report.some_have_left(m, pc, here, int(gone.reshape(-1).argmax()), int(gone.sum()))


def check_barrier(
    m: Machine, mask: Array | None, number: int, count: int | None, report: Sanitizer
) -> None:
    """An aligned barrier needs all living lanes of a warp at once, and one place in the code."""
    if mask is m.mask and m.alone:
        return
    opcode = m.program.instructions[m.pc].opcode
    # An adversary parts lanes that a GPU would bring together again before the barrier.
    if m.adversary is None and ("aligned" in opcode or opcode[0] == "bar"):
        lanes, alive = m.lanes(mask), m.lanes(m.alive)
        part = lanes.any(axis=1) & (lanes != alive).any(axis=1)
        if part.any():
            warp = int(part.argmax())
            lane = int(lanes[warp].argmax())
            report.part_of_a_warp(m, warp, lane, int(lanes[warp].sum()), int(alive[warp].sum()))
            return
    waiting = m.barriers.waiting.get(number)
    if waiting is None or count is not None:
        return
    here = m.program.instructions[m.pc].source
    blocks = m.expand(mask).any(axis=1)
    for pc, others in waiting.arrivals:
        if pc is None or pc == m.pc:
            continue
        there = m.program.instructions[pc].source
        line = (here.file, here.line) if here else None
        if there is not None and (there.file, there.line) == line:
            continue
        if (others.any(axis=1) & blocks).any():
            report.barriers_of_two_lines(m, mask, pc)
            return
