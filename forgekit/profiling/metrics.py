"""The one table of metrics: short name, Nsight Compute's name, unit, meaning; and how to ask."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forgekit.errors import UsageError, brief, usage_error

if TYPE_CHECKING:
    from forgekit.vgpu.counters.costs import AccessCounts

# kind -> (ncu's op, what it is called in a sentence)
GLOBAL_KINDS = {
    "global_load": ("ld", "loads from global memory, cp.async's included, as in ncu"),
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

Values = Mapping[str, int]

# Of cp.async, ncu counts by instrumenting the machine code what it does not count in hardware.
_SASS_UNIT = "smsp__sass_l1tex_"


@dataclass(frozen=True)
class Metric:
    """One quantity of a profile.

    name: the short name; ncu: Nsight Compute's name, "" where ncu counts nothing like it (its
    instructions are those of machine code, these are PTX's); unit; meaning: in a sentence;
    compute: the value from the counted ones.
    """

    name: str
    ncu: str
    unit: str
    meaning: str
    compute: Callable[[Values], int | float]

    def __repr__(self) -> str:
        known = f" ({self.ncu})" if self.ncu else ""
        return f"{self.name}{known}, {self.unit}: {self.meaning}"


def _value(values: Values, name: str) -> int:
    """A counted value; ncu's `op_ld` counts what cp.async reads among the loads."""
    found = values.get(name, 0)
    if name.startswith("global_load_"):
        found += values.get(name.replace("global_load_", "global_async_"), 0)
    return found


def _counted(name: str, ncu: str, unit: str, meaning: str) -> Metric:
    return Metric(name, ncu, unit, meaning, lambda v: _value(v, name))


def _ratio(name: str, ncu: str, unit: str, meaning: str, *parts: str | float) -> Metric:
    """parts: numerator, denominator, factor, and the value where the denominator is 0."""
    above, below, factor, nothing = parts

    def compute(v: Values) -> float:
        whole = _value(v, str(below))
        return _value(v, str(above)) * float(factor) / whole if whole else float(nothing)

    return Metric(name, ncu, unit, meaning, compute)


def _general() -> list[Metric]:
    return [
        _counted("warp_instructions", "", "PTX instructions",
                 "instructions executed, once for each warp; machine code has another number"),
        _counted("thread_instructions", "", "PTX instructions",
                 "instructions executed, once for each active lane"),
        _ratio("thread_efficiency", "", "%", "active lanes of an instruction, of 32",
               "thread_instructions", "warp_instructions", 100 / 32, 100.0),
        _counted("divergent_branches", "", "branches",
                 "branches at which the lanes of one warp went both ways"),
        _counted("unique_bytes_read", "", "bytes",
                 "distinct bytes of device memory read: each has to come from there once"),
        _counted("unique_bytes_written", "", "bytes",
                 "distinct bytes of device memory written: each has to go there once"),
    ]  # fmt: skip


def _of_global(kind: str, op: str, words: str) -> list[Metric]:
    pipe = f"pipe_lsu_mem_global_op_{op}"
    hardware = kind != "global_async"
    unit = "l1tex__" if hardware else _SASS_UNIT
    bytes_name = f"l1tex__t_bytes_{pipe}.sum" if hardware else ""
    average = f"l1tex__average_t_sectors_per_request_{pipe}.ratio" if hardware else ""
    return [
        _counted(f"{kind}_requests", f"{unit}t_requests_{pipe}.sum", "requests",
                 f"{words}: instructions of a warp with at least one active lane"),
        _counted(f"{kind}_sectors", f"{unit}t_sectors_{pipe}.sum", "sectors",
                 f"{words}: 32-byte sectors, those of one request counted once"),
        _counted(f"{kind}_ideal_sectors", "", "sectors",
                 f"{words}: the fewest sectors that hold the distinct bytes of each request"),
        _ratio(f"{kind}_sectors_per_request", average, "sectors",
               f"{words}: sectors of a request on average; 0 if there is none",
               f"{kind}_sectors", f"{kind}_requests", 1, 0.0),
        _counted(f"{kind}_bytes_asked", "", "bytes", f"{words}: active lanes times their width"),
        Metric(f"{kind}_bytes_moved", bytes_name, "bytes",
               f"{words}: 32 bytes a sector", lambda v: 32 * _value(v, f"{kind}_sectors")),
        _ratio(f"{kind}_efficiency", "", "%", f"{words}: ideal sectors of 100 sectors",
               f"{kind}_ideal_sectors", f"{kind}_sectors", 100, 100.0),
    ]  # fmt: skip


