"""Print what the sanitizer finds in the bank, as a Markdown table: python -m tests.sanitizer.table.

A planted bug counts under the best name of its kinds, and as found if a finding bears one of them;
a false alarm is an error found in a correct kernel, or in a mutant beside what its bug explains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import forgekit as fk
from tests.sanitizer import bank
from tests.sanitizer.judge import judge, virtual_gpu

HEADER = ("kind", "planted", "found", "right lines", "false alarms")


def rows() -> list[tuple[str, int, int, int, int]]:
    """A row for each kind of finding: how many planted, found, with the right lines, false."""
    planted, found, lines, false = (Counter[str]() for _ in range(4))
    for mutant in bank.planted():
        kind = mutant.bug.kinds[0]
        verdict = judge(mutant)
        planted[kind] += 1
        found[kind] += verdict.found
        lines[kind] += verdict.found and verdict.lines
        false.update(stray.split()[0] for stray in verdict.stray)
    for family in bank.families():
        args = family.args()
        report = fk.sanitize(bank.compile_correct(family, args), *args)
        false.update(f.kind for f in report.findings if f.kind not in bank.NOTES)
    kinds = sorted({*planted, *false})
    return [(k, planted[k], found[k], lines[k], false[k]) for k in kinds]


def markdown(rows: Sequence[tuple[object, ...]]) -> str:
    """The rows as a Markdown table, with a row of totals."""
    totals = [sum(column) for column in list(zip(*rows, strict=True))[1:]]  # type: ignore[arg-type]
    body = [HEADER, ("---", *["---:"] * 4), *rows, ("all", *totals)]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in body)


def main() -> None:
    with virtual_gpu():
        print(markdown(rows()))
    print(f"\n{len(bank.families())} correct kernels.")


if __name__ == "__main__":
    main()
