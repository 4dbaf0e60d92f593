"""Let scripts continue after findings: collect the findings, and print them at the script's end."""

from __future__ import annotations

import atexit
import functools
import os
import sys
from typing import Any

from forgekit.vgpu import environment
from forgekit.vgpu.host import options
from forgekit.vgpu.sanitizer import Finding

# The exit status of a script that has findings but no other error. Python uses this status for an
# error during its exit, and no other status can be set that late.
STATUS = 120

_printed = False  # True if findings were printed since the last `finish`


def go_on() -> None:
    """Collect findings from now on instead of raising them."""
    _at_the_end()
    options.goes_on = True


def stop() -> None:
    """Print the collected findings, and raise later findings again."""
    options.goes_on = False
    _print()


def finish() -> int:
    """Print the collected findings. Return the exit status, which is 0 if there were no
    findings."""
    global _printed
    _print()
    status, _printed = STATUS * _printed, False
    return status


def _print() -> None:
    global _printed
    found = [f for f in Finding.distinct(options.COLLECTED, summed=True) if f.severity == "error"]
    options.COLLECTED.clear()  # in place, because `options` blocks refer to this list
    if found:
        _printed = True
        texts = "\n\n".join(finding.counted for finding in found)
        print(
            "\n"
            f"{texts}\n"
            "\n"
            f"forgekit: sanitizer: {len(found)} finding{'s' * (len(found) > 1)}. The kernels ran "
            "to completion, but a GPU may compute different results. To stop at the first finding, "
            "use `forgekit run --strict` or `forgekit.vgpu.install(strict=True)`.",
            file=sys.stderr,
        )


@functools.cache
def _at_the_end() -> None:
    """Print findings at the end of the process and of each notebook cell."""
    atexit.register(_exit)
    os.register_at_fork(after_in_child=_forked)
    shell = environment.ipython()
    if shell is not None:
        shell.events.register("post_run_cell", lambda *_: _print())


def _exit() -> None:
    # After an exception, the exit status remains 1.
    if finish() and sys.stderr is not None and not hasattr(sys, "last_value"):
        sys.stderr.flush()
        sys.stderr = _Failing(sys.stderr)


def _forked() -> None:
    """In a forked process, raise findings, because it may end without `atexit`, and discard the
    parent's findings, because the parent prints them."""
    options.goes_on = False
    options.COLLECTED.clear()


class _Failing:
    """A stream whose flush fails during Python's exit, which sets the exit status to 120."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def flush(self) -> None:
        self._stream.flush()
        if sys.is_finalizing():
            raise OSError("the sanitizer has findings")
