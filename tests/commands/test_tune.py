"""`forgekit tune`: its options, what it prints and stores; with times that stand in for a GPU's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from forgekit.benching import tuning
from forgekit.benching.timing import Timing
from forgekit.commands import tune
from forgekit.commands.cli import main
from forgekit.devices import Target, use_target
from forgekit.ops import tuned
from forgekit.ops.tile_choice import RowChoice
from tests.benching.test_tuning import entries, fewest_loads, with_first_candidates

NARROW = ["tune", "--op", "softmax", "--dtype", "float16", "--shape", "6x2048"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("FORGEKIT_TUNING", str(tmp_path))
    monkeypatch.delenv("FORGEKIT_DEVICE", raising=False)
    tuned.forget()
    yield tmp_path
    tuned.forget()


@pytest.fixture
def virtual(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if the virtual GPU had times; and with few candidates."""
    monkeypatch.setattr(tune, "_check_device_and_folder", lambda *, store: None)
    monkeypatch.setattr(tuning, "time_gpu", fewest_loads)
    with_first_candidates(monkeypatch, 4)
    with use_target("virtual", "sm_90a"):
        yield


def test_a_search_prints_and_stores(
    virtual: None, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert main(NARROW) == 0
    head, line = capsys.readouterr().out.splitlines()
    assert head.split() == ["table's", "choice", "µs", "best", "µs", "gain"]
    assert line.split("  ")[0] == "softmax 6×2048 float16, 5 tried"
    words = " ".join(line.split())
    assert "registers 64 threads, 4 loads 4250.0 registers 128 threads, 2 loads 2250.0 47" in words
    assert words.endswith(" %")
    assert list(entries(folder)) == ["softmax float16 6x2048 vector=8"]


def test_a_dry_run_stores_nothing(
    virtual: None,
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tuning, "time_gpu", lambda *args, **options: Timing(1.0, 1.0, 1.0))
    assert main([*NARROW, "--dry-run"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("stays")
    assert not list(folder.iterdir())


def test_what_was_found_before_ctrl_c_is_kept(
    virtual: None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
) -> None:
    def timer(call: Any, *, repeats: int) -> Timing:
        if call.func.fn.tile.threads == 1:
            raise KeyboardInterrupt
        return fewest_loads(call, repeats=repeats)

    monkeypatch.setattr(tuning, "time_gpu", timer)
    assert main([*NARROW, "--shape", "3x1"]) == 130
    said = capsys.readouterr()
    assert "interrupted; what was found before is kept" in said.err
    assert "softmax 6×2048" in said.out and "3×1" not in said.out
    assert len(entries(folder)) == 1


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
def test_on_a_gpu(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert main(["tune", "--dtype", "float16", "--shape", "512x1024", "--repeats", "9"]) == 0
    out = capsys.readouterr().out
    assert out.count(" tried") == 3 and "dropped" not in out
    assert tuned.file_to_keep(torch.cuda.get_device_name()).parent == folder


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "--shape: got none, needed rows x elements"),
        (["--shape", "8x8", "--shape", "8"], "--shape: got '8', needed rows x elements"),
        (["--shape", "0x8"], "--shape: got '0x8'"),
        (["--op", "copy_transpose", "--shape", "8x8"], "--op: got 'copy_transpose'"),
        (["--dtype", "int8", "--shape", "8x8"], "--dtype: got 'int8'"),
        (["--shape", "8x8", "--repeats", "0"], "--repeats: got 0"),
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
    assert "FORGEKIT_TUNING: got off, needed a folder for results" in capsys.readouterr().err
