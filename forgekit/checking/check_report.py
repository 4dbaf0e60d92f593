"""Hold the findings of check() as data, and format them as plain text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from forgekit.show import Shown
from forgekit.text import Table, plural

# The codes of elements. A cell that represents several elements shows their largest code.
EQUAL, WRONG, MISSING, NAN = 0, 1, 2, 3


@dataclass(frozen=True)
class Mismatch:
    """A wrong element: its index, and its actual and expected values; `place` is the index as text,
    such as `[3, 5]`.
    """

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
        return str(list(self.index))


def _numbers(m: Mismatch) -> tuple[str, str]:
    """Return both values with enough digits to tell them apart."""
    if isinstance(m.got, float) and isinstance(m.expected, float):
        short = f"{m.got:.7g}", f"{m.expected:.7g}"
        return short if short[0] != short[1] else (repr(m.got), repr(m.expected))
    return str(m.got), str(m.expected)


def _where(m: Mismatch) -> str:
    got, expected = _numbers(m)
    return f"at {m.place}: got {got}, expected {expected}"


@dataclass(repr=False)
class CheckReport(Shown):
    """The result of a comparison; its truth value is True if all values are right.

    Attributes:
        name, shape, dtype: the name, shape and dtype (such as `float32`) of `actual`.
        total, wrong: the number of elements, and how many of them are wrong.
        rtol, atol: the tolerances used; both are 0 for integers and booleans.
        worst_absolute, worst_relative: the elements with the largest errors, within the tolerance
            or not; None if all elements are equal. NaNs and infinities are excluded.
        first: the first wrong elements in row-major order.
        nan_counts, inf_counts: the numbers of NaNs and infinities in (actual, expected).
        hints: facts about the pattern of the mismatches.
        codes: a uint8 array of shape `shape`: EQUAL, WRONG, MISSING (0 or the integer fill value of
            fk.empty, so perhaps never written) or NAN (NaN instead of a number).
        tile: the kernel's tile, if given.
        useless: the reason why `expected` is unusable; empty if it is usable.
    """

    name: str | None
    shape: tuple[int, ...]
    dtype: str
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
    codes: np.ndarray[Any, np.dtype[Any]] = field(compare=False)
    tile: tuple[int, ...] | None = None
    useless: str = ""
    _shown_in: int | None = field(default=None, init=False, compare=False)

    @property
    def ok(self) -> bool:
        return self.wrong == 0

    def __bool__(self) -> bool:
        return self.ok

    @property
    def headline(self) -> str:
        """Return a one-line summary."""
        label = f"{self.name}: " if self.name else ""
        if self.total == 0:
            return f"OK  {label}0 elements, shape {self.shape} ({self.dtype})"
        if self.useless:
            return f"WRONG  {label}{self.useless}"
        if not self.ok:
            share = f"{100 * self.wrong / self.total:.3g} %"
            if share == "100 %":
                share = "all" if self.wrong == self.total else "over 99.9 %"
            verb = "differs" if self.wrong == 1 else "differ"
            counted = f"{self.wrong:,} of {plural(self.total, 'element')} {verb}"
            return f"WRONG  {label}{counted} ({share}, {self.dtype})"
        met = "equal"
        if self.worst_absolute is not None:
            # Report the bound, not the difference, because the difference may depend on the CPU on
            # which PyTorch computed the expected values.
            met = f"within rtol {self.rtol:.2g}, atol {self.atol:.2g}"
        exact = ", exact" * (self.worst_absolute is None)
        both_nan = f", {self.nan_counts[0]:,} NaN in both" if self.nan_counts[0] else ""
        return f"OK  {label}{plural(self.total, 'element')} {met} ({self.dtype}{exact}{both_nan})"

    @property
    def details(self) -> list[str]:
        """Return the lines below the headline; empty if all values are right."""
        if self.ok or self.useless:
            return []
        lines = []
        if self.rtol or self.atol:
            lines.append(f"tolerance: rtol {self.rtol:.2g}, atol {self.atol:.2g}")
        if (m := self.worst_absolute) and self._is_wrong(m):
            lines.append(f"worst difference: {m.absolute:.4g} {_where(m)}")
        if (m := self.worst_relative) and self._is_wrong(m):
            lines.append(f"worst relative difference: {m.relative:.3g} {_where(m)}")
        for what, (got, expected) in (("NaN", self.nan_counts), ("Inf", self.inf_counts)):
            if got or expected:
                lines.append(f"{what}: {got:,} in actual, {expected:,} in expected")
        return lines + [f"pattern: {hint}" for hint in self.hints]

    def _is_wrong(self, m: Mismatch) -> bool:
        return bool(self.codes[m.index] != EQUAL)

    @property
    def table(self) -> Table:
        """Return a table of the first wrong elements."""
        rows = [(m.place, *_numbers(m)) for m in self.first]
        return Table(("first mismatches", "got", "expected"), rows)

    @property
    def summary(self) -> str:
        lines = [self.headline, *(f"  {line}" for line in self.details)]
        if self.first:
            lines += [f"  {line}" for line in self.table.lines()]
            if self.wrong > len(self.first):
                lines.append(f"  ... and {self.wrong - len(self.first):,} more")
        return "\n".join(lines)

    def show(self) -> None:
        """Show the report in the output of the current notebook cell."""
        from IPython.core.getipython import get_ipython
        from IPython.display import display

        self._shown_in = getattr(get_ipython(), "execution_count", None)
        display(self._repr_mimebundle_(), raw=True)

    def _ipython_display_(self) -> None:
        # check() has already shown the report: do not show it again as the cell's last value.
        from IPython.core.getipython import get_ipython

        now = getattr(get_ipython(), "execution_count", None)
        if self._shown_in is None or self._shown_in != now:
            self.show()
