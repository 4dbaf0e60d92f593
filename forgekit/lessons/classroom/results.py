"""What became of a class: verdicts by student and exercise, as data, tables and words."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

from forgekit.show import Picture
from forgekit.text import Table, plural, shortened

_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")  # the wide letters too
VERDICTS = ("passed", "failed", "open", "missing", "stopped", "review", "unknown")


@dataclass
class Verdict:
    """What became of an exercise.

    verdict: "passed", "failed", "open" (the skeleton, or no answer yet), "missing" (nothing is
    defined under its name), "stopped" (no answer was to be had), "review" (a person has to look),
    "unknown" (to this course). group: the one that failed. happened, likely, look_at: as in
    `GateError`. passed: (group, what was seen). left: the groups after it. notes: more to be said.
    """

    name: str
    verdict: str
    title: str = ""
    group: str = ""
    happened: str = ""
    likely: str = ""
    look_at: str = ""
    passed: list[tuple[str, str]] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        vars(self).update(printable(vars(self)))

    @property
    def short(self) -> str:
        """`passed`, or the group that failed."""
        return self.group if self.verdict == "failed" else self.verdict

    @property
    def words(self) -> str:
        """The misconception, else the pattern of wrong values, else how it begins that happened."""
        pattern = re.search(r"^ *pattern: (.*)", self.happened, re.MULTILINE)
        if said := self.likely or (pattern and pattern[1]):
            return " ".join(said.split())
        first, *more = self.happened.split("\n")
        tool = more[0].partition(": cell [")[0] if more else ""
        return f"{first} {tool}".strip()


@dataclass
class Row:
    """A notebook of a student's. key: of its content and of what graded it; problem: why nothing in
    it was graded, else empty; seed: what its kernels' values were drawn from; handed_in: name and
    time of each submission, the one that counts last."""

    student: str
    notebook: str
    key: str = ""
    problem: str = ""
    verdicts: list[Verdict] = field(default_factory=list)
    seed: int = 0
    handed_in: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.student, self.notebook = one_line(self.student), one_line(self.notebook)
        self.problem, self.handed_in = one_line(self.problem), list(map(one_line, self.handed_in))

    @property
    def settled(self) -> bool:
        """Whether another run would say the same: it did not depend on time or memory."""
        return all(v.verdict != "stopped" for v in self.verdicts)


@dataclass(repr=False)
class ClassReport(Picture):
    """All rows; shown as a picture of which exercise and which misconception how often."""

    rows: list[Row]

    @property
    def exercises(self) -> dict[str, list[Verdict]]:
        """Exercise's name -> the verdicts on it, in the order of the notebooks."""
        found: dict[str, list[Verdict]] = {}
        for row in self.rows:
            for v in row.verdicts:
                found.setdefault(v.name, []).append(v)
        return dict(sorted(found.items(), key=lambda pair: pair[0].partition("/")[0]))

    @property
    def headline(self) -> str:
        students = len({row.student for row in self.rows})
        every = [v for row in self.rows for v in row.verdicts]
        passed = sum(v.verdict == "passed" for v in every)
        of = plural(len(every), "exercise")
        return f"{plural(students, 'student')}: {passed:,} of {of} passed"

    @property
    def summary(self) -> str:
        """The headline, then each exercise with its misconceptions."""
        lines = [self.headline]
        for name, verdicts in self.exercises.items():
            lines.append(f"{name}: {counted(verdicts)}")
            lines += [f"  {times} × {words}" for words, times in self.mistakes(name)]
        return "\n".join(lines)

    def mistakes(self, name: str) -> list[tuple[str, int]]:
        """(the group and words of a mistake in an exercise, how often), most first."""
        failed = [v for v in self.exercises[name] if v.verdict == "failed"]
        said = Counter(f"{v.group}: {v.words}" for v in failed)
        return sorted(said.items(), key=lambda pair: (-pair[1], pair[0]))

    # -- tables and files -------------------------------------------------------------------------
    @property
    def table(self) -> Table:
        """Students × exercises: `passed`, or the group that failed."""
        names = list(self.exercises)
        rows = []
        for row in self.rows:
            known = {v.name: v.short for v in row.verdicts}
            cells = [known.get(name, "") for name in names]
            passed = sum(v.verdict == "passed" for v in row.verdicts)
            score = row.problem or f"{passed} of {len(row.verdicts)}"
            rows.append([row.student, row.notebook, score, *cells])
        heads = ["student", "notebook", "passed", *names]
        return Table(heads, rows, left=range(len(heads)))

    def lines(self) -> list[str]:
        """For a terminal: a row for each notebook, with what is not passed."""
        rows = []
        for row in self.rows:
            open_ = [v for v in row.verdicts if v.verdict != "passed"]
            said = "; ".join(f"{v.name}: {v.short}" for v in open_)
            passed = f"{len(row.verdicts) - len(open_)} of {len(row.verdicts)}"
            rows.append([row.student, row.notebook, passed, shortened(row.problem or said, 110)])
        return Table(["student", "notebook", "passed", "not passed"], rows, left=(0, 1, 3)).lines()

    def csv(self) -> str:
        """A line for each exercise of each notebook."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        heads = "student", "notebook", "exercise", "verdict", "group", "words", "handed in"
        writer.writerow(heads)
        for row in self.rows:
            times = "; ".join(row.handed_in)
            if row.problem:
                cells = [row.student, row.notebook, "", "problem", "", row.problem, times]
                writer.writerow(_safe(cells))
            for v in row.verdicts:
                said = ["", ""] if v.verdict == "passed" else [v.group, v.words]
                cells = [row.student, row.notebook, v.name, v.verdict, *said, times]
                writer.writerow(_safe(cells))
        return out.getvalue()

    def markdown(self) -> str:
        """The table, then how often each misconception was seen."""
        seen = _marked(self.summary).replace("\n  ", "\n  - ").replace("\nweek", "\n- week")
        table = self.table
        rows = [[_marked(str(cell)) for cell in row] for row in table.rows]
        words = Table(table.heads, rows, left=table.left).markdown()
        return f"# {self.headline}\n\n{words}\n\n{seen}\n"

    def json(self) -> str:
        """All of it; equal for equal submissions and seeds, on every machine."""
        data = {"version": 1, "rows": [asdict(row) for row in self.rows]}
        return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def printable(value: Any) -> Any:
    """Data whose texts show control characters, lone surrogates and changes of direction as
    escapes: no file, page or terminal takes them for anything else."""
    if isinstance(value, str):
        return _ODD.sub(lambda found: ascii(found[0])[1:-1], value.replace("\r\n", "\n"))
    if isinstance(value, dict):
        return {key: printable(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(printable, value))
    return value


def one_line(text: str) -> str:
    """`printable`, with line breaks as escapes: for names."""
    return str(printable(text)).replace("\n", "\\n").replace("\t", "\\t")


def verdicts(found: Sequence[dict[str, Any]]) -> list[Verdict]:
    """Verdicts that came as JSON."""
    return [Verdict(**{**v, "passed": [(n, s) for n, s in v.get("passed", ())]}) for v in found]


def counted(verdicts: Sequence[Verdict]) -> str:
    """`3 passed, 2 failed, 1 open`"""
    count = Counter(v.verdict for v in verdicts)
    return ", ".join(f"{count[kind]} {kind}" for kind in VERDICTS if count[kind])


def _safe(cells: Sequence[str]) -> list[str]:
    """A spreadsheet takes what begins so for a formula, and a student's words may."""
    return [f"'{c}" if c.lstrip().startswith(_FORMULA) else c for c in cells]


def _marked(text: str) -> str:
    """Text that Markdown takes for text: neither HTML nor links."""
    return re.sub(r"([\\\[\]`])", r"\\\1", escape(text, quote=False))
