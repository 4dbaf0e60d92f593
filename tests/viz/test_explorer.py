"""The explorer: what its page shows, against forgekit.layouts; the page as text."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

import forgekit as fk
from forgekit.errors import UsageError
from forgekit.layouts import (
    ComposedLayout,
    Layout,
    Swizzle,
    composition,
    make_layout_tv,
    slice_and_offset,
    zipped_divide,
)
from forgekit.viz.page import packed

MATRIX = "tensor<ptr<f32, gmem> o (16,32):(32,1)>"
TV = make_layout_tv(Layout((4, 8), (8, 1)), Layout((2, 2), (2, 1)))
TILE = "tensor<ptr<f32, smem> o (32,32):(32,1)>"


# -- the payload ------------------------------------------------------------------------------
LAYOUTS = [
    Layout((4, 8), (8, 1)),
    Layout((4, (2, 2)), (1, (4, 8))),
    Layout(70, 3),
    Layout((1, 1)),
    Layout((3, 5), (-5, 1)),
    ComposedLayout(Swizzle(2, 0, 3), 1, Layout((8, 8), (8, 1))),
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_offsets_are_the_layouts(layout: Any) -> None:
    data = fk.explore(layout).data
    assert data["title"] == str(layout)
    assert data["offsets"] == [layout(i) for i in range(layout.size())]


@pytest.mark.parametrize(
    ("layout", "tiler"),
    [
        (Layout((16, 32), (32, 1)), (8, 16)),
        (Layout((16, 32), (1, 16)), (Layout(4, 4), 16)),
        (Layout((8, (4, 4)), (4, (1, 32))), (2, 4)),
        (Layout(64, 2), (16,)),
        (ComposedLayout(Swizzle(3, 0, 4), 0, Layout((16, 16), (16, 1))), (8, 4)),
    ],
    ids=str,
)
def test_steps_to_a_tile(layout: Any, tiler: Any) -> None:
    data = fk.explore(layout, tile=tiler, memory="gmem").data
    divided = zipped_divide(layout, tiler)
    _, divide, tile = data["steps"]
    assert divide["result"] == str(divided)
    size, count = divided.size(0), divided.size(1)
    assert (data["tile"]["size"], data["tile"]["count"]) == (size, count)
    pairs = itertools.product(range(count), range(size))
    assert [data["offsets"][cell] for cell in data["tile"]["cells"]] == [
        divided((e, t)) for t, e in pairs
    ]
    whole = tuple(None for _ in divided.mode(0))
    outer = divided.outer if isinstance(divided, ComposedLayout) else divided
    sliced = [slice_and_offset(outer, (whole, t)) for t in range(count)]
    assert tile["result"].endswith(str(sliced[0][0]))
    assert data["tile"]["starts"] == [start for _, start in sliced]


def test_steps_to_a_thread() -> None:
    data = fk.explore(MATRIX, tv=TV).data
    tiler, tv = TV
    divided = zipped_divide(Layout((16, 32), (32, 1)), tiler)
    composed = composition(divided[0], tv)
    assert [step["kind"] for step in data["steps"]] == [
        "layout", "divide", "tile", "compose", "slice",
    ]  # fmt: skip
    assert data["steps"][3]["result"] == str(composed)
    assert data["steps"][4]["result"] == str(composed((0, (None, None))))
    for t, elements in enumerate(data["tv"]["elements"]):
        _, start = slice_and_offset(composed, (t, (None, None)))
        found = [data["offsets"][data["tile"]["cells"][e]] for e in elements]
        assert found == [composed((t, v)) for v in range(4)]
        assert found[0] == start


def test_threads_over_a_whole_layout_without_a_tile() -> None:
    data = fk.explore(Layout((4, 8), (8, 1)), tv=Layout((8, 4), (4, 1)), memory="gmem").data
    assert [step["kind"] for step in data["steps"]] == ["layout", "compose", "slice"]
    assert data["steps"][1]["code"] == "tidA = composition(mA, (8,4):(4,1))"


def test_tiles_beyond_the_tensor_need_a_predicate() -> None:
    data = fk.explore(Layout((10, 12), (12, 1)), tile=(4, 8)).data
    cells = data["tile"]["cells"]
    assert sorted(c for c in cells if c >= 0) == list(range(120))
    assert len(cells) == 6 * 32
    assert "(72 elements): a kernel needs a predicate" in data["steps"][1]["words"]


def test_choices_of_banks() -> None:
    lab = fk.explore(TILE).data["lab"]
    assert lab["conflicts"][0] == ["(32,32):(32,1)", "32-way conflict", "no conflict"]
    assert lab["conflicts"][1] == ["(32,32):(33,1)", "no conflict", "no conflict"]
    assert lab["layouts"][0][1] == "(32,32):(33,1)"
    assert lab["layouts"][1][3] == "S<3,0,5> o 0 o (32,32):(32,1)"
    ways = [row[1] for row in lab["conflicts"][9:]]
    assert ways == ["16-way conflict", "8-way conflict", "4-way conflict", "2-way conflict",
                    "no conflict"]  # fmt: skip


def test_a_padded_or_swizzled_tile_begins_as_it_is() -> None:
    padded = fk.explore(Layout((32, 32), (33, 1)), memory="smem").data["lab"]
    assert (padded["padding"], padded["layouts"][0][0]) == (1, "(32,32):(32,1)")
    swizzle = Swizzle(3, 2, 3)
    own = fk.explore(ComposedLayout(swizzle, 0, Layout((32, 32), (32, 1)))).data["lab"]
    assert own["swizzles"][own["own"]] == [3, 2, 3]


@pytest.mark.parametrize(
    ("bits", "dtype"), [(8, "int8"), (16, "float16"), (32, "f32"), (64, "f64")]
)
@pytest.mark.parametrize("shape", [(32, 32), (16, 16), (64, 8), (8, 64)])
def test_the_last_swizzle_is_the_best_of_them(
    bits: int, dtype: str, shape: tuple[int, int]
) -> None:
    layout = Layout(shape, (shape[1], 1))
    lab = fk.explore(layout, dtype=dtype, memory="smem").data["lab"]
    ways = [int(re.sub(r"no conflict", "1", t[1]).split("-")[0]) for t in lab["conflicts"][9:]]
    assert ways == sorted(ways, reverse=True)
    assert all(row[2] == "no conflict" for row in lab["conflicts"][9:])


def test_a_swizzled_pointer_swizzles_offsets() -> None:
    data = fk.explore("tensor<ptr<f16, smem, S<3,4,3>> o (8,64):(64,1)>").data
    assert data["title"] == "S<3,3,3> o 0 o (8,64):(64,1)"
    swizzle = Swizzle(3, 4, 3)
    plain = Layout((8, 64), (64, 1))
    assert [2 * o for o in data["offsets"]] == [swizzle(2 * plain(i)) for i in range(512)]


BAD = [
    (("(?,32):(32,1)",), {}, r"\? in it, needed numbers only; give the sizes"),
    ((Layout((128, 128)),), {}, r"128 × 128 cells, needed at most 64 × 64; explore one tile"),
    ((Layout(4096),), {}, r"4,096 elements, needed at most 2,048"),
    ((Layout((2, 2, 2)),), {}, r"3 modes, needed one or two modes; slice it"),
    (("(4,8):(1@0,1@1)",), {}, r"offsets are coordinates, needed offsets into memory"),
    ((Layout((8, 8)),), {"memory": "rmem"}, r"'rmem', needed 'gmem' or 'smem'"),
    ((Layout((8, 8)),), {"tv": Layout((32, 4))}, r"element 127, needed elements 0 to 63 of"),
    ((Layout((8, 8)),), {"tv": Layout(32)}, r"rank 1, needed a thread and a value mode"),
    ((Layout((8, 8)),), {"tile": (2, 2, 2)}, r"3 entries, needed at most 2"),
    ((Layout((8, 8)),), {"tile": (4, 4), "tv": TV}, r"tile: got \(4, 4\), needed \(8, 16\)"),
    ((Layout((8, 8)),), {"dtype": "complex64"}, r"dtype: got complex64"),
]  # fmt: skip


@pytest.mark.parametrize(("args", "options", "message"), BAD)
def test_bad_input_is_refused(args: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        fk.explore(*args, **options)


def test_a_composition_that_is_none_is_refused() -> None:
    # As CuTe, composition does not check strides smaller than a size: the picture would lie.
    with pytest.raises(UsageError, match="which is another function"):
        fk.explore(Layout((4, 6), (6, 1)), tv=Layout((4, 2), (3, 12)))


# -- the page as text -------------------------------------------------------------------------
def test_mimebundle_words_and_size() -> None:
    for explorer in (fk.explore(TILE), fk.explore(Layout((32, 32), (32, 1)), tv=TV)):
        bundle = explorer._repr_mimebundle_()
        assert set(bundle) == {"text/plain", "text/html"}
        assert bundle["text/plain"] == str(explorer) == explorer.summary
        assert len(bundle["text/html"].encode()) < 60_000
    assert "S<5,0,5> o 0 o (32,32):(32,1): no conflict" in str(fk.explore(TILE))
    assert "((TileM,TileN),(RestM,RestN))" in explorer.summary


def test_page_stands_alone_and_is_deterministic(tmp_path: Path) -> None:
    html = fk.explore(MATRIX, tv=TV).html
    assert html == fk.explore(MATRIX, tv=TV).html
    assert not re.search(r"(src|href)=[\"'](?!data:)|url\(|@import|fetch\(", html)
    assert html.count("<script>") == html.count("</script>") == 1
    assert re.search(r'<img alt="[^"]+" style="[^"]+" src="data:image/png;base64,', html)
    assert "<details><summary>In words</summary>" in html
    with pytest.raises(UsageError, match="needed a file that can be written"):
        fk.explore(MATRIX).save(tmp_path / "none" / "x.html")


def test_payload_is_json() -> None:
    data = fk.explore(MATRIX, tv=TV).data
    assert json.loads(json.dumps(data))["tv"]["threads"] == 32
    assert packed(data)["offsets"] == {"runs": [x for c in range(32) for x in (c, 32, 16)]}
    assert packed([*range(0, 64, 2), 7, 7]) == {"runs": [0, 2, 32, 7, 0, 2]}
