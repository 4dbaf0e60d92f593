"""Compute a digest of the source code and values that can change a function's compiled code.

CuTe DSL compiles a function by tracing it in Python, so the result depends on the text of the
function and of every function and class that it reaches by name, and on the values of the globals,
closure cells, defaults and instance attributes that they read. The digest covers all of these.
Library functions (from an installed package or the standard library) contribute only their names,
because the cache key contains the libraries' versions.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import hashlib
import inspect
import os
import re
import symtable
import textwrap
import types
from typing import Any

from forgekit.diagnosing.sources import source_lines, unwrap
from forgekit.errors import is_library, is_user_file

_SIMPLE = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
_MAX_DEPTH = 12
_DEF = re.compile(r"\s*(async\s+)?def\s")
_KERNEL_PID = re.compile(r"ipykernel_\d+")


@dataclasses.dataclass(frozen=True)
class Fingerprint:
    """A hexadecimal digest. portable: False if the digest is valid only in this process, because it
    includes the `id` of a value that cannot be described otherwise."""

    digest: str
    portable: bool


def fingerprint(*values: object) -> Fingerprint:
    """Return a fingerprint of functions, callable objects and plain values."""
    walker = _Walker()
    for value in values:
        walker.describe(value, 0)
    digest = hashlib.sha256("\x1f".join(walker.parts).encode()).hexdigest()
    return Fingerprint(digest, walker.portable)


def files_of(value: object) -> set[str]:
    """Return the files of all functions that a function reaches by name, except library files."""
    walker = _Walker()
    walker.describe(value, 0)
    return walker.files


class _Walker:
    """Traverses values depth first and appends text that identifies them to `parts`.

    Nested generators would be slower, because each part would resume the generators of all levels.
    """

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.files: set[str] = set()
        self.portable = True
        self.seen: dict[int, int] = {}
        self.keep: list[object] = []  # keeps objects alive, so that their ids stay unique

    def describe(self, value: Any, depth: int) -> None:
        if isinstance(value, enum.Enum):
            self.parts.append(f"{type(value).__qualname__}.{value.name}")
        elif isinstance(value, _SIMPLE):
            self.parts.append(f"{type(value).__name__}:{value!r}")
        elif isinstance(value, types.ModuleType):
            self.parts.append(f"module:{value.__name__}")
        elif depth > _MAX_DEPTH:
            self.parts.append(self.by_identity(value))
        elif id(value) in self.seen:
            self.parts.append(f"again:{self.seen[id(value)]}")
        else:
            self.seen[id(value)] = len(self.seen)
            self.keep.append(value)
            self.describe_object(value, depth + 1)

    def describe_object(self, value: Any, depth: int) -> None:
        if isinstance(value, list | tuple | set | frozenset | dict):
            self.describe_container(value, depth)
        elif isinstance(value, type):
            self.describe_class(value, depth)
        elif isinstance(value, property):
            self.describe(value.fget, depth)
        elif isinstance(value, staticmethod | classmethod):
            self.describe(value.__func__, depth)
        elif isinstance(value, functools.partial):
            self.describe((value.func, value.args, value.keywords), depth)
        elif isinstance(value, types.MethodType):
            self.describe(value.__func__, depth)
            self.describe(value.__self__, depth)
        elif callable(value) and (inspect.isroutine(value) or hasattr(value, "__wrapped__")):
            self.describe_function(value, depth)
        elif not _is_user_class(type(value)):
            self.parts.append(self.by_repr(value))
        else:
            self.describe_class(type(value), depth)
            names = {s for c in type(value).__mro__ for s in getattr(c, "__slots__", ())}
            state = {n: getattr(value, n) for n in sorted(names) if hasattr(value, n)}
            self.describe({**state, **getattr(value, "__dict__", {})}, depth)

    def describe_container(self, value: Any, depth: int) -> None:
        self.parts.append(f"{type(value).__name__}[{len(value)}]")
        if isinstance(value, dict):
            for key, item in value.items():
                self.describe(key, depth)
                self.describe(item, depth)
        elif isinstance(value, set | frozenset):
            self.parts += sorted(self.text_of(item, depth) for item in value)
        else:
            for item in value:
                self.describe(item, depth)

    def text_of(self, value: Any, depth: int) -> str:
        """Return the parts of one value as one string, so that values can be sorted."""
        first = len(self.parts)
        self.describe(value, depth)
        text = "".join(self.parts[first:])
        del self.parts[first:]
        return text

    def describe_class(self, cls: type, depth: int) -> None:
        self.parts.append(f"class:{cls.__module__}.{cls.__qualname__}")
        if not _is_user_class(cls):
            return
        for name, member in sorted(vars(cls).items()):
            if not name.startswith("__") or name in ("__init__", "__call__"):
                self.parts.append(name)
                self.describe(member, depth)
        for base in cls.__bases__:
            self.describe(base, depth)

    def describe_function(self, value: Any, depth: int) -> None:
        function = unwrap(value)
        if function is None or not _counts(function.__module__, function.__code__.co_filename):
            module, name = getattr(value, "__module__", ""), getattr(value, "__qualname__", "")
            self.parts.append(f"routine:{module}.{name}")
            return
        self.parts.append(f"function:{function.__qualname__}")
        self.files.add(function.__code__.co_filename)
        try:
            lines, first = source_lines(function)
        except (OSError, TypeError):
            self.parts.append(_instructions(function.__code__))
            text = "lambda"  # for this text, `_names_in` returns None
        else:
            # Start at `def`, because CuTe DSL drops a function's decorators when it first compiles
            # it. Include the function's location, because messages and profiles show line numbers.
            skip = next((i for i, t in enumerate(lines) if _DEF.match(t)), 0)
            text = textwrap.dedent("".join(lines[skip:]))
            self.parts += [f"{portable_path(function.__code__.co_filename)}:{first + skip}", text]
        self.describe(function.__defaults__, depth)
        self.describe(function.__kwdefaults__, depth)
        for name, item in sorted(_captured(function, _names_in(text)).items()):
            self.parts.append(name)
            self.describe(item, depth)

    def by_repr(self, value: object) -> str:
        text = repr(value)
        if f"{id(value):x}" in text.lower() or " at 0x" in text or "..." in text:
            return self.by_identity(value)
        return f"{type(value).__module__}.{type(value).__qualname__}:{text}"

    def by_identity(self, value: object) -> str:
        self.portable = False
        _IDENTIFIED[id(value)] = value
        return f"identity:{id(value)}"


# Objects identified by their id are kept alive, so that no other object can get the same id.
_IDENTIFIED: dict[int, object] = {}


def _counts(module: str | None, file: str | None) -> bool:
    """Return True if the digest includes the code's text, which it does for users' functions and
    forgekit's kernels."""
    top = (module or "").partition(".")[0]
    if top == "forgekit":
        return True
    if file is None or is_library(top):
        return False
    return file.startswith("<") or is_user_file(file)  # "<string>": created by exec


