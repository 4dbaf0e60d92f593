"""Test exercises on offsets and layouts: each wrong answer in a list gets an explanation."""

from __future__ import annotations

import numpy as np
import pytest

from forgekit.course import load_part
from forgekit.errors import UsageError
from forgekit.layouts import ComposedLayout, Layout, Swizzle
from forgekit.lessons.exercise import exercise

offsets_by_hand = load_part(exercise("week0/offsets_by_hand").folder, "exercise")
_mistakes = load_part(exercise("week0/offsets_by_hand").folder.parent, "layout_mistakes")
about_layout, about_offsets = _mistakes.about_layout, _mistakes.about_offsets

# -- offsets ----------------------------------------------------------------------------------
LAYOUT = offsets_by_hand.LAYOUT
RIGHT = {(1, 0): 2, (1, (0, 2)): 14, (2, 3): 11, (0, 6): 18, 7: 8}

FROM_THE_RIGHT = "the leftmost part is the fastest, but you began on the right"
NOT_SPLIT = "an index beyond the first part continues in the second part, with its stride"
INDEX = "a linear index is not an offset; convert it to a coordinate first"
ADDED = "that is the sum of the indices; multiply each by its stride first"
TURNED = "within a nested mode the first index goes with the first stride"
MODE_1 = "that is mode 1 alone; add the row"
MODE_0 = "that is mode 0 alone; add the column"
ANY = "split each index, multiply the parts by the strides, and add the products"

WRONG_OFFSETS = [
    ((2, 3), 22, FROM_THE_RIGHT),
    ((0, 6), 13, FROM_THE_RIGHT),
    (7, 19, FROM_THE_RIGHT),
    ((2, 3), 7, NOT_SPLIT),
    ((0, 6), 6, NOT_SPLIT),
    (7, 4, NOT_SPLIT),  # this answer computes only (1,2)
    (7, 7, INDEX),
    ((1, 0), 1, ADDED),
    ((1, (0, 2)), 3, ADDED),
    ((2, 3), 4, ADDED),
    ((1, (0, 2)), 4, TURNED),
    (7, 3, TURNED),
    ((1, (0, 2)), 12, MODE_1),
    ((1, 0), 0, MODE_1),
    (7, 6, MODE_1),
    ((1, (0, 2)), 2, MODE_0),
    ((0, 6), 0, MODE_0),
    ((1, 0), 8, ANY),
    ((1, (0, 2)), -14, ANY),
    (7, 10**30, ANY),
]


@pytest.mark.parametrize(("coord", "answer", "misconception"), WRONG_OFFSETS)
def test_each_wrong_offset_gets_its_misconception(coord, answer, misconception):
    reply = about_offsets(LAYOUT, {coord: answer})
    assert not reply.right
    assert repr(reply) == f"{coord!s:>12}  {answer} is not right: {misconception}"
    assert str(RIGHT[coord]) not in reply.text.split(":")[-1]  # does not reveal the answer


def test_every_misconception_is_in_the_bank():
    misconceptions = {misconception for _, _, misconception in WRONG_OFFSETS}
    assert misconceptions == {FROM_THE_RIGHT, NOT_SPLIT, INDEX, ADDED, TURNED, MODE_1, MODE_0, ANY}


def test_the_exercise_asks_for_these():
    assert set(RIGHT) == set(offsets_by_hand.COORDINATES)
    assert table_of(Layout((4, 6), (8, 1))) == A
    assert table_of(Layout(((2, 2), (4, 2)), ((4, 16), (1, 8)))) == B


def test_right_offsets_are_right_one_by_one():
    reply = about_offsets(LAYOUT, RIGHT)
    assert reply.right
    assert repr(reply).split("\n") == [f"{c!s:>12}  {a} is right" for c, a in RIGHT.items()]
    assert about_offsets(LAYOUT, {c: np.int64(a) for c, a in RIGHT.items()}).right
    mixed = about_offsets(LAYOUT, {(1, 0): 2, (2, 3): None})
    assert not mixed.right and "2 is right" in mixed.text and "no answer yet" in mixed.text


def test_no_right_answer_is_taken_for_a_misconception_whatever_the_layout():
    for layout in (Layout((3, 4), (4, 1)), Layout(12, 2), Layout(((2, 3), 2, (2, 2)))):
        for i in range(layout.size()):
            for coord in (i, layout.coordinate(i)):
                assert about_offsets(layout, {coord: layout(i)}).right
                assert "is not right" in about_offsets(layout, {coord: 999}).text


