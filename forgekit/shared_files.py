"""Read, lock, atomically replace and rename files that other processes may use at the same time.

These functions do not block if a file is replaced with a FIFO, and never truncate or lose another
user's file.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path


def _open_regular(path: Path, flags: int) -> int:
    """Open a regular file; if `flags` creates it, only its owner can access it. Return its
    descriptor; raise OSError for other types of files."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return descriptor


def read(path: Path) -> bytes:
    """Return the content of a regular file; raise OSError for other types of files."""
    with os.fdopen(_open_regular(path, os.O_RDONLY), "rb") as file:
        return file.read()


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """Allow one writer of a file at a time, if the file system supports locks."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            lock = file.with_name(f".{file.name}.lock")
            descriptor = _open_regular(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def replace(file: Path, content: str | bytes, *, private: bool = True) -> None:
    """Replace the content of a file, or of a link's target; readers see either the old or the new
    content.

    private: True to make the file readable only by its owner; False to keep its permissions, or use
    the default permissions for a new file.

    Raises:
        OSError: the file cannot be written; the old file remains.
    """
    file = file.resolve()
    descriptor, partial = create_beside(file, private=private)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(content.encode() if isinstance(content, str) else content)
        os.replace(partial, file)
    finally:
        with contextlib.suppress(OSError):  # the name no longer exists after success
            partial.unlink()


def create_beside(file: Path, *, private: bool = True) -> tuple[int, Path]:
    """Create an empty file in the same folder; return its descriptor and path. private: as in
    `replace`."""
    path = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
    if not private and file.exists():
        path.chmod(stat.S_IMODE(file.stat().st_mode))
    return descriptor, path


def set_aside(file: Path) -> Path:
    """Rename a file to an unused name; return its new path. Raise OSError on failure."""
    aside = file.with_suffix(".unreadable.json")
    for number in itertools.count(2):
        if not os.path.lexists(aside):
            break
        aside = file.with_suffix(f".unreadable-{number}.json")
    os.rename(file, aside)
    return aside
