"""The explorer's sliders: a shared-memory tile with its rows padded or its offsets swizzled."""

from __future__ import annotations

from typing import Any

from forgekit.layouts import ComposedLayout, Layout, Swizzle
from forgekit.layouts.swizzle import outer_of
from forgekit.viz.layouts.reading import offsets_of
from forgekit.viz.layouts.swizzle import BANK_BITS, describe_ways, worst_ways

_MOST_PADDING = 8  # elements
_MOST_BITS = 5  # 32 banks


def bank_choices(
    layout: Layout | ComposedLayout, bits: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The choices of both sliders and where they start, and the step that shows them.

    The page computes offsets from `plain`, those without a swizzle (None: there is none): padded by
    p, element (i, j) lies (p - padding) × i further on, or × j, as `pad_mode` says. Moving one
    slider sets the other back.
    """
    outer = outer_of(layout)
    own = layout.inner if isinstance(layout, ComposedLayout) else None
    lab: dict[str, Any]
    if isinstance(own, Layout):  # no swizzle, and no plain offsets either
        lab = {"plain": None, "pad_mode": None, "padding": 0, "start": 0,
               "swizzles": [None], "layouts": [[str(layout)], [str(layout)]], "own": 0}  # fmt: skip
        lab["conflicts"] = [_described(layout, bits)]
        return lab, _step(layout, can_pad=False, can_swizzle=False)
    start = layout.offset if isinstance(layout, ComposedLayout) else 0
    mode, extent, padding = _row_mode(outer)
    if own is not None and own.bits:
        padding = 0
    swizzles: list[Swizzle | None] = [None, *_family(outer, mode, extent, bits)]
    if own is not None and own.bits and own not in swizzles:
        swizzles.append(own)
    pads = range(_MOST_PADDING + 1) if mode is not None else range(1)
    plain = _padded(outer, mode, -padding)
    padded = [_padded(outer, mode, p - padding) for p in pads]
    with_pad = [_with(layout, None, start) for layout in padded]
    with_swizzle = [_with(plain, s, start) for s in swizzles]
    lab = {
        "plain": None if own is None else offsets_of(outer).tolist(),
        "pad_mode": mode,
        "padding": padding,
        "start": start,
        "swizzles": [s and [s.bits, s.base, s.shift] for s in swizzles],
        "layouts": [[str(x) for x in with_pad], [str(x) for x in with_swizzle]],
        "conflicts": [_described(x, bits) for x in [*with_pad, *with_swizzle[1:]]],
        "own": swizzles.index(own) if own is not None and own.bits else 0,
    }
    return lab, _step(layout, can_pad=mode is not None, can_swizzle=len(swizzles) > 1)


def _with(layout: Layout, swizzle: Swizzle | None, start: Any) -> Layout | ComposedLayout:
    if swizzle is None and start == 0:
        return layout
    return ComposedLayout(swizzle or Swizzle(0, 4, 3), start, layout)


def _described(layout: Layout | ComposedLayout, bits: int) -> list[str]:
    """The layout, and the conflicts of a warp that reads its columns and its rows."""
    rows = layout.size(0) if layout.rank == 2 else 1
    table = offsets_of(layout).reshape(-1, rows)  # a row of it is a column of the tile
    return [str(layout), *map(describe_ways, worst_ways(table, bits))]


def _row_mode(layout: Layout) -> tuple[int | None, int, int]:
    """The mode that steps from row to row in memory, how long a row is, and how many elements of
    padding it has now; None if the layout is not made of such rows.
    """
    if layout.rank != 2 or not all(isinstance(s, int) for s in (*layout.shape, *layout.stride)):
        return None, 0, 0
    for along, mode in ((1, 0), (0, 1)):
        extent, step = layout.shape[along], layout.stride[mode]
        if layout.stride[along] == 1 and step >= extent and layout.shape[mode] > 1:
            more = step - extent
            return mode, extent, more if more <= _MOST_PADDING else 0
    return None, 0, 0


def _padded(layout: Layout, mode: int | None, more: int) -> Layout:
    if mode is None or more == 0:
        return layout
    stride = list(layout.stride)
    stride[mode] += more
    return Layout(layout.shape, tuple(stride))


def _family(layout: Layout, mode: int | None, extent: int, bits: int) -> list[Swizzle]:
    """Swizzles that XOR an element's bank with its row's number, or with its 128-byte line's where
    lines hold several rows; from one bit up to all that help. None unless sizes are powers of two.
    """
    if mode is None or extent & (extent - 1) or layout.shape[mode] & (layout.shape[mode] - 1):
        return []
    base = _log2(BANK_BITS // bits)  # elements of one bank stay together
    banks = _MOST_BITS - _log2(bits // BANK_BITS)  # that whole elements have
    shift = max(_log2(extent) - base, banks)
    above = _log2(extent * layout.shape[mode]) - base - shift  # bits that tell lines apart
    return [Swizzle(b, base, shift)
            for b in range(1, min(banks, _log2(extent) - base, above) + 1)]  # fmt: skip


def _log2(number: int) -> int:
    return max(number, 1).bit_length() - 1


def _step(layout: object, *, can_pad: bool, can_swizzle: bool) -> dict[str, Any]:
    cures = [name for name, can in (("pad the rows", can_pad), ("swizzle", can_swizzle)) if can]
    words = ("Shared memory has 32 banks of 4 bytes; lanes that need different words of one bank "
             "wait for each other")  # fmt: skip
    words += f": {' or '.join(cures)} and watch the banks." if cures else "."
    return {"kind": "banks", "name": "banks", "code": "sA", "result": str(layout),
            "modes": "(row,column)", "words": words, "show": "bank"}  # fmt: skip
