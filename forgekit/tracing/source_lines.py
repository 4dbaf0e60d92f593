"""Find the source lines that a `line=` argument selects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from forgekit.errors import SourceLine, UsageError, brief, got_needed

LineChoice: TypeAlias = int | str | SourceLine


def is_meant(line: object, source: SourceLine | None) -> bool:
    """Return True if `line` refers to this source line. It may be a number, a piece of text, a
    SourceLine or a profile's line; None refers to all lines."""
    line = getattr(line, "source", None) or line  # the source of a profile's line
    if line is None or source is None:
        return line is None
    if isinstance(line, str):
        wanted = "".join(line.split())
        return bool(wanted) and wanted in "".join(source.text.split())
    if isinstance(line, int) and not isinstance(line, bool):
        return source.line == line
    return isinstance(line, SourceLine) and (source.filename, source.line) == (
        line.filename, line.line
    )  # fmt: skip


def chosen_lines(
    line: LineChoice, present: Iterable[SourceLine | None], doing: str
) -> frozenset[SourceLine]:
    """Return the lines in `present` to which `line` refers. Raise UsageError if there are none.

    doing: the action of these lines, for the message, such as `performs a global access`.
    """
    known = sorted({s for s in present if s is not None}, key=lambda s: (s.filename, s.line))
    found = frozenset(s for s in known if is_meant(line, s))
    if found:
        return found
    got = getattr(line, "source", None) or line
    got = got.line if isinstance(got, SourceLine) else got
    if not isinstance(got, int | str) or isinstance(got, bool):
        needed = "a line number, part of the line's text or a SourceLine"
        raise UsageError(got_needed("line", brief(got), needed, f"try {line_names(known)}"))
    needed = f"a line that {doing}" + (f": {line_names(known)}" if known else "")
    remedy = (
        "choose one of these, or leave it out" if known else "leave it out: there is no such line"
    )
    got = brief(got) if isinstance(got, str) else got
    raise UsageError(got_needed("line", got, needed, remedy))


def line_names(lines: Iterable[SourceLine]) -> str:
    """Return `12, 15` or, for several files, `copy.py:12, sum.py:4`."""
    lines = list(lines)
    if len({s.filename for s in lines}) < 2:
        return ", ".join(str(s.line) for s in lines)
    return ", ".join(f"{s.where.split(',')[0]}:{s.line}" for s in lines)


def lines_alone(lines: Iterable[SourceLine]) -> str:
    """Return text such as `line 12 only` or `lines 12, 15 only`."""
    lines = list(lines)
    return f"line{'s' * (len(lines) > 1)} {line_names(lines)} only"
