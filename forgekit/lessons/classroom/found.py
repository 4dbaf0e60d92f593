"""Find the submitted notebooks; determine each notebook's student and exercises."""

from __future__ import annotations

import ast
import base64
import contextlib
import errno
import hashlib
import os
import re
import stat
from bisect import bisect, bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import accumulate
from pathlib import Path

from forgekit import course
from forgekit.errors import usage_error

GRADES = re.compile(r"""exercise\(\s*["'](week\d+/\w+)["']\s*\)\s*\.\s*grade\b""")
NO_EXERCISE = "it grades no exercise from this course"
_MOST_MIB = 32
_BESIDE_MIB, _MOST_FILES = 1, 100
_NOT_READ = {errno.ELOOP: "it is a link; submit the notebook itself",
             errno.EINVAL: "it is not a regular file; submit the notebook"}  # fmt: skip
_TASK = re.compile(r"^### Exercise \d+: (.*)")


@dataclass(frozen=True)
class SubmittedNotebook:
    """A notebook that a student has submitted.

    name: the notebook's name, without .ipynb. cells: its code cells, in order. tasks: maps an
    exercise's title to its task in this notebook. exercises: the exercises to grade, in order.
    unknown: exercises that the notebook grades but that the course does not have. problem: the
    reason why the notebook cannot be graded, or "". seed: the judge's secret seed for the kernels'
    input values. time_s: the time at which the notebook was last modified, in seconds since 1970.
    handed_in: the name and time of each of the student's submissions for these exercises, ending
    with this one. files: maps file names to contents in Base64, for the week's helper files and the
    files next to the notebook.
    """

    student: str
    name: str
    path: str
    digest: str = ""
    cells: tuple[str, ...] = ()
    tasks: tuple[tuple[str, str], ...] = ()
    exercises: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    problem: str = ""
    seed: int = 0
    time_s: float = 0
    handed_in: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)


def find_submissions(
    paths: Sequence[str], *, best: bool = False
) -> tuple[list[SubmittedNotebook], list[str]]:
    """Find the notebooks in these files and folders; return the notebooks, ordered by student and
    time, and a list of remarks for the instructor.

    If a student has submitted several notebooks for the same exercises, only the latest is
    returned, or all of them if `best` is True.

    The student's name is the name of the folder directly in `submitted` or, without `submitted`,
    directly in the given folder. For a notebook directly in the given folder, the student's name is
    the file's name or, if the course has a notebook of that name (such as `10_practice`), the
    folder's name.

    Raises:
        UsageError: a path does not exist, or contains no notebook.
    """
    files: dict[Path, tuple[str, bool]] = {}
    for text in paths:
        path = Path(text)
        if not os.path.lexists(path):
            needed, remedy = "notebooks or folders of notebooks", "check the path"
            raise usage_error("grade", f"{text}, which does not exist", needed, remedy)
        base = path if path.is_dir() else path.parent
        for file in sorted(_inside(path)) if path.is_dir() else [path]:
            if not any(part.startswith(".") for part in file.relative_to(base).parts):
                student = _student(file, base), file.parent != base
                files.setdefault(file.parent.resolve() / file.name, student)
    if not files:
        got = f"no .ipynb file in {', '.join(map(str, paths))}"
        remedy = "name the folder that contains the students' folders"
        raise usage_error("grade", got, "notebooks", remedy)
    return _latest([read(file, *student) for file, student in files.items()], best)


def _inside(folder: Path) -> Iterator[Path]:
    """Yield every path inside a folder that ends in .ipynb, including links and special files. Also
    yield the folders that are not searched: unreadable folders, and links to a student's folder or
    to a folder that contains notebooks."""
    closed: list[OSError] = []
    for place, folders, names in os.walk(folder, onerror=closed.append):
        yield from (Path(place, name) for name in [*folders, *names] if name.endswith(".ipynb"))
        for link in [p for p in map(Path(place).joinpath, folders) if p.is_symlink()]:
            if link.suffix != ".ipynb" and (place == str(folder) or any(link.glob("*.ipynb"))):
                yield link
    yield from (Path(error.filename) for error in closed)


def _student(file: Path, base: Path) -> str:
    whole = file.absolute().parts
    if "submitted" in whole[:-2]:
        return whole[whole.index("submitted") + 1]
    inside = file.relative_to(base).parts
    if len(inside) > 1:
        return inside[0]
    if file.suffix != ".ipynb":
        return file.name
    return file.absolute().parent.name if file.stem in _course_notebooks() else file.stem


def _course_notebooks() -> dict[str, list[str]]:
    """Map each notebook name to the exercises of all notebooks with this name, because several
    weeks may use the same name."""
    found: dict[str, list[str]] = {}
    for name, folder in course.exercise_folders().items():
        week, _, short = name.partition("/")
        stem = course.notebooks_of(folder.parents[1], week).get(short, "")
        found.setdefault(stem, []).append(name)
    return found


