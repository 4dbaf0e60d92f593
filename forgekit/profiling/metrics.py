"""Define the metrics (each has a short name, Nsight Compute's name, a unit and a meaning), and find
them by name.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from forgekit.errors import UsageError, brief, usage_error
from forgekit.vgpu import AccessCounts

# Maps each kind of access to its name in ncu's metrics and a description.
GLOBAL_KINDS = {
    "global_load": ("ld", "loads from global memory, including those of cp.async, as in ncu"),
    "global_store": ("st", "stores to global memory"),
    "global_atomic": ("atom", "atomic operations on global memory whose old value is used"),
    "global_reduction": ("red", "atomic operations on global memory whose old value is not used"),
    "global_async": ("ldgsts", "cp.async's reads of global memory"),
}
SHARED_KINDS = {
    "shared_load": ("ld", "loads from shared memory"),
    "shared_store": ("st", "stores to shared memory"),
    "shared_atomic": ("atom", "atomic operations on shared memory"),
    "shared_async": ("ldgsts", "cp.async's writes to shared memory"),
}

# Counts for cp.async that ncu obtains by instrumenting machine code, not from hardware counters.
_SASS_UNIT = "smsp__sass_l1tex_"


@dataclass(frozen=True)
class Metric:
    """A quantity that a profile reports.

    ncu: Nsight Compute's name, or "" if ncu has no equivalent (ncu counts machine instructions, but
    this table counts PTX instructions). meaning: a description. ratio: for a derived metric, its
    numerator, denominator and factor, and its value if the denominator is zero.
    """

    name: str
    ncu: str
    unit: str
    meaning: str
    ratio: tuple[str, str, float, float] | None = None

    def of(self, values: Counter[str]) -> int | float:
        """Compute the metric's value from the counted values."""
        if self.ratio is None:
            return values[self.name]
        above, below, factor, nothing = self.ratio
        return values[above] * factor / values[below] if values[below] else nothing

    def __repr__(self) -> str:
        known = f" ({self.ncu})" if self.ncu else ""
        return f"{self.name}{known}, {self.unit}: {self.meaning}"


_GENERAL = (
    Metric("warp_instructions", "", "PTX instructions",
           "instructions executed, once per warp; machine code has a different number"),
    Metric("thread_instructions", "", "PTX instructions",
           "instructions executed, once per active lane"),
    Metric("thread_efficiency", "", "%", "active lanes per instruction, as a percentage of 32",
           ("thread_instructions", "warp_instructions", 100 / 32, 100.0)),
    Metric("divergent_branches", "", "branches",
           "branches at which the lanes of one warp diverged"),
    Metric("unique_bytes_read", "", "bytes",
           "distinct bytes of device memory read: each must be read at least once"),
    Metric("unique_bytes_written", "", "bytes",
           "distinct bytes of device memory written: each must be written at least once"),
)  # fmt: skip


def _of_kind(kind: str, op: str, words: str) -> list[Metric]:
    """Return the metrics for one kind of access: counts and ratios."""
    in_hardware = not kind.endswith("async")
    prefix = "l1tex__" if in_hardware else _SASS_UNIT
    if kind.startswith("global"):
        unit, pipe = "sectors", f"pipe_lsu_mem_global_op_{op}"
        requests, units = f"{prefix}t_requests_{pipe}.sum", f"{prefix}t_sectors_{pipe}.sum"
        each = f"l1tex__average_t_sectors_per_request_{pipe}.ratio" if in_hardware else ""
        counted = "32-byte sectors, distinct within each request"
        ideal = "the minimum number of sectors for the distinct bytes of each request"
        moved = f"l1tex__t_bytes_{pipe}.sum" if in_hardware else ""
        more, place = (f"{kind}_bytes_moved", moved, "bytes", f"{words}: 32 bytes per sector"), 5
    else:
        unit, end = "wavefronts", f"mem_shared_op_{op}.sum"
        requests, units, each = "", f"{prefix}data_pipe_lsu_wavefronts_{end}", ""
        counted = "passes over the 32 banks"
        ideal = "passes needed without bank conflicts"
        # ncu counts conflicts of cp.async when the data arrives, so its count varies between runs.
        conflicts = f"l1tex__data_bank_conflicts_pipe_lsu_{end}" if in_hardware else ""
        beyond = f"{words}: wavefronts beyond the ideal"
        more, place = (f"{kind}_bank_conflicts", conflicts, unit, beyond), 3
    found = [
        Metric(f"{kind}_requests", requests, "requests",
               f"{words}: warp instructions with at least one active lane"),
        Metric(f"{kind}_{unit}", units, unit, f"{words}: {counted}"),
        Metric(f"{kind}_ideal_{unit}", "", unit, f"{words}: {ideal}"),
        Metric(f"{kind}_{unit}_per_request", each, unit,
               f"{words}: {unit} per request on average; 0 without requests",
               (f"{kind}_{unit}", f"{kind}_requests", 1, 0.0)),
        Metric(f"{kind}_bytes_asked", "", "bytes", f"{words}: active lanes times bytes per lane"),
        Metric(f"{kind}_efficiency", "", "%", f"{words}: ideal {unit} as a percentage of {unit}",
               (f"{kind}_ideal_{unit}", f"{kind}_{unit}", 100, 100.0)),
    ]  # fmt: skip
    found.insert(place, Metric(*more))
    return found


