"""Test the picture of mismatches: its cells, text, tiles and size."""

import numpy as np
import pytest
import torch

from forgekit.checking.compare import compare
from forgekit.errors import UsageError
from forgekit.viz import mismatch_map
from forgekit.viz.palette import UNTOUCHED
from forgekit.viz.palette import WRONG as ORANGE
from forgekit.viz.scene import Pixels
from tests.viz.pictures import assert_legible, boxes, items, pixels, texts

EQUAL, WRONG, MISSING, NAN, BEYOND = 0, 1, 2, 3, -1


def spoiled(*shape, **places):
    """Return actual and expected tensors that differ at the given places (wrong, missing, nan)."""
    expected = torch.arange(1.0, np.prod(shape) + 1).reshape(shape)
    actual = expected.clone()
    for name, value in (("wrong", -5.0), ("missing", 0.0), ("nan", float("nan"))):
        for place in places.get(name, ()):
            actual[place] = value
    return actual, expected


COLOURS = {"quiet": EQUAL, ORANGE: WRONG, UNTOUCHED: MISSING, "nan": NAN, None: BEYOND}


def cells(shown):
    """Return the codes of the picture's cells, with -1 for empty positions."""
    return np.array([[COLOURS[c] for c in row] for row in pixels(shown)])


def title(shown):
    return " ".join(texts(shown, "title"))


def test_two_dimensions():
    shown = mismatch_map(*spoiled(4, 6, wrong=[(0, 1)], missing=[(1, 2)], nan=[(3, 5)]))
    wanted = np.zeros((4, 6), int)
    wanted[0, 1], wanted[1, 2], wanted[3, 5] = WRONG, MISSING, NAN
    assert np.array_equal(cells(shown), wanted)
    assert title(shown) == "3 of 24 elements differ"
    assert texts(shown, "axis") == ["column", "row"]
    assert texts(shown, "legend") == ["equal", "wrong value", "0 or never written", "NaN"]
    assert title(mismatch_map(*spoiled(2, 2, wrong=[(0, 0)]))) == "1 of 4 elements differs"


def test_one_dimension_is_wrapped():
    shown = mismatch_map(compare(*spoiled(1000, missing=range(976, 1000)), name="y"))
    assert cells(shown).shape == (16, 64)
    assert texts(shown, "axis")[0] == "1-D tensor in rows of 64 elements"
    flat = cells(shown).reshape(-1)
    assert (flat[:976] == EQUAL).all() and (flat[976:1000] == MISSING).all()
    assert (flat[1000:] == BEYOND).all()
    assert title(shown) == "y: 24 of 1,000 elements differ"


@pytest.mark.parametrize(
    ("shape", "tile", "picture"),
    [((7,), None, (1, 7)), ((64,), None, (1, 64)), ((65,), None, (3, 32)), ((100,), 25, (4, 25)),
     ((), None, (1, 1)), ((0, 3), None, (1, 1)), ((3, 4, 5), None, (12, 5))],
)  # fmt: skip
def test_rows_and_columns(shape, tile, picture):
    shown = mismatch_map(*spoiled(*shape), tile=tile)
    assert cells(shown).shape == picture
    if shape == (0, 3):
        assert cells(shown).tolist() == [[BEYOND]]


def test_leading_dimensions_are_merged_and_a_scalar_is_a_cell():
    shown = mismatch_map(*spoiled(3, 4, 5, wrong=[(2, 1, 4)]))
    assert texts(shown, "axis")[1] == "row (leading dimensions merged)"
    assert cells(shown)[9, 4] == WRONG
    assert cells(mismatch_map(*spoiled(wrong=[()]))).tolist() == [[WRONG]]


def test_large_tensors_keep_every_mismatch():
    places = {"wrong": [(100, 200)], "missing": [(1023, 1023)]}
    shown = mismatch_map(*spoiled(1024, 1024, **places))
    found = cells(shown)
    assert found.shape == (256, 256)
    assert (np.argwhere(found) == [[25, 50], [255, 255]]).all()
    assert found[25, 50] == WRONG and found[255, 255] == MISSING
    assert texts(shown, "axis")[0] == "column; one cell is 4 × 4 elements"
    assert len(boxes(shown, "ring")) == 2
    # The cells do not divide the tensor evenly.
    shown = cells(mismatch_map(*spoiled(300, 1000, wrong=[(299, 999)])))
    assert shown.shape == (150, 250) and shown[-1, -1] == WRONG and (shown != 0).sum() == 1
    shown = cells(mismatch_map(*spoiled(1_000_001, missing=[-1])))
    assert shown[shown > 0].tolist() == [MISSING] and max(shown.shape) <= 256


def test_the_worst_of_a_block_wins():
    places = {"wrong": [(0, 0)], "missing": [(0, 1)], "nan": [(1, 1)]}
    assert cells(mismatch_map(*spoiled(512, 512, **places)))[0, 0] == NAN


def borders(shown):
    """Return the numbers of horizontal and of vertical tile borders, or an empty result without
    borders.
    """
    found = boxes(shown, "tile")
    return sorted([sum(b.y1 == b.y2 for b in found), sum(b.x1 == b.x2 for b in found)])


def frames(shown):
    """Return (row, column, rows, columns) for each frame around a tile with mismatches."""
    (area,) = items(shown, Pixels)
    cell = area.height / len(area.numbers), area.width / area.numbers.shape[1]
    return [((f.y - area.y) / cell[0], (f.x - area.x) / cell[1], f.height / cell[0],
             f.width / cell[1]) for f in boxes(shown, "wrong tile")]  # fmt: skip


@pytest.mark.parametrize(
    ("reported", "tile", "wanted"),
    [(None, None, [0, 0]), (None, (32, 16), [1, 5]), ((16, 48), None, [1, 3]),
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
    shown = mismatch_map(compare(*spoiled(*shape, wrong=wrong), tile=tile))
    assert title(shown) == words
    assert np.array(frames(shown)) == pytest.approx(np.array(framed))
    assert_legible(shown)
    if tile == (32, 32):
        assert texts(shown, "legend") == ["equal", "wrong value", "32 × 32 tile with mismatches"]


def test_pictures_are_small_and_equal():
    one, other = (mismatch_map(*spoiled(512, 512, missing=[(slice(5, None), 7)])) for _ in "ab")
    assert one.svg == other.svg and len(one.svg) < 10_000
    assert one.png == other.png and len(one.png) < 40_000


def test_one_tensor_is_not_enough():
    with pytest.raises(UsageError, match="actual and expected"):
        mismatch_map(torch.zeros(3))
