"""`forgekit tune`: its options, what it prints and stores; with times that stand in for a GPU's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from forgekit.benching import tuning
from forgekit.benching.suites.suite import Case
from forgekit.benching.timing import Timing
from forgekit.commands import tune
from forgekit.commands.cli import main
from forgekit.devices import Target, use_target
from forgekit.errors import UsageError
from forgekit.ops import tuned
from forgekit.ops.tile_choice import RowChoice
from tests.benching.test_tuning import fewest_loads

NARROW = ["tune", "--op", "softmax", "--dtype", "float16", "--shape", "6x2048",
          "--candidates", "2"]  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("FORGEKIT_TUNING", str(tmp_path))
    monkeypatch.delenv("FORGEKIT_DEVICE", raising=False)
    tuned.forget()
    yield tmp_path
    tuned.forget()


@pytest.fixture
def virtual(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if the virtual GPU had times."""
    monkeypatch.setattr(tune, "_check_device_and_folder", lambda *, store: None)
    monkeypatch.setattr(tuning, "on_gpu", fewest_loads)
    with use_target("virtual", "sm_90a"):
        yield


def test_a_search_prints_stores_shows_and_clears(
    virtual: None, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert main([*NARROW, "--shape", "3x1"]) == 0
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split() == ["table's", "choice", "µs", "best", "µs", "gain"]
    assert first.split("  ")[0] == "softmax 6×2048 float16, 3 tried"
    assert "registers 64 threads, 4 loads 4250.0 registers " in " ".join(first.split())
    assert first.endswith(" %")
    assert second.endswith("stays")
    [found] = tuned.stored()
    assert list(found.entries) == ["softmax float16 6x2048 vector=8"]

    assert main(["tune", "--show"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"virtual GPU (sm_90a): {found.file}\n")
    name, _, entry = shown.splitlines()[1].partition(": ")
    assert name == "softmax float16 6x2048 vector=8"
    assert json.loads(entry)["table"]["threads"] == 64
    assert main(["tune", "--clear"]) == 0
    assert capsys.readouterr().out == f"removed {found.file}\n"
    assert main(["tune", "--show"]) == 0
    assert capsys.readouterr().out == f"nothing is stored in {folder}\n"
    assert main(["tune", "--clear"]) == 0
    assert capsys.readouterr().out == "nothing is stored\n"


def test_a_dry_run_stores_nothing(virtual: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*NARROW, "--dry-run"]) == 0
    assert "3 tried" in capsys.readouterr().out
    assert tuned.stored() == []


def test_what_was_found_before_ctrl_c_is_kept(
    virtual: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def timer(call: Any, choice: RowChoice, repeats: int) -> Timing:
        if choice.threads == 1:
            raise KeyboardInterrupt
        return fewest_loads(call, choice, repeats)

    monkeypatch.setattr(tuning, "on_gpu", timer)
    assert main([*NARROW, "--shape", "3x1"]) == 130
    said = capsys.readouterr()
    assert "interrupted; what was found before is kept" in said.err
    assert "softmax 6×2048" in said.out and "3×1" not in said.out
    assert len(tuned.stored()[0].entries) == 1


def test_shown_are_also_files_and_entries_that_do_not_count(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tuned-a.json").write_text("{")
    data = tuned.header() | {"dsl": "1", "gpu": "B", "entries": {"some rows": {"ms": 1}}}
    (folder / "tuned-b.json").write_text(json.dumps(data))
    assert main(["tune", "--show"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("?: ") and lines[1].startswith("ignored: it cannot be read (JSON")
    assert lines[3] == "ignored: it was made with another CuTe DSL"
    assert lines[-1] == 'some rows: {"ms": 1}'


def test_a_failure_is_printed_and_is_the_exit_status(
    virtual: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = RowChoice("registers", 32, 1, 2, 8)
    monkeypatch.setattr(tuning, "choose_rows", lambda *args: wrong)
    assert main(NARROW) == 1
    out = capsys.readouterr().out
    assert "nothing was measured\nsoftmax 6×2048 float16: not measured: the table's own" in out
    assert "dropped registers 32 threads, 2 loads: wrong: 12,288 of" in out


@pytest.mark.gpu
def test_on_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--dtype", "float16", "--shape", "512x1024", "--candidates", "2", "--repeats", "9"]
    assert main(["tune", *options]) == 0
    out = capsys.readouterr().out
    assert out.count("3 tried") == 3 and "dropped" not in out
    assert main(["tune", "--show"]) == 0
    assert capsys.readouterr().out.startswith(torch.cuda.get_device_name())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "got no sizes, needed --shape or --suite"),
        (["--shape", "8"], "--shape: got '8', needed rows x elements"),
        (["--shape", "0x8"], "--shape: got '0x8'"),
        (["--op", "copy_transpose", "--shape", "8x8"], "--op: got 'copy_transpose'"),
        (["--dtype", "int8", "--shape", "8x8"], "--dtype: got 'int8'"),
        (["--suite", "nowhere"], "--suite: got 'nowhere'"),
        (["--shape", "8x8", "--repeats", "0"], "--repeats: got 0"),
        (["--shape", "8x8", "--candidates", "0"], "--candidates: got 0"),
    ],
)
def test_what_cannot_be_is_refused(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", *options]) == 2
    assert said in capsys.readouterr().err


def test_without_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert main(NARROW) == 1
    assert "got virtual GPU (sm_90a), needed a GPU, as it goes by times" in capsys.readouterr().err


def test_with_tuning_off_there_is_nowhere_to_store(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORGEKIT_TUNING", "off")
    monkeypatch.setattr("forgekit.devices.current_target", lambda: Target("gpu", "sm_90a", "H"))
    assert main(NARROW) == 2
    assert "got no folder to store in" in capsys.readouterr().err
    assert main(["tune", "--show"]) == 0
    assert capsys.readouterr().out == "FORGEKIT_TUNING=off\n"


def cases_of(*words: str) -> list[Case]:
    return tune._cases(SimpleNamespace(**tune.tune.make_context("tune", list(words)).params))


def test_the_rows_of_a_suite(tmp_path: Path) -> None:
    cases = cases_of(
        "--suite", "smoke", "--dtype", "float16", "--shape", "33x127", "--shape", "5x7"
    )
    assert len(cases) == 15 and len(set(cases)) == 15
    assert {c.shape for c in cases} == {(33, 127), (5, 7), (1, 1), (128, 1024), (8, 16384)}
    assert {c.op for c in cases} == set(tuning.OPS) and {c.dim for c in cases} == {-1}
    (tmp_path / "own.toml").write_text(
        '[[group]]\nops = ["reduce_sum"]\ndim = 0\ndtypes = ["float16"]\nshapes = [[8, 8]]\n'
    )
    with pytest.raises(UsageError, match="no rows in"):
        cases_of("--suite", str(tmp_path / "own.toml"))
