"""Other correct solutions to week2/rotary."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("eight tokens per block", {
        "bidx * 4 + tidx // 32": "bidx * 8 + tidx // 32",
        "shape[0], 4)": "shape[0], 8)",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
    Wrong("the second half first", {
        "                mX[token, h, j] = (a * cos - b * sin).to(mX.element_type)\n"
        "                mX[token, h, j + half] = (b * cos + a * sin).to(mX.element_type)\n":
            "                turned = a * cos - b * sin\n"
            "                mX[token, h, j + half] = (b * cos + a * sin).to(mX.element_type)\n"
            "                mX[token, h, j] = turned.to(mX.element_type)\n",
    }),
)  # fmt: skip
