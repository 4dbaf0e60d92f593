"""Run the sanitizer on a mutant or a correct kernel, and judge the findings."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

import forgekit as fk
import forgekit.vgpu
from tests.sanitizer.bank import NOTES, Family, Planted, compile_correct

# Enough instructions for every kernel here that terminates; the others soon exceed this number.
BUDGET = 6_000


@contextmanager
def virtual_gpu() -> Iterator[None]:
    """Run the bank on the virtual GPU on every machine, because some kernels would hang a real
    GPU."""
    with fk.use_target("virtual"), forgekit.vgpu.options(budget=BUDGET, progress=False):
        yield


@dataclass(frozen=True)
class Verdict:
    """The sanitizer's verdict on a mutant. findings: all findings as text; found: True if a finding
    has the right kind; lines: True if the findings of that kind name the marked lines; stray:
    errors that are neither expected nor caused by the bug."""

    findings: tuple[str, ...]
    found: bool
    lines: bool
    stray: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.findings) or "no finding"


def judge(planted: Planted, **options: Any) -> Verdict:
    """Compile a mutant, sanitize it, and compare the findings with the bank's description.

    options: options of `fk.sanitize`; by default, the bank's number of schedules.
    """
    bug, args = planted.bug, planted.args()
    if bug.seeds and not options:
        options = {"schedule": "adversarial", "seeds": bug.seeds}
    findings = fk.sanitize(planted.compile(args), *args, **options).findings
    named = [f for f in findings if f.kind in bug.kinds]
    expected = (*bug.kinds, *bug.also, *NOTES)
    return Verdict(
        findings=tuple(map(describe, findings)),
        found=bool(named),
        lines=_lines_fit(named, planted),
        stray=tuple(describe(f) for f in findings if f.kind not in expected),
    )


def describe(finding: Any) -> str:
    """Return text such as `shared-race at tiles.py:42, tiles.py:34 (12 times)`."""
    lines = ", ".join(f"{os.path.basename(line.file)}:{line.line}" for line in finding.lines)
    return f"{finding.kind} at {lines or 'no line'} ({finding.count} times)"


def _lines_fit(named: list[Any], planted: Planted) -> bool:
    """Return True if no finding names an unmarked line, and a finding names all marked lines
    (loose: any marked line)."""
    marked = planted.lines()
    if not marked:  # a mistake in the launch, or an element that no line writes
        return True
    sets = [frozenset((line.file, line.line) for line in f.lines) for f in named]
    if not all(lines <= marked for lines in sets):
        return False
    return any(lines if planted.bug.loose else lines == marked for lines in sets)


def is_found_alone(planted: Planted, seed: int) -> bool:
    """Return True if one adversarial run finds the bug, and names only marked lines."""
    found: list[Any] = []
    options = {"schedule": "adversarial", "seed": seed, "findings": found}
    args = planted.args()
    run = planted.compile(args)
    with forgekit.vgpu.options(**options), contextlib.suppress(fk.KernelError):  # a deadlock
        run(*args)
    lines = {(at.file, at.line) for f in found if f.kind in planted.bug.kinds for at in f.lines}
    return bool(lines) and lines <= planted.lines()


def is_right(family: Family, args: tuple[Any, ...]) -> bool:
    """Return True if all outputs are right after the run."""
    want = family.want(*args)
    pairs = [(args[-1], want)] if isinstance(want, torch.Tensor) else want
    return all(bool(fk.check(got, want, on_fail="report")) for got, want in pairs)


def complaints(family: Family, *, seeds: int) -> list[str]:
    """Return findings in a correct kernel, and errors in its results, under the usual schedule and
    under `seeds` adversarial ones; the list should be empty.
    """
    run = compile_correct(family, family.args())
    schedules: list[dict[str, Any]] = [{}]
    schedules += [{"schedule": "adversarial", "seed": seed} for seed in range(seeds)]
    found = []
    for options in schedules:
        args = family.args()
        try:
            with forgekit.vgpu.options(sanitize=True, **options):
                run(*args)
        except fk.SanitizerError as error:
            found += [f"{describe(f)} {options}" for f in error.findings]
        except fk.KernelError as error:
            found.append(f"{error.kind} {options}: {error}")
        if not is_right(family, args):
            found.append(f"wrong-results {options}")
    return found


def results_are_right(planted: Planted, **options: Any) -> bool:
    """Run a mutant without the sanitizer; a stopped kernel does not count as right.

    options: `schedule` and `seed` of the virtual GPU.
    """
    args = planted.args()
    run = planted.compile(args)
    with forgekit.vgpu.options(sanitize=False, **options):
        try:
            run(*args)
        except fk.KernelError:
            return False
    return is_right(planted.family, args)
