"""Simulate a machine with a GPU and NVIDIA's tools."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from forgekit.profiling.nvidia import tools

SAMPLES = Path(__file__).parent / "samples"


@dataclass(frozen=True)
class Fakes:
    """The stand-ins for the tools. folder: the folder that contains them; calls: their recorded
    calls, in order."""

    folder: Path

    def behave(self, **changes: Any) -> None:
        """Set unusual behaviour of the stand-ins; see fake_tool.py."""
        (self.folder / "behaviour.json").write_text(json.dumps(changes))

    @property
    def calls(self) -> list[dict[str, Any]]:
        file = self.folder / "calls.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture
def fakes(tmp_path, monkeypatch) -> Fakes:
    """Simulate ncu, nsys and compute-sanitizer on PATH, and one GPU."""
    folder = tmp_path / "bin"
    folder.mkdir()
    text = (Path(__file__).parent / "fake_tool.py").read_text()
    for name in ("ncu", "nsys", "compute-sanitizer"):
        (folder / name).write_text(f"#!{sys.executable} -IS\n{text}")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FORGEKIT_FAKE_SAMPLES", str(SAMPLES))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)  # makes tempfile read TMPDIR again
    monkeypatch.setattr(tools, "gpu_count", lambda: 1)
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setenv("FORGEKIT_DEVICE", "virtual")
    return Fakes(folder)
