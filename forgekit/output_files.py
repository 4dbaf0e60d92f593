"""Files that options name to be written: refused before the work, written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from pathlib import Path

from forgekit.errors import UsageError, got_needed

__all__ = ["check_output", "write_output"]


def check_output(option: str, file: str | os.PathLike[str]) -> None:
    """Raise UsageError where `write_output` could not write the file that an option names."""
    path = Path(file)
    try:
        if path.is_dir():
            got, remedy = f"{path}, a folder", f"name a file in it: {path / 'NAME'}"
            raise UsageError(got_needed(option, got, "a file", remedy))
        if not path.parent.is_dir():
            remedy = f"make it: mkdir -p {path.parent}"
            raise UsageError(got_needed(option, file, "a file in a folder that exists", remedy))
        if not _is_device(path):
            _beside(path.resolve()).unlink()
    except OSError as error:
        raise _unwritable(option, file, error) from None


def write_output(option: str, file: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file that an option names; what was there is replaced at once or not at all.

    Raises:
        UsageError: it cannot be written; nothing is left half-written.
    """
    data = content.encode() if isinstance(content, str) else content
    path = Path(file)
    try:
        if _is_device(path):
            sys.stdout.flush()
            with path.open("ab") as out:  # behind what was printed, where it is the same file
                out.write(data)
            return
        real = path.resolve()  # not a link to it
        partial = _beside(real)
        try:
            partial.write_bytes(data)
            os.replace(partial, real)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(option, file, error) from None


def _is_device(path: Path) -> bool:
    """Whether it is something to write into that no file may replace, such as /dev/stdout."""
    named = path.absolute().parts[:2] in (("/", "dev"), ("/", "proc"))
    return path.exists() and (named or not path.is_file())


def _beside(file: Path) -> Path:
    """A new, empty file in the same folder, with the permissions that the file has or would get."""
    path = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    if file.exists():
        path.chmod(stat.S_IMODE(file.stat().st_mode))
    return path


def _unwritable(option: str, file: str | os.PathLike[str], error: OSError) -> UsageError:
    got = f"{file} ({error.strerror})"
    remedy = "name another, in a folder that exists"
    return UsageError(got_needed(option, got, "a file that can be written", remedy))
