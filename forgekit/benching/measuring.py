"""Measure a call where kernels run now: its time on a GPU, its counts on the virtual GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from forgekit.arguments import checked
from forgekit.benching.counters import Counters, count_call
from forgekit.benching.timing import Timing, time_gpu
from forgekit.devices import current_target


@dataclass(frozen=True)
class Measured:
    """What one call costs.

    moved_bytes: what the call has to move: each input read once, each output written once.
    timing: on a GPU, else None. counters: on the virtual GPU; None on a GPU, and where the call
    launched nothing on the virtual GPU (torch on the CPU, an empty tensor): not counted here.
    """

    moved_bytes: int
    timing: Timing | None = None
    counters: Counters | None = None

    def gbps(self) -> float | None:
        """10^9 bytes a second at the median; None where there is no time."""
        return None if self.timing is None else self.timing.gbps(self.moved_bytes)

    def percent(self, ceiling_gbps: float) -> float | None:
        """Of a rate such as `forgekit.benching.timing.ceiling_gbps()`; None if there is no time."""
        rate = self.gbps()
        return None if rate is None else 100 * rate / ceiling_gbps

    @property
    def instructions_per_byte(self) -> float | None:
        """PTX instructions of threads for each of `moved_bytes`; None where nothing was counted."""
        c = self.counters
        return None if c is None else c.instructions_per_byte(self.moved_bytes)

    def as_dict(self) -> dict[str, Any]:
        """Dicts, numbers and None: `moved_bytes`, `ms`, `p20_ms`, `p80_ms` and `gbps` (None without
        a GPU), `counters` (None on one)."""
        t = self.timing
        return {
            "moved_bytes": self.moved_bytes,
            "ms": t and t.median_ms,
            "p20_ms": t and t.p20_ms,
            "p80_ms": t and t.p80_ms,
            "gbps": self.gbps(),
            "counters": self.counters and self.counters.as_dict(),
        }


@checked(moved_bytes=(0, None), repeats=(1, None), warmup=(0, None))
def measure(
    call: Callable[[], Any], *, moved_bytes: int, repeats: int = 50, warmup: int = 5
) -> Measured:
    """Time a call on the GPU, or count what it launches on the virtual GPU, whichever is in use.

    Args:
        call: takes no arguments and starts the work. On the virtual GPU it runs once, and every
            launch within it is counted.
        moved_bytes: bytes that it has to move, inputs read plus outputs written.
        repeats, warmup: timed and untimed calls on a GPU; the L2 cache is flushed before each.

    Raises:
        UsageError: not a function, or a number that cannot be.
        KernelError: the virtual GPU stopped a kernel.
    """
    if current_target().kind == "gpu":
        return Measured(moved_bytes, timing=time_gpu(call, repeats=repeats, warmup=warmup))
    return Measured(moved_bytes, counters=count_call(call))
