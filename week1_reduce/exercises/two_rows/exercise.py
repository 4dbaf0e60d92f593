"""Puzzle week1/two_rows: two rows a block."""

from forgekit.lessons.gates import found, looks_like
from forgekit.lessons.puzzle import puzzle

EXERCISE = puzzle(
    title="two rows a block",
    task="""
Sums of rows again, now with two rows per block: the first 128 threads add up one row, the
others the next one. For any M, odd ones too, and any N, in float32 and float16. `two_rows(x, y)`.
""",
    hints=(
        "Which row has a thread, and which number has it among the threads of that row?",
        "`tidx // 128` and `tidx % 128`. The tree needs 256 words of shared memory: 128 for each "
        "row.",
        "Where M is odd, the last block has a row for half of its threads only. These may not leave "
        "before a barrier: put the predicate around the loads and around the store, not around the "
        "tree.",
    ),
    analysis="""
A barrier counts all threads of a block, also those without a row. They add zeros up with the
others, which costs nothing: their warps would wait otherwise. Rows that are short, or many, are
served better by several in a block than by a block each.
""",
    asked={"work": "one block per two rows", "block": 256, "barriers": 7},
    entry="two_rows",
    inputs=lambda draw, m, n: (draw.fractions(m, n),),
    result=lambda x: x.sum(1),
    sizes=[(2, 3), (1, 1), (3, 31), (2, 1000), (7, 33), (1, 1025), (3, 129), (5, 300)],
    count=[(25, 100), (41, 1000)],
    dtypes=("float32", "float16"),
    misconceptions=[
        looks_like(lambda x, y: x.double().sum(1) + x.double().sum(1).roll(-1), "both rows of a block "
                   "end up in one sum."),
        looks_like(lambda x, y: x[:, :128].double().sum(1), "only the first 128 elements of a row are "
                   "added up."),
        looks_like(lambda x, y: x[:, ::128].double().sum(1), "only what the first thread of each row "
                   "has added up is in the result."),
        found("divergent-barrier", "threads without a row are kept from the barrier as well."),
    ],
)  # fmt: skip
