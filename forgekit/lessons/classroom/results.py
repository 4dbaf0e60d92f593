"""Define the results of a class: each student's verdicts, as data, tables and text."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from forgekit.lessons.classroom.found import NO_EXERCISE
from forgekit.lessons.classroom.marks import Marks
from forgekit.lessons.classroom.rows import VERDICTS, Row, Verdict, as_csv, marked, number
from forgekit.show import Picture
from forgekit.text import Cell, Table, plural, shortened


@dataclass
class Student:
    """A student's results. rows: one per notebook. entry: maps the roster's columns to the
    student's entries; None if the roster lacks the student. verdicts: maps exercises to the
    verdicts that count. points: maps exercises to the student's points."""

    name: str
    rows: list[Row]
    entry: Mapping[str, str] | None
    verdicts: dict[str, Verdict]
    points: dict[str, float]
    comment: str

    @property
    def total(self) -> float:
        return sum(self.points.values())

    @property
    def file(self) -> str:
        """Return the unique stem of the student's file names."""
        plain = re.sub(r"[^\w.-]+", "_", self.name).strip("._")[:60]
        digest = hashlib.sha256(self.name.encode()).hexdigest()[:6]
        return plain if plain == self.name else f"{plain}-{digest}"

    @property
    def handed_in(self) -> list[str]:
        """Return the name and time of each submission and, for a notebook that was not graded, the
        reason."""
        found = [time for row in self.rows for time in row.handed_in]
        found += [f"{row.notebook}: {row.problem}" for row in self.rows if row.problem]
        return list(dict.fromkeys(found)) if self.rows else ["nothing"]


