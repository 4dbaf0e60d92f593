"""Print the sanitizer's findings in the bank as Markdown tables: python -m tests.sanitizer.table.

A planted bug counts under its best kind, and counts as found if a finding has one of its kinds. A
false alarm is an error reported in a correct kernel under any schedule. A stray is an error in a
mutant that the mutant's bug does not explain.
"""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from collections.abc import Sequence

from tests.sanitizer import bank
from tests.sanitizer.judge import complaints, judge, virtual_gpu

KINDS = ("kind", "planted", "found", "of these in adversarial schedules", "right lines", "strays")
TOPICS = ("topic", "correct kernels", "false alarms", "planted bugs")
SEEDS = 3


def by_kind() -> list[tuple[object, ...]]:
    """Return one row per kind of finding; the columns are KINDS."""
    planted, found, adversarial, lines, strays = (Counter[str]() for _ in range(5))
    for mutant in bank.planted():
        kind = mutant.bug.kinds[0]
        verdict = judge(mutant)
        planted[kind] += 1
        found[kind] += verdict.found
        adversarial[kind] += verdict.found and mutant.bug.seeds > 0
        lines[kind] += verdict.found and verdict.lines
        strays.update(stray.split()[0] for stray in verdict.stray)
    kinds = sorted({*planted, *strays})
    return [(k, planted[k], found[k], adversarial[k], lines[k], strays[k]) for k in kinds]


def by_topic() -> list[tuple[object, ...]]:
    """Return one row per module of the bank; the columns are TOPICS."""
    correct, false, planted = (Counter[str]() for _ in range(3))
    for family in bank.families():
        topic = _topic(family)
        correct[topic] += 1
        planted[topic] += len(family.bugs)
        false[topic] += len(complaints(family, seeds=SEEDS))
    return [(t, correct[t], false[t], planted[t]) for t in sorted(correct)]


def _topic(family: bank.Family) -> str:
    module = sys.modules[inspect.unwrap(family.host).__module__]
    return str(module.__doc__).partition("\n")[0].rstrip(".")


def markdown(header: Sequence[str], rows: Sequence[tuple[object, ...]]) -> str:
    """Format the rows as a Markdown table, with a row of totals."""
    totals = [sum(column) for column in list(zip(*rows, strict=True))[1:]]  # type: ignore[arg-type]
    body = [header, ("---", *["---:"] * len(totals)), *rows, ("all", *totals)]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in body)


def main() -> None:
    with virtual_gpu():
        print(markdown(KINDS, by_kind()), end="\n\n")
        print(markdown(TOPICS, by_topic()))


if __name__ == "__main__":
    main()
