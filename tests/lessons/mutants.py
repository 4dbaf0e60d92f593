"""Generate mutants of every solution. Each mutant has a small change, which its exercise must
reject.

    python -m tests.lessons.mutants [NAME…]    all mutants, as a table; names such as week0/scale

Some changes are not mistakes, because results and costs stay the same. `EQUIVALENT` in the
exercise's wrong.py lists the names of such mutants, with reasons.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator

from forgekit.course import load_part
from forgekit.lessons.exercise import Exercise, all_exercises, exercise
from tests.lessons.submitted import load

_ORDERING = re.compile(
    r"^\s*cute\.arch\.(sync_threads|sync_warp|barrier|cp_async_\w+|mbarrier_\w+|fence\w*|"
    r"cluster_\w+)\(.*\)\s*$"
)
_IF = re.compile(r"^(\s*)if (?!cutlass\.const_expr)(.+):\s*(#.*)?$")
_INDEX = re.compile(r"\b([mgsr][A-Z]\w*)\[([^\[\]:]+)\]")
_IDENTITY = re.compile(r"(?<![\w.])(-?(?:0\.0|1\.0|0|1))(?![\w.])")


def mutants(solution: str) -> dict[str, str]:
    """Map the name of each change, such as `line 9: no predicate`, to the solution's text with this
    change."""
    lines = solution.splitlines()
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        for kind, changed in _of_line(line):
            text = [*lines[: number - 1], *changed, *lines[number:]]
            found.setdefault(f"line {number}: {kind}", "\n".join(text) + "\n")
    return found


def _of_line(line: str) -> Iterator[tuple[str, list[str]]]:
    code = line.partition("#")[0]
    if _ORDERING.match(code):
        indent = line[: len(line) - len(line.lstrip())]
        yield "nothing in its place", [f"{indent}pass"]
    found = _IF.match(line)
    if found:
        yield "no predicate", [f"{found[1]}if True:"]
        for sign, other in ((" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > ")):
            if sign in line:
                yield f"{sign.strip()} is {other.strip()}", [line.replace(sign, other, 1)]
    for k, at in enumerate(_INDEX.finditer(code)):
        if "None" in at[2] or "," in at[2] or at[2].strip().isdigit():
            continue
        shifted = f"{line[: at.start(2)]}{at[2]} + 1{line[at.end(2) :]}"
        yield f"index {k + 1} of {at[1]} one further", [shifted]
    if "cute.ceil_div(" in code:
        down = re.sub(
            r"cute\.ceil_div\(([^,()]+(?:\[[^\]]*\])?), ([^,()]+)\)", r"(\1) // (\2)", line
        )
        if down != line:
            yield "rounded down", [down]
    fixed = re.sub(r"grid=\([^,]+,", "grid=(64,", line)
    if fixed != line and "grid=" in code:
        yield "a fixed grid", [fixed]
    start = re.match(r"^(\s*\w+ = (?:(?:cutlass\.)?(?:Float|Int)32\()?)(-?[\d.]+)(\)?)\s*$", code)
    if start and _IDENTITY.fullmatch(start[2]):
        other = "1.0" if float(start[2]) != 1 else "0.0"
        yield f"begins with {other}", [f"{start[1]}{other}{start[3]}"]


def equivalent(e: Exercise) -> dict[str, str]:
    """Map the name of each of an exercise's mutants that is not a mistake to the reason."""
    return getattr(load_part(e.folder, "wrong"), "EQUIVALENT", {})


def survives(e: Exercise, text: str) -> bool:
    """Return True if a mutant passes the exercise's gates."""
    try:
        return bool(e.grade(load(e, text)))
    except SyntaxError:
        return False


def main(names: list[str]) -> int:
    os.environ["FORGEKIT_PROGRESS"] = "off"
    chosen = [exercise(n) for n in names] if names else all_exercises()
    alive = 0
    print("| exercise | mutants | refused | equivalent | passed |\n|---|---|---|---|---|")
    for e in chosen:
        made, known = mutants(e.source.solution), equivalent(e)
        left = [name for name, text in made.items() if name not in known and survives(e, text)]
        alive += len(left)
        refused = len(made) - len(left) - len(known)
        print(f"| {e.name} | {len(made)} | {refused} | {len(known)} | {'; '.join(left) or '–'} |",
              flush=True)  # fmt: skip
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
