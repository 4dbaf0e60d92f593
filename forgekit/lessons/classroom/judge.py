"""Run a judge, a process that has the exercises, their solutions and the seeds, but never runs
student code.

The judge receives submissions as JSON through a pipe and returns verdicts. A student's process can
influence a verdict only through the PTX, launches and answers that it sends.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import linecache
import math
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from multiprocessing.connection import Connection
from typing import Any

from forgekit.errors import usage_error
from forgekit.lessons.classroom import sandbox
from forgekit.lessons.classroom.found import GRADES, SubmittedNotebook
from forgekit.lessons.classroom.remote import RemoteFunction
from forgekit.lessons.classroom.rows import Verdict
from forgekit.lessons.classroom.sandbox import Limits
from forgekit.lessons.classroom.student import FOLDER, template
from forgekit.lessons.classroom.values import LostError
from forgekit.lessons.classroom.wire import JudgeEnd
from forgekit.lessons.exercise import exercise
from forgekit.lessons.grading import grade
from forgekit.lessons.report import GradeReport
from forgekit.tensors import reseeded

_MEMORY_GIB = 8  # a judge's memory limit, including the virtual GPU's memory
_WORDS = 6000  # maximum number of characters in each text of a verdict
_STAYS = (
    "This submission works only inside its own process, so a separate process cannot grade it. "
    "Run the notebook and read the cell to decide its grade."
)


def main() -> None:
    """Grade submissions until the pipe closes. The command-line argument is the pipe's file
    descriptor; the first message contains the limits."""
    sandbox.die_with_parent()
    sandbox.not_to_be_traced()
    pipe = Connection(int(sys.argv[1]))
    limits = Limits(**json.loads(pipe.recv_bytes()))
    ours, theirs = socket.socketpair()
    paths = sandbox.readable()
    _import_all()
    if os.fork() == 0:
        try:
            sandbox.die_with_parent()
            ours.close()
            template(theirs, limits, paths)
        finally:
            os._exit(0)
    theirs.close()
    most = sandbox._status("VmData") + (_MEMORY_GIB << 30)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    pipe.send_bytes(b"[]")  # reports that the judge is ready
    with contextlib.suppress(EOFError):
        while True:
            submitted = SubmittedNotebook(**json.loads(pipe.recv_bytes()))
            with reseeded(submitted.seed):
                found = Sitting(ours, limits, submitted).verdicts()
            pipe.send_bytes(json.dumps([asdict(v) for v in found]).encode())


def _import_all() -> None:
    """Import the modules that notebooks use, except those that contain exercises, once for all
    submissions."""
    import forgekit
    from forgekit.vgpu import HOST

    for name in ("cutlass.cute", "IPython.core.interactiveshell", "matplotlib.pyplot"):
        importlib.import_module(name)
    for name in forgekit.__all__:
        getattr(forgekit, name)
    HOST.prepare()


class Sitting:
    """The grading of one submission."""

    def __init__(
        self, control: socket.socket, limits: Limits, submitted: SubmittedNotebook
    ) -> None:
        self.control, self.limits, self.submitted = control, limits, submitted
        self.end = time.monotonic() + limits.total_seconds
        self.errors: list[str] = []  # exceptions that cells raised
        self.why = ""  # the reason why the student's process ended
        self.slow = ""  # describes the cells and grades that were interrupted
        self.peer: JudgeEnd

    def verdicts(self) -> list[Verdict]:
        """Run the cells in order; grade each exercise after the last cell that grades it."""
        ours, theirs = socket.socketpair()
        socket.send_fds(self.control, [b"start"], [theirs.fileno()])
        theirs.close()
        if self.control.recv(64) == b"none":
            raise RuntimeError("the student's process could not be started")
        self.peer = JudgeEnd(ours, {"call": _called}, found=RemoteFunction)
        self.peer.on_silence = self._interrupt
        cells, wanted = self.submitted.cells, self.submitted.exercises
        last = {name: k for k, text in enumerate(cells) for name in GRADES.findall(text)}
        found: dict[str, Verdict] = {}
        try:
            self._run("the files next to the notebook", "place", dict(self.submitted.files))
            for number, text in enumerate(cells):
                self._run(f"cell [{number + 1}]", "run", number + 1, text)
                found |= {name: self._judged(name) for name in wanted if last.get(name) == number}
            found |= {name: self._judged(name) for name in wanted if name not in found}
        finally:
            ours.close()
            self._stop()
            for file in [f for f in linecache.cache if f.startswith(FOLDER)]:
                del linecache.cache[file]
        said = "This course has no such exercise."
        unknown = [Verdict(name, "unknown", happened=said) for name in self.submitted.unknown]
        return [found[name] for name in wanted] + unknown

    def _run(self, where: str, what: str, *args: Any) -> None:
        """Send the student's process a request, such as a cell to run, with a time limit."""
        if self.why or not args[-1]:
            return
        if isinstance(text := args[-1], str):
            file = f"{FOLDER}{where}"
            linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        try:
            self._in_time()
            with self._in_all():  # the total time includes the judge's own work for the cell
                error = str(self.peer.ask(what, *args) or "")
        except LostError as lost:
            self._lost(lost, f" in {where}")
            return
        except Exception as raised:  # the student's process could not start
            error = f"{type(raised).__name__}: {raised}"
        if error:
            self.errors.append(f"{where} raised {error:.300}")

    def _interrupt(self) -> None:
        self.control.sendall(b"interrupt")
        self.slow = f"The code ran for more than {self.limits.seconds:g} s and was interrupted."

    def _in_time(self) -> None:
        left = self.end - time.monotonic()
        if left <= 0:
            raise LostError(self._in_all_words)
        self.peer.seconds = min(self.limits.seconds, left)

    @property
    def _in_all_words(self) -> str:
        return f"it took more than {self.limits.total_seconds:g} s in total"

    def _in_all(self, seconds: float = math.inf) -> contextlib.AbstractContextManager[None]:
        """Return a context that limits its block to `seconds` and to the submission's remaining
        time."""
        left = max(self.end - time.monotonic(), 0.01)
        if seconds < left:
            return _at_most(seconds, f"grading took more than {seconds:g} s")
        return _at_most(left, self._in_all_words)

    def _lost(self, error: LostError, where: str) -> None:
        why = self._stop()
        self.why = f"The notebook was stopped{where}: {error if why == 'ended' else why}."

    def _stop(self) -> str:
        self.control.sendall(b"stop")
        return self.control.recv(256).decode(errors="replace")

    def _judged(self, name: str) -> Verdict:
        if self.why:
            return Verdict(name, "stopped", happened=self.why)
        e = exercise(name)
        try:
            self._in_time()
            value = self.peer.ask("take", e.entry)
            if e.stays and not e.is_skeleton(value):
                return Verdict(name, "review", e.title, happened=_STAYS)
            self.slow = ""
            with self._in_all(2 * self.limits.seconds):
                report = grade(e, value, e.arch, untouched=e.is_skeleton(value))
        except LostError as error:
            if isinstance(error, _TooLongError) and not self.peer.waiting:
                return Verdict(name, "stopped", e.title, happened=f"Stopped: {error}.")
            self._lost(error, f" while {name} was being graded")
            return Verdict(name, "stopped", e.title, happened=self.why)
        except Exception:  # the name does not exist
            said = [f"The name `{e.entry}` is not defined.", *self.errors]
            verdict = "stopped" if self.slow else "missing"
            return Verdict(name, verdict, e.title, happened="\n".join([*said, self.slow])[:_WORDS])
        if self.slow and not report:  # "stopped", because another run may be fast enough
            found = replace(_verdict(report), verdict="stopped")
            if "KeyboardInterrupt" not in found.happened:
                return replace(found, notes=[self.slow])
            return replace(found, happened=self.slow, look_at="Does a loop never end?")
        text, found = dict(self.submitted.tasks).get(e.title), _verdict(report)
        if text is not None and _plain(e.task) not in _plain(text):
            found.notes.append(
                "The notebook contains a different version of the task; the grader uses the "
                "current version."
            )
        if "NameError" in found.happened:  # an error in an earlier cell may be the cause
            found.notes += self.errors[:3]
        return found


class _TooLongError(LostError):
    """The judge's own work took too long, for example because a kernel never ends."""


@contextlib.contextmanager
def _at_most(seconds: float, why: str) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _TooLongError(why)

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _plain(text: str) -> str:
    return "".join(text.split())


def _called(function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call one of the judge's functions for the student's process. Reject compiler options, because
    some of them name files."""
    if "options" in kwargs:
        raise usage_error("options", "compiler options", "none while grading", "omit them")
    return function(*args, **kwargs)


def _verdict(report: GradeReport) -> Verdict:
    passed = [(p.name, p.seen) for p in report.passed]
    failure = report.failure
    if failure is None:
        return Verdict(report.name, "passed", report.title, passed=passed)
    texts = (failure.happened, failure.likely, failure.look_at)
    happened, likely, look_at = (text[:_WORDS] for text in texts)
    verdict = "open" if report.untouched else "failed"
    group, *left = report.left
    words = happened, likely, look_at
    return Verdict(report.name, verdict, report.title, group, *words, passed, left)


if __name__ == "__main__":
    main()
