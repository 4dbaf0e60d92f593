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
    none. digits: after the point. low, high: of the 20th and 80th percentiles, for times.
    """

    name: str
    title: str
    value: Callable[[Measured, float | None], float | None]
    digits: int = 1

    def text(self, value: float | None) -> str:
        """`1,160` or `–`"""
        return "–" if value is None else f"{value:,.{self.digits}f}"


def _bytes(m: Measured, ceiling: float | None) -> float | None:
    return m.counters.global_bytes / m.moved_bytes if m.counters and m.moved_bytes else None


def _loads(m: Measured, ceiling: float | None) -> float | None:
    return m.counters.sectors_per_load if m.counters and m.counters.load_requests else None


def _stores(m: Measured, ceiling: float | None) -> float | None:
    return m.counters.sectors_per_store if m.counters and m.counters.store_requests else None


def _conflicts(m: Measured, ceiling: float | None) -> float | None:
    """None where shared memory is not used at all."""
    c = m.counters
    return 100 * c.bank_conflicts / c.shared_wavefronts if c and c.shared_wavefronts else None


def _instructions(m: Measured, ceiling: float | None) -> float | None:
    return m.instructions_per_byte


def _ms(m: Measured, ceiling: float | None) -> float | None:
    return m.timing.median_ms if m.timing is not None else None


def _percent(m: Measured, ceiling: float | None) -> float | None:
    return m.percent(ceiling) if ceiling else None


COUNTED = (
    Quantity("bytes", "bytes moved for each byte needed", _bytes, 2),
    Quantity("loads", "sectors a load (32 bytes each)", _loads),
    Quantity("stores", "sectors a store (32 bytes each)", _stores),
    Quantity("conflicts", "bank conflicts, % of wavefronts", _conflicts),
    Quantity("instructions", "PTX instructions for each byte needed", _instructions, 2),
)
TIMED = (
    Quantity("percent", "% of the ceiling", _percent, 0),
    Quantity("gbps", "GB/s", lambda m, c: m.gbps(), 0),
    Quantity("ms", "milliseconds", _ms, 4),
)


def quantity(name: str, kind: str) -> Quantity:
    """The quantity of a name, of those that a kind of target ("gpu", "virtual") has.

    Raises:
        UsageError: there is none.
    """
    here = TIMED if kind == "gpu" else COUNTED
    for q in here:
        if q.name == name:
            return q
    needed = "one of " + ", ".join(repr(q.name) for q in here)
    other = "there are no times on the virtual GPU" if kind != "gpu" else "a GPU counts nothing"
    raise usage_error("metric", brief(name), needed, f"{other}; choose one of these")


def at_percentile(m: Measured, which: str) -> Measured:
    """The same with the 20th ("low") or 80th ("high") percentile of the times as its median."""
    assert m.timing is not None
    time = m.timing.p20_ms if which == "low" else m.timing.p80_ms
    return Measured(m.moved_bytes, Timing(time, time, time))
