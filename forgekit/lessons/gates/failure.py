"""A group of gates, and what is said when one of them does not let a solution through."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forgekit.errors import KernelError, is_user_file

if TYPE_CHECKING:
    from forgekit.lessons.gates.submission import Submission

__all__ = ["Evidence", "GateError", "Group", "Slip", "explained"]

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
class Evidence:
    """What a slip is recognised by.

    kinds: of the sanitizer's findings or of the error that stopped the kernel (such as
    "shared-race", "out-of-bounds"); hints: facts about wrong values, as `fk.check` gives them;
    got: parameter's position -> the tensor after the run; case: the call; counts: the profile;
    error: what stopped the kernel. What does not apply is empty or None.
    """

    kinds: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    text: str = ""
    got: dict[int, Any] | None = None
    case: Any = None
    counts: Any = None
    error: KernelError | None = None


@dataclass(frozen=True)
class Slip:
    """A misconception and how it shows.

    says: what is said of it, one or two sentences to the student. when: whether the evidence is
    of this slip; one that raises counts as no.
    """

    says: str
    when: Callable[[Evidence], bool]


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


def explained(slips: Sequence[Slip], evidence: Evidence, otherwise: str = "") -> str:
    """What is said of the first slip that the evidence shows, or `otherwise`."""
    for slip in slips:
        try:
            if slip.when(evidence):
                return slip.says
        except Exception:  # the evidence has not what this slip looks at
            continue
    return otherwise
