"""A picture that can be written to a file, whose name says in which form."""

from __future__ import annotations

import os
from abc import abstractmethod

from forgekit.arguments import checked
from forgekit.output_files import write_output
from forgekit.show import Shown


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
