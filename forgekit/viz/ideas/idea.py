"""Define what all interactive pictures have: a static picture, a script and a text."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from forgekit.arguments import checked
from forgekit.show import Shown
from forgekit.viz.page import fragment, img_tag, in_script, script, write_page
from forgekit.viz.palette import THEME, WRONG, theme_style, thread_colour, variables
from forgekit.viz.timing.chart import page
from forgekit.viz.timing.style import CSS_PIXELS, SERIES, STYLE, WIDTH, figure_png


@dataclass(frozen=True, eq=False, repr=False)
class Idea(Shown):
    """An interactive picture of one idea, which a notebook displays.

    Attributes:
        kind: the picture's name, which selects its script.
        title, note: the text above and below the picture.
        data: the script's input.
        words: a text equivalent of the static picture.
        draw: a function that draws the static picture on a figure; height: the figure's height in
            inches.
    """

    kind: str
    title: str
    note: str
    data: dict[str, Any]
    words: str
    draw: Callable[[Figure], None]
    height: float = 2.4

    @property
    def summary(self) -> str:
        return f"{self.title}\n{self.words}"

    @functools.cached_property
    def png(self) -> bytes:
        """Return the static picture as a PNG."""
        with matplotlib.rc_context(STYLE):
            figure = page(self.title, [self.note], self.height)
            self.draw(figure)
            return figure_png(figure, CSS_PIXELS)

    @functools.cached_property
    def html(self) -> str:
        """Return a self-contained HTML fragment, which is the same for equal pictures."""
        given = {**self.data, "title": self.title, "note": self.note, "words": self.words}
        scripts = "\n".join([
            script("forgekit.viz", "shared.js"),
            script(__package__, "idea.js", f"{self.kind}.js"),
            f"fkIdea(root,{in_script(given)},fk_{self.kind});",
        ])  # fmt: skip
        still = f"<style>{_style()}</style>{img_tag(self.png, self.alt, WIDTH * CSS_PIXELS)}"
        return fragment("fk-idea", still, scripts, label=self.title)

    @checked()
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a complete HTML page to a file. Raises UsageError if it cannot be written."""
        write_page(path, self.title, self.html)


def idea_html(idea: Idea) -> str:
    return idea.html


@functools.cache
def _style() -> str:
    """Return the style sheet that all pictures share, with its colours filled in."""
    own = {f"lane{k}": (thread_colour(k),) * 2 for k in range(32)}
    own |= {f"series{k}": (colour, colour) for k, colour in enumerate(SERIES)}
    own |= {"wrong": (WRONG, WRONG)}
    text = resources.files(__package__).joinpath("idea.css").read_text("utf-8")
    return "".join(text.split("\n")) + theme_style("fk-idea", *variables({**THEME, **own}))
