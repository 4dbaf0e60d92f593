"""Puzzle week0/scale_columns: vectors of 16 bytes in two types, by a width known at compile time."""

from forgekit.lessons.gates import Evidence, Misconception, looks_like
from forgekit.lessons.puzzle import puzzle


def _beyond(e: Evidence) -> bool:
    """Return True if each thread that was stopped wanted its own vector of its own row."""
    o, columns = e.error.overrun, e.case.args[0].shape[1]
    begin, row = o.places[:, 0] * o.width, o.places[:, 1]
    own = begin + row * columns * (len(o.shape) == 2)
    return bool((begin >= columns).all() and (o.numbers == own).all())


EXERCISE = puzzle(
    title="a factor for each column",
    task="""
`y[i, j] = x[i, j] * w[j]`: each column has a factor of its own. In float32 and float16, from one source: the number of elements in a vector is a `Constexpr`. The
number of columns is a multiple of 8, and that is promised; the number of rows is anything. Called as
`scale_columns(x, w, y)`.
""",
    hints=(
        "`scale_by_vectors` has the shape of it: a block for 128 vectors of one row. What is new is "
        "a second thing to load, which has one mode only.",
        "Values of two tiles can be multiplied if the tiles have the same shape. A row of a matrix, "
        "`mX[row, None]`, has one mode, as `w` has: cut both by the same tiler.",
        "Host: the width is `128 // mX.element_type.width`, the grid has rows in one direction and "
        "vectors of a row, 128 a block, in the other. Kernel: one predicate, and one line that "
        "loads twice, multiplies and stores.",
    ),
    analysis="""
The vector's width is no value of the run: it decides which instructions there are. So it is a
`Constexpr`, and each type gets a kernel of its own from the same lines. `w` is loaded again for
each row, but it is small, and a cache has it.
""",
    asked={"load_bytes": 16, "store_bytes": 16},
    entry="scale_columns",
    inputs=lambda draw, m, n: (draw(m, n), draw(n)),
    result=lambda x, w: x * w,
    sizes=[(2, 16), (1, 8), (3, 520), (33, 64), (5, 1032), (7, 1000)],
    count=[(4, 256), (64, 1024)],
    dtypes=("float16", "float32"),
    legal=lambda m, n: (m, -(-n // 8) * 8),
    promise={0: {1: 8}, 1: {0: 8}, 2: {1: 8}},
    misconceptions=[
        looks_like(lambda x, w, y: x, "x is copied: `w` is left out."),
        looks_like(lambda x, w, y: x + w, "the factors are added."),
        looks_like(lambda x, w, y: x * w[: 16 // x.element_size()].repeat(len(w))[: len(w)],
                   "every vector gets the factors of the first one."),
        Misconception("a vector that is no vector of its row: vector k begins at element "
              "k times the width, and that has to be less than the number of columns.", _beyond),
    ],
)  # fmt: skip
