"""Find lines in a profile that waste instructions or memory accesses, and state the reasons.

Different kinds of waste are compared in cycles of a multiprocessor. Per cycle, a multiprocessor
issues four warp instructions, serves one wavefront of shared memory and receives two sectors from
L2 (NVIDIA H100 Tensor Core GPU Architecture: four schedulers, 128 bytes of shared memory per cycle;
NVIDIA A100 Tensor Core GPU Architecture: 64 bytes from L2 per cycle). These cycles are used only to
rank lines; they do not measure time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from forgekit.profiling.profiled_lines import ProfiledLine
from forgekit.text import plural, size
from forgekit.vgpu import HARDWARE, AccessCounts

LANES, BANK_BYTES, BANKS = HARDWARE.LANES, HARDWARE.BANK_BYTES, HARDWARE.BANKS

IDLE_LANES = "lanes"
_ISSUED, _SECTORS = 4, 2  # per cycle
_WORTH = 0.05  # the minimum fraction of the kernel's cycles for a line to stand out

_VERBS = {
    "load": "load", "store": "store", "atomic": "atomic operation", "reduction": "reduction",
    "async": "asynchronous copy",
}  # fmt: skip


@dataclass(frozen=True)
class Waste:
    """The waste of one line.

    kind: the kind of access, such as `global_store`, or `lanes` for idle lanes. share: the wasted
    fraction of the kernel's cycles, 0 to 1, estimated as in the module's docstring.
    reason: the reason for the waste, as a sentence.
    """

    line: ProfiledLine
    kind: str
    share: float
    reason: str

    def __str__(self) -> str:
        return f"{self.line.where}: {self.reason}"


def waste_of(lines: Sequence[ProfiledLine]) -> list[Waste]:
    """Return the waste of all lines that stand out, largest share first."""
    whole = sum(_cycles(line) for line in lines)
    found = []
    for line in lines:
        for kind, a in line.accesses.items():
            wasted = (a.units - a.ideal) / (_SECTORS if a.is_global else 1)
            if wasted >= _WORTH * whole and wasted:
                found.append(Waste(line, kind, wasted / whole, access_reason(a)))
        idle = (line["warp_instructions"] - line["thread_instructions"] / LANES) / _ISSUED
        if idle >= _WORTH * whole and idle:
            found.append(Waste(line, IDLE_LANES, idle / whole, _lanes_reason(line)))
    return sorted(found, key=lambda f: -f.share)


def _cycles(line: ProfiledLine) -> float:
    accesses = line.accesses.values()
    return line["warp_instructions"] / _ISSUED + sum(
        a.units / (_SECTORS if a.is_global else 1) for a in accesses
    )


def _lanes_reason(line: ProfiledLine) -> str:
    active = line["thread_instructions"] / line["warp_instructions"]
    text = f"{active:.3g} of a warp's {LANES} lanes are active on average; the others wait"
    if line["divergent_branches"]:
        return f"{text}, because the lanes of a warp diverge here"
    return text


def access_reason(a: AccessCounts) -> str:
    """Return the reason why an access needs more sectors or wavefronts than the ideal."""
    ideal = a.ideal / a.requests
    needed = f"{ideal:.3g} would suffice"
    verb = _VERBS[a.kind.split("_")[1]]
    takes = "touches" if a.is_global else "takes"
    if a.low == a.high:
        what = f"every warp's {verb} {takes} {plural(a.high, a.unit)}"
    else:
        what = f"a warp's {verb} {takes} {a.units / a.requests:.3g} {a.unit}s on average"
    return f"{what} where {needed}{_cause(a)}"


def _cause(a: AccessCounts) -> str:
    step = max(a.strides, key=lambda s: (a.strides[s], s is not None), default=None)  # most costly
    if step == 0 and a.kind != "global_load":
        return ": its lanes access the same address in turn"
    if step is None:
        if a.is_global:
            return ": the distances between the lanes' addresses vary"
        return ": several lanes need the same bank"
    if a.is_global and abs(step) <= a.width:
        return ": the warp's bytes begin inside a sector, not at a sector boundary"
    where = " in the costliest accesses," if len({s for s in a.strides if s}) > 1 else ""
    text = f":{where} neighbouring threads are {size(abs(step), exact=True)} apart"
    if not a.is_global and step % BANK_BYTES == 0:
        banks = BANKS // math.gcd(step // BANK_BYTES, BANKS)
        if banks < BANKS:
            where = "one bank" if banks == 1 else f"{banks} of the {BANKS} banks"
            return f"{text}, so all lanes access {where}"
    return text
