"""Test a kernel's footprint: exact counts, the text, the picture, and no side effects."""

import re
import sys

import numpy as np
import pytest
import torch

import forgekit as fk
from forgekit.errors import ArgumentMismatchError, LaunchError, MemoryAccessError, UsageError

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

import cutlass
import cutlass.cute as cute

from forgekit.viz import Footprint, mismatch_map
from forgekit.viz.palette import UNTOUCHED, WRONG, block_colour, mix
from forgekit.viz.scene import Cell, Line
from tests.vgpu.bench import kernels as benched
from tests.viz import warp_kernels as kernels
from tests.viz.pictures import assert_legible, boxes, items, line_of, pixels, texts


@cute.kernel
def copy_kernel(mX: cute.Tensor, mY: cute.Tensor, last: cutlass.Int32, block: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * block + tidx
    if i < last:
        mY[i] = mX[i]


@cute.jit
def copy(mX: cute.Tensor, mY: cute.Tensor, last: cutlass.Int32, block: cutlass.Constexpr):
    blocks = cute.ceil_div(mX.shape[0], block)
    copy_kernel(mX, mY, last, block).launch(grid=(blocks, 1, 1), block=(block, 1, 1))


@cute.kernel
def transpose_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    column, row = bx * 4 + tx, by * 4 + ty
    if row < mX.shape[0]:
        if column < mX.shape[1]:
            mY[column, row] = mX[row, column]


@cute.jit
def transpose(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], 4), cute.ceil_div(mX.shape[0], 4), 1)
    transpose_kernel(mX, mY).launch(grid=grid, block=(4, 4, 1))


