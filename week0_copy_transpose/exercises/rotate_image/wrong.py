"""Wrong solutions of week0/rotate_image."""

from forgekit.lessons.wrong import Wrong

SYNC = "    cute.arch.sync_threads()\n"
STORE = "mY[col0 + ty + k, M - 1 - (row0 + tx)]"
INSIDE = "if col0 + ty + k < N and row0 + tx < M:"
GRID = "(cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 32), 1)"
GRID_OF_Y = "(cute.ceil_div(mX.shape[0], 32), cute.ceil_div(mX.shape[1], 32), 1)"
FILL = "sX[ty + k, tx] = mX[row0 + ty + k, col0 + tx]"
DIRECT = "mY[col0 + tx, M - 1 - (row0 + ty + k)] = mX[row0 + ty + k, col0 + tx]"

WRONG = (
    Wrong(
        "a transpose", {STORE: "mY[col0 + ty + k, row0 + tx]"}, "the columns do not run backwards"
    ),
    Wrong("the other way", {STORE: "mY[N - 1 - (col0 + ty + k), row0 + tx]"}, "the other way"),
    Wrong(
        "both backwards",
        {STORE: "mY[N - 1 - (col0 + ty + k), M - 1 - (row0 + tx)]"},
        "both run backwards",
    ),
    Wrong("off by one", {STORE: "mY[col0 + ty + k, M - (row0 + tx)]"}, "writes mY[4, 0]"),
    Wrong("turned in each tile", {STORE: "mY[col0 + ty + k, row0 + 31 - tx]"}, "writes mY[10, 1]"),
    Wrong("no padding", {"stride=(33, 1)": "stride=(32, 1)"}, "Wavefronts of shared memory"),
    Wrong("no barrier", {SYNC: ""}, "may not have stored yet"),
    Wrong("two barriers", {SYNC: SYNC + SYNC}, "the solution gets by with fewer"),
    Wrong(
        "without shared memory",
        {FILL: DIRECT, STORE + " = sX[tx, ty + k]": "pass"},
        "touches 32 sectors where 4",
    ),
    Wrong(
        "the load's predicate",
        {INSIDE: "if row0 + ty + k < M and col0 + tx < N:"},
        "for the element that *it* moves",
    ),
    Wrong("no predicate for the store", {INSIDE: "if tx >= 0:"}, "177 more threads"),
    Wrong(
        "grid of y",
        {GRID: GRID_OF_Y},
        "lie in the first 32 columns",
    ),
    Wrong("a tile of 64", {"stride=(33, 1)": "stride=(65, 1)"}, "every byte that a block takes"),
)
