"""Puzzle week0/rotate_image: a transpose whose columns run backwards."""

from collections.abc import Iterator

import numpy as np
import torch

from forgekit.lessons.gates import found, looks_like
from forgekit.lessons.puzzle import Draw, puzzle

from ..practice import limited, numbers, picture
from ..transposing import Places, left_by

X = torch.arange(12).reshape(3, 4)
PICTURE = picture(
    "the first row becomes the last column",
    {"x": numbers(3, 4), "y": [[str(v) for v in row] for row in X.rot90(-1).tolist()]},
    lambda text: int(text) // 4,
)


def _of_store(p: Places) -> Iterator[np.ndarray]:
    for k in range(0, 32, 8):
        yield (p.col0 + p.ty + k) * p.M + p.M - 1 - p.row0 - p.tx


def _inputs(draw: Draw, m: int, n: int) -> tuple[torch.Tensor]:
    """Return places; in a large matrix, halves or integers that float32 rounds, of both signs, and
    a few zeros."""
    x = draw.places(m, n)
    if m * n >= 1000:
        x = x / 2 if x.is_floating_point() else 2047 * x
        x.view(-1)[::2] *= -1
        x.view(-1)[::11] = 0
    return (x,)


EXERCISE = puzzle(
    title="rotate an image by 90 degrees",
    task="""
Rotate `x`, which has M rows of N elements, clockwise: `y[j, M - 1 - i] = x[i, j]`, where `y` has N
rows of M elements. Both loads *and* stores must be coalesced. Signature: `rotate_image(x, y)`.
""",
    hints=(
        "You have written this kernel before, without the `M - 1 -`.",
        "The kernel fills a tile in shared memory along rows of x and reads it along rows of y. "
        "Which index of the tile changes from lane to lane when a warp reads it?",
        "Keep the transpose with a padded or swizzled tile and its two predicates. Change only "
        "the destination column; stores to descending addresses are coalesced as well.",
    ),
    analysis="""
Any rotation or reflection of an image is this kernel with a different index in the last line. The
addresses of the 32 lanes descend here, but the number of sectors does not depend on the order of
the lanes. A pitch of 32 would cost 32 wavefronts per load instead of one.
""",
    asked={"bank_conflicts": 0},
    entry="rotate_image",
    given=PICTURE,
    inputs=_inputs,
    result=lambda x: x.rot90(-1),
    exact=True,
    sizes=[(3, 4), (1, 1), (32, 32), (64, 20), (1, 4200), (4200, 1), (33, 65), (40, 70)],
    count=[(64, 64), (256, 200)],
    dtypes=("float32", "int32"),
    legal=limited,
    waste={"threads": 4},
    misconceptions=[
        looks_like(
            lambda x, y: x.T,
            "the result is the transpose: the columns do not run backwards.",
        ),
        looks_like(lambda x, y: x.rot90(1), "the result is rotated counterclockwise."),
        looks_like(
            lambda x, y: x.rot90(-1).flip((0, 1)), "the result is rotated counterclockwise."
        ),
        looks_like(lambda x, y: x.T.flip((0, 1)), "rows and columns both run backwards."),
        left_by(
            "mY",
            _of_store,
            "the store's index is correct, but its predicate lets through threads for which x has "
            "no element. Compare the row of x that the store moves with M, and its column with N.",
        ),
        found(
            "shared-race",
            "a thread reads an element that another may not have stored yet.",
            text=" reads ",
        ),
    ],
)
