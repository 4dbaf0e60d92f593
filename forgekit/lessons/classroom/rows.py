"""Verdicts on exercises and the rows that hold them: as data, on the disk, and safe in any file."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from forgekit import shared_files
from forgekit.errors import UsageError, usage_error
from forgekit.output_files import check_output

_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")  # the wide letters too
_LINES, _BEGINS = "results.jsonl", b'{"student": '
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
        self.passed = [(group, seen) for group, seen in self.passed]  # lists, when they were JSON

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
        self.verdicts = [v if isinstance(v, Verdict) else Verdict(**v) for v in self.verdicts]

    @property
    def settled(self) -> bool:
        """Whether another run would say the same: it did not depend on time or memory."""
        return all(v.verdict != "stopped" for v in self.verdicts)


# -- on the disk: one JSON line per submission ----------------------------------------------------
def stored(folder: Path) -> list[Row]:
    """Return the rows in the folder, which is made. Of one student and notebook the last counts.

    Raises:
        UsageError: the folder holds the results of something else, or cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        check_output("--out", folder / _LINES)
        if (folder / _LINES).exists():
            return read_lines(shared_files.read(folder / _LINES))
        if not (folder / "results.json").exists():
            return []
    except OSError as error:
        raise _unwritable(folder, error) from None
    except ValueError:
        pass
    got, remedy = f"{folder}, which holds something else", "name another, or move that away"
    raise usage_error("--out", got, "a folder of this command's", remedy)


def read_lines(data: bytes) -> list[Row]:
    """Return the rows of a file of lines, without one that was cut off.

    Raises:
        ValueError: a line is something else.
    """
    rows = []
    for line in data.split(b"\n"):
        try:
            rows.append(Row(**json.loads(line)))
        except TypeError as error:
            raise ValueError("not grades") from error
        except ValueError:
            if not line.startswith(_BEGINS[: len(line)]):
                raise
    return rows


def store(folder: Path, row: Row) -> None:
    """Append a row to those in the folder, on the disk. Raises UsageError if it cannot be written.

    The line break comes first: the line before may have been cut off.
    """
    try:
        with (folder / _LINES).open("ab") as out:
            out.write(b"\n" + json.dumps(asdict(row)).encode())
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        raise _unwritable(folder, error) from None


def _unwritable(folder: Path, error: OSError) -> UsageError:
    remedy = "make room or name another; the same command goes on with what is left"
    return usage_error("--out", f"{folder} ({error.strerror})", "a folder to write", remedy)


# -- texts ----------------------------------------------------------------------------------------
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