def test_missing_offsets_are_answered_politely():
    reply = about_offsets(LAYOUT, dict.fromkeys(RIGHT))
    assert not reply.right
    assert [line.strip().split("  ")[1] for line in reply.text.split("\n")] == ["no answer yet"] * 5


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({(1, 0): "2"}, "'2' is not an offset; write one whole number"),
        ({(1, 0): 2.5}, "2.5 is not an offset"),
        ({(1, 0): True}, "True is not an offset"),
        ({(1, 0): (1, 0)}, "(1, 0) is not an offset"),
        ({(1, 0): [None]}, "[None] is not an offset"),
        ({(1, 0): np.arange(2)}, "array([0, 1]) is not an offset"),
        ({"(1, 0)": 2}, "coordinate: got '(1, 0)', needed an integer, or a tuple of integers"),
        ({(1, None): 2}, "this coordinate leaves a mode open; give each mode an index"),
        ({None: 2}, "this coordinate leaves a mode open"),
        ({(1, 2, 3): 2}, "coordinate: got (1,2,3), needed an integer or a tuple nested like"),
        ({}, "The answers must be a dictionary of offsets by coordinate"),
        (None, "The answers must be a dictionary"),
        ([2, 14, 11, 18, 8], "The answers must be a dictionary"),
    ],
)
def test_answers_that_are_no_offsets_get_a_sentence(answers, says):
    reply = about_offsets(LAYOUT, answers)
    assert not reply.right and says in reply.text


@pytest.mark.parametrize(
    "layout", [None, "(3,4):(1,3)", (3, 4), ComposedLayout(Swizzle(1, 0, 1), 0, Layout(4))]
)
def test_a_layout_that_is_none_is_refused(layout):
    with pytest.raises(UsageError, match=r"layout: got .*needed a forgekit Layout; write fk\.Lay"):
        about_offsets(layout, RIGHT)


# -- layouts ----------------------------------------------------------------------------------
def table_of(layout: Layout) -> list[list[int]]:
    rows, columns = (mode.size() for mode in layout)
    return [[layout((i, j)) for j in range(columns)] for i in range(rows)]


A, B = exercise("week0/which_layout").given.values()
SQUARE = table_of(Layout((3, 3), (1, 5)))

ROWS = "In your layout, the rows follow one another in memory. Where does row 1 begin?"
COLUMNS = "In your layout, the columns follow one another in memory. Where does column 1 begin?"
MODES = "The strides of the two modes are swapped: the first is for steps down."
EXCHANGED = "Rows and columns are swapped: mode 0 goes down."
FASTEST = "in the wrong order: the leftmost is the fastest."

WRONG_LAYOUTS = [
    (A, (4, 6), (6, 1), ROWS),
    (B, (4, 8), (8, 1), ROWS),
    (A, (4, 6), (1, 4), COLUMNS),
    (B, (4, (4, 2)), (1, (4, 16)), COLUMNS),
    (A, (4, 6), (1, 8), MODES),
    (SQUARE, (3, 3), (5, 1), MODES),
    (B, ((2, 2), (4, 2)), ((1, 8), (4, 16)), MODES),
    (A, (6, 4), (1, 8), EXCHANGED),
    (B, ((4, 2), (2, 2)), ((1, 8), (4, 16)), EXCHANGED),
    (B, ((2, 2), (4, 2)), ((16, 4), (1, 8)), "Within mode 0 the strides are swapped."),
    (B, ((2, 2), (4, 2)), ((4, 16), (8, 1)), "Within mode 1 the strides are swapped."),
    (B, ((2, 2), (4, 2)), ((16, 4), (8, 1)), "Within both modes the strides are swapped."),
    (B, ((2, 2), (2, 4)), ((4, 16), (8, 1)), f"The parts of mode 1 are {FASTEST}"),
    (B, ((2, 2), (2, 4)), ((16, 4), (8, 1)), f"The parts of both modes are {FASTEST}"),
    (A, (4, 5), (8, 1), "Your modes have the sizes 4 and 5, but the picture has 4 rows and 6 "
     "columns."),
    (SQUARE, (2, 3), (1, 5), "Your modes have the sizes 2 and 3, but the picture has 3 rows"),
    (A, (4, 6), (8, 2), "At (0,1) your layout gives 2, but the picture has 1. The first column "
     "agrees: mode 0 is right."),
    (A, (4, 6), (9, 1), "At (1,0) your layout gives 9, but the picture has 8. The first row "
     "agrees: mode 1 is right."),
    (A, (4, 6), (9, 2), "At (0,1) your layout gives 2, but the picture has 1."),
    ([[7, 9]], (1, 2), (0, 2), "At (0,0) your layout gives 0, but the picture has 7."),
    (A, 24, 1, "Your layout has 1 mode, but the picture has two, rows and columns. Put the parts"),
    (B, (2, 2, 4, 2), (4, 16, 1, 8), "Your layout has 4 modes, but the picture has two, rows"),
    (A, (), (), "Your layout has 0 modes, but the picture has two"),
]  # fmt: skip


