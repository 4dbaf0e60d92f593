"""The disk half of the cache: whole or absent, and for its owner alone."""

import math
import os
import stat

import pytest

from forgekit.compiling import store

# A file each process of this user may meet: somebody else's, with any name, also in our place.
FOREIGN = {"weights.bin": b"x", f"{'c' * 64}.bin": b"x", f"{'d' * 64}.forgekit": b"PK\x03\x04",
           f".{'e' * 64}.{'0' * 16}.forgekit-tmp": b"notes"}  # fmt: skip

PARTS = {"ptx": b"text", "object": bytes(range(256)), "empty": b""}
KEY = "ab" * 32


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("FORGEKIT_DISK_CACHE", raising=False)
    monkeypatch.setenv("FORGEKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(store, "_warned", set())
    return tmp_path / "cache"


def entry(folder, key=KEY):
    return folder / f"{key}.forgekit"


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
    with pytest.warns(UserWarning, match="may write"):
        assert store.load(KEY) is None
    assert store.folder() is None


def test_it_can_be_switched_off(monkeypatch):
    monkeypatch.setenv("FORGEKIT_DISK_CACHE", "off")
    assert not store.save(KEY, PARTS)
    assert store.load(KEY) is None


def test_an_impossible_folder_costs_nothing_but_the_cache_and_is_told_once(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FORGEKIT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.warns(UserWarning, match="FORGEKIT_CACHE_DIR: got .*Not a directory") as told:
        assert not store.save(KEY, PARTS)
        assert store.load(KEY) is None
    assert len(told) == 1


def test_only_its_own_entries_are_removed_and_count(own_folder, monkeypatch):
    monkeypatch.setattr(store, "_LIMIT_BYTES", 2500)
    store.save("a" * 64, {"x": bytes(1000)})
    for name, content in FOREIGN.items():
        (own_folder / name).write_bytes(content * 5000)
        os.utime(own_folder / name, (1, 1))
    store.save("b" * 64, {"x": bytes(1000)})
    assert store.load("a" * 64) and store.load("b" * 64)  # the limit is theirs alone
    store.save("f" * 64, {"x": bytes(1000)})
    assert [k for k in "abf" if store.load(k * 64)] == ["f"]  # down to three quarters of it
    for name, content in FOREIGN.items():
        assert (own_folder / name).read_bytes() == content * 5000


def test_links_are_neither_read_nor_removed(own_folder, tmp_path, monkeypatch):
    store.save(KEY, PARTS)
    elsewhere = tmp_path / "mine"
    entry(own_folder).rename(elsewhere)
    entry(own_folder).symlink_to(elsewhere)
    assert store.load(KEY) is None
    monkeypatch.setattr(store, "_LIMIT_BYTES", 0)
    os.utime(elsewhere, (1, 1))
    store.save("b" * 64, PARTS)
    assert elsewhere.exists() and entry(own_folder).is_symlink()
    assert store.save(KEY, PARTS) and elsewhere.exists()  # in place of the link, not through it


def test_a_link_to_a_folder_is_followed_only_if_it_is_ones_own(tmp_path, monkeypatch):
    (tmp_path / "disk").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    monkeypatch.setenv("FORGEKIT_CACHE_DIR", str(tmp_path / "link"))
    assert store.save(KEY, PARTS) and store.load(KEY) == PARTS
    if os.getuid() == 0:  # only root can make one of somebody else
        os.chown(tmp_path / "link", 65534, 65534, follow_symlinks=False)
        with pytest.warns(UserWarning, match="somebody else owns"):
            assert store.load(KEY) is None and store.folder() is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_what_somebody_else_owns_is_not_trusted(own_folder):
    store.save(KEY, PARTS)
    os.chown(entry(own_folder), 65534, 65534)
    assert store.load(KEY) is None
    os.chown(own_folder, 65534, 65534)
    with pytest.warns(UserWarning, match="somebody else owns"):
        assert not store.save("b" * 64, PARTS)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_blocks_nobody(own_folder, make, monkeypatch):
    store.save("b" * 64, PARTS)
    make(entry(own_folder))
    monkeypatch.setattr(store, "_LIMIT_BYTES", 0)
    assert store.load(KEY) is None
    store.save("c" * 64, PARTS)
    assert not entry(own_folder).is_file()


def test_an_entry_under_another_key_counts_as_absent(own_folder):
    store.save(KEY, PARTS)
    entry(own_folder).rename(entry(own_folder, "b" * 64))
    assert store.load("b" * 64) is None


@pytest.mark.parametrize("content", [b"", b"forgekit", b"forgekit compiled kernel 2\nhalf"])
def test_what_killed_processes_left_goes_in_the_end(own_folder, content, monkeypatch):
    store.save(KEY, PARTS)
    left = own_folder / f".{KEY}.{'0' * 16}.forgekit-tmp"
    left.write_bytes(content)
    store.save(KEY, PARTS)
    assert left.exists()  # its process may live
    os.utime(left, (1, 1))
    monkeypatch.setattr(store, "_unchecked_bytes", math.inf)  # as in the next process
    store.save(KEY, PARTS)
    assert not left.exists()


def test_the_least_recently_used_files_go_first(own_folder, monkeypatch):
    monkeypatch.setattr(store, "_LIMIT_BYTES", 3500)
    for i, key in enumerate("abc"):
        store.save(key * 64, {"x": bytes(1000)})
        os.utime(entry(own_folder, key * 64), (i, i))
    store.load("a" * 64)  # used now
    store.save("d" * 64, {"x": bytes(1000)})
    kept = sorted(file.name[0] for file in own_folder.iterdir())
    assert kept == ["a", "d"]


def test_the_folder_is_not_listed_after_each_entry(own_folder, monkeypatch):
    looked = []
    monkeypatch.setattr(store, "_shrink", looked.append)
    monkeypatch.setattr(store, "_unchecked_bytes", math.inf)
    monkeypatch.setattr(store, "_LIMIT_BYTES", 16_000)
    for k in range(6):
        store.save(f"{k}" * 64, {"x": bytes(400)})
    assert len(looked) == 2  # the first, and when 1,000 bytes more had been kept
