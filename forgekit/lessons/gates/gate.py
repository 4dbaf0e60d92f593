"""Define the gates' errors, and the misconceptions that gates recognise by evidence."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from forgekit.errors import KernelError, is_user_file
from forgekit.text import without_colours

# A location in the compiler's text, `--> file:line`, and the source lines that follow.
_PLACE = re.compile(
    r"^[ \t]*--> *(?P<file>[^\n]+?\.py):\d+[^\n]*(\n[ \t>]*\d*[ \t]*\|[^\n]*)*\n?", re.M
)


@dataclass
class GateError(Exception):
    """A failed gate, explained to a student.

    happened: the expectation, the failure and its location. likely: the misconception that probably
    caused it, if known. look_at: the suggested next step. Each consists of one or more lines.
    unanswered: True if the only problem is a missing answer, which does not count as a try.
    """

    happened: str
    likely: str = ""
    look_at: str = ""
    unanswered: bool = False

    def __post_init__(self) -> None:
        self.happened = _plain(self.happened)


class UnexplainedError(GateError):
    """A wrong result whose cause is not proven."""


def _plain(text: str) -> str:
    """Remove colours, and locations outside the student's code."""
    shown = without_colours(text)
    return _PLACE.sub(lambda m: m[0] if is_user_file(m["file"]) else "", shown)


# -- misconceptions: shown by a finding, a number, or a pattern of wrong values -------------
@dataclass(frozen=True)
class Evidence:
    """The evidence by which a misconception is recognised.

    kinds: the kinds of the sanitizer's findings (except notes, which may be intended), or of the
    error that stopped the kernel, such as "shared-race" or "out-of-bounds". hints: the facts that
    `fk.check` reports about wrong values. got: parameter position -> the tensor after the run.
    case: the call. counts: the profile. error: the error that stopped the kernel. time: the
    predicted time. never: the wrong elements of the first wrong result that no thread stored.
    Fields that do not apply are empty or None.
    """

    kinds: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    text: str = ""
    got: dict[int, Any] | None = None
    case: Any = None
    counts: Any = None
    error: KernelError | None = None
    time: Any = None
    never: Any = None


@dataclass(frozen=True)
class Misconception:
    """A misconception and its evidence.

    says: the explanation for the student, one or two sentences. when: returns True if the evidence
    shows this misconception; an exception counts as False.
    """

    says: str
    when: Callable[[Evidence], bool]


def explained(known: Sequence[Misconception], evidence: Evidence, otherwise: str = "") -> str:
    """Return the explanation of the first misconception that the evidence shows, or `otherwise`."""
    for one in known:
        try:
            if one.when(evidence):
                return one.says
        except Exception:  # the evidence lacks the field that this one inspects
            continue
    return otherwise


def found(kind: str, says: str, *, text: str = "") -> Misconception:
    """Recognise a mistake by a sanitizer finding, or the error that stopped the kernel, whose kind
    (a key of the sanitizer's `KINDS`) is `kind` and whose text contains `text`.
    """
    return Misconception(says, lambda e: kind in e.kinds and text in e.text)


def hinted(text: str, says: str) -> Misconception:
    """Recognise a mistake by `text` in one of the facts that `fk.check` reports about wrong
    values."""
    return Misconception(says, lambda e: any(text in hint for hint in e.hints))


def counted(when: Callable[[Any], bool], says: str) -> Misconception:
    """Recognise a mistake by the profile."""
    return Misconception(says, lambda e: e.counts is not None and when(e.counts))


def looks_like(
    alternative: Callable[..., Any],
    says: str,
    *,
    rtol: float | None = None,
    unstored: bool = False,
) -> Misconception:
    """Recognise a mistake by its result, which equals the first wrong result.

    alternative: a function of the call's arguments that returns the resulting content of the first
    expected tensor, or a tuple with one entry per expected tensor, in which None marks a tensor
    that stays right despite the mistake. rtol: the allowed difference, for mistakes that increase
    rounding errors; the right result must differ more. By default it is the tolerance of the call's
    right result. unstored: True if NaN in `alternative` marks elements that no thread stores; if
    False, a result with wrong elements that no thread stored does not match.
    """

    def when(e: Evidence) -> bool:
        from forgekit.checking.compare import compare

        tolerances, results = e.case.tolerances, list((e.got or {}).items())
        wrong = (not compare(of, e.case.expected[k], **tolerances).ok for k, of in results)
        number = next((n for n, bad in enumerate(wrong) if bad), None)
        if number is None:
            return False
        got, made = results[number][1], alternative(*e.case.args)
        allowed = tolerances if rtol is None else tolerances | {"rtol": rtol}
        if number or isinstance(made, tuple):
            made = made[number] if isinstance(made, tuple) else None
        if made is None:
            return False
        if unstored:
            if e.never is None or not e.never.any() or not made[e.never].isnan().all():
                return False
            got, made = got.masked_fill(e.never, 0), made.masked_fill(e.never, 0).to(got.dtype)
        elif e.never is not None and e.never.any():
            return False
        want = e.case.expected[results[number][0]]
        if rtol is not None and compare(want, made, **allowed).ok:
            return False  # the right result is equally close
        return compare(got, made, **allowed).ok

    return Misconception(says, when)


def _one_number_above(e: Evidence) -> bool:
    """Return True if the first wrong result is the expected result clamped from below at a whole
    number k ≤ 0. If k is not 0, neither k nor -k may be an element of an input."""
    for position, got in (e.got or {}).items():
        want = e.case.expected[position]
        if (got != want).any():
            least = got[got != want][0]
            inputs = (x for x in e.case.args if hasattr(x, "abs") and x.is_floating_point())
            given = least != 0 and any((x.double().abs() == least.abs()).any() for x in inputs)
            whole = bool(least <= 0 and least == least.round())
            return whole and not given and bool((got == want.clamp(min=least)).all())
    return False


FINITE_START = Misconception(
    "every wrong element is the same number, which exceeds every element of its row: that number "
    "is treated as an element. Start a maximum at −∞.",
    _one_number_above,
)
