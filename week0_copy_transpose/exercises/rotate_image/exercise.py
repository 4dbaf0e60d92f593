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
    inputs=lambda draw, m, n: (draw.places(m, n),),
    result=lambda x: x.rot90(-1),
    exact=True,
    sizes=[(3, 4), (1, 1), (32, 32), (64, 20), (1, 100), (100, 1), (33, 65), (40, 70)],
    count=[(64, 64), (256, 200)],
    dtypes=("float32", "int32"),
    waste={"threads": 4},
    misconceptions=[
        looks_like(
            lambda x, y: x.T,
            "the result is the transpose, because the columns do not run backwards.",
        ),
        looks_like(lambda x, y: x.rot90(1), "the kernel rotates counterclockwise."),
        looks_like(lambda x, y: x.rot90(-1).flip((0, 1)), "the kernel rotates counterclockwise."),
        looks_like(lambda x, y: x.T.flip((0, 1)), "rows and columns both run backwards."),
        Misconception(
            "the destination column is negative, so x has no such row. The predicate of the store "
            "must test the element that the store moves, not the one that the thread loaded.",
            lambda e: "writes mY" in e.text and "before the tensor's start" in e.text,
        ),
        found(
            "shared-race",
            "a thread reads an element that another may not have stored yet.",
            text=" reads ",
        ),
    ],
)
