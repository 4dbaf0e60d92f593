"""Test that scripts written for a GPU, in common idioms, run unmodified."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

import torch

import forgekit.vgpu
from forgekit.commands.run import run_script
from forgekit.vgpu import options

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.py"))
_LAUNCHES_NOTHING = ("tensors_move",)

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="torch has a real GPU")


@pytest.fixture
def process(monkeypatch):
    """Undo all changes that a script's run makes to this process."""
    for name in ("argv", "path"):
        monkeypatch.setattr(sys, name, [*getattr(sys, name)])
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setenv("FORGEKIT_DEVICE", "virtual")
    with forgekit.vgpu.installed():
        yield


@pytest.mark.parametrize("path", SCRIPTS, ids=[path.stem for path in SCRIPTS])
def test_a_script_for_a_gpu_runs_unmodified(path, process, capsys):
    launched: list[str] = []
    with options(all_threads=True, launched=launched):
        ended = run_script(str(path), [], device="virtual")
    assert ended.status == 0, capsys.readouterr().err
    assert bool(launched) != (path.stem in _LAUNCHES_NOTHING)
