"""Temporarily replace attributes of other packages."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any
from unittest import mock


class Patches(ExitStack):
    """Replaces attributes. `close` restores them in reverse order."""

    def put(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute of a module or class."""
        self.enter_context(mock.patch.object(owner, name, value, create=True))

    def put_all(self, owner: Any, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            self.put(owner, name, value)
