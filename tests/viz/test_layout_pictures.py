"""Test pictures of layouts: each cell shows the number that CuTe itself computes."""

from __future__ import annotations

import colorsys
import math
import xml.etree.ElementTree as ET
from typing import Any

import cutlass.cute as cute
import numpy as np
import pytest

from forgekit.errors import UsageError
from forgekit.layouts import ComposedLayout, Layout, Swizzle
from forgekit.viz import draw_layout, draw_swizzle_layout
from forgekit.viz.grid import Content, Grid, plain_axis
from forgekit.viz.palette import (
    INK,
    NOTHING,
    THEME,
    UNTOUCHED,
    WRONG,
    bank_colour,
    block_colour,
    offset_colour,
    thread_colour,
)  # fmt: skip
from forgekit.viz.picture import LayoutPicture
from forgekit.viz.runs.timeline_figure import _COLOURS
from forgekit.viz.scene import Cell, Label, Line, Pixels
from forgekit.viz.timing.style import SERIES
from tests.layouts.cute_oracle import cute_context
from tests.viz.pictures import SVG, cells, contrast, panel, panels, places

LAYOUTS = [
    (8, 1),
    (8, 2),
    ((4, 8), (8, 1)),
    ((4, 8), (1, 4)),
    ((4, 8), (0, 1)),
    ((4, 8), (10, 1)),
    ((2, 4, 3), (1, 2, 8)),
    ((4, (2, 2)), (1, (4, 8))),
    (((2, 2), (3, 4)), ((1, 6), (2, 12))),
    (((2, (2, 2)), (4, 3)), ((1, (16, 32)), (2, 64))),
]


@pytest.mark.parametrize(("shape", "stride"), LAYOUTS)
@pytest.mark.parametrize("flatten", [True, False])
def test_cells_carry_cutes_own_offsets(shape: Any, stride: Any, flatten: bool) -> None:
    with cute_context():
        layout = cute.make_layout(shape, stride=stride)
        picture = draw_layout(layout, flatten_hierarchical=flatten)
        offsets = [layout(i) for i in range(cute.size(layout))]
        printed = str(layout)
    assert picture.title == printed
    drawn = [cell for name in panels(picture.svg) for cell in cells(picture, name)]
    drawn.sort(key=lambda cell: int(cell[0]["index"]))
    assert [int(data["offset"]) for data, _ in drawn] == offsets
    assert [texts for _, texts in drawn] == [[str(o)] for o in offsets]
    ours = Layout(shape, stride)
    for data, _ in drawn:
        assert data["coord"] == str(ours.coordinate(int(data["index"]))).replace(" ", "")
    again = draw_layout((shape, stride), flatten_hierarchical=flatten)
    assert again.svg == picture.svg  # tuples give the same picture, and so does each call


def test_mode_0_runs_down_and_mode_1_across() -> None:
    layout = Layout((3, 4), (10, 1))
    assert places(draw_layout(layout)) == {
        (r, c): str(10 * r + c) for r in range(3) for c in range(4)
    }
    assert len(cells(draw_layout(Layout((64, 32))))) == 2048
    found = places(draw_layout(Layout(70, 3)))
    assert found[(0, 31)] == "93" and found[(1, 0)] == "96" and found[(2, 5)] == "207"
    assert len(found) == 70
    picture = draw_layout("tensor<(0,4) o (2,3):(1@0,1@1)>")
    assert places(picture)[(1, 2)] == "1,6"


def test_a_divided_layout_is_drawn_as_tiles_where_they_lay() -> None:
    # zipped_divide of an 8 × 12 row-major matrix by (4, 3): ((4,3),(2,4)):((12,1),(48,3))
    divided = Layout(((4, 3), (2, 4)), ((12, 1), (48, 3)))
    whole = {(r, c): str(12 * r + c) for r in range(8) for c in range(12)}
    assert places(draw_layout(divided, flatten_hierarchical=False)) == whole
    assert places(draw_layout(divided)) != whole


