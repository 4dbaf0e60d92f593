"""A picture of a layout: shown by a notebook as SVG, as PNG if it is wide or no SVG is trusted."""

from __future__ import annotations

import functools
import os
from typing import Any

from forgekit.arguments import checked
from forgekit.viz.layouts.scene import Scene
from forgekit.viz.saving import save_picture

_LARGE = 700_000  # square CSS pixels
_PAGE_PX = 760  # what a notebook beside an open sidebar leaves on a laptop's screen


class LayoutPicture:
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
    def words(self) -> str:
        """All that the picture shows, for a reader who does not see it."""
        return self.scene.words

    @functools.cached_property
    def svg(self) -> str:
        """The picture as an SVG document; equal layouts give equal text."""
        from forgekit.viz.layouts.svg import svg_text

        return svg_text(self.scene)

    @functools.cached_property
    def png(self) -> bytes:
        """The picture as a PNG with two pixels for a CSS pixel, 1.5 if it is large."""
        from forgekit.viz.layouts.raster import png_bytes

        large = self.scene.width * self.scene.height > _LARGE
        return png_bytes(self.scene, 1.5 if large else 2.0)

    @checked()
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, as PNG if the name ends in .png, else as SVG.

        Raises UsageError if the file cannot be written.
        """
        save_picture(self, path)

    def __repr__(self) -> str:
        return self.scene.summary

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        size = {"width": round(self.scene.width), "height": round(self.scene.height)}
        alt = {"alt": self.words}
        data = {"text/plain": repr(self), "image/svg+xml": self.svg, "image/png": self.png}
        metadata = {"image/svg+xml": alt, "image/png": {**size, **alt}}
        # JupyterLab and nbconvert put an SVG into an <img> that never shrinks, a PNG into one that
        # does; so a picture that may be wider than the page is shown as PNG.
        if self.scene.width > _PAGE_PX:
            del data["image/svg+xml"], metadata["image/svg+xml"]
        return data, metadata
