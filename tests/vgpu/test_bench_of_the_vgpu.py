"""Test that the virtual GPU's benchmark checks its results and counts instructions exactly."""

import datetime
import json
import re
import time
from dataclasses import replace

import pytest
import torch

import forgekit as fk
from forgekit.benching.measuring import count_call
from forgekit.benching.timing import best_ms
from forgekit.errors import CheckError, UsageError
from tests.kernels import simple
from tests.vgpu.bench import __main__ as vgpu


@pytest.mark.parametrize("operation", vgpu.VGPU_KERNELS)
@pytest.mark.parametrize("size", [1, 33, 130])
def test_each_operation_is_right_at_any_size(operation, size):
    row = vgpu.measure(operation, size, repeats=1)
    assert row.warp_instructions > 0
    assert row.vgpu_ms > 0
    text = vgpu.table([replace(row, vgpu_ms=2.0, warp_instructions=4_000_000)])
    cells = [cell.strip() for cell in text.splitlines()[2].split("|")]
    assert cells[8:10] == [f"{size**2 / 2000:.0f}", "2000"]  # millions per second


def test_a_wrong_result_is_not_timed(monkeypatch):
    monkeypatch.setattr(torch.Tensor, "softmax", lambda self, dim: self)
    with pytest.raises(CheckError):
        vgpu.measure("softmax", 33, repeats=1)


def test_warp_instructions_are_counted_exactly():
    """With 64 threads per block and 100 elements, the second block's second warp has 4 working
    threads."""
    x, y = fk.randn(100, device="virtual"), fk.empty(100, device="virtual")
    run = fk.compile(simple.copy, x, y, device="virtual")
    body = run.ptx[run.ptx.index("{") : run.ptx.rindex("}")]
    instructions = [t for t in body.splitlines() if t.strip().endswith(";")]
    instructions = [t for t in instructions if not t.strip().startswith((".", "//"))]

    def counted(elements):
        return count_call(lambda: run(x[:elements], y[:elements])).warp_instructions

    assert counted(100) == 4 * len(instructions)  # four warps, each with work
    assert counted(64) == 2 * len(instructions)
    # the second warp branches past the loads
    assert len(instructions) < counted(32) < 2 * len(instructions)


def test_the_command_writes_its_table_and_numbers(tmp_path, capsys):
    out = tmp_path / "numbers.json"
    given = ["--no-peers", "--sizes", "32,64", "--repeats", "1", "--out", str(out)]
    vgpu.main.main(given, standalone_mode=False)
    printed = capsys.readouterr().out
    assert "| transpose | 32² |" in printed
    assert "| softmax | 64² |" in printed
    record = json.loads(out.read_text())
    assert [r["size"] for r in record["rows"]] == [32, 32, 32, 64, 64, 64]
    assert (record["schema"], record["version"]) == ("forgekit-bench-vgpu", 1)
    assert record["date"] == datetime.date.today().isoformat()
    assert "best of 1 run\n" in printed


def test_the_first_run_is_not_timed():
    runs = []
    assert best_ms(lambda: time.sleep(0 if runs else 0.2) or runs.append(1), 1) < 100
    assert len(runs) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sizes", "many"], "--sizes: got 'many'"),
        (["--sizes", ""], "--sizes: got '', needed numbers of 1 or more"),
        (["--sizes", "64,0"], "--sizes: got '64,0'"),
        (["--repeats", "0"], "--repeats: got 0"),
        (["--out", "/tmp"], "--out: got /tmp, a folder"),
    ],
)
def test_bad_arguments_are_refused(arguments, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        vgpu.main.main(["--no-peers", *arguments], standalone_mode=False)
