"""Read the instructor's files: a class roster, and `review.toml` in the results' folder.

[points]                            # the exercises that count; default: all, one point each
"week0/scale" = 2

[[review]]
student = "ana"
exercise = "week2/softmax_operator" # omit it to comment on all submissions
points = 1
comment = "The gradient is right."
"""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from forgekit import course, shared_files
from forgekit.errors import UsageError, brief, usage_error
from forgekit.lessons.classroom.rows import Verdict, one_line, printable

REVIEW = "review.toml"
_NUMBER = (int, float)
_KINDS = {"student": (str,), "exercise": (str,), "comment": (str,), "points": _NUMBER}
_Key = tuple[str, str]  # student, exercise or ""


@dataclass(frozen=True)
class Marks:
    """The content of `review.toml`.

    points: maps each exercise that counts to its points; empty if all exercises count one point.
    reviews: maps (student, exercise) to new points (None to keep the grader's) and a comment.
    where: maps (student, exercise) to the review's location in the file.
    """

    points: dict[str, float] = field(default_factory=dict)
    reviews: dict[_Key, tuple[float | None, str]] = field(default_factory=dict)
    where: dict[_Key, str] = field(default_factory=dict)

    def settled(self, student: str, v: Verdict) -> Verdict:
        """Return the verdict with the review's points and comment."""
        points, comment = self.reviews.get((student, v.name), (None, ""))
        if comment:
            v = replace(v, notes=[*v.notes, f"Comment: {comment}"])
        if points is None:
            return v
        share = points / self.worth(v.name)
        group = v.group or "review"
        return replace(v, settled=share, verdict="passed" if share == 1 else "failed", group=group)

    def comment(self, student: str) -> str:
        """Return the comment that applies to all of a student's submissions."""
        return self.reviews.get((student, ""), (None, ""))[1]

    def worth(self, exercise: str) -> float:
        """Return the maximum points of an exercise."""
        return self.points.get(exercise, 0.0) if self.points else 1.0


def read_marks(file: Path) -> Marks:
    """Read `review.toml`. If the file does not exist, return empty Marks.

    Raises:
        UsageError: the file cannot be read; the message names the line and a remedy.
    """
    try:
        text = shared_files.read(file).decode("utf-8-sig")
        data = tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        return Marks()
    except OSError as error:
        raise _refused(f"{file} ({error.strerror})", "make it readable or move it away") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise _refused(f"{file}, line {line}: not UTF-8", "save it as UTF-8") from None
    except (ValueError, RecursionError) as error:
        why = str(error).replace("end of document", f"line {text.count(chr(10)) + 1}, the end")
        raise _refused(f"{file}: {brief(why)}", 'put strings in quotes: student = "ana"') from None
    return _checked(file, text, data)


def _checked(file: Path, text: str, data: dict[str, Any]) -> Marks:
    lines = ["".join(line.split()) for line in text.splitlines()]

    def where(begin: str, number: int = 0) -> str:
        """Return the location of the line that begins with this text, ignoring spaces; `number`
        selects among several such lines, from 0."""
        at = [k for k, line in enumerate(lines, 1) if line.startswith(begin)][number : number + 1]
        return f"{file}, line {at[0]}" if at else str(file)

    if more := data.keys() - {"points", "review"}:
        name = sorted(more)[0]
        at = where("[" if isinstance(data[name], dict | list) else name)
        raise _refused(f"{at}: {brief(name)}", "write [points] or [[review]]")
    points, entries = data.get("points", {}), data.get("review", [])
    if not isinstance(points, dict) or not isinstance(entries, list):
        raise _refused(f"{file}, which contains {brief(data)}", "write [points] and [[review]]")
    known = course.exercise_folders()
    for name, worth in points.items():
        if name not in known or type(worth) not in _NUMBER or not 0 < worth < 1e6:
            remedy = 'write an exercise and a number above 0, such as "week0/scale" = 2'
            raise _refused(f"{where(chr(34) + name)}: {brief(name)} = {brief(worth)}", remedy)
    marks = Marks(points, {}, {})
    for number, entry in enumerate(entries):
        at = where("[[review]]", number)
        key, said = _review(at, entry, marks)
        if key in marks.reviews:
            raise _refused(f"{at}: a second review for {' and '.join(key)}", "merge the two")
        marks.reviews[key], marks.where[key] = said, at
    return marks


def _review(at: str, entry: Any, marks: Marks) -> tuple[_Key, tuple[float | None, str]]:
    """Validate a review; return its key, points and comment."""
    if not isinstance(entry, dict) or "student" not in entry or len(entry) < 2:
        raise _refused(f"{at}: {brief(entry)}", 'write student = "…", and points or a comment')
    for name, value in entry.items():
        if type(value) not in _KINDS.get(name, ()):
            remedy = 'write student = "…", exercise = "…", points = 1 or comment = "…"'
            raise _refused(f"{at}: {name} = {brief(value)}", remedy)
    exercise, points = entry.get("exercise", ""), entry.get("points")
    most = marks.worth(exercise) if exercise else 0
    if points is not None and not (most and 0 <= points <= most):
        remedy = f"{exercise} is worth {most:g}" if exercise else "name the exercise to grade"
        raise _refused(
            f"{at}: points = {points}", f"{remedy}; set an exercise's points under [points]"
        )
    return (one_line(entry["student"]), exercise), (points, printable(entry.get("comment", "")))


def _refused(got: str, remedy: str) -> UsageError:
    remedy += "; book/classroom.md shows an example. Nothing was graded or changed"
    return usage_error(REVIEW, got, "TOML with [points] and [[review]]", remedy)


def read_roster(file: Path, students: Iterable[str]) -> dict[str, dict[str, str]]:
    """Read a roster; map each student to the student's entries by column, in roster order.

    A roster is a list of names, or a table whose first line names the columns. The column `student`
    contains the names of the students' folders. In a table without this column, the column that
    contains the most names from `students` is used instead.

    Raises:
        UsageError: the roster cannot be read, or names a student twice.
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
        if not name or row[0] == "Points Possible":  # the second row of a Canvas gradebook
            continue
        if name in found:
            raise usage_error("--roster", f"{name} twice in {file}", needed, "remove one entry")
        found[name] = dict(zip(heads, row, strict=False))
    if not found:
        raise usage_error("--roster", f"no names in {file}", needed, "write one name per line")
    return found
