"""Test pictures of thread-value layouts, tiled copies and MMAs against the positions in CuTe's
layouts.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import defaultdict
from typing import Any

import cutlass.cute as cute
import pytest
from cutlass import Float16, Float32

import forgekit.vgpu
from forgekit.errors import UsageError
from forgekit.layouts import Layout, make_layout_tv
from forgekit.lessons.pictures import picture
from forgekit.viz import (
    draw_copy_layout,
    draw_mma_from_layouts,
    draw_tiled_copy,
    draw_tiled_mma,
    draw_tv_layout,
    tidfrg_D,
    tidfrg_S,
)
from forgekit.viz.palette import thread_colour
from forgekit.viz.picture import LayoutPicture
from tests.layouts.cute_oracle import cute_context
from tests.viz import pictures
from tests.viz.pictures import SVG, cells

Holders = dict[tuple[int, int], list[tuple[int, int]]]


def pair(text: str) -> tuple[int, int]:
    row, column = text.strip("()").split(",")
    return int(row), int(column)


def drawn(picture: LayoutPicture, panel: str) -> Holders:
    """Check the texts of a panel's cells; map each coordinate to the (thread, value) pairs in its
    cell.
    """
    found: Holders = {}
    for data, texts in cells(picture, panel):
        holders = data.get("holders", "")
        pairs = [pair(h[1:].replace("V", ",")) for h in holders.split()]
        if not pairs and "thread" in data:
            pairs = [(int(data["thread"]), int(data["value"]))]
        if pairs:
            more = [f"+{len(pairs) - 1}"] if len(pairs) > 1 else []
            assert texts == [f"T{pairs[0][0]}", f"V{pairs[0][1]}", *more]
            found[pair(data["coord"])] = pairs
        else:
            assert texts == []
    return found


def cutes(layout: Any, tile: tuple[int, int]) -> Holders:
    """Compute the same map with CuTe, by composing the layout with the tile's identity tensor."""
    tensor = cute.composition(cute.make_identity_tensor(tile), layout)
    found: Holders = defaultdict(list)
    for thread in range(cute.size(tensor, mode=[0])):
        for value in range(cute.size(tensor, mode=[1])):
            row, column = tensor[(thread, value)]
            found[(int(row), int(column))].append((thread, value))
    return dict(found)


def assert_held(corner: Holders, layout: Any, tile: tuple[int, int], times: int) -> None:
    """Assert with CuTe that the threads named in a corner hold its elements, and that the number of
    elements is right.
    """
    tensor = cute.composition(cute.make_identity_tensor(tile), layout)
    assert corner
    for place, pairs in corner.items():
        assert [tuple(map(int, tensor[pair])) for pair in pairs] == [place] * times


TV_LAYOUTS = [
    (((2, 2, 2), (2, 2, 2)), ((1, 16, 4), (8, 2, 32)), (8, 8)),
    (((8, 4), 4), ((16, 1), 4), (4, 32)),
    ((32, 4), (1, 32), (16, 8)),
    # Pairs of threads hold the same elements, and no thread holds the other half.
    (((4, 2), 2), ((1, 0), 4), (4, 4)),
    ((4, (2, 2)), (1, (4, 0)), (4, 2)),  # a thread holds an element twice
]


@pytest.mark.parametrize(("shape", "stride", "tile"), TV_LAYOUTS)
def test_a_tile_shows_who_holds_each_element(shape: Any, stride: Any, tile: Any) -> None:
    with cute_context():
        layout = cute.make_layout(shape, stride=stride)
        picture = draw_tv_layout(layout, tile, both=True)
        holders = cutes(layout, tile)
    assert drawn(picture, "tile") == holders
    assert len(cells(picture, "tile")) == tile[0] * tile[1]
    # The reverse direction agrees.
    back: Holders = defaultdict(list)
    for data, texts in cells(picture, "table"):
        assert texts == [data["coord"].strip("()")]
        back[pair(data["coord"])].append((int(data["thread"]), int(data["value"])))
    assert {k: sorted(v) for k, v in back.items()} == holders
    assert draw_tv_layout((shape, stride), tile, both=True).svg == picture.svg
    one_way = draw_tv_layout((shape, stride), tile)
    assert drawn(one_way, "tile") == holders and "table" not in one_way.svg


