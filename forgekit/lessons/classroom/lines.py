"""Results as they come in: one JSON line per submission, on disk before the next one."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from types import TracebackType

from forgekit.errors import usage_error
from forgekit.lessons.classroom.rows import Row, verdicts

_BEGINS = b'{"student": '


class Lines:
    """The file `results.jsonl` of a folder, which is made. rows: what it holds; of several rows of
    one student and notebook the last counts.

    Raises:
        UsageError: the folder holds the results of something else, or cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.file = folder / "results.jsonl"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if (folder / "results.json").exists() and not self.file.exists():
                raise ValueError("results, and not of this command")
            self._out = self.file.open("ab+")
            self._out.seek(0)
            data = self._out.read()
            self.rows = read_lines(data)
            if data and not data.endswith(b"\n"):  # the run before was killed while it wrote
                self._out.write(b"\n")
        except ValueError:
            got, remedy = f"{folder}, which holds something else", "name another, or move that away"
            raise usage_error("--out", got, "a folder of this command's", remedy) from None
        except OSError as error:
            raise self._unwritable(error) from None

    def append(self, row: Row) -> None:
        """Write a row, to the disk. Raises UsageError where that is not possible."""
        try:
            self._out.write(json.dumps(asdict(row)).encode() + b"\n")
            self._out.flush()
            os.fsync(self._out.fileno())
        except OSError as error:
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> Exception:
        remedy = "make room or name another; the same command goes on with what is left"
        return usage_error("--out", f"{self.file} ({error.strerror})", "a folder to write", remedy)

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:  # fmt: skip
        self._out.close()


def read_lines(data: bytes) -> list[Row]:
    """Return the rows of a file of lines, without one that was cut off.

    Raises:
        ValueError: a line is something else.
    """
    rows = []
    for line in data.split(b"\n"):
        try:
            row = json.loads(line)
            rows.append(Row(**{**row, "verdicts": verdicts(row["verdicts"])}))
        except (KeyError, TypeError) as error:
            raise ValueError("not grades") from error
        except ValueError:
            if not line.startswith(_BEGINS[: len(line)]):
                raise
    return rows
