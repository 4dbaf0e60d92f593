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
        "one tap too few", {"range(taps)": "range(taps - 1)"}, "the sums omit the last element of w"
    ),
    Wrong("from the second tap", {"range(taps)": "range(1, taps)"}, "the sums omit w[0]"),
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
    Wrong(
        "the filter in float16",
        {
            "sW = smem.allocate_tensor(cutlass.Float32": "sW = smem.allocate_tensor(cutlass.Float16",
            "= mW[tidx]": "= mW[tidx].to(cutlass.Float16)",
            PRODUCT: "sW[k].to(cutlass.Float32) * sX[tidx + k]",
        },
        "7 of 8 elements differ (87.5 %, float32)",
    ),
    Wrong(
        "the last element times 0",
        {
            "mX[i] if i < n else cutlass.Float32(0)": "mX[min(i, n - 1)] * cutlass.Float32(1 if i < n else 0)"
        },
        "NaN: 2 in actual, 1 in expected",
    ),
    Wrong("no halo", {"if tidx < taps - 1:": "if tidx < 0:"}, "belongs to the next block"),
    Wrong(
        "one element too far in blocks of 512",
        {
            "bidx * 128": "bidx * 512",
            "make_layout(128 + 31)": "make_layout(512 + 31)",
            "sX[128 + tidx] = mX[i + 128] if i + 128 < n": "sX[512 + tidx] = mX[i + 512] if i + 512 <= n",
            "ceil_div(mX.shape[0], 128)": "ceil_div(mX.shape[0], 512)",
            "(128, 1, 1)": "(512, 1, 1)",
        },
        "n = 1,024, taps = 3, float32, the kernel was stopped",
    ),
    Wrong(
        "at most 512 blocks",
        {
            "    blocks = cute.ceil_div(mX.shape[0], 128)": "    blocks = cutlass.min(cute.ceil_div(mX.shape[0], 128), 512)"
        },
        "The launch has only 65,536",
    ),
    Wrong(
        "threads beyond the end wrap around",
        {
            "    sX[tidx] = mX[i] if i < n else cutlass.Float32(0)": "    value = mX[i % n]\n    sX[tidx] = value if i < n else cutlass.Float32(0)",
        },
        "With n = 100, taps = 5",
    ),
    Wrong(
        "the halo in steps of 16 that overlap",
        {
            "    if tidx < taps:\n": "    if tidx < taps - 17 and i + 136 < n:\n        sX[136 + tidx] = mX[i + 136]\n    if tidx < taps:\n"
        },
        "With n = 300, taps = 32, float32, blocks load",
    ),
    Wrong(
        "weights of 0 are skipped",
        {
            "        total += sW[k] * sX[tidx + k]": "        if sW[k] != 0:\n            total += sW[k] * sX[tidx + k]",
        },
        "NaN: 0 in actual, 1 in expected",
    ),
)
