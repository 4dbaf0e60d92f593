"""Embed the book's drawn pictures in the page, so that their colours follow the page's."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform

from forgebook.course import ROOT
from forgebook.notebooks import named

__all__ = ["InlinePictures"]

# On a phone, a wider picture scrolls, because it would be unreadable at half its size.
_FITS_PX = 600


class InlinePictures(SphinxTransform):
    """Replaces each picture from book/pictures with its SVG, named by the alt text."""

    default_priority = 400

    def apply(self, **_: Any) -> None:
        here = Path(self.env.doc2path(self.env.docname)).parent
        numbers = itertools.count()
        for image in list(self.document.findall(nodes.image)):
            file = (here / image["uri"]).resolve()
            if file.parent != ROOT / "book" / "pictures":
                continue
            if not image.get("alt"):
                raise ExtensionError(f"{self.env.docname}: {image['uri']} has no alt text")
            self.env.note_dependency(str(file))
            svg = file.read_text(encoding="utf-8")
            image.replace_self(
                nodes.raw("", _named(svg, image["alt"], next(numbers)), format="html")
            )


def _named(svg: str, alt: str, number: int) -> str:
    """Return the SVG with an accessible name and with ids that are unique on the page."""
    svg = re.sub(r'\b(id="|url\(#|href="#)([\w-]+)', rf"\g<1>\g<2>-{number}", svg)
    drawn = named(svg, alt)
    wide = int(re.findall(r'width="(\d+)[\d.]*"', drawn)[0]) > _FITS_PX
    return f'<span class="wide picture">{drawn}</span>' if wide else drawn
