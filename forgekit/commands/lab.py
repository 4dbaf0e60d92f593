"""`forgekit lab`: JupyterLab, opened at the first notebook of the course."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from forgekit.course import FIRST_NOTEBOOK, find_course
from forgekit.errors import PlatformError

__all__ = ["COURSE_OPTIONS", "jupyter_command", "main"]

# What the course asks of JupyterLab, wherever it is started.
COURSE_OPTIONS = (
    # It would show the first line of a folded output, and with it what is to be predicted.
    f"--LabApp.extra_labextensions_path={Path(__file__).parent / 'labextensions'}",
    # A student's notebook stands alone. Paired with its .py, it does not open where the clock says
    # that only one of the two has changed (after `git pull`, say, or work in another editor).
    "--ServerApp.jpserver_extensions=jupyterlab_jupytext=False",
)


def jupyter_command(folder: Path, notebook: str | None, options: list[str]) -> list[str]:
    """The command line that opens JupyterLab in `folder`, at `notebook` if one is named.

    The user's `options` stand last: where two set the same thing, JupyterLab takes the last.
    """
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder}"]
    command += COURSE_OPTIONS
    if notebook:
        command.append(f"--LabApp.default_url=/lab/tree/{notebook}")
    if os.geteuid() == 0:  # as in most containers; without it JupyterLab refuses to start
        command.append("--ServerApp.allow_root=True")
    return command + options


def _replace_process(command: list[str], folder: Path) -> None:
    """Become JupyterLab, so that Ctrl-C and the exit status are its own."""
    os.chdir(folder)
    sys.stdout.flush()
    os.execv(command[0], command)


def main(options: list[str]) -> int:
    """Open JupyterLab; `options` (--no-browser, --port 9999, ...) are handed on to it.

    Raises PlatformError where JupyterLab is not installed.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise PlatformError(
            "JupyterLab is not installed in this environment; in the course folder run "
            "`uv run forgekit lab`, elsewhere `pip install jupyterlab` first"
        )
    course = find_course()
    if course is None:
        print(
            "forgekit: this is forgekit without the course (no folder with its weeks here); "
            "opening JupyterLab in the current folder",
            file=sys.stderr,
        )
        folder, notebook = Path.cwd(), None
    else:
        folder = course
        notebook = FIRST_NOTEBOOK if (course / FIRST_NOTEBOOK).is_file() else None
    _replace_process(jupyter_command(folder, notebook, options), folder)
    return 0
