"""Test pictures of offset tables, which look like a layout's picture without its name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import forgekit.viz
from forgekit.errors import UsageError
from forgekit.layouts import Layout
from forgekit.viz import draw_layout, draw_offsets
from forgekit.viz.scene import Cell, Pixels

TABLE = [[0, 1, 2], [8, 9, 10]]


def cells_of(picture: Any) -> list[Any]:
    """Return a drawn table's cells at their relative positions, and an overview's dots."""
    items = [item for panel in picture.scene.panels for item in panel.items]
    cells = [item for item in items if isinstance(item, Cell)]
    left, top = min(cell.x for cell in cells), min(cell.y for cell in cells)
    return [
        *((round(c.x - left, 3), round(c.y - top, 3), c.width, c.height, c.fill, c.lines, c.size)
          for c in cells),
        *((item.numbers.tolist(), item.colours) for item in items if isinstance(item, Pixels)),
    ]  # fmt: skip


def table_of(layout: Layout) -> list[list[int]]:
    rows, columns = (mode.size() for mode in layout)
    return [[layout((i, j)) for j in range(columns)] for i in range(rows)]


@pytest.mark.parametrize(
    "layout",
    [
        Layout((1, 1)),
        Layout((4, 6), (8, 1)),
        Layout((3, 5), (0, 2)),
        Layout((2, 3), (-1, 7)),
        Layout(((2, 2), (4, 2)), ((4, 16), (1, 8))),
        Layout((128, 64), (64, 1)),
    ],
)
def test_the_grid_is_that_of_the_layout_and_the_layout_is_not_named(layout: Layout) -> None:
    picture, whole = draw_offsets(table_of(layout), title="Puzzle"), draw_layout(layout)
    assert cells_of(picture) == cells_of(whole)
    assert str(layout) not in picture.svg + repr(picture) + picture.words
    assert picture.title == "Puzzle" and 'aria-label="Puzzle. ' in picture.svg


def test_words_say_what_the_picture_shows() -> None:
    picture = draw_offsets(TABLE, title="A")
    assert repr(picture) == "A\n  2 × 3: offsets 0 to 10, 5 of them unused"
    assert "(1,2) to 10" in picture.words
    assert repr(draw_offsets([[0, 1], [1, 2]])) == (
        "offsets\n  2 × 2: 4 coordinates share 3 offsets, 0 to 2"
    )
    assert "<title>a &lt; b</title>" in draw_offsets(TABLE, title="a < b").svg
    picture = draw_offsets(np.arange(128 * 64).reshape(128, 64))
    assert "layout corner" in picture.svg and "offset 0 to 8,191" in picture.svg


@pytest.mark.parametrize(
    "table",
    [tuple(map(tuple, TABLE)), np.array(TABLE), np.array(TABLE, np.uint8), torch.tensor(TABLE)],
)
def test_lists_tuples_arrays_and_tensors_are_equal(table: Any) -> None:
    assert draw_offsets(table).svg == draw_offsets(TABLE).svg


def test_display_shows_what_draw_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    display = "IPython.display.display"
    monkeypatch.setattr(display, lambda *objects, **options: shown.extend(objects))
    assert forgekit.viz.display_offsets(TABLE, title="A") is None
    assert [picture.svg for picture in shown] == [draw_offsets(TABLE, title="A").svg]
    assert {"display_offsets", "draw_offsets"} <= set(forgekit.viz.__all__)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("01", "table of offsets: got '01', needed rows of integers; pass rows of offsets"),
        (None, "got None, needed rows of integers"),
        (7, "got 7, needed rows of integers"),
        ([], r"got \[\], needed rows"),
        (Layout((2, 2)), r"got \(2,2\):\(1,2\), needed rows of integers"),
        ([1, 2], "row 0: got 1, needed integers"),
        ([[1, 2], "34"], "row 1: got '34', needed integers"),
        ([[]], r"row 0: got \[\], needed integers"),
        ([[1, 2], [3]], "row 1: got 1 entries, needed 2, as in row 0"),
        ([[1, None]], "row 0, column 1: got None, needed an integer;"),
        ([[1, 2], [3, "4"]], "row 1, column 1: got '4', needed an integer;"),
        ([[1.5]], r"got 1\.5, needed an integer;"),
        ([[True]], "got True, needed an integer;"),
        ([[[1]]], r"got \[1\], needed an integer;"),
        ([[2**63]], "needed an integer of 64 bits"),
        ([[0] * 1000] * 66, "66,000 cells, needed at most 65,536; draw part of it"),
    ],
)
def test_what_is_no_table_is_refused_with_a_remedy(table: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        draw_offsets(table)


# -- on a page narrower than the picture ------------------------------------------------------
def test_a_picture_shrinks_with_the_page_as_long_as_it_can_be_read() -> None:
    svg = draw_offsets(TABLE).svg
    root = svg[: svg.index(">")]
    assert 'style="max-width:100%;min-width:334.4px;height:auto"' in root
    assert 'width="380"' in root and 'viewBox="0 0 380 ' in root
