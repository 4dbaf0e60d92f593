"""Format numbers and tables for readers: as plain text, Markdown, and HTML for any page."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape


# -- numbers ------------------------------------------------------------------------------------
def plural(count: int, noun: str) -> str:
    """Return a count with its noun, such as `1 sector`, `2,560 sectors`, `3 branches` or `2
    copies`."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{count:,} {noun[:-1]}ies"
    return f"{count:,} {noun}" + ("es" if noun.endswith("ch") else "s")


def times(count: int) -> str:
    """Return `once`, `twice`, or text such as `1,000 times`."""
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def size(count: float, *, exact: bool = False) -> str:
    """Return a byte count in decimal units, such as `2.62 MB`, or, if exact is True, in bytes, such
    as `1,280 bytes`."""
    if exact or count < 1000:
        return plural(int(count), "byte") if exact else f"{int(count)} B"
    return _scaled(count, ("kB", 1e3), ("MB", 1e6), ("GB", 1e9))


def seconds(value: float) -> str:
    """Return a time with its unit, such as `0.14 µs` or `1.2 ms`."""
    if not value:
        return "0 s"
    return _scaled(value, ("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0))


def _scaled(value: float, *units: tuple[str, float]) -> str:
    """Format a number with three significant digits, in the first unit in which it is below 1,000,
    or the last unit."""
    unit, factor = next(((u, f) for u, f in units if value < 999.5 * f), units[-1])
    value = float(f"{value / factor:.3g}") if value < 999.5 * factor else value / factor
    digits = max(2 - math.floor(math.log10(value)), 0) if value else 0
    return f"{value:,.{digits}f} {unit}"


def extent(dims: tuple[int, int, int], noun: str) -> str:
    """Return the number of blocks or threads in a grid or block, such as `8 blocks`, with its
    dimensions if there are several: `1,024 blocks (32 × 32)`."""
    used = dims[: max((i + 1 for i, n in enumerate(dims) if n > 1), default=1)]
    shape = f" ({' × '.join(f'{n:,}' for n in used)})" if len(used) > 1 else ""
    return plural(math.prod(dims), noun) + shape


def spans(numbers: Sequence[int]) -> str:
    """Return ascending numbers in short form, such as `0–15, 24`, or `0, 2, … 30` for a constant
    stride."""
    steps = {b - a for a, b in itertools.pairwise(numbers)}
    if len(numbers) > 3 and len(steps) == 1 and steps != {1}:
        return f"{numbers[0]}, {numbers[1]}, … {numbers[-1]}"
    starts = [i for i, n in enumerate(numbers) if i == 0 or n != numbers[i - 1] + 1]
    parts = []
    for start, end in zip(starts, [*starts[1:], len(numbers)], strict=False):
        first, last = numbers[start], numbers[end - 1]
        parts.append(str(first) if first == last else f"{first}–{last}")
    return ", ".join(parts)


_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def without_colours(text: str) -> str:
    """Return the text without terminal escape sequences."""
    return _ESCAPES.sub("", text)


def shortened(text: str, width: int) -> str:
    """Return the text or, if it is longer than `width`, its beginning and `…`."""
    return text if len(text) <= width else text[: width - 1] + "…"


# -- tables -------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Cell:
    """A table cell with formatting.

    span: the number of columns that the cell covers. In HTML, style: its CSS; title: its tooltip;
    link: the address to which its text links.
    """

    text: str
    span: int = 1
    style: str = ""
    title: str = ""
    link: str = ""


Row = Sequence[str | Cell]

# All styles are inline, because pages that show notebooks often drop style sheets. Colours are the
# page's own or translucent, so that tables are legible in light and dark themes.
_TABLE = "border-collapse:collapse;margin:0;font-size:12px;color:inherit;border:0;"
_CELL = "padding:3px 9px;border:0;background:transparent;vertical-align:top;"
_WORDS = _CELL + "text-align:left;"
_NUMBER = _CELL + "text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums;"
_HEAD = "border-bottom:1px solid currentColor;font-weight:600;"


@dataclass(frozen=True)
class Table:
    """A table whose rows contain strings or `Cell`s. heads: the column headings, which may have
    several lines; empty for a table without headings.

    left: the indices of left-aligned columns, which contain words; other columns are right-aligned.
    styles: maps row numbers to CSS for whole rows.
    """

    heads: Row
    rows: Sequence[Row]
    left: Iterable[int] = (0,)
    styles: Mapping[int, str] | None = None

    def lines(self, *, widest: Mapping[int, int] | None = None) -> list[str]:
        """Return the table as lines of plain text. widest: maps columns to the maximum number of
        characters per cell; longer cells are truncated."""
        head = [_cell(h).text.split("\n") for h in self.heads]
        deep = max(map(len, head), default=0)
        tops = [[*[""] * (deep - len(parts)), *parts] for parts in head]
        rows: list[Row] = [[column[i] for column in tops] for i in range(deep)]
        rows += self.rows
        columns = max(sum(_cell(c).span for c in row) for row in rows) if rows else 0
        widths = [0] * columns
        for row in rows:
            for at, cell in _placed(row):
                if cell.span == 1:
                    most = (widest or {}).get(at, len(cell.text))
                    widths[at] = max(widths[at], min(len(cell.text), most))
        for row in rows:  # a cell that spans several columns may need a wider last column
            for at, cell in _placed(row):
                if cell.span > 1:
                    last = at + cell.span - 1
                    room = sum(widths[at : last + 1]) + 2 * (cell.span - 1)
                    widths[last] += max(len(cell.text) - room, 0)
        return [self._line(row, widths) for row in rows]

    def _line(self, row: Row, widths: Sequence[int]) -> str:
        parts = []
        for at, cell in _placed(row):
            width = sum(widths[at : at + cell.span]) + 2 * (cell.span - 1)
            text = shortened(cell.text, width)
            words = at in tuple(self.left) or cell.span > 1
            parts.append(text.ljust(width) if words else text.rjust(width))
        return "  ".join(parts).rstrip()

    def markdown(self) -> str:
        """Return the table as Markdown."""
        left = tuple(self.left)
        heads = [_cell(h).text for h in self.heads]
        rules = "".join("---|" if i in left else "---:|" for i in range(len(heads)))
        body = [[_cell(c).text for c in row] for row in self.rows]
        return "\n".join([_bars(heads), f"|{rules}", *map(_bars, body)])

    def html(self, style: str = "") -> str:
        """Return the table as HTML. style: additional CSS for the table."""
        heads = f"<thead>{self._html_row('th', self.heads, _HEAD)}</thead>" if self.heads else ""
        styles = self.styles or {}
        rows = (self._html_row("td", row, "", styles.get(i, "")) for i, row in enumerate(self.rows))
        return f'<table style="{_TABLE}{style}">{heads}<tbody>{"".join(rows)}</tbody></table>'

    def _html_row(self, tag: str, row: Row, style: str, own: str = "") -> str:
        left = tuple(self.left)
        cells = []
        for at, cell in _placed(row):
            base = _WORDS if at in left or cell.span > 1 else _NUMBER
            span = f' colspan="{cell.span}"' if cell.span > 1 else ""
            scope = ' scope="col"' if tag == "th" else ""
            title = f' title="{escape(cell.title)}"' if cell.title else ""
            text = escape(cell.text).replace("\n", "<br>")
            if cell.link:
                text = f'<a href="{escape(cell.link)}">{text}</a>'
            cells.append(f'<{tag}{span}{scope}{title} style="{base}{style}{cell.style}">'
                         f"{text}</{tag}>")  # fmt: skip
        return f'<tr style="background:{own or "transparent"}">{"".join(cells)}</tr>'


def _cell(cell: str | Cell) -> Cell:
    return cell if isinstance(cell, Cell) else Cell(cell)


def _placed(row: Row) -> Iterable[tuple[int, Cell]]:
    """Yield each cell of a row with the index of its first column."""
    at = 0
    for cell in map(_cell, row):
        yield at, cell
        at += cell.span


def _bars(cells: Sequence[str]) -> str:
    plain = (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(plain)} |"
