"""Open the layout playground for a layout, in a notebook or in a separate file."""

from __future__ import annotations

import functools
import os
import re
from typing import Any

from forgekit.arguments import checked
from forgekit.errors import brief, usage_error
from forgekit.layouts import ComposedLayout, Layout, Swizzle, read
from forgekit.show import Shown
from forgekit.viz.explorer.page import playground_html
from forgekit.viz.explorer.steps import banks_step, tile_and_threads
from forgekit.viz.layouts.reading import MOST_CELLS, read_layout
from forgekit.viz.layouts.swizzle import element_width
from forgekit.viz.page import write_page

_WIDTH = re.compile(r"(?:float|bfloat|int|uint|bf|f|i|u|s)(8|16|32|64)")
_SPACES = ("gmem", "smem")


class Explorer(Shown):
    """The result of `explore`, which a notebook displays; `print` prints it as text.

    Attributes:
        data: the playground's initial state, a dict that the HTML contains as JSON.
    """

    def __init__(self, data: dict[str, Any], layout: Layout | ComposedLayout) -> None:
        self.data = data
        self.layout = layout

    @functools.cached_property
    def summary(self) -> str:
        """Describe the steps and their layouts, for the first tile and the first thread."""
        lines = [f"Layout {self.data['layout']}, {self.data['bits']}-bit elements"]
        steps = self.data["steps"]
        for number, step in enumerate(steps, 1):
            first = {"tile": self.data["tile"], "thread": "0", "begin": step["begin"]}
            name = f"{number}. {step['name']}" if len(steps) > 1 else step["name"]
            code, words = (step[part].format(**first) for part in ("code", "words"))
            lines += ["", f"{name}: {code}  # {step['modes']}", f"   {step['result']}"]
            lines.append(f"   {words}")
        return "\n".join(lines)

    @functools.cached_property
    def html(self) -> str:
        """Return a self-contained HTML fragment that needs neither a network nor a kernel; equal
        layouts give equal text."""
        return explorer_html(self)

    @checked()
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a complete HTML page to a file. Raises UsageError if it cannot be written."""
        write_page(path, f"Layout {self.data['layout']}", self.html)


@checked()
def explore(
    layout: Any, *, tile: Any = None, tv: Any = None, dtype: Any = None, memory: str | None = None
) -> Explorer:
    """Open the layout playground, which shows a layout's offsets, tiles, threads and banks.

    Hover, tap or use the arrow keys to see an element's coordinate, offset, bank, 32-byte sector
    and 128-byte line; the first element is assumed to be at the start of a line. The reader can
    edit the layout, the operation and the tiler.

    Args:
        layout: a CuTe layout (during tracing), a forgekit layout, a tensor, a layout as CuTe prints
            it, or a tuple (shape, stride), with up to 65,536 elements.
        tile: the tiler of the zipped_divide step, such as (8, 16).
        tv: for the composition and thread steps, a thread-value layout over the tile (without a
            tile, over the whole layout); or the result of make_layout_tv, which includes its tile.
        dtype: the element type, such as "float16", torch.float16 or cutlass.Float16; by default the
            tensor's element type, or float32.
        memory: "smem" shows banks, sliders for padding or swizzling, and the bank conflicts of a
            warp that reads a row or a column; "gmem" omits these. The default is the tensor's
            memory; a layout with a swizzle is assumed to be in shared memory.

    Raises:
        UsageError: `layout` is not a layout, contains `?` or has too many elements; a tiler or TV
            layout does not fit; the dtype or memory is unknown.

    Source of banks, sectors and lines: CUDA C++ Programming Guide, shared and global memory.
    """
    described = read(layout)
    whole = read_layout(layout)
    if whole.size() > MOST_CELLS:
        remedy = "explore one tile of it, such as zipped_divide(layout, (32, 32))[0]"
        needed = f"at most {MOST_CELLS:,}"
        raise usage_error(f"layout {whole}", f"{whole.size():,} elements", needed, remedy)
    bits = _bits(dtype, described.dtype)
    if described.pointer_swizzle is not None:
        whole = _with_pointer(whole, described.pointer_swizzle, bits)
    walked = tile_and_threads(whole, tile, tv)
    memory = _space(memory, described.space)
    swizzled = isinstance(whole, ComposedLayout) and isinstance(whole.inner, Swizzle)
    if memory == "smem" or (memory is None and swizzled):
        banks = banks_step(whole, bits)
        walked["steps"] = [*walked["steps"], banks] if len(walked["steps"]) > 1 else [banks]
    return Explorer({"layout": str(whole), "bits": bits, **walked}, whole)


def explorer_html(explorer: Explorer) -> str:
    return playground_html(explorer.data, explorer.layout, explorer.summary)


def _bits(dtype: Any, own: str | None) -> int:
    if dtype is None:
        return element_width(None, own)
    name = (dtype if isinstance(dtype, str) else brief(dtype)).removeprefix("torch.")
    if match := _WIDTH.fullmatch(name):
        return int(match[1])
    from forgekit.dtypes import dtype_info  # importing torch takes seconds

    return dtype_info(dtype).bits


def _space(memory: str | None, own: str | None) -> str | None:
    if memory is None:
        return own if own in _SPACES else None
    if memory not in _SPACES:
        remedy = "leave it out to use the tensor's own memory, if any"
        raise usage_error("memory", brief(memory), "'gmem' or 'smem'", remedy)
    return memory


def _with_pointer(layout: Any, swizzle: Swizzle, bits: int) -> ComposedLayout:
    down = (bits // 8).bit_length() - 1
    if down < 0 or swizzle.base < down or not isinstance(layout, Layout):
        got = f"{swizzle} on byte addresses of {bits}-bit elements"
        remedy = "write the swizzle into the layout: ComposedLayout(Swizzle(…), 0, layout)"
        raise usage_error("pointer", got, "a swizzle that keeps elements whole", remedy)
    return ComposedLayout(Swizzle(swizzle.bits, swizzle.base - down, swizzle.shift), 0, layout)
