"""Test the disk cache: it returns only complete files, which are private to their owner."""

import os
import stat

import pytest

from forgekit.compiling import store

PARTS = {"ptx": b"text", "object": bytes(range(256)), "empty": b""}
KEY = "ab" * 32
LEFT = f".{KEY}.forgekit.0123abcd"  # left by a process killed during a write


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Return the folder of the cache, which the first entry creates."""
    monkeypatch.delenv("FORGEKIT_DISK_CACHE", raising=False)
    monkeypatch.setenv("FORGEKIT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def entry(folder, key=KEY):
    return folder / f"{key}.forgekit"


def test_what_is_saved_comes_back_and_is_the_owners_alone(cache):
    assert store.load(KEY) is None
    store.save(KEY, PARTS)
    assert store.load(KEY) == PARTS
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert list(cache.iterdir()) == [entry(cache)]
    assert stat.S_IMODE(entry(cache).stat().st_mode) == 0o600


def test_a_damaged_file_counts_as_absent(cache):
    store.save(KEY, PARTS)
    whole = entry(cache).read_bytes()
    begin = whole.index(PARTS["object"])
    for length in (0, 10, begin + 100, len(whole) - 1):
        entry(cache).write_bytes(whole[:length])
        assert store.load(KEY) is None
    for place in (0, begin, begin + 100, begin + 255, *range(begin + 256, len(whole), 11)):
        entry(cache).write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        found = store.load(KEY)
        assert found is None or (place > begin + 255 and found.items() <= PARTS.items())
    store.save(KEY, PARTS)
    assert store.load(KEY) == PARTS


@pytest.mark.parametrize("name", ["FORGEKIT_DISK_CACHE", "FORGEKIT_CACHE_DIR"])
def test_it_can_be_switched_off(name, cache, monkeypatch):
    store.save(KEY, PARTS)
    monkeypatch.setenv(name, "off")
    assert store.load(KEY) is None and store.folder() is None
    store.save("b" * 64, PARTS)
    assert list(cache.iterdir()) == [entry(cache)]


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_others_may_write_is_not_trusted(mode, cache):
    store.save(KEY, PARTS)
    cache.chmod(mode)
    with pytest.warns(UserWarning, match="may write") as warned:
        assert store.load(KEY) is None and store.folder() is None
    assert len(warned) == 1


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_folder_of_somebody_else_is_not_trusted(cache):
    store.save(KEY, PARTS)
    os.chown(cache, 65534, 65534)
    with pytest.warns(UserWarning, match="another user owns"):
        store.save("b" * 64, PARTS)
    assert store.load(KEY) is None and list(cache.iterdir()) == [entry(cache)]


@pytest.mark.parametrize("owner", [os.getuid(), 65534])
def test_a_link_to_the_folder_is_followed_if_it_is_ones_own(owner, cache, tmp_path, monkeypatch):
    store.save(KEY, PARTS)
    (tmp_path / "link").symlink_to(cache)
    monkeypatch.setenv("FORGEKIT_CACHE_DIR", str(tmp_path / "link"))
    if owner == os.getuid():
        assert store.load(KEY) == PARTS
    elif os.getuid() == 0:
        os.chown(tmp_path / "link", owner, owner, follow_symlinks=False)
        with pytest.warns(UserWarning, match="another user owns"):
            assert store.load(KEY) is None


def test_an_impossible_folder_costs_nothing_but_the_cache(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FORGEKIT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.warns(UserWarning, match="FORGEKIT_CACHE_DIR: got .*Not a directory"):
        store.save(KEY, PARTS)
    assert store.load(KEY) is None


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_blocks_nobody(make, cache):
    cache.mkdir(mode=0o700)
    make(entry(cache))
    assert store.load(KEY) is None
    store.save(KEY, PARTS)
    assert list(cache.iterdir()) == [entry(cache)]


def test_the_least_recently_used_files_go_first(cache, monkeypatch):
    """A process's first `save` removes files until three quarters of the limit remain; later calls
    remove none."""
    monkeypatch.setattr(store, "_LIMIT_BYTES", 4000)
    for i, key in enumerate("abcd"):
        store.save(key * 64, {"x": bytes(1000)})
        os.utime(entry(cache, key * 64), (i, i))
    for name in ("weights.bin", f"{'e' * 64}.bin", "e.forgekit"):
        (cache / name).write_bytes(bytes(5000))
        os.utime(cache / name, (0, 0))
    store.load("a" * 64)  # makes this file the most recently used
    store._shrink.cache_clear()  # as in a new process
    store.save("f" * 64, {"x": bytes(1000)})
    assert "".join(sorted(f.name[0] for f in cache.iterdir() if len(f.name) > 70)) == "adf"
    assert len(list(cache.iterdir())) == 3 + 3


def test_what_killed_processes_left_goes_in_the_end(cache):
    store.save(KEY, PARTS)
    (cache / LEFT).write_bytes(b"half")
    for age_s, goes in ((60, False), (7200, True)):
        store._shrink.cache_clear()
        now = (cache / LEFT).stat().st_ctime - age_s
        os.utime(cache / LEFT, (now, now))
        store.save(KEY, PARTS)
        assert (cache / LEFT).exists() is not goes
