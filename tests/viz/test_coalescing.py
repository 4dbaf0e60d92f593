"""Test pictures of coalescing: addresses, sectors, words, drawn items, and messages."""

import re
from itertools import pairwise

import numpy as np
import pytest
import torch

import forgekit as fk
from forgekit.errors import MemoryAccessError, SourceLine, UsageError

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

from forgekit.viz.palette import WRONG
from tests.profiling import global_kernels
from tests.viz import warp_kernels as kernels
from tests.viz.pictures import assert_legible, boxes, line_of, texts, virtual

LINE = line_of(kernels, "mY[col, row] = mX[row, col]")
GATHER = "gX[None, j]"


@pytest.fixture(scope="module")
def naive():
    x, y = fk.randn(16, 320), fk.full((320, 16), -1.0)
    return virtual(kernels.naive, x, y), x, y


def gathered(index, vector=1, dtype=torch.float32, offset=0, **options):
    """Return fk.coalescing's result for the load of a gather with these indices."""
    index = [*index] + [-1] * (64 - len(index))
    size = max(8192, (max(index) + 1) * vector)
    x = torch.ones(size + offset, dtype=dtype)[offset:]
    y, i = fk.empty(64 * vector, dtype=dtype), torch.tensor(index, dtype=torch.int32)
    sure = {"align": vector * x.itemsize, "divisible": {0: vector}} if vector > 1 else {}
    run = virtual(global_kernels.gather, fk.spec(x, **sure), i, fk.spec(y, **sure), vector, 64)
    return fk.coalescing(run, x, i, y, vector, 64, line=GATHER, **options)


# -- data -------------------------------------------------------------------------------------
def test_load_and_store_of_a_naive_transpose(naive):
    shown = fk.coalescing(*naive)
    load, store = shown.accesses
    assert (load.kind, load.tensor, load.source.line) == ("load", "mX", LINE)
    assert (store.kind, store.tensor) == ("store", "mY")
    assert (np.diff(load.address) == 4).all() and (np.diff(store.address) == 64).all()
    assert load.element[:2] == ("mX[0, 0]", "mX[0, 1]") and store.element[31] == "mY[31, 0]"
    assert load.active.all() and (load.width, load.asked_bytes) == (4, 128)
    assert [(c.sectors, c.ideal, c.lines) for c in shown.counts] == [(4, 4, 1), (32, 4, 16)]
    assert shown.error is None and shown.omitted == 0
    assert repr(shown) == (
        "coalescing of naive\n"
        f"  load of mX, line {LINE}: 4 sectors for 128 bytes requested (100 % used)\n"
        "    warp 0 of block 0, all 32 lanes, 4 bytes each; 4 bytes from lane to lane; "
        "1 line of 128 bytes\n"
        f"  store of mY, line {LINE}: 32 sectors for 128 bytes requested, 4 would do (12 % used)\n"
        "    warp 0 of block 0, all 32 lanes, 4 bytes each; 64 bytes from lane to lane; "
        "16 lines of 128 bytes"
    )


@pytest.mark.parametrize(
    ("index", "options", "counted", "pattern"),
    [
        (range(32), {}, (4, 4, 1), "4 bytes from lane to lane"),
        (range(32), {"offset": 3}, (5, 4, 2), "4 bytes from lane to lane"),
        ([5] * 32, {}, (1, 1, 1), "all at the same address"),
        ([7], {}, (1, 1, 1), ""),
        ([33 * i for i in range(32)], {}, (32, 4, 32), "132 bytes from lane to lane"),
        ([31 - i for i in range(32)], {}, (4, 4, 1), "−4 bytes from lane to lane"),
        ([3 * i if i % 2 else -1 for i in range(32)], {}, (12, 2, 3), "12 bytes from lane to lane"),
        ([0, 1, 5] * 10, {}, (1, 1, 1), "unequal steps from lane to lane"),
        (range(32), {"dtype": torch.float16}, (2, 2, 1), "2 bytes from lane to lane"),
        (range(32), {"vector": 8, "dtype": torch.float16}, (16, 16, 4),
         "16 bytes from lane to lane"),
        ([2 * i for i in range(32)], {"vector": 8, "dtype": torch.float16}, (32, 16, 8),
         "32 bytes from lane to lane"),
        (range(32), {"dtype": torch.int8}, (1, 1, 1), "1 bytes from lane to lane"),
    ],
)  # fmt: skip
def test_sectors_and_patterns(index, options, counted, pattern):
    shown = gathered(index, **options)
    (access,), (count,) = shown.accesses, shown.counts
    assert (count.sectors, count.ideal, count.lines) == counted
    assert access.pattern == pattern
    assert_legible(shown)


