"""Implement the layout algebra: coalesce, composition, complement and the inverses.

Results equal those of CuTe DSL 4.8.1, including the nesting and the order of modes. Source:
CUTLASS, media/docs/cpp/cute/02_layout_algebra.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from forgekit.arguments import checked, integer_or_none
from forgekit.errors import UsageError, brief, usage_error
from forgekit.layouts.layout import Layout, Mode, Shaped, flat_modes, unchecked
from forgekit.layouts.swizzle import ComposedLayout, outer_of
from forgekit.layouts.tuples import Basis, IntTuple, checked_tuple, flat, leaf_map, text


def from_modes(modes: list[Mode]) -> Layout:
    """Return the flat layout with these modes. A single mode becomes `8:1`, not `(8):(1)`; no modes
    become `1:0`."""
    if len(modes) == 1:
        return unchecked(*modes[0])
    if not modes:
        return unchecked(1, 0)
    return unchecked(tuple(s for s, _ in modes), tuple(d for _, d in modes))


def joined(layouts: list[Any]) -> Any:
    """Return a layout whose modes are the given layouts. Composed layouts must share a swizzle,
    with which the result is then composed."""
    for layout in layouts:
        if isinstance(layout, ComposedLayout):
            return replace(layout, outer=joined([outer_of(x) for x in layouts]))
    return unchecked(tuple(x.shape for x in layouts), tuple(x.stride for x in layouts))


def require_integers(layout: Layout, what: str) -> None:
    """Raise UsageError if a stride is a basis element such as 1@0."""
    if any(isinstance(stride, Basis) for stride in flat(layout.stride)):
        remedy = "compose the coordinate layout with a memory layout first"
        raise usage_error(f"{what} of {layout}", "strides like 1@0", "integer strides", remedy)


def merged(modes: list[Mode]) -> list[Mode]:
    """Drop modes of size 1, and merge each mode that continues the previous mode."""
    result: list[Mode] = []
    for s, d in modes:
        if s == 1:
            continue
        if result and result[-1][0] * result[-1][1] == d:
            result[-1] = (result[-1][0] * s, result[-1][1])
        else:
            result.append((s, d))
    return result


@checked()
def coalesce(layout: Layout | ComposedLayout, profile: object = None) -> Any:
    """Return the layout that has the fewest modes and is the same function of the linear index.

    If `profile` is a tuple, such as (1, 1), each top-level mode is coalesced separately, and modes
    beyond the profile do not change. Raises UsageError for a dynamic mode (`?`) and for a profile
    with more entries than the layout has modes.
    """
    if isinstance(layout, ComposedLayout):
        return replace(layout, outer=coalesce(layout.outer, profile))
    layout.require_static("coalesce")
    checked_tuple(profile, "profile", leaf=lambda entry: entry)
    if not isinstance(profile, tuple) or not profile:
        if layout.shape == ():
            return layout
        return from_modes(merged(flat_modes(layout)))
    if not isinstance(layout.shape, tuple) or len(profile) > layout.rank:
        got, needed = text(profile), f"no more entries than modes of {layout}"
        raise usage_error("profile", got, needed, "pass one entry per mode to coalesce")
    modes = list(layout)
    for i, part in enumerate(profile):
        modes[i] = coalesce(modes[i], part)
    return joined(modes)


@checked()
def filter_zeros(layout: Layout) -> Layout:
    """Return the layout with the size of each broadcast mode (stride 0) reduced to 1."""
    layout.require_static("filter_zeros")
    sizes = leaf_map(lambda s, d: 1 if d == 0 else s, layout.shape, layout.stride)
    return unchecked(sizes, layout.stride)


@checked()
def composition(a: Layout | ComposedLayout, b: Any) -> Any:
    """Return the layout R with R(c) = a(b(c)) and the modes of `b`.

    `b` is a Layout, an integer n (the layout n:1), or a tiler: a tuple of Layouts and integers, one
    per mode of `a`, in which None keeps a whole mode. Modes of `a` beyond the tiler are dropped.
    Raises UsageError in the same cases as CuTe: if a size does not divide another size, or if a
    stride of `b` is larger than a size of `a` but not a multiple of it.

    Like CuTe, this function does not check strides of `b` that are negative or *smaller* than a
    size of `a`. With such strides, the result may not be a composition: `(4,6):(6,1) o 4:3` is
    `(2,2):(18,1)`, which maps 2 to 1, but `a` maps 6 to 13.
    """
    if isinstance(b, tuple):
        return joined(by_mode(composition, a, b, "composition")[: len(b)])
    if isinstance(a, ComposedLayout):
        return replace(a, outer=composition(a.outer, b))
    other = as_layout(b, "composition")
    a.require_static("composition")
    other.require_static("composition")
    return _compose(a, other.shape, other.stride)


def as_layout(value: Any, what: str) -> Layout:
    """Return a Layout unchanged, and convert an integer n to n:1."""
    if isinstance(value, Layout):
        return value
    if integer_or_none(value) is not None:
        return Layout(value)
    needed = "a Layout, an integer, or a tuple of these with one entry per mode"
    raise usage_error(f"{what}: tiler", brief(value), needed, "for example (32, 8)")


def by_mode(
    function: Callable[[Any, Any], Any], layout: Any, tiler: tuple[Any, ...], what: str
) -> list[Any]:
    """Apply `function(mode, entry)` to each mode of a layout; a mode whose entry is None or missing
    does not change."""
    # Refuse a tiler that is nested too deeply.
    checked_tuple(tiler, f"{what}: tiler", leaf=lambda entry: entry)
    if len(tiler) > layout.rank:
        needed = f"at most {layout.rank}, one per mode of {outer_of(layout)}"
        remedy = "pass one entry per mode; None keeps a mode whole"
        raise usage_error(f"{what}: tiler", f"{len(tiler)} entries", needed, remedy)
    modes = list(layout)
    for i, entry in enumerate(tiler):
        if entry is not None:
            modes[i] = function(modes[i], entry)
    return modes


def _compose(a: Layout, shape: IntTuple, stride: IntTuple) -> Layout:
    """Return a o shape:stride, by composing `a` with each mode of the right-hand side."""
    if isinstance(shape, tuple):
        pairs = zip(shape, stride, strict=True)
        return joined([_compose(a, s, d) for s, d in pairs])
    if isinstance(stride, Basis):
        return _compose(a.mode(*stride.mode), shape, stride.value)
    return _compose_leaf(a, shape, stride)


def _compose_leaf(a: Layout, size: int, stride: int) -> Layout:
    """Return a o size:stride: `size` elements of `a` that are `stride` elements apart."""
    if stride == 0:
        return Layout(size, 0)
    modes = flat_modes(a)
    if modes and modes[-1][0] == 1:  # a composition may extend beyond a last mode of size 1
        modes[-1] = (2, modes[-1][1])
    modes = merged(modes)
    if not modes:
        raise _no_composition(a, size, stride, "the left side has no modes")
    found: list[Mode] = []
    rest_size, rest_stride = size, stride
    for extent, step in modes[:-1]:
        if rest_stride % extent and rest_stride >= extent:
            why = f"{rest_stride} is not a multiple of {extent}"
            raise _no_composition(a, size, stride, why)
        available = -(-extent // abs(rest_stride))
        next_stride = -(-abs(rest_stride) // extent) * (1 if rest_stride > 0 else -1)
        if available != 1 and rest_size != 1:
            taken = min(available, rest_size)
            if rest_size % taken:
                why = f"{rest_size} is not a multiple of {taken}"
                raise _no_composition(a, size, stride, why)
            found.append((taken, rest_stride * step))
            rest_size //= taken
        rest_stride = next_stride
    if found and rest_size == 1:
        return from_modes(found)
    found.append((rest_size, rest_stride * modes[-1][1]))
    return from_modes(merged(found) if len(found) > 1 else found)  # CuTe merges only here


def _no_composition(a: Layout, size: int, stride: int, why: str) -> UsageError:
    needed = "sizes and strides that divide one another"
    remedy = "choose a tile that divides the modes of the layout"
    return usage_error("composition", f"{a} o {size}:{stride}, where {why}", needed, remedy)


@checked()
def complement(layout: Layout, cotarget: Any = 1) -> Layout:
    """Return a layout whose offsets, added to those of `layout`, fill `cotarget`.

    `cotarget` is a size, a shape or a Layout (whose shape is used). The modes of the result are
    ordered by stride; sizes are rounded up if `cotarget` is not a multiple of the layout's span.

    Raises UsageError for a layout without a complement: a layout with a stride that is less than
    the span of the modes with smaller strides, such as `(2,2):(2,2)`, or with a negative or a basis
    stride. (For such a layout, CuTe DSL 4.8.1 returns sizes of 0 or less, and dividing by it can
    end the process.)
    """
    layout.require_static("complement")
    target = cotarget.shape if isinstance(cotarget, Shaped) else Layout(cotarget).shape
    modes = merged(flat_modes(filter_zeros(layout)))
    require_integers(layout, "complement")
    if (least := min((stride for _, stride in modes), default=0)) < 0:
        raise _no_complement(layout, f"the stride {least}", "positive strides")
    found: list[Mode] = []
    reached = 1
    for size, stride in sorted(modes, key=lambda mode: mode[1]):
        if stride < reached:
            why = f"the stride {stride}, within the {reached} elements that other modes span"
            raise _no_complement(
                layout, why, "each stride at least the span of the modes with smaller strides"
            )
        found.append((stride // reached, reached))
        reached = size * stride
    step = reached
    for size in flat(target):  # modes that fill `cotarget` beyond the layout's span
        rest = -(-size // reached)
        found.append((rest, step))
        step *= rest
        reached = -(-reached // size)
    return from_modes(merged(found))


def _no_complement(layout: Layout, got: str, needed: str) -> UsageError:
    remedy = "use a layout or tiler whose coordinates all have different offsets"
    return usage_error(f"complement of {layout}", got, needed, remedy)


@checked()
def right_inverse(layout: Layout) -> Layout:
    """Return the layout R with layout(R(i)) = i for the longest possible range of offsets i that
    begins at 0.

    If the layout is one-to-one and has no gaps, R is its inverse. Modes with negative strides are
    skipped.
    """
    layout.require_static("right_inverse")
    require_integers(layout, "right_inverse")
    index_of: dict[Any, Mode] = {}  # stride -> (size, index stride) of its first mode
    for stride, size, before in _steps(layout):
        index_of.setdefault(stride, (size, before))
    found: list[Mode] = []
    wanted = 1
    while wanted in index_of:
        size, index_stride = index_of[wanted]
        found.append((size, index_stride))
        wanted *= size
    return from_modes(merged(found))


def _steps(layout: Layout) -> Iterator[tuple[Any, int, int]]:
    """Yield the stride, the size and the index stride of each coalesced mode."""
    index = 1
    for size, stride in merged(flat_modes(layout)):
        yield stride, size, index
        index *= size


@checked()
def left_inverse(layout: Layout) -> Layout:
    """Return the layout L with L(layout(i)) = i, for a one-to-one layout.

    L maps an offset that the layout does not reach to the index of a neighbouring offset. Raises
    UsageError if a stride is negative or not a multiple of the smaller strides. Like CuTe, this
    function does not check that the layout is one-to-one.
    """
    layout.require_static("left_inverse")
    require_integers(layout, "left_inverse")
    steps = [step for step in _steps(layout) if step[0] != 0]
    found: list[Mode] = []
    reached, index_stride, last = 1, 0, 1
    for stride, size, index in sorted(steps, key=lambda step: step[0]):
        if stride < 0 or stride % reached:
            raise usage_error(
                f"left inverse of {layout}",
                f"the stride {stride}, not a positive multiple of {reached}",
                "positive strides, each a multiple of all smaller strides",
                "use a compact or padded layout such as (4,8):(9,1)",
            )
        found.append((stride // reached, index_stride))
        reached, index_stride, last = stride, index, size
    return from_modes(merged([*found, (last, index_stride)]))
