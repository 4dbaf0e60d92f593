"""Puzzle week0/tiles_to_rows: read a matrix through its tiles."""

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle


def _rows(x, of=(2, 0, 1, 3)):  # type: ignore[no-untyped-def]
    m, n = x.shape
    return x.view(m // 2, 2, n // 4, 4).permute(*of).reshape(-1, 8)


EXERCISE = puzzle(
    title="a row for each tile",
    task="""
`x` is cut into tiles of 2 × 4. Row `t` of `y` is to hold tile `t`, its two rows one after the
other: 8 elements. Tiles are counted as CuTe counts them, leftmost mode fastest: tile 1 lies *below*
tile 0. Cut `mX` with `cute.zipped_divide` in the host function and pass the result to the kernel;
Sizes of `x` are multiples of the tile. Called as
`tiles_to_rows(x, y)`.
""",
    hints=(
        "Let thread i write element number i of `y`, counted along its rows: which row of `y` is "
        "that, and which place in it?",
        "In `gX[((r, c), t)]` the inner pair is the place in the tile, and `t` may be one number: "
        "CuTe splits it, leftmost first.",
        "The tile is `i // 8`, and `k = i % 8` the place in it; a tile has 4 columns, so `k` splits "
        "into row and column once more. `cute.size(mY)` is the number of all elements.",
    ),
    analysis="""
No index of `x` was computed: `zipped_divide` knows where a tile lies, and its layout does the
arithmetic. Neighbouring threads write neighbouring elements of `y`. Of `x` they read 16 bytes here
and 16 there, half a sector each, and the other half is read by the tile to the right, much later.
""",
    asked={"work": "one thread per element"},
    entry="tiles_to_rows",
    inputs=lambda draw, m, n: (draw.places(m, n),),
    result=_rows,
    sizes=[(4, 8), (2, 4), (6, 20), (2, 260), (66, 4), (34, 36)],
    count=[(8, 16), (128, 256)],
    dtypes=("float32", "float16"),
    exact=True,
    legal=lambda m, n: (2 * max(1, m // 2), 4 * max(1, n // 4)),
    misconceptions=[
        looks_like(lambda x, y: _rows(x, (0, 2, 1, 3)),
                   "tiles are counted along the rows of tiles: tile 1 lies beside tile 0."),
        looks_like(lambda x, y: _rows(x, (2, 0, 3, 1)),
                   "within a tile the elements are counted down its columns."),
        looks_like(lambda x, y: x.reshape(-1, 8), "x is copied row by row, as if there were no tiles."),
    ],
    praise="The layout did the arithmetic.",
)  # fmt: skip
