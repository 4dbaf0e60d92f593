"""What the SVG of a layout's picture says: its panels, and the cells in them."""

from __future__ import annotations

import functools
import xml.etree.ElementTree as ET

from forgekit.viz import LayoutPicture

SVG = "{http://www.w3.org/2000/svg}"


@functools.lru_cache(maxsize=8)
def panels(svg: str) -> dict[str, ET.Element]:
    """Name -> group of each panel, in their order."""
    return {g.get("data-panel") or "": g for g in ET.fromstring(svg) if g.tag == f"{SVG}g"}


def panel(picture: LayoutPicture, name: str) -> ET.Element:
    return panels(picture.svg)[name]


def cells(picture: LayoutPicture, name: str = "layout") -> list[tuple[dict[str, str], list[str]]]:
    """(what a cell says of itself, the texts in it) of one panel."""
    return [
        ({k.removeprefix("data-"): v for k, v in g.attrib.items()},
         [text.text or "" for text in g.iter(f"{SVG}text")])
        for g in panel(picture, name).iter(f"{SVG}g") if "data-coord" in g.attrib
    ]  # fmt: skip


def places(picture: LayoutPicture, name: str = "layout") -> dict[tuple[int, int], str]:
    """(row, column) on the page -> the first text of the cell there."""
    found = []
    for g in panel(picture, name).iter(f"{SVG}g"):
        if "data-coord" in g.attrib:
            rect, text = g.find(f"{SVG}rect"), g.find(f"{SVG}text")
            assert rect is not None and text is not None
            found.append((float(rect.attrib["y"]), float(rect.attrib["x"]), text.text or ""))
    rows = sorted({y for y, _, _ in found})
    columns = sorted({x for _, x, _ in found})
    return {(rows.index(y), columns.index(x)): text for y, x, text in found}
