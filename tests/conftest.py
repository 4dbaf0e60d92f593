"""The browser of all tests that look at pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


# Playwright's event loop counts as running in this thread for as long as the fixture lives: a
# second one, or asyncio.run in another module's test, would fail. So it ends with the module.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium or Google's Chrome, driven by Playwright, which downloads no browser."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is missing: uv sync")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("no chromium or google-chrome on this machine: apt-get install chromium")
    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=options)
        yield browser
        browser.close()
