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
    Wrong("columns first in each tile", {
        "    tiles_to_rows_kernel(gX,": "    (down, right), rest = gX.stride\n"
            "    layout = cute.make_layout(((4, 2), gX.shape[1]), stride=((right, down), rest))\n"
            "    gX = cute.make_tensor(gX.iterator, layout)  # ((4,2),(RestM,RestN))\n"
            "    tiles_to_rows_kernel(gX,",
        "gX[((k // 4, k % 4), t)]": "gX[k, t]",
    }),
    Wrong("tiles in the first mode, their columns before their rows", {
        "    tiles_to_rows_kernel(gX,": "    (down, right), rest = gX.stride\n"
            "    layout = cute.make_layout((gX.shape[1], (4, 2)), stride=(rest, (right, down)))\n"
            "    gX = cute.make_tensor(gX.iterator, layout)  # ((RestM,RestN),(4,2))\n"
            "    tiles_to_rows_kernel(gX,",
        "gX[((k // 4, k % 4), t)]": "gX[t, k]",
    }),
)  # fmt: skip
