"""Test the part of the benchmarks page about recorded runs of operators, with made-up results."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from forgebook import benchmarks, operators
from forgebook.groups import groups

from forgekit.benching.suites.results import MachineInfo, SuiteResults, SuiteRow, write_results
from forgekit.benching.suites.suite import Case
from forgekit.benching.timing import Timing

GPU = MachineInfo("gpu", "A GPU", "1.2", {"torch": "2.99"}, 1000.0)
LARGE = Case("softmax", (8192, 4096), "float32")
SMALL = Case("softmax", (64, 64), "bfloat16")


def row(case: Case, contender: str, ms: float, moved: int = 200_000_000) -> SuiteRow:
    return SuiteRow(case, contender, "ok", moved, Timing(ms, 0.95 * ms, 1.05 * ms), machine=0)


def results(*rows: SuiteRow) -> SuiteResults:
    return SuiteResults("record", "2026-01-02", "abc", machines=[GPU], rows=list(rows))


def test_what_is_not_reached_is_said() -> None:
    text = operators.markdown(
        results(
            row(LARGE, "forgekit", 0.25),  # 800 of 1,000 GB/s
            row(LARGE, "torch", 0.2),
            row(SMALL, "forgekit", 0.1, 4000),
            row(SMALL, "torch", 0.099, 4000),  # within the noise
        )
    )
    assert "### Softmax over rows\n\n`forgekit.ops.softmax(x, dim=-1)`. A GPU, 2026-01-02" in text
    assert "0 of the 1 cases that move 128 MB or more reach 95 % of the ceiling." in text
    assert "These do not: 8,192 × 4,096 (float32 80.0 %)." in text
    assert (
        "In 1 of 2 cases, a peer is faster beyond the noise: 8,192 × 4,096 (float32 0.80×" in text
    )
    assert "| torch | 0.89× | 0.80× | 2 of 2 |" in text


def test_every_peer_beyond_the_noise_counts() -> None:
    """The fastest peer is within the noise, but a slightly slower one is beyond it."""
    wide = SuiteRow(LARGE, "torch", "ok", 1, Timing(0.18, 0.1, 0.3), machine=0)
    text = operators.markdown(
        results(row(LARGE, "forgekit", 0.25), wide, row(LARGE, "torch.compile", 0.2))
    )
    assert "In 1 of 1 cases, a peer is faster beyond the noise" in text
    assert "(float32 0.80× torch.compile)" in text


def test_each_run_has_its_ceiling() -> None:
    two = results(row(LARGE, "forgekit", 0.2), replace(row(LARGE, "torch", 0.4), machine=1))
    known = replace(GPU, gpu="NVIDIA H200", ceiling_gbps=4200.0)
    two = replace(two, machines=[known, replace(known, ceiling_gbps=4100.0)])
    lost = replace(row(SMALL, "forgekit", 0.2), status="error", timing=None, machine=None)
    two = replace(two, rows=[*two.rows, lost])
    words = "Ceiling: 4,200 and 4,100 GB/s, from 2 runs; the data sheet states 4,800."
    assert words in operators.running_text(two)
    assert "Ceiling: 1,000 GB/s." in operators.running_text(results(row(LARGE, "forgekit", 0.2)))


def test_what_the_run_left_out_is_said() -> None:
    text = operators.markdown(results(row(LARGE, "forgekit", 0.2), row(SMALL, "forgekit", 0.1)))
    assert "The suite also contains float16, which this run omitted." in text
    own = replace(results(row(LARGE, "forgekit", 0.2)), suite="mine.toml")
    assert "left out" not in operators.markdown(own)


def test_what_is_reached_is_said_as_well() -> None:
    text = operators.markdown(results(row(LARGE, "forgekit", 0.2), row(LARGE, "torch", 0.4)))
    assert "1 of the 1 cases that move 128 MB or more reach 95 % of the ceiling." in text
    assert "In none of the 1 cases" in text
    assert "<td>1,000 (100 %)</td>" in text and "| torch | 2.00× |" in text


def test_a_peer_without_a_time_has_a_note() -> None:
    wrong = SuiteRow(LARGE, "torch", "wrong", 1, error="7 elements <are> wrong", machine=0)
    text = operators.markdown(results(row(LARGE, "forgekit", 0.2), wrong))
    assert "<td>wrong<sup>1</sup></td>" in text
    assert "<li>torch, wrong in 1 of 1 cases: its result differed from" in text
    assert "For 8,192 × 4,096 float32: 7 elements &lt;are&gt; wrong</li>" in text


def test_a_contender_keeps_its_colour() -> None:
    """A contender has the same colour even in a picture in which another contender has no times."""
    wrong = SuiteRow(SMALL, "torch", "wrong", 1, error="x", machine=0)
    text = operators.markdown(
        results(
            row(LARGE, "forgekit", 0.2), row(LARGE, "torch", 0.3), row(LARGE, "quack", 0.4),
            row(SMALL, "forgekit", 0.2), wrong, row(SMALL, "quack", 0.4),
        )
    )  # fmt: skip
    small, large = re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)
    colours = [set(re.findall(r"#[0-9a-f]{6}", svg)) for svg in (small, large)]
    assert colours[1] - colours[0] == {"#009e73"}  # the colours of the second contender, torch
    assert "#009e73" not in operators.markdown(results(row(SMALL, "forgekit", 0.2)))
    ids = re.findall(r'\bid="([^"]+)"', small + large)
    assert len(ids) == len(set(ids)) > 20


def test_pictures_have_words() -> None:
    text = operators.markdown(results(row(LARGE, "forgekit", 0.25), row(LARGE, "torch", 0.2)))
    (words,) = re.findall(r'role="img" aria-label="([^"]+)"', text)
    assert words.startswith("Softmax over rows, float32: percent of the ceiling at 1 sizes")
    assert "forgekit: 80 to 80 percent" in words


def test_operators_and_dimensions_are_apart() -> None:
    sums = [row(Case("reduce_sum", (8, 8), "float32", dim), "forgekit", 1.0) for dim in (-1, 0)]
    found = groups(results(*sums))
    assert [(g.op, g.dim, len(g.results.rows)) for g in found] == [
        ("reduce_sum", -1, 1), ("reduce_sum", 0, 1)
    ]  # fmt: skip
    assert [g.title for g in found] == ["Sums over rows", "Sums over columns"]


def test_files_find_their_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmarks, "_OTHER", tmp_path)
    host = replace(results(), host_us={"softmax": {"forgekit": 8.0, "torch": 6.5}})
    write_results(host, tmp_path / "a_host.json")
    write_results(results(row(LARGE, "forgekit", 0.25)), tmp_path / "b_softmax.json")
    tried = {"op": "softmax", "shape": [8, 4096], "dtype": "float32", "gbps": 1, "kernel": "shared",
             "threads": 64, "rows": 1, "loads": 2, "cluster": 2, "split": 1}  # fmt: skip
    tiles = {"gpu": "A GPU", "date": "2026-01-02", "method": "Events.", "ceiling_gbps": 4000}
    (tmp_path / "tiles_h200.json").write_text(json.dumps(tiles | {"rows": [tried]}))
    text = benchmarks.made("operators")
    headings = re.findall(r"^### (.+)$", text, flags=re.MULTILINE)
    assert headings == [
        "Softmax over rows", "Host time of a call", "Configurations that were tried"
    ]  # fmt: skip
    assert "A GPU, 2026-01-02. Events. Ceiling: 4,000 GB/s." in text
    assert "<td>8 × 4,096</td><td>float32</td><td>1</td><td>shared</td><td>64</td>" in text
    assert "| `softmax` | 8.0 | 6.5 |" in text
    assert benchmarks.made("vgpu") == "None are recorded yet.\n"


def test_counts_of_the_virtual_gpu_are_no_times() -> None:
    virtual = replace(results(), machines=[replace(GPU, device="virtual", ceiling_gbps=None)])
    assert operators.markdown(virtual) == ""


def test_what_the_page_says_of_peers_is_what_was_recorded() -> None:
    book = Path(__file__).resolve().parents[2] / "book"
    rows = json.loads((book / "measured" / "softmax_peers_h200.json").read_text())["rows"]
    page = (book / "benchmarks.md").read_text()
    for op, name in (("softmax", "softmax"), ("softmax_backward", "gradient")):
        for peer in ("quack", "torch"):
            found = [r[f"{peer}_us"] / r["forgekit_us"] for r in rows
                     if r["op"] == op and r[f"{peer}_us"]]  # fmt: skip
            mean = math.prod(found) ** (1 / len(found))
            assert f"| {name}, {peer} | {len(found)} | {mean:.3f} | {min(found):.3f} |" in page
