"""Test results in JSON: writing, reading, and invalid data."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from forgekit.benching.measuring import Counters
from forgekit.benching.suites.results import (
    SuiteResults,
    SuiteRow,
    read_results,
    write_results,
)
from forgekit.errors import UsageError
from tests.benching.suites.suite_made import CASES, GPU, VIRTUAL, results

COUNTERS = Counters(1, 10, 80, 5, 40, 0, 0, 0, 3840, 7, 2, 900, 28000)


def sample() -> SuiteResults:
    made = results({"forgekit": (0.1, 0.2, 0.3), "torch": (0.2, 0.3, 0)})
    made.add([SuiteRow(CASES[2], "torch", "error", 5, error="MemoryError: no")], GPU)
    made.add([SuiteRow(CASES[2], "quack", "skipped", 5, error="lost")], None)
    made.add([SuiteRow(CASES[2], "forgekit", "ok", 5, counters=COUNTERS)], VIRTUAL, ["a", "a"])
    made.host_us = {"softmax": {"forgekit": 7.1}}
    made.interrupted = True
    return made


def test_there_and_back(tmp_path: Path) -> None:
    made = sample()
    write_results(made, tmp_path / "r.json")
    read = read_results(tmp_path / "r.json")
    assert read.to_dict() == made.to_dict() == json.loads((tmp_path / "r.json").read_text())
    assert [r.key for r in read.rows] == [r.key for r in made.rows]
    assert read.rows[-1].counters == COUNTERS and read.left_out == ["a"] and read.interrupted
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]  # no partial file


def test_what_the_file_tells() -> None:
    data = sample().to_dict()
    assert (data["schema"], data["version"], data["commit"]) == ("forgekit-bench", 1, "abc")
    first = data["rows"][0]
    assert first["gbps"] == pytest.approx(2 * 1024 * 1000 * 2 / 0.1e-3 / 1e9, rel=1e-4)
    assert first["percent_of_ceiling"] == pytest.approx(first["gbps"] / 40, rel=1e-4)
    assert first["timing"] == {"median_ms": 0.1, "p20_ms": 0.099, "p80_ms": 0.101}
    assert first["counters"] is None and data["rows"][-1]["timing"] is None
    assert [r["machine"] for r in data["rows"]] == [0, 0, 0, 0, 0, 0, None, 1]


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("schema",), "pytest", "other content"),
        (("version",), 2, "version 2"),
        (("date",), 7, "date 7"),
        (("rows",), {}, "rows"),
        (("machines", 0, "ceiling_gbps"), "much", "ceiling_gbps 'much'"),
        (("rows", 0, "status"), "fine", "status 'fine'"),
        (("rows", 0, "shape"), [1, 2, 3], "shape"),
        (("rows", 0, "machine"), 5, "machine 5"),
        (("rows", 0, "moved_bytes"), True, "moved_bytes True"),
        (("rows", 0, "timing", "p20_ms"), None, "p20_ms None"),
        (("rows", 7, "counters", "kernels"), 1.5, "kernels 1.5"),
        (("rows", 0, "contender"), " ", "contender ' '"),
        (("rows", 0, "op"), "bogus", "op 'bogus'"),
        (("rows", 0, "dtype"), "int8", "dtype 'int8'"),
        (("rows", 0, "dim"), 2, "dim 2"),
        (("rows", 0, "shape"), [0, 5], "shape"),
        (("rows", 0, "moved_bytes"), 0, "moved_bytes 0"),
        (("rows", 0, "timing", "median_ms"), 0, "median_ms 0"),
        (("rows", 0, "timing", "p80_ms"), float("nan"), "p80_ms nan"),
        (("rows", 0, "timing"), [], "list indices"),
        (("rows", 7, "counters", "load_sectors"), -1, "load_sectors -1"),
        (("machines", 0, "versions"), {"torch": 2}, "versions, torch 2"),
        (("host_us",), {"softmax": {"forgekit": "7"}}, "host_us, softmax, forgekit '7'"),
        (("left_out",), [3], "left_out"),
    ],
)
def test_what_does_not_fit_is_refused(path: tuple[Any, ...], value: Any, said: str) -> None:
    data = copy.deepcopy(sample().to_dict())
    place = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(UsageError, match=said):
        SuiteResults.from_dict(data, name="mine.json")
    del place[path[-1]]
    with pytest.raises(UsageError, match=r"mine\.json"):
        SuiteResults.from_dict(data, name="mine.json")


def test_no_file_and_no_json(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_results(tmp_path / "x.json")
    for text, said in (("{", "needed JSON"), ("[]", "other content")):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(UsageError, match=said):
            read_results(tmp_path / "x.json")
