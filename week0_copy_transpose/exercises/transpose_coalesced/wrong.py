"""Wrong solutions to week0/transpose_coalesced."""

from forgekit.lessons.wrong import Wrong

_STORE = "mY[col0 + ty + k, row0 + tx] = sX[tx, ty + k]"
_PREDICATE = "if col0 + ty + k < N and row0 + tx < M:"
_LOAD = "sX[ty + k, tx] = mX[row0 + ty + k, col0 + tx]"
_LOADED = "if row0 + ty + k < M and col0 + tx < N:"

WRONG = (
    Wrong(
        "called coalesced",
        {_PREDICATE: _LOADED + " ", _STORE: "mY[col0 + tx, row0 + ty + k] = sX[ty + k, tx]"},
        "because neighbouring threads write elements below one another",
    ),
    Wrong(
        "predicate of the load",
        {_PREDICATE: _LOADED + " "},
        "threads store elements that do not exist. Check the element",
    ),
    Wrong(
        "tile not turned",
        {_STORE: "mY[col0 + ty + k, row0 + tx] = sX[ty + k, tx]"},
        "nothing is transposed inside them",
    ),
    Wrong(
        "block indices not exchanged",
        {
            _STORE: "mY[row0 + ty + k, col0 + tx] = sX[tx, ty + k]",
            _PREDICATE: "if row0 + ty + k < N and col0 + tx < M:",
        },
        "stores it in the wrong place",
    ),
    Wrong(
        "no barrier",
        {"    cute.arch.sync_threads()\n": ""},
        "a thread may load before others have stored",
    ),
    Wrong(
        "bound one too large",
        {_PREDICATE: _PREDICATE.replace("<", "<=")},
        "the store's index is correct, but threads store",
    ),
    Wrong("no store", {_STORE: "pass"}, "nothing is stored"),
    Wrong(
        "sizes exchanged",
        {_PREDICATE: "if col0 + ty + k < M and row0 + tx < N:"},
        "Are M and N swapped",
    ),
    Wrong(
        "half of the rounds",
        {
            "8):\n        if col0": "16):\n        if col0",
        },
        "some elements are never written",
    ),
    Wrong(
        "from mX once more",
        {_STORE: "mY[col0 + ty + k, row0 + tx] = mX[row0 + tx, col0 + ty + k]"},
        "Read from `sX` instead",
    ),
    Wrong(
        "no predicate on the load", {_LOADED: "if True:"}, "threads load elements that do not exist"
    ),
    Wrong(
        "strided reads instead",
        {
            _LOADED: "if row0 + tx < M and col0 + ty + k < N:",
            _LOAD: "sX[tx, ty + k] = mX[row0 + tx, col0 + ty + k]",
        },
        "has moved from the store to the load",
    ),
    Wrong(
        "a pitch of 1,024",
        {"stride=(32, 1)": "stride=(1024, 1)"},
        "one block occupies is unavailable",
    ),
    Wrong("everything twice", {", 32), 1)": ", 32), 2)"}, "more than once"),
    Wrong(
        "barrier in the if",
        {
            "    cute.arch.sync_threads()\n": "",
            _LOAD: _LOAD + "\n            cute.arch.sync_threads()",
        },
        "Move it to where all of them pass",
    ),
    Wrong(
        "at most 1,024 blocks in x",
        {"(cute.ceil_div(mX.shape[1], 32),": "(cutlass.min(cute.ceil_div(mX.shape[1], 32), 1024),"},
        "With 1×90000",
    ),
    Wrong(
        "the last rows straight from x",
        {"= sX[tx, ty + k]": "= mX[row0 + tx, col0 + ty + k] if row0 + 32 > M else sX[tx, ty + k]"},
        "with 95×120 float32; the limit is",
    ),
    Wrong("a pitch of 256", {"stride=(32, 1)": "stride=(256, 1)"}, "with 480×640 float32"),
    Wrong(
        "strided stores of 16 bits",
        {
            "        " + _PREDICATE: "        r, c = ty + k, tx\n"
            "        if cutlass.const_expr(mX.element_type.width == 32):\n"
            "            r, c = tx, ty + k\n"
            "        if row0 + r < M and col0 + c < N:",
            _STORE: "mY[col0 + c, row0 + r] = sX[r, c]",
        },
        "with 95×120 float16",
    ),
)
