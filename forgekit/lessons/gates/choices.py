"""A gate on several questions whose answers are words out of a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from forgekit.lessons.gates.failure import GateError, Group
from forgekit.lessons.gates.submission import Submission

__all__ = ["choices", "one_of"]


def one_of(
    question: str, got: Any, words: Sequence[str], names: Mapping[str, str] | None = None
) -> str:
    """The word that was meant, case and blanks apart. Raises GateError if it is none of `words`."""
    asked = " ".join(got.split()).lower() if isinstance(got, str) else got
    known = {w.lower(): w for w in words} | {k.lower(): w for k, w in (names or {}).items()}
    if not isinstance(asked, str) or asked not in known:
        listed = ", ".join(f'"{w}"' for w in words)
        raise GateError(f"{question!r}: {got!r:.100} is not one of: {listed}.")
    return known[asked]


def choices(
    right: Mapping[str, str],
    words: Sequence[str],
    slips: Mapping[tuple[str, str], str],
    *,
    names: Mapping[str, str] | None = None,
    name: str,
    look_at: str,
) -> Group:
    """A group of questions; a dict of words is handed in.

    It says how many are wrong and explains the first of them, without naming the others: there are
    few words, and trying them one by one teaches nothing.

    Args:
        right: question -> the word. words: what may be answered; names: other names of these.
        slips: (question, wrong word) -> what speaks against it.
    """

    def run(handed_in: Submission) -> str:
        given = handed_in.value
        if not isinstance(given, Mapping):
            raise GateError(f"Needed is the dict of the skeleton; handed in was {given!r:.200}.")
        open_ = [repr(q) for q in right if given.get(q) is None or given[q] is ...]
        if open_:
            raise GateError(f"No answer yet: {', '.join(open_)}.", unanswered=True)
        said = {q: one_of(q, given[q], words, names) for q in right}
        wrong = [q for q, word in said.items() if word != right[q]]
        if wrong:
            are = "is" if len(wrong) == 1 else "are"
            begin = "" if len(wrong) == 1 else "of the first of them: "
            why = slips.get((wrong[0], said[wrong[0]]), "")
            raise GateError(
                f"{len(wrong)} of {len(right)} {are} not right.", why and begin + why, look_at
            )
        return f"{len(right)} answers"

    return Group(name, run)
