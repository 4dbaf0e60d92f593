"""Explain errors from CuTe DSL's compiler: `explain_compile_error` converts them to CompileErrors.

`rules.toml` lists the known mistakes. For other errors, the message contains the student's line and
the compiler's own text.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import replace

from forgekit.diagnosing.rules import Rule, recognise
from forgekit.diagnosing.sources import reached_functions
from forgekit.errors import (
    CompileError,
    SourceLine,
    calling_user_line,
    display_path,
    is_user_file,
    source_line,
    user_line,
    wrapped,
)
from forgekit.text import without_colours

_MLIR_PLACE = re.compile(r'\("(?P<file>[^"]+)":(?P<line>\d+):\d+\)')
_ARROW_PLACE = re.compile(r"-->\s*(?P<file>\S[^\n]*?):(?P<line>\d+)(?::\d+)?\s*$", re.MULTILINE)
# Lines of the compiler's text that quote source code or compiler internals.
_NOISE = re.compile(
    r"^\s*(-->.*|in function `.*|>?\s*\d*\s*\|.*|File \".*|Traceback \(most.*|=+|note: .*see "
    r"current operation.*"
    r"|\W*Exception Origin:.*|\W*DSL Call Stack:.*|res_or_list\.verify\(\)"
    r"|suggestion: Re-run with CUTE_DSL_SHOW_STACKTRACE=1.*)\s*$"
)
_BLAME = "note: This is a bug in the DSL, not a mistake in your kernel."  # wrong if a rule matches
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
_PATH = re.compile(r'(?<![\w/])(?:[A-Za-z]:)?[/\\][^\s":]+\.py\b')
_REPEATED = re.compile(r"\?(?:,\?){9,}")
_NO_LINE_IN_TRACEBACK = frozenset({"DSLRuntimeError", "CompilerDiagnosticError"})


def explain_compile_error(exc: BaseException, fn: object = None) -> CompileError:
    """Return the CompileError that explains `exc`, which CuTe DSL raised while compiling `fn`.

    Args:
        exc: the exception raised by `cute.compile` or by a direct call of a jit function.
        fn: the compiled function, in which to search for the mistake's line if the compiler reports
            none.

    Returns:
        The error, to be raised `from None`. Its `kind` is `unrecognised` if no rule matches. Call
        this function inside the `except` block, so that it can find the calling line if the mistake
        is in the call.
    """
    texts = [_text(one) for one in _chain(exc)]
    place = _place_of(exc, "\n".join(texts))
    lines = _source_lines(fn)
    # Match the outermost exception first, because its cause may describe a different mistake.
    obj = getattr(exc, "obj", None)
    rule, fields = recognise([texts[0], "\n".join(texts)], place, lines, obj)
    if place is None and rule.find:
        place = next((line for line in lines if re.search(rule.find, line.text)), None)
    if place is None and rule.at == "call":
        place = user_line(exc.__traceback__) or calling_user_line()
    return _build(rule, fields, place, exc)


def older_name(exc: BaseException) -> str | None:
    """Return the explanation of an error about a name that CuTe DSL has removed; None for other
    errors."""
    rule, fields = recognise([_text(exc)], None, [], getattr(exc, "obj", None))
    if rule.kind != "renamed-api":
        return None
    remedy = rule.remedy.format_map(fields)
    return f"{rule.explanation.format_map(fields)} {remedy[0].upper()}{remedy[1:]}"


def _chain(exc: BaseException) -> Iterator[BaseException]:
    """Yield the exception and its causes, outermost first."""
    seen: set[int] = set()
    current: BaseException | None = exc
    while current is not None and id(current) not in seen:
        yield current
        seen.add(id(current))
        current = current.__cause__ or current.__context__


def _text(exc: BaseException) -> str:
    """Return an exception as `Class: CODE: message`, followed by its full text, without colours."""
    code = getattr(exc, "code", None)
    prefix = f"{code}: {getattr(exc, 'message', '')}\n" if isinstance(code, str) else ""
    return without_colours(f"{type(exc).__name__}: {prefix}{exc}")


def _place_of(exc: BaseException, text: str) -> SourceLine | None:
    """Return the student's line from the exception's attributes, its text, or its traceback, in
    this order."""
    for one in _chain(exc):
        filename, line = getattr(one, "filename", None), getattr(one, "line", None)
        if isinstance(filename, str) and isinstance(line, int) and is_user_file(filename):
            return source_line(filename, line)
    for pattern in (_MLIR_PLACE, _ARROW_PLACE):
        for match in pattern.finditer(text):
            if is_user_file(match["file"]):
                return source_line(match["file"], int(match["line"]))
    if type(exc).__name__ in _NO_LINE_IN_TRACEBACK:
        return None  # raised after tracing, so the traceback does not contain the mistake's line
    return user_line(exc.__traceback__)


def _source_lines(fn: object) -> list[SourceLine]:
    return [
        SourceLine(source.filename, source.first_line + number, text.rstrip())
        for source in (reached_functions(fn) if fn is not None else [])
        for number, text in enumerate(source.lines)
    ]


def _without_suggestions(text: str) -> str:
    """Drop `suggestion: ...` and the indented lines below it."""
    kept, indent = [], None
    for line in text.splitlines():
        begins = len(line) - len(line.lstrip())
        if line.lstrip().startswith("suggestion:"):
            indent = begins
        elif indent is None or (line.strip() and begins <= indent):
            indent = None
            kept.append(line)
    return "\n".join(kept)


def _compiler_text(exc: BaseException, with_suggestions: bool) -> str:
    """Return the compiler's text without colours, source excerpts, internal frames, folders and
    addresses, and optionally without its suggestions, which may contradict forgekit's remedy."""
    text = without_colours(str(exc))
    own = type(exc).__module__.partition(".")[0] == "cutlass"
    if not own or not text.strip():
        text = f"{type(exc).__name__}: {text}".rstrip(": ")
    if not with_suggestions:
        text = _without_suggestions(text).replace(_BLAME, "")
    kept = [line.rstrip() for line in text.splitlines() if line.strip() and not _NOISE.match(line)]
    text = _PATH.sub(lambda match: display_path(match[0]), "\n".join(kept))
    return _ADDRESS.sub("0x...", _REPEATED.sub("?,...,?", text))


def _build(
    rule: Rule, fields: dict[str, str], place: SourceLine | None, exc: BaseException
) -> CompileError:
    words = _compiler_text(exc, with_suggestions=not rule.remedy)
    parts = [wrapped(rule.explanation.format_map(fields))]
    if place is not None:
        place = replace(place, text=place.text.strip())
        parts += ["", f"  {place}"]
    if rule.remedy:
        parts += ["", wrapped("Remedy: " + rule.remedy.format_map(fields))]
    if not any(type(one).__module__.startswith("forgekit.") for one in _chain(exc)):
        parts += ["", "The compiler's own words:", textwrap.indent(words, "  ")]
    return CompileError(
        "\n".join(parts),
        kind=rule.kind,
        filename=place.filename if place is not None else None,
        line=place.line if place is not None else None,
        source_line=place.text if place is not None else None,
        compiler_text=words,
    )
