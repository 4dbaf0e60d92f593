"""Find the course on this machine: its folder, weeks, notebooks and exercises."""

from __future__ import annotations

import functools
import hashlib
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from forgekit.errors import usage_error

WEEKS = ("week0_copy_transpose", "week1_reduce", "week2_softmax")
FIRST_NOTEBOOK = f"{WEEKS[0]}/00_start_here.ipynb"

_GRADED = re.compile(r'fk\.exercise\(\\?"(\w+)/(\w+)\\?"\)\.grade')


def find_course(start: Path | None = None) -> Path | None:
    """Return the checkout that contains the course, or None if there is none.

    The search covers `start` (by default, the current folder) and the folders above it, then the
    checkout that contains forgekit, if any.
    """
    for folder in _candidates(start):
        if (folder / WEEKS[0]).is_dir() and (folder / "pyproject.toml").is_file():
            return folder
    return None


def week_folders(course: Path) -> Iterator[Path]:
    """Yield the folders of a checkout's weeks, in order."""
    return (course / week for week in WEEKS if (course / week).is_dir())


def week_title(week: str) -> str:
    """Return a week's title, such as "Week 0: copy and transpose" for `week0`."""
    operators = _name_of(week).partition("_")[2].replace("_", " and ")
    return f"Week {week.removeprefix('week')}: {operators}"


def _name_of(week: str) -> str:
    """Return the name of a week's folder, such as `week1_reduce` for `week1`; "" if there is no
    such week."""
    return next((name for name in WEEKS if name.startswith(f"{week}_")), "")


def _candidates(start: Path | None = None) -> list[Path]:
    """Return the folders that may contain weeks, nearest first."""
    here = (start or Path.cwd()).resolve()
    beside_package = [] if start else [Path(__file__).resolve().parents[1]]
    return [here, *here.parents, *beside_package]


# -- files recorded on a GPU --------------------------------------------------------------------
def recorded_files() -> dict[str, Path]:
    """Map names such as `week0/07_transpose` to the JSON files in the weeks' folders `recorded`
    that a search from the current folder finds."""
    return {
        f"{week}/{file.stem}": file
        for week, folder in _weeks_with("recorded")
        for file in sorted(folder.glob("recorded/[0-9]*.json"))
    }


def helper_files(week: str) -> list[Path]:
    """Return the modules that the notebooks of a week such as `week1` import from their folder."""
    return [file for name, folder in _weeks_with("exercises") if name == week
            for file in sorted(folder.glob(f"{week}_*.py"))]  # fmt: skip


# -- exercises ------------------------------------------------------------------------------------
def exercise_folders() -> dict[str, Path]:
    """Map each exercise's name to its folder, in notebook order.

    For each week, the search covers the current folder and the folders above it, which may be a
    student's copy of a single week, and then the checkout.
    """
    found: dict[str, Path] = {}
    for week, folder in _weeks_with("exercises"):
        held = {p.parent.name: p.parent for p in sorted(folder.glob("exercises/*/exercise.py"))}
        order = [short for short in notebooks_of(folder, week) if short in held]
        found |= {f"{week}/{short}": held[short] for short in [*order, *held]}
    return found


def exercise_folder(name: str) -> Path | None:
    """Return the folder of an exercise such as `week0/scale`, without searching for all exercises;
    None if it does not exist."""
    week, _, short = name.partition("/")
    place = dict(_weeks_with("exercises")).get(week)
    folder = place / "exercises" / short if place and short.isidentifier() else None
    return folder if folder and (folder / "exercise.py").is_file() else None


def _weeks_with(part: str) -> Iterator[tuple[str, Path]]:
    """For each week, yield its name and the nearest of its folders that contains the file or folder
    `part`, if any."""
    for week in (name.partition("_")[0] for name in WEEKS):
        if folder := next((f for f in _week_places(week) if (f / part).is_dir()), None):
            yield week, folder


def _week_places(week: str) -> Iterator[Path]:
    """Yield the possible folders of a week: those named after it, such as `week1_reduce`, among the
    current folder, the folders above it, and their subfolders; then the current folder, unless it
    is named after a week."""
    name = _name_of(week)
    for folder in _candidates():
        yield folder / name
        if folder.name == name:
            yield folder
    if Path.cwd().name not in WEEKS:
        yield Path.cwd().resolve()


def where_looked(week: str) -> str:
    """Return the part of an error message that lists the folders searched for a week's exercises;
    "" if there is no such week."""
    course = Path(__file__).resolve().parents[1]
    name = _name_of(week)
    return name and f"{name}/exercises in {Path.cwd()} or above it, or in {course}"


def notebooks_of(folder: Path, week: str) -> dict[str, str]:
    """Map each exercise's short name to the notebook that grades it, such as `07_transpose`, in
    notebook order."""
    halves = {p.stem: p for p in sorted(folder.glob("[0-9]*.ipynb"))}
    halves |= {p.stem: p for p in sorted(folder.glob("[0-9]*.py"))}  # preferred: smaller
    found: dict[str, str] = {}
    for stem, file in sorted(halves.items()):
        for of_week, short in _graded_in(file, file.stat().st_mtime_ns):
            if of_week == week:
                found.setdefault(short, stem)
    return found


@functools.lru_cache(maxsize=64)
def _graded_in(file: Path, changed: int) -> list[tuple[str, str]]:
    return _GRADED.findall(file.read_text(encoding="utf-8"))


def load_part(folder: Path, part: str) -> ModuleType:
    """Import a module such as `exercise` or `wrong` from an exercise's folder, or from the folder
    `exercises`.

    The folder `exercises` is imported as a package, so `from ..shared import x` imports code that a
    week's exercises share.

    Raises:
        UsageError: the module does not exist.
    """
    if not (folder / f"{part}.py").is_file():
        remedy = f"write {part}.py there; CONTRIBUTING.md describes its content"
        raise usage_error(folder.name, f"no {part}.py", "one in its folder", remedy)
    inside = folder.name != "exercises"
    exercises = (folder.parent if inside else folder).resolve()
    digest = hashlib.sha256(str(exercises).encode()).hexdigest()[:12]
    package = f"forgekit_exercises_{digest}"
    if package not in sys.modules:
        module = ModuleType(package, f"The exercises in {exercises.parent.name}.")
        module.__path__ = [str(exercises)]
        sys.modules[package] = module
    inner = f"{folder.name}." if inside else ""
    return importlib.import_module(f"{package}.{inner}{part}")
