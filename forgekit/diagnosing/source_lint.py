"""Read the source of a student's CuTe DSL functions: which ones a host function reaches, which
print()s.

`print(x)` in a kernel runs once, at compile time, and shows `?` for a value of the run; it is no
error, so the compiler is silent. `find_print_of_runtime_values` finds such calls in the source.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from forgekit.errors import SourceLine, is_library, is_user_file

__all__ = [
    "FunctionSource",
    "explain_print_of_runtime_value",
    "find_print_of_runtime_values",
    "reached_functions",
    "unwrap",
]

# Calls that give a value which differs from thread to thread, so it is never known at compile time.
_THREAD_INDICES = {"thread_idx", "block_idx", "lane_idx", "warp_idx"}
# A tensor's own facts that may be static, and calls that take a value apart without its number.
_STATIC = {"layout", "shape", "stride", "element_type", "dtype", "memspace", "iterator", "type"}
_STATIC_CALLS = {"type", "len", "isinstance"}


@dataclass(frozen=True)
class FunctionSource:
    """A function's file, the 1-based number of its first line there, its lines, and its syntax
    tree.
    """

    function: FunctionType
    filename: str
    first_line: int
    lines: tuple[str, ...]
    tree: ast.AST


def unwrap(fn: object) -> FunctionType | None:
    """The plain function under @cute.jit or @cute.kernel (they leave it in `__wrapped__`), a bound
    method or an object with `__call__`; None if there is none.
    """
    seen = 0
    if not isinstance(fn, FunctionType) and not hasattr(fn, "__wrapped__"):
        fn = getattr(fn, "__func__", None) or inspect.getattr_static(type(fn), "__call__", None)
    while hasattr(fn, "__wrapped__") and seen < 8:
        fn, seen = fn.__wrapped__, seen + 1
    return fn if isinstance(fn, FunctionType) else None


def _read(function: FunctionType) -> FunctionSource | None:
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return None
    return FunctionSource(function, function.__code__.co_filename, first, tuple(lines), tree)


def _names_used(source: FunctionSource, owner: type | None) -> Iterator[Any]:
    """The objects that names and `self.x`, `module.x` in a function stand for."""
    function = source.function
    cells = function.__closure__ or ()
    scope = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, cells, strict=False):
        try:
            scope[name] = cell.cell_contents
        except ValueError:
            continue
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name):
            yield scope.get(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            base = owner if node.value.id == "self" else scope.get(node.value.id)
            yield inspect.getattr_static(base, node.attr, None) if base is not None else None


def reached_functions(fn: object) -> list[FunctionSource]:
    """The sources of `fn` and of every function of the student's that it names, directly or not.

    Functions of libraries, and those whose source is not to be had, are left out.
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
    """Names of kernels that `fn` reaches, and of its class, that no GPU's compiler takes."""
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


def _assigned_names(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def _is_runtime(value: ast.expr, tensors: set[str], known: set[str]) -> bool:
    """Whether an expression surely holds a value of the run: a thread index, an element of a tensor
    that is indexed by one, or something computed from such a value.
    """
    if isinstance(value, ast.Call):
        name = value.func.attr if isinstance(value.func, ast.Attribute) else ""
        if name in _THREAD_INDICES:
            return True
        called = value.func.id if isinstance(value.func, ast.Name) else name
        return called not in _STATIC_CALLS and any(
            _is_runtime(argument, tensors, known) for argument in value.args
        )
    if isinstance(value, ast.Name):
        return value.id in known
    if isinstance(value, ast.Subscript):
        if isinstance(value.value, ast.Name) and value.value.id in tensors:
            whole = any(
                isinstance(n, ast.Constant) and n.value is None for n in ast.walk(value.slice)
            )
            return (
                not whole
            )  # None keeps a mode, so the result is a tensor and its layout may print
        return _is_runtime(value.value, tensors, known)
    if isinstance(value, ast.Attribute):
        return value.attr not in _STATIC and _is_runtime(value.value, tensors, known)
    if isinstance(value, ast.BinOp | ast.UnaryOp | ast.Compare | ast.BoolOp | ast.JoinedStr):
        children = [c for c in ast.iter_child_nodes(value) if isinstance(c, ast.expr)]
        return any(_is_runtime(child, tensors, known) for child in children)
    if isinstance(value, ast.FormattedValue):
        return _is_runtime(value.value, tensors, known)
    return False


def _is_print(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "print"


def _prints_in(source: FunctionSource) -> Iterator[tuple[str, str]]:
    definition = next((n for n in ast.walk(source.tree) if isinstance(n, ast.FunctionDef)), None)
    if definition is None:  # a lambda
        return
    arguments = [*definition.args.posonlyargs, *definition.args.args, *definition.args.kwonlyargs]
    tensors = {
        a.arg
        for a in arguments
        if a.annotation is not None and "Tensor" in ast.unparse(a.annotation)
    }
    statements = sorted(
        (n for n in ast.walk(definition) if isinstance(n, ast.Assign | ast.Call)),
        key=lambda n: (n.lineno, n.col_offset),
    )
    known: set[str] = set()
    for node in statements:
        if isinstance(node, ast.Assign):
            names = set().union(
                *(_assigned_names(t) for t in node.targets if not isinstance(t, ast.Subscript))
            )
            known = known | names if _is_runtime(node.value, tensors, known) else known - names
        elif _is_print(node) and any(_is_runtime(a, tensors, known) for a in node.args):
            index = node.lineno - 1
            place = SourceLine(source.filename, source.first_line + index, "")
            yield place.where, source.lines[index].strip()


def find_print_of_runtime_values(fn: object) -> list[tuple[str, str]]:
    """The lines on which `fn`, or a function of the student's that it reaches, prints a value of
    the run.

    Conservative: only values that come from thread_idx, block_idx, lane_idx or warp_idx, or from
    indexing a parameter annotated as a tensor, are flagged. Returns (place such as `cell, line 4`,
    source text).
    """
    return [found for source in reached_functions(fn) for found in _prints_in(source)]


def explain_print_of_runtime_value(where: str, source_text: str) -> str:
    """The warning for one line found by `find_print_of_runtime_values`."""
    return (
        f"{where}: {source_text}\n"
        "print() runs once, at compile time, where this value is not known yet and shows as `?`; "
        'use cute.printf("{}", value) to print from the kernel while it runs.'
    )
