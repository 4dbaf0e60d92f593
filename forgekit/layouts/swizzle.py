"""Define swizzles, and layouts composed with a swizzle, such as `S<3,4,3> o 0 o (8,64):(64,1)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forgekit.arguments import integer_or_none
from forgekit.errors import UsageError, brief, usage_error
from forgekit.layouts import coordinates
from forgekit.layouts.layout import Layout, Shaped, slice_and_offset
from forgekit.layouts.tuples import (
    Basis,
    Dynamic,
    IntTuple,
    checked_tuple,
    flat,
    text,
    to_coordinate,
)

_OFFSET_BITS = 32


@dataclass(frozen=True, repr=False)
class Swizzle:
    """A permutation of offsets that XORs `bits` bits of each offset with `bits` other bits.

    The `bits` bits that begin at bit `base` are XORed with the bits `shift` places above them
    (below them, if `shift` is negative). If `bits` is 0, the swizzle is the identity. CuTe DSL
    4.8.1 silently replaces a swizzle with invalid parameters (abs(shift) < bits, negative `bits` or
    `base`, or more than 32 bits in total) with the identity S<0,4,3>; this class raises UsageError.
    Source: CUTLASS, include/cute/swizzle.hpp.
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        for name in ("bits", "base", "shift"):
            number = integer_or_none(getattr(self, name))
            if number is None:
                raise _bad_swizzle(self, f"{name} is not an integer")
            object.__setattr__(self, name, number)
        if self.bits == 0:  # as in CuTe, all identities are equal
            object.__setattr__(self, "base", 4)
            object.__setattr__(self, "shift", 3)
        elif self.bits < 0 or self.base < 0:
            raise _bad_swizzle(self, "bits and base must not be negative")
        elif abs(self.shift) < self.bits:
            raise _bad_swizzle(self, "the two groups of bits would overlap: abs(shift) < bits")
        elif self.bits + self.base + abs(self.shift) > _OFFSET_BITS:
            raise _bad_swizzle(self, f"the swizzle reaches beyond {_OFFSET_BITS} bits")

    def __str__(self) -> str:
        return f"S<{self.bits},{self.base},{self.shift}>"

    __repr__ = __str__

    def __call__(self, offset: int) -> int:
        """Return the swizzled offset."""
        if integer_or_none(offset) is None:
            remedy = "compose it with a layout for coordinates: ComposedLayout(swizzle, 0, layout)"
            raise usage_error(f"{self}", brief(offset), "an integer offset", remedy)
        mask = (1 << self.bits) - 1
        source = self.base + max(self.shift, 0)
        target = self.base + max(-self.shift, 0)
        return offset ^ (((offset >> source) & mask) << target)


def _bad_swizzle(swizzle: Swizzle, why: str) -> UsageError:
    got = f"{brief((swizzle.bits, swizzle.base, swizzle.shift))}: {why}"
    needed = "integers with bits >= 0, base >= 0 and abs(shift) >= bits"
    remedy = "for 128-byte rows of 16-byte chunks, use Swizzle(3, 4, 3) on byte offsets"
    return usage_error("Swizzle(bits, base, shift)", got, needed, remedy)


def _offset(value: object) -> int | Basis | Dynamic:
    number = value if isinstance(value, Basis | Dynamic) else integer_or_none(value)
    if number is None:
        needed, remedy = "an integer, or a tuple of integers", "write 0 for no offset"
        raise usage_error("ComposedLayout, offset", brief(value), needed, remedy)
    return number


@dataclass(frozen=True, repr=False)
class ComposedLayout(Shaped):
    """The function `inner o offset o outer`, which maps a coordinate c to inner(offset + outer(c)).

    `inner` is a Swizzle or a Layout. `outer` is a Layout, whose shape is also the shape of the
    composed layout. A composed layout has no stride. Source: CUTLASS,
    include/cute/layout_composed.hpp.
    """

    inner: Swizzle | Layout
    offset: IntTuple
    outer: Layout

    def __post_init__(self) -> None:
        if not isinstance(self.inner, Swizzle | Layout) or not isinstance(self.outer, Layout):
            raise usage_error(
                "ComposedLayout(inner, offset, outer)",
                f"{brief(self.inner)}, {brief(self.outer)}",
                "a Swizzle or Layout as inner, a Layout as outer",
                "for example ComposedLayout(Swizzle(3, 4, 3), 0, Layout((8, 64), (64, 1)))",
            )
        object.__setattr__(self, "offset", checked_tuple(self.offset, "offset", leaf=_offset))

    def __str__(self) -> str:
        return f"{self.inner} o {text(self.offset)} o {self.outer}"

    @property
    def shape(self) -> IntTuple:
        """Return the shape of the outer layout."""
        return self.outer.shape

    @property
    def is_static(self) -> bool:  # type: ignore[override]
        """Return True if no size or stride is `?`."""
        return self.outer.is_static and (isinstance(self.inner, Swizzle) or self.inner.is_static)

    def __call__(self, coord: object) -> Any:
        """Return the offset of a coordinate, or a ComposedLayout if the coordinate contains None.

        CuTe DSL 4.8.1 prints such a slice without its first offset, and without the swizzle if it
        can fold the swizzle into the strides. This function keeps both.
        """
        wanted = to_coordinate(coord)
        if None in flat(wanted):
            sliced, start = slice_and_offset(self.outer, wanted)
            return ComposedLayout(self.inner, coordinates.add(self.offset, start), sliced)
        return self.inner(coordinates.add(self.offset, self.outer(wanted)))

    def mode(self, *path: int) -> ComposedLayout:
        """Return a mode of the outer layout, composed with the same inner function."""
        return ComposedLayout(self.inner, self.offset, self.outer.mode(*path))

    def cosize(self) -> int:
        """Return the span of the outer layout. Like CuTe, assume that the swizzle permutes the
        offsets within this span.

        Raises UsageError if the inner function is a Layout, as CuTe also does.
        """
        if isinstance(self.inner, Layout):
            needed = "a swizzle"
            remedy = "use composition(inner, outer) to combine the two into one layout"
            raise usage_error(f"cosize of {self}", "a layout as the inner function", needed, remedy)
        return self.outer.cosize()

    def flatten(self) -> ComposedLayout:
        """Return the same layout without nested modes."""
        return ComposedLayout(self.inner, self.offset, self.outer.flatten())


def outer_of(layout: Layout | ComposedLayout) -> Layout:
    return layout.outer if isinstance(layout, ComposedLayout) else layout
