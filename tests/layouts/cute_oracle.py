"""Use CuTe's own layout algebra as a calculator, with an open MLIR context and without
compilation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cutlass._mlir import ir
from cutlass.cute.core import static

from forgekit.layouts import ComposedLayout, Layout, Swizzle


@contextmanager
def cute_context() -> Iterator[None]:
    """Enter a context in which CuTe's functions work outside @cute.jit functions. Their results are
    valid only inside it."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            yield


def to_cute(value: Any) -> Any:
    """Convert forgekit's layouts, or tuples that contain layouts, to CuTe's by parsing their text.

    This is nine times as fast as `cute.make_layout`; the text is in CuTe's notation.
    """
    if isinstance(value, tuple):
        return tuple(to_cute(part) for part in value)
    if isinstance(value, Layout | ComposedLayout | Swizzle):
        kinds = {Layout: "layout", ComposedLayout: "composed_layout", Swizzle: "swizzle"}
        return static(ir.Type.parse(f'!cute.{kinds[type(value)]}<"{value}">'))
    return value


def answer(function: Callable[..., Any], *args: Any) -> str:
    """Return CuTe's printed result, or `raises` if the function raises an exception."""
    try:
        result = function(*map(to_cute, args))
    except Exception:  # MLIRError, ValueError or AssertionError, without a common base class
        return "raises"
    return printed(result)


def printed(result: Any) -> str:
    """Return a result from CuTe or forgekit as text, with each entry of a tuple printed
    separately."""
    if isinstance(result, tuple):
        return "(" + ",".join(printed(part) for part in result) + ")"
    return str(result)
