"""Store compiled kernels on disk, in one zip file per kernel.

Files are replaced atomically, so several processes may share the folder. A file with a wrong zip
checksum is ignored. Nothing is ever unpickled. Because stored code is executed, a folder that
another user owns or may write to is not used, and new folders and files are private (modes 0700 and
0600).

FORGEKIT_CACHE_DIR names the folder (default: forgekit in the user's cache folder);
FORGEKIT_DISK_CACHE=off disables the disk cache.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import stat
import time
import warnings
import zipfile
from pathlib import Path

from forgekit import environment, shared_files

# if the files exceed this size, the least recently used are removed until 3/4 of it remains
_LIMIT_BYTES = 256 * 2**20
_ENTRY = re.compile(r"[0-9a-f]{64}\.forgekit")
_PARTIAL = re.compile(rf"\.{_ENTRY.pattern}\.[0-9a-f]+")
_STALE_S = 3600.0  # older partial files were left by killed processes


def folder() -> Path | None:
    """Return the cache's folder, which is created if needed; None if the disk cache is off or
    unavailable.

    Raises:
        UsageError: FORGEKIT_DISK_CACHE is neither on nor off.
    """
    named = environment.path_or_off("FORGEKIT_CACHE_DIR")
    if named is None or not environment.is_on("FORGEKIT_DISK_CACHE", True):
        return None
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    path = Path(named or os.path.join(home, "forgekit"))
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = path.stat()
        owners = {found.st_uid, path.lstat().st_uid}  # of the folder, and of the link if it is one
    except OSError as error:
        problem = error.strerror
    else:
        if owners == {os.getuid()} and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return path
        problem = "another user owns it or may write to it"
    if named:
        _warn_once(path, problem)
    return None


@functools.cache
def _warn_once(path: Path, got: str) -> None:
    needed = "a folder that you own and that only you can write to"
    warnings.warn(
        f"FORGEKIT_CACHE_DIR: got {path} ({got}), needed {needed}; choose such a folder; "
        "until then, every process compiles its kernels again",
        stacklevel=3,
    )


def save(key: str, parts: dict[str, bytes]) -> None:
    """Store named byte strings under a key of 64 hexadecimal digits; ignore failures."""
    where = folder()
    if where is None:
        return
    _shrink(where)
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as packed:
        for name, data in parts.items():
            packed.writestr(name, data)
    with contextlib.suppress(OSError):  # for example, the disk is full
        shared_files.replace(where / f"{key}.forgekit", whole.getvalue())


def load(key: str) -> dict[str, bytes] | None:
    """Return the byte strings stored under a key; None if they are missing or damaged."""
    where = folder()
    if where is None:
        return None
    file = where / f"{key}.forgekit"
    try:
        with zipfile.ZipFile(io.BytesIO(shared_files.read(file))) as packed:
            parts = {name: packed.read(name) for name in packed.namelist()}
    except Exception:  # missing or damaged
        return None
    with contextlib.suppress(OSError):
        os.utime(file)  # mark it as recently used
    return parts


@functools.cache
def _shrink(where: Path) -> None:
    """Remove the least recently used files beyond the size limit, and partial files of killed
    processes.

    This runs once per process, because listing thousands of files can take longer than compiling a
    kernel.
    """
    entries = []
    with contextlib.suppress(OSError):
        for file in os.scandir(where):
            found = file.stat(follow_symlinks=False)
            if _ENTRY.fullmatch(file.name):
                entries.append((found.st_mtime, found.st_size, file.path))
            elif _PARTIAL.fullmatch(file.name) and time.time() - found.st_mtime > _STALE_S:
                os.unlink(file)
        total = sum(size for _, size, _ in entries)
        most = _LIMIT_BYTES * 3 // 4 if total > _LIMIT_BYTES else total
        for _, size, path in sorted(entries):
            if total <= most:
                break
            os.unlink(path)
            total -= size