def test_nested_modes_have_their_coordinates_on_the_axes_and_borders() -> None:
    layout = Layout((4, (2, 3)), (1, (4, 8)))
    flat, nested = draw_layout(layout), draw_layout(layout, flatten_hierarchical=False)

    def ticks(picture: LayoutPicture) -> list[str]:
        marks = [g for g in panel(picture, "layout") if g.get("class") == "dim"]
        return [t.text or "" for g in marks for t in g.iter(f"{SVG}text")]

    assert ticks(flat) == [*"012345", *"0123"]
    assert ticks(nested) == [*"010101", *"012", *"0123"]

    def borders(picture: LayoutPicture) -> int:
        return sum(isinstance(item, Line) and item.stroke == INK
                   for p in picture.scene.panels for item in p.items)  # fmt: skip

    assert borders(nested) - borders(flat) == 2  # the borders before the second and the third group


def test_further_modes_get_a_grid_each() -> None:
    picture = draw_layout(Layout((2, 2, 2, 2)))
    assert [*panels(picture.svg)][1:] == [
        f"layout (_,_,{i},{j})" for j in range(2) for i in range(2)
    ]
    texts = [texts for _, texts in cells(picture, "layout (_,_,1,0)")]
    assert texts == [["4"], ["6"], ["5"], ["7"]]


@pytest.mark.parametrize("shape", [(128, 64), (8, 200), (64, 65), (4, 4096)])
def test_large_layouts_are_an_overview_and_a_corner(shape: tuple[int, int]) -> None:
    picture = draw_layout(Layout(shape, (shape[1], 1)))
    assert cells(picture) == []
    corner = places(picture, "layout corner")
    assert corner[(3, 5)] == str(3 * shape[1] + 5)
    assert len(corner) == 128 if min(shape) >= 8 else 64
    assert (
        "corner" in picture.svg.lower() and f"offset 0 to {math.prod(shape) - 1:,}" in picture.svg
    )
    assert len(picture.svg) < 200_000
    (dots,) = (item for p in picture.scene.panels for item in p.items if isinstance(item, Pixels))
    assert dots.numbers.shape == shape
    assert dots.colours[dots.numbers[3, 5]] == offset_colour(3 * shape[1] + 5, math.prod(shape))


def test_a_transposed_grid_has_its_rows_across() -> None:
    def content(row: int, column: int) -> Content:
        return Content(INK, (f"{row},{column}",))

    grid = Grid("g", 2, 3, content, plain_axis(2), plain_axis(3, step=7), lambda r, c: (0, r))
    block = grid.transposed().block()
    texts = [item.lines[0] for item in block.items if isinstance(item, Cell)]
    assert texts == ["0,0", "1,0", "0,1", "1,1", "0,2", "1,2"]
    ticks = [item.text for item in block.items if isinstance(item, Label)]
    assert ticks == ["0", "1", "0", "7", "14"]
    (line,) = (item for item in block.items if isinstance(item, Line))  # between the groups
    assert line.x1 == line.x2 == block.left + 36 and line.y2 - line.y1 == 3 * 36


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        (Layout((4, 8)), "size 32, cosize 32: each offset from 0 to 31 once"),
        (Layout((4, 8), (10, 1)), "size 32, cosize 38: offsets 0 to 37, 6 of them unused"),
        (Layout((4, 8), (0, 1)), "size 32, cosize 8: 32 coordinates share 8 offsets, 0 to 7"),
    ],
)
def test_words_say_what_the_picture_shows(layout: Layout, words: str) -> None:
    picture = draw_layout(layout)
    assert repr(picture) == f"{layout}\n  {words}"
    assert words in picture.words
    assert f"(1,2) to {layout((1, 2))}" in picture.words


