"""Write HTML that a script makes interactive. Before the script runs, or if scripts are disabled,
the HTML shows a static picture.

The HTML is self-contained: it needs no network and no kernel. JupyterLab removes scripts and their
contents from an untrusted notebook.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import json
import re
from importlib import resources
from typing import Any

from forgekit.output_files import write_output

_PNG = re.compile(r"data:image/png;base64,[A-Za-z0-9+/=]+")


def fragment(kind: str, still: str, scripts: str, *, label: str = "", style: str = "") -> str:
    """Return `still` in an element with the class `kind` together with scripts, which refer to the
    element as `root`. `root` is the element that encloses the scripts or, in a notebook that runs
    scripts elsewhere, the next element whose scripts have not started.

    The element's name is derived from the scripts and their data, but not from PNGs, whose bytes
    depend on the fonts, on Pillow and on the processor. label: an accessible name for the element.
    """
    named_after = _PNG.sub("", scripts)
    name = f"{kind}-" + hashlib.sha256(named_after.encode()).hexdigest()[:10]
    group = f' role="group" aria-label="{html.escape(label)}"' if label else ""
    styled = f' style="{style}"' if style else ""
    start = (
        f'const all=[...document.querySelectorAll("[data-fk={name}]")];'
        'const root=document.currentScript?.closest("[data-fk]")'
        "??all.find((x)=>!x.dataset.ready);"
        'if(!root||root.dataset.ready)return;root.dataset.ready="1";'
        "const uid=`${root.dataset.fk}-${all.indexOf(root)}`;"
    )
    return (
        f'<div class="{kind}" data-fk="{name}"{group}{styled}>\n{still}\n'
        f"<script>(()=>{{{start}\n{scripts}}})()</script>\n</div>"
    )


def in_script(value: object) -> str:
    """Return a value as JSON without characters that could end a script element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    for character in "<>\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def packed(value: Any) -> Any:
    """Return the value with lists of integers as runs [first, step, count, ...] where these are
    shorter, as they are for the regular offsets of most layouts. `unpacked` in shared.js reverses
    this.
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


@functools.cache
def script(package: str, *names: str) -> str:
    """Return a package's scripts without comment lines and indentation."""
    files = (resources.files(package).joinpath(name) for name in names)
    lines = (line.strip() for file in files for line in file.read_text("utf-8").split("\n"))
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def img_tag(png: bytes, alt: str, width_px: float | None = None) -> str:
    data = base64.b64encode(png).decode("ascii")
    style = (f"width:{round(width_px)}px;" if width_px else "") + "max-width:100%"
    text = html.escape(alt, quote=True)
    return f'<img alt="{text}" style="{style}" src="data:image/png;base64,{data}">'


def write_page(path: Any, title: str, body: str) -> None:
    """Write a fragment as a complete HTML page to a file. Raise UsageError if the file cannot be
    written.
    """
    write_output("output file", path, (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>:root{{color-scheme:light dark}}"
        "body{max-width:1000px;margin:16px auto;padding:0 10px}</style>\n</head>\n<body>\n"
        f"{body}\n</body>\n</html>\n"
    ))  # fmt: skip


def living(png: bytes, drawn: str, alt: str, width_px: float) -> str:
    """Return HTML with a PNG that a script replaces with `drawn`, which adapts to the page's
    colours and may be scrolled.
    """
    for character, escaped in (("\\", "\\\\"), ("`", "\\`"), ("${", "\\${"), ("</", "<\\/")):
        drawn = drawn.replace(character, escaped)
    scripts = (
        f"{script('forgekit.viz', 'scroll.js')}\nroot.innerHTML=`{drawn}`;"
        'fkScroll(root.querySelector(".fk-scroll"));'
    )
    return fragment("fk-figure", img_tag(png, alt, width_px), scripts)
