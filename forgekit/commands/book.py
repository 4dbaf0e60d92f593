"""`forgekit book`: build the course as a website from the notebooks and their stored outputs."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import click

from forgekit.commands.options import Command
from forgekit.course import find_course
from forgekit.errors import ForgekitError, PlatformError, UsageError
from forgekit.text import without_colours

REPOSITORY = "FORGEKIT_BOOK_REPOSITORY"  # read by book/forgebook


@click.command(cls=Command)
@click.option("--output", help="create _build in this folder instead of book/")
@click.option(
    "--repository", help="URL of the repository; adds buttons that open notebooks elsewhere"
)
@click.option("--fresh", is_flag=True, help="rebuild all pages")
def book(output: str | None, repository: str | None, fresh: bool) -> int:
    """Build the course as a website in book/_build/html."""
    if importlib.util.find_spec("jupyter_book") is None:
        raise PlatformError(
            "the book needs Jupyter Book 1, which is not installed in this environment; run "
            "`uv run --extra book forgekit book` in the course folder"
        )
    course = find_course()
    if course is None or not (course / "book" / "_config.yml").is_file():
        raise UsageError(
            "no course folder with a book found here or in the folders above; change to the "
            "course folder first"
        )
    target = Path(output).resolve() if output else course / "book"
    environment = dict(os.environ)
    if repository:
        environment[REPOSITORY] = repository
    start = time.perf_counter()
    html = target / "_build" / "html"
    if fresh:
        shutil.rmtree(html, ignore_errors=True)
    done = subprocess.run(
        _build_command(course, target, fresh=fresh),
        cwd=course,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise ForgekitError(f"the book could not be built\n{_faults(done.stdout, course)}")
    pages = sum(1 for _ in html.rglob("*.html"))
    seconds = time.perf_counter() - start
    print(f"{os.path.relpath(html)}: {pages} pages, {_size_mb(html):.1f} MB ({seconds:.0f} s)")
    return 0


def _build_command(course: Path, output: Path, *, fresh: bool) -> list[str]:
    """Return the command line that runs Jupyter Book 1, treating warnings as errors and reporting
    all of them."""
    book = course / "book"
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build"]
    command += [str(course), "--config", str(book / "_config.yml"), "--toc", str(book / "_toc.yml")]
    command += ["--path-output", str(output), "--warningiserror", "--keep-going", "--quiet"]
    return [*command, "--all"] if fresh else command


def _faults(text: str, course: Path) -> str:
    """Return the warnings and errors in Jupyter Book's output, without colours or machine-specific
    paths."""
    lines = [line.rstrip() for line in without_colours(text).splitlines()]
    faults = [line for line in lines if re.search(r"WARNING|ERROR|[Ee]rror:|Exception", line)]
    return "\n".join(faults or lines[-20:]).replace(f"{course}{os.sep}", "")


def _size_mb(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
