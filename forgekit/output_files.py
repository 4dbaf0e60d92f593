"""Check that output files can be written before the work starts, and write files atomically."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from forgekit import shared_files
from forgekit.errors import UsageError, usage_error


def check_output(option: str, file: str | os.PathLike[str]) -> None:
    """Raise UsageError if `write_output` could not write the file that an option names."""
    path = Path(file)
    try:
        if path.is_dir():
            got, remedy = f"{path}, a folder", f"name a file in it: {path / 'NAME'}"
            raise usage_error(option, got, "a file", remedy)
        if not path.parent.is_dir():
            remedy = f"create it with mkdir -p {path.parent}"
            raise usage_error(option, file, "a file in an existing folder", remedy)
        if not _is_device(path):
            descriptor, partial = shared_files.create_beside(path.resolve(), private=False)
            os.close(descriptor)
            partial.unlink()
    except OSError as error:
        raise _unwritable(option, file, error) from None


def write_output(option: str, file: str | os.PathLike[str], content: str | bytes) -> None:
    """Write the file that an option names; replace an existing file atomically.

    Raises:
        UsageError: the file cannot be written; no partial file remains.
    """
    path = Path(file)
    try:
        if _is_device(path):
            sys.stdout.flush()
            with path.open("ab") as out:  # append: stdout may be the same file
                out.write(content.encode() if isinstance(content, str) else content)
            return
        shared_files.replace(path, content, private=False)
    except OSError as error:
        raise _unwritable(option, file, error) from None


def _is_device(path: Path) -> bool:
    """Return True if a path is a special file that must not be replaced, such as /dev/stdout."""
    named = path.absolute().parts[:2] in (("/", "dev"), ("/", "proc"))
    return path.exists() and (named or not path.is_file())


def _unwritable(option: str, file: str | os.PathLike[str], error: OSError) -> UsageError:
    got = f"{file} ({error.strerror})"
    remedy = "name another file, in an existing folder"
    return usage_error(option, got, "a writable file", remedy)
