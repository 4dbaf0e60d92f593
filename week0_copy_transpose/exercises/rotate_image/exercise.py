"""Puzzle week0/rotate_image: a transpose whose columns run backwards."""

import torch

from forgekit.lessons.gates import Misconception, found, looks_like
from forgekit.lessons.puzzle import puzzle

from ..practice import numbers, picture

X = torch.arange(12).reshape(3, 4)
PICTURE = picture(
    "the first row becomes the last column",
    {"x": numbers(3, 4), "y": [[str(v) for v in row] for row in X.rot90(-1).tolist()]},
    lambda text: int(text) // 4,
)

EXERCISE = puzzle(
    title="rotate an image by 90 degrees",
    task="""
Rotate `x`, with M rows of N elements, clockwise: `y` has N rows of M elements, and
`y[j, M - 1 - i] = x[i, j]`. Coalesce loads *and* stores. Signature: `rotate_image(x, y)`.
""",
    hints=(
        "You have written this kernel before, without the `M - 1 -`.",
        "The kernel fills a tile in shared memory along rows of x and reads it along rows of "
        "y. Which index of the tile changes from lane to lane when it is read?",
        "Keep the transpose with a padded or swizzled tile and its two predicates. Change only "
        "the destination column: lanes with descending addresses are coalesced as well.",
    ),
    analysis="""
Every rotation and reflection of an image is this kernel with another index in the last line. The 32
addresses of a warp run downwards here; sectors do not depend on the order of the lanes. A pitch of
32 would cost 32 wavefronts per load instead of one.
""",
    asked={"bank_conflicts": 0},
    entry="rotate_image",
    given=PICTURE,
    inputs=lambda draw, m, n: (draw.places(m, n),),
    result=lambda x: x.rot90(-1),
    exact=True,
    sizes=[(3, 4), (1, 1), (32, 32), (64, 20), (1, 100), (100, 1), (33, 65), (40, 70)],
    count=[(64, 64), (256, 200)],
    dtypes=("float32", "int32"),
    waste={"threads": 4},
    misconceptions=[
        looks_like(lambda x, y: x.T, "that is the transpose: the columns do not run backwards."),
        looks_like(lambda x, y: x.rot90(1), "that is a quarter turn the other way."),
        looks_like(lambda x, y: x.rot90(-1).flip((0, 1)), "that is a quarter turn the other way."),
        looks_like(lambda x, y: x.T.flip((0, 1)), "rows and columns both run backwards."),
        Misconception(
            "the destination column is negative, so x has no such row: the predicate of the store "
            "must test the element that the store moves, not the one that the thread loaded.",
            lambda e: "writes mY" in e.text and "before its start" in e.text,
        ),
        found(
            "shared-race",
            "a thread reads an element that another may not have stored yet.",
            text=" reads ",
        ),
    ],
)