@cute.kernel
def same_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    cute.printf("hello from %d", tidx)
    mY[tidx // 2] = mX[0]


@cute.jit
def same(mX: cute.Tensor, mY: cute.Tensor):
    same_kernel(mX, mY).launch(grid=(1, 1, 1), block=(8, 1, 1))


@cute.kernel
def increment_kernel(mX: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    mX[tidx] = mX[tidx] + 1


@cute.jit
def twice(mX: cute.Tensor):
    increment_kernel(mX).launch(grid=(1, 1, 1), block=(4, 1, 1))
    increment_kernel(mX).launch(grid=(1, 1, 1), block=(8, 1, 1))


def footprint(fn, *args, **options):
    return fk.footprint(fk.compile(fn, *args, device="virtual"), *args, **options)


def copied(n, block, last=None, **options):
    x, y = fk.arange(n, device="virtual"), fk.empty(n, device="virtual")
    return footprint(copy, x, y, n if last is None else last, block, **options)


def counts(shown, name, column="count"):
    return shown.touched[name][column].tolist()


def places(shown, panel):
    """Map (column, row) to a panel's cells."""
    found = items(shown, Cell, panel)
    return {(int(dict(c.data)["column"]), int(dict(c.data)["row"])): c for c in found}


def labels(shown, panel="mX"):
    """Map (column, row) to the labels of cells."""
    return {at: "\n".join(c.lines) for at, c in places(shown, panel).items() if c.lines}


def fills(shown, panel="mX"):
    """Map (column, row) to the colours of cells."""
    return {at: c.fill for at, c in places(shown, panel).items()}


# -- touched elements, and their picture ----------------------------------------------------------
def test_copy_by_one_block():
    shown = copied(8, 8)
    for name, column in (("mX", "loads"), ("mY", "stores")):
        assert counts(shown, name, "thread") == [*range(8)]
        assert counts(shown, name, "block") == [0] * 8
        assert counts(shown, name, column) == counts(shown, name) == [1] * 8
        others = {"loads", "stores", "atomics"} - {column}
        assert not any(sum(counts(shown, name, c)) for c in others)
    assert shown.error is None and shown.by == "thread" and shown.threads == {"mX": 8, "mY": 8}
    assert repr(shown) == (
        "footprint of copy: 1 block of 8 threads\n"
        "  mX: 8 of 8 elements read, each once, by 8 threads\n"
        "  mY: 8 of 8 elements written, each once, by 8 threads"
    )
    for panel in ("mX", "mY"):
        assert labels(shown, panel) == {(i, 0): str(i) for i in range(8)}
        assert len(set(fills(shown, panel).values())) == 8
    said = texts(shown)
    assert_legible(shown)
    assert {"copy: 1 block of 8 threads", "mX (8), read", "mY (8), written",
            "8 of 8 elements read, each once, by 8 threads",
            "in each cell: thread"} <= set(said)  # fmt: skip
    assert "untouched" not in said


def test_copy_by_several_blocks_with_a_predicate():
    shown = copied(1000, 128)
    element = np.arange(1000)
    for found in shown.touched.values():
        assert (found["block"] == element // 128).all() and (found["thread"] == element % 128).all()
        assert (found["count"] == 1).all()
    assert (shown.by, shown.grid, shown.block) == ("block", (8, 1, 1), (128, 1, 1))
    words = "1,000 of 1,000 elements read, each once, by 1,000 threads; 24 threads accessed none"
    assert shown.describe("mX") == words and words in texts(shown)
    assert pixels(shown, "mX").shape == (16, 64)  # a map without labels, coloured by block
    flat = pixels(shown, "mX").reshape(-1)
    assert None not in flat[:1000] and set(flat[1000:]) == {None}
    colours = [*flat[:1000:128]]
    assert len(set(colours)) == 8
    assert colours == [key.fill for key in boxes(shown, "key")]
    assert_legible(shown)


def test_by_thread_a_map_has_a_scale():
    shown = copied(1000, 128, by="thread")
    assert "thread: 0 to 127" in texts(shown, "legend")
    flat = pixels(shown, "mX").reshape(-1)
    assert flat[0] == flat[128] != flat[127]


def test_untouched_elements():
    shown = copied(16, 16, last=8)
    assert counts(shown, "mY") == [1] * 8 + [0] * 8
    assert counts(shown, "mY", "thread")[6:10] == [6, 7, -1, -1]
    written = "8 of 16 elements written, each once, by 8 threads; 8 threads accessed none"
    assert shown.describe("mY") == written and "untouched" in texts(shown)
    flat = pixels(copied(100, 128, last=50), "mY").reshape(-1)[:100]
    assert UNTOUCHED not in flat[:50] and set(flat[50:]) == {UNTOUCHED}


def test_one_missing_element_of_many_is_ringed():
    shown = copied(300_000, 256, last=299_999)
    colours = pixels(shown, "mY")
    assert max(colours.shape) <= 256
    assert len(boxes(shown, "ring")) == 2  # one for the counts of mX and one for those of mY
    whole = {block_colour(k) for k in range(8)}
    partly = [c for c in colours.reshape(-1) if c is not None and c not in whole]
    assert partly == [mix(block_colour(3), UNTOUCHED, 0.5)]  # block 1,171
    assert "block: colours repeat after 8" in texts(shown, "legend")


def test_transpose():
    shown = footprint(transpose, fk.randn(6, 10), fk.empty(10, 6))
    row, column = np.indices((6, 10))
    x, y = shown.touched["mX"], shown.touched["mY"]
    assert (x["thread"] == row % 4 * 4 + column % 4).all()
    assert (x["block"] == row // 4 * 3 + column // 4).all()
    for key in ("thread", "block", "count"):
        assert (y[key] == x[key].T).all()
    assert shown.headline == "transpose: 6 blocks (3 × 2) of 16 threads (4 × 4)"
    read, written = labels(shown, "mX"), labels(shown, "mY")
    assert read[0, 0] == "0,0" and read[9, 4] == "5,1" and read[5, 2] == "1,9"
    assert written == {(row, column): text for (column, row), text in read.items()}
    colours = fills(shown)
    assert colours[0, 0] == colours[3, 3] != colours[4, 0]
    assert "in each cell: block (x + 3 y), thread (x + 4 y)" in texts(shown)
    assert texts(shown, "legend") == [f"block {i}" for i in range(6)]


def test_elements_touched_more_than_once(capsys):
    shown = footprint(same, fk.arange(8), fk.empty(8))
    assert counts(shown, "mX", "loads") == [8] + [0] * 7
    assert counts(shown, "mX", "thread") == [0] + [-1] * 7
    assert counts(shown, "mY", "stores") == [2] * 4 + [0] * 4
    assert counts(shown, "mY", "thread") == [0, 2, 4, 6] + [-1] * 4
    assert shown.describe("mX") == "1 of 8 elements read, 8 times, by 8 threads"
    assert shown.describe("mY") == "4 of 8 elements written, each twice, by 8 threads"
    assert "hello" not in capsys.readouterr().out
    assert labels(shown, "mX") == {(0, 0): "0\n×8"}
    assert labels(shown, "mY") == {(i, 0): f"{2 * i}\n×2" for i in range(4)}
    assert [*fills(shown, "mY").values()].count(UNTOUCHED) == 4
    assert [b.stroke for b in boxes(shown, "clash")] == [WRONG] * 4  # counts of mY alone
    assert {"untouched", "written more than once"} <= set(texts(shown))


def test_atomics():
    x, y = torch.zeros(64, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    shown = footprint(kernels.count, x, y)
    assert counts(shown, "mY", "atomics") == [32] and y.item() == 0
    assert shown.describe("mY") == (
        "1 of 1 element updated, 32 times, by 32 threads; 32 threads accessed none"
    )
    assert counts(footprint(kernels.count, x, y, kind="store"), "mY") == [32]
    assert counts(footprint(kernels.count, x, y, kind="load"), "mY") == [0]


def test_several_launches_in_place():
    shown = footprint(twice, fk.zeros(8))
    assert counts(shown, "mX", "loads") == counts(shown, "mX", "stores") == [2] * 4 + [1] * 4
    assert shown.headline == "twice: 1 block of 8 threads, the largest of 2 launches"
    assert shown.describe("mX") == (
        "8 of 8 elements read, up to twice; 8 of 8 written, up to twice, by 12 threads"
    )


def test_kind_and_tensor():
    loads, stores = (copied(8, 8, kind=kind) for kind in ("load", "store"))
    assert [sum(counts(s, name)) for s in (loads, stores) for name in ("mX", "mY")] == [8, 0, 0, 8]
    assert loads.describe("mY") == "0 of 8 elements read"
    assert list(copied(8, 8, tensor="mY").touched) == ["mY"]


def test_by_warp():
    shown = copied(256, 128, by="warp")
    assert (shown.touched["mX"]["warp"] == np.arange(256) % 128 // 32).all()
    assert texts(shown, "legend") == [f"warp {i}" for i in range(4)]
    flat = pixels(shown, "mX").reshape(-1)
    assert len({*flat}) == 4 and flat[0] == flat[128]
    assert counts(copied(8, 16, last=4, by="warp"), "mY", "warp") == [0] * 4 + [-1] * 4
    many = copied(512, 512, by="warp")  # more warps than hues, so the picture has numbers
    assert "warp of its block: colours repeat after 8" in texts(many, "legend")
    assert len({*pixels(many, "mX").reshape(-1)}) == 8
    assert texts(many, "number", "mX") == [str(warp) for warp in range(16)]
    assert_legible(many)


def test_by_count():
    shown = footprint(kernels.cube, fk.randn(2, 3, 20), fk.empty(2, 3, 20), by="count")
    assert shown.touched["mX"]["loads"][0, 0].tolist() == [21] + [1] * 19
    assert {"once", "21 times"} <= set(texts(shown))
    read, written = pixels(shown, "mX"), pixels(shown, "mY")
    assert read[0, 0] != read[0, 1] == written[0, 0]
    many = footprint(kernels.triangle, fk.arange(100), fk.empty(100), by="count")
    assert counts(many, "mX") == [*range(100, 0, -1)]
    assert "times read or written: 1 to 100" in texts(many)


def test_one_line():
    x, y = fk.randn(64, 64), fk.empty(64, 64)
    run = fk.compile(kernels.tiled, x, y, 1, device="virtual")
    number = line_of(kernels, "= sT[tx, ty + ROWS * k]")
    for line in (number, "sT[tx,ty + ROWS"):
        shown = fk.footprint(run, x, y, 1, line=line)
        assert list(shown.touched) == ["mY"] and shown.lines[0].line == number
        assert (shown.touched["mY"]["stores"] == 1).all()
        assert shown.headline.startswith(f"tiled, line {number} only: 4 blocks")
    both = fk.footprint(run, x, y, 1, line="tx", tensor="mX")
    assert list(both.touched) == ["mX"] and len(both.lines) == 2
    other = line_of(kernels, "sT[ty + ROWS * k, tx] =")
    message = f"line: got 1, needed a line that performs a global access: {other}, {number}; choose"
    with pytest.raises(UsageError, match=re.escape(message)):
        fk.footprint(run, x, y, 1, line=1)


@pytest.mark.parametrize("shape", [(2, 3, 5), (3, 8, 20)])
def test_three_modes(shape):
    shown = footprint(kernels.cube, fk.randn(*shape), fk.empty(*shape))
    assert texts(shown, "axis", "mX") == ["column k; in row i, j"]
    ticks = [t for t in texts(shown, "tick", "mX") if ", " in t]
    assert ticks[0] == "0, 0" and ticks[-1].startswith(f"{shape[0] - 1}, ")
    ends = [line for line in items(shown, Line, "mX") if line.sort == "matrix"]
    assert len(ends) == shape[0] - 1
    assert_legible(shown)


@pytest.mark.parametrize(
    ("shape", "panel", "labelled"),
    [((16,), (1, 16), True), ((17,), (2, 16), True), ((64,), (4, 16), True),
     ((65,), (3, 32), False), ((16, 16), (16, 16), True), ((16, 17), (16, 17), False),
     ((2, 3, 4), (6, 4), True)],
)  # fmt: skip
def test_rows_and_columns(shape, panel, labelled):
    from forgekit.viz.runs.footprint_figure import _panel

    found = _panel("x", shape)
    assert ((found.rows, found.columns), found.labelled) == (panel, labelled)


# -- tensors of all sorts -----------------------------------------------------------------------
def test_arguments_that_are_not_contiguous():
    base = torch.arange(48.0).reshape(6, 8)
    x, y = base.T[::2], torch.full((6, 8), -1.0)[:, ::2]  # (4, 6) and (6, 4)
    before = base.clone()
    shown = footprint(transpose, x, y)
    assert shown.error is None
    for name, shape in (("mX", (4, 6)), ("mY", (6, 4))):
        assert shown.touched[name]["count"].shape == shape
        assert (shown.touched[name]["count"] == 1).all()
    row, column = np.indices((4, 6))
    assert (shown.touched["mX"]["thread"] == row % 4 * 4 + column % 4).all()
    assert torch.equal(base, before) and (y == -1).all()  # the caller's tensors do not change


def test_a_large_tensor_costs_little_memory():
    """With 1 Mi touched elements per tensor, few int64 copies of the data exist, and none for
    pictures.
    """
    import tracemalloc

    x, y = fk.empty(1024, 1024), fk.empty(1024, 1024)
    run = fk.compile(benched.transpose, x, y, device="virtual")
    tracemalloc.start()
    try:
        shown = fk.footprint(run, x, y, by="warp")
        shown._repr_mimebundle_()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert shown.touched["mX"]["loads"].min() == shown.touched["mY"]["stores"].min() == 1
    assert peak < 100 * x.numel()  # in bytes; measured: 79 per element, formerly 249


def test_a_tensor_too_large_for_a_picture_is_refused_before_the_run():
    x, y = torch.zeros(1).expand(2**30), torch.zeros(8)
    with pytest.raises(UsageError, match=r"tensor mX: got 1,073,741,824 elements, needed at most"):
        footprint(copy, x, y, 1, 128)


# -- what can go wrong --------------------------------------------------------------------------
def test_out_of_bounds_is_kept_and_shown():
    shown = copied(1000, 128, last=1024)
    assert isinstance(shown.error, MemoryAccessError) and "mX[1000]" in str(shown.error)
    assert shown.error.__traceback__ is None
    for name in ("mX", "mY"):  # elements that the blocks before the wrong one touch
        assert counts(shown, name) == [1] * 896 + [0] * 104
    notes = shown.notes
    assert re.fullmatch(
        r"stopped: Out of bounds: test_footprint.py, line \d+: mY\[i\] = mX\[i\]", notes[0]
    )
    assert notes[1].startswith("thread (104, 0, 0) of block (7, 0, 0) reads mX[1000]")
    assert notes[2] == "The picture shows the accesses up to the error."
    assert all(f"\n  {note}" in repr(shown) for note in notes)
    said = " ".join(" ".join(texts(shown)).split())
    assert "mX[1000]" in said and "896 of 1,000 elements read" in said
    shown = footprint(copy, fk.arange(8), fk.empty(4), 8, 8)  # within one block
    assert "mY[4]" in str(shown.error)
    assert sum(counts(shown, "mX", "loads")) == 8 and sum(counts(shown, "mY")) == 0
    assert shown.verb("mY") == "untouched"


def test_no_elements():
    shown = copied(0, 128)
    assert isinstance(shown.error, LaunchError)
    assert shown.touched["mX"]["count"].shape == (0,)
    assert (
        shown.headline == "copy: no kernel was launched" and shown.describe("mX") == "no elements"
    )
    assert "no elements" in texts(shown) and "up to the error" not in repr(shown)
    shown = footprint(copy, fk.arange(8), fk.empty(0), 0, 8)
    assert shown.error is None and shown.describe("mX") == "0 of 8 elements touched"


def test_wrong_use():
    x, y = fk.arange(8), fk.empty(8)
    run = fk.compile(copy, x, y, 8, 8, device="virtual")
    with pytest.raises(UsageError, match="a compiled kernel; compile it first"):
        fk.footprint(copy, x, y, 8)
    for wrong in ({"by": "lane"}, {"kind": "loads"}, {"tensor": "mZ"}):
        ((name, value),) = wrong.items()
        with pytest.raises(UsageError, match=f"{name}: got '{value}', needed one of"):
            fk.footprint(run, x, y, 8, **wrong)
    with pytest.raises(ArgumentMismatchError, match="arguments of copy"):
        fk.footprint(run, x)
    with pytest.raises(ArgumentMismatchError, match="dtype"):
        fk.footprint(run, x.double(), y, 8)


# -- notebooks ----------------------------------------------------------------------------------
def test_what_a_notebook_shows():
    before = "matplotlib.pyplot" in sys.modules
    shown = copied(8, 8)
    assert isinstance(shown, fk.Footprint) and fk.Footprint is Footprint
    bundle = shown._repr_mimebundle_()
    assert bundle["text/plain"] == shown.summary == repr(shown)
    (alt,) = re.findall(r'<img alt="([^"]*)"', bundle["text/html"])
    assert "8 of 8 elements written, each once" in alt and "\n" not in alt
    assert len(bundle["text/html"]) < 40_000 and bundle == copied(8, 8)._repr_mimebundle_()
    mismatch_map(np.zeros(4), np.ones(4))
    assert ("matplotlib.pyplot" in sys.modules) == before


@pytest.mark.gpu
def test_a_kernel_of_the_gpu_is_shown_from_copies():
    x, y = fk.arange(8, device="gpu"), fk.full(8, -3.0, device="gpu")
    shown = fk.footprint(fk.compile(copy, x, y, 8, 8, device="gpu"), x, y, 8)
    assert shown.error is None and counts(shown, "mY") == [1] * 8
    assert y.tolist() == [-3.0] * 8
