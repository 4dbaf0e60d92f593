"""Gates: what a solution has to pass, in named groups of one idea each."""

from forgekit.lessons.gates.answers import answer, answers
from forgekit.lessons.gates.choices import choices, one_of
from forgekit.lessons.gates.clean import clean
from forgekit.lessons.gates.counters import Counter, counters
from forgekit.lessons.gates.economy import economical
from forgekit.lessons.gates.failure import GateError, Group, Slip
from forgekit.lessons.gates.pairs import Pair, key_of, keys
from forgekit.lessons.gates.python_function import python_function
from forgekit.lessons.gates.slips import counted, found, hinted, looks_like
from forgekit.lessons.gates.submission import Case, Submission
from forgekit.lessons.gates.values import values

__all__ = [
    "Case", "Counter", "GateError", "Group", "Pair", "Slip", "Submission",
    "answer", "answers", "choices", "clean", "counted", "counters", "economical", "found", "hinted",
    "key_of", "keys", "looks_like", "one_of", "python_function", "values",
]  # fmt: skip
