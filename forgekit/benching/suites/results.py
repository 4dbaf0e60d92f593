"""The results of a suite, and the JSON file that holds them (schema "forgekit-bench", version 1).

schema, version   "forgekit-bench", 1
suite             the suite's name
date, commit      ISO date; forgekit's commit, "+" behind it where files were changed, or null
interrupted       true where the suite was broken off: cases are missing
left_out          sentences: what was not measured, and why
machines          one for each process that measured:
  device          "gpu" or "virtual"
  gpu, driver     the GPU's name (the virtual GPU's: with its architecture); driver or null
  versions        package -> version
  ceiling_gbps    GB/s of a copy of 1 GB in the same process, read plus written; null if virtual
host_us           operator -> contender -> microseconds of host time; {} unless --host-times
rows              one for each case and contender, in the suite's order:
  op, shape, dtype, dim, contender
  status          "ok"; "wrong": the result is, and nothing was timed; "error"; "skipped"
  error           what is wrong, or why it was skipped; null where the status is "ok"
  moved_bytes     each input read once, each output written once
  timing          on a GPU: median_ms, p20_ms, p80_ms, of calls with a cold L2 cache; or null
  counters        on the virtual GPU: those of forgekit.benching.counters.Counters; or null
  gbps            moved_bytes by median_ms; null where there is no timing
  percent_of_ceiling
  machine         index in machines
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from forgekit.benching.counters import Counters
from forgekit.benching.suites.suite import DTYPES, OPS, Case
from forgekit.benching.timing import Timing
from forgekit.errors import usage_error
from forgekit.output_files import write_output

Key = tuple[Case, str]
SCHEMA, VERSION = "forgekit-bench", 1
STATUSES = ("ok", "wrong", "error", "skipped")


@dataclass(frozen=True)
class MachineInfo:
    """Where a row was measured; the module's text says what each field is."""

    device: str
    gpu: str
    driver: str | None
    versions: dict[str, str]
    ceiling_gbps: float | None


@dataclass(frozen=True)
class SuiteRow:
    """One contender at one case."""

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
        """What makes it the same row in another run."""
        return self.case, self.contender

    @property
    def own(self) -> bool:
        """Whether it is one of forgekit's."""
        return self.contender.split()[0] == "forgekit"

    @property
    def gbps(self) -> float | None:
        """10^9 bytes a second at the median."""
        return None if self.timing is None else self.timing.gbps(self.moved_bytes)


@dataclass
class SuiteResults:
    """What a suite gave, so far."""

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
        """Take in what one process measured; machine: None where it never answered."""
        if machine is not None and machine not in self.machines:
            self.machines.append(machine)
        index = None if machine is None else self.machines.index(machine)
        self.rows += [dataclasses.replace(row, machine=index) for row in rows]
        self.left_out = list(dict.fromkeys([*self.left_out, *left_out]))

    @property
    def gpus(self) -> tuple[str, ...]:
        """The names of the GPUs, each once."""
        return tuple(dict.fromkeys(machine.gpu for machine in self.machines))

    def percent(self, row: SuiteRow) -> float | None:
        """Of the ceiling of the process that measured it."""
        ceiling = None if row.machine is None else self.machines[row.machine].ceiling_gbps
        return 100 * row.gbps / ceiling if row.gbps is not None and ceiling else None

    def to_dict(self) -> dict[str, Any]:
        """The schema of the module's text."""
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "suite": self.suite,
            "date": self.date,
            "commit": self.commit,
            "interrupted": self.interrupted,
            "left_out": self.left_out,
            "machines": [asdict(machine) for machine in self.machines],
            "host_us": self.host_us,
            "rows": [self._row(row) for row in self.rows],
        }

    def _row(self, row: SuiteRow) -> dict[str, Any]:
        timing = row.timing and {k: _rounded(v) for k, v in asdict(row.timing).items()}
        return {
            "op": row.case.op,
            "shape": list(row.case.shape),
            "dtype": row.case.dtype,
            "dim": row.case.dim,
            "contender": row.contender,
            "status": row.status,
            "error": row.error,
            "moved_bytes": row.moved_bytes,
            "timing": timing,
            "counters": row.counters and asdict(row.counters),
            "gbps": _rounded(row.gbps),
            "percent_of_ceiling": _rounded(self.percent(row)),
            "machine": row.machine,
        }

    @classmethod
    def from_dict(cls, data: Any, *, name: str = "results") -> SuiteResults:
        """What `to_dict` gave.

        Raises:
            UsageError: it is no such thing, or of another version.
        """
        try:
            _check_schema(data)
            _typed(cls, data)
            machines = [_read_machine(m) for m in data["machines"]]
            _check_words(data["left_out"], data["host_us"])
            rows = [_read_row(row, len(machines)) for row in data["rows"]]
            return cls(**_typed(cls, {**data, "machines": machines, "rows": rows}))
        except (KeyError, TypeError, ValueError) as error:
            said = f"no {error}" if isinstance(error, KeyError) else str(error)
            needed = f"results of `forgekit bench --out` (schema {SCHEMA}, version {VERSION})"
            raise usage_error(name, said, needed, "measure it again") from None


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")


