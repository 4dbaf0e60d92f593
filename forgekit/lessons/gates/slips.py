"""Misconceptions, by what shows them: a finding, a number, or wrong values of a certain shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forgekit.lessons.gates.failure import Evidence, Slip

__all__ = ["counted", "found", "hinted", "looks_like"]


def found(kind: str, says: str, *, text: str = "") -> Slip:
    """The sanitizer's finding, or what stopped the kernel, is of this kind (a key of
    `forgekit.vgpu.sanitizer.finding.KINDS`), and its text contains `text`.
    """
    return Slip(says, lambda e: kind in e.kinds and text in e.text)


def hinted(text: str, says: str) -> Slip:
    """One of the facts that `fk.check` gives of wrong values contains this text."""
    return Slip(says, lambda e: any(text in hint for hint in e.hints))


def counted(when: Callable[[Any], bool], says: str) -> Slip:
    """The profile shows it."""
    return Slip(says, lambda e: e.counts is not None and when(e.counts))


def looks_like(alternative: Callable[..., Any], says: str) -> Slip:
    """The first result is wrong, and just what a certain mistake would give.

    alternative: of the call's arguments, what the first expected tensor would then hold.
    """

    def when(e: Evidence) -> bool:
        from forgekit.checking.check import compare

        if not e.got:
            return False
        position, tolerances = next(iter(e.got)), e.case.tolerances
        got = e.got[position]
        if compare(got, e.case.expected[position], **tolerances).ok:
            return False  # it is another result that is wrong
        return compare(got, alternative(*e.case.args), **tolerances).ok

    return Slip(says, when)
