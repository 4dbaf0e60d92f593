"""The notebooks that were handed in: whose each is, and which exercises it answers."""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from forgekit import course
from forgekit.errors import usage_error

GRADES = re.compile(r"""exercise\(\s*["'](week\d+/\w+)["']\s*\)\s*\.\s*grade\b""")
_MOST_MIB = 32
_TASK = re.compile(r"^### Exercise \d+: (.*)")


@dataclass(frozen=True)
class SubmittedNotebook:
    """A notebook of a student's.

    name: the notebook's, without .ipynb. cells: of code, in order. tasks: the texts of exercises as
    they stand in it, by title. exercises: to be graded, in order. unknown: graded in it, and of no
    exercise of this course. problem: why it cannot be graded at all. seed: decides the values that
    its kernels get; the judge's secret.
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


def find_submissions(paths: Sequence[str]) -> tuple[list[SubmittedNotebook], list[str]]:
    """All notebooks in these files and folders, by student; and what is to be said of them.

    A student is the folder below `submitted`, else the first folder below the one that was named;
    of a notebook that lies there directly, the name of the file, or, where that is the course's own
    (`08_practice`), of its folder.

    Raises:
        UsageError: nothing there, or no notebook in it.
    """
    files: dict[Path, str] = {}
    for text in paths:
        path = Path(text)
        if not path.exists():
            needed, remedy = "notebooks or folders of notebooks", "check the path"
            raise usage_error("grade", f"{text}, which is not there", needed, remedy)
        base = path if path.is_dir() else path.parent
        inside = sorted(path.rglob("*.ipynb")) if path.is_dir() else [path]
        for file in inside:
            if not any(part.startswith(".") for part in file.relative_to(base).parts):
                files.setdefault(file.resolve(), _student(file, base))
    if not files:
        got = f"{', '.join(map(str, paths))} without any .ipynb"
        remedy = "name the folder that holds the students' folders"
        raise usage_error("grade", got, "notebooks", remedy)
    found = sorted(
        (read(f, s) for f, s in files.items()), key=lambda h: (h.student, h.name, h.path)
    )
    return _numbered(found)


def _student(file: Path, base: Path) -> str:
    whole = file.absolute().parts
    if "submitted" in whole[:-2]:
        return whole[whole.index("submitted") + 1]
    inside = file.relative_to(base).parts
    if len(inside) > 1:
        return inside[0]
    return file.absolute().parent.name if file.stem in _course_notebooks() else file.stem


def _course_notebooks() -> dict[str, list[str]]:
    """Notebook's name -> the exercises that it grades; a name may be of several weeks."""
    found: dict[str, list[str]] = {}
    for name, folder in course.exercise_folders().items():
        week, _, short = name.partition("/")
        stem = course.notebooks_of(folder.parents[1], week).get(short, "")
        found.setdefault(stem, []).append(name)
    return found


def _numbered(found: list[SubmittedNotebook]) -> tuple[list[SubmittedNotebook], list[str]]:
    """Two notebooks of one student for the same exercises are two rows."""
    count = Counter((h.student, h.exercises or h.name) for h in found)
    notes, seen, result = [], Counter[object](), []
    for h in found:
        key = h.student, h.exercises or h.name
        seen[key] += 1
        if count[key] > 1:
            if seen[key] == 1:
                notes.append(
                    f"{h.student} has handed in {h.name} {count[key]} times; each is a row"
                )
            h = replace(h, student=f"{h.student} ({seen[key]})")
        result.append(h)
    return result, notes


def read(file: Path, student: str) -> SubmittedNotebook:
    """A notebook; one that cannot be read says why in `problem`."""
    submitted = SubmittedNotebook(student, file.stem, str(file))
    try:
        size = file.stat().st_size
        if size > _MOST_MIB << 20:
            return replace(submitted, problem=f"it has {size >> 20} MiB, more than {_MOST_MIB}")
        data = file.read_bytes()
    except OSError as error:
        return replace(submitted, problem=f"it cannot be read: {error.strerror}")
    submitted = replace(submitted, digest=hashlib.sha256(data).hexdigest())
    import nbformat

    try:
        cells = nbformat.reads(data.decode(), as_version=4).cells
        texts = [(str(c.cell_type), str(c.source)) for c in cells]
    except Exception:  # whatever stands in a file with this name
        return replace(submitted, problem="it is not a Jupyter notebook")
    code = tuple(text for kind, text in texts if kind == "code")
    tasks = tuple((m[1], text) for kind, text in texts if kind == "markdown"
                  and (m := _TASK.match(text)))  # fmt: skip
    known, graded = course.exercise_folders(), list(dict.fromkeys(GRADES.findall("\n".join(code))))
    own = _course_notebooks().get(file.stem, ())
    weeks = {name.partition("/")[0] for name in graded or own}
    if not graded and len(weeks) > 1:  # which week's it is, nobody can tell
        weeks = set()
    wanted = {*graded, *(name for name in own if name.partition("/")[0] in weeks)}
    exercises = tuple(name for name in known if name in wanted)
    unknown = tuple(name for name in graded if name not in known)
    problem = "" if exercises else "it grades no exercise of this course"
    return replace(submitted, cells=code, tasks=tasks, exercises=exercises, unknown=unknown,
                   problem=problem)  # fmt: skip


def without_grades(text: str) -> str:
    """A cell's code without the statements that grade an exercise; its lines keep their numbers."""
    if not GRADES.search(text):
        return text
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a magic in it, or a mistake
        return "\n".join("" if GRADES.search(line) else line for line in text.splitlines())
    lines = text.splitlines()
    for node in tree.body:
        if GRADES.search(ast.get_source_segment(text, node) or "") and node.end_lineno:
            lines[node.lineno - 1 : node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    return "\n".join(lines)
