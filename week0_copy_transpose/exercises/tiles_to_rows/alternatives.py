"""Other correct solutions to week0/tiles_to_rows."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("blocks of 256", {
        "bidx * 128 + tidx": "bidx * 256 + tidx",
        "(128, 1, 1)": "(256, 1, 1)",
        "ceil_div(cute.size(mY), 128)": "ceil_div(cute.size(mY), 256)",
    }),
    Wrong("the tile's coordinate by hand", {
        "gX[((k // 4, k % 4), t)]":
            "gX[((k // 4, k % 4), (t % gX.shape[1][0], t // gX.shape[1][0]))]",
    }),
)  # fmt: skip
