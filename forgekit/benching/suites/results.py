"""Hold a suite's results, and read and write their JSON file (schema "forgekit-bench", version 1).

schema, version   "forgekit-bench", 1
suite             the suite's name
date, commit      ISO date; forgekit's commit, followed by "+" if files were changed, or null
interrupted       true if the suite was interrupted and cases are missing
left_out          sentences about cases that were not measured, with reasons
machines          one entry per measuring process:
  device          "gpu" or "virtual"
  gpu, driver     the GPU's name (and the virtual GPU's architecture); the driver or null
  versions        a map from packages to versions
  ceiling_gbps    GB/s of a copy of 1 GB in the same process, read plus written; null if virtual
host_us           microseconds of host time by operator and contender; {} unless --host-times
rows              one entry per case and contender, in the suite's order:
  op, shape, dtype, dim, contender
  status          "ok"; "wrong": the result is wrong, and was not timed; "error"; "skipped"
  error           the error, or the reason for skipping; null if the status is "ok"
  moved_bytes     each input read once, each output written once
  timing          on a GPU: median_ms, p20_ms, p80_ms, of calls with a cold L2 cache; or null
  counters        on the virtual GPU: the fields of forgekit.benching.measuring.Counters; or null
  gbps            moved_bytes divided by median_ms; null without timing
  percent_of_ceiling
  machine         index in machines
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from forgekit.benching.measuring import Counters
from forgekit.benching.suites.suite import DTYPES, OPERATORS, Case
from forgekit.benching.timing import Timing
from forgekit.errors import usage_error
from forgekit.output_files import write_output

Key = tuple[Case, str]
SCHEMA, VERSION = "forgekit-bench", 1
STATUSES = ("ok", "wrong", "error", "skipped")


def is_own(contender: str) -> bool:
    """Return True if a contender is one of forgekit's, with or without a backend or a variant."""
    return contender.split()[0] == "forgekit"


@dataclass(frozen=True)
class MachineInfo:
    """The machine and process that measured rows; the module's docstring explains the fields."""

    device: str
    gpu: str
    driver: str | None
    versions: dict[str, str]
    ceiling_gbps: float | None


@dataclass(frozen=True)
class SuiteRow:
    """A contender's result for a case."""

    case: Case
    contender: str
    status: str
    moved_bytes: int
    timing: Timing | None = None
    counters: Counters | None = None
    error: str | None = None
    machine: int | None = None

    @property
    def key(self) -> Key:
        """Return the key that identifies the row in another run."""
        return self.case, self.contender

    @property
    def own(self) -> bool:
        """Return True if the contender is one of forgekit's."""
        return is_own(self.contender)

    @property
    def gbps(self) -> float | None:
        """Return the rate at the median time in 10^9 bytes per second."""
        return None if self.timing is None else self.timing.gbps(self.moved_bytes)


