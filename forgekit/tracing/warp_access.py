"""Describe the accesses of single warps: the bytes that each lane requests."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from forgekit.errors import KernelError, SourceLine
from forgekit.show import Picture
from forgekit.text import plural, spans
from forgekit.tracing.observe import LANES, Array
from forgekit.vgpu import HARDWARE

WARPS = 32  # the number of warps in the largest block


@dataclass(frozen=True, eq=False)
class WarpAccess:
    """An access by a warp, from one instruction on a source line.

    Attributes:
        kind: `load`, `store`, `atomic`, `async load` or `async store`.
        source: the Python line; None if the PTX has no line information.
        tensor: the names of the accessed tensors; empty for shared memory.
        block, warp: the linear numbers of the block in the grid and of the warp in the block.
        index, times: this is access number `index` (from 0) of `times` accesses by this warp on
            this line.
        address: virtual addresses in global memory, or byte offsets in shared memory; `address`,
            `active` and `element` have 32 entries.
        active: True for active lanes. width: bytes per lane. element: each lane's
            element, such as `mX[3, 0]`; empty for shared memory. other: the addresses in the other
            memory space, for an asynchronous copy. past_l1: True if the access bypasses the L1
            cache.
    """

    kind: str
    source: SourceLine | None
    tensor: str
    block: int
    warp: int
    index: int
    times: int
    address: Array
    active: Array
    width: int
    element: tuple[str, ...]
    other: Array | None = None
    past_l1: bool = False

    @property
    def cost(self) -> tuple[int, int]:
        """Return the number of sectors or wavefronts, and the minimum, as the profiler counts
        them."""
        is_global = bool(self.element[self.lanes[0]])
        if self.other is not None:
            ends = (self.address, self.other) if is_global else (self.other, self.address)
            both = HARDWARE.copy_cost(*ends, self.active, self.width, past_l1=self.past_l1)
            return both[0 if is_global else 1]
        space = "global" if is_global else "shared"
        return HARDWARE.cost(space, self.kind, self.address, self.active, self.width)

    @property
    def lanes(self) -> Array:
        return np.flatnonzero(self.active)

    @property
    def asked_bytes(self) -> int:
        return len(np.unique(self.address[self.active])) * self.width

    @property
    def place(self) -> str:
        """Return text such as `load of mX, line 12`."""
        kind = {"async load": "asynchronous load", "async store": "asynchronous store"}
        of = f" of {self.tensor}" if self.tensor else ""
        line = f", line {self.source.line}" if self.source is not None else ""
        return f"{kind.get(self.kind, self.kind)}{of}{line}"

    @property
    def details(self) -> str:
        """Return text such as `warp 0 of block 0, all 32 lanes, 4 bytes each; 128 bytes from lane
        to lane`."""
        text = f"warp {self.warp} of block {self.block}, {self.asked}"
        if self.times > 1:
            text += f", the {_ordinal(self.index + 1)} of {self.times:,} accesses on this line"
        return f"{text}; {self.pattern}" if self.pattern else text

    @property
    def asked(self) -> str:
        """Return text such as `all 32 lanes, 4 bytes each`."""
        count = len(self.lanes)
        who = f"all {LANES} lanes" if count == LANES else (
            f"lane{'s' * (count > 1)} {spans(self.lanes.tolist())}")  # fmt: skip
        return f"{who}, {plural(self.width, 'byte')}{' each' if count > 1 else ''}"

    @property
    def pattern(self) -> str:
        """Return a description of the address steps between lanes; empty for a single lane."""
        lanes, address = self.lanes, self.address[self.active]
        if len(lanes) < 2:
            return ""
        steps = np.diff(address)
        if not steps.any():
            return "all at the same address"
        strides = set((steps / np.diff(lanes)).tolist())
        if len(strides) > 1:
            return "unequal steps from lane to lane"
        stride = strides.pop()
        return f"{stride:,.0f} bytes from lane to lane".replace("-", "−")


@dataclass(frozen=True, eq=False, repr=False)
class WarpAccesses(Picture):
    """Accesses by warps to one kind of memory; a notebook shows them as a picture.

    Attributes:
        name: the host function's name.
        accesses: the displayed accesses, each with its addresses by lane. omitted: the number of
            accesses that do not fit in the picture. error: the error that stopped the kernel, or
            None. notes: the text that the picture shows in red.
    """

    name: str
    accesses: tuple[WarpAccess, ...]
    omitted: int
    error: KernelError | None
    notes: list[str]

    memory: ClassVar[str]  # "global" or "shared"
    called: ClassVar[str]  # the name of the public function

    @property
    @abstractmethod
    def costs(self) -> list[tuple[str, str]]:
        """Return the cost of each access and its details, as text."""

    @property
    def headline(self) -> str:
        if len(self.accesses) == 1:
            return f"{self.accesses[0].place}: {self.costs[0][0]}"
        who = {(a.block, a.warp) for a in self.accesses}
        if not who:
            return f"{self.name}: no access to {self.memory} memory"
        if len(who) == 1:
            ((block, warp),) = who
            return f"{self.name}: {self.memory}-memory requests by warp {warp} of block {block}"
        return f"{self.name}: {self.memory}-memory requests by {len(who)} warps"

    @property
    def more(self) -> list[str]:
        if not self.omitted:
            return []
        these = "access is" if self.omitted == 1 else "accesses are"
        return [f"{self.omitted} more {these} not shown; select some with line= and kind="]

    @property
    def summary(self) -> str:
        lines = [f"{self.called} of {self.name}"]
        for access, (title, details) in zip(self.accesses, self.costs, strict=True):
            lines.append(f"  {access.place}: {title}")
            lines.append(f"    {access.details}; {details}")
        return "\n".join(lines + [f"  {note}" for note in (*self.more, *self.notes)])


def _ordinal(number: int) -> str:
    """Return text such as `1st` or `12th`."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}" + ("th" if number % 100 in (11, 12, 13) else ending)
