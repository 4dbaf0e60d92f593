"""Record what one block does in one memory space, and pick accesses of single warps out of it."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from forgekit.arguments import require_one_of
from forgekit.compiling.replay import bind
from forgekit.errors import SourceLine, UsageError, brief, got_needed
from forgekit.text import spans
from forgekit.tracing.observe import block_number, linear_block, observe, stop_notes
from forgekit.tracing.source_lines import LineChoice, chosen_lines, line_at
from forgekit.tracing.warp_access import WarpAccess, WarpAccesses
from forgekit.vgpu.counters.rules import LANES
from forgekit.vgpu.listeners import Access, Listener
from forgekit.vgpu.memory import SHARED_RESERVED, WINDOW_MASK, WINDOW_SHIFT

if TYPE_CHECKING:
    from forgekit.compiling.compiled import CompiledKernel
    from forgekit.vgpu.launch_record import LaunchRecord
    from forgekit.vgpu.machine import Machine
    from forgekit.vgpu.memory import GlobalMemory
    from forgekit.vgpu.program import Program

Array = np.ndarray[Any, np.dtype[Any]]
W = TypeVar("W", bound=WarpAccesses)

MAX_PANELS = 6  # accesses in one picture
FIRST_WARPS, FIRST_TIMES = 4, 8  # of each line, kept by FirstAccesses
_LIMIT = 1 << 22  # lanes recorded; 9 bytes each
_WINDOWS = {"global": 0, "shared": 1}
_KINDS = ("any", "load", "store", "atomic")


class _Event(NamedTuple):
    """One instruction's access by a whole block."""

    program: Program
    pc: int
    kind: str
    width: int
    mask: Array
    address: Array
    other: Array | None
    past_l1: bool


Site = tuple["SourceLine | None", str]  # a line, and what is done there


class BlockTrace(Listener):
    """Records what one block does in one memory space.

    most: of each instruction only so many events are kept; `beyond` has how often the block's
    warps did it after that.
    """

    def __init__(self, block: int | tuple[int, ...], space: str, most: int | None = None) -> None:
        self.block, self.space, self.most = block, space, most
        self.events: list[_Event] = []
        self.beyond: dict[tuple[Program, int, str], Array] = {}
        self._kept: Counter[tuple[Program, int, str]] = Counter()
        self.memory: GlobalMemory | None = None
        self.complete = True
        self._left = _LIMIT
        self._source: Array | None = None  # of the asynchronous copy in flight

    def on_batch(self, m: Machine) -> None:
        self.memory = m.memory

    def on_access(self, m: Machine, access: Access) -> None:
        row = linear_block(self.block, m.record.grid) - m.blocks.start
        if not 0 <= row < len(m.blocks):
            return
        address = np.broadcast_to(access.address, m.shape)[row].astype(np.uint64)
        signed = address.astype(np.int64)
        source, self._source = self._source, None
        if access.kind == "async load":  # its other half comes next
            self._source = signed
        elif access.kind == "async store" and self.space == "global" and self._event_at(m.pc):
            self.events[-1] = self.events[-1]._replace(other=signed)
        if access.space not in (self.space, "generic"):
            return
        mask = m.expand(access.mask)[row]
        if access.space == "generic":
            mask = mask & (address >> WINDOW_SHIFT == _WINDOWS[self.space])
            signed = (address & WINDOW_MASK).astype(np.int64)
        if not mask.any():
            return
        site = m.program, m.pc, access.kind
        self._kept[site] += 1
        if self.most is not None and self._kept[site] > self.most:
            who = np.add.reduceat(mask, range(0, len(mask), LANES)) > 0
            self.beyond[site] = self.beyond.get(site, 0) + who
            return
        if self._left < len(mask):
            self.complete = False
            return
        self._left -= len(mask)
        other = source if access.kind == "async store" else None
        past_l1 = "cg" in m.program.instructions[m.pc].opcode
        self.events.append(_Event(m.program, m.pc, access.kind, access.width, mask.copy(), signed,
                                  other, past_l1))  # fmt: skip

    def _event_at(self, pc: int) -> bool:
        """Whether the last event is the other half of an asynchronous copy."""
        last = self.events[-1] if self.events else None
        return last is not None and (last.pc, last.kind, last.other) == (pc, "async load", None)


def trace_warps(
    result: type[W],
    kernel: CompiledKernel,
    args: tuple[Any, ...],
    *,
    line: LineChoice | None,
    kind: str,
    block: int | tuple[int, ...],
    warp: int,
    index: int,
    warps: int,
) -> W:
    """Run a kernel and pick accesses to the memory of `result` out of it; see `fk.coalescing`.

    Raises:
        UsageError: wrong arguments, or no access of this sort; it says where there are some.
    """
    space = result.memory
    args = bind(result.called, kernel, args)
    require_one_of("kind", kind, _KINDS)
    trace, error, records = observe(kernel, args, lambda: BlockTrace(block, space))
    number = block_number(block, records) if records else 0
    events = [e for e in trace.events if kind == "any" or e.kind.endswith(kind)]
    if error is None:
        _require_events(space, kind, events, trace.events, number)
    if line is not None and (events or error is None):
        sources = [line_at(e.program, e.pc) for e in events]
        doing = f"makes a {space} {'access' if kind == 'any' else kind}"
        chosen = chosen_lines(line, sources, doing)
        events = [e for e, s in zip(events, sources, strict=True) if s in chosen]
    if error is None:
        _require_warps(events, records, number, warp, warps)
    wanted = range(warp, warp + warps)
    found = [a for w in wanted for a in _of_warp(events, trace, number, w, index)]
    if not found and error is None:
        most = max(len(s) for w in wanted for s in _sites(events, w).values())
        needed = f"0 to {most - 1:,}: how often this warp did it before"
        raise UsageError(got_needed("index", index, needed, "choose one of these"))
    notes = stop_notes(error, bool(found))
    if not trace.complete:
        notes.append("The run was too long to be recorded to its end.")
    shown = tuple(found[:MAX_PANELS])
    return result(kernel.name, shown, len(found) - len(shown), error, notes)


