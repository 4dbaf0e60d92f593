"""Provide JupyterLab with a copy of the course, started like `forgekit lab`, and a browser."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from forgekit.course import WEEKS
from tests.lab.notebook_page import NotebookPage

ROOT = Path(__file__).resolve().parents[2]
VIEW = {"width": 1280, "height": 900}
START_S = 120


def free_port() -> int:
    """Return a port on which no process on this machine listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def copy_course(folder: Path) -> Path:
    """Copy the files that a student receives: the weeks, and the file by which forgekit recognises
    the course.

    Each .ipynb is newer than its .py, as after a `git pull` with new outputs.
    """
    for week in WEEKS:
        ignored = shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__")
        shutil.copytree(ROOT / week, folder / week, ignore=ignored)
        for text in (folder / week).glob("*.py"):
            os.utime(text, (0, 0))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return this process's environment without the user's settings for Jupyter and forgekit."""
    ours = re.compile(r"(JUPYTER|FORGEKIT|IPYTHON|PYTEST)_?")
    kept = {name: value for name, value in os.environ.items() if not ours.match(name)}
    return kept | more | {
        "FORGEKIT_DEVICE": "virtual",
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "data"),  # this user trusts no notebook
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
    }  # fmt: skip


@contextlib.contextmanager
def server(command: list[str], *, log: Path, answers: str, **options: Any) -> Iterator[None]:
    """Run a server process, which is ready when the address `answers` responds."""
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, **options)
        try:
            end = time.monotonic() + START_S
            while not _answers(answers):
                assert process.poll() is None, f"{command[2]} ended:\n{log.read_text()}"
                assert time.monotonic() < end, f"{command[2]} does not respond:\n{log.read_text()}"
                time.sleep(0.2)
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except OSError:
        return False


@dataclass
class Pages:
    """The browser's open pages, and the logs of their servers."""

    browser: Any
    open: list[Any] = field(default_factory=list)
    logs: list[Path] = field(default_factory=list)

    def new(self, **options: Any) -> Any:
        """Open a separate page that shares no state with the others, as in another browser."""
        page = self.browser.new_context(viewport=VIEW, **options).new_page()
        self.open.append(page)
        return page

    def keep(self, name: str) -> None:
        """Save screenshots and logs into the folder FORGEKIT_SHOTS, if it is set."""
        if not (given := os.environ.get("FORGEKIT_SHOTS")):
            return
        folder = Path(given)
        folder.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"\W+", "_", name).strip("_")
        for number, page in enumerate(self.open):
            with contextlib.suppress(Exception):  # a page may be unable to provide them
                page.screenshot(path=folder / f"{name}_{number}.png", timeout=10_000)
        for log in self.logs:
            shutil.copy(log, folder / f"{name}_{log.name}")


_OPEN: list[Pages] = []  # a hook cannot request a fixture


@pytest.fixture(scope="module")
def pages(browser: Any) -> Iterator[Pages]:
    pages = Pages(browser)
    _OPEN.append(pages)
    yield pages
    _OPEN.remove(pages)
    for page in pages.open:
        page.context.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    """Save the pages' contents if a test failed."""
    report = yield
    if report.failed and report.when != "teardown":
        for pages in _OPEN:
            pages.keep(item.name)
    return report


@dataclass
class Classroom:
    """A running JupyterLab: its address, its token, the copy of the course, the progress file."""

    pages: Pages
    address: str
    token: str
    course: Path
    progress: Path

    def open(self, notebook: str | None = None, **options: Any) -> NotebookPage:
        """Open a notebook by its path below the course; None opens JupyterLab's default page."""
        workspace = f"lab/workspaces/w{len(self.pages.open)}"  # without other open notebooks
        path = f"{workspace}/tree/{notebook}" if notebook else ""
        return NotebookPage(self.pages.new(**options), f"{self.address}/{path}?token={self.token}")

    def asked(self, path: str) -> Any:
        """Return the server's answer to a request from a page's script."""
        with urllib.request.urlopen(f"{self.address}/{path}?token={self.token}") as answer:
            return json.load(answer)

    def listed(self, folder: str) -> list[str]:
        """Return the names that the file browser shows in a folder of the course."""
        return sorted(entry["name"] for entry in self.asked(f"api/contents/{folder}")["content"])


@contextlib.contextmanager
def lab(folder: Path, progress: str) -> Iterator[tuple[str, str, Path]]:
    """Run `forgekit lab` in a copy of the course, without changing files of the repository or the
    user."""
    course, port, token = copy_course(folder / "course"), free_port(), secrets.token_hex(16)
    command = [sys.executable, "-m", "forgekit", "lab", "--no-browser", f"--port={port}",
               "--ServerApp.port_retries=0", f"--IdentityProvider.token={token}",
               "--LabApp.expose_app_in_browser=True"]  # fmt: skip
    env = environment(folder, FORGEKIT_PROGRESS=progress, FORGEKIT_CACHE_DIR=str(folder / "cache"))
    address = f"http://127.0.0.1:{port}"
    status = f"{address}/api/status?token={token}"
    with server(command, log=folder / "lab.log", answers=status, env=env, cwd=course):
        yield address, token, course


@pytest.fixture(scope="module")
def classroom(pages: Pages, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Classroom]:
    if importlib.util.find_spec("jupyterlab") is None:
        pytest.skip("JupyterLab is missing: uv sync")
    folder = tmp_path_factory.mktemp("lab")
    progress = folder / "progress.json"
    pages.logs.append(folder / "lab.log")
    with lab(folder, str(progress)) as (address, token, course):
        yield Classroom(pages, address, token, course, progress)
