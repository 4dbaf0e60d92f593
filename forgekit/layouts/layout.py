"""Define Layout: a shape and a stride, which together map coordinates to offsets.

In the coordinate of a slice, None keeps a mode, and an integer selects one index of a mode.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from forgekit.arguments import checked, integer_or_none
from forgekit.errors import UsageError, brief, got_needed, usage_error
from forgekit.layouts import coordinates
from forgekit.layouts.tuples import (
    DYNAMIC_REMEDY,
    Basis,
    Dynamic,
    IntTuple,
    checked_tuple,
    congruent,
    depth_of,
    flat,
    has_dynamic,
    leaf_map,
    parts,
    product,
    text,
    to_coordinate,
    weakly_congruent,
)


class Shaped(ABC):
    """The base class of plain and composed layouts. It defines the methods that need only the
    shape."""

    shape: IntTuple
    is_static: bool

    @abstractmethod
    def mode(self, *path: int) -> Self:
        """Return a mode as a layout; `mode(1, 0)` is mode 0 of mode 1."""

    def __repr__(self) -> str:
        return str(self)

    def __getitem__(self, mode: int) -> Self:
        return self.mode(mode)

    def __len__(self) -> int:
        return self.rank

    def __iter__(self) -> Iterator[Self]:
        return map(self.mode, range(self.rank))

    @property
    def rank(self) -> int:
        return len(parts(self.shape))

    @property
    def depth(self) -> int:
        """Return the nesting depth: 0 for `8:1`, 1 for `(4,8):(1,4)`."""
        return depth_of(self.shape)

    def size(self, mode: int | None = None) -> int:
        """Return the number of coordinates of the whole layout, or of one mode."""
        part = self if mode is None else self.mode(mode)
        return product(part._sizes("the size"))

    def coordinate(self, index: object) -> IntTuple:
        """Return the nested coordinate that corresponds to a linear index (CuTe: idx2crd)."""
        sizes = self._sizes("the coordinate of an index")
        return coordinates.idx2crd(_without_none(index), sizes)

    def index(self, coord: object) -> int:
        """Return the linear index that corresponds to a coordinate (CuTe: crd2idx with the
        shape)."""
        sizes = self._sizes("the index of a coordinate")
        strides = coordinates.compact_strides(sizes)
        return int(coordinates.crd2idx(_without_none(coord), sizes, strides))

    def _sizes(self, what: str) -> IntTuple:
        if has_dynamic(self.shape):
            raise _dynamic(f"{what} of", str(self))
        return self.shape

    def require_static(self, what: str) -> None:
        """Raise UsageError if a size or stride is `?`; what: the requested computation, for the
        message."""
        if not self.is_static:
            raise _dynamic(f"{what} of", str(self))


@dataclass(frozen=True, init=False, repr=False)
class Layout(Shaped):
    """A function from coordinates to offsets, which is printed as in CuTe: `shape:stride`.

    Args:
        shape: a positive integer, or a nested tuple of positive integers.
        stride: nested like the shape; None for column-major (the leftmost mode is contiguous).
            A leaf may be negative, 0 (broadcast) or a `Basis` (for coordinate layouts). By default,
            modes of size 1 have stride 0, as in CuTe.

    A layout is called with a linear index (`layout(5)`, where the leftmost mode varies fastest),
    with one index per mode (`layout((1, 2))`), or with a coordinate nested like the shape
    (`layout((1, (0, 1)))`). As in CuTe, coordinates outside the shape are allowed. None in a
    coordinate keeps a mode: `layout((1, None))` is a Layout. `layout[i]` is mode i. Raises
    UsageError for entries that are not integers, sizes below 1, a stride nested differently from
    the shape, a coordinate that does not fit the shape, and computations with `?`.

    Source: CUTLASS, media/docs/cpp/cute/01_layout.md.
    """

    shape: IntTuple
    stride: IntTuple

    _of: ClassVar[Callable[[object], Any]]  # set by convert.py, which imports this module

    def __init__(self, shape: object, stride: object = None) -> None:
        checked_shape = checked_tuple(shape, "shape", leaf=_size_leaf)
        if stride is None:
            if has_dynamic(checked_shape):
                raise _dynamic("default strides of", text(checked_shape))
            checked_stride = coordinates.compact_strides(checked_shape)
        else:
            checked_stride = checked_tuple(stride, "stride", leaf=_stride_leaf)
        if not congruent(checked_shape, checked_stride):
            raise usage_error(
                "stride",
                f"{text(checked_stride)} for shape {text(checked_shape)}",
                "one stride per size, nested like the shape",
                "for example Layout((4, (2, 2)), (1, (4, 8)))",
            )
        object.__setattr__(self, "shape", checked_shape)
        object.__setattr__(self, "stride", checked_stride)

    @classmethod
    def of(cls, value: object) -> Any:
        """Return the Layout or ComposedLayout that a CuTe layout or tensor, its printed text, or a
        tuple (shape, stride) describes; see `forgekit.layouts.of`."""
        return cls._of(value)

    def __str__(self) -> str:
        return f"{text(self.shape)}:{text(self.stride)}"

    def __call__(self, coord: object) -> Any:
        """Return the offset of a coordinate, or a Layout if the coordinate contains None."""
        wanted = to_coordinate(coord)
        if None in flat(wanted):
            return slice_layout(self, wanted)
        self.require_static("the offset of a coordinate")
        return coordinates.crd2idx(wanted, self.shape, self.stride)

    def mode(self, *path: int) -> Layout:
        """Return a mode as a layout; `mode(1, 0)` is mode 0 of mode 1."""
        shape, stride = self.shape, self.stride
        for index in path:
            entries = parts(shape)
            number = integer_or_none(index)
            if number is None or not -len(entries) <= number < len(entries):
                needed = f"0 to {len(entries) - 1}"
                raise ModeError(got_needed(f"mode of {self}", brief(index), needed, "count from 0"))
            shape, stride = entries[number], parts(stride)[number]
        return unchecked(shape, stride)

    def cosize(self) -> int:
        """Return the span: one more than the largest offset, with absolute values of strides.

        For a coordinate layout, return the product of the spans of the coordinate's modes.
        """
        self.require_static("the cosize")
        spans: dict[tuple[int, ...], int] = {}
        for s, d in flat_modes(self):
            mode = d.mode if isinstance(d, Basis) else ()
            step: Any = d.value if isinstance(d, Basis) else d
            spans[mode] = spans.get(mode, 1) + (s - 1) * abs(step)
        return product(tuple(spans.values()))

    @property
    def is_static(self) -> bool:  # type: ignore[override]
        """Return True if no size or stride is `?`."""
        return not (has_dynamic(self.shape) or has_dynamic(self.stride))

    def flatten(self) -> Layout:
        """Return the same layout without nested modes: `(4,(2,2))` becomes `(4,2,2)`."""
        if not isinstance(self.shape, tuple):
            return self
        return unchecked(flat(self.shape), flat(self.stride))


Mode = tuple[Any, Any]  # the size and the stride of an innermost mode


def flat_modes(layout: Layout) -> list[Mode]:
    return list(zip(flat(layout.shape), flat(layout.stride), strict=True))


class ModeError(UsageError, IndexError):
    """Raised if a layout does not have the requested mode. It is also an IndexError, so Python's
    iteration by index ends."""


def unchecked(shape: IntTuple, stride: IntTuple) -> Layout:
    """Return a Layout with this shape and stride, without checking that they are valid."""
    layout = object.__new__(Layout)
    object.__setattr__(layout, "shape", shape)
    object.__setattr__(layout, "stride", stride)
    return layout


def _size_leaf(value: object) -> int | Dynamic:
    if isinstance(value, Dynamic):
        return value
    number = integer_or_none(value)
    if number is None or number < 1:
        remedy = "pass sizes as integers or nested tuples of integers, such as (4, (2, 2))"
        raise usage_error("shape entry", brief(value), "a positive integer", remedy)
    return number


def _stride_leaf(value: object) -> int | Basis | Dynamic:
    if isinstance(value, Dynamic | Basis):
        return value
    number = integer_or_none(value)
    if number is None:
        remedy = "pass strides in elements, nested like the shape, such as (1, (4, 8))"
        raise usage_error("stride entry", brief(value), "an integer", remedy)
    return number


def _without_none(coord: object) -> IntTuple:
    wanted = to_coordinate(coord)
    if None in flat(wanted):
        raise usage_error(
            "coordinate", text(wanted), "integers only", "use layout(coord) to slice with None"
        )
    return wanted


def _dynamic(what: str, layout: str) -> UsageError:
    return usage_error(f"{what} {layout}", "? (known only at run time)", "numbers", DYNAMIC_REMEDY)


@checked()
def slice_layout(layout: Layout, coord: object) -> Layout:
    """Return the layout of the modes for which `coord` is None, in order, as `layout(coord)` does
    in CuTe.

    The offset of the fixed modes is dropped; `slice_and_offset` also returns it. A tuple in the
    coordinate applies to the parts of a nested mode, so `(None, (1, None))` keeps 2 modes. Raises
    UsageError if the coordinate does not fit the shape.
    """
    wanted = to_coordinate(coord)
    if wanted is None:
        return layout
    if not weakly_congruent(wanted, layout.shape):
        needed = f"a tuple nested like the shape {text(layout.shape)}"
        raise usage_error("coordinate", text(wanted), needed, "one integer or None per mode")
    return Layout(_kept(wanted, layout.shape), _kept(wanted, layout.stride))


@checked()
def slice_and_offset(layout: Layout, coord: object) -> tuple[Layout, IntTuple]:
    """Return the slice at a coordinate that contains None, and the offset at which the slice
    begins."""
    wanted = to_coordinate(coord)
    sliced = slice_layout(layout, wanted)
    layout.require_static("the offset of a slice")
    start = leaf_map(lambda c: 0 if c is None else c, wanted)
    return sliced, coordinates.crd2idx(start, layout.shape, layout.stride)


def _kept(coord: IntTuple, value: IntTuple) -> tuple[IntTuple, ...]:
    """Return the parts of a shape or stride for which the coordinate is None; a tuple in the
    coordinate applies to nested parts."""
    if isinstance(coord, tuple):
        return tuple(p for c, v in zip(coord, value, strict=True) for p in _kept(c, v))
    return (value,) if coord is None else ()
