"""Explain a wrong offset or a wrong layout from the answer itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from forgekit.arguments import integer_or_none
from forgekit.errors import UsageError, got_needed
from forgekit.layouts import Layout
from forgekit.layouts.tuples import congruent, flat, text
from forgekit.viz.layouts.offsets import read_offsets

__all__ = ["Reply", "about_layout", "about_offset", "about_offsets"]


@dataclass(frozen=True, repr=False)
class Reply:
    """The reply to an answer.

    Attributes:
        right: True if the answer is right. text: one line, or one for each part. open: True if
        an answer is missing and none is wrong.
    """

    right: bool
    text: str
    open: bool = False

    def __repr__(self) -> str:
        return self.text


# -- offsets of coordinates -------------------------------------------------------------------
def about_offsets(layout: Layout, answers: Mapping[Any, Any]) -> Reply:
    """Check the offset of each coordinate, and name the likely misconception behind a wrong one.

    Args:
        layout: has two or more modes. answers: coordinate -> offset, None if still missing.

    Raises:
        UsageError: `layout` is not a layout.
    """
    if not isinstance(layout, Layout):
        remedy = "write fk.Layout(shape, stride)"
        raise UsageError(got_needed("layout", repr(layout), "a forgekit Layout", remedy))
    if not isinstance(answers, Mapping) or not answers:
        return Reply(
            False, "The answers must be a dictionary of offsets by coordinate, as in the skeleton."
        )
    replies = {coord: about_offset(layout, coord, answer) for coord, answer in answers.items()}
    width = max(12, *(len(str(coord)) for coord in replies))
    lines = [f"{coord!s:>{width}}  {reply}" for coord, reply in replies.items()]
    right = all(reply.right for reply in replies.values())
    todo = not right and all(reply.right or reply.open for reply in replies.values())
    return Reply(right, "\n".join(lines), todo)


def about_offset(layout: Layout, coord: Any, answer: Any) -> Reply:
    """Check the offset of a coordinate; None or `...` means that the answer is missing."""
    try:
        wanted = layout(coord)
    except UsageError as error:
        return Reply(False, str(error))
    if integer_or_none(wanted) is None:
        return Reply(False, "this coordinate leaves a mode open; give each mode an index")
    if answer is None or answer is ...:
        return Reply(False, "no answer yet", open=True)
    value = answer.item() if getattr(answer, "shape", None) == () else answer
    offset = (
        int(value) if isinstance(value, float) and value.is_integer() else integer_or_none(value)
    )
    if offset is None:
        return Reply(False, f"{answer!r} is not an offset; write one whole number")
    if offset == wanted:
        return Reply(True, f"{offset} is right")
    misconceptions = (says for value, says in _slips(layout, coord) if value == offset)
    misconception = next(
        misconceptions, "split each index, multiply the parts by the strides, and add the products"
    )
    return Reply(False, f"{offset} is not right: {misconception}")


def _slips(layout: Layout, coord: Any) -> Iterator[tuple[int, str]]:
    """Yield wrong offsets that have a likely reason, the likeliest first."""
    if not isinstance(coord, tuple):
        yield coord, "a linear index is not an offset; convert it to a coordinate first"
    if isinstance(layout.shape, tuple):
        sizes = Layout(tuple(mode.size() for mode in layout))
        indices = sizes.coordinate(coord) if not isinstance(coord, tuple) else coord
        if all(not isinstance(index, tuple) for index in indices):
            first = tuple(flat(d)[0] for d in layout.stride)
            naive = sum(index * d for index, d in zip(indices, first, strict=True))
            yield (
                naive,
                "an index beyond the first part continues in the second part, with its stride",
            )
    mirrored = Layout(_backwards(layout.shape), _backwards(layout.stride))
    yield (
        mirrored(_backwards(coord)),
        "the leftmost part is the fastest, but you began on the right",
    )
    nested = layout.coordinate(layout.index(coord))
    yield sum(flat(nested)), "that is the sum of the indices; multiply each by its stride first"
    turned = _turned(layout.stride, range(layout.rank))
    if congruent(layout.shape, turned):
        yield (
            Layout(layout.shape, turned)(nested),
            "within a nested mode the first index goes with the first stride",
        )
    if layout.rank == 2 and isinstance(nested, tuple):
        for k, other in ((1, "row"), (0, "column")):
            yield tuple(layout)[k](nested[k]), f"that is mode {k} alone; add the {other}"


def _backwards(value: Any) -> Any:
    """Return a nested tuple with every level reversed."""
    if not isinstance(value, tuple):
        return value
    return tuple(_backwards(part) for part in value[::-1])


def _turned(value: Any, modes: Any) -> Any:
    """Return a tuple whose given entries are reversed if they are tuples."""
    if not isinstance(value, tuple):
        return value
    return tuple(part[::-1] if k in modes and isinstance(part, tuple) else part
                 for k, part in enumerate(value))  # fmt: skip


# -- a layout read from a picture -------------------------------------------------------------
def about_layout(picture: Any, shape: Any, stride: Any) -> Reply:
    """Check that shape and stride produce a picture; if not, name the confusion.

    Every layout that is the same function is correct.

    Args:
        picture: rows of offsets, as in `viz.draw_offsets`. shape, stride: None if the answer is
        missing.

    Raises:
        UsageError: `picture` is not a table of offsets.
    """
    table: list[list[int]] = read_offsets(picture, "picture").tolist()
    given = (("shape", shape), ("stride", stride))
    open_ones = [name for name, value in given if value is None or value is ...]
    if open_ones:
        todo = " and ".join(open_ones)
        return Reply(False, f"Still to do: write {todo} in place of None.", open=True)
    for name, value in (("shape", shape), ("stride", stride)):
        if _holds_none(value):
            return Reply(False, f"Still to do: there is a None in {name}, {value}.", open=True)
    try:
        layout = Layout(shape, stride)
        says = _mistake(layout, table)
    except UsageError as error:
        return Reply(False, str(error))
    return Reply(says is None, says or f"Right: {layout} produces the picture.")


def _holds_none(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_holds_none, value))
    return value is None or value is ...


def _mistake(layout: Layout, table: list[list[int]]) -> str | None:
    """Return the confusion, or the first position that differs; None if the layout is correct."""
    rows, columns = len(table), len(table[0])
    if layout.rank != 2:
        modes = "1 mode" if layout.rank == 1 else f"{layout.rank} modes"
        return (f"Your layout has {modes}, but the picture has two, rows and columns. Put the parts of one "
                "mode in parentheses, as in (3, (2, 5)).")  # fmt: skip
    sizes = tuple(mode.size() for mode in layout)
    if sizes == (columns, rows) and rows != columns:
        turned = Layout(layout.shape[::-1], layout.stride[::-1])
        if _difference(turned, table) is None:
            return "Rows and columns are swapped: mode 0 goes down."
    if sizes != (rows, columns):
        return (f"Your modes have the sizes {sizes[0]} and {sizes[1]}, but the picture has {rows} rows "
                f"and {columns} columns.")  # fmt: skip
    place = _difference(layout, table)
    if place is None:
        return None
    for suspect, says in _suspects(layout):
        if _difference(suspect, table) is None:
            return says
    return _assumption(layout, rows, columns) or _first_place(layout, table, place)


def _difference(layout: Layout, table: list[list[int]]) -> tuple[int, int] | None:
    """Return the first position at which layout and table differ; None if they are equal."""
    places = ((i, j) for i, row in enumerate(table) for j in range(len(row)))
    return next(((i, j) for i, j in places if layout((i, j)) != table[i][j]), None)


def _suspects(layout: Layout) -> Iterator[tuple[Layout, str]]:
    """Yield layouts that the student may have meant, each with the confusion behind it."""
    shape, stride = layout.shape, layout.stride
    if congruent(shape, stride[::-1]):
        says = "The strides of the two modes are swapped: the first is for steps down."
        yield Layout(shape, stride[::-1]), says
    for modes, where in (((0,), "mode 0"), ((1,), "mode 1"), ((0, 1), "both modes")):
        turned = _turned(stride, modes)
        if congruent(shape, turned):
            yield Layout(shape, turned), f"Within {where} the strides are swapped."
        parts = Layout(_turned(shape, modes), turned)
        yield parts, f"The parts of {where} are in the wrong order: the leftmost is the fastest."


def _assumption(layout: Layout, rows: int, columns: int) -> str | None:
    """Name the mistake of a layout whose rows, or columns, follow one another without a gap."""
    compact = [[i * columns + j for j in range(columns)] for i in range(rows)]
    if _difference(layout, compact) is None:
        return "In your layout, the rows follow one another in memory. Where does row 1 begin?"
    if _difference(layout, [[i + j * rows for j in range(columns)] for i in range(rows)]) is None:
        return (
            "In your layout, the columns follow one another in memory. Where does column 1 begin?"
        )
    return None


def _first_place(layout: Layout, table: list[list[int]], place: tuple[int, int]) -> str:
    i, j = place
    says = f"At {text(place)} your layout gives {text(layout(place))}, but the picture has {table[i][j]}."
    if all(layout((row, 0)) == line[0] for row, line in enumerate(table)):
        says += " The first column agrees: mode 0 is right."
    if all(layout((0, column)) == offset for column, offset in enumerate(table[0])):
        says += " The first row agrees: mode 1 is right."
    return says
