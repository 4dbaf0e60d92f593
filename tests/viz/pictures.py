"""Provide functions that find a picture's texts and drawn items, and check its legibility."""

import functools
import inspect
import xml.etree.ElementTree as ET
from unittest import mock

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

import forgekit as fk
from forgekit.viz import LayoutPicture
from forgekit.viz.scene import Label, Line, Pixels, Rect, text_width


def line_of(module, text):
    """Return the number of the only line in a module's source that contains a text."""
    lines = inspect.getsource(module).split("\n")
    (number,) = [i for i, line in enumerate(lines, 1) if text in line]
    return number


def items(shown, kind, panel=None):
    """Return the drawn items of one kind; if `panel` is given, only those in that panel."""
    return [item for p in shown.scene.panels for item in p.items
            if isinstance(item, kind) and panel in (None, p.name)]  # fmt: skip


@functools.cache
def drawn_texts(figure):
    """Return the visible Text objects with their positions. Labels of ticks beyond the axes are not
    drawn.
    """
    found = []
    with mock.patch.object(Text, "draw", lambda self, renderer: found.append(self)):
        FigureCanvasAgg(figure).draw()
    return [t for t in found if t.get_visible() and t.get_text().strip()]


def texts(shown, sort=None, panel=None):
    """Return the texts in a picture; if `sort` is given, only those with this `sort`."""
    if isinstance(shown, Figure):
        return [t.get_text() for t in drawn_texts(shown) if sort in (None, t.get_gid())]
    return [t.text for t in items(shown, Label, panel) if sort in (None, t.sort)]


def boxes(shown, sort):
    if isinstance(shown, Figure):
        return [p for axes in shown.axes for p in axes.patches if p.get_gid() == sort]
    return [item for item in items(shown, Rect | Line) if item.sort == sort]


def pixels(shown, panel=None):
    """Return the colours of a map's cells as an array of shape (rows, columns), with None for
    transparent cells.
    """
    (only,) = items(shown, Pixels, panel)
    return np.array([*only.colours], object)[only.numbers]


def assert_legible(shown):
    """Assert that all texts are within the page (800 pixels), do not overlap, and are not too
    small.
    """
    if isinstance(shown, Figure):
        names, extents, page, least = _of_figure(shown)
    else:
        names, extents, page, least = _of_scene(shown.scene)
    assert page[0] <= 800 and least >= 8
    outside = (extents[:, :2] < -1).any(axis=1) | (extents[:, 2:] > page + 1).any(axis=1)
    assert not outside.any(), names[int(outside.argmax())]
    left, low, right, high = extents.T
    across = np.minimum(right[:, None], right) - np.maximum(left[:, None], left)
    up = np.minimum(high[:, None], high) - np.maximum(low[:, None], low)
    clash = np.triu((across > 1) & (up > 2.5), 1)
    assert not clash.any(), [(names[i], names[k]) for i, k in np.argwhere(clash)[:3]]


def _of_scene(scene):
    labels = [item for p in scene.panels for item in p.items if isinstance(item, Label)]
    extents = []
    for t in labels:
        wide, high = 0.93 * text_width(t.text, t.size, t.mono), 0.8 * t.size
        x, y = t.x - {"start": 0, "middle": wide / 2, "end": wide}[t.anchor], t.y - high / 2
        if t.upright:
            x, y, wide, high = t.x - high / 2, t.y - wide / 2, high, wide
        extents.append((x, y, x + wide, y + high))
    page = np.array([scene.width, scene.height])
    return [t.text for t in labels], np.array(extents), page, min(t.size for t in labels)


def _of_figure(figure):
    found = drawn_texts(figure)
    renderer = figure.canvas.get_renderer()
    extents = np.array([Text.get_window_extent(t, renderer).extents for t in found])
    page, scale = 96 * figure.get_size_inches(), 96 / figure.dpi
    least = min(t.get_fontsize() for t in found) * 96 / 72
    return [t.get_text() for t in found], extents * scale, page, least


def luminance(colour):
    """Return a colour's relative luminance by WCAG 2, from 0 (black) to 1 (white)."""
    channels = [v / 255 for v in bytes.fromhex(colour[1:])]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """Return the contrast ratio of two colours by WCAG 2, from 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def virtual(fn, *args):
    return fk.compile(fn, *args, device="virtual")


# -- the SVG of a layout's picture: its panels, and the cells in them -------------------------
SVG = "{http://www.w3.org/2000/svg}"


@functools.lru_cache(maxsize=8)
def panels(svg: str) -> dict[str, ET.Element]:
    """Map each panel's name to its SVG group, in order."""
    return {g.get("data-panel") or "": g for g in ET.fromstring(svg) if g.tag == f"{SVG}g"}


def panel(picture: LayoutPicture, name: str) -> ET.Element:
    return panels(picture.svg)[name]


def cells(picture: LayoutPicture, name: str = "layout") -> list[tuple[dict[str, str], list[str]]]:
    """Return a (data, texts) pair for each cell of a panel."""
    return [
        ({k.removeprefix("data-"): v for k, v in g.attrib.items()},
         [text.text or "" for text in g.iter(f"{SVG}text")])
        for g in panel(picture, name).iter(f"{SVG}g") if "data-coord" in g.attrib
    ]  # fmt: skip


def places(picture: LayoutPicture, name: str = "layout") -> dict[tuple[int, int], str]:
    """Map each cell's (row, column) in the picture to the cell's first text."""
    found = []
    for g in panel(picture, name).iter(f"{SVG}g"):
        if "data-coord" in g.attrib:
            rect, text = g.find(f"{SVG}rect"), g.find(f"{SVG}text")
            assert rect is not None and text is not None
            found.append((float(rect.attrib["y"]), float(rect.attrib["x"]), text.text or ""))
    rows = sorted({y for y, _, _ in found})
    columns = sorted({x for _, x, _ in found})
    return {(rows.index(y), columns.index(x)): text for y, x, text in found}
