"""Attributes of other packages that are replaced for a while, and put back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NOTHING = object()  # the owner had no such attribute of its own


class Patches:
    """What has been replaced, in order."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []

    def put(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute of a module or class."""
        self._before.append((owner, name, vars(owner).get(name, _NOTHING)))
        setattr(owner, name, value)

    def put_all(self, owner: Any, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            self.put(owner, name, value)

    def undo(self) -> None:
        """Put everything back, the latest first."""
        while self._before:
            owner, name, original = self._before.pop()
            if original is _NOTHING:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
