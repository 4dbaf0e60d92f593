"""Replace the markers in a .md file with generated Markdown while the book is built.

A marker is a comment that names the content: `<!-- made: exercises -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from forgebook import benchmarks, glossary, reference
from forgebook.course import ROOT, Notebook, anchor, notebooks, week_titles

__all__ = ["addressed", "filled", "is_made"]

_MARKER = re.compile(r"^<!-- made: ([a-z]+)(?: ([\w. ]+))? -->$", re.MULTILINE)
_PICTURE = re.compile(r"^!\[.+\]\(\.\./book/pictures/\w+\.svg\)$", re.MULTILINE)
_EXERCISE = re.compile(r"\]\([\w./]+\.ipynb(#exercise-[\w-]+)\)")
_CLONE = re.compile(r"(git clone (?:--depth 1 )?)URL\b")
_IN_PLACE = re.compile(r",\s+with\s+the\s+repository's\s+address\s+in\s+place\s+of\s+`URL`")


def is_made(text: str) -> bool:
    """Return True if a page contains a marker."""
    return bool(_MARKER.search(text))


def filled(text: str) -> str:
    """Return a page with its markers replaced and its links to exercises adapted to the book. Raise
    KeyError for an unknown marker.
    """
    if "<!-- made: glossary -->" in text:
        text = glossary.with_links(text)
    text = _EXERCISE.sub(r"](\1)", text)
    return _MARKER.sub(lambda found: _MAKERS[found[1]](found[2] or ""), text)


def addressed(text: str, repository: str) -> str:
    """Return a page with the repository's address in place of URL, if the address is known."""
    if not repository:
        return text
    return _IN_PLACE.sub("", _CLONE.sub(rf"\g<1>{repository}", text))


def _exercises(_: str) -> str:
    from forgekit.lessons.exercise import all_exercises  # a slow import

    standing = {name: nb for nb in notebooks() for name in nb.exercises}
    blocks, last = [], None
    for e in all_exercises():
        nb = standing.get(e.name)
        if (e.week, e.notebook) != last:
            last = (e.week, e.notebook)
            title = f"[{nb.title}](../{nb.path})" if nb else f"`{e.notebook}` (to come)"
            blocks.append(f"\n## {_week_word(e.week)}: {title}\n")
        name = f"[{e.title}](#{anchor(e.name)})" if nb else e.title
        gates = " · ".join(group.name for group in e.groups)
        blocks.append(f"- **{name}**, `{e.entry}`\n\n  {gates}")
    return "\n".join(blocks) + "\n"


def _week_word(week: str) -> str:
    return week.replace("week", "Week ")


def _weeks(_: str) -> str:
    blocks = []
    for folder, title in week_titles().items():
        held = [nb for nb in notebooks() if nb.week == folder]
        blocks.append(f"## {title}\n")
        blocks.append(f"{_picture(folder)}\n\n{_total(held)}\n\n{_table(held)}")
    return "\n".join(blocks)


def _picture(week: str) -> str:
    """Return the picture from the week's README, with its path adapted to the book."""
    found = _PICTURE.search((ROOT / week / "README.md").read_text("utf-8"))
    return found[0].replace("../book/", "") if found else ""


def _total(held: list[Notebook]) -> str:
    text, exercises = (sum(nb.minutes[k] for nb in held if nb.minutes) / 60 for k in (0, 1))
    return (
        f"{len(held)} notebooks, about {text:.2g} hours, and about {exercises:.2g} hours more for "
        f"{sum(len(nb.exercises) for nb in held)} exercises."
    )


def _table(held: list[Notebook]) -> str:
    rows = []
    for nb in held:
        promise = nb.promise[:1].upper() + nb.promise[1:]
        if nb.minutes:
            text, more = nb.minutes
            promise += f" {text} minutes, and {more} more for {len(nb.exercises)} exercises."
        rows.append(f"[{nb.title}](../{nb.path})\n: {promise}\n")
    return "\n".join(rows)


def _playground(_: str) -> str:
    """Return the playground of `fk.explore`, which initially shows a matrix divided into tiles."""
    from forgekit.layouts import Layout
    from forgekit.viz.explorer.page import playground_html

    matrix, tiler = Layout((6, 8), (8, 1)), "(2,4)"
    data = {"layout": str(matrix), "op": "zipped_divide", "by": tiler, "bits": 32, "steps": [],
            "address": True}  # fmt: skip
    words = f"Layout {matrix}, cut into tiles by zipped_divide with the tiler {tiler}"
    return f"```{{raw}} html\n{playground_html(data, matrix, words)}\n```"


def _film(_: str) -> str:
    """Return the animation of two transposes that `make_pictures.py` wrote."""
    return f"```{{raw}} html\n{(ROOT / 'book/pictures/film.html').read_text('utf-8')}\n```"


_MAKERS: dict[str, Callable[[str], str]] = {
    "benchmarks": benchmarks.made,
    "exercises": _exercises,
    "film": _film,
    "glossary": lambda _: "",
    "playground": _playground,
    "reference": reference.made,
    "weeks": _weeks,
}
