"""Convert coordinates to offsets and back: CuTe's crd2idx and idx2crd.

Linear indices are colexicographic: the leftmost mode varies fastest. Like CuTe, these functions
accept coordinates outside the shape, as if the last mode were longer.
"""

from __future__ import annotations

from typing import Any

from forgekit.errors import UsageError, usage_error
from forgekit.layouts.tuples import Basis, IntTuple, product, text


def crd2idx(coord: IntTuple, shape: IntTuple, stride: IntTuple) -> IntTuple:
    """Return the offset of a coordinate, the sum of coordinate × stride over all modes.

    An integer in `coord` may index a whole nested mode. The result is an integer, or a coordinate
    if the strides are basis elements. Raises UsageError if `coord` does not fit the shape.
    """
    if isinstance(coord, tuple):
        if not isinstance(shape, tuple) or len(coord) != len(shape):
            raise _misfit(coord, shape)
        total: IntTuple = 0
        for c, s, d in zip(coord, shape, stride, strict=True):
            total = add(total, crd2idx(c, s, d))
        return total
    if isinstance(shape, tuple):
        return crd2idx(idx2crd(coord, shape), shape, stride)
    return basis_offset(stride * coord) if isinstance(stride, Basis) else coord * stride


def _misfit(coord: IntTuple, shape: IntTuple) -> UsageError:
    return usage_error(
        "coordinate",
        text(coord),
        f"an integer or a tuple nested like the shape {text(shape)}",
        "one integer may index a whole nested mode, but a tuple cannot index an innermost mode; "
        "layout.flatten() needs one integer per innermost mode",
    )


def idx2crd(index: IntTuple, shape: IntTuple) -> IntTuple:
    """Return the coordinate in a shape that corresponds to a linear index, or to one index per
    mode."""
    if isinstance(index, tuple):
        if not isinstance(shape, tuple) or len(index) != len(shape):
            raise _misfit(index, shape)
        return tuple(idx2crd(i, s) for i, s in zip(index, shape, strict=True))
    if not isinstance(shape, tuple):
        return index
    found, rest = [], index
    for s in shape[:-1]:
        sign = 1 if rest >= 0 else -1  # division rounds toward zero, as in C and CuTe
        rest, remainder = divmod(abs(rest), product(s))
        found.append(idx2crd(sign * remainder, s))
        rest *= sign
    return (*found, idx2crd(rest, shape[-1])) if shape else ()


def basis_offset(basis: Any) -> IntTuple:
    """Convert a basis element to a coordinate: `3@1` becomes (0,3)."""
    value: IntTuple = basis.value
    for mode in reversed(basis.mode):
        value = (0,) * mode + (value,)
    return value


def add(a: IntTuple, b: IntTuple) -> IntTuple:
    """Return the sum of two offsets. Coordinates are added entry by entry, and adding 0 changes
    nothing."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        length = max(len(a), len(b))
        a, b = a + (0,) * (length - len(a)), b + (0,) * (length - len(b))
        return tuple(add(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, tuple) or isinstance(b, tuple):
        number, other = (b, a) if isinstance(a, tuple) else (a, b)
        if number == 0:
            return other
        needed = "integers only or coordinates only"
        remedy = "do not mix integer strides with basis strides such as 1@0"
        raise usage_error("offset", f"{text(a)} + {text(b)}", needed, remedy)
    return a + b


def compact_strides(shape: IntTuple, start: int = 1) -> IntTuple:
    """Return the column-major strides of a shape; as in CuTe, a mode of size 1 has stride 0."""
    if not isinstance(shape, tuple):
        return 0 if shape == 1 else start
    strides = []
    for part in shape:
        strides.append(compact_strides(part, start))
        start *= product(part)
    return tuple(strides)
