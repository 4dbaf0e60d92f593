"""`forgekit bench` as it is called: options, files, exit status."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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
    assert "There is no GPU here" in printed and "| 33×40 | float16 | 1 |" in printed
    assert "left out: torch: nothing of it runs on the virtual GPU" in printed
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
    assert "interrupted, 2 rows are kept" in capsys.readouterr().err
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


def test_a_file_is_reported_on_again_and_nothing_is_measured(suite, tmp_path, monkeypatch, capsys):
    out = tmp_path / "r.json"
    assert bench("--suite", suite, "--out", out) == 0
    first = capsys.readouterr().out
    monkeypatch.delattr(running, "run_case")
    again = ["--read", str(out), "--compare", str(out), "--plot", str(tmp_path / "r.png")]
    assert main(["bench", *again, "--fail-on-regression", "5%"]) == 0
    assert capsys.readouterr().out.startswith(first) and (tmp_path / "r.png").exists()


# --- a baseline


def test_a_regression_fails_and_is_named(suite, tmp_path, capsys):
    base = tmp_path / "base.json"
    assert bench("--suite", suite, "--out", base) == 0
    same = ("--suite", suite, "--compare", base)
    assert bench(*same, "--fail-on-regression", "5%") == 0
    assert "4 rows compared" in capsys.readouterr().out
    saved = json.loads(base.read_text())
    saved["rows"][1]["counters"]["load_sectors"] //= 2
    base.write_text(json.dumps(saved))
    assert bench(*same, "--fail-on-regression", "5%") == 1
    assert "slower: forgekit, copy_transpose 33×40 float32: load_sectors +" in (
        capsys.readouterr().out
    )
    assert bench(*same, "--fail-on-regression", "150%") == 0
    assert bench(*same) == 0


def test_a_baseline_of_another_gpu_is_refused_before_anything_runs(suite, tmp_path, capsys):
    base = tmp_path / "base.json"
    assert bench("--suite", suite, "--out", base) == 0
    saved = json.loads(base.read_text())
    saved["machines"][0]["gpu"] = "NVIDIA H200"
    base.write_text(json.dumps(saved))
    capsys.readouterr()
    assert bench("--suite", suite, "--compare", base) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and "a baseline of NVIDIA H200" in printed.err


def test_a_gate_that_compares_nothing_does_not_pass(suite, tmp_path, monkeypatch, capsys):
    base, other = tmp_path / "base.json", tmp_path / "other.json"
    assert bench("--suite", suite, "--out", base, "--dtype", "float16") == 0
    rest = ("--suite", suite, "--dtype", "float32")
    assert bench(*rest, "--out", other) == 0
    read = ("bench", "--read", str(other), "--compare", str(base), "--fail-on-regression", "5%")
    capsys.readouterr()
    assert main(read) == 2
    printed = capsys.readouterr()
    assert "0 rows compared" in printed.out
    assert "(suite mine, 2 rows) without any row of mine, needed rows in both" in printed.err
    monkeypatch.delattr(running, "run_case")  # refused before anything is measured
    assert bench(*rest, "--compare", base, "--fail-on-regression", "5%") == 2
    saved = json.loads(base.read_text())
    saved["rows"] = []
    base.write_text(json.dumps(saved))
    assert bench("--suite", suite, "--compare", base, "--fail-on-regression", "5%") == 2


def test_a_row_that_lost_its_counters_fails_the_gate(suite, tmp_path, capsys):
    base, now = tmp_path / "base.json", tmp_path / "now.json"
    assert bench("--suite", suite, "--out", base) == 0
    saved = json.loads(base.read_text())
    saved["rows"][2]["counters"] = None
    now.write_text(json.dumps(saved))
    read = ("bench", "--read", str(now), "--compare", str(base), "--fail-on-regression", "5%")
    assert main(read) == 1
    assert "copy_transpose 16×16 float16: was counted, now launches nothing" in (
        capsys.readouterr().out
    )


def test_a_report_that_cannot_be_written_does_not_swallow_the_verdict(
    suite, tmp_path, monkeypatch, capsys
):
    base = tmp_path / "base.json"
    assert bench("--suite", suite, "--out", base) == 0
    full = OSError(28, "No space left on device")

    def fail(*_: Any) -> None:
        raise full

    monkeypatch.setattr(output_files.os, "replace", fail)
    words = ["--read", str(base), "--compare", str(base), "--markdown", str(tmp_path / "r.md")]
    assert main(["bench", *words]) == 2
    printed = capsys.readouterr()
    assert "4 rows compared" in printed.out
    assert f"--markdown: got {tmp_path / 'r.md'} (No space left on device)" in printed.err
    assert [file.name for file in tmp_path.glob("r.md*")] == []


# --- what cannot be


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--suite", "medium"], "--suite: got 'medium'"),
        (["--op", "gelu"], "--op: got 'gelu'"),
        (["--dtype", "int8"], "--dtype: got 'int8'"),
        (["--peers", "cub"], "--peers: got 'cub'"),
        (["--backend", "cub"], "--backend: got 'cub'"),
        (["--repeats", "0"], "--repeats: got 0"),
        (["--out", "no/such/r.json"], "--out: got no/such/r.json"),
        (["--out", "/tmp"], "--out: got /tmp, a folder"),
        (["--out", ""], "--out: got ., a folder"),
        (["--out", "/proc/x.json"], "--out: got /proc/x.json (No such file or directory), needed"),
        (["--markdown", "/tmp"], "--markdown: got /tmp, a folder"),
        (["--markdown", ""], "--markdown: got ., a folder"),
        (["--plot", "/proc/x.png"], "--plot: got /proc/x.png (No such file"),
        (["--variant", "onlin"], "--variant: got 'onlin', needed some of best, naive"),
        (["--host-times", "--op", "bogus"], "--op: got 'bogus'"),
        (["--scheduler", "tls://localhost:1"], "--scheduler: got 'tls://localhost:1'"),
        (["--read", "none.json", "--op", "softmax"], "--read: got --op, --device beside it"),
        (["--read", "none.json", "--host-times"], "--read: got --device, --host-times beside"),
        (["--plot", "x.jpg"], "--plot: got 'x.jpg'"),
        (["--compare", "none.json"], "none.json: got No such file"),
        (["--fail-on-regression", "5%"], "--fail-on-regression: got no baseline"),
        (["--compare", "none.json", "--fail-on-regression", "5"], "a percentage"),
        (["--scheduler", "two"], "--scheduler: got 'two'"),
    ],
)
def test_bad_options_are_refused_at_once(words, said, capsys):
    assert bench(*words) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and said in printed.err


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what happens without a GPU")
def test_host_times_need_a_gpu(suite, monkeypatch, capsys):
    monkeypatch.delattr(running, "run_case")  # it is refused before anything is measured
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
