"""Puzzle week0/lower_triangle: two dimensions, a predicate that selects, whole sectors."""

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

EXERCISE = puzzle(
    title="keep the lower triangle",
    task="""
`y[row, col] = x[row, col]` where `col <= row`, and `0` above the diagonal, for matrices of any size.
Write the whole kernel, and its launch, one thread per element in blocks of (32, 8, 1) for example,
with no more sectors than it takes, for float32 and float16: `mX.element_type(0)` is a 0 of either.
`lower_triangle(x, y)` is how it is called.
""",
    hints=(
        "Two predicates are needed, and they are not the same: does this element exist, and is it "
        "kept?",
        "Every element of `y` is stored, also where `x` does not matter. Which of `tidx` and "
        "`tidy` has to be the column, so that a warp writes one row?",
        "A variable that gets its value inside an `if` has to have one before it: begin with "
        "`value = mX.element_type(0)`, and store once, after the `if`.",
    ),
    analysis="""
Above the diagonal nothing is loaded, so about half of the loads are saved: a predicate can save
traffic. It saves whole sectors only: where the diagonal runs through a sector, all of it is
fetched.
""",
    entry="lower_triangle",
    inputs=lambda draw, m, n: (draw(m, n),),
    result=lambda x: x.tril(),
    sizes=[(4, 4), (1, 1), (8, 32), (33, 31), (64, 96), (31, 65), (40, 70)],
    count=[(9, 33), (200, 210)],
    waste={"load_sectors": 1, "store_sectors": 1},
    dtypes=("float32", "float16"),
    exact=True,
    misconceptions=[
        looks_like(lambda x, y: x, "everything is copied, also what lies above the diagonal."),
        looks_like(lambda x, y: x.tril(-1), "the diagonal itself is not kept: there, `col == row`."),
        looks_like(lambda x, y: x.triu(), "it is the upper triangle that is kept: row and column "
                   "are exchanged in the comparison."),
    ],
)  # fmt: skip
