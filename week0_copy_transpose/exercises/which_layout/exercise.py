"""Exercise week0/which_layout: from a picture of offsets to the layout that produces it."""

from __future__ import annotations

from collections.abc import Mapping

from forgekit.layouts import Layout
from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import GateError, Group, Submission

from ..layout_mistakes import about_layout

__all__ = ["EXERCISE", "PUZZLES"]

PUZZLES = {
    "A": [
        [0, 1, 2, 3, 4, 5],
        [8, 9, 10, 11, 12, 13],
        [16, 17, 18, 19, 20, 21],
        [24, 25, 26, 27, 28, 29],
    ],
    "B": [
        [0, 1, 2, 3, 8, 9, 10, 11],
        [4, 5, 6, 7, 12, 13, 14, 15],
        [16, 17, 18, 19, 24, 25, 26, 27],
        [20, 21, 22, 23, 28, 29, 30, 31],
    ],
}
_FORM = """Expected the skeleton's dictionary, such as {"A": (shape, stride), …}"""


def _puzzle(name: str) -> Group:
    def run(submission: Submission) -> str:
        given = submission.value
        if not isinstance(given, Mapping) or name not in given:
            raise GateError(f"{_FORM}, got {given!r:.200}.")
        pair = given[name]
        if pair is None or pair is ...:
            pair = (None, None)
        if isinstance(pair, Layout):
            pair = (pair.shape, pair.stride)
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise GateError(f"Expected (shape, stride), got {pair!r:.200}.")
        reply = about_layout(PUZZLES[name], *pair)
        if not reply.right:
            raise GateError(reply.text, unanswered=reply.open)
        return reply.text.removeprefix("Right: ").removesuffix(".")

    return Group(f"Puzzle {name}", run, separate=True)


EXERCISE = Exercise(
    given=PUZZLES,
    title="find the layouts of two pictures",
    task="""
Write the layout of each picture as `(shape, stride)`. The grader accepts any layout that is the
same *function*.
""",
    hints=(
        "Follow the first row, then the first column. If all steps along it are equal, the mode "
        "is a single number, and the step is its stride.",
        "If the steps differ, the number of cells before the first different step is the size of "
        "the first part, and the regular step is its stride. The stride of the second part is the "
        "distance from group to group.",
        "In A, all steps within a mode are equal, but a row does not begin where the row above "
        "ends. At which offset does row 1 begin? In B, neither mode has equal steps, so each mode "
        "is a pair. Its first size is the number of cells before the jump, along row 0 or down "
        "column 0.",
    ),
    analysis="""
**A** is row-major with two unused places after each row, like the first six columns of an
eight-column matrix, or a padded tile.

**B** has the steps 1, 1, 1, 5 in row 0, which is a group of four cells followed by a group that
begins at offset 8. So the column mode is `(4,2):(1,8)`. Column 0 has the offsets 0, 4, 16, 20, so
the row mode is `(2,2):(4,16)`. This layout stores 2 × 4 tiles one after another, along the rows of
tiles. In section 4, by contrast, the *matrix* was row-major, and the tiles were cut out of it.
""",
    entry="layouts",
    groups=(_puzzle("A"), _puzzle("B")),
)
