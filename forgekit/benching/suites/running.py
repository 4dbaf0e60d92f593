"""Run the cases of a suite, and check each result before timing it.

All measurements, in this process, on a Dask worker or on Modal, are made by `run_case`.
"""

from __future__ import annotations

import datetime
import functools
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from tqdm import tqdm

from forgekit.benching.measuring import measure
from forgekit.benching.suites.operations import (
    lacking_memory,
    make_inputs,
    moved_bytes,
    result_shape,
    why_wrong,
)
from forgekit.benching.suites.peers import AbsentError, Contender, contenders
from forgekit.benching.suites.results import MachineInfo, SuiteResults, SuiteRow, write_results
from forgekit.benching.suites.suite import Case
from forgekit.benching.timing import ceiling_gbps, host_us, package_versions
from forgekit.devices import Target, gpu_report, use_target

# The virtual GPU counts a case of this size in about a second, and skips larger cases.
VIRTUAL_ELEMENTS = 2**20


@dataclass(frozen=True)
class Settings:
    """The options of a suite run. backends, variants, peers: as for `peers.contenders`. device,
    arch: the arguments of `fk.use_target`; None selects its defaults.
    """

    backends: tuple[str, ...] = ("kernel",)
    variants: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    repeats: int = 50
    device: str | None = None
    arch: str | None = None

    def contenders(self) -> list[Contender]:
        return contenders(backends=self.backends, variants=self.variants, peers=self.peers)


@dataclass(frozen=True)
class CaseOutcome:
    """The outcome of a case. machine: None if the process never responded. too_large: True if the
    case is too large for the virtual GPU and was not run. lost: the reason why this process can no
    longer use the GPU; empty if it can.
    """

    rows: tuple[SuiteRow, ...]
    machine: MachineInfo | None
    left_out: tuple[str, ...] = ()
    too_large: bool = False
    lost: str = ""


def run_case(case: Case, settings: Settings) -> CaseOutcome:
    """Check and measure all contenders for one case; record an error as a row."""
    with use_target(settings.device, settings.arch) as target:
        machine = machine_info(target)
        if target.kind == "virtual" and case.elements > VIRTUAL_ELEMENTS:
            return CaseOutcome((), machine, too_large=True)
        if why := lacking_memory(case, target):
            return CaseOutcome(_unmeasured(case, settings, "skipped", why), machine)
        try:
            inputs = make_inputs(case, target.torch_device)
        except Exception as error:
            full = isinstance(error, torch.OutOfMemoryError)
            status = "skipped" if full else "error"
            rows = _unmeasured(case, settings, status, error_line(error))
            return CaseOutcome(rows, machine, lost="" if full else lost_context())
        return _run(case, settings, inputs, machine)


def _unmeasured(case: Case, settings: Settings, status: str, why: str) -> tuple[SuiteRow, ...]:
    """Return the rows for a case in which no contender was measured."""
    moved = moved_bytes(case)
    return tuple(SuiteRow(case, c.name, status, moved, error=why) for c in settings.contenders())


def _run(
    case: Case, settings: Settings, inputs: tuple[Tensor, ...], machine: MachineInfo
) -> CaseOutcome:
    rows: list[SuiteRow] = []
    left_out: list[str] = []
    lost = ""
    for contender in settings.contenders():
        if not contender.own and machine.device == "virtual":
            left_out.append(f"{contender.name}: it launches no kernel on the virtual GPU")
            continue
        try:
            rows.append(_measured(case, contender, inputs, settings.repeats))
        except AbsentError as error:
            left_out.append(f"{contender.name}: {error}")
        except Exception as error:
            moved, why = moved_bytes(case), error_line(error)
            rows.append(SuiteRow(case, contender.name, "error", moved, error=why))
            lost = lost_context()
            if lost:
                break
    return CaseOutcome(tuple(rows), machine, tuple(left_out), lost=lost)


def _measured(
    case: Case, contender: Contender, inputs: tuple[Tensor, ...], repeats: int
) -> SuiteRow:
    call, moved = contender.prepare(case, inputs), moved_bytes(case)
    # Otherwise, the allocator would reuse freed memory that still contains a correct result.
    inputs[0].new_full(result_shape(case), float("nan"))
    if wrong := why_wrong(case, inputs, call()):
        return SuiteRow(case, contender.name, "wrong", moved, error=wrong)
    found = measure(call, moved_bytes=moved, repeats=repeats)
    return SuiteRow(case, contender.name, "ok", moved, found.timing, found.counters)