def test_the_svg_is_self_contained_and_named() -> None:
    root = ET.fromstring(draw_layout(Layout((4, 8))).svg)
    assert root.get("role") == "img" and root.findtext(f"{SVG}title") == "(4,8):(1,4)"
    assert "Coordinate to offset" in root.get("aria-label", "")
    text = draw_layout(Layout((4, 8))).svg
    for foreign in ("href", "url(", " id=", "<script", "<image", "http://", "https://"):
        assert foreign not in text.replace('xmlns="http://www.w3.org/2000/svg"', ""), foreign
    style = root.findtext(f"{SVG}style") or ""
    assert "prefers-color-scheme:dark" in style and "data-jp-theme-light=false" in style
    picture = draw_swizzle_layout(ComposedLayout(Swizzle(1, 0, 1), 0, Layout((2, 2))))
    assert ET.fromstring(picture.svg).findtext(f"{SVG}title") == "S<1,0,1> o 0 o (2,2):(1,2)"


def test_colours_stand_out_in_light_and_in_dark() -> None:
    """WCAG 2 requires a contrast ratio with the background of 4.5 for text and of 3 for marks."""
    on_cells = [*(f(k) for f in (thread_colour, block_colour, bank_colour) for k in range(32)),
                *(offset_colour(k, 32) for k in range(32)), NOTHING, UNTOUCHED, WRONG]  # fmt: skip
    assert min(contrast(INK, fill) for fill in on_cells) > 4.5
    assert min(contrast(INK, colour) for colour in _COLOURS.values() if colour != "ink") > 4.5
    for page in (0, 1):
        role = {name: both[page] for name, both in THEME.items()}
        for ground in ("card", "quiet"):
            assert min(contrast(role[t], role[ground]) for t in ("ink", "dim", "alarm")) > 4.5
            marks = [role["rule"], role["focus"], role["nan"], WRONG]
            assert min(contrast(mark, role[ground]) for mark in marks) > 3
        assert min(contrast(c, role["card"]) for c in (UNTOUCHED, *SERIES)) > 3
        assert contrast(WRONG, role["waste"]) > 3  # the border of waste
    assert len({thread_colour(t) for t in range(32)}) == 32
    assert thread_colour(5) == thread_colour(37)


def test_orange_means_waste_alone() -> None:
    others = [*map(block_colour, range(8)), *map(thread_colour, range(32)), *SERIES,
              *_COLOURS.values(), *map(bank_colour, range(32))]  # fmt: skip

    def hue(colour: str) -> float:
        red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        h, _, saturation = colorsys.rgb_to_hls(red, green, blue)
        return 360 * h if saturation > 0.3 else -1

    assert 15 < hue(WRONG) < 45
    assert not [c for c in others if c != "ink" and 10 < hue(c) < 45]


