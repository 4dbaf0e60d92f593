"""Fills in the recorded numbers: `uv run python book/make_readme.py`.

What stands between `<!-- numbers: NAME -->` and `<!-- /numbers -->` is written again, from the JSON
files in `measured/`: in the README, and in the page about the virtual GPU. `test_readme.py` and
`test_predicted_times.py` in `tests/book` fail where the two differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import predicted_times
from forgebook.groups import Group, groups

from forgekit.benching.suites.report import geometric_means
from forgekit.benching.suites.results import read_results

__all__ = ["BLOCKS", "PAGE", "README", "filled"]

ROOT = Path(__file__).resolve().parents[1]
README, MEASURED = ROOT / "README.md", ROOT / "book" / "measured"
PAGE = ROOT / "book" / "virtual_gpu.md"  # whose blocks are those of predicted_times
Blocks = Mapping[str, Callable[[], str]]

PEERS = ("torch", "torch.compile", "quack")
# The case whose share of the ceiling stands in the table.
SHOWN = {"copy_transpose": ((8192, 8192), "float16")}
SHOWN_ELSE = (32768, 4096), "bfloat16"
_BLOCK = re.compile(r"(<!-- numbers: (\w+) -->\n).*?(<!-- /numbers -->)", re.DOTALL)


def filled(text: str, blocks: Blocks | None = None) -> str:
    """A text with its numbers as the files have them; KeyError for a block nobody writes.

    blocks: name -> what writes it, the README's by default.
    """
    known = BLOCKS if blocks is None else blocks
    return _BLOCK.sub(lambda found: f"{found[1]}{known[found[2]]()}\n{found[3]}", text)


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    rows = [f"| {' | '.join(cells)} |".replace("|  |", "| |") for cells in (head, *body)]
    return "\n".join([rows[0], "|---" * len(head) + "|", *rows[1:]])


def _read(name: str) -> Any:
    return json.loads((MEASURED / name).read_text(encoding="utf-8"))


# -- operators -------------------------------------------------------------------------------------
def _operators() -> str:
    results = [read_results(MEASURED / f"{name}_h200.json")
               for name in ("reduce", "softmax", "transpose")]  # fmt: skip
    one = results[1].machines[0]
    found = [group for run in results for group in groups(run)]
    head = ["", "cases", *(f"against {peer}" for peer in PEERS), "of a copy's speed"]
    table = _table(head, [list(_operator(group)) for group in found])
    packages = {"torch": "torch", "quack-kernels": "quack"}
    used = [f"{name} {one.versions[p]}" for p, name in packages.items() if p in one.versions]
    dates = f"{results[1].date} (transposes: {results[2].date})"
    return f"On one {one.gpu}, {', '.join([dates, *used])}:\n\n{table}"


def _operator(group: Group) -> Iterator[str]:
    """Name, number of cases, speed against each peer, percent of the ceiling at one case."""
    yield group.title[:1].lower() + group.title[1:]
    yield str(len(group.cases()))
    means = geometric_means(group.results.rows)
    for peer in PEERS:
        mean = means.get(("forgekit", peer))
        yield f"{mean[0]:.2f}×" if mean else "–"
    own = [row for row in group.results.rows if row.contender == "forgekit"]
    shown = SHOWN.get(group.op, SHOWN_ELSE)
    percents = [
        group.results.percent(row) for row in own if (row.case.shape, row.case.dtype) == shown
    ]
    yield f"{percents[0]:.0f} %" if percents and percents[0] is not None else "–"


def _virtual() -> str:
    data = _read("vgpu.json")
    times = [row["triton_ms"] / row["vgpu_ms"] for row in data["rows"] if row["size"] == 1024]
    return (
        f"  A transpose, row sums and a softmax of 1,024 × 1,024 run {min(times):.0f} to "
        f"{max(times):.0f} times as fast as in Triton's interpreter, on one core of an "
        f"{data['processor']}, {data['date']}."
    )


def _predicted() -> str:
    times = predicted_times.held_out()
    kernels = len({s.number for s in times})
    return (
        f"Of {len(times)} times of {kernels} held-out kernels on one H200, "
        f"{predicted_times.accuracy()}."
    )


BLOCKS: Blocks = {"predicted": _predicted, "operators": _operators, "virtual": _virtual}


def main() -> None:
    for file, blocks in ((README, BLOCKS), (PAGE, predicted_times.BLOCKS)):
        text = file.read_text(encoding="utf-8")
        file.write_text(filled(text, blocks), encoding="utf-8")
        print(file.name)


if __name__ == "__main__":
    main()
