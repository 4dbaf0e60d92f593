"""Write the playground as an HTML fragment: a script, a style sheet, and a static picture for pages
that do not run scripts.

The script and the style sheet, which are the same in every fragment and make up most of it, are
compressed to a third of their size. The browser unpacks them without a network.
"""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import html
import json
import re
from importlib import resources
from typing import Any

from forgekit.layouts import ComposedLayout, Layout, composition
from forgekit.viz import palette
from forgekit.viz.layouts.offsets import draw_layout
from forgekit.viz.layouts.swizzle import draw_swizzle_layout
from forgekit.viz.page import fragment, img_tag, in_script, script
from forgekit.viz.palette import THEME, theme_style, variables
from forgekit.viz.picture import LayoutPicture
from forgekit.viz.raster import png_bytes

_SCRIPTS = ("layouts.js", "pictures.js", "panels.js", "playground.js")
_RAMP = 7  # number of offset colours, between which the page interpolates
# The static picture shows a layout with at most _MOST_DRAWN cells, or the first _CORNER rows and
# columns of a larger layout.
_MOST_DRAWN, _CORNER = 128, 8
_STILL = (
    "This picture is static, because the page runs no scripts. In JupyterLab, trust the notebook."
)
# Unpacks the module, unless another playground on the page has done so, and starts the playground.
_OPEN = """(async()=>{
if(!window[module]){
const packed=atob(root.querySelector("script[type='application/gzip']").textContent);
const bytes=new Blob([Uint8Array.from(packed,(x)=>x.charCodeAt(0))]);
const text=bytes.stream().pipeThrough(new DecompressionStream("gzip"));
const run=document.createElement("script");
run.textContent=await new Response(text).text();
document.head.append(run);
}
const words=root.querySelector("details");
window[module](root,given.address?"pg":uid,given);
root.append(words);
})()"""


def playground_html(data: dict[str, Any], layout: Layout | ComposedLayout, words: str) -> str:
    """Return the playground as HTML. data: the values of the input fields, and the steps, if any.

    layout: drawn if scripts do not run. words: shown if scripts do not run. If `data["address"]` is
    True, the page stores the input in its URL.
    """
    picture, part = _still(layout, data)
    name, code = _module()
    still = (
        f"{img_tag(png_bytes(picture.scene, 1.0, 64), picture.alt)}\n<p>{part}{_STILL}</p>\n"
        f"<details><summary>In words</summary><pre>{html.escape(words)}</pre></details>\n"
        f'<script type="application/gzip">{code}</script>'
    )
    given = in_script({**data, "palette": _palette()})
    scripts = f'const module="{name}",given={given};\n{_OPEN}'
    return fragment("pg", still, scripts, label="Layout playground")


@functools.cache
def _module() -> tuple[str, str]:
    """Return the name of the script's global function, which contains a digest of the script, and
    the compressed script.
    """
    scripts = f"{script('forgekit.viz', 'shared.js')}\n{script(__package__, *_SCRIPTS)}"
    text = f"{scripts}\nconst FK_STYLE={json.dumps(_style())};"
    name = "fkPlayground_" + hashlib.sha256(text.encode()).hexdigest()[:10]
    whole = f"window.{name}=(()=>{{{text}\nreturn fkPlayground;}})();"
    packed = gzip.compress(whole.encode(), mtime=0)
    return name, base64.b64encode(packed).decode("ascii")


def _still(layout: Layout | ComposedLayout, data: dict[str, Any]) -> tuple[LayoutPicture, str]:
    """Return a picture of a layout or, if it is large, of its corner, and text that states which
    part is drawn.
    """
    part = ""
    if layout.rank == 2 and layout.size() > _MOST_DRAWN:
        rows, columns = (min(layout.size(i), _CORNER) for i in range(2))
        layout = composition(layout, (rows, columns))
        part = f"The first {rows} rows and {columns} columns of {html.escape(data['layout'])}. "
    if layout.rank <= 2 and any(step["colour"] == "bank" for step in data["steps"]):
        return draw_swizzle_layout(layout, element_bits=data["bits"]), part
    return draw_layout(layout), part


def _palette() -> dict[str, list[str]]:
    return {
        "offset": [palette.offset_colour(i, _RAMP) for i in range(_RAMP)],
        "thread": [palette.thread_colour(i) for i in range(32)],
        "block": [palette.block_colour(i) for i in range(8)],
        "bank": [palette.bank_colour(i) for i in range(32)],
    }


def _style() -> str:
    file = resources.files(__package__).joinpath("playground.css")
    css = re.sub(r"/\*.*?\*/\n?", "", file.read_text("utf-8"), flags=re.DOTALL)
    light, dark = variables(THEME)
    themes = theme_style("pg", f"color-scheme:light;{light}", f"color-scheme:dark;{dark}")
    return f"{css.strip()}\n{themes}"
