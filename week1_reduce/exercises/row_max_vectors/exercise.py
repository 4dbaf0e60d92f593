"""Puzzle week1/row_max_vectors: the largest element of each row, 16 bytes at a time."""

from forgekit.lessons.gates import FINITE_START, looks_like
from forgekit.lessons.puzzle import puzzle

EXERCISE = puzzle(
    title="find the largest element, by vectors",
    task="""
`y[m]` is the largest element of row `m`, in float32 and float16. Rows are whole vectors, and there may be fewer of them than lanes. All elements
may be negative. Called as `row_max_vectors(x, y)`.
""",
    hints=(
        "It is `warp_a_row` with another operator and wider loads: cut the row into vectors with "
        "`cute.zipped_divide` and let lane 0 take vector 0, 32, 64, …",
        "`gX[(None, i)].load()` is a vector of values; `.to(Float32)` converts them, and "
        "`.reduce(cute.ReductionOp.MAX, …, 0)` makes one number of them. `cute.arch.fmax` takes "
        "the larger of two.",
        "A lane without a vector takes part in the shuffles with the value that it began with. That "
        "has to be the identity of max, in the line before the loop: `-Float32.inf`.",
    ),
    analysis="""
With 0 as the start, a row of negative numbers would have the maximum 0, and no test with numbers
of both signs would show it. The maximum does not depend on the order, and no rounding is
involved: the result is the same bits in every kernel.
""",
    asked={"work": "one warp per row", "load_bytes": 16},
    entry="row_max_vectors",
    inputs=lambda draw, m, n: (draw.extremes(m, n),),
    result=lambda x: x.amax(1),
    sizes=[(3, 8), (4, 256), (1, 1024), (7, 1000), (33, 136), (5, 2040)],
    count=[(5, 64), (70, 1000)],
    dtypes=("float32", "float16"),
    exact=True,
    legal=lambda m, n: (m, max(8, n // 8 * 8)),
    promise={0: {1: 8}},
    misconceptions=[
        FINITE_START,
        looks_like(lambda x, y: x[:, :1].amax(1), "only the first element is in the result."),
        looks_like(lambda x, y: x.amin(1), "it is the smallest element."),
    ],
    praise="Another operator, another identity.",
)  # fmt: skip
