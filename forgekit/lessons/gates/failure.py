"""A group of gates, and what is said when one of them does not let a submission through."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forgekit.errors import is_user_file

if TYPE_CHECKING:
    from forgekit.lessons.gates.submission import Submission

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# A place in the compiler's words, `--> file:line`, and the lines of source that it shows there.
_PLACE = re.compile(
    r"^[ \t]*--> *(?P<file>[^\n]+?\.py):\d+[^\n]*(\n[ \t>]*\d*[ \t]*\|[^\n]*)*\n?", re.M
)


@dataclass
class GateError(Exception):
    """Why a gate is closed, for a student.

    happened: what was expected, what happened and where; likely: the misconception that leads
    there, if it is known; look_at: what to look at next. Each is text of one line or several.
    unanswered: nothing is wrong but that an answer still is missing, so it was no try.
    """

    happened: str
    likely: str = ""
    look_at: str = ""
    unanswered: bool = False

    def __post_init__(self) -> None:
        self.happened = _plain(self.happened)


@dataclass(frozen=True)
class Group:
    """Gates that belong together.

    name: the one idea, such as "Values" or "Bank conflicts"; run: raises GateError, or returns what
    is worth telling of the pass, such as "8 shapes in 3 types"; separate: whether it is judged even
    where a group before it was not passed, as one of several answers is.
    """

    name: str
    run: Callable[[Submission], str]
    separate: bool = False


def _plain(text: str) -> str:
    """Without colours, and without places that are not in a student's code."""
    text = _COLOUR.sub("", text)
    return _PLACE.sub(lambda m: m[0] if is_user_file(m["file"]) else "", text)
