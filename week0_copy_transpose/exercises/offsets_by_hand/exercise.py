"""Exercise week0/offsets_by_hand: from coordinates to offsets, with nested modes."""

from __future__ import annotations

from collections.abc import Mapping

from forgekit.layouts import Layout
from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import GateError, Group, Submission

from ..layout_mistakes import about_offsets

__all__ = ["EXERCISE"]

LAYOUT = Layout((3, (2, 4)), (2, (1, 6)))
COORDINATES = ((1, 0), (1, (0, 2)), (2, 3), (0, 6), 7)


def _offsets(submission: Submission) -> str:
    given = submission.value
    if not isinstance(given, Mapping):
        raise GateError(f"Expected the skeleton's dictionary, got {given!r:.200}.")
    missing = [c for c in COORDINATES if c not in given]
    if missing:
        raise GateError(
            f"The coordinate {missing[0]} is missing. Keep all five coordinates of the skeleton."
        )
    reply = about_offsets(LAYOUT, {c: given[c] for c in COORDINATES})
    if not reply.right:
        count = sum(line.endswith("is right") for line in reply.text.split("\n"))
        todo = "Write the offsets in place of None."
        known = f"{count} of {len(COORDINATES)} offsets are right."
        raise GateError(f"{todo if reply.open else known}\n{reply.text}", unanswered=reply.open)
    return f"{len(COORDINATES)} of {len(COORDINATES)}"


EXERCISE = Exercise(
    title="compute offsets by hand",
    task="""
For the layout `(3,(2,4)):(2,(1,6))`, replace each `None` with the offset of its coordinate. The
last coordinate is a single number that counts through the *whole* layout, leftmost mode fastest.
""",
    hints=(
        "Multiply each index by its stride and add the products. If an index addresses a nested "
        "mode, split it first.",
        "The parts of mode 1 have sizes 2 and 4. Index 3 splits, leftmost part first, into `(3 % "
        "2, 3 // 2)`.",
        "For linear index 7, the row is `7 % 3` and the column is `7 // 3`, because mode 0 has "
        "size 3. Then split the column.",
    ),
    analysis="""
| coordinate | split | offset |
|---|---|---|
| `(1, 0)` | `(1,(0,0))` | 1·2 = 2 |
| `(1, (0, 2))` | already split | 1·2 + 0·1 + 2·6 = 14 |
| `(2, 3)` | `(2,(1,1))` | 2·2 + 1·1 + 1·6 = 11 |
| `(0, 6)` | `(0,(0,3))` | 0·2 + 0·1 + 3·6 = 18 |
| `7` | `(1, 2)`, so `(1,(0,1))` | 1·2 + 0·1 + 1·6 = 8 |

To draw the layout, call `viz.display_layout(fk.Layout((3, (2, 4)), (2, (1, 6))))`.
""",
    entry="answers",
    groups=(Group("Offsets", _offsets),),
)