def test_lanes_that_take_no_part():
    access = gathered([3 * i if i < 20 else -1 for i in range(32)]).accesses[0]
    assert access.lanes.tolist() == [*range(20)]
    assert (access.address[20:] == -1).all() and access.element[20] == ""
    assert "lanes 0–19, 4 bytes each" in access.details
    assert "lanes 0, 2, … 30," in gathered([-(i % 2) for i in range(32)]).accesses[0].details
    assert "lane 7, 4 bytes;" in gathered([-1] * 7 + [3] + [-1] * 24).summary
    key = boxes(gathered([1, 2, 3]), "lane key")
    assert [bool(p.fill) for p in key] == [True] * 3 + [False] * 29


def test_block_warp_and_several_warps(naive):
    by_number = fk.coalescing(*naive, block=11, warp=2, kind="load")
    by_place = fk.coalescing(*naive, block=(1, 1), warp=2, kind="load")
    for shown in (by_number, by_place):
        assert shown.accesses[0].element[0] == "mX[10, 32]"
        assert (shown.accesses[0].block, shown.accesses[0].warp) == (11, 2)
    several = fk.coalescing(*naive, kind="load", warps=3)
    assert [a.element[0] for a in several.accesses] == ["mX[0, 0]", "mX[1, 0]", "mX[2, 0]"]
    assert several.headline == "naive: global-memory requests by 3 warps"
    many = fk.coalescing(*naive, warps=8)
    assert (len(many.accesses), many.omitted) == (6, 10)
    assert many.more[0].startswith("10 more accesses are not shown") and many.more[0] in repr(many)


def test_one_of_several_times():
    x, y = fk.randn(64, 64), fk.empty(64, 64)
    run = virtual(kernels.tiled, x, y, 1)
    first, third = (fk.coalescing(run, x, y, 1, kind="load", index=i).accesses[0] for i in (0, 2))
    assert (first.element[0], third.element[0]) == ("mX[0, 0]", "mX[16, 0]")
    assert (third.index, third.times) == (
        2,
        4,
    ) and "the 3rd of 4 accesses on this line" in third.details


def test_line_by_number_text_or_source(naive):
    source = fk.coalescing(*naive).accesses[0].source
    assert isinstance(source, SourceLine) and source.text == "mY[col, row] = mX[row, col]"
    for line in (LINE, "mX[row,col]", source):
        assert len(fk.coalescing(*naive, line=line).accesses) == 2


def test_asynchronous_copies_and_atomics():
    x, y = fk.randn(128), fk.empty(128)
    run = virtual(kernels.asynchronous, fk.spec(x, static=True, align=16), y)
    shown = fk.coalescing(run, x, y, kind="load")
    assert shown.accesses[0].place.startswith("asynchronous load of mX, line ")
    assert shown.counts[0].text == "16 sectors for 512 bytes requested (100 % used)"
    x, y = fk.randn(2, 64), fk.zeros(2)
    shown = fk.coalescing(virtual(kernels.reduce, x, y), x, y, kind="atomic", block=1, warp=1)
    assert shown.headline.endswith("1 sector for 4 bytes requested (12 % used)")
    assert_legible(shown)
    assert shown.accesses[0].element[0] == "mY[1]" and shown.accesses[0].lanes.tolist() == [0]


# -- what can go wrong ------------------------------------------------------------------------
def test_wrong_use(naive):
    run, x, y = naive
    for options, message in (
        ({"line": 3}, f"line: got 3, needed a line that performs a global access: {LINE}; choose"),
        ({"line": "sT["}, f"line: got 'sT[', needed a line that performs a global access: {LINE};"),
        ({"line": 3, "kind": "store"}, f"a line that performs a global store: {LINE};"),
        ({"line": 1.5}, "line: got 1.5, needed a line number, part of"),
        ({"kind": "read"}, "kind: got 'read', needed one of 'any', 'load', 'store', 'atomic'"),
        (
            {"kind": "atomic"},
            "a kind of access that block 0 performs in global memory: 'load', 'store'",
        ),
        ({"block": 20}, "block: got 20, needed 0 to 19"),
        ({"block": (10, 0)}, "coordinate within the grid (10, 2, 1)"),
        ({"block": "a"}, "block: got 'a', needed"),
        ({"warp": 8}, "warp: got 8, needed a warp of block 0 that performs this access: 0–7"),
        ({"warp": -1}, "warp: got -1, needed a whole number of 0 or more"),
        ({"warps": 0}, "warps: got 0, needed a whole number from 1 to 32"),
        ({"index": 1}, "index: got 1, needed 0 to 0"),
    ):
        with pytest.raises(UsageError, match=re.escape(message)):
            fk.coalescing(run, x, y, **options)
    with pytest.raises(UsageError, match=r"compile it first: .*fk\.coalescing\(run, x, y\)"):
        fk.coalescing(kernels.naive, x, y)
    with pytest.raises(UsageError, match="arguments of naive"):
        fk.coalescing(run, x)


