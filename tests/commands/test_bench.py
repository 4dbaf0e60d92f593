"""Test `forgekit bench` on the command line: options, files, exit status."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
import torch

import forgekit as fk
from forgekit import ops, output_files
from forgekit.benching.suites import running
from forgekit.benching.suites.results import read_results
from forgekit.commands import bench as command
from forgekit.commands.cli import main

SUITE = """
[[group]]
ops = ["copy_transpose"]
dtypes = ["float16", "float32"]
shapes = [[33, 40], [16, 16]]
"""


@pytest.fixture
def suite(tmp_path: Path) -> str:
    file = tmp_path / "mine.toml"
    file.write_text(SUITE)
    return str(file)


def bench(*words: object) -> int:
    return main(["bench", "--device", "virtual", *map(str, words)])


def test_results_report_and_picture(suite, tmp_path, capsys):
    out, report, plot = (tmp_path / name for name in ("r.json", "r.md", "r.svg"))
    assert bench("--suite", suite, "--out", out, "--plot", plot) == 0
    printed = capsys.readouterr().out
    assert "No GPU is available" in printed and "| 33×40 | float16 | 1 |" in printed
    assert "left out: torch: it launches no kernel on the virtual GPU" in printed
    results = read_results(out)
    assert [r.case.shape for r in results.rows] == [(33, 40)] * 2 + [(16, 16)] * 2
    assert all(r.counters and r.timing is None for r in results.rows)
    assert plot.read_text().startswith("<?xml")
    assert bench("--suite", suite, "--markdown", report, "--peers", "none") == 0
    assert capsys.readouterr().out == "" and "left out" not in report.read_text()
    assert bench("--suite", suite, "--markdown", "-", "--dtype", "float32") == 0
    assert "float16" not in capsys.readouterr().out


def test_a_wrong_result_shows_in_the_status(suite, monkeypatch, capsys):
    monkeypatch.setattr(ops, "copy_transpose", lambda x: torch.zeros(x.shape[::-1], dtype=x.dtype))
    assert bench("--suite", suite) == 1
    assert "- wrong: forgekit, copy_transpose 33×40 float16" in capsys.readouterr().out


def test_ctrl_c_keeps_what_was_measured(suite, tmp_path, monkeypatch, capsys):
    transpose = ops.copy_transpose

    def interrupted(x: torch.Tensor) -> torch.Tensor:
        if x.shape == (16, 16):
            raise KeyboardInterrupt
        return transpose(x)

    monkeypatch.setattr(ops, "copy_transpose", interrupted)
    assert bench("--suite", suite, "--out", tmp_path / "r.json") == 130
    assert "interrupted; 2 rows are saved" in capsys.readouterr().err
    results = read_results(tmp_path / "r.json")
    assert results.interrupted and len(results.rows) == 2


def test_each_case_is_in_the_file_at_once(suite, tmp_path, monkeypatch):
    out, seen = tmp_path / "r.json", []
    run_case = running.run_case

    def watched(*piece: Any) -> Any:
        seen.append(len(read_results(out).rows) if out.exists() else 0)
        return run_case(*piece)

    monkeypatch.setattr(running, "run_case", watched)
    assert bench("--suite", suite, "--out", out) == 0
    assert seen == [0, 1, 2, 3]


def test_a_file_is_reported_on_again_and_nothing_is_measured(
    recorded, base, tmp_path, monkeypatch, capsys
):
    monkeypatch.delattr(running, "run_case")
    again = ["--read", str(base), "--compare", str(base), "--plot", str(tmp_path / "r.png")]
    assert main(["bench", *again, "--fail-on-regression", "5%"]) == 0
    first = (recorded / "base.md").read_text()
    assert capsys.readouterr().out.startswith(first) and (tmp_path / "r.png").exists()


# --- a baseline


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Path:
    """Return a folder with the suite's files from --out and --markdown."""
    folder = tmp_path_factory.mktemp("recorded")
    suite, out, report = (folder / name for name in ("mine.toml", "base.json", "base.md"))
    suite.write_text(SUITE)
    assert bench("--suite", suite, "--out", out, "--markdown", report) == 0
    return folder


@pytest.fixture
def base(recorded, tmp_path) -> Path:
    return Path(shutil.copy(recorded / "base.json", tmp_path))


@contextlib.contextmanager
def edited(file: Path) -> Iterator[dict[str, Any]]:
    saved = json.loads(file.read_text())
    yield saved
    file.write_text(json.dumps(saved))


def gate(words: list[object], base: Path, percent: str = "5%") -> int:
    return main(["bench", *map(str, words), "--compare", str(base),
                 "--fail-on-regression", percent])  # fmt: skip


def test_a_regression_fails_and_is_named(suite, base, capsys):
    same = ["--device", "virtual", "--suite", suite]
    assert gate(same, base) == 0
    assert "4 rows compared" in capsys.readouterr().out
    with edited(base) as saved:
        saved["rows"][1]["counters"]["load_sectors"] //= 2
    assert gate(same, base) == 1
    named = "slower: forgekit, copy_transpose 33×40 float32: load_sectors +"
    assert named in capsys.readouterr().out
    assert gate(same, base, "150%") == 0
    assert main(["bench", *same, "--compare", str(base)]) == 0


