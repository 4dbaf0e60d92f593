"""Wrong solutions of week0/convolve."""

from forgekit.lessons.wrong import Wrong

SYNC = "    cute.arch.sync_threads()\n"
PRODUCT = "sW[k] * sX[tidx + k]"
HALO = """    if tidx < taps - 1:
        sX[128 + tidx] = mX[i + 128] if i + 128 < n else cutlass.Float32(0)
"""
FILTER = """    if tidx < taps:
        sW[tidx] = mW[tidx]
"""

WRONG = (
    Wrong(
        "filter backwards", {PRODUCT: "sW[taps - 1 - k] * sX[tidx + k]"}, "w[k] belongs to x[i + k]"
    ),
    Wrong(
        "one tap too few", {"range(taps)": "range(taps - 1)"}, "the last element of w is left out"
    ),
    Wrong("from the second tap", {"range(taps)": "range(1, taps)"}, "w[0] is left out"),
    Wrong("no halo", {HALO: ""}, "NaN: 28 in actual, 0 in expected"),
    Wrong(
        "halo of zeros",
        {"mX[i + 128] if i + 128 < n else cutlass.Float32(0)": "cutlass.Float32(0)"},
        "got -27, expected -119",
    ),
    Wrong(
        "w from global memory",
        {FILTER: "", PRODUCT: "mW[k] * sX[tidx + k]"},
        "total += mW[k] *",
    ),
    Wrong(
        "x from global memory",
        {PRODUCT: "sW[k] * (mX[i + k] if i + k < n else cutlass.Float32(0))"},
        "total += sW[k] * (mX",
    ),
    Wrong("no barrier", {SYNC: ""}, "may not have stored yet"),
    Wrong("a barrier for each", {FILTER: SYNC + FILTER}, "the solution gets by with fewer"),
    Wrong("a filter of three", {"range(taps)": "range(3)"}, "n = 1, taps = 1"),
    Wrong(
        "two taps of halo too few",
        {"tidx < taps - 1": "tidx < taps - 3"},
        "NaN: 14 in actual, 0 in expected",
    ),
    Wrong("all threads load w", {"if tidx < taps:": "if tidx >= 0:"}, "nothing keeps the threads"),
    Wrong(
        "sum in the output",
        {
            "        total += "
            + PRODUCT: "        if i < n:\n            mY[i] = (mY[i] if k > 0 else cutlass.Float32(0)) + "
            + PRODUCT,
            "    if i < n:\n        mY[i] = total": "    pass",
        },
        "elements are stored more than once",
    ),
)
