"""A picture of a layout: shown by a notebook as SVG, as PNG if it is wide or no SVG is trusted."""

from __future__ import annotations

import functools
from typing import Any

from forgekit.viz.layouts.raster import png_bytes
from forgekit.viz.layouts.scene import Scene
from forgekit.viz.layouts.svg import svg_text
from forgekit.viz.picture import SavedPicture

_LARGE = 700_000  # square CSS pixels
_PAGE_PX = 760  # what a notebook beside an open sidebar leaves on a laptop's screen


class LayoutPicture(SavedPicture):
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

    @functools.cached_property
    def svg(self) -> str:
        """The picture as an SVG document; equal layouts give equal text."""
        return svg_text(self.scene)

    @functools.cached_property
    def png(self) -> bytes:
        """The picture as a PNG with two pixels for a CSS pixel, 1.5 if it is large."""
        large = self.scene.width * self.scene.height > _LARGE
        return png_bytes(self.scene, 1.5 if large else 2.0)


def picture_bundle(picture: LayoutPicture) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a notebook shows, and its metadata: words, SVG and PNG; a wide picture as PNG alone.

    JupyterLab and nbconvert put an SVG into an <img> that never shrinks with the page, a PNG into
    one that does.
    """
    scene, alt = picture.scene, {"alt": picture.alt}
    size = {"width": round(scene.width), "height": round(scene.height)}
    data: dict[str, Any] = {"text/plain": repr(picture)}
    metadata: dict[str, Any] = {}
    if scene.width <= _PAGE_PX:
        data["image/svg+xml"], metadata["image/svg+xml"] = picture.svg, alt
    data["image/png"], metadata["image/png"] = picture.png, {**size, **alt}
    return data, metadata
