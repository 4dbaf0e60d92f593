"""Draw a Scene as a small PNG, with Pillow and the letters that matplotlib brings along.

A notebook that is opened untrusted shows no SVG; this is what it shows instead.
"""

from __future__ import annotations

import functools
import io
import os
from typing import TYPE_CHECKING, Any

from forgekit.viz.layouts.scene import Cell, Item, Label, Line, Rect, Scene, Tiles
from forgekit.viz.layouts.svg import CELL_GAP, HATCH, cell_texts, hatch_lines
from forgekit.viz.palette import INK, PAPER, THEME

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

_NARROW = 0.92  # DejaVu is wider than the fonts of most pages


def png_bytes(scene: Scene, scale: float = 2.0) -> bytes:
    """The scene on a light page as a PNG, `scale` of its pixels for a CSS pixel.

    Up to 256 colours, so a third of the size of one in full colour. Equal scenes give equal bytes
    with the same Pillow and matplotlib.
    """
    from PIL import Image, ImageDraw

    size = (round(scene.width * scale), round(scene.height * scale))
    image = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(image)
    for panel in scene.panels:
        for item in panel.items:
            _draw(draw, item, scale)
    out = io.BytesIO()
    small = image.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
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
    match item:
        case Cell():
            _draw_cell(draw, item, s)
        case Label():
            _write(draw, item.x, item.y, item.text, item.size, item.bold, item.anchor,
                   _light(item.fill), s, item.mono)  # fmt: skip
        case Line():
            _line(draw, item.x1, item.y1, item.x2, item.y2, _light(item.stroke), item.width, s)
        case Rect():
            box = _box(item.x, item.y, item.width, item.height, s)
            stroke = _light(item.stroke)
            width = max(round(item.stroke_width * s), 1) if stroke else 0
            draw.rounded_rectangle(box, item.radius * s, _light(item.fill), stroke, width)
        case Tiles():
            for colour, runs in item.runs.items():
                for column, row, columns, rows in runs:
                    x, y = item.x + column * item.width, item.y + row * item.height
                    size = item.width * columns, item.height * rows
                    draw.rectangle(_box(x, y, *size, s), colour)


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
    draw.rectangle(box, cell.fill)
    if cell.hatched:
        for x1, y1, x2, y2 in hatch_lines(cell):
            draw.line((x1 * s, y1 * s, x2 * s, y2 * s), HATCH, round(s))
    for x, y, text, size, bold, anchor in cell_texts(cell):
        _write(draw, x, y, text, size, bold, anchor, INK, s)


def _write(draw: ImageDraw, x: float, y: float, text: str, size: float, bold: bool, anchor: str,
           colour: str | None, s: float, mono: bool = False) -> None:  # fmt: skip
    font = _font(round(size * _NARROW * s, 1), bold, mono)
    at = {"start": "l", "middle": "m", "end": "r"}[anchor]
    draw.text((x * s, (y + size * 0.35) * s), text, colour, font, anchor=f"{at}s")