@dataclass(repr=False)
class ClassReport(Picture):
    """The results of a class. A notebook shows them as a picture with counts of passes and
    misconceptions.

    rows: one per notebook, in chronological order for each student. marks: the content of
    `review.toml`. roster: maps each student to the student's entries in the roster; None without a
    roster. best: True if a student's best result for an exercise counts, False if the latest
    counts.
    """

    rows: list[Row]
    roster: Mapping[str, Mapping[str, str]] | None = None
    marks: Marks = field(default_factory=Marks)
    best: bool = False

    def __post_init__(self) -> None:
        self.rows = [self._settled(row) for row in self.rows]

    def _settled(self, row: Row) -> Row:
        return replace(row, verdicts=[self.marks.settled(row.student, v) for v in row.verdicts])

    @functools.cached_property
    def students(self) -> list[Student]:
        """Return all students, beginning with those on the roster, in roster order."""
        rows: dict[str, list[Row]] = {name: [] for name in self.roster or ()}
        for row in self.rows:
            rows.setdefault(row.student, []).append(row)
        return [self._student(name, of_one) for name, of_one in rows.items()]

    def _student(self, name: str, rows: list[Row]) -> Student:
        counts: dict[str, Verdict] = {}
        for v in (v for row in rows for v in row.verdicts):
            if not (self.best and v.name in counts and counts[v.name].share > v.share):
                counts[v.name] = v
        points = {n: v.share * self.worth[n] for n, v in counts.items() if n in self.worth}
        entry = (self.roster or {}).get(name)
        return Student(name, rows, entry, counts, points, self.marks.comment(name))

    @functools.cached_property
    def worth(self) -> dict[str, float]:
        """Map each exercise that counts to its maximum points, from `review.toml` or by default
        1."""
        answered = [v for row in self.rows for v in row.verdicts if v.verdict != "unknown"]
        return dict(self.marks.points) or dict.fromkeys(_in_order(v.name for v in answered), 1.0)

    @property
    def most(self) -> float:
        """Return the maximum total points."""
        return sum(self.worth.values())

    @property
    def all_passed(self) -> bool:
        """Return True if every student passed every exercise that counts, and every notebook could
        be read."""
        read = all(row.problem in ("", NO_EXERCISE) for row in self.rows)
        return read and bool(self.worth) and all(
            name in s.verdicts and s.verdicts[name].verdict == "passed"
            for s in self.students for name in self.worth
        )  # fmt: skip

    @property
    def exercises(self) -> dict[str, list[Verdict]]:
        """Map each exercise's name to the verdicts that count, in notebook order."""
        given = [name for s in self.students for name in s.verdicts]
        return {name: [s.verdicts[name] for s in self.students if name in s.verdicts]
                for name in _in_order([*self.worth, *given])}  # fmt: skip

    @property
    def headline(self) -> str:
        every = [v for s in self.students for v in s.verdicts.values()]
        passed = sum(v.verdict == "passed" for v in every)
        of = plural(len(every), "exercise")
        return f"{plural(len(self.students), 'student')}: {passed:,} of {of} passed"

    @property
    def remarks(self) -> list[str]:
        """Return remarks about students without a submission or a roster entry, and about reviews
        that match no answer."""
        nothing = [s.name for s in self.students if not s.rows]
        strange = [s.name for s in self.students if s.entry is None and self.roster is not None]
        lists = {"submitted nothing": nothing, "not on the roster": strange}
        answers = {(s.name, name) for s in self.students for name in ("", *s.verdicts)}
        lost = [f"{where}: the review matches no answer" for of, where in self.marks.where.items()
                if of not in answers]  # fmt: skip
        return [f"{what}: {', '.join(names)}" for what, names in lists.items() if names] + lost

    @property
    def summary(self) -> str:
        """Return the headline, the remarks, and each exercise with its misconceptions."""
        lines = [self.headline, *self.remarks]
        for name, verdicts in self.exercises.items():
            lines.append(f"{name}: {counted(verdicts)}")
            lines += [f"  {times} × {words}" for words, times in self.mistakes(name)]
        return "\n".join(lines)

    def mistakes(self, name: str) -> list[tuple[str, int]]:
        """Return each mistake in an exercise, with its group, as (text, count), most frequent
        first."""
        failed = [v for v in self.exercises[name] if v.verdict == "failed"]
        said = Counter(f"{v.group}: {v.words}" for v in failed)
        return sorted(said.items(), key=lambda pair: (-pair[1], pair[0]))

    # -- tables and files -------------------------------------------------------------------------
    def score(self, student: Student) -> str:
        """Return a student's points, such as `2.5 of 3`."""
        return f"{number(student.total)} of {number(self.most)}"

    @property
    def table(self) -> Table:
        """Return a table with students as rows and exercises as columns; a cell contains `passed`,
        or the group that failed and the mistake."""
        names, none = list(self.exercises), Verdict("", "")
        rows = []
        for s in self.students:
            verdicts = [s.verdicts.get(name, none) for name in names]
            words = [
                Cell(v.short, title="" if v.verdict == "passed" else v.words) for v in verdicts
            ]
            link = Cell(s.name, link=f"students/{s.file}.html")
            rows.append([link, Cell(self.score(s)), Cell("; ".join(s.handed_in)), *words])
        heads = ["student", "points", "submitted", *names]
        return Table(heads, rows, left=range(len(heads)))

    def lines(self) -> list[str]:
        """Return one line of text per student, with the exercises that are not passed."""
        rows = []
        for s in self.students:
            said = [f"{n}: {v.short}" for n, v in s.verdicts.items() if v.verdict != "passed"]
            said += [f"{row.notebook}: {row.problem}" for row in s.rows if row.problem]
            said += [] if s.rows else ["submitted nothing"]
            rows.append([s.name, self.score(s), shortened("; ".join(said), 110)])
        return Table(["student", "points", "not passed"], rows, left=(0, 2)).lines()

    def csv(self) -> str:
        """Return a CSV table with one row per exercise of each notebook."""
        rows = []
        for row in self.rows:
            times = "; ".join(row.handed_in)
            if row.problem:
                rows.append([row.student, row.notebook, "", "problem", "", row.problem, times, ""])
            for v in row.verdicts:
                said = ["", ""] if v.verdict == "passed" else [v.group, v.words]
                points = number(v.share * self.worth.get(v.name, 0))
                rows.append([row.student, row.notebook, v.name, v.verdict, *said, times, points])
        heads = "student", "notebook", "exercise", "verdict", "group", "words", "submitted"
        return as_csv([*heads, "points"], rows)

    def grades(self) -> str:
        """Return a CSV table with one row per student: total points, points per exercise,
        submission times, and the instructor's comment."""
        rows = [[s.name, number(s.total), number(self.most), "; ".join(s.handed_in), s.comment,
                 *(number(s.points.get(name, 0)) for name in self.worth)]
                for s in self.students]  # fmt: skip
        return as_csv(["student", "points", "of", "submitted", "comment", *self.worth], rows)

    def markdown(self) -> str:
        """Return the table and the counts of misconceptions as Markdown."""
        seen = marked(self.summary).replace("\n  ", "\n  - ").replace("\nweek", "\n- week")
        rows = [[marked(c.text) for c in row if isinstance(c, Cell)] for row in self.table.rows]
        words = replace(self.table, rows=rows).markdown()
        return f"# {self.headline}\n\n{words}\n\n{seen}\n"

    def json(self) -> str:
        """Return all results as JSON; the text depends only on the submissions and seeds, not on
        the machine."""
        data = {"version": 1, "rows": [asdict(row) for row in self.rows]}
        return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _in_order(names: Iterable[str]) -> list[str]:
    """Return each exercise name once, grouped by week, in order of first appearance."""
    return sorted(dict.fromkeys(names), key=lambda name: name.partition("/")[0])


def counted(verdicts: Sequence[Verdict]) -> str:
    """Count the verdicts; return text such as `3 passed, 2 failed, 1 open`."""
    count = Counter(v.verdict for v in verdicts)
    return ", ".join(f"{count[kind]} {kind}" for kind in VERDICTS if count[kind])