def _of_warp(
    events: list[_Event], trace: BlockTrace, block: int, warp: int, index: int
) -> list[WarpAccess]:
    """The warp's access number `index` of each line and kind, in the order of their first."""
    return [access_at(trace, site, found[index], block, warp, index, len(found))
            for site, found in _sites(events, warp).items() if index < len(found)]  # fmt: skip


def access_at(
    trace: BlockTrace, site: Site, event: _Event, block: int, warp: int, index: int, times: int
) -> WarpAccess:
    """What a warp asked for in an event: number `index` of `times` at that site."""
    part = slice(warp * LANES, (warp + 1) * LANES)
    active, address = event.mask[part], event.address[part]
    element, tensor = [""] * LANES, ""
    if trace.space == "global":
        element, tensor = _elements(trace.memory, address, active)
    else:
        address = address - SHARED_RESERVED
    other = None if event.other is None else event.other[part]
    return WarpAccess(site[1], site[0], tensor, block, warp, index, times,
                      np.where(active, address, -1), active, event.width, tuple(element), other,
                      event.past_l1)  # fmt: skip


def _sites(events: list[_Event], warp: int) -> dict[Site, list[_Event]]:
    """What a warp did, by line and kind."""
    part = slice(warp * LANES, (warp + 1) * LANES)
    sites: dict[Site, list[_Event]] = {}
    for event in events:
        if event.mask[part].any():
            key = (line_at(event.program, event.pc), event.kind)
            sites.setdefault(key, []).append(event)
    return sites


def _elements(memory: GlobalMemory | None, address: Array, active: Array) -> tuple[list[str], str]:
    """What each lane asks for, and the names of the tensors."""
    element, names = [""] * LANES, []
    for lane in np.flatnonzero(active).tolist():
        at = int(address[lane])
        allocation = memory.find(at) if memory is not None else None
        if allocation is not None:
            info, from_first = allocation.tensor_at(at - allocation.address)
            element[lane] = info.coordinate(from_first)
            names += [info.name] if info.name not in names else []
    return element, " and ".join(names)


# -- what can be wrong with a request -------------------------------------------------------------
def _require_events(
    space: str, kind: str, events: list[_Event], all_events: list[_Event], block: int
) -> None:
    if events:
        return
    if all_events:
        there = ", ".join(sorted({repr(e.kind.split()[-1]) for e in all_events}))
        needed = f"one of those that block {block} makes in {space} memory: {there}"
        raise UsageError(got_needed("kind", brief(kind), needed, "choose one of these"))
    other = "fk.banks" if space == "global" else "fk.coalescing"
    remedy = f"{other} shows the other memory, fk.footprint all blocks"
    raise UsageError(got_needed(f"block {block}", "no access", f"one to {space} memory", remedy))


def _require_warps(
    events: list[_Event], records: list[LaunchRecord], block: int, warp: int, warps: int
) -> None:
    if any(_sites(events, w) for w in range(warp, warp + warps)):
        return
    count = max(-(-math.prod(r.block) // LANES) for r in records)
    doing = [w for w in range(count) if _sites(events, w)]
    needed = f"a warp of block {block} that makes this access: {spans(doing)}"
    raise UsageError(got_needed("warp", warp, needed, "choose one of these"))


# -- the first accesses of all lines ----------------------------------------------------------
class FirstAccesses(Listener):
    """Records the first accesses of block 0's first warps on each line, beside other listeners."""

    def __init__(self) -> None:
        self._traces = [BlockTrace(0, space, FIRST_TIMES) for space in _WINDOWS]

    def on_batch(self, m: Machine) -> None:
        for trace in self._traces:
            trace.on_batch(m)

    def on_access(self, m: Machine, access: Access) -> None:
        for trace in self._traces if not m.blocks.start else ():
            trace.on_access(m, access)

    def found(self) -> dict[tuple[SourceLine | None, str], tuple[WarpAccess, ...]]:
        """(line, kind as in a profile's accesses: `global_load`) -> accesses, warp by warp."""
        result: dict[tuple[SourceLine | None, str], list[WarpAccess]] = {}
        for trace in self._traces:
            most = max((len(e.mask) for e in trace.events), default=0)
            warps: Counter[Site] = Counter()
            for warp in range(-(-most // LANES)):
                for site, events in _sites(trace.events, warp).items():
                    warps[site] += 1
                    if warps[site] > FIRST_WARPS:
                        continue
                    times = len(events) + sum(
                        int(n[warp]) for (program, pc, kind), n in trace.beyond.items()
                        if (line_at(program, pc), kind) == site and warp < len(n)
                    )  # fmt: skip
                    kind = "async" if "async" in site[1] else site[1]
                    result.setdefault((site[0], f"{trace.space}_{kind}"), []).extend(
                        access_at(trace, site, event, 0, warp, index, times)
                        for index, event in enumerate(events[:FIRST_TIMES])
                    )
        return {site: tuple(accesses) for site, accesses in result.items()}
