"""What the notebook `02_see_layouts` asks: predictions, offsets by hand, layouts from pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from forgekit.errors import UsageError, got_needed
from forgekit.layouts import Layout
from forgekit.layouts.tuples import congruent, flat, integer_or_none, text
from forgekit.viz.layouts.offsets import read_offsets

__all__ = ["Predictions", "Reply", "check_offsets", "check_puzzle"]


@dataclass(frozen=True, repr=False)
class Reply:
    """What is said of an answer; as the last line of a cell it shows its text.

    Attributes:
        right: whether all of it is right. text: one line, or one for each part.
    """

    right: bool
    text: str

    def __repr__(self) -> str:
        return self.text


# -- predictions ------------------------------------------------------------------------------
class Predictions:
    """What was predicted, beside what came out; as the last line of a cell it shows all of it."""

    def __init__(self) -> None:
        self._said: dict[str, list[Any]] = {}
        self._answers: dict[str, Any] = {}

    def compare(self, question: str, predicted: Any, answer: Any) -> None:
        """Print a prediction (None: nothing written down) beside the answer, and keep both.

        A question that is asked again keeps what was said before.
        """
        said = self._said.setdefault(question, [])
        self._answers[question] = answer
        if predicted is None:
            print(f"{question}: nothing written down; it is {answer!r}")
            return
        if not said or not _same(said[-1], predicted):
            said.append(predicted)
        right = _same(predicted, answer)
        print(
            f"{question}: you said {predicted!r}" + (": right" if right else f"; it is {answer!r}")
        )

    def __repr__(self) -> str:
        if not self._answers:
            return "no predictions yet"
        rows = [
            (question, ", then ".join(map(repr, self._said[question])) or "-", repr(answer))
            for question, answer in self._answers.items()
        ]
        widths = [max(len(row[k]) for row in rows) for k in range(2)]
        return "\n".join(
            f"{question:<{widths[0]}}  you: {said:<{widths[1]}}  it is: {answer}"
            for question, said, answer in rows
        )


def _same(one: Any, other: Any) -> bool:
    """Equal, whether written as tuples or as lists."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    try:
        return bool(one == other)
    except (TypeError, ValueError, RuntimeError):  # arrays of several elements
        return False


# -- exercise 1: offsets by hand --------------------------------------------------------------
def check_offsets(layout: Layout, answers: Mapping[Any, Any]) -> Reply:
    """Whether each offset is that of its coordinate; if not, the likely slip.

    Args:
        layout: of two modes or more. answers: coordinate -> offset, None where there is none yet.

    Raises:
        UsageError: `layout` is none.
    """
    if not isinstance(layout, Layout):
        remedy = "write fk.Layout(shape, stride)"
        raise UsageError(got_needed("layout", repr(layout), "a forgekit Layout", remedy))
    if not isinstance(answers, Mapping) or not answers:
        return Reply(False, "The answers are a dictionary, coordinate: offset, as in the skeleton.")
    replies = {coord: _about_offset(layout, coord, answer) for coord, answer in answers.items()}
    width = max(12, *(len(str(coord)) for coord in replies))
    lines = [f"{coord!s:>{width}}  {reply}" for coord, reply in replies.items()]
    return Reply(all(reply.right for reply in replies.values()), "\n".join(lines))


def _about_offset(layout: Layout, coord: Any, answer: Any) -> Reply:
    try:
        wanted = layout(coord)
    except UsageError as error:
        return Reply(False, str(error))
    if integer_or_none(wanted) is None:
        return Reply(False, "this coordinate leaves a mode open; give each mode an index")
    if answer is None:
        return Reply(False, "no answer yet")
    offset = integer_or_none(answer)
    if offset is None:
        return Reply(False, f"{answer!r} is no offset; write one whole number")
    if offset == wanted:
        return Reply(True, f"{offset} is right")
    slips = (says for value, says in _slips(layout, coord) if value == offset)
    slip = next(slips, "split each index, multiply by the strides, add")
    return Reply(False, f"{offset} is not right: {slip}")


def _slips(layout: Layout, coord: Any) -> Iterator[tuple[int, str]]:
    """Wrong offsets that have a likely reason, the likeliest first."""
    if not isinstance(coord, tuple):
        yield coord, "a linear index is no offset; make a coordinate of it first"
    if isinstance(layout.shape, tuple):
        sizes = Layout(tuple(mode.size() for mode in layout))
        indices = sizes.coordinate(coord) if not isinstance(coord, tuple) else coord
        if all(not isinstance(index, tuple) for index in indices):
            first = tuple(flat(d)[0] for d in layout.stride)
            naive = sum(index * d for index, d in zip(indices, first, strict=True))
            yield naive, "an index beyond the first part goes on in the second, with its stride"
    mirrored = Layout(_backwards(layout.shape), _backwards(layout.stride))
    yield (
        mirrored(_backwards(coord)),
        "the leftmost part is the fastest, you began on the right",
    )
    nested = layout.coordinate(layout.index(coord))
    yield sum(flat(nested)), "you added the indices; multiply each by its stride first"
    turned = _turned(layout.stride, range(layout.rank))
    if congruent(layout.shape, turned):
        yield (
            Layout(layout.shape, turned)(nested),
            "within a nested mode the first index goes with the first stride",
        )


