"""The disk half of the cache: whole or absent, and for its owner alone."""

import os
import stat

import pytest

from forgekit.compiling import store

PARTS = {"ptx": b"text", "object": bytes(range(256)), "empty": b""}
KEY = "ab" * 32


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("FORGEKIT_DISK_CACHE", raising=False)
    monkeypatch.setenv("FORGEKIT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_is_saved_comes_back():
    assert store.load(KEY) is None
    assert store.save(KEY, PARTS)
    assert store.load(KEY) == PARTS


def test_folder_and_file_are_the_owners_alone(own_folder):
    store.save(KEY, PARTS)
    assert stat.S_IMODE(own_folder.stat().st_mode) == 0o700
    (file,) = own_folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("position", [0, 5, 30, 60, -1])
def test_a_damaged_file_counts_as_absent(own_folder, position):
    store.save(KEY, PARTS)
    (file,) = own_folder.iterdir()
    raw = bytearray(file.read_bytes())
    raw[position] ^= 1
    file.write_bytes(raw)
    assert store.load(KEY) is None


@pytest.mark.parametrize("length", [0, 10, 40, 70])
def test_a_truncated_file_counts_as_absent(own_folder, length):
    store.save(KEY, PARTS)
    (file,) = own_folder.iterdir()
    file.write_bytes(file.read_bytes()[:length])
    assert store.load(KEY) is None


def test_a_file_others_may_write_is_not_trusted(own_folder):
    store.save(KEY, PARTS)
    (file,) = own_folder.iterdir()
    file.chmod(0o666)
    assert store.load(KEY) is None


def test_a_folder_others_may_write_is_not_trusted(own_folder):
    store.save(KEY, PARTS)
    own_folder.chmod(0o777)
    assert store.load(KEY) is None
    assert store.folder() is None


def test_it_can_be_switched_off(monkeypatch):
    monkeypatch.setenv("FORGEKIT_DISK_CACHE", "off")
    assert not store.save(KEY, PARTS)
    assert store.load(KEY) is None


def test_an_impossible_folder_costs_nothing_but_the_cache(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FORGEKIT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert not store.save(KEY, PARTS)
    assert store.load(KEY) is None


def test_the_least_recently_used_files_go_first(own_folder, monkeypatch):
    monkeypatch.setattr(store, "_LIMIT_BYTES", 3500)
    for i, key in enumerate("abc"):
        store.save(key * 64, {"x": bytes(1000)})
        os.utime(own_folder / f"{key * 64}.bin", (i, i))
    store.load("a" * 64)  # used now
    store.save("d" * 64, {"x": bytes(1000)})
    kept = sorted(file.name[0] for file in own_folder.iterdir())
    assert kept == ["a", "c", "d"]
