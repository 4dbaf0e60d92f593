"""A picture as files and as a notebook's output: small PNGs, SVG, the `<img>`."""

from __future__ import annotations

import base64
import functools
import html
import io
import os
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forgekit.arguments import checked
from forgekit.output_files import write_output
from forgekit.show import Shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forgekit.show import Picture

_DPI = 144
_CSS_PIXELS = 96  # an inch of the figure on the page
_TRANSLUCENT = 64  # places in the palette


class SavedPicture(Shown):
    """Base of pictures that have an SVG and a PNG of their own."""

    @property
    @abstractmethod
    def svg(self) -> str:
        """The picture as an SVG document."""

    @property
    @abstractmethod
    def png(self) -> bytes:
        """The picture as a PNG."""

    @checked()
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, as PNG if the name ends in .png, else as SVG.

        Raises UsageError if the file cannot be written.
        """
        as_png = os.fspath(path).lower().endswith(".png")
        write_output("output file", path, self.png if as_png else self.svg)


@dataclass(frozen=True, eq=False, repr=False)
class TimingPicture(SavedPicture):
    """A picture of a benchmark, shown by a notebook; `print` gives its words.

    Attributes:
        figure: the matplotlib Figure. words: all that it says with numbers, the headline first.
    """

    figure: Figure
    words: str

    @functools.cached_property
    def png(self) -> bytes:
        """The picture as a PNG; equal results give equal bytes."""
        return png_bytes(self.figure)

    @functools.cached_property
    def svg(self) -> str:
        """The picture as an SVG document; equal results give equal text."""
        import matplotlib

        file = io.StringIO()
        with matplotlib.rc_context({"svg.hashsalt": "forgekit", "svg.fonttype": "path"}):
            self.figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
        return file.getvalue()

    @property
    def summary(self) -> str:
        """The same words."""
        return self.words


def png_bytes(figure: Figure) -> bytes:
    """The figure as a PNG with a palette, a third of the bytes of one in full colour.

    The palette has the picture's most frequent colours, with some kept for what is translucent
    (edges of letters); others get the nearest of these. Equal figures give equal bytes.
    """
    from PIL import Image

    full, small = io.BytesIO(), io.BytesIO()
    figure.savefig(full, format="png", dpi=_DPI)
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


def img_tag(figure: Figure, alt: str) -> str:
    """`<img>` with the figure as its data, sharp on screens of twice the usual resolution."""
    data = base64.b64encode(png_bytes(figure)).decode("ascii")
    style = f"width:{round(figure.get_size_inches()[0] * _CSS_PIXELS)}px;max-width:100%"
    text = html.escape(alt, quote=True)
    return f'<img alt="{text}" style="{style}" src="data:image/png;base64,{data}">'


def picture_html(shown: Picture | TimingPicture) -> str:
    """What a notebook shows of a result that is one picture."""
    return img_tag(shown.figure, shown.alt)
