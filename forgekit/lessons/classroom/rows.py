"""Verdicts on exercises and the rows that hold them, as data; and texts made safe for any file."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

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
    settled: the share of its points that a review gave, None without one.
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
    settled: float | None = None

    def __post_init__(self) -> None:
        vars(self).update(printable(vars(self)))

    @property
    def share(self) -> float:
        """The share of its points: what a review gave, else the share of its gates that passed."""
        if self.settled is not None:
            return self.settled
        if self.verdict in ("failed", "open"):
            return len(self.passed) / (len(self.passed) + 1 + len(self.left))
        return float(self.verdict == "passed")

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


def number(value: float) -> str:
    """`2`, `0.67`"""
    return f"{round(value, 2):g}"


def as_csv(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as CSV, in which no cell is a formula: a student's words may look like one."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in (heads, *rows):
        writer.writerow([f"'{c}" if c.lstrip().startswith(_FORMULA) else c for c in row])
    return out.getvalue()


def marked(text: str) -> str:
    """Text that Markdown takes for text: neither HTML nor links."""
    return re.sub(r"([\\\[\]`])", r"\\\1", escape(text, quote=False))
