"""Provide fixtures for all tests: clean-up checks, and the browser that opens pages."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

os.environ.pop("UV_RUN_RECURSION_DEPTH", None)  # makes messages the same with and without uv


def _settings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("FORGEKIT_")}


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    """Check that each test restores forgekit's settings. A test that leaves the virtual GPU
    installed then fails itself, instead of causing a failure in a later test."""
    before = _settings()
    yield
    for name in _settings().keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)
    intercept: Any = sys.modules.get("forgekit.vgpu.host.intercept")
    if intercept and intercept.is_installed():
        intercept.uninstall()
        pytest.fail("the virtual GPU is still installed; use `with forgekit.vgpu.installed():`")


# Playwright's event loop counts as running in this thread until the fixture ends, so a second loop,
# or asyncio.run in another module's test, would fail. The fixture therefore ends with the module.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Yield Debian's Chromium or Google's Chrome, driven by Playwright without downloading a
    browser."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is missing: uv sync")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("no chromium or google-chrome on this machine: apt-get install chromium")
    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=options)
        yield browser
        browser.close()
