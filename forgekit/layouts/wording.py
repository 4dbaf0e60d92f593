"""Describe a layout or tensor in words; each function returns a sentence or a phrase."""

from __future__ import annotations

import itertools
from typing import Any

from forgekit.layouts.coordinates import crd2idx
from forgekit.layouts.layout import Layout, flat_modes
from forgekit.layouts.parse import Described
from forgekit.layouts.swizzle import ComposedLayout, Swizzle, outer_of
from forgekit.layouts.tuples import Basis, Dynamic, IntTuple, flat, has_dynamic, leaf_map, text

_DTYPES = {
    "bf16": "bfloat16",
    "tf32": "TensorFloat-32",
    **{f"f{bits}": f"{bits}-bit float" for bits in (16, 32, 64)},
    **{f"i{bits}": f"{bits}-bit integer" for bits in (8, 16, 32, 64, 128)},
}
_SPACES = {
    "gmem": "global memory",
    "smem": "shared memory",
    "rmem": "a thread's own registers",
    "tmem": "tensor memory",
    "dsmem": "another block's shared memory",
    "generic": "generic memory (global or shared)",
}
_COUNTED = 1 << 16  # maximum size of a layout whose distinct offsets are counted


def kind(described: Described) -> str:
    """Return text such as `A tensor of 32-bit float (f32) in global memory (gmem), aligned to 16
    bytes`."""
    if described.origin is not None:
        start = text(described.origin)
        return f"A coordinate tensor: each element is a coordinate; the first is {start}"
    if described.dtype is None and described.space is None:
        swizzled = isinstance(described.layout, ComposedLayout)
        return "A composed layout" if swizzled else "A layout"
    words = "A tensor"
    if described.dtype is not None:
        name = _DTYPES.get(described.dtype)
        words += f" of {name} ({described.dtype})" if name else f" of {described.dtype}"
    if described.space is not None:
        name = _SPACES[described.space]
        words += f" in {name}" + (f" ({described.space})" if described.space != "generic" else "")
    if described.align_bytes is not None:
        words += f", aligned to {described.align_bytes} bytes"
    return words


def extent(layout: Layout) -> str:
    """Return the number of elements, such as `4 x 8 = 32 elements`."""
    sizes = [mode.shape for mode in layout]
    shown = " x ".join(_sizes(size) for size in sizes) or "1"
    if has_dynamic(layout.shape):
        return f"{shown} elements, where ? is known only at run time"
    count = _number(layout.size(), "element")
    single = len(sizes) <= 1 and not isinstance(sizes[0] if sizes else 1, tuple)
    return count if single else f"{shown} = {count}"


