"""Define `Verdict`, the result of an exercise, and `Row`, the results of a notebook; store rows on
disk; escape text for output files."""

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
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")  # including the full-width forms
_LINES, _BEGINS = "results.jsonl", b'{"student": '
VERDICTS = ("passed", "failed", "open", "missing", "stopped", "review", "unknown")


@dataclass
class Verdict:
    """The result of grading an exercise.

    verdict: "passed", "failed", "open" (the skeleton, or no answer yet), "missing" (the name is not
    defined), "stopped" (grading was interrupted), "review" (the instructor must grade it),
    "unknown" (not an exercise of this course). group: the group that failed. happened, likely,
    look_at: as in `GateError`. passed: (name, summary) of each group that passed. left: the groups
    after the failed group. notes: further remarks. settled: the fraction of the exercise's points
    that a review awarded; None without a review.
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
        self.passed = [(group, seen) for group, seen in self.passed]  # lists, if read from JSON

    @property
    def share(self) -> float:
        """Return the fraction of the exercise's points: as awarded in a review, otherwise the
        fraction of groups that passed."""
        if self.settled is not None:
            return self.settled
        if self.verdict in ("failed", "open"):
            return len(self.passed) / (len(self.passed) + 1 + len(self.left))
        return float(self.verdict == "passed")

    @property
    def short(self) -> str:
        """Return `passed`, the group that failed, or the verdict."""
        return self.group if self.verdict == "failed" else self.verdict

    @property
    def words(self) -> str:
        """Return the misconception if one was recognised, otherwise the pattern of the wrong
        values, or the beginning of `happened`."""
        pattern = re.search(r"^ *pattern: (.*)", self.happened, re.MULTILINE)
        if said := self.likely or (pattern and pattern[1]):
            return " ".join(said.split())
        first, *more = self.happened.split("\n")
        tool = more[0].partition(": cell [")[0] if more else ""
        return f"{first} {tool}".strip()


@dataclass
class Row:
    """The results of a notebook. key: a digest of the notebook's content and of the grader's code.
    problem: the reason why it was not graded, or "". seed: the seed of its kernels' input values.
    handed_in: the name and time of each submission, ending with the one that was graded."""

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
        """Return True if grading the notebook again would give the same result, because no verdict
        depends on a time or memory limit."""
        return all(v.verdict != "stopped" for v in self.verdicts)


# -- storage: one JSON line per submission ----------------------------------------------------
def stored(folder: Path) -> list[Row]:
    """Return the rows stored in a folder, which is created if needed. A later row replaces earlier
    rows for the same student and notebook.

    Raises:
        UsageError: the folder contains other files or is not writable.
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
    got, remedy = f"{folder}, which contains other files", "name another folder or move this folder"
    raise usage_error("--out", got, "a folder created by this command", remedy)


def read_lines(data: bytes) -> list[Row]:
    """Return the rows in a file's content; ignore an incomplete last line.

    Raises:
        ValueError: a line is not a row.
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
    """Append a row to the file in the folder. Raise UsageError if the file cannot be written.

    The line break is written first, because the previous line may be incomplete.
    """
    try:
        with (folder / _LINES).open("ab") as out:
            out.write(b"\n" + json.dumps(asdict(row)).encode())
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        raise _unwritable(folder, error) from None


def _unwritable(folder: Path, error: OSError) -> UsageError:
    remedy = "free some space or name another folder; the same command then continues"
    return usage_error("--out", f"{folder} ({error.strerror})", "a writable folder", remedy)


# -- texts ----------------------------------------------------------------------------------------
def printable(value: Any) -> Any:
    """Return the data with the control characters, lone surrogates and direction changes in its
    texts escaped, so that no browser or terminal interprets them."""
    if isinstance(value, str):
        return _ODD.sub(lambda found: ascii(found[0])[1:-1], value.replace("\r\n", "\n"))
    if isinstance(value, dict):
        return {key: printable(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(printable, value))
    return value


def one_line(text: str) -> str:
    """Like `printable`, but also escape line breaks, for names."""
    return str(printable(text)).replace("\n", "\\n").replace("\t", "\\t")


def number(value: float) -> str:
    """Format a number with at most two decimals, such as `2` or `0.67`."""
    return f"{round(value, 2):g}"


def as_csv(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as CSV. Cells that a spreadsheet would interpret as formulas are escaped."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in (heads, *rows):
        writer.writerow([f"'{c}" if c.lstrip().startswith(_FORMULA) else c for c in row])
    return out.getvalue()


def marked(text: str) -> str:
    """Escape text for Markdown, so that it is not interpreted as HTML or markup."""
    return re.sub(r"([\\\[\]`])", r"\\\1", escape(text, quote=False))
