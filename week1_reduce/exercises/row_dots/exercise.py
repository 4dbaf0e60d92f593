"""Puzzle week1/row_dots: two rows in, one number out."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle


def _first_warp(a, b, z):
    product = a.double() * b.double()
    keep = torch.arange(a.shape[1]) % 128 < 32
    return product[:, keep].sum(1)


EXERCISE = puzzle(
    title="multiply row by row",
    task="""
The dot product of each row of `a` with the same row of `b`: `z[m] = Σ a[m, n] · b[m, n]`, added up in float32. `row_dots(a, b, z)`, float32 and float16.
""",
    hints=(
        "Once each thread has its share in a register, this is a sum of a row as you know it.",
        "A warp adds up by shuffles; four warps meet in four words of shared memory, with one barrier.",
        "Both factors are converted before they are multiplied: the product of two float16 may not "
        "fit into one. That is the line inside the loop.",
    ),
    analysis="""
One multiplication more than a sum, and twice the bytes: nothing else changes. Most reductions are a
map and a sum, and the map is free while memory is what one waits for.
""",
    asked={"work": "one block per row", "block": 128},
    entry="row_dots",
    inputs=lambda draw, m, n: (draw(m, n), draw(m, n)),
    result=lambda a, b: (a * b).sum(1),
    sizes=[(2, 4), (1, 1), (3, 31), (2, 129), (3, 1025), (2, 33), (3, 200)],
    count=[(3, 100), (64, 700)],
    dtypes=("float32", "float16"),
    misconceptions=[
        looks_like(lambda a, b, z: a.double().sum(1), "a is added up; b is not in it."),
        looks_like(lambda a, b, z: (a.double() + b.double()).sum(1), "the elements are added, not multiplied."),
        looks_like(lambda a, b, z: (a.double() * b.double())[:, :128].sum(1), "only the first 128 elements "
                   "of a row are in the sum: 128 threads have to go on where a row is longer."),
        looks_like(_first_warp, "only the share of one warp is in the result: each of four warps has a word in shared memory."),
    ],
    given=picture(
        "z[0] = 1·2 + 3·0 + 2·5 = 12",
        {"a": [["1", "3", "2"], ["4", "0", "1"]], "b": [["2", "0", "5"], ["1", "7", "1"]], "z": [[("12", 0)], [("5", 1)]]},
    ),
    praise="A map and a sum.",
)  # fmt: skip
