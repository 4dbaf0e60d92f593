"""Writing a picture to a file whose name says in which form."""

from __future__ import annotations

import os
from typing import Protocol

from forgekit.output_files import write_output

__all__ = ["save_picture"]


class _Picture(Protocol):
    @property
    def png(self) -> bytes: ...

    @property
    def svg(self) -> str: ...


def save_picture(picture: _Picture, path: str | os.PathLike[str]) -> None:
    """Write it to a file, as PNG if the name ends in .png, else as SVG.

    Raises UsageError if the file cannot be written.
    """
    as_png = os.fspath(path).lower().endswith(".png")
    data = picture.png if as_png else picture.svg
    write_output("output file", path, data)