def test_a_kernel_that_fails_and_what_stays(naive, capsys):
    x, y = fk.ones(40), fk.empty(40)
    run = virtual(kernels.overrun, x, y)
    shown = fk.coalescing(run, x, y)
    assert isinstance(shown.error, MemoryAccessError) and "mX[40]" in str(shown.error)
    assert [a.kind for a in shown.accesses] == ["load", "store"]
    assert shown.notes[0].startswith("stopped: Out of bounds: warp_kernels.py, line ")
    assert shown.notes[-1] == "The picture shows the accesses up to the error."
    assert "stopped: Out of bounds" in " ".join(texts(shown))
    nothing = fk.coalescing(run, x, y, block=1, line=12345)  # no thread executes this line
    assert nothing.accesses == () and nothing.headline == "overrun: no access to global memory"
    assert "stopped" in repr(nothing) and "up to the error" not in repr(nothing)
    assert_legible(nothing)
    assert_legible(shown)
    fk.coalescing(*naive)
    assert (naive[2] == -1).all()
    x, y = fk.ones(32), fk.full(32, -1.0)
    fk.coalescing(virtual(kernels.overrun, x, y), x, y)
    assert (y == -1).all() and "hello" not in capsys.readouterr().out


# -- the picture ------------------------------------------------------------------------------
def test_a_cell_for_each_lane_in_its_sector(naive):
    shown = fk.coalescing(*naive, kind="load")
    assert texts(shown, "title") == [
        f"load of mX, line {LINE}: 4 sectors for 128 bytes requested (100 % used)"
    ]
    assert texts(shown, "lane") == [str(i) for i in range(32)]
    assert [len(boxes(shown, g)) for g in ("used", "sector", "not touched")] == [32, 4, 0]
    left = [b.x for b in boxes(shown, "used")]
    assert left == sorted(left)
    assert_legible(shown)


def test_a_row_for_each_line_of_memory():
    shown = gathered([40 * i for i in range(32)])
    assert [len(boxes(shown, g)) for g in ("used", "sector", "not touched")] == [32, 32, 96]
    wasted = {(p.fill, p.stroke) for p in boxes(shown, "sector")}
    assert wasted == {("waste", WRONG)}  # orange is used only for waste
    assert not any(p.fill for p in boxes(shown, "not touched"))
    full = boxes(gathered(range(32)), "sector")
    assert len(full) == 4 and WRONG not in {p.stroke for p in full}
    assert texts(shown, "row label") == [f"mX[{40 * i}]" for i in range(32)]
    assert "+256" in texts(shown) and "+128" not in texts(shown)
    tops = [b.y for b in boxes(shown, "used")]
    assert tops == sorted(tops) and len(set(tops)) == 32
    index = np.random.default_rng(0).integers(0, 1 << 20, 32).tolist()
    shown = gathered(index)
    assert (
        shown.counts[0].sectors == 32
        and shown.accesses[0].pattern == "unequal steps from lane to lane"
    )
    assert_legible(shown)


def test_lines_in_between_are_left_out_of_a_strip(naive):
    run, x, _ = naive
    y = fk.empty(320, 16)
    shown = fk.coalescing(run, x, y)
    titles = texts(shown, "panel title")
    assert len(titles) == 2 and titles[1].endswith("32 sectors for 128 bytes requested, 4 would do "
                                                   "(12 % used)")  # fmt: skip
    assert any(t.endswith("8 more lines in between, not shown") for t in texts(shown))
    assert len(texts(shown, "row label")) == 1 + 8
    assert_legible(shown)


def test_names_of_lanes_that_share():
    assert texts(gathered([5] * 32), "lane") == ["×32"]
    assert texts(gathered(range(32), dtype=torch.float16), "lane") == ["0–15", "16–31"]
    pairs = gathered([i // 2 for i in range(32)], dtype=torch.float16)
    assert texts(pairs, "lane") == ["0–31"]
    assert_legible(pairs)


def test_few_lanes_differ_in_colour():
    """Four lanes span the whole colour scale, because the first four of 32 colours look alike."""
    fills = [bytes.fromhex(b.fill[1:]) for b in boxes(gathered([0, 1, 2, 3]), "used")[:4]]
    apart = [sum(abs(a - b) for a, b in zip(*two, strict=True)) for two in pairwise(fills)]
    assert len(fills) == 4 and min(apart) > 40
