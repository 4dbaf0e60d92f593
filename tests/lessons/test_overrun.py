"""Test the explanations of out-of-bounds accesses, which the grader prints only if the indices
prove them."""

from __future__ import annotations

import numpy as np
import pytest

from forgekit.lessons.gates.overrun import overrun_diagnosis
from forgekit.vgpu.access.faults import Overrun


def vector(threads: list[int], numbers: list[int], elements: int = 8) -> Overrun:
    places = np.array([[t, 0] for t in threads])
    given = np.array(threads), places, np.array(numbers), 1, np.arange(128)
    return Overrun("mX", (elements,), (1,), *given)


def matrix(places: list[tuple[int, int]], row: int, column: int) -> Overrun:
    """Return an overrun of a 3 × 4 matrix by threads (x, y). row, column: 0 if the index is
    computed from x, 1 if it is computed from y."""
    numbers = [4 * place[row] + place[column] for place in places]
    threads = np.arange(len(places))
    return Overrun("mX", (3, 4), (4, 1), threads, np.array(places), np.array(numbers), 1, threads)


@pytest.mark.parametrize(
    ("threads", "numbers", "shift"),
    [([7], [8], "i + 1"), ([6, 7], [8, 9], "i + 2"), ([0, 1], [-2, -1], "i - 2")],
)
def test_shifted_index(threads, numbers, shift):
    assert f"thread i accesses element {shift}" in overrun_diagnosis(vector(threads, numbers))


def test_one_thread_proves_no_shift():
    """With mX[n - i], only thread 0 reaches element n."""
    assert overrun_diagnosis(vector([0], [8])) == ""


def test_a_narrow_index_is_not_shifted():
    """The index has 8 bits, so it is wrong only from thread 128 on."""
    assert overrun_diagnosis(vector([*range(128, 256)], [*range(-128, 0)], 2064)) == ""


def test_more_threads_than_a_shift_explains():
    """The index is 7 - i without a predicate, so threads beyond the end also access memory."""
    assert overrun_diagnosis(vector([*range(1, 128)], [*range(8, 135)])) == ""


def test_a_reversed_index_is_no_fault_of_a_predicate():
    """The threads 8 and 9 read mX[7 - i], which is below 8."""
    assert overrun_diagnosis(vector([8, 9], [-1, -2])) == ""


def test_threads_beyond_the_end():
    assert "every thread beyond the last element" in overrun_diagnosis(
        vector([*range(8, 128)], [*range(8, 128)])
    )
    assert "the predicate admits threads 8 to 15," in overrun_diagnosis(
        vector([*range(8, 16)], [*range(8, 16)])
    )
    assert "the predicate admits threads 9 to 127," in overrun_diagnosis(
        vector([*range(9, 128)], [*range(9, 128)])
    )


@pytest.mark.parametrize("threads", [[32, 64], [*range(8, 32)]])
def test_the_index_may_be_the_number_of_a_warp_or_lane(threads):
    """Either the first lane of each warp stores, or the index is the lane, so the other warps'
    lanes beyond the end are excluded."""
    assert overrun_diagnosis(vector(threads, threads)) == ""


def test_exchanged_indices_of_a_right_predicate():
    """The kernel accesses mX[x, y], but its predicate requires y < 3 and x < 4."""
    assert "row x, column y of mX" in overrun_diagnosis(matrix([(3, 0), (3, 2)], 0, 1))


@pytest.mark.parametrize(
    ("places", "says"),
    [
        ([(0, 3), (3, 3)], "no predicate excludes row 3, but mX has only 3 rows"),
        ([(4, 2), (6, 2)], "no predicate excludes columns 4 to 6, but mX has only 4 columns"),
        ([(4, 2), (0, 3)], "A matrix has two edges"),
    ],
)
def test_edges_of_a_matrix(places, says):
    assert says in overrun_diagnosis(matrix(places, 1, 0))


def test_the_element_beyond_a_row_lies_in_a_later_one():
    """Columns 4 to 6 of row 2 are past the end of the tensor. In a matrix of columns, no element
    beyond the last column lies in another row."""
    o = matrix([(4, 2), (6, 2)], 1, 0)
    assert "Such an element lies in a later row or past the end." in overrun_diagnosis(o)
    o = o._replace(strides=(1, 3), numbers=np.array([14, 20]))
    said = overrun_diagnosis(o)
    assert "columns 4 to 6" in said and "later row" not in said


def test_x_may_be_the_row():
    said = overrun_diagnosis(matrix([(3, 0), (4, 1)], 0, 1))
    assert "rows 3 to 4" in said and "from x of the thread and the block" in said


def test_other_indices_are_left_alone():
    o = matrix([(0, 3), (1, 3)], 1, 0)
    assert overrun_diagnosis(o._replace(numbers=o.numbers + 5)) == ""
