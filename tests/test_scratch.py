"""Test that the compiler's files are written to a folder with free space, and that a message
reports if there is none."""

from __future__ import annotations

import os
import shutil

import pytest
import torch

import forgekit as fk
from forgekit.errors import PlatformError
from forgekit.vgpu.host import scratch
from tests.vgpu.kernels import copies


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Make folders appear to be full."""
    folders: set[str] = set()
    usage = shutil.disk_usage

    def found(folder: str):
        there = usage(folder)
        return there._replace(free=4096) if folder in folders else there

    monkeypatch.setattr(scratch.shutil, "disk_usage", found)
    return folders


def run() -> None:
    x, y = torch.rand(40), torch.zeros(40)
    fk.compile(copies.copy, x, y, device="virtual", cache=False)(x, y)
    assert torch.equal(x, y)


def test_in_memory_if_there_is_room_and_otherwise_elsewhere(full, tmp_path, monkeypatch):
    monkeypatch.setattr(scratch.tempfile, "tempdir", str(tmp_path))
    if os.path.isdir("/dev/shm"):
        assert scratch.scratch() == "/dev/shm"
    full.add("/dev/shm")
    assert scratch.scratch() == str(tmp_path)
    run()


def test_no_room_is_no_mistake_of_the_kernel(full, tmp_path, monkeypatch):
    monkeypatch.setattr(scratch.tempfile, "tempdir", str(tmp_path))
    full |= {"/dev/shm", str(tmp_path)}
    with pytest.raises(PlatformError, match=r"0\.0 MiB free.*needed .* 32 MiB free; .*TMPDIR"):
        run()
    full.clear()
    run()


def test_a_folder_of_the_user_s_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    x = torch.rand(40)
    options = f"--keep-ptx --dump-dir {tmp_path / 'file' / 'below'}"
    with pytest.raises(PlatformError, match=r"options: got .*Not a directory.*omit --dump-dir"):
        fk.compile(copies.copy, x, x, device="virtual", options=options)
