"""Puzzle week1/row_dots: two rows in, one number out."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle


def _inputs(draw, m, n):
    """Return rows of fractions and whole numbers, whose float32 sums are exact in every order.
    Every third row, from the second on, has whole numbers only, of which two products do not fit
    in float16 and cancel. Every sixth row has large elements in a and small ones in b."""
    a, b = draw.fractions(m, n), draw.integers(-3, 4, m, n)
    a[2::3], b[2::3] = b[2::3].clone(), a[2::3].clone()
    for x in (a, b):
        x[1::3] = draw.integers(-9, 10, m, n)[1::3]
    a[0::6], b[0::6] = a[0::6] * 256, b[0::6] / 256
    if n > 1:
        a[1::3, 0], a[1::3, -1] = 300, -300
        b[1::3, 0], b[1::3, -1] = 300, 300
    return a, b


def _first_warp(a, b, z):
    product = a.double() * b.double()
    keep = torch.arange(a.shape[1]) % 128 < 32
    return product[:, keep].sum(1)


EXERCISE = puzzle(
    title="compute dot products of rows",
    task="""
Compute the dot product of each row of `a` with the same row of `b`: `z[m] = Σ a[m, n] · b[m,
n]`, in float32 and float16. Accumulate in float32.

Signature: `row_dots(a, b, z)`.
""",
    hints=(
        "Once each thread has its share in a register, the rest is an ordinary row sum.",
        "Each warp adds up its lanes' shares with shuffles. The four warps combine their sums in "
        "four words of shared memory, with one barrier.",
        "On the line inside the loop, convert both factors before you multiply: the product of "
        "two float16 numbers may not fit in float16.",
    ),
    analysis="""
Compared with a sum, this kernel needs one more multiplication per element and reads twice as
many bytes. Most reductions are a map followed by a sum, and the map is free while memory is the
limit.
""",
    asked={"work": "one block per row", "block": 128},
    entry="row_dots",
    inputs=_inputs,
    result=lambda a, b: (a * b).sum(1),
    sizes=[(2, 4), (1, 1), (3, 300), (3, 31), (2, 129), (3, 1025), (2, 33), (3, 200)],
    count=[(3, 100), (64, 700)],
    dtypes=("float32", "float16"),
    misconceptions=[
        looks_like(lambda a, b, z: a.double().sum(1), "z holds the sums of a: the kernel does not use b."),
        looks_like(lambda a, b, z: (a.double() + b.double()).sum(1), "the elements are added, not multiplied."),
        looks_like(lambda a, b, z: (a.double() * b.double())[:, :128].sum(1) if a.shape[1] > 256 else None,
                   "the sum contains only the first 128 elements of a row: in a longer row, each thread "
                   "has to continue."),
        looks_like(_first_warp, "the result contains only the share of one warp: add the words "
        "of all four warps."),
    ],
    given=picture(
        "z[0] = 1·2 + 3·0 + 2·5 = 12",
        {"a": [["1", "3", "2"], ["4", "0", "1"]], "b": [["2", "0", "5"], ["1", "7", "1"]], "z": [[("12", 0)], [("5", 1)]]},
    ),
    praise="A map and a sum.",
)  # fmt: skip
