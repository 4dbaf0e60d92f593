"""What tests of pictures ask of them: their texts, what is drawn, nothing beyond the edge."""

import inspect

import numpy as np

import forgekit as fk


def line_of(module, text):
    """The number of the only line of a module that holds a text."""
    lines = inspect.getsource(module).split("\n")
    (number,) = [i for i, line in enumerate(lines, 1) if text in line]
    return number


def texts(figure, gid=None):
    """Texts of a picture drawn on a Canvas, those of one sort only if `gid` names it."""
    return [t.get_text() for t in figure.axes[0].texts if gid in (None, t.get_gid())]


def boxes(figure, gid):
    return [p for p in figure.axes[0].patches if p.get_gid() == gid]


def assert_legible(figure):
    """All texts lie on the page, none on another, none is smaller than 6 points; 800 pixels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    width, height = figure.get_size_inches()
    assert width * 96 <= 800
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes, names = [], []
    for text in figure.axes[0].texts:
        if not text.get_text().strip():
            continue
        assert text.get_fontsize() >= 6, text.get_text()
        boxes.append(text.get_window_extent(renderer).extents)
        names.append(text.get_text())
    found = np.array(boxes)
    page = np.array([width, height]) * figure.dpi
    for box, name in zip(found, names, strict=True):
        assert box[0] >= -1 and box[1] >= -1, name
        assert box[2] <= page[0] + 1 and box[3] <= page[1] + 1, name
    left, low, right, high = (found[:, i] for i in range(4))
    across = np.minimum(right[:, None], right) - np.maximum(left[:, None], left)
    up = np.minimum(high[:, None], high) - np.maximum(low[:, None], low)
    clash = np.triu((across > 1) & (up > 2.5), 1)
    assert not clash.any(), [(names[i], names[k]) for i, k in np.argwhere(clash)[:3]]


def virtual(fn, *args):
    return fk.compile(fn, *args, device="virtual")
