"""Provide scripts that `forgekit run`, `profile` and `sanitize` run in this process."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Script = Callable[[str], str]


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    """Return a function that writes script.py to the current folder; afterwards, undo the changes
    that running it makes in this process. (A script keeps the virtual GPU until its process
    ends.)"""
    vgpu = pytest.importorskip("forgekit.vgpu", reason="CuTe DSL has wheels for Linux only")
    for name in ("argv", "path"):
        monkeypatch.setattr(sys, name, [*getattr(sys, name)])
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setenv("FORGEKIT_DEVICE", "virtual")
    monkeypatch.chdir(tmp_path)
    modules = set(sys.modules)

    def write(text: str) -> str:
        (tmp_path / "script.py").write_text(textwrap.dedent(text))
        return "script.py"

    with vgpu.installed():
        yield write
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]
