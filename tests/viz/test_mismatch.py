"""The picture of mismatches: its cells, its words, its size."""

import io
import sys

import numpy as np
import pytest
import torch
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure

from forgekit.checking.compare import compare
from forgekit.errors import UsageError
from forgekit.viz import mismatch_map

EQUAL, WRONG, MISSING, NAN, BEYOND = 0, 1, 2, 3, -1


def cells(figure):
    """The codes of the picture's cells; -1 where it shows nothing."""
    return figure.axes[0].images[0].get_array().astype(int).filled(BEYOND)


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def spoiled(*shape):
    expected = torch.arange(1.0, np.prod(shape) + 1).reshape(shape)
    return expected.clone(), expected


def test_two_dimensions():
    actual, expected = spoiled(4, 6)
    actual[0, 1], actual[1, 2], actual[3, 5] = -5, 0, float("nan")
    figure = mismatch_map(actual, expected)
    assert isinstance(figure, Figure)
    wanted = np.zeros((4, 6), int)
    wanted[0, 1], wanted[1, 2], wanted[3, 5] = WRONG, MISSING, NAN
    assert np.array_equal(cells(figure), wanted)
    axes = figure.axes[0]
    assert axes.get_title() == "3 of 24 elements differ"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("column", "row")
    assert legend(figure) == ["equal", "wrong value", "0 or never written", "NaN"]


def test_row_0_is_at_the_top():
    actual, expected = spoiled(4, 6)
    bottom, top = mismatch_map(actual, expected).axes[0].get_ylim()
    assert (top, bottom) == (-0.5, 3.5)


def test_one_dimension_is_wrapped():
    actual, expected = spoiled(1000)
    actual[976:] = 0
    figure = mismatch_map(compare(actual, expected, name="y"))
    shown = cells(figure)
    assert shown.shape == (16, 64)
    assert figure.axes[0].get_xlabel() == "1-D tensor in rows of 64 elements"
    flat = shown.reshape(-1)
    assert (flat[:976] == EQUAL).all() and (flat[976:1000] == MISSING).all()
    assert (flat[1000:] == BEYOND).all()
    assert figure.axes[0].get_title() == "y: 24 of 1,000 elements differ"


@pytest.mark.parametrize(
    ("size", "tile", "rows"),
    [(7, None, (1, 7)), (64, None, (1, 64)), (65, None, (3, 32)), (100, 25, (4, 25))],
)
def test_width_of_rows(size, tile, rows):
    actual, expected = spoiled(size)
    assert cells(mismatch_map(actual, expected, tile=tile)).shape == rows


def test_leading_dimensions_are_merged():
    actual, expected = spoiled(3, 4, 5)
    actual[2, 1, 4] = -1
    figure = mismatch_map(actual, expected)
    assert cells(figure).shape == (12, 5) and cells(figure)[9, 4] == WRONG
    assert figure.axes[0].get_ylabel() == "row (leading dimensions merged)"


def test_zero_dimensional_and_empty():
    assert cells(mismatch_map(torch.tensor(1.0), torch.tensor(2.0))).tolist() == [[WRONG]]
    assert cells(mismatch_map(torch.zeros(0, 3), torch.zeros(0, 3))).tolist() == [[BEYOND]]


def test_large_tensor_keeps_every_mismatch():
    actual, expected = spoiled(4096, 4096)
    actual[100, 200] = -1
    actual[4095, 4095] = 0
    figure = mismatch_map(actual, expected)
    shown = cells(figure)
    assert shown.shape == (256, 256)
    assert (np.argwhere(shown) == [[6, 12], [255, 255]]).all()
    assert shown[6, 12] == WRONG and shown[255, 255] == MISSING
    assert figure.axes[0].get_xlabel() == "column; one cell is 16 x 16 elements"
    rings = [c for c in figure.axes[0].collections if isinstance(c, PathCollection)]
    assert len(rings) == 1 and len(rings[0].get_offsets()) == 2


def test_blocks_that_do_not_divide():
    actual, expected = spoiled(300, 1000)
    actual[299, 999] = -1
    shown = cells(mismatch_map(actual, expected))
    assert shown.shape == (150, 250) and shown[-1, -1] == WRONG and (shown != 0).sum() == 1


