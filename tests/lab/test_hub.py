"""Test the recipe in book/classroom: two users of a JupyterHub work concurrently without
interference."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lab import lesson
from tests.lab.conftest import ROOT, Pages, copy_course, free_port, server
from tests.lab.lesson import grade, progress_of, unexpected
from tests.lab.notebook_page import SLOW_MS, NotebookPage

RECIPE = ROOT / "book" / "classroom" / "jupyterhub_config.py"
MISSING = "uv run --with jupyterhub --with configurable-http-proxy pytest -n0 tests/lab/test_hub.py"
USERS = ("alice", "bob")


def find_proxy() -> str:
    """Return the path of JupyterHub's proxy in this environment, or of Node's proxy on PATH."""
    places = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"
    if found := shutil.which("configurable-http-proxy", path=places):
        return found
    pytest.skip(f"configurable-http-proxy is missing: {MISSING}")


def digest(folder: Path) -> str:
    """Return a digest that changes if any file below the folder is added, removed or changed."""
    files = sorted(f for f in folder.rglob("*") if f.is_file())
    total = hashlib.sha256()
    for file in files:
        total.update(str(file).encode() + file.read_bytes())
    return total.hexdigest()


@dataclass(frozen=True)
class Hub:
    """A running JupyterHub, the folder with its users' homes, and the course that is copied to each
    home."""

    pages: Pages
    address: str
    homes: Path
    course: Path

    def log_in(self, user: str) -> NotebookPage:
        """Log a user in, and return the first notebook in the user's server."""
        page = self.pages.new()
        page.set_default_timeout(SLOW_MS)
        page.goto(f"{self.address}/hub/login")
        page.locator("#username_input").fill(user)
        page.locator("#password_input").fill("any")
        page.locator("#login_submit").click()
        page.wait_for_url(f"**/user/{user}/lab**")
        return NotebookPage(page)


@pytest.fixture(scope="module")
def hub(pages: Pages, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    if importlib.util.find_spec("jupyterhub") is None:
        pytest.skip(f"JupyterHub is missing: {MISSING}")
    jupyterlab = pytest.importorskip("jupyterlab", reason="JupyterLab is missing: uv sync")
    proxy = find_proxy()
    folder = tmp_path_factory.mktemp("hub")
    course, homes, log = copy_course(folder / "course"), folder / "homes", folder / "hub.log"
    for user in USERS:
        (homes / user).mkdir(parents=True)
    address = f"http://127.0.0.1:{free_port()}"
    unwanted = ("FORGEKIT_", "JUPYTER", "PYTEST_", "XDG_")
    env = {name: text for name, text in os.environ.items() if not name.startswith(unwanted)}
    env |= {"PREFIX": str(Path(jupyterlab.__file__).parents[4]), "RECIPE": str(RECIPE),
            "COURSE": str(course), "HOMES": str(homes), "BIND": address,
            "HUB_PORT": str(free_port()), "PROXY_PORT": str(free_port()), "PROXY": proxy,
            "CONFIGPROXY_AUTH_TOKEN": os.urandom(16).hex()}  # fmt: skip
    config = Path(__file__).with_name("hub_config.py")
    command = [sys.executable, "-m", "jupyterhub", "-f", str(config)]
    pages.logs.append(log)
    with server(command, log=log, answers=f"{address}/hub/health", env=env, cwd=folder):
        yield Hub(pages, address, homes, course)


def test_two_users_do_not_meet(hub):
    as_it_was = digest(hub.course)
    alice, bob = notebooks = [hub.log_in(user) for user in USERS]
    for notebook in notebooks:  # both concurrently
        notebook.begin_all()
    for notebook in notebooks:
        notebook.wait()
        assert unexpected(notebook) == []

    assert lesson.ADVICE in grade(bob, lesson.GIVEN, lesson.WRONG)
    assert "PASSED" in grade(alice, lesson.GIVEN, lesson.RIGHT)
    assert "passed on the first try" in progress_of(alice)
    assert "open after 1 try" in progress_of(bob)

    compiled = {}
    for user, passed in zip(USERS, (1, 0), strict=True):
        home = hub.homes / user
        file = home / ".local" / "share" / "forgekit" / "progress.json"
        kept = json.loads(file.read_text(encoding="utf-8"))["exercises"][lesson.EXERCISE]
        assert (kept["tries"], kept["passed_at_try"]) == (1, passed)
        cache = home / ".cache" / "forgekit"
        assert stat.S_IMODE(cache.stat().st_mode) == 0o700
        compiled[user] = {file.name for file in cache.glob("*.forgekit")}
    # The notebook's kernels are compiled once for both users; the exercise's kernels differ.
    assert compiled["alice"] & compiled["bob"]
    assert compiled["alice"] - compiled["bob"]
    assert digest(hub.course) == as_it_was
    log = hub.pages.logs[-1].read_text(encoding="utf-8", errors="replace")
    assert "Permission" not in log
    assert "Traceback" not in log
