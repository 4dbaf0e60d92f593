"""Puzzle week0/tiles_to_rows: read a matrix through its tiles."""

import re

import torch

from forgekit.lessons.gates import GateError, Group, Submission, looks_like
from forgekit.lessons.puzzle import puzzle

_IN_PLACE = "Call cute.zipped_divide in the host function, and pass its result to the kernel in place of mX."


def _rows(x, of=(2, 0, 1, 3)):  # type: ignore[no-untyped-def]
    m, n = x.shape
    return x.view(m // 2, 2, n // 4, 4).permute(*of).reshape(-1, 8)


def _cut_before(make) -> Group:  # type: ignore[no-untyped-def]
    """Return a group that checks, in the PTX, that a kernel's argument has tiles of 2 × 4."""

    def run(submission: Submission) -> str:
        ptx = submission.compiled(make(4, 8, dtype=torch.float32)).ptx
        # the tile's sizes, with the 4 first if the columns come first, which have stride 1
        if not re.search(r"tensorptr[a-z0-9]*o(24|42(i64div24)?1i64)", ptx):
            raise GateError(
                "No kernel receives a tensor that is divided into 2 × 4 tiles.",
                look_at=_IN_PLACE,
            )
        if (count := ptx.partition(".entry ")[2].partition("(")[0].count("tensorptr")) > 2:
            raise GateError(
                f"The kernel receives {count} tensors; needed 2, the tiles and mY.",
                look_at=_IN_PLACE,
            )
        return "the kernel receives 2 × 4 tiles"

    return Group("Cut in the host function", run)


def _inputs(draw, m, n):  # type: ignore[no-untyped-def]
    """Return places; in a large matrix, halves of both signs."""
    x = draw.places(m, n)
    if m * n > 1000:
        x /= 2
        x[:, ::2] *= -1
    return (x,)


EXERCISE = puzzle(
    title="store each tile in one row",
    task="""
Cut `x` into tiles of 2 × 4. Store the 8 elements of tile `t` in row `t` of `y`, first the upper row
of the tile, then the lower row. Number the tiles as CuTe does, leftmost mode fastest, so that tile
1 is *below* tile 0. Cut `mX` in the host function, for example with `cute.zipped_divide`, and
pass the result to the kernel in place of `mX`. Support float32 and float16. The sizes of `x` are
multiples of the tile's sizes. Signature: `tiles_to_rows(x, y)`.
""",
    hints=(
        "Let thread i write element i of `y`, counted along its rows. In which row of `y` is that "
        "element, and at which position in the row?",
        "In `gX[((r, c), t)]`, the inner pair is the position in the tile. `t` may be a single "
        "number, which CuTe splits leftmost part first.",
        "The tile is `i // 8`, and `k = i % 8` is the position in it. A tile has 4 columns, so "
        "`k` splits into a row and a column. `cute.size(mY)` is the total number of elements.",
    ),
    analysis="""
The kernel computes no index into `x`, because the layout that `zipped_divide` returns does this
arithmetic. Neighbouring threads write neighbouring elements of `y`. From `x` they read pieces of 16
bytes in float32, half of a sector each. The threads of the tile to the right read the other half of
the sector much later.
""",
    asked={"work": "one thread per element"},
    entry="tiles_to_rows",
    inputs=_inputs,
    result=_rows,
    sizes=[(4, 8), (2, 4), (6, 20), (2, 1028), (66, 4), (34, 36)],
    count=[(8, 16), (136, 512)],
    dtypes=("float32", "float16"),
    exact=True,
    legal=lambda m, n: (2 * max(1, m // 2), 4 * max(1, n // 4)),
    misconceptions=[
        looks_like(lambda x, y: _rows(x, (0, 2, 1, 3)),
                   "the tiles are counted along the rows of tiles, so tile 1 is beside tile 0."),
        looks_like(lambda x, y: _rows(x, (2, 0, 3, 1)),
                   "within each tile, the elements are counted down its columns."),
        looks_like(lambda x, y: x.reshape(-1, 8), "y holds the elements of x row by row, as if there were no tiles."),
    ],
    more=lambda make: (_cut_before(make),),
    praise="The layout did the arithmetic.",
)  # fmt: skip
