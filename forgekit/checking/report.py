"""What check() found, as data, as plain text and as HTML for a notebook."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from forgekit.text import plural

__all__ = ["EQUAL", "MISSING", "NAN", "WRONG", "CheckReport", "Mismatch", "in_notebook"]

# Codes of elements. The larger one wins where several share a cell of a picture.
EQUAL, WRONG, MISSING, NAN = 0, 1, 2, 3

_GREEN, _RED = "#009E73", "#D55E00"  # Okabe-Ito's bluish green and vermillion


def in_notebook() -> bool:
    """Whether this code runs in a Jupyter kernel."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return False
    return hasattr(get_ipython(), "kernel")


@dataclass(frozen=True)
class Mismatch:
    """One element: its index, and what stands there."""

    index: tuple[int, ...]
    got: float | int | bool
    expected: float | int | bool

    @property
    def absolute(self) -> float:
        return abs(float(self.got) - float(self.expected))

    @property
    def relative(self) -> float:
        return self.absolute / abs(float(self.expected)) if self.expected else float("inf")

    @property
    def place(self) -> str:
        """`[3, 5]`"""
        return "[" + ", ".join(str(i) for i in self.index) + "]"


def _numbers(m: Mismatch) -> tuple[str, str]:
    """Both values in as many digits as tell them apart."""
    if isinstance(m.got, float) and isinstance(m.expected, float):
        short = f"{m.got:.7g}", f"{m.expected:.7g}"
        return short if short[0] != short[1] else (repr(m.got), repr(m.expected))
    return str(m.got), str(m.expected)


