"""Format messages (got, needed, remedy), values and commands for users."""

from __future__ import annotations

import os
import re
import reprlib
import textwrap
from types import BuiltinFunctionType, FunctionType, ModuleType

_WIDTH = 96  # maximum characters per line in a notebook's error box
_GOT = 400  # maximum characters in a description of a value
_ADDRESS = re.compile(r" at 0x[0-9a-f]+|0x[0-9a-f]{9,}")


def got_needed(what: str, got: object, needed: object, remedy: str) -> str:
    """Format a message in forgekit's order: `what: got …, needed …; remedy`.

    got: a text, or any other value, which `brief` describes.
    """
    words = _cut(got, _GOT) if isinstance(got, str) else brief(got)
    return f"{what}: got {words}, needed {needed}; {remedy}"


def brief(value: object) -> str:
    """Describe a value in one line: a tensor by its dtype and shape, any other value by its
    shortened `repr`. This function never raises an exception."""
    kind = type(value)
    if isinstance(value, type | FunctionType | BuiltinFunctionType | ModuleType):
        module, name = isinstance(value, ModuleType), value.__name__
        noun = "class" if isinstance(value, type) else "module" if module else "function"
        return "a lambda" if name == "<lambda>" else f"the {noun} {name}"
    if kind.__name__ == "device" or isinstance(value, os.PathLike):
        return str(value)
    try:
        array = {"ndarray": "array", "Tensor": "tensor", "Parameter": "tensor"}.get(kind.__name__)
        if array and hasattr(value, "dtype") and hasattr(value, "shape"):
            dtype = str(value.dtype).removeprefix("torch.")
            return f"{with_article(dtype)} {array} of shape {tuple(value.shape)}"
        text = _ADDRESS.sub("", " ".join(_BRIEF.repr(value).split("\n")))
    except Exception:  # the object's repr failed
        return with_article(kind.__name__)
    bare = text.startswith("<") and f" {kind.__name__} " in f" {text[1:-1].split('.')[-1]} "
    return with_article(kind.__name__) if bare else _cut(text, _BRIEF.maxother)


def as_typed(text: str) -> str:
    """Return the text, with `uv run` before its commands (such as `forgekit doctor`) if uv runs
    this process, so that users can paste them."""
    if "UV_RUN_RECURSION_DEPTH" not in os.environ:
        return text
    return re.sub(r"`(?=(?:forgekit|jupytext|python) )", "`uv run ", text)


def with_article(noun: str) -> str:
    return f"{'an' if noun[:1] in 'aeioAEIO' else 'a'} {noun}"


def _cut(text: str, most: int) -> str:
    """Return the text; if it has more than `most` characters, omit its middle."""
    return text if len(text) <= most else f"{text[: most - 20]} … {text[-17:]}"


_BRIEF = reprlib.Repr()
_BRIEF.maxlevel, _BRIEF.maxtuple, _BRIEF.maxlist, _BRIEF.maxdict = 5, 12, 12, 8
_BRIEF.maxstring = _BRIEF.maxother = 120


def wrapped(message: str) -> str:
    """Break long lines between words; a notebook's error box would break them within words."""
    broken: list[str] = []
    for line in message.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        pieces = textwrap.wrap(
            line, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        broken += pieces or [""]
    return "\n".join(broken)
