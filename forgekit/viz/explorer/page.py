"""The explorer as one HTML fragment: picture and words for pages without scripts, then the script.

The script, the style and the payload are all inside; nothing is fetched, no kernel is asked.
"""

from __future__ import annotations

import functools
import html
import re
from importlib import resources
from typing import TYPE_CHECKING, Any

from forgekit.layouts.tuples import leaf_map, text
from forgekit.viz.page import fragment, img_tag, in_script, packed, script
from forgekit.viz.palette import THEME, theme_style, variables

if TYPE_CHECKING:
    from forgekit.viz.explorer.explore import Explorer

_SCRIPTS = ("math.js", "panels.js", "explorer.js")


def explorer_html(explorer: Explorer) -> str:
    """The HTML of one explorer; equal payloads give equal text."""
    words = html.escape(explorer.words)
    still = (
        f"<style>{_style()}</style>\n{img_tag(explorer.png, _alt(explorer.data))}\n"
        f"<details><summary>In words</summary><pre>{words}</pre></details>"
    )
    # What stood there for readers without scripts goes once all is drawn.
    scripts = (
        f"{script('forgekit.viz', 'scroll.js', 'shared.js')}\n"
        f"{script('forgekit.viz.explorer', *_SCRIPTS)}\n"
        'const still=root.querySelector("img"),words=root.querySelector("details");'
        f"const data=unpacked({in_script(packed(explorer.data))});"
        "root.fkx=fkExplorer(root,data,uid);still.remove();root.append(words);"
    )
    return fragment("fkx", still, scripts, label="Layout explorer")


def whole_page(explorer: Explorer) -> str:
    """A whole HTML document with one explorer."""
    title = html.escape(f"Layout {explorer.data['title']}")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>:root{{color-scheme:light dark}}"
        "body{max-width:1000px;margin:16px auto;padding:0 10px}</style>\n</head>\n<body>\n"
        f"{explorer.html}\n</body>\n</html>\n"
    )


def words_of(data: dict[str, Any]) -> str:
    """What the explorer shows, in words: the steps with their layouts, and the choices of banks."""
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
        lines += [
            f"   {text}: {columns}, {rows}" for text, columns, rows in data["lab"]["conflicts"]
        ]
    return "\n".join(lines)


def _filled(words: str, data: dict[str, Any]) -> str:
    """A step's text for the first tile and the first thread."""
    tile, tv = data["tile"], data["tv"]
    values = {"thread": "0"}
    if tile is not None:
        values |= {
            "tile": text(leaf_map(lambda _: 0, tile["rest"])),
            "start": str(tile["starts"][0]),
        }
    if tv is not None:
        values["first"] = str(data["offsets"][tile["cells"][tv["elements"][0][0]]])
    return re.sub(r"\{(\w+)\}", lambda m: values.get(m[1], m[0]), words)


def _alt(data: dict[str, Any]) -> str:
    steps = "; ".join(f"{step['name']} {step['result']}" for step in data["steps"])
    return f"Layout {data['title']}. {steps}"


@functools.cache
def _style() -> str:
    file = resources.files(__package__).joinpath("explorer.css")
    text = re.sub(r"/\*.*?\*/\n?", "", file.read_text("utf-8"), flags=re.DOTALL)
    light, dark = variables(THEME)
    themes = theme_style("fkx", f"color-scheme:light;{light}", f"color-scheme:dark;{dark}")
    return f"{text.strip()}\n{themes}"
