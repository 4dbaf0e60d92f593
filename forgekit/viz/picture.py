"""A picture as files and as a notebook's output: SVG in the page's colours, a PNG until then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forgekit.show import Picture
from forgekit.viz.page import living
from forgekit.viz.raster import png_bytes
from forgekit.viz.scene import Scene
from forgekit.viz.svg import svg_text

if TYPE_CHECKING:
    pass

_LARGE = 700_000  # square CSS pixels


def picture_svg(shown: Picture) -> str:
    return svg_text(shown.scene)


def picture_png(shown: Picture) -> bytes:
    """Two pixels for a CSS pixel, 1.5 if it is large."""
    scene = shown.scene
    return png_bytes(scene, 1.5 if scene.width * scene.height > _LARGE else 2.0)


def picture_html(shown: Picture) -> str:
    """What a notebook shows of a result that is one picture."""
    scene = shown.scene
    still = png_bytes(scene, 1.0 if scene.width * scene.height > _LARGE / 2 else 1.5)
    return living(still, shown.svg, shown.alt, scene.width)


class LayoutPicture(Picture):
    """A picture; as the last line of a cell it shows itself, `print` gives its words.

    Attributes:
        scene: what is drawn, as data.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    @property
    def title(self) -> str:
        """The layout in CuTe's notation."""
        return self.scene.title

    @property
    def summary(self) -> str:
        """The lines at the top of the picture."""
        return self.scene.summary

    @property
    def words(self) -> str:
        """All that the picture shows, for a reader who does not see it."""
        return self.scene.words

    alt = words
