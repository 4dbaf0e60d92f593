"""What the explorer shows, as one dictionary that goes into the page as JSON.

Every layout text, offset and step is computed here, with forgekit.layouts. Elements are numbered as
CuTe numbers them (leftmost mode fastest); -1 stands for an element of a tile beyond the tensor.
"""

from __future__ import annotations

import re
from typing import Any

from forgekit.errors import brief, usage_error
from forgekit.layouts import ComposedLayout, Layout, Swizzle, read
from forgekit.layouts.swizzle import outer_of
from forgekit.layouts.tuples import Basis, flat, parts
from forgekit.viz import palette
from forgekit.viz.explorer.banks import bank_choices
from forgekit.viz.explorer.steps import tile_and_threads
from forgekit.viz.layouts.reading import offsets_of
from forgekit.viz.layouts.swizzle import element_width

_MOST_SIDE = 64  # rows and columns that can still be read, hovered and walked through with keys
_RAMP = 24  # colours from the first offset to the last
_WIDTH = re.compile(r"(?:float|bfloat|int|uint|bf|f|i|u|s)(8|16|32|64)")
_SPACES = ("gmem", "smem")


def build(value: Any, tile: Any, tv: Any, dtype: Any, memory: str | None) -> dict[str, Any]:
    """The whole payload; see `forgekit.viz.explorer.explore` for the arguments and errors."""
    described = read(value)
    layout = described.layout
    _require_explorable(layout)
    rows, columns = _picture(layout)
    bits, name = _element(dtype, described.dtype)
    memory = _space(memory, described.space)
    if described.pointer_swizzle is not None:
        layout = _with_pointer(layout, described.pointer_swizzle, bits)
    offsets = offsets_of(layout)
    steps, tile_data, tv_data = tile_and_threads(layout, tile, tv)
    swizzled = isinstance(layout, ComposedLayout) and isinstance(layout.inner, Swizzle)
    lab = None
    if memory == "smem" or (memory is None and swizzled):
        lab, step = bank_choices(layout, bits)
        steps = [*steps, step] if len(steps) > 1 else [step]
    return {
        "title": str(layout),
        "dtype": name,
        "bits": bits,
        "memory": memory,
        "rows": rows,
        "columns": columns,
        "modes": layout.rank,
        "shape": layout.shape if layout.rank > 1 else parts(layout.shape)[0],
        "terms": _terms(layout),
        "offsets": offsets.tolist(),
        "low": int(offsets.min()),
        "high": int(offsets.max()),
        "tile": tile_data,
        "tv": tv_data,
        "steps": steps,
        "lab": lab,
        "palette": {
            "offset": [palette.offset_colour(i, _RAMP) for i in range(_RAMP)],
            "thread": [palette.thread_colour(i) for i in range(32)],
            "block": [palette.block_colour(i) for i in range(8)],
            "bank": [palette.bank_colour(i) for i in range(32)],
            "nothing": palette.NOTHING,
            "ink": palette.INK,
        },
    }


def _terms(layout: Layout | ComposedLayout) -> dict[str, Any] | None:
    """What an offset is the sum of, so that the page can show the sum; None for a composition of
    two layouts, which is no such sum.
    """
    swizzle, start = None, 0
    if isinstance(layout, ComposedLayout):
        if isinstance(layout.inner, Layout):
            return None
        swizzle, start = layout.inner, int(layout.offset)
    own = [swizzle.bits, swizzle.base, swizzle.shift] if swizzle and swizzle.bits else None
    return {"strides": flat(outer_of(layout).stride), "start": start, "swizzle": own}


def _require_explorable(layout: Layout | ComposedLayout) -> None:
    if not layout.is_static:
        remedy = "give the sizes of one case: fk.explore(fk.Layout((16, 32), (32, 1))), say"
        raise usage_error("layout", f"{layout} with ? in it", "numbers only", remedy)
    if any(isinstance(stride, Basis) for stride in flat(outer_of(layout).stride)):
        remedy = "draw it with forgekit.viz.draw_layout, or explore the tensor itself"
        got = f"{layout}, whose offsets are coordinates"
        raise usage_error("layout", got, "offsets into memory", remedy)
    if layout.rank not in (1, 2):
        remedy = "slice it, as in layout((None, None, 0)), or group modes: ((4, 2), 8)"
        got = f"{layout} with {layout.rank} modes"
        raise usage_error("layout", got, "one or two modes", remedy)


def _picture(layout: Layout | ComposedLayout) -> tuple[int, int]:
    """Rows and columns of the picture; UsageError if they are too many."""
    size = layout.size()
    if layout.rank == 1:
        columns = size if size <= 32 else 32
        rows, got = -(-size // columns), f"{size:,} elements"
        needed = f"at most {32 * _MOST_SIDE:,}"
    else:
        rows, columns = layout.size(0), layout.size(1)
        got, needed = f"{rows:,} × {columns:,} cells", f"at most {_MOST_SIDE} × {_MOST_SIDE}"
    if max(rows, columns) > _MOST_SIDE:
        remedy = ("explore one tile of it, such as zipped_divide(layout, (32, 32))[0], or draw all "
                  "of it with forgekit.viz.draw_layout")  # fmt: skip
        raise usage_error(f"layout {layout}", got, needed, remedy)
    return rows, columns


def _element(dtype: Any, own: str | None) -> tuple[int, str]:
    """Width in bits and name of an element."""
    if dtype is None:
        return element_width(None, own), own or "float32"
    name = (dtype if isinstance(dtype, str) else brief(dtype)).removeprefix("torch.")
    if match := _WIDTH.fullmatch(name):
        return int(match[1]), name
    from forgekit.dtypes import dtype_info  # imports torch

    row = dtype_info(dtype)
    return row.bits, row.name


def _space(memory: str | None, own: str | None) -> str | None:
    if memory is None:
        return own if own in _SPACES else None
    if memory not in _SPACES:
        remedy = "leave it out to have the tensor's own, or neither"
        raise usage_error("memory", brief(memory), "'gmem' or 'smem'", remedy)
    return memory


def _with_pointer(layout: Any, swizzle: Swizzle, bits: int) -> ComposedLayout:
    """A swizzle of byte addresses as one of offsets."""
    down = (bits // 8).bit_length() - 1
    if down < 0 or swizzle.base < down or not isinstance(layout, Layout):
        got = f"{swizzle} of bytes behind elements of {bits} bits"
        remedy = "write the swizzle into the layout: ComposedLayout(Swizzle(…), 0, layout)"
        raise usage_error("pointer", got, "a swizzle that keeps elements whole", remedy)
    return ComposedLayout(Swizzle(swizzle.bits, swizzle.base - down, swizzle.shift), 0, layout)
