"""Pages of the book that are made while it is built: each a marker in a .md, filled with Markdown.

The marker is a comment that names what belongs there: `<!-- made: exercises -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from forgebook import benchmarks, glossary, reference
from forgebook.course import Notebook, anchor, notebooks, week_titles

__all__ = ["filled", "is_made"]

_MARKER = re.compile(r"^<!-- made: ([a-z]+)(?: ([\w.]+))? -->$", re.MULTILINE)


def is_made(text: str) -> bool:
    """Whether a page has something that is made while the book is built."""
    return bool(_MARKER.search(text))


def filled(text: str) -> str:
    """A page with its markers filled; KeyError for a marker that nothing makes."""
    if "<!-- made: glossary -->" in text:
        text = glossary.with_links(text)
    return _MARKER.sub(lambda found: _MAKERS[found[1]](found[2] or ""), text)


def _exercises(_: str) -> str:
    from forgekit.lessons.exercise import all_exercises  # imports torch and the compiler

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
        blocks.append(_table(held) if held else _to_come(folder))
    return "\n".join(blocks)


def _table(held: list[Notebook]) -> str:
    rows = []
    for nb in held:
        minutes = f" {nb.minutes} minutes." if nb.minutes else ""
        exercises = f" {len(nb.exercises)} exercises." if nb.exercises else ""
        promise = nb.promise[:1].upper() + nb.promise[1:]
        rows.append(f"[{nb.title}](../{nb.path})\n: {promise}{minutes}{exercises}\n")
    return "\n".join(rows)


def _to_come(folder: str) -> str:
    return f"To come; [what it will hold](../{folder}/README.md).\n"


_MAKERS: dict[str, Callable[[str], str]] = {
    "benchmarks": benchmarks.made,
    "exercises": _exercises,
    "glossary": lambda _: "",
    "reference": reference.made,
    "weeks": _weeks,
}
