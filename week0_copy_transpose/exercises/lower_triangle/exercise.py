"""Puzzle week0/lower_triangle: two dimensions, a predicate that selects, whole sectors."""

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

from ..practice import limited, special

EXERCISE = puzzle(
    title="keep the lower triangle",
    task="""
Copy `x` to `y` where `col <= row`, and store `0` above the diagonal, for matrices of any size in
float32 and float16. `mX.element_type(0)` is a 0 of the tensor's type. Write the whole kernel and
its launch, for example with one thread per element in blocks of (32, 8, 1). Fetch no more sectors
than needed. Use a single store for both cases, because two stores would write the sectors on the
diagonal twice. Signature: `lower_triangle(x, y)`.
""",
    hints=(
        "You need two predicates: one for elements that exist, and one for elements that are kept.",
        "The kernel stores every element of `y`, including those that do not depend on `x`. Which "
        "of `tidx` and `tidy` must be the column so that a warp writes part of one row?",
        "A variable that you assign inside an `if` must already exist before it. Begin with "
        "`value = mX.element_type(0)`, and store `value` once, after the `if`.",
    ),
    analysis="""
The kernel loads nothing above the diagonal, which saves about half of the loads. So a predicate can
save traffic, but only in whole sectors. Where the diagonal crosses a sector, the hardware still
fetches all of it.
""",
    entry="lower_triangle",
    inputs=lambda draw, m, n: (special(draw(m, n)),),
    result=lambda x: x.tril(),
    sizes=[(4, 4), (1, 1), (8, 32), (33, 31), (64, 96), (4200, 3), (3, 4200), (31, 65), (40, 70)],
    count=[(9, 33), (200, 210), (64, 600)],
    waste={"load_sectors": 1, "store_sectors": 1, "threads": 2},
    dtypes=("float32", "float16"),
    exact=True,
    legal=limited,
    misconceptions=[
        looks_like(lambda x, y: x, "in this call, y equals x, including the elements above the diagonal."),
        looks_like(lambda x, y: x.tril(-1), "y lacks the diagonal itself, where `col == row`."),
        looks_like(lambda x, y: x.triu(), "y holds the upper triangle. Keep an element if its column is at most its row."),
    ],
)  # fmt: skip
