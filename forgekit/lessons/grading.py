"""Define the parts of an exercise (texts, solution, gates), and run the gates on a submission."""

from __future__ import annotations

import functools
import inspect
import operator
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forgekit import course
from forgekit.errors import ForgekitError, is_user_file, user_line
from forgekit.lessons.gates.gate import GateError
from forgekit.lessons.gates.submission import Group, Submission, file_text
from forgekit.lessons.report import GradeReport, Pass
from forgekit.lessons.skeleton import PLACEHOLDER, Source, read_source

if TYPE_CHECKING:
    from forgekit.checking.check_report import CheckReport
    from forgekit.compiling.compiled import CompiledKernel
    from forgekit.lessons.gates.submission import Case


@dataclass(frozen=True)
class Definition:
    """The parts of an exercise; `Exercise` describes each attribute."""

    title: str
    task: str
    hints: tuple[str, str, str]
    analysis: str
    entry: str
    groups: Sequence[Group]
    praise: str = ""
    given: Any = None
    arch: str | None = None
    stays: bool = False
    name: str = ""
    folder: Path = Path()

    @property
    def week(self) -> str:
        return self.name.partition("/")[0]

    @property
    def notebook(self) -> str:
        """Return the notebook that grades the exercise, such as `07_transpose`; "" if none does."""
        week, _, short = self.name.partition("/")
        return course.notebooks_of(self.folder.parents[1], week).get(short, "")

    @functools.cached_property
    def source(self) -> Source:
        """Return the parsed solution file."""
        return read_source(self.folder / "solution.py")

    @property
    def is_whole_kernel(self) -> bool:
        """Return True if the student writes a kernel from an empty body, including its launch."""
        return ".launch(" in self.source.solution and ".launch(" not in self.source.skeleton

    def reference(self) -> Any:
        """Return the solution's function or value; gates compare counts with it."""
        return operator.attrgetter(self.entry)(course.load_part(self.folder, "solution"))

    def as_given(self) -> Any:
        """Return the skeleton's function or value; gates compare times with it."""
        return operator.attrgetter(self.entry)(self.source.skeleton_module())

    def solution_text(self) -> str:
        """Return the solution as Markdown: code, then analysis."""
        return f"```python\n{self.source.solution}```\n\n{self.analysis.strip()}\n"

    def is_skeleton(self, submission: Any) -> bool:
        """Return True if the submission is a function whose cell or file is still the skeleton."""
        return "".join(self.source.skeleton.split()) in file_text(submission)


@dataclass(frozen=True)
class FailedCall:
    """A compiled kernel and its arguments, for calls such as `fk.footprint(*failed)` or
    `fk.profile(*failed)`.

    Iteration yields the kernel, then copies of the call's arguments. `show()` runs the call and
    checks its result.
    """

    kernel: CompiledKernel
    case: Case

    def __iter__(self) -> Iterator[Any]:
        yield self.kernel
        yield from self.case.arguments(self.kernel).values()

    def show(self) -> CheckReport:
        """Run the call on the virtual GPU; return the check of its first wrong result, or of its
        last result if all are right.

        Raises:
            KernelError: the virtual GPU stops the kernel.
        """
        from forgekit.checking.compare import compare
        from forgekit.show import in_notebook
        from forgekit.tracing.recordings import recorded

        args = self.case.arguments(self.kernel)
        found = recorded(self.kernel, tuple(args.values())).result()
        after = dict(zip(args, found, strict=True))
        report = None
        for position, want in self.case.expected.items():
            name = self.kernel.parameters[position].name
            report = compare(
                after[position], want, name=name, tile=self.case.tile, **self.case.tolerances
            )
            if not report.ok:
                break
        assert report is not None
        if in_notebook():
            report.show()
        return report

    def __repr__(self) -> str:
        return f"the call to {self.kernel.name} with {self.case.label}"


FAILED: dict[str, FailedCall] = {}  # maps exercises to the calls at which grading stopped


