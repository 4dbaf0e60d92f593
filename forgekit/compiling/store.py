"""The disk half of the compile cache: small files that hold bytes, checked before they are used.

A file is a magic line, a SHA-256 of the rest, and named byte strings with their lengths. Nothing is
ever unpickled. Folder and files belong to their owner alone (modes 0700 and 0600); a folder or
file that somebody else owns or may write is not trusted. Writes are atomic, so several processes
may share the folder; a file that is damaged or of another format counts as absent.

FORGEKIT_CACHE_DIR names the folder (default: forgekit in the user's cache folder);
FORGEKIT_DISK_CACHE=off switches this half off.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import struct
import tempfile
from pathlib import Path

__all__ = ["folder", "load", "save"]

_MAGIC = b"forgekit compiled kernel 1\n"
_LIMIT_BYTES = 256 * 2**20  # the oldest files beyond this total are removed


def folder() -> Path | None:
    """The cache's folder, made if need be; None where the disk half is off or impossible."""
    if os.environ.get("FORGEKIT_DISK_CACHE", "").lower() in ("off", "0", "no", "false"):
        return None
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    path = Path(os.environ.get("FORGEKIT_CACHE_DIR") or os.path.join(home, "forgekit"))
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return None
    return path if _trusted(path) else None


def _trusted(path: Path) -> bool:
    """Owned by this user, and writable by nobody else."""
    try:
        found = path.stat()
    except OSError:
        return False
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def save(key: str, parts: dict[str, bytes]) -> bool:
    """Keep named byte strings under a key (hexadecimal); False if that was not possible."""
    where = folder()
    if where is None:
        return False
    body = b"".join(
        struct.pack("<II", len(name.encode()), len(data)) + name.encode() + data
        for name, data in parts.items()
    )
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=where)
        try:
            with os.fdopen(descriptor, "wb") as file:  # mkstemp made it with mode 0600
                file.write(_MAGIC + hashlib.sha256(body).digest() + body)
            os.replace(temporary, where / f"{key}.bin")
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError:  # a full or read-only disk costs a recompilation, nothing else
        return False
    _shrink(where)
    return True


def load(key: str) -> dict[str, bytes] | None:
    """The byte strings kept under a key, None if there are none that can be trusted."""
    where = folder()
    if where is None:
        return None
    path = where / f"{key}.bin"
    if not _trusted(path):
        return None
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    body = raw[len(_MAGIC) + 32 :]
    if not raw.startswith(_MAGIC) or hashlib.sha256(body).digest() != raw[len(_MAGIC) :][:32]:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # used now: keep it longest
    parts, at = {}, 0
    while at < len(body):
        name_length, length = struct.unpack_from("<II", body, at)
        at += 8
        name = body[at : at + name_length].decode()
        parts[name] = body[at + name_length : at + name_length + length]
        at += name_length + length
    return parts


def _shrink(where: Path) -> None:
    """Remove the least recently used files beyond the limit."""
    with contextlib.suppress(OSError):
        files = [(f.stat().st_mtime, f.stat().st_size, f) for f in where.glob("*.bin")]
        total = sum(size for _, size, _ in files)
        for _, size, file in sorted(files, key=lambda f: f[0]):
            if total <= _LIMIT_BYTES:
                break
            file.unlink(missing_ok=True)
            total -= size
