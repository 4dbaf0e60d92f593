"""What tests of pictures ask of them: their texts, what is drawn, nothing beyond the edge."""

import inspect
from unittest import mock

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

import forgekit as fk


def line_of(module, text):
    """The number of the only line of a module that holds a text."""
    lines = inspect.getsource(module).split("\n")
    (number,) = [i for i, line in enumerate(lines, 1) if text in line]
    return number


def drawn_texts(figure):
    """The Text objects that a reader sees, at their places: ticks beyond the axes are not drawn."""
    found = []
    with mock.patch.object(Text, "draw", lambda self, renderer: found.append(self)):
        FigureCanvasAgg(figure).draw()
    return [t for t in found if t.get_visible() and t.get_text().strip()]


def texts(figure, gid=None):
    """What the texts say, those of one sort only if `gid` names it."""
    return [t.get_text() for t in drawn_texts(figure) if gid in (None, t.get_gid())]


def boxes(figure, gid):
    return [p for axes in figure.axes for p in axes.patches if p.get_gid() == gid]


def assert_legible(figure):
    """All texts lie on the page, none on another, none is smaller than 6 points; 800 pixels."""
    width, height = figure.get_size_inches()
    assert width * 96 <= 800
    found = drawn_texts(figure)
    assert min(t.get_fontsize() for t in found) >= 6
    names = [t.get_text() for t in found]
    renderer = figure.canvas.get_renderer()
    extents = np.array([Text.get_window_extent(t, renderer).extents for t in found])
    page = np.array([width, height]) * figure.dpi
    outside = (extents[:, :2] < -1).any(axis=1) | (extents[:, 2:] > page + 1).any(axis=1)
    assert not outside.any(), names[int(outside.argmax())]
    left, low, right, high = extents.T
    across = np.minimum(right[:, None], right) - np.maximum(left[:, None], left)
    up = np.minimum(high[:, None], high) - np.maximum(low[:, None], low)
    clash = np.triu((across > 1) & (up > 2.5), 1)
    assert not clash.any(), [(names[i], names[k]) for i, k in np.argwhere(clash)[:3]]


def virtual(fn, *args):
    return fk.compile(fn, *args, device="virtual")
