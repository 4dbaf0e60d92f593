"""Find the source of a student's CuTe DSL functions, and the functions that a host function
reaches."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from forgekit.errors import SourceLine, is_library, is_user_file


@dataclass(frozen=True)
class FunctionSource:
    """A function's file, the 1-based number of its first line, its lines, and its syntax tree."""

    function: FunctionType
    filename: str
    first_line: int
    lines: tuple[str, ...]
    tree: ast.AST

    def line(self, node: ast.expr | ast.stmt) -> SourceLine:
        """Return the source line on which a node of the tree begins."""
        index = node.lineno - 1
        return SourceLine(self.filename, self.first_line + index, self.lines[index].strip())


def unwrap(fn: object) -> FunctionType | None:
    """Return the plain function inside a @cute.jit or @cute.kernel function (in `__wrapped__`), a
    bound method, or an object with `__call__`; None if there is none."""
    seen = 0
    if not isinstance(fn, FunctionType) and not hasattr(fn, "__wrapped__"):
        fn = getattr(fn, "__func__", None) or inspect.getattr_static(type(fn), "__call__", None)
    while hasattr(fn, "__wrapped__") and seen < 8:
        fn, seen = fn.__wrapped__, seen + 1
    return fn if isinstance(fn, FunctionType) else None


_LINES: WeakKeyDictionary[FunctionType, tuple[list[str], int]] = WeakKeyDictionary()


def source_lines(function: FunctionType) -> tuple[list[str], int]:
    """Return `inspect.getsourcelines(function)`, cached because it tokenises the text."""
    if function not in _LINES:
        _LINES[function] = inspect.getsourcelines(function)
    return _LINES[function]


_parsed = functools.lru_cache(maxsize=1024)(ast.parse)


@functools.lru_cache(maxsize=1024)
def _named(tree: ast.AST) -> list[tuple[str, str | None]]:
    """Return the names in a function's tree, each with the attribute that is read from it, or
    None."""
    found: list[tuple[str, str | None]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.append((node.id, None))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.append((node.value.id, node.attr))
    return found


def _read(function: FunctionType) -> FunctionSource | None:
    try:
        lines, first = source_lines(function)
        tree = _parsed(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return None
    return FunctionSource(function, function.__code__.co_filename, first, tuple(lines), tree)


def _names_used(source: FunctionSource, owner: type | None) -> Iterator[Any]:
    """Yield the objects to which a function refers by name, as `self.x` or as `module.x`."""
    function = source.function
    cells = function.__closure__ or ()
    scope = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, cells, strict=False):
        try:
            scope[name] = cell.cell_contents
        except ValueError:
            continue
    for name, attribute in _named(source.tree):
        if attribute is None:
            yield scope.get(name)
        else:
            base = owner if name == "self" else scope.get(name)
            yield inspect.getattr_static(base, attribute, None) if base is not None else None


def reached_functions(fn: object) -> list[FunctionSource]:
    """Return the sources of `fn` and of every student function that it names, directly or
    indirectly.

    Functions from libraries and functions without source are omitted.
    """
    if isinstance(fn, FunctionType):
        owner = None
    else:
        bound = getattr(fn, "__self__", fn)
        owner = bound if isinstance(bound, type) else type(bound)
    todo, found, seen = [fn], [], set()
    while todo:
        function = unwrap(todo.pop(0))
        if function is None or function in seen:
            continue
        seen.add(function)
        top = function.__module__.partition(".")[0] if function.__module__ else ""
        if (is_library(top) and top != "forgekit") or not is_user_file(
            function.__code__.co_filename
        ):
            continue
        source = _read(function)
        if source is not None:
            found.append(source)
            todo += [
                o for o in _names_used(source, owner) if callable(o) and not isinstance(o, type)
            ]
    return found


def kernel_names_beyond_ascii(fn: object) -> list[str]:
    """Return the names of `fn`'s class and of the kernels that `fn` reaches that contain non-ASCII
    characters, which NVIDIA's compiler rejects."""
    named: list[str] = []
    for source in reached_functions(fn):
        for node in ast.walk(source.tree):
            match node:  # kernel(…).launch(…)
                case ast.Call(func=ast.Attribute(attr="launch", value=ast.Call(func=kernel))):
                    text = ast.unparse(kernel)
                    named.append(text.rpartition(".")[2])
                    if text.startswith("self."):
                        named.append(type(getattr(fn, "__self__", fn)).__name__)
    return [name for name in named if not name.isascii()]
