"""A picture of a benchmark: a matplotlib Figure, with the words that say the same."""

from __future__ import annotations

import functools
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forgekit.viz.saving import SavedPicture

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class TimingPicture(SavedPicture):
    """Shown by a notebook as a picture; `print` gives its words.

    Attributes:
        figure: the matplotlib Figure. words: all that it says with numbers, the headline first.
    """

    figure: Figure
    words: str

    @functools.cached_property
    def png(self) -> bytes:
        """The picture as a PNG; equal results give equal bytes."""
        from forgekit.viz.png import png_bytes

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