def test_long_one_dimension_in_blocks():
    actual, expected = spoiled(1_000_001)
    actual[-1] = 0
    shown = cells(mismatch_map(actual, expected))
    assert shown[shown > 0].tolist() == [MISSING]
    assert max(shown.shape) <= 256


def test_worst_code_wins_in_a_block():
    actual, expected = spoiled(512, 512)
    actual[0, 0], actual[0, 1], actual[1, 1] = -1, 0, float("nan")
    assert cells(mismatch_map(actual, expected))[0, 0] == NAN


def tile_borders(figure):
    return sorted(
        len(c.get_segments())
        for c in figure.axes[0].collections
        if isinstance(c, LineCollection) and c.get_color()[0][:3].tolist() == [0, 0, 0]
    )


def test_tile_borders():
    actual, expected = spoiled(64, 96)
    assert tile_borders(mismatch_map(actual, expected)) == []
    assert tile_borders(mismatch_map(actual, expected, tile=(32, 16))) == [1, 5]
    assert tile_borders(mismatch_map(compare(actual, expected, tile=(16, 48)))) == [1, 3]
    assert tile_borders(mismatch_map(compare(actual, expected, tile=(16, 48)), tile=(64, 32))) == [
        0,
        2,
    ]


def test_single_mismatch_reads_right():
    actual, expected = spoiled(2, 2)
    actual[0, 0] = 9
    assert mismatch_map(actual, expected).axes[0].get_title() == "1 of 4 elements differs"


def test_pictures_are_small_equal_and_transparent():
    actual, expected = spoiled(512, 512)
    actual[5:, 7] = 0

    def png():
        buffer = io.BytesIO()
        mismatch_map(actual, expected).savefig(buffer, format="png", metadata={"Software": None})
        return buffer.getvalue()

    assert png() == png()
    assert len(png()) < 40_000
    assert mismatch_map(actual, expected).get_facecolor()[3] == 0.0


def test_pyplot_is_left_alone():
    actual, expected = spoiled(4, 4)
    before = "matplotlib.pyplot" in sys.modules
    mismatch_map(actual, expected)
    assert ("matplotlib.pyplot" in sys.modules) == before


def test_one_tensor_is_not_enough():
    with pytest.raises(UsageError, match="actual and expected"):
        mismatch_map(torch.zeros(3))


def frames(figure):
    """(row, column, rows, columns) of the frames round tiles with mismatches."""
    found = [p for p in figure.axes[0].patches if p.get_gid() == "wrong tile"]
    return [
        (p.get_y() + 0.5, p.get_x() + 0.5, p.get_height(), p.get_width()) for p in found
    ]  # fmt: skip


def test_wrong_tiles_are_framed_and_counted():
    actual, expected = spoiled(64, 100)
    actual[40, 99] = actual[3, 40] = -1
    figure = mismatch_map(compare(actual, expected, tile=(32, 32)))
    assert frames(figure) == [(0, 32, 32, 32), (32, 96, 32, 4)]
    assert figure.axes[0].get_title() == "2 of 6,400 elements differ, in 2 of 8 tiles"
    assert legend(figure) == ["equal", "wrong value", "32 × 32 tile with mismatches"]
    assert frames(mismatch_map(actual, expected)) == []


def test_tiles_end_with_each_matrix():
    actual, expected = spoiled(2, 6, 8)
    actual[1, 0, 0] = -1
    figure = mismatch_map(compare(actual, expected, tile=(4, 4)))
    assert frames(figure) == [(6, 0, 4, 4)]
    assert figure.axes[0].get_title() == "1 of 96 elements differs, in 1 of 8 tiles"


def test_tiles_of_one_dimension_and_tiny_ones():
    actual, expected = spoiled(1000)
    actual[900:] = -1
    figure = mismatch_map(compare(actual, expected, tile=128))
    assert figure.axes[0].get_title().endswith("in 1 of 8 tiles") and frames(figure) == []
    actual, expected = spoiled(1000, 1025)
    actual[:, 1024] = -1
    figure = mismatch_map(compare(actual, expected, tile=(32, 32)))
    assert figure.axes[0].get_title().endswith("in 32 of 1,056 tiles") and frames(figure) == []
