"""What an instructor adds: a roster of the class, and `review.toml` beside the results.

[points]                            # what counts, and how much; without it one point each
"week0/scale" = 2

[[review]]
student = "ana"
exercise = "week2/softmax_operator" # without it, the comment is on everything
points = 1
comment = "The gradient is right."
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from forgekit import shared_files
from forgekit.errors import usage_error
from forgekit.lessons.classroom.rows import Verdict, one_line

_Key = tuple[str, str]  # student, exercise or ""


@dataclass(frozen=True)
class Marks:
    """What `review.toml` says.

    points: exercise -> what it is worth; empty for one point each. reviews: (student, exercise) ->
    points, or None to keep them, and a comment. where: where in the file each of them is.
    """

    points: Mapping[str, float] = field(default_factory=dict)
    reviews: Mapping[_Key, tuple[float | None, str]] = field(default_factory=dict)
    where: Mapping[_Key, str] = field(default_factory=dict)

    def settled(self, student: str, v: Verdict) -> Verdict:
        """The verdict with what a review says of it."""
        points, comment = self.reviews.get((student, v.name), (None, ""))
        if comment:
            v = replace(v, notes=[*v.notes, f"Comment: {comment}"])
        if points is None:
            return v
        share = points / self.worth(v.name)
        group = v.group or "review"
        return replace(v, settled=share, verdict="passed" if share == 1 else "failed", group=group)

    def comment(self, student: str) -> str:
        """The comment on all that a student has handed in."""
        return self.reviews.get((student, ""), (None, ""))[1]

    def worth(self, exercise: str) -> float:
        """The points of an exercise."""
        return self.points.get(exercise, 0.0) if self.points else 1.0


def read_roster(file: Path, students: Iterable[str]) -> dict[str, dict[str, str]]:
    """Read student -> what a roster says of the student, by column, in the roster's order.

    It is a list of names, or a table whose first line names the columns. The column `student`
    holds the names of the folders; without one, the column that has most of these students.

    Raises:
        UsageError: it cannot be read, or names a student twice.
    """
    needed, students = "a CSV file of all students", set(students)
    try:
        text = shared_files.read(file).decode("utf-8-sig")
        head = text.partition("\n")[0]
        mark = ";" if ";" in head and "," not in head else ","
        lines = [[one_line(c.strip()) for c in row]
                 for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark)]  # fmt: skip
    except (OSError, ValueError, csv.Error) as error:
        remedy = "save it as CSV in UTF-8"
        raise usage_error("--roster", f"{file} ({error})", needed, remedy) from None
    wide = any(len(row) > 1 for row in lines)
    heads = lines.pop(0) if lines and (wide or lines[0] == ["student"]) else ["student"]
    found: dict[str, dict[str, str]] = {}
    columns = [{row[k] for row in lines if k < len(row)} for k in range(len(heads))]
    at = (heads.index("student") if "student" in heads
          else max(range(len(heads)), key=lambda k: len(columns[k] & students)))  # fmt: skip
    for row in lines:
        name = row[at] if at < len(row) else ""
        if not name or row[0] == "Points Possible":  # of a gradebook that Canvas wrote
            continue
        if name in found:
            raise usage_error("--roster", f"{name} twice in {file}", needed, "leave one of them")
        found[name] = dict(zip(heads, row, strict=False))
    if not found:
        raise usage_error("--roster", f"{file} without a name", needed, "one name per line will do")
    return found
