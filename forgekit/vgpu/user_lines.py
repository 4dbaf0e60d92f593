"""Find and describe the user's source line in a traceback or on the call stack."""

from __future__ import annotations

import linecache
import os
import re
import sys
from dataclasses import dataclass
from types import FrameType, TracebackType

# Frames in these packages never contain the user's line.
_LIBRARIES = frozenset((
    "forgekit", "cutlass", "tvm_ffi", "torch", "numpy", "matplotlib", "IPython", "ipykernel",
    "traitlets", "tornado", "zmq", "nbclient", "_pytest", "pytest", "pluggy",
))  # fmt: skip
# Users read and change the kernels that forgekit ships, so these files count as the user's code.
_SHOWN_PACKAGE = "forgekit.kernels"
_FORGEKIT_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_SHOWN_DIR = os.path.join(_FORGEKIT_DIR, "kernels") + os.sep
_CELL = re.compile(r"(^|[/\\])ipykernel_\d+[/\\]\d+\.py$|^<ipython-input-")


@dataclass(frozen=True)
class SourceLine:
    """A source line: its file (or the pseudo-path of a cell), its number (1-based) and its text."""

    filename: str
    line: int
    text: str

    @property
    def where(self) -> str:
        """Return text such as `kernels.py, line 12` or `cell, line 3`, without the folder, so that
        it is the same on every machine."""
        return f"{display_path(self.filename)}, line {self.line}"

    def __str__(self) -> str:
        return f"{self.where}: {self.text}" if self.text else self.where


def display_path(filename: str) -> str:
    """Return a source file's name without its folder; for a notebook cell, `cell [7]` with the
    number that Jupyter shows, or `cell` if the number is unknown."""
    if not _CELL.search(filename):
        return re.split(r"[/\\]", filename)[-1]
    number = _execution_count(filename)
    return "cell" if number is None else f"cell [{number}]"


def _execution_count(filename: str) -> int | None:
    """Return the number of a cell's latest run, from IPython's table of cells."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    table = getattr(getattr(shell, "compile", None), "_filename_map", None)
    return table.get(filename) if isinstance(table, dict) else None


def is_user_file(filename: str) -> bool:
    """Return True if a file contains the user's code: it belongs neither to a library nor to
    forgekit (except forgekit's kernels)."""
    if _CELL.search(filename):
        return True
    if filename.startswith("<"):
        return False
    path = os.path.abspath(filename)
    if path.startswith(_FORGEKIT_DIR):
        return path.startswith(_SHOWN_DIR)
    stdlib = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
    installed = any(f"{os.sep}{d}{os.sep}" in path for d in ("site-packages", "dist-packages"))
    return not (installed or path.startswith(stdlib))


def is_library(module: str) -> bool:
    """Return True if a top-level module is a library whose frames never contain the user's code."""
    return module in _LIBRARIES or module in sys.stdlib_module_names


def is_user_frame(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__", ""))
    shown = module == _SHOWN_PACKAGE or module.startswith(_SHOWN_PACKAGE + ".")
    top = module.partition(".")[0]
    if not shown and top != "__main__" and is_library(top):
        return False
    return is_user_file(frame.f_code.co_filename)


def source_line(filename: str, line: int) -> SourceLine:
    """Return a source line with its text, which is empty if the source is not available."""
    return SourceLine(filename, line, linecache.getline(filename, line).strip())


def user_line(traceback: TracebackType | None) -> SourceLine | None:
    """Return the innermost line of the user's code in a traceback; None if there is no such
    line."""
    found: SourceLine | None = None
    while traceback is not None:
        if is_user_frame(traceback.tb_frame):
            found = source_line(traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def calling_user_line() -> SourceLine | None:
    """Return the innermost line of the user's code on the call stack; None if there is no such
    line."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_user_frame(frame):
            return source_line(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return None
