"""Draw a Scene as a small PNG, with Pillow and the letters that matplotlib brings along.

A notebook that is opened untrusted shows no SVG; this is what it shows instead.
"""

from __future__ import annotations

import functools
import io
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from forgekit.viz.palette import INK, PAPER, THEME
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

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

_NARROW = 0.92  # DejaVu is wider than the fonts of most pages


def png_bytes(scene: Scene, scale: float = 2.0, colours: int = 256) -> bytes:
    """The scene on a light page as a PNG, `scale` of its pixels for a CSS pixel.

    Equal scenes give equal bytes with the same Pillow and matplotlib.
    """
    from PIL import Image, ImageDraw

    size = (round(scene.width * scale), round(scene.height * scale))
    image = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(image)
    for panel in scene.panels:
        for item in panel.items:
            _draw(draw, item, scale)
    return small_png(image, colours)


def small_png(image: Image, colours: int = 256) -> bytes:
    """The image as a PNG of so few colours, a third of the size of one in full colour."""
    from PIL import Image

    out = io.BytesIO()
    small = image.convert("RGB").quantize(colours, method=Image.Quantize.FASTOCTREE,
                                          dither=Image.Dither.NONE)  # fmt: skip
    small.save(out, format="PNG", optimize=True)
    return out.getvalue()


@functools.lru_cache(maxsize=128)
def _font(pixels: float, bold: bool, mono: bool) -> Any:
    import matplotlib
    from PIL import ImageFont

    name = f"DejaVuSans{'Mono' if mono else ''}{'-Bold' if bold else ''}.ttf"
    path = os.path.join(matplotlib.get_data_path(), "fonts", "ttf", name)
    return ImageFont.truetype(path, pixels)


def _light(colour: str | None) -> str | None:
    return THEME[colour][0] if colour in THEME else colour


def _draw(draw: ImageDraw, item: Item, s: float) -> None:
    from PIL import Image

    match item:
        case Cell():
            _draw_cell(draw, item, s)
        case Label():
            _write(draw, item.x, item.y, item.text, item.size, item.bold, item.anchor,
                   _light(item.fill), s, item.mono, item.upright)  # fmt: skip
        case Line():
            _line(draw, item.x1, item.y1, item.x2, item.y2, _light(item.stroke), item.width, s)
        case Rect():
            box = _box(item.x, item.y, item.width, item.height, s)
            stroke = _light(item.stroke)
            width = max(round(item.stroke_width * s), 1) if stroke else 0
            draw.rounded_rectangle(box, item.radius * s, _light(item.fill), stroke, width)
            if item.hatch:
                _hatch(draw, item, item.hatch, s)
        case Pixels():
            left, top, right, bottom = _box(item.x, item.y, item.width, item.height, s)
            image = Image.open(io.BytesIO(pixels_png(item, 0))).convert("RGBA")
            image = image.resize((right - left + 1, bottom - top + 1), Image.Resampling.NEAREST)
            draw._image.paste(image, (left, top), image)


def pixels_png(pixels: Pixels, page: int) -> bytes:
    """The cells as a PNG, a pixel each; page: 0 light, 1 dark."""
    from PIL import Image

    out, alpha = io.BytesIO(), bytes(0 if colour is None else 255 for colour in pixels.colours)
    shown = [THEME[c][page] if c in THEME else c or PAPER for c in pixels.colours]
    image = Image.fromarray(pixels.numbers.astype(np.uint8), mode="P")
    image.putpalette(bytes.fromhex("".join(colour[1:] for colour in shown)))
    image.save(out, format="PNG", optimize=True, transparency=alpha)
    return out.getvalue()


def _hatch(draw: ImageDraw, box: Cell | Rect, colour: str, s: float) -> None:
    for x1, y1, x2, y2 in hatch_lines(box):
        draw.line((x1 * s, y1 * s, x2 * s, y2 * s), _light(colour), round(s))


def _box(x: float, y: float, width: float, height: float, s: float) -> tuple[int, int, int, int]:
    """Pixels from and to, both included, so that neighbours touch and do not overlap."""
    left, top = round(x * s), round(y * s)
    return left, top, max(round((x + width) * s) - 1, left), max(round((y + height) * s) - 1, top)


def _line(draw: ImageDraw, x1: float, y1: float, x2: float, y2: float, colour: str | None,
          width: float, s: float) -> None:  # fmt: skip
    thick = max(round(width * s), 1)
    if x1 == x2:  # a box is exact where a line of Pillow is a pixel off
        left = round(x1 * s - thick / 2)
        draw.rectangle((left, round(y1 * s), left + thick - 1, round(y2 * s)), colour)
    elif y1 == y2:
        top = round(y1 * s - thick / 2)
        draw.rectangle((round(x1 * s), top, round(x2 * s), top + thick - 1), colour)
    else:
        draw.line((x1 * s, y1 * s, x2 * s, y2 * s), colour, thick)


def _draw_cell(draw: ImageDraw, cell: Cell, s: float) -> None:
    box = _box(cell.x, cell.y, cell.width - CELL_GAP, cell.height - CELL_GAP, s)
    draw.rectangle(box, _light(cell.fill))
    if cell.hatched:
        _hatch(draw, cell, "rule", s)
    for x, y, text, size, bold, anchor in cell_texts(cell):
        _write(draw, x, y, text, size, bold, anchor, INK, s)


def _write(draw: ImageDraw, x: float, y: float, text: str, size: float, bold: bool, anchor: str,
           colour: str | None, s: float, mono: bool = False,
           upright: bool = False) -> None:  # fmt: skip
    font = _font(round(size * _NARROW * s, 1), bold, mono)
    from_x = {"start": "l", "middle": "m", "end": "r"}[anchor]
    if not upright:
        draw.text((x * s, (y + size * 0.35) * s), text, colour, font, anchor=f"{from_x}s")
        return
    from PIL import Image, ImageDraw

    side = round(2 * font.getlength(text)) + 2
    letters = Image.new("L", (side, round(2 * size * s)), 0)
    ImageDraw.Draw(letters).text((side / 2, 1.35 * size * s), text, 255, font, anchor="ms")
    turned = letters.rotate(90, expand=True)
    at = round(x * s - turned.width / 2), round(y * s - turned.height / 2)
    draw.bitmap(at, turned, colour)
