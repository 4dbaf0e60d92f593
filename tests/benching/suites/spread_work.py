"""Define the work of test_spread's workers; the module is small because each worker imports it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forgekit.benching.suites.running import CaseOutcome, Settings
    from forgekit.benching.suites.suite import Case


def kill_worker(item: int) -> None:
    """End the worker process that runs this function."""
    os.kill(os.getpid(), signal.SIGKILL)


def run_or_die(piece: tuple[Case, Settings, Path, str]) -> CaseOutcome:
    """Return the case's outcome, and create a file named after the worker's GPU. what: "die" to end
    the first worker that runs the piece, "raise" to raise an exception."""
    from forgekit.benching.suites.spread import run_case_here

    case, settings, folder, what = piece
    (folder / f"gpu {os.environ['CUDA_VISIBLE_DEVICES']}").touch()
    with (folder / "runs").open("a") as runs:
        runs.write(f"{case}\n")
    killed = folder / "killed"
    if what == "die" and not killed.exists():
        killed.touch()
        time.sleep(0.5)  # let the earlier results arrive
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "raise":
        raise ValueError("no")
    return run_case_here((case, settings))
