"""`forgekit lab`: JupyterLab, opened at the first notebook of the course."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from forgekit.commands.options import Command
from forgekit.course import FIRST_NOTEBOOK, find_course
from forgekit.errors import PlatformError

_HERE = Path(__file__).parent
# What the course asks of JupyterLab, wherever it is started.
COURSE_OPTIONS = (
    # A folded output would show its first line, and with it what is to be predicted; a notebook
    # that was only opened would ask to be saved.
    f"--LabApp.extra_labextensions_path={_HERE / 'labextensions'}",
    # Defaults only: what the user has set in JupyterLab goes before them.
    f"--LabApp.app_settings_dir={_HERE / 'labsettings'}",
    # A student's notebook stands alone. Paired with its .py, it does not open where the clock says
    # that only one of the two has changed (after `git pull`, say, or work in another editor).
    "--ServerApp.jpserver_extensions=jupyterlab_jupytext=False",
    # So each lesson stands in the file browser once; behind it, what JupyterLab hides by default.
    *(
        f"--ContentsManager.hide_globs={name}"
        for name in ("[0-9][0-9]_*.py", "__pycache__", "*.pyc", "*.pyo", ".DS_Store", "*~")
    ),
)
# In the course's own folder, the weeks and the README are what a student looks for.
_NO_LESSONS = (
    *("exercises", "recorded", "forgekit", "tests", "book", "conftest.py", "pyproject.toml"),
    *("uv.lock", "LICENSE", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md"),
)


class AllWords(Command):
    """Every word behind the command's name is JupyterLab's, --help included."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.params["options"] = args
        return []


@click.command(cls=AllWords)
def lab(options: list[str]) -> int:
    """Open JupyterLab at the first notebook; options such as --no-browser go on to it."""
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
    folder = course or Path.cwd()
    notebook = FIRST_NOTEBOOK if course and (course / FIRST_NOTEBOOK).is_file() else None
    _replace_process(_jupyter_command(folder, notebook, options), folder)
    return 0


def _jupyter_command(folder: Path, notebook: str | None, options: Sequence[str]) -> list[str]:
    """The command line that opens JupyterLab in `folder`, at `notebook` if one is named.

    The user's `options` stand last: where two set the same thing, JupyterLab takes the last.
    """
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder}"]
    command += COURSE_OPTIONS
    if notebook:
        command += [f"--ContentsManager.hide_globs={name}" for name in _NO_LESSONS]
        command.append(f"--LabApp.default_url=/lab/tree/{notebook}")
    if os.geteuid() == 0:  # as in most containers; without it JupyterLab refuses to start
        command.append("--ServerApp.allow_root=True")
    return [*command, *options]


def _replace_process(command: list[str], folder: Path) -> None:
    """Become JupyterLab, so that Ctrl-C and the exit status are its own."""
    os.chdir(folder)
    sys.stdout.flush()
    os.execv(command[0], command)