@dataclass
class CheckReport:
    """The result of a comparison; true if all values are right.

    Attributes:
        name, shape, dtype, expected_dtype: of `actual` (dtype as in `float32`), and expected's
            dtype.
        total, wrong: numbers of elements.
        rtol, atol: the tolerances used, both 0 for integers and booleans.
        worst_absolute, worst_relative: the elements farthest off, right or wrong; None if all are
            equal. NaN and infinities are left out of these.
        first: the first wrong elements in row-major order.
        nan_counts, inf_counts: how many NaN and infinities are in (actual, expected).
        hints: facts about the pattern of the mismatches.
        codes: uint8 array of `shape`: EQUAL, WRONG, MISSING (holds 0 or what fk.empty fills
            integers with, so perhaps never written) or NAN (NaN where a number was expected).
        tile: the kernel's tile, if one was given.
        useless: why `expected` is nothing to compare with; empty where it is something.
    """

    name: str | None
    shape: tuple[int, ...]
    dtype: str
    expected_dtype: str
    total: int
    wrong: int
    rtol: float
    atol: float
    worst_absolute: Mismatch | None
    worst_relative: Mismatch | None
    first: tuple[Mismatch, ...]
    nan_counts: tuple[int, int]
    inf_counts: tuple[int, int]
    hints: tuple[str, ...]
    codes: np.ndarray[Any, np.dtype[Any]] = field(repr=False, compare=False)
    tile: tuple[int, ...] | None = None
    useless: str = ""
    _shown_in: int | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        return self.wrong == 0

    @property
    def percent(self) -> float:
        """Wrong elements in percent of all."""
        return 100 * self.wrong / self.total if self.total else 0.0

    def __bool__(self) -> bool:
        return self.ok

    @property
    def headline(self) -> str:
        """The report in one line."""
        label = f"{self.name}: " if self.name else ""
        if self.total == 0:
            return f"OK  {label}0 elements, shape {self.shape} ({self.dtype})"
        if self.useless:
            return f"WRONG  {label}{self.useless}"
        if not self.ok:
            share = "all" if self.wrong == self.total else f"{self.percent:.3g} %"
            if share == "100 %":
                share = "over 99.9 %"
            verb = "differs" if self.wrong == 1 else "differ"
            counted = f"{self.wrong:,} of {plural(self.total, 'element')} {verb}"
            return f"WRONG  {label}{counted} ({share}, {self.dtype})"
        verb, how = "equal", "exact"
        if self.worst_absolute is not None:
            verb = f"within rtol {self.rtol:.2g}, atol {self.atol:.2g}"
            how = f"largest difference {self.worst_absolute.absolute:.2e}"
        both_nan = f", {self.nan_counts[0]:,} NaN in both" if self.nan_counts[0] else ""
        return f"OK  {label}{plural(self.total, 'element')} {verb} ({self.dtype}, {how}{both_nan})"

    @property
    def details(self) -> list[str]:
        """The lines below the headline; none if all is right."""
        if self.ok or self.useless:
            return []
        lines = (
            [f"tolerance: rtol {self.rtol:.2g}, atol {self.atol:.2g}"]
            if self.rtol or self.atol
            else []
        )
        worst = self.worst_absolute
        if worst is not None and self._is_wrong(worst):
            lines.append(f"worst difference: {worst.absolute:.4g} {self._told(worst)}")
        worst = self.worst_relative
        if worst is not None and self._is_wrong(worst):
            lines.append(f"worst relative difference: {worst.relative:.3g} {self._told(worst)}")
        for what, (got, expected) in (("NaN", self.nan_counts), ("Inf", self.inf_counts)):
            if got or expected:
                lines.append(f"{what}: {got:,} in actual, {expected:,} in expected")
        return lines + [f"pattern: {hint}" for hint in self.hints]

    def _is_wrong(self, m: Mismatch) -> bool:
        return bool(self.codes[m.index] != EQUAL)

    def _told(self, m: Mismatch) -> str:
        got, expected = _numbers(m)
        return f"at {m.place}: got {got}, expected {expected}"

    @property
    def table(self) -> list[tuple[str, str, str]]:
        """(index, got, expected) of the first wrong elements."""
        return [(m.place, *_numbers(m)) for m in self.first]

    def __str__(self) -> str:
        lines = [self.headline, *(f"  {line}" for line in self.details)]
        if self.first:
            rows = [("first mismatches", "got", "expected"), *self.table]
            widths = [max(len(row[i]) for row in rows) for i in range(3)]
            for place, got, expected in rows:
                lines.append(f"  {place:<{widths[0]}}  {got:>{widths[1]}}  {expected:>{widths[2]}}")
            if self.wrong > len(self.first):
                lines.append(f"  ... and {self.wrong - len(self.first):,} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """A block that takes its text colour from the page, so that it reads on light and dark
        ones.
        """
        colour = _GREEN if self.ok else _RED
        mark, _, rest = self.headline.partition("  ")
        head = f'<b style="color:{colour}">{mark}</b> <span>{html.escape(rest)}</span>'
        parts = [f"<div>{head}</div>"]
        parts += [f'<div style="opacity:.85">{html.escape(line)}</div>' for line in self.details]
        if self.first:
            parts.append(self._html_table())
        if not self.ok and not self.useless:
            parts.append(self._html_picture())
        style = f"border-left:4px solid {colour};padding:.2em .8em;margin:.3em 0;color:inherit"
        return f'<div style="{style}">{"".join(parts)}</div>'

    def _html_table(self) -> str:
        cell = 'style="text-align:right;padding:0 .8em;border:none;background:transparent"'
        rows = [("first mismatches", "got", "expected"), *self.table]
        body = "".join(
            "<tr style='background:transparent'>"
            + "".join(f"<td {cell}>{html.escape(text)}</td>" for text in row)
            + "</tr>"
            for row in rows
        )
        return f'<table style="color:inherit;border:none;margin:.3em 0">{body}</table>'

    def _html_picture(self) -> str:
        from forgekit.viz.mismatch import mismatch_map
        from forgekit.viz.png import img_tag

        return img_tag(mismatch_map(self), "; ".join([self.headline, *self.hints]))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def show(self) -> None:
        """Show the report in the notebook cell that runs now."""
        from IPython.core.getipython import get_ipython
        from IPython.display import display

        self._shown_in = getattr(get_ipython(), "execution_count", None)
        display(self._repr_mimebundle_(), raw=True)

    def _ipython_display_(self) -> None:
        # check() has shown the report already; as the last value of that same cell it is not shown
        # twice.
        from IPython.core.getipython import get_ipython

        now = getattr(get_ipython(), "execution_count", None)
        if self._shown_in is None or self._shown_in != now:
            self.show()