def test_a_baseline_of_another_gpu_is_refused_before_anything_runs(suite, base, capsys):
    with edited(base) as saved:
        saved["machines"][0]["gpu"] = "NVIDIA H200"
    assert bench("--suite", suite, "--compare", base) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and "a baseline from NVIDIA H200" in printed.err


def test_a_gate_that_compares_nothing_does_not_pass(suite, base, tmp_path, monkeypatch, capsys):
    other = shutil.copy(base, tmp_path / "other.json")
    for file, dtype in ((base, "float16"), (other, "float32")):
        with edited(file) as saved:
            saved["rows"] = [row for row in saved["rows"] if row["dtype"] == dtype]
    assert gate(["--read", other], base) == 2
    printed = capsys.readouterr()
    assert "(suite mine, 2 rows) without any row from mine, needed rows in both" in printed.err
    monkeypatch.delattr(running, "run_case")  # a run would now fail
    same = ["--device", "virtual", "--suite", suite]
    assert gate([*same, "--dtype", "float32"], base) == 2
    with edited(base) as saved:
        saved["rows"] = []
    assert gate(same, base) == 2


def test_a_report_that_cannot_be_written_does_not_swallow_the_verdict(
    base, tmp_path, monkeypatch, capsys
):
    full = OSError(28, "No space left on device")
    monkeypatch.setattr(output_files.os, "replace", mock.Mock(side_effect=full))
    words = ["--read", str(base), "--compare", str(base), "--markdown", str(tmp_path / "r.md")]
    assert main(["bench", *words]) == 2
    printed = capsys.readouterr()
    assert "4 rows compared" in printed.out
    assert f"--markdown: got {tmp_path / 'r.md'} (No space left on device)" in printed.err
    assert [file.name for file in tmp_path.glob("r.md*")] == []


# --- impossible options


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--suite", "medium"], "--suite: got 'medium', needed one of long, record, short, smoke"),
        (["--op", "gelu"], "--op: got 'gelu'"),
        (["--dtype", "int8"], "--dtype: got 'int8'"),
        (["--peers", "cub"], "--peers: got 'cub', needed any of torch, torch.compile"),
        (["--backend", "cub"], "--backend: got 'cub', needed any of kernel, ref"),
        (["--repeats", "0"], "--repeats: got 0"),
        (["--out", "no/such/r.json"], "--out: got no/such/r.json"),
        (["--out", "/tmp"], "--out: got /tmp, a folder"),
        (["--out", ""], "--out: got ., a folder"),
        (["--out", "/proc/x.json"], "--out: got /proc/x.json (No such file or directory), needed"),
        (["--markdown", "/tmp"], "--markdown: got /tmp, a folder"),
        (["--markdown", ""], "--markdown: got ., a folder"),
        (["--plot", "/proc/x.png"], "--plot: got /proc/x.png (No such file"),
        (["--variant", "onlin"], "--variant: got 'onlin', needed any of best, naive"),
        (["--host-times", "--op", "bogus"], "--op: got 'bogus'"),
        (["--scheduler", "tls://localhost:1"], "--scheduler: got 'tls://localhost:1'"),
        (["--read", "none.json", "--op", "softmax"], "--read: got --op, --device, needed"),
        (["--read", "none.json", "--host-times"], "--read: got --device, --host-times, needed"),
        (["--plot", "x.jpg"], "--plot: got 'x.jpg'"),
        (["--compare", "none.json"], "none.json: got No such file"),
        (["--fail-on-regression", "5%"], "--fail-on-regression: got no baseline"),
        (["--compare", "none.json", "--fail-on-regression", "5"], "a percentage"),
    ],
)
def test_bad_options_are_refused_at_once(words, said, capsys):
    assert bench(*words) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and said in printed.err


@pytest.mark.skipif(torch.cuda.is_available(), reason="tests behaviour without a GPU")
def test_host_times_need_a_gpu(suite, monkeypatch, capsys):
    monkeypatch.delattr(running, "run_case")  # a run would now fail
    for words in ([], ["--suite", suite]):
        assert main(["bench", "--host-times", *words]) == 1
        assert "--host-times: got virtual GPU" in capsys.readouterr().err


def test_host_times_are_those_of_the_host_at_hand(capsys):
    pytest.importorskip("distributed", reason="Dask is not installed: uv sync --extra remote")
    assert main(["bench", "--host-times", "--scheduler", "tcp://localhost:1"]) == 2
    assert "--host-times: got --scheduler tcp://localhost:1" in capsys.readouterr().err


@pytest.mark.parametrize(("scheduler", "kind"), [(None, "virtual"), ("tcp://host:1", None)])
def test_the_device_is_chosen_where_the_cases_run(scheduler, kind):
    chosen = SimpleNamespace(**command.bench.make_context("bench", []).params)
    chosen.scheduler = scheduler
    assert chosen.peers == ("torch",)
    with fk.use_target("virtual"):
        assert command._settings(chosen, here=True).device == kind
