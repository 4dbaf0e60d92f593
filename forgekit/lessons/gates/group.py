"""A group of gates: what a submission is taken through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from forgekit.lessons.gates.submission import CallKey, Submission


@dataclass(frozen=True)
class Group:
    """Gates that belong together.

    name: the one idea, such as "Values" or "Bank conflicts"; run: raises GateError, or returns what
    is worth telling of the pass, such as "8 shapes in 3 types"; separate: True if it is judged even
    where a group before it was not passed, as one of several answers is. sanitizes: the calls for
    which it wants the sanitizer's findings, so that a group before it collects them as well.
    """

    name: str
    run: Callable[[Submission], str]
    separate: bool = False
    sanitizes: tuple[CallKey, ...] = ()
