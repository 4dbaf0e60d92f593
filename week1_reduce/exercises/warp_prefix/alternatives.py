"""Other correct solutions to week1/warp_prefix."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("blocks of 256", {
        "bidx * 128 + tidx": "bidx * 256 + tidx",
        "(128, 1, 1)": "(256, 1, 1)",
        "ceil_div(mX.shape[0], 128)": "ceil_div(mX.shape[0], 256)",
    }),
    Wrong("blocks of 1,024", {
        "bidx * 128 + tidx": "bidx * 1024 + tidx",
        "(128, 1, 1)": "(1024, 1, 1)",
        "ceil_div(mX.shape[0], 128)": "ceil_div(mX.shape[0], 1024)",
    }),
    Wrong("lanes without a left neighbour add 0", {
        "        if lane >= 1 << k:\n            total += left\n":
            "        total += left if lane >= 1 << k else Float32(0.0)\n",
    }),
)  # fmt: skip
