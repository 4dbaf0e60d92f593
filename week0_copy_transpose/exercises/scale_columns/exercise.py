"""Puzzle week0/scale_columns: vectors of 16 bytes in two types, by a width known at compile time."""

from forgekit.lessons.gates import Evidence, Misconception, looks_like
from forgekit.lessons.puzzle import puzzle

from ..practice import limited, special


def _beyond(e: Evidence) -> bool:
    """Return True if each stopped thread accessed its own vector of its own row."""
    o, columns = e.error.overrun, e.case.args[0].shape[1]
    begin, row = o.places[:, 0] * o.width, o.places[:, 1]
    own = begin + row * columns * (len(o.shape) == 2)
    return bool((begin >= columns).all() and (o.numbers == own).all())


def _inputs(draw, m, n):
    """Return x and w; w has some zeros, whose products with ∞ are NaN."""
    x, w = special(draw(m, n)), draw(n)
    w[7::64] = 0
    return x, w


EXERCISE = puzzle(
    title="multiply each column by a factor",
    task="""
Compute `y[i, j] = x[i, j] * w[j]` in float32 and float16. One source serves both types, because the
number of elements in a vector is a `Constexpr`. `x` has at most 65,535 rows, and its number of
columns is a multiple of 8, which the grader promises to the compiler. `mX[row, None]` is one row of
`mX` and has a single mode, like `mW`. Signature: `scale_columns(x, w, y)`.
""",
    hints=(
        "The kernel resembles `scale_by_vectors`, with one block per 128 vectors of a row. Each "
        "thread now also loads a vector of `w`.",
        "You can multiply the values of two tiles if the tiles have the same shape. So cut "
        "`mX[row, None]` and `mW` with the same tiler.",
        "In the host function, the width is `128 // mX.element_type.width`. One dimension of the "
        "grid counts rows, and the other counts groups of 128 vectors. The kernel needs one "
        "predicate, then one line that loads twice, multiplies and stores.",
    ),
    analysis="""
The width of a vector determines which instructions the compiler generates, so a call cannot pass it
as a value. It is a `Constexpr` instead, and the compiler generates a separate kernel for each type
from the same lines. The kernel loads `w` again for each row, but `w` is small and stays in a cache.
""",
    asked={"load_bytes": 16, "store_bytes": 16},
    entry="scale_columns",
    inputs=_inputs,
    result=lambda x, w: x * w,
    sizes=[(2, 16), (1, 8), (3, 520), (33, 64), (2100, 8), (2, 8200), (5, 1032), (7, 1000)],
    count=[(4, 256), (64, 1024)],
    dtypes=("float16", "float32"),
    legal=lambda m, n: (m, -(-limited(m, n)[1] // 8) * 8),
    promise={0: {1: 8}, 1: {0: 8}, 2: {1: 8}},
    waste={"threads": 2},  # blocks of 256
    misconceptions=[
        looks_like(lambda x, w, y: x, "y equals x, so `w` has no effect in this call."),
        looks_like(lambda x, w, y: x + w, "in this call, y is x + w: the factors are added instead of multiplied."),
        looks_like(lambda x, w, y: x * w[: 16 // x.element_size()].repeat(len(w))[: len(w)],
                   "in this call, every vector has the factors of the first one."),
        Misconception("threads access vectors beyond the end of the row. Vector k begins at element k times the width, which must be less than the number of columns.", _beyond),
    ],
)  # fmt: skip
