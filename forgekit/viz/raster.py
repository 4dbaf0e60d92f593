"""Draw a Scene as a small PNG, with Pillow and matplotlib's fonts.

An untrusted notebook shows this PNG instead of the SVG.
"""

from __future__ import annotations

import functools
import io
import os
from typing import Any

import numpy as np
from PIL import Image, ImageFont
from PIL.ImageDraw import Draw, ImageDraw

from forgekit.viz.palette import PAPER, THEME
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

_NARROW = 0.92  # narrows DejaVu, which is wider than most pages' fonts


def png_bytes(scene: Scene, scale: float = 2.0, colours: int = 256) -> bytes:
    """Return a PNG for a light page, with `scale` pixels per CSS pixel. With the same library
    versions, equal scenes give equal bytes.
    """
    size = (round(scene.width * scale), round(scene.height * scale))
    image = Image.new("RGB", size, PAPER)
    draw = Draw(image)
    for panel in scene.panels:
        for item in panel.items:
            _draw(draw, item, scale)
    return small_png(image, colours)


def small_png(image: Image.Image, colours: int = 256) -> bytes:
    """Return the image as a PNG with few colours, a third of the size of a full-colour PNG."""
    out = io.BytesIO()
    small = image.convert("RGB").quantize(colours, method=Image.Quantize.FASTOCTREE,
                                          dither=Image.Dither.NONE)  # fmt: skip
    small.save(out, format="PNG", optimize=True)
    return out.getvalue()


@functools.lru_cache(maxsize=128)
def _font(pixels: float, bold: bool, mono: bool) -> Any:
    import matplotlib  # a slow import that only text needs

    name = f"DejaVuSans{'Mono' if mono else ''}{'-Bold' if bold else ''}.ttf"
    path = os.path.join(matplotlib.get_data_path(), "fonts", "ttf", name)
    return ImageFont.truetype(path, pixels)


def _light(colour: str | None) -> str | None:
    return THEME[colour][0] if colour in THEME else colour


def _draw(draw: ImageDraw, item: Item, s: float) -> None:
    match item:
        case Cell():
            draw.rectangle(_box(item, s, CELL_GAP), _light(item.fill))
            if item.hatched:
                _hatch(draw, item, "rule", s)
            for label in cell_texts(item):
                _write(draw, label, s)
        case Label():
            _write(draw, item, s)
        case Line():
            _line(draw, item, s)
        case Rect():
            stroke = _light(item.stroke)
            width = max(round(item.stroke_width * s), 1) if stroke else 0
            draw.rounded_rectangle(_box(item, s), item.radius * s, _light(item.fill), stroke, width)
            if item.hatch:
                _hatch(draw, item, item.hatch, s)
        case Pixels():
            left, top, right, bottom = _box(item, s)
            image = Image.open(io.BytesIO(pixels_png(item, 0))).convert("RGBA")
            image = image.resize((right - left + 1, bottom - top + 1), Image.Resampling.NEAREST)
            draw._image.paste(image, (left, top), image)


def pixels_png(pixels: Pixels, page: int) -> bytes:
    """Return the cells as a PNG with one pixel per cell. page: 0 for a light page, 1 for a dark
    page."""
    out, alpha = io.BytesIO(), bytes(0 if colour is None else 255 for colour in pixels.colours)
    shown = [THEME[c][page] if c in THEME else c or PAPER for c in pixels.colours]
    image = Image.fromarray(pixels.numbers.astype(np.uint8), mode="P")
    image.putpalette(bytes.fromhex("".join(colour[1:] for colour in shown)))
    image.save(out, format="PNG", optimize=True, transparency=alpha)
    return out.getvalue()


def _hatch(draw: ImageDraw, box: Cell | Rect, colour: str, s: float) -> None:
    for x1, y1, x2, y2 in hatch_lines(box):
        draw.line((x1 * s, y1 * s, x2 * s, y2 * s), _light(colour), round(s))


def _box(item: Cell | Rect | Pixels, s: float, gap: float = 0.0) -> tuple[int, int, int, int]:
    """Return the coordinates of a box's first and last pixel. Neighbouring boxes touch but do not
    overlap.
    """
    left, top = round(item.x * s), round(item.y * s)
    right, bottom = item.x + (item.width - gap), item.y + (item.height - gap)
    return left, top, max(round(right * s) - 1, left), max(round(bottom * s) - 1, top)


def _line(draw: ImageDraw, line: Line, s: float) -> None:
    colour, thick = _light(line.stroke), max(round(line.width * s), 1)
    x1, y1, x2, y2 = (v * s for v in (line.x1, line.y1, line.x2, line.y2))
    if x1 == x2:  # Pillow may draw a line one pixel off
        left = round(x1 - thick / 2)
        draw.rectangle((left, round(y1), left + thick - 1, round(y2)), colour)
    elif y1 == y2:
        top = round(y1 - thick / 2)
        draw.rectangle((round(x1), top, round(x2), top + thick - 1), colour)
    else:
        draw.line((x1, y1, x2, y2), colour, thick)


def _write(draw: ImageDraw, label: Label, s: float) -> None:
    font = _font(round(label.size * _NARROW * s, 1), label.bold, label.mono)
    colour, x, y = _light(label.fill), label.x * s, label.y * s
    if not label.upright:
        from_x = {"start": "l", "middle": "m", "end": "r"}[label.anchor]
        baseline = (label.y + label.size * 0.35) * s
        draw.text((x, baseline), label.text, colour, font, anchor=f"{from_x}s")
        return
    side = round(2 * font.getlength(label.text)) + 2
    letters = Image.new("L", (side, round(2 * label.size * s)), 0)
    at = side / 2, 1.35 * label.size * s
    Draw(letters).text(at, label.text, 255, font, anchor="ms")
    turned = letters.rotate(90, expand=True)
    draw.bitmap((round(x - turned.width / 2), round(y - turned.height / 2)), turned, colour)