def _latest(
    found: list[SubmittedNotebook], best: bool = False
) -> tuple[list[SubmittedNotebook], list[str]]:
    """Keep each student's latest notebook for each set of exercises (all notebooks if `best`), and
    list the student's submissions in its `handed_in`. Return the notebooks and remarks."""
    groups: dict[object, list[SubmittedNotebook]] = {}
    for h in sorted(found, key=_order):
        alone = best or not h.exercises
        groups.setdefault((h.student, h.path if alone else h.exercises), []).append(h)
    result = [
        replace(of_one[-1], handed_in=tuple(
            f"{h.name}.ipynb {_when(h.time_s)}" for h in of_one if h.time_s))
        for of_one in groups.values()
    ]  # fmt: skip
    notes = [f"{h.student} has submitted {len(h.handed_in)} times; the latest submission counts: "
             f"{h.handed_in[-1]}" for h in result if len(h.handed_in) > 1]  # fmt: skip
    return sorted(result, key=_order), notes


def _order(h: SubmittedNotebook) -> tuple[object, ...]:
    return h.student, h.time_s, h.name, h.path


def _when(time_s: float) -> str:
    try:
        return f"{datetime.fromtimestamp(time_s):%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):  # a file's modification time can have any value
        return "(invalid time)"


def _regular(file: Path, most: int) -> tuple[os.stat_result, bytes]:
    """Return the status of a regular file and its first `most` + 1 bytes.

    Raise OSError for a link, which could lead to another student's file, and for a special file,
    which could block the read.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(file, flags), "rb") as opened:
        known = os.fstat(opened.fileno())
        if not stat.S_ISREG(known.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return known, opened.read(most + 1)


def _beside(file: Path) -> dict[str, str]:
    """Return the files next to a notebook, smallest first, up to a limit on their number and
    size."""
    beside, left = {}, _BESIDE_MIB << 20
    for path in sorted(file.parent.iterdir(), key=lambda p: (p.lstat().st_size, p))[:_MOST_FILES]:
        with contextlib.suppress(OSError):
            if path.suffix != ".ipynb" and len(data := _regular(path, left)[1]) <= left:
                beside[path.name] = base64.b64encode(data).decode()
                left -= len(data)
    return beside


def read(file: Path, student: str, alone: bool = False) -> SubmittedNotebook:
    """Read a notebook; if that is impossible, the result's `problem` gives the reason.

    alone: True if the folder, and so the files next to the notebook, belong to this student only.
    """
    submitted = SubmittedNotebook(student, file.stem, str(file))
    try:
        known, data = _regular(file, _MOST_MIB << 20)
        files = _beside(file) if alone else {}
    except OSError as error:
        why = _NOT_READ.get(error.errno or 0, f"it cannot be read: {error.strerror}")
        return replace(submitted, problem=why)
    submitted = replace(submitted, time_s=known.st_mtime, files=files)
    if len(data) > _MOST_MIB << 20:
        return replace(submitted, problem=f"it is larger than {_MOST_MIB} MiB")
    digest = hashlib.sha256(data + repr(files).encode()).hexdigest()
    submitted = replace(submitted, digest=digest)
    import nbformat

    try:
        cells = nbformat.reads(data.decode("utf-8-sig"), as_version=4).cells
        texts = [(str(c.cell_type), str(c.source)) for c in cells]
    except Exception:  # a file with this name can contain anything
        return replace(submitted, problem="it is not a Jupyter notebook")
    code = tuple(text for kind, text in texts if kind == "code")
    tasks = tuple((m[1], text) for kind, text in texts if kind == "markdown"
                  and (m := _TASK.match(text)))  # fmt: skip
    folders = course.exercise_folders()
    graded = list(dict.fromkeys(GRADES.findall("\n".join(code))))
    own = _course_notebooks().get(file.stem, ())
    weeks = {name.partition("/")[0] for name in graded or own}
    if not graded and len(weeks) > 1:  # the week is ambiguous
        weeks = set()
    wanted = {*graded, *(name for name in own if name.partition("/")[0] in weeks)}
    exercises = tuple(name for name in folders if name in wanted)
    unknown = tuple(name for name in graded if name not in folders)
    problem = "" if exercises else NO_EXERCISE
    helpers = {file.name: base64.b64encode(file.read_bytes()).decode()
               for week in sorted({name.partition("/")[0] for name in exercises})
               for file in course.helper_files(week)}  # fmt: skip
    return replace(submitted, files={**helpers, **files}, cells=code, tasks=tasks,
                   exercises=exercises, unknown=unknown, problem=problem)  # fmt: skip


def without_grades(text: str) -> str:
    """Return a cell's code without the statements that grade an exercise; line numbers do not
    change. Only the student's process calls this, because parsing can take any amount of time and
    memory.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    text = "\n".join(lines)
    ends = list(accumulate(len(line) + 1 for line in lines))
    graded = [bisect(ends, m.start()) for m in GRADES.finditer(text)]  # 0-based lines
    if not graded:
        return text
    try:
        spans = [(node.lineno - 1, node.end_lineno or 0) for node in ast.parse(text).body]
    # the cell contains a magic or a syntax error
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        spans = [(line, line + 1) for line in graded]
    for begin, end in spans:
        at = bisect_left(graded, begin)
        if at < len(graded) and graded[at] < end:
            lines[begin:end] = [""] * (end - begin)
    return "\n".join(lines)