# -- reading ------------------------------------------------------------------------------------
_PLAIN: dict[str, tuple[type, ...]] = {
    "str": (str,), "int": (int,), "bool": (bool,), "float": (int, float), "None": (type(None),),
    "dict": (dict,), "list": (list,),
}  # fmt: skip


def _typed(kind: type, data: Any) -> dict[str, Any]:
    """The fields of a dataclass out of a dict; TypeError or KeyError where one is amiss."""
    found = {}
    for f in dataclasses.fields(kind):
        value = data[f.name]
        names = [name.partition("[")[0] for name in str(f.type).split(" | ")]
        if all(name in _PLAIN for name in names):  # others are read already
            fits = any(isinstance(value, _PLAIN[name]) for name in names)
            if not fits or (isinstance(value, bool) and "bool" not in names):
                raise TypeError(f"{f.name} {value!r}")
        found[f.name] = value
    return found


def _check_above_0(name: str, value: Any) -> None:
    """Raise ValueError for what is no number, or none above 0."""
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    if not fits or not 0 < value < float("inf"):
        raise ValueError(f"{name} {value!r}")


def _check_schema(data: Any) -> None:
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ValueError("something else")
    if data.get("version") != VERSION:
        raise ValueError(f"version {data.get('version')}")


def _read_machine(data: Any) -> MachineInfo:
    machine = MachineInfo(**_typed(MachineInfo, data))
    if machine.ceiling_gbps is not None:
        _check_above_0("ceiling_gbps", machine.ceiling_gbps)
    for name, version in machine.versions.items():
        if not isinstance(version, str):
            raise TypeError(f"versions, {name} {version!r}")
    return machine


def _check_words(left_out: Any, host_us: Any) -> None:
    if any(not isinstance(text, str) for text in left_out):
        raise TypeError(f"left_out {left_out!r}")
    for op, found in host_us.items():
        if not isinstance(found, dict):
            raise TypeError(f"host_us, {op} {found!r}")
        for name, value in found.items():
            _check_above_0(f"host_us, {op}, {name}", value)


def _read_row(data: Any, machines: int) -> SuiteRow:
    timing, counters = data["timing"], data["counters"]
    read = {
        **data,
        "case": _read_case(data),
        "timing": None if timing is None else Timing(**_typed(Timing, timing)),
        "counters": None if counters is None else Counters(**_typed(Counters, counters)),
    }
    row = SuiteRow(**_typed(SuiteRow, read))
    if row.status not in STATUSES:
        raise ValueError(f"status {row.status!r}")
    if not row.contender.strip():
        raise ValueError(f"contender {row.contender!r}")
    if row.machine is not None and not 0 <= row.machine < machines:
        raise ValueError(f"machine {row.machine}")
    _check_above_0("moved_bytes", row.moved_bytes)
    for name, value in asdict(row.timing).items() if row.timing else ():
        _check_above_0(name, value)
    for name, value in asdict(row.counters).items() if row.counters else ():
        if value < 0:
            raise ValueError(f"{name} {value}")
    return row


def _read_case(data: Any) -> Case:
    shape = data["shape"]
    fits = isinstance(shape, list) and len(shape) == 2
    if not fits or any(type(size) is not int or size < 1 for size in shape):
        raise ValueError(f"shape {shape!r}")
    case = Case(**_typed(Case, {**data, "shape": tuple(shape)}))
    for name, value, known in (("op", case.op, OPS), ("dtype", case.dtype, DTYPES),
                               ("dim", case.dim, (-1, 0))):  # fmt: skip
        if value not in known:
            raise ValueError(f"{name} {value!r}")
    return case


def read_results(file: Path) -> SuiteResults:
    """Results from a file.

    Raises:
        UsageError: there is no such file, or it holds something else.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        remedy = "`forgekit bench --out` writes one"
        raise usage_error(str(file), error.strerror, "a file", remedy) from None
    except ValueError as error:
        raise usage_error(str(file), error, "JSON", "measure it again") from None
    return SuiteResults.from_dict(data, name=str(file))


def write_results(results: SuiteResults, file: Path) -> None:
    """Results to the file of --out; what was there is replaced at once or not at all."""
    write_output("--out", file, json.dumps(results.to_dict(), indent=1) + "\n")