def grade(exercise: Definition, value: Any, arch: str | None, *, untouched: bool) -> GradeReport:
    """Return the report on a submission. untouched: True if the submission is the unchanged
    skeleton."""
    names = [group.name for group in exercise.groups]
    passed: list[Pass] = []

    def report(left: Sequence[str], failure: GateError | None, untouched: bool) -> GradeReport:
        of = exercise.name, exercise.title, tuple(passed), tuple(left)
        return GradeReport(*of, failure, untouched, praise=exercise.praise)

    if untouched:
        todo = f"Fill in the lines marked {PLACEHOLDER}, run that cell, then this one."
        return report(names, GateError("This is the unchanged skeleton.", "", todo), True)
    if replaced := _replaced():
        happened = f"{replaced} was replaced in this process, so no grades count."
        todo = "Restart the kernel and run the notebook from the top."
        return report(names, GateError(happened, look_at=todo), False)
    if (borrowed := _borrowed(value)) and value is not exercise.reference():
        happened = f"The submission runs the course's own solution, {borrowed}."
        todo = "Write the code in the exercise's cell instead of importing it."
        return report(names, GateError(happened, look_at=todo), False)
    submission = Submission(value, arch, exercise.reference, exercise.groups, exercise.as_given)
    for number, group in enumerate(exercise.groups):
        try:
            passed.append(Pass(group.name, group.run(submission)))
        except GateError as failure:
            _keep_failed(exercise, submission, failure)
            rest = exercise.groups[number + 1 :]
            others = [o for g in rest if g.separate and (o := _passes(g, submission)) is not None]
            passed += others
            failed, known = failure.group or group.name, {o.name for o in others}
            left = [g.name for g in (group, *rest) if g.name not in {failed, *known}]
            return report([failed, *left], failure, failure.unanswered)
        except ForgekitError as error:  # not handled by any gate, but with a clear message
            return report(names[number:], GateError(str(error)), False)
        # for example, caused by an unusual value in an answer; hide the traceback from students
        except Exception as error:
            return report(names[number:], _unexpected(error, value), False)
    FAILED.pop(exercise.name, None)
    return report((), None, False)


def _replaced() -> str:
    """Return the name of a grading function that has been replaced by code outside forgekit, or
    ""."""
    for name, module in sorted(sys.modules.items()):
        if not name.startswith(("forgekit.checking.", "forgekit.lessons.gates.")):
            continue
        own = (x for x in vars(module).values() if isinstance(x, type) and x.__module__ == name)
        for holder in (module, *own):
            for key, value in vars(holder).items():
                code = getattr(getattr(value, "fget", value), "__code__", None)
                if code is not None and is_user_file(code.co_filename):
                    return f"{name}.{key}"
    return ""


def _borrowed(value: Any) -> str:
    """Return the path of the course's `solution.py` whose code a submission uses, or ""."""
    from forgekit.compiling.fingerprint import files_of

    try:
        files = [Path(file) for file in sorted(files_of(value))]
    except Exception:  # an unusual value; the gates will report it
        return ""
    for file in files:
        if file.name == "solution.py" and file.with_name("exercise.py").is_file():
            return "/".join(file.parts[-4:])
    return ""


def _passes(group: Group, submission: Submission) -> Pass | None:
    """Run a group; return its summary, or None if the group fails."""
    try:
        return Pass(group.name, group.run(submission))
    except Exception:  # the reason is reported once the earlier groups have passed
        return None


def _keep_failed(exercise: Definition, submission: Submission, failure: GateError) -> None:
    """Store the failed call, so that the notebook can run and draw it, and complete the advice with
    the code that does so."""
    call = f'fk.exercise("{exercise.name}").failed'
    FAILED.pop(exercise.name, None)
    try:
        if submission.last is not None and submission.compiles:
            kernel = submission.compiled(submission.last)
            FAILED[exercise.name] = FailedCall(kernel, submission.last)
    except GateError:  # the kernel does not compile
        pass
    if exercise.name in FAILED:
        failure.look_at = failure.look_at.replace("{failed}", call)
    elif "{failed}" in failure.look_at:
        failure.look_at = ""


def _unexpected(error: Exception, value: Any) -> GateError:
    """Wrap an unexpected exception in a GateError, which names the submission's line that raised
    it."""
    line, code = user_line(error.__traceback__), getattr(inspect.unwrap(value), "__code__", None)
    if line is not None and code is not None and line.filename == code.co_filename:
        return GateError(f"{line}\nThis line raises {type(error).__name__}: {error}")
    return GateError(
        f"The submission cannot be graded. {type(error).__name__}: {error}",
        look_at="Compare it with the skeleton. If both have the same form, this is a bug in "
        "forgekit; please report it.",
    )
