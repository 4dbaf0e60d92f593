"""Write the recorded numbers into the pages: `uv run python book/make_readme.py`.

In the files in FILES, the text between `<!-- numbers: NAME -->` and `<!-- /numbers -->` is
generated from the JSON files in `measured/`. `tests/book/test_readme.py` fails if it is not up to
date.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import predicted_times
from forgebook.groups import Group, groups

from forgekit.benching.suites.report import geometric_means
from forgekit.benching.suites.results import read_results
from forgekit.lessons.exercise import all_exercises

__all__ = ["BLOCKS", "FILES", "filled"]

ROOT = Path(__file__).resolve().parents[1]
MEASURED = ROOT / "book" / "measured"
Blocks = Mapping[str, Callable[[], str]]

WEEKS = {  # maps a folder to its page, title, subjects and final operators
    "week0_copy_transpose": (
        "README.md", "Copy and transpose",
        "threads, layouts, coalescing, vectors, shared memory, reading a profile", ["transposes"],
    ),
    "week1_reduce": (
        "README.md", "Reduce", "rounding, trees, shuffles, bytes in flight, choosing a kernel",
        ["sums over rows", "sums over columns"],
    ),
    "week2_softmax": (
        "README.md", "Softmax", "numerics, passes over memory, keeping data on chip, the gradient",
        ["softmax over rows", "gradient of softmax over rows"],
    ),
}  # fmt: skip

PEERS = ("torch", "torch.compile", "quack")
# The case for which the table shows the percentage of the ceiling.
SHOWN = {"copy_transpose": ((8192, 8192), "float16")}
SHOWN_ELSE = (32768, 4096), "bfloat16"
_BLOCK = re.compile(r"(<!-- numbers: (\w+) -->\n).*?(<!-- /numbers -->)", re.DOTALL)


def filled(text: str, blocks: Blocks | None = None) -> str:
    """Return a text with updated numbers. Raise KeyError for an unknown block.

    blocks: maps a block's name to the function that generates it; by default, the README's blocks.
    Empty lines separate the markers from an adjacent list or paragraph.
    """
    known = BLOCKS if blocks is None else blocks
    return _BLOCK.sub(lambda found: f"{found[1]}\n{known[found[2]]()}\n\n{found[3]}", text)


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    rows = [f"| {' | '.join(cells)} |".replace("|  |", "| |") for cells in (head, *body)]
    return "\n".join([rows[0], "|---" * len(head) + "|", *rows[1:]])


def _read(name: str) -> Any:
    return json.loads((MEASURED / name).read_text(encoding="utf-8"))


# -- operators -------------------------------------------------------------------------------------
RESULTS = [read_results(MEASURED / f"{n}_h200.json") for n in ("reduce", "softmax", "transpose")]


def _weeks() -> str:
    rows = {row[0]: row for run in RESULTS for row in map(_operator, groups(run))}
    table = []
    for number, (folder, (page, title, subjects, operators)) in enumerate(WEEKS.items()):
        notebooks = len(list((ROOT / folder).glob("[0-9]*.ipynb")))
        exercises = [e for e in all_exercises() if e.week == f"week{number}"]
        whole = sum(e.is_whole_kernel for e in exercises)
        speeds = [f"{o}: {rows[o][2]} torch, {rows[o][3]} torch.compile, {rows[o][-1]} of a copy"
                  for o in operators]  # fmt: skip
        done = f"{notebooks} notebooks, {len(exercises)} exercises, {whole} of them whole kernels"
        table.append([f"[{number}: {title}]({folder}/{page})", subjects, done, "<br>".join(speeds)])
    return _table(["week", "you learn", "you do", "the course's kernels on an H200"], table)


def _operators() -> str:
    one = RESULTS[1].machines[0]
    found = [group for run in RESULTS for group in groups(run)]
    head = ["", "cases", *(f"against {peer}" for peer in PEERS), "of a copy's speed"]
    table = _table(head, [_operator(group) for group in found])
    packages = {"torch": "torch", "quack-kernels": "quack"}
    used = [f"{name} {one.versions[p]}" for p, name in packages.items() if p in one.versions]
    dates = f"{RESULTS[1].date} (transposes: {RESULTS[2].date})"
    return f"On one {one.gpu}, {', '.join([dates, *used])}:\n\n{table}"


def _operator(group: Group) -> list[str]:
    """Return the name, the number of cases, the speedup over each peer, and the percentage of the
    ceiling for one case.
    """
    means = geometric_means(group.results.rows)
    speeds = [f"{mean[0]:.2f}×" if (mean := means.get(("forgekit", peer))) else "–"
              for peer in PEERS]  # fmt: skip
    own = [row for row in group.results.rows if row.contender == "forgekit"]
    shown = SHOWN.get(group.op, SHOWN_ELSE)
    percents = [
        group.results.percent(row) for row in own if (row.case.shape, row.case.dtype) == shown
    ]
    percent = f"{percents[0]:.0f} %" if percents and percents[0] is not None else "–"
    return [group.title[:1].lower() + group.title[1:], str(len(group.cases())), *speeds, percent]


def _graphs() -> str:
    """Compare times for few long rows before and after several blocks shared a row, and times for
    the drawn shapes with those of peers.
    """
    names = ("few_rows", "drawn_shapes", "small", "middle_rows")
    few, drawn, small, middle = (_read(f"{name}_h200.json") for name in names)
    ops = {"reduce_sum": "sums", "softmax": "softmax", "softmax_backward": "gradient of softmax"}
    table = []
    for op, name in ops.items():
        rows = [row for row in few["rows"] if row["op"] == op]
        before = [row["before"] / row["forgekit"] for row in rows]
        torchs = [row["torch"] / row["forgekit"] for row in rows]
        reached = sum(row["copy"] / row["forgekit"] >= 0.6 for row in rows)
        gained = f"{geometric_mean(before):.2f}×, maximum {max(before):.1f}×"
        table.append([name, str(len(rows)), gained, str(reached), f"{min(torchs):.2f}×"])
    peers = []
    for peer, name in (("torch", "torch"), ("compile", "torch.compile"), ("quack", "quack")):
        found = [row[peer] for row in drawn["rows"] if peer in row]
        peers.append(
            f"{name} takes {geometric_mean(found):.2f} times as long as forgekit in the geometric "
            f"mean of {len(found)} cases (minimum {min(found):.2f}; below 0.99 in "
            f"{sum(each < 0.99 for each in found) or 'none'} of them)"
        )
    gains = [row["before"] / row["forgekit"] for row in middle["rows"]]
    near = [row["forgekit"] / row["best"] for row in middle["rows"]]
    beside = [(row["torch"] / row["forgekit"], row["quack"] / row["forgekit"])
              for row in small["rows"] if "quack" in row]  # fmt: skip
    head = [
        "",
        "cases",
        "speedup over the earlier kernels",
        "cases at 0.6 of a copy's speed or more",
        "minimum speedup over torch",
    ]
    return (
        f"On one {few['gpu']}, {few['date']}:\n\n{_table(head, table)}\n\nFor {len(drawn['rows'])} "
        f"shapes drawn at random (seed {drawn['seed']}), {'; '.join(peers)}.\n\n"
        f"Since {middle['date']}, up to {max(row['shape'][0] for row in middle['rows'])} rows of 6 "
        f"to 128 kB are distributed over clusters. This is {geometric_mean(gains):.2f} times as "
        "fast as before in the geometric mean (range: "
        f"{min(gains):.2f} to {max(gains):.1f}). The table's "
        f"choice takes at most {max(near):.2f} times as long as the best neighbouring choice.\n\n"
        "For softmax and its gradient on tensors of up to 1 MB, torch takes "
        f"{min(t for t, _ in beside):.2f} to {max(t for t, _ in beside):.1f} times as long, and "
        f"quack takes {min(q for _, q in beside):.2f} to {max(q for _, q in beside):.2f} times as "
        "long."
    )


def _virtual() -> str:
    data = _read("vgpu.json")
    times = [row["triton_ms"] / row["vgpu_ms"] for row in data["rows"] if row["size"] == 1024]
    return (
        f"On one core of an {data['processor']} ({data['date']}), a transpose, row sums and a "
        f"softmax of a 1,024 × 1,024 matrix run {min(times):.0f} to {max(times):.0f} times as fast "
        "as in Triton's interpreter."
    )


def _predicted() -> str:
    times = predicted_times.held_out()
    kernels = len({s.number for s in times})
    return (
        f"Of {len(times)} times measured for {kernels} held-out kernels on one H200, "
        f"{predicted_times.accuracy()}."
    )


BLOCKS: Blocks = {"weeks": _weeks, "predicted": _predicted, "virtual": _virtual}
FILES: Mapping[str, Blocks] = {
    "README.md": BLOCKS,
    "book/benchmarks.md": {"operators": _operators, "graphs": _graphs},
    "book/virtual_gpu.md": predicted_times.BLOCKS,
}


def main() -> None:
    for name, blocks in FILES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        (ROOT / name).write_text(filled(text, blocks), encoding="utf-8")
        print(name)


if __name__ == "__main__":
    main()
