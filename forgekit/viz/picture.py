"""Write a picture to a file or to a notebook's output: as SVG in the page's colours, or as a PNG if
scripts do not run.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from forgekit.show import Picture, draw
from forgekit.viz.page import living
from forgekit.viz.raster import png_bytes
from forgekit.viz.scene import Scene
from forgekit.viz.svg import MONO, SANS, drawn, svg_text

_LARGE = 700_000  # area of a large picture in CSS pixels
_STYLE = (
    ".fk-card{background:var(--fk-card);color:var(--fk-dim);border:1px solid var(--fk-rim);"
    "border-radius:8px;padding:14px 18px;width:fit-content;min-width:min(100%,24rem);"
    f"max-width:100%;box-sizing:border-box;font:12px/1.5 {SANS}}}"
    ".fk-card .fk-texts{width:0;min-width:100%}"  # no wider than the cells
    ".fk-card .fk-texts p{margin:0 0 2px;overflow-wrap:anywhere}"
    ".fk-card p.alarm{color:var(--fk-alarm)}"
    ".fk-card p.title{font-size:14.5px;font-weight:600;color:var(--fk-ink)}"
    f".fk-card p.layout{{font-family:{MONO}}}"
    ".fk-card .fk-scroll{margin:8px 0}"
    ".fk-card .fk-keys{display:flex;flex-wrap:wrap;gap:2px 16px}"
    ".fk-card .fk-keys span{display:inline-flex;gap:8px;align-items:center}"
)


def picture_svg(shown: Picture) -> str:
    return svg_text(shown.scene)


def picture_png(shown: Picture) -> bytes:
    """Return a PNG with 2 pixels per CSS pixel, or 1.5 if the picture is large."""
    scene = shown.scene
    return png_bytes(scene, 1.5 if scene.width * scene.height > _LARGE else 2.0)


def picture_html(shown: Picture) -> str:
    scene = shown.scene
    still = png_bytes(scene, 1.0 if scene.width * scene.height > _LARGE / 2 else 1.5)
    return living(still, _card(scene), shown.alt, scene.width)


def pictures_html(shown: Iterable[Picture]) -> str:
    return "<br>".join(draw(picture, "html") for picture in shown)


def _card(scene: Scene) -> str:
    """Return the picture as HTML. On a narrow page, the text wraps, and only the cells scroll."""
    layout = "" if scene.plain else " layout"
    head = [f'<p class="title{layout}">{escape(scene.title)}</p>']
    head += [f'<p class="{role}">{escape(text)}</p>' for text, role in scene.lines]
    keys = []
    for swatch in scene.swatches:
        width = f'width="{swatch.width + 2}"'
        shape = f'<svg {width} height="16" style="flex:none">{drawn(swatch.items(1, 1))}</svg>'
        keys.append(f"<span>{shape * bool(swatch.fills)}{escape(swatch.text)}</span>")
    foot = [f"<p>{escape(text)}</p>" for text in scene.notes]
    # This text is hidden from screen readers, because the picture's accessible name contains it.
    return (
        f'<div class="fk-picture fk-card"><style>{_STYLE}</style>'
        f'<div class="fk-texts" aria-hidden="true">{"".join(head)}</div>'
        f'<div class="fk-scroll" style="overflow-x:auto">{svg_text(scene, body=True)}</div>'
        f'<div class="fk-texts" aria-hidden="true"><div class="fk-keys">{"".join(keys)}</div>'
        f"{''.join(foot)}</div></div>"
    )


class LayoutPicture(Picture):
    """A picture that a notebook displays as a drawing and `print` writes as text.

    Attributes:
        scene: the drawing as data.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    @property
    def title(self) -> str:
        """Return the layout in CuTe's notation."""
        return self.scene.title

    @property
    def summary(self) -> str:
        """Return the lines at the top of the picture."""
        return "\n  ".join([self.title, *(text for text, _ in self.scene.lines)])

    @property
    def words(self) -> str:
        """Return a text equivalent of the picture."""
        return self.scene.words

    alt = words