def _backwards(value: Any) -> Any:
    """A nested tuple with every level reversed."""
    if not isinstance(value, tuple):
        return value
    return tuple(_backwards(part) for part in value[::-1])


def _turned(value: Any, modes: Any) -> Any:
    """A tuple with some of its entries reversed, those that are tuples themselves."""
    if not isinstance(value, tuple):
        return value
    return tuple(part[::-1] if k in modes and isinstance(part, tuple) else part
                 for k, part in enumerate(value))  # fmt: skip


# -- exercise 2: which layout is it? ----------------------------------------------------------
def check_puzzle(picture: Any, shape: Any, stride: Any) -> Reply:
    """Whether shape and stride give a picture; if not, what was mixed up.

    Every layout that is the same function is right.

    Args:
        picture: rows of offsets, as `viz.draw_offsets` takes. shape, stride: None where there is
            no answer yet.

    Raises:
        UsageError: `picture` is no table of offsets.
    """
    table: list[list[int]] = read_offsets(picture, "picture").tolist()
    open_ones = [name for name, value in (("shape", shape), ("stride", stride)) if value is None]
    if open_ones:
        todo = " and ".join(open_ones)
        return Reply(False, f"Still to do: write {todo} in place of None.")
    for name, value in (("shape", shape), ("stride", stride)):
        if _holds_none(value):
            return Reply(False, f"Still to do: there is a None in {name}, {value}.")
    try:
        layout = Layout(shape, stride)
        says = _mistake(layout, table)
    except UsageError as error:
        return Reply(False, str(error))
    return Reply(says is None, says or f"Right: {layout} gives the picture.")


def _holds_none(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_holds_none, value))
    return value is None


def _mistake(layout: Layout, table: list[list[int]]) -> str | None:
    """What was mixed up, or the first place that differs; None if the layout is right."""
    rows, columns = len(table), len(table[0])
    if layout.rank != 2:
        modes = "1 mode" if layout.rank == 1 else f"{layout.rank} modes"
        return (f"Your layout has {modes}, the picture two, rows and columns. Put the parts of one "
                "mode into brackets, as in (3, (2, 5)).")  # fmt: skip
    sizes = tuple(mode.size() for mode in layout)
    if sizes == (columns, rows) and rows != columns:
        return "Rows and columns are exchanged: mode 0 goes down."
    if sizes != (rows, columns):
        return (f"Your modes have the sizes {sizes[0]} and {sizes[1]}, the picture has {rows} rows "
                f"and {columns} columns.")  # fmt: skip
    place = _difference(layout, table)
    if place is None:
        return None
    for suspect, says in _suspects(layout):
        if _difference(suspect, table) is None:
            return says
    return _assumption(layout, rows, columns) or _first_place(layout, table, place)


def _difference(layout: Layout, table: list[list[int]]) -> tuple[int, int] | None:
    """The first place at which a layout is not the table; None if it is."""
    places = ((i, j) for i, row in enumerate(table) for j in range(len(row)))
    return next(((i, j) for i, j in places if layout((i, j)) != table[i][j]), None)


def _suspects(layout: Layout) -> Iterator[tuple[Layout, str]]:
    """Layouts that may have been meant, each with what was mixed up."""
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
    """What was taken for granted: rows, or columns, one after the other without a gap."""
    compact = [[i * columns + j for j in range(columns)] for i in range(rows)]
    if _difference(layout, compact) is None:
        return "You took the rows to follow one another in memory. Where does row 1 begin?"
    if _difference(layout, [[i + j * rows for j in range(columns)] for i in range(rows)]) is None:
        return "You took the columns to follow one another in memory. Where does column 1 begin?"
    return None


def _first_place(layout: Layout, table: list[list[int]], place: tuple[int, int]) -> str:
    i, j = place
    says = f"At {text(place)} yours gives {text(layout(place))}, the picture has {table[i][j]}."
    if all(layout((row, 0)) == line[0] for row, line in enumerate(table)):
        says += " The first column agrees: mode 0 is right."
    if all(layout((0, column)) == offset for column, offset in enumerate(table[0])):
        says += " The first row agrees: mode 1 is right."
    return says
