"""Fills the README's tables from the recorded numbers: `uv run python book/make_readme.py`.

What stands between `<!-- numbers: NAME -->` and `<!-- /numbers -->` is written again, from the JSON
files in `measured/`. tests/book/test_readme.py fails where the two differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from forgebook.groups import Group, groups

from forgekit.benching.suites.report import geometric_means
from forgekit.benching.suites.results import read_results

__all__ = ["BLOCKS", "README", "filled"]

ROOT = Path(__file__).resolve().parents[1]
README, MEASURED = ROOT / "README.md", ROOT / "book" / "measured"

PEERS = ("torch", "torch.compile", "quack")
SHOWN = (32768, 4096), "bfloat16"  # the case whose share of the ceiling stands in the table
TRANSPOSES = ((8192, 8192, "float16"), (8192, 8192, "float32"), (1048576, 64, "float16"),
              (8191, 8193, "float16"))  # fmt: skip
VIRTUAL = {
    "transpose": "transpose through padded shared memory",
    "row_sum": "row sum with warp shuffles",
    "softmax": "row softmax",
}
_BLOCK = re.compile(r"(<!-- numbers: (\w+) -->\n).*?(<!-- /numbers -->)", re.DOTALL)


def filled(text: str) -> str:
    """The README with its numbers as the files have them; KeyError for a block nobody writes."""
    return _BLOCK.sub(lambda found: f"{found[1]}{BLOCKS[found[2]]()}\n{found[3]}", text)


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    rows = [f"| {' | '.join(cells)} |".replace("|  |", "| |") for cells in (head, *body)]
    return "\n".join([rows[0], "|---" * len(head) + "|", *rows[1:]])


def _read(name: str) -> Any:
    return json.loads((MEASURED / name).read_text(encoding="utf-8"))


# -- operators -------------------------------------------------------------------------------------
def _operators() -> str:
    results = [read_results(MEASURED / f"{name}_h200.json") for name in ("reduce", "softmax")]
    one = results[-1].machines[0]
    found = [group for run in results for group in groups(run)]
    (m, n), dtype = SHOWN
    head = ["", "cases", *(f"against {peer}" for peer in PEERS), f"{m:,} × {n:,} {dtype}"]
    table = _table(head, [list(_operator(group)) for group in found])
    packages = {"torch": "torch", "quack-kernels": "quack"}
    used = [f"{name} {one.versions[p]}" for p, name in packages.items() if p in one.versions]
    return f"On one {one.gpu}, {', '.join([results[-1].date, *used])}:\n\n{table}"


def _operator(group: Group) -> Iterator[str]:
    """Name, number of cases, speed against each peer, percent of the ceiling at one case."""
    yield group.title[:1].lower() + group.title[1:]
    yield str(len(group.cases()))
    means = geometric_means(group.results.rows)
    for peer in PEERS:
        mean = means.get(("forgekit", peer))
        yield f"{mean[0]:.2f}×" if mean else "–"
    own = [row for row in group.results.rows if row.contender == "forgekit"]
    percents = [
        group.results.percent(row) for row in own if (row.case.shape, row.case.dtype) == SHOWN
    ]
    yield f"{percents[0]:.0f} %" if percents and percents[0] is not None else "–"


# -- transposes ------------------------------------------------------------------------------------
def _transposes() -> str:
    data = _read("transpose_h200.json")
    body = []
    for row in data["rows"]:
        if (row["rows"], row["columns"], row["dtype"]) in TRANSPOSES:
            rates = row["gb_per_s"]
            shares = (
                f"{100 * rates[p] / rates['clone']:.0f} %" if p in rates else "–"
                for p in ("torch", "torch.compile", "forgekit")
            )
            size = f"{row['rows']:,} × {row['columns']:,} {row['dtype']}"
            body.append([size, f"{rates['clone']:,.0f}", *shares])
    table = _table(["", "copy, GB/s", "torch", "torch.compile", "forgekit"], body)
    return f"On one {data['gpu']}, {data['date']}:\n\n{table}"


# -- the virtual GPU -------------------------------------------------------------------------------
def _virtual() -> str:
    data = _read("vgpu.json")
    body = [list(_operation(row)) for row in data["rows"] if row["size"] == 1024]
    head = ["", "bare, ms", "with the sanitizer (default)", "profile", "million elements/s",
            "million warp instr./s", "Triton's interpreter, ms", "times faster"]  # fmt: skip
    return (
        f"On one {data['processor']} machine with {data['cores']} cores (it uses one), float32, "
        f"1024 × 1024, best of 30 runs, {data['date']}:\n\n{_table(head, body)}"
    )


def _operation(row: dict[str, Any]) -> Iterator[str]:
    bare = row["vgpu_ms"]
    yield VIRTUAL[row["operation"]]
    yield f"{bare:.1f}"
    yield f"× {row['sanitizer_ms'] / bare:.1f}"
    yield f"× {row['profile_ms'] / bare:.1f}"
    yield f"{row['size'] ** 2 / bare / 1e3:.0f}"
    yield f"{row['warp_instructions'] / bare / 1e3:.0f}"
    yield f"{row['triton_ms']:,.0f}"
    yield f"{row['triton_ms'] / bare:.0f}"


BLOCKS = {"operators": _operators, "transposes": _transposes, "virtual": _virtual}


def main() -> None:
    README.write_text(filled(README.read_text(encoding="utf-8")), encoding="utf-8")
    print(README.name)


if __name__ == "__main__":
    main()
