"""Define the errors that gates raise, and the misconceptions that gates recognise."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from forgekit.errors import KernelError, is_user_file
from forgekit.text import without_colours

# A location in a compiler message, `--> file:line`, and the source lines below it.
_PLACE = re.compile(
    r"^[ \t]*--> *(?P<file>[^\n]+?\.py):\d+[^\n]*(\n[ \t>]*\d*[ \t]*\|[^\n]*)*\n?", re.M
)

LOOKS_LIKE = "Looks like: "  # begins a reason that a mistake's values suggest but do not prove


@dataclass
class GateError(Exception):
    """Raised by a gate that fails; explains the failure to the student.

    happened: what the gate expected, what happened, and where. likely: the reason, or "". It starts
    with `LOOKS_LIKE` if only the wrong values suggest it. look_at: the suggested next step, or "".
    unanswered: True if the only problem is a missing answer, which does not count as a try.
    group: the name of the failed group, if it is not the one that runs.
    """

    happened: str
    likely: str = ""
    look_at: str = ""
    unanswered: bool = False
    group: str = ""

    def __post_init__(self) -> None:
        self.happened = _plain(self.happened)

    @property
    def reason(self) -> str:
        """Return the reason with its label, `Why: ` or `LOOKS_LIKE`; "" if there is none."""
        known = not self.likely or self.likely.startswith(LOOKS_LIKE)
        return self.likely if known else f"Why: {self.likely}"


class UnexplainedError(GateError):
    """Raised for a wrong result whose cause is not proven."""


class UnconfirmedError(GateError):
    """Raised for a mistake that only one or two wrong values suggest."""


def _plain(text: str) -> str:
    """Remove colour codes, and locations outside the student's code."""
    shown = without_colours(text)
    return _PLACE.sub(lambda m: m[0] if is_user_file(m["file"]) else "", shown)


# -- misconceptions: recognised by findings, counts, or patterns of wrong values -------------
@dataclass(frozen=True)
class Evidence:
    """The facts about a failed call by which a misconception is recognised.

    kinds: the types of the sanitizer's findings (except notes, which may be intended), or of the
    error that stopped the kernel, such as "shared-race" or "out-of-bounds". text: the sanitizer's
    report, the error or the check, as text. hints: the patterns of wrong values that `fk.check`
    reports. got: maps an output's position to the tensor after the call. case: the call. counts:
    the profile. error: the error that stopped the kernel. time: the predicted time. never: a mask
    of the first wrong result's wrong elements that no thread stored. Fields that do not apply are
    empty or None.
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
    """A student's misconception and the test that recognises it.

    says: the explanation to the student, in one or two sentences. when: returns True if the
    evidence shows this misconception; an exception counts as False.
    """

    says: str
    when: Callable[[Evidence], bool]


def explained(known: Sequence[Misconception], evidence: Evidence, otherwise: str = "") -> str:
    """Return the explanation of the first misconception that the evidence shows, or `otherwise`."""
    for one in known:
        try:
            if one.when(evidence):
                return one.says
        except Exception:  # the evidence lacks a field that `when` inspects
            continue
    return otherwise


def found(kind: str, says: str, *, text: str = "") -> Misconception:
    """Return a Misconception recognised by a sanitizer finding, or by the error that stopped the
    kernel, whose type is `kind` (a key of the sanitizer's `KINDS`) and whose text contains `text`.
    """
    return Misconception(says, lambda e: kind in e.kinds and text in e.text)


def hinted(text: str, says: str) -> Misconception:
    """Return a Misconception recognised by `text` in a pattern of wrong values that `fk.check`
    reports."""
    return Misconception(says, lambda e: any(text in hint for hint in e.hints))


def counted(when: Callable[[Any], bool], says: str) -> Misconception:
    """Return a Misconception recognised by the profile."""
    return Misconception(says, lambda e: e.counts is not None and when(e.counts))


def looks_like(
    alternative: Callable[..., Any],
    says: str,
    *,
    rtol: float | None = None,
    unstored: bool = False,
) -> Misconception:
    """Return a Misconception recognised by the result that it produces.

    alternative: computes, from the call's arguments, the content of the first output if the kernel
    has the mistake; or a tuple with one entry per output, None for an output that stays right. The
    call's first wrong output must match it. rtol: a larger tolerance, for mistakes that increase
    rounding errors; the right result must differ by more than this. The default is the call's
    tolerance. unstored: True if NaN in the alternative result marks elements that no thread stores;
    if False, an output with wrong elements that no thread stored does not match.
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
            return False  # the right result also matches
        return compare(got, made, **allowed).ok

    return Misconception(LOOKS_LIKE + says, when)


def _one_number_above(e: Evidence) -> bool:
    """Return True if the first wrong output equals the expected output clamped from below at an
    integer k ≤ 0, where, unless k is 0, neither k nor -k occurs in an input."""
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
    LOOKS_LIKE + "a maximum includes a number that is not an element: every wrong element is this "
    "number, which exceeds the expected one. If the maximum starts there, start it at −∞.",
    _one_number_above,
)
