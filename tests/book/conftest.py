"""Build the book once for all tests in this folder, and serve it to the browser."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.book.page import Page

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "https://github.com/OWNER/NAME"
AXE = "4.14.1"
AXE_SHA256 = "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745"

sys.path.insert(0, str(ROOT / "book"))  # as in the book's build, for importing forgebook


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the built pages: FORGEKIT_BOOK_SITE if set, otherwise a new build by
    `forgekit book`.
    """
    if given := os.environ.get("FORGEKIT_BOOK_SITE"):
        return Path(given).resolve()
    if importlib.util.find_spec("jupyter_book") is None:
        pytest.skip("Jupyter Book is missing: uv sync --extra book")
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if worker else base) / "book"  # all workers share this folder
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "built").exists():
            command = [sys.executable, "-m", "forgekit", "book"]
            command += ["--output", str(folder), "--repository", REPOSITORY]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            (folder / "built").touch()
    return folder / "_build" / "html"


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[str, Page]:
    """Map each page's path, relative to the site, to the parsed page."""
    return {f.relative_to(site).as_posix(): Page.read(f) for f in sorted(site.rglob("*.html"))
            if "_static" not in f.relative_to(site).parts}  # fmt: skip


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Yield the address of a server for the site, which only this machine can reach."""
    handler = functools.partial(_Quiet, directory=str(site))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="session")
def axe() -> str:
    """Return axe-core's script, from the file FORGEKIT_AXE or from npm, cached in the user's cache
    folder.
    """
    if given := os.environ.get("FORGEKIT_AXE"):
        return Path(given).read_text(encoding="utf-8")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "forgekit-tests"
    archive = cache / f"axe-core-{AXE}.tgz"
    if not archive.is_file():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("axe-core is missing, and so is npm, which could fetch it: install Node.js")
        cache.mkdir(parents=True, exist_ok=True)
        command = [npm, "pack", f"axe-core@{AXE}", "--pack-destination", str(cache), "--silent"]
        done = subprocess.run(command, cwd=cache, capture_output=True, text=True, timeout=120)
        if done.returncode or not archive.is_file():
            pytest.skip(f"npm could not fetch axe-core {AXE}; set FORGEKIT_AXE to its axe.min.js")
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == AXE_SHA256, (
        f"{archive} is not as known"
    )
    with tarfile.open(archive) as tar:
        found = tar.extractfile("package/axe.min.js")
        assert found is not None
        return found.read().decode()
