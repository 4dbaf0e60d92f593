"""Describe a CuTe layout or tensor in words, mode by mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from forgekit.layouts import wording
from forgekit.layouts.convert import read
from forgekit.layouts.layout import Layout
from forgekit.layouts.parse import Described
from forgekit.layouts.swizzle import ComposedLayout, Swizzle, outer_of
from forgekit.layouts.tuples import text
from forgekit.show import Shown
from forgekit.text import Cell, Row, Table

_CODE = "font-family:monospace;"


ModeRow = tuple[str, str, str]


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """The result of `explain`. To display it, print it or make it the last expression of a cell.

    Attributes:
        subject: the layout in CuTe's notation.
        paragraph: a description in a few sentences.
        rows: for each mode and each part of a nested mode, its number (`1`, or `1.0` for mode 0 of
            mode 1), its layout and a description.
    """

    subject: str
    paragraph: str
    rows: tuple[ModeRow, ...]

    @property
    def summary(self) -> str:
        """Return the subject, the paragraph and the table of modes."""
        return "\n".join([self.subject, self.paragraph, "", *_table(self.rows).lines()])


def explanation_html(explanation: Explanation) -> str:
    cells = [(mode, Cell(layout, style=_CODE), words) for mode, layout, words in explanation.rows]
    subject, paragraph = escape(explanation.subject), escape(explanation.paragraph)
    return f"<p><code>{subject}</code><br>{paragraph}</p>{_table(cells).html()}"


def _table(rows: Sequence[Row]) -> Table:
    return Table(("mode", "size:stride", "what it does"), rows, left=range(3))


def explain(value: object) -> Explanation:
    """Describe a CuTe layout or tensor in words, mode by mode.

    Accepts a forgekit or CuTe layout, a tensor, the text that CuTe prints for either (such as
    `tensor<ptr<f32, gmem> o ((1,32),(?,?)):((0,1),(?,32))>`), or a tuple (shape, stride). Offsets
    and strides are in elements. Raises UsageError for any other value.
    """
    described = read(value)
    outer = outer_of(described.layout)
    return Explanation(str(described.layout), _paragraph(described, outer), tuple(_rows(outer, "")))


def _paragraph(described: Described, outer: Layout) -> str:
    layout = described.layout
    order = wording.order(outer)
    first = f"{wording.kind(described)}; {wording.extent(outer)}"
    sentences = [first + (f", {order}" if order else ""), wording.coverage(outer)]
    if described.pointer_swizzle is not None:
        words = wording.swizzle_words(described.pointer_swizzle, unit="bytes")
        sentences.append(f"Its byte addresses are swizzled: {words}")
    if isinstance(layout, ComposedLayout):
        sentences.append(_inner_words(layout))
    sentences.append(wording.example(described))
    return ". ".join(sentence for sentence in sentences if sentence) + "."


def _inner_words(layout: ComposedLayout) -> str:
    if isinstance(layout.inner, Swizzle):
        return "After that, " + wording.swizzle_words(layout.inner, unit="elements")
    shift = "" if layout.offset == 0 else f"moved by {text(layout.offset)} and "
    return f"Its result is {shift}passed to {layout.inner}"


def _rows(layout: Layout, prefix: str) -> list[ModeRow]:
    rows = []
    for i, mode in enumerate(layout):
        name = f"{prefix}{i}"
        if isinstance(mode.shape, tuple):
            rows.append((name, str(mode), _nested_words(mode)))
            rows += _rows(mode, name + ".")
        else:
            rows.append((name, str(mode), wording.step(mode.shape, mode.stride)))
    return rows


def _nested_words(mode: Layout) -> str:
    if mode.rank == 0:
        return "empty: one element, no step"
    if mode.rank == 1:
        return "nested, with a single part:"
    return f"{wording.extent(mode)}, the leftmost part fastest:"
