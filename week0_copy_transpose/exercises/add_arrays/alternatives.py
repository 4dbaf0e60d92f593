"""Other correct solutions to week0/add_arrays."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("blocks of 256", {"bidx * 128": "bidx * 256", "mZ.shape[0], 128)": "mZ.shape[0], 256)", "(128, 1, 1)": "(256, 1, 1)"}),
    Wrong("two elements per thread", {
        "    i = bidx * 128 + tidx\n    if i < mZ.shape[0]:\n        mZ[i] = mA[i] + mB[i]\n":
            "    for i in range(bidx * 256 + tidx, bidx * 256 + 256, 128):\n"
            "        if i < mZ.shape[0]:\n            mZ[i] = mA[i] + mB[i]\n",
        "ceil_div(mZ.shape[0], 128)": "ceil_div(mZ.shape[0], 256)",
    }),
    Wrong(
        "a loop over a limited grid",
        {"    i = bidx * 128 + tidx\n    if i < mZ.shape[0]:\n        mZ[i] = mA[i] + mB[i]": "    gdim, _, _ = cute.arch.grid_dim()\n    for i in range(bidx * 128 + tidx, mZ.shape[0], gdim * 128):\n        mZ[i] = mA[i] + mB[i]", "    blocks = cute.ceil_div(mZ.shape[0], 128)": "    blocks = cute.ceil_div(mZ.shape[0], 128)\n    blocks = blocks if blocks < 1500 else 1500"},
    ),
)  # fmt: skip
