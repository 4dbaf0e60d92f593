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
Turn `x`, M rows of N, clockwise: `y`, N rows of M, with `y[j, M - 1 - i] = x[i, j]`. Loads *and*
stores are coalesced. The host function is called as
`rotate_image(x, y)`.
""",
    hints=(
        "Without the `M - 1 -` you have written this kernel before.",
        "A tile in shared memory is filled along rows of x and read along rows of y. Which index "
        "of the tile changes from lane to lane when it is read?",
        "The transpose with a padded or swizzled tile stays as it is, with its two predicates; "
        "only the column that is stored to changes, and lanes that go down are coalesced as well.",
    ),
    analysis="""
Every rotation and reflection of an image is this kernel with another index in the last line. A
warp's 32 addresses run downwards here; sectors do not care about the order of lanes. A pitch of 32
would cost 32 wavefronts a load in place of one.
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
            "the column that is stored to is below 0, so x has no such row: the store asks for "
            "the element that *it* moves, not for the one that the thread has loaded.",
            lambda e: "writes mY" in e.text and "before its start" in e.text,
        ),
        found(
            "shared-race", "a thread reads what another may not have stored yet.", text=" reads "
        ),
    ],
)
