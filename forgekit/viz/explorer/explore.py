"""explore(): a layout to be walked through in a notebook, in the book, or in a file of its own.

An explorer is one HTML fragment: picture and words for pages without scripts, the script, the style
and the payload are all inside; nothing is fetched, no kernel is asked.
"""

from __future__ import annotations

import functools
import html
import os
import re
from importlib import resources
from typing import Any

from forgekit.arguments import checked
from forgekit.layouts.tuples import leaf_map, text
from forgekit.output_files import write_output
from forgekit.show import Shown
from forgekit.viz.explorer.data import build
from forgekit.viz.explorer.still import still_png
from forgekit.viz.page import fragment, img_tag, in_script, packed, script
from forgekit.viz.palette import THEME, theme_style, variables


class Explorer(Shown):
    """What `explore` returns: as the last line of a cell it shows itself, `print` gives its words.

    Attributes:
        data: all that the page shows, as the dictionary that is embedded in it as JSON.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    @functools.cached_property
    def summary(self) -> str:
        """The steps with their layouts and the conflicts of each padding and swizzle, in words."""
        return _words(self.data)

    @functools.cached_property
    def html(self) -> str:
        """One self-contained fragment of HTML: no network, no kernel; equal layouts, equal text."""
        return explorer_html(self)

    @checked()
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a whole HTML page to a file. Raises UsageError if it cannot be written."""
        title = html.escape(f"Layout {self.data['title']}")
        page = (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}</title>\n<style>:root{{color-scheme:light dark}}"
            "body{max-width:1000px;margin:16px auto;padding:0 10px}</style>\n</head>\n<body>\n"
            f"{self.html}\n</body>\n</html>\n"
        )
        write_output("output file", path, page)


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


def explorer_html(explorer: Explorer) -> str:
    """The HTML of one explorer; equal payloads give equal text."""
    data = explorer.data
    steps = "; ".join(f"{step['name']} {step['result']}" for step in data["steps"])
    alt = f"Layout {data['title']}. {steps}"
    still = (
        f"<style>{_style()}</style>\n{img_tag(still_png(data), alt)}\n"
        f"<details><summary>In words</summary><pre>{html.escape(explorer.summary)}</pre></details>"
    )
    # What stood there for readers without scripts goes once all is drawn.
    scripts = (
        f"{script('forgekit.viz', 'scroll.js', 'shared.js')}\n"
        f"{script('forgekit.viz.explorer', 'math.js', 'panels.js', 'explorer.js')}\n"
        'const still=root.querySelector("img"),words=root.querySelector("details");'
        f"const data=unpacked({in_script(packed(data))});"
        "root.fkx=fkExplorer(root,data,uid);still.remove();root.append(words);"
    )
    return fragment("fkx", still, scripts, label="Layout explorer")


def _words(data: dict[str, Any]) -> str:
    lines = [f"Layout {data['title']}, {data['dtype']}, {data['bits']} bits an element"]
    several = len(data["steps"]) > 1
    for number, step in enumerate(data["steps"], 1):
        head = f"{number}. " if several else ""
        lines += [
            "",
            f"{head}{step['name']}: {_filled(step['code'], data)}  # {step['modes']}",
            f"   {step['result']}",
            f"   {_filled(step['words'], data)}",
        ]
    if data["lab"] is not None:
        lines += ["", "A warp that reads a column, or a row:"]
        lines += [f"   {name}: {columns}, {rows}"
                  for name, columns, rows in data["lab"]["conflicts"]]  # fmt: skip
    return "\n".join(lines)


def _filled(words: str, data: dict[str, Any]) -> str:
    """A step's text for the first tile and the first thread."""
    tile, tv = data["tile"], data["tv"]
    values = {"thread": "0"}
    if tile is not None:
        values["tile"] = text(leaf_map(lambda _: 0, tile["rest"]))
        values["start"] = str(tile["starts"][0])
    if tv is not None:
        values["first"] = str(data["offsets"][tile["cells"][tv["elements"][0][0]]])
    return re.sub(r"\{(\w+)\}", lambda m: values.get(m[1], m[0]), words)


@functools.cache
def _style() -> str:
    file = resources.files(__package__).joinpath("explorer.css")
    css = re.sub(r"/\*.*?\*/\n?", "", file.read_text("utf-8"), flags=re.DOTALL)
    light, dark = variables(THEME)
    themes = theme_style("fkx", f"color-scheme:light;{light}", f"color-scheme:dark;{dark}")
    return f"{css.strip()}\n{themes}"
