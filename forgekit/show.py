"""Show results: as text everywhere and, in a notebook, as drawn by the drawer for their type.

Results contain data and import no drawing code. Drawers are plug-ins: the table in
`forgekit/drawers.py` maps the name of a type to the functions that draw it, which are imported when
a result is first shown. Drawing code therefore depends on results, but results do not depend on
drawing code.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from abc import ABC, abstractmethod
from typing import Any

from forgekit.arguments import checked
from forgekit.drawers import DRAWERS
from forgekit.output_files import write_output


class Shown(ABC):
    """The base class of results that a notebook shows; a subclass defines `summary`.

    Declare dataclass subclasses with `repr=False`, so that `print` shows the summary.
    """

    @property
    @abstractmethod
    def summary(self) -> str:
        """Return the result as text."""

    @property
    def alt(self) -> str:
        """Describe the result in one line, for readers who cannot see the picture."""
        return "; ".join(line.strip() for line in self.summary.split("\n") if line.strip())

    def __repr__(self) -> str:
        return self.summary

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        bundle = draw(self, "bundle") if drawer(type(self), "bundle") else {}
        return bundle or {"text/plain": repr(self), "text/html": draw(self, "html")}


class Picture(Shown):
    """The base class of results that are shown as one picture, with `alt` text."""

    @functools.cached_property
    def scene(self) -> Any:
        """Return the picture's content as data: a `forgekit.viz.scene.Scene` of texts and boxes."""
        return draw(self, "scene")

    @functools.cached_property
    def svg(self) -> str:
        """Return the picture as an SVG document in the page's colours; equal results give equal
        text."""
        text: str = draw(self, "svg")
        return text

    @functools.cached_property
    def png(self) -> bytes:
        """Return the picture as a PNG on a white background; equal results give equal bytes."""
        data: bytes = draw(self, "png")
        return data

    @checked()
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file: a PNG if the name ends in .png, otherwise an SVG.

        Raise UsageError if the file cannot be written.
        """
        as_png = os.fspath(path).lower().endswith(".png")
        write_output("output file", path, self.png if as_png else self.svg)


def in_notebook() -> bool:
    """Return True if this process is a Jupyter kernel."""
    ipython: Any = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def draw(result: Any, form: str, **options: Any) -> Any:
    """Draw a result with its type's drawer.

    form: `html` for text; `scene`, `svg` or `png` for a picture; `bundle` for a dict that maps MIME
    types to data; or another form in the type's table, such as `bars`.
    """
    found = drawer(type(result), form)
    if found is None:
        raise LookupError(f"nothing in forgekit/drawers.py draws {type(result).__name__} as {form}")
    module, name = found.split(":")
    return getattr(importlib.import_module(f"forgekit.{module}"), name)(result, **options)


def drawer(kind: type, form: str) -> str | None:
    """Return the drawer `module:function` for a type or its nearest base class; None if there is
    none."""
    for base in kind.__mro__:
        if form in (forms := DRAWERS.get(f"{base.__module__}.{base.__qualname__}", {})):
            return forms[form]
    return None
