"""Find the tensor that a raw pointer points into: `make_ptr(dtype, x.data_ptr())` names no size."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any


def storage_at(address: int) -> tuple[int, int, object] | None:
    """(start, bytes, owner) of the live tensor's or array's memory that holds `address`, or None.

    The caller's variables are looked through first, then, for torch, every object that Python's
    garbage collector tracks.
    """
    for candidates in (_variables(), _tracked()):
        for value in candidates:
            found = _extent(value)
            if found and found[0] <= address < found[0] + found[1]:
                return *found, value
    return None


def _variables() -> Iterator[Any]:
    frame = sys._getframe(1)
    while frame is not None:
        yield from list(frame.f_locals.values())
        if frame.f_back is None or frame.f_back.f_globals is not frame.f_globals:
            yield from list(frame.f_globals.values())
        frame = frame.f_back  # type: ignore[assignment]


def _tracked() -> Iterator[Any]:
    torch = sys.modules.get("torch")
    tensor = getattr(torch, "Tensor", None)
    if tensor is not None:
        yield from (o for o in gc.get_objects() if issubclass(type(o), tensor))


def _extent(value: Any) -> tuple[int, int] | None:
    kind = type(value)
    if hasattr(kind, "untyped_storage"):
        if value.device.type != "cpu":
            return None
        try:
            storage = value.untyped_storage()
            return storage.data_ptr(), storage.nbytes()
        except (NotImplementedError, RuntimeError):  # sparse tensors have no storage
            return None
    if hasattr(kind, "__array_interface__") and isinstance(getattr(value, "nbytes", None), int):
        base = value
        while type(base.base) is kind:  # a view: the array that owns the memory
            base = base.base
        return base.__array_interface__["data"][0], base.nbytes
    return None
