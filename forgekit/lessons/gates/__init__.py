"""Define the gates: the tests that a submission must pass. Each named group of gates tests one
idea."""

from forgekit.lessons.gates.answers import (
    Pair,
    answer,
    answers,
    choices,
    key_of,
    keys,
    one_of,
    python_function,
)
from forgekit.lessons.gates.clean import clean
from forgekit.lessons.gates.counters import Counter, counters, read_at_most
from forgekit.lessons.gates.economy import economical
from forgekit.lessons.gates.gate import (
    FINITE_START,
    Evidence,
    GateError,
    Misconception,
    counted,
    found,
    hinted,
    looks_like,
)
from forgekit.lessons.gates.large import large_calls
from forgekit.lessons.gates.speed import faster_than_given
from forgekit.lessons.gates.submission import Case, Group, Submission
from forgekit.lessons.gates.values import values

__all__ = [
    "FINITE_START", "Case", "Counter", "Evidence", "GateError", "Group", "Misconception", "Pair",
    "Submission",
    "answer", "answers", "choices", "clean", "counted", "counters", "economical",
    "faster_than_given", "found", "hinted", "key_of", "keys", "large_calls", "looks_like", "one_of",
    "python_function", "read_at_most", "values",
]  # fmt: skip
