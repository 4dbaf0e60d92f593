"""Where the course lies on this machine: its folder, its weeks, its first notebook."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

__all__ = ["FIRST_NOTEBOOK", "WEEKS", "find_course", "week_folders"]

WEEKS = ("week0_copy_transpose", "week1_reduce", "week2_softmax")
FIRST_NOTEBOOK = f"{WEEKS[0]}/00_start_here.ipynb"


def find_course(start: Path | None = None) -> Path | None:
    """The checkout that holds the course, or None where forgekit was installed without it.

    Looks from `start` upwards; without it, from the current folder, then beside the package itself.
    """
    here = (start or Path.cwd()).resolve()
    beside_package = [] if start else [Path(__file__).resolve().parents[2]]
    for folder in (here, *here.parents, *beside_package):
        if (folder / WEEKS[0]).is_dir() and (folder / "pyproject.toml").is_file():
            return folder
    return None


def week_folders(course: Path) -> Iterator[Path]:
    """The folders of the weeks that this checkout has, in their order."""
    return (course / week for week in WEEKS if (course / week).is_dir())
