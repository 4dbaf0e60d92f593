"""What tables and pictures of benchmarks show: each quantity with its unit and its words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from forgekit.benching.measuring import Measured
from forgekit.benching.timing import Timing
from forgekit.errors import brief, usage_error


@dataclass(frozen=True)
class Quantity:
    """One number of a variant.

    title: with its unit. value: of what was measured and the ceiling in GB/s; None where there is
    none. digits: after the point.
    """

    name: str
    title: str
    value: Callable[[Measured, float | None], float | None]
    digits: int = 1

    def text(self, value: float | None) -> str:
        """`1,160` or `–`"""
        return "–" if value is None else f"{value:,.{self.digits}f}"


def _ratio(
    above: str, below: str, factor: int = 1
) -> Callable[[Measured, float | None], float | None]:
    """One count for each of another, or for each byte to be moved; None where there is none."""

    def value(m: Measured, ceiling: float | None) -> float | None:
        if m.counters is None:
            return None
        whole = m.moved_bytes if below == "moved_bytes" else getattr(m.counters, below)
        return factor * getattr(m.counters, above) / whole if whole else None

    return value


COUNTED = (
    Quantity("bytes", "bytes moved for each byte needed", _ratio("global_bytes", "moved_bytes"), 2),
    Quantity("loads", "sectors a load (32 bytes each)", _ratio("load_sectors", "load_requests")),
    Quantity("stores", "sectors a store (32 bytes each)",
             _ratio("store_sectors", "store_requests")),
    Quantity("conflicts", "bank conflicts, % of wavefronts",
             _ratio("bank_conflicts", "shared_wavefronts", 100)),
    Quantity("instructions", "PTX instructions for each byte needed",
             _ratio("thread_instructions", "moved_bytes"), 2),
)  # fmt: skip
TIMED = (
    Quantity("percent", "% of the ceiling", lambda m, top: m.percent(top) if top else None, 0),
    Quantity("gbps", "GB/s", lambda m, top: m.gbps(), 0),
    Quantity("ms", "milliseconds", lambda m, top: m.timing.median_ms if m.timing else None, 4),
)


def quantity(name: str, kind: str) -> Quantity:
    """The quantity of a name, of those that a kind of target ("gpu", "virtual") has.

    Raises:
        UsageError: there is none.
    """
    here = TIMED if kind == "gpu" else COUNTED
    by_name = {q.name: q for q in here}
    if name in by_name:
        return by_name[name]
    needed = "one of " + ", ".join(map(repr, by_name))
    other = "there are no times on the virtual GPU" if kind != "gpu" else "a GPU counts nothing"
    raise usage_error("metric", brief(name), needed, f"{other}; choose one of these")


def at_percentile(m: Measured, which: str) -> Measured:
    """The same with the 20th ("low") or 80th ("high") percentile of the times as its median."""
    assert m.timing is not None
    time = m.timing.p20_ms if which == "low" else m.timing.p80_ms
    return Measured(m.moved_bytes, Timing(time, time, time))
