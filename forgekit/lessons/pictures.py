"""Draw small tensors with coloured cells, which show in a puzzle's task where elements go."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from forgekit.viz.compose import compose
from forgekit.viz.grid import Axis, Content, Grid, plain_axis
from forgekit.viz.palette import NOTHING, thread_colour
from forgekit.viz.picture import LayoutPicture

Cell = str | tuple[str, int]  # the text, or (text, colour number)
Rows = Sequence[Sequence[Cell]]


def numbers(rows: int, columns: int, prefix: str = "") -> list[list[str]]:
    """Return rows of cells labelled with their position in row-major order: `x0`, `x1`, … for the
    prefix "x"."""
    return [[f"{prefix}{r * columns + c}" for c in range(columns)] for r in range(rows)]


def coloured(values: Sequence[object], hues: dict[int, int]) -> list[Cell]:
    """Return a row of cells. hues: maps a cell's index to its colour number."""
    return [(str(v), hues[i]) if i in hues else str(v) for i, v in enumerate(values)]


def picture(
    title: str, panels: dict[str, Rows], hue: Callable[[str], int | None] = lambda text: None
) -> LayoutPicture:
    """Draw tensors side by side, or one below the other if they are single rows.

    Args:
        panels: maps each tensor's name to its cells. hue: computes a colour number from a cell's
            text for cells that have no number; a cell with None stays grey. Cells of the same
            colour belong together.
    """
    used = [_hue(cell, hue) for rows in panels.values() for row in rows for cell in row]
    hues = 1 + max((number for number in used if number is not None), default=0)
    blocks = [_grid(name, rows, hue, hues).block() for name, rows in panels.items()]
    flat = all(len(rows) == 1 for rows in panels.values())
    words = ". ".join(
        f"{name}: {' / '.join(' '.join(map(_text, row)) for row in rows)}"
        for name, rows in panels.items()
    )
    placed = [[b] for b in blocks] if flat else [blocks]
    scene = compose(title, (), placed, words=f"{title}. {words}", aligned=len(placed) * flat)
    return LayoutPicture(scene)


def _text(cell: Cell) -> str:
    return cell if isinstance(cell, str) else cell[0]


def _hue(cell: Cell, hue: Callable[[str], int | None]) -> int | None:
    return hue(cell) if isinstance(cell, str) else cell[1]


def _grid(name: str, rows: Rows, hue: Callable[[str], int | None], hues: int) -> Grid:
    def content(r: int, c: int) -> Content:
        number = _hue(rows[r][c], hue)
        fill = NOTHING if number is None else thread_colour(number, hues)
        return Content(fill, (_text(rows[r][c]),))

    longest = max(len(_text(cell)) for row in rows for cell in row)
    down = plain_axis(len(rows)) if len(rows) > 1 else Axis(())
    return Grid(
        name, len(rows), len(rows[0]), content, down, plain_axis(len(rows[0])), caption=name,
        cell=(max(32.0, 7.0 * longest + 10), 30.0),
    )  # fmt: skip
