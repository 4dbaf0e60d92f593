"""How a result is shown: its words everywhere, and in a notebook what draws its type.

Results are data and import nothing that draws. `forgekit/drawers.py` has one table, from the name
of a type to the functions that draw it, which are imported when they are first used.
"""

from __future__ import annotations

import functools
import importlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Shown(ABC):
    """Base of everything that a notebook shows; a subclass has `summary`.

    A dataclass among them is declared with `repr=False`, so that `print` gives the summary.
    """

    @property
    @abstractmethod
    def summary(self) -> str:
        """All that is to be said, in plain text."""

    @property
    def alt(self) -> str:
        """The same in one line, for a reader who does not see the picture."""
        return "; ".join(line.strip() for line in self.summary.split("\n") if line.strip())

    def __repr__(self) -> str:
        return self.summary

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        bundle = draw(self, "bundle") if drawer(type(self), "bundle") else {}
        return bundle or {"text/plain": repr(self), "text/html": draw(self, "html")}


class Picture(Shown):
    """A result that is shown as one picture, with `alt` beside it."""

    @functools.cached_property
    def figure(self) -> Figure:
        """The picture, a matplotlib Figure."""
        figure: Figure = draw(self, "figure")
        return figure


def in_notebook() -> bool:
    """Whether this code runs in a Jupyter kernel."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return False
    return hasattr(get_ipython(), "kernel")


def draw(result: Any, form: str, **options: Any) -> Any:
    """What the drawer of the result's type makes of it.

    form: `html` (text), `figure` (a matplotlib Figure), `bundle` (MIME type -> data, perhaps with
    metadata), or another that the table has for the type, such as `bars`.
    """
    found = drawer(type(result), form)
    if found is None:
        raise LookupError(f"nothing in forgekit/drawers.py draws {type(result).__name__} as {form}")
    module, name = found.split(":")
    return getattr(importlib.import_module(f"forgekit.{module}"), name)(result, **options)


def drawer(kind: type, form: str) -> str | None:
    """`module:function` for a type or the nearest of its bases; None if the table has none."""
    table: dict[str, dict[str, str]] = importlib.import_module("forgekit.drawers").DRAWERS
    for base in kind.__mro__:
        if form in (forms := table.get(f"{base.__module__}.{base.__qualname__}", {})):
            return forms[form]
    return None
