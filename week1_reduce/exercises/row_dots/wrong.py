"""Wrong solutions to week1/row_dots."""

from forgekit.lessons.wrong import Wrong

PRODUCT = "mA[row, n].to(Float32) * mB[row, n].to(Float32)"
BARRIER = "    cute.arch.sync_threads()\n"

WRONG = (
    Wrong("only a", {PRODUCT: "mA[row, n].to(Float32)"}, "does not use b"),
    Wrong(
        "added",
        {PRODUCT: "mA[row, n].to(Float32) + mB[row, n].to(Float32)"},
        "added, not multiplied",
    ),
    Wrong(
        "products in the type of the inputs",
        {PRODUCT: "(mA[row, n] * mB[row, n]).to(Float32)"},
        "NaN: 1 in actual",
    ),
    Wrong("no barrier", {BARRIER: ""}, "Race in shared memory"),
    Wrong(
        "one warp",
        {"sPart[0] + sPart[1] + sPart[2] + sPart[3]": "sPart[0] + 0.0"},
        "only the share of one warp",
    ),
    Wrong(
        "no loop",
        {"for n in range(tidx, mA.shape[1], 128):": "for n in range(tidx, mA.shape[1], 1 << 20):"},
        "only the first 128 elements",
    ),
    Wrong(
        "a warp does it all",
        {
            "for n in range(tidx, mA.shape[1], 128):": "for n in range(lane, mA.shape[1] if warp == 0 else 0, 32):"
        },
        "as long as its slowest warp",
    ),
    Wrong(
        "at most 65,535 rows",
        {"grid=(mA.shape[0], 1, 1)": "grid=(cutlass.min(mA.shape[0], 65535), 1, 1)"},
        "With m = 90,000",
    ),
    Wrong(
        "difference of large products",
        {
            "total += mA[row, n].to(Float32) * mB[row, n].to(Float32)": "total += mA[row, n].to(Float32) * mA[row, n].to(Float32) - mA[row, n].to(Float32) * (mA[row, n].to(Float32) - mB[row, n].to(Float32))",
        },
        "With m = 2, n = 4, float32, the result is wrong",
    ),
)
