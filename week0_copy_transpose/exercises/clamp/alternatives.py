"""Other correct solutions to week0/clamp."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("blocks of 256", {
        "bidx * 128 + tidx": "bidx * 256 + tidx",
        "(128, 1, 1)": "(256, 1, 1)",
        "ceil_div(mX.shape[0], 128)": "ceil_div(mX.shape[0], 256)",
    }),
    Wrong("two comparisons", {
        "        mY[i] = min(max(mX[i], low), high).to(cutlass.BFloat16)":
            "        value = mX[i]\n        if value < low:\n            value = low\n"
            "        if value > high:\n            value = high\n"
            "        mY[i] = value.to(cutlass.BFloat16)",
    }),
)  # fmt: skip
