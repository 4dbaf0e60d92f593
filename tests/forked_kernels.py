"""Fork Jupyter's kernels from a process that has imported torch and CuTe DSL, which saves 3 s per
kernel."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

# Only modules that do not read a kernel's environment when imported, which excludes Matplotlib and
# forgekit.
PRELOADED = ["torch", "cutlass.cute", "ipykernel.kernelapp"]

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(PRELOADED)


class ForkedKernel:
    """A kernel with the process interface of `jupyter_client`, which otherwise calls
    `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, command: Sequence[str], *, env: dict[str, str], cwd: str, **_: Any) -> None:
        ready, there = _FORKS.Pipe()
        arguments = command[command.index("ipykernel_launcher") + 1 :]
        self._process = _FORKS.Process(target=_run, args=(arguments, env, cwd, there))
        self._process.start()
        ready.recv()  # the kernel's process group must exist now
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self) -> int | None:
        self._process.join()
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.pid and self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _run(arguments: Sequence[str], env: dict[str, str], cwd: str, there: Any) -> None:
    from ipykernel.kernelapp import launch_new_instance

    os.setsid()
    there.send("ready")
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.path[0] = ""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    sys.argv = ["ipykernel_launcher", *arguments, f"--IPKernelApp.parent_handle={os.getppid()}"]
    launch_new_instance()
