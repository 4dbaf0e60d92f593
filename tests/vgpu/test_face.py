"""Test that the virtual GPU has few public names and describes each."""

from pathlib import Path

import forgekit.vgpu as vgpu

BOOK = Path(__file__).parents[2] / "book" / "architecture.md"


def test_few_names_and_each_is_described():
    assert len(vgpu.__all__) <= 15
    described = vgpu.__doc__.partition("It knows PTX")[0]
    page = BOOK.read_text("utf-8")
    for name in vgpu.__all__:
        assert getattr(vgpu, name) is not None
        assert name in described and f"`{name}`" in page