METRICS: tuple[Metric, ...] = (
    *_GENERAL,
    *(m for kind, about in (GLOBAL_KINDS | SHARED_KINDS).items() for m in _of_kind(kind, *about)),
)
_BY_NAME = {m.name: m for m in METRICS} | {m.ncu: m for m in METRICS if m.ncu}

# Maps ncu's metrics of machine code to the closest metrics in this table.
_MACHINE_CODE = {
    "smsp__inst_executed.sum": "warp_instructions",
    "smsp__thread_inst_executed.sum": "thread_instructions",
    "smsp__thread_inst_executed_per_inst_executed.ratio": "thread_efficiency",
    "smsp__sass_branch_targets_threads_divergent.sum": "divergent_branches",
}


def metric(name: str) -> Metric:
    """Return the metric with this short name or Nsight Compute name. If there is none, raise
    UsageError; its message lists similar names.
    """
    name = name if isinstance(name, str) else brief(name)
    found = _BY_NAME.get(name)
    if found is not None:
        return found
    if name in _MACHINE_CODE:
        needed = "a metric of PTX instructions, because machine code is not counted"
        raise usage_error("metric", name, needed, f"use {_MACHINE_CODE[name]}")
    near = difflib.get_close_matches(str(name), _BY_NAME, n=3, cutoff=0.5)
    remedy = f"did you mean {' or '.join(near)}?" if near else "see Profile.metrics for all names"
    raise usage_error("metric", brief(name), "the name of a metric", remedy)


class ByName(ABC):
    """A base class that provides metrics as items, by short name or Nsight Compute name, and as
    attributes, by short name.
    """

    @abstractmethod
    def __getitem__(self, name: str) -> int | float: ...

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            known = metric(name)
        except UsageError as error:
            raise AttributeError(str(error)) from None
        return self[known.name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(m.name for m in METRICS)]


class Counts(ByName):
    """Counted values, from which every metric is computed.

    accesses: maps each kind of memory access to its counts.
    """

    def __init__(
        self, values: Mapping[str, int] | None = None, accesses: Iterable[AccessCounts] = ()
    ) -> None:
        self.accesses = {a.kind: a for a in accesses}
        self.values = Counter(values or {})
        for a in self.accesses.values():
            counted = {
                "requests": a.requests, f"{a.unit}s": a.units, f"ideal_{a.unit}s": a.ideal,
                "bytes_asked": a.bytes_asked, "bytes_moved": a.bytes_moved,
                "bank_conflicts": 0 if a.is_global else a.units - a.ideal,
            }  # fmt: skip
            # ncu's `op_ld` includes the reads of cp.async.
            kinds = (a.kind, "global_load") if a.kind == "global_async" else (a.kind,)
            self.values.update({f"{k}_{n}": count for k in kinds for n, count in counted.items()})

    def __getitem__(self, name: str) -> int | float:
        return metric(name).of(self.values)

    def __add__(self, other: Counts) -> Counts:
        return total([self, other])

    def to_dict(self) -> dict[str, int | float]:
        """Map short names to values, for metrics that are not 0 or that derive from a nonzero
        count.
        """
        kinds = (*GLOBAL_KINDS, *SHARED_KINDS)
        there = tuple(f"{k}_" for k in kinds if self.values[f"{k}_requests"])
        return {
            m.name: m.of(self.values)
            for m in METRICS
            if self.values[m.name] or m.name == "thread_efficiency" or m.name.startswith(there)
        }

    def __repr__(self) -> str:
        width = max((len(n) for n in self.to_dict()), default=0)
        return "\n".join(
            f"{name:<{width}}  {value:,.1f}" if isinstance(value, float)
            else f"{name:<{width}}  {value:,}"
            for name, value in self.to_dict().items()
        )  # fmt: skip


def total(parts: Iterable[Counts]) -> Counts:
    result = Counts()
    for part in parts:
        result.values.update(part.values)
        for kind, a in part.accesses.items():
            before = result.accesses.get(kind)
            result.accesses[kind] = a if before is None else before + a
    return result