def test_shared_and_uncovered_elements_are_said() -> None:
    picture = draw_tv_layout((((4, 2), 2), ((1, 0), 4)), (4, 4))
    assert repr(picture).split("\n  ")[1:] == [
        "8 threads × 2 values over a tile of 4 × 4",
        "8 elements held more than once, up to 2 times",
        "8 elements held by no thread",
    ]
    said = " ".join(pictures.texts(picture))
    assert "no thread" in said and "+n: n more copies of the element" in said
    assert "thread 5 holds (1,0), (1,1)" in picture.words


def test_make_layout_tv_and_its_tiler_can_be_passed_on() -> None:
    with cute_context():
        threads = cute.make_layout((4, 8), stride=(8, 1))
        values = cute.make_layout((2, 4), stride=(4, 1))
        tiler, layout = cute.make_layout_tv(threads, values)
        picture = draw_tv_layout(layout, tiler)
        holders = cutes(layout, (8, 32))
    assert drawn(picture, "tile") == holders


def test_many_threads_are_an_overview_a_corner_and_the_first_of_the_table() -> None:
    layout = Layout(((32, 4), (8, 8)), ((256, 1), (32, 4)))
    picture = draw_tv_layout(layout, (128, 64), both=True)
    assert cells(picture, "tile") == []
    assert "lanes 0 to 31 of each of 4 warps" in picture.svg
    for place, pairs in drawn(picture, "tile corner").items():
        assert all(layout(p) == place[0] + 128 * place[1] for p in pairs)
    assert len(cells(picture, "table")) == 32 * 16
    assert "32 threads of 128, values 16 of 64" in picture.svg


# -- copies -----------------------------------------------------------------------------------
def tiled_copy(kind: str) -> tuple[Any, tuple[int, int]]:
    if kind == "ldmatrix":
        atom = cute.make_copy_atom(cute.nvgpu.warp.LdMatrix8x8x16bOp(), Float16)
        threads, values = cute.make_layout((32, 1)), cute.make_layout((1, 2))
        return cute.make_tiled_copy_tv(atom, threads, values), (32, 2)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=128)
    threads, values = cute.make_layout((8, 4), stride=(4, 1)), cute.make_layout((1, 4))
    return cute.make_tiled_copy_tv(atom, threads, values), (8, 16)


@pytest.mark.parametrize("kind", ["ldmatrix", "128 bits"])
def test_a_tiled_copy_shows_source_and_destination(kind: str) -> None:
    found: dict[str, Any] = {}

    @cute.jit
    def trace() -> None:
        copy, tile = tiled_copy(kind)
        found["picture"] = draw_tiled_copy(copy, tile)
        found["source"] = cutes(copy.layout_src_tv_tiled, tile)
        found["destination"] = cutes(copy.layout_dst_tv_tiled, tile)
        # Coordinate tensors are used, as in cute-viz.
        tensors = tidfrg_S(copy, tile), tidfrg_D(copy, tile)
        found["again"] = draw_copy_layout(*tensors, tile)

    trace()
    for side in ("source", "destination"):
        assert drawn(found["picture"], side) == found[side]
        assert drawn(found["again"], side) == found[side]


def partitioned(copy: Any, tile: tuple[int, int]) -> dict[tuple[int, int], int]:
    """Map each coordinate to the thread that holds it in CuTe's partition of the whole tile."""
    coords = cute.make_identity_tensor(tile)
    found = {}
    for thread in range(32):
        part = copy.get_slice(thread).partition_S(coords)
        for i in range(cute.size(part)):
            row, column = part[i]
            found[(int(row), int(column))] = thread
    return found


