"""HTML with scripts: its names are the same on every machine."""

from __future__ import annotations

import re

from forgekit.viz.page import living

PIXELS = """<svg><image href="data:image/png;base64,{}"/><text>{}</text></svg>"""


def name_of(html: str) -> str:
    found = re.search(r'data-fk="([^"]*)"', html)
    assert found
    return found[1]


def test_a_name_depends_on_what_is_drawn_and_on_no_pngs_bytes() -> None:
    """Pillow's zlib-ng compresses differently with other vector instructions, and on arm64."""
    first = name_of(living(b"one", PIXELS.format("iVBORw0KGgo=", "warp 0"), "words", 100))
    assert first == name_of(living(b"two", PIXELS.format("iVBORw0K/+==", "warp 0"), "words", 100))
    assert first != name_of(living(b"one", PIXELS.format("iVBORw0KGgo=", "warp 1"), "words", 100))
