"""Run the student's process, which runs the cells of a notebook and answers the judge's requests.

The `template` process imports the modules that notebooks use, but no exercises. For each
submission, it forks a process that enters a sandbox before it runs the student's code.
"""

from __future__ import annotations

import base64
import contextlib
import inspect
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from forgekit.lessons.classroom import sandbox
from forgekit.lessons.classroom.found import without_grades
from forgekit.lessons.classroom.sandbox import Limits
from forgekit.lessons.classroom.wire import StudentEnd

FOLDER = "/notebook/"  # precedes each cell's file name; messages omit it
_LOOK_S = 0.2


def template(control: socket.socket, limits: Limits, paths: list[str]) -> None:
    """Obey a judge's commands: `start`, sent together with a socket, starts the process for a
    submission; `stop` ends it and replies with the reason if it was killed earlier; `interrupt`
    sends it Ctrl-C."""
    idle = sandbox._status("VmRSS")
    pid, why = 0, ""
    while True:
        if not select.select([control], [], [], _LOOK_S if pid and not why else None)[0]:
            why = _excess(pid, idle, limits)
            if why:
                _kill(pid, signal.SIGKILL)
            continue
        command, descriptors, _, _ = socket.recv_fds(control, 64, 1)
        if command == b"start":
            pid, why = _start(descriptors[0], limits, paths), ""
            os.close(descriptors[0])
            control.sendall(b"ready" if pid else b"none")
        elif command == b"stop":
            _kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(-1, 0)
            pid = 0
            control.sendall(why.encode() or b"ended")
        elif command == b"interrupt":
            _kill(pid, signal.SIGINT)
        else:
            return


def _kill(pid: int, number: int) -> None:
    if pid:  # killpg(0) would kill this process's own group
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _excess(pid: int, idle: int, limits: Limits) -> str:
    memory, processes = sandbox.usage(pid, idle)
    if memory > limits.memory_mib << 20:
        return f"it used more than {limits.memory_mib:,} MiB of memory"
    if processes > limits.processes:
        return f"it started more than {limits.processes} processes"
    return ""


def _start(descriptor: int, limits: Limits, paths: list[str]) -> int:
    """Fork a process that enters the sandbox and forks the process that runs the cells; return the
    process ID of the outer process."""
    read, write = os.pipe()
    keeper = os.fork()
    if keeper == 0:
        try:
            sandbox.die_with_parent()
            _only(descriptor, write)
            home = sandbox.HOME
            if limits.sandbox:
                sandbox.enter(limits, paths)
            else:
                home = tempfile.mkdtemp(prefix="forgekit-")
            pid = os.fork()
            if pid == 0:
                sandbox.die_with_parent()
                os.close(write)
                if limits.sandbox:
                    sandbox.seal()
                _serve(socket.socket(fileno=descriptor), limits, home)
            else:
                os.write(write, str(pid).encode())
                os.close(write)
                os.close(descriptor)
                os.waitpid(pid, 0)
                shutil.rmtree(home, ignore_errors=True)
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as said:
        return int(said.read() or b"0")