@pytest.mark.parametrize(("picture", "shape", "stride", "says"), WRONG_LAYOUTS)
def test_each_wrong_layout_gets_its_diagnosis(picture, shape, stride, says):
    reply = about_layout(picture, shape, stride)
    assert not reply.right
    assert repr(reply).startswith(says)
    assert "agrees" in says or "agrees" not in reply.text


def test_a_part_in_the_wrong_order_in_mode_0_is_told():
    layout = Layout(((2, 3), 2), ((1, 4), 20))
    reply = about_layout(table_of(layout), ((3, 2), 2), ((4, 1), 20))
    assert reply.text == f"The parts of mode 0 are {FASTEST}"


@pytest.mark.parametrize(
    ("picture", "shape", "stride"),
    [
        (A, (4, 6), (8, 1)),
        (A, [4, 6], [8, 1]),
        (A, ((2, 2), (3, 2)), ((8, 16), (1, 3))),  # a different layout, but the same function
        (np.array(A), (np.int64(4), 6), (8, 1)),
        (B, ((2, 2), (4, 2)), ((4, 16), (1, 8))),
        (B, ((2, 2), ((2, 2), 2)), ((4, 16), ((1, 2), 8))),
        (SQUARE, (3, 3), (1, 5)),
        ([[0, 0]], (1, 2), (3, 0)),
    ],
)
def test_every_layout_that_gives_the_picture_is_right(picture, shape, stride):
    reply = about_layout(picture, shape, stride)
    assert reply.right and reply.text == f"Right: {Layout(shape, stride)} produces the picture."


@pytest.mark.parametrize(
    ("shape", "stride", "says"),
    [
        (None, None, "Still to do: write shape and stride in place of None."),
        ((4, 6), None, "Still to do: write stride in place of None."),
        (None, (8, 1), "Still to do: write shape in place of None."),
        ((4, None), (8, 1), "Still to do: there is a None in shape, (4, None)."),
        ((4, 6), [8, [None]], "Still to do: there is a None in stride, [8, [None]]."),
    ],
)
def test_a_missing_layout_is_answered_politely(shape, stride, says):
    for picture in (A, B):
        reply = about_layout(picture, shape, stride)
        assert (reply.right, reply.text) == (False, says)


@pytest.mark.parametrize(
    ("shape", "stride", "says"),
    [
        ("(4,6)", (8, 1), "shape entry: got '(4,6)', needed a positive integer; pass sizes as"),
        ((4, 6), "(8,1)", "stride entry: got '(8,1)', needed an integer"),
        ((4, 6.0), (8, 1), "shape entry: got 6.0, needed a positive integer"),
        ((4, 0), (8, 1), "shape entry: got 0, needed a positive integer"),
        ((4, True), (8, 1), "shape entry: got True"),
        ({4, 6}, (8, 1), "shape entry: got {4, 6}"),
        (Layout((4, 6)), (8, 1), "shape entry: got (4,6):(1,4), needed a positive integer"),
        ((4, 6), 8, "stride: got 8 for shape (4,6), needed one stride per size"),
        ((4, 6), (8,), "stride: got (8) for shape (4,6), needed one stride per size"),
        ((4, (2, 3)), (8, 1), "stride: got (8,1) for shape (4,(2,3))"),
        ((10**9, 10**9), (1, 1), "Your modes have the sizes 1000000000 and 1000000000"),
    ],
)
def test_what_is_no_layout_gets_a_sentence(shape, stride, says):
    reply = about_layout(A, shape, stride)
    assert not reply.right and reply.text.startswith(says)


@pytest.mark.parametrize("picture", [None, "A", [], [[1, 2], [3]], [[0, None]], [["0", 1]]])
def test_a_picture_that_is_none_is_refused(picture):
    with pytest.raises(UsageError, match=r"picture.*pass rows of offsets of equal length"):
        about_layout(picture, (4, 6), (8, 1))
