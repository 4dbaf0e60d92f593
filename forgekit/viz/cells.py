"""A tensor's elements as cells of a picture: wrapped, several a cell, lonely ones ringed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = np.ndarray[Any, np.dtype[Any]]

_MOST = 256  # cells along an axis; more elements than that share cells
_LARGE, _MOST_RINGS = 64, 12  # cells along an axis of a picture in which so few are overlooked


def wrapped_width(size: int) -> int:
    """Elements in a row of a 1-D tensor: a power of two, for a picture wider than high."""
    width = 32
    while width * width < 4 * size:
        width *= 2
    return width


def cell_steps(rows: int, columns: int) -> tuple[int, int]:
    """How many elements, down and across, share a cell."""
    return -(-rows // _MOST), -(-columns // _MOST)


def reduced(
    how: np.ufunc,
    values: Array,
    steps: tuple[int, int],
    of: Callable[[Array], Array] = lambda strip: strip,
) -> Array:
    """A number for each cell; strip by strip, for there may be millions of values."""
    rows = []
    for start in range(0, len(values), steps[0]):
        strip = of(values[start : start + steps[0]])
        across = how.reduce(strip, axis=0, dtype=np.int64)
        rows.append(how.reduceat(across, np.arange(0, len(across), steps[1])))
    return np.array(rows)


def paint(
    axes: Axes, image: Array, shape: tuple[int, ...], steps: tuple[int, int], **style: Any
) -> None:
    """A cell for each entry of the image, on axes that count the elements of `shape`."""
    right, bottom = image.shape[1] * steps[1] - 0.5, image.shape[0] * steps[0] - 0.5
    axes.imshow(image, extent=(-0.5, right, bottom, -0.5), interpolation="nearest", aspect="auto",
                **style)  # fmt: skip
    axes.set(xlim=(-0.5, shape[1] - 0.5), ylim=(shape[0] - 0.5, -0.5))


def ring(axes: Axes, cells: Array, steps: tuple[int, int], **style: Any) -> None:
    """Circles round the few cells that are true, where they would be overlooked."""
    hit = np.argwhere(cells)
    if max(cells.shape) < _LARGE or not 0 < len(hit) <= _MOST_RINGS:
        return
    y, x = ((hit[:, axis] + 0.5) * steps[axis] - 0.5 for axis in (0, 1))
    axes.scatter(x, y, facecolors="none", **style)
