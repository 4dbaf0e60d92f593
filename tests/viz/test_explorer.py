"""Test the explorer: its steps, compared with forgekit.layouts, and the text of its page."""

from __future__ import annotations

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
    zipped_divide,
)
from forgekit.viz.page import packed

MATRIX = "tensor<ptr<f32, gmem> o (16,32):(32,1)>"
TV = make_layout_tv(Layout((4, 8), (8, 1)), Layout((2, 2), (2, 1)))
TILE = "tensor<ptr<f32, smem> o (32,32):(32,1)>"


# -- the steps --------------------------------------------------------------------------------
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
    whole, divide, tile = data["steps"]
    assert whole["result"] == data["layout"] == str(layout)
    assert divide["result"] == str(divided)
    kept = tuple(None for _ in divided.mode(0))
    assert tile["result"] == str(divided((kept, 0)))


def test_steps_to_a_thread() -> None:
    data = fk.explore(MATRIX, tv=TV).data
    tiler, tv = TV
    divided = zipped_divide(Layout((16, 32), (32, 1)), tiler)
    composed = composition(divided[0], tv)
    assert [step["name"] for step in data["steps"]] == [
        "the tensor", "zipped_divide", "one tile", "composition", "one thread",
    ]  # fmt: skip
    assert data["steps"][3]["result"] == str(composed)
    assert data["steps"][4]["result"] == str(composed((0, (None, None))))


def test_threads_over_a_whole_layout_without_a_tile() -> None:
    data = fk.explore(Layout((4, 8), (8, 1)), tv=Layout((8, 4), (4, 1)), memory="gmem").data
    assert [step["op"] for step in data["steps"]] == ["", "composition", "slice"]
    assert data["steps"][1]["code"] == "tidA = composition(mA, (8,4):(4,1))"


def test_tiles_beyond_the_tensor_need_a_predicate() -> None:
    step = fk.explore(Layout((10, 12), (12, 1)), tile=(4, 8)).data["steps"][1]
    assert "(72 elements): a kernel needs a predicate" in step["words"]


def test_banks_are_a_step_of_shared_memory() -> None:
    (banks,) = fk.explore(TILE).data["steps"]
    assert banks["colour"] == "bank"
    words = "32-way conflict when a warp reads a column, no conflict when it reads a row"
    assert words in banks["words"]
    swizzled = ComposedLayout(Swizzle(5, 0, 5), 0, Layout((32, 32), (32, 1)))
    (banks,) = fk.explore(swizzled).data["steps"]  # a swizzle implies shared memory
    words = "no conflict when a warp reads a column, no conflict when it reads a row"
    assert words in banks["words"]
    names = [step["name"] for step in fk.explore(TILE, tile=(8, 8)).data["steps"]]
    assert names == ["the tensor", "zipped_divide", "one tile", "banks"]


def test_a_swizzled_pointer_swizzles_offsets() -> None:
    explorer = fk.explore("tensor<ptr<f16, smem, S<3,4,3>> o (8,64):(64,1)>")
    assert explorer.data["layout"] == "S<3,3,3> o 0 o (8,64):(64,1)"
    assert explorer.data["bits"] == 16
    swizzle = Swizzle(3, 4, 3)
    plain = Layout((8, 64), (64, 1))
    assert [2 * explorer.layout(i) for i in range(512)] == [
        swizzle(2 * plain(i)) for i in range(512)
    ]


BAD = [
    (("(?,32):(32,1)",), {}, r"\? in it, needed numbers only; draw it for a fixed size"),
    ((Layout((512, 256)),), {}, r"131,072 elements, needed at most 65,536; explore one tile"),
    (("(4,8):(1@0,1@1)",), {"memory": "smem"}, r"in smem, needed offsets into memory"),
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
    # Like CuTe's, forgekit's composition does not check strides smaller than a size, for which the
    # picture would be wrong.
    with pytest.raises(UsageError, match="which is another function"):
        fk.explore(Layout((4, 6), (6, 1)), tv=Layout((4, 2), (3, 12)))


# -- the page as text -------------------------------------------------------------------------
def test_mimebundle_words_and_size() -> None:
    for explorer in (fk.explore(TILE), fk.explore(Layout((32, 32), (32, 1)), tv=TV)):
        bundle = explorer._repr_mimebundle_()
        assert set(bundle) == {"text/plain", "text/html"}
        assert bundle["text/plain"] == str(explorer) == explorer.summary
        assert len(bundle["text/html"].encode()) < 50_000
    assert "((TileM,TileN),(RestM,RestN))" in explorer.summary


def test_page_stands_alone_and_is_deterministic(tmp_path: Path) -> None:
    html = fk.explore(MATRIX, tv=TV).html
    assert html == fk.explore(MATRIX, tv=TV).html
    assert not re.search(r"(src|href)=[\"'](?!data:)|url\(|@import|fetch\(", html)
    # The other script is compressed.
    assert html.count("<script>") == 1 and html.count("</script>") == 2
    assert re.search(r'<img alt="[^"]+" style="[^"]+" src="data:image/png;base64,', html)
    assert "<details><summary>In words</summary>" in html
    with pytest.raises(UsageError, match="needed a writable file"):
        fk.explore(MATRIX).save(tmp_path / "none" / "x.html")


def test_long_lists_are_packed_as_runs() -> None:
    column_major = [32 * (i % 16) + i // 16 for i in range(512)]
    assert packed({"offsets": column_major}) == {
        "offsets": {"runs": [x for c in range(32) for x in (c, 32, 16)]}
    }
    assert packed([*range(0, 64, 2), 7, 7]) == {"runs": [0, 2, 32, 7, 0, 2]}
