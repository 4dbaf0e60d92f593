"""Fields of a results file: whether each is what its dataclass says."""

from __future__ import annotations

import dataclasses
from typing import Any

__all__ = ["check_above_0", "typed"]

_PLAIN: dict[str, tuple[type, ...]] = {
    "str": (str,), "int": (int,), "bool": (bool,), "float": (int, float), "None": (type(None),),
    "dict": (dict,), "list": (list,),
}  # fmt: skip


def typed(kind: type, data: Any) -> dict[str, Any]:
    """The fields of a dataclass out of a dict; TypeError or KeyError where one is amiss."""
    found = {}
    for f in dataclasses.fields(kind):
        value = data[f.name]
        names = [name.partition("[")[0] for name in str(f.type).split(" | ")]
        if all(name in _PLAIN for name in names):  # others are read already
            fits = any(isinstance(value, _PLAIN[name]) for name in names)
            if not fits or (isinstance(value, bool) and "bool" not in names):
                raise TypeError(f"{f.name} {value!r}")
        found[f.name] = value
    return found


def check_above_0(name: str, value: Any) -> None:
    """Raise ValueError for what is no number, or none above 0."""
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    if not fits or not 0 < value < float("inf"):
        raise ValueError(f"{name} {value!r}")