def test_a_tile_of_several_patterns_repeats_them_as_cute_does() -> None:
    with cute_context():
        copy, tile = tiled_copy("128 bits")
        picture = draw_tiled_copy(copy, (2 * tile[0], 3 * tile[1]))
        thread_of = partitioned(copy, (2 * tile[0], 3 * tile[1]))
    got = drawn(picture, "source")
    assert {place: pairs[0][0] for place, pairs in got.items()} == thread_of
    assert "the pattern covers 8 × 16; the tile repeats it 2 × 3 times" in repr(picture)


def test_a_tile_of_another_form_is_read_as_cute_viz_reads_it_and_says_so() -> None:
    with cute_context():
        copy, _ = tiled_copy("ldmatrix")
        picture = draw_tiled_copy(copy, (8, 8))
        source = cutes(copy.layout_src_tv_tiled, (8, 8))
        with pytest.raises(UsageError, match="needed a multiple of 32 rows and of 2 columns"):
            draw_tiled_copy(copy, (8, 16))
    assert drawn(picture, "source") == source
    assert "made for a tile of 32 × 2" in repr(picture)


# -- MMAs -------------------------------------------------------------------------------------
@pytest.mark.parametrize("mnk", [(16, 8, 8), (16, 8, 16)])
def test_an_mma_shows_a_b_and_c(mnk: tuple[int, int, int]) -> None:
    with cute_context():
        mma = cute.make_tiled_mma(cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, mnk))
        picture = draw_tiled_mma(mma, mnk)
        layouts = mma.tv_layout_C_tiled, mma.tv_layout_A_tiled, mma.tv_layout_B_tiled
        again = draw_mma_from_layouts(*layouts, mnk)
        m, n, k = mnk
        tiles = {"C": (m, n), "A": (m, k), "B": (n, k)}
        holders = {x: cutes(layout, tiles[x]) for x, layout in zip("CAB", layouts, strict=True)}
    assert {name: drawn(picture, name) for name in holders} == holders
    assert again.svg == picture.svg


@pytest.mark.parametrize("k", [8, 16])
def test_b_stands_above_c_with_k_running_down(k: int) -> None:
    with cute_context():
        mma = cute.make_tiled_mma(cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, k)))
        picture = draw_tiled_mma(mma, (16, 8, k))
    at = {}
    for group in ET.fromstring(picture.svg):
        for g in group.iter(f"{SVG}g"):
            if "data-coord" in g.attrib:
                rect = g.find(f"{SVG}rect")
                assert rect is not None
                where = float(rect.attrib["x"]), float(rect.attrib["y"])
                at[(group.get("data-panel"), pair(g.attrib["data-coord"]))] = where
    for m in range(16):  # rows of A are next to C's rows, and columns of B above C's columns
        for n in range(8):
            c, a, b = at["C", (m, n)], at["A", (m, 3)], at["B", (n, 5)]
            assert a[1] == c[1] and a[0] < c[0]
            assert b[0] == c[0] and b[1] < c[1]
    assert at["B", (0, 1)][1] > at["B", (0, 0)][1]


def test_a_warpgroup_holds_the_accumulator_and_a() -> None:
    """A wgmma has 128 threads; each is assigned all of B, because B is in shared memory."""
    with cute_context(), forgekit.vgpu.installed("sm_90a"):
        K, held = cute.nvgpu.OperandMajorMode.K, cute.nvgpu.warpgroup.OperandSource.RMEM
        op = cute.nvgpu.warpgroup.MmaF16BF16Op(Float16, Float32, (64, 16, 16), held, K, K)
        mma = cute.make_tiled_mma(op)
        picture = draw_tiled_mma(mma, (64, 16, 16))
        assert_held(drawn(picture, "C corner"), mma.tv_layout_C_tiled, (64, 16), 1)
        assert_held(drawn(picture, "A corner"), mma.tv_layout_A_tiled, (64, 16), 1)
    assert "128 threads; a thread holds 8 values of A, 256 of B, 8 of C" in repr(picture)


