"""Convert CuTe objects, their printed text, tensors and tuples to forgekit layouts."""

from __future__ import annotations

import sys
from typing import Any

from forgekit.arguments import dense, integer_or_none
from forgekit.errors import brief, usage_error
from forgekit.layouts.layout import Layout
from forgekit.layouts.parse import Described, parse
from forgekit.layouts.swizzle import ComposedLayout
from forgekit.layouts.tuples import Basis, parts

_KINDS = "a layout, a tensor, the text that CuTe prints for either, or a tuple (shape, stride)"


def of(value: object) -> Layout | ComposedLayout:
    """Return the layout that a value describes.

    Accepts forgekit and CuTe layouts, CuTe and PyTorch tensors, the text that CuTe prints for a
    layout or tensor, a tuple `(shape, stride)`, and an integer (the size of a compact layout).
    CuTe's layouts and tensors exist only while CuTe traces the `@cute.jit` function that created
    them, so call `of` inside that function, which may return the result. Dynamic modes become `?`.
    Raises UsageError for any other value, and for a CuTe object whose function has ended.
    """
    return read(value).layout


Layout._of = staticmethod(of)


def read(value: object) -> Described:
    """Return the layout that a value describes and, for a tensor, its other properties. Accepts the
    same values as `of`."""
    if isinstance(value, Described):
        return value
    if isinstance(value, Layout | ComposedLayout):
        return Described(value)
    if isinstance(value, str):
        return parse(value)
    if integer_or_none(value) is not None:
        return Described(Layout(value))
    if isinstance(value, tuple | list) and len(value) == 2:
        return Described(Layout(value[0], _plain(value[1])))
    if type(value).__module__.partition(".")[0] == "cutlass":
        return _read_cute(value)
    if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "is_nested"):
        return _read_torch(dense("layout", value, meta=True))
    shown = brief(value) if isinstance(value, tuple | list) else f"a {type(value).__name__}"
    raise usage_error("layout", shown, _KINDS, "for example fk.Layout((4, 8), (8, 1))")


def _read_torch(tensor: Any) -> Described:
    if not tensor.shape:
        return Described(Layout((), ()))
    dtype = str(tensor.dtype).removeprefix("torch.")
    return Described(Layout(tuple(tensor.shape), tuple(tensor.stride())), dtype=dtype)


def _read_cute(value: Any) -> Described:
    """Convert a CuTe object through its printed text. Refuse an object whose trace has ended,
    because it points to freed memory."""
    handle = getattr(value, "value", value) if not _is_mlir_value(value) else value
    if _is_mlir_value(handle):
        if has_ended(handle):
            raise usage_error(
                f"CuTe {type(value).__name__.lstrip('_')}",
                "an object whose @cute.jit function has ended (CuTe has freed it)",
                "an object from the function that is being traced",
                "inside the function, convert it with fk.Layout.of(layout) and return the result",
            )
    elif type(value).__name__.lstrip("_") not in ("Tensor", "FakeTensor"):  # these need no trace
        name = type(value).__name__
        raise usage_error("layout", f"CuTe's {name}", _KINDS, "pass one of its layouts")
    return parse(str(value))


def _is_mlir_value(value: object) -> bool:
    ir = sys.modules.get("cutlass._mlir.ir")
    return ir is not None and isinstance(value, ir.Value)


def has_ended(handle: Any) -> bool:
    """Return True if the trace of an MLIR value has ended; reading the value would then crash the
    process."""
    from cutlass._mlir import ir

    return ir.Context.current is None or handle.context is not ir.Context.current


def _plain(stride: object) -> object:
    """Return a stride or a tuple of strides, with each CuTe ScaledBasis converted to a Basis."""
    if isinstance(stride, tuple | list):
        return tuple(_plain(part) for part in parts(tuple(stride)))
    if type(stride).__name__ == "ScaledBasis":
        basis: Any = stride
        return Basis(basis.value, tuple(basis.mode))
    return stride
