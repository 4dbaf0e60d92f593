"""Derive the skeleton from a solution with marked lines, so that the two always match.

In a solution file, marks indented like the code enclose the lines that students write:

    if i < n:
        # [fill]
        #| mY[i] = mX[i]
        mY[i] = mX[n - 1 - i]
        # [/fill]

In the skeleton, `# FILL ME IN (roughly 1 line)` replaces these lines. The marked lines that begin
with `#|` follow the comment, as a starting point. Students see the code below the file's docstring
and imports.
"""

from __future__ import annotations

import ast
import linecache
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from forgekit.errors import usage_error
from forgekit.text import plural

PLACEHOLDER = "FILL ME IN"
_BEGIN, _END, _STARTER = "# [fill]", "# [/fill]", re.compile(r"^(\s*)#\| ?(.*)$")


@dataclass(frozen=True)
class Source:
    """A parsed solution file. imports: the file's docstring and imports. solution: its code without
    marks. skeleton: the code that a student receives."""

    path: Path
    imports: str
    solution: str
    skeleton: str

    def skeleton_module(self) -> ModuleType:
        """Execute the skeleton as a separate module that has no file."""
        text = f"{self.imports}\n{self.skeleton}"
        name = f"{self.path.parent.name}_as_given"
        file = str(self.path.with_name(f"{name}.py"))
        # CuTe DSL reads a kernel's source through `inspect`, which uses this cache.
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        module = ModuleType(name)
        exec(compile(text, file, "exec"), vars(module))
        return module


def read_source(path: Path) -> Source:
    """Read a solution file.

    Raises:
        UsageError: the file has no marked lines, or its marks do not pair up.
    """
    text = path.read_text(encoding="utf-8")
    first = _first_line(text)
    solution: list[str] = []
    skeleton: list[str] = []
    marked: list[str] | None = None
    for number, line in enumerate(text.splitlines()[first:], start=first + 1):
        mark = line.strip()
        if mark in (_BEGIN, _END) and (mark == _BEGIN) != (marked is None):
            raise usage_error(
                f"{path.name}, line {number}",
                repr(mark),
                "marks in pairs",
                f"write {_BEGIN} before and {_END} after the lines that students write",
            )
        if mark == _BEGIN:
            marked = []
        elif mark == _END:
            skeleton += _blank(marked or [], line[: len(line) - len(line.lstrip())])
            solution += [x for x in marked or [] if not _STARTER.match(x)]
            marked = None
        elif marked is not None:
            marked.append(line)
        else:
            solution.append(line)
            skeleton.append(line)
    if marked is not None or solution == skeleton:
        remedy = f"mark them with {_BEGIN} and {_END}"
        raise usage_error(path.name, "no marked lines", "lines that students write", remedy)
    imports = "\n".join(text.splitlines()[:first])
    return Source(path, imports, _text(solution), _text(skeleton))


def _blank(marked: list[str], indent: str) -> list[str]:
    starters = [m for m in map(_STARTER.match, marked) if m]
    code = [x for x in marked if x.strip() and not x.strip().startswith("#")]
    blank = f"{indent}# {PLACEHOLDER} (roughly {plural(len(code), 'line')})"
    return [blank, *(f"{m[1]}{m[2]}".rstrip() for m in starters)]


def _first_line(text: str) -> int:
    """Return the number of lines that a file's docstring and imports occupy."""
    last = 0
    for node in ast.parse(text).body:
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not isinstance(node, ast.Import | ast.ImportFrom) and not docstring:
            break
        last = node.end_lineno or last
    return last


def _text(lines: list[str]) -> str:
    return "\n".join(lines).strip("\n") + "\n"