def _number(count: int, noun: str) -> str:
    """Return text such as `2560 elements`. Like CuTe, write numbers without commas."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _sizes(shape: IntTuple) -> str:
    return text(leaf_map(lambda size: "?" if isinstance(size, Dynamic) else size, shape))


def order(layout: Layout) -> str:
    """Return a phrase for the order of a row-major or column-major matrix; empty for any other
    layout."""
    if layout.rank != 2 or layout.depth != 1:
        return ""
    (rows, columns), (down, right) = layout.shape, layout.stride
    if rows == 1 or columns == 1:
        return ""
    if right == 1 and _larger(down, columns):
        return "row-major: the elements of a row are adjacent"
    if down == 1 and _larger(right, rows):
        return "column-major: the elements of a column are adjacent"
    return ""


def _larger(stride: Any, size: Any) -> bool:
    """Return True if a stride is at least a size, or if either is unknown."""
    if isinstance(stride, int) and isinstance(size, int):
        return stride >= size
    return not isinstance(stride, Basis) and stride != 0


def coverage(layout: Layout) -> str:
    """Describe the range of offsets, and state whether the layout is one-to-one; empty if
    unknown."""
    if any(isinstance(d, Basis) for d in flat(layout.stride)):
        return ""
    repeats = any(s != 1 and d == 0 for s, d in flat_modes(layout))
    if not layout.is_static:
        return "Not one-to-one: stride 0 repeats the same elements" if repeats else ""
    size, cosize = layout.size(), layout.cosize()
    words = f"It spans {_number(cosize, 'element')} (cosize)"
    different = distinct_offsets(layout)
    if different is None:
        return words
    if different == size == cosize:
        return words + ": one-to-one and without gaps"
    if different == size:
        return words + f": one-to-one, with {_number(cosize - size, 'gap')} in between"
    why = " (stride 0 repeats the same elements)" if repeats else ""
    return words + f": not one-to-one, {size} coordinates share {different} offsets{why}"


def distinct_offsets(layout: Layout) -> int | None:
    """Return the number of distinct offsets; None if counting them would take too long."""
    moving = [(s, d) for s, d in flat_modes(layout) if s != 1 and d != 0]
    reached, count = 0, 1
    for s, d in sorted(moving, key=lambda leaf: abs(leaf[1])):
        if abs(d) <= reached:
            break
        reached += (s - 1) * abs(d)
        count *= s
    else:
        return count
    if layout.size() > _COUNTED:
        return None
    steps = (range(0, s * d, d) for s, d in moving)
    return len({sum(offsets) for offsets in itertools.product(*steps)})


def step(size: Any, stride: Any) -> str:
    """Describe one step along an innermost mode."""
    if not isinstance(size, Dynamic):
        return "one element, no step" if size == 1 else _distance(stride)
    if isinstance(stride, Dynamic):
        words = f"size{_multiple(size)} and distance between neighbours{_multiple(stride)}"
        return words + " known only at run time"
    return f"size{_multiple(size)} known only at run time; {_distance(stride)}"


def _distance(stride: Any) -> str:
    if isinstance(stride, Basis):
        return f"a step adds {stride.value} to {_entry(stride.mode)}"
    if isinstance(stride, Dynamic):
        return f"distance between neighbours{_multiple(stride)} known only at run time"
    if stride == 0:
        return "broadcast: every step reaches the same element"
    if stride == 1:
        return "neighbours 1 element apart (contiguous)"
    backwards = ", backwards" * (stride < 0)
    return f"neighbours {_number(abs(stride), 'element')} apart{backwards}"


def _multiple(value: Dynamic) -> str:
    return f" (a multiple of {value.divisor})" if value.divisor != 1 else ""


def _entry(mode: tuple[int, ...]) -> str:
    words = f"entry {mode[-1]}"
    for outer in reversed(mode[:-1]):
        words += f" of entry {outer}"
    return words + " of the coordinate"


def swizzle_words(swizzle: Swizzle, *, unit: str) -> str:
    """Describe the bits that a swizzle XORs; unit: the unit of offsets, `elements` or `bytes`."""
    if swizzle.bits == 0:
        return f"{swizzle} changes nothing"
    target = swizzle.base + max(-swizzle.shift, 0)
    source = swizzle.base + max(swizzle.shift, 0)
    run = 1 << min(target, source)
    changed, by = (_bits(first, swizzle.bits) for first in (target, source))
    place = f"runs of {run} {unit} change places" if run > 1 else f"{unit} change places"
    return f"{swizzle} XORs {changed} of each offset with {by}: {place}"


def _bits(first: int, count: int) -> str:
    return f"bit {first}" if count == 1 else f"bits {first} to {first + count - 1}"


def example(described: Described) -> str:
    """Return an example such as `Element (1,2) is at 1·1 + 2·4 = 9`."""
    layout, outer = described.layout, outer_of(described.layout)
    coord = _example_coordinate(outer)
    if coord is None:
        return ""
    where = f"Element {text(coord)}"
    pairs = list(zip(flat(coord), flat(outer.stride), strict=True))
    if any(isinstance(d, Basis) for _, d in pairs):
        return _coordinate_example(described, outer, coord) if layout is outer else ""
    total = " + ".join(f"{c}·?" if isinstance(d, Dynamic) else f"{c}·{d}" for c, d in pairs)
    if not outer.is_static and has_dynamic(tuple(d for _, d in pairs)):
        return f"{where} is at {total}"
    offset = sum(c * d for c, d in pairs)
    if layout is outer:
        before = "" if described.pointer_swizzle is None else " before the swizzle"
        return f"{where} is at {total} = {offset}{before}"
    if not isinstance(layout, ComposedLayout) or not isinstance(layout.inner, Swizzle):
        return ""
    if layout.offset != 0:
        total, offset = f"{text(layout.offset)} + {total}", layout.offset + offset
    return f"{where} is at {total} = {offset}, which {layout.inner} maps to {layout(coord)}"


def _coordinate_example(described: Described, layout: Layout, coord: IntTuple) -> str:
    moved = described.origin is not None and any(start != 0 for start in flat(described.origin))
    if moved or has_dynamic(layout.stride):
        return ""
    value = crd2idx(coord, layout.shape, layout.stride)
    return f"Element {text(coord)} is the coordinate {text(value)}"


def _example_coordinate(layout: Layout) -> IntTuple | None:
    """Return a small coordinate for an example. Its entries differ if the modes are large
    enough."""
    numbers = itertools.count(1)

    def pick(size: Any) -> int:
        if size == 1:
            return 0
        wanted = next(numbers)
        return wanted if isinstance(size, Dynamic) else min(wanted, size - 1)

    coord = leaf_map(pick, layout.shape)
    return coord if any(flat(coord)) else None
