"""explore(): a layout to be walked through in a notebook, in the book, or in a file of its own."""

from __future__ import annotations

import functools
import os
from typing import Any

from forgekit.arguments import checked
from forgekit.output_files import write_output
from forgekit.show import Shown
from forgekit.viz.explorer import page
from forgekit.viz.explorer.data import build
from forgekit.viz.explorer.still import still_png


class Explorer(Shown):
    """What `explore` returns: as the last line of a cell it shows itself, `print` gives its words.

    Attributes:
        data: all that the page shows, as the dictionary that is embedded in it as JSON.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    @functools.cached_property
    def words(self) -> str:
        """The steps with their layouts and the conflicts of each padding and swizzle, in words."""
        return page.words_of(self.data)

    @property
    def summary(self) -> str:
        """The same."""
        return self.words

    @functools.cached_property
    def png(self) -> bytes:
        """The picture for readers without scripts."""
        return still_png(self.data)

    @functools.cached_property
    def html(self) -> str:
        """One self-contained fragment of HTML: no network, no kernel; equal layouts, equal text."""
        return page.explorer_html(self)

    @checked()
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a whole HTML page to a file. Raises UsageError if it cannot be written."""
        write_output("output file", path, page.whole_page(self))


@checked()
def explore(
    layout: Any, *, tile: Any = None, tv: Any = None, dtype: Any = None, memory: str | None = None
) -> Explorer:
    """Walk through a layout: its offsets, tiles and threads, and its banks in shared memory.

    Each element tells its coordinate, offset, bank, 32-byte sector and 128-byte line when it is
    pointed at, tapped or reached with the arrow keys; the first element is taken to begin a line.

    Args:
        layout: of one mode (up to 2,048 elements) or two (up to 64 × 64): CuTe's (while it is
            traced) or forgekit's, a tensor, the text that CuTe prints, or a tuple (shape, stride).
        tile: the tiler to step through zipped_divide with, such as (8, 16).
        tv: a thread-value layout over the tile (over the whole layout, without one) to step through
            composition and a thread's slice with; or what make_layout_tv returns, tile and all.
        dtype: of an element: "float16", torch.float16, cutlass.Float16; by default the tensor's
            own, or float32.
        memory: "smem" adds sliders that pad rows or swizzle, and the bank conflicts of a warp that
            reads a row or a column; "gmem" leaves them out. By default where the tensor lies; a
            layout with a swizzle is taken to lie in shared memory.

    Raises:
        UsageError: no layout, `?` in it, more cells or modes than can be shown, offsets that are
            coordinates; a tiler or a TV layout that does not fit; no such dtype or memory.

    Source of banks, sectors and lines: CUDA C++ Programming Guide, shared and global memory.
    """
    return Explorer(build(layout, tile, tv, dtype, memory))