def measure_host(results: SuiteResults, ops: Sequence[str], settings: Settings) -> None:
    """Add the host time per call with 64×64 float16 elements, in microseconds, to the results."""
    with use_target(settings.device, settings.arch) as target:
        machine = machine_info(target)
        for op in ops:
            case = Case(op, (64, 64), "float16")
            inputs, left_out = make_inputs(case, target.torch_device), []
            for contender in settings.contenders():
                try:
                    call = contender.prepare(case, inputs)
                    results.host_us.setdefault(op, {})[contender.name] = round(host_us(call), 2)
                except Exception as error:
                    left_out.append(f"{contender.name}: host time of {op}: {error_line(error)}")
            results.add((), machine, left_out)


def new_results(suite: str) -> SuiteResults:
    """Return SuiteResults without rows, with today's date and the current commit."""
    return SuiteResults(suite, datetime.date.today().isoformat(), _commit())


def run_cases(cases: Sequence[Case], settings: Settings) -> Iterator[tuple[int, CaseOutcome]]:
    """Yield (index, outcome) for each case, in order, in this process.

    A case that breaks the GPU's context ends the run; the rows of the remaining cases state this.
    """
    lost: CaseOutcome | None = None
    for index, case in enumerate(cases):
        if lost is None:
            outcome = run_case(case, settings)
            yield index, outcome
            if outcome.lost:
                lost, culprit = outcome, case
            continue
        why = f"not run: {culprit} broke the GPU's context ({lost.lost})"
        yield index, CaseOutcome(_unmeasured(case, settings, "skipped", why), lost.machine)


def failed_case(piece: tuple[Case, Settings], error: BaseException) -> CaseOutcome:
    """Return the outcome of a case whose worker never responded."""
    return CaseOutcome(_unmeasured(*piece, "error", error_line(error)), None)


def merge(
    results: SuiteResults,
    outcomes: Iterable[tuple[int, CaseOutcome]],
    *,
    total: int | None = None,
    out: Path | None = None,
) -> SuiteResults:
    """Fill `results` in the suite's order from outcomes that arrive in any order; Ctrl-C stops the
    run early.

    total: the number of outcomes, for the progress bar. out: a file that is updated after each
    outcome.
    """
    found: dict[int, CaseOutcome] = {}
    bar = tqdm(outcomes, total=total, unit="case", disable=None, file=sys.stderr)
    try:
        for index, outcome in bar:
            found[index] = outcome
            _fill(results, found)
            if out:
                write_results(results, out)
    except KeyboardInterrupt:
        results.interrupted = True
    return results


def _fill(results: SuiteResults, found: dict[int, CaseOutcome]) -> None:
    results.rows, results.machines, results.left_out = [], [], []
    for _, outcome in sorted(found.items()):
        results.add(outcome.rows, outcome.machine, outcome.left_out)
    large = sum(outcome.too_large for outcome in found.values())
    if large:
        said = f"{large} of {len(found)} cases have more than {VIRTUAL_ELEMENTS:,} elements"
        results.left_out.append(f"{said}, too many for the virtual GPU")


def exit_status(results: SuiteResults) -> int:
    """Return 130 if the run was interrupted, 1 if one of forgekit's results was wrong or failed,
    otherwise 0.
    """
    if any(row.own and row.status in ("wrong", "error") for row in results.rows):
        return 1
    return 130 if results.interrupted else 0


# -- this process's machine ------------------------------------------------------------------------
@functools.lru_cache
def machine_info(target: Target) -> MachineInfo:
    """Describe this process and its GPU; the first call measures the ceiling."""
    packages = package_versions("torch", "nvidia-cutlass-dsl", "triton", "quack-kernels")
    versions = {"python": platform.python_version(), **packages}
    if target.kind == "virtual":
        return MachineInfo("virtual", target.name, None, versions, None)
    found = gpu_report()
    versions["cuda"] = str(found.torch_cuda)
    ceiling = round(ceiling_gbps(), 1)
    return MachineInfo("gpu", target.name, found.driver, versions, ceiling)


def _commit() -> str | None:
    """Return the commit of forgekit's checkout, followed by "+" if files were changed, or None
    outside a checkout."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return None
    words = ["describe", "--always", "--exclude=*", "--abbrev=12", "--dirty=+"]
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() or None


def error_line(error: BaseException) -> str:
    """Return the type and message of an error in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = lines[0] if lines else "no message"
    return f"{type(error).__name__}: {said}"[:400]


def lost_context() -> str:
    """Return the reason why the GPU's context is broken after an error, or an empty string if it is
    intact."""
    if not torch.cuda.is_available():
        return ""
    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    except RuntimeError as error:
        return error_line(error)
    return ""