def test_four_warps_share_a_and_b() -> None:
    with cute_context():
        op = cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))
        mma = cute.make_tiled_mma(op, (2, 2, 1), permutation_mnk=(32, 32, 16))
        picture = draw_tiled_mma(mma, (64, 32, 16))
        assert_held(drawn(picture, "A corner"), mma.tv_layout_A_tiled, (32, 16), 2)
    assert "A: the pattern covers 32 × 16; the tile repeats it 2 × 1 times" in repr(picture)


# -- bad input --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("layout", "tile", "message"),
    [
        (Layout(32), (4, 8), "32:1 of rank 1, needed a thread and a value mode"),
        (Layout((32, 4)), (4, 8), r"a value at index 32, needed coordinates inside the tile \(4,"),
        (Layout((4, 2), (-1, 4)), (4, 8), "a value at index -1"),
        ("tensor<(0,0) o (4,8):(1@0,1@1)>", (4, 4), r"a value at coordinate \(0, 4\)"),
        (Layout((32, 4)), 128, "tile_mn: got 128, needed 2 positive integers"),
        (Layout((32, 4)), (4, -2), "needed 2 positive integers"),
        (Layout((32, 4)), (4, "x"), r"tile_mn: got \(4, x\), needed 2 positive integers"),
        (Layout((32, 4)), (4.5, 4), "needed 2 positive integers"),
        (Layout((32, 4)), (10**9, 4), "4,000,000,000 cells, needed at most 65,536"),
        ("(?,4):(1,8)", (4, 4), r"\? in it, needed numbers only"),
    ],
)
def test_what_is_no_layout_of_the_tile_is_refused(layout: Any, tile: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        draw_tv_layout(layout, tile)


def test_copies_and_mmas_that_are_none_are_refused() -> None:
    with pytest.raises(UsageError, match="32 threads in the source, 16 in the destination"):
        draw_copy_layout(Layout((32, 4)), Layout((16, 8)), (8, 16))
    with pytest.raises(UsageError, match=r"tiled_copy: got int, needed a tiled copy, such as cute"):
        draw_tiled_copy(3, (4, 8))
    with pytest.raises(UsageError, match="tiled_mma: got Layout, needed a tiled MMA"):
        draw_tiled_mma(Layout(4), (16, 8, 16))
    with pytest.raises(UsageError, match=r"tile_mnk: got .*needed 3 positive integers"):
        draw_mma_from_layouts(Layout((32, 4)), Layout((32, 8)), Layout((32, 4)), (16, 8))


def test_a_copy_whose_trace_has_ended_is_refused_and_the_process_lives() -> None:
    kept: dict[str, Any] = {}

    @cute.jit
    def trace() -> None:
        kept["copy"], _ = tiled_copy("128 bits")
        kept["mma"] = cute.make_tiled_mma(
            cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))
        )

    trace()
    for draw in (lambda: draw_tiled_copy(kept["copy"], (8, 16)),
                 lambda: draw_tiled_mma(kept["mma"], (16, 8, 16)),
                 lambda: tidfrg_S(kept["copy"], (8, 16))):  # fmt: skip
        with pytest.raises(UsageError, match=r"has ended \(CuTe has freed it\)"):
            draw()


def test_few_threads_get_colours_that_differ() -> None:
    """The colours span the palette for any number of threads up to a warp."""
    tiler, layout_tv = make_layout_tv(Layout((2, 4), (4, 1)), Layout((1, 2), (2, 1)))
    tile = draw_tv_layout(layout_tv, tiler).svg
    assert all(thread_colour(t, 8) in tile for t in range(8))
    two = picture("pairs", {"x": [[("a", 0), ("b", 1)]]}).svg
    assert thread_colour(0, 2) in two and thread_colour(1, 2) in two
