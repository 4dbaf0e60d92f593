"""What the explorer shows, as one dictionary that goes into the page as JSON.

Every layout text, offset and step is computed here, with forgekit.layouts. Elements are numbered as
CuTe numbers them (leftmost mode fastest); -1 stands for an element of a tile beyond the tensor.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from forgekit.errors import brief, usage_error
from forgekit.layouts import ComposedLayout, Layout, Swizzle, read
from forgekit.layouts.tuples import Basis, flat
from forgekit.viz.explorer.banks import bank_choices
from forgekit.viz.explorer.steps import tile_and_threads
from forgekit.viz.layouts.banks import element_width
from forgekit.viz.layouts.palette import INK, NOTHING, bank_colour, offset_colour, thread_colour
from forgekit.viz.layouts.reading import Array, offsets_of

MOST_SIDE = 64  # rows and columns that can still be read, hovered and walked through with keys
_RAMP = 24  # colours from the first offset to the last
_WIDTH = re.compile(r"(?:float|bfloat|int|uint|bf|f|i|u|s)(8|16|32|64)")
_SPACES = ("gmem", "smem")


@dataclass(frozen=True)
class Subject:
    """A layout that can be explored.

    Attributes:
        layout: all of it known, of one or two modes. offsets: of each element, in its order.
        bits, dtype: of an element. memory: "gmem", "smem" or None.
        rows, columns: of the picture; one mode runs along rows of it.
    """

    layout: Layout | ComposedLayout
    offsets: Array
    bits: int
    dtype: str
    memory: str | None
    rows: int
    columns: int

    @property
    def outer(self) -> Layout:
        """The layout without its swizzle."""
        return self.layout.outer if isinstance(self.layout, ComposedLayout) else self.layout


def build(value: Any, tile: Any, tv: Any, dtype: Any, memory: str | None) -> dict[str, Any]:
    """The whole payload; see `forgekit.viz.explorer.explore` for the arguments and errors."""
    subject = _read(value, dtype, memory)
    layout = subject.layout
    steps, tile_data, tv_data = tile_and_threads(layout, subject.offsets, tile, tv)
    swizzled = isinstance(layout, ComposedLayout) and isinstance(layout.inner, Swizzle)
    lab = None
    if subject.memory == "smem" or (subject.memory is None and swizzled):
        lab, step = bank_choices(subject.layout, subject.bits)
        steps = [*steps, step] if len(steps) > 1 else [step]
    low, high = int(subject.offsets.min()), int(subject.offsets.max())
    return {
        "title": str(layout),
        "dtype": subject.dtype,
        "bits": subject.bits,
        "memory": subject.memory,
        "rows": subject.rows,
        "columns": subject.columns,
        "modes": layout.rank,
        "shape": layout.shape if layout.rank > 1 else _only(layout.shape),
        "terms": _terms(layout),
        "offsets": subject.offsets.tolist(),
        "low": low,
        "high": high,
        "tile": tile_data,
        "tv": tv_data,
        "steps": steps,
        "lab": lab,
        "palette": {
            "offset": [offset_colour(i, _RAMP) for i in range(_RAMP)],
            "thread": [thread_colour(i) for i in range(32)],
            "bank": [bank_colour(i) for i in range(32)],
            "nothing": NOTHING,
            "ink": INK,
        },
    }


def _only(shape: Any) -> Any:
    return shape[0] if isinstance(shape, tuple) else shape


def _terms(layout: Layout | ComposedLayout) -> dict[str, Any] | None:
    """What an offset is the sum of, so that the page can show the sum; None for a composition of
    two layouts, which is no such sum.
    """
    if not isinstance(layout, ComposedLayout):
        return {"strides": flat(layout.stride), "start": 0, "swizzle": None}
    if isinstance(layout.inner, Layout):
        return None
    s = layout.inner
    return {"strides": flat(layout.outer.stride), "start": int(layout.offset),
            "swizzle": [s.bits, s.base, s.shift] if s.bits else None}  # fmt: skip


def _read(value: Any, dtype: Any, memory: str | None) -> Subject:
    described = read(value)
    layout = described.layout
    if not layout.is_static:
        remedy = "give the sizes of one case: fk.explore(fk.Layout((16, 32), (32, 1))), say"
        raise usage_error("layout", f"{layout} with ? in it", "numbers only", remedy)
    outer = layout.outer if isinstance(layout, ComposedLayout) else layout
    if any(isinstance(stride, Basis) for stride in flat(outer.stride)):
        remedy = "draw it with forgekit.viz.draw_layout, or explore the tensor itself"
        raise usage_error("layout", f"{layout}, whose offsets are coordinates",
                                    "offsets into memory", remedy)  # fmt: skip
    if layout.rank not in (1, 2):
        remedy = "slice it, as in layout((None, None, 0)), or group modes: ((4, 2), 8)"
        got = f"{layout} with {layout.rank} modes"
        raise usage_error("layout", got, "one or two modes", remedy)
    rows, columns = _picture(layout)
    bits, name = _element(dtype, described.dtype)
    space = _space(memory, described.space)
    if described.pointer_swizzle is not None:
        layout = _with_pointer(layout, described.pointer_swizzle, bits)
    return Subject(layout, offsets_of(layout), bits, name, space, rows, columns)


def _picture(layout: Layout | ComposedLayout) -> tuple[int, int]:
    """Rows and columns of the picture; UsageError if they are too many."""
    size = layout.size()
    if layout.rank == 1:
        columns = size if size <= 32 else 32
        rows, got = -(-size // columns), f"{size:,} elements"
        needed = f"at most {32 * MOST_SIDE:,}"
    else:
        rows, columns = layout.size(0), layout.size(1)
        got, needed = f"{rows:,} × {columns:,} cells", f"at most {MOST_SIDE} × {MOST_SIDE}"
    if max(rows, columns) > MOST_SIDE:
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
    down = int(math.log2(bits // 8)) if bits >= 8 else -1
    if down < 0 or swizzle.base < down or not isinstance(layout, Layout):
        got = f"{swizzle} of bytes behind elements of {bits} bits"
        remedy = "write the swizzle into the layout: ComposedLayout(Swizzle(…), 0, layout)"
        needed = "a swizzle that keeps elements whole"
        raise usage_error("pointer", got, needed, remedy)
    return ComposedLayout(Swizzle(swizzle.bits, swizzle.base - down, swizzle.shift), 0, layout)