# -- swizzles and banks -----------------------------------------------------------------------
@pytest.mark.parametrize("swizzle", [(3, 0, 3), (2, 1, 3), (3, 2, 3), (3, 4, 3)])
def test_swizzled_cells_carry_cutes_offset_and_its_bank(swizzle: tuple[int, int, int]) -> None:
    with cute_context():
        outer = cute.make_layout((8, 32), stride=(32, 1))
        layout = cute.make_composed_layout(cute.make_swizzle(*swizzle), 0, outer)
        picture = draw_swizzle_layout(layout, element_bits=16)
        offsets = [[layout((r, c)) for c in range(32)] for r in range(8)]
    drawn = cells(picture)
    offsets = np.array(offsets).reshape(-1)
    assert [int(data["offset"]) for data, _ in drawn] == offsets.tolist()
    assert [int(data["bank"]) for data, _ in drawn] == (offsets * 2 // 4 % 32).tolist()
    assert [texts for _, texts in drawn] == [[str(o), f"b{o * 2 // 4 % 32}"] for o in offsets]


@pytest.mark.parametrize(
    ("layout", "bits", "row", "column"),
    [
        (Layout((32, 32), (32, 1)), 32, "no conflict", "32-way conflict"),
        (Layout((32, 32), (33, 1)), 32, "no conflict", "no conflict"),
        (Layout((32, 32), (32, 1)), 16, "no conflict", "16-way conflict"),
        (Layout((32, 32), (34, 1)), 16, "no conflict", "no conflict"),
        (Layout((32, 32), (32, 1)), 64, "no conflict", "16-way conflict"),
        (Layout((32, 32), (0, 1)), 32, "no conflict", "no conflict"),  # all lanes read one word
        (ComposedLayout(Swizzle(5, 0, 5), 0, Layout((32, 32), (32, 1))), 32, "no conflict",
         "no conflict (32-way conflict without the swizzle)"),
        (ComposedLayout(Swizzle(3, 2, 3), 0, Layout((8, 32), (32, 1))), 32, "no conflict",
         "no conflict (8-way conflict without the swizzle)"),
    ],
)  # fmt: skip
def test_conflicts_of_a_row_and_a_column(layout: Any, bits: int, row: str, column: str) -> None:
    lines = repr(draw_swizzle_layout(layout, element_bits=bits)).split("\n  ")
    assert lines[2:] == [f"a warp that reads a row: {row}", f"a warp that reads a column: {column}"]


def test_a_tensor_brings_its_element_width_and_the_swizzle_of_its_pointer() -> None:
    text = "tensor<ptr<f16, smem, align<128>, S<3,4,3>> o (8,64):(64,1)>"
    first = {data["coord"]: data for data, _ in cells(draw_swizzle_layout(text))}
    # The byte offset 128, at which row 1 begins, is XORed with 16 bytes, which are 8 elements.
    assert first["(1,0)"]["offset"] == str(64 + 8) and first["(1,0)"]["bank"] == "4"
    assert "at a pointer whose byte addresses use S<3,4,3>" in draw_swizzle_layout(text).title


# -- bad input --------------------------------------------------------------------------------
BANKS = {"element_bits": None}  # the lines that a picture of banks shows


@pytest.mark.parametrize(
    ("value", "options", "message"),
    [
        ("(?,8):(8,1)", {}, r"layout: got .*\? in it, needed numbers only; draw it for a fixed"),
        ("tensor<(?,0) o (8,8):(1@0,1@1)>", {}, r"begins at \(\?,0\), needed numbers only"),
        ("(2,2):(1,1@0)", {}, "do not mix integer strides with basis strides"),
        (((4, 8.5), (1, 4)), {}, "8.5, needed a positive integer"),
        (((4, 8), (1,)), {}, "needed one stride per size"),
        (Layout((1024, 1024)), {}, "1,048,576 cells, needed at most 65,536; draw part"),
        (Layout((2, 2, 100)), {}, "100, needed at most 64 slices of 2 × 2"),
        (Layout((), ()), {}, "needed at least one mode"),
        (Layout((2, 2, 2)), BANKS, "of rank 3, needed rank 1 or 2"),
        (Layout((2, 2)), {"element_bits": 12},
         "element_bits: got 12, needed one of 4, 8, 16, 32, 64, 128"),
        ("tensor<(0,0) o (4,4):(1@0,1@1)>", BANKS, "needed offsets into memory"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused_with_a_remedy(
    value: Any, options: dict[str, Any], message: str
) -> None:
    draw = draw_swizzle_layout if "element_bits" in options else draw_layout
    with pytest.raises(UsageError, match=message):
        draw(value, **options)


def test_dynamic_and_freed_layouts_of_cute_are_refused() -> None:
    kept: list[Any] = []

    @cute.jit
    def dynamic(n: cute.typing.Int32) -> None:
        layout = cute.make_layout((n, 8))
        kept.append(layout)
        draw_layout(layout)

    with pytest.raises(UsageError, match=r"\? in it"):
        dynamic(4)
    with pytest.raises(UsageError, match=r"has ended \(CuTe has freed it\)"):
        draw_layout(kept[0])
