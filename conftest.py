"""Run notebooks with nbval as in Jupyter, on the chosen device, and select the outputs to
compare."""

from __future__ import annotations

import gc
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.provisioning import local_provisioner
from nbval.kernel import RunningKernel
from nbval.plugin import IPyNbCell, IPyNbFile
from xdist.scheduler import LoadScopeScheduling

from forgekit.commands.notebook_outputs import KERNEL_ENVIRONMENT, volatile_patterns
from forgekit.lessons.gates import submission
from tests.forked_kernels import ForkedKernel
from tests.pins import pinned

# Jupyter kernels under test ignore the user's IPython configuration and do not write to the user's
# history.
_IPYTHON = tempfile.TemporaryDirectory(prefix="forgekit-ipython-", ignore_cleanup_errors=True)
# A thread of the Jupyter kernel reads C code's output from a pipe. End a cell only after the thread
# has read all of the cell's output.
_STARTUP = """
def register():
    import fcntl, sys, termios, time

    def read_all(*_):
        time.sleep(0.005)
        while any(fcntl.ioctl(sys.stdout._fid, termios.FIONREAD, bytes(4))):
            time.sleep(0.005)

    if hasattr(sys.stdout, "_fid"):
        get_ipython().events.register("post_run_cell", read_all)

register()
del register
"""
# Jupyter kernels, workers and commands share bytecode, even if it cannot be written next to the
# sources, as in many containers. Otherwise, each process would compile torch's and CuTe DSL's
# modules again.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(Path(_IPYTHON.name, "bytecode")))
_FOLDER = Path(_IPYTHON.name, "profile_default", "startup")
_FOLDER.mkdir(parents=True)
(_FOLDER / "read_all.py").write_text(_STARTUP)


@contextmanager
def _environment(**changes: str | None) -> Iterator[None]:
    """Set environment variables, or remove those whose value is None, and restore them
    afterwards."""
    before = {name: os.environ.get(name) for name in changes}

    def put(values: dict[str, str | None]) -> None:
        for name, value in values.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    put(changes)
    try:
        yield
    finally:
        put(before)


def _start_kernel(self: IPyNbFile) -> None:
    # With this variable, ipykernel drops the output of C code (cute.printf on the host).
    changes: dict[str, str | None] = {"PYTEST_CURRENT_TEST": None, "IPYTHONDIR": _IPYTHON.name}
    with pytest.MonkeyPatch.context() as patch:
        if self.compare_outputs:  # --nbval: the stored outputs were produced without CUDA
            stored = KERNEL_ENVIRONMENT.items()
            changes |= {name: os.environ.get(name, text) for name, text in stored}
            patch.setattr(local_provisioner, "launch_kernel", ForkedKernel)
        with _environment(**changes):
            _set_up(self)
    self.sanitize_patterns.update(volatile_patterns(self.config.rootpath))


def _set_up(self: IPyNbFile, tries: int = 3) -> None:
    """Start the Jupyter kernel, and start it again if it dies. Its ports are chosen before it binds
    them, so on a machine with many cores, another worker's kernel may bind one of them first."""
    try:
        _nbval_setup(self)
    except RuntimeError:
        if tries == 1:
            raise
        _set_up(self, tries - 1)


def _execute(self: RunningKernel, cell_input: str, allow_stdin: bool | None = None) -> str:
    # Unlike nbval, store the history, without which IPython shows values that a final `;` should
    # hide.
    return self.kc.execute(cell_input, allow_stdin=allow_stdin, stop_on_error=False)


def _compare_outputs(self: IPyNbCell, test: list[Any], ref: list[Any], **options: Any) -> bool:
    # stderr contains libraries' warnings and progress bars, which depend on the machine and are
    # never stored.
    test = [out for out in test if out.get("name") != "stderr"]
    return _nbval_compare(self, test, ref, **options)


RunningKernel.execute_cell_input = _execute
_nbval_setup, IPyNbFile.setup = IPyNbFile.setup, _start_kernel
_nbval_compare, IPyNbCell.compare_outputs = IPyNbCell.compare_outputs, _compare_outputs


@pytest.fixture(autouse=True)
def _fixed_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make grades draw the same sizes in every run."""
    monkeypatch.setattr(submission, "_SECRET", 1)


class _Groups(LoadScopeScheduling):
    """Runs all tests of a group on the same worker. A group is a notebook, an exercise with its
    wrong solutions (which share counts), or a module with its fixtures."""

    def _split_scope(self, nodeid: str) -> str:
        file, _, test = nodeid.partition("::")
        exercise = re.search(r"\[.*?(week\d/\w+)", test)
        return f"{file} {exercise[1]}" if exercise and file.endswith("test_exercises.py") else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Distribute the tests over the workers by group."""
    return _Groups(config, log)


def pytest_report_header() -> list[str]:
    """Report the packages whose versions differ from the pinned versions, with which the stored
    outputs were produced."""
    found = {d.name.lower().replace("_", "-"): d.version for d in metadata.distributions()}
    other = [
        f"{name} {found[name]} ({version})"
        for name, version in pinned().items()
        if name in found and found[name].partition("+")[0] != version
    ]
    return [f"not the pinned version (in parentheses): {', '.join(other)}"] if other else []


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print a line for each reason why tests were skipped, with the command that runs them."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped)
    if reasons:
        terminalreporter.section("reasons for skipped tests")
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count:6,}  {reason}")


def pytest_collection_finish() -> None:
    """Exempt all objects created so far from garbage collection, because they stay alive anyway."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests marked `weekly` unless -m selects them; skip tests marked `gpu` if there is no
    GPU."""
    if "weekly" not in config.option.markexpr:
        weekly = [item for item in items if item.get_closest_marker("weekly")]
        if weekly:
            config.hook.pytest_deselected(items=weekly)
            items[:] = [item for item in items if item not in weekly]
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(
                pytest.mark.skip(reason="no NVIDIA GPU: run `uv run pytest` on a machine with one")
            )
