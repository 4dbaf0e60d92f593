"""Find the shared-memory banks that a warp's access uses, and the access's bank conflicts."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from forgekit.arguments import checked
from forgekit.compiling.compiled import CompiledKernel
from forgekit.text import plural, spans
from forgekit.tracing.observe import LANES
from forgekit.tracing.source_lines import LineChoice
from forgekit.tracing.warp_access import WARPS, WarpAccess, WarpAccesses
from forgekit.tracing.warp_trace import trace_warps
from forgekit.vgpu import HARDWARE

BANK_BYTES, BANKS = HARDWARE.BANK_BYTES, HARDWARE.BANKS


@dataclass(frozen=True)
class BankPass:
    """The lanes that shared memory serves together: a warp, a half-warp or a quarter-warp.

    lanes: the numbers of the lanes, active or not. words: maps a bank to the words that it serves,
    in order of address, each with the lanes that request the word. The bank serves one word per
    wavefront.
    """

    lanes: range
    words: dict[int, list[tuple[int, tuple[int, ...]]]]

    @property
    def wavefronts(self) -> int:
        return max((len(words) for words in self.words.values()), default=0)


@dataclass(frozen=True)
class BankUse:
    """The cost of a shared-memory access: its wavefronts, the minimum, and the cause of extra
    wavefronts."""

    wavefronts: int
    ideal: int
    passes: tuple[BankPass, ...]
    why: str

    @property
    def text(self) -> str:
        """Return text such as `32 wavefronts, 1 would do: all 32 lanes in bank 0`."""
        text = plural(self.wavefronts, "wavefront")
        if self.wavefronts > self.ideal:
            text += f", {self.ideal} would do"
        return f"{text}: {self.why}"


def bank_use(access: WarpAccess) -> BankUse:
    count, ideal = access.cost
    parts = max(access.width // BANK_BYTES, 1)
    if access.kind == "load":
        parts = HARDWARE.load_parts(access.address, access.active, access.width)
    step = LANES // parts
    passes = tuple(_pass(access, range(k * step, (k + 1) * step)) for k in range(parts))
    passes = tuple(p for p in passes if p.words)
    return BankUse(count, ideal, passes, _why(access, passes, count > ideal))


def _pass(access: WarpAccess, lanes: range) -> BankPass:
    """Return the pass of these lanes. Lanes that request the same word share one access, except in
    atomics and asynchronous copies."""
    asked: dict[int, list[tuple[int, ...]]] = {}
    for lane in lanes:
        if access.active[lane]:
            first = int(access.address[lane]) // BANK_BYTES
            for word in range(first, first + max(access.width // BANK_BYTES, 1)):
                before = asked.setdefault(word, [])
                if before and access.kind in ("load", "store"):
                    before[0] = (*before[0], lane)
                else:
                    before.append((lane,))
    words: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
    for word in sorted(asked):
        words.setdefault(word % BANKS, []).extend((word, served) for served in asked[word])
    return BankPass(lanes, words)


def _why(access: WarpAccess, passes: tuple[BankPass, ...], conflicts: bool) -> str:
    count = len(access.lanes)
    worst = max(passes, key=lambda p: p.wavefronts)
    if conflicts and worst.wavefronts > 1:
        part = "" if len(passes) == 1 else f"lanes {spans([*worst.lanes])}"
        alone = f"all {count} lanes" if len(passes) == 1 else f"lanes {spans([*worst.lanes])}"
        if access.kind == "atomic":
            lanes = f"of {part}" if part else "lanes"
            return f"up to {worst.wavefronts} {lanes} in one bank, where atomics are serialised"
        if len(worst.words) == 1:
            return f"{alone} in bank {next(iter(worst.words))}"
        if len(worst.words) == access.width // BANK_BYTES:
            return f"{alone} in banks {spans(sorted(worst.words))}"
        return f"up to {worst.wavefronts} different words{part and f' from {part}'} in one bank"
    if conflicts:
        return "caused by the global addresses that the copy reads"
    same = count > 1 and len(np.unique(access.address[access.active])) == 1
    if same and access.kind == "load":
        return "all lanes read the same address in one broadcast"
    if len(passes) > 1:
        size = {16: "half", 8: "quarter"}.get(len(passes[0].lanes), "part of a")
        return f"one per {size} warp with {access.width}-byte accesses, no conflict"
    return "no two words in one bank" if count > 1 else "a single lane"


class BankConflicts(WarpAccesses):
    """Accesses by warps to shared memory; addresses are offsets in the block's shared memory.
    `uses` contains the wavefronts and banks of each access.
    """

    memory = "shared"
    called = "banks"

    @functools.cached_property
    def uses(self) -> tuple[BankUse, ...]:
        return tuple(bank_use(a) for a in self.accesses)

    @property
    def costs(self) -> list[tuple[str, str]]:
        return [(use.text, _banks_text(use)) for use in self.uses]


def _banks_text(use: BankUse) -> str:
    """Return text such as `banks 0–31` or `bank 0 of 32`."""
    used = sorted({bank for p in use.passes for bank in p.words})
    if len(used) == BANKS:
        return "all 32 banks"
    return f"{'bank' if len(used) == 1 else 'banks'} {spans(used)} of 32"


@checked(warp=(0, None), index=(0, None), warps=(1, WARPS))
def banks(
    kernel: CompiledKernel,
    *args: Any,
    line: LineChoice | None = None,
    kind: str = "any",
    block: int | tuple[int, ...] = 0,
    warp: int = 0,
    index: int = 0,
    warps: int = 1,
) -> BankConflicts:
    """Run a kernel on the virtual GPU and show the shared-memory banks that a warp's accesses use.

    In one wavefront, a bank serves one 4-byte word to all lanes that request it. The arguments are
    the same as for `forgekit.coalescing`; an asynchronous copy to shared memory counts as a store.

    Raises:
        UsageError: the kernel is not compiled, the arguments do not match its parameters, or no
            access matches; the message lists the lines with accesses.
    """
    return trace_warps(BankConflicts, kernel, args, line=line, kind=kind, block=block, warp=warp,
                       index=index, warps=warps)  # fmt: skip
