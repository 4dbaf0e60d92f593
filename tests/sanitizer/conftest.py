"""Provide fixtures for tests with kernels, which run on the virtual GPU on every machine."""

from __future__ import annotations

import pytest


@pytest.fixture
def on_the_virtual_gpu():
    from tests.sanitizer.judge import virtual_gpu

    with virtual_gpu():
        yield
