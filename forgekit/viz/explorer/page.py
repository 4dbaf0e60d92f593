"""The explorer as one HTML fragment: picture and words for pages without scripts, then the script.

The script, the style and the payload are all inside; nothing is fetched, no kernel is asked.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import json
import re
from importlib import resources
from typing import TYPE_CHECKING, Any

from forgekit.layouts.tuples import leaf_map, text
from forgekit.viz.palette import THEME, theme_style, variables

if TYPE_CHECKING:
    from forgekit.viz.explorer.explore import Explorer

_SCRIPTS = ("math.js", "panels.js", "explorer.js")
# Roles that only the explorer has, on a light page and on a dark one.
_MORE = {"soft": ("#F1F3F5", "#282B31"), "focus": ("#0B62C4", "#7CB8FF")}


def explorer_html(explorer: Explorer) -> str:
    """The HTML of one explorer; equal payloads give equal text."""
    data = explorer.data
    payload = json.dumps(packed(data), separators=(",", ":"), ensure_ascii=False)
    name = "fkx-" + hashlib.sha256(payload.encode()).hexdigest()[:10]
    for character in "<>\u2028\u2029":  # so that no text in it ends the script
        payload = payload.replace(character, f"\\u{ord(character):04x}")
    alt = html.escape(_alt(data), quote=True)
    image = base64.b64encode(explorer.png).decode("ascii")
    return (
        f'<div class="fkx" data-fkx="{name}" role="group" aria-label="Layout explorer">\n'
        f"<style>{_style()}</style>\n"
        f'<img alt="{alt}" style="max-width:100%" src="data:image/png;base64,{image}">\n'
        f"<details><summary>In words</summary><pre>{html.escape(explorer.words)}</pre></details>\n"
        f"<script>{_script(name, payload)}</script>\n</div>"
    )


def packed(value: Any) -> Any:
    """The payload with each list of many integers as runs [first, step, count, ...], where that is
    shorter: offsets of a layout mostly run evenly. `unpacked` in math.js undoes it.
    """
    if isinstance(value, dict):
        return {key: packed(entry) for key, entry in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) < 32 or not all(type(entry) is int for entry in value):
        return [packed(entry) for entry in value]
    runs: list[int] = []
    at = 0
    while at < len(value):
        step = value[at + 1] - value[at] if at + 1 < len(value) else 0
        end = at + 1
        while end < len(value) and value[end] - value[end - 1] == step:
            end += 1
        runs += [value[at], step, end - at]
        at = end
    return {"runs": runs} if len(runs) < len(value) else value


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


def _script(name: str, payload: str) -> str:
    """Finds its own element: the one around it, or the next one not yet begun where a notebook
    runs scripts elsewhere. What stood there for readers without scripts goes once all is drawn.
    """
    start = (
        f'const all=document.querySelectorAll("[data-fkx={name}]");'
        'const root=document.currentScript?.closest(".fkx")'
        "??[...all].find((x)=>!x.dataset.ready);"
        "if(!root||root.dataset.ready)return;"
        "const uid=`${root.dataset.fkx}-${[...all].indexOf(root)}`;"
        'const still=root.querySelector("img"),words=root.querySelector("details");'
        f"const data=unpacked({payload});"
        'root.dataset.ready="1";root.fkx=fkExplorer(root,data,uid);'
        "still.remove();root.append(words);"
    )
    return f"(()=>{{{_scripts()}\n{start}}})()"


@functools.cache
def _scripts() -> str:
    """The scripts without comments and indentation."""
    text = "".join(_read(name) for name in _SCRIPTS)
    lines = (line.strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line and not line.startswith("//"))


@functools.cache
def _style() -> str:
    text = re.sub(r"/\*.*?\*/\n?", "", _read("explorer.css"), flags=re.DOTALL)
    light, dark = variables({**THEME, **_MORE})
    themes = theme_style("fkx", f"color-scheme:light;{light}", f"color-scheme:dark;{dark}")
    return f"{text.strip()}\n{themes}"


def _read(name: str) -> str:
    return resources.files("forgekit.viz.explorer").joinpath(name).read_text(encoding="utf-8")