def _is_user_class(cls: type) -> bool:
    try:
        return _counts(cls.__module__, inspect.getfile(cls))
    except (TypeError, OSError):  # built-in, or defined in a notebook cell
        return cls.__module__ == "__main__"


def _instructions(code: types.CodeType) -> str:
    """Return the bytecode, names and constants of a function without source as text, including its
    nested functions."""
    inner = (_instructions(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts)
    return f"{code.co_code.hex()}:{code.co_names}:{', '.join(inner)}"


def portable_path(text: str) -> str:
    """Replace the process ID with 0 in the file names of notebook cells."""
    return _KERNEL_PID.sub("ipykernel_0", text)


def this_process(text: str) -> str:
    """Insert this process's ID into file names from `portable_path`."""
    return _KERNEL_PID.sub(f"ipykernel_{os.getpid()}", text)


@functools.lru_cache(maxsize=4096)
def _names_in(text: str) -> frozenset[str] | None:
    """Return the names of globals and attributes in a function's text; None if the text is not a
    complete statement.

    The names come from the text rather than the code object, because CuTe DSL replaces the code
    object when it first compiles the function.
    """
    try:
        (statement,) = ast.parse(text).body
        scopes = symtable.symtable(text, "function", "exec").get_children()
    except (SyntaxError, ValueError):  # for example, the line that contains a lambda
        return None
    body = getattr(statement, "body", (statement,))  # no body: f = lambda x: …
    nodes = [node for part in body for node in ast.walk(part)]
    names = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    while scopes:
        scope = scopes.pop()
        scopes += scope.get_children()
        names |= {symbol.get_name() for symbol in scope.get_symbols() if symbol.is_global()}
    return frozenset(names)


def _captured(function: types.FunctionType, names: frozenset[str] | None) -> dict[str, Any]:
    """Return the globals and closure cells that a function, or a function nested in it, uses.

    names: the names in the function's text; None to use those in its code object.
    """
    found: dict[str, Any] = {}
    if names is None:
        names, codes = frozenset(), [function.__code__]
        while codes:
            code = codes.pop()
            codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
            names |= frozenset(code.co_names)
    for name in sorted(names - set(function.__code__.co_freevars)):
        if name in function.__globals__:
            value = found[name] = function.__globals__[name]
            if isinstance(value, types.ModuleType):
                file = getattr(value, "__file__", None)
                # add the module's attributes that the function reads: module.NAME
                if _counts(value.__name__, file):
                    found |= {f"{name}.{n}": getattr(value, n) for n in names if hasattr(value, n)}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found
