"""sanitize(): run a kernel in several orders and find undefined behaviour.

The sanitizer itself (`forgekit.vgpu.sanitizer`) observes every run on the virtual GPU. This module
collects its findings instead of raising them, and runs the kernel again under adversarial
schedules, which turn hidden mistakes into wrong values.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from forgekit.arguments import checked, require_one_of
from forgekit.checking.compare import compare
from forgekit.compiling.replay import bind, run_again
from forgekit.errors import KernelError, PtxSyntaxError, UnsupportedPtxError, brief, usage_error
from forgekit.show import Shown
from forgekit.text import plural
from forgekit.tracing.recordings import recorded
from forgekit.vgpu import HARDWARE, Finding

if TYPE_CHECKING:
    from forgekit.compiling.compiled import CompiledKernel

MOST_SEEDS = 10_000  # maximum number of adversarial schedules
SEEDS = 3  # default number of adversarial schedules


@dataclass(frozen=True)
class Difference:
    """An output that differs between the usual and an adversarial schedule.

    seed: the seed of the adversarial schedule; tensor: the output's name; wrong: how many of its
    `total` elements differ by more than rounding from the result in the usual order.
    """

    seed: int
    tensor: str
    wrong: int
    total: int

    def __str__(self) -> str:
        return (
            f"{self.wrong:,} of {plural(self.total, 'element')} of {self.tensor} "
            f"{'differs' if self.wrong == 1 else 'differ'} under an adversarial schedule "
            f"(seed {self.seed})."
        )


@dataclass(frozen=True, repr=False)
class SanitizerReport(Shown):
    """The sanitizer's findings; the report's truth value is True if it contains only notes.

    Attributes:
        name: the host function's name.
        findings: the findings, errors first; each has `kind`, `severity`, `lines`, `block`,
            `thread`, `place`, `count` and `message`.
        differences: the outputs that depend on the order in which threads run.
        schedules: the completed runs, such as `default` and `adversarial, seed 0`.
    """

    name: str
    findings: list[Finding]
    differences: list[Difference] = field(default_factory=list)
    schedules: tuple[str, ...] = ()

    @property
    def errors(self) -> list[Finding]:
        return [f for f in self.findings if f.severity == "error"]

    def __bool__(self) -> bool:
        return not self.errors and not self.differences

    @property
    def headline(self) -> str:
        """Return a one-line summary, such as `transpose: clean (4 runs)`."""
        runs = plural(len(self.schedules), "run")
        if not self.findings and not self.differences:
            return f"{self.name}: clean ({runs})"
        parts = []
        errors, notes = len(self.errors), len(self.findings) - len(self.errors)
        if errors:
            parts.append(plural(errors, "finding"))
        if self.differences:
            parts.append("results that differ between schedules")
        if notes:
            parts.append(plural(notes, "note"))
        return f"{self.name}: {', '.join(parts)} ({runs})"

    @property
    def summary(self) -> str:
        return "\n\n".join([self.headline, *(f.counted for f in self.findings), *self.changes])

    @property
    def changes(self) -> list[str]:
        """Describe the results that differ between runs."""
        texts = [str(d) for d in self.differences]
        if texts and not self.errors:
            texts.append("No finding explains this. In these runs, a register that was never "
                         "written contains noise, so check that every register is initialised. "
                         "An atomic counter that assigns output positions also makes results "
                         "depend on the order of threads.")  # fmt: skip
        return texts


@checked()
def sanitize(
    kernel: CompiledKernel,
    *args: Any,
    schedule: str = "default",
    seeds: int | Iterable[int] | None = None,
) -> SanitizerReport:
    """Run a kernel on the virtual GPU and report its mistakes, without raising them as errors.

    The kernel runs on copies, so your tensors do not change, and its printed output is hidden.

    Args:
        kernel: a result of `forgekit.compile`, for a GPU or the virtual GPU.
        args: its arguments, as in a call.
        schedule: "adversarial" also runs the kernel under adversarial schedules, in which threads
            run in other orders, asynchronous copies arrive early or late, and unwritten memory and
            registers contain noise, and compares the results.
        seeds: the number of adversarial schedules, or a list of their seeds; default 3.

    Raises:
        UsageError: the kernel is not compiled, it does not accept the arguments, or the schedule is
            unknown.
        UnsupportedPtxError: the kernel uses PTX that the virtual GPU does not support.
    """
    require_one_of("schedule", schedule, HARDWARE.SCHEDULES)
    if schedule != "adversarial" and seeds is not None:
        remedy = 'add schedule="adversarial"'
        raise usage_error("seeds", brief(seeds), "an adversarial schedule", remedy)
    drawn = seed_numbers(seeds) if schedule == "adversarial" else []
    args = bind("sanitize", kernel, args)
    call = recorded(kernel, args, findings=True)
    findings = [*(call.recording.findings or ()), *_of_error(call.error)]
    differences: list[Difference] = []
    schedules = ["default"]
    for seed in drawn:
        schedules.append(f"adversarial, seed {seed}")
        results, error = in_another_order(kernel, args, findings, seed)
        if call.error is None and error is None:
            differences += _compare(kernel, call.after, results, seed)
    findings += _of_the_compiler(kernel)
    return SanitizerReport(kernel.name, Finding.distinct(findings), differences, tuple(schedules))


def seed_numbers(seeds: int | Iterable[int] | None) -> list[int]:
    """Return the seeds that a count, a list or None (the default) selects."""
    seeds = SEEDS if seeds is None else seeds
    if type(seeds) is int and 1 <= seeds <= MOST_SEEDS:
        return list(range(seeds))
    if isinstance(seeds, Iterable) and not isinstance(seeds, str) and not hasattr(seeds, "ndim"):
        found = list(seeds)
        if found and all(isinstance(seed, int) and seed >= 0 for seed in found):
            return found
    needed = f"a count from 1 to {MOST_SEEDS:,}, or a list of nonnegative integers"
    raise usage_error("seeds", brief(seeds), needed, f"leave it out to run {SEEDS} seeds")


def in_another_order(
    kernel: CompiledKernel, args: tuple[Any, ...], findings: list[Finding], seed: int
) -> tuple[tuple[Any, ...], KernelError | None]:
    """Run the kernel under an adversarial schedule on fresh copies of the arguments, and add its
    findings. Return the arguments after the run, and the error that stopped the kernel, if any.
    """
    copies: tuple[Any, ...] = ()
    error = None
    try:
        copies = run_again(
            kernel, args, sanitize=True, findings=findings, schedule="adversarial", seed=seed
        )
    except KernelError as stop:
        error = stop.with_traceback(None)
    findings += _of_error(error)
    return copies, error


def _of_error(error: KernelError | None) -> list[Finding]:
    """Convert the error that stopped the kernel into a finding."""
    if error is None:
        return []
    if isinstance(error, UnsupportedPtxError | PtxSyntaxError):
        raise error
    block, thread = error.who or (None, None)
    kind, lines = error.kind or "trap", tuple(error.lines)
    return [Finding(kind, lines, block, thread, error.place, whole=str(error))]


def _of_the_compiler(kernel: CompiledKernel) -> list[Finding]:
    """Return notes on register spills, if there is machine code."""
    notes = []
    for name, used in kernel.resources.items():
        if used.spill_bytes:
            sentences = (
                f"Each thread spills {used.spill_bytes:,} bytes to local memory, because "
                f"{used.registers} registers per thread are not enough.",
            )
            advice = "Keep fewer elements per thread, or use a smaller block."
            notes.append(
                Finding("register-pressure", sentences=sentences, advice=advice, kernel=name)
            )
    return notes


def _compare(
    kernel: CompiledKernel, usual: tuple[Any, ...], other: tuple[Any, ...], seed: int
) -> list[Difference]:
    differences = []
    for p, want, got in zip(kernel.runtime, usual, other, strict=True):
        if not hasattr(want, "numel") or bool(
            ((got == want) | (got != got) & (want != want)).all()
        ):
            continue  # `compare` rejects results that contain only NaN
        report = compare(got, want)
        if report.wrong:
            differences.append(Difference(seed, p.name, report.wrong, report.total))
    return differences
