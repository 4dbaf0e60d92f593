"""Files that others may read meanwhile: read, locked, replaced at once, set aside.

A FIFO in a file's place never blocks, and what somebody else put there is never emptied or lost.
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
    """The descriptor of a regular file, made for its owner alone; OSError for anything else."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return descriptor


def read(path: Path) -> bytes:
    """What a regular file holds; raises OSError."""
    with os.fdopen(_open_regular(path, os.O_RDONLY), "rb") as file:
        return file.read()


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """One writer of a file at a time, as far as the file system knows locks."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            lock = file.with_name(f".{file.name}.lock")
            descriptor = _open_regular(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def replace(file: Path, content: str | bytes, *, private: bool = True) -> None:
    """Write a file, or what a link names; a reader sees the old one or the new one.

    private: for its owner alone; else with the permissions that the file has or would get.

    Raises:
        OSError: it cannot be written; the old one is there still.
    """
    file = file.resolve()
    descriptor, partial = create_beside(file, private=private)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(content.encode() if isinstance(content, str) else content)
        os.replace(partial, file)
    finally:
        with contextlib.suppress(OSError):  # it is gone, if all went well
            partial.unlink()


def create_beside(file: Path, *, private: bool = True) -> tuple[int, Path]:
    """Descriptor and name of a new, empty file in the same folder; see `replace`."""
    path = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
    if not private and file.exists():
        path.chmod(stat.S_IMODE(file.stat().st_mode))
    return descriptor, path


def set_aside(file: Path) -> Path:
    """Rename what stands in a file's place to a name that is free; returns that. Raises OSError."""
    aside = file.with_suffix(".unreadable.json")
    for number in itertools.count(2):
        if not os.path.lexists(aside):
            break
        aside = file.with_suffix(f".unreadable-{number}.json")
    os.rename(file, aside)
    return aside
