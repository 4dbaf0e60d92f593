"""Test the display of recorded runs, and the script that records a notebook's steps."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from forgekit.benching.recorded import recorded
from forgekit.benching.steps import STEP_OPS, _rows, _steps, main
from forgekit.benching.suites.operations import moved_bytes, result_shape
from forgekit.benching.suites.suite import Case
from forgekit.benching.timing import Timing, time_gpu
from forgekit.course import recorded_files
from forgekit.errors import PlatformError, UsageError

RUNS = sorted(recorded_files())
no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="tests behaviour without a GPU")


@pytest.mark.parametrize("name", RUNS)
def test_recorded_runs_are_complete_and_possible(name: str) -> None:
    run = recorded(name)
    assert run.gpu and run.date and {"torch", "nvidia-cutlass-dsl"} <= set(run.versions)
    assert {r.step for r in run.rows} > {"torch"}
    op, dim = STEP_OPS[json.loads(recorded_files()[name].read_text())["op"]]
    for r in run.rows:
        rows, columns = r.shape
        case = Case(op, (rows, columns), r.dtype, dim)
        assert r.gbps == pytest.approx(moved_bytes(case) / r.ms / 1e6, rel=2e-3)
        halves = result_shape(case) in (r.shape, r.shape[::-1]) and op != "softmax_backward"
        assert run.percent(r) < (102 if halves else 106)  # of a copy, which writes half its bytes


def test_a_recorded_run_is_a_table_of_steps() -> None:
    run = recorded("week0/08_transpose_to_the_limit")
    text = repr(run)
    assert text.startswith(f"Recorded on an {run.gpu}, {run.date}; a copy of 1 GB reached")
    assert "production" in text and "8192×8192 float16" in text
    vectorised = next(line for line in text.splitlines() if line.startswith("vectorised"))
    assert "–" in vectorised  # the step was not measured in float32
    html = run._repr_mimebundle_()["text/html"]
    assert html.count("<tr ") == 1 + len({r.step for r in run.rows})
    run = recorded("week0/07_transpose")
    row = run.row("scatter", "float32")
    assert row.shape == (8192, 8192) and 12 < run.percent(row) < 14


def test_what_was_not_recorded_is_named() -> None:
    with pytest.raises(UsageError, match="'nothing', needed one of week0/04_copy_fast"):
        recorded("nothing")
    with pytest.raises(UsageError, match="'swirl', float32, needed one of torch, scatter"):
        recorded("week0/07_transpose").row("swirl", "float32")


def test_a_timing_in_gigabytes_a_second() -> None:
    assert Timing(2.0, 1.0, 3.0).gbps(4 * 10**9) == 2000.0


@no_gpu
def test_times_need_a_gpu(tmp_path: Path) -> None:
    with pytest.raises(PlatformError, match=r"use fk\.profile"):
        time_gpu(lambda: None)
    with pytest.raises(PlatformError, match="no GPU"):
        main([str(tmp_path / "x.py"), "--op", "copy"])


class Written:
    """A step with several kernels, defined by a formula of the inputs."""

    def __init__(self, formula: Callable[..., torch.Tensor]) -> None:
        self.formula = formula

    def calls(self, *args: torch.Tensor) -> Callable[[], object]:
        *inputs, y = args
        return lambda: y.copy_(self.formula(*inputs))


RIGHT = {
    "copy": lambda x: x,
    "transpose": lambda x: x.T,
    "row_sum": lambda x: x.flip(1).sum(1),
    "column_sum": lambda x: x.flip(0).sum(0),
    "softmax": lambda x: x.double().softmax(1),
    "softmax_backward": lambda dy, y: y * (dy - (dy * y).sum(1, keepdim=True)),
}


@pytest.mark.parametrize("name", STEP_OPS)
def test_steps_are_checked_and_timed_beside_torch(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forgekit.benching.steps.time_gpu", lambda call: Timing(1.0, 1.0, 1.0))
    op, dim = STEP_OPS[name]
    case = Case(op, (64, 4096), "float32", dim)
    torch_row, row = _rows({"right": Written(RIGHT[name])}, case)
    assert (torch_row["step"], row["step"]) == ("torch", "right")
    assert row["gbps"] == pytest.approx(moved_bytes(case) / 1e6, rel=1e-4)  # in 1 ms
    with pytest.raises(UsageError, match=r"off, .* the result is wrong .* no times were recorded"):
        _rows({"off": Written(lambda *inputs: 1.01 * RIGHT[name](*inputs))}, case)


def test_a_step_for_another_type_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("forgekit.benching.steps.time_gpu", lambda call: Timing(1.0, 1.0, 1.0))
    case = Case("copy", (8, 16), "float16")
    [torch_row] = _rows({"wide": Written(lambda x: x.reshape(7))}, case)
    assert torch_row["step"] == "torch" and "wide, float16: left out" in capsys.readouterr().err


@pytest.fixture
def shell() -> object:
    from IPython.core.interactiveshell import InteractiveShell

    yield InteractiveShell
    InteractiveShell.clear_instance()


def _notebook(folder: Path, *cells: str) -> Path:
    path = folder / "notebook.py"
    path.write_text("# ---\n# jupyter: x\n# ---\n\n" + "\n\n".join(cells) + "\n")
    return path


def test_cells_run_up_to_the_steps(shell: object, tmp_path: Path) -> None:
    found = _steps(
        _notebook(
            tmp_path,
            "# %% [markdown]\n# prose",
            "# %%\nvalue = 3",
            '# %% tags=["raises-exception"]\n1 / 0',
            "# %%\nsteps = {'one': value}",
            "# %%\nraise RuntimeError('not reached')",
        )
    )
    assert found == {"one": 3}


def test_a_cell_that_fails_stops_it(shell: object, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cell 2 failed"):
        _steps(_notebook(tmp_path, "# %%\nvalue = 3", "# %%\n1 / 0", "# %%\nsteps = {1: 2}"))


def test_steps_have_to_be_left(shell: object, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a dict from names to host functions"):
        _steps(_notebook(tmp_path, "# %%\nvalue = 3"))


def test_recorded_files_are_plain_json() -> None:
    for file in recorded_files().values():
        data = json.loads(file.read_text())
        assert set(data) == {"gpu", "date", "versions", "method", "op", "ceiling_gbps", "rows"}
