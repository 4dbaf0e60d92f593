"""Read from the notebooks what the pages state about them: titles, sections, terms, exercises."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forgekit.course import WEEKS, week_folders, week_title

__all__ = ["ROOT", "Notebook", "Section", "anchor", "notebooks", "read", "slug", "week_titles"]

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(r"^\s*(```|~~~)")
_HEADING = re.compile(r"^(#{1,6}) +(?!Exercise \d+:)(.+?)\s*$")  # except headings of exercises
_BOLD = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)
_PROMISE = re.compile(r"\*\*You will build\*\*\s+(.+?)(?=\s\*\*You\s|\n\n|\Z)", re.DOTALL)
_MINUTES = re.compile(r"About (\d+) minutes, and (\d+) more for the (?:\w+ )?exercises")


@dataclass(frozen=True)
class Section:
    """A notebook's heading and the bold terms below it."""

    title: str
    slug: str
    terms: tuple[str, ...] = ()


@dataclass(frozen=True)
class Notebook:
    """A parsed notebook.

    path: the path relative to the course's root, with the suffix; minutes: those for the text and
    those for the exercises; exercises: the exercises' names.
    """

    path: str
    title: str
    promise: str
    minutes: tuple[int, int] | None
    sections: tuple[Section, ...]
    exercises: tuple[str, ...]

    @property
    def name(self) -> str:
        return Path(self.path).stem

    @property
    def week(self) -> str:
        return Path(self.path).parts[0]


def slug(title: str) -> str:
    """Return the anchor that MyST generates for a heading by GitHub's rule."""
    plain = re.sub(r"[`*]", "", title)
    return re.sub(r"[^\w\- ]", "", plain.lower().replace(" ", "-"))


def anchor(exercise: str) -> str:
    """Return the anchor of the task of an exercise such as "week0/scale"."""
    return "exercise-" + exercise.replace("/", "-").replace("_", "-")


def read(path: Path) -> Notebook:
    """Read a built notebook."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"]
    first = texts[0] if texts else ""
    promise, minutes = _PROMISE.search(first), _MINUTES.search(" ".join(first.split()))
    sections = _sections(texts)
    return Notebook(
        path=path.relative_to(ROOT).as_posix(),
        title=sections[0].title if sections else path.stem,
        promise=" ".join(promise[1].split()) if promise else "",
        minutes=(int(minutes[1]), int(minutes[2])) if minutes else None,
        sections=sections,
        exercises=tuple(_exercises(cells)),
    )


def _exercises(cells: list[dict[str, Any]]) -> list[str]:
    return [c["metadata"]["exercise"] for c in cells if c["metadata"].get("part") == "task"]


def _sections(texts: list[str]) -> tuple[Section, ...]:
    found: list[tuple[str, list[str]]] = []
    for text in texts:
        fenced = False
        for line in text.splitlines():
            fenced ^= bool(_FENCE.match(line))
            heading = None if fenced else _HEADING.match(line)
            if heading:
                found.append((heading[2], []))
            elif found and not fenced:
                found[-1][1].append(line)
        if found:
            found[-1][1].append("")
    return tuple(
        Section(title, slug(title), tuple(_plain(b) for b in _BOLD.findall("\n".join(lines))))
        for title, lines in found
    )


def _plain(term: str) -> str:
    return " ".join(term.replace("*", "").replace("`", "").split()).rstrip(".:,").lower()


@functools.cache
def notebooks() -> tuple[Notebook, ...]:
    """Return all built notebooks in the order of the course."""
    return tuple(read(p) for folder in week_folders(ROOT) for p in sorted(folder.glob("*.ipynb")))


def week_titles() -> dict[str, str]:
    """Map each week's folder to its title, such as "Week 0: copy and transpose"."""
    return {week: week_title(week.partition("_")[0]) for week in WEEKS}
