"""Wrong solutions to week0/rotate_image."""

from forgekit.lessons.wrong import Wrong

SYNC = "    cute.arch.sync_threads()\n"
STORE = "mY[col0 + ty + k, M - 1 - (row0 + tx)]"
INSIDE = "if col0 + ty + k < N and row0 + tx < M:"
FILL = "sX[ty + k, tx] = mX[row0 + ty + k, col0 + tx]"
DIRECT = "mY[col0 + tx, M - 1 - (row0 + ty + k)] = mX[row0 + ty + k, col0 + tx]"

WRONG = (
    Wrong(
        "a square grid",
        {
            "    grid = (cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 32), 1)\n": "    most = cute.ceil_div(max(mX.shape[0], mX.shape[1]), 32)\n"
            "    grid = (most, most, 1)\n"
        },
        "Compute each size of the grid",
    ),
    Wrong(
        "a transpose", {STORE: "mY[col0 + ty + k, row0 + tx]"}, "the columns do not run backwards"
    ),
    Wrong(
        "the other way",
        {STORE: "mY[N - 1 - (col0 + ty + k), row0 + tx]"},
        "the result is rotated counterclockwise",
    ),
    Wrong(
        "both backwards",
        {STORE: "mY[N - 1 - (col0 + ty + k), M - 1 - (row0 + tx)]"},
        "both run backwards",
    ),
    Wrong("no padding", {"stride=(33, 1)": "stride=(32, 1)"}, "asks for no bank conflicts"),
    Wrong("no barrier", {SYNC: ""}, "may not have stored yet"),
    Wrong(
        "without shared memory",
        {FILL: DIRECT, STORE + " = sX[tx, ty + k]": "pass"},
        "touches 32 sectors where 4",
    ),
    Wrong(
        "the load's predicate",
        {INSIDE: "if row0 + ty + k < M and col0 + tx < N:"},
        "Compare the row of x that the store moves with M",
    ),
    Wrong(
        "one column too far left",
        {STORE: "mY[col0 + ty + k, M - 2 - (row0 + tx)]"},
        "it does not count from the end: it points before the tensor.",
    ),
    Wrong(
        "a tile of integers",
        {
            "allocate_tensor(mX.element_type": "allocate_tensor(cutlass.Int32",
            "mX[row0 + ty + k, col0 + tx]": "mX[row0 + ty + k, col0 + tx].to(cutlass.Int32)",
            "sX[tx, ty + k]": "sX[tx, ty + k].to(mY.element_type)",
        },
        "float32, the result is wrong",
    ),
    Wrong(
        "zeros not stored",
        {f"            {STORE}": f"            if sX[tx, ty + k] != 0:\n                {STORE}"},
        "the result is wrong",
    ),
    Wrong(
        "rows from below",
        {"mX[row0 + ty + k, col0 + tx]": "mX[M - 2 - (row0 + ty + k), col0 + tx]"},
        "reads mX[-1, 0], 16 bytes before the tensor's start",
    ),
    Wrong(
        "negative elements as 0",
        {"= sX[tx, ty + k]": "= sX[tx, ty + k] if sX[tx, ty + k] > 0 else sX[tx, ty + k] * 0"},
        "every wrong element is 0",
    ),
)
