"""`forgekit lab`: open JupyterLab at the first notebook of the course."""

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
# JupyterLab options for the course, in every installation.
COURSE_OPTIONS = (
    # The extension hides the first line of folded outputs, which may answer a prediction, and
    # suppresses the prompt to save an unedited notebook when it is closed.
    f"--LabApp.extra_labextensions_path={_HERE / 'labextensions'}",
    # Default settings, which the user's own JupyterLab settings override.
    f"--LabApp.app_settings_dir={_HERE / 'labsettings'}",
    # Ignore the pairing of notebooks with .py files. JupyterLab does not open a paired notebook if
    # only one of the two files has changed, for example after `git pull` or in another editor.
    "--ServerApp.jpserver_extensions=jupyterlab_jupytext=False",
    # Hide the .py files, so that the file browser shows each lesson once, and the files that
    # JupyterLab hides by default.
    *(
        f"--ContentsManager.hide_globs={name}"
        for name in ("[0-9][0-9]_*.py", "__pycache__", "*.pyc", "*.pyo", ".DS_Store", "*~")
    ),
)
# Also hidden in the course folder, where students need only the weeks and the README.
_NO_LESSONS = (
    *("exercises", "recorded", "forgekit", "tests", "book", "conftest.py", "pyproject.toml"),
    *("uv.lock", "LICENSE", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md"),
)


class AllWords(Command):
    """A command that passes every word after its name to JupyterLab, including --help."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.params["options"] = args
        return []


@click.command(cls=AllWords)
def lab(options: list[str]) -> int:
    """Open JupyterLab at the first notebook; options such as --no-browser are passed to
    JupyterLab."""
    if importlib.util.find_spec("jupyterlab") is None:
        raise PlatformError(
            "JupyterLab is not installed in this environment; run `uv run forgekit lab` in the "
            "course folder, or `pip install jupyterlab` elsewhere"
        )
    course = find_course()
    if course is None:
        print(
            "forgekit: no course folder found; opening JupyterLab in the current folder",
            file=sys.stderr,
        )
    folder = course or Path.cwd()
    notebook = FIRST_NOTEBOOK if course and (course / FIRST_NOTEBOOK).is_file() else None
    _replace_process(_jupyter_command(folder, notebook, options), folder)
    return 0


def _jupyter_command(folder: Path, notebook: str | None, options: Sequence[str]) -> list[str]:
    """Return the command line that opens JupyterLab in `folder`, with `notebook` open if given.

    The user's `options` come last, because the last occurrence of an option takes precedence.
    """
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder}"]
    command += COURSE_OPTIONS
    if notebook:
        command += [f"--ContentsManager.hide_globs={name}" for name in _NO_LESSONS]
        command.append(f"--LabApp.default_url=/lab/tree/{notebook}")
    if os.geteuid() == 0:  # JupyterLab refuses to run as root, common in containers, without this
        command.append("--ServerApp.allow_root=True")
    return [*command, *options]


def _replace_process(command: list[str], folder: Path) -> None:
    """Replace this process with JupyterLab, which then receives Ctrl-C and sets the exit status."""
    os.chdir(folder)
    sys.stdout.flush()
    os.execv(command[0], command)
