"""A matplotlib figure as the bytes of a small PNG, and as the `<img>` of a notebook's output."""

from __future__ import annotations

import base64
import html
import io
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forgekit.show import Picture

_DPI = 144
_CSS_PIXELS = 96  # an inch of the figure on the page
_TRANSLUCENT = 64  # places in the palette


def png_bytes(figure: Figure, dpi: int = _DPI) -> bytes:
    """The figure as a PNG with a palette, a third of the bytes of one in full colour.

    The palette has the picture's most frequent colours, with some kept for what is translucent
    (edges of letters); others get the nearest of these. Equal figures give equal bytes.
    """
    from PIL import Image

    full, small = io.BytesIO(), io.BytesIO()
    figure.savefig(full, format="png", dpi=dpi)
    pixels = np.array(Image.open(full).convert("RGBA"))
    colours, inverse, counts = np.unique(
        pixels.view("<u4").reshape(-1), return_inverse=True, return_counts=True
    )
    rgba = colours.view(np.uint8).reshape(-1, 4).astype(np.float32)
    by_count = np.argsort(-counts, kind="stable")
    translucent = (rgba[by_count, 3] > 0) & (rgba[by_count, 3] < 255)
    kept = by_count[translucent][:_TRANSLUCENT]
    palette = rgba[np.concatenate([kept, by_count[~translucent][: 256 - len(kept)]])]
    # |a - b|² = |a|² - 2 a·b + |b|², of which |a|² does not matter for the nearest b.
    distance = (palette**2).sum(axis=1) - 2 * rgba @ palette.T
    number = distance.argmin(axis=1).astype(np.uint8)
    image = Image.fromarray(number[inverse].reshape(pixels.shape[:2]), mode="P")
    image.putpalette(palette.astype(np.uint8).tobytes(), "RGBA")
    image.save(small, format="png", optimize=True)
    return small.getvalue()


def img_tag(figure: Figure, alt: str, dpi: int = _DPI) -> str:
    """`<img>` with the figure as its data, sharp on screens of twice the usual resolution."""
    data = base64.b64encode(png_bytes(figure, dpi)).decode("ascii")
    style = f"width:{round(figure.get_size_inches()[0] * _CSS_PIXELS)}px;max-width:100%"
    text = html.escape(alt, quote=True)
    return f'<img alt="{text}" style="{style}" src="data:image/png;base64,{data}">'


def picture_html(shown: Picture) -> str:
    """What a notebook shows of a result that is one picture."""
    return img_tag(shown.figure, shown.alt)
