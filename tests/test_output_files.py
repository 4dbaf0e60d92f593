"""Test output files named by options: early errors, and the state after a failed write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forgekit import output_files, shared_files
from forgekit.errors import UsageError
from forgekit.output_files import check_output, write_output


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    for text in ("one", "two"):
        check_output("--out", file)
        write_output("--out", file, text)
        assert file.read_text() == text
    write_output("--plot", str(file), b"three")
    assert file.read_bytes() == b"three" and os.listdir(tmp_path) == ["r.json"]


def test_a_new_file_has_the_usual_permissions_and_a_private_one_its_owners(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    write_output("--out", tmp_path / "new", "x")
    shared_files.replace(tmp_path / "private", "x")
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("usual", "new", "private")]
    assert modes[0] == modes[1] != 0o600 and modes[2] == 0o600


def test_a_check_leaves_nothing_behind_and_nothing_changed(tmp_path: Path) -> None:
    check_output("--out", tmp_path / "new")
    assert not os.listdir(tmp_path)
    (tmp_path / "old").write_text("before")
    check_output("--out", tmp_path / "old")
    assert (tmp_path / "old").read_text() == "before" and os.listdir(tmp_path) == ["old"]


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there" / "r.json")
    check_output("--out", link)
    write_output("--out", link, "x")
    assert link.is_symlink() and (tmp_path / "there" / "r.json").read_text() == "x"


def test_a_device_is_written_into(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    check_output("--out", f"/dev/fd/{writing}")
    write_output("--out", f"/dev/fd/{writing}", "x")
    assert os.read(reading, 9) == b"x"
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "a folder, needed a file; name a file in it"),
        ("none/r.json", "needed a file in an existing folder; create it with mkdir -p"),
        ("n" * 250, "(File name too long), needed a writable file"),
        ("n" * 300, "(File name too long), needed a writable file"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_output("--out", tmp_path / name)
    assert said in str(refused.value) and not os.listdir(tmp_path)


def test_a_write_that_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(16, "Device or resource busy")

    file = tmp_path / "r.json"
    file.write_text("before")
    monkeypatch.setattr(output_files.os, "replace", fail)
    with pytest.raises(UsageError, match=r"--out: got .*r\.json \(Device or resource busy\)"):
        write_output("--out", file, "after")
    assert file.read_text() == "before" and os.listdir(tmp_path) == ["r.json"]


def test_neighbours_stay(tmp_path: Path) -> None:
    """Check that only the named file changes, and that it keeps its permissions."""
    neighbour, file = tmp_path / "keep.md.partial", tmp_path / "keep.md"
    neighbour.write_text("precious")
    file.write_text("old")
    file.chmod(0o640)
    check_output("--markdown", file)
    write_output("--markdown", file, "new")
    assert (neighbour.read_text(), file.read_text()) == ("precious", "new")
    assert file.stat().st_mode & 0o777 == 0o640
    assert sorted(tmp_path.iterdir()) == [file, neighbour]
