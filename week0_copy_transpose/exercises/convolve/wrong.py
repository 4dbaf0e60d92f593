"""Wrong solutions to week0/convolve."""

from forgekit.lessons.wrong import Wrong

SYNC = "    cute.arch.sync_threads()\n"
PRODUCT = "sW[k] * sX[tidx + k]"
FILTER = """    if tidx < taps:
        sW[tidx] = mW[tidx]
"""

WRONG = (
    Wrong(
        "filter backwards", {PRODUCT: "sW[taps - 1 - k] * sX[tidx + k]"}, "w[k] belongs to x[i + k]"
    ),
    Wrong(
        "one tap too few", {"range(taps)": "range(taps - 1)"}, "the sum omits the last element of w"
    ),
    Wrong("from the second tap", {"range(taps)": "range(1, taps)"}, "the sum omits w[0]"),
    Wrong(
        "w from global memory",
        {FILTER: "", PRODUCT: "mW[k] * sX[tidx + k]"},
        "total += mW[k] *",
    ),
    Wrong(
        "each warp loads the filter",
        {FILTER: "    if tidx % 32 < taps:\n        sW[tidx % 32] = mW[tidx % 32]\n"},
        "blocks load 9 elements more than once",
    ),
    Wrong("no barrier", {SYNC: ""}, "may not have stored yet"),
    Wrong(
        "adds in float16",
        {
            "total += sW[k] * sX[tidx + k]": "total = (total + sW[k] * sX[tidx + k]).to(cutlass.Float16).to(cutlass.Float32)"
        },
        "float32, the result is wrong",
    ),
    Wrong(
        "a tile of 224",
        {"make_layout(128 + 31)": "make_layout(224)"},
        "64 more floats than there are threads",
    ),
    Wrong(
        "halo over its tile",
        {"sX[128 + tidx] = mX": "sX[127 + tidx] = mX"},
        "35 of 1,000 elements differ",
    ),
)