@dataclass
class SuiteResults:
    """The results of a suite, which `add` extends while the suite runs."""

    suite: str
    date: str
    commit: str | None = None
    interrupted: bool = False
    left_out: list[str] = field(default_factory=list)
    machines: list[MachineInfo] = field(default_factory=list)
    host_us: dict[str, dict[str, float]] = field(default_factory=dict)
    rows: list[SuiteRow] = field(default_factory=list)

    def add(
        self, rows: Iterable[SuiteRow], machine: MachineInfo | None, left_out: Iterable[str] = ()
    ) -> None:
        """Add the measurements of a process; machine: None if the process never responded."""
        if machine is not None and machine not in self.machines:
            self.machines.append(machine)
        index = None if machine is None else self.machines.index(machine)
        self.rows += [dataclasses.replace(row, machine=index) for row in rows]
        self.left_out = list(dict.fromkeys([*self.left_out, *left_out]))

    @property
    def gpus(self) -> tuple[str, ...]:
        """Return the distinct names of the GPUs."""
        return tuple(dict.fromkeys(machine.gpu for machine in self.machines))

    def percent(self, row: SuiteRow) -> float | None:
        """Return a row's rate as a percentage of its machine's ceiling, or None if either is
        unknown.
        """
        ceiling = None if row.machine is None else self.machines[row.machine].ceiling_gbps
        return 100 * row.gbps / ceiling if row.gbps is not None and ceiling else None

    def to_dict(self) -> dict[str, Any]:
        """Return the results as a dict with the schema in the module's docstring."""
        return {
            "schema": SCHEMA,
            "version": VERSION,
            **vars(self),
            "machines": [asdict(machine) for machine in self.machines],
            "rows": [self._row(row) for row in self.rows],
        }

    def _row(self, row: SuiteRow) -> dict[str, Any]:
        data = asdict(row)
        return {
            **data.pop("case"),
            "shape": list(row.case.shape),
            **data,
            "timing": row.timing and {k: _rounded(v) for k, v in data["timing"].items()},
            "gbps": _rounded(row.gbps),
            "percent_of_ceiling": _rounded(self.percent(row)),
        }

    @classmethod
    def from_dict(cls, data: Any, *, name: str = "results") -> SuiteResults:
        """Create results from the output of `to_dict`.

        Raises:
            UsageError: the data does not have this schema or version.
        """
        try:
            if not isinstance(data, dict) or data.get("schema") != SCHEMA:
                raise ValueError("other content")
            if data.get("version") != VERSION:
                raise ValueError(f"version {data.get('version')}")
            found: SuiteResults = _read(cls, data, name)
            for row in found.rows:
                if row.machine is not None and row.machine >= len(found.machines):
                    raise ValueError(f"unknown machine {row.machine}")
            return found
        except (KeyError, TypeError, ValueError) as error:
            said = f"no {error}" if isinstance(error, KeyError) else str(error)
            needed = f"results of `forgekit bench --out` (schema {SCHEMA}, version {VERSION})"
            raise usage_error(name, said, needed, "measure again") from None


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")


# -- reading ------------------------------------------------------------------------------------
_KNOWN: dict[str, Sequence[Any]] = {
    "op": OPERATORS,
    "dtype": DTYPES,
    "dim": (-1, 0),
    "status": STATUSES,
}
_LEAST = {"shape": 1, "moved_bytes": 1}
_fields = functools.cache(get_type_hints)  # maps a dataclass to the types of its fields


def _read(kind: Any, value: Any, name: str) -> Any:
    """Convert a JSON value to a type, or raise KeyError, TypeError or ValueError if it is invalid.

    The JSON object for a row also contains the fields of its case.
    """
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        fields = _fields(kind).items()
        return kind(**{k: _read(of, value if k == "case" else value[k], k) for k, of in fields})
    container, inner = get_origin(kind) or kind, get_args(kind)
    if container is UnionType:  # X | None
        return None if value is None else _read(inner[0], value, name)
    if container in (list, tuple) and isinstance(value, list):
        if container is list or len(value) == len(inner):
            return container(_read(inner[0], item, name) for item in value)
    elif container is dict and isinstance(value, dict):
        return {key: _read(inner[1], item, f"{name}, {key}") for key, item in value.items()}
    elif _fits(container, value, name):
        return value
    raise ValueError(f"{name} {value!r}")


def _fits(kind: Any, value: Any, name: str) -> bool:
    """Return True if a JSON scalar has the type and is valid: strings must not be blank, integers
    must not be negative, and floats, which are times and rates, must be positive.
    """
    if name in _KNOWN:
        return value in _KNOWN[name]
    if kind is str:
        return isinstance(value, str) and bool(value.strip())
    if kind is float:
        return type(value) in (int, float) and 0 < value < math.inf
    return type(value) is kind and bool(value >= _LEAST.get(name, 0))


def read_results(file: Path) -> SuiteResults:
    """Read results from a file.

    Raises:
        UsageError: the file does not exist or does not contain results.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        remedy = "write one with `forgekit bench --out`"
        raise usage_error(str(file), error.strerror, "a file", remedy) from None
    except ValueError as error:
        raise usage_error(str(file), error, "JSON", "measure again") from None
    return SuiteResults.from_dict(data, name=str(file))


def write_results(results: SuiteResults, file: Path) -> None:
    """Write results to a file, which is replaced atomically if it exists."""
    write_output("--out", file, json.dumps(results.to_dict(), indent=1) + "\n")
