"""Generate the exercise cells in a notebook's .py file, so that they always match the exercise.

For each exercise, the file has four cells, whose headers name the exercise and the part:

    # %% [markdown] exercise="week0/scale" part="task"
    # %% exercise="week0/scale" part="skeleton"
    # %% exercise="week0/scale" part="grade"
    # %% [markdown] exercise="week0/scale" part="solution"

`forgekit build-notebooks` fills the cells; `--check` reports cells that are out of date.
"""

from __future__ import annotations

import html
import re
import textwrap
from dataclasses import dataclass

from forgekit.errors import usage_error
from forgekit.lessons.exercise import Exercise, exercise

PARTS = ("task", "skeleton", "grade", "solution")
_CELL = re.compile(r"^# %%.*$", re.MULTILINE)
_OURS = re.compile(
    r'^# %%(?P<markdown> \[markdown\])?.*\bexercise="(?P<name>[^"]*)".*\bpart="(?P<part>[^"]*)"'
)
_WIDTH = 98  # width of a line after "# "
_MARKUP = re.compile(  # Markdown that must not begin a wrapped line
    r"\s*([-+*>] |[#|<]|```|\d+[.)] )|    "
)


@dataclass(frozen=True)
class _Cell:
    """An exercise cell in a .py file: the positions `start` and `end` of its text, and the content
    that it should have."""

    name: str
    part: str
    start: int
    end: int
    header: str
    held: str
    wanted: str

    @property
    def stale(self) -> bool:
        return self.held.strip("\n") != self.wanted.strip("\n")


def filled(text: str) -> str:
    """Return the text of a .py file with its exercise cells filled in.

    Raises:
        UsageError: an exercise or a part is unknown, missing or repeated.
    """
    out, last = "", 0
    for cell in _cells(text):
        if not cell.stale:
            continue
        out = (out + text[last : cell.start]).rstrip("\n")
        body = cell.wanted.strip("\n")
        following = text[cell.end :].partition("\n")[2]
        out += "\n" * _gap(out, body) + f"{cell.header}\n{body}" + "\n" * _gap(body, following)
        last = cell.end
    return (out + text[last:]).rstrip("\n") + "\n"


def first_stale(text: str) -> str | None:
    """Describe the first cell that is out of date; return None if there is none."""
    cell = next((c for c in _cells(text) if c.stale), None)
    return None if cell is None else f"the {cell.part} of exercise {cell.name} is out of date"


def _cells(text: str) -> list[_Cell]:
    starts = [m.start() for m in _CELL.finditer(text)]
    parts: dict[str, list[str]] = {}  # the parts of each exercise, in notebook order
    found = []
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        header, _, body = text[start:end].partition("\n")
        ours = _OURS.match(header)
        if ours is None:
            continue
        name, part = ours["name"], ours["part"]
        _check(name, part, bool(ours["markdown"]))
        parts.setdefault(name, []).append(part)
        wanted = _wanted(exercise(name), part, list(parts).index(name) + 1)
        found.append(_Cell(name, part, start, end, header, body, wanted))
    for name, seen in parts.items():
        if tuple(seen) != PARTS:
            remedy = "write its four cells in this order"
            raise usage_error(f"cells of {name}", tuple(seen), PARTS, remedy)
    return found


def _check(name: str, part: str, markdown: bool) -> None:
    if part not in PARTS:
        raise usage_error(f"part of {name}", repr(part), PARTS, "choose one of these")
    if markdown != (part in ("task", "solution")):
        kind = "a [markdown] cell" if not markdown else "a code cell"
        raise usage_error(f"{part} of {name}", "the wrong cell type", kind, "fix the header")


def _wanted(e: Exercise, part: str, number: int) -> str:
    if part == "skeleton":
        return e.source.skeleton
    if part == "grade":
        return f'fk.exercise("{e.name}").grade({e.entry})\n'
    if part == "task":
        hints = [f"<details><summary>Hint {k}</summary>\n\n{_fitted(hint)}\n\n</details>"
                 for k, hint in enumerate(e.hints, start=1)]  # fmt: skip
        text = "\n\n".join([f"### Exercise {number}: {e.title}", _fitted(e.task), *hints])
    else:
        title = html.escape(f"Solution of exercise {number}")
        text = f"<details><summary>{title}</summary>\n\n{_fitted(e.solution_text())}\n\n</details>"
    return "".join(f"# {line}".rstrip() + "\n" for line in text.splitlines())


def _gap(before: str, after: str) -> int:
    """Return the number of newlines between two cells. ruff requires two blank lines around a
    function or a class and its preceding comments."""
    last = before.strip("\n").rpartition("\n")[2]
    definition = re.match(r"\n*(#.*\n)*(@|def |class )", after)
    return 3 if definition or last.startswith((" ", "\t")) else 2


def _fitted(text: str) -> str:
    """Wrap the plain paragraphs of Markdown to fit in comments; keep code, tables and lists."""
    blocks, fenced = [], False
    for block in text.strip().split("\n\n"):
        plain = not fenced and not any(map(_MARKUP.match, block.splitlines()))
        fenced ^= block.count("```") % 2 == 1
        if plain and any(len(line) > _WIDTH for line in block.splitlines()):
            block = _wrapped(block)
        blocks.append(block)
    return "\n\n".join(blocks)


def _wrapped(block: str) -> str:
    """Return a paragraph wrapped at the largest width at which no line begins with markup."""
    for width in range(_WIDTH, _WIDTH - 20, -1):
        lines = textwrap.wrap(block, width, break_long_words=False, break_on_hyphens=False)
        if not any(map(_MARKUP.match, lines)):
            return "\n".join(lines)
    return block
