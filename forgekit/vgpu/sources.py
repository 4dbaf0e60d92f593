"""Name a line of the user's Python: file and number, or cell and number, with its text."""

from __future__ import annotations

import linecache

from forgekit.errors import SourceLine as NamedLine
from forgekit.vgpu.ptx import SourceLine


def source_text(source: SourceLine) -> str:
    """The text of the line, stripped; empty where it cannot be found."""
    return linecache.getline(source.file, source.line).strip()


def describe_source(source: SourceLine) -> str:
    """`cell, line 12: y[i] = x[i]` or `kernels.py, line 12: y[i] = x[i]`; never a folder."""
    return str(NamedLine(source.file, source.line, source_text(source)))