def _of_shared(kind: str, op: str, words: str) -> list[Metric]:
    end = f"mem_shared_op_{op}.sum"
    unit = _SASS_UNIT if kind == "shared_async" else "l1tex__"
    # ncu's counter of cp.async's conflicts counts data as they arrive, and differs between runs.
    conflicts = "" if kind == "shared_async" else f"l1tex__data_bank_conflicts_pipe_lsu_{end}"
    return [
        _counted(f"{kind}_requests", "", "requests",
                 f"{words}: instructions of a warp with at least one active lane"),
        _counted(f"{kind}_wavefronts", f"{unit}data_pipe_lsu_wavefronts_{end}", "wavefronts",
                 f"{words}: passes over the 32 banks"),
        _counted(f"{kind}_ideal_wavefronts", "", "wavefronts",
                 f"{words}: passes that would do without bank conflicts"),
        Metric(f"{kind}_bank_conflicts", conflicts, "wavefronts",
               f"{words}: wavefronts beyond the ideal",
               lambda v: v.get(f"{kind}_wavefronts", 0) - v.get(f"{kind}_ideal_wavefronts", 0)),
        _ratio(f"{kind}_wavefronts_per_request", "", "wavefronts",
               f"{words}: wavefronts of a request on average; 0 if there is none",
               f"{kind}_wavefronts", f"{kind}_requests", 1, 0.0),
        _counted(f"{kind}_bytes_asked", "", "bytes", f"{words}: active lanes times their width"),
        _ratio(f"{kind}_efficiency", "", "%", f"{words}: ideal wavefronts of 100 wavefronts",
               f"{kind}_ideal_wavefronts", f"{kind}_wavefronts", 100, 100.0),
    ]  # fmt: skip


METRICS: tuple[Metric, ...] = (
    *_general(),
    *(m for kind, about in GLOBAL_KINDS.items() for m in _of_global(kind, *about)),
    *(m for kind, about in SHARED_KINDS.items() for m in _of_shared(kind, *about)),
)
_BY_NAME = {m.name: m for m in METRICS} | {m.ncu: m for m in METRICS if m.ncu}

# What ncu counts in machine code, and its neighbour here.
_MACHINE_CODE = {
    "smsp__inst_executed.sum": "warp_instructions",
    "smsp__thread_inst_executed.sum": "thread_instructions",
    "smsp__thread_inst_executed_per_inst_executed.ratio": "thread_efficiency",
    "smsp__sass_branch_targets_threads_divergent.sum": "divergent_branches",
}


def metric(name: str) -> Metric:
    """The metric of a short name or of Nsight Compute's name.

    Raises:
        UsageError: there is none; with names that are near.
    """
    name = name if isinstance(name, str) else brief(name)
    found = _BY_NAME.get(name)
    if found is not None:
        return found
    if name in _MACHINE_CODE:
        remedy = f"ask for {_MACHINE_CODE[name]}, which counts PTX instructions"
        raise usage_error("metric", name, "no count of machine code", remedy)
    near = difflib.get_close_matches(str(name), _BY_NAME, n=3, cutoff=0.5)
    remedy = f"did you mean {' or '.join(near)}?" if near else "Profile.metrics lists them all"
    raise usage_error("metric", brief(name), "the name of a metric", remedy)


class ByName(ABC):
    """Metrics as items, by their names or Nsight Compute's, and by their names as attributes."""

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

    accesses: kind of memory access -> what it cost.
    """

    def __init__(self, values: Values | None = None, accesses: Iterable[AccessCounts] = ()) -> None:
        self._values = Counter(values or {})
        self.accesses: dict[str, AccessCounts] = {}
        for a in accesses:
            self.accesses[a.kind] = a
            self._values[f"{a.kind}_requests"] = a.requests
            self._values[f"{a.kind}_{a.unit}s"] = a.units
            self._values[f"{a.kind}_ideal_{a.unit}s"] = a.ideal
            self._values[f"{a.kind}_bytes_asked"] = a.bytes_asked

    def __getitem__(self, name: str) -> int | float:
        return metric(name).compute(self._values)

    def __add__(self, other: Counts) -> Counts:
        return total([self, other])

    def to_dict(self) -> dict[str, int | float]:
        """Every metric that is not 0 or has a count behind it, by its short name."""
        has = {k for k, v in self._values.items() if v} | {"thread_efficiency"}
        kinds = {k for k in (*GLOBAL_KINDS, *SHARED_KINDS) if f"{k}_requests" in has}
        if "global_async" in kinds:
            kinds.add("global_load")
        return {
            m.name: m.compute(self._values)
            for m in METRICS
            if m.name in has or any(m.name.startswith(kind) for kind in kinds)
        }

    def __repr__(self) -> str:
        width = max((len(n) for n in self.to_dict()), default=0)
        return "\n".join(
            f"{name:<{width}}  {value:,.1f}" if isinstance(value, float)
            else f"{name:<{width}}  {value:,}"
            for name, value in self.to_dict().items()
        )  # fmt: skip


def total(parts: Iterable[Counts]) -> Counts:
    """The sum of counts."""
    result = Counts()
    for part in parts:
        result._values.update(part._values)
        for kind, a in part.accesses.items():
            before = result.accesses.get(kind)
            result.accesses[kind] = a if before is None else before + a
    return result
