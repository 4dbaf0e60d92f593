"""Write a Scene as SVG. Equal scenes give equal bytes, because the SVG contains no ids, dates or
external references.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from forgekit.viz.palette import INK, THEME, theme_style, variables
from forgekit.viz.raster import pixels_png
from forgekit.viz.scene import (
    CELL_GAP,
    Cell,
    Item,
    Label,
    Line,
    Pixels,
    Rect,
    Scene,
    cell_texts,
    hatch_lines,
)

SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
_BASELINE = 0.35  # distance from the middle of a line to its baseline, in units of the font size
_LEAST = 0.88  # the picture shrinks to this fraction of its width, then scrolls
_NARROW = 360.0  # in px; a picture of this width fits on every page


def _style() -> str:
    # A renderer without CSS variables uses the attribute next to the class, which contains the
    # colour for a light page.
    light, dark = variables(THEME)
    light += "--fk-on-light:inline;--fk-on-dark:none"
    dark += "--fk-on-light:none;--fk-on-dark:inline"
    fills = "".join(f".fk-picture .{role}{{fill:var(--fk-{role})}}" for role in THEME)
    strokes = "".join(f".fk-picture .{role}-s{{stroke:var(--fk-{role})}}" for role in THEME)
    images = "".join(f".fk-picture .on-{page}{{display:var(--fk-on-{page})}}"
                     for page in ("light", "dark"))  # fmt: skip
    numbers = ".fk-picture text{font-variant-numeric:tabular-nums;white-space:pre}"
    return theme_style("fk-picture", light, dark) + fills + strokes + images + numbers


def svg_text(scene: Scene, *, body: bool = False) -> str:
    """Return a scene as an SVG document, in which cells have `data-…` attributes.

    body: True to omit the text that the surrounding HTML contains.
    """
    shown = [p for p in scene.panels if not body or p.name not in ("heading", "legend")]
    parts = [f"<g data-panel={quoteattr(p.name)}>\n{drawn(p.items, named=not body)}\n</g>"
             for p in shown]  # fmt: skip
    box = scene.body if body else (0.0, 0.0, scene.width, scene.height)
    return responsive(box, scene.words, "\n".join(parts), "" if body else scene.title)


def drawn(items: Iterable[Item], *, named: bool = False) -> str:
    """Return the items as SVG, in order. Attributes that consecutive items share are written once.

    named: True to add the meaning of each cell as attributes.
    """
    parts = []
    for common, alike in itertools.groupby(items, _common):
        written = "".join(_item(item, named) for item in alike)
        parts.append(common.replace("%", written) if common else written)
    return "\n".join(parts)


def responsive(
    box: tuple[float, float, float, float], words: str, body: str, title: str = ""
) -> str:
    """Return an SVG document that shrinks with the page, but remains readable.

    box: the visible part (x, y, width, height); words: a text equivalent.
    """
    *_, width, height = box
    least = width * (_LEAST if width > _NARROW else 0.0)
    named = f"<title>{escape(title)}</title>\n" if title else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="fk-picture" role="img" '
        f'aria-label={quoteattr(words)} viewBox="{" ".join(map(_number, box))}" '
        f'width="{_number(width)}" height="{_number(height)}" '
        f'style="max-width:100%;min-width:{_number(least)}px;height:auto" font-family="{SANS}">\n'
        f"{named}<style>{_style()}</style>\n{body}\n</svg>\n"
    )


def _common(item: Item) -> str:
    """Return the element that encloses an item and similar consecutive items, with % in place of
    these items, or an empty string if the item needs no such element.
    """
    match item:
        case Cell():
            return f'<g fill="{INK}" text-anchor="middle">%</g>'
        case Label(upright=False):
            anchor = "" if item.anchor == "start" else f' text-anchor="{item.anchor}"'
            weight = ' font-weight="600"' if item.bold else ""
            family = f' font-family="{MONO}"' if item.mono else ""
            size = f' font-size="{_number(item.size)}"'
            return f"<g{size}{anchor}{weight}{family}{_paint(item.fill)}>%</g>"
        case Rect(radius=0.0, hatch=None):
            return f'<path d="%"{_paint(item.fill, item.stroke, item.stroke_width)}/>'
        case Line():
            return f'<path d="%"{_paint(None, item.stroke, item.width)}/>'
    return ""


def _number(value: float) -> str:
    # Python 3.12 sums floats more accurately than 3.11, so numbers that differ in the last bit must
    # give the same text.
    return f"{value + 1e-7:.2f}".rstrip("0").rstrip(".") or "0"


def _paint(fill: str | None, stroke: str | None = None, width: float = 1.0) -> str:
    """Return attributes for fixed colours, and a class for colours that depend on the page."""
    classes, out = [], ""
    for attribute, suffix, colour in (("fill", "", fill), ("stroke", "-s", stroke)):
        if colour is None:
            out += ' fill="none"' if attribute == "fill" else ""
            continue
        if colour in THEME:
            classes.append(colour + suffix)
            colour = THEME[colour][0]
        out += f' {attribute}="{colour}"'
    if stroke is not None and width != 1:
        out += f' stroke-width="{_number(width)}"'
    return out + (f' class="{" ".join(classes)}"' if classes else "")


def _item(item: Item, named: bool) -> str:
    n = _number
    match item:
        case Cell():
            return _cell(item, named)
        case Label():
            return _label(item)
        case Line():
            return f"M{n(item.x1)} {n(item.y1)}L{n(item.x2)} {n(item.y2)}"
        case Rect(radius=0.0, hatch=None):
            across, down = n(item.width), n(item.height)
            return f"M{n(item.x)} {n(item.y)}h{across}v{down}h-{across}z"
        case Rect():
            round_ = f' rx="{n(item.radius)}"' if item.radius else ""
            paint = _paint(item.fill, item.stroke, item.stroke_width)
            box = f"{_rect(item)}{round_}{paint}/>"
            return box + (_strokes(item, item.hatch) if item.hatch else "")
        case Pixels():
            return _pixels(item)


def _rect(box: Cell | Rect, gap: float = 0.0) -> str:
    across, down = _number(box.width - gap), _number(box.height - gap)
    return f'<rect x="{_number(box.x)}" y="{_number(box.y)}" width="{across}" height="{down}"'


def _label(label: Label) -> str:
    n, down = _number, label.size * _BASELINE
    if not label.upright:
        return f'<text x="{n(label.x)}" y="{n(label.y + down)}">{escape(label.text)}</text>'
    x, y = n(label.x + down), n(label.y)
    return (
        f'<text x="{x}" y="{y}" font-size="{n(label.size)}" text-anchor="middle" '
        f'transform="rotate(-90 {x} {y})"{_paint(label.fill)}>{escape(label.text)}</text>'
    )


def _cell(cell: Cell, named: bool) -> str:
    data = [f" data-{key}={quoteattr(value)}" for key, value in cell.data if named]
    n = _number
    out = [f"{_rect(cell, CELL_GAP)}{_paint(cell.fill)}/>"]
    if cell.hatched:
        out.append(_strokes(cell, "rule"))
    for label in cell_texts(cell):
        more = ' font-weight="600"' if label.bold else ""
        more += f' text-anchor="{label.anchor}"' if label.anchor != "middle" else ""
        down = n(label.y + label.size * _BASELINE)
        at = f'x="{n(label.x)}" y="{down}" font-size="{n(label.size)}"'
        out.append(f"<text {at}{more}>{escape(label.text)}</text>")
    return f"<g{''.join(data)}>{''.join(out)}</g>" if data else "".join(out)


def _strokes(box: Cell | Rect, colour: str) -> str:
    n = _number
    path = "".join(f"M{n(a)} {n(b)}L{n(c)} {n(d)}" for a, b, c, d in hatch_lines(box))
    return f'<path d="{path}"{_paint(None, colour)}/>'


def _pixels(pixels: Pixels) -> str:
    """Return one image for all pages, or one image each for light and dark pages if the colours
    depend on the page.
    """
    themed = any(colour in THEME for colour in pixels.colours if colour)
    n, out = _number, []
    size = (
        f'x="{n(pixels.x)}" y="{n(pixels.y)}" width="{n(pixels.width)}" '
        f'height="{n(pixels.height)}" preserveAspectRatio="none" style="image-rendering:pixelated"'
    )
    for page, name in enumerate(("light", "dark") if themed else ("both",)):
        data = base64.b64encode(pixels_png(pixels, page)).decode("ascii")
        kind = f' class="on-{name}"' if themed else ""
        out.append(f'<image {size}{kind} href="data:image/png;base64,{data}"/>')
    return "".join(out)
