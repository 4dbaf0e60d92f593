"""The picture of mismatches: its cells, its words, its tiles, its size."""

import io

import numpy as np
import pytest
import torch
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure

from forgekit.checking.compare import compare
from forgekit.errors import UsageError
from forgekit.viz import mismatch_map

EQUAL, WRONG, MISSING, NAN, BEYOND = 0, 1, 2, 3, -1


def spoiled(*shape, **places):
    """Tensors that differ at the places (wrong, missing, nan), as `compare` takes them."""
    expected = torch.arange(1.0, np.prod(shape) + 1).reshape(shape)
    actual = expected.clone()
    for name, value in (("wrong", -5.0), ("missing", 0.0), ("nan", float("nan"))):
        for place in places.get(name, ()):
            actual[place] = value
    return actual, expected


def cells(figure):
    """The codes of the picture's cells; -1 where it shows nothing."""
    return figure.axes[0].images[0].get_array().astype(int).filled(BEYOND)


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def title(figure):
    return figure.axes[0].get_title()


def test_two_dimensions():
    figure = mismatch_map(*spoiled(4, 6, wrong=[(0, 1)], missing=[(1, 2)], nan=[(3, 5)]))
    assert isinstance(figure, Figure)
    wanted = np.zeros((4, 6), int)
    wanted[0, 1], wanted[1, 2], wanted[3, 5] = WRONG, MISSING, NAN
    assert np.array_equal(cells(figure), wanted)
    axes = figure.axes[0]
    assert axes.get_ylim() == (3.5, -0.5)  # row 0 is at the top
    assert title(figure) == "3 of 24 elements differ"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("column", "row")
    assert legend(figure) == ["equal", "wrong value", "0 or never written", "NaN"]
    assert title(mismatch_map(*spoiled(2, 2, wrong=[(0, 0)]))) == "1 of 4 elements differs"


def test_one_dimension_is_wrapped():
    figure = mismatch_map(compare(*spoiled(1000, missing=range(976, 1000)), name="y"))
    shown = cells(figure)
    assert shown.shape == (16, 64)
    assert figure.axes[0].get_xlabel() == "1-D tensor in rows of 64 elements"
    flat = shown.reshape(-1)
    assert (flat[:976] == EQUAL).all() and (flat[976:1000] == MISSING).all()
    assert (flat[1000:] == BEYOND).all()
    assert title(figure) == "y: 24 of 1,000 elements differ"


@pytest.mark.parametrize(
    ("shape", "tile", "picture"),
    [((7,), None, (1, 7)), ((64,), None, (1, 64)), ((65,), None, (3, 32)), ((100,), 25, (4, 25)),
     ((), None, (1, 1)), ((0, 3), None, (1, 1)), ((3, 4, 5), None, (12, 5))],
)  # fmt: skip
def test_rows_and_columns(shape, tile, picture):
    figure = mismatch_map(*spoiled(*shape), tile=tile)
    assert cells(figure).shape == picture
    if shape == (3, 4, 5):
        assert figure.axes[0].get_ylabel() == "row (leading dimensions merged)"
        assert cells(mismatch_map(*spoiled(3, 4, 5, wrong=[(2, 1, 4)])))[9, 4] == WRONG
    if shape == (0, 3):
        assert cells(figure).tolist() == [[BEYOND]]
    if shape == ():
        assert cells(mismatch_map(*spoiled(wrong=[()]))).tolist() == [[WRONG]]


def test_large_tensors_keep_every_mismatch():
    places = {"wrong": [(100, 200)], "missing": [(4095, 4095)]}
    figure = mismatch_map(*spoiled(4096, 4096, **places))
    shown = cells(figure)
    assert shown.shape == (256, 256)
    assert (np.argwhere(shown) == [[6, 12], [255, 255]]).all()
    assert shown[6, 12] == WRONG and shown[255, 255] == MISSING
    assert figure.axes[0].get_xlabel() == "column; one cell is 16 x 16 elements"
    (rings,) = (c for c in figure.axes[0].collections if isinstance(c, PathCollection))
    assert len(rings.get_offsets()) == 2
    shown = cells(mismatch_map(*spoiled(300, 1000, wrong=[(299, 999)])))  # blocks do not divide
    assert shown.shape == (150, 250) and shown[-1, -1] == WRONG and (shown != 0).sum() == 1
    shown = cells(mismatch_map(*spoiled(1_000_001, missing=[-1])))
    assert shown[shown > 0].tolist() == [MISSING] and max(shown.shape) <= 256


def test_the_worst_of_a_block_wins():
    places = {"wrong": [(0, 0)], "missing": [(0, 1)], "nan": [(1, 1)]}
    assert cells(mismatch_map(*spoiled(512, 512, **places)))[0, 0] == NAN


def borders(figure):
    """How many borders of tiles are drawn across, and down; empty if none are meant."""
    return sorted(
        len(c.get_segments())
        for c in figure.axes[0].collections
        if isinstance(c, LineCollection) and c.get_color()[0][:3].tolist() == [0, 0, 0]
    )


def frames(figure):
    """(row, column, rows, columns) of the frames round tiles with mismatches."""
    found = [p for p in figure.axes[0].patches if p.get_gid() == "wrong tile"]
    return [(p.get_y() + 0.5, p.get_x() + 0.5, p.get_height(), p.get_width()) for p in found]


@pytest.mark.parametrize(
    ("reported", "tile", "wanted"),
    [(None, None, []), (None, (32, 16), [1, 5]), ((16, 48), None, [1, 3]),
     ((16, 48), (64, 32), [0, 2])],
)  # fmt: skip
def test_borders_of_tiles(reported, tile, wanted):
    assert borders(mismatch_map(compare(*spoiled(64, 96), tile=reported), tile=tile)) == wanted


@pytest.mark.parametrize(
    ("shape", "tile", "wrong", "words", "framed"),
    [
        ((64, 100), (32, 32), [(40, 99), (3, 40)], "2 of 6,400 elements differ, in 2 of 8 tiles",
         [(0, 32, 32, 32), (32, 96, 32, 4)]),
        ((2, 6, 8), (4, 4), [(1, 0, 0)], "1 of 96 elements differs, in 1 of 8 tiles",
         [(6, 0, 4, 4)]),  # tiles end with each matrix
        ((1000,), 128, [slice(900, None)], "100 of 1,000 elements differ, in 1 of 8 tiles", []),
        ((1000, 1025), (32, 32), [(slice(None), 1024)],
         "1,000 of 1,025,000 elements differ, in 32 of 1,056 tiles", []),  # too small for frames
        ((64, 100), None, [(40, 99)], "1 of 6,400 elements differs", []),
    ],
)  # fmt: skip
def test_wrong_tiles_are_framed_and_counted(shape, tile, wrong, words, framed):
    figure = mismatch_map(compare(*spoiled(*shape, wrong=wrong), tile=tile))
    assert title(figure) == words and frames(figure) == framed
    if tile == (32, 32):
        assert legend(figure) == ["equal", "wrong value", "32 × 32 tile with mismatches"]


def test_pictures_are_small_equal_and_transparent():
    def png():
        buffer = io.BytesIO()
        figure = mismatch_map(*spoiled(512, 512, missing=[(slice(5, None), 7)]))
        figure.savefig(buffer, format="png", metadata={"Software": None})
        assert figure.get_facecolor()[3] == 0.0
        return buffer.getvalue()

    assert png() == png() and len(png()) < 40_000


def test_one_tensor_is_not_enough():
    with pytest.raises(UsageError, match="actual and expected"):
        mismatch_map(torch.zeros(3))