def _only(*kept: int) -> None:
    """Close all inherited file descriptors except these; connect the standard streams to
    /dev/null."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    for number in map(int, os.listdir("/proc/self/fd")):
        if number > 2 and number not in kept:
            with contextlib.suppress(OSError):
                os.close(number)


# -- in the sandbox -------------------------------------------------------------------------------
def _serve(sock: socket.socket, limits: Limits, home: str) -> None:
    os.setsid()
    sandbox.limit(limits)
    os.chdir(home)
    os.environ.clear()
    os.environ.update(HOME=home, PATH=f"{sys.prefix}/bin:/usr/bin:/bin", LANG="C.UTF-8",
                      MPLBACKEND="agg", OMP_NUM_THREADS="1", FORGEKIT_DEVICE="virtual",
                      FORGEKIT_CACHE_DIR="off", FORGEKIT_PROGRESS="off")  # fmt: skip
    sys.path.insert(0, home)
    cells = Cells()
    StudentEnd(sock, {"place": _place, "run": cells.run, "take": cells.take, "mistakes": _mistakes,
                "compile": _compile, "launch": _launch}, about).serve()  # fmt: skip


def _place(files: dict[str, str]) -> None:
    """Write the files submitted with the notebook to the current folder."""
    for name, data in files.items():
        Path(name).write_bytes(base64.b64decode(data))


class Cells:
    """An IPython shell that runs a notebook's cells."""

    def __init__(self) -> None:
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        self.cell = 0
        config = Config({"HistoryManager": {"enabled": False}, "InteractiveShell": {
            "colors": "NoColor"}})  # fmt: skip
        self.shell = InteractiveShell.instance(config=config)
        for part, name, replaced in (
            (self.shell.compile, "get_code_name", lambda *_: f"{FOLDER}cell [{self.cell}]"),
            (self.shell, "showtraceback", lambda *_, **__: None),
        ):
            setattr(part, name, replaced)

    def run(self, number: int, text: str) -> str:
        """Run a cell without its grade statements; return its exception as one line, or ""."""
        self.cell = number
        result = self.shell.run_cell(without_grades(text), store_history=False)
        error = result.error_before_exec or result.error_in_exec
        if error is None:
            return ""
        words = str(error).strip().splitlines()
        return f"{type(error).__name__}: {words[0]}"[:300] if words else type(error).__name__

    def take(self, entry: str) -> Any:
        """Return the notebook's object with this name, such as `scale` or `Softmax.forward`."""
        first, *rest = entry.split(".")
        value = self.shell.user_ns[first]
        for name in rest:
            value = getattr(value, name)
        return value


def about(value: Any) -> dict[str, Any]:
    """Return a function's description for the judge: its name, location and parameters."""
    described: dict[str, Any] = {
        "repr": f"{value!r:.300}",
        "name": str(getattr(value, "__name__", type(value).__name__)),
        "qualname": str(getattr(value, "__qualname__", "")),
    }
    with contextlib.suppress(Exception):
        described["file"] = str(inspect.getsourcefile(inspect.unwrap(value)))
    with contextlib.suppress(Exception):
        parameters = inspect.signature(value).parameters.values()
        described["parameters"] = [
            [p.name, int(p.kind), p.default is not p.empty] for p in parameters
        ]
    return described


def _mistakes(function: Any) -> list[str]:
    from forgekit.diagnosing.lint import find_mistakes

    return find_mistakes(function)


# -- kernels: compiled in this process, run by the judge ------------------------------------------
class Compiled:
    """Keeps a compiled kernel in this process; the judge passes its reference to `_launch`."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel


def _compile(function: Any, example: list[Any], arch: str | None) -> Any:
    """Compile a kernel; return an object that keeps it in this process, its PTX, and its parameters
    as (name, kind, type of a scalar)."""
    from forgekit.compiling.compiled import compile

    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        kernel = compile(function, *example, device="virtual", arch=arch)
    kinds = [[p.name, p.kind, p.value if p.kind == "scalar" else None] for p in kernel.parameters]
    return [Compiled(kernel), kernel.ptx, kernel.name, kinds]


def _launch(compiled: Compiled, layouts: list[Any]) -> Any:
    """Record the launches of a call without running them; return the launches and the addresses of
    the call's tensors in this process.

    layouts: one entry per argument: a number, or (dtype, shape, stride, offset, storage
    number, bytes).
    """
    from forgekit.vgpu import Call

    storages: dict[int, torch.UntypedStorage] = {}
    args = []
    for layout in layouts:
        if isinstance(layout, tuple):
            dtype, shape, stride, offset, number, size = layout
            storage = storages.setdefault(number, torch.UntypedStorage(size))
            args.append(torch.empty(0, dtype=dtype).set_(storage, offset, shape, stride))
        else:
            args.append(layout)
    with Call.without_running() as launches:
        compiled.kernel(*args)
    found = [[x.kernel, x.grid, x.block, x.shared_bytes, x.params, x.cluster, x.cooperative]
             for x in launches]  # fmt: skip
    return [found, {number: storage.data_ptr() for number, storage in storages.items()}]
