"""Record a block's accesses to global and shared memory, and select those of single warps."""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from forgekit.arguments import require_one_of
from forgekit.compiling.compiled import CompiledKernel
from forgekit.compiling.replay import bind
from forgekit.errors import SourceLine, UsageError, brief, got_needed
from forgekit.text import spans
from forgekit.tracing.observe import (
    LANES,
    Array,
    block_number,
    largest_grid,
    linear_block,
    stop_notes,
)
from forgekit.tracing.recordings import recorded
from forgekit.tracing.source_lines import LineChoice, chosen_lines
from forgekit.tracing.warp_access import WARPS, WarpAccess, WarpAccesses
from forgekit.vgpu import Access, Listener, Moment

W = TypeVar("W", bound=WarpAccesses)

MAX_PANELS = 6  # maximum number of accesses per picture
FIRST_WARPS, FIRST_TIMES = 4, 8  # maximum numbers of warps, and of accesses per warp, on a line
_KINDS = ("any", "load", "store", "atomic")


class Site(NamedTuple):
    space: str
    source: SourceLine | None
    kind: str


@dataclass
class _Event:
    """An access by the threads of a block in one instruction. other: an asynchronous copy's
    addresses in the other memory space."""

    site: Site
    width: int
    mask: Array
    address: Array
    past_l1: bool
    other: Array | None = None


class BlockTrace(Listener):
    """Records a block's accesses: at least the first `most` accesses of each warp at each site.

    Attributes:
        events: the recorded accesses, in order. times: maps a site to the number of accesses per
            warp, an array of shape (32,).
    """

    def __init__(self, block: int | tuple[int, ...], most: int) -> None:
        self.block, self.most = block, most
        self.events: list[_Event] = []
        self.times: dict[Site, Array] = {}
        # The source addresses of an asynchronous copy, and its recorded load.
        self._source: Array | None = None
        self._load: _Event | None = None

    def on_batch(self, m: Moment) -> None:
        self._memory = m.memory

    def on_access(self, m: Moment, access: Access) -> None:
        number = linear_block(self.block, m.record.grid)
        if number not in m.blocks:
            return
        row = m.blocks.index(number)
        mask, event, address = m.expand(access.mask)[row], None, None
        for space, address, there in access.by_space(m.shape):
            event = self._record(m, access, space, mask & there[row], address[row]) or event
        if address is not None and access.kind == "async load":  # the copy's store follows
            self._source, self._load = address[row], event
        elif address is not None and access.kind == "async store":
            if self._load is not None:
                self._load.other = address[row]
            if event is not None:
                event.other = self._source

    def _record(
        self, m: Moment, access: Access, space: str, mask: Array, address: Array
    ) -> _Event | None:
        if not mask.any():
            return None
        site = Site(space, m.program.line_at(m.pc), access.kind)
        times = self.times.setdefault(site, np.zeros(WARPS, np.int64))
        who = np.flatnonzero(mask.reshape(-1, LANES).any(axis=1))
        times[who] += 1
        if (times[who] > self.most).all():
            return None
        past_l1 = "cg" in m.program.instructions[m.pc].opcode
        event = _Event(site, access.width, mask.copy(), address, past_l1)
        self.events.append(event)
        return event

    def of_warp(self, warp: int) -> dict[Site, list[_Event]]:
        """Return the accesses of a warp by site, in the order of each site's first access."""
        part = slice(warp * LANES, (warp + 1) * LANES)
        found: dict[Site, list[_Event]] = {}
        for event in self.events:
            if event.mask[part].any():
                found.setdefault(event.site, []).append(event)
        return found

    def access(self, event: _Event, block: int, warp: int, index: int) -> WarpAccess:
        """Return one warp's part of an event; index: the number of the access at its site."""
        part = slice(warp * LANES, (warp + 1) * LANES)
        active, address = event.mask[part], event.address[part]
        element, tensor = [""] * LANES, ""
        if event.site.space == "global":
            element, tensor = self._elements(address, active)
        return WarpAccess(
            kind=event.site.kind,
            source=event.site.source,
            tensor=tensor,
            block=block,
            warp=warp,
            index=index,
            times=int(self.times[event.site][warp]),
            address=np.where(active, address, -1),
            active=active,
            width=event.width,
            element=tuple(element),
            other=None if event.other is None else event.other[part],
            past_l1=event.past_l1,
        )

    def _elements(self, address: Array, active: Array) -> tuple[list[str], str]:
        element, names = [""] * LANES, []
        for lane in np.flatnonzero(active).tolist():
            found = self._memory.element_at(int(address[lane]))
            if found is not None:
                name, element[lane] = found
                names += [name] if name not in names else []
        return element, " and ".join(names)


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
    """Run a kernel and select accesses to the memory space of `result`. The arguments and errors
    are the same as for `fk.coalescing`."""
    space = result.memory
    args = bind(result.called, kernel, args)
    require_one_of("kind", kind, _KINDS)
    make = functools.partial(BlockTrace, block, index + 1)
    call = recorded(kernel, args, make)
    trace, error = call.read_to_the_end(make), call.error
    number = block_number(block, largest_grid(call.recording)) if call.recording.launches else 0
    there = [s for s in trace.times if s.space == space]
    sites = [s for s in there if kind == "any" or s.kind.endswith(kind)]
    if not sites and error is None:
        raise _no_site(space, kind, there, number)
    if line is not None and (sites or error is None):
        doing = f"performs a {space} {'access' if kind == 'any' else kind}"
        chosen = chosen_lines(line, [s.source for s in sites], doing)
        sites = [s for s in sites if s.source in chosen]
    wanted = range(warp, warp + warps)
    found = [
        trace.access(events[index], number, w, index)
        for w in wanted
        for site, events in trace.of_warp(w).items()
        if site in sites and index < len(events)
    ]
    if not found and error is None:
        times = np.sum([trace.times[s] for s in sites], axis=0)
        if not times[warp : warp + warps].any():
            doing = spans(np.flatnonzero(times).tolist())
            needed = f"a warp of block {number} that performs this access: {doing}"
            raise UsageError(got_needed("warp", warp, needed, "choose one of these"))
        most = max(trace.times[s][warp : warp + warps].max() for s in sites)
        needed = f"0 to {most - 1:,}, because index counts the warp's earlier accesses"
        raise UsageError(got_needed("index", index, needed, "choose one of these"))
    shown = tuple(found[:MAX_PANELS])
    notes = stop_notes(error, bool(found))
    return result(kernel.name, shown, len(found) - len(shown), error, notes)


