"""Distribute submissions to judges: one judge per core of this machine, or one per Dask worker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from forgekit.errors import PlatformError
from forgekit.lessons.classroom.found import SubmittedNotebook
from forgekit.lessons.classroom.sandbox import Limits

_JUDGE = [sys.executable, "-m", "forgekit.lessons.classroom.judge"]
_SLACK_S = 300  # added to a submission's limit for the judge's start-up and its own work
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "",
    "FORGEKIT_DEVICE": "virtual", "FORGEKIT_PROGRESS": "off", "MPLBACKEND": "agg",
    "PYTHONHASHSEED": "0",
}  # fmt: skip

Verdicts = list[dict[str, Any]]
Piece = tuple[SubmittedNotebook, Limits]


class Judge:
    """A judge's process, which starts at the first submission."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection

    def verdicts(self, submitted: SubmittedNotebook) -> Verdicts | None:
        """Return the verdicts on a submission's exercises; None if the judge's process ends before
        it answers."""
        try:
            self._start()
            self._tell(asdict(submitted))
            return self._hear(self.limits.total_seconds)
        except (OSError, EOFError, ValueError):
            self.close()
            return None

    def close(self) -> None:
        """End the process; only the thread that communicates with the judge may call this."""
        if self.process is not None:
            self.kill()
            self.process.wait()
            self._pipe.close()
        self.process = None

    def kill(self) -> None:
        """End the process; any thread may call this. The thread that communicates with the judge
        then finds the pipe closed."""
        if (process := self.process) is not None:
            process.kill()

    def _start(self) -> None:
        if self.process is not None:
            return
        kept = {k: v for k, v in os.environ.items()
                if not k.startswith("FORGEKIT_") or k == "FORGEKIT_CACHE_DIR"}  # fmt: skip
        self._pipe, theirs = Pipe()
        with theirs:
            self.process = subprocess.Popen(
                [*_JUDGE, str(theirs.fileno())], pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env=kept | _ENVIRONMENT, start_new_session=True,  # only this process handles Ctrl-C
            )  # fmt: skip
        if _ended.is_set():  # this judge started after all judges had been killed
            raise OSError("ended")
        self._tell(asdict(self.limits))
        self._hear(0)

    def _tell(self, what: Any) -> None:
        self._pipe.send_bytes(json.dumps(what).encode())

    def _hear(self, seconds: float) -> Verdicts:
        if not self._pipe.poll(seconds + _SLACK_S):
            raise OSError("silent")
        found: Verdicts = json.loads(self._pipe.recv_bytes())
        return found


_judges = threading.local()
_all: list[Judge] = []
_ended = threading.Event()


def judged(piece: Piece) -> Verdicts:
    """Return the verdicts of this thread's judge on a submission. If the judge's process ends
    before it answers, a new judge grades the submission."""
    submitted, limits = piece
    if getattr(_judges, "limits", None) != limits:
        _judges.limits, _judges.one = limits, Judge(limits)
        _all.append(_judges.one)
    for _ in range(2):
        if _ended.is_set():
            break
        found: Verdicts | None = _judges.one.verdicts(submitted)
        if found is not None:
            return found
    return failed(
        piece, PlatformError("the judge's process ended twice while judging this notebook")
    )


def failed(piece: Piece, error: BaseException) -> Verdicts:
    """Return a verdict that reports that grading itself failed."""
    return [
        {"name": name, "verdict": "stopped", "happened": f"Grading failed: {error}."}
        for name in piece[0].exercises
    ]


def on_cores(pieces: Sequence[Piece], *, workers: int) -> Iterator[tuple[int, Verdicts]]:
    """Grade the submissions in `workers` threads; yield (index, verdicts) of each as they
    arrive."""
    pool = ThreadPoolExecutor(min(workers, len(pieces)))
    try:
        futures = {pool.submit(judged, piece): index for index, piece in enumerate(pieces)}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        _ended.set()
        for judge in _all:
            judge.kill()
        pool.shutdown(cancel_futures=True)
        while _all:
            _all.pop().close()
        _ended.clear()
