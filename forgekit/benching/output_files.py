"""Files that options name to be written: refused before the work, written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from forgekit.errors import UsageError, got_needed

__all__ = ["check_output", "write_output"]


def check_output(option: str, file: str | Path) -> None:
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
            _, partial = _places(path)
            partial.touch()
            partial.unlink()
    except OSError as error:
        raise _unwritable(option, file, error) from None


def write_output(option: str, file: str | Path, content: str | bytes) -> None:
    """Write a file that an option names; what was there is replaced at once or not at all.

    Raises:
        UsageError: it cannot be written; nothing is left half-written.
    """
    data = content.encode() if isinstance(content, str) else content
    path = Path(file)
    try:
        if _is_device(path):
            path.write_bytes(data)
            return
        real, partial = _places(path)
        try:
            partial.write_bytes(data)
            os.replace(partial, real)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(option, file, error) from None


def _is_device(path: Path) -> bool:
    """Whether it is something to write into that no file may replace, such as /dev/stdout."""
    return path.exists() and not path.is_file()


def _places(path: Path) -> tuple[Path, Path]:
    """The file itself, not a link to it, and where it is written first."""
    real = path.resolve()
    return real, real.with_name(f"{real.name}.partial")


def _unwritable(option: str, file: str | Path, error: OSError) -> UsageError:
    got = f"{file} ({error.strerror})"
    return UsageError(got_needed(option, got, "a file that can be written", "name another"))
