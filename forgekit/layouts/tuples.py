"""Process integers and nested tuples of integers, which represent shapes, strides and coordinates.

CuTe calls these values IntTuples. A leaf of a stride may also be a `Basis` (the stride of a
coordinate layout, printed as `1@0`), and any leaf may be `Dynamic` (known only at run time, printed
as `?`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from forgekit.arguments import integer_or_none
from forgekit.errors import brief, usage_error

# An integer or a nested tuple of integers; in a stride, leaves may also be `Basis`. mypy cannot
# follow recursive types through the algebra, so this name is only documentation.
IntTuple: TypeAlias = Any

_DEEPEST = 50  # maximum nesting depth; Python's limit for recursion is 1000


@dataclass(frozen=True)
class Dynamic:
    """A size or stride that is known only at run time, which CuTe prints as `?`.

    divisor: a number that divides the value, printed as `?{div=4}`; bits: the width of
    the integer.
    """

    divisor: int = 1
    bits: int = 32

    def __post_init__(self) -> None:
        for what, number in (("divisor", self.divisor), ("bits", self.bits)):
            if (integer_or_none(number) or 0) < 1:
                needed = "an integer of 1 or more"
                raise usage_error(f"Dynamic, {what}", brief(number), needed, "try 1")

    def __str__(self) -> str:
        wide = ["i64"] if self.bits == 64 else []
        notes = wide + ([f"div={self.divisor}"] if self.divisor != 1 else [])
        return "?" + ("{" + " ".join(notes) + "}" if notes else "")

    __repr__ = __str__


@dataclass(frozen=True)
class Basis:
    """A stride that steps along one mode of a coordinate instead of along memory.

    `Basis(2, (1, 0))` steps by 2 in mode 0 of mode 1. CuTe calls it ScaledBasis, creates it with
    `cute.E`, and prints its innermost mode first: `2@0@1`.
    """

    value: int | Dynamic
    mode: tuple[int, ...]

    def __post_init__(self) -> None:
        path = self.mode if isinstance(self.mode, tuple) and self.mode else (None,)
        whole = isinstance(self.value, Dynamic) or integer_or_none(self.value) is not None
        if not whole or any((-1 if (m := integer_or_none(k)) is None else m) < 0 for k in path):
            got = f"{brief(self.value)}, {brief(self.mode)}"
            needed = "an integer and a tuple of modes, numbered from 0"
            raise usage_error("Basis", got, needed, "write Basis(1, (0,)), for example")

    def __str__(self) -> str:
        return f"{self.value}@" + "@".join(str(mode) for mode in reversed(self.mode))

    __repr__ = __str__

    def __mul__(self, factor: Any) -> Basis | int:
        if not isinstance(factor, int) or not isinstance(self.value, int):
            return NotImplemented
        return Basis(self.value * factor, self.mode)

    __rmul__ = __mul__


def parts(value: IntTuple) -> tuple[Any, ...]:
    """Return the top-level entries of a value; a single integer becomes a tuple with one
    element."""
    return value if isinstance(value, tuple) else (value,)


def flat(value: IntTuple) -> tuple[Any, ...]:
    if not isinstance(value, tuple):
        return (value,)
    return tuple(leaf for part in value for leaf in flat(part))


def leaf_map(function: Callable[..., Any], *values: IntTuple) -> IntTuple:
    """Return the first value with each leaf replaced by the result of `function`, which receives
    the corresponding leaves of all values."""
    if isinstance(values[0], tuple):
        return tuple(leaf_map(function, *same) for same in zip(*values, strict=True))
    return function(*values)


def product(value: IntTuple) -> int:
    """Return the product of all leaves; 1 for the empty tuple."""
    result = 1
    for leaf in flat(value):
        if isinstance(leaf, Dynamic):
            raise usage_error("size", "? (known only at run time)", "a number", DYNAMIC_REMEDY)
        result *= leaf
    return result


DYNAMIC_REMEDY = "pass the sizes, for example Layout((64, 32), (32, 1)), or use explain()"


def depth_of(value: IntTuple) -> int:
    """Return the nesting depth: 0 for an integer, 1 for a flat tuple."""
    if not isinstance(value, tuple):
        return 0
    return 1 + max((depth_of(part) for part in value), default=0)


def congruent(a: IntTuple, b: IntTuple) -> bool:
    """Return True if two values are nested in the same way; in CuTe's terms, they have the same
    profile."""
    return weakly_congruent(a, b) and weakly_congruent(b, a)


def weakly_congruent(a: IntTuple, b: IntTuple) -> bool:
    """Return True if `b` is nested like `a`, or more deeply; an integer in `a` matches any part of
    `b`."""
    if not isinstance(a, tuple):
        return True
    if not isinstance(b, tuple) or len(a) != len(b):
        return False
    return all(weakly_congruent(x, y) for x, y in zip(a, b, strict=True))


def has_dynamic(value: IntTuple) -> bool:
    return any(
        isinstance(leaf.value if isinstance(leaf, Basis) else leaf, Dynamic) for leaf in flat(value)
    )


def text(value: IntTuple) -> str:
    """Format a value as CuTe does: `(4,(2,2))`, without spaces, and `(4)` for a tuple with one
    element."""
    if isinstance(value, tuple):
        return "(" + ",".join(text(part) for part in value) + ")"
    return "_" if value is None else str(value)


def checked_tuple(
    value: object, what: str, *, leaf: Callable[[Any], Any], depth: int = 0
) -> IntTuple:
    """Convert nested tuples or lists to nested tuples; `leaf` checks and converts each leaf."""
    if isinstance(value, tuple | list):
        if depth >= _DEEPEST:
            remedy = "nest fewer modes"
            raise usage_error(what, f"more than {_DEEPEST} levels", "fewer", remedy)
        return tuple(checked_tuple(part, what, leaf=leaf, depth=depth + 1) for part in value)
    return leaf(value)


def to_coordinate(coord: object) -> IntTuple:
    """Return a coordinate that consists of integers, None (CuTe's `_`, for a whole mode) and nested
    tuples. Raise UsageError for any other value."""

    def leaf(value: object) -> int | None:
        number = integer_or_none(value)
        if number is None and value is not None:
            needed = "an integer, or a tuple of integers"
            remedy = "write layout(5) or layout((1, 2)); None keeps a whole mode"
            raise usage_error("coordinate", brief(value), needed, remedy)
        return number

    return checked_tuple(coord, "coordinate", leaf=leaf)
