"""CuTe's own layout algebra as a calculator: an MLIR context held open, no compilation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cutlass._mlir import ir
from cutlass.cute.core import static

from forgekit.layouts import ComposedLayout, Layout, Swizzle


@contextmanager
def cute_context() -> Iterator[None]:
    """CuTe's functions work in here outside any @cute.jit; what they return dies with it."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            yield


def to_cute(value: Any) -> Any:
    """Layouts of ours, and tuples that hold some, as CuTe's, made from their text.

    That is nine times as fast as `cute.make_layout`, and the text is CuTe's own notation.
    """
    if isinstance(value, tuple):
        return tuple(to_cute(part) for part in value)
    if isinstance(value, Layout | ComposedLayout | Swizzle):
        kinds = {Layout: "layout", ComposedLayout: "composed_layout", Swizzle: "swizzle"}
        return static(ir.Type.parse(f'!cute.{kinds[type(value)]}<"{value}">'))
    return value


def answer(function: Callable[..., Any], *args: Any) -> str:
    """Return CuTe's printed result; `raises` if it refuses."""
    try:
        result = function(*map(to_cute, args))
    except Exception:  # MLIRError, ValueError, AssertionError: CuTe has no one class
        return "raises"
    return printed(result)


def printed(result: Any) -> str:
    """A result of CuTe's or ours as text; tuples entry by entry."""
    if isinstance(result, tuple):
        return "(" + ",".join(printed(part) for part in result) + ")"
    return str(result)
