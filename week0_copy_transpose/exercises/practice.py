"""What the puzzles of 08_practice share: pictures of what goes where, in a few numbered cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from forgekit.viz.layouts.compose import compose
from forgekit.viz.layouts.grid import Axis, Content, Grid, plain_axis
from forgekit.viz.layouts.palette import NOTHING, thread_colour
from forgekit.viz.layouts.picture import LayoutPicture

__all__ = ["Rows", "numbers", "picture"]

Rows = Sequence[Sequence[str]]


def numbers(rows: int, columns: int, prefix: str = "", first: int = 0) -> list[list[str]]:
    """Cells that say where they stand, in row-major order: `x0`, `x1`, … with the prefix "x"."""
    return [[f"{prefix}{first + r * columns + c}" for c in range(columns)] for r in range(rows)]


def picture(
    title: str, panels: dict[str, Rows], hue: Callable[[str], int | None], *, note: str = ""
) -> LayoutPicture:
    """Tensors side by side, or below each other where they are single rows.

    Args:
        panels: name -> the texts of its cells. hue: number of a cell's colour, of its text; None
            leaves it grey. Cells of one colour belong together. note: a line below.
    """
    blocks = [_grid(name, rows, hue).block() for name, rows in panels.items()]
    flat = all(len(rows) == 1 for rows in panels.values())
    placed = [[b] for b in blocks] if flat else [blocks]
    words = ". ".join(
        f"{name}: {' / '.join(' '.join(row) for row in rows)}" for name, rows in panels.items()
    )
    scene = compose(
        title, (), placed, words=f"{title}. {words}", notes=[note] if note else [],
        aligned=len(placed) if flat else 0,
    )  # fmt: skip
    return LayoutPicture(scene)


def _grid(name: str, rows: Rows, hue: Callable[[str], int | None]) -> Grid:
    def content(r: int, c: int) -> Content:
        text = rows[r][c]
        number = hue(text)
        return Content(NOTHING if number is None else thread_colour(number), (text,))

    longest = max(len(text) for row in rows for text in row)
    cell = (max(32.0, 7.0 * longest + 10), 30.0)
    down = plain_axis(len(rows)) if len(rows) > 1 else Axis(())
    return Grid(
        name, len(rows), len(rows[0]), content, down, plain_axis(len(rows[0])), caption=name,
        cell=cell,
    )  # fmt: skip
