"""The disk half of the compile cache: small files that hold bytes, checked before they are used.

A file is a magic line, a SHA-256 of its key and of the rest, and named byte strings with their
lengths. Nothing is ever unpickled. Writes are atomic, so several processes may share the folder.

Folder and files belong to their owner alone (modes 0700 and 0600). What somebody else owns or may
write, somebody else's link to a folder, a link to a file, what is no regular file, what is damaged
or of another format: all count as absent. Only files with this module's names and magic line are
ever removed.

FORGEKIT_CACHE_DIR names the folder (default: forgekit in the user's cache folder);
FORGEKIT_DISK_CACHE=off switches this half off.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import re
import secrets
import stat
import struct
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from forgekit import environment, shared_files

_MAGIC = b"forgekit compiled kernel 2\n"
_LIMIT_BYTES = 256 * 2**20  # beyond this total the oldest files are removed, down to three quarters
_ENTRY = re.compile(r"[0-9a-f]{64}\.forgekit")
_TEMPORARY = re.compile(r"\.[0-9a-f]{64}\.[0-9a-f]{16}\.forgekit-tmp")
_STALE_S = 3600.0  # a temporary file this old is one of a process that was killed

_warned: set[str] = set()
_unchecked_bytes = math.inf  # saved by this process since it looked at the total


def folder() -> Path | None:
    """The cache's folder, made if need be; None where the disk half is off or impossible.

    Raises:
        UsageError: FORGEKIT_DISK_CACHE says neither on nor off.
    """
    with _opened() as opened:
        return _path() if opened is not None else None


def _path() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    named = environment.path_or_off("FORGEKIT_CACHE_DIR")
    return Path(named or os.path.join(home, "forgekit"))


@contextlib.contextmanager
def _opened() -> Iterator[int | None]:
    """A descriptor of the folder: what is done in it is done in the one that was looked at."""
    if not environment.is_on("FORGEKIT_DISK_CACHE", True):
        yield None
        return
    path = _path()
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        _say_once(path, error.strerror)
        yield None
        return
    try:
        own = _is_own(os.fstat(opened)) and path.lstat().st_uid == os.getuid()
        if not own:
            _say_once(path, "one that somebody else owns or may write")
        yield opened if own else None
    finally:
        os.close(opened)


def _say_once(path: Path, got: object) -> None:
    """Say why a folder that the user has named is not used."""
    if os.environ.get("FORGEKIT_CACHE_DIR") and str(path) not in _warned:
        _warned.add(str(path))
        needed = "a folder of your own, writable by nobody else"
        warnings.warn(
            f"FORGEKIT_CACHE_DIR: got {path} ({got}), needed {needed}; kernels are compiled again "
            "in every process",
            stacklevel=2,
        )


def _is_own(found: os.stat_result) -> bool:
    """Owned by this user, and writable by nobody else."""
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def save(key: str, parts: dict[str, bytes]) -> bool:
    """Keep named byte strings under a key (64 hexadecimal digits); False if that was not
    possible."""
    body = b"".join(
        struct.pack("<II", len(name.encode()), len(data)) + name.encode() + data
        for name, data in parts.items()
    )
    with _opened() as where:
        if where is None:
            return False
        temporary = f".{key}.{secrets.token_hex(8)}.forgekit-tmp"
        try:
            made = shared_files.open_regular(
                temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=where
            )
            try:
                with os.fdopen(made, "wb") as file:
                    file.write(_MAGIC + _digest(key, body) + body)
                os.replace(temporary, f"{key}.forgekit", src_dir_fd=where, dst_dir_fd=where)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=where)
                raise
        except OSError:  # a full or read-only disk costs a recompilation, nothing else
            return False
        _shrink_in_time(where, len(body))
        return True


def load(key: str) -> dict[str, bytes] | None:
    """The byte strings kept under a key, None if there are none that can be trusted."""
    with _opened() as where:
        if where is None:
            return None
        raw = _read(where, f"{key}.forgekit")
    body = raw[len(_MAGIC) + 32 :]
    if not raw.startswith(_MAGIC) or _digest(key, body) != raw[len(_MAGIC) :][:32]:
        return None
    parts, at = {}, 0
    while at < len(body):
        name_length, length = struct.unpack_from("<II", body, at)
        at += 8
        name = body[at : at + name_length].decode()
        parts[name] = body[at + name_length : at + name_length + length]
        at += name_length + length
    return parts


def _digest(key: str, body: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\n" + body).digest()


def _read(where: int, name: str, most_bytes: int = -1) -> bytes:
    """What an own file holds, empty where there is none; one that is read whole is used now."""
    try:
        opened = shared_files.open_regular(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=where)
        with os.fdopen(opened, "rb") as file:
            if not _is_own(os.fstat(opened)):
                return b""
            if most_bytes < 0:
                with contextlib.suppress(OSError):
                    os.utime(opened)  # keep it longest
            return file.read(most_bytes)
    except OSError:
        return b""


def _shrink_in_time(where: int, saved_bytes: int) -> None:
    """Look at the total with a process's first entry and with every 16th of the limit after that:
    to list thousands of files takes longer than many a compilation."""
    global _unchecked_bytes
    _unchecked_bytes += saved_bytes
    if _unchecked_bytes > _LIMIT_BYTES // 16:
        _unchecked_bytes = 0
        _shrink(where)


def _shrink(where: int) -> None:
    """Remove the least recently used entries beyond the limit, and what killed processes left."""
    with contextlib.suppress(OSError):
        files = [(f.name, f.stat(follow_symlinks=False)) for f in os.scandir(where)]
        for name, found in files:
            if _TEMPORARY.fullmatch(name) and time.time() - found.st_mtime > _STALE_S:
                _remove(where, name, lambda head: _MAGIC.startswith(head))
        entries = {name: found for name, found in files if _ENTRY.fullmatch(name)}
        if sum(found.st_size for found in entries.values()) <= _LIMIT_BYTES:
            return
        ours = [n for n in entries if _read(where, n, len(_MAGIC)) == _MAGIC]
        total = sum(entries[name].st_size for name in ours)
        if total <= _LIMIT_BYTES:
            return
        for name in sorted(ours, key=lambda n: entries[n].st_mtime):
            if total <= _LIMIT_BYTES * 3 // 4:
                break
            _remove(where, name, lambda head: head == _MAGIC)
            total -= entries[name].st_size


def _remove(where: int, name: str, is_ours: Callable[[bytes], bool]) -> None:
    """Remove an own file whose beginning says so."""
    with contextlib.suppress(OSError):
        if is_ours(_read(where, name, len(_MAGIC))):
            os.unlink(name, dir_fd=where)
