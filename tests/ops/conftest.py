"""What tests of operators share."""

from __future__ import annotations

import pytest

from tests.ops.launched import Launched


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Launched:
    """Notes the kernels that are compiled from now on."""
    return Launched(monkeypatch)