def _no_site(space: str, kind: str, there: list[Site], block: int) -> UsageError:
    if there:
        kinds = ", ".join(sorted({repr(s.kind.split()[-1]) for s in there}))
        needed = f"a kind of access that block {block} performs in {space} memory: {kinds}"
        return UsageError(got_needed("kind", brief(kind), needed, "choose one of these"))
    other = "fk.banks for shared" if space == "global" else "fk.coalescing for global"
    got = f"no access to {space} memory"
    remedy = f"use {other} memory, or fk.footprint for all blocks"
    return UsageError(got_needed(f"block {block}", got, "at least one", remedy))


def first_accesses(
    trace: BlockTrace,
) -> dict[tuple[SourceLine | None, str], tuple[WarpAccess, ...]]:
    """Return a dictionary from (line, kind) to the first accesses of block 0's first warps, warp by
    warp. Kinds are named as in a profile, such as `global_load`."""
    found: dict[tuple[SourceLine | None, str], list[WarpAccess]] = {}
    warps: Counter[Site] = Counter()
    for warp in range(WARPS):
        for site, events in trace.of_warp(warp).items():
            warps[site] += 1
            if warps[site] <= FIRST_WARPS:
                kind = "async" if "async" in site.kind else site.kind
                found.setdefault((site.source, f"{site.space}_{kind}"), []).extend(
                    trace.access(event, 0, warp, index)
                    for index, event in enumerate(events[:FIRST_TIMES])
                )
    return {site: tuple(accesses) for site, accesses in found.items()}
